//! Compares the texts that were read in two pictures. Pictures that look similar can say opposite things, for example the same meme, poster or
//! sign with other words.
//!
//! A smaller or recompressed copy is read with mistakes: letters are confused, words are joined or split, and small print is lost or garbled.
//! Therefore only words that are legible in the smaller picture and were read with confidence count as differences. Most differences are
//! ignored; exceptions are words that can reverse a text ("not", "ban") and words that replace others.

use std::cmp::Ordering;
use std::collections::HashMap;

use riposte_claims::lexicon::opinion::{NEGATIVE_WORDS, OPPOSE, REDUCTIONS, SUPPORT, negates};
use strsim::levenshtein;

use crate::evidence::ocr::OcrLine;

/// Minimum height of a line of text, in pixels of the smaller picture, for its words to count. Boxes of lines include a margin, so the letters
/// themselves are lower.
const LEGIBLE_HEIGHT: f64 = 14.0;

/// Minimum confidence of a line for its words to count.
const CONFIDENCE: f32 = 0.9;

/// Minimum share of the letters that are in words of both texts.
const SHARED_LETTERS: f64 = 0.6;

/// Shorter words must agree in all letters, because a single letter distinguishes "no" from "on".
const NEAR_LETTERS: usize = 4;

/// Maximum number of words that OCR is expected to join into one.
const JOINED_WORDS: usize = 4;

/// Number of words that are compared. Those of a picture that riposte has read are fewer, but a stored text can come from anybody, and the time of a
/// comparison is quadratic in the words and in their letters.
const MAX_WORDS: usize = 4000;

/// Number of letters of a word that are compared.
const MAX_LETTERS: usize = 100;

/// Words that can reverse a text, in addition to words of approval, rejection and negation.
const DECISIVE: [&str; 3] = ["for", "keep", "more"];

/// Beginnings that reverse a word: "illegal", "unsafe".
const REVERSING_PREFIXES: [&str; 13] = [
    "un", "il", "in", "im", "ir", "dis", "non", "anti", "mis", "no", "not", "never", "pro",
];

/// Verbs before a contracted "not" whose apostrophe is lost: "dont".
const CONTRACTED: [&str; 19] = [
    "do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "ca", "wo", "could",
    "should", "would", "must", "need", "ai", "might",
];

/// The text that was read in a picture, for comparison with the text in another picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PictureWords {
    words: Vec<Word>,
    /// The width of the picture in pixels.
    width: u32,
}

#[derive(Clone, Debug, PartialEq)]
struct Word {
    /// The word in lower case, without apostrophes.
    text: String,
    letters: usize,
    /// The height of the word's line in pixels.
    height: f64,
    is_certain: bool,
}

impl PictureWords {
    /// The words of the lines that were read in a picture of this width, in pixels.
    pub fn new(lines: &[OcrLine], width: u32) -> Self {
        let mut words = Vec::new();
        for line in lines {
            let [(x1, y1), .., (x2, y2)] = line.corners;
            let height = f64::from(x1 - x2).hypot(f64::from(y1 - y2));
            let text = line.text.to_lowercase().replace(['\'', '’'], "");
            let of_line = text.split(|c: char| !c.is_alphanumeric());
            let of_line = of_line.filter(|word| !word.is_empty());
            let left = MAX_WORDS.saturating_sub(words.len());
            words.extend(of_line.take(left).map(|word| {
                let text: String = word.chars().take(MAX_LETTERS).collect();
                Word {
                    letters: text.chars().count(),
                    text,
                    height,
                    is_certain: line.confidence >= CONFIDENCE,
                }
            }));
        }
        PictureWords { words, width }
    }

    /// Whether the texts in both pictures agree, as far as they are legible in both. Pictures without text agree.
    pub fn agrees_with(&self, other: &PictureWords) -> bool {
        match self.texts().cmp(other.texts()) {
            Ordering::Equal => true,
            // words are matched in the order of the text that sorts first, so the result is symmetric
            Ordering::Greater => other.agrees_with_later(self),
            Ordering::Less => self.agrees_with_later(other),
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.text.as_str())
    }

    fn agrees_with_later(&self, other: &PictureWords) -> bool {
        let width = self.width.min(other.width);
        let legible = [self.legible(width), other.legible(width)];
        let letters: usize = ([self, other].iter().zip(&legible))
            .flat_map(|(text, legible)| text.words.iter().zip(legible))
            .filter(|(_, legible)| **legible)
            .map(|(word, _)| word.letters)
            .sum();
        if letters == 0 {
            return true;
        }
        let matched = matches(&self.words, &other.words);
        let unmatched = |text: &'_ PictureWords, at: usize| -> Vec<Word> {
            let words = text.words.iter().zip(&matched[at]).zip(&legible[at]);
            words
                .filter(|((_, matched), legible)| !**matched && **legible)
                .map(|((word, _), _)| word.clone())
                .collect()
        };
        let differences = [unmatched(self, 0), unmatched(other, 1)];
        let lost: usize = differences.iter().flatten().map(|word| word.letters).sum();
        if (letters - lost) as f64 / (letters as f64) < SHARED_LETTERS {
            return false;
        }
        let [ours, theirs] = &differences;
        let reversed = |words: &[Word], others: &[Word]| {
            words.iter().any(|word| {
                is_decisive(&word.text) || others.iter().any(|o| reverses(&word.text, &o.text))
            })
        };
        if reversed(ours, &other.words) || reversed(theirs, &self.words) {
            return false;
        }
        let has_new_word = |words: &[Word], others: &[Word]| {
            words.iter().any(|word| {
                word.letters > 1
                    && word.text.chars().all(char::is_alphabetic)
                    && others.iter().all(|other| are_unlike(word, other))
            })
        };
        !(has_new_word(ours, theirs) && has_new_word(theirs, ours))
    }

    /// For each word whether it counts, if the smaller picture has this width. If the text has no certain word that is large enough, size is
    /// ignored, so pictures of small print can be compared.
    fn legible(&self, smaller_width: u32) -> Vec<bool> {
        let scale = f64::from(smaller_width) / f64::from(self.width.max(1));
        let is_large = |word: &Word| word.height * scale >= LEGIBLE_HEIGHT;
        let mut words = self.words.iter();
        let any_large = words.any(|word| word.is_certain && is_large(word));
        let legible = |word: &Word| word.is_certain && (!any_large || is_large(word));
        self.words.iter().map(legible).collect()
    }
}

/// For each word of both texts, whether the other text has it, too: unchanged, joined or split, or with a few different letters.
fn matches(ours: &[Word], theirs: &[Word]) -> [Vec<bool>; 2] {
    let mut matched = [vec![false; ours.len()], vec![false; theirs.len()]];
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, word) in theirs.iter().enumerate().rev() {
        places.entry(&word.text).or_default().push(at);
    }
    for (at, word) in ours.iter().enumerate() {
        if let Some(other) = places.get_mut(word.text.as_str()).and_then(Vec::pop) {
            matched[0][at] = true;
            matched[1][other] = true;
        }
    }
    let [own, other] = &mut matched;
    match_joined(ours, own, theirs, other);
    match_joined(theirs, other, ours, own);
    for (word, own) in ours.iter().zip(own).filter(|(_, own)| !**own) {
        let mut candidates = theirs.iter().zip(other.iter_mut());
        let near = candidates.find(|(other, taken)| !**taken && are_near(word, other));
        if let Some((_, taken)) = near {
            *taken = true;
            *own = true;
        }
    }
    matched
}

/// Matches each word with consecutive words of the other text that consist of the same letters.
fn match_joined(words: &[Word], matched: &mut [bool], parts: &[Word], taken: &mut [bool]) {
    for (word, matched) in words.iter().zip(matched).filter(|(_, matched)| !**matched) {
        for start in 0..parts.len() {
            let mut rest = word.text.as_str();
            let mut end = start;
            while let (Some(part), Some(false)) = (parts.get(end), taken.get(end))
                && let Some(after) = rest.strip_prefix(part.text.as_str())
                && end < start + JOINED_WORDS
            {
                rest = after;
                end += 1;
            }
            if rest.is_empty() && end > start {
                taken[start..end].fill(true);
                *matched = true;
                break;
            }
        }
    }
}

/// Whether two words can be the same word, read with mistakes: at most a third of their letters differ.
fn are_near(a: &Word, b: &Word) -> bool {
    let (shorter, longer) = (a.letters.min(b.letters), a.letters.max(b.letters));
    shorter >= NEAR_LETTERS
        // the number of different letters is at least the difference in length
        && 3 * (longer - shorter) <= longer
        && !reverses(&a.text, &b.text)
        && 3 * levenshtein(&a.text, &b.text) <= longer
}

/// Whether two words cannot be the same word, even if it was read badly: more than half of their letters differ.
fn are_unlike(a: &Word, b: &Word) -> bool {
    2 * levenshtein(&a.text, &b.text) > a.letters.max(b.letters)
}

/// Whether one word is the other one with a beginning or an ending that reverses it.
fn reverses(a: &str, b: &str) -> bool {
    let reversed = |longer: &str, shorter: &str| {
        let prefix = longer.strip_suffix(shorter);
        let suffix = longer.strip_prefix(shorter);
        shorter.len() > 2
            && (prefix.is_some_and(|prefix| REVERSING_PREFIXES.contains(&prefix))
                || suffix.is_some_and(|suffix| suffix == "nt" || suffix == "less"))
    };
    reversed(a, b) || reversed(b, a)
}

/// Whether a word can reverse the text that contains it.
fn is_decisive(word: &str) -> bool {
    let contracted = word.strip_suffix("nt");
    negates(word)
        || contracted.is_some_and(|verb| CONTRACTED.contains(&verb))
        || [SUPPORT, OPPOSE, NEGATIVE_WORDS, REDUCTIONS, &DECISIVE]
            .iter()
            .any(|list| list.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lines with a height of 30 pixels in a picture of 600.
    fn text(lines: &[&str]) -> PictureWords {
        sized(lines, 30.0, 600)
    }

    fn sized(lines: &[&str], height: f32, width: u32) -> PictureWords {
        let lines: Vec<OcrLine> = lines
            .iter()
            .map(|line| OcrLine {
                text: (*line).to_owned(),
                confidence: 0.98,
                corners: [(0.0, 0.0), (400.0, 0.0), (400.0, height), (0.0, height)],
                block: 0,
            })
            .collect();
        PictureWords::new(&lines, width)
    }

    /// A stored text of another origin can be longer than any that riposte reads.
    #[test]
    fn endless_texts_are_compared_soon() {
        let words: Vec<String> = (0..2_000_000).map(|n| format!("word{n}")).collect();
        let others: Vec<String> = (0..2_000_000).map(|n| format!("other{n}")).collect();
        let letters = "a".repeat(10_000_000);
        let start = std::time::Instant::now();
        assert_agree(&[&words.join(" ")], &[&others.join(" ")], false);
        assert_agree(&[&letters], &[&"b".repeat(10_000_000)], false);
        assert!(start.elapsed().as_secs() < 20);
    }

    #[track_caller]
    fn assert_agree(a: &[&str], b: &[&str], expected: bool) {
        assert_eq!(text(a).agrees_with(&text(b)), expected, "{a:?} {b:?}");
        assert_eq!(text(b).agrees_with(&text(a)), expected, "{b:?} {a:?}");
    }

    const LONG: [&str; 4] = [
        "Children who walk to school breathe the exhaust",
        "of every queue in town, and buses run late",
        "because cars stand in their lanes each morning.",
        "The council should close the old town to cars",
    ];

    #[test]
    fn a_template_with_other_words_is_another_picture() {
        for (a, b) in [
            ("BAN GUNS", "KEEP GUNS"),
            ("Vote YES on 4", "Vote NO on 4"),
            ("Abortion is legal", "Abortion is illegal"),
            (
                "Zoos are safe places for animals",
                "Zoos are unsafe places for animals",
            ),
            (
                "We should close the zoos now",
                "We shouldn't close the zoos now",
            ),
            (
                "Vote Miller for mayor of Nordby",
                "Vote Jackson for mayor of Nordby",
            ),
            ("Cars are welcome here", ""),
            (
                "Smoking is allowed in all rooms",
                "Smoking is notallowed in all rooms",
            ),
        ] {
            assert_agree(&[a], &[b], false);
        }
    }

    #[test]
    fn one_decisive_word_in_a_long_text_makes_another_picture() {
        let mut other = LONG;
        for changed in [
            "The council should not close the old town to cars",
            "The council should never close the old town to cars",
            "The council should close no old town to cars",
            "The council shouldnt close the old town to cars",
            "Stop: the council should close the old town to cars",
            "The council should open the old town to cars",
        ] {
            other[3] = changed;
            assert_agree(&LONG, &other, false);
        }
        let mut yes = LONG;
        (yes[3], other[3]) = ("Yes", "No");
        assert_agree(&yes, &other, false);
    }

    #[test]
    fn mistakes_of_reading_are_forgiven() {
        for read in [
            // letters confused, words joined and split
            "The councll shou1d closethe old to wn to cars",
            // in another order
            "to cars The council should close the old town",
        ] {
            let mut other = LONG;
            other[3] = read;
            assert_agree(&LONG, &other, true);
        }
        // a line is lost
        assert_agree(&LONG, &LONG[1..], true);
        assert_agree(
            &["Clean air starts downtown"],
            &["Clean air startsdowntown l"],
            true,
        );
        assert_agree(
            &["It is not allowed to drive"],
            &["It is notallowed to drive"],
            true,
        );
        assert_agree(&[], &[], true);
    }

    #[test]
    fn what_cannot_be_read_does_not_count() {
        let uncertain = |text: &str| {
            let line = OcrLine {
                text: text.to_owned(),
                confidence: 0.5,
                corners: [(0.0, 0.0), (90.0, 0.0), (90.0, 30.0), (0.0, 30.0)],
                block: 0,
            };
            PictureWords::new(&[line], 600)
        };
        assert!(uncertain("l1 no").agrees_with(&PictureWords::default()));
        // small print that is lost in a picture of 60 % of the size, where 20 pixels become 12
        let with_print = |headline: &str| {
            let mut text = sized(&[headline], 60.0, 600);
            let print = sized(&["Source: not the town survey office of Nordby"], 20.0, 600);
            text.words.extend(print.words);
            text
        };
        let copy = sized(&["Cars out of the old town"], 36.0, 360);
        assert!(with_print("Cars out of the old town").agrees_with(&copy));
        assert!(!with_print("No cars out of the old town").agrees_with(&copy));
        // in a picture of the same size it counts
        let same_size = sized(&["Cars out of the old town"], 60.0, 600);
        assert!(!with_print("Cars out of the old town").agrees_with(&same_size));
        // in pictures that contain only small print, all words count
        let (a, b) = (["Do not cross the line here"], ["Do cross the line here"]);
        assert!(!sized(&a, 11.0, 300).agrees_with(&sized(&b, 11.0, 300)));
    }

    proptest! {
        #[test]
        fn agreement_is_symmetrical_and_each_text_agrees_with_itself(
            a in prop::collection::vec("[abn' ]{0,12}", 0..6),
            b in prop::collection::vec("[abn' ]{0,12}", 0..6),
        ) {
            let lines = |of: &[String]| text(&of.iter().map(String::as_str).collect::<Vec<_>>());
            let (a, b) = (lines(&a), lines(&b));
            prop_assert!(a.agrees_with(&a));
            prop_assert_eq!(a.agrees_with(&b), b.agrees_with(&a));
        }
    }
}
