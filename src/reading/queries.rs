//! The vectors of queries that are compared with stored evidence about images.

use anyhow::Result;

use super::outputs::{Compute, complete};
use super::{Reader, keyed};
use crate::evidence::clip::Clip;
use crate::evidence::image_text::Likeness;
use crate::evidence::sentence::Sentences;
use crate::lazy::Lazy;
use crate::workspace;

/// The key of a likeness has two parts, and that of a text has one.
const LIKENESS: &str = "likeness";

/// The model that embeds a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryEncoder {
    Sentence,
    Clip,
}

impl<'a> Reader<'a> {
    /// The producer of an installed query encoder.
    pub fn installed(&self, encoder: QueryEncoder) -> Option<&'a str> {
        match encoder {
            QueryEncoder::Sentence => self.models.sentences.map(Lazy::producer),
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

    /// What the image-text model `producer` makes of a cosine. It is stored, because a ranking needs no model. That of CLIP if nothing is stored
    /// and the model is not installed: older workspaces have only vectors of CLIP.
    ///
    /// # Errors
    /// The model cannot be loaded, or the workspace cannot be read or written.
    pub(crate) fn likeness(&mut self, encoder: QueryEncoder, producer: &str) -> Result<Likeness> {
        let model = match encoder {
            QueryEncoder::Sentence => None,
            QueryEncoder::Clip => self.models.clip,
        };
        let read = |clip: &Clip, _: &[()]| Ok(vec![clip.likeness().numbers()]);
        let model = Compute::by(model, producer, Clip::numeric, read);
        let key = [(workspace::key(&[LIKENESS, ""]), ())];
        let outputs = &mut self.store.outputs;
        let found = complete(outputs, producer, &key, None, model, &mut |_, _| ())?;
        let found = found.and_then(|found| Likeness::of_numbers(found.first()?));
        Ok(found.unwrap_or_default())
    }
}
