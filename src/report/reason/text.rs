//! The sentence about a text: "1st: re-ranked, mostly by how well it is written and by the topic's terms in it (felon, vote)."

use super::super::words::{joined, ordinal};
use crate::trec::Explanation;
use crate::trec::explained::ExplainedText;

/// The second part of a score is named if it adds at least this share of what the first one adds.
const ALSO: f64 = 0.5;

/// The maximum number of terms that are named.
const TERMS: usize = 3;

/// A stance of at least this much towards a topic, as P(pro) - P(con), is named.
const TAKES_A_SIDE: f64 = 0.25;

/// Why the text has its rank. `objects` are the objects of a comparative question.
pub(crate) fn sentence(text: &ExplainedText, objects: Option<&[String; 2]>) -> String {
    let score = &text.score;
    let mut clauses = Vec::new();
    let bases = score.parts.iter().filter(|part| is_base(part));
    clauses.extend(bases.map(|base| base_in_words(base, score)).next());
    let mut parts: Vec<&Explanation> = score
        .parts
        .iter()
        .filter(|part| part.value > 0.0 && !is_base(part))
        .collect();
    parts.sort_by(|a, b| b.value.total_cmp(&a.value));
    let terms = terms(score);
    if let Some(terms) = &terms {
        clauses.push(format!("found by the topic's terms in it ({terms})"));
    } else if let Some(first) = parts.first() {
        let named = parts.iter().take(2);
        let named = named.filter(|part| part.value >= ALSO * first.value);
        let named: Vec<String> = named.map(|part| format!("by {}", in_words(part))).collect();
        clauses.push(format!("mostly {}", joined(&named)));
    } else {
        clauses.push(format!("by {}", in_words(score)));
    }
    let stance = text.stance.as_ref();
    let stance = stance.and_then(|stance| side(stance, objects));
    let stance = stance.map_or_else(String::new, |stance| format!("; {stance}"));
    format!("{}: {}{stance}.", ordinal(text.rank), clauses.join(", "))
}

/// Whether the part is the base that places re-ranked documents above all others.
fn is_base(part: &Explanation) -> bool {
    part.name.starts_with("base of ")
}

fn base_in_words(base: &Explanation, score: &Explanation) -> String {
    if score.how.contains("near-duplicates") {
        "says nearly the same as a text before it, so it comes after the other re-ranked texts"
            .into()
    } else if base.name.contains("compared") {
        "compared with the other first texts in pairs".into()
    } else {
        "re-ranked".into()
    }
}

/// The terms that add most to a score of terms; `None` for other scores. Their names are "field: term".
fn terms(score: &Explanation) -> Option<String> {
    let mut terms: Vec<(&str, f64)> = score
        .parts
        .iter()
        .filter(|part| part.value > 0.0)
        .map(|part| Some((part.name.split_once(": ")?.1, part.value)))
        .collect::<Option<_>>()?;
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut names: Vec<&str> = Vec::new();
    for (term, _) in terms {
        if term != "length" && !names.contains(&term) {
            names.push(term);
        }
    }
    names.truncate(TERMS);
    (!names.is_empty()).then(|| names.join(", "))
}

/// A part of a score, for readers.
fn in_words(part: &Explanation) -> String {
    match part.name.as_str() {
        "retrieval" | "terms" => match part.parts.first().and_then(terms).or_else(|| terms(part)) {
            Some(terms) => format!("the topic's terms in it ({terms})"),
            None => "the search for the topic".into(),
        },
        "pairs of near terms" => "terms of the topic that are close together".into(),
        "sentence" | "dense" => "its likeness to the topic in meaning".into(),
        "cross" => "how relevant the cross-encoder finds it".into(),
        "quality" | "svr-quality" => "how well it is written".into(),
        "comparison" => "how much it compares".into(),
        "side" => "the side that it takes".into(),
        "relevance" => "how relevant the pair encoder finds it".into(),
        "chatnoir" => "the service's own score".into(),
        name if name.starts_with("search ") => {
            format!("{name} ({})", part.how.trim_end_matches(" and this score"))
        }
        name => format!("its {name}"),
    }
}

/// The meaning of a part's name, beside its bar; empty for other parts.
pub(crate) fn meaning(name: &str) -> &'static str {
    match name {
        "retrieval" => "the topic's terms",
        "sentence" | "dense" => "likeness in meaning",
        "cross" => "by the cross-encoder",
        "quality" | "svr-quality" => "how well it is written",
        "comparison" => "comparing words",
        "side" => "whether it takes a side",
        "relevance" => "by the pair encoder",
        "adjectives" => "share of adjectives",
        "sentiment" => "strength of sentiment",
        "cluster" => "topic near its cluster",
        "argument-bm25" => "terms in arguing sentences",
        "argument-share" => "share of arguing sentences",
        "argument-cosine" => "arguing sentences in meaning",
        "trees-small" | "trees-medium" => "by decision trees",
        _ => "",
    }
}

/// The stance of the text, if it takes one.
fn side(stance: &Explanation, objects: Option<&[String; 2]>) -> Option<String> {
    if stance.name == "stance towards the topic" {
        return match stance.value {
            value if value >= TAKES_A_SIDE => Some("it supports the topic's claim".into()),
            value if value <= -TAKES_A_SIDE => Some("it opposes the topic's claim".into()),
            _ => None,
        };
    }
    match stance.name.strip_prefix("stance ")? {
        "FIRST" => Some(format!("it prefers {}", objects?[0])),
        "SECOND" => Some(format!("it prefers {}", objects?[1])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trec::{DocId, TopicId};

    fn of(name: &str, value: f64, parts: Vec<Explanation>) -> Explanation {
        Explanation {
            parts,
            ..Explanation::leaf(name, value)
        }
    }

    fn explained(rank: usize, score: Explanation) -> ExplainedText {
        ExplainedText {
            topic: TopicId("1".into()),
            document: DocId("a".into()),
            rank,
            score,
            stance: None,
        }
    }

    fn found() -> Explanation {
        let term = |name: &str, value| Explanation::leaf(name, value);
        let terms = [
            ("premises: be", 0.2),
            ("premises: vote", 0.8),
            ("premises: felon", 1.2),
            ("premises: who", 0.1),
            ("title: felon", 0.3),
        ];
        of(
            "score",
            2.6,
            terms.map(|(name, value)| term(name, value)).into(),
        )
    }

    #[test]
    fn a_search_is_explained_by_its_heaviest_terms() {
        assert_eq!(
            sentence(&explained(22, found()), None),
            "22nd: found by the topic's terms in it (felon, vote, be)."
        );
    }

    #[test]
    fn a_re_ranked_text_is_explained_by_what_counted_most() {
        let leaf = |name: &str, value| Explanation::leaf(name, value);
        let score = |how: &str| Explanation {
            how: how.into(),
            ..of(
                "score",
                2.8,
                vec![
                    leaf("base of re-ranked documents", 2.0),
                    of("retrieval", 0.25, vec![found()]),
                    leaf("sentence", 0.1),
                    leaf("quality", 0.3),
                ],
            )
        };
        let mut text = explained(1, score("sum"));
        let objects = ["coffee", "tea"].map(str::to_owned);
        assert_eq!(
            sentence(&text, None),
            "1st: re-ranked, mostly by how well it is written and by the topic's terms in it (felon, vote, be)."
        );
        for (name, value, says) in [
            (
                "stance towards the topic",
                -0.6,
                "; it opposes the topic's claim.",
            ),
            ("stance towards the topic", 0.1, "(felon, vote, be)."),
            ("stance SECOND", 0.4, "; it prefers tea."),
            ("stance NEUTRAL", 0.4, "(felon, vote, be)."),
        ] {
            text.stance = Some(leaf(name, value));
            let found = sentence(&text, Some(&objects));
            assert!(found.ends_with(says), "{found}");
        }
        let behind = explained(
            50,
            score("sum; the base of near-duplicates is 1 instead of 2"),
        );
        let says = sentence(&behind, None);
        assert!(
            says.starts_with("50th: says nearly the same as a text before it"),
            "{says}"
        );
    }

    #[test]
    fn other_scores_are_named() {
        let fused = of(
            "fusion",
            0.5,
            vec![
                Explanation::leaf("search 1", 0.1),
                Explanation {
                    how: "weight 1, rank 3 and this score".into(),
                    ..Explanation::leaf("search 2", 0.4)
                },
            ],
        );
        assert_eq!(
            sentence(&explained(3, fused), None),
            "3rd: mostly by search 2 (weight 1, rank 3)."
        );
        assert_eq!(
            sentence(&explained(4, Explanation::leaf("dense", 0.5)), None),
            "4th: by its likeness to the topic in meaning."
        );
    }
}
