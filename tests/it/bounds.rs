//! Limits for reading files and texts, and characters that would control a terminal.

use riposte::evidence::page;
use riposte::score::object_stance::Objects;
use serde_json::json;

use crate::support::assert_says;
use crate::support::files::{gzip, json_lines, write};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout};

/// A compressed file whose content is these bytes, `times` times.
fn repeated(bytes: &[u8], times: usize) -> Vec<u8> {
    // a gzip file can have several members
    gzip(bytes).repeat(times)
}

#[test]
fn a_gzip_bomb_is_an_error_that_names_the_file_and_the_bound() {
    let line = b"1 Q0 d1 1 1.0 tag\n";
    let sixteen = line.repeat((16 << 20) / line.len());
    let padded = [line.trim_ascii_end(), &[b' '; 1000], b"\n"].concat();
    let padded = padded.repeat((16 << 20) / padded.len());
    let dir = WorkDir::with(&[
        ("qrels", b"1 0 d1 1\n".as_slice()),
        ("run", b"1 Q0 d1 1 1.0 tag\n".as_slice()),
        (
            "in/topics.xml",
            b"<topics><topic><number>1</number><title>a</title></topic></topics>".as_slice(),
        ),
        (
            "in/passages.jsonl",
            b"{\"id\": \"d1\", \"contents\": \"a\"}\n".as_slice(),
        ),
    ]);
    write(&dir.path("lines.gz"), repeated(&sixteen, 3));
    write(&dir.path("bytes.gz"), repeated(&padded, 17));
    write(&dir.path("line.gz"), repeated(&vec![b'x'; 1 << 20], 18));
    let (total, long) = (
        "more than 256 MiB after decompression",
        "a line of more than 16 MiB",
    );
    let many = "more than 2000000 lines";
    let verify = "verify --task controversial --edition 2021";
    let inspect = "inspect -i in --task comparative --index kept -o report";
    for (command, file, what) in [
        ("evaluate qrels FILE".to_owned(), "bytes.gz", total),
        ("evaluate qrels FILE".to_owned(), "lines.gz", many),
        (format!("{verify} FILE"), "lines.gz", many),
        ("evaluate qrels FILE".to_owned(), "line.gz", long),
        ("evaluate FILE run".to_owned(), "line.gz", long),
        (format!("{verify} FILE"), "line.gz", long),
        (format!("{verify} run --ids FILE"), "line.gz", long),
        (
            format!("{verify} run --topics FILE"),
            "line.gz",
            "more than 16 MiB",
        ),
        (format!("{inspect} FILE"), "line.gz", long),
        (format!("{inspect} run --explain FILE"), "line.gz", long),
        (
            format!("{inspect} run --topics FILE"),
            "line.gz",
            "more than 16 MiB",
        ),
    ] {
        let (code, _, said) = dir.run(&command.replace("FILE", file));
        assert_eq!(code, 2, "{command}: {said}");
        assert!(
            said.contains(file) && said.contains(what),
            "{command}: {said}"
        );
    }
}

#[test]
fn the_stance_encoder_reads_a_bounded_number_of_sentences() {
    let objects = Objects::new("cats", "dogs");
    let text = |sentences: usize| "Cats are better than dogs. ".repeat(sentences);
    assert_eq!(objects.masked(&text(256)).len(), 256);
    assert_eq!(objects.unread(&text(256)), None);
    let long = text(20_000);
    assert_eq!(objects.masked(&long), objects.masked(&text(256)));
    let unread = objects.unread(&long).unwrap();
    assert_says(&unread, &["the first 256 of its 20000 sentences"]);
}

#[test]
fn a_hundred_xpaths_of_a_page_are_tried() {
    let html = "<html><body><p>a</p><p><img src='/other.jpg' alt='shown'></p></body></html>";
    let wrong = |n: usize| vec!["/HTML[1]/BODY[1]/P[7]/IMG[1]".to_owned(); n];
    let right = vec!["/HTML[1]/BODY[1]/P[2]/IMG[1]".to_owned()];
    let alt = |xpaths: &[String]| page::read(html, xpaths, "https://a.example/image.jpg").alt;
    assert_eq!(alt(&[wrong(99), right.clone()].concat()), "shown");
    assert_eq!(alt(&[wrong(100), right].concat()), "");
}

#[test]
fn what_is_left_out_of_a_long_text_is_noted_and_explained() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let long = "The laptop is better than the desktop, and so on. ".repeat(30_000);
    let passage = |id: &str, text: &str| json!({"id": id, "contents": text}).to_string() + "\n";
    let lines = passage("long", &long) + &passage("short", &long[..300]);
    let topics = "<topics><topic><number>1</number><title>Which is better, a laptop or a desktop?</title></topic></topics>";
    let dir = WorkDir::with(&[
        ("in/passages.jsonl", lines.as_bytes()),
        ("in/topics.xml", topics.as_bytes()),
        (
            "asked.jsonl",
            json!({"objects": ["laptop", "desktop"], "text": long})
                .to_string()
                .as_bytes(),
        ),
    ]);
    let models = minilm.dir.parent().unwrap();
    let run = |line: &str| {
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = riposte(&dir.path(""), &args);
        let command = command
            .current_dir(dir.path(""))
            .env("RIPOSTE_MODELS", models);
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{line}: {}", stderr(&output));
        (stdout(&output), stderr(&output))
    };
    let bytes = format!(
        "only the first 1048576 of its {} bytes were read",
        long.len()
    );
    let sentences = "the stance encoder read the first 256 of its ";
    let (_, said) = run("comparative -i in -o out --index kept --explain why.jsonl");
    assert!(
        said.contains(&format!("note: long: {bytes}; {sentences}")),
        "{said}"
    );
    assert!(!said.contains("note: short"), "{said}");
    for explained in json_lines(&dir.read("why.jsonl")) {
        let is_long = explained["document"] == "long";
        for (part, cut) in [("score", bytes.as_str()), ("stance", sentences)] {
            let how = explained[part]["how"].as_str().unwrap();
            assert_eq!(how.contains(cut), is_long, "{part}: {how}");
        }
    }
    let (answers, said) = run("stance --jsonl asked.jsonl --explain");
    assert_says(&said, &[&format!("note: asked.jsonl:1: {sentences}")]);
    let how = json_lines(&answers)[0]["explanation"]["how"].to_string();
    assert!(how.contains(sentences), "{how}");
}

#[test]
fn no_name_or_id_from_a_file_reaches_the_terminal_as_it_is() {
    let id = "d\u{1b}[2J\u{9b}\u{202e}1";
    let topics = "<topics><topic><number>1</number><title>Which is better, a laptop or a desktop?</title></topic></topics>";
    let text = "I prefer the laptop, because it is much better than my old desktop ever was, and I can take it with me to work.";
    let passages = json!({"id": id, "contents": text}).to_string()
        + "\n"
        + &json!({"id": "good", "contents": text}).to_string();
    let dir = WorkDir::with(&[
        ("in/passages.jsonl", passages.as_bytes()),
        ("in/topics.xml", topics.as_bytes()),
        (
            "qrels",
            format!("1\u{1b}[2J 0 {id} 1\n1 0 {id} x\u{1b}\n").as_bytes(),
        ),
        (
            "run",
            format!("1\u{1b}[2J Q0 {id} 1 1.0 {id}\n1 Q0 {id} 1 x\u{1b} t\n").as_bytes(),
        ),
        (
            "answers",
            (json!({"argument_id": "1\n2", "image_id": "i", "rank": 1}).to_string() + "\n")
                .as_bytes(),
        ),
        (
            "asked.jsonl",
            format!("{{\"{id}\u{7f}\": 1}}\n{{\"topic\": \"guns\", \"text\": \"guns kill\"}}")
                .as_bytes(),
        ),
    ]);
    let obeyed = |text: &str| {
        text.contains(|c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}')
    };
    for (line, expected, shows) in [
        (
            "comparative -i in -o out --index kept",
            0,
            "its id has a control character in it",
        ),
        ("evaluate qrels run --by-topic", 1, "1\\u{1b}[2J"),
        (
            "evaluate qrels run --by-topic --format tsv",
            1,
            "1\\u{1b}[2J",
        ),
        (
            "verify --task controversial --edition 2021 run",
            1,
            "\\u{1b}[2J",
        ),
        ("verify --task comparative -i in run", 1, "\\u{1b}[2J"),
        ("verify --edition 2025 answers", 1, ""),
        ("stance --jsonl asked.jsonl", 0, "asked.jsonl:1: "),
        ("evaluate qrels no\u{1b}[2Jrun", 2, "no\\u{1b}[2Jrun"),
    ] {
        let (code, printed, said) = dir.run(line);
        assert_eq!(code, expected, "{line}: {said}");
        assert!(
            !obeyed(&said) && !obeyed(&printed),
            "{line}: {said:?} {printed:?}"
        );
        assert!(
            said.contains(shows) || printed.contains(shows),
            "{line}: {said} {printed}"
        );
    }
    assert_eq!(dir.read("out/run.txt").lines().count(), 1);
}

#[test]
fn a_score_of_minus_zero_is_noted() {
    let image = "I0123456789abcdef";
    let dir = WorkDir::with(&[
        (
            "images",
            format!("1 PRO {image} 1 -0.0000 tag\n").as_bytes(),
        ),
        (
            "texts",
            b"51 Q0 d1 1 0.0 tag\n51 Q0 d2 2 -0.0000 tag\n".as_slice(),
        ),
        (
            "plain",
            b"51 Q0 d1 1 0.0 tag\n51 Q0 d2 2 -0.1 tag\n".as_slice(),
        ),
    ]);
    let verify = "verify --task controversial --edition 2021 -v";
    for (line, noted) in [
        ("verify -v images".to_owned(), true),
        (format!("{verify} texts"), true),
        (format!("{verify} plain"), false),
    ] {
        let (printed, _) = dir.succeeds(&line);
        assert_eq!(
            printed.contains("note: score -0.0000"),
            noted,
            "{line}: {printed}"
        );
    }
}
