//! The formulas of the team Aramis for argumentativeness and stance (Braker, Heinemann and Schreieder: Aramis at Touché 2022, CLEF 2022; their
//! repository aramis-image-argument-search).
//!
//! Each formula has several terms. Each term is divided by its largest absolute value among the candidates of a topic. The score is the weighted
//! mean of the results ([`weighted_means`]).

pub mod layers;
pub mod networks;

use std::f64::consts::PI;

use riposte_claims::words::trimmed_words;
use riposte_eval::Explanation;

use crate::evidence::TextPart;
use crate::evidence::ocr::OcrLine;
use crate::evidence::picture::PictureStatistics;
use crate::evidence::sentiment::Vader;
use crate::index::analyzer::Analyzer;
use crate::index::images::ImageEvidence;
use crate::score::FEATURE;
use crate::score::argument::ARGUES;
use crate::score::side::{ArgumentModel, SideModel, Sides};

/// The input of the formulas. Colours are shares of the pixels, in [0, 1]; sentiments are VADER's compound scores, in [-1, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AramisFeatures {
    /// The length of the text in the picture, as [`text_length`] computes it.
    pub text_length: usize,
    /// Share of the picture that is covered by a diagram, in [0, 1].
    pub diagram: f64,
    /// Whether the picture is a graphic rather than a photograph.
    pub graphic: bool,
    pub red: f64,
    pub green: f64,
    pub bright: f64,
    pub dark: f64,
    /// The sentiment of the text in the picture.
    pub ocr_sentiment: f64,
    /// The sentiment of the words of the page near the picture.
    pub page_sentiment: f64,
}

impl AramisFeatures {
    /// The features of an image whose sentiments have been read.
    pub fn of(image: &ImageEvidence) -> Self {
        let evidence = &image.evidence;
        let mut features = AramisFeatures {
            text_length: text_length(&image.ocr_text),
            ocr_sentiment: evidence.vader_of(TextPart::Ocr).unwrap_or(0.0),
            page_sentiment: evidence.vader_of_first_page(TextPart::Near).unwrap_or(0.0),
            ..AramisFeatures::default()
        };
        if let Some(p) = evidence.get::<PictureStatistics>() {
            features.diagram = text_box(p, evidence.list());
            features.graphic = p.photograph < 0.5;
            features.red = f64::from(p.red);
            features.green = f64::from(p.green);
            features.bright = f64::from(p.bright);
            features.dark = f64::from(p.dark);
        }
        features
    }
}

/// The share of a picture in the smallest upright rectangle around all lines.
fn text_box(picture: &PictureStatistics, lines: &[OcrLine]) -> f64 {
    let [width, height] = extents(picture, lines).map(|extent| extent.share);
    width * height
}

/// The share of a picture that its lines of text cover, for each cell of a grid of 8 × 8, row after row. A line counts in the cell that contains its
/// middle, with the upright rectangle around it.
fn text_map(picture: &PictureStatistics, lines: &[OcrLine]) -> [f64; 64] {
    let mut map = [0.0; 64];
    for line in lines {
        let [across, down] = extents(picture, std::slice::from_ref(line));
        // casts from floats saturate
        let cell = |middle: f64| ((8.0 * middle) as usize).min(7);
        map[8 * cell(down.middle) + cell(across.middle)] += across.share * down.share;
    }
    map
}

/// The extent of lines of text along one side of a picture, from the start of the first to the end of the last.
struct LinesExtent {
    /// Its length, as a share of the side.
    share: f64,
    /// Its middle, from 0 to 1.
    middle: f64,
}

/// The extents of all lines across the picture and down.
fn extents(picture: &PictureStatistics, lines: &[OcrLine]) -> [LinesExtent; 2] {
    let corners = || lines.iter().flat_map(|line| line.corners);
    let extent = |of: fn((f32, f32)) -> f32, side: u32| {
        let low = corners().map(of).fold(f32::INFINITY, f32::min).max(0.0);
        let high = corners().map(of).fold(f32::NEG_INFINITY, f32::max);
        let side = f64::from(side);
        let (low, high) = (f64::from(low), f64::from(high).min(side));
        LinesExtent {
            share: (high - low).max(0.0) / side.max(1.0),
            middle: (low + high) / 2.0 / side.max(1.0),
        }
    };
    [
        extent(|(x, _)| x, picture.width),
        extent(|(_, y)| y, picture.height),
    ]
}

/// From this share of the picture on, an area is not a diagram.
const DIAGRAM_SHARE: f64 = 0.8;

/// The length of the text in a picture: one more than the number of its words of at least three letters or digits. Aramis splits a text that
/// begins with a space, so there is an additional empty word.
pub(crate) fn text_length(text: &str) -> usize {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '"';
    let words = text.split(|c| !is_kept(c)).filter(|word| word.len() > 2);
    1 + words.count()
}

/// The names of the terms of [`argument_terms`].
pub(crate) const ARGUMENT_TERMS: [&str; 5] = [
    "diagram",
    "sentiment of the text in the picture",
    "length of the text in the picture",
    "sentiment of the page",
    "red and green",
];

/// The terms of argumentativeness.
pub(crate) fn argument_terms(f: &AramisFeatures) -> [f64; 5] {
    [
        diagram(f.diagram),
        by_length(f) * f.ocr_sentiment.abs(),
        3.0 * (1.0 - (-0.01 * f.text_length as f64).exp()),
        (f.page_sentiment + 1.0) * 1.5,
        f.red + f.green,
    ]
}

/// The density of a log-normal distribution, with its peak at 0.72, in the share of the picture that a diagram covers.
pub(crate) fn diagram(share: f64) -> f64 {
    if share <= 0.0 || share >= DIAGRAM_SHARE {
        return 0.0;
    }
    let rest = 1.0 - share;
    0.12 / ((2.0 * PI).sqrt() * 0.16 * rest) * (-(rest.log10() + 0.49).powi(2) / 0.0512).exp()
}

/// The factor of the sentiment of a text: from 1 without text to 3 for a long one.
fn by_length(f: &AramisFeatures) -> f64 {
    3.0 - 2.0 * (-0.04 * f.text_length as f64).exp()
}

/// The names of the terms of [`stance_terms`].
pub(crate) const STANCE_TERMS: [&str; 3] = [
    "mood of the colours",
    "sentiment of the text in the picture",
    "sentiment of the page",
];

/// The terms of the stance, positive for PRO. `turned` reverses all signs, for a query that is itself negative. As in the program of Aramis, the
/// mood of a graphic is computed from percentages, and the mood of a photograph from shares.
pub(crate) fn stance_terms(f: &AramisFeatures, turned: bool) -> [f64; 3] {
    let hue = f.green - f.red;
    let mood = if f.graphic {
        3.0 * (100.0 * hue)
    } else {
        3.0 * (0.8 * hue + 0.2 * (f.bright - f.dark))
    };
    let sign = if turned { -1.0 } else { 1.0 };
    [mood, by_length(f) * f.ocr_sentiment, 3.0 * f.page_sentiment].map(|term| sign * term)
}

/// The formula for argumentativeness, with the weights of its terms.
pub(crate) struct ArgumentFormula(pub [f64; 5]);

impl ArgumentModel for ArgumentFormula {
    fn argues(&self, images: &[&ImageEvidence]) -> Vec<Explanation> {
        let terms = |image: &&ImageEvidence| argument_terms(&AramisFeatures::of(image));
        let rows: Vec<[f64; 5]> = images.iter().map(terms).collect();
        let name = "argues by the formula of Aramis";
        weighted_means(name, ARGUMENT_TERMS, self.0, &rows)
    }
}

/// The formula for the stance, with the weights of its terms.
pub(crate) struct SideFormula {
    pub weights: [f64; 3],
    /// All signs are reversed if VADER's score of the query is below this.
    pub turn_below: f64,
}

impl SideModel for SideFormula {
    fn sides(&self, images: &[&ImageEvidence], query: &str, analyzer: &Analyzer) -> Vec<Sides> {
        // the sentiment of the query without its stop words
        let words: Vec<String> = trimmed_words(query)
            .map(str::to_lowercase)
            .filter(|word| !analyzer.stop.contains(word))
            .collect();
        let turned = Vader::new().compound(&words.join(" ")) < self.turn_below;
        let terms = |image: &&ImageEvidence| stance_terms(&AramisFeatures::of(image), turned);
        let rows: Vec<[f64; 3]> = images.iter().map(terms).collect();
        weighted_means("formula of Aramis", STANCE_TERMS, self.weights, &rows)
            .into_iter()
            .map(|mean| Sides::by_sign("sign of the formula of Aramis", mean.value()))
            .collect()
    }
}

/// For each row of terms their mean. Each term is first divided by its largest absolute value in all rows and multiplied by its share of the sum
/// of weights. A term that is 0 in all rows stays 0.
pub(crate) fn weighted_means<const N: usize>(
    name: &'static str,
    terms: [&'static str; N],
    weights: [f64; N],
    rows: &[[f64; N]],
) -> Vec<Explanation> {
    let mut largest = [0f64; N];
    for row in rows {
        for (max, x) in largest.iter_mut().zip(row) {
            *max = max.max(x.abs());
        }
    }
    let total: f64 = weights.iter().sum();
    let explained = |row: &[f64; N]| {
        let mut parts = Vec::with_capacity(N);
        for (((term, weight), x), max) in terms.iter().zip(weights).zip(row).zip(largest) {
            let normed = if max > 0.0 { x / max } else { 0.0 };
            let value = weight / total * normed / N as f64;
            let how = format!("weight {weight} of {total}, × {x:.4} / {max:.4}, / {N} terms");
            parts.push(Explanation::new((FEATURE, *term), value).with_how(how));
        }
        Explanation::sum(ARGUES, parts).named(name)
    };
    rows.iter().map(explained).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 6e-5, "{found:?} {expected:?}");
        }
    }

    /// A poster, a photograph and a chart.
    fn three() -> [AramisFeatures; 3] {
        let poster = AramisFeatures {
            text_length: 25,
            graphic: true,
            red: 0.3,
            green: 0.1,
            bright: 0.4,
            ocr_sentiment: -0.6,
            page_sentiment: 0.5,
            ..AramisFeatures::default()
        };
        let photograph = AramisFeatures {
            text_length: 1,
            red: 0.05,
            green: 0.25,
            bright: 0.1,
            dark: 0.3,
            page_sentiment: -0.4,
            ..AramisFeatures::default()
        };
        let chart = AramisFeatures {
            text_length: 50,
            diagram: 0.6,
            graphic: true,
            green: 0.2,
            bright: 0.9,
            ocr_sentiment: 0.2,
            page_sentiment: 0.1,
            ..AramisFeatures::default()
        };
        [poster, photograph, chart]
    }

    #[test]
    fn terms_of_three_images_are_those_worked_out_by_hand() {
        let [poster, photograph, chart] = three();
        // e^-1 = .36788, e^-.25 = .77880; e^-.04 = .96079, e^-.01 = .99005; e^-2 = .13534, e^-.5 = .60653
        assert_near(
            &argument_terms(&poster),
            &[0.0, 2.26424 * 0.6, 0.66360, 2.25, 0.4],
        );
        assert_near(&argument_terms(&photograph), &[0.0, 0.0, 0.02985, 0.9, 0.3]);
        assert_near(
            &argument_terms(&chart),
            &[0.6339, 2.72933 * 0.2, 1.18041, 1.65, 0.2],
        );
        assert_near(&stance_terms(&poster, false), &[-60.0, -2.26424 * 0.6, 1.5]);
        // 3 (.8 × .2 + .2 × -.2)
        assert_near(&stance_terms(&photograph, false), &[0.36, 0.0, -1.2]);
        assert_near(&stance_terms(&photograph, true), &[-0.36, 0.0, 1.2]);
        assert_near(&stance_terms(&chart, false), &[60.0, 2.72933 * 0.2, 0.3]);
    }

    #[test]
    fn scores_of_three_images_are_those_worked_out_by_hand() {
        let values = |explained: Vec<Explanation>| -> Vec<f64> {
            explained.iter().map(Explanation::value).collect()
        };
        let rows = three().map(|f| argument_terms(&f));
        let weights = [1.0, 1.0, 1.0, 0.0, 1.0];
        let found = weighted_means("argues", ARGUMENT_TERMS, weights, &rows);
        // the largest: .6339, 1.35854, 1.18041, 2.25, .4; the sum of four is divided by 4 weights × 5 terms
        let expected = [
            (0.0 + 1.0 + 0.66360 / 1.18041 + 1.0) / 20.0,
            (0.02985 / 1.18041 + 0.75) / 20.0,
            (1.0 + 0.545866 / 1.358544 + 1.0 + 0.5) / 20.0,
        ];
        assert_near(&values(found), &expected);
        let rows = three().map(|f| stance_terms(&f, false));
        let found = values(weighted_means("stance", STANCE_TERMS, [1.0; 3], &rows));
        let expected = [
            (-1.0 - 1.0 + 1.0) / 9.0,
            (0.006 - 0.8) / 9.0,
            (1.0 + 0.545866 / 1.358544 + 0.2) / 9.0,
        ];
        assert_near(&found, &expected);
        // CON, CON, PRO; all three change their sign with the query
        let rows = three().map(|f| stance_terms(&f, true));
        let turned = values(weighted_means("stance", STANCE_TERMS, [1.0; 3], &rows));
        assert_near(&turned, &expected.map(|x| -x));
        let zeros = weighted_means("none", ["a", "b"], [1.0; 2], &[[0.0, 2.0], [0.0, -4.0]]);
        assert_eq!(values(zeros), [0.125, -0.25]);
    }

    #[test]
    fn a_diagram_argues_most_at_three_quarters_of_the_picture() {
        let shares = [0.0, 0.5, 0.6, 0.7175, 0.75, 0.79, 0.8, 1.0];
        let expected = [0.0, 0.2979, 0.6339, 0.9896, 0.9365, 0.7156, 0.0, 0.0];
        assert_near(&shares.map(diagram), &expected);
    }

    #[test]
    fn short_words_are_not_counted() {
        assert_eq!(text_length(""), 1);
        assert_eq!(text_length("Ban it now, ban-all 4ever!"), 1 + 5);
    }
}
