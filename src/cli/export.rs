//! `export`: writes a run or the evidence in formats that other programs read.

// an error says that a file is missing
#![expect(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use riposte_eval::edition::Edition;

use super::args::{CacheArgs, QUIET, Quiet, STORAGE};
use super::faults::{FaultArgs, FaultLog};
use super::notes::print_notes;
use super::progress::EventPrinter;
use super::text_args::INPUT;
use super::{parse, print, shown};
use riposte::evidence::store::{Store, exported_files};
use riposte::files::{check_distinct, check_writable, write_atomically};
use riposte::ingest::extraction::open_store;
use riposte::judge::export;
use riposte::recipes::channels::CHANNELS;

#[derive(Subcommand)]
pub(super) enum ExportCommand {
    /// Write an image run as TREC runs with a query for each topic and stance (34-PRO), and judgements for these queries
    Run(ExportRunArgs),
    /// Write the evidence of an image collection as Parquet files, one for each table
    Evidence(ExportEvidenceArgs),
}

#[derive(Args)]
pub(super) struct ExportRunArgs {
    /// Image run: a file (plain, gzip or zstd), - for standard input, or a directory with a run.txt
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Output directory, created if necessary
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Judgements of images; they are written for the same queries
    #[arg(long, value_name = "QRELS")]
    pub(super) qrels: Option<String>,
    /// Edition of the image task, which decides the grades that count as relevant: 1 (2022), or 1 and above (2023)
    #[arg(long, value_name = "YEAR", value_parser = parse::edition_with_stances(), default_value_t = Edition::first())]
    edition: &'static Edition,
    /// Write the judgements of all topics, and not only of those in the run. Topics that the run leaves out then count as 0
    #[arg(long, requires = "qrels")]
    all_judged: bool,
    #[command(flatten)]
    faults: FaultArgs,
}

#[derive(Args)]
pub(super) struct ExportEvidenceArgs {
    /// Directory of the collection
    #[arg(short, long = "input", value_name = "DIR", env = INPUT, required_unless_present = "evidence")]
    pub(super) input: Option<PathBuf>,
    /// Evidence store. By default the one that `riposte images` uses
    #[arg(long, value_name = "FILE", help_heading = STORAGE)]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
    /// Output directory, created if necessary
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print nothing but the result and errors; with --quiet=progress, notes and faults, too
    #[arg(short, long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = QUIET, hide_possible_values = true)]
    pub(super) quiet: Option<Quiet>,
}

/// `riposte export`.
pub fn export(command: &ExportCommand) -> Result<u8> {
    match command {
        ExportCommand::Run(args) => export_run(args),
        ExportCommand::Evidence(args) => export_evidence(args),
    }
}

/// `riposte export run`.
fn export_run(args: &ExportRunArgs) -> Result<u8> {
    let qrels = args.qrels.as_deref();
    let mut notes = EventPrinter::of_notes(args.faults.log(Some(&args.output), false));
    let on_event = &mut |event| notes.print(event);
    let exported = export::run(&args.run, qrels, args.edition, args.all_judged, on_event)?;
    let files = exported.files.iter();
    let paths: Vec<PathBuf> = files.map(|file| args.output.join(file.name)).collect();
    let mut outputs: Vec<(&str, &Path)> = paths.iter().map(|path| ("-o", path.as_path())).collect();
    let list = args.faults.file(Some(&args.output));
    outputs.extend(list.iter().map(|file| ("--faults", file.as_path())));
    let inputs = args.qrels.iter().map(Path::new).chain([&*exported.path]);
    check_distinct(&outputs, &inputs.collect::<Vec<_>>())?;
    for (_, path) in &outputs {
        check_writable(path)?;
    }
    for (path, file) in paths.iter().zip(&exported.files) {
        write_atomically(path, file.text.as_bytes())?;
        print(&format_args!("{}: {}\n", shown(path), file.content))?;
    }
    notes.finish()
}

/// `riposte export evidence`.
fn export_evidence(args: &ExportEvidenceArgs) -> Result<u8> {
    let evidence = match (&args.evidence, &args.input) {
        (Some(file), _) => file.clone(),
        (None, Some(input)) => {
            let places = args.cache.places(None, None);
            places.evidence(input, &mut print_notes)?
        }
        (None, None) => bail!("give a collection (-i) or an evidence store (--evidence)"),
    };
    ensure!(
        evidence.is_file(),
        "there is no evidence store {}: run `riposte extract` to compute the evidence",
        evidence.display()
    );
    let names = exported_files(CHANNELS);
    let names: Vec<PathBuf> = names.map(|name| args.output.join(name)).collect();
    let outputs: Vec<(&str, &Path)> = names.iter().map(|path| ("-o", path.as_path())).collect();
    check_distinct(&outputs, &[&evidence])?;
    // waits for a process that writes the store, and keeps others from writing it
    let mut printer = EventPrinter::new(args.quiet, FaultLog::unlisted());
    let store = open_store(&evidence, Store::open_or_read, &mut |event| {
        printer.print(event)
    })?;
    let exported = store.export(&args.output, &mut |event| printer.print(event));
    for (name, rows) in exported.context("no file was exported")? {
        let path = args.output.join(name);
        print(&format_args!("{}: {rows} rows\n", shown(&path)))?;
    }
    Ok(0)
}
