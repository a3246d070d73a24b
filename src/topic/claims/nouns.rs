//! The grammatical number of noun phrases, and their articles.

use super::words::{Word, is_among};

/// Nouns that have no plural, and endings of such nouns.
const UNCOUNTABLE: &str = "access advice air business cash choice control damage democracy education evidence fun harm \
    health help information knowledge law life love money power privacy progress proof research \
    respect sense time truth value water will work";
const UNCOUNTABLE_ENDINGS: &str = "ness ism ance ence dom ship ing ery icity";

/// The position of the noun that a phrase is about: the last one before a preposition, a relative clause or a participle.
pub(super) fn head(phrase: &[Word]) -> Option<usize> {
    let end = phrase
        .iter()
        .enumerate()
        .skip(1)
        .find(|(_, word)| word.tagged("IN TO WDT WP WRB VBZ VBP VBD VBN ,"));
    let end = end.map_or(phrase.len(), |(at, _)| at);
    let nouns = phrase.get(..end)?;
    nouns
        .iter()
        .rposition(Word::is_noun)
        .or_else(|| phrase.iter().position(Word::is_noun))
}

/// Whether a phrase takes a verb in the plural.
pub(super) fn is_plural(phrase: &[Word]) -> bool {
    if let [word] = phrase
        && word.tagged("PRP DT")
    {
        return word.is("we they you these those both");
    }
    if phrase
        .first()
        .is_some_and(|word| word.is("every each this that a an") || word.tag == "VBG")
    {
        return false;
    }
    let Some(head) = head(phrase) else {
        return phrase.iter().any(|word| word.is("those these"));
    };
    let coordinated = phrase.iter().take(head).any(|word| word.is("and"));
    phrase.get(head).is_some_and(|word| {
        word.tagged("NNS NNPS") || coordinated || word.is("people police children")
    })
}

pub(super) fn is_uncountable(noun: &str) -> bool {
    let mut endings = UNCOUNTABLE_ENDINGS.split(' ');
    is_among(UNCOUNTABLE, noun) || endings.any(|end| noun.ends_with(end))
}

/// The article of a noun phrase that had "no" before it; `None` in the plural and for uncountable nouns.
pub(super) fn article(phrase: &[Word]) -> Option<&'static str> {
    let first = phrase.first()?;
    if first.tag == "JJR" || first.tag == "RBR" || first.is("different such other") {
        return None;
    }
    let noun = phrase
        .iter()
        .take_while(|word| word.is_noun() || word.is_adjective() || word.tagged("VBG VBN MD RB"));
    let noun = noun.last()?;
    if noun.tagged("NNS NNPS") || is_uncountable(&noun.lower) {
        return None;
    }
    let vowel =
        first.lower.starts_with(['a', 'e', 'i', 'o', 'u']) && !first.lower.starts_with("uni");
    Some(if vowel { "an" } else { "a" })
}
