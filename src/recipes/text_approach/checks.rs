//! Checks what the types of an approach to a text task leave open.

use anyhow::{Result, anyhow, bail, ensure};

use super::{
    DEPTH, DenseRetrieval, MAX_HITS, Pairwise, Rerank, Retrieval, SearchParameters, TextApproach,
};
use crate::index::fusion::Fusion;
use crate::index::passages::Passages;
use crate::recipes::checks::{At, check_weight, ensure_at};
use crate::recipes::rerankers::RerankerWeights;
use crate::score::rerank::{Combine, Scale};

impl TextApproach {
    /// Checks that a run can have this number of documents. That the lab takes fewer is a note of the run, and an error of `verify`.
    pub(super) fn check_depth(&self) -> Result<()> {
        let depth = self.depth;
        ensure!(
            depth <= MAX_HITS,
            "a query has at most {MAX_HITS} documents in a run, not {depth}"
        );
        ensure!(
            depth <= DEPTH || self.service.is_none(),
            "a search engine is asked for at most {DEPTH} documents, not {depth}"
        );
        Ok(())
    }

    /// Checks the searches, how they are fused, and what replaces their scores.
    pub(super) fn check_searches(&self) -> Result<()> {
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

    /// Checks an approach that asks a service. It can have no other stage.
    pub(super) fn check_service(&self) -> Result<()> {
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
}

impl SearchParameters<'_> {
    pub(super) fn check(&self) -> Result<()> {
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

impl DenseRetrieval {
    pub(super) fn check(&self) -> Result<()> {
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
    pub(super) fn check(&self) -> Result<()> {
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
    pub(super) fn check(&self, run_depth: usize) -> Result<()> {
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
        self.windows.check().at("windows")
    }
}

impl Pairwise {
    pub(super) fn check(&self) -> Result<()> {
        ensure_at!("depth", self.depth > 1, "pairwise: depth must be above 1");
        check_weights(&self.weights)?;
        self.windows.check().at("windows")
    }
}

fn check_weights(weights: &RerankerWeights) -> Result<()> {
    weights.iter().try_for_each(|(reranker, weight)| {
        let name = reranker.name();
        check_weight(name, weight).at(name).at("weights")
    })
}
