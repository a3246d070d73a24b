//! The networks of the team Aramis for argumentativeness and stance (Braker, Heinemann and Schreieder: Aramis at Touché 2022, CLEF 2022). Their
//! inputs come from the evidence, and their weights were trained for riposte (`train aramis`).

use std::sync::LazyLock;

use anyhow::{Context, Result};
use riposte_claims::words::trimmed_words;
use riposte_eval::Explanation;
use serde::Deserialize;

use super::layers::{DenseLayer, check, outputs, relu, softmax};
use super::{AramisFeatures, diagram, text_map};
use crate::evidence::picture::PictureStatistics;
use crate::evidence::sentiment::Vader;
use crate::index::analyzer::{Analyzer, terms};
use crate::index::images::ImageEvidence;
use crate::score::argument::ARGUES;
use crate::score::logistic;
use crate::score::side::{ArgumentModel, SideModel, Sides};

/// The number of cells along each side of the grid that maps the text in a picture.
pub const GRID: usize = 8;

/// The inputs of the network of argumentativeness for an image.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentInputs {
    /// The share of the picture that is text, for each cell of the grid, row after row.
    pub text_map: [f64; GRID * GRID],
    /// The mean red, green and blue.
    pub colours: [f64; 3],
    /// The shares of green, red, bright and dark; the length of the text in the picture; its positive and its negative sentiment; whether the
    /// picture is a graphic; the diagram.
    pub features: [f64; 9],
}

/// The number of inputs of the network of stances.
pub const STANCE_INPUTS: usize = 20;

/// The length of a text, scaled to a number between 0 and 1.
fn scaled_length(f: &AramisFeatures) -> f64 {
    1.0 - (-0.01 * f.text_length as f64).exp()
}

/// The positive part and the negative part of a value; one of them is 0.
fn both_signs(value: f64) -> [f64; 2] {
    [value.max(0.0), (-value).max(0.0)]
}

/// The mean red, green and blue. Aramis divides them by 360.
fn scaled_colours(image: &ImageEvidence) -> [f64; 3] {
    let picture = image.evidence.get::<PictureStatistics>();
    let average = picture.map_or([0; 3], |p| p.average);
    average.map(|colour| f64::from(colour) / 360.0)
}

impl ArgumentInputs {
    /// The inputs for an image whose sentiments have been read.
    pub fn of(image: &ImageEvidence) -> Self {
        let f = AramisFeatures::of(image);
        let picture = image.evidence.get::<PictureStatistics>();
        let [positive, negative] = both_signs(f.ocr_sentiment);
        ArgumentInputs {
            text_map: picture.map_or([0.0; 64], |p| text_map(p, image.evidence.list())),
            colours: scaled_colours(image),
            features: [
                f.green,
                f.red,
                f.bright,
                f.dark,
                scaled_length(&f),
                positive,
                negative,
                f64::from(u8::from(f.graphic)),
                diagram(f.diagram),
            ],
        }
    }
}

/// The inputs of the network of stances for an image whose sentiments have been read: the shares of green, red, blue, bright and dark; the
/// positive and the negative sentiment of the page; the length and the sentiment of the text in the picture; the mean colours; and how the words
/// of the query occur in the page and in the picture. `analyzer` turns the image's words into terms, and must be the analyzer
/// of the query.
pub fn stance_inputs(
    image: &ImageEvidence,
    query: &[WordWithTerm],
    analyzer: &Analyzer,
) -> [f64; STANCE_INPUTS] {
    let f = AramisFeatures::of(image);
    let of_page = tokens(analyzer, &image.near_text);
    let of_ocr = tokens(analyzer, &image.ocr_text);
    let picture = image.evidence.get::<PictureStatistics>();
    let blue_share = picture.map_or(0.0, |p| f64::from(p.blue));
    let [page, anti_page] = both_signs(f.page_sentiment);
    let [ocr, anti_ocr] = both_signs(f.ocr_sentiment);
    let [red, green, blue] = scaled_colours(image);
    let [near_page, anti_near_page] = both_signs(context(query, &of_page));
    let [near_ocr, anti_near_ocr] = both_signs(context(query, &of_ocr));
    [
        f.green,
        f.red,
        blue_share,
        f.bright,
        f.dark,
        page,
        anti_page,
        scaled_length(&f),
        ocr,
        anti_ocr,
        red,
        green,
        blue,
        share(query, &of_page),
        share(query, &of_ocr),
        near_page,
        anti_near_page,
        near_ocr,
        anti_near_ocr,
        // the share of the query's words that the text in the picture contains in the same order
        common_subsequence(query, &of_ocr) as f64 / query.len().max(1) as f64,
    ]
}

/// A word of a text, and the term with which it is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct WordWithTerm {
    word: String,
    term: String,
}

/// The words of a text without stop words.
pub fn tokens(analyzer: &Analyzer, text: &str) -> Vec<WordWithTerm> {
    let mut analyzer = analyzer.build();
    trimmed_words(text)
        .filter_map(|word| {
            let term = terms(&mut analyzer, word).join(" ");
            let word = word.to_lowercase();
            (!term.is_empty()).then_some(WordWithTerm { word, term })
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The share of a text's words that equal a word of the query, averaged over the words of the query that occur.
fn share(query: &[WordWithTerm], text: &[WordWithTerm]) -> f64 {
    let count = |wanted: &WordWithTerm| text.iter().filter(|t| t.term == wanted.term).count();
    let counts = query.iter().map(count).filter(|count| *count > 0);
    let shares: Vec<f64> = counts.map(|n| n as f64 / text.len() as f64).collect();
    mean(&shares)
}

/// The mean sentiment around the query's words in a text. Like Aramis, it searches for occurrences from the sixth word on, and continues five
/// words after each occurrence.
fn context(query: &[WordWithTerm], text: &[WordWithTerm]) -> f64 {
    const AROUND: usize = 5;
    let vader = Vader::new();
    let mut scores = Vec::new();
    for wanted in query {
        let mut from = AROUND;
        while let Some(at) = (from..text.len()).find(|at| text[*at].term == wanted.term) {
            let end = (at + AROUND).min(text.len());
            let words = text[at - AROUND..end].iter();
            let words: Vec<&str> = words.map(|token| token.word.as_str()).collect();
            scores.push(vader.compound(&words.join(" ")));
            from = at + AROUND;
        }
    }
    mean(&scores)
}

/// The length of the longest common subsequence of terms.
fn common_subsequence(a: &[WordWithTerm], b: &[WordWithTerm]) -> usize {
    // the length for each prefix of `a` with the part of `b` that has been read
    let mut lengths = vec![0usize; a.len() + 1];
    for other in b {
        let mut diagonal = 0;
        for (at, token) in a.iter().enumerate() {
            let above = lengths[at + 1];
            lengths[at + 1] = if token.term == other.term {
                diagonal + 1
            } else {
                above.max(lengths[at])
            };
            diagonal = above;
        }
    }
    lengths.last().copied().unwrap_or(0)
}

/// The network of argumentativeness. The map of the text passes a convolution, a pooling and two layers, and the colours pass one layer. Both
/// results and the features pass four more layers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentNetwork {
    /// The filter of the convolution: 2 × 2 cells, row after row.
    pub filter: [f64; 4],
    pub filter_bias: f64,
    pub map: Vec<DenseLayer>,
    pub colours: Vec<DenseLayer>,
    pub trunk: Vec<DenseLayer>,
}

/// The sizes of the layers of [`ArgumentNetwork`].
pub const MAP_SIZES: [usize; 3] = [POOLED * POOLED, 6, 3];
pub const COLOUR_SIZES: [usize; 2] = [3, 3];
pub const TRUNK_SIZES: [usize; 5] = [15, 20, 10, 5, 1];
/// The sizes of the layers of [`StanceNetwork`]. The last layer has the outputs CON, neutral and PRO.
pub const STANCE_SIZES: [usize; 5] = [STANCE_INPUTS, 40, 20, 8, 3];

/// The side of the map after the convolution and the pooling, both with 2 × 2 cells.
pub const POOLED: usize = (GRID - 1) / 2;

impl ArgumentNetwork {
    /// Reads a weight file.
    ///
    /// # Errors
    /// The text is not TOML, or a layer has other sizes.
    pub fn parse(text: &str) -> Result<Self> {
        let network: Self = toml::from_str(text).context("reading the network of arguments")?;
        check("the map's branch", &network.map, &MAP_SIZES)?;
        check("the colours' branch", &network.colours, &COLOUR_SIZES)?;
        check("the trunk", &network.trunk, &TRUNK_SIZES)?;
        Ok(network)
    }

    /// The weights that are compiled into the program.
    pub(crate) fn committed() -> &'static Self {
        static COMMITTED: LazyLock<ArgumentNetwork> = LazyLock::new(|| {
            // The file is compiled in; a test reads it.
            ArgumentNetwork::parse(include_str!("../../../models/own/aramis-argument.toml"))
                .expect("models/own/aramis-argument.toml contains a network")
        });
        &COMMITTED
    }

    /// The maximum of the convolved map in each square of 2 × 2, row after row. Each maximum comes with the position in `map` of the upper left
    /// cell of its filter.
    pub fn pooled(&self, map: &[f64; GRID * GRID]) -> [(f64, usize); POOLED * POOLED] {
        let [a, b, c, d] = self.filter;
        let convolved = |at: usize| {
            let (above, below) = (&map[at..at + 2], &map[at + GRID..at + GRID + 2]);
            a * above[0] + b * above[1] + c * below[0] + d * below[1] + self.filter_bias
        };
        std::array::from_fn(|cell| {
            let corner = 2 * (cell / POOLED) * GRID + 2 * (cell % POOLED);
            let square = [0, 1, GRID, GRID + 1].map(|step| corner + step);
            let values = square.map(|at| (convolved(at), at));
            let larger =
                |best: (f64, usize), next: (f64, usize)| if next.0 > best.0 { next } else { best };
            values.into_iter().reduce(larger).unwrap_or_default()
        })
    }

    /// The inputs of the trunk.
    pub fn joined(&self, inputs: &ArgumentInputs) -> Vec<f64> {
        let pooled = self.pooled(&inputs.text_map).map(|(value, _)| value);
        let mut map = outputs(&self.map, &pooled);
        relu(&mut map);
        let mut colours = outputs(&self.colours, &inputs.colours);
        relu(&mut colours);
        [map, colours, inputs.features.to_vec()].concat()
    }

    /// How much an image argues, in [0, 1].
    pub fn argues(&self, inputs: &ArgumentInputs) -> f64 {
        let trunk = outputs(&self.trunk, &self.joined(inputs));
        logistic(trunk.first().copied().unwrap_or(0.0))
    }
}

/// The network of stances.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StanceNetwork {
    pub layers: Vec<DenseLayer>,
}

impl StanceNetwork {
    /// Reads a weight file.
    ///
    /// # Errors
    /// The text is not TOML, or a layer has other sizes.
    pub fn parse(text: &str) -> Result<Self> {
        let network: Self = toml::from_str(text).context("reading the network of stances")?;
        check("the network of stances", &network.layers, &STANCE_SIZES)?;
        Ok(network)
    }

    /// The weights that are compiled into the program.
    pub(crate) fn committed() -> &'static Self {
        static COMMITTED: LazyLock<StanceNetwork> = LazyLock::new(|| {
            // The file is compiled in; a test reads it.
            StanceNetwork::parse(include_str!("../../../models/own/aramis-stance.toml"))
                .expect("models/own/aramis-stance.toml contains a network")
        });
        &COMMITTED
    }

    /// The probabilities of CON, neutral and PRO.
    pub fn probabilities(&self, inputs: &[f64]) -> [f64; 3] {
        let found = softmax(&outputs(&self.layers, inputs));
        std::array::from_fn(|at| found.get(at).copied().unwrap_or(0.0))
    }
}

impl ArgumentModel for &ArgumentNetwork {
    fn argues(&self, images: &[&ImageEvidence]) -> Vec<Explanation> {
        let how = "from the place and length of the text in the picture, its sentiment, colours and diagram";
        let explained = |image: &&ImageEvidence| {
            let argues = ArgumentNetwork::argues(self, &ArgumentInputs::of(image));
            Explanation::new(ARGUES, argues)
                .named("argues by the network of Aramis")
                .with_how(how)
        };
        images.iter().map(explained).collect()
    }
}

impl SideModel for &StanceNetwork {
    fn sides(&self, images: &[&ImageEvidence], query: &str, analyzer: &Analyzer) -> Vec<Sides> {
        let query = tokens(analyzer, query);
        let of_image = |image: &&ImageEvidence| {
            let found = self.probabilities(&stance_inputs(image, &query, analyzer));
            let [con, neutral, pro] = found;
            Sides::by_side(
                "side by the network of Aramis",
                f64::from(side(found)),
                format!("PRO {pro:.4}, CON {con:.4}, neutral {neutral:.4}"),
            )
        };
        images.iter().map(of_image).collect()
    }
}

/// The side that Aramis chooses: -1 is CON, 0 neutral, 1 PRO.
pub fn side([con, neutral, pro]: [f64; 3]) -> i8 {
    if con >= neutral && con > pro {
        -1
    } else if pro >= con && pro > neutral {
        1
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(outputs: usize, inputs: usize, weight: f64) -> DenseLayer {
        DenseLayer {
            weights: vec![vec![weight; inputs]; outputs],
            bias: vec![0.0; outputs],
        }
    }

    #[test]
    fn the_committed_networks_are_read() {
        let zeros = ArgumentInputs {
            text_map: [0.0; GRID * GRID],
            colours: [0.0; 3],
            features: [0.0; 9],
        };
        let argues = ArgumentNetwork::committed().argues(&zeros);
        assert!((0.0..=1.0).contains(&argues), "{argues}");
        let found = StanceNetwork::committed().probabilities(&[0.0; STANCE_INPUTS]);
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn the_map_is_convolved_and_pooled() {
        let network = ArgumentNetwork {
            filter: [1.0, 10.0, 100.0, 1000.0],
            filter_bias: 0.5,
            map: vec![dense(6, 9, 1.0), dense(3, 6, 1.0)],
            colours: vec![dense(3, 3, -1.0)],
            trunk: vec![
                dense(20, 15, 1.0),
                dense(10, 20, 1.0),
                dense(5, 10, 1.0),
                dense(1, 5, 0.0),
            ],
        };
        let mut inputs = ArgumentInputs {
            text_map: [0.0; GRID * GRID],
            colours: [0.1, 0.2, 0.3],
            features: [0.25; 9],
        };
        // the third row and column: it is the lower right neighbour of the cell (1, 1) in the upper left square, and the lower left one of (1,
        // 2) in the next square
        inputs.text_map[2 * GRID + 2] = 2.0;
        // the last row and column, which are in no square
        inputs.text_map[63] = 9.0;
        let pooled = network.pooled(&inputs.text_map);
        assert_eq!(pooled[0], (2000.5, GRID + 1));
        assert_eq!(pooled[1], (200.5, GRID + 2));
        assert_eq!(pooled[POOLED], (20.5, 2 * GRID + 1));
        assert_eq!(pooled[POOLED + 1], (2.5, 2 * GRID + 2));
        assert_eq!(pooled[8].0, 0.5);
        // the nine pooled values give six equal outputs, and each of the next three outputs is their sum; negative colours become 0
        let sum = 2000.5 + 200.5 + 20.5 + 2.5 + 5.0 * 0.5;
        let expected = [vec![6.0 * sum; 3], vec![0.0; 3], vec![0.25; 9]].concat();
        assert_eq!(network.joined(&inputs), expected);
        assert_eq!(network.argues(&inputs), 0.5);
    }

    #[test]
    fn the_larger_probability_decides_and_equal_ones_as_in_the_program_of_aramis() {
        for (probabilities, expected) in [
            ([0.5, 0.3, 0.2], -1),
            ([0.2, 0.5, 0.3], 0),
            ([0.1, 0.3, 0.6], 1),
            ([0.4, 0.4, 0.2], -1),
            ([0.2, 0.4, 0.4], 0),
            ([0.4, 0.2, 0.4], 1),
        ] {
            assert_eq!(side(probabilities), expected, "{probabilities:?}");
        }
    }

    #[test]
    fn words_of_the_query_are_found_in_a_text() {
        let analyzer = Analyzer::default();
        let read = |text: &str| tokens(&analyzer, text);
        let query = read("zoos help animals");
        let text = read("Animals, animals in zoos: one two three zoos love four five");
        assert_eq!(text.len(), 11);
        let ocr = read("help the zoos help poor animals");
        // "zoos" and "animals" occur twice each among eleven words
        assert!((share(&query, &text) - 2.0 / 11.0).abs() < 1e-12);
        // only the second "zoos" comes after the fifth word, and "love" is near it
        let near = Vader::new().compound("zoos one two three zoos love four five");
        let from_fifth = Vader::new().compound("in zoos one two three zoos love four five");
        assert!(near > 0.5 && near == from_fifth);
        assert_eq!(context(&query, &text), near);
        // "zoos help animals" in this order
        assert_eq!(common_subsequence(&query, &ocr), 3);
        assert!((share(&query, &ocr) - (1.0 + 2.0 + 1.0) / 3.0 / 6.0).abs() < 1e-12);
        assert_eq!((share(&query, &[]), context(&query, &[])), (0.0, 0.0));
        assert_eq!(common_subsequence(&query, &read("animals help")), 1);
    }
}
