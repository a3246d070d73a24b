//! Words that are chosen by their part of speech, as in the run ElrondOpenNlpRun of Touché 2021.

use std::vec::IntoIter;

use crate::topic::tagger::{self, TaggedWord};

/// How parts of speech change the terms of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tags {
    /// Words are not tagged.
    #[default]
    None,
    /// Words with some tags are left out ([`LEFT_OUT`]).
    Plain,
    /// Like `Plain`, and the tag is a part of the term: `<NNS>felon`.
    Typed,
}

impl Tags {
    pub(super) const ALL: [(Tags, &str); 3] = [
        (Tags::None, "none"),
        (Tags::Plain, "plain"),
        (Tags::Typed, "typed"),
    ];
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
pub(super) struct TaggedWords<'a> {
    words: IntoIter<TaggedWord<'a>>,
    /// The parts of a hyphenated word that are not read yet.
    rest: Option<TaggedWord<'a>>,
    tags: Tags,
}

impl<'a> TaggedWords<'a> {
    /// With [`Tags::None`], there are no words.
    pub fn new(text: &'a str, tags: Tags) -> Self {
        let words = match tags {
            Tags::None => Vec::new(),
            Tags::Plain | Tags::Typed => tagger::tag(text),
        };
        TaggedWords {
            words: words.into_iter(),
            rest: None,
            tags,
        }
    }

    /// Reads the next word into `word`, which becomes empty if the word is left out. If terms are typed, the tag precedes the word
    /// (`<NNS>felons`). Returns the byte offsets of the word; none at the end of the text.
    pub fn next(&mut self, word: &mut String) -> Option<(usize, usize)> {
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
        if self.tags == Tags::Typed {
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

/// Splits a typed word into its tag (`<NNS>`) and the word itself.
pub(super) fn tag_and_word(typed: &str) -> (&str, &str) {
    match typed.find('>') {
        Some(end) if typed.starts_with('<') => typed.split_at(end + 1),
        _ => ("", typed),
    }
}
