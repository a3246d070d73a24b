//! The debate sheet of a topic: arguments for and against the claim, and the images that illustrate them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Stance, TopicId};
use riposte_page::answer::{About, Image};
use riposte_page::presence::Presence;
use riposte_page::words::{three_decimals, unquoted};
use riposte_page::{DebateView, Links, MarkedSpan, Picture};

use super::super::ReportForm;
use super::topic::PageBuilder;
use super::view::{LikeView, SheetView, class};
use crate::answer::marker::Marker;
use crate::answer::question;
use crate::debate::sheet::{DebateImage, DebateSheet, ILLUSTRATES};
use crate::score::stance::probability;

/// The debate sheet of a topic, if the run has one. `shown` are the arguments that the topic's page shows. `page` has the images of the topic; `None`
/// for a run of arguments.
pub(crate) fn sheet(
    sheets: &[DebateSheet],
    topic: &Topic,
    form: ReportForm,
    shown: &BTreeSet<&DocId>,
    page: Option<&PageBuilder>,
    marker: &mut Marker,
) -> Option<SheetView> {
    let sheet = sheets.iter().find(|sheet| sheet.topic == topic.id)?;
    let mut facts = vec![format!(
        "chosen from the first {} arguments about it",
        sheet.considered
    )];
    if sheet.undecided > 0 {
        facts.push(format!("{} of them are undecided", sheet.undecided));
    }
    facts.push("stance: P(pro) − P(con)".into());
    let images = |side| page.map(|page| page.images_of(sheet, side));
    let answer = question::of_sheet(&topic.title, sheet, images);
    let links = SheetLinks {
        topic: &topic.id,
        form,
        shown,
        page,
        marker: RefCell::new(marker),
    };
    let of_images = page.and_then(PageBuilder::presence);
    let presence = Presence::together(of_images.into_iter().chain(sheet.presence));
    let presence = presence.filter(Presence::is_nothing);
    Some(SheetView {
        nothing: presence.map(|presence| presence.nothing()),
        facts,
        has_images: page.is_some(),
        sides: DebateView::of(&answer, &links).with_print_title(&topic.title),
    })
}

/// Where a report has the documents of a sheet.
struct SheetLinks<'a, 'p> {
    topic: &'a TopicId,
    form: ReportForm,
    /// The arguments that the topic's page shows.
    shown: &'a BTreeSet<&'a DocId>,
    page: Option<&'a PageBuilder<'p>>,
    marker: RefCell<&'a mut Marker>,
}

impl Links for SheetLinks<'_, '_> {
    fn document(&self, id: &str) -> Option<String> {
        let id = DocId(id.to_owned());
        let image = self.page.filter(|page| !page.lines(&id).is_empty());
        match image {
            Some(page) => Some(page.address(&id)),
            None => {
                let is_shown = self.shown.contains(&id);
                is_shown.then(|| self.form.document(self.topic, &id.0))
            }
        }
    }

    fn picture(&self, image: &Image) -> Option<Picture> {
        self.page?.shown_picture(&DocId(image.id.clone()))
    }

    fn anchor(&self, id: &str) -> Option<String> {
        let id = DocId(id.to_owned());
        Some(argument_anchor(self.form, self.topic, &id))
    }

    fn marked(&self, text: &str) -> Vec<MarkedSpan> {
        self.marker.borrow_mut().mark(text)
    }
}

fn argument_anchor(form: ReportForm, topic: &TopicId, id: &DocId) -> String {
    form.anchor(topic, &format!("argument-{id}"))
}

impl PageBuilder<'_> {
    pub(super) fn debate(&self, marker: &mut Marker) -> Option<SheetView> {
        let (run, form, topic) = (self.sources.run, self.sources.place.form, &self.plan.topic);
        let shown = BTreeSet::new();
        sheet(&run.debate, topic, form, &shown, Some(self), marker)
    }

    /// The images of a side, or the undecided ones, once each.
    fn images_of(&self, sheet: &DebateSheet, side: Option<Stance>) -> Vec<Image> {
        let images = sheet.images.iter();
        let images =
            images.filter(|image| image.side == side && !self.lines(&image.image).is_empty());
        let mut seen = BTreeSet::new();
        let images = images.filter(|image| seen.insert(&image.image));
        let mut images: Vec<Image> = images.map(|image| self.sheet_image(image)).collect();
        images.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        images
    }

    fn sheet_image(&self, of: &DebateImage) -> Image {
        let explained = self.plan.explained.get(&of.image);
        let [pro, con] = Stance::BOTH.map(|stance| probability(explained?, stance));
        let like = of.like.as_ref().filter(|like| like.illustrates());
        Image {
            list: of.list,
            rank: of.rank,
            id: of.image.0.clone(),
            score: self.score(of),
            pro,
            con,
            words: like.map_or_else(String::new, |like| unquoted(&like.words).to_owned()),
            place: like.map(|like| like.place.clone()),
            file: None,
            picture: None,
            page: None,
            argument: like.map(|like| like.argument.0.clone()),
            likeness: like.map(|like| like.likeness),
            about: About {
                probability: explained.and_then(|of| Some(of.about.as_ref()?.value())),
                ..About::default()
            },
        }
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
