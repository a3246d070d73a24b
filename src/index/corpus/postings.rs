//! A term's postings in bytes: which documents have it and how often, in blocks that can be passed over.
//!
//! First a head for each block (its last document, where its data end, its corners), then the blocks' data: 128
//! documents' distances and frequencies packed to as many bits as the largest needs; fewer, in the last block, as
//! variable-length numbers.

use bitpacking::{BitPacker, BitPacker4x};

/// Documents in a block.
pub const BLOCK: usize = BitPacker4x::BLOCK_LEN;

/// Corners kept of a block: more bound its scores closer and take more room.
const CORNERS: usize = 4;

/// Last document, end of the data, and the corners, each of two 16-bit numbers.
const HEAD_BYTES: usize = 8 + 4 * CORNERS;

/// A frequency and a length such that some of a block's postings have no larger and no smaller ones: a score that
/// grows with the frequency and falls with the length is at most that of one of its block's corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corner {
    pub tf: u32,
    pub length: u32,
}

/// What is known of a block without its data.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub corners: [Corner; CORNERS],
    /// Where its data lie.
    from: usize,
    to: usize,
}

/// The postings of one term, as they are stored.
#[derive(Clone, Copy, Debug)]
pub struct Postings<'a> {
    heads: &'a [[u8; HEAD_BYTES]],
    data: &'a [u8],
    df: usize,
}

/// A block read: documents, ascending, and how often each has the term.
#[derive(Clone, Debug)]
pub struct Block {
    documents: [u32; BLOCK],
    frequencies: [u32; BLOCK],
    count: usize,
}

impl Default for Block {
    fn default() -> Self {
        Block {
            documents: [0; BLOCK],
            frequencies: [0; BLOCK],
            count: 0,
        }
    }
}

impl Block {
    pub fn documents(&self) -> &[u32] {
        self.documents.get(..self.count).unwrap_or_default()
    }

    pub fn frequencies(&self) -> &[u32] {
        self.frequencies.get(..self.count).unwrap_or_default()
    }
}

impl<'a> Postings<'a> {
    /// The postings of `df` documents in these bytes; none if they are too few.
    pub fn new(bytes: &'a [u8], df: u32) -> Option<Self> {
        let df = df as usize;
        let (heads, data) = bytes.split_at_checked(df.div_ceil(BLOCK) * HEAD_BYTES)?;
        let (heads, _) = heads.as_chunks();
        Some(Postings { heads, data, df })
    }

    /// How many documents have the term.
    pub fn df(&self) -> usize {
        self.df
    }

    pub fn blocks(&self) -> usize {
        self.heads.len()
    }

    /// The last document of a block.
    pub fn last(&self, block: usize) -> Option<u32> {
        self.heads.get(block).map(|head| number(head, 0))
    }

    pub fn head(&self, block: usize) -> Option<Head> {
        let head = self.heads.get(block)?;
        let from = match block.checked_sub(1) {
            Some(before) => number(self.heads.get(before)?, 4) as usize,
            None => 0,
        };
        Some(Head {
            corners: std::array::from_fn(|at| Corner {
                tf: match short(head, 8 + 4 * at) {
                    u16::MAX => u32::MAX,
                    tf => u32::from(tf),
                },
                length: u32::from(short(head, 10 + 4 * at)),
            }),
            from,
            to: number(head, 4) as usize,
        })
    }

    /// Reads a block. One that is not there, or broken, is empty.
    pub fn read(&self, at: usize, block: &mut Block) {
        block.count = self.read_into(at, block).unwrap_or(0);
    }

    fn read_into(&self, at: usize, block: &mut Block) -> Option<usize> {
        let head = self.head(at)?;
        let data = self.data.get(head.from..head.to)?;
        let before = at.checked_sub(1).and_then(|before| self.last(before));
        if (at + 1) * BLOCK <= self.df {
            let (bits, packed) = data.split_at_checked(2)?;
            let size = |bits: u8| (bits <= 32).then(|| BitPacker4x::compressed_block_size(bits));
            let (bits, tf_bits) = (*bits.first()?, *bits.get(1)?);
            let (documents, frequencies) = packed.split_at_checked(size(bits)?)?;
            if frequencies.len() < size(tf_bits)? {
                return None;
            }
            let packer = BitPacker4x::new();
            packer.decompress_strictly_sorted(before, documents, &mut block.documents, bits);
            packer.decompress(frequencies, &mut block.frequencies, tf_bits);
            for tf in &mut block.frequencies {
                *tf = tf.wrapping_add(1);
            }
            return Some(BLOCK);
        }
        let count = self.df % BLOCK;
        let mut rest = data;
        let mut next = before.map_or(0, |last| last.wrapping_add(1));
        for document in block.documents.iter_mut().take(count) {
            *document = next.wrapping_add(take_number(&mut rest)?);
            next = document.wrapping_add(1);
        }
        for tf in block.frequencies.iter_mut().take(count) {
            *tf = take_number(&mut rest)?.wrapping_add(1);
        }
        Some(count)
    }

    /// Calls with documents and frequencies, a block at a time.
    pub fn each_block(&self, mut each: impl FnMut(&[u32], &[u32])) {
        let mut block = Block::default();
        for at in 0..self.blocks() {
            self.read(at, &mut block);
            each(block.documents(), block.frequencies());
        }
    }
}

/// Postings being read from the beginning to the end, as far as they are asked for.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    postings: Postings<'a>,
    /// The block that was read, and how far in it.
    at: Option<usize>,
    block: Block,
    place: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(postings: Postings<'a>) -> Self {
        Cursor {
            postings,
            at: None,
            block: Block::default(),
            place: 0,
        }
    }

    /// How often the term is in the document, 0 if it is not there. Documents are asked for in ascending order.
    pub fn frequency(&mut self, document: u32) -> u32 {
        let mut at = self.at.unwrap_or(0);
        while self.postings.last(at).is_some_and(|last| last < document) {
            at += 1;
        }
        if self.at != Some(at) {
            self.postings.read(at, &mut self.block);
            self.at = Some(at);
            self.place = 0;
        }
        let rest = self.block.documents().get(self.place..).unwrap_or_default();
        self.place += match rest.len() {
            // a few steps cost less than a search
            0..8 => rest.iter().take_while(|found| **found < document).count(),
            _ => rest.partition_point(|found| *found < document),
        };
        match self.block.documents().get(self.place) {
            Some(found) if *found == document => self
                .block
                .frequencies()
                .get(self.place)
                .copied()
                .unwrap_or(0),
            _ => 0,
        }
    }
}

/// Appends the postings of one term: documents, ascending, with their frequencies, and each document's length.
pub fn write(out: &mut Vec<u8>, postings: &[(u32, u32)], lengths: &[u32]) {
    let heads = out.len();
    let blocks = postings.len().div_ceil(BLOCK);
    out.resize(heads + blocks * HEAD_BYTES, 0);
    let data = out.len();
    let mut before = None;
    for (at, block) in postings.chunks(BLOCK).enumerate() {
        write_block(out, block, before);
        before = block.last().map(|(document, _)| *document);
        let mut head = [0; HEAD_BYTES];
        let end = (out.len() - data) as u32;
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(slot) = head.get_mut(at..at + bytes.len()) {
                slot.copy_from_slice(bytes);
            }
        };
        put(0, &before.unwrap_or(0).to_le_bytes());
        put(4, &end.to_le_bytes());
        for (n, corner) in corners(block, lengths).iter().enumerate() {
            let short = |number: u32| number.min(u32::from(u16::MAX)) as u16;
            put(8 + 4 * n, &short(corner.tf).to_le_bytes());
            put(10 + 4 * n, &short(corner.length).to_le_bytes());
        }
        let place = heads + at * HEAD_BYTES;
        if let Some(slot) = out.get_mut(place..place + HEAD_BYTES) {
            slot.copy_from_slice(&head);
        }
    }
}

fn write_block(out: &mut Vec<u8>, block: &[(u32, u32)], before: Option<u32>) {
    if block.len() == BLOCK {
        let documents: [u32; BLOCK] = std::array::from_fn(|at| block[at].0);
        let frequencies: [u32; BLOCK] = std::array::from_fn(|at| block[at].1 - 1);
        let packer = BitPacker4x::new();
        let bits = packer.num_bits_strictly_sorted(before, &documents);
        let tf_bits = packer.num_bits(&frequencies);
        out.extend([bits, tf_bits]);
        let mut packed = [0; 4 * BLOCK];
        let size = packer.compress_strictly_sorted(before, &documents, &mut packed, bits);
        out.extend(&packed[..size]);
        let size = packer.compress(&frequencies, &mut packed, tf_bits);
        out.extend(&packed[..size]);
        return;
    }
    let mut next = before.map_or(0, |last| last + 1);
    for (document, _) in block {
        put_number(out, document - next);
        next = document + 1;
    }
    for (_, tf) in block {
        put_number(out, tf - 1);
    }
}

/// The corners of a block: of those that no posting is beyond in both ways, neighbours made one until they are few.
fn corners(block: &[(u32, u32)], lengths: &[u32]) -> [Corner; CORNERS] {
    let mut all: Vec<Corner> = block
        .iter()
        .map(|&(document, tf)| Corner {
            tf,
            length: lengths.get(document as usize).copied().unwrap_or(0),
        })
        .collect();
    all.sort_unstable_by_key(|corner| (corner.length, std::cmp::Reverse(corner.tf)));
    let mut kept: Vec<Corner> = Vec::new();
    for corner in all {
        if kept.last().is_none_or(|last| corner.tf > last.tf) {
            kept.push(corner);
        }
    }
    while kept.len() > CORNERS {
        // the pair whose lengths differ least, by their ratio
        let closest = (0..kept.len() - 1).min_by_key(|&at| {
            let (short, long) = (u64::from(kept[at].length), u64::from(kept[at + 1].length));
            (long + 1) * (1 << 16) / (short + 1)
        });
        if let Some(at) = closest {
            kept[at + 1].length = kept[at].length;
            kept.remove(at);
        }
    }
    let last = kept.last().copied().unwrap_or(Corner { tf: 0, length: 0 });
    std::array::from_fn(|at| kept.get(at).copied().unwrap_or(last))
}

fn number(head: &[u8; HEAD_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

fn short(head: &[u8; HEAD_BYTES], at: usize) -> u16 {
    u16::from_le_bytes([head[at], head[at + 1]])
}

/// Appends a number, seven bits a byte, the last byte marked.
pub fn put_number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 128 {
        out.push(number as u8 & 127);
        number >>= 7;
    }
    out.push(number as u8 | 128);
}

/// Takes such a number from the front.
pub fn take_number(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0u32;
    for shift in (0..35).step_by(7) {
        let (byte, left) = rest.split_first()?;
        *rest = left;
        number |= u32::from(byte & 127) << shift;
        if byte & 128 != 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read(
            gaps in proptest::collection::vec((1u32..5000, 1u32..80), 1..600),
            asked in proptest::collection::vec(0u32..100_000, 0..50),
        ) {
            let mut document = 0;
            let postings: Vec<(u32, u32)> = gaps
                .iter()
                .map(|(gap, tf)| {
                    document += gap;
                    (document - 1, *tf)
                })
                .collect();
            let lengths: Vec<u32> = (0..document).map(|n| n % 977 + 80).collect();
            let mut bytes = vec![7];
            write(&mut bytes, &postings, &lengths);
            let stored = Postings::new(&bytes[1..], postings.len() as u32).unwrap();
            let mut read = Vec::new();
            stored.each_block(|documents, tfs| {
                read.extend(documents.iter().copied().zip(tfs.iter().copied()));
            });
            proptest::prop_assert_eq!(&read, &postings);
            for (at, block) in postings.chunks(BLOCK).enumerate() {
                let head = stored.head(at).unwrap();
                proptest::prop_assert_eq!(stored.last(at), block.last().map(|(last, _)| *last));
                for (document, tf) in block {
                    let length = lengths[*document as usize];
                    proptest::prop_assert!(head.corners.iter().any(|c| c.tf >= *tf && c.length <= length));
                }
            }
            let mut cursor = Cursor::new(stored);
            let mut asked = asked;
            asked.sort_unstable();
            for document in asked {
                let expected = postings.iter().find(|(d, _)| *d == document).map_or(0, |(_, tf)| *tf);
                proptest::prop_assert_eq!(cursor.frequency(document), expected);
            }
        }

        #[test]
        fn broken_bytes_are_read_as_nothing(bytes in proptest::collection::vec(0u8.., 0..900), df in 0u32..500) {
            if let Some(postings) = Postings::new(&bytes, df) {
                postings.each_block(|documents, tfs| assert_eq!(documents.len(), tfs.len()));
            }
        }
    }
}
