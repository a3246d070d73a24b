//! An open collection: what is in it, with open indexes and models in memory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use riposte_eval::{DocId, TextTask};
use riposte_serve::questions::DocumentKind;

use crate::api::ask::{Answered, AskSettings, one_topic};
use crate::api::{Approach, Collection};
use crate::collection::task::Task;
use crate::events::OnEvent;
use crate::files::TopicSource;
use crate::index::inverted::Document;
use crate::ingest::extraction::ExtractionHost;
use crate::ingest::own_folder::OwnFolder;
use crate::recipes::settings::Setting;
use crate::recipes::text_approach::TextApproach;
use crate::runs::finished::MadeRun;
use crate::runs::images::OpenImages;
use crate::runs::plan::Wishes;
use crate::session::CollectionSource;
use crate::texts::by_words;
use crate::texts::indexes::TextIndexes;

/// The approach of searches by words alone.
const BY_WORDS: &str = "bm25";

/// What is asked to open a collection without topics of its own. Its answer is not shown.
const ANY_QUESTION: &str = "Should zoos be closed?";

/// The maximum number of examples.
const EXAMPLES: usize = 6;

/// A collection with everything open.
pub(super) struct OpenedCollection {
    /// What it has, first that by which it is known.
    pub parts: Vec<OpenedPart>,
    /// Questions of its own topics.
    pub examples: Vec<String>,
    /// The folder that it was made of, if it was.
    folder: Option<OwnFolder>,
}

/// The documents of one kind.
pub(super) struct OpenedPart {
    pub collection: Collection,
    pub documents: u64,
    pub images: Option<Arc<OpenImages>>,
    /// For texts, what a search by words needs.
    words: Option<Words>,
}

/// A question, and how it is answered.
pub(super) struct QuestionAsked<'a> {
    pub question: &'a str,
    /// The name of the approach; `None` for the default.
    pub approach: Option<&'a str>,
    /// The settings of the approach.
    pub set: &'a [Setting],
    /// The maximum number of each list.
    pub number: usize,
    /// Whether the scores of texts are explained.
    pub explain: bool,
}

impl<'a> QuestionAsked<'a> {
    /// A question that the default approach answers with the first of each list.
    pub fn first(question: &'a str) -> Self {
        QuestionAsked {
            question,
            approach: None,
            set: &[],
            number: 1,
            explain: false,
        }
    }
}

struct Words {
    indexes: Arc<TextIndexes>,
    approach: TextApproach,
}

/// The kind of the documents of a task.
pub(super) fn kind_of(task: Task) -> DocumentKind {
    match task {
        Task::Images => DocumentKind::Images,
        Task::Texts(TextTask::Controversial) => DocumentKind::Arguments,
        Task::Texts(TextTask::Comparative) => DocumentKind::Passages,
        Task::Texts(TextTask::Rank) => DocumentKind::Documents,
    }
}

impl OpenedCollection {
    /// Opens a collection: computes missing evidence, builds missing indexes and loads the models, by answering a first question.
    ///
    /// # Errors
    /// There is no collection, or it cannot be asked.
    pub fn open(
        source: &CollectionSource,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<OpenedCollection> {
        let mut source = source.clone();
        let mut folder = None;
        if OwnFolder::is_needed(&source.input, None) {
            let places = &source.session.places;
            let made = OwnFolder::open(&source.input, places, on_event)?.unlocked();
            source.input.clone_from(&made.dir);
            folder = Some(made);
        }
        let open = |task| Collection::of(task, source.clone()).kept_open();
        let tasks = match &folder {
            Some(folder) => folder.tasks(),
            None => tasks_of(&source.input, open)?,
        };
        let first = *tasks.first().context("there is nothing to ask")?;
        let topics = open(first).topics(|_| ()).unwrap_or_default();
        let titles = topics.into_iter().map(|topic| topic.title);
        let examples: Vec<String> = titles.take(EXAMPLES).collect();
        let question = examples.first().map_or(ANY_QUESTION, String::as_str);
        let parts = tasks.into_iter();
        let parts = parts.map(|task| OpenedPart::open(open(task), question, stop, on_event));
        Ok(OpenedCollection {
            parts: parts.collect::<Result<_>>()?,
            examples,
            folder,
        })
    }

    /// The kind of the documents that answer a question, if the question decides: of a folder with texts only.
    pub(crate) fn kind_for(&self, question: &str) -> Option<DocumentKind> {
        let folder = self.folder.as_ref();
        let folder = folder.filter(|folder| !folder.has(Task::Images))?;
        folder.task(None, question).ok().map(kind_of)
    }

    /// The part with documents of this kind; the first for `None`.
    pub fn part(&self, kind: Option<DocumentKind>) -> Option<&OpenedPart> {
        let mut parts = self.parts.iter();
        parts.find(|part| kind.is_none_or(|kind| kind == part.kind()))
    }

    /// The texts; `None` if there are only images.
    pub fn texts(&self) -> Option<&OpenedPart> {
        self.parts.iter().find(|part| part.words.is_some())
    }
}

/// The tasks of a collection, first that by which it is known.
///
/// # Errors
/// There is no collection.
fn tasks_of(input: &Path, open: impl Fn(Task) -> Collection) -> Result<Vec<Task>> {
    let first = Task::of_collection(input)?;
    let arguments = open(first).own_arguments();
    let arguments = arguments.map(|_| Task::Texts(TextTask::Controversial));
    Ok([first].into_iter().chain(arguments).collect())
}

impl OpenedPart {
    fn open(
        collection: Collection,
        question: &str,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<OpenedPart> {
        let mut part = OpenedPart {
            collection,
            documents: 0,
            images: None,
            words: None,
        };
        let answered = part.answer(&QuestionAsked::first(question), stop, on_event)?;
        match answered.run {
            MadeRun::Images(run) => {
                part.documents = run.images.extracted().summary.documents as u64;
                part.images = Some(Arc::clone(&run.images));
            }
            MadeRun::Searched(run) => {
                let index = run.indexes.first().context("there is no index")?;
                part.documents = index.documents().into();
                part.words = Some(part.open_words(run.task, question, stop, on_event)?);
            }
            MadeRun::Asked(_) => {}
        }
        Ok(part)
    }

    fn open_words(
        &self,
        task: TextTask,
        question: &str,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<Words> {
        let approach = Approach::find(Task::Texts(task), BY_WORDS)?;
        let request = self.collection.request(approach).wishes(Wishes {
            topics: TopicSource::Given(vec![one_topic(question)?.0]),
            without_stances: true,
            ..Wishes::default()
        });
        let plan = request.plan(None, on_event)?;
        let MadeRun::Searched(run) = plan
            .run_one(&ExtractionHost::of_a_call(stop), on_event)?
            .made
        else {
            bail!("the approach has no index");
        };
        Ok(Words {
            indexes: run.indexes,
            approach: TextApproach::find_with(task, BY_WORDS, &[])?,
        })
    }

    pub fn task(&self) -> Task {
        self.collection.task
    }

    pub fn kind(&self) -> DocumentKind {
        kind_of(self.task())
    }

    /// The answer to a question.
    ///
    /// # Errors
    /// The question cannot be answered, or the run fails.
    pub fn answer(
        &self,
        asked: &QuestionAsked,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<Answered> {
        let settings = AskSettings {
            collection: &self.collection,
            question: asked.question,
            arguments: self.collection.own_arguments(),
            approach: asked.approach.unwrap_or("riposte"),
            set: asked.set,
            number: asked.number,
            explain: asked.explain,
            output: None,
        };
        settings.answer(&ExtractionHost::of_a_call(stop), on_event)
    }

    /// The best documents for the words of a query, each with its score.
    ///
    /// # Errors
    /// There are only images, or the index is damaged.
    pub fn by_words(&self, query: &str, count: usize) -> Result<Vec<(DocId, f64)>> {
        let words = self.words.as_ref().context("it has no texts")?;
        let corpora = words.indexes.by_retrieval();
        let found = by_words(query, &corpora, &words.approach, count)?;
        Ok(found.into_iter().map(|of| (of.doc, of.score)).collect())
    }

    /// A text; `None` if there is no text with this id.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn document(&self, id: &DocId) -> Result<Option<Document>> {
        let Some(words) = &self.words else {
            return Ok(None);
        };
        let index = words.indexes.first().context("there is no index")?;
        match index.number(id) {
            Some(_) => index.document(id).map(Some),
            None => Ok(None),
        }
    }
}
