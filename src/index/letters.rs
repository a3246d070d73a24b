//! Finds ASCII letters and digits, sixteen bytes at a time.

use std::hash::Hasher;

use twox_hash::XxHash64;

const ONES: u128 = u128::MAX / 255;
/// The highest bit of each byte.
const HIGH: u128 = ONES << 7;

/// Of sixteen bytes, which ones are not ASCII letters or digits (the highest bit of each of these is set), and all of them in lower case.
#[inline(always)]
pub(super) fn letters_of(bytes: u128) -> (u128, u128) {
    let low = bytes & !HIGH;
    // the highest bit of each byte says whether the other bits are in the range
    let within = |from: u8, to: u8| {
        let (least, above) = (u128::from(128 - from), u128::from(127 - to));
        (low + ONES * least) & !(low + ONES * above) & !bytes & HIGH
    };
    let upper = within(b'A', b'Z');
    let known = upper | within(b'a', b'z') | within(b'0', b'9');
    (known ^ HIGH, bytes | upper >> 2)
}

/// A hash of a text's letters and digits that ignores case, spaces and punctuation; `None` for a text without letters and digits. All characters
/// outside ASCII count as letters, and keep their case.
pub(crate) fn hash_of_words(text: &str) -> Option<u64> {
    // unlike the hasher of a HashMap, this one has no random keys, and is the same in all versions
    let mut hash = XxHash64::default();
    let mut some = false;
    let mut buffer = [0; 256];
    let mut filled = 0;
    for bytes in text.as_bytes().chunks(16) {
        let mut next = [b' '; 16];
        if let Some(next) = next.get_mut(..bytes.len()) {
            next.copy_from_slice(bytes);
        }
        let next = u128::from_le_bytes(next);
        let (others, mut rest) = letters_of(next);
        let mut others = others & !next;
        let mut left = 16;
        // one run of letters after the other; what follows the run is overwritten by the next one
        while left > 0 {
            let run = (others.trailing_zeros() as usize / 8).min(left);
            if let Some(to) = buffer.get_mut(filled..filled + 16) {
                to.copy_from_slice(&rest.to_le_bytes());
            }
            filled += run;
            let passed = 8 * (run as u32 + 1);
            rest = rest.checked_shr(passed).unwrap_or_default();
            others = others.checked_shr(passed).unwrap_or_default();
            left = left.saturating_sub(run + 1);
        }
        if filled > buffer.len() - 32 {
            some = true;
            hash.write(buffer.get(..filled).unwrap_or_default());
            filled = 0;
        }
    }
    some |= filled > 0;
    hash.write(buffer.get(..filled).unwrap_or_default());
    some.then(|| hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_hash_is_that_of_the_letters_and_digits(text in "([a-zA-Z0-9]{1,40}|[ -~]{0,20}|[äßÉİ日 -]|\\PC)*") {
            let kept = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
            let letters: Vec<u8> = text.bytes().filter(kept).map(|byte| byte.to_ascii_lowercase()).collect();
            let mut hash = XxHash64::default();
            hash.write(&letters);
            let expected = (!letters.is_empty()).then(|| hash.finish());
            proptest::prop_assert_eq!(hash_of_words(&text), expected);
        }
    }
}
