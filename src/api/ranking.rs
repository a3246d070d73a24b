use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use riposte_eval::edition::Edition;
use riposte_eval::explained::ExplainedText;
use riposte_eval::run::{self, TextRunLine};
use riposte_eval::{DocId, Explanation, ObjectStance, Stance, TopicId};

use super::Error;
use super::request::DoneTexts;
use crate::debate::sheet::DebateSheet;
use crate::files::RUN_FILE;
use crate::files::explanations::Explanations;
use crate::files::metadata::UserMetadata;
use crate::images::ImageRanking;
use crate::recipes::NamedApproach;
use crate::runs::description::RunDescription;
use crate::runs::images;
use crate::runs::images::ImageRuns;
use crate::runs::run_files::{DEBATE, EXPLANATIONS, OutputSettings, RunFiles};

/// The ranked documents of all topics, with what is known about how they were ranked.
pub struct Ranking {
    content: Content,
    /// One for each topic, if they were requested; otherwise empty.
    sheets: Vec<DebateSheet>,
    description: RunDescription,
    /// By topic and document, the position of its explanation. Filled when the first explanation is looked up.
    positions: OnceLock<HashMap<(TopicId, DocId), usize>>,
}

/// The documents of a ranking, with their explanations.
enum Content {
    Images {
        edition: &'static Edition,
        ranking: Box<ImageRanking>,
    },
    Texts {
        lines: Vec<TextRunLine>,
        explained: Explanations<ExplainedText>,
    },
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
    fn new(content: Content, sheets: Vec<DebateSheet>, description: RunDescription) -> Self {
        Ranking {
            content,
            sheets,
            description,
            positions: OnceLock::new(),
        }
    }

    /// The first of the runs.
    ///
    /// # Errors
    /// There is none, or the evidence cannot be read.
    pub(super) fn of_images(mut runs: ImageRuns) -> Result<Ranking> {
        let description = runs.runs.first().map(|run| runs.describe(run));
        let description = description.context("the approach made no run")??;
        let run = runs.runs.swap_remove(0);
        let content = Content::Images {
            edition: runs.edition,
            ranking: Box::new(run.ranking),
        };
        Ok(Ranking::new(content, run.sheets, description))
    }

    pub(super) fn of_texts(run: DoneTexts, description: RunDescription) -> Ranking {
        let (lines, explained, sheets) = match run {
            DoneTexts::Searched(run) => (run.lines, run.explained, run.sheets),
            DoneTexts::Asked(run) => (run.lines, run.explained, Vec::new()),
        };
        Ranking::new(Content::Texts { lines, explained }, sheets, description)
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

impl Content {
    /// By topic and document, the position of its explanation.
    fn positions(&self) -> HashMap<(TopicId, DocId), usize> {
        match self {
            Content::Images { ranking, .. } => {
                let explained = ranking.explained.iter();
                let keys = explained.map(|of| (of.topic.clone(), of.image.clone()));
                keys.zip(0..).collect()
            }
            Content::Texts { explained, .. } => {
                let keys = explained.iter();
                let keys = keys.map(|of| (of.topic.clone(), of.document.clone()));
                keys.zip(0..).collect()
            }
        }
    }

    fn documents(&self) -> Box<dyn Iterator<Item = RankedDocument<'_>> + '_> {
        match self {
            Content::Images { ranking, .. } => {
                Box::new(ranking.lines.iter().map(|line| RankedDocument {
                    topic: &line.topic,
                    side: Some(line.stance),
                    document: &line.image,
                    rank: line.rank,
                    score: line.score.unwrap_or_default(),
                    stance: None,
                }))
            }
            Content::Texts { lines, .. } => Box::new(lines.iter().map(|line| RankedDocument {
                topic: &line.topic,
                side: None,
                document: &line.doc,
                rank: line.rank,
                score: line.score.unwrap_or_default(),
                stance: line.stance,
            })),
        }
    }

    fn len(&self) -> usize {
        match self {
            Content::Images { ranking, .. } => ranking.lines.len(),
            Content::Texts { lines, .. } => lines.len(),
        }
    }

    /// The explanation at a position, for a list if there are two.
    fn explanation(&self, at: usize, side: Option<Stance>) -> Option<&Explanation> {
        match self {
            Content::Images { ranking, .. } => ranking.explained.get(at)?.score(side?),
            Content::Texts { explained, .. } => Some(&explained.get(at)?.score),
        }
    }

    fn is_explained(&self) -> bool {
        match self {
            Content::Images { ranking, .. } => !ranking.explained.is_empty(),
            Content::Texts { explained, .. } => !explained.is_empty(),
        }
    }

    /// The name of the run's file.
    fn run_file(&self) -> &'static str {
        match self {
            Content::Images { edition, .. } => edition.run_file(),
            Content::Texts { .. } => RUN_FILE,
        }
    }

    /// The lines of the run.
    ///
    /// # Errors
    /// An id has a blank or a control character in it.
    fn text(&self) -> Result<String> {
        match self {
            Content::Images { edition, ranking } => images::text(edition, ranking),
            Content::Texts { lines, .. } => Ok(run::write_texts(lines)?),
        }
    }

    /// Writes the files of the run.
    ///
    /// # Errors
    /// One cannot be written.
    fn write(
        &self,
        files: &RunFiles,
        sheets: &[DebateSheet],
        description: &RunDescription,
    ) -> Result<()> {
        let text = self.text()?;
        match self {
            Content::Images { ranking, .. } => {
                files.write(&text, &ranking.explained, sheets, description)
            }
            Content::Texts { explained, .. } => files.write(&text, explained, sheets, description),
        }
    }
}
