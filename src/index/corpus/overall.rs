//! An index that has only a part of a collection, and is to score as the index of all of it: the counts of the whole come from outside.
//!
//! Two kinds of processes need that. One searches a shard, and knows the counts of all terms that it is asked for. The other one ranks: it has
//! an index of what the shards have found so far. There, a search that the shards have not answered yet is noted down, and fails with
//! [`Unanswered`]. When they have answered it, the index has at least the documents that the search finds in the whole collection, each with
//! its score, so the same search finds the same.

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

/// The counts of a collection, as processes hand them on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverallCounts {
    pub analyzer: Analyzer,
    /// By field, in the order of the index.
    pub fields: Vec<FieldCounts>,
    /// All terms that are asked for. The counts of one that no document has are 0.
    pub terms: Vec<CountedTerm>,
}

impl OverallCounts {
    /// Those of the index with this analyzer.
    ///
    /// # Errors
    /// There are none.
    pub fn find<'c>(all: &'c [OverallCounts], analyzer: &Analyzer) -> Result<&'c OverallCounts> {
        let found = all.iter().find(|counts| counts.analyzer == *analyzer);
        found.with_context(|| format!("the shards were not indexed with the analyzer {analyzer}"))
    }
}

/// A term, and its counts in the whole collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedTerm {
    /// The name of a field, or several joined by `+`: then a document that has the term in several of them counts once in `df`.
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
    /// As in [`CountedTerm`].
    pub fields: String,
    pub term: String,
}

/// What the shards have to answer before a ranking can be made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Needs {
    pub terms: BTreeSet<WantedTerm>,
    /// The vectors that are to come with every text that is found, by their description.
    pub vectors: BTreeMap<String, serde_json::Value>,
    /// Requests by their keys.
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

/// What the shards have answered, and what they are to answer next. All indexes of a ranking share it.
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

    /// What has been asked for in vain.
    pub fn needs(&self) -> Needs {
        self.lock().clone()
    }

    /// Notes down which vectors are to come with every text that is found from now on.
    ///
    /// # Errors
    /// They cannot be described.
    pub fn want(&self, vectors: &(impl Serialize + std::fmt::Display)) -> Result<()> {
        let value = serde_json::to_value(vectors)?;
        self.lock().vectors.insert(vectors.to_string(), value);
        Ok(())
    }

    /// # Errors
    /// [`Unanswered`]: the shards have to answer it first. It is noted down.
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

/// The counts of the collection that an index has a part of.
#[derive(Debug)]
pub(super) struct Overall {
    terms: FxHashMap<(String, String), TermCounts>,
    dialogue: Option<Arc<Dialogue>>,
}

impl Corpus {
    /// Makes this index score as that of the whole collection, of which it has a part. With a `dialogue`, searches that the shards have not
    /// answered fail.
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

    /// Whether this index has only what shards have found.
    pub fn dialogue(&self) -> Option<&Arc<Dialogue>> {
        self.overall.as_ref()?.dialogue.as_ref()
    }

    /// Checks that the shards have answered a request, where this index has only what they have found.
    ///
    /// # Errors
    /// [`Unanswered`]
    pub fn ask(&self, request: &impl Serialize) -> Result<()> {
        self.dialogue()
            .map_or(Ok(()), |dialogue| dialogue.ask(request))
    }

    /// Checks that the counts of these terms are known, each in some fields.
    ///
    /// # Errors
    /// [`Unanswered`]: the shards have to say what is missing. It is noted down.
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

    /// The counts of a term in the whole collection, in a field or in several that are scored as one; `None` if this index has the whole.
    pub(in crate::index) fn overall(&self, fields: &[usize], term: &str) -> Option<TermCounts> {
        let overall = self.overall.as_ref()?;
        let counts = overall.terms.get(&(self.names(fields), term.to_owned()));
        Some(counts.copied().unwrap_or(TermCounts { df: 0, cf: 0 }))
    }

    /// The names of fields, as in [`CountedTerm`].
    fn names(&self, fields: &[usize]) -> String {
        let names = fields
            .iter()
            .filter_map(|field| self.meta.fields.get(*field));
        names.map(String::as_str).collect::<Vec<_>>().join("+")
    }
}
