//! How well the sentences of a text that argue match a topic, by the formula of the team Olivier Armstrong (Touché 2022).

use anyhow::Result;

use crate::index::analyzer::{self, Analyzer};
use crate::index::vector;
use crate::reading::Reader;
use crate::reading::steps::OnOutputs;
use crate::score::arguing::{okapi, scaled_by_maximum};
use crate::score::object_stance::{Objects, PREFERENCE};
use crate::score::text_stance::Model;
use crate::topic::question;
use crate::topic::words::sentences;
use crate::trec::topic::Topic;

/// Maximum number of sentences of a text that are read.
const SENTENCES: usize = 50;
/// A sentence argues if P(pro) + P(con) is at least this.
const ARGUES: f64 = 0.5;
/// The analyzer of sentences, as close as possible to Whoosh's StemmingAnalyzer.
const TEXT_ANALYZER: &str = "stop=whoosh stem=porter length=2-40";
/// The analyzer of the topic. Its longer stop list takes the place of NLTK's.
const TOPIC_ANALYZER: &str = "stop=long stem=porter length=2-40";

/// For each text one value of each of the three opinions; no value if the text has fewer than two sentences. Without the pair encoder, the lists are
/// empty, because words are not enough to decide which sentences argue.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguing {
    /// BM25 of the sentences that argue, divided by the largest among the texts.
    pub bm25: Vec<Vec<f64>>,
    /// The share of sentences that argue, in [0, 1].
    pub share: Vec<Vec<f64>>,
    /// The mean cosine between the topic and a sentence that argues, 0 if none does. Empty without a sentence model.
    pub cosine: Vec<Vec<f64>>,
}

impl Arguing {
    /// Reads the texts.
    ///
    /// # Errors
    /// As for [`Reader`].
    pub(super) fn read(
        topic: &Topic,
        texts: &[String],
        reader: &mut Reader,
        on_progress: &mut OnOutputs,
    ) -> Result<Self> {
        let of_texts: Vec<Vec<&str>> = texts.iter().map(|text| several_sentences(text)).collect();
        let Some(arguing) = arguing_sentences(topic, &of_texts, reader, on_progress)? else {
            return Ok(Arguing::default());
        };
        // `values` has only the texts that are compared; texts that are passed over get no value
        let compared = |values: Vec<f64>| -> Vec<Vec<f64>> {
            let mut values = values.into_iter();
            let of_text = |sentences: &Vec<&str>| {
                let own = usize::from(!sentences.is_empty());
                values.by_ref().take(own).collect()
            };
            of_texts.iter().map(of_text).collect()
        };
        let pairs = || {
            of_texts
                .iter()
                .zip(&arguing)
                .filter(|(all, _)| !all.is_empty())
        };

        let mut analyzer = TEXT_ANALYZER.parse::<Analyzer>()?.build();
        let terms: Vec<Vec<String>> = pairs()
            .map(|(_, found)| analyzer::terms(&mut analyzer, &found.join(" ")))
            .collect();
        let mut analyzer = TOPIC_ANALYZER.parse::<Analyzer>()?.build();
        let bm25 = okapi(&analyzer::terms(&mut analyzer, &topic.title), &terms);

        let share = pairs().map(|(all, found)| found.len() as f64 / all.len() as f64);
        let mut cosine = Vec::new();
        let mut read = vec![topic.title.as_str()];
        read.extend(arguing.iter().flatten());
        if let Some(vectors) = reader.sentence_vectors(&read, on_progress)? {
            let mut vectors = vectors.into_iter();
            let topic = vectors.next().unwrap_or_default();
            let mut cosines = vectors.map(|vector| f64::from(vector::dot(&topic, &vector)));
            let mut mean = |found: &Vec<&str>| {
                let sum: f64 = cosines.by_ref().take(found.len()).sum();
                sum / found.len().max(1) as f64
            };
            cosine = compared(pairs().map(|(_, found)| mean(found)).collect());
        }
        Ok(Arguing {
            bm25: compared(scaled_by_maximum(&bm25)),
            share: compared(share.collect()),
            cosine,
        })
    }
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

/// The sentences of each text that argue. `None` without the pair encoder.
///
/// If the topic names two objects, these are the sentences that prefer one to the other: the encoder reads them with the objects masked, as it was
/// trained to. In this way it distinguishes sentences that argue from those that only name an object much better than with the topic's question. For
/// other topics, these are the sentences that take a side on the claim.
fn arguing_sentences<'a>(
    topic: &Topic,
    of_texts: &[Vec<&'a str>],
    reader: &mut Reader,
    on_progress: &mut OnOutputs,
) -> Result<Option<Vec<Vec<&'a str>>>> {
    let objects = topic.objects.as_ref();
    let objects = objects.map(|[first, second]| Objects::new(first, second));
    let claim = match objects {
        Some(_) => PREFERENCE.to_owned(),
        None => question::claims(&topic.title).0,
    };
    let masked = |sentence: &&str| -> String {
        let masked = objects.as_ref().map(|objects| objects.masked(sentence));
        let masked = masked.unwrap_or_default().into_iter().next();
        masked.map_or_else(|| (*sentence).to_owned(), |[masked, _]| masked)
    };
    let read: Vec<String> = of_texts.iter().flatten().map(masked).collect();
    let read_text = read.iter().map(String::as_str);
    let pairs: Vec<(&str, &str)> = read_text.map(|text| (claim.as_str(), text)).collect();
    let Some(logits) = reader.pair_logits(&pairs, on_progress)? else {
        return Ok(None);
    };
    let model = Model::committed();
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
