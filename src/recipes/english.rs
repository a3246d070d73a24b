//! Says which parts of an approach are made for English, if its topics are in another language.

use riposte_eval::TextTask;
use riposte_eval::topic::Topic;

use super::image_approach::{ArgumentRecipe, ImageApproach, ListForm, StanceRecipe};
use super::text_approach::TextApproach;
use crate::index::analyzer::Analyzer;
use crate::language::other_language;
use crate::score::reranker::RerankerNeed;
use crate::wording::counted;

/// Maximum number of topics that a note names.
const NAMED: usize = 3;

/// A note on the parts of an approach to a text task that are made for English; `None` if the topics look English, or if it has no such part.
/// `stances` tells whether the stances of documents are detected.
pub(crate) fn note_on_texts(
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
        if reranker.need() == RerankerNeed::English && !parts.contains(&name) {
            parts.push(name);
        }
    }
    let mut without = None;
    if stances && task != TextTask::Rank && approach.stance.is_none() {
        parts.push("stance");
        without = Some(match task {
            TextTask::Comparative => "their lines have Q0 instead of a stance",
            _ => "no argument about them is on a side",
        });
    }
    let analyzers: Vec<&Analyzer> = searches().map(|search| &search.analyzer).collect();
    note(&approach.name, &analyzers, parts, without, topics)
}

/// The same for an approach to the image task.
pub(crate) fn note_on_images(approach: &ImageApproach, topics: &[Topic]) -> Option<String> {
    let mut parts = Vec::new();
    if approach.query.lemmas.is_some() {
        parts.push("lemmas");
    }
    if approach.argument != ArgumentRecipe::None {
        parts.push("argument");
    }
    let mut without = None;
    // "both" reads nothing, and "crawl" only the words that the crawl added to its queries
    if !matches!(approach.stance, StanceRecipe::Both | StanceRecipe::Crawl) {
        parts.push("claim");
        parts.push("stance");
        without = Some("both of their lists have the same images");
    }
    note(
        &approach.name,
        &[&approach.relevance.analyzer],
        parts,
        without.filter(|_| approach.form == ListForm::Stances),
        topics,
    )
}

/// The note for an approach with these analyzers, and with these other parts that are made for English. If stances are read, `without` says what the
/// topics in other languages have instead.
fn note(
    approach: &str,
    analyzers: &[&Analyzer],
    mut parts: Vec<&str>,
    without: Option<&str>,
    topics: &[Topic],
) -> Option<String> {
    let foreign = topics.iter().filter_map(|topic| {
        let language = other_language(&topic.title)?;
        Some(format!("{}: {language}", topic.id))
    });
    let foreign: Vec<String> = foreign.collect();
    let language = analyzers.iter().find_map(|of| of.other_language());
    let why = match language {
        Some(language) => format!("the analyzer of {approach} is for {language}"),
        None => {
            if analyzers.iter().any(|of| of.is_english()) {
                parts.insert(0, "analyzer");
            }
            if foreign.is_empty() {
                return None;
            }
            let named = foreign.iter().take(NAMED).map(String::as_str);
            let named: Vec<&str> = named
                .chain((foreign.len() > NAMED).then_some("…"))
                .collect();
            let verb = if foreign.len() == 1 { "does" } else { "do" };
            format!(
                "{} {verb} not look English ({})",
                counted(foreign.len() as u64, "topic", "topics"),
                named.join(", ")
            )
        }
    };
    let without = without.filter(|_| !foreign.is_empty());
    if without.is_some() {
        parts.retain(|part| !matches!(*part, "claim" | "stance"));
    }
    let used = parts.split_last().map(|(last, before)| {
        let parts = match before {
            [] => (*last).to_owned(),
            before => format!("{} and {last}", before.join(", ")),
        };
        format!(
            "these parts of {approach} know only English: {parts}. They are used all the same, and say little about other languages"
        )
    });
    let without = without.map(|without| format!("stances are read only in English: {without}"));
    let said: Vec<String> = without.into_iter().chain(used).collect();
    (!said.is_empty()).then(|| format!("{why}, but {}", said.join("; ")))
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
    fn a_note_names_the_topics_and_the_parts_that_know_only_english() {
        let topics = [
            topic(1, "Should zoos be banned?"),
            topic(7, "死刑は廃止すべきか"),
        ];
        let english: Analyzer = "stem=porter".parse().unwrap();
        let german: Analyzer = "stem=german".parse().unwrap();
        let said = note("mine", &[&english], vec!["quality"], None, &topics).unwrap();
        assert!(
            said.starts_with("1 topic does not look English (7: Japanese), but"),
            "{said}"
        );
        assert!(
            said.contains("know only English: analyzer and quality."),
            "{said}"
        );
        // English topics need no note, and neither does an approach without English
        assert_eq!(
            note("mine", &[&english], vec!["quality"], None, &topics[..1]),
            None
        );
        assert_eq!(
            note("mine", &[&Analyzer::default()], vec![], None, &topics),
            None
        );
        assert_eq!(note("mine", &[&german], vec![], None, &topics), None);
        // a German stemmer says that the topics are German
        let said = note(
            "mine",
            &[&german],
            vec!["stance"],
            Some("nothing"),
            &topics[..1],
        )
        .unwrap();
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
