//! Pairs of characters as terms, for scripts that are written without blanks.
//!
//! Unicode's text segmentation finds no words in Chinese, Japanese and Thai: it cuts them into single characters. Pairs of adjacent characters
//! are what the field uses where there is no dictionary, for Korean as well. Lucene's `CJKBigramFilter` makes them for Han, Hiragana,
//! Katakana and Hangul, and this file does the same. Lucene has no such pairs for Thai.

use std::collections::VecDeque;

use unicode_segmentation::UnicodeSegmentation;

use super::fold::Fold;

/// A character of a run, with the marks that follow it.
struct Unit {
    text: String,
    /// Byte offsets in the text.
    from: usize,
    to: usize,
    /// Whether the character before it is in the same run.
    is_joined: bool,
}

/// The state between two terms of one text.
#[derive(Default)]
pub(super) struct Bigrams {
    /// Characters of the last segment that are not in a term yet.
    waiting: VecDeque<Unit>,
    /// The last character that was read, and whether it is in a term already.
    last: Option<(Unit, bool)>,
    /// Where the last segment of a run ends.
    end: usize,
}

impl Bigrams {
    /// Reads the next term of the text into `term`, and returns its byte offsets; none at the end of the text. Characters of the scripts that
    /// [`is_paired`] knows become pairs, which overlap; a run of one character becomes a term of one character. All else is a word of
    /// Unicode's text segmentation, in lower case. `position` is the offset from which the text is not read yet.
    pub fn next(
        &mut self,
        text: &str,
        position: &mut usize,
        fold: Fold,
        term: &mut String,
    ) -> Option<(usize, usize)> {
        term.clear();
        loop {
            if let Some(unit) = self.waiting.pop_front() {
                match self.last.take() {
                    Some((last, _)) if unit.is_joined => {
                        term.push_str(&last.text);
                        term.push_str(&unit.text);
                        let found = (last.from, unit.to);
                        self.last = Some((unit, true));
                        return Some(found);
                    }
                    Some((last, false)) => {
                        self.waiting.push_front(unit);
                        return Some(alone(last, term));
                    }
                    _ => self.last = Some((unit, false)),
                }
                continue;
            }
            let next = text.get(*position..)?.unicode_word_indices().next();
            let next = next.map(|(at, segment)| (*position + at, segment));
            if let Some((from, segment)) = next.filter(|(_, segment)| is_run(segment)) {
                *position = from + segment.len();
                self.add(segment, from, fold);
                continue;
            }
            if let Some((last, false)) = self.last.take() {
                return Some(alone(last, term));
            }
            let (from, segment) = next?;
            *position = from + segment.len();
            term.extend(segment.chars().flat_map(char::to_lowercase));
            return Some((from, *position));
        }
    }

    /// Adds the characters of a segment. They are folded before they are paired, because a fold can join two of them ("ﾋﾞ").
    fn add(&mut self, segment: &str, from: usize, fold: Fold) {
        let folded = match fold {
            Fold::NfkcCasefold => fold.apply(segment),
            Fold::None | Fold::Ascii => None,
        };
        let is_thai = segment.chars().next().is_some_and(is_thai);
        let end = from + segment.len();
        let mut at = from;
        let mut is_joined = from == self.end && self.last.is_some();
        let mut units: Vec<Unit> = Vec::new();
        for c in folded.as_deref().unwrap_or(segment).chars() {
            let to = at + c.len_utf8();
            match units.last_mut() {
                // a letter with the marks above and below it is one character
                Some(last) if is_thai || !c.is_alphanumeric() => {
                    last.text.push(c);
                    last.to = to;
                }
                _ => units.push(Unit {
                    text: c.to_string(),
                    from: at,
                    to,
                    is_joined,
                }),
            }
            is_joined = true;
            at = to;
        }
        if folded.is_some_and(|folded| folded != segment) {
            // the offsets of folded characters are not those of the text
            for unit in &mut units {
                (unit.from, unit.to) = (from, end);
            }
        }
        self.waiting.extend(units);
        self.end = end;
    }
}

/// Makes a term of one character.
fn alone(unit: Unit, term: &mut String) -> (usize, usize) {
    term.push_str(&unit.text);
    (unit.from, unit.to)
}

/// Whether a segment consists of characters that are paired, and their marks. A word with others ("2022년", "KBS의") stays whole, as in Lucene.
fn is_run(segment: &str) -> bool {
    let mut letters = segment.chars().filter(|c| c.is_alphanumeric());
    letters.all(is_paired)
}

/// Whether pairs of this character are terms: a letter of Han, Hiragana, Katakana, Hangul or Thai.
fn is_paired(c: char) -> bool {
    let is_han = matches!(c,
        '\u{2e80}'..='\u{2fd5}' | '\u{3005}' | '\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303b}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' | '\u{30000}'..='\u{323af}');
    // Japanese syllables of both kinds, with the sign of long vowels (U+30FC) and half-width forms
    let is_kana = matches!(c,
        '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' | '\u{1aff0}'..='\u{1b16f}');
    let is_hangul = matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7fb}' | '\u{ffa1}'..='\u{ffdc}');
    is_han || is_kana || is_hangul || is_thai(c)
}

/// Whether this is a letter or a mark of Thai, not a digit.
fn is_thai(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::analyzer::tests::read;

    /// Worked out by hand from what Lucene documents of StandardTokenizer and CJKBigramFilter: pairs of adjacent characters, across the four
    /// scripts; a character alone if it has no neighbour; other words as they are.
    #[test]
    fn pairs_are_those_of_lucene() {
        for (text, expected) in [
            ("一", "一"),
            ("一二三", "一二 二三"),
            (
                "多くの学生が試験に落ちた。",
                "多く くの の学 学生 生が が試 試験 験に に落 落ち ちた",
            ),
            ("テレビのニュース", "テレ レビ ビの のニ ニュ ュー ース"),
            // other letters and digits end a run
            ("あいうABCんか", "あい いう abc んか"),
            ("第1回", "第 1 回"),
            ("2022年に", "2022 年に"),
            // punctuation and blanks end a run
            ("東京、大阪", "東京 大阪"),
            ("東京 都", "東京 都"),
            ("한국어 검색", "한국 국어 검색"),
            ("나는 학생", "나는 학생"),
            // a word of Hangul and others is one word
            ("2022년 KBS의 뉴스", "2022년 kbs의 뉴스"),
            // outside the first plane of Unicode
            ("𠀀𠀁𠀂", "𠀀𠀁 𠀁𠀂"),
            ("Über-Größe don't", "über größe don't"),
            ("。、", ""),
        ] {
            assert_eq!(read("tokens=cjk", text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_thai_letter_is_paired_with_its_marks() {
        // "water" is a letter with a tone mark, and a vowel; "drink water" has two letters with marks
        assert_eq!(read("tokens=cjk", "น้ำ"), ["น้ำ"]);
        assert_eq!(read("tokens=cjk", "ดื่มน้ำ"), ["ดื่ม", "มน้", "น้ำ"]);
        assert_eq!(read("tokens=cjk", "๑๒๓"), ["๑๒๓"]);
    }

    #[test]
    fn characters_are_folded_before_they_are_paired() {
        let fold = "tokens=cjk fold=nfkc-casefold";
        assert_eq!(read(fold, "ﾃﾚﾋﾞ局"), ["テレ", "レビ", "ビ局"]);
        assert_eq!(read(fold, "が"), ["が"]);
        assert_eq!(read(fold, "か\u{3099}く"), ["がく"]);
        // without a fold, the mark stays with its letter
        assert_eq!(
            read("tokens=cjk", "か\u{3099}くに"),
            ["か\u{3099}く", "くに"]
        );
    }

    #[test]
    fn offsets_are_those_of_the_characters() {
        let (text, mut position) = ("x 東京都!", 0);
        let (mut bigrams, mut term) = (Bigrams::default(), String::new());
        let mut found = Vec::new();
        while let Some((from, to)) = bigrams.next(text, &mut position, Fold::None, &mut term) {
            assert_eq!(&text[from..to], term);
            found.push(term.clone());
        }
        assert_eq!(found, ["x", "東京", "京都"]);
    }
}
