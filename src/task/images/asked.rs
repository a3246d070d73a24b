//! What the topics ask, as vectors, and what was said about them.

use anyhow::{Result, ensure};

use super::super::approach::{RelevanceChannel as R, StanceRecipe};
use super::super::likeness::{self, Arguments, Said, Sides};
use super::super::reading::Reader;
use super::{Encoders, Settings};
use crate::evidence::Channel;
use crate::evidence::store::Store;
use crate::index::prompts::{self, Role};
use crate::index::query::Query;
use crate::trec::topic::Topic;

/// Vectors of what the topics ask; empty where a channel is off.
pub(super) struct Asked {
    pub topics: Vec<TopicVectors>,
    /// One a kind of picture: whether it argues, and its vector.
    pub kinds: Vec<(bool, Vec<f32>)>,
}

#[derive(Default)]
pub(super) struct TopicVectors {
    /// Sentence vector of the query.
    pub words: Option<Vec<f32>>,
    /// CLIP vectors of the prompts about the topic, for it and against it.
    pub clip: Option<[Vec<f32>; 3]>,
    /// What was said for the topic's claim and against it: sentence vectors, and CLIP's.
    pub sides: Option<Sides>,
    pub clip_sides: Option<Sides>,
}

impl Asked {
    pub fn embed(
        store: &mut Store,
        encoders: Encoders,
        topics: &[Topic],
        queries: &[Query],
        settings: &Settings,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let mut asked = Asked {
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
            let texts: Vec<String> = queries.iter().map(|q| q.words.clone()).collect();
            let embed = encoders
                .sentences
                .map(|model| (model.producer(), |texts: &[&str]| model.get()?.embed(texts)));
            if let Some(vectors) = query_vectors(store, Channel::Sentence, &texts, embed, notes)? {
                for (topic, vector) in asked.topics.iter_mut().zip(vectors) {
                    topic.words = Some(vector);
                }
            }
        }
        if beliefs || uses(&[R::ClipTopic]) {
            let groups: Vec<prompts::Group> = topics
                .iter()
                .zip(queries)
                .flat_map(|(topic, query)| {
                    prompts::topic_groups(
                        &topic.title,
                        Some(&query.claim),
                        Some(&query.counter_claim),
                    )
                })
                .chain(prompts::kind_groups())
                .collect();
            let texts: Vec<String> = groups.iter().flat_map(|g| g.prompts.clone()).collect();
            let embed = encoders.clip.map(|model| {
                (model.producer(), |texts: &[&str]| {
                    model.get()?.embed_texts(texts)
                })
            });
            if let Some(vectors) = query_vectors(store, Channel::Clip, &texts, embed, notes)? {
                let mut vectors = vectors.as_slice();
                let mut ensembles = Vec::new();
                for group in &groups {
                    let (own, rest) = vectors.split_at(group.prompts.len().min(vectors.len()));
                    vectors = rest;
                    ensembles.push((group.role, prompts::ensemble(own)));
                }
                let mut ensembles = ensembles.into_iter();
                for topic in &mut asked.topics {
                    if let (Some(a), Some(b), Some(c)) =
                        (ensembles.next(), ensembles.next(), ensembles.next())
                    {
                        topic.clip = Some([a.1, b.1, c.1]);
                    }
                }
                asked.kinds = ensembles
                    .map(|(role, vector)| (role == Role::Argumentative, vector))
                    .collect();
            }
        }
        Ok(asked)
    }

    /// Looks for what was said about each topic.
    ///
    /// Errors: the index, the store or a model fails.
    pub fn hear(
        &mut self,
        arguments: &Arguments,
        queries: &[Query],
        (reader, store): (&Reader, &mut Store),
        encoders: Encoders,
        notes: &mut Vec<String>,
        told: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        for (topic, query) in self.topics.iter_mut().zip(queries) {
            ensure!(
                told(0),
                "stopped before the end: what has been read is kept"
            );
            let said = likeness::said(arguments, query, reader, store)?;
            let texts: Vec<String> = said.iter().map(|s| s.text.clone()).collect();
            let embed = encoders
                .sentences
                .map(|model| (model.producer(), |texts: &[&str]| model.get()?.embed(texts)));
            if topic.words.is_some() {
                let vectors = query_vectors(store, Channel::Sentence, &texts, embed, notes)?;
                topic.sides = sides(&said, vectors);
            }
            let embed = encoders.clip.map(|model| {
                (model.producer(), |texts: &[&str]| {
                    model.get()?.embed_texts(texts)
                })
            });
            if topic.clip.is_some() {
                let vectors = query_vectors(store, Channel::Clip, &texts, embed, notes)?;
                topic.clip_sides = sides(&said, vectors);
            }
            if topic.sides.is_none() && topic.clip_sides.is_none() {
                notes.push(format!(
                    "too few arguments for both sides of \"{}\": likeness to them says nothing there",
                    query.claim
                ));
            }
        }
        Ok(())
    }
}

fn sides(said: &[Said], vectors: Option<Vec<Vec<f32>>>) -> Option<Sides> {
    Sides::new(said.to_vec(), vectors?)
}

/// The vectors of query texts by the model that the evidence was made with: kept ones, else by the
/// model itself, if it is here. None, with a note, if the channel cannot be used.
fn query_vectors(
    store: &mut Store,
    channel: Channel,
    texts: &[String],
    embed: Option<(&str, impl Fn(&[&str]) -> Result<Vec<Vec<f32>>>)>,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<Vec<f32>>>> {
    let Some(made_by) = store.producer(channel)? else {
        // without its model too, the channel has been said to be off
        if embed.is_some() {
            notes.push(format!("{channel} is off: there is no such evidence"));
        }
        return Ok(None);
    };
    // a producer's name may go on with what its evidence was made from
    let made_by = made_by.split(" of ").next().unwrap_or_default().to_owned();
    let mut vectors = Vec::with_capacity(texts.len());
    let mut missing: Vec<&str> = Vec::new();
    for text in texts {
        let vector = store.query_vector(&made_by, text)?;
        if vector.is_none() && !missing.contains(&text.as_str()) {
            missing.push(text);
        }
        vectors.push(vector);
    }
    if !missing.is_empty() {
        match embed {
            Some((producer, embed)) if producer == made_by => {
                let new: Vec<(String, Vec<f32>)> = missing
                    .iter()
                    .map(|text| (*text).to_owned())
                    .zip(embed(&missing)?)
                    .collect();
                for (text, vector) in texts.iter().zip(&mut vectors) {
                    if vector.is_none() {
                        *vector = new.iter().find(|(t, _)| t == text).map(|(_, v)| v.clone());
                    }
                }
                store.keep_query_vectors(&made_by, &new)?;
            }
            _ => {
                notes.push(format!(
                    "{channel} is off: its evidence was made by {made_by}, which is not here to embed the topics"
                ));
                return Ok(None);
            }
        }
    }
    Ok(vectors.into_iter().collect())
}
