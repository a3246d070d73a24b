//! Threads, queues, deadlines and kept answers.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::client::{Response, connect, read_all};
use crate::stub::{Running, until};

impl Running {
    /// Sends a request for a search and does not read the answer yet.
    pub fn begin(&self, question: &str) -> TcpStream {
        let mut stream = connect(self.address);
        let question = question.replace(' ', "+");
        let line = format!("GET /api/search?q={question} HTTP/1.1");
        let request = format!("{line}\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    pub fn begun(&self) -> usize {
        self.stub.begun.load(SeqCst)
    }

    pub fn metric(&self, name: &str) -> String {
        let text = self.get("/metrics").text();
        let start = format!("{name} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&start));
        value.unwrap().to_owned()
    }
}

pub fn finish(mut stream: TcpStream) -> Response {
    Response::parse(&read_all(&mut stream)).unwrap()
}

#[test]
fn an_answer_is_given_again_until_the_collection_changes() {
    let server = Running::start(|_| {});
    let first = server.get("/api/search?q=Close%20zoos%3F&hits=3&collection=debates");
    // the same request in other words
    let second = server.get("/api/search?collection=debates&q=+Close++zoos%3F&hits=03&side=");
    assert_eq!(first.text(), second.text());
    assert_eq!(server.begun(), 1);
    server.get("/api/search?q=Close%20zoos%3F&hits=4&collection=debates");
    assert_eq!(
        server.begun(),
        2,
        "another number of hits is another request"
    );
    server.stub.version.store(2, SeqCst);
    server.get("/api/search?q=Close%20zoos%3F&hits=3&collection=debates");
    assert_eq!(server.begun(), 3, "the collection has changed");
}

#[test]
fn an_answer_that_was_computed_during_a_change_is_not_kept() {
    let server = Running::start(|_| {});
    let stream = server.begin("wait for it");
    until("it begins", || server.begun() == 1);
    server.stub.version.store(2, SeqCst);
    server.stub.release();
    assert_eq!(finish(stream).status, 200);
    server.stub.version.store(0, SeqCst);
    finish(server.begin("wait for it"));
    assert_eq!(server.begun(), 2);
}

#[test]
fn refusals_are_not_kept() {
    let server = Running::start(|_| {});
    for _ in 0..2 {
        assert_eq!(server.get("/api/search?q=damaged").status, 503);
    }
    assert_eq!(server.begun(), 2);
}

#[test]
fn kept_answers_stay_within_their_bytes() {
    let server = Running::start(|settings| settings.cache_bytes = 200_000);
    for number in 0..200 {
        server.get(&format!("/api/search?q=question+{number}&hits=3"));
    }
    let bytes: usize = server.metric("riposte_cache_bytes").parse().unwrap();
    assert!((100_000..=200_000).contains(&bytes), "{bytes}");
}

#[test]
fn a_panic_is_an_answer_and_a_line_and_the_server_goes_on() {
    let server = Running::start(|_| {});
    for _ in 0..3 {
        assert_eq!(server.get("/api/search?q=panic").status, 500);
    }
    assert_eq!(
        server.lines(&["GET /api/search 500", "the desk fell over"]),
        3
    );
    // also where the desk is asked at once
    assert_eq!(server.get("/api/documents/panicking/1").status, 500);
    assert_eq!(server.get("/api/search?q=zoos").status, 200);
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let server = Running::start(|settings| settings.waiting = 2);
    let running = server.begin("wait 0");
    until("it begins", || server.begun() == 1);
    let waiting = [1, 2].map(|number| server.begin(&format!("wait {number}")));
    let queue = "riposte_waiting_calls{queue=\"models\"}";
    until("two wait", || server.metric(queue) == "2");
    let refused = server.get("/api/search?q=zoos");
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.error().contains("too many requests"));
    // quick calls have a queue of their own
    assert_eq!(server.get("/v1/debates/search?query=zoos").status, 200);
    assert_eq!(server.get("/?q=zoos&stage=words").status, 200);
    assert_eq!(server.get("/health").status, 200);
    server.stub.release();
    for stream in waiting.into_iter().chain([running]) {
        assert_eq!(finish(stream).status, 200);
    }
    assert_eq!(server.get("/api/search?q=zoos").status, 200);
}

#[test]
fn slow_calls_do_not_delay_quick_ones_nor_each_other_on_two_threads() {
    let server = Running::start(|settings| settings.threads = 2);
    let slow = server.begin("wait");
    until("it begins", || server.begun() == 1);
    assert_eq!(server.get("/api/documents/debates/1").status, 200);
    assert_eq!(server.get("/api/search?q=zoos").status, 200);
    server.stub.release();
    assert_eq!(finish(slow).status, 200);
}

#[test]
fn the_deadline_stops_a_call_and_counts_the_wait() {
    let deadline = Duration::from_millis(500);
    let server = Running::start(|settings| settings.deadline = deadline);
    let begun = Instant::now();
    let (running, waiting) = (server.begin("wait 1"), server.begin("wait 2"));
    for stream in [running, waiting] {
        let response = finish(stream);
        assert_eq!(response.status, 504);
        assert!(response.error().contains("no answer in time"));
    }
    assert!(begun.elapsed() >= deadline);
    assert_eq!(server.lines(&["GET /api/search 504"]), 2);
    until("what has begun is stopped", || {
        server.stub.stopped.load(SeqCst) == server.begun()
    });
    until("the thread is free again", || {
        server.get("/api/search?q=zoos").status == 200
    });
}

#[test]
fn a_client_that_leaves_stops_its_call_and_another_one_does_not_begin() {
    let server = Running::start(|_| {});
    let running = server.begin("wait 1");
    until("it begins", || server.begun() == 1);
    let waiting = server.begin("wait 2");
    let queue = "riposte_waiting_calls{queue=\"models\"}";
    until("one waits", || server.metric(queue) == "1");
    drop(waiting);
    until("the wait is over", || server.metric(queue) == "0");
    drop(running);
    until("the call is stopped", || {
        server.stub.stopped.load(SeqCst) == 1
    });
    until("both are logged", || {
        server.lines(&["GET /api/search 499"]) == 2
    });
    assert_eq!(server.get("/api/search?q=zoos").status, 200);
    let seen = server.stub.seen.lock().unwrap();
    assert_eq!(*seen, ["wait 1", "zoos"]);
}

#[test]
fn an_answer_that_is_too_large_is_refused_with_advice() {
    let server = Running::start(|_| {});
    let response = server.get("/api/search?q=large&hits=1000");
    assert_eq!(response.status, 422);
    assert!(response.error().contains("more than 64 MiB; ask for less"));
    assert_eq!(server.get("/api/search?q=large&hits=10").status, 200);
}

#[test]
fn clients_that_take_their_answers_slowly_do_not_fill_the_memory() {
    let server = Running::start(|settings| settings.answer_bytes = 50_000_000);
    let large = |number: usize| {
        let mut stream = connect(server.address);
        let path = format!("/api/search?q=large+{number}&hits=3");
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    // each answer has 20 million bytes; those of the second and the third client are not in the buffers of the system
    server.stub.size.store(7_000_000, SeqCst);
    let slow = [0, 1].map(large);
    until("two are answered", || {
        server.lines(&["GET /api/search 200"]) == 2
    });
    assert_eq!(server.get("/api/search?q=large+2&hits=3").status, 503);
    drop(slow);
    until("there is room", || {
        server.get("/api/search?q=large+3&hits=3").status == 200
    });
    until("all is free", || {
        server.metric("riposte_answer_bytes") == "0"
    });
}

#[test]
fn a_log_that_panics_harms_nobody() {
    let server =
        Running::start(|settings| settings.log = std::sync::Arc::new(|_| panic!("no log")));
    for _ in 0..3 {
        assert_eq!(server.get("/api/documents/debates/1").status, 200);
    }
}
