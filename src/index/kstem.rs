//! Krovetz's stemmer (Krovetz, "Viewing morphology as an inference process", SIGIR 1993) as implemented in Lucene 8 under the name KStem.
//!
//! It removes suffixes from a word, one kind after the other and inflections first, and stops at the first form that its lexicon lists. Stems
//! are therefore mostly words, and different words are conflated less often than by Porter's stemmer.
//!
//! The rules were written for riposte; their stems equal those of Lucene 8.7 (`kstem/reference.tsv`, made by `tests/reference/kstem.py`). The
//! lexicon in `kstem/` is Lucene's, with the licence of its authors beside it. The Python package `krovetzstemmer`, which wraps Lemur's stemmer,
//! has 60 more words and applies the rule for `-al` also to words of three letters.

mod lexicon;
#[cfg(test)]
mod tests;

use lexicon::Lexicon;
use std::ops::RangeInclusive;

/// The lengths of words that are stemmed, in letters. Other words do not change.
const LENGTHS: RangeInclusive<usize> = 3..=49;

/// What a rule makes of a word.
enum StemStep {
    /// A word of the lexicon: no further rule is applied.
    Known(String),
    /// Another form, to which the following rules are applied.
    Unknown(String),
}

/// Returns `None` if the rule does not change the word.
type StemRule = fn(&str) -> Option<StemStep>;

const RULES: [StemRule; 19] = [
    plural,
    past,
    progressive,
    // `-ility`, `-ivity` and `-ality` are so productive that they are replaced without the lexicon
    |word| ending(word, "ity", "ity> ity>e", "ility>le ivity>ive ity>"),
    // always removed: `greatness`, `happiness`
    |word| ending(word, "ness", "", "iness>y ness>"),
    |word| ending(word, "ization", "", "ization>ize"),
    // `opposition`, `elimination`, `resignation`, `amplification`; `complication` becomes `complicate` instead of `comply`
    |word| ending(word, "ion", ION, ""),
    |word| ending(word, "izer", "", "izer>ize"),
    agent,
    // always removed or replaced: `nobly`, `quickly`, `happily`; the `-al` that remains of `-ally` is left to the next rule
    |word| ending(word, "ly", "ly>le ly> ily>y", "ably>able ly>"),
    al,
    // `adoptive`, `reflexive`, `determinative`, `injunctive`
    |word| ending(word, "ive", "ive> ive>e ative>e ative> ive>ion", ""),
    // `hospitalize`, `crystallize`, `sterilize`
    |word| ending(word, "ize", "ize> ize>~ ize>e", ""),
    // `enlistment`
    |word| ending(word, "ment", "ment>", ""),
    // `laughable`, `forgettable`, `curable`, `compensable`
    |word| ending(word, "ble", BLE, ""),
    // always removed
    |word| ending(word, "ism", "", "ism>"),
    // also expanded to `-ical`: `canonic`, `photographic`, `oceanic`
    |word| ending(word, "ic", "ic>ical ic>y ic>e ic>", ""),
    // `inconsistency`; the form without a known `-ent` or `-ant` is left to the next rule
    |word| ending(word, "ncy", "ency>ent ancy>ant", "ency>ence ancy>ance"),
    // `adherence`, `disappearance`
    |word| ending(word, "nce", "ence>e ence> ance>e ance>", ""),
];

const ION: &str = "ition>e ation>ate ation>e ation> ication>y ion>e ion>";

const BLE: &str = "able> able>~ able>e able>ate ible> ible>~ ible>e ible>ate";

/// The stem of a word in lower case. It is empty only if the word is empty, and it can be longer than the word (`canonic`: `canonical`). A word
/// with other characters than the letters a to z does not change.
pub(super) fn stem(word: &str) -> String {
    let lexicon = Lexicon::get();
    if !LENGTHS.contains(&word.len()) || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut form = word.to_owned();
    if !lexicon.contains(word) {
        for rule in RULES {
            match rule(&form) {
                Some(StemStep::Known(known)) => {
                    form = known;
                    break;
                }
                Some(StemStep::Unknown(other)) => form = other,
                None => {}
            }
        }
    }
    lexicon.root(&form).map_or(form, str::to_owned)
}

/// `-s`, `-es` and `-ies`: `calories`, `parties`, `churches`, `dogs`.
fn plural(word: &str) -> Option<StemStep> {
    if let Some(stem) = before(word, "ies") {
        return Some(ie_or_y(stem));
    }
    if let Some(stem) = before(word, "es") {
        let with_e = format!("{stem}e");
        // `crosses` comes from `cross` more often than from `crosse`, a racket.
        let may_end_in_e = stem.len() > 1 && !stem.ends_with("ss");
        return first_known([may_end_in_e.then(|| with_e.clone()), Some(stem.to_owned())])
            .or_else(|| Some(accept(with_e)));
    }
    let singular = before(word, "s")?;
    (word.len() > 3 && !singular.ends_with('s') && !word.ends_with("ous"))
        .then(|| accept(singular.to_owned()))
}

/// `-ed` and `-ied`: `married`, `used`, `walked`, `planned`.
fn past(word: &str) -> Option<StemStep> {
    // `fled` has no suffix.
    if word.len() <= 4 {
        return None;
    }
    if let Some(stem) = before(word, "ied") {
        return Some(ie_or_y(stem));
    }
    let stem = before(word, "ed").filter(|stem| has_vowel(stem))?;
    if let Some(step) = verb(stem) {
        return Some(step);
    }
    // A word such as `unheralded` is not a past tense.
    (!stem.starts_with("un")).then(|| StemStep::Unknown(format!("{stem}e")))
}

/// `-ing`: `using`, `walking`, `planning`.
fn progressive(word: &str) -> Option<StemStep> {
    // `thing` has no suffix.
    if word.len() <= 5 {
        return None;
    }
    let stem = before(word, "ing").filter(|stem| has_vowel(stem))?;
    if let Some(step) = verb(stem) {
        return Some(step);
    }
    Some(StemStep::Unknown(if ends_in_two_consonants(stem) {
        stem.to_owned()
    } else {
        format!("{stem}e")
    }))
}

/// The verb whose `-ed` or `-ing` was removed. A doubled consonant stays doubled if the lexicon lists no verb with a single one (`fingerspell`).
fn verb(stem: &str) -> Option<StemStep> {
    let with_e = format!("{stem}e");
    let prefers_e = !Lexicon::get().is_exception(&with_e);
    first_known([
        prefers_e.then_some(with_e),
        Some(stem.to_owned()),
        undoubled(stem).map(str::to_owned),
    ])
    .or_else(|| undoubled(stem).map(|_| StemStep::Unknown(stem.to_owned())))
}

/// `-er` and `-or`, with `-ier` and `-eer`: `planner`, `carrier`, `actor`.
fn agent(word: &str) -> Option<StemStep> {
    let (stem, vowel) = before(word, "er")
        .map(|stem| (stem, 'e'))
        .or_else(|| before(word, "or").map(|stem| (stem, 'o')))?;
    let before_i = stem.strip_suffix('i');
    // Lucene tries `-ie` for `-ior` too.
    let vowel = if before_i.is_some() { 'e' } else { vowel };
    first_known([
        undoubled(stem).map(str::to_owned),
        before_i.map(|base| format!("{base}y")),
        stem.strip_suffix('e').map(str::to_owned),
        Some(format!("{stem}{vowel}")),
        Some(stem.to_owned()),
        Some(format!("{stem}e")),
    ])
}

/// `-al`, `-ical` and `-ial`: `accidental`, `natural`, `optimal`, `biographical`.
fn al(word: &str) -> Option<StemStep> {
    if word.len() < 4 {
        return None;
    }
    let forms = "al> al>~ al>e al>um ical> ical>y ial>";
    ending(word, "al", forms, "ical>ic")
}

/// Replaces a suffix. Takes the first of `forms` that the lexicon lists; if there is none, the first of `otherwise`, listed or not. A form consists of
/// an ending and what replaces it (`ity>e`); `~` removes the last letter of a doubled consonant.
fn ending(word: &str, suffix: &str, forms: &str, otherwise: &str) -> Option<StemStep> {
    before(word, suffix)?;
    let form = |form: &str| {
        let (ending, replacement) = form.split_once('>')?;
        let stem = word.strip_suffix(ending)?;
        match replacement {
            "~" => undoubled(stem).map(str::to_owned),
            _ => Some(stem.to_owned() + replacement),
        }
    };
    let known = |form: &String| Lexicon::get().contains(form);
    let known = forms.split(' ').filter_map(form).find(known);
    let or_else = || otherwise.split(' ').find_map(form).map(accept);
    known.map(StemStep::Known).or_else(or_else)
}

/// The form of a word whose `-ies` or `-ied` was removed: with `-ie` if that is a word (`calories`, `died`), otherwise with `-y`.
fn ie_or_y(stem: &str) -> StemStep {
    first_known([Some(format!("{stem}ie"))]).unwrap_or_else(|| accept(format!("{stem}y")))
}

/// The first form that the lexicon lists.
fn first_known<const N: usize>(forms: [Option<String>; N]) -> Option<StemStep> {
    let lexicon = Lexicon::get();
    forms
        .into_iter()
        .flatten()
        .find(|form| lexicon.contains(form))
        .map(StemStep::Known)
}

/// Accepts a form even if the lexicon does not list it.
fn accept(form: String) -> StemStep {
    if Lexicon::get().contains(&form) {
        StemStep::Known(form)
    } else {
        StemStep::Unknown(form)
    }
}

/// The word without the suffix; `None` if the word lacks the suffix or consists only of it.
fn before<'word>(word: &'word str, suffix: &str) -> Option<&'word str> {
    word.strip_suffix(suffix).filter(|stem| !stem.is_empty())
}

/// The stem without its last letter, if this letter is a doubled consonant.
fn undoubled(stem: &str) -> Option<&str> {
    let (rest, last) = stem.split_at_checked(stem.len().checked_sub(1)?)?;
    (rest.ends_with(last) && is_consonant(stem.as_bytes())).then_some(rest)
}

fn has_vowel(stem: &str) -> bool {
    let letters = stem.as_bytes();
    (1..=letters.len())
        .filter_map(|end| letters.get(..end))
        .any(|beginning| !is_consonant(beginning))
}

fn ends_in_two_consonants(stem: &str) -> bool {
    let letters = stem.as_bytes();
    is_consonant(letters)
        && letters
            .split_last()
            .is_some_and(|(_, rest)| is_consonant(rest))
}

/// Whether the last of the letters is a consonant; y is a consonant at the start of a word and after a vowel.
fn is_consonant(letters: &[u8]) -> bool {
    match letters {
        [.., b'a' | b'e' | b'i' | b'o' | b'u'] | [] => false,
        [rest @ .., b'y'] => !is_consonant(rest),
        _ => true,
    }
}
