mod images;
mod texts;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Result;
use riposte_eval::{DocId, Explanation, ObjectStance, Stance, TopicId};

use super::Error;
use crate::debate::sheet::DebateSheet;
use crate::files::metadata::UserMetadata;
use crate::recipes::NamedApproach;
use crate::runs::description::RunDescription;
use crate::runs::run_files::{DEBATE, EXPLANATIONS, OutputSettings, RunFiles};

/// The ranked documents of all topics, with what is known about how they were ranked.
pub struct Ranking {
    content: Box<dyn Content>,
    /// One for each topic, if they were requested; otherwise empty.
    sheets: Vec<DebateSheet>,
    description: RunDescription,
    /// By topic and document, the position of its explanation. Filled when the first explanation is looked up.
    positions: OnceLock<HashMap<(TopicId, DocId), usize>>,
}

/// The documents of a ranking, with their explanations.
trait Content: Send + Sync {
    /// By topic and document, the position of its explanation.
    fn positions(&self) -> HashMap<(TopicId, DocId), usize>;

    fn documents(&self) -> Box<dyn Iterator<Item = RankedDocument<'_>> + '_>;

    fn len(&self) -> usize;

    /// The explanation at a position, for a list if there are two.
    fn explanation(&self, at: usize, side: Option<Stance>) -> Option<&Explanation>;

    fn is_explained(&self) -> bool;

    /// The name of the run's file.
    fn run_file(&self) -> &'static str;

    /// The lines of the run.
    ///
    /// # Errors
    /// An id has a blank or a control character in it.
    fn text(&self) -> Result<String>;

    /// Writes the files of the run.
    ///
    /// # Errors
    /// One cannot be written.
    fn write(
        &self,
        files: &RunFiles,
        sheets: &[DebateSheet],
        description: &RunDescription,
    ) -> Result<()>;
}

/// A document in a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedDocument<'a> {
    /// The topic of the ranking.
    pub topic: &'a TopicId,
    /// Images: the list. The only list of a claim of 2024 or 2025 counts as [`Stance::Pro`].
    pub side: Option<Stance>,
    /// The document.
    pub document: &'a DocId,
    /// From 1, for each topic and side.
    pub rank: u32,
    /// Scores of a ranking strictly decrease.
    pub score: f64,
    /// Passages: the stance towards the two objects that the topic compares.
    pub stance: Option<ObjectStance>,
}

impl Ranking {
    fn new(
        content: Box<dyn Content>,
        sheets: Vec<DebateSheet>,
        description: RunDescription,
    ) -> Self {
        Ranking {
            content,
            sheets,
            description,
            positions: OnceLock::new(),
        }
    }

    /// The documents, topic by topic, PRO before CON, the best first.
    pub fn documents(&self) -> impl Iterator<Item = RankedDocument<'_>> {
        self.content.documents()
    }

    /// The number of documents in all lists.
    pub fn len(&self) -> usize {
        self.content.len()
    }

    /// Whether no document was found for any topic.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the score of a document was computed: its parts, with their weights. `None` if the ranking was made without explanations
    /// ([`Request::explained`](crate::Request::explained)).
    pub fn explanation(&self, of: &RankedDocument) -> Option<&Explanation> {
        let positions = self.positions.get_or_init(|| self.content.positions());
        let at = *positions.get(&(of.topic.clone(), of.document.clone()))?;
        self.content.explanation(at, of.side)
    }

    /// The name of the run, in the last column of its lines.
    pub fn tag(&self) -> &str {
        &self.description.tag
    }

    /// The lines of the run, in the format of its task and edition.
    ///
    /// # Errors
    /// An id has a blank or a control character in it.
    pub fn to_run(&self) -> Result<String, Error> {
        self.content.text().map_err(Error::output)
    }

    /// Writes run.txt (results.jsonl for the claims of 2024 and 2025) and ir-metadata.yml, and explain.jsonl if there are explanations, to a directory, which is
    /// created if necessary. Returns the path of the run.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_run(&self, dir: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let (dir, description) = (dir.as_ref(), &self.description);
        let name = self.content.run_file();
        let is_explained = self.content.is_explained();
        let settings = OutputSettings {
            dir: dir.to_owned(),
            tag: Some(description.tag.clone()),
            explain: is_explained.then(|| dir.join(EXPLANATIONS)),
            debate: (!self.sheets.is_empty()).then(|| dir.join(DEBATE)),
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
            let written = self.content.write(files, &self.sheets, description);
            written.map_err(Error::output)?;
        }
        Ok(dir.join(name))
    }
}
