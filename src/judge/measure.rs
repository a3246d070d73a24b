//! The measures and their names. A measure prints under the name from which it is parsed. The names for text retrieval are those of
//! ir_measures (`nDCG@5`, `P(rel=2)@10`), with the same meaning.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use crate::trec::edition::{EDITIONS, Ndcg};
use crate::trec::qrels::Qrels;
use crate::trec::{ObjectStance, Stance};

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
    pub grade: f64,
    pub name: Option<String>,
}

/// What a [`GradedMeasure`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradedKind {
    /// Precision: the share of relevant results among the first `cutoff`.
    P,
    /// Recall: the share of relevant documents that are in the results.
    R,
    /// Average precision: the sum of precisions at relevant results, divided by the number of relevant documents.
    Ap,
    /// Reciprocal rank of the first relevant result.
    Rr,
    /// Precision at the number of relevant documents.
    Rprec,
    /// 1 if any result is relevant, else 0.
    Success,
    /// The share of results that are judged. A ranking shorter than the cutoff is divided by its own length.
    Judged,
    /// nDCG as trec_eval computes it: the gain is the grade, the discount log2(rank + 1); unjudged documents and negative grades gain 0.
    Ndcg,
    /// nDCG with a gain of 2^grade - 1.
    NdcgExponential,
    /// nDCG as a script of the organisers computes it.
    NdcgOrganisers(&'static Ndcg),
}

/// What an [`ImageMeasure`] asks of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageQuestion {
    OnTopic,
    Argumentative,
    OnStance,
}

/// P@10 of an image run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageMeasure {
    pub question: ImageQuestion,
    /// Whether all judged topics count, not only those in the run (the official denominator).
    pub all_judged: bool,
    /// Only lists of this stance count; `None` for both lists.
    pub list: Option<Stance>,
}

/// How well the stances in a text run agree with the judged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StanceMeasure {
    pub kind: StanceKind,
    /// The class that is measured; `None` for the mean over all four.
    pub class: Option<ObjectStance>,
    /// Only this many results of each topic count; `None` for all.
    pub cutoff: Option<usize>,
}

/// What a [`StanceMeasure`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StanceKind {
    Precision,
    Recall,
    F1,
}

/// The names of the measures, each as it is printed.
pub(crate) const NAMES: [&str; 14] = [
    "P",
    "R",
    "AP",
    "RR",
    "Rprec",
    "Success",
    "nDCG",
    "Judged",
    "topicRelevanceP",
    "argumentativenessP",
    "stanceRelevanceP",
    "StanceP",
    "StanceR",
    "StanceF1",
];

/// The measures of image runs. With judgements of images, `P` means these.
pub(crate) const IMAGE_MEASURES: [&str; 3] =
    ["topicRelevanceP", "argumentativenessP", "stanceRelevanceP"];

/// Names of grades, for `rel=NAME`.
pub(crate) type Levels<'a> = &'a [(String, f64)];

/// The names that Touché gives to grades.
pub(crate) const TOUCHE_LEVELS: [(&str, f64); 2] = [("relevant", 1.0), ("highly", 2.0)];

/// A measure's name, split into its parts: `Name(key=value,…)@cutoff`.
struct ParsedName<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    cutoff: Option<usize>,
}

impl<'a> ParsedName<'a> {
    fn parse(text: &'a str) -> Result<ParsedName<'a>> {
        let text = text.trim();
        let (front, cutoff) = match text.rsplit_once('@') {
            Some((front, cutoff)) => {
                let cutoff: usize = cutoff
                    .trim()
                    .parse()
                    .ok()
                    .filter(|c| *c > 0)
                    .with_context(|| format!("{cutoff:?} is not a cutoff"))?;
                (front.trim(), Some(cutoff))
            }
            None => (text, None),
        };
        let (name, inside) = match front.split_once('(') {
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').context("a bracket is not closed")?;
                (name.trim(), inside)
            }
            None => (front, ""),
        };
        let mut parameters: Vec<(&str, &str)> = Vec::new();
        for parameter in inside.split(',').filter(|p| !p.trim().is_empty()) {
            let (key, value) = parameter
                .split_once('=')
                .with_context(|| format!("{parameter:?} is not key=value"))?;
            let key = key.trim();
            ensure!(
                parameters.iter().all(|(k, _)| *k != key),
                "{key} is given twice"
            );
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
    pub fn defaults(qrels: &Qrels) -> Result<Vec<Measure>> {
        let of_images = matches!(qrels, Qrels::Images(_) | Qrels::Answers(_));
        for edition in EDITIONS.iter().filter(|of| of.task.is_none() == of_images) {
            let measures = edition.measures.iter().map(|name| name.parse());
            let mut measures = measures.collect::<Result<Vec<Measure>>>()?;
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

    /// The measure with this name. Errors: an unknown name or parameter, a cutoff that is missing or not supported, a level that is not
    /// in `levels`.
    pub fn parse(text: &str, levels: Levels) -> Result<Measure> {
        Measure::from_name(text, levels).with_context(|| format!("no measure {text:?}"))
    }

    fn from_name(text: &str, levels: Levels) -> Result<Measure> {
        let mut parts = ParsedName::parse(text)?;
        let measure = match parts.name {
            "topicRelevanceP" => Measure::image(ImageQuestion::OnTopic, &mut parts)?,
            "argumentativenessP" => Measure::image(ImageQuestion::Argumentative, &mut parts)?,
            "stanceRelevanceP" => Measure::image(ImageQuestion::OnStance, &mut parts)?,
            "StanceP" => Measure::stance(StanceKind::Precision, &mut parts)?,
            "StanceR" => Measure::stance(StanceKind::Recall, &mut parts)?,
            "StanceF1" => Measure::stance(StanceKind::F1, &mut parts)?,
            name => Measure::graded(name, &mut parts, levels)?,
        };
        if let Some((key, value)) = parts.parameters.first() {
            bail!("it takes no {key}={value}");
        }
        Ok(measure)
    }

    fn graded(name: &str, parts: &mut ParsedName, levels: Levels) -> Result<Measure> {
        use GradedKind as K;
        let kind = match name {
            "P" | "Precision" => K::P,
            "R" | "Recall" => K::R,
            "AP" | "MAP" => K::Ap,
            "RR" | "MRR" => K::Rr,
            "Rprec" | "RPrec" => K::Rprec,
            "Success" => K::Success,
            "Judged" => K::Judged,
            "nDCG" | "NDCG" => match (parts.take("touche"), parts.take("dcg")) {
                (None, None | Some("log2")) => K::Ndcg,
                (None, Some("exp-log2")) => K::NdcgExponential,
                (Some(_), Some(_)) => bail!("touche and dcg cannot be combined"),
                (None, Some(dcg)) => bail!("dcg={dcg}: log2 or exp-log2"),
                (Some(year), None) => match Ndcg::of_year(year) {
                    Some(script) => K::NdcgOrganisers(script),
                    None => bail!("touche={year}: {}", Ndcg::known()),
                },
            },
            _ => bail!(
                "known are P, R, AP, RR, Rprec, Success, nDCG, Judged; for images topicRelevanceP, \
                 argumentativenessP, stanceRelevanceP; for stances StanceP, StanceR, StanceF1"
            ),
        };
        let ranked_by_grade = matches!(kind, K::Ndcg | K::NdcgExponential | K::NdcgOrganisers(_));
        let rel = match (parts.take("rel"), ranked_by_grade || kind == K::Judged) {
            (Some(rel), false) => Level::parse(rel, levels)?,
            (Some(rel), true) => bail!("it takes no rel={rel}"),
            (None, _) => Level {
                grade: 1.0,
                name: None,
            },
        };
        let judged_only = match parts.take("judged_only") {
            None | Some("False") => false,
            Some("True") if !matches!(kind, K::Judged | K::NdcgOrganisers(_)) => true,
            Some(value) => bail!("judged_only={value}"),
        };
        let cutoff = parts.cutoff;
        match kind {
            K::P | K::R | K::Success | K::NdcgOrganisers(_) => {
                ensure!(cutoff.is_some(), "it needs a cutoff, as in {name}@5");
            }
            K::Rprec => ensure!(cutoff.is_none(), "it takes no cutoff"),
            _ => {}
        }
        Ok(Measure::Graded(GradedMeasure {
            kind,
            rel,
            judged_only,
            cutoff,
        }))
    }

    fn image(question: ImageQuestion, parts: &mut ParsedName) -> Result<Measure> {
        ensure!(parts.cutoff == Some(10), "image runs are measured @10");
        let all_judged = match parts.take("topics") {
            None | Some("run") => false,
            Some("judged") => true,
            Some(topics) => bail!("topics={topics}: run or judged"),
        };
        let list = match parts.take("list") {
            None => None,
            Some("PRO") => Some(Stance::Pro),
            Some("CON") => Some(Stance::Con),
            Some(list) => bail!("list={list}: PRO or CON"),
        };
        Ok(Measure::Image(ImageMeasure {
            question,
            all_judged,
            list,
        }))
    }

    fn stance(kind: StanceKind, parts: &mut ParsedName) -> Result<Measure> {
        let class = match parts.take("class") {
            None => None,
            Some(class) => Some(
                ObjectStance::parse(class)
                    .with_context(|| format!("class={class}: FIRST, SECOND, NEUTRAL or NO"))?,
            ),
        };
        Ok(Measure::Stance(StanceMeasure {
            kind,
            class,
            cutoff: parts.cutoff,
        }))
    }
}

impl FromStr for Measure {
    type Err = anyhow::Error;

    /// Parses with the level names of [`TOUCHE_LEVELS`].
    fn from_str(text: &str) -> Result<Measure> {
        let levels = TOUCHE_LEVELS.map(|(name, grade)| (name.to_owned(), grade));
        Measure::parse(text, &levels)
    }
}

impl Level {
    fn parse(text: &str, levels: Levels) -> Result<Level> {
        if let Some((name, grade)) = levels.iter().find(|(name, _)| name == text) {
            return Ok(Level {
                grade: *grade,
                name: Some(name.clone()),
            });
        }
        match text.parse() {
            Ok(grade) if f64::is_finite(grade) => Ok(Level { grade, name: None }),
            _ => {
                let known: Vec<&str> = levels.iter().map(|(name, _)| name.as_str()).collect();
                bail!("rel={text}: a grade, or one of {}", known.join(", "))
            }
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, parameters, cutoff) = match self {
            Measure::Graded(graded) => graded.parts(),
            Measure::Image(image) => image.parts(),
            Measure::Stance(stance) => stance.parts(),
        };
        f.write_str(name)?;
        if !parameters.is_empty() {
            write!(f, "({})", parameters.join(","))?;
        }
        match cutoff {
            Some(cutoff) => write!(f, "@{cutoff}"),
            None => Ok(()),
        }
    }
}

type NameParts = (&'static str, Vec<String>, Option<usize>);

impl GradedMeasure {
    fn parts(&self) -> NameParts {
        use GradedKind as K;
        let mut parameters = Vec::new();
        let name = match self.kind {
            K::P => "P",
            K::R => "R",
            K::Ap => "AP",
            K::Rr => "RR",
            K::Rprec => "Rprec",
            K::Success => "Success",
            K::Judged => "Judged",
            K::Ndcg => "nDCG",
            K::NdcgExponential => {
                parameters.push("dcg='exp-log2'".to_owned());
                "nDCG"
            }
            K::NdcgOrganisers(script) => {
                parameters.push(format!("touche={}", script.year));
                "nDCG"
            }
        };
        match &self.rel.name {
            Some(level) => parameters.push(format!("rel={level}")),
            None if self.rel.grade != 1.0 => parameters.push(format!("rel={}", self.rel.grade)),
            None => {}
        }
        if self.judged_only {
            parameters.push("judged_only=True".to_owned());
        }
        (name, parameters, self.cutoff)
    }
}

impl ImageMeasure {
    fn parts(&self) -> NameParts {
        let name = match self.question {
            ImageQuestion::OnTopic => "topicRelevanceP",
            ImageQuestion::Argumentative => "argumentativenessP",
            ImageQuestion::OnStance => "stanceRelevanceP",
        };
        let mut parameters = Vec::new();
        if self.all_judged {
            parameters.push("topics=judged".to_owned());
        }
        if let Some(list) = self.list {
            parameters.push(format!("list={list}"));
        }
        (name, parameters, Some(10))
    }
}

impl StanceMeasure {
    fn parts(&self) -> NameParts {
        let name = match self.kind {
            StanceKind::Precision => "StanceP",
            StanceKind::Recall => "StanceR",
            StanceKind::F1 => "StanceF1",
        };
        let class = self.class.map(|class| format!("class={class}"));
        (name, class.into_iter().collect(), self.cutoff)
    }
}
