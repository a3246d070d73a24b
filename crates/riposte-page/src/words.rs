//! The form of numbers and texts.

/// A score, a measure or a probability, with three decimals.
pub fn three_decimals(value: f64) -> String {
    format!("{value:.3}").replace('-', "−")
}

/// A number in an explanation: four decimals, or scientific notation below 0.001.
pub fn number(value: f64) -> String {
    let text = match value.abs() {
        size if size >= 0.001 || size == 0.0 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    };
    text.replace('-', "−")
}

/// A text with typographic minus signs before its numbers.
pub fn with_minus_signs(text: &str) -> String {
    let mut signed = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_minus = c == '-'
            && matches!(before, ' ' | '(')
            && chars.peek().is_some_and(char::is_ascii_digit);
        signed.push(if is_minus { '−' } else { c });
        before = c;
    }
    signed
}

/// A text of at most `most` characters, cut between two words. What is left out is marked.
pub fn shortened(text: &str, most: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let start = text.get(..end).unwrap_or_default();
    let cut = start.rfind(char::is_whitespace).unwrap_or(end);
    format!("{} …", start.get(..cut).unwrap_or_default().trim_end())
}

/// A text without the quotation marks around it. If others are inside, it stays as it is, because they can belong together.
pub fn unquoted(text: &str) -> &str {
    const MARKS: [char; 4] = ['"', '“', '”', '„'];
    let inside = text.trim_matches(MARKS);
    match inside.contains(MARKS) {
        true => text,
        false => inside,
    }
}

/// A text in lines of at most `width` characters, without a line break at the end. The first begins with `label`, the others with as many blanks. A
/// longer word has a separate line.
pub fn labelled(label: &str, text: &str, width: usize) -> String {
    let indent = label.chars().count();
    let mut lines = label.to_owned();
    let mut length = indent;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > indent && length + 1 + size > width {
            lines += "\n";
            lines += &" ".repeat(indent);
            length = indent;
        }
        if length > indent {
            lines.push(' ');
            length += 1;
        }
        lines += word;
        length += size;
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_texts_have_one_form() {
        assert_eq!(
            [number(-0.25), number(0.0), number(0.00012)],
            ["−0.2500", "0.0000", "1.20e−4"]
        );
        assert_eq!(
            with_minus_signs("weight -0.88 × -2 (-1) of four-day, 3-4"),
            "weight −0.88 × −2 (−1) of four-day, 3-4"
        );
        assert_eq!(shortened("one two three", 8), "one two …");
        assert_eq!(shortened("one two", 8), "one two");
        assert_eq!(shortened(&"ä".repeat(9), 8), format!("{} …", "ä".repeat(8)));
    }

    proptest! {
        #[test]
        fn wrapping_keeps_all_words_in_narrow_lines(words in prop::collection::vec("[a-zé.]{1,70}", 0..40)) {
            let text = labelled(" 1. ", &words.join(" "), 80);
            let again: Vec<&str> = text.split_whitespace().skip(1).collect();
            prop_assert_eq!(again, words);
            for line in text.lines() {
                prop_assert!(line.chars().count() <= 80);
            }
        }
    }
}
