//! `collection-tools`: generates collections for riposte, and cuts small ones out of large ones.

mod beir;
mod canvas;
mod charts;
mod claims;
mod debates;
mod files;
mod generate;
mod html;
mod pages;
mod painter;
mod pictures;
mod scenery;
mod subset;
mod texts;
mod topics;
mod two_sided;
mod wording;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "collection-tools",
    version,
    about = "Generates collections for riposte, and cuts small ones out of large ones"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate a collection: topics, pictures, pages and judgements
    Generate(generate::Options),
    /// Cut a small, valid collection out of a large one
    Subset(subset::Options),
    /// Generate a collection of arguments, to measure the index with
    GenerateArguments(texts::Options),
    /// Generate arguments for and against the topics of a generated collection
    GenerateDebates(debates::Options),
    /// Generate a collection of passages, to measure the index with
    GeneratePassages(texts::Options),
    /// Generate a collection in the layout of BEIR; its judgements follow from how the documents are made
    GenerateBeir(texts::Options),
}

/// A count with its noun, whose plural ends in s: "1 image", "2 images".
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Exit codes: 0 success, 2 the command failed.
fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("collection-tools: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Generate(options) => generate::run(options),
        Command::Subset(options) => subset::run(options),
        Command::GenerateArguments(options) => texts::arguments(options),
        Command::GenerateDebates(options) => debates::run(options),
        Command::GeneratePassages(options) => texts::passages(options),
        Command::GenerateBeir(options) => beir::run(options),
    }
}
