use std::path::{Path, PathBuf};
use std::sync::Arc;

use riposte_eval::topic::Topic;

use super::{Approach, Error, Request};
use crate::collection::task::Task;
use crate::datasets;
use crate::device::Compute;
use crate::events::{Event, OnEvent};
use crate::files::read_topics;
use crate::ingest::own_folder::OwnFolder;
use crate::places::Places;
use crate::runs::open_collection::OpenCollection;
use crate::session::{CollectionSource, Session};
use crate::weights::Models;

/// The arguments in a collection of images, which answer together with the images.
const ARGUMENTS: &str = "args-me.json";

/// A collection on disk, and where riposte stores what it computes about it.
///
/// Opening a collection reads little: what is computed is stored, and used again by the next call and by the command line. The formats are those of
/// `docs/images.md`, `docs/texts.md` and `docs/rank.md`.
#[derive(Clone)]
pub struct Collection {
    pub(crate) task: Task,
    pub(super) source: CollectionSource,
    /// The folder that it was made of, if it was.
    folder: Option<Arc<OwnFolder>>,
    /// Whether the question decides if the texts of the folder are arguments, passages or other documents.
    question_decides: bool,
    /// What stays open between requests; `None` if nothing does.
    pub(super) kept: Option<Arc<OpenCollection>>,
}

impl Collection {
    /// The collection in a directory, or the data set of this name that `riposte datasets get` has got. What the documents are is inferred from the names
    /// of the files; a collection of images and texts counts as images. A collection is made of any other folder of pictures, saved pages and texts, or of
    /// one such file; it is in the cache directory. The installed models are used, in int8 on machines with instructions for it.
    ///
    /// # Errors
    /// There is nothing to search, or the user has no data directory, where models could be.
    pub fn open(input: impl AsRef<Path>) -> Result<Collection, Error> {
        let input = datasets::directory(input.as_ref()).map_err(Error::input)?;
        let models = Models::at(None).map_err(Error::model)?;
        let session = Session::new(Places::default(), models, Compute::default());
        Collection::opened(session, &input, None, "", &mut |_| ()).map_err(Error::input)
    }

    /// The collection at a path, for the chosen task or, if none is chosen, for that of its documents and the question.
    ///
    /// # Errors
    /// There is nothing to search, or nothing for the task.
    #[doc(hidden)]
    pub fn opened(
        session: Session,
        input: &Path,
        chosen: Option<Task>,
        question: &str,
        on_event: &mut OnEvent,
    ) -> anyhow::Result<Collection> {
        let folder = OwnFolder::is_needed(input, chosen);
        let folder = folder.then(|| OwnFolder::open(input, &session.places, on_event));
        let folder = folder.transpose()?;
        let task = match (&folder, chosen) {
            (Some(folder), _) => folder.task(chosen, question)?,
            (None, Some(task)) => task,
            (None, None) => Task::of_collection(input)?,
        };
        let input = folder.as_ref().map_or(input, |folder| &folder.dir);
        let source = CollectionSource::new(session, input);
        Ok(Collection {
            question_decides: folder.is_some() && chosen.is_none(),
            folder: folder.map(Arc::new),
            ..Collection::of(task, source)
        })
    }

    #[doc(hidden)]
    pub fn of(task: Task, source: CollectionSource) -> Collection {
        Collection {
            task,
            source,
            folder: None,
            question_decides: false,
            kept: None,
        }
    }

    /// The folder that it was made of, if it was.
    pub(crate) fn folder(&self) -> Option<&OwnFolder> {
        self.folder.as_deref()
    }

    /// The same collection for the task whose documents answer the question.
    ///
    /// # Errors
    /// The folder has no documents. No collection is made of such a folder.
    pub(super) fn for_question(&self, question: &str) -> anyhow::Result<Collection> {
        match &self.folder {
            Some(folder) if self.question_decides => {
                Ok(self.clone().for_task(folder.task(None, question)?))
            }
            _ => Ok(self.clone()),
        }
    }

    /// The same collection for another task, such as the texts of a collection that has images and texts.
    #[must_use]
    pub fn for_task(mut self, task: Task) -> Collection {
        self.task = task;
        self.question_decides = false;
        self
    }

    /// Stores what is computed in this directory, which is created if necessary, instead of in the user's cache directory. A collection that was made of a
    /// folder stays where it is.
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
