//! The page that says why there is no answer.

use askama::Template;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Uri};
use axum::response::Response;

use super::frame::Frame;
use super::words::sentence;
use crate::questions::Fields;

/// Why there is no answer. A refusal leaves it with its response, for a page instead of the JSON.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    /// One sentence.
    pub(crate) sentence: String,
    /// The seconds after which it is worth asking again.
    pub(crate) retry_after: Option<u64>,
}

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage {
    frame: Frame,
    title: &'static str,
    sentence: String,
    advice: String,
    /// The same address, if another try can help.
    again: Option<String>,
}

/// Routes for programs, which answer with JSON whoever asks.
const FOR_PROGRAMS: [&str; 7] = [
    "/api/",
    "/v1/",
    "/health",
    "/metrics",
    "/openapi.yaml",
    "/picture/",
    "/asset/",
];

/// Whether a browser asks for something that a person reads.
pub(crate) fn is_for_reader(request: &Request) -> bool {
    let path = request.uri().path();
    let accepted = request.headers().get_all(ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    [Method::GET, Method::HEAD].contains(request.method())
        && !FOR_PROGRAMS.iter().any(|program| path.starts_with(program))
        && accepted.any(|value| value.to_ascii_lowercase().contains("text/html"))
}

/// Puts a page into a response that has none. Its status and its headers stay.
pub(crate) fn refused(response: &mut Response, uri: &Uri) {
    let Some(refused) = response.extensions_mut().remove::<Refused>() else {
        return;
    };
    let status = response.status().as_u16();
    let title = match status {
        400 | 414 | 431 => "The request is not clear",
        401 => "This page needs a token",
        404 | 405 => "There is nothing here",
        422 => "This cannot be answered",
        503 => "Not now",
        504 => "It took too long",
        500.. => "The server failed",
        _ => "The request is refused",
    };
    let is_worth_another_try = matches!(status, 500 | 503 | 504);
    let advice = match (status, refused.retry_after) {
        (401, _) => {
            "Open it once with ?token= and the token of the server at the end of the address."
                .to_owned()
        }
        (_, Some(1)) => "It is worth another try in a second.".to_owned(),
        (_, Some(seconds)) => format!("It is worth another try in {seconds} seconds."),
        _ => String::new(),
    };
    let mut fields = Fields::parse(uri.query()).ok();
    let mut field = |name: &str| fields.as_mut().and_then(|fields| fields.take(name));
    let page = RefusedPage {
        frame: Frame {
            question: field("q").unwrap_or_default(),
            collection: field("collection").unwrap_or_default(),
            ..Frame::default()
        },
        title,
        sentence: sentence(&refused.sentence),
        advice,
        again: is_worth_another_try.then(|| {
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            // two slashes would be followed by a host
            format!("/{}", path.trim_start_matches(['/', '\\']))
        }),
    };
    // without a page, the JSON remains
    if let Ok(page) = page.render() {
        *response.body_mut() = Body::from(page);
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, html);
    }
}
