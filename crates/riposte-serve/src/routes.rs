//! The routes, and what happens around each request.

mod anserini;
mod answer;
mod documents;
mod page;
mod report;
mod run;
mod status;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::Router;
use axum::extract::{FromRequestParts, MatchedPath, Path, Request, State};
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;

use crate::cache::Encoded;
use crate::desk::{Call, Desk};
use crate::guard::{self, LocalAddress};
use crate::log::LogRecord;
use crate::page::{Asset, BrowserReader};
use crate::questions::{CachedRequest, QueryFields};
use crate::refusal::Refusal;
use crate::respond::{LogDetails, about, add_headers, long_kept};
use crate::server::{Lane, Server};

pub(crate) use status::document as openapi;

pub(crate) fn router(server: &Arc<Server>) -> Router {
    Router::new()
        .route("/", get(page::page).post(answer::reply))
        .route("/why", get(page::why))
        .route("/document/{collection}/{id}", get(page::document))
        .route("/run", get(run::run))
        .route("/report", get(report::report))
        .route("/picture/{collection}/{id}", get(page::picture))
        .route("/asset/{name}", get(page::asset))
        .route("/api/search", get(answer::search))
        .route("/api/documents/{collection}/{id}", get(documents::document))
        .route("/api/explain", get(answer::explain))
        .route("/api/stance", post(answer::stance))
        .route("/api/quality", post(answer::quality))
        .route("/api/debate", get(answer::debate).post(answer::post_debate))
        .route("/api/collections", get(documents::collections))
        .route("/api/openapi.json", get(status::openapi_json))
        .route("/openapi.yaml", get(status::openapi_yaml))
        .route("/health", get(status::health))
        .route("/metrics", get(status::metrics))
        .route("/v1/{index}/search", get(anserini::search))
        .route("/v1/{index}/doc/{docid}", get(anserini::document))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(Arc::clone(server), around))
        .with_state(Arc::clone(server))
}

async fn no_route(request: Request) -> Refusal {
    let sentence = match request.uri().path().starts_with("/v1/") {
        true => anserini::ROUTES,
        false => "there is no such route; /api/openapi.json lists all",
    };
    Refusal::Http(404, sentence.to_owned())
}

async fn no_method(request: Request) -> Refusal {
    let sentence = match request.uri().path().starts_with("/v1/") {
        true => anserini::METHODS,
        false => "the route has no such method; /api/openapi.json lists all",
    };
    Refusal::Http(405, sentence.to_owned())
}

/// Checks who asks, adds headers to the response, and writes the line of the log.
async fn around(State(server): ServerState, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let mut line = LogLine {
        begun: Instant::now(),
        method: request.method().as_str().to_owned(),
        route: route.map_or("-", MatchedPath::as_str).to_owned(),
        status: 499,
        told: LogDetails::default(),
        server: Arc::clone(&server),
    };
    let reader = BrowserReader::of(&request);
    let local = request.extensions().get::<LocalAddress>().copied();
    let checked = match local {
        Some(LocalAddress(local)) => guard::check(&request, local, &server.settings),
        None => Err(Refusal::Failed(
            "a connection without an address".to_owned(),
        )),
    };
    let entered = match &checked {
        Err(Refusal::Http(401, _)) => page::enter(&server, request.uri()),
        _ => None,
    };
    let mut response = match (entered, checked) {
        (Some(response), _) => response,
        (None, Err(refusal)) => refusal.into_response(),
        (None, Ok(())) => next.run(request).await,
    };
    if let Some(reader) = reader {
        reader.show(&mut response);
    }
    add_headers(&mut response);
    line.status = response.status().as_u16();
    line.told = response.extensions_mut().remove().unwrap_or_default();
    response
}

/// The answer to a request over a connection beyond the limit. Nothing of the request is looked at but who reads the answer.
pub(crate) fn turn_away<B>(request: &hyper::Request<B>) -> Response {
    let mut response = match Asset::style_at(request.uri().path()) {
        Some(style) => long_kept(style.encoded()),
        None => Refusal::crowded().into_response(),
    };
    if let Some(reader) = BrowserReader::of(request) {
        reader.show(&mut response);
    }
    add_headers(&mut response);
    response
}

/// The line of a request in the log, which is written when it is dropped: also if the client leaves before there is an answer.
struct LogLine {
    begun: Instant,
    method: String,
    route: String,
    status: u16,
    told: LogDetails,
    server: Arc<Server>,
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let question = self.told.question.as_deref();
        self.server.record(&LogRecord {
            time: SystemTime::now(),
            method: &self.method,
            route: &self.route,
            status: self.status,
            elapsed: self.begun.elapsed(),
            question: question.filter(|_| self.server.settings.log_questions),
            reason: self.told.reason.as_deref(),
        });
    }
}

type ServerState = State<Arc<Server>>;
type Answered = Result<Response, Refusal>;

/// The answer to a request, which is kept, with its question for the log.
async fn answered<R: CachedRequest>(
    server: &Server,
    lane: Lane,
    route: &str,
    request: R,
    work: impl FnOnce(&(dyn Desk + 'static), &R, &Call) -> Result<Encoded, Refusal> + Send + 'static,
) -> Answered {
    let question = request.question().map(str::to_owned);
    let answer = server.kept(lane, route, request, work).await;
    Ok(about(question, answer))
}

/// The fields of the query string.
struct QueryString(QueryFields);

impl<S: Sync> FromRequestParts<S> for QueryString {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<QueryString, Refusal> {
        QueryFields::parse(parts.uri.query()).map(QueryString)
    }
}

/// The parameters of the path.
struct InPath<T>(T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for InPath<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<InPath<T>, Refusal> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        let path = path.map_err(|error| Refusal::bad(error.body_text()))?;
        Ok(InPath(path.0))
    }
}
