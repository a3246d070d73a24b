//! Reads recipes, says in which line an error is, and suggests the known name that was probably meant by an unknown one.

use std::fmt;

use anyhow::{Result, anyhow, ensure};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Longer words are not compared with known names, because the time for the comparison grows with their length.
const LONGEST_COMPARED: usize = 100;

/// Reads a recipe. An error names the line, and what an unknown key or name was probably meant to be.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let shown = error.to_string();
        let shown = shown.trim_end();
        match meant(error.message()) {
            Some(name) => anyhow!("{shown}: did you mean {name}?"),
            None => anyhow!("{shown}"),
        }
    })
}

/// An error in a value of a recipe, with the keys that lead to the value.
#[derive(Debug)]
struct Misplaced {
    /// The outermost key comes first. The key of an element of an array is its index, which begins at 0.
    keys: Vec<String>,
    error: anyhow::Error,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl std::error::Error for Misplaced {}

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
            return $crate::task::recipe::At::at(Err(anyhow::anyhow!($($error)*)), $key);
        }
    };
}
pub(crate) use ensure_at;

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

/// The known name that is most similar to a mistyped word, if there is a similar one. A similar name begins with the word, or differs from it by at
/// most a third of the letters: left out, added, exchanged or swapped with their neighbours. If several are equally similar, the first one is
/// returned.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let length = word.chars().count();
    if length > LONGEST_COMPARED {
        return None;
    }
    let word = word.to_lowercase();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        if length >= 3 && name.starts_with(&word) {
            return 1;
        }
        strsim::damerau_levenshtein(&word, &name)
    };
    let near = |name: &str| {
        let longest = name.chars().count().max(length);
        // two different words of one letter each are not similar
        distance(name) <= (longest / 3).max(1).min(longest.saturating_sub(1))
    };
    let candidates = known.iter().copied().filter(|name| near(name));
    candidates.min_by_key(|name| distance(name))
}

/// The name that was probably meant, from the known names that an error message about an unknown one lists, with the message's quotes. The messages
/// are those of serde ("unknown field `a`, expected one of `b`, `c`") and of analyzers ("there is no stop list \"a\": choose one of b, c").
fn meant(message: &str) -> Option<String> {
    if let Some(rest) = message.split("there is no ").nth(1) {
        let (unknown, known) = rest.lines().next()?.split_once(": choose one of ")?;
        let word = unknown.split('"').nth(1)?;
        let known: Vec<&str> = known.split(", ").collect();
        return Some(nearest(word, &known)?.to_owned());
    }
    let rest = ["unknown field `", "unknown variant `"]
        .iter()
        .find_map(|start| message.split(start).nth(1))?;
    let (word, expected) = rest.split_once("`, expected ")?;
    // every second piece is between quotes
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    Some(format!("`{}`", nearest(word, &known)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_or_none_is() {
        let known = [
            "riposte",
            "bm25",
            "dph",
            "elrond",
            "pippin-took",
            "hua-mulan",
            "dirichlet",
        ];
        for (word, near) in [
            ("elrnd", Some("elrond")),
            ("Elrond", Some("elrond")),
            ("bm52", Some("bm25")),
            ("pipin-tok", Some("pippin-took")),
            ("pippin", Some("pippin-took")),
            ("dirichelt", Some("dirichlet")),
            ("nobody", None),
            ("", None),
            ("x", None),
            ("DPH", Some("dph")),
        ] {
            assert_eq!(nearest(word, &known), near, "{word}");
        }
        let endless = "elrond".repeat(1_000_000);
        assert_eq!(nearest(&endless, &known), None);
        assert_eq!(nearest("elrond", &[]), None);
    }

    #[test]
    fn the_names_that_a_message_lists_are_compared() {
        for (message, name) in [
            (
                "unknown field `simillarity`, expected one of `analyzer`, `similarity`, `must`",
                Some("`similarity`"),
            ),
            (
                "unknown field `wieght`, expected `weight` or `senses`",
                Some("`weight`"),
            ),
            (
                "unknown variant `borde`, expected one of `rrf`, `min-max`, `borda`",
                Some("`borda`"),
            ),
            (
                "unknown field `colour`, expected one of `rrf`, `borda`",
                None,
            ),
            (
                "there is no stop list \"lucen\": choose one of none, lucene, long, or name a file",
                Some("lucene"),
            ),
            ("missing field `name`", None),
            ("unknown field `", None),
            ("there is no stop list \"", None),
            (
                "there is no value \"portr\": choose one of porter, kstem",
                Some("porter"),
            ),
        ] {
            assert_eq!(meant(message).as_deref(), name, "{message}");
        }
    }
}
