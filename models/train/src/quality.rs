//! `train quality`: text quality from the judged grades of arguments (Task 1) and passages (Task 2), each divided by the highest, and the
//! ratings of arguments from IBM-ArgQ-Rank-30k.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use riposte::reading::pieces::ClaimedPieces;
use riposte::reading::stance_encoder::StanceEncoder;
use riposte::score::linear::{LogisticLayout, LogisticModel};
use riposte::score::logit;
use riposte::score::quality::{FEATURES, RATED, READ, features, read_quality};
use riposte_eval::TopicId;

use crate::base_model::BaseModel;
use crate::data::{self, JudgedTask, JudgedText, StanceExample};
use crate::fit::{fit, model, table};
use crate::measures::spearman;

/// L2 penalty of the weights, which are log-odds per standard deviation of a feature.
const PENALTY: f64 = 3.0;

/// A judged text.
struct Row {
    topic: TopicId,
    features: Vec<f64>,
    /// The grade divided by the highest grade, in [0, 1].
    share: f64,
}

/// The weight file, with the figures of cross-validation in its first lines.
pub fn train(dir: &Path, models: Option<&Path>) -> Result<String> {
    let base = BaseModel::find(models)?;
    let encoder = base.stance_encoder()?;
    let tasks = data::judged_tasks(dir, "quality")?;
    let mut head = String::from(
        "# Text quality: weights of src/score/quality.rs.\n\
         # train quality --data DATA -o models/own/quality.toml\n\
         # From args/argquality20/quality.qrels and passages/quality.qrels, without randomness.\n\
         # Figures for topics left out of training: of the pairs of texts of one topic with different grades, the share in the right\n\
         # order; and Kendall's tau-b (mean of the topics):\n",
    );
    let mut tables = String::new();
    for task in &tasks {
        let (name, rows) = (task.name, &rows(&task.judged));
        let of_model = cross_validated(rows, &FEATURES)?;
        let length: Vec<f64> = rows.iter().map(|r| r.features[0]).collect();
        let read = with_encoder(rows, task, &encoder)?;
        let of_encoder = read.iter().map(|r| r.features[FEATURES.len()]).collect();
        let names: Vec<&'static str> = FEATURES.into_iter().chain([READ]).collect();
        let with_encoder = cross_validated(&read, &names)?;
        let truth: Vec<(&TopicId, f64)> = rows.iter().map(|r| (&r.topic, r.share)).collect();
        let topics = taus(&truth, &of_model);
        let better = topics
            .iter()
            .zip(taus(&truth, &with_encoder))
            .filter(|(without, with)| with > *without)
            .count();
        for (what, scores) in [
            ("this model", of_model),
            ("length alone", length),
            ("the stance encoder alone (not used)", of_encoder),
            (
                "this model with the stance encoder (not used)",
                with_encoder,
            ),
        ] {
            let (pairs, tau) = agreement(&truth, &scores);
            let _ = writeln!(head, "# {name}, {what}: {pairs:.3}, {tau:.3}");
        }
        let _ = writeln!(
            head,
            "# {name}: topics whose tau-b is larger with the stance encoder: {better} of {}",
            topics.len()
        );
        let all: Vec<&Row> = rows.iter().collect();
        tables += &table(name, &learn(&all, &FEATURES)?, &FEATURES);
    }
    let (figures, of_ratings) = ratings(dir, &encoder)?;
    head += &figures;
    tables += &of_ratings;
    print!("{head}");
    Ok(head + &tables)
}

/// The same rows, with the stance encoder's quality of the text as an additional feature.
fn with_encoder(rows: &[Row], task: &JudgedTask, encoder: &StanceEncoder) -> Result<Vec<Row>> {
    let texts = task.judged.iter();
    let texts = texts.map(|of| Ok((task.claim(&of.topic)?, of.text.as_str())));
    let read = read_qualities(&texts.collect::<Result<Vec<_>>>()?, encoder)?;
    Ok(rows
        .iter()
        .zip(read)
        .map(|(row, read)| Row {
            topic: row.topic.clone(),
            features: row.features.iter().copied().chain([read]).collect(),
            share: row.share,
        })
        .collect())
}

/// The quality of each (claim, text), as the stance encoder reads it.
fn read_qualities(texts: &[(&str, &str)], encoder: &StanceEncoder) -> Result<Vec<f64>> {
    let pieces = ClaimedPieces::of(texts.iter().copied());
    let readings = pieces.by_text(encoder.read(&pieces.pairs())?);
    Ok(readings
        .iter()
        .map(|of_text| read_quality(of_text))
        .collect())
}

/// The two models of ratings, and their figures. The stance encoder has learned from the training part, so the model that uses its readings is learned
/// from the development part.
fn ratings(dir: &Path, encoder: &StanceEncoder) -> Result<(String, String)> {
    let [training, dev] = ["train", "dev"]
        .map(|part| data::rated_arguments(&dir.join(format!("stance/argq30k-{part}.csv.gz"))));
    let (training, dev) = (training?, dev?);
    let row = |of: &StanceExample, features: Vec<f64>| Row {
        topic: TopicId(of.group.clone()),
        features,
        share: of.quality.unwrap_or_default(),
    };
    let texts: Vec<(&str, &str)> = dev
        .iter()
        .map(|of| (of.claim.as_str(), of.text.as_str()))
        .collect();
    let by_words: Vec<Row> = training
        .iter()
        .map(|of| row(of, features(&of.text)))
        .collect();
    let by_words: Vec<&Row> = by_words.iter().collect();
    let learned = learn(&by_words, &FEATURES)?;
    let of_words = model(&learned, &FEATURES)?;
    let mut read: Vec<Row> = dev
        .iter()
        .zip(read_qualities(&texts, encoder)?)
        .map(|(of, read)| {
            let words = logit(of_words.probability(&features(&of.text)));
            row(of, vec![read, words])
        })
        .collect();
    read.sort_by(|a, b| a.topic.cmp(&b.topic));
    let feature = |at: usize| read.iter().map(|r| r.features[at]).collect::<Vec<f64>>();
    let together = cross_validated(&read, &RATED)?;
    let mut head = String::from(
        "# Ratings of the 3,208 arguments in the development part of argq30k (7 topics): Spearman's correlation over all arguments, and\n\
         # its mean over the topics. The model of words and the encoder are learned from the training part, the model of both from the\n\
         # other topics of the development part:\n",
    );
    for (what, scores) in [
        ("words", feature(1)),
        ("the stance encoder alone", feature(0)),
        ("both", together),
    ] {
        let pairs: Vec<(f64, f64)> = read.iter().map(|r| r.share).zip(scores).collect();
        let mut by_topic = Vec::new();
        let mut rest = pairs.as_slice();
        for of_topic in read.chunk_by(|a, b| a.topic == b.topic) {
            let (these, others) = rest.split_at(of_topic.len());
            by_topic.push(spearman(these));
            rest = others;
        }
        let mean = by_topic.iter().sum::<f64>() / by_topic.len() as f64;
        let _ = writeln!(
            head,
            "# ratings by {what}: {:.3}, {mean:.3}",
            spearman(&pairs)
        );
    }
    let all: Vec<&Row> = read.iter().collect();
    let tables = table("ratings", &learn(&all, &RATED)?, &RATED)
        + &table("ratings_by_words", &learned, &FEATURES);
    Ok((head, tables))
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

fn learn(rows: &[&Row], names: &[&'static str]) -> Result<LogisticLayout> {
    let features: Vec<Vec<f64>> = rows.iter().map(|r| r.features.clone()).collect();
    let shares: Vec<f64> = rows.iter().map(|r| r.share).collect();
    fit(names, &features, &shares, PENALTY, false)
}

/// For each topic of the arguments a model that is learned from the other topics.
pub fn models_without_topics(dir: &Path) -> Result<BTreeMap<TopicId, LogisticModel>> {
    let arguments = data::arguments(&dir.join("args/argquality20/args-me.json"))?;
    let judged = data::grades(&dir.join("args/argquality20/quality.qrels"), &arguments)?;
    let rows = rows(&judged);
    let mut models = BTreeMap::new();
    for of_topic in rows.chunk_by(|a, b| a.topic == b.topic) {
        let topic = &of_topic[0].topic;
        let known: Vec<&Row> = rows.iter().filter(|r| r.topic != *topic).collect();
        models.insert(topic.clone(), model(&learn(&known, &FEATURES)?, &FEATURES)?);
    }
    Ok(models)
}

/// The quality of each text by a model that is learned from the other topics.
fn cross_validated(rows: &[Row], names: &[&'static str]) -> Result<Vec<f64>> {
    let mut scores = vec![0.0; rows.len()];
    let mut topics: Vec<&TopicId> = rows.iter().map(|r| &r.topic).collect();
    topics.dedup();
    for topic in topics {
        let known: Vec<&Row> = rows.iter().filter(|r| r.topic != *topic).collect();
        let model = model(&learn(&known, names)?, names)?;
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
    for Agreement {
        balance, grades, ..
    } in agreements(truth, scores)
    {
        right += (grades + balance) / 2.0;
        pairs += grades;
    }
    let taus = taus(truth, scores);
    (
        right / pairs,
        taus.iter().sum::<f64>() / taus.len().max(1) as f64,
    )
}

/// Kendall's tau-b of each topic that has different grades; arguments as for [`agreement`].
fn taus(truth: &[(&TopicId, f64)], scores: &[f64]) -> Vec<f64> {
    let of_topics = agreements(truth, scores).into_iter();
    of_topics
        .filter(|of| of.grades > 0.0)
        .map(|of| of.balance / f64::sqrt(of.grades * of.scores).max(1.0))
        .collect()
}

/// Counts over the pairs of texts of one topic.
#[derive(Default)]
struct Agreement {
    /// Pairs in the right order less those in the wrong order.
    balance: f64,
    /// Pairs with different grades.
    grades: f64,
    /// Pairs with different scores.
    scores: f64,
}

fn agreements(truth: &[(&TopicId, f64)], scores: &[f64]) -> Vec<Agreement> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(first) = truth.get(start) {
        let end = start + truth[start..].iter().take_while(|r| r.0 == first.0).count();
        let mut of_topic = Agreement::default();
        for i in start..end {
            for j in i + 1..end {
                let grade = sign(truth[i].1 - truth[j].1);
                let score = sign(scores[i] - scores[j]);
                of_topic.balance += grade * score;
                of_topic.grades += grade.abs();
                of_topic.scores += score.abs();
            }
        }
        found.push(of_topic);
        start = end;
    }
    found
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}
