//! The approach `chatnoir` sends its queries to ChatNoir. In these tests, a server on the loopback interface takes its place.

mod answers;
mod client;
mod server;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::files::{entries, json_lines};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout};
use crate::support::runs::listed;
use crate::support::{assert_says, wait};
use server::{Reply, Server};

const KEY: &str = "Xk7-not-a-real-key_09";

/// A result with the fields that a run needs.
fn hit(id: &str, score: f64) -> Value {
    json!({"score": score, "index": "cw12", "trec_id": id, "title": "a page"})
}

/// An answer with results of ClueWeb12.
fn answer(total: usize, hits: Vec<Value>) -> Reply {
    let meta = json!({"query_time": 1, "total_results": total, "indices": ["cw12"]});
    Reply::json(json!({"meta": meta, "results": hits}))
}

/// A directory with topics in `in/`, given by their titles.
fn topics(titles: &[&str]) -> WorkDir {
    let topics: String = (1..)
        .zip(titles)
        .map(|(n, title)| format!("<topic><number>{n}</number><title>{title}</title></topic>"))
        .collect();
    WorkDir::with(&[(
        "in/topics.xml",
        format!("<topics>{topics}</topics>").as_bytes(),
    )])
}

/// `riposte comparative --approach chatnoir` in the directory; its requests go to this server.
fn asking(dir: &WorkDir, server: &Server, more: &[&str]) -> Command {
    let line = "comparative -i in -o out --index kept --approach chatnoir";
    let args: Vec<&str> = line.split(' ').chain(more.iter().copied()).collect();
    let home = dir.path("");
    let mut command = riposte(&home, &args);
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    command
        .current_dir(&home)
        .env("CHATNOIR_URL", &server.address)
        .env("CHATNOIR_API_KEY", KEY);
    command
}

/// Runs the command. Returns the exit code and standard error, which must never contain the key.
fn ask(dir: &WorkDir, server: &Server, more: &[&str]) -> (i32, String) {
    let output = asking(dir, server, more).output().unwrap();
    let said = stderr(&output);
    assert!(!said.contains(KEY) && !stdout(&output).contains(KEY));
    (code(&output), said)
}

#[test]
fn all_pages_of_results_are_asked_for_and_come_into_the_run_in_their_order() {
    // 230 results; every fiftieth has no TREC id, and the third page begins with the last result of the second
    let server = Server::start(|_, request| {
        let from = request["from"].as_u64().unwrap() as usize;
        let size = request["size"].as_u64().unwrap() as usize;
        let page = (from..230.min(from + size)).map(|n| {
            let n = if n == 200 { 199 } else { n };
            let mut hit = hit(&format!("clueweb12-{n:04}"), 900.0 - n as f64);
            if n % 50 == 49 {
                hit["trec_id"] = Value::Null;
                hit["uuid"] = json!(format!("00000000-0000-0000-0000-{n:012}"));
            }
            hit
        });
        answer(230, page.collect())
    });
    let dir = topics(&["Which is better, a cat or a dog?"]);
    let (code, said) = ask(&dir, &server, &[]);
    assert_eq!(code, 0, "{said}");
    let sent = server.requests();
    let from: Vec<_> = sent.iter().map(|r| r["from"].as_u64().unwrap()).collect();
    assert_eq!(from, [0, 100, 200]);
    for request in &sent {
        assert_eq!(request["query"], "Which is better, a cat or a dog?");
        assert_eq!(request["index"], json!(["cw12"]));
        assert_eq!(request["size"], 100);
        assert_eq!(request["apikey"], KEY);
        assert_eq!(request["path"], "POST /api/v1/_search");
    }
    let run = dir.read("out/run.txt");
    let expected: Vec<String> = (0..230)
        .filter(|n| n % 50 != 49 && *n != 200)
        .map(|n| format!("clueweb12-{n:04}"))
        .collect();
    assert_eq!(listed(&run), expected);
    let first = run.lines().next().unwrap();
    assert_eq!(first, "1 Q0 clueweb12-0000 1 900.000000 riposte-chatnoir");
    assert_says(
        &said,
        &["note: 4 results have no TREC id, and are left out"],
    );
    assert!(said.contains("pages of results: 3 requested, 0 stored"));
}

#[test]
fn at_most_a_thousand_results_of_a_topic_are_asked_for() {
    let server = Server::start(|n, _| {
        let page = (0..100).map(|at| hit(&format!("d{n}-{at:02}"), 5000.0 - (n * 100 + at) as f64));
        answer(1_000_000, page.collect())
    });
    let dir = topics(&["Cats or dogs?"]);
    assert_eq!(ask(&dir, &server, &["-q"]), (0, String::new()));
    assert_eq!(server.requests().len(), 10);
    assert_eq!(dir.read("out/run.txt").lines().count(), 1000);
}

#[test]
fn a_server_that_knows_no_pages_is_not_asked_for_ever() {
    let server = Server::start(|_, _| answer(1_000_000, vec![hit("a", 2.0), hit("b", 1.0)]));
    let dir = topics(&["Cats or dogs?"]);
    assert_eq!(ask(&dir, &server, &["-q"]).0, 0);
    assert_eq!(server.requests().len(), 2);
    assert_eq!(listed(&dir.read("out/run.txt")), ["a", "b"]);
}

#[test]
fn results_of_equal_scores_keep_the_order_of_the_service() {
    let server = Server::start(|_, _| {
        let ids = ["z", "a", "m", "b"];
        answer(4, ids.map(|id| hit(id, 7.5)).to_vec())
    });
    let dir = topics(&["Cats or dogs?"]);
    assert_eq!(ask(&dir, &server, &[]).0, 0);
    let run = dir.read("out/run.txt");
    assert_eq!(listed(&run), ["z", "a", "m", "b"]);
    let scores: Vec<f32> = run
        .lines()
        .map(|line| line.split(' ').nth(4).unwrap().parse().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a > b), "{run}");
}

#[test]
fn a_server_that_is_busy_is_asked_again_but_not_for_ever() {
    let server = Server::start(|n, _| match n {
        0 => Reply::status(429, &[("Retry-After", "0")], "{\"message\": \"limit\"}"),
        1 => Reply::status(503, &[("Retry-After", "0")], "<html>"),
        _ => answer(1, vec![hit("a", 1.0)]),
    });
    let dir = topics(&["Cats or dogs?"]);
    let (code, said) = ask(&dir, &server, &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(server.requests().len(), 3);
    let note =
        "note: ChatNoir cannot answer now: 429 Too Many Requests: limit: trying again in 0 s";
    assert!(said.contains(note), "{said}");

    let server = Server::start(|_, _| Reply::status(429, &[("Retry-After", "0")], ""));
    let dir = topics(&["Cats or dogs?"]);
    let (code, said) = ask(&dir, &server, &[]);
    assert_eq!(code, 2);
    assert_eq!(server.requests().len(), 5);
    assert_says(&said, &["429 Too Many Requests (tried 5 times)"]);
    assert!(!dir.path("out/run.txt").exists());
}

#[test]
fn a_refused_key_and_a_missing_one_end_the_run_and_no_message_shows_the_key() {
    let dir = topics(&["Cats or dogs?"]);
    for (status, words) in [
        (401, "401 Unauthorized: Invalid API key: …\n"),
        (403, "403 Forbidden: Remote IP not allowed."),
    ] {
        let server = Server::start(move |_, request| {
            let message = match status {
                401 => format!("Invalid API key: {}.", request["apikey"].as_str().unwrap()),
                _ => "Remote IP not allowed.".to_owned(),
            };
            let body = json!({"code": status, "error": "x", "message": message}).to_string();
            Reply::status(status, &[], &body)
        });
        let (code, said) = ask(&dir, &server, &[]);
        assert_eq!(code, 2);
        assert_eq!(server.requests().len(), 1);
        let refusal = format!("ChatNoir refuses the key: {words}");
        assert!(said.contains(&refusal), "{said}");
    }
    let server = Server::start(|_, _| answer(0, Vec::new()));
    for set in [None, Some(" ")] {
        let mut command = asking(&dir, &server, &[]);
        command.env_remove("CHATNOIR_API_KEY");
        command.envs(set.map(|value| ("CHATNOIR_API_KEY", value)));
        let output = command.output().unwrap();
        assert_eq!(code(&output), 2);
        let said = stderr(&output);
        assert_says(&said, &["set CHATNOIR_API_KEY, or name a file"]);
    }
    assert!(server.requests().is_empty());
    assert!(!dir.path("out/run.txt").exists());
}

#[test]
fn the_key_can_be_in_a_file() {
    let server = Server::start(|_, _| answer(1, vec![hit("a", 1.0)]));
    let dir = topics(&["Cats or dogs?"]);
    fs::write(dir.path("key"), "from-a-file\n").unwrap();
    assert_eq!(ask(&dir, &server, &["--key-file", "key"]).0, 0);
    assert_eq!(server.requests()[0]["apikey"], "from-a-file");

    for (content, why) in [
        (" \n", "there is no key in it"),
        ("two words", "without blanks"),
        ("half\"words", "without blanks"),
        (&"k".repeat(5000), "more than 4096 bytes"),
    ] {
        fs::write(dir.path("key"), content).unwrap();
        let (code, said) = ask(&dir, &server, &["--key-file", "key"]);
        assert_eq!(code, 2);
        assert_says(&said, &["cannot read the key in key", why]);
        assert!(!said.contains("words"), "{said}");
    }
    let (code, said) = ask(&dir, &server, &["--key-file", "key", "--explain", "key"]);
    assert_eq!(code, 2);
    assert_says(&said, &["--explain would replace key, which is read"]);
}

#[test]
fn a_run_that_was_killed_goes_on_and_a_second_run_asks_for_nothing() {
    let dir = topics(&["Cats or dogs?", "Tea or coffee?"]);
    let id = |request: &Value| match request["query"].as_str().unwrap() {
        "Cats or dogs?" => "a",
        _ => "b",
    };
    let stuck = Server::start(move |n, request| match n {
        0 => answer(1, vec![hit(id(request), 1.0)]),
        _ => Reply::Silence,
    });
    let mut command = asking(&dir, &stuck, &[]);
    let child = command.stderr(Stdio::null()).spawn().unwrap();
    let is_killed = wait::kill_when(child, || stuck.count() >= 2);
    assert!(is_killed, "it ended too early");
    assert!(!dir.path("out/run.txt").exists());

    // the same server answers now
    stuck.answer_by(move |_, request| answer(1, vec![hit(id(request), 1.0)]));
    stuck.requests();
    assert_eq!(ask(&dir, &stuck, &[]).0, 0);
    let sent = stuck.requests();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["query"], "Tea or coffee?");
    let run = dir.read("out/run.txt");
    assert_eq!(listed(&run), ["a", "b"]);

    // stored answers need no key
    let mut again = asking(&dir, &stuck, &[]);
    let output = again.env_remove("CHATNOIR_API_KEY").output().unwrap();
    assert_eq!(code(&output), 0);
    let said = stderr(&output);
    assert_says(&said, &["pages of results: 0 requested, 2 stored"]);
    assert!(stuck.requests().is_empty());
    assert_eq!(dir.read("out/run.txt"), run);
}

#[test]
fn a_damaged_stored_answer_is_asked_for_again() {
    let server = Server::start(|_, _| answer(1, vec![hit("a", 1.0)]));
    let dir = topics(&["Cats or dogs?"]);
    assert_eq!(ask(&dir, &server, &[]).0, 0);
    let file = dir.path("kept/workspace.sqlite");
    let stored = || -> String {
        let query = "SELECT CAST(value AS TEXT) FROM output WHERE producer LIKE 'chatnoir/%'";
        let connection = Connection::open(&file).unwrap();
        connection.query_row(query, [], |row| row.get(0)).unwrap()
    };
    let good = stored();
    for bad in [
        "replace(value, '\"a\"', '\"b\"')",
        "''",
        "substr(value, 1, 70)",
    ] {
        let damage = format!("UPDATE output SET value = CAST({bad} AS BLOB)");
        let connection = Connection::open(&file).unwrap();
        assert_eq!(connection.execute(&damage, []).unwrap(), 1);
        drop(connection);
        let (code, said) = ask(&dir, &server, &[]);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("asking again"), "{said}");
        assert_eq!(listed(&dir.read("out/run.txt")), ["a"]);
        assert_eq!(stored(), good);
    }
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn an_answer_of_another_index_is_an_error_and_is_not_stored() {
    let server = Server::start(|_, _| {
        let meta = json!({"total_results": 1, "indices": ["cw22"]});
        Reply::json(json!({"meta": meta, "results": [hit("clueweb22-a", 1.0)]}))
    });
    let dir = topics(&["Cats or dogs?"]);
    let (code, said) = ask(&dir, &server, &[]);
    assert_eq!(code, 2);
    let why = "ChatNoir has searched cw22 instead of cw12: it does not have cw12, or the key gives no access to it";
    assert!(said.contains(why), "{said}");
    let connection = Connection::open(dir.path("kept/workspace.sqlite")).unwrap();
    let count = "SELECT count(*) FROM output";
    let stored: i64 = connection.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(stored, 0);
}

/// Whether a file below the directory contains the text.
fn is_in_a_file(dir: &Path, text: &str) -> bool {
    entries(dir).iter().any(|path| {
        if path.is_dir() {
            return is_in_a_file(path, text);
        }
        String::from_utf8_lossy(&fs::read(path).unwrap()).contains(text)
    })
}

#[test]
fn the_key_is_in_no_file_even_if_the_answer_has_it_in_an_address() {
    let server = Server::start(|_, request| {
        let mut hit = hit("a", 2.5);
        let key = request["apikey"].as_str().unwrap();
        // today's server does the same with a token
        hit["cache_uri"] = json!(format!("https://cache.example/?uuid=x&apikey={key}"));
        hit["explanation"] = json!({"value": 2.5, "description": key, "details": []});
        answer(1, vec![hit])
    });
    let dir = topics(&["Cats or dogs?"]);
    let (code, said) = ask(&dir, &server, &["-v", "--explain", "out/explain.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert!(is_in_a_file(&dir.path("kept"), "a page"));
    assert!(!is_in_a_file(&dir.path(""), KEY));
}

#[test]
fn an_explanation_has_the_score_of_the_service() {
    let server = Server::start(|_, _| {
        let mut second = hit("b", 731.25);
        second["title"] = json!("<em>Cats</em> &amp; dogs");
        second["target_uri"] = json!("http://cats.example/");
        answer(3, vec![hit("a", 731.25), second, hit("c", 4.5)])
    });
    let dir = topics(&["Cats or dogs?"]);
    let (code, said) = ask(&dir, &server, &["--explain", "out/explain.jsonl"]);
    assert_eq!(code, 0, "{said}");
    let explained = json_lines(&dir.read("out/explain.jsonl"));
    assert_eq!(explained.len(), 3);
    let how = "result 2 of the service, index cw12, Cats & dogs, http://cats.example/";
    assert_eq!(
        explained[1],
        json!({"topic": "1", "document": "b", "rank": 2,
            "score": {"id": {"service": "chatnoir"}, "name": "chatnoir", "value": 731.25, "how": how}})
    );
}

#[test]
fn a_recipe_can_fix_the_stance_and_the_length_and_name_other_indexes() {
    let server = Server::start(|_, request| {
        let meta = json!({"total_results": 9, "indices": request["index"]});
        let hits = ["a", "b", "c"].map(|id| hit(id, 1.0));
        Reply::json(json!({"meta": meta, "results": hits}))
    });
    let dir = topics(&["Cats or dogs?"]);
    let recipe = "name = \"mine\"\nstance = \"NO\"\ndepth = 2\nservice = { name = \"chatnoir\", index = [\"cw09\", \"cw12\"] }";
    fs::write(dir.path("mine.toml"), recipe).unwrap();
    let args = "comparative -i in -o out --index kept --approach mine.toml";
    let args: Vec<&str> = args.split(' ').collect();
    let mut command = asking(&dir, &server, &[]);
    let home = dir.path("");
    let mut mine = riposte(&home, &args);
    mine.current_dir(&home);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => mine.env(name, value),
            None => mine.env_remove(name),
        };
    }
    command = mine;
    let output = command.output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let sent = server.requests();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["index"], json!(["cw09", "cw12"]));
    assert_eq!(sent[0]["size"], 2);
    let run = dir.read("out/run.txt");
    assert_eq!(listed(&run), ["a", "b"]);
    assert!(run.lines().all(|line| line.starts_with("1 NO ")), "{run}");
    command.arg("--no-stance");
    assert_eq!(code(&command.output().unwrap()), 0);
    let run = dir.read("out/run.txt");
    assert!(run.lines().all(|line| line.starts_with("1 Q0 ")), "{run}");
}

#[test]
fn what_makes_no_sense_with_a_service_is_said() {
    let dir = topics(&["Cats or dogs?"]);
    let service = "service = { name = \"chatnoir\", index = [\"cw12\"] }\n";
    for (recipe, why) in [
        (
            format!("{service}keep = {{ short = true }}"),
            "an approach that asks a service cannot have keep",
        ),
        (
            format!("{service}[rerank]\ndepth = 5\nweights = {{ sentence = 1.0 }}"),
            "an approach that asks a service cannot have [rerank]",
        ),
        (service.replace("[\"cw12\"]", "[]"), "no index is named"),
        (
            service.replace("cw12", "cw 12"),
            "\"cw 12\" is not the name of an index",
        ),
        (
            service.replace("[\"cw12\"]", "[\"cw12\", \"cw12\"]"),
            "the index cw12 is named twice",
        ),
        (service.replace("chatnoir", "chatnor"), "chatnoir"),
        (
            service.replace(" }", ", url = \"https://a.example\" }"),
            "url",
        ),
        (String::new(), "there is no [[retrieval]]"),
    ] {
        fs::write(dir.path("mine.toml"), format!("name = \"mine\"\n{recipe}")).unwrap();
        let (code, _, said) = dir.run("comparative -i in -o out --approach mine.toml");
        assert_eq!(code, 2);
        assert!(said.contains(why), "{said}");
    }
    fs::write(dir.path("mine.toml"), format!("name = \"mine\"\n{service}")).unwrap();
    for (line, why) in [
        (
            "controversial -i in -o out --approach mine.toml",
            "mine asks a search engine for web pages, and only `comparative` can do that",
        ),
        (
            "comparative -i in -o out --approach bm25 --key-file mine.toml",
            "--key-file is for approaches that ask a service",
        ),
        (
            "index -i in --task comparative --approach chatnoir",
            "the approach chatnoir asks a service: it has no index",
        ),
    ] {
        let (code, _, said) = dir.run(line);
        assert_eq!(code, 2);
        assert!(said.contains(why), "{said}");
    }
}
