//! The answer to a question: the best images and arguments for and against its claim, or the best texts.
//!
//! The question becomes the topic of a run of the task, so an answer is the same as in a run.

mod answer;
mod documents;
mod judge;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use riposte_claims::claims;
use riposte_eval::edition::{ASSUMED, Edition};
use riposte_eval::topic::{self, Topic};
use riposte_eval::{Stance, TextTask, objects, run};
use serde::Serialize;
use serde_json::json;

use documents::arguments_of;

use super::request::stoppable;
use super::{Approach, Collection, Error};
use crate::collection::task::Task;
use crate::debate::sheet::DebateSheet;
use crate::disk::remove_if_there;
use crate::events::{Event, Note, NoteKind, OnEvent, OnThreadEvent};
use crate::files::{TopicSource, write_atomically};
use crate::ingest::extraction::ExtractionHost;
use crate::ingest::own_folder::OwnFolder;
use crate::language::refusal;
use crate::limits::MAX_QUESTION;
use crate::recipes::settings::Setting;
use crate::report::inspect;
use crate::report::place::ReportPlace;
use crate::report::shown::ShownRun;
use crate::report::words::Marker;
use crate::runs::finished::MadeRun;
use crate::runs::images::ImageRun;
use crate::runs::plan::Wishes;
use crate::runs::run_files::{DEBATE, EXPLANATIONS, OutputSettings};
use crate::runs::texts::FinishedTextRun;
use crate::score::presence::Presence;
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

/// The answer to a question: two sides, or a list of texts.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    pub question: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<Side>,
    /// What takes no clear side; `None` for texts, which have no sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// The objects that a question compares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<[String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texts: Option<Vec<Text>>,
    /// Whether anything in the collection is about the question; `None` if that was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// True if no document is about the question; the closest ones are listed anyway.
    pub nothing_about_it: bool,
}

/// What speaks for or against the claim of a question.
#[derive(Debug, Serialize)]
pub struct Side {
    pub side: Stance,
    /// The claim of this side; empty for an open question.
    pub claim: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<Argument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<Image>>,
}

/// What is about the question but takes no clear side: P(pro) and P(con) differ by less than .25.
#[derive(Debug, Serialize)]
pub struct Undecided {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<Argument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<Image>>,
    /// The number of undecided arguments that are not among these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_arguments: Option<usize>,
}

/// An argument, quoted by the words that take its side most clearly.
#[derive(Debug, Serialize)]
pub struct Argument {
    pub id: String,
    /// Rank among all arguments, from 1.
    pub rank: usize,
    pub score: f64,
    /// P(pro) - P(con).
    pub stance: f64,
    pub conclusion: String,
    pub text: String,
    pub repeats: Vec<String>,
    #[serde(flatten)]
    pub about: About,
}

/// An image, and the words that connect it with the question.
#[derive(Debug, Serialize)]
pub struct Image {
    /// The list of the run that it is in, and its rank there.
    pub list: Stance,
    pub rank: u32,
    pub id: String,
    pub score: f64,
    /// P(pro) and P(con), if the approach estimates them.
    pub pro: Option<f64>,
    pub con: Option<f64>,
    pub words: String,
    /// Where the words are.
    pub place: Option<String>,
    pub file: Option<String>,
    /// The address of the first page that shows it.
    pub page: Option<String>,
    /// The argument that it illustrates, and the likeness of the two.
    pub argument: Option<String>,
    pub likeness: Option<f64>,
    #[serde(flatten)]
    pub about: About,
}

/// A passage, or a document of another text collection.
#[derive(Debug, Serialize)]
pub struct Text {
    pub rank: u32,
    pub id: String,
    pub score: f64,
    /// Stance towards the two objects of a comparison.
    pub stance: Option<&'static str>,
    pub text: String,
    pub url: Option<String>,
    #[serde(flatten)]
    pub about: About,
}

/// How likely it is that a document is about the question.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct About {
    /// The probability; `None` if it was not judged.
    #[serde(rename = "about")]
    pub probability: Option<f64>,
    /// True if it belongs to the padding: the documents at the end of a list that are less likely to be about the question.
    #[serde(rename = "padding")]
    pub is_padding: bool,
    /// True for the first document of the padding.
    #[serde(skip)]
    begins_padding: bool,
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
        let answer = Answer::of(&topic, self.number, &run, self.collection.folder())?;
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
        let mut answer = Answer::of_texts(&self.topic.title, number, run)?;
        answer.judge(run.judged.get(&self.topic.id), None);
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

impl Answer {
    /// The answer that a run gives, by at most `number` of each kind.
    fn of(
        topic: &Topic,
        number: usize,
        run: &MadeRun,
        folder: Option<&OwnFolder>,
    ) -> Result<Answer> {
        let question = &topic.title;
        let (mut answer, judged) = match run {
            MadeRun::Images(run) => {
                let mut answer = Answer::of_images(question, number, run)?;
                if let Some(folder) = folder {
                    answer.show_files_of(folder);
                }
                (answer, &run.ranking.judged)
            }
            MadeRun::Searched(run) => {
                let answer = match run.task {
                    TextTask::Controversial => Answer::of_arguments(question, number, run)?,
                    _ => Answer::of_texts(question, number, run)?,
                };
                (answer, &run.judged)
            }
            MadeRun::Asked(_) => bail!("the approach asks a service, whose answers have no texts"),
        };
        answer.judge(judged.get(&topic.id), run.sheets().first());
        Ok(answer)
    }

    /// The first images of both lists, and the arguments of the debate sheet if there is one.
    fn of_images(question: &str, number: usize, run: &ImageRun) -> Result<Answer> {
        let sheet = run.sheets.first();
        let mut words = Marker::new(question);
        let [mut pro, mut con, mut undecided] = [Vec::new(), Vec::new(), Vec::new()];
        for line in run
            .ranking
            .lines
            .iter()
            .filter(|line| line.rank as usize <= number)
        {
            let mut explained = run.ranking.explained.iter();
            let explained = explained.find(|one| one.image == line.image);
            let mut image = Image::read(line, explained, &run.images, &mut words)?;
            if let Some(sheet) = sheet {
                image.illustrate(sheet);
            }
            let key = (line.topic.clone(), line.image.clone());
            let side = run.ranking.sides.get(&key).copied().flatten();
            let other = side.filter(|side| *side != line.stance);
            if let Some(score) = other.and_then(|side| explained?.score(side)) {
                // it is shown on the side that it takes, so with its score there
                image.score = run::written_score(score.value())?;
            }
            match side {
                Some(Stance::Pro) => pro.push(image),
                Some(Stance::Con) => con.push(image),
                None => undecided.push(image),
            }
        }
        for images in [&mut pro, &mut con, &mut undecided] {
            images.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        }
        let sides = [(Stance::Pro, pro), (Stance::Con, con)].map(|(stance, images)| Side {
            arguments: sheet.map(|sheet| arguments_of(sheet, Some(stance), number)),
            images: Some(images),
            ..Side::new(question, stance)
        });
        Ok(Answer {
            question: question.to_owned(),
            sides: sides.into(),
            undecided: Some(Undecided {
                images: Some(undecided),
                ..Undecided::of(sheet, number)
            }),
            ..Answer::default()
        })
    }

    /// Names the files of the folder that the collection was made of, and not their copies.
    fn show_files_of(&mut self, folder: &OwnFolder) {
        let of_sides = self
            .sides
            .iter_mut()
            .filter_map(|side| side.images.as_mut());
        let undecided = self
            .undecided
            .iter_mut()
            .filter_map(|of| of.images.as_mut());
        for image in of_sides.chain(undecided).flatten() {
            let copy = image.file.as_deref().map(Path::new);
            if let Some(file) = copy.and_then(|copy| folder.original(copy)) {
                image.file = Some(file.display().to_string());
            }
        }
    }

    /// The arguments of the debate sheet.
    fn of_arguments(question: &str, number: usize, run: &FinishedTextRun) -> Result<Answer> {
        let sheet = run.sheets.first().context("the run has no debate sheet")?;
        let sides = Stance::BOTH.map(|stance| Side {
            arguments: Some(arguments_of(sheet, Some(stance), number)),
            ..Side::new(question, stance)
        });
        Ok(Answer {
            question: question.to_owned(),
            sides: sides.into(),
            undecided: Some(Undecided::of(Some(sheet), number)),
            ..Answer::default()
        })
    }

    /// The first texts of the ranking.
    fn of_texts(question: &str, number: usize, run: &FinishedTextRun) -> Result<Answer> {
        let index = run.indexes.first().context("the approach has no index")?;
        let mut words = Marker::new(question);
        let lines = run.lines.iter().take(number);
        let texts = lines.map(|line| Text::read(line, index, &mut words));
        let objects = objects::from_title(question);
        Ok(Answer {
            question: question.to_owned(),
            texts: Some(texts.collect::<Result<_>>()?),
            objects: objects.filter(|_| run.task == TextTask::Comparative),
            ..Answer::default()
        })
    }
}

impl Undecided {
    /// The first undecided arguments of a debate sheet.
    fn of(sheet: Option<&DebateSheet>, number: usize) -> Undecided {
        let arguments = sheet.map(|sheet| arguments_of(sheet, None, number));
        let count = arguments.as_ref().map_or(0, Vec::len);
        Undecided {
            arguments,
            images: None,
            more_arguments: sheet.map(|sheet| sheet.undecided.saturating_sub(count)),
        }
    }
}

impl Side {
    /// A side with its claim, without arguments and images.
    fn new(question: &str, side: Stance) -> Side {
        let (claim, counter_claim) = claims(question);
        Side {
            side,
            claim: match side {
                Stance::Pro => claim,
                Stance::Con => counter_claim,
            },
            arguments: None,
            images: None,
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
