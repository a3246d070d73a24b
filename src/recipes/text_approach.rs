//! Approaches to the text tasks: TOML files in `approaches/controversial/`, `approaches/comparative/` and `approaches/rank/`, or a file of the
//! user.

mod checks;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use anyhow::Result;
use riposte_eval::{ObjectStance, TextTask};
use serde::Deserialize;
use strum::VariantNames;

use crate::collection::portal::Portal;
use crate::collection::task::Task;
use crate::index::analyzer::Analyzer;
use crate::index::dense::SearchUnit;
use crate::index::feedback::Rm3;
use crate::index::fusion::Fusion;
use crate::index::options::{PortalSet, SearchOptions};
use crate::index::passages::{PassageWindows, Passages};
use crate::index::similarity::Similarity;
use crate::index::wordnet::Synonyms;
use crate::limits::{RUN_DEPTH, STANCE_DEPTH};
use crate::recipes::approaches::ApproachRecipe;
use crate::recipes::checks::{At, ensure_at};
use crate::recipes::rerankers::RerankerWeights;
use crate::recipes::rerankers::windowed::SentenceCosine;
use crate::recipes::services::Engine;
use crate::recipes::settings::Setting;
use crate::recipes::{NamedApproach, analyzers, approaches};
use crate::score::rerank::{Combine, Scale};
use crate::score::reranker::{Reranker, RerankerNeed};
use crate::score::windows::ReadWindows;
use crate::systems::manifold::Manifold;
use crate::systems::proximity::TermPairs;
use crate::systems::text_clusters::ClusterRecipe;
use crate::weights::{ModelRole, Models};
use crate::wording::UnknownName;

/// An approach to a text task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextApproach {
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
    /// Searches for words. If there are several, or a dense search as well, their rankings are fused. Empty if the approach asks a service.
    #[serde(default)]
    pub retrieval: Vec<Retrieval>,
    /// A search for passages that are similar to the topic.
    pub(crate) dense: Option<DenseRetrieval>,
    /// The name of the sentence encoder; without it, the first that is installed. What the user chooses for a run precedes it.
    sentence: Option<String>,
    /// The search engine that is queried instead of an index.
    pub service: Option<Engine>,
    /// How several rankings are fused.
    pub fusion: Option<Fusion>,
    /// A second search, whose scores replace those of the first one. It ranks the documents that the first one has found.
    pub(crate) rescore: Option<Rescore>,
    /// A ranking by similarity to the first documents of the ranking so far, which it replaces.
    pub manifold: Option<Manifold>,
    /// The clusters that re-ranking compares with the topic.
    pub clusters: Option<ClusterRecipe>,
    pub(crate) rerank: Option<Rerank>,
    pub(crate) pairwise: Option<Pairwise>,
    /// Read with [`TextApproach::keeps`].
    keep: Option<KeptDocuments>,
    /// The debate portals whose arguments are ranked; all portals if the list is empty.
    #[serde(default)]
    pub portals: Vec<String>,
    /// Maximum number of documents in the run of a topic.
    #[serde(default = "all_documents")]
    pub depth: usize,
    /// A fixed stance for all passages. Without it, stances are detected.
    pub stance: Option<ObjectStance>,
    /// Number of passages at the top of a topic's ranking that the stance encoder reads to detect their stance. The stance of the others depends only
    /// on words.
    #[serde(default = "encoded_passages")]
    pub stance_depth: usize,
}

fn encoded_passages() -> usize {
    STANCE_DEPTH
}

fn all_documents() -> usize {
    RUN_DEPTH
}

/// A search of one index.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retrieval {
    #[serde(deserialize_with = "analyzers::read")]
    pub analyzer: Analyzer,
    /// The analyzer of topics, if it differs from `analyzer`. Its terms are looked up in the index that `analyzer` made.
    #[serde(default, deserialize_with = "analyzers::read_some")]
    pub query_analyzer: Option<Analyzer>,
    pub similarity: Similarity,
    /// The fields that are searched, and their weights. Several names joined by `+` are scored as one field.
    pub fields: BTreeMap<String, f64>,
    /// Fields that must contain a term of the query.
    #[serde(default)]
    pub must: Vec<String>,
    pub feedback: Option<Rm3>,
    pub synonyms: Option<Synonyms>,
    pub pairs: Option<TermPairs>,
    /// Maximum number of documents that are found.
    #[serde(default = "all_documents")]
    pub depth: usize,
    /// The weight of this retrieval in a fusion.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

/// A search of the sentence vectors of a whole collection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DenseRetrieval {
    /// The field whose texts are compared with the topic. Several names joined by `+` are compared as one text, in this order.
    pub field: String,
    /// How the texts of the field are split into passages. The nearest passage of a document counts.
    pub passages: Passages,
    /// Whether `depth` counts documents or passages.
    #[serde(default)]
    pub count: SearchUnit,
    /// Maximum number of documents or passages that are found.
    #[serde(default = "all_documents")]
    pub depth: usize,
    /// The weight of this search in a fusion.
    #[serde(default = "one")]
    pub weight: f64,
}

/// A second search of the index of the first retrieval.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rescore {
    pub similarity: Similarity,
    /// As in a [`Retrieval`].
    pub fields: BTreeMap<String, f64>,
    #[serde(default)]
    pub must: Vec<String>,
    pub synonyms: Option<Synonyms>,
    pub pairs: Option<TermPairs>,
}

/// How the top of a ranking is re-ranked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rerank {
    /// Number of documents that are re-ranked.
    pub depth: usize,
    pub weights: RerankerWeights,
    #[serde(default)]
    pub scale: Scale,
    #[serde(default)]
    pub combine: Combine,
    /// Whether the documents that are not re-ranked are left out.
    #[serde(default)]
    pub only: bool,
    /// Whether documents whose score is not above 0 are left out.
    #[serde(default)]
    pub above_zero: bool,
    /// The overlapping windows of a long text that are scored instead of the whole text. The best window counts.
    #[serde(default)]
    pub windows: PassageWindows,
    /// Whether only the window of each text that matches the words of the topic best is read.
    #[serde(default)]
    pub promising: bool,
    /// A text is a near-duplicate of one that is ranked before it if the resemblance of their three-word shingles is at least this.
    /// Near-duplicates are ranked after all other re-ranked documents.
    #[serde(rename = "alike")]
    pub near_duplicate: Option<f64>,
}

/// How the first documents of a ranking are compared with each other, after they have been re-ranked
/// ([`crate::score::pairwise`]).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pairwise {
    /// Number of documents that are compared.
    pub depth: usize,
    /// The weight of each opinion in a preference.
    pub weights: RerankerWeights,
    #[serde(default)]
    pub windows: PassageWindows,
}

/// Documents that are ranked although they are of little use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptDocuments {
    /// Documents with fewer than 20 words.
    #[serde(default)]
    pub short: bool,
    /// Documents with the same words as another document.
    #[serde(default)]
    pub duplicates: bool,
}

impl Rerank {
    /// What of the texts models read.
    pub(crate) fn read_windows(&self) -> ReadWindows {
        ReadWindows {
            windows: self.windows,
            is_promising_only: self.promising,
        }
    }
}

impl ApproachRecipe for TextApproach {
    fn complete(&mut self, task: Task, text: &str) -> Result<()> {
        text.clone_into(&mut self.text);
        ensure_at!("depth", self.depth > 0, "depth must be above 0");
        self.check_depth().at("depth")?;
        if let Some(engine) = &self.service {
            engine.check().at("service")?;
            return self.check_service();
        }
        if task == Task::Texts(TextTask::Rank) {
            // in an unknown collection, short documents and copies may be useful
            self.keep.get_or_insert(KeptDocuments {
                short: true,
                duplicates: true,
            });
        }
        self.check_searches()?;
        self.portals().at("portals")?;
        let clusters = self.clusters.as_ref();
        ensure_at!(
            "clusters.count",
            clusters.is_none_or(|clusters| clusters.count > 0),
            "clusters: count must be above 0"
        );
        ensure_at!(
            "rerank.weights.cluster",
            clusters.is_some() || !self.needs(RerankerNeed::Clusters),
            "the weight of cluster needs [clusters]"
        );
        if let Some(rerank) = &self.rerank {
            rerank.check(self.depth).at("rerank")?;
        }
        if let Some(pairwise) = &self.pairwise {
            pairwise.check().at("pairwise")?;
        }
        Ok(())
    }

    fn keep_settings(&mut self, labels: Vec<String>) {
        self.set = labels;
    }
}

impl TextApproach {
    /// The name of the sentence encoder: the one that the user has chosen for the run, or that of the recipe; `None` for the first that is installed.
    pub(crate) fn sentence_encoder<'a>(&'a self, models: &'a Models) -> Option<&'a str> {
        let chosen = models.chosen(ModelRole::Sentence);
        chosen.or(self.sentence.as_deref())
    }

    /// Finds an approach to this task by its name. A name that ends in `.toml` is the path of a file with the approach.
    ///
    /// # Errors
    /// There is no such approach (the message names a similar one or lists all), or the file is not an approach.
    pub fn find(task: TextTask, name: &str) -> Result<Self> {
        approaches::find(Task::Texts(task), name, &[])
    }

    /// Like [`TextApproach::find`], changed by settings.
    ///
    /// # Errors
    /// Those of [`TextApproach::find`], and a wrong setting, whose option the message names.
    pub fn find_with(task: TextTask, name: &str, settings: &[Setting]) -> Result<Self> {
        approaches::find(Task::Texts(task), name, settings)
    }

    /// Its name and its settings.
    pub(crate) fn named(&self) -> NamedApproach<'_> {
        NamedApproach {
            name: &self.name,
            set: &self.set,
        }
    }

    /// Which documents are ranked although they are of little use. If the approach does not say which, these are all of them for [`TextTask::Rank`],
    /// and none for the tasks of the lab.
    pub fn keeps(&self) -> KeptDocuments {
        self.keep.unwrap_or_default()
    }

    /// Whether the approach compares sentence vectors of texts with the topic.
    pub(crate) fn reads_sentences(&self) -> bool {
        let mut used = self.rerank.iter().flat_map(|recipe| recipe.weights.used());
        self.dense.is_some() || used.any(|(reranker, _)| reranker.name() == SentenceCosine.name())
    }

    /// The analyzers of the indexes that the approach searches, one for each retrieval. Without a retrieval, the analyzer of the index that holds the
    /// ids and texts of the documents.
    pub(crate) fn analyzers(&self) -> Vec<Analyzer> {
        if self.retrieval.is_empty() {
            return vec![Analyzer::default()];
        }
        let of = |retrieval: &Retrieval| retrieval.analyzer.clone();
        self.retrieval.iter().map(of).collect()
    }

    /// Whether this is needed by a re-ranker that has a weight above 0 in `rerank` or `pairwise`.
    pub(crate) fn needs(&self, need: RerankerNeed) -> bool {
        let rerank = self.rerank.iter().map(|rerank| &rerank.weights);
        let pairwise = self.pairwise.iter().map(|pairwise| &pairwise.weights);
        let mut used = rerank.chain(pairwise).flat_map(RerankerWeights::used);
        used.any(|(reranker, _)| reranker.need() == need)
    }

    /// Which documents a search finds, at most `k`.
    ///
    /// # Errors
    /// Those of [`TextApproach::portals`].
    pub(crate) fn search_options(&self, k: usize) -> Result<SearchOptions> {
        let KeptDocuments { short, duplicates } = self.keeps();
        Ok(SearchOptions {
            k,
            short,
            duplicates,
            portals: self.portals()?,
        })
    }

    /// The portals whose arguments are ranked; `None` for all.
    ///
    /// # Errors
    /// There is no portal with one of the names.
    pub fn portals(&self) -> Result<Option<PortalSet>> {
        let portal = |name: &String| {
            let known = <Portal as VariantNames>::VARIANTS;
            name.parse::<Portal>()
                .map_err(|_| UnknownName::new("portal", name, known))
        };
        let portals: PortalSet = self.portals.iter().map(portal).collect::<Result<_, _>>()?;
        Ok((!self.portals.is_empty()).then_some(portals))
    }
}

/// The parameters of a search in an index.
#[derive(Clone, Copy)]
pub(crate) struct SearchParameters<'a> {
    pub similarity: &'a Similarity,
    pub fields: &'a BTreeMap<String, f64>,
    pub must: &'a [String],
    pub synonyms: Option<&'a Synonyms>,
    pub pairs: Option<TermPairs>,
}

impl Rescore {
    pub(crate) fn asked(&self) -> SearchParameters<'_> {
        SearchParameters {
            similarity: &self.similarity,
            fields: &self.fields,
            must: &self.must,
            synonyms: self.synonyms.as_ref(),
            pairs: self.pairs,
        }
    }
}

impl Retrieval {
    pub(crate) fn asked(&self) -> SearchParameters<'_> {
        SearchParameters {
            similarity: &self.similarity,
            fields: &self.fields,
            must: &self.must,
            synonyms: self.synonyms.as_ref(),
            pairs: self.pairs,
        }
    }
}
