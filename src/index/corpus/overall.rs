//! Counts of a whole collection for an index that contains only a part of it, so that it scores like an index of the whole collection.
//!
//! Two kinds of processes need this. The first kind searches a shard, and knows the counts of all terms that are searched for. The second kind
//! ranks: its index contains the documents that the shards have found so far. A search that the shards have not answered yet is recorded there,
//! and fails with [`Unanswered`]. Once they have answered it, the index contains all documents that the search would find in the whole
//! collection, so the search returns the same documents with the same scores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Corpus;
use crate::disk::hex;
use crate::index::analyzer::Analyzer;
use crate::index::similarity::{FieldCounts, TermCounts};

/// The counts of a collection, as processes exchange them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverallCounts {
    pub analyzer: Analyzer,
    /// The counts of each field, in the order of the index.
    pub fields: Vec<FieldCounts>,
    /// All terms whose counts were requested. A term that no document contains has the counts 0.
    pub terms: Vec<CountedTerm>,
}

impl OverallCounts {
    /// Finds the counts of the index with this analyzer.
    ///
    /// # Errors
    /// There are no counts for this analyzer.
    pub fn find<'c>(all: &'c [OverallCounts], analyzer: &Analyzer) -> Result<&'c OverallCounts> {
        let found = all.iter().find(|counts| counts.analyzer == *analyzer);
        found.with_context(|| format!("the shards were not indexed with the analyzer {analyzer}"))
    }
}

/// A term, and its counts in the whole collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedTerm {
    /// The name of a field, or several names joined by `+`. A document that has the term in several of these fields counts once in `df`.
    pub fields: String,
    pub term: String,
    pub df: u64,
    pub cf: u64,
}

/// A term whose counts are missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedTerm {
    pub analyzer: String,
    /// See [`CountedTerm::fields`].
    pub fields: String,
    pub term: String,
}

/// What the shards must answer before a ranking can be computed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Needs {
    pub terms: BTreeSet<WantedTerm>,
    /// The vectors that shards must send with every text that they find, by their description.
    pub vectors: BTreeMap<String, serde_json::Value>,
    /// Requests, by their keys.
    pub requests: BTreeMap<String, serde_json::Value>,
}

impl Needs {
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.requests.is_empty()
    }
}

/// The error of a search that the shards have not answered yet.
#[derive(Debug)]
pub struct Unanswered;

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the shards have not answered this search yet")
    }
}

impl std::error::Error for Unanswered {}

/// The requests that the shards have answered, and those that they must answer next. All indexes of a ranking share one dialogue.
#[derive(Debug, Default)]
pub struct Dialogue {
    answered: FxHashSet<String>,
    needs: Mutex<Needs>,
}

impl Dialogue {
    /// `answered` are the keys of the requests that were answered.
    pub fn new(answered: impl IntoIterator<Item = String>) -> Self {
        Dialogue {
            answered: answered.into_iter().collect(),
            needs: Mutex::default(),
        }
    }

    /// The requests that are not answered yet.
    pub fn needs(&self) -> Needs {
        self.lock().clone()
    }

    /// Records that shards must send these vectors with every text that they find from now on.
    ///
    /// # Errors
    /// The description cannot be converted to JSON.
    pub fn want(&self, vectors: &(impl Serialize + std::fmt::Display)) -> Result<()> {
        let value = serde_json::to_value(vectors)?;
        self.lock().vectors.insert(vectors.to_string(), value);
        Ok(())
    }

    /// Checks that the shards have answered a request.
    ///
    /// # Errors
    /// [`Unanswered`]: the shards have not answered the request. It is recorded.
    pub fn ask(&self, request: &impl Serialize) -> Result<()> {
        let request = serde_json::to_value(request)?;
        let key = hex(&Sha256::digest(request.to_string())[..8]);
        if self.answered.contains(&key) {
            return Ok(());
        }
        self.lock().requests.insert(key, request);
        Err(Unanswered.into())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Needs> {
        self.needs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counts of a whole collection, of which an index contains a part.
#[derive(Debug)]
pub(super) struct Overall {
    terms: FxHashMap<(String, String), TermCounts>,
    dialogue: Option<Arc<Dialogue>>,
}

impl Corpus {
    /// Makes this index, which contains a part of a collection, score like an index of the whole collection. With a `dialogue`, searches that
    /// the shards have not answered fail.
    pub fn set_overall(&mut self, counts: &OverallCounts, dialogue: Option<Arc<Dialogue>>) {
        let terms = counts.terms.iter().map(|counted| {
            let CountedTerm { df, cf, .. } = *counted;
            let key = (counted.fields.clone(), counted.term.clone());
            (key, TermCounts { df, cf })
        });
        self.overall = Some(Overall {
            terms: terms.collect(),
            dialogue,
        });
        self.counts.clone_from(&counts.fields);
    }

    /// The dialogue with the shards, if this index contains only documents that shards have found.
    pub fn dialogue(&self) -> Option<&Arc<Dialogue>> {
        self.overall.as_ref()?.dialogue.as_ref()
    }

    /// If this index contains only documents that shards have found: checks that they have answered this request.
    ///
    /// # Errors
    /// [`Unanswered`]
    pub fn ask(&self, request: &impl Serialize) -> Result<()> {
        self.dialogue()
            .map_or(Ok(()), |dialogue| dialogue.ask(request))
    }

    /// Checks that the counts of these terms are known, each in the given fields.
    ///
    /// # Errors
    /// [`Unanswered`]: counts are missing. The terms are recorded, so the shards can answer.
    pub(in crate::index) fn ask_for_terms<'t>(
        &self,
        terms: impl Iterator<Item = (&'t [usize], &'t str)>,
    ) -> Result<()> {
        let Some(Overall {
            terms: known,
            dialogue: Some(dialogue),
        }) = &self.overall
        else {
            return Ok(());
        };
        let mut missing = false;
        for (fields, term) in terms {
            let singles = fields.iter().map(std::slice::from_ref);
            let joined = (fields.len() > 1).then_some(fields);
            for fields in singles.chain(joined) {
                let key = (self.names(fields), term.to_owned());
                if !known.contains_key(&key) {
                    missing = true;
                    dialogue.lock().terms.insert(WantedTerm {
                        analyzer: self.meta.analyzer.to_string(),
                        fields: key.0,
                        term: key.1,
                    });
                }
            }
        }
        if missing {
            return Err(Unanswered.into());
        }
        Ok(())
    }

    /// The counts of a term in the whole collection, in one field or in several that are scored as one; `None` if this index contains the whole
    /// collection.
    pub(in crate::index) fn overall(&self, fields: &[usize], term: &str) -> Option<TermCounts> {
        let overall = self.overall.as_ref()?;
        let counts = overall.terms.get(&(self.names(fields), term.to_owned()));
        Some(counts.copied().unwrap_or(TermCounts { df: 0, cf: 0 }))
    }

    /// The names of fields in the form of [`CountedTerm::fields`].
    fn names(&self, fields: &[usize]) -> String {
        let names = fields
            .iter()
            .filter_map(|field| self.meta.fields.get(*field));
        names.map(String::as_str).collect::<Vec<_>>().join("+")
    }
}
