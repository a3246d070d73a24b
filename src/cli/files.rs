//! Default paths, and reading and writing of files that users name.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use etcetera::BaseStrategy;

use super::args::{CACHE, CacheArgs};
use super::terminal;
use crate::collection::{self, ReadTopics, read_bytes};
use crate::disk;
use crate::task::cache;
use crate::trec::edition::{EDITIONS, Edition};
use crate::trec::qrels::{self, GradedQrels, Qrels};
use crate::trec::topic::Topic;
use crate::trec::{LineError, escaped};

/// Maximum size of a run, a file of judgements or a list of ids, after decompression. The largest ones of the lab have a tenth of it.
pub(super) const MAX_RUN_BYTES: u64 = 256 << 20;

/// Number of broken lines of a file that are printed. A run of another task has hundreds.
const PRINTED_LINES: usize = 10;

/// The names of the files of topics of TIREx and BEIR, in the order in which they are tried.
const QUERIES: [&str; 3] = ["queries.jsonl", "queries.jsonl.gz", "queries.xml"];

/// The collection's own file of topics, if it has one: that of an edition of the lab or, without one, of TIREx or BEIR.
pub(super) fn own_topics(collection: &Path) -> Option<PathBuf> {
    let names = EDITIONS.iter().map(|edition| edition.file).chain(QUERIES);
    let mut files = names.map(|name| collection.join(name));
    files.find(|file| file.exists())
}

/// Reads the topics in `file`, or those of the collection ([`own_topics`]). Prints broken topics.
pub fn read_topics(file: Option<&Path>, collection: &Path) -> Result<ReadTopics> {
    let own = || own_topics(collection).unwrap_or_else(|| collection.join(Edition::first().file));
    let path = file.map_or_else(own, Path::to_owned);
    let mut read = collection::read_topics_with_faults(&path)?;
    for fault in read.faults.iter().take(PRINTED_LINES) {
        say!("{fault}");
    }
    say_more(&path, read.faults.len());
    if file.is_none() {
        keep_tested(&mut read.topics, collection)?;
    }
    Ok(read)
}

/// Prints the lines of a file that cannot be read: the first ones, and the number of the others.
pub(super) fn say_broken_lines(path: &Path, errors: &[LineError]) {
    for error in errors.iter().take(PRINTED_LINES) {
        say!("{}: {error}", escaped(&path.to_string_lossy()));
    }
    say_more(path, errors.len());
}

/// Prints how many broken lines of a file have not been printed.
fn say_more(path: &Path, count: usize) {
    if let Some(more @ 1..) = count.checked_sub(PRINTED_LINES) {
        say!(
            "{}: {} cannot be read",
            escaped(&path.to_string_lossy()),
            terminal::counted(more, "more line", "more lines")
        );
    }
}

/// Leaves out the queries that are not in the collection's `qrels/test.tsv`, if it has one. BEIR has queries for training and for tests in one
/// file, and evaluates those for tests.
fn keep_tested(topics: &mut Vec<Topic>, collection: &Path) -> Result<()> {
    let path = collection.join("qrels/test.tsv");
    if !path.is_file() {
        return Ok(());
    }
    let (Qrels::Graded(tested), _) = qrels::read(&decode(read_bytes(&path, MAX_RUN_BYTES)?)) else {
        return Ok(());
    };
    let is_tested = |topic: &Topic| tested.contains_key(&topic.id);
    let (all, kept) = (
        topics.len(),
        topics.iter().filter(|topic| is_tested(topic)).count(),
    );
    // if no query is judged, the judgements belong to other queries
    if kept > 0 && kept < all {
        topics.retain(is_tested);
        say!(
            "note: {kept} of {all} queries are judged in {}: the others are left out (--topics uses all queries of a file)",
            path.display()
        );
    }
    Ok(())
}

/// Checks before the work that a file can be written: creates its directory, and a temporary file in it.
pub(super) fn check_writable(file: &Path) -> Result<()> {
    let writing = || format!("cannot write {}", file.display());
    ensure!(!file.is_dir(), "{}: it is a directory", writing());
    ensure!(
        file.file_name().is_some(),
        "{}: it names no file",
        writing()
    );
    let dir = disk::parent(file);
    fs::create_dir_all(dir).with_context(writing)?;
    tempfile::tempfile_in(dir).with_context(writing)?;
    Ok(())
}

/// Checks before the work that the files of a run can be written to the output directory, which is created. Returns their paths.
pub(super) fn check_run_writable(output: &Path, names: &[&str]) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(output)
        .with_context(|| format!("cannot create the output directory {}", output.display()))?;
    let files: Vec<PathBuf> = names.iter().map(|name| output.join(name)).collect();
    files.iter().try_for_each(|file| check_writable(file))?;
    Ok(files)
}

/// Checks that all output files are different, and that none is an input. Outputs are given with their options.
pub(super) fn check_distinct(outputs: &[(&str, &Path)], inputs: &[&Path]) -> Result<()> {
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
    let dir = || {
        Some(
            disk::parent(file)
                .canonicalize()
                .ok()?
                .join(file.file_name()?),
        )
    };
    let place = file.canonicalize().ok().or_else(dir);
    place.unwrap_or_else(|| file.to_owned())
}

/// The chosen evidence store, or the default one of the collection.
pub(crate) fn evidence_store(
    file: Option<&Path>,
    collection: &Path,
    cache: &CacheArgs,
) -> Result<PathBuf> {
    match file {
        Some(file) => Ok(file.to_owned()),
        None => default_store(collection, "--evidence", cache),
    }
}

/// The workspace of a collection. Its name depends on the path of the collection. It is in the cache directory (the chosen one, or that of the user)
/// or, if that cannot be written (in a sandbox), in a private directory for temporary files. Messages tell the user to choose another place with
/// `option`. Until the process ends, `riposte cache clear` removes nothing of this collection.
pub(crate) fn default_store(collection: &Path, option: &str, cache: &CacheArgs) -> Result<PathBuf> {
    let path = collection
        .canonicalize()
        .with_context(|| format!("cannot find {}", collection.display()))?;
    let dir = writable_cache(cache.dir.as_deref(), option)?;
    let workspace = cache::workspace(&dir, &path)?;
    if !workspace.exists() {
        note_earlier_builds(&cache::of_earlier_builds(&dir, &path), &workspace);
    }
    Ok(workspace)
}

/// Names what earlier builds have stored about a collection whose workspace is new.
fn note_earlier_builds(stored: &[PathBuf], workspace: &Path) {
    if !stored.is_empty() {
        let named: Vec<String> = stored
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        say!(
            "note: an earlier build of riposte has stored {}: everything is made anew, except that `riposte merge {} OLD.sqlite` copies evidence",
            named.join(", "),
            workspace.display()
        );
    }
}

/// The cache directory, or another directory if that cannot be written.
fn writable_cache(chosen: Option<&Path>, option: &str) -> Result<PathBuf> {
    let is_writable =
        |dir: &Path| fs::create_dir_all(dir).is_ok() && tempfile::tempfile_in(dir).is_ok();
    match cache_directory(chosen) {
        Some(dir) if is_writable(&dir) => return Ok(dir),
        // the user has chosen this directory, so no other is used
        Some(dir) if chosen.is_some() => bail!(
            "the cache directory {} cannot be written (--cache, {CACHE} or riposte.toml names it)",
            dir.display()
        ),
        _ => {}
    }
    let temporary = disk::private_directory(&std::env::temp_dir(), "riposte").with_context(|| {
        format!("the cache directory cannot be written, and nothing can take its place: choose another place with {option}")
    })?;
    say!(
        "note: the cache directory cannot be written; using {}, which may be deleted ({option} chooses another place)",
        temporary.display()
    );
    Ok(temporary)
}

/// The cache directory: the chosen one, or riposte in the user's cache directory. `None` if the user has none.
pub(super) fn cache_directory(chosen: Option<&Path>) -> Option<PathBuf> {
    if let Some(dir) = chosen {
        return Some(dir.to_owned());
    }
    let cache = match etcetera::choose_base_strategy() {
        Ok(strategy) => Some(strategy.cache_dir()),
        // a user without a home directory, as in a container, can have set this variable
        Err(_) => std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute()),
    };
    cache.map(|dir| dir.join("riposte"))
}

/// Writes a file completely or, after an error, not at all.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    disk::replace(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// The name and the path of a run that is given as NAME=PATH; `None` and the path if there is no name. A word with a bracket before the equals sign
/// is a measure, and a path that exists has no name.
pub(super) fn named_run(typed: &Path) -> (Option<&str>, &Path) {
    let named = typed.to_str().and_then(|text| text.split_once('='));
    match named {
        Some((name, path)) if !name.is_empty() && !name.contains('(') && !typed.exists() => {
            (Some(name), Path::new(path))
        }
        _ => (None, typed),
    }
}

/// Reads a run: its path and its bytes. `run`, which can have a name ([`named_run`]), is a file or, as on TIRA, a directory with a run.txt, possibly
/// in a directory named output. As in the organisers' scripts, a .txt file with another name is used if it is the only one.
pub(crate) fn read_run(run: &Path) -> Result<(PathBuf, Vec<u8>)> {
    let (_, run) = named_run(run);
    let path = if run.is_dir() {
        let names = ["run.txt", "run.txt.gz", "results.jsonl"];
        let known = [run.to_owned(), run.join("output")]
            .iter()
            .flat_map(|dir| names.map(|name| dir.join(name)))
            .find(|path| path.is_file());
        match known {
            Some(path) => path,
            None => only_text_file(run)?,
        }
    } else {
        run.to_owned()
    };
    let bytes = read_bytes(&path, MAX_RUN_BYTES)?;
    Ok((path, bytes))
}

fn only_text_file(dir: &Path) -> Result<PathBuf> {
    let reading = || format!("cannot look for a run in {}", dir.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(dir).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        if path.extension().is_some_and(|e| e == "txt") {
            texts.push(path);
        }
    }
    match <[PathBuf; 1]>::try_from(texts) {
        Ok([path]) => Ok(path),
        Err(texts) if texts.is_empty() => bail!(
            "there is no run in {}: neither run.txt nor results.jsonl",
            dir.display()
        ),
        Err(texts) => bail!(
            "there is no run.txt in {}, but {} other .txt files: name one of them",
            dir.display(),
            texts.len()
        ),
    }
}

/// A file of judgements.
pub(crate) struct JudgementsFile {
    /// The name that the user has given, or the stem of the file's name.
    pub name: String,
    pub qrels: Qrels,
    /// Number of lines that could not be read.
    pub errors: usize,
}

/// Reads the judgements that an argument [NAME=]FILE names. Prints the lines that cannot be read, and the topics without a relevant
/// document.
///
/// # Errors
/// The file cannot be read, or contains no judgement.
pub(crate) fn read_judgements(argument: &str) -> Result<JudgementsFile> {
    let named = argument
        .split_once('=')
        .filter(|_| !Path::new(argument).exists());
    let (name, path) = match named {
        Some((name, path)) => (name.to_owned(), Path::new(path)),
        None => {
            let path = Path::new(argument);
            let name = path.file_stem().unwrap_or_default();
            (name.to_string_lossy().into_owned(), path)
        }
    };
    ensure!(
        !path.is_dir(),
        "{} is a directory: judgements are a file (--qrels FILE)",
        path.display()
    );
    let (qrels, errors) = qrels::read(&decode(read_bytes(path, MAX_RUN_BYTES)?));
    say_broken_lines(path, &errors);
    let is_empty = match &qrels {
        Qrels::Images(images) => images.is_empty(),
        Qrels::Graded(grades) | Qrels::Answers(grades) => grades.is_empty(),
        Qrels::Stances(stances) => stances.is_empty(),
    };
    ensure!(!is_empty, "there is no judgement in {}", path.display());
    if let Qrels::Graded(grades) = &qrels {
        note_topics_without_relevant_documents(path, grades);
    }
    Ok(JudgementsFile {
        name,
        qrels,
        errors: errors.len(),
    })
}

fn note_topics_without_relevant_documents(path: &Path, grades: &GradedQrels) {
    let topics: Vec<&str> = grades
        .iter()
        .filter(|(_, of_topic)| of_topic.values().all(|grade| *grade <= 0.0))
        .map(|(topic, _)| topic.0.as_str())
        .collect();
    if !topics.is_empty() {
        say!(
            "{}: no document is relevant to topic {}: it counts as 0, except in the organisers' nDCG",
            escaped(&path.to_string_lossy()),
            escaped(&topics.join(", "))
        );
    }
}

/// Decodes UTF-8. Invalid bytes become U+FFFD.
pub fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
