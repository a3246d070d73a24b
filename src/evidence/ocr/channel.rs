//! The channel of the text in an image, and the readers that compute it.

use anyhow::{Context, Result, bail};
use riposte_nn::conv::NumericMode;
use rusqlite::{Row, ToSql};

use super::{
    OCR_BLOCK, OCR_LINE, OcrLine, OcrsReader, PpOcr, Script, TextReader, backend, blocks, ocr_text,
};
use crate::collection::{Fault, FaultKind};
use crate::evidence::channel::{
    Channel, ChannelBackend, Extractor, NewExtractor, Precision, PutRow,
};
use crate::evidence::document::DocumentInWork;
use crate::evidence::table::EvidenceTable;
use crate::evidence::{ChannelValue, Evidence, guarded};
use crate::lazy::Lazy;
use crate::weights::{CheckedModel, ModelRole};

impl ChannelValue for Vec<OcrLine> {}

impl Evidence {
    /// The text in the image, one line per line.
    pub fn ocr_text(&self) -> String {
        ocr_text(self.list())
    }
}

/// The channel of the text in an image.
pub struct Ocr;

impl Channel for Ocr {
    fn name(&self) -> &'static str {
        "ocr"
    }

    fn tables(&self) -> &'static [&'static EvidenceTable] {
        const { &[&OCR_LINE, &OCR_BLOCK] }
    }

    fn role(&self) -> Option<ModelRole> {
        Some(ModelRole::Ocr)
    }

    fn values_in_int8(&self) -> Option<&'static str> {
        Some("text that was read in int8 is kept")
    }

    fn is_copied(&self) -> bool {
        true
    }

    fn extractor(&self, model: Option<CheckedModel>, precision: Precision) -> NewExtractor {
        let Precision {
            compute, script, ..
        } = precision;
        let model = model.context("OCR needs a model")?;
        let producer = match model.name.as_str() {
            OCRS => {
                expect_latin(script)?;
                OcrsReader::producer_of(&model.sha256)
            }
            _ => PpOcr::producer_of(&model.sha256, script),
        };
        Ok(Box::new(Lazy::new(producer, move || {
            load(&model, compute.numeric, script)
        })))
    }

    fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()> {
        for (number, line) in (0i64..).zip(evidence.list::<OcrLine>()) {
            let [a, b, c, d] = &line.corners;
            let read: [&dyn ToSql; 3] = [&number, &line.text, &line.confidence];
            let corners: [&dyn ToSql; 8] = [&a.0, &a.1, &b.0, &b.1, &c.0, &c.1, &d.0, &d.1];
            put(&OCR_LINE, &[&read[..], &corners].concat())?;
        }
        let mut first = 0i64;
        for (number, block) in (0i64..).zip(blocks(evidence.list())) {
            put(&OCR_BLOCK, &[&number, &first])?;
            first += block.lines.len() as i64;
        }
        Ok(())
    }

    fn read(
        &self,
        table: &EvidenceTable,
        row: &Row,
        evidence: &mut Evidence,
    ) -> rusqlite::Result<()> {
        let lines = evidence.get_mut::<Vec<OcrLine>>();
        if table.name == OCR_LINE.name {
            // an earlier build may have stored lines without blocks; then each line is a block
            lines.push(OcrLine {
                text: row.get(2)?,
                confidence: row.get(3)?,
                corners: [
                    (row.get(4)?, row.get(5)?),
                    (row.get(6)?, row.get(7)?),
                    (row.get(8)?, row.get(9)?),
                    (row.get(10)?, row.get(11)?),
                ],
                block: lines.len() as u32,
            });
        } else {
            let (block, first): (u32, u32) = (row.get(1)?, row.get(2)?);
            for line in lines.iter_mut().skip(first as usize) {
                line.block = block;
            }
        }
        Ok(())
    }
}

impl Extractor for Lazy<Box<dyn TextReader>> {
    fn producer(&self) -> String {
        Lazy::producer(self).to_owned()
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        let image = document.image();
        let reader = self.get()?;
        document.backend = backend_of(&**reader);
        if let Some(image) = image {
            match guarded(|| reader.read(&image.picture.image)) {
                Ok(lines) => document.evidence.put(lines),
                Err(error) => {
                    let what = format!("its text could not be read: {error:#}");
                    let mut fault = Fault::in_file(FaultKind::Model, &image.path, what);
                    // a thread that cannot be started says nothing about the image
                    if let Some(error) = error.chain().find_map(|cause| cause.downcast_ref()) {
                        fault = fault.caused_by(error);
                    }
                    document.faults.push(fault);
                }
            }
        }
        Ok(())
    }

    fn describe(&self) -> Option<String> {
        Some(backend::describe(self.loaded()?.backends()))
    }
}

/// The backend of a reader, as it is stored; `None` if the reader names no network.
fn backend_of(reader: &dyn TextReader) -> Option<ChannelBackend> {
    let backends = reader.backends();
    let numeric = backends
        .iter()
        .map(backend::NetworkBackend::numeric)
        .max()?;
    Some(ChannelBackend {
        name: backend::name(backends),
        numeric,
    })
}

/// The name of the model that reads only Latin script.
const OCRS: &str = "ocrs";

/// # Errors
/// ocrs does not read the script.
fn expect_latin(script: Script) -> Result<()> {
    match script {
        Script::Latin => Ok(()),
        Script::All => bail!("--script all: {OCRS} reads only Latin script; ppocr-v4 reads more"),
    }
}

/// Loads the reader at once.
///
/// # Errors
/// A file is missing or damaged, or the reader does not read the script.
pub(crate) fn load(
    model: &CheckedModel,
    mode: NumericMode,
    script: Script,
) -> Result<Box<dyn TextReader>> {
    Ok(match model.name.as_str() {
        OCRS => {
            expect_latin(script)?;
            let detection = model.path("text-detection.rten");
            let recognition = model.path("text-recognition.rten");
            Box::new(OcrsReader::load(&detection, &recognition, mode)?)
        }
        _ => {
            let (det, rec) = (model.path("det.onnx"), model.path("rec.onnx"));
            Box::new(PpOcr::load(&det, &rec, mode, script)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::Trust;

    #[test]
    fn ocrs_refuses_scripts_that_it_does_not_read() {
        let model = |name: &str| CheckedModel {
            name: name.to_owned(),
            dir: "absent".into(),
            sha256: "a1".to_owned(),
            bytes: 0,
            trust: Trust::Pinned,
        };
        let lazy = |name, script| {
            let precision = Precision {
                script,
                ..Precision::default()
            };
            Ocr.extractor(Some(model(name)), precision)
        };
        assert!(lazy("ocrs", Script::Latin).is_ok());
        assert!(lazy("ppocr-v4", Script::All).is_ok());
        let why = lazy("ocrs", Script::All).err().expect("an error");
        assert!(why.to_string().contains("ocrs reads only Latin script"));
        let read = load(&model("ocrs"), NumericMode::Auto, Script::All);
        assert_eq!(read.err().expect("an error").to_string(), why.to_string());
    }
}
