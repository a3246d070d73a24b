//! A ranking of texts.

use std::collections::HashMap;

use anyhow::Result;
use riposte_eval::explained::ExplainedText;
use riposte_eval::run::{self, TextRunLine};
use riposte_eval::{DocId, Explanation, Stance, TopicId};

use super::{Content, RankedDocument, Ranking};
use crate::api::request::DoneTexts;
use crate::debate::sheet::DebateSheet;
use crate::files::RUN_FILE;
use crate::files::explanations::Explanations;
use crate::runs::description::RunDescription;
use crate::runs::run_files::RunFiles;

struct Texts {
    lines: Vec<TextRunLine>,
    explained: Explanations<ExplainedText>,
}

impl Ranking {
    pub(in crate::api) fn of_texts(run: DoneTexts, description: RunDescription) -> Ranking {
        let (lines, explained, sheets) = match run {
            DoneTexts::Searched(run) => (run.lines, run.explained, run.sheets),
            DoneTexts::Asked(run) => (run.lines, run.explained, Vec::new()),
        };
        Ranking::new(Box::new(Texts { lines, explained }), sheets, description)
    }
}

impl Content for Texts {
    fn positions(&self) -> HashMap<(TopicId, DocId), usize> {
        let explained = self.explained.iter();
        let keys = explained.map(|of| (of.topic.clone(), of.document.clone()));
        keys.zip(0..).collect()
    }

    fn documents(&self) -> Box<dyn Iterator<Item = RankedDocument<'_>> + '_> {
        Box::new(self.lines.iter().map(|line| RankedDocument {
            topic: &line.topic,
            side: None,
            document: &line.doc,
            rank: line.rank,
            score: line.score.unwrap_or_default(),
            stance: line.stance,
        }))
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn explanation(&self, at: usize, _: Option<Stance>) -> Option<&Explanation> {
        Some(&self.explained.get(at)?.score)
    }

    fn is_explained(&self) -> bool {
        !self.explained.is_empty()
    }

    fn run_file(&self) -> &'static str {
        RUN_FILE
    }

    fn text(&self) -> Result<String> {
        Ok(run::write_texts(&self.lines)?)
    }

    fn write(
        &self,
        files: &RunFiles,
        sheets: &[DebateSheet],
        description: &RunDescription,
    ) -> Result<()> {
        files.write(&self.text()?, &self.explained, sheets, description)
    }
}
