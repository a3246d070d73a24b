//! The shards of an index in Parquet files, as `riposte-spark index` writes them. Each row has a part of a file.
//!
//! The columns are `shard` (a number), `path` (of the file, in the shard's directory), `offset` (where the part begins in the file) and `content`.
//! Each shard has a file `shard.json` with the task, the number of all shards and the number of its own texts: `{"task": "comparative", "shards":
//! 400, "texts": 2000000}`.

#![expect(clippy::disallowed_methods, reason = "renaming to it then fails")]

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use parquet::record::{Field, Row};
use riposte_eval::TextTask;
use riposte_eval::lines::JsonObject;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::collection::frames::is_inside;
use crate::collection::parquet::{each_row, files};
use crate::collection::shards::ShardCollection;
use crate::disk::{TemporaryDir, hex, parent, regular};
use crate::index::inverted::{IndexDamage, InvertedIndex};
use crate::limits::{MAX_SEGMENT_LIST_BYTES, MAX_SHARD_ABOUT_BYTES};

/// The directory with the Parquet files.
const ROWS: &str = "parts";

/// The file in each shard that describes it.
const ABOUT: &str = "shard.json";

#[derive(Deserialize)]
struct About {
    task: String,
    shards: u32,
    /// Number of texts in the shard. A shard without texts has no index.
    texts: u64,
}

/// What [`unpack`] has written.
#[derive(Debug)]
pub struct Unpacked {
    pub task: TextTask,
    pub shards: usize,
    pub bytes: u64,
}

/// Whether a directory has packed shards.
pub fn is_packed(dir: &Path) -> bool {
    dir.join(ROWS).is_dir()
}

/// Writes the files of all shards in `dir` into a new directory, from which the text commands read. After an error, the directory does not exist.
///
/// # Errors
/// A Parquet file cannot be read or has other columns, a shard is missing, the indexes are those of images, or `into` exists.
pub fn unpack(dir: &Path, into: &Path) -> Result<Unpacked> {
    ensure!(
        !into.exists(),
        "{} already exists: an index is merged into a new directory",
        into.display()
    );
    let rows = dir.join(ROWS);
    let listed = files(&rows)?;
    let building = || format!("cannot write to {}", parent(into).display());
    fs::create_dir_all(parent(into)).with_context(building)?;
    let built = TemporaryDir::with_prefix(parent(into), ".riposte-").with_context(building)?;
    let mut open = Open::default();
    let mut bytes = 0;
    for file in &listed {
        each_row(file, None, &mut |row| {
            let part = Part::new(row)?;
            bytes += part.content.len() as u64;
            open.write(built.path(), &part)
        })?;
    }
    drop(open);
    let (task, shards) = check(built.path(), &rows)?;
    // damage is found by the checksums of an index: Parquet files have none
    verify(built.path(), &shards).with_context(|| format!("{} is damaged", rows.display()))?;
    let content = content_of(built.path(), &shards)?;
    ShardCollection::write(built.path(), task, &shards, &content)?;
    built
        .rename(into)
        .with_context(|| format!("cannot rename what was written to {}", into.display()))?;
    Ok(Unpacked {
        task,
        shards: shards.len(),
        bytes,
    })
}

/// A row: a part of a file.
struct Part {
    shard: u32,
    path: PathBuf,
    offset: u64,
    content: Vec<u8>,
}

impl Part {
    fn new(row: Row) -> Result<Part> {
        let mut columns: HashMap<String, Field> = row.into_columns().into_iter().collect();
        let mut number = |name: &str| match columns.remove(name) {
            Some(Field::Int(number)) => u64::try_from(number).ok(),
            Some(Field::Long(number)) => u64::try_from(number).ok(),
            _ => None,
        };
        let (shard, offset) = (number("shard"), number("offset"));
        let path = match columns.remove("path") {
            Some(Field::Str(path)) => path,
            _ => bail!("a row has no path"),
        };
        let content = match columns.remove("content") {
            Some(Field::Bytes(content)) => content.data().to_vec(),
            _ => bail!("{path:?} has no content"),
        };
        ensure!(is_inside(&path), "{path:?} is not a path within a shard");
        let shard = shard.and_then(|shard| u32::try_from(shard).ok());
        Ok(Part {
            shard: shard.with_context(|| format!("{path:?} has no shard"))?,
            offset: offset.with_context(|| format!("{path:?} has no offset"))?,
            path: path.into(),
            content,
        })
    }
}

/// The file that was written last. It stays open, because the parts of a file follow each other.
#[derive(Default)]
struct Open(Option<(PathBuf, File)>);

impl Open {
    fn write(&mut self, dir: &Path, part: &Part) -> Result<()> {
        let path = dir.join(name(part.shard)).join(&part.path);
        let writing = || format!("cannot write {}", path.display());
        if self.0.as_ref().is_none_or(|(open, _)| *open != path) {
            fs::create_dir_all(parent(&path)).with_context(writing)?;
            let mut options = File::options();
            options.create(true).truncate(false).write(true);
            let file = options.open(&path);
            self.0 = Some((path.clone(), file.with_context(writing)?));
        }
        let (_, file) = self.0.as_mut().context("no file is open")?;
        let sought = file.seek(SeekFrom::Start(part.offset));
        sought
            .and_then(|_| file.write_all(&part.content))
            .with_context(writing)
    }
}

/// The directory of a shard.
fn name(shard: u32) -> String {
    format!("{shard:05}")
}

/// Checks that no shard is missing. Returns the task, and the names of the shards that have texts.
fn check(dir: &Path, rows: &Path) -> Result<(TextTask, Vec<String>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let about = path.join(ABOUT);
        let reading = || format!("cannot read {}", about.display());
        let bytes = regular::read(&about, MAX_SHARD_ABOUT_BYTES).with_context(reading)?;
        let JsonObject(about): JsonObject<About> =
            serde_json::from_slice(&bytes).with_context(reading)?;
        found.insert(path, about);
    }
    let first = found.values().next();
    let About { task, shards, .. } = first.context("there are no shards")?;
    let is_same = |about: &About| about.task == *task && about.shards == *shards;
    let names: Vec<String> = (0..*shards).map(name).collect();
    let about = |name: &String| found.get(&dir.join(name));
    let missing = names.iter().filter(|name| about(name).is_none()).count();
    ensure!(
        missing == 0 && found.len() == names.len() && found.values().all(is_same),
        "{}: there are {} shards, and {missing} of {shards} are missing",
        rows.display(),
        found.len()
    );
    let known = TextTask::parse(task).with_context(|| format!("there is no task {task:?}"))?;
    let has_texts = |name: &String| about(name).is_some_and(|about| about.texts > 0);
    Ok((known, names.into_iter().filter(has_texts).collect()))
}

/// The indexes of a shard, sorted by name.
fn indexes(shard: &Path) -> Result<Vec<PathBuf>> {
    let paths = fs::read_dir(shard)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}

/// Compares all files of all indexes with their checksums.
fn verify(dir: &Path, shards: &[String]) -> Result<()> {
    for shard in shards {
        for index in indexes(&dir.join(shard))? {
            InvertedIndex::check(&index).map_err(|error| {
                match error.downcast::<IndexDamage>() {
                    Ok(damage) => anyhow!("shard {shard}: {}", damage.what()),
                    Err(error) => error,
                }
            })?;
        }
    }
    Ok(())
}

/// Identifies the content of the shards: a hash of the lists of segments of their indexes. It differs between builds, because segments have random
/// names.
fn content_of(dir: &Path, shards: &[String]) -> Result<String> {
    let mut hash = Sha256::new();
    for shard in shards {
        for index in indexes(&dir.join(shard))? {
            hash.update(regular::read(
                &index.join("meta.json"),
                MAX_SEGMENT_LIST_BYTES,
            )?);
        }
    }
    Ok(hex(&hash.finalize()))
}
