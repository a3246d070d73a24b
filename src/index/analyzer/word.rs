//! What an analyzer does to one word: each function takes a word in lower case.

use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer};

/// The word with runs of one character cut to `most`.
pub(super) fn without_repeats(word: &str, most: usize) -> String {
    let mut cut = String::with_capacity(word.len());
    let (mut last, mut run) = (None, 0);
    for c in word.chars() {
        run = if last == Some(c) { run + 1 } else { 1 };
        last = Some(c);
        if run <= most {
            cut.push(c);
        }
    }
    cut
}

/// The word without a final "'s", with one of the three apostrophes that Lucene knows.
pub(super) fn without_possessive(word: &str) -> &str {
    let stem = word.strip_suffix('s');
    stem.and_then(|stem| stem.strip_suffix(['\'', '\u{2019}', '\u{ff07}']))
        .unwrap_or(word)
}

/// The word with its letters replaced by ASCII letters where Lucene's table (`ASCIIFoldingFilter`) has any.
pub(super) fn without_accents(word: &str) -> String {
    let filter = TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter);
    let mut filter = filter.build();
    let mut folded = String::new();
    let mut stream = filter.token_stream(word);
    stream.process(&mut |token| folded.push_str(&token.text));
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_character_are_cut() {
        for (word, most, cut) in [
            ("yesss", 2, "yess"),
            ("yesss", 1, "yes"),
            ("yesss", 3, "yesss"),
            ("banana", 1, "banana"),
            ("ééé111", 2, "éé11"),
            ("", 1, ""),
        ] {
            assert_eq!(without_repeats(word, most), cut, "{word} {most}");
        }
    }

    #[test]
    fn a_possessive_has_one_of_three_apostrophes() {
        for word in ["dog's", "dog\u{2019}s", "dog\u{ff07}s"] {
            assert_eq!(without_possessive(word), "dog");
        }
        for word in ["dogs", "dogs'", "s", "don't", "dog`s", ""] {
            assert_eq!(without_possessive(word), word);
        }
    }

    #[test]
    fn letters_with_accents_become_those_of_ascii_where_there_are_any() {
        for (word, folded) in [
            ("café", "cafe"),
            ("straße", "strasse"),
            ("œuvre", "oeuvre"),
            ("plain", "plain"),
            ("日本", "日本"),
        ] {
            assert_eq!(without_accents(word), folded);
        }
    }
}
