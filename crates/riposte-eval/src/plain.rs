//! Converts an image run to runs without stances, for evaluators that know none.
//!
//! Evaluators such as trec_eval, ir_measures and ranx identify a result by topic and document, and ignore the second column. So each list of an image
//! run gets a separate query, `34-PRO` or `34-CON`, in the run and in the judgements. P@10 over these queries then equals that of
//! [`super::images`], where every list has ten places.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

use crate::attainable::relevance;
use crate::edition::Edition;
use crate::images::lists;
use crate::qrels::ImageQrels;
use crate::run::{ImageRunLine, TextRunLine, read_back};
use crate::{Stance, TopicId};

/// The document in the judgements of a query that has none: evaluators leave out queries without a judgement, but the organisers count
/// them as 0.
pub const NO_JUDGEMENT: &str = "no-judgement";

/// The lists of an image run, with a query for each. Within a list, documents are distinct, ranks count from 1, and scores strictly decrease, both as
/// they are written and as 32-bit floats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlainRun {
    /// The PRO lists.
    pub pro: Vec<TextRunLine>,
    /// The CON lists.
    pub con: Vec<TextRunLine>,
    /// Number of lines that are left out because their image is already in the list.
    pub repeated: usize,
    /// The lists whose scores do not follow their ranks. Their scores are replaced: the first result gets the number of results, the last one 1.
    pub rescored: Vec<TopicId>,
    /// Whether tags with blanks were changed.
    pub retagged: bool,
}

impl PlainRun {
    /// The lists of an image run that has been read.
    pub fn new(run: &[ImageRunLine]) -> PlainRun {
        let mut plain = PlainRun::default();
        for ((topic, stance), list) in lists(run) {
            let mut seen = HashSet::new();
            let mut results: Vec<TextRunLine> = (1..)
                .zip(list.iter().filter(|line| seen.insert(&line.image)))
                .map(|(rank, line)| TextRunLine {
                    topic: query(topic, stance),
                    stance: None,
                    doc: line.image.clone(),
                    rank,
                    score: line.score,
                    tag: line.tag.replace(char::is_whitespace, "_"),
                })
                .collect();
            plain.repeated += list.len() - results.len();
            plain.retagged |= list
                .iter()
                .any(|line| line.tag.contains(char::is_whitespace));
            if !strictly_decrease(&results) {
                plain.rescored.push(query(topic, stance));
                let all = results.len();
                for (above, line) in results.iter_mut().enumerate() {
                    line.score = Some((all - above) as f64);
                }
            }
            match stance {
                Stance::Pro => plain.pro.append(&mut results),
                Stance::Con => plain.con.append(&mut results),
            }
        }
        plain
    }
}

/// The query of a list.
fn query(topic: &TopicId, stance: Stance) -> TopicId {
    TopicId(format!("{topic}-{stance}"))
}

/// Whether a program that sorts by scores as 32-bit floats keeps the order of these lines, however it breaks ties.
fn strictly_decrease(list: &[TextRunLine]) -> bool {
    let scores = list
        .iter()
        .map(|line| line.score.map_or(f32::NAN, read_back));
    let scores: Vec<f32> = scores.collect();
    scores.iter().all(|score| score.is_finite()) && scores.is_sorted_by(|a, b| a > b)
}

/// Judgements with the queries of a [`PlainRun`], as files: on topic, argumentative, on stance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainQrels {
    /// In the order of [`super::images::Hits::precision`].
    pub files: [String; 3],
    /// The topics that have only [`NO_JUDGEMENT`].
    pub unjudged: Vec<TopicId>,
}

impl PlainQrels {
    /// The judgements of these topics, for both lists of each.
    pub fn new(topics: &BTreeSet<&TopicId>, qrels: &ImageQrels, edition: &Edition) -> PlainQrels {
        let mut files = [const { String::new() }; 3];
        let mut unjudged = Vec::new();
        for &topic in topics {
            let judged = qrels.get(topic);
            if judged.is_none() {
                unjudged.push(topic.clone());
            }
            for stance in Stance::BOTH {
                let query = query(topic, stance);
                let mut add = |image: &str, relevant: [bool; 3]| {
                    for (file, relevant) in files.iter_mut().zip(relevant) {
                        // writing to a String cannot fail
                        let _ = writeln!(file, "{query} 0 {image} {}", u8::from(relevant));
                    }
                };
                for (image, grades) in judged.into_iter().flatten() {
                    add(&image.0, relevance(grades, stance, edition));
                }
                if judged.is_none() {
                    add(NO_JUDGEMENT, [false; 3]);
                }
            }
        }
        PlainQrels { files, unjudged }
    }
}
