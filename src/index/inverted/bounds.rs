//! Bounds for the blocks of a term's postings, from which a search knows that a document is not among the best before it looks the document up.

use super::postings::PostingBlock;

/// Frequencies up to this number have bounds of their own.
const FREQUENCIES: usize = 16;

/// Pairs of frequency and length for each block of postings. No document of the block beats such a pair by a higher frequency and a smaller length. So no
/// score in the block is above the highest score of its pairs, in every similarity whose scores rise with the frequency and fall with the length.
#[derive(Debug, Default)]
pub(crate) struct BlockBounds {
    /// The pairs that no document of any block beats.
    whole: Vec<(u32, u32)>,
    /// For each block, the number of its last document.
    lasts: Vec<u32>,
    /// The pairs of all blocks, and where those of each block end.
    pairs: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl BlockBounds {
    /// Adds the next block of postings. `lengths` has the length of each document of the index in the field.
    pub(super) fn add(&mut self, block: &PostingBlock, lengths: &[u32]) {
        let Some(last) = block.documents.last() else {
            return;
        };
        let postings = block.documents.iter().zip(block.tfs);
        let of_posting = |(document, tf): (&u32, &u32)| {
            let length = lengths.get((block.base + document) as usize);
            (*tf, length.copied().unwrap_or(0))
        };
        let start = self.pairs.len();
        unbeaten(postings.map(of_posting), &mut self.pairs);
        let mut whole = Vec::new();
        let added = self.pairs.get(start..).unwrap_or_default();
        unbeaten(self.whole.iter().chain(added).copied(), &mut whole);
        self.whole = whole;
        self.lasts.push(block.base + last);
        self.ends.push(self.pairs.len());
    }

    /// The highest score of any document.
    pub(crate) fn highest(&self, score: impl Fn(u32, u32) -> f64) -> f64 {
        highest(&self.whole, score)
    }

    /// The position of the block that can contain the document with this number, where that is not before the block at `from`.
    pub(crate) fn block(&self, from: usize, number: u32) -> usize {
        let lasts = self.lasts.get(from..).unwrap_or_default();
        // usually it is one of the next blocks
        let near = lasts.iter().take(4).position(|last| *last >= number);
        from + near.unwrap_or_else(|| lasts.partition_point(|last| *last < number))
    }

    /// The highest score of a document of the block at this position; 0 behind the last block.
    pub(crate) fn highest_of_block(&self, at: usize, score: impl Fn(u32, u32) -> f64) -> f64 {
        highest(self.pairs_of(at), score)
    }

    /// The highest frequency in a document of the block at this position; 0 behind the last block.
    pub(crate) fn highest_frequency(&self, at: usize) -> u32 {
        self.pairs_of(at).first().map_or(0, |(tf, _)| *tf)
    }

    /// The pairs of the block at this position, those with the highest frequency first.
    fn pairs_of(&self, at: usize) -> &[(u32, u32)] {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let range = start.copied().unwrap_or(0)..self.ends.get(at).copied().unwrap_or(0);
        self.pairs.get(range).unwrap_or_default()
    }
}

fn highest(pairs: &[(u32, u32)], score: impl Fn(u32, u32) -> f64) -> f64 {
    let scores = pairs.iter().map(|(tf, length)| score(*tf, *length));
    scores.fold(0.0, f64::max)
}

/// Appends the pairs of frequency and length that no other pair beats to `pairs`. All frequencies above [`FREQUENCIES`] together are one pair, of the
/// highest of them and the smallest length.
fn unbeaten(postings: impl Iterator<Item = (u32, u32)>, pairs: &mut Vec<(u32, u32)>) {
    let mut shortest = [u32::MAX; FREQUENCIES + 1];
    let mut most = 0;
    for (tf, length) in postings {
        most = most.max(tf);
        if let Some(known) = shortest.get_mut((tf as usize).min(FREQUENCIES)) {
            *known = length.min(*known);
        }
    }
    let mut least = u32::MAX;
    for (tf, length) in shortest.into_iter().enumerate().rev() {
        if length < least {
            least = length;
            let tf = if tf == FREQUENCIES { most } else { tf as u32 };
            pairs.push((tf, length));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_bounds_of_a_block_are_scores_of_its_documents_and_no_document_exceeds_them(
            postings in proptest::collection::vec((1u32..16, 1u32..50), 1..400),
        ) {
            let lengths: Vec<u32> = postings.iter().map(|(tf, more)| tf + more).collect();
            let mut bounds = BlockBounds::default();
            let documents: Vec<u32> = (0..postings.len() as u32).collect();
            let tfs: Vec<u32> = postings.iter().map(|(tf, _)| *tf).collect();
            for (documents, tfs) in documents.chunks(128).zip(tfs.chunks(128)) {
                bounds.add(&PostingBlock { base: 0, documents, tfs }, &lengths);
            }
            let score = |tf: u32, length: u32| f64::from(tf) / (f64::from(tf) + 0.1 * f64::from(length));
            let scores: Vec<f64> = tfs.iter().zip(&lengths).map(|(tf, length)| score(*tf, *length)).collect();
            for (at, scores) in scores.chunks(128).enumerate() {
                let expected = scores.iter().copied().fold(0.0, f64::max);
                proptest::prop_assert_eq!(bounds.highest_of_block(at, score), expected);
                proptest::prop_assert_eq!(bounds.block(0, 128 * at as u32), at);
            }
            proptest::prop_assert_eq!(bounds.highest(score), scores.iter().copied().fold(0.0, f64::max));
            proptest::prop_assert_eq!(bounds.highest_of_block(scores.len(), score), 0.0);
        }
    }

    #[test]
    fn rare_high_frequencies_have_a_bound_together() {
        let mut pairs = Vec::new();
        unbeaten(
            [(40, 90), (20, 60), (3, 50), (2, 70)].into_iter(),
            &mut pairs,
        );
        assert_eq!(pairs, [(40, 60), (3, 50)]);
    }
}
