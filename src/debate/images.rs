//! The images that illustrate the arguments of a sheet.

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use riposte_eval::run::ImageRunLine;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Stance, TopicId};

use super::sheet::{DebateImage, DebateSheet, ILLUSTRATES, Illustration};
use super::{ArgumentText, SENTENCES, compared_sentences, quotation, with_texts};
use crate::evidence::store::Store;
use crate::evidence::{Evidence, PageEvidence, ocr};
use crate::index::inverted::InvertedIndex;
use crate::index::{ScoredDoc, vector};
use crate::reading::Purpose;
use crate::reading::Reader;
use crate::reading::clauses::{clauses, is_question};
use crate::score::side_taken;
use crate::score::text_stance::TextStanceModel;

/// Maximum number of pages of an image whose words are compared.
const PAGES: usize = 3;

/// The images of a topic, and their evidence.
#[derive(Clone, Copy)]
pub struct Images<'a> {
    pub store: &'a Store,
    /// The lines of the topic in the run.
    pub lines: &'a [&'a ImageRunLine],
    /// By topic and image, the side that each image takes; `None` if it is undecided.
    pub sides: &'a HashMap<(TopicId, DocId), Option<Stance>>,
}

/// As [`with_texts`], with the images of the topic. Without sentence vectors, they are not compared with arguments.
///
/// # Errors
/// As for [`with_texts`].
pub fn illustrated(
    topic: &Topic,
    index: &InvertedIndex,
    ranking: &[ScoredDoc],
    images: Images,
    per_side: usize,
    reader: &mut Reader,
) -> Result<DebateSheet> {
    let (mut sheet, texts) = with_texts(topic, index, ranking, per_side, reader)?;
    sheet.images = illustrate(&sheet, images, &texts, reader)?;
    Ok(sheet)
}

/// A sentence that belongs to an image.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ImageSentence {
    pub text: String,
    /// Where the sentence is: "text in the image", "caption".
    pub place: &'static str,
}

/// Compares each image of a topic's lists with the arguments of its side. Questions are not compared, because they have no side. A sentence that is
/// read as one for the other side does not illustrate an argument, however similar it is.
fn illustrate(
    sheet: &DebateSheet,
    images: Images,
    arguments: &[ArgumentText],
    reader: &mut Reader,
) -> Result<Vec<DebateImage>> {
    let lines = images.lines;
    let of_images = sentences_of(&sheet.topic, images)?;
    let of_arguments = arguments.iter().flat_map(|a| &a.sentences);
    let texts = of_images.iter().flat_map(|(_, sentences)| sentences);
    let texts = of_arguments.chain(texts.map(|sentence| &sentence.text));
    let texts: Vec<&str> = texts.map(String::as_str).collect();
    let vectors = reader.sentence_vectors(Purpose::Document, &texts, &mut |_| ())?;
    let mut vectors = vectors.unwrap_or_default().into_iter();
    let mut take = |count: usize| -> Vec<Vec<f32>> { vectors.by_ref().take(count).collect() };
    let embedded: Vec<Vec<Vec<f32>>> = arguments.iter().map(|a| take(a.sentences.len())).collect();
    let mut pairs = Vec::with_capacity(lines.len());
    for (side, sentences) in &of_images {
        let own = sentences.iter().zip(take(sentences.len()));
        pairs.push(pairs_of(*side, own, arguments, &embedded));
    }
    let similar = |pair: &&Pair| pair.likeness >= ILLUSTRATES;
    let read = pairs.iter().flatten().filter(similar);
    let read: Vec<(&str, &str)> = read
        .map(|pair| (sheet.claim.as_str(), pair.image.text.as_str()))
        .collect();
    let mut logits = reader.piece_logits(&read, &mut |_| ())?.map(Vec::into_iter);
    let model = TextStanceModel::committed();
    let mut illustrated = Vec::with_capacity(lines.len());
    for ((line, (side, _)), of_image) in lines.iter().zip(&of_images).zip(&pairs) {
        let opposite = side.map(Stance::opposite);
        // all are read, so that the outputs stay in step with the sentences
        let contradicts: Vec<bool> = of_image
            .iter()
            .map(|pair| {
                if !similar(&pair) {
                    return false;
                }
                let logits = logits.as_mut().and_then(Iterator::next);
                let stances = model.stances(&sheet.claim, &pair.image.text, logits.as_deref());
                side_taken(stances.balance()).is_some_and(|taken| Some(taken) == opposite)
            })
            .collect();
        let mut kept = of_image.iter().zip(contradicts);
        let like = kept.find(|(_, contradicts)| !contradicts);
        let other_side = of_image.iter().filter_map(|pair| pair.other_side);
        let other_side = other_side.reduce(f64::max);
        illustrated.push(DebateImage {
            image: line.image.clone(),
            side: *side,
            list: line.stance,
            rank: line.rank,
            score: line.score,
            like: like.map(|(pair, _)| Illustration {
                argument: pair.argument.id.clone(),
                likeness: pair.likeness,
                words: quotation(&pair.image.text),
                place: pair.image.place.to_owned(),
                sentence: quotation(pair.sentence),
                other_side,
            }),
        });
    }
    Ok(illustrated)
}

/// The side of each image, and the sentences of it that are compared: none if it has no side.
fn sentences_of(
    topic: &TopicId,
    images: Images,
) -> Result<Vec<(Option<Stance>, Vec<ImageSentence>)>> {
    let mut of_images = Vec::with_capacity(images.lines.len());
    for line in images.lines {
        let key = (topic.clone(), line.image.clone());
        let side = images.sides.get(&key).copied().flatten();
        let evidence = images.store.read(&line.image)?;
        let sentences = evidence.as_ref().map(image_sentences).unwrap_or_default();
        let compared = sentences.into_iter();
        let compared = compared.filter(|s| side.is_some() && !is_question(&s.text));
        of_images.push((side, compared.collect()));
    }
    Ok(of_images)
}

/// The pairs of an image on `side`, the most similar first. `sentences` are those of the image with their vectors; `embedded` has the vectors of each
/// argument's sentences.
fn pairs_of<'a>(
    side: Option<Stance>,
    sentences: impl Iterator<Item = (&'a ImageSentence, Vec<f32>)>,
    arguments: &'a [ArgumentText],
    embedded: &[Vec<Vec<f32>>],
) -> Vec<Pair<'a>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (image, own) in sentences {
        // the most similar sentence of an argument on the image's side, or on the other side
        let nearest = |is_own_side: bool| {
            let decided = arguments.iter().zip(embedded);
            let decided = decided.filter(|(of, _)| of.side.is_some());
            let wanted = decided.filter(|(of, _)| (of.side == side) == is_own_side);
            let sentences = wanted.flat_map(|(argument, vectors)| {
                let sentences = argument.sentences.iter().zip(vectors);
                sentences.map(move |(sentence, vector)| (argument, sentence, vector))
            });
            let likeness = |(argument, sentence, vector): (_, _, &Vec<f32>)| {
                let likeness = f64::from(vector::dot(vector, &own));
                (likeness, argument, sentence)
            };
            let likest = sentences.map(likeness);
            likest.reduce(|a, b| if b.0 > a.0 { b } else { a })
        };
        let other_side = nearest(false).map(|(likeness, ..)| likeness);
        pairs.extend(nearest(true).map(|(likeness, argument, sentence)| Pair {
            likeness,
            argument,
            sentence,
            image,
            other_side,
        }));
    }
    // of equally similar sentences, the first one: it is nearer to the image
    pairs.sort_by(|a, b| b.likeness.total_cmp(&a.likeness));
    pairs
}

/// A sentence of an image, with the most similar sentence of an argument on its side.
struct Pair<'a> {
    likeness: f64,
    argument: &'a ArgumentText,
    sentence: &'a str,
    image: &'a ImageSentence,
    /// The largest cosine of the image's sentence to an argument of the other side.
    other_side: Option<f64>,
}

/// The sentences of an image that are compared, each once: first those in the image, then those that describe it, then those around it.
pub(crate) fn image_sentences(evidence: &Evidence) -> Vec<ImageSentence> {
    let blocks = ocr::texts(evidence.list());
    let in_image = |text| ("text in the image", text);
    let mut texts: Vec<(&'static str, &str)> =
        blocks.iter().map(|text| in_image(text.as_str())).collect();
    if blocks.is_empty() {
        texts.push(in_image(&evidence.given.text));
    }
    texts.push(("caption", &evidence.given.caption));
    let pages = evidence.list().iter().take(PAGES);
    texts.extend(pages.clone().flat_map(described));
    texts.extend(pages.flat_map(around));
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (place, text) in texts {
        for text in compared_sentences(&clauses(text)) {
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
    use super::*;
    use crate::evidence::page::PageWords;

    #[test]
    fn sentences_of_an_image_say_where_they_are_and_none_is_repeated() {
        let words = PageWords {
            alt: "A lion behind iron bars. Source: Kestrel Falls survey office".into(),
            caption: "A LION BEHIND IRON BARS.".into(),
            title: "Why zoos must be closed".into(),
            ..PageWords::default()
        };
        let page = PageEvidence {
            words,
            ..PageEvidence::default()
        };
        let mut evidence = Evidence::of(DocId("I1".into()));
        evidence.put(vec![page.clone(), page]);
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
