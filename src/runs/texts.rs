//! The pipeline of the text tasks: from a collection and topics to the lines of a run.

mod notes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use riposte_eval::explained::ExplainedText;
use riposte_eval::run::TextRunLine;
use riposte_eval::topic::Topic;
use riposte_eval::{TextTask, TopicId};

use notes::note_cut_texts;

use crate::collection::texts::open_collection;
use crate::debate::PER_SIDE;
use crate::debate::sheet::DebateSheet;
use crate::events::{Event, OnEvent, RankingStep, Stage, run_stage};
use crate::evidence::sentence::Sentences;
use crate::files::explanations::Explanations;
use crate::index::ScoredDoc;
use crate::index::inverted::{self, IndexDamage, IndexingBudget, InvertedIndex, TextCollection};
use crate::index::wordnet::WordNet;
use crate::lazy::Lazy;
use crate::presence::JudgedTopics;
use crate::reading::cross::CrossEncoder;
use crate::reading::stance_encoder::StanceEncoder;
use crate::reading::{self, Reader};
use crate::recipes::text_approach::TextApproach;
use crate::score::reranker::RerankerNeed;
use crate::session::{CollectionSource, Session};
use crate::systems::text_clusters::ClusterLikeness;
use crate::texts::dense::{DenseSearch, DenseSources};
use crate::texts::indexes::{TextIndexes, damaged_shard, ensure_documents, shards_of};
use crate::texts::{
    Offsets, TextRankingSettings, TextRankingSources, comparative, controversial, dense, rank,
};
use crate::topic::question::{self, TopicParts};
use crate::weights::ModelRole;
use crate::workspace::Outputs;
use crate::{debate, models, presence};

/// How a run of texts is made.
pub(crate) struct TextRunSettings {
    pub ranking: TextRankingSettings,
    pub tag: String,
    /// Task 1: whether debate sheets are made.
    pub debate: bool,
    /// Task 2: whether the lines contain the stances of the passages.
    pub stances: bool,
}

/// A run, and figures about it.
pub struct FinishedTextRun {
    pub task: TextTask,
    pub lines: Vec<TextRunLine>,
    pub explained: Explanations<ExplainedText>,
    /// What was added to the scores of a topic's re-ranked documents.
    pub offsets: BTreeMap<TopicId, Offsets>,
    /// Which of the first documents are about their topic; empty if that was not judged.
    pub judged: JudgedTopics,
    /// One for each topic, if sheets were requested; otherwise empty.
    pub sheets: Vec<DebateSheet>,
    pub indexes: Arc<TextIndexes>,
    pub index_seconds: f64,
    pub rank_seconds: f64,
    /// The seconds of each step of the ranking; their sum is that of the ranking.
    pub steps: Vec<(RankingStep, f64)>,
    /// The installed models that the approach could use, each with its checksum.
    pub models: BTreeMap<String, String>,
}

/// A collection of texts, opened for an approach: the models, which are loaded when they are first used, and the indexes. It can rank for one
/// request after the other.
pub(crate) struct OpenTexts {
    task: TextTask,
    input: PathBuf,
    /// The path beside which the indexes and the model outputs are stored.
    pub(super) base: PathBuf,
    approach: TextApproach,
    effort: IndexingBudget,
    collection: TextCollection,
    resources: Resources,
    /// `None` until the first ranking.
    indexes: Mutex<Option<Arc<TextIndexes>>>,
}

impl OpenTexts {
    /// Finds the models and the files of the collection. Notes say which models are off. With `rehash`, all files of the collection are read and
    /// hashed to see if they have changed.
    ///
    /// # Errors
    /// The collection or a model cannot be opened.
    pub fn open(
        source: &CollectionSource,
        task: TextTask,
        approach: &TextApproach,
        base: &Path,
        rehash: bool,
        on_event: &mut OnEvent,
    ) -> Result<OpenTexts> {
        let resources = Resources::find(&source.session, approach, on_event)?;
        let collection = open_collection(task, &source.input)?;
        if rehash {
            inverted::forget_hashes(base)?;
        }
        Ok(OpenTexts {
            task,
            input: source.input.clone(),
            base: base.to_owned(),
            approach: approach.clone(),
            effort: source.session.indexing_budget()?,
            collection,
            resources,
            indexes: Mutex::default(),
        })
    }

    /// Ranks the documents for each topic, by the approach that it was opened for. The first ranking opens or builds the indexes, and reports what is
    /// faulty in the collection. If a stored text turns out to be damaged, the indexes are built again, and the ranking begins again.
    ///
    /// # Errors
    /// The collection, a model, an index or the store of model outputs fails.
    pub fn rank(
        &self,
        topics: &[Topic],
        settings: &TextRunSettings,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<FinishedTextRun> {
        self.note_before(topics, settings, on_event);
        match self.ranked(topics, settings, false, stop, on_event) {
            Err(error) => {
                let damage: IndexDamage = error.downcast()?;
                if matches!(self.collection, TextCollection::Shards(_)) {
                    return Err(damaged_shard(&damage));
                }
                if !damage.is_replaceable() {
                    return Err(damage.into());
                }
                on_event(damage.note());
                self.ranked(topics, settings, true, stop, on_event)
                    .context(damage.to_string())
            }
            ranked => ranked,
        }
    }

    /// The indexes. With `rebuild`, all of them are built again.
    fn indexes(&self, rebuild: bool, on_event: &mut OnEvent) -> Result<Arc<TextIndexes>> {
        let mut open = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(indexes) = open.as_ref().filter(|_| !rebuild) {
            return Ok(Arc::clone(indexes));
        }
        let (base, approach) = (&self.base, &self.approach);
        let opened = TextIndexes::open(
            &self.collection,
            base,
            approach,
            self.effort,
            rebuild,
            on_event,
        );
        let indexes = Arc::new(opened?);
        ensure_rankable(&indexes, approach, &self.input)?;
        *open = Some(Arc::clone(&indexes));
        Ok(indexes)
    }

    fn ranked(
        &self,
        topics: &[Topic],
        settings: &TextRunSettings,
        rebuild: bool,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<FinishedTextRun> {
        let start = Instant::now();
        let indexes = self.indexes(rebuild, on_event)?;
        let index_seconds = start.elapsed().as_secs_f64();

        let start = Instant::now();
        let resources = &self.resources;
        let outputs = Outputs::open_or_read(&self.base)?;
        let mut reader = Reader::new(resources.models(), outputs)?.until(stop);
        let rank::Ranked {
            lines,
            explained,
            offsets,
            judged,
            cut_texts,
        } = self.rank_topics(topics, settings, &indexes, &mut reader, stop, on_event)?;
        let sheets = match indexes.first().filter(|_| settings.debate) {
            Some(index) => {
                reader.enter(RankingStep::DebateSheets);
                run_stage(Stage::Debate, topics.len(), on_event, |on_event| {
                    debates(topics, index, &lines, &mut reader, on_event)
                })?
            }
            _ => Vec::new(),
        };
        note_cut_texts(&cut_texts, on_event);
        presence::note_nothing(topics, &judged, on_event);
        if let Some(note) = reader.note_of_damage() {
            on_event(Event::note(note));
        }
        if lines.is_empty() {
            on_event(Event::note(
                "no document has a word of a topic: the run is empty",
            ));
        }
        Ok(FinishedTextRun {
            task: self.task,
            lines,
            explained,
            offsets,
            judged,
            sheets,
            indexes,
            index_seconds,
            steps: reader.seconds(),
            rank_seconds: start.elapsed().as_secs_f64(),
            models: resources.names.clone(),
        })
    }

    /// Dense search and clusters, which need the vectors of all documents before the first topic is ranked.
    fn prepare_dense<'a>(
        &'a self,
        topics: &[Topic],
        parts: TopicParts,
        indexes: &'a TextIndexes,
        reader: &mut Reader,
        on_event: &mut OnEvent,
    ) -> Result<(Option<DenseSearch<'a>>, Option<ClusterLikeness>)> {
        let approach = &self.approach;
        reader.enter(RankingStep::SentenceVectors);
        let Some(index) = indexes.first() else {
            return Ok((None, None));
        };
        let words = |topic| question::read(topic, parts).words;
        let queries: Vec<String> = topics.iter().map(words).collect();
        let titles: Vec<&str> = topics.iter().map(|topic| topic.title.as_str()).collect();
        let sources = &mut DenseSources {
            index,
            reader,
            sentences: self.resources.sentences.as_deref(),
            base: &self.base,
            shards: &shards_of(&self.collection),
        };
        Ok((
            DenseSearch::prepare(approach, &queries, sources, on_event)?,
            dense::clusters(approach, &titles, sources, on_event)?,
        ))
    }

    /// The rankings of all topics.
    fn rank_topics(
        &self,
        topics: &[Topic],
        settings: &TextRunSettings,
        indexes: &TextIndexes,
        reader: &mut Reader,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
    ) -> Result<rank::Ranked> {
        let (task, approach) = (self.task, &self.approach);
        let TextRunSettings { ranking, tag, .. } = settings;
        let (dense, clusters) =
            self.prepare_dense(topics, ranking.parts, indexes, reader, on_event)?;
        let total = topics.len();
        run_stage(Stage::Ranking, total, on_event, |on_event| {
            let sources = &mut TextRankingSources {
                corpora: &indexes.by_retrieval(),
                reader,
                wordnet: self.resources.wordnet.as_ref(),
                dense: dense.as_ref(),
                clusters: clusters.as_ref(),
                cut_texts: BTreeMap::new(),
            };
            rank::run(
                topics,
                sources,
                ranking,
                tag,
                stop,
                on_event,
                |topic, sources, ranking, on_event| {
                    match task {
                        TextTask::Controversial => {
                            let explained = &mut ranking.explained;
                            controversial::explain_stances(topic, sources, explained, on_event)?;
                        }
                        TextTask::Comparative if settings.stances => {
                            return comparative::stances(
                                topic, sources, approach, ranking, on_event,
                            );
                        }
                        TextTask::Comparative | TextTask::Rank => {}
                    }
                    Ok(Vec::new())
                },
            )
        })
    }
}

/// The debate sheets of the topics, from the lines of the run.
fn debates(
    topics: &[Topic],
    index: &InvertedIndex,
    lines: &[TextRunLine],
    reader: &mut Reader,
    on_event: &mut OnEvent,
) -> Result<Vec<DebateSheet>> {
    let total = topics.len();
    let sheet = |(before, topic): (usize, &Topic)| {
        let of_topic = lines.iter().filter(|line| line.topic == topic.id);
        let scored = |line: &TextRunLine| {
            let doc = line.doc.clone();
            let score = line.score?;
            Some(ScoredDoc { doc, score })
        };
        let ranking: Vec<ScoredDoc> = of_topic.filter_map(scored).collect();
        let (sheet, _) = debate::with_texts(topic, index, &ranking, PER_SIDE, reader)?;
        on_event(Event::progress(before + 1, total));
        Ok(sheet)
    };
    topics.iter().enumerate().map(sheet).collect()
}

/// Checks that there is something to rank.
///
/// # Errors
/// No document can be read, or all are too short to be ranked.
fn ensure_rankable(indexes: &TextIndexes, approach: &TextApproach, input: &Path) -> Result<()> {
    let Some(index) = indexes.first() else {
        return Ok(());
    };
    let (documents, meta) = (index.documents(), index.meta());
    ensure_documents(index, input).context("nothing to rank")?;
    ensure!(
        approach.keeps().short || meta.short < u64::from(documents),
        "nothing to rank: all {documents} documents of {} have fewer than {} words",
        input.display(),
        inverted::SHORT_WORDS
    );
    Ok(())
}

/// The installed models and WordNet, as far as the approach uses them.
#[derive(Default)]
struct Resources {
    sentences: Option<Arc<Lazy<Sentences>>>,
    pairs: Option<Arc<Lazy<StanceEncoder>>>,
    cross: Option<Lazy<CrossEncoder>>,
    wordnet: Option<WordNet>,
    /// The names of the models, each with its checksum.
    names: BTreeMap<String, String>,
}

impl Resources {
    /// Finds the models and WordNet. Notes say which are off.
    fn find(session: &Session, approach: &TextApproach, on_event: &mut OnEvent) -> Result<Self> {
        let (models, compute) = (&session.models, session.compute());
        let mut found = Resources::default();
        if approach.retrieval.iter().any(|r| r.synonyms.is_some()) {
            found.wordnet = installed_wordnet(on_event)?;
        }
        let mut names = BTreeMap::new();
        let mut install = |role, name, off: &str, on_event: &mut OnEvent| {
            let model = models::find(models, role, name)?;
            if let Ok(model) = &model {
                names.insert(model.name.clone(), model.sha256.clone());
            }
            let note = |why| on_event(Event::note(format!("{off}: {why}")));
            anyhow::Ok(model.map_err(note).ok())
        };
        let off = "sentence vectors are off, except for stored ones";
        let name = approach.sentence_encoder(models);
        if let Some(model) = install(ModelRole::Sentence, name, off, on_event)? {
            found.sentences = Some(models::sentences(models, &model, compute));
        }
        if approach.needs(RerankerNeed::CrossEncoder) {
            let off = "the cross-encoder is off, except for stored scores";
            let model = install(ModelRole::Cross, None, off, on_event)?;
            found.cross = model.map(|model| models::cross(&model, compute));
        }
        match models::stance_base(models)? {
            Ok(base) => {
                found.pairs = Some(models::stance_encoder(models, &base, compute));
                names.insert(base.name, base.sha256);
            }
            // otherwise the note above says it
            Err(why) if found.sentences.is_some() => {
                on_event(Event::note(format!("stance depends only on words: {why}")));
            }
            Err(_) => {}
        }
        found.names = names;
        Ok(found)
    }

    fn models(&self) -> reading::ReadingModels<'_> {
        reading::ReadingModels {
            sentences: self.sentences.as_deref(),
            cross: self.cross.as_ref(),
            stance_encoder: self.pairs.as_deref(),
            ..reading::ReadingModels::default()
        }
    }
}

fn installed_wordnet(on_event: &mut OnEvent) -> Result<Option<WordNet>> {
    let Some(dir) = WordNet::find() else {
        on_event(Event::note(
            "synonyms are off: WordNet is not installed (set WNSEARCHDIR to its directory)",
        ));
        return Ok(None);
    };
    WordNet::open(&dir)
        .map(Some)
        .with_context(|| format!("cannot read WordNet in {}", dir.display()))
}
