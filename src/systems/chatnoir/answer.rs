//! Reads ChatNoir's answers, in the format of 2020 to 2022 (its Java server) and in the present one. The two formats differ in the ids of documents
//! and in the optional fields.

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use riposte_eval::lines::Object;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::html;

/// A page of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatNoirAnswer {
    #[serde(default)]
    pub meta: ChatNoirMeta,
    /// The results, the best first.
    #[serde(rename = "results")]
    pub hits: Vec<ChatNoirHit>,
    /// Number of results that could not be read. ChatNoir's own answer has no such field.
    #[serde(default)]
    pub broken: usize,
}

/// What an answer says about the search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatNoirMeta {
    /// Number of documents that match, on all pages.
    pub total_results: Option<u64>,
    /// The indexes that were searched. They can differ from the requested ones: the server leaves out an index to which the key gives no access, and
    /// searches its default index if none is left.
    #[serde(default)]
    pub indices: Vec<String>,
}

/// A result. `cache_uri` is not read, because the server puts a credential into it that is made from the user's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatNoirHit {
    #[serde(deserialize_with = "number")]
    pub score: f64,
    #[serde(default, deserialize_with = "uuid")]
    pub uuid: Option<Uuid>,
    pub index: Option<String>,
    /// The id in the TREC collection. Pages of Common Crawl have none.
    pub trec_id: Option<String>,
    pub target_hostname: Option<String>,
    /// The page's address.
    pub target_uri: Option<String>,
    /// HTML with the words of the query in `<em>`.
    pub title: Option<String>,
    /// HTML with the words of the query in `<em>`.
    pub snippet: Option<String>,
    #[serde(default, deserialize_with = "optional_number")]
    pub page_rank: Option<f64>,
    /// The percentage of pages that are at least as likely to be spam.
    #[serde(default, deserialize_with = "optional_number")]
    pub spam_rank: Option<f64>,
}

/// ChatNoir's id of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uuid(u128);

impl Uuid {
    /// Reads 36 characters in hexadecimal groups, or 22 characters of URL-safe base64. `None` for another text.
    pub fn parse(text: &str) -> Option<Uuid> {
        if text.len() == 22 {
            let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
            return Some(Uuid(u128::from_be_bytes(bytes.try_into().ok()?)));
        }
        let groups: Vec<&str> = text.split('-').collect();
        let is_group = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let are_groups = groups.iter().map(|g| g.len()).eq([8, 4, 4, 4, 12]);
        let is_hex = are_groups && groups.iter().all(is_group);
        let number = is_hex.then(|| u128::from_str_radix(&groups.concat(), 16));
        number?.ok().map(Uuid)
    }
}

impl std::fmt::Display for Uuid {
    /// In 36 characters.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hex = format!("{:032x}", self.0);
        let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &hex[group]);
        write!(f, "{a}-{b}-{c}-{d}-{e}")
    }
}

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An id in an unknown format is ignored, because ids only tell documents apart and do not name them.
fn uuid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Uuid>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    Ok(text.as_deref().and_then(Uuid::parse))
}

/// A number, or a text with a number in it.
fn optional_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum NumberOrText {
        Number(f64),
        Text(String),
    }
    let number = match Option::deserialize(deserializer)? {
        None => return Ok(None),
        Some(NumberOrText::Number(number)) => number,
        Some(NumberOrText::Text(text)) => (text.trim().parse())
            .map_err(|_| D::Error::custom(format!("{text:?} is not a number")))?,
    };
    if !number.is_finite() {
        return Err(D::Error::custom(format!("{number} is not a number")));
    }
    Ok(Some(number))
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    optional_number(deserializer)?.ok_or_else(|| D::Error::custom("no number"))
}

impl ChatNoirAnswer {
    /// Reads what the server sends. Results that cannot be read are counted.
    ///
    /// # Errors
    /// It is not JSON, has no list of results, or none of its results can be read.
    pub fn parse(json: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Sent {
            #[serde(default)]
            meta: ChatNoirMeta,
            results: Vec<Value>,
        }
        let Object(Sent { meta, results }) = serde_json::from_slice(json)?;
        let (mut hits, mut first_error) = (Vec::new(), None);
        let count = results.len();
        for result in results {
            match serde_json::from_value(result) {
                Ok(hit) => hits.push(hit),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        if let Some(error) = first_error.filter(|_| hits.is_empty()) {
            return Err(error).context("no result can be read");
        }
        let broken = count - hits.len();
        Ok(ChatNoirAnswer { meta, hits, broken })
    }

    /// Checks that the requested indexes were searched.
    ///
    /// # Errors
    /// Another index was searched, or one was left out.
    pub fn check_indexes(&self, asked: &[String]) -> Result<()> {
        let searched = &self.meta.indices;
        let missing = asked.iter().filter(|name| !searched.contains(name));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        ensure!(
            searched.is_empty() || missing.is_empty(),
            "ChatNoir has searched {} instead of {}: it does not have {}, or the key gives no access to it",
            searched.join(", "),
            asked.join(", "),
            missing.join(", ")
        );
        Ok(())
    }

    /// Number of results, the broken ones included.
    pub(super) fn len(&self) -> usize {
        self.hits.len() + self.broken
    }
}

impl ChatNoirHit {
    /// The title without markup, with single blanks. Empty if there is none.
    pub fn plain_title(&self) -> String {
        html::plain(self.title.as_deref().unwrap_or_default())
    }
}
