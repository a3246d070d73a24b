//! The images that illustrate the arguments of a sheet.

use std::collections::HashSet;

use anyhow::Result;
use riposte_eval::run::ImageRunLine;
use riposte_eval::topic::Topic;

use super::sheet::{DebateImage, DebateSheet, Illustration};
use super::{ArgumentText, SENTENCES, compared_sentences, quotation, with_texts};
use crate::evidence::store::Store;
use crate::evidence::{Evidence, PageEvidence, ocr};
use crate::index::inverted::InvertedIndex;
use crate::index::{ScoredDoc, vector};
use crate::reading::Reader;

/// Maximum number of pages of an image whose words are compared.
const PAGES: usize = 3;

/// The images of a topic, and their evidence.
#[derive(Clone, Copy)]
pub struct Images<'a> {
    pub store: &'a Store,
    /// The lines of the topic in the run.
    pub lines: &'a [&'a ImageRunLine],
}

/// As [`super::sheet()`], with the images of the topic. Without sentence vectors, they are not compared with arguments.
///
/// # Errors
/// As for [`super::sheet()`].
pub fn illustrated(
    topic: &Topic,
    index: &InvertedIndex,
    ranking: &[ScoredDoc],
    images: Images,
    per_side: usize,
    reader: &mut Reader,
) -> Result<DebateSheet> {
    let (mut sheet, texts) = with_texts(topic, index, ranking, per_side, reader)?;
    sheet.images = illustrate(images, &texts, reader)?;
    Ok(sheet)
}

/// A sentence that belongs to an image.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ImageSentence {
    pub text: String,
    /// Where the sentence is: "text in the image", "caption".
    pub place: &'static str,
}

/// Compares each image of a topic's lists with the arguments of its side.
fn illustrate(
    images: Images,
    arguments: &[ArgumentText],
    reader: &mut Reader,
) -> Result<Vec<DebateImage>> {
    let Images { store, lines } = images;
    let mut of_images = Vec::with_capacity(lines.len());
    for line in lines {
        let evidence = store.read(&line.image)?;
        of_images.push(evidence.as_ref().map(image_sentences).unwrap_or_default());
    }
    let of_arguments = arguments.iter().flat_map(|a| &a.sentences);
    let texts = of_images.iter().flatten().map(|sentence| &sentence.text);
    let texts: Vec<&str> = of_arguments.chain(texts).map(String::as_str).collect();
    let vectors = reader.sentence_vectors(&texts, &mut |_| ())?;
    let mut vectors = vectors.unwrap_or_default().into_iter();
    let mut take = |count: usize| -> Vec<Vec<f32>> { vectors.by_ref().take(count).collect() };
    let embedded: Vec<Vec<Vec<f32>>> = arguments.iter().map(|a| take(a.sentences.len())).collect();
    let mut images = Vec::with_capacity(lines.len());
    for (line, sentences) in lines.iter().zip(&of_images) {
        let own = take(sentences.len());
        // the most similar sentences of an argument on the image's side, or on the other side, and of the image
        let nearest = |is_own_side: bool| {
            let wanted = arguments.iter().zip(&embedded);
            let wanted = wanted.filter(|(of, _)| (of.side == line.stance) == is_own_side);
            let mut best: Option<(f64, &ArgumentText, &str, &ImageSentence)> = None;
            for (argument, vectors) in wanted {
                for (sentence, vector) in argument.sentences.iter().zip(vectors) {
                    for (image, other) in sentences.iter().zip(&own) {
                        let likeness = f64::from(vector::dot(vector, other));
                        if best.is_none_or(|(largest, ..)| likeness > largest) {
                            best = Some((likeness, argument, sentence, image));
                        }
                    }
                }
            }
            best
        };
        let other_side = nearest(false).map(|(likeness, ..)| likeness);
        let like = nearest(true).map(|(likeness, argument, sentence, image)| Illustration {
            argument: argument.id.clone(),
            likeness,
            words: quotation(&image.text),
            place: image.place.to_owned(),
            sentence: quotation(sentence),
            other_side,
        });
        images.push(DebateImage {
            image: line.image.clone(),
            side: line.stance,
            rank: line.rank,
            score: line.score,
            like,
        });
    }
    Ok(images)
}

/// The sentences of an image that are compared, each once: first those in the image, then those that describe it, then those around it.
pub(crate) fn image_sentences(evidence: &Evidence) -> Vec<ImageSentence> {
    let blocks = ocr::texts(&evidence.ocr);
    let in_image = |text| ("text in the image", text);
    let mut texts: Vec<(&'static str, &str)> =
        blocks.iter().map(|text| in_image(text.as_str())).collect();
    if evidence.ocr.is_empty() {
        texts.push(in_image(&evidence.given.text));
    }
    texts.push(("caption", &evidence.given.caption));
    let pages = evidence.pages.iter().take(PAGES);
    texts.extend(pages.clone().flat_map(described));
    texts.extend(pages.flat_map(around));
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (place, text) in texts {
        for text in compared_sentences(text) {
            if found.len() == SENTENCES {
                return found;
            }
            if seen.insert(text.to_lowercase()) {
                found.push(ImageSentence { text, place });
            }
        }
    }
    found
}

/// The texts of a page that describe the image.
fn described(page: &PageEvidence) -> [(&'static str, &str); 3] {
    let words = &page.words;
    [
        ("caption", words.caption.as_str()),
        ("alternative text", &words.alt),
        ("title of the image", &words.title_attribute),
    ]
}

/// The texts of a page around the image.
fn around(page: &PageEvidence) -> [(&'static str, &str); 3] {
    let words = &page.words;
    [
        ("title of the page", words.title.as_str()),
        ("words before the image", &words.before),
        ("words after the image", &words.after),
    ]
}

#[cfg(test)]
mod tests {
    use riposte_eval::DocId;

    use super::*;
    use crate::evidence::page::PageWords;

    #[test]
    fn sentences_of_an_image_say_where_they_are_and_none_is_repeated() {
        let words = PageWords {
            alt: "A lion behind iron bars. Click".into(),
            caption: "A LION BEHIND IRON BARS.".into(),
            title: "Why zoos must be closed".into(),
            ..PageWords::default()
        };
        let page = PageEvidence {
            words,
            ..PageEvidence::default()
        };
        let evidence = Evidence {
            id: DocId("I1".into()),
            url: String::new(),
            given: Default::default(),
            pages: vec![page.clone(), page],
            ocr: Vec::new(),
            picture: None,
            clip: None,
            image_text: None,
            sentences: Vec::new(),
            vader: Vec::new(),
            afinn: Vec::new(),
        };
        let found = image_sentences(&evidence);
        let found: Vec<(&str, &str)> = found.iter().map(|s| (s.place, s.text.as_str())).collect();
        assert_eq!(
            found,
            [
                ("caption", "A LION BEHIND IRON BARS."),
                ("title of the page", "Why zoos must be closed"),
            ]
        );
    }
}
