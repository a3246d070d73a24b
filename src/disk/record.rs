//! Records: small TOML files in which riposte notes what it has downloaded, verified or unpacked.

use std::io;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{regular, replace};

/// Reads a record; if there is no file, it is empty.
pub(crate) fn read_record<T: DeserializeOwned + Default>(path: &Path) -> Result<T> {
    let read = || -> Result<T> {
        match regular::read_text(path, crate::limits::MAX_RECORD_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
            text => parse(&text?),
        }
    };
    read().with_context(|| format!("cannot read the record {path:?}"))
}

/// Parses a record. An error is one line, and names that of the record.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let why = error.message().replace('\n', " ");
        let before = error.span().and_then(|span| text.get(..span.start));
        match before {
            Some(before) => anyhow!("line {}: {why}", before.matches('\n').count() + 1),
            None => anyhow!(why),
        }
    })
}

/// Replaces a record in one step.
pub(crate) fn write_record<T: Serialize>(path: &Path, record: &T) -> Result<()> {
    let write = || -> Result<()> {
        let text = format!("# written by riposte\n{}", toml::to_string(record)?);
        Ok(replace(path, text.as_bytes())?)
    };
    write().with_context(|| format!("cannot write the record {path:?}"))
}
