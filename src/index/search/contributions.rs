//! What the terms of a query add to the scores of documents: the inner loops of a search.

use anyhow::Result;

use super::QueryTerm;
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

    /// Clears the cache for the next term.
    fn begin(&mut self, term: &QueryTerm) {
        self.contributions.clear();
        if term.postings.df() >= Self::MIN_POSTINGS {
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

    /// Adds a term's contributions to the scores of all documents that contain it.
    pub(crate) fn add_postings(&mut self, scores: &mut [f64], term: &QueryTerm) -> Result<()> {
        if let TermScore::Bm25 { idf, floor, slope } = term.score {
            // the compiler knows this formula, and its division takes no longer than reading the cache
            let weight = term.weight();
            let formula = TermScore::Bm25 { idf, floor, slope };
            let contribution = |tf, length| weight * formula.score(f64::from(tf), length);
            return add_each(scores, term, contribution);
        }
        self.begin(term);
        let score = contribution_of(term);
        let contribution = |tf, length| self.contribution(tf, length, &score);
        add_each(scores, term, contribution)
    }
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

/// Adds the contribution of each posting, computed from frequency and length, to the score of its document.
#[inline(always)]
fn add_each(
    scores: &mut [f64],
    term: &QueryTerm,
    mut contribution: impl FnMut(u32, u32) -> f64,
) -> Result<()> {
    let postings = &term.postings;
    postings.each_block_over(scores, |_, scores, lengths, documents, tfs| {
        for (document, tf) in documents.iter().zip(tfs) {
            let at = *document as usize;
            if let (Some(sum), Some(length)) = (scores.get_mut(at), lengths.get(at)) {
                add_to(sum, contribution(*tf, *length));
            }
        }
    })
}
