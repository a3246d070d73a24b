//! Finds the models that a command uses.

use anyhow::{Result, bail};

use crate::evidence::clip::Clip;
use crate::evidence::cross::Cross;
use crate::evidence::lazy::Lazy;
use crate::evidence::ocr::{OcrsReader, PpOcr, TextReader};
use crate::evidence::pair::PairEncoder;
use crate::evidence::sentence::Sentences;
use crate::nn::conv::NumericMode;
use crate::weights::{CheckedModel, Found, Models, Role};

/// The model named `wanted`, or the first installed one of that role; the inner error says why there is none.
///
/// # Errors
/// There is no model of that name, it is not installed, or a model is damaged.
pub fn ready(
    models: &Models,
    role: Role,
    wanted: Option<&str>,
) -> Result<Result<CheckedModel, String>> {
    let names: Vec<String> = models
        .catalogue()
        .entries()
        .iter()
        .filter(|entry| entry.role == role && wanted.is_none_or(|name| entry.name == name))
        .map(|entry| entry.name.clone())
        .collect();
    if let (Some(name), true) = (wanted, names.is_empty()) {
        bail!("there is no {role} model named {name}: `riposte models list` shows those there are");
    }
    for name in &names {
        match models.find(name)? {
            Found::Ready(model) => return Ok(Ok(model)),
            Found::Wrong { file, why } => {
                bail!(
                    "the model {name} cannot be used: {file}: {why} (`riposte models fetch {name}` gets it anew)"
                )
            }
            Found::Missing { .. } if wanted.is_some() => {
                bail!(
                    "the model {name} is not in {}: `riposte models fetch {name}` gets it",
                    models.dir().display()
                )
            }
            Found::Missing { .. } => {}
        }
    }
    Ok(Err(format!(
        "no {role} model here; `riposte models fetch {role}` gets one"
    )))
}

/// The pair encoder, to be loaded when it is used. If `sentences` is not the model that it was trained from, None, and a note on stderr.
pub fn pair_encoder(sentences: &CheckedModel) -> Result<Option<Lazy<PairEncoder>>> {
    if !PairEncoder::belongs_to(&sentences.sha256)? {
        eprintln!(
            "note: stance goes by words alone: the pair encoder was not trained from this {}",
            sentences.name
        );
        return Ok(None);
    }
    let producer = PairEncoder::producer_of(&sentences.sha256);
    let (dir, sha) = (sentences.dir.clone(), sentences.sha256.clone());
    Ok(Some(Lazy::new(producer, move || {
        PairEncoder::load(&dir, &sha)
    })))
}

/// The sentence encoder, to be loaded when it is used.
pub fn sentences(model: &CheckedModel) -> Lazy<Sentences> {
    let (dir, sha) = (model.dir.clone(), model.sha256.clone());
    Lazy::new(Sentences::producer_of(&sha), move || {
        Sentences::load(&dir, &sha)
    })
}

/// CLIP, to be loaded when it is used.
pub fn clip(model: &CheckedModel) -> Lazy<Clip> {
    let (dir, sha) = (model.dir.clone(), model.sha256.clone());
    Lazy::new(Clip::producer_of(&sha), move || Clip::load(&dir, &sha))
}

/// The cross-encoder, to be loaded when it is used.
pub fn cross(model: &CheckedModel) -> Lazy<Cross> {
    let (dir, sha) = (model.dir.clone(), model.sha256.clone());
    Lazy::new(Cross::producer_of(&sha), move || Cross::load(&dir, &sha))
}

/// The reader of text in images, to be loaded when it is used.
pub fn ocr(model: CheckedModel, mode: NumericMode) -> Lazy<Box<dyn TextReader>> {
    let producer = match model.name.as_str() {
        "ocrs" => OcrsReader::producer_of(&model.sha256),
        _ => PpOcr::producer_of(&model.sha256),
    };
    Lazy::new(producer, move || load_ocr(&model, mode))
}

/// Loads the reader of text in images.
///
/// # Errors
/// A file cannot be read, or is not the model that it should be.
pub fn load_ocr(model: &CheckedModel, mode: NumericMode) -> Result<Box<dyn TextReader>> {
    Ok(match model.name.as_str() {
        "ocrs" => Box::new(OcrsReader::load_with(
            &model.path("text-detection.rten"),
            &model.path("text-recognition.rten"),
            &model.sha256,
            mode,
        )?),
        _ => Box::new(PpOcr::load_with(
            &model.path("det.onnx"),
            &model.path("rec.onnx"),
            &model.sha256,
            mode,
        )?),
    })
}
