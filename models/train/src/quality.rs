//! `train quality`: text quality from the judged grades of arguments (Task 1) and passages (Task 2), each divided by the highest.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use riposte::score::linear::{Linear, LinearText};
use riposte::score::quality::{FEATURES, features};
use riposte::trec::TopicId;

use crate::data::{self, JudgedText};
use crate::fit::{fit, model, table};

/// Of the weights, which are log-odds per standard deviation of a feature.
const PENALTY: f64 = 3.0;

/// A judged text.
struct Row {
    topic: TopicId,
    features: Vec<f64>,
    /// The grade divided by the highest grade, in [0, 1].
    share: f64,
}

/// The weight file, with the figures of cross-validation in its first lines.
pub fn train(dir: &Path) -> Result<String> {
    let arguments = data::arguments(&dir.join("args/argquality20/args-me.json"))?;
    let arguments = data::grades(&dir.join("args/argquality20/quality.qrels"), &arguments)?;
    let passages = data::passages(&dir.join("passages/passages.jsonl.gz"))?;
    let passages = data::grades(&dir.join("passages/quality.qrels"), &passages)?;
    let sets = [
        ("arguments", rows(&arguments)),
        ("passages", rows(&passages)),
    ];
    let mut head = String::from(
        "# Text quality: weights of src/score/quality.rs.\n\
         # train quality --data DATA -o models/own/quality.toml\n\
         # From args/argquality20/quality.qrels and passages/quality.qrels, without randomness.\n\
         # For topics left out of training: the share of pairs of texts of one topic with different grades that are put in the\n\
         # right order, and Kendall's tau-b (mean of the topics):\n",
    );
    let mut tables = String::new();
    for (name, rows) in &sets {
        let of_model = cross_validated(rows)?;
        let length: Vec<f64> = rows.iter().map(|r| r.features[0]).collect();
        for (what, scores) in [("this model", of_model), ("length alone", length)] {
            let truth: Vec<(&TopicId, f64)> = rows.iter().map(|r| (&r.topic, r.share)).collect();
            let (pairs, tau) = agreement(&truth, &scores);
            let _ = writeln!(head, "# {name}, {what}: {pairs:.3}, {tau:.3}");
        }
        let all: Vec<&Row> = rows.iter().collect();
        tables += &table(name, &learn(&all)?, &FEATURES);
    }
    print!("{head}");
    Ok(head + &tables)
}

fn rows(judged: &[JudgedText<f64>]) -> Vec<Row> {
    let highest = judged.iter().map(|j| j.judgement).fold(1.0, f64::max);
    let row = |j: &JudgedText<f64>| Row {
        topic: j.topic.clone(),
        features: features(&j.text),
        // a grade below 0 means that the text is not an argument
        share: j.judgement.max(0.0) / highest,
    };
    judged.iter().map(row).collect()
}

fn learn(rows: &[&Row]) -> Result<LinearText> {
    let features: Vec<Vec<f64>> = rows.iter().map(|r| r.features.clone()).collect();
    let shares: Vec<f64> = rows.iter().map(|r| r.share).collect();
    fit(&FEATURES, &features, &shares, PENALTY, false)
}

/// For each topic of the arguments a model that is learned from the other topics.
pub fn models_without_topics(dir: &Path) -> Result<BTreeMap<TopicId, Linear>> {
    let arguments = data::arguments(&dir.join("args/argquality20/args-me.json"))?;
    let judged = data::grades(&dir.join("args/argquality20/quality.qrels"), &arguments)?;
    let rows = rows(&judged);
    let mut models = BTreeMap::new();
    for of_topic in rows.chunk_by(|a, b| a.topic == b.topic) {
        let topic = &of_topic[0].topic;
        let known: Vec<&Row> = rows.iter().filter(|r| r.topic != *topic).collect();
        models.insert(topic.clone(), model(&learn(&known)?, &FEATURES)?);
    }
    Ok(models)
}

/// The quality of each text by a model that is learned from the other topics.
fn cross_validated(rows: &[Row]) -> Result<Vec<f64>> {
    let mut scores = vec![0.0; rows.len()];
    let mut topics: Vec<&TopicId> = rows.iter().map(|r| &r.topic).collect();
    topics.dedup();
    for topic in topics {
        let known: Vec<&Row> = rows.iter().filter(|r| r.topic != *topic).collect();
        let model = model(&learn(&known)?, &FEATURES)?;
        for (score, row) in scores
            .iter_mut()
            .zip(rows)
            .filter(|(_, r)| r.topic == *topic)
        {
            *score = model.probability(&row.features);
        }
    }
    Ok(scores)
}

/// The share of pairs within topics that are in the right order (equal scores count half), and the mean of the topics' tau-b. `truth` has
/// the topic and the grade of each text, in the order of the topics.
pub fn agreement(truth: &[(&TopicId, f64)], scores: &[f64]) -> (f64, f64) {
    let (mut right, mut pairs) = (0.0, 0.0);
    let mut taus = Vec::new();
    let mut start = 0;
    while let Some(first) = truth.get(start) {
        let end = start + truth[start..].iter().take_while(|r| r.0 == first.0).count();
        let (mut balance, mut by_grade, mut by_score) = (0.0, 0.0, 0.0);
        for i in start..end {
            for j in i + 1..end {
                let grade = sign(truth[i].1 - truth[j].1);
                let score = sign(scores[i] - scores[j]);
                balance += grade * score;
                by_grade += grade.abs();
                by_score += score.abs();
                pairs += grade.abs();
                right += grade.abs() * (1.0 + grade * score) / 2.0;
            }
        }
        if by_grade > 0.0 {
            taus.push(balance / f64::sqrt(by_grade * by_score).max(1.0));
        }
        start = end;
    }
    (
        right / pairs,
        taus.iter().sum::<f64>() / taus.len().max(1) as f64,
    )
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}
