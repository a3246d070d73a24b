//! The routes of riposte's own API.

use crate::client::Response;
use crate::schema::assert_described;
use crate::stub::{Running, SCORE};

fn start() -> Running {
    Running::start(|_| {})
}

/// Gets a path, and compares the answer with the description of its route.
fn get(server: &Running, route: &str, path: &str) -> Response {
    let response = server.get(path);
    assert_described(route, "get", &response);
    response
}

fn post(server: &Running, route: &str, body: &str) -> Response {
    let response = server.post(route, body);
    assert_described(route, "post", &response);
    response
}

#[test]
fn a_search_is_read_and_answered_with_the_score_as_it_is() {
    let server = start();
    let path = "/api/search?q=+Should%20zoos%0Abe+closed%3F&collection=debates&kind=Images&hits=2&approach=claims-clip&claim=zoos+are+bad&side=con&portal=debate.org&minimum=.25";
    let response = get(&server, "/api/search", path);
    assert_eq!(response.status, 200);
    let json = response.json();
    assert_eq!(json["question"], "Should zoos be closed?");
    assert_eq!(json["kind"], "images");
    assert_eq!(json["approach"], "claims-clip");
    assert_eq!(json["understood"]["polarity"], "negative");
    let hits = json["results"].as_array().unwrap();
    assert_eq!(hits.len(), 2);
    assert_eq!(hits[0]["rank"], 1);
    assert_eq!(hits[0]["side"], "CON");
    assert_eq!(hits[0]["stance"]["con"], 0.7);
    assert_eq!(
        (&hits[0]["about"], &hits[0]["padding"]),
        (&0.9.into(), &false.into())
    );
    let score = format!("\"score\":{SCORE:?},");
    assert!(
        response.text().contains(&score),
        "{score} {}",
        response.text()
    );
    let read = hits[0]["text"].as_str().unwrap();
    for field in [
        r#"claim: Some("zoos are bad")"#,
        "side: Some(Con)",
        r#"portal: Some("debate.org")"#,
        "minimum: Some(0.25)",
    ] {
        assert!(read.contains(field), "{field}: {read}");
    }
}

#[test]
fn fields_of_a_form_that_were_left_empty_are_absent() {
    let server = start();
    let path =
        "/api/search?q=zoos&collection=&kind=&hits=&approach=&claim=+&side=&portal=&minimum=";
    assert_eq!(get(&server, "/api/search", path).status, 200);
}

#[test]
fn a_bad_search_is_told_what_is_wrong() {
    let server = start();
    let long = format!("q={}", "ä".repeat(1001));
    let longest = format!("q={}", "ä".repeat(1000));
    assert_eq!(
        get(&server, "/api/search", &format!("/api/search?{longest}")).status,
        200
    );
    for (query, status, words) in [
        ("", 400, "`q` is missing"),
        ("q=+", 400, "`q` is missing"),
        ("q=%3F%21", 400, "`q` has no word"),
        (long.as_str(), 400, "more than 1000 characters"),
        ("q=zoos&hits=0", 400, "`hits` must be from 1 to 10000"),
        ("q=zoos&hits=10001", 400, "`hits` must be from 1 to 10000"),
        ("q=zoos&hits=-1", 400, "`hits` must be from 1 to 10000"),
        (
            "q=zoos&hits=99999999999999999999",
            400,
            "`hits` must be from 1 to 10000",
        ),
        (
            "q=zoos&kind=videos",
            400,
            "`kind` must be one of arguments, images",
        ),
        (
            "q=zoos&side=left",
            400,
            "`side` must be one of pro, con, undecided",
        ),
        ("q=zoos&minimum=1.5", 400, "`minimum` must be from 0 to 1"),
        ("q=zoos&minimum=NaN", 400, "`minimum` must be from 0 to 1"),
        (
            "q=zoos&approach=..%2Fsecret.toml",
            400,
            "`approach` is a name of letters",
        ),
        (
            "q=zoos&collection=a%00b",
            400,
            "`collection` has a control character",
        ),
        ("q=zoos&hitz=3", 400, "`hitz` is no field of this route"),
        ("q=zoos&q=trams", 400, "`q` stands twice"),
        (
            "q=zoos&collection=none",
            404,
            "there is no collection \"none\"",
        ),
        ("q=german", 422, "the question looks German"),
        ("q=damaged", 503, "the collection is damaged"),
        ("q=fail", 500, "the server failed; its log says why"),
        ("q=panic", 500, "the server failed; its log says why"),
    ] {
        let response = get(&server, "/api/search", &format!("/api/search?{query}"));
        let error = response.error();
        assert_eq!(response.status, status, "{query}: {error}");
        assert!(error.contains(words), "{query}: {error}");
    }
    let damaged = server.get("/api/search?q=damaged");
    assert_eq!(damaged.header("retry-after"), Some("2"));
}

#[test]
fn collections_documents_and_explanations() {
    let server = start();
    let collections = get(&server, "/api/collections", "/api/collections").json();
    assert_eq!(collections[0]["name"], "debates");
    assert_eq!(collections[0]["kinds"][1], "images");
    let route = "/api/documents/{collection}/{id}";
    let id = "c67482ba-2019-04-18T13:32:05Z-00000-000";
    let document = get(&server, route, &format!("/api/documents/debates/{id}"));
    assert_eq!(document.json()["id"], id);
    // an id can have a slash
    let escaped = get(&server, route, "/api/documents/debates/a%2Fb%20%C3%A4");
    assert_eq!(escaped.json()["id"], "a/b ä");
    for (path, status) in [
        ("/api/documents/debates/none", 404),
        ("/api/documents/none/1", 404),
        ("/api/documents/debates/%FF", 400),
        ("/api/documents/debates/%20", 400),
        ("/api/documents/debates/a%0Ab", 400),
        ("/api/documents/debates/1?x=1", 400),
    ] {
        assert_eq!(get(&server, route, path).status, status, "{path}");
    }
    let explained = get(
        &server,
        "/api/explain",
        "/api/explain?q=zoos&collection=debates&id=d1",
    );
    assert_eq!(explained.json()["explanation"]["value"], SCORE);
    let other = "/api/explain?q=zoos&collection=debates&id=d1&claim=zoos+are+bad";
    assert_eq!(get(&server, "/api/explain", other).status, 200);
    assert_eq!(
        get(&server, "/api/explain", "/api/explain?q=zoos").status,
        400
    );
    assert_eq!(
        get(&server, "/api/explain", "/api/explain?q=fail&id=d1").status,
        500
    );
}

#[test]
fn stances_and_qualities() {
    let server = start();
    let topic = r#"{"topic":"Should zoos be closed?","texts":["a",""],"explain":true}"#;
    let stances = post(&server, "/api/stance", topic).json();
    assert_eq!(stances.as_array().unwrap().len(), 2);
    assert_eq!(stances[0]["stance"], "CON");
    assert_eq!(stances[0]["con"], 0.94);
    assert_eq!(stances[1]["explanation"]["id"], "balance");
    let objects = r#"{"objects":["cats","dogs"],"texts":["Cats are better."]}"#;
    assert_eq!(
        post(&server, "/api/stance", objects).json()[0]["stance"],
        "FIRST"
    );
    let many = vec!["\"x\""; 1001].join(",");
    let most = vec!["\"x\""; 1000].join(",");
    let with = |texts: &str| format!(r#"{{"topic":"zoos","texts":[{texts}]}}"#);
    assert_eq!(post(&server, "/api/stance", &with(&most)).status, 200);
    for (body, words) in [
        (with(&many), "the number of `texts` must be from 1 to 1000"),
        (with(""), "the number of `texts` must be from 1 to 1000"),
        (
            r#"{"texts":["a"]}"#.to_owned(),
            "either `topic` or `objects`",
        ),
        (
            r#"{"topic":"a","objects":["a","b"],"texts":["a"]}"#.to_owned(),
            "either",
        ),
        (
            r#"{"objects":["a"],"texts":["a"]}"#.to_owned(),
            "not what this route expects",
        ),
        (
            r#"{"topic":"?","texts":["a"]}"#.to_owned(),
            "`topic` has no word",
        ),
        (
            r#"{"topic":"a","text":["a"]}"#.to_owned(),
            "unknown field `text`",
        ),
        (r#"{"topic":"a","texts":[1]}"#.to_owned(), "line 1 column"),
        ("nonsense".to_owned(), "not what this route expects"),
        (
            format!("{}1", "[".repeat(100_000)),
            "not what this route expects",
        ),
    ] {
        let response = post(&server, "/api/stance", &body);
        assert_eq!(response.status, 400, "{words}");
        assert!(response.error().contains(words), "{}", response.error());
    }
    let quality = post(&server, "/api/quality", r#"{"topic":"zoos","texts":["a"]}"#);
    assert_eq!(quality.json()[0]["quality"], 0.7);
    assert_eq!(
        post(&server, "/api/quality", r#"{"texts":["a"]}"#).status,
        400
    );
}

#[test]
fn a_debate_can_be_asked_for_in_two_ways_and_is_the_same() {
    let server = start();
    let got = get(
        &server,
        "/api/debate",
        "/api/debate?q=Close+zoos%3F&number=2",
    );
    let posted = post(
        &server,
        "/api/debate",
        r#"{"question":" Close zoos?","number":2}"#,
    );
    assert_eq!(got.text(), posted.text());
    let json = got.json();
    assert_eq!(json["sides"][1]["side"], "CON");
    assert_eq!(json["sides"][0]["arguments"].as_array().unwrap().len(), 2);
    assert_eq!(json["sides"][0]["arguments"][0]["stance"], 0.8);
    assert_eq!(json["undecided"]["more_arguments"], 2);
    assert!(json.get("objects").is_none());
    let five = get(&server, "/api/debate", "/api/debate?q=zoos").json();
    assert_eq!(five["sides"][0]["arguments"].as_array().unwrap().len(), 5);
    assert_eq!(
        get(&server, "/api/debate", "/api/debate?q=zoos&number=101").status,
        400
    );
    for body in [
        r#"{"question":"zoos","number":0}"#,
        r#"{"question":"zoos","approach":"/etc/passwd"}"#,
        r#"{"question":""}"#,
        "{}",
    ] {
        assert_eq!(post(&server, "/api/debate", body).status, 400, "{body}");
    }
}

/// The organisers' client adds the keys of its configuration, and reads `content` and the ids of `arguments`.
#[test]
fn a_debating_system_answers_the_last_message() {
    let server = start();
    let body = r#"{"model":"x","messages":[{"role":"user","content":"Lying is wrong."},{"role":"assistant","content":"Is it?"},
        {"role":"user","content":"preventing harm is a slippery slope."}]}"#;
    let json = post(&server, "/", body).json();
    assert_eq!(
        json["content"],
        "But is it true that preventing harm is a slippery slope."
    );
    assert_eq!(json["arguments"][0]["id"], "15978.994");
    assert_eq!(json["arguments"][0]["text"], "It is not.");
    let message = r#"{"role":"user","content":"zoos"}"#;
    let many = vec![message; 101].join(",");
    let long = "x".repeat(10_001);
    for body in [
        r#"{"messages":[]}"#.to_owned(),
        r#"{"messages":[{"role":"user","content":"..."}]}"#.to_owned(),
        r#"{"messages":[{"role":"system","content":"zoos"}]}"#.to_owned(),
        format!(r#"{{"messages":[{many}]}}"#),
        format!(r#"{{"messages":[{{"role":"user","content":"{long}"}}]}}"#),
        "{}".to_owned(),
    ] {
        let start: String = body.chars().take(100).collect();
        assert_eq!(post(&server, "/", &body).status, 400, "{start}");
    }
}

#[test]
fn health_says_whether_a_collection_is_ready() {
    let server = start();
    let health = get(&server, "/health", "/health");
    assert_eq!(health.status, 200);
    assert_eq!(health.json()["collections"][0]["state"], "ready");
    server
        .stub
        .version
        .store(99, std::sync::atomic::Ordering::SeqCst);
    let building = get(&server, "/health", "/health");
    assert_eq!(building.status, 503);
    assert_eq!(building.json()["state"], "building");
}

#[test]
fn metrics_count_requests_by_route_and_status() {
    let server = start();
    server.get("/api/documents/debates/1");
    server.get("/api/documents/debates/none");
    server.get("/nothing/secret");
    let metrics = server.get("/metrics");
    assert_eq!(
        metrics.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = metrics.text();
    let route = "/api/documents/{collection}/{id}";
    for line in [
        format!("riposte_request_seconds_count{{route=\"{route}\",status=\"200\"}} 1"),
        format!("riposte_request_seconds_count{{route=\"{route}\",status=\"404\"}} 1"),
        "riposte_request_seconds_count{route=\"-\",status=\"404\"} 1".to_owned(),
        "riposte_waiting_calls{queue=\"models\"} 0".to_owned(),
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    assert!(!text.contains("secret"));
    if cfg!(target_os = "linux") {
        let memory = text
            .lines()
            .find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
        assert!(memory.unwrap().parse::<u64>().unwrap() > 1_000_000);
        assert!(text.contains("\nprocess_open_fds "));
    }
    let cache = text
        .lines()
        .find_map(|line| line.strip_prefix("riposte_cache_bytes "));
    assert!(cache.unwrap().parse::<u64>().unwrap() > 0);
}

#[test]
fn the_description_is_given_in_two_places() {
    let server = start();
    let json = server.get("/api/openapi.json");
    assert_eq!(json.json()["openapi"], "3.1.0");
    let yaml = server.get("/openapi.yaml");
    assert_eq!(yaml.body, json.body);
}

#[test]
fn other_paths_and_methods_are_refused() {
    let server = start();
    assert_eq!(server.get("/api/none").status, 404);
    assert_eq!(server.get("/api/").status, 404);
    let deleted = server.send("DELETE /api/search", &[], "");
    assert_eq!(deleted.status, 405);
    assert!(deleted.error().contains("no such method"));
    assert_eq!(server.get("/api/stance").status, 405);
    // no other site may ask: there is no CORS
    let preflight = [
        ("origin", "http://evil.example"),
        ("access-control-request-method", "POST"),
    ];
    let options = server.send("OPTIONS /api/stance", &preflight, "");
    assert!([403, 405].contains(&options.status));
    assert!(options.header("access-control-allow-origin").is_none());
}
