//! Words that messages share: counts with their nouns, and the known name that a mistyped one probably means.

use std::fmt;

/// A count with its noun: "1 topic", "2 topics".
pub fn counted<N>(count: N, one: &str, many: &str) -> String
where
    N: fmt::Display + From<u8> + PartialEq,
{
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// A name that is not among the known ones.
#[derive(Debug)]
pub struct UnknownName {
    /// What has such a name: "stop list".
    what: &'static str,
    name: String,
    known: Vec<String>,
    /// What can be given besides: ", or name a file".
    or: &'static str,
}

impl UnknownName {
    /// `what` has such a name, as in "there is no stop list".
    pub fn new<S: ToString>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) -> Self {
        UnknownName {
            what,
            name: name.to_owned(),
            known: known.into_iter().map(|name| name.to_string()).collect(),
            or: "",
        }
    }

    /// The same, with what can be given besides the known names.
    #[must_use]
    pub fn or(self, or: &'static str) -> Self {
        UnknownName { or, ..self }
    }

    /// The known name that was probably meant.
    pub fn meant(&self) -> Option<&str> {
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        nearest(&self.name, &known)
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, name, or) = (self.what, &self.name, self.or);
        let known = self.known.join(", ");
        write!(f, "there is no {what} {name:?}: choose one of {known}{or}")
    }
}

impl std::error::Error for UnknownName {}

/// The known name that is most similar to a mistyped word, if there is a similar one. A similar name begins with the word, or differs from it by at
/// most a third of the letters: left out, added, exchanged or swapped with their neighbours. If several are equally similar, the first one is
/// returned.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let length = word.chars().count();
    if length > crate::limits::MAX_COMPARED_LENGTH {
        return None;
    }
    let word = word.to_lowercase();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        if length >= 3 && name.starts_with(&word) {
            return 1;
        }
        strsim::damerau_levenshtein(&word, &name)
    };
    let near = |name: &str| {
        let longest = name.chars().count().max(length);
        // two different words of one letter each are not similar
        distance(name) <= (longest / 3).max(1).min(longest.saturating_sub(1))
    };
    let candidates = known.iter().copied().filter(|name| near(name));
    candidates.min_by_key(|name| distance(name))
}
