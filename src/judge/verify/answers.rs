//! Image runs of 2025, in JSON lines.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Finding, Findings, Rule, Severity};
use crate::trec::run::{TextRunLine, read_answer};
use crate::trec::{DocId, TopicId};

/// The ranks that the results of each argument must have.
const RANKS: std::ops::RangeInclusive<u32> = 1..=5;

const KEYS: &str =
    r#"{"argument_id": "1-1", "method": "retrieval", "image_id": "I…", "rank": 1, "tag": "…"}"#;

/// The rules for a run of 2025.
#[derive(Clone, Debug, Default)]
pub struct AnswerRules {
    arguments: Option<BTreeSet<TopicId>>,
    images: Option<HashSet<DocId>>,
}

impl AnswerRules {
    /// The run must have results for each of these arguments and for no others.
    pub fn with_arguments(mut self, arguments: impl IntoIterator<Item = TopicId>) -> AnswerRules {
        self.arguments = Some(arguments.into_iter().collect());
        self
    }

    /// Results must be among these images.
    pub fn with_images(mut self, images: impl IntoIterator<Item = DocId>) -> AnswerRules {
        self.images = Some(images.into_iter().collect());
        self
    }
}

/// Checks a run of 2025, with `{"argument_id","method":"retrieval","image_id","rank","tag"}` on each line.
///
/// Errors are what the organisers' validator rejects: missing keys, another method, a missing argument, an argument without each of the
/// ranks 1 to 5, an unknown image, an image twice for an argument. Warnings are what it overlooks: other ranks, a rank given twice,
/// several tags.
pub fn verify_answers(run: &[u8], rules: &AnswerRules) -> Vec<Finding> {
    let mut findings = Findings::default();
    let text = findings.decode(run);
    let mut lines = Vec::new();
    for (number, line) in Findings::lines(&text) {
        findings.line = number;
        match read_answer(line) {
            Ok(read) => lines.push((number, read)),
            Err(error) => findings.error(Rule::Fields, format!("{error:#}"), KEYS),
        }
    }
    if lines.is_empty() {
        let what = "the run has no result".to_owned();
        findings.add_for_run(Severity::Error, Rule::Empty, what, "");
        return findings.list;
    }
    let mut arguments: BTreeMap<&TopicId, Vec<(u64, &TextRunLine)>> = BTreeMap::new();
    for (number, line) in &lines {
        let results = arguments.entry(&line.topic).or_default();
        results.push((*number, line));
    }
    for (argument, results) in &arguments {
        check_results(&mut findings, rules, argument, results);
    }
    if let Some(known) = &rules.arguments {
        let is_missing = |id: &&TopicId| !arguments.contains_key(*id);
        let missing: Vec<String> = known
            .iter()
            .filter(is_missing)
            .map(TopicId::to_string)
            .collect();
        if !missing.is_empty() {
            let what = format!(
                "nothing for {} arguments: {}",
                missing.len(),
                missing.join(", ")
            );
            let hint = "a run must have results for all of them";
            findings.add_for_run(Severity::Error, Rule::MissingTopics, what, hint);
        }
    }
    let tags: BTreeSet<&str> = lines.iter().map(|(_, line)| line.tag.as_str()).collect();
    if tags.len() > 1 {
        let tags: Vec<&str> = tags.into_iter().collect();
        let what = format!("{} tags: {}", tags.len(), tags.join(", "));
        findings.add_for_run(Severity::Warning, Rule::Tag, what, "a run has one tag");
    }
    findings.list.sort_by_key(|f| f.line.unwrap_or(u64::MAX));
    findings.list
}

/// Checks the results of one argument.
fn check_results(
    findings: &mut Findings,
    rules: &AnswerRules,
    argument: &TopicId,
    results: &[(u64, &TextRunLine)],
) {
    let (mut ranks, mut images) = (BTreeSet::new(), HashSet::new());
    for (line, result) in results {
        findings.line = *line;
        let (image, rank) = (&result.doc, result.rank);
        if let Some(known) = &rules.arguments
            && !known.contains(argument)
        {
            findings.error(Rule::Topic, format!("no argument {:?}", argument.0), "");
        }
        if let Some(known) = &rules.images
            && !known.contains(image)
        {
            let what = format!("no image {:?} in the collection", image.0);
            findings.error(Rule::Document, what, "");
        }
        if !images.insert(image) {
            let what = format!("image {image} for argument {argument} again");
            findings.error(Rule::Repeated, what, "list each image once");
        }
        if !RANKS.contains(&rank) {
            let hint = "only the first five are evaluated";
            findings.warning(Rule::Depth, format!("rank {rank}"), hint);
        } else if !ranks.insert(rank) {
            let what = format!("rank {rank} for argument {argument} again");
            let hint = "evaluators may read either of them first";
            findings.warning(Rule::Rank, what, hint);
        }
    }
    let missing: Vec<String> = RANKS
        .filter(|rank| !ranks.contains(rank))
        .map(|rank| rank.to_string())
        .collect();
    if !missing.is_empty() {
        let what = format!("argument {argument}: no rank {}", missing.join(", "));
        findings.add_for_run(
            Severity::Error,
            Rule::Gap,
            what,
            "each of the ranks 1 to 5 must be given",
        );
    }
}
