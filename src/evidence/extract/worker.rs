//! Computes the evidence of one document at a time, on one core.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use sha2::{Digest as _, Sha256};

use super::files::{self, Policy};
use super::groups::{Digest, DocumentResult, Groups, complete};
use super::{Extractors, Producers};
use crate::collection::Fault;
use crate::collection::images::{DocumentFiles, ImageFolder};
use crate::disk::regular::Transient;
use crate::evidence::Evidence;
use crate::evidence::channel::{Channel, NewEvidence, Provenance};
use crate::evidence::clock::Clock;
use crate::evidence::document::{DocumentInWork, ImageFile};
use crate::evidence::store::{AtWork, Store, StoreFile, StoredDocument};

/// The indices of documents whose evidence is stored, by the digests of their images.
pub(super) type KnownImages = Mutex<HashMap<Digest, usize>>;

/// The pauses before a document is tried again whose files could not be read.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(500)];

/// The temporary faults.
fn transient_of<'f>(faults: impl IntoIterator<Item = &'f Fault>) -> Vec<Fault> {
    let faults = faults.into_iter();
    faults
        .filter(|fault| fault.transient.is_some())
        .cloned()
        .collect()
}

/// The digest of the size and the pixels of a document's picture; `None` if a file has faults.
fn digest_of_pixels(document: &mut DocumentInWork) -> Option<Digest> {
    let picture = document.image()?.picture;
    if document.has_image_faults() {
        return None;
    }
    let mut digest = Sha256::new();
    for side in [picture.width, picture.height] {
        digest.update(side.to_le_bytes());
    }
    digest.update(picture.image.as_raw());
    Some(digest.finalize().into())
}

/// The state of one thread.
pub(super) struct Worker<'a> {
    tools: &'a Extractors,
    clock: &'a Clock,
    entries: &'a [ImageFolder],
    seen: &'a KnownImages,
    place: &'a StoreFile,
    /// Where the worker notes its documents, and the worker's number there.
    at_work: Option<(&'a AtWork, usize)>,
    policy: Policy,
    /// For reading; opened when stored evidence is first needed.
    store: OnceCell<Store>,
    /// Has one thread, so that models which would use all cores stay on this worker's.
    pool: rayon::ThreadPool,
}

impl<'a> Worker<'a> {
    /// A worker that notes each document before it is computed, if it has a number in the notes.
    ///
    /// # Errors
    /// The thread of its pool cannot be started.
    pub(super) fn new(
        tools: &'a Extractors,
        clock: &'a Clock,
        entries: &'a [ImageFolder],
        place: &'a StoreFile,
        policy: Policy,
        seen: &'a KnownImages,
        at_work: Option<(&'a AtWork, usize)>,
    ) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        Ok(Worker {
            tools,
            clock,
            entries,
            seen,
            place,
            at_work,
            policy,
            store: OnceCell::new(),
            pool,
        })
    }

    /// Computes the missing evidence of a document, including channels that are computed for a group. `None` if nothing is missing.
    ///
    /// # Errors
    /// The store cannot be read, or a model cannot be loaded or fails.
    pub(super) fn alone(
        &self,
        index: usize,
        held: Option<&StoredDocument>,
    ) -> Result<Option<NewEvidence>> {
        let mut outcome = [self.document(index, held)?];
        self.complete(&mut outcome)?;
        let [outcome] = outcome;
        if let Some(fault) = outcome.transient.first() {
            bail!("{fault}");
        }
        Ok(outcome.record)
    }

    /// Adds a document to its group. If it is the last one, completes the channels that are computed for a group, and returns the group.
    ///
    /// # Errors
    /// A model fails.
    pub(super) fn finish(
        &self,
        outcome: DocumentResult,
        groups: &Groups,
    ) -> Result<Option<Vec<DocumentResult>>> {
        let Some(mut group) = groups.add(outcome) else {
            return Ok(None);
        };
        self.complete(&mut group)?;
        Ok(Some(group))
    }

    fn complete(&self, members: &mut [DocumentResult]) -> Result<()> {
        // where nothing is computed, waking the threads of the pool would take longer than everything else
        if members.iter().all(|member| member.waiting.is_empty()) {
            return Ok(());
        }
        self.pool
            .install(|| complete(members, self.tools, self.clock))
    }

    /// Computes the missing evidence of a document, apart from channels that are computed for a group. If a file cannot be read because of a
    /// temporary error, or changes while it is read, the document is tried again, and then left out.
    ///
    /// # Errors
    /// Those of [`Worker::alone`], or this process has too little memory or too many open files to read a document.
    pub(super) fn document(
        &self,
        index: usize,
        held: Option<&StoredDocument>,
    ) -> Result<DocumentResult> {
        let mut outcome = self.try_document(index, held)?;
        for pause in PAUSES {
            if outcome.transient.is_empty() {
                return Ok(outcome);
            }
            std::thread::sleep(pause);
            outcome = self.try_document(index, held)?;
        }
        let is_shortage = |fault: &&Fault| fault.transient == Some(Transient::Shortage);
        match outcome.transient.iter().find(is_shortage) {
            Some(fault) => bail!("{fault}"),
            None => Ok(outcome),
        }
    }

    fn try_document(&self, index: usize, held: Option<&StoredDocument>) -> Result<DocumentResult> {
        let entry = &self.entries[index];
        let mut listing_faults = Vec::new();
        let mut listing = self.clock.time("list", || entry.list(&mut listing_faults));
        if let transient @ [_, ..] = &*transient_of(&listing_faults) {
            return Ok(DocumentResult::left_out(index, transient.to_vec()));
        }
        let held = held.filter(|held| held.fingerprint == listing.fingerprint);
        let known = held.and_then(|held| held.files.as_ref());
        let files = files::look(entry, &mut listing, known, self.policy, self.clock);
        let has_changed =
            matches!((known, &files), (Some(known), Some(files)) if known.content != files.content);
        let held = held.filter(|_| !has_changed);
        let (producers, missing) = self.missing(held);
        let mut outcome = DocumentResult {
            index,
            producers,
            ..DocumentResult::default()
        };
        if missing.is_empty() {
            outcome.files = files.filter(|files| known != Some(files) && !self.policy.is_read_only);
            return Ok(outcome);
        }
        self.begin(entry, &listing)?;
        // stored channels may be inputs of missing ones
        let mut evidence = None;
        if held.is_some() {
            let all = self.tools.channels.iter();
            let known = all.filter(|channel| !missing.contains_key(channel.name()));
            let known: Vec<&dyn Channel> = known.copied().collect();
            evidence = self.store()?.read_by(&entry.id, &known)?;
        }
        let record = NewEvidence {
            fingerprint: listing.fingerprint.clone(),
            files,
            ..NewEvidence::default()
        };
        let document = DocumentInWork {
            entry,
            listing,
            evidence: evidence.unwrap_or_else(|| Evidence::of(entry.id.clone())),
            faults: Vec::new(),
            backend: None,
            later: None,
            pool: &self.pool,
            clock: self.clock,
            listing_faults,
            image: ImageFile::default(),
        };
        self.compute(document, missing, record, &mut outcome)?;
        Ok(outcome)
    }

    /// The producers that the document's channels will have, and those of the channels that must be computed: their producers have changed. A
    /// producer names the producers of its inputs, so inputs come first.
    fn missing(&self, held: Option<&StoredDocument>) -> (Producers, Producers) {
        let mut producers = Producers::new();
        let mut missing = Producers::new();
        for channel in self.tools.channels {
            let name = channel.name();
            let stored = held.and_then(|h| h.producers.get(name));
            match self.tools.producer(*channel, &producers) {
                Some(wanted) if stored.is_none_or(|stored| **stored != *wanted) => {
                    producers.insert(name, wanted.clone());
                    missing.insert(name, wanted);
                }
                // a channel without its tool keeps its stored evidence, unless its inputs change
                None if channel.uses().iter().any(|c| missing.contains_key(c)) => {}
                _ => producers.extend(stored.map(|s| (name, s.to_string()))),
            }
        }
        (producers, missing)
    }

    /// Notes that the document is about to be computed.
    ///
    /// # Errors
    /// The evidence cannot be written.
    fn begin(&self, entry: &ImageFolder, listing: &DocumentFiles) -> Result<()> {
        if self.policy.is_read_only {
            bail!(
                "evidence of {} is missing or outdated, and {} cannot be written: copy it to a directory that can be written, and name the copy with --evidence",
                entry.id,
                self.place.path.display()
            );
        }
        if let Some((at_work, number)) = self.at_work {
            // if the note cannot be written, the document is computed all the same
            let _ = at_work.note(number, &entry.id, &listing.fingerprint);
        }
        Ok(())
    }

    /// Computes the missing channels, in the order of the list.
    fn compute(
        &self,
        mut document: DocumentInWork,
        mut missing: Producers,
        mut record: NewEvidence,
        outcome: &mut DocumentResult,
    ) -> Result<()> {
        self.copy_channels(&mut document, &mut missing, &mut record, outcome)?;
        for channel in self.tools.channels {
            let name = channel.name();
            let (Some(producer), Some(extractor)) =
                (missing.remove(name), self.tools.extractor(name))
            else {
                continue;
            };
            self.clock
                .time(channel.stage(), || extractor.compute(&mut document))?;
            let made = Provenance {
                producer,
                backend: document.backend.take(),
                faults: std::mem::take(&mut document.faults),
            };
            let later = document.later.take();
            outcome.waiting.extend(later.map(|later| (name, later)));
            if channel.is_copied() && !made.faults.is_empty() || document.has_image_faults() {
                // another document must not copy evidence with this one's faults
                outcome.digests.clear();
            }
            record.made.insert(name, made);
        }
        let mut transient = transient_of(record.made.values().flat_map(|made| &made.faults));
        transient.extend(transient_of(&document.image.faults));
        transient.extend(document.listing.ensure_unchanged(document.entry).err());
        if !transient.is_empty() {
            transient.sort();
            transient.dedup();
            *outcome = DocumentResult::left_out(outcome.index, transient);
            return Ok(());
        }
        record.evidence = document.evidence;
        outcome.record = Some(record);
        Ok(())
    }

    /// Copies the channels that depend only on the picture, if all of them are missing and an image with the same bytes or the same pixels has been
    /// computed before. A picture that was packed again, or whose metadata were removed, has other bytes.
    fn copy_channels(
        &self,
        document: &mut DocumentInWork,
        missing: &mut Producers,
        record: &mut NewEvidence,
        outcome: &mut DocumentResult,
    ) -> Result<()> {
        let all = self.tools.channels.iter().copied();
        let copied: Vec<&dyn Channel> = all.filter(|channel| channel.is_copied()).collect();
        if copied.iter().all(|c| !missing.contains_key(c.name())) {
            return Ok(());
        }
        // decoding meets an error again and reports it
        let first = document.listing.images.first();
        let first = first.and_then(|path| document.listing.read(path).ok());
        let of_bytes = first.as_ref().map(|bytes| Sha256::digest(bytes).into());
        outcome.digests.extend(of_bytes);
        document.image.first = first;
        let mut twin = of_bytes.and_then(|digest| self.twin(digest));
        if twin.is_none() {
            let of_pixels = digest_of_pixels(document);
            outcome.digests.extend(of_pixels);
            twin = of_pixels.and_then(|digest| self.twin(digest));
        }
        let Some(twin) = twin else {
            return Ok(());
        };
        if copied.iter().all(|c| missing.contains_key(c.name())) {
            outcome.is_copied = true;
            let store = self.store()?;
            if let Some(copy) = store.read_by(&twin.id, &copied)? {
                document.evidence.add(copy);
            }
            for channel in copied {
                let made = Provenance {
                    producer: missing.remove(channel.name()).unwrap_or_default(),
                    backend: store.backend(&twin.id, channel.name())?,
                    faults: Vec::new(),
                };
                record.made.insert(channel.name(), made);
            }
        }
        Ok(())
    }

    /// A document with the same image, whose evidence is stored.
    fn twin(&self, digest: Digest) -> Option<&ImageFolder> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *seen.get(&digest)?;
        self.entries.get(index)
    }

    /// The store, for reading.
    fn store(&self) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = self.place.open_to_read()?;
        Ok(self.store.get_or_init(|| store))
    }
}
