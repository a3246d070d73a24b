//! The results of a search: the lines of a run with this one topic, with the words that answer.

use std::collections::HashMap;

use anyhow::{Context, Result};
use riposte_eval::Stance;
use riposte_page::answer::{Answer, Image, Text};
use riposte_serve::answers::{SearchAnswer, SearchHit};
use riposte_serve::questions::{Filters, OnSide, Search};

use super::answers::{picture_address, understood};
use super::opened::OpenedPart;
use crate::api::ask::Answered;
use crate::collection::task::Task;
use crate::debate::sheet::{DebateArgument, DebateSheet};
use crate::runs::finished::MadeRun;
use crate::runs::images::ImageRun;

/// The answer to a search. `question` is what was answered, which can differ from what was typed.
///
/// # Errors
/// A document cannot be read.
pub(super) fn found(
    search: &Search,
    question: &str,
    collection: &str,
    part: &OpenedPart,
    answered: Answered,
) -> Result<SearchAnswer> {
    let has_sides = part.task().has_sides();
    let mut results = match &answered.run {
        MadeRun::Images(run) => images(&answered.answer, run, collection),
        run => {
            let texts = answered.texts(search.hits)?;
            texts_with_stances(texts, run.sheets().first(), part)?
        }
    };
    results.retain(|(hit, balance)| is_wanted(hit, *balance, &search.filters));
    Ok(SearchAnswer {
        question: search.question.clone(),
        collection: collection.to_owned(),
        kind: part.kind(),
        approach: search.approach.clone().unwrap_or_else(|| "riposte".into()),
        understood: has_sides.then(|| understood(question)),
        results: results.into_iter().map(|(hit, _)| hit).collect(),
        presence: answered.answer.presence,
        nothing_about_it: answered.answer.nothing_about_it,
    })
}

/// A result, and P(pro) - P(con) if it was estimated.
type Balanced = (SearchHit, Option<f64>);

/// Images in the order of the run: the PRO list, then the CON list.
fn images(answer: &Answer, run: &ImageRun, collection: &str) -> Vec<Balanced> {
    let sides = answer.sides.iter();
    let sides = sides.map(|of| (Some(of.side), of.images.as_deref()));
    let undecided = answer
        .undecided
        .iter()
        .map(|of| (None, of.images.as_deref()));
    let mut found: Vec<(&Image, Option<Stance>)> = Vec::new();
    for (side, images) in sides.chain(undecided) {
        found.extend(images.unwrap_or_default().iter().map(|image| (image, side)));
    }
    found.sort_by_key(|(image, _)| (image.list, image.rank));
    // the answer has an image with its score on the side that it takes, which can be another than that of its list
    let lines = run.ranking.lines.iter();
    let scores: HashMap<(Stance, &str), f64> = lines
        .filter_map(|line| Some(((line.stance, line.image.0.as_str()), line.score?)))
        .collect();
    let hit = |(image, side): (&Image, Option<Stance>)| SearchHit {
        rank: image.rank,
        id: image.id.clone(),
        score: *scores
            .get(&(image.list, image.id.as_str()))
            .unwrap_or(&image.score),
        side,
        list: Some(image.list),
        text: image.words.clone(),
        place: image.place.clone(),
        url: image.page.clone(),
        picture: Some(picture_address(collection, &image.id)),
        about: image.about,
        ..SearchHit::default()
    };
    let balance = |image: &Image| Some(image.pro? - image.con?);
    let found = found.into_iter();
    found
        .map(|(image, side)| (hit((image, side)), balance(image)))
        .collect()
}

/// Texts in the order of the run. Of arguments, the sheet has the sides of the first ones.
fn texts_with_stances(
    texts: Vec<Text>,
    sheet: Option<&DebateSheet>,
    part: &OpenedPart,
) -> Result<Vec<Balanced>> {
    let arguments = sheet.iter().flat_map(|sheet| &sheet.arguments);
    let arguments: HashMap<&str, &DebateArgument> = arguments
        .map(|argument| (argument.argument.0.as_str(), argument))
        .collect();
    let is_argument = part.kind() == riposte_serve::questions::DocumentKind::Arguments;
    let mut hits = Vec::with_capacity(texts.len());
    for text in texts {
        let document = part.document(&riposte_eval::DocId(text.id.clone()))?;
        let document = document.context("a ranked document is not in the index")?;
        let title = document.texts.get(1).filter(|title| !title.is_empty());
        let source = document.texts.get(2).filter(|source| !source.is_empty());
        let on_sheet = arguments.get(text.id.as_str());
        let hit = SearchHit {
            rank: text.rank,
            score: text.score,
            side: on_sheet.and_then(|of| of.side),
            title: title.cloned(),
            text: on_sheet.map_or(text.text, |of| of.quote.clone()),
            source: source.filter(|_| is_argument).cloned(),
            url: text.url,
            repeats: on_sheet.map_or_else(Vec::new, |of| {
                of.repeats.iter().map(|id| id.0.clone()).collect()
            }),
            about: text.about,
            id: text.id,
            ..SearchHit::default()
        };
        hits.push((hit, on_sheet.map(|of| of.stance)));
    }
    Ok(hits)
}

/// Whether the filters let a result through. The portal is a part of the search itself.
fn is_wanted(hit: &SearchHit, balance: Option<f64>, filters: &Filters) -> bool {
    let on_side = match filters.side {
        None => true,
        Some(OnSide::Pro) => hit.side == Some(Stance::Pro),
        Some(OnSide::Con) => hit.side == Some(Stance::Con),
        Some(OnSide::Undecided) => hit.side.is_none(),
    };
    let takes_a_side = |least| balance.is_some_and(|balance: f64| balance.abs() >= least);
    on_side && filters.minimum.is_none_or(takes_a_side)
}

/// The documents of a task that has a portal for each.
pub(super) fn has_portals(task: Task) -> bool {
    task.text() == Some(riposte_eval::TextTask::Controversial)
}
