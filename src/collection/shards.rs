//! A text collection that is divided into shards, each with separate indexes. `riposte merge` makes it from the results of a cluster.
//!
//! The file `riposte-shards.json` lists the shards: `{"format": 1, "task": "comparative", "shards": ["00000", "00001", …], "content": "…"}`. A shard
//! is a directory beside the file, with an index for each analyzer. Each of these indexes stores the shard's texts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use riposte_eval::TextTask;
use riposte_eval::lines::JsonObject;
use serde::{Deserialize, Serialize};

use crate::directories::WORKSPACE_FILE;
use crate::disk::{regular, replace};
use crate::limits::{MAX_SHARD_LIST_BYTES, MAX_SHARDS};

/// The name of the file.
pub const FILE: &str = "riposte-shards.json";

/// The version of the format of the file.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct List {
    format: u32,
    task: String,
    shards: Vec<String>,
    /// Identifies the contents of the shards.
    content: String,
}

/// A directory of shards.
#[derive(Clone, Debug)]
pub struct ShardCollection {
    /// The path of the list.
    pub file: PathBuf,
    /// The task that the texts of the shards belong to.
    pub task: TextTask,
    /// The workspace of each shard; the shard's indexes are beside it.
    pub bases: Vec<PathBuf>,
}

impl ShardCollection {
    /// Finds the shards in a directory; `None` if it contains no list of shards.
    ///
    /// # Errors
    /// The file cannot be read, or is not a list of shards.
    pub fn find(dir: &Path) -> Result<Option<Self>> {
        let file = dir.join(FILE);
        if !regular::is_file(&file)? {
            return Ok(None);
        }
        let reading = || format!("cannot read {}", file.display());
        let bytes = regular::read(&file, MAX_SHARD_LIST_BYTES).with_context(reading)?;
        let JsonObject(list): JsonObject<List> =
            serde_json::from_slice(&bytes).with_context(reading)?;
        let is_name = |name: &String| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        ensure!(
            list.format == FORMAT
                && list.shards.len() <= MAX_SHARDS
                && list.shards.iter().all(is_name),
            "{} is not a list of shards that this version of riposte can read",
            file.display()
        );
        Ok(Some(ShardCollection {
            task: TextTask::parse(&list.task)
                .with_context(|| format!("{}: there is no task {:?}", file.display(), list.task))?,
            bases: (list.shards.iter())
                .map(|name| dir.join(name).join(WORKSPACE_FILE))
                .collect(),
            file,
        }))
    }

    /// Writes the list of the shards in a directory.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn write(dir: &Path, task: TextTask, shards: &[String], content: &str) -> Result<()> {
        let list = List {
            format: FORMAT,
            task: task.word().to_owned(),
            shards: shards.to_vec(),
            content: content.to_owned(),
        };
        let file = dir.join(FILE);
        let written = replace(&file, &serde_json::to_vec(&list)?);
        written.with_context(|| format!("cannot write {}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_too_long_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let shards: Vec<String> = (0..MAX_SHARDS).map(|shard| format!("{shard:05}")).collect();
        let file = dir.path().join(FILE);
        ShardCollection::write(dir.path(), TextTask::Rank, &shards, "content").unwrap();
        let found = ShardCollection::find(dir.path()).unwrap().unwrap();
        assert_eq!(found.bases.len(), MAX_SHARDS);
        let length = std::fs::metadata(&file).unwrap().len();
        assert!(length * 10 <= MAX_SHARD_LIST_BYTES, "{length}");

        let most = usize::try_from(MAX_SHARD_LIST_BYTES).unwrap();
        let mut list = std::fs::read(&file).unwrap();
        list.resize(most + 1, b' ');
        std::fs::write(&file, list).unwrap();
        let error = ShardCollection::find(dir.path()).err().unwrap();
        assert!(
            format!("{error:#}").contains("more than 1048576 bytes"),
            "{error:#}"
        );
    }
}
