//! `index`: builds the index of a collection or brings it up to date, describes it, or checks its files.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::files::default_store;
use super::progress::Printer;
use super::texts::{base, effort, print_all_verified, print_collection, print_verified};
use super::{IndexArgs, Task, say};
use crate::evidence::store::Store;
use crate::index::corpus::{self, Corpus, Kind, Report};
use crate::task::image_run::{index_directory, open_index};
use crate::task::text_approach::TextApproach;
use crate::task::text_indexes::{TextIndexes, directories, open_collection, task_of};
use crate::trec::TextTask;

/// `riposte index`.
pub fn index(args: &IndexArgs) -> Result<u8> {
    match task(args)? {
        Task::Images => of_images(args),
        Task::Controversial => of_texts(args, TextTask::Controversial),
        Task::Comparative => of_texts(args, TextTask::Comparative),
    }
}

/// The task that was asked for, or the one to which the collection belongs.
fn task(args: &IndexArgs) -> Result<Task> {
    if let Some(task) = args.task {
        return Ok(task);
    }
    if args.input.join("images").is_dir() {
        return Ok(Task::Images);
    }
    let of_texts = task_of(&args.input).map(|task| match task {
        TextTask::Controversial => Task::Controversial,
        TextTask::Comparative => Task::Comparative,
    });
    of_texts.with_context(|| {
        format!(
            "{} holds neither images/, nor args-me.json, a portal's file or passages.jsonl: --task says what to look for",
            args.input.display()
        )
    })
}

fn of_texts(args: &IndexArgs, task: TextTask) -> Result<u8> {
    ensure!(
        args.evidence.is_none(),
        "--evidence is for images: the index of a text collection is made from its files"
    );
    let kept = &args.kept;
    let approach = TextApproach::find(task, &args.approach)?;
    let collection = open_collection(task, &args.input)?;
    let base = base(&args.input, kept)?;
    if args.check {
        return check(&directories(&collection, &base, &approach));
    }
    let effort = effort(kept.threads)?;
    let mut printer = Printer::new(kept.quiet);
    let on_event = &mut |event| printer.print(event);
    let indexes = TextIndexes::open(
        &collection,
        &base,
        &approach,
        effort,
        args.rebuild,
        on_event,
    )?;
    if kept.verbose {
        print_all_verified(&indexes);
    }
    let code = print_collection(&indexes, true, kept.verbose);
    describe(indexes.all(), args.json)?;
    Ok(code)
}

fn of_images(args: &IndexArgs) -> Result<u8> {
    ensure!(
        args.kept.index.is_none(),
        "--index is for texts: the index of images is kept beside their evidence, and --evidence says where that is"
    );
    let evidence = match &args.evidence {
        Some(file) => file.clone(),
        None => default_store(&args.input, "--evidence")?,
    };
    ensure!(
        evidence.is_file(),
        "there is no evidence of these images in {}: `riposte extract` computes it",
        evidence.display()
    );
    let dir = index_directory(&evidence);
    if args.check {
        return check(&[dir]);
    }
    let mut store = Store::open(&evidence)?;
    if args.rebuild {
        corpus::remove(&dir)?;
    }
    let effort = effort(args.kept.threads)?;
    let mut printer = Printer::new(args.kept.quiet);
    let (corpus, updated) = open_index(&mut store, effort, &mut |event| printer.print(event))?;
    if args.kept.verbose {
        print_verified(corpus.verified());
    }
    if !args.kept.quiet {
        eprintln!(
            "{} documents added or changed, {} removed",
            updated.added, updated.removed
        );
    }
    describe(&[corpus], args.json)?;
    Ok(0)
}

/// Compares all files of the indexes with their checksums, the stored texts included.
fn check(directories: &[PathBuf]) -> Result<u8> {
    for directory in directories {
        let verified = Corpus::check(directory)?;
        say(&format_args!(
            "{}: {} files, {:.1} MB, all as they were written\n",
            directory.display(),
            verified.files,
            verified.bytes as f64 / 1e6
        ))?;
    }
    Ok(0)
}

fn describe(indices: &[Corpus], json: bool) -> Result<()> {
    for corpus in indices {
        let report = corpus.report()?;
        if json {
            say(&format_args!("{}\n", serde_json::to_string(&report)?))?;
        } else {
            say(&table(&report))?;
        }
    }
    Ok(())
}

fn table(report: &Report) -> String {
    let Report {
        directory,
        kind,
        documents,
        deleted,
        short,
        duplicates,
        repeated_ids,
        faults,
        fields,
        analyzer,
        segments,
        bytes,
        fingerprint,
    } = report;
    let name = match kind {
        Kind::Images => "images",
        Kind::Arguments => "arguments",
        Kind::Passages => "passages",
    };
    let mut lines = vec![
        format!("{documents} {name} in {}", directory.display()),
        format!("  analyzer     {analyzer}"),
        format!(
            "  size         {:.1} MB in {segments} segments",
            *bytes as f64 / 1e6
        ),
        format!("  fingerprint  {fingerprint}"),
    ];
    let counted = [
        (u64::from(*deleted), "deleted, and still taking space"),
        (*short, "short: fewer than 20 words"),
        (*duplicates, "duplicates: the words of another"),
        (*repeated_ids, "left out because their id was there already"),
        (*faults, "left out because they are broken"),
    ];
    for (count, what) in counted.into_iter().filter(|(count, _)| *count > 0) {
        lines.push(format!("  {count} {what}"));
    }
    lines.push(format!(
        "  {:<12} {:>14} {:>12}",
        "field", "terms", "mean length"
    ));
    for field in fields {
        lines.push(format!(
            "  {:<12} {:>14} {:>12.1}",
            field.name, field.tokens, field.mean_length
        ));
    }
    lines.join("\n") + "\n"
}
