//! Makes words equal that are written with different characters.

use strum::{Display, EnumString, VariantNames};
use unicode_normalization::UnicodeNormalization;

use super::word::without_accents;

/// Which differences between characters are ignored, besides those between upper and lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Fold {
    #[default]
    None,
    /// Letters lose their accents ("café" becomes "cafe"), by the table of Lucene's `ASCIIFoldingFilter`. It has Latin letters, digits and
    /// punctuation; other scripts stay as they are.
    Ascii,
    /// Unicode's NFKC_Casefold (UAX #15, UAX #44), as in the first step of Lucene's `ICUFoldingFilter`: see [`nfkc_casefold`].
    NfkcCasefold,
}

impl Fold {
    /// The word after folding; `None` if it stays as it is, for a word in lower case.
    pub(super) fn apply(self, word: &str) -> Option<String> {
        match self {
            Fold::None => None,
            // both leave ASCII in lower case alone
            _ if word.is_ascii() => None,
            Fold::Ascii => Some(without_accents(word)),
            Fold::NfkcCasefold => Some(nfkc_casefold(word)),
        }
    }
}

/// The word in Unicode's form NFKC_Casefold:
///
/// - a letter with a separate accent becomes one character ("e" and U+0301 are "é"); accents stay,
/// - variants become the usual characters: full-width and half-width forms, ligatures, circled and raised digits ("Ａ", "ﾃﾞ", "ﬁ", "②"),
/// - the letters that only upper case makes equal are equal ("ß" and "ss", "ς" and "σ"),
/// - characters that nobody sees are removed (soft hyphens, joiners, variation selectors).
///
/// Two words have the same form here if and only if they have it in Unicode. The forms differ in one script: Cherokee is folded to small
/// letters here. Blanks, into which Unicode splits a few ligatures, are removed, because a term has none.
fn nfkc_casefold(word: &str) -> String {
    let seen = word.nfkd().filter(|c| !is_ignorable(*c));
    let folded = seen.flat_map(|c| {
        // "ı" has the same capital as "i", but is another letter
        let is_dotless = c == 'ı';
        let kept = is_dotless.then_some(c);
        let upper = (!is_dotless).then(|| c.to_uppercase());
        let lower = upper.into_iter().flatten().flat_map(char::to_lowercase);
        kept.into_iter().chain(lower)
    });
    folded.nfkc().filter(|c| !c.is_whitespace()).collect()
}

/// Unicode's property Default_Ignorable_Code_Point.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_removes_accents_from_latin_letters_only() {
        let fold = |word| Fold::Ascii.apply(word).unwrap();
        assert_eq!(fold("straße"), "strasse");
        assert_eq!(fold("ёлка"), "ёлка");
        assert_eq!(Fold::Ascii.apply("plain"), None);
        assert_eq!(Fold::None.apply("é"), None);
    }

    #[test]
    fn nfkc_casefold_is_that_of_unicode() {
        for (word, folded) in [
            // decomposed and composed letters; accents stay
            ("cafe\u{301}", "café"),
            ("\u{1112}\u{1161}\u{11ab}", "한"),
            // variants
            ("ａｂｃ", "abc"),
            ("ﾃﾚﾋﾞ", "テレビ"),
            ("ﬁnden", "finden"),
            ("②", "2"),
            // case that lower case alone does not make equal
            ("straße", "strasse"),
            ("λόγος", "λόγοσ"),
            ("ſo", "so"),
            ("ı", "ı"),
            ("i\u{307}", "i\u{307}"),
            // characters that nobody sees
            ("silben\u{ad}trennung", "silbentrennung"),
            ("کتاب\u{200c}ها", "کتابها"),
            // a ligature of four words
            ("ﷺ", "صلىاللهعليهوسلم"),
            ("한국", "한국"),
        ] {
            assert_eq!(nfkc_casefold(word), folded, "{word}");
            assert_eq!(nfkc_casefold(folded), folded, "{word} twice");
        }
    }
}
