//! `controversial`, `comparative` and `rank`.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::args::{CacheArgs, ComparativeArgs, ControversialArgs, TextArgs};
use super::files::{
    check_distinct, check_run_writable, check_writable, default_store, read_topics,
    write_atomically,
};
use super::metadata;
use super::progress::EventPrinter;
use super::{terminal, topic_parts};
use crate::collection::ReadTopics;
use crate::index::corpus::{self, Corpus, Effort, Meta, Verified};
use crate::task::debate::PER_SIDE;
use crate::task::default_tag;
use crate::task::metadata::Description;
use crate::task::service_run::{self, ServiceRequest};
use crate::task::text_approach::TextApproach;
use crate::task::text_indexes::TextIndexes;
use crate::task::text_run::{self, TextRequest};
use crate::trec::{TextTask, debate as sheets, explained, run};
use crate::workspace;

/// The name of the run's file.
pub(crate) const RUN_FILE: &str = "run.txt";

/// Number of faults that are listed without `--verbose`.
const LISTED_FAULTS: usize = 10;

/// `riposte controversial`.
pub fn controversial(args: &ControversialArgs) -> Result<u8> {
    let wanted = Wanted {
        stances: true,
        debate: args.debate.as_deref(),
        key_file: None,
    };
    retrieve(&args.texts, TextTask::Controversial, wanted)
}

/// `riposte comparative`.
pub fn comparative(args: &ComparativeArgs) -> Result<u8> {
    let wanted = Wanted {
        stances: !args.no_stance,
        debate: None,
        key_file: args.key_file.as_deref(),
    };
    retrieve(&args.texts, TextTask::Comparative, wanted)
}

/// `riposte rank`.
pub fn rank(args: &TextArgs) -> Result<u8> {
    retrieve(args, TextTask::Rank, Wanted::default())
}

/// The workspace of a text collection. `index` is the directory that the user has chosen.
pub(crate) fn index_base(input: &Path, index: Option<&Path>, cache: &CacheArgs) -> Result<PathBuf> {
    match index {
        Some(dir) => {
            std::fs::create_dir_all(dir)
                .with_context(|| format!("cannot create the directory {}", dir.display()))?;
            Ok(dir.join(workspace::FILE))
        }
        None => default_store(input, "--index", cache),
    }
}

/// The effort of indexing on this number of threads, or one for each core.
pub fn effort(threads: Option<usize>) -> Result<Effort> {
    let mut effort = Effort::default();
    if let Some(threads) = threads {
        ensure!(threads > 0, "--threads must be at least 1");
        effort.threads = threads;
    }
    Ok(effort)
}

/// Prints how much of an index was verified.
pub(crate) fn print_verified(verified: Verified) {
    let Verified {
        files,
        bytes,
        seconds,
    } = verified;
    say!(
        "  index verified: {files} files, {:.1} MB, {seconds:.3} s",
        bytes as f64 / 1e6
    );
}

/// Prints how much of each index was verified.
pub(crate) fn print_all_verified(indexes: &TextIndexes) {
    for corpus in indexes.all() {
        print_verified(corpus.verified());
    }
}

/// Settings that not all text tasks have.
#[derive(Clone, Copy, Default)]
struct Wanted<'a> {
    /// Whether the lines contain stances.
    stances: bool,
    /// The file for debate sheets.
    debate: Option<&'a Path>,
    /// The file with the key of a search engine.
    key_file: Option<&'a Path>,
}

fn retrieve(args: &TextArgs, task: TextTask, wanted: Wanted) -> Result<u8> {
    let Wanted {
        stances,
        debate,
        key_file,
    } = wanted;
    let indexing = &args.indexing;
    let found = args
        .approach
        .iter()
        .map(|name| TextApproach::find(task, name))
        .collect::<Result<Vec<_>>>()?;
    if let Some(asking) = found.iter().find(|approach| approach.service.is_some()) {
        ensure!(
            task == TextTask::Comparative,
            "{} asks a search engine for web pages, and only `comparative` can do that",
            asking.name
        );
        ensure!(
            found.len() == 1,
            "{} asks a search engine and searches no collection: run it without other approaches",
            asking.name
        );
        return ask(args, asking, stances, key_file);
    }
    ensure!(
        key_file.is_none(),
        "--key-file is for approaches that ask a service, such as chatnoir"
    );
    let names: Vec<&str> = found.iter().map(|approach| &*approach.name).collect();
    let places = run_places(&args.output, &names, args.tag.as_deref())?;
    let ReadTopics { topics, faults } = read_topics(args.topics.as_deref(), &args.input)?;
    let config = metadata::config(&args.metadata);
    let files = metadata::files(RUN_FILE, config.as_ref());
    let read = args.topics.as_deref();
    let more = [("--explain", args.explain.as_deref()), ("--debate", debate)];
    let more: Vec<(&str, &Path)> = more
        .iter()
        .filter_map(|(option, path)| Some((*option, (*path)?)))
        .collect();
    let run_files = check_run_outputs(&places, &files, &more, read.as_slice())?;
    let mut printer = EventPrinter::new(indexing.quiet);
    let base = index_base(&args.input, indexing.index.as_deref(), &indexing.cache)?;
    let models = args.models.open()?;
    let effort = effort(indexing.threads)?;
    let mut code = u8::from(!faults.is_empty());
    for (n, ((approach, place), run_file)) in
        found.into_iter().zip(&places).zip(&run_files).enumerate()
    {
        let described = approach.clone();
        let request = TextRequest {
            task,
            input: &args.input,
            topics: &topics,
            approach,
            parts: topic_parts(&args.parts),
            tag: &place.tag,
            explain: args.explain.is_some(),
            stances,
            debate: debate.map(|_| PER_SIDE),
            base: base.clone(),
            models: &models,
            numeric: args.models.numeric.mode(),
            effort,
            output: &place.dir,
            // the first run has read the collection
            rehash: args.rehash && n == 0,
        };
        let done = text_run::run(request, &mut |event| printer.print(event))?;

        if indexing.verbose {
            print_all_verified(&done.indexes);
        }
        write_atomically(run_file, run::write_texts(&done.lines)?.as_bytes())?;
        if let Some(path) = &args.explain {
            write_atomically(path, &explained::write(&done.explained)?)?;
        }
        if let Some(path) = debate {
            write_atomically(path, &sheets::write(&done.sheets)?)?;
        }
        if let Some(config) = &config {
            let documents = done.indexes.first().map_or(0, Corpus::documents);
            let description = Description {
                documents: documents as usize,
                models: done.models.clone(),
                ..describe(args, task, &described, &place.tag, topics.len())
            };
            metadata::write(&place.dir, config, &description)?;
        }
        if n == 0 {
            code = code.max(print_collection(
                &done.indexes,
                indexing.quiet || indexing.brief,
                indexing.verbose,
            ));
        }
        if !indexing.quiet && !indexing.brief {
            let steps = done.steps.iter().filter(|(_, seconds)| *seconds >= 0.05);
            let steps: Vec<String> = steps
                .map(|(step, seconds)| format!("{} {seconds:.1}", step.word()))
                .collect();
            let steps = match steps.as_slice() {
                [] => String::new(),
                steps => format!(" ({})", steps.join(", ")),
            };
            say!(
                "  seconds: index {:.1}, rank {:.1}{steps}",
                done.index_seconds,
                done.rank_seconds
            );
            say!(
                "{} for {} in {}",
                terminal::counted(done.lines.len(), "line", "lines"),
                terminal::counted(topics.len(), "topic", "topics"),
                run_file.display()
            );
        }
    }
    Ok(code)
}

/// The parts of a run's metadata that are known before it is made.
fn describe<'a>(
    args: &TextArgs,
    task: TextTask,
    approach: &'a TextApproach,
    tag: &'a str,
    topics: usize,
) -> Description<'a> {
    let named = args.input.file_name().unwrap_or_default();
    let (task, test_collection) = match task {
        TextTask::Controversial => (
            "argument retrieval for controversial questions",
            "args.me".to_owned(),
        ),
        TextTask::Comparative => (
            "argument retrieval for comparative questions",
            "Touché 2022, passages for comparative questions".to_owned(),
        ),
        TextTask::Rank => ("text retrieval", named.to_string_lossy().into_owned()),
    };
    Description {
        tag,
        task: task.to_owned(),
        year: None,
        test_collection,
        parts: args.parts.clone(),
        approach: &approach.name,
        source: &approach.source,
        unknown: &approach.unknown,
        recipe: &approach.text,
        documents: 0,
        topics,
        models: BTreeMap::new(),
        command: metadata::command(),
        collection: args.input.clone(),
    }
}

/// The directory and the tag of the run of an approach.
pub(crate) struct RunPlace {
    pub dir: PathBuf,
    pub tag: String,
}

/// The places of the runs of these approaches. The run of a single approach goes to the output directory. With several approaches, each has a
/// directory in it, with the name of the approach.
///
/// # Errors
/// Two of several approaches have the same name, or one has no name.
pub(crate) fn run_places(
    output: &Path,
    approaches: &[&str],
    tag: Option<&str>,
) -> Result<Vec<RunPlace>> {
    if let [name] = approaches {
        return Ok(vec![RunPlace {
            dir: output.to_owned(),
            tag: tag.map_or_else(|| default_tag(name), str::to_owned),
        }]);
    }
    let mut seen = HashSet::new();
    let places = approaches.iter().map(|name| {
        // the name in a file can have any characters
        let word = name.replace(|c: char| !c.is_alphanumeric() && !"-_.".contains(c), "-");
        let word = word.trim_start_matches('.');
        ensure!(
            !word.is_empty() && seen.insert(word.to_owned()),
            "--approach {name} is given twice, or has no name: their runs would be in the same directory"
        );
        Ok(RunPlace {
            dir: output.join(word),
            tag: tag.map_or_else(|| default_tag(name), |tag| format!("{tag}-{word}")),
        })
    });
    places.collect()
}

/// Checks before the work that the files of each run (first the run itself) and `more` files (each with its option) can be written, and that none
/// of them is an input. Returns the paths of the runs.
///
/// # Errors
/// One of them cannot be written, or `more` is given for several runs.
pub(crate) fn check_run_outputs(
    places: &[RunPlace],
    files: &[&str],
    more: &[(&str, &Path)],
    read: &[&Path],
) -> Result<Vec<PathBuf>> {
    if let [(option, _), ..] = more {
        ensure!(places.len() == 1, "{option} is for one approach at a time");
    }
    let run_of = |place: &RunPlace| check_outputs(&place.dir, files, more, read);
    places.iter().map(run_of).collect()
}

/// Retrieves with an approach that asks a service. `--rehash`, `--threads` and `--models` have no effect, because there is no collection.
fn ask(
    args: &TextArgs,
    approach: &TextApproach,
    stances: bool,
    key_file: Option<&Path>,
) -> Result<u8> {
    let ReadTopics { topics, faults } = read_topics(args.topics.as_deref(), &args.input)?;
    let tag = args.tag.clone();
    let tag = tag.unwrap_or_else(|| default_tag(&approach.name));
    let explain = args.explain.as_deref();
    let config = metadata::config(&args.metadata);
    let files = metadata::files(RUN_FILE, config.as_ref());
    let read = args.topics.as_deref();
    let named = explain.map(|path| ("--explain", path));
    let run_file = check_outputs(&args.output, &files, named.as_slice(), read.as_slice())?;
    if let Some(key_file) = key_file {
        let outputs = [("--output", run_file.as_path())].into_iter().chain(named);
        check_distinct(&outputs.collect::<Vec<_>>(), &[key_file])?;
    }
    let base = index_base(
        &args.input,
        args.indexing.index.as_deref(),
        &args.indexing.cache,
    )?;
    let quiet = args.indexing.quiet;
    let mut printer = EventPrinter::new(quiet);
    let request = ServiceRequest {
        topics: &topics,
        approach,
        parts: topic_parts(&args.parts),
        tag: &tag,
        explain: explain.is_some(),
        stances,
        key_file,
        workspace: &base,
    };
    let done = service_run::run(&request, &mut |event| printer.print(event))?;

    write_atomically(&run_file, run::write_texts(&done.lines)?.as_bytes())?;
    if let Some(path) = explain {
        write_atomically(path, &explained::write(&done.explained)?)?;
    }
    if let Some(config) = &config {
        let description = describe(args, TextTask::Comparative, approach, &tag, topics.len());
        metadata::write(&args.output, config, &description)?;
    }
    if !quiet {
        say!(
            "  pages of results: {} requested, {} stored in {}",
            done.asked,
            done.stored,
            request.workspace.display()
        );
        say!(
            "{} for {} in {}",
            terminal::counted(done.lines.len(), "line", "lines"),
            terminal::counted(topics.len(), "topic", "topics"),
            run_file.display()
        );
    }
    Ok(u8::from(!faults.is_empty() || done.broken > 0))
}

/// Checks before the work that the files of a run and `more` files can be written. Returns the path of the run.
fn check_outputs(
    output: &Path,
    files: &[&str],
    more: &[(&str, &Path)],
    read: &[&Path],
) -> Result<PathBuf> {
    let files = check_run_writable(output, files)?;
    let mut outputs: Vec<(&str, &Path)> = Vec::new();
    outputs.extend(files.iter().map(|file| ("--output", file.as_path())));
    for (_, path) in more {
        check_writable(path)?;
    }
    outputs.extend(more);
    check_distinct(&outputs, read)?;
    files.into_iter().next().context("a run has a file")
}

/// Prints the number of documents in a collection, and its faults. Returns the exit code.
pub(crate) fn print_collection(indexes: &TextIndexes, quiet: bool, verbose: bool) -> u8 {
    let Some(corpus) = indexes.first() else {
        return 0;
    };
    let Meta {
        duplicates,
        short,
        repeated_ids,
        fault_count,
        faults,
        ..
    } = corpus.meta();
    if !quiet {
        let counted = [
            (
                *short,
                format!("with fewer than {} words", corpus::SHORT_WORDS),
            ),
            (*duplicates, "with the same words as another".to_owned()),
            (
                *repeated_ids,
                "more left out because of a repeated id".to_owned(),
            ),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let counted: Vec<String> = counted
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let counted = match counted.as_slice() {
            [] => String::new(),
            counted => format!(": {}", counted.join(", ")),
        };
        let documents = Corpus::documents(corpus);
        say!("{documents} {}{counted}", corpus.meta().kind.word());
    }
    if *fault_count == 0 {
        return 0;
    }
    say!("{}", terminal::counted(*fault_count, "fault", "faults"));
    let listed = if verbose { faults.len() } else { LISTED_FAULTS };
    for fault in faults.iter().take(listed) {
        say!("  {fault}");
    }
    if *fault_count > listed as u64 {
        say!("  …");
    }
    1
}
