//! Settings of a recipe that are typed instead of written: `--set KEY=VALUE`, and its short forms `--k1`, `--b`, `--mu`, `--rm3` and `--hits`.
//!
//! They change the recipe's TOML before the one reader of recipes reads it. So they have the ranges and the messages of a file, and everything that a
//! file can say, an option can say.

mod change;
mod path;

use std::fmt;

use anyhow::{Result, anyhow, bail, ensure};
use serde_json::json;
use toml::{Table, Value};

use crate::limits::MAX_TAG_BYTES;
use crate::workspace;
use change::Change;

/// The number of characters of a hash in a tag: enough to tell the settings of one user apart.
const HASH: usize = 8;

/// A typed setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The option as it is typed, which messages name.
    option: String,
    change: Change,
}

impl Setting {
    /// Reads the `KEY=VALUE` of `--set`. The key is a path such as `retrieval.similarity.k1` ([`path`] says which). The value is TOML; what is no TOML,
    /// such as a bare word, is a string.
    ///
    /// # Errors
    /// There is no key or no `=`, or the value begins like a string, a list or a table of TOML and is none.
    pub fn key(text: &str) -> Result<Setting> {
        let (keys, value) = path::split(text)?;
        let value = read_value(value)?;
        Ok(Setting {
            option: format!("--set {text}"),
            change: Change::Key { keys, value },
        })
    }

    /// Sets the value at a path of keys, as `--set` does.
    pub(crate) fn value(keys: &[&str], value: Value) -> Setting {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        Setting {
            // on one line, whatever is in a text
            option: format!("--set {}={}", keys.join("."), json!(value)),
            change: Change::Key { keys, value },
        }
    }

    /// Sets a parameter of every similarity that has it. `key` is its name in a recipe and on the command line (`--k1`).
    pub fn parameter(key: &'static str, value: f64) -> Setting {
        Setting {
            option: format!("--{key} {value}"),
            change: Change::Parameter { key, value },
        }
    }

    /// Turns RM3 on in every search. `text` is `TERMS,DOCUMENTS,WEIGHT`: Anserini's parameters, in Anserini's order.
    ///
    /// # Errors
    /// The text is not two whole numbers and a number.
    pub fn feedback(text: &str) -> Result<Setting> {
        let wrong = || anyhow!("it is not TERMS,DOCUMENTS,WEIGHT, such as 10,10,0.5");
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let [terms, documents, original] = parts[..] else {
            return Err(wrong());
        };
        let whole = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        Ok(Setting {
            option: format!("--rm3 {text}"),
            change: Change::Feedback {
                terms: whole(terms)?,
                documents: whole(documents)?,
                original: original.parse().map_err(|_| wrong())?,
            },
        })
    }

    /// Sets the number of documents of a topic in the run. Searches that find fewer are made to find as many.
    pub fn hits(number: u32) -> Setting {
        Setting {
            option: format!("--hits {number}"),
            change: Change::Hits(number),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.option)
    }
}

/// Reads the value of `--set`.
fn read_value(text: &str) -> Result<Value> {
    let read: Result<Table, _> = format!("value = {text}").parse();
    match read {
        // a line break in the value could begin another key
        Ok(mut table) if table.len() == 1 => match table.remove("value") {
            Some(value) => Ok(value),
            None => bail!("it has no value"),
        },
        Err(error) if text.starts_with(['"', '\'', '[', '{']) => {
            bail!("the value is not TOML: {}", error.message())
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// The settings as the metadata and the tag of a run name them. Their order does not depend on that of the options.
pub(crate) fn labels(settings: &[Setting]) -> Vec<String> {
    let mut labels: Vec<String> = settings
        .iter()
        .map(|setting| setting.change.label())
        .collect();
    labels.sort();
    labels
}

/// What settings add to the default tag of a run. A hash stands for settings that are too long for a tag, or that a tag cannot contain.
pub(crate) fn in_tag(labels: &[String]) -> String {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.=,+".contains(c);
    match labels.join("-") {
        whole if whole.is_empty() => whole,
        whole if whole.len() <= MAX_TAG_BYTES && whole.chars().all(is_fit) => format!("-{whole}"),
        whole => {
            let hash = workspace::key(&[&whole]);
            format!("-set-{}", hash.get(..HASH).unwrap_or(&hash))
        }
    }
}

/// Reads the text of a recipe with settings, by its reader `read`, whose errors name no line.
///
/// # Errors
/// A setting cannot be made, or the reader refuses the recipe with it. The message names the option.
pub(crate) fn read_with<A>(
    text: &str,
    settings: &[Setting],
    read: impl Fn(&str) -> Result<A>,
) -> Result<A> {
    let all: Vec<&Setting> = settings.iter().collect();
    read(&changed(text, &all)?).map_err(|error| {
        let message = format!("{error:#}");
        let again = |some: &[&Setting]| match changed(text, some).and_then(|text| read(&text)) {
            Ok(_) => None,
            Err(error) => Some(format!("{error:#}")),
        };
        let blamed = to_blame(&all, &message, again);
        let blamed: Vec<String> = blamed.into_iter().map(Setting::to_string).collect();
        anyhow!("{}: {message}", blamed.join(", "))
    })
}

/// The settings because of which a recipe is refused with this message: one that alone has the message, or those without which the recipe is read, or
/// all. `again` reads the recipe with some of the settings and returns the message if it is refused.
fn to_blame<'s>(
    all: &[&'s Setting],
    message: &str,
    again: impl Fn(&[&Setting]) -> Option<String>,
) -> Vec<&'s Setting> {
    let alone = |one: &&&Setting| again(&[**one]).as_deref() == Some(message);
    if let Some(one) = all.iter().find(alone) {
        return vec![*one];
    }
    let without = |one: &&'s Setting| {
        let others = all
            .iter()
            .filter(|other| !std::ptr::eq(**other, *one))
            .copied();
        again(&others.collect::<Vec<_>>()).is_none()
    };
    let needed: Vec<&Setting> = all.iter().copied().filter(without).collect();
    if needed.is_empty() {
        return all.to_vec();
    }
    needed
}

/// The text of a recipe with its settings.
fn changed(text: &str, settings: &[&Setting]) -> Result<String> {
    let mut recipe = Value::Table(text.parse()?);
    let mut made: Vec<(Vec<String>, &Setting)> = Vec::new();
    for setting in settings {
        let is_set = |keys: &[String]| made.iter().any(|(other, _)| other == keys);
        let change = setting.change.values(&recipe, is_set);
        for (keys, value) in change.map_err(|error| anyhow!("{setting}: {error:#}"))? {
            if let Some((_, before)) = made.iter().find(|(other, _)| other.starts_with(&keys)) {
                bail!("{setting} would replace what {before} sets");
            }
            path::set(&mut recipe, &keys, value);
            made.push((keys, setting));
        }
    }
    ensure!(recipe.is_table(), "a recipe is a table");
    Ok(toml::to_string(&recipe)?)
}

#[cfg(test)]
mod tests;
