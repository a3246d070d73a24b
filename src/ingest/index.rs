//! Builds or checks the index of a collection, without making a run.

mod images;

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::TextTask;

use crate::collection::task::Task;
use crate::collection::texts::open_collection;
use crate::disk::regular;
use crate::events::{Event, OnEvent};
use crate::evidence::sentence::{self, Sentences};
use crate::index::dense::{Vectors, VectorsKey};
use crate::index::inverted::{self, InvertedIndex, TextCollection, VerifiedFiles};
use crate::lazy::Lazy;
use crate::models;
use crate::recipes::settings::Setting;
use crate::recipes::text_approach::TextApproach;
use crate::session::CollectionSource;
use crate::texts::dense;
use crate::texts::indexes::{TextIndexes, directories, ensure_documents, shards_of};
use crate::weights::ModelRole;

/// What is indexed, and how.
pub struct IndexSettings {
    /// The task of the collection; `None` to infer it.
    pub task: Option<Task>,
    pub source: CollectionSource,
    /// The approach whose indexes are built (texts only).
    pub approach: String,
    /// Changes of the approach (texts only).
    pub set: Vec<Setting>,
    /// Whether the index is built anew, even if it is up to date, and also if it is damaged.
    pub rebuild: bool,
}

/// The indexes of a collection.
pub enum Indexed {
    Images {
        index: Box<InvertedIndex>,
        updated: images::IndexChanges,
        /// The temporary directory with the index, if the evidence store cannot be written.
        _temporary: Option<images::TemporaryDir>,
    },
    Texts {
        indexes: TextIndexes,
        vectors: Option<IndexedVectors>,
    },
}

/// The sentence vectors of a collection.
pub struct IndexedVectors {
    /// The workspace.
    pub file: PathBuf,
    pub passages: usize,
    /// The field, the way to split texts, and the encoder.
    pub made_by: String,
}

/// Builds or updates the indexes of a collection.
///
/// # Errors
/// There is no document, or an index or a model fails.
pub fn index(settings: &IndexSettings, on_event: &mut OnEvent) -> Result<Indexed> {
    match settings.task()? {
        Task::Images => {
            settings.ensure_no_settings()?;
            settings.index_images(on_event)
        }
        Task::Texts(task) => settings.index_texts(task, on_event),
    }
}

/// Verifies the checksums of all index files and stored texts, without building anything. Returns each place with a description of what was verified.
///
/// # Errors
/// A file is missing or damaged.
pub fn check(settings: &IndexSettings, on_event: &mut OnEvent) -> Result<Vec<(PathBuf, String)>> {
    let (dirs, vectors) = match settings.task()? {
        Task::Images => {
            settings.ensure_no_settings()?;
            (vec![settings.directory_of_images(on_event)?], None)
        }
        Task::Texts(task) => {
            let texts = settings.open_texts(task, on_event)?;
            let dirs = directories(&texts.collection, &texts.base, &texts.approach);
            let encoder = texts.encoder.ok();
            (dirs, encoder.map(|(_, wanted)| (texts.base, wanted)))
        }
    };
    let mut checked = Vec::new();
    for dir in dirs {
        let VerifiedFiles { files, bytes, .. } = InvertedIndex::check(&dir)?;
        checked.push((dir, format!("{files} files, {:.1} MB", bytes as f64 / 1e6)));
    }
    if let Some((file, wanted)) = vectors
        && regular::is_file(&file)?
    {
        let documents = Vectors::check(&file, &wanted)?;
        checked.push((file, format!("sentence vectors of {documents} documents")));
    }
    Ok(checked)
}

/// A text collection, and how it is indexed.
struct OpenedTexts {
    approach: TextApproach,
    collection: TextCollection,
    base: PathBuf,
    /// The encoder of a dense search, or why there is none.
    encoder: Result<(Lazy<Sentences>, VectorsKey), String>,
}

impl IndexSettings {
    fn task(&self) -> Result<Task> {
        (self.task).map_or_else(|| Task::of_collection(&self.source.input), Ok)
    }

    /// # Errors
    /// There are settings, which the index of images does not depend on.
    fn ensure_no_settings(&self) -> Result<()> {
        match self.set.first() {
            Some(setting) => bail!(
                "{setting}: the index of images does not depend on the approach: it has no settings"
            ),
            None => Ok(()),
        }
    }

    fn open_texts(&self, task: TextTask, on_event: &mut OnEvent) -> Result<OpenedTexts> {
        let CollectionSource { session, input, .. } = &self.source;
        ensure!(
            session.places.evidence.is_none(),
            "--evidence is for images: the index of a text collection does not depend on it"
        );
        let approach = TextApproach::find_with(task, &self.approach, &self.set)?;
        ensure!(
            approach.service.is_none(),
            "the approach {} asks a service: it has no index",
            approach.name
        );
        let collection = open_collection(task, input)?;
        let base = session.places.texts(input, on_event)?;
        let encoder = match &approach.dense {
            Some(dense) => models::find(
                &session.models,
                ModelRole::Sentence,
                approach.sentence_encoder(&session.models),
            )?
            .map(|model| {
                let model = sentence::lazy(&model, session.compute());
                let wanted = dense::wanted(dense, model.producer());
                (model, wanted)
            }),
            None => Err(String::new()),
        };
        Ok(OpenedTexts {
            approach,
            collection,
            base,
            encoder,
        })
    }

    fn index_texts(&self, task: TextTask, on_event: &mut OnEvent) -> Result<Indexed> {
        let OpenedTexts {
            approach,
            collection,
            base,
            encoder,
        } = &self.open_texts(task, on_event)?;
        if self.source.rehash {
            inverted::forget_hashes(base)?;
        }
        let (effort, rebuild) = (self.source.session.indexing_budget()?, self.rebuild);
        let indexes = TextIndexes::open(collection, base, approach, effort, rebuild, on_event)?;
        if let Some(index) = indexes.first() {
            ensure_documents(index, &self.source.input).context("nothing to index")?;
        }
        indexes.report_faults(on_event)?;
        let vectors = match (encoder, indexes.first()) {
            (Ok((model, wanted)), Some(index)) => {
                let shards = shards_of(collection);
                let vectors =
                    dense::open_files(index, wanted, base, &shards, Some(model), on_event)?;
                Some(IndexedVectors {
                    file: base.clone(),
                    passages: vectors.map_or(0, |vectors| vectors.len()),
                    made_by: wanted.to_string(),
                })
            }
            (Err(why), _) if approach.dense.is_some() => {
                on_event(Event::note(format!(
                    "the sentence vectors of {} are not computed: {why}",
                    approach.name
                )));
                None
            }
            _ => None,
        };
        Ok(Indexed::Texts { indexes, vectors })
    }
}
