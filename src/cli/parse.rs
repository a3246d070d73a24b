//! The values of options that are not plain numbers or names.

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, RangedI64ValueParser, TypedValueParser};
use riposte_eval::TextTask;
use riposte_eval::edition::{self, Edition};
use riposte_eval::run::unfit_field;
use strum::VariantNames;

use riposte::collection::task::Task;
use riposte::threads::check_threads;

/// Parses a year that is not before the first of these editions, nor after the last.
pub(super) fn year(editions: impl Iterator<Item = &'static Edition>) -> RangedI64ValueParser<u32> {
    let years = edition::years(editions);
    let [first, last] = [years.first(), years.last()].map(|year| year.copied().unwrap_or(0));
    clap::value_parser!(u32).range(i64::from(first)..=i64::from(last))
}

/// Parses the year of an edition of the image task that has lists for and against each topic.
pub(super) fn edition_with_stances() -> impl TypedValueParser<Value = &'static Edition> {
    let editions = || Edition::all(None).filter(|edition| edition.has_stances());
    let years: Vec<String> = editions().map(Edition::to_string).collect();
    PossibleValuesParser::new(years).try_map(move |year| {
        let found = editions().find(|edition| edition.to_string() == year);
        found.context("there is no such edition")
    })
}

/// Parses the name of a task.
pub(super) fn task() -> impl TypedValueParser<Value = Task> {
    let about = |task| match task {
        Task::Images => "Image retrieval for arguments",
        Task::Texts(TextTask::Controversial) => "Argument retrieval for controversial questions",
        Task::Texts(TextTask::Comparative) => "Passage retrieval for comparative questions",
        Task::Texts(TextTask::Rank) => {
            "Retrieval from any text collection, in the layout of BEIR or TIREx"
        }
    };
    let names = Task::ALL.map(|task| PossibleValue::new(task.word()).help(about(task)));
    PossibleValuesParser::new(names)
        .try_map(|name| Task::parse(&name).context("there is no such task"))
}

/// Parses the name of a variant.
pub(super) fn named<T>() -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = strum::ParseError> + VariantNames + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|name| name.parse())
}

pub(super) fn level(text: &str) -> Result<(String, f64)> {
    let parsed = text
        .split_once('=')
        .and_then(|(name, grade)| Some((name.to_owned(), grade.parse().ok()?)));
    match parsed {
        Some((name, grade)) if !name.is_empty() && f64::is_finite(grade) => Ok((name, grade)),
        _ => bail!("a level is NAME=GRADE, with a number as the grade"),
    }
}

/// A probability: more than 0, less than 1.
pub(super) fn probability(text: &str) -> Result<f64> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| *number > 0.0 && *number < 1.0);
    number.with_context(|| format!("{text:?} is not a number between 0 and 1"))
}

pub(super) fn threads(text: &str) -> Result<usize> {
    // a number beyond usize is too large, not malformed
    let number: u128 = text.parse().context("it is not a number")?;
    check_threads(usize::try_from(number).unwrap_or(usize::MAX))
}

pub(super) fn tag(text: &str) -> Result<String> {
    if let Some(why) = unfit_field(text) {
        bail!("a tag is a single word, and this one {why}");
    }
    if text.len() > 1 && text.starts_with('"') && text.ends_with('"') {
        bail!("a tag is not in quotes: readers of runs remove them");
    }
    Ok(text.to_owned())
}
