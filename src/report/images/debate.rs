//! The debate sheet of a topic: arguments for and against the claim, and the images that illustrate them.

use std::collections::BTreeSet;

use super::super::Form;
use super::super::words::{Marker, difference, ordinal, shortened, three_decimals};
use super::topic::PageBuilder;
use super::view::{ArgumentView, Card, Debate, DebateSide, IllustrationView, LikeView, class};
use crate::topic::question;
use crate::trec::debate::{DebateArgument, DebateImage, DebateSheet, ILLUSTRATES, Illustration};
use crate::trec::topic::Topic;
use crate::trec::{DocId, Stance, TopicId};

/// The maximum number of characters of a quotation below an image.
const WORDS: usize = 140;

/// A text without the quotation marks around it.
fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '“', '”', '„'])
}

/// The debate sheet of a run of arguments. It has no images. `shown` are the arguments that the topic's page shows.
pub(crate) fn sheet_of_arguments(
    sheet: &DebateSheet,
    topic: &Topic,
    shown: &BTreeSet<&DocId>,
    form: Form,
    marker: &mut Marker,
) -> Debate {
    let side = |stance| {
        let arguments = (1..).zip(sheet.arguments_of(stance));
        let views = arguments.map(|(number, argument)| {
            let id = &argument.argument;
            let href = shown.contains(id).then(|| form.document(&topic.id, &id.0));
            view(number, argument, form, &topic.id, href, marker)
        });
        debate_side(stance, &topic.title, views.collect(), Vec::new())
    };
    Debate {
        facts: facts(sheet),
        has_images: false,
        sides: Stance::BOTH.map(side).into(),
    }
}

/// How the arguments of a sheet were chosen, in words.
fn facts(sheet: &DebateSheet) -> Vec<String> {
    let mut facts = vec![format!(
        "chosen from the first {} arguments about it",
        sheet.considered
    )];
    if sheet.undecided > 0 {
        facts.push(format!("{} of them take no clear side", sheet.undecided));
    }
    facts.push("stance: P(pro) − P(con)".into());
    facts
}

fn debate_side(
    stance: Stance,
    title: &str,
    arguments: Vec<ArgumentView>,
    others: Vec<Card>,
) -> DebateSide {
    let (claim, counter_claim) = question::claims(title);
    DebateSide {
        stance,
        class: class(stance),
        claim: match stance {
            Stance::Pro => claim,
            Stance::Con => counter_claim,
        },
        arguments,
        others,
    }
}

/// An argument without images. `href` is its address in the ranking.
fn view(
    number: usize,
    argument: &DebateArgument,
    form: Form,
    topic: &TopicId,
    href: Option<String>,
    marker: &mut Marker,
) -> ArgumentView {
    let mut facts = vec![
        format!("{} by relevance", ordinal(argument.rank)),
        format!("stance {}", difference(argument.stance)),
    ];
    match argument.repeats.len() {
        0 => {}
        1 => facts.push("nearly the same as another one".into()),
        more => facts.push(format!("nearly the same as {more} others")),
    }
    ArgumentView {
        anchor: argument_anchor(form, topic, &argument.argument),
        number,
        id: argument.argument.0.clone(),
        href,
        conclusion: argument.conclusion.clone(),
        quote: marker.mark(&argument.quote),
        facts,
        images: Vec::new(),
    }
}

fn argument_anchor(form: Form, topic: &TopicId, id: &DocId) -> String {
    form.anchor(topic, &format!("argument-{id}"))
}

impl PageBuilder<'_> {
    fn sheet(&self) -> Option<&DebateSheet> {
        let topic = &self.plan.topic.id;
        self.sources
            .debate
            .iter()
            .find(|sheet| sheet.topic == *topic)
    }

    /// The debate sheet of the topic, if the run has one.
    pub(super) fn debate(&self, marker: &mut Marker) -> Option<Debate> {
        let sheet = self.sheet()?;
        let sides = Stance::BOTH.map(|stance| {
            let arguments = (1..).zip(sheet.arguments_of(stance));
            let arguments =
                arguments.map(|(number, argument)| self.argument(sheet, number, argument, marker));
            let others = self.other_images(sheet, stance);
            debate_side(stance, &self.plan.topic.title, arguments.collect(), others)
        });
        Some(Debate {
            facts: facts(sheet),
            has_images: true,
            sides: sides.into(),
        })
    }

    fn argument(
        &self,
        sheet: &DebateSheet,
        number: usize,
        argument: &DebateArgument,
        marker: &mut Marker,
    ) -> ArgumentView {
        let images = sheet.illustrations(&argument.argument).into_iter();
        let images = images.filter(|(image, _)| self.is_shown(&image.image));
        let (form, topic) = (self.sources.form, &self.plan.topic.id);
        ArgumentView {
            images: images
                .map(|(image, like)| IllustrationView {
                    card: self.debate_card(image),
                    words: marker.mark(&shortened(unquoted(&like.words), WORDS)),
                    place: like.place.clone(),
                    likeness: three_decimals(like.likeness),
                })
                .collect(),
            ..view(number, argument, form, topic, None, marker)
        }
    }

    fn is_shown(&self, id: &DocId) -> bool {
        self.plan
            .lists
            .iter()
            .flatten()
            .any(|line| line.image == *id)
    }

    fn debate_card(&self, image: &DebateImage) -> Card {
        let id = &image.image;
        let label = format!("{} {}", image.side, image.rank);
        Card {
            href: self.sources.form.document(&self.plan.topic.id, &id.0),
            ..self.card(id, label)
        }
    }

    fn other_images(&self, sheet: &DebateSheet, stance: Stance) -> Vec<Card> {
        let illustrates = |like: &Illustration| like.likeness >= ILLUSTRATES;
        let images = sheet.images.iter();
        let others = images.filter(|image| {
            let is_used = image.like.as_ref().is_some_and(illustrates);
            image.side == stance && !is_used && self.is_shown(&image.image)
        });
        others.map(|image| self.debate_card(image)).collect()
    }

    /// The argument that an image of a list is most like.
    pub(super) fn like(&self, id: &DocId, marker: &mut Marker) -> Option<LikeView> {
        let sheet = self.sheet()?;
        let image = sheet.images.iter().find(|image| image.image == *id)?;
        let like = image.like.as_ref()?;
        let argument = sheet.arguments.iter();
        let argument = argument.clone().find(|a| a.argument == like.argument)?;
        let is_nearer = |other: &f64| *other > like.likeness;
        let doubt = if like.likeness < ILLUSTRATES {
            Some("Too little to say that it illustrates the argument.".to_owned())
        } else {
            let nearer = like.other_side.filter(is_nearer);
            nearer.map(|other| {
                format!(
                    "It is even more like an argument of the other side ({}).",
                    three_decimals(other)
                )
            })
        };
        let anchor = argument_anchor(self.sources.form, &self.plan.topic.id, &like.argument);
        Some(LikeView {
            href: self.sources.form.debate_part(&self.plan.topic.id, &anchor),
            id: like.argument.0.clone(),
            class: class(argument.side),
            sentence: marker.mark(unquoted(&like.sentence)),
            words: marker.mark(unquoted(&like.words)),
            place: like.place.clone(),
            likeness: three_decimals(like.likeness),
            doubt,
        })
    }
}
