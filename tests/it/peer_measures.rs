//! Measures have the values that ir_measures computes now, with pytrec_eval, gdeval, cwl_eval and its own code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use riposte_eval::measure::Measure;
use riposte_eval::{TopicId, evaluate, qrels};

use crate::support::chance::Chance;
use crate::support::files::text;
use crate::support::need::{Peer, need};
use crate::support::program::{WorkDir, succeed};
use crate::support::{assert_close, reference};

/// A run and judgements.
struct Case {
    run: String,
    qrels: String,
}

const GRADES: [i32; 8] = [-2, -1, 0, 0, 1, 1, 2, 3];

/// A random run and judgements of topics from `first` on. There are ties (some only in 32-bit floats), scores in scientific notation, at and below
/// zero, negative grades, documents and topics without judgements, and topics that the run lacks.
fn case(chance: &mut Chance, first: usize) -> Case {
    let (mut run, mut qrels) = (String::new(), String::new());
    for topic in first..=first + chance.below(4) {
        let mut grades = BTreeMap::new();
        for number in 0..chance.below(13) + usize::from(topic == first) {
            // pytrec_eval crashes on topics whose grades are all negative
            let least = if number == 0 { 2 } else { 0 };
            let grade = GRADES[least + chance.below(GRADES.len() - least)];
            grades
                .entry(format!("d{}", chance.below(20)))
                .or_insert(grade);
        }
        // sorted by id: Compat's ideal ranking is in the order of the file where all else is equal, and riposte's is in that of ids
        for (doc, grade) in grades {
            writeln!(qrels, "{topic} 0 {doc} {grade}").unwrap();
        }
        if topic > first && chance.below(8) == 0 {
            continue;
        }
        let mut listed = BTreeSet::new();
        for _ in 0..chance.below(16) + 1 {
            let doc = chance.below(24);
            let score = chance.below(8) as f64 * 0.25 - 0.5 + chance.below(3) as f64 * 1e-9;
            if listed.insert(doc) {
                writeln!(run, "{topic} Q0 d{doc} 1 {score:e} t").unwrap();
            }
        }
    }
    Case { run, qrels }
}

/// The same with judgements by subtopic. Each case names the subtopics in the same order: if two sets of subtopics gain equally much but for the last digit,
/// the order decides the sum, in ndeval too.
fn case_with_subtopics(chance: &mut Chance, first: usize) -> Case {
    let Case { run, qrels } = case(chance, first);
    let mut judged = BTreeSet::new();
    let mut diverse = String::new();
    for (topic, subtopic) in [(first, "a"), (first, "b"), (first, "c")] {
        judged.insert((topic.to_string(), subtopic, "d0".to_owned()));
        writeln!(diverse, "{topic} {subtopic} d0 {}", chance.below(2)).unwrap();
    }
    for line in qrels.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        for _ in 0..=chance.below(3) {
            let subtopic = ["a", "b", "c", "d"][chance.below(4)];
            if judged.insert((fields[0].to_owned(), subtopic, fields[2].to_owned())) {
                let grade = GRADES[chance.below(GRADES.len())];
                writeln!(diverse, "{} {subtopic} {} {grade}", fields[0], fields[2]).unwrap();
            }
        }
    }
    Case {
        run,
        qrels: diverse,
    }
}

/// Compares riposte with ir_measures on 1,000 cases. The topics of all cases differ, so that Python starts once.
fn assert_equal_to_ir_measures(python: &Path, measures: &[&str]) {
    assert_equal_on(case, python, measures);
}

fn assert_equal_on(case: impl Fn(&mut Chance, usize) -> Case, python: &Path, measures: &[&str]) {
    let mut chance = Chance(41);
    let cases: Vec<Case> = (0..1000).map(|n| case(&mut chance, n * 10)).collect();
    let dir = WorkDir::new();
    let [all_runs, all_qrels] = ["runs", "qrels"].map(|name| dir.path(name));
    fs::write(&all_runs, cases.iter().map(|c| &*c.run).collect::<String>()).unwrap();
    let of_all = cases.iter().map(|case| &*case.qrels);
    fs::write(&all_qrels, of_all.collect::<String>()).unwrap();
    let mut command = Command::new(python);
    command.args([
        text(&reference("measures_of_peers.py")),
        text(&all_qrels),
        text(&all_runs),
    ]);
    let printed = succeed(command.args(measures)).stdout;
    let expected: BTreeMap<String, BTreeMap<String, Option<f64>>> =
        serde_json::from_slice(&printed).unwrap();

    let parsed: Vec<Measure> = measures.iter().map(|name| name.parse().unwrap()).collect();
    let (mut compared, mut differs_from_zero) = (0, BTreeSet::new());
    for Case { run, qrels } in &cases {
        let (judgements, errors) = qrels::read(qrels);
        assert_eq!(errors, []);
        let evaluation = evaluate(run, &judgements, &parsed).unwrap();
        assert_eq!(evaluation.errors, []);
        for (measure, values) in parsed.iter().zip(evaluation.values) {
            let name = measure.to_string();
            // fails if ir_measures prints another name
            let expected = &expected[&name];
            let judged = qrels.lines().filter_map(|line| line.split(' ').next());
            let topics: BTreeSet<&str> = judged.filter(|of| expected.contains_key(*of)).collect();
            let found: BTreeSet<&str> = values.topics.keys().map(|t| t.0.as_str()).collect();
            assert_eq!(found, topics, "{name}\n{run}\n{qrels}");
            let mut sum = 0.0;
            for (TopicId(topic), found) in &values.topics {
                // where trec_eval divides 0 by 0, the value is 0
                let expected = expected[topic].unwrap_or(0.0);
                assert_close(*found, expected, &format!("{name} {topic}\n{run}\n{qrels}"));
                sum += expected;
                compared += 1;
                if expected != 0.0 {
                    differs_from_zero.insert(name.clone());
                }
            }
            let count = match values.are_counts() {
                true => 1.0,
                false => topics.len().max(1) as f64,
            };
            assert_close(values.all(), sum / count, &name);
        }
    }
    assert!(compared > 1000 * measures.len(), "only {compared} values");
    for measure in expected.keys() {
        assert!(differs_from_zero.contains(measure), "{measure} is always 0");
    }
}

#[test]
fn new_measures_have_the_values_of_ir_measures() {
    let Some(python) = need(Peer("ir_measures")) else {
        return;
    };
    let measures = [
        "Bpref",
        "Bpref(rel=2)",
        "infAP",
        "infAP(rel=2)",
        "IPrec@0.0",
        "IPrec@0.1",
        "IPrec@0.5",
        "IPrec@0.75",
        "IPrec@1.0",
        "IPrec(rel=2)@0.3",
        "IPrec(judged_only=True)@0.2",
        "SetP",
        "SetP(rel=2)",
        "SetP(relative=True)",
        "SetP(judged_only=True)",
        "SetRelP",
        "SetR",
        "SetR(rel=2)",
        "SetF",
        "SetF(beta=0.5)",
        "SetF(beta=2.0,rel=2)",
        "SetF(judged_only=True)",
        "SetAP",
        "SetAP(rel=2,judged_only=True)",
        "Success(judged_only=True)@2",
        "Rprec(rel=2)",
        "Accuracy",
        "Accuracy(rel=2)@5",
        "Compat",
        "Compat(p=0.8)",
        "Compat(p=0.5,normalize=False)",
        "NumQ",
        "NumRet",
        "NumRet(rel=2)",
        "NumRelRet",
        "NumRel",
        "Judged",
    ];
    assert_equal_to_ir_measures(&python, &measures);
    // gdeval is a Perl script
    assert_equal_to_ir_measures(&python, &["ERR@3", "ERR@20", "nDCG(dcg='exp-log2')@5"]);
}

#[test]
fn measures_of_user_models_have_the_values_of_cwl_eval() {
    let (Some(python), Some(_)) = (need(Peer("ir_measures")), need(Peer("cwl"))) else {
        return;
    };
    let measures = [
        "RBP(rel=1)",
        "RBP(p=0.999,rel=2)",
        "SDCG(max_rel=2)@5",
        "SDCG(min_rel=1,max_rel=3)@2000",
    ];
    assert_equal_to_ir_measures(&python, &measures);
}

#[test]
fn measures_of_diversity_have_the_values_of_ndeval() {
    let (Some(python), Some(_)) = (need(Peer("ir_measures")), need(Peer("pyndeval"))) else {
        return;
    };
    let measures = [
        "alpha_nDCG@1",
        "alpha_nDCG@5",
        "alpha_nDCG@20",
        "alpha_nDCG(alpha=0.9)@10",
        "alpha_nDCG(alpha=0.0)@10",
        "alpha_nDCG(alpha=1.0,rel=2)@5",
        "alpha_DCG@5",
        "alpha_DCG(alpha=0.3)@20",
        "ERR_IA@2",
        "ERR_IA(rel=2)@20",
        "nERR_IA@1",
        "nERR_IA@20",
        "NRBP",
        "NRBP(alpha=0.2,beta=0.8)",
        "nNRBP",
        "nNRBP(alpha=0.7,beta=0.9,rel=2)",
        "AP_IA",
        "AP_IA(rel=2)",
        "P_IA@5",
        "P_IA@20",
        "StRecall@1",
        "StRecall@10",
    ];
    assert_equal_on(case_with_subtopics, &python, &measures);
}

#[test]
fn names_of_trec_eval_mean_the_measures_that_ir_measures_takes_them_for() {
    let Some(python) = need(Peer("ir_measures")) else {
        return;
    };
    let names = [
        "map",
        "map_cut_10",
        "ndcg",
        "ndcg_cut_10",
        "ndcg_cut.5",
        "recip_rank",
        "P_10",
        "recall_100",
        "success_5",
        "Rprec",
        "bpref",
        "infAP",
        "iprec_at_recall_0.10",
        "set_P",
        "set_relative_P",
        "set_recall",
        "set_F",
        "set_F_0.5",
        "set_map",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
    ];
    assert_equal_to_ir_measures(&python, &names);
}
