//! How posts in social networks are read. Links are left out, names and hashtags are taken apart into words, and the post is read
//! with and without the hashtags at its end, which belong to no sentence.

use riposte_claims::words::tokens;

/// Minimum number of words that must be left before hashtags at the end are taken off.
const MIN_WORDS: usize = 2;

/// A post as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The words of the post without the hashtags at its end.
    pub text: String,
    /// The words of the post with these hashtags; `None` if there are none.
    pub with_tags: Option<String>,
}

impl Post {
    /// The post in a text; `None` if the text has no hashtag, name or link, so that it is read as it stands.
    pub fn of(text: &str) -> Option<Post> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.iter().any(|word| is_mark(word) || is_link(word)) {
            return None;
        }
        let words: Vec<&str> = words.into_iter().filter(|word| !is_link(word)).collect();
        let at_end = words.iter().rev().take_while(|word| is_tag(word)).count();
        let (sentence, tags) = words.split_at(words.len() - at_end);
        let unfolded = |words: &[&str]| -> String {
            let words: Vec<String> = words.iter().map(|word| unfolded(word)).collect();
            words.join(" ")
        };
        let text = unfolded(sentence);
        let count = tokens(&text).iter().filter(|token| token.word).count();
        if count < MIN_WORDS {
            return Some(Post {
                text: unfolded(&words),
                with_tags: None,
            });
        }
        Some(Post {
            with_tags: (!tags.is_empty()).then(|| unfolded(&words)),
            text,
        })
    }
}

fn is_link(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

/// A hashtag or a name: `#` or `@`, then a letter.
fn is_mark(word: &str) -> bool {
    let rest = word.strip_prefix(['#', '@']);
    rest.is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

/// A hashtag that ends no sentence.
fn is_tag(word: &str) -> bool {
    word.starts_with('#') && is_mark(word) && word.ends_with(char::is_alphanumeric)
}

/// The words of a name or hashtag ("#StopGunViolence": "Stop Gun Violence"); another word as it is.
fn unfolded(word: &str) -> String {
    if !is_mark(word) {
        return word.to_owned();
    }
    let mut words = String::new();
    let mut before: Option<char> = None;
    for c in word.chars().skip(1) {
        let begins_a_word = before.is_some_and(|before| {
            (before.is_lowercase() && c.is_uppercase())
                || (before.is_alphabetic() && c.is_ascii_digit())
                || (before.is_ascii_digit() && c.is_alphabetic())
        });
        if begins_a_word {
            words.push(' ');
        }
        words.push(if c == '_' { ' ' } else { c });
        before = Some(c);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_hashtags_are_words_and_those_at_the_end_stand_apart() {
        let post = |text: &str, with_tags: Option<&str>| {
            Some(Post {
                text: text.to_owned(),
                with_tags: with_tags.map(str::to_owned),
            })
        };
        assert_eq!(Post::of("Zoos are number # 1 at 5 @ noon"), None);
        assert_eq!(
            Post::of("@HillaryClinton is amazing! #Hillary2016 #ImWithHer https://t.co/x"),
            post(
                "Hillary Clinton is amazing!",
                Some("Hillary Clinton is amazing! Hillary 2016 Im With Her")
            )
        );
        assert_eq!(
            Post::of("We #love our_zoo, stop #animal_cruelty."),
            post("We love our_zoo, stop animal cruelty.", None)
        );
        // hashtags alone are all that there is to read
        assert_eq!(Post::of("#BanZoos #now"), post("Ban Zoos now", None));
        assert_eq!(Post::of("https://example.org"), post("", None));
    }
}
