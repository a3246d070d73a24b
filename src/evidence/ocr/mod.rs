//! Text in images: the lines in an image, with their places and confidences.
//!
//! There are two implementations of [`TextReader`]: PP-OCRv4 ([`PpOcr`], whose detector and recogniser are ONNX files) and the ocrs
//! engine with its own models ([`OcrsReader`]). The stages of the first are `boxes` (from the detector's map to boxes), `crop`
//! (from a box to the image of a line, with `samples`), `ctc` (from the recogniser's output to characters) and `layout` (from lines to blocks in reading
//! order). `network` runs the models:
//! [`riposte_nn::conv`] computes the convolutions, rten the rest; `backend` says which computes what.

pub mod backend;
mod block;
mod boxes;
mod channel;
mod crop;
mod ctc;
mod engine;
mod layout;
mod network;
mod ppocr;
mod samples;
mod script;

pub use block::{TextBlock, blocks, ocr_text, texts};
pub use channel::Ocr;
pub(crate) use channel::load;
pub use engine::OcrsReader;
pub use ppocr::PpOcr;
pub use script::Script;

use anyhow::Result;
use image::RgbImage;

use super::table::ColumnType::{Integer, Real, Text};
use super::table::EvidenceTable;
use backend::NetworkBackend;

/// Lines of text, with their corners in pixels, clockwise from the text's upper left.
pub(crate) static OCR_LINE: EvidenceTable = EvidenceTable::new(
    "ocr_line",
    1,
    &[
        (Integer, "line"),
        (Text, "text"),
        (Real, "confidence x1 y1 x2 y2 x3 y3 x4 y4"),
    ],
);

/// The blocks of the text, in reading order. A block has the lines from `first_line` up to the line before the next block.
pub(crate) static OCR_BLOCK: EvidenceTable =
    EvidenceTable::new("ocr_block", 1, &[(Integer, "block first_line")]);

/// A line of text that was read in an image.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub struct OcrLine {
    pub text: String,
    /// Mean probability of its characters, in [0, 1].
    pub confidence: f32,
    /// Corners (x, y) in pixels of the whole image, clockwise from the upper left corner of the text.
    pub corners: [(f32, f32); 4],
    /// The number of its block, from 0 on in reading order. The lines of a block follow each other.
    #[serde(default)]
    pub block: u32,
}

/// Reads the text in images.
///
/// Threads share a reader. Each call of `read` works on one core, so each thread that calls it reads one image at a time.
pub trait TextReader: Send + Sync {
    /// What computes each of the reader's networks. It is recorded with the lines; if it changes, nothing is read again.
    fn backends(&self) -> &[NetworkBackend];

    /// The lines of one image (8-bit RGB, upright), block by block in reading order; empty if there is no text, or if a side has fewer than 8
    /// pixels.
    ///
    /// # Errors
    /// A network fails on this image.
    fn read(&self, image: &RgbImage) -> Result<Vec<OcrLine>>;
}
