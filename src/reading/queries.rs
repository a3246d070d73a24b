//! The vectors of queries that are compared with stored evidence about images.

use anyhow::Result;

use super::outputs::{Compute, complete};
use super::{Reader, keyed};
use crate::evidence::clip::Clip;
use crate::evidence::sentence::Sentences;
use crate::lazy::Lazy;

/// The model that embeds a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryEncoder {
    Sentence,
    /// The sentence encoder, for a text that is compared with texts of its own kind.
    Argument,
    Clip,
}

impl<'a> Reader<'a> {
    /// The producer of an installed query encoder.
    pub fn installed(&self, encoder: QueryEncoder) -> Option<&'a str> {
        match encoder {
            QueryEncoder::Sentence | QueryEncoder::Argument => {
                self.models.sentences.map(Lazy::producer)
            }
            QueryEncoder::Clip => self.models.clip.map(Lazy::producer),
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
        let (inputs, outputs, quiet) = (keyed(&texts), &mut self.store.outputs, &mut |_, _| ());
        match encoder {
            QueryEncoder::Sentence => {
                let model = self.models.sentences;
                let embed = Sentences::embed_queries;
                let model = Compute::by(model, producer, Sentences::numeric, embed);
                let producer = &Sentences::producer_of_queries(producer);
                complete(outputs, producer, &inputs, None, model, quiet)
            }
            QueryEncoder::Argument => {
                let model = self.models.sentences;
                let model = Compute::by(model, producer, Sentences::numeric, Sentences::embed);
                complete(outputs, producer, &inputs, None, model, quiet)
            }
            QueryEncoder::Clip => {
                let model = self.models.clip;
                let model = Compute::by(model, producer, Clip::numeric, Clip::embed_texts);
                complete(outputs, producer, &inputs, None, model, quiet)
            }
        }
    }
}
