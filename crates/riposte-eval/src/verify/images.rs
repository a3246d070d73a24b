//! Image runs with lists for and against each topic.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Rule, Rules, RunVerdict, Severity};
use crate::run::ImageRunLine;
use crate::{DocId, Stance, TopicId};

/// Checks an image run (`topic PRO|CON imageId rank score tag`).
///
/// Errors are the rules of the organisers' verifiers, in their order: six fields; a topic of the edition; `PRO` or `CON`; a known image; a rank from
/// 1 to the length of a list, higher than all ranks before in its list; a score that matches `^-?[0-9]+\.?[0-9]*$` and is not higher than the one
/// before; one tag. As in the scripts, only the first error of a line is reported. Warnings are what the scripts overlook.
pub(super) fn verify(run: &[u8], rules: &Rules) -> RunVerdict {
    let mut findings = Findings::default();
    let text = findings.decode(run);
    let mut check = ImageCheck {
        rules,
        findings,
        tag: None,
        lists: BTreeMap::new(),
        accepted: Vec::new(),
    };
    for (number, line) in Findings::lines(&text) {
        check.findings.line = number;
        if let Some(accepted) = check.read(line) {
            check.accepted.push(accepted);
        }
    }
    check.finish()
}

/// The lines of a topic and stance that have been read.
#[derive(Default)]
struct List<'a> {
    images: BTreeSet<&'a str>,
    rank: u32,
    last: Option<(f64, &'a str)>,
}

impl<'a> List<'a> {
    /// Adds the next image. Checks its rank, and whether it is new in the list. Returns the rank.
    fn add(
        &mut self,
        findings: &mut Findings,
        rank: &str,
        image: &'a str,
        length: u32,
    ) -> Option<u32> {
        let Some(number) = rank_of(rank).filter(|rank| (1..=length).contains(rank)) else {
            let hint = format!("a number from 1 to {length}");
            findings.error(Rule::Rank, format!("rank {rank:?}"), &hint);
            return None;
        };
        if number <= self.rank {
            let what = format!("rank {number} after rank {}", self.rank);
            findings.error(Rule::Rank, what, "ranks increase in a list");
            return None;
        }
        if number != self.rank + 1 {
            let what = format!("rank {number} where rank {} would follow", self.rank + 1);
            let hint = "evaluators that count lines see other ranks";
            findings.warning(Rule::Gap, what, hint);
        }
        self.rank = number;
        if !self.images.insert(image) {
            let what = format!("image {image} is already in this list");
            let hint = "a repeated image counts each time; list each image once";
            findings.warning(Rule::Repeated, what, hint);
        }
        Some(number)
    }

    /// Checks the score of the image that was added last. Returns the score.
    fn score(&mut self, findings: &mut Findings, score: &str, image: &'a str) -> Option<f64> {
        // for the scripts, a number of very many digits is a valid score; it is infinite here
        let value = score.parse::<f64>().ok();
        let Some(value) = value.filter(|_| is_fixed_point(score)) else {
            let hint = "digits with at most one point, no exponent";
            findings.error(Rule::Score, format!("score {score:?}"), hint);
            return None;
        };
        findings.minus_zero(score, value);
        if let Some(before) = self.last {
            if value > before.0 {
                let what = format!("score {score} after score {}", before.0);
                findings.error(Rule::Score, what, "scores do not increase in a list");
                return None;
            }
            findings.tie(findings.line, before, (value, image));
        }
        self.last = Some((value, image));
        Some(value)
    }
}

struct ImageCheck<'a> {
    rules: &'a Rules,
    findings: Findings,
    tag: Option<&'a str>,
    /// The PRO list and the CON list of each topic.
    lists: BTreeMap<TopicId, [List<'a>; 2]>,
    accepted: Vec<ImageRunLine>,
}

impl<'a> ImageCheck<'a> {
    /// Checks a line; returns it if the organisers' scripts accept it.
    fn read(&mut self, line: &'a str) -> Option<ImageRunLine> {
        let ImageCheck {
            rules, findings, ..
        } = self;
        let [topic, stance, image, rank, score, tag] =
            findings.six_fields(line, "topic PRO|CON imageId rank score tag")?;
        let topic = TopicId(topic.to_owned());
        if !findings.topic(&topic, rules) {
            return None;
        }
        let Ok(stance) = stance.parse::<Stance>() else {
            let what = format!("no stance {stance:?}");
            findings.error(Rule::Stance, what, "PRO or CON, in capitals");
            return None;
        };
        let doc = DocId(image.to_owned());
        if !rules.allows_document(&doc) {
            let what = format!("no image {image:?} in the collection");
            findings.error(Rule::Document, what, "");
            return None;
        }
        if rules.documents.is_none() && !looks_like_an_image(image, rules.digits) {
            let digits: Vec<String> = rules.digits.iter().map(usize::to_string).collect();
            let digits = digits.join(" or ");
            let hint = format!("an I and {digits} lower-case hexadecimal digits");
            findings.error(Rule::Document, format!("no image id: {image:?}"), &hint);
            return None;
        }
        let list = &mut self.lists.entry(topic.clone()).or_default()[stance as usize];
        let rank = list.add(findings, rank, image, rules.length)?;
        let score = list.score(findings, score, image)?;
        findings.tag(&mut self.tag, tag);
        Some(ImageRunLine {
            topic,
            stance,
            image: doc,
            rank,
            score: Some(score),
            tag: tag.to_owned(),
        })
    }

    fn finish(mut self) -> RunVerdict {
        if self.findings.line == 0 {
            let what = "the run is empty";
            self.findings
                .add(None, Severity::Error, Rule::Empty, what, "");
        } else {
            self.check_lists();
            self.check_both_lists();
        }
        RunVerdict {
            findings: self.findings.list,
            accepted: self.accepted,
            refused_by_tira: false,
        }
    }

    /// Reports missing and short lists.
    fn check_lists(&mut self) {
        let (findings, length) = (&mut self.findings, self.rules.length as usize);
        let (mut missing, mut one_sided, mut short) = (Vec::new(), Vec::new(), 0);
        for topic in self.rules.topics.iter().flatten() {
            let lists = self.lists.get(topic);
            let [pro, con] = [0, 1].map(|at| lists.map_or(0, |lists| lists[at].images.len()));
            match (pro, con) {
                (0, 0) => missing.push(topic.to_string()),
                (0, _) => one_sided.push(format!("{topic} PRO")),
                (_, 0) => one_sided.push(format!("{topic} CON")),
                _ => {}
            }
            let is_short = |n: &&usize| (1..length).contains(*n);
            short += [pro, con].iter().filter(is_short).count();
        }
        let hint = "the official P@10 leaves them out, other measures count them as zero";
        findings.missing_topics(&missing, hint);
        let hint = "a missing result counts as off topic";
        if !one_sided.is_empty() {
            let what = format!("no list for {}", one_sided.join(", "));
            findings.add(None, Severity::Warning, Rule::OneSided, what, hint);
        }
        if short > 0 {
            let what = format!("{short} lists with fewer than {length} images");
            findings.add(None, Severity::Note, Rule::ShortList, what, hint);
        }
    }

    /// Reports images that are in both lists of a topic.
    fn check_both_lists(&mut self) {
        let (mut both, mut of_topics) = (0, 0);
        for [pro, con] in self.lists.values() {
            let shared = pro.images.intersection(&con.images).count();
            both += shared;
            of_topics += usize::from(shared > 0);
        }
        if both > 0 {
            let what = format!("{both} images are in both lists of a topic, in {of_topics} topics");
            let (severity, hint) = (Severity::Note, "allowed: an image may be both");
            self.findings
                .add(None, severity, Rule::BothLists, what, hint);
        }
    }
}

/// A rank of the form `^[1-9][0-9]*$`.
fn rank_of(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    digits.then(|| text.parse().ok()).flatten()
}

/// Whether a score matches the organisers' pattern, `^-?[0-9]+\.?[0-9]*$`.
fn is_fixed_point(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    !whole.is_empty() && digits(whole) && digits(fraction)
}

/// Whether an id is "I" followed by lower-case hexadecimal digits. Their number must be one of `digits`.
fn looks_like_an_image(id: &str, digits: &[usize]) -> bool {
    id.strip_prefix('I').is_some_and(|hash| {
        digits.contains(&hash.len()) && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}
