//! Small checkpoints of sentence encoders, and the values that sentence-transformers has computed with them (tests/reference/encoders.py). The tests of
//! riposte-candle use them, too.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;

pub fn reference(name: &str) -> PathBuf {
    let references = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference");
    PathBuf::from(references).join(name)
}

pub fn json_of<T: DeserializeOwned>(path: &Path) -> T {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// What sentence-transformers computes. Vectors are those of the first texts.
#[derive(Deserialize)]
pub struct Values {
    pub tokens: Vec<Tokens>,
    pub documents: Vec<Vec<f32>>,
    #[serde(default)]
    pub queries: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
pub struct Tokens {
    pub text: String,
    pub ids: Vec<u32>,
}

impl Values {
    pub fn read(model: &str) -> Values {
        json_of(&reference(&format!("{model}.json")))
    }

    pub fn texts(&self) -> Vec<&str> {
        self.tokens.iter().map(|of| of.text.as_str()).collect()
    }
}

#[track_caller]
pub fn agree(found: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(found.len(), expected.len());
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len());
        let pairs = found.iter().zip(expected);
        let cosine: f64 = pairs.clone().map(|(a, b)| f64::from(a * b)).sum();
        assert!(cosine > 0.9999, "text {n}: {cosine}");
        for (a, b) in pairs {
            assert!((a - b).abs() < 1e-4, "text {n}: {a}, not {b}");
        }
    }
}

/// A copy of a checkpoint, which a test can change.
pub fn copy_of(name: &str) -> TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let from = entry.unwrap().path();
            let to = to.join(from.file_name().unwrap());
            if from.is_dir() {
                copy(&from, &to);
            } else {
                fs::copy(&from, &to).unwrap();
            }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    copy(&reference(name), dir.path());
    dir
}

pub fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = json_of(path);
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}
