//! What a browser shows. Pages are rendered from the desk's answers, and are complete without a script. The script in [`assets`] shows results by
//! words until models have read them, and opens explanations in their place.
//!
//! All texts come from outside. The templates escape them, only addresses of the web become links, and no template writes a script or a style.

mod answer;
mod assets;
mod first;
mod frame;
mod head;
mod items;
mod links;
mod refused;
mod single;
mod words;

pub(crate) use assets::Asset;
pub(crate) use refused::{BrowserReader, Refused};
pub(crate) use single::{document, why};

use crate::cache::Encoded;
use crate::desk::{Call, Desk};
use crate::questions::BrowserRequest;
use crate::refusal::Refusal;
use crate::server::encoded;

/// The first page, or the answer to a question.
///
/// # Errors
/// Those of the desk.
pub(crate) fn page(
    desk: &dyn Desk,
    page: &BrowserRequest,
    call: &Call,
) -> Result<Encoded, Refusal> {
    html(match page.question {
        None => first::html(desk, page, call)?,
        Some(_) => answer::html(desk, page, call)?,
    })
}

fn html(page: String) -> Result<Encoded, Refusal> {
    encoded("text/html; charset=utf-8", page.into())
}
