//! The plan and the pipeline of the text tasks: from a collection and topics to the lines of a run.

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

use super::description::{RunDescription, described};
use super::finished::MadeRun;
use super::open_collection::TextsKey;
use super::plan::{OnRun, Resolved, RunTarget};
use super::run_files::OutputSettings;
use super::service::SearchEngine;
use crate::collection::texts::open_collection;
use crate::debate::PER_SIDE;
use crate::debate::sheet::DebateSheet;
use crate::events::{Event, OnEvent, Stage, of_approach, run_stage};
use crate::evidence::sentence::Sentences;
use crate::files::RUN_FILE;
use crate::files::explanations::Explanations;
use crate::index::ScoredDoc;
use crate::index::inverted::{self, IndexDamage, IndexingBudget, InvertedIndex, TextCollection};
use crate::index::wordnet::WordNet;
use crate::ingest::extraction_settings::{CollectionSource, Session};
use crate::lazy::Lazy;
use crate::presence::JudgedTopics;
use crate::reading::cross::CrossEncoder;
use crate::reading::ranking_steps::RankingStep;
use crate::reading::stance_encoder::StanceEncoder;
use crate::reading::{self, Reader};
use crate::recipes::NamedApproach;
use crate::recipes::text_approach::TextApproach;
use crate::score::reranker::RerankerNeed;
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

/// The texts that are ranked, and the approaches, in a plan.
pub(super) struct PlannedTexts<'a> {
    task: TextTask,
    /// The workspace of the collection.
    base: PathBuf,
    runs: Vec<(TextApproach, TextsToRank, RunTarget<'a>)>,
}

/// What answers an approach.
enum TextsToRank {
    /// The collection, whose indexes and models are opened when the approach has its turn.
    Stored,
    /// The collection, which is open.
    Open(Arc<OpenTexts>),
    /// A search engine on the web. There is no collection on this machine.
    SearchEngine(SearchEngine),
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

/// Checks that these approaches can be used together for a task.
///
/// # Errors
/// One asks a service, although there are others, or although the task does not allow it; or a key is given, and none asks a service.
fn check_services(task: TextTask, found: &[&TextApproach], key_file: Option<&Path>) -> Result<()> {
    match found.iter().find(|approach| approach.service.is_some()) {
        Some(asking) => {
            ensure!(
                task == TextTask::Comparative,
                "{} asks a search engine for web pages, and only `comparative` can do that",
                asking.name
            );
            ensure!(
                found.len() == 1,
                "{} asks a search engine and searches no collection: run it without other approaches",
                asking.name
            );
        }
        None => ensure!(
            key_file.is_none(),
            "--key-file is for approaches that ask a service, such as chatnoir"
        ),
    }
    Ok(())
}

impl<'a> PlannedTexts<'a> {
    /// Reads the topics, and finds what is open.
    ///
    /// # Errors
    /// A file cannot be read or written, or the approaches do not fit each other.
    pub fn plan(
        resolved: &mut Resolved<'a>,
        task: TextTask,
        approaches: &[&TextApproach],
        output: Option<&'a OutputSettings>,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let (wishes, source) = (resolved.wishes, &resolved.source);
        check_services(task, approaches, wishes.key_file.as_deref())?;
        resolved.topics = wishes.read_topics(&source.input, on_event)?;
        let names: Vec<NamedApproach> =
            approaches.iter().map(|approach| approach.named()).collect();
        let targets = wishes.targets(RUN_FILE, &names, output)?;
        let mut documents = Vec::with_capacity(approaches.len());
        for approach in approaches {
            let key = texts_key(source, task, approach);
            let open = resolved.kept.and_then(|kept| kept.texts.find(&key));
            documents.push(match (&approach.service, open) {
                (Some(engine), _) => TextsToRank::SearchEngine(SearchEngine::new(
                    engine,
                    wishes.key_file.as_deref(),
                )?),
                (None, Some(open)) => TextsToRank::Open(open),
                (None, None) => TextsToRank::Stored,
            });
        }
        let open = documents.iter().find_map(|documents| match documents {
            TextsToRank::Open(open) => Some(open.base.clone()),
            _ => None,
        });
        let find = || source.session.places.texts(&source.input, on_event);
        let base = open.map_or_else(find, Ok)?;
        let runs = approaches.iter().zip(documents).zip(targets);
        let runs = runs.map(|((approach, texts), target)| ((*approach).clone(), texts, target));
        Ok(PlannedTexts {
            task,
            base,
            runs: runs.collect(),
        })
    }

    /// Makes one run with each approach. The first ranking opens or builds the indexes.
    ///
    /// # Errors
    /// The collection, a model, an index, a store or a service fails, or the user has stopped the run.
    pub fn run(
        self,
        resolved: &Resolved,
        stop: &AtomicBool,
        on_event: &mut OnEvent,
        on_run: &mut OnRun,
    ) -> Result<()> {
        let (source, wishes) = (&resolved.source, resolved.wishes);
        let (task, base, topics) = (self.task, &self.base, &resolved.topics);
        let several = self.runs.len() > 1;
        for (n, (approach, texts, target)) in self.runs.into_iter().enumerate() {
            // the first run reads the collection, and reports its faults
            let (is_first, RunTarget { tag, files }) = (n == 0, target);
            let name = approach.name.clone();
            let keep = files.as_ref().map(|files| files.keep(topics.len()));
            let settings = TextRunSettings {
                // reading the first documents of many topics would take as long as a search that does nothing else
                ranking: TextRankingSettings {
                    parts: wishes.parts,
                    explain: wishes.explain,
                    judge: wishes.explain || approach.rerank.is_some() || topics.len() == 1,
                    keep: keep.unwrap_or_default(),
                    approach,
                },
                tag,
                debate: wishes.debate,
                stances: !wishes.without_stances,
            };
            of_approach(several, &name, on_event, |on_event| {
                let mut description = described(task, &source.input, topics, &settings);
                let approach = &settings.ranking.approach;
                let open = |on_event: &mut OnEvent| {
                    let rehash = source.rehash && is_first;
                    OpenTexts::open(source, task, approach, base, rehash, on_event)
                };
                let made = match (texts, resolved.kept) {
                    (TextsToRank::SearchEngine(engine), _) => {
                        let run = engine.run(topics, &settings, base, stop, on_event)?;
                        MadeRun::Asked(Box::new(run))
                    }
                    (texts, kept) => {
                        let open = match (texts, kept) {
                            (TextsToRank::Open(open), _) => open,
                            (_, Some(kept)) => kept
                                .texts
                                .get(texts_key(source, task, approach), || open(on_event))?,
                            (_, None) => Arc::new(open(on_event)?),
                        };
                        let run = open.rank(topics, &settings, stop, on_event)?;
                        if is_first {
                            run.indexes.report_faults(on_event)?;
                        }
                        describe(&run, &mut description);
                        MadeRun::Searched(Box::new(run))
                    }
                };
                resolved.finish(made, description, files.as_ref(), on_event, on_run)
            })?;
        }
        Ok(())
    }
}

/// All that decides what is open for an approach.
fn texts_key(source: &CollectionSource, task: TextTask, approach: &TextApproach) -> TextsKey {
    TextsKey {
        source: source.clone(),
        task,
        recipe: approach.text.clone(),
    }
}

/// Adds what is known of a run when it is finished.
fn describe(run: &FinishedTextRun, description: &mut RunDescription) {
    let documents = run.indexes.first().map_or(0, InvertedIndex::documents);
    description.documents = documents as usize;
    description.models.clone_from(&run.models);
    description.offsets.clone_from(&run.offsets);
}

/// A collection of texts, opened for an approach: the models, which are loaded when they are first used, and the indexes. It can rank for one
/// request after the other.
pub(crate) struct OpenTexts {
    task: TextTask,
    input: PathBuf,
    /// The path beside which the indexes and the model outputs are stored.
    base: PathBuf,
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
            effort: IndexingBudget::on(source.session.threads)?,
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
                on_event(Event::Index(inverted::IndexEvent::Damaged(damage.what())));
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
            let on_progress = &mut |done, outputs| {
                on_event(Event::Progress {
                    done,
                    total,
                    outputs,
                });
            };
            rank::run(
                topics,
                sources,
                ranking,
                tag,
                stop,
                on_progress,
                |topic, sources, ranking, on_outputs| {
                    match task {
                        TextTask::Controversial => {
                            let explained = &mut ranking.explained;
                            controversial::explain_stances(topic, sources, explained, on_outputs)?;
                        }
                        TextTask::Comparative if settings.stances => {
                            return comparative::stances(
                                topic, sources, approach, ranking, on_outputs,
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
        let (models, compute) = (&session.models, session.options.precision.compute);
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
