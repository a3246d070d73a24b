//! From a collection to its evidence: what is missing in the store is computed and written.
//!
//! Worker threads take one document each: they read, decode, parse, read text in images and embed
//! sentences. CLIP embeds the images of a group at once. A group of [`GROUP`] neighbouring
//! documents is written in one transaction when the last of them is done, so that a resumed
//! extraction embeds the same batches as an uninterrupted one, and stores the same bytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};

use super::clip::{Clip, Pixels};
use super::ocr::{OcrLine, TextReader};
use super::picture::{self, Picture};
use super::sentence::Sentences;
use super::sentiment::{Afinn, Vader};
use super::store::{Held, Made, Record, Store};
use super::{AfinnValence, Channel, OfPart, PageEvidence, Part, page, texts};
use crate::collection::images::{Entry, ImageCollection, ImageDocument, Listing, bytes_of};
use crate::trec::{Fault, FaultKind};

/// Documents embedded and written together.
pub const GROUP: usize = 8;

/// The extractors of this run. What is none computes nothing; what the store has of it stays.
pub struct Tools {
    pub ocr: Option<Box<dyn TextReader>>,
    pub clip: Option<Clip>,
    pub sentences: Option<Sentences>,
    pub vader: Vader,
    /// With the sha256 of its lexicon.
    pub afinn: Option<(Afinn, String)>,
}

impl Tools {
    /// Whether the channel can be computed.
    pub fn has(&self, channel: Channel) -> bool {
        match channel {
            Channel::Page | Channel::Picture | Channel::Vader => true,
            Channel::Ocr => self.ocr.is_some(),
            Channel::Clip => self.clip.is_some(),
            Channel::Sentence => self.sentences.is_some(),
            Channel::Afinn => self.afinn.is_some(),
        }
    }

    /// What the channel is made by, given what the channels that it uses were made by; none if the
    /// tool is not here.
    fn producer(&self, channel: Channel, made: &BTreeMap<Channel, String>) -> Option<String> {
        let own = match channel {
            Channel::Page => page::PRODUCER.to_owned(),
            Channel::Picture => picture::PRODUCER.to_owned(),
            Channel::Vader => super::sentiment::PRODUCER.to_owned(),
            Channel::Ocr => self.ocr.as_ref()?.producer(),
            Channel::Clip => self.clip.as_ref()?.producer(),
            Channel::Sentence => self.sentences.as_ref()?.producer(),
            Channel::Afinn => {
                let (_, sha256) = self.afinn.as_ref()?;
                format!("afinn/1 {sha256}")
            }
        };
        let used: Vec<&str> = channel
            .uses()
            .iter()
            .map(|used| made.get(used).map_or("no text", String::as_str))
            .collect();
        Some(match used.is_empty() {
            true => own,
            false => format!("{own} of {}", used.join(" and ")),
        })
    }
}

/// One of `count` parts of a collection, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub number: usize,
    pub count: usize,
}

impl Shard {
    /// The whole collection.
    pub const WHOLE: Shard = Shard {
        number: 1,
        count: 1,
    };

    fn has_group(self, group: usize) -> bool {
        group % self.count == self.number - 1
    }
}

/// How far an extraction is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
    /// Of those done, how many had something to compute.
    pub computed: usize,
}

/// What an extraction did.
#[derive(Debug, Default)]
pub struct Summary {
    pub documents: usize,
    pub computed: usize,
    /// It was asked to stop before the end.
    pub stopped: bool,
    /// Of all documents, those of earlier runs too, in document order.
    pub faults: Vec<Fault>,
    /// Thread-seconds a stage, in the order of the stages.
    pub seconds: Vec<(&'static str, f64)>,
    /// How many documents have each channel.
    pub channels: BTreeMap<Channel, usize>,
}

const STAGES: [&str; 8] = [
    "list",
    "read",
    "page",
    "decode",
    "ocr",
    "picture",
    "sentence",
    "sentiment",
];

/// Nanoseconds a stage.
#[derive(Default)]
struct Clock([AtomicU64; STAGES.len()]);

impl Clock {
    fn time<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        if let Some(slot) = STAGES.iter().position(|s| *s == stage) {
            self.0[slot].fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        result
    }
}

/// What a worker hands over.
struct Outcome {
    index: usize,
    /// None if nothing was missing.
    record: Option<Record>,
    /// The image, if CLIP is to embed it.
    pixels: Option<Pixels>,
    clip_producer: Option<String>,
    /// Producers of the document when all is written.
    made: BTreeMap<Channel, String>,
}

/// Which documents, and on how many threads.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub shard: Shard,
    /// Only so many documents, the first by id.
    pub limit: Option<usize>,
    /// Documents at work at once; at least one is.
    pub threads: usize,
}

/// Computes what is missing for these documents of the collection and writes it to the store. `stop` ends
/// it after the documents at work.
///
/// Errors are about the store or a model; what is wrong with a document is a fault.
pub fn extract(
    collection: &ImageCollection,
    store: &mut Store,
    tools: &Tools,
    extent: Extent,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Summary> {
    let Extent {
        shard,
        limit,
        threads,
    } = extent;
    let entries = collection.entries();
    let entries = &entries[..limit.unwrap_or(entries.len()).min(entries.len())];
    let mine: Vec<usize> = (0..entries.len())
        .filter(|index| shard.has_group(index / GROUP))
        .collect();
    let held = store.held()?;
    let store_path = store.path().to_owned();
    let clock = Clock::default();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = crossbeam_channel::bounded::<Result<Outcome>>(2 * threads.max(1));

    let mut summary = Summary {
        documents: mine.len(),
        faults: collection.faults().to_vec(),
        ..Summary::default()
    };
    let mut clip_seconds = 0.0;
    let mut write_seconds = 0.0;
    std::thread::scope(|scope| -> Result<()> {
        for _ in 0..threads.max(1) {
            let sender = sender.clone();
            let (mine, held, clock, next, store_path) = (&mine, &held, &clock, &next, &store_path);
            scope.spawn(move || {
                let mut worker = Worker {
                    tools,
                    clock,
                    store_path,
                    store: None,
                };
                while !stop.load(Ordering::Relaxed) {
                    let Some(&index) = mine.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        break;
                    };
                    let entry = &entries[index];
                    let outcome = worker.document(index, entry, held.get(&entry.id.0));
                    let failed = outcome.is_err();
                    // the receiver is gone only when the extraction failed
                    if sender.send(outcome).is_err() || failed {
                        break;
                    }
                }
            });
        }
        drop(sender);

        let group_size = |group: usize| GROUP.min(entries.len() - group * GROUP);
        let mut open: BTreeMap<usize, Vec<Outcome>> = BTreeMap::new();
        let mut done = 0;
        // dropped before the scope ends, however it ends, so that no worker waits for a reader
        let receiver = receiver;
        for outcome in &receiver {
            let outcome = outcome?;
            let group = outcome.index / GROUP;
            let members = open.entry(group).or_default();
            members.push(outcome);
            if members.len() < group_size(group) {
                continue;
            }
            let mut members = open.remove(&group).unwrap_or_default();
            members.sort_by_key(|m| m.index);
            let start = Instant::now();
            embed_group(&mut members, tools)?;
            clip_seconds += start.elapsed().as_secs_f64();
            let start = Instant::now();
            let mut records = Vec::new();
            for mut member in members {
                done += 1;
                for channel in member.made.keys() {
                    *summary.channels.entry(*channel).or_default() += 1;
                }
                if let Some(record) = member.record.take() {
                    summary.computed += 1;
                    records.push(record);
                }
            }
            if !records.is_empty() {
                store.write(&records)?;
            }
            write_seconds += start.elapsed().as_secs_f64();
            progress(Progress {
                done,
                total: mine.len(),
                computed: summary.computed,
            });
        }
        summary.stopped = done < mine.len();
        Ok(())
    })?;
    let ids: HashSet<&str> = mine.iter().map(|&i| entries[i].id.0.as_str()).collect();
    let faults = store.faults()?;
    let faults = faults
        .into_iter()
        .filter(|(id, _)| ids.contains(id.0.as_str()));
    summary.faults.extend(faults.map(|(_, fault)| fault));
    summary.seconds = STAGES
        .iter()
        .zip(&clock.0)
        .map(|(stage, nanos)| (*stage, nanos.load(Ordering::Relaxed) as f64 / 1e9))
        .chain([("clip", clip_seconds), ("write", write_seconds)])
        .collect();
    Ok(summary)
}

/// CLIP vectors for the group's images, in one batch.
fn embed_group(members: &mut [Outcome], tools: &Tools) -> Result<()> {
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
    let mut vectors = match batch.is_empty() {
        true => Vec::new(),
        false => clip
            .embed_images(&batch)
            .context("CLIP failed on a batch of images")?,
    }
    .into_iter();
    for (at, member) in members.iter_mut().enumerate() {
        if let (Some(producer), Some(record)) = (member.clip_producer.take(), &mut member.record) {
            let vector = match owners.contains(&at) {
                true => vectors.next(),
                false => None,
            };
            record.clip = Some(Made {
                producer,
                value: vector,
                faults: Vec::new(),
            });
        }
    }
    Ok(())
}

/// One thread's tools.
struct Worker<'a> {
    tools: &'a Tools,
    clock: &'a Clock,
    store_path: &'a Path,
    /// Opened when a document's evidence is needed to compute more of it.
    store: Option<Store>,
}

impl Worker<'_> {
    fn document(&mut self, index: usize, entry: &Entry, held: Option<&Held>) -> Result<Outcome> {
        let mut listing_faults = Vec::new();
        let listing = self.clock.time("list", || entry.list(&mut listing_faults));
        let held = held.filter(|held| held.fingerprint == listing.fingerprint);

        // what must be computed, following the channels from the first to the last
        let mut made: BTreeMap<Channel, String> = BTreeMap::new();
        let mut missing: HashMap<Channel, String> = HashMap::new();
        for channel in Channel::ALL {
            let stored = held.and_then(|h| h.producers.get(&channel));
            match self.tools.producer(channel, &made) {
                Some(wanted) if stored != Some(&wanted) => {
                    made.insert(channel, wanted.clone());
                    missing.insert(channel, wanted);
                }
                Some(_) => {
                    made.extend(stored.map(|s| (channel, s.clone())));
                }
                // without the tool, stored evidence stays unless what it was made of changes
                None if !channel.uses().iter().any(|c| missing.contains_key(c)) => {
                    made.extend(stored.map(|s| (channel, s.clone())));
                }
                None => {}
            }
        }
        let clip_producer = missing.get(&Channel::Clip).cloned();
        let mut outcome = Outcome {
            index,
            record: None,
            pixels: None,
            clip_producer,
            made,
        };
        if missing.is_empty() {
            return Ok(outcome);
        }
        // what is not computed anew may be what the rest is made of
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
            record.pages = Some(Made {
                producer,
                value: pages,
                faults,
            });
        }
        self.image(&listing, &mut missing, &mut record, &stored, &mut outcome);

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

    fn stored(&mut self, entry: &Entry) -> Result<Option<super::Evidence>> {
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

    /// OCR, picture statistics and CLIP's pixels: what needs the image decoded.
    fn image(
        &self,
        listing: &Listing,
        missing: &mut HashMap<Channel, String>,
        record: &mut Record,
        stored: &Option<super::Evidence>,
        outcome: &mut Outcome,
    ) {
        let wanted = [Channel::Ocr, Channel::Picture, Channel::Clip];
        if !wanted.iter().any(|channel| missing.contains_key(channel)) {
            return;
        }
        let mut faults = Vec::new();
        let image = self
            .clock
            .time("decode", || decode_first(&listing.images, &mut faults));
        if let Some(producer) = missing.remove(&Channel::Ocr) {
            let mut faults = Vec::new();
            let lines = match (&self.tools.ocr, &image) {
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
            record.ocr = Some(Made {
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
            record.picture = Some(Made {
                producer,
                value: picture,
                faults,
            });
        }
        if missing.remove(&Channel::Clip).is_some()
            && let (Some(clip), Some((_, image))) = (&self.tools.clip, &image)
        {
            outcome.pixels = Some(clip.preprocess(&image.image));
        }
    }

    /// Sentence vectors and sentiment of the document's texts, as far as they are missing.
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
            let vectors = self
                .clock
                .time("sentence", || model.embed(&values))
                .context("the sentence encoder failed")?;
            words.sentences = Some(Made {
                producer,
                value: embedded
                    .into_iter()
                    .zip(vectors)
                    .map(|(text, value)| OfPart {
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

/// What is made of a document's texts.
#[derive(Default)]
struct Words {
    sentences: Option<Made<Vec<OfPart<Vec<f32>>>>>,
    vader: Option<Made<Vec<OfPart<f64>>>>,
    afinn: Option<Made<Vec<OfPart<AfinnValence>>>>,
}

fn of_texts<T>(
    producer: String,
    texts: &[OfPart<String>],
    value: impl Fn(&str) -> T,
) -> Made<Vec<OfPart<T>>> {
    Made {
        producer,
        value: texts
            .iter()
            .map(|text| OfPart {
                page: text.page.clone(),
                part: text.part,
                value: value(&text.value),
            })
            .collect(),
        faults: Vec::new(),
    }
}

/// The first of the image files that decodes; the ones before it are faults.
fn decode_first(paths: &[PathBuf], faults: &mut Vec<Fault>) -> Option<(PathBuf, picture::Decoded)> {
    for path in paths {
        let decoded = bytes_of(path).and_then(|bytes| guarded(|| picture::decode(&bytes)));
        match decoded {
            Ok(image) => return Some((path.clone(), image)),
            Err(what) => faults.push(fault(FaultKind::Image, path, what)),
        }
    }
    None
}

/// The work's result, with a panic in somebody's decoder as one more error: a crawl of the web is
/// larger than any library's tests.
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
