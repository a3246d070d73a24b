//! The measures by name. A measure prints under the name that it is parsed from; the names of text
//! retrieval are those of ir_measures (`nDCG@5`, `P(rel=2)@10`), and mean the same.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use crate::trec::{ObjectStance, Stance};

/// Something that a run is measured by.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// On graded judgements.
    Graded(GradedMeasure),
    /// P@10 on image judgements.
    Image(ImageMeasure),
    /// On the stances of passages.
    Stance(StanceMeasure),
}

/// A measure of a ranking by graded judgements.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedMeasure {
    pub kind: GradedKind,
    /// From which grade on a document is relevant; not asked by nDCG and Judged.
    pub rel: Level,
    /// Leaves out documents without a judgement, or with a negative one, so that others move up (trec_eval -J).
    pub judged_only: bool,
    /// Results looked at; all if none.
    pub cutoff: Option<usize>,
}

/// A relevance level: a grade, and the name under which it was asked for, if it was by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub grade: f64,
    pub name: Option<String>,
}

/// What a [`GradedMeasure`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradedKind {
    /// Precision: relevant results by the cutoff.
    P,
    /// Recall: relevant results by the number of relevant documents.
    R,
    /// Average precision, by the number of relevant documents.
    Ap,
    /// One by the rank of the first relevant result.
    Rr,
    /// Precision at as many results as there are relevant documents.
    Rprec,
    /// Whether any result is relevant.
    Success,
    /// Share of the results that are judged; shorter rankings by their length.
    Judged,
    /// trec_eval's: gain linear in the grade, by log2(rank + 1); unjudged and negative grades gain nothing.
    Ndcg,
    /// The same with a gain of 2^grade - 1.
    NdcgExponential,
    /// The organisers' script of that year.
    NdcgOrganisers(OrganisersNdcg),
}

/// The organisers' scripts that compute nDCG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrganisersNdcg {
    /// `evaluate.py` of 2020 to 2022, Tasks 1 and 2: results by their rank column, cut off, and only then rid
    /// of unjudged documents; -2 gains as 0; a topic in which nothing can be gained or nothing listed is judged is
    /// left out of the mean.
    Touche2021,
    /// `eval_file.py` of 2025, images for arguments: the first five by rank; arguments that the run leaves out, or
    /// that the organisers exclude, do not count.
    Touche2025,
}

/// What the images of an [`ImageMeasure`] must be.
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
    /// All judged topics instead of the run's (which is the official denominator).
    pub all_judged: bool,
    /// Only the lists of this stance.
    pub list: Option<Stance>,
}

/// How well the stances of a text run agree with the judged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StanceMeasure {
    pub kind: StanceKind,
    /// Of one class; the mean of the four if none.
    pub class: Option<ObjectStance>,
    /// Only the first results of each topic; all if none.
    pub cutoff: Option<usize>,
}

/// What a [`StanceMeasure`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StanceKind {
    Precision,
    Recall,
    F1,
}

/// Names for grades, to be used as `rel=NAME`.
pub type Levels<'a> = &'a [(String, f64)];

/// What the task calls its grades.
pub const TOUCHE_LEVELS: [(&str, f64); 2] = [("relevant", 1.0), ("highly", 2.0)];

/// The measures shown where none is asked for, by the kind of the judgements.
pub const GRADED_DEFAULTS: &[&str] = &[
    "nDCG(touche=2021)@5",
    "nDCG@5",
    "P@5",
    "AP",
    "RR",
    "R@1000",
    "Judged@5",
];
pub const IMAGE_DEFAULTS: &[&str] = &[
    "topicRelevanceP@10",
    "argumentativenessP@10",
    "stanceRelevanceP@10",
    "topicRelevanceP(topics=judged)@10",
    "argumentativenessP(topics=judged)@10",
    "stanceRelevanceP(topics=judged)@10",
];
pub const STANCE_DEFAULTS: &[&str] = &["StanceF1", "StanceF1@5"];
pub const ANSWER_DEFAULTS: &[&str] = &[
    "nDCG(touche=2025)@1",
    "nDCG(touche=2025)@3",
    "nDCG(touche=2025)@5",
    "nDCG@5",
    "Judged@5",
];

/// The parts of a name: `Name(key=value,…)@cutoff`.
struct Parts<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    cutoff: Option<usize>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Parts<'a>> {
        let text = text.trim();
        let (front, cutoff) = match text.rsplit_once('@') {
            Some((front, cutoff)) => {
                let cutoff: usize = cutoff
                    .trim()
                    .parse()
                    .ok()
                    .filter(|c| *c > 0)
                    .with_context(|| format!("{cutoff:?} is no cutoff"))?;
                (front.trim(), Some(cutoff))
            }
            None => (text, None),
        };
        let (name, inside) = match front.split_once('(') {
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').context("a bracket stays open")?;
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
                "{key} is there twice"
            );
            parameters.push((key, value.trim().trim_matches(['\'', '"'])));
        }
        Ok(Parts {
            name,
            parameters,
            cutoff,
        })
    }

    /// Takes a parameter out; what is left at the end is unknown.
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.parameters.iter().position(|(k, _)| *k == key)?;
        Some(self.parameters.remove(at).1)
    }
}

impl Measure {
    /// The measure of that name. Errors: an unknown name or parameter, a cutoff that is missing or not wanted,
    /// a level that `levels` does not name.
    pub fn parse(text: &str, levels: Levels) -> Result<Measure> {
        Measure::of_parts(text, levels).with_context(|| format!("no measure {text:?}"))
    }

    fn of_parts(text: &str, levels: Levels) -> Result<Measure> {
        let mut parts = Parts::of(text)?;
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

    fn graded(name: &str, parts: &mut Parts, levels: Levels) -> Result<Measure> {
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
                (Some("2020" | "2021" | "2022"), None) => {
                    K::NdcgOrganisers(OrganisersNdcg::Touche2021)
                }
                (Some("2025"), None) => K::NdcgOrganisers(OrganisersNdcg::Touche2025),
                (Some(_), Some(_)) => bail!("touche and dcg do not go together"),
                (None, Some(dcg)) => bail!("dcg={dcg}: log2 or exp-log2"),
                (Some(year), None) => bail!("touche={year}: 2021 (also for 2020, 2022) or 2025"),
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

    fn image(question: ImageQuestion, parts: &mut Parts) -> Result<Measure> {
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

    fn stance(kind: StanceKind, parts: &mut Parts) -> Result<Measure> {
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

    /// With the task's own names of levels.
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
            K::NdcgOrganisers(year) => {
                parameters.push(match year {
                    OrganisersNdcg::Touche2021 => "touche=2021".to_owned(),
                    OrganisersNdcg::Touche2025 => "touche=2025".to_owned(),
                });
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
