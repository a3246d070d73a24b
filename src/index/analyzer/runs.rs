//! Finds the words of a text: runs of letters and digits, or the words of Unicode's text segmentation.

use unicode_segmentation::UnicodeSegmentation;

use crate::index::letters::letters_of;
use crate::index::term_cache::Packed;

/// Like [`next_word`], but with the words of Unicode's text segmentation.
pub(super) fn next_standard_word(
    text: &str,
    position: &mut usize,
    word: &mut String,
) -> Option<(usize, usize)> {
    let rest = text.get(*position..)?;
    let (at, found) = rest.unicode_word_indices().next()?;
    let from = *position + at;
    *position = from + found.len();
    word.clear();
    if found.is_ascii() {
        // the general way below took 13% of the instructions of `index` on English texts
        word.push_str(found);
        word.make_ascii_lowercase();
    } else {
        word.extend(found.chars().flat_map(char::to_lowercase));
    }
    Some((from, *position))
}

/// Like [`next_word`], for a word of at most 15 ASCII letters or digits, which is packed; `None` if the next word is another one, or if the text ends soon.
#[inline(always)]
pub(super) fn next_short_word(text: &str, position: &mut usize) -> Option<(usize, usize, Packed)> {
    let bytes = text.as_bytes();
    while bytes
        .get(*position)
        .is_some_and(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric())
    {
        *position += 1;
    }
    let from = *position;
    let (next, _) = bytes.get(from..)?.split_first_chunk::<16>()?;
    let (others, lower) = letters_of(u128::from_le_bytes(*next));
    let length = others.trailing_zeros() / 8;
    // a letter outside ASCII follows, so the word goes on, or it is a long one
    if length == 0 || !next.get(length as usize)?.is_ascii() {
        return None;
    }
    let letters = lower & ((1 << (8 * length)) - 1);
    let word = letters | u128::from(length) << 120;
    *position += length as usize;
    Some((from, *position, [word as u64, (word >> 64) as u64]))
}

/// Reads the next run of letters and digits from byte `position` on into `word`, in lower case, and moves `position` to its end. Returns the
/// byte offsets of its start and end; none at the end of the text.
pub(super) fn next_word(
    text: &str,
    position: &mut usize,
    word: &mut String,
) -> Option<(usize, usize)> {
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
