//! Reads the files of text collections, runs and judgements, plain or compressed, and reports faults in them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;
use riposte_eval::run::{begins_as_ranx, unfit_field};

use crate::disk::regular;
use crate::limits::{MAX_LINE_BYTES, MAX_LINES, MAX_WINDOW_BYTES};

/// The first bytes of a file that is packed with gzip, and with zstd.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Opens a regular file, and decompresses it if its first bytes are those of gzip or zstd.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    unpacked(regular::open(path)?)
}

/// Decompresses a file if its first bytes are those of gzip or zstd.
fn unpacked(mut file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::new();
    file.by_ref()
        .take(ZSTD.len() as u64)
        .read_to_end(&mut magic)?;
    let (is_gzip, is_zstd) = (magic.starts_with(&GZIP), magic.starts_with(&ZSTD));
    let whole = io::Cursor::new(magic).chain(file);
    if !is_gzip && !is_zstd {
        return Ok(Box::new(whole));
    }
    let buffered = io::BufReader::with_capacity(1 << 18, whole);
    match is_gzip {
        true => Ok(Box::new(MultiGzDecoder::new(buffered))),
        false => unpacked_zstd(buffered),
    }
}

fn unpacked_zstd(packed: impl io::BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = zstd::Decoder::with_buffer(packed)?;
    decoder.window_log_max(MAX_WINDOW_BYTES.ilog2())?;
    Ok(Box::new(decoder))
}

/// Reads a whole file of lines, and decompresses it if its first bytes are those of gzip or zstd. The file may be a pipe, because shells pass runs and
/// judgements as pipes (`<(zcat run.txt.gz)`).
///
/// Errors: the file cannot be read or decompressed, or it has more than `limit` bytes after decompression, more than two million lines, or more than
/// 16 MiB on a line.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let reading = || format!("cannot read {}", path.display());
    let read = |file| read_lines(unpacked(file)?, limit, Lines::Short);
    regular::read_unchanged(|| regular::open_pipe(path), read).with_context(reading)
}

/// Like [`read_bytes`], for a run or judgements: a file in ranx's format may consist of one long line.
///
/// # Errors
/// Those of [`read_bytes`].
pub fn read_judged(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let reading = || format!("cannot read {}", path.display());
    let read = |file| read_lines(unpacked(file)?, limit, Lines::OrRanx);
    regular::read_unchanged(|| regular::open_pipe(path), read).with_context(reading)
}

/// Like [`read_judged`], from standard input.
///
/// # Errors
/// Those of [`read_bytes`].
pub fn read_judged_stdin(limit: u64) -> Result<Vec<u8>> {
    let read = || read_lines(unpacked(io::stdin())?, limit, Lines::OrRanx);
    read().context("cannot read standard input")
}

/// Like [`read_bytes`], but accepts only a regular file, as for all files that riposte finds itself.
///
/// # Errors
/// Those of [`read_bytes`], or the file is not regular.
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let reading = || format!("cannot read {}", path.display());
    let read = |file| read_lines(unpacked(file)?, limit, Lines::Short);
    regular::read_unchanged(|| regular::open(path), read).with_context(reading)
}

/// What the lines of a file can be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// Of at most [`MAX_LINE_BYTES`].
    Short,
    /// The same, or one JSON object of ranx with lines of any length. Its reader bounds what it keeps of a line.
    OrRanx,
}

fn read_lines(mut file: impl Read, limit: u64, lines_are: Lines) -> Result<Vec<u8>> {
    const BLOCK: u64 = 1 << 20;
    let mut bytes = Vec::new();
    let mut line_start = 0;
    let mut lines = 0;
    let mut is_ranx = false;
    loop {
        let before = bytes.len();
        if file.by_ref().take(BLOCK).read_to_end(&mut bytes)? == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > limit {
            bail!("more than {} MiB after decompression", limit >> 20);
        }
        let block = bytes.get(before..).unwrap_or_default();
        if before == 0 && lines_are == Lines::OrRanx {
            is_ranx = begins_as_ranx(&String::from_utf8_lossy(block));
        }
        lines += block.iter().filter(|byte| **byte == b'\n').count();
        if lines > MAX_LINES {
            bail!("more than {MAX_LINES} lines");
        }
        if let Some(last) = block.iter().rposition(|byte| *byte == b'\n') {
            line_start = before + last + 1;
        }
        if bytes.len() - line_start > MAX_LINE_BYTES && !is_ranx {
            bail!("a line of more than {} MiB", MAX_LINE_BYTES >> 20);
        }
    }
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
