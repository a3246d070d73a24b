//! Two thousand connections at once.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread::scope;
use std::time::{Duration, Instant};

use need::{Kind, Thing, need};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::client::{Response, connect};
use crate::stub::{Running, until};

/// How many clients come at once, and in how many threads.
const CROWD: usize = 2000;
const THREADS: usize = 4;

/// How many of them the server has places for, as by default.
const PLACES: usize = 256;

/// Both ends of each connection are in this process.
const FILES: u64 = 2 * CROWD as u64 + 500;

/// This variable is set where the test has a process of its own.
const ALONE: &str = "RIPOSTE_TEST_ALONE";

/// A process that may have so many open files.
struct OpenFiles(u64);

impl Thing for OpenFiles {
    type Found = ();

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn find(&self) -> Result<(), String> {
        let limit = getrlimit(Resource::Nofile);
        match limit.maximum.is_none_or(|most| most >= self.0) {
            true => Ok(()),
            false => Err(format!("a process may have only {limit:?} open files")),
        }
    }
}

/// The open files of a process can be counted only if no other test runs in it.
#[test]
fn a_crowd_leaves_nothing_behind_and_delays_nobody_who_has_a_place() {
    if need(OpenFiles(FILES)).is_none() {
        return;
    }
    if std::env::var_os(ALONE).is_some() {
        return crowd();
    }
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let name = "crowd::a_crowd_leaves_nothing_behind_and_delays_nobody_who_has_a_place";
    alone.args(["--exact", name]).env(ALONE, "1");
    let output = alone.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

fn crowd() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(FILES);
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    let server = Running::start(|settings| settings.connections = PLACES);
    let mut inside = connect(server.address);
    assert_eq!(ask(&mut inside, "/api/search?q=zoos").status, 200);
    let files = open_files(&mut inside);

    // all come while one that has a place asks again and again
    let (mut clients, slowest) = scope(|scope| {
        let come = || {
            let count = CROWD / THREADS;
            (0..count)
                .map(|_| connect(server.address))
                .collect::<Vec<_>>()
        };
        let crowd: Vec<_> = (0..THREADS).map(|_| scope.spawn(come)).collect();
        let mut slowest = Duration::ZERO;
        let mut number = 0;
        while number == 0 || crowd.iter().any(|some| !some.is_finished()) {
            number += 1;
            // each is another question, so the answer is none that was kept
            let begun = Instant::now();
            let path = format!("/api/search?q=zoos+{number}");
            assert_eq!(ask(&mut inside, &path).status, 200);
            slowest = slowest.max(begun.elapsed());
        }
        let crowd = crowd.into_iter().flat_map(|some| some.join().unwrap());
        (crowd.collect::<Vec<_>>(), slowest)
    });
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    assert_eq!(clients.len(), CROWD);

    // those without a place are told so, or cut off
    let mut said = vec![Vec::new(); CROWD];
    let mut silent = 0;
    until("the rest is refused", || {
        let states = clients.iter_mut().zip(&mut said);
        let states = states.map(|(client, said)| is_silent(client, said));
        silent = states.filter(|silent| *silent).count();
        silent == PLACES - 1
    });
    let told = said.iter().filter(|said| !said.is_empty());
    assert!(told.clone().all(|said| said.starts_with(b"HTTP/1.1 503 ")));
    assert!(told.count() > CROWD / 2);
    let lines = server.lines(&["- - 503", "too many connections"]);
    assert!((1..100).contains(&lines), "{lines} lines");

    // with all places taken, whoever has one is answered
    let begun = Instant::now();
    assert_eq!(ask(&mut inside, "/health").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(1));
    let metrics = ask(&mut inside, "/metrics").text();
    let places = format!("\nriposte_connections {PLACES}\n");
    assert!(metrics.contains(&places), "{metrics}");

    drop(clients);
    until("their places are free", || {
        let metrics = ask(&mut inside, "/metrics").text();
        metrics.contains("\nriposte_connections 1\n")
    });
    assert_eq!(server.get("/api/search?q=trams").status, 200);
    until("their files are closed", || {
        open_files(&mut inside) == files
    });
}

/// Sends a request and reads the answer. The connection stays.
fn ask(stream: &mut TcpStream, path: &str) -> Response {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 1 << 14];
    loop {
        let count = stream.read(&mut part).unwrap();
        assert_ne!(count, 0, "the server has cut this client off");
        bytes.extend_from_slice(&part[..count]);
        match Response::parse(&bytes) {
            Some(response) if !response.body.is_empty() => return response,
            _ => {}
        }
    }
}

/// Whether the server has neither said anything nor closed the connection.
fn is_silent(stream: &mut TcpStream, said: &mut Vec<u8>) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut part = [0; 1024];
    match stream.read(&mut part) {
        Err(error) => error.kind() == ErrorKind::WouldBlock && said.is_empty(),
        Ok(count) => {
            said.extend_from_slice(&part[..count]);
            false
        }
    }
}

/// The open files of the process, as the server counts them where the system tells it.
fn open_files(stream: &mut TcpStream) -> Option<String> {
    let metrics = ask(stream, "/metrics").text();
    let mut lines = metrics.lines();
    let files = lines.find_map(|line| line.strip_prefix("process_open_fds "));
    files.map(str::to_owned)
}
