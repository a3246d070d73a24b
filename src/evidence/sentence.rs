//! Sentence vectors: texts as vectors of meaning, for comparing texts that share no word (Reimers and Gurevych 2019,
//! <https://arxiv.org/abs/1908.10084>), by a BERT in the layout of all-MiniLM-L6-v2.
//!
//! The checkpoint directory contains `config.json`, `model.safetensors` and `tokenizer.json`. The vector is the mean of the last layer's rows over
//! the text's tokens, scaled to unit length. It agrees with that of sentence-transformers within 1e-4 (tests/it/sentence.rs).

#[cfg(feature = "full")]
mod channel;

use std::path::Path;

use anyhow::{Context, Result};
use riposte_nn::checkpoint::Checkpoint;
use riposte_nn::conv::{Numeric, NumericMode};
use riposte_nn::normalise;
use riposte_nn::tokens::{Input, Tokenizer};
use riposte_nn::transformer::Backend;
use riposte_nn::transformer::text::TextEncoder;
use riposte_nn::transformer::{examples, family};

use crate::device;
use crate::lazy::Lazy;
use crate::weights::CheckedModel;
#[cfg(feature = "full")]
pub(crate) use channel::SENTENCE;
#[cfg(feature = "full")]
pub use channel::SentenceVectors;

/// Part of the producer's name. It changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 2;

/// Texts are truncated to this many tokens, as all-MiniLM-L6-v2's sentence_bert_config.json says (`max_seq_length`).
const MAX_TOKENS: usize = 256;

/// A loaded model. Several threads can call its methods at the same time.
pub struct Sentences {
    tokenizer: Tokenizer,
    encoder: TextEncoder,
    dimension: usize,
}

impl Sentences {
    /// Loads the checkpoint in `dir`.
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration makes no sense, or a tensor is missing or has another shape or number type than
    /// the configuration says. All of this is found before weights are read, and the message names it.
    pub fn load(dir: &Path, backend: Backend) -> Result<Self> {
        let load = || -> Result<Self> {
            let model = family::describe(dir)?;
            let max_tokens = MAX_TOKENS.min(model.max_tokens());
            let tokenizer = Tokenizer::read(dir, Input::Single, max_tokens, model.vocabulary())?;
            let checkpoint = Checkpoint::open(dir, &model.expected_tensors())?;
            let examples = tokenizer.encode(examples::texts())?;
            let backend = device::backend(backend);
            Ok(Sentences {
                tokenizer,
                encoder: TextEncoder::read(&model, max_tokens, &checkpoint, backend, &examples)?,
                dimension: model.hidden(),
            })
        };
        load().with_context(|| format!("loading the sentence model from {}", dir.display()))
    }

    /// The name under which the vectors of the checkpoint with this sha256 are stored: extractor, version and checkpoint. Vectors of different
    /// producers must not be compared.
    pub fn producer_of(sha: &str) -> String {
        format!("sentence/{VERSION} {sha}")
    }

    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        self.encoder.numeric()
    }

    /// The length of every vector: `hidden_size` (384 for all-MiniLM-L6-v2).
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// A vector of unit length for each text, in the given order.
    ///
    /// Texts are truncated to 256 tokens, including the two special ones. An empty text has the vector of the special tokens, as in
    /// sentence-transformers; it is similar to nothing, so callers should leave empty texts out.
    ///
    /// On the CPU, a text's vector does not depend on the other texts.
    ///
    /// # Errors
    /// The tokenizer or the device fails.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let tokens = self.tokenizer.encode(texts.iter().copied());
        let mut means = tokens
            .and_then(|tokens| self.encoder.means(&tokens))
            .with_context(|| format!("computing sentence vectors of {} texts", texts.len()))?;
        means.iter_mut().for_each(|mean| normalise(mean));
        Ok(means)
    }
}

/// The sentence encoder. It is loaded when it is first used.
pub fn lazy(model: &CheckedModel, mode: NumericMode) -> Lazy<Sentences> {
    let (dir, producer) = (model.dir.clone(), Sentences::producer_of(&model.sha256));
    Lazy::new(producer, move || Sentences::load(&dir, Backend::of(mode)))
}
