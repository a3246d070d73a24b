//! Compares the stances of passages in a run (Task 2) with the judged ones.

use std::collections::{BTreeMap, HashMap};

use crate::confusion::Confusion;
use crate::graded::SortedTextRun;
use crate::measure::StanceMeasure;
use crate::qrels::StanceQrels;
use crate::values::{Aggregation, MeasureValues};
use crate::{DocId, ObjectStance, TopicId};

impl SortedTextRun<'_> {
    /// The confusion matrix of each judged topic, over its first `cutoff` results in trec_eval's order, or over all.
    pub fn confusions(
        &self,
        qrels: &StanceQrels,
        cutoff: Option<usize>,
    ) -> BTreeMap<TopicId, Confusion> {
        let cutoff = cutoff.unwrap_or(usize::MAX);
        let confusion = |topic: &TopicId, judged: &HashMap<DocId, ObjectStance>| {
            let mut confusion = Confusion::default();
            let results = self.topic(topic).into_iter().flat_map(|of| &of.by_score);
            for line in results.take(cutoff) {
                if let Some(stance) = judged.get(&line.doc) {
                    confusion.count(*stance, line.stance);
                }
            }
            confusion
        };
        let topics = qrels.iter();
        topics
            .map(|(topic, judged)| (topic.clone(), confusion(topic, judged)))
            .collect()
    }

    /// The value of a measure for each judged topic, and for the results of all topics together.
    pub fn measure_stances(&self, qrels: &StanceQrels, measure: &StanceMeasure) -> MeasureValues {
        let confusions = self.confusions(qrels, measure.cutoff);
        let topics = confusions
            .iter()
            .map(|(topic, c)| (topic.clone(), c.measure(measure.kind, measure.class)))
            .collect();
        MeasureValues::new(topics, Aggregation::Pooled(*measure, confusions))
    }
}
