//! Checks runs by the rules of a task.

// an error says that a file is missing
#![expect(clippy::disallowed_methods)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte_eval::edition::Edition;
use riposte_eval::verify::{Finding, Rule, Rules, RunKind, Severity, verify_for_tira};
use riposte_eval::{DocId, TopicId, run};

use super::document_ids::document_ids;
use crate::collection::images::ImageCollection;
use crate::collection::task::Task;
use crate::collection::{read_bytes, read_regular};
use crate::disk;
use crate::events::{Event, OnEvent};
use crate::files::metadata::Described;
use crate::files::stdin::{Stdin, is_stdin};
use crate::files::{decode, metadata, own_topics, read_run, read_topics};
use crate::limits::MAX_RUN_BYTES;

/// What is expected of the runs.
#[derive(Debug, Default)]
pub struct VerificationSettings {
    /// The task of the runs; `None` to infer it from the collection or, if none is given, from the lines of each run.
    pub task: Option<Task>,
    /// The year of the lab; `None` to infer it from the lines of each run.
    pub edition: Option<u32>,
    /// The collection whose topics and ids are expected, instead of those of the lab.
    pub input: Option<PathBuf>,
    /// A file of the expected ids.
    pub ids: Option<PathBuf>,
    /// A file of the expected topics.
    pub topics: Option<PathBuf>,
    /// Whether missing metadata are among the findings.
    pub all: bool,
}

/// Checks runs one after the other.
pub struct Verifier<'a> {
    settings: &'a VerificationSettings,
    /// The expected topics; `None` for those of the edition.
    topics: Option<Vec<TopicId>>,
    /// Whether something in the expected topics is broken.
    pub has_faults: bool,
    /// The rules for the last run, with their task and edition. They are kept because most often all runs have the same rules.
    rules: Option<(Task, Option<&'static Edition>, Rules)>,
}

/// What was found in a run.
pub struct VerifiedRun {
    /// The file of the run.
    pub path: PathBuf,
    pub task: Task,
    /// The edition by whose rules the run was checked; `None` for a task without editions.
    pub edition: Option<&'static Edition>,
    pub findings: Vec<Finding>,
    /// Whether TIRA refuses the run or its metadata.
    pub refused_by_tira: bool,
    /// The output of the organisers' verifier; `None` for runs that it does not read.
    pub prototext: Option<String>,
}

impl<'a> Verifier<'a> {
    /// Reads the expected topics.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn new(settings: &'a VerificationSettings, on_event: &mut OnEvent) -> Result<Self> {
        let mut verifier = Verifier {
            settings,
            topics: None,
            has_faults: false,
            rules: None,
        };
        let (file, dir) = (settings.topics.as_deref(), settings.input.as_deref());
        let own = dir.map(own_topics).transpose()?.flatten();
        if file.is_some() || own.is_some() {
            let mut has_faults = false;
            let topics = read_topics(file, dir.unwrap_or(Path::new("")), &mut |event| {
                has_faults |= matches!(event, Event::Fault(_));
                on_event(event);
            })?;
            verifier.has_faults = has_faults;
            verifier.topics = Some(topics.into_iter().map(|topic| topic.id).collect());
        }
        Ok(verifier)
    }

    /// Checks a run.
    ///
    /// # Errors
    /// The run or the collection cannot be read, or the task was not part of the lab in this year.
    pub fn verify(&mut self, run: &Path) -> Result<VerifiedRun> {
        let (path, bytes) = read_run(run, &Stdin::default())?;
        let kind = RunKind::of_run(&bytes);
        let task = match (self.settings.task, &self.settings.input) {
            (Some(chosen), _) => chosen,
            (None, Some(input)) => Task::of_run(input, &bytes)?,
            (None, None) => kind.task.into(),
        };
        let edition = kind.edition_for(task.text(), self.settings.edition)?;
        let verdict = verify_for_tira(&bytes, self.rules(task, edition)?);
        let has_stances = edition.is_some_and(Edition::has_stances);
        let prototext = has_stances.then(|| verdict.prototext());
        let mut findings = verdict.findings;
        findings.extend(findings_of_metadata(&path, &bytes, self.settings.all));
        let mut of_tira = findings.iter().map(|of| of.severity == Severity::Tira);
        let refused_by_tira = verdict.refused_by_tira || of_tira.any(|is_of_tira| is_of_tira);
        Ok(VerifiedRun {
            path,
            task,
            edition,
            findings,
            refused_by_tira,
            prototext,
        })
    }

    /// The rules of an edition of a task; if there is none, those for runs of any collection.
    fn rules(&mut self, task: Task, edition: Option<&'static Edition>) -> Result<&Rules> {
        if !matches!(self.rules, Some((of, year, _)) if (of, year) == (task, edition)) {
            let ids = expected_ids(self.settings, task)?;
            let mut rules = edition.map_or_else(Rules::of_any_collection, Rules::of);
            if let Some(topics) = self.topics.clone() {
                rules = rules.with_topics(topics);
            }
            if let Some(ids) = ids {
                rules = rules.with_documents(ids);
            }
            self.rules = Some((task, edition, rules));
        }
        let (_, _, rules) = self.rules.as_ref().context("there are no rules")?;
        Ok(rules)
    }
}

/// Findings about the metadata beside a run: that it is a manual run, or that they belong to another run. With `all`, also the fields that TIRA
/// requires in tasks with metadata.
fn findings_of_metadata(run: &Path, bytes: &[u8], all: bool) -> Vec<Finding> {
    let file = disk::parent(run).join(metadata::FILE);
    if is_stdin(run) || !file.is_file() {
        return Vec::new();
    }
    let found = |severity, what: String, hint: &str| Finding {
        line: None,
        severity,
        rule: Rule::Metadata,
        what,
        hint: hint.to_owned(),
    };
    let name = metadata::FILE;
    let read = read_regular(&file, MAX_RUN_BYTES).map(decode);
    let described = match read.and_then(|text| Described::parse(&text)) {
        Ok(described) => described,
        Err(error) => {
            let what = format!("{name} cannot be read: {error:#}");
            return vec![found(Severity::Tira, what, "")];
        }
    };
    let (tag, missing) = (described.tag, described.missing);
    let mut findings = Vec::new();
    if described.is_manual {
        let what = "a manual run".to_owned();
        let hint = format!("{name} says so: description or narrative was searched for");
        findings.push(found(Severity::Note, what, &hint));
    }
    let (lines, _) = run::read_texts(&String::from_utf8_lossy(bytes));
    if lines.iter().all(|line| line.tag != tag) && !tag.is_empty() {
        let what = format!("{name} describes another run, with the tag {tag}");
        let hint = "write the run and the file again, or delete the file";
        findings.push(found(Severity::Warning, what, hint));
    }
    if all && !missing.is_empty() {
        let what = format!("{name} lacks {}", missing.join(", "));
        let hint =
            "TIRA requires them in tasks with metadata; a configuration can give them (--config)";
        findings.push(found(Severity::Note, what, hint));
    }
    findings
}

/// The ids that runs can have; `None` if those of the edition are expected.
fn expected_ids(settings: &VerificationSettings, task: Task) -> Result<Option<HashSet<DocId>>> {
    let ids = match (&settings.input, &settings.ids) {
        (Some(dir), _) => match task {
            Task::Images => {
                let collection = ImageCollection::open(dir)?;
                collection.entries.iter().map(|e| e.id.clone()).collect()
            }
            Task::Texts(task) => document_ids(task, dir)?,
        },
        (None, Some(file)) => {
            let text = decode(read_bytes(file, MAX_RUN_BYTES)?);
            let listed = text.split_whitespace();
            listed.map(|id| DocId(id.to_owned())).collect()
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(ids))
}
