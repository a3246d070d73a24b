//! Adds a model of the user's own: recognises what it is, tries it, and installs it.

mod recognise;
mod trial;

use std::path::Path;

use anyhow::{Error, Result, anyhow, bail};

use crate::events::{Event, OnEvent};
use crate::weights::{self, AddOutcome, ModelOrigin, ModelRole, Models};

/// A model that was added.
#[derive(Clone, Debug)]
pub struct Added {
    pub name: String,
    pub role: ModelRole,
    pub licence: String,
    /// The commit of the hub.
    pub revision: Option<String>,
    pub installed: AddOutcome,
    /// What the trial has found: the length of vectors, or what else is worth knowing.
    pub found: String,
}

/// Adds a model to the models directory. Without a name, it gets that of its directory or repository; without a licence, what its files say.
///
/// # Errors
/// The name is taken; riposte cannot use the model, and the message names the file or the setting; or a file cannot be read, downloaded or written.
pub fn add(
    models: &Models,
    place: &ModelOrigin,
    name: Option<String>,
    licence: Option<&str>,
    on_event: &mut OnEvent,
) -> Result<Added> {
    let name = name.map_or_else(|| place.name(), Ok)?;
    weights::check_name(&name)?;
    let mut role = None;
    // the user knows the place that was given, and not the copy or the download
    let placed = |error: &Error, dir: &Path| {
        format!("{error:#}").replace(&dir.display().to_string(), &place.to_string())
    };
    let mut examine = |dir: &Path| {
        let found = recognise::role(dir).map_err(|error| anyhow!(placed(&error, dir)))?;
        role = Some(found);
        Ok(())
    };
    let staged = weights::stage(models, place, &name, &mut examine, on_event)?;
    let role = role.map_or_else(|| recognise::role(staged.dir()), Ok);
    let tried = role.and_then(|role| Ok((role, trial::run(role, staged.dir())?)));
    let (role, found) = match tried {
        Ok(tried) => tried,
        Err(error) => {
            let said = placed(&error, staged.dir());
            staged.discard();
            bail!("cannot add the model {name}: {said}");
        }
    };
    let note = recognise::note(role, staged.dir());
    let revision = staged.revision().map(str::to_owned);
    let (installed, licence) = staged.install(models, role, licence)?;
    note.map(Event::note).into_iter().for_each(on_event);
    Ok(Added {
        name,
        role,
        licence,
        revision,
        installed,
        found,
    })
}
