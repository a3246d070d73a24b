//! What the pair encoder says of claims and texts, made when it is first asked for and kept with the evidence, so that the
//! same evidence gives the same run on every machine, and on one without the model.

use std::collections::HashMap;

use anyhow::Result;
use sha2::{Digest, Sha256};

use crate::evidence::lazy::Lazy;
use crate::evidence::pair::{CLASSES, PairEncoder};
use crate::evidence::store::Store;
use crate::score::text_stance::{Logits, pieces};

/// Pairs that are read and kept together: so many are lost when the work is killed.
const TOGETHER: usize = 1024;

/// A reader of (claim, text) pairs.
pub struct Reader<'a> {
    encoder: Option<&'a Lazy<PairEncoder>>,
    /// None: there is no encoder, and nothing is kept.
    producer: Option<String>,
}

impl<'a> Reader<'a> {
    /// By this encoder, or without one by what the one that read most has left in the store.
    ///
    /// Errors: the store cannot be read.
    pub fn new(encoder: Option<&'a Lazy<PairEncoder>>, store: &Store) -> Result<Self> {
        let producer = match encoder {
            Some(encoder) => Some(encoder.producer().to_owned()),
            None => store.query_producer("pair/")?,
        };
        Ok(Reader { encoder, producer })
    }

    /// The logits of all [`pieces`] of each text with its claim, in the texts' order. None where one is not kept and there is no
    /// encoder.
    ///
    /// Errors: the store or the encoder fails.
    pub fn read(
        &self,
        store: &mut Store,
        asked: &[(&str, &str)],
    ) -> Result<Option<Vec<Vec<Logits>>>> {
        let Some(producer) = &self.producer else {
            return Ok(None);
        };
        let pairs: Vec<Vec<(&str, &str)>> = asked
            .iter()
            .map(|(claim, text)| pieces(text).into_iter().map(|p| (*claim, p)).collect())
            .collect();
        let mut known: HashMap<String, Logits> = HashMap::new();
        let mut missing: Vec<(String, (&str, &str))> = Vec::new();
        for &pair in pairs.iter().flatten() {
            let key = key(pair);
            if known.contains_key(&key) {
                continue;
            }
            match store.query_vector(producer, &key)? {
                Some(kept) if kept.len() == CLASSES => {
                    known.insert(key, [kept[0], kept[1], kept[2]]);
                }
                _ => {
                    known.insert(key.clone(), [0.0; CLASSES]);
                    missing.push((key, pair));
                }
            }
        }
        for part in missing.chunks(TOGETHER) {
            let Some(encoder) = self.encoder else {
                return Ok(None);
            };
            let pairs: Vec<(&str, &str)> = part.iter().map(|(_, pair)| *pair).collect();
            let made: Vec<(String, Vec<f32>)> = part
                .iter()
                .zip(encoder.get()?.logits(&pairs)?)
                .map(|((key, _), logits)| {
                    known.insert(key.clone(), logits);
                    (key.clone(), logits.to_vec())
                })
                .collect();
            store.keep_query_vectors(producer, &made)?;
        }
        let of = |pair: &(&str, &str)| known.get(&key(*pair)).copied().unwrap_or_default();
        Ok(Some(
            pairs
                .iter()
                .map(|pieces| pieces.iter().map(of).collect())
                .collect(),
        ))
    }
}

/// Texts are long: they are kept under a hash.
fn key((claim, text): (&str, &str)) -> String {
    let hash = Sha256::digest(format!("{claim}\0{text}"));
    hash[..16].iter().map(|b| format!("{b:02x}")).collect()
}
