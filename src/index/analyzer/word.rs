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

/// The S stemmer: applies the first of Harman's three rules whose ending the word has.
pub(super) fn without_plural(word: &str) -> String {
    // an ending, what replaces it, and the endings that stay
    let rules: [(&str, &str, &[&str]); 3] = [
        ("ies", "y", &["eies", "aies"]),
        ("es", "e", &["aes", "ees", "oes"]),
        ("s", "", &["us", "ss"]),
    ];
    let rule = |(ending, by, kept): (&str, &str, &[&str])| {
        let stem = word.strip_suffix(ending).filter(|_| word.len() > 1)?;
        let stays = kept.iter().any(|kept| word.ends_with(kept));
        Some(if stays {
            word.to_owned()
        } else {
            stem.to_owned() + by
        })
    };
    rules.into_iter().find_map(rule).unwrap_or(word.to_owned())
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

    #[test]
    fn a_plural_ending_is_removed_by_the_first_rule_that_has_it() {
        for (word, stem) in [
            ("queries", "query"),
            ("zaies", "zaies"),
            ("zeies", "zeies"),
            ("houses", "house"),
            ("goes", "goes"),
            ("trees", "trees"),
            ("algaes", "algaes"),
            ("gas", "ga"),
            ("corpus", "corpus"),
            ("class", "class"),
            ("s", "s"),
            ("", ""),
        ] {
            assert_eq!(without_plural(word), stem);
        }
    }
}
