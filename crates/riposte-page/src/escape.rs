//! Escapes texts in pages. No text can become HTML, or change the order of the words around it.

use std::fmt::{self, Write};

use askama::filters::{Escaper, Html};
use riposte_eval::escaped;

/// The escaper of texts that are whole: titles, names, sentences. Isolates those with letters from right to left, so that they do not change the order
/// of the words around them, in attributes as well as in text.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

/// The escaper of pieces of a text, such as its words that match. An element around all of them, such as `bdi`, isolates the text.
#[derive(Clone, Copy, Debug)]
pub struct Piece;

/// Begins a text that is isolated, whose direction is that of its first letter.
const FIRST_STRONG_ISOLATE: char = '\u{2068}';

/// Ends such a text.
const POP_ISOLATE: char = '\u{2069}';

impl Escaper for Whole {
    fn write_escaped_str<W: Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        if !text.chars().any(is_from_right) {
            return Piece.write_escaped_str(dest, text);
        }
        dest.write_char(FIRST_STRONG_ISOLATE)?;
        Piece.write_escaped_str(&mut dest, text)?;
        dest.write_char(POP_ISOLATE)
    }
}

impl Escaper for Piece {
    /// Embeddings, overrides and isolates are shown as escapes: an override makes a reader see another text, and an end without a beginning would end our isolation.
    fn write_escaped_str<W: Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        for piece in text.split_inclusive(changes_direction) {
            let kept = piece.strip_suffix(changes_direction).unwrap_or(piece);
            let (kept, mark) = piece.split_at(kept.len());
            Html.write_escaped_str(&mut dest, kept)?;
            write!(dest, "{}", escaped(mark))?;
        }
        Ok(())
    }
}

/// Whether a character changes the direction of the text that follows.
fn changes_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character is written from right to left: the blocks that Unicode reserves for such scripts, and the marks.
fn is_from_right(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{200f}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_change_the_order_of_what_stands_around_it() {
        let whole = |text: &str| {
            let mut page = String::new();
            Whole.write_escaped_str(&mut page, text).unwrap();
            page
        };
        assert_eq!(whole("a < b, né"), "a &#60; b, né");
        assert_eq!(whole("שלום"), "\u{2068}שלום\u{2069}");
        assert_eq!(
            whole("\u{202e}gpj.<exe\u{2069}"),
            "\\u{202e}gpj.&#60;exe\\u{2069}"
        );
        assert_eq!(
            whole("مرحبا \u{2066}a\u{2069}"),
            "\u{2068}مرحبا \\u{2066}a\\u{2069}\u{2069}"
        );
        let mut page = String::new();
        Piece.write_escaped_str(&mut page, "שלום").unwrap();
        assert_eq!(page, "שלום");
    }
}
