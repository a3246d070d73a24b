//! The program `riposte-eval`. It parses what was typed, calls the library, and prints what `riposte verify` and `riposte evaluate` print.
//!
//! Its exit code is an interface: 0: done, and all runs are valid; 1: a run is not valid, or a line of a file is broken; 2: failed.

mod evaluate;
mod files;
mod verify;

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use riposte_eval::{LineError, escaped, escaped_lines};

/// Number of broken lines of a file that are named.
const NAMED: usize = 10;

/// Check runs of the Touché tasks, evaluate runs of any collection by judgements, and compare them.
#[derive(Parser)]
#[command(name = "riposte-eval", version, max_term_width = 100)]
#[command(
    after_help = "The program riposte also reads collections, directories, zstd and the metadata beside a run, prints JSON, CSV, Markdown and LaTeX, and says where its figures differ from those of the organisers' evaluator."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check runs by the organisers' rules, and warn of what their verifiers overlook
    Verify(verify::VerifyArgs),
    /// Evaluate runs by judgements
    Evaluate(evaluate::EvaluateArgs),
    /// Compare all runs with each other: which differences are significant?
    Compare(evaluate::CompareArgs),
}

fn main() -> ExitCode {
    let is_good = match Cli::parse().command {
        Command::Verify(args) => verify::verify(&args),
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Compare(args) => evaluate::compare(&args),
    };
    match is_good {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(error) => {
            // a line break in a file's name must not begin a line that looks like a message of its own
            let error = escaped_lines(&format!("{error:#}")).to_string();
            say(&format!("riposte-eval: {}", error.replace('\n', "\n  ")));
            ExitCode::from(2)
        }
    }
}

/// Names the first lines that cannot be read, and says in a note how many are odd. Returns whether all can be read.
fn report_lines(file: &Path, errors: &[LineError]) -> bool {
    let file = file.to_string_lossy();
    let (odd, unread): (Vec<_>, Vec<_>) = errors.iter().partition(|error| error.is_read);
    for LineError { line, what, .. } in unread.iter().take(NAMED) {
        say(&format!("{}:{line}: {}", escaped(&file), escaped(what)));
    }
    if unread.len() > NAMED {
        let file = escaped(&file);
        say(&format!("{file}: {} lines are broken", unread.len()));
    }
    if let Some(first) = odd.first() {
        let lines = if odd.len() == 1 { "line" } else { "lines" };
        note(&format!(
            "{file}: {} odd {lines}, read as trec_eval reads them; the first is {first}",
            odd.len()
        ));
    }
    unread.is_empty()
}

/// Prints a line to standard error. If it cannot be written, the program goes on.
fn say(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn note(text: &str) {
    say(&format!("note: {}", escaped(text)));
}

/// Prints a result. A reader that closes the pipe early, as `head` does, is no error.
fn print(text: &dyn Display) -> Result<()> {
    match write!(io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write the result"),
    }
}
