//! Pages that say why there is no answer, whatever the reason.

use std::time::Duration;

use crate::client::Response;
use crate::html::Page;
use crate::stub::{Running, until};

const TOKEN: &str = "a-token-of-the-tests";

/// What a browser accepts when it shows the answer to a person.
const ACCEPT: (&str, &str) = (
    "accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
);

/// Sends a request as a browser does, and as a program does. Asserts that both have this status, that the program reads JSON, and that the browser gets a
/// page whose style it can load as it is: under the same name and without a token.
fn refusal(
    server: &Running,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
    status: u16,
) -> Page {
    let program = server.send(line, headers, body);
    assert_eq!(program.status, status, "{line}: {}", program.text());
    assert!(!program.error().is_empty());
    let response = server.send(line, &[&[ACCEPT], headers].concat(), body);
    assert_eq!(response.status, status, "{line}");
    styled(server, headers, &response)
}

fn styled(server: &Running, headers: &[(&str, &str)], response: &Response) -> Page {
    let page = Page::of(response);
    assert_eq!(page.texts("h1").len(), 1);
    let sentence = page.text(".refused");
    assert!(sentence.ends_with('.'), "{sentence}");
    let style = page.attribute("link[rel=stylesheet]", "href");
    let host = headers.iter().filter(|(name, _)| *name == "host");
    let host: Vec<_> = host.copied().collect();
    let style = server.send(&format!("GET {style}"), &host, "");
    assert_eq!(style.status, 200);
    assert_eq!(
        style.header("content-type"),
        Some("text/css; charset=utf-8")
    );
    page
}

#[test]
fn every_refusal_is_a_page_for_a_browser_and_json_for_a_program() {
    let server = Running::start(|settings| settings.body_time = Duration::from_millis(300));
    let json = ("content-type", "application/json");
    let long = format!("GET /?q={}", "x".repeat(20_000));
    let large = "x".repeat(70_000);
    let too_large = "x".repeat((1 << 20) + 1);
    let evil = [("host", "evil.example")];
    let origin = [("origin", "http://evil.example")];
    let head = [("x-large", large.as_str())];
    for (line, headers, body, status, title) in [
        (
            "GET /?tab=videos",
            &[][..],
            "",
            400,
            "The request is not clear",
        ),
        ("POST /", &origin, "{}", 403, "The request is refused"),
        ("GET /none", &[], "", 404, "There is nothing here"),
        ("GET /asset/none", &[], "", 404, "There is nothing here"),
        (
            "GET /picture/debates/none",
            &[],
            "",
            404,
            "There is nothing here",
        ),
        ("POST /why", &[], "", 405, "There is nothing here"),
        (
            "POST /",
            &[json, ("content-length", "9")],
            "",
            408,
            "It took too long",
        ),
        (
            "POST /",
            &[json],
            &too_large,
            413,
            "The request is too long",
        ),
        (&long, &[], "", 414, "The request is too long"),
        ("POST /", &[], "{}", 415, "The request is refused"),
        ("GET /", &evil, "", 421, "The request is refused"),
        ("GET /?q=german", &[], "", 422, "This cannot be answered"),
        ("GET /none", &head, "", 431, "The request is too long"),
        ("GET /?q=panic", &[], "", 500, "The server failed"),
        ("GET /?q=damaged", &[], "", 503, "Not now"),
    ] {
        let page = refusal(&server, line, headers, body, status);
        assert_eq!(page.text("h1"), title, "{status}");
        // the address alone asks again
        let again = page.attributes("a.button", "href");
        assert_eq!(again.len(), usize::from([500, 503].contains(&status)));
    }
}

#[test]
fn a_page_without_the_token_says_in_a_sentence_how_it_is_sent() {
    let server = Running::start(|settings| settings.token = Some(TOKEN.to_owned()));
    for path in ["/", "/?q=zoos", "/report?q=zoos", "/?token=wrong", "/none"] {
        let page = refusal(&server, &format!("GET {path}"), &[], "", 401);
        assert_eq!(page.text("h1"), "This page needs a token");
        let said = page.text("main");
        assert!(
            said.contains("Open /?token=TOKEN on this server once"),
            "{said}"
        );
        assert!(!said.contains(TOKEN));
        // nothing but the style can be read
        for (selector, name) in [("script", "src"), ("link[rel=icon]", "href")] {
            let file = page.attribute(selector, name);
            assert_eq!(server.get(&file).status, 401, "{file}");
        }
    }
    // the sentence is true
    let entered = server.browse(&format!("/?token={TOKEN}"));
    assert_eq!(entered.status, 303);
    assert!(entered.header("set-cookie").is_some());
}

#[test]
fn what_takes_too_long_and_a_full_queue_are_pages() {
    let late = Running::start(|settings| settings.deadline = Duration::from_millis(300));
    let page = refusal(&late, "GET /?q=wait", &[], "", 504);
    assert_eq!(page.text(".refused"), "There was no answer in time.");
    assert_eq!(page.attribute("a.button", "href"), "/?q=wait");
    let full = Running::start(|settings| settings.waiting = 0);
    let page = refusal(&full, "GET /?q=zoos", &[], "", 503);
    assert!(page.text("main").contains("another try in a second"));
}

/// A route for programs is a page only if a browser says that a person reads it: clients that are written in Java accept HTML, too.
#[test]
fn a_route_for_programs_answers_a_person_with_a_page() {
    let server = Running::start(|_| {});
    for (line, status) in [
        ("GET /api/search?q=damaged", 503),
        ("GET /v1/debates/doc/none", 404),
        ("GET /api/stance", 405),
    ] {
        let java = [(
            "accept",
            "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
        )];
        let json = server.send(line, &java, "");
        assert_eq!(json.status, status);
        assert!(!json.error().is_empty());
        let person = [
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        refusal(&server, line, &person, "", status);
    }
}

#[test]
fn a_connection_too_many_is_told_so_in_the_form_that_it_asks_for() {
    let server = Running::start(|settings| settings.connections = 1);
    let held = crate::client::connect(server.address);
    until("the place is taken", || {
        server.raw(b"").is_some_and(|refused| refused.status == 503)
    });
    let page = refusal(&server, "GET /?q=Close+zoos%3F", &[], "", 503);
    assert_eq!(
        page.text(".refused"),
        "There are too many connections; try again later."
    );
    assert_eq!(page.attribute("a.button", "href"), "/?q=Close+zoos%3F");
    // whoever has no place reaches no desk, whatever he asks
    for line in ["GET /health", "GET /metrics", "GET /api/collections"] {
        let refused = server.send(line, &[], "");
        assert_eq!(refused.status, 503, "{line}");
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert_eq!(refused.header("connection"), Some("close"));
        let policy = refused.header("content-security-policy");
        assert!(policy.is_some_and(|policy| policy.starts_with("default-src 'none'")));
    }
    assert_eq!(server.begun(), 0);
    drop(held);
    until("the place is free", || {
        server.get("/api/search?q=zoos").status == 200
    });
}
