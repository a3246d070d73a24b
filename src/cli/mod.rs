//! The command line: parses what was typed, calls a task, and prints the result.

mod evaluate;
mod files;
mod images;
mod index;
mod inspect;
mod progress;
mod stance;
mod texts;
mod verify;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::evidence::Channel;
use crate::evidence::extract::Shard;
use crate::nn::conv::NumericMode;
use crate::task::approach::ImageApproach;
use crate::task::text_approach::TextApproach;
use crate::topic::question::TopicParts;
use crate::trec::TextTask;
use crate::weights::{self, Models};

/// Image and text retrieval for arguments: the Touché tasks, from a collection to a verified run.
#[derive(Parser)]
#[command(name = "riposte", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Retrieve images for and against the claims of topics: writes OUT/run.txt
    Images(ImagesArgs),
    /// Retrieve arguments for controversial questions (Task 1): writes OUT/run.txt
    Controversial(ControversialArgs),
    /// Retrieve passages for comparative questions, with their stances (Task 2): writes OUT/run.txt
    Comparative(ComparativeArgs),
    /// Build the index of a collection or bring it up to date, and say what is in it
    Index(IndexArgs),
    /// Compute the evidence about a collection's images, and nothing else
    Extract(ExtractArgs),
    /// Read the text in image files: a JSON object a file, with its lines and their corners
    Read(ReadArgs),
    /// What a text says of a topic (P(pro), P(con), P(neither)), or of two objects: a JSON object a text
    Stance(StanceArgs),
    /// Join the evidence of shards: what SHARD has and FILE lacks goes into FILE
    Merge(MergeArgs),
    /// Which models there are, and where to get them
    #[command(subcommand)]
    Models(ModelsCommand),
    /// List the approaches to the tasks and their sources
    Approaches,
    /// Hold runs against the organisers' rules, and against what evaluators stumble over
    Verify(VerifyArgs),
    /// Measure runs against judgements, alone or side by side
    Evaluate(EvaluateArgs),
    /// See a run: an offline report of each topic's ranking, to be opened in a browser
    Inspect(InspectArgs),
}

/// What `images` and `extract` share.
#[derive(Args)]
struct CollectionArgs {
    /// The collection: a directory with images/ (and, for `images`, topics.xml)
    #[arg(short, long = "input", value_name = "DIR")]
    input: PathBuf,
    /// Where evidence is kept; default: a file for this collection in the user's cache directory
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// The models' directory; default: $RIPOSTE_MODELS, else riposte/models in the user's data directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Which model reads the text in images (ppocr-v4 or ocrs); default: the first that is there
    #[arg(long, value_name = "NAME")]
    ocr: Option<String>,
    /// Numbers in which the text in images is read: auto multiplies in int8 where the machine can, float in floats on every machine.
    /// Evidence that is stored stays as it is
    #[arg(long, value_enum, default_value_t = NumericArg::Auto)]
    numeric: NumericArg,
    /// Which model embeds images (clip-vit-base-patch32, …); default: the first that is there
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Channels that must be there (ocr, clip, sentence, afinn): without one of them nothing is done
    #[arg(long, value_name = "CHANNEL", value_delimiter = ',', value_parser = channel)]
    require: Vec<Channel>,
    /// Only the first N images
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Images at work at once; default: one a core
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Say only what went wrong
    #[arg(short, long)]
    quiet: bool,
    /// Name every fault
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

#[derive(Args)]
struct ImagesArgs {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The directory for run.txt; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Topics, as XML or as TIREx's queries.jsonl; default: the file of either name in the collection
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Parts of the topics used beside the title (description, narrative): the run is then a manual one
    #[arg(long = "use", value_name = "PART", value_delimiter = ',', value_parser = ["description", "narrative"])]
    parts: Vec<String>,
    /// The approach (`riposte approaches` lists them), or a file that ends in .toml
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    approach: String,
    /// An image may stand in both lists of a topic
    #[arg(long)]
    overlap: bool,
    /// The run's tag; default: riposte, with the approach if it is another
    #[arg(long, value_name = "TAG", value_parser = tag)]
    tag: Option<String>,
    /// Arguments in the args.me format: images that are like what was said for a topic, or against it, are found and told apart
    /// by that; indexed once
    #[arg(long, value_name = "FILE")]
    arguments: Option<PathBuf>,
    /// Write how each candidate's score came about, a JSON object a line
    #[arg(long, value_name = "FILE")]
    explain: Option<PathBuf>,
}

/// What is kept of a text collection, and how much is said.
#[derive(Args)]
struct KeptArgs {
    /// The directory for the index and the sentences' vectors; default: beside the evidence in the user's cache directory
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// Threads that build the index; default: one a core
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Say only what went wrong
    #[arg(short, long)]
    quiet: bool,
    /// Name every fault
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

/// What `controversial` and `comparative` share.
#[derive(Args)]
struct TextArgs {
    /// The collection and its topics: a directory
    #[arg(short, long = "input", value_name = "DIR")]
    input: PathBuf,
    /// The directory for run.txt; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Topics, as XML or as TIREx's queries.jsonl; default: the file of either name in the collection
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Parts of the topics used beside the title (description, narrative): the run is then a manual one
    #[arg(long = "use", value_name = "PART", value_delimiter = ',', value_parser = ["description", "narrative"])]
    parts: Vec<String>,
    /// The approach (`riposte approaches` lists them), or a file that ends in .toml
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    approach: String,
    /// The run's tag; default: riposte, with the approach if it is another
    #[arg(long, value_name = "TAG", value_parser = tag)]
    tag: Option<String>,
    /// Write how the first documents' scores came about, a JSON object a line
    #[arg(long, value_name = "FILE")]
    explain: Option<PathBuf>,
    /// The models' directory; default: $RIPOSTE_MODELS, else riposte/models in the user's data directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    #[command(flatten)]
    kept: KeptArgs,
}

#[derive(Args)]
struct ControversialArgs {
    #[command(flatten)]
    texts: TextArgs,
}

#[derive(Args)]
struct ComparativeArgs {
    #[command(flatten)]
    texts: TextArgs,
    /// Do not say what passages say of the objects: the second column is Q0
    #[arg(long)]
    no_stance: bool,
}

#[derive(Args)]
struct IndexArgs {
    /// The collection: a directory with images/, args-me.json, portals' files or passages.jsonl, or such a file
    #[arg(short, long = "input", value_name = "DIR")]
    input: PathBuf,
    /// What is in it; default: what a directory's files are named
    #[arg(long, value_enum)]
    task: Option<Task>,
    /// The approach to a text task whose indices are meant
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    approach: String,
    /// Where the images' evidence is; default: as for `images`
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Compare every file of the index with its checksum, stored texts included, and build nothing
    #[arg(long)]
    check: bool,
    /// Build the index anew, even if the one that is there is current or damaged
    #[arg(long, conflicts_with = "check")]
    rebuild: bool,
    /// Describe the index as a JSON object
    #[arg(long, conflicts_with = "check")]
    json: bool,
    #[command(flatten)]
    kept: KeptArgs,
}

#[derive(Args)]
struct ExtractArgs {
    #[command(flatten)]
    collection: CollectionArgs,
    /// Only the I-th of N parts of the collection
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<Shard>,
}

#[derive(Args)]
struct ReadArgs {
    /// Image files
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<PathBuf>,
    /// The models' directory; default: $RIPOSTE_MODELS, else riposte/models in the user's data directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Which model reads (ppocr-v4 or ocrs); default: the first that is there
    #[arg(long, value_name = "NAME")]
    ocr: Option<String>,
    /// Numbers in which text is read: auto multiplies in int8 where the machine can, float in floats on every machine
    #[arg(long, value_enum, default_value_t = NumericArg::Auto)]
    numeric: NumericArg,
}

#[derive(Args)]
struct StanceArgs {
    /// A question, a motion, a claim, or a subject
    #[arg(long, value_name = "TOPIC", conflicts_with = "objects")]
    topic: Option<String>,
    /// Two objects that are compared, in place of a topic
    #[arg(long, num_args = 2, value_names = ["FIRST", "SECOND"])]
    objects: Option<Vec<String>>,
    /// The text
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Many texts: lines of {"topic": …, "text": …} or {"objects": [first, second], "text": …}; - for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topic", "objects", "text"])]
    jsonl: Option<PathBuf>,
    /// Each answer opened into what decided it
    #[arg(long)]
    explain: bool,
    /// The models' directory; default: $RIPOSTE_MODELS, else riposte/models in the user's data directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
}

#[derive(Args)]
struct MergeArgs {
    /// The evidence store that grows; made if it is not there
    #[arg(value_name = "FILE")]
    into: PathBuf,
    /// Evidence stores of shards
    #[arg(value_name = "SHARD", required = true)]
    shards: Vec<PathBuf>,
}

#[derive(Subcommand)]
enum ModelsCommand {
    /// Get models: by name, by role, or the default ones
    Fetch {
        #[arg(value_name = "NAME|ROLE")]
        names: Vec<String>,
        #[arg(long, value_name = "DIR")]
        models: Option<PathBuf>,
    },
    /// What is there, what is missing, what each gives
    List {
        #[arg(long, value_name = "DIR")]
        models: Option<PathBuf>,
    },
}

#[derive(Args)]
struct VerifyArgs {
    /// Run files (also .gz), or directories with a run.txt
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The task that the run is for
    #[arg(long, value_enum, default_value_t = Task::Images)]
    task: Task,
    /// The year whose topics and ids are expected; default: 2022
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(u32).range(2020..=2025), default_value_t = 2022)]
    edition: u32,
    /// The collection: its topics and ids are expected instead
    #[arg(short, long = "input", value_name = "DIR")]
    input: Option<PathBuf>,
    /// The ids of the collection, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    ids: Option<PathBuf>,
    /// The topics expected, whatever the edition
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Write the measures of the organisers' image verifier (for one run)
    #[arg(long, value_name = "FILE")]
    prototext: Option<PathBuf>,
    /// Print every finding; else the first five of a kind
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args)]
struct EvaluateArgs {
    /// Judgements of any task, told apart by what they say: topic ONTOPIC|PRO|CON image grade, topic 0 document grade,
    /// topic 0 document FIRST|SECOND|NEUTRAL|NO, or the JSON of 2025
    #[arg(value_name = "[NAME=]QRELS")]
    qrels: String,
    /// Run files (also .gz) or directories with a run.txt, and measures as ir_measures names them (nDCG@5,
    /// 'P(rel=2)@10'); default: the measures of the task
    #[arg(value_name = "RUN|MEASURE", required = true)]
    runs_and_measures: Vec<String>,
    /// More judgements, side by side with the first
    #[arg(long = "qrels", value_name = "[NAME=]FILE")]
    more_qrels: Vec<String>,
    /// A name for a relevance level, for measures such as 'P(rel=NAME)@5'; relevant=1 and highly=2 are known
    #[arg(long = "level", value_name = "NAME=GRADE", value_parser = level)]
    levels: Vec<(String, f64)>,
    /// Which image grades count: 1 alone (2022) or 1 and more (2023)
    #[arg(long, value_name = "YEAR", value_parser = ["2022", "2023"], default_value = "2022")]
    edition: String,
    /// Each topic's values too
    #[arg(long)]
    by_topic: bool,
    /// How to print: a table, or a line for each value
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write the measures of the organisers' image evaluator (for one run)
    #[arg(long, value_name = "FILE")]
    prototext: Option<PathBuf>,
}

#[derive(Args)]
struct InspectArgs {
    /// The run: a file (also .gz), or a directory with a run.txt
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The collection that it is from: a directory
    #[arg(short, long = "input", value_name = "DIR")]
    input: PathBuf,
    /// The report: a directory, or with --single-file a file; an older report there is replaced
    #[arg(short, long, value_name = "PATH", default_value = "out/inspect")]
    output: PathBuf,
    /// Judgements, of any task and several times, as `evaluate` takes them
    #[arg(long = "qrels", value_name = "[NAME=]FILE")]
    qrels: Vec<String>,
    /// Another run: what moved, and what that did to the measures
    #[arg(long, value_name = "RUN2")]
    against: Option<PathBuf>,
    /// What the run's --explain wrote; default: the file explain.jsonl beside the run
    #[arg(long, value_name = "FILE")]
    explain: Option<PathBuf>,
    /// Everything in one HTML file, to be mailed
    #[arg(long)]
    single_file: bool,
    /// Documents of a list that are shown; default: 10 images, 20 texts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    depth: Option<u32>,
    /// The task that the run is for; default: what the collection is of
    #[arg(long, value_enum)]
    task: Option<Task>,
    /// Topics, as XML or as TIREx's queries.jsonl; default: the file of either name in the collection
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Which image grades count: 1 alone (2022) or 1 and more (2023)
    #[arg(long, value_name = "YEAR", value_parser = ["2022", "2023"], default_value = "2022")]
    edition: String,
    /// Where the images' evidence is; default: as for `images`
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    kept: KeptArgs,
}

/// The numbers that networks may be computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NumericArg {
    Auto,
    Float,
}

impl NumericArg {
    fn mode(self) -> NumericMode {
        match self {
            NumericArg::Auto => NumericMode::Auto,
            NumericArg::Float => NumericMode::Float,
        }
    }
}

/// A task of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Task {
    /// Images for arguments
    Images,
    /// Arguments for controversial questions
    Controversial,
    /// Passages for comparative questions
    Comparative,
}

/// How `evaluate` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    /// run, qrels, measure, topic ("all" for the whole run), value
    Tsv,
    /// The same as JSON objects
    Jsonl,
}

/// Reads the command line and does what it says; the number is the exit code.
pub fn run() -> Result<u8> {
    match Cli::parse().command {
        Command::Images(args) => images::images(&args),
        Command::Controversial(args) => texts::controversial(&args),
        Command::Comparative(args) => texts::comparative(&args),
        Command::Index(args) => index::index(&args),
        Command::Extract(args) => images::extract(&args),
        Command::Read(args) => images::read(&args),
        Command::Stance(args) => stance::stance(&args),
        Command::Merge(args) => images::merge(&args),
        Command::Models(ModelsCommand::Fetch { names, models }) => {
            let models = Models::at(models.as_deref())?;
            let report = weights::fetch(&models, &names, &weights::Progress::stderr())?;
            say(&report)?;
            Ok(report.exit_code())
        }
        Command::Models(ModelsCommand::List { models }) => {
            say(&weights::list(&Models::at(models.as_deref())?))?;
            Ok(0)
        }
        Command::Approaches => {
            for approach in ImageApproach::all()? {
                print_approach("images", &approach.name, &approach.source, "")?;
            }
            for task in TEXT_TASKS {
                for TextApproach {
                    name,
                    source,
                    unknown,
                    ..
                } in TextApproach::all(task)?
                {
                    print_approach(task.word(), &name, &source, &unknown)?;
                }
            }
            Ok(0)
        }
        Command::Verify(args) => verify::verify(&args),
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Inspect(args) => inspect::inspect(&args),
    }
}

fn print_approach(task: &str, name: &str, source: &str, unknown: &str) -> Result<()> {
    say(&format_args!("{task:<13}  {name:<21}  {source}\n"))?;
    if !unknown.is_empty() {
        say(&format_args!("{:<38}unknown, or other: {unknown}\n", ""))?;
    }
    Ok(())
}

/// Prints a result. A reader that has seen enough (`| head`) is no error.
fn say(text: &dyn std::fmt::Display) -> Result<()> {
    match write!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write the result"),
    }
}

fn channel(word: &str) -> Result<Channel> {
    Channel::parse(word).with_context(|| {
        let known: Vec<_> = Channel::ALL.iter().map(|c| c.word()).collect();
        format!("no channel of that name: {}", known.join(", "))
    })
}

fn shard(text: &str) -> Result<Shard> {
    let parsed = text
        .split_once('/')
        .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
    match parsed {
        Some((number, count)) if number >= 1 && number <= count => Ok(Shard { number, count }),
        _ => bail!("a shard is I/N with I from 1 to N"),
    }
}

const TEXT_TASKS: [TextTask; 2] = [TextTask::Controversial, TextTask::Comparative];

fn level(text: &str) -> Result<(String, f64)> {
    let parsed = text
        .split_once('=')
        .and_then(|(name, grade)| Some((name.to_owned(), grade.parse().ok()?)));
    match parsed {
        Some((name, grade)) if !name.is_empty() && f64::is_finite(grade) => Ok((name, grade)),
        _ => bail!("a level is NAME=GRADE"),
    }
}

/// The parts of topics that `--use` names.
fn topic_parts(names: &[String]) -> TopicParts {
    TopicParts {
        description: names.iter().any(|name| name == "description"),
        narrative: names.iter().any(|name| name == "narrative"),
    }
}

fn tag(text: &str) -> Result<String> {
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        bail!("a tag is one word");
    }
    Ok(text.to_owned())
}
