//! Runs of Tasks 1 and 2, and of any other collection.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Finding, Findings, Rule, Severity};
use crate::trec::{DocId, ObjectStance, TextTask, TopicId};

/// The maximum number of results for a topic.
const DEPTH: usize = 1000;

/// The topics of Task 2 in 2022: half of the hundred topics of 2020 and 2021.
const COMPARATIVE_2022: [u32; 50] = [
    2, 3, 8, 9, 12, 14, 17, 18, 19, 22, 23, 25, 26, 27, 28, 30, 33, 34, 36, 37, 42, 43, 48, 51, 53,
    54, 55, 56, 58, 59, 60, 61, 62, 67, 68, 69, 70, 72, 74, 76, 77, 78, 84, 86, 88, 91, 92, 93, 95,
    100,
];

/// The rules for a text run.
#[derive(Clone, Debug)]
pub struct TextRules {
    task: TextTask,
    year: u32,
    /// `None` allows any topic.
    topics: Option<BTreeSet<TopicId>>,
    docs: Option<HashSet<DocId>>,
}

impl TextRules {
    /// The topics of a year from 2020 to 2022, and any document. [`TextTask::Rank`] has no editions: any topic is allowed, too.
    pub fn edition(task: TextTask, year: u32) -> TextRules {
        let topics: Vec<u32> = match (task, year) {
            (TextTask::Rank, _) => {
                return TextRules {
                    task,
                    year,
                    topics: None,
                    docs: None,
                };
            }
            // 2020 has no topic 25
            (TextTask::Controversial, 2020) => (1..=50).filter(|n| *n != 25).collect(),
            (TextTask::Comparative, 2020) => (1..=50).collect(),
            (_, 2021) => (51..=100).collect(),
            (TextTask::Comparative, _) => COMPARATIVE_2022.to_vec(),
            // the fifty topics of 2022 are taken from both earlier years; only the topics file says which
            (TextTask::Controversial, _) => (1..=100).collect(),
        };
        TextRules {
            task,
            year,
            topics: Some(topics.iter().map(|n| TopicId(n.to_string())).collect()),
            docs: None,
        }
    }

    /// Replaces the topics.
    pub fn with_topics(mut self, topics: impl IntoIterator<Item = TopicId>) -> TextRules {
        self.topics = Some(topics.into_iter().collect());
        self
    }

    /// Results must be among these documents.
    pub fn with_docs(mut self, docs: impl IntoIterator<Item = DocId>) -> TextRules {
        self.docs = Some(docs.into_iter().collect());
        self
    }

    /// Checks the second column. The error is a hint at what is allowed.
    fn second_column(&self, word: &str) -> Result<(), &'static str> {
        let (allowed, hint) = match (self.task, self.year) {
            (TextTask::Comparative, 2022..) => (
                ObjectStance::ALL.iter().any(|s| s.word() == word),
                "FIRST, SECOND, NEUTRAL or NO, in capitals, or Q0",
            ),
            (TextTask::Controversial, 2022..) => (matches!(word, "PRO" | "CON"), "PRO, CON or Q0"),
            _ => (false, "Q0"),
        };
        if allowed || word == "Q0" {
            Ok(())
        } else {
            Err(hint)
        }
    }
}

/// Checks a text run (`topic Q0|stance doc rank score tag`). The findings are in the order of lines; those about the whole run come
/// last.
///
/// The organisers have not published a verifier for these tasks. Errors are what the task's page demands: six fields, a topic of the edition, a known
/// document (if documents are given), a permitted second column, a whole number as rank (the first 0 or 1), a number as score, at most 1,000
/// documents per topic, one tag. Warnings are what evaluators interpret differently.
pub fn verify_texts(run: &[u8], rules: &TextRules) -> Vec<Finding> {
    let mut findings = Findings::default();
    let text = findings.decode(run);
    let mut tag = None;
    let mut lists: HashMap<&str, Vec<ResultLine>> = HashMap::new();
    for (number, line) in Findings::lines(&text) {
        findings.line = number;
        if let Some((topic, result)) = read(&mut findings, rules, line, &mut tag) {
            let list = lists.entry(topic).or_default();
            list.push(result);
            if list.len() == DEPTH + 1 {
                let what = format!("document {} of topic {topic}", list.len());
                findings.error(Rule::Depth, what, "at most 1,000 documents per topic");
            }
        }
    }
    if findings.line == 0 {
        let what = "the run is empty".to_owned();
        findings.add_for_run(Severity::Error, Rule::Empty, what, "");
        return findings.list;
    }
    let by_topic: BTreeMap<TopicId, &Vec<ResultLine>> = lists
        .iter()
        .map(|(topic, list)| (TopicId((*topic).to_owned()), list))
        .collect();
    for (topic, list) in &by_topic {
        check_results(&mut findings, topic, list);
    }
    let is_missing = |topic: &&TopicId| !by_topic.contains_key(*topic);
    let missing: Vec<String> = rules
        .topics
        .iter()
        .flatten()
        .filter(is_missing)
        .map(TopicId::to_string)
        .collect();
    let hint = "the organisers' nDCG leaves them out, trec_eval -c counts them as zero";
    findings.missing_topics(&missing, hint);
    findings.list.sort_by_key(|f| f.line.unwrap_or(u64::MAX));
    findings.list
}

/// A line of a topic's results.
struct ResultLine<'a> {
    line: u64,
    doc: &'a str,
    rank: u32,
    score: f64,
}

fn read<'a>(
    findings: &mut Findings,
    rules: &TextRules,
    line: &'a str,
    first_tag: &mut Option<&'a str>,
) -> Option<(&'a str, ResultLine<'a>)> {
    // the CR has already been reported
    let line = line.strip_suffix('\r').unwrap_or(line);
    let line = without_quoted_tag(findings, line);
    let [topic, second, doc, rank, score, tag] =
        findings.six_fields(line, "topic Q0 document rank score tag")?;
    if let Some(topics) = &rules.topics
        && !topics.contains(&TopicId(topic.to_owned()))
    {
        findings.unknown_topic(topic, topics);
        return None;
    }
    if let Err(hint) = rules.second_column(second) {
        let what = format!("{second:?} in the second column");
        findings.error(Rule::Stance, what, hint);
    }
    if let Some(docs) = &rules.docs
        && !docs.contains(&DocId(doc.to_owned()))
    {
        let what = format!("no document {doc:?} in the collection");
        findings.error(Rule::Document, what, "");
    }
    findings.tag(first_tag, tag);
    let digits = rank.bytes().all(|b| b.is_ascii_digit());
    let Some(rank) = digits.then(|| rank.parse().ok()).flatten() else {
        let hint = "a whole number, the first of a topic 1 (or 0)";
        findings.error(Rule::Rank, format!("rank {rank:?}"), hint);
        return None;
    };
    let score = match score.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            findings.minus_zero(score, value);
            value
        }
        _ => {
            findings.error(Rule::Score, format!("score {score:?}"), "a number");
            return None;
        }
    };
    let line = findings.line;
    Some((
        topic,
        ResultLine {
            line,
            doc,
            rank,
            score,
        },
    ))
}

/// Reports a quoted tag with blanks, and returns the line with only the first word of the tag, so that its other fields are checked,
/// too.
fn without_quoted_tag<'a>(findings: &mut Findings, line: &'a str) -> &'a str {
    let is_blank = [' ', '\t'];
    let Some((front, tag)) = line.split_once('"') else {
        return line;
    };
    let quoted = front.ends_with(is_blank) && tag.ends_with('"') && tag.contains(is_blank);
    let fields = front.split(is_blank).filter(|field| !field.is_empty());
    if !quoted || fields.count() != 5 {
        return line;
    }
    let what = format!("the tag \"{tag} has blanks");
    let hint = "trec_eval and ir_measures split it; a tag is one word";
    findings.error(Rule::Tag, what, hint);
    let first_word = tag.find(is_blank).unwrap_or(tag.len());
    &line[..line.len() - tag.len() + first_word]
}

/// Checks the results of one topic.
fn check_results(findings: &mut Findings, topic: &TopicId, list: &[ResultLine]) {
    let mut seen = HashMap::new();
    for result in list {
        findings.line = result.line;
        if let Some(first) = seen.insert(result.doc, result.line) {
            let what = format!(
                "document {} of topic {topic} is already on line {first}",
                result.doc
            );
            let hint = "trec_eval refuses such a run; list each document once";
            findings.warning(Rule::Repeated, what, hint);
        }
    }
    for pair in list.windows(2) {
        if let [before, this] = pair
            && this.rank < before.rank
        {
            findings.line = this.line;
            let what = format!("rank {} below rank {}", this.rank, before.rank);
            let hint = "evaluators that count lines see other ranks; sort each topic by rank";
            findings.warning(Rule::Order, what, hint);
        }
    }
    let mut by_rank: Vec<&ResultLine> = list.iter().collect();
    by_rank.sort_by_key(|result| result.rank);
    if let Some(first) = by_rank.first()
        && first.rank > 1
    {
        findings.line = first.line;
        let what = format!("topic {topic} begins with rank {}", first.rank);
        findings.warning(Rule::Gap, what, "ranks begin with 1 (or 0)");
    }
    for pair in by_rank.windows(2) {
        let [before, this] = pair else { continue };
        findings.line = this.line;
        if this.rank == before.rank {
            let what = format!("rank {} again, as on line {}", this.rank, before.line);
            let hint = "the organisers' nDCG uses ranks; give each one once";
            findings.warning(Rule::Rank, what, hint);
        } else if this.rank - before.rank > 1 {
            let what = format!(
                "rank {} where rank {} would follow",
                this.rank,
                before.rank + 1
            );
            let hint = "evaluators that count lines see other ranks";
            findings.warning(Rule::Gap, what, hint);
        }
        if this.score > before.score {
            let what = format!(
                "score {} at rank {}, above {} at rank {}",
                this.score, this.rank, before.score, before.rank
            );
            let hint = "the organisers' nDCG uses ranks, trec_eval uses scores";
            findings.warning(Rule::Order, what, hint);
        } else {
            let line = this.line;
            findings.tie(line, (before.score, before.doc), (this.score, this.doc));
        }
    }
}
