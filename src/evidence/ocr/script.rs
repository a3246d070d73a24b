//! Which of the recogniser's characters are read.

pub use crate::evidence::precision::Script;

impl Script {
    /// Whether a character of the recogniser's alphabet is read.
    pub(super) fn has(self, character: &str) -> bool {
        self == Script::All || (!character.is_empty() && character.chars().all(is_latin))
    }
}

/// Whether a character occurs in texts in Latin script.
///
/// Signs of other scripts that look like Latin ones are left out: full-width forms, Roman numerals of one sign, phonetic letters, the ratio sign and
/// lines of tables. Greek and Cyrillic are left out, too: PP-OCRv4 knows ten and six of their letters, which spell no word, and sees them in Latin
/// letters. Arrows, bullets and stars are kept, because otherwise letters would be read in their place.
fn is_latin(character: char) -> bool {
    match character {
        // a double vertical line, which would be taken for two letters; a reference mark of East Asian texts
        '\u{2016}' | '\u{203b}' => false,
        ' '..='~'
        // accented letters, signs, currencies
        | '\u{a1}'..='\u{24f}'
        | '\u{1e00}'..='\u{1eff}'
        // dashes, quotation marks, bullets, daggers, per mille, primes
        | '\u{2010}'..='\u{205e}'
        | '\u{20a0}'..='\u{20cf}'
        | '№' | '℗' | '℠' | '™'
        | '←'..='↙'
        | '−' | '√' | '∞' | '≈' | '≠' | '≤' | '≥'
        // numbers in circles
        | '\u{2460}'..='\u{2473}'
        // squares, triangles, circles, stars, hearts
        | '\u{25a0}'..='\u{25ff}'
        | '★' | '☆' | '♥' | '❤' | '✓' | '✔' | '✗' | '✘' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_texts_and_their_signs_are_kept() {
        for character in "aZ09 ~é–—’“”•…€£¥§©®°½×ñüßā™№→●★".chars()
        {
            assert!(Script::Latin.has(&character.to_string()), "{character}");
        }
    }

    #[test]
    fn other_scripts_and_what_looks_like_latin_are_left_out() {
        for character in "汉あサㄱ，！Ａ１Ⅱ、。《》【】∶㎡αЯ│━ɑ‖※".chars()
        {
            let character = character.to_string();
            assert!(!Script::Latin.has(&character), "{character}");
            assert!(Script::All.has(&character));
        }
        assert!(!Script::Latin.has(""));
    }
}
