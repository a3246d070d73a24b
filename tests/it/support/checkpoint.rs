//! Helpers for tests that damage checkpoints or compare vectors.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::reference;

pub fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

/// A copy of a small checkpoint, which a test can damage.
pub fn copy_of(name: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    super::files::copy(&reference(name), copy.path());
    copy
}

/// The file of the weights in a checkpoint directory.
pub fn weights(dir: &Path) -> PathBuf {
    let names = ["model.safetensors", "open_clip_model.safetensors"];
    let mut files = names.iter().map(|name| dir.join(name));
    files.find(|file| file.is_file()).unwrap()
}

/// Rewrites the header of the weights: the tensors' names, number types, shapes and offsets.
pub fn edit_header(dir: &Path, edit: impl Fn(&mut serde_json::Map<String, Value>)) {
    let path = weights(dir);
    let bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    edit(header.as_object_mut().unwrap());
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = File::create(&path).unwrap();
    file.write_all(&(header.len() as u64).to_le_bytes())
        .unwrap();
    file.write_all(&header).unwrap();
    file.write_all(&bytes[8 + length..]).unwrap();
}

/// Rewrites a JSON file.
pub fn edit_json(path: &Path, change: impl Fn(&mut Value)) {
    let mut value = super::files::json(path);
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// Sixty texts shorter than `limit` characters, not ordered by length; the first is empty.
pub fn texts_of_many_lengths(limit: usize) -> Vec<String> {
    let long = "why the death penalty should be abolished ".repeat(20);
    (0..60)
        .map(|n| long.chars().skip(n).take(n * n % limit).collect())
        .collect()
}
