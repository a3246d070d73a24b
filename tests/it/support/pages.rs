//! The pages of shared/data with their main texts, and how much of a text another has.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;

/// A page, with the text that people expect of it.
#[derive(Deserialize)]
pub struct Page {
    /// Where it is from.
    pub set: String,
    pub html: String,
    pub text: String,
    #[serde(default)]
    pub image_url: String,
}

/// The pages of a file.
pub fn of(file: &Path) -> impl Iterator<Item = Page> {
    let lines = BufReader::new(MultiGzDecoder::new(File::open(file).unwrap())).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// The harmonic mean of the shares of words that two texts have in common, each word as often as it occurs.
pub fn f1(expected: &str, found: &str) -> f64 {
    let (expected, found) = (words(expected), words(found));
    let [all_expected, all_found] = [&expected, &found].map(|words| words.values().sum::<usize>());
    let common = expected.iter().map(|(word, count)| {
        let found = found.get(word).copied().unwrap_or(0);
        found.min(*count)
    });
    2.0 * common.sum::<usize>() as f64 / (all_expected + all_found).max(1) as f64
}

fn words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if !word.is_empty() {
            *words.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    words
}
