//! Sentence vectors: texts as vectors of meaning, for comparing texts that share no word (Reimers and Gurevych 2019,
//! <https://arxiv.org/abs/1908.10084>), by a checkpoint of sentence-transformers ([`riposte_nn::sentence`]).
//!
//! The vectors agree with those of sentence-transformers within 1e-4 (tests/it/sentence.rs).

#[cfg(feature = "full")]
mod channel;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use riposte_nn::conv::Numeric;
use riposte_nn::sentence::{Purpose, SentenceEncoder};
use riposte_nn::transformer::Backend;

use crate::device::Compute;
use crate::lazy::Lazy;
use crate::weights::CheckedModel;
#[cfg(feature = "full")]
pub(crate) use channel::SENTENCE;
#[cfg(feature = "full")]
pub use channel::SentenceVectors;

/// Part of the producer's name. It changes whenever the same checkpoint would give other vectors.
const VERSION: u32 = 2;

/// A loaded model. Several threads can call its methods at the same time.
pub struct Sentences {
    model: SentenceEncoder,
    backend: Backend,
}

impl Sentences {
    /// Loads the checkpoint in `dir`.
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration makes no sense or asks for something that is not computed here, or a tensor is missing or has
    /// another shape or number type than the configuration says. All of this is found before weights are read, and the message names it.
    pub fn load(dir: &Path, backend: Backend) -> Result<Self> {
        let load = || -> Result<Self> {
            let model = SentenceEncoder::load(dir, backend)?;
            // a text has one vector in a workspace, whether it asks or is found
            let prompt = |purpose| model.layout().prompt(purpose);
            ensure!(
                prompt(Purpose::Query) == prompt(Purpose::Document),
                "config_sentence_transformers.json has different prompts for queries and for documents, but a text has one vector here"
            );
            Ok(Sentences { model, backend })
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
        self.model.numeric()
    }

    /// What computes the model.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The length of every vector: `hidden_size` (384 for all-MiniLM-L6-v2).
    pub fn dimension(&self) -> usize {
        self.model.dimension()
    }

    /// A vector of unit length for each text, in the given order.
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
}

/// The sentence encoder. It is loaded when it is first used.
pub fn lazy(model: &CheckedModel, compute: Compute) -> Lazy<Sentences> {
    let (dir, producer) = (model.dir.clone(), Sentences::producer_of(&model.sha256));
    Lazy::new(producer, move || Sentences::load(&dir, compute.backend()))
}
