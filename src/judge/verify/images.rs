//! Image runs of 2022 and 2023.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Finding, Findings, Rule, Severity};
use crate::judge::{Edition, prototext};
use crate::trec::run::ImageRunLine;
use crate::trec::{DocId, Stance, TopicId};

/// The maximum number of results for a topic and stance.
const DEPTH: u32 = 10;

/// The rules for an image run.
#[derive(Clone, Debug)]
pub struct ImageRules {
    topics: BTreeSet<TopicId>,
    images: Option<HashSet<DocId>>,
    id_digits: &'static [usize],
}

impl ImageRules {
    /// The topics of that year, and any image whose id has the right form.
    pub fn edition(edition: Edition) -> ImageRules {
        let (topics, id_digits): (_, &[usize]) = match edition {
            Edition::Touche2022 => (1..=50, &[16]),
            // the evaluator requires 24 digits, but ids in the published sample have 16
            Edition::Touche2023 => (51..=100, &[16, 24]),
        };
        ImageRules {
            topics: topics.map(|n: u32| TopicId(n.to_string())).collect(),
            images: None,
            id_digits,
        }
    }

    /// What the organisers' evaluator of that year accepts: like [`Self::edition`], but in 2023 no ids of 16 digits.
    pub fn evaluator(edition: Edition) -> ImageRules {
        let mut rules = ImageRules::edition(edition);
        if edition == Edition::Touche2023 {
            rules.id_digits = &[24];
        }
        rules
    }

    /// Replaces the topics.
    pub fn with_topics(mut self, topics: impl IntoIterator<Item = TopicId>) -> ImageRules {
        self.topics = topics.into_iter().collect();
        self
    }

    /// Results must be among these images.
    pub fn with_images(mut self, images: impl IntoIterator<Item = DocId>) -> ImageRules {
        self.images = Some(images.into_iter().collect());
        self
    }
}

/// The result of checking an image run.
#[derive(Clone, Debug)]
pub struct ImageVerdict {
    /// In the order of lines. Findings about the whole run come last.
    pub findings: Vec<Finding>,
    /// The lines that the organisers' scripts accept, in order: those without an error, and those whose only error is another
    /// tag.
    pub accepted: Vec<ImageRunLine>,
}

impl ImageVerdict {
    /// The measures of the accepted lines, in the format of the organisers' verifier (`evaluation.prototext`).
    pub fn prototext(&self) -> String {
        let mut documents: HashMap<&TopicId, u32> = HashMap::new();
        for line in &self.accepted {
            *documents.entry(&line.topic).or_default() += 1;
        }
        // the script's minimum starts at 20, the number of places of a topic
        let fewest = documents.values().copied().min().map_or(0, |n| n.min(20));
        let most = documents.values().copied().max().unwrap_or(0);
        let mean = self.accepted.len() as f64 / documents.len().max(1) as f64;
        prototext(&[
            ("topicsRetrieved", documents.len().to_string()),
            ("minimumDocumentsPerTopic", fewest.to_string()),
            ("maximumDocumentsPerTopic", most.to_string()),
            ("averageDocumentsPerTopic", format!("{mean:.2}")),
        ])
    }
}

/// Checks an image run (`topic PRO|CON imageId rank score tag`).
///
/// Errors are the rules of the organisers' verifiers for Touché 2022 and 2023, Task 3, in their order: six fields; a topic of the
/// edition; `PRO` or `CON`; a known image; a rank from 1 to 10, higher than all ranks before in its list; a score that matches
/// `^-?[0-9]+\.?[0-9]*$` and is not higher than the one before; one tag. As in the scripts, only the first error of a line is
/// reported. Warnings are what the scripts overlook.
pub fn verify_images(run: &[u8], rules: &ImageRules) -> ImageVerdict {
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

struct ImageCheck<'a> {
    rules: &'a ImageRules,
    findings: Findings,
    tag: Option<&'a str>,
    lists: BTreeMap<(TopicId, Stance), List<'a>>,
    accepted: Vec<ImageRunLine>,
}

impl<'a> ImageCheck<'a> {
    /// Checks a line; returns it if the organisers' scripts accept it.
    fn read(&mut self, line: &'a str) -> Option<ImageRunLine> {
        let ImageCheck {
            rules,
            findings,
            tag: first_tag,
            lists,
            ..
        } = self;
        let [topic, stance, image, rank, score, tag] =
            findings.six_fields(line, "topic PRO|CON imageId rank score tag")?;
        let topic = TopicId(topic.to_owned());
        if !rules.topics.contains(&topic) {
            findings.unknown_topic(&topic.0, &rules.topics);
            return None;
        }
        let Some(stance) = Stance::BOTH.into_iter().find(|s| s.word() == stance) else {
            let what = format!("no stance {stance:?}");
            findings.error(Rule::Stance, what, "PRO or CON, in capitals");
            return None;
        };
        let doc = DocId(image.to_owned());
        match &rules.images {
            Some(images) if !images.contains(&doc) => {
                let what = format!("no image {image:?} in the collection");
                findings.error(Rule::Document, what, "");
                return None;
            }
            None if !looks_like_an_image(image, rules.id_digits) => {
                let digits: Vec<String> = rules.id_digits.iter().map(usize::to_string).collect();
                let digits = digits.join(" or ");
                let hint = format!("an I and {digits} lower-case hexadecimal digits");
                let what = format!("no image id: {image:?}");
                findings.error(Rule::Document, what, &hint);
                return None;
            }
            _ => {}
        }
        let Some(number) = rank_of(rank) else {
            let what = format!("rank {rank:?}");
            findings.error(Rule::Rank, what, "a number from 1 to 10");
            return None;
        };
        let list = lists.entry((topic.clone(), stance)).or_default();
        if number <= list.rank {
            let what = format!("rank {number} after rank {}", list.rank);
            findings.error(Rule::Rank, what, "ranks increase in a list");
            return None;
        }
        if number != list.rank + 1 {
            let what = format!("rank {number} where rank {} would follow", list.rank + 1);
            let hint = "evaluators that count lines see other ranks";
            findings.warning(Rule::Gap, what, hint);
        }
        list.rank = number;
        if !list.images.insert(image) {
            let what = format!("image {image} is already in this list");
            let hint = "a repeated image counts each time; list each image once";
            findings.warning(Rule::Repeated, what, hint);
        }
        // for the scripts, a number of very many digits is a valid score; it is infinite here
        let Some(value) = is_fixed_point(score)
            .then(|| score.parse::<f64>().ok())
            .flatten()
        else {
            let what = format!("score {score:?}");
            let hint = "digits with at most one point, no exponent";
            findings.error(Rule::Score, what, hint);
            return None;
        };
        findings.minus_zero(score, value);
        if let Some(before) = list.last {
            if value > before.0 {
                let what = format!("score {score} after score {}", before.0);
                findings.error(Rule::Score, what, "scores do not increase in a list");
                return None;
            }
            findings.tie(findings.line, before, (value, image));
        }
        list.last = Some((value, image));
        findings.tag(first_tag, tag);
        Some(ImageRunLine {
            topic,
            stance,
            image: doc,
            rank: number,
            score: value,
            tag: tag.to_owned(),
        })
    }

    fn finish(mut self) -> ImageVerdict {
        let findings = &mut self.findings;
        if findings.line == 0 {
            let what = "the run is empty".to_owned();
            findings.add_for_run(Severity::Error, Rule::Empty, what, "");
            return ImageVerdict {
                findings: self.findings.list,
                accepted: Vec::new(),
            };
        }
        let lists = &self.lists;
        let size = |topic: &TopicId, stance| {
            let list = lists.get(&(topic.clone(), stance));
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
            let is_short = |n: &&usize| (1..DEPTH as usize).contains(*n);
            short += [pro, con].iter().filter(is_short).count();
        }
        let hint = "the official P@10 leaves them out, other measures count them as zero";
        findings.missing_topics(&missing, hint);
        let hint = "a missing result counts as off topic";
        if !one_sided.is_empty() {
            let what = format!("no list for {}", one_sided.join(", "));
            findings.add_for_run(Severity::Warning, Rule::OneSided, what, hint);
        }
        if short > 0 {
            let what = format!("{short} lists with fewer than {DEPTH} images");
            findings.add_for_run(Severity::Note, Rule::ShortList, what, hint);
        }
        let (mut both, mut of_topics) = (0, 0);
        for ((topic, stance), pro) in lists {
            let con = lists.get(&(topic.clone(), Stance::Con));
            if let (Stance::Pro, Some(con)) = (stance, con) {
                let shared = pro.images.intersection(&con.images).count();
                both += shared;
                of_topics += usize::from(shared > 0);
            }
        }
        if both > 0 {
            let what = format!("{both} images are in both lists of a topic, in {of_topics} topics");
            let hint = "allowed: an image may be both";
            findings.add_for_run(Severity::Note, Rule::BothLists, what, hint);
        }
        ImageVerdict {
            findings: self.findings.list,
            accepted: self.accepted,
        }
    }
}

/// A rank of the form `^[1-9][0-9]*$` that is at most 10.
fn rank_of(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    let rank = digits.then(|| text.parse().ok()).flatten()?;
    (1..=DEPTH).contains(&rank).then_some(rank)
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
