//! Decodes the pictures, and writes them with their pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::gathered::{Gathered, GatheredPicture};
use super::pages::{self, Appearance, Appearances};
use super::{MadeCollection, NewCollection, Reason};
use crate::collection::FaultKind;
use crate::disk::{self, hex, regular};
use crate::events::{Event, OnEvent, Progress, Stage};
use crate::evidence::picture::{DecodedImage, decode, perceptual_hash};

/// Number of pictures that are decoded at a time.
const AT_A_TIME: usize = 64;

/// What became of a picture.
enum Outcome {
    Written,
    LeftOut(Reason),
    Broken(String),
}

/// Writes the pictures that are shown, and the others if there is no page at all or they are to be kept.
///
/// # Errors
/// The disk cannot be written.
pub(super) fn write(
    wanted: &NewCollection,
    gathered: &Gathered,
    appearances: &Appearances,
    out: &Path,
    made: &mut MadeCollection,
    on_event: &mut OnEvent,
) -> Result<()> {
    let keeps_all = wanted.keep_unshown || gathered.pages.is_empty();
    let of_pictures = &appearances.of_pictures;
    let numbers: Vec<usize> = (0..gathered.pictures.len())
        .filter(|number| keeps_all || of_pictures.contains_key(number))
        .collect();
    let total = numbers.len();
    if !keeps_all {
        let pictures = gathered.pictures.iter().enumerate();
        let unshown = pictures.filter(|(number, _)| !of_pictures.contains_key(number));
        let unshown: Vec<&GatheredPicture> = unshown.map(|(_, picture)| picture).collect();
        count_unshown(gathered, &unshown, made)?;
    }
    let mut shown_on = BTreeSet::new();
    on_event(Event::started(Stage::Writing, total));
    let mut done = 0;
    for block in numbers.chunks(AT_A_TIME) {
        let outcomes: Vec<Result<Outcome>> = block
            .par_iter()
            .map(|number| {
                let of_picture = of_pictures.get(number).map_or(&[][..], Vec::as_slice);
                let picture = &gathered.pictures[*number];
                write_picture(
                    wanted,
                    gathered,
                    picture,
                    of_picture,
                    &appearances.urls,
                    out,
                )
            })
            .collect();
        for (number, outcome) in block.iter().zip(outcomes) {
            let of_picture = of_pictures.get(number);
            match outcome? {
                Outcome::Written => {
                    made.images += 1;
                    made.without_page += usize::from(of_picture.is_none());
                    shown_on.extend(of_picture.into_iter().flatten().map(|one| one.page));
                }
                Outcome::LeftOut(reason) => *made.left_out.entry(reason).or_default() += 1,
                Outcome::Broken(what) => {
                    let picture = &gathered.pictures[*number];
                    let what = format!("{}: {what}", picture.url);
                    on_event(Event::fault(FaultKind::Image, &picture.file, what));
                }
            }
        }
        done += block.len();
        on_event(Event::progress(done, total));
    }
    on_event(Event::Progress(Progress::Ended));
    made.pages = shown_on.len();
    // a collection without images has this directory, too, until the error
    Ok(())
}

/// Counts the pictures that no page shows. Those that are broken are counted separately: a page may refer to them in a way that riposte does not know.
fn count_unshown(
    gathered: &Gathered,
    pictures: &[&GatheredPicture],
    made: &mut MadeCollection,
) -> Result<()> {
    let is_broken = |picture: &&GatheredPicture| -> Result<bool> {
        let bytes = bytes_of(gathered, picture)?;
        Ok(decode(&bytes).is_err() && !is_of_other_format(&bytes))
    };
    let broken: Vec<bool> = pictures.par_iter().map(is_broken).collect::<Result<_>>()?;
    let broken = broken.into_iter().filter(|is_broken| *is_broken).count();
    for (reason, count) in [
        (Reason::Unshown, pictures.len() - broken),
        (Reason::UnshownBroken, broken),
    ] {
        if count > 0 {
            made.left_out.insert(reason, count);
        }
    }
    Ok(())
}

fn bytes_of(gathered: &Gathered, picture: &GatheredPicture) -> Result<Vec<u8>> {
    let path = gathered.picture_file(picture);
    let bytes = regular::read(&path, crate::limits::MAX_SAVED_FILE_BYTES);
    bytes.with_context(|| format!("cannot read {}", path.display()))
}

fn write_picture(
    wanted: &NewCollection,
    gathered: &Gathered,
    picture: &GatheredPicture,
    of_picture: &[Appearance],
    urls: &[String],
    out: &Path,
) -> Result<Outcome> {
    let bytes = bytes_of(gathered, picture)?;
    let decoded = match decode(&bytes) {
        Ok(decoded) => decoded,
        Err(_) if is_of_other_format(&bytes) => return Ok(Outcome::LeftOut(Reason::Format)),
        Err(error) => return Ok(Outcome::Broken(format!("{error:#}"))),
    };
    if decoded.width.min(decoded.height) < wanted.min_side {
        return Ok(Outcome::LeftOut(Reason::Small));
    }
    let id = &picture.id;
    let home = out.join("images").join(id.get(..3).unwrap_or(id)).join(id);
    put(&home.join(file_name(&decoded)), &bytes)?;
    put(&home.join("image-url.txt"), picture.url.as_bytes())?;
    let phash = perceptual_hash(&decoded.image);
    put(
        &home.join("image-phash.txt"),
        format!("{phash:064b}").as_bytes(),
    )?;
    for Appearance { page, xpaths } in of_picture {
        let url = urls.get(*page).map_or("", String::as_str);
        let html = pages::html(gathered, *page)?;
        let text = pages::parsed(&html).map(|parsed| parsed.text);
        let digest = Sha256::digest(url.as_bytes());
        let home = home.join("pages").join(format!("P{}", hex(&digest[..8])));
        put(&home.join("page-url.txt"), url.as_bytes())?;
        // no search led to the page
        put(&home.join("rankings.jsonl"), b"")?;
        put(&home.join("snapshot/dom.html"), &html)?;
        put(
            &home.join("snapshot/text.txt"),
            text.unwrap_or_default().as_bytes(),
        )?;
        let lines = xpaths.join("\n") + "\n";
        put(&home.join("snapshot/image-xpath.txt"), lines.as_bytes())?;
    }
    Ok(Outcome::Written)
}

/// The name that the layout has for a picture. Readers recognise formats by the bytes, so those without a name of their own have the first one.
fn file_name(decoded: &DecodedImage) -> &'static str {
    match decoded.format {
        "png" => "image.png",
        "jpeg" => "image.jpg",
        _ => "image.webp",
    }
}

/// Whether bytes are a drawing (SVG) or a picture in AVIF or HEIF: common on the web, and not broken.
fn is_of_other_format(bytes: &[u8]) -> bool {
    let start = bytes.get(..1024).unwrap_or(bytes).to_ascii_lowercase();
    let is_markup = start.trim_ascii_start().starts_with(b"<");
    let is_drawing = is_markup && start.windows(4).any(|part| part == b"<svg");
    is_drawing || bytes.get(4..8) == Some(b"ftyp")
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let dir = disk::parent(path);
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    disk::write_draft(path, bytes)
}
