//! `riposte evaluate` with several runs: tests, corrections, letters and formats.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::chance::Chance;
use crate::support::files::text;
use crate::support::need::{Peer, need};
use crate::support::program::{WorkDir, succeed};
use crate::support::{assert_close, assert_says, reference};

/// A run of 30 topics in which the first relevant document has a random rank from 1 to `worst`.
fn run(chance: &mut Chance, worst: usize) -> String {
    let mut run = String::new();
    for topic in 1..=30 {
        let at = 1 + chance.below(worst);
        for rank in 1..=worst {
            let doc = if rank == at { "good" } else { "bad" };
            writeln!(run, "{topic} Q0 {doc}{rank} {rank} {} t", 100 - rank).unwrap();
        }
    }
    run.replace("good", "g")
}

/// Judgements that make every document relevant whose id begins with g, a good and a bad run, and one that equals the good one.
fn runs() -> WorkDir {
    let mut qrels = String::new();
    for topic in 1..=30 {
        for rank in 1..=20 {
            writeln!(qrels, "{topic} 0 g{rank} 1").unwrap();
        }
    }
    let mut chance = Chance(5);
    let (good, bad) = (run(&mut chance, 2), run(&mut chance, 20));
    WorkDir::with(&[
        ("qrels", qrels.as_bytes()),
        ("good_1", good.as_bytes()),
        ("bad", bad.as_bytes()),
        ("same", good.as_bytes()),
    ])
}

fn comparisons(dir: &WorkDir, options: &str) -> Vec<Value> {
    let line = format!("evaluate --qrels qrels good_1 bad same RR --format json {options}");
    let (printed, _) = dir.succeeds(line.trim_end());
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["values"].as_array().unwrap().len(), 3, "{printed}");
    printed["comparisons"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

#[test]
fn all_runs_are_compared_and_p_is_corrected() {
    let dir = runs();
    assert!(comparisons(&dir, "").is_empty());
    let plain = comparisons(&dir, "--correction none");
    let runs = plain
        .iter()
        .map(|of| [&of["first"], &of["second"]].map(|name| name.as_str().unwrap()));
    let runs: Vec<[&str; 2]> = runs.collect();
    assert_eq!(
        runs,
        [["good_1", "bad"], ["good_1", "same"], ["bad", "same"]]
    );
    for test in ["randomisation", "t-test"] {
        let of = |correction: &str| -> Vec<f64> {
            let options = format!("--correction {correction} --test {test}");
            let all = comparisons(&dir, &options);
            all.iter().map(|of| of["p"].as_f64().unwrap()).collect()
        };
        let (plain, bonferroni, holm) = (of("none"), of("bonferroni"), of("holm"));
        // the bad run differs from both others alike, and these are equal
        assert!(plain[0] < 0.001 && plain[0] == plain[2], "{plain:?}");
        assert_eq!(plain[1], 1.0);
        for (plain, corrected) in plain.iter().zip(bonferroni) {
            assert_close(corrected, (plain * 3.0).min(1.0), &test);
        }
        assert_close(holm[0], plain[0] * 3.0, &test);
        assert_close(holm[2], plain[0] * 3.0, &test);
        assert_eq!(holm[1], 1.0);
    }
    let tukey = comparisons(&dir, "--correction tukey");
    let significant: Vec<_> = tukey.iter().map(|of| of["significant"].as_bool()).collect();
    assert_eq!(
        significant,
        [Some(true), Some(false), Some(true)],
        "{tukey:?}"
    );
    assert!(
        tukey[0]["effect_size"].as_f64().unwrap() < -0.5,
        "{tukey:?}"
    );
    assert_eq!(tukey[1]["effect_size"], Value::Null);
}

#[test]
fn a_value_has_the_letters_of_the_runs_that_it_is_better_than() {
    let dir = runs();
    let line = "evaluate --qrels qrels good_1 bad same RR P@1 --correction holm";
    let (table, _) = dir.succeeds(line);
    let row = |begin: &str| table.lines().find(|line| line.starts_with(begin)).unwrap();
    assert_eq!(row("a good_1").matches('ᵇ').count(), 2, "{table}");
    assert_eq!(row("c same").matches('ᵇ').count(), 2, "{table}");
    assert!(!row("b bad").contains(['ᵃ', 'ᶜ']), "{table}");
    assert_says(
        &table,
        &["Holm's correction", "good_1, bad", "bad, same", ", d "],
    );

    let (markdown, _) = dir.succeeds(&format!("{line} --format markdown"));
    assert_says(
        &markdown,
        &["| run | RR | P@1 |", "|---|---:|---:|", "| a good\\_1 | **"],
    );
    assert_eq!(markdown.matches("**<sup>b</sup>").count(), 4, "{markdown}");
    let (latex, _) = dir.succeeds(&format!("{line} --format latex"));
    assert_says(
        &latex,
        &["\\toprule\nrun & RR & P@1 \\\\\n\\midrule\na good\\_1 & \\textbf{"],
    );
    assert_eq!(latex.matches("}$^{b}$").count(), 4, "{latex}");

    // nothing is significant if the limit is low enough
    let (table, _) = dir.succeeds(&format!("{line} --alpha 0.000000001"));
    assert!(!table.contains('ᵇ'), "{table}");
}

#[test]
fn csv_has_the_values_of_tsv_and_table_is_another_name_of_text() {
    let dir = runs();
    let printed = |format: &str| {
        let line = format!(
            "evaluate --qrels qrels good_1 bad RR(rel=1,judged_only=True) --format {format}"
        );
        dir.succeeds(&line).0
    };
    assert_eq!(printed("csv"), printed("tsv").replace('\t', ","));
    assert_eq!(printed("table"), printed("text"));
    let line = "evaluate --qrels qrels good_1 AP(rel=2,judged_only=True) --format csv";
    let (csv, _) = dir.succeeds(line);
    assert_eq!(
        csv.lines().nth(1).unwrap(),
        "good_1,qrels,\"AP(rel=2,judged_only=True)\",all,0"
    );
}

#[test]
fn comparisons_that_cannot_be_made_are_refused() {
    let dir = WorkDir::with(&[
        ("qrels", b"1 0 a FIRST\n".as_slice()),
        ("grades", b"1 0 a 1\n"),
        ("one", b"1 FIRST a 1 1 t\n"),
        ("two", b"1 NO a 1 1 t\n"),
    ]);
    dir.refuses(
        "
        evaluate --qrels grades one AP --correction holm | give two or more
        evaluate --qrels grades one two AP --correction tukey --test t-test | leave out --test
        evaluate --qrels grades one two AP --correction holm --format tsv | --format text
        evaluate --qrels grades one two AP --alpha 0.1 | --correction
        evaluate --qrels grades one two AP --correction holm --alpha 2 | between 0 and 1
        evaluate --qrels qrels one two --test t-test | use --test randomisation
        ",
    );
}

#[test]
fn t_tests_have_the_p_of_scipy() {
    let Some(python) = need(Peer("scipy")) else {
        return;
    };
    let mut chance = Chance(77);
    let dir = WorkDir::new();
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for n in 0..200 {
        // ranks of the only relevant document: the reciprocal rank is 1 / rank
        let ranks: Vec<[usize; 2]> = (0..2 + chance.below(60))
            .map(|_| [1 + chance.below(9), 1 + chance.below(6 + n % 4)])
            .collect();
        let values = |side: usize| {
            ranks
                .iter()
                .map(|of| 1.0 / of[side] as f64)
                .collect::<Vec<_>>()
        };
        expected.push([values(0), values(1)]);
        let (mut qrels, mut runs) = (String::new(), [String::new(), String::new()]);
        for (topic, of_topic) in ranks.iter().enumerate() {
            writeln!(qrels, "{topic} 0 d 1").unwrap();
            for (run, at) in runs.iter_mut().zip(of_topic) {
                for rank in 1..=*at {
                    let doc = if rank == *at {
                        "d".to_owned()
                    } else {
                        format!("x{rank}")
                    };
                    writeln!(run, "{topic} Q0 {doc} {rank} {} t", 20 - rank).unwrap();
                }
            }
        }
        let (qrels, _) = riposte_eval::qrels::read(&qrels);
        let [first, second] = runs.map(|run| {
            let measures = ["RR".parse().unwrap()];
            let mut values = riposte_eval::evaluate(&run, &qrels, &measures)
                .unwrap()
                .values;
            values.remove(0)
        });
        found.push(riposte_eval::compare::paired(
            &first,
            &second,
            riposte_eval::compare::SignificanceTest::TTest,
        ));
    }
    let file = dir.path("pairs.json");
    fs::write(&file, serde_json::to_string(&expected).unwrap()).unwrap();
    let mut command = Command::new(python);
    command.args([text(&reference("t_tests.py")), text(&file)]);
    let printed = succeed(&mut command).stdout;
    let expected: Vec<[Option<f64>; 2]> = serde_json::from_slice(&printed).unwrap();
    assert_eq!(expected.len(), found.len());
    for (n, ([p, d], found)) in expected.iter().zip(found).enumerate() {
        // scipy has no p for equal runs
        assert_close(found.p, p.unwrap_or(1.0), &format!("{n}: p"));
        assert_eq!(d.is_some(), found.effect.is_some(), "{n}");
        assert_close(
            found.effect.unwrap_or(0.0),
            d.unwrap_or(0.0),
            &format!("{n}: d"),
        );
    }
}
