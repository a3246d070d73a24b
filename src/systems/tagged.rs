//! Elrond (Touché 2021, run ElrondOpenNlpRun): words that are chosen by their part of speech.

use std::vec::IntoIter;

use riposte_claims::tagger::{self, TaggedWord};

use crate::index::analyzer::{Splitter, WordReader};

/// Both splitters leave words out by their tags ([`LEFT_OUT`]). With `typed`, the tag is also a part of the term: `<NNS>felon`.
pub const SPLITTERS: [Splitter; 2] = [
    Splitter::new("plain", false, |text| words(text, false)),
    Splitter::new("typed", true, |text| words(text, true)),
];

fn words(text: &str, typed: bool) -> WordReader<'_> {
    let mut words = TaggedWords {
        words: tagger::tag(text).into_iter(),
        rest: None,
        typed,
    };
    Box::new(move |word| words.next(word))
}

/// The tags of words that are left out: marks, numbers, pronouns, prepositions, conjunctions, adverbs, particles and interjections. Nouns,
/// adjectives, verbs and articles remain.
const LEFT_OUT: [&str; 27] = [
    "''", ",", "-LRB-", "-RRB-", ".", ":", "CC", "CD", "HYPH", "IN", "NFP", "PDT", "POS", "PRP",
    "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "WDT", "WP", "WP$", "WRB", "``",
];

/// Short forms of verbs, each with its full form.
const SHORT_FORMS: [(&str, &str); 3] = [("s", "is"), ("m", "am"), ("re", "are")];

/// Iterates over the words of a text, in lower case.
struct TaggedWords<'a> {
    words: IntoIter<TaggedWord<'a>>,
    /// The parts of a hyphenated word that are not read yet.
    rest: Option<TaggedWord<'a>>,
    /// Whether the tag precedes the word.
    typed: bool,
}

impl TaggedWords<'_> {
    /// Reads the next word into `word`, which becomes empty if the word is left out. Returns the byte offsets of the word; none at the end of the text.
    fn next(&mut self, word: &mut String) -> Option<(usize, usize)> {
        let next = match self.rest.take() {
            Some(rest) => rest,
            None => self.words.next()?,
        };
        word.clear();
        let TaggedWord { text, start, tag } = next;
        if LEFT_OUT.contains(&tag.name()) {
            return Some((start, start + text.len()));
        }
        // each part of a hyphenated word has the tag of the word
        let (part, rest) = text.split_once('-').unwrap_or((text, ""));
        if !rest.is_empty() {
            self.rest = Some(TaggedWord {
                text: rest,
                start: start + part.len() + 1,
                tag,
            });
        }
        if self.typed {
            word.extend(["<", tag.name(), ">"]);
        }
        let short = part.strip_prefix(['\'', '’']);
        let long = short.and_then(|short| {
            let found = SHORT_FORMS
                .iter()
                .find(|(form, _)| short.eq_ignore_ascii_case(form));
            found.map(|(_, long)| *long)
        });
        match long {
            Some(long) => word.push_str(long),
            None => word.extend(part.chars().flat_map(char::to_lowercase)),
        }
        Some((start, start + part.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::analyzer::{Analyzer, positions, terms};

    fn analyzer(rules: &str) -> Analyzer {
        let analyzer: Analyzer = rules.parse().unwrap();
        analyzer.knowing(&SPLITTERS).unwrap()
    }

    fn read(rules: &str, text: &str) -> Vec<String> {
        terms(&mut analyzer(rules).build(), text)
    }

    #[test]
    fn parts_of_speech_choose_words_and_precede_typed_terms() {
        // prepositions, pronouns, adverbs, numbers and marks are left out; "'s" is read as "is"; each part of a hyphenated word has the tag of
        // the word
        let text = "It's the non-profit club's 2 dogs that often see cats in parks.";
        assert_eq!(
            read("tags=plain", text),
            [
                "is", "the", "non", "profit", "club", "dogs", "see", "cats", "parks"
            ]
        );
        assert_eq!(
            read("tags=typed stop=99webtools stem=porter", text),
            [
                "<JJ>non",
                "<JJ>profit",
                "<NN>club",
                "<NNS>dog",
                "<VBP>see",
                "<NNS>cat",
                "<NNS>park"
            ]
        );
        // words that are left out have positions, marks among them
        let analyzer = analyzer("tags=typed");
        assert_eq!(
            positions(&mut analyzer.build(), "Dogs, in parks"),
            [("<NNS>dogs".to_owned(), 0), ("<NNS>parks".to_owned(), 3)]
        );
    }

    #[test]
    fn an_unknown_name_is_an_error_and_without_its_splitter_a_known_one_has_no_words() {
        let nouns: Analyzer = "tags=nouns".parse().unwrap();
        let error = nouns.knowing(&SPLITTERS).unwrap_err().to_string();
        assert!(
            error.contains("choose one of none, plain, typed"),
            "{error}"
        );
        // an index stores only the name of the splitter
        let stored: Analyzer = analyzer("tags=typed").to_string().parse().unwrap();
        assert_eq!(stored, analyzer("tags=typed"));
        assert!(terms(&mut stored.build(), "Dogs").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_terms_that_the_index_can_split(text in "\\PC{0,200}") {
            let rules = "stop=99webtools stem=porter tags=typed";
            let mut writer = analyzer(rules).writer();
            let (joined, _) = writer.write(&text);
            let split: Vec<&str> = joined.split_ascii_whitespace().collect();
            proptest::prop_assert_eq!(split, read(rules, &text));
        }
    }
}
