//! All images of a collection, as ranking needs them: the text index over their words, their
//! vectors, and the small facts about each. Made from stored evidence in one pass; the pages' long
//! texts go to the index and are not kept.

use anyhow::Result;
use tantivy::tokenizer::TextAnalyzer;

use super::text::{TextIndex, TextIndexWriter};
use super::{analyzer, vector};
use crate::collection::images::CrawlRank;
use crate::evidence::picture::Picture;
use crate::evidence::store::Store;
use crate::evidence::{AfinnValence, OfPart, Part};
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

impl ImageIndex {
    /// Reads the evidence of these documents; those that the store does not have are left out.
    pub fn load(store: &Store, ids: impl Iterator<Item = DocId>) -> Result<Self> {
        let mut writer = TextIndexWriter::in_memory(&FIELDS)?;
        let mut images = Vec::new();
        for id in ids {
            let Some(evidence) = store.read(&id)? else {
                continue;
            };
            let joined = |text: &dyn Fn(&crate::evidence::PageEvidence) -> String| {
                let mut texts: Vec<String> = evidence.pages.iter().map(text).collect();
                texts.dedup();
                texts.join(" ")
            };
            let ocr_text = evidence.ocr_text();
            let title = joined(&|p| format!("{} {}", p.words.title, p.words.headings));
            let near = joined(&|p| p.near());
            let main = joined(&|p| format!("{} {}", p.words.description, p.words.main));
            writer.add(&[&ocr_text, &title, &near, &main])?;
            images.push(Image {
                id,
                ocr_text,
                near_text: joined(&|p| format!("{}. {}", p.words.title, p.near())),
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
            });
        }
        Ok(ImageIndex {
            images,
            text: writer.finish()?,
            analyzer: analyzer::english(),
        })
    }

    /// BM25 of every image in one field; 0 where no term of the query is.
    pub fn bm25(&mut self, field: Field, query: &str) -> Result<Vec<f32>> {
        self.text.bm25(field as usize, &mut self.analyzer, query)
    }
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
