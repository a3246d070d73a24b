//! `riposte serve`: its answers are those of the commands, it notices changes, and it ends cleanly. The crate riposte-serve tests routes, limits and
//! hostile clients.

mod alike;
mod images;
mod page;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::files::{copy, json_lines, text};
use crate::support::program::{riposte, stdout, succeed};
use crate::support::sample;
use crate::support::wait::{self, PATIENCE};

const QUESTION: &str = "Should zoos be closed?";

/// A running server, which is ended when the test is over.
struct Server {
    child: Child,
    address: String,
    /// What it has printed, line by line.
    lines: std::sync::mpsc::Receiver<String>,
}

/// The status and the body of a response.
type Response = (u16, Vec<u8>);

impl Server {
    /// Starts `riposte serve` and waits until it listens.
    fn start(command: &mut Command) -> Server {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut server = Server {
            child,
            address: String::new(),
            lines,
        };
        let line = server.wait_for("listening on ");
        let address = line.split_whitespace().nth(2).unwrap();
        server.address = address.trim_end_matches('/').to_owned();
        server
    }

    /// Waits for a line with this text.
    #[track_caller]
    fn wait_for(&self, wanted: &str) -> String {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(wanted) => return line,
                Ok(line) => seen.push(line),
                Err(why) => panic!("no {wanted:?}: {why}\n{}", seen.join("\n")),
            }
        }
    }

    fn get(&self, path: &str) -> Response {
        let agent = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = agent.build().new_agent();
        let mut response = agent.get(format!("{}{path}", self.address)).call().unwrap();
        let body = response.body_mut().read_to_vec().unwrap();
        (response.status().as_u16(), body)
    }

    #[track_caller]
    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        let body = String::from_utf8(body).unwrap();
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let response = ureq::post(format!("{}{path}", self.address))
            .header("content-type", "application/json")
            .send(body.to_string().as_bytes());
        let body = response.unwrap().body_mut().read_to_string().unwrap();
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server for one collection.
fn start(home: &Path, input: &Path) -> Server {
    Server::start(&mut serve(home, &[input], &[]))
}

fn serve(home: &Path, inputs: &[&Path], options: &[&str]) -> Command {
    let mut args = vec!["serve", "--listen", "127.0.0.1:0"];
    for input in inputs {
        args.extend(["-i", text(input)]);
    }
    args.extend(options);
    riposte(home, &args)
}

/// The lines of the run of a command for the question, each as topic, Q0 or stance, document, rank, score and tag.
fn run_of(home: &Path, command: &[&str]) -> Vec<Vec<String>> {
    let topics = home.join("topics.jsonl");
    let line = json!({"qid": "1", "query": QUESTION});
    fs::write(&topics, format!("{line}\n")).unwrap();
    let out = home.join("out");
    let files = ["--topics", text(&topics), "-o", text(&out), "-q"];
    succeed(&mut riposte(home, &[command, &files].concat()));
    let run = fs::read_to_string(out.join("run.txt")).unwrap();
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    run.lines().map(fields).collect()
}

/// The document, the rank and the score of a line.
fn place(line: &[String]) -> (String, u64, f64) {
    (
        line[2].clone(),
        line[3].parse().unwrap(),
        line[4].parse().unwrap(),
    )
}

fn places(results: &Value) -> Vec<(String, u64, f64)> {
    let place = |hit: &Value| {
        let id = hit["id"].as_str().unwrap().to_owned();
        (
            id,
            hit["rank"].as_u64().unwrap(),
            hit["score"].as_f64().unwrap(),
        )
    };
    results.as_array().unwrap().iter().map(place).collect()
}

/// A server that left a file open after each question would fail once it has as many as the system allows.
#[cfg(target_os = "linux")]
#[test]
fn questions_leave_no_open_files() {
    let home = TempDir::new().unwrap();
    let mut command = riposte(
        home.path(),
        &["serve", "--listen", "127.0.0.1:0", "--threads", "1"],
    );
    let server = Server::start(command.args(["-i", text(sample())]));
    let files = || {
        let open = fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap();
        let paths = open.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
        // connections come and go
        paths
            .filter(|path| !text(path).starts_with("socket:"))
            .count()
    };
    let ask = |n: usize| {
        for route in [
            "/api/debate?",
            "/api/search?kind=images&",
            "/report?",
            "/run?kind=arguments&",
        ] {
            let (status, _) = server.get(&format!("{route}q=Should+zoos+number+{n}+be+closed%3F"));
            assert_eq!(status, 200, "{route}");
        }
    };
    ask(0);
    let before = files();
    (1..6).for_each(ask);
    assert!(
        files() <= before + 2,
        "{} open files, {before} before",
        files()
    );
}

#[test]
fn answers_are_those_of_the_commands() {
    let home = TempDir::new().unwrap();
    let input = home.path().join("sample");
    copy(sample(), &input);
    let dir = text(&input);
    let server = start(home.path(), &input);
    let q = "q=Should%20zoos%20be%20closed%3F";

    let collections = server.json("/api/collections");
    assert_eq!(collections[0]["kinds"], json!(["images", "arguments"]));
    let found = server.json(&format!("/api/search?{q}&kind=arguments&hits=1000"));
    let run = run_of(home.path(), &["controversial", "-i", dir]);
    assert!(run.len() > 5);
    let expected: Vec<_> = run.iter().map(|line| place(line)).collect();
    assert_eq!(places(&found["results"]), expected);
    assert!(!found["results"][0]["text"].as_str().unwrap().is_empty());

    let found = server.json(&format!("/api/search?{q}&kind=images&hits=10"));
    let run = run_of(home.path(), &["images", "-i", dir]);
    // PRO before CON, in the order of the run
    let expected: Vec<_> = run.iter().map(|line| place(line)).collect();
    assert_eq!(places(&found["results"]), expected);

    let run = run_of(
        home.path(),
        &["controversial", "-i", dir, "--approach", "bm25"],
    );
    let found = server.json("/v1/sample/search?query=Should%20zoos%20be%20closed%3F&hits=5");
    let expected: Vec<_> = run.iter().take(5).map(|line| place(line)).collect();
    let candidates = found["candidates"].as_array().unwrap().iter();
    let found: Vec<_> = candidates
        .zip(1..)
        .map(|(one, rank)| {
            let id = one["docid"].as_str().unwrap().to_owned();
            (id, rank, one["score"].as_f64().unwrap())
        })
        .collect();
    let rounded = |of: Vec<(String, u64, f64)>| -> Vec<(String, u64, i64)> {
        of.into_iter()
            .map(|(id, rank, score)| (id, rank, (score * 1e4).round() as i64))
            .collect()
    };
    assert_eq!(rounded(found), rounded(expected));

    let mut answer = server.json(&format!("/api/debate?{q}"));
    let output = succeed(&mut riposte(
        home.path(),
        &["ask", "-q", "--json", "-i", dir, QUESTION],
    ));
    let mut expected: Value = serde_json::from_str(&stdout(&output)).unwrap();
    for answer in [&mut answer, &mut expected] {
        without_addresses(answer);
    }
    assert_eq!(answer, expected);

    let texts = [
        "Cages make animals ill.",
        "Zoos save species from extinction.",
    ];
    let found = server.post("/api/stance", &json!({"topic": QUESTION, "texts": texts}));
    for (text, found) in texts.iter().zip(found.as_array().unwrap()) {
        let output = succeed(&mut riposte(
            home.path(),
            &["stance", "--topic", QUESTION, "--text", text],
        ));
        let expected: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(*found, expected);
    }
}

/// Takes away what only one of the two answers has: the file of an image and its address on the server, and what the page shows besides.
fn without_addresses(value: &mut Value) {
    const ONLY_IN_ONE: [&str; 5] = ["file", "picture", "understood", "source", "url"];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !ONLY_IN_ONE.contains(&name.as_str()));
            fields.values_mut().for_each(without_addresses);
        }
        Value::Array(values) => values.iter_mut().for_each(without_addresses),
        _ => {}
    }
}

#[test]
fn documents_pictures_and_reasons_are_given() {
    let home = TempDir::new().unwrap();
    let server = start(home.path(), sample());
    let q = "q=Should%20zoos%20be%20closed%3F";
    for kind in ["images", "arguments"] {
        let found = server.json(&format!("/api/search?{q}&kind={kind}&hits=3"));
        let first = &found["results"][0];
        let id = first["id"].as_str().unwrap();
        let document = server.json(&format!("/api/documents/sample/{id}"));
        assert_eq!(document["id"], first["id"]);
        assert!(!document["text"].as_str().unwrap().is_empty(), "{document}");
        let explained = server.json(&format!("/api/explain?{q}&id={id}"));
        assert_eq!(explained["score"], first["score"]);
        assert!(explained["reason"].as_str().unwrap().len() > 20);
        // the claim that a user has corrected counts for the explanation, too
        let corrected = format!("{q}&claim=zoos+should+be+kept");
        let found = server.json(&format!("/api/search?{corrected}&kind={kind}&hits=3"));
        let (id, score) = (&found["results"][0]["id"], &found["results"][0]["score"]);
        let id = id.as_str().unwrap();
        let explained = server.json(&format!("/api/explain?{corrected}&id={id}"));
        assert_eq!(explained["score"], *score);
        if kind == "images" {
            let (status, bytes) = server.get(first["picture"].as_str().unwrap());
            assert_eq!(
                (status, &bytes[..4], &bytes[8..12]),
                (200, &b"RIFF"[..], &b"WEBP"[..])
            );
        }
    }
    for (path, status) in [
        ("/api/documents/sample/none", 404),
        ("/api/documents/none/none", 404),
        ("/picture/sample/none", 404),
        ("/api/search?q=Sollten+Zoos+geschlossen+werden%3F", 422),
        ("/api/search?q=zoos&approach=nobody", 400),
        ("/api/search?q=zoos&kind=arguments&portal=nowhere", 400),
        ("/api/search?q=zoos&kind=passages", 400),
        ("/health", 200),
    ] {
        assert_eq!(server.get(path).0, status, "{path}");
    }
}

#[test]
fn a_changed_collection_is_opened_again_and_a_damaged_one_leaves_the_others() {
    let home = TempDir::new().unwrap();
    let (one, other) = (home.path().join("one"), home.path().join("other"));
    let write = |dir: &Path, text: &str| {
        fs::create_dir_all(dir).unwrap();
        let line = json!({"_id": "d1", "title": "", "text": text});
        fs::write(dir.join("corpus.jsonl"), format!("{line}\n")).unwrap();
    };
    write(
        &one,
        "The river has otters again since the mill was closed.",
    );
    write(
        &other,
        "Trams are quiet, and the road has less dust beside them.",
    );
    let server = Server::start(&mut serve(home.path(), &[&one, &other], &[]));
    let texts = |collection: &str, question: &str| -> BTreeMap<String, String> {
        let found = server.json(&format!("/api/search?q={question}&collection={collection}"));
        let hits = found["results"].as_array().unwrap().iter();
        let pair = |hit: &Value| {
            let text = |name: &str| hit[name].as_str().unwrap().to_owned();
            (text("id"), text("text"))
        };
        hits.map(pair).collect()
    };
    assert!(texts("one", "otters")["d1"].contains("otters"));
    write(
        &one,
        "The river has beavers again since the mill was closed.",
    );
    server.wait_for("one has changed");
    assert!(texts("one", "beavers")["d1"].contains("beavers"));
    assert!(texts("one", "otters").is_empty());

    fs::remove_file(one.join("corpus.jsonl")).unwrap();
    server.wait_for("one cannot be served");
    assert_eq!(server.get("/api/search?q=otters&collection=one").0, 503);
    assert!(texts("other", "trams")["d1"].contains("Trams"));
    write(
        &one,
        "The river has otters again since the mill was closed.",
    );
    server.wait_for("one has changed");
    assert!(texts("one", "otters")["d1"].contains("otters"));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_and_a_kill_loses_nothing() {
    let home = TempDir::new().unwrap();
    let before = json_lines(&answer(home.path()));
    let mut server = start(home.path(), sample());
    assert_eq!(server.get("/health").0, 200);
    let pid = server.child.id().to_string();
    succeed(Command::new("kill").args(["-TERM", &pid]));
    let mut status = None;
    wait::until("the end of the server", || {
        status = server.child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
    // under load
    let mut server = Server::start(&mut serve(home.path(), &[sample()], &[]));
    let address = server.address.clone();
    let (sender, answered) = std::sync::mpsc::channel();
    let asking = std::thread::spawn(move || {
        let path = "/api/search?q=Should+zoos+be+closed%3F&kind=arguments";
        while ureq::get(format!("{address}{path}")).call().is_ok() {
            let _ = sender.send(());
        }
    });
    for _ in 0..3 {
        answered.recv_timeout(PATIENCE).unwrap();
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    asking.join().unwrap();
    assert_eq!(json_lines(&answer(home.path())), before);
}

fn answer(home: &Path) -> String {
    let args = [
        "ask",
        "-q",
        "--json",
        "--task",
        "controversial",
        "-i",
        text(sample()),
        QUESTION,
    ];
    stdout(&succeed(&mut riposte(home, &args)))
}

#[test]
fn tools_for_language_models_search_and_read() {
    let home = TempDir::new().unwrap();
    let mut command = riposte(home.path(), &["serve", "--mcp", "-q", "-i", text(sample())]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |id: u32, method: &str, params: Value| -> Value {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").unwrap();
        if id == 1 {
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            writeln!(input, "{ready}").unwrap();
        }
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{line}");
        answer["result"].clone()
    };
    let client = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    ask(1, "initialize", client);
    let tools = ask(2, "tools/list", json!({}));
    let names = tools["tools"].as_array().unwrap().iter();
    let mut names: Vec<&str> = names.map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "read_document",
            "search_arguments",
            "search_images",
            "stance"
        ]
    );
    let arguments = json!({"question": QUESTION});
    let found = ask(
        3,
        "tools/call",
        json!({"name": "search_arguments", "arguments": arguments}),
    );
    let said = found["content"][0]["text"].as_str().unwrap();
    let said: Value = serde_json::from_str(said).unwrap();
    let run = run_of(home.path(), &["controversial", "-i", text(sample())]);
    assert_eq!(said["results"][0]["id"], json!(run[0][2]));
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_address_that_is_taken_and_a_short_token_are_errors() {
    let home = TempDir::new().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let token = home.path().join("token");
    fs::write(&token, "short\n").unwrap();
    let input = text(sample());
    for (options, says) in [
        (["--listen", &address], "cannot listen on"),
        (["--token-file", text(&token)], "16 to 256"),
    ] {
        let args = [&["serve", "-i", input][..], &options].concat();
        let output = riposte(home.path(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(printed.contains(says), "{printed}");
    }
}
