//! `models add` and `models remove`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use indicatif::DecimalBytes;
use serde_json::json;

use crate::cli::lines::without_nulls;
use crate::cli::{download_printer, print, print_json, shown};
use riposte::upkeep::add_model;
use riposte::upkeep::add_model::Added;
use riposte::weights::{self, AddOutcome, ModelOrigin, ModelRole, Models};
use riposte::wording::nearest;

#[derive(Args)]
pub(in crate::cli) struct AddArgs {
    /// Directory of the model, or hf:OWNER/NAME for a repository of the Hugging Face hub, with @REVISION for one of its branches, tags or commits
    #[arg(value_name = "DIR|hf:OWNER/NAME[@REVISION]", value_hint = clap::ValueHint::DirPath)]
    source: String,
    /// Name of the model, by default that of the directory or of the repository
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Licence of the model, if its files do not say it
    #[arg(long, value_name = "TEXT")]
    licence: Option<String>,
    /// Directory of the models. By default $RIPOSTE_MODELS, or riposte/models in the user's data directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// Print only the result
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Args)]
pub(in crate::cli) struct RemoveArgs {
    /// Name of the model
    #[arg(value_name = "NAME")]
    removed: String,
    /// Directory of the models. By default $RIPOSTE_MODELS, or riposte/models in the user's data directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
}

/// `riposte models add`.
pub(super) fn add(args: AddArgs) -> Result<u8> {
    let models = Models::at(args.models.as_deref())?;
    let place = ModelOrigin::parse(&args.source)?;
    let on_event = &mut download_printer(args.quiet);
    let added = add_model::add(
        &models,
        &place,
        args.name,
        args.licence.as_deref(),
        on_event,
    )?;
    if args.json {
        print_json(&without_nulls(json!({
            "name": added.name,
            "role": added.role.to_string(),
            "licence": added.licence,
            "revision": added.revision,
            "directory": models.dir().join(&added.name),
            "added": added.installed == AddOutcome::Added,
        })))?;
    } else {
        print(&described(&added))?;
    }
    Ok(0)
}

/// What the model is, and how it is used.
fn described(added: &Added) -> String {
    let (name, found) = (&added.name, &added.found);
    let what = match added.role {
        ModelRole::Clip => "an image-text model",
        ModelRole::Sentence => "a sentence encoder",
        _ => "a cross-encoder",
    };
    let with = match added.role {
        ModelRole::Clip => format!(
            "images and extract use it with --clip {name}, or beside another model with --image-text {name}; a recipe for images with clip = \"{name}\" or image-text = \"{name}\""
        ),
        ModelRole::Sentence => {
            format!("all commands that compare texts use it with --sentence {name}")
        }
        _ => format!("approaches that re-rank with a cross-encoder use it with --cross {name}"),
    };
    let state = match added.installed {
        AddOutcome::Added => "added",
        AddOutcome::Already => "was added before, with the same files",
    };
    let commit = added
        .revision
        .as_ref()
        .map(|commit| format!(", commit {commit}"));
    format!(
        "{name}: {state}: {what} with {found} (licence: {}{})\n{with}\n",
        added.licence,
        commit.unwrap_or_default()
    )
}

/// `riposte models remove`.
pub(super) fn remove(args: &RemoveArgs) -> Result<u8> {
    let models = Models::at(args.models.as_deref())?;
    let name = &args.removed;
    let removed = weights::remove(&models, name).map_err(|error| {
        let entries = models.catalogue().entries().iter();
        let known: Vec<&str> = entries.map(|entry| entry.name.as_str()).collect();
        match nearest(name, &known).filter(|near| near != name) {
            Some(near) => error.context(format!("did you mean {near}?")),
            None => error,
        }
    })?;
    let size = DecimalBytes(removed.bytes);
    print(&format!(
        "{name}: removed, {size}; `{}` gets it again\n",
        removed.again
    ))?;
    if let Some(dir) = &removed.kept {
        say!("note: other files stay in {}", shown(dir));
    }
    Ok(0)
}
