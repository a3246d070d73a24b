//! Makes a collection of any folder: of its pictures, its saved pages and its texts. It is in the cache directory, and is made again when a file of the
//! folder has changed. Every command that takes a collection takes such a folder.

mod texts;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use riposte_claims::claims;
use riposte_eval::{TextTask, objects};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::new_collection::{MIN_SIDE, NewCollection, NoImage, new_collection};
use crate::collection::images::ImageCollection;
use crate::collection::task::Task;
use crate::collection::texts::task_of as texts_in;
use crate::collection::{read_regular, saved};
use crate::disk::{self, Stamp, TemporaryDir, hex, regular};
use crate::events::{Event, OnEvent};
use crate::index::inverted::SHORT_WORDS;
use crate::language::other_language;
use crate::limits::MAX_FOLDER_RECORD_BYTES;
use crate::places::Places;
use crate::wording::counted;
use crate::workspace::Lock;
use crate::workspace::place::{MADE_COLLECTION, MADE_OF};

/// What is looked for in a folder.
const LOOKED_FOR: &str = "riposte looks for a collection (images/ in the layout of Touché, args-me.json or the files of a debate portal, passages.jsonl, corpus.jsonl or documents.jsonl; or choose a --task), for pictures (.png, .jpg, .webp, .gif and others), for saved pages (.html, .mhtml, .warc, .wacz), and for texts (.txt, .md)";

/// A collection that was made of a folder. While this exists, no other process replaces it.
#[derive(Debug)]
pub struct OwnFolder {
    /// Where it is.
    pub dir: PathBuf,
    folder: PathBuf,
    has_images: bool,
    has_texts: bool,
    /// `None` if others can replace it.
    reading: Option<Lock>,
}

/// A folder has nothing that a collection can be made of.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NothingThere(String);

/// What a collection was made of, and what it has.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// A hash of the names, sizes and times of all files, and of the version of riposte.
    made_of: String,
    images: usize,
    pages: usize,
    texts: usize,
    files_of_texts: usize,
    short_texts: usize,
}

impl OwnFolder {
    /// The collection of a folder or a file. It is made if there is none yet, or if a file has changed.
    ///
    /// # Errors
    /// There is nothing in the folder that a collection can be made of, or the cache cannot be written.
    pub fn open(folder: &Path, places: &Places, on_event: &mut OnEvent) -> Result<OwnFolder> {
        let shown = folder.display();
        let folder = folder.canonicalize();
        let folder = folder.with_context(|| format!("cannot find {shown}"))?;
        let (files, _) = saved::files(&folder)?;
        let state = state_of(&files)?;
        let workspace = places.workspace_of(&folder, on_event)?;
        let place = workspace.canonicalize();
        ensure!(
            !place.is_ok_and(|place| place.starts_with(&folder)),
            "the cache directory is in {shown}: name a smaller folder, or another cache directory with --cache"
        );
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let dir = workspace.join(format!("{name}{MADE_COLLECTION}"));
        let waiting = || {
            let what = format!("another riposte makes a collection of {shown}: waiting for it");
            Event::note(what)
        };
        let mut reading = Lock::to_read(&dir, &mut || on_event(waiting()))?;
        let mut found = Record::read(&dir).filter(|record| record.made_of == state);
        if found.is_none() {
            drop(reading);
            let writing = Lock::to_write(&dir, &mut || on_event(waiting()))?;
            found = Record::read(&dir).filter(|record| record.made_of == state);
            if found.is_none() {
                let made = make(&folder, &files, &dir, state, on_event)?;
                on_event(Event::note(format!("{shown}: {}", made.summary())));
                found = Some(made);
            }
            drop(writing);
            reading = Lock::to_read(&dir, &mut || ())?;
        }
        let record = found.unwrap_or_default();
        Ok(OwnFolder {
            dir,
            folder,
            has_images: record.images > 0,
            has_texts: record.texts > 0,
            reading: Some(reading),
        })
    }

    /// The same without a lock: a server makes the collection again when the folder has changed, while the older one still answers.
    #[must_use]
    pub(crate) fn unlocked(self) -> OwnFolder {
        OwnFolder {
            reading: None,
            ..self
        }
    }

    /// Keeps the lock until the process ends.
    pub fn keep(&mut self) {
        std::mem::forget(self.reading.take());
    }

    /// Whether it has documents for a task.
    pub fn has(&self, task: Task) -> bool {
        match task {
            Task::Images => self.has_images,
            Task::Texts(_) => self.has_texts,
        }
    }

    /// The tasks that its documents are for: images, and what texts can be read as.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        match (self.has_images, self.has_texts) {
            (true, true) => vec![Task::Images, Task::Texts(TextTask::Controversial)],
            (true, false) => vec![Task::Images],
            (false, _) => Task::ALL
                .into_iter()
                .filter(|task| *task != Task::Images)
                .collect(),
        }
    }

    /// Whether riposte cannot read what is at `input` as it is, so that a collection has to be made of it. A chosen task can have its documents in a file of any
    /// name.
    pub fn is_needed(input: &Path, chosen: Option<Task>) -> bool {
        match Task::of_collection(input) {
            // many folders have one named images
            Ok(Task::Images) => {
                let has_images = ImageCollection::has_any(input).unwrap_or(true);
                !has_images && texts_in(input).is_none()
            }
            Ok(_) => false,
            Err(_) => {
                input.is_dir() || (chosen.is_none() && regular::exists(input).unwrap_or(true))
            }
        }
    }

    /// The file of the folder that became this image of the collection; `None` if it was inside another file.
    pub fn original(&self, image: &Path) -> Option<PathBuf> {
        let url = image.with_file_name("image-url.txt");
        let url = regular::read_text(&url, MAX_FOLDER_RECORD_BYTES).ok()?;
        let file = match self.folder.is_dir() {
            true => self.folder.join(url.strip_prefix("file:")?),
            false => self.folder.clone(),
        };
        (url.starts_with("file:") && regular::is_file(&file).ok()?).then_some(file)
    }

    /// The task whose documents answer the question. If there are no images, the question decides as what the texts are read: a claim needs arguments,
    /// a comparison passages, and everything else documents, which have no sides.
    ///
    /// # Errors
    /// The chosen task needs documents that the folder does not have.
    pub fn task(&self, chosen: Option<Task>, question: &str) -> Result<Task> {
        let shown = self.folder.display();
        match chosen {
            Some(Task::Images) => {
                ensure!(self.has_images, "{shown} has no pictures: --task images");
                Ok(Task::Images)
            }
            Some(task) => {
                let what = task.word();
                ensure!(
                    self.has_texts,
                    "{shown} has no texts (.txt, .md): --task {what}"
                );
                Ok(task)
            }
            None if self.has_images => Ok(Task::Images),
            None => Ok(Task::Texts(task_of_question(question))),
        }
    }
}

/// The text task that answers a question.
fn task_of_question(question: &str) -> TextTask {
    let (_, counter_claim) = claims(question);
    match other_language(question) {
        Some(_) => TextTask::Rank,
        None if objects::from_title(question).is_some() => TextTask::Comparative,
        None if counter_claim.is_empty() => TextTask::Rank,
        None => TextTask::Controversial,
    }
}

impl Record {
    /// `None` if the collection is not there or not whole.
    fn read(dir: &Path) -> Option<Record> {
        let bytes = read_regular(&dir.join(MADE_OF), MAX_FOLDER_RECORD_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn summary(&self) -> String {
        let mut parts = Vec::new();
        if self.images > 0 {
            let images = counted(self.images, "image", "images");
            let pages = counted(self.pages, "page", "pages");
            parts.push(match self.pages {
                0 => images,
                _ => format!("{images} on {pages}"),
            });
        }
        if self.texts > 0 {
            let texts = counted(self.texts, "text", "texts");
            let files = counted(self.files_of_texts, "file", "files");
            parts.push(format!("{texts} of {files}"));
        }
        let short = match self.short_texts {
            0 => String::new(),
            short => {
                let have = counted(short, "text has", "texts have");
                format!(
                    ". {have} fewer than {SHORT_WORDS} words, too few for an argument or a passage"
                )
            }
        };
        format!(
            "a collection of {} is in the cache now, and is made again only if a file changes{short}",
            parts.join(" and of ")
        )
    }
}

/// A hash that changes if a file is added, removed or written.
fn state_of(files: &[PathBuf]) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    for file in files {
        let found = fs::symlink_metadata(file);
        let found = found.with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.as_os_str().as_encoded_bytes();
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(Stamp::of(&found).text);
        hash.update("\0");
    }
    Ok(hex(&hash.finalize()))
}

/// Makes the collection beside its place, and replaces an older one.
fn make(
    folder: &Path,
    files: &[PathBuf],
    dir: &Path,
    state: String,
    on_event: &mut OnEvent,
) -> Result<Record> {
    let writing = || format!("cannot write {}", dir.display());
    let temporary = TemporaryDir::new(disk::parent(dir)).with_context(writing)?;
    let out = temporary.path().join("collection");
    let mut record = Record {
        made_of: state,
        ..Record::default()
    };
    let mut left_out = String::new();
    if !files.iter().all(|file| texts::is_text(file)) {
        let wanted = NewCollection {
            dir: out.clone(),
            sources: vec![folder.to_owned()],
            topics: None,
            min_side: MIN_SIDE,
            keep_unshown: false,
        };
        match new_collection(&wanted, on_event) {
            Ok(made) => (record.images, record.pages) = (made.images, made.pages),
            Err(error) => match error.downcast::<NoImage>()? {
                NoImage { found: 0, .. } => {}
                NoImage { what, .. } => left_out = format!(". {what}"),
            },
        }
    }
    fs::create_dir_all(&out).with_context(writing)?;
    let found = texts::write(folder, files, &out, on_event)?;
    record.texts = found.texts;
    record.files_of_texts = found.files;
    record.short_texts = found.short;
    if record.images + record.texts == 0 {
        let shown = folder.display();
        let why = format!("{shown} has nothing to answer from. {LOOKED_FOR}{left_out}");
        bail!(NothingThere(why));
    }
    let bytes = serde_json::to_vec(&record)?;
    disk::write_draft(&out.join(MADE_OF), &bytes).with_context(writing)?;
    if regular::exists(dir).with_context(writing)? {
        fs::rename(dir, temporary.path().join("older")).with_context(writing)?;
    }
    fs::rename(&out, dir).with_context(writing)?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_decides_as_what_texts_are_read() {
        for (question, task) in [
            ("Should zoos be closed?", TextTask::Controversial),
            ("Which is better, a cat or a dog?", TextTask::Comparative),
            ("What is the capital of France?", TextTask::Rank),
            ("Sollen Zoos geschlossen werden?", TextTask::Rank),
        ] {
            assert_eq!(task_of_question(question), task, "{question}");
        }
    }
}
