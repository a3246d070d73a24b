//! Does a picture argue, or does it only illustrate?
//!
//! riposte answers by a weighted sum of a few features. The formula of the team Aramis is in `systems/aramis.rs`.

use riposte_claims::lexicon::opinion::CLAIM_WORDS;
use riposte_claims::words::trimmed_words;
use riposte_eval::Explanation;

use super::image_weights::ImageWeights;
use super::{FEATURE, belief};

/// How likely it is that an image argues.
pub(crate) const ARGUES: &str = "argues";

/// The features of a picture that show whether it argues.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PictureFeatures {
    /// Number of words read in the picture.
    pub words: usize,
    /// Number of these words that state, demand or ask something ([`CLAIM_WORDS`]).
    pub claim_words: usize,
    /// Number of these words that contain a digit.
    pub numbers: usize,
    /// Probability that the picture is a photograph rather than a graphic.
    pub photograph: f64,
    /// Probability that the text in the picture takes a side on the topic; `None` without text.
    pub side: Option<f64>,
    /// CLIP's similarity of the picture to the nearest argumentative kind of picture minus its similarity to the nearest illustrative kind;
    /// `None` without CLIP.
    pub clip_kinds: Option<f64>,
}

/// The number of words of a text, of its claim words ([`CLAIM_WORDS`]), and of its words with a digit.
pub fn count_words(text: &str) -> (usize, usize, usize) {
    let mut counts = (0, 0, 0);
    for word in trimmed_words(text) {
        let word = word.to_lowercase();
        counts.0 += 1;
        if CLAIM_WORDS.contains(&word.as_str()) {
            counts.1 += 1;
        }
        if word.bytes().any(|b| b.is_ascii_digit()) {
            counts.2 += 1;
        }
    }
    counts
}

/// The features words, claim words, numbers, graphic and side, in this order, as they are weighted. Words and graphic are in [-0.5, 0.5],
/// the others in [0, 1].
pub fn argument_features(f: &PictureFeatures) -> [f64; 5] {
    let saturating = |count: usize, full: f64| (count as f64 / full).min(1.0);
    [
        saturating(f.words, 12.0) - 0.5,
        saturating(f.claim_words, 2.0),
        saturating(f.numbers, 3.0),
        0.5 - f.photograph,
        f.side.unwrap_or(0.0),
    ]
}

/// The probability that the picture argues, with its explanation.
pub fn argues(f: &PictureFeatures) -> Explanation {
    let weights = &ImageWeights::committed().argument;
    let [words, claim_words, numbers, graphic, side] = argument_features(f);
    let mut evidence = vec![
        (
            "words in the picture",
            weights.words * words,
            format!("{} words", f.words),
        ),
        (
            "claim words",
            weights.claim_words * claim_words,
            format!("{} of them", f.claim_words),
        ),
        (
            "numbers",
            weights.numbers * numbers,
            format!("{} of them", f.numbers),
        ),
        (
            "graphic",
            weights.graphic * graphic,
            format!("photograph with probability {:.2}", f.photograph),
        ),
    ];
    if f.side.is_some() {
        let how = format!("the text in the picture, with probability {side:.2}");
        evidence.push(("takes a side", weights.side * side, how));
    }
    if let Some(kinds) = f.clip_kinds {
        let how = format!("argumentative minus illustrative likeness {kinds:.4}");
        let value = (weights.clip * kinds).clamp(-1.5, 1.5);
        evidence.push(("kind of picture by CLIP", value, how));
    }
    let evidence = evidence
        .into_iter()
        .map(|(name, value, how)| Explanation::new((FEATURE, name), value).with_how(how));
    belief(ARGUES, weights.prior, evidence.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_argues_more_than_a_photograph() {
        let (words, claim_words, numbers) =
            count_words("LOWER the voting age! 16 and 17 year olds should vote, why not?");
        assert_eq!((words, claim_words, numbers), (13, 5, 2));
        let poster = argues(&PictureFeatures {
            words,
            claim_words,
            numbers,
            photograph: 0.1,
            side: Some(0.9),
            clip_kinds: None,
        });
        let photograph = argues(&PictureFeatures {
            photograph: 0.95,
            ..PictureFeatures::default()
        });
        assert!(poster.value() > 0.75, "{}", poster.value());
        assert!(photograph.value() < 0.5, "{}", photograph.value());
    }
}
