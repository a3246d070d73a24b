//! The terms of words that were read before, so that they need not be stemmed again.

use rustc_hash::FxHashMap;

/// A cache has at most two to the power of this number of places, of 64 bytes each. Each thread that builds an index has a cache.
const PLACES_LOG2: u32 = 17;

/// A cache begins with two to the power of this number of places, because most caches serve one question or one text.
const FIRST_PLACES_LOG2: u32 = 6;

/// A cache grows when it has taken as many words as it has places: there are then two to the power of this number times as many places.
const GROWTH_LOG2: u32 = 3;

/// Maximum number of other words whose terms are cached.
const CACHED_LONG_WORDS: usize = 1 << 16;

/// A text of at most 15 bytes, packed into two numbers: its bytes, and its length in the last byte.
pub(super) type Packed = [u64; 2];

/// A word in lower case, or a term. Nearly all of them have at most 15 bytes.
#[derive(Clone)]
pub(super) enum CachedWord {
    Short(Packed),
    Long(Box<str>),
}

/// Two short words with their short terms, which share a line of the processor's cache; zeros where there is none. The word that came last is the
/// first of them.
#[derive(Clone, Default)]
#[repr(align(64))]
struct Place([(Packed, Packed); 2]);

/// A cache from words to their terms.
///
/// Each short word has one place, which has room for two words; a new word replaces the older of them. So a look-up reads memory in one place, the words
/// of a long text need little memory, and only rare words are stemmed again.
#[derive(Clone, Default)]
pub(super) struct TermCache {
    short: Vec<Place>,
    /// The number of words that were put into `short`.
    put: usize,
    /// All others.
    long: FxHashMap<Box<str>, Box<str>>,
}

impl TermCache {
    /// The packed term of a short word, if it is in the cache.
    #[inline(always)]
    pub fn find_short(&self, word: &CachedWord) -> Option<Packed> {
        let CachedWord::Short(word) = word else {
            return None;
        };
        let Place([first, second]) = self.short.get(place(*word, self.short.len()))?;
        let known = if first.0 == *word { first } else { second };
        (known.0 == *word).then_some(known.1)
    }

    /// The term of a word, empty if the word is left out: from the cache, or else from `term_of`, and then it is cached.
    pub fn term(
        &mut self,
        word: &CachedWord,
        term_of: impl Fn(&str) -> Option<Box<str>>,
    ) -> CachedWord {
        if let Some(term) = self.find_short(word) {
            return CachedWord::Short(term);
        }
        let mut unpacked = String::new();
        let (short, word) = match word {
            CachedWord::Short(short) => {
                push(*short, &mut unpacked);
                (Some(*short), unpacked.as_str())
            }
            CachedWord::Long(word) => (None, &**word),
        };
        if let Some(term) = self.long.get(word) {
            return CachedWord::from(&**term);
        }
        let term = term_of(word).unwrap_or_default();
        let packed = CachedWord::from(&*term);
        match (short, &packed) {
            (Some(word), CachedWord::Short(term)) => self.put_short(word, *term),
            _ if self.long.len() < CACHED_LONG_WORDS => {
                self.long.insert(word.into(), term);
            }
            _ => {}
        }
        packed
    }

    fn put_short(&mut self, word: Packed, term: Packed) {
        if self.put >= self.short.len() && self.short.len() < 1 << PLACES_LOG2 {
            self.grow();
        }
        self.put += 1;
        self.insert(word, term);
    }

    fn insert(&mut self, word: Packed, term: Packed) {
        let at = place(word, self.short.len());
        if let Some(Place([first, second])) = self.short.get_mut(at) {
            *second = std::mem::replace(first, (word, term));
        }
    }

    fn grow(&mut self) {
        let places = self.short.len() << GROWTH_LOG2;
        let places = places.clamp(1 << FIRST_PLACES_LOG2, 1 << PLACES_LOG2);
        let before = std::mem::replace(&mut self.short, vec![Place::default(); places]);
        for Place([first, second]) in before {
            for (word, term) in [second, first] {
                if word != Packed::default() {
                    self.insert(word, term);
                }
            }
        }
    }
}

impl CachedWord {
    /// Appends the word and a space, or nothing if the word is empty. Returns whether it is not empty.
    #[inline(always)]
    pub fn append(&self, text: &mut Vec<u8>) -> bool {
        match self {
            CachedWord::Short(packed) => {
                // copying sixteen bytes and cutting off the rest takes less time than copying a number of bytes that differs from word to word
                let (mut bytes, length) = unpacked(*packed);
                bytes[length] = b' ';
                let end = text.len() + length + usize::from(length > 0);
                text.extend_from_slice(&bytes);
                text.truncate(end);
                length > 0
            }
            CachedWord::Long(word) => {
                text.extend_from_slice(word.as_bytes());
                text.push(b' ');
                true
            }
        }
    }
}

impl From<&str> for CachedWord {
    fn from(text: &str) -> Self {
        packed(text).map_or_else(|| CachedWord::Long(text.into()), CachedWord::Short)
    }
}

/// The place of a word among this number of places: the first bits of a product with odd numbers, which all bits of the word change.
#[inline(always)]
fn place([low, high]: Packed, places: usize) -> usize {
    let mixed = low.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ high;
    let mixed = mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    ((u128::from(mixed) * places as u128) >> u64::BITS) as usize
}

/// Appends a packed text.
#[inline(always)]
pub(super) fn push(packed: Packed, text: &mut String) {
    let (bytes, length) = unpacked(packed);
    let unpacked = bytes.get(..length).unwrap_or_default();
    text.push_str(std::str::from_utf8(unpacked).unwrap_or_default());
}

/// A packed text. None for a longer text.
fn packed(text: &str) -> Option<Packed> {
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
#[inline(always)]
fn unpacked([low, high]: Packed) -> ([u8; 16], usize) {
    let mut bytes = [0; 16];
    let (halves, _) = bytes.as_chunks_mut::<8>();
    halves[0] = low.to_le_bytes();
    halves[1] = high.to_le_bytes();
    (bytes, usize::from(bytes[15]).min(15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stay_the_same_while_the_table_grows_to_its_bound() {
        let mut cache = TermCache::default();
        let mut sizes = vec![0];
        let numbers = (0..200_000_u32).chain(0..200_000);
        for number in numbers {
            let term = cache.term(&CachedWord::from(&*format!("w{number}")), |word| {
                Some(word.replacen('w', "t", 1).into_boxed_str())
            });
            let mut unpacked = Vec::new();
            assert!(term.append(&mut unpacked));
            assert_eq!(unpacked, format!("t{number} ").as_bytes());
            if sizes.last() != Some(&cache.short.len()) {
                sizes.push(cache.short.len());
            }
        }
        assert_eq!(sizes, [0, 1 << 6, 1 << 9, 1 << 12, 1 << 15, 1 << 17]);
        // the word that came last is found without another look at the rules
        let last = CachedWord::from("w199999");
        assert!(cache.find_short(&last).is_some());
    }

    #[test]
    fn what_was_cached_before_a_table_grew_is_found_afterwards() {
        let mut cache = TermCache::default();
        let words: Vec<CachedWord> = (0..40)
            .map(|n| CachedWord::from(&*format!("w{n}")))
            .collect();
        for word in &words {
            cache.term(word, |word| Some(word.into()));
        }
        let found_in = |cache: &TermCache| {
            words
                .iter()
                .filter(|w| cache.find_short(w).is_some())
                .count()
        };
        let before = found_in(&cache);
        cache.grow();
        assert!(before > 30);
        assert_eq!(found_in(&cache), before);
    }
}
