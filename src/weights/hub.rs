//! A repository of the Hugging Face hub: which commit a revision is, which files it has, and where each is.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::added::HUB;
use crate::disk::{TemporaryDir, is_hex, is_plain_name, regular};
use crate::events::OnEvent;
use crate::html::percent_encoded;
use crate::limits::{MAX_LISTING_BYTES, MAX_REVISION_BYTES};
use crate::web::download::{Expected, Web};
use crate::web::{Transfer, hub};

/// The revision that is meant if none is named.
const MAIN: &str = "main";

/// A repository of models, and one of its revisions: a branch, a tag or a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    owner: String,
    pub name: String,
    revision: String,
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HUB}{}/{}", self.owner, self.name)
    }
}

/// What the hub says about a revision.
pub(super) struct HubRevision {
    /// The commit that the revision is now.
    pub commit: String,
    pub files: BTreeSet<String>,
    pub licence: Option<String>,
}

impl Repository {
    /// Reads `OWNER/NAME` or `OWNER/NAME@REVISION`.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Repository> {
        let (place, revision) = text.split_once('@').unwrap_or((text, MAIN));
        let parts = place.split_once('/');
        let Some((owner, name)) =
            parts.filter(|(owner, name)| is_plain_name(owner) && is_plain_name(name))
        else {
            bail!("{HUB}{text}: expected {HUB}OWNER/NAME or {HUB}OWNER/NAME@REVISION");
        };
        ensure!(
            (1..=MAX_REVISION_BYTES).contains(&revision.len()),
            "{HUB}{text}: a revision has 1 to {MAX_REVISION_BYTES} bytes"
        );
        Ok(Repository {
            owner: owner.to_owned(),
            name: name.to_owned(),
            revision: revision.to_owned(),
        })
    }

    /// Asks the hub for the files of the revision.
    ///
    /// # Errors
    /// The hub cannot be reached, it refuses, or its answer makes no sense.
    pub(super) fn listing(&self, web: &mut Web, on_event: &mut OnEvent) -> Result<HubRevision> {
        let Repository { owner, name, .. } = self;
        // `refs/pr/1` is one word there
        let revision = percent_encoded(&self.revision);
        let url = format!(
            "{}/api/models/{owner}/{name}/revision/{revision}",
            hub::endpoint()?
        );
        let asking = || format!("asking the hub about {self}@{}", self.revision);
        let dir = TemporaryDir::new(&std::env::temp_dir());
        let dir = dir.context("cannot create a temporary directory")?;
        let part = dir.path().join("listing.json");
        let expected = Expected {
            bytes: None,
            is_pinned: false,
            most: MAX_LISTING_BYTES,
        };
        let mut transfer = Transfer::new(&self.to_string(), on_event);
        let done = web.download(&url, &expected, &part, &mut transfer);
        drop(transfer);
        done.with_context(asking)?;
        let text = regular::read_text(&part, MAX_LISTING_BYTES).with_context(asking)?;
        parse(&text).with_context(asking)
    }

    /// The address of a file of a commit.
    ///
    /// # Errors
    /// That of the hub makes no sense.
    pub fn url(&self, commit: &str, file: &str) -> Result<String> {
        let Repository { owner, name, .. } = self;
        Ok(format!(
            "{}/{owner}/{name}/resolve/{commit}/{file}",
            hub::endpoint()?
        ))
    }
}

/// The hub's answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HubAnswer {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
    #[serde(default)]
    card_data: Value,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

fn parse(text: &str) -> Result<HubRevision> {
    let answer: HubAnswer = serde_json::from_str(text)?;
    // it becomes a part of addresses
    ensure!(
        answer.sha.len() == 40 && is_hex(&answer.sha),
        "{:?} is not a commit",
        answer.sha
    );
    let names = answer.siblings.into_iter().map(|sibling| sibling.rfilename);
    // names of files that riposte reads are plain
    let is_plain = |name: &String| name.split('/').all(is_plain_name);
    Ok(HubRevision {
        commit: answer.sha,
        files: names.filter(is_plain).collect(),
        licence: super::licence::of_card(&answer.card_data),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_an_owner_a_name_and_perhaps_a_revision() {
        let one = Repository::parse("openai/clip-vit-base-patch16").unwrap();
        assert_eq!(one.revision, "main");
        assert_eq!(one.to_string(), "hf:openai/clip-vit-base-patch16");
        let other = Repository::parse("o/n@refs/pr/1").unwrap();
        assert_eq!(percent_encoded(&other.revision), "refs%2Fpr%2F1");
        for wrong in [
            "", "name", "o/", "/n", "o/n/m", "../n", "o/..", "-o/n", "o/n?x", "o n/m", "o/n@",
        ] {
            let error = Repository::parse(wrong).unwrap_err().to_string();
            assert!(error.starts_with("hf:"), "{error}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_left_out_and_a_wrong_commit_is_an_error() {
        let commit = "3d74acf9a28c67741b2f4f2ea7635f0aaf6f0268";
        let answer = format!(
            r#"{{"sha": "{commit}", "siblings": [{{"rfilename": "config.json"}}, {{"rfilename": "../x"}}, {{"rfilename": "/etc/x"}},
            {{"rfilename": ".gitattributes"}}, {{"rfilename": "onnx/a.onnx"}}], "cardData": {{"license": "mit"}}, "gated": false}}"#
        );
        let listing = parse(&answer).unwrap();
        let files: Vec<&str> = listing.files.iter().map(String::as_str).collect();
        assert_eq!(files, ["config.json", "onnx/a.onnx"]);
        assert_eq!(listing.licence.as_deref(), Some("mit"));
        for wrong in ["main/../..", "3d74", ""] {
            let error = parse(&answer.replace(commit, wrong)).err().unwrap();
            assert!(error.to_string().contains("is not a commit"), "{error}");
        }
        assert!(parse("[]").is_err() && parse("<html>").is_err());
    }
}
