//! How evidence scores images for a topic: the signals that a recipe can weight.
//!
//! The list of all signals is in `recipes/`; the ranking, recipes, explanations and reports use it. A signal only says what it needs; `images/` reads that
//! and computes the values.

use crate::evidence::channel::Channel;
use crate::evidence::clip::Slot;
use crate::evidence::sentence::SentenceVectors;
use crate::evidence::{Evidence, TextPart};
use crate::index::images::Field;
use crate::topic::question::Question;

/// Scores images for a topic by one kind of evidence.
pub struct Signal {
    /// The name of the signal in recipes and explanations.
    pub name: &'static str,
    /// What the signal is computed from.
    pub need: SignalNeed,
}

impl Signal {
    pub const fn new(name: &'static str, need: SignalNeed) -> Self {
        Signal { name, need }
    }
}

/// What a signal is computed from.
#[derive(Clone, Copy)]
pub enum SignalNeed {
    /// The BM25 scores of a field.
    Words(Field),
    /// The query likelihoods of a field, with the Dirichlet prior of the recipe.
    QueryLikelihood(Field),
    /// The largest cosine between the topic and a text.
    Sentence(TextPart),
    /// An image-text model's cosine between the topic's prompts and the image.
    About(Slot),
    /// An image-text model's cosine between the unchanged text that is to be conveyed and the image.
    Title(Slot),
    /// The mean cosine between words of the image and the most similar arguments of one side: the largest for the words in or around the image, and for
    /// either side. The signal is off without a collection of arguments.
    Arguments,
    /// The reciprocal of the best rank at which the crawl found the image for this topic. It depends on the queries that the makers of the collection
    /// chose, not on the image, so only baselines use it.
    Crawl,
    /// The evidence of one channel.
    Channel(&'static ChannelSignal),
}

/// A signal that the file of a channel brings.
pub struct ChannelSignal {
    pub channel: &'static dyn Channel,
    /// The value for a topic, computed from what the channel has found of an image; `None` for an image that lacks it.
    pub value: fn(&Question, &Evidence) -> Option<f64>,
    /// What is compared, as a sentence about the image names it ("the text in it"), and what a reader is shown of that.
    pub source: (&'static str, Quoted),
}

impl SignalNeed {
    /// The channel from whose evidence about each image the signal is computed; `None` for those of words and of the crawl.
    pub fn channel(self) -> Option<&'static str> {
        match self {
            SignalNeed::Sentence(_) | SignalNeed::Arguments => Some(SentenceVectors.name()),
            SignalNeed::About(slot) | SignalNeed::Title(slot) => Some(slot.channel()),
            SignalNeed::Channel(of) => Some(of.channel.name()),
            SignalNeed::Words(_) | SignalNeed::QueryLikelihood(_) | SignalNeed::Crawl => None,
        }
    }

    /// The image-text model from whose vectors of images the signal is computed, if it is.
    pub fn image_text(self) -> Option<Slot> {
        match self {
            SignalNeed::About(slot) | SignalNeed::Title(slot) => Some(slot),
            _ => None,
        }
    }

    /// What the signal compares with the topic, as a sentence about the image names it ("the text in it"), and what a reader is shown of that.
    pub(crate) fn source(self) -> (&'static str, Quoted) {
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
            SignalNeed::Channel(of) => of.source,
        }
    }
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
