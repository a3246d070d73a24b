//! A checkpoint directory in the Hugging Face layout: `config.json`, `model.safetensors`, `tokenizer.json`.
//!
//! Before any weight is read, the names, shapes and number types in the header of the safetensors file are compared with what the
//! configuration requires. candle's own loaders fill some missing tensors with random numbers instead.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use half::{bf16, f16};
use memmap2::Mmap;
use safetensors::tensor::Metadata;
use safetensors::{Dtype, SafeTensorError, SafeTensors};
use serde::de::DeserializeOwned;

use crate::error::{Error, Result, While, bail, ensure};
use crate::limits::MAX_TEXT_BYTES;

/// A tensor that a model needs: its name and its shape, outermost axis first.
pub type ExpectedTensor = (String, Vec<usize>);

/// An open `model.safetensors` whose header has every expected tensor in its expected shape.
pub struct Checkpoint {
    path: PathBuf,
    /// The file is read, not mapped: the pages of a map would count as memory of this process, in addition to the packed weights.
    file: Arc<Mutex<File>>,
    /// The offset of the tensors' bytes in the file.
    data: usize,
    header: Metadata,
}

/// The names of a checkpoint's files.
#[derive(Clone, Copy, Debug)]
pub struct FileNames {
    /// The configuration.
    pub config: &'static str,
    /// The weights.
    pub weights: &'static str,
}

impl FileNames {
    /// The names in Hugging Face's layout.
    pub const HUGGING_FACE: FileNames = FileNames {
        config: "config.json",
        weights: "model.safetensors",
    };
}

/// Files of weights that are not read, and why. Their names are those of PyTorch, OpenCLIP and Hugging Face.
const OTHER_WEIGHTS: [(&str, &str); 3] = [
    ("pytorch_model.bin", PICKLE),
    ("open_clip_pytorch_model.bin", PICKLE),
    (
        "model.safetensors.index.json",
        "its weights are in several files, which must be joined first",
    ),
];

const PICKLE: &str = "a pickle, which could run any program: convert it to safetensors";

impl Checkpoint {
    /// Opens `model.safetensors` in `dir` and compares its header with `expected`. Weights are not read yet. Other tensors are ignored:
    /// published checkpoints also contain position ids and the like.
    ///
    /// # Errors
    /// The file is missing or damaged, or a tensor is missing or has another shape or number type; the message names it.
    ///
    /// The file is mapped while its header is read, and it must not change meanwhile. Whoever replaces a model file writes it under another name and
    /// then renames it.
    pub fn open(dir: &Path, expected: &[ExpectedTensor]) -> Result<Self> {
        Self::open_named(dir, FileNames::HUGGING_FACE, expected)
    }

    /// As [`Checkpoint::open`], for files of these names.
    ///
    /// # Errors
    /// As for [`Checkpoint::open`].
    pub fn open_named(dir: &Path, names: FileNames, expected: &[ExpectedTensor]) -> Result<Self> {
        let path = dir.join(names.weights);
        let opening = || format!("opening {}", path.display());
        let file = match open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let other = OTHER_WEIGHTS
                    .iter()
                    .find(|(name, _)| dir.join(name).is_file());
                return Err(other.map_or(Error::Io(error), |(name, why)| {
                    Error::Model(format!("it is missing, and there is only {name}: {why}"))
                }))
                .during(opening);
            }
            opened => opened.during(opening)?,
        };
        let map = map(&file).during(opening)?;
        let (length, header) = SafeTensors::read_metadata(&map)
            .map_err(|error| header_error(error, map.len()))
            .during(|| format!("reading the header of {}", path.display()))?;
        check(&header, expected).during(|| comparing(&path, names))?;
        Ok(Checkpoint {
            path,
            data: 8 + length,
            file: Arc::new(Mutex::new(file)),
            header,
        })
    }

    /// As [`Checkpoint::open`], for a file in which the names of all tensors may begin with one of these prefixes. Also returns the prefix.
    ///
    /// # Errors
    /// As for [`Checkpoint::open`].
    pub fn open_with(
        dir: &Path,
        expected: &[ExpectedTensor],
        prefixes: &[&'static str],
    ) -> Result<(Self, &'static str)> {
        let checkpoint = Checkpoint::open(dir, &[])?;
        let has = |prefix: &&&str| {
            let first = expected.first().map(|(name, _)| format!("{prefix}{name}"));
            first.is_some_and(|first| checkpoint.header.info(&first).is_some())
        };
        let prefix = prefixes.iter().find(has).copied().unwrap_or_default();
        let expected: Vec<ExpectedTensor> = (expected.iter())
            .map(|(name, shape)| (format!("{prefix}{name}"), shape.clone()))
            .collect();
        check(&checkpoint.header, &expected)
            .during(|| comparing(&checkpoint.path, FileNames::HUGGING_FACE))?;
        Ok((checkpoint, prefix))
    }

    /// Reads a tensor and widens it to 32 bits, row after row.
    ///
    /// # Errors
    /// There is no such tensor, or its numbers are not floats.
    pub fn read(&self, name: &str) -> Result<Vec<f32>> {
        let numbers = || {
            let info = self.header.info(name).ok_or_else(missing)?;
            let (from, to) = info.data_offsets;
            read_numbers(&self.file, self.data + from, to - from, info.dtype)
        };
        numbers().during(|| format!("reading tensor {name} of {}", self.path.display()))
    }

    /// The number in a tensor that has only one; `None` if there is no such tensor.
    ///
    /// # Errors
    /// The tensor has none or several numbers, or they are not floats.
    pub fn number(&self, name: &str) -> Result<Option<f32>> {
        let Some(info) = self.header.info(name) else {
            return Ok(None);
        };
        ensure!(
            info.shape.iter().all(|side| *side == 1),
            Model,
            "tensor {name} of {} has shape {:?}: expected one number",
            self.path.display(),
            info.shape
        );
        Ok(self.read(name)?.first().copied())
    }

    /// Whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.header.info(name).is_some()
    }

    /// The path of the weights.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of a tensor's rows.
    ///
    /// # Errors
    /// There is no such tensor.
    pub fn width(&self, name: &str) -> Result<usize> {
        let info = self.header.info(name);
        let info =
            info.ok_or_else(|| Error::Model(format!("{} has no {name}", self.path.display())))?;
        Ok(info.shape.last().copied().unwrap_or(1))
    }

    /// A matrix whose rows are read when they are needed.
    ///
    /// # Errors
    /// There is no such tensor, it is no matrix, or its numbers are not floats.
    pub fn table(&self, name: &str) -> Result<EmbeddingTable> {
        let table = || {
            let info = self.header.info(name).ok_or_else(missing)?;
            let &[rows, width] = info.shape.as_slice() else {
                bail!(
                    Model,
                    "it has shape {:?}: expected rows and columns",
                    info.shape
                );
            };
            ensure!(is_float(info.dtype), Model, "{NOT_FLOATS}");
            let (from, to) = info.data_offsets;
            Ok(EmbeddingTable {
                rows: (0..rows).map(|_| OnceLock::new()).collect(),
                width,
                source: Some(RowSource {
                    path: self.path.clone(),
                    file: self.file.clone(),
                    from: self.data + from,
                    row_bytes: (to - from) / rows.max(1),
                    dtype: info.dtype,
                }),
            })
        };
        table().during(|| format!("reading tensor {name} of {}", self.path.display()))
    }
}

const NOT_FLOATS: &str = "its number type is not a float";

fn comparing(path: &Path, names: FileNames) -> String {
    format!("comparing {} with its {}", path.display(), names.config)
}

fn missing() -> Error {
    Error::Model("it is missing".to_owned())
}

/// Appends the numbers in `bytes` bytes of the file, widened to 32 bits.
fn read_numbers(file: &Mutex<File>, from: usize, bytes: usize, dtype: Dtype) -> Result<Vec<f32>> {
    let mut numbers = Vec::with_capacity(bytes / if dtype == Dtype::F32 { 4 } else { 2 });
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(from as u64))?;
    let mut left = bytes;
    let mut block = vec![0; BLOCK.min(left)];
    while left > 0 {
        let block = &mut block[..left.min(BLOCK)];
        file.read_exact(block)?;
        left -= block.len();
        let read = floats(dtype, block).ok_or_else(|| Error::Model(NOT_FLOATS.to_owned()))?;
        numbers.extend(read);
    }
    Ok(numbers)
}

/// The rows of an embedding table. A vocabulary has tens of thousands of rows, which take 50 to 100 MB, but the texts of a run need only some
/// hundreds of them. So a row is read from the checkpoint when it is first needed, and kept.
pub struct EmbeddingTable {
    rows: Vec<OnceLock<Box<[f32]>>>,
    width: usize,
    /// `None` if all rows are in memory.
    source: Option<RowSource>,
}

/// Where the rows of an [`EmbeddingTable`] are in a checkpoint's file.
struct RowSource {
    path: PathBuf,
    file: Arc<Mutex<File>>,
    /// The offset of the first row.
    from: usize,
    row_bytes: usize,
    dtype: Dtype,
}

impl EmbeddingTable {
    /// A table of rows that are in memory, each `width` numbers long.
    pub fn of(numbers: &[f32], width: usize) -> EmbeddingTable {
        let rows = numbers.chunks(width.max(1));
        EmbeddingTable {
            rows: rows.map(|row| OnceLock::from(Box::from(row))).collect(),
            width,
            source: None,
        }
    }

    /// The number of rows, and of numbers in each.
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.width)
    }

    /// Row `n`; `None` if the table has no such row.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn row(&self, n: usize) -> Result<Option<&[f32]>> {
        let Some(slot) = self.rows.get(n) else {
            return Ok(None);
        };
        if let Some(row) = slot.get() {
            return Ok(Some(row));
        }
        let Some(source) = &self.source else {
            return Ok(None);
        };
        let from = source.from + n * source.row_bytes;
        let numbers = read_numbers(&source.file, from, source.row_bytes, source.dtype)
            .during(|| format!("reading row {n} of a table in {}", source.path.display()))?;
        // if another thread has read the row in the meantime, its numbers are the same
        Ok(Some(slot.get_or_init(|| numbers.into_boxed_slice())))
    }
}

/// Bytes of a tensor that are read at once. It is a multiple of the size of every number, so that no number is cut.
const BLOCK: usize = 1 << 20;

/// The numbers of a tensor in little-endian `bytes`; `None` if they are not F32, F16 or BF16.
pub fn floats(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f32>> {
    Some(match dtype {
        Dtype::F32 => {
            let numbers = bytes.as_chunks::<4>().0.iter();
            numbers.map(|b| f32::from_le_bytes(*b)).collect()
        }
        Dtype::F16 => {
            let numbers = bytes.as_chunks::<2>().0.iter();
            numbers.map(|b| f16::from_le_bytes(*b).to_f32()).collect()
        }
        Dtype::BF16 => {
            let numbers = bytes.as_chunks::<2>().0.iter();
            numbers.map(|b| bf16::from_le_bytes(*b).to_f32()).collect()
        }
        _ => return None,
    })
}

/// The number types that are widened to 32-bit floats. Others mean a quantised checkpoint, or one of another kind.
fn is_float(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16)
}

#[expect(
    unsafe_code,
    reason = "the safetensors crate wants the whole file as a slice, although it reads only the header"
)]
fn map(file: &File) -> Result<Mmap> {
    // SAFETY: the map is read-only and private to this process. The bytes must not change while it exists, which is as long as the header is
    // parsed; `Checkpoint::open` asks its callers for that.
    Ok(unsafe { Mmap::map(file)? })
}

fn check(header: &Metadata, expected: &[ExpectedTensor]) -> Result<()> {
    for (name, shape) in expected {
        let info = header.info(name).ok_or_else(|| {
            Error::Model(format!(
                "tensor {name} is missing: expected shape {shape:?}"
            ))
        })?;
        ensure!(
            info.shape == *shape,
            Model,
            "tensor {name} has shape {:?}: expected {shape:?}",
            info.shape
        );
        ensure!(
            is_float(info.dtype),
            Model,
            "tensor {name} holds {:?}: expected F32, F16 or BF16",
            info.dtype
        );
    }
    Ok(())
}

/// The message for an error of the library, for a file of this size in bytes.
fn header_error(error: SafeTensorError, bytes: usize) -> Error {
    Error::Model(match error {
        SafeTensorError::HeaderTooSmall | SafeTensorError::InvalidHeaderLength => {
            format!("it ends after {bytes} bytes, inside the header")
        }
        SafeTensorError::HeaderTooLarge => {
            "its header is too large: not a safetensors file".to_owned()
        }
        SafeTensorError::MetadataIncompleteBuffer => format!(
            "it has {bytes} bytes, which is not the number that its header announces: truncated or damaged"
        ),
        error => format!("its header cannot be parsed: {error}"),
    })
}

/// Opens a regular file: a FIFO would wait for a writer, and a device has no end.
fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    File::open(path)
}

/// Reads a file of text of a checkpoint directory.
///
/// # Errors
/// The file cannot be read, it is not a regular file, it has more than 64 MiB, or it is not valid UTF-8.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = open(path)?
        .take(MAX_TEXT_BYTES + 1)
        .read_to_string(&mut text)?;
    if read as u64 > MAX_TEXT_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "more than 64 MiB",
        ));
    }
    Ok(text)
}

/// Parses a JSON file of a checkpoint directory.
///
/// # Errors
/// The file is missing, or it cannot be parsed.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = read_text(path).during(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text)
        .map_err(|error| Error::Model(error.to_string()))
        .during(|| format!("parsing {}", path.display()))
}

/// As [`read_json`]; `None` if there is no such file.
///
/// # Errors
/// The file cannot be read or parsed.
pub fn read_json_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => read_json(path).map(Some),
    }
}
