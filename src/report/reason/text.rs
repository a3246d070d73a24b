//! The sentence about a text: "1st: re-ranked, mostly by how well it is written and by the topic's terms in it (felon, vote)."

use riposte_eval::explained::ExplainedText;
use riposte_eval::{Explanation, NumberId};

use super::super::words::{joined, ordinal};
use crate::index::search::explain::{LENGTH, PROXIMITY, TERM, TERMS};
use crate::recipes::rerankers;
use crate::recipes::rerankers::windowed::SentenceCosine;
use crate::runs::service::SERVICE;
use crate::score::CHANNEL;
use crate::score::object_stance::OBJECT_STANCE;
use crate::score::rerank::RETRIEVAL;
use crate::score::reranker::Reranker;
use crate::score::text_stance::BALANCE;
use crate::texts::SEARCH;
use crate::texts::dense::DENSE;
use crate::texts::rerank::{BASE, COMPARED, NEAR_DUPLICATE, RERANKED};

/// The second part of a score is named if it adds at least this share of what the first one adds.
const ALSO: f64 = 0.5;

/// The maximum number of terms that are named.
const NAMED: usize = 3;

/// A stance of at least this much towards a topic, as P(pro) - P(con), is named.
const TAKES_A_SIDE: f64 = 0.25;

/// Why the text has its rank; `None` if the numbers have no ids. `objects` are the objects of a comparative question.
pub(crate) fn sentence(text: &ExplainedText, objects: Option<&[String; 2]>) -> Option<String> {
    let score = &text.score;
    score.id()?;
    let base_words = score.parts().iter().find_map(base).map(str::to_owned);
    let mut clauses = Vec::from_iter(base_words);
    let mut parts: Vec<&Explanation> = score.parts().iter().collect();
    parts.retain(|part| part.value() > 0.0 && base(part).is_none());
    parts.sort_by(|a, b| b.value().total_cmp(&a.value()));
    if let Some(terms) = terms(score) {
        clauses.push(format!("found by the topic's terms in it ({terms})"));
    } else if let Some(first) = parts.first() {
        let named = parts.iter().take(2);
        let named = named.filter(|part| part.value() >= ALSO * first.value());
        let named: Vec<String> = named.map(|part| format!("by {}", in_words(part))).collect();
        clauses.push(format!("mostly {}", joined(&named)));
    } else {
        clauses.push(format!("by {}", in_words(score)));
    }
    let stance = text.stance.as_ref();
    let stance = stance.and_then(|stance| side(stance, objects));
    let stance = stance.map_or_else(String::new, |stance| format!("; {stance}"));
    let (rank, clauses) = (ordinal(text.rank), clauses.join(", "));
    Some(format!("{rank}: {clauses}{stance}."))
}

/// What the base of the score says, if this part is it.
fn base(part: &Explanation) -> Option<&'static str> {
    let base = part.id().filter(|id| id.kind() == BASE)?;
    match base.text()? {
        NEAR_DUPLICATE => Some(
            "says nearly the same as a text before it, so it comes after the other re-ranked texts",
        ),
        COMPARED => Some("compared with the other first texts in pairs"),
        RERANKED => Some("re-ranked"),
        _ => None,
    }
}

/// The terms that add most to a score, if it is a sum over terms.
fn terms(score: &Explanation) -> Option<String> {
    let mut terms: Vec<(&str, f64)> = Vec::new();
    for part in score.parts().iter().filter(|part| part.value() > 0.0) {
        let id = part.id()?;
        match id.kind() {
            TERM => terms.push((id.parameter()["term"].as_str()?, part.value())),
            LENGTH => {}
            _ => return None,
        }
    }
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut names: Vec<&str> = Vec::new();
    for (term, _) in terms {
        if !names.contains(&term) {
            names.push(term);
        }
    }
    names.truncate(NAMED);
    (!names.is_empty()).then(|| names.join(", "))
}

/// A part of a score, for readers.
fn in_words(part: &Explanation) -> String {
    let id = part.id();
    let text = id.and_then(NumberId::text).unwrap_or_default();
    let known = match id.map_or("", NumberId::kind) {
        TERMS => Some(terms_of(part)),
        CHANNEL if text == RETRIEVAL => Some(terms_of(part)),
        CHANNEL => match words(text) {
            [_, ""] => Some(format!("its {text}")),
            [_, words] => Some(words.to_owned()),
        },
        PROXIMITY => Some("terms of the topic that are close together".to_owned()),
        DENSE => Some(SentenceCosine.words()[1].to_owned()),
        SERVICE => Some("the service's own score".to_owned()),
        SEARCH => id.and_then(of_search),
        _ => None,
    };
    known.unwrap_or_else(|| format!("its {}", part.name()))
}

/// A search of a fusion, for readers.
fn of_search(search: &NumberId) -> Option<String> {
    let of = |key| search.parameter()[key].as_f64();
    let rank = of("rank").map_or_else(String::new, |rank| format!(", rank {rank}"));
    Some(format!(
        "search {} (weight {}{rank})",
        of("number")?,
        of("weight")?
    ))
}

/// How the re-ranker with this name names its value; empty for other names.
fn words(reranker: &str) -> [&'static str; 2] {
    rerankers::find(reranker).map_or(["", ""], Reranker::words)
}

/// The terms of a search, for readers.
fn terms_of(search: &Explanation) -> String {
    let first = search.parts().first();
    match first.and_then(terms).or_else(|| terms(search)) {
        Some(terms) => format!("the topic's terms in it ({terms})"),
        None => "the search for the topic".into(),
    }
}

/// The meaning of a part's name, beside its bar; empty for other parts.
pub(crate) fn meaning(id: &NumberId) -> &'static str {
    match id.kind() {
        CHANNEL => words(id.text().unwrap_or_default())[0],
        DENSE => SentenceCosine.words()[0],
        _ => "",
    }
}

/// The stance of the text, if it takes one.
fn side(stance: &Explanation, objects: Option<&[String; 2]>) -> Option<String> {
    let id = stance.id()?;
    match (id.kind(), id.text()) {
        (BALANCE, _) => match stance.value() {
            value if value >= TAKES_A_SIDE => Some("it supports the topic's claim".into()),
            value if value <= -TAKES_A_SIDE => Some("it opposes the topic's claim".into()),
            _ => None,
        },
        (OBJECT_STANCE, Some("FIRST")) => Some(format!("it prefers {}", objects?[0])),
        (OBJECT_STANCE, Some("SECOND")) => Some(format!("it prefers {}", objects?[1])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::search::explain::{SCORE, of_term};
    use crate::texts::FUSION;
    use riposte_eval::{DocId, ObjectStance, TopicId};
    use serde_json::{Value, json};

    fn explained(rank: usize, score: Explanation) -> ExplainedText {
        ExplainedText {
            topic: TopicId("1".into()),
            document: DocId("a".into()),
            rank,
            score,
            stance: None,
            about: None,
        }
    }

    fn says(text: &ExplainedText) -> String {
        sentence(text, None).unwrap()
    }

    fn found() -> Explanation {
        let terms = [
            (Some("premises"), "be", 0.2),
            (Some("premises"), "vote", 0.8),
            (Some("premises"), "felon", 1.2),
            (Some("premises"), "who", 0.1),
            (Some("title"), "felon", 0.3),
        ];
        let terms = terms.map(|(field, word, value)| of_term(field, word, value));
        Explanation::sum(SCORE, terms.into())
    }

    #[test]
    fn a_search_is_explained_by_its_heaviest_terms() {
        assert_eq!(
            says(&explained(22, found())),
            "22nd: found by the topic's terms in it (felon, vote, be)."
        );
        // terms whose fields are scored as one, and a word that is also the name of a number
        let terms = vec![
            of_term(None, "length", 2.0),
            of_term(None, "hair", 1.0),
            Explanation::new((LENGTH, vec!["body"]), 0.5),
        ];
        assert_eq!(
            says(&explained(2, Explanation::sum(SCORE, terms))),
            "2nd: found by the topic's terms in it (length, hair)."
        );
    }

    #[test]
    fn a_re_ranked_text_is_explained_by_what_counted_most() {
        let channel = |name: &'static str, value| Explanation::new((CHANNEL, name), value);
        let score = |base: &str| {
            let parts = vec![
                Explanation::new((BASE, base), 2.0),
                channel("retrieval", 0.25).with_parts(vec![found()]),
                channel("sentence", 0.1),
                channel("quality", 0.3),
            ];
            Explanation::sum(SCORE, parts)
        };
        let mut text = explained(1, score(RERANKED));
        let objects = ["coffee", "tea"].map(str::to_owned);
        assert_eq!(
            says(&text),
            "1st: re-ranked, mostly by how well it is written and by the topic's terms in it (felon, vote, be)."
        );
        let object = |of: ObjectStance| NumberId::from((OBJECT_STANCE, of.word()));
        for (id, value, says) in [
            (BALANCE.into(), -0.6, "; it opposes the topic's claim."),
            (BALANCE.into(), 0.1, "(felon, vote, be)."),
            (object(ObjectStance::Second), 0.4, "; it prefers tea."),
            (object(ObjectStance::Neutral), 0.4, "(felon, vote, be)."),
        ] {
            text.stance = Some(Explanation::new(id, value));
            let found = sentence(&text, Some(&objects)).unwrap();
            assert!(found.ends_with(says), "{found}");
        }
        let behind = says(&explained(50, score(NEAR_DUPLICATE)));
        assert!(
            behind.starts_with("50th: says nearly the same as a text before it"),
            "{behind}"
        );
    }

    #[test]
    fn other_scores_are_named() {
        let search = |of: Value, value| Explanation::new((SEARCH, of), value);
        let parts = vec![
            search(json!({"number": 1, "weight": 1.0}), 0.0),
            search(json!({"number": 2, "weight": 1.0, "rank": 3}), 0.4),
        ];
        let fused = Explanation::sum(FUSION, parts);
        assert_eq!(
            says(&explained(3, fused)),
            "3rd: mostly by search 2 (weight 1, rank 3)."
        );
        assert_eq!(
            says(&explained(4, Explanation::new(DENSE, 0.5))),
            "4th: by its likeness to the topic in meaning."
        );
    }

    #[test]
    fn numbers_without_ids_give_no_sentence() {
        let old = r#"{"name":"dense","value":0.5}"#;
        let text = explained(1, serde_json::from_str(old).unwrap());
        assert_eq!(sentence(&text, None), None);
    }
}
