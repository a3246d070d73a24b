//! Is a run valid, and how good is it? Uses the field's words (`trec`) alone, so that the judge
//! shares no bug with the player.

pub mod compare;
pub mod evaluate;
pub mod graded;
pub mod measure;
pub mod stances;
pub mod verify;

use std::collections::BTreeMap;

use crate::trec::TopicId;
use measure::StanceMeasure;
use stances::Confusion;

/// A year of the image task with judgements by topic and stance; its rules and judgements differ a little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// Topics 1–50, image ids of 16 hexadecimal digits, grade 1 counts.
    Touche2022,
    /// Topics 51–100, image ids of 24 (16 in the sample), every grade from 1 on counts.
    Touche2023,
}

impl Edition {
    /// Whether a grade means yes.
    pub fn counts(self, grade: Option<i32>) -> bool {
        grade.is_some_and(|grade| match self {
            Edition::Touche2022 => grade == 1,
            Edition::Touche2023 => grade >= 1,
        })
    }
}

/// What a measure says of a run: a value for each topic, and one for all.
#[derive(Clone, Debug)]
pub struct Values {
    pub topics: BTreeMap<TopicId, f64>,
    summary: Summary,
}

/// How topics make one number.
#[derive(Clone, Debug)]
enum Summary {
    Mean,
    /// The results of all topics count together.
    Pooled(StanceMeasure, BTreeMap<TopicId, Confusion>),
}

impl Values {
    fn new(topics: BTreeMap<TopicId, f64>, summary: Summary) -> Values {
        Values { topics, summary }
    }

    /// The value for all topics; 0 where none counts.
    pub fn all(&self) -> f64 {
        match &self.summary {
            Summary::Mean => self.topics.values().sum::<f64>() / self.topics.len().max(1) as f64,
            Summary::Pooled(measure, confusions) => confusions
                .values()
                .fold(Confusion::default(), |sum, c| sum.and(c))
                .measure(measure.kind, measure.class),
        }
    }
}

/// Measures as TIRA reads them.
fn prototext(measures: &[(&str, String)]) -> String {
    measures
        .iter()
        .map(|(key, value)| format!("measure {{\n key: \"{key}\"\n value: \"{value}\"\n}}\n"))
        .collect()
}
