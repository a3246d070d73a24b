//! Texts about targets: comments of VAST (Allaway and McKeown 2020) and tweets of SemEval-2016, task 6A. A target is a bare subject, such as "home
//! schooling" or a person, or a claim; a text is for it, against it, or neither.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;
use riposte::reading::stance_encoder::StanceClass;
use riposte_claims::claims;
use seeded_random::Random;
use serde::Deserialize;

use crate::data::{is_dev_group, without_links};

/// A text and its stance towards a target.
#[derive(Clone, Debug)]
pub struct TargetExample {
    pub target: String,
    pub text: String,
    pub class: StanceClass,
}

impl TargetExample {
    /// The claim that riposte makes of the target.
    pub fn claim(&self) -> String {
        claims(&self.target).0
    }
}

/// A collection of texts about targets.
pub struct TargetSet {
    pub name: &'static str,
    pub all: Vec<TargetExample>,
}

/// A collection, divided for measuring: no text of one part is in the other, and for VAST no target either.
pub struct Divided {
    pub training: Vec<TargetExample>,
    pub dev: Vec<TargetExample>,
}

/// The two collections, in a fixed order.
pub fn target_sets(dir: &Path) -> Result<Vec<TargetSet>> {
    Ok(vec![
        TargetSet {
            name: "VAST",
            all: read(&dir.join("stance/vast-dev.jsonl.gz"))?,
        },
        TargetSet {
            name: "SemEval",
            all: read(&dir.join("stance/semeval2016-train.jsonl.gz"))?,
        },
    ])
}

fn read(path: &Path) -> Result<Vec<TargetExample>> {
    #[derive(Deserialize)]
    struct Line {
        topic: String,
        text: String,
        stance: String,
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut rows = Vec::new();
    for (line, number) in BufReader::new(MultiGzDecoder::new(file)).lines().zip(1..) {
        let place = || format!("{}, line {number}", path.display());
        let line: Line = serde_json::from_str(&line.with_context(place)?).with_context(place)?;
        rows.push(TargetExample {
            class: match line.stance.as_str() {
                "PRO" => StanceClass::Pro,
                "CON" => StanceClass::Con,
                "NEITHER" => StanceClass::Neither,
                other => bail!("{} has the stance {other:?}", place()),
            },
            target: line.topic,
            text: without_links(&line.text.replace("#SemST", "")),
        });
    }
    Ok(rows)
}

impl TargetSet {
    /// Divides the collection: a fifth or so of VAST's targets, with all their comments, or a fifth of SemEval's tweets, is for measuring. VAST has
    /// several targets for a comment, so other rows of these comments are left out altogether.
    pub fn divided(&self) -> Divided {
        let by_target = self.name == "VAST";
        let is_dev =
            |row: &&TargetExample| is_dev_group(if by_target { &row.target } else { &row.text });
        let dev: Vec<TargetExample> = self.all.iter().filter(is_dev).cloned().collect();
        let measured: HashSet<&str> = dev.iter().map(|row| row.text.as_str()).collect();
        let training = self
            .all
            .iter()
            .filter(|row| !is_dev(row) && !measured.contains(row.text.as_str()))
            .cloned()
            .collect();
        Divided { training, dev }
    }
}

/// Ways to say that one is for a target, and that one is against it.
const FOR: [&str; 12] = [
    "{x}",
    "in favor of {x}",
    "{x} is good",
    "we should support {x}",
    "i support {x}",
    "we need {x}",
    "the benefits of {x} outweigh the harms",
    "pro {x}",
    "{x} deserves our support",
    "this house believes in {x}",
    "{x} does more good than harm",
    "{x} is right",
];
const AGAINST: [&str; 10] = [
    "against {x}",
    "{x} is bad",
    "we should oppose {x}",
    "i oppose {x}",
    "{x} does more harm than good",
    "the harms of {x} outweigh the benefits",
    "anti {x}",
    "{x} should be opposed",
    "we do not need {x}",
    "{x} is wrong",
];

/// Another claim about the target, and whether it says the same as the target.
pub fn other_claim(target: &str, random: &mut Random) -> (String, bool) {
    let (claim, counter) = claims(target);
    let is_subject = claim.to_lowercase() != target.to_lowercase();
    match random.below(10) {
        0 => (counter, false),
        1 => (claim, true),
        n if is_subject && n < 6 => (FOR[random.below(FOR.len())].replace("{x}", target), true),
        _ if is_subject => (
            AGAINST[random.below(AGAINST.len())].replace("{x}", target),
            false,
        ),
        n if n < 5 => (target.to_owned(), true),
        _ => {
            const DENIALS: [&str; 4] = [
                "it is not true that {x}",
                "it is a lie that {x}",
                "against: {x}",
                "{x}? no",
            ];
            (
                DENIALS[random.below(DENIALS.len())].replace("{x}", target),
                false,
            )
        }
    }
}

/// The targets of each text, so that an unrelated one can be found.
pub struct Targets<'a> {
    all: Vec<&'a str>,
    of_text: HashMap<&'a str, HashSet<&'a str>>,
}

impl<'a> Targets<'a> {
    pub fn of(rows: &'a [TargetExample]) -> Targets<'a> {
        let mut all: Vec<&str> = rows.iter().map(|row| row.target.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        let mut of_text: HashMap<&str, HashSet<&str>> = HashMap::new();
        for row in rows {
            of_text.entry(&row.text).or_default().insert(&row.target);
        }
        Targets { all, of_text }
    }

    /// A random target that is none of the text's, as VAST makes most of its texts that take no side. None for a collection whose few targets are
    /// related to each other.
    pub fn unrelated(&self, text: &str, random: &mut Random) -> Option<&'a str> {
        const FEW: usize = 10;
        if self.all.len() <= FEW {
            return None;
        }
        let target = self.all[random.below(self.all.len())];
        let own = self.of_text.get(text)?;
        let shares_a_word = own
            .iter()
            .any(|own| own.split(' ').any(|word| target.contains(word)));
        (!shares_a_word && !text.to_lowercase().contains(target)).then_some(target)
    }
}

/// Names that posts address, and hashtags that say nothing.
const NAMES: [&str; 8] = [
    "@user", "@nytimes", "@bbc", "@jane_d", "@john", "@cnn", "@news24", "@friend",
];
const TAGS: [&str; 24] = [
    "#news",
    "#debate",
    "#truth",
    "#love",
    "#win",
    "#fail",
    "#freedom",
    "#usa",
    "#life",
    "#monday",
    "#thoughts",
    "#2015",
    "#politics",
    "#fact",
    "#justsaying",
    "#bike",
    "#food",
    "#family",
    "#work",
    "#school",
    "#health",
    "#money",
    "#science",
    "#people",
];

/// The text as a post: with a name before it, or hashtags behind it, which do not change its stance. Some hashtags are words of the claim.
pub fn as_post(claim: &str, text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    if random.percent(40) {
        text = format!("{} {text}", NAMES[random.below(NAMES.len())]);
    }
    let words: Vec<&str> = claim
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| {
            word.len() >= 5 && !matches!(word.to_lowercase().as_str(), "should" | "would")
        })
        .collect();
    for _ in 0..1 + random.below(3) {
        if !words.is_empty() && random.percent(40) {
            text = format!(
                "{text} #{}",
                words[random.below(words.len())].to_lowercase()
            );
        } else {
            text = format!("{text} {}", TAGS[random.below(TAGS.len())]);
        }
    }
    text
}
