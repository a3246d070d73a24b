//! In which language is a question? Questions are short, so neither of the two kinds of evidence is enough alone: whatlang reads the letters of
//! any text, and function words are certain, but not every short question has one of another language's list.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use whatlang::{Detector, Lang};

use crate::index::analyzer::{self, Analyzer, StopList};

/// The English function words: a long list, because "die", "man" and "me" are on those of other languages, too.
const ENGLISH: &str = "smart";

/// With this many more function words of another language than of English, a text is in that language, whatever its letters are like.
const CERTAIN: usize = 2;

/// whatlang must be so sure of another language if only one more word is a function word of another language, and if none is. English questions
/// with foreign names ("Was Charles de Gaulle a good president?") have function words of English, and topics of a few nouns stay below.
const SURE_WITH_ONE: f64 = 0.1;
const SURE_WITH_NONE: f64 = 0.3;

/// The languages of the Latin script that whatlang may find. Between more languages, it would be less sure of each.
const LATIN: [Lang; 19] = [
    Lang::Cat,
    Lang::Ces,
    Lang::Dan,
    Lang::Deu,
    Lang::Eng,
    Lang::Fin,
    Lang::Fra,
    Lang::Hun,
    Lang::Ind,
    Lang::Ita,
    Lang::Nld,
    Lang::Nob,
    Lang::Pol,
    Lang::Por,
    Lang::Ron,
    Lang::Spa,
    Lang::Swe,
    Lang::Tur,
    Lang::Vie,
];

/// The lists of function words.
struct Words {
    english: StopList,
    others: Vec<(&'static str, StopList)>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let list = |name: &str| StopList::find(name).unwrap_or_default();
    Words {
        english: list(ENGLISH),
        others: StopList::languages()
            .map(|name| (name, list(name)))
            .collect(),
    }
});

static LATIN_DETECTOR: LazyLock<Detector> =
    LazyLock::new(|| Detector::with_allowlist(LATIN.to_vec()));

/// The language of a question ("German"), if it is not English. `None` if it is, or if the question has too few words to tell.
pub fn other_language(text: &str) -> Option<String> {
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    if letters().filter(|c| !is_latin(*c)).count() * 2 > letters().count() {
        // a script narrows the languages down so far that whatlang needs no list
        let found = whatlang::detect(text);
        return Some(found.map_or("another language".into(), |found| named(found.lang())));
    }
    let words = analyzer::terms(&mut Analyzer::default().build(), text);
    let words: BTreeSet<String> = words.into_iter().collect();
    if words.len() < crate::limits::MIN_LANGUAGE_WORDS {
        return None;
    }
    let found = LATIN_DETECTOR.detect(text);
    let found = found.filter(|found| found.lang() != Lang::Eng);
    let sure = found.as_ref().map_or(0.0, |found| found.confidence());
    let (name, own, english) = WORDS.nearest(&words);
    let of_list = || format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    let of_letters = || found.as_ref().map(|found| named(found.lang()));
    match own.checked_sub(english) {
        Some(more) if more >= CERTAIN => Some(of_list()),
        Some(1) if sure >= SURE_WITH_ONE => Some(of_list()),
        Some(0) if own == 0 && sure >= SURE_WITH_NONE => of_letters(),
        _ => None,
    }
}

impl Words {
    /// The language whose function words outnumber those of English by most, with the numbers of both. A word that both languages have counts for
    /// neither.
    fn nearest(&self, words: &BTreeSet<String>) -> (&'static str, usize, usize) {
        let is_english = |word: &&String| self.english.contains(word);
        let count = |(name, list): &(&'static str, StopList)| {
            let (english, others): (Vec<&String>, Vec<&String>) =
                words.iter().partition(is_english);
            let own = others.iter().filter(|word| list.contains(word)).count();
            let only_english = english.iter().filter(|word| !list.contains(word)).count();
            (*name, own, only_english)
        };
        let counts = self.others.iter().map(count);
        // the first of several
        let more = |(_, own, english): &(&str, usize, usize)| *own as i64 - *english as i64;
        let nearest = counts.reduce(|best, next| {
            if more(&next) > more(&best) {
                next
            } else {
                best
            }
        });
        nearest.unwrap_or(("", 0, 0))
    }
}

/// The English name of a language.
fn named(language: Lang) -> String {
    match language {
        Lang::Cmn => "Chinese".into(),
        Lang::Nob => "Norwegian".into(),
        other => other.eng_name().into(),
    }
}

/// Whether a letter is of the Latin script.
fn is_latin(c: char) -> bool {
    c.is_ascii()
        || matches!(c, '\u{aa}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}' | '\u{ff21}'..='\u{ff5a}')
}

/// Why a question is not answered with sides; `None` if it looks English.
pub fn refusal(question: &str) -> Option<String> {
    let language = other_language(question)?;
    Some(format!(
        "the question looks {language}, and riposte reads only English: it would put what it finds on the wrong sides. Ask in English"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_questions_are_english_whatever_names_are_in_them() {
        for text in [
            "Should teachers get tenure?",
            "Is golf a sport?",
            "Why did so many men die in the war?",
            "What is better, Café con leche or café au lait?",
            "Was Charles de Gaulle a good president?",
            "Is Real Madrid better than Bayern München?",
            "Is Schadenfreude wrong?",
            "Rammstein or Die Toten Hosen?",
            "abortion pro con",
            "vegetarian diet",
            "Los Angeles",
            "Should El Niño and La Niña be taught?",
            "Is Москва larger than London?",
            "",
            "2+2",
        ] {
            assert_eq!(other_language(text), None, "{text}");
        }
    }

    #[test]
    fn other_languages_are_named() {
        for (language, text) in [
            ("German", "Sollten Zoos geschlossen werden?"),
            ("German", "Ist Golf ein Sport?"),
            ("French", "Faut-il fermer les zoos ?"),
            ("Spanish", "¿Deberían cerrarse los zoológicos?"),
            ("Italian", "Il golf è uno sport?"),
            ("Dutch", "Moet de doodstraf worden afgeschaft?"),
            ("Swedish", "Bör djurparker stängas?"),
            ("Polish", "Czy ogrody zoologiczne powinny zostać zamknięte?"),
            ("Russian", "Следует ли запретить рекламу?"),
            ("Japanese", "死刑は廃止すべきか"),
            ("Chinese", "动物园应该关闭吗？"),
            ("Korean", "사형을 폐지해야 하는가"),
            ("Greek", "Πρέπει να καταργηθεί;"),
            ("Thai", "ควรยกเลิกโทษประหารหรือไม่"),
        ] {
            assert_eq!(other_language(text).as_deref(), Some(language), "{text}");
        }
    }
}
