//! The command line: parses what was typed, calls a task, and prints the result.

/// Prints a line to standard error, like `eprintln!`, but goes on if it cannot be written.
macro_rules! say {
    ($($line:tt)*) => {
        $crate::cli::say_line(&format!($($line)*))
    };
}

mod approaches;
mod evaluate;
mod files;
mod images;
mod index;
mod inspect;
mod lines;
mod parse;
mod probe;
mod progress;
mod quality;
mod stance;
mod texts;
mod verify;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::evidence::Channel;
use crate::evidence::extract::Shard;
use crate::evidence::ocr::Script;
use crate::nn::conv::{Numeric, NumericMode};
use crate::task::text_indexes;
use crate::topic::question::TopicParts;
use crate::trec::TextTask;
use crate::weights::{self, Models};

/// The environment variables in which TIRA names the directories of the collection and of the run. They are read where the options are not
/// given.
const INPUT: &str = "inputDataset";
const OUTPUT: &str = "outputDir";

/// Retrieve images, arguments and passages for the Touché tasks, and check, evaluate and inspect the runs.
#[derive(Parser)]
#[command(name = "riposte", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Retrieve images for and against the claim of each topic, and write them to run.txt
    Images(ImagesArgs),
    /// Retrieve arguments for controversial questions (Task 1), and write them to run.txt
    Controversial(ControversialArgs),
    /// Retrieve passages for comparative questions and detect their stances (Task 2), and write them to run.txt
    Comparative(ComparativeArgs),
    /// Build or update the index of a collection, and describe it
    Index(IndexArgs),
    /// Compute the evidence about the images of a collection, without ranking them
    Extract(ExtractArgs),
    /// Recognise the text in image files, and print it as one JSON object per file
    Read(ReadArgs),
    /// Detect the stance of texts towards a topic or two objects, and print it as one JSON object per text
    Stance(StanceArgs),
    /// Rate texts as arguments on a topic, from 0 to 1, and print it as one JSON object per text
    Quality(QualityArgs),
    /// Merge the evidence of shards into one store
    Merge(MergeArgs),
    /// List or download models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// List every system of the lab with its official figures and the approach that rebuilds it
    Approaches(ApproachesArgs),
    /// Check runs against the organisers' rules, and warn of what their verifiers overlook
    Verify(VerifyArgs),
    /// Evaluate runs against judgements, and compare them
    Evaluate(EvaluateArgs),
    /// Write a report of a run, as pages that a browser opens from disk
    Inspect(InspectArgs),
}

/// The options that `images` and `extract` share.
#[derive(Args)]
struct ExtractionArgs {
    /// Directory of the collection, with its images in images/
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    input: PathBuf,
    /// Evidence store, by default a file for this collection in the user's cache directory
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    models: ModelsArgs,
    /// OCR model (ppocr-v4 or ocrs), by default the first that is installed
    #[arg(long, value_name = "NAME")]
    ocr: Option<String>,
    /// Script of the text in images that ppocr-v4 reads: latin, or all, with Chinese and what it knows of others. ocrs reads latin alone. Text
    /// that was read in another script is read anew
    #[arg(long, value_enum, default_value_t = ScriptArg::Latin)]
    script: ScriptArg,
    /// CLIP model (such as clip-vit-base-patch32), by default the first that is installed
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Numbers in which CLIP is computed: int8 is faster where the machine can, and the vectors differ a little; the summary says how little
    #[arg(long, value_enum, default_value_t = ClipPrecision::Float)]
    clip_precision: ClipPrecision,
    /// Fail if one of these channels is off (ocr, clip, sentence, afinn)
    #[arg(long, value_name = "CHANNEL", value_delimiter = ',', value_parser = parse::channel)]
    require: Vec<Channel>,
    /// Use only the first N images
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Read all files and compare their contents with those of last time, even if sizes and times say that they have not changed
    #[arg(long)]
    rehash: bool,
    /// Number of threads, by default one per core
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Try the documents again in which riposte died, each first in a process of its own
    #[arg(long)]
    retry: bool,
    /// Print only notes, faults and errors
    #[arg(short, long)]
    quiet: bool,
    /// List every fault, and print more details
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

#[derive(Args)]
struct ImagesArgs {
    #[command(flatten)]
    extraction: ExtractionArgs,
    /// Output directory for run.txt, created if necessary
    #[arg(short, long, value_name = "DIR", env = OUTPUT)]
    output: PathBuf,
    /// Topics (XML or TIREx's queries.jsonl), by default topics.xml or queries.jsonl in the collection
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Search for these parts of the topics (description, narrative) besides the title; the run is then a manual one
    #[arg(long = "use", value_name = "PART", value_delimiter = ',', value_parser = ["description", "narrative"])]
    parts: Vec<String>,
    /// Approach: a name that `riposte approaches` lists, or a file that ends in .toml. May be repeated: then the run of each is DIR/NAME/run.txt
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    approach: Vec<String>,
    /// Allow an image in both lists of a topic
    #[arg(long)]
    overlap: bool,
    /// Tag of the run, by default riposte, or riposte-NAME for another approach. With several approaches, TAG-NAME
    #[arg(long, value_name = "TAG", value_parser = parse::tag)]
    tag: Option<String>,
    /// Arguments in the args.me format: images are also ranked by their likeness to the arguments for and against each topic
    #[arg(long, value_name = "FILE")]
    arguments: Option<PathBuf>,
    /// Write the explanation of each candidate's score to FILE, one JSON object per line
    #[arg(long, value_name = "FILE")]
    explain: Option<PathBuf>,
}

/// The options of all commands that index texts.
#[derive(Args)]
struct IndexingArgs {
    /// Directory for text indexes and model outputs, by default the user's cache directory
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// Number of indexing threads, by default one per core
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print only notes, faults and errors
    #[arg(short, long)]
    quiet: bool,
    /// List every fault, and print how long it took to verify the index
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

/// The options that `controversial` and `comparative` share.
#[derive(Args)]
struct TextArgs {
    /// Directory of the collection
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    input: PathBuf,
    /// Output directory for run.txt, created if necessary
    #[arg(short, long, value_name = "DIR", env = OUTPUT)]
    output: PathBuf,
    /// Topics (XML or TIREx's queries.jsonl), by default topics.xml or queries.jsonl in the collection
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Search for these parts of the topics (description, narrative) besides the title; the run is then a manual one
    #[arg(long = "use", value_name = "PART", value_delimiter = ',', value_parser = ["description", "narrative"])]
    parts: Vec<String>,
    /// Approach: a name that `riposte approaches` lists, or a file that ends in .toml. May be repeated: then the run of each is DIR/NAME/run.txt
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    approach: Vec<String>,
    /// Tag of the run, by default riposte, or riposte-NAME for another approach. With several approaches, TAG-NAME
    #[arg(long, value_name = "TAG", value_parser = parse::tag)]
    tag: Option<String>,
    /// Write the explanations of the top documents' scores to FILE, one JSON object per line
    #[arg(long, value_name = "FILE")]
    explain: Option<PathBuf>,
    #[command(flatten)]
    models: ModelsArgs,
    /// Read the whole collection to see whether it has changed, even if the times of its files have not
    #[arg(long)]
    rehash: bool,
    #[command(flatten)]
    indexing: IndexingArgs,
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
    /// Do not detect stances, and write Q0 in the second column
    #[arg(long)]
    no_stance: bool,
    /// File with the key of the service that the approach asks, by default $CHATNOIR_API_KEY
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

#[derive(Args)]
struct IndexArgs {
    /// Collection: a directory with images/, args-me.json, the files of debate portals or passages.jsonl, or one of these files
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    input: PathBuf,
    /// Task that the collection is for, by default inferred from the names of its files
    #[arg(long, value_enum)]
    task: Option<Task>,
    /// Approach whose indexes are built (text tasks)
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    approach: String,
    /// Evidence store of the images, by default the one that `images` uses
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Verify the checksums of all index files and stored texts, and build nothing
    #[arg(long)]
    check: bool,
    /// Rebuild the index, even if it is up to date or damaged
    #[arg(long, conflicts_with = "check")]
    rebuild: bool,
    /// Read the whole collection to see whether it has changed, even if the times of its files have not (text tasks)
    #[arg(long, conflicts_with = "check")]
    rehash: bool,
    /// Describe each index as a JSON object
    #[arg(long, conflicts_with = "check")]
    json: bool,
    #[command(flatten)]
    models: ModelsArgs,
    #[command(flatten)]
    indexing: IndexingArgs,
}

#[derive(Args)]
struct ExtractArgs {
    #[command(flatten)]
    extraction: ExtractionArgs,
    /// Process only shard I (from 1) of N shards of the collection
    #[arg(long, value_name = "I/N", value_parser = parse::shard)]
    shard: Option<Shard>,
    /// Compute these documents and store nothing: riposte calls itself so, to see whether it dies in them
    #[arg(long, value_name = "ID", value_delimiter = ',', hide = true)]
    probe: Vec<String>,
}

#[derive(Args)]
struct ReadArgs {
    /// Image files
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<PathBuf>,
    #[command(flatten)]
    models: ModelsArgs,
    /// OCR model (ppocr-v4 or ocrs), by default the first that is installed
    #[arg(long, value_name = "NAME")]
    ocr: Option<String>,
    /// Script that ppocr-v4 reads: latin, or all, with Chinese and what it knows of others. ocrs reads latin alone
    #[arg(long, value_enum, default_value_t = ScriptArg::Latin)]
    script: ScriptArg,
    /// Print the text alone, with an empty line between two blocks, instead of a JSON object for each image
    #[arg(long)]
    text: bool,
}

#[derive(Args)]
struct StanceArgs {
    /// Topic: a question, a motion, a claim or a subject
    #[arg(long, value_name = "TOPIC", conflicts_with = "objects")]
    topic: Option<String>,
    /// Two objects to compare, instead of a topic
    #[arg(long, num_args = 2, value_names = ["FIRST", "SECOND"])]
    objects: Option<Vec<String>>,
    /// Text whose stance is detected
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Many texts (- for stdin), on lines of {"topic": …, "text": …} or {"objects": [first, second], "text": …}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topic", "objects", "text"])]
    jsonl: Option<PathBuf>,
    /// Explain each answer
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    models: ModelsArgs,
}

#[derive(Args)]
struct QualityArgs {
    /// Topic: a question, a motion, a claim or a subject
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Text that is rated
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Many texts (- for stdin), on lines of {"topic": …, "text": …}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topic", "text"])]
    jsonl: Option<PathBuf>,
    /// Explain each answer
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    models: ModelsArgs,
}

#[derive(Args)]
struct MergeArgs {
    /// Evidence store that receives the others, created if necessary
    #[arg(value_name = "FILE")]
    into: PathBuf,
    /// Evidence stores of shards
    #[arg(value_name = "SHARD", required = true)]
    shards: Vec<PathBuf>,
}

#[derive(Subcommand)]
enum ModelsCommand {
    /// Download models and verify them
    Fetch {
        /// Models or roles (such as ocr or clip), by default the default models
        #[arg(value_name = "NAME|ROLE")]
        names: Vec<String>,
        /// Models directory, by default $RIPOSTE_MODELS or else riposte/models in the user's data directory
        #[arg(long, value_name = "DIR")]
        models: Option<PathBuf>,
    },
    /// List the models, what each is for, and whether it is installed
    List {
        /// Models directory, by default $RIPOSTE_MODELS or else riposte/models in the user's data directory
        #[arg(long, value_name = "DIR")]
        models: Option<PathBuf>,
    },
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
struct ApproachesArgs {
    #[command(subcommand)]
    command: Option<ApproachesCommand>,
    /// Only the systems of this task
    #[arg(long, value_enum)]
    task: Option<Task>,
    /// Print each system or approach as a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum ApproachesCommand {
    /// Print the file of an approach
    Show {
        /// Name of the approach
        #[arg(value_name = "NAME")]
        name: String,
        /// Task of the approach, where several tasks have one of this name
        #[arg(long, value_enum)]
        task: Option<Task>,
    },
    /// Print a commented recipe to start an approach of your own from
    New {
        /// Task of the approach
        #[arg(long, value_enum, default_value_t = Task::Controversial)]
        task: Task,
    },
}

#[derive(Args)]
struct VerifyArgs {
    /// Run files (plain or gzipped), or directories with a run.txt
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Task that the runs are for
    #[arg(long, value_enum, default_value_t = Task::Images)]
    task: Task,
    /// Year of the lab whose topics and ids are expected
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(u32).range(2020..=2025), default_value_t = 2022)]
    edition: u32,
    /// Collection whose topics and ids are expected instead
    #[arg(short, long = "input", value_name = "DIR")]
    input: Option<PathBuf>,
    /// Ids that are expected instead, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    ids: Option<PathBuf>,
    /// Topics that are expected instead
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Write the measures of the organisers' image verifier to FILE (single run)
    #[arg(long, value_name = "FILE")]
    prototext: Option<PathBuf>,
    /// Print every finding instead of the first five of each kind
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args)]
struct EvaluateArgs {
    /// Judgements: lines of "topic ONTOPIC|PRO|CON image grade", "topic 0 document grade" or
    /// "topic 0 document FIRST|SECOND|NEUTRAL|NO", or the JSON of 2025
    #[arg(value_name = "[NAME=]QRELS")]
    qrels: String,
    /// Run files (plain or gzipped) or directories with a run.txt, and measures as ir_measures names them (nDCG@5,
    /// 'P(rel=2)@10'), by default those of the task
    #[arg(value_name = "RUN|MEASURE", required = true)]
    runs_and_measures: Vec<String>,
    /// More judgements, shown beside the first ones
    #[arg(long = "qrels", value_name = "[NAME=]FILE")]
    more_qrels: Vec<String>,
    /// Name a relevance level for measures such as 'P(rel=NAME)@5', besides relevant=1 and highly=2
    #[arg(long = "level", value_name = "NAME=GRADE", value_parser = parse::level)]
    levels: Vec<(String, f64)>,
    /// Edition of the image task, which decides the relevant grades: only 1 (2022), or 1 and above (2023)
    #[arg(long, value_name = "YEAR", value_parser = ["2022", "2023"], default_value = "2022")]
    edition: String,
    /// Print the values of each topic, too
    #[arg(long)]
    by_topic: bool,
    /// Print the 95% confidence interval of each value, too: a bootstrap over the topics, 10,000 samples
    #[arg(long)]
    ci: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write the measures of the organisers' image evaluator to FILE (single run)
    #[arg(long, value_name = "FILE")]
    prototext: Option<PathBuf>,
}

#[derive(Args)]
struct InspectArgs {
    /// Run file (plain or gzipped), or a directory with a run.txt
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Directory of the collection that was searched
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    input: PathBuf,
    /// Directory of the report (or its file, with --single-file); an older report there is replaced
    #[arg(short, long, value_name = "PATH", default_value = "out/inspect")]
    output: PathBuf,
    /// Judgements as `evaluate` reads them; may be repeated
    #[arg(long = "qrels", value_name = "[NAME=]FILE")]
    qrels: Vec<String>,
    /// Compare the run with this one: which documents moved, and how the measures changed
    #[arg(long, value_name = "RUN2")]
    against: Option<PathBuf>,
    /// Explanations that --explain wrote for the run, by default explain.jsonl beside it
    #[arg(long, value_name = "FILE")]
    explain: Option<PathBuf>,
    /// Write the whole report into one HTML file
    #[arg(long)]
    single_file: bool,
    /// Number of documents shown of each list, by default 10 images or 20 texts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    depth: Option<u32>,
    /// Task that the run is for, by default inferred from the collection
    #[arg(long, value_enum)]
    task: Option<Task>,
    /// Topics (XML or TIREx's queries.jsonl), by default topics.xml or queries.jsonl in the collection
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Edition of the image task, which decides the relevant grades: only 1 (2022), or 1 and above (2023)
    #[arg(long, value_name = "YEAR", value_parser = ["2022", "2023"], default_value = "2022")]
    edition: String,
    /// Evidence store of the images, by default the one that `images` uses
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    indexing: IndexingArgs,
}

/// The models, and how they are computed.
#[derive(Args)]
struct ModelsArgs {
    /// Models directory, by default $RIPOSTE_MODELS or else riposte/models in the user's data directory
    #[arg(long = "models", value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Numbers in which models are computed: auto multiplies in int8 where the machine can, float in floats on every machine. What is stored
    /// stays as it is
    #[arg(long, value_enum, default_value_t = NumericArg::Auto)]
    numeric: NumericArg,
}

impl ModelsArgs {
    fn open(&self) -> Result<Models> {
        Models::at(self.dir.as_deref())
    }
}

/// The numbers that networks may be computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NumericArg {
    Auto,
    Float,
}

/// The numbers that CLIP may be computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClipPrecision {
    Float,
    Int8,
}

impl ClipPrecision {
    fn numeric(self) -> Numeric {
        match self {
            ClipPrecision::Float => Numeric::Float,
            ClipPrecision::Int8 => Numeric::Int8,
        }
    }
}

impl NumericArg {
    fn mode(self) -> NumericMode {
        match self {
            NumericArg::Auto => NumericMode::Auto,
            NumericArg::Float => NumericMode::Float,
        }
    }
}

/// The script of texts in images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScriptArg {
    Latin,
    All,
}

impl ScriptArg {
    fn script(self) -> Script {
        match self {
            ScriptArg::Latin => Script::Latin,
            ScriptArg::All => Script::All,
        }
    }
}

/// A task of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Task {
    /// Image retrieval for arguments
    Images,
    /// Argument retrieval for controversial questions
    Controversial,
    /// Passage retrieval for comparative questions
    Comparative,
}

impl From<TextTask> for Task {
    fn from(task: TextTask) -> Self {
        match task {
            TextTask::Controversial => Task::Controversial,
            TextTask::Comparative => Task::Comparative,
        }
    }
}

/// The output format of `evaluate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table with a line for each run
    Table,
    /// Tab-separated lines of run, qrels, measure, topic ("all" for the whole run) and value
    Tsv,
    /// The same as JSON objects
    Jsonl,
}

/// Runs the command that was typed. Returns the exit code.
pub fn run() -> Result<u8> {
    match Cli::parse().command {
        Command::Images(args) => images::images(&args),
        Command::Controversial(args) => texts::controversial(&args),
        Command::Comparative(args) => texts::comparative(&args),
        Command::Index(args) => index::index(&args),
        Command::Extract(args) => images::extract(&args),
        Command::Read(args) => images::read(&args),
        Command::Stance(args) => stance::stance(&args),
        Command::Quality(args) => quality::quality(&args),
        Command::Merge(args) => images::merge(&args),
        Command::Models(command) => models(command),
        Command::Approaches(args) => approaches::approaches(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Inspect(args) => inspect::inspect(&args),
    }
}

/// `riposte models`.
fn models(command: ModelsCommand) -> Result<u8> {
    match command {
        ModelsCommand::Fetch { names, models } => {
            let models = Models::at(models.as_deref())?;
            let report = weights::fetch(&models, &names, &weights::Progress::stderr(say_line))?;
            print(&report)?;
            Ok(report.exit_code())
        }
        ModelsCommand::List { models } => {
            print(&weights::list(&Models::at(models.as_deref())?))?;
            Ok(0)
        }
    }
}

/// Prints a line to standard error. A failure to write it, on a full disk or to a closed pipe, is ignored: no message may end a run.
pub fn say_line(line: &str) {
    // in one piece, so that the lines of several processes do not mix
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Prints a result on stdout. It is no error if the reader closes the pipe early, as `head` does.
fn print(text: &dyn std::fmt::Display) -> Result<()> {
    match write!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write the result"),
    }
}

/// The task that the user has chosen, or else the one that the files of the collection are for.
fn task_of(chosen: Option<Task>, input: &Path) -> Result<Task> {
    if let Some(task) = chosen {
        return Ok(task);
    }
    if input.join("images").is_dir() {
        return Ok(Task::Images);
    }
    let text_task = text_indexes::task_of(input).map(Task::from);
    text_task.with_context(|| {
        format!(
            "{} contains neither images/, nor args-me.json, the files of a debate portal or passages.jsonl: choose a --task",
            input.display()
        )
    })
}

/// The parts of topics that `--use` names.
fn topic_parts(names: &[String]) -> TopicParts {
    TopicParts {
        description: names.iter().any(|name| name == "description"),
        narrative: names.iter().any(|name| name == "narrative"),
    }
}
