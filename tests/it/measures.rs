//! The measures held to other implementations, to values counted by hand, and to the organisers' scripts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use proptest::prelude::*;
use riposte::judge::Edition;
use riposte::judge::compare::{Table, paired};
use riposte::judge::evaluate::evaluate_images;
use riposte::judge::graded::TextRun;
use riposte::judge::measure::Measure;
use riposte::judge::verify::{ImageRules, verify_images};
use riposte::judge::{Values, stances::Confusion};
use riposte::trec::qrels::{self, Qrels};
use riposte::trec::run::{TextRunLine, read_texts};
use riposte::trec::{DocId, ObjectStance, TopicId};
use serde::Deserialize;

use crate::development::data;

fn reference<T: for<'de> Deserialize<'de>>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    let text = fs::read_to_string(path.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn riposte() -> Command {
    Command::cargo_bin("riposte").unwrap()
}

/// The value of a measure by its name, for a run and judgements as their files would be.
fn values(name: &str, run: &str, judgements: &str) -> Values {
    let (lines, errors) = read_texts(run);
    assert_eq!(errors, []);
    let (judgements, errors) = qrels::read(judgements);
    assert_eq!(errors, []);
    let measure: Measure = name.parse().unwrap();
    assert_eq!(measure.to_string(), name, "prints as it parses");
    let ranked = TextRun::new(&lines);
    match (measure, judgements) {
        (Measure::Graded(measure), Qrels::Graded(qrels) | Qrels::Answers(qrels)) => {
            ranked.measure(&qrels, &measure)
        }
        (Measure::Stance(measure), Qrels::Stances(qrels)) => {
            ranked.measure_stances(&qrels, &measure)
        }
        (measure, qrels) => panic!("{measure} of {qrels:?}"),
    }
}

#[track_caller]
fn assert_close(found: f64, expected: f64, what: &dyn std::fmt::Display) {
    assert!(
        (found - expected).abs() < 1e-9,
        "{what}: {found}, not {expected}"
    );
}

/// The generator of collection-tools/measures_reference.py.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    /// A run and judgements, made as the script makes them.
    fn case(&mut self) -> (String, String) {
        const GRADES: [i32; 7] = [-2, 0, 0, 1, 1, 2, 3];
        let (mut run, mut qrels) = (String::new(), String::new());
        for topic in 1..2 + self.below(4) {
            let mut grades = BTreeMap::new();
            for number in 0..self.below(13) + u64::from(topic == 1) {
                let doc = self.below(20);
                let least = u64::from(number == 0);
                let grade = GRADES[(least + self.below(7 - least)) as usize];
                grades.entry(doc).or_insert(grade);
            }
            for (doc, grade) in grades {
                writeln!(qrels, "{topic} 0 d{doc} {grade}").unwrap();
            }
            let listed = topic == 1 || self.below(8) > 0;
            let mut scores = BTreeMap::new();
            for _ in 0..self.below(16) + 1 {
                let doc = self.below(24);
                let score = 16.0 + self.below(6) as f64 * 0.25 + self.below(3) as f64 * 1e-8;
                scores.entry(doc).or_insert(score);
            }
            // the rank column says nothing here
            for (doc, score) in scores.iter().filter(|_| listed) {
                writeln!(run, "{topic} Q0 d{doc} 1 {score} t").unwrap();
            }
        }
        (run, qrels)
    }
}

#[test]
fn a_thousand_random_runs_measure_as_pytrec_eval_measures_them() {
    #[derive(Deserialize)]
    struct Reference {
        measures: Vec<String>,
        values: Vec<Vec<f64>>,
    }
    let reference: Reference = reference("measures.json");
    assert_eq!(reference.values.len(), 1000);
    let mut random = Random(2022);
    for (number, expected) in reference.values.iter().enumerate() {
        let (run, qrels) = random.case();
        for (name, expected) in reference.measures.iter().zip(expected) {
            let what = format!("case {number}, {name}\n{run}\n{qrels}");
            assert_close(values(name, &run, &qrels).all(), *expected, &what);
        }
    }
}

#[derive(Deserialize)]
struct Organisers {
    images: Vec<ImageCase>,
    texts: Vec<TextCase>,
    answers: Vec<AnswerCase>,
    official: Vec<OfficialCase>,
}

#[derive(Deserialize)]
struct ImageCase {
    year: u32,
    run: String,
    qrels: String,
    ids: Vec<String>,
    refused: Vec<u64>,
    tags: Vec<u64>,
    verified: String,
    not_evaluated: Vec<u64>,
    evaluated: String,
    topics: Vec<String>,
}

#[derive(Deserialize)]
struct TextCase {
    run: String,
    qrels: String,
    depth: usize,
    topics: BTreeMap<String, f64>,
    mean: f64,
}

#[derive(Deserialize)]
struct AnswerCase {
    run: String,
    answers: String,
    #[serde(rename = "nDCG")]
    ndcg: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct OfficialCase {
    name: String,
    refused: Vec<u64>,
    tags: Vec<u64>,
    verified: String,
    evaluated: String,
}

/// Lines with an error, but for those of which the tag alone is wrong; and those.
fn refused(findings: &[riposte::judge::verify::Finding]) -> (Vec<u64>, Vec<u64>) {
    use riposte::judge::verify::{Rule, Severity};
    let errors = findings.iter().filter(|f| f.severity == Severity::Error);
    let (tags, others): (Vec<_>, Vec<_>) = errors
        .filter(|f| f.line.is_some())
        .partition(|f| f.rule == Rule::Tag);
    let lines =
        |of: Vec<&riposte::judge::verify::Finding>| of.iter().filter_map(|f| f.line).collect();
    (lines(others), lines(tags))
}

#[test]
fn the_organisers_image_scripts_refuse_the_same_lines_and_write_the_same_bytes() {
    let cases = reference::<Organisers>("organisers.json").images;
    assert_eq!(cases.len(), 60);
    for (number, case) in cases.iter().enumerate() {
        let edition = match case.year {
            2023 => Edition::Touche2023,
            _ => Edition::Touche2022,
        };
        let ids = case.ids.iter().map(|id| DocId(id.clone()));
        let rules = ImageRules::edition(edition).with_images(ids);
        let verdict = verify_images(case.run.as_bytes(), &rules);
        let (lines, tags) = refused(&verdict.findings);
        let run = &case.run;
        assert_eq!(
            lines, case.refused,
            "{number}: {:?}\n{run}",
            verdict.findings
        );
        assert_eq!(tags, case.tags, "{number}\n{run}");
        assert_eq!(verdict.prototext(), case.verified, "{number}\n{run}");

        let verdict = verify_images(run.as_bytes(), &ImageRules::evaluator(edition));
        let (lines, _) = refused(&verdict.findings);
        assert_eq!(lines, case.not_evaluated, "{number}\n{run}");
        let (qrels, errors) = qrels::read_images(&case.qrels);
        assert_eq!(errors, []);
        let evaluation = evaluate_images(&verdict.accepted, &qrels, edition);
        assert_eq!(evaluation.prototext(), case.evaluated, "{number}\n{run}");
        let rows: Vec<String> = evaluation
            .topics
            .iter()
            .filter(|(_, topic)| topic.in_run)
            .map(|(id, topic)| {
                let [a, b, c] = topic.both().precision(20);
                let [d, e, f] = topic.pro.precision(10);
                let [g, h, i] = topic.con.precision(10);
                let cells = [a, b, c, d, e, f, g, h, i].map(|cell| format!("{cell:.2}"));
                format!("{id},{}", cells.join(","))
            })
            .collect();
        assert_eq!(rows, case.topics, "{number}\n{run}");
    }
}

#[test]
fn the_official_runs_have_the_official_bytes() {
    let Some(data) = data("images") else {
        return;
    };
    let cases = reference::<Organisers>("organisers.json").official;
    assert_eq!(cases.len(), 7);
    let dir = tempfile::tempdir().unwrap();
    for case in cases {
        let run = data.join("runs").join(&case.name);
        let (verified, evaluated) = (dir.path().join("v"), dir.path().join("e"));
        riposte()
            .args(["verify", "--prototext"])
            .arg(&verified)
            .arg(&run)
            .assert()
            .success();
        riposte()
            .arg("evaluate")
            .arg(data.join("qrels-2022.txt"))
            .arg(&run)
            .arg("--prototext")
            .arg(&evaluated)
            .assert()
            .success();
        assert_eq!(
            fs::read_to_string(verified).unwrap(),
            case.verified,
            "{}",
            case.name
        );
        assert_eq!(
            fs::read_to_string(evaluated).unwrap(),
            case.evaluated,
            "{}",
            case.name
        );
        assert!(case.refused.is_empty() && case.tags.is_empty());
    }
}

#[test]
fn the_organisers_ndcg_is_theirs_topic_by_topic() {
    let cases = reference::<Organisers>("organisers.json").texts;
    assert_eq!(cases.len(), 40);
    for (number, case) in cases.iter().enumerate() {
        let name = format!("nDCG(touche=2021)@{}", case.depth);
        let found = values(&name, &case.run, &case.qrels);
        let topics: Vec<&str> = found.topics.keys().map(|t| t.0.as_str()).collect();
        let expected: Vec<&str> = case.topics.keys().map(String::as_str).collect();
        assert_eq!(topics, expected, "case {number}");
        for (topic, value) in &found.topics {
            assert_close(*value, case.topics[&topic.0], &format!("{number} {topic}"));
        }
        assert_close(found.all(), case.mean, &number);
    }
}

#[test]
fn the_organisers_ndcg_of_2025_is_theirs() {
    let cases = reference::<Organisers>("organisers.json").answers;
    assert_eq!(cases.len(), 4);
    for (number, case) in cases.iter().enumerate() {
        for (cutoff, expected) in &case.ndcg {
            let name = format!("nDCG(touche=2025)@{cutoff}");
            let found = values(&name, &case.run, &case.answers);
            assert_close(found.all(), *expected, &format!("{number} @{cutoff}"));
        }
    }
}

#[test]
fn elronds_best_run_has_its_official_score() {
    let (Some(run), Some(judgements)) = (
        data("args/runs/elrond-ekrun-2021.txt"),
        data("args/touche2021-task1-51-100-relevance.qrels"),
    ) else {
        return;
    };
    let run = fs::read_to_string(run).unwrap();
    let judgements = fs::read_to_string(judgements).unwrap();
    let rounded = |name: &str, digits: usize| {
        let value = values(name, &run, &judgements).all();
        format!("{value:.digits$}")
    };
    assert_eq!(rounded("nDCG(touche=2021)@5", 3), "0.720");
    assert_eq!(rounded("nDCG@5", 4), "0.7198");
    assert_eq!(rounded("nDCG(dcg='exp-log2')@5", 3), "0.689");
}

#[test]
fn the_runs_of_task_2_are_read_and_agree_with_the_independent_judge() {
    let (Some(data), Some(judge)) = (data("passages"), data("../tools/judge.py")) else {
        return;
    };
    if std::process::Command::new("python3").output().is_err() {
        eprintln!("skipped: the comparison with judge.py, because there is no python3");
        return;
    }
    let text = |name: &str| fs::read_to_string(data.join(name)).unwrap();
    let mut compared = 0;
    for entry in fs::read_dir(data.join("runs")).unwrap() {
        let path = entry.unwrap().path();
        let run = fs::read_to_string(&path).unwrap();
        let (lines, errors) = read_texts(&run);
        assert_eq!(errors, [], "{}", path.display());
        assert_eq!(lines.len(), run.lines().count());
        // judge.py splits at blanks, also in quotes
        let plain: String = run
            .lines()
            .map(|line| line.split('"').next().unwrap().to_owned() + "\n")
            .collect();
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("run.txt");
        fs::write(&copy, plain.replace(" \n", " t\n")).unwrap();
        let ask = |what: &str, qrels: &str| {
            let output = std::process::Command::new("python3")
                .arg(&judge)
                .arg(what)
                .arg(data.join(qrels))
                .arg(&copy)
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        for qrels in ["relevance.qrels", "quality.qrels"] {
            // judge.py leaves out a topic in which nothing is relevant, trec_eval counts it as 0
            let (Qrels::Graded(grades), _) = qrels::read(&text(qrels)) else {
                panic!("{qrels}")
            };
            let ours = values("nDCG@5", &run, &text(qrels));
            let with_relevant = grades.values().filter(|of| of.values().any(|g| *g > 0.0));
            let ours = ours.topics.values().sum::<f64>() / with_relevant.count() as f64;
            let theirs = ask("text", qrels);
            let same = format!("strict {ours:.4}");
            assert!(
                theirs.contains(&same),
                "{}: {same} {theirs}",
                path.display()
            );
        }
        let ours = values("StanceF1", &run, &text("stance.qrels")).all();
        let theirs = ask("stance", "stance.qrels");
        let same = format!("macro-F1 {ours:.3}");
        assert!(
            theirs.contains(&same),
            "{}: {same} {theirs}",
            path.display()
        );
        compared += 1;
    }
    assert_eq!(compared, 5);
}

const RUN: &str = "1 FIRST a 1 9 t\n1 NO b 2 8 t\n1 SECOND c 3 7 t\n1 Q0 d 4 6 t\n2 NO a 1 9 t\n";

#[test]
fn measures_counted_by_hand() {
    let judgements = "1 0 a 2\n1 0 c 1\n1 0 x 1\n1 0 b -2\n2 0 b 1\n3 0 a 1\n";
    for (name, topic_1) in [
        ("P@2", 0.5),
        ("P(rel=2)@4", 0.25),
        ("P(rel=highly)@4", 0.25),
        ("R@2", 1.0 / 3.0),
        ("AP", (1.0 + 2.0 / 3.0) / 3.0),
        ("AP@2", 1.0 / 3.0),
        ("RR", 1.0),
        ("RR(rel=relevant)@1", 1.0),
        ("Rprec", 2.0 / 3.0),
        ("Success@1", 1.0),
        ("Judged@4", 0.75),
        // 2 at rank 1, 1 at rank 3; at best 2, 1, 1
        ("nDCG@3", (2.0 + 0.5) / (2.0 + 1.0 / 3f64.log2() + 0.5)),
        (
            "nDCG(dcg='exp-log2')@3",
            (3.0 + 0.5) / (3.0 + 1.0 / 3f64.log2() + 0.5),
        ),
    ] {
        let found = values(name, RUN, judgements);
        assert_close(found.topics[&TopicId("1".into())], topic_1, &name);
        // topic 3 is judged and not in the run: 0, and never left out
        assert_eq!(found.topics.len(), 3, "{name}");
        let rest = found.topics[&TopicId("2".into())];
        assert_close(found.all(), (topic_1 + rest) / 3.0, &name);
    }
}

#[test]
fn stances_counted_by_hand() {
    // FIRST: 1 of 2 found; NO: one right, one that is NEUTRAL; SECOND: listed once, wrongly; d has no stance.
    let judgements = "1 0 a FIRST\n1 0 b NEUTRAL\n1 0 c FIRST\n1 0 d NO\n2 0 a NO\n";
    let value = |name: &str| values(name, RUN, judgements).all();
    assert_close(value("StanceP(class=FIRST)"), 1.0, &"precision");
    assert_close(value("StanceR(class=FIRST)"), 0.5, &"recall");
    assert_close(value("StanceF1(class=FIRST)"), 2.0 / 3.0, &"F1");
    assert_close(
        value("StanceF1(class=NO)"),
        0.5,
        &"NO: 1 of 2 listed, 1 of 2 judged",
    );
    assert_close(value("StanceF1"), (2.0 / 3.0 + 0.5) / 4.0, &"macro");
    assert_close(
        value("StanceF1@1"),
        (1.0 + 1.0) / 4.0,
        &"macro of the first",
    );
    let (Qrels::Stances(qrels), _) = qrels::read(judgements) else {
        panic!("stances")
    };
    let (lines, _) = read_texts(RUN);
    let confusions = TextRun::new(&lines).confusions(&qrels, None);
    let all = confusions
        .values()
        .fold(Confusion::default(), |sum, c| sum.and(c));
    assert_eq!(
        all.0,
        [[1, 1, 0, 0, 0], [0; 5], [0, 0, 0, 1, 0], [0, 0, 0, 1, 1]]
    );
    assert!(all.to_string().contains("5 judged results"), "{all}");
    assert_eq!(ObjectStance::parse("first"), Some(ObjectStance::First));
}

#[test]
fn the_names_of_measures_are_ir_measures_and_what_is_unknown_is_said() {
    for (typed, printed) in [
        ("NDCG@5", "nDCG@5"),
        ("nDCG(dcg=\"exp-log2\")@10", "nDCG(dcg='exp-log2')@10"),
        ("nDCG(dcg='log2')@5", "nDCG@5"),
        ("MAP", "AP"),
        (
            "AP(rel=2, judged_only=True)@100",
            "AP(rel=2,judged_only=True)@100",
        ),
        ("P(rel=1)@5", "P@5"),
        ("nDCG(touche=2020)@5", "nDCG(touche=2021)@5"),
        ("MRR", "RR"),
        (
            "stanceRelevanceP(list=CON)@10",
            "stanceRelevanceP(list=CON)@10",
        ),
        ("StanceF1(class=no)@5", "StanceF1(class=NO)@5"),
    ] {
        let measure: Measure = typed.parse().unwrap();
        assert_eq!(measure.to_string(), printed);
        assert_eq!(measure.to_string().parse::<Measure>().unwrap(), measure);
    }
    for (unknown, why) in [
        ("ERR@5", "known are P, R"),
        ("P", "needs a cutoff"),
        ("P@0", "not a cutoff"),
        ("P@x", "not a cutoff"),
        ("P(rel=very)@5", "relevant, highly"),
        ("P(rel=1@5", "not closed"),
        ("P(rel=1,rel=2)@5", "twice"),
        ("nDCG(rel=2)@5", "takes no rel"),
        ("nDCG(gain=2)@5", "takes no gain=2"),
        ("nDCG(touche=2019)@5", "2021"),
        ("topicRelevanceP@5", "@10"),
    ] {
        let error = format!("{:#}", unknown.parse::<Measure>().unwrap_err());
        assert!(error.contains(why), "{unknown}: {error}");
    }
}

/// A run of so many topics whose value of AP is given: with `true` the relevant document stands first.
fn found_first(topics: &[bool]) -> Values {
    let (mut run, mut qrels) = (String::new(), String::new());
    for (topic, first) in topics.iter().enumerate() {
        let score = if *first { 3 } else { 1 };
        writeln!(run, "{topic} Q0 a 1 {score} t\n{topic} Q0 b 2 2 t").unwrap();
        writeln!(qrels, "{topic} 0 a 1").unwrap();
    }
    values("P@1", &run, &qrels)
}

#[test]
fn the_randomisation_test_counts_as_by_hand() {
    // Five topics, all better: of 32 ways to swap, only none and all are as extreme.
    let (none, all) = (found_first(&[false; 5]), found_first(&[true; 5]));
    let better = paired(&none, &all);
    assert_eq!((better.difference, better.topics), (1.0, 5));
    assert_close(better.p, 2.0 / 32.0, &"exact");
    assert_eq!(paired(&all, &none).difference, -1.0);
    assert_eq!(paired(&all, &all).p, 1.0);
    // Topics that do not differ change nothing.
    let half = found_first(&[true, true, true, false, false]);
    assert_close(paired(&none, &half).p, 2.0 / 8.0, &"three that differ");
    // Twenty topics, 15 better and 5 worse: the sign test's two tails of 5 and fewer, P = 0.04139.
    let (mut before, mut after) = (vec![false; 15], vec![true; 15]);
    before.extend([true; 5]);
    after.extend([false; 5]);
    let sampled = paired(&found_first(&before), &found_first(&after));
    assert!((sampled.p - 0.0414).abs() < 0.003, "{}", sampled.p);
    assert_eq!(
        sampled,
        paired(&found_first(&before), &found_first(&after)),
        "the same each time"
    );
}

#[test]
fn a_table_marks_the_best_and_shows_topics() {
    let rows = vec![
        (
            "one".to_owned(),
            vec![found_first(&[true, false, false, true])],
        ),
        ("two".to_owned(), vec![found_first(&[true; 4])]),
    ];
    let table = Table {
        columns: vec!["P@1".to_owned()],
        rows,
    };
    let lines: Vec<String> = table.to_string().lines().map(str::to_owned).collect();
    assert!(
        lines[1].starts_with("one") && lines[1].contains("0.5000 "),
        "{table}"
    );
    assert!(lines[2].ends_with("1.0000*"), "{table}");
    let differences = table.differences().to_string();
    assert!(differences.contains("+0.5000 (p 0.5000)"), "{differences}");
    assert!(
        table
            .by_topic(0)
            .to_string()
            .contains("\n1          0.0000\n"),
        "{}",
        table.by_topic(0)
    );
}

proptest! {
    #[test]
    fn measures_stay_between_0_and_1_and_a_perfect_order_has_1(
        grades in proptest::collection::vec((prop::sample::select(vec![-2i32, 0, 1, 2, 3]), 0u8..50), 1..30),
        cutoff in 1usize..40,
    ) {
        let (mut run, mut best, mut qrels) = (String::new(), String::new(), String::new());
        for (number, (grade, score)) in grades.iter().enumerate() {
            writeln!(run, "1 Q0 d{number} {number} {score} t").unwrap();
            writeln!(best, "1 Q0 d{number} {} {grade} t", 3 - grade).unwrap();
            writeln!(qrels, "1 0 d{number} {grade}").unwrap();
        }
        let names = [
            format!("nDCG@{cutoff}"), format!("nDCG(dcg='exp-log2')@{cutoff}"), format!("P@{cutoff}"), format!("R@{cutoff}"),
            format!("AP@{cutoff}"), "RR".to_owned(), "Rprec".to_owned(), format!("nDCG(touche=2021)@{cutoff}"),
        ];
        for name in &names {
            for topic in values(name, &run, &qrels).topics.values() {
                prop_assert!((0.0..=1.0 + 1e-12).contains(topic), "{name} {topic}");
            }
        }
        if grades.iter().any(|(grade, _)| *grade > 0) {
            for name in ["nDCG", "AP", "RR", "Rprec"] {
                assert_close(values(name, &best, &qrels).all(), 1.0, &name);
            }
        }
    }

    #[test]
    fn no_bytes_make_the_readers_or_measures_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        let (lines, _) = read_texts(&text);
        let (qrels, _) = qrels::read(&text);
        if let Qrels::Graded(qrels) | Qrels::Answers(qrels) = qrels
            && let Measure::Graded(measure) = "nDCG(touche=2021)@5".parse().unwrap()
        {
            let _ = TextRun::new(&lines).measure(&qrels, &measure).all();
        }
    }

    #[test]
    fn no_measure_name_panics(name in "[nDCGPARjudge]{0,6}(\\(((rel|touche|dcg|list|class)=?('exp-log2'|2|-1e400|PRO|NO)?,?){0,3}\\)?)?(@-?[0-9]{0,30})?") {
        let _ = name.parse::<Measure>();
    }

    #[test]
    fn no_json_makes_the_readers_panic(
        lines in proptest::collection::vec("\\{(\"(argument_id|argumentId|image_id|imageId|rank|answer|aspects|annotatorTag|method|tag)\": ?(\"1-1\"|\"yes\"|\"no\"|-1|1|1e99|\\[\\]|\\[\\{\"answer\":\"yes\"\\}\\]|null),?){0,6}\\}?", 0..6)
    ) {
        let text = lines.join("\n");
        let _ = read_texts(&text);
        let _ = qrels::read(&text);
        let _ = qrels::read(&format!("[{}]", lines.join(",")));
    }
}

#[test]
fn answers_of_2025_are_put_together_as_the_organisers_do() {
    let read = |text: &str| {
        let (qrels, errors) = qrels::read(text);
        let Qrels::Answers(grades) = qrels else {
            panic!("{qrels:?}")
        };
        let of = |image: &str| {
            grades
                .values()
                .find_map(|g| g.get(&DocId(image.into())).copied())
        };
        ((of("a"), of("b")), errors)
    };
    let plain = "{\"argument_id\":\"1-1\",\"image_id\":\"a\",\"answer\":\"partially agree\"}\n\
                 {\"argument_id\":\"1-1\",\"image_id\":\"b\",\"grade\":2}\n";
    assert_eq!(read(plain), ((Some(1.0), Some(2.0)), vec![]));
    // yes and partly is yes; yes and no is partly
    let aspects = "[{\"argumentId\":\"1-1\",\"imageId\":\"a\",\"aspects\":[{\"answer\":\"yes\"},{\"answer\":\"partially agree\"}]},\
                    {\"argumentId\":\"1-1\",\"imageId\":\"b\",\"aspects\":[{\"answer\":\"yes\"},{\"answer\":\"no\"}]}]";
    assert_eq!(read(aspects), ((Some(2.0), Some(1.0)), vec![]));
    let (_, errors) =
        read("{\"argument_id\":\"1-1\",\"image_id\":\"a\",\"answer\":\"maybe\"}\nnothing\n");
    assert_eq!(errors.iter().map(|e| e.line).collect::<Vec<_>>(), [1, 2]);
    assert!(errors[0].what.contains("maybe"), "{}", errors[0]);
}

/// Files in a fresh directory, and riposte run in it.
struct Room(tempfile::TempDir);

impl Room {
    fn with(files: &[(&str, &[u8])]) -> Room {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Room(dir)
    }

    /// Exit code, standard output and standard error.
    fn run(&self, line: &str) -> (i32, String, String) {
        let output = riposte()
            .current_dir(self.0.path())
            .args(line.split(' '))
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }
}

fn gzipped(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn evaluate_as_a_user_types_it() {
    let other = gzipped("1\tq0\tc\t0\t1e1\t\"my best\"\r\n1\tq0\ta\t1\t9.5\t\"my best\"\r\n");
    let room = Room::with(&[
        ("rel.qrels", b"1 0 a 2\n1 0 c 1.0\n3 0 a 1\n"),
        ("quality.txt", b"1 0 a 0\n1 0 c 3\n"),
        ("stance.qrels", b"1 0 a FIRST\n1 0 c second\n"),
        ("run.txt", RUN.as_bytes()),
        ("empty.qrels", b"\n"),
        ("other/output/run.txt.gz", &other),
    ]);
    let (code, table, remarks) =
        room.run("evaluate rel.qrels run.txt other P@1 nDCG@5 --qrels q=quality.txt");
    assert_eq!(code, 0, "{remarks}");
    let header = "rel:P@1  rel:nDCG@5     q:P@1  q:nDCG@5";
    assert!(table.contains(header), "{table}");
    assert!(
        table.contains("other ") && table.contains("difference to run.txt"),
        "{table}"
    );
    assert!(
        remarks.contains("1 topics without judgements in rel"),
        "{remarks}"
    );

    let (code, cells, _) = room.run("evaluate rel.qrels run.txt other P@1 --format tsv --by-topic");
    assert_eq!(code, 0);
    let expected = "run\tqrels\tmeasure\ttopic\tvalue\n\
                    run.txt\trel\tP@1\t1\t1\nrun.txt\trel\tP@1\t3\t0\nrun.txt\trel\tP@1\tall\t0.5\n\
                    other\trel\tP@1\t1\t1\nother\trel\tP@1\t3\t0\nother\trel\tP@1\tall\t0.5\n";
    assert_eq!(cells, expected);
    let (_, cells, _) =
        room.run("evaluate rel.qrels other RR(rel=fine)@9 --level fine=2 --format jsonl");
    let expected = "{\"run\":\"other\",\"qrels\":\"rel\",\"measure\":\"RR(rel=fine)@9\",\"topic\":\"all\",\"value\":0.25}\n";
    assert_eq!(cells, expected);

    let (_, table, _) = room.run("evaluate stance.qrels run.txt");
    assert!(table.contains("judged \\ listed"), "{table}");
    assert!(
        table.contains("SECOND                 0       1"),
        "{table}"
    );

    for (line, why) in [
        ("evaluate rel.qrels missing.txt", "no file missing.txt"),
        ("evaluate rel.qrels P@5", "no run"),
        ("evaluate rel.qrels run.txt StanceF1", "cannot be computed"),
        ("evaluate none.qrels run.txt", "none.qrels"),
        (
            "evaluate empty.qrels run.txt",
            "no judgement in empty.qrels",
        ),
        (
            "evaluate rel.qrels run.txt --prototext x",
            "image judgements",
        ),
        ("evaluate rel.qrels other/output/none P@5", "no file"),
    ] {
        let (code, _, error) = room.run(line);
        assert_eq!(code, 2, "{line}: {error}");
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_counts() {
    let room = Room::with(&[
        ("rel.qrels", b"1 0 a 2\n1 0 b two\n"),
        ("run.txt", b"1 Q0 a 1 9 t\n1 Q0 b 2 NaN t\n"),
        ("broken.gz", &gzipped(RUN)[..20]),
    ]);
    let (code, table, errors) = room.run("evaluate rel.qrels run.txt P@1");
    assert_eq!(code, 1, "{errors}");
    assert!(table.contains("1.0000"), "{table}");
    assert!(
        errors.contains("rel.qrels: line 2: \"two\" is not a grade"),
        "{errors}"
    );
    assert!(
        errors.contains("run.txt: line 2: \"NaN\" is not a score"),
        "{errors}"
    );
    let (code, _, errors) = room.run("evaluate rel.qrels broken.gz P@1");
    assert_eq!(code, 2);
    assert!(errors.contains("cannot read broken.gz"), "{errors}");
}

#[test]
fn repeated_documents_count_once_at_their_best_place() {
    let run = "1 Q0 a 1 9 t\n1 Q0 a 2 8 t\n1 Q0 b 3 7 t\n";
    let judgements = "1 0 a 1\n1 0 b 1\n";
    assert_close(values("P@2", run, judgements).all(), 1.0, &"a and b");
    assert_close(values("AP", run, judgements).all(), 1.0, &"a and b");
    let (lines, _) = read_texts(run);
    assert_eq!(TextRun::new(&lines).repeated, 1);
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    let line = |stance, doc: &str, rank, score| TextRunLine {
        topic: TopicId("7".into()),
        stance,
        doc: DocId(doc.into()),
        rank,
        score,
        tag: "t".into(),
    };
    let lines = vec![
        line(Some(ObjectStance::Neutral), "a", 1, 2.5),
        line(None, "b", 2, -0.25),
    ];
    let text = riposte::trec::run::write_texts(&lines).unwrap();
    assert_eq!(text, "7 NEUTRAL a 1 2.500000 t\n7 Q0 b 2 -0.250000 t\n");
    assert_eq!(read_texts(&text), (lines, vec![]));
}
