//! The images of a collection, prepared for ranking: an index over their words, which is built from the stored evidence and stored beside it,
//! and the other evidence of each candidate.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use riposte_eval::DocId;
use sha2::{Digest, Sha256};

use super::analyzer::{Analyzer, Fold, Stemmer, StopList};
pub use super::inverted::ImageField as Field;
use super::inverted::update::{LockedIndex, PendingUpdate, open_unlocked};
use super::inverted::{Document, IndexKind, IndexingBudget, InvertedIndex, checksum, join};
use super::search::QueryPart;
use super::similarity::{FieldCounts, Similarity, TermCounts};
use super::vector;
use crate::disk::hex;
use crate::events::{Event, OnEvent};
use crate::evidence::clip::Slot;
use crate::evidence::ocr::{Ocr, OcrLine};
use crate::evidence::page::Pages;
use crate::evidence::store::{Store, StoreFile};
use crate::evidence::{Channel, Evidence, PageEvidence};
use crate::threads;

/// The similarity for the words of images: Lucene's default parameters, with exact lengths.
pub const BM25: Similarity = Similarity::Bm25 { k1: 1.2, b: 0.75 };

/// The channels whose words are indexed.
const WORDS: [&dyn Channel; 2] = [&Pages, &Ocr];

/// The default analyzer for the words of images, and for the queries.
pub fn analyzer() -> Analyzer {
    Analyzer {
        stop: StopList::built_in("lucene"),
        stemmer: Stemmer::Snowball,
        fold: Fold::Ascii,
        ..Analyzer::default()
    }
}

/// The images of a run, and the index over their words.
pub struct ImageIndex {
    ids: Vec<DocId>,
    pub(super) index: InvertedIndex,
    /// For each id of `ids` the number of its document in the corpus.
    numbers: Vec<u32>,
}

/// What changed when the index was brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexChanges {
    /// Documents that are new, or whose words have changed.
    pub added: usize,
    /// Documents that are no longer in the evidence.
    pub removed: usize,
}

/// Brings the index in `dir` up to date with the evidence, and opens it. Documents that have not changed are not read again.
///
/// Errors: the index is damaged, the evidence cannot be read, `dir` cannot be written.
pub fn open(
    store: &mut Store,
    dir: &Path,
    analyzer: &Analyzer,
    effort: IndexingBudget,
    on_event: &mut OnEvent,
) -> Result<(InvertedIndex, IndexChanges)> {
    let (locked, index) = LockedIndex::open(dir, IndexKind::Images, analyzer, on_event)?;
    bring_up_to_date(store, &locked, index, effort, on_event)
        .with_context(|| format!("cannot bring the index {} up to date", dir.display()))
}

/// The index in `dir`; `None` if there is none or if it is not up to date with the evidence. Writes nothing and takes no lock.
///
/// Errors: the index is damaged, or the evidence cannot be read.
pub fn open_current(
    store: &Store,
    dir: &Path,
    analyzer: &Analyzer,
) -> Result<Option<InvertedIndex>> {
    let Some(index) = open_unlocked(dir, IndexKind::Images, analyzer)? else {
        return Ok(None);
    };
    let stored = store.text_hashes()?;
    let indexed: HashMap<&str, u64> = index.checksums().collect();
    let mut is_current = stored.len() == indexed.len();
    let mut rest = stored.iter();
    while is_current && let Some((id, hash)) = rest.next() {
        let hash = match hash {
            Some(hash) => *hash,
            None => {
                let words = store.neighbours(&[id], &WORDS)?;
                let words = words.first().context("a document has no words")?;
                checksum(&document_of(id, words))
            }
        };
        is_current = indexed.get(id.0.as_str()) == Some(&hash);
    }
    drop(indexed);
    Ok(is_current.then_some(index))
}

fn bring_up_to_date(
    store: &mut Store,
    locked: &LockedIndex,
    index: Option<InvertedIndex>,
    effort: IndexingBudget,
    on_event: &mut OnEvent,
) -> Result<(InvertedIndex, IndexChanges)> {
    let indexed: HashMap<&str, u64> = index.iter().flat_map(InvertedIndex::checksums).collect();
    let mut stored = store.text_hashes()?;
    // an image has no hash if its evidence was written again, perhaps with the same words
    let suspects: Vec<usize> = (0..stored.len())
        .filter(|at| {
            let (id, hash) = &stored[*at];
            hash.is_none() || indexed.get(id.0.as_str()) != hash.as_ref()
        })
        .collect();
    let mut removed = indexed.clone();
    for (id, _) in &stored {
        removed.remove(id.0.as_str());
    }
    if suspects.is_empty()
        && removed.is_empty()
        && let Some(index) = index
    {
        return Ok((index, IndexChanges::default()));
    }
    // if most documents have changed, building a new index takes less time, and the index is smaller
    let replace = index.is_none() || suspects.len() + removed.len() > indexed.len() / 2;
    let mut update = locked.update(replace, effort)?;
    removed.keys().for_each(|id| update.remove(id));
    let wanted: Vec<usize> = if replace {
        (0..stored.len()).collect()
    } else {
        suspects
    };
    // a batch has no gap, because everything from its first document to its last is read
    let runs = wanted.chunk_by(|at, next| at + 1 == *next);
    let batches = runs.flat_map(|run| run.chunks(crate::limits::MAX_IMAGE_BATCH));
    let batch_of = |run: &[usize]| run.iter().map(|at| &stored[*at].0).collect();
    let batches: Vec<Vec<&DocId>> = batches.map(batch_of).collect();
    let is_changed = |id: &str, hash| indexed.get(id) != Some(&hash);
    let is_wanted = |id: &str, hash| replace || is_changed(id, hash);
    let hashes = index_documents(
        &store.place(),
        &batches,
        &update,
        &is_wanted,
        effort.threads,
        on_event,
    );
    let hashes = hashes.map_err(|error| update.why_stopped(error))?;
    let changed = batches.iter().flatten().zip(&hashes);
    let updated = IndexChanges {
        added: changed
            .filter(|(id, hash)| is_changed(&id.0, **hash))
            .count(),
        removed: removed.len(),
    };
    let mut learned = Vec::new();
    for (at, hash) in wanted.into_iter().zip(hashes) {
        if stored[at].1 != Some(hash) {
            stored[at].1 = Some(hash);
            learned.push((stored[at].0.clone(), hash));
        }
    }
    if updated == IndexChanges::default()
        && !replace
        && let Some(index) = index
    {
        store.store_text_hashes(&learned)?;
        return Ok((index, updated));
    }
    locked.commit(update, fingerprint(&stored))?;
    store.store_text_hashes(&learned)?;
    Ok((locked.reader()?, updated))
}

/// Reads batches of documents, and adds those to the index that `is_wanted` chooses by id and checksum of the words. Returns the checksum of each
/// document, in the order of the batches.
fn index_documents(
    store: &StoreFile,
    batches: &[Vec<&DocId>],
    update: &PendingUpdate,
    is_wanted: &(impl Fn(&str, u64) -> bool + Sync),
    threads: usize,
    on_event: &mut OnEvent,
) -> Result<Vec<u64>> {
    let next = AtomicUsize::new(0);
    let mut hashes = vec![Vec::new(); batches.len()];
    std::thread::scope(|scope| -> Result<()> {
        let (sender, done) = crossbeam_channel::unbounded();
        let workers: Vec<_> = (0..threads.max(1))
            .map(|_| {
                let (next, sender) = (&next, sender.clone());
                threads::spawn(scope, move || -> Result<()> {
                    let store = store.open_to_read()?;
                    let mut terms = update.terms();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(batch) = batches.get(at) else {
                            return Ok(());
                        };
                        let mut read = Vec::with_capacity(batch.len());
                        for (id, words) in batch.iter().zip(store.neighbours(batch, &WORDS)?) {
                            let document = document_of(id, &words);
                            let hash = checksum(&document);
                            if is_wanted(&id.0, hash) {
                                update.put(&document, &mut terms)?;
                            }
                            read.push(hash);
                        }
                        // sending fails only if this function has already returned
                        let _ = sender.send((at, read));
                    }
                })
            })
            .collect::<Result<_>>()?;
        drop(sender);
        let mut documents = 0;
        for (at, read) in done {
            documents += read.len();
            if let Some(slot) = hashes.get_mut(at) {
                *slot = read;
            }
            on_event(Event::progress(documents, 0));
        }
        join(workers)
    })?;
    Ok(hashes.concat())
}

/// A hash over the ids of the documents and the hashes of their words.
fn fingerprint(documents: &[(DocId, Option<u64>)]) -> String {
    let mut hash = Sha256::new();
    for (id, of_words) in documents {
        hash.update(&id.0);
        hash.update([0]);
        hash.update(of_words.unwrap_or_default().to_le_bytes());
    }
    hex(&hash.finalize())
}

/// The words of an image, by field.
fn document_of(id: &DocId, words: &Evidence) -> Document {
    Document::new(id.clone(), texts_of(words))
}

fn texts_of(words: &Evidence) -> Vec<String> {
    let (pages, given) = (words.list(), &words.given);
    let joined = |text: &dyn Fn(&PageEvidence) -> String| of_pages(pages, text);
    vec![
        words.ocr_text(),
        joined(&|p| format!("{} {}", p.words.title, p.words.headings)),
        joined(&|p| p.near()),
        joined(&|p| format!("{} {}", p.words.description, p.words.main)),
        joined(&|p| {
            let words = &p.words;
            [&words.alt, &words.title_attribute, &words.caption]
                .map(String::as_str)
                .join(" ")
        }),
        given.caption.clone(),
        given.text.clone(),
    ]
}

/// Concatenates a text of each page. Where consecutive pages have the same text, it appears once.
fn of_pages(pages: &[PageEvidence], text: &dyn Fn(&PageEvidence) -> String) -> String {
    let mut texts: Vec<String> = pages.iter().map(text).collect();
    texts.dedup();
    texts.join(" ")
}

impl ImageIndex {
    /// The index for a run over these images. Images without evidence are left out. Other images of the index are neither found nor counted.
    pub fn new(mut index: InvertedIndex, ids: impl Iterator<Item = DocId>) -> Self {
        let mut ids: Vec<DocId> = ids.collect();
        let numbers = index.restrict(&ids);
        let mut known = numbers.iter().map(Option::is_some);
        ids.retain(|_| known.next().unwrap_or(false));
        ImageIndex {
            ids,
            index,
            numbers: numbers.into_iter().flatten().collect(),
        }
    }

    /// The ids of the images.
    pub fn ids(&self) -> &[DocId] {
        &self.ids
    }

    /// The [`BM25`] score of every image in one field; 0 without any term of the query.
    pub fn bm25(&self, field: Field, query: &str) -> Result<Vec<f64>> {
        let mut analyzer = self.index.meta().analyzer.build();
        let part = QueryPart::of_text(field as usize, 1.0, &mut analyzer, query);
        let scores = self.index.scores(part, &BM25)?;
        let score = |number: &u32| scores.get(*number as usize).copied();
        // the score of an image without any term is minus zero; adding 0.0 makes it zero
        let known = self.numbers.iter().map(|n| score(n).unwrap_or(0.0) + 0.0);
        Ok(known.collect())
    }

    /// The number of words of every image in one field, without stop words.
    pub(crate) fn lengths(&self, field: Field) -> Vec<u32> {
        let length = |number: &u32| self.index.length(field as usize, *number).unwrap_or(0);
        self.numbers.iter().map(length).collect()
    }

    /// The scores by [`Similarity::Dirichlet`] of some images in one field. `members` has their positions in [`Self::ids`], and the scores are
    /// in its order. Only these images count as the collection. Scores can be negative, even those of images with terms of the query.
    ///
    /// # Errors
    /// `mu` is not above 0, a position is out of range, or the index cannot be read.
    pub fn dirichlet(
        &self,
        field: Field,
        query: &str,
        mu: f64,
        members: &[usize],
    ) -> Result<Vec<f64>> {
        let field = field as usize;
        let similarity = Similarity::Dirichlet { mu };
        similarity.check()?;
        let number = |at: &usize| self.numbers.get(*at).copied();
        let numbers: Option<Vec<u32>> = members.iter().map(number).collect();
        let numbers = numbers.context("there is no such image")?;
        let length = |number: &u32| self.index.length(field, *number).unwrap_or(0);
        let counts = FieldCounts {
            documents: members.len() as u64,
            tokens: numbers.iter().map(|n| u64::from(length(n))).sum(),
        };
        // postings are looked up in ascending order
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_unstable_by_key(|at| numbers[*at]);
        let sorted: Vec<u32> = order.iter().map(|at| numbers[*at]).collect();

        let mut analyzer = self.index.meta().analyzer.build();
        let part = QueryPart::of_text(field, 1.0, &mut analyzer, query);
        let mut scores = vec![0.0; numbers.len()];
        for (term, weight) in part.terms() {
            let Some(found) = self.index.find(field, term, false)? else {
                continue;
            };
            let mut tfs = Vec::new();
            found
                .postings
                .each_frequency(&sorted, |at, tf| tfs.push((order[at], tf)))?;
            let term = TermCounts {
                df: tfs.len() as u64,
                cf: tfs.iter().map(|(_, tf)| u64::from(*tf)).sum(),
            };
            if term.cf == 0 {
                continue;
            }
            let term = similarity.term(counts, term);
            for (score, number) in scores.iter_mut().zip(&numbers) {
                *score += weight * similarity.length_score(length(number)).unwrap_or(0.0);
            }
            for (at, tf) in tfs {
                scores[at] += weight * term.score(f64::from(tf), length(&numbers[at]));
            }
        }
        Ok(scores)
    }
}

/// The position of an image in `ids`, which are sorted.
pub(crate) fn position(ids: &[DocId], document: &str) -> Option<usize> {
    ids.binary_search_by(|id| id.0.as_str().cmp(document)).ok()
}

/// An image as rankings read it.
#[derive(Debug)]
pub struct ImageEvidence {
    pub evidence: Evidence,
    /// The text in the image that OCR has read or, if OCR was not run, the text that the collection gives.
    pub ocr_text: String,
    /// Whether OCR was run.
    pub was_read: bool,
    /// The caption that the collection gives, the titles of all pages, and the words near the image.
    pub near_text: String,
}

impl ImageEvidence {
    /// Reads the evidence of an image by some channels, among them those of pages and OCR; `None` if the store does not have the image.
    pub fn read(store: &Store, id: &DocId, channels: &[&dyn Channel]) -> Result<Option<Self>> {
        let Some(evidence) = store.read_by(id, channels)? else {
            return Ok(None);
        };
        let was_read = store.has_channel(id, Ocr.name())?;
        Ok(Some(ImageEvidence {
            ocr_text: match was_read {
                true => evidence.ocr_text(),
                false => evidence.given.text.clone(),
            },
            was_read,
            near_text: near_text(&evidence),
            evidence,
        }))
    }

    /// The lines of the text in the image; `None` if OCR was not run.
    pub fn ocr_lines(&self) -> Option<&[OcrLine]> {
        self.was_read.then(|| self.evidence.list())
    }

    /// The cosine similarity of a CLIP text vector and the image.
    pub(crate) fn clip_likeness(&self, query: &[f32]) -> Option<f64> {
        let own = self.evidence.image_vector(Slot::First);
        let own = own.filter(|own| own.len() == query.len())?;
        Some(f64::from(vector::dot(own, query)))
    }
}

/// The caption, if the collection gives one, and for each page its title and the words around the image.
fn near_text(evidence: &Evidence) -> String {
    let near = |p: &PageEvidence| format!("{}. {}", p.words.title, p.near());
    let near = of_pages(evidence.list(), &near);
    match evidence.given.caption.as_str() {
        "" => near,
        caption => format!("{caption} {near}"),
    }
}
