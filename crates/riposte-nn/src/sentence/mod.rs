//! Sentence encoders: texts as vectors of unit length, for comparing them by cosine (Reimers and Gurevych 2019,
//! <https://arxiv.org/abs/1908.10084>), from checkpoints in the layout of sentence-transformers.

mod layout;
mod other;

use std::borrow::Cow;
use std::path::Path;

use other::AnyEncoder;

pub use layout::{Layout, Pooling};
pub use other::{OpenedEncoder, OtherFamilies, TokenRows};

use crate::checkpoint::Checkpoint;
use crate::conv::Numeric;
use crate::error::{Error, Result};
use crate::normalise;
use crate::tokens::{Encoding, Input, Tokenizer};
use crate::transformer::kept::LayerCache;
use crate::transformer::text::{CheckpointConfig, TextEncoder};
use crate::transformer::{EncoderBackend, calibration, family};

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
    encoder: AnyEncoder,
    layout: Layout,
    dimension: usize,
}

impl SentenceEncoder {
    /// Loads the checkpoint in `dir`: a BERT, an MPNet or an XLM-RoBERTa.
    ///
    /// # Errors
    /// A file is missing or damaged, the configuration makes no sense or asks for something that is not computed here, or a tensor is missing or has
    /// another shape or number type than the configuration says. All of this is found before weights are read, and the message names it.
    pub fn load(dir: &Path, backend: EncoderBackend) -> Result<Self> {
        let none = OtherFamilies {
            kinds: &[],
            open: |_, dir| {
                let dir = dir.display();
                Err(Error::Model(format!("{dir} has a model of another family")))
            },
        };
        Self::load_any(dir, backend, none, None)
    }

    /// As [`SentenceEncoder::load`], for the families of `others`, too. `backend` computes only this crate's families, whose packed layers are taken
    /// from `keep`, or kept there.
    ///
    /// # Errors
    /// As for [`SentenceEncoder::load`].
    pub fn load_any(
        dir: &Path,
        backend: EncoderBackend,
        others: OtherFamilies,
        keep: Option<&dyn LayerCache>,
    ) -> Result<Self> {
        let layout = Layout::read(dir)?;
        let dir = &dir.join(&layout.transformer);
        let config = CheckpointConfig::read(dir)?;
        let kind = config.kind().filter(|kind| others.kinds.contains(kind));
        if kind.is_some() {
            return Self::load_other(dir, layout, (others.open)(&config, dir)?);
        }
        let model = family::describe(&config, others.kinds)?;
        let (vocabulary, dimension) = (model.vocabulary(), model.hidden());
        let tokenizer = tokenizer(dir, &layout, model.max_tokens(), vocabulary, dimension)?;
        let checkpoint = Checkpoint::open(dir, &model.expected_tensors())?;
        let calibration = tokenizer.encode(calibration::texts())?;
        let max_tokens = layout.longest(model.max_tokens());
        let encoder =
            TextEncoder::read(&model, max_tokens, &checkpoint, backend, &calibration, keep)?;
        Ok(SentenceEncoder {
            tokenizer,
            encoder: AnyEncoder::Own(Box::new(encoder)),
            layout,
            dimension,
        })
    }

    fn load_other(dir: &Path, layout: Layout, model: OpenedEncoder) -> Result<Self> {
        let (vocabulary, hidden) = (model.vocabulary, model.hidden);
        let tokenizer = tokenizer(dir, &layout, model.max_tokens, vocabulary, hidden)?;
        let max_tokens = layout.longest(model.max_tokens);
        Ok(SentenceEncoder {
            tokenizer,
            encoder: AnyEncoder::Other {
                rows: (model.read)(max_tokens)?,
                vocabulary,
                hidden,
                max_tokens,
            },
            layout,
            dimension: hidden,
        })
    }

    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        self.encoder.numeric()
    }

    /// Whether other code than this crate's computes it ([`SentenceEncoder::load_any`]).
    pub fn is_of_others(&self) -> bool {
        matches!(self.encoder, AnyEncoder::Other { .. })
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
        let mut vectors = self.encoder.pooled(&tokens, self.layout.pooling)?;
        vectors.iter_mut().for_each(|vector| normalise(vector));
        Ok(vectors)
    }
}

/// The tokenizer of a checkpoint, which cuts texts to what the layout and the transformer allow.
fn tokenizer(
    dir: &Path,
    layout: &Layout,
    max_tokens: usize,
    vocabulary: usize,
    hidden: usize,
) -> Result<Tokenizer> {
    layout.check_width(hidden)?;
    let longest = layout.longest(max_tokens);
    let mut tokenizer = Tokenizer::read(dir, Input::Single, longest, vocabulary)?;
    if layout.lower_case {
        tokenizer.lower_case()?;
    }
    Ok(tokenizer)
}
