//! Approaches: how a task is done, as data. The files are in `approaches/`; a user may bring another.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The approaches that come with riposte to the image task, the default first.
const IMAGES: [&str; 5] = [
    include_str!("../../approaches/images/riposte.toml"),
    include_str!("../../approaches/images/minsc.toml"),
    include_str!("../../approaches/images/boromir-afinn.toml"),
    include_str!("../../approaches/images/boromir-bert.toml"),
    include_str!("../../approaches/images/aramis.toml"),
];

/// How images are retrieved.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageApproach {
    pub name: String,
    /// The paper, or whose own it is.
    pub source: String,
    pub relevance: Relevance,
    pub argument: ArgumentRecipe,
    pub stance: StanceRecipe,
}

/// Channels of topic relevance and their weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relevance {
    pub scale: Scale,
    pub channels: BTreeMap<RelevanceChannel, f64>,
}

/// What happens to a channel's numbers before they are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Brought to [0, 1]: BM25 by the topic's best score in that field, cosines from 0 up.
    Unit,
    /// As they are.
    Raw,
}

/// One opinion on whether an image is on topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum RelevanceChannel {
    /// BM25 over the text in the image.
    #[serde(rename = "bm25 ocr")]
    Bm25Ocr,
    /// BM25 over titles and headings.
    #[serde(rename = "bm25 title")]
    Bm25Title,
    /// BM25 over alternative texts, captions and the words around the image.
    #[serde(rename = "bm25 near")]
    Bm25Near,
    /// BM25 over the pages' main text and description.
    #[serde(rename = "bm25 main")]
    Bm25Main,
    /// BM25 over alternative texts and captions alone.
    #[serde(rename = "bm25 caption")]
    Bm25Caption,
    /// Cosine of topic and text in the image.
    #[serde(rename = "sentence ocr")]
    SentenceOcr,
    /// Cosine of topic and title, best page.
    #[serde(rename = "sentence title")]
    SentenceTitle,
    /// Cosine of topic and words around the image, best page.
    #[serde(rename = "sentence near")]
    SentenceNear,
    /// Cosine of the topic's prompts and the image.
    #[serde(rename = "clip topic")]
    ClipTopic,
    /// Cosine of what was argued about the topic and the words in or around the image; without a corpus of arguments it is off.
    #[serde(rename = "arguments")]
    Arguments,
    /// From the rank at which the crawl found the image for this topic. Tells what the makers of a
    /// collection asked, not what an image shows: no approach but baselines uses it.
    #[serde(rename = "crawl")]
    Crawl,
}

impl RelevanceChannel {
    /// All of them, in the order of an explanation.
    pub const ALL: [RelevanceChannel; 11] = [
        RelevanceChannel::Bm25Ocr,
        RelevanceChannel::Bm25Title,
        RelevanceChannel::Bm25Near,
        RelevanceChannel::Bm25Main,
        RelevanceChannel::Bm25Caption,
        RelevanceChannel::SentenceOcr,
        RelevanceChannel::SentenceTitle,
        RelevanceChannel::SentenceNear,
        RelevanceChannel::ClipTopic,
        RelevanceChannel::Arguments,
        RelevanceChannel::Crawl,
    ];

    /// The name in files and explanations.
    pub fn word(self) -> &'static str {
        match self {
            RelevanceChannel::Bm25Ocr => "bm25 ocr",
            RelevanceChannel::Bm25Title => "bm25 title",
            RelevanceChannel::Bm25Near => "bm25 near",
            RelevanceChannel::Bm25Main => "bm25 main",
            RelevanceChannel::Bm25Caption => "bm25 caption",
            RelevanceChannel::SentenceOcr => "sentence ocr",
            RelevanceChannel::SentenceTitle => "sentence title",
            RelevanceChannel::SentenceNear => "sentence near",
            RelevanceChannel::ClipTopic => "clip topic",
            RelevanceChannel::Arguments => "arguments",
            RelevanceChannel::Crawl => "crawl",
        }
    }
}

/// Whether and how argumentativeness is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum ArgumentRecipe {
    /// Every image counts as argumentative.
    None,
    /// [`crate::score::argument::argues`].
    Picture,
    /// [`crate::score::argument::aramis_argument`].
    Aramis,
}

/// How the lists for PRO and CON are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum StanceRecipe {
    /// P(pro) and P(con) ([`crate::score::stance`]).
    Beliefs,
    /// PRO where a sentiment is above 0, CON where it is below; neither where there is none.
    Sign { signal: Sentiment },
    /// The sign of [`crate::score::argument::aramis_stance`].
    Aramis,
    /// Best crawl rank of the topic's queries that end in " good" and " anti".
    Crawl,
}

/// A sentiment that decides a stance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Sentiment {
    /// AFINN's sum over the pages' main text.
    #[serde(rename = "afinn main")]
    AfinnMain,
    /// VADER's compound of the pages' titles.
    #[serde(rename = "vader title")]
    VaderTitle,
}

impl ImageApproach {
    /// The approach of that name, or in the file of that name if it ends in `.toml`.
    ///
    /// Errors: no such approach (the message lists them), a file that is not one.
    pub fn find(name: &str) -> Result<Self> {
        if name.ends_with(".toml") {
            let text = std::fs::read_to_string(Path::new(name))
                .with_context(|| format!("cannot read the approach in {name}"))?;
            return Self::parse(&text).with_context(|| format!("{name} is not an approach"));
        }
        let all = Self::all()?;
        match all.iter().find(|approach| approach.name == name) {
            Some(approach) => Ok(approach.clone()),
            None => {
                let names: Vec<&str> = all.iter().map(|a| a.name.as_str()).collect();
                bail!(
                    "there is no approach named {name}: choose one of {}, or a file that ends in .toml",
                    names.join(", ")
                )
            }
        }
    }

    /// All that come with riposte, the default first.
    pub fn all() -> Result<Vec<Self>> {
        IMAGES.iter().map(|text| Self::parse(text)).collect()
    }

    fn parse(text: &str) -> Result<Self> {
        let approach: Self = toml::from_str(text)?;
        for (channel, weight) in &approach.relevance.channels {
            if !weight.is_finite() || *weight < 0.0 {
                bail!(
                    "the weight of \"{}\" must be 0 or more, not {weight}",
                    channel.word()
                );
            }
        }
        Ok(approach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_approaches_that_come_along_are_read() {
        let names: Vec<_> = ImageApproach::all()
            .unwrap()
            .into_iter()
            .map(|a| a.name)
            .collect();
        assert_eq!(
            names,
            [
                "riposte",
                "minsc",
                "boromir-afinn",
                "boromir-bert",
                "aramis"
            ]
        );
    }

    #[test]
    fn unknown_parameters_are_said_to_be_unknown() {
        let good = IMAGES[0];
        for (from, to, message) in [
            ("\"bm25 near\"", "\"bm25 far\"", "bm25 far"),
            ("model = \"beliefs\"", "model = \"guess\"", "guess"),
            ("name =", "names =", "names"),
            (
                "\"bm25 near\" = 0.2",
                "\"bm25 near\" = -1.0",
                "must be 0 or more",
            ),
        ] {
            let error = format!(
                "{:#}",
                ImageApproach::parse(&good.replace(from, to)).unwrap_err()
            );
            assert!(error.contains(message), "{error}");
        }
        let error = ImageApproach::find("nobody").unwrap_err().to_string();
        assert!(error.contains("riposte, minsc"), "{error}");
    }
}
