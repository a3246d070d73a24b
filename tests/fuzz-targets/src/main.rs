//! `make -C tests fuzz MINUTES=n`: runs targets on mutated inputs and prints a table.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use fuzz_targets::{TARGETS, Target, hunt, target};

/// Feeds mutated inputs to riposte's readers. Exit code 1: an input made a reader panic; the input is written to target/fuzz-failures.
#[derive(Parser)]
#[command(name = "fuzz-targets")]
struct Args {
    /// The time for each target
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// The seed of the mutated inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The names of targets; all by default
    targets: Vec<String>,
    /// Run one target once, on the bytes of this file
    #[arg(long)]
    input: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let known = || {
        TARGETS
            .iter()
            .map(|t| t.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let find = |name: &String| {
        target(name).with_context(|| format!("no target is named {name}; there are {}", known()))
    };
    let mut targets: Vec<&'static Target> = args.targets.iter().map(find).collect::<Result<_>>()?;
    if let (Some(path), [target]) = (&args.input, targets.as_slice()) {
        let bytes = std::fs::read(path);
        (target.run)(&bytes.with_context(|| format!("cannot read {}", path.display()))?);
        return Ok(ExitCode::SUCCESS);
    }
    if targets.is_empty() {
        targets = TARGETS.iter().collect();
    }
    // the messages of panics are printed in the table
    std::panic::set_hook(Box::new(|_| ()));
    println!(
        "{:<14} {:>10} {:>9} {:>11} {:>8}",
        "target", "inputs", "a second", "slowest, ms", "failures"
    );
    let mut code = ExitCode::SUCCESS;
    for target in targets {
        let time = Duration::from_secs_f64(args.minutes * 60.0);
        let outcome = hunt::hunt(target, args.seed, time)?;
        println!(
            "{:<14} {:>10} {:>9.0} {:>11} {:>8}",
            target.name,
            outcome.inputs,
            outcome.inputs as f64 / outcome.took.as_secs_f64(),
            outcome.slowest.as_millis(),
            outcome.failures.len()
        );
        for (said, path) in outcome.failures {
            println!("  {}: {said}", path.display());
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}
