//! What an answer says of an image, an argument and a text.

use anyhow::{Context, Result};
use riposte_eval::Stance;
use riposte_eval::explained::ExplainedImage;
use riposte_eval::run::{ImageRunLine, TextRunLine};
use riposte_page::answer::{About, Argument, Image, Text};
use riposte_page::words::unquoted;

use super::marker::Marker;
use crate::debate;
use crate::debate::sheet::{DebateArgument, DebateSheet};
use crate::evidence::PageEvidence;
use crate::index::inverted::InvertedIndex;
use crate::reading::clauses::is_question;
use crate::runs::images::OpenImages;
use crate::score::stance::probability;

/// An image of the run, with the sentence in or around it that has the most words of the question and is no question itself.
pub(super) fn image(
    line: &ImageRunLine,
    explained: Option<&ExplainedImage>,
    images: &OpenImages,
    words: &mut Marker,
) -> Result<Image> {
    let extracted = images.extracted();
    let evidence = extracted.extraction.store.read(&line.image)?;
    let found = evidence.as_ref().map(debate::image_sentences);
    let (mut text, mut place) = (String::new(), None);
    if let Some(mut sentences) = found.filter(|sentences| !sentences.is_empty()) {
        // a question has its words, but says nothing about its answer
        if sentences
            .iter()
            .any(|sentence| !is_question(&sentence.text))
        {
            sentences.retain(|sentence| !is_question(&sentence.text));
        }
        let found = best(words, sentences, |sentence| &sentence.text);
        (text, place) = (found.text, Some(found.place));
    }
    let entries = &images.collection.entries;
    let entry = entries.binary_search_by(|entry| entry.id.cmp(&line.image));
    let files = entry.map_or_else(
        |_| Vec::new(),
        |at| entries[at].list(&mut Vec::new()).images,
    );
    let page = evidence
        .as_ref()
        .and_then(|e| e.list::<PageEvidence>().first());
    Ok(Image {
        list: line.stance,
        rank: line.rank,
        id: line.image.0.clone(),
        score: line.score.context("a line of the run has no score")?,
        pro: explained.and_then(|of| probability(of, Stance::Pro)),
        con: explained.and_then(|of| probability(of, Stance::Con)),
        words: unquoted(&debate::quotation(&text)).to_owned(),
        place: place.map(str::to_owned),
        file: files.first().map(|file| file.display().to_string()),
        page: page.map(|page| page.url.clone()),
        picture: None,
        argument: None,
        likeness: None,
        about: About::default(),
    })
}

/// If the image illustrates an argument, adds the argument and the words that are like it.
pub(super) fn illustrate(image: &mut Image, sheet: &DebateSheet) {
    let mut images = sheet.images.iter();
    let of_sheet = images.find(|of| of.image.0 == image.id);
    let like = of_sheet.and_then(|of| of.like.as_ref());
    if let Some(like) = like.filter(|like| like.illustrates()) {
        image.argument = Some(like.argument.0.clone());
        image.likeness = Some(like.likeness);
        image.words = unquoted(&like.words).to_owned();
        image.place = Some(like.place.clone());
    }
}

/// A document of the run, with its sentence that has the most words of the question.
pub(super) fn text(line: &TextRunLine, index: &InvertedIndex, words: &mut Marker) -> Result<Text> {
    let document = index.document(&line.doc)?;
    let texts = document.texts.iter();
    let sentences = texts.flat_map(|text| debate::compared_sentences(text));
    Ok(Text {
        rank: line.rank,
        id: line.doc.0.clone(),
        score: line.score.context("a line of the run has no score")?,
        stance: line.stance.map(|stance| stance.word().to_owned()),
        text: best(words, sentences.collect(), |text| text),
        url: document.url,
        about: About::default(),
    })
}

/// The first arguments of a side, or of those that are undecided.
pub(super) fn arguments_of(
    sheet: &DebateSheet,
    stance: Option<Stance>,
    number: usize,
) -> Vec<Argument> {
    let arguments = sheet.arguments_of(stance).take(number);
    let argument = |argument: &DebateArgument| Argument {
        id: argument.argument.0.clone(),
        rank: argument.rank,
        score: argument.score,
        stance: argument.stance,
        conclusion: argument.conclusion.clone(),
        text: argument.quote.clone(),
        repeats: argument.repeats.iter().map(|id| id.0.clone()).collect(),
        about: About {
            probability: argument.about,
            ..About::default()
        },
        ..Argument::default()
    };
    arguments.map(argument).collect()
}

/// The text that has the most distinct words of the question. The first of several; an empty one if there is no text.
fn best<T: Default>(words: &mut Marker, texts: Vec<T>, text_of: impl Fn(&T) -> &str) -> T {
    let counted = texts
        .into_iter()
        .map(|text| (words.count(text_of(&text)), text));
    let best = counted.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, text)| text).unwrap_or_default()
}
