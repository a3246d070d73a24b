//! The program `riposte-eval` prints what `riposte` prints for the same files, and its values are those of trec_eval. `crates/riposte-eval/tests/` has
//! its other tests.

use std::fs;
use std::process::Command;

use serde::Deserialize;

use crate::measures::{assert_close, case};
use crate::support::chance::Chance;
use crate::support::files::{gzip, json};
use crate::support::program::{WorkDir, built, code, stdout};
use crate::support::{reference, root, sample};

const ONE: &str = "1 Q0 d1 1 0.9 one\n1 Q0 d2 2 0.8 one\n1 Q0 d3 3 0.7 one\n2 Q0 d5 1 0.6 one\n2 Q0 d4 2 0.5 one\n7 Q0 d4 1 1 one\n";
const TWO: &str = "1 Q0 d3 1 0.9 two\n1 Q0 d9 2 0.8 two\n1 Q0 d1 3 0.7 two\n2 Q0 d4 1 0.6 two\n";
/// Lines that trec_eval reads although they are odd, one that it does not, a document twice, and bytes that are no UTF-8.
const ODD: &[u8] =
    b"1 Q0 d1 1 5 two words\n1 Q0 d2 x 4 t\n1 Q0\n1 Q0 d1 3 3 t\n1 Q0 d\xe9 4 2 t\n1 Q0 d\xe8 5 1 t\n";
const GRADES: &[u8] = b"1 0 d1 2\n1 0 d2 0\n1 0 d3 1\n2 0 d4 1\n2 0 d5 -2\n1 0 d\xe8 1\n";

/// Runs of all kinds and their judgements.
fn files() -> WorkDir {
    let dir = WorkDir::with(&[
        ("one", ONE.as_bytes()),
        ("one.gz", &gzip(ONE.as_bytes())),
        ("two", TWO.as_bytes()),
        ("odd", ODD),
        ("empty", b""),
        ("grades", GRADES),
        ("subtopics", b"1 1 d1 1\n1 2 d2 1\n1 2 d3 1\n2 1 d4 1\n"),
        (
            "sides",
            b"1 FIRST d1 1 3 t\n1 NO d2 2 2 t\n1 NEUTRAL d3 3 1 t\n",
        ),
        (
            "other",
            b"1 SECOND d1 1 3 t\n1 SECOND d2 2 2 t\n1 NO d3 3 1 t\n",
        ),
        ("stances", b"1 0 d1 FIRST\n1 0 d2 SECOND\n1 0 d3 NEUTRAL\n"),
        (
            "args",
            b"51 Q0 S1-A1 1 2 t\n51 Q0 S1-A2 2 1 t\n52 Q0 S2-A3 1 1 t\n",
        ),
        ("relevance", b"51 0 S1-A1 1\n51 0 S1-A2 2\n52 0 S2-A3 2\n"),
        ("marco", b"1 d2 1\n1 d1 2\n"),
        ("ranx", br#"{"1": {"d1": 2.5, "d3": 1.0}, "2": {"d4": 1}}"#),
    ]);
    let copy = |from, to| fs::copy(from, dir.path(to)).unwrap();
    copy(sample().join("qrels.txt"), "images");
    copy(sample().join("topics.xml"), "topics.xml");
    for name in ["aramis", "minsc", "riposte"] {
        copy(root().join(format!("tests/golden/{name}.txt")), name);
    }
    dir
}

/// Runs `riposte-eval`. Returns the exit code and standard output.
fn small(dir: &WorkDir, words: &[&str]) -> (i32, String) {
    let mut command = Command::new(built("", "riposte-eval"));
    let output = command.args(words).current_dir(dir.path("")).output();
    let output = output.unwrap();
    (code(&output), stdout(&output))
}

/// Asserts that both programs print the same and end with the same code.
#[track_caller]
fn assert_same(dir: &WorkDir, of_riposte: &[&str], of_small: &[&str]) {
    let (expected, printed, said) = dir.run(&of_riposte.join(" "));
    assert_eq!(
        small(dir, of_small),
        (expected, printed),
        "{of_small:?}: {said}"
    );
}

#[test]
fn verdicts_are_those_of_riposte() {
    let dir = files();
    for run in [
        "minsc", "one", "one.gz", "odd", "empty", "sides", "args", "marco", "ranx",
    ] {
        for options in [
            "",
            "-v --task images",
            "--task rank",
            "--task comparative",
            "--edition 2023",
            "--topics topics.xml",
            "--task controversial --edition 2021",
        ] {
            let mut words = vec!["verify", run];
            words.extend(options.split_whitespace());
            assert_same(&dir, &words, &words);
        }
    }
}

#[test]
fn tables_are_those_of_riposte() {
    let dir = files();
    for (files, measures) in [
        ("minsc --qrels images", ""),
        ("minsc --qrels images --by-topic", "P@10"),
        ("riposte aramis minsc --qrels images --edition 2023", ""),
        ("riposte minsc --qrels images --qrels grades", "P@10 AP"),
        ("one --qrels grades --by-topic", ""),
        (
            "one.gz two --qrels grades --by-topic",
            "nDCG@5 P(rel=2)@1 map NumRet",
        ),
        ("odd --qrels grades --by-topic", "P@1 AP"),
        ("one --qrels subtopics", ""),
        ("sides --qrels stances --by-topic", ""),
        (
            "sides other --qrels stances --qrels grades",
            "StanceF1 nDCG@5",
        ),
        ("args --qrels relevance", ""),
        ("marco ranx --qrels grades", "RR"),
        ("empty --qrels grades", ""),
        ("one --qrels images", ""),
        ("one --qrels empty", ""),
    ] {
        let measures: Vec<&str> = measures.split_whitespace().collect();
        let named: Vec<&str> = measures
            .iter()
            .flat_map(|name| ["--measure", name])
            .collect();
        let words: Vec<&str> = files.split(' ').collect();
        let of_riposte = [&["evaluate"], &words[..], &measures].concat();
        assert_same(
            &dir,
            &of_riposte,
            &[&["evaluate"], &words[..], &named].concat(),
        );
        let compared = words.iter().take_while(|word| !word.starts_with('-'));
        if compared.count() > 1 {
            let holm = [&of_riposte[..], &["--correction", "holm"]].concat();
            assert_same(&dir, &holm, &[&["compare"], &words[..], &named].concat());
            let options = [
                "--correction",
                "bonferroni",
                "--test",
                "randomisation",
                "--alpha",
                "0.5",
            ];
            let of_riposte = [&of_riposte[..], &options].concat();
            assert_same(
                &dir,
                &of_riposte,
                &[&["compare"], &words[..], &named, &options].concat(),
            );
        }
    }
}

/// The values that pytrec_eval has of random runs, as far as a table shows them.
#[test]
fn values_are_those_of_trec_eval() {
    #[derive(Deserialize)]
    struct Reference {
        measures: Vec<String>,
        values: Vec<Vec<f64>>,
    }
    let Reference { measures, values } = json(&reference("measures.json"));
    let dir = WorkDir::new();
    let mut chance = Chance(2022);
    let mut words = vec!["evaluate", "run", "--qrels", "qrels"];
    words.extend(measures.iter().flat_map(|name| ["--measure", name]));
    for expected in values.iter().take(50) {
        let (run, qrels) = case(&mut chance);
        fs::write(dir.path("run"), run).unwrap();
        fs::write(dir.path("qrels"), qrels).unwrap();
        let (_, table) = small(&dir, &words);
        // a wide table is in blocks, each of a line of titles and a line of values
        let mut cells = Vec::new();
        for block in table.split("\n\n") {
            let [titles, values] = [0, 1].map(|at| block.lines().nth(at).unwrap());
            let titles = titles.split_whitespace().skip(1);
            cells.extend(titles.zip(values.split_whitespace().skip(1)));
        }
        assert_eq!(cells.len(), measures.len(), "{table}");
        for ((measure, expected), (title, value)) in measures.iter().zip(expected).zip(cells) {
            assert_eq!(title, measure);
            let value: f64 = value.trim_end_matches('*').parse().unwrap();
            assert_close(value, (expected * 1e4).round() / 1e4, &table);
        }
    }
}
