//! The features from which the tagger decides: a word, its form, its neighbours and the tags before it, each as a number.

use super::Tag;

/// Number of features of a word.
pub const FEATURES: usize = 27;

/// A feature: the hash of a template, which says what is looked at, and of the value that was seen.
pub type Feature = u32;

/// The hashes of the parts of a word. Letters are in lower case, all digits are the same, and so are all apostrophes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordForm {
    word: u32,
    /// The first one, two and three characters.
    prefixes: [u32; 3],
    /// The last one to four characters.
    suffixes: [u32; 4],
    /// Which characters are capitals, small letters, digits and others.
    shape: u32,
}

/// The form that stands for the places before the first and after the last word of a sentence.
const OUTSIDE: WordForm = WordForm {
    word: 1,
    prefixes: [1; 3],
    suffixes: [1; 4],
    shape: 1,
};

/// The tag before the first word.
const NO_TAG: u32 = u8::MAX as u32;

/// Maximum number of characters of a word that its shape shows.
const SHAPE: usize = 8;

const START: u32 = 0x811c_9dc5;

/// One step of FNV-1a over characters.
fn step(hash: u32, c: char) -> u32 {
    (hash ^ u32::from(c)).wrapping_mul(0x0100_0193)
}

impl WordForm {
    /// The form of a word or mark.
    pub fn of(word: &str) -> Self {
        let mut form = WordForm {
            word: START,
            ..WordForm::default()
        };
        let mut shape = START;
        let (mut shape_length, mut last, mut run) = (0, ' ', 0);
        let mut end = ['\0'; 4];
        let mut length = 0;
        for c in word.chars() {
            let kind = if c.is_uppercase() {
                'X'
            } else if c.is_alphabetic() {
                'x'
            } else if c.is_numeric() {
                '0'
            } else {
                plain(c)
            };
            run = if kind == last { run + 1 } else { 1 };
            last = kind;
            // a run of characters of one kind counts as at most two
            if run <= 2 && shape_length < SHAPE {
                shape = step(shape, kind);
                shape_length += 1;
            }
            let lower = if kind == '0' { '0' } else { lower(plain(c)) };
            form.word = step(form.word, lower);
            if let Some(prefix) = form.prefixes.get_mut(length) {
                *prefix = form.word;
            }
            end.rotate_left(1);
            end[3] = lower;
            length += 1;
        }
        form.shape = shape;
        let mut suffix = START;
        for (at, c) in end.iter().rev().enumerate().take(length) {
            suffix = step(suffix, *c);
            form.suffixes[at] = suffix;
        }
        form
    }

    /// The key of the word in the dictionary of words with one tag: capitals matter.
    pub fn key(&self) -> Feature {
        mix(200, self.word, self.shape)
    }
}

fn plain(c: char) -> char {
    match c {
        '’' | '‘' | '`' => '\'',
        '“' | '”' => '"',
        '–' | '—' | '\u{2010}' | '\u{2011}' => '-',
        c => c,
    }
}

/// The first character of the lower case; nearly always there is only one.
fn lower(c: char) -> char {
    if c.is_ascii() {
        c.to_ascii_lowercase()
    } else {
        c.to_lowercase().next().unwrap_or(c)
    }
}

/// The finaliser of MurmurHash3 over a template and two values.
fn mix(template: u32, a: u32, b: u32) -> Feature {
    let mut hash = template
        .wrapping_mul(0x9e37_79b9)
        .wrapping_add(a)
        .wrapping_mul(0xcc9e_2d51)
        .rotate_left(15)
        .wrapping_add(b)
        .wrapping_mul(0x1b87_3593);
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

/// The features of a word by itself, which do not depend on its neighbours. [`features`] gives the same ones.
pub(super) fn own_features(word: &WordForm) -> impl Iterator<Item = Feature> {
    let parts = [word.word]
        .into_iter()
        .chain(word.suffixes)
        .chain(word.prefixes);
    parts
        .zip(1..)
        .map(|(part, template)| mix(template, part, 0))
}

/// The features of the word at `at` in a sentence.
///
/// `before` has the tags of the word before it and of the one before that.
pub fn features(sentence: &[WordForm], at: usize, before: [Option<Tag>; 2]) -> [Feature; FEATURES] {
    let form = |offset: isize| {
        at.checked_add_signed(offset)
            .and_then(|at| sentence.get(at))
            .unwrap_or(&OUTSIDE)
    };
    let [last, second_last] = before.map(|tag| tag.map_or(NO_TAG, |tag| u32::from(tag.0)));
    let word = form(0);
    let (left, right) = (form(-1), form(1));
    let is_first = u32::from(at == 0);
    let both = last << 8 | second_last;
    let values = [
        (0, 0),
        (word.word, 0),
        (word.suffixes[0], 0),
        (word.suffixes[1], 0),
        (word.suffixes[2], 0),
        (word.suffixes[3], 0),
        (word.prefixes[0], 0),
        (word.prefixes[1], 0),
        (word.prefixes[2], 0),
        (word.shape, is_first),
        (word.shape, word.suffixes[1]),
        (last, 0),
        (both, 0),
        (both, word.word),
        (last, word.word),
        (last, word.suffixes[2]),
        (left.word, 0),
        (left.suffixes[2], last),
        (form(-2).word, 0),
        (right.word, 0),
        (right.suffixes[2], 0),
        (right.suffixes[1], last),
        (right.shape, word.suffixes[1]),
        (form(2).word, 0),
        (left.word, word.word),
        (word.word, right.word),
        (left.word, right.word),
    ];
    let mut features = [0; FEATURES];
    for ((feature, (a, b)), template) in features.iter_mut().zip(values).zip(0..) {
        *feature = mix(template, a, b);
    }
    features
}
