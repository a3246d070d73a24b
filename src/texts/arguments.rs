//! A collection of arguments that another task uses: images are compared with the arguments, and debate sheets quote the strongest ones.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use riposte_eval::TextTask;
use riposte_eval::topic::Topic;

use super::indexes::TextIndexes;
use super::likeness::Arguments;
use super::{TextRankingSettings, TextRankingSources};
use crate::collection::texts::open_collection;
use crate::events::OnEvent;
use crate::files::explanations::KeepExplanations;
use crate::index::ScoredDoc;
use crate::index::inverted::IndexingBudget;
use crate::reading::Reader;
use crate::recipes::text_approach::TextApproach;
use crate::topic::question::TopicParts;

/// A collection of arguments. It is searched with the default approach of Task 1.
pub struct ArgumentSource {
    pub indexes: TextIndexes,
    approach: TextApproach,
}

impl ArgumentSource {
    /// Opens or builds the index of the arguments in `file`, beside `base`.
    ///
    /// # Errors
    /// The file contains no arguments, or as [`TextIndexes::open`].
    pub fn open(
        file: &Path,
        base: &Path,
        effort: IndexingBudget,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let approach = TextApproach::find(TextTask::Controversial, "riposte")?;
        let opening = || format!("cannot use the arguments in {}", file.display());
        let collection = open_collection(TextTask::Controversial, file).with_context(opening)?;
        let indexes = TextIndexes::open(&collection, base, &approach, effort, false, on_event)
            .with_context(opening)?;
        Ok(ArgumentSource { indexes, approach })
    }

    /// The index and the retrieval from which the likeness of images to arguments is computed.
    pub fn arguments(&self) -> Result<Arguments<'_>> {
        let index = self
            .indexes
            .first()
            .context("the arguments have no index")?;
        let retrieval = self
            .approach
            .retrieval
            .first()
            .context("the default approach has no retrieval")?;
        Ok(Arguments { index, retrieval })
    }

    /// The arguments about a topic, as Task 1 ranks them. `on_event` receives the number of computed model outputs.
    ///
    /// # Errors
    /// As [`super::rank()`].
    pub fn rank(
        &self,
        topic: &Topic,
        reader: &mut Reader,
        on_event: &mut OnEvent,
    ) -> Result<Vec<ScoredDoc>> {
        let sources = &mut TextRankingSources {
            corpora: &self.indexes.by_retrieval(),
            reader,
            wordnet: None,
            dense: None,
            clusters: None,
            cut_texts: BTreeMap::new(),
        };
        let settings = TextRankingSettings {
            approach: self.approach.clone(),
            parts: TopicParts::default(),
            explain: false,
            // the debate sheet judges them
            judge: false,
            keep: KeepExplanations::Nowhere,
        };
        Ok(super::rank(topic, sources, &settings, on_event)?.documents)
    }
}
