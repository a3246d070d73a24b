//! The debate sheet of a topic: arguments for and against the claim, and the images that illustrate them.

use std::collections::BTreeSet;

use riposte_claims::claims;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Stance, TopicId};
use riposte_page::presence::Presence;
use riposte_page::words::{shortened, three_decimals, unquoted};

use super::super::ReportForm;
use super::super::words::{difference, ordinal};
use super::topic::PageBuilder;
use super::view::{
    ArgumentView, Card, DebateSide, DebateView, IllustrationView, LikeView, class, divide,
};
use crate::answer::marker::Marker;
use crate::debate::LISTS;
use crate::debate::sheet::{DebateArgument, DebateImage, DebateSheet, ILLUSTRATES, Illustration};
use crate::score::presence::padding;

/// The maximum number of characters of a quotation below an image.
const WORDS: usize = 140;

/// The debate sheet of a topic, if the run has one. `shown` are the arguments that the topic's page shows. `page` has the images of the topic; `None`
/// for a run of arguments.
pub(crate) fn sheet(
    sheets: &[DebateSheet],
    topic: &Topic,
    form: ReportForm,
    shown: &BTreeSet<&DocId>,
    page: Option<&PageBuilder>,
    marker: &mut Marker,
) -> Option<DebateView> {
    let sheet = sheets.iter().find(|sheet| sheet.topic == topic.id)?;
    let mut facts = vec![format!(
        "chosen from the first {} arguments about it",
        sheet.considered
    )];
    if sheet.undecided > 0 {
        facts.push(format!("{} of them are undecided", sheet.undecided));
    }
    facts.push("stance: P(pro) − P(con)".into());
    let (claim, counter_claim) = claims(&topic.title);
    let claims = [claim, counter_claim, String::new()];
    let sides = LISTS.into_iter().zip(claims).map(|(side, claim)| {
        let padding = padding(sheet.arguments_of(side).map(|argument| argument.about));
        let arguments = (1..).zip(sheet.arguments_of(side));
        let arguments = arguments.map(|(number, argument)| {
            let id = &argument.argument;
            ArgumentView {
                anchor: argument_anchor(form, &topic.id, id),
                number,
                begins_padding: Some(number) == padding.map(|place| place + 1),
                id: id.0.clone(),
                href: shown.contains(id).then(|| form.document(&topic.id, &id.0)),
                conclusion: argument.conclusion.clone(),
                quote: marker.mark(&argument.quote),
                facts: argument_facts(argument),
                images: page.map_or_else(Vec::new, |page| page.illustrations(sheet, id, marker)),
            }
        });
        DebateSide {
            title: match side {
                Some(Stance::Pro) => "For",
                Some(Stance::Con) => "Against",
                None => "Undecided",
            },
            class: side.map_or("undecided", class),
            claim,
            arguments: arguments.collect(),
            others: page.map_or_else(Vec::new, |page| page.other_images(sheet, side)),
        }
    });
    let of_images = page.and_then(PageBuilder::presence);
    let presence = Presence::together(of_images.into_iter().chain(sheet.presence));
    let presence = presence.filter(Presence::is_nothing);
    let is_shown = |side: &DebateSide| {
        side.class != "undecided" || !side.arguments.is_empty() || !side.others.is_empty()
    };
    let sides = sides.filter(is_shown).collect();
    Some(DebateView {
        nothing: presence.map(|presence| presence.nothing()),
        facts,
        has_images: page.is_some(),
        sides,
    })
}

/// An argument's rank, its stance, and the number of near-duplicates, in words.
fn argument_facts(argument: &DebateArgument) -> Vec<String> {
    let mut facts = vec![
        format!("{} by relevance", ordinal(argument.rank)),
        format!("stance {}", difference(argument.stance)),
    ];
    match argument.repeats.len() {
        0 => {}
        1 => facts.push("nearly the same as another one".into()),
        more => facts.push(format!("nearly the same as {more} others")),
    }
    facts
}

fn argument_anchor(form: ReportForm, topic: &TopicId, id: &DocId) -> String {
    form.anchor(topic, &format!("argument-{id}"))
}

impl PageBuilder<'_> {
    pub(super) fn debate(&self, marker: &mut Marker) -> Option<DebateView> {
        let (run, form, topic) = (self.sources.run, self.sources.place.form, &self.plan.topic);
        sheet(
            &run.debate,
            topic,
            form,
            &BTreeSet::new(),
            Some(self),
            marker,
        )
    }

    /// The images that illustrate an argument.
    fn illustrations(
        &self,
        sheet: &DebateSheet,
        argument: &DocId,
        marker: &mut Marker,
    ) -> Vec<IllustrationView> {
        let images = sheet.illustrations(argument).into_iter();
        let images = images.filter(|(image, _)| !self.lines(&image.image).is_empty());
        let views = images.map(|(image, like)| IllustrationView {
            card: self.debate_card(image),
            words: marker.mark(&shortened(unquoted(&like.words), WORDS)),
            place: like.place.clone(),
            likeness: three_decimals(like.likeness),
        });
        views.collect()
    }

    fn debate_card(&self, image: &DebateImage) -> Card {
        Card {
            href: self.address(&image.image),
            ..self.card(&image.image, format!("{} {}", image.list, image.rank))
        }
    }

    fn other_images(&self, sheet: &DebateSheet, side: Option<Stance>) -> Vec<Card> {
        let images = sheet.images.iter();
        let others = images.filter(|image| {
            let like = image.like.as_ref();
            let is_used = like.is_some_and(Illustration::illustrates);
            image.side == side && !is_used && !self.lines(&image.image).is_empty()
        });
        let mut seen = BTreeSet::new();
        let others = others.filter(|image| seen.insert(&image.image));
        let mut others: Vec<(&DebateImage, f64)> =
            others.map(|image| (image, self.score(image))).collect();
        others.sort_by(|(a, score), (b, other)| {
            let by_score = other.total_cmp(score);
            by_score.then_with(|| a.image.cmp(&b.image))
        });
        let cards = others.into_iter().map(|(image, _)| self.debate_card(image));
        let mut cards: Vec<Card> = cards.collect();
        divide(&mut cards);
        cards
    }

    /// The score of an image on the side that it takes, as `riposte ask` orders images. One whose scores were not explained has that of its list.
    fn score(&self, image: &DebateImage) -> f64 {
        let explained = self.plan.explained.get(&image.image);
        let other = image.side.filter(|side| *side != image.list);
        let on_side = other.and_then(|side| Some(explained?.score(side)?.value()));
        on_side.or(image.score).unwrap_or(f64::NEG_INFINITY)
    }

    /// The argument that an image of a list is most like.
    pub(super) fn like(&self, id: &DocId, marker: &mut Marker) -> Option<LikeView> {
        let (form, topic) = (self.sources.place.form, &self.plan.topic.id);
        let mut sheets = self.sources.run.debate.iter();
        let sheet = sheets.find(|sheet| sheet.topic == *topic)?;
        let image = sheet.images.iter().find(|image| image.image == *id)?;
        let like = image.like.as_ref()?;
        let mut arguments = sheet.arguments.iter();
        let argument = arguments.find(|a| a.argument == like.argument)?;
        let doubt = match like.other_side {
            _ if like.likeness < ILLUSTRATES => {
                Some("Too little to say that it illustrates the argument.".to_owned())
            }
            Some(other) if like.is_torn() => {
                let other = three_decimals(other);
                Some(format!(
                    "It does not illustrate it: it is as much like an argument of the other side ({other})."
                ))
            }
            _ => None,
        };
        let anchor = argument_anchor(form, topic, &like.argument);
        Some(LikeView {
            href: form.debate_part(topic, &anchor),
            id: like.argument.0.clone(),
            class: argument.side.map_or("undecided", class),
            sentence: marker.mark(unquoted(&like.sentence)),
            words: marker.mark(unquoted(&like.words)),
            place: like.place.clone(),
            likeness: three_decimals(like.likeness),
            doubt,
        })
    }
}
