//! A text as sentences of tokens, each with its place.

/// A word or one mark of punctuation.
#[derive(Clone, Debug)]
pub struct Token<'a> {
    pub text: &'a str,
    /// In small letters, with a straight apostrophe.
    pub lower: String,
    /// Byte range in the whole text.
    pub start: usize,
    pub end: usize,
    /// Letters or digits, not punctuation.
    pub word: bool,
}

/// Tokens up to a full stop, or a line break after a headline, or the 60th.
#[derive(Clone, Debug)]
pub struct Sentence<'a> {
    /// From the first token to the last.
    pub text: &'a str,
    /// Byte offset of `text` in the whole text.
    pub start: usize,
    pub tokens: Vec<Token<'a>>,
}

impl Sentence<'_> {
    /// Ends with a question mark.
    pub fn is_question(&self) -> bool {
        self.tokens.last().is_some_and(|token| token.text == "?")
    }

    /// Its words, without punctuation.
    pub fn words(&self) -> impl Iterator<Item = &Token<'_>> {
        self.tokens.iter().filter(|token| token.word)
    }
}

/// Web pages without a full stop (menus, tables) would be one sentence of a thousand words.
const LONGEST: usize = 60;

/// Words are letters and digits with apostrophes inside and `+` or `#` behind ("goat's", "C++"); other marks that end
/// or part sentences are tokens of their own, the rest is dropped.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let word = c.is_alphanumeric();
        if word {
            while let Some(&(at, next)) = chars.peek() {
                let after = text
                    .get(at + next.len_utf8()..)
                    .and_then(|rest| rest.chars().next());
                let inside = next.is_alphanumeric()
                    || (matches!(next, '\'' | '’') && after.is_some_and(char::is_alphanumeric));
                if !inside {
                    break;
                }
                end = at + next.len_utf8();
                chars.next();
            }
            while let Some(&(at, next @ ('+' | '#'))) = chars.peek() {
                end = at + next.len_utf8();
                chars.next();
            }
        } else if !matches!(
            c,
            '.' | '!' | '?' | ',' | ';' | ':' | '(' | ')' | '[' | ']' | '|' | '•'
        ) {
            continue;
        }
        let token = &text[start..end];
        tokens.push(Token {
            text: token,
            lower: token.to_lowercase().replace('’', "'"),
            start,
            end,
            word,
        });
    }
    tokens
}

/// The sentences of a text that hold a word.
pub fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut sentences = Vec::new();
    let mut current: Vec<Token<'_>> = Vec::new();
    for token in tokens(text) {
        let stop = match token.text {
            "." | "!" | "?" => text[token.end..]
                .chars()
                .next()
                .is_none_or(|c| c.is_whitespace() || matches!(c, ')' | '"' | '”')),
            "|" | "•" => true,
            _ => false,
        };
        current.push(token);
        if stop || current.len() >= LONGEST {
            close(text, &mut current, &mut sentences);
        }
    }
    close(text, &mut current, &mut sentences);
    sentences
}

fn close<'a>(text: &'a str, current: &mut Vec<Token<'a>>, sentences: &mut Vec<Sentence<'a>>) {
    let tokens = std::mem::take(current);
    if let (Some(first), Some(last)) = (tokens.first(), tokens.last())
        && tokens.iter().any(|token| token.word)
    {
        sentences.push(Sentence {
            text: &text[first.start..last.end],
            start: first.start,
            tokens,
        });
    }
}

/// How many of the words are on the list.
pub fn count<'a>(words: impl IntoIterator<Item = &'a Token<'a>>, list: &[&str]) -> f64 {
    words
        .into_iter()
        .filter(|token| list.contains(&token.lower.as_str()))
        .count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        let text = "Goat's milk, v1.5, isn't cow's. C++ wins! Home | Contact";
        let found: Vec<&str> = sentences(text).iter().map(|s| s.text).collect();
        assert_eq!(
            found,
            [
                "Goat's milk, v1.5, isn't cow's.",
                "C++ wins!",
                "Home |",
                "Contact"
            ]
        );
        let words: Vec<String> = tokens("Don’t stop C#")
            .into_iter()
            .map(|t| t.lower)
            .collect();
        assert_eq!(words, ["don't", "stop", "c#"]);
        assert!(sentences(" ... ?!").is_empty());
    }
}
