//! Splits texts into words as the Penn Treebank does.

/// Abbreviations that keep their full stop before another word, in lower case and without the full stop.
const ABBREVIATIONS: [&str; 46] = [
    "adm", "apr", "aug", "ave", "bros", "capt", "cf", "co", "col", "corp", "dec", "dept", "dr",
    "est", "etc", "feb", "fig", "fri", "ft", "gen", "gov", "hon", "inc", "jan", "jr", "lt", "ltd",
    "mon", "mr", "mrs", "ms", "mt", "nov", "oct", "pp", "prof", "rep", "rev", "sat", "sen", "sept",
    "sgt", "sr", "st", "vol", "vs",
];

/// Prefixes that stay with their word at a hyphen ("non-profit" is one word, "long-term" is three).
const PREFIXES: [&str; 33] = [
    "anti", "bi", "co", "counter", "cross", "de", "e", "ex", "extra", "infra", "inter", "intra",
    "macro", "mega", "micro", "mid", "mini", "multi", "neo", "non", "over", "post", "pre", "pro",
    "pseudo", "quasi", "re", "semi", "sub", "super", "trans", "ultra", "un",
];

/// Words that are written as one, in lower case, and the number of letters of the first.
const JOINED: [(&str, usize); 7] = [
    ("cannot", 3),
    ("gimme", 3),
    ("gonna", 3),
    ("gotta", 3),
    ("lemme", 3),
    ("wanna", 3),
    ("whaddya", 4),
];

/// The ends of contractions and possessives, without their apostrophe.
const AFTER_APOSTROPHE: [&str; 6] = ["d", "ll", "m", "re", "s", "ve"];

/// The byte offsets of a word or mark; the end is exclusive.
pub type WordSpan = (usize, usize);

/// The words and marks of a text in order, as the Penn Treebank has them.
///
/// Each character that is not white space belongs to one of them. Punctuation marks are separate; a run of the same mark is one. Contractions and possessives are two words ("do" "n't", "cat" "'s", "can" "not"),
/// compounds with a hyphen are three, unless they begin with a prefix. Numbers, abbreviations, addresses and smileys are not split.
pub fn split(text: &str) -> Vec<WordSpan> {
    let mut spans = Vec::with_capacity(text.len() / 5);
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (c.is_whitespace(), start) {
            (true, Some(from)) => {
                split_chunk(text, (from, at), &mut spans);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    if let Some(from) = start {
        split_chunk(text, (from, text.len()), &mut spans);
    }
    spans
}

/// Letters, digits, accents that are separate characters, and invisible characters.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{feff}')
}

/// Whether a word, without regard to case, is on a list of short words. Long words are not compared.
fn is_one_of(list: &[&str], word: &str) -> bool {
    word.len() <= 8 && list.iter().any(|other| word.eq_ignore_ascii_case(other))
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// Splits the text between two white spaces.
fn split_chunk(text: &str, (start, end): WordSpan, spans: &mut Vec<WordSpan>) {
    let chunk = text.get(start..end).unwrap_or_default();
    let mut add = |from: usize, to: usize| {
        if from < to {
            spans.push((start + from, start + to));
        }
    };
    if chunk.bytes().all(|byte| byte.is_ascii_lowercase()) {
        match joined(chunk) {
            Some(first) => {
                add(0, first);
                add(first, chunk.len());
            }
            None => add(0, chunk.len()),
        }
        return;
    }
    if is_smiley(chunk) {
        add(0, chunk.len());
        return;
    }
    // the marks before and after the word
    let mut from = 0;
    while let Some(to) = leading_mark(chunk, from) {
        add(from, to);
        from = to;
    }
    let mut marks = Vec::new();
    let mut to = chunk.len();
    while let Some(mark) = trailing_mark(chunk, from, to) {
        marks.push((mark, to));
        to = mark;
    }
    let word = chunk.get(from..to).unwrap_or_default();
    if is_address(word) {
        add(from, to);
    } else {
        split_inside(chunk, (from, to), &mut add);
    }
    for (mark, to) in marks.into_iter().rev() {
        add(mark, to);
    }
}

/// The end of the run of one mark that begins at `from`; `None` if no mark begins there.
fn leading_mark(chunk: &str, from: usize) -> Option<usize> {
    let rest = chunk.get(from..)?;
    let mut chars = rest.chars();
    let mark = chars.next()?;
    if is_of_word(mark) {
        return None;
    }
    let after = chars.next();
    // "'s", "'90s" and "n't" by themselves, ".5", "+1", "-3", "@name" and "#1" are words
    if is_apostrophe(mark) {
        let ending = rest.get(mark.len_utf8()..).unwrap_or_default();
        if is_one_of(&AFTER_APOSTROPHE, ending) || after.is_some_and(|c| c.is_ascii_digit()) {
            return None;
        }
    }
    if matches!(mark, '.' | '+' | '-') && after.is_some_and(|c| c.is_ascii_digit())
        || mark == '@' && after.is_some_and(char::is_alphanumeric)
    {
        return None;
    }
    let run: usize = rest
        .chars()
        .take_while(|c| *c == mark)
        .map(char::len_utf8)
        .sum();
    Some(from + run)
}

/// The start of the run of one mark that ends at `to`, not before `from`; `None` if no mark ends there.
fn trailing_mark(chunk: &str, from: usize, to: usize) -> Option<usize> {
    let rest = chunk.get(from..to)?;
    let mark = rest.chars().next_back()?;
    if is_of_word(mark) {
        return None;
    }
    let run: usize = rest
        .chars()
        .rev()
        .take_while(|c| *c == mark)
        .map(char::len_utf8)
        .sum();
    let before = rest.get(..rest.len() - run).unwrap_or_default();
    if mark == '.' && run == 1 && is_abbreviation(before) {
        return None;
    }
    // "C++", "C#"
    if matches!(mark, '+' | '#') && before.chars().next_back().is_some_and(char::is_alphabetic) {
        return None;
    }
    Some(to - run)
}

/// Whether a full stop after this word belongs to it.
fn is_abbreviation(word: &str) -> bool {
    if word.len() > 12 {
        return false;
    }
    let mut chars = word.chars();
    match (chars.next(), chars.next()) {
        (Some(initial), None) => return initial.is_uppercase() && initial != 'I',
        (None, _) => return false,
        _ => {}
    }
    let of_letters = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
    };
    // "U.S", "p.m"
    word.contains('.') && word.split('.').all(of_letters) || is_one_of(&ABBREVIATIONS, word)
}

/// Whether this is a web or mail address.
fn is_address(word: &str) -> bool {
    const ENDS: [&str; 6] = [".com", ".org", ".net", ".edu", ".gov", ".co.uk"];
    word.contains("://")
        || word.starts_with("www.")
        || word.starts_with("mailto:")
        || word
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
        || ENDS
            .iter()
            .any(|end| word.len() > end.len() && word.ends_with(end))
}

/// Whether this is a smiley: eyes, possibly a nose, and a mouth.
fn is_smiley(chunk: &str) -> bool {
    let bytes = match chunk.as_bytes() {
        [eyes, mouth] => [*eyes, b'-', *mouth],
        [eyes, nose, mouth] => [*eyes, *nose, *mouth],
        _ => return false,
    };
    let [eyes, nose, mouth] = bytes;
    matches!(eyes, b':' | b';' | b'=')
        && matches!(nose, b'-' | b'o' | b'\'')
        && matches!(mouth, b')' | b'(' | b'D' | b'P' | b'p' | b'/' | b'|')
}

/// The length of the first of two words that are written as one.
fn joined(word: &str) -> Option<usize> {
    // most words have other lengths
    if !(5..=7).contains(&word.len()) {
        return None;
    }
    let found = JOINED
        .iter()
        .find(|(whole, _)| word.eq_ignore_ascii_case(whole));
    found.map(|(_, first)| *first)
}

/// Splits a chunk at the marks inside it. It neither begins nor ends with a mark.
fn split_inside(chunk: &str, (from, to): WordSpan, add: &mut impl FnMut(usize, usize)) {
    let mut start = from;
    let mut at = from;
    let mut before: Option<char> = None;
    let mut has_point = false;
    while let Some(c) = chunk.get(at..to).and_then(|rest| rest.chars().next()) {
        let mut next = at + c.len_utf8();
        if !is_of_word(c) {
            // a run is passed as a whole, whether it splits or not, so that each mark is read once
            let rest = chunk.get(next..to).unwrap_or_default();
            let more = rest.chars().take_while(|other| *other == c);
            next += more.map(char::len_utf8).sum::<usize>();
            let mark = Mark {
                mark: c,
                is_run: next > at + c.len_utf8(),
                before,
                after: chunk.get(next..to).and_then(|rest| rest.chars().next()),
                part: chunk.get(start..at).unwrap_or_default(),
                has_point,
            };
            has_point |= c == '.';
            if mark.splits() {
                split_clitic(chunk, (start, at), add);
                add(at, next);
                start = next;
                has_point = false;
            }
        }
        before = Some(c);
        at = next;
    }
    split_clitic(chunk, (start, to), add);
}

/// A mark inside a chunk.
struct Mark<'a> {
    mark: char,
    /// Whether it is repeated.
    is_run: bool,
    before: Option<char>,
    after: Option<char>,
    /// The text before it, from the last split on.
    part: &'a str,
    /// Whether `part` contains a full stop.
    has_point: bool,
}

impl Mark<'_> {
    /// Whether the mark separates words.
    fn splits(&self) -> bool {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let between_digits = digit(self.before) && digit(self.after);
        match self.mark {
            mark if self.is_run => !matches!(mark, '_' | '+' | '#'),
            // "end.The", not "U.S.A" or "file.txt"
            '.' => {
                !self.has_point
                    && self.part.len() > 2
                    && self.before.is_some_and(char::is_lowercase)
                    && self.after.is_some_and(char::is_uppercase)
            }
            ',' | ':' | '/' => !between_digits,
            '-' | '\u{2010}' | '\u{2011}' => {
                let is_prefix = is_one_of(&PREFIXES, self.part);
                let is_prefix = is_prefix && self.after.is_some_and(char::is_alphabetic);
                !between_digits && !is_prefix && !self.part.is_empty()
            }
            '\'' | '’' | '`' | '_' | '&' | '@' | '+' | '#' | '*' | '\\' | '~' | '^' => false,
            _ => true,
        }
    }
}

/// Adds a word, or its two parts if it ends in a contraction or a possessive.
fn split_clitic(chunk: &str, (from, to): WordSpan, add: &mut impl FnMut(usize, usize)) {
    let word = chunk.get(from..to).unwrap_or_default();
    let first = clitic(word).or_else(|| joined(word)).unwrap_or(0);
    if first > 0 {
        add(from, from + first);
    }
    add(from + first, to);
}

/// The length of the text before the contraction or possessive that a word ends in; `None` if there is no such text.
fn clitic(word: &str) -> Option<usize> {
    let (at, apostrophe) = word
        .char_indices()
        .rev()
        .take(3)
        .find(|(_, c)| is_apostrophe(*c))?;
    let ending = word.get(at + apostrophe.len_utf8()..)?;
    let before = word.get(..at)?;
    if ending.eq_ignore_ascii_case("t") && before.ends_with(['n', 'N']) {
        let first = before.len() - 1;
        return (first > 0).then_some(first);
    }
    (is_one_of(&AFTER_APOSTROPHE, ending) && !before.is_empty()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let words: Vec<&str> = split(text).into_iter().map(|(a, b)| &text[a..b]).collect();
        words.join("|")
    }

    #[test]
    fn words_are_those_of_the_penn_treebank() {
        for (text, expected) in [
            (
                "\"Don't,\" he said, \"I can't!\"",
                "\"|Do|n't|,|\"|he|said|,|\"|I|ca|n't|!|\"",
            ),
            ("It’s the cats' and Bob's", "It|’s|the|cats|'|and|Bob|'s"),
            ("You CANNOT, we're gonna", "You|CAN|NOT|,|we|'re|gon|na"),
            (
                "Mr. Smith of the U.S. left at 5:30 p.m. today.",
                "Mr.|Smith|of|the|U.S.|left|at|5:30|p.m.|today|.",
            ),
            ("$2,000.50 or 5% (1/2)...", "$|2,000.50|or|5|%|(|1/2|)|..."),
            (
                "long-term non-profit and/or 1998-2000",
                "long|-|term|non-profit|and|/|or|1998-2000",
            ),
            (
                "see http://a.org/b-c?d=e, or me@a.org.",
                "see|http://a.org/b-c?d=e|,|or|me@a.org|.",
            ),
            (
                "C++ rocks :) yes--no end.The",
                "C++|rocks|:)|yes|--|no|end|.|The",
            ),
            ("the '90s, n't 's", "the|'90s|,|n't|'s"),
            ("", ""),
            (" \u{2028} … ", "…"),
            (
                "e\u{301}te\u{301}, anti-war, re-1",
                "e\u{301}te\u{301}|,|anti-war|,|re|-|1",
            ),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_letter_is_in_one_word(text in "[a-zA-Z0-9'’.,:;/$%+#@ _\\-\"()é\u{3000}\u{301}\u{1f600}]{0,60}|\\PC{0,60}") {
            let mut end = 0;
            for (from, to) in split(&text) {
                proptest::prop_assert!(from < to && from >= end);
                proptest::prop_assert!(text[end..from].chars().all(char::is_whitespace));
                proptest::prop_assert!(!text[from..to].contains(char::is_whitespace));
                end = to;
            }
            proptest::prop_assert!(text[end..].chars().all(char::is_whitespace));
        }
    }
}
