//! Re-rankers that read the windows of a text one by one. A text has the value of its best window.

use anyhow::Result;

use crate::score::reranker::{
    Assessed, Assessment, RerankedTexts, Reranker, RerankerModels, RerankerNeed, cosines,
};

/// The cosine between the sentence vectors of the topic and each window.
pub(crate) struct SentenceCosine;

impl Reranker for SentenceCosine {
    fn name(&self) -> &'static str {
        "sentence"
    }

    fn words(&self) -> [&'static str; 2] {
        [
            "likeness in meaning",
            "its likeness to the topic in meaning",
        ]
    }

    fn need(&self) -> RerankerNeed {
        RerankerNeed::AnyLanguage
    }

    fn assess(&self, documents: &RerankedTexts, reading: &mut RerankerModels) -> Assessed {
        assess(documents, |topic, windows| {
            cosines(reading.reader, topic, windows, reading.on_event)
        })
    }
}

/// The cross-encoder's score of the topic with each window.
pub(super) struct CrossEncoderScore;

impl Reranker for CrossEncoderScore {
    fn name(&self) -> &'static str {
        "cross"
    }

    fn words(&self) -> [&'static str; 2] {
        [
            "by the cross-encoder",
            "how relevant the cross-encoder finds it",
        ]
    }

    fn need(&self) -> RerankerNeed {
        RerankerNeed::CrossEncoder
    }

    fn assess(&self, documents: &RerankedTexts, reading: &mut RerankerModels) -> Assessed {
        assess(documents, |topic, windows| {
            (reading.reader).cross_scores(topic, windows, reading.on_event)
        })
    }
}

/// Assesses each text by the values that `value` gives to its windows, from the topic and the windows of all texts. Empty if there are no values.
fn assess(
    documents: &RerankedTexts,
    value: impl FnOnce(&str, &[&str]) -> Result<Option<Vec<f64>>>,
) -> Assessed {
    let windows = documents.split()?;
    let texts: Vec<&str> = windows.iter().flatten().map(String::as_str).collect();
    let Some(values) = value(&documents.topic.title, &texts)? else {
        return Ok(Vec::new());
    };
    let mut values = values.into_iter();
    let of_text =
        |windows: &Vec<String>| -> Vec<f64> { values.by_ref().take(windows.len()).collect() };
    Ok(Assessment::all(windows.iter().map(of_text)))
}
