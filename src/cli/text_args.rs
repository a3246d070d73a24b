//! The options of the commands for texts, and those that commands for images share with them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, Subcommand};
use riposte_nn::conv::NumericMode;

use super::args::{CacheArgs, LAST, QUIET, Quiet, STORAGE, TAG, THREADS};
use super::faults::FaultArgs;
use super::notes::print_notes;
use super::parse;
use super::recipe_args::{SearchArgs, SetArgs};
use riposte::collection::task::Task;
use riposte::device::{BackendMode, Compute};
use riposte::files::metadata::UserMetadata;
use riposte::lazy::Lazy;
use riposte::models;
use riposte::places::Places;
use riposte::reading::stance_encoder::StanceEncoder;
use riposte::session::Session;
use riposte::topic::question::TopicParts;
use riposte::weights::Models;

/// TIRA names the directories of the collection and of the run in these environment variables. Options override them.
pub(super) const INPUT: &str = "inputDataset";
pub(super) const OUTPUT: &str = "outputDir";

/// The heading of options in help texts that choose models.
pub(super) const MODELS: &str = "Models";

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

/// The options of the metadata beside a run.
#[derive(Args)]
pub(super) struct MetadataArgs {
    /// What the configuration says of the run's makers.
    #[arg(skip)]
    pub(super) config: UserMetadata,
    /// Do not write ir-metadata.yml beside the run
    #[arg(long)]
    pub(super) no_metadata: bool,
}

impl MetadataArgs {
    /// The part of the metadata that only the user knows, and the command as it was typed; `None` with --no-metadata.
    pub(super) fn config(&self) -> Option<UserMetadata> {
        let words = std::env::args_os();
        let command = words.map(|word| word.to_string_lossy().into_owned());
        (!self.no_metadata).then(|| UserMetadata {
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
    #[arg(long, value_name = "N", env = THREADS, value_parser = parse::threads, help_heading = STORAGE)]
    pub(super) threads: Option<usize>,
    /// Print nothing but the result and errors; with --quiet=progress, notes and faults, too
    #[arg(short, long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = QUIET, hide_possible_values = true, display_order = LAST)]
    pub(super) quiet: Option<Quiet>,
    /// Print every fault, and how long it took to verify the index
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
    #[command(flatten)]
    pub(super) search: SearchArgs,
    /// Tag of the run. By default the name of the approach and its settings, with riposte- before it unless it begins so. With several approaches,
    /// TAG-NAME
    #[arg(long, value_name = "TAG", env = TAG, value_parser = parse::tag)]
    pub(super) tag: Option<String>,
    /// Write explanations to FILE, one JSON object per document at the top: how its score was computed. `riposte inspect` shows those in
    /// explain.jsonl beside the run
    #[arg(long, value_name = "FILE")]
    pub(super) explain: Option<PathBuf>,
    #[command(flatten)]
    pub(super) models: RerankArgs,
    /// Read the whole collection to find out whether it has changed, even if the times of its files have not
    #[arg(long, help_heading = STORAGE)]
    pub(super) rehash: bool,
    #[command(flatten)]
    pub(super) metadata: MetadataArgs,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
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
    #[arg(long, value_parser = parse::task())]
    pub(super) task: Option<Task>,
    /// Approach whose indexes are built (texts only)
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    pub(super) approach: String,
    #[command(flatten)]
    pub(super) set: SetArgs,
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
    pub(super) models: EncoderArgs,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
    #[command(flatten)]
    pub(super) indexing: IndexingArgs,
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
    pub(super) models: ComputeArgs,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
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
    pub(super) models: ComputeArgs,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ApproachesArgs {
    #[command(subcommand)]
    pub(super) command: Option<ApproachesCommand>,
    /// List only the approaches to this task
    #[arg(long, value_parser = parse::task())]
    pub(super) task: Option<Task>,
    /// List the systems of the lab with their official figures, the approaches that rebuild them, and why others are not rebuilt
    #[arg(long, conflicts_with = "json")]
    pub(super) systems: bool,
    /// Print a JSON object for each system or approach
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum ApproachesCommand {
    /// Print an approach: its recipe, its source, and what is unknown of it
    Show {
        /// Name of the approach
        #[arg(value_name = "NAME")]
        name: String,
        /// Task of the approach, if approaches to several tasks have this name
        #[arg(long, value_parser = parse::task())]
        task: Option<Task>,
    },
    /// Print a commented recipe, from which a new approach can be written
    New {
        /// Task of the approach
        #[arg(long, value_parser = parse::task(), default_value = "controversial")]
        task: Task,
    },
}

/// The models, and the numbers in which they compute.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct ModelsArgs {
    /// Directory of the models. By default $RIPOSTE_MODELS, or riposte/models in the user's data directory
    #[arg(long = "models", value_name = "DIR", help_heading = MODELS)]
    pub(super) dir: Option<PathBuf>,
    /// Numbers in which models compute: auto is int8 on machines with instructions for it, float is floats on every machine. Stored results stay as
    /// they are
    #[arg(long, value_name = "NUMBERS", value_parser = parse::named::<NumericMode>(), default_value_t, help_heading = MODELS)]
    pub(super) numeric: NumericMode,
}

/// The models of commands that run encoders, and how they compute.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct ComputeArgs {
    #[command(flatten)]
    models: ModelsArgs,
    /// What computes encoders: auto is candle if riposte was built for GPUs and there is one, and otherwise packed, which is faster on a CPU. candle
    /// computes in floats. Stored results stay as they are
    #[arg(long, value_name = "NAME", value_parser = parse::named::<BackendMode>(), default_value_t, help_heading = MODELS)]
    backend: BackendMode,
}

impl ComputeArgs {
    pub(super) fn open(&self) -> Result<Models> {
        self.models.open()
    }

    pub(super) fn compute(&self) -> Compute {
        Compute {
            numeric: self.models.numeric,
            backend: self.backend,
        }
    }

    /// The stance encoder. If it is not installed, a note says so, and that `otherwise` happens.
    pub(super) fn stance_encoder(
        &self,
        otherwise: &str,
    ) -> Result<Option<Arc<Lazy<StanceEncoder>>>> {
        let models = self.open()?;
        models::installed_stance_encoder(&models, self.compute(), otherwise, &mut print_notes)
    }
}

impl ModelsArgs {
    pub(super) fn open(&self) -> Result<Models> {
        Models::at(self.dir.as_deref())
    }
}

/// The models of commands that compare texts, and how they compute.
#[derive(Args, Clone)]
pub(super) struct EncoderArgs {
    #[command(flatten)]
    all: ComputeArgs,
    /// Sentence encoder: all-minilm-l6-v2, all-mpnet-base-v2, which is larger and slower, or one of your own (`riposte models add`). By default the
    /// first that is installed
    #[arg(long, value_name = "NAME", help_heading = MODELS)]
    sentence: Option<String>,
}

impl EncoderArgs {
    /// A session with these models, and with this number of threads.
    pub(super) fn session(&self, places: Places, threads: Option<usize>) -> Result<Session> {
        let models = self.all.open()?.with_sentence(self.sentence.clone());
        let session = Session::new(places, models, self.all.compute());
        Ok(Session { threads, ..session })
    }
}

/// The models of commands that order texts again.
#[derive(Args, Clone)]
pub(super) struct RerankArgs {
    #[command(flatten)]
    encoders: EncoderArgs,
    /// Cross-encoder of the approaches that have one: ms-marco-minilm-l6, or one of your own (`riposte models add`)
    #[arg(long, value_name = "NAME", help_heading = MODELS)]
    cross: Option<String>,
}

impl RerankArgs {
    /// Like [`EncoderArgs::session`], with the cross-encoder.
    pub(super) fn session(&self, places: Places, threads: Option<usize>) -> Result<Session> {
        let mut session = self.encoders.session(places, threads)?;
        session.models = session.models.with_cross(self.cross.clone());
        Ok(session)
    }
}

/// The parts of topics that `--use` names.
pub(super) fn topic_parts(names: &[String]) -> TopicParts {
    let has = |part: &str| names.iter().any(|name| name == part);
    TopicParts {
        description: has("description"),
        narrative: has("narrative"),
    }
}
