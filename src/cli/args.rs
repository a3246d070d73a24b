//! The options of each command.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use riposte_eval::TextTask;
use riposte_eval::edition::Edition;
use riposte_nn::conv::{Numeric, NumericMode};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::parse;
use riposte::evidence::channel::Precision;
use riposte::evidence::extract::Shard;
use riposte::evidence::ocr::Script;
use riposte::task;
use riposte::task::channels::CHANNELS;
use riposte::task::extraction::{ExtractionOptions, ExtractionSettings};
use riposte::task::metadata::Config;
use riposte::task::places::Places;
use riposte::weights::Models;

/// TIRA names the directories of the collection and of the run in these environment variables. Options override them.
pub(super) const INPUT: &str = "inputDataset";
const OUTPUT: &str = "outputDir";

/// The environment variables of the options that riposte.toml has defaults for.
pub(super) const THREADS: &str = "RIPOSTE_THREADS";
pub(super) const CACHE: &str = "RIPOSTE_CACHE";
pub(super) const TAG: &str = "RIPOSTE_TAG";

/// The headings of options in help texts; options without one come first, under "Options".
pub(super) const MODELS: &str = "Models";
pub(super) const STORAGE: &str = "Storage and threads";

/// The place of options that several commands share, below the command's own options.
const LAST: usize = 900;

#[derive(Args, Clone, Debug)]
pub(super) struct CacheArgs {
    /// Cache directory, for evidence, indexes and model outputs that no other option places elsewhere. By default `riposte` in the user's cache
    /// directory
    #[arg(long = "cache", id = "cache", value_name = "DIR", env = CACHE, help_heading = STORAGE)]
    pub(super) dir: Option<PathBuf>,
}

impl CacheArgs {
    /// Where evidence, indexes and model outputs are stored, which other options can place elsewhere.
    pub(super) fn places(&self, evidence: Option<&PathBuf>, index: Option<&PathBuf>) -> Places {
        Places {
            evidence: evidence.cloned(),
            index: index.cloned(),
            cache: self.dir.clone(),
        }
    }
}

/// The help of `--require`.
fn require() -> String {
    let channels: Vec<&str> = CHANNELS.iter().map(|channel| channel.name()).collect();
    format!(
        "Fail if one of these channels is off: {}. Several are separated by commas",
        channels.join(", ")
    )
}

/// The options that `images` and `extract` share.
#[derive(Args)]
pub(super) struct ExtractionArgs {
    /// Collection: a directory with its images in images/. `images` also ranks those of an evidence store, without their files
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Evidence store, an SQLite file. By default a file for this collection in the cache directory
    #[arg(long, value_name = "FILE", help_heading = STORAGE)]
    pub(super) evidence: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
    /// OCR model: ppocr-v4 or ocrs. By default the first that is installed
    #[arg(long, value_name = "NAME", help_heading = MODELS)]
    pub(super) ocr: Option<String>,
    /// Script of the text that ppocr-v4 reads in images: latin, or all (Chinese too). ocrs always reads latin. Text that was read in another
    /// script is read again
    #[arg(long, value_parser = parse::named::<Script>(), default_value_t, help_heading = MODELS)]
    pub(super) script: Script,
    /// CLIP model, such as clip-vit-base-patch32. By default the first that is installed
    #[arg(long, value_name = "NAME", help_heading = MODELS)]
    pub(super) clip: Option<String>,
    /// Numbers in which CLIP computes. int8 is faster on machines with instructions for it, and changes the vectors a little; the summary says how
    /// much
    #[arg(long, value_name = "NUMBERS", value_parser = parse::named::<Numeric>(), default_value_t, help_heading = MODELS)]
    pub(super) clip_precision: Numeric,
    #[arg(long, value_name = "CHANNEL", value_delimiter = ',', value_parser = parse::channel, help = require(), help_heading = MODELS)]
    pub(super) require: Vec<String>,
    /// Use only the first N images
    #[arg(long, value_name = "N", display_order = LAST)]
    pub(super) limit: Option<usize>,
    /// Compare the contents of all files with those of the last run, even if their sizes and times have not changed
    #[arg(long, help_heading = STORAGE)]
    pub(super) rehash: bool,
    /// Number of threads. By default one per core
    #[arg(long, value_name = "N", env = THREADS, help_heading = STORAGE)]
    pub(super) threads: Option<usize>,
    /// Try documents again in which riposte died, each first in a separate process
    #[arg(long, help_heading = STORAGE)]
    pub(super) retry: bool,
    /// Print only notes, faults and errors
    #[arg(short, long, display_order = LAST)]
    pub(super) quiet: bool,
    /// List every fault, and print more details
    #[arg(short, long, conflicts_with = "quiet", display_order = LAST)]
    pub(super) verbose: bool,
}

#[derive(Args)]
pub(super) struct ImagesArgs {
    #[command(flatten)]
    pub(super) extraction: ExtractionArgs,
    /// Directory for the run, created if necessary. The run is run.txt; for 2024 and 2025, results.jsonl
    #[arg(short, long, value_name = "DIR", env = OUTPUT)]
    pub(super) output: PathBuf,
    /// Topics: XML, or queries.jsonl of TIREx or BEIR. By default topics.xml, arguments.xml, queries.jsonl or queries.xml in the collection
    #[arg(long, value_name = "FILE")]
    pub(super) topics: Option<PathBuf>,
    /// Year of the task, by default inferred from the topics. In 2022 and 2023, each question has 10 images for and 10 against it; each claim has
    /// one list, of 10 images in 2024 and of 5 in 2025
    #[arg(long, value_name = "YEAR", value_parser = parse::year(Edition::all(None)))]
    pub(super) edition: Option<u32>,
    /// Rank only these images: a rerank.jsonl of TIREx (qid and docno). By default rerank.jsonl in the collection, if it exists
    #[arg(long, value_name = "FILE")]
    pub(super) candidates: Option<PathBuf>,
    /// Search for these parts of the topics, too, and not only for their titles. The run is then a manual one
    #[arg(long = "use", value_name = "PART", value_delimiter = ',', value_parser = ["description", "narrative"])]
    pub(super) parts: Vec<String>,
    /// Approach: a name that `riposte approaches` lists, or a .toml file. If repeated, each run goes to DIR/NAME [default: riposte; for claims
    /// riposte-claims]
    #[arg(long, value_name = "NAME")]
    pub(super) approach: Vec<String>,
    /// Allow an image in both lists of a topic
    #[arg(long)]
    pub(super) overlap: bool,
    /// Tag of the run. By default the name of the approach, with riposte- before it unless it begins so. With several approaches, TAG-NAME
    #[arg(long, value_name = "TAG", env = TAG, value_parser = parse::tag)]
    pub(super) tag: Option<String>,
    /// Arguments in the format of args.me: images are then also ranked by their likeness to arguments for and against each topic
    #[arg(long, value_name = "FILE")]
    pub(super) arguments: Option<PathBuf>,
    /// Write debate sheets to FILE, one JSON object per topic: its strongest arguments for and against, and the images that illustrate them.
    /// `riposte inspect` shows those in debate.jsonl beside the run
    #[arg(long, value_name = "FILE", requires = "arguments")]
    pub(super) debate: Option<PathBuf>,
    /// Write explanations to FILE, one JSON object per candidate: how its scores were computed. `riposte inspect` shows those in explain.jsonl
    /// beside the run
    #[arg(long, value_name = "FILE")]
    pub(super) explain: Option<PathBuf>,
    #[command(flatten)]
    pub(super) metadata: MetadataArgs,
}

impl ExtractionArgs {
    pub(super) fn settings(&self) -> Result<ExtractionSettings> {
        Ok(ExtractionSettings {
            input: self.input.clone(),
            places: self.cache.places(self.evidence.as_ref(), None),
            models: self.models.open()?,
            options: ExtractionOptions {
                ocr: self.ocr.clone(),
                clip: self.clip.clone(),
                required: self.require.clone(),
                precision: Precision {
                    numeric: self.models.numeric,
                    clip: self.clip_precision,
                    script: self.script,
                },
            },
            limit: self.limit,
            threads: self.threads,
            rehash: self.rehash,
            retry: self.retry,
        })
    }
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

impl MetadataArgs {
    /// The part of the metadata that only the user knows, and the command as it was typed; `None` with --no-metadata.
    pub(super) fn config(&self) -> Option<Config> {
        let words = std::env::args_os();
        let command = words.map(|word| word.to_string_lossy().into_owned());
        (!self.no_metadata).then(|| Config {
            command: command.collect(),
            ..self.config.clone()
        })
    }
}

/// The options of all commands that index texts.
#[derive(Args)]
pub(super) struct IndexingArgs {
    /// Directory for text indexes and model outputs. By default the cache directory
    #[arg(long, value_name = "DIR", help_heading = STORAGE)]
    pub(super) index: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
    /// Number of threads that index texts. By default one per core
    #[arg(long, value_name = "N", env = THREADS, help_heading = STORAGE)]
    pub(super) threads: Option<usize>,
    /// Print only notes, faults and errors
    #[arg(short, long, display_order = LAST)]
    pub(super) quiet: bool,
    /// List every fault, and print how long it took to verify the index
    #[arg(short, long, conflicts_with = "quiet", display_order = LAST)]
    pub(super) verbose: bool,
}

impl IndexingArgs {
    /// Where indexes and model outputs are stored and, at `evidence`, the evidence about images.
    pub(super) fn places(&self, evidence: Option<&PathBuf>) -> Places {
        self.cache.places(evidence, self.index.as_ref())
    }
}

/// The options of `rank`, which `controversial` and `comparative` share.
#[derive(Args)]
pub(super) struct TextArgs {
    /// Directory of the collection
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Directory for the run (run.txt), created if necessary
    #[arg(short, long, value_name = "DIR", env = OUTPUT)]
    pub(super) output: PathBuf,
    /// Topics: XML, or queries.jsonl of TIREx or BEIR. By default topics.xml, queries.jsonl or queries.xml in the collection
    #[arg(long, value_name = "FILE")]
    pub(super) topics: Option<PathBuf>,
    /// Search for these parts of the topics, too, and not only for their titles. The run is then a manual one
    #[arg(long = "use", value_name = "PART", value_delimiter = ',', value_parser = ["description", "narrative"])]
    pub(super) parts: Vec<String>,
    /// Approach: a name that `riposte approaches` lists, or a .toml file. If repeated, each run goes to DIR/NAME
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    pub(super) approach: Vec<String>,
    /// Tag of the run. By default the name of the approach, with riposte- before it unless it begins so. With several approaches, TAG-NAME
    #[arg(long, value_name = "TAG", env = TAG, value_parser = parse::tag)]
    pub(super) tag: Option<String>,
    /// Write explanations to FILE, one JSON object per document at the top: how its score was computed. `riposte inspect` shows those in
    /// explain.jsonl beside the run
    #[arg(long, value_name = "FILE")]
    pub(super) explain: Option<PathBuf>,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
    /// Read the whole collection to find out whether it has changed, even if the times of its files have not
    #[arg(long, help_heading = STORAGE)]
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
    /// Write debate sheets to FILE, one JSON object per topic: its strongest arguments for and against the claim. `riposte
    /// inspect` shows those in debate.jsonl beside the run
    #[arg(long, value_name = "FILE")]
    pub(super) debate: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct ComparativeArgs {
    #[command(flatten)]
    pub(super) texts: TextArgs,
    /// Do not detect stances: the second column of the run is Q0
    #[arg(long)]
    pub(super) no_stance: bool,
    /// File with the key of a search service, for approaches that use one (chatnoir). By default $CHATNOIR_API_KEY
    #[arg(long, value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct IndexArgs {
    /// Collection: a directory with images/, args-me.json, the files of debate portals, passages.jsonl, corpus.jsonl or documents.jsonl; or one of
    /// these files
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Task that the collection is for. By default inferred from the names of its files
    #[arg(long, value_enum)]
    pub(super) task: Option<Task>,
    /// Approach whose indexes are built (texts only)
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    pub(super) approach: String,
    /// Evidence store of the images. By default the one that `riposte images` uses
    #[arg(long, value_name = "FILE", help_heading = STORAGE)]
    pub(super) evidence: Option<PathBuf>,
    /// Verify the checksums of all index files and stored texts, and build nothing
    #[arg(long)]
    pub(super) check: bool,
    /// Rebuild the index, even if it is up to date or damaged
    #[arg(long, conflicts_with = "check")]
    pub(super) rebuild: bool,
    /// Read the whole collection to find out whether it has changed, even if the times of its files have not (texts only)
    #[arg(long, conflicts_with = "check", help_heading = STORAGE)]
    pub(super) rehash: bool,
    /// Print a JSON object for each index
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
    /// Process only part I (from 1) of N equal parts of the collection
    #[arg(long, value_name = "I/N", value_parser = parse::shard)]
    pub(super) shard: Option<Shard>,
    /// Compute these documents and store nothing. riposte starts itself with this option to find out whether it dies in them
    #[arg(long, value_name = "ID", value_delimiter = ',', hide = true)]
    pub(super) probe: Vec<String>,
    /// Read documents as frames from stdin, and write their evidence as frames to stdout (docs/scale.md). No collection and no store are used, and
    /// by default one thread
    #[arg(long, conflicts_with_all = ["evidence", "shard", "probe", "limit", "rehash", "retry"])]
    pub(super) stream: bool,
    /// Compute nothing, and write the records of documents in which riposte died in this way. A program that has seen it die uses this
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
    /// OCR model: ppocr-v4 or ocrs. By default the first that is installed
    #[arg(long, value_name = "NAME", help_heading = MODELS)]
    pub(super) ocr: Option<String>,
    /// Script that ppocr-v4 reads: latin, or all (Chinese too). ocrs always reads latin
    #[arg(long, value_parser = parse::named::<Script>(), default_value_t, help_heading = MODELS)]
    pub(super) script: Script,
    /// Print the text instead of a JSON object, with an empty line between two blocks
    #[arg(long)]
    pub(super) text: bool,
}

#[derive(Args)]
pub(super) struct StanceArgs {
    /// Topic: a question, a motion, a claim or a subject
    #[arg(long, value_name = "TOPIC", conflicts_with = "objects")]
    pub(super) topic: Option<String>,
    /// Two objects that the text compares, instead of a topic
    #[arg(long, num_args = 2, value_names = ["FIRST", "SECOND"])]
    pub(super) objects: Option<Vec<String>>,
    /// Text whose stance is detected
    #[arg(long, value_name = "TEXT")]
    pub(super) text: Option<String>,
    /// Detect the stances of many texts, from a FILE (- for stdin) with a JSON object per line: {"topic": …, "text": …} or {"objects": [first,
    /// second], "text": …}, with any "id". Each answer repeats the id and the text of its line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topic", "objects", "text"])]
    pub(super) jsonl: Option<PathBuf>,
    /// Add an explanation to each answer
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
    /// Rate many texts, from a FILE (- for stdin) with a JSON object per line: {"topic": …, "text": …}, with any "id". Each answer repeats the id
    /// and the text of its line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topic", "text"])]
    pub(super) jsonl: Option<PathBuf>,
    /// Add an explanation to each answer
    #[arg(long)]
    pub(super) explain: bool,
    #[command(flatten)]
    pub(super) models: ModelsArgs,
}

#[derive(Args)]
pub(super) struct MergeArgs {
    /// Evidence store that receives the shards, created if necessary. For the shards of an index, a new directory
    #[arg(value_name = "INTO")]
    pub(super) into: PathBuf,
    /// Shards: evidence stores, or directories of Parquet files that riposte-spark has written (evidence, or one index)
    #[arg(value_name = "SHARD", required = true)]
    pub(super) shards: Vec<PathBuf>,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ApproachesArgs {
    #[command(subcommand)]
    pub(super) command: Option<ApproachesCommand>,
    /// List only the systems of this task
    #[arg(long, value_enum)]
    pub(super) task: Option<Task>,
    /// Print a JSON object for each system or approach
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum ApproachesCommand {
    /// Print the recipe of an approach
    Show {
        /// Name of the approach
        #[arg(value_name = "NAME")]
        name: String,
        /// Task of the approach, if approaches to several tasks have this name
        #[arg(long, value_enum)]
        task: Option<Task>,
    },
    /// Print a commented recipe, from which a new approach can be written
    New {
        /// Task of the approach
        #[arg(long, value_enum, default_value_t = Task::Controversial)]
        task: Task,
    },
}

#[derive(Args)]
pub(super) struct InspectArgs {
    /// Run: a file (plain or gzipped), or a directory with a run.txt. NAME= sets the name of the run in the report
    #[arg(value_name = "[NAME=]RUN")]
    pub(super) run: PathBuf,
    /// Directory of the collection that was searched
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Directory of the report, or its file with --single-file. An older report there is replaced
    #[arg(short, long, value_name = "PATH", default_value = "out/inspect")]
    pub(super) output: PathBuf,
    /// Judgements, in the formats that `riposte evaluate` reads. May be repeated
    #[arg(long = "qrels", value_name = "[NAME=]FILE")]
    pub(super) qrels: Vec<String>,
    /// Another run to compare with: the report shows which documents moved, and how the measures changed
    #[arg(long, value_name = "[NAME=]RUN2")]
    pub(super) against: Option<PathBuf>,
    /// Explanations that --explain has written for the run. By default explain.jsonl beside it
    #[arg(long, value_name = "FILE")]
    pub(super) explain: Option<PathBuf>,
    /// Write the report as a single HTML file
    #[arg(long)]
    pub(super) single_file: bool,
    /// Number of documents that are shown of each list. By default 10 images or 20 texts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) depth: Option<u32>,
    /// Task that the run is for. By default inferred from the collection or, if it has images and texts, from the run
    #[arg(long, value_enum)]
    pub(super) task: Option<Task>,
    /// Topics: XML, or queries.jsonl of TIREx or BEIR. By default topics.xml, queries.jsonl or queries.xml in the collection
    #[arg(long, value_name = "FILE")]
    pub(super) topics: Option<PathBuf>,
    /// Edition of the image task, which decides the grades that count as relevant: 1 (2022), or 1 and above (2023)
    #[arg(long, value_name = "YEAR", value_parser = parse::edition_with_stances(), default_value_t = Edition::first())]
    pub(super) edition: &'static Edition,
    /// Evidence store of the images. By default the one that `riposte images` uses
    #[arg(long, value_name = "FILE", help_heading = STORAGE)]
    pub(super) evidence: Option<PathBuf>,
    #[command(flatten)]
    pub(super) indexing: IndexingArgs,
}

/// The models, and the numbers in which they compute.
#[derive(Args, Clone)]
pub(super) struct ModelsArgs {
    /// Directory of the models. By default $RIPOSTE_MODELS, or riposte/models in the user's data directory
    #[arg(long = "models", value_name = "DIR", help_heading = MODELS)]
    pub(super) dir: Option<PathBuf>,
    /// Numbers in which models compute: auto is int8 on machines with instructions for it, float is floats on every machine. Stored results stay as
    /// they are
    #[arg(long, value_name = "NUMBERS", value_parser = parse::named::<NumericMode>(), default_value_t, help_heading = MODELS)]
    pub(super) numeric: NumericMode,
}

impl ModelsArgs {
    pub(super) fn open(&self) -> Result<Models> {
        Models::at(self.dir.as_deref())
    }
}

/// A task of the lab, or `rank`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
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
    /// The name of the task's command.
    pub(super) fn word(self) -> &'static str {
        self.into()
    }

    /// The same task in the type of `task/`.
    pub(super) fn meant(self) -> task::Task {
        self.text().into()
    }

    /// The text task; `None` for images.
    pub(super) fn text(self) -> Option<TextTask> {
        TextTask::parse(self.word())
    }
}
