//! The routes of Anserini's REST server: answers, messages and status codes are those of its source (`io.anserini.api.RestServer`) and its `openapi.yaml`.

use serde_json::json;

use crate::schema::assert_described;
use crate::stub::{Running, SCORE};

const SEARCH: &str = "/v1/{index}/search";
const DOCUMENT: &str = "/v1/{index}/doc/{docid}";

#[test]
fn a_search_has_candidates_with_parsed_documents() {
    let server = Running::start(|_| {});
    let response = server.get("/v1/debates/search?query=Should+zoos%20be&hits=2");
    assert_described(SEARCH, "get", &response);
    let expected = json!({
        "api": "v1",
        "index": "debates",
        "query": {"text": "Should zoos be"},
        "candidates": [
            {"docid": "d1", "score": SCORE, "rank": 1, "doc": "Zoos 1."},
            {"docid": "d2", "score": SCORE / 2.0, "rank": 2, "doc": "Zoos 2."},
        ],
    });
    assert_eq!(response.json(), expected);
    let raw = server
        .get("/v1/debates/search?query=zoos&hits=1&parse=FALSE")
        .json();
    assert_eq!(
        raw["candidates"][0]["doc"],
        r#"{"id":"d1","contents":"Zoos 1."}"#
    );
}

#[test]
fn clients_may_send_fields_that_anserini_ignores() {
    let server = Running::start(|_| {});
    let response = server.get("/v1/debates/search?query=zoos&qid=51");
    assert_eq!(response.json()["candidates"].as_array().unwrap().len(), 3);
}

#[test]
fn a_document_is_returned_with_its_fields() {
    let server = Running::start(|_| {});
    let response = server.get("/v1/debates/doc/1");
    assert_described(DOCUMENT, "get", &response);
    let doc = json!({"title": "A title", "contents": "A text."});
    let expected = json!({"api": "v1", "index": "debates", "docid": "1", "doc": doc});
    assert_eq!(response.json(), expected);
    let raw = server
        .get("/v1/debates/doc/a%2Fb%20%C3%A4?parse=false")
        .json();
    assert_eq!(raw["docid"], "a/b ä");
    assert!(raw["doc"].as_str().unwrap().starts_with(r#"{"id":"a/b ä""#));
}

#[test]
fn errors_have_the_codes_and_the_words_of_anserini() {
    let server = Running::start(|_| {});
    for (path, status, error) in [
        ("debates/search", 400, "Parameter 'query' is required"),
        (
            "debates/search?query=+",
            400,
            "Parameter 'query' is required",
        ),
        (
            "debates/search?query=a&hits=x",
            400,
            "Parameter 'hits' must be an integer",
        ),
        (
            "debates/search?query=a&hits=0",
            400,
            "Parameter 'hits' must be positive",
        ),
        (
            "debates/search?query=a&hits=-3",
            400,
            "Parameter 'hits' must be positive",
        ),
        (
            "debates/search?query=a&hits=10001",
            400,
            "Parameter 'hits' must be at most 10000",
        ),
        (
            "debates/search?query=a&parse=1",
            400,
            "Parameter 'parse' must be 'true' or 'false'",
        ),
        ("none/search?query=a", 400, "Unable to open index: none"),
        ("none/doc/1", 400, "Unable to open index: none"),
        ("debates/doc/none", 404, "Document not found: none"),
    ] {
        let response = server.get(&format!("/v1/{path}"));
        let route = if path.contains("/doc/") {
            DOCUMENT
        } else {
            SEARCH
        };
        assert_described(route, "get", &response);
        assert_eq!(
            (response.status, response.error().as_str()),
            (status, error),
            "{path}"
        );
    }
    let wrong = server.get("/v1/debates");
    let error = "Expected route /v1/{index}/search or /v1/{index}/doc/{docid}";
    assert_eq!((wrong.status, wrong.error().as_str()), (404, error));
    let posted = server.post("/v1/debates/search?query=a", "{}");
    assert_eq!(
        (posted.status, posted.error().as_str()),
        (405, "Only GET is supported")
    );
    let long = format!("/v1/debates/search?query={}", "x".repeat(1001));
    assert_eq!(server.get(&long).status, 400);
}
