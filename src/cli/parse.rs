//! The values of options that are not plain numbers or names.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValuesParser, RangedI64ValueParser, TypedValueParser};
use riposte_eval::edition::{self, Edition};
use riposte_eval::run::unfit_field;
use strum::VariantNames;

use riposte::evidence::channel;
use riposte::evidence::extract::Shard;
use riposte::task::channels::CHANNELS;
use riposte::task::recipe;

/// Parses the name of a variant.
pub(super) fn named<T>() -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = strum::ParseError> + VariantNames + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|name| name.parse())
}

pub(super) fn channel(word: &str) -> Result<String> {
    let channel = channel::find(CHANNELS, word).map(|channel| channel.name().to_owned());
    channel.with_context(|| {
        let known: Vec<&str> = CHANNELS.iter().map(|channel| channel.name()).collect();
        let meant = recipe::nearest(word, &known);
        let meant = meant.map_or(String::new(), |name| format!("did you mean {name}? "));
        format!("{meant}The channels are {}", known.join(", "))
    })
}

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

pub(super) fn shard(text: &str) -> Result<Shard> {
    let parsed = text
        .split_once('/')
        .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
    match parsed {
        Some((number, count)) if number >= 1 && number <= count => Ok(Shard { number, count }),
        _ => bail!("a shard is I/N, with I from 1 to N"),
    }
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

/// A time span such as 30d: a number of hours, days or weeks.
pub(super) fn age(text: &str) -> Result<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let hours = match text.get(digits.len()..) {
        Some("h") => Some(1),
        Some("d") => Some(24),
        Some("w") => Some(7 * 24),
        _ => None,
    };
    let number: Option<u64> = digits.parse().ok();
    let seconds = number
        .zip(hours)
        .and_then(|(number, hours)| number.checked_mul(hours * 3600));
    match seconds {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => bail!("a time span is a number of hours, days or weeks, such as 12h, 30d or 8w"),
    }
}

pub(super) fn tag(text: &str) -> Result<String> {
    if let Some(why) = unfit_field(text) {
        bail!("a tag is a single word, and this one {why}");
    }
    Ok(text.to_owned())
}
