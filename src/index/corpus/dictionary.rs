//! The terms of an index and where their postings lie.
//!
//! Two files, mapped into memory: `terms.bin` holds for each field its terms in order, `postings.bin` what
//! [`super::postings`] makes of each.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use tantivy::directory::{Directory, MmapDirectory, OwnedBytes};

use super::postings::Postings;
use crate::index::similarity::TermCounts;

const TERMS: &str = "terms.bin";
const POSTINGS: &str = "postings.bin";
const MAGIC: &[u8; 8] = b"RIPOSTET";

/// Where the term's text ends, its df, its cf, where its postings begin.
const ENTRY_BYTES: usize = 24;

/// A file of an index, mapped into memory.
pub fn map(dir: &Path, name: &str) -> Result<OwnedBytes> {
    let file = MmapDirectory::open(dir)?.open_read(Path::new(name))?;
    Ok(file.read_bytes()?)
}

/// The terms of an index.
pub struct Dictionary {
    terms: OwnedBytes,
    postings: OwnedBytes,
    fields: Vec<Field>,
}

/// Where a field's terms lie in the file.
#[derive(Clone, Copy, Debug)]
struct Field {
    count: usize,
    entries: usize,
    texts: usize,
}

/// A term that the collection has.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub counts: TermCounts,
    pub postings: Postings<'a>,
}

impl Dictionary {
    /// Errors: the files are not there, not whole, or not of so many fields.
    pub fn open(dir: &Path, fields: usize) -> Result<Self> {
        let mut dictionary = Dictionary {
            terms: map(dir, TERMS)?,
            postings: map(dir, POSTINGS)?,
            fields: Vec::new(),
        };
        let whole = "its terms are not whole";
        let read = |at: usize| dictionary.terms.get(at..at + 8).map(long).context(whole);
        ensure!(
            dictionary.terms.starts_with(MAGIC) && read(8)? == fields as u64,
            whole
        );
        ensure!(read(16)? == dictionary.postings.len() as u64, whole);
        let mut at = 24;
        let mut found = Vec::new();
        for _ in 0..fields {
            let (count, texts) = (read(at)? as usize, read(at + 8)? as usize);
            let entries = at + 16;
            let bytes = count.checked_mul(ENTRY_BYTES).context(whole)?;
            let field = Field {
                count,
                entries,
                texts: entries.checked_add(bytes).context(whole)?,
            };
            at = field.texts.checked_add(texts).context(whole)?;
            found.push(field);
        }
        ensure!(at == dictionary.terms.len(), whole);
        dictionary.fields = found;
        Ok(dictionary)
    }

    /// How many terms a field has.
    pub fn count(&self, field: usize) -> usize {
        self.fields.get(field).map_or(0, |field| field.count)
    }

    /// The term of that number, in the order of their bytes, and where its postings begin.
    fn entry(&self, field: Field, at: usize) -> Option<(&[u8], TermCounts, usize)> {
        let place = field.entries + at * ENTRY_BYTES;
        let entry = self.terms.get(place..place + ENTRY_BYTES)?;
        let start = match at {
            0 => 0,
            _ => four(self.terms.get(place - ENTRY_BYTES..place)?),
        };
        let text = self
            .terms
            .get(field.texts + start as usize..field.texts + four(entry) as usize)?;
        let counts = TermCounts {
            df: u64::from(four(entry.get(4..)?)),
            cf: long(entry.get(8..)?),
        };
        Some((text, counts, long(entry.get(16..)?) as usize))
    }

    /// The term of that number.
    pub fn at(&self, field: usize, at: usize) -> Option<(&[u8], Found<'_>)> {
        let field = *self.fields.get(field)?;
        if at >= field.count {
            return None;
        }
        let (text, counts, from) = self.entry(field, at)?;
        let postings = Postings::new(self.postings.get(from..)?, counts.df as u32)?;
        Some((text, Found { counts, postings }))
    }

    /// The term, if the collection has it.
    pub fn find(&self, field: usize, text: &str) -> Option<Found<'_>> {
        let (mut low, mut high) = (0, self.count(field));
        while low < high {
            let middle = low.midpoint(high);
            let (term, found) = self.at(field, middle)?;
            match term.cmp(text.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(found),
            }
        }
        None
    }
}

/// The two files being written.
pub struct DictionaryWriter {
    terms: BufWriter<File>,
    postings: BufWriter<File>,
    written: u64,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl DictionaryWriter {
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(DictionaryWriter {
            terms: BufWriter::new(File::create(dir.join(TERMS))?),
            postings: BufWriter::new(File::create(dir.join(POSTINGS))?),
            written: 0,
            fields: Vec::new(),
        })
    }

    /// Begins the next field.
    pub fn begin_field(&mut self) {
        self.fields.push(Default::default());
    }

    /// Adds the field's next term, in the order of their bytes, with its postings' bytes.
    pub fn add(&mut self, text: &[u8], counts: TermCounts, postings: &[u8]) -> Result<()> {
        let (entries, texts) = self.fields.last_mut().context("no field was begun")?;
        texts.extend(text);
        let end = u32::try_from(texts.len()).context("the terms are more than 4 GiB")?;
        entries.extend(end.to_le_bytes());
        entries.extend((counts.df as u32).to_le_bytes());
        entries.extend(counts.cf.to_le_bytes());
        entries.extend(self.written.to_le_bytes());
        self.postings.write_all(postings)?;
        self.written += postings.len() as u64;
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<()> {
        self.terms.write_all(MAGIC)?;
        self.terms
            .write_all(&(self.fields.len() as u64).to_le_bytes())?;
        self.terms.write_all(&self.written.to_le_bytes())?;
        for (entries, texts) in &self.fields {
            let count = entries.len() / ENTRY_BYTES;
            self.terms.write_all(&(count as u64).to_le_bytes())?;
            self.terms.write_all(&(texts.len() as u64).to_le_bytes())?;
            self.terms.write_all(entries)?;
            self.terms.write_all(texts)?;
        }
        for file in [self.terms, self.postings] {
            file.into_inner().map_err(|e| e.into_error())?.sync_all()?;
        }
        Ok(())
    }
}

fn long(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn four(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
