//! `controversial`, `comparative` and `rank`.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use riposte_eval::TextTask;

use super::progress::EventPrinter;
use super::text_args::{ComparativeArgs, ControversialArgs, TextArgs, topic_parts};
use super::{shown, terminal};
use riposte::api::{Approach, Collection};
use riposte::collection::task::Task;
use riposte::files::TopicSource;
use riposte::index::inverted::{self, InvertedIndex, VerifiedFiles};
use riposte::ingest::extraction::ExtractionHost;
use riposte::runs::finished::{FinishedRun, MadeRun};
use riposte::runs::plan::Wishes;
use riposte::runs::run_files::OutputSettings;
use riposte::runs::service::ServiceRun;
use riposte::runs::texts::FinishedTextRun;
use riposte::session::CollectionSource;
use riposte::texts::indexes::TextIndexes;

/// `riposte controversial`.
pub fn controversial(args: &ControversialArgs) -> Result<u8> {
    let wishes = Wishes::default();
    retrieve(
        &args.texts,
        TextTask::Controversial,
        args.debate.as_ref(),
        wishes,
    )
}

/// `riposte comparative`.
pub fn comparative(args: &ComparativeArgs) -> Result<u8> {
    let wishes = Wishes {
        without_stances: args.no_stance,
        key_file: args.key_file.clone(),
        ..Wishes::default()
    };
    retrieve(&args.texts, TextTask::Comparative, None, wishes)
}

/// `riposte rank`.
pub fn rank(args: &TextArgs) -> Result<u8> {
    let wishes = Wishes {
        without_stances: true,
        ..Wishes::default()
    };
    retrieve(args, TextTask::Rank, None, wishes)
}

/// Prints how much of an index was verified.
pub(crate) fn print_verified(verified: VerifiedFiles) {
    let (files, seconds) = (verified.files, verified.seconds);
    let size = verified.bytes as f64 / 1e6;
    say!("  index verified: {files} files, {size:.1} MB, {seconds:.3} s");
}

/// Prints how much of each index was verified.
pub(crate) fn print_all_verified(indexes: &TextIndexes) {
    for index in indexes.all() {
        print_verified(index.verified);
    }
}

fn retrieve(
    args: &TextArgs,
    task: TextTask,
    debate: Option<&PathBuf>,
    wishes: Wishes,
) -> Result<u8> {
    let kind = Task::Texts(task);
    let settings = args.search.settings();
    let approaches = args.approach.iter();
    let approaches = approaches.map(|name| Approach::find_with(kind, name, &settings));
    let approaches = approaches.collect::<Result<_>>()?;
    let indexing = &args.indexing;
    let places = indexing.places(None);
    let session = args.models.session(places, indexing.threads)?;
    let source = CollectionSource {
        rehash: args.rehash,
        ..CollectionSource::new(session, &args.input)
    };
    let collection = Collection::of(kind, source);
    let topics = args.topics.clone();
    let request = collection.request_all(approaches).wishes(Wishes {
        topics: topics.map_or(TopicSource::Collection, TopicSource::File),
        parts: topic_parts(&args.parts),
        explain: args.explain.is_some(),
        debate: debate.is_some(),
        ..wishes
    });
    args.metadata.note_for_tira();
    let output = OutputSettings {
        dir: args.output.clone(),
        tag: args.tag.clone(),
        explain: args.explain.clone(),
        debate: debate.cloned(),
        metadata: args.metadata.config(),
        faults: args.faults.file(Some(&args.output)),
    };
    let log = args.faults.log(Some(&args.output), indexing.verbose);
    let mut printer = EventPrinter::new(indexing.quiet, log);
    let on_event = &mut |event| printer.print(event);
    let mut is_first = true;
    let never = AtomicBool::new(false);
    let plan = request.plan(Some(&output), on_event)?;
    plan.run(&ExtractionHost::of_a_call(&never), on_event, &mut |run| {
        match &run.made {
            MadeRun::Searched(searched) => {
                if is_first && indexing.quiet.is_none() {
                    print_collection(&searched.indexes);
                }
                print_run(args, searched, &run);
            }
            MadeRun::Asked(asked) => print_answers(args, asked, &run),
            MadeRun::Images(_) => {}
        }
        is_first = false;
        Ok(())
    })?;
    printer.finish()
}

/// Prints figures about a run.
fn print_run(args: &TextArgs, done: &FinishedTextRun, written: &FinishedRun) {
    if args.indexing.verbose {
        print_all_verified(&done.indexes);
    }
    if args.indexing.quiet.is_some() {
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
    print_written(written);
}

/// Prints the number of lines of a run, and its file if it was written.
pub(super) fn print_written(run: &FinishedRun) {
    let Some(file) = &run.file else { return };
    let lines = terminal::counted(run.made.len(), "line", "lines");
    let topics = terminal::counted(run.topics, "topic", "topics");
    say!("{lines} for {topics} in {}", shown(file));
}

/// Prints figures about a run that a search engine has answered.
fn print_answers(args: &TextArgs, done: &ServiceRun, written: &FinishedRun) {
    if args.indexing.quiet.is_some() {
        return;
    }
    say!(
        "  pages of results: {} requested, {} stored in {}",
        done.asked,
        done.stored,
        shown(&done.workspace)
    );
    print_written(written);
}

/// Prints the number of documents in a collection.
pub(crate) fn print_collection(indexes: &TextIndexes) {
    let Some(index) = indexes.first() else {
        return;
    };
    let meta = index.meta();
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
