//! The client's errors if the service fails, or if another service answers.

use std::time::Duration;

use riposte::systems::chatnoir::{ChatNoir, ChatNoirKey, ChatNoirLimits, PageRequest};
use serde_json::json;

use super::server::{Reply, Server};
use super::{KEY, answer, hit};
use crate::support::assert_says;

/// A client of a server, with short time limits.
fn client(server: &Server, limits: ChatNoirLimits) -> ChatNoir {
    ChatNoir::new(
        &server.address,
        Some(ChatNoirKey::new(KEY).unwrap()),
        limits,
    )
    .unwrap()
}

/// Two attempts without a pause.
fn two_tries() -> ChatNoirLimits {
    ChatNoirLimits {
        tries: 2,
        pause: Duration::ZERO,
        ..ChatNoirLimits::default()
    }
}

fn request() -> PageRequest {
    PageRequest {
        query: "cats".into(),
        index: vec!["cw12".into()],
        from: 0,
        size: 100,
    }
}

/// The error of a request, and the number of times that it was sent.
fn failure(server: &Server, limits: ChatNoirLimits) -> (String, usize) {
    let error = client(server, limits).ask(&request(), &mut |_| ());
    (format!("{:#}", error.unwrap_err()), server.requests().len())
}

#[test]
fn an_answer_that_is_cut_off_is_asked_for_again() {
    let whole = json!({"results": [hit("a", 1.0)]}).to_string();
    let begin = whole[..whole.len() / 2].to_owned();
    for cut in [
        Reply::Body {
            body: begin.clone(),
            announced: Some(whole.len()),
        },
        Reply::Body {
            body: begin.clone(),
            announced: None,
        },
    ] {
        let (broken, good) = (cut.clone(), whole.clone());
        let server = Server::start(move |n, _| match n {
            0 => broken.clone(),
            _ => Reply::Body {
                body: good.clone(),
                announced: Some(good.len()),
            },
        });
        let mut notes = Vec::new();
        let answer = client(&server, two_tries()).ask(&request(), &mut |event| notes.push(event));
        assert_eq!(answer.unwrap().hits.len(), 1);
        assert_eq!(notes.len(), 1, "{notes:?}");

        let server = Server::start(move |_, _| cut.clone());
        let (why, sent) = failure(&server, two_tries());
        assert_eq!(sent, 2);
        assert!(why.ends_with("(tried 2 times)"), "{why}");
    }
    // an answer that is not JSON is an error
    let server = Server::start(|_, _| Reply::status(200, &[], "<html>"));
    let (why, sent) = failure(&server, two_tries());
    assert_eq!(sent, 1);
    assert!(why.contains("ChatNoir's answer cannot be read"), "{why}");
}

#[test]
fn an_endless_answer_is_not_read_to_its_end() {
    let server = Server::start(|_, _| Reply::Endless);
    let limits = ChatNoirLimits {
        answer_bytes: 100_000,
        ..two_tries()
    };
    let (why, sent) = failure(&server, limits);
    assert_eq!(why, "ChatNoir's answer has more than 100000 bytes");
    assert_eq!(sent, 1);
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
    let server = Server::start(|_, _| Reply::Silence);
    let limits = ChatNoirLimits {
        timeout: Duration::from_millis(300),
        ..two_tries()
    };
    let (why, sent) = failure(&server, limits);
    assert_eq!(
        why,
        "ChatNoir has not answered within 0.3 s (tried 2 times)"
    );
    assert_eq!(sent, 2);
}

#[test]
fn redirects_are_not_followed_because_the_key_would_go_there() {
    let other = Server::start(|_, _| answer(0, Vec::new()));
    let place = other.address.clone();
    let server = Server::start(move |_, _| Reply::status(307, &[("Location", &place)], ""));
    let (why, _) = failure(&server, two_tries());
    assert_says(&why, &[&other.address, "CHATNOIR_URL"]);
    assert!(other.requests().is_empty());
}

#[test]
fn the_key_is_sent_only_where_nobody_can_read_it_on_the_way() {
    let why = |address: &str| {
        let client = ChatNoir::new(address, None, ChatNoirLimits::default());
        client.err().map(|error| format!("{error:#}"))
    };
    for good in [
        "https://www.chatnoir.eu",
        "https://chatnoir.example/instance/",
        "http://localhost:8000",
        "http://[::1]:8000",
    ] {
        assert_eq!(why(good), None);
    }
    for bad in [
        "http://www.chatnoir.eu",
        "http://localhost.example",
        "http://127.0.0.1@chatnoir.example",
        "https://me:secret@chatnoir.example",
        "https://chatnoir.example/?a=b",
        "ftp://chatnoir.example",
        "chatnoir.example",
        "",
    ] {
        assert!(why(bad).is_some(), "{bad}");
    }
}
