//! Equal questions at the same moment.

use std::net::TcpStream;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::execution::finish;
use crate::stub::{Running, until};

const CLIENTS: usize = 10;

impl Running {
    /// Begins the same question so many times, until each waits for one call.
    fn begin_equal(&self, question: &str) -> Vec<TcpStream> {
        let streams = (0..CLIENTS).map(|_| self.begin(question)).collect();
        until("all wait for the first", || self.joined() == CLIENTS - 1);
        streams
    }

    fn joined(&self) -> usize {
        let joined = self.metric("riposte_joined_requests_total");
        joined.parse().unwrap()
    }

    fn stopped(&self) -> usize {
        self.stub.stopped.load(SeqCst)
    }
}

#[test]
fn ten_equal_questions_are_one_call_and_ten_equal_answers() {
    // a second call would begin at once, and an answer is in neither cache
    let server = Running::start(|settings| (settings.threads, settings.cache_bytes) = (4, 0));
    let streams = server.begin_equal("wait");
    let others = [server.begin("wait for another"), server.begin("zoos")];
    until("others have calls of their own", || server.begun() == 3);
    server.stub.release();
    let answers: Vec<_> = streams.into_iter().map(finish).collect();
    for answer in &answers {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, answers[0].body);
    }
    for other in others {
        assert_ne!(finish(other).body, answers[0].body);
    }
    assert_eq!(server.begun(), 3);
    // what is over is not joined
    assert_eq!(finish(server.begin("wait")).status, 200);
    assert_eq!(server.begun(), 4);
    // all of them sent the same bytes, which count once and are free again
    until("all is free", || {
        server.metric("riposte_answer_bytes") == "0"
    });
}

#[test]
fn the_first_client_leaves_and_the_others_are_answered() {
    let server = Running::start(|_| {});
    let mut streams = server.begin_equal("wait");
    until("it begins", || server.begun() == 1);
    drop(streams.remove(0));
    until("it has left", || {
        server.lines(&["GET /api/search 499"]) == 1
    });
    assert_eq!(server.stopped(), 0);
    server.stub.release();
    for stream in streams {
        assert_eq!(finish(stream).status, 200);
    }
    assert_eq!((server.begun(), server.stopped()), (1, 0));
}

#[test]
fn all_clients_leave_and_the_call_is_stopped() {
    let server = Running::start(|_| {});
    let streams = server.begin_equal("wait");
    until("it begins", || server.begun() == 1);
    drop(streams);
    until("the call is stopped", || server.stopped() == 1);
    assert_eq!(server.lines(&["GET /api/search 499"]), CLIENTS);
    // the next one does not get what was broken off
    let next = server.begin("wait");
    until("it is asked again", || server.begun() == 2);
    server.stub.release();
    assert_eq!(finish(next).status, 200);
}

#[test]
fn one_place_in_the_queue_is_enough_for_equal_questions() {
    let server = Running::start(|settings| settings.waiting = 1);
    let running = server.begin("wait 1");
    until("it begins", || server.begun() == 1);
    let streams = server.begin_equal("wait 2");
    assert_eq!(server.get("/api/search?q=zoos").status, 503);
    server.stub.release();
    for stream in streams.into_iter().chain([running]) {
        assert_eq!(finish(stream).status, 200);
    }
    assert_eq!(server.begun(), 2);
}

#[test]
fn a_failure_and_a_panic_are_given_to_all() {
    for (question, reason) in [
        ("wait fail", "disk /secret is on fire"),
        ("wait panic", "the desk fell over"),
    ] {
        let server = Running::start(|_| {});
        let streams = server.begin_equal(question);
        server.stub.release();
        for stream in streams {
            let answer = finish(stream);
            assert_eq!(answer.status, 500);
            assert!(!answer.text().contains(reason));
        }
        assert_eq!(server.begun(), 1);
        assert_eq!(
            server.lines(&["GET /api/search 500", reason]),
            CLIENTS,
            "each says why"
        );
        // it is not kept
        assert_eq!(finish(server.begin(question)).status, 500);
        assert_eq!(server.begun(), 2);
    }
}

#[test]
fn each_client_waits_until_its_own_deadline() {
    let deadline = Duration::from_secs(3);
    let server = Running::start(|settings| settings.deadline = deadline);
    let begun = Instant::now();
    let first = server.begin("wait");
    until("it begins", || server.begun() == 1);
    std::thread::sleep(deadline.mul_f32(0.9));
    let second = server.begin("wait");
    until("it waits for the first", || server.joined() == 1);
    assert_eq!(finish(first).status, 504);
    assert!(begun.elapsed() >= deadline);
    // the call does not end with the deadline of the first, although it looks at its own
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(server.stopped(), 0);
    server.stub.release();
    assert_eq!(finish(second).status, 200);
    assert_eq!(server.begun(), 1);
}

#[test]
fn a_call_is_not_shared_between_versions() {
    let server = Running::start(|settings| settings.threads = 2);
    let before = server.begin("wait");
    until("it begins", || server.begun() == 1);
    server.stub.version.store(2, SeqCst);
    let after = server.begin("wait");
    until("it is asked again", || server.begun() == 2);
    server.stub.release();
    assert_eq!((finish(before).status, finish(after).status), (200, 200));
    assert_eq!(server.joined(), 0);
    // only the second answer is one of the present version
    assert_eq!(finish(server.begin("wait")).status, 200);
    assert_eq!(server.begun(), 2);
}
