//! Measures of text rankings that use graded judgements.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::edition::Unjudged;
use crate::measure::{Gain, GradedKind, GradedMeasure};
use crate::qrels::GradedQrels;
use crate::run::TextRunLine;
use crate::values::{Aggregation, Values};
use crate::{DocId, TopicId};

/// Maximum grade in nDCG with exponential gains, 2^grade - 1: 2^1024 is no finite number, and a topic has a sum of them.
const MAX_EXPONENT: f64 = 1000.0;

/// Maximum grade in nDCG with other gains. Their sums are far below the largest float.
const MAX_GRADE: f64 = 1e15;

/// A text run, with the results of each topic in the orders that evaluators use.
pub struct TextRun<'a> {
    topics: BTreeMap<&'a TopicId, TopicResults<'a>>,
    /// The number of lines that repeat a document. trec_eval rejects such a run; here only the best line of a document counts.
    pub repeated: usize,
}

/// The results of one topic.
pub(super) struct TopicResults<'a> {
    /// In trec_eval's order ([`by_trec_eval`]), without repeated documents.
    pub by_score: Vec<&'a TextRunLine>,
    /// By rank; equal ranks are in the order of the file: the organisers' order.
    by_rank: Vec<&'a TextRunLine>,
}

impl GradedMeasure {
    /// The first grade that is so large that the sum of gains may not be a finite number.
    pub fn too_large<'q>(&self, qrels: &'q GradedQrels) -> Option<(&'q TopicId, &'q DocId, f64)> {
        let largest = match self.kind {
            GradedKind::Ndcg(Gain::Exponential) => MAX_EXPONENT,
            GradedKind::Ndcg(_) => MAX_GRADE,
            _ => return None,
        };
        let grades = qrels.iter().flat_map(|(topic, grades)| {
            grades.iter().map(move |(doc, grade)| (topic, doc, *grade))
        });
        let mut too_large = grades.filter(|(_, _, grade)| *grade > largest);
        too_large.next()
    }
}

/// The order of trec_eval: by score as a 32-bit float, then by document id, both descending. Lines without scores come last, in the order of their
/// ranks.
fn by_trec_eval(a: &TextRunLine, b: &TextRunLine) -> Ordering {
    let order = by_score(a, b, |score| f64::from(score as f32));
    order.then_with(|| b.doc.cmp(&a.doc))
}

/// The order in which ir_measures computes RR with a cutoff and Judged: by score, the highest first, then by document id, ascending. Lines without
/// scores come last, in the order of their ranks.
fn by_ir_measures(a: &TextRunLine, b: &TextRunLine) -> Ordering {
    by_score(a, b, |score| score).then_with(|| a.doc.cmp(&b.doc))
}

/// By score as an evaluator reads it, descending. Lines without scores come last, in the order of their ranks.
fn by_score(a: &TextRunLine, b: &TextRunLine, as_read: impl Fn(f64) -> f64) -> Ordering {
    // the sum with 0 makes 0 of -0, which is equal to it for both evaluators
    let score = |line: &TextRunLine| line.score.map(|score| as_read(score) + 0.0);
    match (score(a), score(b)) {
        (Some(of_a), Some(of_b)) => of_b.total_cmp(&of_a),
        (of_a, of_b) => (of_b.is_some().cmp(&of_a.is_some())).then(a.rank.cmp(&b.rank)),
    }
}

impl<'a> TextRun<'a> {
    /// Sorts the lines of a run by topic and within each topic.
    pub fn new(lines: &'a [TextRunLine]) -> TextRun<'a> {
        let mut lists: HashMap<&TopicId, Vec<&TextRunLine>> = HashMap::new();
        for line in lines {
            lists.entry(&line.topic).or_default().push(line);
        }
        let mut repeated = 0;
        let topics = lists
            .into_iter()
            .map(|(topic, mut by_rank)| {
                by_rank.sort_by_key(|line| line.rank);
                let mut by_score = by_rank.clone();
                by_score.sort_by(|a, b| by_trec_eval(a, b));
                let mut seen = HashSet::with_capacity(by_score.len());
                by_score.retain(|line| seen.insert(&line.doc));
                repeated += by_rank.len() - by_score.len();
                (topic, TopicResults { by_score, by_rank })
            })
            .collect();
        TextRun { topics, repeated }
    }

    pub(super) fn topic(&self, topic: &TopicId) -> Option<&TopicResults<'a>> {
        self.topics.get(topic)
    }

    /// The number of topics in the run that are not judged.
    pub fn unjudged_topics(&self, is_judged: impl Fn(&TopicId) -> bool) -> usize {
        self.topics.keys().filter(|topic| !is_judged(topic)).count()
    }

    /// The value of a measure for each topic that it counts, and their mean.
    ///
    /// All judged topics count; one that the run leaves out counts as 0. The organisers' measures leave out the topics that their
    /// scripts leave out ([`Gain::Organisers`]).
    pub fn measure(&self, qrels: &GradedQrels, measure: &GradedMeasure) -> Values {
        let value = |topic: &TopicId, grades| {
            let results = self.topics.get(topic);
            if let GradedKind::Ndcg(Gain::Organisers(script)) = measure.kind {
                let cutoff = measure.cutoff.unwrap_or(script.depth).min(script.depth);
                let results = results.filter(|_| !script.excluded.contains(&topic.0.as_str()));
                return match script.unjudged {
                    Unjudged::Removed => ndcg_of_judged(results?, grades, cutoff),
                    Unjudged::GainNothing => Some(ndcg_by_rank(results?, grades, cutoff)),
                };
            }
            let mut lines = Cow::from(results.map_or(&[][..], |results| &results.by_score));
            let has_cutoff = measure.cutoff.is_some();
            if measure.kind == GradedKind::Judged || measure.kind == GradedKind::Rr && has_cutoff {
                lines.to_mut().sort_by(|a, b| by_ir_measures(a, b));
            }
            let found = lines.iter().map(|line| grades.get(&line.doc).copied());
            // trec_eval -J treats a negative grade as not judged
            let counts =
                |grade: &Option<f64>| !measure.judged_only || grade.is_some_and(|g| g >= 0.0);
            Some(topic_value(
                measure,
                &found.filter(counts).collect::<Vec<_>>(),
                grades,
            ))
        };
        let topics = qrels.iter();
        let values = topics.filter_map(|(id, grades)| Some((id.clone(), value(id, grades)?)));
        Values::new(values.collect(), Aggregation::Mean)
    }
}

/// The value for one topic. `found` has the grades of its results in the order of the measure, `None` for a document that is not judged.
fn topic_value(
    measure: &GradedMeasure,
    found: &[Option<f64>],
    grades: &HashMap<DocId, f64>,
) -> f64 {
    use GradedKind as K;
    let is_relevant = |grade: &Option<f64>| grade.is_some_and(|g| g >= measure.rel.grade);
    let relevant = grades.values().filter(|g| **g >= measure.rel.grade).count();
    let cutoff = measure.cutoff.unwrap_or(usize::MAX);
    let first = &found[..found.len().min(cutoff)];
    let hits = |of: &[Option<f64>]| of.iter().filter(|g| is_relevant(g)).count() as f64;
    match measure.kind {
        K::P => hits(first) / cutoff as f64,
        K::R => share(hits(first), relevant),
        K::Rprec => share(hits(&found[..found.len().min(relevant)]), relevant),
        K::Success => f64::from(first.iter().any(is_relevant)),
        K::Judged => share(first.iter().flatten().count() as f64, first.len()),
        K::Rr => {
            let position = first.iter().position(is_relevant);
            position.map_or(0.0, |position| 1.0 / (position + 1) as f64)
        }
        K::Ap => {
            let mut hits = 0.0;
            let precisions: f64 = (1..)
                .zip(first)
                .filter(|(_, grade)| is_relevant(grade))
                .map(|(rank, _)| {
                    hits += 1.0;
                    hits / f64::from(rank)
                })
                .sum();
            share(precisions, relevant)
        }
        K::Ndcg(of) => {
            let gain = |grade: f64| match of {
                Gain::Exponential => (grade.exp2() - 1.0).max(0.0),
                _ => grade.max(0.0),
            };
            let ideal = dcg(ideal_gains(grades, gain).into_iter().take(cutoff));
            let gained = dcg(first.iter().map(|grade| grade.map_or(0.0, gain)));
            if ideal > 0.0 { gained / ideal } else { 0.0 }
        }
    }
}

fn share(part: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

/// Discounted cumulative gain (Järvelin and Kekäläinen, 2002): the sum of gains, each divided by log2(rank + 1).
fn dcg(gains: impl Iterator<Item = f64>) -> f64 {
    (2..)
        .zip(gains)
        .map(|(rank_and_one, gain)| gain / f64::from(rank_and_one).log2())
        .sum()
}

/// The gains of all judged documents, in descending order: the ideal ranking.
fn ideal_gains(grades: &HashMap<DocId, f64>, gain: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut gains: Vec<f64> = grades.values().map(|grade| gain(*grade)).collect();
    gains.sort_by(|a, b| b.total_cmp(a));
    gains
}

/// nDCG as the script with [`Unjudged::Removed`] computes it; `None` if it leaves the topic out.
fn ndcg_of_judged(
    results: &TopicResults,
    grades: &HashMap<DocId, f64>,
    cutoff: usize,
) -> Option<f64> {
    // the script replaces -2, and only -2, by 0, and truncates grades to whole numbers
    let gain = |grade: f64| if grade == -2.0 { 0.0 } else { grade.trunc() };
    let judged: Vec<f64> = results
        .by_rank
        .iter()
        .take(cutoff)
        .filter_map(|line| grades.get(&line.doc).copied().map(gain))
        .collect();
    let ideal = dcg(ideal_gains(grades, gain).into_iter().take(cutoff));
    // the script divides 0 by 0 here, and pandas leaves the NaN out of the mean
    (!judged.is_empty() && ideal != 0.0).then(|| dcg(judged.into_iter()) / ideal)
}

/// nDCG as the script with [`Unjudged::GainNothing`] computes it.
fn ndcg_by_rank(results: &TopicResults, grades: &HashMap<DocId, f64>, cutoff: usize) -> f64 {
    let found = results.by_rank.iter().take(cutoff);
    let gained = dcg(found.map(|line| grades.get(&line.doc).copied().unwrap_or(0.0)));
    let ideal = dcg(ideal_gains(grades, |grade| grade).into_iter().take(cutoff));
    if ideal > 0.0 { gained / ideal } else { 0.0 }
}
