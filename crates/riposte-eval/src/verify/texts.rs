//! Runs of Tasks 1 and 2, and of any other collection.

use std::collections::{BTreeMap, HashMap};

use super::{Finding, Findings, Rule, Rules, Severity};
use crate::{DocId, TopicId};

/// Checks a text run (`topic Q0|stance doc rank score tag`). The findings are in the order of lines; those about the whole run come
/// last.
///
/// The organisers have not published a verifier for these tasks. Errors are what the task's page demands: six fields, a topic of the edition, a known
/// document (if documents are given), a permitted second column, a whole number as rank (the first 0 or 1), a number as score, at most 1,000
/// documents per topic, one tag. Warnings are what evaluators interpret differently.
///
/// `stances` are the words that the second column can contain instead of Q0. `asked` is the hint for any other word.
pub(super) fn verify(run: &[u8], rules: &Rules, stances: &[&str], asked: &str) -> Vec<Finding> {
    let mut findings = Findings::default();
    let text = findings.decode(run);
    let length = rules.length as usize;
    let mut tag = None;
    let mut lists: BTreeMap<TopicId, Vec<ResultLine>> = BTreeMap::new();
    for (number, line) in Findings::lines(&text) {
        findings.line = number;
        // the CR has already been reported
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = without_quoted_tag(&mut findings, line);
        let hint = "topic Q0 document rank score tag";
        let Some(fields) = findings.six_fields(line, hint) else {
            continue;
        };
        let [topic, second, ..] = fields;
        let topic = TopicId(topic.to_owned());
        if !findings.topic(&topic, rules) {
            continue;
        }
        if second != "Q0" && !stances.contains(&second) {
            let what = format!("{second:?} in the second column");
            findings.error(Rule::Stance, what, asked);
        }
        if let Some(result) = read(&mut findings, rules, fields, &mut tag) {
            let what = format!("document {} of topic {topic}", length + 1);
            let list = lists.entry(topic).or_default();
            list.push(result);
            if list.len() == length + 1 {
                let most = with_comma(length);
                if rules.is_length_a_rule {
                    let hint = format!("at most {most} documents per topic");
                    findings.error(Rule::Depth, what, &hint);
                } else {
                    let hint = format!("runs usually have at most {most}");
                    findings.add(findings.line, Severity::Note, Rule::Depth, what, &hint);
                }
            }
        }
    }
    if findings.line == 0 {
        findings.add(None, Severity::Error, Rule::Empty, "the run is empty", "");
        return findings.list;
    }
    for (topic, list) in &lists {
        check_results(&mut findings, topic, list);
    }
    let topics = rules.topics.iter().flatten();
    let missing = topics.filter(|topic| !lists.contains_key(*topic));
    let missing: Vec<String> = missing.map(TopicId::to_string).collect();
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

/// Checks the document, the rank, the score and the tag of a line.
fn read<'a>(
    findings: &mut Findings,
    rules: &Rules,
    [_, _, doc, rank, score, tag]: [&'a str; 6],
    first_tag: &mut Option<&'a str>,
) -> Option<ResultLine<'a>> {
    if !rules.allows_document(&DocId(doc.to_owned())) {
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
    Some(ResultLine {
        line: findings.line,
        doc,
        rank,
        score,
    })
}

/// A number below a million, with a comma before the last three digits.
fn with_comma(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
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

/// Checks the results of one topic: their documents, and the order of their lines.
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
    check_ranks(findings, topic, list);
}

/// Checks that the ranks of a topic follow each other, and agree with the scores.
fn check_ranks(findings: &mut Findings, topic: &TopicId, list: &[ResultLine]) {
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
