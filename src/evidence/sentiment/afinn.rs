//! AFINN: Nielsen, "A new ANEW: evaluation of a word list for sentiment analysis in microblogs", 2011.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// What a word list found in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Valence {
    /// Sum of the scores of the words found: Python's `Afinn().score(text)`.
    pub sum: f64,
    /// How many words or phrases of the list were found, those scored 0 included.
    pub words: usize,
}

/// AFINN's word list (-5 to 5 for a word or phrase), matched as Python's `afinn` 0.1 does.
pub struct Afinn {
    /// By the run of word characters that they begin with: entries and scores, longest first.
    entries: HashMap<String, Vec<(String, f64)>>,
}

impl Afinn {
    /// Reads `word<TAB>score` lines (AFINN-111.txt, AFINN-en-165.txt); a later line replaces an earlier one.
    ///
    /// Fails when the file cannot be read, holds no entry, or has a line of another form.
    pub fn load(path: &Path) -> Result<Afinn> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("reading the AFINN list {}", path.display()))?;
        let mut scores: HashMap<&str, f64> = HashMap::new();
        for (i, line) in text.lines().enumerate() {
            let at = || format!("{}:{}: not an AFINN line", path.display(), i + 1);
            let (word, score) = line.trim().split_once('\t').with_context(at)?;
            let score: i32 = score.trim().parse().with_context(at)?;
            // matched at word boundaries: an entry of punctuation alone would never be found
            if !word.starts_with(is_word) || !word.ends_with(is_word) {
                bail!("{} (a word or phrase is wanted before the tab)", at());
            }
            scores.insert(word, f64::from(score));
        }
        if scores.is_empty() {
            bail!("{}: the AFINN list is empty", path.display());
        }
        let mut entries: HashMap<String, Vec<(String, f64)>> = HashMap::new();
        for (word, score) in scores {
            entries
                .entry(first_run(word).to_owned())
                .or_default()
                .push((word.to_owned(), score));
        }
        for list in entries.values_mut() {
            list.sort_by(|(a, _), (b, _)| b.chars().count().cmp(&a.chars().count()).then(a.cmp(b)));
        }
        Ok(Afinn { entries })
    }

    /// The words and phrases found, longest first at each place, without overlaps; case does not count.
    pub fn valence(&self, text: &str) -> Valence {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ").to_lowercase();
        let mut found = Valence::default();
        let mut rest = text.as_str();
        while let Some(start) = rest.find(is_word) {
            rest = rest.get(start..).unwrap_or_default();
            let run = first_run(rest);
            let hit = self
                .entries
                .get(run)
                .into_iter()
                .flatten()
                .find_map(|(entry, score)| {
                    let after = rest.strip_prefix(entry.as_str())?;
                    (!after.starts_with(is_word)).then_some((after, *score))
                });
            rest = match hit {
                Some((after, score)) => {
                    found.sum += score;
                    found.words += 1;
                    after
                }
                None => rest.get(run.len()..).unwrap_or_default(),
            };
        }
        found
    }
}

/// Python's `\w`.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn first_run(text: &str) -> &str {
    text.split(|c| !is_word(c)).next().unwrap_or_default()
}
