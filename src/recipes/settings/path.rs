//! The paths of values in a recipe: keys that are joined by points, as in TOML. A key is in quotes if it has a point, a `=` or a quote in it.
//!
//! An element of a list has its number as a key, from 1. Without a number, a path goes through every table of a list: `retrieval.depth` is the depth of
//! every search, and `retrieval.2.depth` that of the second.

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use crate::limits::MAX_SETTING_KEYS;

/// The keys of analyzers, whose text has parts: `stop=lucene stem=porter`. A path leads to a part as to the key of a table.
const ANALYZERS: [&str; 2] = ["analyzer", "query_analyzer"];

/// Splits `KEY=VALUE` into the keys of the path and the text of the value.
///
/// # Errors
/// There is no `=`, a key is empty, a quote is not closed, or there are too many keys.
pub(super) fn split(text: &str) -> Result<(Vec<String>, &str)> {
    let (mut keys, mut key, mut quote) = (Vec::new(), String::new(), None);
    let mut value = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => key.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, '.') => keys.push(std::mem::take(&mut key)),
            (None, '=') => {
                value = text.get(at + 1..);
                break;
            }
            (None, _) => key.push(c),
        }
    }
    ensure!(
        quote.is_none(),
        "the quote {} is not closed",
        quote.unwrap_or('"')
    );
    let value = value.context("it is not KEY=VALUE, such as retrieval.similarity.k1=0.9")?;
    keys.push(key);
    let keys: Vec<String> = keys.iter().map(|key| key.trim().to_owned()).collect();
    ensure!(keys.iter().all(|key| !key.is_empty()), "a key is empty");
    ensure!(
        keys.len() <= MAX_SETTING_KEYS,
        "it has more than {MAX_SETTING_KEYS} keys"
    );
    Ok((keys, value.trim()))
}

/// The places in a recipe to which a path leads. The keys of elements of lists are then their indexes, from 0. A place need not exist.
///
/// # Errors
/// The path leads into a value that has no keys, or to an element that a list does not have.
pub(super) fn places(recipe: &Value, keys: &[String]) -> Result<Vec<Vec<String>>> {
    let mut found = Vec::new();
    follow(Some(recipe), keys, &[], &mut found)?;
    Ok(found)
}

fn follow(
    at: Option<&Value>,
    keys: &[String],
    before: &[String],
    found: &mut Vec<Vec<String>>,
) -> Result<()> {
    let Some((key, rest)) = keys.split_first() else {
        found.push(before.to_vec());
        return Ok(());
    };
    let with = |key: String| [before, &[key]].concat();
    let name = || before.join(".");
    match at {
        None => follow(None, rest, &with(key.clone()), found),
        Some(Value::Table(table)) => follow(table.get(key), rest, &with(key.clone()), found),
        Some(Value::Array(list)) => match key.parse::<usize>() {
            Ok(number) => {
                let index = number.wrapping_sub(1);
                let element = list.get(index).with_context(|| {
                    let (name, length) = (name(), list.len());
                    format!("{name} has no element {number}: they are numbered from 1 to {length}")
                })?;
                follow(Some(element), rest, &with(index.to_string()), found)
            }
            Err(_) => {
                let is_of_tables = !list.is_empty() && list.iter().all(Value::is_table);
                ensure!(
                    is_of_tables,
                    "{} is a list, whose elements have numbers",
                    name()
                );
                let mut elements = list.iter().enumerate();
                elements.try_for_each(|(index, element)| {
                    follow(Some(element), keys, &with(index.to_string()), found)
                })
            }
        },
        Some(Value::String(_)) if is_of_analyzer(before) && rest.is_empty() => {
            found.push(with(key.clone()));
            Ok(())
        }
        Some(_) => bail!("{} is a value without keys, so it has no {key}", name()),
    }
}

/// Whether this is the place of an analyzer.
fn is_of_analyzer(place: &[String]) -> bool {
    place
        .last()
        .is_some_and(|last| ANALYZERS.contains(&last.as_str()))
}

/// The parts of an analyzer's text, as a table. What is no part stays a key without a value, which the reader of analyzers refuses.
fn parts(text: &str) -> Table {
    let part = |word: &str| {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        (key.to_owned(), Value::String(value.to_owned()))
    };
    text.split_whitespace().map(part).collect()
}

/// Sets the value at a place, which [`places`] has found. Tables that are missing on the way are made.
pub(super) fn set(recipe: &mut Value, place: &[String], value: Value) {
    let mut at = recipe;
    for (depth, key) in place.iter().enumerate() {
        if let (Value::String(text), true) = (&*at, is_of_analyzer(&place[..depth])) {
            *at = Value::Table(parts(text));
        }
        let next = match at {
            Value::Table(table) => Some(
                table
                    .entry(key.clone())
                    .or_insert_with(|| Value::Table(Table::new())),
            ),
            Value::Array(list) => key
                .parse()
                .ok()
                .and_then(|index: usize| list.get_mut(index)),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return,
        }
    }
    *at = value;
}
