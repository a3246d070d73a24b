//! Who may ask: the name that the client used for the server, the page that a browser asks from, and the token.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Request};
use subtle::ConstantTimeEq;

use crate::limits::MAX_HEAD_BYTES;
use crate::page::Asset;
use crate::refusal::Refusal;
use crate::settings::ServerSettings;

/// The cookie in which the page keeps the token.
pub(crate) const COOKIE_NAME: &str = "riposte-token";

/// The path that answers without a token, for programs that watch whether the server runs.
const OPEN_PATH: &str = "/health";

/// The address of the server that a connection came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalAddress(pub(crate) SocketAddr);

/// Checks the size of the head, the name of the host, the origin and the token.
///
/// Everybody may read the style sheet, because a page that refuses a request looks like the others, too. This exposes nothing: its bytes are a part of the
/// program, so they are the same wherever it runs, and the page that refuses says as well which program it is.
///
/// A page of another site can let its own name point to this machine (DNS rebinding); a browser then takes the server for a part of that site, but still
/// sends its name. It can also send a form or load a picture from here, without reading the answer. So the name must be one that is known, and what other
/// sites send is refused, but a link may lead here.
///
/// # Errors
/// The request is refused with 400, 401, 403, 421 or 431.
pub(crate) fn check<B>(
    request: &Request<B>,
    local: SocketAddr,
    settings: &ServerSettings,
) -> Result<(), Refusal> {
    let headers = request.headers();
    check_size(request)?;
    if Asset::style_at(request.uri().path()).is_some() {
        return Ok(());
    }
    let host = host(headers)?;
    let named = [Some(&host), request.uri().authority()];
    if named
        .into_iter()
        .flatten()
        .any(|name| !is_ours(name, local, settings))
    {
        let sentence = "the server does not have this name; its settings can add names";
        return Err(Refusal::Http(421, sentence.to_owned()));
    }
    check_site(request.method(), headers, &host)?;
    match &settings.token {
        Some(token) if request.uri().path() != OPEN_PATH => check_token(headers, token),
        _ => Ok(()),
    }
}

/// Refuses a head that is too large. The connection refuses only what does not fit into its buffer, which can have room for more.
fn check_size<B>(request: &Request<B>) -> Result<(), Refusal> {
    let uri = request.uri();
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len());
    match path + headers.sum::<usize>() > MAX_HEAD_BYTES {
        true => {
            let sentence = format!("the headers have more than {MAX_HEAD_BYTES} bytes");
            Err(Refusal::Http(431, sentence))
        }
        false => Ok(()),
    }
}

/// The name in the header `Host`.
fn host(headers: &HeaderMap) -> Result<Authority, Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => Authority::try_from(host.as_bytes()).ok(),
        _ => None,
    };
    host.ok_or_else(|| Refusal::bad("the request needs one header `Host`"))
}

/// Whether a client may call the server by this name. The port does not matter, because it can be mapped on the way, and a site cannot forge it.
fn is_ours(name: &Authority, local: SocketAddr, settings: &ServerSettings) -> bool {
    let host = name.host();
    // a final dot says that the name is complete
    let complete = host.strip_suffix('.').unwrap_or(host);
    let mut names = settings
        .names
        .iter()
        .map(String::as_str)
        .chain(["localhost"]);
    if names.any(|known| complete.eq_ignore_ascii_case(known)) {
        return true;
    }
    let numeric = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    numeric
        .unwrap_or(host)
        .parse::<IpAddr>()
        .is_ok_and(|address| {
            let address = address.to_canonical();
            address.is_loopback() || address == local.ip().to_canonical()
        })
}

/// Refuses what a browser sends on behalf of another site.
fn check_site(method: &Method, headers: &HeaderMap, host: &Authority) -> Result<(), Refusal> {
    let other = || Refusal::Http(403, "the request comes from another site".to_owned());
    let is_read = [Method::GET, Method::HEAD].contains(method);
    if !is_read && let Some(origin) = headers.get(ORIGIN) {
        let origin = origin.to_str().ok();
        let name = origin.and_then(|origin| {
            let name = origin.strip_prefix("http://");
            name.or_else(|| origin.strip_prefix("https://"))
        });
        if !name.is_some_and(|name| name.eq_ignore_ascii_case(host.as_str())) {
            return Err(other());
        }
    }
    let says = |name: &str, value: &str| headers.get(name).is_some_and(|it| it == value);
    let is_link = is_read && says("sec-fetch-mode", "navigate");
    match says("sec-fetch-site", "cross-site") && !is_link {
        true => Err(other()),
        false => Ok(()),
    }
}

fn check_token(headers: &HeaderMap, token: &str) -> Result<(), Refusal> {
    let header = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, sent) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(sent.trim())
    });
    // clients of pyserini's server send this one
    let key = headers
        .get("x-api-key")
        .and_then(|value| value.to_str().ok());
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';'));
    let of_cookies = pairs.filter_map(|pair| {
        let (name, sent) = pair.trim().split_once('=')?;
        (name == COOKIE_NAME).then_some(sent)
    });
    let mut sent = header.into_iter().chain(key).chain(of_cookies);
    match sent.any(|sent| is_token(sent, token)) {
        true => Ok(()),
        false => Err(Refusal::Http(401, "the request needs the token".to_owned())),
    }
}

/// Compares in a time that does not depend on where the two differ.
pub(crate) fn is_token(sent: &str, token: &str) -> bool {
    sent.as_bytes().ct_eq(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn status(headers: &[(&str, &str)], method: &str, settings: &ServerSettings) -> u16 {
        let mut request = Request::builder().method(method).uri("/api/search");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).unwrap();
        let local = "192.0.2.7:8080".parse().unwrap();
        let checked = check(&request, local, settings);
        checked.map_or_else(|refusal| refusal.status(), |()| 200)
    }

    #[test]
    fn a_server_answers_to_its_address_to_localhost_and_to_its_names() {
        let names = vec!["riposte.example".to_owned()];
        let settings = ServerSettings {
            names,
            ..ServerSettings::default()
        };
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.:1",
            "127.0.0.1:8080",
            "[::1]:8080",
            "192.0.2.7:9000",
            "Riposte.Example:443",
        ] {
            assert_eq!(status(&[("host", host)], "GET", &settings), 200, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "riposte.example.evil.example",
            "localhost.evil.example",
            "192.0.2.8",
            "[::2]",
            "0.0.0.0:8080",
        ] {
            assert_eq!(status(&[("host", host)], "GET", &settings), 421, "{host}");
        }
        assert_eq!(status(&[], "GET", &settings), 400);
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(status(&twice, "GET", &settings), 400);
    }

    #[test]
    fn other_sites_may_only_link() {
        let settings = ServerSettings::default();
        let host = ("host", "localhost:8080");
        let post = |origin| status(&[host, ("origin", origin)], "POST", &settings);
        assert_eq!(post("http://localhost:8080"), 200);
        for origin in [
            "http://evil.example",
            "http://localhost:3000",
            "null",
            "http://localhost:8080.evil.example",
        ] {
            assert_eq!(post(origin), 403, "{origin}");
        }
        assert_eq!(status(&[host], "POST", &settings), 200);
        let cross = ("sec-fetch-site", "cross-site");
        assert_eq!(status(&[host, cross], "GET", &settings), 403);
        let link = [host, cross, ("sec-fetch-mode", "navigate")];
        assert_eq!(status(&link, "GET", &settings), 200);
        assert_eq!(status(&link, "POST", &settings), 403);
    }

    #[test]
    fn a_token_can_be_sent_in_three_ways() {
        let token = Some(TOKEN.to_owned());
        let settings = ServerSettings {
            token,
            ..ServerSettings::default()
        };
        let with = |name, value| status(&[("host", "localhost"), (name, value)], "GET", &settings);
        assert_eq!(with("authorization", "Bearer 0123456789abcdef"), 200);
        assert_eq!(with("authorization", "bearer 0123456789abcdef"), 200);
        assert_eq!(with("x-api-key", TOKEN), 200);
        assert_eq!(with("cookie", "a=b; riposte-token=0123456789abcdef"), 200);
        assert_eq!(with("authorization", "Bearer 0123456789abcdeg"), 401);
        assert_eq!(with("authorization", "Bearer "), 401);
        assert_eq!(with("cookie", "riposte-token=0123456789abcdef0"), 401);
        assert_eq!(with("cookie", "token=0123456789abcdef"), 401);
        assert_eq!(with("accept", "*/*"), 401);
    }
}
