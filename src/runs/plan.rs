//! What is asked of a collection, and the plan that follows from it, in which everything is resolved and checked.

mod images;
mod texts;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte_eval::TextTask;
use riposte_eval::topic::Topic;

use images::PlannedImages;
use texts::PlannedTexts;

use super::description::RunDescription;
use super::finished::{FinishedRun, MadeRun};
use super::open_collection::OpenCollection;
use super::resources::Meter;
use super::run_files::{OutputSettings, RunFiles};
use crate::events::OnEvent;
use crate::files::{TopicSource, read_topics};
use crate::ingest::extraction::ExtractionHost;
use crate::recipes::image_approach::ImageApproach;
use crate::recipes::settings::Setting;
use crate::recipes::text_approach::TextApproach;
use crate::recipes::{NamedApproach, default_tag};
use crate::session::CollectionSource;
use crate::topic::question::TopicParts;

/// What a user asks of a collection, besides the approaches.
#[derive(Clone, Default)]
pub struct Wishes {
    /// Where the topics come from.
    pub topics: TopicSource,
    /// The parts of the topics that are searched for besides their titles.
    pub parts: TopicParts,
    /// The tag of the run; `None` for one that contains the name of the approach.
    pub tag: Option<String>,
    /// Whether the scores of texts are explained; those of images always are.
    pub explain: bool,
    /// Passages: whether their stances are not detected.
    pub without_stances: bool,
    /// Whether debate sheets are made. Those of images need arguments.
    pub debate: bool,
    /// Images: a rerank.jsonl of TIREx, which names those that can be listed; `None` for the collection's own, if it has one.
    pub candidates: Option<PathBuf>,
    /// Images: the year of the task; `None` to infer it from the topics.
    pub edition: Option<u32>,
    /// Images: whether one may be in both lists of a topic.
    pub overlap: bool,
    /// A collection of arguments, with which images are compared.
    pub arguments: Option<PathBuf>,
    /// The settings of the edition's default approach, if no approach is named.
    pub set: Vec<Setting>,
    /// The file with the key of a search engine; `None` for the key in the environment.
    pub key_file: Option<PathBuf>,
}

/// What is ranked, and how. It leaves no choice open.
pub struct Plan<'a> {
    resolved: Resolved<'a>,
    documents: PlannedDocuments<'a>,
}

/// What a plan has for every kind of documents.
struct Resolved<'a> {
    /// With the models that the approaches name.
    pub source: CollectionSource,
    /// What stays open afterwards; `None` if nothing does.
    pub kept: Option<&'a OpenCollection>,
    pub wishes: &'a Wishes,
    pub topics: Vec<Topic>,
    /// It started before the collection was opened, so each run counts what all approaches share.
    pub meter: Meter,
}

/// The documents that are ranked, with the approaches.
enum PlannedDocuments<'a> {
    Images(PlannedImages<'a>),
    Texts(PlannedTexts<'a>),
}

/// The tag of a run, and its files if it is written.
struct RunTarget<'a> {
    pub tag: String,
    pub files: Option<RunFiles<'a>>,
}

/// Receives each run when it is finished and written.
pub type OnRun<'a> = dyn FnMut(FinishedRun) -> Result<()> + 'a;

impl Wishes {
    /// The topics.
    ///
    /// # Errors
    /// The file of topics cannot be read, or it has no topic that can be read.
    fn read_topics(&self, input: &Path, on_event: &mut OnEvent) -> Result<Vec<Topic>> {
        match &self.topics {
            TopicSource::Given(topics) => Ok(topics.clone()),
            TopicSource::File(file) => read_topics(Some(file), input, on_event),
            TopicSource::Collection => read_topics(None, input, on_event),
        }
    }

    /// The tag and the files of the run of each approach. `run` is the name of a run's file.
    ///
    /// # Errors
    /// A file cannot be written, or would replace one that is read.
    fn targets<'a>(
        &self,
        run: &str,
        approaches: &[NamedApproach],
        output: Option<&'a OutputSettings>,
    ) -> Result<Vec<RunTarget<'a>>> {
        let Some(output) = output else {
            let tag = |approach: &NamedApproach| RunTarget {
                tag: (self.tag.clone()).unwrap_or_else(|| default_tag(*approach)),
                files: None,
            };
            return Ok(approaches.iter().map(tag).collect());
        };
        let mut read = Vec::new();
        if let TopicSource::File(file) = &self.topics {
            read.push(file.as_path());
        }
        let others = [&self.candidates, &self.key_file];
        read.extend(others.into_iter().flatten().map(PathBuf::as_path));
        let files = output.check(run, approaches, &read)?.into_iter();
        let target = |files: RunFiles<'a>| RunTarget {
            tag: files.tag.clone(),
            files: Some(files),
        };
        Ok(files.map(target).collect())
    }
}

impl<'a> Plan<'a> {
    /// A plan to rank images by these approaches, or by the default approach of the edition if there are none.
    ///
    /// # Errors
    /// A file cannot be read or written, there is nothing to rank, or the wishes do not fit the edition or the approaches.
    pub(crate) fn of_images(
        source: &CollectionSource,
        kept: Option<&'a OpenCollection>,
        approaches: &[&ImageApproach],
        wishes: &'a Wishes,
        output: Option<&'a OutputSettings>,
        on_event: &mut OnEvent,
    ) -> Result<Plan<'a>> {
        let mut resolved = Resolved::new(source, kept, wishes);
        let images = PlannedImages::plan(&mut resolved, approaches, output, on_event)?;
        Ok(Plan {
            resolved,
            documents: PlannedDocuments::Images(images),
        })
    }

    /// A plan to rank texts by these approaches to a task.
    ///
    /// # Errors
    /// As for [`Plan::of_images`].
    pub(crate) fn of_texts(
        source: &CollectionSource,
        kept: Option<&'a OpenCollection>,
        (task, approaches): (TextTask, &[&TextApproach]),
        wishes: &'a Wishes,
        output: Option<&'a OutputSettings>,
        on_event: &mut OnEvent,
    ) -> Result<Plan<'a>> {
        let mut resolved = Resolved::new(source, kept, wishes);
        let texts = PlannedTexts::plan(&mut resolved, task, approaches, output, on_event)?;
        Ok(Plan {
            resolved,
            documents: PlannedDocuments::Texts(texts),
        })
    }

    /// Ranks by each approach: computes and stores first what is missing (evidence about images, indexes, vectors). Each run is written when it is
    /// finished, and then passed to `on_run`.
    ///
    /// # Errors
    /// A store, a model, an index or a service fails, a file cannot be written, or the user has stopped the run. What was computed before is stored in
    /// every case.
    pub fn run(
        self,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
        on_run: &mut OnRun,
    ) -> Result<()> {
        match self.documents {
            PlannedDocuments::Images(images) => images.run(&self.resolved, host, on_event, on_run),
            PlannedDocuments::Texts(texts) => {
                texts.run(&self.resolved, host.stop, on_event, on_run)
            }
        }
    }

    /// Ranks by the only approach.
    ///
    /// # Errors
    /// As for [`Plan::run`].
    pub fn run_one(self, host: &ExtractionHost, on_event: &mut OnEvent) -> Result<FinishedRun> {
        let mut finished = None;
        self.run(host, on_event, &mut |run| {
            finished = Some(run);
            Ok(())
        })?;
        finished.context("the approach made no run")
    }
}

impl<'a> Resolved<'a> {
    fn new(
        source: &CollectionSource,
        kept: Option<&'a OpenCollection>,
        wishes: &'a Wishes,
    ) -> Self {
        Resolved {
            source: source.clone(),
            kept,
            wishes,
            topics: Vec::new(),
            meter: Meter::start(),
        }
    }

    /// Writes a run, if it has files, and passes it on.
    fn finish(
        &self,
        made: MadeRun,
        mut description: RunDescription,
        files: Option<&RunFiles>,
        on_event: &mut OnEvent,
        on_run: &mut OnRun,
    ) -> Result<()> {
        description.resources = self.meter.used();
        if let Some(files) = files {
            made.write(files, &description)?;
        }
        made.note_length(on_event);
        on_run(FinishedRun {
            made,
            description,
            topics: self.topics.len(),
            file: files.map(|files| files.run.clone()),
        })
    }
}
