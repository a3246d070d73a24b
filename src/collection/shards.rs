//! A text collection that is divided into shards, each with its indexes: what `riposte merge` takes from a cluster.
//!
//! The file `riposte-shards.json` lists them: `{"format": 1, "task": "comparative", "shards": ["00000", "00001", …], "content": "…"}`. A shard is a
//! directory beside the file, with an index for each analyzer. Its texts are stored in each of them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::regular;
use crate::disk::replace;
use crate::trec::TextTask;

/// The name of the file.
pub const FILE: &str = "riposte-shards.json";

/// In each shard, the path beside which its indexes are, as [`crate::index::corpus::directory`] takes it.
pub const BASE: &str = "texts.sqlite";

/// Changes when the file changes.
const FORMAT: u32 = 1;

/// Maximum number of shards. All of them are open at once.
const MAX_SHARDS: usize = 10_000;

#[derive(Debug, Serialize, Deserialize)]
struct List {
    format: u32,
    task: String,
    shards: Vec<String>,
    /// Identifies what is in them.
    content: String,
}

/// A directory with shards.
#[derive(Clone, Debug)]
pub struct ShardCollection {
    file: PathBuf,
    task: TextTask,
    shards: Vec<PathBuf>,
    content: String,
}

impl ShardCollection {
    /// Finds the shards in a directory; `None` if there is no list of them.
    ///
    /// # Errors
    /// The list cannot be read, or is none.
    pub fn find(dir: &Path) -> Result<Option<Self>> {
        let file = dir.join(FILE);
        if !file.is_file() {
            return Ok(None);
        }
        let reading = || format!("cannot read {}", file.display());
        let list: List = serde_json::from_reader(regular::open(&file).with_context(reading)?)
            .with_context(reading)?;
        let is_name = |name: &String| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        ensure!(
            list.format == FORMAT
                && list.shards.len() <= MAX_SHARDS
                && list.shards.iter().all(is_name),
            "{} is no list of shards that this version of riposte reads",
            file.display()
        );
        Ok(Some(ShardCollection {
            task: TextTask::parse(&list.task)
                .with_context(|| format!("{}: there is no task {:?}", file.display(), list.task))?,
            shards: list.shards.iter().map(|name| dir.join(name)).collect(),
            content: list.content,
            file,
        }))
    }

    /// Writes the list of the shards in a directory.
    ///
    /// # Errors
    /// It cannot be written.
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

    /// The task whose texts they have.
    pub fn task(&self) -> TextTask {
        self.task
    }

    /// The list.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The path in each shard beside which its indexes are.
    pub fn bases(&self) -> Vec<PathBuf> {
        self.shards.iter().map(|shard| shard.join(BASE)).collect()
    }

    /// Identifies what is in the shards.
    pub fn content(&self) -> &str {
        &self.content
    }
}
