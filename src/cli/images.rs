//! `images`, `extract`, `read` and `merge`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::files::{default_store, default_topics, write_whole};
use super::progress::Printer;
use super::texts::{base, effort, print_all_verified, print_collection, print_verified};
use super::{
    CollectionArgs, ExtractArgs, ImagesArgs, KeptArgs, MergeArgs, ReadArgs, say, topic_parts,
};
use crate::collection::images::{ImageCollection, bytes_of};
use crate::collection::read_topics;
use crate::evidence::Channel;
use crate::evidence::extract::{Shard, Summary};
use crate::evidence::ocr::backend;
use crate::evidence::picture;
use crate::evidence::store::Store;
use crate::task::approach::ImageApproach;
use crate::task::extraction::{self, Choice, Extraction, extent};
use crate::task::image_run::{self, ArgumentSource, ImageRequest, check_arguments};
use crate::task::images::Settings;
use crate::task::{default_tag, models};
use crate::trec::{FaultKind, explained, run};
use crate::weights::{Models, Role};

/// Faults that are named without `--verbose`.
const NAMED_FAULTS: usize = 10;

/// `riposte images`: retrieves images and writes run.txt. Returns the exit code.
pub fn images(args: &ImagesArgs) -> Result<u8> {
    let own = &args.collection;
    let approach = ImageApproach::find(&args.approach)?;
    let collection = open(own)?;
    let topics_file = match &args.topics {
        Some(file) => file.clone(),
        None => default_topics(&own.input),
    };
    let topics = read_topics(&topics_file)?;
    let tag = args.tag.clone();
    let settings = Settings {
        tag: tag.unwrap_or_else(|| default_tag(&approach.name)),
        approach,
        parts: topic_parts(&args.parts),
        overlap: args.overlap,
    };
    let mut printer = Printer::new(own.quiet);
    let effort = effort(own.threads)?;
    // an error in the arguments should not appear after a night of extraction
    let arguments = match &args.arguments {
        Some(file) => {
            check_arguments(&settings)?;
            let kept = KeptArgs {
                index: None,
                threads: own.threads,
                quiet: own.quiet,
                verbose: own.verbose,
            };
            let base = base(file, &kept)?;
            let on_event = &mut |event| printer.print(event);
            let arguments = ArgumentSource::open(file, &base, effort, on_event)?;
            if own.verbose {
                print_all_verified(&arguments.indexes);
            }
            print_collection(&arguments.indexes, own.quiet, own.verbose);
            Some(arguments)
        }
        None => None,
    };
    let mut extraction = prepare(own, &mut printer)?;
    let stop = watch_for_interrupt()?;
    std::fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot make the output directory {}", args.output.display()))?;
    let request = ImageRequest {
        collection: &collection,
        topics: &topics,
        settings: &settings,
        arguments: arguments.as_ref(),
        limit: own.limit,
        threads: own.threads,
        effort,
        stop: &stop,
    };
    let done = image_run::run(&mut extraction, request, &mut |event| printer.print(event))?;

    if own.verbose {
        print_verified(done.verified);
    }
    for note in &done.ranking.notes {
        eprintln!("note: {note}");
    }
    let run_file = args.output.join("run.txt");
    write_whole(
        &run_file,
        run::write_images(&done.ranking.lines)?.as_bytes(),
    )?;
    if let Some(path) = &args.explain {
        write_whole(path, &explained::write(&done.ranking.explained)?)?;
    }
    if !own.quiet {
        let stages = [("index", done.index_seconds), ("rank", done.rank_seconds)];
        print_table(&extraction, &done.summary, &stages)?;
        eprintln!(
            "{} lines for {} topics in {}",
            done.ranking.lines.len(),
            topics.len(),
            run_file.display()
        );
    }
    Ok(print_faults(own, &done.summary))
}

/// `riposte extract`: computes the evidence and no run. Returns the exit code.
pub fn extract(args: &ExtractArgs) -> Result<u8> {
    let own = &args.collection;
    let collection = open(own)?;
    let mut printer = Printer::new(own.quiet);
    let mut extraction = prepare(own, &mut printer)?;
    let stop = watch_for_interrupt()?;
    let extent = extent(args.shard.unwrap_or(Shard::WHOLE), own.limit, own.threads);
    let on_event = &mut |event| printer.print(event);
    let summary = extraction.extract(&collection, extent, &stop, on_event)?;
    if summary.stopped {
        bail!("stopped before the end: the same command goes on where it was");
    }
    if !own.quiet {
        print_table(&extraction, &summary, &[])?;
        eprintln!("evidence in {}", extraction.store.path().display());
    }
    Ok(print_faults(own, &summary))
}

/// `riposte read`: prints the text in image files. Returns the exit code: 1 if one of them cannot be decoded.
pub fn read(args: &ReadArgs) -> Result<u8> {
    let models = Models::at(args.models.as_deref())?;
    let reader = match models::find(&models, Role::Ocr, args.ocr.as_deref())? {
        Ok(model) => models::load_ocr(&model, args.numeric.mode())?,
        Err(why) => bail!("{why}"),
    };
    eprintln!("ocr: {}", backend::describe(reader.backends()));
    let mut code = 0;
    for path in &args.images {
        let image = bytes_of(path)
            .map_err(anyhow::Error::msg)
            .and_then(|bytes| picture::decode(&bytes));
        let image = match image {
            Ok(image) => image.image,
            Err(error) => {
                eprintln!("{}: {error:#}", path.display());
                code = 1;
                continue;
            }
        };
        let start = Instant::now();
        let lines = reader
            .read(&image)
            .with_context(|| format!("cannot read the text in {}", path.display()))?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let lines: Vec<_> = lines
            .iter()
            .map(|l| json!({"text": l.text, "confidence": l.confidence, "corners": l.corners}))
            .collect();
        let line = json!({"path": path, "ms": ms, "lines": lines});
        say(&format_args!("{line}\n"))?;
    }
    Ok(code)
}

/// `riposte merge`: copies the evidence of shards into one store.
pub fn merge(args: &MergeArgs) -> Result<u8> {
    let mut store = Store::open(&args.into)?;
    for shard in &args.shards {
        let documents = extraction::merge(&mut store, shard)?;
        say(&format_args!(
            "{}: {documents} documents\n",
            shard.display()
        ))?;
    }
    Ok(0)
}

fn open(args: &CollectionArgs) -> Result<ImageCollection> {
    let collection = ImageCollection::open(&args.input)?;
    if collection.entries().is_empty() {
        bail!("{} holds no image", args.input.join("images").display());
    }
    Ok(collection)
}

fn prepare(args: &CollectionArgs, printer: &mut Printer) -> Result<Extraction> {
    let choice = Choice {
        ocr: args.ocr.as_deref(),
        clip: args.clip.as_deref(),
        required: &args.require,
        numeric: args.numeric.mode(),
    };
    let evidence = || match &args.evidence {
        Some(file) => Ok(file.clone()),
        None => default_store(&args.input, "--evidence"),
    };
    let models = Models::at(args.models.as_deref())?;
    Extraction::prepare(models, choice, &evidence, &mut |event| printer.print(event))
}

/// A flag that ^C sets. A second ^C ends the process at once.
fn watch_for_interrupt() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let interrupted = stop.clone();
    ctrlc::set_handler(move || {
        if interrupted.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nstopping after the images, or the topic, at work; again to stop at once (nothing that is stored is lost)");
    })
    .context("cannot watch for ^C")?;
    Ok(stop)
}

/// Prints the number of images, the state of each channel, and the seconds of each stage.
fn print_table(
    extraction: &Extraction,
    summary: &Summary,
    more_stages: &[(&'static str, f64)],
) -> Result<()> {
    eprintln!(
        "{} images, {} of them new or changed",
        summary.documents, summary.computed
    );
    for channel in Channel::ALL {
        let count = summary.channels.get(&channel).copied().unwrap_or(0);
        let state = match (extraction.tools().has(channel), count) {
            (true, _) => "on",
            (false, 0) => "off",
            (false, _) => "kept",
        };
        let why = extraction.model_of(channel);
        let backend = match channel {
            Channel::Ocr => extraction.ocr_backend()?,
            _ => String::new(),
        };
        eprintln!(
            "  {:<9} {state:<5} {count:>6} images  {why}{backend}",
            channel.word()
        );
    }
    let elements: Vec<String> = extraction
        .store
        .elements()?
        .iter()
        .map(|(found, count, named)| {
            let how = match found.as_str() {
                "xpath" => "by XPath",
                "url" => "by URL",
                _ => "not found",
            };
            format!("{how} {count} ({named} name the image)")
        })
        .collect();
    eprintln!("  images' elements in pages: {}", elements.join(", "));
    let stages: Vec<String> = summary
        .seconds
        .iter()
        .chain(more_stages)
        .filter(|(_, seconds)| *seconds >= 0.05)
        .map(|(stage, seconds)| format!("{stage} {seconds:.1}"))
        .collect();
    eprintln!("  thread-seconds: {}", stages.join(", "));
    if summary.computed > 0 {
        eprintln!(
            "  workers were busy {:.0}% of the time",
            100.0 * summary.busy
        );
    }
    Ok(())
}

/// Prints the number of faults by kind and names them; without `verbose`, only the first few. Returns the exit code.
fn print_faults(args: &CollectionArgs, summary: &Summary) -> u8 {
    if summary.faults.is_empty() {
        return 0;
    }
    let mut kinds: BTreeMap<FaultKind, usize> = BTreeMap::new();
    for fault in &summary.faults {
        *kinds.entry(fault.kind).or_default() += 1;
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, n)| format!("{} {n}", kind.word()))
        .collect();
    eprintln!("{} faults: {}", summary.faults.len(), kinds.join(", "));
    let named = if args.verbose {
        summary.faults.len()
    } else {
        NAMED_FAULTS
    };
    for fault in summary.faults.iter().take(named) {
        eprintln!("  {fault}");
    }
    if summary.faults.len() > named {
        eprintln!("  … (-v names them all)");
    }
    1
}
