//! Heimdall (Touché 2021): quality of a text by a linear support vector regression over its words.
//!
//! The features are those of scikit-learn's `TfidfVectorizer(stop_words="english")`: words of two and more characters in lower case, each with
//! its count times `ln((1 + N) / (1 + df)) + 1`. The vector is scaled to unit length. N is the number of texts from which the vocabulary was
//! taken, df the number of these texts with the word. `train svr-quality` learns the weights.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::Explanation;

use crate::index::search::explain::of_term;
use crate::score::BIAS;
use crate::score::quality::{self, QUALITY};
use crate::score::reranker::TextReranker;

/// The contribution of all terms that are not listed.
pub(crate) const OTHER_TERMS: &str = "other-terms";

/// How much a value was changed to bring it within its bounds.
pub(crate) const BOUND: &str = "bound";

/// How well the text is written, judged by its words.
pub static SVR_QUALITY: TextReranker = TextReranker {
    why: Some(|_, text| SvrModel::committed().explain(text)),
    ..TextReranker::unit("svr-quality", quality::IN_REPORTS, |_, text| {
        svr_quality(text)
    })
};

/// Number of words that an explanation shows. The contributions of the others are added up.
const SHOWN_WORDS: usize = 10;

/// The English stop words of scikit-learn (BSD-3-Clause, the scikit-learn developers), which took them from the Glasgow Information Retrieval
/// Group.
static STOP_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("svr/stop_words.txt").lines().collect());

/// The known words of a text in alphabetical order, as pairs (word, value). The squares of the values add up to 1, or to 0 for a text without a
/// known word.
pub type TfIdf<'a> = Vec<(&'a str, f64)>;

/// A vocabulary of [`TfIdf`].
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    /// The inverse document frequency of each word.
    idf: BTreeMap<String, f64>,
}

impl Vocabulary {
    /// Creates the vocabulary of `texts` texts. `counts` has the number of texts that contain each word.
    pub fn new(texts: u64, counts: impl IntoIterator<Item = (String, u64)>) -> Self {
        let idf = |df: u64| ((1.0 + texts as f64) / (1.0 + df as f64)).ln() + 1.0;
        let idf = counts.into_iter().map(|(word, df)| (word, idf(df)));
        Vocabulary { idf: idf.collect() }
    }

    /// The vector of a text.
    pub fn vector(&self, text: &str) -> TfIdf<'_> {
        let mut values: BTreeMap<&str, f64> = BTreeMap::new();
        for word in words(text) {
            if let Some((word, idf)) = self.idf.get_key_value(&word) {
                *values.entry(word).or_default() += idf;
            }
        }
        let squares: f64 = values.values().map(|value| value * value).sum();
        values
            .values_mut()
            .for_each(|value| *value /= squares.sqrt());
        values.into_iter().collect()
    }

    /// The words in alphabetical order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.idf.keys().map(String::as_str)
    }
}

/// The words of a text that can be in a vocabulary: runs of two and more letters, digits and underscores, in lower case, without stop words.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let is_kept = |word: &&str| word.chars().nth(1).is_some() && !STOP_WORDS.contains(*word);
    let words: Vec<String> = words.filter(is_kept).map(str::to_owned).collect();
    words.into_iter()
}

/// A linear regression over [`TfIdf`].
#[derive(Clone, Debug, PartialEq)]
pub struct SvrModel {
    vocabulary: Vocabulary,
    /// The weight of each word, in the unit of quality.
    weights: BTreeMap<String, f64>,
    intercept: f64,
}

impl SvrModel {
    /// Reads a weight file. Lines that begin with `#` are comments. The first other line has the number of texts and the intercept. Each further
    /// line has a word, the number of texts with the word, and its weight. Tabs separate the values.
    ///
    /// # Errors
    /// A line has another form, or a word is repeated.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let head = lines.next().and_then(|line| line.split_once('\t'));
        let (texts, intercept) =
            head.context("the number of texts and the intercept are missing")?;
        let mut weights = BTreeMap::new();
        let mut counts = Vec::new();
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let [word, count, weight] = fields[..] else {
                bail!("{line:?} is not a word, a count and a weight");
            };
            let number = || format!("{line:?} has a count or a weight that is not a number");
            counts.push((word.to_owned(), count.parse().with_context(number)?));
            let weight: f64 = weight.parse().with_context(number)?;
            ensure!(
                weights.insert(word.to_owned(), weight).is_none(),
                "{word:?} is repeated"
            );
        }
        Ok(SvrModel {
            vocabulary: Vocabulary::new(texts.parse().context("the number of texts")?, counts),
            weights,
            intercept: intercept.parse().context("the intercept")?,
        })
    }

    /// The model that comes with riposte.
    pub fn committed() -> &'static SvrModel {
        &COMMITTED
    }

    /// The quality of a text. The qualities in the training data are in [0, 1], but a prediction can be outside this range.
    pub fn predict(&self, text: &str) -> f64 {
        let contributions = self.contributions(text);
        self.intercept + contributions.iter().map(|(_, value)| value).sum::<f64>()
    }

    /// The contribution of each known word of a text, in alphabetical order.
    fn contributions(&self, text: &str) -> TfIdf<'_> {
        let mut vector = self.vocabulary.vector(text);
        for (word, value) in &mut vector {
            *value *= self.weights.get(*word).copied().unwrap_or(0.0);
        }
        vector
    }

    /// Explains [`svr_quality`] by the words with the largest contributions.
    pub fn explain(&self, text: &str) -> Explanation {
        let mut contributions = self.contributions(text);
        contributions.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let shown = contributions.len().min(SHOWN_WORDS);
        let (shown, others) = contributions.split_at(shown);
        let intercept = Explanation::new(BIAS, self.intercept);
        let mut parts = vec![intercept.named("intercept")];
        parts.extend(
            shown
                .iter()
                .map(|(word, value)| of_term(None, word, *value)),
        );
        if !others.is_empty() {
            let sum = others.iter().map(|(_, value)| value).sum();
            let name = format!("{} other words", others.len());
            parts.push(Explanation::new(OTHER_TERMS, sum).named(name));
        }
        let sum = self.predict(text);
        let value = bounded(sum);
        if value != sum {
            let bound = Explanation::new(BOUND, value - sum);
            parts.push(bound.named("bounded by 0 and 1"));
        }
        Explanation::new(QUALITY, value)
            .named("quality by words")
            .with_how("sum")
            .with_parts(parts)
    }
}

static COMMITTED: LazyLock<SvrModel> = LazyLock::new(|| {
    SvrModel::parse(include_str!("../../models/own/svr-quality.tsv"))
        .expect("models/own/svr-quality.tsv is a model")
});

fn bounded(quality: f64) -> f64 {
    quality.clamp(0.0, 1.0)
}

/// How well an argument is written, judged by its words, in [0, 1]. A text without a known word gets the intercept.
pub fn svr_quality(text: &str) -> f64 {
    bounded(SvrModel::committed().predict(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 3] = [
        "Plastic bags are cheap, and cheap bags pollute.",
        "Cheap energy isn't clean energy: it's 1 of 2 evils (coal_2020).",
        "Ban plastic! Ban it.",
    ];

    fn vocabulary() -> Vocabulary {
        let mut counts = BTreeMap::new();
        for text in TEXTS {
            let mut words: Vec<String> = words(text).collect();
            words.sort_unstable();
            words.dedup();
            for word in words {
                *counts.entry(word).or_insert(0) += 1;
            }
        }
        Vocabulary::new(3, counts)
    }

    /// `TfidfVectorizer(stop_words="english").fit_transform(TEXTS)` of scikit-learn 1.9.1.
    const REFERENCE: [&[(&str, f64)]; 3] = [
        &[
            ("bags", 0.7119287513),
            ("cheap", 0.5414401657),
            ("plastic", 0.2707200828),
            ("pollute", 0.3559643757),
        ],
        &[
            ("cheap", 0.2596634392),
            ("clean", 0.3414262179),
            ("coal_2020", 0.3414262179),
            ("energy", 0.6828524359),
            ("evils", 0.3414262179),
            ("isn", 0.3414262179),
        ],
        &[("ban", 0.9347019636), ("plastic", 0.3554324679)],
    ];

    #[test]
    fn vectors_equal_those_of_scikit_learn() {
        let vocabulary = vocabulary();
        for (text, expected) in TEXTS.iter().zip(REFERENCE) {
            let found = vocabulary.vector(text);
            let words = |of: &[(&str, f64)]| of.iter().map(|x| x.0.to_owned()).collect::<Vec<_>>();
            assert_eq!(words(&found), words(expected));
            for ((word, found), (_, expected)) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-8, "{word}: {found}");
            }
        }
        assert!(vocabulary.vector("It is unknown.").is_empty());
        assert_eq!(STOP_WORDS.len(), 318);
    }

    #[test]
    fn a_prediction_is_the_intercept_and_the_weighted_words() {
        // idf: ln(4/4) + 1 = 1 for both words, so "good good bad" has the values 2/√5 and 1/√5
        let model = SvrModel::parse("# a comment\n3\t0.5\ngood\t3\t0.4\nbad\t3\t-0.2\n").unwrap();
        let expected = 0.5 + (0.4 * 2.0 - 0.2) / 5f64.sqrt();
        assert!((model.predict("Good, good; bad.") - expected).abs() < 1e-12);
        assert_eq!(model.predict("the of and"), 0.5);
        let explained = model.explain("Good, good; bad.");
        let names: Vec<&str> = explained.parts().iter().map(Explanation::name).collect();
        assert_eq!(names, ["intercept", "good", "bad"]);
        let sum: f64 = explained.parts().iter().map(Explanation::value).sum();
        assert!((explained.value() - sum).abs() < 1e-12 && explained.value() == bounded(expected));
        let out_of_range = SvrModel::parse("1\t0.9\ngood\t1\t0.4\nbad\t1\t-2\n").unwrap();
        assert_eq!(out_of_range.explain("good").value(), 1.0);
        let explained = out_of_range.explain("bad");
        assert_eq!(explained.value(), 0.0);
        // 0.9 - 2 is clamped to 0
        let cut = explained.part(BOUND).unwrap();
        assert_eq!(cut.name(), "bounded by 0 and 1");
        assert!((cut.value() - 1.1).abs() < 1e-12);
    }

    #[test]
    fn a_damaged_weight_file_is_an_error() {
        for (text, message) in [
            ("", "are missing"),
            ("3\t0.5\ngood\t3\n", "not a word"),
            ("3\t0.5\ngood\tthree\t0.1\n", "that is not a number"),
            ("3\t0.5\ngood\t3\t1\ngood\t3\t1\n", "is repeated"),
        ] {
            let error = format!("{:#}", SvrModel::parse(text).unwrap_err());
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }

    #[test]
    fn an_argument_is_better_written_than_a_remark() {
        let argument = "Research shows that standardized tests do not measure the abilities of students, because schools with less \
                        money cannot prepare their students for them. This is evidence that the policy fails.";
        let remark = "lol vote con, i win this debate";
        assert!(svr_quality(argument) > svr_quality(remark));
    }
}
