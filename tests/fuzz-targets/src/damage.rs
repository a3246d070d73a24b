//! Files that riposte has written and that were damaged afterwards: evidence stores and indexes.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Result;
use riposte::collection::arguments::ArgumentCollection;
use riposte::evidence::clip::ImageVectors;
use riposte::evidence::ocr::OcrLine;
use riposte::evidence::page::PageWords;
use riposte::evidence::store::{NewEvidence, Provenance, Store};
use riposte::evidence::{Evidence, PageEvidence, PartValue, SentenceVector, TextPart};
use riposte::index::ScoredDoc;
use riposte::index::inverted::{IndexingBudget, InvertedIndex, TextCollection};
use riposte::index::search::{self, IndexQuery, SearchOptions};
use riposte::index::similarity::Similarity;
use riposte::recipes::channels::CHANNELS;
use riposte_eval::DocId;
use tempfile::TempDir;

use crate::with_file;

pub const STORE_WORDS: &[&[u8]] = &[
    b"SQLite format 3\0",
    b"CREATE TABLE document",
    b"WITHOUT ROWID",
    b"CREATE TRIGGER",
    b"PRAGMA",
    b"\x0a\0\0\0",
    b"\x0d\0\0\0",
    b"\x05\0\0\0",
    b"\x02\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x7f\xff",
];

/// Opens the bytes as an evidence store and reads everything in it.
pub fn stores(bytes: &[u8]) {
    with_file("evidence.sqlite", bytes, |path| {
        let _ = read_store(path);
    });
}

/// `whole` after all changes of `edits` ([`Edits`]). The numbers of files in the changes are ignored.
pub(crate) fn edited(edits: &[u8], whole: &[u8]) -> Vec<u8> {
    let mut changed = whole.to_vec();
    for (_, edit) in Edits(edits) {
        edit.apply(&mut changed);
    }
    changed
}

/// Changes a small store by the [`Edits`] in the input and reads everything in it; then opens it for writing, as extraction does.
pub fn store_edits(bytes: &[u8]) {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    let whole = WHOLE.get_or_init(|| made_store().expect("a store is written"));
    with_file("evidence.sqlite", &edited(bytes, whole), |path| {
        let _ = read_store(path);
        if let Ok(store) = Store::open(path, CHANNELS) {
            let _ = store.text_hashes();
        }
    });
}

fn read_store(path: &Path) -> Result<()> {
    let store = Store::open_to_read(path, CHANNELS)?;
    let hashes = store.text_hashes()?;
    let ids: Vec<_> = hashes.iter().map(|(id, _)| id).collect();
    let _ = store.neighbours(&ids, CHANNELS);
    for id in ids {
        let _ = store.neighbours(&[id], CHANNELS);
        let _ = store.read(id);
        let _ = store.backend(id, "ocr");
    }
    let _ = store.stored_documents();
    let _ = store.faults();
    let _ = store.elements();
    let _ = store.numerics("ocr");
    Ok(())
}

/// The bytes of a store of eight documents.
fn made_store() -> Result<Vec<u8>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("evidence.sqlite");
    let mut store = Store::open(&path, CHANNELS)?;
    let records: Vec<NewEvidence> = (0..8u8).map(record).collect();
    store.write(&records)?;
    drop(store);
    Ok(fs::read(path)?)
}

fn record(n: u8) -> NewEvidence {
    let made = |channel: &'static str| {
        let made = Provenance {
            producer: "fuzz/1".to_owned(),
            ..Provenance::default()
        };
        (channel, made)
    };
    let page = PageEvidence {
        id: format!("P{n:016x}"),
        words: PageWords {
            title: format!("Title {n}"),
            main: "Cars should be banned from cities. ".repeat(usize::from(n) + 1),
            ..PageWords::default()
        },
        ..PageEvidence::default()
    };
    let line = OcrLine {
        text: format!("ban cars {n}"),
        confidence: 0.75,
        corners: [(0.0, 0.0), (9.0, 0.0), (9.0, 5.0), (0.0, 5.0)],
        block: 0,
    };
    let sentence = PartValue {
        page: String::new(),
        part: TextPart::Ocr,
        value: SentenceVector(vec![f32::from(n) / 8.0; 24]),
    };
    let mut evidence = Evidence::of(DocId(format!("I{n:016x}")));
    evidence.url = "http://example.org/a.png".to_owned();
    evidence.put(vec![page]);
    evidence.put(vec![line]);
    evidence.put(ImageVectors([Some(vec![0.25; 16]), None]));
    evidence.put(vec![sentence]);
    NewEvidence {
        evidence,
        made: ["page", "ocr", "clip", "sentence"].map(made).into(),
        fingerprint: "0123456789abcdef".to_owned(),
        files: None,
    }
}

/// Changes a small index by the [`Edits`] in the input and searches it. The search must fail, or give the rankings and texts of the undamaged index.
pub fn index_edits(bytes: &[u8]) {
    static INDEX: OnceLock<Mutex<SmallIndex>> = OnceLock::new();
    let index = INDEX.get_or_init(|| Mutex::new(SmallIndex::build().expect("an index is built")));
    let index = index.lock().unwrap_or_else(PoisonError::into_inner);
    let count = index.files.len();
    let mut files: Vec<Option<Vec<u8>>> = vec![None; count];
    for (file, edit) in Edits(bytes) {
        let at = usize::from(file) % count;
        let changed = files[at].get_or_insert_with(|| index.files[at].1.clone());
        edit.apply(changed);
    }
    let changed = || {
        files
            .iter()
            .zip(&index.files)
            .filter_map(|(c, f)| c.as_ref().zip(Some(f)))
    };
    for (bytes, (name, _)) in changed() {
        fs::write(index.place().join(name), bytes).expect("a file of the index is written");
    }
    let found = read_index(&index.place());
    for (_, (name, whole)) in changed() {
        fs::write(index.place().join(name), whole).expect("a file of the index is written");
    }
    if let Ok(found) = found {
        assert!(found == index.found, "damage has changed a ranking");
    }
}

/// Rankings, and the texts of the best documents.
type Found = (Vec<ScoredDoc>, Vec<Vec<String>>);

struct SmallIndex {
    dir: TempDir,
    /// The names of the files and their undamaged contents, in an order that is the same for each build.
    files: Vec<(String, Vec<u8>)>,
    found: Found,
}

impl SmallIndex {
    fn place(&self) -> std::path::PathBuf {
        self.dir.path().join("index")
    }

    fn build() -> Result<SmallIndex> {
        let dir = tempfile::tempdir()?;
        let input = dir.path().join("args-me.json");
        let words = ["cars", "cities", "ban", "zoos", "close", "vote", "age"];
        let argument = |n: usize| {
            let word = |k: usize| words[(n / (k + 1) + k) % words.len()];
            let text: Vec<&str> = (0..24).map(word).collect();
            format!(
                r#"{{"id":"a{n}","conclusion":"{}","premises":[{{"text":"{}","stance":"PRO"}}],"context":{{}}}}"#,
                word(1),
                text.join(" ")
            )
        };
        let arguments: Vec<String> = (0..60).map(argument).collect();
        fs::write(
            &input,
            format!(r#"{{"arguments":[{}]}}"#, arguments.join(",")),
        )?;
        let collection = TextCollection::Arguments(ArgumentCollection::open(&input)?);
        let place = dir.path().join("index");
        let effort = IndexingBudget {
            threads: 1,
            bytes: 1,
        };
        drop(InvertedIndex::open_or_build(
            &collection,
            &"stem=snowball".parse()?,
            &place,
            effort,
            &mut |_| (),
        )?);
        let mut files = Vec::new();
        for entry in fs::read_dir(&place)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            files.push((name.into_owned(), fs::read(&path)?));
        }
        // segments have random names
        let kind = |name: &str| name.rsplit('.').next().map(str::to_owned);
        files.sort_by_key(|(name, bytes)| (kind(name), bytes.len()));
        let found = read_index(&place)?;
        Ok(SmallIndex { dir, files, found })
    }
}

fn read_index(place: &Path) -> Result<Found> {
    let index = InvertedIndex::open(place)?;
    let mut analyzer = index.meta().analyzer.build();
    let (mut rankings, mut texts) = (Vec::new(), Vec::new());
    for (words, similarity) in [
        ("ban cars", Similarity::Bm25 { k1: 1.2, b: 0.75 }),
        ("close zoos vote", Similarity::Dirichlet { mu: 100.0 }),
    ] {
        let part = |field| search::QueryPart::of_text(field, 1.0, &mut analyzer, words);
        let query = IndexQuery {
            parts: [0, 1].map(part).to_vec(),
        };
        let found = index.search(&query, &similarity, SearchOptions::default())?;
        for found in found.iter().take(3) {
            texts.push(index.document(&found.doc)?.texts);
        }
        rankings.extend(found);
    }
    Ok((rankings, texts))
}

/// Changes of files, as bytes. Each change has the number of the file, the action (modulo 3: overwrite, truncate, insert), the offset
/// (three bytes, little-endian, modulo the file's length), a count, and that many bytes. The last change can be incomplete.
struct Edits<'a>(&'a [u8]);

struct Edit<'a> {
    action: u8,
    offset: usize,
    bytes: &'a [u8],
}

impl<'a> Iterator for Edits<'a> {
    type Item = (u8, Edit<'a>);

    fn next(&mut self) -> Option<(u8, Edit<'a>)> {
        let (&[file, action, low, middle, high, count], rest) = self.0.split_first_chunk()?;
        let (bytes, rest) = rest.split_at(usize::from(count).min(rest.len()));
        self.0 = rest;
        let offset = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
        Some((
            file,
            Edit {
                action,
                offset,
                bytes,
            },
        ))
    }
}

impl Edit<'_> {
    fn apply(&self, file: &mut Vec<u8>) {
        let offset = self.offset.checked_rem(file.len()).unwrap_or(0);
        match self.action % 3 {
            0 => {
                for (to, from) in file.iter_mut().skip(offset).zip(self.bytes) {
                    *to = *from;
                }
            }
            1 => file.truncate(offset),
            _ => {
                file.splice(offset..offset, self.bytes.iter().copied());
            }
        }
    }
}
