//! `train evaluate-relevance`: whether the stance encoder's relevance would improve by learning from the judges of the text tasks.
//!
//! For each task, a logistic regression over the hidden units of the encoder's head separates the texts with a grade of 1 or more from the
//! others. It starts from the weights of the encoder's own output, and the penalty keeps it near them. Topics are left out one at a time.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use riposte::reading::pieces::beginning;
use riposte::reading::stance_encoder::StanceEncoder;
use riposte_eval::TopicId;

use crate::Sources;
use crate::data::{self, JudgedTask};
use crate::fit::logistic_regression_from;
use crate::measures::auc;

/// L2 penalty of the changes to the weights, which are log-odds per unit of a hidden unit in [-1, 1].
const PENALTY: f64 = 5.0;

/// Number of texts that are read together.
const BATCH: usize = 4096;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    sources: Sources,
    /// Write the log-odds of all texts for all topics to this file; those for a topic are learned from the other topics
    #[arg(long, value_name = "FILE")]
    left_out: Option<PathBuf>,
}

/// A text as the encoder reads it for a topic.
struct Read {
    /// The encoder's own log-odds of relevance.
    own: f64,
    /// The hidden units, and 1 for the bias.
    row: Vec<f64>,
}

impl Read {
    fn log_odds(&self, changes: &[f64]) -> f64 {
        let change: f64 = self.row.iter().zip(changes).map(|(x, w)| x * w).sum();
        self.own + change
    }
}

/// A judged text.
struct Row {
    topic: TopicId,
    read: Read,
    is_relevant: bool,
}

/// How well log-odds put the relevant texts of a topic before the others: the area under the curve, over the pairs of texts of the same topic.
pub struct Areas {
    task: &'static str,
    topics: usize,
    /// By the encoder's own relevance.
    pub own: f64,
    /// By the changes learned from the other topics.
    pub learned: f64,
}

/// Prints the figures, and writes the values.
pub fn evaluate(options: &Options) -> Result<()> {
    let (areas, values) = measure(&options.sources, options.left_out.is_some())?;
    println!(
        "| AUC over the pairs within topics | topics | the encoder's own relevance | learned from the other topics |\n|---|---|---|---|"
    );
    for of in areas {
        println!(
            "| {} | {} | {:.3} | {:.3} |",
            of.task, of.topics, of.own, of.learned
        );
    }
    match &options.left_out {
        Some(path) => {
            fs::write(path, values).with_context(|| format!("cannot write {}", path.display()))
        }
        None => Ok(()),
    }
}

/// The figures of both tasks and, if `with_values`, the lines of [`all_values`].
pub fn measure(sources: &Sources, with_values: bool) -> Result<(Vec<Areas>, String)> {
    let encoder = sources.encoder()?.stance_encoder()?;
    let (mut areas, mut values) = (Vec::new(), String::new());
    for task in data::judged_tasks(&sources.data, "relevance")? {
        let rows = rows(&task, &encoder)?;
        let without = without_topics(&rows)?;
        let area = |log_odds: &dyn Fn(&Row) -> f64| {
            let items = rows.iter();
            auc(items.map(|row| (row.topic.0.clone(), log_odds(row), row.is_relevant)))
        };
        areas.push(Areas {
            task: task.name,
            topics: without.len(),
            own: area(&|row| row.read.own),
            learned: area(&|row| row.read.log_odds(&without[&row.topic])),
        });
        if with_values {
            values += &all_values(&task, &without, &encoder)?;
        }
    }
    Ok((areas, values))
}

fn read(pairs: &[(&str, &str)], encoder: &StanceEncoder) -> Result<Vec<Read>> {
    let pairs: Vec<(&str, &str)> = pairs
        .iter()
        .map(|(c, text)| (*c, beginning(text)))
        .collect();
    let readings = encoder.read_with_hidden(&pairs)?.into_iter();
    Ok(readings
        .map(|(reading, hidden)| Read {
            own: f64::from(reading.relevance),
            row: hidden.into_iter().map(f64::from).chain([1.0]).collect(),
        })
        .collect())
}

fn rows(task: &JudgedTask, encoder: &StanceEncoder) -> Result<Vec<Row>> {
    let texts = task.judged.iter();
    let texts = texts.map(|of| Ok((task.claim(&of.topic)?, of.text.as_str())));
    let read = read(&texts.collect::<Result<Vec<_>>>()?, encoder)?;
    let rows = task.judged.iter().zip(read);
    Ok(rows
        .map(|(of, read)| Row {
            topic: of.topic.clone(),
            read,
            is_relevant: of.judgement >= 1.0,
        })
        .collect())
}

fn learn<'a>(rows: impl Iterator<Item = &'a Row>) -> Result<Vec<f64>> {
    let (mut features, mut targets, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        features.push(row.read.row.clone());
        targets.push(f64::from(u8::from(row.is_relevant)));
        offsets.push(row.read.own);
    }
    logistic_regression_from(&features, &targets, &offsets, PENALTY)
}

/// For each topic the changes that are learned from the other topics.
fn without_topics(rows: &[Row]) -> Result<BTreeMap<TopicId, Vec<f64>>> {
    let mut learned = BTreeMap::new();
    for of_topic in rows.chunk_by(|a, b| a.topic == b.topic) {
        let topic = &of_topic[0].topic;
        let others = rows.iter().filter(|row| row.topic != *topic);
        learned.insert(topic.clone(), learn(others)?);
    }
    Ok(learned)
}

/// A line for each topic and text of the task: the task, the topic, the id, and the log-odds by the changes learned from the other topics.
fn all_values(
    task: &JudgedTask,
    without: &BTreeMap<TopicId, Vec<f64>>,
    encoder: &StanceEncoder,
) -> Result<String> {
    let texts: BTreeMap<&String, &String> = task.texts.iter().collect();
    let texts: Vec<(&String, &String)> = texts.into_iter().collect();
    let mut lines = String::new();
    for (topic, changes) in without {
        let claim = task.claim(topic)?;
        for texts in texts.chunks(BATCH) {
            let pairs: Vec<(&str, &str)> = texts.iter().map(|(_, t)| (claim, t.as_str())).collect();
            for ((id, _), read) in texts.iter().zip(read(&pairs, encoder)?) {
                let value = read.log_odds(changes);
                let _ = writeln!(lines, "{}\t{topic}\t{id}\t{value:.6}", task.name);
            }
        }
        eprintln!("{}: topic {topic} is read", task.name);
    }
    Ok(lines)
}
