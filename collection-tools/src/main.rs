//! Collections made, checked, cut and built.

mod build;
mod check;
mod draw;
mod generate;
mod html;
mod pages;
mod pictures;
mod scenery;
mod subset;
mod texts;
mod topics;

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
    /// Make a collection out of code alone: topics, pictures, pages and judgements
    Generate(generate::Options),
    /// Report what is wrong in a collection
    Check(check::Options),
    /// Cut a small valid collection out of a large one
    Subset(subset::Options),
    /// Make a collection from a folder of images and saved pages
    Build(build::Options),
    /// Make a corpus of arguments out of code alone, to measure with
    GenerateArguments(texts::Options),
    /// Make a file of passages out of code alone, to measure with
    GeneratePassages(texts::Options),
}

/// 0: done; 1: done, and the collection has faults; 2: could not.
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

/// Whether it was done without faults.
fn run(command: &Command) -> Result<bool> {
    match command {
        Command::Generate(options) => generate::run(options).map(|()| true),
        Command::Check(options) => check::run(options),
        Command::Subset(options) => subset::run(options),
        Command::Build(options) => build::run(options),
        Command::GenerateArguments(options) => texts::arguments(options).map(|()| true),
        Command::GeneratePassages(options) => texts::passages(options).map(|()| true),
    }
}
