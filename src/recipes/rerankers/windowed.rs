//! Re-rankers that read the windows of a text one by one. A text has the value of its best window.

use anyhow::Result;

use crate::index::vector;
use crate::score::reranker::{Assessment, RerankedTexts, Reranker, RerankerModels, RerankerNeed};

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

    fn assess(
        &self,
        documents: &RerankedTexts,
        reading: &mut RerankerModels,
    ) -> Result<Vec<Assessment>> {
        let windows = documents.split()?;
        let texts: Vec<&str> = windows.iter().flatten().map(String::as_str).collect();
        let topic = documents.topic.title.as_str();
        let vectors = (reading.reader).compared_vectors(topic, &texts, reading.on_progress)?;
        let Some((topic, vectors)) = vectors else {
            return Ok(Vec::new());
        };
        let cosines = vectors
            .into_iter()
            .map(|window| f64::from(vector::dot(&topic, &window)));
        Ok(Assessment::all(of_windows(&windows, cosines)))
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

    fn needs(&self) -> &'static [RerankerNeed] {
        &[RerankerNeed::CrossEncoder]
    }

    fn assess(
        &self,
        documents: &RerankedTexts,
        reading: &mut RerankerModels,
    ) -> Result<Vec<Assessment>> {
        let windows = documents.split()?;
        let texts: Vec<&str> = windows.iter().flatten().map(String::as_str).collect();
        let topic = &documents.topic.title;
        let scores = (reading.reader).cross_scores(topic, &texts, reading.on_progress)?;
        let Some(scores) = scores else {
            return Ok(Vec::new());
        };
        let scores = scores.into_iter().map(f64::from);
        Ok(Assessment::all(of_windows(&windows, scores)))
    }
}

/// The values of each text's windows. `values` has those of all texts, in the order of the texts.
fn of_windows(windows: &[Vec<String>], mut values: impl Iterator<Item = f64>) -> Vec<Vec<f64>> {
    let windows = windows.iter();
    windows
        .map(|of_text| values.by_ref().take(of_text.len()).collect())
        .collect()
}
