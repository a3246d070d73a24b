//! The embeddings of topics, and of the arguments about them.

use anyhow::{Result, ensure};

use super::super::approach::{RelevanceChannel as R, StanceRecipe};
use super::super::likeness::{self, Arguments, Said, Sides};
use super::Settings;
use crate::evidence::Channel;
use crate::evidence::store::Store;
use crate::index::vector::mean_direction;
use crate::reading::{QueryEncoder, Reader};
use crate::topic::prompts::{self, Role};
use crate::topic::question::Question;
use crate::trec::topic::Topic;

/// The embeddings of all topics of a run; empty where a channel is off.
pub(super) struct Embeddings {
    pub topics: Vec<TopicVectors>,
    /// For each kind of picture, whether such pictures are argumentative, and its vector.
    pub kinds: Vec<(bool, Vec<f32>)>,
}

/// The embeddings of one topic.
#[derive(Default)]
pub(super) struct TopicVectors {
    /// The sentence vector of the question's words.
    pub words: Option<Vec<f32>>,
    /// CLIP vectors of the prompts about the topic, for its claim, and against it.
    pub clip: Option<[Vec<f32>; 3]>,
    /// Arguments for the claim and against it, with sentence vectors.
    pub sides: Option<Sides>,
    /// The same with CLIP vectors.
    pub clip_sides: Option<Sides>,
}

impl Embeddings {
    /// Embeds the questions and their prompts, as far as the approach uses them. Notes say which channels are off.
    ///
    /// Errors: the store, the store of outputs or a model fails.
    pub fn of_questions(
        store: &Store,
        reader: &mut Reader,
        topics: &[Topic],
        questions: &[Question],
        settings: &Settings,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let mut embeddings = Embeddings {
            topics: topics.iter().map(|_| TopicVectors::default()).collect(),
            kinds: Vec::new(),
        };
        let beliefs = settings.approach.stance == StanceRecipe::Beliefs;
        let uses = |channels: &[R]| {
            channels
                .iter()
                .any(|c| settings.approach.relevance.channels.contains_key(c))
        };
        if beliefs || uses(&[R::SentenceOcr, R::SentenceTitle, R::SentenceNear]) {
            let texts: Vec<String> = questions.iter().map(|q| q.words.clone()).collect();
            if let Some(vectors) = embed(store, reader, QueryEncoder::Sentence, &texts, notes)? {
                for (topic, vector) in embeddings.topics.iter_mut().zip(vectors) {
                    topic.words = Some(vector);
                }
            }
        }
        if beliefs || uses(&[R::ClipTopic]) {
            let groups: Vec<prompts::Group> = topics
                .iter()
                .zip(questions)
                .flat_map(|(topic, question)| {
                    prompts::topic_groups(
                        &topic.title,
                        Some(&question.claim),
                        Some(&question.counter_claim),
                    )
                })
                .chain(prompts::kind_groups())
                .collect();
            let texts: Vec<String> = groups.iter().flat_map(|g| g.prompts.clone()).collect();
            if let Some(vectors) = embed(store, reader, QueryEncoder::Clip, &texts, notes)? {
                embeddings.add_prompts(&groups, &vectors);
            }
        }
        Ok(embeddings)
    }

    /// Takes over the vectors of all prompts: three groups for each topic, then one for each kind of picture.
    fn add_prompts(&mut self, groups: &[prompts::Group], vectors: &[Vec<f32>]) {
        let mut vectors = vectors;
        let mut ensembles = Vec::new();
        for group in groups {
            let (own, rest) = vectors.split_at(group.prompts.len().min(vectors.len()));
            vectors = rest;
            ensembles.push((group.role, mean_direction(own)));
        }
        let mut ensembles = ensembles.into_iter();
        for topic in &mut self.topics {
            if let (Some(a), Some(b), Some(c)) =
                (ensembles.next(), ensembles.next(), ensembles.next())
            {
                topic.clip = Some([a.1, b.1, c.1]);
            }
        }
        self.kinds = ensembles
            .map(|(role, vector)| (role == Role::Argumentative, vector))
            .collect();
    }

    /// Searches for arguments about each topic, and embeds them.
    ///
    /// Errors: the index, a store or a model fails, or `on_progress` asks to stop.
    pub fn add_arguments(
        &mut self,
        arguments: &Arguments,
        questions: &[Question],
        store: &Store,
        reader: &mut Reader,
        notes: &mut Vec<String>,
        on_progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        for (topic, question) in self.topics.iter_mut().zip(questions) {
            ensure!(
                on_progress(0),
                "stopped before the end: what has been read is kept"
            );
            let said = likeness::said(arguments, question, reader)?;
            let texts: Vec<String> = said.iter().map(|s| s.text.clone()).collect();
            if topic.words.is_some() {
                let vectors = embed(store, reader, QueryEncoder::Sentence, &texts, notes)?;
                topic.sides = sides(&said, vectors);
            }
            if topic.clip.is_some() {
                let vectors = embed(store, reader, QueryEncoder::Clip, &texts, notes)?;
                topic.clip_sides = sides(&said, vectors);
            }
            if topic.sides.is_none() && topic.clip_sides.is_none() {
                notes.push(format!(
                    "too few arguments for both sides of \"{}\": likeness to them says nothing there",
                    question.claim
                ));
            }
        }
        Ok(())
    }
}

fn sides(said: &[Said], vectors: Option<Vec<Vec<f32>>>) -> Option<Sides> {
    Sides::new(said.to_vec(), vectors?)
}

/// The vectors of query texts by the model that made the evidence: stored ones, or by that model if it is installed. `None` and a note if the
/// channel cannot be used.
fn embed(
    store: &Store,
    reader: &mut Reader,
    encoder: QueryEncoder,
    texts: &[String],
    notes: &mut Vec<String>,
) -> Result<Option<Vec<Vec<f32>>>> {
    let channel = match encoder {
        QueryEncoder::Sentence => Channel::Sentence,
        QueryEncoder::Clip => Channel::Clip,
    };
    let Some(producer) = store.producer(channel)? else {
        // without its model, another note has said already that the channel is off
        if reader.installed(encoder).is_some() {
            notes.push(format!("{channel} is off: there is no such evidence"));
        }
        return Ok(None);
    };
    // what follows " of " names the producers of the texts, not the model
    let model = producer.split(" of ").next().unwrap_or_default();
    let vectors = reader.query_vectors(encoder, model, texts)?;
    if vectors.is_none() {
        notes.push(format!(
            "{channel} is off: its evidence was made by {model}, which is not here to embed the topics"
        ));
    }
    Ok(vectors)
}
