//! The values of a measure.

use std::collections::{BTreeMap, BTreeSet};

use crate::TopicId;
use crate::confusion::Confusion;
use crate::measure::StanceMeasure;

/// The values of a measure for a run: one for each topic, and one for all topics together.
#[derive(Clone, Debug)]
pub struct MeasureValues {
    /// The topics that the measure counts.
    pub topics: BTreeMap<TopicId, f64>,
    pub(crate) aggregation: Aggregation,
}

/// How the value for all topics is computed.
#[derive(Clone, Debug)]
pub(crate) enum Aggregation {
    /// As the mean over topics.
    Mean,
    /// As the sum over topics: a number of documents or of topics.
    Sum,
    /// From the results of all topics, counted together.
    Pooled(StanceMeasure, BTreeMap<TopicId, Confusion>),
}

impl MeasureValues {
    pub(crate) fn new(topics: BTreeMap<TopicId, f64>, aggregation: Aggregation) -> MeasureValues {
        // an empty sum is minus zero
        let topics = topics.into_iter().map(|(topic, of)| (topic, of + 0.0));
        let topics = topics.collect();
        MeasureValues {
            topics,
            aggregation,
        }
    }

    /// The values for these topics alone.
    pub(crate) fn of(&self, topics: &BTreeSet<&TopicId>) -> MeasureValues {
        let mut values = self.clone();
        values.topics.retain(|topic, _| topics.contains(topic));
        if let Aggregation::Pooled(_, confusions) = &mut values.aggregation {
            confusions.retain(|topic, _| topics.contains(topic));
        }
        values
    }

    /// Whether the values are numbers of documents or of topics, whose sum is the value for all topics.
    pub fn are_counts(&self) -> bool {
        matches!(self.aggregation, Aggregation::Sum)
    }

    /// The value for all topics; 0 if there is no topic.
    pub fn all(&self) -> f64 {
        match &self.aggregation {
            Aggregation::Sum => self.topics.values().sum::<f64>() + 0.0,
            Aggregation::Mean => {
                let sum: f64 = self.topics.values().sum();
                (sum + 0.0) / self.topics.len().max(1) as f64
            }
            Aggregation::Pooled(measure, confusions) => confusions
                .values()
                .fold(Confusion::default(), |sum, c| sum.and(c))
                .measure(measure.kind, measure.class),
        }
    }
}

/// Formats measures as TIRA's `evaluation.prototext`.
pub(crate) fn prototext(measures: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let measure = |(key, value)| format!("measure {{\n key: \"{key}\"\n value: \"{value}\"\n}}\n");
    measures.into_iter().map(measure).collect()
}
