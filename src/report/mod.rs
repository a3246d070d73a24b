//! What does a run look like? Pages that a browser opens from disk: all topics, each topic's ranking, each document and the
//! numbers behind its place.
//!
//! Everything that comes from a collection, a run or a file of judgements is escaped by the templates (`pages`); a
//! policy in every page allows our own script and style alone, by their hashes, and no connection.

mod chart;
pub mod images;
mod pages;
pub mod pictures;
pub mod texts;
mod tree;
mod words;

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::judge::Values;
use crate::trec::TopicId;
use crate::trec::topic::Topic;

/// What all pages say of a run.
#[derive(Debug)]
pub struct Head {
    /// "Image retrieval for arguments".
    pub task: &'static str,
    /// The run's name.
    pub run: String,
    /// The name of the run that it is held against.
    pub against: Option<String>,
    /// What it was made from and judged by.
    pub facts: Vec<String>,
    /// What a reader should know: what is missing, and how to get it.
    pub notes: Vec<String>,
    pub measures: Vec<Measured>,
}

/// A column of measures.
#[derive(Debug)]
pub struct Measured {
    /// "on stance".
    pub name: String,
    /// "P@10".
    pub unit: &'static str,
    /// What it is, in full: "stanceRelevanceP@10".
    pub measure: String,
    pub values: Values,
    /// Of the other run.
    pub against: Option<Values>,
}

/// A report, ready to be written.
#[derive(Debug)]
pub struct Report {
    pub head: Head,
    pub topics: Vec<TopicReport>,
}

/// A topic and what the run found for it.
#[derive(Debug)]
pub struct TopicReport {
    topic: Topic,
    /// In the table of topics: what leads its PRO list and its CON list.
    minis: [Vec<images::Mini>; 2],
    /// In the table of topics, for texts: how the first begins.
    first: Option<String>,
    /// Documents among the first that the other run does not have there.
    changed: Option<usize>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Images(images::ImagesTopic),
    Texts(texts::TextsTopic),
}

/// What became of a document since the other run.
#[derive(Clone, Debug)]
pub struct Change {
    /// "new", "up", "down", "same"; of images also "crossed" and "gone".
    pub class: &'static str,
    pub text: String,
    pub title: String,
}

impl Change {
    /// From a rank in the run of that name, if it was there, to this one.
    fn between(name: &str, before: Option<u32>, rank: u32) -> Change {
        let (class, text, title) = match before {
            None => ("new", "new".into(), format!("not in {name}")),
            Some(before) if before == rank => {
                ("same", "=".into(), format!("at the same rank in {name}"))
            }
            Some(before) if before > rank => (
                "up",
                format!("▲ {}", before - rank),
                format!("rank {before} in {name}"),
            ),
            Some(before) => (
                "down",
                format!("▼ {}", rank - before),
                format!("rank {before} in {name}"),
            ),
        };
        Change { class, text, title }
    }
}

/// How pages name each other: files of a directory, or parts of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Directory,
    SingleFile,
}

impl Form {
    /// Of the table of topics.
    fn index(self) -> &'static str {
        match self {
            Form::Directory => "index.html",
            Form::SingleFile => "#",
        }
    }

    /// Of a topic.
    fn topic(self, topic: &TopicId) -> String {
        let slug = words::slug(&topic.0);
        match self {
            Form::Directory => format!("topic-{slug}.html"),
            Form::SingleFile => format!("#topic-{slug}"),
        }
    }

    /// The fragment of a document in its topic's page, without `#`.
    fn anchor(self, topic: &TopicId, id: &str) -> String {
        let id = words::slug(id);
        match self {
            Form::Directory => id,
            Form::SingleFile => format!("topic-{}/{id}", words::slug(&topic.0)),
        }
    }

    /// The address of a document, seen from the table of topics.
    fn document(self, topic: &TopicId, id: &str) -> String {
        match self {
            Form::Directory => format!("{}#{}", self.topic(topic), self.anchor(topic, id)),
            Form::SingleFile => format!("#{}", self.anchor(topic, id)),
        }
    }
}

/// A topic for a number that no file of topics has.
fn unknown_topic(id: &TopicId) -> Topic {
    Topic {
        id: id.clone(),
        title: format!("Topic {id}, which is not among the topics"),
        description: None,
        narrative: None,
        objects: None,
    }
}

/// The topics of a file, then those that only the run or the judgements know, by number.
fn all_topics<'a>(topics: &[Topic], others: impl Iterator<Item = &'a TopicId>) -> Vec<Topic> {
    let mut all = topics.to_vec();
    let mut unknown: Vec<&TopicId> = others
        .filter(|id| !topics.iter().any(|topic| topic.id == **id))
        .collect();
    unknown.sort();
    unknown.dedup();
    all.extend(unknown.into_iter().map(unknown_topic));
    all
}

/// What there is for each topic, in its order.
fn by_topic<T>(all: &[T], topic: impl Fn(&T) -> &TopicId) -> HashMap<&TopicId, Vec<&T>> {
    let mut of_topics: HashMap<&TopicId, Vec<&T>> = HashMap::new();
    for one in all {
        of_topics.entry(topic(one)).or_default().push(one);
    }
    of_topics
}

/// By this line a directory is known as a report: what is not one is not replaced.
const MARK: &str = "<meta name=\"generator\" content=\"riposte inspect\">";

/// The directory's name for pictures.
pub const PICTURES: &str = "pictures";

/// A directory where a report is put together; it takes the place of `dir` at the end.
pub struct Draft<'a> {
    dir: &'a Path,
    draft: tempfile::TempDir,
}

impl<'a> Draft<'a> {
    /// Errors: `dir` holds something that is not a report, or nothing can be written beside it.
    pub fn begin(dir: &'a Path) -> Result<Draft<'a>> {
        match fs::read_dir(dir) {
            Ok(mut entries) => {
                let index = fs::read_to_string(dir.join("index.html")).unwrap_or_default();
                if entries.next().is_some() && !index.contains(MARK) {
                    bail!(
                        "{} holds something that is no report: name another directory",
                        dir.display()
                    );
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot look into {}", dir.display()));
            }
        }
        let beside = match dir.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let writing = || format!("cannot write the report {}", dir.display());
        fs::create_dir_all(beside).with_context(writing)?;
        let draft = tempfile::Builder::new()
            .prefix(".riposte-")
            .tempdir_in(beside)
            .with_context(writing)?;
        Ok(Draft { dir, draft })
    }

    /// Where the report's files go meanwhile.
    pub fn path(&self) -> &Path {
        self.draft.path()
    }

    /// Writes the pages, and puts the whole where it belongs.
    pub fn finish(self, report: &Report) -> Result<()> {
        for (name, page) in report.pages()? {
            let path = self.draft.path().join(name);
            fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let writing = || format!("cannot write the report {}", self.dir.display());
        let draft = self.draft.keep();
        #[cfg(unix)]
        {
            // a temporary directory is its owner's alone
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).with_context(writing)?;
        }
        if self.dir.exists() {
            fs::remove_dir_all(self.dir).with_context(writing)?;
        }
        fs::rename(&draft, self.dir).with_context(writing)
    }
}
