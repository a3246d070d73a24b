//! Takes one document through all stages, on one core.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use super::{GROUP, Tools};
use crate::collection::images::{Entry, ImageDocument, Listing, bytes_of};
use crate::evidence::clip::Pixels;
use crate::evidence::ocr::OcrLine;
use crate::evidence::picture::{self, Picture};
use crate::evidence::store::{ChannelOutput, Record, Store, StoredDocument};
use crate::evidence::{
    AfinnValence, Channel, Evidence, PageEvidence, Part, PartValue, page, texts,
};
use crate::nn::lazy::Lazy;
use crate::trec::{Fault, FaultKind};

const STAGES: [&str; 9] = [
    "list",
    "read",
    "page",
    "decode",
    "ocr",
    "picture",
    "sentence",
    "sentiment",
    "clip",
];

/// The SHA-256 of the bytes of an image file.
pub(super) type Digest = [u8; 32];

/// The indices of documents whose evidence is stored, by the digest of their image.
pub(super) type KnownImages = Mutex<HashMap<Digest, usize>>;

/// The nanoseconds that all threads have spent in each stage.
#[derive(Default)]
pub(super) struct Clock([AtomicU64; STAGES.len()]);

impl Clock {
    fn time<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        if let Some(slot) = STAGES.iter().position(|s| *s == stage) {
            self.0[slot].fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        result
    }

    /// Thread-seconds of each stage.
    pub(super) fn seconds(&self) -> Vec<(&'static str, f64)> {
        let seconds = |nanos: &AtomicU64| nanos.load(Ordering::Relaxed) as f64 / 1e9;
        let stages = STAGES.iter().zip(&self.0);
        stages
            .map(|(stage, nanos)| (*stage, seconds(nanos)))
            .collect()
    }
}

/// The result of a document.
pub(super) struct DocumentResult {
    pub(super) index: usize,
    /// The new evidence; `None` if nothing was missing.
    pub(super) record: Option<Record>,
    /// The digest of the image, if other documents may use its evidence.
    pub(super) digest: Option<Digest>,
    /// The preprocessed image, if CLIP is to embed it.
    pixels: Option<Pixels>,
    /// The producer of the CLIP embedding, if it is to be computed.
    clip_producer: Option<String>,
    /// The producer of each channel, after the record is written.
    pub(super) producers: BTreeMap<Channel, String>,
}

/// The documents done in groups that are not complete yet.
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

    /// Adds a document. Returns its group, sorted by index, if it is complete.
    fn add(&self, result: DocumentResult) -> Option<Vec<DocumentResult>> {
        let group = result.index / GROUP;
        let size = GROUP.min(self.documents - group * GROUP);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let members = open.entry(group).or_default();
        members.push(result);
        if members.len() < size {
            return None;
        }
        let mut members = open.remove(&group)?;
        members.sort_by_key(|member| member.index);
        Some(members)
    }
}

/// Computes the CLIP embeddings of a group's images, in one batch.
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

/// A worker thread.
pub(super) struct Worker<'a> {
    tools: &'a Tools,
    clock: &'a Clock,
    entries: &'a [Entry],
    known_images: &'a KnownImages,
    store_path: &'a Path,
    /// Opened for reading when stored evidence is needed for the first time.
    store: Option<Store>,
    /// A pool of one thread, so that models do not distribute their work over all cores.
    pool: rayon::ThreadPool,
}

impl<'a> Worker<'a> {
    /// Errors: a thread cannot be started.
    pub(super) fn new(
        tools: &'a Tools,
        clock: &'a Clock,
        entries: &'a [Entry],
        store_path: &'a Path,
        known_images: &'a KnownImages,
    ) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        Ok(Worker {
            tools,
            clock,
            entries,
            known_images,
            store_path,
            store: None,
            pool,
        })
    }
}

impl Worker<'_> {
    /// Computes the missing evidence of a document. If it completes its group, computes that group's CLIP embeddings and returns the group.
    pub(super) fn work(
        &mut self,
        index: usize,
        stored: Option<&StoredDocument>,
        groups: &Groups,
    ) -> Result<Option<Vec<DocumentResult>>> {
        let entry = &self.entries[index];
        let result = self.document(index, entry, stored)?;
        let Some(mut group) = groups.add(result) else {
            return Ok(None);
        };
        self.clock.time("clip", || {
            self.pool.install(|| embed_group(&mut group, self.tools))
        })?;
        Ok(Some(group))
    }

    /// Computes the missing evidence of a document, except its CLIP embedding.
    fn document(
        &mut self,
        index: usize,
        entry: &Entry,
        stored: Option<&StoredDocument>,
    ) -> Result<DocumentResult> {
        let mut listing_faults = Vec::new();
        let listing = self.clock.time("list", || entry.list(&mut listing_faults));
        let stored = stored.filter(|stored| stored.fingerprint == listing.fingerprint);

        // determines the missing channels; a channel is also missing if one that it uses is
        let mut producers: BTreeMap<Channel, String> = BTreeMap::new();
        let mut missing: HashMap<Channel, String> = HashMap::new();
        for channel in Channel::ALL {
            let current = stored.and_then(|stored| stored.producers.get(&channel));
            match self.tools.producer(channel, &producers) {
                Some(wanted) if current != Some(&wanted) => {
                    producers.insert(channel, wanted.clone());
                    missing.insert(channel, wanted);
                }
                Some(_) => {
                    producers.extend(current.map(|producer| (channel, producer.clone())));
                }
                // without an extractor, stored evidence is kept unless a channel that it uses changes
                None if !channel.uses().iter().any(|c| missing.contains_key(c)) => {
                    producers.extend(current.map(|producer| (channel, producer.clone())));
                }
                None => {}
            }
        }
        let clip_producer = missing.get(&Channel::Clip).cloned();
        let mut result = DocumentResult {
            index,
            record: None,
            digest: None,
            pixels: None,
            clip_producer,
            producers,
        };
        if missing.is_empty() {
            return Ok(result);
        }
        // stored evidence may be needed to compute the missing channels
        let evidence = match stored {
            Some(_) => self.read_evidence(entry)?,
            None => None,
        };

        let mut record = Record {
            document: entry.id.0.clone(),
            fingerprint: listing.fingerprint.clone(),
            ..Record::default()
        };
        if let Some(evidence) = &evidence {
            record.url.clone_from(&evidence.url);
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
        self.image(&listing, &mut missing, &mut record, &evidence, &mut result)?;

        let empty = Vec::new();
        let pages = match (&record.pages, &evidence) {
            (Some(output), _) => &output.value,
            (None, Some(evidence)) => &evidence.pages,
            (None, None) => &empty,
        };
        let no_lines = Vec::new();
        let lines = match (&record.ocr, &evidence) {
            (Some(output), _) => &output.value,
            (None, Some(evidence)) => &evidence.ocr,
            (None, None) => &no_lines,
        };
        let computed = self.text_channels(&mut missing, pages, lines)?;
        record.sentences = computed.sentences;
        record.vader = computed.vader;
        record.afinn = computed.afinn;
        result.record = Some(record);
        Ok(result)
    }

    /// Reads the stored evidence of a document.
    fn read_evidence(&mut self, entry: &Entry) -> Result<Option<Evidence>> {
        if self.store.is_none() {
            self.store = Some(Store::open_to_read(self.store_path)?);
        }
        match &self.store {
            Some(store) => store.read(&entry.id),
            None => Ok(None),
        }
    }

    /// Reads the words of the document's pages.
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
                            "some bytes are invalid in its encoding; the rest was read",
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

    /// Computes the text in the image and the picture statistics, and preprocesses the image for CLIP. Text and statistics are copied if
    /// a document with the same image has them.
    fn image(
        &mut self,
        listing: &Listing,
        missing: &mut HashMap<Channel, String>,
        record: &mut Record,
        evidence: &Option<Evidence>,
        result: &mut DocumentResult,
    ) -> Result<()> {
        let wanted = [Channel::Ocr, Channel::Picture, Channel::Clip];
        if !wanted.iter().any(|channel| missing.contains_key(channel)) {
            return Ok(());
        }
        let first = match listing.images.first().map(|path| bytes_of(path)) {
            Some(Ok(bytes)) => Some(bytes),
            // decode_first reads the file again and reports the error
            _ => None,
        };
        result.digest = first.as_ref().map(|bytes| Sha256::digest(bytes).into());
        let duplicate = match result.digest {
            Some(digest) => self.duplicate(digest)?,
            None => None,
        };
        if let Some(duplicate) = duplicate
            && let Some(picture) = duplicate.picture
            && missing.contains_key(&Channel::Ocr)
            && missing.contains_key(&Channel::Picture)
        {
            record.ocr = missing.remove(&Channel::Ocr).map(|producer| ChannelOutput {
                producer,
                value: duplicate.ocr,
                faults: Vec::new(),
            });
            record.picture = missing
                .remove(&Channel::Picture)
                .map(|producer| ChannelOutput {
                    producer,
                    value: Some(picture),
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
            // the faults belong to this document's files, so its evidence must not be copied to another document
            result.digest = None;
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
                result.digest = None;
            }
            record.ocr = Some(ChannelOutput {
                producer,
                value: lines,
                faults,
            });
        }
        if let Some(producer) = missing.remove(&Channel::Picture) {
            let no_lines: Vec<OcrLine> = Vec::new();
            let lines = match (&record.ocr, evidence) {
                (Some(output), _) => &output.value,
                (None, Some(evidence)) => &evidence.ocr,
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
            result.pixels = Some(self.clock.time("clip", || clip.preprocess(&image.image)));
        }
        Ok(())
    }

    /// The stored evidence of another document with the same image file.
    fn duplicate(&mut self, digest: Digest) -> Result<Option<Evidence>> {
        let known_images = self
            .known_images
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let index = known_images.get(&digest).copied();
        drop(known_images);
        match index {
            Some(index) => self.read_evidence(&self.entries[index]),
            None => Ok(None),
        }
    }

    /// Computes the embeddings and sentiment of the document's texts that are missing.
    fn text_channels(
        &self,
        missing: &mut HashMap<Channel, String>,
        pages: &[PageEvidence],
        lines: &[OcrLine],
    ) -> Result<TextChannels> {
        let mut channels = TextChannels::default();
        if missing.is_empty() {
            return Ok(channels);
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
            channels.sentences = Some(ChannelOutput {
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
                channels.vader = Some(of_texts(producer, &texts, vader));
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
                channels.afinn = Some(of_texts(producer, &texts, afinn));
            }
        });
        Ok(channels)
    }
}

/// The channels that are computed from a document's texts.
#[derive(Default)]
struct TextChannels {
    sentences: Option<ChannelOutput<Vec<PartValue<Vec<f32>>>>>,
    vader: Option<ChannelOutput<Vec<PartValue<f64>>>>,
    afinn: Option<ChannelOutput<Vec<PartValue<AfinnValence>>>>,
}

/// Computes a channel's value for each text.
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

/// Decodes the first image file that can be decoded; each file before it is a fault. `first` is the content of the first file, if it was
/// already read.
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

/// Does the work, and turns a panic in a library into an error: a crawl of the web contains input that no library was tested with.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| format!("{error:#}")),
        Err(_) => Err("a library panicked on it (its message is above)".into()),
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
