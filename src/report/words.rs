//! The form of numbers, names and texts in reports.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use tantivy::tokenizer::TextAnalyzer;

use crate::disk::hex;
use crate::index::analyzer::{self, Analyzer, Stemmer, StopList};

/// A difference between measures, with three decimals and a sign: a typographic minus, and ± for zero.
pub fn difference(value: f64) -> String {
    match format!("{value:+.3}").as_str() {
        "-0.000" | "+0.000" => "±0.000".into(),
        text => text.replace('-', "−"),
    }
}

/// A rank: "1st", "22nd", "113th".
pub(crate) fn ordinal(rank: usize) -> String {
    let ending = match (rank % 100, rank % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{rank}{ending}")
}

/// A text without the quotation marks around it. If others are inside, it stays as it is, because they can belong together.
pub(crate) fn unquoted(text: &str) -> &str {
    const MARKS: [char; 4] = ['"', '“', '”', '„'];
    let inside = text.trim_matches(MARKS);
    match inside.contains(MARKS) {
        true => text,
        false => inside,
    }
}

/// Words as a list: "a", "a and b", "a, b and c".
pub(crate) fn joined(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Turns an id into a part of a file name or fragment, of ASCII letters, digits, dots, dashes and underscores. Different ids have
/// different slugs: if characters have to be removed, a hash of the id is added.
pub fn slug(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !id.is_empty() && id.len() <= 64 && id.chars().all(is_plain) {
        return id.to_owned();
    }
    let hash = hex(&Sha256::digest(id.as_bytes())[..6]);
    let plain: String = id.chars().filter(|c| is_plain(*c)).take(40).collect();
    // an id that needs no hash has no dot, so the two kinds of slugs cannot coincide
    format!("{plain}.{hash}")
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarkedSpan {
    pub text: String,
    /// Whether it is a word of the topic.
    pub is_match: bool,
}

/// Marks a topic's words in texts, whatever their inflection. Stop words ("should", "the") are not marked.
pub(crate) struct Marker {
    analyzer: TextAnalyzer,
    terms: HashSet<String>,
}

impl Marker {
    /// A marker of the words in `query`.
    pub fn new(query: &str) -> Marker {
        let mut analyzer = Analyzer {
            stop: StopList::built_in("long"),
            stemmer: Stemmer::Snowball,
            ..Analyzer::default()
        }
        .build();
        let terms = analyzer::terms(&mut analyzer, query).into_iter().collect();
        Marker { analyzer, terms }
    }

    /// The number of different words of the topic in a text.
    pub fn count(&mut self, text: &str) -> usize {
        let found = analyzer::terms(&mut self.analyzer, text).into_iter();
        found
            .filter(|term| self.terms.contains(term))
            .collect::<HashSet<_>>()
            .len()
    }

    /// Splits a text into pieces. Together they are the whole text.
    pub fn mark(&mut self, text: &str) -> Vec<MarkedSpan> {
        let mut spans = Vec::new();
        let mut end = 0;
        let mut push = |piece: Option<&str>, is_match| {
            if let Some(piece) = piece.filter(|piece| !piece.is_empty()) {
                spans.push(MarkedSpan {
                    text: piece.to_owned(),
                    is_match,
                });
            }
        };
        let mut stream = self.analyzer.token_stream(text);
        while let Some(token) = stream.next() {
            let (from, to) = (token.offset_from, token.offset_to);
            if from >= end && self.terms.contains(&token.text) {
                push(text.get(end..from), false);
                push(text.get(from..to), true);
                end = to;
            }
        }
        push(text.get(end..), false);
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn inflected_words_of_the_topic_are_marked() {
        let mut marker = Marker::new("Should zoos be closed?");
        let marked = marker.mark("The zoo, closing <b>soon</b>");
        let shown: Vec<String> = marked
            .iter()
            .map(|span| {
                if span.is_match {
                    format!("[{}]", span.text)
                } else {
                    span.text.clone()
                }
            })
            .collect();
        assert_eq!(shown.concat(), "The [zoo], [closing] <b>soon</b>");
    }

    #[test]
    fn different_words_of_the_topic_are_counted() {
        let mut marker = Marker::new("Should zoos be closed?");
        assert_eq!(marker.count("The zoo should close; zoos are closing."), 2);
        assert_eq!(marker.count("It should be."), 0);
    }

    proptest! {
        #[test]
        fn marking_loses_nothing(text in "\\PC*", query in "\\PC{0,20}") {
            let mut marker = Marker::new(&query);
            let again: String = marker.mark(&text).into_iter().map(|span| span.text).collect();
            prop_assert_eq!(again, text);
        }

        #[test]
        fn slugs_are_plain_and_tell_ids_apart(a in "\\PC*", b in "[a-z0-9./ -]{0,12}") {
            for id in [&a, &b] {
                let slug = slug(id);
                prop_assert!(!slug.is_empty() && slug.len() <= 64);
                prop_assert!(slug.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)));
            }
            prop_assert_eq!(slug(&a) == slug(&b), a == b);
        }
    }

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(difference(-0.05), "−0.050");
        assert_eq!(difference(-0.0001), "±0.000");
        let ranks = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
        assert_eq!(
            ranks.join(" "),
            "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th"
        );
        assert_eq!(joined(&["a", "b", "c"]), "a, b and c");
        assert_eq!(joined(&["a"]), "a");
    }
}
