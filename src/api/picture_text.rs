use std::path::Path;

use anyhow::{Context, Result, bail};
use image::RgbImage;
use riposte_nn::conv::NumericMode;

use super::Error;
use crate::collection::images::bytes_of;
use crate::evidence::ocr::{self, OcrLine, Script, TextReader, backend};
use crate::evidence::{guarded, picture};
use crate::models;
use crate::weights::{ModelRole, Models};

/// Reads the text in pictures, with the OCR model that is installed (`riposte models fetch ocr`).
///
/// A picture is read on one core. Threads can share a reader.
pub struct PictureReader {
    reader: Box<dyn TextReader>,
}

/// The text in a picture.
#[derive(Clone, Debug)]
pub struct PictureText {
    /// Block by block, in reading order.
    pub lines: Vec<OcrLine>,
}

impl PictureReader {
    /// With the model that is installed in `models`, or in the user's data directory.
    ///
    /// # Errors
    /// No OCR model is installed, or it is damaged.
    pub fn open(models: Option<&Path>) -> Result<PictureReader, Error> {
        let models = Models::at(models).map_err(Error::model)?;
        let with = PictureReader::with(&models, None, NumericMode::default(), Script::default());
        with.map_err(Error::model)
    }

    /// With the OCR model of that name, or with the first that is installed.
    #[doc(hidden)]
    pub fn with(
        models: &Models,
        name: Option<&str>,
        numeric: NumericMode,
        script: Script,
    ) -> Result<PictureReader> {
        match models::find(models, ModelRole::Ocr, name)? {
            Ok(model) => Ok(PictureReader {
                reader: ocr::load(&model, numeric, script)?,
            }),
            Err(why) => bail!("{why}"),
        }
    }

    /// Names the runtimes of its networks, and the numbers that they compute in.
    pub fn describe(&self) -> String {
        backend::describe(self.reader.backends())
    }

    /// The text in an image file: JPEG, PNG, GIF, WebP, BMP, TIFF, ICO or PNM.
    ///
    /// # Errors
    /// The file cannot be read, is not an image, or is too large (100 million pixels); or a network fails.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<PictureText, Error> {
        let path = path.as_ref();
        let picture = open_picture(path).map_err(Error::input)?;
        self.read_picture(path, &picture).map_err(Error::model)
    }

    /// The text in a picture, which came from this file.
    #[doc(hidden)]
    pub fn read_picture(&self, path: &Path, picture: &RgbImage) -> Result<PictureText> {
        let reading = || format!("cannot read the text in {}", path.display());
        let lines = guarded(|| self.reader.read(picture)).with_context(reading)?;
        Ok(PictureText { lines })
    }
}

/// Reads and decodes an image file.
pub fn open_picture(path: &Path) -> Result<RgbImage> {
    let bytes = bytes_of(path).map_err(anyhow::Error::msg);
    let decoded = bytes.and_then(|bytes| picture::decode(&bytes));
    let decoded = decoded.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(decoded.image)
}

impl PictureText {
    /// The texts of the blocks, separated by empty lines.
    pub fn text(&self) -> String {
        ocr::texts(&self.lines).join("\n\n")
    }
}
