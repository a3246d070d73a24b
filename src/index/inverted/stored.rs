//! Checks the stored texts of a segment before tantivy reads them.
//!
//! tantivy allocates memory for the lengths in these files before it reads the data. If a damaged length requests petabytes, the allocation ends
//! the process; unlike a panic, this cannot be caught.

use anyhow::{Context, Result, ensure};
use tantivy::HasLen;
use tantivy::index::SegmentComponent;

/// The end of the file: its version (4 bytes), the offset of the skip index (8), the compression (1), and 15 unused bytes.
const FOOTER_BYTES: usize = 28;

/// Checks the number of layers of the skip index, the only length that is read when the file is opened.
///
/// Errors: the file cannot be read, or its skip index is damaged.
pub(super) fn check_skip_index(segment: &tantivy::Segment) -> Result<()> {
    let file = segment.open_read(SegmentComponent::Store)?;
    let end = file.len().checked_sub(FOOTER_BYTES);
    let end = end.context("it ends too early")?;
    let footer = file.slice_from(end).read_bytes()?;
    let offset = footer.get(4..12).and_then(|bytes| bytes.try_into().ok());
    let offset = usize::try_from(u64::from_le_bytes(offset.unwrap_or_default()))?;
    ensure!(offset <= end, "its skip index begins after its end");
    let index = file.slice(offset..end).read_bytes()?;
    let layers = vint(&mut index.as_slice()).context("its skip index is cut off")?;
    ensure!(
        layers <= crate::limits::MAX_SKIP_LAYERS,
        "its skip index has {layers} layers"
    );
    Ok(())
}

/// Checks that the lengths of a decompressed document's values add up to its length. All stored values are texts.
///
/// Errors: it is damaged.
pub(super) fn check_document(bytes: &[u8]) -> Result<()> {
    values_fit(bytes).context("the lengths of its values do not fit")
}

fn values_fit(mut bytes: &[u8]) -> Option<()> {
    let values = vint(&mut bytes)?;
    for _ in 0..values {
        // the field's number and the code for texts
        let (head, rest) = bytes.split_at_checked(5)?;
        if head.last() != Some(&0) {
            return None;
        }
        bytes = rest;
        let length = usize::try_from(vint(&mut bytes)?).ok()?;
        bytes = bytes.get(length..)?;
    }
    Some(())
}

/// Reads a number in tantivy's encoding: each byte has seven bits, the lowest first, and the highest bit marks the last byte.
fn vint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 != 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_beyond_the_document_are_refused() {
        let document = |length: &[u8]| [&[0x81, 3, 0, 0, 0, 0], length, b"text"].concat();
        assert!(check_document(&document(&[0x84])).is_ok());
        assert!(check_document(&[0x80]).is_ok());
        for length in [&[0x85][..], &[4, 0x81], &[0x7f; 9], &[0x7f; 20]] {
            assert!(check_document(&document(length)).is_err(), "{length:?}");
        }
        for at in 0..document(&[0x84]).len() {
            assert!(check_document(&document(&[0x84])[..at]).is_err());
        }
        assert!(check_document(&[0x81, 3, 0, 0, 0, 1, 0x80]).is_err());
        assert!(check_document(&[0xff]).is_err());
    }
}
