//! PP-OCRv4 (Baidu, mobile models) as the ONNX files of rapidocr-onnxruntime 1.4.4.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::RgbImage;
use rten::{Dimension, Model};
use rten_tensor::NdTensorView;
use rten_tensor::prelude::*;

use super::boxes::{self, TextBox};
use super::crop;
use super::network::{Core, Cores, Network};
use super::{OcrLine, TextReader, ctc};

/// Counts up whenever the same models would read an image differently.
const CODE_VERSION: u32 = 2;
/// Below this mean probability a reading is noise (RapidOCR's `text_score`).
const MIN_CONFIDENCE: f32 = 0.5;
/// A box this many times as high as wide may hold turned text.
const TALL: f32 = 1.5;
/// Width of all the line pictures that are read of one image, in pixels: some 450 words. The largest lines are read first,
/// so that of a page of dense print the smallest are left.
const MAX_WIDTH: usize = 60_000;

/// A gap between characters in which the space has this probability parts two words.
///
/// PP-OCRv4 was taught mostly on Chinese and is shy of spaces: between English words it gives them .02 to
/// .4, within words less. By best path alone it runs words together: on the 25 sample images word recall
/// is .66 then, .92 with this; anything from .01 to .05 gives .90 to .93.
const WORD_GAP: f32 = 0.02;

/// The PP-OCRv4 detector and recogniser. The recogniser's file carries its characters.
pub struct PpOcr {
    detector: Network,
    recogniser: Network,
    /// The characters of labels 1 and up.
    alphabet: Vec<String>,
    producer: String,
    cores: Cores,
}

impl PpOcr {
    /// The producer that the models with that sha will be.
    pub fn producer_of(sha: &str) -> String {
        format!("ppocr-v4 code {CODE_VERSION} {sha}")
    }

    /// Loads detector and recogniser; `sha` names both files' contents in [`TextReader::producer`].
    ///
    /// # Errors
    /// A file that cannot be read, is no model, or is not of the shape of this one's part.
    pub fn load(det: &Path, rec: &Path, sha: &str) -> Result<PpOcr> {
        let detector = Network::load(det)?;
        expect_ranks(detector.model(), 4, 4)
            .with_context(|| format!("{} is not a PP-OCR detector", det.display()))?;
        let recogniser = Network::load(rec)?;
        let alphabet = alphabet_of(recogniser.model())
            .with_context(|| format!("{} is not a PP-OCR recogniser", rec.display()))?;
        Ok(PpOcr {
            detector,
            recogniser,
            alphabet,
            producer: Self::producer_of(sha),
            cores: Cores::default(),
        })
    }

    fn read_on(&self, image: &RgbImage, core: &mut Core) -> Result<Vec<OcrLine>> {
        let found = self.detect(image, core).context("detecting text")?;
        self.recognise(image, &found, core).context("reading lines")
    }

    /// The boxes of the texts in an image, in its pixels and in reading order.
    fn detect(&self, image: &RgbImage, core: &mut Core) -> Result<Vec<TextBox>> {
        let scale = crop::detector_scale(image.width(), image.height());
        let input = crop::detector_input(image, scale, &mut core.memory)?;
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
        // by the height of a line: the shorter side of a box, whichever way its text runs
        let height = |text: &TextBox| text.height.min(text.width);
        directions.sort_by(|(_, a), (_, b)| height(b).total_cmp(&height(a)));
        let mut surest: Vec<Option<OcrLine>> = vec![None; found.len()];
        let mut read = 0;
        for (i, text) in &directions {
            let width = crop::line_width(text);
            if read + width > MAX_WIDTH {
                continue;
            }
            read += width;
            let (words, confidence) = self.read_line(image, text, core)?;
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
        let legible = |line: &OcrLine| line.confidence >= MIN_CONFIDENCE && !line.text.is_empty();
        Ok(surest.into_iter().flatten().filter(legible).collect())
    }

    /// The text of a box, and how sure it is.
    fn read_line(
        &self,
        image: &RgbImage,
        text: &TextBox,
        core: &mut Core,
    ) -> Result<(String, f32)> {
        let line = crop::line(image, text, &mut core.memory);
        let output = self.recogniser.run(line, core)?;
        let probabilities: NdTensorView<f32, 3> = output.view().try_into()?;
        ensure!(
            probabilities.size(0) == 1,
            "an output of shape {:?}",
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
