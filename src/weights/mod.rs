//! Which model files are there, and are they the right ones? Nothing is used because it exists: every
//! file is checked by size and sha256, against the catalogue or against what was recorded at its first use.
//!
//! Layout: `<models directory>/<model>/<file>`, and beside the files two records of riposte's own:
//! `fetched.toml` (what was taken, from where, with which checksum) and `verified.toml` (which bytes were
//! hashed already, so that 600 MB are not hashed at each start).

mod catalogue;
mod fetch;
mod http;
mod package;

pub use catalogue::{Catalogue, Entry, ModelFile, Role, Source};
pub use fetch::{FetchReport, FetchedFile, Outcome, Progress, fetch};

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use etcetera::BaseStrategy;
use indicatif::DecimalBytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

/// The environment variable that names the models directory.
pub const DIRECTORY_VARIABLE: &str = "RIPOSTE_MODELS";

/// By what a file's sha256 is known to be right, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// It stands in the catalogue.
    Pinned,
    /// Taken at the download, and equal to the checksum that the publisher sent along.
    Publisher,
    /// Taken at the first use, with nothing to compare it to; a later change is noticed.
    FirstUse,
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Trust::Pinned => "pinned",
            Trust::Publisher => "first use, as published",
            Trust::FirstUse => "first use",
        })
    }
}

/// A model whose files are all there and right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedModel {
    pub name: String,
    pub dir: PathBuf,
    /// sha256 over the files' names and sha256s, lower-case hexadecimal: changes when any file does.
    pub sha256: String,
    /// All files together.
    pub bytes: u64,
    /// That of the least trusted file.
    pub trust: Trust,
}

impl CheckedModel {
    /// Where `file`, as the catalogue names it, lies.
    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }
}

/// What was found of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Ready(CheckedModel),
    /// These files are not there.
    Missing {
        files: Vec<String>,
    },
    /// This file is there, but is not what it must be.
    Wrong {
        file: String,
        why: String,
    },
}

/// A models directory and the catalogue of what it may hold.
#[derive(Clone, Debug)]
pub struct Models {
    dir: PathBuf,
    catalogue: Catalogue,
}

impl Models {
    /// The models directory: `dir`, else what `RIPOSTE_MODELS` names, else `riposte/models` in the
    /// user's data directory. It need not exist. An error where the user has no home either.
    pub fn at(dir: Option<&Path>) -> Result<Models> {
        let dir = match dir {
            Some(dir) => dir.to_owned(),
            None => default_directory(std::env::var_os(DIRECTORY_VARIABLE), || {
                Ok(etcetera::choose_base_strategy()?.data_dir())
            })?,
        };
        Ok(Models {
            dir,
            catalogue: Catalogue::embedded()?,
        })
    }

    /// A models directory with a catalogue other than the embedded one.
    pub fn with_catalogue(dir: &Path, catalogue: Catalogue) -> Models {
        Models {
            dir: dir.to_owned(),
            catalogue,
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Looks for the model `name` and checks all its files. An error where the catalogue has no such model.
    pub fn find(&self, name: &str) -> Result<Found> {
        Ok(self.check(self.catalogue.entry(name)?))
    }

    fn check(&self, entry: &Entry) -> Found {
        let dir = self.dir.join(&entry.name);
        let missing: Vec<String> = entry
            .files
            .iter()
            .filter(|f| !dir.join(&f.file).is_file())
            .map(|f| f.file.clone())
            .collect();
        if !missing.is_empty() {
            return Found::Missing { files: missing };
        }
        let mut whole = Sha256::new();
        let (mut bytes, mut trust) = (0, Trust::Pinned);
        for file in &entry.files {
            match check_file(&dir, file) {
                Ok(checked) => {
                    whole.update(format!("{} {}\n", file.file, checked.sha256));
                    bytes += checked.bytes;
                    trust = trust.max(checked.trust);
                }
                Err(error) => {
                    return Found::Wrong {
                        file: file.file.clone(),
                        why: format!("{error:#}"),
                    };
                }
            }
        }
        Found::Ready(CheckedModel {
            name: entry.name.clone(),
            dir,
            sha256: hex(&whole.finalize()),
            bytes,
            trust,
        })
    }
}

fn default_directory(
    variable: Option<OsString>,
    data_dir: impl FnOnce() -> Result<PathBuf>,
) -> Result<PathBuf> {
    match variable.filter(|v| !v.is_empty()) {
        Some(dir) => Ok(dir.into()),
        None => data_dir()
            .map(|data| data.join("riposte").join("models"))
            .with_context(|| format!("no models directory: set {DIRECTORY_VARIABLE}")),
    }
}

/// What a file was found to be.
struct CheckedFile {
    bytes: u64,
    sha256: String,
    trust: Trust,
}

/// Checks one file of a model directory by its catalogue entry, or by `fetched.toml` where the catalogue
/// pins nothing; a file known to neither is recorded there as taken now.
fn check_file(dir: &Path, file: &ModelFile) -> Result<CheckedFile> {
    let path = dir.join(&file.file);
    let metadata = fs::metadata(&path).with_context(|| format!("cannot read {path:?}"))?;
    let mut fetched: Fetched = read_record(&dir.join(FETCHED))?;
    let taken = fetched.file.get(&file.file);

    // The cheap check first, so that a file cut short is told without hashing the rest.
    let bytes = metadata.len();
    if let Some(must) = file.bytes.or(taken.map(|t| t.bytes))
        && bytes != must
    {
        bail!("is {bytes} bytes, must be {must}");
    }
    let sha256 = sha256_of(dir, &file.file, &metadata)?;
    if let Some(must) = file.sha256.as_ref().or(taken.map(|t| &t.sha256))
        && sha256 != *must
    {
        bail!("its sha256 is {sha256}, must be {must}");
    }
    let trust = match (&file.sha256, taken) {
        (Some(_), _) => Trust::Pinned,
        (None, Some(taken)) if taken.publisher.is_some() => Trust::Publisher,
        (None, Some(_)) => Trust::FirstUse,
        (None, None) => {
            let taken = Taken {
                bytes,
                sha256: sha256.clone(),
                from: IN_PLACE.to_owned(),
                revision: None,
                publisher: None,
            };
            fetched.file.insert(file.file.clone(), taken);
            // Models may lie where nothing can be written: then each use is a first use.
            let _ = write_record(&dir.join(FETCHED), &fetched);
            Trust::FirstUse
        }
    };
    Ok(CheckedFile {
        bytes,
        sha256,
        trust,
    })
}

/// The file's sha256: the one in `verified.toml` if the file has not changed since, else computed.
fn sha256_of(dir: &Path, name: &str, metadata: &Metadata) -> Result<String> {
    let record = dir.join(VERIFIED);
    let mut verified: Verified = read_record(&record).unwrap_or_default();
    let stamp = stamp(metadata);
    if let Some(known) = verified.file.get(name).filter(|v| v.stamp == stamp) {
        return Ok(known.sha256.clone());
    }
    let path = dir.join(name);
    let sha256 = hash_file(&path).with_context(|| format!("cannot read {path:?}"))?;
    let seen = Seen {
        stamp,
        sha256: sha256.clone(),
    };
    verified.file.insert(name.to_owned(), seen);
    // Saves time only; where nothing can be written, the file is hashed at each start.
    let _ = write_record(&record, &verified);
    Ok(sha256)
}

/// Size and times of a file, which change when it is written to. The time of the last status change
/// is part of it where there is one, as `touch` cannot set that back.
fn stamp(metadata: &Metadata) -> String {
    let modified = metadata
        .modified()
        .ok()
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
        .unwrap_or_default();
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt;
        format!(" changed {}.{:09}", metadata.ctime(), metadata.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed = "";
    format!(
        "{} bytes, modified {}.{:09}{changed}",
        metadata.len(),
        modified.as_secs(),
        modified.subsec_nanos()
    )
}

fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(buffer.get(..n).unwrap_or_default()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

const FETCHED: &str = "fetched.toml";
const VERIFIED: &str = "verified.toml";
/// [`Taken::from`] of a file that riposte did not fetch.
const IN_PLACE: &str = "found in place";

/// `fetched.toml`: what was taken, from where, with which checksum.
#[derive(Default, Serialize, Deserialize)]
struct Fetched {
    #[serde(default)]
    file: BTreeMap<String, Taken>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Taken {
    bytes: u64,
    sha256: String,
    from: String,
    /// The commit that the hub named when asked for a branch.
    revision: Option<String>,
    /// The checksum that the publisher sent and the file has ("sha256 …", "git blob sha1 …").
    publisher: Option<String>,
}

/// `verified.toml`: hashes computed before, with the [`stamp`] of the file they belong to.
#[derive(Default, Serialize, Deserialize)]
struct Verified {
    #[serde(default)]
    file: BTreeMap<String, Seen>,
}

#[derive(Serialize, Deserialize)]
struct Seen {
    stamp: String,
    sha256: String,
}

/// Reads a record; an absent one is empty.
fn read_record<T: DeserializeOwned + Default>(path: &Path) -> Result<T> {
    match fs::read_to_string(path) {
        Ok(text) => {
            toml::from_str(&text).with_context(|| format!("cannot read the record {path:?}"))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(e) => Err(e).with_context(|| format!("cannot read the record {path:?}")),
    }
}

/// Writes a record whole or not at all, readable to whom the user's mask allows.
fn write_record<T: Serialize>(path: &Path, record: &T) -> Result<()> {
    let unfinished = path.with_extension(format!("toml.{}", std::process::id()));
    let write = || -> Result<()> {
        let text = format!("# written by riposte\n{}", toml::to_string(record)?);
        fs::write(&unfinished, text)?;
        Ok(fs::rename(&unfinished, path)?)
    };
    write().with_context(|| format!("cannot write the record {path:?}"))
}

/// A line of `riposte models list`.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub entry: Entry,
    pub found: Found,
}

/// All models of the catalogue and what is there of each; `Display` is the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    pub dir: PathBuf,
    pub rows: Vec<Listed>,
}

/// Checks every model of the catalogue.
pub fn list(models: &Models) -> Listing {
    let rows = models.catalogue.entries().iter();
    Listing {
        dir: models.dir.clone(),
        rows: rows
            .map(|entry| Listed {
                entry: entry.clone(),
                found: models.check(entry),
            })
            .collect(),
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = vec![
            [
                "model", "role", "default", "here", "size", "checksum", "licence",
            ]
            .map(String::from),
        ];
        for Listed { entry, found } in &self.rows {
            let pinned = entry.files.iter().all(|file| file.sha256.is_some());
            let (here, size, trust) = match found {
                Found::Ready(model) => (
                    "yes",
                    DecimalBytes(model.bytes).to_string(),
                    model.trust.to_string(),
                ),
                Found::Missing { .. } | Found::Wrong { .. } => (
                    if matches!(found, Found::Missing { .. }) {
                        "no"
                    } else {
                        "WRONG"
                    },
                    entry.size.clone(),
                    if pinned { "pinned" } else { "on first use" }.to_owned(),
                ),
            };
            table.push([
                entry.name.clone(),
                entry.role.to_string(),
                if entry.default { "yes" } else { "" }.to_owned(),
                here.to_owned(),
                size,
                trust,
                entry.licence.clone(),
            ]);
        }
        writeln!(f, "models in {}\n", self.dir.display())?;
        for row in &table {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = table
                    .iter()
                    .filter_map(|row| row.get(column))
                    .map(|cell| cell.chars().count())
                    .max();
                line += &format!("{cell:<width$}  ", width = width.unwrap_or(0));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        writeln!(f, "\nwhat each gives")?;
        for Listed { entry, found } in &self.rows {
            writeln!(f, "  {}: {}", entry.name, entry.gives)?;
            match found {
                Found::Ready(_) => {}
                Found::Missing { files } if files.len() == entry.files.len() => {}
                Found::Missing { files } => writeln!(f, "    missing: {}", files.join(", "))?,
                Found::Wrong { file, why } => writeln!(f, "    {file}: {why}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_goes_before_the_data_directory_unless_it_is_empty() {
        let data = || Ok(PathBuf::from("/data"));
        let dir = |v: Option<&str>| default_directory(v.map(OsString::from), data).unwrap();
        assert_eq!(dir(Some("/m")), Path::new("/m"));
        assert_eq!(dir(Some("")), Path::new("/data/riposte/models"));
        assert_eq!(dir(None), Path::new("/data/riposte/models"));
        let homeless = default_directory(None, || bail!("no home")).unwrap_err();
        assert!(format!("{homeless:#}").contains("RIPOSTE_MODELS"));
    }
}
