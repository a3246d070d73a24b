//! Changes inputs at random: bits, bytes, blocks, numbers, words of the format, and parts of other inputs.

use seeded_random::Random;

/// The maximum length of most mutated inputs, in bytes. It is short, so that many inputs can be tried.
const USUAL_LENGTH: usize = 1 << 14;
/// One in this many inputs can be longer: only a long input shows that the time grows with the square of the length.
const LONG_ONE_IN: usize = 50;
/// The maximum length of the longer inputs, in bytes.
const GREATEST_LENGTH: usize = 1 << 18;

/// Numbers that often make programs fail. [`number`] writes one of them, or a neighbour, in a random width and byte order.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    7,
    16,
    127,
    128,
    255,
    256,
    32_767,
    65_535,
    100_000_001,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// A new input: one of `corpus`, with a few random changes. `words` are byte sequences that have a meaning in the format.
pub fn mutated(random: &mut Random, corpus: &[Vec<u8>], words: &[&[u8]]) -> Vec<u8> {
    let other = |random: &mut Random| {
        let at = random.below(corpus.len());
        corpus.get(at).map_or(&[][..], Vec::as_slice)
    };
    let mut bytes = other(random).to_vec();
    let longest = match random.below(LONG_ONE_IN) {
        0 => GREATEST_LENGTH,
        _ => USUAL_LENGTH.max(bytes.len()),
    };
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let run = block(random, bytes.len() - at);
        match random.below(11) {
            0 => at_most_one(&mut bytes, at, |byte| *byte ^= 1 << random.below(8)),
            1 => at_most_one(&mut bytes, at, |byte| *byte = random.next_u64() as u8),
            2 => overwrite(&mut bytes, at, &number(random)),
            3 => drop(bytes.drain(at..at + run)),
            4 => bytes.truncate(at),
            5 => insert(&mut bytes, at, &number(random)),
            6 | 7 if !words.is_empty() => {
                let word = words[random.below(words.len())];
                if random.percent(60) {
                    insert(&mut bytes, at, word);
                } else {
                    overwrite(&mut bytes, at, word);
                }
            }
            8 => {
                // doubling a few times reaches any length
                let part = bytes[at..at + run].to_vec();
                let most = longest.saturating_sub(bytes.len()) / part.len().max(1);
                let times = 1usize << random.below(most.max(1).ilog2() as usize + 1);
                insert(&mut bytes, at, &part.repeat(times.min(most)));
            }
            9 => {
                let from = other(random);
                let start = random.below(from.len() + 1);
                let length = block(random, from.len() - start);
                insert(&mut bytes, at, &from[start..start + length]);
            }
            _ => {
                let part = bytes[at..at + run].to_vec();
                let to = random.below(bytes.len() + 1);
                overwrite(&mut bytes, to, &part);
            }
        }
        bytes.truncate(longest);
    }
    bytes
}

/// The length of a block, at most `most` bytes. Most blocks are short.
fn block(random: &mut Random, most: usize) -> usize {
    let bound = 1usize << random.below(13);
    random.below(bound.min(most) + 1)
}

fn at_most_one(bytes: &mut [u8], at: usize, change: impl FnOnce(&mut u8)) {
    if let Some(byte) = bytes.get_mut(at) {
        change(byte);
    }
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    for (to, from) in bytes.iter_mut().skip(at).zip(with) {
        *to = *from;
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

/// One of [`NUMBERS`] or a neighbour, in decimal digits or as one, two, four or eight bytes.
fn number(random: &mut Random) -> Vec<u8> {
    let near = random
        .pick(&NUMBERS)
        .wrapping_add(random.pick(&[0, 0, 1, u64::MAX]));
    let width = 1usize << random.below(4);
    match random.below(4) {
        0 => near.to_string().into_bytes(),
        1 => format!("-{near}").into_bytes(),
        2 => near.to_le_bytes()[..width].to_vec(),
        _ => near.to_be_bytes()[8 - width..].to_vec(),
    }
}
