//! What of a text is read for its stance: its clauses.
//!
//! Numbers, units, axis labels, addresses and navigation take no side, but the stance encoder finds one in them: the title of a chart seems to say the
//! opposite once the labels of its axes stand behind it. So they are left out before a text is read.

pub mod picture;

use std::borrow::Cow;

use riposte_claims::words::{alphanumeric_words, sentences};

/// Minimum number of words of a clause beside a separator, such as the bar between the headline and the name of a site.
const CLAUSE_WORDS: usize = 4;

/// As many numbers in a row belong to no sentence.
const NUMBERS_IN_A_ROW: usize = 3;

/// What stands between the entries of a navigation, or between a headline and the name of a site.
const SEPARATORS: [&str; 8] = ["|", "·", "•", "›", "»", "«", "‹", ">"];

/// How a line begins that names where a picture or its numbers come from.
const SOURCES: [&str; 7] = [
    "source:",
    "sources:",
    "photo:",
    "photograph:",
    "image:",
    "credit:",
    "data:",
];

/// Endings of addresses without a scheme.
const DOMAINS: [&str; 9] = [
    "com", "org", "net", "edu", "gov", "info", "eu", "uk", "example",
];

/// Words that only say what a number counts.
const UNITS: [&str; 56] = [
    "%",
    "percent",
    "per",
    "cent",
    "mm",
    "cm",
    "m",
    "km",
    "miles",
    "mile",
    "kg",
    "g",
    "t",
    "tons",
    "tonnes",
    "kwh",
    "mwh",
    "gwh",
    "twh",
    "°c",
    "°f",
    "h",
    "hour",
    "hours",
    "min",
    "minutes",
    "day",
    "days",
    "week",
    "weeks",
    "mon",
    "month",
    "months",
    "year",
    "years",
    "yr",
    "yrs",
    "hundred",
    "thousand",
    "thousands",
    "million",
    "millions",
    "billion",
    "billions",
    "mn",
    "bn",
    "k",
    "b",
    "euro",
    "euros",
    "dollar",
    "dollars",
    "usd",
    "eur",
    "pounds",
    "gbp",
];

/// The months, as axes name them.
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Verbs with which a question begins, in titles of debates also without a question mark.
const ASKING: [&str; 16] = [
    "should", "is", "are", "was", "were", "does", "did", "has", "have", "can", "could", "will",
    "would", "must", "shall", "do",
];

/// Whether a text is a question, such as "Should zoos be closed?". A question takes no side.
pub(crate) fn is_question(text: &str) -> bool {
    let ends = sentences(text)
        .last()
        .is_some_and(|last| last.is_question());
    let mut words = alphanumeric_words(text).map(str::to_lowercase);
    let asks = words
        .next()
        .is_some_and(|first| ASKING.contains(&first.as_str()));
    // "Do not ban it" and "Have a heart" demand something
    let demands = || {
        let second = alphanumeric_words(text).nth(1).map(str::to_lowercase);
        second.is_none_or(|second| {
            ["not", "a", "the", "your", "it", "what"].contains(&second.as_str())
        })
    };
    ends || asks && !(["do ", "have "].iter().any(|verb| starts_with(text, verb)) && demands())
}

fn starts_with(text: &str, beginning: &str) -> bool {
    let start = text.trim_start().get(..beginning.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

/// The text without what is no clause. Lines without such parts stay as they are.
pub fn clauses(text: &str) -> Cow<'_, str> {
    let lines: Vec<Cow<str>> = text.split('\n').map(clauses_of_line).collect();
    let is_unchanged = |line: &Cow<str>| matches!(line, Cow::Borrowed(_));
    if lines.iter().all(is_unchanged) {
        return Cow::Borrowed(text);
    }
    let lines = lines
        .iter()
        .filter(|line| is_unchanged(line) || !line.is_empty());
    Cow::Owned(lines.map(Cow::as_ref).collect::<Vec<_>>().join("\n"))
}

fn clauses_of_line(line: &str) -> Cow<'_, str> {
    if line.trim().is_empty() {
        return Cow::Borrowed(line);
    }
    if is_label(line) || is_source(line) {
        return Cow::Owned(String::new());
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept: Vec<&str> = Vec::with_capacity(words.len());
    for run in words.chunk_by(|a, b| counts(a) == counts(b)) {
        let numbers = run.iter().filter(|word| is_number(word)).count();
        if numbers < NUMBERS_IN_A_ROW {
            let is_clause = |word: &&&str| !is_address(word) && !is_unit_in_brackets(word);
            kept.extend(run.iter().filter(is_clause));
        }
    }
    let kept = without_fragments(&kept);
    if kept.len() == words.len() {
        Cow::Borrowed(line)
    } else {
        Cow::Owned(kept.join(" "))
    }
}

/// Leaves out the fragments beside separators that are too short to say something: entries of a navigation, names of sites, dates.
fn without_fragments<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let is_separator = |word: &&str| SEPARATORS.contains(word);
    if !words.iter().any(is_separator) {
        return without_sources(words);
    }
    let segments: Vec<&[&str]> = words.split(is_separator).collect();
    let is_long = |segment: &&[&str]| segment.len() >= CLAUSE_WORDS;
    if segments.len() == 2 && !segments.iter().any(is_long) {
        // two slogans
        return without_sources(words);
    }
    segments
        .into_iter()
        .filter(is_long)
        .flat_map(without_sources)
        .collect()
}

/// Leaves out the sentences that name a source.
fn without_sources<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::with_capacity(words.len());
    let is_end = |word: &str| word.ends_with(['.', '!', '?']);
    for sentence in words.chunk_by(|a, b| !is_end(a) && !begins_source(b)) {
        if !sentence.first().is_some_and(|first| begins_source(first)) {
            kept.extend(sentence);
        }
    }
    kept
}

fn begins_source(word: &str) -> bool {
    SOURCES.contains(&word.to_lowercase().as_str())
}

/// Whether a line names the source of a picture or of its numbers.
fn is_source(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(begins_source)
}

/// Whether a line has nothing but numbers, units and dates.
fn is_label(line: &str) -> bool {
    let mut words = line.split_whitespace().peekable();
    words.peek().is_some() && words.all(counts) && line.contains(|c: char| c.is_ascii_digit())
}

/// Whether a word is a number, its unit or a month.
fn counts(word: &str) -> bool {
    let lower = bare(word).to_lowercase();
    let is_month = || {
        let start = lower.get(..3);
        lower.chars().all(char::is_alphabetic) && start.is_some_and(|start| MONTHS.contains(&start))
    };
    is_number(word) || lower.is_empty() || UNITS.contains(&lower.as_str()) || is_month()
}

/// Whether a word is a number: it has digits, and at most two letters ("1.2B", "80%", "3rd").
fn is_number(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    word.contains(|c: char| c.is_ascii_digit()) && letters <= 2
}

/// A word without the marks around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '°'))
}

/// A unit in brackets, as titles of charts have it: "(million)".
fn is_unit_in_brackets(word: &str) -> bool {
    let inner = word
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| UNITS.contains(&inner.to_lowercase().as_str()))
}

/// Whether a word is the address of a page or of a mailbox.
fn is_address(word: &str) -> bool {
    let word = bare(word);
    let host = word.split('/').next().unwrap_or_default();
    let ends_as_domain = |host: &str| {
        let end = host.rsplit_once('.').map(|(_, end)| end.to_lowercase());
        end.is_some_and(|end| DOMAINS.contains(&end.as_str()))
    };
    let is_mailbox = || {
        let parts = word.split_once('@');
        parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
    };
    word.contains("://") || word.starts_with("www.") || ends_as_domain(host) || is_mailbox()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_addresses_and_navigation_are_no_clauses() {
        for (text, read) in [
            (
                "Money for wildlife projects (million) 80 60 40 20 0 2000 Source: Lindau Bay survey office, n = 1863",
                "Money for wildlife projects",
            ),
            ("80 %\n1.2B\nJUNE 2017\n20 h\n3 mon", ""),
            ("Home | News | Sport | Contact", ""),
            ("© Plain Facts · Imprint · Privacy · Contact", ""),
            (
                "Zoos keep species alive for us | Plain Facts",
                "Zoos keep species alive for us",
            ),
            (
                "Close the zoos now! Read more at https://example.org/a?b=c or www.zoo.example and mail a.b@zoo.org",
                "Close the zoos now! Read more at or and mail",
            ),
            ("See example.com/zoos for more of it", "See for more of it"),
            ("Zoos are prisons. Photo: Jane Doe", "Zoos are prisons."),
        ] {
            assert_eq!(clauses(text), read, "{text}");
        }
    }

    #[test]
    fn sentences_stay_as_they_are() {
        for text in [
            "In 2019, 30 percent of 1,200 people were hurt.",
            "MY CAR\nMY FREEDOM",
            "MY CAR | MY FREEDOM",
            "@POTUS #BanGuns now",
            "The U.S. is e.g. for it.The rest is not.",
            "a  b\n\n c",
            "May 1 is a holiday",
            "",
        ] {
            assert!(
                matches!(clauses(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }

    #[test]
    fn questions_are_told_from_statements_and_demands() {
        for question in [
            "Should zoos be closed?",
            "“Who pays the driver?”",
            "Pros and cons: Should zoos be closed?",
            "Should abortion be legal",
            "Do animals have rights",
        ] {
            assert!(is_question(question), "{question}");
        }
        for statement in [
            "Zoos should be closed",
            "Do not close the zoos",
            "Have a heart for animals",
            "Who pays? We do.",
            "",
        ] {
            assert!(!is_question(statement), "{statement}");
        }
    }
}
