//! The pieces of a text that the stance encoder reads.

use std::borrow::Cow;

use rayon::prelude::*;
use riposte_claims::words::{Sentence, sentences};

use super::posts::Post;
use crate::limits::{MAX_READ_CHARACTERS, MAX_USED_BYTES};

/// Number of pieces that are read beside the whole text.
const SENTENCES: usize = 2;
/// Maximum number of words of the last sentences of a text, which are read together, unless a single one is longer.
const ENDING_WORDS: usize = 40;
/// A sentence with fewer words is joined to the next one.
const SENTENCE_WORDS: usize = 15;

/// The part of a text from which scores are computed, which is its first MiB. If it is not the complete text, also returns a sentence that says
/// so.
pub(crate) fn used_part(text: &str) -> (&str, Option<String>) {
    let length = text.len();
    if length <= MAX_USED_BYTES {
        return (text, None);
    }
    let part = text.get(..text.floor_char_boundary(MAX_USED_BYTES));
    let cut = format!("only the first {MAX_USED_BYTES} of its {length} bytes were read");
    (part.unwrap_or_default(), Some(cut))
}

/// Leaves only the [`used_part`] of a text. Returns the sentence about the rest, if there is one.
pub(crate) fn truncate(text: &mut String) -> Vec<String> {
    let (used, cut) = used_part(text);
    text.truncate(used.len());
    Vec::from_iter(cut)
}

/// Number of texts that a thread divides at once. Waking a thread takes as long as a few texts.
const TEXTS_AT_ONCE: usize = 16;

/// The beginning of a text, which is the part that the encoder reads.
pub fn beginning(text: &str) -> &str {
    match text.char_indices().nth(MAX_READ_CHARACTERS) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The pieces of a text that the encoder reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces<'a> {
    /// The beginning of the text, or all of it.
    pub whole: Cow<'a, str>,
    /// Its first sentence and its last ones, if there are several. Arguments begin with their claim and comments end with their point, and the encoder
    /// is more certain about a single sentence than about several. Of a text that is too long to be read, its first two sentences.
    pub sentences: Vec<Cow<'a, str>>,
    /// A post with the hashtags at its end, without which `whole` is.
    pub with_tags: Option<String>,
}

impl<'a> Pieces<'a> {
    /// The pieces of a text.
    pub fn of(text: &'a str) -> Pieces<'a> {
        match Post::of(beginning(text)) {
            None => {
                let (whole, sentences) = divided(text);
                Pieces {
                    whole: Cow::Borrowed(whole),
                    sentences: sentences.into_iter().map(Cow::Borrowed).collect(),
                    with_tags: None,
                }
            }
            Some(post) => {
                let owned = |part: &str| Cow::Owned(part.to_owned());
                let (whole, sentences) = divided(&post.text);
                Pieces {
                    whole: owned(whole),
                    sentences: sentences.into_iter().map(owned).collect(),
                    with_tags: post.with_tags,
                }
            }
        }
    }

    /// The number of pieces.
    pub fn count(&self) -> usize {
        1 + self.sentences.len() + usize::from(self.with_tags.is_some())
    }

    /// All pieces, in the order in which they are read: the whole, the sentences, the post with its hashtags.
    pub fn into_list(self) -> impl Iterator<Item = Cow<'a, str>> {
        let with_tags = self.with_tags.map(Cow::Owned);
        [self.whole]
            .into_iter()
            .chain(self.sentences)
            .chain(with_tags)
    }
}

/// The beginning of a text and, if there are several sentences, two pieces of it.
fn divided(text: &str) -> (&str, Vec<&str>) {
    let read = beginning(text);
    let sentences = sentences(read);
    let mut pieces = Vec::new();
    let mut start = None;
    let mut words = 0;
    // where the first piece ends
    let mut first_end = None;
    for sentence in &sentences {
        let from = *start.get_or_insert(sentence.start);
        words += sentence.words().count();
        let end = sentence.start + sentence.text.len();
        if words >= SENTENCE_WORDS {
            pieces.extend(read.get(from..end).map(str::trim));
            first_end.get_or_insert(end);
            (start, words) = (None, 0);
            if pieces.len() == SENTENCES {
                break;
            }
        }
    }
    // a single sentence that is most of the text is left out, because it would be read twice
    if let [sentence] = pieces.as_slice()
        && sentence.len() * 2 > read.trim().len()
    {
        pieces.clear();
    }
    if read.len() == text.len()
        && let [_, second] = pieces.as_mut_slice()
        && let Some(ending) = ending(read, &sentences, first_end.unwrap_or(0))
    {
        *second = ending;
    }
    (read, pieces)
}

/// The last sentences of a text, of at most [`ENDING_WORDS`] words together; `None` if they begin before `from`.
fn ending<'a>(text: &'a str, sentences: &[Sentence<'_>], from: usize) -> Option<&'a str> {
    let mut words = 0;
    let mut start = None;
    for sentence in sentences.iter().rev() {
        words += sentence.words().count();
        if words > ENDING_WORDS && start.is_some() {
            break;
        }
        start = Some(sentence.start);
    }
    let start = start.filter(|start| *start >= from)?;
    text.get(start..).map(str::trim)
}

/// The pieces of several texts, each with the claim of its text, so that a model reads all of them together.
pub struct ClaimedPieces<'a> {
    /// (claim, piece), in the order of the texts.
    pieces: Vec<(&'a str, Cow<'a, str>)>,
    /// The number of pieces of each text.
    counts: Vec<usize>,
}

impl<'a> ClaimedPieces<'a> {
    /// The [`Pieces`] of (claim, text) pairs.
    pub fn of(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let texts: Vec<(&str, &str)> = texts.into_iter().collect();
        let of_texts = texts.par_iter().with_min_len(TEXTS_AT_ONCE);
        let of_texts: Vec<Pieces> = of_texts.map(|(_, text)| Pieces::of(text)).collect();
        let (mut all, mut counts) = (Vec::new(), Vec::new());
        for ((claim, _), of_text) in texts.into_iter().zip(of_texts) {
            counts.push(of_text.count());
            all.extend(of_text.into_list().map(|piece| (claim, piece)));
        }
        ClaimedPieces {
            pieces: all,
            counts,
        }
    }

    /// (claim, piece), in the order of the texts.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let pairs = self.pieces.iter();
        pairs
            .map(|(claim, piece)| (*claim, piece.as_ref()))
            .collect()
    }

    /// Groups values of all pieces, in the order of [`ClaimedPieces::pairs`], by text.
    pub fn by_text<T>(&self, values: impl IntoIterator<Item = T>) -> Vec<Vec<T>> {
        let mut values = values.into_iter();
        let of_text = |count: &usize| values.by_ref().take(*count).collect();
        self.counts.iter().map(of_text).collect()
    }
}
