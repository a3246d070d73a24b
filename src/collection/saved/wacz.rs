//! Reads WACZ, a zip file of WARC files with a list of the crawled pages, as Browsertrix writes it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use riposte_eval::lines::JsonObject;
use serde::Deserialize;
use zip::ZipArchive;

use super::{OnFound, SavedItem, SavedKind, location, warc};
use crate::limits::{MAX_PAGE_LIST_BYTES, MAX_WACZ_MEMBERS};

/// A line of a list of pages. The first one has no URL.
#[derive(Deserialize)]
struct PageLine {
    url: Option<String>,
}

/// Reads the records of all WARC files in it. The names of members are never used as paths.
///
/// # Errors
/// `found` fails, or the file is no zip file.
pub(super) fn read(input: File, file: &Path, found: &mut OnFound) -> Result<()> {
    let mut zip = ZipArchive::new(BufReader::new(input)).context("not a zip file")?;
    ensure!(
        zip.len() <= MAX_WACZ_MEMBERS,
        "it has more than {MAX_WACZ_MEMBERS} members"
    );
    // a name that is no text is none of those below
    let names = zip.file_names().filter_map(Result::ok);
    let mut names: Vec<String> = names.map(|name| name.into_owned()).collect();
    names.sort();
    let mut listed = HashSet::new();
    for name in names.iter().filter(|name| is_list(name)) {
        match zip.by_name(name) {
            Ok(member) => add_pages(member, &mut listed),
            Err(error) => {
                let what = format!("{name}: {error}");
                found(SavedItem::fault(SavedKind::Page, file, what))?;
            }
        }
    }
    // frames and advertisements are HTML, too; without a list, all HTML is a page
    let is_page = |at: &str| listed.is_empty() || listed.contains(&location::key(at));
    let is_warc =
        |name: &&String| name.starts_with("archive/") && super::is_warc(&name.to_ascii_lowercase());
    let mut archives = 0;
    for name in names.iter().filter(is_warc) {
        let inside = file.join(name);
        match zip.by_name(name) {
            Ok(member) => {
                // the size that the member declares can lie, and that of the packed bytes is checked by the library
                let size = member.compressed_size();
                warc::read(member, size, &inside, &is_page, found)?;
                archives += 1;
            }
            Err(error) => found(SavedItem::fault(SavedKind::Page, &inside, error))?,
        }
    }
    ensure!(archives > 0, "it has no WARC file in archive/");
    Ok(())
}

fn is_list(name: &str) -> bool {
    name.starts_with("pages/") && name.ends_with(".jsonl")
}

/// Adds the pages of a list. A line that is broken is ignored: then its page is missing, or, without any page, all HTML is read.
fn add_pages(member: impl Read, listed: &mut HashSet<String>) {
    let lines = BufReader::new(member.take(MAX_PAGE_LIST_BYTES)).split(b'\n');
    for line in lines.map_while(Result::ok) {
        let line = serde_json::from_slice::<JsonObject<PageLine>>(&line).ok();
        listed.extend(
            line.and_then(|JsonObject(line)| line.url)
                .map(|url| location::key(&url)),
        );
    }
}
