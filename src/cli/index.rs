//! `index`: builds or updates the index of a collection and describes it, or verifies its files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::args::IndexArgs;
use super::files::evidence_store;
use super::progress::EventPrinter;
use super::texts::{effort, index_base, print_all_verified, print_collection, print_verified};
use super::{print, task_of};
use crate::index::corpus::{self, Corpus, Report};
use crate::index::dense::{Vectors, Wanted};
use crate::index::images;
use crate::task::extraction::open_store;
use crate::task::image_index;
use crate::task::text_approach::TextApproach;
use crate::task::text_indexes::{TextIndexes, directories, open_collection, shards_of};
use crate::task::text_run::ensure_documents;
use crate::task::texts::dense;
use crate::task::{Event, models};
use crate::trec::TextTask;
use crate::weights::Role;

/// `riposte index`.
pub fn index(args: &IndexArgs) -> Result<u8> {
    match task_of(args.task, &args.input)?.text() {
        None => index_images(args),
        Some(task) => index_texts(args, task),
    }
}

fn index_texts(args: &IndexArgs, task: TextTask) -> Result<u8> {
    ensure!(
        args.evidence.is_none(),
        "--evidence is for images: the index of a text collection does not depend on it"
    );
    let indexing = &args.indexing;
    let approach = TextApproach::find(task, &args.approach)?;
    ensure!(
        approach.service.is_none(),
        "the approach {} asks a service: it has no index",
        approach.name
    );
    let collection = open_collection(task, &args.input)?;
    let base = index_base(&args.input, indexing.index.as_deref(), &indexing.cache)?;
    let encoder = match &approach.dense {
        Some(dense) => {
            let models = args.models.open()?;
            let model = models::find(&models, Role::Sentence, None)?;
            model.map(|model| {
                let model = models::sentences(&model, args.models.numeric.mode());
                let wanted = dense::wanted(dense, model.producer());
                (model, wanted)
            })
        }
        None => Err(String::new()),
    };
    if args.check {
        check(&directories(&collection, &base, &approach))?;
        if let Ok((_, wanted)) = &encoder {
            check_vectors(&base, wanted)?;
        }
        return Ok(0);
    }
    if args.rehash {
        corpus::forget_hashes(&base)?;
    }
    let effort = effort(indexing.threads)?;
    let mut printer = EventPrinter::new(indexing.quiet);
    let on_event = &mut |event| printer.print(event);
    let indexes = TextIndexes::open(
        &collection,
        &base,
        &approach,
        effort,
        args.rebuild,
        on_event,
    )?;
    if indexing.verbose {
        print_all_verified(&indexes);
    }
    let code = print_collection(&indexes, true, indexing.verbose);
    if let Some(corpus) = indexes.first() {
        ensure_documents(corpus, &args.input).context("nothing to index")?;
    }
    describe(indexes.all(), args.json)?;
    match (encoder, indexes.first()) {
        (Ok((model, wanted)), Some(corpus)) => {
            let on_event = &mut |event| printer.print(event);
            let shards = shards_of(&collection);
            let vectors =
                dense::open_files(corpus, &wanted, &base, &shards, Some(&model), on_event)?;
            let passages = vectors.map_or(0, |vectors| vectors.len());
            if args.json {
                print(&format_args!(
                    "{}\n",
                    json!({"vectors": base, "passages": passages, "made_by": wanted.to_string()})
                ))?;
            } else {
                print(&format_args!(
                    "{passages} sentence vectors in {}\n  made by      {wanted}\n",
                    base.display()
                ))?;
            }
        }
        (Err(why), _) if approach.dense.is_some() => {
            printer.print(Event::Note(format!(
                "the sentence vectors of {} are not computed: {why}",
                approach.name
            )));
        }
        _ => {}
    }
    Ok(code)
}

/// Compares the stored sentence vectors with their checksums.
fn check_vectors(file: &Path, wanted: &Wanted) -> Result<()> {
    if !file.exists() {
        return Ok(());
    }
    let documents = Vectors::check(file, wanted)?;
    print(&format_args!(
        "{}: sentence vectors of {documents} documents, no damage\n",
        file.display()
    ))
}

fn index_images(args: &IndexArgs) -> Result<u8> {
    ensure!(
        args.indexing.index.is_none(),
        "--index is for texts: the index of images is stored beside the file that --evidence names"
    );
    let evidence = evidence_store(args.evidence.as_deref(), &args.input, &args.indexing.cache)?;
    ensure!(
        evidence.is_file(),
        "there is no evidence store {}: run `riposte extract` to compute the evidence",
        evidence.display()
    );
    let analyzer = images::analyzer();
    let dir = image_index::directory(&evidence, &analyzer);
    if args.check {
        return check(&[dir]);
    }
    let effort = effort(args.indexing.threads)?;
    let mut printer = EventPrinter::new(args.indexing.quiet);
    let mut store = open_store(&evidence, &mut |event| printer.print(event))?;
    if args.rebuild {
        corpus::remove(&dir)?;
    }
    let (corpus, updated, _temporary) =
        image_index::open(&mut store, &analyzer, effort, &mut |event| {
            printer.print(event)
        })?;
    if args.indexing.verbose {
        print_verified(corpus.verified());
    }
    if !args.indexing.quiet {
        say!(
            "{} documents added or changed, {} removed",
            updated.added,
            updated.removed
        );
    }
    ensure!(
        corpus.documents() > 0,
        "nothing to index: there is no document in {}",
        evidence.display()
    );
    describe(&[corpus], args.json)?;
    Ok(0)
}

/// Compares all index files and stored texts with their checksums.
fn check(directories: &[PathBuf]) -> Result<u8> {
    for directory in directories {
        let verified = Corpus::check(directory)?;
        print(&format_args!(
            "{}: {} files, {:.1} MB, no damage\n",
            directory.display(),
            verified.files,
            verified.bytes as f64 / 1e6
        ))?;
    }
    Ok(0)
}

fn describe(indexes: &[Corpus], json: bool) -> Result<()> {
    for corpus in indexes {
        let report = corpus.report()?;
        if json {
            print(&format_args!("{}\n", serde_json::to_string(&report)?))?;
        } else {
            print(&table(&report))?;
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
    let mut lines = vec![
        format!("{documents} {} in {}", kind.word(), directory.display()),
        format!("  analyzer     {analyzer}"),
        format!(
            "  size         {:.1} MB in {segments} segments",
            *bytes as f64 / 1e6
        ),
        format!("  fingerprint  {fingerprint}"),
    ];
    let counted = [
        (u64::from(*deleted), "deleted, but still on disk"),
        (*short, "short: fewer than 20 words"),
        (*duplicates, "duplicates: the same words as another"),
        (*repeated_ids, "left out because their ids are repeated"),
        (*faults, "left out because they are faulty"),
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
