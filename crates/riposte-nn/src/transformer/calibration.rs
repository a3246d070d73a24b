//! Calibration texts: they show how large the inputs of an encoder's layers become, which decides how the layers are quantised. Any English text
//! would do; these are claims, answers, sentences, headings, and texts of a word or two.

/// The texts. A model that reads two at a time gets each with the next one ([`pairs`]).
pub fn texts() -> std::str::Lines<'static> {
    include_str!("calibration.txt").lines()
}

/// Each text with the next one.
pub fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    texts().zip(texts().skip(1))
}
