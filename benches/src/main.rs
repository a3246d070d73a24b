//! `riposte-bench`: the stages of extraction, the text index and dense search, for the programs beside it.

mod dense;
mod network;
mod pages;
mod search;
mod sentences;
mod tantivy_alone;

use std::process::ExitCode;

use benches::rounds;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "riposte-bench",
    version,
    about = "Times parts of riposte, for benches/bench.py, bench_text.py, bench_dense.py, sentences.py, networks.py and pages.py"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Encode a collection of arguments, search its vectors, and print times and sizes
    Dense(dense::Options),
    /// Time the convolutions of a network, one image on one core
    Network(network::Options),
    /// Read the pages of a file, and print titles, main texts and times
    Pages(pages::Options),
    /// Build and query a text index, and print times and sizes
    Search(search::Options),
    /// Encode texts with the sentence encoder, a JSON array for each line on standard input
    Sentences(sentences::Options),
    /// Load one stage of extraction, then time a round of it for each line on standard input
    Stage(rounds::Options),
    /// Build an index once more with tantivy alone, and print times and sizes
    #[command(hide = true)]
    Tantivy(tantivy_alone::Options),
}

/// Exit codes: 0 success, 2 failure.
fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Dense(options) => dense::run(&options),
        Command::Network(options) => network::run(&options),
        Command::Pages(options) => pages::run(&options),
        Command::Search(options) => search::run(&options),
        Command::Sentences(options) => sentences::run(&options),
        Command::Stage(options) => rounds::run(&options),
        Command::Tantivy(options) => tantivy_alone::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("riposte-bench: {error:#}");
            ExitCode::from(2)
        }
    }
}
