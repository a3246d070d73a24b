//! Finds and loads the installed models.

use anyhow::{Result, bail};
use riposte_nn::conv::NumericMode;
use riposte_nn::transformer::Backend;

use super::{Event, OnEvent, recipe};
use crate::lazy::Lazy;
use crate::reading::cross::Cross;
use crate::reading::stance_encoder::StanceEncoder;
use crate::weights::{CheckedModel, ModelStatus, Models, Role};

/// The first installed model with this role, or the model `name` if it is given. The inner error says that none is installed.
///
/// # Errors
/// A model that the user named is not installed, or an installed model is damaged. To continue without it would silently change the results.
pub fn find(
    models: &Models,
    role: Role,
    name: Option<&str>,
) -> Result<Result<CheckedModel, String>> {
    let entries = models.catalogue().entries().iter();
    let of_role = entries.filter(|entry| entry.role == role);
    let of_role: Vec<&str> = of_role.map(|entry| entry.name.as_str()).collect();
    let is_meant = |of: &&str| name.is_none_or(|name| *of == name);
    let names: Vec<&str> = of_role.iter().copied().filter(is_meant).collect();
    if let (Some(name), true) = (name, names.is_empty()) {
        let meant = recipe::nearest(name, &of_role);
        let meant = meant.map_or(String::new(), |near| format!("did you mean {near}? "));
        bail!(
            "there is no {role} model named {name}: {meant}`riposte models list` lists the models"
        );
    }
    for candidate in names.iter().copied() {
        match models.find(candidate)? {
            ModelStatus::Ready(model) => return Ok(Ok(model)),
            ModelStatus::Wrong { file, why } => {
                bail!(
                    "the model {candidate} is damaged: {file}: {why} (`riposte models fetch {candidate}` downloads it again)"
                )
            }
            ModelStatus::Missing { .. } if name.is_some() => {
                bail!(
                    "the model {candidate} is not in {}: `riposte models fetch {candidate}` downloads it",
                    models.dir().display()
                )
            }
            ModelStatus::Missing { .. } => {}
        }
    }
    Ok(Err(match names.as_slice() {
        [only] => {
            format!("the model {only} is not installed; `riposte models fetch {only}` downloads it")
        }
        _ => format!("no {role} model is installed; `riposte models fetch {role}` downloads one"),
    }))
}

/// The stance encoder, which consists of a sentence model and the changes of its weights. The inner error is a note for the user: the
/// changes belong to another sentence model.
///
/// # Errors
/// The changes are damaged, which is a defect of the program.
pub(crate) fn stance_encoder(
    sentences: &CheckedModel,
    mode: NumericMode,
) -> Result<Result<Lazy<StanceEncoder>, String>> {
    if !StanceEncoder::belongs_to(&sentences.sha256)? {
        return Ok(Err(format!(
            "stance depends only on words: the stance encoder was trained from another model than the installed {}",
            sentences.name
        )));
    }
    let producer = StanceEncoder::producer_of(&sentences.sha256);
    let (dir, sha) = (sentences.dir.clone(), sentences.sha256.clone());
    Ok(Ok(Lazy::new(producer, move || {
        StanceEncoder::load(&dir, &sha, Backend::of(mode))
    })))
}

/// The installed stance encoder. If there is none, a note says why. The note begins with `otherwise`, which says what happens without the encoder.
///
/// # Errors
/// The sentence model is damaged.
pub fn installed_stance_encoder(
    models: &Models,
    mode: NumericMode,
    otherwise: &str,
    on_event: &mut OnEvent,
) -> Result<Option<Lazy<StanceEncoder>>> {
    let found = match find(models, Role::Sentence, None)? {
        Ok(model) => stance_encoder(&model, mode)?,
        Err(why) => Err(format!("{otherwise}: {why}")),
    };
    Ok(found.map_err(|note| on_event(Event::Note(note))).ok())
}

/// The cross-encoder.
pub fn cross(model: &CheckedModel, mode: NumericMode) -> Lazy<Cross> {
    let (dir, sha) = (model.dir.clone(), model.sha256.clone());
    Lazy::new(Cross::producer_of(&sha), move || {
        Cross::load(&dir, &sha, Backend::of(mode))
    })
}
