//! Sentence encoders: texts as vectors of unit length, for comparing them by cosine (Reimers and Gurevych 2019,
//! <https://arxiv.org/abs/1908.10084>), from checkpoints in the layout of sentence-transformers.

mod layout;

use std::borrow::Cow;
use std::path::Path;

pub use layout::{Layout, Pooling};

use crate::checkpoint::Checkpoint;
use crate::conv::Numeric;
use crate::error::Result;
use crate::normalise;
use crate::tokens::{Encoding, Input, Tokenizer};
use crate::transformer::text::TextEncoder;
use crate::transformer::{Backend, examples, family};

/// What a text is for. Some models were trained with another prompt before each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It asks for documents.
    Query,
    /// It is found by queries, or compared with texts of its own kind.
    Document,
}

/// A loaded model. Several threads can call its methods at the same time.
pub struct SentenceEncoder {
    tokenizer: Tokenizer,
    encoder: TextEncoder,
    layout: Layout,
    dimension: usize,
}

impl SentenceEncoder {
    /// Loads the checkpoint in `dir`: a BERT, an MPNet or an XLM-RoBERTa ([`family`]).
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration makes no sense or asks for something that is not computed here, or a tensor is missing or has
    /// another shape or number type than the configuration says. All of this is found before weights are read, and the message names it.
    pub fn load(dir: &Path, backend: Backend) -> Result<Self> {
        let layout = Layout::read(dir)?;
        let dir = &dir.join(&layout.transformer);
        let model = family::describe(dir)?;
        layout.check_width(model.hidden())?;
        let max_tokens = layout.max_tokens.unwrap_or(usize::MAX);
        let max_tokens = max_tokens.min(model.max_tokens());
        let mut tokenizer = Tokenizer::read(dir, Input::Single, max_tokens, model.vocabulary())?;
        if layout.lower_case {
            tokenizer.lower_case()?;
        }
        let checkpoint = Checkpoint::open(dir, &model.expected_tensors())?;
        let examples = tokenizer.encode(examples::texts())?;
        Ok(SentenceEncoder {
            tokenizer,
            encoder: TextEncoder::read(&model, max_tokens, &checkpoint, backend, &examples)?,
            layout,
            dimension: model.hidden(),
        })
    }

    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        self.encoder.numeric()
    }

    /// What the files of the checkpoint say about the model.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The length of every vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The tokens of each text, in the order given, without a prompt, and cut to what the model reads.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn tokens(&self, texts: &[&str]) -> Result<Vec<Encoding>> {
        self.tokenizer.encode(texts.iter().copied())
    }

    /// A vector of unit length for each text, in the given order. Texts are cut to the number of tokens that the layout says. An empty text has the
    /// vector of the special tokens and the prompt, as in sentence-transformers.
    ///
    /// On the CPU, a text's vector does not depend on the other texts.
    ///
    /// # Errors
    /// The tokenizer or the backend fails.
    pub fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>> {
        let prompt = self.layout.prompt(purpose);
        let prompted = texts.iter().map(|&text| match prompt {
            "" => Cow::Borrowed(text),
            prompt => Cow::Owned(format!("{prompt}{text}")),
        });
        let tokens = self.tokenizer.encode(prompted)?;
        let mut vectors = match self.layout.pooling {
            Pooling::Mean => self.encoder.means(&tokens),
            Pooling::First => self.encoder.firsts(&tokens),
            Pooling::Last => self.encoder.lasts(&tokens),
        }?;
        vectors.iter_mut().for_each(|vector| normalise(vector));
        Ok(vectors)
    }
}
