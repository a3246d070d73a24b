//! The formulas by which a query's terms score a document, computed on exact document lengths.
//!
//! A document's score is the sum over the query's terms of `weight × score(tf, dl)`. [`Similarity::Dirichlet`] adds a value that depends only on
//! the document's length. Query terms that do not occur in the collection are ignored.
//!
//! In the formulas, N is the number of documents, df the number of documents with the term, cf the number of its occurrences in the collection,
//! tf the number of its occurrences in the document, dl the number of terms of the document, avgdl the mean of dl over all documents, and
//! `tokens` the number of terms of the collection.

use anyhow::{Result, ensure};
use serde::Deserialize;

/// A formula with its parameters. In a recipe it is written `{ name = "bm25", k1 = 1.2, b = 0.75 }`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Similarity {
    /// BM25 (Robertson et al.) as in Lucene since version 8, without the factor k1 + 1:
    /// `idf · tf / (tf + k1 (1 - b + b · dl / avgdl))` with
    /// `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`. The Python package bm25s calls it "lucene".
    Bm25 { k1: f64, b: f64 },
    /// BM25 as in the Python package Whoosh: `idf · tf (k1 + 1) / (tf + k1 (1 - b + b · dl / avgdl))` with `idf = 1 + ln(N / (df + 1))`. Whoosh
    /// calls the sum over several fields BM25F.
    WhooshBm25 { k1: f64, b: f64 },
    /// BM25F (Robertson, Zaragoza and Taylor 2004, "Simple BM25 extension to multiple weighted fields"): `idf · tf / (tf + k1)`, where tf
    /// is the sum over the fields of the field's weight times the frequency in the field, divided by `1 - b + b · dl / avgdl` of the
    /// field. The df of a term is the largest of its df in the fields, as in Lucene's `CombinedFieldQuery`.
    Bm25f {
        k1: f64,
        /// One value for each field, in the order of the index; the last one is used for further fields.
        b: Vec<f64>,
    },
    /// Query likelihood with a Dirichlet prior (Zhai and Lafferty 2004): `ln(1 + tf / (mu · p)) + ln(mu / (mu + dl))` with `p = cf /
    /// tokens`, for every term of the query, even if the document does not contain it. Factors that are the same for all documents are left out.
    Dirichlet { mu: f64 },
    /// Lucene's `LMDirichletSimilarity`: the same formula with `p = (cf + 1) / (tokens + 1)`, but only for query terms that the document
    /// contains, and at least 0. So a long document is penalised only for the query terms that it contains.
    LuceneDirichlet { mu: f64 },
    /// Query likelihood with linear interpolation (Jelinek and Mercer; Lucene's `LMJelinekMercerSimilarity`):
    /// `ln(1 + (1 - lambda) · tf / dl / (lambda · p))`, `p = (cf + 1) / (tokens + 1)`.
    JelinekMercer { lambda: f64 },
    /// Lucene's `ClassicSimilarity` (since version 8): `√tf · idf / √dl`, `idf = 1 + ln((N + 1) / (df + 1))`.
    TfIdf,
    /// Divergence from randomness without parameters (Amati et al. 2007, TREC blog track; Terrier's `DPH`):
    /// `(1 - f)² / (tf + 1) · (tf · log2(tf · avgdl / dl · N / cf) + log2(2π · tf · (1 - f)) / 2)`, `f = tf / dl`.
    Dph,
}

/// The statistics of one field of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FieldCounts {
    /// Number of documents of the collection, including those without text in this field.
    pub documents: u64,
    /// Number of terms in this field, over all documents.
    pub tokens: u64,
}

impl FieldCounts {
    /// The mean length of the field; 1 for an empty field, in which no document is ever scored.
    fn avgdl(self) -> f64 {
        match self.tokens {
            0 => 1.0,
            tokens => tokens as f64 / self.documents as f64,
        }
    }
}

/// The statistics of one term in one field.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TermCounts {
    /// Number of documents that have the term.
    pub df: u64,
    /// Number of occurrences of the term.
    pub cf: u64,
}

/// A formula for one term, with all values filled in that do not depend on the document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TermScore {
    /// `floor` is `k1 (1 - b)`, `slope` is `k1 · b / avgdl`.
    Bm25 {
        idf: f64,
        floor: f64,
        slope: f64,
    },
    Dirichlet {
        mu_p: f64,
    },
    LuceneDirichlet {
        mu: f64,
        mu_p: f64,
    },
    JelinekMercer {
        ratio: f64,
    },
    TfIdf {
        idf: f64,
    },
    Dph {
        spread: f64,
    },
}

impl Similarity {
    /// # Errors
    /// A parameter is out of its range.
    pub fn check(&self) -> Result<()> {
        let unit = |b: f64| (0.0..=1.0).contains(&b);
        match self {
            Similarity::Bm25 { k1, b } | Similarity::WhooshBm25 { k1, b } => {
                ensure!(
                    *k1 >= 0.0 && k1.is_finite(),
                    "bm25: k1 must be at least 0, not {k1}"
                );
                ensure!(unit(*b), "bm25: b must be from 0 to 1, not {b}");
            }
            Similarity::Bm25f { k1, b } => {
                ensure!(
                    *k1 >= 0.0 && k1.is_finite(),
                    "bm25f: k1 must be at least 0, not {k1}"
                );
                ensure!(
                    !b.is_empty(),
                    "bm25f: b must have a value for at least one field"
                );
                ensure!(
                    b.iter().all(|b| unit(*b)),
                    "bm25f: each b must be from 0 to 1, not {b:?}"
                );
            }
            Similarity::Dirichlet { mu } | Similarity::LuceneDirichlet { mu } => {
                ensure!(
                    *mu > 0.0 && mu.is_finite(),
                    "dirichlet: mu must be above 0, not {mu}"
                );
            }
            Similarity::JelinekMercer { lambda } => ensure!(
                *lambda > 0.0 && *lambda <= 1.0,
                "jelinek-mercer: lambda must be above 0 and at most 1, not {lambda}"
            ),
            Similarity::TfIdf | Similarity::Dph => {}
        }
        Ok(())
    }

    /// The formula for one term of one field. For BM25F the frequency that is scored must be the sum of [`Similarity::occurrence`] over the
    /// occurrences in all fields, and dl is ignored.
    pub fn term(&self, field: FieldCounts, term: TermCounts) -> TermScore {
        let (n, avgdl) = (field.documents as f64, field.avgdl());
        let (df, cf) = (term.df as f64, term.cf as f64);
        let tokens = field.tokens as f64;
        let p = (cf + 1.0) / (tokens + 1.0);
        match *self {
            Similarity::Bm25 { k1, b } => TermScore::Bm25 {
                idf: idf(n, df),
                floor: k1 * (1.0 - b),
                slope: k1 * b / avgdl,
            },
            Similarity::WhooshBm25 { k1, b } => TermScore::Bm25 {
                idf: (1.0 + (n / (df + 1.0)).ln()) * (k1 + 1.0),
                floor: k1 * (1.0 - b),
                slope: k1 * b / avgdl,
            },
            Similarity::Bm25f { k1, .. } => TermScore::Bm25 {
                idf: idf(n, df),
                floor: k1,
                slope: 0.0,
            },
            Similarity::Dirichlet { mu } => TermScore::Dirichlet {
                mu_p: mu * cf / tokens,
            },
            Similarity::LuceneDirichlet { mu } => TermScore::LuceneDirichlet { mu, mu_p: mu * p },
            Similarity::JelinekMercer { lambda } => TermScore::JelinekMercer {
                ratio: (1.0 - lambda) / (lambda * p),
            },
            Similarity::TfIdf => TermScore::TfIdf {
                idf: 1.0 + ((n + 1.0) / (df + 1.0)).ln(),
            },
            Similarity::Dph => TermScore::Dph {
                spread: avgdl * n / cf,
            },
        }
    }

    /// What one occurrence of a term in a field of `dl` terms adds to the frequency that BM25F scores, without the field's weight; 1 for other
    /// formulas.
    pub(crate) fn occurrence(&self, field: usize, counts: FieldCounts, dl: u32) -> f64 {
        match self {
            Similarity::Bm25f { b, .. } => {
                let b = b.get(field).or(b.last()).copied().unwrap_or(0.0);
                1.0 / (1.0 - b + b * f64::from(dl) / counts.avgdl())
            }
            _ => 1.0,
        }
    }

    /// The summand `ln(mu / (mu + dl))` of the two formulas with a Dirichlet prior; none for others.
    pub fn length_score(&self, dl: u32) -> Option<f64> {
        match *self {
            Similarity::Dirichlet { mu } | Similarity::LuceneDirichlet { mu } => {
                Some((mu / (mu + f64::from(dl))).ln())
            }
            _ => None,
        }
    }

    /// Whether the formula needs the number of occurrences of a term in the collection ([`TermCounts::cf`]).
    pub(crate) fn uses_cf(&self) -> bool {
        match self {
            Similarity::Dirichlet { .. } | Similarity::LuceneDirichlet { .. } => true,
            Similarity::JelinekMercer { .. } | Similarity::Dph => true,
            Similarity::Bm25 { .. } | Similarity::WhooshBm25 { .. } => false,
            Similarity::Bm25f { .. } | Similarity::TfIdf => false,
        }
    }

    /// Whether [`Similarity::length_score`] is added for every term of the query, even if the document does not contain it.
    pub(crate) fn adds_length(&self) -> bool {
        matches!(self, Similarity::Dirichlet { .. })
    }

    /// Whether the frequencies of a term in all fields are combined into one score.
    pub(crate) fn combines_fields(&self) -> bool {
        matches!(self, Similarity::Bm25f { .. })
    }
}

/// The inverse document frequency of BM25 in Lucene, which is never negative.
fn idf(n: f64, df: f64) -> f64 {
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

impl TermScore {
    /// Whether scores are never negative, rise with the frequency and fall with the length.
    pub(crate) fn is_monotonic(&self) -> bool {
        !matches!(self, TermScore::Dph { .. })
    }

    /// An upper bound of the score in any document; `None` if there is none. No document is shorter than its term frequency (dl ≥ tf).
    pub(crate) fn bound(&self) -> Option<f64> {
        match *self {
            TermScore::Bm25 { idf, .. } => Some(idf),
            TermScore::TfIdf { idf } => Some(idf),
            TermScore::JelinekMercer { ratio } => Some((1.0 + ratio).ln()),
            // the frequency raises these without limit
            TermScore::Dirichlet { .. } | TermScore::LuceneDirichlet { .. } => None,
            TermScore::Dph { .. } => None,
        }
    }

    /// The score of a term that occurs `tf > 0` times in a document of `dl` terms.
    #[inline(always)]
    pub fn score(&self, tf: f64, dl: u32) -> f64 {
        let dl = f64::from(dl);
        match *self {
            TermScore::Bm25 { idf, floor, slope } => idf * (tf / (tf + (floor + slope * dl))),
            TermScore::Dirichlet { mu_p } => (1.0 + tf / mu_p).ln(),
            TermScore::LuceneDirichlet { mu, mu_p } => {
                ((1.0 + tf / mu_p) * (mu / (dl + mu))).ln().max(0.0)
            }
            TermScore::JelinekMercer { ratio } => (1.0 + ratio * (tf / dl)).ln(),
            TermScore::TfIdf { idf } => idf * (tf / dl).sqrt(),
            TermScore::Dph { spread } => {
                let f = tf / dl;
                // the limit for a document that consists only of this term
                if f >= 1.0 {
                    return 0.0;
                }
                let information = tf * (f * spread).log2();
                let stirling = 0.5 * (std::f64::consts::TAU * tf * (1.0 - f)).log2();
                (1.0 - f).powi(2) / (tf + 1.0) * (information + stirling)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A term occurs twice in a document of 8 terms, and 5 times in 3 of 10 documents, which have 60 terms altogether. The expected values come
    /// from `tests/reference/similarity.py`.
    #[test]
    fn the_worked_example() {
        let field = FieldCounts {
            documents: 10,
            tokens: 60,
        };
        let term = TermCounts { df: 3, cf: 5 };
        for (similarity, expected) in REFERENCE {
            let score = similarity.term(field, term).score(2.0, 8);
            assert!((score - expected).abs() < 1e-12, "{similarity:?}: {score}");
            similarity.check().unwrap();
        }
        let dirichlet = Similarity::Dirichlet { mu: 100.0 };
        assert!((dirichlet.length_score(8).unwrap() - -0.076_961_041_136_128_32).abs() < 1e-12);
        // by hand: idf = 1 + ln(10 / 4), norm = 1.2 · (0.25 + 0.75 · 8 / 6)
        let whoosh = Similarity::WhooshBm25 { k1: 1.2, b: 0.75 };
        let expected = (1.0 + 2.5_f64.ln()) * 2.0 * 2.2 / (2.0 + 1.2 * 1.25);
        let score = whoosh.term(field, term).score(2.0, 8);
        assert!((score - expected).abs() < 1e-12, "{score}");
        // BM25F over a single field is BM25
        let bm25f = Similarity::Bm25f {
            k1: 1.2,
            b: vec![0.75],
        };
        let tf = 2.0 * bm25f.occurrence(0, field, 8);
        let bm25 = Similarity::Bm25 { k1: 1.2, b: 0.75 }.term(field, term);
        assert!((bm25f.term(field, term).score(tf, 8) - bm25.score(2.0, 8)).abs() < 1e-12);
    }

    const REFERENCE: [(Similarity, f64); 6] = [
        (
            Similarity::Bm25 { k1: 1.2, b: 0.75 },
            0.654_361_316_744_572_9,
        ),
        (Similarity::Dirichlet { mu: 100.0 }, 0.215_111_379_616_945_5),
        (
            Similarity::LuceneDirichlet { mu: 100.0 },
            0.108_134_442_540_551_56,
        ),
        (
            Similarity::JelinekMercer { lambda: 0.7 },
            0.736_822_244_062_607,
        ),
        (Similarity::TfIdf, 1.005_800_455_839_24),
        (Similarity::Dph, 0.897_778_934_351_071_8),
    ];

    #[test]
    fn a_score_of_lucene_is_never_negative_and_one_of_dirichlet_can_be() {
        let field = FieldCounts {
            documents: 10,
            tokens: 1000,
        };
        let common = TermCounts { df: 10, cf: 400 };
        // the term is rarer in the document (1 of 100 terms) than in the collection (400 of 1000)
        let lucene = Similarity::LuceneDirichlet { mu: 10.0 }.term(field, common);
        assert_eq!(lucene.score(1.0, 100), 0.0);
        let dirichlet = Similarity::Dirichlet { mu: 10.0 };
        let sum =
            dirichlet.term(field, common).score(1.0, 100) + dirichlet.length_score(100).unwrap();
        assert!(sum < 0.0);
        // DPH gives 0 to a document that consists only of the term
        assert_eq!(Similarity::Dph.term(field, common).score(3.0, 3), 0.0);
    }

    #[test]
    fn formulas_are_read_from_recipes_and_their_parameters_are_checked() {
        let read = |text: &str| toml::from_str::<Similarity>(text);
        assert_eq!(
            read("name = \"bm25\"\nk1 = 3.2\nb = 0.2").unwrap(),
            Similarity::Bm25 { k1: 3.2, b: 0.2 }
        );
        assert_eq!(read("name = \"tf-idf\"").unwrap(), Similarity::TfIdf);
        assert!(read("name = \"bm25\"\nk1 = 3.2").is_err());
        for wrong in [
            Similarity::Bm25 { k1: -1.0, b: 0.5 },
            Similarity::Bm25 { k1: 1.0, b: 1.5 },
            Similarity::Bm25f { k1: 1.0, b: vec![] },
            Similarity::Dirichlet { mu: 0.0 },
            Similarity::JelinekMercer { lambda: f64::NAN },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
