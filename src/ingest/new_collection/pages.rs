//! Finds which pictures each page shows, and where.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::Reason;
use super::gathered::{Gathered, GatheredPage};
use crate::collection::FaultKind;
use crate::collection::saved::{embedded, location};
use crate::disk::regular;
use crate::events::{Event, OnEvent, Progress, Stage};
use crate::evidence::guarded;
use crate::evidence::page::decode;
use crate::evidence::page::images::{MissingPicture, PageImages, ShownPicture, images};
use crate::html::percent_decoded;
use crate::limits::{MAX_COPIED_BYTES, MAX_PAGE_IMAGES, MAX_PICTURE_PAGES, MAX_SAVED_FILE_BYTES};

/// Number of pages that are parsed at a time.
const AT_A_TIME: usize = 64;

/// A page that shows a picture.
pub(super) struct Appearance {
    /// The number of the page.
    pub page: usize,
    pub xpaths: Vec<String>,
}

/// The appearances of each picture, and the addresses of the pages.
pub(super) struct Appearances {
    /// By the number of the picture.
    pub of_pictures: BTreeMap<usize, Vec<Appearance>>,
    /// By the number of the page; "" for pages that show no picture.
    pub urls: Vec<String>,
}

/// # Errors
/// The temporary directory cannot be read.
pub(super) fn appearances(
    gathered: &Gathered,
    left_out: &mut BTreeMap<Reason, usize>,
    on_event: &mut OnEvent,
) -> Result<Appearances> {
    let mut found = Appearances {
        of_pictures: BTreeMap::new(),
        urls: Vec::new(),
    };
    let mut add = |reason: Reason, count: usize| {
        if count > 0 {
            *left_out.entry(reason).or_default() += count;
        }
    };
    // for each picture the addresses of its pages: the same page may have been saved twice
    let mut seen = std::collections::HashSet::new();
    let total = gathered.pages.len();
    on_event(Event::started(Stage::Searching, total));
    for (block, pages) in gathered.pages.chunks(AT_A_TIME).enumerate() {
        let first = block * AT_A_TIME;
        let read: Vec<_> = pages
            .par_iter()
            .enumerate()
            .map(|(n, page)| read(gathered, first + n, page))
            .collect();
        for (n, read) in read.into_iter().enumerate() {
            let (number, page) = (first + n, &pages[n]);
            let read = match read {
                Ok(read) => read,
                Err(error) => {
                    let what = format!("{error:#}");
                    on_event(Event::fault(FaultKind::Page, &page.file, what));
                    found.urls.push(String::new());
                    continue;
                }
            };
            add(Reason::Embedded, read.embedded);
            add(Reason::Beyond, read.beyond);
            add(Reason::NotSaved, read.not_saved);
            let mut is_repeated = false;
            let url = read.url.unwrap_or_else(|| page.url.clone());
            for (picture, xpaths) in read.shown {
                if !seen.insert((picture, url.clone())) {
                    is_repeated = true;
                    continue;
                }
                let of_picture = found.of_pictures.entry(picture).or_default();
                if of_picture.len() < MAX_PICTURE_PAGES {
                    of_picture.push(Appearance {
                        page: number,
                        xpaths,
                    });
                } else {
                    add(Reason::MorePages, 1);
                }
            }
            add(Reason::Repeated, usize::from(is_repeated));
            found.urls.push(url);
        }
        let done = found.urls.len();
        on_event(Event::progress(done, total));
    }
    on_event(Event::Progress(Progress::Ended));
    Ok(found)
}

/// What a page shows.
struct Read {
    url: Option<String>,
    /// Each picture once, with the XPaths of its elements.
    shown: Vec<(usize, Vec<String>)>,
    embedded: usize,
    beyond: usize,
    not_saved: usize,
}

/// The HTML of a page, as text.
pub(super) fn html(gathered: &Gathered, number: usize) -> Result<Vec<u8>> {
    let path = gathered.page_file(number);
    let bytes = regular::read(&path, MAX_SAVED_FILE_BYTES);
    bytes.with_context(|| format!("cannot read {}", path.display()))
}

/// What a page shows, and its text.
pub(super) fn parsed(bytes: &[u8]) -> Result<PageImages> {
    let (text, _) = decode(bytes);
    guarded(|| Ok(images(&text, MAX_PAGE_IMAGES)))
}

fn read(gathered: &Gathered, number: usize, page: &GatheredPage) -> Result<Read> {
    let parsed = parsed(&html(gathered, number)?)?;
    let bases = bases(page, &parsed);
    let most = (MAX_COPIED_BYTES / page.size.max(1)).max(1);
    let mut read = Read {
        url: parsed.url.filter(|_| page.scope == 0),
        shown: Vec::new(),
        embedded: parsed.embedded,
        beyond: parsed.more,
        not_saved: 0,
    };
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for ShownPicture { urls, xpath, lack } in parsed.shown {
        let found = urls
            .iter()
            .filter_map(|url| find(gathered, page, &bases, url));
        // the largest of several sizes; a small one may be there until a script loads another
        let Some(picture) = found.max_by_key(|picture| gathered.pictures[*picture].size) else {
            read.not_saved += usize::from(lack == MissingPicture::NotSaved);
            read.embedded += usize::from(lack == MissingPicture::Embedded);
            continue;
        };
        let shown = read.shown.len();
        match places.entry(picture) {
            Entry::Occupied(place) => read.shown[*place.get()].1.push(xpath),
            Entry::Vacant(_) if shown == most => read.beyond += 1,
            Entry::Vacant(place) => {
                place.insert(shown);
                read.shown.push((picture, vec![xpath]));
            }
        }
    }
    Ok(read)
}

/// The locations to which the references of a page can be relative, the likeliest first.
fn bases(page: &GatheredPage, parsed: &PageImages) -> Vec<String> {
    let own = std::iter::once(&page.location).chain(&parsed.url);
    let own: Vec<&String> = own.collect();
    let based = own
        .iter()
        .filter_map(|at| location::resolve(at, parsed.base.as_ref()?));
    based.chain(own.iter().map(|at| (*at).clone())).collect()
}

/// The picture that a URL of a page leads to.
fn find(gathered: &Gathered, page: &GatheredPage, bases: &[String], url: &str) -> Option<usize> {
    if url.starts_with(embedded::SCHEME) {
        return gathered.embedded(url);
    }
    if url.starts_with("cid:") {
        return gathered.picture_at(url, page.scope);
    }
    let mut places = bases.iter().filter_map(|base| location::resolve(base, url));
    if let Some(found) = places.find_map(|at| gathered.picture_at(&at, page.scope)) {
        return Some(found);
    }
    if page.scope != 0 {
        return None;
    }
    // the file was moved, or the page refers to the web
    let path = url.split(['?', '#']).next().unwrap_or_default();
    gathered.picture_named(&percent_decoded(path.rsplit(['/', '\\']).next()?))
}
