//! Escapes text from files before it is printed on a terminal or written to a run.

use std::fmt;

/// A text from a file, such as a name or an id, that is safe to print.
///
/// Control characters, line breaks and marks that change the direction of text are written as escapes (`\u{1b}`). So no file can move the cursor, forge a line or hide what follows.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a> {
    text: &'a str,
    keeps_layout: bool,
}

/// Escapes a text, including its line breaks and tabs.
pub fn escaped(text: &str) -> Escaped<'_> {
    Escaped {
        text,
        keeps_layout: false,
    }
}

/// Escapes a text, except for its line breaks and tabs. It is for texts of several lines that the program itself has laid out.
pub fn escaped_lines(text: &str) -> Escaped<'_> {
    Escaped {
        text,
        keeps_layout: true,
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_kept = |c: char| !is_control(c) || self.keeps_layout && matches!(c, '\n' | '\t');
        let mut rest = self.text;
        while let Some(at) = rest.find(|c| !is_kept(c)) {
            let (kept, tail) = rest.split_at(at);
            f.write_str(kept)?;
            let mut chars = tail.chars();
            if let Some(c) = chars.next() {
                write!(f, "{}", c.escape_unicode())?;
            }
            rest = chars.as_str();
        }
        f.write_str(rest)
    }
}

/// Whether a terminal can do something other than show the character: control characters of ASCII and Latin-1, the line and paragraph separators, and
/// the marks, embeddings, overrides and isolates of the bidirectional algorithm.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let text = "a\u{1b}[2J\nb\tc\0\u{9b}\u{202e}d é 😀 \\";
        let one = "a\\u{1b}[2J\\u{a}b\\u{9}c\\u{0}\\u{9b}\\u{202e}d é 😀 \\";
        assert_eq!(escaped(text).to_string(), one);
        let lines = "a\\u{1b}[2J\nb\tc\\u{0}\\u{9b}\\u{202e}d é 😀 \\";
        assert_eq!(escaped_lines(text).to_string(), lines);
        assert_eq!(escaped("").to_string(), "");
    }
}
