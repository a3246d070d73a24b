//! Clients that do not do what they should. After each, another client is served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::client::{Response, connect, read_all};
use crate::stub::{PATIENCE, Running, until};

/// What a server waits for a head, a body or a reader, where that is tested.
const SHORT: Duration = Duration::from_millis(300);

/// Asserts that another client is served, also by a server that cuts off whoever does not send a request within [`SHORT`].
fn assert_serves(server: &Running) {
    let request = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    until("the server serves", || {
        server
            .raw(request)
            .is_some_and(|response| response.status == 200)
    });
}

/// Sends a byte now and then until the server closes the connection. Returns what it said.
fn drip(mut stream: TcpStream, bytes: &[u8]) -> Vec<u8> {
    stream
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let begun = Instant::now();
    let mut said = Vec::new();
    for byte in bytes.iter().cycle() {
        assert!(begun.elapsed() < PATIENCE, "the server waits for ever");
        if stream.write_all(&[*byte]).is_err() {
            break;
        }
        let mut part = [0; 1024];
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => said.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    said
}

#[test]
fn what_is_no_http_is_refused() {
    // some of them are the beginning of a head
    let server = Running::start(|settings| settings.head_time = SHORT);
    for bytes in [
        &b"nonsense\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: a\x00b\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n",
    ] {
        let response = server.raw(bytes);
        let status = response.map(|response| response.status);
        let shown = String::from_utf8_lossy(bytes).into_owned();
        assert!(
            status.is_none_or(|status| status >= 400),
            "{shown:?}: {status:?}"
        );
    }
    // a length and chunks together are how requests are smuggled through proxies: only one request is read
    let smuggled = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n\
        0\r\n\r\nGET /api/search?q=smuggled HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(
        server
            .raw(smuggled)
            .is_none_or(|response| response.status >= 400)
    );
    assert_serves(&server);
    assert_eq!(server.stub.seen.lock().unwrap().len(), 0);
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let server = Running::start(|_| {});
    let long = "x".repeat(100_000);
    let large = server.send("GET /", &[("x-large", &long)], "");
    assert_eq!(large.status, 431);
    let many: Vec<(String, &str)> = (0..200).map(|n| (format!("x-{n}"), "1")).collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    assert_eq!(server.send("GET /", &many, "").status, 431);
    let query = format!("GET /api/search?q={}", "x".repeat(20_000));
    assert_eq!(server.send(&query, &[], "").status, 414);
    let longer = server.send(&format!("GET /{long}"), &[], "");
    assert!([414, 431].contains(&longer.status), "{}", longer.status);
    let fields: String = (0..1000).map(|n| format!("f{n}=&")).collect();
    assert_eq!(server.get(&format!("/api/search?{fields}")).status, 400);
    assert_serves(&server);
}

#[test]
fn a_body_that_is_too_large_is_refused_whether_or_not_its_length_is_said() {
    let server = Running::start(|_| {});
    let large = "x".repeat((1 << 20) + 1);
    let mut stream = connect(server.address);
    let head = "POST /api/stance HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let said = format!("{head}content-length: 9999999999\r\n\r\n");
    stream.write_all(said.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    let mut stream = connect(server.address);
    let chunk = format!(
        "{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{large}\r\n",
        large.len()
    );
    let _ = stream.write_all(chunk.as_bytes());
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    assert_serves(&server);
}

#[test]
fn a_body_that_ends_early_is_no_request() {
    let server = Running::start(|_| {});
    let mut stream = connect(server.address);
    let head = "POST /api/stance HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let request = format!("{head}content-length: 100\r\n\r\n{{\"topic\":");
    stream.write_all(request.as_bytes()).unwrap();
    drop(stream);
    until("it is logged", || server.lines(&["POST /api/stance"]) == 1);
    assert_eq!(server.stub.begun.load(SeqCst), 0);
    assert_eq!(server.lines(&["POST /api/stance 200"]), 0);
}

#[test]
fn a_slow_head_and_a_silent_client_are_cut_off() {
    let server = Running::start(|settings| settings.head_time = SHORT);
    let silent = connect(server.address);
    let idle = {
        let mut stream = connect(server.address);
        let _ = stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream
    };
    let begun = Instant::now();
    let slow = connect(server.address);
    drip(slow, b"GET / HTTP/1.1\r\nx: ");
    assert!(begun.elapsed() >= SHORT / 2);
    // both the one that says nothing, and the one that has been answered and keeps its connection
    for mut stream in [silent, idle] {
        read_all(&mut stream);
    }
    assert_serves(&server);
}

#[test]
fn a_slow_body_is_cut_off() {
    let server = Running::start(|settings| settings.body_time = SHORT);
    let mut stream = connect(server.address);
    let head = "POST /api/stance HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    stream
        .write_all(format!("{head}content-length: 10000\r\n\r\n").as_bytes())
        .unwrap();
    let said = drip(stream, b"{");
    let said = Response::parse(&said);
    assert!(said.is_none_or(|response| response.status == 408));
    until("it is logged", || {
        server.lines(&["POST /api/stance 408"]) == 1
    });
}

#[test]
fn a_slow_reader_is_cut_off() {
    let server = Running::start(|settings| settings.write_time = SHORT);
    // more than the buffers of both sides hold
    let mut stream = connect(server.address);
    let request = "GET /api/search?q=large&hits=300 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    until("it is answered", || {
        server.lines(&["GET /api/search 200"]) == 1
    });
    let connections = || {
        let text = server.get("/metrics").text();
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix("riposte_connections "));
        value.unwrap().to_owned()
    };
    // a byte now and then does not help
    let mut byte = [0];
    until("the server gives it up", || {
        let _ = stream.read(&mut byte);
        connections() == "1"
    });
    let rest = read_all(&mut stream);
    assert!(rest.len() < 30_000_000, "{} bytes were read", rest.len());
}

#[test]
fn a_client_that_is_killed_in_the_middle_of_an_answer_harms_nobody() {
    let server = Running::start(|_| {});
    for _ in 0..2 {
        let mut stream = connect(server.address);
        let request = "GET /api/search?q=large&hits=300 HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 1000]).unwrap();
    }
    assert_serves(&server);
    assert_eq!(server.stub.begun.load(SeqCst), 2);
}

#[test]
fn more_connections_than_there_are_places_are_refused_and_places_come_back() {
    const PLACES: usize = 100;
    let server = Running::start(|settings| settings.connections = PLACES);
    let mut held = Vec::new();
    let mut refused = 0;
    for _ in 0..500 {
        let mut stream = connect(server.address);
        if held.len() < PLACES {
            held.push(stream);
            continue;
        }
        // whoever has no place is told so at once, and its file handle is free again
        let said = read_all(&mut stream);
        assert!(
            said.is_empty() || said.starts_with(b"HTTP/1.1 503 "),
            "{said:?}"
        );
        refused += usize::from(!said.is_empty());
    }
    assert!(refused > 200, "only {refused} were told");
    let lines = server.lines(&["- - 503", "too many connections"]);
    assert!((1..200).contains(&lines), "{lines} lines");
    let mut kept = held.pop().unwrap();
    kept.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let metrics = Response::parse(&read_all(&mut kept)).unwrap().text();
    assert!(metrics.contains("\nriposte_connections 100\n"), "{metrics}");
    let series = "\nriposte_request_seconds_count{route=\"-\",status=\"503\"} 400\n";
    assert!(metrics.contains(series), "{metrics}");
    drop(held);
    assert_serves(&server);
}

#[test]
fn requests_one_after_the_other_on_a_connection_are_answered_in_order() {
    let server = Running::start(|_| {});
    let request =
        |path: &str, last: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{last}\r\n");
    let requests = request("/api/documents/debates/1", "")
        + &request("/none", "")
        + &request("/health", "connection: close\r\n");
    let mut stream = connect(server.address);
    stream.write_all(requests.as_bytes()).unwrap();
    let said = String::from_utf8(read_all(&mut stream)).unwrap();
    let statuses: Vec<&str> = said
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|rest| &rest[..3])
        .collect();
    assert_eq!(statuses, ["200", "404", "200"]);
}
