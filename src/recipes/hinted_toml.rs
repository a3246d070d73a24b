//! Reads recipes, says in which line an error is, and suggests the known name that was probably meant by an unknown one.

use anyhow::{Result, anyhow};
use serde::de::DeserializeOwned;

use crate::wording::nearest;

/// Reads a recipe. An error names the line, and what an unknown key or name was probably meant to be.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error: toml::de::Error| said(&error, &error.to_string()))
}

/// Like [`read`], but an error names no line: what is read is not what a user has written.
pub(crate) fn read_unplaced<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error: toml::de::Error| said(&error, error.message()))
}

/// An error as it is `shown`, with the name that was probably meant.
fn said(error: &toml::de::Error, shown: &str) -> anyhow::Error {
    let shown = shown.trim_end();
    match meant(error.message()) {
        Some(name) => anyhow!("{shown}: did you mean {name}?"),
        None => anyhow!("{shown}"),
    }
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
