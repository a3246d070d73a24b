//! Olivier Armstrong (Touché 2022): how well the arguing sentences of a text match the topic.

use anyhow::Result;
use riposte_claims::claims;
use riposte_claims::words::sentences;
use riposte_eval::topic::Topic;

use crate::index::analyzer::{self, Analyzer};
use crate::score::object_stance::{Objects, PREFERENCE};
use crate::score::okapi::okapi;
use crate::score::reranker::{self, Assessed, Assessment, RerankedTexts, Reranker, RerankerModels};
use crate::score::text_stance::TextStanceModel;

/// Maximum number of sentences of a text that are read.
const SENTENCES: usize = 50;
/// A sentence argues if P(pro) + P(con) is at least this.
const ARGUES: f64 = 0.5;
/// The analyzer of sentences, as close as possible to Whoosh's StemmingAnalyzer.
const TEXT_ANALYZER: &str = "stop=whoosh stem=porter length=2-40";
/// The analyzer of the topic. Its longer stop list takes the place of NLTK's.
const TOPIC_ANALYZER: &str = "stop=long stem=porter length=2-40";

/// Three re-rankers. A text of fewer than two sentences has no value. Without the stance encoder, no text has one, because words are not enough to
/// decide which sentences argue.
#[derive(Clone, Copy, Debug)]
pub enum Arguing {
    /// BM25 of the sentences that argue, divided by the largest among the texts.
    Bm25,
    /// The share of sentences that argue, in [0, 1].
    Share,
    /// The mean cosine between the topic and a sentence that argues, 0 if none does.
    Cosine,
}

impl Reranker for Arguing {
    fn name(&self) -> &'static str {
        match self {
            Arguing::Bm25 => "argument-bm25",
            Arguing::Share => "argument-share",
            Arguing::Cosine => "argument-cosine",
        }
    }

    fn words(&self) -> [&'static str; 2] {
        let bar = match self {
            Arguing::Bm25 => "terms in arguing sentences",
            Arguing::Share => "share of arguing sentences",
            Arguing::Cosine => "arguing sentences in meaning",
        };
        [bar, ""]
    }

    fn is_unit(&self) -> bool {
        !matches!(self, Arguing::Cosine)
    }

    fn assess(&self, documents: &RerankedTexts, reading: &mut RerankerModels) -> Assessed {
        let (topic, texts) = (documents.topic, documents.texts.iter());
        let of_texts: Vec<Vec<&str>> = texts.map(|text| several_sentences(text)).collect();
        let Some(arguing) = arguing_sentences(topic, &of_texts, reading)? else {
            return Ok(Vec::new());
        };
        let compared = of_texts.iter().zip(&arguing);
        let compared = compared.filter(|(all, _)| !all.is_empty());
        let found: Vec<&Vec<&str>> = compared.clone().map(|(_, found)| found).collect();
        let values = match self {
            Arguing::Bm25 => Some(bm25(topic, &found)?),
            Arguing::Share => {
                let shares = compared.map(|(all, found)| found.len() as f64 / all.len() as f64);
                Some(shares.collect())
            }
            Arguing::Cosine => cosines(topic, &found, reading)?,
        };
        let Some(values) = values else {
            return Ok(Vec::new());
        };
        // `values` has only the texts that are compared; the others get no value
        let mut values = values.into_iter();
        let value = |all: &Vec<&str>| (!all.is_empty()).then(|| values.next())?;
        Ok(Assessment::all(of_texts.iter().map(value)))
    }
}

/// BM25 of the arguing sentences of each text, divided by the largest value.
fn bm25(topic: &Topic, compared: &[&Vec<&str>]) -> Result<Vec<f64>> {
    let mut analyzer = TEXT_ANALYZER.parse::<Analyzer>()?.build();
    let terms = compared.iter();
    let terms = terms.map(|found| analyzer::terms(&mut analyzer, &found.join(" ")));
    let terms: Vec<Vec<String>> = terms.collect();
    let mut analyzer = TOPIC_ANALYZER.parse::<Analyzer>()?.build();
    let scores = okapi(&analyzer::terms(&mut analyzer, &topic.title), &terms);
    Ok(scaled_by_maximum(&scores))
}

/// The mean cosine between the topic and the arguing sentences of each text. `None` without a sentence model.
fn cosines(
    topic: &Topic,
    compared: &[&Vec<&str>],
    reading: &mut RerankerModels,
) -> Result<Option<Vec<f64>>> {
    let read: Vec<&str> = compared.iter().copied().flatten().copied().collect();
    let cosines = reranker::cosines(reading.reader, &topic.title, &read, reading.on_event)?;
    let Some(cosines) = cosines else {
        return Ok(None);
    };
    let mut cosines = cosines.into_iter();
    let mean = |found: &&Vec<&str>| {
        let sum: f64 = cosines.by_ref().take(found.len()).sum();
        sum / found.len().max(1) as f64
    };
    Ok(Some(compared.iter().map(mean).collect()))
}

/// Each value divided by the largest, if that is above 0.
fn scaled_by_maximum(values: &[f64]) -> Vec<f64> {
    let high = values.iter().copied().fold(0.0, f64::max);
    let divisor = if high > 0.0 { high } else { 1.0 };
    values.iter().map(|value| value / divisor).collect()
}

/// The first sentences of a text, if there are at least two.
fn several_sentences(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = sentences(text).iter().map(|s| s.text).collect();
    found.truncate(SENTENCES);
    if found.len() < 2 {
        found.clear();
    }
    found
}

/// The sentences of each text that argue. `None` without the stance encoder.
///
/// If the topic names two objects, these are the sentences that prefer one to the other: the encoder reads them with the objects masked, as it was
/// trained to. In this way it distinguishes sentences that argue from those that only name an object much better than with the topic's question. For
/// other topics, these are the sentences that take a side on the claim.
fn arguing_sentences<'a>(
    topic: &Topic,
    of_texts: &[Vec<&'a str>],
    reading: &mut RerankerModels,
) -> Result<Option<Vec<Vec<&'a str>>>> {
    let objects = topic.objects.as_ref();
    let objects = objects.map(|[first, second]| Objects::new(first, second));
    let claim = match objects {
        Some(_) => PREFERENCE.to_owned(),
        None => claims(&topic.title).0,
    };
    let masked = |sentence: &&str| -> String {
        let masked = objects.as_ref().map(|objects| objects.masked(sentence));
        let masked = masked.unwrap_or_default().into_iter().next();
        masked.map_or_else(|| (*sentence).to_owned(), |[masked, _]| masked)
    };
    let read: Vec<String> = of_texts.iter().flatten().map(masked).collect();
    let read_text = read.iter().map(String::as_str);
    let pairs: Vec<(&str, &str)> = read_text.map(|text| (claim.as_str(), text)).collect();
    let Some(logits) = (reading.reader).pair_logits(&pairs, reading.on_event)? else {
        return Ok(None);
    };
    let model = TextStanceModel::committed();
    let mut argues = read.iter().zip(&logits).map(|(text, logits)| {
        let stances = model.stances(&claim, text, Some(std::slice::from_ref(logits)));
        stances.pro + stances.con >= ARGUES
    });
    let of_text = |sentences: &Vec<&'a str>| -> Vec<&'a str> {
        let sentences = sentences.iter().copied().zip(&mut argues);
        let arguing = sentences.filter(|(_, argues)| *argues);
        arguing.map(|(sentence, _)| sentence).collect()
    };
    Ok(Some(of_texts.iter().map(of_text).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_becomes_1() {
        assert_eq!(scaled_by_maximum(&[2.0, 0.0, 4.0]), [0.5, 0.0, 1.0]);
        assert_eq!(scaled_by_maximum(&[0.0, -1.0]), [0.0, -1.0]);
    }
}
