//! Opens an index: checks whether the index on disk is the wanted one and undamaged, and builds it if not.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use tantivy::Index;
use tantivy::directory::{Directory, OwnedBytes};
use tantivy::index::{SegmentComponent, SegmentReader};

use super::build::{self, IndexingBudget};
use super::contents::{Changed, CollectionContents};
use super::disk::{self, IndexDamage, SealedDirectory, VerifiedFiles, damaged, index_error};
use super::guarded::guarded;
use super::kind::{FORMAT, IndexMeta, TextCollection};
use super::schema::IndexFields;
use super::segment::{Segment, SegmentColumns};
use super::{InvertedIndex, contents, stored};
use crate::collection::Fault;
use crate::events::{Event, OnEvent};
use crate::index::analyzer::Analyzer;
use crate::workspace::Lock;

/// The state of the wanted index in a directory.
pub(super) enum IndexState {
    Missing,
    /// An index that has to be built again, and why.
    Outdated(&'static str),
    Current(Box<InvertedIndex>),
    Damaged(IndexDamage),
}

/// The note of a process that waits for another one.
pub(super) fn waiting() -> Event {
    Event::note("another riposte process is writing the index: waiting for it")
}

/// The note about an index that is built again.
pub(super) fn outdated(why: &str) -> Event {
    Event::note(format!("rebuilding the index, because {why}"))
}

impl InvertedIndex {
    /// Opens the index of this collection in `dir`. Builds it first if it is missing or damaged, or if it was made from other files, with
    /// another analyzer or by another version of riposte. `on_event` receives the reason and the progress.
    ///
    /// The index is built beside `dir` and renamed at the end, so `dir` always contains a complete index. If another process is building it,
    /// this process waits and opens the result. Errors: a file of the collection cannot be read, `dir` cannot be written, or it contains other
    /// files than an index.
    pub fn open_or_build(
        collection: &TextCollection,
        analyzer: &Analyzer,
        dir: &Path,
        effort: IndexingBudget,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let wanted = prepared(collection, analyzer, dir)?;
        let lock = Lock::to_read(dir, &mut || on_event(waiting()))?;
        if let IndexState::Current(index) = InvertedIndex::find_usable(dir, &wanted.0)? {
            return Ok(index.of(collection));
        }
        drop(lock);
        let _lock = Lock::to_write(dir, &mut || on_event(waiting()))?;
        match InvertedIndex::find_usable(dir, &wanted.0)? {
            // another process has built it in the meantime
            IndexState::Current(index) => return Ok(index.of(collection)),
            IndexState::Outdated(why) => on_event(outdated(why)),
            IndexState::Missing => {}
            IndexState::Damaged(damage) => {
                on_event(damage.note());
                return InvertedIndex::build(collection, wanted, dir, effort, on_event)
                    .context(damage.to_string());
            }
        }
        InvertedIndex::build(collection, wanted, dir, effort, on_event)
    }

    /// Replaces the paths in faults by those of `collection`, which has the same content as the indexed collection but can be in another place.
    fn of(mut self, collection: &TextCollection) -> Self {
        let files = collection.files().into_iter();
        self.files = files.map(Path::to_owned).collect();
        let mut faults = std::mem::take(&mut self.meta.faults);
        faults.iter_mut().for_each(|fault| self.relocate(fault));
        self.meta.faults = faults;
        self
    }

    fn relocate(&self, fault: &mut Fault) {
        let mut files = self.files.iter();
        if let Some(file) = files.find(|file| file.file_name() == fault.path.file_name()) {
            fault.path.clone_from(file);
        }
    }

    /// Passes on all faults of the collection, in its order.
    ///
    /// # Errors
    /// A line of the file with the faults is not what this version of riposte writes.
    pub fn each_fault(&self, each: &mut dyn FnMut(Fault)) -> Result<()> {
        if self.fault_files.is_empty() {
            self.meta.faults.iter().cloned().for_each(each);
            return Ok(());
        }
        for (kept, file) in &self.fault_files {
            let Some(file) = file else {
                kept.iter().cloned().for_each(&mut *each);
                continue;
            };
            for line in file.as_slice().lines() {
                let mut fault = serde_json::from_str(&line?)?;
                self.relocate(&mut fault);
                each(fault);
            }
        }
        Ok(())
    }

    /// Builds the index even if `dir` contains a current or a damaged one. Errors: those of [`InvertedIndex::open_or_build`].
    pub fn rebuild(
        collection: &TextCollection,
        analyzer: &Analyzer,
        dir: &Path,
        effort: IndexingBudget,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let wanted = prepared(collection, analyzer, dir)?;
        let _lock = Lock::to_write(dir, &mut || on_event(waiting()))?;
        if let Err(error) = disk::has_index(dir)
            && !error.is::<IndexDamage>()
        {
            return Err(error);
        }
        InvertedIndex::build(collection, wanted, dir, effort, on_event)
    }

    fn build(
        collection: &TextCollection,
        (wanted, contents): (IndexMeta, CollectionContents),
        dir: &Path,
        effort: IndexingBudget,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let analyzer = wanted.analyzer.clone();
        let mut built = build::build(collection, (wanted, &contents), dir, effort, on_event);
        if built.as_ref().is_err_and(|error| error.is::<Changed>()) {
            on_event(outdated("the collection changed while it was read"));
            let (wanted, contents) = prepared(collection, &analyzer, dir)?;
            built = build::build(collection, (wanted, &contents), dir, effort, on_event);
        }
        built.with_context(|| format!("cannot build the index {}", dir.display()))?;
        let mut index = InvertedIndex::open_whole(dir)?;
        // an index stores only the name of a stop list from a file; this analyzer has its words, too
        index.meta.analyzer = analyzer;
        Ok(index)
    }

    /// Opens the index in `dir`. Errors: it is missing or damaged, or another version of riposte made it.
    pub fn open(dir: &Path) -> Result<Self> {
        let _lock = Lock::to_read(dir, &mut || ())?;
        InvertedIndex::open_whole(dir)
    }

    /// Compares all files of the index in `dir` with their checksums, including the stored texts. Errors: a file is damaged or missing.
    pub fn check(dir: &Path) -> Result<VerifiedFiles> {
        let _lock = Lock::to_read(dir, &mut || ())?;
        let (index, _) = InvertedIndex::open_meta(dir)?;
        disk::verify(dir, &index, true)
    }

    /// Like [`InvertedIndex::find_current`], but damage is not an error if `dir` contains only the index.
    pub(super) fn find_usable(dir: &Path, wanted: &IndexMeta) -> Result<IndexState> {
        match InvertedIndex::find_current(dir, wanted) {
            Err(error) => match error.downcast::<IndexDamage>() {
                Ok(damage) if damage.is_replaceable() => Ok(IndexState::Damaged(damage)),
                Ok(damage) => Err(damage.into()),
                Err(error) => Err(error),
            },
            found => found,
        }
    }

    /// Opens the index in `dir` if it is the wanted one. Errors: it is damaged.
    pub(super) fn find_current(dir: &Path, wanted: &IndexMeta) -> Result<IndexState> {
        if !disk::has_index(dir)? {
            return Ok(IndexState::Missing);
        }
        let (index, meta) = InvertedIndex::open_meta(dir)?;
        match meta.map(|meta| (meta.mismatch(wanted), meta)) {
            // the first commit did not take place
            Err(_) => Ok(IndexState::Outdated("it is of another version")),
            Ok((Some(why), _)) => Ok(IndexState::Outdated(why)),
            Ok((None, mut meta)) => {
                // an index stores only the name of a stop list from a file; this analyzer has its words, too
                meta.analyzer.clone_from(&wanted.analyzer);
                let part = IndexPart {
                    dir: dir.to_owned(),
                    index,
                    meta,
                };
                let inverted = InvertedIndex::open_parts(&[part])?;
                Ok(IndexState::Current(Box::new(inverted)))
            }
        }
    }

    pub(super) fn open_whole(dir: &Path) -> Result<Self> {
        InvertedIndex::open_parts(&[InvertedIndex::open_known(dir)?])
    }

    /// The index in `dir`, with its metadata, if this version of riposte can read it.
    fn open_known(dir: &Path) -> Result<IndexPart> {
        ensure!(
            disk::has_index(dir)?,
            "there is no index in {}",
            dir.display()
        );
        let (index, meta) = InvertedIndex::open_meta(dir)?;
        let meta = meta.map_err(|error| damaged(dir, Path::new(disk::META), error))?;
        ensure!(
            meta.format == FORMAT,
            "the index {} has the format version {}, not {FORMAT}",
            dir.display(),
            meta.format
        );
        Ok(IndexPart {
            dir: dir.to_owned(),
            index,
            meta,
        })
    }

    /// Opens tantivy's index, and parses its [`IndexMeta`]. Errors: meta.json is damaged.
    fn open_meta(dir: &Path) -> Result<(Index, Result<IndexMeta>)> {
        let directory = SealedDirectory::open(dir)?;
        let index = Index::open(directory).map_err(|error| index_error(dir, &error))?;
        let payload = index
            .load_metas()
            .map_err(|error| index_error(dir, &error))?;
        let meta = payload.payload.context("it has no payload");
        let meta = meta.and_then(|text| Ok(serde_json::from_str(&text)?));
        Ok((index, meta))
    }

    /// Opens the indexes of all shards of a collection as one index, which ranks exactly like an index of the whole collection.
    ///
    /// # Errors
    /// An index is missing or damaged, or the indexes differ in kind or analyzer.
    pub fn open_shards(dirs: &[PathBuf]) -> Result<Self> {
        let _locks = dirs
            .iter()
            .map(|dir| Lock::to_read(dir, &mut || ()))
            .collect::<Result<Vec<_>>>()?;
        let parts = dirs.iter().map(|dir| InvertedIndex::open_known(dir));
        InvertedIndex::open_parts(&parts.collect::<Result<Vec<_>>>()?)
    }

    fn open_parts(parts: &[IndexPart]) -> Result<Self> {
        let metas = parts.iter().map(|part| &part.meta);
        let meta = metas.cloned().reduce(|all, part| all.with(part));
        let meta = meta.context("there are no shards")?;
        let fields = IndexFields::new(meta.kind);
        let mut verified = VerifiedFiles::default();
        let mut segments = Vec::new();
        for part in parts {
            ensure!(
                part.meta.kind == meta.kind && part.meta.analyzer == meta.analyzer,
                "{} has another kind or analyzer than the indexes of the other shards",
                part.dir.display()
            );
            let found = disk::verify(&part.dir, &part.index, false)?;
            verified.files += found.files;
            verified.bytes += found.bytes;
            verified.seconds += found.seconds;
            segments.extend(part.segments(&fields)?);
        }
        let mut fault_files = Vec::new();
        if meta.fault_count > meta.faults.len() as u64 {
            let files = parts.iter().map(IndexPart::faults);
            fault_files = files.collect::<Result<_>>()?;
        }
        let mut index = InvertedIndex {
            dirs: parts.iter().map(|part| part.dir.clone()).collect(),
            files: Vec::new(),
            fault_files,
            lengths: vec![Vec::new(); meta.fields.len()],
            marks: Vec::new(),
            has_excluded: false,
            counts: Vec::new(),
            longest: 0,
            segments: Vec::new(),
            verified,
            fields,
            meta,
            length_scores: Mutex::default(),
            term_counts: Mutex::default(),
            scratches: Mutex::default(),
        };
        for mut segment in segments {
            let SegmentColumns { lengths, marks, .. } = &segment.columns;
            for (all, own) in index.lengths.iter_mut().zip(lengths) {
                all.extend(own);
            }
            segment.base =
                u32::try_from(index.marks.len()).context("more than 4 billion documents")?;
            index.marks.extend(marks);
            index.segments.push(segment);
        }
        let lengths = index.lengths.iter().flatten();
        index.longest = lengths.copied().max().unwrap_or(0);
        index.count();
        Ok(index)
    }
}

/// An index in one directory, of a whole collection or of a shard.
struct IndexPart {
    dir: PathBuf,
    index: Index,
    meta: IndexMeta,
}

impl IndexPart {
    /// The faults in the metadata, and the file with all of them if there is one.
    fn faults(&self) -> Result<(Vec<Fault>, Option<OwnedBytes>)> {
        let kept = self.meta.faults.clone();
        if self.meta.fault_count == kept.len() as u64 {
            return Ok((kept, None));
        }
        let path = Path::new(disk::FAULTS);
        let file = disk::read(&self.dir, path, || self.index.directory().open_read(path))?;
        let bytes = file.read_bytes();
        Ok((
            kept,
            Some(bytes.map_err(|error| damaged(&self.dir, path, error))?),
        ))
    }

    /// Opens the segments; each one's documents are numbered from 0.
    fn segments(&self, fields: &IndexFields) -> Result<Vec<Segment>> {
        let dir: Arc<Path> = self.dir.as_path().into();
        if self.index.schema() != fields.schema {
            bail!(damaged(
                &dir,
                Path::new(disk::META),
                "its schema does not match its kind"
            ));
        }
        let segments = self.index.searchable_segments();
        let segments = segments.map_err(|error| index_error(&dir, &error))?;
        let open = |segment: &tantivy::Segment| {
            let texts = segment.relative_path(SegmentComponent::Store);
            let reader = guarded(|| SegmentReader::open(segment));
            let reader = reader.map_err(|why| damaged(&dir, &texts, format!("{why:#}")))?;
            let reader = reader.map_err(|error| index_error(&dir, &error))?;
            let texts = stored::check_skip_index(segment);
            let columns = SegmentColumns::read(&reader, &self.meta.fields)
                .with_context(|| format!("cannot read the index {}", dir.display()))?;
            Segment::open(Arc::clone(&dir), &reader, texts, columns, fields)
                .with_context(|| format!("cannot open the index {}", dir.display()))
        };
        segments.par_iter().map(open).collect()
    }
}

/// The metadata of the index of a collection in `dir`, after what killed processes have left there is removed.
fn prepared(
    collection: &TextCollection,
    analyzer: &Analyzer,
    dir: &Path,
) -> Result<(IndexMeta, CollectionContents)> {
    let contents = contents::read(&collection.files(), dir)?;
    disk::remove_unfinished(dir)?;
    let fingerprint = contents.fingerprint.clone();
    Ok((
        IndexMeta::new(collection.kind(), analyzer, fingerprint),
        contents,
    ))
}
