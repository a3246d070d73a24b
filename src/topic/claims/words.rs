//! A sentence as a list of words with parts of speech. The words can be put into another order.

use crate::topic::tagger;

/// A word or mark of a sentence. Compounds with hyphens are one word, contractions are two ("do", "n't").
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub text: String,
    pub lower: String,
    /// The name of its part of speech.
    pub tag: &'static str,
    /// Whether white space precedes the word.
    pub spaced: bool,
}

impl Word {
    /// A new word, to be put into a sentence.
    pub fn new(text: &str, tag: &'static str) -> Self {
        Word {
            text: text.to_owned(),
            lower: lower(text),
            tag,
            spaced: true,
        }
    }

    /// The word with another text in the same place.
    pub fn replaced(&self, text: &str) -> Self {
        Word {
            text: text.to_owned(),
            lower: lower(text),
            ..self.clone()
        }
    }

    pub fn is(&self, words: &[&str]) -> bool {
        words.contains(&self.lower.as_str())
    }

    pub fn is_noun(&self) -> bool {
        self.tag.starts_with("NN")
    }

    pub fn is_adjective(&self) -> bool {
        self.tag.starts_with("JJ")
    }

    /// Adverbs, and "n't".
    pub fn is_adverb(&self) -> bool {
        self.tag.starts_with("RB") || self.negates()
    }

    pub fn is_finite(&self) -> bool {
        matches!(self.tag, "MD" | "VBZ" | "VBP" | "VBD")
    }

    /// Whether the word has the form of a verb in the third person ("causes").
    pub fn is_third_person(&self) -> bool {
        self.tag != "VBD"
            && self.lower.ends_with('s')
            && !["ss", "us", "is"]
                .iter()
                .any(|end| self.lower.ends_with(end))
            || self.is(&["is", "has", "does", "'s"])
    }

    pub fn negates(&self) -> bool {
        matches!(self.lower.as_str(), "not" | "n't")
    }

    pub fn is_mark(&self) -> bool {
        !self.text.contains(char::is_alphanumeric)
    }
}

fn lower(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Endings of compounds that are adjectives.
const ENDINGS: [&str; 8] = [
    "ed", "made", "free", "friendly", "born", "grown", "neutral", "wide",
];

/// Verbs that the tagger takes for adverbs.
const VERBS_WITH_LY: [&str; 7] = ["rely", "apply", "supply", "comply", "imply", "reply", "fly"];

/// Whether nearly all words have capitals, except articles, prepositions and conjunctions.
pub(super) fn is_headline(text: &str) -> bool {
    let small = [
        "a", "an", "the", "of", "in", "to", "for", "and", "or", "on", "at", "by", "with", "from",
        "vs",
    ];
    let words = text.split_whitespace().skip(1);
    let words = words.filter(|word| {
        word.starts_with(char::is_alphabetic) && !small.contains(&word.to_lowercase().as_str())
    });
    let (mut all, mut capitals) = (0, 0);
    for word in words {
        all += 1;
        capitals += usize::from(word.starts_with(char::is_uppercase));
    }
    all > 2 && 8 * capitals > 7 * all
}

/// Gives capitals to the words that were added to make a claim from a headline.
pub(super) fn in_headline_case(text: &str) -> String {
    if text.starts_with("it is not true") {
        return text.to_owned();
    }
    let made = [
        "should",
        "must",
        "can",
        "could",
        "will",
        "would",
        "may",
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "do",
        "does",
        "did",
        "not",
        "cannot",
        "no",
        "longer",
        "never",
        "still",
        "sometimes",
        "some",
        "all",
        "every",
        "we",
        "than",
        "better",
    ];
    let words = text.split(' ').map(|word| {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if made.contains(&word) => first.to_uppercase().chain(letters).collect(),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<String>>().join(" ")
}

/// The words of a text with their parts of speech. If nearly all words have capitals, as in a headline, the text is tagged in small letters.
pub(super) fn read(text: &str) -> Vec<Word> {
    let small = is_headline(text).then(|| text.to_ascii_lowercase());
    let mut words: Vec<Word> = Vec::new();
    let mut end = 0;
    let mut joins = false;
    for tagged in tagger::tag(small.as_deref().unwrap_or(text)) {
        let part = text
            .get(tagged.start..tagged.start + tagged.text.len())
            .unwrap_or_default();
        let spaced = tagged.start > end || end == 0;
        end = tagged.start + tagged.text.len();
        let is_hyphen = matches!(part, "-" | "‑" | "/");
        match words.last_mut() {
            Some(last) if !spaced && !last.is_mark() && (is_hyphen || joins) => {
                last.text.push_str(part);
                last.lower = lower(&last.text);
                if !is_hyphen {
                    last.tag = match tagged.tag.name() {
                        "VBG" | "VBN" | "VBD" | "VB" => "JJ",
                        // "man-made", "drug-free"
                        _ if ENDINGS.iter().any(|end| last.lower.ends_with(end)) => "JJ",
                        name => name,
                    };
                }
                joins = is_hyphen;
            }
            _ => {
                // "free will", "a must": nouns after adjectives and articles
                let is_noun = tagged.tag.name() == "MD"
                    && words
                        .last()
                        .is_some_and(|last| matches!(last.tag, "JJ" | "DT" | "PRP$"));
                let lower = lower(part);
                let is_modal = matches!(
                    lower.as_str(),
                    "should" | "ought" | "must" | "could" | "would"
                );
                words.push(Word {
                    text: part.to_owned(),
                    tag: match tagged.tag.name() {
                        _ if is_noun => "NN",
                        "RB" if VERBS_WITH_LY.contains(&lower.as_str()) => "VBP",
                        _ if is_modal => "MD",
                        name => name,
                    },
                    lower,
                    spaced,
                });
                joins = false;
            }
        }
    }
    words
}

/// The text of words in their order.
pub(super) fn text<'a>(words: impl IntoIterator<Item = &'a Word>) -> String {
    let mut text = String::new();
    for word in words {
        if word.spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word.text);
    }
    text
}

/// The words with a small letter at the beginning, unless the first word is a name, "I", or has more capitals.
pub(super) fn uncapitalised(words: &[Word]) -> Vec<Word> {
    let mut words = words.to_vec();
    if let Some(first) = words.first_mut() {
        let mut letters = first.text.chars();
        let capital = letters.next().is_some_and(char::is_uppercase);
        let rest_is_small = !letters.as_str().contains(char::is_uppercase);
        let is_name = first.tag.starts_with("NNP") || first.lower == "i";
        if capital && rest_is_small && !is_name {
            first.text = first.text.to_lowercase();
        }
    }
    words
}

/// The words with a capital at the beginning.
pub(super) fn capitalised(words: &[Word]) -> Vec<Word> {
    let mut words = words.to_vec();
    if let Some(first) = words.first_mut() {
        let mut letters = first.text.chars();
        if let Some(letter) = letters.next() {
            first.text = letter.to_uppercase().chain(letters).collect();
        }
    }
    words
}
