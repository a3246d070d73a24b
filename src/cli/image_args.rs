//! The options of the commands for images, and of those for shards and reports.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, Command};
use riposte_eval::edition::Edition;
use riposte_nn::conv::Numeric;

use super::args::{CacheArgs, LAST, QUIET, Quiet, STORAGE, TAG, THREADS};
use super::channel_models::ChannelModels;
use super::faults::FaultArgs;
use super::parse;
use super::recipe_args::SetArgs;
use super::text_args::{
    EncoderArgs, INPUT, IndexingArgs, MODELS, MetadataArgs, ModelsArgs, OUTPUT,
};
use riposte::collection::task::Task;
use riposte::evidence::channel::{self, Channel};
use riposte::evidence::extract::Shard;
use riposte::evidence::ocr::{Ocr, Script};
use riposte::limits::MAX_REPORT_DEPTH;
use riposte::recipes::channels::CHANNELS;
use riposte::session::{CollectionSource, Session};
use riposte::wording::nearest;

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
    pub(super) models: EncoderArgs,
    /// OCR model: ppocr-v4 or ocrs. By default the first that is installed
    #[arg(long, value_name = "NAME", help_heading = MODELS)]
    pub(super) ocr: Option<String>,
    /// Script of the text that ppocr-v4 reads in images: latin, or all (Chinese too). ocrs always reads latin. Text that was read in another
    /// script is read again
    #[arg(long, value_parser = parse::named::<Script>(), default_value_t, help_heading = MODELS)]
    pub(super) script: Script,
    #[command(flatten)]
    pub(super) channels: ChannelModels,
    /// Numbers in which CLIP computes. int8 is faster on machines with instructions for it, and changes the vectors a little; the summary says how
    /// much
    #[arg(long, value_name = "NUMBERS", value_parser = parse::named::<Numeric>(), default_value_t, help_heading = MODELS)]
    pub(super) clip_precision: Numeric,
    #[arg(long, value_name = "CHANNEL", value_delimiter = ',', value_parser = channel, help = require(), help_heading = MODELS)]
    pub(super) require: Vec<String>,
    /// Use only the first N images
    #[arg(long, value_name = "N", display_order = LAST)]
    pub(super) limit: Option<usize>,
    /// Compare the contents of all files with those of the last run, even if their sizes and times have not changed
    #[arg(long, help_heading = STORAGE)]
    pub(super) rehash: bool,
    /// Number of threads. By default one per core
    #[arg(long, value_name = "N", env = THREADS, value_parser = parse::threads, help_heading = STORAGE)]
    pub(super) threads: Option<usize>,
    /// Try documents again in which riposte died, each first in a separate process
    #[arg(long, help_heading = STORAGE)]
    pub(super) retry: bool,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
    /// Print nothing but the result and errors; with --quiet=progress, notes and faults, too
    #[arg(short, long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = QUIET, hide_possible_values = true, display_order = LAST)]
    pub(super) quiet: Option<Quiet>,
    /// Print every fault, and more details
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
    #[command(flatten)]
    pub(super) set: SetArgs,
    /// Allow an image in both lists of a topic
    #[arg(long)]
    pub(super) overlap: bool,
    /// Tag of the run. By default the name of the approach and its settings, with riposte- before it unless it begins so. With several approaches,
    /// TAG-NAME
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
    pub(super) fn session(&self) -> Result<Session> {
        let places = self.cache.places(self.evidence.as_ref(), None);
        let mut session = self.models.session(places, self.threads)?;
        let options = &mut session.options;
        options.chosen.clone_from(&self.channels.0);
        let ocr = self.ocr.clone().map(|name| (Ocr.name(), name));
        options.chosen.extend(ocr);
        options.required.clone_from(&self.require);
        options.precision.clip = self.clip_precision;
        options.precision.script = self.script;
        Ok(session)
    }

    pub(super) fn source(&self) -> Result<CollectionSource> {
        Ok(CollectionSource {
            session: self.session()?,
            input: self.input.clone(),
            limit: self.limit,
            rehash: self.rehash,
            retry: self.retry,
        })
    }
}

#[derive(Args)]
pub(super) struct ExtractArgs {
    #[command(flatten)]
    pub(super) extraction: ExtractionArgs,
    /// Process only part I (from 1) of N equal parts of the collection
    #[arg(long, value_name = "I/N", value_parser = shard)]
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
    #[command(flatten)]
    pub(super) faults: FaultArgs,
}

/// The models, the OCR model and the script.
pub(super) type ReadOptions = (ModelsArgs, Option<String>, Script);

impl ReadArgs {
    /// The options that decide how a picture is read.
    pub(super) fn options(&self) -> ReadOptions {
        (self.models.clone(), self.ocr.clone(), self.script)
    }
}

#[derive(Args)]
pub(super) struct MergeArgs {
    /// Evidence store that receives the shards, created if necessary. For the shards of an index, a new directory
    #[arg(value_name = "INTO")]
    pub(super) into: PathBuf,
    /// Shards: evidence stores, or directories of Parquet files that riposte-spark has written (evidence, or one index)
    #[arg(value_name = "SHARD", required = true)]
    pub(super) shards: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
}

#[derive(Args)]
pub(super) struct InspectArgs {
    /// Run: a file (plain, gzip or zstd), - for standard input, or a directory with a run.txt. NAME= sets the name of the run in the report
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
    /// Another run to compare with: the report shows which documents moved, and how the measures changed. Can be repeated: the first page has all runs
    #[arg(long, value_name = "[NAME=]RUN2")]
    pub(super) against: Vec<PathBuf>,
    /// Explanations that --explain has written for the run. By default explain.jsonl beside it
    #[arg(long, value_name = "FILE")]
    pub(super) explain: Option<PathBuf>,
    /// Write the report as a single HTML file
    #[arg(long)]
    pub(super) single_file: bool,
    /// Number of documents that are shown of each list. By default 10 images or 20 texts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_REPORT_DEPTH))]
    pub(super) depth: Option<u32>,
    /// Task that the run is for. By default inferred from the collection or, if it has images and texts, from the run
    #[arg(long, value_parser = parse::task())]
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
    pub(super) faults: FaultArgs,
    #[command(flatten)]
    pub(super) indexing: IndexingArgs,
}

fn channel(word: &str) -> Result<String> {
    let channel = channel::find(CHANNELS, word).map(|channel| channel.name().to_owned());
    channel.with_context(|| {
        let known: Vec<&str> = CHANNELS.iter().map(|channel| channel.name()).collect();
        let meant = nearest(word, &known);
        let meant = meant.map_or(String::new(), |name| format!("did you mean {name}? "));
        format!("{meant}The channels are {}", known.join(", "))
    })
}

fn shard(text: &str) -> Result<Shard> {
    let parsed = text
        .split_once('/')
        .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
    match parsed {
        Some((number, count)) if number >= 1 && number <= count => Ok(Shard { number, count }),
        _ => bail!("a shard is I/N, with I from 1 to N"),
    }
}

/// `extract`, whose input can also be a stream.
pub(super) fn or_stream(extract: Command) -> Command {
    // with --stream, documents come from stdin
    extract.mut_arg("input", |input| {
        let input = input.required(false).required_unless_present("stream");
        input.default_value_if("stream", "true", Some("-"))
    })
}
