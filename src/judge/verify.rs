//! Is a run valid? The organisers' rules, and what their scripts overlook.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Edition;
use crate::trec::{DocId, Stance, TopicId};

/// Results a topic and stance may have.
const DEPTH: u32 = 10;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing has to change.
    Note,
    /// The organisers' scripts let it pass, yet the run says something else than it should.
    Warning,
    /// The run breaks a rule.
    Error,
}

/// Something that was noticed in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Counted from 1; none where the run as a whole is meant.
    pub line: Option<u64>,
    pub severity: Severity,
    pub what: String,
    /// What would mend it.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        let severity = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}: {}", self.what)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

/// Whether nothing found breaks a rule.
pub fn is_valid(findings: &[Finding]) -> bool {
    findings.iter().all(|f| f.severity != Severity::Error)
}

/// What an image run is held against.
#[derive(Clone, Debug)]
pub struct ImageRules {
    topics: BTreeSet<TopicId>,
    images: Option<BTreeSet<DocId>>,
    id_digits: &'static [usize],
}

impl ImageRules {
    /// The topics of that year, and any image whose id looks like one.
    pub fn edition(edition: Edition) -> ImageRules {
        let (topics, id_digits): (_, &[usize]) = match edition {
            Edition::Touche2022 => (1..=50, &[16]),
            Edition::Touche2023 => (51..=100, &[16, 24]),
        };
        ImageRules {
            topics: topics.map(|n: u32| TopicId(n.to_string())).collect(),
            images: None,
            id_digits,
        }
    }

    /// These topics instead.
    pub fn with_topics(mut self, topics: impl IntoIterator<Item = TopicId>) -> ImageRules {
        self.topics = topics.into_iter().collect();
        self
    }

    /// Only images of this collection.
    pub fn with_images(mut self, images: impl IntoIterator<Item = DocId>) -> ImageRules {
        self.images = Some(images.into_iter().collect());
        self
    }
}

/// Holds an image run (`topic PRO|CON imageId rank score tag`) against the rules; in line order, with what
/// concerns the whole run at the end.
///
/// Errors are the rules of the organisers' verifier for Touché 2022 and 2023, Task 3: six fields; a topic of
/// the edition; `PRO` or `CON`; a known image; ranks 1 to 10, strictly increasing in a list; scores that
/// match `^-?[0-9]+\.?[0-9]*$`, not increasing in a list; one tag. Warnings are what it overlooks.
pub fn verify_images(run: &str, rules: &ImageRules) -> Vec<Finding> {
    let mut check = ImageCheck::new(rules);
    for (number, line) in (1..).zip(run.lines()) {
        check.line = number;
        check.read(line);
    }
    check.finish()
}

/// What the last line of a list said.
struct Last<'a> {
    rank: Option<u32>,
    score: Option<f64>,
    image: &'a str,
}

/// The list of one topic and stance so far.
#[derive(Default)]
struct List<'a> {
    images: BTreeSet<&'a str>,
    last: Option<Last<'a>>,
}

struct ImageCheck<'a> {
    rules: &'a ImageRules,
    line: u64,
    tag: Option<&'a str>,
    lists: BTreeMap<(TopicId, Stance), List<'a>>,
    findings: Vec<Finding>,
}

impl<'a> ImageCheck<'a> {
    fn new(rules: &'a ImageRules) -> Self {
        ImageCheck {
            rules,
            line: 0,
            tag: None,
            lists: BTreeMap::new(),
            findings: Vec::new(),
        }
    }

    fn find(&mut self, severity: Severity, what: String, hint: &str) {
        self.findings.push(Finding {
            line: Some(self.line),
            severity,
            what,
            hint: hint.to_owned(),
        });
    }

    fn error(&mut self, what: String, hint: &str) {
        self.find(Severity::Error, what, hint);
    }

    fn warning(&mut self, what: String, hint: &str) {
        self.find(Severity::Warning, what, hint);
    }

    fn read(&mut self, line: &'a str) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [topic, stance, image, rank, score, tag] = *fields.as_slice() else {
            let what = format!("{} fields, must be six", fields.len());
            return self.error(what, "topic PRO|CON imageId rank score tag");
        };
        if fields.join(" ") != line {
            let what = "fields not parted by one space each".to_owned();
            self.warning(what, "evaluators that split at single spaces see others");
        }
        let topic = self.topic(topic);
        let stance = self.stance(stance);
        self.image(image);
        let rank = self.rank(rank);
        let score = self.score(score);
        self.tag(tag);
        if let (Some(topic), Some(stance)) = (topic, stance) {
            let mut list = self
                .lists
                .remove(&(topic.clone(), stance))
                .unwrap_or_default();
            self.listed(&mut list, image, rank, score);
            self.lists.insert((topic, stance), list);
        }
    }

    fn topic(&mut self, topic: &str) -> Option<TopicId> {
        let topic = TopicId(topic.to_owned());
        if self.rules.topics.contains(&topic) {
            return Some(topic);
        }
        let hint = match (self.rules.topics.first(), self.rules.topics.last()) {
            (Some(first), Some(last)) => format!("the topics are {first} to {last}"),
            _ => "there are no topics".to_owned(),
        };
        self.error(format!("no topic {:?}", topic.0), &hint);
        None
    }

    fn stance(&mut self, stance: &str) -> Option<Stance> {
        let known = Stance::BOTH.into_iter().find(|s| s.word() == stance);
        if known.is_none() {
            self.error(format!("no stance {stance:?}"), "PRO or CON, in capitals");
        }
        known
    }

    fn image(&mut self, image: &str) {
        match &self.rules.images {
            Some(images) if !images.contains(&DocId(image.to_owned())) => {
                self.error(format!("no image {image:?} in the collection"), "");
            }
            None if !looks_like_an_image(image, self.rules.id_digits) => {
                let digits: Vec<String> =
                    self.rules.id_digits.iter().map(usize::to_string).collect();
                let hint = format!(
                    "an I and {} lower-case hexadecimal digits",
                    digits.join(" or ")
                );
                self.error(format!("no image id: {image:?}"), &hint);
            }
            _ => {}
        }
    }

    fn rank(&mut self, rank: &str) -> Option<u32> {
        let number = rank
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| rank.parse().ok())
            .flatten()
            .filter(|n| (1..=DEPTH).contains(n));
        if number.is_none() {
            self.error(format!("rank {rank:?}"), "a number from 1 to 10");
        }
        number
    }

    fn score(&mut self, score: &str) -> Option<f64> {
        let number = is_fixed_point(score)
            .then(|| score.parse().ok())
            .flatten()
            .filter(|n: &f64| n.is_finite());
        if number.is_none() {
            let hint = "digits with at most one point, no exponent";
            self.error(format!("score {score:?}"), hint);
        }
        number
    }

    fn tag(&mut self, tag: &'a str) {
        let first = *self.tag.get_or_insert(tag);
        if first != tag {
            let what = format!("tag {tag:?}, but {first:?} before");
            self.error(what, "a run has one tag");
        }
    }

    /// Holds a line against those before it in its list.
    fn listed(
        &mut self,
        list: &mut List<'a>,
        image: &'a str,
        rank: Option<u32>,
        score: Option<f64>,
    ) {
        if !list.images.insert(image) {
            let what = format!("image {image} stands in this list already");
            self.warning(what, "a repeated image counts as often as it stands there");
        }
        let before = list.last.as_ref();
        let (rank_before, score_before) = (
            before
                .and_then(|l| l.rank)
                .or(before.is_none().then_some(0)),
            before.and_then(|l| l.score),
        );
        match (rank_before, rank) {
            (Some(before), Some(rank)) if rank <= before => {
                let what = format!("rank {rank} after rank {before}");
                self.error(what, "ranks increase in a list");
            }
            (Some(before), Some(rank)) if rank != before + 1 => {
                let what = format!("rank {rank} where rank {} would follow", before + 1);
                self.warning(what, "evaluators that count lines see other ranks");
            }
            _ => {}
        }
        if let (Some(before), Some(score)) = (score_before, score) {
            let others = list.last.as_ref().map_or("", |l| l.image);
            // trec_eval takes the greater id first where scores are equal, whatever the ranks say.
            let order = if others < image {
                "trec_eval, which ignores ranks, puts it before the line above"
            } else {
                "trec_eval keeps this order by the document ids alone"
            };
            if score > before {
                let what = format!("score {score} after score {before}");
                self.error(what, "scores do not increase in a list");
            } else if score == before {
                self.warning(format!("score {score} twice in a row"), order);
            } else if score as f32 == before as f32 {
                let what = format!("scores {before} and {score} are the same 32-bit number");
                self.warning(what, order);
            }
        }
        list.last = Some(Last { rank, score, image });
    }

    fn finish(mut self) -> Vec<Finding> {
        let mut whole = |severity, what: String, hint: &str| {
            self.findings.push(Finding {
                line: None,
                severity,
                what,
                hint: hint.to_owned(),
            });
        };
        if self.line == 0 {
            whole(Severity::Error, "the run is empty".to_owned(), "");
            return self.findings;
        }
        let size = |topic: &TopicId, stance| {
            let list = self.lists.get(&(topic.clone(), stance));
            list.map_or(0, |list| list.images.len())
        };
        let (mut missing, mut one_sided, mut short) = (Vec::new(), Vec::new(), 0);
        for topic in &self.rules.topics {
            let [pro, con] = Stance::BOTH.map(|stance| size(topic, stance));
            match (pro, con) {
                (0, 0) => missing.push(topic.to_string()),
                (0, _) => one_sided.push(format!("{topic} PRO")),
                (_, 0) => one_sided.push(format!("{topic} CON")),
                _ => {}
            }
            short += [pro, con]
                .iter()
                .filter(|n| (1..DEPTH as usize).contains(n))
                .count();
        }
        if !missing.is_empty() {
            let what = format!(
                "nothing for {} topics: {}",
                missing.len(),
                missing.join(", ")
            );
            let hint = "the official P@10 leaves them out, others count them as zero";
            whole(Severity::Warning, what, hint);
        }
        if !one_sided.is_empty() {
            let what = format!("no list for {}", one_sided.join(", "));
            whole(
                Severity::Warning,
                what,
                "an empty place counts as off topic",
            );
        }
        if short > 0 {
            let what = format!("{short} lists with fewer than {DEPTH} images");
            whole(Severity::Note, what, "an empty place counts as off topic");
        }
        let (mut both, mut of_topics) = (0, 0);
        for ((topic, stance), pro) in &self.lists {
            let con = self.lists.get(&(topic.clone(), Stance::Con));
            if let (Stance::Pro, Some(con)) = (stance, con) {
                let shared = pro.images.intersection(&con.images).count();
                both += shared;
                of_topics += usize::from(shared > 0);
            }
        }
        if both > 0 {
            let what =
                format!("{both} images stand in both lists of a topic, in {of_topics} topics");
            whole(Severity::Note, what, "allowed: an image may be both");
        }
        self.findings
    }
}

/// `^-?[0-9]+\.?[0-9]*$`, the organisers' pattern of a score.
fn is_fixed_point(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    !whole.is_empty() && digits(whole) && digits(fraction)
}

fn looks_like_an_image(id: &str, digits: &[usize]) -> bool {
    id.strip_prefix('I').is_some_and(|hash| {
        digits.contains(&hash.len()) && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}
