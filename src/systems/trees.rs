//! Dread Pirate Roberts (Touché 2021): learned rankings by regression trees (LambdaMART). Each tree compares a few features of a topic and an
//! argument with thresholds, and adds a number to the score. `train trees` learns the trees.

mod features;

use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use riposte_claims::words::sentences;
use riposte_eval::Explanation;

use crate::evidence::sentiment::Vader;
use crate::score::quality;
use crate::score::reranker::{Assessed, Assessment, RerankedTexts, Reranker, RerankerModels};
use crate::score::{BIAS, FEATURE};

pub use features::features;

/// The sum of the outputs of regression trees.
pub(crate) const TREES: &str = "trees";

/// The score by the trees that use this set of features.
pub struct Trees(pub FeatureSet);

impl Reranker for Trees {
    fn name(&self) -> &'static str {
        match self.0 {
            FeatureSet::Small => "trees-small",
            FeatureSet::Medium => "trees-medium",
        }
    }

    fn words(&self) -> [&'static str; 2] {
        ["by decision trees", ""]
    }

    fn inputs(&self) -> &'static [&'static str] {
        match self.0 {
            FeatureSet::Small => &[],
            FeatureSet::Medium => &FROM_MODELS,
        }
    }

    fn assess(&self, documents: &RerankedTexts, _: &mut RerankerModels) -> Assessed {
        let Trees(set) = *self;
        let model = set.committed();
        let assess = |row: FeatureValues| Assessment {
            values: vec![model.score(set.of(&row))],
            why: Some(model.explain(set.of(&row))),
        };
        Ok(features(documents)?.into_iter().map(assess).collect())
    }
}

/// The re-rankers whose values are features of [`FeatureSet::Medium`].
const FROM_MODELS: [&str; 2] = ["sentence", "side"];

/// Maximum number of splits on the path to a leaf.
const DEPTH: usize = 32;

/// The features that a committed ensemble uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureSet {
    /// How well the words match, and statistics of the text.
    Small,
    /// The features of `Small`, and values that models compute.
    Medium,
}

/// The names of the features of [`FeatureSet::Medium`], in their order. The first [`SMALL`] are the features of [`FeatureSet::Small`].
///
/// The scores of BM25 and of Dirichlet smoothing are divided by the highest one among the candidates, because their range depends on the
/// collection. No feature uses conclusions, because the arguments from which the trees were learned have none.
pub const FEATURES: [&str; 16] = [
    "bm25",
    "dirichlet",
    "share of the topic's terms",
    "sentiment",
    "sentences",
    "length",
    "words a sentence",
    "letters a word",
    "capitals",
    "shouting marks",
    "connectives",
    "stop words",
    "variety of words",
    "likeness to the topic",
    "side",
    "quality",
];

/// The number of features of [`FeatureSet::Small`].
const SMALL: usize = 13;

/// The positions among [`FEATURES`] of features that [`quality`] has, too. It computes their values.
const OF_QUALITY: std::ops::Range<usize> = 5..13;

/// The features of a text, in the order of [`FEATURES`], that do not depend on the topic: from "sentiment" to "variety of words".
fn text_features(text: &str) -> FeatureValues {
    let of_quality = quality::features(text);
    let value = |name: &&str| {
        let at = quality::FEATURES.iter().position(|known| known == name);
        at.and_then(|at| of_quality.get(at).copied())
    };
    let mut values = vec![
        Some(Vader::new().compound(text)),
        Some(sentences(text).len() as f64),
    ];
    values.extend(FEATURES[OF_QUALITY].iter().map(value));
    values
}

impl FeatureSet {
    /// The names of the features, in the order of their values.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            FeatureSet::Small => &FEATURES[..SMALL],
            FeatureSet::Medium => &FEATURES,
        }
    }

    /// Selects the values of the set's features. `features` has the values of all [`FEATURES`].
    pub fn of(self, features: &[Option<f64>]) -> &[Option<f64>] {
        features.get(..self.names().len()).unwrap_or(features)
    }

    /// The ensemble that comes with riposte.
    pub fn committed(self) -> &'static Ensemble {
        &COMMITTED[self as usize]
    }
}

/// The ensembles that come with riposte, in the order of the sets.
static COMMITTED: LazyLock<[Ensemble; 2]> = LazyLock::new(|| {
    let small = include_str!("../../models/own/trees-small.txt");
    let medium = include_str!("../../models/own/trees-medium.txt");
    [(FeatureSet::Small, small), (FeatureSet::Medium, medium)]
        .map(|(set, text)| Ensemble::parse(text, set.names()).expect("models/own/ has trees"))
});

/// The values of the features of one document, in the order of their names. A value is `None` if a model is missing or the text has no words.
pub type FeatureValues = Vec<Option<f64>>;

/// A node of a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Leaf { value: f64 },
    Split(Split),
}

/// A comparison of a feature with a threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The position of the feature among the names.
    pub feature: usize,
    /// A document goes to the left if the feature's value is at most the threshold, or if the document has no value.
    pub threshold: f64,
    /// The mean value over the training data of the leaves below this node.
    pub mean: f64,
    pub left: Box<Node>,
    pub right: Box<Node>,
}

impl Node {
    /// The value of a leaf, the mean of a split.
    pub fn mean(&self) -> f64 {
        match self {
            Node::Leaf { value: mean } | Node::Split(Split { mean, .. }) => *mean,
        }
    }

    /// The value of the leaf that a document reaches. `on_step` receives the feature of each split on the path, and the change of the mean at
    /// the split.
    fn value(&self, features: &[Option<f64>], on_step: &mut dyn FnMut(usize, f64)) -> f64 {
        let mut node = self;
        loop {
            match node {
                Node::Leaf { value } => return *value,
                Node::Split(split) => {
                    let value = features.get(split.feature).copied().flatten();
                    let is_above = value.is_some_and(|value| value > split.threshold);
                    node = if is_above { &split.right } else { &split.left };
                    on_step(split.feature, node.mean() - split.mean);
                }
            }
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Leaf { value } => *out += &format!("{value}\n"),
            Node::Split(split) => {
                *out += &format!("{} {} {}\n", split.feature, split.threshold, split.mean);
                split.left.write(out);
                split.right.write(out);
            }
        }
    }

    fn read<'a>(
        lines: &mut impl Iterator<Item = &'a str>,
        features: usize,
        depth: usize,
    ) -> Result<Node> {
        ensure!(depth <= DEPTH, "a tree is deeper than {DEPTH}");
        let line = lines.next().context("a tree is not complete")?;
        let number = |text: &str| -> Result<f64> {
            let number = text.parse().ok().filter(|number: &f64| number.is_finite());
            number.with_context(|| format!("{text:?} is not a number"))
        };
        let fields: Vec<&str> = line.split(' ').collect();
        match fields[..] {
            [value] => Ok(Node::Leaf {
                value: number(value)?,
            }),
            [feature, threshold, mean] => {
                let feature = feature.parse().ok().filter(|feature| *feature < features);
                Ok(Node::Split(Split {
                    feature: feature.with_context(|| format!("{line:?} names no feature"))?,
                    threshold: number(threshold)?,
                    mean: number(mean)?,
                    left: Box::new(Node::read(lines, features, depth + 1)?),
                    right: Box::new(Node::read(lines, features, depth + 1)?),
                }))
            }
            _ => bail!("{line:?} is neither a leaf nor a split"),
        }
    }
}

/// Trees whose values are added up.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    names: &'static [&'static str],
    pub trees: Vec<Node>,
}

impl Ensemble {
    /// Trees over the features with these names.
    pub fn new(names: &'static [&'static str], trees: Vec<Node>) -> Self {
        Ensemble { names, trees }
    }

    /// Reads the text that [`Ensemble::write`] has written. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// The names in the file are not `names`, or a tree is damaged.
    pub fn parse(text: &str, names: &'static [&'static str]) -> Result<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let of_file: Vec<&str> = lines.next().unwrap_or_default().split(", ").collect();
        ensure!(
            of_file == names,
            "the features are {}, not {}",
            of_file.join(", "),
            names.join(", ")
        );
        let mut trees = Vec::new();
        while let Some(line) = lines.next() {
            ensure!(line == "tree", "{line:?} is not the beginning of a tree");
            trees.push(Node::read(&mut lines, names.len(), 0)?);
        }
        Ok(Ensemble { names, trees })
    }

    /// The names of the features, separated by commas, and the trees. Each tree begins with a line `tree`. A line with a number is a leaf. A
    /// line with the position of a feature, a threshold and a mean is a split; its left and its right branch follow.
    pub fn write(&self) -> String {
        let mut out = self.names.join(", ") + "\n";
        for tree in &self.trees {
            out += "tree\n";
            tree.write(&mut out);
        }
        out
    }

    /// The score of a document.
    pub fn score(&self, features: &[Option<f64>]) -> f64 {
        let value = |tree: &Node| tree.value(features, &mut |_, _| ());
        self.trees.iter().map(value).sum()
    }

    /// Explains [`Ensemble::score`]: for each feature its value and its contribution, which is the sum of the changes of the mean at the splits
    /// that test it (Saabas 2014). The contributions and the mean over the training data add up to the score.
    pub fn explain(&self, features: &[Option<f64>]) -> Explanation {
        let mut added = vec![0.0; self.names.len()];
        for tree in &self.trees {
            tree.value(features, &mut |feature, change| {
                if let Some(sum) = added.get_mut(feature) {
                    *sum += change;
                }
            });
        }
        let mean = self.trees.iter().map(Node::mean).sum();
        let mean = Explanation::new(BIAS, mean);
        let mut parts = vec![mean.named("mean of the training data")];
        let values = self.names.iter().zip(features).zip(added);
        parts.extend(values.map(|((name, value), added)| {
            let how = match value {
                Some(value) => format!("its value is {value:.4}"),
                None => "it has no value here".to_owned(),
            };
            Explanation::new((FEATURE, *name), added).with_how(how)
        }));
        Explanation::new(TREES, self.score(features))
            .with_how(format!("sum over {} trees", self.trees.len()))
            .with_parts(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["words", "quality"];

    /// Two trees: the first one tests words, then quality; the second one tests quality.
    const TEXT: &str = "# a comment\nwords, quality\ntree\n0 10 0.5\n-1\n1 0.5 1\n0.5\n2\ntree\n1 0.25 0\n-0.25\n0.25\n";

    #[test]
    fn a_score_is_the_sum_of_the_leaves_that_a_document_reaches() {
        let ensemble = Ensemble::parse(TEXT, &NAMES).unwrap();
        for (words, quality, expected) in [
            (Some(10.0), Some(0.9), -1.0 + 0.25),
            (Some(10.5), Some(0.9), 2.0 + 0.25),
            (Some(11.0), Some(0.25), 0.5 - 0.25),
            // a document without a value goes to the left
            (Some(11.0), None, 0.5 - 0.25),
            (None, Some(0.9), -1.0 + 0.25),
        ] {
            assert_eq!(ensemble.score(&[words, quality]), expected);
        }
        let written = ensemble.write();
        assert_eq!(Ensemble::parse(&written, &NAMES).unwrap(), ensemble);
    }

    #[test]
    fn the_features_of_a_text_are_those_of_their_names() {
        let features = text_features("Bad. Cars kill people, therefore ban them!");
        let named = |name: &str| {
            let first = FEATURES.iter().position(|known| *known == "sentiment");
            let at = FEATURES.iter().position(|known| *known == name).unwrap();
            features[at - first.unwrap()].unwrap()
        };
        assert_eq!(named("sentences"), 2.0);
        assert!(named("sentiment") < -0.5);
        // 7 words in 2 sentences
        assert!((named("length") - 8f64.ln()).abs() < 1e-12);
        assert!((named("words a sentence") - 3.5f64.ln()).abs() < 1e-12);
        // "therefore", and one mark, in a text that counts as 50 words
        assert_eq!((named("connectives"), named("shouting marks")), (1.0, 1.0));
        assert_eq!(named("variety of words"), 1.0);
        assert_eq!(features.len() + 3, SMALL);
    }

    #[test]
    fn an_explanation_has_what_each_feature_adds() {
        let ensemble = Ensemble::parse(TEXT, &NAMES).unwrap();
        let explained = ensemble.explain(&[Some(12.0), Some(0.75)]);
        assert_eq!(
            (explained.value(), explained.how()),
            (2.25, "sum over 2 trees")
        );
        // words: 0.5 → 1; quality: 1 → 2 in the first tree, 0 → 0.25 in the second
        let parts: Vec<f64> = explained.parts().iter().map(Explanation::value).collect();
        assert_eq!(parts, [0.5, 0.5, 1.25]);
        assert_eq!(explained.parts()[1].how(), "its value is 12.0000");
        let without = ensemble.explain(&[Some(12.0), None]);
        assert_eq!(without.parts()[2].how(), "it has no value here");
    }

    #[test]
    fn other_features_and_damaged_trees_are_errors() {
        for (from, to, message) in [
            (
                "words, quality",
                "words, length",
                "the features are words, length, not words, quality",
            ),
            ("1 0.25 0", "2 0.25 0", "names no feature"),
            ("1 0.25 0", "1 0.25", "neither a leaf nor a split"),
            ("-0.25\n0.25\n", "-0.25\n", "not complete"),
            ("-0.25\n", "NaN\n", "not a number"),
            ("tree\n1", "trees\n1", "not the beginning of a tree"),
        ] {
            let error = Ensemble::parse(&TEXT.replacen(from, to, 1), &NAMES).unwrap_err();
            assert!(error.to_string().contains(message), "{to}: {error}");
        }
        let deep = format!("words, quality\ntree\n{}", "0 1 0\n".repeat(1000));
        let error = Ensemble::parse(&deep, &NAMES).unwrap_err().to_string();
        assert!(error.contains("deeper"), "{error}");
    }
}
