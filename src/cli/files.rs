//! Default paths, and reading and writing of the files that users name.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use etcetera::BaseStrategy;
use sha2::{Digest, Sha256};

use crate::collection::{self, read_bytes};
use crate::trec::qrels::{self, GradedQrels, Qrels};
use crate::trec::topic::Topic;

/// Reads the topics in `file`, or else those of the collection: `topics.xml`, or TIREx's `queries.jsonl` if there is no `topics.xml`.
pub fn read_topics(file: Option<&Path>, collection: &Path) -> Result<Vec<Topic>> {
    if let Some(file) = file {
        return collection::read_topics(file);
    }
    let queries = collection.join("queries.jsonl");
    let topics = collection.join("topics.xml");
    let use_queries = queries.is_file() && !topics.exists();
    collection::read_topics(if use_queries { &queries } else { &topics })
}

/// The evidence store that was asked for, or else the default one of the collection.
pub(crate) fn evidence_store(file: Option<&Path>, collection: &Path) -> Result<PathBuf> {
    match file {
        Some(file) => Ok(file.to_owned()),
        None => default_store(collection, "--evidence"),
    }
}

/// The path of an SQLite file for what is computed about a collection. Its name depends on the path of the collection. It is in the
/// user's cache directory or, if that cannot be written (in a sandbox), in the directory for temporary files. Messages tell the
/// user to choose another path with `option`.
pub(crate) fn default_store(collection: &Path, option: &str) -> Result<PathBuf> {
    let path = collection
        .canonicalize()
        .with_context(|| format!("cannot find {}", collection.display()))?;
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let hash: String = hash[..6].iter().map(|b| format!("{b:02x}")).collect();
    let name = path
        .file_name()
        .map_or_else(|| "collection".into(), |n| n.to_string_lossy().into_owned());
    let file = format!("{name}-{hash}.sqlite");
    let is_writable =
        |dir: &Path| fs::create_dir_all(dir).is_ok() && tempfile::tempfile_in(dir).is_ok();
    if let Ok(strategy) = etcetera::choose_base_strategy() {
        let cache = strategy.cache_dir().join("riposte");
        if is_writable(&cache) {
            return Ok(cache.join(file));
        }
    }
    let temporary = std::env::temp_dir().join("riposte");
    if !is_writable(&temporary) {
        bail!(
            "neither the cache directory nor {} can be written: choose another place with {option}",
            temporary.display()
        );
    }
    eprintln!(
        "note: the cache directory cannot be written; using {}, which may be deleted ({option} chooses another place)",
        temporary.display()
    );
    Ok(temporary.join(file))
}

/// Writes a file completely or, after an error, not at all.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let writing = || format!("cannot write {}", path.display());
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".riposte-")
        .tempfile_in(dir)
        .with_context(writing)?;
    file.write_all(bytes).with_context(writing)?;
    file.as_file().sync_all().with_context(writing)?;
    #[cfg(unix)]
    {
        // only its owner may read a temporary file, but others must be able to evaluate a run
        use std::os::unix::fs::PermissionsExt;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o644))
            .with_context(writing)?;
    }
    file.persist(path).with_context(writing)?;
    Ok(())
}

/// Reads a run: its path and its bytes. `run` is a file or, as on TIRA, a directory that contains run.txt, possibly in a directory
/// named output. Like the organisers' scripts, this takes a .txt file of any other name if it is the only one.
pub(crate) fn read_run(run: &Path) -> Result<(PathBuf, Vec<u8>)> {
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
    let bytes = read_bytes(&path)?;
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
        Err(texts) => bail!(
            "there is no run.txt in {}, but {} other .txt files",
            dir.display(),
            texts.len()
        ),
    }
}

/// A file of judgements.
pub(crate) struct JudgementsFile {
    /// The name that the user gave to it, or else the file's stem.
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
    let (qrels, errors) = qrels::read(&decode(read_bytes(path)?));
    for error in &errors {
        eprintln!("{}: {error}", path.display());
    }
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
        eprintln!(
            "{}: no document is relevant to topic {}: it counts as 0, except in the organisers' nDCG",
            path.display(),
            topics.join(", ")
        );
    }
}

/// Decodes UTF-8. Invalid bytes become U+FFFD.
pub fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
