//! Requests by approaches that ask a search engine.

use std::sync::atomic::AtomicBool;

use anyhow::{Result, ensure};

use super::{DoneTexts, OnDone, OneRun, Request};
use crate::api::Approach;
use crate::events::OnEvent;
use crate::runs::run_files::RunFiles;
use crate::runs::service;
use crate::runs::service::ServiceRequest;

impl Request<'_> {
    /// # Errors
    /// An approach asks a search engine, whose answers have no texts.
    pub(in crate::api) fn ensure_no_service(&self) -> Result<()> {
        let mut asking = self.approaches.iter().filter_map(Approach::texts);
        let asking = asking.find(|approach| approach.service.is_some());
        ensure!(
            asking.is_none(),
            "the approach {} asks a service: it has no texts to answer with",
            asking.map_or("", |approach| &approach.name)
        );
        Ok(())
    }
}

impl OneRun<'_> {
    /// `--rehash`, `--threads` and `--models` have no effect, because there is no collection.
    pub(super) fn ask(
        &self,
        files: Option<&RunFiles>,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
        on_done: &mut OnDone,
    ) -> Result<()> {
        let asked = ServiceRequest {
            topics: self.topics,
            approach: self.approach,
            parts: self.request.parts,
            tag: self.tag,
            explain: self.request.explain,
            stances: self.request.stances,
            key_file: self.request.key_file.as_deref(),
            workspace: self.base,
            stop,
        };
        let done = service::run(&asked, on_event)?;
        let description = asked.describe(&self.request.collection.settings.input);
        self.finish(DoneTexts::Asked(done), description, files, on_done)
    }
}
