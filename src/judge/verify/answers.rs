//! Image runs of 2024 and 2025, in JSON lines.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Finding, Findings, Rule, Severity};
use crate::trec::run::{TextRunLine, read_answer};
use crate::trec::{DocId, TopicId};

/// For each topic of 2025, the number of its last argument. The ids of the first topic's arguments are "1-1" to "1-5", and so on.
const ARGUMENTS: [u32; 27] = [
    5, 4, 7, 5, 2, 4, 7, 3, 4, 4, 4, 2, 4, 3, 6, 4, 7, 4, 4, 5, 7, 5, 8, 7, 8, 2, 6,
];

/// The only topic of 2025 whose arguments do not begin with 1: it has only argument 4.
const ONE_ARGUMENT: u32 = 9;

const KEYS: &str =
    r#"{"argument_id": "1-1", "method": "retrieval", "image_id": "I…", "rank": 1, "tag": "…"}"#;

/// The rules for a run of 2024 or 2025.
#[derive(Clone, Debug)]
pub struct AnswerRules {
    /// The last rank that counts.
    depth: u32,
    /// Whether each rank up to `depth` must be given.
    is_full: bool,
    arguments: Option<BTreeSet<TopicId>>,
    images: Option<HashSet<DocId>>,
}

impl Default for AnswerRules {
    /// The rules of 2025, for any arguments.
    fn default() -> Self {
        AnswerRules {
            arguments: None,
            ..AnswerRules::of_2025()
        }
    }
}

impl AnswerRules {
    /// The rules of 2025: five images for each of its 128 arguments.
    pub fn of_2025() -> AnswerRules {
        let ids = (1..).zip(ARGUMENTS).flat_map(|(topic, last)| {
            let first = if topic == ONE_ARGUMENT { last } else { 1 };
            (first..=last).map(move |number| TopicId(format!("{topic}-{number}")))
        });
        AnswerRules {
            depth: 5,
            is_full: true,
            arguments: Some(ids.collect()),
            images: None,
        }
    }

    /// The rules of 2024: up to ten images for each argument.
    pub fn of_2024() -> AnswerRules {
        AnswerRules {
            depth: 10,
            is_full: false,
            arguments: None,
            images: None,
        }
    }

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

/// Checks a run of 2024 or 2025, with `{"argument_id","method":"retrieval","image_id","rank","tag"}` on each line.
///
/// Errors are what the organisers' validator of 2025 rejects: missing keys, another method, a missing argument, an argument without each of the
/// ranks 1 to 5, an unknown image, an image twice for an argument. Warnings are what it overlooks: other ranks, a rank given twice, several
/// tags. TIRA also refuses a line without a tag, and a run of one line.
pub fn verify_answers(run: &[u8], rules: &AnswerRules) -> Vec<Finding> {
    let mut findings = Findings::default();
    let text = findings.decode(run);
    let mut lines = Vec::new();
    for (number, line) in Findings::lines(&text) {
        findings.line = number;
        match read_answer(line) {
            Ok(read) => lines.push((number, read)),
            Err(error) => {
                findings.error(Rule::Fields, format!("{error:#}"), KEYS);
                continue;
            }
        }
        let keys: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        if keys.get("method").is_none() {
            findings.error(Rule::Fields, "no method".to_owned(), KEYS);
        }
        if keys.get("tag").is_none() {
            let what = "no tag".to_owned();
            findings.add(number, Severity::Tira, Rule::Fields, what, KEYS);
        }
    }
    if lines.len() == 1 {
        let hint = "fewer than 2 are taken for a mistake";
        findings.add_for_run(Severity::Tira, Rule::ShortList, "1 line".to_owned(), hint);
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
        if !(1..=rules.depth).contains(&rank) {
            let hint = format!("only the ranks 1 to {} are evaluated", rules.depth);
            findings.warning(Rule::Depth, format!("rank {rank}"), &hint);
        } else if !ranks.insert(rank) {
            let what = format!("rank {rank} for argument {argument} again");
            let hint = "evaluators may read either of them first";
            findings.warning(Rule::Rank, what, hint);
        }
    }
    // a list that may be shorter must still have no gap
    let last = if rules.is_full {
        rules.depth
    } else {
        ranks.last().copied().unwrap_or(1)
    };
    let missing: Vec<String> = (1..=last)
        .filter(|rank| !ranks.contains(rank))
        .map(|rank| rank.to_string())
        .collect();
    if !missing.is_empty() {
        let what = format!("argument {argument}: no rank {}", missing.join(", "));
        findings.add_for_run(
            Severity::Error,
            Rule::Gap,
            what,
            if rules.is_full {
                "each of the ranks 1 to 5 must be given"
            } else {
                "ranks begin with 1 and leave no gap"
            },
        );
    }
}
