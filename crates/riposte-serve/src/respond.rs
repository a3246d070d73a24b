//! Requests as they come from the network, and responses as they go there.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderName, LOCATION, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::{IntoResponses, ToSchema};

use crate::cache::Encoded;
use crate::guard::COOKIE_NAME;
use crate::limits::MAX_BODY_BYTES;
use crate::page::Refused;
use crate::refusal::Refusal;
use crate::server::{Server, json};

/// Why there is no answer.
#[derive(Serialize, ToSchema)]
#[schema(as = Fault)]
pub(crate) struct ErrorBody {
    /// One sentence.
    pub(crate) error: String,
}

/// What every route can answer instead, for the description of the routes.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it only describes what a Refusal becomes")]
pub(crate) enum Failures {
    #[response(status = "4XX")]
    Client(ErrorBody),
    #[response(status = "5XX")]
    Server(ErrorBody),
}

/// What the log shall know of a response, beside its status.
#[derive(Clone, Default)]
pub(crate) struct LogDetails {
    pub(crate) question: Option<String>,
    pub(crate) reason: Option<String>,
}

/// Headers of every response that has no others of the same names. Nothing is loaded from elsewhere, no page may show this one inside, scripts and styles are
/// only those of the server's own files, and a script cannot make HTML of a text.
const HEADERS: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// Headers of a report. Its page has a style and a script inside, which the policy of the server forbids, so a browser gets it as a file; the saved file is
/// bound by nothing here. If a browser shows it all the same, `sandbox` makes it a page of no site: it runs no script, sends no form, opens no window, and
/// has neither the cookie nor the rights of the server's own pages. Only its own style and pictures are left, and nothing is loaded from anywhere.
/// By the standard of HTML, a browser shows no page that has both a sandbox and an opener policy (although Chromium does), so the latter is off.
const REPORT_HEADERS: [(HeaderName, &str); 3] = [
    (CONTENT_DISPOSITION, "attachment; filename=\"report.html\""),
    (
        CONTENT_SECURITY_POLICY,
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "unsafe-none",
    ),
];

/// A report, which the browser saves.
pub(crate) fn saved_report(page: Encoded) -> Response {
    (REPORT_HEADERS, page).into_response()
}

pub(crate) fn add_headers(response: &mut Response) {
    for (name, value) in HEADERS {
        let header = response.headers_mut().entry(HeaderName::from_static(name));
        header.or_insert(HeaderValue::from_static(value));
    }
    // what a collection says is not left in the caches of browsers and proxies
    let cached = response.headers_mut().entry(CACHE_CONTROL);
    cached.or_insert(HeaderValue::from_static("no-store"));
}

/// Lets the browser keep a picture, so that it does not load it again when the results are replaced.
pub(crate) fn briefly_kept(file: Encoded) -> Response {
    let kept = [(CACHE_CONTROL, "private, max-age=60")];
    (kept, file).into_response()
}

/// Lets the browser keep a file whose bytes never change under its name.
pub(crate) fn long_kept(file: Encoded) -> Response {
    let kept = [(CACHE_CONTROL, "private, max-age=31536000, immutable")];
    (kept, file).into_response()
}

impl IntoResponse for Encoded {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.bytes));
        let kind = HeaderValue::from_static(self.content_type);
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let fault = ErrorBody {
            error: self.to_string(),
        };
        // a sentence is always JSON
        let mut response =
            json(&fault).map_or_else(|_| Response::default(), Encoded::into_response);
        let status = StatusCode::from_u16(self.status());
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after() {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if self.status() == 401 {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // the rest of the body would have to be read first
        if [408, 413].contains(&self.status()) {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let told = LogDetails {
            question: None,
            reason: self.reason().map(str::to_owned),
        };
        response.extensions_mut().insert(told);
        response.extensions_mut().insert(Refused {
            sentence: self.to_string(),
            retry_after: self.retry_after(),
        });
        response
    }
}

/// Adds the question that a response answers, for the log.
pub(crate) fn about(question: Option<String>, response: impl IntoResponse) -> Response {
    let mut response = response.into_response();
    let told = response
        .extensions_mut()
        .get_or_insert_default::<LogDetails>();
    told.question = question;
    response
}

/// Sends a browser on to the page, with the token in a cookie, so that it does not stay in the address. Pages of other sites cannot make the browser send
/// the cookie, and no script can read it.
pub(crate) fn enter(token: &str, path: &str) -> Response {
    let cookie = format!("{COOKIE_NAME}={token}; Path=/; SameSite=Strict; HttpOnly");
    let headers = [(SET_COOKIE, cookie), (LOCATION, path.to_owned())];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// The body of a request, as JSON. A browser sends this type from another site only if the server agrees, and it does not.
///
/// # Errors
/// It has another type, is too long, takes too long, or is not what the route expects.
pub(crate) async fn body<T: DeserializeOwned>(
    server: &Server,
    request: Request,
) -> Result<T, Refusal> {
    let kind = request.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let sentence = "the body must be JSON, with the header `Content-Type: application/json`";
        return Err(Refusal::Http(415, sentence.to_owned()));
    }
    let too_large = || {
        Refusal::Http(
            413,
            format!("the body has more than {MAX_BODY_BYTES} bytes"),
        )
    };
    // what its header says, if it says it
    if request.body().size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large());
    }
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES).collect();
    let body = tokio::time::timeout(server.settings.body_time, body).await;
    let body = body.map_err(|_| {
        let sentence = "the body did not arrive in time";
        Refusal::Http(408, sentence.to_owned())
    })?;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => too_large(),
        false => Refusal::bad(format!("the body cannot be read: {}", root_of(&*error))),
    })?;
    let read = serde_json::from_slice(&body.to_bytes());
    read.map_err(|error| Refusal::bad(format!("the body is not what this route expects: {error}")))
}

/// The innermost error, which says what is wrong.
fn root_of(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
