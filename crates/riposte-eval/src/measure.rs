//! The measures and their names.
//!
//! A measure prints under the name from which it is parsed. The names for text retrieval are those of ir_measures, with the same meaning.
//!
//! | name | judgements | parameters | `@cutoff` |
//! |---|---|---|---|
//! | `P`, `R`, `Success` | grades | `rel=2` (a relevant document has at least this grade; default 1), `judged_only=True` | needed |
//! | `AP`, `RR` | grades | the same | optional |
//! | `Rprec` | grades | the same | none |
//! | `nDCG` | grades | `dcg=exp-log2`, `judged_only=True`; or `touche=2021`: as the organisers' script computes it | optional; needed with `touche` |
//! | `Judged` | grades | | optional |
//! | `topicRelevanceP`, `argumentativenessP`, `stanceRelevanceP` | images | `topics=judged`, `list=PRO` | `@10` |
//! | `StanceP`, `StanceR`, `StanceF1` | stances | `class=FIRST` | optional |
//!
//! Documents with equal scores are sorted by id in descending order, as in trec_eval, with which ir_measures computes most of these measures. For `Judged`
//! and for `RR` with a cutoff, which ir_measures computes itself, they are sorted in ascending order.
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
    /// The lowest grade of a relevant document. nDCG and Judged do not use it.
    pub rel: Level,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
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

/// The names of the measures, each as it is printed: those of graded judgements, of images and of stances. With judgements of images, `P` means all
/// that are of images.
pub const NAMES: [&[&str]; 3] = [
    GradedKind::VARIANTS,
    ImageQuestion::VARIANTS,
    StanceKind::VARIANTS,
];

/// Names of grades, for `rel=NAME`.
pub type Levels<'a> = &'a [(String, f64)];

/// The names that Touché gives to grades.
pub const TOUCHE_LEVELS: [(&str, f64); 2] = [("relevant", 1.0), ("highly", 2.0)];

/// A measure's name, split into its parts: `Name(key=value,…)@cutoff`.
struct ParsedName<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    cutoff: Option<usize>,
}

impl<'a> ParsedName<'a> {
    /// The error says what is wrong, as do the other functions of this file that a name passes through.
    fn parse(text: &'a str) -> Result<ParsedName<'a>, String> {
        let (front, cutoff) = match text.trim().rsplit_once('@') {
            Some((front, cutoff)) => {
                let number = cutoff.trim().parse().ok().filter(|number| *number > 0);
                let number = number.ok_or_else(|| format!("{cutoff:?} is not a cutoff"))?;
                (front.trim(), Some(number))
            }
            None => (text.trim(), None),
        };
        let (name, inside) = match front.split_once('(') {
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').ok_or("a bracket is not closed")?;
                (name.trim(), inside)
            }
            None => (front, ""),
        };
        let mut parameters: Vec<(&str, &str)> = Vec::new();
        for parameter in inside.split(',').filter(|p| !p.trim().is_empty()) {
            let (key, value) = parameter
                .split_once('=')
                .ok_or_else(|| format!("{parameter:?} is not key=value"))?;
            let key = key.trim();
            if parameters.iter().any(|(k, _)| *k == key) {
                return Err(format!("{key} is given twice"));
            }
            parameters.push((key, value.trim().trim_matches(['\'', '"'])));
        }
        Ok(ParsedName {
            name,
            parameters,
            cutoff,
        })
    }

    /// Removes a parameter and returns its value. Parameters that remain at the end are unknown.
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.parameters.iter().position(|(k, _)| *k == key)?;
        Some(self.parameters.remove(at).1)
    }
}

impl Measure {
    /// The measures that are computed from judgements if the user names no others: those of the first edition that has judgements of this kind.
    ///
    /// # Errors
    /// None: a test parses the measures of all editions.
    pub fn defaults(qrels: &Qrels) -> Result<Vec<Measure>, Error> {
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

    /// Whether the measure can be computed from judgements of this kind.
    pub fn fits(&self, qrels: &Qrels) -> bool {
        match qrels {
            Qrels::Images(_) => matches!(self, Measure::Image(_)),
            Qrels::Graded(_) | Qrels::Answers(_) => matches!(self, Measure::Graded(_)),
            Qrels::Stances(_) => matches!(self, Measure::Stance(_)),
        }
    }

    /// The measure with this name. `levels` are the words that `rel` may have besides numbers; `str::parse` allows those of
    /// [`TOUCHE_LEVELS`].
    ///
    /// # Errors
    /// An unknown name or parameter, a cutoff that is missing or not supported, a level that is not in `levels`.
    pub fn parse(text: &str, levels: Levels) -> Result<Measure, Error> {
        Measure::from_name(text, levels).map_err(|why| Error::Measure {
            name: text.to_owned(),
            why,
        })
    }

    fn from_name(text: &str, levels: Levels) -> Result<Measure, String> {
        let mut parts = ParsedName::parse(text)?;
        let name = parts.name;
        let measure = if let Ok(question) = name.parse() {
            Measure::image(question, &mut parts)?
        } else if let Ok(kind) = name.parse() {
            Measure::stance(kind, &mut parts)?
        } else {
            Measure::graded(name, &mut parts, levels)?
        };
        if let Some((key, value)) = parts.parameters.first() {
            return Err(format!("it takes no {key}={value}"));
        }
        Ok(measure)
    }

    fn graded(name: &str, parts: &mut ParsedName, levels: Levels) -> Result<Measure, String> {
        use GradedKind as K;
        let Ok(mut kind) = name.parse() else {
            let [graded, images, stances] = NAMES.map(|names| names.join(", "));
            return Err(format!(
                "known are {graded}; for images {images}; for stances {stances}"
            ));
        };
        if let K::Ndcg(gain) = &mut kind {
            *gain = match (parts.take("touche"), parts.take("dcg")) {
                (None, None | Some("log2")) => Gain::Grade,
                (None, Some("exp-log2")) => Gain::Exponential,
                (Some(_), Some(_)) => return Err("touche and dcg cannot be combined".to_owned()),
                (None, Some(dcg)) => return Err(format!("dcg={dcg}: log2 or exp-log2")),
                (Some(year), None) => match Ndcg::of_year(year) {
                    Some(script) => Gain::Organisers(script),
                    None => return Err(format!("touche={year}: {}", Ndcg::known())),
                },
            };
        }
        let rel = match (parts.take("rel"), kind) {
            (Some(rel), K::Ndcg(_) | K::Judged) => return Err(format!("it takes no rel={rel}")),
            (Some(rel), _) => Level::parse(rel, levels)?,
            (None, _) => Level {
                grade: 1.0,
                name: None,
            },
        };
        let judged_only = match parts.take("judged_only") {
            None | Some("False") => false,
            Some("True") if !matches!(kind, K::Judged | K::Ndcg(Gain::Organisers(_))) => true,
            Some(value) => return Err(format!("judged_only={value}")),
        };
        let cutoff = parts.cutoff;
        match kind {
            K::P | K::R | K::Success | K::Ndcg(Gain::Organisers(_)) if cutoff.is_none() => {
                return Err(format!("it needs a cutoff, as in {name}@5"));
            }
            K::Rprec if cutoff.is_some() => return Err("it takes no cutoff".to_owned()),
            _ => {}
        }
        Ok(Measure::Graded(GradedMeasure {
            kind,
            rel,
            judged_only,
            cutoff,
        }))
    }

    fn image(question: ImageQuestion, parts: &mut ParsedName) -> Result<Measure, String> {
        if parts.cutoff != Some(10) {
            return Err("image runs are measured @10".to_owned());
        }
        let all_judged = match parts.take("topics") {
            None | Some("run") => false,
            Some("judged") => true,
            Some(topics) => return Err(format!("topics={topics}: run or judged")),
        };
        let list = parts.take("list").map(|list| {
            let stance: Option<Stance> = list.parse().ok();
            stance.ok_or_else(|| format!("list={list}: PRO or CON"))
        });
        Ok(Measure::Image(ImageMeasure {
            question,
            all_judged,
            list: list.transpose()?,
        }))
    }

    fn stance(kind: StanceKind, parts: &mut ParsedName) -> Result<Measure, String> {
        let class = parts.take("class").map(|class| {
            let stance = ObjectStance::parse(class);
            stance.ok_or_else(|| format!("class={class}: FIRST, SECOND, NEUTRAL or NO"))
        });
        Ok(Measure::Stance(StanceMeasure {
            kind,
            class: class.transpose()?,
            cutoff: parts.cutoff,
        }))
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
    fn parse(text: &str, levels: Levels) -> Result<Level, String> {
        let named = levels.iter().find(|(name, _)| name == text);
        let (name, grade) = match named {
            Some((name, grade)) => (Some(name.clone()), Some(*grade)),
            None => (
                None,
                text.parse().ok().filter(|grade| f64::is_finite(*grade)),
            ),
        };
        let grade = grade.ok_or_else(|| {
            let known: Vec<&str> = levels.iter().map(|(name, _)| name.as_str()).collect();
            format!("rel={text}: a grade, or one of {}", known.join(", "))
        })?;
        Ok(Level { grade, name })
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parameters = Vec::new();
        let (name, cutoff): (&str, _) = match self {
            Measure::Graded(measure) => {
                match measure.kind {
                    GradedKind::Ndcg(Gain::Exponential) => {
                        parameters.push("dcg='exp-log2'".to_owned());
                    }
                    GradedKind::Ndcg(Gain::Organisers(script)) => {
                        parameters.push(format!("touche={}", script.year));
                    }
                    _ => {}
                }
                match &measure.rel {
                    Level { name: Some(of), .. } => parameters.push(format!("rel={of}")),
                    Level { grade, .. } if *grade != 1.0 => parameters.push(format!("rel={grade}")),
                    _ => {}
                }
                if measure.judged_only {
                    parameters.push("judged_only=True".to_owned());
                }
                (measure.kind.into(), measure.cutoff)
            }
            Measure::Image(measure) => {
                if measure.all_judged {
                    parameters.push("topics=judged".to_owned());
                }
                parameters.extend(measure.list.map(|list| format!("list={list}")));
                (measure.question.into(), Some(10))
            }
            Measure::Stance(measure) => {
                parameters.extend(measure.class.map(|class| format!("class={class}")));
                (measure.kind.into(), measure.cutoff)
            }
        };
        f.write_str(name)?;
        if !parameters.is_empty() {
            write!(f, "({})", parameters.join(","))?;
        }
        cutoff.map_or(Ok(()), |cutoff| write!(f, "@{cutoff}"))
    }
}
