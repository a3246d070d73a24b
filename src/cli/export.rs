//! `export`: writes a run or the evidence in formats that other programs read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};

use super::args::{CacheArgs, INPUT, STORAGE};
use super::files::{
    check_distinct, check_writable, decode, evidence_store, read_judgements, read_run,
    say_broken_lines, write_atomically,
};
use super::parse;
use super::print;
use super::progress::{EventPrinter, StageProgress};
use crate::evidence::store::{ExportProgress, ExportedTable};
use crate::judge::plain::{NO_JUDGEMENT, PlainQrels, PlainRun};
use crate::task::extraction::open_store_or_read;
use crate::trec::edition::Edition;
use crate::trec::qrels::{ImageQrels, Qrels};
use crate::trec::run::{self, ImageRunLine, TextRunLine};
use crate::trec::{Stance, TopicId, escaped};

#[derive(Subcommand)]
pub(super) enum ExportCommand {
    /// Write an image run as TREC runs with a query for each topic and stance (34-PRO), and judgements for these queries
    Run(ExportRunArgs),
    /// Write the evidence of an image collection as Parquet files, one for each table
    Evidence(ExportEvidenceArgs),
}

#[derive(Args)]
pub(super) struct ExportRunArgs {
    /// Image run: a file (plain or gzipped) or a directory with a run.txt
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Output directory, created if necessary
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Judgements of images; they are written for the same queries
    #[arg(long, value_name = "QRELS")]
    qrels: Option<String>,
    /// Edition of the image task, which decides the grades that count as relevant: 1 (2022), or 1 and above (2023)
    #[arg(long, value_name = "YEAR", value_parser = parse::edition_with_stances(), default_value_t = Edition::first())]
    edition: &'static Edition,
    /// Write the judgements of all topics, and not only of those in the run. Topics that the run leaves out then count as 0
    #[arg(long, requires = "qrels")]
    all_judged: bool,
}

#[derive(Args)]
pub(super) struct ExportEvidenceArgs {
    /// Directory of the collection
    #[arg(short, long = "input", value_name = "DIR", env = INPUT, required_unless_present = "evidence")]
    input: Option<PathBuf>,
    /// Evidence store. By default the one that `riposte images` uses
    #[arg(long, value_name = "FILE", help_heading = STORAGE)]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    cache: CacheArgs,
    /// Output directory, created if necessary
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print only notes and errors
    #[arg(short, long)]
    quiet: bool,
}

/// The files of a run: its PRO lists, its CON lists, and both.
const RUNS: [&str; 3] = ["pro.run", "con.run", "both.run"];

/// The files of the judgements, in the order of [`PlainQrels::files`].
const QRELS: [&str; 3] = ["topic.qrels", "argumentative.qrels", "stance.qrels"];

/// Number of topics or lists that a note names.
const NAMED: usize = 5;

/// `riposte export`.
pub fn export(command: &ExportCommand) -> Result<u8> {
    match command {
        ExportCommand::Run(args) => export_run(args),
        ExportCommand::Evidence(args) => export_evidence(args),
    }
}

/// `riposte export run`. The exit code is 1 if there are lines that cannot be read.
fn export_run(args: &ExportRunArgs) -> Result<u8> {
    let (path, bytes) = read_run(&args.run)?;
    let (lines, errors) = run::read_images(&decode(bytes));
    say_broken_lines(&path, &errors);
    ensure!(
        !lines.is_empty(),
        "there is no line of an image run (topic PRO|CON image rank score tag) in {}",
        path.display()
    );
    let mut errors = errors.len();
    let plain = PlainRun::new(&lines);
    note_changes(&plain);
    let both = [plain.pro.as_slice(), plain.con.as_slice()].concat();
    let mut files = Vec::new();
    for (name, lines) in RUNS.into_iter().zip([&plain.pro, &plain.con, &both]) {
        files.push((name, run::write_texts(lines)?, described(lines)));
    }
    if let Some(argument) = &args.qrels {
        let judgements = read_judgements(argument)?;
        errors += judgements.errors;
        let Qrels::Images(qrels) = &judgements.qrels else {
            bail!("{argument} has no judgements of images (topic ONTOPIC|PRO|CON image grade)");
        };
        let topics = topics(&lines, qrels, args.all_judged);
        let plain = PlainQrels::new(&topics, qrels, args.edition);
        note_unjudged(&plain.unjudged);
        for (name, text) in QRELS.into_iter().zip(plain.files) {
            let described = format!("{} queries", 2 * topics.len());
            files.push((name, text, described));
        }
    }
    let paths: Vec<PathBuf> = files.iter().map(|f| args.output.join(f.0)).collect();
    let outputs: Vec<(&str, &Path)> = paths.iter().map(|path| ("-o", path.as_path())).collect();
    let qrels = args.qrels.iter().map(Path::new);
    check_distinct(&outputs, &qrels.chain([path.as_path()]).collect::<Vec<_>>())?;
    for path in &paths {
        check_writable(path)?;
    }
    for (path, (_, text, described)) in paths.iter().zip(&files) {
        write_atomically(path, text.as_bytes())?;
        print(&format_args!("{}: {described}\n", path.display()))?;
    }
    Ok(u8::from(errors > 0))
}

/// The number of queries and results of a plain run, in words.
fn described(lines: &[TextRunLine]) -> String {
    let queries: BTreeSet<&TopicId> = lines.iter().map(|line| &line.topic).collect();
    format!("{} queries, {} images", queries.len(), lines.len())
}

/// The topics whose judgements are written. Prints notes about topics that are left out or incomplete.
fn topics<'a>(
    lines: &'a [ImageRunLine],
    qrels: &'a ImageQrels,
    all_judged: bool,
) -> BTreeSet<&'a TopicId> {
    let in_run: BTreeSet<&TopicId> = lines.iter().map(|line| &line.topic).collect();
    let judged: BTreeSet<&TopicId> = qrels.keys().collect();
    let topics = if all_judged { &judged } else { &in_run };
    let lists: BTreeSet<(&TopicId, Stance)> = lines
        .iter()
        .map(|line| (&line.topic, line.stance))
        .collect();
    let has_all_lists = |topic: &TopicId| Stance::BOTH.iter().all(|s| lists.contains(&(topic, *s)));
    let partial = topics.iter().filter(|topic| !has_all_lists(topic));
    note(
        "topics",
        partial.copied(),
        "without a PRO or a CON list: it counts as 0, and ranx needs make_comparable=True",
    );
    if all_judged {
        note(
            "topics",
            in_run.difference(&judged).copied(),
            "of the run without judgements: evaluators leave them out",
        );
    } else {
        note(
            "topics",
            judged.difference(&in_run).copied(),
            "with judgements that are not in the run: they are left out, as in the official measures (--all-judged counts them as 0)",
        );
    }
    topics.clone()
}

fn note_changes(plain: &PlainRun) {
    if plain.repeated > 0 {
        say!(
            "note: {} lines repeat an image of their list and are left out. `riposte evaluate` counts each of them, so figures can differ",
            plain.repeated
        );
    }
    note(
        "lists",
        plain.rescored.iter(),
        "whose scores do not strictly decrease with the ranks (as 32-bit floats): they get new scores that count down to 1",
    );
    if plain.retagged {
        say!("note: blanks in the run's tag are replaced by _");
    }
}

fn note_unjudged(unjudged: &[TopicId]) {
    let what = format!(
        "without judgements: the files have {NO_JUDGEMENT} for them, so that they count as 0"
    );
    note("topics", unjudged.iter(), &what);
}

/// Prints a note about these topics or lists, if there are any.
fn note<'a>(kind: &str, ids: impl Iterator<Item = &'a TopicId>, what: &str) {
    let ids: Vec<&str> = ids.map(|id| id.0.as_str()).collect();
    if ids.is_empty() {
        return;
    }
    let named = ids[..ids.len().min(NAMED)].join(", ");
    let more = if ids.len() > NAMED { ", …" } else { "" };
    let count = ids.len();
    say!("note: {count} {kind} {what} ({}{more})", escaped(&named));
}

/// `riposte export evidence`.
fn export_evidence(args: &ExportEvidenceArgs) -> Result<u8> {
    let evidence = match (&args.evidence, &args.input) {
        (Some(file), _) => file.clone(),
        (None, Some(input)) => evidence_store(None, input, &args.cache)?,
        (None, None) => bail!("give a collection (-i) or an evidence store (--evidence)"),
    };
    ensure!(
        evidence.is_file(),
        "there is no evidence store {}: run `riposte extract` to compute the evidence",
        evidence.display()
    );
    let names: Vec<PathBuf> = ExportedTable::all_names()
        .map(|name| args.output.join(name))
        .collect();
    let outputs: Vec<(&str, &Path)> = names.iter().map(|path| ("-o", path.as_path())).collect();
    check_distinct(&outputs, &[&evidence])?;
    // waits for a process that writes the store, and keeps others from writing it
    let mut printer = EventPrinter::new(args.quiet);
    let store = open_store_or_read(&evidence, &mut |event| printer.print(event))?;
    let mut progress = StageProgress::new("rows exported", 0, args.quiet);
    let exported = store.export(&args.output, &mut |now: ExportProgress| {
        progress.set_total(now.total as usize);
        progress.show(now.done as usize, now.table.to_owned());
    });
    progress.end();
    for table in exported.context("no file was exported")? {
        print(&format_args!(
            "{}: {} rows\n",
            args.output.join(table.name()).display(),
            table.rows
        ))?;
    }
    Ok(0)
}
