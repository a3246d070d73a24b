//! The ocrs engine (robertknight/ocrs): detector, layout analysis and recogniser.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use image::RgbImage;
use ocrs::{ImageSource, OcrEngine, OcrEngineParams};
use riposte_nn::conv::{Buffer, FeatureMap, NumericMode};
use rten::{Dimension, Model};
use rten_imageproc::{BoundingRect, RotatedRect, bounding_rect};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use super::backend::{NetworkBackend, PartRuntime};
use super::ctc::{self, DecodedLine};
use super::layout::{self, ReadLine};
use super::network::{Core, Cores, Network, load_model, read};
use super::{OcrLine, TextReader, crop};

/// Must be increased with every change that makes the same models read an image differently.
const CODE_VERSION: u32 = 2;
/// The characters of the published recogniser, in the order of its labels from 1 on (ocrs' `DEFAULT_ALPHABET`).
const ALPHABET: &str = " 0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~€ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Lines with a lower mean probability are dropped as noise.
const MIN_CONFIDENCE: f32 = 0.5;

/// Maximum number of pixels of an image that the engine gets. It keeps two copies of the image, with four bytes per pixel. All images of the real
/// crawl are smaller.
const MAX_PIXELS: usize = 30_000_000;
/// The engine pads smaller sides to the size of the detector's input, which is at most this, in pixels.
const PADDED_SIDE: usize = 800;

/// The recogniser finds spaces itself: words are not separated at gaps, only where the best path has a space.
const WORD_GAP: f32 = f32::INFINITY;

/// The ocrs engine with its published detection and recognition models (`.rten` or ONNX).
pub struct OcrsReader {
    /// Finds words and lines, and cuts out the images of lines. It is not used for recognition, because it does not return
    /// probabilities.
    engine: OcrEngine,
    recogniser: Network,
    alphabet: Vec<String>,
    backends: [NetworkBackend; 2],
    cores: Cores,
}

impl OcrsReader {
    /// The producer of a reader that uses the models with this sha.
    pub fn producer_of(sha: &str) -> String {
        format!("ocrs code {CODE_VERSION} {sha}")
    }

    /// Loads both models, in the numbers that `mode` allows.
    ///
    /// # Errors
    /// A file cannot be read, is not a model, or is a model whose input is not one grey image.
    pub fn load(detection: &Path, recognition: &Path, mode: NumericMode) -> Result<OcrsReader> {
        let detector = load_model(read(detection)?, detection)?;
        expect_grey(&detector)
            .with_context(|| format!("{} is not an ocrs text detector", detection.display()))?;
        let recogniser = Network::load("recogniser", recognition, mode)?;
        expect_grey(&recogniser.model)
            .with_context(|| format!("{} is not an ocrs recogniser", recognition.display()))?;
        // The engine needs a copy of the recogniser, from which it takes the height of lines.
        let engine = OcrEngine::new(OcrEngineParams {
            detection_model: Some(detector),
            recognition_model: Some(load_model(read(recognition)?, recognition)?),
            ..Default::default()
        })?;
        let backends = [
            NetworkBackend {
                network: "detector",
                convolutions: PartRuntime::Rten {
                    because: "the ocrs engine runs it".to_owned(),
                },
                output_layer: None,
            },
            recogniser.backend.clone(),
        ];
        Ok(OcrsReader {
            engine,
            backends,
            recogniser,
            alphabet: ALPHABET.chars().map(String::from).collect(),
            cores: Cores::default(),
        })
    }

    fn read_on(&self, image: &RgbImage, core: &mut Core) -> Result<Vec<OcrLine>> {
        let scale = engine_scale(image.width(), image.height());
        if scale >= 1.0 {
            return self.read_whole(image, core);
        }
        let smaller = reduced(image, scale)?;
        let mut lines = self.read_whole(&smaller, core)?;
        let across = image.width() as f32 / smaller.width() as f32;
        let down = image.height() as f32 / smaller.height() as f32;
        for line in &mut lines {
            line.corners = line.corners.map(|(x, y)| (x * across, y * down));
        }
        Ok(lines)
    }

    fn read_whole(&self, image: &RgbImage, core: &mut Core) -> Result<Vec<OcrLine>> {
        let source = ImageSource::from_bytes(image.as_raw(), image.dimensions())?;
        let input = self.engine.prepare_input(source)?;
        let words = self.engine.detect_words(&input);
        let words = words.context("detecting words")?;
        let mut read = Vec::new();
        let mut failure = None;
        for line in self.engine.find_text_lines(&input, &words) {
            let Some(corners) = corners_of(&line, image) else {
                continue;
            };
            // (height, width), grey, in [-0.5, 0.5]
            let line_image = self.engine.prepare_recognition_input(&input, &line)?;
            // an error in one line must not lose the other lines
            match self.read_line(line_image, core).context("reading a line") {
                Ok(reading) => read.push(ReadLine::new(reading, corners)),
                Err(error) => _ = failure.get_or_insert(error),
            }
        }
        read.retain(|line| line.is_legible(MIN_CONFIDENCE));
        match failure {
            Some(error) if read.is_empty() => Err(error),
            _ => Ok(layout::arrange(read)),
        }
    }

    /// The text of a line, given as a (height, width) image in [-0.5, 0.5].
    fn read_line(&self, image: NdTensor<f32, 2>, core: &mut Core) -> Result<DecodedLine> {
        let [height, width] = image.shape();
        let input = FeatureMap {
            height,
            width,
            channels: 1,
            stride: 1,
            data: Buffer::copy_of(&image.into_data()),
        };
        let output = self.recogniser.run(input, core)?;
        // log-probabilities, (steps, batch, labels)
        let logs: NdTensorView<f32, 3> = output.view().try_into()?;
        ensure!(
            logs.size(1) == 1,
            "the recogniser's output has shape {:?}",
            logs.shape()
        );
        let probabilities = logs.slice((.., 0)).map(|log| log.exp());
        Ok(ctc::decode(probabilities.view(), &self.alphabet, WORD_GAP))
    }
}

impl TextReader for OcrsReader {
    fn backends(&self) -> &[NetworkBackend] {
        &self.backends
    }

    fn read(&self, image: &RgbImage) -> Result<Vec<OcrLine>> {
        self.cores
            .read(image, |image, core| self.read_on(image, core))
    }
}

/// The factor, at most 1, by which an image is resized for the engine.
fn engine_scale(width: u32, height: u32) -> f32 {
    let padded = |length, scale| crop::resized(length, scale).max(PADDED_SIDE);
    crop::reduced_until(1.0, MAX_PIXELS, |scale| {
        padded(width, scale) * padded(height, scale)
    })
}

fn reduced(image: &RgbImage, scale: f32) -> Result<RgbImage> {
    let side = |length| crop::resized(length, scale);
    let (width, height) = (side(image.width()), side(image.height()));
    let resized = crop::resize(image, width, height)?;
    let values = resized.pixels().iter().flat_map(|pixel| pixel.0).collect();
    RgbImage::from_raw(width as u32, height as u32, values).context("pixels were lost")
}

/// The corners of the smallest upright rectangle around a line's words, clipped to the image; `None` if it is outside the image.
fn corners_of(words: &[RotatedRect], image: &RgbImage) -> Option<[(f32, f32); 4]> {
    let around = bounding_rect(words.iter())?.bounding_rect();
    let within = |at: f32, side: u32| at.clamp(0.0, side as f32);
    let [left, right] = [around.left(), around.right()].map(|x| within(x, image.width()));
    let [top, bottom] = [around.top(), around.bottom()].map(|y| within(y, image.height()));
    (left < right && top < bottom).then_some([
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
    ])
}

/// Checks that a model's first input is (batch, 1, height, width).
fn expect_grey(model: &Model) -> Result<()> {
    let shape = model
        .input_shape(0)
        .ok_or_else(|| anyhow!("it does not declare the shape of its input"))?;
    ensure!(
        shape.len() == 4 && matches!(shape.get(1), Some(Dimension::Fixed(1))),
        "its input is {shape:?}, not one grey image"
    );
    ensure!(
        model.output_ids().len() == 1,
        "it has {} outputs",
        model.output_ids().len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_that_would_fill_the_memory_are_reduced_for_the_engine() {
        for (width, height) in [(5_600, 3_750), (8, 30_000), (37_500, 800), (8, 8)] {
            assert_eq!(engine_scale(width, height), 1.0, "{width} × {height}");
        }
        for (width, height) in [(12_500_000, 8), (8, 12_500_000), (10_000, 10_000)] {
            let scale = engine_scale(width, height);
            let side = |length| crop::resized(length, scale).max(PADDED_SIDE);
            let pixels = side(width) * side(height);
            assert!(
                (27_000_000..=MAX_PIXELS).contains(&pixels),
                "{width} × {height}: {pixels}"
            );
        }
        let image = RgbImage::from_pixel(100, 40, image::Rgb([1, 2, 3]));
        let smaller = reduced(&image, 0.5).unwrap();
        assert_eq!(smaller, RgbImage::from_pixel(50, 20, image::Rgb([1, 2, 3])));
    }
}
