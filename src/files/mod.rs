//! Reads the files that a user names (topics, runs, judgements and lists of ids), and checks before the work that outputs can be written.

// an error says that a file is missing
#![expect(clippy::disallowed_methods)]

pub mod explanations;
pub mod metadata;
pub mod stdin;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::edition::{EDITIONS, Edition};
use riposte_eval::lines::decoded;
pub(crate) use riposte_eval::printed::run_names;
use riposte_eval::qrels::{self, GradedQrels, Qrels};
use riposte_eval::topic::Topic;
use riposte_eval::{LineError, escaped, run};

use crate::collection::{self, Fault, FaultKind, read_judged, read_regular};
use crate::disk::{self, regular};
use crate::events::{Event, OnEvent};
use crate::limits::MAX_RUN_BYTES;
use crate::wording::counted;
use stdin::Stdin;

/// The name of a run's file.
pub(crate) const RUN_FILE: &str = "run.txt";

/// Where the topics of a run come from.
#[derive(Clone, Default)]
pub enum TopicSource {
    /// The collection's own file.
    #[default]
    Collection,
    File(PathBuf),
    Given(Vec<Topic>),
}

/// The names that TIREx and BEIR give to files of topics, in the order in which they are tried.
const QUERIES: [&str; 3] = ["queries.jsonl", "queries.jsonl.gz", "queries.xml"];

/// The collection's own file of topics, if it has one. A file of an edition of the lab is preferred to one of TIREx or BEIR.
///
/// # Errors
/// A temporary error: nobody knows whether there is one.
pub(crate) fn own_topics(collection: &Path) -> Result<Option<PathBuf>> {
    let names = EDITIONS.iter().map(|edition| edition.file).chain(QUERIES);
    for file in names.map(|name| collection.join(name)) {
        // something else than a file is an error of its own when it is read
        if regular::exists(&file).with_context(|| format!("cannot read {}", file.display()))? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Reads the topics in `file`, or those of the collection ([`own_topics`]). Reports broken topics.
///
/// # Errors
/// The file cannot be read, or none of its topics can.
pub(crate) fn read_topics(
    file: Option<&Path>,
    collection: &Path,
    on_event: &mut OnEvent,
) -> Result<Vec<Topic>> {
    let path = match file {
        Some(file) => file.to_owned(),
        None => own_topics(collection)?.unwrap_or_else(|| collection.join(Edition::first().file)),
    };
    let (mut topics, faults) = collection::read_topics_with_faults(&path)?;
    for fault in faults {
        on_event(Event::Fault(fault));
    }
    if file.is_none() {
        keep_tested(&mut topics, collection, on_event)?;
    }
    Ok(topics)
}

/// Reports each line of a file that cannot be read as a fault, and the odd lines in one note.
pub(crate) fn report_broken_lines(
    kind: FaultKind,
    path: &Path,
    errors: &[LineError],
    on_event: &mut OnEvent,
) {
    let (odd, unread): (Vec<_>, Vec<_>) = errors.iter().partition(|error| error.is_read);
    for error in unread {
        on_event(Event::Fault(Fault::in_line(kind, path, error)));
    }
    if let Some(first) = odd.first() {
        on_event(Event::note(format!(
            "{}: {}, read as trec_eval reads them; the first is {first}",
            path.display(),
            counted(odd.len(), "odd line", "odd lines")
        )));
    }
}

/// Leaves out the queries that are not in the collection's `qrels/test.tsv`, if it has one. BEIR has queries for training and for tests in one
/// file, and evaluates those for tests.
fn keep_tested(topics: &mut Vec<Topic>, collection: &Path, on_event: &mut OnEvent) -> Result<()> {
    let path = collection.join("qrels/test.tsv");
    if !regular::is_file(&path)? {
        return Ok(());
    }
    let (qrels, _) = qrels::read(&decode(read_regular(&path, MAX_RUN_BYTES)?));
    let Some(tested) = qrels.grades() else {
        return Ok(());
    };
    let is_tested = |topic: &Topic| tested.contains_key(&topic.id);
    let all = topics.len();
    let kept = topics.iter().filter(|topic| is_tested(topic)).count();
    // if no query is judged, the judgements belong to other queries
    if kept > 0 && kept < all {
        topics.retain(is_tested);
        on_event(Event::note(format!(
            "{kept} of {all} queries are judged in {}: the others are left out (--topics uses all queries of a file)",
            path.display()
        )));
    }
    Ok(())
}

/// Checks before the work that a file can be written: creates its directory, and a temporary file in it. A device or a pipe is opened only when there
/// is something to write.
pub fn check_writable(file: &Path) -> Result<()> {
    let writing = || format!("cannot write {}", file.display());
    let name = file.file_name();
    ensure!(!file.is_dir(), "{}: it is a directory", writing());
    ensure!(name.is_some(), "{}: it names no file", writing());
    if disk::is_stream(file).with_context(writing)? {
        return Ok(());
    }
    let dir = disk::parent(file);
    fs::create_dir_all(dir).with_context(writing)?;
    tempfile::tempfile_in(dir).with_context(writing)?;
    Ok(())
}

/// Checks that all output files are different, and that none is an input. Outputs are given with their options.
pub fn check_distinct(outputs: &[(&str, &Path)], inputs: &[&Path]) -> Result<()> {
    for (n, (option, output)) in outputs.iter().enumerate() {
        let place = place_of(output);
        for (other, before) in outputs.iter().take(n) {
            ensure!(
                place_of(before) != place,
                "{option} and {other} name the same file, {}",
                output.display()
            );
        }
        ensure!(
            !inputs.iter().any(|input| place_of(input) == place),
            "{option} would replace {}, which is read",
            output.display()
        );
    }
    Ok(())
}

/// The path of a file without links. The file need not exist.
fn place_of(file: &Path) -> PathBuf {
    let dir = || disk::parent(file).canonicalize().ok();
    let place = file.canonicalize().ok();
    let place = place.or_else(|| Some(dir()?.join(file.file_name()?)));
    place.unwrap_or_else(|| file.to_owned())
}

/// Writes a file completely or, after an error, not at all.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    disk::replace(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// The name and the path of a run that is given as NAME=PATH; `None` and the path if there is no name. A word with a bracket before the equals sign
/// is a measure, and a path that exists has no name.
pub fn named_run(typed: &Path) -> (Option<&str>, &Path) {
    let named = typed.to_str().and_then(|text| text.split_once('='));
    match named {
        Some((name, path)) if !name.is_empty() && !name.contains('(') && !typed.exists() => {
            (Some(name), Path::new(path))
        }
        _ => (None, typed),
    }
}

/// Checks that at most one of the runs and judgements of a command, each as [NAME=]PATH, is standard input.
///
/// # Errors
/// Several are.
pub fn check_once<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let files = files.into_iter();
    let count = files
        .filter(|file| stdin::is_stdin(named_run(file).1))
        .count();
    ensure!(
        count <= 1,
        "only one run or file of judgements can be standard input (-), not {count}"
    );
    Ok(())
}

/// A run, and its name if one was given.
pub struct NamedRun {
    pub name: Option<String>,
    pub path: PathBuf,
}

impl NamedRun {
    /// The run that a word names: a path, or NAME=PATH. `None` if there is no such path; then the word can be a measure.
    ///
    /// # Errors
    /// The word is NAME=PATH, and the path does not exist.
    pub fn parse(word: &str) -> Result<Option<NamedRun>> {
        let (name, path) = named_run(Path::new(word));
        let exists = path.exists() || stdin::is_stdin(path);
        ensure!(
            exists || name.is_none(),
            "there is no file {}, which {word} names",
            path.display()
        );
        Ok(exists.then(|| NamedRun {
            name: name.map(|name| escaped(name).to_string()),
            path: path.to_owned(),
        }))
    }
}

/// The name of each run: the given one, or that of its file.
pub(crate) fn names_of_runs(runs: &[NamedRun]) -> Vec<String> {
    let paths: Vec<PathBuf> = runs.iter().map(|run| run.path.clone()).collect();
    let names = runs.iter().zip(run_names(&paths));
    names
        .map(|(run, name)| run.name.clone().unwrap_or(name))
        .collect()
}

/// Reads a run: its path and its bytes. `run`, which can have a name ([`named_run`]), is a file, `-` for standard input or, as on TIRA, a directory with
/// a run.txt, possibly in a directory named output. As in the organisers' scripts, a .txt file with another name is used if it is the only one.
pub(crate) fn read_run(run: &Path, stdin: &Stdin) -> Result<(PathBuf, Vec<u8>)> {
    let (_, run) = named_run(run);
    if stdin::is_stdin(run) {
        return Ok((run.to_owned(), stdin.read(MAX_RUN_BYTES)?));
    }
    let path = if run.is_dir() {
        let names = ["run.txt", "run.txt.gz", "run.txt.zst", "results.jsonl"];
        let dirs = [run.to_owned(), run.join("output")];
        let paths = dirs.iter().flat_map(|dir| names.map(|name| dir.join(name)));
        match regular::first_of(paths)? {
            Some(path) => path,
            None => only_text_file(run)?,
        }
    } else {
        run.to_owned()
    };
    let bytes = read_judged(&path, MAX_RUN_BYTES)?;
    Ok((path, bytes))
}

fn only_text_file(dir: &Path) -> Result<PathBuf> {
    let reading = || format!("cannot look for a run in {}", dir.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(dir).with_context(reading)? {
        texts.push(entry.with_context(reading)?.path());
    }
    texts.retain(|path| path.extension().is_some_and(|e| e == "txt"));
    let (dir, count) = (dir.display(), texts.len());
    match texts.pop() {
        Some(path) if count == 1 => Ok(path),
        Some(_) => {
            bail!("there is no run.txt in {dir}, but {count} other .txt files: name one of them")
        }
        None => bail!("there is no run in {dir}: neither run.txt nor results.jsonl"),
    }
}

/// A file of judgements.
pub(crate) struct JudgementsFile {
    /// The name that the user has given, or the stem of the file's name.
    pub name: String,
    pub qrels: Qrels,
    /// [`qrels::are_of_touche`]
    pub are_of_touche: bool,
    /// Number of lines that could not be read.
    pub errors: usize,
}

/// The bytes of a file of judgements; `-` is standard input.
fn read_bytes_of_judgements(path: &Path, stdin: &Stdin) -> Result<Vec<u8>> {
    match stdin::is_stdin(path) {
        true => stdin.read(MAX_RUN_BYTES),
        false => read_judged(path, MAX_RUN_BYTES),
    }
}

/// Reads the judgements that an argument [NAME=]FILE names. Reports the lines that cannot be read, and the topics without a relevant document.
///
/// # Errors
/// The file cannot be read, or contains no judgement.
pub(crate) fn read_judgements(
    argument: &str,
    stdin: &Stdin,
    on_event: &mut OnEvent,
) -> Result<JudgementsFile> {
    let whole = Path::new(argument);
    let stem = || whole.file_stem().unwrap_or_default().to_string_lossy();
    let (name, path) = match argument.split_once('=') {
        Some((name, path)) if !whole.exists() => (name.to_owned(), Path::new(path)),
        _ => (stem().into_owned(), whole),
    };
    let file = path.display();
    ensure!(
        !path.is_dir(),
        "{file} is a directory: judgements are a file (--qrels FILE)"
    );
    let text = decode(read_bytes_of_judgements(path, stdin)?);
    let (qrels, errors) = qrels::read(&text);
    report_broken_lines(FaultKind::Judgement, path, &errors, on_event);
    ensure!(!qrels.is_empty(), "there is no judgement in {file}");
    if let (Some(grades), false) = (qrels.grades(), matches!(qrels, Qrels::Answers(_))) {
        report_without_relevant(path, grades, on_event);
    }
    Ok(JudgementsFile {
        name,
        qrels,
        are_of_touche: qrels::are_of_touche(&text),
        errors: errors.len(),
    })
}

fn report_without_relevant(path: &Path, grades: &GradedQrels, on_event: &mut OnEvent) {
    let topics: Vec<&str> = grades
        .iter()
        .filter(|(_, of_topic)| of_topic.values().all(|grade| *grade <= 0.0))
        .map(|(topic, _)| topic.0.as_str())
        .collect();
    if !topics.is_empty() {
        on_event(Event::note(format!(
            "{}: no document is relevant to topic {}: it counts as 0, except in the organisers' nDCG",
            path.display(),
            topics.join(", ")
        )));
    }
}

/// Whether a word names a file of judgements: some of its lines are judgements, and none is a line of a run. What can be both, such as ranx's JSON, is a
/// run.
pub fn has_judgements(word: &str, stdin: &Stdin) -> bool {
    let (_, path) = named_run(Path::new(word));
    if !path.is_file() && !stdin::is_stdin(path) {
        return false;
    }
    // a file that cannot be read is reported as a run
    let Ok(bytes) = read_bytes_of_judgements(path, stdin) else {
        return false;
    };
    let text = decode(bytes);
    let (qrels, _) = qrels::read(&text);
    let (lines, errors) = run::read_texts(&text);
    let odd = errors.iter().filter(|error| error.is_read).count();
    // judgements with five columns could be read as odd lines of a run, so only other lines count
    !qrels.is_empty() && lines.len() == odd
}

/// Whether a word names a run that can be no judgements: a directory, or a file with lines of a run and no judgement.
pub fn is_only_run(word: &str, stdin: &Stdin) -> bool {
    let (_, path) = named_run(Path::new(word));
    if path.is_dir() {
        return true;
    }
    if !path.is_file() {
        return false;
    }
    let Ok(bytes) = read_bytes_of_judgements(path, stdin) else {
        return false;
    };
    let text = decode(bytes);
    qrels::read(&text).0.is_empty() && !run::read_texts(&text).0.is_empty()
}

/// Decodes UTF-8. Each invalid byte becomes a private character of its own, so that ids with different bytes stay different.
pub(crate) fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| decoded(error.as_bytes()).into_owned())
}
