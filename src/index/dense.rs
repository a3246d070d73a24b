//! Exact dense search: finds the passages of a text collection whose sentence vectors are nearest to that of a query.
//!
//! The vectors are computed once, stored in the workspace, and held in memory as 16-bit floats while topics are ranked. There is no approximate
//! index: every vector is compared with every query.

mod blob;
mod half_floats;
mod search;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use half::f16;
use riposte_nn::conv::Numeric;
use sha2::{Digest, Sha256};

use super::inverted::InvertedIndex;
use super::options::SearchOptions;
use crate::disk::{hex, regular};
use crate::events::{Event, OnEvent};
use crate::index::passages::Passages;
use crate::workspace::{Lock, Outputs};
use blob::Blob;
use half_floats::convert;

pub use search::{NearPassage, SearchUnit};

/// Number of documents, or of passages, that ends a batch. If the process is killed, at most one batch is lost.
const BATCH: usize = 128;

/// Identifies vectors: by the texts, how they are split, and the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorsKey {
    /// The name of the field whose texts are encoded. Several names joined by `+` are encoded as one text, in this order.
    pub field: String,
    pub passages: Passages,
    /// The producer's name of the sentence encoder ([`crate::evidence::sentence::Sentences::producer_of`]).
    pub producer: String,
}

/// Computes a vector of unit length for each text, all with the same number of components. Also returns the kind of numbers in which the model
/// computed them.
pub type Encode<'a> = &'a dyn Fn(&[&str]) -> Result<(Vec<Vec<f32>>, Numeric)>;

/// The vectors of all passages of a collection, in memory.
#[derive(Debug, Default)]
pub struct Vectors {
    /// The number of components of a vector.
    dimension: usize,
    /// The vectors of the passages, document after document.
    numbers: Vec<f16>,
    /// The numbers of the documents in the index, in the order of their vectors.
    documents: Vec<u32>,
    /// For each document the end of its passages, counted in passages.
    ends: Vec<u32>,
    /// For each document of the index its position in `documents`, or `u32::MAX`.
    positions: Vec<u32>,
}

/// The stored vectors, compared with the documents of the index.
struct StoredVectors {
    vectors: Vectors,
    /// The numbers of the documents whose current text has no stored vectors.
    missing: Vec<u32>,
    /// Whether the collection's own workspace has vectors of documents that are not in the index, or of earlier texts.
    has_unneeded: bool,
    damaged: usize,
}

impl VectorsKey {
    /// The producer of these vectors in the workspace. It is stored with the vectors of each document, so it is short.
    fn producer_of_passages(&self) -> String {
        format!("passages/1 {} {}", self.field, self.hash())
    }

    /// Distinguishes these vectors from others of the same field.
    fn hash(&self) -> String {
        hex(&Sha256::digest(self.to_string())[..8])
    }

    /// Locks the computation of these vectors. `file` is the workspace.
    pub(crate) fn lock(&self, file: &Path, on_event: &mut OnEvent) -> Result<Lock> {
        const WAITING: &str =
            "another riposte process is computing the sentence vectors: waiting for it";
        let mut name = file.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{}.passages", self.hash()));
        Lock::to_write(&file.with_file_name(name), &mut || {
            on_event(Event::note(WAITING))
        })
    }
}

/// The key of a document's vectors. They are valid while the checksum of the document's texts is `text`.
fn key(id: &str, text: u64) -> String {
    format!("{id} {text:016x}")
}

/// The document with this key, if its texts have not changed.
fn document_of(index: &InvertedIndex, key: &str) -> Option<u32> {
    let (id, text) = key.rsplit_once(' ')?;
    let document = index.number_of(id)?;
    let text = u64::from_str_radix(text, 16).ok()?;
    (index.text_checksum(document) == Some(text)).then_some(document)
}

impl std::fmt::Display for VectorsKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let VectorsKey {
            field,
            passages,
            producer,
        } = self;
        write!(f, "{field}, {passages:?}, {producer}")
    }
}

impl Vectors {
    /// Reads the vectors of all documents of an index from the workspace `file`. Vectors that are missing or damaged, or that belong to an earlier
    /// text, are computed first. They are stored batch by batch, so a killed run continues where it stopped. Vectors that are in one of the workspaces
    /// of `shards` are neither computed nor stored again. `None` if some must be computed and there is no `encode`.
    ///
    /// # Errors
    /// The workspace cannot be read or written, the index has no such field, a stored text is damaged, or the model fails; or vectors are damaged, and
    /// there is no `encode`.
    pub fn open(
        index: &InvertedIndex,
        wanted: &VectorsKey,
        file: &Path,
        shards: &[PathBuf],
        encode: Option<Encode>,
        on_event: &mut OnEvent,
    ) -> Result<Option<Self>> {
        let mut stores = Vec::new();
        for shard in shards {
            if regular::is_file(shard)? {
                stores.push(Outputs::open_to_read(shard)?);
            }
        }
        stores.push(Outputs::open_or_read(file)?);
        let read =
            |stores: &mut [Outputs]| StoredVectors::read(index, stores, wanted, encode.is_some());
        let stored = read(&mut stores)?;
        if stored.missing.is_empty() && !stored.has_unneeded {
            return Ok(Some(stored.vectors));
        }
        let Some(encode) = encode else {
            let is_whole = stored.missing.is_empty();
            if !is_whole {
                let producer = wanted.producer_of_passages();
                let mut stores = stores.iter_mut();
                stores.try_for_each(|store| store.ensure_complete(&producer))?;
            }
            return Ok(is_whole.then_some(stored.vectors));
        };
        drop(stored);
        let _lock = wanted.lock(file, on_event)?;
        // another process can have computed them in the meantime
        let stored = read(&mut stores)?;
        if stored.damaged > 0 {
            on_event(Event::note(format!(
                "{} damaged records of sentence vectors are computed again",
                stored.damaged
            )));
        }
        let missing = stored.missing;
        drop(stored.vectors);
        if let Some(own) = stores.last_mut() {
            let is_needed = |key: &str| document_of(index, key).is_some();
            own.keep_only(&wanted.producer_of_passages(), is_needed)?;
            compute(index, wanted, &missing, own, encode, on_event)?;
        }
        let stored = read(&mut stores)?;
        ensure!(
            stored.missing.is_empty(),
            "{}: what was written is not what is read: is the disk damaged?",
            file.display()
        );
        Ok(Some(stored.vectors))
    }

    /// Compares stored vectors with their checksums. Returns the number of documents.
    ///
    /// # Errors
    /// The workspace cannot be read, or a record in it is damaged.
    pub fn check(file: &Path, wanted: &VectorsKey) -> Result<usize> {
        let mut outputs = Outputs::open_to_read(file)?;
        let producer = wanted.producer_of_passages();
        let mut documents = 0;
        outputs.scan(&producer, true, &mut |_, _| {
            documents += 1;
            Ok(())
        })?;
        let damaged = outputs.damaged;
        ensure!(
            damaged == 0,
            "{} has {damaged} damaged records: the next run that uses it computes them again",
            file.display()
        );
        outputs.ensure_complete(&producer)?;
        Ok(documents)
    }

    fn new(numbers: usize) -> Self {
        Vectors {
            positions: vec![u32::MAX; numbers],
            ..Vectors::default()
        }
    }

    /// The vectors of documents 0 to n - 1. Each document is given by the unit vectors of its passages.
    ///
    /// # Errors
    /// The vectors differ in length.
    pub fn of(documents: &[Vec<Vec<f32>>]) -> Result<Self> {
        let mut vectors = Vectors::new(documents.len());
        for (number, passages) in (0..).zip(documents) {
            vectors.add(number, &blob::blob(passages)?)?;
        }
        Ok(vectors)
    }

    /// Adds the stored vectors of a document. Returns `false` if the document was already added or is not in the index.
    fn add(&mut self, document: u32, blob: &Blob) -> Result<bool> {
        let position = self.documents.len() as u32;
        match self.positions.get_mut(document as usize) {
            Some(slot) if *slot == u32::MAX => *slot = position,
            _ => return Ok(false),
        }
        if blob.dimension > 0 {
            ensure!(
                self.dimension == 0 || self.dimension == blob.dimension,
                "vectors of {} and of {} numbers",
                self.dimension,
                blob.dimension
            );
            self.dimension = blob.dimension;
        }
        self.numbers.extend_from_slice(&blob.numbers);
        self.documents.push(document);
        let passages = self.numbers.len() / self.dimension.max(1);
        self.ends
            .push(u32::try_from(passages).context("more than 4 billion passages")?);
        Ok(true)
    }

    /// The number of passages.
    pub fn len(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    /// Whether no document has a passage.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the vectors take, in bytes.
    pub fn bytes(&self) -> usize {
        self.numbers.len() * size_of::<f16>()
            + (self.documents.len() + self.ends.len() + self.positions.len()) * size_of::<u32>()
    }

    /// Finds the nearest documents or passages of each query, at most `options.k`.
    ///
    /// # Errors
    /// As [`Vectors::nearest`].
    pub fn search(
        &self,
        index: &InvertedIndex,
        queries: &[Vec<f32>],
        unit: SearchUnit,
        options: SearchOptions,
    ) -> Result<Vec<Vec<NearPassage>>> {
        let is_included = |document| !index.is_filtered(document, &options);
        let id = |document| index.id_text(document);
        self.nearest(queries, options.k, unit, &is_included, &id)
    }

    /// The vectors of a document's passages.
    pub fn of_document(&self, document: u32) -> Vec<Vec<f32>> {
        let position = self.positions.get(document as usize).copied();
        let Some(position) = position.filter(|position| *position != u32::MAX) else {
            return Vec::new();
        };
        let vector = |passage| {
            let mut vector = vec![0.0; self.dimension];
            self.read(passage, &mut vector);
            vector
        };
        self.passages(position as usize).map(vector).collect()
    }

    /// The passages of the document at a position.
    fn passages(&self, position: usize) -> std::ops::Range<usize> {
        let end = |position: usize| self.ends.get(position).map_or(0, |end| *end as usize);
        let start = position.checked_sub(1).map_or(0, end);
        start..end(position)
    }

    /// Reads the vector of a passage, which has the length of `vector`.
    fn read(&self, passage: usize, vector: &mut [f32]) {
        let start = passage * self.dimension;
        if let Some(numbers) = self.numbers.get(start..start + vector.len()) {
            convert(numbers, vector);
        }
    }
}

impl StoredVectors {
    /// Reads the stored vectors. If several workspaces have vectors of a document, those of the first one are used.
    fn read(
        index: &InvertedIndex,
        stores: &mut [Outputs],
        wanted: &VectorsKey,
        can_compute: bool,
    ) -> Result<Self> {
        let mut stored = StoredVectors {
            vectors: Vectors::new(index.numbers()),
            missing: Vec::new(),
            has_unneeded: false,
            damaged: 0,
        };
        let producer = wanted.producer_of_passages();
        let own = stores.len().saturating_sub(1);
        for (at, store) in stores.iter_mut().enumerate() {
            let before = store.damaged;
            store.scan(&producer, can_compute, &mut |key, value| {
                match document_of(index, key) {
                    Some(document) => {
                        let blob = Blob::of_bytes(value).context("a value has no vectors")?;
                        stored.vectors.add(document, &blob)?;
                    }
                    None => stored.has_unneeded |= at == own,
                }
                Ok(())
            })?;
            stored.damaged += store.damaged - before;
        }
        let has_none = |document: &u32| {
            let position = stored.vectors.positions.get(*document as usize);
            position == Some(&u32::MAX)
        };
        let documents = 0..index.numbers() as u32;
        let included = documents.filter(|document| index.is_included(*document));
        stored.missing = included.filter(has_none).collect();
        // documents with neighbouring ids often have equal texts, which are encoded once if they are in one batch
        let by_id = |document: &u32| index.id_text(*document);
        stored
            .missing
            .sort_unstable_by(|a, b| by_id(a).cmp(&by_id(b)));
        Ok(stored)
    }
}

/// Encodes the passages of these documents, and stores their vectors.
fn compute(
    index: &InvertedIndex,
    wanted: &VectorsKey,
    documents: &[u32],
    store: &mut Outputs,
    encode: Encode,
    on_event: &mut OnEvent,
) -> Result<()> {
    let field = |name: &str| {
        index.field(name).with_context(|| {
            let known = index.meta().fields.join(", ");
            format!("the collection has no field {name:?}: it has {known}")
        })
    };
    let fields: Vec<usize> = wanted.field.split('+').map(field).collect::<Result<_>>()?;
    let total = documents.len();
    let mut batch = EncodingBatch::default();
    for (done, number) in (1..).zip(documents) {
        let id = index.id(*number).context("a document has no id")?;
        let text = index.text_checksum(*number);
        let text = text.context("a document has no checksum")?;
        let document = index.document(&id)?;
        let texts: Vec<&str> = fields
            .iter()
            .filter_map(|field| document.texts.get(*field))
            .map(String::as_str)
            .collect();
        batch.add(id.0, text, wanted.passages.split(&texts.join("\n")));
        if batch.passages >= BATCH || batch.documents.len() >= BATCH || done == total {
            batch.write(&wanted.producer_of_passages(), store, encode)?;
            on_event(Event::progress(done, total));
        }
    }
    Ok(())
}

/// Documents that are encoded and stored together.
#[derive(Default)]
struct EncodingBatch {
    /// For each document its id, the checksum of its texts, and its passages.
    documents: Vec<(String, u64, Vec<String>)>,
    passages: usize,
}

impl EncodingBatch {
    fn add(&mut self, id: String, text: u64, passages: Vec<String>) {
        self.passages += passages.len();
        self.documents.push((id, text, passages));
    }

    /// Encodes each different passage once, writes the vectors of the documents, and empties the batch.
    fn write(&mut self, producer: &str, store: &mut Outputs, encode: Encode) -> Result<()> {
        let all = self.documents.iter().flat_map(|(_, _, passages)| passages);
        let mut texts: Vec<&str> = all.map(String::as_str).collect();
        texts.sort_unstable();
        texts.dedup();
        let (vectors, numeric) = encode(&texts)?;
        ensure!(
            vectors.len() == texts.len(),
            "{} vectors for {} texts",
            vectors.len(),
            texts.len()
        );
        let mut rows = Vec::with_capacity(self.documents.len());
        for (id, text, passages) in &self.documents {
            let of_passages = passages.iter().map(|passage| {
                let at = texts.binary_search(&passage.as_str());
                vectors.get(at.unwrap_or(usize::MAX)).cloned()
            });
            let of_passages: Option<Vec<Vec<f32>>> = of_passages.collect();
            let of_passages = of_passages.context("a passage has no vector")?;
            rows.push((key(id, *text), blob::blob(&of_passages)?.to_bytes()));
        }
        store.put(producer, numeric.word(), &rows)?;
        *self = EncodingBatch::default();
        Ok(())
    }
}
