//! The page that says why there is no answer.

use askama::Template;
use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request, Uri};
use axum::response::Response;

use super::frame::PageFrame;
use super::words::sentence;
use crate::questions::QueryFields;

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
    frame: PageFrame,
    title: &'static str,
    sentence: String,
    advice: String,
    /// The same address, if another try can help.
    again: Option<String>,
}

/// Routes for programs. They answer with JSON also where `text/html` is accepted, as clients do that are written in Java, unless a browser says that it
/// shows the answer to a person.
const FOR_PROGRAMS: [&str; 5] = ["/api/", "/v1/", "/health", "/metrics", "/openapi.yaml"];

/// A person who reads the answer to a request in a browser.
pub(crate) struct BrowserReader {
    uri: Uri,
    /// Whether the address alone asks again.
    is_read: bool,
}

impl BrowserReader {
    /// The person who will read the refusal; `None` if a program sent this request.
    pub(crate) fn of<B>(request: &Request<B>) -> Option<BrowserReader> {
        let (uri, headers) = (request.uri(), request.headers());
        let accepted = headers.get_all(ACCEPT).iter();
        let mut accepted = accepted.filter_map(|value| value.to_str().ok());
        let mut programs = FOR_PROGRAMS.iter();
        let is_for_programs = programs.any(|program| uri.path().starts_with(program));
        let is_shown = headers
            .get("sec-fetch-mode")
            .is_some_and(|mode| mode == "navigate");
        let is_html = accepted.any(|value| value.to_ascii_lowercase().contains("text/html"));
        (is_html && (is_shown || !is_for_programs)).then(|| BrowserReader {
            uri: uri.clone(),
            is_read: [Method::GET, Method::HEAD].contains(request.method()),
        })
    }

    /// Replaces the body of a refusal by a page. The status and the other headers stay.
    pub(crate) fn show(&self, response: &mut Response) {
        let Some(refused) = response.extensions_mut().remove::<Refused>() else {
            return;
        };
        let status = response.status().as_u16();
        // without a page, the JSON remains
        if let Ok(page) = self.page(status, refused).render() {
            *response.body_mut() = Body::from(page);
            let html = HeaderValue::from_static("text/html; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, html);
        }
    }

    fn page(&self, status: u16, refused: Refused) -> RefusedPage {
        let uri = &self.uri;
        let title = match status {
            400 => "The request is not clear",
            401 => "This page needs a token",
            404 | 405 => "There is nothing here",
            408 | 504 => "It took too long",
            413 | 414 | 431 => "The request is too long",
            422 => "This cannot be answered",
            429 | 503 => "Not now",
            500.. => "The server failed",
            _ => "The request is refused",
        };
        let is_worth_another_try = self.is_read && matches!(status, 429 | 500 | 503 | 504);
        let advice = match (status, refused.retry_after) {
        (401, _) => {
            "Open /?token=TOKEN on this server once, with its token in the place of TOKEN; the browser then keeps it in a cookie."
                .to_owned()
        }
        (_, Some(1)) => "It is worth another try in a second.".to_owned(),
        (_, Some(seconds)) => format!("It is worth another try in {seconds} seconds."),
        _ => String::new(),
    };
        let mut fields = QueryFields::parse(uri.query()).ok();
        let mut field = |name: &str| fields.as_mut().and_then(|fields| fields.take(name));
        RefusedPage {
            frame: PageFrame {
                question: field("q").unwrap_or_default(),
                collection: field("collection").unwrap_or_default(),
                ..PageFrame::default()
            },
            title,
            sentence: sentence(&refused.sentence),
            advice,
            again: is_worth_another_try.then(|| {
                let path = uri.path_and_query().map_or("/", |path| path.as_str());
                // two slashes would be followed by a host
                format!("/{}", path.trim_start_matches(['/', '\\']))
            }),
        }
    }
}
