//! Reads files that have a JSON object on each line, plain or gzip, one line at a time.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use riposte_eval::LineError;
use riposte_eval::lines::JsonObject;
use serde::de::DeserializeOwned;

use super::source::{self};
use super::{Fault, FaultKind};

/// Reads a document from each line of a file that is not blank. For a line that cannot be read, the iterator returns a fault.
///
/// `R` is the JSON of a line, `D` the document.
pub(super) struct JsonLines<R, D> {
    path: PathBuf,
    /// The kind of the faults in this file.
    kind: FaultKind,
    /// Makes a document from the JSON of a line, or says why it cannot.
    document: fn(R) -> Result<D, String>,
    reader: Option<BufReader<Box<dyn Read + Send>>>,
    line: u64,
    ended: bool,
}

impl<R: DeserializeOwned, D> JsonLines<R, D> {
    /// A reader of the file at `path`, which is opened when the first line is read.
    pub(super) fn new(path: &Path, kind: FaultKind, document: fn(R) -> Result<D, String>) -> Self {
        JsonLines {
            path: path.to_owned(),
            kind,
            document,
            reader: None,
            line: 0,
            ended: false,
        }
    }

    /// A reader of a stream, which has no path.
    pub(super) fn of(
        input: Box<dyn Read + Send>,
        kind: FaultKind,
        document: fn(R) -> Result<D, String>,
    ) -> Self {
        JsonLines {
            reader: Some(BufReader::with_capacity(1 << 18, input)),
            ..JsonLines::new(Path::new(""), kind, document)
        }
    }

    /// The documents and faults, each with its line number, from 1.
    pub(super) fn numbered(mut self) -> impl Iterator<Item = (u64, Result<D, Fault>)> {
        std::iter::from_fn(move || {
            let next = self.next()?;
            Some((self.line, next))
        })
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.kind, &self.path, Some(self.line), what)
    }

    /// Reads the next line; returns false at the end of the file. A line that is too long is skipped and reported as a fault.
    fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool, Fault> {
        self.line += 1;
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => {
                let opened = source::open(&self.path)
                    .map_err(|e| self.fault(format!("cannot be read: {e}")).caused_by(&e))?;
                self.reader
                    .insert(BufReader::with_capacity(1 << 18, opened))
            }
        };
        let limit = crate::limits::MAX_DOCUMENT_BYTES as u64;
        let mut too_long = false;
        loop {
            match reader.by_ref().take(limit).read_until(b'\n', line) {
                Ok(n) if n as u64 == limit && line.last() != Some(&b'\n') => {
                    too_long = true;
                    line.clear();
                }
                Ok(_) if too_long => {
                    let kind = self.kind.word();
                    return Err(self.fault(format!("a line that is too long for a {kind}")));
                }
                Ok(n) => return Ok(n > 0),
                Err(error) => {
                    self.ended = true;
                    let what = format!("cannot be read further: {error}");
                    return Err(self.fault(what).caused_by(&error));
                }
            }
        }
    }

    fn parse(&self, line: &[u8]) -> Result<D, Fault> {
        let JsonObject(json) = serde_json::from_slice(line).map_err(|error| {
            let error = LineError::of_json(self.line, &error);
            Fault::in_line(self.kind, &self.path, &error)
        })?;
        (self.document)(json).map_err(|what| self.fault(what))
    }
}

impl<R: DeserializeOwned, D> Iterator for JsonLines<R, D> {
    type Item = Result<D, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        while !self.ended {
            line.clear();
            match self.read_line(&mut line) {
                Ok(true) => {}
                Ok(false) => self.ended = true,
                Err(fault) => {
                    // the file could not be opened
                    self.ended |= self.reader.is_none();
                    return Some(Err(fault));
                }
            }
            let bytes = match self.line {
                1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line),
                _ => &line,
            };
            // With a line break, serde would place an error at the end of this line on the next line.
            let bytes = bytes.trim_ascii();
            if !bytes.is_empty() {
                return Some(self.parse(bytes));
            }
        }
        None
    }
}
