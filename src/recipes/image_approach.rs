//! Approaches to the image task: TOML files in `approaches/images/`, or a file of the user.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;

use crate::collection::task::Task;
use crate::index::analyzer::Analyzer;
use crate::limits::MAX_CLUSTERS;
use crate::recipes::approaches::ApproachRecipe;
use crate::recipes::channels::SignalKey;
use crate::recipes::checks::{At, check_weight, ensure_at};
use crate::recipes::settings::Setting;
use crate::recipes::{NamedApproach, approaches};
use crate::score::mixture::Scaling;
pub use crate::score::rerank::Scale;
use crate::score::signal::SignalNeed;
use crate::systems::picture_clusters::PictureClusters;

/// An approach to the image task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageApproach {
    pub name: String,
    /// The publication that describes the approach; empty for a user's approach.
    #[serde(default)]
    pub source: String,
    /// What the publication does not say, and what riposte does differently.
    #[serde(default)]
    pub unknown: String,
    /// The text of the file.
    #[serde(skip)]
    pub text: String,
    /// The settings that were typed: `k1=0.9`. `text` has them already.
    #[serde(skip)]
    pub set: Vec<String>,
    #[serde(default)]
    pub(crate) form: ListForm,
    /// The name of the sentence encoder; without it, the first that is installed. What the user chooses for a run precedes it, and the same holds for
    /// other models.
    pub sentence: Option<String>,
    /// The name of the image-text model.
    pub clip: Option<String>,
    /// The name of a second image-text model; without it, there is none.
    #[serde(rename = "image-text")]
    pub image_text: Option<String>,
    #[serde(default)]
    pub(crate) query: QueryRecipe,
    pub relevance: RelevanceRecipe,
    pub(crate) argument: ArgumentRecipe,
    pub(crate) stance: StanceRecipe,
    #[serde(default)]
    pub(crate) lists: ListRecipe,
}

/// What the lists of a run are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ListForm {
    /// One list of images for the claim of each topic, and one against it (2022 and 2023).
    #[default]
    Stances,
    /// One list for each claim, of images that convey it (2024 and 2025).
    Claims,
}

/// How the words of a topic are changed before the search. The steps are applied in the order of these fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QueryRecipe {
    /// Characters that are deleted.
    pub delete: String,
    /// Words, in lower case, that are left out. Words are separated by white space.
    pub leave_out: Vec<String>,
    /// The base forms that replace the remaining words; with `None` the words stay unchanged.
    pub lemmas: Option<Lemmas>,
}

/// Base forms of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Lemmas {
    /// Base forms of nouns, as [`crate::index::wordnet::WordNet::noun`] finds them in an installed copy of WordNet.
    WordnetNouns,
}

/// The channels that determine topic relevance, and their weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelevanceRecipe {
    /// Either [`Scale::Unit`] or [`Scale::Raw`].
    pub scale: Scale,
    pub(crate) channels: BTreeMap<SignalKey, f64>,
    /// The analyzer of the words of images and of the query.
    #[serde(
        default = "crate::index::images::analyzer",
        deserialize_with = "crate::recipes::analyzers::read"
    )]
    pub analyzer: Analyzer,
    /// The weight μ of the Dirichlet prior in the channel "dirichlet main".
    pub mu: Option<f64>,
    #[serde(default)]
    pub(crate) candidates: Eligible,
    /// The weight, 0 or more, of the stance encoder's estimate that the texts of a candidate are about the topic. All channels together have the weight
    /// 1. The estimate does not affect which images are candidates.
    #[serde(default)]
    pub reading: f64,
    /// Clusters of pictures. The relevance of an image is multiplied by the weight of its cluster.
    pub clusters: Option<PictureClusters>,
}

impl RelevanceRecipe {
    /// Whether one of the signals has a need that `is_meant` accepts.
    pub(crate) fn uses(&self, is_meant: impl Fn(SignalNeed) -> bool) -> bool {
        let mut needs = self.channels.keys().map(|key| key.signal().need);
        needs.any(is_meant)
    }
}

/// The images that can be listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Eligible {
    /// Images with a relevance above 0.
    #[default]
    Matching,
    /// All images, including those without a word of the query.
    All,
    /// Images that the crawl found for the topic. "dirichlet main" counts words only in these images.
    Crawled,
}

/// How the lists are made from the candidates.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ListRecipe {
    pub cut: Cut,
    /// Whether several images of the same picture are listed. With the stance "crawl", which does not look at pictures, they always are.
    pub duplicates: bool,
    pub score: ScoreRecipe,
    /// The number of images that remain if the most relevant images are chosen before their stance is estimated; 100 if it is not given.
    pub pool: Option<usize>,
    /// Whether an image can be in both lists of a topic, even if the user does not choose this.
    pub overlap: bool,
}

/// Whether the most relevant images are chosen before or after their stance is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// The most relevant candidates remain, as many as [`ListRecipe::pool`] says, whatever their stance.
    #[default]
    BeforeStance,
    /// All candidates remain. Images of another stance are removed from a list before its best images are taken.
    AfterStance,
}

/// The score of an image in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum ScoreRecipe {
    /// `relevance × (1 + argues + stance)`.
    #[default]
    Product,
    /// Only the score of the stance.
    Stance,
    /// `topic · relevance + (1 - topic) · argues`, with values that are scaled within each list.
    Mixture {
        /// The weight of relevance, in [0, 1].
        topic: f64,
        scaling: Scaling,
    },
}

/// How the argumentativeness of an image is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum ArgumentRecipe {
    /// It is not estimated, and does not change the scores.
    None,
    /// By [`crate::score::argument::argues`].
    Picture,
    /// By the weighted terms of [`crate::systems::aramis`]: diagram, sentiment and length of the text in the picture, sentiment of the page,
    /// red and green.
    Aramis { weights: [f64; 5] },
    /// By the network of [`crate::systems::aramis::networks`].
    #[serde(rename = "aramis-neural")]
    AramisNeural,
}

/// How the stance of an image is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum StanceRecipe {
    /// As P(pro) and P(con) ([`crate::score::stance`]).
    Beliefs,
    /// PRO if a sentiment is positive, CON if it is negative, neither if it is 0.
    Sign { signal: Sentiment },
    /// By the sign of the weighted terms of [`crate::systems::aramis`]: mood of the colours, sentiment of the text in the picture, sentiment
    /// of the page.
    Aramis {
        weights: [f64; 3],
        /// All signs are reversed if VADER's score of the query is below this.
        turn_below: f64,
    },
    /// By the network of [`crate::systems::aramis::networks`]: PRO, CON or neither.
    #[serde(rename = "aramis-neural")]
    AramisNeural,
    /// Every image is on both sides, so only relevance decides.
    Both,
    /// The likeliest of PRO, CON and neither, as the stance encoder reads the texts ([`crate::score::text_stance`]). The score is the probability of
    /// that side. If only one of the two texts takes a side, with probability p, the score is `p / 2 + (1 - q) / 4`, where q is the probability
    /// of the other text's decision. If both take the same side, the score is the mean; if they take different sides, the image is on neither.
    Texts { of: StanceTexts },
    /// By the smallest rank at which the crawl found the image for a query that ends in " good" (PRO) or " anti" (CON). The score is (101 - rank) /
    /// 100. If both ranks are equal, the one that comes first in the evidence counts.
    Crawl,
}

/// The texts of an image that decide its stance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StanceTexts {
    /// The titles of the image's pages and the words around the image.
    Page,
    /// The text in the image.
    Picture,
    Both,
}

impl StanceRecipe {
    /// Whether the stance encoder reads the texts of the candidates.
    pub(crate) fn reads_texts(&self) -> bool {
        matches!(self, StanceRecipe::Beliefs | StanceRecipe::Texts { .. })
    }

    /// Whether each image is on one side or on neither, independently of other images. Such a stance is cheap enough to be estimated for all images.
    pub(crate) fn is_by_sign(&self) -> bool {
        matches!(
            self,
            StanceRecipe::Sign { .. } | StanceRecipe::Aramis { .. } | StanceRecipe::AramisNeural
        )
    }
}

/// A sentiment whose sign decides the stance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Sentiment {
    /// AFINN's sum over the main text of the pages.
    #[serde(rename = "afinn main")]
    AfinnMain,
    /// VADER's compound score of the titles of the pages.
    #[serde(rename = "vader title")]
    VaderTitle,
    /// The sum of VADER's compound scores of the main text of each page and of the text in the image.
    #[serde(rename = "vader main and ocr")]
    VaderMainAndOcr,
}

impl ImageApproach {
    /// The approach with this name or, if the name ends in `.toml`, the one in this file.
    ///
    /// # Errors
    /// There is no such approach (the message names a similar one or lists all), or the file is not an approach.
    pub fn find(name: &str) -> Result<Self> {
        approaches::find(Task::Images, name, &[])
    }

    /// Like [`ImageApproach::find`], changed by settings.
    ///
    /// # Errors
    /// Those of [`ImageApproach::find`], and a wrong setting, whose option the message names.
    pub fn find_with(name: &str, settings: &[Setting]) -> Result<Self> {
        approaches::find(Task::Images, name, settings)
    }

    /// The model that the recipe names for a channel.
    pub(crate) fn model(&self, channel: &str) -> Option<&str> {
        let named = match channel {
            "sentence" => &self.sentence,
            "clip" => &self.clip,
            "image-text" => &self.image_text,
            _ => &None,
        };
        named.as_deref()
    }

    /// Its name and its settings.
    pub(crate) fn named(&self) -> NamedApproach<'_> {
        NamedApproach {
            name: &self.name,
            set: &self.set,
        }
    }

    /// Checks that the tables of the recipe fit together.
    fn check_tables(&self) -> Result<()> {
        let of_texts = self.stance.reads_texts();
        ensure_at!(
            "relevance.reading",
            self.relevance.reading == 0.0 || of_texts,
            "a weight of reading needs the stance \"beliefs\" or \"texts\": other stances do not read texts"
        );
        ensure_at!(
            "lists.cut",
            self.stance.is_by_sign() || self.lists.cut == Cut::BeforeStance,
            "only the stances \"sign\", \"aramis\" and \"aramis-neural\" are estimated for all images: cut = \"after-stance\" needs one of them"
        );
        ensure_at!(
            "lists.score",
            self.lists.score != ScoreRecipe::Stance || of_texts,
            "the score model \"stance\" needs the stance \"beliefs\" or \"texts\""
        );
        ensure_at!(
            "form",
            self.form == ListForm::Stances
                || self.argument == ArgumentRecipe::None
                    && self.lists.score == ScoreRecipe::Product
                    && matches!(self.stance, StanceRecipe::Both | StanceRecipe::Beliefs),
            "form = \"claims\" makes one list for each claim: its stance is \"beliefs\" or \"both\", its argument \"none\" and its score \"product\""
        );
        ensure_at!(
            "lists.score",
            !matches!(self.lists.score, ScoreRecipe::Mixture { .. })
                || self.argument != ArgumentRecipe::None,
            "a mixture needs a model of argumentativeness"
        );
        Ok(())
    }
}

impl ApproachRecipe for ImageApproach {
    fn complete(&mut self, _: Task, text: &str) -> Result<()> {
        text.clone_into(&mut self.text);
        self.relevance.check().at("relevance")?;
        if let ArgumentRecipe::Aramis { weights } = &self.argument {
            check_terms(weights).at("argument")?;
        }
        if let StanceRecipe::Aramis { weights, .. } = &self.stance {
            check_terms(weights).at("stance")?;
        }
        self.lists.check().at("lists")?;
        self.check_tables()
    }

    fn keep_settings(&mut self, labels: Vec<String>) {
        self.set = labels;
    }
}

impl RelevanceRecipe {
    fn check(&self) -> Result<()> {
        for (channel, weight) in &self.channels {
            let name = channel.signal().name;
            check_weight(&format!("\"{name}\""), *weight)
                .at(name)
                .at("channels")?;
        }
        check_weight("reading", self.reading).at("reading")?;
        ensure_at!(
            "scale",
            matches!(self.scale, Scale::Unit | Scale::Raw),
            "the channels of images have scale = \"unit\" or scale = \"raw\""
        );
        let dirichlet = self.uses(|need| matches!(need, SignalNeed::QueryLikelihood(_)));
        ensure_at!(
            "mu",
            dirichlet == self.mu.is_some(),
            "\"dirichlet main\" and mu need each other"
        );
        ensure_at!(
            "mu",
            self.mu.is_none_or(|mu| mu > 0.0 && mu.is_finite()),
            "mu must be above 0"
        );
        ensure_at!(
            "scale",
            !dirichlet || self.scale == Scale::Raw,
            "\"dirichlet main\" is negative and needs scale = \"raw\""
        );
        let mut clusters = self.clusters.iter();
        clusters.try_for_each(check_clusters).at("clusters")
    }
}

/// Checks the clusters of pictures.
fn check_clusters(clusters: &PictureClusters) -> Result<()> {
    for (key, value) in [
        ("count", clusters.count),
        ("dimensions", clusters.dimensions),
    ] {
        ensure_at!(
            key,
            (1..=MAX_CLUSTERS).contains(&value),
            "the count and the dimensions of clusters are from 1 to {MAX_CLUSTERS}, not {value}"
        );
    }
    let PictureClusters {
        lowest, highest, ..
    } = *clusters;
    ensure_at!(
        "lowest",
        0.0 <= lowest && lowest <= highest && highest.is_finite(),
        "the weights of clusters must be 0 or more, and the highest no smaller than the lowest"
    );
    Ok(())
}

impl ListRecipe {
    fn check(&self) -> Result<()> {
        ensure_at!("pool", self.pool != Some(0), "the pool must be above 0");
        if let ScoreRecipe::Mixture { topic, .. } = self.score {
            ensure_at!(
                "score",
                (0.0..=1.0).contains(&topic),
                "the weight of the topic must be from 0 to 1, not {topic}"
            );
        }
        Ok(())
    }
}

/// Checks the weights that a formula of Aramis gives to its terms.
fn check_terms(weights: &[f64]) -> Result<()> {
    let sum: f64 = weights.iter().sum();
    ensure_at!(
        "weights",
        sum.is_finite() && sum > 0.0,
        "the weights of the terms of Aramis must add up to more than 0, not {sum}"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
