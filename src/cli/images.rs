//! `images`, `extract`, `read` and `merge`.

use std::collections::BTreeMap;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use super::args::{ExtractArgs, ExtractionArgs, ImagesArgs, MergeArgs, ReadArgs};
use super::edition::{Asked, approaches, edition_of};
use super::files::{evidence_store, write_atomically};
use super::metadata;
use super::probe;
use super::progress::EventPrinter;
use super::texts::{
    check_run_outputs, effort, index_base, print_all_verified, print_collection, print_verified,
    run_places,
};
use super::{print, terminal, topic_parts};
use crate::collection::images::{ImageCollection, bytes_of};
use crate::disk;
use crate::evidence::Channel;
use crate::evidence::extract::{Shard, Summary};
use crate::evidence::ocr::{self, backend};
use crate::evidence::picture;
use crate::evidence::store::Merged;
use crate::index::corpus::Effort;
use crate::task::approach::ImageApproach;
use crate::task::arguments::ArgumentSource;
use crate::task::debate;
use crate::task::extraction::{self, Extraction, ExtractionOptions, extent};
use crate::task::image_run::{self, ImageRequest, uses_arguments};
use crate::task::images::{ImageRanking, Settings};
use crate::task::metadata::Description;
use crate::task::models;
use crate::task::shards::{self, Unpacked};
use crate::task::stream::{self, StreamRequest};
use crate::task::text_run::ensure_documents;
use crate::trec::edition::Edition;
use crate::trec::run::{self, AnswerLine, ImageRunLine};
use crate::trec::{FaultKind, debate as sheets, escaped, explained};
use crate::weights::Role;

/// Size of the buffers of `extract --stream`.
const STREAM_BUFFER: usize = 1 << 16;

/// Number of faults that are listed without `--verbose`.
const LISTED_FAULTS: usize = 10;

/// `riposte images`: retrieves images and writes a run for each approach. Returns the exit code.
pub fn images(args: &ImagesArgs) -> Result<u8> {
    let options = &args.extraction;
    // names are checked before anything is read
    let named = args.approach.iter().map(|name| ImageApproach::find(name));
    let named = named.collect::<Result<Vec<_>>>()?;
    let mut collection = open_or_stored(options)?;
    let mut asked = Asked::read(args)?;
    let edition = edition_of(args.edition, &asked.topics);
    let found = approaches(edition, named)?;
    let of_stances = [
        ("--overlap", args.overlap),
        ("--debate", args.debate.is_some()),
    ];
    for (option, is_given) in of_stances {
        ensure!(
            !is_given || edition.has_stances(),
            "{option} is for lists for and against a claim (--edition {})",
            Edition::years_with_stances()
        );
    }
    let names: Vec<&str> = found.iter().map(|approach| &*approach.name).collect();
    let places = run_places(&args.output, &names, args.tag.as_deref())?;
    let read: Vec<&Path> = [&args.topics, &args.candidates]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    let config = metadata::config(&args.metadata);
    let files = metadata::files(edition.run_file(), config.as_ref());
    let more = [("--explain", &args.explain), ("--debate", &args.debate)];
    let more = more
        .iter()
        .filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    let run_files = check_run_outputs(&places, &files, &more.collect::<Vec<_>>(), &read)?;
    asked.restrict(&mut collection)?;
    let Asked {
        topics,
        candidates,
        has_faults,
    } = asked;
    let candidates = candidates.map(Arc::new);
    let tags = places.into_iter().map(|place| place.tag);
    let runs: Vec<Settings> = found
        .into_iter()
        .zip(tags)
        .map(|(approach, tag)| Settings {
            tag,
            approach,
            parts: topic_parts(&args.parts),
            overlap: args.overlap,
            claim_length: edition.length as usize,
            candidates: candidates.clone(),
        })
        .collect();
    let mut printer = EventPrinter::new(options.quiet);
    let effort = effort(options.threads)?;
    // opened before the extraction, which can take hours, so that errors are found early
    let mut code = u8::from(has_faults);
    let mut arguments = None;
    if let Some(file) = &args.arguments {
        for run in runs.iter().filter(|run| !uses_arguments(run)) {
            ensure!(
                args.debate.is_some(),
                "the approach {} does not use --arguments",
                run.approach.name
            );
        }
        let (opened, faulty) = open_arguments(file, options, effort, &mut printer)?;
        code = code.max(faulty);
        arguments = Some(opened);
    }
    let mut extraction = prepare(options, &mut printer)?;
    let stop = watch_for_interrupt()?;
    try_suspects(&mut extraction, &collection, options, &stop, &mut printer)?;
    let request = ImageRequest {
        collection: &collection,
        topics: &topics,
        runs: &runs,
        arguments: arguments.as_ref(),
        debate: args.debate.is_some().then_some(debate::PER_SIDE),
        limit: options.limit,
        threads: options.threads,
        rehash: options.rehash,
        effort,
        stop: &stop,
    };
    let done = image_run::run(&mut extraction, request, &mut |event| printer.print(event))?;

    let (mut index_seconds, mut rank_seconds) = (0.0, 0.0);
    for ((run, settings), file) in done.runs.iter().zip(&runs).zip(&run_files) {
        if options.verbose {
            print_verified(run.verified);
        }
        for note in &run.ranking.notes {
            say!("note: {}", escaped(note));
        }
        if run.ranking.lines.is_empty() {
            say!("note: no image is relevant to a topic: the run is empty");
        }
        let written = if edition.has_stances() {
            run::write_images(&run.ranking.lines)?
        } else {
            run::write_answers(&answers(&run.ranking, edition))?
        };
        write_atomically(file, written.as_bytes())?;
        if let Some(config) = &config {
            let description = Description {
                documents: done.summary.documents,
                topics: topics.len(),
                models: extraction.producers()?,
                ..describe(args, settings, edition)
            };
            metadata::write(disk::parent(file), config, &description)?;
        }
        if let Some(path) = &args.explain {
            write_atomically(path, &explained::write(&run.ranking.explained)?)?;
        }
        if let Some(path) = &args.debate {
            write_atomically(path, &sheets::write(&run.sheets)?)?;
        }
        index_seconds += run.index_seconds;
        rank_seconds += run.rank_seconds;
    }
    if !options.quiet && !options.brief {
        let stages = [("index", index_seconds), ("rank", rank_seconds)];
        print_table(&extraction, &done.summary, &stages)?;
        for (run, file) in done.runs.iter().zip(&run_files) {
            say!(
                "{} for {} in {}",
                terminal::counted(run.ranking.lines.len(), "line", "lines"),
                terminal::counted(topics.len(), "topic", "topics"),
                file.display()
            );
        }
    }
    Ok(code.max(print_faults(options, &done.summary)))
}

/// The parts of a run's metadata that are known before it is made.
fn describe<'a>(args: &ImagesArgs, settings: &'a Settings, edition: &Edition) -> Description<'a> {
    let approach = &settings.approach;
    Description {
        tag: &settings.tag,
        task: "image retrieval for arguments".to_owned(),
        year: Some(edition.year),
        test_collection: format!("Touché {edition}, image retrieval for arguments"),
        parts: args.parts.clone(),
        approach: &approach.name,
        source: &approach.source,
        unknown: &approach.unknown,
        recipe: &approach.text,
        documents: 0,
        topics: 0,
        models: BTreeMap::new(),
        command: metadata::command(),
        collection: args.extraction.input.clone(),
    }
}

/// The lines of a run of claims.
fn answers(ranking: &ImageRanking, edition: &Edition) -> Vec<AnswerLine> {
    let answer = |line: &ImageRunLine| {
        let key = (line.topic.clone(), line.image.clone());
        let rationale = ranking.rationales.get(&key);
        AnswerLine {
            rationale: rationale.filter(|_| edition.has_premises()).cloned(),
            argument: key.0,
            image: key.1,
            rank: line.rank,
            tag: line.tag.clone(),
        }
    };
    ranking.lines.iter().map(answer).collect()
}

/// Opens the arguments. Returns them and the exit code, which is 1 if some of them are broken.
///
/// # Errors
/// None of them can be read.
fn open_arguments(
    file: &Path,
    options: &ExtractionArgs,
    effort: Effort,
    printer: &mut EventPrinter,
) -> Result<(ArgumentSource, u8)> {
    let base = index_base(file, None, &options.cache)?;
    let arguments = ArgumentSource::open(file, &base, effort, &mut |event| printer.print(event))?;
    if options.verbose {
        print_all_verified(&arguments.indexes);
    }
    let code = print_collection(
        &arguments.indexes,
        options.quiet || options.brief,
        options.verbose,
    );
    if let Some(corpus) = arguments.indexes.first() {
        ensure_documents(corpus, file).context("--arguments")?;
    }
    Ok((arguments, code))
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
    let collection = open(options)?;
    let mut printer = EventPrinter::new(options.quiet);
    let mut extraction = prepare(options, &mut printer)?;
    let stop = watch_for_interrupt()?;
    try_suspects(&mut extraction, &collection, options, &stop, &mut printer)?;
    let extent = extent(
        args.shard.unwrap_or(Shard::WHOLE),
        options.limit,
        options.threads,
        options.rehash,
    );
    let on_event = &mut |event| printer.print(event);
    if !extraction.store.is_read_only() {
        extraction.remove_damaged(on_event)?;
    }
    let summary = extraction.extract(&collection, extent, &stop, on_event)?;
    if summary.stopped {
        bail!("stopped before the end; the same command continues from there");
    }
    if !options.quiet {
        print_table(&extraction, &summary, &[])?;
        say!("evidence in {}", extraction.store.path().display());
    }
    Ok(print_faults(options, &summary))
}

/// `riposte extract --stream`: computes the evidence of documents from stdin. Returns the exit code.
fn stream(args: &ExtractArgs) -> Result<u8> {
    let options = &args.extraction;
    let mut printer = EventPrinter::new(true);
    let models = options.models.open()?;
    let request = StreamRequest {
        options: options.extraction_options(),
        threads: options.threads.unwrap_or(1),
        died: args.died.as_deref(),
    };
    // not locked: after an error, this thread ends while the reading thread can still wait for a frame
    let input = BufReader::with_capacity(STREAM_BUFFER, std::io::stdin());
    let output = BufWriter::with_capacity(STREAM_BUFFER, std::io::stdout().lock());
    let faults = stream::stream(&models, request, input, output, &mut |event| {
        printer.print(event)
    })?;
    Ok(u8::from(faults > 0))
}

/// `riposte read`: prints the text in image files. Returns the exit code: 1 if some of them cannot be decoded, 2 if all.
pub fn read(args: &ReadArgs) -> Result<u8> {
    let models = args.models.open()?;
    let reader = match models::find(&models, Role::Ocr, args.ocr.as_deref())? {
        Ok(model) => models::load_ocr(&model, args.models.numeric.mode(), args.script.script())?,
        Err(why) => bail!("{why}"),
    };
    say!("ocr: {}", backend::describe(reader.backends()));
    let mut failed = 0;
    for path in &args.images {
        let image = bytes_of(path)
            .map_err(anyhow::Error::msg)
            .and_then(|bytes| picture::decode(&bytes));
        let image = match image {
            Ok(image) => image.image,
            Err(error) => {
                let message = format!("cannot read {}: {error:#}", path.display());
                say!("{}", escaped(&message));
                failed += 1;
                continue;
            }
        };
        let start = Instant::now();
        let lines = reader
            .read(&image)
            .with_context(|| format!("cannot read the text in {}", path.display()))?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let blocks: Vec<String> = ocr::blocks(&lines).map(|block| block.text()).collect();
        let text = blocks.join("\n\n");
        if args.text {
            if args.images.len() > 1 {
                print(&format_args!("{}:\n", escaped(&path.to_string_lossy())))?;
            }
            print(&format_args!("{text}\n\n"))?;
            continue;
        }
        let lines: Vec<_> = lines
            .iter()
            .map(|l| {
                json!({
                    "text": l.text,
                    "confidence": l.confidence,
                    "corners": l.corners,
                    "block": l.block,
                })
            })
            .collect();
        let object = json!({"path": path, "ms": ms, "lines": lines, "text": text});
        print(&format_args!("{object}\n"))?;
    }
    Ok(match failed {
        0 => 0,
        _ if failed == args.images.len() => 2,
        _ => 1,
    })
}

/// `riposte merge`: copies the evidence of shards into one store, or the shards of an index from Parquet files into a directory.
pub fn merge(args: &MergeArgs) -> Result<u8> {
    if let [packed] = args.shards.as_slice()
        && shards::is_packed(packed)
    {
        let Unpacked {
            task,
            shards,
            bytes,
        } = shards::unpack(packed, &args.into)?;
        print(&format_args!(
            "{}: {shards} shards for {}, {:.1} MB\n",
            escaped(&packed.to_string_lossy()),
            task.word(),
            bytes as f64 / 1e6
        ))?;
        return Ok(0);
    }
    let mut printer = EventPrinter::new(true);
    let mut store = extraction::open_store(&args.into, &mut |event| printer.print(event))?;
    let mut code = 0;
    let mut found_any = false;
    for shard in &args.shards {
        let Merged {
            documents,
            found,
            is_damaged,
            lost,
        } = extraction::merge(&mut store, shard)?;
        found_any |= found > 0;
        print(&format_args!(
            "{}: {documents} documents\n",
            escaped(&shard.to_string_lossy())
        ))?;
        if is_damaged {
            say!(
                "{} is damaged: evidence of {lost} or more documents could not be read; `riposte extract` computes it again",
                escaped(&shard.to_string_lossy())
            );
            code = 1;
        }
    }
    ensure!(found_any, "nothing to merge: no shard contains a document");
    Ok(code)
}

fn open(args: &ExtractionArgs) -> Result<ImageCollection> {
    ensure!(args.limit != Some(0), "--limit must be at least 1");
    let collection = ImageCollection::open(&args.input)?;
    if collection.entries().is_empty() {
        bail!(
            "there is no image in {}",
            args.input.join("images").display()
        );
    }
    Ok(collection)
}

/// Opens the collection of `images`: a directory, or an evidence store whose images are ranked without their files.
fn open_or_stored(args: &ExtractionArgs) -> Result<ImageCollection> {
    if !args.input.is_file() {
        return open(args);
    }
    ensure!(args.limit != Some(0), "--limit must be at least 1");
    ensure!(
        args.evidence.is_none(),
        "--evidence: {} is an evidence store itself",
        args.input.display()
    );
    extraction::stored_images(&args.input)
}

impl ExtractionArgs {
    pub(super) fn extraction_options(&self) -> ExtractionOptions<'_> {
        ExtractionOptions {
            ocr: self.ocr.as_deref(),
            clip: self.clip.as_deref(),
            required: &self.require,
            numeric: self.models.numeric.mode(),
            clip_numeric: self.clip_precision.numeric(),
            script: self.script.script(),
        }
    }
}

fn prepare(args: &ExtractionArgs, printer: &mut EventPrinter) -> Result<Extraction> {
    let options = args.extraction_options();
    // the collection can itself be an evidence store
    let own = args.input.is_file().then_some(args.input.as_path());
    let chosen = args.evidence.as_deref().or(own);
    let evidence = || evidence_store(chosen, &args.input, &args.cache);
    let models = args.models.open()?;
    Extraction::prepare(models, options, &evidence, &mut |event| {
        printer.print(event)
    })
}

/// Tries the documents in which riposte has perhaps died, each in a separate process.
///
/// # Errors
/// The store or a process fails, or the user has stopped it.
fn try_suspects(
    extraction: &mut Extraction,
    collection: &ImageCollection,
    options: &ExtractionArgs,
    stop: &AtomicBool,
    printer: &mut EventPrinter,
) -> Result<()> {
    let stopped = extraction.try_suspects(
        collection,
        options.retry,
        &mut |evidence, documents| probe::try_apart(options, evidence, documents, stop),
        &mut |event| printer.print(event),
    )?;
    if stopped {
        bail!("stopped before the end; the same command continues from there");
    }
    Ok(())
}

/// A flag that Ctrl-C sets. A second Ctrl-C ends the process at once.
fn watch_for_interrupt() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let interrupted = stop.clone();
    ctrlc::set_handler(move || {
        if interrupted.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        say!("\nfinishing the current images or topics; press Ctrl-C again to stop at once (stored results are not lost)");
    })
    .context("cannot watch for Ctrl-C")?;
    Ok(stop)
}

/// Prints the number of images, the state of each channel, and the seconds that each stage took.
fn print_table(
    extraction: &Extraction,
    summary: &Summary,
    ranking_stages: &[(&'static str, f64)],
) -> Result<()> {
    say!(
        "{} images, {} of them new or changed",
        summary.documents,
        summary.computed
    );
    for channel in Channel::ALL {
        let count = summary.channels.get(&channel).copied().unwrap_or(0);
        let state = match (extraction.tools().has(channel), count) {
            (true, _) => "on",
            (false, 0) => "off",
            (false, _) => "stored",
        };
        let model = extraction.model_status(channel);
        let backend = match channel {
            Channel::Ocr | Channel::Sentence | Channel::Clip => extraction.backend(channel)?,
            _ => String::new(),
        };
        let line = format!(
            "  {:<9} {state:<6} {count:>6} images  {model}{backend}",
            channel.word()
        );
        say!("{}", line.trim_end());
    }
    let elements: Vec<String> = extraction
        .store
        .elements()?
        .iter()
        .map(|(found, count, naming)| {
            let how = match found.as_str() {
                "xpath" => "found by XPath",
                "url" => "found by URL",
                _ => "not found",
            };
            format!("{count} {how} ({naming} have its URL)")
        })
        .collect();
    say!("  elements of images in pages: {}", elements.join(", "));
    let stages: Vec<String> = summary
        .seconds
        .iter()
        .chain(ranking_stages)
        .filter(|(_, seconds)| *seconds >= 0.05)
        .map(|(stage, seconds)| format!("{stage} {seconds:.1}"))
        .collect();
    if !stages.is_empty() {
        say!("  thread-seconds: {}", stages.join(", "));
    }
    if summary.computed > 0 {
        say!(
            "  workers were busy {:.0}% of the time",
            100.0 * summary.busy
        );
    }
    Ok(())
}

/// Prints the number of faults by kind and lists them; without `verbose`, only the first few. Returns the exit code.
fn print_faults(args: &ExtractionArgs, summary: &Summary) -> u8 {
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
    let count = terminal::counted(summary.faults.len(), "fault", "faults");
    say!("{count}: {}", kinds.join(", "));
    let listed = if args.verbose {
        summary.faults.len()
    } else {
        LISTED_FAULTS
    };
    for fault in summary.faults.iter().take(listed) {
        say!("  {fault}");
    }
    if summary.faults.len() > listed {
        say!("  … (-v lists them all)");
    }
    1
}
