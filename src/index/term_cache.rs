//! The terms of frequent words, so that they need not be stemmed again.

use rustc_hash::FxHashMap;

/// Maximum number of words whose terms are cached. A cache saves time because stemming is slow and most words of a text are frequent ones. The
/// limit bounds the memory of each thread that builds an index.
const CACHED_WORDS: usize = 1 << 18;

/// A cache from words to their terms. The term of a word that is left out is empty.
///
/// Nearly all words and terms have at most 15 bytes. They are stored in the table itself, so that a look-up reads memory in one place
/// instead of three.
#[derive(Clone, Default)]
pub(super) struct TermCache {
    short: FxHashMap<[u64; 2], [u64; 2]>,
    long: FxHashMap<Box<str>, Box<str>>,
}

impl TermCache {
    /// Appends the term of a word to `text`. Returns false if the word is not in the cache.
    pub fn look_up(&self, word: &str, text: &mut String) -> bool {
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
    pub fn insert(&mut self, word: &str, term: &str) {
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
