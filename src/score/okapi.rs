//! How well texts match a query: BM25 as in the Python package rank_bm25 (`BM25Okapi`), with statistics of only these texts.

use std::collections::{BTreeMap, BTreeSet};

/// The defaults of rank_bm25.
const K1: f64 = 1.5;
const B: f64 = 0.75;
/// A term that more than half of the texts contain has a negative idf. Instead, it gets this share of the mean idf.
const EPSILON: f64 = 0.25;

/// The BM25 score of each text for the query. Texts and query are lists of terms.
pub(crate) fn okapi(query: &[String], texts: &[Vec<String>]) -> Vec<f64> {
    let count = texts.len() as f64;
    let mut df: BTreeMap<&str, f64> = BTreeMap::new();
    for text in texts {
        for term in text.iter().collect::<BTreeSet<_>>() {
            *df.entry(term).or_default() += 1.0;
        }
    }
    let idf = |df: f64| (count - df + 0.5).ln() - (df + 0.5).ln();
    let mean_idf = df.values().map(|df| idf(*df)).sum::<f64>() / df.len().max(1) as f64;
    let tokens: usize = texts.iter().map(Vec::len).sum();
    let mean_length = (tokens as f64 / count.max(1.0)).max(f64::MIN_POSITIVE);
    let score = |text: &Vec<String>| -> f64 {
        let length = 1.0 - B + B * text.len() as f64 / mean_length;
        let of_term = |term: &String| {
            let tf = text.iter().filter(|other| *other == term).count() as f64;
            let idf = df.get(term.as_str()).map_or(0.0, |df| match idf(*df) {
                low if low < 0.0 => EPSILON * mean_idf,
                idf => idf,
            });
            idf * tf * (K1 + 1.0) / (tf + K1 * length)
        };
        query.iter().map(of_term).sum()
    };
    texts.iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_worked_example_of_okapi() {
        // "cow" is in one of four texts, "milk" in three, and its idf is below 0; the mean length is 2
        let texts = ["cow milk", "milk milk milk", "goat milk", "hen"].map(terms);
        let found = okapi(&terms("cow milk tea"), &texts);
        let rare = 3.5_f64.ln() - 1.5_f64.ln();
        let mean_idf = (3.0 * rare - rare) / 4.0;
        let common = 0.25 * mean_idf;
        let expected = [
            rare + common,
            common * 3.0 * 2.5 / (3.0 + 1.5 * (0.25 + 0.75 * 3.0 / 2.0)),
            common,
            0.0,
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(okapi(&terms("cow"), &[Vec::new()]), [0.0]);
        assert!(okapi(&terms("cow"), &[]).is_empty());
    }
}
