//! Cross-encoders: BERT models that read a topic and a text together and score how well the text answers the topic (Nogueira and Cho 2019,
//! <https://arxiv.org/abs/1901.04085>), in the layout of cross-encoder/ms-marco-MiniLM-L-6-v2.
//!
//! The checkpoint directory contains `config.json`, `model.safetensors` and `tokenizer.json` in the form in which Hugging Face's
//! BertForSequenceClassification with one label writes them. The scores agree with those of sentence-transformers' CrossEncoder within 1e-4
//! (tests/it/cross.rs).

use std::path::Path;

use anyhow::{Context, Result, ensure};
use riposte_nn::checkpoint::Checkpoint;
use riposte_nn::conv::Numeric;
use riposte_nn::tokens::{Input, Tokenizer};
use riposte_nn::transformer::bert::{BertConfig, WITH_HEAD};
use riposte_nn::transformer::kept::LayerCache;
use riposte_nn::transformer::text::TextEncoder;
use riposte_nn::transformer::{
    EncoderBackend, LinearLayer, TensorSource, calibration, expected_affine,
};

/// How the names of all cross-encoders begin as producers.
pub(super) const PRODUCERS: &str = "cross/";

/// A part of the producer's name. It must change whenever the same checkpoint would give other scores.
const VERSION: u32 = 4;

const POOLER: &str = "bert.pooler.dense";
const CLASSIFIER: &str = "classifier";

/// A loaded model. Several threads can call its methods at the same time.
pub struct CrossEncoder {
    tokenizer: Tokenizer,
    bert: TextEncoder,
    pooler: LinearLayer,
    classifier: LinearLayer,
}

impl CrossEncoder {
    /// Loads the checkpoint in `dir`.
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration is invalid, there is more than one label, or a tensor is missing or has another shape or
    /// number type than the configuration says. These errors are found before weights are read, and the message names them.
    pub fn load(dir: &Path, backend: EncoderBackend) -> Result<Self> {
        Self::load_kept(dir, backend, None)
    }

    /// As [`CrossEncoder::load`]; the packed layers are taken from `keep`, or kept there.
    ///
    /// # Errors
    /// Those of [`CrossEncoder::load`].
    pub fn load_kept(
        dir: &Path,
        backend: EncoderBackend,
        keep: Option<&dyn LayerCache>,
    ) -> Result<Self> {
        Self::load_from(dir, backend, keep)
            .with_context(|| format!("loading the cross-encoder from {}", dir.display()))
    }

    fn load_from(
        dir: &Path,
        backend: EncoderBackend,
        keep: Option<&dyn LayerCache>,
    ) -> Result<Self> {
        let config = BertConfig::read(dir)?;
        let hidden = config.hidden_size;
        let max_tokens = crate::limits::MAX_CROSS_TOKENS.min(config.max_position_embeddings);
        let tokenizer = Tokenizer::read(dir, Input::Pair, max_tokens, config.vocab_size)?;
        let model = config.describe(&WITH_HEAD);
        let mut expected = model.expected_tensors();
        expected.extend(expected_affine(POOLER, vec![hidden, hidden]));
        expected.extend(expected_affine(CLASSIFIER, vec![1, hidden]));
        let checkpoint = Checkpoint::open(dir, &expected)?;
        let linear = |name: &str, out: usize| -> Result<LinearLayer> {
            let weight = checkpoint.tensor(&format!("{name}.weight"))?;
            let bias = checkpoint.tensor(&format!("{name}.bias"))?;
            Ok(LinearLayer::new(&weight, out, Some(&bias))?)
        };
        let calibration = tokenizer.encode(calibration::pairs())?;
        Ok(CrossEncoder {
            tokenizer,
            bert: TextEncoder::read(&model, max_tokens, &checkpoint, backend, &calibration, keep)?,
            pooler: linear(POOLER, hidden)?,
            classifier: linear(CLASSIFIER, 1)?,
        })
    }

    /// The name under which the scores of the checkpoint with this sha256 are stored: model, version and checkpoint. Scores of different producers must not be
    /// compared.
    pub fn producer_of(sha: &str) -> String {
        format!("{PRODUCERS}{VERSION} {sha}")
    }

    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        self.bert.numeric()
    }

    /// How well each text answers the topic, in the given order: the model's logit, which can be any finite number; higher is better.
    ///
    /// Topic and text together are truncated to 512 tokens, including the three special tokens, at the end of the longer of the two, as in
    /// sentence-transformers. A topic of up to 254 tokens is not truncated. (If both have more than 512 tokens, the text keeps the odd token; in
    /// sentence-transformers, the longer of the two keeps it, because tokenizers 0.23.2 stops counting there.)
    ///
    /// By the packed backend, the score of a text does not depend on the other texts.
    ///
    /// # Errors
    /// The tokenizer or the device fails, or a score is not finite.
    pub fn score(&self, topic: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let pairs = texts.iter().map(|&text| (topic, text));
        let tokens = self.tokenizer.encode(pairs).map_err(anyhow::Error::from);
        let scores = tokens.and_then(|tokens| {
            self.bert.classify(&tokens, |firsts| {
                let mut pooled = self.pooler.forward(firsts)?;
                riposte_nn::tanh(&mut pooled);
                let logits = self.classifier.forward(&pooled)?;
                ensure!(
                    logits.iter().all(|logit| logit.is_finite()),
                    "a score is not a finite number: the weights are damaged"
                );
                Ok(logits)
            })
        });
        scores.with_context(|| format!("scoring {} texts with the cross-encoder", texts.len()))
    }
}
