//! `models fetch`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::cli::{download_printer, print, print_json};
use riposte::models;
use riposte::weights::{self, ModelCatalogue, Models};
use riposte::wording::nearest;

#[derive(Args)]
pub(in crate::cli) struct FetchArgs {
    /// Names of models (`riposte models list` prints all), such as clip-vit-base-patch32; or roles: clip, ocr, sentence, cross, lexicon. A role means
    /// its default model, or all of its models if none is a default; `all` means every model. By default the default models: ppocr-v4,
    /// clip-vit-base-patch32, all-minilm-l6-v2 and afinn
    #[arg(value_name = "NAME|ROLE|all")]
    names: Vec<String>,
    /// Directory of the models. By default $RIPOSTE_MODELS, or riposte/models in the user's data directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Print a JSON object for each file
    #[arg(long)]
    json: bool,
    /// Print only the result
    #[arg(short, long)]
    quiet: bool,
}

/// `riposte models fetch`.
pub(super) fn fetch(args: &FetchArgs) -> Result<u8> {
    let models = Models::at(args.models.as_deref())?;
    check_names(&args.names, models.catalogue())?;
    let report = weights::fetch(&models, &args.names, &mut download_printer(args.quiet))?;
    let installed = report.files.iter().map(|file| file.model.as_str());
    models::keep_packed(&models, installed);
    if args.json {
        report.files.iter().try_for_each(print_json)?;
    } else {
        print(&report)?;
    }
    Ok(report.exit_code())
}

/// Checks the names of models and roles, so that a mistyped one is answered with the one that was probably meant.
///
/// # Errors
/// A name is none, and resembles one. Names that resemble none are errors of the catalogue.
fn check_names(names: &[String], catalogue: &ModelCatalogue) -> Result<()> {
    let mut known = vec!["all"];
    for entry in catalogue.entries() {
        known.extend([entry.name.as_str(), entry.role.word()]);
    }
    for name in names {
        if known.contains(&name.as_str()) {
            continue;
        }
        if let Some(near) = nearest(name, &known) {
            bail!(
                "there is no model or role named {name}: did you mean {near}? (`riposte models list` lists all)"
            );
        }
    }
    Ok(())
}
