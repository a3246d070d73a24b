//! Who may ask.

use crate::stub::Running;

const TOKEN: &str = "a-token-of-the-tests";

#[test]
fn a_site_that_rebinds_its_name_gets_nothing() {
    let server = Running::start(|settings| settings.names = vec!["riposte.example".to_owned()]);
    for host in [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "192.0.2.1",
    ] {
        let response = server.send("GET /api/search?q=zoos", &[("host", host)], "");
        assert_eq!(response.status, 421, "{host}");
    }
    for host in ["localhost", "localhost:9", "[::1]", "RIPOSTE.example:443"] {
        let response = server.send("GET /api/search?q=zoos", &[("host", host)], "");
        assert_eq!(response.status, 200, "{host}");
    }
    // the name in the first line counts, too
    let line = "GET http://evil.example/api/search?q=zoos";
    assert_eq!(server.send(line, &[], "").status, 421);
    let no_host = server.raw(b"GET /health HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(no_host.status, 400);
    assert_eq!(
        server.stub.seen.lock().unwrap().len(),
        1,
        "the kept answer served the rest"
    );
}

#[test]
fn another_site_cannot_send_a_form_or_load_an_answer() {
    let server = Running::start(|_| {});
    let json = ("content-type", "application/json");
    let body = r#"{"question":"zoos"}"#;
    let post = |headers: &[(&str, &str)]| server.send("POST /api/debate", headers, body).status;
    let own = format!("http://{}", server.address);
    assert_eq!(post(&[json, ("origin", &own)]), 200);
    assert_eq!(post(&[json]), 200);
    assert_eq!(post(&[json, ("origin", "http://evil.example")]), 403);
    assert_eq!(post(&[json, ("origin", "null")]), 403);
    for kind in [
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data",
    ] {
        assert_eq!(post(&[("content-type", kind)]), 415, "{kind}");
    }
    assert_eq!(server.send("POST /api/debate", &[], body).status, 415);
    let image = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
    ];
    assert_eq!(
        server.send("GET /api/search?q=zoos", &image, "").status,
        403
    );
}

#[test]
fn with_a_token_only_health_is_open() {
    let server = Running::start(|settings| settings.token = Some(TOKEN.to_owned()));
    for path in [
        "/",
        "/api/collections",
        "/metrics",
        "/v1/debates/doc/1",
        "/none",
        "/asset/page.css",
    ] {
        let refused = server.get(path);
        assert_eq!(refused.status, 401, "{path}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(server.get("/health").status, 200);
    let bearer = format!("Bearer {TOKEN}");
    for header in [("authorization", bearer.as_str()), ("x-api-key", TOKEN)] {
        assert_eq!(
            server.send("GET /api/collections", &[header], "").status,
            200
        );
    }
    let wrong = [("authorization", "Bearer a-token-of-the-testz")];
    assert_eq!(server.send("GET /api/collections", &wrong, "").status, 401);
}

#[test]
fn the_page_is_entered_with_the_token_in_its_address_once() {
    let server = Running::start(|settings| settings.token = Some(TOKEN.to_owned()));
    let entered = server.get(&format!("/?q=Close+zoos%3F&token={TOKEN}&tab=images"));
    assert_eq!(entered.status, 303);
    assert_eq!(
        entered.header("location"),
        Some("/?q=Close+zoos%3F&tab=images")
    );
    let cookie = entered.header("set-cookie").unwrap();
    assert_eq!(
        cookie,
        format!("riposte-token={TOKEN}; Path=/; SameSite=Strict; HttpOnly")
    );
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(server.send("GET /", &[("cookie", cookie)], "").status, 200);
    // a browser that has the cookie follows the first address again
    let again = server.send(&format!("GET /?token={TOKEN}"), &[("cookie", cookie)], "");
    assert_eq!(again.status, 200);
    assert_eq!(server.get("/?token=a-token-of-the-testz").status, 401);
    assert_eq!(
        server
            .get(&format!("/api/collections?token={TOKEN}"))
            .status,
        401
    );
    // another site's name does not get the cookie
    let rebound = format!("GET /?token={TOKEN}");
    let rebound = server.send(&rebound, &[("host", "evil.example")], "");
    assert_eq!(rebound.status, 421);
    assert!(rebound.header("set-cookie").is_none());
    assert!(
        !server
            .log
            .lock()
            .unwrap()
            .iter()
            .any(|line| line.contains(TOKEN))
    );
}

#[test]
fn no_path_leads_out_of_the_names_that_the_desk_knows() {
    let server = Running::start(|_| {});
    for path in [
        "/asset/../../etc/passwd",
        "/asset/..%2F..%2Fetc%2Fpasswd",
        "/asset/%2e%2e/%2e%2e/etc/passwd",
        "/asset/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/asset/..%5C..%5Cwindows",
        "/asset/.hidden",
        "/asset//etc/passwd",
        "/asset/page.css%00.js",
        "/../../etc/passwd",
        "//etc/passwd",
        "/picture/debates/..%2F..%2Fetc%2Fpasswd",
        "/picture/..%2F..%2F/1",
        "/api/documents/debates/..%2F..%2Fetc%2Fpasswd",
    ] {
        let response = server.get(path);
        assert_eq!(response.status, 404, "{path}: {}", response.text());
        assert!(!response.text().contains("root:"));
    }
    // a name without a separator that only looks like a path is asked for, and not known
    let odd = server.get("/v1/%2E%2E/doc/1");
    assert!([400, 404].contains(&odd.status), "{odd:?}");
}

#[test]
fn questions_are_logged_only_on_demand_and_reasons_always() {
    let quiet = Running::start(|_| {});
    quiet.get("/api/search?q=Are+my+secrets+safe%3F");
    let failed = quiet.get("/api/search?q=fail");
    assert!(!failed.text().contains("/secret"));
    assert_eq!(quiet.lines(&["GET /api/search 200"]), 1);
    assert_eq!(
        quiet.lines(&["GET /api/search 500", "disk /secret is on fire"]),
        1
    );
    assert_eq!(quiet.lines(&["secrets"]), 0);
    let open = Running::start(|settings| settings.log_questions = true);
    open.get("/api/search?q=Are+my+secrets+safe%3F");
    assert_eq!(
        open.lines(&["GET /api/search 200", r#""Are my secrets safe?""#]),
        1
    );
}
