//! What the terms of a query add to the scores of documents: the inner loops of a search.

use super::QueryTerm;
use crate::index::inverted::Cursor;
use crate::index::similarity::TermScore;

/// The contribution of a term to a document's score, as a function of the term's frequency and the document's length.
#[inline(always)]
pub(crate) fn contribution_of(term: &QueryTerm) -> impl Fn(u32, u32) -> f64 + use<> {
    let weight = term.weight();
    let score = term.score;
    move |tf, length| weight * score.score(f64::from(tf), length)
}

/// Adds a contribution to a score. Adding `0.0` turns minus zero into zero: minus zero marks documents without contributions.
#[inline(always)]
pub(crate) fn add_to(sum: &mut f64, contribution: f64) {
    *sum += contribution + 0.0;
}

/// A cache of the contributions of one term, by frequency and length. A long posting list contains few different pairs of them, and a division
/// or a logarithm takes more time than everything else in the loop.
#[derive(Default)]
pub(crate) struct ContributionCache {
    /// NaN where nothing is cached yet.
    contributions: Vec<f64>,
}

impl ContributionCache {
    /// Frequencies from 1 to this number are cached.
    const FREQUENCIES: usize = 4;
    /// Lengths below this number are cached.
    const LENGTHS: usize = 2048;
    /// For shorter posting lists the cache is not used: they contain too few equal pairs.
    const MIN_POSTINGS: u64 = 2048;

    /// Makes room for the contributions of a term, if it has enough postings.
    fn begin(&mut self, term: &QueryTerm) {
        if self.contributions.is_empty() && term.postings.df() >= Self::MIN_POSTINGS {
            let count = Self::FREQUENCIES * Self::LENGTHS;
            self.contributions.resize(count, f64::NAN);
        }
    }

    /// The term's contribution, from the cache or from `score`.
    #[inline(always)]
    fn contribution(&mut self, tf: u32, length: u32, score: impl Fn(u32, u32) -> f64) -> f64 {
        let (t, l) = ((tf as usize).wrapping_sub(1), length as usize);
        if t >= Self::FREQUENCIES || l >= Self::LENGTHS {
            return score(tf, length);
        }
        let Some(cached) = self.contributions.get_mut(t * Self::LENGTHS + l) else {
            return score(tf, length);
        };
        if cached.is_nan() {
            *cached = score(tf, length);
        }
        *cached
    }
}

/// Adds the contributions of a term to the sums of the segment's documents from `start` to before `end`. `sums` begins at `start`, `also` gets the postings.
pub(crate) fn add_exactly(
    term: &QueryTerm,
    cache: &mut ContributionCache,
    (cursor, start, end): (&mut Cursor, u32, u32),
    sums: &mut [f64],
    also: impl FnMut(&[u32], &[u32]),
) {
    let weight = term.weight();
    if let TermScore::Bm25 { idf, floor, slope } = term.score {
        // the compiler knows this formula, and its division takes no longer than reading the cache
        let formula = TermScore::Bm25 { idf, floor, slope };
        let contribution = |tf, length| weight * formula.score(f64::from(tf), length);
        return add_by_formula((cursor, start, end), sums, contribution, also);
    }
    cache.begin(term);
    let score = contribution_of(term);
    let contribution = |tf, length| cache.contribution(tf, length, &score);
    add_each((cursor, start, end), sums, contribution, also);
}

/// Adds the contribution of each posting of a segment's documents from `start` to before `end`, computed from frequency and length, to the sum of its
/// document. `sums` begins at `start`, `also` gets the postings.
#[inline(always)]
pub(crate) fn add_each(
    (cursor, start, end): (&mut Cursor, u32, u32),
    sums: &mut [f64],
    mut contribution: impl FnMut(u32, u32) -> f64,
    mut also: impl FnMut(&[u32], &[u32]),
) {
    let lengths = cursor.lengths;
    cursor.each_before(end, |documents, tfs| {
        for (document, tf) in documents.iter().zip(tfs) {
            let sum = sums.get_mut((document - start) as usize);
            if let (Some(sum), Some(length)) = (sum, lengths.get(*document as usize)) {
                add_to(sum, contribution(*tf, *length));
            }
        }
        also(documents, tfs);
    });
}

/// Number of postings that go through three loops, one after the other: the first reads the lengths, the second computes the contributions, the third adds them to
/// the sums.
const PART: usize = 32;

/// Like [`add_each`], for a formula without tables or branches: the processor computes several contributions at once.
#[inline(always)]
pub(crate) fn add_by_formula(
    (cursor, start, end): (&mut Cursor, u32, u32),
    sums: &mut [f64],
    contribution: impl Fn(u32, u32) -> f64,
    mut also: impl FnMut(&[u32], &[u32]),
) {
    let lengths = cursor.lengths;
    let mut computed = [0.0; PART];
    let mut own_lengths = [0; PART];
    cursor.each_before(end, |documents, tfs| {
        for (documents, tfs) in documents.chunks(PART).zip(tfs.chunks(PART)) {
            for (own, document) in own_lengths.iter_mut().zip(documents) {
                *own = lengths.get(*document as usize).copied().unwrap_or(0);
            }
            for ((computed, tf), length) in computed.iter_mut().zip(tfs).zip(&own_lengths) {
                *computed = contribution(*tf, *length);
            }
            for (document, computed) in documents.iter().zip(&computed) {
                if let Some(sum) = sums.get_mut((document - start) as usize) {
                    add_to(sum, *computed);
                }
            }
        }
        also(documents, tfs);
    });
}

/// How the contributions of a term are computed where they may differ from the exact ones in the last digits.
pub(crate) enum Estimate {
    Dirichlet(Logarithms),
    /// The logarithm of a product is the sum of two logarithms, which are in tables: [`Logarithms`] and the length scores.
    LuceneDirichlet(Logarithms),
    /// By the formula.
    Exact,
}

impl Estimate {
    pub(crate) fn of(term: &QueryTerm) -> Self {
        match term.score {
            TermScore::Dirichlet { mu_p } => Estimate::Dirichlet(Logarithms::new(mu_p)),
            TermScore::LuceneDirichlet { mu_p, .. } => {
                Estimate::LuceneDirichlet(Logarithms::new(mu_p))
            }
            _ => Estimate::Exact,
        }
    }
}

/// The logarithms `ln(1 + tf / (mu · p))` of one term. Nearly all frequencies are small, so few logarithms have to be computed one by one. The highest
/// frequency in a block of postings is often above 8, and seldom above 32.
pub(crate) struct Logarithms {
    mu_p: f64,
    of_small: [f64; Self::SMALL],
}

impl Logarithms {
    const SMALL: usize = 32;

    fn new(mu_p: f64) -> Self {
        let of_small = std::array::from_fn(|tf| (1.0 + tf as f64 / mu_p).ln());
        Logarithms { mu_p, of_small }
    }

    #[inline(always)]
    pub(crate) fn get(&self, tf: u32) -> f64 {
        match self.of_small.get(tf as usize) {
            Some(known) => *known,
            None => (1.0 + f64::from(tf) / self.mu_p).ln(),
        }
    }
}
