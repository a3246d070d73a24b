//! Unpacks WARC files whose records are frames of zstd, perhaps with a dictionary for all of them (the IIPC's "Use of Zstandard compression in WARC
//! files").

use std::io::{self, BufReader, Read};

use zstd::Decoder;

use crate::limits::{MAX_DICTIONARY_BYTES, MAX_WARC_WINDOW_BYTES};

/// How a frame with data begins.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// How a frame with a dictionary begins. Other readers of zstd skip it.
const DICTIONARY: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];

/// Whether a file is packed with zstd, by its first bytes.
pub(super) fn is_zstd(start: &[u8]) -> bool {
    start.starts_with(&FRAME) || start.starts_with(&DICTIONARY)
}

/// Unpacks all frames of a file for which [`is_zstd`] is true.
///
/// # Errors
/// The dictionary cannot be read.
pub(super) fn zstd<'r, R: Read + 'r>(mut input: BufReader<R>) -> io::Result<Box<dyn Read + 'r>> {
    let dictionary = match input.buffer().starts_with(&DICTIONARY) {
        true => dictionary(&mut input)?,
        false => Vec::new(),
    };
    let mut decoder = Decoder::with_dictionary(input, &dictionary)?;
    decoder.window_log_max(MAX_WARC_WINDOW_BYTES.ilog2())?;
    Ok(Box::new(decoder))
}

/// Reads the frame with the dictionary: eight bytes with its length, and the dictionary, which may be packed itself.
fn dictionary(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = [0; 8];
    input.read_exact(&mut head)?;
    let [.., a, b, c, d] = head;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let too_large = || {
        let what = format!("its dictionary has more than {MAX_DICTIONARY_BYTES} bytes");
        io::Error::new(io::ErrorKind::InvalidData, what)
    };
    if length > MAX_DICTIONARY_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        let what = "the file ends within its dictionary";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
    }
    if !bytes.starts_with(&FRAME) {
        return Ok(bytes);
    }
    let mut decoder = Decoder::with_buffer(&*bytes)?;
    decoder.window_log_max(MAX_WARC_WINDOW_BYTES.ilog2())?;
    let mut unpacked = Vec::new();
    decoder
        .take(MAX_DICTIONARY_BYTES + 1)
        .read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 > MAX_DICTIONARY_BYTES {
        return Err(too_large());
    }
    Ok(unpacked)
}
