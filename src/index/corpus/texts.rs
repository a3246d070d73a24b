//! The documents' texts as they came, compressed in groups.
//!
//! `texts.bin`: the groups one after the other, then for each its first document and where it ends, then their
//! number. A document is its texts, its stance and its address, each after its length.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use tantivy::directory::OwnedBytes;

use super::Document;
use super::dictionary::map;
use super::postings::{put_number, take_number};
use crate::trec::{DocId, Stance};

const FILE: &str = "texts.bin";

/// A group is closed when it has so many bytes: larger ones are smaller on disk, and slower to read one text of.
const GROUP_BYTES: usize = 1 << 14;

/// First document and end of a group.
const ENTRY_BYTES: usize = 12;

/// The stored texts.
pub struct Texts {
    bytes: OwnedBytes,
    /// Where the groups' entries begin, and how many there are.
    entries: usize,
    count: usize,
}

impl Texts {
    /// Errors: there are none, or they are not whole.
    pub fn open(dir: &Path) -> Result<Self> {
        let bytes = map(dir, FILE)?;
        let whole = "its texts are not whole";
        let count = bytes.last_chunk().map(|b| u64::from_le_bytes(*b));
        let count = count.context(whole)? as usize;
        let size = count.checked_mul(ENTRY_BYTES).context(whole)?;
        let entries = (bytes.len() - 8).checked_sub(size).context(whole)?;
        let texts = Texts {
            bytes,
            entries,
            count,
        };
        let end = count.checked_sub(1).and_then(|last| texts.entry(last));
        ensure!(end.map_or(0, |(_, end)| end) == entries, whole);
        Ok(texts)
    }

    fn entry(&self, group: usize) -> Option<(u32, usize)> {
        let at = self.entries + group * ENTRY_BYTES;
        let (first, end) = self.bytes.get(at..at + ENTRY_BYTES)?.split_first_chunk()?;
        let end = u64::from_le_bytes(*end.first_chunk()?);
        Some((u32::from_le_bytes(*first), usize::try_from(end).ok()?))
    }

    /// The document of that number, which has that id. None if it cannot be read.
    pub fn document(&self, number: u32, id: &DocId, fields: usize) -> Option<Document> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.entry(middle)?.0 <= number {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let group = low.checked_sub(1)?;
        let (first, end) = self.entry(group)?;
        let start = match group.checked_sub(1) {
            Some(before) => self.entry(before)?.1,
            None => 0,
        };
        let packed = self.bytes.get(start..end)?;
        let unpacked = lz4_flex::block::decompress_size_prepended(packed).ok()?;
        let mut rest = unpacked.as_slice();
        for _ in first..number {
            for _ in 0..fields + 2 {
                take_text(&mut rest)?;
            }
        }
        let texts = (0..fields)
            .map(|_| take_text(&mut rest).map(str::to_owned))
            .collect::<Option<_>>()?;
        let word = take_text(&mut rest)?;
        let url = take_text(&mut rest)?;
        Some(Document {
            id: id.clone(),
            texts,
            stance: Stance::BOTH.into_iter().find(|s| s.word() == word),
            url: (!url.is_empty()).then(|| url.to_owned()),
        })
    }
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = take_number(rest)? as usize;
    let (text, left) = rest.split_at_checked(length)?;
    *rest = left;
    std::str::from_utf8(text).ok()
}

/// Neighbouring documents in groups, ready to be written.
#[derive(Default)]
pub struct Packed {
    /// How many documents each group has, and where it ends.
    groups: Vec<(u32, usize)>,
    bytes: Vec<u8>,
}

impl Packed {
    pub fn of(documents: &[Document]) -> Self {
        let mut packed = Packed::default();
        let mut open = Vec::with_capacity(2 * GROUP_BYTES);
        let mut count = 0;
        for (at, document) in documents.iter().enumerate() {
            let word = document.stance.map_or("", Stance::word);
            let url = document.url.as_deref().unwrap_or_default();
            for text in document.texts.iter().map(String::as_str).chain([word, url]) {
                put_number(&mut open, text.len() as u32);
                open.extend(text.as_bytes());
            }
            count += 1;
            if open.len() >= GROUP_BYTES || at + 1 == documents.len() {
                packed
                    .bytes
                    .extend(lz4_flex::block::compress_prepend_size(&open));
                packed.groups.push((count, packed.bytes.len()));
                open.clear();
                count = 0;
            }
        }
        packed
    }
}

/// The file being written.
pub struct TextsWriter {
    file: BufWriter<File>,
    entries: Vec<u8>,
    documents: u32,
    written: u64,
}

impl TextsWriter {
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(TextsWriter {
            file: BufWriter::new(File::create(dir.join(FILE))?),
            entries: Vec::new(),
            documents: 0,
            written: 0,
        })
    }

    /// Adds the next documents.
    pub fn add(&mut self, packed: &Packed) -> Result<()> {
        for (count, end) in &packed.groups {
            self.entries.extend(self.documents.to_le_bytes());
            self.entries
                .extend((self.written + *end as u64).to_le_bytes());
            self.documents += count;
        }
        self.file.write_all(&packed.bytes)?;
        self.written += packed.bytes.len() as u64;
        Ok(())
    }

    pub fn finish(mut self) -> Result<()> {
        self.file.write_all(&self.entries)?;
        let count = (self.entries.len() / ENTRY_BYTES) as u64;
        self.file.write_all(&count.to_le_bytes())?;
        let file = self.file.into_inner().map_err(|e| e.into_error())?;
        file.sync_all()?;
        Ok(())
    }
}
