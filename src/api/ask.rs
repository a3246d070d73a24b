//! Runs a question as the only topic of a run, for the answer to it.
//!
//! The question becomes the topic of a run of the task, so an answer is the same as in a run.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::TextTask;
use riposte_eval::edition::{ASSUMED, Edition};
use riposte_eval::topic::{self, Topic};
use riposte_page::answer::{Answer, Text};
use serde_json::json;

use super::request::stoppable;
use super::{Approach, Collection, Error};
use crate::answer::question;
use crate::collection::task::Task;
use crate::disk::remove_if_there;
use crate::events::{Event, Note, NoteKind, OnEvent, OnThreadEvent};
use crate::files::{TopicSource, write_atomically};
use crate::ingest::extraction::ExtractionHost;
use crate::language::refusal;
use crate::limits::MAX_QUESTION;
use crate::recipes::settings::Setting;
use crate::report::inspect;
use crate::report::place::ReportPlace;
use crate::report::shown::ShownRun;
use crate::runs::finished::MadeRun;
use crate::runs::plan::Wishes;
use crate::runs::run_files::{DEBATE, EXPLANATIONS, OutputSettings};
use crate::topic::ASKED;

/// What is written beside the run: the file with the topic, and the directory of the report.
const TOPICS_FILE: &str = "topics.jsonl";
const REPORT: &str = "report";

/// A question, and what it is answered from.
pub struct AskSettings<'a> {
    pub collection: &'a Collection,
    pub question: &'a str,
    /// Arguments that answer together with images.
    pub arguments: Option<PathBuf>,
    /// The name of the approach.
    pub approach: &'a str,
    /// The settings of the approach.
    pub set: &'a [Setting],
    /// The number of arguments on each side, of images of each list of the run, or of texts.
    pub number: usize,
    /// Whether the scores of texts are explained; those of images always are. A report shows the explanations.
    pub explain: bool,
    /// The directory for the files of the run; `None` to write none.
    pub output: Option<PathBuf>,
}

/// An answer, and the run that it comes from.
pub struct Answered {
    pub answer: Answer,
    /// The run with the question as its topic.
    pub run: MadeRun,
    topic: Topic,
}

/// Where the report of an answer is written.
pub enum ReportOutput {
    /// In a directory of its own, beside the files of the run in this directory.
    Beside(PathBuf),
    /// As a single page in this file, whose name ends in .html.
    File(PathBuf),
}

impl Collection {
    /// Answers a question with the default approach: by the best images and arguments for and against its claim, or by the best texts; by at most `number`
    /// of each. `on_event` is as for [`Request::rank`](crate::Request::rank).
    ///
    /// # Errors
    /// The question is empty or longer than 1,000 characters, there is nothing to answer with, or the ranking fails.
    pub fn ask(
        &self,
        question: &str,
        number: usize,
        mut on_event: impl FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Answer, Error> {
        let collection = &self.for_question(question).map_err(Error::input)?;
        let settings = AskSettings {
            collection,
            question,
            arguments: collection.own_arguments(),
            approach: "riposte",
            set: &[],
            number,
            explain: false,
            output: None,
        };
        let answered = stoppable(&mut on_event, |stop, on_event| {
            settings.answer(&ExtractionHost::of_a_call(stop), on_event)
        })?;
        Ok(answered.answer)
    }
}

impl AskSettings<'_> {
    /// Answers the question.
    ///
    /// # Errors
    /// The question is empty or too long, there is nothing to answer with, or the run fails.
    pub fn answer(&self, host: &ExtractionHost, on_event: &mut OnEvent) -> Result<Answered> {
        let words: Vec<&str> = self.question.split_whitespace().collect();
        let question = words.join(" ");
        ensure!(!question.is_empty(), "the question is empty");
        ensure!(
            question.chars().any(char::is_alphanumeric),
            "the question {question:?} has no word"
        );
        ensure!(
            question.chars().count() <= MAX_QUESTION,
            "the question has more than {MAX_QUESTION} characters"
        );
        let task = self.collection.task;
        if let Some(why) = refusal(&question).filter(|_| task.has_sides()) {
            bail!(why);
        }
        ensure!(
            self.arguments.is_none() || task == Task::Images,
            "--arguments answer together with images, and {} has other documents",
            self.collection.dir().display()
        );
        let (topic, line) = one_topic(&question)?;
        if let Some(dir) = &self.output {
            std::fs::create_dir_all(dir)
                .with_context(|| format!("cannot create {}", dir.display()))?;
            write_atomically(&dir.join(TOPICS_FILE), line.as_bytes())?;
        }
        let on_event: &mut OnEvent = &mut |event| {
            if !is_known(&event, self.collection.folder().is_some()) {
                on_event(event);
            }
        };
        let debate = match task {
            Task::Images => self.arguments.is_some(),
            Task::Texts(task) => task == TextTask::Controversial,
        };
        let mut run = self.run(&topic, debate, host, on_event)?;
        run.round_scores()?;
        if let (Some(dir), Task::Images, false) = (&self.output, task, debate) {
            let file = dir.join(DEBATE);
            let removing = || format!("cannot remove {}", file.display());
            remove_if_there(&file).with_context(removing)?;
        }
        let answer = question::of_run(&topic, self.number, &run, self.collection.folder())?;
        Ok(Answered { answer, run, topic })
    }

    /// The run with the question as its topic.
    fn run(
        &self,
        topic: &Topic,
        debate: bool,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
    ) -> Result<MadeRun> {
        let approach = Approach::find_with(self.collection.task, self.approach, self.set)?;
        ensure!(
            !approach.asks_a_service(),
            "the approach {} asks a service: it has no texts to answer with",
            approach.name()
        );
        let request = self.collection.request(approach).wishes(Wishes {
            topics: TopicSource::Given(vec![topic.clone()]),
            explain: self.explain,
            debate,
            edition: Some(ASSUMED),
            arguments: self.arguments.clone(),
            ..Wishes::default()
        });
        let output = self.files(debate);
        let plan = request.plan(output.as_ref(), on_event)?;
        Ok(plan.run_one(host, on_event)?.made)
    }

    /// The files of the run, if an output directory is given. `debate` says whether debate sheets are among them.
    fn files(&self, debate: bool) -> Option<OutputSettings> {
        let dir = self.output.clone()?;
        Some(OutputSettings {
            explain: Some(dir.join(EXPLANATIONS)),
            debate: debate.then(|| dir.join(DEBATE)),
            dir,
            tag: None,
            metadata: None,
            faults: None,
        })
    }
}

/// Whether an event says nothing new: the answer shows how many images it has and whether they are about the question, and pictures of a folder have no
/// pages.
fn is_known(event: &Event, of_folder: bool) -> bool {
    match event {
        Event::Note(Note { kind, .. }) => {
            matches!(kind, NoteKind::ShortList(_) | NoteKind::NothingAbout(_))
        }
        Event::Fault(fault) => of_folder && fault.lacks_page,
        _ => false,
    }
}

impl Answered {
    /// The first texts of the run, also of one whose answer has sides; none for images.
    ///
    /// # Errors
    /// A document cannot be read.
    pub(crate) fn texts(&self, number: usize) -> Result<Vec<Text>> {
        let MadeRun::Searched(run) = &self.run else {
            return Ok(Vec::new());
        };
        let answer = question::of_texts(&self.topic, number, run)?;
        Ok(answer.texts.unwrap_or_default())
    }

    /// Writes the report of the run. Returns the path of the page that shows the answer: the debate sheet or, without one, the page of the topic.
    ///
    /// # Errors
    /// A document cannot be read, or the report cannot be written.
    pub fn write_report(
        self,
        output: &ReportOutput,
        on_event: &mut OnThreadEvent,
    ) -> Result<PathBuf> {
        let (path, is_single) = match output {
            ReportOutput::Beside(run) => (run.join(REPORT), false),
            ReportOutput::File(file) => (file.clone(), true),
        };
        let place = ReportPlace::new(&path, is_single, None, Edition::first());
        let has_sheet = !self.run.sheets().is_empty();
        let first = self.write_pages(&place, on_event)?;
        if is_single {
            return Ok(first);
        }
        let begins = if has_sheet { "debate" } else { "topic" };
        Ok(first.with_file_name(format!("{begins}-{ASKED}.html")))
    }

    fn write_pages(self, place: &ReportPlace, on_event: &mut OnThreadEvent) -> Result<PathBuf> {
        match self.run {
            MadeRun::Images(run) => {
                let (lines, explained) = (run.ranking.lines, run.ranking.explained.into_list());
                let tag = Some(run.settings.tag);
                let shown = ShownRun::made(self.topic, tag, lines, explained, run.sheets);
                let extracted = run.images.extracted();
                let store = Some(&extracted.extraction.store);
                let collection = &run.images.collection;
                inspect::write_images(&shown, collection, store, None, place, on_event)
            }
            MadeRun::Searched(run) => {
                let index = run.indexes.first().context("the approach has no index")?;
                let tag = run.lines.first().map(|line| line.tag.clone());
                let explained = run.explained.into_list();
                let shown = ShownRun::made(self.topic, tag, run.lines, explained, run.sheets);
                inspect::write_texts(&shown, run.task, index, &[], place)
            }
            MadeRun::Asked(_) => bail!("the approach asks a service, whose answers have no texts"),
        }
    }
}

/// A question as the only topic of a run, and as the line of a file of topics.
///
/// # Errors
/// It has no words.
pub(crate) fn one_topic(question: &str) -> Result<(Topic, String)> {
    let line = format!("{}\n", json!({"qid": ASKED, "query": question}));
    let topic = topic::parse(&line)?.into_iter().next();
    Ok((topic.context("the question is no topic")?, line))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use riposte_eval::TopicId;

    use super::*;
    use crate::collection::{Fault, FaultKind};

    #[test]
    fn what_an_answer_shows_is_recognised_by_its_kind_and_not_by_its_words() {
        let topic = TopicId(ASKED.to_owned());
        let text = format!("topic {ASKED}: only 3 of 10 images for PRO");
        for (kind, known) in [
            (NoteKind::ShortList(topic.clone()), true),
            (NoteKind::NothingAbout(vec![topic]), true),
            (NoteKind::Other, false),
        ] {
            let text = text.clone();
            assert_eq!(is_known(&Event::Note(Note { kind, text }), true), known);
        }
        // the path of a file can have any name
        for path in [format!("topic {ASKED}: /a"), format!("a: {ASKED} \"b\"")] {
            assert!(!is_known(&Event::note(format!("cannot read {path}")), true));
        }
    }

    #[test]
    fn an_image_without_a_page_is_known_only_of_a_folder() {
        let dir = Path::new("I0");
        let none = Fault::no_page(dir);
        let stored = Fault::stored(none.kind, dir, None, none.what.clone());
        let said = Fault::in_file(FaultKind::Image, dir, none.what.clone());
        for (fault, known) in [(none, true), (stored, true), (said, false)] {
            let event = Event::Fault(fault);
            assert_eq!(
                (is_known(&event, true), is_known(&event, false)),
                (known, false)
            );
        }
    }
}
