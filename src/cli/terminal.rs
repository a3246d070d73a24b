//! The terminal that results are printed on.

use console::Term;

pub(super) use crate::task::counted;

/// Columns of a table that is printed to a file or a pipe.
const WIDTH: usize = 80;

/// Maximum number of columns of prose.
const WIDEST: usize = 100;

/// Columns of a table: those of the terminal, if standard output is a terminal.
pub(super) fn width() -> usize {
    let size = Term::stdout().size_checked();
    size.map_or(WIDTH, |(_, columns)| usize::from(columns))
}

/// Whether tables have colours: on a terminal that shows them, unless NO_COLOR is set.
pub(super) fn has_colours() -> bool {
    console::colors_enabled()
}

/// A text in a colour, if tables have colours.
pub(super) fn painted(text: &str, paint: impl FnOnce(console::Style) -> console::Style) -> String {
    let style = paint(console::Style::new()).force_styling(has_colours());
    style.apply_to(text).to_string()
}

/// A text in indented lines that fit the terminal. Only a line with a single word can be longer.
pub(super) fn wrapped(text: &str, indent: usize) -> String {
    labelled(&" ".repeat(indent), text, width().min(WIDEST)) + "\n"
}

/// A text in lines of at most `width` characters, without a line break at the end. The first begins with `label`, the others with as many blanks. A
/// longer word has a separate line.
pub(super) fn labelled(label: &str, text: &str, width: usize) -> String {
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
    use super::*;
    use proptest::prelude::*;

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
