//! The grammatical number of noun phrases, and their articles.

use super::verbs::ends_in;
use super::words::{ClauseWord, is_among, is_at, position, tag_at};

/// Nouns that have no plural, and endings of such nouns.
const UNCOUNTABLE: &str = "access advice air business cash choice control damage democracy education evidence fun harm \
    health help information knowledge law life love money power privacy progress proof research \
    respect sense time truth value water will work";
const UNCOUNTABLE_ENDINGS: &str = "ness ism ance ence dom ship ing ery icity";

/// The position of the noun that a phrase is about: the last one before a preposition, a relative clause or a participle.
pub(super) fn head(phrase: &[ClauseWord]) -> Option<usize> {
    let mut behind = phrase.iter().skip(1);
    let end = behind.position(|word| word.tagged("IN TO WDT WP WRB VBZ VBP VBD VBN ,"));
    let nouns = &phrase[..end.map_or(phrase.len(), |at| at + 1)];
    let last = nouns.iter().rposition(ClauseWord::is_noun);
    last.or_else(|| phrase.iter().position(ClauseWord::is_noun))
}

/// Whether a phrase takes a verb in the plural.
pub(super) fn is_plural(phrase: &[ClauseWord]) -> bool {
    if let [word] = phrase
        && word.tagged("PRP DT")
    {
        return word.is("we they you these those both");
    }
    if is_at(phrase, 0, "every each this that a an") || tag_at(phrase, 0) == "VBG" {
        return false;
    }
    let Some(head) = head(phrase) else {
        return position(phrase, "those these").is_some();
    };
    let is_coordinated = position(&phrase[..head], "and").is_some();
    let noun = &phrase[head];
    is_coordinated || noun.tagged("NNS NNPS") || noun.is("people police children")
}

pub(super) fn is_uncountable(noun: &str) -> bool {
    is_among(UNCOUNTABLE, noun) || ends_in(noun, UNCOUNTABLE_ENDINGS)
}

/// The article of a noun phrase that had "no" before it; `None` in the plural and for uncountable nouns.
pub(super) fn article(phrase: &[ClauseWord]) -> Option<&'static str> {
    let first = phrase.first()?;
    if first.tagged("JJR RBR") || first.is("different such other") {
        return None;
    }
    let is_inside =
        |word: &&ClauseWord| word.is_noun() || word.is_adjective() || word.tagged("VBG VBN MD RB");
    let noun = phrase.iter().take_while(is_inside).last()?;
    if noun.tagged("NNS NNPS") || is_uncountable(&noun.lower) {
        return None;
    }
    let vowel =
        first.lower.starts_with(['a', 'e', 'i', 'o', 'u']) && !first.lower.starts_with("uni");
    Some(if vowel { "an" } else { "a" })
}
