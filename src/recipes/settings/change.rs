//! What a setting changes in a recipe.

use anyhow::{Result, bail, ensure};
use toml::{Table, Value};

use super::path;

/// The keys of a parameter's place that its label leaves out.
const SIMILARITY: [&str; 2] = ["retrieval", "similarity"];

/// The parameters of similarities that options of their own set.
const PARAMETERS: [&str; 3] = ["k1", "b", "mu"];

/// A value of a recipe with the keys that lead to it.
type Placed = (Vec<String>, Value);

/// A change to a recipe.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// The value to which a path leads.
    Key { keys: Vec<String>, value: Value },
    /// A parameter of all similarities that have it.
    Parameter { key: &'static str, value: f64 },
    /// RM3 in all searches.
    Feedback {
        terms: u32,
        documents: u32,
        original: f64,
    },
    /// The number of documents in the run, for which searches must find as many.
    Hits(u32),
}

impl Change {
    /// The setting in the metadata and in a tag.
    pub fn label(&self) -> String {
        match self {
            Change::Key { keys, value } => {
                let value = shown(value);
                match keys.as_slice() {
                    [first, second, key]
                        if [first, second] == SIMILARITY && PARAMETERS.contains(&key.as_str()) =>
                    {
                        format!("{key}={value}")
                    }
                    keys => format!("{}={value}", keys.join(".")),
                }
            }
            Change::Parameter { key, value } => format!("{key}={value}"),
            Change::Feedback {
                terms,
                documents,
                original,
            } => format!("rm3={terms},{documents},{original}"),
            Change::Hits(number) => format!("hits={number}"),
        }
    }

    /// The values of this recipe that change. `is_set` says whether an earlier option has set the value at a place.
    ///
    /// # Errors
    /// The recipe has nothing that could be set.
    pub fn values(
        &self,
        recipe: &Value,
        is_set: impl Fn(&[String]) -> bool,
    ) -> Result<Vec<Placed>> {
        match self {
            Change::Key { keys, value } => {
                let places = path::places(recipe, keys)?.into_iter();
                Ok(places.map(|place| (place, value.clone())).collect())
            }
            Change::Parameter { key, value } => parameters(recipe, key, *value),
            Change::Feedback {
                terms,
                documents,
                original,
            } => {
                let feedback = Table::from_iter([
                    ("terms".to_owned(), Value::from(*terms)),
                    ("documents".to_owned(), Value::from(*documents)),
                    ("original".to_owned(), Value::from(*original)),
                ]);
                let searches = searches(recipe);
                let name = name(recipe);
                ensure!(
                    !searches.is_empty(),
                    "the approach {name} has no [[retrieval]], and RM3 expands only searches for words"
                );
                let searches = searches.into_iter();
                let place = |(place, _)| [place, vec!["feedback".to_owned()]].concat();
                let places = searches.map(place);
                Ok(places
                    .map(|place| (place, Value::Table(feedback.clone())))
                    .collect())
            }
            Change::Hits(number) => Ok(depths(recipe, i64::from(*number), is_set)),
        }
    }
}

/// A value in a label. A float that is a whole number is written like the whole number, because a recipe reads both alike.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => number.to_string(),
        value => value.to_string(),
    }
}

fn name(recipe: &Value) -> &str {
    recipe
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The searches for words, with the keys that lead to them.
fn searches(recipe: &Value) -> Vec<(Vec<String>, &Value)> {
    let list = recipe.get("retrieval").and_then(Value::as_array);
    let numbered = list.into_iter().flatten().enumerate();
    numbered
        .map(|(at, search)| (vec!["retrieval".to_owned(), at.to_string()], search))
        .collect()
}

/// Sets a parameter in all similarities that have it.
///
/// # Errors
/// None has it. The message says which similarities the approach has.
fn parameters(recipe: &Value, key: &str, value: f64) -> Result<Vec<Placed>> {
    let mut scoring = searches(recipe);
    scoring.extend(
        recipe
            .get("rescore")
            .map(|rescore| (vec!["rescore".to_owned()], rescore)),
    );
    let (mut values, mut others) = (Vec::new(), Vec::new());
    for (mut place, search) in scoring {
        let Some(similarity) = search.get("similarity").and_then(Value::as_table) else {
            continue;
        };
        let value = match similarity.get(key) {
            None => {
                others.push(described(similarity));
                continue;
            }
            // bm25f has a list of a value for each field, the last of which is used for all others
            Some(Value::Array(_)) => Value::Array(vec![Value::Float(value)]),
            Some(_) => Value::Float(value),
        };
        place.extend(["similarity".to_owned(), key.to_owned()]);
        values.push((place, value));
    }
    if values.is_empty() {
        let name = name(recipe);
        others.dedup();
        match others.as_slice() {
            [] => bail!("the approach {name} has no {key}: it does not search for words"),
            [only] => bail!("the approach {name} has no {key}: its similarity is {only}"),
            several => bail!(
                "the approach {name} has no {key}: its similarities are {}",
                several.join("; ")
            ),
        }
    }
    Ok(values)
}

/// The name of a similarity, and its parameters: `bm25, which has b and k1`.
fn described(similarity: &Table) -> String {
    let name = similarity.get("name").and_then(Value::as_str);
    let name = name.unwrap_or_default();
    let parameters = similarity.keys().filter(|key| *key != "name");
    let parameters: Vec<&str> = parameters.map(String::as_str).collect();
    match parameters.join(" and ") {
        none if none.is_empty() => format!("{name}, which has no parameters"),
        parameters => format!("{name}, which has {parameters}"),
    }
}

/// Sets the depth of the run, and that of each search that finds fewer documents. A depth that an option has set stays.
fn depths(recipe: &Value, number: i64, is_set: impl Fn(&[String]) -> bool) -> Vec<Placed> {
    let key = || "depth".to_owned();
    let mut values = vec![(vec![key()], Value::Integer(number))];
    let dense = recipe
        .get("dense")
        .map(|dense| (vec!["dense".to_owned()], dense));
    for (mut place, search) in searches(recipe).into_iter().chain(dense) {
        let depth = search.get("depth").and_then(Value::as_integer);
        place.push(key());
        if depth.unwrap_or(crate::limits::RUN_DEPTH as i64) < number && !is_set(&place) {
            values.push((place, Value::Integer(number)));
        }
    }
    values
}
