//! How a server starts and ends.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use riposte_serve::{ServeError, ServerSettings, ShutdownReport, Switch, run};

use crate::client::{Response, connect, read_all};
use crate::stub::{Running, Stub, until};

fn begin(server: &Running, question: &str) -> TcpStream {
    let mut stream = connect(server.address);
    let request = format!("GET /api/search?q={question} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    until("it begins", || server.stub.begun.load(SeqCst) > 0);
    stream
}

#[test]
fn what_is_in_progress_is_answered_before_the_end() {
    let mut server = Running::start(|settings| settings.grace = Duration::from_secs(30));
    let mut stream = begin(&server, "wait");
    let idle = connect(server.address);
    server.switch.end();
    until("it accepts nobody", || {
        TcpStream::connect(server.address).is_err()
    });
    server.stub.release();
    let response = Response::parse(&read_all(&mut stream)).unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(server.end(), ShutdownReport { cut: 0, running: 0 });
    drop(idle);
}

#[test]
fn what_takes_longer_than_the_grace_is_stopped() {
    let mut server = Running::start(|settings| settings.grace = Duration::from_millis(50));
    let mut stream = begin(&server, "wait");
    assert_eq!(server.end(), ShutdownReport { cut: 1, running: 0 });
    assert_eq!(server.stub.stopped.load(SeqCst), 1);
    assert!(read_all(&mut stream).is_empty());
    assert_eq!(server.lines(&["GET /api/search 499"]), 1);
}

#[test]
fn a_call_that_does_not_heed_its_flag_does_not_hold_up_the_end() {
    let mut server = Running::start(|settings| settings.grace = Duration::from_millis(50));
    let _stream = begin(&server, "stubborn");
    assert_eq!(server.end(), ShutdownReport { cut: 1, running: 1 });
}

#[test]
fn a_switch_that_was_turned_before_the_start_ends_the_server() {
    let switch = Switch::default();
    switch.end();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ended = run(
        listener,
        Arc::new(Stub::default()),
        ServerSettings::default(),
        &switch,
    );
    assert_eq!(ended.unwrap(), ShutdownReport { cut: 0, running: 0 });
}

#[test]
fn a_token_that_can_be_guessed_is_refused_at_the_start() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = ServerSettings {
        token: Some("secret".to_owned()),
        ..ServerSettings::default()
    };
    let refused = run(
        listener,
        Arc::new(Stub::default()),
        settings,
        &Switch::default(),
    );
    assert!(
        matches!(refused, Err(ServeError::Settings(_))),
        "{refused:?}"
    );
}
