//! From text to terms.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, StopWordFilter,
    TextAnalyzer, Token, TokenFilter, TokenStream, Tokenizer,
};

use super::stop_words;

/// A longer token is no word (a data URL, a hash).
const MAX_TOKEN_BYTES: usize = 40;

/// How many words' stems are kept at hand: the vocabulary of a text is small, and a stem is slow.
const KEPT_WORDS: usize = 1 << 16;

/// The name under which [`english`] is registered with an index.
pub const ENGLISH: &str = "english";

/// Words between blanks and punctuation, lower case, without accents, without Snowball's English
/// stop words, stemmed by Snowball's English (Porter 2) stemmer.
pub fn english() -> TextAnalyzer {
    let builder = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(MAX_TOKEN_BYTES))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter);
    match StopWordFilter::new(Language::English) {
        Some(stop_words) => builder.filter(stop_words).filter(KnownStems).build(),
        None => builder.filter(KnownStems).build(),
    }
}

/// tantivy's stemmer with a memory.
#[derive(Clone)]
struct KnownStems;

/// Tokens before stemming, and the stems of the words seen so far.
#[derive(Clone)]
struct Stemming<T> {
    tokens: T,
    stems: FxHashMap<Box<str>, Box<str>>,
}

/// Tokens of one text, stemmed.
struct Stemmed<'a, T> {
    tokens: T,
    stems: &'a mut FxHashMap<Box<str>, Box<str>>,
}

impl TokenFilter for KnownStems {
    type Tokenizer<T: Tokenizer> = Stemming<T>;

    fn transform<T: Tokenizer>(self, tokens: T) -> Stemming<T> {
        Stemming {
            tokens,
            stems: FxHashMap::default(),
        }
    }
}

impl<T: Tokenizer> Tokenizer for Stemming<T> {
    type TokenStream<'a> = Stemmed<'a, T::TokenStream<'a>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        Stemmed {
            tokens: self.tokens.token_stream(text),
            stems: &mut self.stems,
        }
    }
}

impl<T: TokenStream> TokenStream for Stemmed<'_, T> {
    fn advance(&mut self) -> bool {
        if !self.tokens.advance() {
            return false;
        }
        let token = self.tokens.token_mut();
        if let Some(stem) = self.stems.get(token.text.as_str()) {
            token.text.clear();
            token.text.push_str(stem);
            return true;
        }
        let stem = Stemmer::Snowball.stem(&token.text);
        if self.stems.len() < KEPT_WORDS {
            let word = std::mem::take(&mut token.text);
            self.stems.insert(word.into(), stem.as_str().into());
        }
        token.text = stem;
        true
    }

    fn token(&self) -> &Token {
        self.tokens.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.tokens.token_mut()
    }
}

/// The terms of a text, in order, with repetitions.
pub fn terms(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut stream = analyzer.token_stream(text);
    stream.process(&mut |token| terms.push(token.text.clone()));
    terms
}

/// Words that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StopList {
    #[default]
    None,
    /// [`stop_words::SHORT`], 24 words.
    Short,
    /// [`stop_words::LUCENE`], 33 words.
    Lucene,
    /// [`stop_words::LONG`], Snowball's.
    Long,
}

impl StopList {
    const ALL: [(StopList, &str); 4] = [
        (StopList::None, "none"),
        (StopList::Short, "short"),
        (StopList::Lucene, "lucene"),
        (StopList::Long, "long"),
    ];

    /// The words.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            StopList::None => &[],
            StopList::Short => &stop_words::SHORT,
            StopList::Lucene => &stop_words::LUCENE,
            StopList::Long => &stop_words::LONG,
        }
    }
}

/// What takes the ending off a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stemmer {
    #[default]
    None,
    /// Harman's S stemmer (1991, "How effective is suffixing?"): plurals alone.
    Minimal,
    /// Porter (1980).
    Porter,
    /// Snowball's English, also called Porter 2.
    Snowball,
}

impl Stemmer {
    const ALL: [(Stemmer, &str); 4] = [
        (Stemmer::None, "none"),
        (Stemmer::Minimal, "minimal"),
        (Stemmer::Porter, "porter"),
        (Stemmer::Snowball, "snowball"),
    ];

    /// The stem of a word in lower case.
    fn stem(self, word: &str) -> String {
        let snowball = |algorithm| frostem::Stemmer::new(algorithm).stem(word).into_owned();
        match self {
            Stemmer::None => word.to_owned(),
            Stemmer::Minimal => without_plural(word),
            Stemmer::Porter => snowball(frostem::Algorithm::Porter),
            Stemmer::Snowball => snowball(frostem::Algorithm::English),
        }
    }
}

/// Harman's three rules, the first that fits.
fn without_plural(word: &str) -> String {
    let kept = |not: &[&str]| !not.iter().any(|ending| word.ends_with(ending));
    if let Some(stem) = word.strip_suffix("ies") {
        return match kept(&["eies", "aies"]) {
            true => format!("{stem}y"),
            false => word.to_owned(),
        };
    }
    if let Some(stem) = word.strip_suffix("es") {
        return match kept(&["aes", "ees", "oes"]) {
            true => format!("{stem}e"),
            false => word.to_owned(),
        };
    }
    match word.strip_suffix('s') {
        Some(stem) if kept(&["us", "ss"]) && word.len() > 1 => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// How a text collection's texts and the queries to it become terms: runs of letters and digits, in
/// lower case, those of the wanted lengths that are not stop words, stemmed, and sequences of them.
///
/// Its text form (`Display`, `FromStr`, serde) is "stop=lucene stem=porter length=1-40 shingles=1"; what is
/// not said is none, none, 1-40 and 1. It is stored with an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Analyzer {
    pub stop: StopList,
    pub stemmer: Stemmer,
    /// Letters and digits of the shortest word that is kept, before stemming.
    pub shortest: usize,
    /// Of the longest.
    pub longest: usize,
    /// Sequences of up to that many terms are terms too, their words parted by a blank: 1 for single
    /// words alone. Words that were left out leave no gap.
    pub shingles: usize,
}

impl Default for Analyzer {
    fn default() -> Self {
        Analyzer {
            stop: StopList::None,
            stemmer: Stemmer::None,
            shortest: 1,
            longest: MAX_TOKEN_BYTES,
            shingles: 1,
        }
    }
}

impl fmt::Display for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stop = StopList::ALL.iter().find(|(list, _)| *list == self.stop);
        let stem = Stemmer::ALL.iter().find(|(stem, _)| *stem == self.stemmer);
        let word = |found: Option<&'static str>| found.unwrap_or("none");
        write!(
            f,
            "stop={} stem={} length={}-{} shingles={}",
            word(stop.map(|(_, word)| *word)),
            word(stem.map(|(_, word)| *word)),
            self.shortest,
            self.longest,
            self.shingles
        )
    }
}

impl From<Analyzer> for String {
    fn from(analyzer: Analyzer) -> String {
        analyzer.to_string()
    }
}

impl TryFrom<String> for Analyzer {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl FromStr for Analyzer {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut analyzer = Analyzer::default();
        for part in text.split_whitespace() {
            let unknown = || format!("{part:?} is no part of an analyzer");
            let (key, value) = part.split_once('=').with_context(unknown)?;
            match key {
                "stop" => analyzer.stop = named(&StopList::ALL, value)?,
                "stem" => analyzer.stemmer = named(&Stemmer::ALL, value)?,
                "length" => {
                    let (low, high) = value.split_once('-').with_context(unknown)?;
                    analyzer.shortest = low.parse().with_context(unknown)?;
                    analyzer.longest = high.parse().with_context(unknown)?;
                }
                "shingles" => analyzer.shingles = value.parse().with_context(unknown)?,
                _ => bail!(unknown()),
            }
        }
        let lengths = analyzer.shortest..=analyzer.longest;
        ensure!(
            !lengths.is_empty() && analyzer.longest <= 1000,
            "an analyzer keeps words of at least 1 and at most 1000 letters, not of {}-{}",
            analyzer.shortest,
            analyzer.longest
        );
        ensure!(
            (1..=5).contains(&analyzer.shingles),
            "an analyzer's shingles are of 1 to 5 terms, not of {}",
            analyzer.shingles
        );
        Ok(analyzer)
    }
}

/// What has that name.
fn named<T: Copy>(all: &[(T, &str)], name: &str) -> Result<T> {
    all.iter()
        .find(|(_, word)| *word == name)
        .map(|(what, _)| *what)
        .with_context(|| {
            let known: Vec<_> = all.iter().map(|(_, word)| *word).collect();
            format!("there is no {name:?}: there are {}", known.join(", "))
        })
}

impl Analyzer {
    /// What reads texts by these rules.
    pub fn build(&self) -> TextAnalyzer {
        TextAnalyzer::from(Words {
            rules: self.clone(),
            known: FxHashMap::default(),
            token: Token::default(),
        })
    }

    /// What becomes of a word in lower case; none if it is left out.
    fn term(&self, word: &str) -> Option<Box<str>> {
        let kept = (self.shortest..=self.longest).contains(&word.chars().count())
            && !self.stop.words().contains(&word);
        kept.then(|| self.stemmer.stem(word).into_boxed_str())
            .filter(|stem| !stem.is_empty())
    }
}

/// The analyzer at work: its rules, and what they made of the words seen so far.
#[derive(Clone)]
struct Words {
    rules: Analyzer,
    known: FxHashMap<Box<str>, Option<Box<str>>>,
    token: Token,
}

/// The terms of one text.
struct Terms<'a> {
    words: &'a mut Words,
    text: &'a str,
    at: usize,
    word: String,
    /// The last terms, for shingles, and how many of them the next shingle has.
    last: VecDeque<String>,
    next_shingle: usize,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Terms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms<'a> {
        self.token.reset();
        Terms {
            words: self,
            text,
            at: 0,
            word: String::new(),
            last: VecDeque::new(),
            next_shingle: 0,
        }
    }
}

impl Terms<'_> {
    /// Makes the next word that is kept the token.
    fn next_term(&mut self) -> bool {
        while let Some((from, to)) = next_word(self.text, &mut self.at, &mut self.word) {
            let Words {
                rules,
                known,
                token,
            } = &mut *self.words;
            token.text.clear();
            match known.get(self.word.as_str()) {
                Some(Some(term)) => token.text.push_str(term),
                Some(None) => continue,
                None => {
                    let term = rules.term(&self.word);
                    if let Some(term) = &term {
                        token.text.push_str(term);
                    }
                    if known.len() < KEPT_WORDS {
                        known.insert(self.word.as_str().into(), term);
                    }
                    if token.text.is_empty() {
                        continue;
                    }
                }
            }
            token.position = token.position.wrapping_add(1);
            token.offset_from = from;
            token.offset_to = to;
            return true;
        }
        false
    }
}

/// Reads the next run of letters and digits from `at` on, in lower case, into `word`: where it begins and ends.
fn next_word(text: &str, at: &mut usize, word: &mut String) -> Option<(usize, usize)> {
    word.clear();
    let bytes = text.as_bytes();
    let beyond_ascii = |at: usize| text.get(at..).and_then(|rest| rest.chars().next());
    let from = loop {
        match bytes.get(*at)? {
            byte if byte.is_ascii_alphanumeric() => break *at,
            byte if byte.is_ascii() => *at += 1,
            _ => match beyond_ascii(*at)? {
                letter if letter.is_alphanumeric() => break *at,
                other => *at += other.len_utf8(),
            },
        }
    };
    loop {
        let rest = bytes.get(*at..).unwrap_or_default();
        let run = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric());
        let run = *at..*at + run.count();
        let lower = word.len();
        *at = run.end;
        word.push_str(text.get(run).unwrap_or_default());
        if let Some(added) = word.get_mut(lower..) {
            added.make_ascii_lowercase();
        }
        match bytes.get(*at) {
            Some(byte) if !byte.is_ascii() => {}
            _ => break,
        }
        match beyond_ascii(*at) {
            Some(letter) if letter.is_alphanumeric() => {
                word.extend(letter.to_lowercase());
                *at += letter.len_utf8();
            }
            _ => break,
        }
    }
    Some((from, *at))
}

/// The terms of many texts as numbers, in the order in which they were met first. A word that has been met
/// costs one look into a table.
pub struct Vocabulary {
    rules: Analyzer,
    /// Each word's term, or [`LEFT_OUT`]. Short words lie in the table itself: memory is looked into
    /// once for them, not twice.
    short_words: FxHashMap<[u64; 2], u32>,
    words: FxHashMap<Box<str>, u32>,
    terms: FxHashMap<Box<str>, u32>,
    word: String,
    /// For terms of several words.
    shingles: TextAnalyzer,
}

impl Vocabulary {
    pub fn new(rules: &Analyzer) -> Self {
        Vocabulary {
            rules: rules.clone(),
            short_words: FxHashMap::default(),
            words: FxHashMap::default(),
            terms: FxHashMap::default(),
            word: String::new(),
            shingles: rules.build(),
        }
    }

    /// How many terms there are so far.
    pub fn count(&self) -> usize {
        self.terms.len()
    }

    /// The terms, by number.
    pub fn into_terms(self) -> Vec<Box<str>> {
        let mut terms: Vec<(Box<str>, u32)> = self.terms.into_iter().collect();
        terms.sort_unstable_by_key(|(_, number)| *number);
        terms.into_iter().map(|(term, _)| term).collect()
    }

    /// Calls with each term of a text, in order: those that the analyzer's token stream has.
    pub fn each_term(&mut self, text: &str, mut each: impl FnMut(u32)) {
        let terms = &mut self.terms;
        let mut number = |term: &str| match terms.get(term) {
            Some(number) => *number,
            None => {
                let number = terms.len() as u32;
                terms.insert(term.into(), number);
                number
            }
        };
        if self.rules.shingles > 1 {
            let mut stream = self.shingles.token_stream(text);
            stream.process(&mut |token| each(number(&token.text)));
            return;
        }
        let mut at = 0;
        while next_word(text, &mut at, &mut self.word).is_some() {
            let short = short_key(&self.word);
            let known = match &short {
                Some(key) => self.short_words.get(key),
                None => self.words.get(self.word.as_str()),
            };
            let known = match known {
                Some(known) => *known,
                None => {
                    let term = self.rules.term(&self.word);
                    let known = term.map_or(LEFT_OUT, |term| number(&term));
                    match short {
                        Some(key) => self.short_words.insert(key, known),
                        None => self.words.insert(self.word.as_str().into(), known),
                    };
                    known
                }
            };
            if known != LEFT_OUT {
                each(known);
            }
        }
    }
}

/// The term of a word that has none.
const LEFT_OUT: u32 = u32::MAX;

/// A word of at most 15 bytes as numbers, its length in the last byte.
fn short_key(word: &str) -> Option<[u64; 2]> {
    let mut bytes = [0; 16];
    bytes
        .get_mut(..15)?
        .get_mut(..word.len())?
        .copy_from_slice(word.as_bytes());
    bytes[15] = word.len() as u8;
    let (halves, _) = bytes.as_chunks::<8>();
    Some([u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])])
}

impl TokenStream for Terms<'_> {
    fn advance(&mut self) -> bool {
        let most = self.words.rules.shingles;
        if most == 1 {
            return self.next_term();
        }
        if self.next_shingle > 1 && self.next_shingle <= self.last.len() {
            let from = self.last.len() - self.next_shingle;
            let text = &mut self.words.token.text;
            text.clear();
            for term in self.last.iter().skip(from) {
                if !text.is_empty() {
                    text.push(' ');
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
        self.last.push_back(self.words.token.text.clone());
        self.next_shingle = 2;
        true
    }

    fn token(&self) -> &Token {
        &self.words.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.words.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rules: &str, text: &str) -> Vec<String> {
        let analyzer: Analyzer = rules.parse().unwrap();
        terms(&mut analyzer.build(), text)
    }

    #[test]
    fn each_part_of_an_analyzer_does_its_work() {
        let text = "The STUDIES' generalizations aren't wrong, are they? Ünits";
        for (rules, expected) in [
            (
                "",
                "the studies generalizations aren t wrong are they ünits",
            ),
            ("length=2-10", "the studies aren wrong are they ünits"),
            (
                "stop=short",
                "studies generalizations aren t wrong they ünits",
            ),
            ("stop=lucene", "studies generalizations aren t wrong ünits"),
            ("stop=long", "studies generalizations wrong ünits"),
            ("stop=long stem=minimal", "study generalization wrong ünit"),
            ("stop=long stem=porter", "studi gener wrong ünit"),
            ("stop=long stem=snowball", "studi general wrong ünit"),
        ] {
            assert_eq!(read(rules, text).join(" "), expected, "{rules}");
        }
        // Porter (1980) and its revision part here; Harman's exceptions
        assert_eq!(read("stem=porter", "news fairly"), ["new", "fairli"]);
        assert_eq!(read("stem=snowball", "news fairly"), ["news", "fair"]);
        assert_eq!(
            read("stem=minimal", "goes trees corpus gas class queries s"),
            ["goes", "trees", "corpus", "ga", "class", "query", "s"]
        );
        assert!(read("", "?! …").is_empty());
    }

    #[test]
    fn shingles_are_sequences_of_what_is_kept() {
        assert_eq!(
            read("stop=short shingles=3", "a ban of the death penalty"),
            [
                "ban",
                "death",
                "ban death",
                "penalty",
                "death penalty",
                "ban death penalty"
            ]
        );
    }

    #[test]
    fn the_text_form_reads_back() {
        for text in [
            "stop=none stem=none length=1-40 shingles=1",
            "stop=long stem=minimal length=2-20 shingles=2",
        ] {
            let analyzer: Analyzer = text.parse().unwrap();
            assert_eq!(analyzer.to_string(), text);
        }
        assert_eq!(
            "stem=porter".parse::<Analyzer>().unwrap().stemmer,
            Stemmer::Porter
        );
        for (text, message) in [
            ("english", "no part of an analyzer"),
            ("stem=krovetz", "there are none, minimal, porter, snowball"),
            ("length=9-3", "not of 9-3"),
            ("shingles=0", "not of 0"),
        ] {
            let error = format!("{:#}", text.parse::<Analyzer>().unwrap_err());
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,200}", shingles in 1usize..4) {
            for stem in ["none", "minimal", "porter", "snowball"] {
                let rules = format!("stop=long stem={stem} shingles={shingles}");
                let terms = read(&rules, &text);
                proptest::prop_assert!(terms.iter().all(|term| !term.is_empty()));
                let mut vocabulary = Vocabulary::new(&rules.parse().unwrap());
                let mut numbers = Vec::new();
                vocabulary.each_term(&text, |term| numbers.push(term as usize));
                let known = vocabulary.into_terms();
                let named: Vec<&str> = numbers.iter().map(|n| &*known[*n]).collect();
                proptest::prop_assert_eq!(named, terms);
            }
        }
    }
}
