//! The terms of words that were read before, so that they need not be stemmed again.

use rustc_hash::FxHashMap;

/// The cache has two to the power of this number of places, of 32 bytes each. Each thread that builds an index has a cache.
const PLACES_LOG2: u32 = 17;

/// Maximum number of other words whose terms are cached.
const CACHED_LONG_WORDS: usize = 1 << 16;

/// A word in lower case. Nearly all words have at most 15 bytes.
#[derive(Clone)]
pub(super) enum Word {
    /// Packed into two numbers.
    Short([u64; 2]),
    Long(Box<str>),
}

/// A cache from words to their terms. The term of a word that is left out is empty.
///
/// Each short word has one place, and takes it from the word that was there before. So a look-up reads memory in one place, the words of a long text need
/// little memory, and only rare words are stemmed again.
#[derive(Clone, Default)]
pub(super) struct TermCache {
    /// Short words with their short terms; zeros where there is none.
    short: Vec<[u64; 4]>,
    /// All others.
    long: FxHashMap<Box<str>, Box<str>>,
}

impl TermCache {
    /// The packed term of a short word, if it is in the cache.
    #[inline(always)]
    pub fn find_short(&self, word: &Word) -> Option<[u64; 2]> {
        let Word::Short(word) = word else {
            return None;
        };
        match self.short.get(place(*word)) {
            Some([low, high, term @ ..]) if [*low, *high] == *word => Some(*term),
            _ => None,
        }
    }

    /// Appends the term of a word to `text`: from the cache, or else from `term_of`, and then it is cached.
    pub fn write_term(
        &mut self,
        word: &Word,
        text: &mut String,
        term_of: impl Fn(&str) -> Option<Box<str>>,
    ) {
        if let Some(term) = self.find_short(word) {
            return push(term, text);
        }
        let mut unpacked = String::new();
        let (short, word) = match word {
            Word::Short(short) => {
                push(*short, &mut unpacked);
                (Some(*short), unpacked.as_str())
            }
            Word::Long(word) => (None, &**word),
        };
        if let Some(term) = self.long.get(word) {
            return text.push_str(term);
        }
        let term = term_of(word).unwrap_or_default();
        text.push_str(&term);
        match short.zip(packed(&term)) {
            Some((word, term)) => self.put_short(word, term),
            None if self.long.len() < CACHED_LONG_WORDS => {
                self.long.insert(word.into(), term);
            }
            None => {}
        }
    }

    fn put_short(&mut self, word: [u64; 2], term: [u64; 2]) {
        if self.short.is_empty() {
            self.short = vec![[0; 4]; 1 << PLACES_LOG2];
        }
        if let Some(at) = self.short.get_mut(place(word)) {
            *at = [word[0], word[1], term[0], term[1]];
        }
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        packed(text).map_or_else(|| Word::Long(text.into()), Word::Short)
    }
}

/// The place of a word: the first bits of a product with odd numbers, which all bits of the word change.
#[inline(always)]
fn place([low, high]: [u64; 2]) -> usize {
    let mixed = low.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ high;
    (mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> (u64::BITS - PLACES_LOG2)) as usize
}

/// Appends a packed text.
#[inline(always)]
pub(super) fn push(packed: [u64; 2], text: &mut String) {
    let (bytes, length) = unpacked(packed);
    let unpacked = bytes.get(..length).unwrap_or_default();
    text.push_str(std::str::from_utf8(unpacked).unwrap_or_default());
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
