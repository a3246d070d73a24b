//! Parses the names of measures: `Name(key=value,…)@cutoff`, as ir_measures writes them.

use super::trec_names::ir_measures_name;
use super::{
    CutoffUse, DiversityKind, DiversityMeasure, GradedKind, GradedMeasure, ImageMeasure,
    ImageQuestion, Level, LevelUse, Levels, Measure, NAMES, StanceKind, StanceMeasure,
};
use crate::edition::Ndcg;
use crate::limits::MAX_DIVERSITY_CUTOFF;
use crate::measure::Gain;
use crate::{Error, ObjectStance, Stance};

/// A measure's name, split into its parts. The errors here say what is wrong, as do the other errors of this file that are texts.
struct ParsedName<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    /// What follows the `@`: a cutoff, or the recall of `IPrec`.
    at: Option<&'a str>,
}

impl<'a> ParsedName<'a> {
    fn parse(text: &'a str) -> Result<ParsedName<'a>, String> {
        let (front, at) = match text.trim().rsplit_once('@') {
            Some((front, at)) => (front.trim(), Some(at.trim())),
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
            at,
        })
    }

    /// Removes a parameter and returns its value. Parameters that remain at the end are unknown.
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.parameters.iter().position(|(k, _)| *k == key)?;
        Some(self.parameters.remove(at).1)
    }

    /// Removes what follows the `@`. ir_measures also accepts it as the parameter `key`.
    fn take_at(&mut self, key: &str) -> Result<Option<&'a str>, String> {
        match (self.at.take(), self.take(key)) {
            (Some(_), Some(_)) => Err(format!("{key} is given twice")),
            (at, parameter) => Ok(at.or(parameter)),
        }
    }

    fn take_cutoff(&mut self) -> Result<Option<usize>, String> {
        let Some(text) = self.take_at("cutoff")? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(cutoff) if cutoff > 0 => Ok(Some(cutoff)),
            _ => Err(format!("{text:?} is not a cutoff")),
        }
    }

    /// Removes a parameter that is a number. `allowed` says which numbers it may be, and `is_allowed` decides it.
    fn take_number(
        &mut self,
        key: &str,
        allowed: &str,
        is_allowed: impl Fn(f64) -> bool,
    ) -> Result<Option<f64>, String> {
        self.take(key)
            .map(|text| number(key, text, allowed, is_allowed))
            .transpose()
    }

    fn take_flag(&mut self, key: &str, default: bool) -> Result<bool, String> {
        match self.take(key) {
            None => Ok(default),
            Some("True") => Ok(true),
            Some("False") => Ok(false),
            Some(value) => Err(format!("{key}={value}: True or False")),
        }
    }
}

/// The number in a text, if it is finite and allowed.
fn number(
    key: &str,
    text: &str,
    allowed: &str,
    is_allowed: impl Fn(f64) -> bool,
) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && is_allowed(*number));
    number.ok_or_else(|| format!("{key}={text}: {allowed}"))
}

impl Measure {
    /// The measure with this name: that of ir_measures, or that of trec_eval (`ndcg_cut_10`). `levels` are the words that `rel` may have besides
    /// numbers; `str::parse` allows those of [`TOUCHE_LEVELS`](super::TOUCHE_LEVELS).
    ///
    /// # Errors
    /// An unknown name or parameter, a cutoff that is missing or not supported, a level that is not in `levels`.
    pub fn parse(text: &str, levels: Levels) -> Result<Measure, Error> {
        let measure = match ir_measures_name(text.trim()) {
            Some(name) => name.and_then(|name| Measure::from_name(&name, levels)),
            None => Measure::from_name(text, levels),
        };
        measure.map_err(|why| Error::Measure {
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
        } else if let Ok(kind) = name.parse() {
            Measure::diversity(kind, &mut parts, levels)?
        } else {
            Measure::graded(name, &mut parts, levels)?
        };
        if let Some((key, value)) = parts.parameters.first() {
            return Err(format!("it takes no {key}={value}"));
        }
        Ok(measure)
    }

    fn graded(name: &str, parts: &mut ParsedName, levels: Levels) -> Result<Measure, String> {
        let kind = GradedKind::parse(name, parts)?;
        let rel = match (parts.take("rel"), kind.level_use()) {
            (Some(rel), LevelUse::Unused) => return Err(format!("it takes no rel={rel}")),
            (Some(rel), _) => Some(Level::parse(rel, levels)?),
            (None, LevelUse::Default | LevelUse::Printed) => Some(Level::default()),
            (None, LevelUse::Unused | LevelUse::Optional) => None,
        };
        // the two names that ir_measures has for a measure with a certain parameter
        let rel = match (name, rel) {
            ("NumRelRet", None) => Some(Level::default()),
            (_, rel) => rel,
        };
        let judged_only = match parts.take("judged_only") {
            None | Some("False") => false,
            Some("True") if kind.can_be_judged_only() => true,
            Some(value) => return Err(format!("judged_only={value}")),
        };
        let cutoff = parts.take_cutoff()?;
        match kind.cutoff_use() {
            CutoffUse::Needed if cutoff.is_none() => {
                Err(format!("it needs a cutoff, as in {name}@5"))
            }
            CutoffUse::Unused if cutoff.is_some() => Err("it takes no cutoff".to_owned()),
            _ => Ok(Measure::Graded(GradedMeasure {
                kind,
                rel,
                judged_only,
                cutoff,
            })),
        }
    }

    fn diversity(
        mut kind: DiversityKind,
        parts: &mut ParsedName,
        levels: Levels,
    ) -> Result<Measure, String> {
        use DiversityKind as K;
        match &mut kind {
            K::AlphaNdcg { alpha } | K::AlphaDcg { alpha } => *alpha = redundancy(parts)?,
            K::Nrbp { alpha, beta } | K::NNrbp { alpha, beta } => {
                *alpha = redundancy(parts)?;
                *beta = persistence(parts, "beta", 0.5)?;
            }
            _ => {}
        }
        let rel = parts.take("rel").map(|rel| Level::parse(rel, levels));
        let cutoff = parts.take_cutoff()?;
        if kind.needs_cutoff() && cutoff.is_none() {
            return Err(format!("it needs a cutoff, as in {}@20", parts.name));
        }
        if !kind.needs_cutoff() && cutoff.is_some() {
            return Err("it takes no cutoff".to_owned());
        }
        if cutoff > Some(MAX_DIVERSITY_CUTOFF) {
            return Err(format!("its cutoff can be at most {MAX_DIVERSITY_CUTOFF}"));
        }
        Ok(Measure::Diversity(DiversityMeasure {
            kind,
            rel: rel.transpose()?.unwrap_or_default(),
            cutoff,
        }))
    }

    fn image(question: ImageQuestion, parts: &mut ParsedName) -> Result<Measure, String> {
        if parts.take_cutoff()? != Some(10) {
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
            cutoff: parts.take_cutoff()?,
        }))
    }
}

impl GradedKind {
    /// The kind with this name, and with the parameters that belong to it alone.
    fn parse(name: &str, parts: &mut ParsedName) -> Result<GradedKind, String> {
        let Ok(mut kind) = name.parse() else {
            let [graded, subtopics, images, stances] = NAMES.map(|names| names.join(", "));
            return Err(format!(
                "known are {graded}; for subtopics {subtopics}; for images {images}; for stances {stances}"
            ));
        };
        match &mut kind {
            GradedKind::Ndcg(gain) => *gain = Gain::parse(parts)?,
            GradedKind::Rbp { p } => *p = persistence(parts, "p", 0.8)?,
            GradedKind::Compat { p, normalize } => {
                *p = persistence(parts, "p", 0.95)?;
                *normalize = parts.take_flag("normalize", true)?;
            }
            GradedKind::Sdcg { min_rel, max_rel } => {
                if !matches!(parts.take("dcg"), None | Some("log2")) {
                    return Err("dcg can only be log2".to_owned());
                }
                let any = |_| true;
                let least = parts.take_number("min_rel", "must be a number", any)?;
                let most = parts.take_number("max_rel", "must be a number", any)?;
                *min_rel = least.unwrap_or(0.0);
                *max_rel = most.ok_or("it needs the highest grade, as in SDCG(max_rel=2)@5")?;
                if *min_rel >= *max_rel {
                    return Err("min_rel must be less than max_rel".to_owned());
                }
            }
            GradedKind::IPrec { recall } => {
                let text = parts.take_at("recall")?;
                let text = text.ok_or("it needs a recall, as in IPrec@0.1")?;
                let allowed = "must be from 0 to 1";
                *recall = number("recall", text, allowed, |r| (0.0..=1.0).contains(&r))?;
            }
            GradedKind::SetP { relative } => {
                *relative = parts.take_flag("relative", name == "SetRelP")?;
            }
            GradedKind::SetF { beta } => {
                let given = parts.take_number("beta", "must be 0 or more", |beta| beta >= 0.0)?;
                *beta = given.unwrap_or(1.0);
            }
            _ => {}
        }
        Ok(kind)
    }
}

/// The parameter alpha of measures of diversity.
fn redundancy(parts: &mut ParsedName) -> Result<f64, String> {
    let is_allowed = |alpha: f64| (0.0..=1.0).contains(&alpha);
    let alpha = parts.take_number("alpha", "must be from 0 to 1", is_allowed)?;
    Ok(alpha.unwrap_or(0.5))
}

/// The parameter `p` of RBP and Compat, and `beta` of NRBP: the probability that a reader goes on to the next result.
fn persistence(parts: &mut ParsedName, key: &str, default: f64) -> Result<f64, String> {
    let is_allowed = |p: f64| p > 0.0 && p < 1.0;
    let p = parts.take_number(key, "must be between 0 and 1", is_allowed)?;
    Ok(p.unwrap_or(default))
}

impl Gain {
    fn parse(parts: &mut ParsedName) -> Result<Gain, String> {
        match (parts.take("touche"), parts.take("dcg")) {
            (None, None | Some("log2")) => Ok(Gain::Grade),
            (None, Some("exp-log2")) => Ok(Gain::Exponential),
            (Some(_), Some(_)) => Err("touche and dcg cannot be combined".to_owned()),
            (None, Some(dcg)) => Err(format!("dcg={dcg}: log2 or exp-log2")),
            (Some(year), None) => match Ndcg::of_year(year) {
                Some(script) => Ok(Gain::Organisers(script)),
                None => Err(format!("touche={year}: {}", Ndcg::known())),
            },
        }
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
