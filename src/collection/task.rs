//! The tasks, and which of them a collection or a run is for.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use riposte_eval::TextTask;
use riposte_eval::verify::RunKind;
use serde::{Deserialize, Deserializer, de};

use crate::collection::texts::task_of;

/// A task of the lab, or the ranking of any texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Images for controversial questions or claims.
    Images,
    /// Arguments, passages, or other documents.
    Texts(TextTask),
}

impl Task {
    /// All tasks, in the order in which lists have them.
    pub const ALL: [Task; 4] = [
        Task::Images,
        Task::Texts(TextTask::Controversial),
        Task::Texts(TextTask::Comparative),
        Task::Texts(TextTask::Rank),
    ];

    /// The task whose command has this name.
    pub fn parse(word: &str) -> Option<Task> {
        Task::ALL.into_iter().find(|task| task.word() == word)
    }

    /// Infers the task from the names of the files in a directory. A collection of images and texts counts as images.
    ///
    /// # Errors
    /// There is no collection.
    pub fn of_collection(input: &Path) -> Result<Task> {
        if input.join("images").is_dir() {
            return Ok(Task::Images);
        }
        ensure!(
            input.exists(),
            "there is no file or directory {}",
            input.display()
        );
        let text_task = task_of(input).map(Task::Texts);
        text_task.with_context(|| {
            format!(
                "{} has no collection: neither images/, nor args-me.json, the files of a debate portal, passages.jsonl, corpus.jsonl or documents.jsonl (or choose a --task)",
                input.display()
            )
        })
    }

    /// Infers the task of a run with these bytes from its collection. If the collection has images and texts, the lines of the run decide.
    ///
    /// # Errors
    /// There is no collection.
    pub fn of_run(input: &Path, run: &[u8]) -> Result<Task> {
        match (Task::of_collection(input)?, task_of(input)) {
            (Task::Images, Some(of_texts)) if RunKind::of_run(run).task.is_some() => {
                Ok(Task::Texts(of_texts))
            }
            (task, _) => Ok(task),
        }
    }

    /// The text task; `None` for images.
    pub fn text(self) -> Option<TextTask> {
        match self {
            Task::Images => None,
            Task::Texts(task) => Some(task),
        }
    }

    /// Whether what is found has a stance, which is read in English only.
    pub fn has_sides(self) -> bool {
        self.text() != Some(TextTask::Rank)
    }

    /// The name of the task's command.
    pub fn word(self) -> &'static str {
        self.text().map_or("images", TextTask::word)
    }
}

impl From<Option<TextTask>> for Task {
    fn from(task: Option<TextTask>) -> Task {
        task.map_or(Task::Images, Task::Texts)
    }
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = &["images", "controversial", "comparative", "rank"];
        Task::parse(&word).ok_or_else(|| de::Error::unknown_variant(&word, known))
    }
}
