//! The options of each command.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use super::parse;
use crate::evidence::Channel;
use crate::evidence::extract::Shard;
use crate::evidence::ocr::Script;
use crate::nn::conv::{Numeric, NumericMode};
use crate::task::metadata::Config;
use crate::trec::TextTask;
use crate::weights::Models;

/// The environment variables in which TIRA names the directories of the collection and of the run. They are read where the options are not
/// given.
pub(super) const INPUT: &str = "inputDataset";
const OUTPUT: &str = "outputDir";

/// The environment variables of the options that riposte.toml has defaults for.
pub(super) const THREADS: &str = "RIPOSTE_THREADS";
pub(super) const CACHE: &str = "RIPOSTE_CACHE";
pub(super) const TAG: &str = "RIPOSTE_TAG";

/// Where what riposte computes is stored.
#[derive(Args, Clone, Debug)]
pub(super) struct CacheArgs {
    /// Directory for evidence, indexes and everything else that is stored, where no other option names a place. By default riposte in the
    /// user's cache directory
    #[arg(long = "cache", id = "cache", value_name = "DIR", env = CACHE)]
    pub(super) dir: Option<PathBuf>,
}

/// The options that `images` and `extract` share.
#[derive(Args)]
pub(super) struct ExtractionArgs {
    /// Directory of the collection, with its images in images/
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Evidence store, by default a file for this collection in the user's cache directory
    #[arg(long, value_name = "FILE")]
    pub(super) evidence: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
    /// OCR model (ppocr-v4 or ocrs), by default the first that is installed
    #[arg(long, value_name = "NAME")]
    pub(super) ocr: Option<String>,
    /// Script of the text in images that ppocr-v4 reads: latin, or all, with Chinese and what it knows of others. ocrs reads latin alone. Text
    /// that was read in another script is read anew
    #[arg(long, value_enum, default_value_t = ScriptArg::Latin)]
    pub(super) script: ScriptArg,
    /// CLIP model (such as clip-vit-base-patch32), by default the first that is installed
    #[arg(long, value_name = "NAME")]
    pub(super) clip: Option<String>,
    /// Numbers in which CLIP is computed: int8 is faster where the machine can, and the vectors differ a little; the summary says how little
    #[arg(long, value_enum, default_value_t = ClipPrecision::Float)]
    pub(super) clip_precision: ClipPrecision,
    /// Fail if one of these channels is off: page, ocr, picture, clip, sentence, vader, afinn. Several are separated by commas
    #[arg(long, value_name = "CHANNEL", value_delimiter = ',', value_parser = parse::channel)]
    pub(super) require: Vec<Channel>,
    /// Use only the first N images
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// Read all files and compare their contents with those of last time, even if sizes and times say that they have not changed
    #[arg(long)]
    pub(super) rehash: bool,
    /// Number of threads, by default one per core
    #[arg(long, value_name = "N", env = THREADS)]
    pub(super) threads: Option<usize>,
    /// Try the documents again in which riposte died, each first in a process of its own
    #[arg(long)]
    pub(super) retry: bool,
    /// Print only notes, faults and errors
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// List every fault, and print more details
    #[arg(short, long, conflicts_with = "quiet")]
    pub(super) verbose: bool,
    /// Whether the summary at the end is left out. Not an option of the command line
    #[arg(skip)]
    pub(super) brief: bool,
}

#[derive(Args)]
pub(super) struct ImagesArgs {
    #[command(flatten)]
    pub(super) extraction: ExtractionArgs,
    /// Output directory for run.txt (2024, 2025: results.jsonl), created if necessary
    #[arg(short, long, value_name = "DIR", env = OUTPUT)]
    pub(super) output: PathBuf,
    /// Topics (XML, or queries.jsonl of TIREx or BEIR), by default topics.xml, arguments.xml, queries.jsonl or queries.xml in the collection
    #[arg(long, value_name = "FILE")]
    pub(super) topics: Option<PathBuf>,
    /// Year of the task: for questions 10 images for and 10 against (2022, 2023), for claims one list of 10 (2024) or 5 (2025). By default
    /// inferred from the topics
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(u32).range(2022..=2025))]
    pub(super) edition: Option<u32>,
    /// Rank only these images (TIREx's rerank.jsonl: qid and docno), by default those of rerank.jsonl in the collection, if there is one
    #[arg(long, value_name = "FILE")]
    pub(super) candidates: Option<PathBuf>,
    /// Search for these parts of the topics (description, narrative) besides the title; the run is then a manual one
    #[arg(long = "use", value_name = "PART", value_delimiter = ',', value_parser = ["description", "narrative"])]
    pub(super) parts: Vec<String>,
    /// Approach: a name that `riposte approaches` lists, or a file that ends in .toml. May be repeated: then the run of each is in DIR/NAME.
    /// [default: riposte, for claims riposte-claims]
    #[arg(long, value_name = "NAME")]
    pub(super) approach: Vec<String>,
    /// Allow an image in both lists of a topic
    #[arg(long)]
    pub(super) overlap: bool,
    /// Tag of the run, by default riposte, or riposte-NAME for another approach (NAME if it begins with riposte-). With several approaches, TAG-NAME
    #[arg(long, value_name = "TAG", env = TAG, value_parser = parse::tag)]
    pub(super) tag: Option<String>,
    /// Arguments in the args.me format: images are also ranked by their likeness to the arguments for and against each topic
    #[arg(long, value_name = "FILE")]
    pub(super) arguments: Option<PathBuf>,
    /// Write the debate sheet of each topic to FILE, one JSON object per line: the strongest of the arguments for and against it, and the images
    /// that illustrate them. `riposte inspect` shows the sheets of debate.jsonl beside the run
    #[arg(long, value_name = "FILE", requires = "arguments")]
    pub(super) debate: Option<PathBuf>,
    /// Write the explanation of each candidate's score to FILE, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub(super) explain: Option<PathBuf>,
    #[command(flatten)]
    pub(super) metadata: MetadataArgs,
    /// Whether the collection's file of candidates is ignored, which is for its own topics. Not an option of the command line
    #[arg(skip)]
    pub(super) all_images: bool,
}

/// The options of the metadata beside a run.
#[derive(Args)]
pub(super) struct MetadataArgs {
    /// What the configuration says of the run's makers.
    #[arg(skip)]
    pub(super) config: Config,
    /// Do not write ir-metadata.yml beside the run
    #[arg(long)]
    pub(super) no_metadata: bool,
}

/// The options of all commands that index texts.
#[derive(Args)]
pub(super) struct IndexingArgs {
    /// Directory for text indexes and model outputs, by default the user's cache directory
    #[arg(long, value_name = "DIR")]
    pub(super) index: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
    /// Number of indexing threads, by default one per core
    #[arg(long, value_name = "N", env = THREADS)]
    pub(super) threads: Option<usize>,
    /// Print only notes, faults and errors
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// List every fault, and print how long it took to verify the index
    #[arg(short, long, conflicts_with = "quiet")]
    pub(super) verbose: bool,
    /// Whether the summary at the end is left out. Not an option of the command line
    #[arg(skip)]
    pub(super) brief: bool,
}

/// The options of `rank`, which `controversial` and `comparative` share.
#[derive(Args)]
pub(super) struct TextArgs {
    /// Directory of the collection
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Output directory for run.txt, created if necessary
    #[arg(short, long, value_name = "DIR", env = OUTPUT)]
    pub(super) output: PathBuf,
    /// Topics (XML, or queries.jsonl of TIREx or BEIR), by default topics.xml, queries.jsonl or queries.xml in the collection
    #[arg(long, value_name = "FILE")]
    pub(super) topics: Option<PathBuf>,
    /// Search for these parts of the topics (description, narrative) besides the title; the run is then a manual one
    #[arg(long = "use", value_name = "PART", value_delimiter = ',', value_parser = ["description", "narrative"])]
    pub(super) parts: Vec<String>,
    /// Approach: a name that `riposte approaches` lists, or a file that ends in .toml. May be repeated: then the run of each is DIR/NAME/run.txt
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    pub(super) approach: Vec<String>,
    /// Tag of the run, by default riposte, or riposte-NAME for another approach (NAME if it begins with riposte-). With several approaches, TAG-NAME
    #[arg(long, value_name = "TAG", env = TAG, value_parser = parse::tag)]
    pub(super) tag: Option<String>,
    /// Write the explanations of the top documents' scores to FILE, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub(super) explain: Option<PathBuf>,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
    /// Read the whole collection to see whether it has changed, even if the times of its files have not
    #[arg(long)]
    pub(super) rehash: bool,
    #[command(flatten)]
    pub(super) metadata: MetadataArgs,
    #[command(flatten)]
    pub(super) indexing: IndexingArgs,
}

#[derive(Args)]
pub(super) struct ControversialArgs {
    #[command(flatten)]
    pub(super) texts: TextArgs,
    /// Write the debate sheet of each topic to FILE, one JSON object per line: its strongest arguments for and against the claim
    #[arg(long, value_name = "FILE")]
    pub(super) debate: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct ComparativeArgs {
    #[command(flatten)]
    pub(super) texts: TextArgs,
    /// Do not detect stances, and write Q0 in the second column
    #[arg(long)]
    pub(super) no_stance: bool,
    /// File with the key of the service that the approach asks, by default $CHATNOIR_API_KEY
    #[arg(long, value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct IndexArgs {
    /// Collection: a directory with images/, args-me.json, the files of debate portals, passages.jsonl, corpus.jsonl or documents.jsonl, or one of
    /// these files
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Task that the collection is for, by default inferred from the names of its files
    #[arg(long, value_enum)]
    pub(super) task: Option<Task>,
    /// Approach whose indexes are built (text tasks)
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    pub(super) approach: String,
    /// Evidence store of the images, by default the one that `images` uses
    #[arg(long, value_name = "FILE")]
    pub(super) evidence: Option<PathBuf>,
    /// Verify the checksums of all index files and stored texts, and build nothing
    #[arg(long)]
    pub(super) check: bool,
    /// Rebuild the index, even if it is up to date or damaged
    #[arg(long, conflicts_with = "check")]
    pub(super) rebuild: bool,
    /// Read the whole collection to see whether it has changed, even if the times of its files have not (text tasks)
    #[arg(long, conflicts_with = "check")]
    pub(super) rehash: bool,
    /// Describe each index as a JSON object
    #[arg(long, conflicts_with = "check")]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
    #[command(flatten)]
    pub(super) indexing: IndexingArgs,
}

#[derive(Args)]
pub(super) struct ExtractArgs {
    #[command(flatten)]
    pub(super) extraction: ExtractionArgs,
    /// Process only shard I (from 1) of N shards of the collection
    #[arg(long, value_name = "I/N", value_parser = parse::shard)]
    pub(super) shard: Option<Shard>,
    /// Compute these documents and store nothing: riposte calls itself so, to see whether it dies in them
    #[arg(long, value_name = "ID", value_delimiter = ',', hide = true)]
    pub(super) probe: Vec<String>,
    /// Read documents as frames from stdin and write their evidence as frames to stdout (docs/scale.md); uses one thread by default, no collection and
    /// no store
    #[arg(long, conflicts_with_all = ["evidence", "shard", "probe", "limit", "rehash", "retry"])]
    pub(super) stream: bool,
    /// Write what is recorded of documents in which riposte died in this way, and compute nothing: for a program that has seen it die in them
    #[arg(long, value_name = "HOW", requires = "stream", hide = true)]
    pub(super) died: Option<String>,
}

#[derive(Args)]
pub(super) struct ReadArgs {
    /// Image files
    #[arg(value_name = "IMAGE", required = true)]
    pub(super) images: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
    /// OCR model (ppocr-v4 or ocrs), by default the first that is installed
    #[arg(long, value_name = "NAME")]
    pub(super) ocr: Option<String>,
    /// Script that ppocr-v4 reads: latin, or all, with Chinese and what it knows of others. ocrs reads latin alone
    #[arg(long, value_enum, default_value_t = ScriptArg::Latin)]
    pub(super) script: ScriptArg,
    /// Print the text alone, with an empty line between two blocks, instead of a JSON object for each image
    #[arg(long)]
    pub(super) text: bool,
}

#[derive(Args)]
pub(super) struct StanceArgs {
    /// Topic: a question, a motion, a claim or a subject
    #[arg(long, value_name = "TOPIC", conflicts_with = "objects")]
    pub(super) topic: Option<String>,
    /// Two objects to compare, instead of a topic
    #[arg(long, num_args = 2, value_names = ["FIRST", "SECOND"])]
    pub(super) objects: Option<Vec<String>>,
    /// Text whose stance is detected
    #[arg(long, value_name = "TEXT")]
    pub(super) text: Option<String>,
    /// Many texts (- for stdin), on lines of {"topic": …, "text": …} or {"objects": [first, second], "text": …}, with any "id". Each answer repeats
    /// the id and the text of its line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topic", "objects", "text"])]
    pub(super) jsonl: Option<PathBuf>,
    /// Explain each answer
    #[arg(long)]
    pub(super) explain: bool,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
}

#[derive(Args)]
pub(super) struct QualityArgs {
    /// Topic: a question, a motion, a claim or a subject
    #[arg(long, value_name = "TOPIC")]
    pub(super) topic: Option<String>,
    /// Text that is rated
    #[arg(long, value_name = "TEXT")]
    pub(super) text: Option<String>,
    /// Many texts (- for stdin), on lines of {"topic": …, "text": …}, with any "id". Each answer repeats the id and the text of its line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topic", "text"])]
    pub(super) jsonl: Option<PathBuf>,
    /// Explain each answer
    #[arg(long)]
    pub(super) explain: bool,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
}

#[derive(Args)]
pub(super) struct MergeArgs {
    /// Evidence store that receives the others, created if necessary; or for an index, a new directory
    #[arg(value_name = "INTO")]
    pub(super) into: PathBuf,
    /// Evidence stores of shards, and directories of Parquet files that riposte-spark has written: evidence, or one index
    #[arg(value_name = "SHARD", required = true)]
    pub(super) shards: Vec<PathBuf>,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ApproachesArgs {
    #[command(subcommand)]
    pub(super) command: Option<ApproachesCommand>,
    /// Only the systems of this task
    #[arg(long, value_enum)]
    pub(super) task: Option<Task>,
    /// Print each system or approach as a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum ApproachesCommand {
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
pub(super) struct InspectArgs {
    /// Run file (plain or gzipped), or a directory with a run.txt, with NAME= if the report is to name it so
    #[arg(value_name = "[NAME=]RUN")]
    pub(super) run: PathBuf,
    /// Directory of the collection that was searched
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Directory of the report (or its file, with --single-file); an older report there is replaced
    #[arg(short, long, value_name = "PATH", default_value = "out/inspect")]
    pub(super) output: PathBuf,
    /// Judgements as `evaluate` reads them; may be repeated
    #[arg(long = "qrels", value_name = "[NAME=]FILE")]
    pub(super) qrels: Vec<String>,
    /// Compare the run with this one: which documents moved, and how the measures changed
    #[arg(long, value_name = "[NAME=]RUN2")]
    pub(super) against: Option<PathBuf>,
    /// Explanations that --explain wrote for the run, by default explain.jsonl beside it
    #[arg(long, value_name = "FILE")]
    pub(super) explain: Option<PathBuf>,
    /// Write the whole report into one HTML file
    #[arg(long)]
    pub(super) single_file: bool,
    /// Number of documents shown of each list, by default 10 images or 20 texts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) depth: Option<u32>,
    /// Task that the run is for, by default inferred from the collection
    #[arg(long, value_enum)]
    pub(super) task: Option<Task>,
    /// Topics (XML, or queries.jsonl of TIREx or BEIR), by default topics.xml, queries.jsonl or queries.xml in the collection
    #[arg(long, value_name = "FILE")]
    pub(super) topics: Option<PathBuf>,
    /// Edition of the image task, which decides the relevant grades: only 1 (2022), or 1 and above (2023)
    #[arg(long, value_name = "YEAR", value_parser = ["2022", "2023"], default_value = "2022")]
    pub(super) edition: String,
    /// Evidence store of the images, by default the one that `images` uses
    #[arg(long, value_name = "FILE")]
    pub(super) evidence: Option<PathBuf>,
    #[command(flatten)]
    pub(super) indexing: IndexingArgs,
}

/// The models, and how they are computed.
#[derive(Args, Clone)]
pub(super) struct ModelsArgs {
    /// Models directory, by default $RIPOSTE_MODELS or else riposte/models in the user's data directory
    #[arg(long = "models", value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Numbers in which models are computed: auto multiplies in int8 where the machine can, float in floats on every machine. What is stored
    /// stays as it is
    #[arg(long, value_enum, default_value_t = NumericArg::Auto)]
    pub(super) numeric: NumericArg,
}

impl ModelsArgs {
    pub(super) fn open(&self) -> Result<Models> {
        Models::at(self.dir.as_deref())
    }
}

/// The numbers that networks may be computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum NumericArg {
    Auto,
    Float,
}

/// The numbers that CLIP may be computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ClipPrecision {
    Float,
    Int8,
}

impl ClipPrecision {
    pub(super) fn numeric(self) -> Numeric {
        match self {
            ClipPrecision::Float => Numeric::Float,
            ClipPrecision::Int8 => Numeric::Int8,
        }
    }
}

impl NumericArg {
    pub(super) fn mode(self) -> NumericMode {
        match self {
            NumericArg::Auto => NumericMode::Auto,
            NumericArg::Float => NumericMode::Float,
        }
    }
}

/// The script of texts in images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScriptArg {
    Latin,
    All,
}

impl ScriptArg {
    pub(super) fn script(self) -> Script {
        match self {
            ScriptArg::Latin => Script::Latin,
            ScriptArg::All => Script::All,
        }
    }
}

/// A task of the lab, or `rank`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Task {
    /// Image retrieval for arguments
    Images,
    /// Argument retrieval for controversial questions
    Controversial,
    /// Passage retrieval for comparative questions
    Comparative,
    /// Retrieval from any text collection, in the layout of BEIR or TIREx
    Rank,
}

impl Task {
    /// The task's command.
    pub(super) fn word(self) -> &'static str {
        self.text().map_or("images", TextTask::word)
    }

    /// The text task; `None` for images.
    pub(super) fn text(self) -> Option<TextTask> {
        match self {
            Task::Images => None,
            Task::Controversial => Some(TextTask::Controversial),
            Task::Comparative => Some(TextTask::Comparative),
            Task::Rank => Some(TextTask::Rank),
        }
    }
}

impl From<TextTask> for Task {
    fn from(task: TextTask) -> Self {
        match task {
            TextTask::Controversial => Task::Controversial,
            TextTask::Comparative => Task::Comparative,
            TextTask::Rank => Task::Rank,
        }
    }
}
