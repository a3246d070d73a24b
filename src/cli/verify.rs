//! `verify`: checks runs against the rules of a task.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::args::{Task, VerifyArgs};
use super::files::{MAX_RUN_BYTES, check_distinct, check_writable, decode, read_run, read_topics};
use super::print;
use crate::collection::images::ImageCollection;
use crate::collection::read_bytes;
use crate::judge::Edition;
use crate::judge::verify::{
    AnswerRules, Finding, ImageRules, Severity, TextRules, is_valid, refused_by_tira,
    verify_answers, verify_images, verify_texts,
};
use crate::task::text_indexes::document_ids;
use crate::trec::{DocId, TextTask, TopicId, escaped};

/// Number of findings of each kind that are printed without `--verbose`.
const PRINTED: usize = 5;

/// `riposte verify`. The exit code is 0 if every run is valid, otherwise 1.
pub fn verify(args: &VerifyArgs) -> Result<u8> {
    let Expected {
        topics,
        ids,
        has_faults,
    } = Expected::read(args)?;
    let rules = Rules::of(args, topics, ids)?;
    if args.prototext.is_some() {
        ensure!(
            matches!(rules, Rules::Images(_)) && args.runs.len() == 1,
            "--prototext needs a single image run of 2022 or 2023"
        );
    }
    if let Some(file) = &args.prototext {
        check_writable(file)?;
        let mut inputs: Vec<&Path> = args.runs.iter().map(PathBuf::as_path).collect();
        inputs.extend(
            [&args.topics, &args.ids]
                .into_iter()
                .flatten()
                .map(PathBuf::as_path),
        );
        check_distinct(&[("--prototext", file)], &inputs)?;
    }
    let mut all_valid = true;
    for run in &args.runs {
        let (path, bytes) = read_run(run)?;
        let mut findings = match &rules {
            Rules::Images(rules) => {
                let verdict = verify_images(&bytes, rules);
                if let Some(file) = &args.prototext {
                    std::fs::write(file, verdict.prototext())
                        .with_context(|| format!("cannot write {}", file.display()))?;
                }
                verdict.findings
            }
            Rules::Texts(rules) => verify_texts(&bytes, rules),
            Rules::Answers(rules) => verify_answers(&bytes, rules),
        };
        if !matches!(rules, Rules::Answers(_)) {
            let errors = findings.iter().filter(|f| f.severity == Severity::Error);
            let wrong: HashSet<u64> = errors.filter_map(|f| f.line).collect();
            // a line that breaks the task's rules is not named again
            let refused = refused_by_tira(&bytes).into_iter();
            findings.extend(refused.filter(|f| f.line.is_none_or(|line| !wrong.contains(&line))));
        }
        all_valid &= is_valid(&findings);
        print_findings(&path, &findings, args.verbose)?;
    }
    Ok(u8::from(!all_valid || has_faults))
}

fn print_findings(path: &Path, findings: &[Finding], all: bool) -> Result<()> {
    let path = path.to_string_lossy();
    let path = escaped(&path);
    let mut seen = BTreeMap::new();
    for finding in findings {
        let count = seen.entry((finding.severity, finding.rule)).or_insert(0);
        *count += 1;
        if all || *count <= PRINTED {
            let finding = finding.to_string();
            print(&format_args!("{path}: {}\n", escaped(&finding)))?;
        }
    }
    let more: usize = seen
        .values()
        .map(|n: &usize| n.saturating_sub(PRINTED))
        .sum();
    if more > 0 && !all {
        print(&format_args!(
            "{path}: {more} more of these kinds (--verbose prints them)\n"
        ))?;
    }
    let tira = findings.iter().any(|f| f.severity == Severity::Tira);
    let verdict = match (is_valid(findings), tira) {
        (false, _) => "NOT valid",
        (true, true) => "valid by the rules of the task, but TIRA refuses it",
        (true, false) => "valid",
    };
    print(&format_args!("{path}: {verdict}\n"))
}

/// The rules that runs must follow.
enum Rules {
    Images(ImageRules),
    Texts(TextRules),
    Answers(AnswerRules),
}

impl Rules {
    fn of(
        args: &VerifyArgs,
        topics: Option<Vec<TopicId>>,
        ids: Option<HashSet<DocId>>,
    ) -> Result<Rules> {
        Ok(match (args.task, args.edition) {
            (Task::Images, 2022 | 2023) => {
                let mut rules = ImageRules::edition(if args.edition == 2023 {
                    Edition::Touche2023
                } else {
                    Edition::Touche2022
                });
                if let Some(topics) = topics {
                    rules = rules.with_topics(topics);
                }
                if let Some(ids) = ids {
                    rules = rules.with_images(ids);
                }
                Rules::Images(rules)
            }
            (Task::Images, 2025) => {
                let mut rules = AnswerRules::default();
                if let Some(topics) = topics {
                    rules = rules.with_arguments(topics);
                }
                if let Some(ids) = ids {
                    rules = rules.with_images(ids);
                }
                Rules::Answers(rules)
            }
            (Task::Controversial | Task::Comparative, year @ 2020..=2022) => {
                let task = if args.task == Task::Comparative {
                    TextTask::Comparative
                } else {
                    TextTask::Controversial
                };
                let mut rules = TextRules::edition(task, year);
                if let Some(topics) = topics {
                    rules = rules.with_topics(topics);
                }
                if let Some(ids) = ids {
                    rules = rules.with_docs(ids);
                }
                Rules::Texts(rules)
            }
            (Task::Images, year) => {
                bail!("there was no image task in {year}, but in 2022, 2023 and 2025")
            }
            (_, year) => bail!("there were text tasks in 2020, 2021 and 2022, not in {year}"),
        })
    }
}

/// What `--topics`, `--ids` and `--input` name; `None` leaves what the edition expects.
struct Expected {
    topics: Option<Vec<TopicId>>,
    ids: Option<HashSet<DocId>>,
    /// Whether something in the topics is broken.
    has_faults: bool,
}

impl Expected {
    fn read(args: &VerifyArgs) -> Result<Self> {
        let mut topics = None;
        let mut file = args.topics.clone();
        let of_collection = args.input.as_ref().map(|dir| dir.join("topics.xml"));
        if file.is_none() {
            file = of_collection.filter(|file| file.exists());
        }
        let mut has_faults = false;
        if let Some(file) = file {
            let read = read_topics(Some(&file), Path::new(""))?;
            has_faults = !read.faults.is_empty();
            topics = Some(read.topics.into_iter().map(|topic| topic.id).collect());
        }
        let mut ids = None;
        if let Some(file) = &args.ids {
            let text = decode(read_bytes(file, MAX_RUN_BYTES)?);
            let listed = text.split_whitespace().map(|id| DocId(id.to_owned()));
            ids = Some(listed.collect());
        }
        if let Some(dir) = &args.input {
            ids = Some(collection_ids(args.task, dir)?);
        }
        Ok(Expected {
            topics,
            ids,
            has_faults,
        })
    }
}

fn collection_ids(task: Task, dir: &Path) -> Result<HashSet<DocId>> {
    match task {
        Task::Images => {
            let collection = ImageCollection::open(dir)?;
            Ok(collection.entries().iter().map(|e| e.id.clone()).collect())
        }
        Task::Controversial => document_ids(TextTask::Controversial, dir),
        Task::Comparative => document_ids(TextTask::Comparative, dir),
    }
}
