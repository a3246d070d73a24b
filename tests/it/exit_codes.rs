//! Exit codes of commands that find something broken, or nothing to do, and outputs that are checked before the work.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use image::{DynamicImage, ImageFormat, RgbImage};
use riposte::collection::FaultKind;
use riposte::collection::images::ImageCollection;
use riposte::evidence::store::Store;
use riposte::recipes::channels::CHANNELS;
use serde_json::json;
use tempfile::TempDir;

use crate::support::collection::argument;
use crate::support::files::{text, write};
use crate::support::program::{WorkDir, code, riposte, stderr};
use crate::support::runs::images;
use crate::support::{assert_says, root, sample};

/// Two passages about the objects of [`TOPIC`], of more than twenty words each.
const PASSAGES: &str = "{\"id\": \"p1\", \"contents\": \"I prefer the laptop, because it is much better than my old desktop ever was, and I can take it with me to work.\"}\n\
    {\"id\": \"p2\", \"contents\": \"I prefer the desktop, because it is much better than my old laptop ever was, and I can repair it myself at home.\"}\n";

fn topic(number: &str) -> String {
    format!(
        "<topic><number>{number}</number><title>Which is better, a laptop or a desktop?</title></topic>\n"
    )
}

/// A collection of passages in `in`.
fn passages(passages: &str, topics: &str) -> WorkDir {
    WorkDir::with(&[
        ("in/passages.jsonl", passages.as_bytes()),
        ("in/topics.xml", topics.as_bytes()),
    ])
}

fn one_topic() -> String {
    format!("<topics>\n{}</topics>", topic("1"))
}

#[test]
fn a_collection_without_a_document_that_can_be_ranked_is_nothing_to_do() {
    let short = "{\"id\": \"p1\", \"contents\": \"Laptop or desktop.\"}\n";
    for (lines, said_of_rank) in [
        ("", "nothing to rank: there is no document in in"),
        ("\n\n", "nothing to rank: there is no document in in"),
        (
            "{\"id\": 7}\n",
            "nothing to rank: no document of in can be read: in/passages.jsonl:1: ",
        ),
        (
            short,
            "nothing to rank: all 1 documents of in have fewer than 20 words",
        ),
    ] {
        let dir = passages(lines, &one_topic());
        let (code, _, said) = dir.run("comparative -i in -o out --index kept");
        assert_eq!(code, 2, "{lines}: {said}");
        assert!(said.contains(said_of_rank), "{said}");
        assert!(!dir.path("out/run.txt").exists(), "{lines}");
        let (code, _, said) = dir.run("index -i in --index kept");
        assert_eq!(code, if lines == short { 0 } else { 2 }, "{lines}: {said}");
    }
}

#[test]
fn the_topics_before_a_cut_are_served_and_the_cut_is_a_fault() {
    let six: String = (1..=6).map(|n| topic(&n.to_string())).collect();
    let whole = format!("<topics>\n{six}</topics>");
    let (cut, _) = whole.split_once("<topic><number>3</number>").unwrap();
    let dir = passages(PASSAGES, cut);
    let (code, _, said) = dir.run("comparative -i in -o out --index kept");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &["in/topics.xml:4: the file ends before </topics>: topics may be missing"],
    );
    let run = dir.read("out/run.txt");
    let topics: Vec<&str> = run.lines().filter_map(|l| l.split(' ').next()).collect();
    assert_eq!(topics, ["1", "1", "2", "2"]);
}

#[test]
fn a_topic_whose_number_cannot_stand_in_a_run_is_named_and_the_others_are_served() {
    for (number, what) in [
        ("1 2", "the number \"1 2\" of a topic has a blank in it"),
        ("", "a topic has no <number>"),
        ("1&#27;[2J", "has a control character in it"),
    ] {
        let bad = topic(number);
        let dir = passages(PASSAGES, &format!("<topics>\n{bad}{}</topics>", topic("7")));
        let (code, _, said) = dir.run("comparative -i in -o out --index kept");
        assert_eq!(code, 0, "{said}");
        assert_says(&said, &["in/topics.xml:2: ", what]);
        assert!(!said.contains('\u{1b}'), "{said:?}");
        assert!(dir.read("out/run.txt").starts_with("7 "));
        let dir = passages(PASSAGES, &format!("<topics>\n{bad}</topics>"));
        let (code, _, said) = dir.run("comparative -i in -o out --index kept");
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("in/topics.xml: line 2: "), "{said}");
        assert!(!dir.path("kept").exists(), "the work has begun");
    }
}

#[test]
fn arguments_that_cannot_be_read_stop_images_and_broken_ones_change_the_exit_code() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("arguments.json");
    for wrong in [
        "",
        "no arguments",
        "<topics></topics>",
        "{\"arguments\": [7, 8]}",
        "{\"topics\": 1}",
    ] {
        fs::write(&file, wrong).unwrap();
        let (output, run) = images(home.path(), sample(), &["--arguments", text(&file)]);
        assert_eq!(code(&output), 2, "{wrong}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(
            said.contains("arguments.json can be read: "),
            "{wrong}: {said}"
        );
        assert_eq!(run, None);
        assert!(!said.contains("images extracted"), "{said}");
    }
    let whole = argument("a1", "guns", "Guns kill people.", "CON");
    fs::write(&file, format!("[{whole}, {{\"id\": \"a2\"}}]")).unwrap();
    let (output, run) = images(home.path(), sample(), &["--arguments", text(&file)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(run.is_some());
    let said = stderr(&output);
    assert!(said.contains("missing field `premises`"), "{said}");
    assert!(said.contains(", id \"a2\""), "{said}");
}

#[test]
fn a_merge_of_shards_without_documents_is_nothing_to_do() {
    let dir = WorkDir::new();
    drop(Store::open(&dir.path("shard.sqlite"), CHANNELS).unwrap());
    let (code, _, said) = dir.run("merge all.sqlite shard.sqlite");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("no shard contains a document"), "{said}");
}

#[test]
fn a_run_for_topics_that_nothing_is_about_is_empty_and_says_so() {
    let zebras = "<topics><topic><number>1</number><title>zebras</title></topic></topics>";
    let dir = passages(PASSAGES, zebras);
    let (_, said) = dir.succeeds("comparative -i in -o out --index kept");
    assert_says(
        &said,
        &["note: no document has a word of a topic: the run is empty"],
    );
    assert_eq!(dir.read("out/run.txt"), "");
}

#[test]
fn a_run_without_a_line_is_said_to_be_empty() {
    let dir = WorkDir::with(&[
        ("qrels", b"1 0 d1 1\n".as_slice()),
        ("empty.txt", b"".as_slice()),
        ("run.txt", b"1 Q0 d1 1 1.0 tag\n".as_slice()),
    ]);
    dir.succeeds("evaluate qrels run.txt");
    let (code, printed, said) = dir.run("evaluate qrels empty.txt run.txt");
    assert_eq!(code, 1, "{said}");
    assert_says(&said, &["empty.txt: no line of a run can be read"]);
    assert!(printed.contains("run.txt"), "{printed}");
    assert!(!printed.contains("-0.0000"), "zero has no sign: {printed}");
    let (code, printed, _) = dir.run("verify --task controversial --edition 2021 empty.txt");
    assert_eq!(code, 1);
    assert!(printed.contains("the run is empty"), "{printed}");
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_the_work() {
    let dir = passages(PASSAGES, &one_topic());
    write(&dir.path("file"), "a file, and no directory");
    write(&dir.path("run"), "1 Q0 p1 1 1.0 tag\n");
    write(&dir.path("qrels"), "1 ONTOPIC I0123456789abcdef 1\n");
    fs::create_dir(dir.path("taken")).unwrap();
    fs::create_dir(dir.path("taken/run.txt")).unwrap();
    dir.refuses(
        "
        comparative -i in --index kept -o file/out | file/out
        comparative -i in --index kept -o taken | taken/run.txt: it is a directory
        comparative -i in --index kept -o out --explain file/why | file/why
        comparative -i in --index kept -o out --explain in | in: it is a directory
        evaluate qrels run --prototext file/proto | file/proto
        verify run --prototext file/proto | file/proto
        inspect run -i in --index kept -o file/report | file/report
        inspect run -i in --index kept --single-file -o file/one.html | file/one.html
        ",
    );
    assert!(!dir.path("kept").exists(), "the work has begun");
    // a directory that is missing is created
    dir.succeeds("comparative -i in --index kept -o a/b/out --explain c/d/why.jsonl");
    assert!(dir.path("c/d/why.jsonl").is_file());
}

#[test]
fn images_checks_its_outputs_before_it_extracts() {
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    let file = home.path().join("file");
    write(&file, "x");
    let explain = file.join("why.jsonl");
    let args = ["--evidence", text(&evidence), "--explain", text(&explain)];
    let (output, _) = images(home.path(), sample(), &args);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("why.jsonl"), "{}", stderr(&output));
    assert!(!evidence.exists());
}

#[test]
fn no_output_replaces_another_or_an_input() {
    let dir = passages(PASSAGES, &one_topic());
    write(&dir.path("run"), "1 Q0 p1 1 1.0 tag\n");
    write(&dir.path("qrels"), "1 ONTOPIC I0123456789abcdef 1\n");
    dir.refuses(
        "
        comparative -i in -o out --explain out/run.txt | --explain and --output name the same file
        comparative -i in -o out --explain in/../out/./run.txt | --explain and --output name the same file
        comparative -i in -o out --topics in/topics.xml --explain in/topics.xml | --explain would replace in/topics.xml, which is read
        evaluate qrels run --prototext run | --prototext would replace run
        evaluate qrels run --prototext qrels | --prototext would replace qrels
        verify run --prototext run | --prototext would replace run
        ",
    );
    assert_eq!(dir.read("run"), "1 Q0 p1 1 1.0 tag\n");
}

#[test]
fn stance_needs_a_topic_and_a_text() {
    let home = TempDir::new().unwrap();
    let ask = |args: &[&str]| {
        let output = riposte(home.path(), &[&["stance"], args].concat())
            .output()
            .unwrap();
        (code(&output), stderr(&output))
    };
    let (code, said) = ask(&["--topic", "", "--text", "guns kill"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("the topic is empty"), "{said}");
    let (code, said) = ask(&["--topic", "guns"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("give --text"), "{said}");
    // an empty text has an answer: neither
    assert_eq!(ask(&["--topic", "guns", "--text", " \n"]).0, 0);
    let (code, said) = ask(&["--objects", "cats", " ", "--text", "cats purr"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("an object is empty"), "{said}");
    let lines = |lines: &[&str]| {
        let file = home.path().join("lines.jsonl");
        fs::write(&file, lines.join("\n")).unwrap();
        ask(&["--jsonl", text(&file)])
    };
    let good = json!({"topic": "guns", "text": "guns kill"}).to_string();
    assert_eq!(lines(&[&good]).0, 0);
    // the byte order mark of an editor does not belong to the first line
    assert_eq!(lines(&[&format!("\u{feff}{good}")]).0, 0);
    assert_eq!(lines(&[&good, "{}"]).0, 0);
    for nothing in [&["{}"][..], &[""], &[]] {
        let (code, said) = lines(nothing);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("there is no line to answer"), "{said}");
    }
}

#[test]
fn a_collection_with_a_long_name_has_its_place_in_the_cache() {
    let home = TempDir::new().unwrap();
    // 250 bytes, in characters of two bytes
    let input = home.path().join("é".repeat(125));
    write(&input.join("passages.jsonl"), PASSAGES);
    write(&input.join("topics.xml"), one_topic());
    let out = home.path().join("out");
    let args = ["comparative", "-i", text(&input), "-o", text(&out)];
    let output = riposte(home.path(), &args).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(Path::new(&out).join("run.txt").is_file());
}

#[test]
fn a_byte_order_mark_is_no_part_of_rankings() {
    let dir = TempDir::new().unwrap();
    let document = dir.path().join("images/I01/I0123456789abcdef");
    let rankings = document.join("pages/P0123456789abcdef/rankings.jsonl");
    write(
        &rankings,
        "\u{feff}{\"query\":\"a\",\"topic\":\"48\",\"rank\":24}\n",
    );
    let collection = ImageCollection::open(dir.path()).unwrap();
    let entry = &collection.entries[0];
    let mut faults = Vec::new();
    let read = entry.read(&entry.list(&mut faults), &mut faults);
    assert_eq!(read.pages[0].rankings.len(), 1);
    assert!(
        !faults.iter().any(|f| f.kind == FaultKind::Rankings),
        "{faults:?}"
    );
}

#[test]
fn half_a_jpeg_file_is_a_fault_and_its_upper_half_is_used() {
    let dir = TempDir::new().unwrap();
    let mut bytes = Cursor::new(Vec::new());
    let pixels = RgbImage::from_fn(64, 64, |x, y| image::Rgb([(x * 7) as u8, (y * 5) as u8, 0]));
    DynamicImage::from(pixels)
        .write_to(&mut bytes, ImageFormat::Jpeg)
        .unwrap();
    let bytes = bytes.into_inner();
    let image = dir.path().join("in/images/I01/I0123456789abcdef/image.jpg");
    let extract = |bytes: &[u8]| {
        write(&image, bytes);
        let (input, evidence) = (dir.path().join("in"), dir.path().join("evidence.sqlite"));
        let _ = fs::remove_file(&evidence);
        let args = ["extract", "-i", text(&input), "--evidence", text(&evidence)];
        let output = riposte(dir.path(), &args).output().unwrap();
        assert_eq!(code(&output), 0, "there is no page");
        stderr(&output)
    };
    let (whole, half) = (extract(&bytes), extract(&bytes[..bytes.len() / 2]));
    let cut = "image.jpg: the file ends before the image";
    assert!(!whole.contains(cut) && half.contains(cut), "{half}");
    for said in [whole, half] {
        assert!(said.contains("picture   on          1 images"), "{said}");
    }
}

#[test]
fn topics_in_other_encodings_are_read() {
    let xml = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<topics><topic><number>1</number><title>Is caf\u{e9} better than a laptop or a desktop?</title></topic></topics>";
    let latin1: Vec<u8> = xml.chars().map(|c| c as u8).collect();
    let utf16 = format!("\u{feff}{xml}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [latin1, utf16] {
        let dir = passages(PASSAGES, "");
        write(&dir.path("in/topics.xml"), bytes);
        dir.succeeds("comparative -i in -o out --index kept --no-stance");
        assert!(dir.read("out/run.txt").starts_with("1 Q0 p"));
    }
}

#[test]
fn the_directories_that_tira_names_are_used_unless_others_are_given() {
    let dir = passages(PASSAGES, &one_topic());
    let run = |options: &str, input: &str, output: &str| {
        let args: Vec<&str> = options.split(' ').collect();
        let mut command = riposte(&dir.path(""), &args);
        command.current_dir(dir.path(""));
        command.env("inputDataset", input).env("outputDir", output);
        code(&command.output().unwrap())
    };
    assert_eq!(run("comparative --index kept", "in", "named"), 0);
    let named = dir.read("named/run.txt");
    assert_eq!(named.lines().count(), 2, "{named}");
    let options = "comparative --index kept -i in -o given";
    assert_eq!(run(options, "nowhere", "unused"), 0);
    assert_eq!(dir.read("given/run.txt"), named);
    assert!(!dir.path("unused").exists());
    assert_eq!(run("comparative --index kept", "nowhere", "named"), 2);
}

/// The page shows the program's own table, of which the manual pages are made.
#[test]
fn the_page_about_exit_codes_has_the_table_of_the_program() {
    let manual = fs::read_to_string(root().join("src/cli/manual.toml")).unwrap();
    let manual: toml::Table = manual.parse().unwrap();
    let texts = |of: &toml::Value| -> Vec<String> {
        let texts = of.as_array().unwrap().iter();
        texts
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    };
    let rows = manual["exit_codes"].as_array().unwrap().iter().map(|row| {
        let names = texts(&row["commands"]);
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let names = match names.is_empty() {
            true => "others".to_owned(),
            false => names.join(" "),
        };
        let cells = std::iter::once(names).chain(texts(&row["meanings"]));
        let line: String = cells.map(|cell| format!("| {cell} ")).collect();
        line.replace("|  ", "| ") + "|"
    });
    let page = fs::read_to_string(root().join("docs/exit-codes.md")).unwrap();
    let head = "| command | 0 | 1 | 2 |\n|---|---|---|---|\n";
    let (_, table) = page.split_once(head).expect("the page has the table");
    let shown = table.lines().take_while(|line| !line.is_empty());
    assert_eq!(shown.collect::<Vec<_>>(), rows.collect::<Vec<_>>());
}

/// The exit codes on the manual pages, for commands without another test here.
#[test]
fn every_command_ends_with_the_code_that_its_page_states() {
    let dir = passages(PASSAGES, &one_topic());
    let image = "1 PRO I0123456789abcdef 1 1.0 t";
    let asked = "{\"topic\": \"guns\", \"text\": \"guns kill\"}";
    let (cats, query) = (
        "{\"_id\": \"d\", \"text\": \"cats purr\"}",
        "{\"_id\": \"q\", \"text\": \"cats\"}",
    );
    for (name, contents) in [
        ("qrels", "1 0 p1 1\n"),
        ("run", "1 Q0 p1 1 1.0 t\n"),
        ("half", "1 Q0 p1 1 1.0 t\nbroken\n"),
        ("broken", "broken\n"),
        ("images", image),
        ("half-images", format!("{image}\nbroken\n").as_str()),
        ("lines", asked),
        ("half-lines", format!("{asked}\n{{}}\n").as_str()),
        ("beir/corpus.jsonl", cats),
        ("beir/queries.jsonl", query),
        ("half-beir/corpus.jsonl", format!("{cats}\n{{\n").as_str()),
        ("half-beir/queries.jsonl", query),
    ] {
        write(&dir.path(name), contents);
    }
    let codes = "
        0 rank -i beir -o out --index kept --approach bm25
        0 rank -i half-beir -o out --index kept2 --approach bm25
        1 rank -i half-beir -o out --index kept2 --approach bm25 --strict
        2 rank -i gone -o out
        0 index -i beir --index kept --approach bm25
        0 index -i half-beir --index kept2 --approach bm25
        1 index -i half-beir --index kept2 --approach bm25 --strict
        0 index -i beir --index kept --approach bm25 --check
        2 index -i gone
        2 ask guns -i gone
        0 quality --jsonl lines
        0 quality --jsonl half-lines
        1 quality --jsonl half-lines --strict
        2 quality --jsonl broken
        0 evaluate --qrels qrels run
        1 evaluate --qrels qrels half
        2 evaluate --qrels broken run
        0 verify run --task rank
        1 verify broken --task rank
        2 verify gone
        0 inspect run -i in --index kept3 -o report
        0 inspect half -i in --index kept3 -o report
        1 inspect half -i in --index kept3 -o report --strict
        2 inspect broken -i in --index kept3 -o report
        0 export run images -o plain
        0 export run half-images -o plain
        1 export run half-images -o plain --strict
        2 export run broken -o plain
        2 export evidence --evidence gone -o tables
        0 models list
        2 models fetch nosuch
        0 datasets list
        2 datasets get nosuch
        2 datasets get touche-2022-images
        0 reproduce --list
        2 reproduce nosuch
        0 approaches
        2 approaches show nosuch
        0 config
        2 config --config broken
        0 cache list
        2 cache clear nosuch --yes
        0 completions bash
        2 completions nosuch
        2 merge all broken
        2 read broken";
    for row in codes.trim().lines() {
        let (expected, line) = row.trim().split_once(' ').unwrap();
        let (code, _, said) = dir.run(line);
        assert_eq!(code.to_string(), expected, "{line}: {said}");
    }
    dir.succeeds("man pages");
    for (page, states) in [
        ("rank", "The run is written."),
        ("index", "The index is up to date"),
        ("quality", "its answer is null"),
        ("merge", "some evidence of a damaged one could not be read"),
        ("models-fetch", "None of the files could be downloaded."),
        ("datasets-get", "None of the data sets could be got"),
        ("reproduce", "A figure has moved"),
        ("inspect", "A run has no line of this task"),
        ("export-run", "The run has no line of an image run"),
        ("read", "None of the images can be decoded."),
    ] {
        let page = dir.read(&format!("pages/riposte-{page}.1"));
        assert!(page.contains(states), "{page}");
    }
}
