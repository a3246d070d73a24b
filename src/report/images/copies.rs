//! Copies: a ranking keeps one of several images with the same picture, and a page shows the others beside it.

use riposte_eval::DocId;

use super::topic::PageBuilder;
use super::view::{LookAlikeView, Twins};
use super::{LOOK_ALIKES, LookAlike};
use crate::report::pictures::Size;

impl PageBuilder<'_> {
    fn copies(&self, id: &DocId) -> impl Iterator<Item = &LookAlike> {
        let look_alikes = self.look_alikes.get(id).into_iter().flatten();
        look_alikes.filter(|other| other.is_copy)
    }

    /// Whether the ranking left an image out because of a copy. Without an explanation, every image that is not listed counts.
    fn was_left_out(&self, id: &DocId) -> bool {
        self.lines(id).is_empty()
            && match self.plan.explained.get(id) {
                Some(explained) => explained.copy_of.is_some(),
                None => true,
            }
    }

    /// The copy of an image that is in a list; `None` if the image is in a list itself.
    pub(super) fn listed_copy(&self, id: &DocId) -> Option<&DocId> {
        if !self.was_left_out(id) {
            return None;
        }
        let mut copies = self.copies(id);
        let is_listed = |copy: &&LookAlike| !self.lines(&copy.id).is_empty();
        copies.find(is_listed).map(|copy| &copy.id)
    }

    /// The copies of a listed image that were left out.
    pub(super) fn left_out(&self, id: &DocId) -> Option<Twins> {
        let copies = self.copies(id).filter(|copy| self.was_left_out(&copy.id));
        let copies: Vec<&LookAlike> = copies.take(LOOK_ALIKES).collect();
        let text = match copies.len() {
            0 => return None,
            1 => "a copy, left out".to_owned(),
            count => format!("{count} copies, left out"),
        };
        Some(Twins {
            text,
            images: copies.into_iter().map(|c| self.look_alike(c)).collect(),
        })
    }

    /// The listed image of which an image is a copy.
    pub(super) fn original(&self, id: &DocId) -> Option<Twins> {
        let copy = self.listed_copy(id)?;
        Some(Twins {
            text: "listed in its place".into(),
            images: vec![self.twin(copy)],
        })
    }

    /// An image of the same picture.
    pub(super) fn twin(&self, id: &DocId) -> LookAlikeView {
        self.image_beside(id, "the same picture".into())
    }

    pub(super) fn look_alike(&self, other: &LookAlike) -> LookAlikeView {
        let likeness = format!("{} of 64 bits differ", other.bits);
        self.image_beside(&other.id, likeness)
    }

    fn image_beside(&self, id: &DocId, likeness: String) -> LookAlikeView {
        let shown = self.plan.shown().contains(&id);
        LookAlikeView {
            id: id.0.clone(),
            href: shown.then(|| format!("#{}", self.anchor(id))),
            source: self.picture(id, Size::Card),
            likeness,
            position: self.position(id),
        }
    }
}
