//! Image retrieval for arguments: from stored evidence and topics to a run.
//!
//! For each topic: every image's relevance from all channels, the best hundred as candidates, for
//! each of them whether it argues and for which side, and of these the lists whose expected measure
//! is the largest. A score is `relevance × (1 + argues + stance)`: with probabilities, the expected
//! number of the three official measures to which the image would count.

use std::collections::BTreeMap;

use anyhow::Result;

use super::approach::{
    ArgumentRecipe, ImageApproach, RelevanceChannel as R, Scale, Sentiment, StanceRecipe,
};
use crate::evidence::clip::Clip;
use crate::evidence::sentence::Sentences;
use crate::evidence::store::Store;
use crate::evidence::{Channel, Part};
use crate::index::images::{Field, Image, ImageIndex};
use crate::index::prompts::{self, Role};
use crate::index::query::{self, Polarity, Query, TopicParts};
use crate::score::argument::{self, AramisFeatures, PictureFeatures};
use crate::score::select::{self, Candidate, LIST_LENGTH};
use crate::score::stance::{self, PRIORS, StanceSignals};
use crate::score::{Opinion, weighted_mean, weighted_mean_opened};
use crate::trec::explained::{ExplainedImage, Listed};
use crate::trec::run::ImageRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, Stance, TopicId};

/// Candidates a topic: five times as many as are listed, so that stance has a choice, few enough
/// that it cannot lift what is off topic.
const POOL: usize = 100;

/// What a user sets.
#[derive(Clone, Debug)]
pub struct Settings {
    pub approach: ImageApproach,
    pub parts: TopicParts,
    /// Images may stand in both lists of a topic.
    pub overlap: bool,
    pub tag: String,
}

/// The models that embed topics, where they are here.
#[derive(Clone, Copy, Default)]
pub struct Encoders<'a> {
    pub clip: Option<&'a Clip>,
    pub sentences: Option<&'a Sentences>,
}

/// A run, and how it came about.
#[derive(Debug)]
pub struct ImageRanking {
    /// By topic in the order of the topics, PRO then CON, by rank.
    pub lines: Vec<ImageRunLine>,
    /// One a candidate: by topic, best first.
    pub explained: Vec<ExplainedImage>,
    /// What a user should know: lists that are short, channels that are off.
    pub notes: Vec<String>,
}

/// Ranks the images for the topics.
///
/// Errors are about the store or a model.
pub fn rank(
    index: &mut ImageIndex,
    store: &mut Store,
    encoders: Encoders,
    topics: &[Topic],
    settings: &Settings,
) -> Result<ImageRanking> {
    let queries: Vec<Query> = topics
        .iter()
        .map(|topic| query::read(topic, settings.parts))
        .collect();
    let mut ranking = ImageRanking {
        lines: Vec::new(),
        explained: Vec::new(),
        notes: Vec::new(),
    };
    let asked = Asked::embed(
        store,
        encoders,
        topics,
        &queries,
        settings,
        &mut ranking.notes,
    )?;
    for ((topic, query), vectors) in topics.iter().zip(&queries).zip(&asked.topics) {
        let relevance = relevance(index, topic, query, vectors, settings)?;
        let candidates = judge(
            index,
            topic,
            query,
            vectors,
            &asked.kinds,
            &relevance,
            settings,
        );
        list(topic, candidates, settings, &mut ranking);
    }
    Ok(ranking)
}

/// Vectors of what the topics ask; empty where a channel is off.
struct Asked {
    topics: Vec<TopicVectors>,
    /// One a kind of picture: whether it argues, and its vector.
    kinds: Vec<(bool, Vec<f32>)>,
}

#[derive(Default)]
struct TopicVectors {
    /// Sentence vectors of the query, the claim and the counter-claim.
    words: Option<[Vec<f32>; 3]>,
    /// CLIP vectors of the prompts about the topic, for it and against it.
    clip: Option<[Vec<f32>; 3]>,
}

impl Asked {
    fn embed(
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
            let texts: Vec<String> = queries
                .iter()
                .flat_map(|q| [q.words.clone(), q.claim.clone(), q.counter_claim.clone()])
                .collect();
            let embed = encoders
                .sentences
                .map(|model| (model.producer(), |texts: &[&str]| model.embed(texts)));
            if let Some(vectors) = query_vectors(store, Channel::Sentence, &texts, embed, notes)? {
                let mut vectors = vectors.into_iter();
                for topic in &mut asked.topics {
                    if let (Some(a), Some(b), Some(c)) =
                        (vectors.next(), vectors.next(), vectors.next())
                    {
                        topic.words = Some([a, b, c]);
                    }
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
            let embed = encoders
                .clip
                .map(|model| (model.producer(), |texts: &[&str]| model.embed_texts(texts)));
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
}

/// The vectors of query texts by the model that the evidence was made with: kept ones, else by the
/// model itself, if it is here. None, with a note, if the channel cannot be used.
fn query_vectors(
    store: &mut Store,
    channel: Channel,
    texts: &[String],
    embed: Option<(String, impl Fn(&[&str]) -> Result<Vec<Vec<f32>>>)>,
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

/// All opinions on the relevance of all images: for each channel its weight, and a value an image.
struct Relevance {
    columns: Vec<(R, f64, Vec<Option<f64>>)>,
}

impl Relevance {
    /// The opinions on the image of that number.
    fn opinions(&self, at: usize) -> Vec<Opinion> {
        self.columns
            .iter()
            .map(|(channel, weight, column)| Opinion {
                name: channel.word(),
                weight: *weight,
                value: column.get(at).copied().flatten(),
            })
            .collect()
    }
}

/// What each channel of the approach says of every image.
fn relevance(
    index: &mut ImageIndex,
    topic: &Topic,
    query: &Query,
    vectors: &TopicVectors,
    settings: &Settings,
) -> Result<Relevance> {
    let recipe = &settings.approach.relevance;
    let mut columns: Vec<(R, f64, Vec<Option<f64>>)> = Vec::new();
    for channel in R::ALL {
        let Some(&weight) = recipe.channels.get(&channel) else {
            continue;
        };
        let part = |part: Part, images: &[Image]| {
            let words = vectors.words.as_ref()?;
            Some(images.iter().map(|i| i.likeness(part, &words[0])).collect())
        };
        let column = match channel {
            R::Bm25Ocr => Some(bm25(index, Field::Ocr, query, recipe.scale)?),
            R::Bm25Title => Some(bm25(index, Field::Title, query, recipe.scale)?),
            R::Bm25Near => Some(bm25(index, Field::Near, query, recipe.scale)?),
            R::Bm25Main => Some(bm25(index, Field::Main, query, recipe.scale)?),
            R::SentenceOcr => part(Part::Ocr, &index.images),
            R::SentenceTitle => part(Part::Title, &index.images),
            R::SentenceNear => part(Part::Near, &index.images),
            R::ClipTopic => vectors.clip.as_ref().map(|clip| {
                index
                    .images
                    .iter()
                    .map(|i| i.clip_likeness(&clip[0]))
                    .collect()
            }),
            R::Crawl => Some(
                index
                    .images
                    .iter()
                    .map(|i| best_crawl_rank(i, &topic.id, "").map(|rank| 1.0 / f64::from(rank)))
                    .collect(),
            ),
        };
        if let Some(mut column) = column {
            if recipe.scale == Scale::Unit {
                for value in column.iter_mut().flatten() {
                    *value = to_unit(channel, *value);
                }
            }
            columns.push((channel, weight, column));
        }
    }
    Ok(Relevance { columns })
}

fn bm25(
    index: &mut ImageIndex,
    field: Field,
    query: &Query,
    scale: Scale,
) -> Result<Vec<Option<f64>>> {
    let scores = index.bm25(field, &query.words)?;
    let best = scores.iter().copied().fold(0f32, f32::max);
    let divisor = match scale {
        Scale::Unit if best > 0.0 => f64::from(best),
        _ => 1.0,
    };
    Ok(scores
        .into_iter()
        .map(|score| (score > 0.0).then(|| f64::from(score) / divisor))
        .collect())
}

/// Cosines brought to [0, 1]. Those of CLIP's image and text vectors lie between about 0.15 (nothing
/// to do with each other) and 0.35.
fn to_unit(channel: R, value: f64) -> f64 {
    match channel {
        R::ClipTopic => ((value - 0.15) / 0.2).clamp(0.0, 1.0),
        _ => value.clamp(0.0, 1.0),
    }
}

/// The best rank at which the crawl found the image by one of the topic's queries with that ending.
fn best_crawl_rank(image: &Image, topic: &TopicId, ending: &str) -> Option<u32> {
    image
        .rankings
        .iter()
        .filter(|r| r.topic == topic.0 && r.query.ends_with(ending))
        .map(|r| r.rank.max(1))
        .min()
}

/// A candidate and what its worth as PRO and as CON is made of.
struct Judged {
    id: DocId,
    phash: Option<u64>,
    pro: Option<Explanation>,
    con: Option<Explanation>,
}

/// Whether the candidates argue, and for which side.
fn judge(
    index: &ImageIndex,
    topic: &Topic,
    query: &Query,
    vectors: &TopicVectors,
    kinds: &[(bool, Vec<f32>)],
    relevance: &Relevance,
    settings: &Settings,
) -> Vec<Judged> {
    if settings.approach.stance == StanceRecipe::Crawl {
        return crawl_lists(index, topic);
    }
    let mut order: Vec<(f64, usize)> = (0..index.images.len())
        .map(|at| (weighted_mean(&relevance.opinions(at)), at))
        .filter(|(value, _)| *value > 0.0)
        .collect();
    // images are numbered by id
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.truncate(POOL);
    let pool: Vec<(&Image, Explanation)> = order
        .into_iter()
        .map(|(_, at)| {
            let opened = weighted_mean_opened("relevance", &relevance.opinions(at));
            (&index.images[at], opened)
        })
        .collect();

    let argues = argues(&pool, kinds, settings.approach.argument);
    let sides = sides(&pool, query, vectors, settings.approach.stance);
    pool.into_iter()
        .zip(argues)
        .zip(sides)
        .map(|(((image, relevance), argues), sides)| {
            let worth = |stance: Option<Explanation>| {
                stance.map(|stance| worth(&relevance, &argues, stance))
            };
            Judged {
                id: image.id.clone(),
                phash: image.picture.as_ref().map(|p| p.phash),
                pro: worth(sides.0),
                con: worth(sides.1),
            }
        })
        .collect()
}

fn worth(
    relevance: &Explanation,
    argues: &Option<Explanation>,
    stance: Explanation,
) -> Explanation {
    let mut factor = 1.0 + stance.value;
    let mut parts = vec![relevance.clone()];
    if let Some(argues) = argues {
        factor += argues.value;
        parts.push(argues.clone());
    }
    let names = match argues {
        Some(_) => "relevance × (1 + argues + stance)",
        None => "relevance × (1 + stance)",
    };
    parts.push(stance);
    Explanation {
        name: "worth".into(),
        value: relevance.value * factor,
        how: names.into(),
        parts,
    }
}

fn argues(
    pool: &[(&Image, Explanation)],
    kinds: &[(bool, Vec<f32>)],
    recipe: ArgumentRecipe,
) -> Vec<Option<Explanation>> {
    match recipe {
        ArgumentRecipe::None => pool.iter().map(|_| None).collect(),
        ArgumentRecipe::Picture => pool
            .iter()
            .map(|(image, _)| Some(argument::argues(&picture_features(image, kinds))))
            .collect(),
        ArgumentRecipe::Aramis => {
            let rows: Vec<[f64; 4]> = pool
                .iter()
                .map(|(image, _)| argument::aramis_argument(&aramis_features(image)))
                .collect();
            argument::mean_of_normalised(&rows)
                .into_iter()
                .map(|value| Some(Explanation::leaf("argues by the formula of Aramis", value)))
                .collect()
        }
    }
}

fn picture_features(image: &Image, kinds: &[(bool, Vec<f32>)]) -> PictureFeatures {
    let (words, claim_words, numbers) = argument::count_words(&image.ocr_text);
    let likest = |argues: bool| {
        kinds
            .iter()
            .filter(|(a, _)| *a == argues)
            .filter_map(|(_, vector)| image.clip_likeness(vector))
            .reduce(f64::max)
    };
    PictureFeatures {
        words,
        claim_words,
        numbers,
        // without a readable image there is nothing that could argue
        photograph: image
            .picture
            .as_ref()
            .map_or(1.0, |p| f64::from(p.photograph)),
        clip_kinds: likest(true).zip(likest(false)).map(|(a, b)| a - b),
    }
}

fn aramis_features(image: &Image) -> AramisFeatures {
    let sentiment = |part| image.vader_of(part).unwrap_or(0.0);
    let mut features = AramisFeatures {
        words: image.ocr_text.split_whitespace().count(),
        ocr_sentiment: sentiment(Part::Ocr),
        page_sentiment: sentiment(Part::Main),
        ..AramisFeatures::default()
    };
    if let Some(p) = &image.picture {
        features.area = f64::from(p.text_fraction);
        features.graphic = p.photograph < 0.5;
        features.red = f64::from(p.red);
        features.green = f64::from(p.green);
        features.bright = f64::from(p.bright);
        features.dark = f64::from(p.dark);
    }
    features
}

type Sides = (Option<Explanation>, Option<Explanation>);

fn sides(
    pool: &[(&Image, Explanation)],
    query: &Query,
    vectors: &TopicVectors,
    recipe: StanceRecipe,
) -> Vec<Sides> {
    match recipe {
        StanceRecipe::Beliefs => pool
            .iter()
            .map(|(image, _)| {
                let beliefs = stance::beliefs(&stance_signals(image, query, vectors), PRIORS);
                (Some(beliefs.pro), Some(beliefs.con))
            })
            .collect(),
        StanceRecipe::Sign { signal } => pool
            .iter()
            .map(|(image, _)| {
                let (name, value) = match signal {
                    Sentiment::AfinnMain => {
                        ("sign of AFINN over the page", image.afinn_of(Part::Main))
                    }
                    Sentiment::VaderTitle => {
                        ("sign of VADER over the title", image.vader_of(Part::Title))
                    }
                };
                by_sign(name, value.unwrap_or(0.0))
            })
            .collect(),
        StanceRecipe::Aramis => {
            let negative = query.polarity == Polarity::Against;
            let rows: Vec<[f64; 3]> = pool
                .iter()
                .map(|(image, _)| argument::aramis_stance(&aramis_features(image), negative))
                .collect();
            argument::mean_of_normalised(&rows)
                .into_iter()
                .map(|value| by_sign("sign of the formula of Aramis", value))
                .collect()
        }
        // the crawl's lists are made without candidates
        StanceRecipe::Crawl => Vec::new(),
    }
}

/// PRO above 0, CON below; the side itself is worth nothing more.
fn by_sign(name: &str, value: f64) -> Sides {
    let side = |wanted: bool| {
        wanted.then(|| Explanation {
            name: name.to_owned(),
            value: 0.0,
            how: format!("{value:.4}"),
            parts: Vec::new(),
        })
    };
    (side(value > 0.0), side(value < 0.0))
}

fn stance_signals(image: &Image, query: &Query, vectors: &TopicVectors) -> StanceSignals {
    let sign = query.polarity.sign();
    let claim = |part: Part| {
        let [_, claim, counter] = vectors.words.as_ref()?;
        Some(image.likeness(part, claim)? - image.likeness(part, counter)?)
    };
    StanceSignals {
        picture_leaning: stance::leaning(&image.ocr_text).map(|x| x * sign),
        near_leaning: stance::leaning(&image.near_text).map(|x| x * sign),
        picture_claim: claim(Part::Ocr),
        near_claim: claim(Part::Near),
        picture_valence: image.vader_of(Part::Ocr).map(|x| x * sign),
        near_valence: image.vader_of(Part::Near).map(|x| x * sign),
        clip: vectors
            .clip
            .as_ref()
            .and_then(|[_, pro, con]| Some(image.clip_likeness(pro)? - image.clip_likeness(con)?)),
    }
}

/// The Minsc baseline: the image search was asked for "… good" and "… anti", and its ranks are the lists.
fn crawl_lists(index: &ImageIndex, topic: &Topic) -> Vec<Judged> {
    let side = |image: &Image, ending: &str| {
        best_crawl_rank(image, &topic.id, ending).map(|rank| Explanation {
            name: format!("1 / best crawl rank of \"…{ending}\""),
            value: 1.0 / f64::from(rank),
            how: format!("rank {rank}"),
            parts: Vec::new(),
        })
    };
    index
        .images
        .iter()
        .map(|image| Judged {
            id: image.id.clone(),
            phash: None,
            pro: side(image, " good"),
            con: side(image, " anti"),
        })
        .filter(|judged| judged.pro.is_some() || judged.con.is_some())
        .collect()
}

/// Selects, and writes the topic's lines and explanations.
fn list(topic: &Topic, judged: Vec<Judged>, settings: &Settings, ranking: &mut ImageRanking) {
    let value = |e: &Option<Explanation>| e.as_ref().map(|e| e.value);
    let candidates: Vec<Candidate> = judged
        .iter()
        .map(|j| Candidate {
            doc: j.id.clone(),
            pro: value(&j.pro),
            con: value(&j.con),
            phash: j.phash,
        })
        .collect();
    let selected = select::select(&candidates, settings.overlap);
    for stance in Stance::BOTH {
        let count = selected.iter().filter(|s| s.stance == stance).count();
        if count < LIST_LENGTH {
            ranking.notes.push(format!(
                "topic {}: only {count} of {LIST_LENGTH} images for {stance}",
                topic.id
            ));
        }
    }
    let mut listed: BTreeMap<DocId, Vec<Listed>> = BTreeMap::new();
    for s in selected {
        listed.entry(s.doc.clone()).or_default().push(Listed {
            stance: s.stance,
            rank: s.rank,
            score: s.score,
        });
        ranking.lines.push(ImageRunLine {
            topic: topic.id.clone(),
            stance: s.stance,
            image: s.doc,
            rank: s.rank,
            score: s.score,
            tag: settings.tag.clone(),
        });
    }
    ranking
        .explained
        .extend(judged.into_iter().map(|j| ExplainedImage {
            topic: topic.id.clone(),
            listed: listed.remove(&j.id).unwrap_or_default(),
            image: j.id,
            pro: j.pro,
            con: j.con,
        }));
}
