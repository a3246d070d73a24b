use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};
use riposte_eval::topic::Topic;

use super::{Approach, Collection, Error, Ranking};
use crate::collection::task::Task;
use crate::events::{Event, OnEvent};
use crate::files::TopicSource;
use crate::ingest::extraction::ExtractionHost;
use crate::runs::plan::{Plan, Wishes};
use crate::runs::run_files::OutputSettings;

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
    collection: &'c Collection,
    /// Empty for the default approach of the edition.
    approaches: Vec<Approach>,
    wishes: Wishes,
}

impl<'c> Request<'c> {
    pub(super) fn new(collection: &'c Collection, approaches: Vec<Approach>) -> Request<'c> {
        Request {
            collection,
            approaches,
            wishes: Wishes::default(),
        }
    }

    /// Ranks for these topics, and not for those in the collection's own file.
    #[must_use]
    pub fn topics(mut self, topics: Vec<Topic>) -> Self {
        self.wishes.topics = TopicSource::Given(topics);
        self
    }

    /// Ranks for the topics in this file: XML of the lab, or JSON lines of TIREx or BEIR.
    #[must_use]
    pub fn topics_in(mut self, file: impl AsRef<Path>) -> Self {
        self.wishes.topics = TopicSource::File(file.as_ref().to_owned());
        self
    }

    /// Also explains the score of each document. Image rankings are always explained; texts take longer.
    #[must_use]
    pub fn explained(mut self) -> Self {
        self.wishes.explain = true;
        self
    }

    /// The name of the run, in the last column of its lines. By default it contains the name of the approach.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.wishes.tag = Some(tag.into());
        self
    }

    /// Asks for all of this, and for nothing that was asked for before.
    #[must_use]
    pub fn wishes(mut self, wishes: Wishes) -> Self {
        self.wishes = wishes;
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
            let plan = self.plan(None, on_event)?;
            let run = plan.run_one(&ExtractionHost::of_a_call(stop), on_event)?;
            Ok(Ranking::new(run))
        })
    }

    /// Resolves and checks everything that was asked. With `output`, the runs are written.
    ///
    /// # Errors
    /// An approach is for another task, a file cannot be read or written, or there is nothing to rank.
    #[doc(hidden)]
    pub fn plan<'p>(
        &'p self,
        output: Option<&'p OutputSettings>,
        on_event: &mut OnEvent,
    ) -> Result<Plan<'p>> {
        self.check_approaches()?;
        let Collection {
            task, source, kept, ..
        } = self.collection;
        let (kept, wishes) = (kept.as_deref(), &self.wishes);
        match task {
            Task::Images => {
                let approaches: Vec<_> = self
                    .approaches
                    .iter()
                    .filter_map(Approach::images)
                    .collect();
                Plan::of_images(source, kept, &approaches, wishes, output, on_event)
            }
            Task::Texts(task) => {
                let approaches: Vec<_> =
                    self.approaches.iter().filter_map(Approach::texts).collect();
                let approaches = (*task, &*approaches);
                Plan::of_texts(source, kept, approaches, wishes, output, on_event)
            }
        }
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
