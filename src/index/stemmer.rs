//! The stemmers that an analyzer can name: four for English, and those of Snowball for other languages.

use std::fmt;

use anyhow::Result;
use frostem::Algorithm;

use super::kstem;
use crate::wording::UnknownName;

/// An algorithm that reduces words to stems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stemmer {
    #[default]
    None,
    /// Harman's S stemmer (1991, "How effective is suffixing?"), which only removes plural endings.
    Minimal,
    /// Porter's stemmer (1980).
    Porter,
    /// The English stemmer of Snowball, also called Porter 2.
    Snowball,
    /// Krovetz's stemmer (1993) as in Lucene ([`kstem`]).
    Kstem,
    /// Another stemmer of Snowball. Its name is Snowball's ("german", "dutch_porter").
    Other(Algorithm),
}

/// The names that are not Snowball's.
const NAMED: [(&str, Stemmer); 5] = [
    ("none", Stemmer::None),
    ("minimal", Stemmer::Minimal),
    ("porter", Stemmer::Porter),
    ("snowball", Stemmer::Snowball),
    ("kstem", Stemmer::Kstem),
];

impl Stemmer {
    /// The stemmer with this name. "english" is another name of "snowball".
    ///
    /// # Errors
    /// There is no such stemmer. The message lists the names.
    pub(super) fn find(name: &str) -> Result<Self> {
        let named = NAMED.iter().find(|(known, _)| *known == name);
        let found = named.map(|(_, stemmer)| *stemmer).or_else(|| {
            let mut algorithms = Algorithm::all().iter();
            let algorithm = *algorithms.find(|algorithm| algorithm.name() == name)?;
            Some(match algorithm {
                // one name for one stemmer, so that recipes with either name share an index
                Algorithm::English => Stemmer::Snowball,
                other => Stemmer::Other(other),
            })
        });
        found.ok_or_else(|| UnknownName::new("value", name, Stemmer::names()).into())
    }

    /// All names, each once.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let own = NAMED.iter().map(|(name, _)| *name);
        let of_snowball = Algorithm::all().iter().map(|algorithm| algorithm.name());
        // Porter's stemmer is on both lists
        own.chain(of_snowball.filter(|name| *name != "porter"))
    }

    /// The language whose words it stems; `None` for [`Stemmer::None`].
    pub fn language(self) -> Option<&'static str> {
        match self {
            Stemmer::None => None,
            Stemmer::Minimal | Stemmer::Porter | Stemmer::Snowball | Stemmer::Kstem => {
                Some("english")
            }
            Stemmer::Other(Algorithm::Lovins | Algorithm::Earlymodernenglish) => Some("english"),
            Stemmer::Other(Algorithm::DutchPorter) => Some("dutch"),
            Stemmer::Other(algorithm) => Some(algorithm.name()),
        }
    }

    /// The stem of a word in lower case.
    pub(super) fn stem(self, word: &str) -> String {
        let snowball = |algorithm| frostem::Stemmer::new(algorithm).stem(word).into_owned();
        match self {
            Stemmer::None => word.to_owned(),
            Stemmer::Minimal => without_plural(word),
            Stemmer::Porter => snowball(Algorithm::Porter),
            Stemmer::Snowball => snowball(Algorithm::English),
            Stemmer::Kstem => kstem::stem(word),
            Stemmer::Other(algorithm) => snowball(algorithm),
        }
    }
}

impl fmt::Display for Stemmer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Stemmer::Other(algorithm) = self {
            return f.write_str(algorithm.name());
        }
        let name = NAMED.iter().find(|(_, stemmer)| stemmer == self);
        f.write_str(name.map_or("none", |(name, _)| name))
    }
}

/// The S stemmer: applies the first of Harman's three rules whose ending the word has.
fn without_plural(word: &str) -> String {
    // an ending, what replaces it, and the endings that stay
    let rules: [(&str, &str, &[&str]); 3] = [
        ("ies", "y", &["eies", "aies"]),
        ("es", "e", &["aes", "ees", "oes"]),
        ("s", "", &["us", "ss"]),
    ];
    let rule = |(ending, by, kept): (&str, &str, &[&str])| {
        let stem = word.strip_suffix(ending).filter(|_| word.len() > 1)?;
        let stays = kept.iter().any(|kept| word.ends_with(kept));
        Some(if stays {
            word.to_owned()
        } else {
            stem.to_owned() + by
        })
    };
    rules.into_iter().find_map(rule).unwrap_or(word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two forms of one word for each stemmer of Snowball. The stemmer must give both the same stem.
    const FORMS: [(&str, &str, &str); 36] = [
        ("arabic", "كتاب", "الكتاب"),
        ("armenian", "քաղաքներ", "քաղաքների"),
        ("basque", "etxeak", "etxe"),
        ("catalan", "escoles", "escola"),
        ("czech", "školy", "školám"),
        ("danish", "skolerne", "skoler"),
        ("dutch", "scholen", "school"),
        ("dutch_porter", "lichamelijk", "lichamelijke"),
        ("earlymodernenglish", "loveth", "love"),
        ("esperanto", "lernejoj", "lernejo"),
        ("estonian", "raamatud", "raamat"),
        ("finnish", "kouluissa", "koulussa"),
        ("french", "écoles", "école"),
        ("german", "häuser", "hauses"),
        ("greek", "σχολεία", "σχολείο"),
        ("hindi", "लड़के", "लड़का"),
        ("hungarian", "házak", "ház"),
        ("indonesian", "bukunya", "buku"),
        ("irish", "bhád", "bád"),
        ("italian", "scuole", "scuola"),
        ("lithuanian", "mokyklos", "mokykla"),
        ("lovins", "nationally", "national"),
        ("nepali", "केटाहरू", "केटा"),
        ("norwegian", "skolene", "skoler"),
        ("persian", "کتاب‌ها", "کتاب"),
        ("polish", "szkoły", "szkoła"),
        ("portuguese", "escolas", "escola"),
        ("romanian", "copiilor", "copii"),
        ("russian", "школами", "школа"),
        ("serbian", "školama", "škola"),
        ("sesotho", "batho", "motho"),
        ("spanish", "escuelas", "escuela"),
        ("swedish", "skolorna", "skolor"),
        ("tamil", "வீடுகள்", "வீடு"),
        ("turkish", "evler", "evlerde"),
        ("yiddish", "שולן", "שול"),
    ];

    #[test]
    fn each_stemmer_of_snowball_joins_two_forms_of_a_word() {
        for (name, one, other) in FORMS {
            let stemmer = Stemmer::find(name).unwrap();
            assert_eq!(stemmer.to_string(), name);
            assert_eq!(stemmer.stem(one), stemmer.stem(other), "{name}");
        }
    }

    #[test]
    fn each_name_is_listed_once_and_reads_back() {
        let names: Vec<&str> = Stemmer::names().collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name}");
            let shown = Stemmer::find(name).unwrap().to_string();
            let expected = if *name == "english" { "snowball" } else { name };
            assert_eq!(shown, expected);
        }
        // a stemmer that Snowball adds needs two forms above
        for name in Algorithm::all().iter().map(|algorithm| algorithm.name()) {
            let is_tested = FORMS.iter().any(|(known, _, _)| *known == name);
            assert!(is_tested || ["english", "porter"].contains(&name), "{name}");
        }
        for name in ["German", "de", "english2", ""] {
            let error = Stemmer::find(name).unwrap_err().to_string();
            assert!(error.contains("none, minimal, porter"), "{error}");
        }
    }

    #[test]
    fn a_stemmer_knows_its_language() {
        for (name, language) in [
            ("none", None),
            ("kstem", Some("english")),
            ("lovins", Some("english")),
            ("dutch_porter", Some("dutch")),
            ("german", Some("german")),
        ] {
            assert_eq!(Stemmer::find(name).unwrap().language(), language, "{name}");
        }
    }

    #[test]
    fn a_plural_ending_is_removed_by_the_first_rule_that_has_it() {
        for (word, stem) in [
            ("queries", "query"),
            ("zaies", "zaies"),
            ("zeies", "zeies"),
            ("houses", "house"),
            ("goes", "goes"),
            ("trees", "trees"),
            ("algaes", "algaes"),
            ("gas", "ga"),
            ("corpus", "corpus"),
            ("class", "class"),
            ("s", "s"),
            ("", ""),
        ] {
            assert_eq!(without_plural(word), stem);
        }
    }
}
