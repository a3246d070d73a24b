//! What a ranking needs of every document at once: ids and their order, exact lengths, marks.
//!
//! One file, read whole.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::Marks;

const FILE: &str = "documents.bin";
const MAGIC: &[u8; 8] = b"RIPOSTE2";

const SHORT: u8 = 1;
const DUPLICATE: u8 = 2;

/// Columns over all documents, by number.
#[derive(Debug, Default, PartialEq)]
pub struct Columns {
    /// For each field, each document's number of terms.
    pub lengths: Vec<Vec<u32>>,
    /// Each document's place among all ids: ties are broken by it.
    pub order: Vec<u32>,
    /// The documents, by id.
    by_id: Vec<u32>,
    marks: Vec<u8>,
    /// The first document with the same words; the document itself if that is the first.
    first: Vec<u32>,
    /// Where each id ends in `ids`.
    id_ends: Vec<u32>,
    ids: String,
}

/// One document's entries.
pub struct Entry<'a> {
    pub id: &'a str,
    pub marks: Marks,
    /// The number of the first document with the same words.
    pub first: u32,
}

impl Columns {
    /// Columns of documents in the order of their numbers.
    pub fn new<'a>(
        lengths: Vec<Vec<u32>>,
        entries: impl Iterator<Item = Entry<'a>>,
    ) -> Result<Self> {
        let mut columns = Columns {
            lengths,
            ..Columns::default()
        };
        for entry in entries {
            columns.ids.push_str(entry.id);
            let end = u32::try_from(columns.ids.len()).context("the ids are more than 4 GiB")?;
            columns.id_ends.push(end);
            let mark = |on, bit| if on { bit } else { 0 };
            columns
                .marks
                .push(mark(entry.marks.short, SHORT) | mark(entry.marks.duplicate, DUPLICATE));
            columns.first.push(entry.first);
        }
        columns.sort();
        columns.check()?;
        Ok(columns)
    }

    /// Fills in what follows from the ids.
    fn sort(&mut self) {
        let mut by_id: Vec<u32> = (0..self.documents()).collect();
        by_id.sort_unstable_by(|a, b| self.id(*a).cmp(&self.id(*b)));
        let mut order = vec![0; by_id.len()];
        for (place, number) in (0..).zip(&by_id) {
            if let Some(slot) = order.get_mut(*number as usize) {
                *slot = place;
            }
        }
        self.by_id = by_id;
        self.order = order;
    }

    fn check(&self) -> Result<()> {
        let n = self.id_ends.len();
        let whole = self.lengths.iter().all(|lengths| lengths.len() == n)
            && [&self.order, &self.by_id, &self.first].map(Vec::len) == [n; 3]
            && self.marks.len() == n
            && [&self.order, &self.by_id, &self.first]
                .iter()
                .all(|column| column.iter().all(|number| (*number as usize) < n));
        ensure!(whole, "its columns do not fit together");
        Ok(())
    }

    pub fn documents(&self) -> u32 {
        self.id_ends.len() as u32
    }

    pub fn id(&self, number: u32) -> Option<&str> {
        let at = number as usize;
        let end = *self.id_ends.get(at)? as usize;
        let start = match at.checked_sub(1) {
            Some(before) => *self.id_ends.get(before)? as usize,
            None => 0,
        };
        self.ids.get(start..end)
    }

    pub fn number(&self, id: &str) -> Option<u32> {
        let at = self
            .by_id
            .binary_search_by(|number| self.id(*number).unwrap_or_default().cmp(id))
            .ok()?;
        self.by_id.get(at).copied()
    }

    pub fn marks(&self, number: u32) -> Option<Marks> {
        let bits = *self.marks.get(number as usize)?;
        Some(Marks {
            short: bits & SHORT != 0,
            duplicate: bits & DUPLICATE != 0,
        })
    }

    /// The first document with the same words, if it is another.
    pub fn first_of(&self, number: u32) -> Option<u32> {
        let first = *self.first.get(number as usize)?;
        (first != number).then_some(first)
    }

    /// The bits of [`Columns::has_mark`] for documents to be left out.
    pub fn mask(short: bool, duplicates: bool) -> u8 {
        (if short { SHORT } else { 0 }) | (if duplicates { DUPLICATE } else { 0 })
    }

    /// Whether the document has one of those marks.
    pub fn has_mark(&self, number: u32, mask: u8) -> bool {
        self.marks
            .get(number as usize)
            .is_some_and(|bits| bits & mask != 0)
    }

    /// Writes the columns into the index's directory.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let mut file = BufWriter::new(File::create(dir.join(FILE))?);
        file.write_all(MAGIC)?;
        for count in [self.lengths.len(), self.id_ends.len()] {
            file.write_all(&(count as u32).to_le_bytes())?;
        }
        let columns =
            self.lengths
                .iter()
                .chain([&self.order, &self.by_id, &self.first, &self.id_ends]);
        for column in columns {
            for number in column {
                file.write_all(&number.to_le_bytes())?;
            }
        }
        file.write_all(&self.marks)?;
        file.write_all(self.ids.as_bytes())?;
        file.into_inner().map_err(|e| e.into_error())?.sync_all()?;
        Ok(())
    }

    /// Reads the columns of an index. Errors: they are not there, not whole or not of so many fields.
    pub fn read(dir: &Path, fields: usize) -> Result<Self> {
        let bytes = fs::read(dir.join(FILE))?;
        let mut rest = bytes.as_slice();
        ensure!(take(&mut rest, 8)? == MAGIC, "its columns are none");
        let field_count = take_number(&mut rest)? as usize;
        let documents = take_number(&mut rest)? as usize;
        ensure!(field_count == fields, "its columns are of other fields");
        let mut columns = Columns::default();
        for _ in 0..fields {
            columns.lengths.push(take_column(&mut rest, documents)?);
        }
        for column in [
            &mut columns.order,
            &mut columns.by_id,
            &mut columns.first,
            &mut columns.id_ends,
        ] {
            *column = take_column(&mut rest, documents)?;
        }
        columns.marks = take(&mut rest, documents)?.to_vec();
        columns.ids = std::str::from_utf8(rest)?.to_owned();
        columns.check()?;
        Ok(columns)
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, left) = rest
        .split_at_checked(count)
        .context("its columns are cut off")?;
    *rest = left;
    Ok(taken)
}

fn take_number(rest: &mut &[u8]) -> Result<u32> {
    Ok(take_column(rest, 1)?.first().copied().unwrap_or(0))
}

fn take_column(rest: &mut &[u8], count: usize) -> Result<Vec<u32>> {
    let bytes = take(rest, count.saturating_mul(4))?;
    let (numbers, _) = bytes.as_chunks::<4>();
    Ok(numbers
        .iter()
        .map(|bytes| u32::from_le_bytes(*bytes))
        .collect())
}
