//! A ranking of images.

use std::collections::HashMap;

use anyhow::{Context, Result};
use riposte_eval::edition::Edition;
use riposte_eval::{DocId, Explanation, Stance, TopicId};

use super::{Content, RankedDocument, Ranking};
use crate::debate::sheet::DebateSheet;
use crate::images::ImageRanking;
use crate::runs::description::RunDescription;
use crate::runs::images;
use crate::runs::images::ImageRuns;
use crate::runs::run_files::RunFiles;

struct Images {
    edition: &'static Edition,
    ranking: ImageRanking,
}

impl Ranking {
    /// The first of the runs.
    ///
    /// # Errors
    /// There is none, or the evidence cannot be read.
    pub(in crate::api) fn of_images(mut runs: ImageRuns) -> Result<Ranking> {
        let description = runs.runs.first().map(|run| runs.describe(run));
        let description = description.context("the approach made no run")??;
        let run = runs.runs.swap_remove(0);
        let content = Images {
            edition: runs.edition,
            ranking: run.ranking,
        };
        Ok(Ranking::new(Box::new(content), run.sheets, description))
    }
}

impl Content for Images {
    fn positions(&self) -> HashMap<(TopicId, DocId), usize> {
        let explained = self.ranking.explained.iter();
        let keys = explained.map(|of| (of.topic.clone(), of.image.clone()));
        keys.zip(0..).collect()
    }

    fn documents(&self) -> Box<dyn Iterator<Item = RankedDocument<'_>> + '_> {
        Box::new(self.ranking.lines.iter().map(|line| RankedDocument {
            topic: &line.topic,
            side: Some(line.stance),
            document: &line.image,
            rank: line.rank,
            score: line.score.unwrap_or_default(),
            stance: None,
        }))
    }

    fn len(&self) -> usize {
        self.ranking.lines.len()
    }

    fn explanation(&self, at: usize, side: Option<Stance>) -> Option<&Explanation> {
        self.ranking.explained.get(at)?.score(side?)
    }

    fn is_explained(&self) -> bool {
        !self.ranking.explained.is_empty()
    }

    fn run_file(&self) -> &'static str {
        self.edition.run_file()
    }

    fn text(&self) -> Result<String> {
        images::text(self.edition, &self.ranking)
    }

    fn write(
        &self,
        files: &RunFiles,
        sheets: &[DebateSheet],
        description: &RunDescription,
    ) -> Result<()> {
        files.write(&self.text()?, &self.ranking.explained, sheets, description)
    }
}
