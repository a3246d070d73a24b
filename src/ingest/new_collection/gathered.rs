//! What the sources hold: pages and pictures in a temporary directory, and where each was loaded from.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use image::ImageReader;
use sha2::{Digest, Sha256};

use super::Reason;
use crate::collection::FaultKind;
use crate::collection::saved::{SavedFile, SavedItem, SavedKind, embedded, location};
use crate::disk::{self, hex};
use crate::events::{Event, OnEvent};
use crate::limits::{
    MAX_ARCHIVED_REDIRECTS, MAX_GATHERED_ITEMS, MAX_LOCATION_BYTES, MAX_NEW_PAGE_BYTES,
};

/// A page.
pub(super) struct GatheredPage {
    pub location: String,
    /// Where it was, as it is written into the collection if the page says nothing better.
    pub url: String,
    /// The file itself, or the archive that it is in.
    pub file: PathBuf,
    pub scope: u32,
    /// Number of bytes.
    pub size: usize,
}

/// A picture. Those with the same bytes are one.
pub(super) struct GatheredPicture {
    pub id: String,
    digest: [u8; 32],
    /// Where it was first found, as it is written into the collection.
    pub url: String,
    pub file: PathBuf,
    pub size: usize,
}

/// A location in an archive. The files of folders have the scope 0: a page in one can show a picture in another.
type Place = (u32, String);

#[derive(Default)]
pub(super) struct Gathered {
    dir: PathBuf,
    pub pages: Vec<GatheredPage>,
    pub pictures: Vec<GatheredPicture>,
    by_id: HashMap<String, usize>,
    /// The first picture at each location, in its archive and in all of them.
    by_place: HashMap<Place, usize>,
    by_location: HashMap<String, usize>,
    /// The picture file with this name in a folder; `None` if there are several.
    by_name: HashMap<String, Option<usize>>,
    redirects: HashMap<Place, String>,
    /// The source that is being read, the file in it, and its scope.
    source: PathBuf,
    file: PathBuf,
    scope: u32,
    /// The shorter side of the smallest picture that is taken out of a page.
    min_side: u32,
}

impl Gathered {
    /// # Errors
    /// `dir` cannot be written.
    pub(super) fn new(dir: &Path, min_side: u32) -> Result<Gathered> {
        for name in ["pages", "pictures"] {
            let path = dir.join(name);
            fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        }
        Ok(Gathered {
            dir: dir.to_owned(),
            min_side,
            ..Gathered::default()
        })
    }

    /// What is added from now on is in this file of a source.
    pub(super) fn begin(&mut self, source: &Path, file: &Path) {
        self.source = source.to_owned();
        self.file = file.to_owned();
        self.scope += 1;
    }

    /// The file of a page in the temporary directory.
    pub(super) fn page_file(&self, number: usize) -> PathBuf {
        self.dir.join("pages").join(number.to_string())
    }

    /// The file of a picture in the temporary directory.
    pub(super) fn picture_file(&self, picture: &GatheredPicture) -> PathBuf {
        self.dir.join("pictures").join(&picture.id)
    }

    /// # Errors
    /// The temporary directory cannot be written, or there are too many pages or pictures.
    pub(super) fn add(
        &mut self,
        found: SavedItem,
        left_out: &mut BTreeMap<Reason, usize>,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        match found {
            SavedItem::Saved(SavedKind::Page, page) => self.add_page(page, on_event)?,
            SavedItem::Saved(SavedKind::Picture, saved) => self.add_picture(saved, on_event)?,
            SavedItem::Redirect { from, to } => {
                let fits = self.redirects.len() < MAX_GATHERED_ITEMS
                    && from.len().max(to.len()) <= MAX_LOCATION_BYTES;
                if fits {
                    let place = (self.scope, location::key(&from));
                    self.redirects
                        .entry(place)
                        .or_insert_with(|| location::key(&to));
                }
            }
            SavedItem::NoAnswer => *left_out.entry(Reason::NoAnswer).or_default() += 1,
            SavedItem::Unlisted => *left_out.entry(Reason::Unlisted).or_default() += 1,
            SavedItem::Fault(fault) => on_event(Event::Fault(fault)),
        }
        Ok(())
    }

    /// The location as it is written into the collection: that of a file of a folder begins at the folder, so that it says nothing of this machine.
    fn url_of(&self, saved: &SavedFile) -> String {
        if !saved.location.starts_with("file:") {
            return saved.location.clone();
        }
        let inside = self.file.strip_prefix(&self.source).ok();
        let inside = inside.filter(|path| !path.as_os_str().is_empty());
        let name = self.file.file_name().map(Path::new);
        let path = inside.or(name).unwrap_or(&self.file);
        format!("file:{}", path.to_string_lossy().replace('\\', "/"))
    }

    fn is_file(saved: &SavedFile) -> bool {
        saved.location.starts_with("file:")
    }

    fn add_page(&mut self, mut page: SavedFile, on_event: &mut OnEvent) -> Result<()> {
        let file = page.file.clone();
        page.bytes = embedded::without_pictures(page.bytes, &mut |bytes| {
            self.add_embedded(&bytes, &file, on_event)
        })?;
        let size = page.bytes.len();
        let what = match size {
            0 => "empty file".to_owned(),
            _ if size > MAX_NEW_PAGE_BYTES => {
                format!("a page of {size} bytes: more than {MAX_NEW_PAGE_BYTES}")
            }
            _ if page.location.len() > MAX_LOCATION_BYTES => "its address is too long".to_owned(),
            _ => String::new(),
        };
        if !what.is_empty() {
            on_event(Event::fault(FaultKind::Page, &page.file, what));
            return Ok(());
        }
        ensure!(
            self.pages.len() < MAX_GATHERED_ITEMS,
            "more than {MAX_GATHERED_ITEMS} pages"
        );
        disk::write_draft(&self.page_file(self.pages.len()), &page.bytes)?;
        self.pages.push(GatheredPage {
            url: self.url_of(&page),
            scope: if Self::is_file(&page) { 0 } else { self.scope },
            location: page.location,
            file: page.file,
            size,
        });
        Ok(())
    }

    /// Adds a picture that is inside a page, and returns the name that stands for it. `None` for small ones, which stay in the page: most of them are
    /// there until a script loads the real picture.
    fn add_embedded(
        &mut self,
        bytes: &[u8],
        file: &Path,
        on_event: &mut OnEvent,
    ) -> Result<Option<String>> {
        let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
        let size = reader.ok().and_then(|reader| reader.into_dimensions().ok());
        if size.is_some_and(|(width, height)| width.min(height) < self.min_side) {
            return Ok(None);
        }
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let name = format!("{}{}", embedded::SCHEME, id_of(&digest));
        let number = self.store(bytes, digest, name.clone(), file, on_event)?;
        Ok(number.map(|_| name))
    }

    fn add_picture(&mut self, saved: SavedFile, on_event: &mut OnEvent) -> Result<()> {
        if saved.location.len() > MAX_LOCATION_BYTES {
            let what = "its address is too long";
            on_event(Event::fault(FaultKind::Image, &saved.file, what));
            return Ok(());
        }
        let digest: [u8; 32] = Sha256::digest(&saved.bytes).into();
        let url = self.url_of(&saved);
        let Some(number) = self.store(&saved.bytes, digest, url, &saved.file, on_event)? else {
            return Ok(());
        };
        let key = location::key(&saved.location);
        if Self::is_file(&saved) {
            let name = self.file.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            let several = |one: &mut Option<usize>| *one = one.filter(|one| *one == number);
            self.by_name
                .entry(name)
                .and_modify(several)
                .or_insert(Some(number));
        } else {
            self.by_place
                .entry((self.scope, key.clone()))
                .or_insert(number);
        }
        self.by_location.entry(key).or_insert(number);
        Ok(())
    }

    /// The number of a picture with these bytes, which are stored if they are new. `None` if their id is that of another picture, which is a fault.
    fn store(
        &mut self,
        bytes: &[u8],
        digest: [u8; 32],
        url: String,
        file: &Path,
        on_event: &mut OnEvent,
    ) -> Result<Option<usize>> {
        let id = id_of(&digest);
        if let Some(number) = self.by_id.get(&id) {
            if self.pictures[*number].digest == digest {
                return Ok(Some(*number));
            }
            let what = "another picture has the same id";
            on_event(Event::fault(FaultKind::Image, file, what));
            return Ok(None);
        }
        let number = self.pictures.len();
        ensure!(
            number < MAX_GATHERED_ITEMS,
            "more than {MAX_GATHERED_ITEMS} pictures"
        );
        let picture = GatheredPicture {
            id: id.clone(),
            digest,
            url,
            file: file.to_owned(),
            size: bytes.len(),
        };
        disk::write_draft(&self.picture_file(&picture), bytes)?;
        self.pictures.push(picture);
        self.by_id.insert(id, number);
        Ok(Some(number))
    }

    /// The picture that was taken out of a page, by the name that stands for it.
    pub(super) fn embedded(&self, name: &str) -> Option<usize> {
        let id = name.strip_prefix(embedded::SCHEME)?;
        self.by_id.get(id).copied()
    }

    /// The picture at a location, for a page of this scope: first in the page's own archive.
    pub(super) fn picture_at(&self, at: &str, scope: u32) -> Option<usize> {
        if at.len() > MAX_LOCATION_BYTES {
            return None;
        }
        let mut key = location::key(at);
        for _ in 0..=MAX_ARCHIVED_REDIRECTS {
            let place = (scope, key);
            let found = self
                .by_place
                .get(&place)
                .or_else(|| self.by_location.get(&place.1));
            if let Some(found) = found {
                return Some(*found);
            }
            key = self.redirects.get(&place)?.clone();
        }
        None
    }

    /// The only picture file with this name in the folders.
    pub(super) fn picture_named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().flatten()
    }
}

fn id_of(digest: &[u8; 32]) -> String {
    format!("I{}", hex(&digest[..8]))
}
