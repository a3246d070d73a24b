//! Escapes texts in pages. Reports of runs have the same rules.

use std::fmt::{self, Write};

use askama::filters::{Escaper, Html};
use riposte_eval::escaped;

/// Escapes a text for HTML. A text with letters from right to left is isolated, so that it does not change the order of the words around it. Characters
/// that change the direction are shown as escapes: an override makes a reader see another text, and an end without a beginning would end the isolation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HtmlText;

/// Begins a text whose direction is that of its first letter, and ends it.
const ISOLATE: [char; 2] = ['\u{2068}', '\u{2069}'];

impl Escaper for HtmlText {
    fn write_escaped_str<W: Write>(&self, mut page: W, text: &str) -> fmt::Result {
        let isolates = text.contains(is_from_right);
        if isolates {
            page.write_char(ISOLATE[0])?;
        }
        let mut rest = text;
        while let Some(at) = rest.find(turns) {
            let (kept, tail) = rest.split_at(at);
            Html.write_escaped_str(&mut page, kept)?;
            rest = tail.trim_start_matches(turns);
            let turning = &tail[..tail.len() - rest.len()];
            write!(page, "{}", escaped(turning))?;
        }
        Html.write_escaped_str(&mut page, rest)?;
        match isolates {
            true => page.write_char(ISOLATE[1]),
            false => Ok(()),
        }
    }
}

/// Whether a character changes the direction of what follows: embeddings, overrides, isolates and their ends.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character is written from right to left: the blocks that Unicode reserves for such scripts, and the mark.
fn is_from_right(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{200f}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_can_neither_become_html_nor_turn_what_stands_around_it() {
        let escape = |text: &str| {
            let mut page = String::new();
            HtmlText.write_escaped_str(&mut page, text).unwrap();
            page
        };
        assert_eq!(escape("a<b \"né\""), "a&#60;b &#34;né&#34;");
        assert_eq!(escape("שלום"), "\u{2068}שלום\u{2069}");
        assert_eq!(escape("\u{202e}\u{2069}<"), "\\u{202e}\\u{2069}&#60;");
        assert_eq!(
            escape("ש\u{202e}x\u{2066}"),
            "\u{2068}ש\\u{202e}x\\u{2066}\u{2069}"
        );
    }
}
