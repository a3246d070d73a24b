//! Recognises JPEG files that were cut off. Their decoder fills the missing part with grey and reports nothing.

/// The marker that begins the compressed pixels (SOS).
const PIXELS: u8 = 0xda;
/// The marker that ends the image (EOI).
const END: u8 = 0xd9;

/// Whether the bytes are a JPEG file that ends before the image does. Previews inside the file have their own end markers, but precede the pixels.
pub(crate) fn is_cut_jpeg(bytes: &[u8]) -> bool {
    let Some(mut rest) = bytes.strip_prefix(b"\xff\xd8") else {
        return false;
    };
    // segments: a marker, and a length that counts itself
    loop {
        rest = match rest {
            [0xff, PIXELS, pixels @ ..] => return !pixels.windows(2).any(|w| w == [0xff, END]),
            // fill bytes, and markers without a length
            [0xff, 0xff, ..] => rest.get(1..).unwrap_or_default(),
            [0xff, 0x01 | 0xd0..=0xd7, after @ ..] => after,
            [0xff, END, ..] => return false,
            [0xff, _, after @ ..] => {
                let length = after
                    .first_chunk()
                    .map_or(2, |two| u16::from_be_bytes(*two));
                match after.get(usize::from(length.max(2))..) {
                    Some(next) if !next.is_empty() => next,
                    _ => return true,
                }
            }
            [] | [0xff] => return true,
            // there is no marker where one must be: the decoder decides whether it can read such a file
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{DynamicImage, ImageFormat, RgbImage};
    use std::io::Cursor;

    #[test]
    fn a_jpeg_file_without_its_end_is_cut() {
        let image = DynamicImage::from(RgbImage::from_fn(64, 64, |x, y| {
            image::Rgb([(x * 7) as u8, (y * 5) as u8, (x * y) as u8])
        }));
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Jpeg).unwrap();
        let bytes = bytes.into_inner();
        assert!(!is_cut_jpeg(&bytes));
        assert!(!is_cut_jpeg(&[bytes.as_slice(), b"appended"].concat()));
        for length in 2..bytes.len() {
            assert!(is_cut_jpeg(&bytes[..length]), "{length} bytes");
        }
        // a preview in a segment, with its own end marker
        let preview = [&bytes[..2], b"\xff\xe1\x00\x06\xff\xd9ab", &bytes[2..]].concat();
        assert!(!is_cut_jpeg(&preview));
        assert!(is_cut_jpeg(&preview[..preview.len() / 2]));
        assert!(!is_cut_jpeg(b"GIF89a"));
    }
}
