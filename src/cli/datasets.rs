//! `datasets`: lists, gets and removes real collections.

mod folders;
mod get;
mod inputs;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use indicatif::DecimalBytes;
use riposte_eval::escaped;
use serde_json::{Value, json};

use super::lines::without_nulls;
use super::{print, print_json, shown, terminal};
use riposte::datasets::{DataFile, DatasetEntry, DatasetStatus, Datasets};

#[derive(Subcommand)]
pub(super) enum DatasetsCommand {
    /// List the data sets with their sizes, and whether each is here
    List(DatasetsListArgs),
    /// Show a data set: its files, licence, citation and directory
    Info(NameArgs),
    /// Download data sets, check them, and unpack them into the layout that the commands read
    ///
    /// Each file is compared with the size and the checksum of the catalogue before anything is unpacked. A command that was killed goes on where it was
    /// when it is given again. The exit code is 0 if all data sets are complete, 1 if some are not, and 2 if none is.
    Get(get::GetArgs),
    /// Remove a data set from the disk
    Remove(NameArgs),
}

#[derive(Args)]
pub(super) struct DirArgs {
    /// Directory of the data sets, each in a directory of its own. By default $RIPOSTE_DATASETS, or riposte/datasets in the user's data directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct DatasetsListArgs {
    #[command(flatten)]
    dir: DirArgs,
    /// Print a JSON object for each data set
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct NameArgs {
    /// Name of the data set, such as touche-2022-images; or its id in ir_datasets
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    dir: DirArgs,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// `riposte datasets`.
pub fn datasets(command: &DatasetsCommand) -> Result<u8> {
    match command {
        DatasetsCommand::List(args) => list(args),
        DatasetsCommand::Info(args) => info(args),
        DatasetsCommand::Get(args) => get::get(args),
        DatasetsCommand::Remove(args) => remove(args),
    }
}

fn list(args: &DatasetsListArgs) -> Result<u8> {
    let datasets = Datasets::at(args.dir.dir.as_deref())?;
    let entries = datasets.catalogue().entries();
    if args.json {
        for entry in entries {
            print_json(&to_json(&datasets, entry)?)?;
        }
        return Ok(0);
    }
    let width = entries.iter().map(|entry| entry.name.len()).max();
    let width = width.unwrap_or(0);
    print(&format_args!("{}\n", shown(datasets.dir())))?;
    for entry in entries {
        let here = match datasets.status(entry)? {
            DatasetStatus::Complete { .. } => "here",
            DatasetStatus::Unfinished => "partly",
            DatasetStatus::Absent => "",
        };
        let line = format!(
            "  {:<width$}  {:<13}  {:>11}  {here:<6}  {}",
            entry.name,
            entry.task.word().to_owned(),
            size(with_used(&datasets, entry)),
            if entry.consent.is_some() { "ask" } else { "" }
        );
        print(&format_args!("{}\n", line.trim_end()))?;
    }
    print(&terminal::wrapped(
        "The columns are the name, the command that ranks it, the size of the download with what it uses, whether it is here, and \"ask\" if a licence must be accepted. `riposte datasets info NAME` says what a data set is.",
        0,
    ))?;
    Ok(0)
}

/// The files of a data set, and of those that it uses.
fn with_used<'d>(
    datasets: &'d Datasets,
    entry: &'d DatasetEntry,
) -> impl Iterator<Item = &'d DataFile> {
    let used = entry.uses.iter();
    let used = used.filter_map(|name| datasets.catalogue().find(name));
    used.chain([entry]).flat_map(|entry| entry.files_of(&[]))
}

/// The size of some files as it is printed.
fn size<'f>(files: impl Iterator<Item = &'f DataFile>) -> String {
    let (mut bytes, mut unknown) = (0, false);
    for file in files {
        bytes += file.bytes.unwrap_or(0);
        unknown |= file.bytes.is_none();
    }
    match (bytes, unknown) {
        (0, true) => "unknown".to_owned(),
        (bytes, true) => format!("{} or more", DecimalBytes(bytes)),
        (bytes, false) => DecimalBytes(bytes).to_string(),
    }
}

fn info(args: &NameArgs) -> Result<u8> {
    let datasets = Datasets::at(args.dir.dir.as_deref())?;
    let entry = datasets.catalogue().entry(&args.name)?;
    if args.json {
        print_json(&to_json(&datasets, entry)?)?;
        return Ok(0);
    }
    let here = match datasets.status(entry)? {
        DatasetStatus::Complete { parts } if parts.is_empty() => "here".to_owned(),
        DatasetStatus::Complete { parts } => format!("here, with {}", parts.join(", ")),
        DatasetStatus::Unfinished => "partly here".to_owned(),
        DatasetStatus::Absent => "not here".to_owned(),
    };
    let dir = shown(&datasets.dir_of(entry));
    let list = |label: &str, words: &[String]| match words {
        [] => String::new(),
        words => format!("{label}: {}", words.join(", ")),
    };
    let consent = entry
        .consent
        .iter()
        .map(|of| format!("to be accepted: {of}"));
    let source = entry
        .doi
        .iter()
        .map(|doi| format!("source: https://doi.org/{doi}"));
    let mut text = format!("{}\n", entry.name);
    for line in [
        entry.about.clone(),
        format!("ranked by: riposte {}", entry.task.word()),
        format!("licence: {}", entry.licence),
        consent.collect(),
        source.collect(),
        format!("cite: {}", entry.citation),
        list("also", &entry.aliases),
        list("uses", &entry.uses),
        list("judgements", &entry.qrels),
    ] {
        if !line.is_empty() {
            text += &terminal::wrapped(&line, 2);
        }
    }
    // a path can have spaces, and is copied as a whole
    text += &format!("  directory: {dir} ({here})\n");
    for file in &entry.files {
        let checksum = match (&file.sha256, &file.md5) {
            (Some(sha256), _) => format!("sha256 {sha256}"),
            (None, Some(md5)) => format!("md5 {md5}"),
            (None, None) => "checksum recorded at the first download".to_owned(),
        };
        let part = file
            .part
            .as_ref()
            .map_or_else(String::new, |part| format!(", --part {part}"));
        let size = size(std::iter::once(file));
        text += &format!("  {}: {size}, {checksum}{part}\n", file.file);
        for url in &file.urls {
            text += &format!("    {url}\n");
        }
    }
    print(&escaped_lines(&text))?;
    Ok(0)
}

/// A catalogue of one's own can have any characters.
fn escaped_lines(text: &str) -> String {
    let lines = text.lines().map(|line| format!("{}\n", escaped(line)));
    lines.collect()
}

fn remove(args: &NameArgs) -> Result<u8> {
    let datasets = Datasets::at(args.dir.dir.as_deref())?;
    let entry = datasets.catalogue().entry(&args.name)?;
    let dir = datasets.dir_of(entry);
    let removed = datasets.remove(entry)?;
    if args.json {
        print_json(&json!({"name": entry.name, "directory": dir, "removed": removed}))?;
    } else if removed {
        print(&format_args!("removed {}\n", shown(&dir)))?;
    } else {
        print(&format_args!(
            "{} is not here: nothing to remove\n",
            entry.name
        ))?;
    }
    Ok(0)
}

fn to_json(datasets: &Datasets, entry: &DatasetEntry) -> Result<Value> {
    let status = datasets.status(entry)?;
    let parts = match &status {
        DatasetStatus::Complete { parts } => parts.as_slice(),
        _ => &[],
    };
    let files = entry.files.iter().map(|file| {
        without_nulls(json!({
            "file": file.file,
            "urls": file.urls,
            "bytes": file.bytes,
            "most": file.most,
            "md5": file.md5,
            "sha256": file.sha256,
            "part": file.part,
        }))
    });
    let files: Vec<Value> = files.collect();
    Ok(without_nulls(json!({
        "name": entry.name,
        "aliases": entry.aliases,
        "task": entry.task.word(),
        "about": entry.about,
        "licence": entry.licence,
        "consent": entry.consent,
        "doi": entry.doi,
        "citation": entry.citation,
        "uses": entry.uses,
        "qrels": entry.qrels,
        "directory": datasets.dir_of(entry),
        "complete": matches!(status, DatasetStatus::Complete { .. }),
        "parts": parts,
        "files": files,
    })))
}
