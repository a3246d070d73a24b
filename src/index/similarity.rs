//! How much a term in a document says for it: the formulas of the field, on exact lengths.
//!
//! A score is a sum over the query's terms of `weight × score(tf, length)`, and for
//! [`Similarity::Dirichlet`] of one number more, which depends on the document's length alone. Terms that
//! the collection does not have are not part of a query.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// A formula and its parameters; in a recipe `{ name = "bm25", k1 = 1.2, b = 0.75 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Similarity {
    /// Robertson and others as in Lucene since version 8, without the factor k1 + 1:
    /// `idf · tf / (tf + k1 (1 - b + b · length / mean length))` with
    /// `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`. bm25s calls it "lucene".
    Bm25 { k1: f64, b: f64 },
    /// Robertson, Zaragoza and Taylor (2004), "Simple BM25 extension to multiple weighted fields": a
    /// term's frequencies in the fields, each over `1 - b + b · length / mean length` of its field and
    /// times its field's weight, are added up before they saturate: `idf · tf / (tf + k1)`. A term's df
    /// is its largest in any of the fields, as in Lucene's `CombinedFieldQuery`.
    Bm25f {
        k1: f64,
        /// By field, in the index's order; the last one goes for further fields.
        b: Vec<f64>,
    },
    /// Query likelihood with Dirichlet priors (Zhai and Lafferty 2004), for each of the query's terms, in
    /// the document or not: `ln(1 + tf / (mu · p)) + ln(mu / (mu + length))`, `p = cf / tokens`: the
    /// likelihood without what is the same for all documents.
    Dirichlet { mu: f64 },
    /// Lucene's `LMDirichletSimilarity`: the same summand with `p = (cf + 1) / (tokens + 1)`, but only
    /// for terms that are in the document, and never below 0. So the length of a document
    /// costs it once for each term it has, not for each that was asked for.
    LuceneDirichlet { mu: f64 },
    /// Query likelihood mixed with the collection's (Jelinek and Mercer; Lucene's
    /// `LMJelinekMercerSimilarity`): `ln(1 + (1 - lambda) · tf / length / (lambda · p))`, `p = (cf + 1) / (tokens + 1)`.
    JelinekMercer { lambda: f64 },
    /// Lucene's `ClassicSimilarity` (since version 8): `√tf · idf / √length`, `idf = 1 + ln((N + 1) / (df + 1))`.
    TfIdf,
    /// Divergence from randomness without a parameter (Amati and others 2007, TREC blog track; Terrier's `DPH`):
    /// `(1 - f)² / (tf + 1) · (tf · log2(tf · mean length / length · N / cf) + log2(2π · tf · (1 - f)) / 2)`, `f = tf / length`.
    Dph,
}

/// What is counted of one field of a collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldCounts {
    /// Documents in the collection, with text in this field or not.
    pub documents: u64,
    /// Terms in this field, of all documents together.
    pub tokens: u64,
}

impl FieldCounts {
    /// The mean length, 1 where there is nothing (no document of such a field is ever scored).
    fn mean_length(self) -> f64 {
        match self.tokens {
            0 => 1.0,
            tokens => tokens as f64 / self.documents as f64,
        }
    }
}

/// What is counted of one term in one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermCounts {
    /// Documents that have it.
    pub df: u64,
    /// How often it is there.
    pub cf: u64,
}

/// A formula with all that does not depend on the document put in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TermScore {
    Bm25 { idf: f64, floor: f64, slope: f64 },
    Dirichlet { mu_p: f64 },
    LuceneDirichlet { mu: f64, mu_p: f64 },
    JelinekMercer { ratio: f64 },
    TfIdf { idf: f64 },
    Dph { spread: f64 },
}

impl Similarity {
    /// Errors: a parameter out of its range.
    pub fn check(&self) -> Result<()> {
        let unit = |b: f64| (0.0..=1.0).contains(&b);
        match self {
            Similarity::Bm25 { k1, b } => {
                ensure!(
                    *k1 >= 0.0 && k1.is_finite(),
                    "bm25: k1 is at least 0, not {k1}"
                );
                ensure!(unit(*b), "bm25: b is from 0 to 1, not {b}");
            }
            Similarity::Bm25f { k1, b } => {
                ensure!(
                    *k1 >= 0.0 && k1.is_finite(),
                    "bm25f: k1 is at least 0, not {k1}"
                );
                ensure!(!b.is_empty(), "bm25f: b is needed for at least one field");
                ensure!(
                    b.iter().all(|b| unit(*b)),
                    "bm25f: each b is from 0 to 1, not {b:?}"
                );
            }
            Similarity::Dirichlet { mu } | Similarity::LuceneDirichlet { mu } => {
                ensure!(
                    *mu > 0.0 && mu.is_finite(),
                    "dirichlet: mu is above 0, not {mu}"
                );
            }
            Similarity::JelinekMercer { lambda } => ensure!(
                *lambda > 0.0 && *lambda <= 1.0,
                "jelinek-mercer: lambda is above 0 and at most 1, not {lambda}"
            ),
            Similarity::TfIdf | Similarity::Dph => {}
        }
        Ok(())
    }

    /// The formula for one term of one field; BM25F's takes the frequency that [`Similarity::occurrence`]s of
    /// all fields come to, and no length.
    pub fn term(&self, field: FieldCounts, term: TermCounts) -> TermScore {
        let n = field.documents as f64;
        let p = (term.cf as f64 + 1.0) / (field.tokens as f64 + 1.0);
        match *self {
            Similarity::Bm25 { k1, b } => TermScore::Bm25 {
                idf: idf(field.documents, term.df),
                floor: k1 * (1.0 - b),
                slope: k1 * b / field.mean_length(),
            },
            Similarity::Bm25f { k1, .. } => TermScore::Bm25 {
                idf: idf(field.documents, term.df),
                floor: k1,
                slope: 0.0,
            },
            Similarity::Dirichlet { mu } => TermScore::Dirichlet {
                mu_p: mu * term.cf as f64 / field.tokens as f64,
            },
            Similarity::LuceneDirichlet { mu } => TermScore::LuceneDirichlet { mu, mu_p: mu * p },
            Similarity::JelinekMercer { lambda } => TermScore::JelinekMercer {
                ratio: (1.0 - lambda) / (lambda * p),
            },
            Similarity::TfIdf => TermScore::TfIdf {
                idf: 1.0 + ((n + 1.0) / (term.df as f64 + 1.0)).ln(),
            },
            Similarity::Dph => TermScore::Dph {
                spread: field.mean_length() * n / term.cf as f64,
            },
        }
    }

    /// What one occurrence in a field adds to BM25F's frequency of a term: the factor for a document
    /// of that length, without the field's weight. 1 for other formulas.
    pub(crate) fn occurrence(&self, field: usize, counts: FieldCounts, length: u32) -> f64 {
        match self {
            Similarity::Bm25f { b, .. } => {
                let b = b.get(field).or(b.last()).copied().unwrap_or(0.0);
                1.0 / (1.0 - b + b * f64::from(length) / counts.mean_length())
            }
            _ => 1.0,
        }
    }

    /// `ln(mu / (mu + length))` of both of Dirichlet's formulas; none for others.
    pub fn length_score(&self, length: u32) -> Option<f64> {
        match *self {
            Similarity::Dirichlet { mu } | Similarity::LuceneDirichlet { mu } => {
                Some((mu / (mu + f64::from(length))).ln())
            }
            _ => None,
        }
    }

    /// Whether the formula asks how often a term is in the collection.
    pub(crate) fn uses_cf(&self) -> bool {
        match self {
            Similarity::Dirichlet { .. }
            | Similarity::LuceneDirichlet { .. }
            | Similarity::JelinekMercer { .. }
            | Similarity::Dph => true,
            Similarity::Bm25 { .. } | Similarity::Bm25f { .. } | Similarity::TfIdf => false,
        }
    }

    /// Whether the length score is added once for each term asked for, in the document or not.
    pub(crate) fn adds_length(&self) -> bool {
        matches!(self, Similarity::Dirichlet { .. })
    }

    /// Whether a term's frequencies in all fields make one score.
    pub(crate) fn combines_fields(&self) -> bool {
        matches!(self, Similarity::Bm25f { .. })
    }
}

/// Lucene's: never negative.
fn idf(documents: u64, df: u64) -> f64 {
    let df = df as f64;
    (1.0 + (documents as f64 - df + 0.5) / (df + 0.5)).ln()
}

impl TermScore {
    /// The most that the score can be, in any document of at least as many terms as occurrences; none where that is not known, or where
    /// a score can be below 0. `max_tf` is the most often that the term is in a document.
    pub(crate) fn bound(&self, max_tf: Option<u32>) -> Option<f64> {
        match *self {
            TermScore::Bm25 { idf, .. } => Some(idf),
            TermScore::TfIdf { idf } => Some(idf),
            TermScore::JelinekMercer { ratio } => Some((1.0 + ratio).ln()),
            TermScore::Dirichlet { mu_p } | TermScore::LuceneDirichlet { mu_p, .. } => {
                Some((1.0 + f64::from(max_tf?) / mu_p).ln())
            }
            TermScore::Dph { .. } => None,
        }
    }

    /// The score of a term that is `tf > 0` times in a document of `length` terms.
    #[inline(always)]
    pub fn score(&self, tf: f64, length: u32) -> f64 {
        let length = f64::from(length);
        match *self {
            TermScore::Bm25 { idf, floor, slope } => idf * (tf / (tf + (floor + slope * length))),
            TermScore::Dirichlet { mu_p } => (1.0 + tf / mu_p).ln(),
            TermScore::LuceneDirichlet { mu, mu_p } => {
                ((1.0 + tf / mu_p) * (mu / (length + mu))).ln().max(0.0)
            }
            TermScore::JelinekMercer { ratio } => (1.0 + ratio * (tf / length)).ln(),
            TermScore::TfIdf { idf } => idf * (tf / length).sqrt(),
            TermScore::Dph { spread } => {
                let f = tf / length;
                // a document that is this term alone: the limit
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

    /// The worked example: 10 documents of 60 terms together, a term in 3 of them, 5 times in all,
    /// twice in a document of 8 terms. The values are `tests/reference/similarity.py`'s.
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
        // so that the sum over one term is the formula of the paper
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
    fn lucene_scores_no_term_below_0_and_dirichlet_does() {
        let field = FieldCounts {
            documents: 10,
            tokens: 1000,
        };
        let common = TermCounts { df: 10, cf: 400 };
        // once in 100 terms is less than the collection's 400 in 1000
        let lucene = Similarity::LuceneDirichlet { mu: 10.0 }.term(field, common);
        assert_eq!(lucene.score(1.0, 100), 0.0);
        let dirichlet = Similarity::Dirichlet { mu: 10.0 };
        let sum =
            dirichlet.term(field, common).score(1.0, 100) + dirichlet.length_score(100).unwrap();
        assert!(sum < 0.0);
        // a document of nothing but the term has no information for DPH
        assert_eq!(Similarity::Dph.term(field, common).score(3.0, 3), 0.0);
    }

    #[test]
    fn recipes_name_formulas_and_ranges_are_checked() {
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
