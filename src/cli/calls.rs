//! `calls`: runs small commands one after the other in one process, for the Python package. Starting a process, and loading models in it, takes longer
//! than most of these commands.
//!
//! Each line of standard input is a call, and each line of standard output the answer to one, both JSON objects: a call has the directory in which it
//! runs, the arguments that would be typed, and a text for standard input; an answer has the exit code, and what was printed to both streams. The
//! process ends with its standard input.

use std::io::{self, BufRead, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use clap::FromArgMatches;
use serde::{Deserialize, Serialize};

use super::image_args::ReadOptions;
use super::streams::of_call;
use super::text_args::ComputeArgs;
use super::{Cli, Command, evaluate, images, quality, stance, verify};
use riposte::api::{PictureReader, StanceDetector};
use riposte::lazy::Lazy;
use riposte::reading::stance_encoder::StanceEncoder;

/// The exit code of a Rust program that panics.
const PANICKED: u8 = 101;

#[derive(Deserialize)]
struct Call {
    directory: PathBuf,
    args: Vec<String>,
    #[serde(default)]
    input: String,
}

#[derive(Serialize)]
struct Answer {
    code: u8,
    output: String,
    error: String,
}

/// What calls one after the other share if they have the same options.
#[derive(Default)]
struct Kept {
    /// The stance encoder, for the options of the last call that had one. It is loaded when it reads the first text.
    encoder: Option<(ComputeArgs, Arc<Lazy<StanceEncoder>>)>,
    /// The same of the reader of pictures.
    reader: Option<(ReadOptions, PictureReader)>,
}

/// `riposte calls`.
///
/// # Errors
/// Standard input is not a list of calls, or an answer cannot be written.
pub fn calls() -> Result<u8> {
    let mut command = super::command_line();
    let mut kept = Kept::default();
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input
            .by_ref()
            .take(riposte::limits::MAX_CALL_BYTES)
            .read_until(b'\n', &mut line);
        if read.context("cannot read the next call")? == 0 {
            return Ok(0);
        }
        let call = serde_json::from_slice(&line).context("this is not a call")?;
        let mut answer = serde_json::to_vec(&answer(&mut command, call, &mut kept))?;
        answer.push(b'\n');
        let mut output = io::stdout().lock();
        let written = output.write_all(&answer).and_then(|()| output.flush());
        written.context("cannot write the answer")?;
    }
}

fn answer(command: &mut clap::Command, call: Call, kept: &mut Kept) -> Answer {
    let (directory, args) = (call.directory, call.args);
    let answer = answered(call.input, || {
        std::env::set_current_dir(&directory)
            .with_context(|| format!("cannot run in {}", directory.display()))?;
        run(command, args, kept)
    });
    if answer.code == PANICKED {
        // what a panic has interrupted can be in a wrong state
        *kept = Kept::default();
    }
    answer
}

/// Runs a command with a text on standard input. Whatever happens in it, the next one can run.
fn answered(input: String, run: impl FnOnce() -> Result<u8>) -> Answer {
    of_call::begin(input);
    let code = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            super::say_failure(&error);
            2
        }
        Err(_) => {
            say!("riposte: a defect of riposte ended this call");
            PANICKED
        }
    };
    let streams = of_call::end();
    Answer {
        code,
        output: streams.output,
        error: streams.error,
    }
}

fn run(command: &mut clap::Command, args: Vec<String>, kept: &mut Kept) -> Result<u8> {
    let is_input = |word: &String| word == "-" || word.ends_with("=-");
    let reads_input = args.iter().position(is_input);
    ensure!(
        reads_input.is_none_or(|at| at > 0 && args[at - 1] == "--jsonl"),
        "a call has no standard input but the lines of --jsonl"
    );
    let args = std::iter::once("riposte".to_owned()).chain(args);
    let matches = command.try_get_matches_from_mut(args);
    let typed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let typed = match typed {
        Ok(typed) => typed,
        Err(error) => {
            say!("{}", error.render().to_string().trim_end());
            return Ok(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match typed.command.with_datasets()? {
        Command::Evaluate(args) => evaluate::evaluate(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Stance(args) => {
            let encoder = kept.encoder(&args.models, StanceDetector::OTHERWISE)?;
            stance::stance_by(&args, &StanceDetector::of(encoder))
        }
        Command::Quality(args) => {
            let encoder = kept.encoder(&args.models, quality::OTHERWISE)?;
            quality::quality_by(&args, encoder.as_deref())
        }
        Command::Read(args) => {
            let make = || images::reader(&args).map(Some);
            let reader = same_or_made(&mut kept.reader, args.options(), make)?;
            images::read_by(&args, reader.context("there is no reader of pictures")?)
        }
        _ => bail!("this command has a process of its own"),
    }
}

impl Kept {
    /// The stance encoder. If it is not installed, a note says so, and the next call looks again.
    fn encoder(
        &mut self,
        args: &ComputeArgs,
        otherwise: &str,
    ) -> Result<Option<Arc<Lazy<StanceEncoder>>>> {
        let make = || args.stance_encoder(otherwise);
        let found = same_or_made(&mut self.encoder, args.clone(), make)?;
        Ok(found.cloned())
    }
}

/// What is kept for these options. If something else is kept, what `make` makes replaces it.
fn same_or_made<K: PartialEq, T>(
    kept: &mut Option<(K, T)>,
    options: K,
    make: impl FnOnce() -> Result<Option<T>>,
) -> Result<Option<&T>> {
    if !matches!(kept, Some((of, _)) if *of == options) {
        *kept = make()?.map(|made| (options, made));
    }
    Ok(kept.as_ref().map(|(_, made)| made))
}

#[cfg(test)]
mod tests {
    use super::super::{print, streams};
    use super::*;

    #[test]
    fn each_command_has_its_own_streams_also_after_a_panic() {
        let failed = answered(String::new(), || {
            print(&"before")?;
            let none: Vec<u8> = Vec::new();
            Ok(none[1])
        });
        assert_eq!((failed.code, failed.output.as_str()), (PANICKED, "before"));
        assert!(failed.error.contains("a defect of riposte"));
        let next = answered("words".into(), || {
            let mut text = String::new();
            streams::input().read_to_string(&mut text)?;
            print(&text)?;
            bail!("no\nmore")
        });
        assert_eq!((next.code, next.output.as_str()), (2, "words"));
        assert_eq!(next.error, "riposte: no\n  more\n");
    }
}
