//! Which documents a store has, from which files and by which producers their evidence was computed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use anyhow::Result;

use super::checksum::{self, ALL, readable};
use super::{Store, tables};
use crate::collection::images::FileState;

/// Which files a document's evidence was computed from, and by which producers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredDocument {
    pub fingerprint: String,
    /// The files as last seen; `None` if that is not recorded.
    pub files: Option<FileState>,
    /// By channel. All documents share the few different texts.
    pub producers: BTreeMap<Arc<str>, Arc<str>>,
}

/// The most frequent producer of each channel.
pub(super) type MainProducers = BTreeMap<Arc<str>, Arc<str>>;

/// For each channel the number of documents by producer.
#[derive(Default)]
struct Counts {
    texts: BTreeSet<Arc<str>>,
    of_channels: BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>>,
}

impl Counts {
    /// Counts a document whose channel this producer has computed. Returns both texts.
    fn count(&mut self, channel: &str, producer: &str) -> (Arc<str>, Arc<str>) {
        let [channel, producer] = [channel, producer].map(|text| self.shared(text));
        let of_channel = self.of_channels.entry(channel.clone()).or_default();
        *of_channel.entry(producer.clone()).or_default() += 1;
        (channel, producer)
    }

    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let new: Arc<str> = text.into();
        self.texts.insert(new.clone());
        new
    }

    /// Of equally frequent producers, the first in alphabetical order.
    fn most_frequent(self) -> MainProducers {
        let most_frequent = |counts: BTreeMap<Arc<str>, usize>| {
            counts.into_iter().rev().max_by_key(|(_, count)| *count)
        };
        let of_channels = self.of_channels.into_iter();
        of_channels
            .filter_map(|(channel, counts)| Some((channel, most_frequent(counts)?.0)))
            .collect()
    }
}

impl Store {
    /// The files and the producers of each stored document, by its id.
    pub fn stored_documents(&self) -> Result<HashMap<String, StoredDocument>> {
        let mut counts = Counts::default();
        let stored = self.reading(|c| {
            let mut held: HashMap<String, StoredDocument> = HashMap::new();
            checksum::read(c, &tables::DOCUMENT, ALL, |row| {
                held.entry(row.get(0)?).or_default().fingerprint = row.get(1)?;
                Ok(())
            })?;
            checksum::read(c, &tables::WORK, ALL, |row| {
                let (channel, producer) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
                let (channel, producer) = counts.count(channel, producer);
                if let Some(held) = held.get_mut(row.get_ref(0)?.as_str()?) {
                    held.producers.insert(channel, producer);
                }
                Ok(())
            })?;
            let mut states = c.prepare("SELECT document, state, content FROM file_state")?;
            let mut rows = states.query([])?;
            while let Some(row) = rows.next()? {
                let of_document = (|| {
                    let (state, content) = (row.get(1)?, row.get(2)?);
                    Ok((row.get::<_, String>(0)?, FileState { state, content }))
                })();
                // files whose row is damaged are read again
                if let Some((id, files)) = readable(of_document)?
                    && let Some(held) = held.get_mut(&id)
                {
                    held.files = Some(files);
                }
            }
            Ok(held)
        })?;
        // they need not be counted again
        self.producers.get_or_init(|| counts.most_frequent());
        Ok(stored)
    }

    /// The most frequent producer of a channel.
    pub fn producer(&self, channel: &str) -> Result<Option<String>> {
        if self.producers.get().is_none() {
            let mut counts = Counts::default();
            self.each_row(&tables::WORK, ALL, |row| {
                counts.count(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
                Ok(())
            })?;
            self.producers.get_or_init(|| counts.most_frequent());
        }
        let producers = self.producers.get();
        let producer = producers.and_then(|producers| producers.get(channel));
        Ok(producer.map(|producer| producer.to_string()))
    }
}
