//! Compares measures and verdicts with other implementations, with the organisers' scripts, and with values computed by hand.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use proptest::prelude::*;
use riposte_eval::confusion::Confusion;
use riposte_eval::edition::Edition;
use riposte_eval::graded::TextRun;
use riposte_eval::images::evaluate_images;
use riposte_eval::measure::Measure;
use riposte_eval::qrels::{self, Qrels};
use riposte_eval::run::read_texts;
use riposte_eval::verify::{Finding, Rule, Rules, Severity, verify};
use riposte_eval::{DocId, ObjectStance, TopicId, Values, evaluate};
use serde::Deserialize;

use crate::support::chance::Chance;
use crate::support::files::{json as read_json, text};
use crate::support::need::{Data, OfficialRuns, Peer, Python, need};
use crate::support::program::{WorkDir, riposte, succeed};
use crate::support::{assert_says, reference};

/// The values of the measure with this name, for the texts of a run and of judgements.
pub fn values(name: &str, run: &str, judgements: &str) -> Values {
    let (judgements, errors) = qrels::read(judgements);
    assert_eq!(errors, []);
    let measure: Measure = name.parse().unwrap();
    assert_eq!(measure.to_string(), name, "it prints another name");
    let mut evaluation = evaluate(run, &judgements, &[measure]).unwrap();
    assert_eq!(evaluation.errors, []);
    evaluation.values.remove(0)
}

#[track_caller]
pub fn assert_close(found: f64, expected: f64, what: &dyn std::fmt::Display) {
    assert!(
        (found - expected).abs() < 1e-9,
        "{what}: {found}, not {expected}"
    );
}

/// A random run and judgements, the same as tests/reference/measures.py makes.
pub fn case(chance: &mut Chance) -> (String, String) {
    const GRADES: [i32; 7] = [-2, 0, 0, 1, 1, 2, 3];
    let (mut run, mut qrels) = (String::new(), String::new());
    for topic in 1..2 + chance.below(4) {
        let mut grades = BTreeMap::new();
        for number in 0..chance.below(13) + usize::from(topic == 1) {
            let doc = chance.below(20);
            let least = usize::from(number == 0);
            let grade = GRADES[least + chance.below(7 - least)];
            grades.entry(doc).or_insert(grade);
        }
        for (doc, grade) in grades {
            writeln!(qrels, "{topic} 0 d{doc} {grade}").unwrap();
        }
        let listed = topic == 1 || chance.below(8) > 0;
        let mut scores = BTreeMap::new();
        for _ in 0..chance.below(16) + 1 {
            let doc = chance.below(24);
            let score = 16.0 + chance.below(6) as f64 * 0.25 + chance.below(3) as f64 * 1e-8;
            scores.entry(doc).or_insert(score);
        }
        // the order is defined by the scores: all ranks are 1
        for (doc, score) in scores.iter().filter(|_| listed) {
            writeln!(run, "{topic} Q0 d{doc} 1 {score} t").unwrap();
        }
    }
    (run, qrels)
}

#[test]
fn a_thousand_random_runs_have_the_values_of_pytrec_eval() {
    #[derive(Deserialize)]
    struct Reference {
        measures: Vec<String>,
        values: Vec<Vec<f64>>,
    }
    let reference: Reference = read_json(&reference("measures.json"));
    assert_eq!(reference.values.len(), 1000);
    let mut chance = Chance(2022);
    for (number, expected) in reference.values.iter().enumerate() {
        let (run, qrels) = case(&mut chance);
        assert_eq!(expected.len(), reference.measures.len());
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

/// The lines with an error in a field other than the tag, and the lines with an error in the tag.
fn refused(findings: &[Finding]) -> (Vec<u64>, Vec<u64>) {
    let errors = findings.iter().filter(|f| f.severity == Severity::Error);
    let (tags, others): (Vec<_>, Vec<_>) = errors
        .filter(|f| f.line.is_some())
        .partition(|f| f.rule == Rule::Tag);
    let lines = |of: Vec<&Finding>| of.iter().filter_map(|f| f.line).collect();
    (lines(others), lines(tags))
}

/// The header of the table that the organisers' evaluator prints.
const HEADER: &str = "topic,onTopic,argumentative,onStance,onTopicPro,argumentativePro,onStancePro,onTopicCon,argumentativeCon,onStanceCon";

#[test]
fn evaluate_prints_the_table_and_the_measures_of_the_image_script_of_the_organisers() {
    let cases = read_json::<Organisers>(&reference("organisers.json")).images;
    let dir = WorkDir::new();
    let (mut same, mut different) = (0, 0);
    for (number, case) in cases.iter().enumerate() {
        fs::write(dir.path("qrels.txt"), &case.qrels).unwrap();
        fs::write(dir.path("run.txt"), &case.run).unwrap();
        let evaluate = |options: &str| {
            let year = case.year;
            dir.run(&format!(
                "evaluate qrels.txt run.txt --edition {year}{options}"
            ))
        };
        let (_, printed, _) = evaluate(" --as organisers");
        let rows = case.topics.iter().map(String::as_str);
        let table: Vec<&str> = std::iter::once(HEADER).chain(rows).collect();
        let expected = format!("{}\n{}", table.join("\n"), case.evaluated);
        assert_eq!(printed, expected, "{number}\n{}", case.run);
        // the usual table says so where its figures differ, and only there
        let (_, printed, said) = evaluate("");
        let official = printed.lines().find(|line| line.starts_with("official"));
        let official = official.unwrap_or_default().split_whitespace().skip(5);
        let ours: Vec<&str> = official
            .filter(|word| word.starts_with("0.") || *word == "1.000")
            .collect();
        let theirs: Vec<&str> = case.evaluated.split('"').skip(3).step_by(4).collect();
        let is_limited = printed.contains("\nafter \"of\": ");
        let ours: Vec<&str> = ours
            .into_iter()
            .step_by(1 + usize::from(is_limited))
            .collect();
        if ours == theirs {
            same += 1;
            assert!(!said.contains("riposte's is"), "{number}: {said}");
        } else {
            different += 1;
            assert!(
                said.contains("(--as organisers), and riposte's is"),
                "{number}: {printed}{said}"
            );
        }
    }
    assert!(same > 2 && different > 2, "{same} and {different}");
}

#[test]
fn the_image_scripts_of_the_organisers_refuse_the_same_lines_and_write_the_same_bytes() {
    let cases = read_json::<Organisers>(&reference("organisers.json")).images;
    assert_eq!(cases.len(), 60);
    for (number, case) in cases.iter().enumerate() {
        let edition = Edition::find(None, case.year).unwrap();
        let ids = case.ids.iter().map(|id| DocId(id.clone()));
        let rules = Rules::of(edition).with_documents(ids);
        let verdict = verify(case.run.as_bytes(), &rules);
        let (lines, tags) = refused(&verdict.findings);
        let run = &case.run;
        assert_eq!(
            lines, case.refused,
            "{number}: {:?}\n{run}",
            verdict.findings
        );
        assert_eq!(tags, case.tags, "{number}\n{run}");
        assert_eq!(verdict.prototext(), case.verified, "{number}\n{run}");

        let verdict = verify(run.as_bytes(), &Rules::of_evaluator(edition));
        let (lines, _) = refused(&verdict.findings);
        assert_eq!(lines, case.not_evaluated, "{number}\n{run}");
        let (qrels, errors) = qrels::read_images(&case.qrels);
        assert_eq!(errors, []);
        let evaluation = evaluate_images(&verdict.accepted, &qrels, edition);
        assert_eq!(evaluation.prototext(), case.evaluated, "{number}\n{run}");
        let table = evaluation.organisers_table().to_string();
        let mut rows = table.lines();
        assert_eq!(rows.next(), Some(HEADER));
        let rows: Vec<&str> = rows.collect();
        assert_eq!(rows, case.topics, "{number}\n{run}");
    }
}

#[test]
fn official_runs_give_the_bytes_that_the_scripts_of_the_organisers_write() {
    let Some(found) = need(OfficialRuns) else {
        return;
    };
    let cases = read_json::<Organisers>(&reference("organisers.json")).official;
    assert_eq!(cases.len(), 7);
    let dir = tempfile::tempdir().unwrap();
    let qrels = &found.qrels;
    for case in cases {
        let name = case.name.strip_prefix("run-").unwrap();
        let run = &found.runs[name.strip_suffix(".txt").unwrap()];
        let (verified, evaluated) = (dir.path().join("v"), dir.path().join("e"));
        let args = ["verify", "--prototext", text(&verified), text(run)];
        succeed(&mut riposte(dir.path(), &args));
        let args = ["evaluate", text(qrels), text(run), "--prototext"];
        succeed(riposte(dir.path(), &args).arg(&evaluated));
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
fn the_ndcg_of_2021_is_that_of_the_organisers_for_each_topic() {
    let cases = read_json::<Organisers>(&reference("organisers.json")).texts;
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
fn the_ndcg_of_2025_is_that_of_the_organisers() {
    let cases = read_json::<Organisers>(&reference("organisers.json")).answers;
    assert_eq!(cases.len(), 4);
    for (number, case) in cases.iter().enumerate() {
        assert!(!case.ndcg.is_empty());
        for (cutoff, expected) in &case.ndcg {
            let name = format!("nDCG(touche=2025)@{cutoff}");
            let found = values(&name, &case.run, &case.answers);
            assert_close(found.all(), *expected, &format!("{number} @{cutoff}"));
        }
    }
}

#[test]
fn the_best_run_of_elrond_has_its_official_score() {
    let (Some(run), Some(judgements)) = (
        need(Data("args/runs/elrond-ekrun-2021.txt")),
        need(Data("args/touche2021-task1-51-100-relevance.qrels")),
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
fn an_independent_judge_gives_runs_of_task_2_the_same_scores() {
    let (Some(data), Some(judge), Some(python)) = (
        need(Data("passages")),
        need(Data("../tools/judge.py")),
        need(Python),
    ) else {
        return;
    };
    let text = |name: &str| fs::read_to_string(data.join(name)).unwrap();
    let mut compared = 0;
    for entry in fs::read_dir(data.join("runs")).unwrap() {
        let path = entry.unwrap().path();
        let run = fs::read_to_string(&path).unwrap();
        let (lines, errors) = read_texts(&run);
        assert_eq!(errors, [], "{}", path.display());
        assert_eq!(lines.len(), run.lines().count());
        // judge.py also splits at blanks inside quotes
        let plain: String = run
            .lines()
            .map(|line| line.split('"').next().unwrap().to_owned() + "\n")
            .collect();
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("run.txt");
        fs::write(&copy, plain.replace(" \n", " t\n")).unwrap();
        let ask = |what: &str, qrels: &str| {
            let output = Command::new(&python)
                .arg(&judge)
                .arg(what)
                .arg(data.join(qrels))
                .arg(&copy)
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        for qrels in ["relevance.qrels", "quality.qrels"] {
            // judge.py leaves out topics without a relevant document; riposte counts them as 0, as trec_eval does
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

pub const RUN: &str =
    "1 FIRST a 1 9 t\n1 NO b 2 8 t\n1 SECOND c 3 7 t\n1 Q0 d 4 6 t\n2 NO a 1 9 t\n";

/// ir_measures computes most measures with trec_eval, which sorts documents with equal scores by descending id. It computes some itself, and sorts by
/// ascending id.
#[test]
fn ties_are_broken_as_in_ir_measures() {
    const TIES: &str = "1 Q0 a 1 5 t\n1 Q0 b 2 5 t\n1 Q0 c 3 4 t\n1 Q0 d 4 4 t\n";
    const JUDGED: &str = "1 0 b 1\n1 0 c 0\n";
    let expected = [
        ("RR", 1.0),
        ("RR@10", 0.5),
        ("Judged@1", 0.0),
        ("Judged@3", 2.0 / 3.0),
        ("Judged", 0.5),
        ("P@1", 1.0),
        ("AP", 1.0),
    ];
    for (name, value) in expected {
        assert_close(values(name, TIES, JUDGED).all(), value, &name);
    }
    let Some(python) = need(Peer("ir_measures")) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (run, qrels) = (dir.path().join("run"), dir.path().join("qrels"));
    fs::write(&run, TIES).unwrap();
    fs::write(&qrels, JUDGED).unwrap();
    let program = "import sys, ir_measures as m
measures = [m.parse_measure(name) for name in sys.argv[3:]]
values = m.calc_aggregate(measures, m.read_trec_qrels(sys.argv[1]), m.read_trec_run(sys.argv[2]))
print(*(values[measure] for measure in measures))";
    let mut command = Command::new(python);
    command.args(["-c", program]).arg(&qrels).arg(&run);
    let output = command
        .args(expected.map(|(name, _)| name))
        .output()
        .unwrap();
    let theirs = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<f64> = theirs
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(
        theirs,
        expected.map(|(_, value)| value),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_grade_whose_gain_is_no_number_is_refused() {
    let judgements = |grade: &str| qrels::read(&format!("1 0 a {grade}\n1 0 c 1\n")).0;
    for (measure, grade, is_fit) in [
        ("nDCG(dcg='exp-log2')", "1000", true),
        ("nDCG(dcg='exp-log2')", "1025", false),
        ("nDCG", "1025", true),
        ("P@1", "1025", true),
    ] {
        let Ok(Measure::Graded(parsed)) = measure.parse() else {
            panic!("{measure}")
        };
        let Qrels::Graded(grades) = judgements(grade) else {
            panic!("{grade}")
        };
        assert_eq!(
            parsed.too_large(&grades).is_none(),
            is_fit,
            "{measure} {grade}"
        );
        if is_fit {
            let value = values(measure, RUN, &format!("1 0 a {grade}\n1 0 c 1\n")).all();
            assert!(
                value > 0.0 && value.is_finite(),
                "{measure} {grade}: {value}"
            );
        }
    }
    let files: &[(&str, &[u8])] = &[("qrels", b"1 0 a 1025\n"), ("run", RUN.as_bytes())];
    let (code, _, said) = WorkDir::with(files).run("evaluate qrels run nDCG(dcg=exp-log2)");
    assert_eq!(code, 2, "{said}");
    assert_says(&said, &["the grade 1025 of a for topic 1 is too large"]);
}

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
        // grade 2 at rank 1 and grade 1 at rank 3; the ideal ranking has the grades 2, 1, 1
        ("nDCG@3", (2.0 + 0.5) / (2.0 + 1.0 / 3f64.log2() + 0.5)),
        (
            "nDCG(dcg='exp-log2')@3",
            (3.0 + 0.5) / (3.0 + 1.0 / 3f64.log2() + 0.5),
        ),
    ] {
        let found = values(name, RUN, judgements);
        assert_close(found.topics[&TopicId("1".into())], topic_1, &name);
        // topic 3 is judged, but not in the run: its value is 0, and the mean includes it
        assert_eq!(found.topics.len(), 3, "{name}");
        let rest = found.topics[&TopicId("2".into())];
        assert_close(found.all(), (topic_1 + rest) / 3.0, &name);
    }
}

#[test]
fn stances_counted_by_hand() {
    // FIRST: one of two is found; NO: one is right, and one is NEUTRAL; SECOND: one is listed, wrongly; d has no stance
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
        panic!("these are not judgements of stances")
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

}

#[test]
fn answers_of_2025_are_combined_as_by_the_organisers() {
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
    // "yes" and "partially agree" are rounded to "yes", "yes" and "no" to "partially agree"
    let aspects = "[{\"argumentId\":\"1-1\",\"imageId\":\"a\",\"aspects\":[{\"answer\":\"yes\"},{\"answer\":\"partially agree\"}]},\
                    {\"argumentId\":\"1-1\",\"imageId\":\"b\",\"aspects\":[{\"answer\":\"yes\"},{\"answer\":\"no\"}]}]";
    assert_eq!(read(aspects), ((Some(2.0), Some(1.0)), vec![]));
    let (_, errors) =
        read("{\"argument_id\":\"1-1\",\"image_id\":\"a\",\"answer\":\"maybe\"}\nnothing\n");
    assert_eq!(errors.iter().map(|e| e.line).collect::<Vec<_>>(), [1, 2]);
    assert!(errors[0].what.contains("maybe"), "{}", errors[0]);
}

#[test]
fn a_repeated_document_counts_once_at_its_best_rank() {
    let run = "1 Q0 a 1 9 t\n1 Q0 a 2 8 t\n1 Q0 b 3 7 t\n";
    let judgements = "1 0 a 1\n1 0 b 1\n";
    let (qrels, _) = qrels::read(judgements);
    for measure in ["P@2", "AP"] {
        let found = evaluate(run, &qrels, &[measure.parse().unwrap()]).unwrap();
        assert_close(found.values[0].all(), 1.0, &"a and b");
        // the line is named
        assert_eq!(found.errors.len(), 1, "{:?}", found.errors);
    }
    let (lines, _) = read_texts(run);
    assert_eq!(TextRun::new(&lines).repeated, 1);
}
