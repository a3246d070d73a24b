//! `index`: builds or updates the index of a collection and describes it, or verifies its files.

use anyhow::Result;
use serde_json::json;

use super::args::{IndexArgs, Task};
use super::print;
use super::progress::EventPrinter;
use super::texts::{print_all_verified, print_collection, print_verified};
use crate::index::inverted::{InvertedIndex, Report};
use crate::task::effort;
use crate::task::index::{self, IndexSettings, Indexed, IndexedVectors};

/// `riposte index`.
pub fn index(args: &IndexArgs) -> Result<u8> {
    let indexing = &args.indexing;
    let settings = IndexSettings {
        task: args.task.map(Task::meant),
        input: args.input.clone(),
        approach: args.approach.clone(),
        places: indexing.places(args.evidence.as_ref()),
        models: args.models.open()?,
        numeric: args.models.numeric.mode(),
        effort: effort(indexing.threads)?,
        rebuild: args.rebuild,
        rehash: args.rehash,
    };
    let mut printer = EventPrinter::new(indexing.quiet);
    let on_event = &mut |event| printer.print(event);
    if args.check {
        for (place, content) in index::check(&settings, on_event)? {
            print(&format_args!("{}: {content}, no damage\n", place.display()))?;
        }
        return Ok(0);
    }
    match index::index(&settings, on_event)? {
        Indexed::Images { index, updated, .. } => {
            if indexing.verbose {
                print_verified(index.verified());
            }
            if !indexing.quiet {
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
            let code = print_collection(&indexes, true, indexing.verbose);
            describe(indexes.all(), args.json)?;
            if let Some(vectors) = vectors {
                print_vectors(&vectors, args.json)?;
            }
            Ok(code)
        }
    }
}

fn print_vectors(vectors: &IndexedVectors, json: bool) -> Result<()> {
    let IndexedVectors {
        file,
        passages,
        made_by,
    } = vectors;
    if json {
        let object = json!({"vectors": file, "passages": passages, "made_by": made_by});
        return print(&format_args!("{object}\n"));
    }
    print(&format_args!(
        "{passages} sentence vectors in {}\n  made by      {made_by}\n",
        file.display()
    ))
}

fn describe(indexes: &[InvertedIndex], json: bool) -> Result<()> {
    for index in indexes {
        let report = index.report()?;
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
