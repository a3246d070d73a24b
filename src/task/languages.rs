//! Says which parts of an approach are made for English, if its topics are in another language.

use std::collections::BTreeSet;

use riposte_eval::TextTask;
use riposte_eval::topic::Topic;

#[cfg(feature = "full")]
use super::approach::{ArgumentRecipe, ImageApproach, StanceRecipe};
use super::counted;
use super::text_approach::TextApproach;
use crate::index::analyzer::{self, Analyzer, StopList};

/// Maximum number of topics that a note names.
const NAMED: usize = 3;

/// A topic is in another language if at least this many of its words are on the stop list of that language and not on an English one.
const STOP_WORDS: usize = 2;

/// The English stop list against which those of other languages are held: a long one, because "die", "man" and "me" are on both.
const ENGLISH: &str = "smart";

/// Re-rankers that read no English by themselves: those of retrieval, and those whose models the user chooses.
const ANY_LANGUAGE: [&str; 4] = ["retrieval", "sentence", "cross", "cluster"];

/// A note on the parts of an approach to a text task that are made for English; `None` if the topics look English, or if it has no such part.
/// `stances` tells whether the stances of documents are detected.
pub(super) fn note_on_texts(
    task: TextTask,
    approach: &TextApproach,
    topics: &[Topic],
    stances: bool,
) -> Option<String> {
    let searches = || approach.retrieval.iter();
    let mut parts = Vec::new();
    if searches().any(|search| search.synonyms.is_some()) {
        parts.push("synonyms");
    }
    let rerank = approach.rerank.iter().map(|recipe| &recipe.weights);
    let pairwise = approach.pairwise.iter().map(|recipe| &recipe.weights);
    for (reranker, _) in rerank.chain(pairwise).flat_map(|weights| weights.used()) {
        let name = reranker.name();
        if !ANY_LANGUAGE.contains(&name) && !parts.contains(&name) {
            parts.push(name);
        }
    }
    if stances && task != TextTask::Rank && approach.stance.is_none() {
        parts.push("stance");
    }
    let analyzers: Vec<&Analyzer> = searches().map(|search| &search.analyzer).collect();
    note(&approach.name, &analyzers, parts, topics)
}

/// The same for an approach to the image task.
#[cfg(feature = "full")]
pub(super) fn note_on_images(approach: &ImageApproach, topics: &[Topic]) -> Option<String> {
    let mut parts = Vec::new();
    if approach.query.lemmas.is_some() {
        parts.push("lemmas");
    }
    if approach.argument != ArgumentRecipe::None {
        parts.push("argument");
    }
    // "both" reads nothing, and "crawl" only the words that the crawl added to its queries
    if !matches!(approach.stance, StanceRecipe::Both | StanceRecipe::Crawl) {
        parts.push("claim");
        parts.push("stance");
    }
    note(
        &approach.name,
        &[&approach.relevance.analyzer],
        parts,
        topics,
    )
}

/// The note for an approach with these analyzers, and with these other parts that are made for English.
fn note(
    approach: &str,
    analyzers: &[&Analyzer],
    mut parts: Vec<&str>,
    topics: &[Topic],
) -> Option<String> {
    let language = analyzers.iter().find_map(|of| of.other_language());
    let why = match language {
        Some(language) => format!("the analyzer of {approach} is for {language}"),
        None => {
            if analyzers.iter().any(|of| of.is_english()) {
                parts.insert(0, "analyzer");
            }
            let languages = Languages::known();
            let others = topics
                .iter()
                .filter(|topic| !languages.is_english(&topic.title));
            let others: Vec<String> = others.map(|topic| topic.id.to_string()).collect();
            if others.is_empty() {
                return None;
            }
            let named = others.iter().take(NAMED).map(String::as_str);
            let named: Vec<&str> = named.chain((others.len() > NAMED).then_some("…")).collect();
            let verb = if others.len() == 1 { "does" } else { "do" };
            format!(
                "{} {verb} not look English ({})",
                counted(others.len() as u64, "topic", "topics"),
                named.join(", ")
            )
        }
    };
    let (last, before) = parts.split_last()?;
    let parts = match before {
        [] => (*last).to_owned(),
        before => format!("{} and {last}", before.join(", ")),
    };
    Some(format!(
        "{why}, but these parts of {approach} know only English: {parts}. They are used all the same, and say little about other languages"
    ))
}

/// The stop lists that tell languages apart.
struct Languages {
    english: StopList,
    others: Vec<StopList>,
}

impl Languages {
    fn known() -> Self {
        let list = |name: &str| StopList::find(name).unwrap_or_default();
        Languages {
            english: list(ENGLISH),
            others: StopList::languages().map(list).collect(),
        }
    }

    /// Whether a text looks English. It does not if most of its letters are of other scripts than Latin, or if it has more stop words of another
    /// language than of English, and at least [`STOP_WORDS`]. A text of a few rare words looks English in any language of the Latin script.
    fn is_english(&self, text: &str) -> bool {
        let (latin, other): (Vec<char>, Vec<char>) = text
            .chars()
            .filter(|c| c.is_alphabetic())
            .partition(|c| is_latin(*c));
        if other.len() > latin.len() {
            return false;
        }
        let words = analyzer::terms(&mut Analyzer::default().build(), text);
        let words: BTreeSet<String> = words.into_iter().collect();
        let (english, rest): (Vec<&String>, Vec<&String>) =
            words.iter().partition(|word| self.english.contains(word));
        let most = self.others.iter().map(|list| {
            let found = rest.iter().filter(|word| list.contains(word));
            found.count()
        });
        let most = most.max().unwrap_or(0);
        most < STOP_WORDS || most <= english.len()
    }
}

/// Whether a letter is of the Latin script.
fn is_latin(c: char) -> bool {
    c.is_ascii()
        || matches!(c, '\u{aa}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}' | '\u{ff21}'..='\u{ff5a}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(id: usize, title: &str) -> Topic {
        let text =
            format!("<topics><topic><number>{id}</number><title>{title}</title></topic></topics>");
        riposte_eval::topic::parse(&text).unwrap().remove(0)
    }

    #[test]
    fn english_questions_look_english_and_others_do_not() {
        let languages = Languages::known();
        for text in [
            "Should teachers get tenure?",
            "Is human activity primarily responsible for global climate change?",
            "Why did so many men die in the war?",
            "What is better, Café con leche or café au lait?",
            "abortion pro con",
            "Should El Niño and La Niña be taught?",
            "Is Москва larger than London?",
            "",
            "2+2",
        ] {
            assert!(languages.is_english(text), "{text}");
        }
        for text in [
            "Sollten Kinder in der Schule nicht rauchen dürfen?",
            "Est-ce que les professeurs doivent porter une cravate?",
            "¿Deben los niños estar en la escuela?",
            "Следует ли запретить рекламу?",
            "死刑は廃止すべきか",
            "사형을 폐지해야 하는가",
            "Πρέπει να καταργηθεί;",
            "ควรยกเลิกโทษประหารหรือไม่",
        ] {
            assert!(!languages.is_english(text), "{text}");
        }
    }

    #[test]
    fn a_note_names_the_topics_and_the_parts_that_know_only_english() {
        let topics = [
            topic(1, "Should zoos be banned?"),
            topic(7, "死刑は廃止すべきか"),
        ];
        let english: Analyzer = "stem=porter".parse().unwrap();
        let german: Analyzer = "stem=german".parse().unwrap();
        let said = note("mine", &[&english], vec!["quality"], &topics).unwrap();
        assert!(
            said.starts_with("1 topic does not look English (7), but"),
            "{said}"
        );
        assert!(
            said.contains("know only English: analyzer and quality."),
            "{said}"
        );
        // English topics need no note, and neither does an approach without English
        assert_eq!(
            note("mine", &[&english], vec!["quality"], &topics[..1]),
            None
        );
        assert_eq!(note("mine", &[&Analyzer::default()], vec![], &topics), None);
        assert_eq!(note("mine", &[&german], vec![], &topics), None);
        // a German stemmer says that the topics are German
        let said = note("mine", &[&german], vec!["stance"], &topics[..1]).unwrap();
        assert!(
            said.starts_with("the analyzer of mine is for german, but"),
            "{said}"
        );
        assert!(said.contains("know only English: stance."), "{said}");
    }

    #[test]
    fn the_default_approaches_are_silent_about_english_topics() {
        let text = "<topics><topic><number>1</number><title>Should zoos be closed?</title></topic>\
            <topic><number>2</number><title>What is better, a cat or a dog?</title></topic></topics>";
        let topics = riposte_eval::topic::parse(text).unwrap();
        for task in [
            TextTask::Controversial,
            TextTask::Comparative,
            TextTask::Rank,
        ] {
            let approach = TextApproach::find(task, "riposte").unwrap();
            assert_eq!(note_on_texts(task, &approach, &topics, true), None);
            let foreign = [topic(1, "死刑は廃止すべきか")];
            let said = note_on_texts(task, &approach, &foreign, true).unwrap();
            assert_eq!(said.contains("stance"), task != TextTask::Rank, "{said}");
        }
    }
}
