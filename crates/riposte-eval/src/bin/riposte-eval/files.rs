//! Reads files, with the bounds of the program riposte.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::read::MultiGzDecoder;
use riposte_eval::limits::{MAX_LINE_BYTES, MAX_LINES};
use riposte_eval::run::begins_as_ranx;

/// The first bytes of a file that is packed with gzip, and with zstd.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Checks that at most one file is standard input, which gives its bytes only once.
pub(crate) fn check_once<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    let count = files.filter(|file| is_stdin(file)).count();
    ensure!(
        count <= 1,
        "only one run or file of judgements can be standard input (-), not {count}"
    );
    Ok(())
}

/// A file with this name is `./-`.
fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a file of lines, standard input or a pipe to its end, once, and unpacks it if its first bytes are those of gzip.
///
/// # Errors
/// It cannot be read or unpacked, or it has more than `most` bytes, too many lines or too long a line.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    if is_stdin(path) {
        return unpacked(io::stdin(), most).context("cannot read standard input");
    }
    let file = File::open(path).map_err(anyhow::Error::from);
    let bytes = file.and_then(|file| unpacked(file, most));
    bytes.with_context(|| format!("cannot read {}", path.display()))
}

fn unpacked(mut file: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic)?;
    let (is_gzip, is_zstd) = (magic.starts_with(&GZIP), magic.starts_with(&ZSTD));
    ensure!(
        !is_zstd,
        "it is packed with zstd, which only the program riposte reads: unpack it first (zstd -d), or pack it with gzip"
    );
    let whole = io::Cursor::new(magic).chain(file);
    let mut bytes = Vec::new();
    match is_gzip {
        true => MultiGzDecoder::new(whole)
            .take(most + 1)
            .read_to_end(&mut bytes)?,
        false => whole.take(most + 1).read_to_end(&mut bytes)?,
    };
    let is_small = bytes.len() as u64 <= most;
    ensure!(is_small, "more than {} MiB after decompression", most >> 20);
    let lines = bytes.split(|byte| *byte == b'\n');
    ensure!(
        lines.clone().count() <= MAX_LINES + 1,
        "more than {MAX_LINES} lines"
    );
    let longest = lines.map(<[u8]>::len).max();
    ensure!(
        longest <= Some(MAX_LINE_BYTES) || begins_as_ranx(&String::from_utf8_lossy(&bytes)),
        "a line of more than {} MiB",
        MAX_LINE_BYTES >> 20
    );
    Ok(bytes)
}
