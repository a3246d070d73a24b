//! `ir-metadata.yml` beside a run.

use std::path::Path;

use anyhow::Result;

use super::args::MetadataArgs;
use super::files::write_atomically;
use crate::task::metadata::{self, Config, Description};

/// The user's fields of the metadata; `None` with --no-metadata.
pub(super) fn config(args: &MetadataArgs) -> Option<Config> {
    (!args.no_metadata).then(|| args.config.clone())
}

/// The names of the files in a run's directory: the run and its metadata.
pub(super) fn files<'a>(run: &'a str, config: Option<&Config>) -> Vec<&'a str> {
    let metadata = config.map(|_| metadata::FILE);
    [run].into_iter().chain(metadata).collect()
}

/// Writes the metadata of the run in this directory.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(dir: &Path, config: &Config, description: &Description) -> Result<()> {
    let text = description.write(config)?;
    write_atomically(&dir.join(metadata::FILE), text.as_bytes())
}

/// The command as it was typed.
pub(super) fn command() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
