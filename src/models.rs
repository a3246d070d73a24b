//! Finds and loads the installed models.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, bail};
use riposte_nn::conv::int8_instructions;

use crate::device::Compute;
use crate::events::{Event, OnEvent};
use crate::evidence::sentence::{self, Sentences};
use crate::lazy::Lazy;
use crate::reading::cross::CrossEncoder;
use crate::reading::stance_encoder::StanceEncoder;
use crate::weights::{CheckedModel, KeptWeights, ModelEntry, ModelRole, ModelStatus, Models};
use crate::wording::nearest;

/// The installed model with this role: the one with this name or, without a name, the one that the user has chosen or the first that is installed.
/// The inner error says that none is installed.
///
/// # Errors
/// A model that the user named is not installed, or an installed model is damaged. To continue without it would silently change the results.
pub fn find(
    models: &Models,
    role: ModelRole,
    name: Option<&str>,
) -> Result<Result<CheckedModel, String>> {
    let name = name.or(models.chosen(role));
    let entries = models.catalogue().entries().iter();
    let of_role: Vec<&ModelEntry> = entries.filter(|entry| entry.role == role).collect();
    // without a name, a ranking does not depend on what the user has added
    let is_meant = |of: &&&ModelEntry| match name {
        Some(name) => of.name == name,
        None => of.added.is_none(),
    };
    let candidates: Vec<&ModelEntry> = of_role.iter().filter(is_meant).copied().collect();
    if let (Some(name), true) = (name, candidates.is_empty()) {
        let names: Vec<&str> = of_role.iter().map(|of| of.name.as_str()).collect();
        let meant = nearest(name, &names);
        let meant = meant.map_or(String::new(), |near| format!("did you mean {near}? "));
        bail!(
            "there is no {role} model named {name}: {meant}`riposte models list` lists the models"
        );
    }
    for entry in candidates.iter().copied() {
        let (candidate, command) = (&entry.name, entry.command());
        let gets = match entry.is_only_added() {
            true => "adds",
            false => "downloads",
        };
        match models.find(candidate)? {
            ModelStatus::Ready(model) => return Ok(Ok(model)),
            ModelStatus::Wrong { file, why } if entry.is_only_added() => {
                bail!(
                    "the model {candidate} is damaged: {file}: {why} (`riposte models remove {candidate}` removes it, and `{command}` adds it again)"
                )
            }
            ModelStatus::Wrong { file, why } => {
                bail!(
                    "the model {candidate} is damaged: {file}: {why} (`{command}` downloads it again)"
                )
            }
            ModelStatus::Missing { .. } if name.is_some() => {
                bail!(
                    "the model {candidate} is not in {}: `{command}` {gets} it",
                    models.dir().display()
                )
            }
            ModelStatus::Missing { .. } => {}
        }
    }
    Ok(Err(match candidates.as_slice() {
        [ModelEntry { name: only, .. }] => {
            format!("the model {only} is not installed; `riposte models fetch {only}` downloads it")
        }
        _ => format!("no {role} model is installed; `riposte models fetch {role}` downloads one"),
    }))
}

/// The sentence model from which the stance encoder was trained, whichever the user has chosen for sentence vectors. The inner error says that it is
/// not installed.
///
/// # Errors
/// The sentence model is damaged; or the stance encoder is, which is a defect of the program.
pub(crate) fn stance_base(models: &Models) -> Result<Result<CheckedModel, String>> {
    // the catalogue has it before all other sentence models
    let found = find(
        &models.clone().with_sentence(None),
        ModelRole::Sentence,
        None,
    )?;
    let Ok(model) = &found else {
        return Ok(found);
    };
    if !StanceEncoder::belongs_to(&model.sha256)? {
        return Ok(Err(format!(
            "the stance encoder was trained from another model than the installed {}",
            model.name
        )));
    }
    Ok(found)
}

/// The stance encoder, which consists of a sentence model ([`stance_base`]) and the changes of its weights.
pub(crate) fn stance_encoder(
    models: &Models,
    base: &CheckedModel,
    compute: Compute,
) -> Arc<Lazy<StanceEncoder>> {
    let producer = StanceEncoder::producer_of(&base.sha256);
    models.shared((producer.clone(), compute), || {
        let (dir, sha) = (base.dir.clone(), base.sha256.clone());
        let keep = KeptWeights::of(base, "stance", &producer);
        Lazy::new(producer, move || {
            StanceEncoder::load_kept(&dir, &sha, compute.backend(), Some(&keep))
        })
    })
}

/// The sentence encoder of a model.
pub(crate) fn sentences(
    models: &Models,
    model: &CheckedModel,
    compute: Compute,
) -> Arc<Lazy<Sentences>> {
    let key = (model.sha256.clone(), compute);
    models.shared(key, || sentence::lazy(model, compute))
}

/// The installed stance encoder. If there is none, a note says why. The note begins with `otherwise`, which says what happens without the encoder.
///
/// # Errors
/// The sentence model is damaged.
pub fn installed_stance_encoder(
    models: &Models,
    compute: Compute,
    otherwise: &str,
    on_event: &mut OnEvent,
) -> Result<Option<Arc<Lazy<StanceEncoder>>>> {
    let note = |why| on_event(Event::note(format!("{otherwise}: {why}")));
    let base = stance_base(models)?.map_err(note).ok();
    Ok(base.map(|base| stance_encoder(models, &base, compute)))
}

/// The cross-encoder.
pub fn cross(model: &CheckedModel, compute: Compute) -> Lazy<CrossEncoder> {
    let dir = model.dir.clone();
    let producer = CrossEncoder::producer_of(&model.sha256);
    let keep = KeptWeights::of(model, "cross", &producer);
    Lazy::new(producer, move || {
        CrossEncoder::load_kept(&dir, compute.backend(), Some(&keep))
    })
}

/// Packs the weights of the installed encoders among these models, and of the stance encoder if it is trained from one of them, and keeps them. So
/// the first start, and every start where nothing can be written, need not pack them. What is wrong with a model is said when it is used.
pub fn keep_packed<'n>(models: &Models, names: impl IntoIterator<Item = &'n str>) {
    if int8_instructions().is_none() {
        return;
    }
    let compute = Compute::default();
    let names: BTreeSet<&str> = names.into_iter().collect();
    for name in &names {
        let role = models.catalogue().entry(name).map(|entry| entry.role);
        let Ok(ModelStatus::Ready(model)) = models.find(name) else {
            continue;
        };
        let _ = match role {
            Ok(ModelRole::Sentence) => sentences(models, &model, compute).get().map(|_| ()),
            Ok(ModelRole::Cross) => cross(&model, compute).get().map(|_| ()),
            _ => Ok(()),
        };
    }
    if let Ok(Ok(base)) = stance_base(models)
        && names.contains(base.name.as_str())
    {
        let _ = stance_encoder(models, &base, compute).get();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::weights::ModelCatalogue;

    /// Models of one file each, of which `installed` are there.
    fn models(dir: &Path, installed: &[&str]) -> Models {
        let entry = |name: &str| {
            format!(
                "[[model]]\nname = \"{name}\"\nrole = \"sentence\"\ndefault = false\ngives = \"g\"\nlicence = \"l\"\npaper = \"p\"\n\
                 size = \"1 B\"\n[[model.file]]\nfile = \"inner/f\"\nsource = [{{ url = \"https://example.org/f\" }}]\n"
            )
        };
        for name in installed {
            fs::create_dir_all(dir.join(name).join("inner")).unwrap();
            fs::write(dir.join(name).join("inner/f"), name).unwrap();
        }
        let all = ["small-v1", "large-v1", "other-v1"].map(entry).concat();
        Models::with_catalogue(dir, ModelCatalogue::parse(&all).unwrap())
    }

    #[test]
    fn the_chosen_sentence_encoder_is_used_and_never_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let all = models(dir.path(), &["small-v1", "large-v1"]);
        let found = |name: Option<&str>, given: Option<&str>| {
            let models = all.clone().with_sentence(name.map(str::to_owned));
            find(&models, ModelRole::Sentence, given).map(|found| found.unwrap())
        };
        let first = found(None, None).unwrap();
        assert_eq!(first.name, "small-v1");
        let chosen = found(Some("large-v1"), None).unwrap();
        assert_eq!(chosen.name, "large-v1");
        // the hash of its files is in the name under which its vectors are stored
        assert_ne!(chosen.sha256, first.sha256);
        assert_eq!(found(Some("large-v1"), Some("small-v1")).unwrap(), first);
        let said = found(Some("large"), None).unwrap_err().to_string();
        assert!(said.contains("did you mean large-v1?"), "{said}");
        let said = found(Some("other-v1"), None).unwrap_err().to_string();
        assert!(said.contains("`riposte models fetch other-v1`"), "{said}");
    }
}
