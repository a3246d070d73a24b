//! `train`: the learned weights of `models/own/` from judged data, and how well they do on topics not learned from.

mod data;
mod fit;
mod object_stance;
mod quality;

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

/// Learns, prints what cross-validation says, and writes the weights.
pub fn run(options: &Options) -> Result<()> {
    let (files, text) = match &options.what {
        What::Quality(files) => (files, quality::train(&files.data)?),
        What::ObjectStance { files, models } => {
            (files, object_stance::train(&files.data, models.as_deref())?)
        }
    };
    fs::write(&files.output, text)
        .with_context(|| format!("writing the weights {}", files.output.display()))
}
