//! `images`, `extract`, `read` and `merge`.

use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use riposte_eval::{DocId, escaped};
use serde_json::{Value, json};

use super::faults::FaultLog;
use super::image_args::{ExtractArgs, ExtractionArgs, ImagesArgs, MergeArgs, ReadArgs};
use super::progress::EventPrinter;
use super::text_args::topic_parts;
use super::texts::{print_all_verified, print_collection, print_verified, print_written};
use super::{on_interrupt, print, print_json, probe, shown};
use riposte::api::picture_text::open_picture;
use riposte::api::{Approach, Collection, PictureReader};
use riposte::collection::task::Task;
use riposte::collection::{Fault, FaultKind};
use riposte::events::Event;
use riposte::evidence::Channel;
use riposte::evidence::extract::{ExtractionSummary, Shard};
use riposte::evidence::ocr::OcrLine;
use riposte::evidence::store::Store;
use riposte::files::TopicSource;
use riposte::ingest::extraction::{Extraction, ExtractionHost};
use riposte::ingest::{extraction, shards, stream};
use riposte::recipes::channels::CHANNELS;
use riposte::runs::finished::{FinishedRun, MadeRun};
use riposte::runs::images::ImageRun;
use riposte::runs::plan::Wishes;
use riposte::runs::run_files::OutputSettings;
use riposte::session::CollectionSource;

/// Size of the buffers of `extract --stream`.
const STREAM_BUFFER: usize = 1 << 16;

/// `riposte images`: retrieves images and writes a run for each approach. Returns the exit code.
pub fn images(args: &ImagesArgs) -> Result<u8> {
    let options = &args.extraction;
    // names are checked before anything is read
    let set = args.set.settings();
    let approaches = args.approach.iter();
    let approaches = approaches.map(|name| Approach::find_with(Task::Images, name, &set));
    let approaches = approaches.collect::<Result<_>>()?;
    let collection = Collection::of(Task::Images, options.source()?);
    let topics = args.topics.clone();
    let request = collection.request_all(approaches).wishes(Wishes {
        topics: topics.map_or(TopicSource::Collection, TopicSource::File),
        parts: topic_parts(&args.parts),
        debate: args.debate.is_some(),
        candidates: args.candidates.clone(),
        edition: args.edition,
        overlap: args.overlap,
        arguments: args.arguments.clone(),
        set,
        ..Wishes::default()
    });
    args.metadata.note_for_tira();
    let output = OutputSettings {
        dir: args.output.clone(),
        tag: args.tag.clone(),
        explain: args.explain.clone(),
        debate: args.debate.clone(),
        metadata: args.metadata.config(),
        faults: options.faults.file(Some(&args.output)),
    };
    let log = options.faults.log(Some(&args.output), options.verbose);
    let mut printer = EventPrinter::new(options.quiet, log);
    let on_event = &mut |event| printer.print(event);
    let plan = request.plan(Some(&output), on_event)?;
    let mut runs = Vec::new();
    with_host(|host| {
        plan.run(host, on_event, &mut |run| {
            runs.push(run);
            Ok(())
        })
    })?;
    print_runs(options, &runs)?;
    printer.finish()
}

/// Prints figures about runs.
fn print_runs(options: &ExtractionArgs, finished: &[FinishedRun]) -> Result<()> {
    let runs = finished.iter().filter_map(|run| match &run.made {
        MadeRun::Images(run) => Some(&**run),
        _ => None,
    });
    let runs: Vec<&ImageRun> = runs.collect();
    let Some(images) = runs.first().map(|run| &run.images) else {
        return Ok(());
    };
    if let Some(arguments) = &images.arguments {
        let indexes = &arguments.indexes;
        if options.verbose {
            print_all_verified(indexes);
        }
        if options.quiet.is_none() {
            print_collection(indexes);
        }
    }
    if options.verbose {
        let verified = runs.iter().map(|run| run.verified);
        verified.for_each(print_verified);
    }
    if options.quiet.is_none() {
        let stages = [
            ("index", runs.iter().map(|run| run.index_seconds).sum()),
            ("rank", runs.iter().map(|run| run.rank_seconds).sum()),
        ];
        let extracted = images.extracted();
        print_table(&extracted.extraction, &extracted.summary, &stages)?;
        drop(extracted);
        finished.iter().for_each(print_written);
    }
    Ok(())
}

/// `riposte extract`: computes the evidence without a run. Returns the exit code.
pub fn extract(args: &ExtractArgs) -> Result<u8> {
    if !args.probe.is_empty() {
        return probe::probe(args);
    }
    if args.stream {
        return stream(args);
    }
    let options = &args.extraction;
    let source = options.source()?;
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    options.faults.check(&[])?;
    let log = options.faults.log(None, options.verbose);
    let mut printer = EventPrinter::new(options.quiet, log);
    let on_event = &mut |event| printer.print(event);
    let (extraction, summary) = with_host(|host| extraction::run(&source, shard, host, on_event))?;
    if options.quiet.is_none() {
        print_table(&extraction, &summary, &[])?;
        say!("evidence in {}", shown(extraction.store.path()));
    }
    printer.finish()
}

/// `riposte extract --stream`: computes the evidence of documents from stdin. Returns the exit code.
fn stream(args: &ExtractArgs) -> Result<u8> {
    let options = &args.extraction;
    let mut printer = EventPrinter::of_notes(FaultLog::unlisted());
    let session = options.session()?;
    // not locked: after an error, this thread ends while the reading thread can still wait for a frame
    let input = BufReader::with_capacity(STREAM_BUFFER, std::io::stdin());
    let output = BufWriter::with_capacity(STREAM_BUFFER, std::io::stdout().lock());
    let on_event = &mut |event| printer.print(event);
    let faults = stream::stream(&session, args.died.as_deref(), input, output, on_event)?;
    // the faults are in the frames
    Ok(u8::from(faults > 0 && options.faults.strict))
}

/// `riposte read`: prints the text in image files. Returns the exit code, which is 2 if none can be decoded.
pub fn read(args: &ReadArgs) -> Result<u8> {
    read_by(args, &reader(args)?)
}

/// The reader that the options name.
///
/// # Errors
/// There is no such model, or it is damaged.
pub(super) fn reader(args: &ReadArgs) -> Result<PictureReader> {
    let models = args.models.open()?;
    let (name, numeric) = (args.ocr.as_deref(), args.models.numeric);
    PictureReader::with(&models, name, numeric, args.script)
}

/// The same as [`read`], by a reader that is open.
pub(super) fn read_by(args: &ReadArgs, reader: &PictureReader) -> Result<u8> {
    say!("ocr: {}", reader.describe());
    args.faults
        .check(&args.images.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let mut notes = EventPrinter::of_notes(args.faults.log(None, false));
    let mut failed = 0;
    for path in &args.images {
        let picture = match open_picture(path) {
            Ok(picture) => picture,
            Err(error) => {
                let what = format!("{:#}", error.root_cause());
                notes.print(Event::Fault(Fault::in_file(FaultKind::Image, path, what)));
                failed += 1;
                continue;
            }
        };
        let start = Instant::now();
        let read = reader.read_picture(path, &picture)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let text = read.text();
        if args.text {
            if args.images.len() > 1 {
                print(&format_args!("{}:\n", escaped(&path.to_string_lossy())))?;
            }
            print(&format_args!("{text}\n\n"))?;
            continue;
        }
        let line = |of: &OcrLine| {
            json!({
                "text": of.text,
                "confidence": of.confidence,
                "corners": of.corners,
                "block": of.block,
            })
        };
        let lines: Vec<Value> = read.lines.iter().map(line).collect();
        print_json(&json!({"path": path, "ms": ms, "lines": lines, "text": text}))?;
    }
    let code = notes.finish()?;
    Ok(if failed == args.images.len() { 2 } else { code })
}

/// `riposte merge`: copies the evidence of shards into one store, or the shards of an index from Parquet files into a directory.
pub fn merge(args: &MergeArgs) -> Result<u8> {
    if let [packed] = args.shards.as_slice()
        && shards::is_packed(packed)
    {
        let unpacked = shards::unpack(packed, &args.into)?;
        let (shards, task) = (unpacked.shards, unpacked.task.word());
        let (packed, size) = (packed.to_string_lossy(), unpacked.bytes as f64 / 1e6);
        let packed = escaped(&packed);
        print(&format_args!(
            "{packed}: {shards} shards for {task}, {size:.1} MB\n"
        ))?;
        return Ok(0);
    }
    let into = args.into.canonicalize().ok();
    let is_itself = |shard: &&PathBuf| into.is_some() && shard.canonicalize().ok() == into;
    if let Some(shard) = args.shards.iter().find(is_itself) {
        bail!("{} cannot be merged into itself", shard.display());
    }
    args.faults
        .check(&args.shards.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let mut printer = EventPrinter::of_notes(args.faults.log(None, false));
    let mut store =
        extraction::open_store(&args.into, Store::open, &mut |event| printer.print(event))?;
    let mut found_any = false;
    for shard in &args.shards {
        let merged = extraction::merge(&mut store, shard)?;
        found_any |= merged.found > 0;
        let (name, count) = (shard.to_string_lossy(), merged.documents);
        print(&format_args!("{}: {count} documents\n", escaped(&name)))?;
        if merged.is_damaged {
            let what = format!(
                "it is damaged: evidence of {} or more documents could not be read; `riposte extract` computes it again",
                merged.lost
            );
            let fault = Fault::in_file(FaultKind::Evidence, shard, what);
            printer.print(Event::Fault(fault));
        }
    }
    ensure!(found_any, "nothing to merge: no shard contains a document");
    printer.finish()
}

/// Runs a task, which Ctrl-C stops and which can try documents in separate processes of this program. A second Ctrl-C ends the process at once.
pub(super) fn with_host<T>(run: impl FnOnce(&ExtractionHost) -> Result<T>) -> Result<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let watch = || {
        on_interrupt(&stop, || {
            say!(
                "\nfinishing the current images or topics; press Ctrl-C again to stop at once (stored results are not lost)"
            );
        })
    };
    let try_apart = |source: &CollectionSource, evidence: &Path, documents: &[DocId]| {
        probe::try_apart(source, evidence, documents, &stop)
    };
    run(&ExtractionHost {
        watch: &watch,
        stop: &stop,
        try_apart: &try_apart,
    })
}

/// Prints the number of images, the state of each channel, and the seconds that each stage took.
fn print_table(
    extraction: &Extraction,
    summary: &ExtractionSummary,
    ranking_stages: &[(&'static str, f64)],
) -> Result<()> {
    let (documents, computed) = (summary.documents, summary.computed);
    say!("{documents} images, {computed} of them new or changed");
    if summary.copied > 0 {
        let copied = summary.copied;
        say!("  {copied} of these have the pixels of another image, which was read once");
    }
    let count = |name: &str| summary.channels.get(name).copied().unwrap_or(0);
    let shown = CHANNELS.iter().filter(|channel| {
        let name = channel.name();
        !channel.only_if_named() || extraction.tools.has(name) || count(name) > 0
    });
    let shown: Vec<&&dyn Channel> = shown.collect();
    let widest = shown.iter().map(|channel| channel.name().len()).max();
    let width = widest.unwrap_or(0) + 1;
    for channel in shown {
        let name = channel.name();
        let count = count(name);
        let state = match (extraction.tools.has(name), count) {
            (true, _) => "on",
            (false, 0) => "off",
            (false, _) => "stored",
        };
        let model = extraction.model_status(name);
        let backend = extraction.backend(*channel)?;
        let line = format!("  {name:<width$} {state:<6} {count:>6} images  {model}{backend}");
        say!("{}", line.trim_end());
    }
    let elements = extraction.store.elements()?;
    let elements = elements.iter().map(|(found, count, naming)| {
        let how = match found.as_str() {
            "xpath" => "found by XPath",
            "url" => "found by URL",
            _ => "not found",
        };
        format!("{count} {how} ({naming} have its URL)")
    });
    let elements: Vec<String> = elements.collect();
    say!("  elements of images in pages: {}", elements.join(", "));
    let stages = summary.seconds.iter().chain(ranking_stages);
    let stages: Vec<String> = stages
        .filter(|(_, seconds)| *seconds >= 0.05)
        .map(|(stage, seconds)| format!("{stage} {seconds:.1}"))
        .collect();
    if !stages.is_empty() {
        say!("  thread-seconds: {}", stages.join(", "));
    }
    if computed > 0 {
        let busy = 100.0 * summary.busy;
        say!("  workers were busy {busy:.0}% of the time");
    }
    Ok(())
}
