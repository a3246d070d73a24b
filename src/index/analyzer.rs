//! From text to terms: documents, queries, highlighting and pairs of terms all use the terms of one [`Analyzer`].

mod cjk;
mod fold;
mod runs;
#[cfg(test)]
mod tests;
mod word;
mod writer;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantNames};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

pub use super::splitter::{Splitter, WordReader};
pub use super::stemmer::Stemmer;
pub use super::stop_words::StopList;
use super::term_cache::{self, CachedWord, Packed, TermCache};
use crate::limits::{MAX_WORD_LENGTH, MAX_WORD_LENGTH_OF_RECIPE};
use crate::wording::UnknownName;
use cjk::Bigrams;
pub use fold::Fold;
use runs::{next_short_word, next_standard_word, next_word};
use word::{without_possessive, without_repeats};
pub(crate) use writer::TermWriter;

/// Number of words that are read before their terms are made.
const READ_AHEAD: usize = 32;

/// The character between the terms of a shingle. Words consist of letters and digits, so none contains it. It is not white space, because
/// the index splits terms at white space.
const SHINGLE_SEPARATOR: char = '_';

/// The terms of a text, in their order and with repetitions.
pub fn terms(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut stream = analyzer.token_stream(text);
    stream.process(&mut |token| terms.push(token.text.clone()));
    terms
}

/// The terms of a text with the positions of their words, from 0. Words that are left out have positions, too. The analyzer must have no
/// shingles.
pub(crate) fn positions(analyzer: &mut TextAnalyzer, text: &str) -> Vec<(String, usize)> {
    let mut terms = Vec::new();
    let mut stream = analyzer.token_stream(text);
    stream.process(&mut |token| terms.push((token.text.clone(), token.position)));
    terms
}

/// What a word is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Tokens {
    /// A run of letters and digits: "don't" is two words.
    #[default]
    Words,
    /// A word of Unicode's text segmentation (UAX #29), as in Lucene's `StandardTokenizer`: "don't" and "3.5" are one word each.
    Standard,
    /// As `Standard`, but Chinese, Japanese, Korean and Thai become pairs of adjacent characters, as by Lucene's `CJKBigramFilter` (see
    /// `analyzer/cjk.rs`).
    Cjk,
}

/// How the texts of a collection, and the queries, are turned into terms.
///
/// Words are in lower case. Each passes these steps in this order: repeated characters, possessive, accents, length, stop words, stemmer.
/// Sequences of the words that remain (shingles) can be terms, too.
///
/// The text form (`Display`, `FromStr`, serde) is "stop=lucene stem=porter length=1-40 shingles=1 fold=ascii tokens=standard
/// possessive=english repeats=2 tags=plain". A missing part has its default: none, none, 1-40, 1, none, words, none, none, none. The
/// text form is stored with an index. serde also reads a table of the parts: `{ stop = "lucene", stem = "porter" }`.
///
/// With `tokens=cjk` and `fold=nfkc-casefold`, pairs of characters are made of folded characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AnalyzerText", into = "String")]
pub struct Analyzer {
    pub stop: StopList,
    pub stemmer: Stemmer,
    /// Minimum length of a word, in characters before stemming.
    pub shortest: usize,
    /// Maximum length of a word, in characters before stemming; at most 1000.
    pub longest: usize,
    /// Maximum number of words in a term, from 1 (no shingles) to 5. The words of a shingle are joined by underscores. Words that are left
    /// out leave no gap.
    pub shingles: usize,
    /// Which words are equal although they are written with different characters. [`Fold::NfkcCasefold`] needs words of Unicode's text
    /// segmentation: runs of letters are cut at separate accents.
    pub fold: Fold,
    pub tokens: Tokens,
    /// Whether a final "'s" is removed, as by Lucene's `EnglishPossessiveFilter`. It only occurs in `tokens=standard`.
    pub possessive: bool,
    /// Longer runs of one character are cut to this length ("yesss" becomes "yess" with 2); none are cut if it is `None`.
    pub repeats: Option<usize>,
    /// Splits texts in place of `tokens`. With a splitter, `tokens` must have its default, and shingles are not possible.
    pub tags: Splitter,
}

impl Default for Analyzer {
    fn default() -> Self {
        Analyzer {
            stop: StopList::default(),
            stemmer: Stemmer::None,
            shortest: 1,
            longest: MAX_WORD_LENGTH,
            shingles: 1,
            fold: Fold::None,
            tokens: Tokens::Words,
            possessive: false,
            repeats: None,
            tags: Splitter::NONE,
        }
    }
}

impl fmt::Display for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "stop={} stem={} length={}-{} shingles={}",
            self.stop.name(),
            self.stemmer,
            self.shortest,
            self.longest,
            self.shingles
        )?;
        if self.fold != Fold::None {
            write!(f, " fold={}", self.fold)?;
        }
        if self.tokens != Tokens::Words {
            write!(f, " tokens={}", self.tokens)?;
        }
        if self.possessive {
            f.write_str(" possessive=english")?;
        }
        if let Some(repeats) = self.repeats {
            write!(f, " repeats={repeats}")?;
        }
        if self.tags != Splitter::NONE {
            write!(f, " tags={}", self.tags.name())?;
        }
        Ok(())
    }
}

impl From<Analyzer> for String {
    fn from(analyzer: Analyzer) -> String {
        analyzer.to_string()
    }
}

/// An analyzer in a recipe or beside an index.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an analyzer is a text, such as \"stop=lucene stem=porter\", or a table of its parts"
)]
pub(crate) enum AnalyzerText {
    Text(String),
    Parts(BTreeMap<String, Part>),
}

/// The value of a part of an analyzer.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Part {
    Text(String),
    Number(u64),
}

impl TryFrom<AnalyzerText> for Analyzer {
    type Error = String;

    fn try_from(written: AnalyzerText) -> Result<Self, String> {
        written.read().map_err(|error| format!("{error:#}"))
    }
}

impl AnalyzerText {
    /// # Errors
    /// A part is unknown, or its value is wrong. The error is an [`UnknownName`] if the value is a name that is not known.
    pub(crate) fn read(self) -> Result<Analyzer> {
        let text = match self {
            AnalyzerText::Text(text) => text,
            AnalyzerText::Parts(parts) => {
                let mut words = Vec::new();
                for (key, value) in parts {
                    let value = match value {
                        Part::Text(text) => text,
                        Part::Number(number) => number.to_string(),
                    };
                    if value.contains(char::is_whitespace) {
                        bail!("{key}: {value:?} has a blank in it");
                    }
                    words.push(format!("{key}={value}"));
                }
                words.join(" ")
            }
        };
        text.parse()
    }
}

impl FromStr for Analyzer {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut analyzer = Analyzer::default();
        for part in text.split_whitespace() {
            let unknown = || format!("{part:?} is not a part of an analyzer");
            let (key, value) = part.split_once('=').with_context(unknown)?;
            match key {
                "stop" => analyzer.stop = StopList::find(value)?,
                "stem" => analyzer.stemmer = Stemmer::find(value)?,
                "length" => {
                    let (low, high) = value.split_once('-').with_context(unknown)?;
                    analyzer.shortest = low.parse().with_context(unknown)?;
                    analyzer.longest = high.parse().with_context(unknown)?;
                }
                "shingles" => analyzer.shingles = value.parse().with_context(unknown)?,
                "fold" => analyzer.fold = named(value)?,
                "tokens" => analyzer.tokens = named(value)?,
                "possessive" => analyzer.possessive = one_of(&["none", "english"], value)? == 1,
                "tags" => analyzer.tags = Splitter::named(value),
                "repeats" if value == "none" => analyzer.repeats = None,
                "repeats" => analyzer.repeats = Some(value.parse().with_context(unknown)?),
                _ => bail!(unknown()),
            }
        }
        let lengths = analyzer.shortest..=analyzer.longest;
        ensure!(
            !lengths.is_empty() && analyzer.longest <= MAX_WORD_LENGTH_OF_RECIPE,
            "an analyzer keeps words of at least 1 and at most {MAX_WORD_LENGTH_OF_RECIPE} letters, not of {}-{}",
            analyzer.shortest,
            analyzer.longest
        );
        ensure!(
            analyzer.repeats != Some(0),
            "an analyzer keeps at least 1 of repeated characters"
        );
        ensure!(
            (1..=5).contains(&analyzer.shingles),
            "an analyzer's shingles are of 1 to 5 terms, not of {}",
            analyzer.shingles
        );
        ensure!(
            analyzer.tags == Splitter::NONE
                || analyzer.shingles == 1 && analyzer.tokens == Tokens::Words,
            "an analyzer with tags splits texts by itself: leave out tokens and shingles"
        );
        ensure!(
            analyzer.fold != Fold::NfkcCasefold || analyzer.tokens != Tokens::Words,
            "fold=nfkc-casefold needs tokens=standard or tokens=cjk: other words are cut at accents"
        );
        Ok(analyzer)
    }
}

/// The value with this name.
fn named<T: FromStr + VariantNames>(name: &str) -> Result<T> {
    one_of(T::VARIANTS, name)?;
    name.parse().ok().context("a name has no value")
}

/// The position of a name among those that are known.
fn one_of(known: &[&str], name: &str) -> Result<usize> {
    let found = known.iter().position(|word| *word == name);
    found.ok_or_else(|| UnknownName::new("value", name, known).into())
}

impl Analyzer {
    /// Replaces the splitter, of which only the name is known, by the one among `splitters` with this name.
    ///
    /// # Errors
    /// None of them has this name.
    pub fn knowing(self, splitters: &[Splitter]) -> Result<Self> {
        let tags = self.tags.among(splitters)?;
        Ok(Analyzer { tags, ..self })
    }

    /// The language other than English whose stemmer or stop list this is ("german"); `None` if neither says so.
    pub fn other_language(&self) -> Option<&str> {
        let of_stemmer = self.stemmer.language().filter(|name| *name != "english");
        of_stemmer.or(self.stop.language())
    }

    /// Whether the words are read as English: by the stemmer, a stop list for English, or the tagger.
    pub fn is_english(&self) -> bool {
        self.stemmer.language() == Some("english")
            || self.possessive
            || self.stop.is_english()
            || self.tags != Splitter::NONE
    }

    /// The tokenizer that applies these rules. It caches terms, so one tokenizer should be used for many texts.
    pub fn build(&self) -> TextAnalyzer {
        TextAnalyzer::from(self.tokenizer())
    }

    fn tokenizer(&self) -> WordTokenizer {
        WordTokenizer {
            rules: self.clone(),
            cache: TermCache::default(),
            token: Token::default(),
            ahead: Vec::new(),
            next: 0,
        }
    }

    /// The term of a word in lower case; none if the word is left out.
    fn term(&self, word: &str) -> Option<Box<str>> {
        let (tag, word) = if self.tags.has_tags {
            tag_and_word(word)
        } else {
            ("", word)
        };
        let cut = self.repeats.map(|most| without_repeats(word, most));
        let word = cut.as_deref().unwrap_or(word);
        let word = if self.possessive {
            without_possessive(word)
        } else {
            word
        };
        let folded = self.fold.apply(word);
        let folded = folded.as_deref().unwrap_or(word);
        // the length is counted before accents are removed, because "œ" becomes two letters
        if !(self.shortest..=self.longest).contains(&word.chars().count())
            || self.stop.contains(folded)
            // the lists of other languages have words with accents
            || self.stop.language().is_some() && self.stop.contains(word)
        {
            return None;
        }
        let stem = self.stemmer.stem(folded);
        (!stem.is_empty()).then(|| (tag.to_owned() + &stem).into_boxed_str())
    }
}

/// The tokenizer: the rules and the cache of terms.
#[derive(Clone)]
struct WordTokenizer {
    rules: Analyzer,
    cache: TermCache,
    token: Token,
    /// Words that were read together, and the position of the next one of them.
    ahead: Vec<NextWord>,
    next: usize,
}

/// A word that was read, and its term if it was in the cache.
#[derive(Clone)]
struct NextWord {
    from: usize,
    to: usize,
    word: CachedWord,
    term: Option<Packed>,
}

/// The stream of the terms of one text.
struct TermStream<'a> {
    tokenizer: &'a mut WordTokenizer,
    text: &'a str,
    /// Byte offset from which the text is not read yet.
    position: usize,
    /// The words of the analyzer's splitter, if it has one.
    split: Option<WordReader<'a>>,
    /// The characters that are paired, with [`Tokens::Cjk`].
    bigrams: Bigrams,
    /// The last word that was read.
    word: String,
    /// The last terms of single words, for shingles.
    last: VecDeque<String>,
    /// Number of words of the next shingle; 0 before the first term.
    next_shingle: usize,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = TermStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermStream<'a> {
        self.token.reset();
        self.ahead.clear();
        self.next = 0;
        TermStream {
            split: self.rules.tags.words(text),
            tokenizer: self,
            text,
            position: 0,
            bigrams: Bigrams::default(),
            word: String::new(),
            last: VecDeque::new(),
            next_shingle: 0,
        }
    }
}

impl TermStream<'_> {
    /// Reads up to the next word that is kept, and makes its term the current token. Returns false at the end of the text.
    fn next_term(&mut self) -> bool {
        loop {
            if self.tokenizer.next >= self.tokenizer.ahead.len() {
                self.read_ahead();
            }
            let WordTokenizer {
                rules,
                cache,
                token,
                ahead,
                next: at,
            } = &mut *self.tokenizer;
            let Some(next) = ahead.get(*at) else {
                return false;
            };
            *at += 1;
            // words that are left out have positions, too, so positions tell how far apart words are
            token.position = token.position.wrapping_add(1);
            token.text.clear();
            match next.term {
                Some(term) => term_cache::push(term, &mut token.text),
                None => match cache.term(&next.word, |word| rules.term(word)) {
                    CachedWord::Short(term) => term_cache::push(term, &mut token.text),
                    CachedWord::Long(term) => token.text.push_str(&term),
                },
            }
            if token.text.is_empty() {
                continue;
            }
            token.offset_from = next.from;
            token.offset_to = next.to;
            return true;
        }
    }

    /// Reads the next words, and looks all of them up in the cache: so the processor waits for several reads of memory at once. There is none at the end
    /// of the text.
    fn read_ahead(&mut self) {
        self.tokenizer.next = 0;
        self.tokenizer.ahead.clear();
        while self.tokenizer.ahead.len() < READ_AHEAD {
            let word = self.next_word();
            let Some((from, to, word)) = word else {
                break;
            };
            let term = None;
            self.tokenizer.ahead.push(NextWord {
                from,
                to,
                word,
                term,
            });
        }
        let WordTokenizer { cache, ahead, .. } = &mut *self.tokenizer;
        for next in ahead.iter_mut() {
            next.term = cache.find_short(&next.word);
        }
    }

    fn next_word(&mut self) -> Option<(usize, usize, CachedWord)> {
        let (text, word) = (self.text, &mut self.word);
        let Analyzer { tokens, fold, .. } = self.tokenizer.rules;
        let (from, to) = if let Some(next) = &mut self.split {
            next(word)
        } else if tokens == Tokens::Standard {
            next_standard_word(text, &mut self.position, word)
        } else if tokens == Tokens::Cjk {
            self.bigrams.next(text, &mut self.position, fold, word)
        } else {
            let short = next_short_word(text, &mut self.position);
            if let Some((from, to, word)) = short {
                return Some((from, to, CachedWord::Short(word)));
            }
            next_word(text, &mut self.position, word)
        }?;
        Some((from, to, CachedWord::from(word.as_str())))
    }
}

/// Splits a word with a tag into the tag (`<NNS>`) and the word itself.
fn tag_and_word(typed: &str) -> (&str, &str) {
    match typed.find('>') {
        Some(end) if typed.starts_with('<') => typed.split_at(end + 1),
        _ => ("", typed),
    }
}

impl TokenStream for TermStream<'_> {
    fn advance(&mut self) -> bool {
        let most = self.tokenizer.rules.shingles;
        if most == 1 {
            return self.next_term();
        }
        if self.next_shingle > 1 && self.next_shingle <= self.last.len() {
            let from = self.last.len() - self.next_shingle;
            let text = &mut self.tokenizer.token.text;
            text.clear();
            for term in self.last.iter().skip(from) {
                if !text.is_empty() {
                    text.push(SHINGLE_SEPARATOR);
                }
                text.push_str(term);
            }
            self.next_shingle += 1;
            return true;
        }
        if !self.next_term() {
            return false;
        }
        if self.last.len() == most {
            self.last.pop_front();
        }
        self.last.push_back(self.tokenizer.token.text.clone());
        self.next_shingle = 2;
        true
    }

    fn token(&self) -> &Token {
        &self.tokenizer.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokenizer.token
    }
}
