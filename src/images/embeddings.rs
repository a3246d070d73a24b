//! The embeddings of topics, and of the arguments about them.

use anyhow::Result;
use riposte_eval::topic::Topic;

use super::ImageRankingSettings;
use crate::events::{Event, OnEvent};
use crate::evidence::channel::{self, Channel};
use crate::evidence::clip::Slot;
use crate::evidence::extract::without_inputs;
use crate::evidence::image_text::ImageTextLikeness;
use crate::evidence::store::Store;
use crate::index::vector::mean_direction;
use crate::reading::{QueryEncoder, Reader};
use crate::recipes::channels::CHANNELS;
use crate::recipes::image_approach::{ListForm, StanceRecipe};
use crate::score::signal::SignalNeed;
use crate::texts::likeness::{ArgumentVectors, Arguments, argument_sentences};
use crate::topic::prompts::{self, PromptRole};
use crate::topic::question::Question;

/// The embeddings of all topics of a run. Those of a channel that is off are missing.
pub(super) struct Embeddings {
    pub topics: Vec<TopicVectors>,
    /// The model that made the sentence vectors; `None` if they are off or not used.
    pub sentences: Option<String>,
    /// Empty if CLIP is off or not used.
    pub kinds: Vec<KindVector>,
    /// What the first and the second image-text model make of a cosine.
    likeness: [ImageTextLikeness; 2],
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
    /// By each image-text model, in the order of the [`Slot`]s; `None` if it is off or not used.
    pub prompts: [Option<PromptVectors>; 2],
    /// Arguments for the claim and against it, with sentence vectors.
    pub arguments: Option<ArgumentVectors>,
    /// The same arguments with CLIP vectors.
    pub clip_arguments: Option<ArgumentVectors>,
}

/// An image-text model's vectors of one topic.
pub(super) struct PromptVectors {
    /// The vector of the unchanged text that is to be conveyed.
    pub title: Vec<f32>,
    /// The mean vector of the prompts about the topic.
    pub about: Vec<f32>,
    /// The mean vectors of the prompts for the claim and of those against it; `None` if the claim has only one list, and for the second model.
    pub sides: Option<[Vec<f32>; 2]>,
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
        settings: &ImageRankingSettings,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let mut embeddings = Embeddings {
            topics: topics.iter().map(|_| TopicVectors::default()).collect(),
            sentences: None,
            kinds: Vec::new(),
            likeness: <[ImageTextLikeness; 2]>::default(),
        };
        let beliefs = settings.approach.stance == StanceRecipe::Beliefs;
        let relevance = &settings.approach.relevance;
        if beliefs || relevance.uses(|need| matches!(need, SignalNeed::Sentence(_))) {
            let texts: Vec<String> = questions.iter().map(|q| q.words.clone()).collect();
            if let Some(vectors) = embed(store, reader, QueryEncoder::Sentence, &texts, on_event)? {
                for (topic, vector) in embeddings.topics.iter_mut().zip(vectors) {
                    topic.words = Some(vector);
                }
                embeddings.sentences = model_of(store, QueryEncoder::Sentence)?;
            }
        }
        for model in Slot::ALL {
            // stances and kinds of pictures are estimated with the first model only
            let is_used = beliefs && model == Slot::First
                || relevance.uses(|need| need.image_text() == Some(model));
            if !is_used {
                continue;
            }
            let groups = prompt_groups(topics, questions, settings, model);
            let texts: Vec<String> = groups.iter().flat_map(|g| g.prompts.clone()).collect();
            let encoder = QueryEncoder::ImageText(model);
            if let Some(vectors) = embed(store, reader, encoder, &texts, on_event)? {
                embeddings.add_prompts(model, &groups, &vectors);
                if let Some(name) = model_of(store, encoder)? {
                    embeddings.likeness[model as usize] = reader.likeness(encoder, &name)?;
                }
            }
        }
        Ok(embeddings)
    }

    /// What an image-text model makes of a cosine.
    pub fn likeness(&self, model: Slot) -> ImageTextLikeness {
        self.likeness[model as usize]
    }

    /// Adds the mean vectors of the prompts of each group: for each topic one group about it and perhaps one for each side, then one for each kind of
    /// picture. `vectors` has one vector for each prompt.
    fn add_prompts(&mut self, model: Slot, groups: &[prompts::PromptGroup], vectors: &[Vec<f32>]) {
        let mut vectors = vectors;
        let mut topics = self.topics.iter_mut();
        let mut current = None;
        for group in groups {
            let (of_group, rest) = vectors.split_at(group.prompts.len().min(vectors.len()));
            vectors = rest;
            let mean = mean_direction(of_group);
            match group.role {
                // the first group of a topic; its first prompt is the title
                PromptRole::Topic => {
                    current = topics.next();
                    if let Some(topic) = &mut current {
                        topic.prompts[model as usize] = Some(PromptVectors {
                            title: of_group.first().cloned().unwrap_or_default(),
                            about: mean,
                            sides: None,
                        });
                    }
                }
                PromptRole::Pro | PromptRole::Con => {
                    let of_topic = current.as_mut();
                    if let Some(of_topic) = of_topic.and_then(|topic| topic.prompts[0].as_mut()) {
                        let sides = of_topic.sides.get_or_insert_default();
                        sides[usize::from(group.role == PromptRole::Con)] = mean;
                    }
                }
                PromptRole::Argumentative | PromptRole::Illustrative => {
                    self.kinds.push(KindVector {
                        is_argumentative: group.role == PromptRole::Argumentative,
                        vector: mean,
                    })
                }
            }
        }
    }

    /// Searches for arguments about each topic, and embeds them.
    ///
    /// # Errors
    /// The index, a store or a model fails, or the user has stopped the run.
    pub(crate) fn add_arguments(
        &mut self,
        arguments: &Arguments,
        questions: &[Question],
        store: &Store,
        reader: &mut Reader,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        let mut topics = self.topics.iter();
        if topics.all(|topic| topic.words.is_none() && topic.prompts[0].is_none()) {
            on_event(Event::note(
                "likeness to arguments is off: it needs vectors of sentences or of CLIP, and this run has neither",
            ));
            return Ok(());
        }
        for (topic, question) in self.topics.iter_mut().zip(questions) {
            on_event(Event::progress(0, questions.len()));
            reader.check_stopped()?;
            let sentences = argument_sentences(arguments, question, reader)?;
            let texts: Vec<String> = sentences.iter().map(|s| s.text.clone()).collect();
            let (mut words, mut clip) = (None, None);
            if topic.words.is_some() {
                words = embed(store, reader, QueryEncoder::Argument, &texts, on_event)?;
            }
            if topic.prompts[0].is_some() {
                clip = embed(
                    store,
                    reader,
                    QueryEncoder::ImageText(Slot::First),
                    &texts,
                    on_event,
                )?;
            }
            let are_embedded = words.is_some() || clip.is_some();
            let compare = |vectors| ArgumentVectors::new(sentences.clone(), vectors?);
            topic.arguments = compare(words);
            topic.clip_arguments = compare(clip);
            // without vectors, `embed` has noted why
            if are_embedded && topic.arguments.is_none() && topic.clip_arguments.is_none() {
                on_event(Event::note(format!(
                    "too few arguments for both sides of \"{}\": likeness to arguments is off for this topic",
                    question.claim
                )));
            }
        }
        Ok(())
    }
}

/// The prompts for an image-text model: for each topic one group about it and, for the first model, perhaps one for each side, then one for each kind
/// of picture.
fn prompt_groups(
    topics: &[Topic],
    questions: &[Question],
    settings: &ImageRankingSettings,
    model: Slot,
) -> Vec<prompts::PromptGroup> {
    let mut groups: Vec<prompts::PromptGroup> = match settings.approach.form {
        ListForm::Stances => (topics.iter().zip(questions))
            .flat_map(|(topic, question)| {
                prompts::topic_groups(
                    &topic.title,
                    Some(&question.claim),
                    Some(&question.counter_claim),
                )
            })
            .chain(prompts::kind_groups())
            .collect(),
        ListForm::Claims => {
            let relevance = &settings.approach.relevance;
            let all = relevance.uses(|need| matches!(need, SignalNeed::About(of) if of == model));
            let about = topics.iter();
            about
                .map(|topic| prompts::about(topic.conveyed(), all))
                .collect()
        }
    };
    if model == Slot::Second {
        groups.retain(|group| group.role == PromptRole::Topic);
    }
    groups
}

/// The model that made this evidence; `None` if the store has none.
fn model_of(store: &Store, encoder: QueryEncoder) -> Result<Option<String>> {
    let producer = store.producer(encoder.channel())?;
    // the producers of the texts do not matter for queries
    Ok(producer.map(|producer| without_inputs(&producer).to_owned()))
}

/// The vectors of query texts by the model that made the evidence. They are read from the store of model outputs or, if that model is
/// installed, computed. Otherwise the result is `None`, and a note says why.
fn embed(
    store: &Store,
    reader: &mut Reader,
    encoder: QueryEncoder,
    texts: &[String],
    on_event: &mut OnEvent,
) -> Result<Option<Vec<Vec<f32>>>> {
    let channel = encoder.channel();
    let must_be_named = channel::find(CHANNELS, channel).is_some_and(Channel::only_if_named);
    let Some(model) = model_of(store, encoder)? else {
        // without the model, the extraction has already noted that the channel is off
        if reader.installed(encoder).is_some() {
            on_event(Event::note(format!(
                "{channel} is off: the store has no such evidence"
            )));
        } else if must_be_named {
            on_event(Event::note(format!(
                "{channel} is off: the store has no such evidence, and --{channel} names no model to compute it"
            )));
        }
        return Ok(None);
    };
    let vectors = reader.query_vectors(encoder, &model, texts)?;
    if vectors.is_none() && must_be_named && reader.installed(encoder).is_none() {
        on_event(Event::note(format!(
            "{channel} is off: its evidence was made by {model}, and --{channel} does not name this model to embed the topics"
        )));
    } else if vectors.is_none() {
        on_event(Event::note(format!(
            "{channel} is off: its evidence was made by {model}, which is not installed to embed the topics"
        )));
    }
    Ok(vectors)
}
