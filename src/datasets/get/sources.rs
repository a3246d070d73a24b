//! Where the files of data sets come from: the publishers, or a mirror, which can be a directory.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use md5::Md5;
use sha2::{Digest, Sha256};

use super::DataFile;
use crate::disk::{hex, regular};
use crate::events::{Event, OnEvent};
use crate::web::download::{Checksum, Expected, Web};
use crate::web::part::{copy_file, remove_part};
use crate::web::{Transfer, is_web_address};

/// Number of bytes that are read at once.
const BUFFER: usize = 1 << 18;

pub(super) struct DatasetSources {
    web: Web,
    /// A copy of the files elsewhere, each as `NAME/FILE` or as `FILE`.
    mirror: Option<Place>,
}

/// The place of a file or of a mirror.
enum Place {
    Address(String),
    Path(PathBuf),
}

impl DatasetSources {
    /// # Errors
    /// The mirror is neither an address nor a directory, or the certificates that the user has chosen cannot be read.
    pub fn new(mirror: Option<&str>) -> Result<DatasetSources> {
        let mirror = match mirror {
            None => None,
            Some(text) if is_web_address(text) => {
                Some(Place::Address(text.trim_end_matches('/').to_owned()))
            }
            Some(text) => {
                let is_dir = fs::metadata(text).is_ok_and(|metadata| metadata.is_dir());
                ensure!(
                    is_dir,
                    "the mirror {text} is neither an address nor a directory"
                );
                Some(Place::Path(text.into()))
            }
        };
        Ok(DatasetSources {
            web: Web::new()?,
            mirror,
        })
    }

    /// Downloads a file to `to`. `names` are those of the data set, and of the file in messages. Returns the file's sha256, and where it came from.
    ///
    /// # Errors
    /// No source has the right file. The message says what each had.
    pub fn fetch(
        &mut self,
        file: &DataFile,
        (dataset, name): (&str, &str),
        to: &Path,
        on_event: &mut OnEvent,
    ) -> Result<(String, String)> {
        let part = to.with_added_extension("part");
        // an earlier process may have been killed when only the check was left
        if let (Some(bytes), true) = (file.bytes, has_checksum(file))
            && fs::metadata(&part).is_ok_and(|metadata| metadata.len() == bytes)
            && let Ok(sha256) = check(&part, file, None)
        {
            keep(&part, to)?;
            return Ok((sha256, "an interrupted download".to_owned()));
        }
        let mut tried = Vec::new();
        for place in self.places(file, dataset) {
            let from = match &place {
                Place::Address(url) => url.clone(),
                Place::Path(path) => path.display().to_string(),
            };
            on_event(Event::step(format!("{name}: from {from}")));
            match self.fetch_from(&place, file, name, &part, on_event) {
                Ok(sha256) => {
                    keep(&part, to)?;
                    return Ok((sha256, from));
                }
                Err(error) => tried.push(format!("{from}: {error:#}")),
            }
        }
        bail!("could not be got: {}", tried.join("; "));
    }

    fn places(&self, file: &DataFile, dataset: &str) -> Vec<Place> {
        let name = &file.file;
        match &self.mirror {
            None => file.urls.iter().cloned().map(Place::Address).collect(),
            Some(Place::Address(base)) => vec![
                Place::Address(format!("{base}/{dataset}/{name}")),
                Place::Address(format!("{base}/{name}")),
            ],
            Some(Place::Path(dir)) => vec![
                Place::Path(dir.join(dataset).join(name)),
                Place::Path(dir.join(name)),
            ],
        }
    }

    /// Downloads a file from one place to `part`, and checks it.
    fn fetch_from(
        &mut self,
        place: &Place,
        file: &DataFile,
        name: &str,
        part: &Path,
        on_event: &mut OnEvent,
    ) -> Result<String> {
        let mut transfer = Transfer::new(name, on_event);
        let mut published = None;
        let fetched = match place {
            Place::Address(url) => {
                let expected = Expected {
                    bytes: file.bytes,
                    is_pinned: has_checksum(file),
                    most: file.at_most(),
                };
                let info = self.web.download(url, &expected, part, &mut transfer);
                info.map(|info| published = info.checksum)
            }
            Place::Path(path) => copy_file(path, file.at_most(), part, &mut transfer),
        };
        drop(transfer);
        fetched?;
        // a wrong file must not be continued
        check(part, file, published.as_ref()).inspect_err(|_| remove_part(part))
    }
}

fn has_checksum(file: &DataFile) -> bool {
    file.md5.is_some() || file.sha256.is_some()
}

/// Gives a checked download its name.
fn keep(part: &Path, to: &Path) -> Result<()> {
    fs::rename(part, to).with_context(|| format!("cannot rename {part:?} to {to:?}"))?;
    remove_part(part);
    Ok(())
}

/// Compares a file with the catalogue, and with the checksum that its publisher sent. Returns its sha256.
///
/// # Errors
/// The file is not the right one, or it cannot be read.
pub(super) fn check(path: &Path, file: &DataFile, published: Option<&Checksum>) -> Result<String> {
    let reading = || format!("cannot read {path:?}");
    let bytes = fs::metadata(path).with_context(reading)?.len();
    if let Some(must) = file.bytes {
        ensure!(bytes == must, "it has {bytes} bytes, must be {must}");
    }
    ensure!(
        bytes <= file.at_most(),
        "it has {bytes} bytes, must be at most {}",
        file.at_most()
    );
    let mut input = regular::open(path).with_context(reading)?;
    let (mut md5, mut sha256) = (Md5::new(), Sha256::new());
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.with_context(reading)?,
        };
        let read = buffer.get(..read).unwrap_or_default();
        if file.md5.is_some() {
            md5.update(read);
        }
        sha256.update(read);
    }
    let (md5, sha256) = (hex(&md5.finalize()), hex(&sha256.finalize()));
    let published = match published {
        Some(Checksum::Sha256(must)) => Some(must),
        _ => None,
    };
    for (kind, is, must) in [
        ("md5", &md5, file.md5.as_ref()),
        ("sha256", &sha256, file.sha256.as_ref()),
        ("sha256", &sha256, published),
    ] {
        if let Some(must) = must {
            ensure!(is == must, "its {kind} is {is}, must be {must}");
        }
    }
    Ok(sha256)
}
