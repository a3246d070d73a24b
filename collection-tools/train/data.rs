//! Reads the development data to learn from.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::MultiGzDecoder;
use riposte::trec::qrels::{self, Qrels};
use riposte::trec::{DocId, ObjectStance, TopicId};
use serde::Deserialize;

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

/// A sentence of CompSent-19 that says which of two objects is better.
pub struct Comparison {
    pub objects: [String; 2],
    pub sentence: String,
    pub first_is_better: bool,
}

/// The comparisons of a CompSent-19 file: `"A [SEP] B [SEP] sentence",label`; 2: A is better, 1: B is, 0: no comparison,
/// which is left out.
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
                "2" => Some(true),
                "1" => Some(false),
                _ => None,
            },
        ) else {
            continue;
        };
        comparisons.push(Comparison {
            objects: [(*first).to_owned(), (*second).to_owned()],
            sentence: (*sentence).to_owned(),
            first_is_better,
        });
    }
    Ok(comparisons)
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
