//! Says of an answer whether anything is about the question, and which of its documents are less likely to be about it.

use riposte_eval::DocId;
use riposte_page::answer::{About, Answer};
use riposte_page::presence::Presence;

use crate::debate::sheet::DebateSheet;
use crate::presence::Judged;
use crate::score::presence::padding;

/// `judged` are the documents of the run, and `sheet` has arguments that were judged with it. Nothing is about the question only if neither documents
/// nor arguments are.
pub(super) fn judge(answer: &mut Answer, judged: Option<&Judged>, sheet: Option<&DebateSheet>) {
    let of_run = judged.and_then(|judged| judged.presence);
    let of_sheet = sheet.and_then(|sheet| sheet.presence);
    answer.presence = Presence::together(of_run.into_iter().chain(of_sheet));
    answer.nothing_about_it = answer
        .presence
        .is_some_and(|presence| presence.is_nothing());
    let probability = |id: &str| judged?.about(&DocId(id.to_owned()));
    for image in answer.images_mut() {
        image.about.probability = probability(&image.id);
    }
    for text in answer.texts.iter_mut().flatten() {
        text.about.probability = probability(&text.id);
    }
    mark_padding(answer);
}

/// Marks the padding of all lists.
pub(super) fn mark_padding(answer: &mut Answer) {
    let sides = answer.sides.iter_mut();
    let lists = sides.map(|side| (&mut side.images, &mut side.arguments));
    let undecided = answer.undecided.iter_mut();
    let undecided = undecided.map(|list| (&mut list.images, &mut list.arguments));
    for (images, arguments) in lists.chain(undecided) {
        // an image below an argument is there because it is like the argument
        let others = images.iter_mut().flatten();
        let others = others.filter(|image| image.argument.is_none());
        divide(others.map(|image| &mut image.about));
        // wherever images are listed together, the padding is the end of the list
        if let Some(images) = images {
            images.sort_by_key(|image| image.about.is_padding);
        }
        let arguments = arguments.iter_mut().flatten();
        divide(arguments.map(|argument| &mut argument.about));
    }
    let texts = answer.texts.iter_mut().flatten();
    divide(texts.map(|text| &mut text.about));
}

/// Marks those at the end of a list that are less likely to be about the question.
fn divide<'a>(list: impl Iterator<Item = &'a mut About>) {
    let list: Vec<&mut About> = list.collect();
    let Some(place) = padding(list.iter().map(|one| one.probability)) else {
        return;
    };
    for one in list.into_iter().skip(place) {
        one.is_padding = true;
    }
}
