//! The images of a collection as ranking needs them: an index over their words, made from stored evidence and kept beside it,
//! and what else is known of a candidate.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::analyzer::{Analyzer, Stemmer, StopList};
use super::corpus::update::{Site, Update, checksum_of};
use super::corpus::{Corpus, Document, Effort, Event, IMAGE_FIELDS, Kind};
use super::search::Part as QueryPart;
use super::similarity::Similarity;
use super::vector;
use crate::collection::images::CrawlRank;
use crate::evidence::ocr::OcrLine;
use crate::evidence::picture::Picture;
use crate::evidence::store::{Store, Wanted};
use crate::evidence::{AfinnValence, OfPart, PageEvidence, Part, ocr_text};
use crate::trec::DocId;

/// By which images' words are scored: as Lucene scores, on exact lengths.
pub const BM25: Similarity = Similarity::Bm25 { k1: 1.2, b: 0.75 };

/// A field of the index, by its place in [`IMAGE_FIELDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Ocr = 0,
    Title = 1,
    Near = 2,
    Main = 3,
    Caption = 4,
}

/// How the words of images and of the queries to them become terms.
pub fn analyzer() -> Analyzer {
    Analyzer {
        stop: StopList::Lucene,
        stemmer: Stemmer::Snowball,
        fold: true,
        ..Analyzer::default()
    }
}

/// The images of a run, by id, and the index over their words.
pub struct ImageIndex {
    ids: Vec<DocId>,
    corpus: Corpus,
    /// For each of `ids` its number in the corpus.
    numbers: Vec<u32>,
}

/// Documents that are read at once by one thread.
const READ_TOGETHER: usize = 64;

/// What brought the index up to date did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Documents that were added, or added again because their words have changed.
    pub added: usize,
    /// Documents that are not in the evidence any more.
    pub removed: usize,
}

/// Brings the index in `dir` to what the evidence says, and opens it. What has not changed is neither read nor indexed again.
///
/// Errors: the index is damaged, the evidence cannot be read, `dir` cannot be written.
pub fn open(
    store: &mut Store,
    dir: &Path,
    effort: Effort,
    told: &mut dyn FnMut(Event),
) -> Result<(Corpus, Updated)> {
    let (site, corpus) = Site::open(dir, Kind::Images, &analyzer(), told)?;
    bring_up_to_date(store, &site, corpus, effort, told)
        .with_context(|| format!("cannot bring the index {} up to date", dir.display()))
}

fn bring_up_to_date(
    store: &mut Store,
    site: &Site,
    corpus: Option<Corpus>,
    effort: Effort,
    told: &mut dyn FnMut(Event),
) -> Result<(Corpus, Updated)> {
    let indexed: HashMap<&str, u64> = corpus.iter().flat_map(Corpus::checksums).collect();
    let mut stored = store.text_hashes()?;
    let changed: Vec<usize> = (0..stored.len())
        .filter(|at| {
            let (id, hash) = &stored[*at];
            hash.is_none() || indexed.get(id.0.as_str()) != hash.as_ref()
        })
        .collect();
    let mut removed: HashMap<&str, u64> = indexed.clone();
    for (id, _) in &stored {
        removed.remove(id.0.as_str());
    }
    let updated = Updated {
        added: changed.len(),
        removed: removed.len(),
    };
    if updated == Updated::default()
        && let Some(corpus) = corpus
    {
        return Ok((corpus, updated));
    }
    // where most of it is new, a new index is smaller and sooner made
    let anew = corpus.is_none() || changed.len() + removed.len() > indexed.len() / 2;
    let update = site.update(anew, effort)?;
    removed.keys().for_each(|id| update.remove(id));
    let wanted: Vec<usize> = match anew {
        true => (0..stored.len()).collect(),
        false => changed,
    };
    let ids: Vec<&DocId> = wanted.iter().map(|at| &stored[*at].0).collect();
    let same = |id: &str, hash| !anew && indexed.get(id) == Some(&hash);
    let hashes = put_all(store.path(), &ids, &update, &same, effort.threads, told)?;
    let mut learned = Vec::new();
    for (at, hash) in wanted.into_iter().zip(hashes) {
        if stored[at].1 != Some(hash) {
            stored[at].1 = Some(hash);
            learned.push((stored[at].0.clone(), hash));
        }
    }
    site.commit(update, fingerprint(&stored))?;
    store.keep_text_hashes(&learned)?;
    Ok((site.corpus()?, updated))
}

/// Reads documents and adds those to the index whose words are not the `same` as before. Returns a checksum for each.
fn put_all(
    store: &Path,
    ids: &[&DocId],
    update: &Update,
    same: &(impl Fn(&str, u64) -> bool + Sync),
    threads: usize,
    told: &mut dyn FnMut(Event),
) -> Result<Vec<u64>> {
    let parts: Vec<&[&DocId]> = ids.chunks(READ_TOGETHER).collect();
    let next = AtomicUsize::new(0);
    let hashes = Mutex::new(vec![0; ids.len()]);
    std::thread::scope(|scope| -> Result<()> {
        let (sender, done) = crossbeam_channel::unbounded();
        let workers: Vec<_> = (0..threads.max(1))
            .map(|_| {
                let (next, parts, hashes, sender) = (&next, &parts, &hashes, sender.clone());
                scope.spawn(move || -> Result<()> {
                    let store = Store::open_to_read(store)?;
                    let mut workplace = update.workplace();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(part) = parts.get(at) else {
                            return Ok(());
                        };
                        let mut read = Vec::with_capacity(part.len());
                        for id in *part {
                            let document = document_of(id, &store)?;
                            let hash = checksum_of(&document);
                            if !same(&id.0, hash) {
                                update.put(&document, &mut workplace)?;
                            }
                            read.push(hash);
                        }
                        let mut hashes = hashes.lock().unwrap_or_else(PoisonError::into_inner);
                        let own = hashes.iter_mut().skip(at * READ_TOGETHER);
                        own.zip(&read).for_each(|(slot, hash)| *slot = *hash);
                        // nobody listens any more only if this function has ended
                        let _ = sender.send(read.len());
                    }
                })
            })
            .collect();
        drop(sender);
        let mut documents = 0;
        for count in done {
            documents += count as u64;
            told(Event::Progress {
                documents,
                faults: 0,
            });
        }
        for worker in workers {
            let ended = worker.join();
            ended.ok().context("a thread that indexes has failed")??;
        }
        Ok(())
    })?;
    Ok(hashes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Of which documents an index is, and of which words.
fn fingerprint(documents: &[(DocId, Option<u64>)]) -> String {
    let mut hash = Sha256::new();
    for (id, of_words) in documents {
        hash.update(&id.0);
        hash.update([0]);
        hash.update(of_words.unwrap_or_default().to_le_bytes());
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// An image's words, by field.
fn document_of(id: &DocId, store: &Store) -> Result<Document> {
    let (pages, lines) = store.words(id)?;
    Ok(Document {
        id: id.clone(),
        texts: texts_of(&pages, &lines).to_vec(),
        stance: None,
        url: None,
    })
}

fn texts_of(pages: &[PageEvidence], lines: &[OcrLine]) -> [String; IMAGE_FIELDS.len()] {
    let joined = |text: &dyn Fn(&PageEvidence) -> String| join(pages, text);
    [
        ocr_text(lines),
        joined(&|p| format!("{} {}", p.words.title, p.words.headings)),
        joined(&|p| p.near()),
        joined(&|p| format!("{} {}", p.words.description, p.words.main)),
        joined(&|p| {
            let words = &p.words;
            [&words.alt, &words.title_attribute, &words.caption]
                .map(String::as_str)
                .join(" ")
        }),
    ]
}

/// A text of each page, one after the other; what two neighbouring pages share is there once.
fn join(pages: &[PageEvidence], text: &dyn Fn(&PageEvidence) -> String) -> String {
    let mut texts: Vec<String> = pages.iter().map(text).collect();
    texts.dedup();
    texts.join(" ")
}

impl ImageIndex {
    /// The index for a run over these images: those without evidence are left out, and others in the index are neither found nor
    /// counted.
    pub fn new(mut corpus: Corpus, ids: impl Iterator<Item = DocId>) -> Self {
        let mut ids: Vec<DocId> = ids.collect();
        let numbers = corpus.restrict(&ids);
        let mut known = numbers.iter().map(Option::is_some);
        ids.retain(|_| known.next().unwrap_or(false));
        ImageIndex {
            ids,
            corpus,
            numbers: numbers.into_iter().flatten().collect(),
        }
    }

    /// The images, by id.
    pub fn ids(&self) -> &[DocId] {
        &self.ids
    }

    /// [`BM25`] of every image in one field; 0 where no term of the query is.
    pub fn bm25(&self, field: Field, query: &str) -> Result<Vec<f64>> {
        let mut analyzer = self.corpus.meta().analyzer.build();
        let part = QueryPart::of_text(field as usize, 1.0, &mut analyzer, query);
        let scores = self.corpus.scores(part, &BM25)?;
        let score = |number: &u32| scores.get(*number as usize).copied();
        // no sum of scores is minus zero, but nothing at all is
        let known = self.numbers.iter().map(|n| score(n).unwrap_or(0.0) + 0.0);
        Ok(known.collect())
    }
}

/// What is known of one image.
#[derive(Debug)]
pub struct Image {
    pub id: DocId,
    pub ocr_text: String,
    /// Titles of the pages and the words around the image, all pages.
    pub near_text: String,
    pub picture: Option<Picture>,
    /// Unit length.
    pub clip: Option<Vec<f32>>,
    /// Unit length.
    pub sentences: Vec<OfPart<Vec<f32>>>,
    pub vader: Vec<OfPart<f64>>,
    pub afinn: Vec<OfPart<AfinnValence>>,
    pub rankings: Vec<CrawlRank>,
}

impl Image {
    /// Reads an image's evidence, of vectors and numbers only what is wanted; none if the store does not have it.
    pub fn read(store: &Store, id: &DocId, wanted: Wanted) -> Result<Option<Self>> {
        let Some(evidence) = store.read_part(id, wanted)? else {
            return Ok(None);
        };
        Ok(Some(Image {
            ocr_text: evidence.ocr_text(),
            near_text: join(&evidence.pages, &|p| {
                format!("{}. {}", p.words.title, p.near())
            }),
            id: evidence.id,
            picture: evidence.picture,
            clip: evidence.clip,
            sentences: evidence.sentences,
            vader: evidence.vader,
            afinn: evidence.afinn,
            rankings: evidence
                .pages
                .into_iter()
                .flat_map(|p| p.rankings)
                .collect(),
        }))
    }

    /// The largest cosine of the query and a text of that part, over the pages; none if the image
    /// has no vector of that part and of the query's length.
    pub fn likeness(&self, part: Part, query: &[f32]) -> Option<f64> {
        self.sentences
            .iter()
            .filter(|s| s.part == part && s.value.len() == query.len())
            .map(|s| f64::from(vector::dot(&s.value, query)))
            .reduce(f64::max)
    }

    /// The vectors of a part, one a page.
    pub fn vectors_of(&self, part: Part) -> impl Iterator<Item = &[f32]> {
        let of_part = self.sentences.iter().filter(move |s| s.part == part);
        of_part.map(|s| s.value.as_slice())
    }

    /// The cosine of a CLIP text vector and the image.
    pub fn clip_likeness(&self, query: &[f32]) -> Option<f64> {
        let own = self.clip.as_ref().filter(|own| own.len() == query.len())?;
        Some(f64::from(vector::dot(own, query)))
    }

    /// Mean VADER compound of a part over the pages.
    pub fn vader_of(&self, part: Part) -> Option<f64> {
        mean(
            self.vader
                .iter()
                .filter(|v| v.part == part)
                .map(|v| v.value),
        )
    }

    /// Mean AFINN sum of a part over the pages.
    pub fn afinn_of(&self, part: Part) -> Option<f64> {
        mean(
            self.afinn
                .iter()
                .filter(|v| v.part == part)
                .map(|v| v.value.sum),
        )
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
