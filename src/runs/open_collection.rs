//! What stays open between requests, so that the next one neither opens indexes nor loads models.

use std::sync::Arc;

use anyhow::Result;

use super::images::OpenImages;
use super::shelf::Shelf;
use super::texts::{OpenTexts, TextRequest};
use crate::events::OnEvent;

/// The open parts of a collection. None notices that files have changed since it was opened.
#[derive(Default)]
pub struct OpenCollection {
    texts: Shelf<OpenTexts>,
    pub images: Arc<Shelf<OpenImages>>,
}

impl OpenCollection {
    /// The texts of the collection, opened for the approach of the request.
    ///
    /// # Errors
    /// As [`OpenTexts::open`].
    pub(crate) fn texts(
        &self,
        request: &TextRequest,
        on_event: &mut OnEvent,
    ) -> Result<Arc<OpenTexts>> {
        let settings = format!("{:?} {}", request.task, request.approach.text);
        self.texts
            .get(settings, || OpenTexts::open(request, on_event))
    }
}
