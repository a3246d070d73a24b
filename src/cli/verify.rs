//! `verify`: checks runs against the rules of a task.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;
use riposte_eval::edition::{EDITIONS, Edition};
use riposte_eval::escaped;
use riposte_eval::verify::{Finding, Severity, is_valid};
use serde_json::{Value, json};

use super::faults::FaultLog;
use super::progress::EventPrinter;
use super::{parse, print, print_json, terminal};
use riposte::collection::task::Task;
use riposte::files::{check_distinct, check_once, check_writable, named_run, write_atomically};
use riposte::judge::verify::{VerificationSettings, VerifiedRun, Verifier};

/// Number of findings of each kind that are printed without `--verbose`.
const PRINTED: usize = 5;

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// Runs: files (plain, gzip or zstd), - for standard input, or directories with a run.txt
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Task that the runs are for. By default inferred from the collection, or without one from the lines of each run
    #[arg(long, value_parser = parse::task())]
    task: Option<Task>,
    /// Year of the lab whose topics and ids are expected. By default inferred from the lines of each run; `rank` has no editions
    #[arg(long, value_name = "YEAR", value_parser = parse::year(EDITIONS.iter()))]
    edition: Option<u32>,
    /// Collection whose topics and ids are expected, instead of those of the lab
    #[arg(short, long = "input", value_name = "DIR")]
    pub(super) input: Option<PathBuf>,
    /// File of the expected ids, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    ids: Option<PathBuf>,
    /// File of the expected topics
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Write the output of the organisers' image verifier to FILE (for a single run)
    #[arg(long, value_name = "FILE")]
    prototext: Option<PathBuf>,
    /// Print a JSON object for each run, with all findings
    #[arg(long)]
    json: bool,
    /// Print all findings, and not only the first five of each kind
    #[arg(short, long)]
    verbose: bool,
}

/// `riposte verify`. The exit code is 0 if every run is valid, otherwise 1.
pub fn verify(args: &VerifyArgs) -> Result<u8> {
    let only = || {
        let years = Edition::years_with_stances();
        format!("--prototext needs a single image run of {years}")
    };
    ensure!(args.prototext.is_none() || args.runs.len() == 1, only());
    check_once(args.runs.iter().map(PathBuf::as_path))?;
    if let Some(file) = &args.prototext {
        check_writable(file)?;
        let mut inputs: Vec<&Path> = args.runs.iter().map(|run| named_run(run).1).collect();
        let files = [&args.topics, &args.ids].into_iter().flatten();
        inputs.extend(files.map(PathBuf::as_path));
        check_distinct(&[("--prototext", file)], &inputs)?;
    }
    let settings = VerificationSettings {
        task: args.task,
        edition: args.edition,
        input: args.input.clone(),
        ids: args.ids.clone(),
        topics: args.topics.clone(),
        all: args.verbose,
    };
    let mut notes = EventPrinter::of_notes(FaultLog::unlisted());
    let mut verifier = Verifier::new(&settings, &mut |event| notes.print(event))?;
    let mut all_valid = true;
    for run in &args.runs {
        let verdict = verifier.verify(run)?;
        match (&args.prototext, &verdict.prototext) {
            (Some(file), Some(prototext)) => write_atomically(file, prototext.as_bytes())?,
            (Some(_), None) => bail!(only()),
            (None, _) => {}
        }
        all_valid &= is_valid(&verdict.findings);
        print_verdict(args, run, &verdict)?;
    }
    notes.finish()?;
    Ok(u8::from(!all_valid || verifier.has_faults))
}

fn print_verdict(args: &VerifyArgs, run: &Path, verdict: &VerifiedRun) -> Result<()> {
    if args.json {
        return print_json(&to_json(verdict));
    }
    let path = verdict.path.to_string_lossy();
    if args.task.is_none() && args.input.is_none() {
        let (of, task) = (escaped(&path), verdict.task.word());
        let year = verdict
            .edition
            .map_or(String::new(), |edition| format!(" of {edition}"));
        say!(
            "note: {of} is checked as a run for `{task}`{year}, by the form of its lines (--task and --edition choose others; -i DIR expects the topics and ids of a collection)"
        );
    }
    let shown = named_run(run).0.map_or(path, Into::into);
    print_findings(&shown, &verdict.findings, args.verbose)
}

/// Prints the findings about a run, which is named in each line.
fn print_findings(run: &str, findings: &[Finding], all: bool) -> Result<()> {
    let run = escaped(run);
    let mut seen = BTreeMap::new();
    for finding in findings {
        let count = seen.entry((finding.severity, finding.rule)).or_insert(0);
        *count += 1;
        if all || *count <= PRINTED {
            let finding = finding.to_string();
            print(&format_args!("{run}: {}\n", escaped(&finding)))?;
        }
    }
    let more: usize = seen
        .values()
        .map(|n: &usize| n.saturating_sub(PRINTED))
        .sum();
    if more > 0 && !all {
        print(&format_args!(
            "{run}: {more} more of these kinds (--verbose prints them)\n"
        ))?;
    }
    let is_refused = findings.iter().any(|f| f.severity == Severity::Tira);
    let verdict = match (is_valid(findings), is_refused) {
        (false, _) => terminal::painted("NOT valid", |style| style.red()),
        (true, true) => "valid by the rules of the task, but TIRA refuses it".to_owned(),
        (true, false) => terminal::painted("valid", |style| style.green()),
    };
    print(&format_args!("{run}: {verdict}\n"))
}

fn to_json(verdict: &VerifiedRun) -> Value {
    let findings = verdict.findings.as_slice();
    let valid = is_valid(findings);
    let finding = |of: &Finding| {
        json!({
            "severity": of.severity.word(),
            "rule": format!("{:?}", of.rule),
            "line": of.line,
            "what": of.what,
            "hint": of.hint,
        })
    };
    json!({
        "run": verdict.path,
        "task": verdict.task.word(),
        "valid": valid,
        "refused_by_tira": verdict.refused_by_tira,
        "findings": findings.iter().map(finding).collect::<Vec<Value>>(),
    })
}
