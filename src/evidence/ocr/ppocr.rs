//! PP-OCRv4 (Baidu, mobile models) as the ONNX files of rapidocr-onnxruntime 1.4.4.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::RgbImage;
use rten::{Dimension, Model};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use super::boxes::{self, TextBox};
use super::crop::{self, LINE_HEIGHT};
use super::network::{Core, Cores, Network, load_model};
use super::{OcrLine, TextReader, ctc};

/// Counts up whenever the same models would read an image differently.
const CODE_VERSION: u32 = 1;
/// Below this mean probability a reading is noise (RapidOCR's `text_score`).
const MIN_CONFIDENCE: f32 = 0.5;
/// A box this many times as high as wide may hold turned text.
const TALL: f32 = 1.5;
/// Lines in one run of the recogniser, at most.
const BATCH: usize = 8;
/// Lines share a run only if the widest is at most this many times as wide as the narrowest:
/// what is filled up costs as much as text.
const BATCH_SPREAD: f32 = 1.25;

/// A gap between characters in which the space has this probability parts two words.
///
/// PP-OCRv4 was taught mostly on Chinese and is shy of spaces: between English words it gives them .02 to
/// .4, within words less. By best path alone it runs words together: on the 25 sample images word recall
/// is .66 then, .92 with this; anything from .01 to .05 gives .90 to .93.
const WORD_GAP: f32 = 0.02;

/// The PP-OCRv4 detector and recogniser. The recogniser's file carries its characters.
pub struct PpOcr {
    detector: Box<dyn Network>,
    recogniser: Box<dyn Network>,
    /// The characters of labels 1 and up.
    alphabet: Vec<String>,
    producer: String,
    cores: Cores,
}

impl PpOcr {
    /// Loads detector and recogniser; `sha` names both files' contents in [`TextReader::producer`].
    ///
    /// # Errors
    /// A file that cannot be read, is no model, or is not of the shape of this one's part.
    pub fn load(det: &Path, rec: &Path, sha: &str) -> Result<PpOcr> {
        let detector = load_model(det)?;
        expect_ranks(&detector, 4, 4)
            .with_context(|| format!("{} is not a PP-OCR detector", det.display()))?;
        let recogniser = load_model(rec)?;
        let alphabet = alphabet_of(&recogniser)
            .with_context(|| format!("{} is not a PP-OCR recogniser", rec.display()))?;
        Ok(PpOcr {
            detector: Box::new(detector),
            recogniser: Box::new(recogniser),
            alphabet,
            producer: format!("ppocr-v4 code {CODE_VERSION} {sha}"),
            cores: Cores::default(),
        })
    }

    fn read_on(&self, image: &RgbImage, core: &Core) -> Result<Vec<OcrLine>> {
        let found = self.detect(image, core).context("detecting text")?;
        self.recognise(image, &found, core).context("reading lines")
    }

    /// The boxes of the texts in an image, in its pixels and in reading order.
    fn detect(&self, image: &RgbImage, core: &Core) -> Result<Vec<TextBox>> {
        let scale = crop::detector_scale(image.width(), image.height());
        let input = crop::detector_input(image, scale)?;
        let output = self.detector.run(input, core)?;
        let map: NdTensorView<f32, 4> = output.view().try_into()?;
        ensure!(
            map.size(0) == 1 && map.size(1) == 1,
            "a map of shape {:?}",
            map.shape()
        );
        let found = boxes::find(map.slice((0, 0)));
        Ok(found.iter().map(|text| text.scaled(1.0 / scale)).collect())
    }

    /// Reads each box, a tall one in three directions of which the surest counts.
    fn recognise(&self, image: &RgbImage, found: &[TextBox], core: &Core) -> Result<Vec<OcrLine>> {
        let mut directions: Vec<(usize, TextBox)> = Vec::new();
        for (i, text) in found.iter().enumerate() {
            directions.push((i, *text));
            if text.height >= TALL * text.width {
                let downwards = text.turned();
                directions.push((i, downwards));
                directions.push((i, downwards.turned().turned()));
            }
        }
        directions.sort_by_key(|(_, text)| crop::line_width(text));

        let mut surest: Vec<Option<OcrLine>> = vec![None; found.len()];
        let mut rest = directions.as_slice();
        while let Some((_, narrowest)) = rest.first() {
            let widest = (crop::line_width(narrowest) as f32 * BATCH_SPREAD) as usize;
            let fitting = |(_, text): &&(usize, TextBox)| crop::line_width(text) <= widest;
            let batch = rest.iter().take(BATCH).take_while(fitting).count().max(1);
            let (now, later) = rest.split_at(batch);
            for ((i, text), (words, confidence)) in
                now.iter().zip(self.read_lines(image, now, core)?)
            {
                let best = &mut surest[*i];
                if best
                    .as_ref()
                    .is_none_or(|line| line.confidence < confidence)
                {
                    *best = Some(OcrLine {
                        text: words.trim().to_owned(),
                        confidence,
                        corners: text.corners().map(|(x, y)| {
                            (
                                x.clamp(0.0, image.width() as f32),
                                y.clamp(0.0, image.height() as f32),
                            )
                        }),
                    });
                }
            }
            rest = later;
        }
        let legible = |line: &OcrLine| line.confidence >= MIN_CONFIDENCE && !line.text.is_empty();
        Ok(surest.into_iter().flatten().filter(legible).collect())
    }

    /// Runs the recogniser once: text and confidence of each box, as wide as the last, the widest.
    fn read_lines(
        &self,
        image: &RgbImage,
        batch: &[(usize, TextBox)],
        core: &Core,
    ) -> Result<Vec<(String, f32)>> {
        let width = batch.last().map_or(1, |(_, text)| crop::line_width(text));
        let mut lines = NdTensor::zeros([batch.len(), 3, LINE_HEIGHT, width]);
        for (i, (_, text)) in batch.iter().enumerate() {
            crop::draw_line(image, text, lines.slice_mut(i));
        }
        let output = self.recogniser.run(lines, core)?;
        let probabilities: NdTensorView<f32, 3> = output.view().try_into()?;
        ensure!(
            probabilities.size(0) == batch.len(),
            "an output of shape {:?}",
            probabilities.shape()
        );
        Ok((0..batch.len())
            .map(|i| ctc::decode(probabilities.slice(i), &self.alphabet, WORD_GAP))
            .collect())
    }
}

impl TextReader for PpOcr {
    fn producer(&self) -> String {
        self.producer.clone()
    }

    fn read(&self, image: &RgbImage) -> Result<Vec<OcrLine>> {
        if image.width() == 0 || image.height() == 0 {
            return Ok(Vec::new());
        }
        self.cores.run(|core| self.read_on(image, core))
    }
}

/// Checks that a model takes `input` axes of which the second is 3 colours, and gives `output` axes.
fn expect_ranks(model: &Model, input: usize, output: usize) -> Result<Option<Vec<Dimension>>> {
    let (&[takes], &[gives]) = (model.input_ids(), model.output_ids()) else {
        bail!(
            "it has {} inputs and {} outputs",
            model.input_ids().len(),
            model.output_ids().len()
        );
    };
    let shape = |id| model.node_info(id).and_then(|node| node.shape());
    if let Some(shape) = shape(takes) {
        ensure!(
            shape.len() == input
                && matches!(
                    shape.get(1),
                    Some(Dimension::Fixed(3) | Dimension::Symbolic(_))
                ),
            "its input is {shape:?}"
        );
    }
    let given = shape(gives);
    if let Some(shape) = &given {
        ensure!(shape.len() == output, "its output is {shape:?}");
    }
    Ok(given)
}

/// The recogniser's characters: one a line in its metadata, then the space, which is not listed.
fn alphabet_of(recogniser: &Model) -> Result<Vec<String>> {
    let output = expect_ranks(recogniser, 4, 3)?;
    let listed = recogniser
        .metadata()
        .get("character")
        .context("it has no `character` metadata")?;
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
