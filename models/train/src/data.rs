//! The development data: judged texts of the tasks, and labelled collections of stance.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::MultiGzDecoder;
use riposte::collection::read_topics;
use riposte::reading::stance_encoder::StanceClass;
use riposte_claims::claims;
use riposte_eval::qrels::{self, Qrels};
use riposte_eval::{DocId, ObjectStance, TopicId};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The judged texts of a text task.
pub struct JudgedTask {
    pub name: &'static str,
    /// The claim of each topic.
    pub claims: HashMap<TopicId, String>,
    /// All texts of the collection, by id.
    pub texts: HashMap<String, String>,
    /// In the order of topics and ids.
    pub judged: Vec<JudgedText<f64>>,
}

/// The development parts of Task 1 and Task 2, with the grades of `what`: "relevance" or "quality".
pub fn judged_tasks(dir: &Path, what: &str) -> Result<[JudgedTask; 2]> {
    let task = |name, place: &str, texts: HashMap<String, String>| -> Result<JudgedTask> {
        let place = dir.join(place);
        let topics = read_topics(&place.join("topics.xml"))?.into_iter();
        let judged = grades(&place.join(format!("{what}.qrels")), &texts)?;
        Ok(JudgedTask {
            name,
            claims: topics
                .map(|topic| (topic.id, claims(&topic.title).0))
                .collect(),
            texts,
            judged,
        })
    };
    let arguments = arguments(&dir.join("args/argquality20/args-me.json"))?;
    let passages = passages(&dir.join("passages/passages.jsonl.gz"))?;
    Ok([
        task("arguments", "args/argquality20", arguments)?,
        task("passages", "passages", passages)?,
    ])
}

impl JudgedTask {
    /// The claim of a topic that has judged texts.
    ///
    /// # Errors
    /// The topic is not among the task's topics.
    pub fn claim(&self, topic: &TopicId) -> Result<&str> {
        let claim = self.claims.get(topic);
        let claim = claim.with_context(|| format!("topic {topic} has no question"))?;
        Ok(claim.as_str())
    }
}

/// A text with its judgement for a topic.
pub struct JudgedText<T> {
    pub topic: TopicId,
    pub text: String,
    pub judgement: T,
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The arguments of an `argq30k-….csv.gz` (IBM-ArgQ-Rank-30k) with their stance, and their quality in [0, 1] by the weighted average of
/// the labels.
pub fn rated_arguments(path: &Path) -> Result<Vec<StanceExample>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut text = String::new();
    MultiGzDecoder::new(file)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let names = ["topic", "argument", "stance", "quality_wa"];
    let rows = columns_of(&text, path, names)?.into_iter();
    rows.map(|[topic, text, stance, quality]| {
        let quality = quality.parse();
        let quality = quality
            .with_context(|| format!("{} has a quality without a number", path.display()))?;
        Ok(StanceExample {
            claim: claims(&topic).0,
            text,
            supports: stance == "1",
            quality: Some(quality),
            group: topic,
        })
    })
    .collect()
}

/// The passages of a `passages.jsonl.gz`, by id.
pub fn passages(path: &Path) -> Result<HashMap<String, String>> {
    #[derive(Deserialize)]
    struct Passage {
        id: String,
        contents: String,
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut passages = HashMap::new();
    for line in BufReader::new(MultiGzDecoder::new(file)).lines() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        let passage: Passage = serde_json::from_str(&line)
            .with_context(|| format!("cannot read a passage in {}", path.display()))?;
        passages.insert(passage.id, passage.contents);
    }
    Ok(passages)
}

/// The texts of an `args-me.json`, by id; the premises of an argument are joined by spaces.
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
        .with_context(|| format!("cannot read the arguments in {}", path.display()))?;
    let text = |argument: Argument| {
        let premises: Vec<String> = argument.premises.into_iter().map(|p| p.text).collect();
        (argument.id, premises.join(" "))
    };
    Ok(corpus.arguments.into_iter().map(text).collect())
}

/// The judged texts in the order of topics and ids.
fn judged_texts<T: Copy>(
    judgements: BTreeMap<TopicId, HashMap<DocId, T>>,
    texts: &HashMap<String, String>,
) -> Result<Vec<JudgedText<T>>> {
    let mut judged = Vec::new();
    for (topic, documents) in judgements {
        let documents: BTreeMap<DocId, T> = documents.into_iter().collect();
        for (id, judgement) in documents {
            let text = texts
                .get(&id.0)
                .with_context(|| format!("the judged text {id} is not in the collection"))?;
            judged.push(JudgedText {
                topic: topic.clone(),
                text: text.clone(),
                judgement,
            });
        }
    }
    ensure!(!judged.is_empty(), "there are no judgements");
    Ok(judged)
}

/// The texts with the grades of a judgement file.
pub fn grades(path: &Path, texts: &HashMap<String, String>) -> Result<Vec<JudgedText<f64>>> {
    match qrels::read(&read(path)?) {
        (Qrels::Graded(grades), errors) if errors.is_empty() => judged_texts(grades, texts),
        _ => bail!("{} holds something other than grades", path.display()),
    }
}

/// The texts with the stances of a judgement file.
pub fn stances(
    path: &Path,
    texts: &HashMap<String, String>,
) -> Result<Vec<JudgedText<ObjectStance>>> {
    match qrels::read(&read(path)?) {
        (Qrels::Stances(stances), errors) if errors.is_empty() => judged_texts(stances, texts),
        _ => bail!("{} holds something other than stances", path.display()),
    }
}

/// A sentence of CompSent-19, and which of two objects it prefers.
pub struct Comparison {
    pub objects: [String; 2],
    pub sentence: String,
    /// None if it does not compare them.
    pub first_is_better: Option<bool>,
}

/// The sentences of a CompSent-19 file. A record is `"A [SEP] B [SEP] sentence",label`; label 2 means that A is better, 1 that
/// B is better, 0 that the sentence does not compare.
pub fn comparisons(path: &Path) -> Result<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    for record in records(&read(path)?).into_iter().skip(1) {
        let [text, label] = record.as_slice() else {
            bail!(
                "{}: a record has {} fields, not 2",
                path.display(),
                record.len()
            );
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
            bail!(
                "{}: a record is not in the format of CompSent-19",
                path.display()
            );
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
pub struct StanceExample {
    pub claim: String,
    pub text: String,
    pub supports: bool,
    /// How people rated the text as an argument, in [0, 1]. None if it was not rated.
    pub quality: Option<f64>,
    /// Texts about the same claim or topic share a group. A group is learned from or left out as a whole.
    pub group: String,
}

/// A labelled collection in two parts: one for training, and a development part for choosing settings and for the reported figures.
pub struct StanceSet {
    pub name: &'static str,
    pub training: Vec<StanceExample>,
    pub dev: Vec<StanceExample>,
}

/// The subjects of the tweets of ImageArg, each with claims about it and whether a claim is in favour of the subject. The first claim
/// is the one that the tweets are labelled for.
pub const TWEET_SUBJECTS: [(&str, [(&str, bool); 5]); 2] = [
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

/// The six collections, in a fixed order. ArgKP's arguments are a part of argq30k's, but the two collections are divided differently. Training
/// therefore leaves out ArgKP's topics that are in argq30k's development or test part, and argq30k's topics that are in ArgKP's development part.
/// In a collection without a development part, a fifth of the topics becomes one, chosen by their hash.
pub fn stance_sets(dir: &Path) -> Result<Vec<StanceSet>> {
    let stance = dir.join("stance");
    let split = |name, all: Vec<StanceExample>| {
        let (dev, training) = all.into_iter().partition(|row| is_dev_group(&row.group));
        StanceSet {
            name,
            training,
            dev,
        }
    };
    let parts = |name, read: &dyn Fn(&str) -> Result<Vec<StanceExample>>| -> Result<StanceSet> {
        Ok(StanceSet {
            name,
            training: read("train")?,
            dev: read("dev")?,
        })
    };
    let mut argkp = parts("ArgKP", &|part| {
        let mut rows = key_points(
            &stance.join(format!("argkp-arguments-{part}.csv")),
            "argument",
        )?;
        rows.extend(key_points(
            &stance.join(format!("argkp-key_points-{part}.csv")),
            "key_point",
        )?);
        Ok(rows)
    })?;
    let mut argq30k = parts("argq30k", &|part| {
        rated_arguments(&stance.join(format!("argq30k-{part}.csv.gz")))
    })?;
    let topics = |rows: &[StanceExample]| -> HashSet<String> {
        rows.iter().map(|row| row.group.clone()).collect()
    };
    let (rated, of_argkp) = (topics(&argq30k.training), topics(&argkp.dev));
    argkp.training.retain(|row| rated.contains(&row.group));
    argq30k
        .training
        .retain(|row| !of_argkp.contains(&row.group));
    Ok(vec![
        parts("Perspectrum", &|part| {
            perspectives(&stance.join(format!("perspectrum-{part}.jsonl")))
        })?,
        split(
            "IBM claims",
            ibm_claims(&stance.join("ibm-claim-stance-train.csv"))?,
        ),
        argkp,
        argq30k,
        split("debates", debates(&dir.join("args/args-me.json"))?),
        parts("tweets", &|part| {
            let mut rows = Vec::new();
            for (subject, claims) in TWEET_SUBJECTS {
                let path = dir.join(format!("imagearg/text-{subject}-{part}.csv"));
                rows.extend(tweets(&path, subject, claims[0].0)?);
            }
            Ok(rows)
        })?,
    ])
}

/// Whether a group belongs to the development part: the sum of the bytes of its SHA-256 is a multiple of five. (The
/// hash itself is then a multiple of five, because 256 is 1 modulo 5.)
pub fn is_dev_group(group: &str) -> bool {
    let digest = Sha256::digest(group.as_bytes());
    digest.iter().map(|b| u32::from(*b)).sum::<u32>() % 5 == 0
}

fn perspectives(path: &Path) -> Result<Vec<StanceExample>> {
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
                .with_context(|| format!("cannot read a perspective in {}", path.display()))?;
            Ok(StanceExample {
                group: line.claim.clone(),
                claim: line.claim,
                text: line.perspective,
                supports: line.stance == "SUPPORT",
                quality: None,
            })
        })
        .collect()
}

/// The named columns of a file of comma-separated values whose first record names the columns.
fn columns<const N: usize>(path: &Path, names: [&str; N]) -> Result<Vec<[String; N]>> {
    columns_of(&read(path)?, path, names)
}

/// As [`columns`], from the text of the file.
fn columns_of<const N: usize>(
    text: &str,
    path: &Path,
    names: [&str; N],
) -> Result<Vec<[String; N]>> {
    let mut records = records(text).into_iter();
    let head = records.next().unwrap_or_default();
    let places = names.map(|name| head.iter().position(|column| column == name));
    records
        .map(|record| {
            let mut fields = [const { String::new() }; N];
            for (field, place) in fields.iter_mut().zip(places) {
                let value = place.and_then(|at| record.get(at)).with_context(|| {
                    format!(
                        "a record of {} lacks one of the columns {names:?}",
                        path.display()
                    )
                })?;
                field.clone_from(value);
            }
            Ok(fields)
        })
        .collect()
}

fn ibm_claims(path: &Path) -> Result<Vec<StanceExample>> {
    let names = [
        "topicText",
        "claims.claimCorrectedText",
        "claims.stance",
        "topicId",
    ];
    let rows = columns(path, names)?.into_iter();
    Ok(rows
        .map(|[topic, text, stance, group]| StanceExample {
            claim: claims(&topic).0,
            text,
            supports: stance == "PRO",
            quality: None,
            group,
        })
        .collect())
}

fn key_points(path: &Path, text: &str) -> Result<Vec<StanceExample>> {
    let rows = columns(path, ["topic", text, "stance"])?.into_iter();
    Ok(rows
        .map(|[topic, text, stance]| StanceExample {
            claim: claims(&topic).0,
            text,
            supports: stance == "1",
            quality: None,
            group: topic,
        })
        .collect())
}

/// A key point of ArgKP with an argument of the same topic and stance, and whether the argument makes that point.
pub struct Match {
    pub key_point: String,
    pub argument: String,
    pub matches: bool,
}

/// The labelled matches of ArgKP's part `part` whose topics are among `topics`.
pub fn matches(dir: &Path, part: &str, topics: &HashSet<&str>) -> Result<Vec<Match>> {
    let file = |what: &str| dir.join(format!("stance/argkp-{what}-{part}.csv"));
    let arguments: HashMap<String, (String, String)> =
        columns(&file("arguments"), ["arg_id", "argument", "topic"])?
            .into_iter()
            .map(|[id, text, topic]| (id, (text, topic)))
            .collect();
    let points: HashMap<String, String> =
        columns(&file("key_points"), ["key_point_id", "key_point"])?
            .into_iter()
            .map(|[id, text]| (id, text))
            .collect();
    let mut found = Vec::new();
    for [argument, point, label] in columns(&file("labels"), ["arg_id", "key_point_id", "label"])? {
        if let (Some((text, topic)), Some(point)) = (arguments.get(&argument), points.get(&point))
            && topics.contains(topic.as_str())
        {
            found.push(Match {
                key_point: point.clone(),
                argument: text.clone(),
                matches: label == "1",
            });
        }
    }
    Ok(found)
}

/// A claim and a text that were written to be hard, and the phenomenon that makes them hard.
pub struct Challenge {
    pub phenomenon: String,
    pub claim: String,
    pub text: String,
    pub class: StanceClass,
}

/// The pairs of `tests/it/data/stance/challenge-PART.tsv`: `learn` or `kept`.
pub fn challenges(part: &str) -> Result<Vec<Challenge>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/it/data/stance");
    hard_pairs(&dir.join(format!("challenge-{part}.tsv")))
}

/// The pairs of `models/train/data/pairs.tsv`, which were written for training.
pub fn written_pairs() -> Result<Vec<Challenge>> {
    hard_pairs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/pairs.tsv"))
}

/// The sentences of `models/train/data/comparisons.tsv`, which were written for training.
pub fn written_comparisons() -> Result<Vec<Comparison>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/comparisons.tsv");
    answered(&path, |[first, second, sentence], answer| {
        Some(Comparison {
            objects: [first.to_owned(), second.to_owned()],
            sentence: sentence.to_owned(),
            first_is_better: match answer {
                "first" => Some(true),
                "second" => Some(false),
                "neither" => None,
                _ => return None,
            },
        })
    })
}

fn hard_pairs(path: &Path) -> Result<Vec<Challenge>> {
    answered(path, |[phenomenon, claim, text], answer| {
        Some(Challenge {
            phenomenon: phenomenon.to_owned(),
            claim: claim.to_owned(),
            text: text.to_owned(),
            class: match answer {
                "pro" => StanceClass::Pro,
                "con" => StanceClass::Con,
                "neither" => StanceClass::Neither,
                _ => return None,
            },
        })
    })
}

/// Reads a file whose lines have three fields and an answer, separated by tabs. `of` returns `None` for an answer that it does not know.
///
/// # Errors
/// The file cannot be read, or a line has another number of fields or an unknown answer.
fn answered<T>(path: &Path, of: impl Fn([&str; 3], &str) -> Option<T>) -> Result<Vec<T>> {
    let text = read(path)?;
    let rows = text.lines().zip(1..).map(|(line, number)| {
        let fields: Vec<&str> = line.split('\t').collect();
        let place = || format!("{}, line {number}", path.display());
        let &[first, second, third, answer] = fields.as_slice() else {
            bail!("{} has {} fields, not 4", place(), fields.len());
        };
        let row = of([first, second, third], answer);
        row.with_context(|| format!("{} has the answer {answer:?}", place()))
    });
    rows.collect()
}

/// Premises, each with the conclusion that it supports or attacks.
fn debates(path: &Path) -> Result<Vec<StanceExample>> {
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
        .with_context(|| format!("cannot read the arguments in {}", path.display()))?;
    let mut rows = Vec::new();
    for argument in corpus.arguments {
        let conclusion = argument.conclusion.trim();
        if conclusion.is_empty() {
            continue;
        }
        for premise in argument.premises {
            rows.push(StanceExample {
                claim: claims(conclusion).0,
                text: premise.text,
                supports: premise.stance == "PRO",
                quality: None,
                group: conclusion.to_lowercase(),
            });
        }
    }
    Ok(rows)
}

fn tweets(path: &Path, subject: &str, claim: &str) -> Result<Vec<StanceExample>> {
    let rows = columns(path, ["tweet_text", "stance"])?.into_iter();
    Ok(rows
        .map(|[text, stance]| StanceExample {
            claim: claim.to_owned(),
            text: without_links(&text),
            supports: stance == "support",
            quality: None,
            group: subject.to_owned(),
        })
        .collect())
}

/// The words of a tweet without its links.
pub fn without_links(text: &str) -> String {
    let words = text.split_whitespace();
    let words = words.filter(|w| !w.starts_with("http://") && !w.starts_with("https://"));
    words.collect::<Vec<_>>().join(" ")
}

/// The records of comma-separated values (RFC 4180). Quoted fields can contain commas, line breaks and doubled quotes.
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
    fn quoted_fields_hold_commas_quotes_and_line_breaks() {
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
