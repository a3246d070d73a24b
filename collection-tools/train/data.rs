//! Reads the development data to learn from.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::MultiGzDecoder;
use riposte::topic::question;
use riposte::trec::qrels::{self, Qrels};
use riposte::trec::{DocId, ObjectStance, TopicId};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// A text judged for a topic.
pub struct Judged<T> {
    pub topic: TopicId,
    pub text: String,
    pub judgement: T,
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// The passages of a `passages.jsonl.gz` by id.
pub fn passages(path: &Path) -> Result<HashMap<String, String>> {
    #[derive(Deserialize)]
    struct Passage {
        id: String,
        contents: String,
    }
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let mut passages = HashMap::new();
    for line in BufReader::new(MultiGzDecoder::new(file)).lines() {
        let line = line.with_context(|| format!("reading {}", path.display()))?;
        let passage: Passage = serde_json::from_str(&line)
            .with_context(|| format!("reading a passage of {}", path.display()))?;
        passages.insert(passage.id, passage.contents);
    }
    Ok(passages)
}

/// The texts of an `args-me.json` by id, premises joined.
pub fn arguments(path: &Path) -> Result<HashMap<String, String>> {
    #[derive(Deserialize)]
    struct Corpus {
        arguments: Vec<Argument>,
    }
    #[derive(Deserialize)]
    struct Argument {
        id: String,
        premises: Vec<Premise>,
    }
    #[derive(Deserialize)]
    struct Premise {
        text: String,
    }
    let corpus: Corpus = serde_json::from_str(&read(path)?)
        .with_context(|| format!("reading the arguments of {}", path.display()))?;
    let text = |argument: Argument| {
        let premises: Vec<String> = argument.premises.into_iter().map(|p| p.text).collect();
        (argument.id, premises.join(" "))
    };
    Ok(corpus.arguments.into_iter().map(text).collect())
}

/// In the order of topics and ids.
fn judged<T: Copy>(
    judgements: BTreeMap<TopicId, HashMap<DocId, T>>,
    texts: &HashMap<String, String>,
) -> Result<Vec<Judged<T>>> {
    let mut judged = Vec::new();
    for (topic, documents) in judgements {
        let documents: BTreeMap<DocId, T> = documents.into_iter().collect();
        for (id, judgement) in documents {
            let text = texts
                .get(&id.0)
                .with_context(|| format!("{id} is judged and not there"))?;
            judged.push(Judged {
                topic: topic.clone(),
                text: text.clone(),
                judgement,
            });
        }
    }
    ensure!(!judged.is_empty(), "nothing is judged");
    Ok(judged)
}

/// Judged grades.
pub fn grades(path: &Path, texts: &HashMap<String, String>) -> Result<Vec<Judged<f64>>> {
    match qrels::read(&read(path)?) {
        (Qrels::Graded(grades), errors) if errors.is_empty() => judged(grades, texts),
        _ => bail!("{} does not hold grades alone", path.display()),
    }
}

/// Judged stances.
pub fn stances(path: &Path, texts: &HashMap<String, String>) -> Result<Vec<Judged<ObjectStance>>> {
    match qrels::read(&read(path)?) {
        (Qrels::Stances(stances), errors) if errors.is_empty() => judged(stances, texts),
        _ => bail!("{} does not hold stances alone", path.display()),
    }
}

/// A sentence of CompSent-19 and which of two objects it says is better.
pub struct Comparison {
    pub objects: [String; 2],
    pub sentence: String,
    /// None: it does not compare them.
    pub first_is_better: Option<bool>,
}

/// The sentences of a CompSent-19 file: `"A [SEP] B [SEP] sentence",label`; 2: A is better, 1: B is, 0: no comparison.
pub fn comparisons(path: &Path) -> Result<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    for record in records(&read(path)?).into_iter().skip(1) {
        let [text, label] = record.as_slice() else {
            bail!("{}: a record of {} fields", path.display(), record.len());
        };
        let parts: Vec<&str> = text.splitn(3, " [SEP] ").collect();
        let ([first, second, sentence], Some(first_is_better)) = (
            parts.as_slice(),
            match label.as_str() {
                "2" => Some(Some(true)),
                "1" => Some(Some(false)),
                "0" => Some(None),
                _ => None,
            },
        ) else {
            bail!("{}: a record that is none of CompSent-19", path.display());
        };
        comparisons.push(Comparison {
            objects: [(*first).to_owned(), (*second).to_owned()],
            sentence: (*sentence).to_owned(),
            first_is_better,
        });
    }
    Ok(comparisons)
}

/// A text that supports or attacks a claim.
#[derive(Clone, Debug)]
pub struct Stanced {
    pub claim: String,
    pub text: String,
    pub supports: bool,
    /// What belongs together: texts of one group are about the same claim or topic.
    pub group: String,
}

/// A labelled collection: what is learned from, and what is kept apart to choose by and to report.
pub struct StanceSet {
    pub name: &'static str,
    pub learned: Vec<Stanced>,
    pub dev: Vec<Stanced>,
}

/// Claims for and against which the tweets of ImageArg are read: the subject's own name, and statements of either side.
pub const TWEETS: [(&str, [(&str, bool); 5]); 2] = [
    (
        "abortion",
        [
            ("Abortion should be legal", true),
            ("Abortion", true),
            ("We should legalize abortion", true),
            ("Abortion should be banned", false),
            ("Abortion is wrong", false),
        ],
    ),
    (
        "gun_control",
        [
            ("There should be more gun control", true),
            ("Gun control", true),
            ("Gun laws should be stricter", true),
            ("Gun control should be abandoned", false),
            ("People should be free to own guns", false),
        ],
    ),
];

/// The five collections in a fixed order. A collection without a development part of its own gives a fifth of its
/// topics to it, by the hash of the topic.
pub fn stance_sets(dir: &Path) -> Result<Vec<StanceSet>> {
    let stance = dir.join("stance");
    let split = |name, all: Vec<Stanced>| {
        let (dev, learned) = all.into_iter().partition(|row| left_out(&row.group));
        StanceSet { name, learned, dev }
    };
    let parts = |name, read: &dyn Fn(&str) -> Result<Vec<Stanced>>| -> Result<StanceSet> {
        Ok(StanceSet {
            name,
            learned: read("train")?,
            dev: read("dev")?,
        })
    };
    Ok(vec![
        parts("Perspectrum", &|part| {
            perspectives(&stance.join(format!("perspectrum-{part}.jsonl")))
        })?,
        split(
            "IBM claims",
            ibm_claims(&stance.join("ibm-claim-stance-train.csv"))?,
        ),
        parts("ArgKP", &|part| {
            let mut rows = key_points(
                &stance.join(format!("argkp-arguments-{part}.csv")),
                "argument",
            )?;
            rows.extend(key_points(
                &stance.join(format!("argkp-key_points-{part}.csv")),
                "key_point",
            )?);
            Ok(rows)
        })?,
        split("debates", debates(&dir.join("args/args-me.json"))?),
        parts("tweets", &|part| {
            let mut rows = Vec::new();
            for (subject, claims) in TWEETS {
                let path = dir.join(format!("imagearg/text-{subject}-{part}.csv"));
                rows.extend(tweets(&path, subject, claims[0].0)?);
            }
            Ok(rows)
        })?,
    ])
}

/// Whether a group is one of the fifth that is kept apart: the sum of its SHA-256's bytes, which is the number's
/// remainder, divides by five.
fn left_out(group: &str) -> bool {
    let digest = Sha256::digest(group.as_bytes());
    digest.iter().map(|b| u32::from(*b)).sum::<u32>() % 5 == 0
}

fn perspectives(path: &Path) -> Result<Vec<Stanced>> {
    #[derive(Deserialize)]
    struct Line {
        claim: String,
        perspective: String,
        stance: String,
    }
    let text = read(path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let line: Line = serde_json::from_str(line)
                .with_context(|| format!("reading a perspective of {}", path.display()))?;
            Ok(Stanced {
                group: line.claim.clone(),
                claim: line.claim,
                text: line.perspective,
                supports: line.stance == "SUPPORT",
            })
        })
        .collect()
}

/// The named columns of a file of comma-separated values with a head, record by record.
fn columns<const N: usize>(path: &Path, names: [&str; N]) -> Result<Vec<[String; N]>> {
    let mut records = records(&read(path)?).into_iter();
    let head = records.next().unwrap_or_default();
    let places = names.map(|name| head.iter().position(|column| column == name));
    records
        .map(|record| {
            let mut fields = [const { String::new() }; N];
            for (field, place) in fields.iter_mut().zip(places) {
                let value = place.and_then(|at| record.get(at)).with_context(|| {
                    format!("{} lacks one of the columns {names:?}", path.display())
                })?;
                field.clone_from(value);
            }
            Ok(fields)
        })
        .collect()
}

fn ibm_claims(path: &Path) -> Result<Vec<Stanced>> {
    let names = [
        "topicText",
        "claims.claimCorrectedText",
        "claims.stance",
        "topicId",
    ];
    let rows = columns(path, names)?.into_iter();
    Ok(rows
        .map(|[topic, text, stance, group]| Stanced {
            claim: question::claims(&topic).0,
            text,
            supports: stance == "PRO",
            group,
        })
        .collect())
}

fn key_points(path: &Path, text: &str) -> Result<Vec<Stanced>> {
    let rows = columns(path, ["topic", text, "stance"])?.into_iter();
    Ok(rows
        .map(|[topic, text, stance]| Stanced {
            claim: question::claims(&topic).0,
            text,
            supports: stance == "1",
            group: topic,
        })
        .collect())
}

/// Premises and the conclusions that they are for or against.
fn debates(path: &Path) -> Result<Vec<Stanced>> {
    #[derive(Deserialize)]
    struct Corpus {
        arguments: Vec<Argument>,
    }
    #[derive(Deserialize)]
    struct Argument {
        #[serde(default)]
        conclusion: String,
        premises: Vec<Premise>,
    }
    #[derive(Deserialize)]
    struct Premise {
        text: String,
        stance: String,
    }
    let corpus: Corpus = serde_json::from_str(&read(path)?)
        .with_context(|| format!("reading the arguments of {}", path.display()))?;
    let mut rows = Vec::new();
    for argument in corpus.arguments {
        let conclusion = argument.conclusion.trim();
        if conclusion.is_empty() {
            continue;
        }
        for premise in argument.premises {
            rows.push(Stanced {
                claim: question::claims(conclusion).0,
                text: premise.text,
                supports: premise.stance == "PRO",
                group: conclusion.to_lowercase(),
            });
        }
    }
    Ok(rows)
}

fn tweets(path: &Path, subject: &str, claim: &str) -> Result<Vec<Stanced>> {
    let rows = columns(path, ["tweet_text", "stance"])?.into_iter();
    Ok(rows
        .map(|[text, stance]| Stanced {
            claim: claim.to_owned(),
            text: without_links(&text),
            supports: stance == "support",
            group: subject.to_owned(),
        })
        .collect())
}

/// A tweet's words without its links.
pub fn without_links(text: &str) -> String {
    let words = text.split_whitespace();
    let words = words.filter(|w| !w.starts_with("http://") && !w.starts_with("https://"));
    words.collect::<Vec<_>>().join(" ")
}

/// The records of comma-separated values (RFC 4180): fields in quotes may hold commas, line breaks and doubled quotes.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(
            records("sentence,label\r\n\"A \"\"b\"\", c\nd\",2\nplain,0"),
            [
                ["sentence", "label"],
                ["A \"b\", c\nd", "2"],
                ["plain", "0"]
            ]
        );
    }
}
