//! Measures of text rankings that use graded judgements.

mod diversity;
mod formulas;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::edition::Unjudged;
use crate::limits::{MAX_EXPONENT, MAX_GRADE};
use crate::measure::{Gain, GradedKind, GradedMeasure, Measure};
use crate::qrels::{GradedQrels, Qrels};
use crate::run::TextRunLine;
use crate::values::{Aggregation, MeasureValues};
use crate::{DocId, TopicId};

use formulas::{TOP_GRADE_OF_ERR, TopicGrades, compatibility, dcg, ideal_gains};

/// A text run, with the results of each topic sorted as evaluators sort them.
pub struct SortedTextRun<'a> {
    topics: BTreeMap<&'a TopicId, TopicResults<'a>>,
}

/// The results of one topic.
pub(super) struct TopicResults<'a> {
    /// In trec_eval's order ([`by_trec_eval`]), without repeated documents.
    pub by_score: Vec<&'a TextRunLine>,
    /// In the order of the file, with repeated documents.
    by_file: Vec<&'a TextRunLine>,
}

/// The orders in which evaluators sort the results of a topic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// By score as a 32-bit float, then by document id, both descending.
    TrecEval,
    /// By score, then by document id, both descending: for ERR, and nDCG with exponential gains.
    Gdeval,
    /// By score, descending, then by document id, ascending: the measures that ir_measures computes itself, and those of pyndeval.
    IrMeasures,
    /// By score, descending, then in the order of the file: cwl_eval, and ir_measures' Accuracy.
    File,
}

impl Order {
    /// The order of the program with which ir_measures computes the measure.
    fn of(measure: &GradedMeasure) -> Order {
        use GradedKind as K;
        match measure.kind {
            K::Judged | K::Compat { .. } => Order::IrMeasures,
            K::Rr if measure.cutoff.is_some() => Order::IrMeasures,
            K::Err | K::Ndcg(Gain::Exponential) => Order::Gdeval,
            K::Rbp { .. } | K::Sdcg { .. } | K::Accuracy => Order::File,
            _ => Order::TrecEval,
        }
    }
}

impl GradedMeasure {
    /// The first grade that is too large: the sum of gains may not be a finite number, or ERR has no probability for the grade.
    pub fn too_large<'q>(&self, qrels: &'q GradedQrels) -> Option<(&'q TopicId, &'q DocId, f64)> {
        let largest = match self.kind {
            GradedKind::Ndcg(Gain::Exponential) => MAX_EXPONENT,
            GradedKind::Ndcg(_) => MAX_GRADE,
            GradedKind::Err => TOP_GRADE_OF_ERR,
            _ => return None,
        };
        let grades = qrels.iter().flat_map(|(topic, grades)| {
            grades.iter().map(move |(doc, grade)| (topic, doc, *grade))
        });
        let mut too_large = grades.filter(|(_, _, grade)| *grade > largest);
        too_large.next()
    }
}

/// [`Order::TrecEval`]. Lines without scores come last, in the order of their ranks.
fn by_trec_eval(a: &TextRunLine, b: &TextRunLine) -> Ordering {
    let order = by_score(a, b, |score| f64::from(score as f32));
    order.then_with(|| b.doc.cmp(&a.doc))
}

/// By score, the highest first. Lines without scores come last, in the order of their ranks.
fn by_exact_score(a: &TextRunLine, b: &TextRunLine) -> Ordering {
    by_score(a, b, |score| score)
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

impl<'a> SortedTextRun<'a> {
    /// Sorts the lines of a run by topic and within each topic. If several lines repeat a document, which trec_eval rejects, only the best one counts.
    pub fn new(lines: &'a [TextRunLine]) -> SortedTextRun<'a> {
        let mut lists: HashMap<&TopicId, Vec<&TextRunLine>> = HashMap::new();
        for line in lines {
            lists.entry(&line.topic).or_default().push(line);
        }
        let topics = lists
            .into_iter()
            .map(|(topic, by_file)| {
                let mut by_score = by_file.clone();
                by_score.sort_by_key(|line| line.rank);
                by_score.sort_by(|a, b| by_trec_eval(a, b));
                let mut seen = HashSet::with_capacity(by_score.len());
                by_score.retain(|line| seen.insert(&line.doc));
                (topic, TopicResults { by_score, by_file })
            })
            .collect();
        SortedTextRun { topics }
    }

    pub(super) fn topic(&self, topic: &TopicId) -> Option<&TopicResults<'a>> {
        self.topics.get(topic)
    }

    /// The number of topics in the run that are not judged.
    pub fn unjudged_topics(&self, is_judged: impl Fn(&TopicId) -> bool) -> usize {
        self.topics.keys().filter(|topic| !is_judged(topic)).count()
    }

    /// Whether any document is judged for its topic; false for judgements of images.
    pub fn is_judged(&self, qrels: &Qrels) -> bool {
        let is_judged = |topic: &TopicId, doc: &DocId| match qrels {
            Qrels::Images(_) => false,
            Qrels::Stances(stances) => stances.get(topic).is_some_and(|of| of.contains_key(doc)),
            graded => {
                let grades = graded.grades().and_then(|grades| grades.get(topic));
                grades.is_some_and(|of| of.contains_key(doc))
            }
        };
        self.topics.iter().any(|(topic, results)| {
            let mut lines = results.by_score.iter();
            lines.any(|line| is_judged(topic, &line.doc))
        })
    }

    /// The values of a measure; `None` if it cannot be computed from judgements of this kind ([`Measure::fits`]), or if they are of images.
    pub fn measure_by(&self, qrels: &Qrels, measure: &Measure) -> Option<MeasureValues> {
        match (qrels, measure) {
            (Qrels::Stances(qrels), Measure::Stance(measure)) => {
                Some(self.measure_stances(qrels, measure))
            }
            (Qrels::Subtopics(qrels), Measure::Diversity(measure)) => {
                Some(self.measure_diversity(qrels, measure))
            }
            (qrels, Measure::Graded(measure)) => Some(self.measure(qrels.grades()?, measure)),
            _ => None,
        }
    }

    /// The value of a measure for each topic that it counts, and their mean.
    ///
    /// All judged topics count; one that the run leaves out counts as 0. The organisers' measures leave out the topics that their
    /// scripts leave out ([`Gain::Organisers`]).
    pub fn measure(&self, qrels: &GradedQrels, measure: &GradedMeasure) -> MeasureValues {
        let value = |topic: &TopicId, grades| {
            let results = self.topics.get(topic);
            match measure.kind {
                GradedKind::Ndcg(Gain::Organisers(script)) => {
                    let cutoff = measure.cutoff.unwrap_or(script.depth).min(script.depth);
                    let results = results.filter(|_| !script.excluded.contains(&topic.0.as_str()));
                    match script.unjudged {
                        Unjudged::Removed => ndcg_of_judged(results?, grades, cutoff),
                        Unjudged::GainNothing => Some(ndcg_by_rank(results?, grades, cutoff)),
                    }
                }
                GradedKind::Compat { p, normalize } => {
                    let lines = results.map_or(Cow::default(), |of| of.ordered(measure));
                    Some(compatibility(&lines, grades, p, normalize))
                }
                kind => {
                    let lines = results.map_or(Cow::default(), |of| of.ordered(measure));
                    let found = lines.iter().map(|line| grades.get(&line.doc).copied());
                    // trec_eval -J treats a negative grade as not judged
                    let counts =
                        |g: &Option<f64>| !measure.judged_only || g.is_some_and(|g| g >= 0.0);
                    let topic = TopicGrades {
                        found: &found.filter(counts).collect::<Vec<_>>(),
                        grades,
                        least: measure.rel.as_ref().map(|level| level.grade),
                        cutoff: measure.cutoff,
                        is_listed: results.is_some(),
                    };
                    topic.value(kind)
                }
            }
        };
        let topics = qrels.iter();
        let values = topics.filter_map(|(id, grades)| Some((id.clone(), value(id, grades)?)));
        let aggregation = match measure.kind.is_count() {
            true => Aggregation::Sum,
            false => Aggregation::Mean,
        };
        MeasureValues::new(values.collect(), aggregation)
    }
}

impl<'a> TopicResults<'a> {
    /// The results in the order of a measure, without repeated documents.
    fn ordered(&self, measure: &GradedMeasure) -> Cow<'_, [&'a TextRunLine]> {
        self.in_order(Order::of(measure))
    }

    fn in_order(&self, order: Order) -> Cow<'_, [&'a TextRunLine]> {
        let mut lines = match order {
            Order::TrecEval => return Cow::from(&self.by_score),
            Order::File => self.by_file.clone(),
            Order::Gdeval | Order::IrMeasures => self.by_score.clone(),
        };
        match order {
            Order::Gdeval => {
                lines.sort_by(|a, b| by_exact_score(a, b).then_with(|| b.doc.cmp(&a.doc)));
            }
            Order::IrMeasures => {
                lines.sort_by(|a, b| by_exact_score(a, b).then_with(|| a.doc.cmp(&b.doc)));
            }
            Order::TrecEval | Order::File => lines.sort_by(|a, b| by_exact_score(a, b)),
        }
        if lines.len() > self.by_score.len() {
            let mut seen = HashSet::with_capacity(lines.len());
            lines.retain(|line| seen.insert(&line.doc));
        }
        Cow::from(lines)
    }

    /// The organisers' order: by rank; equal ranks are in the order of the file.
    fn by_rank(&self) -> Vec<&'a TextRunLine> {
        let mut lines = self.by_file.clone();
        lines.sort_by_key(|line| line.rank);
        lines
    }
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
        .by_rank()
        .into_iter()
        .take(cutoff)
        .filter_map(|line| grades.get(&line.doc).copied().map(gain))
        .collect();
    let ideal = dcg(ideal_gains(grades, gain).into_iter().take(cutoff));
    // the script divides 0 by 0 here, and pandas leaves the NaN out of the mean
    (!judged.is_empty() && ideal != 0.0).then(|| dcg(judged.into_iter()) / ideal)
}

/// nDCG as the script with [`Unjudged::GainNothing`] computes it.
fn ndcg_by_rank(results: &TopicResults, grades: &HashMap<DocId, f64>, cutoff: usize) -> f64 {
    let found = results.by_rank().into_iter().take(cutoff);
    let gained = dcg(found.map(|line| grades.get(&line.doc).copied().unwrap_or(0.0)));
    let ideal = dcg(ideal_gains(grades, |grade| grade).into_iter().take(cutoff));
    if ideal > 0.0 { gained / ideal } else { 0.0 }
}
