//! How well a text is written, by Task 1's three criteria: style of speech, sentence structure and ease of reading,
//! profanity and typos.
//!
//! A small logistic model of features that a reader can check, whatever the topic. Weights are learned from quality
//! judgements by `train quality` (models/train).

use std::sync::LazyLock;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::linear::{Linear, LinearText};
use crate::topic::words::{Sentence, Token, count, sentences};
use crate::trec::Explanation;

/// The features, in order.
pub const FEATURES: [&str; 20] = [
    "length",
    "very short",
    "words a sentence",
    "uneven sentences",
    "letters a word",
    "capitals",
    "capitalised words",
    "shouting marks",
    "slang",
    "profanity",
    "typos",
    "sentences that start small",
    "missing blanks",
    "connectives",
    "stop words",
    "variety of words",
    "evidence",
    "links and markup",
    "talk about the debate",
    "second person",
];

const SLANG: &[&str] = &[
    "u", "ur", "r", "lol", "lmao", "omg", "wtf", "gonna", "wanna", "gotta", "kinda", "sorta",
    "ain't", "aint", "yeah", "yea", "yep", "nope", "ya", "ok", "okay", "dude", "guys", "btw",
    "imo", "imho", "idk", "cuz", "cus", "coz", "bc", "b/c", "plz", "pls", "thx", "haha", "hahaha",
    "hey", "umm", "um", "uh", "hmm", "oh", "wow", "whatever", "stuff", "crap", "dumb", "stupid",
    "tho", "thru", "gimme", "lemme", "dont", "nah", "bro", "til",
];
/// Beginnings of words.
const PROFANITY: &[&str] = &[
    "fuck", "shit", "bullshit", "bitch", "bastard", "asshole", "dumbass", "jackass", "cunt",
    "dickhead", "slut", "whore", "faggot", "nigg", "retard", "moron", "idiot", "goddam", "damn",
    "piss", "douche", "wank", "motherf", "prick", "pussy", "crap",
];
/// Whole words that begin as innocent ones do.
const PROFANE_WORDS: &[&str] = &[
    "ass", "dick", "cock", "hell", "fag", "suck", "sucks", "tits",
];
/// Frequent misspellings, and contractions without their apostrophe.
const MISSPELLINGS: &[&str] = &[
    "alot",
    "definately",
    "definatly",
    "defiantly",
    "thier",
    "recieve",
    "becuase",
    "becasue",
    "becouse",
    "beacuse",
    "seperate",
    "arguement",
    "arguements",
    "goverment",
    "beleive",
    "beleif",
    "wich",
    "teh",
    "freind",
    "occured",
    "untill",
    "wierd",
    "truely",
    "similiar",
    "enviroment",
    "existance",
    "neccessary",
    "necesary",
    "neccesary",
    "dissapear",
    "greatful",
    "happend",
    "independant",
    "knowlege",
    "noone",
    "publically",
    "recomend",
    "rediculous",
    "refered",
    "religous",
    "sence",
    "succesful",
    "suprise",
    "tommorow",
    "tounge",
    "writting",
    "everytime",
    "infact",
    "incase",
    "aswell",
    "eachother",
    "dont",
    "doesnt",
    "didnt",
    "isnt",
    "wasnt",
    "arent",
    "werent",
    "cant",
    "couldnt",
    "wouldnt",
    "shouldnt",
    "hasnt",
    "havent",
    "hadnt",
    "im",
    "ive",
    "youre",
    "youve",
    "theyre",
    "thats",
    "theres",
    "lets",
    "whats",
    "hes",
    "shes",
    "i",
    "oppurtunity",
    "opinon",
    "peice",
    "posession",
    "probaly",
    "prolly",
    "relevent",
    "responsability",
    "shouldent",
    "wouldent",
    "studys",
    "tring",
    "ther",
    "thay",
    "whith",
    "wont",
    "completly",
    "extremly",
    "immediatly",
    "basicly",
    "realy",
    "usualy",
    "finaly",
    "pepole",
    "poeple",
    "peopel",
    "choise",
    "childern",
    "commited",
    "commiting",
    "tho",
];
const CONNECTIVES: &[&str] = &[
    "because",
    "therefore",
    "however",
    "thus",
    "hence",
    "although",
    "though",
    "furthermore",
    "moreover",
    "additionally",
    "since",
    "while",
    "whereas",
    "consequently",
    "nevertheless",
    "nonetheless",
    "despite",
    "instead",
    "rather",
    "unless",
    "firstly",
    "secondly",
    "finally",
    "first",
    "second",
    "third",
    "example",
    "instance",
    "similarly",
    "likewise",
    "conversely",
    "otherwise",
    "indeed",
    "accordingly",
    "result",
];
const STOP_WORDS: &[&str] = &[
    "the", "of", "and", "to", "a", "in", "that", "is", "it", "for", "be", "as", "with", "on",
    "are", "this", "by", "have", "not", "or", "from", "an", "at", "they", "which", "would",
    "there", "their", "has", "was", "if", "can", "but", "more", "will", "been", "were", "who",
    "than", "its", "what", "do", "one", "all", "these", "should", "when", "so",
];
const EVIDENCE: &[&str] = &[
    "study",
    "studies",
    "research",
    "researchers",
    "evidence",
    "according",
    "source",
    "sources",
    "percent",
    "report",
    "reported",
    "statistics",
    "data",
    "survey",
    "university",
    "journal",
    "found",
    "shows",
    "published",
    "professor",
];
const MARKUP: &[&str] = &[
    "http", "https", "www", "com", "html", "href", "nbsp", "amp", "quot",
];
/// Beginnings of words by which debaters speak of the debate instead of its subject.
const DEBATE: &[&str] = &[
    "opponent",
    "forfeit",
    "vote",
    "voter",
    "rebuttal",
    "contention",
    "round",
    "instigator",
];
const SECOND_PERSON: &[&str] = &[
    "you", "your", "you're", "yours", "you've", "you'd", "u", "ur",
];

/// Words up to which a longer text is a better one.
const LONG: f64 = 400.0;
/// Words under which a text is hardly an argument.
const SHORT: f64 = 30.0;
/// Words over which their variety is counted: longer texts repeat themselves by necessity.
const VARIETY: usize = 60;

/// Text marks and starts that tokens do not show.
struct Surface {
    shouting: f64,
    missing_blanks: f64,
}

fn surface(text: &str) -> Surface {
    let mut found = Surface {
        shouting: 0.0,
        missing_blanks: 0.0,
    };
    let (mut before, mut mark) = (' ', ' ');
    for c in text.chars() {
        found.shouting += match c {
            '!' => 1.0,
            '?' if mark == '?' => 1.0,
            _ => 0.0,
        };
        let glued = before.is_lowercase() && matches!(mark, '.' | ',' | ';' | '!' | '?');
        found.missing_blanks += f64::from(glued && c.is_alphabetic());
        found.missing_blanks += f64::from(mark == ' ' && matches!(c, ',' | '.') && before != ' ');
        (before, mark) = (mark, c);
    }
    found
}

/// One in each `per` words.
fn rate(count: f64, words: f64, per: f64) -> f64 {
    (count * per / words.max(per)).min(3.0)
}

fn starts(words: &[&Token<'_>], list: &[&str]) -> f64 {
    let starts = |word: &&&Token<'_>| list.iter().any(|stem| word.lower.starts_with(stem));
    words.iter().filter(starts).count() as f64
}

/// The features of a text in the order of [`FEATURES`]; rates are bounded, so that no text is beyond the model.
pub fn features(text: &str) -> Vec<f64> {
    let sentences = sentences(text);
    let words: Vec<&Token<'_>> = sentences.iter().flat_map(Sentence::words).collect();
    let n = words.len() as f64;
    let on = |list: &[&str]| count(words.iter().copied(), list);
    let share = |count: f64| count / n.max(1.0);
    let number = sentences.len().max(1) as f64;
    let lengths: Vec<f64> = sentences.iter().map(|s| s.words().count() as f64).collect();
    let mean = n / number;
    let spread = lengths.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / number;
    let letters: usize = words.iter().map(|w| w.text.chars().count()).sum();
    let capitals = words.iter().filter(|w| {
        w.text.chars().count() > 3
            && w.text
                .chars()
                .all(|c| c.is_uppercase() || !c.is_alphabetic())
            && w.text.chars().any(char::is_uppercase)
    });
    let capitalised = words
        .iter()
        .filter(|w| w.text.starts_with(char::is_uppercase))
        .count() as f64;
    let small = sentences.iter().filter(|s| {
        s.words()
            .next()
            .is_some_and(|w| w.text.starts_with(char::is_lowercase))
    });
    let profane = starts(&words, PROFANITY) + on(PROFANE_WORDS);
    // "i" is a misspelling, "I" is not
    let typos = words
        .iter()
        .filter(|w| MISSPELLINGS.contains(&w.lower.as_str()) && w.text != "I")
        .count() as f64;
    let mut early: Vec<&str> = words
        .iter()
        .take(VARIETY)
        .map(|w| w.lower.as_str())
        .collect();
    let window = early.len().max(1) as f64;
    early.sort_unstable();
    early.dedup();
    let numbers = words
        .iter()
        .filter(|w| w.text.starts_with(|c: char| c.is_ascii_digit()));
    let quotes = text.chars().filter(|c| matches!(c, '"' | '“')).count() as f64 / 2.0;
    let Surface {
        shouting,
        missing_blanks,
    } = surface(text);
    vec![
        n.min(LONG).ln_1p(),
        (1.0 - n / SHORT).max(0.0),
        mean.clamp(1.0, 60.0).ln(),
        spread.sqrt().min(30.0).ln_1p(),
        (letters as f64 / n.max(1.0)).min(8.0),
        share(capitals.count() as f64).min(0.3),
        share(capitalised).min(0.6),
        rate(shouting, n, 50.0),
        rate(on(SLANG), n, 50.0),
        rate(profane, n, 50.0),
        rate(typos, n, 50.0),
        small.count() as f64 / number,
        rate(missing_blanks, n, 50.0),
        rate(on(CONNECTIVES), n, 50.0),
        share(on(STOP_WORDS)),
        early.len() as f64 / window,
        rate(on(EVIDENCE) + numbers.count() as f64 + quotes, n, 50.0),
        rate(on(MARKUP), n, 50.0),
        rate(starts(&words, DEBATE), n, 50.0),
        share(on(SECOND_PERSON)).min(0.1),
    ]
}

/// What is judged: debaters' arguments and web pages' passages are written, and graded, in ways of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Argument,
    Passage,
}

/// Weights for each kind of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    arguments: Linear,
    passages: Linear,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelText {
    arguments: LinearText,
    passages: LinearText,
}

static COMMITTED: LazyLock<Model> = LazyLock::new(|| {
    // part of the program, not input: tests/it/quality.rs reads it
    Model::parse(include_str!("../../models/own/quality.toml"))
        .expect("models/own/quality.toml is a model")
});

impl Model {
    /// Reads a weight file.
    ///
    /// # Errors
    /// No TOML, or features that are missing or unknown.
    pub fn parse(text: &str) -> Result<Model> {
        let text: ModelText = toml::from_str(text).context("reading weights of quality")?;
        Ok(Model {
            arguments: Linear::new(text.arguments, &FEATURES).context("arguments")?,
            passages: Linear::new(text.passages, &FEATURES).context("passages")?,
        })
    }

    fn of(&self, kind: Kind) -> &Linear {
        match kind {
            Kind::Argument => &self.arguments,
            Kind::Passage => &self.passages,
        }
    }
}

/// How well the text is written, in (0, 1): about the share of the highest grade that judges would give it.
pub fn quality(kind: Kind, text: &str) -> f64 {
    COMMITTED.of(kind).probability(&features(text))
}

/// The same number, opened.
pub fn explain(kind: Kind, text: &str) -> Explanation {
    COMMITTED.of(kind).explain("quality", &features(text))
}
