//! What a browser asks for.

use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};

use super::documents::address;
use super::{Answered, InPath, QueryString, ServerState, answered};
use crate::guard::is_token;
use crate::page::{self as html, Asset};
use crate::questions::{BrowserRequest, DocumentKind, Explain, PageStage, QueryFields};
use crate::refusal::Refusal;
use crate::respond::{Failures, briefly_kept, enter as enter_with, long_kept};
use crate::server::{Lane, Server, encoded};

/// The page.
#[utoipa::path(
    get,
    path = "/",
    params(
        ("q" = Option<String>, Query, description = "the question, at most 1,000 characters"),
        ("collection" = Option<String>, Query, description = "by default the only collection, or the first"),
        ("tab" = Option<DocumentKind>, Query, description = "what is shown"),
        ("hits" = Option<usize>, Query, minimum = 1, maximum = 10_000, description = "the number of results"),
        ("approach" = Option<String>, Query, description = "the name of an approach"),
        ("claim" = Option<String>, Query, description = "what the question shall be understood as"),
        ("side" = Option<String>, Query, description = "pro, con or undecided: only results of this side"),
        ("portal" = Option<String>, Query, description = "only arguments of this portal"),
        ("minimum" = Option<f64>, Query, minimum = 0, maximum = 1, description = "only results with at least this |P(pro) - P(con)|"),
        ("stage" = Option<String>, Query, description = "read: models have read the results (default); words: the first results by words alone, which is quick"),
        ("token" = Option<String>, Query, description = "the token of the server, for the first visit"),
    ),
    responses(
        (status = 200, body = String, content_type = "text/html"),
        (status = 303, description = "the token is right, and is in a cookie now"),
        Failures,
    )
)]
pub(super) async fn page(
    State(server): ServerState,
    QueryString(mut fields): QueryString,
) -> Answered {
    // without a token, or with one that the browser has already, the field means nothing
    fields.take(TOKEN);
    let page = BrowserRequest::read(fields)?;
    if page.question.is_none() {
        // not kept: it says how each collection is, which no version tells
        let first = server.call(Lane::Quick, move |desk, call| html::page(desk, &page, call));
        return Ok(first.await?.into_response());
    }
    let lane = match page.stage {
        PageStage::Words => Lane::Quick,
        PageStage::Read => Lane::Models,
    };
    answered(&server, lane, "page", page, html::page).await
}

/// Why a document is in an answer.
#[utoipa::path(
    get,
    path = "/why",
    params(
        ("q" = String, Query, description = "the question, at most 1,000 characters"),
        ("collection" = Option<String>, Query, description = "by default the only collection, or the first"),
        ("id" = String, Query, description = "the id of the document"),
        ("approach" = Option<String>, Query, description = "the name of an approach"),
        ("claim" = Option<String>, Query, description = "what the question shall be understood as"),
    ),
    responses((status = 200, body = String, content_type = "text/html"), Failures)
)]
pub(super) async fn why(State(server): ServerState, QueryString(fields): QueryString) -> Answered {
    let explain = Explain::read(fields)?;
    answered(&server, Lane::Models, "why", explain, html::why).await
}

/// A document, for a reader.
#[utoipa::path(
    get,
    path = "/document/{collection}/{id}",
    params(
        ("collection" = String, Path, description = "the name of the collection"),
        ("id" = String, Path, description = "the id of the document"),
        ("q" = Option<String>, Query, description = "the question to whose answer the page links back"),
    ),
    responses((status = 200, body = String, content_type = "text/html"), Failures)
)]
pub(super) async fn document(
    State(server): ServerState,
    InPath(path): InPath<(String, String)>,
    QueryString(mut fields): QueryString,
) -> Answered {
    let question = fields.optional_question("q")?;
    fields.finish()?;
    let request = (address(path)?, question);
    answered(
        &server,
        Lane::Quick,
        "document page",
        request,
        |desk, request, call| {
            let (address, question) = request;
            html::document(desk, address, question.as_ref(), call)
        },
    )
    .await
}

/// A picture of a collection.
#[utoipa::path(
    get,
    path = "/picture/{collection}/{id}",
    params(
        ("collection" = String, Path, description = "the name of the collection"),
        ("id" = String, Path, description = "the id of the document"),
    ),
    responses((status = 200, description = "WebP, PNG or JPEG", content_type = "image/*"), Failures)
)]
pub(super) async fn picture(
    State(server): ServerState,
    InPath(path): InPath<(String, String)>,
) -> Answered {
    let address = address(path)?;
    let answer = server.kept(Lane::Quick, "picture", address, |desk, address, call| {
        let picture = desk.picture(address, call)?;
        encoded(picture.format.content_type(), picture.bytes)
    });
    Ok(briefly_kept(answer.await?))
}

/// A file of the page. Its name has a hash, so another version has another address.
#[utoipa::path(
    get,
    path = "/asset/{name}",
    params(("name" = String, Path, description = "the name of the file")),
    responses((status = 200, description = "a style, a script or an icon"), Failures)
)]
pub(super) async fn asset(InPath(name): InPath<String>) -> Answered {
    let none = || Refusal::Http(404, "there is no such file".to_owned());
    let asset = Asset::find(&name).ok_or_else(none)?;
    Ok(long_kept(asset.encoded()))
}

/// The field of the address in which a browser brings the token for the first time.
const TOKEN: &str = "token";

/// If the address is that of the page and has the right token: sends the browser on to the same page, with the token in a cookie.
pub(super) fn enter(server: &Server, uri: &Uri) -> Option<Response> {
    let token = server
        .settings
        .token
        .as_deref()
        .filter(|_| uri.path() == "/")?;
    let sent = QueryFields::parse(uri.query()).ok()?.take(TOKEN)?;
    is_token(&sent, token).then(|| {
        let query = uri.query().unwrap_or_default();
        let fields = form_urlencoded::parse(query.as_bytes());
        let mut rest = form_urlencoded::Serializer::new(String::new());
        rest.extend_pairs(fields.filter(|(name, _)| name != TOKEN));
        let rest = rest.finish();
        match rest.as_str() {
            "" => enter_with(token, "/"),
            rest => enter_with(token, &format!("/?{rest}")),
        }
    })
}
