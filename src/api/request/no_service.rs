//! What a build without services says of approaches that ask a search engine.

use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};

use super::{OnDone, OneRun};
use crate::task::OnEvent;
use crate::task::run_files::RunFiles;

impl OneRun<'_> {
    pub(super) fn ask(
        &self,
        _: Option<&RunFiles>,
        _: &AtomicBool,
        _: &mut OnEvent,
        _: &mut OnDone,
    ) -> Result<()> {
        bail!(
            "this build of riposte has no services, and the approach {} asks one: install it with the feature full",
            self.approach.name
        )
    }
}
