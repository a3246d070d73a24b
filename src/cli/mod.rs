//! The command line: parses what was typed, calls a task, and prints the result.

/// Prints a line to standard error, as `eprintln!` does, but goes on if it cannot be written.
macro_rules! say {
    ($($line:tt)*) => {
        $crate::cli::say_line(&format!($($line)*))
    };
}

mod approaches;
mod args;
mod ask;
mod cache;
mod calls;
mod channel_models;
mod collection;
mod config;
mod datasets;
mod evaluate;
mod export;
mod faults;
mod image_args;
mod images;
mod index;
mod inspect;
mod lines;
mod metadata;
mod models;
mod notes;
mod parse;
mod probe;
mod progress;
mod quality;
mod recipe_args;
mod reproduce;
mod serve;
mod shard;
mod shell;
mod stance;
mod streams;
mod terminal;
mod text_args;
mod texts;
mod verify;
mod version;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use clap::builder::Resettable;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use riposte::threads;
use riposte_eval::{escaped, escaped_lines};
use serde::Serialize;

use cache::CacheCommand;
use collection::CollectionCommand;
use config::{ConfigArgs, Configuration, ConfigurationArgs};
use export::ExportCommand;
use image_args::{ExtractArgs, ImagesArgs, InspectArgs, MergeArgs, ReadArgs};
use shell::{CompletionsArgs, ManArgs};
use text_args::{
    ApproachesArgs, ComparativeArgs, ControversialArgs, IndexArgs, QualityArgs, StanceArgs,
    TextArgs,
};

/// Retrieve images, arguments and passages for the Touché tasks, and check, evaluate and inspect the runs.
#[derive(Parser)]
#[command(
    name = "riposte",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
struct Cli {
    #[command(flatten)]
    configuration: ConfigurationArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Rank images for and against the claim of each topic (Task 3), and write a run
    Images(ImagesArgs),
    /// Rank arguments for controversial questions (Task 1), and write a run
    Controversial(ControversialArgs),
    /// Rank passages for comparative questions, detect their stances (Task 2), and write a run
    Comparative(ComparativeArgs),
    /// Rank any text collection in the layout of BEIR or TIREx, and write a run
    Rank(TextArgs),
    /// Answer a question with the best images and arguments for and against, or the best texts
    Ask(ask::AskArgs),
    /// Answer questions over HTTP, on a page and for programs
    Serve(serve::ServeArgs),
    /// Build or update the index of a collection, and describe it
    Index(IndexArgs),
    /// Make an image collection of pictures and saved pages, and check one
    #[command(subcommand)]
    Collection(CollectionCommand),
    /// Compute the evidence of an image collection, without ranking it
    Extract(ExtractArgs),
    /// Read the text in image files, and print a JSON object per file
    Read(ReadArgs),
    /// Detect the stance of texts towards a topic or two objects, and print a JSON object per text
    Stance(StanceArgs),
    /// Rate texts as arguments on a topic, from 0 to 1, and print a JSON object per text
    Quality(QualityArgs),
    /// Merge shards: evidence into one store, or those of an index into one directory
    Merge(MergeArgs),
    /// List, download, add or remove models
    #[command(subcommand)]
    Models(models::ModelsCommand),
    /// List, get or remove real collections
    #[command(subcommand)]
    Datasets(datasets::DatasetsCommand),
    /// Measure approaches on judged collections, beside the figures that were published
    Reproduce(reproduce::ReproduceArgs),
    /// List the approaches, or the systems of the lab with their official figures; print or begin a recipe
    Approaches(ApproachesArgs),
    /// Check runs by the organisers' rules, and warn of what their verifiers overlook
    Verify(verify::VerifyArgs),
    /// Evaluate runs by judgements, and compare them
    Evaluate(evaluate::EvaluateArgs),
    /// Write a report of a run, as web pages
    Inspect(InspectArgs),
    /// Export a run or the evidence in formats that other programs read
    #[command(subcommand)]
    Export(ExportCommand),
    /// Print the configuration that is used, and the values in force
    Config(ConfigArgs),
    /// List or remove what is stored in the cache directory
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Compute what riposte-spark needs from a text collection and its shards
    #[command(subcommand, hide = true)]
    Shard(shard::ShardCommand),
    /// Run small commands, each of which is a line of standard input, for the Python package
    #[command(hide = true)]
    Calls,
    /// Print a script that completes commands, options and values in a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

impl Command {
    /// False for commands that work without riposte.toml, even if it is broken: shells and packages call `completions` and `man`, and no command that
    /// `calls` runs takes a default from it.
    fn reads_configuration(&self) -> bool {
        if matches!(self, Command::Calls) {
            return false;
        }
        !matches!(self, Command::Completions(_) | Command::Man(_))
    }
}

/// The command line, with the parts that are known only when the program runs.
fn command_line() -> clap::Command {
    let command = Cli::command();
    let command = command.mut_subcommand("extract", image_args::or_stream);
    without_empty_variables(command).long_version(version::long())
}

/// The command, for which an empty environment variable counts as not set, as users expect.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        if value.is_some_and(|value| value.is_empty()) {
            arg.env(Resettable::Reset)
        } else {
            arg
        }
    });
    command.mut_subcommands(without_empty_variables)
}

/// The typed command with the defaults of the configuration, its options, and the configuration.
///
/// # Errors
/// The configuration cannot be used.
fn read_command_line() -> Result<(Command, ArgMatches, Option<Configuration>)> {
    let matches = command_line().get_matches();
    let typed = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let mut found = None;
    if typed.command.reads_configuration() {
        found = Configuration::find(&typed.configuration)?;
    }
    let Some(configuration) = found else {
        return Ok((typed.command, innermost(&matches), None));
    };
    // parsed again with the defaults of the file; typed options and the environment override them
    let matches = configuration.with_defaults(command_line()).get_matches();
    let typed = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let (command, options) = (typed.command, innermost(&matches));
    let command = command.with_metadata(configuration.metadata(&options));
    configuration.announce(&options);
    Ok((command, options, Some(configuration)))
}

/// The options of the innermost subcommand that was typed.
fn innermost(matches: &ArgMatches) -> ArgMatches {
    match matches.subcommand() {
        Some((_, inside)) => innermost(inside),
        None => matches.clone(),
    }
}

/// Whether a command processes no images and no texts of a collection, so it needs little memory.
fn is_small(command: &Command) -> bool {
    matches!(
        command,
        Command::Verify(_)
            | Command::Evaluate(_)
            | Command::Config(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Models(_)
            | Command::Datasets(_)
            | Command::Approaches(_)
            | Command::Cache(_)
    )
}

/// Runs the command that was typed. Returns the exit code.
pub fn run() -> Result<u8> {
    let (command, options, configuration) = read_command_line()?;
    let is_short = matches!(
        command,
        Command::Verify(_) | Command::Config(_) | Command::Completions(_) | Command::Man(_)
    );
    if !is_short {
        threads::start_pool()?;
    }
    if !is_small(&command) {
        threads::check_memory()?;
    }
    let command = command.with_datasets()?;
    let command = command.with_folders()?;
    match command {
        Command::Images(args) => images::images(&args),
        Command::Controversial(args) => texts::controversial(&args),
        Command::Comparative(args) => texts::comparative(&args),
        Command::Rank(args) => texts::rank(&args),
        Command::Ask(args) => ask::ask(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Index(args) => index::index(&args),
        Command::Collection(command) => collection::collection(&command),
        Command::Extract(args) => images::extract(&args),
        Command::Read(args) => images::read(&args),
        Command::Stance(args) => stance::stance(&args),
        Command::Quality(args) => quality::quality(&args),
        Command::Merge(args) => images::merge(&args),
        Command::Shard(command) => shard::shard(&command),
        Command::Calls => calls::calls(),
        Command::Models(command) => models::models(command),
        Command::Datasets(command) => datasets::datasets(&command),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Approaches(args) => approaches::approaches(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Export(command) => export::export(&command),
        Command::Config(args) => config::config(&args, configuration.as_ref(), &options),
        Command::Cache(command) => cache::cache(&command),
        Command::Completions(args) => shell::completions(&args, command_line()),
        Command::Man(args) => shell::man(&args, command_line()),
    }
}

/// Prints a line to standard error. If it cannot be written, because of a full disk or a closed pipe, the run goes on.
pub fn say_line(line: &str) {
    streams::write_error(line);
}

/// Sets `stop` and calls `then` on Ctrl-C and SIGTERM; a second signal ends the process at once.
///
/// # Errors
/// The signals cannot be watched for.
fn on_interrupt(stop: &Arc<AtomicBool>, then: impl Fn() + Send + 'static) -> Result<()> {
    let stop = Arc::clone(stop);
    ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        then();
    })
    .context("cannot watch for Ctrl-C")
}

/// Shows the progress of a download, which `--quiet` turns off.
fn download_printer(quiet: bool) -> impl FnMut(riposte::events::Event) {
    let quiet = quiet.then_some(args::Quiet::Progress);
    let mut printer = progress::EventPrinter::new(quiet, faults::FaultLog::unlisted());
    move |event| printer.print(event)
}

/// Prints why a command has failed.
pub fn say_failure(error: &anyhow::Error) {
    // a line break in a file's name must not begin a line that looks like a message of its own
    let error = escaped_lines(&format!("{error:#}")).to_string();
    let error = error.replace('\n', "\n  ");
    say_line(&format!("riposte: {error}"));
}

/// A path as it is printed: without characters that a terminal obeys, and in one line.
fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy()).to_string()
}

/// Prints a result to stdout. A reader that closes the pipe early, as `head` does, is no error.
fn print(text: &dyn std::fmt::Display) -> Result<()> {
    streams::write_output(text).context("cannot write the result")
}

/// Prints a result as a JSON object on a line.
fn print_json(value: &impl Serialize) -> Result<()> {
    print(&format_args!("{}\n", serde_json::to_string(value)?))
}
