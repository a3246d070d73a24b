//! Checks a collection of images before an expensive run meets its faults.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;

use crate::collection::images::{ImageCollection, ImageFolder, bytes_of};
use crate::collection::{Fault, FaultKind, read_regular, read_topics};
use crate::disk::{is_hex, regular};
use crate::evidence::picture;

/// What is in a collection.
#[derive(Debug)]
pub struct CheckedCollection {
    pub images: usize,
    /// Number of the pages of all images. A page that shows two images counts twice.
    pub pages: usize,
    /// Number of images without a page. It is not a fault if no image has one: such a collection is made of pictures alone.
    pub without_page: usize,
    /// Number of topics; `None` if there is no `topics.xml`.
    pub topics: Option<usize>,
    /// In the order of the images.
    pub faults: Vec<Fault>,
}

/// Reads all files of a collection, decodes all images, and checks topics and judgements.
///
/// # Errors
/// The directory is no collection.
pub fn check(dir: &Path) -> Result<CheckedCollection> {
    let collection = ImageCollection::open(dir)?;
    let mut faults = collection.faults.clone();
    let topics = topics_of(dir, &mut faults)?;
    if collection.entries.is_empty() {
        let images = dir.join("images");
        faults.push(layout(&images, None, "the directory has no image"));
    }
    faults.extend(judgement_faults(dir, &collection, topics.as_ref())?);
    // the results are in the order of the ids, whichever thread is first
    let found: Vec<(usize, Vec<Fault>)> = collection.entries.par_iter().map(entry_faults).collect();
    let pages = found.iter().map(|(pages, _)| pages).sum();
    let without_page = found.iter().filter(|(pages, _)| *pages == 0).count();
    let of_images = found.into_iter().flat_map(|(_, faults)| faults);
    faults.extend(of_images.filter(|fault| pages > 0 || !fault.lacks_page));
    Ok(CheckedCollection {
        images: collection.entries.len(),
        pages,
        without_page,
        topics: topics.map(|topics| topics.len()),
        faults,
    })
}

fn layout(path: &Path, line: Option<u64>, what: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Layout, path, line, what)
}

/// The numbers of the topics; `None` if there is no file. A file that cannot be read as topics is a fault.
fn topics_of(dir: &Path, faults: &mut Vec<Fault>) -> Result<Option<HashSet<String>>> {
    let path = dir.join("topics.xml");
    let exists = regular::exists(&path);
    if !exists.with_context(|| format!("cannot read {}", path.display()))? {
        return Ok(None);
    }
    Ok(match read_topics(&path) {
        Ok(topics) => Some(topics.into_iter().map(|topic| topic.id.0).collect()),
        Err(error) => {
            faults.push(layout(&path, None, format!("{:#}", error.root_cause())));
            Some(HashSet::new())
        }
    })
}

/// The faults of `qrels.txt`, if there is one: each line must have four fields, with a known topic and a known image.
fn judgement_faults(
    dir: &Path,
    collection: &ImageCollection,
    topics: Option<&HashSet<String>>,
) -> Result<Vec<Fault>> {
    let path = dir.join("qrels.txt");
    if !regular::is_file(&path)? {
        return Ok(Vec::new());
    }
    let text = match read_regular(&path, crate::limits::MAX_JUDGEMENTS_BYTES) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            return Ok(vec![layout(
                &path,
                None,
                format!("{:#}", error.root_cause()),
            )]);
        }
    };
    let entries = collection.entries.iter();
    let ids: HashSet<&str> = entries.map(|entry| entry.id.0.as_str()).collect();
    let topics = topics.filter(|topics| !topics.is_empty());
    let mut faults = Vec::new();
    for (n, line) in (1..).zip(text.lines()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let what = match fields.as_slice() {
            [] => continue,
            [topic, kind, image, grade] => {
                if !matches!(*kind, "ONTOPIC" | "PRO" | "CON") {
                    format!("{kind} is none of ONTOPIC, PRO and CON")
                } else if grade.parse::<i32>().is_err() {
                    format!("the grade {grade} is not a number")
                } else if topics.is_some_and(|topics| !topics.contains(*topic)) {
                    format!("topic {topic} is not in topics.xml")
                } else if !ids.contains(image) {
                    format!("image {image} is not in the collection")
                } else {
                    continue;
                }
            }
            _ => "not \"topic ONTOPIC|PRO|CON image grade\"".to_owned(),
        };
        faults.push(layout(&path, Some(n), what));
    }
    Ok(faults)
}

/// The number of an image's pages, and the faults of the image and of its pages.
fn entry_faults(entry: &ImageFolder) -> (usize, Vec<Fault>) {
    let mut faults = Vec::new();
    let listing = entry.list(&mut faults);
    let document = entry.read(&listing, &mut faults);
    for path in &listing.images {
        let decoded = bytes_of(path).map_err(anyhow::Error::msg);
        let decoded = decoded.and_then(|bytes| picture::decode(&bytes));
        if let Err(error) = decoded {
            let what = format!("{error:#}");
            faults.push(Fault::in_file(FaultKind::Image, path, what));
        }
    }
    let phash = entry.dir.join("image-phash.txt");
    if document.phash.is_none() && regular::exists(&phash).unwrap_or(true) {
        let what = "not 64 characters of 0 and 1";
        faults.push(Fault::in_file(FaultKind::Image, &phash, what));
    }
    for (page, dir) in document.pages.iter().zip(&listing.pages) {
        let hex = page.id.strip_prefix('P').unwrap_or_default();
        if hex.len() < 16 || !is_hex(hex) {
            faults.push(layout(
                dir,
                None,
                "not a directory named P and at least 16 hex digits",
            ));
        }
        if page.html.is_some() && page.xpaths.is_empty() {
            let path = dir.join("snapshot/image-xpath.txt");
            faults.push(Fault::in_file(
                FaultKind::XPath,
                &path,
                "the file has no XPath",
            ));
        }
    }
    (listing.pages.len(), faults)
}
