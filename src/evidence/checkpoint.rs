//! A checkpoint directory of the Hugging Face layout: `config.json`, `model.safetensors`, `tokenizer.json`.
//!
//! Names, shapes and number types are read from the header of the safetensors file and compared with what
//! the configuration asks for before a single weight is read: candle's own loaders fill some missing tensors
//! with random numbers, and a model that silently guesses is worse than none.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::de::DeserializeOwned;
use tokenizers::{PostProcessor, Tokenizer, TruncationParams};

/// Larger headers are refused, as the safetensors library refuses them.
const MAX_HEADER: u64 = 100_000_000;

/// A tensor that a model needs: its name and its shape, outermost axis first.
pub(super) type Expected = (String, Vec<usize>);

/// An open `model.safetensors` whose header holds every expected tensor in its expected shape.
pub(super) struct Checkpoint {
    path: PathBuf,
    file: File,
    /// Where the tensors' bytes begin; their offsets count from here.
    data: u64,
    tensors: HashMap<String, TensorInfo>,
}

impl Checkpoint {
    /// Opens `model.safetensors` in `dir` and compares its header with `expected`; weights are not read yet.
    ///
    /// Tensors beyond `expected` are ignored (published checkpoints carry position ids and the like).
    pub(super) fn open(dir: &Path, expected: &[Expected]) -> Result<Self> {
        let path = dir.join("model.safetensors");
        let mut file = File::open(&path).with_context(|| format!("opening {}", path.display()))?;
        let (header, data) = read_header(&mut file)
            .with_context(|| format!("reading the header of {}", path.display()))?;
        let tensors = expected
            .iter()
            .map(|(name, shape)| {
                let info = header.info(name).with_context(|| {
                    format!("tensor {name} is missing: expected shape {shape:?}")
                })?;
                ensure!(
                    info.shape == *shape,
                    "tensor {name} has shape {:?}: expected {shape:?}",
                    info.shape
                );
                ensure!(
                    float(info.dtype).is_some(),
                    "tensor {name} holds {:?}: expected F32, F16 or BF16",
                    info.dtype
                );
                Ok((name.clone(), info.clone()))
            })
            .collect::<Result<_>>()
            .with_context(|| format!("comparing {} with its config.json", path.display()))?;
        Ok(Checkpoint {
            path,
            file,
            data,
            tensors,
        })
    }

    /// Reads one of the expected tensors, widened to f32.
    ///
    /// One at a time from the file, so that loading needs no second copy of the weights.
    pub(super) fn read(&mut self, name: &str, device: &Device) -> Result<Tensor> {
        self.read_on(name, device)
            .with_context(|| format!("reading tensor {name} of {}", self.path.display()))
    }

    fn read_on(&mut self, name: &str, device: &Device) -> Result<Tensor> {
        let info = self.tensors.get(name).context("it was not asked for")?;
        let dtype = float(info.dtype).context("its number type is not a float")?;
        let (from, to) = info.data_offsets;
        self.file.seek(SeekFrom::Start(self.data + from as u64))?;
        let mut bytes = vec![0; to - from];
        self.file.read_exact(&mut bytes)?;
        let tensor = Tensor::from_raw_buffer(&bytes, dtype, &info.shape, &Device::Cpu)?;
        Ok(tensor.to_dtype(DType::F32)?.to_device(device)?)
    }
}

/// The header of a safetensors file (<https://github.com/huggingface/safetensors>, "Format": a little-endian
/// u64, that many bytes of JSON, the tensors' bytes without gaps), and where the tensors' bytes begin.
fn read_header(file: &mut File) -> Result<(Metadata, u64)> {
    let bytes = file.metadata()?.len();
    let mut length = [0; 8];
    file.read_exact(&mut length)
        .with_context(|| format!("it ends after {bytes} bytes, inside the header"))?;
    let length = u64::from_le_bytes(length);
    ensure!(
        length <= MAX_HEADER,
        "it claims a header of {length} bytes: not a safetensors file"
    );
    let data = 8 + length;
    ensure!(
        data <= bytes,
        "it ends after {bytes} bytes, inside the header"
    );
    let mut json = vec![0; length as usize];
    file.read_exact(&mut json)?;
    let header: Metadata =
        serde_json::from_slice(&json).context("parsing the header, which is JSON")?;
    let expected = data + header.data_len() as u64;
    ensure!(
        bytes == expected,
        "it has {bytes} bytes where its header announces {expected}: truncated or damaged"
    );
    Ok((header, data))
}

/// The number types that are widened to f32; others mean a quantised or foreign checkpoint.
fn float(dtype: Dtype) -> Option<DType> {
    match dtype {
        Dtype::F32 => Some(DType::F32),
        Dtype::F16 => Some(DType::F16),
        Dtype::BF16 => Some(DType::BF16),
        _ => None,
    }
}

/// Parses a JSON file of a checkpoint directory.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("parsing {}", path.display()))
}

/// What goes through a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Texts {
    Single,
    Pairs,
}

/// The tokenizer of `dir`, cutting texts to `tokens` (the special ones counted in; pairs: both together, from the end of
/// the longer one) and padding none.
///
/// It must add tokens of its own, so that an empty text has some, and its vocabulary must fit the `vocabulary` rows of
/// the model's table: a larger id would read past it.
pub(super) fn read_tokenizer(
    dir: &Path,
    texts: Texts,
    tokens: usize,
    vocabulary: usize,
) -> Result<Tokenizer> {
    let path = dir.join("tokenizer.json");
    // The library's error is a boxed `dyn Error` that anyhow cannot wrap.
    let said = |error: tokenizers::Error| anyhow::anyhow!("{error}");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut tokenizer: Tokenizer = text
        .parse()
        .map_err(said)
        .with_context(|| format!("parsing {}", path.display()))?;
    let largest = tokenizer.get_vocab(true).into_values().max();
    if let Some(largest) = largest.filter(|&id| id as usize >= vocabulary) {
        bail!(
            "{} knows token {largest}, but the model has {vocabulary} (vocab_size in config.json)",
            path.display()
        );
    }
    let count = |is_pair| {
        let processor = tokenizer.get_post_processor();
        processor.map_or(0, |processor| processor.added_tokens(is_pair))
    };
    // The library subtracts both numbers from the length without looking: of a single text when it is set up.
    let mut added = vec![count(false)];
    if texts == Texts::Pairs {
        added.push(count(true));
    }
    for added in added {
        ensure!(
            (1..tokens).contains(&added),
            "cutting texts to {tokens} tokens with {}: it adds {added} special tokens",
            path.display()
        );
    }
    tokenizer
        .with_padding(None)
        .with_truncation(Some(TruncationParams {
            max_length: tokens,
            ..Default::default()
        }))
        .map_err(said)
        .with_context(|| format!("cutting texts to {tokens} tokens with {}", path.display()))?;
    Ok(tokenizer)
}

/// The first CUDA device where the cargo feature `cuda` is on and there is one; the CPU otherwise.
pub(super) fn device() -> Device {
    #[cfg(feature = "cuda")]
    if let Ok(device) = Device::new_cuda(0) {
        return device;
    }
    Device::Cpu
}
