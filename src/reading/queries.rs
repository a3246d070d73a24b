//! The vectors of queries that are compared with stored evidence about images.

use anyhow::Result;

use super::outputs::{OutputModel, complete};
use super::{Purpose, Reader, keyed};
use crate::evidence::clip::{Clip, Slot};
use crate::evidence::image_text::ImageTextLikeness;
use crate::evidence::sentence::Sentences;
use crate::lazy::Lazy;
use crate::workspace;

/// The key of a likeness has two parts, and that of a text has one.
const LIKENESS: &str = "likeness";

/// The model that embeds a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryEncoder {
    Sentence,
    /// The sentence encoder, for a text that is compared with texts of its own kind.
    Argument,
    ImageText(Slot),
}

impl QueryEncoder {
    /// The channel whose vectors the queries are compared with.
    pub(crate) fn channel(self) -> &'static str {
        match self {
            QueryEncoder::Sentence | QueryEncoder::Argument => "sentence",
            QueryEncoder::ImageText(slot) => slot.channel(),
        }
    }
}

impl<'a> Reader<'a> {
    /// The producer of an installed query encoder.
    pub fn installed(&self, encoder: QueryEncoder) -> Option<&'a str> {
        match encoder {
            QueryEncoder::Sentence | QueryEncoder::Argument => {
                self.models.sentences.map(Lazy::producer)
            }
            QueryEncoder::ImageText(_) => self.image_text(encoder).map(Lazy::producer),
        }
    }

    fn image_text(&self, encoder: QueryEncoder) -> Option<&'a Lazy<Clip>> {
        match encoder {
            QueryEncoder::Sentence | QueryEncoder::Argument => None,
            QueryEncoder::ImageText(slot) => self.models.image_text[slot as usize],
        }
    }

    /// The vectors of queries by the model `producer`, of unit length and in the given order. `None` if one is missing in the workspace and
    /// this model is not installed.
    ///
    /// # Errors
    /// The model fails, or the workspace cannot be read or written.
    pub(crate) fn query_vectors(
        &mut self,
        encoder: QueryEncoder,
        producer: &str,
        queries: &[String],
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let texts: Vec<&str> = queries.iter().map(String::as_str).collect();
        let image_text = self.image_text(encoder);
        let (inputs, outputs, quiet) = (keyed(&texts), &mut self.store.outputs, &mut |_, _| true);
        let purpose = match encoder {
            QueryEncoder::Sentence => Purpose::Query,
            QueryEncoder::Argument => Purpose::Document,
            QueryEncoder::ImageText(_) => {
                let model = OutputModel::by(image_text, producer, Clip::numeric, Clip::embed_texts);
                return complete(outputs, producer, &inputs, None, model, quiet);
            }
        };
        let (model, embed) = (self.models.sentences, Sentences::embed_for(purpose));
        let model = OutputModel::by(model, producer, Sentences::numeric, embed);
        let producer = &Sentences::producer_for(purpose, producer);
        complete(outputs, producer, &inputs, None, model, quiet)
    }

    /// What the image-text model `producer` makes of a cosine. It is stored, because a ranking needs no model. That of CLIP if nothing is stored
    /// and the model is not installed: older workspaces have only vectors of CLIP.
    ///
    /// # Errors
    /// The model cannot be loaded, or the workspace cannot be read or written.
    pub(crate) fn likeness(
        &mut self,
        encoder: QueryEncoder,
        producer: &str,
    ) -> Result<ImageTextLikeness> {
        let read = |clip: &Clip, _: &[()]| Ok(vec![clip.likeness().numbers()]);
        let model = OutputModel::by(self.image_text(encoder), producer, Clip::numeric, read);
        let key = [(workspace::key(&[LIKENESS, ""]), ())];
        let outputs = &mut self.store.outputs;
        let found = complete(outputs, producer, &key, None, model, &mut |_, _| true)?;
        let found = found.and_then(|found| ImageTextLikeness::of_numbers(found.first()?));
        Ok(found.unwrap_or_default())
    }
}
