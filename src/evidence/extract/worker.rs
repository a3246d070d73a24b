//! Computes the evidence of one document at a time, on one core.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use super::clock::Clock;
use super::{GROUP, Tools};
use crate::collection::images::{Entry, ImageDocument, Listing, bytes_of};
use crate::evidence::clip::Pixels;
use crate::evidence::ocr::{OcrLine, TextReader, backend};
use crate::evidence::picture::{self, Picture};
use crate::evidence::store::{Backend, ChannelOutput, Record, Store, StoredDocument};
use crate::evidence::{
    AfinnValence, Channel, Evidence, PageEvidence, Part, PartValue, page, texts,
};
use crate::nn::lazy::Lazy;
use crate::trec::{Fault, FaultKind};

/// SHA-256 of the bytes of an image file.
pub(super) type Digest = [u8; 32];

/// The indices of documents whose evidence is stored, by the digests of their images.
pub(super) type KnownImages = Mutex<HashMap<Digest, usize>>;

/// The result for a document.
pub(super) struct DocumentResult {
    pub(super) index: usize,
    /// The new evidence; None if nothing was missing.
    pub(super) record: Option<Record>,
    /// The digest of the image; None if it was not read, or if it has faults, which belong to this document alone.
    pub(super) digest: Option<Digest>,
    /// The preprocessed image, if CLIP has to embed it.
    pixels: Option<Pixels>,
    clip_producer: Option<String>,
    /// The producers of the document's channels after the record is written.
    pub(super) producers: BTreeMap<Channel, String>,
}

/// The groups of which some documents are done and others are not.
pub(super) struct Groups {
    documents: usize,
    open: Mutex<BTreeMap<usize, Vec<DocumentResult>>>,
}

impl Groups {
    pub(super) fn new(documents: usize) -> Self {
        Groups {
            documents,
            open: Mutex::default(),
        }
    }

    /// Adds a document to its group. Returns the group if it is complete now.
    fn add(&self, outcome: DocumentResult) -> Option<Vec<DocumentResult>> {
        let group = outcome.index / GROUP;
        let size = GROUP.min(self.documents - group * GROUP);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let members = open.entry(group).or_default();
        members.push(outcome);
        if members.len() < size {
            return None;
        }
        let mut members = open.remove(&group)?;
        members.sort_by_key(|member| member.index);
        Some(members)
    }
}

/// Embeds the group's images with CLIP, in one batch.
fn embed_group(members: &mut [DocumentResult], tools: &Tools) -> Result<()> {
    let Some(clip) = &tools.clip else {
        return Ok(());
    };
    let mut owners = Vec::new();
    let mut batch = Vec::new();
    for (at, member) in members.iter_mut().enumerate() {
        if let Some(pixels) = member.pixels.take() {
            owners.push(at);
            batch.push(pixels);
        }
    }
    let vectors = if batch.is_empty() {
        Vec::new()
    } else {
        clip.get()?
            .embed_images(&batch)
            .context("CLIP failed on a batch of images")?
    };
    let mut vectors = vectors.into_iter();
    for (at, member) in members.iter_mut().enumerate() {
        if let (Some(producer), Some(record)) = (member.clip_producer.take(), &mut member.record) {
            let vector = if owners.contains(&at) {
                vectors.next()
            } else {
                None
            };
            record.clip = Some(ChannelOutput {
                producer,
                value: vector,
                faults: Vec::new(),
            });
        }
    }
    Ok(())
}

/// The state of one thread.
pub(super) struct Worker<'a> {
    tools: &'a Tools,
    clock: &'a Clock,
    entries: &'a [Entry],
    seen: &'a KnownImages,
    store_path: &'a Path,
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
        seen: &'a KnownImages,
    ) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        Ok(Worker {
            tools,
            clock,
            entries,
            seen,
            store_path,
            store: None,
            pool,
        })
    }
}

impl Worker<'_> {
    /// Computes what is missing of a document. If it is the last of its group, also computes the CLIP vectors of the group and returns the
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
        let Some(mut group) = groups.add(outcome) else {
            return Ok(None);
        };
        self.clock.time("clip", || {
            self.pool.install(|| embed_group(&mut group, self.tools))
        })?;
        Ok(Some(group))
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
                // a channel without its tool keeps what is stored, unless its inputs change
                None if !channel.uses().iter().any(|c| missing.contains_key(c)) => {
                    producers.extend(stored.map(|s| (channel, s.clone())));
                }
                None => {}
            }
        }
        let clip_producer = missing.get(&Channel::Clip).cloned();
        let mut outcome = DocumentResult {
            index,
            record: None,
            digest: None,
            pixels: None,
            clip_producer,
            producers,
        };
        if missing.is_empty() {
            return Ok(outcome);
        }
        // stored channels may be inputs of missing ones
        let stored = match held {
            Some(_) => self.stored(entry)?,
            None => None,
        };

        let mut record = Record {
            document: entry.id.0.clone(),
            fingerprint: listing.fingerprint.clone(),
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
        let words = self.words(&mut missing, pages, lines)?;
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
                            "not all of it is text; the rest was read",
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

    /// Computes what needs the decoded image: OCR, picture statistics and CLIP's input. If an image with the same bytes has been read before,
    /// its evidence is copied.
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
            record.ocr_backend = backend;
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
            record.ocr_backend = reader.and_then(|reader| backend_of(&**reader));
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
    ) -> Result<Words> {
        let mut words = Words::default();
        if missing.is_empty() {
            return Ok(words);
        }
        let texts = texts(pages, lines);
        if let (Some(producer), Some(model)) =
            (missing.remove(&Channel::Sentence), &self.tools.sentences)
        {
            let embedded: Vec<_> = texts.iter().filter(|t| t.part != Part::Main).collect();
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

/// The backend of a reader, as it is stored; None if the reader names no network.
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
        let decoded = bytes.and_then(|bytes| guarded(|| picture::decode(&bytes)));
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
        Err(_) => Err("a library gave up on it (the message is above)".into()),
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
