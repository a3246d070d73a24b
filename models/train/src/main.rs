//! `train`: learns the weights in `models/own` from judged data, and measures them on topics that they were not learned from.

mod aramis;
mod aramis_learning;
mod base_model;
mod checkpoint;
mod data;
mod fit;
mod heads;
mod images;
mod lambdamart;
mod measures;
mod network;
mod object_stance;
mod operations;
mod optimiser;
mod quality;
mod relevance;
mod stance;
mod svr;
mod tagger;
mod targets;
#[cfg(test)]
mod tests;
mod text_stance;
mod trees;
mod twins;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use base_model::BaseModel;
use clap::{Parser, Subcommand};
use riposte::systems::trees::FeatureSet;
use riposte_nn::transformer::EncoderBackend;

#[derive(Parser)]
#[command(
    name = "train",
    version,
    about = "Learns the weights in models/own from judged data"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Learn the quality of texts and the ratings of arguments; needs all-MiniLM-L6-v2 and the weights of `stance`
    Quality {
        #[command(flatten)]
        files: Files,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
    },
    /// Learn the quality of texts by a linear support vector regression over words, like Heimdall
    SvrQuality(Files),
    /// Learn which of two objects a passage favours; needs all-MiniLM-L6-v2 and the weights of `stance`
    ObjectStance {
        #[command(flatten)]
        files: Files,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
    },
    /// Learn to weight the signals of an image's stance; needs all-MiniLM-L6-v2 and the weights of `text-stance`
    Images {
        #[command(flatten)]
        files: Files,
        /// The output of `riposte read` for imagearg/images/*.jpg
        #[arg(long)]
        ocr: PathBuf,
        /// The evidence of images/sample (`riposte extract`)
        #[arg(long)]
        evidence: PathBuf,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
    },
    /// Learn the networks of the published system Aramis
    Aramis(aramis::Options),
    /// Learn to combine the stance encoder and single words into the stance of a text; needs all-MiniLM-L6-v2
    TextStance {
        #[command(flatten)]
        files: Files,
        /// The weights of `stance --after … --hold-out`
        #[arg(long, value_name = "FILE")]
        held_out: PathBuf,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
    },
    /// Train the stance encoder, which says whether a text supports or attacks a claim; needs all-MiniLM-L6-v2 and takes more than an hour. A
    /// training that was stopped continues from its last checkpoint, which is beside the weight file
    Stance {
        #[command(flatten)]
        files: Files,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Passes over the pairs
        #[arg(long, default_value_t = 8)]
        passes: usize,
        /// Learning rate of the encoder
        #[arg(long, default_value_t = 1e-4)]
        rate: f64,
        /// Begin with this weight file, and learn the stance towards targets: the second training
        #[arg(long, value_name = "FILE")]
        after: Option<PathBuf>,
        /// A collection that the second training does not learn from; can be repeated
        #[arg(long, value_name = "NAME", requires = "after")]
        without: Vec<String>,
        /// Leave out the parts of the collections of targets that are for measuring
        #[arg(long, requires = "after")]
        hold_out: bool,
    },
    /// Learn parts of speech from the treebank Universal Dependencies English EWT
    Tagger {
        #[command(flatten)]
        treebank: Treebank,
        /// The weight file to write
        #[arg(short)]
        output: PathBuf,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Passes over the sentences
        #[arg(long, default_value_t = 10)]
        passes: usize,
    },
    /// Print the accuracy of a weight file of `tagger` on a part of the treebank
    EvaluateTagger {
        #[command(flatten)]
        treebank: Treebank,
        /// The weight file
        #[arg(long, value_name = "FILE")]
        weights: PathBuf,
        /// The part of the treebank: `dev` or `test`
        #[arg(long, default_value = "dev")]
        part: String,
    },
    /// Learn trees that rank arguments by relevance (LambdaMART), like Dread Pirate Roberts; the medium set needs all-MiniLM-L6-v2
    Trees {
        #[command(flatten)]
        files: Files,
        /// The features
        #[arg(long)]
        set: Set,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
        /// Write the features and grades of all candidates to this file
        #[arg(long, value_name = "FILE")]
        table: Option<PathBuf>,
    },
    /// Compare the stance models with sentiment, words and frozen vectors on the development parts of labelled data
    EvaluateHeads(heads::Options),
    /// Print how well the stance encoder's relevance agrees with the judges of the text tasks, before and after learning from them; needs
    /// all-MiniLM-L6-v2
    EvaluateRelevance(relevance::Options),
}

/// The features that trees use.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Set {
    /// Words, and statistics of the text
    Small,
    /// The features of `small`, and outputs of models
    Medium,
}

#[derive(clap::Args)]
struct Treebank {
    /// Directory of the treebank's files *-train.conllu, *-dev.conllu and *-test.conllu
    #[arg(long)]
    data: PathBuf,
}

/// The inputs of a measurement.
#[derive(clap::Args)]
struct Sources {
    /// Directory of the development data
    #[arg(long)]
    data: PathBuf,
    /// Directory of the models
    #[arg(long)]
    models: Option<PathBuf>,
    /// Compute the encoders in floats even where the machine can compute in int8
    #[arg(long)]
    float: bool,
}

impl Sources {
    fn encoder(&self) -> Result<BaseModel> {
        let base = BaseModel::find(self.models.as_deref())?;
        let backend = if self.float {
            EncoderBackend::Float
        } else {
            EncoderBackend::Auto
        };
        Ok(BaseModel { backend, ..base })
    }
}

#[derive(clap::Args)]
struct Files {
    /// Directory of the development data
    #[arg(long)]
    data: PathBuf,
    /// The weight file to write
    #[arg(short)]
    output: PathBuf,
}

impl Files {
    fn write(&self, bytes: &[u8]) -> Result<()> {
        write(&self.output, bytes)
    }
}

fn write(output: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(output, bytes)
        .with_context(|| format!("cannot write the weights to {}", output.display()))
}

/// Minimum learning rate of the head, which starts from random weights.
const HEAD_RATE: f64 = 2e-4;

/// Exit codes: 0 success, 2 failure.
fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("train: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Learns, prints the figures of cross-validation or of the development parts, and writes the weights.
fn run(command: &Command) -> Result<()> {
    match command {
        Command::SvrQuality(files) => files.write(svr::train(&files.data)?.as_bytes()),
        Command::Quality { files, models } => {
            files.write(quality::train(&files.data, models.as_deref())?.as_bytes())
        }
        Command::ObjectStance { files, models } => {
            files.write(object_stance::train(&files.data, models.as_deref())?.as_bytes())
        }
        Command::Images {
            files,
            ocr,
            evidence,
            models,
        } => {
            let inputs = images::Inputs {
                data: &files.data,
                ocr,
                evidence,
                models: models.as_deref(),
            };
            files.write(images::train(&inputs)?.as_bytes())
        }
        Command::TextStance {
            files,
            held_out,
            models,
        } => {
            let inputs = text_stance::Inputs {
                data: &files.data,
                models: models.as_deref(),
                held_out,
            };
            files.write(text_stance::train(&inputs)?.as_bytes())
        }
        Command::EvaluateRelevance(options) => relevance::evaluate(options),
        Command::Stance {
            files,
            models,
            seed,
            passes,
            rate,
            after,
            without,
            hold_out,
        } => {
            let recipe = stance::Recipe {
                seed: *seed,
                passes: *passes,
                // the head of a second training is no longer random
                rates: match after {
                    Some(_) => [*rate, *rate],
                    None => [*rate, rate.max(HEAD_RATE)],
                },
                after: after.clone(),
                without: without.clone(),
                holds_out: *hold_out,
            };
            let save = |bytes: &[u8]| files.write(bytes);
            let checkpoint = files.output.with_extension("checkpoint");
            stance::train(&files.data, models.as_deref(), &recipe, &checkpoint, &save)
        }
        Command::Aramis(options) => aramis::run(options),
        Command::Tagger {
            treebank,
            output,
            seed,
            passes,
        } => {
            let recipe = tagger::Recipe {
                seed: *seed,
                passes: *passes,
            };
            write(output, &tagger::train(&treebank.data, &recipe)?)
        }
        Command::EvaluateTagger {
            treebank,
            weights,
            part,
        } => tagger::evaluate(&treebank.data, weights, part),
        Command::Trees {
            files,
            set,
            models,
            table,
        } => {
            let inputs = trees::Inputs {
                data: &files.data,
                set: match set {
                    Set::Small => FeatureSet::Small,
                    Set::Medium => FeatureSet::Medium,
                },
                models: models.as_deref(),
                table: table.as_deref(),
            };
            files.write(trees::train(&inputs)?.as_bytes())
        }
        Command::EvaluateHeads(options) => heads::run(options),
    }
}
