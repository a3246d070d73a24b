//! Reads the files of text collections, plain or gzip, and reports faults in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;
use riposte_eval::run::unfit_field;

use crate::disk::regular;

/// Maximum size of an argument, a passage or a document, in bytes; a longer one is a fault. All arguments of args.me are shorter.
pub(super) const MAX_DOCUMENT_BYTES: usize = 16 << 20;

/// Opens a regular file, and decompresses it if its first bytes are those of gzip.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    unpacked(regular::open(path)?)
}

/// Decompresses a file if its first bytes are those of gzip.
fn unpacked(mut file: File) -> io::Result<Box<dyn Read + Send>> {
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

/// Maximum length of a line, in bytes, in a file that is read as a whole; a longer one is an error. The longest known lines are explanations, which
/// are far shorter.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Maximum number of lines in such a file; more are an error. The data kept for a line, and messages about it, can take more memory than the line.
/// The ids of all passages of 2022 are fewer.
const MAX_LINES: usize = 2_000_000;

/// Reads a whole file of lines, and decompresses it if its first bytes are those of gzip. The file may be a pipe, because shells pass runs and
/// judgements as pipes (`<(zcat run.txt.gz)`).
///
/// Errors: the file cannot be read or decompressed, or it has more than `limit` bytes after decompression, more than two million lines, or more than
/// 16 MiB on a line.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let reading = || format!("cannot read {}", path.display());
    let read = |file| read_lines(unpacked(file)?, limit);
    regular::read_unchanged(|| regular::open_pipe(path), read).with_context(reading)
}

/// Like [`read_bytes`], but accepts only a regular file, as for all files that riposte finds itself.
///
/// # Errors
/// Those of [`read_bytes`], or the file is not regular.
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let reading = || format!("cannot read {}", path.display());
    let read = |file| read_lines(unpacked(file)?, limit);
    regular::read_unchanged(|| regular::open(path), read).with_context(reading)
}

fn read_lines(mut file: impl Read, limit: u64) -> Result<Vec<u8>> {
    const BLOCK: u64 = 1 << 20;
    let mut bytes = Vec::new();
    let mut line_start = 0;
    let mut lines = 0;
    loop {
        let before = bytes.len();
        if file.by_ref().take(BLOCK).read_to_end(&mut bytes)? == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > limit {
            bail!("more than {} MiB after decompression", limit >> 20);
        }
        let block = bytes.get(before..).unwrap_or_default();
        lines += block.iter().filter(|byte| **byte == b'\n').count();
        if lines > MAX_LINES {
            bail!("more than {MAX_LINES} lines");
        }
        if let Some(last) = block.iter().rposition(|byte| *byte == b'\n') {
            line_start = before + last + 1;
        }
        if bytes.len() - line_start > MAX_LINE_BYTES {
            bail!("a line of more than {} MiB", MAX_LINE_BYTES >> 20);
        }
    }
}

/// The line and the text of an error in a JSON value that begins on `line`: serde's message, with the line number of the file.
pub(super) fn json_error(line: u64, error: &serde_json::Error) -> (u64, String) {
    let mut what = error.to_string();
    what.truncate(what.find(" at line ").unwrap_or(what.len()));
    (line + (error.line() as u64).saturating_sub(1), what)
}

/// The file at `path`, or the first of these files in the directory `path`.
///
/// # Errors
/// Those of [`regular::is_file`].
pub(super) fn find(path: &Path, names: &[&str]) -> Result<Option<PathBuf>> {
    let own = std::iter::once(path.to_owned());
    regular::first_of(own.chain(names.iter().map(|name| path.join(name))))
}

/// Checks that an id can be written to a run file. The error says why it cannot.
pub(super) fn check_id(id: &str) -> Result<(), String> {
    unfit_field(id).map_or(Ok(()), |why| Err(format!("its id {why}")))
}
