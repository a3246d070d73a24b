//! The stances of passages (Task 2) held against the judged ones.

use std::collections::BTreeMap;
use std::fmt;

use super::graded::TextRun;
use super::measure::{StanceKind, StanceMeasure};
use super::{Summary, Values};
use crate::trec::ObjectStance;
use crate::trec::qrels::StanceQrels;

/// How often a passage of one stance (row) was listed under another (column). The last column is for results
/// whose line names no stance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion(pub [[u32; 5]; 4]);

fn place(stance: ObjectStance) -> usize {
    match stance {
        ObjectStance::First => 0,
        ObjectStance::Second => 1,
        ObjectStance::Neutral => 2,
        ObjectStance::No => 3,
    }
}

impl Confusion {
    fn count(&mut self, judged: ObjectStance, listed: Option<ObjectStance>) {
        self.0[place(judged)][listed.map_or(4, place)] += 1;
    }

    /// The counts of both.
    pub fn and(mut self, other: &Confusion) -> Confusion {
        for (row, others) in self.0.iter_mut().zip(&other.0) {
            for (count, other) in row.iter_mut().zip(others) {
                *count += other;
            }
        }
        self
    }

    /// Judged results.
    pub fn results(&self) -> u32 {
        self.0.iter().flatten().sum()
    }

    /// Precision, recall or F1 of a class, or the mean over all four; 0 where there is nothing to divide by, so that
    /// a class that is never right counts as 0, also where no passage has it.
    pub fn measure(&self, kind: StanceKind, class: Option<ObjectStance>) -> f64 {
        let Some(class) = class else {
            let of_each = ObjectStance::ALL.map(|class| self.measure(kind, Some(class)));
            return of_each.iter().sum::<f64>() / of_each.len() as f64;
        };
        let at = place(class);
        let right = f64::from(self.0[at][at]);
        let judged = f64::from(self.0[at].iter().sum::<u32>());
        let listed = f64::from(self.0.iter().map(|row| row[at]).sum::<u32>());
        let (part, whole) = match kind {
            StanceKind::Precision => (right, listed),
            StanceKind::Recall => (right, judged),
            StanceKind::F1 => (2.0 * right, judged + listed),
        };
        if whole > 0.0 { part / whole } else { 0.0 }
    }
}

impl fmt::Display for Confusion {
    /// The matrix, with precision, recall and F1 of each class beside it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<16}", "judged \\ listed")?;
        for column in ["FIRST", "SECOND", "NEUTRAL", "NO", "none"] {
            write!(f, "{column:>8}")?;
        }
        writeln!(f, "  precision  recall     F1")?;
        for (class, row) in ObjectStance::ALL.into_iter().zip(&self.0) {
            write!(f, "{:<16}", class.word())?;
            for count in row {
                write!(f, "{count:>8}")?;
            }
            let [precision, recall, f1] =
                [StanceKind::Precision, StanceKind::Recall, StanceKind::F1]
                    .map(|kind| self.measure(kind, Some(class)));
            writeln!(f, "  {precision:>9.3}  {recall:>6.3}  {f1:.3}")?;
        }
        let [precision, recall, f1] = [StanceKind::Precision, StanceKind::Recall, StanceKind::F1]
            .map(|kind| self.measure(kind, None));
        writeln!(
            f,
            "{:<56}  {precision:>9.3}  {recall:>6.3}  {f1:.3}",
            format!("mean of the four, {} judged results", self.results())
        )
    }
}

impl TextRun<'_> {
    /// The confusion of each judged topic, of its first results in trec_eval's order, or of all.
    pub fn confusions(
        &self,
        qrels: &StanceQrels,
        cutoff: Option<usize>,
    ) -> BTreeMap<crate::trec::TopicId, Confusion> {
        let mut topics = BTreeMap::new();
        for (topic, judged) in qrels {
            let mut confusion = Confusion::default();
            if let Some(results) = self.topic(topic) {
                for line in results.by_score.iter().take(cutoff.unwrap_or(usize::MAX)) {
                    if let Some(stance) = judged.get(&line.doc) {
                        confusion.count(*stance, line.stance);
                    }
                }
            }
            topics.insert(topic.clone(), confusion);
        }
        topics
    }

    /// The value of a measure for each judged topic by itself, and over the results of all topics together.
    pub fn measure_stances(&self, qrels: &StanceQrels, measure: &StanceMeasure) -> Values {
        let confusions = self.confusions(qrels, measure.cutoff);
        let topics = confusions
            .iter()
            .map(|(topic, c)| (topic.clone(), c.measure(measure.kind, measure.class)))
            .collect();
        Values::new(topics, Summary::Pooled(*measure, confusions))
    }
}
