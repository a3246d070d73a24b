//! How evidence scores images for a topic: the signals that a recipe can weight.
//!
//! A signal is a file or a few lines. The ranking, recipes, explanations and reports go by a list of signals, which stands in `task/`. A signal touches
//! neither disk nor models: it says what it needs, and [`Inputs`] has it.

mod likeness;
mod words;

pub use likeness::{ArgumentLikeness, ClipLikeness, CrawlRank, SentenceLikeness};
pub use words::{Bm25, QueryLikelihood};

use std::collections::BTreeMap;

use anyhow::Result;

use crate::evidence::Part;
use crate::index::images::Field;

/// All signals, in the order in which explanations list them.
pub type Signals = &'static [&'static dyn Signal];

/// A source of evidence for the relevance of an image to a topic.
pub trait Signal: Sync {
    /// The name in recipes and explanations.
    fn name(&self) -> &'static str;

    /// What it is computed from.
    fn need(&self) -> Need;

    /// A value for each image, `None` for an image without what it needs. The result is `None` if the signal is off for all images. By default, it is
    /// the stored number or the cosine.
    ///
    /// # Errors
    /// The index cannot be read.
    fn values(&self, inputs: &mut dyn Inputs) -> Result<Option<Values>> {
        Ok(inputs.stored())
    }

    /// Scales a value to [0, 1].
    fn to_unit(&self, value: f64) -> f64 {
        value.clamp(0.0, 1.0)
    }

    /// What it compares with the topic, in a sentence: "the text in it".
    fn source(&self) -> &'static str;

    /// What a person is shown of it.
    fn quoted(&self) -> Quoted {
        Quoted::Page
    }
}

/// A value for each image.
pub type Values = Vec<Option<f64>>;

/// What a signal is computed from. It is read or computed before the topics are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The BM25 scores of a field.
    Words(Field),
    /// The query likelihoods of a field, with the prior of the recipe.
    QueryLikelihood(Field),
    /// The largest cosine between the topic and a text.
    Sentence(Part),
    /// CLIP's cosine between the topic's prompts and the image.
    ClipAbout,
    /// CLIP's cosine between the unchanged text that is to be conveyed and the image.
    ClipTitle,
    /// The likeness to arguments about the topic.
    Arguments,
    /// The ranks of the crawl.
    Crawl,
    /// A number that is stored for each image, in a table with one row for each.
    Number {
        table: &'static str,
        column: &'static str,
    },
}

impl Need {
    /// Whether it is read from the vectors of texts.
    pub fn is_of_sentences(self) -> bool {
        matches!(self, Need::Sentence(_) | Need::Arguments)
    }

    /// Whether it is read from the vectors of images.
    pub fn is_of_clip(self) -> bool {
        matches!(self, Need::ClipAbout | Need::ClipTitle)
    }
}

/// What a signal needs, for one topic.
pub trait Inputs {
    /// The number of images.
    fn images(&self) -> usize;

    /// Whether values are scaled to [0, 1].
    fn is_scaled(&self) -> bool;

    /// The scores of [`Need::Words`], 0 without a word of the query, and the best score of the topic.
    ///
    /// # Errors
    /// The index cannot be read.
    fn words(&self, field: Field) -> Result<(Vec<f64>, f64)>;

    /// The scores of [`Need::QueryLikelihood`].
    ///
    /// # Errors
    /// The index cannot be read, or the recipe has no prior.
    fn likelihoods(&self, field: Field) -> Result<Values>;

    /// The cosines or the numbers that the signal needs; `None` if there are none. Only the first call has them.
    fn stored(&mut self) -> Option<Values>;

    /// By image, the best rank at which the crawl found it.
    fn crawl_ranks(&self) -> BTreeMap<usize, u32>;
}

/// What a person is shown of the evidence of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoted {
    /// The titles and the words around the image.
    Page,
    /// The caption that the collection gives.
    GivenCaption,
    /// The text in the image as the collection gives it.
    GivenText,
    /// The text in the image.
    PictureText,
    /// Nothing: it is the picture itself.
    Pixels,
}

/// How a sentence names the texts of a field, and what is shown of them.
fn shown(field: Field) -> (&'static str, Quoted) {
    match field {
        Field::Ocr => ("the text in it", Quoted::PictureText),
        Field::Title => ("its page's title", Quoted::Page),
        Field::Near => ("the words around it", Quoted::Page),
        Field::Main => ("the text of its page", Quoted::Page),
        Field::Caption => ("its caption", Quoted::Page),
        Field::GivenCaption => ("its caption", Quoted::GivenCaption),
        Field::GivenText => ("the text in it", Quoted::GivenText),
    }
}
