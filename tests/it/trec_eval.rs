//! Runs and judgements are read as trec_eval's own readers read them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use riposte_eval::qrels;
use riposte_eval::run::read_texts;

use crate::support::chance::Chance;
use crate::support::files::text;
use crate::support::need::{Peer, need};
use crate::support::program::{WorkDir, succeed};
use crate::support::reference;

const SPACES: [&str; 9] = [" ", " ", " ", "\t", "  ", "\u{b}", "\u{c}", " \r", "\u{a0}"];
const ENDS: [&str; 6] = ["\n", "\n", "\n", "\r\n", " \n", "\t\r\n"];
const IDS: [&str; 12] = [
    "1",
    "2",
    "d1",
    "d1\u{a0}x",
    "\u{2003}d",
    "é",
    "#d",
    "\"d\"",
    "D1",
    "clueweb12-00-1",
    "0",
    "-",
];
const SCORES: [&str; 30] = [
    "1",
    "2.5",
    "0",
    "-0.0",
    "1e-46",
    "1e400",
    "inf",
    "-Infinity",
    "infx",
    "+inf",
    "abc",
    "2,5",
    "2.5x",
    ".5",
    "5.",
    ".",
    "+3",
    "-.5e1",
    "1e",
    "1e+",
    "1e5x",
    "--1",
    "nan",
    "-NaN",
    "0x10",
    "1d5",
    "١",
    "1_0",
    "0.30000001",
    "16777217",
];
const GRADES: [&str; 8] = ["0", "1", "2", "-2", "+1", "01", "1.5", "many"];

fn one_of<'a>(chance: &mut Chance, words: &[&'a str]) -> &'a str {
    words[chance.below(words.len())]
}

/// Lines of fields from these lists, and then up to three letters that are removed, repeated or replaced.
fn mutated(chance: &mut Chance, fields: &[&[&str]]) -> String {
    let mut made = String::new();
    for _ in 0..1 + chance.below(5) {
        for (n, words) in fields.iter().enumerate() {
            // most fields are separated as they should be, so that trec_eval reads most lines
            let spaces = if chance.below(4) > 0 {
                &SPACES[..1]
            } else {
                &SPACES
            };
            if n > 0 {
                made.push_str(one_of(chance, spaces));
            }
            made.push_str(one_of(chance, words));
        }
        made.push_str(one_of(chance, &ENDS));
    }
    for _ in 0..chance.below(4) {
        let letters: Vec<char> = made.chars().collect();
        let at = chance.below(letters.len());
        let mut letters: Vec<String> = letters.iter().map(char::to_string).collect();
        match chance.below(3) {
            0 => letters[at].clear(),
            1 => letters[at] = letters[at].repeat(2),
            _ => {
                letters[at] =
                    one_of(chance, &["\n", " ", "7", "x", ".", "-", "ß", "\u{85}"]).to_owned()
            }
        }
        made = letters.concat();
    }
    made
}

/// A topic, a document, and a score or a grade.
type Read = (String, String, String);

/// What trec_eval reads in each of these texts, `run` or `qrels`: topics, documents, scores or grades. `None` if it refuses the text.
fn read_by_trec_eval(kind: &str, texts: &[String]) -> Option<Vec<Option<Vec<Read>>>> {
    let python = need(Peer("pytrec_eval"))?;
    let dir = WorkDir::new();
    let lines = texts
        .iter()
        .map(|text| serde_json::json!([kind, text]).to_string() + "\n");
    fs::write(dir.path("texts"), lines.collect::<String>()).unwrap();
    let mut command = Command::new(python);
    command.args([
        text(&reference("trec_eval_reads.py")),
        text(&dir.path("texts")),
    ]);
    let printed = String::from_utf8(succeed(&mut command).stdout).unwrap();
    let read: Vec<_> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(read.len(), texts.len());
    Some(read)
}

#[test]
fn runs_are_read_as_trec_eval_reads_them() {
    let mut chance = Chance(9);
    let fields: [&[&str]; 6] = [
        &IDS,
        &["Q0", "FIRST", "0"],
        &IDS,
        &["1", "-", "1.0", "x"],
        &SCORES,
        &["t", "\"a b\"", "a b c"],
    ];
    let texts: Vec<String> = (0..4000).map(|_| mutated(&mut chance, &fields)).collect();
    let Some(expected) = read_by_trec_eval("run", &texts) else {
        return;
    };
    let mut compared = 0;
    for (run, expected) in texts.iter().zip(expected) {
        let Some(expected) = expected else { continue };
        let (lines, errors) = read_texts(run);
        // a score that is no number, or hexadecimal, is refused: trec_eval's order of such documents is that of the file, or by chance
        let refused = errors.iter().filter(|error| !error.is_read);
        let refused = refused
            .inspect(|error| assert!(error.what.ends_with("is not a score"), "{run:?}: {error}"))
            .count();
        let mut found: BTreeMap<(String, String, u32), usize> = BTreeMap::new();
        for (topic, doc, score) in &expected {
            let score: f64 = score.parse().unwrap();
            *found
                .entry((topic.clone(), doc.clone(), (score as f32 + 0.0).to_bits()))
                .or_default() += 1;
        }
        for line in &lines {
            let score = (line.score.unwrap() as f32 + 0.0).to_bits();
            let key = (line.topic.0.clone(), line.doc.0.clone(), score);
            let left = found
                .get_mut(&key)
                .unwrap_or_else(|| panic!("{run:?}: {line:?}, but trec_eval reads {expected:?}"));
            assert!(
                *left > 0,
                "{run:?}: {line:?} more often than in {expected:?}"
            );
            *left -= 1;
            compared += 1;
        }
        assert_eq!(lines.len() + refused, expected.len(), "{run:?}: {errors:?}");
    }
    assert!(compared > 4000, "only {compared} lines");
}

#[test]
fn judgements_are_read_as_trec_eval_reads_them() {
    let mut chance = Chance(10);
    let fields: [&[&str]; 4] = [&IDS, &["0", "Q0"], &IDS, &GRADES];
    let texts: Vec<String> = (0..4000).map(|_| mutated(&mut chance, &fields)).collect();
    let Some(expected) = read_by_trec_eval("qrels", &texts) else {
        return;
    };
    let mut compared = 0;
    for (judgements, expected) in texts.iter().zip(expected) {
        let (read, errors) = qrels::read(judgements);
        let (Some(expected), Some(found)) = (expected, read.grades()) else {
            continue;
        };
        let found = found.iter().flat_map(|(topic, documents)| {
            documents
                .iter()
                .map(move |(doc, grade)| ((topic.0.clone(), doc.0.clone()), *grade))
        });
        let mut found: BTreeMap<(String, String), f64> = found.collect();
        let mut of: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
        for (topic, doc, grade) in expected {
            of.entry((topic, doc))
                .or_default()
                .push(grade.parse().unwrap());
        }
        for (pair, grades) in of {
            match found.remove(&pair) {
                // trec_eval uses the digits before the point; a document that is judged twice is an error there too, but later
                Some(grade) => {
                    assert!(
                        grades.contains(&grade.trunc()),
                        "{judgements:?}: {pair:?} {grade}, not {grades:?}"
                    );
                    compared += 1;
                }
                // trec_eval takes any word for 0
                None => assert!(
                    errors
                        .iter()
                        .any(|error| error.what.ends_with("is not a grade")),
                    "{judgements:?}: {pair:?}: {errors:?}"
                ),
            }
        }
        assert!(found.is_empty(), "{judgements:?}: {found:?}");
    }
    assert!(compared > 4000, "only {compared} documents");
}
