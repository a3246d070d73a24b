//! `ask`: answers a question without a file of topics.
//!
//! The question becomes a topic of a run of `images`, `controversial`, `comparative` or `rank`. The files of this run are read again and shown in
//! the terminal, so an answer is the same as in a run.

mod answer;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::json;
use tempfile::TempDir;

use super::args::{
    CacheArgs, ClipPrecision, ComparativeArgs, ControversialArgs, ExtractionArgs, INPUT,
    ImagesArgs, IndexingArgs, InspectArgs, MetadataArgs, ModelsArgs, STORAGE, ScriptArg, THREADS,
    Task, TextArgs,
};
use super::files::{decode, evidence_store, write_atomically};
use super::inspect::{DEBATE_FILE, EXPLANATIONS};
use super::texts::{RUN_FILE, effort, index_base};
use super::{images, inspect, print, task_of, texts};
use crate::collection::images::ImageCollection;
use crate::collection::read_bytes;
use crate::evidence::store::Store;
use crate::report::words::Marker;
use crate::task::debate;
use crate::task::metadata::Config;
use crate::task::text_approach::TextApproach;
use crate::task::text_indexes::{TextIndexes, open_collection};
use crate::trec::debate::{self as sheets, DebateSheet};
use crate::trec::edition::{ASSUMED, Edition};
use crate::trec::explained::{self, ExplainedImage};
use crate::trec::run::{self, ImageRunLine, TextRunLine};
use crate::trec::{DocId, Stance, TextTask, objects};
use answer::{Answer, Argument, Image, Side, Text};

#[derive(Args)]
pub(super) struct AskArgs {
    /// Question, such as "Should the voting age be lowered?"
    #[arg(value_name = "QUESTION", required = true)]
    pub(super) question: Vec<String>,
    /// Directory of the collection: images, arguments, passages or other documents. If it has images and args-me.json, both answer
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Arguments in the format of args.me, which answer together with the images
    #[arg(long, value_name = "FILE")]
    pub(super) arguments: Option<PathBuf>,
    /// Task whose documents answer. By default inferred from the collection
    #[arg(long, value_enum)]
    pub(super) task: Option<Task>,
    /// Approach: a name that `riposte approaches` lists, or a .toml file
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    pub(super) approach: String,
    /// Number of arguments and of images on each side (at most 5 and 10), or of texts
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) number: u32,
    /// Write the run, its explanations and a report (report/index.html) to DIR, created if necessary
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// Write the report and open it in the browser
    #[arg(long)]
    pub(super) open: bool,
    /// Print the answer as a JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Evidence store of the images, an SQLite file. By default a file for this collection in the cache directory
    #[arg(long, value_name = "FILE", help_heading = STORAGE)]
    pub(super) evidence: Option<PathBuf>,
    /// Directory for text indexes and model outputs. By default the cache directory
    #[arg(long, value_name = "DIR", help_heading = STORAGE)]
    pub(super) index: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
    /// Number of threads. By default one per core
    #[arg(long, value_name = "N", env = THREADS, help_heading = STORAGE)]
    pub(super) threads: Option<usize>,
    /// Print only the answer, notes, faults and errors
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// The id of the topic. No collection has a topic with this id, so facts about its own topics (ranks in a crawl) do not count for the question.
const TOPIC: &str = "asked";

/// Names of the file of the topic and of the directory of the report, beside the run.
const TOPICS_FILE: &str = "topics.jsonl";
const REPORT: &str = "report";

/// The maximum number of characters of a question.
const QUESTION: usize = 1000;

/// The name of the file of arguments that answers together with images.
const ARGUMENTS: &str = "args-me.json";

/// The maximum size in bytes of a file that a run has written.
const MAX_BYTES: u64 = 512 << 20;

/// `riposte ask`. The exit code is that of the run.
pub fn ask(args: &AskArgs) -> Result<u8> {
    let question = args.question.join(" ");
    let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(!question.is_empty(), "the question is empty");
    ensure!(
        question.chars().count() <= QUESTION,
        "the question has more than {QUESTION} characters"
    );
    let task = task_of(args.task, &args.input)?;
    ensure!(
        args.arguments.is_none() || task == Task::Images,
        "--arguments answer together with images, and {} has other documents",
        args.input.display()
    );
    let place = Place::new(args)?;
    let dir = place.path();
    let topic = json!({"qid": TOPIC, "query": question});
    let topics = dir.join(TOPICS_FILE);
    write_atomically(&topics, format!("{topic}\n").as_bytes())?;
    let run = Run {
        args,
        question: &question,
        dir,
        topics,
    };
    let code = match task.text() {
        None => run.images()?,
        Some(task) => run.texts(task)?,
    };
    let answer = match task.text() {
        None => run.answer_of_images()?,
        Some(TextTask::Controversial) => run.answer_of_arguments()?,
        Some(task) => run.answer_of_texts(task)?,
    };
    if args.json {
        print(&format_args!("{}\n", serde_json::to_string(&answer)?))?;
    } else {
        print(&answer)?;
    }
    if args.open || args.output.is_some() {
        inspect::inspect(&run.report(task))?;
    }
    if args.open {
        show(&dir.join(REPORT).join("index.html"))?;
    }
    Ok(code)
}

/// The directory of the run.
enum Place {
    /// The one that the user has named, or a new one that is kept because a browser reads it.
    Kept(PathBuf),
    Temporary(TempDir),
}

impl Place {
    fn new(args: &AskArgs) -> Result<Place> {
        if let Some(dir) = &args.output {
            fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
            return Ok(Place::Kept(dir.clone()));
        }
        let temporary = tempfile::Builder::new().prefix("riposte-ask-").tempdir();
        let temporary = temporary.context("cannot create a temporary directory")?;
        Ok(if args.open {
            Place::Kept(temporary.keep())
        } else {
            Place::Temporary(temporary)
        })
    }

    fn path(&self) -> &Path {
        match self {
            Place::Kept(dir) => dir,
            Place::Temporary(dir) => dir.path(),
        }
    }
}

/// A run for the question.
struct Run<'a> {
    args: &'a AskArgs,
    question: &'a str,
    dir: &'a Path,
    topics: PathBuf,
}

impl Run<'_> {
    /// The arguments that answer together with the images, if there are any.
    fn arguments(&self) -> Option<PathBuf> {
        let own = self.args.input.join(ARGUMENTS);
        // with --task images, only images answer
        let own = (self.args.task.is_none() && own.is_file()).then_some(own);
        self.args.arguments.clone().or(own)
    }

    fn images(&self) -> Result<u8> {
        let arguments = self.arguments();
        let debate = arguments.as_ref().map(|_| self.dir.join(DEBATE_FILE));
        if debate.is_none() {
            remove_older(&self.dir.join(DEBATE_FILE))?;
        }
        let args = self.args;
        images::images(&ImagesArgs {
            extraction: ExtractionArgs {
                input: args.input.clone(),
                evidence: args.evidence.clone(),
                cache: args.cache.clone(),
                models: args.models.clone(),
                ocr: None,
                script: ScriptArg::Latin,
                clip: None,
                clip_precision: ClipPrecision::Float,
                require: Vec::new(),
                limit: None,
                rehash: false,
                threads: args.threads,
                retry: false,
                quiet: args.quiet,
                verbose: false,
                brief: true,
            },
            output: self.dir.to_owned(),
            topics: Some(self.topics.clone()),
            edition: Some(ASSUMED),
            candidates: None,
            parts: Vec::new(),
            approach: vec![args.approach.clone()],
            overlap: false,
            tag: None,
            arguments,
            debate,
            explain: Some(self.dir.join(EXPLANATIONS)),
            metadata: self.metadata(),
            all_images: true,
        })
    }

    fn texts(&self, task: TextTask) -> Result<u8> {
        let args = self.args;
        let texts = TextArgs {
            input: args.input.clone(),
            output: self.dir.to_owned(),
            topics: Some(self.topics.clone()),
            parts: Vec::new(),
            approach: vec![args.approach.clone()],
            tag: None,
            explain: Some(self.dir.join(EXPLANATIONS)),
            models: args.models.clone(),
            rehash: false,
            metadata: self.metadata(),
            indexing: self.indexing(),
        };
        match task {
            TextTask::Controversial => texts::controversial(&ControversialArgs {
                texts,
                debate: Some(self.dir.join(DEBATE_FILE)),
            }),
            TextTask::Comparative => texts::comparative(&ComparativeArgs {
                texts,
                no_stance: false,
                key_file: None,
            }),
            TextTask::Rank => texts::rank(&texts),
        }
    }

    fn metadata(&self) -> MetadataArgs {
        MetadataArgs {
            config: Config::default(),
            no_metadata: true,
        }
    }

    fn indexing(&self) -> IndexingArgs {
        IndexingArgs {
            index: self.args.index.clone(),
            cache: self.args.cache.clone(),
            threads: self.args.threads,
            quiet: self.args.quiet,
            verbose: false,
            brief: true,
        }
    }

    fn report(&self, task: Task) -> InspectArgs {
        InspectArgs {
            run: self.dir.to_owned(),
            input: self.args.input.clone(),
            output: self.dir.join(REPORT),
            qrels: Vec::new(),
            against: None,
            explain: None,
            single_file: false,
            depth: None,
            task: Some(task),
            topics: Some(self.topics.clone()),
            edition: Edition::first(),
            evidence: self.args.evidence.clone(),
            indexing: IndexingArgs {
                // the answer must not contain the path of the report
                quiet: true,
                ..self.indexing()
            },
        }
    }

    fn read(&self, name: &str) -> Result<String> {
        Ok(decode(read_bytes(&self.dir.join(name), MAX_BYTES)?))
    }

    fn number(&self) -> usize {
        self.args.number as usize
    }

    /// The debate sheet of the run, if it has one.
    fn sheet(&self) -> Result<Option<DebateSheet>> {
        if !self.dir.join(DEBATE_FILE).is_file() {
            return Ok(None);
        }
        let sheets = sheets::read(&self.read(DEBATE_FILE)?);
        let sheets = sheets.map_err(|error| anyhow::anyhow!("{DEBATE_FILE}: {error}"))?;
        Ok(sheets.into_iter().next())
    }

    fn answer_of_images(&self) -> Result<Answer> {
        let (lines, _) = run::read_images(&self.read(RUN_FILE)?);
        let explained = explained::read::<ExplainedImage>(&self.read(EXPLANATIONS)?);
        let explained = explained.map_err(|error| anyhow::anyhow!("{EXPLANATIONS}: {error}"))?;
        let explained: HashMap<&DocId, &ExplainedImage> =
            explained.iter().map(|one| (&one.image, one)).collect();
        let evidence = evidence_store(
            self.args.evidence.as_deref(),
            &self.args.input,
            &self.args.cache,
        )?;
        let store = match evidence.is_file() {
            true => Some(Store::open_to_read(&evidence)?),
            // if the cache could not be written, the evidence of the run was temporary
            false => None,
        };
        let collection = ImageCollection::open(&self.args.input)?;
        let sheet = self.sheet()?;
        let mut words = Marker::new(self.question);
        let mut sides = Vec::new();
        for stance in Stance::BOTH {
            let of_side = lines.iter().filter(|line| line.stance == stance);
            let mut images = Vec::new();
            for line in of_side.take(self.number()) {
                let explained = explained.get(&line.image).copied();
                let store = store.as_ref();
                images.push(image(line, explained, store, &collection, &mut words)?);
            }
            if let Some(sheet) = &sheet {
                images.iter_mut().for_each(|image| image.illustrate(sheet));
            }
            let arguments = sheet.as_ref().map(|sheet| self.arguments_of(sheet, stance));
            sides.push(Side {
                arguments,
                images: Some(images),
                ..Side::new(self.question, stance)
            });
        }
        Ok(Answer::of_sides(self.question, sides))
    }

    fn answer_of_arguments(&self) -> Result<Answer> {
        let sheet = self.sheet()?.context("the run has no debate sheet")?;
        let sides = Stance::BOTH.map(|stance| Side {
            arguments: Some(self.arguments_of(&sheet, stance)),
            ..Side::new(self.question, stance)
        });
        Ok(Answer {
            undecided: Some(sheet.undecided),
            ..Answer::of_sides(self.question, sides.into())
        })
    }

    /// The first arguments of a side.
    fn arguments_of(&self, sheet: &DebateSheet, stance: Stance) -> Vec<Argument> {
        let arguments = sheet.arguments_of(stance).take(self.number());
        let argument = |argument: &sheets::DebateArgument| Argument {
            id: argument.argument.0.clone(),
            rank: argument.rank,
            score: argument.score,
            stance: argument.stance,
            conclusion: argument.conclusion.clone(),
            text: argument.quote.clone(),
            repeats: argument.repeats.iter().map(|id| id.0.clone()).collect(),
        };
        arguments.map(argument).collect()
    }

    fn answer_of_texts(&self, task: TextTask) -> Result<Answer> {
        let (lines, _) = run::read_texts(&self.read(RUN_FILE)?);
        let approach = TextApproach::find(task, &self.args.approach)?;
        let collection = open_collection(task, &self.args.input)?;
        let base = index_base(
            &self.args.input,
            self.args.index.as_deref(),
            &self.args.cache,
        )?;
        let effort = effort(self.args.threads)?;
        let indexes = TextIndexes::open(&collection, &base, &approach, effort, false, &mut |_| ())?;
        let corpus = indexes.first().context("the approach has no index")?;
        let mut words = Marker::new(self.question);
        let objects = objects::from_title(self.question);
        let text = |line: &TextRunLine| -> Result<Text> {
            let document = corpus.document(&line.doc)?;
            let sentences = document.texts.iter();
            let sentences = sentences.flat_map(|text| debate::compared_sentences(text));
            Ok(Text {
                rank: line.rank,
                id: line.doc.0.clone(),
                score: line.score.unwrap_or_default(),
                stance: line.stance.map(|stance| stance.word()),
                text: best(&mut words, sentences.collect(), |text| text),
                url: document.url,
            })
        };
        let texts = lines.iter().take(self.number()).map(text);
        let texts = texts.collect::<Result<_>>()?;
        Ok(Answer {
            texts: Some(texts),
            objects: objects.filter(|_| task == TextTask::Comparative),
            ..Answer::of_sides(self.question, Vec::new())
        })
    }
}

/// Removes a file that an earlier question has left in the user's directory.
fn remove_older(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", file.display()))
        }
        _ => Ok(()),
    }
}

fn image(
    line: &ImageRunLine,
    explained: Option<&ExplainedImage>,
    store: Option<&Store>,
    collection: &ImageCollection,
    words: &mut Marker,
) -> Result<Image> {
    let evidence = match store {
        Some(store) => store.read(&line.image)?,
        None => None,
    };
    let found = evidence.as_ref().map(debate::image_sentences);
    let (mut text, mut place) = (String::new(), None);
    if let Some(sentences) = found.filter(|sentences| !sentences.is_empty()) {
        let found = best(words, sentences, |sentence| &sentence.text);
        (text, place) = (found.text, Some(found.place));
    }
    let entries = collection.entries();
    let entry = entries.binary_search_by(|entry| entry.id.cmp(&line.image));
    let files = entry.map_or_else(
        |_| Vec::new(),
        |at| entries[at].list(&mut Vec::new()).images,
    );
    let page = evidence.as_ref().and_then(|e| e.pages.first());
    Ok(Image {
        rank: line.rank,
        id: line.image.0.clone(),
        score: line.score.unwrap_or_default(),
        pro: explained.and_then(|of| of.probability(Stance::Pro)),
        con: explained.and_then(|of| of.probability(Stance::Con)),
        words: debate::quotation(&text),
        place: place.map(str::to_owned),
        file: files.first().map(|file| file.display().to_string()),
        page: page.map(|page| page.url.clone()),
        argument: None,
        likeness: None,
    })
}

/// The text with the most different words of the question, the first of several; an empty one if there is no text.
fn best<T: Default>(words: &mut Marker, texts: Vec<T>, text_of: impl Fn(&T) -> &str) -> T {
    let mut best: Option<(usize, T)> = None;
    for text in texts {
        let count = words.count(text_of(&text));
        if best.as_ref().is_none_or(|(most, _)| count > *most) {
            best = Some((count, text));
        }
    }
    best.map(|(_, text)| text).unwrap_or_default()
}

/// Opens a page in the browser that $BROWSER names, or in that of the system.
///
/// # Errors
/// There is no such program, or it cannot open the page.
fn show(page: &Path) -> Result<()> {
    say!("{}", page.display());
    let (program, arguments): (std::ffi::OsString, &[&str]) = match std::env::var_os("BROWSER") {
        Some(browser) if !browser.is_empty() => (browser, &[]),
        _ if cfg!(target_os = "macos") => ("open".into(), &[]),
        _ if cfg!(windows) => ("explorer".into(), &[]),
        _ => ("xdg-open".into(), &[]),
    };
    let mut command = Command::new(&program);
    command.args(arguments).arg(page).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let started = command.spawn();
    let name = program.to_string_lossy();
    let mut child = started.with_context(|| {
        format!("cannot start {name} to open the report; $BROWSER names another program")
    })?;
    // the process ends at once if a browser is already running, and is the browser otherwise; then it is not waited for
    std::thread::sleep(std::time::Duration::from_millis(300));
    match child.try_wait() {
        Ok(Some(status)) if !status.success() && !cfg!(windows) => {
            bail!("{name} could not open the report ({status}); $BROWSER names another program")
        }
        _ => Ok(()),
    }
}
