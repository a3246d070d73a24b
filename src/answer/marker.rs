//! The words of a question in a text, whatever their inflection.

use std::collections::HashSet;

use riposte_page::MarkedSpan;
use tantivy::tokenizer::TextAnalyzer;

use crate::index::analyzer::{self, Analyzer, Stemmer, StopList};

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
    use proptest::prelude::*;

    use super::*;

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
    }
}
