//! A sentence as a list of words with parts of speech. The words can be put into another order.

use crate::tagger;

/// A word or mark of a sentence. Compounds with hyphens are one word, contractions are two ("do", "n't").
#[derive(Clone, Debug)]
pub(super) struct ClauseWord {
    pub text: String,
    pub lower: String,
    /// The name of its part of speech.
    pub tag: &'static str,
    /// Whether white space precedes the word.
    pub spaced: bool,
}

impl ClauseWord {
    /// A new word, to be put into a sentence.
    pub fn new(text: &str, tag: &'static str) -> Self {
        ClauseWord {
            text: text.to_owned(),
            lower: lower(text),
            tag,
            spaced: true,
        }
    }

    /// The word with another text in the same place.
    pub fn replaced(&self, text: &str) -> Self {
        ClauseWord {
            spaced: self.spaced,
            ..ClauseWord::new(text, self.tag)
        }
    }

    /// Whether it is one of `words`, which are separated by blanks.
    pub fn is(&self, words: &str) -> bool {
        is_among(words, &self.lower)
    }

    /// Whether its part of speech is one of `tags`, which are separated by blanks.
    pub fn tagged(&self, tags: &str) -> bool {
        is_among(tags, self.tag)
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
        self.tagged("MD VBZ VBP VBD")
    }

    /// Whether the word has the form of a verb in the third person ("causes").
    pub fn is_third_person(&self) -> bool {
        self.tag != "VBD"
            && self.lower.ends_with('s')
            && !["ss", "us", "is"]
                .iter()
                .any(|end| self.lower.ends_with(end))
            || self.is("is has does 's")
    }

    pub fn negates(&self) -> bool {
        self.is("not n't")
    }

    pub fn is_mark(&self) -> bool {
        !self.text.contains(char::is_alphanumeric)
    }
}

fn lower(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Endings of compounds that are adjectives.
const ENDINGS: &str = "ed made free friendly born grown neutral wide";

/// Verbs that the tagger takes for adverbs.
const VERBS_WITH_LY: &str = "rely apply supply comply imply reply fly";

/// Words that have a small letter in a headline.
const SMALL: &str = "a an the of in to for and or on at by with from vs";

/// The words that making a claim can add.
const ADDED: &str = "should must can could will would may is are was were has have do does did not cannot no \
    longer never still sometimes some all every we than better";

/// Whether a list has this word. The words of the list have blanks between them.
pub(super) fn is_among(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Whether nearly all words have capitals, except articles, prepositions and conjunctions.
pub(super) fn is_headline(text: &str) -> bool {
    let words = text.split_whitespace().skip(1);
    let is_large = |word: &&str| {
        word.starts_with(char::is_alphabetic) && !is_among(SMALL, &word.to_lowercase())
    };
    let words: Vec<&str> = words.filter(is_large).collect();
    let with_capital = |word: &&&str| word.starts_with(char::is_uppercase);
    let capitals = words.iter().filter(with_capital).count();
    words.len() > 2 && 8 * capitals > 7 * words.len()
}

/// A word with a capital at the beginning.
pub(super) fn with_capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Gives capitals to the words that were added to make a claim from a headline.
pub(super) fn in_headline_case(text: &str) -> String {
    if text.starts_with("it is not true") {
        return text.to_owned();
    }
    let words = text.split(' ').map(|word| {
        if is_among(ADDED, word) {
            with_capital(word)
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<String>>().join(" ")
}

/// The words of a text with their parts of speech. If nearly all words have capitals, as in a headline, the text is tagged in small letters.
pub(super) fn read(text: &str) -> Vec<ClauseWord> {
    let small = is_headline(text).then(|| text.to_ascii_lowercase());
    let mut words: Vec<ClauseWord> = Vec::new();
    let mut end = 0;
    let mut joins = false;
    for tagged in tagger::tag(small.as_deref().unwrap_or(text)) {
        let part = text
            .get(tagged.start..tagged.start + tagged.text.len())
            .unwrap_or_default();
        let spaced = tagged.start > end || end == 0;
        end = tagged.start + tagged.text.len();
        let is_hyphen = matches!(part, "-" | "‑" | "/");
        let tag = tagged.tag.name();
        match words.last_mut() {
            Some(last) if !spaced && !last.is_mark() && (is_hyphen || joins) => {
                last.text.push_str(part);
                last.lower = lower(&last.text);
                // "man-made", "drug-free"
                let is_adjective = matches!(tag, "VBG" | "VBN" | "VBD" | "VB")
                    || ENDINGS.split(' ').any(|end| last.lower.ends_with(end));
                if !is_hyphen {
                    last.tag = if is_adjective { "JJ" } else { tag };
                }
                joins = is_hyphen;
            }
            last => {
                let mut word = ClauseWord::new(part, tag);
                word.spaced = spaced;
                // "free will", "a must": nouns after adjectives and articles
                if tag == "MD" && last.is_some_and(|last| last.tagged("JJ DT PRP$")) {
                    word.tag = "NN";
                } else if tag == "RB" && word.is(VERBS_WITH_LY) {
                    word.tag = "VBP";
                } else if word.is("should ought must could would") {
                    word.tag = "MD";
                }
                words.push(word);
                joins = false;
            }
        }
    }
    words
}

/// What follows `beginning`, whose words are separated by blanks; `None` if `words` does not begin with it.
pub(super) fn after<'a>(words: &'a [ClauseWord], beginning: &str) -> Option<&'a [ClauseWord]> {
    beginning.split(' ').try_fold(words, |words, word| {
        let (first, rest) = words.split_first()?;
        (first.lower == word).then_some(rest)
    })
}

/// Whether there is a word at this position, and it is in `list`.
pub(super) fn is_at(words: &[ClauseWord], at: usize, list: &str) -> bool {
    words.get(at).is_some_and(|word| word.is(list))
}

/// The part of speech of the word at this position; empty if there is none.
pub(super) fn tag_at(words: &[ClauseWord], at: usize) -> &'static str {
    words.get(at).map_or("", |word| word.tag)
}

/// The position of the first word that is in `list`.
pub(super) fn position(words: &[ClauseWord], list: &str) -> Option<usize> {
    words.iter().position(|word| word.is(list))
}

/// The words before the first one that is in `list`; all words if none is.
pub(super) fn before<'a>(words: &'a [ClauseWord], list: &str) -> &'a [ClauseWord] {
    &words[..position(words, list).unwrap_or(words.len())]
}

/// The text of words in their order.
pub(super) fn text<'a>(words: impl IntoIterator<Item = &'a ClauseWord>) -> String {
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
pub(super) fn uncapitalised(words: &[ClauseWord]) -> Vec<ClauseWord> {
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
pub(super) fn capitalised(words: &[ClauseWord]) -> Vec<ClauseWord> {
    let mut words = words.to_vec();
    if let Some(first) = words.first_mut() {
        first.text = with_capital(&first.text);
    }
    words
}
