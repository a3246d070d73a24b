//! PP-OCRv4 (Baidu's mobile models), from the ONNX files of rapidocr-onnxruntime 1.4.4.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::RgbImage;
use riposte_nn::conv::NumericMode;
use rten::{Dimension, Model};
use rten_tensor::NdTensorView;
use rten_tensor::prelude::*;

use super::backend::NetworkBackend;
use super::boxes::{self, TextBox};
use super::ctc::{self, DecodedLine};
use super::layout::{self, ReadLine};
use super::network::{Core, Cores, Network};
use super::{OcrLine, Script, TextReader, crop};

/// Must be increased with every change that makes the same models read an image differently.
const CODE_VERSION: u32 = 6;
/// Lines with a lower mean probability are dropped as noise (RapidOCR's `text_score`).
///
/// The bound was chosen with all characters. With only the Latin ones, probabilities are slightly higher, because these get the probabilities of the
/// omitted characters. That rarely changes which lines are kept.
const MIN_CONFIDENCE: f32 = 0.5;
/// A box that is at least this many times as high as wide may hold rotated text.
const TALL: f32 = 1.5;

/// A gap between characters separates two words if the space has at least this probability in it.
///
/// PP-OCRv4 was trained mostly on Chinese and underestimates spaces. Between English words it gives them low probabilities, within words still lower
/// ones. The best path by itself therefore joins words. Thresholds from .01 to .05 give about the same word recall.
const WORD_GAP: f32 = 0.02;

/// The PP-OCRv4 detector and recogniser. The recogniser's file contains its alphabet.
pub struct PpOcr {
    detector: Network,
    recogniser: Network,
    /// The characters of the kept labels, from label 1 on.
    alphabet: Vec<String>,
    backends: [NetworkBackend; 2],
    cores: Cores,
}

impl PpOcr {
    /// The producer of a reader of texts in `script` that uses the models with this sha.
    pub fn producer_of(sha: &str, script: Script) -> String {
        format!("ppocr-v4 code {CODE_VERSION} {script} {sha}")
    }

    /// Loads detector and recogniser, in the numbers that `mode` allows, and for texts in `script`.
    ///
    /// # Errors
    /// A file cannot be read, is not a model, or its input or output does not have the shape that a detector or a recogniser has.
    pub fn load(det: &Path, rec: &Path, mode: NumericMode, script: Script) -> Result<PpOcr> {
        let detector = Network::load("detector", det, mode)?;
        expect_ranks(&detector.model, 4, 4)
            .with_context(|| format!("{} is not a PP-OCR detector", det.display()))?;
        let mut alphabet = Vec::new();
        let recogniser = Network::load_keeping("recogniser", rec, mode, |model| {
            let all = alphabet_of(model)
                .with_context(|| format!("{} is not a PP-OCR recogniser", rec.display()))?;
            if script == Script::All {
                alphabet = all;
                return Ok(None);
            }
            let mut kept = vec![ctc::BLANK];
            for (n, character) in all.into_iter().enumerate() {
                if script.has(&character) {
                    kept.push(n + 1);
                    alphabet.push(character);
                }
            }
            Ok(Some(kept))
        })?;
        Ok(PpOcr {
            backends: [detector.backend.clone(), recogniser.backend.clone()],
            detector,
            recogniser,
            alphabet,
            cores: Cores::default(),
        })
    }

    fn read_on(&self, image: &RgbImage, core: &mut Core) -> Result<Vec<OcrLine>> {
        let found = self.detect(image, core).context("detecting text")?;
        self.recognise(image, &found, core).context("reading lines")
    }

    /// The boxes of text in an image, in its pixels.
    fn detect(&self, image: &RgbImage, core: &mut Core) -> Result<Vec<TextBox>> {
        let (width, height) = (image.width(), image.height());
        let scale = crop::detector_scale(width, height);
        let found = self.detect_at(image, scale, core)?;
        let heights = found.iter().map(|text| text.height.min(text.width));
        let finer = crop::finer_scale(width, height, scale, heights.collect());
        let (found, scale) = match finer {
            Some(finer) => (self.detect_at(image, finer, core)?, finer),
            None => (found, scale),
        };
        Ok(found.iter().map(|text| text.scaled(1.0 / scale)).collect())
    }

    /// The boxes of text in an image that is resized by `scale`, in pixels of the resized image.
    fn detect_at(&self, image: &RgbImage, scale: f32, core: &mut Core) -> Result<Vec<TextBox>> {
        let input = crop::detector_input(image, scale, &mut core.pool)?;
        let output = self.detector.run(input, core)?;
        let map: NdTensorView<f32, 4> = output.view().try_into()?;
        ensure!(
            map.size(0) == 1 && map.size(1) == 1,
            "the detector's output has shape {:?}",
            map.shape()
        );
        Ok(boxes::find(map.slice((0, 0))))
    }

    /// Reads each box. A tall box is read in three directions, and the reading with the highest confidence counts.
    fn recognise(
        &self,
        image: &RgbImage,
        found: &[TextBox],
        core: &mut Core,
    ) -> Result<Vec<OcrLine>> {
        let mut directions: Vec<(usize, TextBox)> = Vec::new();
        for (i, text) in found.iter().enumerate() {
            directions.push((i, *text));
            if text.height >= TALL * text.width {
                let downwards = text.turned();
                directions.push((i, downwards));
                directions.push((i, downwards.turned().turned()));
            }
        }
        // the shorter side of a box is the height of its line, whichever way its text runs
        let height = |text: &TextBox| text.height.min(text.width);
        directions.sort_by(|(_, a), (_, b)| height(b).total_cmp(&height(a)));
        let mut best: Vec<Option<ReadLine>> = vec![None; found.len()];
        let mut read = 0;
        let mut failure = None;
        for (i, text) in &directions {
            let width = crop::line_width(text);
            if read + width > crate::limits::MAX_LINES_WIDTH {
                continue;
            }
            read += width;
            let (right, bottom) = (image.width() as f32, image.height() as f32);
            let within = |(x, y): (f32, f32)| (x.clamp(0.0, right), y.clamp(0.0, bottom));
            // an error in one line must not lose the other lines
            let line = match self.read_line(image, text, core) {
                Ok(reading) => ReadLine::new(reading, text.corners().map(within)),
                Err(error) => {
                    failure.get_or_insert(error);
                    continue;
                }
            };
            let best = &mut best[*i];
            if best.as_ref().is_none_or(|best| best.is_surpassed_by(&line)) {
                *best = Some(line);
            }
        }
        let mut lines: Vec<ReadLine> = best.into_iter().flatten().collect();
        if let (true, Some(error)) = (lines.is_empty(), failure) {
            return Err(error);
        }
        lines.retain(|line| line.is_legible(MIN_CONFIDENCE));
        Ok(layout::arrange(lines))
    }

    /// The text of a box.
    fn read_line(&self, image: &RgbImage, text: &TextBox, core: &mut Core) -> Result<DecodedLine> {
        let line = crop::line(image, text, &mut core.pool);
        let output = self.recogniser.run(line, core)?;
        let probabilities: NdTensorView<f32, 3> = output.view().try_into()?;
        ensure!(
            probabilities.size(0) == 1,
            "the recogniser's output has shape {:?}",
            probabilities.shape()
        );
        Ok(ctc::decode(
            probabilities.slice(0),
            &self.alphabet,
            WORD_GAP,
        ))
    }
}

impl TextReader for PpOcr {
    fn backends(&self) -> &[NetworkBackend] {
        &self.backends
    }

    fn read(&self, image: &RgbImage) -> Result<Vec<OcrLine>> {
        self.cores
            .read(image, |image, core| self.read_on(image, core))
    }
}

/// Checks that a model's input has `input` axes, of which the second has the 3 colours, and its output `output` axes. Returns the output's shape, if
/// the model declares it.
fn expect_ranks(model: &Model, input: usize, output: usize) -> Result<Option<Vec<Dimension>>> {
    let (inputs, outputs) = (model.input_ids(), model.output_ids());
    let (&[takes], &[gives]) = (inputs, outputs) else {
        let (inputs, outputs) = (inputs.len(), outputs.len());
        bail!("it has {inputs} inputs and {outputs} outputs");
    };
    let shape = |id| model.node_info(id).and_then(|node| node.shape());
    if let Some(shape) = shape(takes) {
        let colours = shape.get(1);
        let has_colours = matches!(colours, Some(Dimension::Fixed(3) | Dimension::Symbolic(_)));
        ensure!(
            shape.len() == input && has_colours,
            "its input is {shape:?}"
        );
    }
    let given = shape(gives);
    if let Some(shape) = &given {
        ensure!(shape.len() == output, "its output is {shape:?}");
    }
    Ok(given)
}

/// The recogniser's characters: those in its metadata, one per line, and then the space, which is not listed.
fn alphabet_of(recogniser: &Model) -> Result<Vec<String>> {
    let output = expect_ranks(recogniser, 4, 3)?;
    let listed = recogniser.metadata().get("character");
    let listed = listed.context("it has no `character` metadata")?;
    let alphabet: Vec<String> = listed.lines().chain([" "]).map(str::to_owned).collect();
    if let Some(Dimension::Fixed(labels)) = output.as_deref().and_then(<[_]>::last) {
        ensure!(
            *labels == alphabet.len() + 1,
            "it has {labels} labels for {} characters and the blank",
            alphabet.len()
        );
    }
    Ok(alphabet)
}

#[cfg(test)]
mod tests {
    use onnx_writer::recogniser_of;

    use super::*;

    #[test]
    fn a_reader_of_latin_script_has_no_other_characters() {
        let det = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/evidence/ocr/reference/convnet-detector.onnx");
        let dir = tempfile::tempdir().unwrap();
        let rec = dir.path().join("rec.onnx");
        std::fs::write(&rec, recogniser_of("e汉té，o∶ⅡЯ").model()).unwrap();
        let load = |script| PpOcr::load(&det, &rec, NumericMode::Float, script).unwrap();
        let (latin, all) = (load(Script::Latin), load(Script::All));
        assert_eq!(latin.alphabet.concat(), "etéo ");
        assert_eq!(all.alphabet.concat(), "e汉té，o∶ⅡЯ ");
        // the text of one reader is not taken for the text of the other
        let producer = |script| PpOcr::producer_of("a1", script);
        assert_ne!(producer(Script::Latin), producer(Script::All));
        let line = || crop::line(&RgbImage::new(90, 30), &text(), &mut Default::default());
        for reader in [&latin, &all] {
            let labels = reader.recogniser.run(line(), &mut Core::new().unwrap());
            assert_eq!(labels.unwrap().size(2), reader.alphabet.len() + 1);
        }
    }

    fn text() -> TextBox {
        TextBox {
            centre: (45.0, 15.0),
            along: (1.0, 0.0),
            width: 80.0,
            height: 24.0,
        }
    }
}
