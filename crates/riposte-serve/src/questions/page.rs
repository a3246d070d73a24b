//! What a browser asks the page for.

use serde::Serialize;

use super::{DocumentKind, Filters, KINDS, QueryFields};
use crate::refusal::Refusal;

/// What the page shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct BrowserRequest {
    /// `None` for the first page.
    pub(crate) question: Option<String>,
    /// The collection; `None` for the only one, or the first.
    pub(crate) collection: Option<String>,
    /// The tab; `None` for the first, which has all sides.
    pub(crate) tab: Option<DocumentKind>,
    /// The number of results at most, from 1 to 10,000; `None` for as many as the page shows at first.
    pub(crate) hits: Option<usize>,
    /// The name of an approach, as for a search.
    pub(crate) approach: Option<String>,
    /// What the question shall be understood as, as for a search.
    pub(crate) claim: Option<String>,
    /// Which results are listed.
    pub(crate) filters: Filters,
    /// How much has been done for the results.
    pub(crate) stage: PageStage,
}

/// How much is done for the results of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PageStage {
    /// They are found by their words, which is quick. Only the script of the page asks for this, because it also replaces them.
    Words,
    /// Models have read them.
    #[default]
    Read,
}

const STAGES: &[(&str, PageStage)] = &[("words", PageStage::Words), ("read", PageStage::Read)];

impl BrowserRequest {
    pub(crate) fn read(mut fields: QueryFields) -> Result<BrowserRequest, Refusal> {
        let page = BrowserRequest {
            question: fields.optional_question("q")?,
            collection: fields.name("collection")?,
            tab: fields.choice("tab", KINDS)?,
            hits: fields.number("hits", crate::limits::MAX_HITS)?,
            approach: fields.approach()?,
            claim: fields.claim()?,
            filters: Filters::read(&mut fields)?,
            stage: fields.choice("stage", STAGES)?.unwrap_or_default(),
        };
        fields.finish()?;
        Ok(page)
    }
}
