use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use riposte_eval::{DocId, Explanation, TopicId};

use super::Error;
use crate::files::metadata::UserMetadata;
use crate::recipes::NamedApproach;
use crate::runs::finished::FinishedRun;
pub use crate::runs::finished::RankedDocument;
use crate::runs::run_files::{DEBATE, EXPLANATIONS, OutputSettings};

/// The ranked documents of all topics, with what is known about how they were ranked.
pub struct Ranking {
    run: FinishedRun,
    /// By topic and document, the position of its explanation. Filled when the first explanation is looked up.
    positions: OnceLock<HashMap<(TopicId, DocId), usize>>,
}

impl Ranking {
    pub(super) fn new(run: FinishedRun) -> Self {
        let positions = OnceLock::new();
        Ranking { run, positions }
    }

    /// The documents, topic by topic, PRO before CON, the best first.
    pub fn documents(&self) -> impl Iterator<Item = RankedDocument<'_>> {
        self.run.made.documents().into_iter()
    }

    /// The number of documents in all lists.
    pub fn len(&self) -> usize {
        self.run.made.len()
    }

    /// Whether no document was found for any topic.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the score of a document was computed: its parts, with their weights. `None` if the ranking was made without explanations
    /// ([`Request::explained`](crate::Request::explained)).
    pub fn explanation(&self, of: &RankedDocument) -> Option<&Explanation> {
        let explained = || self.run.made.explained().into_iter().zip(0..).collect();
        let positions = self.positions.get_or_init(explained);
        let at = *positions.get(&(of.topic.clone(), of.document.clone()))?;
        self.run.made.explanation(at, of.side)
    }

    /// The name of the run, in the last column of its lines.
    pub fn tag(&self) -> &str {
        &self.run.description.tag
    }

    /// The lines of the run, in the format of its task and edition.
    ///
    /// # Errors
    /// An id has a blank or a control character in it.
    pub fn to_run(&self) -> Result<String, Error> {
        self.run.made.text().map_err(Error::output)
    }

    /// Writes run.txt (results.jsonl for the claims of 2024 and 2025) and ir-metadata.yml, and explain.jsonl if there are explanations, to a directory, which is
    /// created if necessary. Returns the path of the run.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_run(&self, dir: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let FinishedRun {
            made, description, ..
        } = &self.run;
        let (dir, name) = (dir.as_ref(), made.run_file());
        let settings = OutputSettings {
            dir: dir.to_owned(),
            tag: Some(description.tag.clone()),
            explain: (!made.explained().is_empty()).then(|| dir.join(EXPLANATIONS)),
            debate: (!made.sheets().is_empty()).then(|| dir.join(DEBATE)),
            metadata: Some(UserMetadata::default()),
            faults: None,
        };
        let named = NamedApproach {
            name: &description.approach,
            set: &description.set,
        };
        let files = settings.check(name, &[named], &[]);
        let files = files.map_err(Error::output)?;
        for files in &files {
            let written = made.write(files, description);
            written.map_err(Error::output)?;
        }
        Ok(dir.join(name))
    }
}
