//! (stub)

use anyhow::Result;
use image::RgbImage;

/// A line of text read in an image.
#[derive(Clone, Debug, PartialEq)]
pub struct OcrLine {
    pub text: String,
    /// Mean probability of the characters read, in [0, 1].
    pub confidence: f32,
    /// Corners (x, y) in pixels of the whole image, clockwise from the text's upper left.
    pub corners: [(f32, f32); 4],
}

/// A way to read the text in an image.
pub trait TextReader: Send + Sync {
    /// Name, code version and model sha256s: stored with what it reads, so that a change is noticed.
    fn producer(&self) -> String;

    /// The lines of one image (8-bit RGB, upright), in reading order; none where there is no text.
    fn read(&self, image: &RgbImage) -> Result<Vec<OcrLine>>;
}
