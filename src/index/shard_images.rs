//! Rankings of images by an index that contains only a part of the collection ([`ImagePart`]).

use std::sync::Arc;

use anyhow::Result;

use super::corpus::{IMAGE_FIELDS, OverallCounts};
use super::cut::Cut;
use super::image_part::{BestScore, ImagePart, PoolRequest};
use super::images::{BM25, Field, ImageIndex};
use super::search::{Part, Query, SearchRequest};

impl ImageIndex {
    /// Makes the index, which contains a part of a collection, score like an index of the whole collection.
    pub fn set_overall(&mut self, counts: &OverallCounts, part: ImagePart) {
        let dialogue = match &part {
            ImagePart::Found(dialogue) => Some(Arc::clone(dialogue)),
            ImagePart::Shard(_) => None,
        };
        self.corpus.set_overall(counts, dialogue);
        self.part = Some(part);
    }

    /// The part of the collection that this index contains; `None` if it contains the whole collection.
    pub fn part(&self) -> Option<&ImagePart> {
        self.part.as_ref()
    }

    /// The best score of a query in a field, over the whole collection; 0 if no image matches. `scores` are the scores of the images of this
    /// index.
    pub fn best(&self, field: Field, words: &str, scores: &[f64]) -> f64 {
        let name = IMAGE_FIELDS[field as usize].to_owned();
        match &self.part {
            Some(ImagePart::Shard(bests)) => {
                let best = bests.get(&(name, words.to_owned()));
                best.copied().unwrap_or(0.0)
            }
            // the images that shards have found include the best one
            Some(ImagePart::Found(_)) | None => scores.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Asks the shards for the best image of a query in a field, and for the counts of its terms.
    ///
    /// # Errors
    /// [`super::corpus::Unanswered`]
    pub fn ask_for_best(&self, field: Field, words: &str) -> Result<()> {
        let mut analyzer = self.corpus.meta().analyzer.build();
        let part = Part::of_text(field as usize, 1.0, &mut analyzer, words);
        let asked = self.corpus.ask(&SearchRequest {
            analyzer: self.corpus.meta().analyzer.clone(),
            query: Query {
                parts: vec![part.clone()],
            },
            similarity: BM25,
            cut: Cut {
                k: 1,
                short: true,
                duplicates: true,
                portals: None,
            },
        });
        let terms = part.terms().iter();
        let terms = terms.map(|(term, _)| (part.fields(), term.as_str()));
        self.corpus.ask_for_terms(terms)?;
        asked
    }

    /// Asks the shards for the candidates of all topics.
    ///
    /// # Errors
    /// [`super::corpus::Unanswered`]
    pub fn ask_for_pools(&self, bests: Vec<BestScore>) -> Result<()> {
        self.corpus.ask(&PoolRequest { bests })
    }
}
