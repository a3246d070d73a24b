//! From text to terms: documents, queries, highlighting and proximity all use the terms of one [`Analyzer`].

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tantivy::tokenizer::{
    AsciiFoldingFilter, RawTokenizer, TextAnalyzer, Token, TokenStream, Tokenizer,
};

use super::stop_words;

/// The default maximum length of a word in characters. Longer runs of letters and digits are not words but data URLs, hashes and the like.
const DEFAULT_LONGEST: usize = 40;

/// Maximum number of words whose terms are cached. The cache pays because stemming is slow and most words of a text are frequent ones. It
/// takes up to about 30 MB for each thread that builds an index.
const CACHED_WORDS: usize = 1 << 18;

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

/// Replaces the content of `joined` by the terms of a text, separated by spaces, which is the form that the index takes. Returns the number
/// of terms.
pub(crate) fn write_terms(analyzer: &mut TextAnalyzer, text: &str, joined: &mut String) -> u32 {
    joined.clear();
    let mut count = 0;
    let mut stream = analyzer.token_stream(text);
    stream.process(&mut |token| {
        if count > 0 {
            joined.push(' ');
        }
        joined.push_str(&token.text);
        count += 1;
    });
    count
}

/// A list of words that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StopList {
    #[default]
    None,
    /// [`stop_words::SHORT`], 24 words.
    Short,
    /// [`stop_words::LUCENE`], 33 words.
    Lucene,
    /// [`stop_words::LONG`], the list of Snowball.
    Long,
}

impl StopList {
    const ALL: [(StopList, &str); 4] = [
        (StopList::None, "none"),
        (StopList::Short, "short"),
        (StopList::Lucene, "lucene"),
        (StopList::Long, "long"),
    ];

    /// The words of the list, in lower case.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            StopList::None => &[],
            StopList::Short => &stop_words::SHORT,
            StopList::Lucene => &stop_words::LUCENE,
            StopList::Long => &stop_words::LONG,
        }
    }
}

/// An algorithm that reduces words to stems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stemmer {
    #[default]
    None,
    /// Harman's S stemmer (1991, "How effective is suffixing?"), which only removes plural endings.
    Minimal,
    /// Porter's stemmer (1980).
    Porter,
    /// The English stemmer of Snowball, also called Porter 2.
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

/// The S stemmer: of Harman's three rules, the first whose ending the word has.
fn without_plural(word: &str) -> String {
    let has_none = |endings: &[&str]| !endings.iter().any(|ending| word.ends_with(ending));
    if let Some(stem) = word.strip_suffix("ies") {
        return if has_none(&["eies", "aies"]) {
            format!("{stem}y")
        } else {
            word.to_owned()
        };
    }
    if let Some(stem) = word.strip_suffix("es") {
        return if has_none(&["aes", "ees", "oes"]) {
            format!("{stem}e")
        } else {
            word.to_owned()
        };
    }
    match word.strip_suffix('s') {
        Some(stem) if has_none(&["us", "ss"]) && word.len() > 1 => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// How the texts of a collection, and the queries, are turned into terms.
///
/// Words are runs of letters and digits in lower case. Words of other lengths than wanted and stop words are left out, the others are
/// stemmed, and sequences of them (shingles) may be terms too.
///
/// The text form (`Display`, `FromStr`, serde) is "stop=lucene stem=porter length=1-40 shingles=1 fold=ascii". A missing part has its
/// default: none, none, 1-40, 1 and none. The text form is stored with an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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
    /// Whether letters lose their accents ("café" becomes "cafe"). This is done before stop words are looked for.
    pub fold: bool,
}

impl Default for Analyzer {
    fn default() -> Self {
        Analyzer {
            stop: StopList::None,
            stemmer: Stemmer::None,
            shortest: 1,
            longest: DEFAULT_LONGEST,
            shingles: 1,
            fold: false,
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
        )?;
        if self.fold {
            f.write_str(" fold=ascii")?;
        }
        Ok(())
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
                "fold" => analyzer.fold = named(&[(false, "none"), (true, "ascii")], value)?,
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

/// The value with that name.
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
    /// The tokenizer that applies these rules. It caches terms, so that it should be used for many texts.
    pub fn build(&self) -> TextAnalyzer {
        TextAnalyzer::from(WordTokenizer {
            rules: self.clone(),
            cache: TermCache::default(),
            token: Token::default(),
        })
    }

    /// The term of a word in lower case; none if the word is left out.
    fn term(&self, word: &str) -> Option<Box<str>> {
        if !(self.shortest..=self.longest).contains(&word.chars().count()) {
            return None;
        }
        let folded = (self.fold && !word.is_ascii()).then(|| without_accents(word));
        let word = folded.as_deref().unwrap_or(word);
        let kept = !self.stop.words().contains(&word);
        kept.then(|| self.stemmer.stem(word).into_boxed_str())
            .filter(|stem| !stem.is_empty())
    }
}

/// The word with its letters replaced by those of ASCII, as far as Lucene's table (`ASCIIFoldingFilter`) has them.
fn without_accents(word: &str) -> String {
    let filter = TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter);
    terms(&mut filter.build(), word).concat()
}

/// The tokenizer: the rules and the cache of terms.
#[derive(Clone)]
struct WordTokenizer {
    rules: Analyzer,
    cache: TermCache,
    token: Token,
}

/// A cache from words to their terms. The term of a word that is left out is empty.
///
/// Nearly all words and terms have at most 15 bytes. They are stored in the table itself, so that a look-up reads memory in one place
/// instead of three.
#[derive(Clone, Default)]
struct TermCache {
    short: FxHashMap<[u64; 2], [u64; 2]>,
    long: FxHashMap<Box<str>, Box<str>>,
}

impl TermCache {
    /// Appends the term of a word to `text`. Returns false if the word is not in the cache.
    fn look_up(&self, word: &str, text: &mut String) -> bool {
        let short = packed(word).and_then(|word| self.short.get(&word));
        if let Some(term) = short {
            let (bytes, length) = unpacked(*term);
            text.push_str(std::str::from_utf8(&bytes[..length]).unwrap_or_default());
            return true;
        }
        match self.long.get(word) {
            Some(term) => text.push_str(term),
            None => return false,
        }
        true
    }

    /// Adds a word and its term, unless the cache is full.
    fn insert(&mut self, word: &str, term: &str) {
        if self.short.len() + self.long.len() >= CACHED_WORDS {
            return;
        }
        match (packed(word), packed(term)) {
            (Some(word), Some(term)) => {
                self.short.insert(word, term);
            }
            _ => {
                self.long.insert(word.into(), term.into());
            }
        }
    }
}

/// A text of at most 15 bytes, packed into two numbers with its length in the last byte. None for a longer text.
fn packed(text: &str) -> Option<[u64; 2]> {
    let mut bytes = [0; 16];
    bytes
        .get_mut(..15)?
        .get_mut(..text.len())?
        .copy_from_slice(text.as_bytes());
    bytes[15] = text.len() as u8;
    let (halves, _) = bytes.as_chunks::<8>();
    Some([u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])])
}

/// The inverse of [`packed`]: the bytes and their number.
fn unpacked([low, high]: [u64; 2]) -> ([u8; 16], usize) {
    let mut bytes = [0; 16];
    let (halves, _) = bytes.as_chunks_mut::<8>();
    halves[0] = low.to_le_bytes();
    halves[1] = high.to_le_bytes();
    (bytes, usize::from(bytes[15]).min(15))
}

/// The stream of the terms of one text.
struct TermStream<'a> {
    tokenizer: &'a mut WordTokenizer,
    text: &'a str,
    /// Byte offset of what is not read yet.
    position: usize,
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
        TermStream {
            tokenizer: self,
            text,
            position: 0,
            word: String::new(),
            last: VecDeque::new(),
            next_shingle: 0,
        }
    }
}

impl TermStream<'_> {
    /// Makes the term of the next word that is kept the current token. Returns false at the end of the text.
    fn next_term(&mut self) -> bool {
        while let Some((from, to)) = next_word(self.text, &mut self.position, &mut self.word) {
            let WordTokenizer {
                rules,
                cache,
                token,
            } = &mut *self.tokenizer;
            token.text.clear();
            if !cache.look_up(&self.word, &mut token.text) {
                let term = rules.term(&self.word).unwrap_or_default();
                cache.insert(&self.word, &term);
                token.text.push_str(&term);
            }
            if token.text.is_empty() {
                continue;
            }
            token.position = token.position.wrapping_add(1);
            token.offset_from = from;
            token.offset_to = to;
            return true;
        }
        false
    }
}

/// Reads the next run of letters and digits from byte `position` on into `word`, in lower case, and moves `position` behind it. Returns the
/// byte offsets of its start and end; none at the end of the text.
fn next_word(text: &str, position: &mut usize, word: &mut String) -> Option<(usize, usize)> {
    word.clear();
    let bytes = text.as_bytes();
    let beyond_ascii = |offset: usize| text.get(offset..).and_then(|rest| rest.chars().next());
    let from = loop {
        match bytes.get(*position)? {
            byte if byte.is_ascii_alphanumeric() => break *position,
            byte if byte.is_ascii() => *position += 1,
            _ => match beyond_ascii(*position)? {
                letter if letter.is_alphanumeric() => break *position,
                other => *position += other.len_utf8(),
            },
        }
    };
    loop {
        let rest = bytes.get(*position..).unwrap_or_default();
        let run = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric());
        let run = *position..*position + run.count();
        let lower = word.len();
        *position = run.end;
        word.push_str(text.get(run).unwrap_or_default());
        if let Some(added) = word.get_mut(lower..) {
            added.make_ascii_lowercase();
        }
        match bytes.get(*position) {
            Some(byte) if !byte.is_ascii() => {}
            _ => break,
        }
        match beyond_ascii(*position) {
            Some(letter) if letter.is_alphanumeric() => {
                word.extend(letter.to_lowercase());
                *position += letter.len_utf8();
            }
            _ => break,
        }
    }
    Some((from, *position))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rules: &str, text: &str) -> Vec<String> {
        let analyzer: Analyzer = rules.parse().unwrap();
        terms(&mut analyzer.build(), text)
    }

    #[test]
    fn each_part_of_an_analyzer_is_applied() {
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
        assert_eq!(
            read("fold=ascii stem=snowball", "Über Cafés"),
            ["uber", "cafe"]
        );
        // Porter's stemmer and its revision differ here
        assert_eq!(read("stem=porter", "news fairly"), ["new", "fairli"]);
        assert_eq!(read("stem=snowball", "news fairly"), ["news", "fair"]);
        assert_eq!(
            read("stem=minimal", "goes trees corpus gas class queries s"),
            ["goes", "trees", "corpus", "ga", "class", "query", "s"]
        );
        assert!(read("", "?! …").is_empty());
    }

    #[test]
    fn shingles_are_sequences_of_kept_words() {
        assert_eq!(
            read("stop=short shingles=3", "a ban of the death penalty"),
            [
                "ban",
                "death",
                "ban_death",
                "penalty",
                "death_penalty",
                "ban_death_penalty"
            ]
        );
    }

    #[test]
    fn the_text_form_reads_back() {
        for text in [
            "stop=none stem=none length=1-40 shingles=1",
            "stop=long stem=minimal length=2-20 shingles=2",
            "stop=lucene stem=snowball length=1-40 shingles=1 fold=ascii",
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
        fn any_text_has_terms_that_the_index_can_split(text in "\\PC{0,200}", shingles in 1usize..4) {
            for stem in ["none", "minimal", "porter", "snowball"] {
                let rules = format!("stop=long stem={stem} shingles={shingles}");
                let terms = read(&rules, &text);
                proptest::prop_assert!(terms.iter().all(|term| !term.is_empty()));
                // splitting at white space, as the index does, gives the same terms
                let mut joined = String::new();
                let mut analyzer = rules.parse::<Analyzer>().unwrap().build();
                let count = write_terms(&mut analyzer, &text, &mut joined);
                let split: Vec<&str> = joined.split_ascii_whitespace().collect();
                proptest::prop_assert_eq!(count as usize, terms.len());
                proptest::prop_assert_eq!(split, terms);
            }
        }
    }
}
