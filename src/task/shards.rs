//! The text tasks on an index that is divided among machines: what the processes of a cluster compute.
//!
//! 1. [`read`] reads a part of a collection, and writes its texts as an index stores them. The caller finds texts that have the same id or the same
//!    words in several parts.
//! 2. Each shard is indexed as a separate collection ([`crate::collection::entries`]), and [`count`] writes the counts of its terms. The caller adds
//!    up the counts of all shards.
//! 3. A ranking begins with an empty index. The requests that it needs are written to `riposte-needs.json`. Every shard answers them ([`answer`])
//!    with its best documents, scored by the counts of the whole collection. The best documents of all shards are indexed, and the ranking begins
//!    again. Few rounds are enough: a search with feedback needs a second round for its expanded query. The ranking that needs nothing more is the
//!    same as with an index of the whole collection.

mod images;
mod packed;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::text_approach::TextApproach;
use super::text_indexes::TextIndexes;
use crate::collection::entries::{EntryCollection, StoredText, StoredVectors};
use crate::disk::{parent, replace};
use crate::index::corpus::{
    self, Corpus, Dialogue, Kind, Meta, NumberedDocuments, OverallCounts, ReadDocument,
    TextCollection, hash_of_words,
};
use crate::index::dense::{NearestRequest, Vectors, Wanted};
use crate::index::image_part::PoolRequest;
use crate::index::search::SearchRequest;
use crate::index::similarity::TermCounts;
use crate::trec::{DocId, TextTask};

pub(crate) use images::PartOfImages;
pub use images::count_images;
pub use packed::{Unpacked, is_packed, unpack};

/// The file beside the texts that shards have found. It has the other parts of their answers.
const ANSWERS: &str = "riposte-answers.json";

/// The file beside the same texts with the requests that must be answered before a ranking can be made.
const NEEDS: &str = "riposte-needs.json";

/// Writes a line of JSON for each text of a collection, or of its part on stdin, and for each fault: `{"line": 3, "words": "…", "text": {…}}` or
/// `{"line": 4, "fault": {…}}`. `line` is the number of the line on stdin or, for a collection, the number of the text. `words` is the same for texts
/// with the same words, and null for texts without words.
///
/// # Errors
/// The texts of this task cannot be read from stdin, or `output` cannot be written.
pub fn read(task: TextTask, input: Option<&TextCollection>, output: &mut dyn Write) -> Result<()> {
    let kind = Kind::of(task);
    let read: NumberedDocuments = match input {
        Some(collection) => Box::new((1..).zip(collection.documents())),
        None => kind.read_lines(Box::new(std::io::stdin()))?,
    };
    for (line, read) in read {
        match read {
            Ok(read) => {
                let words = hash_of_words(&read.document.main_text(kind));
                let words = words.map(|hash| format!("{hash:016x}"));
                let text = stored(read, Vec::new());
                serde_json::to_writer(
                    &mut *output,
                    &json!({"line": line, "words": words, "text": text}),
                )?;
            }
            Err(fault) => {
                serde_json::to_writer(&mut *output, &json!({"line": line, "fault": fault}))?;
            }
        }
        output.write_all(b"\n")?;
    }
    Ok(output.flush()?)
}

fn stored(read: ReadDocument, vectors: Vec<StoredVectors>) -> StoredText {
    StoredText {
        id: read.document.id,
        texts: read.document.texts,
        stance: read.document.stance,
        url: read.document.url,
        portal: read.portal,
        duplicate_of: read.duplicate_of,
        vectors,
    }
}

/// Writes the counts of all terms in the fields that an approach searches, as lines of JSON. Each index beside `base` has one line `{"analyzer": "…",
/// "counts": [{"documents": 3, "tokens": 40}, …], "covered": ["contents"]}`, then for each term a line `{"analyzer": "…", "fields": "contents",
/// "term": "…", "df": 2, "cf": 3}`.
///
/// # Errors
/// An index is missing or damaged, lacks a field, or `output` cannot be written.
pub fn count(
    task: TextTask,
    approach: &TextApproach,
    base: &Path,
    output: &mut dyn Write,
) -> Result<()> {
    for (analyzer, searched) in approach.searched() {
        let dir = corpus::directory(base, Kind::of(task), &analyzer);
        let index = Corpus::open(&dir)?;
        write_counts(&index, &searched, output)?;
    }
    Ok(output.flush()?)
}

/// Writes the lines of [`count`] for an index. Each of `searched` is the name of a field, or the names of several joined by `+`.
fn write_counts(index: &Corpus, searched: &BTreeSet<String>, output: &mut dyn Write) -> Result<()> {
    let Meta {
        fields, analyzer, ..
    } = index.meta();
    let mut covered: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for name in searched {
        let parts: Vec<&str> = name.split('+').collect();
        let at = |name: &&str| {
            let at = fields.iter().position(|field| field == name);
            at.with_context(|| format!("the collection has no field {name:?}"))
        };
        let numbers = parts.iter().map(at).collect::<Result<Vec<_>>>()?;
        for (part, number) in parts.iter().zip(&numbers) {
            covered.insert((*part).to_owned(), vec![*number]);
        }
        covered.insert(name.clone(), numbers);
    }
    let counts: Vec<_> = (0..fields.len()).map(|field| index.counts(field)).collect();
    let names: Vec<&String> = covered.keys().collect();
    let line = json!({"analyzer": analyzer, "counts": counts, "covered": names});
    writeln!(output, "{line}")?;
    for (name, numbers) in &covered {
        index.each_term(numbers, &mut |term, TermCounts { df, cf }| {
            let line = json!({
                "analyzer": analyzer, "fields": name, "term": term, "df": df, "cf": cf,
            });
            Ok(writeln!(output, "{line}")?)
        })?;
    }
    Ok(())
}

/// The requests to a shard.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    task: String,
    counts: Vec<OverallCounts>,
    /// The vectors that the shard returns with each text that it finds.
    vectors: Vec<Wanted>,
    /// The requests by their keys.
    requests: BTreeMap<String, Request>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Request {
    Search(SearchRequest),
    Nearest(NearestRequest),
    /// The candidates of a ranking of images.
    Pools(PoolRequest),
}

/// Answers the requests in the file `asked` to the shard whose indexes are beside `base`. Each line of the output is JSON: a document that was found
/// for a request, `{"request": "…", "k": 1000, "id": "…", "passage": 0, "score": 3.5}`, or the text of a found document, `{"text": {…}}`, once for
/// each. For a request, only the first k documents of all shards together count, by score, id and passage.
///
/// # Errors
/// The file is not understood, an index or vectors are missing or damaged, or `output` cannot be written.
pub fn answer(asked: &Path, base: &Path, output: &mut dyn Write) -> Result<()> {
    let asked: Asked = read_json(asked)?;
    let task = TextTask::parse(&asked.task);
    let kind = Kind::of(task.with_context(|| format!("there is no task {:?}", asked.task))?);
    let mut indexes = Vec::new();
    for counts in &asked.counts {
        let mut index = Corpus::open(&corpus::directory(base, kind, &counts.analyzer))?;
        index.set_overall(counts, None);
        indexes.push(index);
    }
    let first = indexes.first().context("there are no counts")?;
    let open = |wanted: &Wanted| {
        ensure!(base.is_file(), "the shard has no {}", base.display());
        let vectors = Vectors::open(first, wanted, base, None, &mut |_| ())?;
        vectors.with_context(|| format!("{} lacks vectors", base.display()))
    };
    let vectors: Vec<(&Wanted, Vectors)> = asked
        .vectors
        .iter()
        .map(|wanted| Ok((wanted, open(wanted)?)))
        .collect::<Result<_>>()?;
    let mut found: BTreeSet<DocId> = BTreeSet::new();
    for (key, request) in &asked.requests {
        let (k, documents): (usize, Vec<(DocId, u32, f64)>) = match request {
            Request::Pools(_) => bail!(
                "a shard of {} cannot answer a request for images",
                kind.word()
            ),
            Request::Search(search) => {
                let index = indexes
                    .iter()
                    .find(|i| i.meta().analyzer == search.analyzer);
                let index = index.with_context(|| {
                    format!("there are no counts for the analyzer {}", search.analyzer)
                })?;
                let best = index.search(&search.query, &search.similarity, search.cut)?;
                let best = best.into_iter().map(|best| (best.doc, 0, best.score));
                (search.cut.k, best.collect())
            }
            Request::Nearest(nearest) => {
                let own = vectors
                    .iter()
                    .find(|(wanted, _)| **wanted == nearest.vectors);
                let (_, own) = own.with_context(|| {
                    format!(
                        "{} is not among the vectors of the request",
                        nearest.vectors
                    )
                })?;
                let queries = std::slice::from_ref(&nearest.query);
                let near = own.search(first, queries, nearest.unit, nearest.cut)?;
                let near = near.into_iter().flatten().filter_map(|near| {
                    let cosine = f64::from(near.cosine);
                    Some((first.id(near.document)?, near.passage, cosine))
                });
                (nearest.cut.k, near.collect())
            }
        };
        for (id, passage, score) in documents {
            writeln!(
                output,
                "{}",
                json!({"request": key, "k": k, "id": id, "passage": passage, "score": score})
            )?;
            found.insert(id);
        }
    }
    for id in found {
        let number = first.number(&id).context("a document has no number")?;
        let of_document = vectors.iter().filter_map(|(wanted, vectors)| {
            let (dimension, bytes) = vectors.stored(number)?;
            Some(StoredVectors {
                of: wanted.to_string(),
                dimension,
                numbers: BASE64_STANDARD.encode(bytes),
            })
        });
        let text = stored(first.read_document(&id)?, of_document.collect());
        writeln!(output, "{}", json!({"text": text}))?;
    }
    Ok(output.flush()?)
}

/// The answers of the shards so far, and the texts that they have found.
pub(crate) struct Answers {
    texts: EntryCollection,
    given: Given,
    dialogue: Arc<Dialogue>,
    dir: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    counts: Vec<OverallCounts>,
    vectors: Vec<Wanted>,
    /// The keys of the requests that are answered.
    answered: Vec<String>,
}

impl Given {
    /// Reads the answers in a directory; `None` if there are none. The file with what an earlier ranking needed is removed.
    fn find(dir: &Path) -> Result<Option<Self>> {
        let file = dir.join(ANSWERS);
        if !file.is_file() {
            return Ok(None);
        }
        let needs = dir.join(NEEDS);
        if needs.is_file() {
            fs::remove_file(&needs)
                .with_context(|| format!("cannot remove {}", needs.display()))?;
        }
        read_json(&file).map(Some)
    }

    fn dialogue(&self) -> Arc<Dialogue> {
        Arc::new(Dialogue::new(self.answered.iter().cloned()))
    }
}

fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let reading = || format!("cannot read {}", file.display());
    let bytes = fs::read(file).with_context(reading)?;
    serde_json::from_slice(&bytes).with_context(reading)
}

/// Writes the requests that the shards must answer next.
fn write_needs(dialogue: &Dialogue, dir: &Path) -> Result<()> {
    let needs = dialogue.needs();
    ensure!(
        !needs.is_empty(),
        "a search has no answer, but there is no request for the shards"
    );
    let file = dir.join(NEEDS);
    let written = replace(&file, &serde_json::to_vec(&needs)?);
    written.with_context(|| format!("cannot write {}", file.display()))
}

impl Answers {
    /// The answers beside the texts of a collection; `None` if the collection is whole.
    ///
    /// # Errors
    /// The answers cannot be read, or the file with what an earlier ranking needed cannot be removed.
    pub fn find(collection: &TextCollection) -> Result<Option<Self>> {
        let TextCollection::Entries(texts) = collection else {
            return Ok(None);
        };
        let dir = parent(texts.file());
        let given = Given::find(dir)?;
        Ok(given.map(|given| Answers {
            texts: texts.clone(),
            dialogue: given.dialogue(),
            given,
            dir: dir.to_owned(),
        }))
    }

    /// Makes the indexes of the texts score with the counts of the whole collection, and stores beside `base` the vectors that the shards returned
    /// with the texts.
    ///
    /// # Errors
    /// Counts of the whole collection are missing, or vectors cannot be stored.
    pub fn apply(&self, indexes: &mut TextIndexes, base: &Path) -> Result<()> {
        indexes.set_overall(&self.given.counts, &self.dialogue)?;
        let Some(corpus) = indexes.first() else {
            return Ok(());
        };
        let mut of_wanted: BTreeMap<String, Vec<(DocId, usize, Vec<u8>)>> = BTreeMap::new();
        for text in self.texts.texts() {
            let Ok(text) = text else { continue };
            for vectors in text.vectors {
                let numbers = BASE64_STANDARD.decode(&vectors.numbers);
                let numbers = numbers.with_context(|| format!("the vectors of {}", text.id))?;
                let all = of_wanted.entry(vectors.of).or_default();
                all.push((text.id.clone(), vectors.dimension, numbers));
            }
        }
        for wanted in &self.given.vectors {
            if let Some(documents) = of_wanted.get(&wanted.to_string()) {
                Vectors::import(corpus, wanted, base, documents)?;
            }
        }
        Ok(())
    }

    /// Writes the requests that the shards must answer next.
    ///
    /// # Errors
    /// They cannot be written, or there are none.
    pub fn write_needs(&self) -> Result<()> {
        write_needs(&self.dialogue, &self.dir)
    }
}
