//! Checks what the types of a recipe leave open, and finds the lines of the values that are refused.

use anyhow::{Result, anyhow, ensure};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::limits::{MAX_NUMBER, MIN_NUMBER};

/// An error in a value of a recipe, with the keys that lead to the value.
#[derive(Debug, thiserror::Error)]
#[error("{error:#}")]
struct Misplaced {
    /// The outermost key comes first. The key of an element of an array is its index, which begins at 0.
    keys: Vec<String>,
    error: anyhow::Error,
}

/// Adds to an error the place of the value that a check has refused. Each enclosing table adds its own key, so that [`located`] finds the line.
pub(crate) trait At: Sized {
    /// Puts `key` in front of the keys that the error already has. It can be several keys, joined by dots.
    fn at(self, key: impl ToString) -> Self;
}

impl<T> At for Result<T> {
    fn at(self, key: impl ToString) -> Self {
        self.map_err(|error| {
            let unplaced = |error| Misplaced {
                keys: Vec::new(),
                error,
            };
            let mut misplaced: Misplaced = error.downcast().unwrap_or_else(unplaced);
            let key = key.to_string();
            let keys = key.split('.').map(str::to_owned);
            misplaced.keys.splice(0..0, keys);
            misplaced.into()
        })
    }
}

/// Returns an error about the value of a key unless a condition holds. The author of the recipe reads the message.
macro_rules! ensure_at {
    ($key:expr, $holds:expr, $($error:tt)*) => {
        if !$holds {
            return $crate::recipes::checks::At::at(Err(anyhow::anyhow!($($error)*)), $key);
        }
    };
}
pub(crate) use ensure_at;

/// Checks all numbers of a recipe, whatever they mean.
///
/// # Errors
/// A number is infinite or not a number, too large, or too close to 0.
pub(crate) fn check_numbers(text: &str) -> Result<()> {
    let table: toml::Table = text.parse()?;
    table
        .iter()
        .try_for_each(|(key, value)| check_number(value).at(key))
}

fn check_number(value: &toml::Value) -> Result<()> {
    let (shown, size) = match value {
        toml::Value::Integer(number) => (number.to_string(), number.unsigned_abs() as f64),
        toml::Value::Float(number) => (format!("{number:?}"), number.abs()),
        toml::Value::Array(values) => {
            let mut numbered = values.iter().enumerate();
            return numbered.try_for_each(|(index, value)| check_number(value).at(index));
        }
        toml::Value::Table(table) => {
            return table
                .iter()
                .try_for_each(|(key, value)| check_number(value).at(key));
        }
        _ => return Ok(()),
    };
    ensure!(
        size == 0.0 || (MIN_NUMBER..=MAX_NUMBER).contains(&size),
        "{shown} is out of range: a number in a recipe is 0, or from {MIN_NUMBER:e} to {MAX_NUMBER:e}, with either sign"
    );
    Ok(())
}

/// Checks a weight. `name` says in messages whose weight it is.
///
/// # Errors
/// The weight is negative, infinite or not a number.
pub(crate) fn check_weight(name: &str, weight: f64) -> Result<()> {
    ensure!(
        weight.is_finite() && weight >= 0.0,
        "the weight of {name} must be 0 or more, not {weight}"
    );
    Ok(())
}

/// Puts the line of the refused value in front of the error of a check.
pub(crate) fn located(text: &str, error: anyhow::Error) -> anyhow::Error {
    let keys = error
        .downcast_ref()
        .map_or(&[][..], |at: &Misplaced| &at.keys);
    let before = text.get(..offset(text, keys)).unwrap_or_default();
    anyhow!("line {}: {error:#}", before.matches('\n').count() + 1)
}

/// Byte offset of the value to which the keys lead. If the recipe lacks the last of the keys, the offset is that of the value that should have them.
fn offset(text: &str, keys: &[String]) -> usize {
    let Ok(table) = DeTable::parse(text) else {
        return 0;
    };
    let root = Spanned::new(0..0, DeValue::Table(table.into_inner()));
    let (mut offset, mut value) = (0, &root);
    for key in keys {
        let found = match value.get_ref() {
            DeValue::Table(table) => {
                let found = table.get_key_value(key.as_str());
                found.map(|(key, inner)| (key.span().start, inner))
            }
            DeValue::Array(array) => {
                let inner = key.parse().ok().and_then(|at: usize| array.get(at));
                inner.map(|inner| (inner.span().start, inner))
            }
            _ => None,
        };
        let Some(found) = found else { break };
        (offset, value) = found;
    }
    offset
}
