//! An index that follows its documents: those that changed are added and deleted, the others stay.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, IndexWriter, Term};

use super::build::{self, Effort, Event, Room, Waiting};
use super::disk::{self, Lock, SealedDirectory, broken};
use super::schema::{Entry, Fields, checksum};
use super::{Corpus, Document, Kind, Meta, Present};
use crate::index::analyzer::Analyzer;

/// An index of more segments is merged into one: each costs a look-up for each term of a query.
const MOST_SEGMENTS: usize = 8;

/// Bytes of documents that wait to be indexed.
const WAITING_BYTES: usize = 32 << 20;

/// The place of an index that is updated, locked for others until it is opened.
pub struct Site {
    dir: PathBuf,
    wanted: Meta,
    _lock: Lock,
}

/// Documents on their way into an index.
pub struct Update {
    writer: IndexWriter<Waiting>,
    fields: Fields,
    analyzer: Analyzer,
    room: Room,
    /// Where the index is built, if it is built anew.
    anew: Option<tempfile::TempDir>,
}

/// One thread's room for making documents.
pub struct Workplace {
    analyzer: TextAnalyzer,
    joined: String,
}

/// The checksum of a document's texts, by which an index knows whether they have changed.
pub fn checksum_of(document: &Document) -> u64 {
    checksum(document, None)
}

impl Site {
    /// The index in `dir`, locked, and as it is now; none if there is none that can be used.
    ///
    /// Errors: it is damaged, or something else is in `dir`.
    pub fn open(
        dir: &Path,
        kind: Kind,
        analyzer: &Analyzer,
        told: &mut dyn FnMut(Event),
    ) -> Result<(Self, Option<Corpus>)> {
        let wanted = Meta::new(kind, analyzer, String::new());
        disk::sweep(dir);
        let lock = Lock::to_write(dir, &mut || told(Event::Waiting))?;
        let found = match Corpus::find_current(dir, &wanted)? {
            Present::Current(corpus) => Some(*corpus),
            Present::Outdated(why) => {
                told(Event::Outdated(why));
                None
            }
            Present::Nothing => None,
        };
        let site = Site {
            dir: dir.to_owned(),
            wanted,
            _lock: lock,
        };
        Ok((site, found))
    }

    /// Begins an update of the index that is there, or with `anew` of an empty one that takes its place.
    pub fn update(&self, anew: bool, effort: Effort) -> Result<Update> {
        let fields = Fields::new(self.wanted.kind);
        let (index, anew) = match anew {
            true => {
                let site = disk::building_site(&self.dir)?;
                (build::create(site.path(), &fields)?, Some(site))
            }
            false => {
                let directory = SealedDirectory::open(&self.dir)?;
                let index = Index::open(directory).map_err(|error| broken(&self.dir, &error))?;
                (index, None)
            }
        };
        let writer = build::writer(&index, effort)?;
        // what a killed update has written stands where this one would write: a list of deleted documents has the number of the
        // commit in its name
        writer.garbage_collect_files().wait()?;
        Ok(Update {
            writer,
            fields,
            analyzer: self.wanted.analyzer.clone(),
            room: Room::new(WAITING_BYTES),
            anew,
        })
    }

    /// Makes an update part of the index, in one step; `fingerprint` says of which documents the index is then. Few and whole
    /// segments remain.
    pub fn commit(&self, update: Update, fingerprint: String) -> Result<()> {
        let Update {
            mut writer, anew, ..
        } = update;
        let meta = Meta {
            fingerprint,
            ..self.wanted.clone()
        };
        build::commit(&mut writer, &meta)?;
        let segments = writer.index().searchable_segment_metas()?;
        let deleted: u32 = segments.iter().map(|s| s.num_deleted_docs()).sum();
        let living: u32 = segments.iter().map(|s| s.num_docs()).sum();
        if segments.len() > MOST_SEGMENTS || deleted > living / 2 {
            let ids: Vec<_> = segments.iter().map(|segment| segment.id()).collect();
            writer.merge(&ids).wait()?;
        }
        drop(segments);
        writer.garbage_collect_files().wait()?;
        writer.wait_merging_threads()?;
        match anew {
            Some(site) => disk::put_in_place(site, &self.dir),
            None => Ok(()),
        }
    }

    /// Opens the index as it is now.
    pub fn corpus(&self) -> Result<Corpus> {
        Corpus::open_whole(&self.dir)
    }
}

impl Update {
    /// Room for one thread.
    pub fn workplace(&self) -> Workplace {
        Workplace {
            analyzer: self.analyzer.build(),
            joined: String::new(),
        }
    }

    /// Adds a document, in the place of the one with its id if there is one. May be called from several threads.
    pub fn put(&self, document: &Document, workplace: &mut Workplace) -> Result<()> {
        self.remove(&document.id.0);
        let entry = Entry {
            document,
            marks: 0,
            duplicate_of: None,
        };
        let Workplace { analyzer, joined } = workplace;
        let made = self.fields.document(&entry, analyzer, joined);
        let bytes = document.texts.iter().map(String::len).sum();
        let adding = || format!("cannot index {}", document.id);
        let waiting = self.room.enter(made, bytes);
        self.writer.add_document(waiting).with_context(adding)?;
        Ok(())
    }

    /// Deletes the document of that id.
    pub fn remove(&self, id: &str) {
        if self.anew.is_none() {
            let term = Term::from_field_text(self.fields.id, id);
            self.writer.delete_term(term);
        }
    }
}

impl Corpus {
    /// The ids of all documents that can be found, with the checksums of their texts.
    pub fn checksums(&self) -> impl Iterator<Item = (&str, u64)> {
        self.segments.iter().flat_map(|segment| {
            (0..segment.documents()).filter_map(|document| {
                let id = segment.columns.id(document)?;
                let checksum = *segment.columns.checksums.get(document as usize)?;
                self.is_in(segment.base + document)
                    .then_some((id, checksum))
            })
        })
    }
}
