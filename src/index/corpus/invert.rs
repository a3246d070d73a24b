//! From texts to postings: threads count the terms of documents, and what they counted is turned round, from terms
//! by document to documents by term.
//!
//! What is counted is held in a run, four bytes a posting, until memory is used up; each run becomes a dictionary,
//! and several of them are merged. Documents are numbered in the order in which they came, so that neither threads nor runs
//! change what is written.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::Document;
use super::dictionary::{Dictionary, DictionaryWriter};
use super::postings;
use super::texts::Packed;
use crate::index::analyzer::{Analyzer, Vocabulary};
use crate::index::similarity::TermCounts;

/// A posting being held: the term's number, and in the last byte how often it is there. This many times or more
/// take a number of their own behind it.
const MANY: u32 = 255;

/// So many terms a run may have: their numbers share four bytes with the frequency. Each counts as so many bytes, so that
/// a run ends before.
const TERM_BYTES: usize = 64;
pub const MOST_BYTES: usize = TERM_BYTES * (15 << 20);

/// Documents that came one after the other.
pub struct Batch {
    pub first: u32,
    pub documents: Vec<Document>,
}

/// A batch, counted: what is written at once.
pub struct Counted {
    pub first: u32,
    /// Each document's number of terms, by field.
    pub lengths: Vec<Vec<u32>>,
    pub packed: Packed,
}

/// A batch's postings, by field: for each document how many, then they.
struct Held {
    first: u32,
    fields: Vec<Vec<u32>>,
}

/// One thread's part of a run.
pub struct Worker {
    vocabulary: Vocabulary,
    held: Vec<Held>,
    /// How often each term is in the document at hand; 0 between documents.
    counts: Vec<u32>,
    touched: Vec<u32>,
}

impl Worker {
    pub fn new(analyzer: &Analyzer) -> Self {
        Worker {
            vocabulary: Vocabulary::new(analyzer),
            held: Vec::new(),
            counts: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Counts the terms of a batch; `used` grows by the memory that it takes.
    pub fn count(&mut self, batch: &Batch, fields: usize, used: &AtomicUsize) -> Counted {
        let known = self.vocabulary.count();
        let mut lengths = vec![Vec::with_capacity(batch.documents.len()); fields];
        let mut held = vec![Vec::new(); fields];
        for document in &batch.documents {
            let columns = lengths.iter_mut().zip(&mut held);
            for (text, (lengths, held)) in document.texts.iter().zip(columns) {
                lengths.push(self.count_text(text, held));
            }
        }
        for held in &mut held {
            held.shrink_to_fit();
        }
        let postings: usize = held.iter().map(Vec::len).sum();
        let bytes = 4 * postings + TERM_BYTES * (self.vocabulary.count() - known);
        used.fetch_add(bytes, Ordering::Relaxed);
        self.held.push(Held {
            first: batch.first,
            fields: held,
        });
        Counted {
            first: batch.first,
            lengths,
            packed: Packed::of(&batch.documents),
        }
    }

    /// Counts the terms of one text: how many there are.
    fn count_text(&mut self, text: &str, held: &mut Vec<u32>) -> u32 {
        let (counts, touched) = (&mut self.counts, &mut self.touched);
        let mut length = 0;
        self.vocabulary.each_term(text, |term| {
            let at = term as usize;
            if at >= counts.len() {
                counts.resize((at + 1).next_power_of_two(), 0);
            }
            if let Some(count) = counts.get_mut(at) {
                if *count == 0 {
                    touched.push(term);
                }
                *count += 1;
            }
            length += 1;
        });
        held.push(touched.len() as u32);
        for term in touched.drain(..) {
            let count = counts.get_mut(term as usize).map_or(0, std::mem::take);
            held.push(term << 8 | count.min(MANY));
            if count >= MANY {
                held.push(count);
            }
        }
        length
    }
}

/// Calls with each posting of a batch's field: the document, the term and how often it is there.
fn each_posting(held: &[u32], first: u32, mut each: impl FnMut(u32, u32, u32)) {
    let mut at = 0;
    let mut document = first;
    while let Some(&count) = held.get(at) {
        at += 1;
        for _ in 0..count {
            let posting = held.get(at).copied().unwrap_or(0);
            let mut tf = posting & MANY;
            at += 1;
            if tf == MANY {
                tf = held.get(at).copied().unwrap_or(0);
                at += 1;
            }
            each(document, posting >> 8, tf);
        }
        document += 1;
    }
}

/// Turns a run round and writes its dictionary. `lengths` are those of all documents so far, by field; `bytes`
/// is how much memory there is for postings being sorted.
pub fn write_run(
    workers: Vec<Worker>,
    lengths: &[Vec<u32>],
    bytes: usize,
    dir: &Path,
) -> Result<()> {
    let threads = workers.len();
    let mut vocabularies = Vec::new();
    let mut held = Vec::new();
    for (worker, part) in workers.into_iter().enumerate() {
        vocabularies.push(part.vocabulary.into_terms());
        held.extend(part.held.into_iter().map(|held| (worker, held)));
    }
    held.sort_unstable_by_key(|(_, held)| held.first);

    // one numbering for all threads, in the order of the terms
    let mut all: Vec<(&str, usize, usize)> = Vec::new();
    for (worker, terms) in vocabularies.iter().enumerate() {
        all.extend(
            terms
                .iter()
                .enumerate()
                .map(|(n, text)| (&**text, worker, n)),
        );
    }
    all.par_sort_unstable();
    let mut numbers: Vec<Vec<u32>> = vocabularies.iter().map(|v| vec![0; v.len()]).collect();
    let mut names: Vec<&str> = Vec::new();
    for (text, worker, n) in all {
        if names.last() != Some(&text) {
            names.push(text);
        }
        numbers[worker][n] = names.len() as u32 - 1;
    }

    let mut writer = DictionaryWriter::create(dir)?;
    for (field, lengths) in lengths.iter().enumerate() {
        let batches: Vec<(u32, &Vec<u32>, &Vec<u32>)> = held
            .iter()
            .filter_map(|(worker, held)| {
                Some((held.first, held.fields.get(field)?, numbers.get(*worker)?))
            })
            .collect();
        writer.begin_field();
        write_field(&batches, &names, lengths, (threads, bytes), &mut writer)?;
    }
    writer.finish()
}

/// Writes a field: as many terms at once, on each thread, as there is memory for.
fn write_field(
    batches: &[(u32, &Vec<u32>, &Vec<u32>)],
    names: &[&str],
    lengths: &[u32],
    (threads, bytes): (usize, usize),
    writer: &mut DictionaryWriter,
) -> Result<()> {
    let per_thread = batches.len().div_ceil(threads).max(1);
    let count = |batches: &[(u32, &Vec<u32>, &Vec<u32>)]| {
        let mut dfs = vec![0u32; names.len()];
        for (first, held, numbers) in batches {
            each_posting(held, *first, |_, term, _| {
                dfs[numbers[term as usize] as usize] += 1;
            });
        }
        dfs
    };
    let dfs = batches
        .par_chunks(per_thread)
        .map(count)
        .reduce_with(|mut sum, other| {
            sum.iter_mut().zip(other).for_each(|(a, b)| *a += b);
            sum
        })
        .unwrap_or_default();
    let total: usize = dfs.iter().map(|df| *df as usize).sum();
    let most = (bytes / (8 * threads))
        .min(total.div_ceil(threads))
        .max(1 << 12);
    let mut spans: Vec<(usize, usize)> = Vec::new();
    let (mut from, mut sum) = (0, 0);
    for (at, df) in dfs.iter().enumerate() {
        sum += *df as usize;
        if sum >= most || at + 1 == dfs.len() {
            spans.push((from, at + 1));
            (from, sum) = (at + 1, 0);
        }
    }
    for spans in spans.chunks(threads) {
        let encoded: Vec<Encoded> = spans
            .par_iter()
            .map(|&(from, to)| encode(batches, from, &dfs[from..to], lengths))
            .collect();
        for Encoded { bytes, terms } in encoded {
            let mut start = 0;
            for (term, counts, end) in terms {
                writer.add(names[term].as_bytes(), counts, &bytes[start..end])?;
                start = end;
            }
        }
    }
    Ok(())
}

/// Postings of neighbouring terms in bytes, and for each term where they end.
struct Encoded {
    bytes: Vec<u8>,
    terms: Vec<(usize, TermCounts, usize)>,
}

/// The postings of the terms from that number on.
fn encode(
    batches: &[(u32, &Vec<u32>, &Vec<u32>)],
    from: usize,
    dfs: &[u32],
    lengths: &[u32],
) -> Encoded {
    let mut next = Vec::with_capacity(dfs.len());
    let mut sum = 0;
    for df in dfs {
        next.push(sum);
        sum += *df as usize;
    }
    let mut sorted = vec![(0u32, 0u32); sum];
    for (first, held, numbers) in batches {
        each_posting(held, *first, |document, term, tf| {
            let term = (numbers[term as usize] as usize).wrapping_sub(from);
            if let Some(next) = next.get_mut(term) {
                sorted[*next] = (document, tf);
                *next += 1;
            }
        });
    }
    let mut encoded = Encoded {
        bytes: Vec::with_capacity(3 * sum),
        terms: Vec::new(),
    };
    let mut rest = sorted.as_slice();
    for (at, df) in dfs.iter().enumerate().filter(|(_, df)| **df > 0) {
        let (own, others) = rest.split_at(*df as usize);
        rest = others;
        postings::write(&mut encoded.bytes, own, lengths);
        let counts = counts_of(own);
        encoded.terms.push((from + at, counts, encoded.bytes.len()));
    }
    encoded
}

fn counts_of(postings: &[(u32, u32)]) -> TermCounts {
    TermCounts {
        df: postings.len() as u64,
        cf: postings.iter().map(|(_, tf)| u64::from(*tf)).sum(),
    }
}

/// Merges the dictionaries of runs, each with later documents than the one before, and removes them.
pub fn merge(runs: &[tempfile::TempDir], lengths: &[Vec<u32>], dir: &Path) -> Result<()> {
    if let [only] = runs {
        for entry in fs::read_dir(only.path())? {
            let entry = entry?;
            fs::rename(entry.path(), dir.join(entry.file_name()))?;
        }
        return Ok(());
    }
    let dictionaries = runs
        .iter()
        .map(|run| Dictionary::open(run.path(), lengths.len()))
        .collect::<Result<Vec<_>>>()?;
    let mut writer = DictionaryWriter::create(dir)?;
    let mut bytes = Vec::new();
    let mut postings = Vec::new();
    for (field, lengths) in lengths.iter().enumerate() {
        writer.begin_field();
        let mut at = vec![0; dictionaries.len()];
        loop {
            let heads: Vec<_> = dictionaries
                .iter()
                .zip(&at)
                .map(|(dictionary, at)| dictionary.at(field, *at))
                .collect();
            let Some(text) = heads.iter().flatten().map(|(text, _)| *text).min() else {
                break;
            };
            postings.clear();
            for (head, at) in heads.iter().zip(&mut at) {
                let Some((_, found)) = head.as_ref().filter(|(own, _)| *own == text) else {
                    continue;
                };
                *at += 1;
                found.postings.each_block(|documents, tfs| {
                    postings.extend(documents.iter().copied().zip(tfs.iter().copied()));
                });
            }
            bytes.clear();
            postings::write(&mut bytes, &postings, lengths);
            writer.add(text, counts_of(&postings), &bytes)?;
        }
        let whole = dictionaries
            .iter()
            .zip(&at)
            .all(|(d, at)| d.count(field) == *at);
        whole.then_some(()).context("a run cannot be read back")?;
    }
    writer.finish()
}
