//! Approaches to the text tasks: TOML files in `approaches/controversial/`, `approaches/comparative/` and `approaches/rank/`, or a file of the
//! user.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail, ensure};
use riposte_eval::{ObjectStance, TextTask};
use serde::Deserialize;
use strum::VariantNames;

use crate::collection::portal::Portal;
use crate::index::analyzer::Analyzer;
use crate::index::dense::Unit;
use crate::index::feedback::Rm3;
use crate::index::fusion::Fusion;
use crate::index::options::{PortalSet, SearchOptions};
use crate::index::passages::{Passages, Windows};
use crate::index::similarity::Similarity;
use crate::index::wordnet::Synonyms;
use crate::score::rerank::{Combine, Scale};
use crate::score::reranker::Need;
use crate::task::Named;
use crate::task::analyzers;
use crate::task::approaches::{self, Approach};
use crate::task::recipe::settings::Setting;
use crate::task::recipe::{At, check_weight, ensure_at};
use crate::task::rerankers::Weights;
use crate::task::services::Engine;
use crate::task::stages::{ClusterRecipe, Manifold, Pairs};

/// The number of documents in the ranking of a topic, and that of each search, unless an approach says otherwise. The tasks of the lab take no more in a
/// run.
pub(crate) const DEPTH: usize = 1000;

/// Maximum number of documents of a query in a run of `rank`, whose collections are not the lab's.
const MAX_HITS: usize = 100_000;

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
    pub dense: Option<Dense>,
    /// The search engine that is queried instead of an index.
    pub service: Option<Engine>,
    /// How several rankings are fused.
    pub fusion: Option<Fusion>,
    /// A second search, whose scores replace those of the first one. It ranks the documents that the first one has found.
    pub rescore: Option<Rescore>,
    /// A ranking by similarity to the first documents of the ranking so far, which it replaces.
    pub manifold: Option<Manifold>,
    /// The clusters that re-ranking compares with the topic.
    pub clusters: Option<ClusterRecipe>,
    pub rerank: Option<Rerank>,
    pub pairwise: Option<Pairwise>,
    /// Read with [`TextApproach::keeps`].
    keep: Option<Keep>,
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

/// The value of `stance_depth` in a recipe that has none. Reading all thousand passages of a topic would take as long as everything else.
const STANCE_DEPTH: usize = 50;

fn encoded_passages() -> usize {
    STANCE_DEPTH
}

fn all_documents() -> usize {
    DEPTH
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
    pub pairs: Option<Pairs>,
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
pub struct Dense {
    /// The field whose texts are compared with the topic. Several names joined by `+` are compared as one text, in this order.
    pub field: String,
    /// How the texts of the field are split into passages. The nearest passage of a document counts.
    pub passages: Passages,
    /// Whether `depth` counts documents or passages.
    #[serde(default)]
    pub count: Unit,
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
pub struct Rescore {
    pub similarity: Similarity,
    /// As in a [`Retrieval`].
    pub fields: BTreeMap<String, f64>,
    #[serde(default)]
    pub must: Vec<String>,
    pub synonyms: Option<Synonyms>,
    pub pairs: Option<Pairs>,
}

/// How the top of a ranking is re-ranked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rerank {
    /// Number of documents that are re-ranked.
    pub depth: usize,
    pub weights: Weights,
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
    pub windows: Windows,
    /// If this is given, the re-ranker `sentence` compares all windows with the topic only in this number of documents, those with the best new
    /// scores. In the other documents, it compares only the window that matches the topic's words best.
    pub read_whole: Option<usize>,
    /// A text is a near-duplicate of one that is ranked before it if the resemblance of their three-word shingles is at least this.
    /// Near-duplicates are ranked after all other re-ranked documents.
    #[serde(rename = "alike")]
    pub near_duplicate: Option<f64>,
}

/// How the first documents of a ranking are compared with each other, after they have been re-ranked
/// ([`crate::score::pairwise`]).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairwise {
    /// Number of documents that are compared.
    pub depth: usize,
    /// The weight of each opinion in a preference.
    pub weights: Weights,
    #[serde(default)]
    pub windows: Windows,
}

/// Documents that are ranked although they are of little use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Documents with fewer than 20 words.
    #[serde(default)]
    pub short: bool,
    /// Documents with the same words as another document.
    #[serde(default)]
    pub duplicates: bool,
}

impl Approach for TextApproach {
    fn complete(&mut self, task: Option<TextTask>, text: &str) -> Result<()> {
        text.clone_into(&mut self.text);
        ensure_at!("depth", self.depth > 0, "depth must be above 0");
        self.check_depth(task).at("depth")?;
        if let Some(engine) = &self.service {
            engine.check().at("service")?;
            return self.check_service();
        }
        if task == Some(TextTask::Rank) {
            // in an unknown collection, short documents and copies may be useful
            self.keep.get_or_insert(Keep {
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
            clusters.is_some() || !self.needs(Need::Clusters),
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
    /// Finds an approach to this task by its name. A name that ends in `.toml` is the path of a file with the approach.
    ///
    /// # Errors
    /// There is no such approach (the message names a similar one or lists all), or the file is not an approach.
    pub fn find(task: TextTask, name: &str) -> Result<Self> {
        approaches::find(Some(task), name, &[])
    }

    /// Like [`TextApproach::find`], changed by settings.
    ///
    /// # Errors
    /// Those of [`TextApproach::find`], and a wrong setting, whose option the message names.
    pub fn find_with(task: TextTask, name: &str, settings: &[Setting]) -> Result<Self> {
        approaches::find(Some(task), name, settings)
    }

    /// Its name and its settings.
    pub(crate) fn named(&self) -> Named<'_> {
        Named {
            name: &self.name,
            set: &self.set,
        }
    }

    /// Checks that a run can have this number of documents.
    fn check_depth(&self, task: Option<TextTask>) -> Result<()> {
        let (whose, most) = match task {
            Some(TextTask::Controversial) => ("a topic of Touché's Task 1", DEPTH),
            Some(TextTask::Comparative) => ("a topic of Touché's Task 2", DEPTH),
            Some(TextTask::Rank) | None => ("a query", MAX_HITS),
        };
        ensure!(
            self.depth <= most,
            "{whose} has at most {most} documents in a run, not {}",
            self.depth
        );
        Ok(())
    }

    /// Checks the searches, how they are fused, and what replaces their scores.
    fn check_searches(&self) -> Result<()> {
        let searches = self.retrieval.len() + usize::from(self.dense.is_some());
        match (searches, self.fusion) {
            (0, _) => bail!("there is no [[retrieval]] and no [dense]"),
            (1, Some(_)) => {
                return Err(anyhow!("a fusion of one retrieval makes no sense")).at("fusion");
            }
            (2.., None) => return Err(anyhow!("several retrievals need a fusion")).at("retrieval"),
            (_, Some(Fusion::Rrf { k })) if k < 0.0 => {
                return Err(anyhow!("rrf: k must be at least 0, not {k}")).at("fusion");
            }
            _ => {}
        }
        for (at, retrieval) in self.retrieval.iter().enumerate() {
            retrieval.check().at(at).at("retrieval")?;
        }
        if let Some(dense) = &self.dense {
            dense.check().at("dense")?;
        }
        if let Some(manifold) = &self.manifold {
            ensure_at!("manifold", self.dense.is_some(), "manifold needs [dense]");
            ensure_at!(
                "manifold",
                manifold.documents > 0 && manifold.neighbours > 2,
                "manifold: documents must be above 0, and neighbours above 2"
            );
        }
        if let Some(rescore) = &self.rescore {
            ensure_at!(
                "rescore",
                !self.retrieval.is_empty(),
                "rescore needs a [[retrieval]]"
            );
            rescore.asked().check().at("rescore")?;
        }
        Ok(())
    }

    /// Which documents are ranked although they are of little use. If the approach does not say which, these are all of them for [`TextTask::Rank`],
    /// and none for the tasks of the lab.
    pub fn keeps(&self) -> Keep {
        self.keep.unwrap_or_default()
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
    pub fn needs(&self, need: Need) -> bool {
        let rerank = self.rerank.iter().map(|rerank| &rerank.weights);
        let pairwise = self.pairwise.iter().map(|pairwise| &pairwise.weights);
        let mut used = rerank.chain(pairwise).flat_map(Weights::used);
        used.any(|(reranker, _)| reranker.needs().contains(&need))
    }

    /// Checks an approach that asks a service. It can have no other stage.
    fn check_service(&self) -> Result<()> {
        for (key, is_there) in [
            ("[[retrieval]]", !self.retrieval.is_empty()),
            ("fusion", self.fusion.is_some()),
            ("rescore", self.rescore.is_some()),
            ("[dense]", self.dense.is_some()),
            ("[manifold]", self.manifold.is_some()),
            ("clusters", self.clusters.is_some()),
            ("[rerank]", self.rerank.is_some()),
            ("[pairwise]", self.pairwise.is_some()),
            ("keep", self.keep.is_some()),
            ("portals", !self.portals.is_empty()),
        ] {
            ensure_at!(
                key.trim_matches(['[', ']']),
                !is_there,
                "an approach that asks a service cannot have {key}"
            );
        }
        Ok(())
    }

    /// Which documents a search finds, at most `k`.
    ///
    /// # Errors
    /// Those of [`TextApproach::portals`].
    pub(crate) fn search_options(&self, k: usize) -> Result<SearchOptions> {
        let Keep { short, duplicates } = self.keeps();
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
            name.parse::<Portal>().ok().with_context(|| {
                let known = <Portal as VariantNames>::VARIANTS.join(", ");
                format!("there is no portal {name:?}: choose one of {known}")
            })
        };
        let portals: PortalSet = self.portals.iter().map(portal).collect::<Result<_>>()?;
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
    pub pairs: Option<Pairs>,
}

impl SearchParameters<'_> {
    fn check(&self) -> Result<()> {
        self.similarity.check().at("similarity")?;
        ensure_at!(
            "fields",
            !self.fields.is_empty(),
            "a retrieval has no fields"
        );
        let combines = self.similarity.combines_fields();
        for (field, weight) in self.fields {
            check_weight(field, *weight).at(field).at("fields")?;
            ensure_at!(
                "fields",
                !field.contains('+') || !combines,
                "bm25f scores several fields together: {field} cannot be joined with others"
            );
        }
        for field in self.must {
            ensure_at!(
                "must",
                self.fields.contains_key(field),
                "{field} must match, but is not among the fields"
            );
        }
        if let Some(synonyms) = self.synonyms {
            check_weight("synonyms", synonyms.weight).at("synonyms.weight")?;
        }
        if let Some(pairs) = self.pairs {
            check_weight("pairs", pairs.weight).at("pairs.weight")?;
            ensure_at!("pairs", !combines, "bm25f has no score for pairs");
        }
        Ok(())
    }
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

impl Dense {
    fn check(&self) -> Result<()> {
        check_weight("the dense search", self.weight).at("weight")?;
        ensure_at!(
            "depth",
            self.depth > 0,
            "the depth of the dense search must be above 0"
        );
        match self.passages {
            Passages::Windows(windows) => windows.check().at("passages"),
            Passages::Packed(words) => {
                ensure_at!("passages", words > 0, "packed passages must have words");
                Ok(())
            }
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

    fn check(&self) -> Result<()> {
        self.asked().check()?;
        let analyzers = [
            ("analyzer", Some(&self.analyzer)),
            ("query_analyzer", self.query_analyzer.as_ref()),
        ];
        for (key, analyzer) in analyzers {
            ensure_at!(
                key,
                analyzer.is_none_or(|analyzer| analyzer.stop.is_known()),
                "the words of the stop list {} are not known: name its file",
                analyzer.map_or("", |analyzer| analyzer.stop.name())
            );
        }
        check_weight("a retrieval", self.weight).at("weight")?;
        ensure_at!(
            "depth",
            self.depth > 0,
            "the depth of a retrieval must be above 0"
        );
        let feedback = self.feedback.as_ref();
        ensure_at!(
            "feedback.original",
            feedback.is_none_or(|feedback| (0.0..=1.0).contains(&feedback.original)),
            "feedback: original must be from 0 to 1"
        );
        Ok(())
    }
}

impl Rerank {
    /// `run_depth` is the number of documents in the run.
    fn check(&self, run_depth: usize) -> Result<()> {
        check_weights(&self.weights)?;
        self.scale.check().at("scale")?;
        ensure_at!(
            "scale",
            self.scale != Scale::Unit,
            "scale = \"unit\" is for images: choose \"min-max\", \"max\", \"raw\" or a sigmoid"
        );
        let is_mean = self.combine == Combine::Mean;
        let whole = run_depth.max(DEPTH);
        ensure_at!(
            "combine",
            is_mean || self.only || self.depth >= whole,
            "a sum or product is a final score: it needs depth = {whole}, or only = true"
        );
        ensure_at!(
            "alike",
            is_mean || self.near_duplicate.is_none(),
            "near-duplicates can be ranked after the others only if scores are means"
        );
        ensure_at!(
            "above_zero",
            !self.above_zero || !is_mean,
            "above_zero is for sums and products: the means of re-ranked documents are always above 0"
        );
        ensure_at!(
            "read_whole",
            self.read_whole != Some(0),
            "read_whole must be above 0, or left out to read all documents whole"
        );
        self.windows.check().at("windows")
    }
}

impl Pairwise {
    fn check(&self) -> Result<()> {
        ensure_at!("depth", self.depth > 1, "pairwise: depth must be above 1");
        check_weights(&self.weights)?;
        self.windows.check().at("windows")
    }
}

fn check_weights(weights: &Weights) -> Result<()> {
    weights.iter().try_for_each(|(reranker, weight)| {
        let name = reranker.name();
        check_weight(name, weight).at(name).at("weights")
    })
}
