//! Where files are that were not named, and how they are written.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use etcetera::BaseStrategy;
use sha2::{Digest, Sha256};

use crate::collection::read_bytes;
use crate::trec::qrels::{self, Qrels};

/// The collection's own topics: `topics.xml`, or TIREx's `queries.jsonl` where only that is there.
pub fn default_topics(collection: &Path) -> PathBuf {
    let queries = collection.join("queries.jsonl");
    let topics = collection.join("topics.xml");
    match queries.is_file() && !topics.exists() {
        true => queries,
        false => topics,
    }
}

/// A file for what is kept of this collection, named by its place: in the user's cache directory, or where
/// there is none that can be written (a sandbox), in the directory for temporary files. `option` names another place.
pub fn default_store(collection: &Path, option: &str) -> Result<PathBuf> {
    let place = collection
        .canonicalize()
        .with_context(|| format!("cannot find {}", collection.display()))?;
    let hash = Sha256::digest(place.as_os_str().as_encoded_bytes());
    let hash: String = hash[..6].iter().map(|b| format!("{b:02x}")).collect();
    let name = place
        .file_name()
        .map_or_else(|| "collection".into(), |n| n.to_string_lossy().into_owned());
    let file = format!("{name}-{hash}.sqlite");
    let writable =
        |dir: &Path| std::fs::create_dir_all(dir).is_ok() && tempfile::tempfile_in(dir).is_ok();
    if let Ok(strategy) = etcetera::choose_base_strategy() {
        let cache = strategy.cache_dir().join("riposte");
        if writable(&cache) {
            return Ok(cache.join(file));
        }
    }
    let temporary = std::env::temp_dir().join("riposte");
    if !writable(&temporary) {
        bail!("there is no directory for what is kept of a collection: name a place with {option}");
    }
    eprintln!(
        "note: the cache directory cannot be written; what is kept goes to {} and may not last ({option} names another place)",
        temporary.display()
    );
    Ok(temporary.join(file))
}

/// Writes a file whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
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
        // a temporary file is its owner's alone; a run is read by the evaluator too
        use std::os::unix::fs::PermissionsExt;
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o644))
            .with_context(writing)?;
    }
    file.persist(path).with_context(writing)?;
    Ok(())
}

/// The run's file and its bytes. TIRA hands runs as a file, or as a directory that holds run.txt, or one that
/// holds such a directory named output; the organisers' scripts take the only .txt file of whatever name.
pub fn read_run(run: &Path) -> Result<(PathBuf, Vec<u8>)> {
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
            "there is no run.txt in {}, and {} other .txt files",
            dir.display(),
            texts.len()
        ),
    }
}

/// The judgements in a file that is given as [NAME=]FILE: their name, what they say, and how many lines could not be read
/// (they are printed). Errors: there is none that can be.
pub fn read_judgements(argument: &str) -> Result<(String, Qrels, usize)> {
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
        let nothing: Vec<&str> = grades
            .iter()
            .filter(|(_, of)| of.values().all(|grade| *grade <= 0.0))
            .map(|(topic, _)| topic.0.as_str())
            .collect();
        if !nothing.is_empty() {
            eprintln!(
                "{}: nothing is relevant to topic {}: it counts as 0, but for the organisers' nDCG",
                path.display(),
                nothing.join(", ")
            );
        }
    }
    Ok((name, qrels, errors.len()))
}

/// What is not UTF-8 becomes \u{fffd}.
pub fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
