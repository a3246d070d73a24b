//! Reads and writes texts line by line.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, LineError};

/// Passes the lines that are not blank to a function, which says why it cannot read a line. Returns an error for each line that it cannot read.
pub(crate) fn each_line(
    text: &str,
    mut read: impl FnMut(&str) -> Result<(), String>,
) -> Vec<LineError> {
    let errors = numbered_lines(text).filter_map(|(line, fields)| {
        let what = read(fields).err()?;
        Some(LineError::new(line, what))
    });
    errors.collect()
}

/// Writes one JSON object per line. `what` names the objects in the error: "an explanation".
///
/// # Errors
/// A value is not finite, which JSON cannot express.
pub fn write_json<T: Serialize>(lines: &[T], what: &'static str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line).map_err(|error| Error::Json { what, error })?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Reads the lines that [`write_json`] writes. `what` names the objects in the error.
///
/// # Errors
/// The first line that is not such an object.
pub fn read_json<T: DeserializeOwned>(text: &str, what: &str) -> Result<Vec<T>, LineError> {
    let read = |(line, json)| {
        serde_json::from_str(json)
            .map_err(|error| LineError::new(line, format!("not {what}: {error}")))
    };
    numbered_lines(text).map(read).collect()
}

/// Checks that a line is a JSON object. serde reads the fields of an object from an array, too, which the organisers' programs do not.
pub(crate) fn ensure_object(line: &str) -> Result<(), String> {
    let is_object = line.trim_start().starts_with('{');
    is_object
        .then_some(())
        .ok_or_else(|| "not a JSON object".to_owned())
}

/// The lines that are not blank, with their numbers from 1. A byte order mark is skipped.
pub(crate) fn numbered_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
}
