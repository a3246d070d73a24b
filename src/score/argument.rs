//! Does a picture argue, or does it only illustrate?
//!
//! Two answers: riposte's own, a weighted sum of a few features, and the formula of Aramis (Braker, Heinemann and Schreieder: Aramis at
//! Touché 2022, CLEF 2022), which is kept as a baseline.

use super::belief;
use super::image_weights::ImageWeights;
use crate::topic::lexicon::opinion::CLAIM_WORDS;
use crate::topic::words::trimmed_words;
use crate::trec::Explanation;

/// The features of a picture that tell whether it argues.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PictureFeatures {
    /// Number of words read in the picture.
    pub words: usize,
    /// Number of these words that state, demand or ask something ([`CLAIM_WORDS`]).
    pub claim_words: usize,
    /// Number of these words that contain a digit.
    pub numbers: usize,
    /// Probability that the picture is a photograph and not a graphic.
    pub photograph: f64,
    /// Probability that the text in the picture takes a side on the topic; none without text.
    pub side: Option<f64>,
    /// Similarity by CLIP to the nearest argumentative kind of picture minus that to the nearest illustrative kind; none without CLIP.
    pub clip_kinds: Option<f64>,
}

/// The number of words of a text, of claim words ([`CLAIM_WORDS`]) among them, and of words with a digit.
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
        part("words in the picture", weights.words * words, || {
            format!("{} words", f.words)
        }),
        part("claim words", weights.claim_words * claim_words, || {
            format!("{} of them", f.claim_words)
        }),
        part("numbers", weights.numbers * numbers, || {
            format!("{} of them", f.numbers)
        }),
        part("graphic", weights.graphic * graphic, || {
            format!("photograph with probability {:.2}", f.photograph)
        }),
    ];
    if f.side.is_some() {
        evidence.push(part("takes a side", weights.side * side, || {
            format!("the text in the picture, with probability {side:.2}")
        }));
    }
    if let Some(kinds) = f.clip_kinds {
        evidence.push(part(
            "kind of picture by CLIP",
            (weights.clip * kinds).clamp(-1.5, 1.5),
            || format!("argumentative minus illustrative likeness {kinds:.4}"),
        ));
    }
    belief("argues", weights.prior, evidence)
}

fn part(name: &str, value: f64, how: impl FnOnce() -> String) -> Explanation {
    Explanation {
        name: name.into(),
        value,
        how: how(),
        parts: Vec::new(),
    }
}

/// The input of the formulas of Aramis. `area` and the colours are shares of the pixels, in [0, 1]; sentiments are in [-1, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AramisFeatures {
    pub words: usize,
    /// Share of the picture that is covered by text and diagrams. riposte finds text only.
    pub area: f64,
    pub graphic: bool,
    pub red: f64,
    pub green: f64,
    pub bright: f64,
    pub dark: f64,
    pub ocr_sentiment: f64,
    pub page_sentiment: f64,
}

/// The factors of Aramis' argumentativeness: diagram, sentiment of the text, amount of text, colour. The score is their mean after each was
/// divided by its largest absolute value among the candidates ([`mean_of_normalised`]).
pub(crate) fn aramis_argument(f: &AramisFeatures) -> [f64; 4] {
    let words = f.words as f64;
    let diagram = if f.area <= 0.0 || f.area >= 1.0 {
        0.0
    } else {
        let rest = 1.0 - f.area;
        (1.0 / ((2.0 * std::f64::consts::PI).sqrt() * 0.16 * rest))
            * ((rest.log10() + 0.49).powi(2) / -0.0512).exp()
            * 0.12
    };
    let length = 3.0 - 2.0 / (0.04 * words).exp();
    let colour = (f.red + f.green) * if f.graphic { 3.0 } else { 1.0 };
    [
        diagram,
        length * f.ocr_sentiment.abs(),
        3.0 * (1.0 - 1.0 / (0.01 * words).exp()),
        colour,
    ]
}

/// The factors of Aramis' stance: mood of the colours, sentiment of the text in the picture, sentiment of the page. Positive is PRO, unless
/// the query itself is negative, which reverses all signs. They are averaged as those of [`aramis_argument`].
pub(crate) fn aramis_stance(f: &AramisFeatures, query_is_negative: bool) -> [f64; 3] {
    let mood = if f.graphic {
        3.0 * (f.green - f.red)
    } else {
        3.0 * ((f.green - f.red) * 0.8 + (f.bright - f.dark) * 0.2)
    };
    let length = 3.0 - 2.0 / (0.04 * f.words as f64).exp();
    let sign = if query_is_negative { -1.0 } else { 1.0 };
    [mood, length * f.ocr_sentiment, 3.0 * f.page_sentiment].map(|x| x * sign)
}

/// The mean of each row, after each column was divided by its largest absolute value. A column of zeros stays zero.
pub(crate) fn mean_of_normalised<const N: usize>(rows: &[[f64; N]]) -> Vec<f64> {
    let mut largest = [0f64; N];
    for row in rows {
        for (max, x) in largest.iter_mut().zip(row) {
            *max = max.max(x.abs());
        }
    }
    rows.iter()
        .map(|row| {
            row.iter()
                .zip(&largest)
                .map(|(x, max)| if *max > 0.0 { x / max } else { 0.0 })
                .sum::<f64>()
                / N as f64
        })
        .collect()
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
        assert!(poster.value > 0.75, "{}", poster.value);
        assert!(photograph.value < 0.5, "{}", photograph.value);
    }

    #[test]
    fn aramis_as_published() {
        // green graphic with positive words: PRO; the same under a negative query: CON
        let f = AramisFeatures {
            words: 80,
            area: 0.5,
            graphic: true,
            green: 0.5,
            red: 0.1,
            ocr_sentiment: 0.4,
            page_sentiment: 0.2,
            ..AramisFeatures::default()
        };
        let [mood, text, page] = aramis_stance(&f, false);
        assert!((mood - 1.2).abs() < 1e-12 && (page - 0.6).abs() < 1e-12);
        // 3 - 2/e^3.2
        assert!((text - 0.4 * (3.0 - 2.0 * (-3.2f64).exp())).abs() < 1e-12);
        assert_eq!(aramis_stance(&f, true), [-mood, -text, -page]);
        let [diagram, ..] = aramis_argument(&AramisFeatures {
            area: 1.0 - 10f64.powf(-0.49),
            ..f
        });
        // at the mode of the density the exponent is 0
        assert!(
            (diagram - 0.12 / ((2.0 * std::f64::consts::PI).sqrt() * 0.16 * 10f64.powf(-0.49)))
                .abs()
                < 1e-12
        );
        assert_eq!(mean_of_normalised(&[[2.0, 0.0], [-4.0, 0.0]]), [0.25, -0.5]);
    }
}
