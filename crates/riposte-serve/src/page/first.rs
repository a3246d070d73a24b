//! The first page: a box for a question, and what can be asked.

use askama::Template;

use super::frame::{PageFrame, chosen};
use super::head::{name, reason};
use super::links;
use super::words::grouped;
use crate::answers::{CollectionInfo, CollectionState};
use crate::desk::{Call, Desk};
use crate::questions::BrowserRequest;
use crate::refusal::Refusal;
use crate::server::failed;

#[derive(Template)]
#[template(path = "first.html")]
struct FirstPage {
    frame: PageFrame,
    collections: Vec<CollectionView>,
}

struct CollectionView {
    name: String,
    /// "12,345 documents: arguments, images".
    has: String,
    state: &'static str,
    reason: Option<String>,
    /// Questions and the pages that answer them.
    examples: Vec<(String, String)>,
}

/// The HTML of the first page.
///
/// # Errors
/// Those of the desk.
pub(super) fn html(desk: &dyn Desk, page: &BrowserRequest, call: &Call) -> Result<String, Refusal> {
    let collections = desk.collections(call)?;
    let mut frame = PageFrame::of(page, &collections);
    if let Some(name) = page.collection.as_deref() {
        chosen(Some(name), &collections)?;
    } else if let Some(first) = collections.first() {
        frame.collection.clone_from(&first.name);
    }
    let shown = FirstPage {
        frame,
        collections: collections
            .iter()
            .map(|collection| view(page, collection))
            .collect(),
    };
    shown.render().map_err(failed)
}

fn view(page: &BrowserRequest, collection: &CollectionInfo) -> CollectionView {
    let kinds: Vec<String> = collection
        .kinds
        .iter()
        .map(|kind| name(*kind).to_lowercase())
        .collect();
    let kinds = kinds.join(", ");
    let example = |question: &String| {
        let href = links::page(&BrowserRequest {
            question: Some(question.clone()),
            collection: Some(collection.name.clone()),
            tab: None,
            ..page.clone()
        });
        (question.clone(), href)
    };
    CollectionView {
        name: collection.name.clone(),
        has: match (collection.documents, collection.kinds.as_slice()) {
            (None, _) => kinds,
            (Some(number), [_]) => format!("{} {kinds}", grouped(number)),
            (Some(number), _) => format!("{} documents: {kinds}", grouped(number)),
        },
        state: match collection.state {
            CollectionState::Ready => "",
            CollectionState::Building => "is being prepared",
            CollectionState::Damaged => "is damaged",
        },
        reason: reason(collection),
        examples: match collection.state {
            CollectionState::Ready => collection.examples.iter().map(example).collect(),
            CollectionState::Building | CollectionState::Damaged => Vec::new(),
        },
    }
}
