//! Channels: what extraction, the store, merging and exports must know of a kind of evidence.
//!
//! Extraction and the store take the list of channels as a parameter. The list is in `recipes/`.

use std::any::Any;
use std::collections::BTreeMap;

use anyhow::Result;
use rusqlite::{Row, ToSql};

use super::Evidence;
use super::document::DocumentInWork;
pub use super::precision::{ChannelBackend, Precision};
use super::table::EvidenceTable;
use crate::collection::Fault;
use crate::collection::images::FileState;
use crate::weights::{CheckedModel, ModelRole};

/// All channels, in the order in which they are computed. A channel uses only earlier channels.
pub type Channels = &'static [&'static dyn Channel];

/// A kind of evidence. It is computed, stored and updated on its own.
pub trait Channel: Sync {
    /// The name on the command line and in the store.
    fn name(&self) -> &'static str;

    /// The names of the channels from which it is computed.
    fn uses(&self) -> &'static [&'static str] {
        &[]
    }

    /// Where its evidence is stored.
    fn tables(&self) -> &'static [&'static EvidenceTable];

    /// The role of the model that it needs; `None` if it needs no model.
    fn role(&self) -> Option<ModelRole> {
        None
    }

    /// What the help of `images` and `extract` says of the option that names its model. The option has the name of the channel. `None` without a model,
    /// and where other commands have the option, too.
    fn option(&self) -> Option<&'static str> {
        None
    }

    /// Whether it is computed only if the user names its model.
    fn only_if_named(&self) -> bool {
        false
    }

    /// What a note for the user says of values that were computed in int8, after the word "stored"; `None` if values are never computed in int8.
    fn values_in_int8(&self) -> Option<&'static str> {
        None
    }

    /// The stage of extraction to which its time is added.
    fn stage(&self) -> &'static str {
        self.name()
    }

    /// Whether it is copied from another document with the same image, if there is one. It must depend only on the pixels.
    fn is_copied(&self) -> bool {
        false
    }

    /// The extractor that computes the channel. A channel with a [`Channel::role`] needs `model`. A network is loaded when it is first used.
    ///
    /// # Errors
    /// The model is missing, cannot be read, or cannot be used with this precision.
    fn extractor(&self, model: Option<CheckedModel>, precision: Precision) -> NewExtractor;

    /// Passes each row that the channel stores about a document to `put`, without the first column, the id of the document.
    ///
    /// # Errors
    /// Those of `put`.
    fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()>;

    /// Adds a stored row of one of its tables to the evidence. The first value is the id of the document. Rows come in the order of the tables and of
    /// their keys.
    ///
    /// # Errors
    /// A value has another type.
    fn read(
        &self,
        table: &EvidenceTable,
        row: &Row,
        evidence: &mut Evidence,
    ) -> rusqlite::Result<()>;
}

/// Receives the rows of a channel.
pub type PutRow<'a> = dyn FnMut(&EvidenceTable, &[&dyn ToSql]) -> rusqlite::Result<()> + 'a;

/// The channel with this name.
pub fn find(channels: Channels, name: &str) -> Option<&'static dyn Channel> {
    channels.iter().copied().find(|c| c.name() == name)
}

/// An extractor, or why a channel has none.
pub type NewExtractor = Result<Box<dyn Extractor>>;

/// Computes a channel. Several threads use it at the same time.
pub trait Extractor: Any + Send + Sync {
    /// Its version and the sha256 of its model. If it changes, the channel is computed again.
    fn producer(&self) -> String;

    /// Computes the channel of a document, and adds it to [`DocumentInWork::evidence`], which has no value of it.
    ///
    /// # Errors
    /// The model cannot be loaded or fails. What is wrong with the document is not an error but one of [`DocumentInWork::faults`].
    fn compute(&self, document: &mut DocumentInWork) -> Result<()>;

    /// Completes the channel of documents for which [`DocumentInWork::later`] was set.
    ///
    /// # Errors
    /// The model fails.
    fn complete(&self, _: Vec<WaitingDocument>) -> Result<()> {
        Ok(())
    }

    /// The runtime and the numbers of the model, for the user; `None` if it has not been loaded.
    fn describe(&self) -> Option<String> {
        None
    }
}

/// A document with a channel that is completed together with the other documents of its group.
pub struct WaitingDocument<'a> {
    /// What [`DocumentInWork::later`] was set to.
    pub input: Box<dyn Any + Send>,
    pub record: &'a mut NewEvidence,
}

/// New evidence about a document. The stored evidence of other channels stays, unless their inputs have changed. Then it is removed.
#[derive(Debug, Default)]
pub struct NewEvidence {
    /// The evidence that is known of the document.
    pub evidence: Evidence,
    /// How its new channels were computed, by name.
    pub made: BTreeMap<&'static str, Provenance>,
    /// A hash over the names and sizes of the files from which this was computed.
    pub fingerprint: String,
    /// The state of these files. If their contents have changed since the last extraction, all stored evidence of the document is removed.
    pub files: Option<FileState>,
}

/// How a channel of a document was computed.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    pub producer: String,
    /// `None` if no model has computed it.
    pub backend: Option<ChannelBackend>,
    pub faults: Vec<Fault>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ChannelValue;
    use crate::evidence::ocr::Ocr;
    use crate::evidence::page::Pages;
    use crate::evidence::store::Store;
    use crate::evidence::table::ColumnType::Integer;
    use riposte_eval::DocId;

    static LINES: EvidenceTable =
        EvidenceTable::new("lines", 0, &[(Integer, "count")]).added_later();

    #[derive(Debug, PartialEq)]
    struct LineCount(i64);

    impl ChannelValue for LineCount {}

    struct Lines;

    const CHANNELS: Channels = &[&Pages, &Ocr, &Lines];

    impl Channel for Lines {
        fn name(&self) -> &'static str {
            "lines"
        }

        fn tables(&self) -> &'static [&'static EvidenceTable] {
            const { &[&LINES] }
        }

        fn extractor(&self, _: Option<CheckedModel>, _: Precision) -> NewExtractor {
            anyhow::bail!("nothing is extracted")
        }

        fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()> {
            let mut count = evidence.get::<LineCount>().into_iter();
            count.try_for_each(|LineCount(count)| put(&LINES, &[count]))
        }

        fn read(&self, _: &EvidenceTable, row: &Row, to: &mut Evidence) -> rusqlite::Result<()> {
            to.put(LineCount(row.get(1)?));
            Ok(())
        }
    }

    #[test]
    fn a_channel_that_no_other_file_names_is_stored_merged_and_read() {
        let dir = tempfile::tempdir().unwrap();
        let ids = ["I1", "I2"].map(|id| DocId(id.to_owned()));
        let paths = ids.each_ref().map(|id| dir.path().join(&id.0));
        for ((id, path), count) in ids.iter().zip(&paths).zip(1..) {
            let mut evidence = Evidence::of(id.clone());
            evidence.put(LineCount(count));
            let made = Provenance {
                producer: "lines/1".to_owned(),
                ..Provenance::default()
            };
            let record = NewEvidence {
                evidence,
                made: [("lines", made)].into(),
                ..NewEvidence::default()
            };
            Store::open(path, CHANNELS)
                .unwrap()
                .write(&[record])
                .unwrap();
        }
        let mut store = Store::open(&paths[0], CHANNELS).unwrap();
        store.merge(&paths[1]).unwrap();
        let mut found = Vec::new();
        let each = |at: usize, evidence: &Evidence| {
            found.push((at, evidence.get::<LineCount>().map(|count| count.0)));
        };
        store.each(&ids, &[&Lines], each).unwrap();
        assert_eq!(found, [(0, Some(1)), (1, Some(2))]);
        let whole = store.read(&ids[1]).unwrap().unwrap();
        assert_eq!(whole.get(), Some(&LineCount(2)));
        let none = store.read_by(&ids[1], &[]).unwrap().unwrap();
        assert_eq!(none.get::<LineCount>(), None);
        assert!(store.has_channel(&ids[1], "lines").unwrap());
    }
}
