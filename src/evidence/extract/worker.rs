//! Computes the evidence of one document at a time, on one core.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};

use super::Tools;
use super::clock::Clock;
use super::files::{self, Policy};
use super::groups::{Digest, DocumentResult, Groups, embed_group};
use crate::collection::images::{Entry, GivenTexts, ImageDocument, Listing, bytes_of};
use crate::evidence::ocr::{OcrLine, TextReader, backend};
use crate::evidence::picture::{self, Picture};
use crate::evidence::store::{AtWork, Backend, ChannelOutput, Record, Store, StoredDocument};
use crate::evidence::{
    AfinnValence, Channel, Evidence, PageEvidence, Part, PartValue, page, texts,
};
use crate::nn::lazy::Lazy;
use crate::trec::{Fault, FaultKind};

/// The indices of documents whose evidence is stored, by the digests of their images.
pub(super) type KnownImages = Mutex<HashMap<Digest, usize>>;

/// The state of one thread.
pub(super) struct Worker<'a> {
    tools: &'a Tools,
    clock: &'a Clock,
    entries: &'a [Entry],
    seen: &'a KnownImages,
    store_path: &'a Path,
    /// Where the worker notes its documents, and the worker's number there.
    at_work: Option<(&'a AtWork, usize)>,
    policy: Policy,
    /// For reading; opened when stored evidence is first needed.
    store: Option<Store>,
    /// Has one thread, so that models which would use all cores stay on this worker's.
    pool: rayon::ThreadPool,
}

impl<'a> Worker<'a> {
    /// # Errors
    /// The thread of its pool cannot be started.
    pub(super) fn new(
        tools: &'a Tools,
        clock: &'a Clock,
        entries: &'a [Entry],
        store_path: &'a Path,
        policy: Policy,
        seen: &'a KnownImages,
    ) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        Ok(Worker {
            tools,
            clock,
            entries,
            seen,
            store_path,
            at_work: None,
            policy,
            store: None,
            pool,
        })
    }
}

impl<'a> Worker<'a> {
    /// Makes the worker note each document before it is computed, as worker `number` (from 0).
    pub(super) fn noting(mut self, at_work: Option<&'a AtWork>, number: usize) -> Self {
        self.at_work = at_work.map(|at_work| (at_work, number));
        self
    }

    /// Computes the missing evidence of a document. If it is the last of its group, also computes the CLIP vectors of the group and returns the
    /// group.
    ///
    /// # Errors
    /// The store cannot be read, or a model cannot be loaded or fails.
    pub(super) fn work(
        &mut self,
        index: usize,
        held: Option<&StoredDocument>,
        groups: &Groups,
    ) -> Result<Option<Vec<DocumentResult>>> {
        let entry = &self.entries[index];
        let outcome = self.document(index, entry, held)?;
        self.finish(outcome, groups)
    }

    /// Like [`Worker::work`], but computes nothing for this document.
    ///
    /// # Errors
    /// CLIP fails on the group.
    pub(super) fn pass_over(
        &self,
        index: usize,
        groups: &Groups,
    ) -> Result<Option<Vec<DocumentResult>>> {
        self.finish(DocumentResult::nothing(index), groups)
    }

    /// Computes the missing evidence of a document, and discards it.
    ///
    /// # Errors
    /// Those of [`Worker::work`].
    pub(super) fn attempt(&mut self, index: usize, held: Option<&StoredDocument>) -> Result<()> {
        self.alone(index, held).map(|_| ())
    }

    /// Computes the missing evidence of a document, including CLIP's vector. `None` if nothing is missing.
    ///
    /// # Errors
    /// Those of [`Worker::work`].
    pub(super) fn alone(
        &mut self,
        index: usize,
        held: Option<&StoredDocument>,
    ) -> Result<Option<Record>> {
        let mut outcome = [self.document(index, &self.entries[index], held)?];
        self.embed(&mut outcome)?;
        let [outcome] = outcome;
        Ok(outcome.record)
    }

    fn finish(
        &self,
        outcome: DocumentResult,
        groups: &Groups,
    ) -> Result<Option<Vec<DocumentResult>>> {
        let Some(mut group) = groups.add(outcome) else {
            return Ok(None);
        };
        self.embed(&mut group)?;
        Ok(Some(group))
    }

    fn embed(&self, members: &mut [DocumentResult]) -> Result<()> {
        // where nothing is computed, waking the threads of the pool would take longer than everything else
        if members.iter().all(|member| member.clip_producer.is_none()) {
            return Ok(());
        }
        self.clock.time("clip", || {
            self.pool.install(|| embed_group(members, self.tools))
        })
    }

    fn document(
        &mut self,
        index: usize,
        entry: &Entry,
        held: Option<&StoredDocument>,
    ) -> Result<DocumentResult> {
        let mut listing_faults = Vec::new();
        let listing = self.clock.time("list", || entry.list(&mut listing_faults));
        let held = held.filter(|held| held.fingerprint == listing.fingerprint);
        let known = held.and_then(|held| held.files.as_ref());
        let files = files::look(entry, &listing, known, self.policy, self.clock);
        let has_changed =
            matches!((known, &files), (Some(known), Some(files)) if known.content != files.content);
        let held = held.filter(|_| !has_changed);

        // A channel is missing if its producer has changed; the producers of its inputs are part of that, so inputs come first.
        let mut producers: BTreeMap<Channel, String> = BTreeMap::new();
        let mut missing: HashMap<Channel, String> = HashMap::new();
        for channel in Channel::ALL {
            let stored = held.and_then(|h| h.producers.get(&channel));
            match self.tools.producer(channel, &producers) {
                Some(wanted) if stored != Some(&wanted) => {
                    producers.insert(channel, wanted.clone());
                    missing.insert(channel, wanted);
                }
                Some(_) => {
                    producers.extend(stored.map(|s| (channel, s.clone())));
                }
                // a channel without its tool keeps its stored evidence, unless its inputs change
                None if !channel.uses().iter().any(|c| missing.contains_key(c)) => {
                    producers.extend(stored.map(|s| (channel, s.clone())));
                }
                None => {}
            }
        }
        let clip_producer = missing.get(&Channel::Clip).cloned();
        let mut outcome = DocumentResult {
            clip_producer,
            producers,
            ..DocumentResult::nothing(index)
        };
        if missing.is_empty() {
            outcome.files = files.filter(|files| known != Some(files) && !self.policy.is_read_only);
            return Ok(outcome);
        }
        if self.policy.is_read_only {
            bail!(
                "evidence of {} is missing or outdated, and {} cannot be written: copy it to a directory that can be written, and name the copy with --evidence",
                entry.id,
                self.store_path.display()
            );
        }
        if let Some((at_work, number)) = self.at_work {
            // if the note cannot be written, the document is computed all the same
            let _ = at_work.note(number, &entry.id, &listing.fingerprint);
        }
        // stored channels may be inputs of missing ones
        let stored = match held {
            Some(_) => self.stored(entry)?,
            None => None,
        };

        let mut record = Record {
            document: entry.id.0.clone(),
            fingerprint: listing.fingerprint.clone(),
            files,
            ..Record::default()
        };
        if let Some(stored) = &stored {
            record.url.clone_from(&stored.url);
        }
        if let Some(producer) = missing.remove(&Channel::Page) {
            let mut faults = listing_faults;
            let document = self
                .clock
                .time("read", || entry.read(&listing, &mut faults));
            record.url.clone_from(&document.url);
            record.given.clone_from(&document.given);
            let pages = self.pages(document, entry, &mut faults);
            record.pages = Some(ChannelOutput {
                producer,
                value: pages,
                faults,
            });
        }
        self.image(&listing, &mut missing, &mut record, &stored, &mut outcome)?;

        let empty = Vec::new();
        let pages = match (&record.pages, &stored) {
            (Some(made), _) => &made.value,
            (None, Some(stored)) => &stored.pages,
            (None, None) => &empty,
        };
        let no_lines = Vec::new();
        let lines = match (&record.ocr, &stored) {
            (Some(made), _) => &made.value,
            (None, Some(stored)) => &stored.ocr,
            (None, None) => &no_lines,
        };
        let given = match (&record.pages, &stored) {
            (None, Some(stored)) => &stored.given,
            _ => &record.given,
        };
        let words = self.words(&mut missing, pages, lines, given)?;
        if words.sentences.is_some()
            && let Some(model) = self.tools.sentences.as_ref().and_then(Lazy::loaded)
        {
            let backend = Backend::of_transformer(model.numeric());
            record.backends.insert(Channel::Sentence, backend);
        }
        record.sentences = words.sentences;
        record.vader = words.vader;
        record.afinn = words.afinn;
        outcome.record = Some(record);
        Ok(outcome)
    }

    fn stored(&mut self, entry: &Entry) -> Result<Option<Evidence>> {
        if self.store.is_none() {
            self.store = Some(Store::open_to_read(self.store_path)?);
        }
        match &self.store {
            Some(store) => store.read(&entry.id),
            None => Ok(None),
        }
    }

    fn pages(
        &self,
        document: ImageDocument,
        entry: &Entry,
        faults: &mut Vec<Fault>,
    ) -> Vec<PageEvidence> {
        let mut pages = Vec::new();
        for source in document.pages {
            let path = entry
                .dir
                .join("pages")
                .join(&source.id)
                .join("snapshot/dom.html");
            let words = match source.html {
                Some(bytes) => self.clock.time("page", || {
                    let (html, invalid) = page::decode(&bytes);
                    if invalid {
                        faults.push(fault(
                            FaultKind::Page,
                            &path,
                            "parts of it are not text; the rest was read",
                        ));
                    }
                    guarded(|| Ok(page::read(&html, &source.xpaths, &document.url))).unwrap_or_else(
                        |error| {
                            faults.push(fault(FaultKind::Page, &path, error));
                            page::PageWords::default()
                        },
                    )
                }),
                None => page::PageWords {
                    main: source.text.unwrap_or_default(),
                    ..page::PageWords::default()
                },
            };
            pages.push(PageEvidence {
                id: source.id,
                url: source.url,
                words,
                rankings: source.rankings,
            });
        }
        pages
    }

    /// Computes the evidence that needs the decoded image: OCR, picture statistics and CLIP's input. If an image with the same bytes has been read
    /// before, its evidence is copied.
    fn image(
        &mut self,
        listing: &Listing,
        missing: &mut HashMap<Channel, String>,
        record: &mut Record,
        stored: &Option<Evidence>,
        outcome: &mut DocumentResult,
    ) -> Result<()> {
        let wanted = [Channel::Ocr, Channel::Picture, Channel::Clip];
        if !wanted.iter().any(|channel| missing.contains_key(channel)) {
            return Ok(());
        }
        let first = match listing.images.first().map(|path| bytes_of(path)) {
            Some(Ok(bytes)) => Some(bytes),
            // `decode_first` meets the error again and reports it
            _ => None,
        };
        outcome.digest = first.as_ref().map(|bytes| Sha256::digest(bytes).into());
        let twin = match outcome.digest {
            Some(digest) => self.twin(digest)?,
            None => None,
        };
        if let Some((twin, backend)) = twin
            && let Some(seen) = twin.picture
            && missing.contains_key(&Channel::Ocr)
            && missing.contains_key(&Channel::Picture)
        {
            record.ocr = missing.remove(&Channel::Ocr).map(|producer| ChannelOutput {
                producer,
                value: twin.ocr,
                faults: Vec::new(),
            });
            record
                .backends
                .extend(backend.map(|backend| (Channel::Ocr, backend)));
            record.picture = missing
                .remove(&Channel::Picture)
                .map(|producer| ChannelOutput {
                    producer,
                    value: Some(seen),
                    faults: Vec::new(),
                });
            if !missing.contains_key(&Channel::Clip) {
                return Ok(());
            }
        }
        let mut faults = Vec::new();
        let image = self.clock.time("decode", || {
            decode_first(&listing.images, first, &mut faults)
        });
        if !faults.is_empty() {
            // another document must not copy evidence with this one's faults
            outcome.digest = None;
        }
        if let Some(producer) = missing.remove(&Channel::Ocr) {
            let mut faults = Vec::new();
            let reader = self.tools.ocr.as_ref().map(Lazy::get).transpose()?;
            let lines = match (reader, &image) {
                (Some(reader), Some((path, image))) => self
                    .clock
                    .time("ocr", || guarded(|| reader.read(&image.image)))
                    .unwrap_or_else(|error| {
                        faults.push(fault(
                            FaultKind::Model,
                            path,
                            format!("its text could not be read: {error}"),
                        ));
                        Vec::new()
                    }),
                _ => Vec::new(),
            };
            if !faults.is_empty() {
                outcome.digest = None;
            }
            let backend = reader.and_then(|reader| backend_of(&**reader));
            record
                .backends
                .extend(backend.map(|backend| (Channel::Ocr, backend)));
            record.ocr = Some(ChannelOutput {
                producer,
                value: lines,
                faults,
            });
        }
        if let Some(producer) = missing.remove(&Channel::Picture) {
            let no_lines: Vec<OcrLine> = Vec::new();
            let lines = match (&record.ocr, stored) {
                (Some(made), _) => &made.value,
                (None, Some(stored)) => &stored.ocr,
                (None, None) => &no_lines,
            };
            let picture: Option<Picture> = image.as_ref().map(|(_, image)| {
                self.clock
                    .time("picture", || picture::measure(&image.image, lines))
            });
            record.picture = Some(ChannelOutput {
                producer,
                value: picture,
                faults,
            });
        }
        if missing.remove(&Channel::Clip).is_some()
            && let (Some(clip), Some((_, image))) = (&self.tools.clip, &image)
        {
            let clip = clip.get()?;
            outcome.pixels = Some(self.clock.time("clip", || clip.preprocess(&image.image)));
        }
        Ok(())
    }

    /// The stored evidence of a document with the same image, and the backend that read its text.
    fn twin(&mut self, digest: Digest) -> Result<Option<(Evidence, Option<Backend>)>> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let index = seen.get(&digest).copied();
        drop(seen);
        let Some(index) = index else {
            return Ok(None);
        };
        let entry = &self.entries[index];
        let evidence = self.stored(entry)?;
        let backend = match &self.store {
            Some(store) => store.backend(&entry.id, Channel::Ocr)?,
            None => None,
        };
        Ok(evidence.map(|evidence| (evidence, backend)))
    }

    /// Computes the sentence vectors and the sentiment of the document's texts, as far as they are missing.
    fn words(
        &self,
        missing: &mut HashMap<Channel, String>,
        pages: &[PageEvidence],
        lines: &[OcrLine],
        given: &GivenTexts,
    ) -> Result<Words> {
        let mut words = Words::default();
        if missing.is_empty() {
            return Ok(words);
        }
        let texts = texts(pages, lines, given);
        if let (Some(producer), Some(model)) =
            (missing.remove(&Channel::Sentence), &self.tools.sentences)
        {
            // main texts are compared only with claims, and only collections of claims give texts; for other collections this would be useless work
            let is_embedded = |part| part != Part::Main || !given.is_empty();
            let embedded: Vec<_> = texts.iter().filter(|t| is_embedded(t.part)).collect();
            let values: Vec<&str> = embedded.iter().map(|t| t.value.as_str()).collect();
            let model = model.get()?;
            let vectors = self
                .clock
                .time("sentence", || self.pool.install(|| model.embed(&values)))
                .context("the sentence encoder failed")?;
            words.sentences = Some(ChannelOutput {
                producer,
                value: embedded
                    .into_iter()
                    .zip(vectors)
                    .map(|(text, value)| PartValue {
                        page: text.page.clone(),
                        part: text.part,
                        value,
                    })
                    .collect(),
                faults: Vec::new(),
            });
        }
        self.clock.time("sentiment", || {
            if let Some(producer) = missing.remove(&Channel::Vader) {
                let vader = |text: &str| self.tools.vader.compound(text);
                words.vader = Some(of_texts(producer, &texts, vader));
            }
            if let (Some(producer), Some((lexicon, _))) =
                (missing.remove(&Channel::Afinn), &self.tools.afinn)
            {
                let afinn = |text: &str| {
                    let valence = lexicon.valence(text);
                    AfinnValence {
                        sum: valence.sum,
                        words: valence.words as u64,
                    }
                };
                words.afinn = Some(of_texts(producer, &texts, afinn));
            }
        });
        Ok(words)
    }
}

/// The backend of a reader, as it is stored; `None` if the reader names no network.
fn backend_of(reader: &dyn TextReader) -> Option<Backend> {
    let backends = reader.backends();
    let numeric = backends.iter().map(backend::Backend::numeric).max()?;
    Some(Backend {
        name: backend::name(backends),
        numeric,
    })
}

/// The channels that are computed from a document's texts.
#[derive(Default)]
struct Words {
    sentences: Option<ChannelOutput<Vec<PartValue<Vec<f32>>>>>,
    vader: Option<ChannelOutput<Vec<PartValue<f64>>>>,
    afinn: Option<ChannelOutput<Vec<PartValue<AfinnValence>>>>,
}

fn of_texts<T>(
    producer: String,
    texts: &[PartValue<String>],
    value: impl Fn(&str) -> T,
) -> ChannelOutput<Vec<PartValue<T>>> {
    ChannelOutput {
        producer,
        value: texts
            .iter()
            .map(|text| PartValue {
                page: text.page.clone(),
                part: text.part,
                value: value(&text.value),
            })
            .collect(),
        faults: Vec::new(),
    }
}

/// Decodes the first of the image files that can be decoded. The ones before it are faults. `first` has the bytes of the first file,
/// if they have been read.
fn decode_first(
    paths: &[PathBuf],
    mut first: Option<Vec<u8>>,
    faults: &mut Vec<Fault>,
) -> Option<(PathBuf, picture::DecodedImage)> {
    for path in paths {
        let bytes = first.take().map_or_else(|| bytes_of(path), Ok);
        let decoded = bytes.and_then(|bytes| {
            let image = guarded(|| picture::decode(&bytes))?;
            if picture::is_cut_jpeg(&bytes) {
                let what = "the file ends before the image does: the part that it contains is used";
                faults.push(fault(FaultKind::Image, path, what));
            }
            Ok(image)
        });
        match decoded {
            Ok(image) => return Some((path.clone(), image)),
            Err(what) => faults.push(fault(FaultKind::Image, path, what)),
        }
    }
    None
}

/// Runs `work` and turns a panic into an error: a crawl of the web contains files that libraries have not been tested with.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| format!("{error:#}")),
        Err(_) => Err("a library panicked on it (the message is above)".into()),
    }
}

fn fault(kind: FaultKind, path: &Path, what: impl Into<String>) -> Fault {
    Fault {
        kind,
        path: path.to_owned(),
        line: None,
        what: what.into(),
    }
}
