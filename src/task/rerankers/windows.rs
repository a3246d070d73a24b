//! Decides which windows of long texts are read. The best window of a text counts, and to find it, all windows must be read. But users look only at
//! the first places of a ranking: further down, it is enough to read the most promising window.

use anyhow::Result;

use crate::index::analyzer::{self, Analyzer};
use crate::score::okapi::okapi;

/// The analyzer of topics and windows.
const ANALYZER: &str = "stop=long stem=snowball";

/// The windows of each text that have not been read, and the largest value of those that have been read; `None` if there are none.
pub(crate) struct UnreadWindows {
    unread: Vec<Vec<String>>,
    pub best: Vec<Option<f64>>,
}

impl UnreadWindows {
    /// Takes the windows of each text, and puts the most promising one first: the window that matches the words of the topic best, by BM25 among all
    /// windows. If several match equally well, it is the first of them.
    ///
    /// # Errors
    /// The analyzer cannot be made, which is a defect of the program.
    pub(crate) fn new(topic: &str, mut windows: Vec<Vec<String>>) -> Result<Self> {
        let mut analyzer = ANALYZER.parse::<Analyzer>()?.build();
        let mut query = analyzer::terms(&mut analyzer, topic);
        query.sort_unstable();
        query.dedup();
        let terms: Vec<Vec<String>> = windows
            .iter()
            .flatten()
            .map(|window| analyzer::terms(&mut analyzer, window))
            .collect();
        let mut scores = okapi(&query, &terms).into_iter();
        for of_text in &mut windows {
            let scored = (0..of_text.len()).zip(scores.by_ref());
            let best = scored.reduce(|a, b| if b.1 > a.1 { b } else { a });
            if let Some((at, _)) = best {
                of_text.swap(0, at);
            }
        }
        Ok(UnreadWindows {
            best: vec![None; windows.len()],
            unread: windows,
        })
    }

    /// Takes the most promising window of each text.
    pub(crate) fn take_promising(&mut self) -> Vec<Vec<String>> {
        let texts = self.unread.iter_mut();
        texts
            .map(|windows| windows.drain(..windows.len().min(1)).collect())
            .collect()
    }

    /// Takes the remaining windows of the texts with the `first` highest scores, and of the texts with the lowest value, because all values may be
    /// scaled by it. The result has no windows for other texts.
    pub(crate) fn take_rest(&mut self, scores: &[f64], first: usize) -> Vec<Vec<String>> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order.truncate(first);
        let lowest = self.best.iter().copied().flatten().reduce(f64::min);
        let texts = self.unread.iter_mut().zip(&self.best).enumerate();
        texts
            .map(|(at, (windows, best))| {
                if order.contains(&at) || *best == lowest {
                    std::mem::take(windows)
                } else {
                    Vec::new()
                }
            })
            .collect()
    }

    /// Adds the values of windows that were taken, by text.
    pub(crate) fn add(&mut self, values: Vec<Vec<f64>>) {
        for (best, values) in self.best.iter_mut().zip(values) {
            *best = values.into_iter().chain(*best).reduce(f64::max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the windows of `texts` until the two texts with the highest values are read whole, and returns what was read in each round, and the
    /// values. A window's value is the number in it.
    fn read(texts: &[&[&str]]) -> (Vec<Vec<String>>, Vec<Option<f64>>) {
        let owned = |windows: &&[&str]| windows.iter().map(|w| (*w).to_owned()).collect();
        let mut unread = UnreadWindows::new("cats", texts.iter().map(owned).collect()).unwrap();
        let mut rounds = Vec::new();
        let mut next = unread.take_promising();
        while next.iter().any(|windows| !windows.is_empty()) {
            let value = |window: &String| window.split(' ').next()?.parse::<f64>().ok();
            let values = next.iter().map(|of| of.iter().filter_map(value).collect());
            unread.add(values.collect());
            rounds.push(next.into_iter().flatten().collect());
            let scores: Vec<f64> = unread.best.iter().map(|b| b.unwrap_or(0.0)).collect();
            next = unread.take_rest(&scores, 2);
        }
        (rounds, unread.best)
    }

    #[test]
    fn the_first_texts_are_read_whole_and_the_others_where_the_topic_is_named() {
        let (rounds, best) = read(&[
            &["5 dogs run far away", "4 cats"],
            &["3 cats", "9 dogs bark at night"],
            &[
                "2 dogs sleep all day",
                "8 dogs and cats eat",
                "1 dogs dig deep holes",
            ],
            &["1 dogs", "0.5 cats cats"],
            &[],
            &["3 dogs", "2.5 cats", "7 dogs in a wood"],
        ]);
        // after the first round, 8 and 4 lead and 0.5 is the lowest; after the second, 8 and 5 lead and 1 is the lowest, and these texts are read
        // whole
        let expected: [&[&str]; 2] = [
            &[
                "4 cats",
                "3 cats",
                "8 dogs and cats eat",
                "0.5 cats cats",
                "2.5 cats",
            ],
            &[
                "5 dogs run far away",
                "2 dogs sleep all day",
                "1 dogs dig deep holes",
                "1 dogs",
            ],
        ];
        assert_eq!(rounds, expected);
        let expected = [Some(5.0), Some(3.0), Some(8.0), Some(1.0), None, Some(2.5)];
        assert_eq!(best, expected);
    }

    #[test]
    fn reading_goes_on_until_the_first_texts_stay_first() {
        // the second text overtakes the first once it is read whole, and nothing is below it
        let (rounds, best) = read(&[
            &["4 cats", "1 dogs"],
            &["3 cats", "9 dogs"],
            &["2 cats", "6 dogs"],
        ]);
        let expected: [&[&str]; 2] = [
            &["4 cats", "3 cats", "2 cats"],
            &["1 dogs", "9 dogs", "6 dogs"],
        ];
        assert_eq!(rounds, expected);
        assert_eq!(best, [Some(4.0), Some(9.0), Some(6.0)]);
    }
}
