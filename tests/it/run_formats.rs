//! Runs and judgements as the field writes them: of MS MARCO and ranx, packed, from standard input, with documents that are listed twice, and with
//! ranks that contradict scores.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::chance::Chance;
use crate::support::files::{gzip, text, zstd};
use crate::support::need::{Peer, need};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout, succeed};
use crate::support::{assert_close, assert_says};

const RUN: &str = "1 Q0 a 1 3.5 t\n1 Q0 b 2 3 t\n1 Q0 c 3 -1 t\n2 Q0 7 1 0.5 t\n";
const QRELS: &str = "1 0 b 2\n1 0 c 1\n2 0 7 1\n2 0 8 1\n";

/// The values that `evaluate` prints, without the names of the files.
fn values(printed: &str) -> Vec<String> {
    let cells = printed.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        cells[2..].join(" ")
    });
    cells.collect()
}

const MEASURES: &str = "nDCG@5 AP RR@2 nDCG(touche=2021)@5 --by-topic --format tsv";

#[test]
fn each_format_and_packing_gives_the_same_values() {
    let marco = "1\ta\t1\n1\tb\t2\n1\tc\t3\n2\t7\t1\n";
    let ranx = r#"{"1":{"a":3.5,"b":3,"c":-1},"2":{"7":0.5}}"#;
    let judged_by_ranx =
        "{\n  \"1\": {\n    \"b\": 2,\n    \"c\": 1\n  },\n  \"2\": {\"7\": 1, \"8\": 1}\n}";
    let runs: [(&str, Vec<u8>); 9] = [
        ("trec", RUN.into()),
        ("marco.tsv", marco.into()),
        ("spaces", marco.replace('\t', " ").into()),
        ("four", "1 a 1 3.5\n1 b 2 3\n1 c 3 -1\n2 7 1 0.5\n".into()),
        ("ranx.json", ranx.into()),
        ("trec.gz", gzip(RUN)),
        ("trec.zst", zstd(RUN)),
        ("marco.zst", zstd(marco)),
        // recognised by its bytes, not by its name
        ("ranx.txt", zstd(ranx)),
    ];
    let judgements: [(&str, Vec<u8>); 7] = [
        ("q.trec", QRELS.into()),
        ("q.tsv", QRELS.replace(' ', "\t").into()),
        (
            "q.beir",
            "query-id\tcorpus-id\tscore\n1\tb\t2\n1\tc\t1\n2\t7\t1\n2\t8\t1\n".into(),
        ),
        ("q.three", "1 b 2\n1 c 1\n2 7 1\n2 8 1\n".into()),
        ("q.json", judged_by_ranx.into()),
        ("q.gz", gzip(QRELS)),
        ("q.zst", zstd(judged_by_ranx)),
    ];
    let dir = WorkDir::new();
    for (name, bytes) in runs.iter().chain(&judgements) {
        fs::write(dir.path(name), bytes).unwrap();
    }
    let (expected, _) = dir.succeeds(&format!("evaluate q.trec trec {MEASURES}"));
    let expected = values(&expected);
    assert_eq!(expected.len(), 4 * 3);
    assert!(expected.iter().any(|value| value.starts_with("AP all 0.5")));
    for (run, _) in &runs {
        let (printed, said) = dir.succeeds(&format!("evaluate --qrels q.trec {run} {MEASURES}"));
        assert_eq!(values(&printed), expected, "{run}");
        assert_eq!(said, "", "{run}");
    }
    for (qrels, _) in &judgements {
        let (printed, said) = dir.succeeds(&format!("evaluate {qrels} trec {MEASURES}"));
        assert_eq!(values(&printed), expected, "{qrels}");
        assert_eq!(said, "", "{qrels}");
    }
    // a run in a directory
    fs::create_dir(dir.path("out")).unwrap();
    fs::write(dir.path("out/run.txt.zst"), zstd(RUN)).unwrap();
    let (printed, _) = dir.succeeds(&format!("evaluate q.trec out {MEASURES}"));
    assert_eq!(values(&printed), expected);
}

#[test]
fn runs_of_the_lab_in_json_lines_are_still_recognised() {
    let line =
        r#"{"argument_id": "1-1", "method": "retrieval", "image_id": "Ia", "rank": 1, "tag": "t"}"#;
    let noted = line.replacen('{', r#"{"notes": {"by": "me"}, "#, 1);
    let judged = r#"{"argument_id": "1-1", "image_id": "Ia", "answer": "yes"}"#;
    let dir = WorkDir::with(&[
        ("plain", line.as_bytes()),
        ("noted", noted.as_bytes()),
        ("qrels", judged.as_bytes()),
    ]);
    for run in ["plain", "noted"] {
        let (printed, _) = dir.succeeds(&format!("evaluate qrels {run} P@1 --format tsv"));
        assert!(printed.ends_with("\tall\t1\n"), "{printed}");
    }
}

#[test]
fn what_is_wrong_in_a_format_is_named_with_its_line() {
    let dir = WorkDir::with(&[
        ("qrels", QRELS.as_bytes()),
        ("marco", b"1 b 1\n1 c 2\n1 d\n1 e first\n"),
        ("value.json", b"{\"1\": {\"b\": 1,\n\"c\": null}}"),
        ("cut.json", b"{\"1\": {\"b\": 1},\n\"2\": {\"7\": "),
        ("qrels.json", b"{\"1\": {\"b\": 1,\n\"c\": \"yes\"}}"),
        ("damaged.zst", &zstd(RUN)[..20]),
        // a frame that asks for a window of 256 MiB, and one of 128 MiB; neither has a byte
        ("window.zst", b"\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00"),
        ("allowed.zst", b"\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00"),
    ]);
    for (line, named) in [
        (
            "evaluate qrels marco RR",
            "marco:3: 2 fields, must be three: topic, document, rank",
        ),
        (
            "evaluate qrels marco RR",
            "marco:4: \"first\" is not a rank",
        ),
        (
            "evaluate qrels value.json RR",
            "value.json:2: topic 1, document c: null is not a score",
        ),
        (
            "evaluate qrels cut.json RR",
            "cut.json:2: not the JSON of ranx: EOF while parsing",
        ),
        (
            "evaluate qrels.json marco RR",
            "qrels.json:2: topic 1, document c: \"yes\" is not a grade",
        ),
        (
            "evaluate qrels allowed.zst RR",
            "no line of a run can be read",
        ),
    ] {
        let (exit, _, said) = dir.run(line);
        assert_eq!(exit, 1, "{line}: {said}");
        assert_says(&said, &[named]);
    }
    dir.refuses(
        "
        evaluate qrels damaged.zst | cannot read damaged.zst
        evaluate qrels window.zst | cannot read window.zst
        evaluate window.zst marco | cannot read window.zst
        ",
    );
}

#[test]
fn a_zstd_bomb_is_an_error_and_long_lines_of_ranx_are_not() {
    let padded = [&b"1 Q0 d1 1 1.0 tag"[..], &[b' '; 1000], b"\n"].concat();
    let bytes = zstd(padded.repeat((16 << 20) / padded.len())).repeat(17);
    let lines = zstd(b"1 d1 1\n".repeat(1_000_000)).repeat(3);
    let mut ranx = "{\"1\": {\"b\": 1".to_owned();
    for n in 0..500_000 {
        write!(ranx, ",\"a-long-id-of-a-document-{n:06}\":0.5").unwrap();
    }
    ranx.push_str("}}");
    assert!(ranx.len() > 17 << 20);
    let many = format!("{{\"1\":{{{}\"b\":1}}}}", "\"b\":1,".repeat(2_000_000));
    let dir = WorkDir::with(&[
        ("qrels", b"1 0 b 1\n"),
        ("many.json", many.as_bytes()),
        ("bytes.zst", &bytes),
        ("lines.zst", &lines),
        ("line.zst", &zstd(vec![b'x'; 18 << 20])),
        ("ranx.json", ranx.as_bytes()),
    ]);
    dir.refuses(
        "
        evaluate qrels bytes.zst | more than 256 MiB after decompression
        evaluate qrels lines.zst | more than 2000000 lines
        evaluate qrels line.zst | a line of more than 16 MiB
        verify bytes.zst | more than 256 MiB after decompression
        ",
    );
    for line in ["evaluate qrels many.json", "evaluate many.json qrels"] {
        let (exit, _, said) = dir.run(line);
        assert!(exit > 0);
        assert_says(
            &said,
            &["many.json:1: more than 2000000 topics or documents: nothing is read"],
        );
    }
    let (printed, _) = dir.succeeds("evaluate qrels ranx.json RR --format tsv");
    assert!(printed.ends_with("\tall\t1\n"), "{printed}");
}

/// Runs riposte with a file as standard input.
fn with_stdin(dir: &WorkDir, file: &str, line: &str) -> (i32, String, String) {
    let args: Vec<&str> = line.split(' ').collect();
    let mut command = riposte(&dir.path(""), &args);
    let input = File::open(dir.path(file)).unwrap();
    let command = command.current_dir(dir.path("")).stdin(Stdio::from(input));
    let output = command.output().unwrap();
    (code(&output), stdout(&output), stderr(&output))
}

#[test]
fn standard_input_is_one_run_or_one_file_of_judgements() {
    let dir = WorkDir::with(&[
        ("qrels", QRELS.as_bytes()),
        ("run", RUN.as_bytes()),
        ("run.zst", &zstd(RUN)),
        ("qrels.gz", &gzip(QRELS)),
        // metadata of another run
        (
            "ir-metadata.yml",
            b"tag: other\nactor:\n  fields: {}\n".as_slice(),
        ),
    ]);
    let (expected, _) = dir.succeeds(&format!("evaluate qrels run {MEASURES}"));
    for (file, line) in [
        ("run", "evaluate qrels -"),
        ("run", "evaluate --qrels qrels -"),
        ("run", "evaluate --qrels qrels mine=-"),
        ("run.zst", "evaluate qrels -"),
        ("qrels.gz", "evaluate - run"),
        ("qrels.gz", "evaluate --qrels - run"),
        ("qrels.gz", "evaluate --qrels mine=- run"),
    ] {
        let (exit, printed, said) = with_stdin(&dir, file, &format!("{line} {MEASURES}"));
        assert_eq!(exit, 0, "{line}: {said}");
        assert_eq!(values(&printed), values(&expected), "{line}");
    }
    for line in [
        "evaluate - -",
        "evaluate --qrels - a=- b=run",
        "evaluate --qrels qrels - b=-",
        "verify - -",
        "export run - -o out --qrels -",
        "inspect - -i . --qrels -",
    ] {
        let (exit, _, said) = with_stdin(&dir, "run", line);
        assert_eq!(exit, 2, "{line}: {said}");
        assert_says(
            &said,
            &["only one run or file of judgements can be standard input"],
        );
    }
    // metadata beside a run belong to a file, not to standard input
    let (exit, printed, said) = with_stdin(&dir, "run", "verify - --task rank -v");
    assert_eq!(exit, 0, "{printed}{said}");
    assert!(
        printed.ends_with("-: valid\n") || printed.contains("TIRA refuses it"),
        "{printed}"
    );
    assert!(!printed.contains("ir-metadata.yml"), "{printed}");
    let (_, printed, _) = dir.run("verify run --task rank -v");
    assert_says(&printed, &["ir-metadata.yml"]);
}

#[test]
fn a_document_that_is_listed_twice_is_named_with_both_lines() {
    let run = "1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n2 Q0 b 1 9 t\n1 Q0 b 3 7 t\n1 Q0 c 4 6 t\n";
    let without = run.replace("1 Q0 b 3 7 t\n", "");
    let dir = WorkDir::with(&[
        ("qrels", b"1 0 b 1\n1 0 c 1\n"),
        ("run", run.as_bytes()),
        ("without", without.as_bytes()),
        ("ranx.json", b"{\"1\": {\"b\": 8,\n\"b\": 7}}"),
    ]);
    let (exit, printed, said) = dir.run("evaluate qrels run AP --format tsv");
    assert_eq!(exit, 1, "{said}");
    let named = "run:4: document b of topic 1 again, first on line 2";
    assert_says(&said, &[named, "1 fault: run 1"]);
    // the better of both counts
    let (expected, _) = dir.succeeds("evaluate qrels without AP --format tsv");
    assert_eq!(values(&printed), values(&expected));
    let (exit, _, said) = dir.run("evaluate qrels ranx.json AP");
    assert_eq!(exit, 1, "{said}");
    let named = "ranx.json:2: document b of topic 1 again, first on line 1";
    assert_says(&said, &[named]);
}

#[test]
fn ranks_that_contradict_scores_are_named_and_the_scores_count() {
    let run =
        "1 Q0 a 1 0.2 t\n1 Q0 b 2 0.9 t\n2 Q0 a 1 2 t\n2 Q0 b 2 1 t\n3 Q0 b 1 1 t\n3 Q0 a 2 5 t\n";
    let dir = WorkDir::with(&[
        ("qrels", b"1 0 b 1\n"),
        ("run", run.as_bytes()),
        ("agrees", b"1 Q0 a 1 2 t\n1 Q0 b 2 2 t\n"),
        ("marco", b"1 b 2\n1 a 1\n"),
    ]);
    let (printed, said) = dir.succeeds("evaluate qrels run RR --format tsv");
    assert!(printed.ends_with("\tall\t1\n"), "{printed}");
    assert_says(
        &said,
        &[
            "note: run: the ranks of 2 topics contradict the scores",
            "The first is topic 1: line 1 has rank 1 and score 0.2, line 2 has rank 2 and score 0.9",
        ],
    );
    for run in ["agrees", "marco"] {
        let (_, said) = dir.succeeds(&format!("evaluate qrels {run} RR"));
        assert!(!said.contains("contradict"), "{run}: {said}");
    }
}

#[test]
fn verify_says_that_the_lab_has_another_format() {
    let dir = WorkDir::with(&[
        ("marco", b"1 a 1\n1 b 2\n"),
        ("four", b"1 a 1 2.5\n1 b 2 2\n"),
        ("ranx", b"{\"1\": {\"a\": 1}}"),
    ]);
    for (run, format) in [
        ("marco", "three columns, as in MS MARCO"),
        ("four", "four columns"),
        ("ranx", "the JSON of ranx"),
    ] {
        let (exit, printed, _) = dir.run(&format!("verify {run}"));
        assert_eq!(exit, 1, "{printed}");
        assert_says(&printed, &[format, "NOT valid"]);
        assert_eq!(printed.lines().count(), 2, "{printed}");
    }
}

/// A run and judgements that ranx saves as JSON and in TREC's format, and ranx's own values. ranx would compile its functions for a minute, and
/// compute for milliseconds, so they are not compiled. They then keep ids as strings of NumPy, which its JSON refuses, so these become strings.
const OF_RANX: &str = "import json, os, sys
os.environ['NUMBA_DISABLE_JIT'] = '1'
from ranx import Qrels, Run, evaluate
out, data = sys.argv[1], json.load(open(sys.argv[2]))
run, qrels = Run.from_dict(data['run'], name='t'), Qrels.from_dict(data['qrels'])
def plain(table):
    return {topic: {str(doc): value.item() for doc, value in docs.items()} for topic, docs in table.items()}
run.run, qrels.qrels = plain(run.run), plain(qrels.qrels)
for kind, end in [('json', 'json'), ('trec', 'trec')]:
    run.save(f'{out}/run.{end}', kind=kind)
    qrels.save(f'{out}/qrels.{end}', kind=kind)
print(json.dumps(evaluate(qrels, run, ['map', 'mrr', 'ndcg@5', 'precision@3'])))";

#[test]
fn what_ranx_saves_is_read_as_ranx_means_it() {
    let Some(python) = need(Peer("ranx")) else {
        return;
    };
    let mut chance = Chance(21);
    let (mut run, mut qrels) = (serde_json::Map::new(), serde_json::Map::new());
    for topic in 1..20 {
        let (mut scores, mut grades) = (serde_json::Map::new(), serde_json::Map::new());
        for doc in 0..30 {
            // no two scores of a topic are equal: ranx has no order for them
            let score = f64::from(doc) * 1.5 + chance.fraction();
            if chance.below(3) > 0 {
                scores.insert(format!("d{doc}-ß"), score.into());
            }
            if chance.below(3) == 0 {
                grades.insert(format!("d{doc}-ß"), chance.below(3).into());
            }
        }
        grades.insert("d0-ß".to_owned(), 1.into());
        scores.insert("d1-ß".to_owned(), 2.25.into());
        run.insert(format!("q{topic}"), scores.into());
        qrels.insert(format!("q{topic}"), grades.into());
    }
    let dir = WorkDir::new();
    let data = serde_json::json!({"run": run, "qrels": qrels}).to_string();
    fs::write(dir.path("data"), data).unwrap();
    let mut command = Command::new::<PathBuf>(python);
    let (out, data) = (dir.path(""), dir.path("data"));
    command.args(["-c", OF_RANX, text(&out), text(&data)]);
    let said = stdout(&succeed(&mut command));
    let of_ranx: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();

    let measures = "AP RR nDCG@5 P@3 --format tsv";
    let (as_trec, _) = dir.succeeds(&format!("evaluate qrels.trec run.trec {measures}"));
    for (qrels, run) in [
        ("qrels.json", "run.json"),
        ("qrels.trec", "run.json"),
        ("qrels.json", "run.trec"),
    ] {
        let (printed, said) = dir.succeeds(&format!("evaluate {qrels} {run} {measures}"));
        assert_eq!(said, "");
        assert_eq!(values(&printed), values(&as_trec), "{qrels} {run}");
    }
    let names = ["map", "mrr", "ndcg@5", "precision@3"];
    for (name, line) in names.iter().zip(values(&as_trec)) {
        let value: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(value > 0.0 && value < 1.0, "{line}");
        assert_close(of_ranx[name].as_f64().unwrap(), value, &name);
    }
}
