//! The form of numbers and texts. Reports of runs have the same.

/// A score or a probability.
pub(super) fn three_decimals(value: f64) -> String {
    format!("{value:.3}").replace('-', "−")
}

/// A number of an explanation: four decimals, or a power of ten below 0.001.
pub(super) fn number(value: f64) -> String {
    let text = match value.abs() {
        size if size >= 0.001 || size == 0.0 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    };
    text.replace('-', "−")
}

/// A whole number in groups of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A text of at most so many characters, cut between two words.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let start = text.get(..end).unwrap_or_default();
    let cut = start.rfind(char::is_whitespace).unwrap_or(end);
    format!("{} …", start.get(..cut).unwrap_or_default().trim_end())
}

/// A sentence with a capital letter and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_have_one_form() {
        assert_eq!(
            [number(-0.25), number(0.0), number(0.00012)],
            ["−0.2500", "0.0000", "1.20e−4"]
        );
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(shortened("one two three", 8), "one two …");
        assert_eq!(shortened(&"ä".repeat(9), 8), format!("{} …", "ä".repeat(8)));
        assert_eq!(
            sentence("there is no collection \"x\""),
            "There is no collection \"x\"."
        );
    }
}
