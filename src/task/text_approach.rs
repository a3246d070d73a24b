//! Approaches to the text tasks: TOML files in `approaches/controversial/` and `approaches/comparative/`, or a file of the user.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::index::analyzer::Analyzer;
use crate::index::feedback::Rm3;
use crate::index::fusion::Fusion;
use crate::index::proximity::Proximity;
use crate::index::similarity::Similarity;
use crate::score::rerank::Weights;
use crate::trec::TextTask;

/// The files of the approaches that come with riposte, the default first.
fn files(task: TextTask) -> &'static [&'static str] {
    match task {
        TextTask::Controversial => &CONTROVERSIAL,
        TextTask::Comparative => &COMPARATIVE,
    }
}

const CONTROVERSIAL: [&str; 14] = [
    include_str!("../../approaches/controversial/riposte.toml"),
    include_str!("../../approaches/controversial/bm25.toml"),
    include_str!("../../approaches/controversial/dirichlet.toml"),
    include_str!("../../approaches/controversial/elrond.toml"),
    include_str!("../../approaches/controversial/pippin-took.toml"),
    include_str!("../../approaches/controversial/jean-pierre-polnareff.toml"),
    include_str!("../../approaches/controversial/goemon-ishikawa.toml"),
    include_str!("../../approaches/controversial/skeletor.toml"),
    include_str!("../../approaches/controversial/gandalf.toml"),
    include_str!("../../approaches/controversial/athos.toml"),
    include_str!("../../approaches/controversial/hua-mulan.toml"),
    include_str!("../../approaches/controversial/shanks.toml"),
    include_str!("../../approaches/controversial/yeagerists.toml"),
    include_str!("../../approaches/controversial/macbeth.toml"),
];

const COMPARATIVE: [&str; 3] = [
    include_str!("../../approaches/comparative/riposte.toml"),
    include_str!("../../approaches/comparative/bm25.toml"),
    include_str!("../../approaches/comparative/dirichlet.toml"),
];

/// An approach to a text task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextApproach {
    pub name: String,
    /// The publication that describes it.
    pub source: String,
    /// What the publication does not say, and what is different here.
    #[serde(default)]
    pub unknown: String,
    /// One retrieval, or several whose rankings are fused.
    pub retrieval: Vec<Retrieval>,
    /// How several rankings are fused.
    #[serde(default)]
    pub fusion: Option<Fusion>,
    #[serde(default)]
    pub rerank: Option<Rerank>,
    #[serde(default)]
    pub keep: Keep,
}

/// A search of one index.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retrieval {
    pub analyzer: Analyzer,
    pub similarity: Similarity,
    /// The fields that are searched, and their weights.
    pub fields: BTreeMap<String, f64>,
    /// Fields that must contain a term of the query.
    #[serde(default)]
    pub must: Vec<String>,
    #[serde(default)]
    pub feedback: Option<Rm3>,
    #[serde(default)]
    pub synonyms: Option<Synonyms>,
    #[serde(default)]
    pub proximity: Option<Proximity>,
    /// The weight of this retrieval in a fusion.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

/// Expansion of the query with synonyms from WordNet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synonyms {
    /// The weight of a synonym, as a share of the weight of its word.
    pub weight: f64,
    /// Number of senses of each part of speech whose synonyms are used, the commonest ones.
    pub senses: usize,
}

/// How the top of a ranking is re-ranked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rerank {
    /// Number of documents that are re-ranked.
    pub depth: usize,
    pub weights: Weights,
    #[serde(default)]
    pub windows: Windows,
    /// A text is a near-duplicate of one that is ranked before it if the resemblance of their three-word shingles is at least this.
    /// Near-duplicates are ranked after all other re-ranked documents.
    #[serde(default, rename = "alike")]
    pub near_duplicate: Option<f64>,
}

/// The overlapping parts of a long text that are scored instead of the whole; the best one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// Words in a window.
    pub words: usize,
    /// Words from the start of one window to the start of the next.
    pub step: usize,
    /// Maximum number of windows of a text; the rest is ignored.
    pub most: usize,
}

impl Default for Windows {
    /// MiniLM reads about 200 words. Half of that holds about one thought.
    fn default() -> Self {
        Windows {
            words: 100,
            step: 50,
            most: 8,
        }
    }
}

impl Windows {
    /// The windows of a text, with single blanks between words. A text without words has none.
    pub fn split(&self, text: &str) -> Vec<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut windows = Vec::new();
        let mut start = 0;
        while start < words.len() && windows.len() < self.most {
            let end = (start + self.words).min(words.len());
            windows.push(words[start..end].join(" "));
            if end == words.len() {
                break;
            }
            start += self.step;
        }
        windows
    }
}

/// Documents that are ranked although they are of little use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Those with fewer than 20 words.
    #[serde(default)]
    pub short: bool,
    /// Those with the same words as another document.
    #[serde(default)]
    pub duplicates: bool,
}

impl TextApproach {
    /// The approach with this name or, if the name ends in `.toml`, the one in this file.
    ///
    /// # Errors
    /// There is no such approach (the message lists all), or the file is not an approach.
    pub fn find(task: TextTask, name: &str) -> Result<Self> {
        if name.ends_with(".toml") {
            let text = std::fs::read_to_string(Path::new(name))
                .with_context(|| format!("cannot read the approach in {name}"))?;
            return Self::parse(&text).with_context(|| format!("{name} is not an approach"));
        }
        let all = Self::all(task)?;
        match all.iter().find(|approach| approach.name == name) {
            Some(approach) => Ok(approach.clone()),
            None => {
                let names: Vec<&str> = all.iter().map(|a| a.name.as_str()).collect();
                bail!(
                    "there is no {} approach named {name}: choose one of {}, or a file that ends in .toml",
                    task.word(),
                    names.join(", ")
                )
            }
        }
    }

    /// All approaches to this task that come with riposte, the default first.
    ///
    /// # Errors
    /// A file is damaged, which is a defect of the program.
    pub fn all(task: TextTask) -> Result<Vec<Self>> {
        files(task).iter().map(|text| Self::parse(text)).collect()
    }

    fn parse(text: &str) -> Result<Self> {
        let approach: Self = toml::from_str(text)?;
        match (approach.retrieval.len(), approach.fusion) {
            (0, _) => bail!("there is no [[retrieval]]"),
            (1, Some(_)) => bail!("a fusion of one retrieval makes no sense"),
            (2.., None) => bail!("several retrievals need a fusion"),
            _ => {}
        }
        for retrieval in &approach.retrieval {
            retrieval.check()?;
        }
        if let Some(rerank) = &approach.rerank {
            rerank.check()?;
        }
        Ok(approach)
    }
}

impl Retrieval {
    fn check(&self) -> Result<()> {
        self.similarity.check()?;
        ensure!(!self.fields.is_empty(), "a retrieval has no fields");
        for (field, weight) in &self.fields {
            check_weight(field, *weight)?;
        }
        check_weight("a retrieval", self.weight)?;
        for field in &self.must {
            ensure!(
                self.fields.contains_key(field),
                "{field} must match, but is not among the fields"
            );
        }
        if let Some(synonyms) = self.synonyms {
            check_weight("synonyms", synonyms.weight)?;
        }
        if let Some(feedback) = self.feedback {
            ensure!(
                (0.0..=1.0).contains(&feedback.original),
                "feedback: original must be from 0 to 1"
            );
        }
        if let Some(proximity) = self.proximity {
            check_weight("proximity", proximity.weight)?;
        }
        Ok(())
    }
}

impl Rerank {
    fn check(&self) -> Result<()> {
        let Weights {
            retrieval,
            sentence,
            cross,
            quality,
            comparison,
            side,
        } = self.weights;
        check_weight("retrieval", retrieval)?;
        check_weight("sentence", sentence)?;
        check_weight("cross", cross)?;
        check_weight("quality", quality)?;
        check_weight("comparison", comparison)?;
        check_weight("side", side)?;
        let Windows { words, step, most } = self.windows;
        ensure!(
            words > 0 && step > 0 && most > 0,
            "windows: words, step and most must be above 0"
        );
        Ok(())
    }
}

fn check_weight(name: &str, weight: f64) -> Result<()> {
    ensure!(
        weight.is_finite() && weight >= 0.0,
        "the weight of {name} must be 0 or more, not {weight}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_included_approaches_are_parsed() {
        for task in [TextTask::Controversial, TextTask::Comparative] {
            let all = TextApproach::all(task).unwrap();
            assert_eq!(all[0].name, "riposte");
            for approach in &all {
                assert!(!approach.source.is_empty(), "{}", approach.name);
                assert_eq!(
                    TextApproach::find(task, &approach.name).unwrap().source,
                    approach.source
                );
            }
        }
        let error = TextApproach::find(TextTask::Controversial, "nobody").unwrap_err();
        assert!(
            error.to_string().contains("riposte, bm25, dirichlet"),
            "{error}"
        );
    }

    #[test]
    fn unknown_keys_and_impossible_values_are_errors() {
        let good = r#"
            name = "x"
            source = "y"
            [[retrieval]]
            analyzer = "stop=lucene stem=porter"
            similarity = { name = "dirichlet", mu = 2000.0 }
            fields = { premises = 1.0, conclusion = 0.5 }
            must = ["premises"]
            [rerank]
            depth = 50
            weights = { retrieval = 1.0, sentence = 0.5 }
        "#;
        TextApproach::parse(good).unwrap();
        for (from, to, message) in [
            ("mu = 2000.0", "lambda = 2000.0", "mu"),
            ("mu = 2000.0", "mu = -1.0", "mu"),
            ("dirichlet", "dirichlet3", "dirichlet3"),
            ("stem=porter", "stem=none-such", "none-such"),
            ("premises = 1.0", "premises = -1.0", "0 or more"),
            ("[\"premises\"]", "[\"title\"]", "title must match"),
            ("sentence = 0.5", "sentences = 0.5", "sentences"),
            ("sentence = 0.5", "cross = -0.5", "cross must be 0 or more"),
            (
                "name = \"x\"",
                "name = \"x\"\nfusion = { name = \"borda\" }",
                "fusion of one",
            ),
            (
                "depth = 50",
                "depth = 50\nwindows = { words = 0, step = 1, most = 1 }",
                "above 0",
            ),
            ("depth = 50", "deep = 50", "deep"),
        ] {
            let error = format!(
                "{:#}",
                TextApproach::parse(&good.replace(from, to)).unwrap_err()
            );
            assert!(error.contains(message), "{to}: {error}");
        }
    }

    #[test]
    fn windows_overlap_and_cover_the_text() {
        let windows = Windows {
            words: 4,
            step: 2,
            most: 3,
        };
        assert!(windows.split(" ").is_empty());
        assert_eq!(windows.split("a b\nc"), ["a b c"]);
        assert_eq!(windows.split("a b c d e"), ["a b c d", "c d e"]);
        assert_eq!(
            windows.split("a b c d e f g h i j k"),
            ["a b c d", "c d e f", "e f g h"]
        );
    }
}
