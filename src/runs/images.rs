//! The pipeline of the image task: from a collection and topics to the lines of a run.

mod open;

use std::sync::Arc;

use anyhow::Result;
use riposte_eval::edition::Edition;
use riposte_eval::run::{self, AnswerLine, ImageRunLine};

pub(crate) use self::open::ImageRequest;
pub use self::open::{Extracted, OpenImages};
use super::description::RunDescription;
use crate::debate::sheet::DebateSheet;
use crate::images::{ImageRanking, ImageRankingSettings};
use crate::index::inverted::VerifiedFiles;
use crate::recipes::image_approach::{ImageApproach, StanceRecipe};
use crate::score::signal::SignalNeed;

/// A run, and figures about it.
pub struct ImageRun {
    pub images: Arc<OpenImages>,
    pub edition: &'static Edition,
    pub settings: ImageRankingSettings,
    pub ranking: ImageRanking,
    /// One for each topic, if sheets were requested; otherwise empty.
    pub sheets: Vec<DebateSheet>,
    pub verified: VerifiedFiles,
    pub index_seconds: f64,
    pub rank_seconds: f64,
}

/// Whether the approach ranks images by their likeness to arguments.
pub(super) fn uses_arguments(approach: &ImageApproach) -> bool {
    approach.stance == StanceRecipe::Beliefs
        || approach
            .relevance
            .uses(|need| matches!(need, SignalNeed::Arguments))
}

/// The text of a run's file, in the format of the edition.
///
/// # Errors
/// A field of a line cannot be written.
pub(crate) fn text(edition: &Edition, ranking: &ImageRanking) -> Result<String> {
    if edition.has_stances() {
        return Ok(run::write_images(&ranking.lines)?);
    }
    let answer = |line: &ImageRunLine| {
        let key = (line.topic.clone(), line.image.clone());
        let rationale = ranking.rationales.get(&key);
        AnswerLine {
            rationale: rationale.filter(|_| edition.has_premises()).cloned(),
            argument: key.0,
            image: key.1,
            rank: line.rank,
            tag: line.tag.clone(),
        }
    };
    let lines: Vec<AnswerLine> = ranking.lines.iter().map(answer).collect();
    Ok(run::write_answers(&lines)?)
}

impl ImageRun {
    /// The metadata of the run for this number of topics, without resources.
    ///
    /// # Errors
    /// The evidence cannot be read.
    pub(super) fn describe(&self, topics: usize) -> Result<RunDescription> {
        let edition = self.edition;
        let approach = &self.settings.approach;
        let extracted = self.images.extracted();
        Ok(RunDescription {
            tag: self.settings.tag.clone(),
            task: "image retrieval for arguments".to_owned(),
            year: Some(edition.year),
            test_collection: format!("Touché {edition}, image retrieval for arguments"),
            parts: self.settings.parts,
            approach: approach.name.clone(),
            source: approach.source.clone(),
            unknown: approach.unknown.clone(),
            recipe: approach.text.clone(),
            set: approach.set.clone(),
            documents: extracted.summary.documents,
            topics,
            models: extracted.extraction.producers()?,
            collection: self.images.collection.dir.clone(),
            ..RunDescription::default()
        })
    }
}
