//! Turns a recogniser's output into characters (connectionist temporal classification, Graves et al. 2006, best-path decoding).

use rten_tensor::NdTensorView;
use rten_tensor::prelude::*;

/// Label 0 is "no character here"; label i > 0 is `alphabet[i - 1]`.
pub(super) const BLANK: usize = 0;

/// The text that was read in the image of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DecodedLine {
    pub text: String,
    /// The mean probability of the characters, in [0, 1]; 0 for an empty text.
    pub confidence: f32,
    /// Where each character of the text is: its centre as a share of the width of the image, in [0, 1].
    pub places: Vec<f32>,
}

impl DecodedLine {
    /// The reading without blanks at both ends.
    pub fn trimmed(mut self) -> Self {
        let blanks = |text: &str, trimmed: &str| text.chars().count() - trimmed.chars().count();
        let before = blanks(&self.text, self.text.trim_start());
        self.places.drain(..before.min(self.places.len()));
        self.text = self.text.trim().to_owned();
        self.places.truncate(self.text.chars().count());
        self
    }
}

/// The text of one line.
///
/// `probabilities` is (step, label), each in [0, 1]. Of consecutive steps with the same label, the first counts. A label beyond the alphabet is
/// ignored. A gap between two characters separates words if the probability of the space reaches `word_gap` in it, even if blank is more likely. With
/// `word_gap` > 1, this is plain best-path decoding.
pub(super) fn decode(
    probabilities: NdTensorView<f32, 2>,
    alphabet: &[String],
    word_gap: f32,
) -> DecodedLine {
    let space = alphabet.iter().rposition(|character| character == " ");
    let steps = probabilities.size(0);
    let (mut text, mut places) = (String::new(), Vec::new());
    let (mut sum, mut count, mut previous, mut gap) = (0.0, 0, BLANK, 0.0_f32);
    for step in 0..steps {
        let labels = probabilities.slice(step);
        let labels = labels.to_contiguous();
        let labels = labels.data();
        let best = largest(labels);
        let place = (step as f32 + 0.5) / steps as f32;
        let label = labels.iter().position(|&p| p == best).unwrap_or(BLANK);
        if label == BLANK {
            let of_space = space.and_then(|space| labels.get(space + 1));
            gap = gap.max(of_space.copied().unwrap_or(0.0));
        } else {
            if label != previous
                && let Some(character) = alphabet.get(label - 1)
            {
                if gap >= word_gap && !text.is_empty() && !text.ends_with(' ') && character != " " {
                    text.push(' ');
                    let before = places.last().copied().unwrap_or(place);
                    places.push((before + place) / 2.0);
                }
                text.push_str(character);
                places.extend(character.chars().map(|_| place));
                sum += best;
                count += 1;
            }
            gap = 0.0;
        }
        previous = label;
    }
    let confidence = if count == 0 { 0.0 } else { sum / count as f32 };
    DecodedLine {
        text,
        confidence,
        places,
    }
}

/// The largest number, or -∞; NaN is ignored. The lanes let the compiler use vector instructions.
fn largest(numbers: &[f32]) -> f32 {
    let more = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; 16];
    let (parts, rest) = numbers.as_chunks::<16>();
    for part in parts {
        for (lane, &number) in lanes.iter_mut().zip(part) {
            *lane = more(*lane, number);
        }
    }
    let all = lanes.iter().chain(rest);
    all.fold(f32::NEG_INFINITY, |a, &b| more(a, b))
}

#[cfg(test)]
mod tests {
    use rten_tensor::NdTensor;

    use super::*;

    fn read(labels: &[(usize, f32)]) -> (String, f32) {
        let alphabet = ["a", "b", " "].map(str::to_owned);
        let mut probabilities = NdTensor::zeros([labels.len(), 4]);
        for (step, &(label, p)) in labels.iter().enumerate() {
            probabilities[[step, label]] = p;
        }
        let read = decode(probabilities.view(), &alphabet, 0.02);
        (read.text, read.confidence)
    }

    #[test]
    fn a_run_of_one_label_is_one_character() {
        let (text, confidence) = read(&[(1, 0.75), (1, 1.0), (2, 0.25)]);
        assert_eq!(text, "ab");
        // the first of the run counts: (0.75 + 0.25) / 2
        assert_eq!(confidence, 0.5);
    }

    #[test]
    fn a_blank_between_makes_a_double_letter() {
        assert_eq!(read(&[(1, 1.0), (0, 1.0), (1, 1.0)]).0, "aa");
    }

    #[test]
    fn the_last_character_may_be_a_space() {
        assert_eq!(read(&[(1, 1.0), (3, 1.0), (2, 1.0)]).0, "a b");
    }

    #[test]
    fn a_hint_of_a_space_parts_words_but_is_no_second_space() {
        let alphabet = ["a", "b", " "].map(str::to_owned);
        let parted = |hints: &[f32]| {
            let mut probabilities = NdTensor::zeros([hints.len() + 2, 4]);
            probabilities[[0, 1]] = 1.0;
            for (i, &hint) in hints.iter().enumerate() {
                probabilities[[i + 1, 3]] = hint;
                probabilities[[i + 1, 0]] = 0.6;
            }
            probabilities[[hints.len() + 1, 2]] = 1.0;
            decode(probabilities.view(), &alphabet, 0.02).text
        };
        assert_eq!(parted(&[0.0, 0.05, 0.0]), "a b");
        assert_eq!(parted(&[0.01, 0.01]), "ab");
        assert_eq!(parted(&[0.1, 0.9, 0.1]), "a b");
    }

    #[test]
    fn characters_know_their_places() {
        let alphabet = ["a", "b", " "].map(str::to_owned);
        // a space, a, nothing but a hint of a space, b
        let mut probabilities = NdTensor::zeros([4, 4]);
        for (step, label) in [(0, 3), (1, 1), (2, 0), (3, 2)] {
            probabilities[[step, label]] = 0.9;
        }
        probabilities[[2, 3]] = 0.05;
        let read = decode(probabilities.view(), &alphabet, 0.02);
        assert_eq!(read.text, " a b");
        assert_eq!(read.places, [0.125, 0.375, 0.625, 0.875]);
        let trimmed = read.trimmed();
        assert_eq!((trimmed.text.as_str(), trimmed.places.len()), ("a b", 3));
        assert_eq!(trimmed.places[0], 0.375);
    }

    #[test]
    fn blanks_alone_are_no_text() {
        assert_eq!(read(&[(0, 1.0), (0, 0.9)]), (String::new(), 0.0));
        assert_eq!(read(&[]), (String::new(), 0.0));
    }

    #[test]
    fn a_model_of_nan_reads_nothing() {
        let probabilities = NdTensor::full([3, 4], f32::NAN);
        let alphabet = ["a".to_owned()];
        assert_eq!(decode(probabilities.view(), &alphabet, 0.02).text, "");
    }
}
