//! `index`: builds or updates the index of a collection and describes it, or verifies its files.

use anyhow::Result;
use serde_json::json;

use super::progress::EventPrinter;
use super::text_args::IndexArgs;
use super::texts::print_all_verified;
use super::{print, print_json, shown};
use riposte::index::inverted::{IndexReport, InvertedIndex};
use riposte::ingest::index;
use riposte::ingest::index::{IndexSettings, Indexed, IndexedVectors};
use riposte::session::CollectionSource;

/// `riposte index`.
pub fn index(args: &IndexArgs) -> Result<u8> {
    let indexing = &args.indexing;
    let places = indexing.places(args.evidence.as_ref());
    let session = args.models.session(places, indexing.threads)?;
    // a wrong number of threads is an error before anything is read
    session.indexing_budget()?;
    let settings = IndexSettings {
        task: args.task,
        source: CollectionSource {
            rehash: args.rehash,
            ..CollectionSource::new(session, &args.input)
        },
        approach: args.approach.clone(),
        set: args.set.settings(),
        rebuild: args.rebuild,
    };
    args.faults.check(&[&args.input])?;
    let log = args.faults.log(None, indexing.verbose);
    let mut printer = EventPrinter::new(indexing.quiet, log);
    let on_event = &mut |event| printer.print(event);
    if args.check {
        for (place, content) in index::check(&settings, on_event)? {
            print(&format_args!("{}: {content}, no damage\n", shown(&place)))?;
        }
        return Ok(0);
    }
    match index::index(&settings, on_event)? {
        Indexed::Images { index, updated, .. } => {
            if indexing.verbose {
                super::texts::print_verified(index.verified);
            }
            if indexing.quiet.is_none() {
                say!(
                    "{} documents added or changed, {} removed",
                    updated.added,
                    updated.removed
                );
            }
            describe(std::slice::from_ref(&*index), args.json)?;
            Ok(0)
        }
        Indexed::Texts { indexes, vectors } => {
            if indexing.verbose {
                print_all_verified(&indexes);
            }
            describe(indexes.all(), args.json)?;
            if let Some(vectors) = vectors {
                print_vectors(&vectors, args.json)?;
            }
            printer.finish()
        }
    }
}

fn print_vectors(vectors: &IndexedVectors, json: bool) -> Result<()> {
    let (file, passages, made_by) = (&vectors.file, vectors.passages, &vectors.made_by);
    if json {
        return print_json(&json!({"vectors": file, "passages": passages, "made_by": made_by}));
    }
    let file = shown(file);
    print(&format_args!(
        "{passages} sentence vectors in {file}\n  made by      {made_by}\n"
    ))
}

fn describe(indexes: &[InvertedIndex], json: bool) -> Result<()> {
    for index in indexes {
        let report = index.report()?;
        if json {
            print_json(&report)?;
        } else {
            print(&table(&report))?;
        }
    }
    Ok(())
}

fn table(report: &IndexReport) -> String {
    let (kind, directory) = (report.kind, shown(&report.directory));
    let size = report.bytes as f64 / 1e6;
    let mut lines = vec![
        format!("{} {kind} in {directory}", report.documents),
        format!("  analyzer     {}", report.analyzer),
        format!(
            "  size         {size:.1} MB in {} segments",
            report.segments
        ),
        format!("  fingerprint  {}", report.fingerprint),
    ];
    let counted = [
        (u64::from(report.deleted), "deleted, but still on disk"),
        (report.short, "short: fewer than 20 words"),
        (report.duplicates, "duplicates: the same words as another"),
        (
            report.repeated_ids,
            "left out because their ids are repeated",
        ),
        (report.faults, "left out because they are faulty"),
    ];
    for (count, what) in counted.into_iter().filter(|(count, _)| *count > 0) {
        lines.push(format!("  {count} {what}"));
    }
    lines.push(format!(
        "  {:<13} {:>13} {:>12}",
        "field", "terms", "mean length"
    ));
    for of in &report.fields {
        // as channels are named: "bm25 given caption" searches the caption that the collection gives
        let name = of.name.replace('_', " ");
        let (tokens, length) = (of.tokens, of.mean_length);
        lines.push(format!("  {name:<13} {tokens:>13} {length:>12.1}"));
    }
    lines.join("\n") + "\n"
}
