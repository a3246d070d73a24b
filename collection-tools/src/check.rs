//! `check`: reports the faults of a collection before an expensive run meets them.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use rayon::prelude::*;
use riposte::collection::images::{Entry, ImageCollection, bytes_of};
use riposte::collection::{Fault, FaultKind, read_topics};
use riposte::evidence::picture;

use crate::counted;

#[derive(clap::Args)]
pub struct Options {
    /// The collection
    dir: PathBuf,
}

/// Prints one fault per line and the number of faults of each kind. The result is whether there are none.
pub fn run(options: &Options) -> Result<bool> {
    let dir = &options.dir;
    let collection = ImageCollection::open(dir)?;
    let mut faults = collection.faults.clone();
    let topics = topics_of(dir, &mut faults);
    if collection.entries.is_empty() {
        faults.push(Fault::new(
            FaultKind::Layout,
            &dir.join("images"),
            None,
            "the directory has no image",
        ));
    }
    faults.extend(judgement_faults(dir, &collection, &topics));
    // the results are in the order of the ids, whichever thread is first
    let found: Vec<Vec<Fault>> = collection.entries.par_iter().map(entry_faults).collect();
    faults.extend(found.into_iter().flatten());
    let mut kinds: BTreeMap<FaultKind, usize> = BTreeMap::new();
    for fault in &faults {
        println!("{}: {fault}", fault.kind.word());
        *kinds.entry(fault.kind).or_default() += 1;
    }
    let counts: Vec<String> = kinds
        .iter()
        .map(|(kind, n)| format!("{n} {}", kind.word()))
        .collect();
    println!(
        "{}: {}, {}, {}",
        dir.display(),
        counted(collection.entries.len(), "image"),
        counted(topics.len(), "topic"),
        if counts.is_empty() {
            "no faults".to_owned()
        } else {
            format!("faults: {}", counts.join(", "))
        }
    );
    Ok(faults.is_empty())
}

/// The numbers of the topics. A file that cannot be read as topics is a fault.
fn topics_of(dir: &Path, faults: &mut Vec<Fault>) -> HashSet<String> {
    let path = dir.join("topics.xml");
    match read_topics(&path) {
        Ok(topics) => topics.into_iter().map(|topic| topic.id.0).collect(),
        Err(error) => {
            faults.push(Fault::new(
                FaultKind::Layout,
                &path,
                None,
                format!("{:#}", error.root_cause()),
            ));
            HashSet::new()
        }
    }
}

/// The faults of `qrels.txt`, if there is one: each line must have four fields, with a known topic and a known image.
fn judgement_faults(
    dir: &Path,
    collection: &ImageCollection,
    topics: &HashSet<String>,
) -> Vec<Fault> {
    let path = dir.join("qrels.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Vec::new();
    };
    let ids: HashSet<&str> = collection
        .entries
        .iter()
        .map(|entry| entry.id.0.as_str())
        .collect();
    let mut faults = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let what = match fields.as_slice() {
            [] => continue,
            [topic, kind, image, grade] => {
                if !matches!(*kind, "ONTOPIC" | "PRO" | "CON") {
                    format!("{kind} is none of ONTOPIC, PRO and CON")
                } else if grade.parse::<i32>().is_err() {
                    format!("the grade {grade} is not a number")
                } else if !topics.is_empty() && !topics.contains(*topic) {
                    format!("topic {topic} is not in topics.xml")
                } else if !ids.contains(image) {
                    format!("image {image} is not in the collection")
                } else {
                    continue;
                }
            }
            _ => "not \"topic ONTOPIC|PRO|CON image grade\"".to_owned(),
        };
        faults.push(Fault::new(
            FaultKind::Layout,
            &path,
            Some(n as u64 + 1),
            what,
        ));
    }
    faults
}

/// The faults of an image and its pages.
fn entry_faults(entry: &Entry) -> Vec<Fault> {
    let mut faults = Vec::new();
    let listing = entry.list(&mut faults);
    let document = entry.read(&listing, &mut faults);
    for path in &listing.images {
        let decoded = bytes_of(path)
            .map_err(anyhow::Error::msg)
            .and_then(|bytes| picture::decode(&bytes));
        if let Err(error) = decoded {
            faults.push(Fault::new(
                FaultKind::Image,
                path,
                None,
                format!("{error:#}"),
            ));
        }
    }
    let phash = entry.dir.join("image-phash.txt");
    if phash.exists() && document.phash.is_none() {
        faults.push(Fault::new(
            FaultKind::Image,
            &phash,
            None,
            "not 64 characters of 0 and 1",
        ));
    }
    for (page, dir) in document.pages.iter().zip(&listing.pages) {
        let hex = page.id.strip_prefix('P').unwrap_or_default();
        if hex.len() < 16 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            faults.push(Fault::new(
                FaultKind::Layout,
                dir,
                None,
                "not a directory named P and at least 16 hex digits",
            ));
        }
        if page.html.is_some() && page.xpaths.is_empty() {
            faults.push(Fault::new(
                FaultKind::XPath,
                &dir.join("snapshot/image-xpath.txt"),
                None,
                "the file has no XPath",
            ));
        }
    }
    faults
}
