//! The models that a command uses.

use anyhow::{Result, bail};

use crate::evidence::clip::Clip;
use crate::evidence::ocr::{OcrsReader, PpOcr, TextReader};
use crate::evidence::sentence::Sentences;
use crate::nn::lazy::Lazy;
use crate::reading::cross::Cross;
use crate::reading::pair::PairEncoder;
use crate::weights::{CheckedModel, ModelStatus, Models, Role};

/// The first model of that role, or the one of that name, that is here; else why there is none.
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
            ModelStatus::Ready(model) => return Ok(Ok(model)),
            ModelStatus::Wrong { file, why } => {
                bail!(
                    "the model {name} cannot be used: {file}: {why} (`riposte models fetch {name}` gets it anew)"
                )
            }
            ModelStatus::Missing { .. } if wanted.is_some() => {
                bail!(
                    "the model {name} is not in {}: `riposte models fetch {name}` gets it",
                    models.dir().display()
                )
            }
            ModelStatus::Missing { .. } => {}
        }
    }
    Ok(Err(format!(
        "no {role} model here; `riposte models fetch {role}` gets one"
    )))
}

/// The pair encoder over that sentence model, to be loaded when it is used; none, and a note, if it is another than the one that it
/// was trained from.
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
pub fn ocr(model: CheckedModel) -> Lazy<Box<dyn TextReader>> {
    let producer = match model.name.as_str() {
        "ocrs" => OcrsReader::producer_of(&model.sha256),
        _ => PpOcr::producer_of(&model.sha256),
    };
    Lazy::new(producer, move || load_ocr(&model))
}

pub fn load_ocr(model: &CheckedModel) -> Result<Box<dyn TextReader>> {
    Ok(match model.name.as_str() {
        "ocrs" => Box::new(OcrsReader::load(
            &model.path("text-detection.rten"),
            &model.path("text-recognition.rten"),
            &model.sha256,
        )?),
        _ => Box::new(PpOcr::load(
            &model.path("det.onnx"),
            &model.path("rec.onnx"),
            &model.sha256,
        )?),
    })
}
