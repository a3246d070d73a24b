//! Text in images: which lines stand in a picture, where, and how surely they were read.
//!
//! Two routes behind [`TextReader`], both run by rten: PP-OCRv4 ([`PpOcr`], detector and recogniser
//! as ONNX) and the ocrs engine with its own models ([`OcrsReader`]). The stages of the first are
//! `boxes` (a text map becomes boxes in reading order), `crop` (a box becomes a line picture) and
//! `ctc` (a recogniser's output becomes characters). [`crate::nn::conv`] computes the convolutions.

mod boxes;
mod crop;
mod ctc;
mod engine;
mod network;
mod ppocr;

pub use engine::OcrsReader;
pub use ppocr::PpOcr;

use anyhow::Result;
use image::RgbImage;

/// A line of text read in an image.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub struct OcrLine {
    pub text: String,
    /// Mean probability of the characters read, in [0, 1].
    pub confidence: f32,
    /// Corners (x, y) in pixels of the whole image, clockwise from the text's upper left.
    pub corners: [(f32, f32); 4],
}

/// A way to read the text in an image.
///
/// A reader is shared by threads: each `read` works on one core of its own, so that as many images
/// are read at a time as there are threads that call it.
pub trait TextReader: Send + Sync {
    /// Name, code version and model sha256s: stored with what it reads, so that a change is noticed.
    fn producer(&self) -> String;

    /// The lines of one image (8-bit RGB, upright), in reading order; none where there is no text.
    fn read(&self, image: &RgbImage) -> Result<Vec<OcrLine>>;
}
