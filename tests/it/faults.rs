//! What is broken in the input is passed over, counted and listed. It changes the exit code only with `--strict`.

use std::fs;

use image::ImageFormat;
use serde_json::{Value, json};

use crate::support::assert_says;
use crate::support::collection::argument;
use crate::support::files::{entries, json_lines, text, write};
use crate::support::need::{Peer, need};
use crate::support::pictures::{grey, id, write_collection};
use crate::support::program::{WorkDir, riposte, stdout, succeed};

/// Passages that can be ranked for the topic of [`TOPICS`].
const PASSAGE: &str = "I prefer the laptop, because it is much better than my old desktop ever was, and I can take it with me to work.";

const TOPICS: &str = "<topics>\n<topic><number>1</number><title>Which is better, a laptop or a desktop?</title></topic>\n<topic><number>2 3</number><title>What?</title></topic>\n</topics>";

fn passage(id: &str, text: &str) -> String {
    json!({"id": id, "contents": text}).to_string()
}

fn listed(dir: &WorkDir, file: &str) -> Vec<Value> {
    json_lines(&dir.read(file))
}

#[test]
fn a_run_of_a_broken_collection_is_done_and_all_its_faults_are_listed() {
    let mut lines = vec![passage("p1", PASSAGE)];
    lines.extend((0..1_500).map(|n| format!("broken {n}")));
    let dir = WorkDir::with(&[
        ("in/passages.jsonl", lines.join("\n").as_bytes()),
        ("in/topics.xml", TOPICS.as_bytes()),
    ]);
    // the second run reads the faults from the index
    for _ in 0..2 {
        let (code, _, said) = dir.run("comparative -i in -o out --index kept");
        assert_eq!(code, 0, "{said}");
        let named = said
            .lines()
            .filter(|line| line.starts_with("in/passages.jsonl:"));
        assert_eq!(named.count(), 10, "{said}");
        assert_eq!(
            said.lines().last(),
            Some("1501 faults: passage 1500, topic 1; all of them are in out/faults.jsonl")
        );
        let faults = listed(&dir, "out/faults.jsonl");
        assert_eq!(faults.len(), 1_501);
        assert_eq!(faults[0]["file"], "in/topics.xml");
        assert_eq!(faults[0]["line"], 3);
        let of_lines: Vec<u64> = faults[1..]
            .iter()
            .map(|f| f["line"].as_u64().unwrap())
            .collect();
        assert_eq!(of_lines, (2..1_502).collect::<Vec<u64>>());
        let last = &faults[1_500];
        assert_eq!(
            (&last["file"], &last["kind"]),
            (&json!("in/passages.jsonl"), &json!("passage"))
        );
        assert!(!last["reason"].as_str().unwrap().is_empty() && last["document"].is_null());
    }
    let run = dir.read("out/run.txt");
    assert!(run.starts_with("1 "), "{run}");

    // the same, but the exit code says that there are faults; quiet, and with another list
    let strict = "comparative -q -i in -o out --index kept --strict --faults list.jsonl";
    let (code, _, said) = dir.run(strict);
    assert_eq!(code, 1, "{said}");
    assert_says(&said, &["1501 faults: ", "all of them are in list.jsonl"]);
    assert_eq!(
        (dir.read("out/run.txt"), listed(&dir, "list.jsonl").len()),
        (run, 1_501)
    );

    // all of them are printed
    let (_, said) = dir.succeeds("comparative -v -i in -o out --index kept");
    assert_eq!(
        said.lines()
            .filter(|line| line.starts_with("in/passages.jsonl:"))
            .count(),
        1_500
    );

    // the index moves with the collection, and the list names the files where they are now
    fs::rename(dir.path("in"), dir.path("moved")).unwrap();
    dir.succeeds("comparative -i moved -o out --index kept");
    assert_eq!(
        listed(&dir, "out/faults.jsonl")[1_500]["file"],
        "moved/passages.jsonl"
    );

    // without faults, an older list is removed
    write(&dir.path("moved/passages.jsonl"), passage("p1", PASSAGE));
    write(&dir.path("moved/topics.xml"), TOPICS.replace("2 3", "2"));
    let (_, said) = dir.succeeds("comparative -i moved -o out --index kept --strict");
    assert!(
        !dir.path("out/faults.jsonl").exists() && !said.contains("fault"),
        "{said}"
    );
}

/// The commands with faults: what they print at the end, and what they list.
#[test]
fn each_command_ends_with_0_or_with_1_if_it_is_strict_and_lists_its_faults() {
    let dir = WorkDir::new();
    let pictures = dir.path("pictures");
    write_collection(&pictures, &vec![grey(40, 30, ImageFormat::Png); 3]);
    let document = pictures.join("images/I00").join(id(1));
    fs::write(document.join("image.png"), "no picture").unwrap();
    let page = entries(&document.join("pages")).remove(0);
    fs::write(page.join("rankings.jsonl"), "{\n").unwrap();
    write(&pictures.join("topics.xml"), TOPICS);
    let premise = "Guns kill people in their homes and in the streets, every day and in every town, and nobody who has none can be killed by his own child.";
    let whole = argument("a1", "guns", premise, "CON");
    write(
        &dir.path("arguments.json"),
        format!("[{whole}, {{\"id\": \"a2\"}}]"),
    );
    write(
        &dir.path("arguments/args-me.json"),
        format!("[{whole}, {{\"id\": \"a2\"}}]"),
    );
    write(
        &dir.path("candidates.jsonl"),
        format!("{{\"qid\": 1, \"docno\": {:?}}}\n{{}}\n", id(0)),
    );
    write(
        &dir.path("asked.jsonl"),
        "{\"topic\": \"guns\", \"text\": \"guns kill\"}\n{}\n",
    );
    write(
        &dir.path("image-run"),
        format!("1 PRO {} 1 1.0 tag\nbroken\n", id(0)),
    );
    write(
        &dir.path("image-qrels"),
        format!("1 ONTOPIC {} 1\nbroken\n", id(0)),
    );
    let first = id(1);
    for (line, counted, kinds, document) in [
        (
            "extract -i pictures",
            "2 faults: image 1, rankings 1",
            "image rankings",
            Some(&first),
        ),
        (
            "images -i pictures -o out --arguments arguments.json",
            "4 faults: image 1, rankings 1, argument 1, topic 1",
            "topic argument image rankings",
            None,
        ),
        (
            "images -i pictures -o out --candidates candidates.jsonl",
            "2 faults: topic 1, candidate 1",
            "candidate topic",
            None,
        ),
        (
            "index -i arguments",
            "1 fault: argument 1",
            "argument",
            None,
        ),
        (
            "controversial -i arguments -o out --topics pictures/topics.xml",
            "2 faults: argument 1, topic 1",
            "topic argument",
            None,
        ),
        (
            "ask Do guns kill? -i arguments",
            "1 fault: argument 1",
            "argument",
            None,
        ),
        (
            "ask Do guns kill? -i arguments -o out",
            "1 fault: argument 1",
            "argument",
            None,
        ),
        (
            "stance --jsonl asked.jsonl",
            "1 fault: question 1",
            "question",
            None,
        ),
        (
            "quality --jsonl asked.jsonl",
            "1 fault: question 1",
            "question",
            None,
        ),
        (
            "export run image-run --qrels image-qrels -o out",
            "2 faults: run 1, judgement 1",
            "run judgement",
            None,
        ),
        (
            "inspect image-run -i pictures --qrels image-qrels -o report",
            "3 faults: topic 1, run 1, judgement 1",
            "topic run judgement",
            None,
        ),
    ] {
        let (code, _, said) = dir.run(&format!("{line} --faults list.jsonl"));
        assert_eq!(code, 0, "{line}: {said}");
        let said = said
            .lines()
            .rev()
            .find(|line| line.contains(" fault"))
            .unwrap()
            .to_owned();
        assert_eq!(
            said,
            format!("{counted}; all of them are in list.jsonl"),
            "{line}"
        );
        let faults = listed(&dir, "list.jsonl");
        let mut found: Vec<&str> = faults
            .iter()
            .map(|fault| fault["kind"].as_str().unwrap())
            .collect();
        let mut kinds: Vec<&str> = kinds.split(' ').collect();
        found.sort_unstable();
        kinds.sort_unstable();
        assert_eq!(found, kinds, "{line}");
        if let Some(document) = document {
            assert!(
                faults.iter().all(|fault| fault["document"] == *document),
                "{faults:?}"
            );
        }
        let (code, _, said) = dir.run(&format!("{line} --strict"));
        assert_eq!(code, 1, "{line}: {said}");
        if line.contains(" -o out") {
            assert_eq!(listed(&dir, "out/faults.jsonl"), faults, "{line}");
            fs::remove_dir_all(dir.path("out")).unwrap();
        }
    }
    // a list replaces nothing that is read, and no other output
    write(&dir.path("asked"), "{}");
    dir.refuses(
        "
        stance --jsonl asked.jsonl --faults asked.jsonl | --faults would replace asked.jsonl, which is read
        inspect image-run -i pictures --faults image-run | --faults would replace image-run
        controversial -i arguments -o out --topics pictures/topics.xml --faults pictures/topics.xml | --faults would replace pictures/topics.xml
        controversial -i arguments -o out --topics pictures/topics.xml --faults out/run.txt | --faults and --output name the same file
        controversial -i arguments -o out --topics pictures/topics.xml --explain out/faults.jsonl | name the same file
        extract -i pictures --faults asked/list | cannot write asked/list
        ",
    );
}

#[test]
fn a_text_with_the_id_of_another_one_is_a_fault_and_a_repeated_text_is_not() {
    let other = PASSAGE.replace("laptop", "tablet");
    let lines = [
        passage("p1", PASSAGE),
        passage("p1", PASSAGE),
        passage("p1", &other),
        passage("p2", &other),
    ];
    let dir = WorkDir::with(&[
        ("in/passages.jsonl", lines.join("\n").as_bytes()),
        ("in/topics.xml", TOPICS.replace("2 3", "2").as_bytes()),
    ]);
    let (_, said) = dir.succeeds("comparative --quiet=progress -i in -o out --index kept");
    assert_says(
        &said,
        &["in/passages.jsonl: p1: left out, because an earlier text has this id"],
    );
    let faults = listed(&dir, "out/faults.jsonl");
    assert_eq!((faults.len(), &faults[0]["document"]), (1, &json!("p1")));
}

#[test]
fn ids_and_texts_of_lines_are_repeated_byte_by_byte() {
    let ids = [
        "18446744073709551617",
        "0.1000000000000000055511151231257827",
        "1e400",
        "-0.0",
        "1E5",
        "null",
        "true",
        "\"\\u00e9\\/\"",
        "[1.0,2]",
        "{\"b\":1,\"a\":1.50}",
    ];
    let line =
        |id: &str| format!("{{\"id\": {id}, \"topic\": \"guns\", \"text\": \"guns \\u006bill\"}}");
    let lines: Vec<String> = ids.iter().map(|id| line(id)).collect();
    let dir = WorkDir::with(&[("asked.jsonl", lines.join("\n").as_bytes())]);
    for command in ["stance", "quality"] {
        let (printed, _) = dir.succeeds(&format!("{command} --jsonl asked.jsonl"));
        assert_eq!(printed.lines().count(), ids.len());
        for (answer, id) in printed.lines().zip(ids) {
            let begin = format!("{{\"id\":{id},\"text\":\"guns \\u006bill\",");
            assert!(answer.starts_with(&begin), "{command}: {answer}");
        }
    }
}

#[test]
fn tira_accepts_a_run_beside_a_list_of_faults() {
    let Some(python) = need(Peer("tira")) else {
        return;
    };
    let mut lines: Vec<String> = (0..30)
        .map(|n| {
            passage(
                &format!("p{n}"),
                &format!("{PASSAGE} That was in year {n}."),
            )
        })
        .collect();
    lines.push("broken".to_owned());
    // a run of one topic is refused
    let topics = TOPICS.replace(
        "</topics>",
        "<topic><number>4</number><title>What is a laptop or a tablet?</title></topic>\n<topic><number>5</number><title>Which laptop is better, old or new?</title></topic></topics>",
    );
    let dir = WorkDir::with(&[
        ("in/passages.jsonl", lines.join("\n").as_bytes()),
        ("in/topics.xml", topics.as_bytes()),
    ]);
    dir.succeeds("comparative -i in -o out --index kept --no-stance");
    assert!(dir.path("out/faults.jsonl").is_file());
    let check = "import pathlib, sys\nfrom tira.check_format import check_format\nprint(check_format(pathlib.Path(sys.argv[1]), 'run.txt', {})[0].name)";
    let mut command = std::process::Command::new(python);
    let said = stdout(&succeed(command.args([
        "-c",
        check,
        text(&dir.path("out")),
    ])));
    assert_eq!(said.trim_end(), "OK");
    succeed(
        riposte(
            &dir.path(""),
            &["verify", "--task", "rank", text(&dir.path("out"))],
        )
        .current_dir(dir.path("")),
    );
}

#[test]
fn a_report_replaces_only_what_an_older_report_has_written() {
    let dir = WorkDir::with(&[
        ("in/passages.jsonl", passage("p1", PASSAGE).as_bytes()),
        ("in/topics.xml", TOPICS.replace("2 3", "2").as_bytes()),
        ("run", b"1 Q0 p1 1 1.0 tag\n"),
        ("page.html", b"<p>of the user</p>"),
    ]);
    let inspect = "inspect run -i in --index kept -o report";
    dir.succeeds(inspect);
    dir.succeeds(inspect);
    let first_page = dir.read("report/index.html");
    write(&dir.path("report/notes/today.txt"), "of the user");
    write(
        &dir.path("report/index.html"),
        first_page.replace("</body>", "mine</body>"),
    );
    for file in ["report/index.html", "report/notes/today.txt"] {
        let (code, _, said) = dir.run(inspect);
        assert_eq!(code, 2, "{said}");
        assert_says(
            &said,
            &[file, "was added or changed after the report was written"],
        );
        assert!(dir.read("report/notes/today.txt") == "of the user");
        write(&dir.path("report/index.html"), &first_page);
    }
    fs::remove_dir_all(dir.path("report/notes")).unwrap();
    dir.succeeds(inspect);
    // a page that a user has removed is no reason to refuse
    fs::remove_file(dir.path("report/index.html")).unwrap();
    dir.succeeds(inspect);
    dir.refuses(
        "
        inspect run -i in --index kept -o in | in contains something that is no report
        inspect run -i in --index kept --single-file -o page.html | page.html is no report of riposte, and would be replaced
        ",
    );
    dir.succeeds("inspect run -i in --index kept --single-file -o new.html");
    dir.succeeds("inspect run -i in --index kept --single-file -o new.html");
    assert_eq!(dir.read("page.html"), "<p>of the user</p>");

    // the same for the directory of an index
    let index = entries(&dir.path(""))
        .into_iter()
        .find(|path| path.is_dir() && text(path).ends_with(".index"));
    let index = index.or_else(|| {
        entries(&dir.path("kept"))
            .into_iter()
            .find(|path| path.is_dir())
    });
    write(&index.unwrap().join("notes.txt"), "of the user");
    let (code, _, said) = dir.run("index -i in --index kept --rebuild");
    assert_eq!(code, 2, "{said}");
    assert_says(&said, &["contains other files than those of the index"]);
}
