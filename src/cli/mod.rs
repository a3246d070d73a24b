//! The command line: parses what was typed, calls a task, and prints the result.

/// Prints a line to standard error, like `eprintln!`, but goes on if it cannot be written.
macro_rules! say {
    ($($line:tt)*) => {
        $crate::cli::say_line(&format!($($line)*))
    };
}

mod approaches;
mod args;
mod ask;
mod edition;
mod evaluate;
mod export;
mod files;
mod images;
mod index;
mod inspect;
mod lines;
mod metadata;
mod parse;
mod probe;
mod progress;
mod quality;
mod stance;
mod texts;
mod verify;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::task::text_indexes;
use crate::topic::question::TopicParts;
use crate::weights::{self, Models};
use args::{
    ApproachesArgs, AskArgs, ComparativeArgs, ControversialArgs, EvaluateArgs, ExtractArgs,
    ImagesArgs, IndexArgs, InspectArgs, MergeArgs, ModelsCommand, QualityArgs, ReadArgs,
    StanceArgs, Task, TextArgs, VerifyArgs,
};
use export::ExportCommand;

/// Retrieve images, arguments and passages for the Touché tasks, and check, evaluate and inspect the runs.
#[derive(Parser)]
#[command(name = "riposte", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Retrieve images for and against the claim of each topic, and write them to run.txt; for the claims of 2024 and 2025, to results.jsonl
    Images(ImagesArgs),
    /// Retrieve arguments for controversial questions (Task 1), and write them to run.txt
    Controversial(ControversialArgs),
    /// Retrieve passages for comparative questions and detect their stances (Task 2), and write them to run.txt
    Comparative(ComparativeArgs),
    /// Rank any text collection in the layout of BEIR or TIREx for its queries, and write the ranking to run.txt
    Rank(TextArgs),
    /// Answer a question of one's own: the best images and arguments for and against, or the best texts
    Ask(AskArgs),
    /// Build or update the index of a collection, and describe it
    Index(IndexArgs),
    /// Compute the evidence about the images of a collection, without ranking them
    Extract(ExtractArgs),
    /// Recognise the text in image files, and print it as one JSON object per file
    Read(ReadArgs),
    /// Detect the stance of texts towards a topic or two objects, and print it as one JSON object per text
    Stance(StanceArgs),
    /// Rate texts as arguments on a topic, from 0 to 1, and print it as one JSON object per text
    Quality(QualityArgs),
    /// Merge the evidence of shards into one store
    Merge(MergeArgs),
    /// List or download models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// List every system of the lab with its official figures and the approach that rebuilds it
    Approaches(ApproachesArgs),
    /// Check runs against the organisers' rules, and warn of what their verifiers overlook
    Verify(VerifyArgs),
    /// Evaluate runs against judgements, and compare them
    Evaluate(EvaluateArgs),
    /// Write a report of a run, as pages that a browser opens from disk
    Inspect(InspectArgs),
    /// Write a run or the evidence in formats that other programs read
    #[command(subcommand)]
    Export(ExportCommand),
}

/// Runs the command that was typed. Returns the exit code.
pub fn run() -> Result<u8> {
    match Cli::parse().command {
        Command::Images(args) => images::images(&args),
        Command::Controversial(args) => texts::controversial(&args),
        Command::Comparative(args) => texts::comparative(&args),
        Command::Rank(args) => texts::rank(&args),
        Command::Ask(args) => ask::ask(&args),
        Command::Index(args) => index::index(&args),
        Command::Extract(args) => images::extract(&args),
        Command::Read(args) => images::read(&args),
        Command::Stance(args) => stance::stance(&args),
        Command::Quality(args) => quality::quality(&args),
        Command::Merge(args) => images::merge(&args),
        Command::Models(command) => models(command),
        Command::Approaches(args) => approaches::approaches(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Export(command) => export::export(&command),
    }
}

/// `riposte models`.
fn models(command: ModelsCommand) -> Result<u8> {
    match command {
        ModelsCommand::Fetch { names, models } => {
            let models = Models::at(models.as_deref())?;
            let report = weights::fetch(&models, &names, &weights::Progress::stderr(say_line))?;
            print(&report)?;
            Ok(report.exit_code())
        }
        ModelsCommand::List { models } => {
            print(&weights::list(&Models::at(models.as_deref())?))?;
            Ok(0)
        }
    }
}

/// Prints a line to standard error. A failure to write it, on a full disk or to a closed pipe, is ignored: no message may end a run.
pub fn say_line(line: &str) {
    // in one piece, so that the lines of several processes do not mix
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Prints a result on stdout. It is no error if the reader closes the pipe early, as `head` does.
fn print(text: &dyn std::fmt::Display) -> Result<()> {
    match write!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write the result"),
    }
}

/// The task that the user has chosen, or else the one that the files of the collection are for.
fn task_of(chosen: Option<Task>, input: &Path) -> Result<Task> {
    if let Some(task) = chosen {
        return Ok(task);
    }
    if input.join("images").is_dir() {
        return Ok(Task::Images);
    }
    let text_task = text_indexes::task_of(input).map(Task::from);
    text_task.with_context(|| {
        format!(
            "{} contains neither images/, nor args-me.json, the files of a debate portal, passages.jsonl, corpus.jsonl or documents.jsonl: choose a --task",
            input.display()
        )
    })
}

/// The parts of topics that `--use` names.
fn topic_parts(names: &[String]) -> TopicParts {
    TopicParts {
        description: names.iter().any(|name| name == "description"),
        narrative: names.iter().any(|name| name == "narrative"),
    }
}
