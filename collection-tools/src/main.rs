//! `collection-tools`: makes, checks, cuts and builds collections for riposte.

mod beir;
mod build;
mod canvas;
mod charts;
mod check;
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
    about = "Makes, checks, cuts and builds collections for riposte"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate a collection: topics, pictures, pages and judgements
    Generate(generate::Options),
    /// Report the faults of a collection
    Check(check::Options),
    /// Cut a small, valid collection out of a large one
    Subset(subset::Options),
    /// Make a collection from a folder of images and saved pages
    Build(build::Options),
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

/// Exit codes: 0 success, 1 the collection has faults, 2 the command failed.
fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("collection-tools: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the command. The result is whether the collection has no faults.
fn run(command: &Command) -> Result<bool> {
    match command {
        Command::Generate(options) => generate::run(options).map(|()| true),
        Command::Check(options) => check::run(options),
        Command::Subset(options) => subset::run(options).map(|()| true),
        Command::Build(options) => build::run(options),
        Command::GenerateArguments(options) => texts::arguments(options).map(|()| true),
        Command::GenerateDebates(options) => debates::run(options).map(|()| true),
        Command::GeneratePassages(options) => texts::passages(options).map(|()| true),
        Command::GenerateBeir(options) => beir::run(options).map(|()| true),
    }
}
