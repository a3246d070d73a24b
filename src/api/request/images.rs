//! Requests for images.

use std::sync::Arc;

use anyhow::Result;

use super::Request;
use crate::api::Approach;
use crate::events::OnEvent;
use crate::ingest::extraction::ExtractionHost;
use crate::runs::images;
use crate::runs::images::{ImageRuns, ImageSettings, PreparedImages};
use crate::runs::run_files::{OutputSettings, RunFiles};

impl Request<'_> {
    /// Ranks images by each approach, and writes the runs if `output` is given. The files of the runs are in the order of the runs.
    #[doc(hidden)]
    pub fn rank_images<'o>(
        &self,
        output: Option<&'o OutputSettings>,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
    ) -> Result<(ImageRuns, Vec<RunFiles<'o>>)> {
        self.check_approaches()?;
        let approaches = self.approaches.iter().filter_map(Approach::images).cloned();
        let settings = ImageSettings {
            extraction: self.collection.settings.clone(),
            topics: self.topics.clone(),
            candidates: self.images.candidates.clone(),
            edition: self.images.edition,
            parts: self.parts,
            approaches: approaches.collect(),
            set: self.images.set.clone(),
            overlap: self.images.overlap,
            arguments: self.images.arguments.clone(),
            debate: self.debate,
            kept: self
                .collection
                .kept
                .as_ref()
                .map(|kept| Arc::clone(&kept.images)),
        };
        let prepared = PreparedImages::read(&settings, on_event)?;
        let (names, run_file) = (prepared.names(), prepared.edition.run_file());
        let read = self.files_to_read();
        let files = output.map(|output| output.check(run_file, &names, &read));
        let files = files.transpose()?;
        let tags: Vec<String> = match &files {
            Some(files) => files.iter().map(|files| files.tag.clone()).collect(),
            None => names.iter().map(|name| self.tag_of(*name)).collect(),
        };
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        let files = files.unwrap_or_default();
        let topics = prepared.topics.len();
        let keep = files.first().map(|files| files.keep(topics));
        let keep = keep.unwrap_or_default();
        let done = prepared.run(&tags, &keep, host, on_event)?;
        for (run, files) in done.runs.iter().zip(&files) {
            let text = images::text(done.edition, &run.ranking)?;
            let description = done.describe(run)?;
            let explained = &run.ranking.explained;
            files.write(&text, explained, &run.sheets, &description)?;
            explained.note_length(on_event);
        }
        Ok((done, files))
    }
}
