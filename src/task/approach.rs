//! Approaches to the image task: TOML files in `approaches/images/`, or a file of the user.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The files of the approaches that come with riposte, the default first.
const IMAGES: [&str; 5] = [
    include_str!("../../approaches/images/riposte.toml"),
    include_str!("../../approaches/images/minsc.toml"),
    include_str!("../../approaches/images/boromir-afinn.toml"),
    include_str!("../../approaches/images/boromir-bert.toml"),
    include_str!("../../approaches/images/aramis.toml"),
];

/// An approach to the image task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageApproach {
    pub name: String,
    /// The publication that describes it.
    pub source: String,
    pub relevance: Relevance,
    pub argument: ArgumentRecipe,
    pub stance: StanceRecipe,
}

/// The channels that determine topic relevance, and their weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relevance {
    pub scale: Scale,
    pub channels: BTreeMap<RelevanceChannel, f64>,
}

/// How the values of a channel are scaled before they are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Scaled to [0, 1]: BM25 scores are divided by the topic's best score in the field, negative cosines become 0, and CLIP's cosines are
    /// scaled from their usual range.
    Unit,
    /// Not scaled.
    Raw,
}

/// A source of evidence for the relevance of an image to a topic.
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
    /// BM25 over the main text and the description of the pages.
    #[serde(rename = "bm25 main")]
    Bm25Main,
    /// BM25 over alternative texts and captions only.
    #[serde(rename = "bm25 caption")]
    Bm25Caption,
    /// Cosine between the topic and the text in the image.
    #[serde(rename = "sentence ocr")]
    SentenceOcr,
    /// Largest cosine between the topic and the title of a page.
    #[serde(rename = "sentence title")]
    SentenceTitle,
    /// Largest cosine between the topic and the words around the image on a page.
    #[serde(rename = "sentence near")]
    SentenceNear,
    /// CLIP's cosine between the prompts of the topic and the image.
    #[serde(rename = "clip topic")]
    ClipTopic,
    /// Mean cosine between the words in or around the image and the most similar arguments of one side. Off without a collection of
    /// arguments.
    #[serde(rename = "arguments")]
    Arguments,
    /// The reciprocal of the best rank at which the crawl found the image for this topic. It depends on the queries that the makers of the
    /// collection chose, not on the image, so only baselines use it.
    #[serde(rename = "crawl")]
    Crawl,
}

impl RelevanceChannel {
    /// All channels, in the order of an explanation.
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
    pub fn name(self) -> &'static str {
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

/// How the argumentativeness of an image is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum ArgumentRecipe {
    /// Not at all: argumentativeness does not change the scores.
    None,
    /// [`crate::score::argument::argues`].
    Picture,
    /// [`crate::score::argument::aramis_argument`].
    Aramis,
}

/// How the stance of an image is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum StanceRecipe {
    /// As P(pro) and P(con) ([`crate::score::stance`]).
    Beliefs,
    /// PRO if a sentiment is positive, CON if it is negative, neither if it is 0.
    Sign { signal: Sentiment },
    /// By the sign of [`crate::score::argument::aramis_stance`].
    Aramis,
    /// By the best rank at which the crawl found the image for a query that ends in " good" (PRO) or " anti" (CON).
    Crawl,
}

/// A sentiment whose sign decides the stance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Sentiment {
    /// AFINN's sum over the main text of the pages.
    #[serde(rename = "afinn main")]
    AfinnMain,
    /// VADER's compound score of the titles of the pages.
    #[serde(rename = "vader title")]
    VaderTitle,
}

impl ImageApproach {
    /// The approach with this name or, if the name ends in `.toml`, the one in this file.
    ///
    /// # Errors
    /// There is no such approach (the message lists all), or the file is not an approach.
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

    /// All approaches that come with riposte, the default first.
    ///
    /// # Errors
    /// A file is damaged, which is a defect of the program.
    pub fn all() -> Result<Vec<Self>> {
        IMAGES.iter().map(|text| Self::parse(text)).collect()
    }

    fn parse(text: &str) -> Result<Self> {
        let approach: Self = toml::from_str(text)?;
        for (channel, weight) in &approach.relevance.channels {
            if !weight.is_finite() || *weight < 0.0 {
                bail!(
                    "the weight of \"{}\" must be 0 or more, not {weight}",
                    channel.name()
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
    fn the_included_approaches_are_parsed() {
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
    fn unknown_parameters_are_errors() {
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
