//! Scores the candidates of a topic and selects its two lists.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, bail};
use riposte_eval::explained::{ExplainedImage, ListEntry};
use riposte_eval::run::ImageRunLine;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation, Stance};

use super::embeddings::KindVector;
use super::opinions::{argument_scores, stance_scores};
use super::signals::CrawlRanks;
use super::texts::{PoolTexts, TextStances};
use super::{ImageRanking, ImageRankingSettings, POOL, TopicTask, rationale};
use crate::events::{Event, Note, NoteKind, OnEvent};
use crate::evidence::picture::PictureStatistics;
use crate::index::images::ImageEvidence;
use crate::index::search::explain::SCORE;
use crate::presence::{Judged, TopicProbabilities};
use crate::recipes::image_approach::{ListForm, ScoreRecipe, StanceRecipe};
use crate::score::mixture::{Scaling, mix};
use crate::score::picture_text::PictureWords;
use crate::score::select::{self, ImageCandidate, LIST_LENGTH, Selected, Selection};
use crate::score::side::Sides;
use crate::score::stance::{self, PROBABILITY};

/// The score by the smallest rank of an image in the crawl: (101 - rank) / 100.
pub(crate) const CRAWL_RANK: &str = "crawl-rank";

/// A candidate with the explanations of its scores.
pub(super) struct ScoredImage {
    id: DocId,
    phash: Option<u64>,
    /// The text in the picture; `None` if it was not read.
    text: Option<PictureWords>,
    sides: Sides,
    /// Why the image conveys a claim.
    rationale: Option<String>,
}

/// The scores of the baseline Minsc: each image that the crawl found for a query "… good" or "… anti" enters the list of the smaller rank.
/// `members` are the positions in `ids`, in ascending order, of the images that may be listed.
pub(super) fn crawl_scores(
    crawl: &CrawlRanks,
    topic: &Topic,
    ids: &[DocId],
    members: &[usize],
) -> Vec<ScoredImage> {
    let score = |ending: &str, rank: u32| {
        Explanation::new(CRAWL_RANK, (101.0 - f64::from(rank)) / 100.0)
            .named(format!("smallest crawl rank, of \"…{ending}\""))
            .with_how(format!("(101 - {rank}) / 100"))
    };
    crawl
        .best(&topic.id, &ENDINGS)
        .into_iter()
        .filter(|(at, _)| members.binary_search(at).is_ok())
        .filter_map(|(at, (rank, ending))| {
            let mut sides = [None, None];
            *sides.get_mut(ending)? = Some(score(ENDINGS.get(ending)?, rank));
            let [pro, con] = sides;
            Some(ScoredImage {
                id: ids.get(at)?.clone(),
                phash: None,
                text: None,
                sides: Sides { pro, con },
                rationale: None,
            })
        })
        .collect()
}

/// The endings of the crawl's queries for PRO and CON.
const ENDINGS: [&str; 2] = [" good", " anti"];

/// Scores the candidates for a topic. `texts` is `None` if the approach does not use the stance encoder.
pub(super) fn score_candidates(
    pool: Vec<(&ImageEvidence, Explanation)>,
    task: &TopicTask,
    kinds: &[KindVector],
    texts: Option<PoolTexts>,
    settings: &ImageRankingSettings,
) -> Vec<ScoredImage> {
    let TopicTask {
        question, vectors, ..
    } = task;
    let recipe = &settings.approach;
    let mut pool = pool;
    let mut stances = vec![TextStances::default(); pool.len()];
    if let Some(texts) = texts {
        let weight = recipe.relevance.reading;
        let read = |(at, (image, relevance))| (image, texts.relevance(at, relevance, weight));
        pool = (0..).zip(pool).map(read).collect();
        stances = texts.stances(question);
    }
    let arguments = argument_scores(&pool, kinds, &stances, recipe.argument);
    let stances = match task.is_foreign && recipe.form == ListForm::Stances {
        true => pool.iter().map(|_| Sides::both()).collect(),
        false => stance_scores(&pool, question, vectors, &stances, recipe),
    };
    let estimated: Vec<Estimated> = pool
        .iter()
        .zip(arguments)
        .zip(stances)
        .map(|(((_, relevance), argues), stances)| Estimated {
            relevance: relevance.clone(),
            argues,
            stances,
        })
        .collect();
    let lists = Stance::BOTH.map(|stance| match recipe.lists.score {
        ScoreRecipe::Product => (estimated.iter())
            .map(|image| Some(product(image, image.stances.of(stance)?.clone())))
            .collect(),
        ScoreRecipe::Stance => (estimated.iter())
            .map(|image| image.stances.of(stance).cloned())
            .collect(),
        ScoreRecipe::Mixture { topic, scaling } => mixtures(&estimated, stance, topic, scaling),
    });
    let [pro, mut con]: [Vec<Option<Explanation>>; 2] = lists;
    let is_claim = recipe.form == ListForm::Claims;
    if is_claim {
        con.fill(None);
    }
    let scored = pool.iter().zip(pro).zip(con);
    let scored = scored.map(|(((image, relevance), pro), con)| {
        let picture = image.evidence.get::<PictureStatistics>();
        let phash = picture.map(|p| p.phash);
        ScoredImage {
            id: image.evidence.id.clone(),
            phash: phash.filter(|_| !recipe.lists.duplicates),
            text: text_in(image),
            sides: Sides { pro, con },
            rationale: is_claim.then(|| rationale::of(image, relevance)),
        }
    });
    let mut scored: Vec<ScoredImage> = scored.collect();
    keep_best(&mut scored);
    scored
}

/// The text in an image's picture. It distinguishes copies from pictures that share a template and have other words.
fn text_in(image: &ImageEvidence) -> Option<PictureWords> {
    let picture = image.evidence.get::<PictureStatistics>()?;
    Some(PictureWords::new(image.ocr_lines()?, picture.width))
}

/// Keeps the candidates that are among the best of a list. Explanations of all images would be much larger than the run.
fn keep_best(scored: &mut Vec<ScoredImage>) {
    if scored.len() <= POOL {
        return;
    }
    let mut kept = HashSet::new();
    for stance in Stance::BOTH {
        let mut order: Vec<(f64, usize)> = (0..)
            .zip(scored.iter())
            .filter_map(|(at, image)| Some((image.sides.of(stance)?.value(), at)))
            .collect();
        order.sort_by(|(a, i), (b, j)| {
            (b.total_cmp(a)).then_with(|| scored[*i].id.cmp(&scored[*j].id))
        });
        kept.extend(order.into_iter().take(POOL).map(|(_, at)| at));
    }
    let mut at = 0..;
    scored.retain(|_| at.next().is_some_and(|at| kept.contains(&at)));
}

/// The estimates about a candidate. `argues` is `None` if the approach does not estimate argumentativeness.
struct Estimated {
    relevance: Explanation,
    argues: Option<Explanation>,
    stances: Sides,
}

/// The scores in one list by [`ScoreRecipe::Mixture`]; `None` for candidates of another stance.
fn mixtures(
    images: &[Estimated],
    stance: Stance,
    weight: f64,
    scaling: Scaling,
) -> Vec<Option<Explanation>> {
    let argues = |image: &Estimated| image.argues.as_ref().map_or(0.0, Explanation::value);
    let pairs: Vec<[f64; 2]> = images
        .iter()
        .filter(|image| image.stances.of(stance).is_some())
        .map(|image| [image.relevance.value(), argues(image)])
        .collect();
    let mut mixed = mix(&pairs, weight, scaling).into_iter();
    let scaled = |value: f64, raw: &Explanation| {
        let how = match scaling {
            Scaling::None => "not scaled".into(),
            Scaling::MinMax => format!("{:.4}, scaled within the list of {stance}", raw.value()),
        };
        raw.clone().revised(value, how)
    };
    images
        .iter()
        .map(|image| {
            let stance = image.stances.of(stance)?;
            let mixed = mixed.next()?;
            let mut parts = vec![scaled(mixed.scaled[0], &image.relevance)];
            let argues = image.argues.as_ref();
            parts.extend(argues.map(|argues| scaled(mixed.scaled[1], argues)));
            parts.push(stance.clone());
            let how = format!("{weight} × relevance + {:.4} × argues", 1.0 - weight);
            Some(score_in_list(mixed.value, how, parts))
        })
        .collect()
}

/// The score of an image in the list of one stance by [`ScoreRecipe::Product`].
fn product(image: &Estimated, stance: Explanation) -> Explanation {
    let Estimated {
        relevance, argues, ..
    } = image;
    let mut factor = 1.0 + stance.value();
    let mut parts = vec![relevance.clone()];
    if let Some(argues) = argues {
        factor += argues.value();
        parts.push(argues.clone());
    }
    let how = match argues {
        Some(_) => "relevance × (1 + argues + stance)",
        None => "relevance × (1 + stance)",
    };
    parts.push(stance);
    score_in_list(relevance.value() * factor, how, parts)
}

/// The score of an image in one of the lists.
fn score_in_list(value: f64, how: impl Into<String>, parts: Vec<Explanation>) -> Explanation {
    Explanation::new(SCORE, value)
        .with_how(how)
        .with_parts(parts)
}

/// Selects the two lists of a topic, and adds their lines and the explanations of all candidates to the ranking. `judge` says which of the listed images
/// are about the topic.
///
/// # Errors
/// A score is not finite, or too large for a run: the message names the image, and the number to blame. Or explanations cannot be kept.
pub(super) fn select_lists(
    task: &TopicTask,
    scored: Vec<ScoredImage>,
    settings: &ImageRankingSettings,
    ranking: &mut ImageRanking,
    on_event: &mut OnEvent,
    judge: impl FnOnce(&mut dyn Iterator<Item = &DocId>) -> Result<TopicProbabilities>,
) -> Result<()> {
    let topic = task.topic;
    check_scores(topic, &scored)?;
    let candidates: Vec<ImageCandidate> = scored
        .iter()
        .map(|image| ImageCandidate {
            doc: image.id.clone(),
            pro: image.sides.of(Stance::Pro).map(Explanation::value),
            con: image.sides.of(Stance::Con).map(Explanation::value),
            phash: image.phash,
            text: image.text.clone(),
        })
        .collect();
    // crawl ranks are of any language; without any stance, both lists have the same images
    let is_one_list = task.is_foreign && settings.approach.stance != StanceRecipe::Crawl;
    let overlap = settings.overlap || settings.approach.lists.overlap || is_one_list;
    let Selection { listed, mut copies } = match settings.approach.form {
        ListForm::Stances => select::select(&candidates, overlap),
        ListForm::Claims => select::select_claim(&candidates, settings.claim_length),
    };
    note_short_lists(topic, &listed, settings, on_event);
    let mut about = judge(&mut listed.iter().map(|image| &image.doc))?;
    ranking.judged.insert(topic.id.clone(), Judged::of(&about));
    let mut entries: BTreeMap<DocId, Vec<ListEntry>> = BTreeMap::new();
    for s in listed {
        let chosen = scored.iter().find(|image| image.id == s.doc);
        if let Some(rationale) = chosen.and_then(|image| image.rationale.clone()) {
            let key = (topic.id.clone(), s.doc.clone());
            ranking.rationales.insert(key, rationale);
        }
        let probability = |stance| {
            let score = chosen?.sides.of(stance)?;
            Some(score.part((PROBABILITY, stance.word()))?.value())
        };
        let side = stance::decided(probability, s.stance);
        let key = (topic.id.clone(), s.doc.clone());
        ranking.sides.insert(key, side);
        entries.entry(s.doc.clone()).or_default().push(ListEntry {
            stance: s.stance,
            rank: s.rank,
            score: s.score,
        });
        ranking.lines.push(ImageRunLine {
            topic: topic.id.clone(),
            stance: s.stance,
            image: s.doc,
            rank: s.rank,
            score: Some(s.score),
            tag: settings.tag.clone(),
        });
    }
    let explained = scored.into_iter().map(|mut image| {
        let copy_of = copies.remove(&image.id);
        if let Some(original) = &copy_of {
            let note = copy_note(original, entries.get(original).map_or(&[], Vec::as_slice));
            let sides = &mut image.sides;
            let scores = [&mut sides.pro, &mut sides.con].into_iter().flatten();
            scores.for_each(|score| score.add_note(&note));
        }
        ExplainedImage {
            topic: topic.id.clone(),
            listed: entries.get(&image.id).cloned().unwrap_or_default(),
            copy_of,
            about: about.remove(&image.id),
            image: image.id,
            pro: image.sides.pro,
            con: image.sides.con,
        }
    });
    ranking.explained.add(explained)
}

/// Checks that a run can have all scores.
fn check_scores(topic: &Topic, scored: &[ScoredImage]) -> Result<()> {
    for image in scored {
        let scores = Stance::BOTH.map(|stance| image.sides.of(stance));
        for score in scores.into_iter().flatten() {
            if let Some(part) = select::unwritable(score) {
                let what = select::not_writable(&image.id, score.value(), Some(part));
                bail!("cannot rank for topic {}: {what}", topic.id);
            }
        }
    }
    Ok(())
}

/// Notes which lists have fewer images than they should.
fn note_short_lists(
    topic: &Topic,
    listed: &[Selected],
    settings: &ImageRankingSettings,
    on_event: &mut OnEvent,
) {
    let id = &topic.id;
    let mut note = |text| {
        let kind = NoteKind::ShortList(id.clone());
        on_event(Event::Note(Note { kind, text }));
    };
    match settings.approach.form {
        ListForm::Stances => {
            for stance in Stance::BOTH {
                let count = listed.iter().filter(|s| s.stance == stance).count();
                if count < LIST_LENGTH {
                    note(format!(
                        "topic {id}: only {count} of {LIST_LENGTH} images for {stance}"
                    ));
                }
            }
        }
        ListForm::Claims => {
            let (count, length) = (listed.len(), settings.claim_length);
            if count < length {
                note(format!("argument {id}: only {count} of {length} images"));
            }
        }
    }
}

/// The note for a copy: which image was kept instead, and where that image is listed.
fn copy_note(original: &DocId, entries: &[ListEntry]) -> String {
    let places: Vec<String> = entries
        .iter()
        .map(|entry| format!("{} for {}", entry.rank, entry.stance))
        .collect();
    if places.is_empty() {
        format!("copy of {original}, which is not listed either")
    } else {
        format!(
            "copy of {original}, which ranks at {}",
            places.join(" and at ")
        )
    }
}
