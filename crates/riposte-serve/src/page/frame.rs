//! The frame of every page, with the box for a question.

use crate::answers::CollectionInfo;
use crate::questions::BrowserRequest;
use crate::refusal::Refusal;

/// What is around a page.
#[derive(Debug, Default)]
pub(super) struct PageFrame {
    /// What stands in the box.
    pub(super) question: String,
    /// The chosen collection.
    pub(super) collection: String,
    /// All of them.
    pub(super) collections: Vec<String>,
    /// The page that replaces this one as soon as models have read the results.
    pub(super) next: Option<String>,
}

impl PageFrame {
    pub(super) fn of(page: &BrowserRequest, collections: &[CollectionInfo]) -> PageFrame {
        PageFrame {
            question: page.question.clone().unwrap_or_default(),
            collection: page.collection.clone().unwrap_or_default(),
            collections: collections.iter().map(|it| it.name.clone()).collect(),
            next: None,
        }
    }
}

/// The collection that is asked: the one that is named, or the first.
///
/// # Errors
/// There is none.
pub(super) fn chosen<'c>(
    name: Option<&str>,
    collections: &'c [CollectionInfo],
) -> Result<&'c CollectionInfo, Refusal> {
    let found = match name {
        Some(name) => collections
            .iter()
            .find(|collection| collection.name == name),
        None => collections.first(),
    };
    found.ok_or_else(|| match name {
        Some(name) => Refusal::UnknownCollection(name.to_owned()),
        None => Refusal::Unanswerable("there is no collection to ask".to_owned()),
    })
}
