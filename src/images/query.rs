//! Changes the words of a topic, as the approach says, before they are searched for.

use anyhow::{Context, Result};

use crate::events::{Event, OnEvent};
use crate::index::wordnet::WordNet;
use crate::recipes::image_approach::{Lemmas, QueryRecipe};
use crate::topic::question::Question;

/// Changes the words of the questions as the recipe says. Without an installed WordNet, words keep their forms, and a note says so.
///
/// # Errors
/// The installed WordNet cannot be read.
pub(super) fn process(
    questions: &mut [Question],
    recipe: &QueryRecipe,
    on_event: &mut OnEvent,
) -> Result<()> {
    let wordnet = match (recipe.lemmas, WordNet::find()) {
        (None, _) => None,
        (Some(Lemmas::WordnetNouns), Some(dir)) => {
            let opened = WordNet::open(&dir);
            Some(opened.with_context(|| format!("cannot read WordNet in {}", dir.display()))?)
        }
        (Some(Lemmas::WordnetNouns), None) => {
            let off = "lemmas are off: WordNet is not installed (set WNSEARCHDIR to its directory)";
            on_event(Event::note(off));
            None
        }
    };
    for question in questions {
        question.words = processed(&question.words, recipe, wordnet.as_ref());
    }
    Ok(())
}

fn processed(words: &str, recipe: &QueryRecipe, wordnet: Option<&WordNet>) -> String {
    if recipe.delete.is_empty() && recipe.leave_out.is_empty() && recipe.lemmas.is_none() {
        return words.to_owned();
    }
    let words = words.replace(|c| recipe.delete.contains(c), "");
    let kept = words
        .split_whitespace()
        .filter(|word| !recipe.leave_out.contains(&word.to_lowercase()))
        .map(|word| wordnet.map_or_else(|| word.to_owned(), |wordnet| wordnet.noun(word)));
    kept.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::image_approach::ImageApproach;

    #[test]
    fn the_words_of_boromir_are_left_out_and_the_others_become_nouns() {
        let query = |name: &str, words: &str, wordnet: Option<&WordNet>| {
            let approach = ImageApproach::find(name).unwrap();
            processed(words, &approach.query, wordnet)
        };
        let title = "Should Cigarettes be taxed, or are cars the problem?";
        for name in ["boromir-query", "boromir-bert"] {
            assert_eq!(query(name, title, None), "Cigarettes taxed, cars problem");
        }
        assert_eq!(query("boromir-afinn", title, None), title);
        let dir = tempfile::tempdir().unwrap();
        for part in ["noun", "verb", "adj", "adv"] {
            let index = "car n 1 1 @ 1 0 00000000  \ncigarette n 1 1 @ 1 0 00000000  \n";
            std::fs::write(dir.path().join(format!("index.{part}")), index).unwrap();
            std::fs::write(dir.path().join(format!("data.{part}")), "").unwrap();
        }
        let wordnet = WordNet::open(dir.path()).unwrap();
        // a word with a capital is not in WordNet
        let found = query("boromir-bert", title, Some(&wordnet));
        assert_eq!(found, "Cigarettes taxed, car problem");
    }
}
