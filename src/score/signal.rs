//! How evidence scores images for a topic: the signals that a recipe can weight.
//!
//! A signal is a file or a few lines. The list of all signals is in `recipes/`; the ranking, recipes, explanations and reports use it. A signal reads no
//! files and runs no models: it says what it needs, and [`SignalInputs`] provides it.

mod likeness;
mod words;

pub use likeness::{ArgumentLikeness, ClipLikeness, CrawlSignal, SentenceLikeness};
pub use words::{Bm25, QueryLikelihood};

use std::collections::BTreeMap;

use anyhow::Result;

use crate::evidence::TextPart;
use crate::evidence::clip::Slot;
use crate::evidence::image_text::ImageTextLikeness;
use crate::index::images::Field;

/// All signals, in the order in which explanations list them.
pub type Signals = &'static [&'static dyn Signal];

/// Scores images for a topic by one kind of evidence.
pub trait Signal: Sync {
    /// The name of the signal in recipes and explanations.
    fn name(&self) -> &'static str;

    /// What the signal is computed from.
    fn need(&self) -> SignalNeed;

    /// A value for each image, `None` for an image that lacks what the signal needs. The result is `None` if the signal is off for all images. By
    /// default, the values are the stored numbers or the cosines.
    ///
    /// # Errors
    /// The index cannot be read.
    fn values(&self, inputs: &mut dyn SignalInputs) -> Result<Option<SignalValues>> {
        Ok(inputs.stored())
    }

    /// Scales a value to [0, 1].
    fn to_unit(&self, value: f64, _: &dyn SignalInputs) -> f64 {
        value.clamp(0.0, 1.0)
    }

    /// What the signal compares with the topic, as a sentence about the image names it ("the text in it"), and what a reader is shown of that. By
    /// default, both follow from what the signal is computed from.
    fn source(&self) -> (&'static str, Quoted) {
        self.need().source()
    }
}

/// A value for each image.
pub type SignalValues = Vec<Option<f64>>;

/// What a signal is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalNeed {
    /// The BM25 scores of a field.
    Words(Field),
    /// The query likelihoods of a field, with the prior of the recipe.
    QueryLikelihood(Field),
    /// The largest cosine between the topic and a text.
    Sentence(TextPart),
    /// An image-text model's cosine between the topic's prompts and the image.
    About(Slot),
    /// An image-text model's cosine between the unchanged text that is to be conveyed and the image.
    Title(Slot),
    /// The likeness to arguments about the topic.
    Arguments,
    /// The ranks of the crawl.
    Crawl,
    /// A number that is stored for each image, in a table with one row for each image.
    Number {
        table: &'static str,
        column: &'static str,
    },
}

impl SignalNeed {
    /// Whether the signal is computed from the sentence vectors of texts.
    pub fn is_of_sentences(self) -> bool {
        matches!(self, SignalNeed::Sentence(_) | SignalNeed::Arguments)
    }

    /// The image-text model from whose vectors of images the signal is computed, if it is.
    pub fn image_text(self) -> Option<Slot> {
        match self {
            SignalNeed::About(slot) | SignalNeed::Title(slot) => Some(slot),
            _ => None,
        }
    }

    /// See [`Signal::source`].
    fn source(self) -> (&'static str, Quoted) {
        match self {
            SignalNeed::Words(field) | SignalNeed::QueryLikelihood(field) => match field {
                Field::Ocr => ("the text in it", Quoted::PictureText),
                Field::Title => ("its page's title", Quoted::Page),
                Field::Near => ("the words around it", Quoted::Page),
                Field::Main => ("the text of its page", Quoted::Page),
                Field::Caption => ("its caption", Quoted::Page),
                Field::GivenCaption => ("its caption", Quoted::GivenCaption),
                Field::GivenText => ("the text in it", Quoted::GivenText),
            },
            SignalNeed::Sentence(part) => SignalNeed::Words(match part {
                TextPart::Ocr => Field::Ocr,
                TextPart::Title => Field::Title,
                TextPart::Near => Field::Near,
                TextPart::Main => Field::Main,
                TextPart::GivenCaption => Field::GivenCaption,
                TextPart::GivenText => Field::GivenText,
            })
            .source(),
            SignalNeed::About(_) | SignalNeed::Title(_) => ("what it shows", Quoted::Pixels),
            SignalNeed::Arguments => ("its likeness to arguments", Quoted::Page),
            SignalNeed::Crawl => ("its ranks in the crawl", Quoted::Page),
            SignalNeed::Number { column, .. } => (column, Quoted::Page),
        }
    }
}

/// Provides what a signal needs, for one topic.
pub trait SignalInputs {
    /// The number of images.
    fn images(&self) -> usize;

    /// Whether values are scaled to [0, 1].
    fn is_scaled(&self) -> bool;

    /// The scores of [`SignalNeed::Words`], and the topic's best one. An image without a word of the query has the score 0.
    ///
    /// # Errors
    /// The index cannot be read.
    fn words(&self, field: Field) -> Result<(Vec<f64>, f64)>;

    /// The scores of [`SignalNeed::QueryLikelihood`].
    ///
    /// # Errors
    /// The index cannot be read, or the recipe has no prior.
    fn likelihoods(&self, field: Field) -> Result<SignalValues>;

    /// The cosines or the numbers that the signal needs; `None` if there are none. Only the first call is sure to return them.
    fn stored(&mut self) -> Option<SignalValues>;

    /// What the model of a signal makes of a cosine between a picture and a text.
    fn likeness(&self, need: SignalNeed) -> ImageTextLikeness;

    /// The best rank at which the crawl found each image, by the number of the image.
    fn crawl_ranks(&self) -> BTreeMap<usize, u32>;
}

/// What a report shows of an image to explain a signal's value.
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
