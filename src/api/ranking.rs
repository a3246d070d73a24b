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
use crate::task::debate::sheet::DebateSheet;
use crate::task::description::Description;
use crate::task::image_run::{self, ImageRuns};
use crate::task::images::ImageRanking;
use crate::task::metadata::Config;
use crate::task::run_files::{DEBATE, EXPLANATIONS, OutputSettings, RunFiles};
use crate::task::text_run::RUN_FILE;

/// The ranked documents of all topics, with what is known about how they were ranked.
pub struct Ranking {
    content: Content,
    /// One for each topic, if they were requested; otherwise empty.
    sheets: Vec<DebateSheet>,
    description: Description,
    /// By topic and document, the position of its explanation. Filled when the first explanation is looked up.
    positions: OnceLock<HashMap<(TopicId, DocId), usize>>,
}

enum Content {
    Images {
        edition: &'static Edition,
        ranking: ImageRanking,
    },
    Texts {
        lines: Vec<TextRunLine>,
        explained: Vec<ExplainedText>,
    },
}

impl Content {
    fn positions(&self) -> HashMap<(TopicId, DocId), usize> {
        match self {
            Content::Images { ranking, .. } => {
                let explained = ranking.explained.iter();
                let keys = explained.map(|of| (of.topic.clone(), of.image.clone()));
                keys.zip(0..).collect()
            }
            Content::Texts { explained, .. } => {
                let explained = explained.iter();
                let keys = explained.map(|of| (of.topic.clone(), of.document.clone()));
                keys.zip(0..).collect()
            }
        }
    }
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
    /// The first of the runs.
    ///
    /// # Errors
    /// There is none, or the evidence cannot be read.
    pub(super) fn of_images(mut runs: ImageRuns) -> Result<Ranking> {
        let description = runs.runs.first().map(|run| runs.describe(run));
        let description = description.context("the approach made no run")??;
        let run = runs.runs.swap_remove(0);
        Ok(Ranking {
            content: Content::Images {
                edition: runs.edition,
                ranking: run.ranking,
            },
            sheets: run.sheets,
            description,
            positions: OnceLock::new(),
        })
    }

    pub(super) fn of_texts(run: DoneTexts, description: Description) -> Ranking {
        let (lines, explained, sheets) = match run {
            DoneTexts::Searched(run) => (run.lines, run.explained, run.sheets),
            DoneTexts::Asked(run) => (run.lines, run.explained, Vec::new()),
        };
        Ranking {
            content: Content::Texts { lines, explained },
            sheets,
            description,
            positions: OnceLock::new(),
        }
    }

    /// The documents, topic by topic, PRO before CON, the best first.
    pub fn documents(&self) -> impl Iterator<Item = RankedDocument<'_>> {
        let (images, texts) = match &self.content {
            Content::Images { ranking, .. } => (&ranking.lines[..], &[][..]),
            Content::Texts { lines, .. } => (&[][..], &lines[..]),
        };
        let images = images.iter().map(|line| RankedDocument {
            topic: &line.topic,
            side: Some(line.stance),
            document: &line.image,
            rank: line.rank,
            score: line.score.unwrap_or_default(),
            stance: None,
        });
        images.chain(texts.iter().map(|line| RankedDocument {
            topic: &line.topic,
            side: None,
            document: &line.doc,
            rank: line.rank,
            score: line.score.unwrap_or_default(),
            stance: line.stance,
        }))
    }

    /// The number of documents in all lists.
    pub fn len(&self) -> usize {
        match &self.content {
            Content::Images { ranking, .. } => ranking.lines.len(),
            Content::Texts { lines, .. } => lines.len(),
        }
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
        match &self.content {
            Content::Images { ranking, .. } => ranking.explained.get(at)?.score(of.side?),
            Content::Texts { explained, .. } => Some(&explained.get(at)?.score),
        }
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
        self.text().map_err(Error::output)
    }

    /// Writes run.txt (results.jsonl for the claims of 2024 and 2025) and ir-metadata.yml, and explain.jsonl if there are explanations, to a directory, which is
    /// created if necessary. Returns the path of the run.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_run(&self, dir: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let (dir, description) = (dir.as_ref(), &self.description);
        let (name, is_explained) = match &self.content {
            Content::Images { edition, ranking } => {
                (edition.run_file(), !ranking.explained.is_empty())
            }
            Content::Texts { explained, .. } => (RUN_FILE, !explained.is_empty()),
        };
        let settings = OutputSettings {
            dir: dir.to_owned(),
            tag: Some(description.tag.clone()),
            explain: is_explained.then(|| dir.join(EXPLANATIONS)),
            debate: (!self.sheets.is_empty()).then(|| dir.join(DEBATE)),
            metadata: Some(Config::default()),
        };
        let files = settings.check(name, &[&description.approach], &[]);
        let files = files.map_err(Error::output)?;
        for files in &files {
            self.write(files).map_err(Error::output)?;
        }
        Ok(dir.join(name))
    }

    fn text(&self) -> Result<String> {
        Ok(match &self.content {
            Content::Images { edition, ranking } => image_run::text(edition, ranking)?,
            Content::Texts { lines, .. } => run::write_texts(lines)?,
        })
    }

    /// Writes the files of the run.
    fn write(&self, files: &RunFiles) -> Result<()> {
        let (text, sheets, description) = (self.text()?, &self.sheets, &self.description);
        match &self.content {
            Content::Images { ranking, .. } => {
                files.write(&text, &ranking.explained, sheets, description)
            }
            Content::Texts { explained, .. } => files.write(&text, explained, sheets, description),
        }
    }
}
