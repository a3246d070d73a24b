//! Picture files of extreme shapes, and a collection of them.

use std::io::{Cursor, Write};
use std::path::Path;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgba, RgbaImage};

use super::files::{copy, entries, write};
use super::sample;

/// The file of a grey picture.
pub fn grey(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    encoded(GrayImage::from_pixel(width, height, Luma([200])), format)
}

/// The file of a picture. If the format does not have the picture's kind of pixels, they are converted to 8 bits.
pub fn encoded(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let picture = picture.into();
    let picture = match format {
        ImageFormat::Gif => picture.into_rgba8().into(),
        ImageFormat::WebP | ImageFormat::Bmp => picture.into_rgb8().into(),
        _ => picture,
    };
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A PNG file that declares these sides, four channels and this number of bits for each, but has data for only a few pixels.
pub fn hollow_png(width: u32, height: u32, bits: u8) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8; 4], data: &[u8]| {
        let mut crc = Crc::new();
        crc.update(name);
        crc.update(data);
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(name);
        png.extend(data);
        png.extend(crc.sum().to_be_bytes());
    };
    let mut header = width.to_be_bytes().to_vec();
    header.extend(height.to_be_bytes());
    header.extend([bits, 6, 0, 0, 0]);
    chunk(b"IHDR", &header);
    let mut data = ZlibEncoder::new(Vec::new(), Compression::default());
    data.write_all(&[0; 64]).unwrap();
    chunk(b"IDAT", &data.finish().unwrap());
    chunk(b"IEND", &[]);
    png
}

/// A BMP file that declares these sides, without pixels.
pub fn hollow_bmp(width: u32, height: u32) -> Vec<u8> {
    let mut bmp = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bmp.extend(width.to_le_bytes());
    bmp.extend(height.to_le_bytes());
    bmp.extend([1, 0, 24, 0]);
    bmp.extend([0; 24]);
    bmp
}

/// A TIFF file that declares these sides and three channels of 16 bits, in one strip without pixels.
pub fn hollow_tiff(width: u32, height: u32) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0".to_vec();
    // tag, type (3: 16 bits, 4: 32 bits), count, value; the bits of the three samples are after the directory
    let entries: [(u16, u16, u32, u32); 9] = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 3, 8 + 2 + 9 * 12 + 4),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (273, 4, 1, 8),
        (277, 3, 1, 3),
        (278, 4, 1, height),
        (279, 4, 1, 64),
    ];
    tiff.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, count, value) in entries {
        tiff.extend(tag.to_le_bytes());
        tiff.extend(kind.to_le_bytes());
        tiff.extend(count.to_le_bytes());
        tiff.extend(value.to_le_bytes());
    }
    tiff.extend([0; 4]);
    tiff.extend([16, 0, 16, 0, 16, 0]);
    tiff
}

/// An animated GIF file with two frames of 4 × 4 pixels, which declares these sides for its canvas.
pub fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
    for level in [0, 200] {
        let frame = RgbaImage::from_pixel(4, 4, Rgba([level, level, level, 255]));
        encoder.encode_frame(image::Frame::new(frame)).unwrap();
    }
    drop(encoder);
    bytes[6..8].copy_from_slice(&width.to_le_bytes());
    bytes[8..10].copy_from_slice(&height.to_le_bytes());
    bytes
}

/// An animated WebP file with two frames of 4 × 4 pixels, which declares these sides for its canvas.
pub fn animated_webp(width: u32, height: u32) -> Vec<u8> {
    let still = grey(4, 4, ImageFormat::WebP);
    // the chunk of the pixels, after the header of the file
    let pixels = &still[12..];
    let three = |number: u32| number.to_le_bytes()[..3].to_vec();
    let chunk = |name: &[u8; 4], data: &[u8]| {
        let length = (data.len() as u32).to_le_bytes();
        let padding = &[0][..data.len() % 2];
        [&name[..], &length, data, padding].concat()
    };
    let header = [vec![2, 0, 0, 0], three(width - 1), three(height - 1)].concat();
    let frame = [
        three(0),
        three(0),
        three(3),
        three(3),
        three(100),
        vec![0],
        pixels.to_vec(),
    ];
    let frame = chunk(b"ANMF", &frame.concat());
    let chunks = [
        b"WEBP".to_vec(),
        chunk(b"VP8X", &header),
        chunk(b"ANIM", &[0; 6]),
        frame.clone(),
        frame,
    ];
    chunk(b"RIFF", &chunks.concat())
}

/// The id of the nth document of [`write_collection`].
pub fn id(n: usize) -> String {
    format!("I00{n:014x}")
}

/// Writes a collection with a document for each picture, and the topics of the sample. The files are named image.png, whatever their format.
pub fn write_collection(dir: &Path, pictures: &[Vec<u8>]) {
    let first = entries(&entries(&sample().join("images"))[0]).remove(0);
    for (n, picture) in pictures.iter().enumerate() {
        let document = dir.join("images/I00").join(id(n));
        copy(&first.join("pages"), &document.join("pages"));
        write(
            &document.join("image-url.txt"),
            format!("https://example.org/{n}.png"),
        );
        write(&document.join("image.png"), picture);
    }
    std::fs::copy(sample().join("topics.xml"), dir.join("topics.xml")).unwrap();
}
