//! Single documents of a collection.

use anyhow::{Context, Result};
use riposte_eval::DocId;
use riposte_serve::answers::{self, EncodedPicture, PictureFormat};
use riposte_serve::questions::DocumentKind;
use serde_json::json;

use super::answers::picture_address;
use super::opened::{OpenedCollection, OpenedPart};
use crate::debate::image_sentences;
use crate::evidence::PageEvidence;
use crate::index::inverted::Document;
use crate::report::pictures::picture_within;

/// The maximum width and height of a picture, in pixels: a column of the page on a screen of double resolution.
const SIDE: u32 = 1_024;

/// The part that has a document; `None` if none has it.
///
/// # Errors
/// The index is damaged.
pub(super) fn part_with<'a>(
    opened: &'a OpenedCollection,
    id: &DocId,
) -> Result<Option<&'a OpenedPart>> {
    for part in &opened.parts {
        if entry(part, id).is_some() || part.document(id)?.is_some() {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// The place of an image in its collection.
fn entry(part: &OpenedPart, id: &DocId) -> Option<usize> {
    let entries = &part.images.as_ref()?.collection.entries;
    entries.binary_search_by(|entry| entry.id.cmp(id)).ok()
}

/// A document for a reader; `None` if there is none with this id.
///
/// # Errors
/// The index or the evidence is damaged.
pub(super) fn find(
    collection: &str,
    opened: &OpenedCollection,
    id: &DocId,
) -> Result<Option<answers::DocumentAnswer>> {
    let Some(part) = part_with(opened, id)? else {
        return Ok(None);
    };
    let found = answers::DocumentAnswer {
        collection: collection.to_owned(),
        id: id.0.clone(),
        ..answers::DocumentAnswer::default()
    };
    if let Some(document) = part.document(id)? {
        let is_argument = part.kind() == DocumentKind::Arguments;
        let texts = &document.texts;
        let other = |at: usize| texts.get(at).filter(|text| !text.is_empty()).cloned();
        return Ok(Some(answers::DocumentAnswer {
            title: other(1).filter(|_| part.kind() != DocumentKind::Passages),
            text: other(0).unwrap_or_default(),
            source: other(2).filter(|_| is_argument),
            url: document.url,
            ..found
        }));
    }
    let images = part.images.as_ref().context("there are no images")?;
    let evidence = images.extracted().extraction.store.read(id)?;
    let Some(evidence) = evidence else {
        return Ok(Some(found));
    };
    let sentences = image_sentences(&evidence).into_iter();
    let sentences: Vec<String> = sentences.map(|sentence| sentence.text).collect();
    let page = evidence.list::<PageEvidence>().first();
    Ok(Some(answers::DocumentAnswer {
        title: page
            .map(|page| page.words.title.clone())
            .filter(|title| !title.is_empty()),
        text: sentences.join("\n"),
        url: page.map(|page| page.url.clone()),
        picture: Some(picture_address(collection, &id.0)),
        ..found
    }))
}

/// A text as a line of JSON: its id, its main text, and its other fields. The main text is called `contents`, as in Anserini and Pyserini.
pub(super) fn stored(document: &Document, kind: DocumentKind) -> String {
    let mut object = json!({"id": document.id.0});
    let names: &[&str] = match kind {
        DocumentKind::Arguments => &["contents", "conclusion", "title"],
        DocumentKind::Passages => &["contents", "expansion"],
        _ => &["contents", "title"],
    };
    for (name, text) in names.iter().zip(&document.texts) {
        if !text.is_empty() || *name == "contents" {
            object[*name] = json!(text);
        }
    }
    if let Some(url) = &document.url {
        object["url"] = json!(url);
    }
    object.to_string()
}

/// The picture of an image, decoded and encoded again; `None` if there is no such image, or none of its files can be decoded.
///
/// # Errors
/// It cannot be encoded.
pub(super) fn picture(opened: &OpenedCollection, id: &DocId) -> Result<Option<EncodedPicture>> {
    for part in &opened.parts {
        let (Some(images), Some(at)) = (&part.images, entry(part, id)) else {
            continue;
        };
        let entry = images.collection.entries.get(at);
        let files = entry.map(|entry| entry.list(&mut Vec::new()).images);
        let bytes = picture_within(id, files.unwrap_or_default(), SIDE)?;
        return Ok(bytes.map(|bytes| EncodedPicture {
            format: PictureFormat::WebP,
            bytes,
        }));
    }
    Ok(None)
}
