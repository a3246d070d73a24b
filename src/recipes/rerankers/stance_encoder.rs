//! Re-rankers that read the beginning of each text together with the topic's claim. A text without words has no value.

use riposte_claims::claims;

use crate::reading::pieces::beginning;
use crate::reading::stance_encoder::StanceReading;
use crate::score::reranker::{Assessed, Assessment, RerankedTexts, Reranker, RerankerModels};
use crate::score::text_stance::TextStanceModel;

/// The probability that the text takes a side on the topic: P(pro) + P(con).
pub(super) struct SideProbability;

impl Reranker for SideProbability {
    fn name(&self) -> &'static str {
        "side"
    }

    fn words(&self) -> [&'static str; 2] {
        ["whether it takes a side", "the side that it takes"]
    }

    fn is_unit(&self) -> bool {
        true
    }

    fn assess(&self, documents: &RerankedTexts, reading: &mut RerankerModels) -> Assessed {
        let model = TextStanceModel::committed();
        let side = |claim: &str, text: &str, reading: StanceReading| {
            let stances = model.stances(claim, text, Some(&[reading.stance]));
            stances.pro + stances.con
        };
        assess(documents, side, reading)
    }
}

/// The log-odds that the text is about the topic.
pub(super) struct RelevanceLogOdds;

impl Reranker for RelevanceLogOdds {
    fn name(&self) -> &'static str {
        "relevance"
    }

    fn words(&self) -> [&'static str; 2] {
        [
            "by the stance encoder",
            "how relevant the stance encoder finds it",
        ]
    }

    fn assess(&self, documents: &RerankedTexts, reading: &mut RerankerModels) -> Assessed {
        let relevance = |_: &str, _: &str, reading: StanceReading| f64::from(reading.relevance);
        assess(documents, relevance, reading)
    }
}

/// Reads each text with the topic's claim. `value` is computed from the claim, the text and the encoder's outputs. Empty without the encoder.
fn assess(
    documents: &RerankedTexts,
    value: impl Fn(&str, &str, StanceReading) -> f64,
    reading: &mut RerankerModels,
) -> Assessed {
    let (claim, _) = claims(&documents.topic.title);
    let texts = documents.texts.iter();
    let pairs: Vec<(&str, &str)> = texts
        .map(|text| (claim.as_str(), beginning(text)))
        .collect();
    let readings = (reading.reader).pair_readings(&pairs, reading.on_event)?;
    let read = documents.texts.iter().zip(readings.unwrap_or_default());
    let values = read.map(|(text, reading)| {
        let has_words = !text.trim().is_empty();
        has_words.then(|| value(&claim, text, reading))
    });
    Ok(Assessment::all(values))
}
