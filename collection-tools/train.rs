//! `train`: the learned weights of `models/own/` from judged data, and how well they do on topics not learned from.

mod data;
mod fit;
pub mod heads;
mod images;
mod network;
mod object_stance;
mod quality;
mod stance;
mod text_stance;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Subcommand;

#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// How well a text is written
    Quality(Files),
    /// Which of two objects a passage speaks for; needs all-MiniLM-L6-v2
    ObjectStance {
        #[command(flatten)]
        files: Files,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
    },
    /// What the signals of an image's stance weigh; needs all-MiniLM-L6-v2 and `train text-stance` before it
    Images {
        #[command(flatten)]
        files: Files,
        /// What `riposte read` says of imagearg/images/*.jpg
        #[arg(long)]
        ocr: PathBuf,
        /// The evidence of images/sample (`riposte extract`)
        #[arg(long)]
        evidence: PathBuf,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
    },
    /// What the pair encoder and words weigh in a text's stance; needs all-MiniLM-L6-v2 and `train stance` before it
    TextStance {
        #[command(flatten)]
        files: Files,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
    },
    /// Whether a text supports or attacks a claim; needs all-MiniLM-L6-v2, and an hour
    Stance {
        #[command(flatten)]
        files: Files,
        /// Directory of the models
        #[arg(long)]
        models: Option<PathBuf>,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Passes over the pairs
        #[arg(long, default_value_t = 3)]
        passes: usize,
        /// Learning rate of the encoder
        #[arg(long, default_value_t = 1e-4)]
        rate: f64,
        /// Go on from these weights
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
}

#[derive(clap::Args)]
pub struct Files {
    /// Folder of the development data
    #[arg(long)]
    data: PathBuf,
    /// The weight file to write
    #[arg(short)]
    output: PathBuf,
}

/// Least learning rate of a head, which starts from nothing.
const HEAD_RATE: f64 = 2e-4;

/// Learns, prints what cross-validation says, and writes the weights.
pub fn run(options: &Options) -> Result<()> {
    let (files, bytes) = match &options.what {
        What::Quality(files) => (files, quality::train(&files.data)?.into_bytes()),
        What::ObjectStance { files, models } => (
            files,
            object_stance::train(&files.data, models.as_deref())?.into_bytes(),
        ),
        What::Images {
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
            (files, images::train(&inputs)?.into_bytes())
        }
        What::TextStance { files, models } => (
            files,
            text_stance::train(&files.data, models.as_deref())?.into_bytes(),
        ),
        What::Stance {
            files,
            models,
            seed,
            passes,
            rate,
            from,
        } => {
            let from = from.as_ref().map(|path| {
                fs::read(path).with_context(|| format!("reading the weights {}", path.display()))
            });
            let recipe = stance::Recipe {
                seed: *seed,
                passes: *passes,
                rates: match from {
                    // a head that has learned already goes with the encoder
                    Some(_) => [*rate; 2],
                    None => [*rate, rate.max(HEAD_RATE)],
                },
                from: from.transpose()?,
            };
            let save = |bytes: &[u8]| write(files, bytes);
            return stance::train(&files.data, models.as_deref(), &recipe, &save);
        }
    };
    write(files, &bytes)
}

fn write(files: &Files, bytes: &[u8]) -> Result<()> {
    fs::write(&files.output, bytes)
        .with_context(|| format!("writing the weights {}", files.output.display()))
}
