//! The pages of one document: its text, and why it is in an answer.

use askama::Template;
use riposte_page::words::number;
use riposte_page::{ExplanationRow, WebAddress};

use super::frame::PageFrame;
use super::html;
use super::links;
use crate::answers::DocumentAnswer;
use crate::cache::Encoded;
use crate::desk::{Call, Desk};
use crate::questions::{Address, BrowserRequest, Explain};
use crate::refusal::Refusal;
use crate::server::failed;

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage {
    frame: PageFrame,
    title: String,
    document: DocumentAnswer,
    source: Option<String>,
    url: Option<WebAddress>,
    picture: Option<String>,
    /// The question that led here, and its answer.
    back: Option<(String, String)>,
}

#[derive(Template)]
#[template(path = "why.html")]
struct WhyPage {
    frame: PageFrame,
    id: String,
    href: String,
    score: String,
    reason: Option<String>,
    rows: Vec<ExplanationRow>,
    back: (String, String),
}

/// The whole text of a document. `question` is the one that led here.
///
/// # Errors
/// Those of the desk.
pub(crate) fn document(
    desk: &dyn Desk,
    address: &Address,
    question: Option<&String>,
    call: &Call,
) -> Result<Encoded, Refusal> {
    let document = desk.document(address, call)?;
    let title = document
        .title
        .as_deref()
        .filter(|title| !title.trim().is_empty());
    let shown = DocumentPage {
        frame: frame(question.cloned(), Some(document.collection.clone())),
        title: title.unwrap_or(&document.id).to_owned(),
        source: document.source.clone().or_else(|| document.portal.clone()),
        url: document.url.as_deref().and_then(WebAddress::of),
        picture: links::picture(document.picture.as_deref()),
        back: question.map(|question| {
            let page = page(question, Some(&document.collection));
            (question.clone(), links::page(&page))
        }),
        document,
    };
    html(shown.render().map_err(failed)?)
}

/// Why a document is in an answer.
///
/// # Errors
/// Those of the desk.
pub(crate) fn why(desk: &dyn Desk, explain: &Explain, call: &Call) -> Result<Encoded, Refusal> {
    let explained = desk.explain(explain, call)?;
    let back = BrowserRequest {
        approach: explain.approach.clone(),
        claim: explain.claim.clone(),
        ..page(&explain.question, Some(&explained.collection))
    };
    let question = Some(explained.question.clone());
    let shown = WhyPage {
        href: links::document(&explained.collection, &explained.id, question.as_deref()),
        frame: frame(question, Some(explained.collection)),
        id: explained.id,
        score: number(explained.score),
        reason: explained.reason,
        rows: ExplanationRow::of_json(&explained.explanation),
        back: (explained.question, links::page(&back)),
    };
    html(shown.render().map_err(failed)?)
}

/// The answer to a question.
fn page(question: &str, collection: Option<&str>) -> BrowserRequest {
    BrowserRequest {
        question: Some(question.to_owned()),
        collection: collection.map(str::to_owned),
        ..BrowserRequest::default()
    }
}

/// The box asks the same collection again.
fn frame(question: Option<String>, collection: Option<String>) -> PageFrame {
    PageFrame {
        question: question.unwrap_or_default(),
        collection: collection.unwrap_or_default(),
        ..PageFrame::default()
    }
}
