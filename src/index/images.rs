//! All images of a collection, as ranking needs them: the text index over their words, their
//! vectors, and the small facts about each. Made from stored evidence in one pass; the pages' long
//! texts go to the index and are not kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tantivy::tokenizer::TextAnalyzer;

use super::text::{TextIndex, TextIndexWriter};
use super::{analyzer, vector};
use crate::collection::images::CrawlRank;
use crate::evidence::picture::Picture;
use crate::evidence::store::Store;
use crate::evidence::{AfinnValence, Evidence, OfPart, PageEvidence, Part};
use crate::trec::DocId;

/// The fields of the text index, by number.
const FIELDS: [&str; 4] = ["ocr", "title", "near", "main"];

/// A field of the text index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Ocr = 0,
    Title = 1,
    Near = 2,
    Main = 3,
}

/// What is kept of one image.
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

/// All images.
pub struct ImageIndex {
    pub images: Vec<Image>,
    text: TextIndex,
    analyzer: TextAnalyzer,
}

/// Documents that are read at once by one thread.
const READ_TOGETHER: usize = 64;

impl ImageIndex {
    /// Reads the evidence of these documents; those that the store does not have are left out.
    pub fn load(store: &Store, ids: impl Iterator<Item = DocId>) -> Result<Self> {
        let ids: Vec<DocId> = ids.collect();
        let parts: Vec<&[DocId]> = ids.chunks(READ_TOGETHER).collect();
        let threads = rayon::current_num_threads();
        let path = store.path();
        let mut writer = TextIndexWriter::in_memory(&FIELDS)?;
        let mut images = Vec::with_capacity(ids.len());
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| -> Result<()> {
            let (sender, receiver) = crossbeam_channel::bounded(threads);
            for _ in 0..threads {
                let (sender, next, parts) = (sender.clone(), &next, &parts);
                scope.spawn(move || {
                    let mut own = None;
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(part) = parts.get(at) else {
                            break;
                        };
                        let read = read_part(&mut own, path, part);
                        let failed = read.is_err();
                        // the receiver is gone only when the loading failed
                        if sender.send((at, read)).is_err() || failed {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            // what comes early waits: documents are numbered by id
            let mut waiting = BTreeMap::new();
            let mut wanted = 0;
            // dropped before the scope ends, however it ends, so that no thread waits for a reader
            let receiver = receiver;
            for (at, read) in &receiver {
                waiting.insert(at, read?);
                while let Some(read) = waiting.remove(&wanted) {
                    wanted += 1;
                    for (image, texts) in read {
                        writer.add(&texts.each_ref().map(String::as_str))?;
                        images.push(image);
                    }
                }
            }
            Ok(())
        })?;
        Ok(ImageIndex {
            images,
            text: writer.finish()?,
            analyzer: analyzer::english(),
        })
    }

    /// BM25 of every image in one field; 0 where no term of the query is.
    pub fn bm25(&self, field: Field, query: &str) -> Result<Vec<f32>> {
        let mut analyzer = self.analyzer.clone();
        self.text.bm25(field as usize, &mut analyzer, query)
    }
}

type Read = (Image, [String; FIELDS.len()]);

/// Reads some documents with a connection of the thread's own.
fn read_part(own: &mut Option<Store>, path: &Path, part: &[DocId]) -> Result<Vec<Read>> {
    let store = match own {
        Some(store) => store,
        None => own.insert(Store::open_to_read(path)?),
    };
    let mut read = Vec::with_capacity(part.len());
    for id in part {
        read.extend(store.read(id)?.map(image_of));
    }
    Ok(read)
}

/// What is kept of an image, and its texts, by field.
fn image_of(evidence: Evidence) -> Read {
    let joined = |text: &dyn Fn(&PageEvidence) -> String| {
        let mut texts: Vec<String> = evidence.pages.iter().map(text).collect();
        texts.dedup();
        texts.join(" ")
    };
    let ocr_text = evidence.ocr_text();
    let texts = [
        ocr_text.clone(),
        joined(&|p| format!("{} {}", p.words.title, p.words.headings)),
        joined(&|p| p.near()),
        joined(&|p| format!("{} {}", p.words.description, p.words.main)),
    ];
    let near_text = joined(&|p| format!("{}. {}", p.words.title, p.near()));
    let image = Image {
        id: evidence.id,
        ocr_text,
        near_text,
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
    };
    (image, texts)
}

impl Image {
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
