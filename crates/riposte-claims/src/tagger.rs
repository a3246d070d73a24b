//! Parts of speech: splits an English text into words as the Penn Treebank does, and finds the tag of each word.
//!
//! An averaged perceptron (Collins 2002) reads a sentence from left to right. It sees the word, its beginning and end, its
//! neighbours and the two tags before it. Its weights are compiled in; 94 percent of the tags of newsgroups, reviews and mail are right
//! (`models/README.md`).
//!
//! ```
//! use riposte_claims::tagger::{adjectives, tag};
//!
//! let words = tag("Cats can't bark.").into_iter();
//! let words: Vec<String> = words.map(|word| format!("{}/{}", word.text, word.tag)).collect();
//! assert_eq!(words.join(" "), "Cats/NNS ca/MD n't/RB bark/VB ./.");
//!
//! // the share of adjectives among the words
//! assert_eq!(adjectives("A big dog and a small, old cat!"), 3.0 / 8.0);
//! ```
//!
//! [`tag()`] and [`adjectives`] are all that most callers need. The rest is for whoever learns other weights: [`split()`] gives the words,
//! [`features()`] what is seen of a word, and [`encode`] writes the file that [`TaggerModel::parse`] reads and [`tag_with`] uses.

mod features;
mod model;
mod split;

use std::fmt;
use std::sync::LazyLock;

pub use features::{FEATURES, Feature, WordForm, features};
pub use model::{TaggerModel, encode};
pub use split::{WordSpan, split};

/// The tags of the Penn Treebank and those that the English Web Treebank adds (ADD: an address, AFX: a prefix, GW: a part of a word, HYPH,
/// NFP: other marks, XX: unknown).
pub const TAGS: [&str; 51] = [
    "#", "$", "''", ",", "-LRB-", "-RRB-", ".", ":", "ADD", "AFX", "CC", "CD", "DT", "EX", "FW",
    "GW", "HYPH", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NFP", "NN", "NNP", "NNPS", "NNS", "PDT",
    "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG", "VBN",
    "VBP", "VBZ", "WDT", "WP", "WP$", "WRB", "XX", "``",
];

/// A part of speech, as an index into [`TAGS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(u8);

impl Tag {
    /// The tag with this name.
    pub fn find(name: &str) -> Option<Tag> {
        let at = TAGS.iter().position(|tag| *tag == name)?;
        u8::try_from(at).ok().map(Tag)
    }

    /// All tags, in the order of [`TAGS`].
    pub fn all() -> [Tag; TAGS.len()] {
        std::array::from_fn(|at| Tag(at as u8))
    }

    /// The index of the tag in [`TAGS`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The name of the tag, such as "NNS".
    pub fn name(self) -> &'static str {
        TAGS.get(usize::from(self.0)).copied().unwrap_or("XX")
    }

    /// Whether words of this tag are adjectives.
    pub fn is_adjective(self) -> bool {
        self.name().starts_with("JJ")
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word or mark of a text, with its part of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaggedWord<'a> {
    /// The word, as it is in the text.
    pub text: &'a str,
    /// Byte offset of its start in the text.
    pub start: usize,
    /// Its part of speech.
    pub tag: Tag,
}

static COMMITTED: LazyLock<TaggerModel> = LazyLock::new(|| {
    // the file is compiled in; tests read it
    TaggerModel::parse(include_bytes!("../models/tagger.bin"))
        .expect("models/tagger.bin has the weights of the tagger")
});

/// The words and marks of a text with their parts of speech, in order.
///
/// Each character that is not white space belongs to one of them.
pub fn tag(text: &str) -> Vec<TaggedWord<'_>> {
    tag_with(&COMMITTED, text)
}

/// How much more a word by itself looks like a verb in its base form than like a noun or an adjective: positive for "create", negative for "crime".
/// Many English verbs are also nouns, so only the difference between two words is informative.
pub(crate) fn verb_preference(word: &str) -> i32 {
    let tag = |name| Tag::find(name).unwrap_or(Tag(0));
    COMMITTED.preference(
        &WordForm::of(word),
        tag("VB"),
        &["NN", "NNS", "JJ"].map(tag),
    )
}

/// Like [`tag()`], with other weights.
pub fn tag_with<'a>(model: &TaggerModel, text: &'a str) -> Vec<TaggedWord<'a>> {
    let mut tagged = Vec::new();
    let mut words = Vec::new();
    let mut sentence = Vec::new();
    let spans = split(text);
    let mut spans = spans.into_iter().peekable();
    while let Some((start, end)) = spans.next() {
        let word = text.get(start..end).unwrap_or_default();
        words.push((start, word));
        sentence.push(WordForm::of(word));
        let next = spans.peek().and_then(|(start, end)| text.get(*start..*end));
        if next.is_none_or(|next| ends_sentence(&words, next)) {
            let tags = model.tag(&sentence);
            let of_sentence = words.drain(..).zip(tags);
            tagged.extend(of_sentence.map(|((start, text), tag)| TaggedWord { text, start, tag }));
            sentence.clear();
        }
    }
    tagged
}

/// Whether a sentence ends before the word `next`: after a full stop, question mark or exclamation mark, possibly with closing marks between.
fn ends_sentence(words: &[(usize, &str)], next: &str) -> bool {
    let is_closing = |word: &str| matches!(word, ")" | "]" | "\"" | "”" | "'" | "’" | "''");
    if is_closing(next) || next.starts_with(['.', '!', '?']) {
        return false;
    }
    // at most two closing marks are skipped, so that a text of only closing marks is read once
    let mut before = words.iter().rev().map(|(_, word)| *word).take(3);
    before.find(|word| !is_closing(word)).is_some_and(|word| {
        word.starts_with(['.', '!', '?']) && !word.contains(char::is_alphanumeric)
    })
}

/// The share of adjectives among the words of a text, in [0, 1]; 0 without words.
pub fn adjectives(text: &str) -> f64 {
    let (mut adjectives, mut words) = (0.0, 0.0);
    for word in tag(text) {
        if word.text.contains(char::is_alphanumeric) {
            words += 1.0;
            adjectives += f64::from(u8::from(word.tag.is_adjective()));
        }
    }
    if words > 0.0 { adjectives / words } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(text: &str) -> String {
        let words = tag(text).into_iter();
        let words = words.map(|word| format!("{}/{}", word.text, word.tag));
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn plain_sentences_have_the_tags_of_the_treebanks_guidelines() {
        for expected in [
            "The/DT people/NNS 's/POS rights/NNS ca/MD n't/RB wait/VB ./.",
            "Should/MD felons/NNS be/VB allowed/VBN to/TO vote/VB ?/. I/PRP do/VBP n't/RB think/VB so/RB ./.",
            "Cats/NNS are/VBP cleaner/JJR than/IN big/JJ dogs/NNS (/-LRB- in/IN 2000/CD )/-RRB- ./.",
        ] {
            let pairs = expected.split(' ').filter_map(|word| word.rsplit_once('/'));
            let words: Vec<&str> = pairs.map(|(word, _)| word).collect();
            let text = words.join(" ").replace(" 's", "'s").replace(" n't", "n't");
            assert_eq!(tagged(&text), expected);
        }
    }

    #[test]
    fn the_tags_of_a_sentence_do_not_depend_on_the_one_before() {
        let (first, second) = ("Dogs bark (\"Woof!\").", "They run to the park");
        let both = tagged(&format!("{first} {second}"));
        assert_eq!(both, format!("{} {}", tagged(first), tagged(second)));
    }

    #[test]
    fn adjectives_are_a_share_of_the_words() {
        assert_eq!(adjectives("A big dog and a small, old cat!"), 3.0 / 8.0);
        assert_eq!(adjectives("?!"), 0.0);
        assert_eq!(adjectives(""), 0.0);
    }

    #[test]
    fn a_tag_has_one_name_and_the_names_are_sorted() {
        assert!(TAGS.is_sorted());
        for tag in Tag::all() {
            assert_eq!(Tag::find(tag.name()), Some(tag));
        }
        assert_eq!(Tag::find("NOUN"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_tagged_from_end_to_end(text in "\\PC{0,80}|[A-Z'’a-z.!?)\" \n-]{0,80}|[\\x00-\\u{10ffff}]{0,20}") {
            let mut end = 0;
            for word in tag(&text) {
                proptest::prop_assert_eq!(&text[word.start..word.start + word.text.len()], word.text);
                proptest::prop_assert!(text[end..word.start].chars().all(char::is_whitespace));
                end = word.start + word.text.len();
            }
            proptest::prop_assert!(text[end..].trim().is_empty());
        }
    }
}
