//! Approaches to the text tasks, as data: `approaches/controversial/` and `approaches/comparative/`.

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

/// How texts are retrieved.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextApproach {
    pub name: String,
    /// The paper, or whose own it is.
    pub source: String,
    /// What the source does not tell, or does otherwise than riposte.
    #[serde(default)]
    pub unknown: String,
    /// One retrieval, or several that are fused.
    pub retrieval: Vec<Retrieval>,
    /// How several retrievals are fused.
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
    /// Fields that a document must match in.
    #[serde(default)]
    pub must: Vec<String>,
    #[serde(default)]
    pub feedback: Option<Rm3>,
    #[serde(default)]
    pub synonyms: Option<Synonyms>,
    #[serde(default)]
    pub proximity: Option<Proximity>,
    /// In a fusion.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

/// Synonyms of the query's words, from WordNet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synonyms {
    /// By which the weight of a synonym is smaller than its word's.
    pub weight: f64,
    /// The commonest senses of each part of speech that are looked at.
    pub senses: usize,
}

/// How the top of a ranking is ordered anew.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rerank {
    /// So many documents from the top.
    pub depth: usize,
    pub weights: Weights,
    #[serde(default)]
    pub windows: Windows,
    /// A text that has so large a share of its three-word pieces with one ranked before it goes behind the others.
    #[serde(default)]
    pub alike: Option<f64>,
}

/// The parts of a long text that are compared with the topic, or read with it; the best one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// Words in one.
    pub words: usize,
    /// Words from the beginning of one to that of the next.
    pub step: usize,
    /// Windows from the beginning of a text.
    pub most: usize,
}

impl Default for Windows {
    /// MiniLM reads about 200 words; half of that is a thought.
    fn default() -> Self {
        Windows {
            words: 100,
            step: 50,
            most: 8,
        }
    }
}

impl Windows {
    /// The windows of a text: its words, parted by single blanks. None for a text without words.
    pub fn of(&self, text: &str) -> Vec<String> {
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

/// Documents that are ranked although they help nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// With fewer than 20 words.
    #[serde(default)]
    pub short: bool,
    /// With the words of another document.
    #[serde(default)]
    pub duplicates: bool,
}

impl TextApproach {
    /// The approach of that name, or in the file of that name if it ends in `.toml`.
    ///
    /// Errors: no such approach (the message lists them), a file that is not one.
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

    /// All that come with riposte to this task, the default first.
    pub fn all(task: TextTask) -> Result<Vec<Self>> {
        files(task).iter().map(|text| Self::parse(text)).collect()
    }

    fn parse(text: &str) -> Result<Self> {
        let approach: Self = toml::from_str(text)?;
        let weight = |name: &str, weight: f64| {
            ensure!(
                weight.is_finite() && weight >= 0.0,
                "the weight of {name} must be 0 or more, not {weight}"
            );
            Ok(())
        };
        match (approach.retrieval.len(), approach.fusion) {
            (0, _) => bail!("there is no [[retrieval]]"),
            (1, Some(_)) => bail!("there is a fusion of one retrieval"),
            (2.., None) => bail!("there are several retrievals and no fusion"),
            _ => {}
        }
        for retrieval in &approach.retrieval {
            retrieval.similarity.check()?;
            ensure!(!retrieval.fields.is_empty(), "a retrieval has no fields");
            for (field, of) in &retrieval.fields {
                weight(field, *of)?;
            }
            weight("a retrieval", retrieval.weight)?;
            for field in &retrieval.must {
                ensure!(
                    retrieval.fields.contains_key(field),
                    "{field} must match, but is not among the fields"
                );
            }
            if let Some(synonyms) = retrieval.synonyms {
                weight("synonyms", synonyms.weight)?;
            }
            if let Some(feedback) = retrieval.feedback {
                ensure!(
                    (0.0..=1.0).contains(&feedback.original),
                    "feedback: original is a share from 0 to 1"
                );
            }
            if let Some(proximity) = retrieval.proximity {
                weight("proximity", proximity.weight)?;
            }
        }
        if let Some(rerank) = &approach.rerank {
            let Weights {
                retrieval,
                sentence,
                cross,
                quality,
                comparison,
                side,
            } = rerank.weights;
            weight("retrieval", retrieval)?;
            weight("sentence", sentence)?;
            weight("cross", cross)?;
            weight("quality", quality)?;
            weight("comparison", comparison)?;
            weight("side", side)?;
            let Windows { words, step, most } = rerank.windows;
            ensure!(
                words > 0 && step > 0 && most > 0,
                "windows: words, step and most are above 0"
            );
        }
        Ok(approach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_approaches_that_come_along_are_read() {
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
    fn what_is_unknown_or_makes_no_sense_is_said() {
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
    fn windows_cover_a_text_once_and_a_half() {
        let windows = Windows {
            words: 4,
            step: 2,
            most: 3,
        };
        assert!(windows.of(" ").is_empty());
        assert_eq!(windows.of("a b\nc"), ["a b c"]);
        assert_eq!(windows.of("a b c d e"), ["a b c d", "c d e"]);
        assert_eq!(
            windows.of("a b c d e f g h i j k"),
            ["a b c d", "c d e f", "e f g h"]
        );
    }
}
