//! Decodes image files, and describes files that are not images.

use std::io::Cursor;

use anyhow::{Context, Result, bail};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage, RgbaImage};

use crate::disk::hex;
use crate::evidence::guarded;

// Together, these bounds keep the decoding of one file below 1.2 GB: the file's bytes (at most twice 101 MB) and its pixels. Decoders hold at most
// two copies of the pixels, of 400 MB each. For a progressive JPEG they hold 900 MB of coefficients and pixels (with four components 1.1 GB).

/// The maximum number of pixels. All images of the real crawl are far smaller.
const MAX_PIXELS: u64 = 100_000_000;

/// The maximum number of pixels of an animation. Decoders hold the canvas, a frame and the result at the same time.
const MAX_ANIMATED_PIXELS: u64 = MAX_PIXELS / 2;

/// The maximum number of bytes of the decoded pixels: 100 million pixels of 8-bit RGBA, or 50 million of 16-bit RGBA.
const MAX_DECODED_BYTES: u64 = 400_000_000;

/// The number of bytes that a decoder may allocate besides the pixels that it returns (TIFF: a copy of the pixels, too).
const MAX_ALLOCATION: u64 = 512 << 20;

/// The maximum size of a file, in bytes. All images of the real crawl are smaller. The JPEG decoder copies the file.
const MAX_FILE_BYTES: usize = 96 << 20;

/// The maximum size of an icon file, in bytes. A PNG image in an icon is decoded without a bound on its metadata, which can be compressed to a
/// thousandth. An icon with all usual sizes is smaller.
const MAX_ICON_BYTES: usize = 1 << 20;

/// A decoded image.
#[derive(Clone, Debug)]
pub struct DecodedImage {
    /// The pixels, 8-bit RGB, upright, with white behind transparent parts; the first frame of an animation.
    pub image: RgbImage,
    /// The format of the bytes, whatever the file's name: "webp", "png", "jpeg", "gif", "bmp", "ico", "tiff" or "pnm".
    pub format: &'static str,
    /// In pixels, after the EXIF orientation was applied.
    pub width: u32,
    /// In pixels, after the EXIF orientation was applied.
    pub height: u32,
    /// Whether it has more than one frame.
    pub animated: bool,
}

/// Decodes the bytes of an image file.
///
/// Errors: the bytes are not an image (the message says what they look like: "an HTML page, not an image", "empty file"), the image is
/// broken, or it is too large. The sizes that the file declares are checked before anything is allocated: 96 MiB of bytes (an icon:
/// 1 MiB), 100 million pixels (an animation: 50 million) and 400 MB of decoded pixels. A panic of a decoder is an error, too.
pub fn decode(bytes: &[u8]) -> Result<DecodedImage> {
    guarded(|| decode_by_libraries(bytes))
}

fn decode_by_libraries(bytes: &[u8]) -> Result<DecodedImage> {
    let format = image::guess_format(bytes).ok();
    let Some((format, name)) = format.and_then(|format| Some((format, name_of(format)?))) else {
        bail!(not_an_image(bytes));
    };
    let most = match format {
        ImageFormat::Ico => MAX_ICON_BYTES,
        _ => MAX_FILE_BYTES,
    };
    if bytes.len() > most {
        bail!("a {name} file of {} bytes: more than {most}", bytes.len());
    }
    let failed = || format!("a {name} file that cannot be decoded");
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_ALLOCATION);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().with_context(failed)?;
    let (width, height) = decoder.dimensions();
    let animated = is_animated(bytes, format);
    let (what, most) = if animated {
        ("an animated", MAX_ANIMATED_PIXELS)
    } else {
        ("a", MAX_PIXELS)
    };
    if u64::from(width) * u64::from(height) > most {
        bail!("{what} {name} file of {width} × {height} pixels: more than {most}");
    }
    // the image crate checks its limits only in `ImageReader::decode`, not in `DynamicImage::from_decoder`
    let decoded = decoder.total_bytes();
    if decoded > MAX_DECODED_BYTES {
        bail!(
            "a {name} file of {width} × {height} pixels, which take {decoded} bytes: more than {MAX_DECODED_BYTES}"
        );
    }
    if width == 0 || height == 0 {
        bail!("a {name} file without pixels");
    }
    // the pixels can be used even if the EXIF block is broken
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let is_still_webp = format == ImageFormat::WebP && !animated;
    let by_libwebp = is_still_webp.then(|| webp_pixels(bytes, width, height));
    let mut image = match by_libwebp.flatten() {
        Some(image) => image,
        None => DynamicImage::from_decoder(decoder).with_context(failed)?,
    };
    image.apply_orientation(orientation);
    let image = over_white(image);
    Ok(DecodedImage {
        width: image.width(),
        height: image.height(),
        image,
        format: name,
        animated,
    })
}

/// Decodes with libwebp, which gives the same pixels as the image crate in less time. `None` if it cannot; the image crate may be able to.
fn webp_pixels(bytes: &[u8], width: u32, height: u32) -> Option<DynamicImage> {
    // libwebp allocates what the file declares to it, so this must be the size that was checked
    let declared = webp::BitstreamFeatures::new(bytes)?;
    if (declared.width(), declared.height()) != (width, height) {
        return None;
    }
    let image = webp::Decoder::new(bytes).decode()?;
    if (image.width(), image.height()) != (width, height) {
        return None;
    }
    Some(if image.is_alpha() {
        RgbaImage::from_raw(width, height, image.to_vec())?.into()
    } else {
        RgbImage::from_raw(width, height, image.to_vec())?.into()
    })
}

/// The name of a format; `None` if this build does not decode it.
fn name_of(format: ImageFormat) -> Option<&'static str> {
    Some(match format {
        ImageFormat::WebP => "webp",
        ImageFormat::Png => "png",
        ImageFormat::Jpeg => "jpeg",
        ImageFormat::Gif => "gif",
        ImageFormat::Bmp => "bmp",
        ImageFormat::Ico => "ico",
        ImageFormat::Tiff => "tiff",
        ImageFormat::Pnm => "pnm",
        _ => return None,
    })
}

/// Describes bytes that are not an image by their beginning. Servers send such files instead of images.
fn not_an_image(bytes: &[u8]) -> String {
    let start = String::from_utf8_lossy(bytes.get(..1024).unwrap_or(bytes)).to_lowercase();
    let start = start.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let what = if bytes.is_empty() {
        return "empty file".into();
    } else if bytes.iter().all(|&byte| byte == 0) {
        "zeros"
    } else if start.starts_with("<svg") || (start.starts_with("<?xml") && start.contains("<svg")) {
        "an SVG drawing, which has no pixels"
    } else if start.starts_with("<!doctype html") || start.contains("<html") {
        "an HTML page"
    } else if start.starts_with("<?xml") || start.starts_with('<') {
        "an XML document"
    } else if start.starts_with("%pdf") {
        "a PDF document"
    } else if start.starts_with('{') || start.starts_with('[') {
        "JSON"
    } else if matches!(bytes.get(4..12), Some(b"ftypavif" | b"ftypavis")) {
        return "an AVIF image, which riposte does not decode".into();
    } else if matches!(bytes.get(4..10), Some(b"ftyphe" | b"ftypmi")) {
        return "a HEIF image, which riposte does not decode".into();
    } else {
        let first: Vec<String> = bytes.iter().take(8).map(|b| hex(&[*b])).collect();
        return format!("not an image (first bytes {})", first.join(" "));
    };
    format!("{what}, not an image")
}

/// Blends the image with a white background and reduces it to 8 bits per component.
fn over_white(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let rgba = image.into_rgba8();
    let mut out = RgbImage::new(rgba.width(), rgba.height());
    for (to, from) in out.pixels_mut().zip(rgba.pixels()) {
        let [r, g, b, a] = from.0.map(u32::from);
        to.0 = [r, g, b].map(|c| ((c * a + 255 * (255 - a) + 127) / 255) as u8);
    }
    out
}

/// Whether there is a second frame. Nothing is decoded.
fn is_animated(bytes: &[u8], format: ImageFormat) -> bool {
    match format {
        // bit 1 of the flags in the extended header (WebP container specification)
        ImageFormat::WebP => {
            bytes.get(12..16) == Some(b"VP8X") && bytes.get(20).is_some_and(|f| f & 2 != 0)
        }
        ImageFormat::Gif => gif_has_two_frames(bytes).unwrap_or(false),
        _ => false,
    }
}

/// Whether the blocks of a GIF file (GIF89a specification, appendix B) include two images; `None` if the file ends before that is known.
fn gif_has_two_frames(bytes: &[u8]) -> Option<bool> {
    // the bytes of the colour table that the flags of a descriptor announce
    let colour_table = |flags: u8| match flags & 0x80 {
        0 => 0,
        _ => 6_usize << (flags & 7),
    };
    let mut at = 13 + colour_table(*bytes.get(10)?);
    let mut frames = 0;
    loop {
        match bytes.get(at)? {
            // an extension, and its label
            0x21 => at += 2,
            // an image: its descriptor of ten bytes, its colour table, and the first code length
            0x2c => {
                frames += 1;
                if frames == 2 {
                    return Some(true);
                }
                at += 11 + colour_table(*bytes.get(at + 9)?);
            }
            _ => return Some(false),
        }
        // sub-blocks, each with its length before it, up to an empty one
        loop {
            let length = usize::from(*bytes.get(at)?);
            at += 1 + length;
            if length == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbaImage};

    fn filled(width: u32, height: u32, colour: [u8; 3]) -> RgbImage {
        RgbImage::from_pixel(width, height, Rgb(colour))
    }

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn transparent_pixels_are_blended_with_white() {
        let half = RgbaImage::from_pixel(3, 2, image::Rgba([0, 0, 0, 128]));
        let decoded = decode(&encoded(&half.into(), ImageFormat::Png)).unwrap();
        // 255 × 127 / 255
        assert_eq!(decoded.image.get_pixel(1, 1).0, [127; 3]);
        assert_eq!(
            (
                decoded.format,
                decoded.width,
                decoded.height,
                decoded.animated
            ),
            ("png", 3, 2, false)
        );
    }

    #[test]
    fn the_first_frame_of_an_animation_is_decoded() {
        let mut bytes = Vec::new();
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
        for level in [200, 0] {
            let frame = RgbaImage::from_pixel(4, 4, image::Rgba([level, level, level, 255]));
            encoder.encode_frame(image::Frame::new(frame)).unwrap();
        }
        drop(encoder);
        let decoded = decode(&bytes).unwrap();
        assert_eq!((decoded.format, decoded.animated), ("gif", true));
        assert_eq!(decoded.image.get_pixel(0, 0).0, [200; 3]);
    }

    #[test]
    fn the_exif_orientation_is_applied() {
        // an EXIF block with one entry: orientation (0x0112) 6, for a camera turned by 90°
        let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let jpeg = encoded(&filled(8, 4, [255; 3]).into(), ImageFormat::Jpeg);
        let mut turned = jpeg[..2].to_vec();
        turned.extend([0xFF, 0xE1, 0, exif.len() as u8 + 2]);
        turned.extend(exif);
        turned.extend(&jpeg[2..]);
        let decoded = decode(&turned).unwrap();
        assert_eq!((decoded.width, decoded.height), (4, 8));
    }

    #[test]
    fn bytes_that_are_not_an_image_are_described() {
        for (bytes, what) in [
            (&b""[..], "empty file"),
            (
                b"\n<!DOCTYPE html><title>404</title>",
                "an HTML page, not an image",
            ),
            (b"\xEF\xBB\xBF<html>", "an HTML page"),
            (b"<?xml version=\"1.0\"?><svg/>", "an SVG drawing"),
            (b"%PDF-1.4", "a PDF"),
            (b"{\"error\":403}", "JSON"),
            (&[0; 64], "zeros"),
            (b"hello", "first bytes 68 65 6c 6c 6f"),
        ] {
            let error = format!("{:#}", decode(bytes).unwrap_err());
            assert!(error.contains(what), "{error}");
        }
        let png = encoded(&filled(64, 64, [1, 2, 3]).into(), ImageFormat::Png);
        let error = format!("{:#}", decode(&png[..40]).unwrap_err());
        assert!(
            error.contains("a png file that cannot be decoded"),
            "{error}"
        );
    }

    /// A GIF file whose canvas is declared to have these sides, with `frames` frames of 4 × 4 pixels.
    fn gif(width: u16, height: u16, frames: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
        for level in 0..frames as u8 {
            let frame = RgbaImage::from_pixel(4, 4, image::Rgba([level, level, level, 255]));
            encoder.encode_frame(image::Frame::new(frame)).unwrap();
        }
        drop(encoder);
        bytes[6..8].copy_from_slice(&width.to_le_bytes());
        bytes[8..10].copy_from_slice(&height.to_le_bytes());
        bytes
    }

    #[test]
    fn a_gif_is_animated_if_it_has_a_second_frame() {
        for (frames, animated) in [(1, false), (2, true), (3, true)] {
            assert_eq!(decode(&gif(4, 4, frames)).unwrap().animated, animated);
        }
        // cut in the first frame, or after its flags
        let bytes = gif(4, 4, 2);
        for length in 0..bytes.len() {
            let _ = gif_has_two_frames(&bytes[..length]);
        }
        assert_eq!(gif_has_two_frames(&bytes[..14]), None);
    }

    #[test]
    fn a_large_icon_is_refused() {
        let mut icon = b"\0\0\x01\0".to_vec();
        icon.resize(MAX_ICON_BYTES + 1, 0);
        let error = format!("{:#}", decode(&icon).unwrap_err());
        assert!(error.contains("a ico file of 1048577 bytes"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in 0usize..4, at in 0usize..400, with: u8, cut in 0usize..400) {
            let format = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif][kind];
            let mut bytes = encoded(&filled(12, 9, [9, 80, 200]).into(), format);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = with;
            }
            let _ = decode(&bytes);
            bytes.truncate(cut);
            let _ = decode(&bytes);
        }
    }
}
