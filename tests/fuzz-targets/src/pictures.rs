//! Image files: decodes them, measures them, and reads the text in them with small networks that have random weights.

use std::sync::OnceLock;

use riposte::evidence::ocr::{PpOcr, Script, TextReader};
use riposte::evidence::picture;
use riposte_nn::conv::NumericMode;

/// A detector of text with random weights (tests/reference/convnet.py).
const DETECTOR: &[u8] = include_bytes!("../../../src/evidence/ocr/reference/convnet-detector.onnx");

/// The signatures of image formats, the names of their chunks and markers, and widths and heights.
pub const WORDS: &[&[u8]] = &[
    b"\x89PNG\r\n\x1a\n",
    b"IHDR",
    b"IDAT",
    b"PLTE",
    b"tRNS",
    b"acTL",
    b"fcTL",
    b"fdAT",
    b"iCCP",
    b"eXIf",
    b"IEND",
    b"RIFF",
    b"WEBP",
    b"VP8 ",
    b"VP8L",
    b"VP8X",
    b"ANIM",
    b"ANMF",
    b"ALPH",
    b"GIF89a",
    b"\xff\xd8\xff\xe0",
    b"\xff\xc0",
    b"\xff\xc2",
    b"\xff\xda",
    b"\xff\xdd",
    b"\xff\xd9",
    b"BM",
    b"II*\0",
    b"MM\0*",
    b"P6\n",
    b"P3\n9 9\n255\n",
    b"P7\nWIDTH 2\n",
    b"\0\0\x01\0",
    b"\0\x4c\x4b\x40",
    b"\x7f\xff\xff\xff",
    b"\0\0\x40\0",
];

/// Decodes the bytes and computes everything that extraction computes from the pixels of an image.
pub fn run(bytes: &[u8]) {
    let Ok(decoded) = picture::decode(bytes) else {
        return;
    };
    assert!(decoded.image.dimensions() == (decoded.width, decoded.height));
    let lines = match reader().map(|reader| reader.read(&decoded.image)) {
        Some(Ok(lines)) => lines,
        Some(Err(error)) => {
            // a panic in a network concerns one image and is returned as an error
            let said = format!("{error:#}");
            assert!(!said.contains("panicked"), "{said}");
            Vec::new()
        }
        None => Vec::new(),
    };
    for line in &lines {
        assert!((0.0..=1.0).contains(&line.confidence));
        for (x, y) in line.corners {
            assert!((0.0..=decoded.width as f32).contains(&x));
            assert!((0.0..=decoded.height as f32).contains(&y));
        }
    }
    let measured = picture::measure(&decoded.image, &lines);
    for share in [
        measured.text_fraction,
        measured.brightness,
        measured.saturation,
        measured.photograph,
        measured.flat,
    ] {
        assert!((0.0..=1.0).contains(&share), "{measured:?}");
    }
}

/// The text reader with both networks; `None` if they cannot be written to files.
fn reader() -> Option<&'static PpOcr> {
    static READER: OnceLock<Option<PpOcr>> = OnceLock::new();
    READER
        .get_or_init(|| {
            let dir = tempfile::tempdir().ok()?;
            let (det, rec) = (dir.path().join("det.onnx"), dir.path().join("rec.onnx"));
            std::fs::write(&det, DETECTOR).ok()?;
            std::fs::write(&rec, crate::models::recogniser()).ok()?;
            let reader = PpOcr::load(&det, &rec, NumericMode::Auto, Script::Latin);
            Some(reader.expect("the small networks load"))
        })
        .as_ref()
}

/// Corrects the checksum of each chunk of a PNG file. After a wrong checksum, nothing would be read.
pub fn mend(bytes: &mut [u8]) {
    if !bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return;
    }
    let mut at = 8;
    while let Some(length) = bytes.get(at..at + 4) {
        let length = length
            .iter()
            .fold(0usize, |n, &byte| n << 8 | usize::from(byte));
        let (from, to) = (at + 4, at + 8 + length);
        let Some(part) = bytes.get(from..to) else {
            return;
        };
        let mut crc = flate2::Crc::new();
        crc.update(part);
        if let Some(stored) = bytes.get_mut(to..to + 4) {
            stored.copy_from_slice(&crc.sum().to_be_bytes());
        }
        at = to + 4;
    }
}
