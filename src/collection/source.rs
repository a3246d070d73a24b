//! Reading the files of text collections, plain or gzip, and reporting faults in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;

use crate::trec::{Fault, FaultKind};

/// A longer argument or passage is a fault. The longest argument of args.me has less than 1 MB.
pub(super) const MAX_DOCUMENT_BYTES: usize = 16 << 20;

/// Opens a file, and decompresses it if its first bytes are those of gzip.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    file.by_ref().take(2).read_to_end(&mut magic)?;
    let packed = magic == [0x1f, 0x8b];
    let whole = io::Cursor::new(magic).chain(file);
    Ok(if packed {
        let buffered = io::BufReader::with_capacity(1 << 18, whole);
        Box::new(MultiGzDecoder::new(buffered))
    } else {
        Box::new(whole)
    })
}

/// Reads a whole file, and decompresses it if its first bytes are those of gzip. Errors: it cannot be read or decompressed.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let reading = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    let mut file = open(path).with_context(reading)?;
    file.read_to_end(&mut bytes).with_context(reading)?;
    Ok(bytes)
}

/// A fault on a line of a file.
pub(super) fn fault(kind: FaultKind, path: &Path, line: u64, what: impl Into<String>) -> Fault {
    Fault {
        kind,
        path: path.to_owned(),
        line: Some(line),
        what: what.into(),
    }
}

/// The fault for a JSON value that begins on `line`: serde's message, with the line number of the file.
pub(super) fn json_fault(
    kind: FaultKind,
    path: &Path,
    line: u64,
    error: &serde_json::Error,
) -> Fault {
    let words = error.to_string();
    let what = words.split(" at line ").next().unwrap_or(&words);
    let line = line + (error.line() as u64).saturating_sub(1);
    fault(kind, path, line, what)
}

/// Why an id cannot be written to a run file; `None` if it can.
pub(super) fn bad_id(id: &str) -> Option<&'static str> {
    match id {
        "" => Some("its id is empty"),
        _ if id.contains(char::is_whitespace) => Some("its id has a blank in it"),
        _ => None,
    }
}
