use std::path::{Path, PathBuf};
use std::sync::Arc;

use riposte_eval::topic::Topic;

use super::{Approach, Error, Request};
use crate::collection::task::Task;
use crate::device::Compute;
use crate::events::Event;
use crate::files::read_topics;
use crate::ingest::extraction_settings::{CollectionSource, Session};
use crate::places::Places;
use crate::runs::open_collection::OpenCollection;
use crate::weights::Models;

/// The arguments in a collection of images, which answer together with the images.
const ARGUMENTS: &str = "args-me.json";

/// A collection on disk, and where riposte stores what it computes about it.
///
/// Opening a collection reads little: what is computed is stored, and used again by the next call and by the command line. The formats are those of
/// `docs/images.md`, `docs/texts.md` and `docs/rank.md`.
pub struct Collection {
    pub(crate) task: Task,
    pub(super) source: CollectionSource,
    /// What stays open between requests; `None` if nothing does.
    pub(super) kept: Option<Arc<OpenCollection>>,
}

impl Collection {
    /// The collection in a directory. What its documents are is inferred from the names of its files; a collection of images and texts counts as
    /// images. What is computed about it is stored in the user's cache directory. The installed models are used, in int8 on machines with
    /// instructions for it.
    ///
    /// # Errors
    /// There is no collection, or the user has no data directory, where models could be.
    pub fn open(dir: impl AsRef<Path>) -> Result<Collection, Error> {
        let input = dir.as_ref();
        let task = Task::of_collection(input).map_err(Error::input)?;
        let (places, compute) = (Places::default(), Compute::default());
        let models = Models::at(None).map_err(Error::model)?;
        let session = Session::new(places, models, compute);
        Ok(Collection::of(task, CollectionSource::new(session, input)))
    }

    #[doc(hidden)]
    pub fn of(task: Task, source: CollectionSource) -> Collection {
        Collection {
            task,
            source,
            kept: None,
        }
    }

    /// The same collection for another task, such as the texts of a collection that has images and texts.
    #[must_use]
    pub fn for_task(mut self, task: Task) -> Collection {
        self.task = task;
        self
    }

    /// Stores what is computed in this directory, which is created if necessary, instead of in the user's cache directory.
    #[must_use]
    pub fn stored_in(mut self, dir: impl AsRef<Path>) -> Collection {
        self.source.session.places.cache = Some(dir.as_ref().to_owned());
        self
    }

    /// Uses the models in this directory, which need not exist.
    ///
    /// # Errors
    /// Never on a correct build: the list of models is part of it.
    pub fn with_models(mut self, dir: impl AsRef<Path>) -> Result<Collection, Error> {
        self.source.session.models = Models::at(Some(dir.as_ref())).map_err(Error::model)?;
        Ok(self)
    }

    /// Computes on this number of threads, at least 1, instead of one for each core. Results do not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Collection {
        self.source.session.threads = Some(threads);
        self
    }

    /// Keeps indexes open and models in memory, so that the next request of the same approach begins at once. Files that change after the first request are not
    /// noticed: open the collection again to see them.
    #[must_use]
    pub fn kept_open(mut self) -> Collection {
        self.kept = Some(Arc::default());
        self
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.source.input
    }

    /// The task whose documents it has.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The topics in the collection's own file. Topics that cannot be read are left out; `on_event` receives an [`Event::Fault`] for each.
    ///
    /// # Errors
    /// There is no such file, or no topic in it can be read.
    pub fn topics(&self, mut on_event: impl FnMut(Event)) -> Result<Vec<Topic>, Error> {
        let read = read_topics(None, &self.source.input, &mut on_event);
        read.map_err(Error::input)
    }

    /// A request to rank its documents by this approach.
    pub fn request(&self, approach: Approach) -> Request<'_> {
        self.request_all(vec![approach])
    }

    /// A request to rank its documents by several approaches, or by the default approach of the edition if there are none.
    #[doc(hidden)]
    pub fn request_all(&self, approaches: Vec<Approach>) -> Request<'_> {
        Request::new(self, approaches)
    }

    /// The arguments in a collection of images, if it has any.
    #[doc(hidden)]
    #[expect(clippy::disallowed_methods, reason = "an answer only lacks them")]
    pub fn own_arguments(&self) -> Option<PathBuf> {
        let own = self.source.input.join(ARGUMENTS);
        (self.task == Task::Images && own.is_file()).then_some(own)
    }
}
