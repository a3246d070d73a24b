//! Is a text of a kind that the stance encoder has learned from?
//!
//! Four measures of a text are compared with their ranges in all collections that `train text-stance` knows. A text outside of one of them is read as
//! well, but its stance is made less certain, by a factor that was learned from collections that were once left out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use riposte_claims::words::tokens;
use serde::Deserialize;

use crate::index::analyzer::StopList;

/// Names of the measures.
pub const MEASURES: [&str; 4] = [
    "words",
    "letters a word",
    "share of function words",
    "share of other characters than letters",
];

/// Imagined words of which two in five are function words. They keep the shares of short texts, such as slogans, near that of other texts.
const IMAGINED: [f64; 2] = [4.0, 10.0];

/// The function words, from a long list.
static FUNCTION_WORDS: LazyLock<StopList> = LazyLock::new(|| {
    // The list is compiled in; a test of this file reads it.
    StopList::find("smart").expect("the stop list of SMART is known")
});

/// The measures of a text, in the order of [`MEASURES`]. `None` if it has no word.
pub fn measures(text: &str) -> Option<[f64; MEASURES.len()]> {
    let tokens = tokens(text);
    let words = || tokens.iter().filter(|token| token.word);
    let count = words().count() as f64;
    if count == 0.0 {
        return None;
    }
    let letters: usize = words().map(|word| word.lower.chars().count()).sum();
    let of_function = words().filter(|word| FUNCTION_WORDS.contains(&word.lower));
    let [imagined, of_all] = IMAGINED;
    let characters = || text.chars().filter(|c| !c.is_whitespace());
    let others = characters().filter(|c| !c.is_alphabetic()).count() as f64;
    Some([
        count,
        letters as f64 / count,
        (of_function.count() as f64 + imagined) / (count + of_all),
        others / characters().count() as f64,
    ])
}

/// The kinds of texts that were learned from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kinds {
    /// The factor for all log-odds of a text that is unlike them, in (0, 1].
    pub certainty: f64,
    /// The smallest and the largest usual value of each measure.
    pub ranges: BTreeMap<String, [f64; 2]>,
}

impl Kinds {
    /// Checks what was read from a file.
    ///
    /// # Errors
    /// A measure is missing or unknown, a range is empty, or the factor is not in (0, 1].
    pub fn check(&self) -> Result<()> {
        ensure!(
            0.0 < self.certainty && self.certainty <= 1.0,
            "certainty must be above 0 and at most 1"
        );
        for name in MEASURES {
            let [low, high] = self
                .ranges
                .get(name)
                .with_context(|| format!("{name:?} is missing"))?;
            ensure!(low <= high, "the range of {name:?} is empty");
        }
        ensure!(self.ranges.len() == MEASURES.len(), "a measure is unknown");
        Ok(())
    }

    /// How a text differs from everything that was learned from, such as "share of function words 0.09, usually 0.23 to 0.62"; `None` if it is not.
    pub fn unlike(&self, text: &str) -> Option<String> {
        let measured = MEASURES.into_iter().zip(measures(text)?);
        measured.into_iter().find_map(|(name, value)| {
            let [low, high] = self.ranges.get(name)?;
            let is_usual = (*low..=*high).contains(&value);
            (!is_usual).then(|| format!("{name} {value:.2}, usually {low:.2} to {high:.2}"))
        })
    }

    /// The factor for the log-odds of a text, of which [`Kinds::unlike`] has said this.
    pub fn certainty_if(&self, unlike: Option<&str>) -> f64 {
        if unlike.is_some() {
            self.certainty
        } else {
            1.0
        }
    }
}

/// The sentence that says so of a text that is unlike the others.
pub fn less_certain(unlike: &str) -> String {
    format!("less certain, because the text is unlike those that were learned from: {unlike}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_of_a_text_by_hand() {
        assert_eq!(measures("?! ..."), None);
        let [words, letters, function, others] = measures("We need 2 zoos!").unwrap();
        assert_eq!(words, 4.0);
        assert_eq!(letters, 11.0 / 4.0);
        // "we" and "need" are on the list
        assert!((function - 6.0 / 14.0).abs() < 1e-12, "{function}");
        assert!((others - 2.0 / 12.0).abs() < 1e-12, "{others}");
    }

    #[test]
    fn a_text_outside_a_range_is_unlike_and_says_in_what() {
        let range = |low: f64, high: f64| [low, high];
        let kinds = Kinds {
            certainty: 0.5,
            ranges: MEASURES
                .into_iter()
                .map(str::to_owned)
                .zip([
                    range(1.0, 19.0),
                    range(1.0, 8.0),
                    range(0.2, 0.6),
                    range(0.0, 0.3),
                ])
                .collect(),
        };
        kinds.check().unwrap();
        assert_eq!(kinds.unlike("We need two zoos!"), None);
        let listed = "zoo lion tiger bear cage ticket price entrance shop";
        let unlike = kinds.unlike(listed);
        assert_eq!(unlike, None);
        let code = "let zoo = [1, 2, 3, 4, 5]; {}";
        let unlike = kinds.unlike(code).unwrap();
        assert!(unlike.starts_with("share of other characters"), "{unlike}");
        assert_eq!(kinds.certainty_if(Some(&unlike)), 0.5);
        assert_eq!(kinds.certainty_if(None), 1.0);
    }
}
