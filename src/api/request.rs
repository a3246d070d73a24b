mod images;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use riposte_eval::topic::Topic;
use riposte_eval::{TextTask, run};

use super::{Approach, Collection, Error, Ranking};
use crate::collection::task::Task;
use crate::debate::PER_SIDE;
use crate::events::{Event, OnEvent, of_approach};
use crate::files::explanations::KeepExplanations;
use crate::files::{RUN_FILE, TopicSource, read_topics};
use crate::index::inverted::IndexingBudget;
use crate::ingest::extraction::ExtractionHost;
use crate::recipes::settings::Setting;
use crate::recipes::text_approach::TextApproach;
use crate::recipes::{NamedApproach, default_tag};
use crate::runs::description::RunDescription;
use crate::runs::resources::Meter;
use crate::runs::run_files::{OutputSettings, RunFiles};
use crate::runs::service::{ServiceRequest, ServiceRun};
use crate::runs::texts::{FinishedTextRun, OpenTexts, TextRequest};
use crate::runs::{service, texts};
use crate::topic::question::TopicParts;

/// What is ranked, for which topics, and how.
///
/// ```no_run
/// use std::ops::ControlFlow;
///
/// let collection = riposte::Collection::open("sample")?;
/// let approach = riposte::Approach::named(collection.task(), "riposte")?;
/// let ranking = collection.request(approach).explained().rank(|event| {
///     eprintln!("{event:?}");
///     ControlFlow::Continue(()) // Break(()) stops
/// })?;
/// ranking.write_run("out")?;
/// # Ok::<(), riposte::Error>(())
/// ```
pub struct Request<'c> {
    #[doc(hidden)]
    pub collection: &'c Collection,
    /// Empty for the default approach of the edition.
    #[doc(hidden)]
    pub approaches: Vec<Approach>,
    #[doc(hidden)]
    pub topics: TopicSource,
    #[doc(hidden)]
    pub parts: TopicParts,
    #[doc(hidden)]
    pub tag: Option<String>,
    /// Images are always explained.
    #[doc(hidden)]
    pub explain: bool,
    /// Texts: whether their stances are detected, too.
    #[doc(hidden)]
    pub stances: bool,
    #[doc(hidden)]
    pub debate: bool,
    #[doc(hidden)]
    pub images: ImageOptions,
    /// The file with the key of a search engine.
    #[doc(hidden)]
    pub key_file: Option<PathBuf>,
}

/// What only requests for images have.
#[derive(Default)]
pub struct ImageOptions {
    /// As in `ImageSettings`.
    pub candidates: Option<PathBuf>,
    pub edition: Option<u32>,
    pub overlap: bool,
    pub arguments: Option<PathBuf>,
    /// The settings of the default approach.
    pub set: Vec<Setting>,
}

/// A finished run of texts, by a search of the collection or by a search engine on the web.
pub enum DoneTexts {
    Searched(FinishedTextRun),
    Asked(ServiceRun),
}

/// The receiver of a finished run of texts, with its metadata and its files.
pub type OnDone<'a> = dyn FnMut(DoneTexts, WrittenRun) -> Result<()> + 'a;

/// How a run of texts was described, and where it was written.
pub struct WrittenRun<'a> {
    pub description: RunDescription,
    /// The number of topics.
    pub topics: usize,
    /// The workspace of the collection.
    pub base: &'a Path,
    /// The file of the run; `None` if it was not written.
    pub file: Option<&'a Path>,
}

impl<'c> Request<'c> {
    #[doc(hidden)]
    pub fn new(collection: &'c Collection, approaches: Vec<Approach>) -> Request<'c> {
        Request {
            collection,
            approaches,
            topics: TopicSource::Collection,
            parts: TopicParts::default(),
            tag: None,
            explain: false,
            stances: collection.task != Task::Texts(TextTask::Rank),
            debate: false,
            images: ImageOptions::default(),
            key_file: None,
        }
    }

    /// Ranks for these topics, and not for those in the collection's own file.
    #[must_use]
    pub fn topics(mut self, topics: Vec<Topic>) -> Self {
        self.topics = TopicSource::Given(topics);
        self
    }

    /// Ranks for the topics in this file: XML of the lab, or JSON lines of TIREx or BEIR.
    #[must_use]
    pub fn topics_in(mut self, file: impl AsRef<Path>) -> Self {
        self.topics = TopicSource::File(file.as_ref().to_owned());
        self
    }

    /// Also explains the score of each document. Image rankings are always explained; texts take longer.
    #[must_use]
    pub fn explained(mut self) -> Self {
        self.explain = true;
        self
    }

    /// The name of the run, in the last column of its lines. By default it contains the name of the approach.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Ranks the documents. Computes and stores first what is missing: evidence about images, an index, vectors.
    ///
    /// `on_event` receives notes, faults in files, and progress. If it returns [`ControlFlow::Break`], the work ends with [`Error::Stopped`]: images
    /// after those that are being read, a ranking after the topic in progress, an index only when it is finished.
    ///
    /// # Errors
    /// The approach is for another task, there is nothing to rank, a store or a model fails, or `on_event` has stopped the work.
    pub fn rank(
        &self,
        mut on_event: impl FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Ranking, Error> {
        self.check_approaches().map_err(Error::approach)?;
        stoppable(&mut on_event, |stop, on_event| {
            self.rank_one(stop, on_event)
        })
    }

    fn rank_one(&self, stop: &AtomicBool, on_event: &mut OnEvent) -> Result<Ranking> {
        if self.collection.task == Task::Images {
            let (done, _) = self.rank_images(None, &ExtractionHost::of_a_call(stop), on_event)?;
            return Ranking::of_images(done);
        }
        let mut ranking = None;
        self.rank_texts(None, stop, on_event, &mut |done, written| {
            ranking = Some(Ranking::of_texts(done, written.description));
            Ok(())
        })?;
        ranking.context("the approach made no run")
    }

    /// Ranks texts by each approach. Each run is written when it is finished, if `output` is given, and then passed to `on_done`.
    #[doc(hidden)]
    pub fn rank_texts(
        &self,
        output: Option<&OutputSettings>,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
        on_done: &mut OnDone,
    ) -> Result<()> {
        let Task::Texts(task) = self.collection.task else {
            anyhow::bail!("the collection has images, and no texts are ranked");
        };
        let meter = Meter::start();
        self.check_approaches()?;
        let approaches = self.approaches.iter().filter_map(Approach::texts);
        let approaches: Vec<&TextApproach> = approaches.collect();
        texts::check_services(task, &approaches)?;
        let settings = &self.collection.settings;
        let topics = self.read_topics(on_event)?;
        let names: Vec<NamedApproach> =
            approaches.iter().map(|approach| approach.named()).collect();
        let read = self.files_to_read();
        let files = output.map(|output| output.check(RUN_FILE, &names, &read));
        let files = files.transpose()?.unwrap_or_default();
        let base = settings.places.texts(&settings.input, on_event)?;
        let several = approaches.len() > 1;
        for (n, approach) in approaches.into_iter().enumerate() {
            let files = files.get(n);
            let tag =
                files.map_or_else(|| self.tag_of(approach.named()), |files| files.tag.clone());
            let run = OneRun {
                request: self,
                task,
                topics: &topics,
                approach,
                tag: &tag,
                base: &base,
                is_first: n == 0,
                meter: &meter,
            };
            of_approach(
                several,
                &approach.name,
                on_event,
                |on_event| match approach.service {
                    Some(_) => run.ask(files, stop, on_event, on_done),
                    None => run.search(files, stop, on_event, on_done),
                },
            )?;
        }
        Ok(())
    }

    fn tag_of(&self, approach: NamedApproach) -> String {
        self.tag.clone().unwrap_or_else(|| default_tag(approach))
    }

    /// # Errors
    /// An approach is for another task than the collection.
    fn check_approaches(&self) -> Result<()> {
        for approach in &self.approaches {
            let (is, wants) = (approach.task(), self.collection.task);
            ensure!(
                is == wants,
                "the approach {} is for {}, and not for {}",
                approach.name(),
                is.word(),
                wants.word()
            );
        }
        Ok(())
    }

    /// # Errors
    /// An approach asks a search engine, whose answers have no texts.
    pub(super) fn ensure_no_service(&self) -> Result<()> {
        let mut asking = self.approaches.iter().filter_map(Approach::texts);
        let asking = asking.find(|approach| approach.service.is_some());
        ensure!(
            asking.is_none(),
            "the approach {} asks a service: it has no texts to answer with",
            asking.map_or("", |approach| &approach.name)
        );
        Ok(())
    }

    fn read_topics(&self, on_event: &mut OnEvent) -> Result<Vec<Topic>> {
        let file = match &self.topics {
            TopicSource::Given(topics) => return Ok(topics.clone()),
            TopicSource::File(file) => Some(file.as_path()),
            TopicSource::Collection => None,
        };
        let input = &self.collection.settings.input;
        read_topics(file, input, on_event)
    }

    /// The files that must not be overwritten.
    fn files_to_read(&self) -> Vec<&Path> {
        let mut files = Vec::new();
        if let TopicSource::File(file) = &self.topics {
            files.push(file.as_path());
        }
        let others = [&self.images.candidates, &self.key_file];
        files.extend(others.into_iter().flatten().map(PathBuf::as_path));
        files
    }
}

/// A run of texts in the making.
struct OneRun<'a> {
    request: &'a Request<'a>,
    task: TextTask,
    topics: &'a [Topic],
    approach: &'a TextApproach,
    tag: &'a str,
    base: &'a Path,
    is_first: bool,
    /// Runs since the beginning of the request: what several approaches share counts for each of them.
    meter: &'a Meter,
}

impl OneRun<'_> {
    fn search(
        &self,
        files: Option<&RunFiles>,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
        on_done: &mut OnDone,
    ) -> Result<()> {
        let (request, settings) = (self.request, &self.request.collection.settings);
        ensure!(
            request.key_file.is_none(),
            "--key-file is for approaches that ask a service, such as chatnoir"
        );
        let searched = TextRequest {
            task: self.task,
            input: &settings.input,
            topics: self.topics,
            approach: self.approach,
            parts: request.parts,
            tag: self.tag,
            explain: request.explain,
            keep: files.map_or(KeepExplanations::InMemory, |files| {
                files.keep(self.topics.len())
            }),
            stances: request.stances,
            debate: request.debate.then_some(PER_SIDE),
            base: self.base,
            models: &settings.models,
            compute: settings.options.precision.compute,
            effort: IndexingBudget::on(settings.threads)?,
            // the first run has read the collection
            rehash: settings.rehash && self.is_first,
            stop,
        };
        let done = match &request.collection.kept {
            Some(kept) => kept.texts(&searched, on_event)?.rank(&searched, on_event)?,
            None => OpenTexts::open(&searched, on_event)?.rank(&searched, on_event)?,
        };
        if self.is_first {
            done.indexes.report_faults(on_event)?;
        }
        let description = searched.describe(&done);
        done.explained.note_length(on_event);
        self.finish(DoneTexts::Searched(done), description, files, on_done)
    }

    /// `--rehash`, `--threads` and `--models` have no effect, because there is no collection.
    fn ask(
        &self,
        files: Option<&RunFiles>,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
        on_done: &mut OnDone,
    ) -> Result<()> {
        let asked = ServiceRequest {
            topics: self.topics,
            approach: self.approach,
            parts: self.request.parts,
            tag: self.tag,
            explain: self.request.explain,
            stances: self.request.stances,
            key_file: self.request.key_file.as_deref(),
            workspace: self.base,
            stop,
        };
        let done = service::run(&asked, on_event)?;
        let description = asked.describe(&self.request.collection.settings.input);
        self.finish(DoneTexts::Asked(done), description, files, on_done)
    }

    /// Writes a run, if it has files, and passes it on.
    fn finish(
        &self,
        done: DoneTexts,
        mut description: RunDescription,
        files: Option<&RunFiles>,
        on_done: &mut OnDone,
    ) -> Result<()> {
        description.resources = self.meter.used();
        if let Some(files) = files {
            let (lines, explained, sheets) = match &done {
                DoneTexts::Searched(run) => (&run.lines, &run.explained, &run.sheets[..]),
                DoneTexts::Asked(run) => (&run.lines, &run.explained, &[][..]),
            };
            files.write(&run::write_texts(lines)?, explained, sheets, &description)?;
        }
        let written = WrittenRun {
            description,
            topics: self.topics.len(),
            base: self.base,
            file: files.map(|files| files.run.as_path()),
        };
        on_done(done, written)
    }
}

/// Runs a computation that ends with [`Error::Stopped`] when an event is answered with [`ControlFlow::Break`].
pub(super) fn stoppable<T>(
    on_event: &mut dyn FnMut(Event) -> ControlFlow<()>,
    compute: impl FnOnce(&AtomicBool, &mut OnEvent) -> Result<T>,
) -> Result<T, Error> {
    let stop = AtomicBool::new(false);
    let on_event: &mut OnEvent = &mut |event| {
        if on_event(event).is_break() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    compute(&stop, on_event).map_err(Error::computation)
}
