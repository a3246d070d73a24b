//! BERT (Devlin et al. 2019, <https://arxiv.org/abs/1810.04805>): from tokens to the rows of the last layer.

use std::path::Path;

use serde::Deserialize;

use super::packed::{self, Norm};
use super::source::Checked;
use super::{
    Activation, Attention, Backend, Encoder, EncoderConfig, LayerNames, NormOrder, Rows,
    TensorSource, check_size, expected_affine, expected_tensors, row,
};
use crate::checkpoint::{ExpectedTensor, Table, read_json};
use crate::conv::Numeric;
use crate::error::{Error, Result, While, ensure};
use crate::tokens::Encoding;

/// Token types with which BERT was trained: for the first and the second text of a pair.
const TOKEN_TYPES: usize = 2;

/// The names of BERT's tensors in a checkpoint.
pub struct BertNames {
    embeddings: &'static str,
    /// The names of the layers.
    pub layers: LayerNames,
}

/// The names in a checkpoint that contains only BERT.
pub const BARE: BertNames = BertNames {
    embeddings: "embeddings",
    layers: LayerNames {
        layers: "encoder.layer",
        query: "attention.self.query",
        key: "attention.self.key",
        value: "attention.self.value",
        output: "attention.output.dense",
        attention_norm: "attention.output.LayerNorm",
        up: "intermediate.dense",
        down: "output.dense",
        mlp_norm: "output.LayerNorm",
    },
};

/// The names in a checkpoint that contains BERT and a head.
pub const WITH_HEAD: BertNames = BertNames {
    embeddings: "bert.embeddings",
    layers: LayerNames {
        layers: "bert.encoder.layer",
        ..BARE.layers
    },
};

impl BertNames {
    /// The embedding of tokens, (vocabulary, hidden).
    pub fn words(&self) -> String {
        format!("{}.word_embeddings.weight", self.embeddings)
    }

    /// The embedding of positions, (positions, hidden).
    pub fn positions(&self) -> String {
        format!("{}.position_embeddings.weight", self.embeddings)
    }

    /// The embedding of token types, (types, hidden).
    pub fn types(&self) -> String {
        format!("{}.token_type_embeddings.weight", self.embeddings)
    }

    /// The layer norm of the sum of the embeddings.
    pub fn norm(&self) -> String {
        format!("{}.LayerNorm", self.embeddings)
    }
}

/// `config.json`. Missing values are those of Hugging Face's BertConfig.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct BertConfig {
    /// The number of tokens.
    pub vocab_size: usize,
    /// The length of a token's row.
    pub hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    /// The number of tokens of the longest text.
    pub max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
}

impl Default for BertConfig {
    fn default() -> Self {
        BertConfig {
            vocab_size: 30522,
            hidden_size: 768,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            intermediate_size: 3072,
            hidden_act: Activation::Gelu,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
        }
    }
}

impl BertConfig {
    /// Reads and checks `config.json` in `dir`.
    ///
    /// # Errors
    /// The file is missing or damaged, or a size is out of range.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("config.json");
        let config: BertConfig = read_json(&path)?;
        config
            .check()
            .during(|| format!("reading {}", path.display()))?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        check_size("vocab_size", self.vocab_size)?;
        check_size("max_position_embeddings", self.max_position_embeddings)?;
        check_size("type_vocab_size", self.type_vocab_size)?;
        self.encoder().check()
    }

    /// The part that describes the layers.
    pub fn encoder(&self) -> EncoderConfig {
        EncoderConfig {
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            epsilon: self.layer_norm_eps,
            activation: self.hidden_act,
            norms: NormOrder::After,
        }
    }

    /// The tensors that the model needs, with their shapes.
    pub fn expected_tensors(&self, names: &BertNames) -> Vec<ExpectedTensor> {
        let hidden = self.hidden_size;
        let mut all = vec![
            (names.words(), vec![self.vocab_size, hidden]),
            (
                names.positions(),
                vec![self.max_position_embeddings, hidden],
            ),
            (names.types(), vec![self.type_vocab_size, hidden]),
        ];
        all.extend(expected_affine(&names.norm(), vec![hidden]));
        all.extend(expected_tensors(&self.encoder(), &names.layers));
        all
    }
}

/// The embedding of positions with that of token types added: (types × `max_tokens`, hidden). The row of a token is its type times
/// `max_tokens`, plus its position.
///
/// # Errors
/// `source` fails.
pub fn typed_positions(
    config: &BertConfig,
    names: &BertNames,
    max_tokens: usize,
    source: &impl TensorSource,
) -> Result<Vec<f32>> {
    let hidden = config.hidden_size;
    let types = source.tensor(&names.types())?;
    let positions = source.tensor(&names.positions())?;
    let positions: Vec<&[f32]> = positions.chunks(hidden).take(max_tokens).collect();
    let types = types.chunks(hidden).take(TOKEN_TYPES);
    Ok(types
        .flat_map(|kind| {
            positions
                .iter()
                .flat_map(move |row| row.iter().zip(kind).map(|(p, k)| p + k))
        })
        .collect())
}

/// A loaded BERT. Its methods can be called from several threads.
///
/// On the CPU the result for a text does not depend on the texts beside it.
pub struct Bert {
    encoder: Encoder,
    embeddings: Embeddings,
}

/// Turns tokens into the rows that the first layer reads.
struct Embeddings {
    hidden: usize,
    vocabulary: usize,
    max_tokens: usize,
    types: usize,
    /// (vocabulary, hidden)
    words: Table,
    /// As [`typed_positions`] makes it.
    positions: Vec<f32>,
    norm: Norm,
}

impl Bert {
    /// Reads a model from `source`, with tensors as [`BertConfig::expected_tensors`] lists them. `max_tokens`: the length of the longest text, at
    /// most the configuration's `max_position_embeddings`. `examples`: texts that decide how the model is quantised, if `backend` is
    /// [`Backend::Auto`].
    ///
    /// # Errors
    /// A size in `config` is out of range, `source` fails or has a tensor of another size, a token is not one of the model's, or a given backend
    /// fails.
    pub fn read(
        config: &BertConfig,
        names: &BertNames,
        max_tokens: usize,
        source: &impl TensorSource,
        backend: Backend,
        examples: &[Encoding],
    ) -> Result<Self> {
        config.check()?;
        let source = &Checked::new(source, config.expected_tensors(names));
        let embeddings = Embeddings {
            hidden: config.hidden_size,
            vocabulary: config.vocab_size,
            max_tokens,
            types: config.type_vocab_size.min(TOKEN_TYPES),
            words: source.table(&names.words())?,
            positions: typed_positions(config, names, max_tokens, source)?,
            norm: Norm::read(source, &names.norm(), config.layer_norm_eps)?,
        };
        let lengths: Vec<usize> = examples.iter().map(Encoding::len).collect();
        let mut examples = packed::Examples {
            rows: embeddings.of(examples.iter())?,
            sequences: packed::Sequence::of(&lengths),
            attention: Attention::Full,
        };
        let encoder = config.encoder();
        let examples = Some(&mut examples);
        let encoder = Encoder::read(&encoder, &names.layers, source, backend, examples)?;
        Ok(Bert {
            encoder,
            embeddings,
        })
    }

    /// Whether any product is computed in int8.
    pub fn numeric(&self) -> Numeric {
        self.encoder.numeric()
    }

    /// Applies `head` to the last layer's rows of the texts' first tokens, \[CLS\]. `head` gets the rows (n, hidden) of a batch and returns n
    /// results. The results are in the order of the texts.
    ///
    /// # Errors
    /// A token is not one of the model's, a given backend fails, or `head` fails.
    pub fn classify<T: Send, E: From<Error> + Send>(
        &self,
        texts: &[Encoding],
        head: impl Fn(&[f32]) -> Result<Vec<T>, E> + Sync,
    ) -> Result<Vec<T>, E> {
        self.in_batches(texts, |x, lengths| {
            let firsts = vec![0; lengths.len()];
            head(
                &self
                    .encoder
                    .forward(x, lengths, Rows::OneEach(&firsts), Attention::Full)?,
            )
        })
    }

    /// The mean of the last layer's rows of each text, (hidden) each, in the order of the texts.
    ///
    /// # Errors
    /// As for [`Bert::classify`].
    pub fn means(&self, texts: &[Encoding]) -> Result<Vec<Vec<f32>>> {
        self.in_batches(texts, |x, lengths| {
            let rows = self
                .encoder
                .forward(x, lengths, Rows::All, Attention::Full)?;
            let hidden = self.embeddings.hidden;
            let mut rows = rows.chunks(hidden);
            let mean = |&length: &usize| {
                let mut mean = vec![0.0; hidden];
                for row in rows.by_ref().take(length) {
                    packed::add(&mut mean, row);
                }
                mean.iter_mut().for_each(|sum| *sum /= length as f32);
                mean
            };
            Ok(lengths.iter().map(mean).collect())
        })
    }

    fn in_batches<T: Send, E: From<Error> + Send>(
        &self,
        texts: &[Encoding],
        compute: impl Fn(Vec<f32>, &[usize]) -> Result<Vec<T>, E> + Sync,
    ) -> Result<Vec<T>, E> {
        let lengths: Vec<usize> = texts.iter().map(Encoding::len).collect();
        self.encoder.in_batches(&lengths, |batch| {
            let x = self.embeddings.of(batch.iter().map(|&n| &texts[n]))?;
            let lengths: Vec<usize> = batch.iter().map(|&n| lengths[n]).collect();
            compute(x, &lengths)
        })
    }
}

impl Embeddings {
    /// The rows of texts, (tokens, hidden), one text after another.
    fn of<'a>(&self, texts: impl Iterator<Item = &'a Encoding>) -> Result<Vec<f32>> {
        let mut x = Vec::new();
        for text in texts {
            self.embed(text, &mut x)?;
        }
        self.norm.forward(&mut x);
        Ok(x)
    }

    /// Appends a text's embeddings. A `tokenizer.json` can contain any ids for the special tokens, so all of them are checked.
    fn embed(&self, text: &Encoding, x: &mut Vec<f32>) -> Result<()> {
        ensure!(
            (1..=self.max_tokens).contains(&text.len()),
            Input,
            "the tokenizer gives {} tokens: expected 1 to {}",
            text.len(),
            self.max_tokens
        );
        for (at, (&id, &kind)) in text.get_ids().iter().zip(text.get_type_ids()).enumerate() {
            let word = self.words.row(id as usize)?.ok_or_else(|| {
                Error::Input(format!(
                    "the tokenizer gives token {id}, but the model has {} tokens",
                    self.vocabulary
                ))
            })?;
            ensure!(
                (kind as usize) < self.types,
                Input,
                "the tokenizer gives token type {kind}, but the model has {} types",
                self.types
            );
            let position = kind as usize * self.max_tokens + at;
            let position = row(&self.positions, self.hidden, position)
                .ok_or_else(|| Error::Input("the model has too few positions".to_owned()))?;
            x.extend(word.iter().zip(position).map(|(w, p)| w + p));
        }
        Ok(())
    }
}
