//! The models directory: which models are installed, whether their files are the right ones, and where to download them.
//!
//! No file is used merely because it exists: each is checked by size and sha256, against the catalogue or against the record of its first use. The
//! layout is `<models directory>/<model>/<file>`. Beside the files, riposte keeps two records: `fetched.toml` (each file's source and checksum) and
//! `verified.toml` (the checksums computed so far, so that the files need not be hashed at each start). `added.toml` in the models directory lists the
//! models of the user's own. [`packed_weights`] adds files with packed weights.

mod add;
mod added;
mod catalogue;
mod fetch;
mod files;
mod hub;
mod licence;
mod package;
mod packed_weights;
mod remove;
mod shared;

pub use add::{AddOutcome, ModelOrigin};
pub(crate) use add::{check_name, stage};
pub(crate) use catalogue::ModelFile;
pub use catalogue::{AddedFrom, ModelCatalogue, ModelEntry, ModelRole, ModelSource};
pub use fetch::{FetchOutcome, FetchReport, fetch};
pub(crate) use packed_weights::{KeptWeights, PACKED, PACKED_FILE};
pub use remove::{RemovedModel, remove};

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::directories::models_directory;
use crate::disk::{self, Stamp, hex, read_record, regular, write_record};
use crate::lazy::Lazy;
use shared::{ModelKey, Shared};

/// How a file's sha256 is known to be right, from the strongest reason to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
pub enum Trust {
    /// The catalogue contains it.
    #[strum(to_string = "pinned")]
    Pinned,
    /// It was recorded at the download, and equals the checksum that the publisher sent along.
    #[strum(to_string = "first use, as published")]
    Publisher,
    /// It was recorded when the user added the model.
    #[strum(to_string = "as added")]
    Added,
    /// It was recorded at the first use, with nothing to compare it to. Later changes are detected.
    #[strum(to_string = "first use")]
    FirstUse,
}

/// An installed model whose files have all been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedModel {
    pub name: String,
    pub dir: PathBuf,
    /// The sha256 over the names and sha256s of all files, in lower-case hexadecimal. It changes if any file does.
    pub sha256: String,
    /// The size of all files.
    pub bytes: u64,
    /// The trust in the least trusted file.
    pub trust: Trust,
}

impl CheckedModel {
    /// The path of `file`, a file name of the catalogue.
    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }
}

/// Whether a model is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelStatus {
    Ready(CheckedModel),
    /// These files do not exist.
    Missing {
        files: Vec<String>,
    },
    /// This file is not the right one.
    Wrong {
        file: String,
        why: String,
    },
}

/// A models directory, with the catalogue of the models that it may contain.
#[derive(Clone, Debug)]
pub struct Models {
    dir: PathBuf,
    catalogue: ModelCatalogue,
    /// The name of the sentence encoder that the user has chosen; `None` for the first that is installed.
    sentence: Option<String>,
    /// The same for the cross-encoder.
    cross: Option<String>,
    shared: Shared,
}

/// The same models of the same directory are chosen. What is in memory does not count.
impl PartialEq for Models {
    fn eq(&self, other: &Self) -> bool {
        let chosen = |of: &Models| (of.sentence.clone(), of.cross.clone());
        self.dir == other.dir && self.catalogue == other.catalogue && chosen(self) == chosen(other)
    }
}

impl Models {
    /// The models directory: `dir` if given, else the value of `RIPOSTE_MODELS`, else `riposte/models` in the user's data directory.
    /// It need not exist. The catalogue is riposte's own, with the models that the user has added to the directory. Errors: none of these is known,
    /// because the user has no home directory either; or the list of added models is damaged.
    pub fn at(dir: Option<&Path>) -> Result<Models> {
        let dir = models_directory(dir)?;
        let catalogue = ModelCatalogue::embedded()?.with_added(added::entries(&dir)?);
        Ok(Models::with_catalogue(&dir, catalogue))
    }

    /// A model in memory, which everything with a clone of these models shares. `key` names it, and how it computes.
    pub(crate) fn shared<T: Send + Sync + 'static>(
        &self,
        key: ModelKey,
        make: impl FnOnce() -> Lazy<T>,
    ) -> Arc<Lazy<T>> {
        self.shared.get(key, make)
    }

    /// A models directory with a catalogue other than the one that is compiled in.
    pub fn with_catalogue(dir: &Path, catalogue: ModelCatalogue) -> Models {
        Models {
            dir: dir.to_owned(),
            catalogue,
            sentence: None,
            cross: None,
            shared: Shared::default(),
        }
    }

    /// These models with the sentence encoder of this name; `None` for the first that is installed.
    #[must_use]
    pub fn with_sentence(mut self, name: Option<String>) -> Models {
        self.sentence = name;
        self
    }

    /// These models with the cross-encoder of this name; `None` for the first that is installed.
    #[must_use]
    pub fn with_cross(mut self, name: Option<String>) -> Models {
        self.cross = name;
        self
    }

    /// The name of the model that the user has chosen for a role in all of a run.
    pub fn chosen(&self, role: ModelRole) -> Option<&str> {
        match role {
            ModelRole::Sentence => self.sentence.as_deref(),
            ModelRole::Cross => self.cross.as_deref(),
            _ => None,
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn catalogue(&self) -> &ModelCatalogue {
        &self.catalogue
    }

    /// Looks for the model `name` and checks all its files. Errors: the catalogue has no such model.
    pub fn find(&self, name: &str) -> Result<ModelStatus> {
        Ok(self.check(self.catalogue.entry(name)?))
    }

    fn check(&self, entry: &ModelEntry) -> ModelStatus {
        let dir = self.dir.join(&entry.name);
        let names = entry.files.iter().map(|file| file.file.clone());
        let files: Vec<String> = names.filter(|name| is_missing(&dir.join(name))).collect();
        if !files.is_empty() {
            return ModelStatus::Missing { files };
        }
        let mut whole = Sha256::new();
        let (mut bytes, mut trust) = (0, Trust::Pinned);
        for file in &entry.files {
            match check_file(&dir, file) {
                Ok(checked) => {
                    whole.update(format!("{} {}\n", file.file, checked.sha256));
                    bytes += checked.bytes;
                    trust = trust.max(checked.trust);
                    if entry.added.is_some() {
                        trust = trust.max(Trust::Added);
                    }
                }
                Err(error) => {
                    let (file, why) = (file.file.clone(), format!("{error:#}"));
                    return ModelStatus::Wrong { file, why };
                }
            }
        }
        ModelStatus::Ready(CheckedModel {
            name: entry.name.clone(),
            dir,
            sha256: hex(&whole.finalize()),
            bytes,
            trust,
        })
    }
}

/// Whether the file does not exist. A file that this user cannot access is not missing: without its model, results would differ.
#[expect(clippy::disallowed_methods, reason = "whether it exists is known")]
fn is_missing(path: &Path) -> bool {
    match regular::exists(path) {
        Ok(found) => !found || !path.is_file(),
        // the error may be temporary
        Err(_) => matches!(regular::exists(path), Ok(false)),
    }
}

/// The result of checking a file.
struct CheckedFile {
    bytes: u64,
    sha256: String,
    trust: Trust,
}

/// Checks a file of a model against its catalogue entry or, if that has no checksum, against `fetched.toml`. If neither has one, the
/// file is recorded there as first used now.
fn check_file(dir: &Path, file: &ModelFile) -> Result<CheckedFile> {
    let path = dir.join(&file.file);
    let metadata = fs::metadata(&path).with_context(|| format!("cannot read {path:?}"))?;
    let mut fetched: FetchRecord = read_record(&dir.join(FETCHED))?;
    let recorded = fetched.file.get(&file.file);

    // compared first, so that a truncated file is reported without hashing it
    let bytes = metadata.len();
    if let Some(must) = file.bytes.or(recorded.map(|t| t.bytes))
        && bytes != must
    {
        bail!("is {bytes} bytes, must be {must}");
    }
    let must = file.sha256.as_ref().or(recorded.map(|t| &t.sha256));
    let sha256 = sha256_of(dir, &file.file, &metadata, must)?;
    if let Some(must) = must
        && sha256 != *must
    {
        bail!("its sha256 is {sha256}, must be {must}");
    }
    let trust = match (&file.sha256, recorded) {
        (Some(_), _) => Trust::Pinned,
        (None, Some(recorded)) if recorded.publisher.is_some() => Trust::Publisher,
        (None, Some(_)) => Trust::FirstUse,
        (None, None) => {
            let recorded = FileRecord {
                bytes,
                sha256: sha256.clone(),
                from: IN_PLACE.to_owned(),
                revision: None,
                publisher: None,
            };
            fetched.file.insert(file.file.clone(), recorded);
            // if the models directory is read-only, each use counts as the first
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

/// The file's sha256. It is taken from `verified.toml` only if the record has the expected sha256 and the file has not changed since; otherwise it is
/// computed. So a wrong record can never reject a file, and a changed file is always hashed again.
fn sha256_of(dir: &Path, name: &str, metadata: &Metadata, must: Option<&String>) -> Result<String> {
    let record = dir.join(VERIFIED);
    let mut verified: VerifyRecord = read_record(&record).unwrap_or_default();
    let stamp = Stamp::of(metadata).text;
    let is_valid = |known: &&VerifiedFile| {
        known.stamp == stamp && must.is_none_or(|must| known.sha256 == *must)
    };
    if let Some(known) = verified.file.get(name).filter(is_valid) {
        return Ok(known.sha256.clone());
    }
    let path = dir.join(name);
    let sha256 = regular::open(&path).and_then(disk::sha256_of);
    let sha256 = sha256.with_context(|| format!("cannot read {path:?}"))?;
    let computed = VerifiedFile {
        stamp,
        sha256: sha256.clone(),
    };
    verified.file.insert(name.to_owned(), computed);
    // the record only saves time: without it, the file is hashed at each start
    let _ = write_record(&record, &verified);
    Ok(sha256)
}

const FETCHED: &str = "fetched.toml";
const VERIFIED: &str = "verified.toml";
/// [`FileRecord::from`] of a file that riposte did not download.
const IN_PLACE: &str = "found in place";

/// `fetched.toml`: by file name, the files that were downloaded or found in place.
#[derive(Default, Serialize, Deserialize)]
struct FetchRecord {
    #[serde(default)]
    file: BTreeMap<String, FileRecord>,
}

/// The source and checksum of a file.
#[derive(Clone, Serialize, Deserialize)]
struct FileRecord {
    bytes: u64,
    sha256: String,
    from: String,
    /// The commit to which the publisher resolved the address.
    revision: Option<String>,
    /// The checksum that the publisher sent, which is that of the file ("sha256 …", "git blob sha1 …").
    publisher: Option<String>,
}

/// `verified.toml`: by file name, checksums that were computed before.
#[derive(Default, Serialize, Deserialize)]
struct VerifyRecord {
    #[serde(default)]
    file: BTreeMap<String, VerifiedFile>,
}

/// A file's checksum, valid while the file has this [`Stamp`].
#[derive(Serialize, Deserialize)]
struct VerifiedFile {
    stamp: String,
    sha256: String,
}

/// A row of `riposte models list`.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRow {
    pub entry: ModelEntry,
    pub status: ModelStatus,
}

/// The models of the catalogue, and whether each is installed.
pub fn list(models: &Models) -> Vec<ModelRow> {
    let row = |entry: &ModelEntry| ModelRow {
        entry: entry.clone(),
        status: models.check(entry),
    };
    models.catalogue.entries().iter().map(row).collect()
}
