//! Encoders of texts: from tokens to the rows of the last layer. A [`TextEncoderSpec`] says what distinguishes a model from the others.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::kept::LayerCache;
use super::packed::{self, LayerNorm};
use super::relative::BUCKETS;
use super::source::CheckedSource;
use super::{
    Attention, EncoderBackend, EncoderConfig, EncoderLayers, LayerNames, RelativeBias,
    TensorSource, WantedRows, check_size, expected_affine, expected_tensors, row,
};
use crate::checkpoint::{EmbeddingTable, ExpectedTensor, read_json};
use crate::conv::Numeric;
use crate::error::{Error, Result, While, bail, ensure};
use crate::tokens::Encoding;

/// Token types that are used: for the first and the second text of a pair.
const TOKEN_TYPES: usize = 2;

/// `config.json` of a checkpoint directory. [`super::bert`] and its neighbours say what it means.
pub struct CheckpointConfig {
    path: PathBuf,
    value: Value,
}

impl CheckpointConfig {
    /// Reads `config.json` in `dir`.
    ///
    /// # Errors
    /// The file is missing or damaged.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("config.json");
        let value = read_json(&path)?;
        Ok(CheckpointConfig { path, value })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All settings.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// `model_type`, if there is one.
    pub fn kind(&self) -> Option<&str> {
        self.value.get("model_type")?.as_str()
    }

    /// Refuses models of other kinds. A file without a kind is one of the first, before Hugging Face wrote it.
    ///
    /// # Errors
    /// `model_type` is none of these.
    pub fn ensure_kind(&self, kinds: &[&str]) -> Result<()> {
        let Some(kind) = self.kind() else {
            return Ok(());
        };
        ensure!(
            kinds.contains(&kind),
            Model,
            "{}: model_type is {kind:?}: expected {}",
            self.path.display(),
            kinds.join(", ")
        );
        Ok(())
    }

    /// The settings of one kind of model.
    ///
    /// # Errors
    /// A setting has another type, or it asks for something that no model here does.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let parsing = || format!("parsing {}", self.path.display());
        self.refuse_variants().during(parsing)?;
        T::deserialize(&self.value)
            .map_err(|error| Error::Model(error.to_string()))
            .during(parsing)
    }

    /// Settings that change what all models of a kind compute.
    fn refuse_variants(&self) -> Result<()> {
        let set = |name: &str| self.value.get(name).filter(|value| !value.is_null());
        if let Some(kind) = set("position_embedding_type")
            && *kind != "absolute"
        {
            bail!(
                Model,
                "position_embedding_type is {kind}: expected absolute"
            );
        }
        for name in ["is_decoder", "add_cross_attention"] {
            if let Some(value) = set(name)
                && *value != Value::Bool(false)
            {
                bail!(Model, "{name} is {value}: expected false");
            }
        }
        if set("quantization_config").is_some() {
            bail!(
                Model,
                "quantization_config: a quantised checkpoint cannot be read; take the one in floats"
            );
        }
        Ok(())
    }

    /// Refuses sizes that no model has.
    ///
    /// # Errors
    /// A size in the description is out of range.
    pub fn check(&self, description: &TextEncoderSpec) -> Result<()> {
        description
            .check()
            .during(|| format!("reading {}", self.path.display()))
    }
}

/// What distinguishes an encoder of texts from others: its sizes, and the names of its tensors.
#[derive(Clone)]
pub struct TextEncoderSpec {
    pub(super) encoder: EncoderConfig,
    pub(super) layers: LayerNames,
    /// The embedding of tokens, (vocabulary, hidden), and the size of the vocabulary.
    pub(super) words: (String, usize),
    /// The embedding of positions, (positions, hidden), and their number.
    pub(super) positions: (String, usize),
    /// The embedding of token types, (types, hidden), and their number; `None` if the model has none.
    pub(super) types: Option<(String, usize)>,
    /// The layer norm of the sum of the embeddings.
    pub(super) norm: String,
    /// Positions begin after this id, as in RoBERTa; a padding token in a text has the id itself as its position, and is not counted. `None`:
    /// positions begin with 0.
    pub(super) padding: Option<usize>,
    /// The embedding of distances, (buckets, heads); `None` if attention does not depend on distance.
    pub(super) distances: Option<String>,
}

impl TextEncoderSpec {
    /// The number of tokens in the vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.words.1
    }

    /// The length of a token's row.
    pub fn hidden(&self) -> usize {
        self.encoder.hidden
    }

    /// The number of tokens of the longest text.
    pub fn max_tokens(&self) -> usize {
        self.positions.1 - self.first_position()
    }

    fn first_position(&self) -> usize {
        self.padding.map_or(0, |padding| padding + 1)
    }

    fn check(&self) -> Result<()> {
        check_size("vocab_size", self.words.1)?;
        check_size("max_position_embeddings", self.positions.1)?;
        if let Some((_, types)) = &self.types {
            check_size("type_vocab_size", *types)?;
        }
        if let Some(padding) = self.padding {
            ensure!(
                padding < self.positions.1.saturating_sub(1).min(self.words.1),
                Model,
                "pad_token_id is {padding}, but there are {} tokens and {} positions",
                self.words.1,
                self.positions.1
            );
        }
        self.encoder.check()
    }

    /// The tensors that the model needs, with their shapes.
    pub fn expected_tensors(&self) -> Vec<ExpectedTensor> {
        let hidden = self.encoder.hidden;
        let (words, positions) = (&self.words, &self.positions);
        let mut all: Vec<ExpectedTensor> = [Some(words), Some(positions), self.types.as_ref()]
            .into_iter()
            .flatten()
            .map(|(name, rows)| (name.clone(), vec![*rows, hidden]))
            .collect();
        if let Some(name) = &self.distances {
            all.push((name.clone(), vec![BUCKETS, self.encoder.heads]));
        }
        all.extend(expected_affine(&self.norm, vec![hidden]));
        all.extend(expected_tensors(&self.encoder, &self.layers));
        all
    }

    /// The embedding of the first positions with that of token types added: (types × `count`, hidden). The row of a token is its type times
    /// `count`, plus its position.
    ///
    /// # Errors
    /// `source` fails.
    pub fn typed_positions(&self, count: usize, source: &impl TensorSource) -> Result<Vec<f32>> {
        let hidden = self.encoder.hidden;
        let mut positions = source.tensor(&self.positions.0)?;
        let Some((types, _)) = &self.types else {
            positions.truncate(count.saturating_mul(hidden));
            return Ok(positions);
        };
        let types = source.tensor(types)?;
        let positions: Vec<&[f32]> = positions.chunks(hidden).take(count).collect();
        let types = types.chunks(hidden).take(TOKEN_TYPES);
        Ok(types
            .flat_map(|kind| {
                positions
                    .iter()
                    .flat_map(move |row| row.iter().zip(kind).map(|(p, k)| p + k))
            })
            .collect())
    }
}

/// A loaded encoder of texts. Its methods can be called from several threads.
///
/// On the CPU the result for a text does not depend on the texts beside it.
pub struct TextEncoder {
    encoder: EncoderLayers,
    embeddings: Embeddings,
    bias: Option<RelativeBias>,
}

/// Turns tokens into the rows that the first layer reads.
struct Embeddings {
    hidden: usize,
    vocabulary: usize,
    max_tokens: usize,
    types: usize,
    /// (vocabulary, hidden)
    words: EmbeddingTable,
    /// As [`TextEncoderSpec::typed_positions`] makes it.
    positions: Vec<f32>,
    /// The number of positions: each token type has as many rows in `positions`.
    count: usize,
    /// As in the [`TextEncoderSpec`].
    padding: Option<usize>,
    norm: LayerNorm,
}

impl TextEncoder {
    /// Reads a model from `source`, with tensors as [`TextEncoderSpec::expected_tensors`] lists them. `max_tokens`: the length of the longest text, at
    /// most [`TextEncoderSpec::max_tokens`]. `calibration`: texts that decide how the model is quantised, if `backend` is [`EncoderBackend::Auto`]; its layers are
    /// then taken from `keep`, or kept there.
    ///
    /// # Errors
    /// A size in the description is out of range, `source` fails or has a tensor of another size, a token is not one of the model's, or a given
    /// backend fails.
    pub fn read(
        description: &TextEncoderSpec,
        max_tokens: usize,
        source: &impl TensorSource,
        backend: EncoderBackend,
        calibration: &[Encoding],
        keep: Option<&dyn LayerCache>,
    ) -> Result<Self> {
        description.check()?;
        let source = &CheckedSource::new(source, description.expected_tensors());
        let encoder = &description.encoder;
        let max_tokens = max_tokens.min(description.max_tokens());
        let count = description.first_position() + max_tokens;
        let types = description.types.as_ref();
        let embeddings = Embeddings {
            hidden: encoder.hidden,
            vocabulary: description.vocabulary(),
            max_tokens,
            types: types.map_or(1, |(_, types)| (*types).min(TOKEN_TYPES)),
            words: source.table(&description.words.0)?,
            positions: description.typed_positions(count, source)?,
            count,
            padding: description.padding,
            norm: LayerNorm::read(source, &description.norm, encoder.epsilon)?,
        };
        let bias = match &description.distances {
            Some(name) => {
                let embedding = source.tensor(name)?;
                Some(RelativeBias::new(&embedding, encoder.heads, max_tokens)?)
            }
            None => None,
        };
        let lengths: Vec<usize> = calibration.iter().map(Encoding::len).collect();
        let mut calibration = packed::CalibrationRows {
            rows: embeddings.of(calibration.iter())?,
            sequences: packed::Sequence::of(&lengths),
            attention: attention(bias.as_ref()),
        };
        let calibration = Some(&mut calibration);
        let encoder = EncoderLayers::read(
            encoder,
            &description.layers,
            source,
            backend,
            calibration,
            keep,
        )?;
        Ok(TextEncoder {
            encoder,
            embeddings,
            bias,
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
            head(&self.forward(x, lengths, WantedRows::OneEach(&firsts))?)
        })
    }

    /// The last layer's row of each text's first token, (hidden) each, in the order of the texts.
    ///
    /// # Errors
    /// As for [`TextEncoder::classify`].
    pub fn firsts(&self, texts: &[Encoding]) -> Result<Vec<Vec<f32>>> {
        self.classify(texts, |rows| Ok(self.separate(rows)))
    }

    /// The last layer's row of each text's last token, (hidden) each, in the order of the texts.
    ///
    /// # Errors
    /// As for [`TextEncoder::classify`].
    pub fn lasts(&self, texts: &[Encoding]) -> Result<Vec<Vec<f32>>> {
        self.in_batches(texts, |x, lengths| {
            let lasts: Vec<usize> = lengths.iter().map(|n| n.saturating_sub(1)).collect();
            let rows = self.forward(x, lengths, WantedRows::OneEach(&lasts))?;
            Ok(self.separate(&rows))
        })
    }

    /// The mean of the last layer's rows of each text, (hidden) each, in the order of the texts.
    ///
    /// # Errors
    /// As for [`TextEncoder::classify`].
    pub fn means(&self, texts: &[Encoding]) -> Result<Vec<Vec<f32>>> {
        self.in_batches(texts, |x, lengths| {
            let rows = self.forward(x, lengths, WantedRows::All)?;
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

    fn separate(&self, rows: &[f32]) -> Vec<Vec<f32>> {
        let rows = rows.chunks(self.embeddings.hidden);
        rows.map(<[f32]>::to_vec).collect()
    }

    fn forward(&self, x: Vec<f32>, lengths: &[usize], rows: WantedRows) -> Result<Vec<f32>> {
        self.encoder
            .forward(x, lengths, rows, attention(self.bias.as_ref()))
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

fn attention(bias: Option<&RelativeBias>) -> Attention<'_> {
    bias.map_or(Attention::Full, Attention::Relative)
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
        let mut next = self.padding.map_or(0, |padding| padding + 1);
        for (&id, &kind) in text.get_ids().iter().zip(text.get_type_ids()) {
            let word = self.words.row(id as usize)?.ok_or_else(|| {
                Error::Input(format!(
                    "the tokenizer gives token {id}, but the model has {} tokens",
                    self.vocabulary
                ))
            })?;
            let kind = kind as usize;
            ensure!(
                kind < self.types,
                Input,
                "the tokenizer gives token type {kind}, but the model has {} types",
                self.types
            );
            let position = match self.padding {
                Some(padding) if padding == id as usize => padding,
                _ => {
                    next += 1;
                    next - 1
                }
            };
            let position = row(&self.positions, self.hidden, kind * self.count + position)
                .ok_or_else(|| Error::Input("the model has too few positions".to_owned()))?;
            x.extend(word.iter().zip(position).map(|(w, p)| w + p));
        }
        Ok(())
    }
}
