//! Which windows of long texts models read. A text counts as much as its best window, and to find that, a model must read all of them. The window with the
//! most words of the topic is found without a model. On judged topics, rankings by it alone differ from rankings by all windows by no more
//! than chance (docs/results.md).

use anyhow::Result;
use rayon::prelude::*;

use crate::index::analyzer::{self, Analyzer};
use crate::index::passages::PassageWindows;

/// The analyzer of topics and windows.
const ANALYZER: &str = "stop=long stem=snowball";

/// BM25's k1 as in the Python package rank_bm25: how little a repeated word counts.
const REPEATED: f64 = 1.5;

/// The windows of texts that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadWindows {
    pub windows: PassageWindows,
    /// Whether only the most promising window of each text is read.
    pub is_promising_only: bool,
}

impl ReadWindows {
    /// What the default approaches read: the most promising part of 50 words of each text. Their recipes say the same.
    pub(crate) const DEFAULT: ReadWindows = ReadWindows {
        windows: PassageWindows {
            words: 50,
            step: 50,
            most: 16,
        },
        is_promising_only: true,
    };

    /// The windows of each text that are read for a topic. A text without words has none.
    ///
    /// # Errors
    /// The analyzer cannot be made, which is a defect of the program.
    pub(crate) fn of<'t>(
        self,
        topic: &str,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<Vec<Vec<String>>> {
        let texts: Vec<&str> = texts.into_iter().collect();
        let split = |text: &&str| self.windows.split(text);
        let mut windows: Vec<Vec<String>> = texts.par_iter().map(split).collect();
        if self.is_promising_only {
            let places = promising(topic, &windows)?;
            for (of_text, place) in windows.iter_mut().zip(places) {
                of_text.drain(..place.min(of_text.len()));
                of_text.truncate(1);
            }
        }
        Ok(windows)
    }
}

/// The place of the most promising part of each text: the one with most words of the topic, of which a repeated one counts less each time. It is the first of
/// those that are equally promising, and 0 if a text has none. It depends on nothing but the topic and the text, so everything that reads one text for a topic
/// reads the same part.
///
/// # Errors
/// The analyzer cannot be made, which is a defect of the program.
pub(crate) fn promising(topic: &str, texts: &[Vec<String>]) -> Result<Vec<usize>> {
    let analyzer = ANALYZER.parse::<Analyzer>()?.build();
    let mut topic = analyzer::terms(&mut analyzer.clone(), topic);
    topic.sort_unstable();
    topic.dedup();
    let places = texts.par_iter().map_init(
        || analyzer.clone(),
        |analyzer, parts| {
            // the sum of n / (n + REPEATED), where n is the number of times that a part has a word
            let mut score = |part: &String| -> f64 {
                let terms = analyzer::terms(analyzer, part);
                let of_word = |word: &String| {
                    let n = terms.iter().filter(|term| *term == word).count() as f64;
                    n / (n + REPEATED)
                };
                topic.iter().map(of_word).sum()
            };
            match parts.as_slice() {
                [] | [_] => 0,
                parts => {
                    let scored = parts.iter().map(&mut score).enumerate();
                    let best = scored.reduce(|a, b| if b.1 > a.1 { b } else { a });
                    best.map_or(0, |(at, _)| at)
                }
            }
        },
    );
    Ok(places.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_read_where_the_topic_is_named() {
        let read = ReadWindows {
            windows: PassageWindows {
                words: 3,
                step: 3,
                most: 3,
            },
            is_promising_only: true,
        };
        let texts = [
            "dogs run away cats sit still",
            "cats sit still dogs run away",
            // it says nothing about the topic, so it is read where it begins
            "birds fly high fish swim deep",
            // the rest of a text is ignored
            "a b c d e f g h i cats",
            "",
        ];
        let found = read.of("Are cats nice?", texts).unwrap();
        let expected: [&[&str]; 5] = [
            &["cats sit still"],
            &["cats sit still"],
            &["birds fly high"],
            &["a b c"],
            &[],
        ];
        assert_eq!(found, expected);
        let all = ReadWindows {
            is_promising_only: false,
            ..read
        };
        let found = all.of("Are cats nice?", texts).unwrap();
        assert_eq!(found[0], ["dogs run away", "cats sit still"]);
        assert_eq!(found[3].len(), 3);
    }
}
