//! ChatNoir's answers are read in both forms that its documentation shows.

use std::fs;
use std::time::{Duration, Instant};

use riposte::systems::chatnoir::{ChatNoirAnswer, ChatNoirHit, Uuid};
use serde_json::{Value, json};

use crate::support::root;

fn fixture(name: &str) -> Value {
    let path = root().join("tests/it/data").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_answers_of_2021_and_of_today_are_read() {
    let (old, new) = (fixture("chatnoir-2021.json"), fixture("chatnoir-2026.json"));
    let read = ChatNoirAnswer::parse(old.to_string().as_bytes()).unwrap();
    assert_eq!(read.meta.total_results, Some(2));
    assert_eq!(read.meta.indices, ["cw12", "cc1511"]);
    let some = |text: &str| Some(text.to_owned());
    let uuid = Uuid::parse(old["results"][0]["uuid"].as_str().unwrap());
    assert!(uuid.is_some());
    let first = ChatNoirHit {
        score: 731.25,
        uuid,
        index: some("cw12"),
        trec_id: some("clueweb12-0000tw-00-00001"),
        target_hostname: some("cats.example"),
        target_uri: some("http://cats.example/or/dogs?a=1"),
        title: some("<em>Cats</em> &amp; <em>dogs</em>"),
        snippet: old["results"][0]["snippet"].as_str().map(str::to_owned),
        page_rank: Some(2.5e-9),
        spam_rank: Some(81.0),
    };
    assert_eq!(read.hits[0], first);
    assert_eq!(first.plain_title(), "Cats & dogs");
    let second = &read.hits[1];
    let ranks = (second.page_rank, second.spam_rank);
    assert_eq!((second.trec_id.as_ref(), ranks), (None, (None, None)));

    let read = ChatNoirAnswer::parse(new.to_string().as_bytes()).unwrap();
    let hit = &read.hits[0];
    assert_eq!(hit.score, 1802.0625);
    assert_eq!(hit.trec_id.as_deref(), Some("clueweb22-en0000-00-00001"));
    assert_eq!(hit.target_uri.as_deref(), Some("https://cats.example/"));
    // Python's uuid5(NAMESPACE_URL, "clueweb22:clueweb22-en0000-00-00001"), which the answer has in base64
    let uuid = hit.uuid.unwrap().to_string();
    assert_eq!(uuid, "a98fcb9f-264c-5eff-aef8-b61cd37419b8");
}

#[test]
fn the_two_forms_of_an_id_are_the_same_id() {
    let long = Uuid::parse("00112233-4455-6677-8899-aabbccddeeff").unwrap();
    assert_eq!(Uuid::parse("ABEiM0RVZneImaq7zN3u_w"), Some(long));
    assert_eq!(long.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
    for other in [
        "",
        "ABEiM0RVZneImaq7zN3u/w",
        "00112233445566778899aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeefg",
        "0011223é-4455-6677-8899-aabbccddeef",
    ] {
        assert_eq!(Uuid::parse(other), None, "{other:?}");
    }
}

/// Without a bound of the depth, the tree builder takes quadratic time: more than 15 s for this title.
#[test]
fn a_long_title_is_read_at_once() {
    let title = format!("{}cats", "<b><p>".repeat(500_000 / 6));
    let hit = json!({"score": 1.0, "uuid": "x", "title": title});
    let answer = json!({"meta": {"totalResults": 1}, "results": [hit]});
    let start = Instant::now();
    let read = ChatNoirAnswer::parse(answer.to_string().as_bytes()).unwrap();
    assert_eq!(read.hits[0].plain_title(), "cats");
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn results_may_lack_fields_and_broken_ones_are_counted() {
    let read =
        |results: Value| ChatNoirAnswer::parse(json!({"results": results}).to_string().as_bytes());
    // the fields that an answer to a request with `minimal` has; and numbers that are strings
    let minimal =
        json!({"score": 1, "uuid": "x", "target_uri": "http://a.example/", "snippet": ""});
    let texts = json!({"score": "12.5", "spam_rank": "70", "page_rank": "1e-9", "trec_id": "t"});
    let bad = [
        json!({"score": "much", "trec_id": "u"}),
        json!({"score": null}),
        json!({"trec_id": "v"}),
        json!("w"),
    ];
    let mut results = vec![minimal, texts];
    results.extend(bad.clone());
    let answer = read(Value::Array(results)).unwrap();
    assert_eq!((answer.hits.len(), answer.broken), (2, 4));
    assert_eq!(answer.hits[0].uuid, None);
    let ChatNoirHit {
        score,
        spam_rank,
        page_rank,
        ..
    } = answer.hits[1].clone();
    assert_eq!(
        (score, spam_rank, page_rank),
        (12.5, Some(70.0), Some(1e-9))
    );

    let why = read(json!(bad)).unwrap_err();
    assert!(
        format!("{why:#}").contains("\"much\" is not a number"),
        "{why:#}"
    );
    assert_eq!(read(json!([])).unwrap(), ChatNoirAnswer::default());
    assert!(ChatNoirAnswer::parse(b"{\"message\": \"no\"}").is_err());
    assert!(ChatNoirAnswer::parse(b"<html>").is_err());
}
