//! The list of the models that a user has added: `added.toml` in the models directory, what `models/models.toml` is for riposte's own list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::DecimalBytes;
use serde::{Deserialize, Serialize};

use super::catalogue::{AddedFrom, is_sha256};
use super::{ModelEntry, ModelFile, ModelRole, ModelSource};
use crate::disk::{is_plain_name, read_record, write_record};
use crate::web::is_web_address;

pub(super) const ADDED: &str = "added.toml";

/// The beginning of a source that is a repository of the hub.
pub(super) const HUB: &str = "hf:";

/// `added.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddedRecord {
    #[serde(default, rename = "model", skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<AddedModel>,
}

/// A model that the user has added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddedModel {
    /// Also the name of its directory.
    pub name: String,
    pub role: ModelRole,
    pub licence: String,
    /// The directory, or `hf:OWNER/NAME`.
    pub source: String,
    /// The commit of the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    #[serde(rename = "file")]
    pub files: Vec<AddedFile>,
}

/// A file of an added model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddedFile {
    /// Its path in the model's directory.
    pub file: String,
    pub bytes: u64,
    pub sha256: String,
    /// Where it can be downloaded again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The file with the list of the models that were added to a models directory.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join(ADDED)
}

/// Reads the list.
///
/// # Errors
/// The file cannot be read or parsed, or it has a name that could lead out of its directory or that occurs twice, or something else than a sha256.
pub(super) fn read(dir: &Path) -> Result<AddedRecord> {
    let path = path(dir);
    let record: AddedRecord = read_record(&path)?;
    record
        .check()
        .with_context(|| format!("cannot use {path:?}"))?;
    Ok(record)
}

/// Replaces the list.
pub(super) fn write(dir: &Path, record: &AddedRecord) -> Result<()> {
    write_record(&path(dir), record)
}

/// The added models as entries of the catalogue.
///
/// # Errors
/// Those of [`read`].
pub(super) fn entries(dir: &Path) -> Result<Vec<ModelEntry>> {
    let record = read(dir)?;
    Ok(record.models.into_iter().map(AddedModel::entry).collect())
}

impl AddedRecord {
    fn check(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for model in &self.models {
            let name = &model.name;
            ensure!(
                is_plain_name(name) && names.insert(name.to_ascii_lowercase()),
                "model {name:?}: not a plain name, or it occurs twice"
            );
            ensure!(!model.files.is_empty(), "model {name}: no file");
            ensure!(
                ![ModelRole::Ocr, ModelRole::Lexicon].contains(&model.role),
                "model {name}: a model of the role {} cannot be added",
                model.role
            );
            let mut files = BTreeSet::new();
            for of in &model.files {
                let (file, sha256, url) = (&of.file, &of.sha256, &of.url);
                ensure!(
                    file.split('/').all(is_plain_name) && files.insert(file),
                    "model {name}, file {file:?}: not a plain file name, or it occurs twice"
                );
                ensure!(
                    is_sha256(sha256),
                    "model {name}, file {file:?}: {sha256:?} is not a sha256"
                );
                ensure!(
                    url.as_deref().is_none_or(is_web_address),
                    "model {name}, file {file:?}: {url:?} is not a web address"
                );
            }
        }
        Ok(())
    }
}

impl AddedModel {
    fn entry(self) -> ModelEntry {
        let bytes = self
            .files
            .iter()
            .map(|file| file.bytes)
            .fold(0, u64::saturating_add);
        let source = |url| ModelSource::Address { url };
        let file = |of: AddedFile| ModelFile {
            file: of.file,
            bytes: Some(of.bytes),
            sha256: Some(of.sha256),
            sources: of.url.into_iter().map(source).collect(),
        };
        ModelEntry {
            gives: gives(self.role).to_owned(),
            name: self.name,
            role: self.role,
            default: false,
            licence: self.licence,
            paper: self.source.clone(),
            size: DecimalBytes(bytes).to_string(),
            files: self.files.into_iter().map(file).collect(),
            added: Some(AddedFrom {
                source: self.source,
                revision: self.revision,
            }),
        }
    }
}

/// What riposte can do only with a model of a role.
fn gives(role: ModelRole) -> &'static str {
    match role {
        ModelRole::Clip => "likeness of pictures to topics and to for/against prompts",
        ModelRole::Sentence => "vectors of sentences, for texts that share no word",
        ModelRole::Cross => "relevance of a text to a topic, for re-ranking",
        ModelRole::Ocr | ModelRole::Lexicon => "",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = "[[model]]\nname = \"mine\"\nrole = \"clip\"\nlicence = \"mit\"\nsource = \"/m\"\n\
                       [[model.file]]\nfile = \"onnx/f\"\nbytes = 1\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\n";

    #[test]
    fn a_damaged_list_is_one_line_that_names_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let said = |text: &str| {
            fs::write(path(dir.path()), text).unwrap();
            format!("{:#}", read(dir.path()).unwrap_err())
        };
        for (from, to, why) in [
            ("role = \"clip\"", "role = \"clap\"", "line 3"),
            ("licence", "license", "line 4: unknown field"),
            ("bytes = 1", "bytes = -1", "line 8"),
            ("bytes = 1", "bytes", "line 8"),
            ("\"mine\"", "\"../mine\"", "not a plain name"),
            ("onnx/f", "onnx/../../f", "not a plain file name"),
            ("\"0000", "\"zz00", "is not a sha256"),
            (
                "bytes = 1",
                "bytes = 1\nurl = \"file:///etc\"",
                "is not a web address",
            ),
        ] {
            assert!(ONE.contains(from), "{from}");
            let said = said(&ONE.replace(from, to));
            assert!(said.contains(why) && said.contains(ADDED), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        assert!(said(&format!("{ONE}{}", ONE.replace("mine", "MINE"))).contains("twice"));
        fs::write(path(dir.path()), ONE).unwrap();
        let [entry] = &entries(dir.path()).unwrap()[..] else {
            panic!("one entry");
        };
        assert!(!entry.default && entry.command() == "riposte models add /m --name mine");
    }
}
