//! Judges which of the first documents of a ranking are about its topic, and says so where none is.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation, TopicId};
use riposte_page::presence::Presence;
use tantivy::tokenizer::TextAnalyzer;

use crate::events::{Event, Note, NoteKind, OnEvent};
use crate::evidence::ocr::Ocr;
use crate::evidence::page::Pages;
use crate::evidence::sentence::{SentenceVectors, Sentences};
use crate::evidence::store::Store;
use crate::evidence::{Channel, PartValue, SentenceVector};
use crate::index::analyzer::{self, Analyzer, Stemmer, StopList};
use crate::index::images::ImageEvidence;
use crate::index::inverted::InvertedIndex;
use crate::index::vector;
use crate::language::other_language;
use crate::reading::Reader;
use crate::reading::pieces::truncate;
use crate::reading::stance_encoder::StanceEncoder;
use crate::score::presence::{TopicMatch, presence_of};
use crate::score::reranker::cosines;
use crate::score::windows::ReadWindows;
use crate::wording::counted;

/// Maximum number of topics that a note names.
const NAMED: usize = 5;

/// The stop list with which the words of a topic are counted.
const STOP_LIST: &str = "long";

/// The probabilities that documents are about a topic, with what they were computed from. Empty if nothing was judged.
pub(crate) type TopicProbabilities = HashMap<DocId, Explanation>;

/// Which of the first documents of a ranking are about its topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// Whether any document is. `None` if nothing was judged.
    pub presence: Option<Presence>,
    about: HashMap<DocId, f64>,
}

/// The judged documents of all topics.
pub type JudgedTopics = BTreeMap<TopicId, Judged>;

impl Judged {
    pub(crate) fn of(about: &TopicProbabilities) -> Judged {
        let values = about.iter();
        Judged {
            presence: presence_of(about.values()),
            about: values
                .map(|(id, about)| (id.clone(), about.value()))
                .collect(),
        }
    }

    /// The probability that a document is about the topic; `None` if it was not judged.
    pub fn about(&self, document: &DocId) -> Option<f64> {
        self.about.get(document).copied()
    }
}

/// Judges the first of these texts, the best first. The most promising window of each is compared with the topic; only words are compared if `by_sentences` is
/// false, without sentence vectors, and if these are of a model whose cosines have another meaning than those that were learned from. Nothing is judged for a topic
/// in another language: the numbers were learned from English.
///
/// # Errors
/// The index, the store of model outputs or the sentence model fails.
pub(crate) fn of_texts<'a>(
    topic: &Topic,
    documents: impl Iterator<Item = &'a DocId>,
    index: &InvertedIndex,
    by_sentences: bool,
    reader: &mut Reader,
) -> Result<TopicProbabilities> {
    let mut judged = TopicProbabilities::new();
    if other_language(&topic.title).is_some() {
        return Ok(judged);
    }
    let mut ids = Vec::new();
    let mut texts = Vec::new();
    for id in documents.take(crate::limits::MAX_JUDGED) {
        let document = index.document(id)?;
        let mut text = index.meta().kind.main_text(&document.texts).into_owned();
        truncate(&mut text);
        ids.push(id);
        texts.push((text, document.texts));
    }
    let mut cosines = None;
    if by_sentences && is_calibrated(reader.sentence_producer.as_deref()) {
        let texts = texts.iter().map(|(text, _)| text.as_str());
        let windows = ReadWindows::DEFAULT.of(&topic.title, texts)?;
        cosines = nearest(&topic.title, &windows, reader)?;
    }
    let mut words = TopicWords::of(&topic.title);
    for (at, (id, (_, fields))) in ids.into_iter().zip(&texts).enumerate() {
        let common = match &cosines {
            Some(cosines) => TopicMatch::Sentences(cosines[at]),
            None => words.shared(fields.iter().map(String::as_str)),
        };
        judged.insert(id.clone(), common.about());
    }
    Ok(judged)
}

/// Judges images. `vector` is the topic's sentence vector, with the model that made it and the vectors of the images.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn of_images<'a>(
    topic: &Topic,
    images: impl Iterator<Item = &'a DocId>,
    store: &Store,
    vector: Option<(&[f32], &str)>,
) -> Result<TopicProbabilities> {
    let mut judged = TopicProbabilities::new();
    if other_language(topic.conveyed()).is_some() {
        return Ok(judged);
    }
    let channels: [&dyn Channel; 3] = [&Pages, &Ocr, &SentenceVectors];
    let vector = vector.filter(|(_, producer)| is_calibrated(Some(producer)));
    let mut words = TopicWords::of(topic.conveyed());
    for id in images {
        if judged.contains_key(id) {
            continue;
        }
        let Some(image) = ImageEvidence::read(store, id, &channels)? else {
            continue;
        };
        let common = match vector {
            Some((vector, _)) => {
                let texts = image.evidence.list::<PartValue<SentenceVector>>();
                let texts = texts.iter().map(|text| &text.value.0);
                let texts = texts.filter(|text| text.len() == vector.len());
                let cosines = texts.map(|text| f64::from(vector::dot(text, vector)));
                // an image without any text is like nothing
                TopicMatch::Sentences(cosines.fold(0.0, f64::max))
            }
            None => words.shared([image.ocr_text.as_str(), image.near_text.as_str()]),
        };
        judged.insert(id.clone(), common.about());
    }
    Ok(judged)
}

/// Whether the cosines of a sentence model are those that [`TopicMatch::about`] was learned from. Other models have other cosines for texts that are
/// about the same.
fn is_calibrated(producer: Option<&str>) -> bool {
    let sha = producer.and_then(Sentences::sha_of);
    // the stance encoder was trained from the same model
    sha.is_some_and(|sha| StanceEncoder::belongs_to(sha).unwrap_or(false))
}

/// The largest cosine of the title and a window of each text; `None` if there are no sentence vectors.
fn nearest(title: &str, windows: &[Vec<String>], reader: &mut Reader) -> Result<Option<Vec<f64>>> {
    let texts: Vec<&str> = windows.iter().flatten().map(String::as_str).collect();
    let Some(cosines) = cosines(reader, title, &texts, &mut |_| ())? else {
        return Ok(None);
    };
    let mut cosines = cosines.into_iter();
    let of_text = |windows: &Vec<String>| cosines.by_ref().take(windows.len()).fold(0.0, f64::max);
    Ok(Some(windows.iter().map(of_text).collect()))
}

/// The words of a topic, whatever their inflection.
struct TopicWords {
    analyzer: TextAnalyzer,
    terms: HashSet<String>,
}

impl TopicWords {
    fn of(title: &str) -> Self {
        let mut analyzer = Analyzer {
            stop: StopList::find(STOP_LIST).unwrap_or_default(),
            stemmer: Stemmer::Snowball,
            ..Analyzer::default()
        }
        .build();
        let terms = analyzer::terms(&mut analyzer, title).into_iter().collect();
        TopicWords { analyzer, terms }
    }

    fn shared<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> TopicMatch {
        let mut found = HashSet::new();
        for text in texts {
            let terms = analyzer::terms(&mut self.analyzer, text).into_iter();
            found.extend(terms.filter(|term| self.terms.contains(term)));
        }
        TopicMatch::Words {
            shared: found.len(),
            of: self.terms.len(),
        }
    }
}

/// Notes the topics that nothing is about. Their lists are full all the same.
pub(crate) fn note_nothing(topics: &[Topic], judged: &JudgedTopics, on_event: &mut OnEvent) {
    let nothing = topics.iter().filter_map(|topic| {
        let presence = judged.get(&topic.id)?.presence?;
        presence.is_nothing().then_some((topic, presence))
    });
    let nothing: Vec<(&Topic, Presence)> = nothing.collect();
    let Some((_, first)) = nothing.first() else {
        return;
    };
    let name = |(topic, presence): &(&Topic, Presence)| {
        format!(
            "{} {:?} ({:.2})",
            topic.id,
            topic.conveyed(),
            presence.about
        )
    };
    let mut named: Vec<String> = nothing.iter().take(NAMED).map(name).collect();
    if nothing.len() > NAMED {
        named.push(format!("and {} more", nothing.len() - NAMED));
    }
    let topics = nothing.iter().map(|(topic, _)| topic.id.clone()).collect();
    let kind = NoteKind::NothingAbout(topics);
    let text = format!(
        "the collection seems to have nothing about {}: {}. Their lists are full all the same; the probability that the likeliest result is about the topic is below {}{}",
        counted(nothing.len() as u64, "topic", "topics"),
        named.join(", "),
        first.least,
        first.by.remark(),
    );
    on_event(Event::Note(Note { kind, text }));
}
