//! `controversial`, `comparative` and `rank`.

use std::path::Path;

use anyhow::{Result, ensure};
use riposte_eval::{TextTask, run};

use super::args::{ComparativeArgs, ControversialArgs, TextArgs};
use super::progress::{EventPrinter, print_notes};
use super::{terminal, topic_parts};
use crate::collection::{Fault, ReadTopics};
use crate::index::inverted::{self, InvertedIndex, Verified};
use crate::task::debate::PER_SIDE;
use crate::task::effort;
use crate::task::files::read_topics;
use crate::task::run_files::{OutputSettings, RunFiles};
use crate::task::service_run::{self, ServiceRequest};
use crate::task::text_indexes::TextIndexes;
use crate::task::text_run::{self, RUN_FILE, TextRequest, TextRun};

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

/// Prints how much of an index was verified.
pub(crate) fn print_verified(verified: Verified) {
    let (files, seconds) = (verified.files, verified.seconds);
    let size = verified.bytes as f64 / 1e6;
    say!("  index verified: {files} files, {size:.1} MB, {seconds:.3} s");
}

/// Prints how much of each index was verified.
pub(crate) fn print_all_verified(indexes: &TextIndexes) {
    for index in indexes.all() {
        print_verified(index.verified());
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
    let approaches = text_run::find_approaches(task, &args.approach)?;
    let output = OutputSettings {
        dir: args.output.clone(),
        tag: args.tag.clone(),
        explain: args.explain.clone(),
        debate: debate.map(Path::to_owned),
        metadata: args.metadata.config(),
    };
    let ReadTopics { topics, faults } =
        read_topics(args.topics.as_deref(), &args.input, &mut print_notes)?;
    let names: Vec<&str> = approaches.iter().map(|approach| &*approach.name).collect();
    let read: Vec<&Path> = args.topics.as_deref().into_iter().chain(key_file).collect();
    let files = output.check(RUN_FILE, &names, &read)?;
    let indexing = &args.indexing;
    let base = indexing.places(None).texts(&args.input, &mut print_notes)?;
    let mut code = u8::from(!faults.is_empty());
    if let ([approach], [file]) = (approaches.as_slice(), files.as_slice())
        && approach.service.is_some()
    {
        let request = ServiceRequest {
            topics: &topics,
            approach,
            parts: topic_parts(&args.parts),
            tag: &file.tag,
            explain: args.explain.is_some(),
            stances,
            key_file,
            workspace: &base,
        };
        return Ok(code.max(ask_service(args, &request, file)?));
    }
    ensure!(
        key_file.is_none(),
        "--key-file is for approaches that ask a service, such as chatnoir"
    );
    let models = args.models.open()?;
    let effort = effort(indexing.threads)?;
    let mut printer = EventPrinter::new(indexing.quiet);
    for (n, (approach, file)) in approaches.iter().zip(&files).enumerate() {
        let request = TextRequest {
            task,
            input: &args.input,
            topics: &topics,
            approach,
            parts: topic_parts(&args.parts),
            tag: &file.tag,
            explain: args.explain.is_some(),
            stances,
            debate: debate.map(|_| PER_SIDE),
            base: &base,
            models: &models,
            numeric: args.models.numeric,
            effort,
            // the first run has read the collection
            rehash: args.rehash && n == 0,
        };
        let done = text_run::run(&request, &mut |event| printer.print(event))?;
        let description = request.describe(&done);
        let lines = run::write_texts(&done.lines)?;
        file.write(&lines, &done.explained, &done.sheets, &description)?;
        if n == 0 {
            let collection = print_collection(&done.indexes, indexing.quiet, indexing.verbose);
            code = code.max(collection);
        }
        print_run(args, &done, topics.len(), &file.run);
    }
    Ok(code)
}

/// Prints figures about a run.
fn print_run(args: &TextArgs, done: &TextRun, topics: usize, file: &Path) {
    if args.indexing.verbose {
        print_all_verified(&done.indexes);
    }
    if args.indexing.quiet {
        return;
    }
    let steps = done.steps.iter().filter(|(_, seconds)| *seconds >= 0.05);
    let steps: Vec<String> = steps
        .map(|(step, seconds)| format!("{} {seconds:.1}", step.word()))
        .collect();
    let steps = match steps.join(", ") {
        none if none.is_empty() => none,
        steps => format!(" ({steps})"),
    };
    let (index, rank) = (done.index_seconds, done.rank_seconds);
    say!("  seconds: index {index:.1}, rank {rank:.1}{steps}");
    print_lines(done.lines.len(), topics, file);
}

/// Prints the number of lines of a run, and its file.
pub(super) fn print_lines(lines: usize, topics: usize, file: &Path) {
    let lines = terminal::counted(lines, "line", "lines");
    let topics = terminal::counted(topics, "topic", "topics");
    say!("{lines} for {topics} in {}", file.display());
}

/// Retrieves with an approach that asks a service. `--rehash`, `--threads` and `--models` have no effect, because there is no collection.
fn ask_service(args: &TextArgs, request: &ServiceRequest, file: &RunFiles) -> Result<u8> {
    let quiet = args.indexing.quiet;
    let mut printer = EventPrinter::new(quiet);
    let done = service_run::run(request, &mut |event| printer.print(event))?;
    let description = request.describe(&args.input);
    let lines = run::write_texts(&done.lines)?;
    file.write(&lines, &done.explained, &[], &description)?;
    if !quiet {
        say!(
            "  pages of results: {} requested, {} stored in {}",
            done.asked,
            done.stored,
            request.workspace.display()
        );
        print_lines(done.lines.len(), request.topics.len(), &file.run);
    }
    Ok(u8::from(done.broken > 0))
}

/// Prints the number of documents in a collection, and its faults. Returns the exit code.
pub(crate) fn print_collection(indexes: &TextIndexes, quiet: bool, verbose: bool) -> u8 {
    let Some(index) = indexes.first() else {
        return 0;
    };
    let meta = index.meta();
    if !quiet {
        let short = format!("with fewer than {} words", inverted::SHORT_WORDS);
        let counted = [
            (meta.short, &*short),
            (meta.duplicates, "with the same words as another"),
            (meta.repeated_ids, "more left out because of a repeated id"),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let counted: Vec<String> = counted
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let counted = match counted.join(", ") {
            none if none.is_empty() => none,
            counted => format!(": {counted}"),
        };
        let documents = InvertedIndex::documents(index);
        say!("{documents} {}{counted}", meta.kind);
    }
    if meta.fault_count == 0 {
        return 0;
    }
    say!("{}", terminal::counted(meta.fault_count, "fault", "faults"));
    list_faults(&meta.faults, meta.fault_count, verbose, "");
    1
}

/// Lists faults; without `verbose`, only the first few. `more` follows the sign that there are others, of all `count` faults.
pub(super) fn list_faults(faults: &[Fault], count: u64, verbose: bool, more: &str) {
    let listed = if verbose { faults.len() } else { LISTED_FAULTS };
    for fault in faults.iter().take(listed) {
        say!("  {fault}");
    }
    if count > listed as u64 {
        say!("  …{more}");
    }
}
