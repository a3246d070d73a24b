//! Re-ranks texts: each [`Reranker`] assesses the documents at the top of a ranking, and [`super::rerank`] combines all assessments into one score.
//! The list of all re-rankers is in `recipes/`.

use std::collections::BTreeMap;

use anyhow::Result;
use rayon::prelude::*;
use riposte_eval::Explanation;
use riposte_eval::topic::Topic;

use super::quality::GradedText;
use super::windows::ReadWindows;
use crate::events::OnEvent;
use crate::index::inverted::InvertedIndex;
use crate::index::{ScoredDoc, vector};
use crate::reading::{Purpose, Reader};

/// The documents at the top of a ranking, with all that re-rankers read.
pub struct RerankedTexts<'a> {
    pub topic: &'a Topic,
    pub kind: GradedText,
    /// The documents in their order so far, with the scores of retrieval.
    pub ranked: &'a [ScoredDoc],
    /// The main text of each document.
    pub texts: Vec<String>,
    /// What of the texts is read by models that read windows.
    pub windows: ReadWindows,
    /// The index of the documents.
    pub index: &'a InvertedIndex,
    /// Values that are computed before a re-ranker begins, one for each document, by the name of the re-ranker that they come from. They are the best
    /// values of the [`Reranker::inputs`], and values that were computed for all topics at once.
    pub known: BTreeMap<&'static str, Vec<Option<f64>>>,
}

impl RerankedTexts<'_> {
    /// The windows of each text that are read. A text without words has none.
    ///
    /// # Errors
    /// As [`ReadWindows::of`].
    pub(crate) fn split(&self) -> Result<Vec<Vec<String>>> {
        let texts = self.texts.iter().map(String::as_str);
        self.windows.of(&self.topic.title, texts)
    }

    /// The known values of the re-ranker with this name. Empty if its model is missing.
    pub fn known(&self, name: &str) -> &[Option<f64>] {
        self.known.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The models, and a callback for the number of outputs that they have computed.
pub struct RerankerModels<'r, 'm> {
    pub reader: &'r mut Reader<'m>,
    pub on_event: &'r mut OnEvent<'r>,
}

/// The opinion of a re-ranker on one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// One value for each window if the re-ranker reads windows, otherwise one. None if the text lacks what it needs, such as words.
    pub values: Vec<f64>,
    /// Explains the value.
    pub why: Option<Explanation>,
}

impl Assessment {
    /// Assessments without explanations.
    pub fn all<T: IntoIterator<Item = f64>>(
        values: impl IntoIterator<Item = T>,
    ) -> Vec<Assessment> {
        let assessment = |values: T| Assessment {
            values: values.into_iter().collect(),
            why: None,
        };
        values.into_iter().map(assessment).collect()
    }

    /// The largest value. It is the document's.
    pub fn best(&self) -> Option<f64> {
        self.values.iter().copied().reduce(f64::max)
    }
}

/// One assessment for each document, in the order of the documents. Empty if a model is missing.
pub type Assessed = Result<Vec<Assessment>>;

/// The cosine between the sentence vectors of a query and each text, in the order of `texts`. `None` if a vector is not in the workspace and no sentence
/// model is installed.
///
/// # Errors
/// The model fails, or the workspace cannot be read or written.
pub(crate) fn cosines(
    reader: &mut Reader,
    query: &str,
    texts: &[&str],
    on_event: &mut OnEvent,
) -> Result<Option<Vec<f64>>> {
    let queries = reader.sentence_vectors(Purpose::Query, &[query], on_event)?;
    let Some(query) = queries.and_then(|mut queries| queries.pop()) else {
        return Ok(None);
    };
    let vectors = reader.sentence_vectors(Purpose::Document, texts, on_event)?;
    let cosine = |text: &Vec<f32>| f64::from(vector::dot(&query, text));
    Ok(vectors.map(|vectors| vectors.iter().map(cosine).collect()))
}

/// What the values of a re-ranker come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerankerNeed {
    /// Words and models that are made for English.
    English,
    /// Retrieval, or sentence vectors: the user chooses for which language.
    AnyLanguage,
    CrossEncoder,
    /// `clusters` in the recipe.
    Clusters,
}

/// An opinion on the documents at the top of a ranking.
pub trait Reranker: Sync {
    /// The name, in kebab case. It is the key of the weight in recipes, and stands in explanations.
    fn name(&self) -> &'static str;

    /// Whether the values are in [0, 1], so that they need no scaling by their minimum and maximum.
    fn is_unit(&self) -> bool {
        false
    }

    fn need(&self) -> RerankerNeed {
        RerankerNeed::English
    }

    /// How a report names the value: in a few words beside its bar, and in a sentence about a text that is ranked by it. If the second is empty, the
    /// sentence has the name.
    fn words(&self) -> [&'static str; 2];

    /// The names of the re-rankers whose best values this one is computed from. It finds them in [`RerankedTexts::known`].
    fn inputs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Assesses all documents, in their order. The result is empty if a model is missing.
    ///
    /// # Errors
    /// The index, the store of model outputs or a model fails.
    fn assess(&self, documents: &RerankedTexts, reading: &mut RerankerModels) -> Assessed;
}

/// A re-ranker whose value for a document depends only on the document's text.
pub struct TextReranker {
    pub name: &'static str,
    /// See [`Reranker::words`].
    pub words: [&'static str; 2],
    pub is_unit: bool,
    pub value: fn(GradedText, &str) -> f64,
    /// Explains the value; `None` if there is nothing to add to it.
    pub why: Option<fn(GradedText, &str) -> Explanation>,
}

impl TextReranker {
    /// A re-ranker with values in [0, 1] and without explanations.
    pub const fn unit(
        name: &'static str,
        words: [&'static str; 2],
        value: fn(GradedText, &str) -> f64,
    ) -> Self {
        TextReranker {
            name,
            words,
            is_unit: true,
            value,
            why: None,
        }
    }
}

impl Reranker for TextReranker {
    fn name(&self) -> &'static str {
        self.name
    }

    fn words(&self) -> [&'static str; 2] {
        self.words
    }

    fn is_unit(&self) -> bool {
        self.is_unit
    }

    fn assess(&self, documents: &RerankedTexts, _: &mut RerankerModels) -> Assessed {
        let assess = |text: &String| Assessment {
            values: vec![(self.value)(documents.kind, text)],
            why: self.why.map(|why| why(documents.kind, text)),
        };
        Ok(documents.texts.par_iter().map(assess).collect())
    }
}
