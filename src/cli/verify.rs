//! `verify`: checks runs against the rules of a task.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::args::Task;
use super::files::{
    MAX_RUN_BYTES, check_distinct, check_writable, decode, named_run, own_topics, read_run,
    read_topics,
};
use super::{parse, print, task_of_run, terminal};
use crate::collection::images::ImageCollection;
use crate::collection::read_bytes;
use crate::disk;
use crate::judge::verify::{Finding, Kind, Rule, Rules, Severity, is_valid, verify_for_tira};
use crate::task::metadata::{self, Described};
use crate::task::text_indexes::document_ids;
use crate::trec::edition::{self, ASSUMED, EDITIONS, Edition};
use crate::trec::run;
use crate::trec::{DocId, TopicId, escaped};

/// Number of findings of each kind that are printed without `--verbose`.
const PRINTED: usize = 5;

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// Runs: files (plain or gzipped), or directories with a run.txt
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Task that the runs are for. By default inferred from the collection, or without one from the lines of each run
    #[arg(long, value_enum)]
    task: Option<Task>,
    /// Year of the lab whose topics and ids are expected. By default inferred from the lines of each run; `rank` has no editions
    #[arg(long, value_name = "YEAR", value_parser = parse::year(EDITIONS.iter()))]
    edition: Option<u32>,
    /// Collection whose topics and ids are expected, instead of those of the lab
    #[arg(short, long = "input", value_name = "DIR")]
    input: Option<PathBuf>,
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
    ensure!(
        args.prototext.is_none() || args.runs.len() == 1,
        prototext_needs()
    );
    if let Some(file) = &args.prototext {
        check_writable(file)?;
        let mut inputs: Vec<&Path> = args.runs.iter().map(|run| named_run(run).1).collect();
        inputs.extend(
            [&args.topics, &args.ids]
                .into_iter()
                .flatten()
                .map(PathBuf::as_path),
        );
        check_distinct(&[("--prototext", file)], &inputs)?;
    }
    let mut all_valid = true;
    let expected_topics = ExpectedTopics::read(args)?;
    // most often they are the same for all runs
    let (mut rules, mut made_for) = (None, None);
    for run in &args.runs {
        let (path, bytes) = read_run(run)?;
        let kind = Kind::of_run(&bytes);
        let task = match (args.task, &args.input) {
            (Some(chosen), _) => chosen,
            (None, Some(input)) => task_of_run(None, input, &bytes)?,
            (None, None) => kind.task.map_or(Task::Images, Task::from),
        };
        let edition = edition_of(args.edition, task, kind)?;
        if made_for != Some((task, edition)) {
            let topics = expected_topics.ids.clone();
            rules = Some(rules_of(edition, topics, expected_ids(args, task)?));
            made_for = Some((task, edition));
        }
        let rules = rules.as_ref().context("there are no rules")?;
        let verdict = verify_for_tira(&bytes, rules);
        if let Some(file) = &args.prototext {
            ensure!(edition.is_some_and(Edition::has_stances), prototext_needs());
            std::fs::write(file, verdict.prototext())
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        let mut findings = verdict.findings;
        findings.extend(findings_of_metadata(&path, &bytes, args.verbose));
        all_valid &= is_valid(&findings);
        if args.json {
            print(&format_args!("{}\n", to_json(&path, task, &findings)))?;
            continue;
        }
        if args.task.is_none() && args.input.is_none() {
            let year = edition.map_or(String::new(), |edition| format!(" of {edition}"));
            say!(
                "note: {} is checked as a run for `{}`{year}, by the form of its lines (--task and --edition choose others; -i DIR expects the topics and ids of a collection)",
                escaped(&path.to_string_lossy()),
                task.word()
            );
        }
        let shown = match named_run(run).0 {
            Some(name) => name.into(),
            None => path.to_string_lossy(),
        };
        print_findings(&shown, &findings, args.verbose)?;
    }
    Ok(u8::from(!all_valid || expected_topics.has_faults))
}

/// Findings about the metadata beside a run: that it is a manual run, or that they belong to another run. With `all`, also the fields that TIRA
/// requires in tasks with metadata.
fn findings_of_metadata(run: &Path, bytes: &[u8], all: bool) -> Vec<Finding> {
    let file = disk::parent(run).join(metadata::FILE);
    if !file.is_file() {
        return Vec::new();
    }
    let found = |severity, rule, what: String, hint: &str| Finding {
        line: None,
        severity,
        rule,
        what,
        hint: hint.to_owned(),
    };
    let name = metadata::FILE;
    let read = read_bytes(&file, MAX_RUN_BYTES).map(decode);
    let described = match read.and_then(|text| Described::parse(&text)) {
        Ok(described) => described,
        Err(error) => {
            let what = format!("{name} cannot be read: {error:#}");
            return vec![found(Severity::Tira, Rule::Metadata, what, "")];
        }
    };
    let Described {
        tag,
        is_manual,
        missing,
    } = described;
    let mut findings = Vec::new();
    if is_manual {
        let what = "a manual run".to_owned();
        let hint = format!("{name} says so: description or narrative was searched for");
        findings.push(found(Severity::Note, Rule::Metadata, what, &hint));
    }
    let (lines, _) = run::read_texts(&String::from_utf8_lossy(bytes));
    if lines.iter().all(|line| line.tag != tag) && !tag.is_empty() {
        let what = format!("{name} describes another run, with the tag {tag}");
        let hint = "write the run and the file again, or delete the file";
        findings.push(found(Severity::Warning, Rule::Metadata, what, hint));
    }
    if all && !missing.is_empty() {
        let what = format!("{name} lacks {}", missing.join(", "));
        let hint =
            "TIRA requires them in tasks with metadata; a configuration can give them (--config)";
        findings.push(found(Severity::Note, Rule::Metadata, what, hint));
    }
    findings
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
    let verdict = match (is_valid(findings), is_refused_by_tira(findings)) {
        (false, _) => terminal::painted("NOT valid", |style| style.red()),
        (true, true) => "valid by the rules of the task, but TIRA refuses it".to_owned(),
        (true, false) => terminal::painted("valid", |style| style.green()),
    };
    print(&format_args!("{run}: {verdict}\n"))
}

fn is_refused_by_tira(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.severity == Severity::Tira)
}

fn to_json(path: &Path, task: Task, findings: &[Finding]) -> Value {
    let valid = is_valid(findings);
    let findings_of = findings.iter().map(|finding| {
        json!({
            "severity": finding.severity.word(),
            "rule": format!("{:?}", finding.rule),
            "line": finding.line,
            "what": finding.what,
            "hint": finding.hint,
        })
    });
    let findings_of: Vec<Value> = findings_of.collect();
    json!({
        "run": path,
        "task": task,
        "valid": valid,
        "refused_by_tira": !valid || is_refused_by_tira(findings),
        "findings": findings_of,
    })
}

/// The edition of a run: the one that the user has named, or what the run's lines say if they are for this task. [`Task::Rank`] has none.
///
/// # Errors
/// The task had no edition in the named year.
fn edition_of(named: Option<u32>, task: Task, kind: Kind) -> Result<Option<&'static Edition>> {
    let text = task.text();
    let years = edition::years(Edition::all(text));
    let (Some(first), Some(last)) = (years.first(), years.last()) else {
        return Ok(None);
    };
    let Some(year) = named else {
        let of_lines = kind.edition.filter(|edition| edition.task == text);
        return Ok(of_lines.or(Edition::find(text, ASSUMED)));
    };
    let found = Edition::find(text, year);
    if found.is_none() && text.is_none() {
        bail!("there was no image task in {year}, only in {first} to {last}");
    }
    let before: Vec<String> = years.range(..last).map(u32::to_string).collect();
    ensure!(
        found.is_some(),
        "there were text tasks in {} and {last}, not in {year}",
        before.join(", ")
    );
    Ok(found)
}

/// The rules of an edition or, without one, those for runs of any collection.
fn rules_of(
    edition: Option<&'static Edition>,
    topics: Option<Vec<TopicId>>,
    ids: Option<HashSet<DocId>>,
) -> Rules {
    let mut rules = edition.map_or_else(Rules::of_any_collection, Rules::of);
    if let Some(topics) = topics {
        rules = rules.with_topics(topics);
    }
    if let Some(ids) = ids {
        rules = rules.with_documents(ids);
    }
    rules
}

fn prototext_needs() -> String {
    format!(
        "--prototext needs a single image run of {}",
        Edition::years_with_stances()
    )
}

/// The topics that `--topics` or `--input` names.
struct ExpectedTopics {
    /// `None` if the topics of the edition are expected.
    ids: Option<Vec<TopicId>>,
    /// Whether something in the topics is broken.
    has_faults: bool,
}

impl ExpectedTopics {
    fn read(args: &VerifyArgs) -> Result<Self> {
        let dir = args.input.as_deref();
        if args.topics.is_none() && dir.and_then(own_topics).is_none() {
            return Ok(ExpectedTopics {
                ids: None,
                has_faults: false,
            });
        }
        let read = read_topics(args.topics.as_deref(), dir.unwrap_or(Path::new("")))?;
        Ok(ExpectedTopics {
            ids: Some(read.topics.into_iter().map(|topic| topic.id).collect()),
            has_faults: !read.faults.is_empty(),
        })
    }
}

/// The ids that `--ids` or `--input` names; `None` if those of the edition are expected.
fn expected_ids(args: &VerifyArgs, task: Task) -> Result<Option<HashSet<DocId>>> {
    if let Some(dir) = &args.input {
        return collection_ids(task, dir).map(Some);
    }
    let Some(file) = &args.ids else {
        return Ok(None);
    };
    let text = decode(read_bytes(file, MAX_RUN_BYTES)?);
    let listed = text.split_whitespace().map(|id| DocId(id.to_owned()));
    Ok(Some(listed.collect()))
}

fn collection_ids(task: Task, dir: &Path) -> Result<HashSet<DocId>> {
    match task.text() {
        None => {
            let collection = ImageCollection::open(dir)?;
            Ok(collection.entries().iter().map(|e| e.id.clone()).collect())
        }
        Some(task) => document_ids(task, dir),
    }
}
