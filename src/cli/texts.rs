//! `controversial`, `comparative` and `index`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::files::{default_store, default_topics, write_whole};
use super::models::{self, pair_encoder, ready};
use super::progress::Counted;
use super::{ComparativeArgs, ControversialArgs, KeptArgs, TextArgs};
use crate::collection::arguments::ArgumentCollection;
use crate::collection::passages::PassageCollection;
use crate::collection::read_topics;
use crate::index::corpus::{self, Corpus, Effort, Meta, TextCollection, Verified};
use crate::index::wordnet::WordNet;
use crate::nn::lazy::Lazy;
use crate::reading::cross::Cross;
use crate::reading::outputs::OutputStore;
use crate::reading::{self, Reader};
use crate::task::text_approach::{Rerank, TextApproach};
use crate::task::texts::{Settings, Sources};
use crate::task::{comparative, controversial};
use crate::topic::question::TopicParts;
use crate::trec::explained::{self, ExplainedText};
use crate::trec::run::{self, TextRunLine};
use crate::trec::topic::Topic;
use crate::trec::{DocId, Fault, TextTask};
use crate::weights::{Models, Role};

/// `riposte controversial`: from arguments to run.txt.
pub fn controversial(args: &ControversialArgs) -> Result<u8> {
    retrieve(&args.texts, TextTask::Controversial, &mut |work, told| {
        let Work {
            topics,
            settings,
            tag,
            ..
        } = work;
        controversial::run(topics, &mut work.sources, settings, tag, told)
    })
}

/// `riposte comparative`: from passages to run.txt.
pub fn comparative(args: &ComparativeArgs) -> Result<u8> {
    let stances = !args.no_stance;
    retrieve(&args.texts, TextTask::Comparative, &mut |work, told| {
        let Work {
            topics,
            settings,
            tag,
            ..
        } = work;
        if stances {
            for topic in topics.iter().filter(|topic| topic.objects.is_none()) {
                eprintln!(
                    "note: topic {} names no two objects: its lines say Q0",
                    topic.id
                );
            }
        }
        comparative::run(topics, &mut work.sources, settings, stances, tag, told)
    })
}

/// Where the indices of a text collection and the vectors beside them are kept.
pub fn base(input: &Path, kept: &KeptArgs) -> Result<PathBuf> {
    match &kept.index {
        Some(dir) => {
            std::fs::create_dir_all(dir)
                .with_context(|| format!("cannot make the directory {}", dir.display()))?;
            Ok(dir.join("texts.sqlite"))
        }
        None => default_store(input, "--index"),
    }
}

/// So many threads, or one for each core.
pub fn effort(threads: Option<usize>) -> Result<Effort> {
    let mut effort = Effort::default();
    if let Some(threads) = threads {
        ensure!(threads > 0, "--threads is at least 1");
        effort.threads = threads;
    }
    Ok(effort)
}

/// What was verified of an index before it ranks.
pub fn say_verified(corpus: &Corpus) {
    let Verified {
        files,
        bytes,
        seconds,
    } = corpus.verified();
    eprintln!(
        "  index verified: {files} files, {:.1} MB, {seconds:.3} s",
        bytes as f64 / 1e6
    );
}

/// What a directory's files are named after.
pub fn task_of(input: &Path) -> Option<TextTask> {
    if !input.is_dir() {
        None
    } else if ArgumentCollection::open(input).is_ok() {
        Some(TextTask::Controversial)
    } else if PassageCollection::open(input).is_ok() {
        Some(TextTask::Comparative)
    } else {
        None
    }
}

/// The ids of the documents that can be read, as `verify` asks for them. Errors: there is no such collection.
pub fn ids(task: TextTask, input: &Path) -> Result<HashSet<DocId>> {
    fn all<T>(
        documents: impl Iterator<Item = Result<T, Fault>>,
        id: impl Fn(T) -> DocId,
    ) -> HashSet<DocId> {
        documents
            .filter_map(|document| document.ok().map(&id))
            .collect()
    }
    Ok(match collection(task, input)? {
        TextCollection::Arguments(arguments) => all(arguments.arguments(), |a| a.id),
        TextCollection::Passages(passages) => all(passages.passages(), |p| p.id),
    })
}

pub fn collection(task: TextTask, input: &Path) -> Result<TextCollection> {
    Ok(match task {
        TextTask::Controversial => TextCollection::Arguments(ArgumentCollection::open(input)?),
        TextTask::Comparative => TextCollection::Passages(PassageCollection::open(input)?),
    })
}

/// What ranking needs, ready.
struct Work<'a, 'm> {
    topics: &'a [Topic],
    settings: &'a Settings,
    tag: &'a str,
    sources: Sources<'a, 'm>,
}

type Lines = (Vec<TextRunLine>, Vec<ExplainedText>);

/// Hears how many topics are done, and how much is made for the next.
type Told<'a> = dyn FnMut(usize, usize) + 'a;

/// A task's own part of the road.
type Rank<'a> = dyn FnMut(&mut Work, &mut Told) -> Result<Lines> + 'a;

/// The road that both tasks share; `rank` is what is their own.
fn retrieve(args: &TextArgs, task: TextTask, rank: &mut Rank) -> Result<u8> {
    let kept = &args.kept;
    let approach = TextApproach::find(task, &args.approach)?;
    let topics_file = match &args.topics {
        Some(file) => file.clone(),
        None => default_topics(&args.input),
    };
    let topics = read_topics(&topics_file)?;
    let tag = args
        .tag
        .clone()
        .unwrap_or_else(|| match approach.name.as_str() {
            "riposte" => "riposte".to_owned(),
            name => format!("riposte-{}", name.replace(char::is_whitespace, "-")),
        });
    let wordnet = match approach.retrieval.iter().any(|r| r.synonyms.is_some()) {
        true => installed_wordnet()?,
        false => None,
    };
    let known = Models::at(args.models.as_deref())?;
    let (sentences, pairs) = match ready(&known, Role::Sentence, None)? {
        Ok(model) => (Some(models::sentences(&model)), pair_encoder(&model)?),
        Err(why) => {
            eprintln!("note: sentence vectors are off but for those that are kept: {why}");
            (None, None)
        }
    };
    let reads_pairs = |rerank: &Rerank| rerank.weights.cross > 0.0;
    let cross = match approach.rerank.as_ref().is_some_and(reads_pairs) {
        true => installed_cross(&known)?,
        false => None,
    };
    std::fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot make the output directory {}", args.output.display()))?;
    let start = Instant::now();
    let indices = Indices::open(&args.input, task, kept, &approach)?;
    let indexed = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let outputs = OutputStore::open(&indices.base.with_extension("vectors.sqlite"))?;
    let installed = reading::Models {
        clip: None,
        sentences: sentences.as_ref(),
        cross: cross.as_ref(),
        pairs: pairs.as_ref(),
    };
    let mut reader = Reader::new(installed, outputs)?;
    let corpora: Vec<&Corpus> = indices.of.iter().map(|at| &indices.corpora[*at]).collect();
    let settings = Settings {
        approach,
        parts: TopicParts {
            description: args.parts.iter().any(|p| p == "description"),
            narrative: args.parts.iter().any(|p| p == "narrative"),
        },
        explain: args.explain.is_some(),
    };
    let mut work = Work {
        topics: &topics,
        settings: &settings,
        tag: &tag,
        sources: Sources {
            corpora: &corpora,
            reader: &mut reader,
            wordnet: wordnet.as_ref(),
        },
    };
    let mut shown = Counted::new("topics", topics.len(), kept.quiet);
    let result = rank(&mut work, &mut |done, made| {
        shown.show(done, made, "vectors and scores of the next")
    });
    shown.end();
    let (lines, explained) = result?;
    let ranked = start.elapsed().as_secs_f64();

    let run_file = args.output.join("run.txt");
    write_whole(&run_file, run::write_texts(&lines)?.as_bytes())?;
    if let Some(path) = &args.explain {
        write_whole(path, &explained::write(&explained)?)?;
    }
    let code = indices.report(kept.quiet, kept.verbose);
    if !kept.quiet {
        eprintln!("  seconds: index {indexed:.1}, rank {ranked:.1}");
        eprintln!(
            "{} lines for {} topics in {}",
            lines.len(),
            topics.len(),
            run_file.display()
        );
    }
    Ok(code)
}

fn installed_cross(known: &Models) -> Result<Option<Lazy<Cross>>> {
    match ready(known, Role::Cross, None)? {
        Ok(model) => Ok(Some(models::cross(&model))),
        Err(why) => {
            eprintln!("note: the cross-encoder is off but for the scores that are kept: {why}");
            Ok(None)
        }
    }
}

fn installed_wordnet() -> Result<Option<WordNet>> {
    match WordNet::find() {
        Some(dir) => WordNet::open(&dir)
            .map(Some)
            .with_context(|| format!("cannot use the WordNet in {}", dir.display())),
        None => {
            eprintln!(
                "note: synonyms are off: there is no WordNet here (WNSEARCHDIR names its directory)"
            );
            Ok(None)
        }
    }
}

/// The indices that an approach searches.
pub struct Indices {
    /// Where they are kept, and the vectors beside them.
    base: PathBuf,
    /// One an analyzer.
    corpora: Vec<Corpus>,
    /// For each retrieval, which of them.
    of: Vec<usize>,
}

impl Indices {
    /// Opens the indices, and builds those that are not there.
    pub fn open(
        input: &Path,
        task: TextTask,
        kept: &KeptArgs,
        approach: &TextApproach,
    ) -> Result<Self> {
        Self::open_or_rebuild(input, task, kept, approach, false)
    }

    /// The same; with `rebuild` all are built, even over damaged ones.
    pub fn open_or_rebuild(
        input: &Path,
        task: TextTask,
        kept: &KeptArgs,
        approach: &TextApproach,
        rebuild: bool,
    ) -> Result<Self> {
        let collection = collection(task, input)?;
        let base = base(input, kept)?;
        let effort = effort(kept.threads)?;
        let mut indices = Indices {
            base,
            corpora: Vec::new(),
            of: Vec::new(),
        };
        for retrieval in &approach.retrieval {
            let analyzer = &retrieval.analyzer;
            let known = indices
                .corpora
                .iter()
                .position(|c| c.meta().analyzer == *analyzer);
            if let Some(at) = known {
                indices.of.push(at);
                continue;
            }
            let dir = corpus::directory(&indices.base, collection.kind(), analyzer);
            let mut shown = Counted::new("documents indexed", 0, kept.quiet);
            let open = match rebuild {
                true => Corpus::rebuild,
                false => Corpus::open_or_build,
            };
            let opened = open(&collection, analyzer, &dir, effort, &mut |event| {
                shown.hear(event);
            });
            shown.end();
            indices.of.push(indices.corpora.len());
            indices.corpora.push(opened?);
        }
        if kept.verbose {
            indices.corpora.iter().for_each(say_verified);
        }
        Ok(indices)
    }

    /// All of them.
    pub fn all(&self) -> &[Corpus] {
        &self.corpora
    }

    /// That of the approach's first retrieval.
    pub fn first(&self) -> Option<&Corpus> {
        self.corpora.first()
    }

    /// Says what is in the collection and names its faults. The exit code.
    pub fn report(&self, quiet: bool, verbose: bool) -> u8 {
        const NAMED: usize = 10;
        let Some(meta) = self.corpora.first().map(Corpus::meta) else {
            return 0;
        };
        let Meta {
            duplicates,
            short,
            repeated_ids,
            fault_count,
            faults,
            ..
        } = meta;
        let documents = self.corpora.first().map_or(0, Corpus::documents);
        if !quiet {
            eprintln!(
                "{documents} documents, {short} of them with fewer than {} words, {duplicates} with the words of another; {repeated_ids} left out because their id was there already",
                corpus::SHORT_WORDS
            );
        }
        if *fault_count == 0 {
            return 0;
        }
        eprintln!("{fault_count} faults");
        let named = if verbose { faults.len() } else { NAMED };
        for fault in faults.iter().take(named) {
            eprintln!("  {fault}");
        }
        if *fault_count > named as u64 {
            eprintln!("  …");
        }
        1
    }
}
