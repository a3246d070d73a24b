//! The measures and their names.
//!
//! A measure prints under the name from which it is parsed. The names for text retrieval are those of ir_measures, with the same meaning.
//!
//! By judgements of subtopics, the measures by grades are computed, too, from the highest grade of each document.
//!
//! | name | judgements | parameters | `@cutoff` |
//! |---|---|---|---|
//! | `P`, `R`, `Success` | grades | `rel=2` (a relevant document has at least this grade; default 1), `judged_only=True` | needed |
//! | `AP`, `RR` | grades | the same | optional |
//! | `Rprec`, `SetAP` | grades | the same | none |
//! | `SetP`, `SetF` | grades | the same, and `relative=True` or `beta=0.5` | none |
//! | `IPrec` | grades | the same | the recall, as in `IPrec@0.1` |
//! | `Bpref`, `infAP`, `SetR` | grades | `rel` | none |
//! | `RBP`, `Accuracy` | grades | `rel`; of RBP also `p=0.8` | optional |
//! | `nDCG` | grades | `dcg=exp-log2`, `judged_only=True`; or `touche=2021`: as the organisers' script computes it | optional; needed with `touche` |
//! | `SDCG` | grades | `max_rel=2` is needed, `min_rel=0` | needed |
//! | `ERR`, `Judged` | grades | | optional |
//! | `Compat` | grades | `p=0.95`, `normalize=False` | none |
//! | `NumQ`, `NumRet`, `NumRel` | grades | `rel`, not of NumQ | none |
//! | `alpha_nDCG`, `alpha_DCG` | subtopics | `alpha=0.5`, `rel` | needed, at most 1,000 |
//! | `ERR_IA`, `nERR_IA`, `P_IA`, `StRecall` | subtopics | `rel` | needed, at most 1,000 |
//! | `NRBP`, `nNRBP` | subtopics | `alpha=0.5`, `beta=0.5`, `rel` | none |
//! | `AP_IA` | subtopics | `rel` | none |
//! | `topicRelevanceP`, `argumentativenessP`, `stanceRelevanceP` | images | `topics=judged`, `list=PRO` | `@10` |
//! | `StanceP`, `StanceR`, `StanceF1` | stances | `class=FIRST` | optional |
//!
//! The names of trec_eval are accepted, too: `map`, `ndcg_cut_10`, `recip_rank`, `P_10`, `iprec_at_recall_0.10`.
//!
//! Documents with equal scores are sorted as the program sorts them with which ir_measures computes the measure. trec_eval sorts them by id in
//! descending order. `ERR` and `nDCG(dcg='exp-log2')` are gdeval's: their order is the same, but scores are not rounded to 32 bits. For `Judged`,
//! `Compat`, the measures by subtopic, and `RR` with a cutoff, ids are in ascending order. For `RBP`, `SDCG` and `Accuracy`, the order of the file decides.
//!
//! ```
//! use riposte_eval::measure::Measure;
//!
//! let measure: Measure = "P(rel=2)@10".parse()?;
//! assert_eq!(measure.to_string(), "P(rel=2)@10");
//!
//! let error = "P(rel=2)".parse::<Measure>().unwrap_err();
//! assert_eq!(error.to_string(), "no measure \"P(rel=2)\": it needs a cutoff, as in P@5");
//! # Ok::<(), riposte_eval::Error>(())
//! ```

mod parse;
mod trec_names;

use std::fmt;
use std::str::FromStr;

use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::edition::{EDITIONS, Ndcg};
use crate::qrels::Qrels;
use crate::{Error, ObjectStance, Stance};

/// A measure of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// By graded judgements.
    Graded(GradedMeasure),
    /// By graded judgements of topics with subtopics.
    Diversity(DiversityMeasure),
    /// P@10 by judgements of images.
    Image(ImageMeasure),
    /// By the judged stances of passages.
    Stance(StanceMeasure),
}

/// A measure of a ranking by graded judgements.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedMeasure {
    /// What is computed.
    pub kind: GradedKind,
    /// The lowest grade of a relevant document; `None` if the measure does not use it, and for [`GradedKind::NumRet`] if all results count.
    pub rel: Option<Level>,
    /// Removes documents that have no judgement or a negative one, so that others move up (trec_eval -J).
    pub judged_only: bool,
    /// The number of results that count; `None` for all.
    pub cutoff: Option<usize>,
}

/// A relevance level: a grade and, if it was given by name, that name.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The lowest grade of the level.
    pub grade: f64,
    /// The name, as in `rel=highly`.
    pub name: Option<String>,
}

/// What a [`GradedMeasure`] computes.
#[derive(Clone, Copy, Debug, PartialEq, EnumString, IntoStaticStr, VariantNames)]
pub enum GradedKind {
    /// Precision: the share of relevant results among the first `cutoff`.
    #[strum(to_string = "P", serialize = "Precision")]
    P,
    /// Recall: the share of relevant documents that are in the results.
    #[strum(to_string = "R", serialize = "Recall")]
    R,
    /// Average precision: the sum of precisions at relevant results, divided by the number of relevant documents.
    #[strum(to_string = "AP", serialize = "MAP")]
    Ap,
    /// Reciprocal rank of the first relevant result.
    #[strum(to_string = "RR", serialize = "MRR")]
    Rr,
    /// Precision at the number of relevant documents.
    #[strum(to_string = "Rprec", serialize = "RPrec")]
    Rprec,
    /// 1 if any result is relevant, else 0.
    Success,
    /// Normalised discounted cumulative gain.
    #[strum(to_string = "nDCG", serialize = "NDCG")]
    Ndcg(Gain),
    /// The share of results that are judged. A ranking shorter than the cutoff is divided by its own length.
    Judged,
    /// Rank-biased precision (Moffat and Zobel, 2008).
    #[strum(serialize = "RBP")]
    Rbp {
        /// The probability that a reader goes on to the next result, between 0 and 1.
        p: f64,
    },
    /// Expected reciprocal rank (Chapelle et al., 2009). A document with grade g satisfies a reader with probability (2^g - 1) / 16, so the highest
    /// grade is 4.
    #[strum(serialize = "ERR")]
    Err,
    /// Binary preference (Buckley and Voorhees, 2004): how seldom judged documents that are not relevant stand before relevant ones.
    #[strum(to_string = "Bpref", serialize = "BPref")]
    Bpref,
    /// Inferred average precision (Yilmaz and Aslam, 2006). A negative grade marks a document that was pooled and not judged.
    #[strum(serialize = "infAP")]
    InfAp,
    /// Interpolated precision: the highest precision at this recall or a higher one.
    IPrec {
        /// From 0 to 1.
        recall: f64,
    },
    /// The share of relevant results among all.
    #[strum(to_string = "SetP", serialize = "SetRelP")]
    SetP {
        /// Whether the share is divided by the highest that a list of this length can have.
        relative: bool,
    },
    /// The share of relevant documents that are in the results.
    SetR,
    /// The weighted harmonic mean of SetP and SetR, as trec_eval defines it: (beta + 1) P R / (beta P + R). Elsewhere, F has the square of beta.
    SetF {
        /// 0 or more; at 0, the value is SetP.
        beta: f64,
    },
    /// SetP times SetR.
    #[strum(serialize = "SetAP")]
    SetAp,
    /// Scaled DCG: discounted cumulative gain, divided by that of a ranking in which all documents have the highest grade.
    #[strum(serialize = "SDCG")]
    Sdcg {
        /// The grade that gains nothing; lower grades gain nothing, too.
        min_rel: f64,
        /// The grade that gains 1; higher grades gain 1, too.
        max_rel: f64,
    },
    /// Compatibility (Clarke, Vtyurina and Smucker, 2021): the rank-biased overlap with an ideal ranking.
    Compat {
        /// The weight of each rank, relative to the rank before; between 0 and 1.
        p: f64,
        /// Whether the overlap is divided by that of the ideal ranking with itself.
        normalize: bool,
    },
    /// The probability that of two results, a relevant one and another one, the relevant one stands first. Topics without such a pair do not count.
    Accuracy,
    /// The number of judged topics that are in the run.
    NumQ,
    /// The number of results, of any grade or of a relevant one.
    #[strum(to_string = "NumRet", serialize = "NumRelRet")]
    NumRet,
    /// The number of relevant documents, of the topics that are in the run.
    NumRel,
}

/// How a measure uses the lowest grade of a relevant document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LevelUse {
    Unused,
    /// It is 1 by default, which is not printed.
    Default,
    /// It is 1 by default, which is printed, because ir_measures has no default.
    Printed,
    /// There may be none.
    Optional,
}

/// How a measure uses a cutoff.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CutoffUse {
    Unused,
    Optional,
    Needed,
}

impl GradedKind {
    fn level_use(self) -> LevelUse {
        use GradedKind as K;
        match self {
            K::Ndcg(_) | K::Judged | K::Err | K::Sdcg { .. } | K::Compat { .. } | K::NumQ => {
                LevelUse::Unused
            }
            K::Rbp { .. } => LevelUse::Printed,
            K::NumRet => LevelUse::Optional,
            _ => LevelUse::Default,
        }
    }

    fn cutoff_use(self) -> CutoffUse {
        use GradedKind as K;
        match self {
            K::P | K::R | K::Success | K::Ndcg(Gain::Organisers(_)) | K::Sdcg { .. } => {
                CutoffUse::Needed
            }
            K::Ap | K::Rr | K::Ndcg(_) | K::Judged | K::Rbp { .. } | K::Err | K::Accuracy => {
                CutoffUse::Optional
            }
            _ => CutoffUse::Unused,
        }
    }

    fn can_be_judged_only(self) -> bool {
        use GradedKind as K;
        match self {
            K::Ndcg(gain) => !matches!(gain, Gain::Organisers(_)),
            K::P | K::R | K::Ap | K::Rr | K::Rprec | K::Success => true,
            K::IPrec { .. } | K::SetP { .. } | K::SetF { .. } | K::SetAp => true,
            _ => false,
        }
    }

    /// Whether the value for all topics is the sum of their values, and not the mean.
    pub fn is_count(self) -> bool {
        matches!(
            self,
            GradedKind::NumQ | GradedKind::NumRet | GradedKind::NumRel
        )
    }

    /// The parameters that are printed, without those of all measures. ir_measures does not accept 2 for a parameter that is a float: it must be 2.0.
    fn parameters(self) -> Vec<String> {
        use GradedKind as K;
        let mut printed = Vec::new();
        match self {
            K::Ndcg(Gain::Exponential) => printed.push("dcg='exp-log2'".to_owned()),
            K::Ndcg(Gain::Organisers(script)) => printed.push(format!("touche={}", script.year)),
            K::Rbp { p } if p != 0.8 => printed.push(format!("p={p:?}")),
            K::SetP { relative: true } => printed.push("relative=True".to_owned()),
            K::SetF { beta } if beta != 1.0 => printed.push(format!("beta={beta:?}")),
            K::Sdcg { min_rel, max_rel } => {
                if min_rel != 0.0 {
                    printed.push(format!("min_rel={min_rel}"));
                }
                printed.push(format!("max_rel={max_rel}"));
            }
            K::Compat { p, normalize } => {
                if p != 0.95 {
                    printed.push(format!("p={p:?}"));
                }
                if !normalize {
                    printed.push("normalize=False".to_owned());
                }
            }
            _ => {}
        }
        printed
    }
}

/// What a document gains by its grade, in nDCG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gain {
    /// The grade, as trec_eval computes it: the discount is log2(rank + 1); unjudged documents and negative grades gain 0.
    #[default]
    Grade,
    /// 2^grade - 1.
    Exponential,
    /// As a script of the organisers computes it.
    Organisers(&'static Ndcg),
}

/// A measure of a ranking for topics with subtopics. A document is relevant for a subtopic or not.
#[derive(Clone, Debug, PartialEq)]
pub struct DiversityMeasure {
    /// What is computed.
    pub kind: DiversityKind,
    /// The lowest grade of a relevant document.
    pub rel: Level,
    /// The number of results that count; `None` for all.
    pub cutoff: Option<usize>,
}

/// What a [`DiversityMeasure`] computes. `alpha`, from 0 to 1, is how much less a document gains for a subtopic that another one has covered; `beta`, between
/// 0 and 1, is the probability that a reader goes on to the next result.
#[derive(Clone, Copy, Debug, PartialEq, EnumString, IntoStaticStr, VariantNames)]
pub enum DiversityKind {
    /// DCG of the gains (Clarke et al., 2008), divided by that of an ideal ranking.
    #[strum(to_string = "alpha_nDCG", serialize = "α_nDCG")]
    AlphaNdcg {
        /// 0.5 by default.
        alpha: f64,
    },
    /// The same, divided by that of a ranking in which each document covers all subtopics.
    #[strum(to_string = "alpha_DCG", serialize = "α_DCG")]
    AlphaDcg {
        /// 0.5 by default.
        alpha: f64,
    },
    /// Intent-aware expected reciprocal rank (Chapelle et al., 2009), divided by that of a ranking in which each document covers all subtopics.
    #[strum(serialize = "ERR_IA")]
    ErrIa,
    /// The same, divided by that of an ideal ranking.
    #[strum(serialize = "nERR_IA")]
    NErrIa,
    /// Novelty- and rank-biased precision (Clarke, Kolla and Vechtomova, 2009).
    #[strum(serialize = "NRBP")]
    Nrbp {
        /// 0.5 by default.
        alpha: f64,
        /// 0.5 by default.
        beta: f64,
    },
    /// The same, divided by that of an ideal ranking.
    #[strum(serialize = "nNRBP")]
    NNrbp {
        /// 0.5 by default.
        alpha: f64,
        /// 0.5 by default.
        beta: f64,
    },
    /// The mean of the average precisions for each subtopic.
    #[strum(to_string = "AP_IA", serialize = "MAP_IA")]
    ApIa,
    /// The mean of the precisions for each subtopic.
    #[strum(serialize = "P_IA")]
    PIa,
    /// The share of subtopics that the results cover.
    StRecall,
}

impl DiversityKind {
    /// Whether the measure needs a cutoff. The others take none.
    fn needs_cutoff(self) -> bool {
        use DiversityKind as K;
        !matches!(self, K::Nrbp { .. } | K::NNrbp { .. } | K::ApIa)
    }

    /// The parameters that are printed, without `rel`.
    fn parameters(self) -> Vec<String> {
        use DiversityKind as K;
        let (alpha, beta) = match self {
            K::AlphaNdcg { alpha } | K::AlphaDcg { alpha } => (alpha, 0.5),
            K::Nrbp { alpha, beta } | K::NNrbp { alpha, beta } => (alpha, beta),
            _ => return Vec::new(),
        };
        let named = [("alpha", alpha), ("beta", beta)].into_iter();
        let printed = named.filter(|(_, value)| *value != 0.5);
        printed
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect()
    }
}

/// What an [`ImageMeasure`] asks of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
pub enum ImageQuestion {
    /// Is it about the topic?
    #[strum(serialize = "topicRelevanceP")]
    OnTopic,
    /// Does it argue for either side?
    #[strum(serialize = "argumentativenessP")]
    Argumentative,
    /// Does it argue for the side of its list?
    #[strum(serialize = "stanceRelevanceP")]
    OnStance,
}

/// P@10 of an image run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageMeasure {
    /// What must be true of an image that counts.
    pub question: ImageQuestion,
    /// Whether all judged topics count, not only those in the run (the official denominator).
    pub all_judged: bool,
    /// Only lists of this stance count; `None` for both lists.
    pub list: Option<Stance>,
}

/// How well the stances in a text run agree with the judged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StanceMeasure {
    /// What is computed.
    pub kind: StanceKind,
    /// The class that is measured; `None` for the mean over all four.
    pub class: Option<ObjectStance>,
    /// Only this many results of each topic count; `None` for all.
    pub cutoff: Option<usize>,
}

/// What a [`StanceMeasure`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
pub enum StanceKind {
    /// The share of the results with this stance for which it was judged, too.
    #[strum(serialize = "StanceP")]
    Precision,
    /// The share of the results judged to have this stance that the run gives it.
    #[strum(serialize = "StanceR")]
    Recall,
    /// The harmonic mean of precision and recall.
    #[strum(serialize = "StanceF1")]
    F1,
}

/// The names of the measures, each as it is printed: those of graded judgements, of subtopics, of images and of stances. With judgements of images, `P` means all
/// that are of images.
pub const NAMES: [&[&str]; 4] = [
    GradedKind::VARIANTS,
    DiversityKind::VARIANTS,
    ImageQuestion::VARIANTS,
    StanceKind::VARIANTS,
];

/// The measures that papers print for BEIR's and TREC's collections.
pub const OF_COLLECTIONS: [&str; 7] = [
    "nDCG@10",
    "AP",
    "RR",
    "P@10",
    "R@100",
    "R@1000",
    "Judged@10",
];

/// The measures that TREC's tasks of diversity print first.
pub const OF_SUBTOPICS: [&str; 5] = ["alpha_nDCG@20", "ERR_IA@20", "StRecall@20", "nDCG@10", "AP"];

/// Names of grades, for `rel=NAME`.
pub type Levels<'a> = &'a [(String, f64)];

/// The names that Touché gives to grades.
pub const TOUCHE_LEVELS: [(&str, f64); 2] = [("relevant", 1.0), ("highly", 2.0)];

impl Measure {
    /// The measures that are computed from judgements if the user names no others. For those of Touché ([`qrels::are_of_touche`]), they are those of the
    /// first edition that has judgements of this kind, and for other graded documents [`OF_COLLECTIONS`].
    ///
    /// [`qrels::are_of_touche`]: crate::qrels::are_of_touche
    ///
    /// # Errors
    /// None: a test parses all of them.
    pub fn defaults(qrels: &Qrels, are_of_touche: bool) -> Result<Vec<Measure>, Error> {
        if let Qrels::Subtopics(_) = qrels {
            return OF_SUBTOPICS.iter().map(|name| name.parse()).collect();
        }
        if matches!(qrels, Qrels::Graded(_)) && !are_of_touche {
            return OF_COLLECTIONS.iter().map(|name| name.parse()).collect();
        }
        let of_images = matches!(qrels, Qrels::Images(_) | Qrels::Answers(_));
        for edition in EDITIONS.iter().filter(|of| of.task.is_none() == of_images) {
            let measures = edition.measures.iter().map(|name| name.parse());
            let mut measures = measures.collect::<Result<Vec<Measure>, Error>>()?;
            measures.retain(|measure| measure.fits(qrels));
            if !measures.is_empty() {
                return Ok(measures);
            }
        }
        Ok(Vec::new())
    }

    /// What the measure is, if no program but riposte and the organisers' script has it.
    pub fn explanation(&self) -> Option<String> {
        match self {
            Measure::Graded(GradedMeasure {
                kind: GradedKind::Ndcg(Gain::Organisers(script)),
                ..
            }) => Some(script.to_string()),
            _ => None,
        }
    }

    /// Whether the measure can be computed from judgements of this kind.
    pub fn fits(&self, qrels: &Qrels) -> bool {
        match qrels {
            Qrels::Images(_) => matches!(self, Measure::Image(_)),
            Qrels::Graded(_) | Qrels::Answers(_) => matches!(self, Measure::Graded(_)),
            Qrels::Subtopics(_) => matches!(self, Measure::Graded(_) | Measure::Diversity(_)),
            Qrels::Stances(_) => matches!(self, Measure::Stance(_)),
        }
    }
}

impl FromStr for Measure {
    type Err = Error;

    /// Parses with the level names of [`TOUCHE_LEVELS`].
    fn from_str(text: &str) -> Result<Measure, Error> {
        let levels = TOUCHE_LEVELS.map(|(name, grade)| (name.to_owned(), grade));
        Measure::parse(text, &levels)
    }
}

impl Level {
    fn parameter(&self) -> String {
        match &self.name {
            Some(name) => format!("rel={name}"),
            None => format!("rel={}", self.grade),
        }
    }
}

impl Default for Level {
    fn default() -> Level {
        Level {
            grade: 1.0,
            name: None,
        }
    }
}

impl GradedMeasure {
    /// The parameters that are printed: none that has its default value.
    fn parameters(&self) -> Vec<String> {
        let mut printed = self.kind.parameters();
        let is_implied = self.kind.level_use() == LevelUse::Default;
        let level = self.rel.iter();
        let level = level.filter(|level| **level != Level::default() || !is_implied);
        printed.extend(level.map(Level::parameter));
        if self.judged_only {
            printed.push("judged_only=True".to_owned());
        }
        printed
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, parameters, cutoff): (&str, Vec<String>, _) = match self {
            Measure::Graded(measure) => (measure.kind.into(), measure.parameters(), measure.cutoff),
            Measure::Diversity(measure) => {
                let mut parameters = measure.kind.parameters();
                if measure.rel != Level::default() {
                    parameters.push(measure.rel.parameter());
                }
                (measure.kind.into(), parameters, measure.cutoff)
            }
            Measure::Image(measure) => {
                let mut parameters = Vec::new();
                if measure.all_judged {
                    parameters.push("topics=judged".to_owned());
                }
                parameters.extend(measure.list.map(|list| format!("list={list}")));
                (measure.question.into(), parameters, Some(10))
            }
            Measure::Stance(measure) => {
                let class = measure.class.map(|class| format!("class={class}"));
                let parameters = class.into_iter().collect();
                (measure.kind.into(), parameters, measure.cutoff)
            }
        };
        f.write_str(name)?;
        if !parameters.is_empty() {
            write!(f, "({})", parameters.join(","))?;
        }
        match self {
            Measure::Graded(GradedMeasure {
                kind: GradedKind::IPrec { recall },
                ..
            }) => write!(f, "@{recall:?}"),
            _ => cutoff.map_or(Ok(()), |cutoff| write!(f, "@{cutoff}")),
        }
    }
}
