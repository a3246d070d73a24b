//! Computes each measure from the results of one topic.

use std::collections::HashMap;

use crate::DocId;
use crate::limits::MAX_COUNTED_RESULTS;
use crate::measure::{Gain, GradedKind};
use crate::run::TextRunLine;

/// The highest grade of ERR. In gdeval it is a constant, too: with another one, a value could not be compared with published ones.
pub(super) const TOP_GRADE_OF_ERR: f64 = 4.0;

/// Keeps infAP's estimate of precision defined where no judged document stands above; trec_eval has the same number.
const INFERRED_EPSILON: f64 = 0.00001;

/// The results of one topic, as a measure sees them.
pub(super) struct TopicGrades<'a> {
    /// The grades of the results in the order of the measure, `None` for a document that is not judged.
    pub found: &'a [Option<f64>],
    /// The grades of all judged documents.
    pub grades: &'a HashMap<DocId, f64>,
    /// The lowest grade of a relevant document, if the measure uses one.
    pub least: Option<f64>,
    /// The number of results that count; `None` for all.
    pub cutoff: Option<usize>,
    /// Whether the run has the topic.
    pub is_listed: bool,
}

impl TopicGrades<'_> {
    /// The value of a measure; `None` if the topic does not count. The organisers' nDCG and Compat are computed elsewhere, from the documents.
    pub fn value(&self, kind: GradedKind) -> Option<f64> {
        use GradedKind as K;
        let first = self.first();
        let (found, relevant) = (self.found.len(), self.relevant());
        let hits = self.hits(first);
        Some(match kind {
            K::P => hits / self.cutoff.unwrap_or(found) as f64,
            K::R | K::SetR => share(hits, relevant),
            K::Rprec => share(self.hits(&self.found[..found.min(relevant)]), relevant),
            K::Success => f64::from(hits > 0.0),
            K::Judged => share(first.iter().flatten().count() as f64, first.len()),
            K::Rr => {
                let position = first.iter().position(|grade| self.is_relevant(grade));
                position.map_or(0.0, |position| 1.0 / (position + 1) as f64)
            }
            K::Ap => share(self.precisions().sum(), relevant),
            K::Ndcg(gain) => self.ndcg(gain),
            K::Rbp { p } => self.rank_biased_precision(p),
            K::Err => expected_reciprocal_rank(first),
            K::Bpref => share(self.binary_preferences(), relevant),
            K::InfAp => share(self.inferred_precisions(), relevant),
            K::IPrec { recall } => self.interpolated_precision(recall),
            K::SetP { relative: false } => share(hits, found),
            K::SetP { relative: true } => share(hits, found.min(relevant)),
            K::SetF { beta } => {
                let (precision, recall) = (share(hits, found), share(hits, relevant));
                let f = (beta + 1.0) * precision * recall / (beta * precision + recall);
                if hits > 0.0 { f } else { 0.0 }
            }
            K::SetAp => share(hits, found) * share(hits, relevant),
            K::Sdcg { min_rel, max_rel } => {
                let gain = |grade: f64| {
                    let grade = grade.max(0.0).max(min_rel).min(max_rel);
                    (grade - min_rel) / (max_rel - min_rel)
                };
                let cutoff = self
                    .cutoff
                    .unwrap_or(MAX_COUNTED_RESULTS)
                    .min(MAX_COUNTED_RESULTS);
                let first = first.iter().take(cutoff);
                let gained = dcg(first.map(|grade| grade.map_or(0.0, gain)));
                gained / dcg((0..cutoff).map(|_| 1.0))
            }
            K::Accuracy => return self.accuracy(),
            K::NumQ => f64::from(self.is_listed),
            K::NumRet if self.least.is_none() => found as f64,
            K::NumRet => hits,
            K::NumRel if self.is_listed => relevant as f64,
            K::NumRel | K::Compat { .. } => 0.0,
        })
    }

    fn first(&self) -> &[Option<f64>] {
        &self.found[..self.found.len().min(self.cutoff.unwrap_or(usize::MAX))]
    }

    fn reaches_level(&self, grade: f64) -> bool {
        self.least.is_some_and(|least| grade >= least)
    }

    fn is_relevant(&self, grade: &Option<f64>) -> bool {
        grade.is_some_and(|grade| self.reaches_level(grade))
    }

    /// The number of relevant documents that are judged.
    fn relevant(&self) -> usize {
        let grades = self.grades.values();
        grades.filter(|grade| self.reaches_level(**grade)).count()
    }

    fn hits(&self, of: &[Option<f64>]) -> f64 {
        of.iter().filter(|grade| self.is_relevant(grade)).count() as f64
    }

    /// The precision at each relevant result.
    fn precisions(&self) -> impl Iterator<Item = f64> {
        let relevant = (1..).zip(self.first());
        let relevant = relevant.filter(|(_, grade)| self.is_relevant(grade));
        (1..)
            .zip(relevant)
            .map(|(hits, (rank, _))| f64::from(hits) / f64::from(rank))
    }

    fn ndcg(&self, of: Gain) -> f64 {
        let gain = |grade: f64| match of {
            Gain::Exponential => (grade.exp2() - 1.0).max(0.0),
            _ => grade.max(0.0),
        };
        let cutoff = self.cutoff.unwrap_or(usize::MAX);
        let ideal = dcg(ideal_gains(self.grades, gain).into_iter().take(cutoff));
        let gained = dcg(self.first().iter().map(|grade| grade.map_or(0.0, gain)));
        if ideal > 0.0 { gained / ideal } else { 0.0 }
    }

    fn rank_biased_precision(&self, p: f64) -> f64 {
        let mut weight = (1.0 - p) / (1.0 - p.powf(MAX_COUNTED_RESULTS as f64));
        let mut value = 0.0;
        for grade in self.first().iter().take(MAX_COUNTED_RESULTS) {
            if self.is_relevant(grade) {
                value += weight;
            }
            weight *= p;
        }
        value
    }

    /// For each relevant result, the share of documents judged not relevant that stand below it. Only as many of those count as there are relevant
    /// documents. A negative grade is no judgement.
    fn binary_preferences(&self) -> f64 {
        let is_other = |grade: &f64| *grade >= 0.0 && !self.reaches_level(*grade);
        let relevant = self.relevant();
        let others = self.grades.values().filter(|grade| is_other(grade)).count();
        let (mut above, mut sum) = (0usize, 0.0);
        for grade in self.found {
            if self.is_relevant(grade) {
                let lost = above.min(relevant);
                sum += 1.0 - share(lost as f64, others.min(relevant));
            } else if grade.as_ref().is_some_and(is_other) {
                above += 1;
            }
        }
        sum
    }

    /// For each relevant result, the precision that is expected there if the documents that were pooled but not judged, which have negative grades, are
    /// relevant as often as the judged ones.
    fn inferred_precisions(&self) -> f64 {
        let (mut relevant, mut others, mut unjudged, mut sum) = (0.0, 0.0, 0.0, 0.0);
        for (above, grade) in self.found.iter().enumerate() {
            if self.is_relevant(grade) {
                sum += if above == 0 {
                    1.0
                } else {
                    let rank = (above + 1) as f64;
                    let pooled = relevant + others + unjudged;
                    let precision = (relevant + INFERRED_EPSILON)
                        / (relevant + others + 2.0 * INFERRED_EPSILON);
                    1.0 / rank + pooled / rank * precision
                };
                relevant += 1.0;
            } else if let Some(grade) = grade {
                if *grade < 0.0 {
                    unjudged += 1.0;
                } else {
                    others += 1.0;
                }
            }
        }
        sum
    }

    /// The highest precision from the rank at which the recall is reached; 0 if it is not reached.
    fn interpolated_precision(&self, recall: f64) -> f64 {
        // trec_eval rounds the number of documents in this way
        let needed = (recall * self.relevant() as f64 + 0.9).floor() as usize;
        let from = self.precisions().skip(needed.saturating_sub(1));
        from.fold(0.0, f64::max)
    }

    fn accuracy(&self) -> Option<f64> {
        let (mut relevant, mut others, mut wrong) = (0.0, 0.0, 0.0);
        for grade in self.first() {
            if self.is_relevant(grade) {
                relevant += 1.0;
                wrong += others;
            } else {
                others += 1.0;
            }
        }
        let pairs = relevant * others;
        (pairs > 0.0).then(|| 1.0 - wrong / pairs)
    }
}

/// The value of ERR: the sum of reciprocal ranks, each with the probability that the reader is satisfied there and was not before.
fn expected_reciprocal_rank(grades: &[Option<f64>]) -> f64 {
    let (mut reads_on, mut value) = (1.0, 0.0);
    for (rank, grade) in (1..).zip(grades) {
        let gain = grade.map_or(0.0, |grade| grade.max(0.0).exp2() - 1.0);
        let satisfied = gain / TOP_GRADE_OF_ERR.exp2();
        value += satisfied * reads_on / f64::from(rank);
        reads_on *= 1.0 - satisfied;
    }
    value
}

/// The compatibility of a ranking, in its order, with the ideal ranking: the relevant documents, by grade, then as in the run. A document that the
/// run lacks has the score 0 there.
pub(super) fn compatibility(
    ranking: &[&TextRunLine],
    grades: &HashMap<DocId, f64>,
    p: f64,
    normalize: bool,
) -> f64 {
    let scores: HashMap<&DocId, f64> = ranking
        .iter()
        .map(|line| (&line.doc, line.score.unwrap_or(0.0)))
        .collect();
    let score = |doc: &DocId| scores.get(doc).copied().unwrap_or(0.0);
    let mut ideal: Vec<(&DocId, f64)> = grades
        .iter()
        .filter(|(_, grade)| **grade > 0.0)
        .map(|(doc, grade)| (doc, *grade))
        .collect();
    ideal.sort_by(|(a, of_a), (b, of_b)| {
        let by_grade = of_b.total_cmp(of_a);
        let by_score = || (score(b) + 0.0).total_cmp(&(score(a) + 0.0));
        by_grade.then_with(by_score).then_with(|| a.cmp(b))
    });
    let ideal: Vec<&DocId> = ideal.into_iter().map(|(doc, _)| doc).collect();
    let ranking: Vec<&DocId> = ranking.iter().map(|line| &line.doc).collect();
    let depth = ranking.len().max(ideal.len());
    let overlap = rank_biased_overlap(&ranking, &ideal, p, depth);
    let best = rank_biased_overlap(&ideal, &ideal, p, depth);
    if normalize && best > 0.0 {
        overlap / best
    } else {
        overlap
    }
}

/// Rank-biased overlap (Webber, Moffat and Zobel, 2010) to a depth: the mean over all depths of the share of documents that both rankings have, weighted
/// by powers of `p`.
fn rank_biased_overlap(a: &[&DocId], b: &[&DocId], p: f64, depth: usize) -> f64 {
    // a document is seen once in the first ranking, and a second time in the other one
    let mut seen: HashMap<&DocId, [bool; 2]> = HashMap::new();
    let (mut common, mut sum, mut weights, mut weight) = (0.0, 0.0, 0.0, 1.0);
    for at in 0..depth {
        for (side, ranking) in [a, b].into_iter().enumerate() {
            if let Some(doc) = ranking.get(at) {
                let sides = seen.entry(doc).or_default();
                sides[side] = true;
                if *sides == [true; 2] {
                    common += 1.0;
                }
            }
        }
        sum += weight * common / (at + 1) as f64;
        weights += weight;
        weight *= p;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

fn share(part: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

/// Discounted cumulative gain (Järvelin and Kekäläinen, 2002): the sum of gains, each divided by log2(rank + 1).
pub(super) fn dcg(gains: impl Iterator<Item = f64>) -> f64 {
    (2..)
        .zip(gains)
        .map(|(rank_and_one, gain)| gain / f64::from(rank_and_one).log2())
        .sum()
}

/// The gains of all judged documents, in descending order: the ideal ranking.
pub(super) fn ideal_gains(grades: &HashMap<DocId, f64>, gain: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut gains: Vec<f64> = grades.values().map(|grade| gain(*grade)).collect();
    gains.sort_by(|a, b| b.total_cmp(a));
    gains
}
