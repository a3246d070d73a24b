//! Reads recipes, says in which line an error is, and suggests the known name that was probably meant by an unknown one.

mod unknown;

use anyhow::{Result, anyhow};
use serde::de::DeserializeOwned;

use crate::wording::nearest;
use unknown::unknown;

/// Reads a recipe. An error names the line, and what an unknown key or name was probably meant to be.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| said::<T>(text, &error.to_string()))
}

/// Like [`read`], but an error names no line: what is read is not what a user has written.
pub(crate) fn read_unplaced<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error: toml::de::Error| said::<T>(text, error.message()))
}

/// The error about a text as it is `shown`, with the name that was probably meant.
fn said<T: DeserializeOwned>(text: &str, shown: &str) -> anyhow::Error {
    let shown = shown.trim_end();
    let meant = unknown::<T>(text).and_then(|(name, known)| nearest(&name, known));
    match meant {
        Some(name) => anyhow!("{shown}: did you mean `{name}`?"),
        None => anyhow!("{shown}"),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

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

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the errors are compared")]
    struct Small {
        name: String,
        #[serde(default)]
        scale: Option<Scale>,
        #[serde(default)]
        searches: Vec<Search>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only the errors are compared")]
    enum Scale {
        MinMax,
        Sigmoid(f64),
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "of", rename_all = "kebab-case", deny_unknown_fields)]
    #[expect(dead_code, reason = "only the errors are compared")]
    enum Search {
        Words { weight: f64 },
        Sentences {},
    }

    #[test]
    fn an_unknown_name_is_compared_with_those_that_can_stand_in_its_place() {
        for (text, name) in [
            ("name = 'a'\nscales = 'min-max'", Some("`scale`")),
            ("name = 'a'\nscale = 'min-mix'", Some("`min-max`")),
            ("name = 'a'\nscale = { sigmoyd = 1.0 }", Some("`sigmoid`")),
            (
                "name = 'a'\n[[searches]]\nof = 'words'\nwieght = 1",
                Some("`weight`"),
            ),
            (
                "name = 'a'\n[[searches]]\nof = 'sentence'",
                Some("`sentences`"),
            ),
            ("name = 'a'\ncolour = 1", None),
            // what a text quotes is none of the names
            (
                "name = 'a'\nscale = 'unknown field `nam`, expected `name`'",
                None,
            ),
            ("name = 1", None),
            ("scale = 'min-max'", None),
            ("name = ", None),
        ] {
            for error in [
                read::<Small>(text).unwrap_err(),
                read_unplaced::<Small>(text).unwrap_err(),
            ] {
                let error = error.to_string();
                let meant = error.split_once(": did you mean ");
                let meant = meant.and_then(|(_, rest)| rest.strip_suffix('?'));
                assert_eq!(meant, name, "{error}");
            }
        }
    }
}
