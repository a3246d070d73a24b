use super::*;

/// The terms of a text by an analyzer.
pub(super) fn read(rules: &str, text: &str) -> Vec<String> {
    let analyzer: Analyzer = rules.parse().unwrap();
    terms(&mut analyzer.build(), text)
}

#[test]
fn an_analyzer_is_a_text_or_a_table_of_its_parts() {
    #[derive(Debug, Deserialize)]
    struct Search {
        analyzer: Analyzer,
    }
    let read = |text: &str| toml::from_str::<Search>(text).map(|search| search.analyzer);
    let expected: Analyzer = "stem=german stop=german shingles=2".parse().unwrap();
    for text in [
        "analyzer = \"stem=german stop=german shingles=2\"",
        "analyzer = { stem = \"german\", stop = \"german\", shingles = 2 }",
        "[analyzer]\nshingles = \"2\"\nstop = \"german\"\nstem = \"german\"",
    ] {
        assert_eq!(read(text).unwrap(), expected, "{text}");
    }
    for (text, why) in [
        (
            "analyzer = { stem = \"german stop=german\" }",
            "stem: \"german stop=german\" has a blank in it",
        ),
        (
            "analyzer = { stems = \"german\" }",
            "\"stems=german\" is not a part",
        ),
        ("analyzer = { stem = true }", "or a table of its parts"),
        ("analyzer = 3", "or a table of its parts"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn each_part_of_an_analyzer_is_applied() {
    let text = "The STUDIES' generalizations aren't wrong, are they? Ünits";
    for (rules, expected) in [
        (
            "",
            "the studies generalizations aren t wrong are they ünits",
        ),
        ("length=2-10", "the studies aren wrong are they ünits"),
        (
            "stop=short",
            "studies generalizations aren t wrong they ünits",
        ),
        ("stop=lucene", "studies generalizations aren t wrong ünits"),
        ("stop=long", "studies generalizations wrong ünits"),
        ("stop=long stem=minimal", "study generalization wrong ünit"),
        ("stop=long stem=porter", "studi gener wrong ünit"),
        ("stop=long stem=snowball", "studi general wrong ünit"),
    ] {
        assert_eq!(read(rules, text).join(" "), expected, "{rules}");
    }
    assert_eq!(
        read("fold=ascii stem=snowball", "Über Cafés"),
        ["uber", "cafe"]
    );
    // Porter's stemmer and its revision differ here
    assert_eq!(read("stem=porter", "news fairly"), ["new", "fairli"]);
    assert_eq!(read("stem=snowball", "news fairly"), ["news", "fair"]);
    assert!(read("", "?! …").is_empty());
}

#[test]
fn words_of_other_languages_are_stopped_and_stemmed() {
    for (rules, text, expected) in [
        (
            "stop=german stem=german",
            "Die Häuser für Kinder und das Haus",
            "haus kind haus",
        ),
        // stop words are found with and without their accents
        (
            "stop=german stem=german fold=ascii",
            "für FUR über Bücher",
            "fur buch",
        ),
        ("stop=russian stem=russian", "Школы и школами", "школ школ"),
        ("stop=french stem=french", "l'eau des écoles", "eau écol"),
        ("stem=hindi tokens=standard", "लड़के लड़का", "लड़क लड़क"),
        (
            "fold=nfkc-casefold tokens=standard",
            "Straße STRASSE",
            "strasse strasse",
        ),
    ] {
        assert_eq!(read(rules, text).join(" "), expected, "{rules}");
    }
}

#[test]
fn an_analyzer_knows_what_it_was_made_for() {
    for (rules, other, english) in [
        ("", None, false),
        ("stop=lucene", None, true),
        ("tags=plain", None, true),
        ("stem=kstem", None, true),
        ("stem=german", Some("german"), false),
        ("stop=italian", Some("italian"), false),
        ("stop=lucene stem=french", Some("french"), true),
        ("tokens=cjk", None, false),
    ] {
        let analyzer: Analyzer = rules.parse().unwrap();
        assert_eq!(analyzer.other_language(), other, "{rules}");
        assert_eq!(analyzer.is_english(), english, "{rules}");
    }
}

#[test]
fn shingles_are_sequences_of_kept_words() {
    assert_eq!(
        read("stop=short shingles=3", "a ban of the death penalty"),
        [
            "ban",
            "death",
            "ban_death",
            "penalty",
            "death_penalty",
            "ban_death_penalty"
        ]
    );
}

#[test]
fn the_text_form_reads_back() {
    for text in [
        "stop=none stem=none length=1-40 shingles=1",
        "stop=long stem=minimal length=2-20 shingles=2",
        "stop=lucene stem=snowball length=1-40 shingles=1 fold=ascii",
        "stop=none stem=none length=1-40 shingles=1 tags=typed",
        "stop=german stem=german length=1-40 shingles=1",
        "stop=none stem=none length=1-40 shingles=1 fold=nfkc-casefold tokens=cjk",
    ] {
        let analyzer: Analyzer = text.parse().unwrap();
        assert_eq!(analyzer.to_string(), text);
    }
    assert_eq!(
        "stem=porter".parse::<Analyzer>().unwrap().stemmer,
        Stemmer::Porter
    );
    for (text, message) in [
        ("english", "not a part of an analyzer"),
        (
            "stem=krovetz",
            "choose one of none, minimal, porter, snowball",
        ),
        ("length=9-3", "not of 9-3"),
        ("fold=nfkc-casefold", "needs tokens=standard or tokens=cjk"),
        ("fold=icu", "choose one of none, ascii, nfkc-casefold"),
        ("shingles=0", "not of 0"),
        ("shingles=2 tags=plain", "leave out tokens and shingles"),
        (
            "tokens=standard tags=plain",
            "leave out tokens and shingles",
        ),
    ] {
        let error = format!("{:#}", text.parse::<Analyzer>().unwrap_err());
        assert!(error.contains(message), "{text}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_has_terms_that_the_index_can_split(text in "\\PC{0,200}", shingles in 1usize..4) {
        for rules in ["none", "minimal", "porter", "snowball", "arabic", "turkish", "none tokens=cjk fold=nfkc-casefold"] {
            let rules = format!("stop=long stem={rules} shingles={shingles}");
            let terms = read(&rules, &text);
            proptest::prop_assert!(terms.iter().all(|term| !term.is_empty()));
            // splitting at white space, as the index does, gives the same terms
            let mut writer = rules.parse::<Analyzer>().unwrap().writer();
            // the second time from the cache
            let first = writer.write(&text).0.to_owned();
            let (joined, count) = writer.write(&text);
            proptest::prop_assert_eq!(&first, joined);
            let split: Vec<&str> = joined.split_ascii_whitespace().collect();
            proptest::prop_assert_eq!(count as usize, terms.len());
            proptest::prop_assert_eq!(split, terms);
        }
    }
}

proptest::proptest! {
    /// Short words are read in another way than the others, and from a cache in which others take their places.
    #[test]
    fn the_words_of_a_text_are_its_runs_of_letters_and_digits(text in "([a-zA-Z0-9]{1,17}|[ -~]{0,3}|[äßÉİ日 -]|\\PC)*") {
        let runs = text.split(|letter: char| !letter.is_alphanumeric()).filter(|run| !run.is_empty());
        let lower = |run: &str| run.chars().flat_map(char::to_lowercase).collect::<String>();
        let is_kept = |word: &String| word.chars().count() <= MAX_WORD_LENGTH;
        let expected: Vec<String> = runs.map(lower).filter(is_kept).collect();
        proptest::prop_assert_eq!(read("", &text), expected);
    }
}
