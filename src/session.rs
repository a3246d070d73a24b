//! What a user chooses once, whatever is done with a collection: where things are, what computes, and what is read again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::device::Compute;
use crate::evidence::precision::Precision;
use crate::index::inverted::IndexingBudget;
use crate::places::Places;
use crate::weights::Models;

/// Which models compute evidence, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractionOptions {
    /// By channel, the name of its model. Without a name, it is the first that is installed, or none if the channel must be named.
    pub chosen: BTreeMap<&'static str, String>,
    /// The names of channels that must be on.
    pub required: Vec<String>,
    pub precision: Precision,
}

/// Where things are, and what computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub places: Places,
    pub models: Models,
    pub options: ExtractionOptions,
    /// Number of threads; `None` for one per core.
    pub threads: Option<usize>,
}

impl Session {
    /// A session with all threads. Its options are the defaults, except that models compute as `compute` says.
    pub fn new(places: Places, models: Models, compute: Compute) -> Self {
        let mut options = ExtractionOptions::default();
        options.precision.compute = compute;
        Session {
            places,
            models,
            options,
            threads: None,
        }
    }

    /// What computes models, and in which numbers.
    pub fn compute(&self) -> Compute {
        self.options.precision.compute
    }

    /// The budget for building an index.
    ///
    /// # Errors
    /// The number of threads is 0, or too large.
    pub fn indexing_budget(&self) -> Result<IndexingBudget> {
        IndexingBudget::on(self.threads)
    }
}

/// A collection on disk, and the session in which it is read. Equal sources open the same things.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionSource {
    pub session: Session,
    /// The collection: a directory, or an evidence store whose images are ranked without their files.
    pub input: PathBuf,
    /// Only this number of images is used, the first ones by id; `None` for all.
    pub limit: Option<usize>,
    /// Whether the contents of all files are compared with those of the last time, even if sizes and times are unchanged.
    pub rehash: bool,
    /// Whether documents in which riposte has died are tried again.
    pub retry: bool,
}

impl CollectionSource {
    /// All documents of a collection.
    pub fn new(session: Session, input: &Path) -> Self {
        CollectionSource {
            session,
            input: input.to_owned(),
            limit: None,
            rehash: false,
            retry: false,
        }
    }
}
