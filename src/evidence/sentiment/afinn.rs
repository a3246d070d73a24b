//! AFINN: Nielsen, "A new ANEW: evaluation of a word list for sentiment analysis in microblogs", 2011.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::disk::regular;
use crate::evidence::AfinnValence;

/// AFINN's word list, with a score from -5 to 5 for each word or phrase. Matches like Python's `afinn` 0.1.
pub struct Afinn {
    /// Entries with their scores, the longest first, by the word characters with which they begin.
    entries: HashMap<String, Vec<(String, f64)>>,
}

impl Afinn {
    /// Reads lines of the form `word<TAB>score` (AFINN-111.txt, AFINN-en-165.txt). If a word occurs twice, the later line counts.
    ///
    /// Errors: the file cannot be read, has no entry, or has a line of another form.
    pub fn load(path: &Path) -> Result<Afinn> {
        let text = regular::read_text(path, crate::limits::MAX_AFINN_BYTES)
            .with_context(|| format!("cannot read the AFINN list {}", path.display()))?;
        let mut scores: HashMap<&str, f64> = HashMap::new();
        for (i, line) in text.lines().enumerate() {
            let position = || format!("{}:{}: not an AFINN line", path.display(), i + 1);
            let (word, score) = line.trim().split_once('\t').with_context(position)?;
            let score: i32 = score.trim().parse().with_context(position)?;
            // entries are matched at word boundaries, so one without word characters at its ends would never be found
            if !word.starts_with(is_word) || !word.ends_with(is_word) {
                bail!("{} (expected a word or phrase before the tab)", position());
            }
            scores.insert(word, f64::from(score));
        }
        if scores.is_empty() {
            bail!("{}: the AFINN list is empty", path.display());
        }
        let mut entries: HashMap<String, Vec<(String, f64)>> = HashMap::new();
        for (word, score) in scores {
            let list = entries.entry(first_run(word).to_owned()).or_default();
            list.push((word.to_owned(), score));
        }
        for list in entries.values_mut() {
            list.sort_by(|(a, _), (b, _)| b.chars().count().cmp(&a.chars().count()).then(a.cmp(b)));
        }
        Ok(Afinn { entries })
    }

    /// The valence of a text. At each position the longest entry counts, without overlaps and ignoring case.
    pub fn valence(&self, text: &str) -> AfinnValence {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ").to_lowercase();
        let mut found = AfinnValence::default();
        let mut rest = text.as_str();
        while let Some(start) = rest.find(is_word) {
            rest = &rest[start..];
            let run = first_run(rest);
            let entries = self.entries.get(run).into_iter().flatten();
            let mut hits =
                entries.filter_map(|(entry, score)| Some((rest.strip_prefix(&**entry)?, score)));
            rest = match hits.find(|(after, _)| !after.starts_with(is_word)) {
                Some((after, score)) => {
                    found.sum += score;
                    found.words += 1;
                    after
                }
                None => &rest[run.len()..],
            };
        }
        found
    }
}

/// Whether a character matches Python's `\w`.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The longest prefix of word characters.
fn first_run(text: &str) -> &str {
    text.split(|c| !is_word(c)).next().unwrap_or_default()
}
