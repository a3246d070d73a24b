//! What the user chooses about a collection: where it is and what is computed about it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::device::Compute;
use crate::evidence::precision::Precision;
use crate::places::Places;
use crate::weights::Models;

/// The options that a user can choose.
#[derive(Clone, Debug, Default)]
pub struct ExtractionOptions {
    /// By channel, the name of its model. Without a name, it is the first that is installed, or none if the channel must be named.
    pub chosen: BTreeMap<&'static str, String>,
    /// The names of channels that must be on.
    pub required: Vec<String>,
    pub precision: Precision,
}

/// What is extracted, and how.
#[derive(Clone)]
pub struct ExtractionSettings {
    /// The collection: a directory, or an evidence store whose images are ranked without their files.
    pub input: PathBuf,
    pub places: Places,
    pub models: Models,
    pub options: ExtractionOptions,
    /// Only this number of images is used, the first ones by id; `None` for all.
    pub limit: Option<usize>,
    /// Number of threads; `None` for one per core.
    pub threads: Option<usize>,
    /// Whether the contents of all files are compared with those of the last extraction, even if sizes and times are unchanged.
    pub rehash: bool,
    /// Whether documents in which riposte has died are tried again.
    pub retry: bool,
}

impl ExtractionSettings {
    /// All images, with all threads, and default options but for how models compute.
    pub fn new(input: &Path, places: Places, models: Models, compute: Compute) -> Self {
        let mut options = ExtractionOptions::default();
        options.precision.compute = compute;
        ExtractionSettings {
            input: input.to_owned(),
            places,
            models,
            options,
            limit: None,
            threads: None,
            rehash: false,
            retry: false,
        }
    }
}
