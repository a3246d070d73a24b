//! Where files are that were not named, and how they are written.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use etcetera::BaseStrategy;
use sha2::{Digest, Sha256};

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
