//! The embeddings of topics, and of the arguments about them.

use anyhow::{Result, ensure};

use super::super::approach::{RelevanceChannel, StanceRecipe};
use super::super::likeness::{ArgumentVectors, Arguments, argument_sentences};
use super::{STOPPED, Settings};
use crate::evidence::Channel;
use crate::evidence::store::Store;
use crate::index::vector::mean_direction;
use crate::reading::{QueryEncoder, Reader};
use crate::topic::prompts::{self, Role};
use crate::topic::question::Question;
use crate::trec::topic::Topic;

/// The embeddings of all topics of a run, as far as their channels are on.
pub(super) struct Embeddings {
    pub topics: Vec<TopicVectors>,
    /// Empty if CLIP is off or not used.
    pub kinds: Vec<KindVector>,
}

/// The CLIP vector of a kind of picture, such as a poster or a photograph.
pub(super) struct KindVector {
    /// Whether pictures of this kind are argumentative.
    pub is_argumentative: bool,
    pub vector: Vec<f32>,
}

/// The embeddings of one topic.
#[derive(Default)]
pub(super) struct TopicVectors {
    /// The sentence vector of the question's words.
    pub words: Option<Vec<f32>>,
    /// CLIP vectors of the prompts about the topic, for its claim, and against it, in this order.
    pub clip: Option<[Vec<f32>; 3]>,
    /// Arguments for the claim and against it, with sentence vectors.
    pub arguments: Option<ArgumentVectors>,
    /// The same arguments with CLIP vectors.
    pub clip_arguments: Option<ArgumentVectors>,
}

impl Embeddings {
    /// Embeds the questions and their prompts, as far as the approach uses them. Notes say which channels are off.
    ///
    /// # Errors
    /// The store, the store of model outputs or a model fails.
    pub(crate) fn of_questions(
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
        let uses_sentences = [
            RelevanceChannel::SentenceOcr,
            RelevanceChannel::SentenceTitle,
            RelevanceChannel::SentenceNear,
        ]
        .iter()
        .any(|channel| settings.uses_channel(*channel));
        if beliefs || uses_sentences {
            let texts: Vec<String> = questions.iter().map(|q| q.words.clone()).collect();
            if let Some(vectors) = embed(store, reader, QueryEncoder::Sentence, &texts, notes)? {
                for (topic, vector) in embeddings.topics.iter_mut().zip(vectors) {
                    topic.words = Some(vector);
                }
            }
        }
        if beliefs || settings.uses_channel(RelevanceChannel::ClipTopic) {
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

    /// Adds the mean vectors of the prompts of each group: three groups for each topic, then one for each kind of picture. `vectors` has one
    /// for each prompt.
    fn add_prompts(&mut self, groups: &[prompts::Group], vectors: &[Vec<f32>]) {
        let mut vectors = vectors;
        let mut means = Vec::new();
        for group in groups {
            let (of_group, rest) = vectors.split_at(group.prompts.len().min(vectors.len()));
            vectors = rest;
            means.push((group.role, mean_direction(of_group)));
        }
        let mut means = means.into_iter();
        for topic in &mut self.topics {
            let group = [means.next(), means.next(), means.next()];
            if let [Some((_, about)), Some((_, pro)), Some((_, con))] = group {
                topic.clip = Some([about, pro, con]);
            }
        }
        self.kinds = means
            .map(|(role, vector)| KindVector {
                is_argumentative: role == Role::Argumentative,
                vector,
            })
            .collect();
    }

    /// Searches for arguments about each topic, and embeds them. If `on_progress` returns `false`, this stops with an error.
    ///
    /// # Errors
    /// The index, a store or a model fails, or the user has stopped the run.
    pub(crate) fn add_arguments(
        &mut self,
        arguments: &Arguments,
        questions: &[Question],
        store: &Store,
        reader: &mut Reader,
        notes: &mut Vec<String>,
        on_progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        if self
            .topics
            .iter()
            .all(|t| t.words.is_none() && t.clip.is_none())
        {
            notes.push(
                "likeness to arguments is off: it needs vectors of sentences or of CLIP, and this run has neither"
                    .to_owned(),
            );
            return Ok(());
        }
        for (topic, question) in self.topics.iter_mut().zip(questions) {
            ensure!(on_progress(0), STOPPED);
            let sentences = argument_sentences(arguments, question, reader)?;
            let texts: Vec<String> = sentences.iter().map(|s| s.text.clone()).collect();
            let (mut words, mut clip) = (None, None);
            if topic.words.is_some() {
                words = embed(store, reader, QueryEncoder::Sentence, &texts, notes)?;
            }
            if topic.clip.is_some() {
                clip = embed(store, reader, QueryEncoder::Clip, &texts, notes)?;
            }
            let are_embedded = words.is_some() || clip.is_some();
            let compare = |vectors| ArgumentVectors::new(sentences.clone(), vectors?);
            topic.arguments = compare(words);
            topic.clip_arguments = compare(clip);
            // without vectors, `embed` has noted why
            if are_embedded && topic.arguments.is_none() && topic.clip_arguments.is_none() {
                notes.push(format!(
                    "too few arguments for both sides of \"{}\": likeness to arguments is off for this topic",
                    question.claim
                ));
            }
        }
        Ok(())
    }
}

/// The vectors of query texts by the model that made the evidence. They are read from the store of model outputs or, if that model is
/// installed, computed. Otherwise the result is `None`, and a note says why.
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
        // without the model, the extraction has already noted that the channel is off
        if reader.installed(encoder).is_some() {
            notes.push(format!("{channel} is off: the store has no such evidence"));
        }
        return Ok(None);
    };
    // after " of " follow the producers of the texts, which do not matter for queries
    let model = producer.split(" of ").next().unwrap_or_default();
    let vectors = reader.query_vectors(encoder, model, texts)?;
    if vectors.is_none() {
        notes.push(format!(
            "{channel} is off: its evidence was made by {model}, which is not installed to embed the topics"
        ));
    }
    Ok(vectors)
}
