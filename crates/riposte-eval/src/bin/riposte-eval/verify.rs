//! `verify`: checks runs by the rules of a task.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use riposte_eval::limits::{MAX_RUN_BYTES, MAX_TOPICS_BYTES};
use riposte_eval::printed::finding_lines;
use riposte_eval::topic::{ParsedTopics, read as read_topics};
use riposte_eval::verify::{Finding, Rules, RunKind, Severity, is_valid, verify_for_tira};
use riposte_eval::{TextTask, TopicId, escaped};

use crate::{files, note, print, report_lines};

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// Runs: files (plain or gzip), or - for standard input
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Task that the runs are for. By default inferred from the lines of each run
    #[arg(long, value_parser = ["images", "controversial", "comparative", "rank"])]
    task: Option<String>,
    /// Year of the lab whose topics and ids are expected. By default inferred from the lines of each run; `rank` has no editions
    #[arg(long, value_name = "YEAR")]
    edition: Option<u32>,
    /// File of the expected topics, in UTF-8, instead of those of the lab
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Print all findings, and not only the first five of each kind
    #[arg(short, long)]
    verbose: bool,
}

/// Returns whether all runs are valid, and all expected topics can be read.
pub(crate) fn verify(args: &VerifyArgs) -> Result<bool> {
    files::check_once(args.runs.iter().chain(&args.topics))?;
    let topics = args.topics.as_deref().map(topics_in).transpose()?;
    let mut is_good = topics.as_ref().is_none_or(|(_, are_whole)| *are_whole);
    for path in &args.runs {
        let run = files::read(path, MAX_RUN_BYTES)?;
        let kind = RunKind::of_run(&run);
        let task = match &args.task {
            Some(word) => TextTask::parse(word),
            None => kind.task,
        };
        let edition = kind.edition_for(task, args.edition)?;
        let path = path.to_string_lossy();
        if args.task.is_none() {
            let task = task.map_or("images", TextTask::word);
            let year = edition.map_or(String::new(), |edition| format!(" of {edition}"));
            note(&format!(
                "{path} is checked as a run for `{task}`{year}, by the form of its lines (--task and --edition choose others; --topics FILE expects the topics of a collection)"
            ));
        }
        let mut rules = edition.map_or_else(Rules::of_any_collection, Rules::of);
        if let Some((topics, _)) = &topics {
            rules = rules.with_topics(topics.iter().cloned());
        }
        let findings = verify_for_tira(&run, &rules).findings;
        print_findings(&path, &findings, args.verbose)?;
        is_good &= is_valid(&findings);
    }
    Ok(is_good)
}

/// The topics in a file, and whether all of them can be read.
fn topics_in(file: &Path) -> Result<(Vec<TopicId>, bool)> {
    let bytes = files::read(file, MAX_TOPICS_BYTES)?;
    let reading = || format!("cannot read the topics in {}", file.display());
    let text = String::from_utf8(bytes).with_context(reading)?;
    let ParsedTopics { topics, faults } = read_topics(&text).with_context(reading)?;
    let topics = topics.into_iter().map(|topic| topic.id);
    Ok((topics.collect(), report_lines(file, &faults)))
}

/// Prints the findings about a run, which is named in each line.
fn print_findings(run: &str, findings: &[Finding], all: bool) -> Result<()> {
    print(&finding_lines(run, findings, all))?;
    let run = escaped(run);
    let is_refused = findings.iter().any(|f| f.severity == Severity::Tira);
    let verdict = match (is_valid(findings), is_refused) {
        (false, _) => "NOT valid",
        (true, true) => "valid by the rules of the task, but TIRA refuses it",
        (true, false) => "valid",
    };
    print(&format_args!("{run}: {verdict}\n"))
}
