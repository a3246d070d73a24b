//! Makes an image collection of one's own files: pictures and saved pages in folders, MHTML, WARC and WACZ.
//!
//! First all sources are read, and their pages and pictures are put into a temporary directory. Then each page is searched for the pictures that it
//! shows. At the end the pictures that a page shows are decoded and written, each with its pages. The collection is written beside its final place and
//! renamed, so a run that is killed leaves nothing half-done.

mod gathered;
mod pages;
mod write;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::collection::{read_topics, saved};
use crate::disk::{self, TemporaryDir, regular};
use crate::events::{Event, OnEvent, Stage, run_stage};
use crate::wording::counted;
use gathered::Gathered;

/// The shorter side of the smallest picture that is not an icon, in pixels.
pub const MIN_SIDE: u32 = 64;

/// What [`new_collection`] makes, and of what.
#[derive(Debug)]
pub struct NewCollection {
    /// A new or empty directory.
    pub dir: PathBuf,
    /// Files and folders.
    pub sources: Vec<PathBuf>,
    /// Copied unchanged.
    pub topics: Option<PathBuf>,
    /// Pictures whose shorter side is smaller are left out.
    pub min_side: u32,
    /// Whether pictures that no page shows are kept, although there are pages.
    pub keep_unshown: bool,
}

/// Why pictures are left out that are not broken, or something else in the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Unshown,
    UnshownBroken,
    Small,
    Format,
    Embedded,
    NotSaved,
    Beyond,
    MorePages,
    Repeated,
    Links,
    NoAnswer,
    Unlisted,
}

impl Reason {
    /// The count with the reason, as a line that is printed.
    pub fn line(self, count: usize) -> String {
        const PICTURES: [&str; 2] = ["picture", "pictures"];
        const ELEMENTS: [&str; 2] = ["image element", "image elements"];
        let ([one, many], why) = match self {
            Reason::Unshown => (
                PICTURES,
                "no page shows it (--keep-unshown keeps such pictures)",
            ),
            Reason::UnshownBroken => (
                PICTURES,
                "no page shows it, and it is broken (--keep-unshown says why)",
            ),
            Reason::Small => (
                PICTURES,
                "smaller than --min-side, like an icon or a tracking pixel",
            ),
            Reason::Format => (PICTURES, "SVG, AVIF or HEIF, which riposte does not decode"),
            Reason::Embedded => (
                ELEMENTS,
                "the image is inside the page (data:), and small, broken or a drawing",
            ),
            Reason::NotSaved => (ELEMENTS, "its picture was not saved"),
            Reason::Beyond => (ELEMENTS, "beyond what is read of a page (docs/limits.md)"),
            Reason::MorePages => (
                ["appearance", "appearances"],
                "the picture has as many pages as it may have (docs/limits.md)",
            ),
            Reason::Repeated => (["page", "pages"], "the same page was saved before"),
            Reason::Links => (
                ["symbolic link", "symbolic links"],
                "it could lead out of the folder",
            ),
            Reason::NoAnswer => (
                ["response", "responses"],
                "the server answered with an error",
            ),
            Reason::Unlisted => (
                ["HTML file", "HTML files"],
                "not in the list of pages of its WACZ file",
            ),
        };
        format!("{}: {why}", counted(count, one, many))
    }
}

/// The error that there is no image to make a collection of.
#[derive(Debug, thiserror::Error)]
#[error("nothing to write: {what}")]
pub(crate) struct NoImage {
    /// Number of pictures and pages that were read.
    pub found: usize,
    /// What was read, and why it was left out.
    pub what: String,
}

/// What was made.
#[derive(Debug, Default)]
pub struct MadeCollection {
    pub images: usize,
    /// Number of pages that show one of them.
    pub pages: usize,
    /// Number of pages that were read.
    pub pages_read: usize,
    /// Number of images that no page shows.
    pub without_page: usize,
    /// Number of topics; `None` if none were given.
    pub topics: Option<usize>,
    pub left_out: BTreeMap<Reason, usize>,
}

/// Makes a collection. What is broken in the sources is a fault.
///
/// # Errors
/// The directory is not empty or cannot be written, the topics or a source cannot be read, a source is too large, or there is no image.
pub fn new_collection(wanted: &NewCollection, on_event: &mut OnEvent) -> Result<MadeCollection> {
    let dir = &wanted.dir;
    ensure_empty(dir)?;
    ensure!(
        !wanted.sources.is_empty(),
        "give files or folders with --from"
    );
    let read = wanted.topics.as_deref().map(read_topics).transpose()?;
    let mut made = MadeCollection {
        topics: read.map(|topics| topics.len()),
        ..MadeCollection::default()
    };
    for source in &wanted.sources {
        ensure!(
            !is_within(dir, source)?,
            "{} is in the folder {} of --from",
            dir.display(),
            source.display()
        );
    }
    let beside = disk::parent(dir);
    let writing = || format!("cannot write the collection {}", dir.display());
    fs::create_dir_all(beside).with_context(writing)?;
    let out = TemporaryDir::new(beside).with_context(writing)?;
    let spool = TemporaryDir::new(beside).with_context(writing)?;
    if let Some(file) = &wanted.topics {
        copy_topics(file, out.path())?;
    }
    let mut gathered = Gathered::new(spool.path(), wanted.min_side)?;
    gather(wanted, &mut gathered, &mut made, on_event)?;
    made.pages_read = gathered.pages.len();
    let appearances = pages::appearances(&gathered, &mut made.left_out, on_event)?;
    write::write(
        wanted,
        &gathered,
        &appearances,
        out.path(),
        &mut made,
        on_event,
    )?;
    if made.images == 0 {
        let left_out = made.left_out.iter();
        let why: Vec<String> = left_out
            .map(|(reason, count)| reason.line(*count))
            .collect();
        let pages = counted(made.pages_read, "page", "pages");
        let pictures = counted(gathered.pictures.len(), "picture", "pictures");
        let why = match why.is_empty() {
            true => "nothing".to_owned(),
            false => why.join("; "),
        };
        bail!(NoImage {
            found: gathered.pictures.len() + made.pages_read,
            what: format!(
                "{pictures} and {pages} were read, and no picture is left. Left out: {why}"
            ),
        });
    }
    // looked at again: reading can take hours
    ensure_empty(dir)?;
    if regular::exists(dir).with_context(writing)? {
        fs::remove_dir(dir).with_context(writing)?;
    }
    out.rename(dir).with_context(writing)?;
    Ok(made)
}

/// Reads all sources.
fn gather(
    wanted: &NewCollection,
    gathered: &mut Gathered,
    made: &mut MadeCollection,
    on_event: &mut OnEvent,
) -> Result<()> {
    let mut files = Vec::new();
    for source in &wanted.sources {
        let (inside, links) = saved::files(source)?;
        if links > 0 {
            *made.left_out.entry(Reason::Links).or_default() += links;
        }
        files.extend(inside.into_iter().map(|file| (source, file)));
    }
    let total = files.len();
    run_stage(Stage::Reading, total, on_event, |on_event| {
        for (done, (source, file)) in files.iter().enumerate() {
            gathered.begin(source, file);
            saved::read(file, &mut |found| {
                gathered.add(found, &mut made.left_out, on_event)
            })?;
            on_event(Event::progress(done + 1, total));
        }
        Ok(())
    })
}

/// Checks that nothing would be lost or mixed.
fn ensure_empty(dir: &Path) -> Result<()> {
    let reading = || format!("cannot read {}", dir.display());
    if !regular::exists(dir).with_context(reading)? {
        return Ok(());
    }
    let mut inside = fs::read_dir(dir).with_context(reading)?;
    ensure!(
        inside.next().is_none(),
        "{} is not empty: give a new directory",
        dir.display()
    );
    Ok(())
}

/// Whether `dir` is below the folder `source`, so that what is written would be read, now or the next time.
fn is_within(dir: &Path, source: &Path) -> Result<bool> {
    let place = |path: &Path| -> Option<PathBuf> {
        let path = std::path::absolute(path).ok()?;
        // of a path that does not exist yet, its nearest ancestor
        path.ancestors().find_map(|above| {
            let real = above.canonicalize().ok()?;
            Some(real.join(path.strip_prefix(above).ok()?))
        })
    };
    Ok(place(dir)
        .zip(place(source))
        .is_some_and(|(dir, source)| dir.starts_with(source)))
}

fn copy_topics(file: &Path, out: &Path) -> Result<()> {
    let bytes = regular::read(file, crate::limits::MAX_TOPICS_BYTES);
    let bytes = bytes.with_context(|| format!("cannot read {}", file.display()))?;
    disk::write_draft(&out.join("topics.xml"), &bytes)
}
