//! `index`: the index of a collection built or brought up to date, described, and checked.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::files::default_store;
use super::progress::Counted;
use super::texts::{Indices, base, collection, effort, say_verified, task_of};
use super::{IndexArgs, Task, say};
use crate::evidence::store::Store;
use crate::index::corpus::{self, Corpus, Kind, Report};
use crate::index::images;
use crate::task::text_approach::TextApproach;
use crate::trec::TextTask;

/// `riposte index`.
pub fn index(args: &IndexArgs) -> Result<u8> {
    match task(args)? {
        Task::Images => of_images(args),
        Task::Controversial => of_texts(args, TextTask::Controversial),
        Task::Comparative => of_texts(args, TextTask::Comparative),
    }
}

/// What is asked for, or what the collection is of.
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
    if args.check {
        let kind = collection(task, &args.input)?.kind();
        let base = base(&args.input, kept)?;
        let mut places: Vec<PathBuf> = Vec::new();
        for retrieval in &approach.retrieval {
            let place = corpus::directory(&base, kind, &retrieval.analyzer);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        return check(&places);
    }
    let indices = Indices::open_or_rebuild(&args.input, task, kept, &approach, args.rebuild)?;
    let code = indices.report(true, kept.verbose);
    describe(indices.all(), args.json)?;
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
    let dir = corpus::directory(&evidence, Kind::Images, &images::analyzer());
    if args.check {
        return check(&[dir]);
    }
    let mut store = Store::open(&evidence)?;
    if args.rebuild {
        corpus::remove(&dir)?;
    }
    let mut shown = Counted::new("documents indexed", 0, args.kept.quiet);
    let effort = effort(args.kept.threads)?;
    let opened = images::open(&mut store, &dir, effort, &mut |event| shown.hear(event));
    shown.end();
    let (corpus, updated) = opened?;
    if args.kept.verbose {
        say_verified(&corpus);
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

/// Holds all files of the indices against their checksums, the stored texts too.
fn check(places: &[PathBuf]) -> Result<u8> {
    for place in places {
        let verified = Corpus::check(place)?;
        say(&format_args!(
            "{}: {} files, {:.1} MB, all as they were written\n",
            place.display(),
            verified.files,
            verified.bytes as f64 / 1e6
        ))?;
    }
    Ok(0)
}

fn describe(indices: &[Corpus], json: bool) -> Result<()> {
    for corpus in indices {
        let report = corpus.report()?;
        match json {
            true => say(&format_args!("{}\n", serde_json::to_string(&report)?))?,
            false => say(&table(&report))?,
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
