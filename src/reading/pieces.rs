//! The pieces of a text that the stance encoder reads.

use riposte_claims::words::sentences;

/// Maximum number of sentences that are read one by one.
const SENTENCES: usize = 2;
/// A sentence with fewer words is joined to the next one.
const SENTENCE_WORDS: usize = 15;
/// Maximum number of characters of a text that are read. The encoder truncates its input to fewer, and splitting a long text would take
/// unnecessary time.
const READ_CHARACTERS: usize = 1200;

/// Maximum number of bytes of a text that are used after retrieval. No argument of args.me is longer.
const USED_BYTES: usize = 1 << 20;

/// The part of a text from which scores are computed, which is its first MiB. If it is not the complete text, also returns a sentence that says
/// so.
pub(crate) fn used_part(text: &str) -> (&str, Option<String>) {
    let length = text.len();
    if length <= USED_BYTES {
        return (text, None);
    }
    let part = text.get(..text.floor_char_boundary(USED_BYTES));
    let cut = format!("only the first {USED_BYTES} of its {length} bytes were read");
    (part.unwrap_or_default(), Some(cut))
}

/// Leaves only the [`used_part`] of a text. Returns the sentence about the rest, if there is one.
pub(crate) fn truncate(text: &mut String) -> Vec<String> {
    let (used, cut) = used_part(text);
    text.truncate(used.len());
    Vec::from_iter(cut)
}

/// The beginning of a text, which is the part that the encoder reads.
pub fn beginning(text: &str) -> &str {
    match text.char_indices().nth(READ_CHARACTERS) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The pieces of a text that the encoder reads: its beginning and, if there are several sentences, also the first sentences one by one.
/// Arguments begin with their claim, and the encoder is more certain about a single sentence than about several.
pub fn pieces(text: &str) -> Vec<&str> {
    let text = beginning(text);
    let mut pieces = vec![text];
    let mut start = None;
    let mut words = 0;
    for sentence in sentences(text) {
        let from = *start.get_or_insert(sentence.start);
        words += sentence.words().count();
        let end = sentence.start + sentence.text.len();
        if words >= SENTENCE_WORDS {
            pieces.extend(text.get(from..end).map(str::trim));
            (start, words) = (None, 0);
            if pieces.len() > SENTENCES {
                break;
            }
        }
    }
    // a single sentence that is most of the text is left out, because it would be read twice
    if let [_, sentence] = pieces.as_slice()
        && sentence.len() * 2 > text.trim().len()
    {
        pieces.truncate(1);
    }
    pieces
}

/// The pieces of several texts, each with the claim of its text, so that a model reads all of them together.
pub struct ClaimedPieces<'a> {
    /// (claim, piece), in the order of the texts.
    pub pairs: Vec<(&'a str, &'a str)>,
    /// The number of pieces of each text.
    counts: Vec<usize>,
}

impl<'a> ClaimedPieces<'a> {
    /// The [`pieces`] of (claim, text) pairs.
    pub fn of(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut pairs, mut counts) = (Vec::new(), Vec::new());
        for (claim, text) in texts {
            let of_text = pieces(text);
            counts.push(of_text.len());
            pairs.extend(of_text.into_iter().map(|piece| (claim, piece)));
        }
        ClaimedPieces { pairs, counts }
    }

    /// Groups values of all pieces, in the order of [`ClaimedPieces::pairs`], by text.
    pub fn by_text<T>(&self, values: impl IntoIterator<Item = T>) -> Vec<Vec<T>> {
        let mut values = values.into_iter();
        let of_text = |count: &usize| values.by_ref().take(*count).collect();
        self.counts.iter().map(of_text).collect()
    }
}
