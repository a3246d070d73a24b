//! A finished run: what was ranked, how it is described, and its files.

use std::path::PathBuf;

use anyhow::Result;
use riposte_eval::explained::ExplainedText;
use riposte_eval::run::{self, TextRunLine};
use riposte_eval::{DocId, Explanation, ObjectStance, Stance, TopicId};

use super::description::RunDescription;
use super::images::{self, ImageRun};
use super::run_files::RunFiles;
use super::service::ServiceRun;
use super::texts::FinishedTextRun;
use crate::debate::sheet::DebateSheet;
use crate::events::OnEvent;
use crate::files::RUN_FILE;
use crate::files::explanations::Explanations;

/// A run of one approach.
pub struct FinishedRun {
    pub made: MadeRun,
    pub description: RunDescription,
    /// The number of topics.
    pub topics: usize,
    /// The file of the run; `None` if it was not written.
    pub file: Option<PathBuf>,
}

/// How a run was made, with figures about it.
pub enum MadeRun {
    Images(Box<ImageRun>),
    /// By a search of the collection.
    Searched(Box<FinishedTextRun>),
    /// By a search engine on the web.
    Asked(Box<ServiceRun>),
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

/// The documents of a run.
enum Content<'a> {
    Images(&'a ImageRun),
    Texts(&'a [TextRunLine], &'a Explanations<ExplainedText>),
}

impl MadeRun {
    fn content(&self) -> Content<'_> {
        match self {
            MadeRun::Images(run) => Content::Images(run),
            MadeRun::Searched(run) => Content::Texts(&run.lines, &run.explained),
            MadeRun::Asked(run) => Content::Texts(&run.lines, &run.explained),
        }
    }

    /// One for each topic, if they were requested; otherwise empty.
    pub fn sheets(&self) -> &[DebateSheet] {
        match self {
            MadeRun::Images(run) => &run.sheets,
            MadeRun::Searched(run) => &run.sheets,
            MadeRun::Asked(_) => &[],
        }
    }

    /// The topic and the document of each explanation, in their order.
    pub(crate) fn explained(&self) -> Vec<(TopicId, DocId)> {
        match self.content() {
            Content::Images(images) => {
                let explained = images.ranking.explained.iter();
                let keys = explained.map(|of| (of.topic.clone(), of.image.clone()));
                keys.collect()
            }
            Content::Texts(_, explained) => {
                let keys = explained.iter();
                let keys = keys.map(|of| (of.topic.clone(), of.document.clone()));
                keys.collect()
            }
        }
    }

    /// The explanation at a position, for a list if there are two.
    pub(crate) fn explanation(&self, at: usize, side: Option<Stance>) -> Option<&Explanation> {
        match self.content() {
            Content::Images(images) => images.ranking.explained.get(at)?.score(side?),
            Content::Texts(_, explained) => Some(&explained.get(at)?.score),
        }
    }

    /// The documents, topic by topic, PRO before CON, the best first.
    pub(crate) fn documents(&self) -> Vec<RankedDocument<'_>> {
        match self.content() {
            Content::Images(images) => {
                let lines = images.ranking.lines.iter();
                let documents = lines.map(|line| RankedDocument {
                    topic: &line.topic,
                    side: Some(line.stance),
                    document: &line.image,
                    rank: line.rank,
                    score: line.score.unwrap_or_default(),
                    stance: None,
                });
                documents.collect()
            }
            Content::Texts(lines, _) => {
                let documents = lines.iter().map(|line| RankedDocument {
                    topic: &line.topic,
                    side: None,
                    document: &line.doc,
                    rank: line.rank,
                    score: line.score.unwrap_or_default(),
                    stance: line.stance,
                });
                documents.collect()
            }
        }
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        match self.content() {
            Content::Images(images) => images.ranking.lines.len(),
            Content::Texts(lines, _) => lines.len(),
        }
    }

    /// Makes the scores those that the file of the run has, with fewer digits.
    ///
    /// # Errors
    /// A score is not finite.
    pub(crate) fn round_scores(&mut self) -> Result<()> {
        let round = |score: &mut Option<f64>| {
            *score = score.map(run::written_score).transpose()?;
            anyhow::Ok(())
        };
        match self {
            MadeRun::Images(run) => {
                let mut lines = run.ranking.lines.iter_mut();
                lines.try_for_each(|line| round(&mut line.score))
            }
            MadeRun::Searched(run) => run.lines.iter_mut().try_for_each(|l| round(&mut l.score)),
            MadeRun::Asked(run) => run.lines.iter_mut().try_for_each(|l| round(&mut l.score)),
        }
    }

    /// Whether no document was found for any topic.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the run's file.
    pub(crate) fn run_file(&self) -> &'static str {
        match self.content() {
            Content::Images(images) => images.edition.run_file(),
            Content::Texts(..) => RUN_FILE,
        }
    }

    /// The lines of the run, in the format of its task and edition.
    ///
    /// # Errors
    /// An id has a blank or a control character in it.
    pub(crate) fn text(&self) -> Result<String> {
        match self.content() {
            Content::Images(run) => images::text(run.edition, &run.ranking),
            Content::Texts(lines, _) => Ok(run::write_texts(lines)?),
        }
    }

    /// Writes the files of the run.
    ///
    /// # Errors
    /// One cannot be written.
    pub(crate) fn write(&self, files: &RunFiles, description: &RunDescription) -> Result<()> {
        let (text, sheets) = (self.text()?, self.sheets());
        match self.content() {
            Content::Images(run) => files.write(&text, &run.ranking.explained, sheets, description),
            Content::Texts(_, explained) => files.write(&text, explained, sheets, description),
        }
    }

    /// Notes if no report can show the explanations.
    pub(super) fn note_length(&self, on_event: &mut OnEvent) {
        match self.content() {
            Content::Images(run) => run.ranking.explained.note_length(on_event),
            Content::Texts(_, explained) => explained.note_length(on_event),
        }
    }
}
