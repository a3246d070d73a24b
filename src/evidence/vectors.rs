//! Sentence vectors of texts, and what a cross-encoder and the pair encoder say of them, made when they are first asked for and kept: a large collection
//! has millions of sentences, a ranking asks for thousands.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::cross::Cross;
use super::lazy::Lazy;
use super::pair::{CLASSES, PairEncoder};
use super::sentence::Sentences;
use super::store::{blob_of, vector_of};

/// Vectors that are made and written together: so many are lost when the work is killed.
const BATCH: usize = 64;

/// Vectors by the text's hash. They are kept with their producer: another model makes others.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS text_vector (
    producer TEXT NOT NULL,
    text BLOB NOT NULL,                 -- the first 16 bytes of the text's SHA-256
    vector BLOB NOT NULL,               -- 32-bit floats, little-endian
    PRIMARY KEY (producer, text)
) WITHOUT ROWID";

/// The vectors that are kept, and the models that make more, if they are here. A cross-encoder's score of a topic and a text is
/// kept as a vector of one number.
pub struct TextVectors {
    kept: Kept,
    sentences: Option<Lazy<Sentences>>,
    sentence_producer: Option<String>,
    cross: Option<Lazy<Cross>>,
    cross_producer: Option<String>,
    pairs: Option<Lazy<PairEncoder>>,
    pair_producer: Option<String>,
}

impl TextVectors {
    /// Opens the file, or makes it. Without a model, the vectors of the model of its kind that has made most of them are used.
    ///
    /// Errors: it cannot be written, or is no such file.
    pub fn open(
        path: &Path,
        sentences: Option<Lazy<Sentences>>,
        cross: Option<Lazy<Cross>>,
        pairs: Option<Lazy<PairEncoder>>,
    ) -> Result<Self> {
        let kept = Kept::open(path)
            .with_context(|| format!("cannot open the vectors in {}", path.display()))?;
        let sentence_producer = match &sentences {
            Some(model) => Some(model.producer().to_owned()),
            None => kept.busiest("sentence/")?,
        };
        let cross_producer = match &cross {
            Some(model) => Some(model.producer().to_owned()),
            None => kept.busiest("cross/")?,
        };
        let pair_producer = match &pairs {
            Some(model) => Some(model.producer().to_owned()),
            None => kept.busiest("pair/")?,
        };
        Ok(TextVectors {
            kept,
            sentences,
            sentence_producer,
            cross,
            cross_producer,
            pairs,
            pair_producer,
        })
    }

    /// The texts' vectors, of unit length, in their order; `done` is told how many have been made. None where one is not kept and there is no
    /// model to make it.
    ///
    /// Errors: the model fails, the file cannot be read or written.
    pub fn of(
        &mut self,
        texts: &[&str],
        done: &mut dyn FnMut(usize),
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(producer) = &self.sentence_producer else {
            return Ok(None);
        };
        let keys: Vec<Key> = texts.iter().map(|text| key(text)).collect();
        let embed = self
            .sentences
            .as_ref()
            .map(|model| |batch: &[&str]| model.get()?.embed(batch));
        self.kept.all(producer, texts, &keys, embed, done)
    }

    /// The cross-encoder's scores of the texts for the topic ([`Cross::score`]), in the texts' order; `done` is told how many have been made.
    /// None where one is not kept and there is no model to make it.
    ///
    /// Errors: as for [`TextVectors::of`].
    pub fn scores_of(
        &mut self,
        topic: &str,
        texts: &[&str],
        done: &mut dyn FnMut(usize),
    ) -> Result<Option<Vec<f32>>> {
        let Some(producer) = &self.cross_producer else {
            return Ok(None);
        };
        let keys: Vec<Key> = texts
            .iter()
            .map(|text| key(&format!("{topic}\0{text}")))
            .collect();
        let score = self.cross.as_ref().map(|model| {
            |batch: &[&str]| {
                let scores = model.get()?.score(topic, batch)?;
                Ok(scores.into_iter().map(|score| vec![score]).collect())
            }
        });
        let vectors = self.kept.all(producer, texts, &keys, score, done)?;
        Ok(vectors.map(|vectors| vectors.into_iter().flatten().collect()))
    }

    /// The pair encoder's logits of the claim with each of the texts ([`PairEncoder::logits`]), in the texts' order; `done` is told
    /// how many have been made. None where one is not kept and there is no model to make it.
    ///
    /// Errors: as for [`TextVectors::of`].
    pub fn logits_of(
        &mut self,
        claim: &str,
        texts: &[&str],
        done: &mut dyn FnMut(usize),
    ) -> Result<Option<Vec<[f32; CLASSES]>>> {
        let Some(producer) = &self.pair_producer else {
            return Ok(None);
        };
        let keys: Vec<Key> = texts
            .iter()
            .map(|text| key(&format!("{claim}\0{text}")))
            .collect();
        let read = self.pairs.as_ref().map(|model| {
            |batch: &[&str]| {
                let pairs: Vec<(&str, &str)> = batch.iter().map(|text| (claim, *text)).collect();
                let logits = model.get()?.logits(&pairs)?;
                Ok(logits.into_iter().map(Vec::from).collect())
            }
        });
        let vectors = self.kept.all(producer, texts, &keys, read, done)?;
        Ok(vectors.map(|vectors| {
            let logits = vectors.iter().flat_map(|v| v.as_chunks::<CLASSES>().0);
            logits.copied().collect()
        }))
    }
}

/// The first 16 bytes of a text's SHA-256.
type Key = [u8; 16];

/// The file.
struct Kept {
    connection: Connection,
    path: PathBuf,
}

impl Kept {
    fn open(path: &Path) -> Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let connection = Connection::open(path)?;
        // Two tasks on one collection may keep vectors at the same time.
        connection.busy_timeout(Duration::from_secs(60))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Kept {
            connection,
            path: path.to_owned(),
        })
    }

    /// The producer whose name begins so that has made most.
    fn busiest(&self, kind: &str) -> Result<Option<String>> {
        self.connection
            .query_row(
                "SELECT producer FROM text_vector WHERE substr(producer, 1, length(?1)) = ?1
                 GROUP BY producer ORDER BY count(*) DESC, producer LIMIT 1",
                [kind],
                |row| row.get(0),
            )
            .optional()
            .with_context(|| self.reading())
    }

    /// The vectors under these keys, in their order; those that are not there are made of the texts and kept.
    fn all(
        &mut self,
        producer: &str,
        texts: &[&str],
        keys: &[Key],
        make: Option<impl Fn(&[&str]) -> Result<Vec<Vec<f32>>>>,
        done: &mut dyn FnMut(usize),
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut wanted = HashSet::new();
        let mut missing = Vec::new();
        for (text, key) in texts.iter().zip(keys) {
            let vector = self.one(producer, key)?;
            if vector.is_none() && wanted.insert(key) {
                missing.push((*text, key));
            }
            vectors.push(vector);
        }
        if !missing.is_empty() {
            let Some(make) = make else {
                return Ok(None);
            };
            let mut made = 0;
            for batch in missing.chunks(BATCH) {
                let texts: Vec<&str> = batch.iter().map(|(text, _)| *text).collect();
                let new = make(&texts)?;
                let writing = || format!("cannot keep vectors in {}", self.path.display());
                let transaction = self.connection.transaction().with_context(writing)?;
                for ((_, key), vector) in batch.iter().zip(&new) {
                    transaction
                        .execute(
                            "INSERT OR REPLACE INTO text_vector VALUES (?, ?, ?)",
                            params![producer, key.as_slice(), blob_of(vector)],
                        )
                        .with_context(writing)?;
                }
                transaction.commit().with_context(writing)?;
                made += batch.len();
                done(made);
            }
        }
        for (vector, key) in vectors.iter_mut().zip(keys) {
            if vector.is_none() {
                *vector = self.one(producer, key)?;
            }
        }
        Ok(vectors.into_iter().collect())
    }

    fn one(&self, producer: &str, key: &Key) -> Result<Option<Vec<f32>>> {
        self.connection
            .prepare_cached("SELECT vector FROM text_vector WHERE producer = ? AND text = ?")
            .and_then(|mut query| {
                query
                    .query_row(params![producer, key.as_slice()], |row| {
                        vector_of(row.get_ref(0)?.as_blob()?)
                    })
                    .optional()
            })
            .with_context(|| self.reading())
    }

    fn reading(&self) -> String {
        format!("cannot read the vectors in {}", self.path.display())
    }
}

fn key(text: &str) -> Key {
    let hash = Sha256::digest(text);
    let mut key = [0; 16];
    key.copy_from_slice(&hash[..16]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(vectors: &TextVectors, producer: &str, text: &str, vector: &[f32]) {
        vectors
            .kept
            .connection
            .execute(
                "INSERT INTO text_vector VALUES (?, ?, ?)",
                params![producer, key(text).as_slice(), blob_of(vector)],
            )
            .unwrap();
    }

    #[test]
    fn kept_vectors_and_scores_serve_without_the_models() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("v.sqlite");
        let mut none = TextVectors::open(&path, None, None, None).unwrap();
        assert_eq!(none.of(&["a"], &mut |_| ()).unwrap(), None);
        assert_eq!(none.scores_of("t", &["a"], &mut |_| ()).unwrap(), None);
        keep(&none, "cross/1 c", "t\0a", &[-2.5]);
        keep(&none, "cross/1 c", "t\0b", &[4.0]);
        keep(&none, "cross/1 c", "u\0b", &[0.5]);
        let mut kept = TextVectors::open(&path, None, None, None).unwrap();
        assert_eq!(
            kept.of(&[], &mut |_| ()).unwrap(),
            None,
            "scores are no sentence vectors"
        );
        keep(&none, "sentence/1 s", "a", &[1.0, 0.0]);
        keep(&none, "sentence/1 s", "b", &[0.0, 1.0]);
        drop((none, kept));

        let mut kept = TextVectors::open(&path, None, None, None).unwrap();
        let found = kept.of(&["b", "a", "b"], &mut |_| ()).unwrap().unwrap();
        assert_eq!(found, [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]);
        assert_eq!(kept.of(&["a", "c"], &mut |_| ()).unwrap(), None);
        let mut scores = |topic, texts: &[&str]| kept.scores_of(topic, texts, &mut |_| ()).unwrap();
        assert_eq!(scores("t", &["b", "a", "b"]), Some(vec![4.0, -2.5, 4.0]));
        assert_eq!(scores("u", &["b"]), Some(vec![0.5]));
        assert_eq!(scores("u", &["a"]), None);
    }
}
