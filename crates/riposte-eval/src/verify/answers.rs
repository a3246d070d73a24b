//! Image runs for claims, in JSON lines.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Finding, Findings, Rule, Rules, Severity};
use crate::TopicId;
use crate::run::{AnswerLine, read_answer};

const KEYS: &str =
    r#"{"argument_id": "1-1", "method": "retrieval", "image_id": "I…", "rank": 1, "tag": "…"}"#;

/// Checks a run for claims, with `{"argument_id","method":"retrieval","image_id","rank","tag"}` on each line. If `is_full`, each list must have all
/// ranks up to its maximum length.
///
/// Errors are what the organisers' validator of 2025 rejects: missing keys, another method, a missing argument, an argument without each of the
/// ranks 1 to 5, an unknown image, an image twice for an argument. Warnings are what it overlooks: other ranks, a rank given twice, several
/// tags. TIRA also refuses a line without a tag, and a run of one line.
pub(super) fn verify(run: &[u8], rules: &Rules, is_full: bool) -> Vec<Finding> {
    let mut findings = Findings::default();
    let text = findings.decode(run);
    let mut lines = Vec::new();
    for (number, line) in Findings::lines(&text) {
        findings.line = number;
        match read_answer(line) {
            Ok(read) => lines.push((number, read)),
            Err(what) => {
                findings.error(Rule::Fields, what, KEYS);
                continue;
            }
        }
        let keys: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        if keys.get("method").is_none() {
            findings.error(Rule::Fields, "no method", KEYS);
        }
        if keys.get("tag").is_none() {
            findings.add(number, Severity::Tira, Rule::Fields, "no tag", KEYS);
        }
    }
    if lines.len() == 1 {
        let hint = "fewer than 2 are taken for a mistake";
        findings.add(None, Severity::Tira, Rule::ShortList, "1 line", hint);
    }
    if lines.is_empty() {
        let what = "the run has no result";
        findings.add(None, Severity::Error, Rule::Empty, what, "");
        return findings.list;
    }
    let mut arguments = Arguments::new();
    for (number, line) in &lines {
        let results = arguments.entry(&line.argument).or_default();
        results.push((*number, line));
    }
    for (argument, results) in &arguments {
        check_results(&mut findings, rules, argument, results);
        check_ranks(&mut findings, rules, is_full, argument, results);
    }
    check_missing(&mut findings, rules, &arguments);
    let tags: BTreeSet<&str> = lines.iter().map(|(_, line)| line.tag.as_str()).collect();
    if tags.len() > 1 {
        let tags: Vec<&str> = tags.into_iter().collect();
        let what = format!("{} tags: {}", tags.len(), tags.join(", "));
        findings.add(
            None,
            Severity::Warning,
            Rule::Tag,
            what,
            "a run has one tag",
        );
    }
    findings.list.sort_by_key(|f| f.line.unwrap_or(u64::MAX));
    findings.list
}

/// Whether all lines of a run are JSON objects.
pub(super) fn is_json(run: &[u8]) -> bool {
    let text = String::from_utf8_lossy(run);
    let is_object = |line| serde_json::from_str::<serde_json::Map<_, _>>(line).is_ok();
    Findings::lines(&text).all(|(_, line)| is_object(line))
}

type Arguments<'a> = BTreeMap<&'a TopicId, Vec<(u64, &'a AnswerLine)>>;

/// Reports the arguments without a result.
fn check_missing(findings: &mut Findings, rules: &Rules, arguments: &Arguments) {
    let known = rules.topics.iter().flatten();
    let missing: Vec<&str> = known
        .filter(|id| !arguments.contains_key(*id))
        .map(|id| id.0.as_str())
        .collect();
    if !missing.is_empty() {
        let (count, missing) = (missing.len(), missing.join(", "));
        let what = format!("nothing for {count} arguments: {missing}");
        let hint = "a run must have results for all of them";
        findings.add(None, Severity::Error, Rule::MissingTopics, what, hint);
    }
}

/// Checks the results of one argument, line by line.
fn check_results(
    findings: &mut Findings,
    rules: &Rules,
    argument: &TopicId,
    results: &[(u64, &AnswerLine)],
) {
    let (mut ranks, mut images) = (BTreeSet::new(), HashSet::new());
    for (line, result) in results {
        findings.line = *line;
        let (image, rank) = (&result.image, result.rank);
        if !rules.allows_topic(argument) {
            findings.error(Rule::Topic, format!("no argument {:?}", argument.0), "");
        }
        if !rules.allows_document(image) {
            let what = format!("no image {:?} in the collection", image.0);
            findings.error(Rule::Document, what, "");
        }
        if !images.insert(image) {
            let what = format!("image {image} for argument {argument} again");
            findings.error(Rule::Repeated, what, "list each image once");
        }
        if !(1..=rules.length).contains(&rank) {
            let hint = format!("only the ranks 1 to {} are evaluated", rules.length);
            findings.warning(Rule::Depth, format!("rank {rank}"), &hint);
        } else if !ranks.insert(rank) {
            let what = format!("rank {rank} for argument {argument} again");
            let hint = "evaluators may read either of them first";
            findings.warning(Rule::Rank, what, hint);
        }
    }
}

/// Reports the missing ranks of an argument. A list that may be shorter must still have no gap.
fn check_ranks(
    findings: &mut Findings,
    rules: &Rules,
    is_full: bool,
    argument: &TopicId,
    results: &[(u64, &AnswerLine)],
) {
    let ranks = results.iter().map(|(_, result)| result.rank);
    let ranks: BTreeSet<u32> = ranks
        .filter(|rank| (1..=rules.length).contains(rank))
        .collect();
    let (last, hint) = if is_full {
        let hint = format!("each of the ranks 1 to {} must be given", rules.length);
        (rules.length, hint)
    } else {
        let last = ranks.last().copied().unwrap_or(1);
        (last, "ranks begin with 1 and leave no gap".to_owned())
    };
    let missing = (1..=last).filter(|rank| !ranks.contains(rank));
    let missing: Vec<String> = missing.map(|rank| rank.to_string()).collect();
    if !missing.is_empty() {
        let what = format!("argument {argument}: no rank {}", missing.join(", "));
        findings.add(None, Severity::Error, Rule::Gap, what, &hint);
    }
}
