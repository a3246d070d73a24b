//! The sentence about an image: "PRO 3: on topic by the text in it and its page's title; the words around it support the claim."

use riposte_eval::explained::ExplainedImage;
use riposte_eval::{Explanation, NumberId, Stance};
use riposte_page::words::three_decimals;

use super::super::words::{joined, ordinal};
use crate::images::opinions::LIKELIEST_STANCE;
use crate::images::texts::ON_TOPIC;
use crate::recipes::channels::SignalKey;
use crate::score::select::LIST_LENGTH;
use crate::score::side::{BOTH_SIDES, SIDE};
use crate::score::stance::{self, PROBABILITY, SIGNAL, StanceSource, decided};
use crate::score::{self, CHANNEL};

/// A source is named beside the first one if it adds at least this share of what the first one adds.
const ALSO: f64 = 0.5;

/// Below this share of the highest relevance of its topic, an image is only loosely on topic, and below the second share hardly.
const LOOSELY: f64 = 0.5;
const HARDLY: f64 = 0.25;

/// Evidence of at least this many log-odds "supports" or "opposes" a claim, if the image is not undecided; less evidence only "leans".
const CLEAR: f64 = 0.4;

/// Facts about all candidates of a topic, from their explanations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CandidateFacts {
    highest_relevance: f64,
    count: usize,
    lists: [List; 2],
}

/// A list, as its images are explained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct List {
    length: usize,
    last_score: f64,
}

impl List {
    fn is_full(self) -> bool {
        self.length >= LIST_LENGTH
    }
}

impl CandidateFacts {
    pub fn new<'a>(candidates: impl Iterator<Item = &'a ExplainedImage>) -> CandidateFacts {
        let mut of_topic = CandidateFacts::default();
        for image in candidates {
            of_topic.count += 1;
            let relevance = score::relevance(image).map_or(0.0, Explanation::value);
            of_topic.highest_relevance = of_topic.highest_relevance.max(relevance);
            for entry in &image.listed {
                let list = &mut of_topic.lists[entry.stance as usize];
                if list.length == 0 || entry.score < list.last_score {
                    list.last_score = entry.score;
                }
                list.length += 1;
            }
        }
        of_topic
    }
}

/// Why the image is in its list, or in none; `None` if the numbers have no ids. `by_relevance` is its rank among the candidates. `original` is the
/// image of which it is a copy.
pub(crate) fn sentence(
    image: &ExplainedImage,
    candidates: &CandidateFacts,
    by_relevance: usize,
    original: Option<&ExplainedImage>,
) -> Option<String> {
    if let Some(copied) = &image.copy_of
        && image.listed.is_empty()
    {
        let place = original.map(place).filter(|place| !place.is_empty());
        let place = place.unwrap_or_else(|| "not listed either".to_owned());
        return Some(format!("Not listed: a copy of {copied}, which is {place}."));
    }
    if !image.has_ids() {
        return None;
    }
    let head = match place(image) {
        place if place.is_empty() => "Not listed".to_owned(),
        place => place,
    };
    let stance = match image.listed.first() {
        Some(entry) => Some(opinion(image, candidates, entry.stance)),
        None => unlisted(image, candidates),
    };
    let clauses = [topicality(image, candidates, by_relevance), stance];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    Some(format!("{head}: {}.", clauses.join("; ")))
}

/// The lists and ranks of an image: "PRO 3 and CON 7".
fn place(image: &ExplainedImage) -> String {
    let places = image.listed.iter();
    let places = places.map(|entry| format!("{} {}", entry.stance, entry.rank));
    joined(&places.collect::<Vec<_>>())
}

/// What was compared with the topic to compute this part of the relevance; `None` for other numbers.
fn source_of_relevance(id: &NumberId) -> Option<&'static str> {
    match id.kind() {
        CHANNEL => Some(SignalKey::find(id.text()?)?.signal().need.source().0),
        ON_TOPIC => Some("what the stance encoder reads"),
        _ => None,
    }
}

/// Adds the values of the parts, at any depth, to the sums of their sources.
fn add_sources<S: Copy + PartialEq>(
    parts: &[Explanation],
    source: fn(&NumberId) -> Option<S>,
    sums: &mut Vec<(S, f64)>,
) {
    for part in parts {
        let Some(source_of_part) = part.id().and_then(source) else {
            add_sources(part.parts(), source, sums);
            continue;
        };
        match sums.iter_mut().find(|(of, _)| *of == source_of_part) {
            Some((_, sum)) => *sum += part.value(),
            None => sums.push((source_of_part, part.value())),
        }
    }
}

/// The sources of an explanation with the sums of their values, the largest first.
fn sources<S: Copy + PartialEq>(
    of: &Explanation,
    source: fn(&NumberId) -> Option<S>,
) -> Vec<(S, f64)> {
    let mut sums = Vec::new();
    add_sources(of.parts(), source, &mut sums);
    sums.retain(|(_, sum)| *sum != 0.0);
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums
}

/// The first source, and the second if it adds nearly as much.
fn strongest(sources: &[(&'static str, f64)]) -> String {
    let first = sources.first().map_or(0.0, |(_, sum)| *sum);
    let named = sources.iter().enumerate();
    let named = named.filter(|(at, (_, sum))| *at == 0 || (*at == 1 && *sum >= ALSO * first));
    joined(&named.map(|(_, (name, _))| *name).collect::<Vec<_>>())
}

/// Whether it is on topic, and by which sources.
fn topicality(
    image: &ExplainedImage,
    candidates: &CandidateFacts,
    by_relevance: usize,
) -> Option<String> {
    let relevance = score::relevance(image)?;
    let sources = sources(relevance, source_of_relevance);
    let (rank, of) = (ordinal(by_relevance), candidates.count);
    let rank = format!("{rank} of {of} by relevance");
    if sources.is_empty() {
        return Some(format!("nothing about it is close to the topic ({rank})"));
    }
    let by = strongest(&sources);
    // logarithms of probabilities are negative, and have no share
    let has_share = candidates.highest_relevance > 0.0;
    let share = relevance.value() / candidates.highest_relevance;
    Some(match share {
        share if has_share && share < HARDLY => format!("hardly on topic ({rank}), mostly by {by}"),
        share if has_share && share < LOOSELY => {
            format!("loosely on topic ({rank}), mostly by {by}")
        }
        _ => format!("on topic by {by}"),
    })
}

/// The part of a score that is about stance. A score without other parts is about stance itself.
fn stance_part(score: &Explanation) -> &Explanation {
    let is_of_stance = |part: &&Explanation| {
        matches!(
            part.id().map(NumberId::kind),
            Some(PROBABILITY | SIDE | BOTH_SIDES | LIKELIEST_STANCE)
        )
    };
    score.parts().iter().find(is_of_stance).unwrap_or(score)
}

/// The text or picture from which a signal of the stance was read; `None` for other numbers.
fn source_of_stance(id: &NumberId) -> Option<StanceSource> {
    match id.kind() {
        SIGNAL => stance::source(id.text()?),
        _ => None,
    }
}

/// What a source does for the list: "the words around it support the claim".
fn does(source: StanceSource, is_clear: bool, stance: Stance) -> String {
    let StanceSource { words, is_plural } = source;
    let (verb, rest) = match (is_clear, stance) {
        (true, Stance::Pro) => ("support", ""),
        (true, Stance::Con) => ("oppose", ""),
        (false, Stance::Pro) => ("lean", " towards"),
        (false, Stance::Con) => ("lean", " against"),
    };
    let ending = if is_plural { "" } else { "s" };
    format!("{words} {verb}{ending}{rest} the claim")
}

/// Why it is in the list of that stance.
fn opinion(image: &ExplainedImage, candidates: &CandidateFacts, stance: Stance) -> String {
    let Some(score) = image.score(stance) else {
        return "its score is not explained".into();
    };
    let part = stance_part(score);
    match (part.id().map(NumberId::kind), part.how()) {
        (Some(PROBABILITY), _) => {}
        (Some(BOTH_SIDES), _) => return "no stance is estimated".into(),
        (Some(LIKELIEST_STANCE), _) => {
            return format!("{stance} is the likeliest stance of its texts");
        }
        (_, "") => return format!("put here by the {}", part.name()),
        (_, how) => return format!("put here by the {} ({how})", part.name()),
    }
    let other = stance.opposite();
    let is_in_both = image.listed.iter().any(|entry| entry.stance == other);
    let scores_higher_there = image
        .score(other)
        .is_some_and(|there| there.value() > score.value() && !is_in_both);
    let displaced = match (
        scores_higher_there,
        candidates.lists[other as usize].is_full(),
    ) {
        (false, _) => String::new(),
        (true, true) => format!("{other} was full, and "),
        (true, false) => format!("{stance} had no other, and "),
    };
    let is_decided = decided(|stance| stance::probability(image, stance), stance).is_some();
    let undecided = match is_decided {
        true => "",
        false => "; too little to say which side it takes",
    };
    let sources = sources(part, source_of_stance);
    let Some((source, sum)) = sources.first().filter(|(_, sum)| *sum > 0.0) else {
        let takes = match stance {
            Stance::Pro => "supports",
            Stance::Con => "opposes",
        };
        return format!("{displaced}nothing about it {takes} the claim{undecided}");
    };
    let claim = does(*source, is_decided && *sum >= CLEAR, stance);
    let doubt = doubt(&sources, *sum).unwrap_or_default();
    format!("{displaced}{claim}{doubt}{undecided}")
}

/// Says that the last source contradicts the first one, if it takes away at least [`ALSO`] of what the first one adds (`sum`).
fn doubt(sources: &[(StanceSource, f64)], sum: f64) -> Option<String> {
    let (StanceSource { words, is_plural }, value) = sources.last()?;
    let lost = -value;
    if lost <= 0.0 || lost < ALSO * sum {
        return None;
    }
    let ending = if *is_plural { "" } else { "s" };
    let (verb, way) = match lost >= CLEAR {
        true => ("say", "the opposite"),
        false => ("lean", "the other way"),
    };
    Some(format!(", though {words} {verb}{ending} {way}"))
}

/// Why it is in no list: its better score is below the last of that list.
fn unlisted(image: &ExplainedImage, candidates: &CandidateFacts) -> Option<String> {
    let scores = Stance::BOTH.into_iter();
    let scores = scores.filter_map(|stance| Some((stance, image.score(stance)?.value())));
    let Some((stance, score)) = scores.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Some("it is estimated to take neither side".into());
    };
    let list = candidates.lists[stance as usize];
    (list.is_full() && score <= list.last_score).then(|| {
        format!(
            "its score as {stance}, {}, is below {}, the lowest in that list",
            three_decimals(score),
            three_decimals(list.last_score)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::lists::CRAWL_RANK;
    use crate::index::search::explain::SCORE;
    use crate::score::argument::ARGUES;
    use crate::score::{PRIOR, RELEVANCE, logistic};
    use riposte_eval::explained::ListEntry;
    use riposte_eval::{DocId, TopicId};

    /// A candidate with these channels of relevance and these signals for PRO. The signals for CON are their opposites.
    fn image(
        place: Option<(Stance, u32)>,
        scores: [f64; 2],
        channels: &[(&'static str, f64)],
        signals: &[(&'static str, f64)],
    ) -> ExplainedImage {
        let channels = channels.iter();
        let channels = channels.map(|(name, value)| Explanation::new((CHANNEL, *name), *value));
        let relevance = Explanation::sum(RELEVANCE, channels.collect());
        let evidence: f64 = signals.iter().map(|(_, value)| value).sum();
        let score = |stance: Stance, sign: f64| {
            let mut parts = vec![Explanation::new(PRIOR, sign)];
            parts.extend(
                signals
                    .iter()
                    .map(|(name, value)| Explanation::new((SIGNAL, *name), sign * value)),
            );
            let parts = vec![
                relevance.clone(),
                Explanation::new(ARGUES, 0.5),
                Explanation::new((PROBABILITY, stance.word()), logistic(sign * evidence))
                    .with_parts(parts),
            ];
            Some(Explanation::new(SCORE, scores[stance as usize]).with_parts(parts))
        };
        let listed = place.map(|(stance, rank)| ListEntry {
            stance,
            rank,
            score: scores[stance as usize],
        });
        ExplainedImage {
            topic: TopicId("1".into()),
            image: DocId("I1".into()),
            listed: listed.into_iter().collect(),
            copy_of: None,
            pro: score(Stance::Pro, 1.0),
            con: score(Stance::Con, -1.0),
            about: None,
        }
    }

    /// A topic whose most relevant image has a relevance of 0.6, and whose lists are full or not and end at these scores.
    fn candidates(lists: [(usize, f64); 2]) -> CandidateFacts {
        CandidateFacts {
            highest_relevance: 0.6,
            count: 25,
            lists: lists.map(|(length, last_score)| List { length, last_score }),
        }
    }

    fn says(
        image: &ExplainedImage,
        candidates: &CandidateFacts,
        by_relevance: usize,
        original: Option<&ExplainedImage>,
    ) -> String {
        sentence(image, candidates, by_relevance, original).unwrap()
    }

    const FULL: [(usize, f64); 2] = [(10, 0.7), (10, 0.4)];

    #[test]
    fn the_first_sentence_names_what_counts_most() {
        let image = image(
            Some((Stance::Pro, 3)),
            [0.9, 0.6],
            &[
                ("sentence ocr", 0.2),
                ("bm25 ocr", 0.1),
                ("sentence title", 0.25),
                ("bm25 near", 0.02),
                ("clip topic", 0.0),
            ],
            &[
                ("words around the picture", 0.5),
                ("likeness of the words around to arguments", 0.2),
                ("text in the picture", 0.1),
            ],
        );
        assert_eq!(
            says(&image, &candidates(FULL), 2, None),
            "PRO 3: on topic by the text in it and its page's title; the words around it support the claim."
        );
    }

    #[test]
    fn an_image_that_had_no_room_in_its_better_list_says_so() {
        let image = image(
            Some((Stance::Con, 1)),
            [0.9, 0.6],
            &[("bm25 title", 0.5)],
            &[("words around the picture", -0.3)],
        );
        assert_eq!(
            says(&image, &candidates(FULL), 2, None),
            "CON 1: on topic by its page's title; PRO was full, and the words around it lean against the claim; too little to say which side it takes."
        );
        assert_eq!(
            says(&image, &candidates([(3, 0.7), (1, 0.6)]), 2, None),
            "CON 1: on topic by its page's title; CON had no other, and the words around it lean against the claim; too little to say which side it takes."
        );
    }

    #[test]
    fn doubts_are_named() {
        let of = |channels: &[(&'static str, f64)], signals: &[(&'static str, f64)]| {
            let image = image(Some((Stance::Pro, 8)), [0.9, 0.6], channels, signals);
            says(&image, &candidates(FULL), 23, None)
        };
        assert_eq!(
            of(
                &[("clip topic", 0.2)],
                &[("text in the picture", 1.2), ("CLIP's prompts", -0.6)]
            ),
            "PRO 8: loosely on topic (23rd of 25 by relevance), mostly by what it shows; the text in it supports the claim, though what \
             it shows says the opposite."
        );
        assert_eq!(
            of(
                &[("arguments", 0.1)],
                &[("text in the picture", 1.2), ("CLIP's prompts", -0.3)]
            ),
            "PRO 8: hardly on topic (23rd of 25 by relevance), mostly by its likeness to arguments; the text in it supports the claim."
        );
        assert_eq!(
            of(&[("clip topic", 0.2)], &[("text in the picture", 0.45)]),
            "PRO 8: loosely on topic (23rd of 25 by relevance), mostly by what it shows; the text in it leans towards the claim; too \
             little to say which side it takes."
        );
        assert_eq!(
            of(&[("bm25 near", 0.0)], &[]),
            "PRO 8: nothing about it is close to the topic (23rd of 25 by relevance); nothing about it supports the claim; too little \
             to say which side it takes."
        );
    }

    #[test]
    fn an_image_in_no_list_says_what_it_lacked_or_whose_copy_it_is() {
        let mut left_out = image(None, [0.65, 0.3], &[("bm25 ocr", 0.5)], &[]);
        assert_eq!(
            says(&left_out, &candidates(FULL), 12, None),
            "Not listed: on topic by the text in it; its score as PRO, 0.650, is below 0.700, the lowest in that list."
        );
        left_out.copy_of = Some(DocId("I2".into()));
        let listed = image(Some((Stance::Con, 4)), [0.9, 0.6], &[], &[]);
        assert_eq!(
            says(&left_out, &candidates(FULL), 12, Some(&listed)),
            "Not listed: a copy of I2, which is CON 4."
        );
        assert_eq!(
            says(&left_out, &candidates(FULL), 12, None),
            "Not listed: a copy of I2, which is not listed either."
        );
        let neither = ExplainedImage {
            copy_of: None,
            pro: None,
            con: None,
            ..left_out
        };
        assert_eq!(
            says(&neither, &candidates(FULL), 12, None),
            "Not listed: it is estimated to take neither side."
        );
    }

    #[test]
    fn approaches_of_others_are_named_by_their_own_words() {
        let mut found = image(
            Some((Stance::Pro, 2)),
            [0.9, 0.6],
            &[("bm25 main", 0.5)],
            &[],
        );
        let mut with = |stance: Explanation| {
            let relevance = score::relevance(&found).unwrap().clone();
            let score = Explanation::sum(SCORE, vec![relevance, stance]);
            found.pro = Some(score);
            says(&found, &candidates(FULL), 1, None)
        };
        let sign = Explanation::new(SIDE, 0.0);
        assert_eq!(
            with(sign.named("sign of AFINN over the page").with_how("3.0000")),
            "PRO 2: on topic by the text of its page; put here by the sign of AFINN over the page (3.0000)."
        );
        assert_eq!(
            with(Explanation::new(BOTH_SIDES, 0.0)),
            "PRO 2: on topic by the text of its page; no stance is estimated."
        );
        let negative = image(
            Some((Stance::Con, 2)),
            [0.9, 0.6],
            &[("dirichlet main", -3.0)],
            &[],
        );
        let of_topic = CandidateFacts {
            highest_relevance: 0.0,
            ..candidates(FULL)
        };
        let found_says = says(&negative, &of_topic, 1, None);
        assert!(
            found_says.starts_with("CON 2: on topic by the text of its page;"),
            "{found_says}"
        );
        let rank = Explanation::new(CRAWL_RANK, 0.98);
        found.pro = Some(rank.named("smallest crawl rank, of \"… good\""));
        assert_eq!(
            says(&found, &candidates(FULL), 1, None),
            "PRO 2: put here by the smallest crawl rank, of \"… good\"."
        );
    }

    #[test]
    fn numbers_without_ids_give_no_sentence_but_a_copy_names_its_original() {
        let score = r#"{"name":"score","value":0.5,"parts":[{"name":"relevance","value":0.5}]}"#;
        let mut old = ExplainedImage {
            pro: Some(serde_json::from_str(score).unwrap()),
            ..image(Some((Stance::Pro, 2)), [0.9, 0.6], &[], &[])
        };
        assert_eq!(sentence(&old, &candidates(FULL), 1, None), None);
        (old.listed, old.copy_of) = (Vec::new(), Some(DocId("I2".into())));
        assert_eq!(
            says(&old, &candidates(FULL), 1, None),
            "Not listed: a copy of I2, which is not listed either."
        );
    }

    #[test]
    fn what_is_common_to_the_candidates_is_read_from_their_explanations() {
        let first = image(
            Some((Stance::Pro, 1)),
            [0.9, 0.6],
            &[("bm25 ocr", 0.3)],
            &[],
        );
        let second = image(
            Some((Stance::Pro, 2)),
            [0.5, 0.6],
            &[("bm25 ocr", 0.4)],
            &[],
        );
        let third = image(None, [0.2, 0.1], &[("bm25 ocr", 0.1)], &[]);
        let expected = CandidateFacts {
            highest_relevance: 0.4,
            count: 3,
            lists: [
                List {
                    length: 2,
                    last_score: 0.5,
                },
                List::default(),
            ],
        };
        assert_eq!(
            CandidateFacts::new([&first, &second, &third].into_iter()),
            expected
        );
    }
}
