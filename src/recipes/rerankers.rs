//! The list of the re-rankers of texts. A new re-ranker needs a file in `rerankers/` or a [`TextReranker`], a line here, and a row in
//! `docs/approaches.md`.

mod stance_encoder;
pub(crate) mod windowed;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::Result;
use riposte_claims::tagger;
use serde::de::{Deserialize, Deserializer, Error};

use crate::evidence::sentiment::Vader;
use crate::score::quality;
use crate::score::rerank::{RETRIEVAL, comparison};
use crate::score::reranker::{
    Assessed, Assessment, RerankedTexts, Reranker, RerankerModels, RerankerNeed, TextReranker,
};
use crate::systems::arguing::Arguing;
use crate::systems::svr;
pub(crate) use crate::systems::text_clusters::Cluster;
use crate::systems::trees::{FeatureSet, Trees};
use stance_encoder::{RelevanceLogOdds, SideProbability};
use windowed::{CrossEncoderScore, SentenceCosine};

/// All re-rankers. Explanations list them in this order, and scores are summed in it.
static RERANKERS: &[&dyn Reranker] = &[
    &Retrieval,
    &SentenceCosine,
    &CrossEncoderScore,
    &TextReranker {
        why: Some(quality::explain),
        ..TextReranker::unit("quality", quality::IN_REPORTS, quality::quality)
    },
    &TextReranker::unit(
        "comparison",
        ["comparing words", "how much it compares"],
        |_, text| comparison(text),
    ),
    &SideProbability,
    &RelevanceLogOdds,
    &TextReranker::unit("adjectives", ["share of adjectives", ""], |_, text| {
        tagger::adjectives(text)
    }),
    &svr::SVR_QUALITY,
    // whether positive or negative
    &TextReranker::unit("sentiment", ["strength of sentiment", ""], |_, text| {
        Vader::new().compound(text).abs()
    }),
    &Cluster,
    &Arguing::Bm25,
    &Arguing::Share,
    &Arguing::Cosine,
    &Trees(FeatureSet::Small),
    &Trees(FeatureSet::Medium),
];

static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| RERANKERS.iter().map(|reranker| reranker.name()).collect());

/// The re-ranker with this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Reranker> {
    let mut all = RERANKERS.iter().copied();
    all.find(|known| known.name() == name)
}

/// The position of a re-ranker in the list. Recipes have its name instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position(usize);

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let at = NAMES.iter().position(|known| *known == name);
        at.map(Position)
            .ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

/// The weight of each re-ranker in a recipe. A re-ranker with the weight 0, or without a weight, is off.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(transparent)]
pub struct RerankerWeights(BTreeMap<Position, f64>);

impl RerankerWeights {
    /// The re-rankers and their weights, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = (&'static dyn Reranker, f64)> {
        let weights = self.0.iter();
        weights.filter_map(|(Position(at), weight)| Some((*RERANKERS.get(*at)?, *weight)))
    }

    /// Retrieval, whatever its weight, and the others with a weight above 0.
    pub(crate) fn with_retrieval(&self) -> impl Iterator<Item = (&'static dyn Reranker, f64)> {
        let retrieval = self.0.get(&Position(0)).copied().unwrap_or(0.0);
        let others = self.used().filter(|(of, _)| of.name() != RETRIEVAL);
        std::iter::once((RERANKERS[0], retrieval)).chain(others)
    }

    /// The re-rankers with a weight above 0, and their weights.
    pub fn used(&self) -> impl Iterator<Item = (&'static dyn Reranker, f64)> {
        self.iter().filter(|(_, weight)| *weight > 0.0)
    }
}

/// The score of retrieval.
struct Retrieval;

impl Reranker for Retrieval {
    fn name(&self) -> &'static str {
        RETRIEVAL
    }

    fn words(&self) -> [&'static str; 2] {
        ["the topic's terms", ""]
    }

    fn need(&self) -> RerankerNeed {
        RerankerNeed::AnyLanguage
    }

    fn assess(&self, documents: &RerankedTexts, _: &mut RerankerModels) -> Assessed {
        let scores = documents.ranked.iter().map(|found| [found.score]);
        Ok(Assessment::all(scores))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_a_row_for_each_and_names_those_that_are_scaled() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/approaches.md");
        let manual = std::fs::read_to_string(file).unwrap();
        let section = manual.split("### `[rerank]`").nth(1).unwrap();
        let cell = |row: &str| row.split(" | ").next().unwrap().to_owned();
        let scale = section
            .lines()
            .find(|row| cell(row) == "| `scale`")
            .unwrap();
        let scaled = scale.split(" are scaled").next().unwrap();
        for reranker in RERANKERS {
            let name = reranker.name();
            let key = format!("`{name}`");
            assert!(
                section.lines().any(|row| cell(row).contains(&key)),
                "{name}"
            );
            let word = name
                .split("-small")
                .next()
                .unwrap()
                .split("-medium")
                .next()
                .unwrap();
            let names = scaled.split([' ', ',']).any(|of| of == word);
            assert_eq!(names, !reranker.is_unit(), "{name}");
        }
    }
}
