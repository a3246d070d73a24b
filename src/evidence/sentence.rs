//! Sentence vectors: texts as vectors of meaning, for comparing texts that share no word (Reimers and Gurevych 2019,
//! <https://arxiv.org/abs/1908.10084>), by a checkpoint of sentence-transformers ([`riposte_nn::sentence`]).
//!
//! The vectors agree with those of sentence-transformers within 1e-4 (tests/it/sentence.rs).

mod channel;

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result};
use riposte_candle::texts::OTHERS;
use riposte_nn::conv::Numeric;
use riposte_nn::sentence::{Layout, Purpose, SentenceEncoder};
use riposte_nn::transformer::EncoderBackend;
use riposte_nn::transformer::kept::LayerCache;

use crate::device::{Compute, Runtime};
use crate::lazy::Lazy;
use crate::weights::{CheckedModel, KeptWeights};
pub use channel::{SentenceVector, SentenceVectors};

/// How the names of all sentence encoders begin as producers.
pub(crate) const PRODUCERS: &str = "sentence/";

/// Part of the producer's name. It changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 4;

/// The end of the producer's name of a model that has different prompts for queries and for documents.
const PROMPTS: &str = " with prompts";

/// Computes the vectors of texts with a model.
pub(crate) type Embed = fn(&Sentences, &[&str]) -> Result<Vec<Vec<f32>>>;

/// A loaded model. Several threads can call its methods at the same time.
pub struct Sentences {
    model: SentenceEncoder,
    /// What computes the model.
    runtime: Runtime,
}

impl Sentences {
    /// Loads the checkpoint in `dir`.
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration makes no sense or asks for something that is not computed here, or a tensor is missing or has
    /// another shape or number type than the configuration says. All of this is found before weights are read, and the message names it.
    pub fn load(dir: &Path, backend: EncoderBackend) -> Result<Self> {
        Self::load_kept(dir, backend, None)
    }

    /// As [`Sentences::load`]; the packed layers are taken from `keep`, or kept there.
    ///
    /// # Errors
    /// Those of [`Sentences::load`].
    pub fn load_kept(
        dir: &Path,
        backend: EncoderBackend,
        keep: Option<&dyn LayerCache>,
    ) -> Result<Self> {
        let load = || -> Result<Self> {
            let model = SentenceEncoder::load_any(dir, backend, OTHERS, keep)?;
            let runtime = match model.is_of_others() {
                true => Runtime::Candle,
                false => backend.into(),
            };
            Ok(Sentences { model, runtime })
        };
        load().with_context(|| format!("loading the sentence model from {}", dir.display()))
    }

    /// The name under which the vectors of the checkpoint in `dir` with this sha256 are stored: extractor, version and checkpoint, and whether queries
    /// have other prompts than documents. Vectors of different producers must not be compared.
    pub fn producer_of(dir: &Path, sha: &str) -> String {
        // what is wrong with the files is an error when the model is loaded
        let layout = Layout::read(dir);
        let prompt = |purpose| layout.as_ref().map(|layout| layout.prompt(purpose)).ok();
        let has_prompts = prompt(Purpose::Query) != prompt(Purpose::Document);
        let prompts = if has_prompts { PROMPTS } else { "" };
        format!("{PRODUCERS}{VERSION} {sha}{prompts}")
    }

    /// The sha256 of the checkpoint in the name of a producer, of whatever version; `None` if it is no sentence encoder.
    pub(crate) fn sha_of(producer: &str) -> Option<&str> {
        let (_, checkpoint) = producer.strip_prefix(PRODUCERS)?.split_once(' ')?;
        Some(checkpoint.strip_suffix(PROMPTS).unwrap_or(checkpoint))
    }

    /// The name under which the vectors of texts for this purpose are stored: those of queries can be compared with vectors of `producer`.
    pub(crate) fn producer_for(purpose: Purpose, producer: &str) -> Cow<'_, str> {
        match purpose == Purpose::Query && producer.ends_with(PROMPTS) {
            true => format!("query {producer}").into(),
            false => producer.into(),
        }
    }

    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        self.model.numeric()
    }

    /// A vector of unit length for each text, in the given order: as a text that is found by queries or compared with texts of its kind.
    ///
    /// Texts are truncated to the number of tokens that the model's files say (all-MiniLM-L6-v2: 256, including the two special ones). An empty text
    /// has the vector of the special tokens, as in sentence-transformers; it is similar to nothing, so callers should leave empty texts out.
    ///
    /// By the packed backend, a text's vector does not depend on the other texts.
    ///
    /// # Errors
    /// The tokenizer or the device fails.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vectors = self.model.embed(texts, Purpose::Document);
        vectors.with_context(|| format!("computing sentence vectors of {} texts", texts.len()))
    }

    /// [`Sentences::embed`], or [`Sentences::embed_queries`] for queries.
    pub(crate) fn embed_for(purpose: Purpose) -> Embed {
        match purpose {
            Purpose::Query => Sentences::embed_queries,
            Purpose::Document => Sentences::embed,
        }
    }

    /// As [`Sentences::embed`], for queries. Some models have another prompt for them than for what they find.
    ///
    /// # Errors
    /// Those of [`Sentences::embed`].
    pub fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vectors = self.model.embed(texts, Purpose::Query);
        vectors.with_context(|| format!("computing sentence vectors of {} queries", texts.len()))
    }
}

/// The sentence encoder. It is loaded when it is first used.
pub fn lazy(model: &CheckedModel, compute: Compute) -> Lazy<Sentences> {
    let (dir, producer) = (
        model.dir.clone(),
        Sentences::producer_of(&model.dir, &model.sha256),
    );
    let name = model.name.clone();
    let keep = KeptWeights::of(model, "sentences", &producer);
    Lazy::new(producer, move || {
        let sentences = Sentences::load_kept(&dir, compute.backend(), Some(&keep))?;
        let checked = compute.backend.check(sentences.runtime);
        checked.with_context(|| name.clone())?;
        Ok(sentences)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_producer_tells_the_checkpoint_of_a_sentence_encoder_and_of_nothing_else() {
        let producer = Sentences::producer_of(Path::new("nowhere"), "ab12");
        for (producer, sha) in [
            (producer.clone(), Some("ab12")),
            (producer + PROMPTS, Some("ab12")),
            ("sentence/1 ab12".to_owned(), Some("ab12")),
            ("clip/3 ab12".to_owned(), None),
            ("made up".to_owned(), None),
        ] {
            assert_eq!(Sentences::sha_of(&producer), sha, "{producer}");
        }
    }
}
