//! `images`, `extract`, `read` and `merge`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::files::{default_store, default_topics, write_whole};
use super::models::{self, load_ocr, pair_encoder, ready};
use super::progress::Counted;
use super::texts::{Indices, effort, say_verified};
use super::{
    CollectionArgs, ExtractArgs, ImagesArgs, KeptArgs, MergeArgs, NumericArg, ReadArgs, say,
};
use crate::collection::images::{ImageCollection, bytes_of};
use crate::collection::read_topics;
use crate::evidence::Channel;
use crate::evidence::extract::{self, Extent, Shard, Summary, Tools};
use crate::evidence::lazy::Lazy;
use crate::evidence::ocr::backend;
use crate::evidence::pair::PairEncoder;
use crate::evidence::picture;
use crate::evidence::sentiment::{Afinn, Vader};
use crate::evidence::store::Store;
use crate::index;
use crate::index::corpus::{self, Kind};
use crate::index::images::ImageIndex;
use crate::index::query::TopicParts;
use crate::nn::conv::Numeric;
use crate::task::approach::{ImageApproach, RelevanceChannel, StanceRecipe};
use crate::task::images::{Encoders, Settings, rank};
use crate::task::likeness::Arguments;
use crate::task::text_approach::TextApproach;
use crate::trec::{FaultKind, TextTask, explained, run};
use crate::weights::{CheckedModel, Models, Role};

/// `riposte images`: retrieves images and writes run.txt. Returns the exit code.
pub fn images(args: &ImagesArgs) -> Result<u8> {
    let approach = ImageApproach::find(&args.approach)?;
    let collection = open(&args.collection)?;
    let topics_file = match &args.topics {
        Some(file) => file.clone(),
        None => default_topics(&args.collection.input),
    };
    let topics = read_topics(&topics_file)?;
    let tag = args
        .tag
        .clone()
        .unwrap_or_else(|| match approach.name.as_str() {
            "riposte" => "riposte".to_owned(),
            name => format!("riposte-{}", name.replace(char::is_whitespace, "-")),
        });
    let settings = Settings {
        approach,
        parts: TopicParts {
            description: args.parts.iter().any(|p| p == "description"),
            narrative: args.parts.iter().any(|p| p == "narrative"),
        },
        overlap: args.overlap,
        tag,
    };
    let uses = settings.approach.stance == StanceRecipe::Beliefs
        || settings
            .approach
            .relevance
            .channels
            .contains_key(&RelevanceChannel::Arguments);
    if args.arguments.is_some() && !uses {
        bail!(
            "--arguments: the approach {} does not use any",
            settings.approach.name
        );
    }
    // opened first, so that an error in them is not found after hours of extraction
    let arguments = args
        .arguments
        .as_deref()
        .map(|file| Corpora::open(file, &args.collection));
    let arguments = arguments.transpose()?;
    let mut work = Work::prepare(&args.collection)?;
    std::fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot make the output directory {}", args.output.display()))?;
    let summary = work.extract(&args.collection, &collection, Shard::WHOLE)?;
    if summary.stopped {
        bail!("stopped before the end: the same command goes on where it was; no run was written");
    }

    let start = Instant::now();
    let count = args.collection.limit.unwrap_or(usize::MAX);
    let ids = collection
        .entries()
        .iter()
        .take(count)
        .map(|e| e.id.clone());
    let dir = corpus::directory(work.store.path(), Kind::Images, &index::images::analyzer());
    let mut shown = Counted::new("documents indexed", 0, args.collection.quiet);
    let effort = effort(args.collection.threads)?;
    let opened = index::images::open(&mut work.store, &dir, effort, &mut |event| {
        shown.hear(event);
    });
    shown.end();
    let (corpus, _) = opened?;
    if args.collection.verbose {
        say_verified(&corpus);
    }
    let index = ImageIndex::new(corpus, ids);
    let indexed = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let pairs = match settings.approach.stance {
        StanceRecipe::Beliefs => work.pair_encoder()?,
        _ => None,
    };
    let encoders = Encoders {
        clip: work.tools.clip.as_ref(),
        sentences: work.tools.sentences.as_ref(),
        pairs: pairs.as_ref(),
    };
    let corpus = arguments.as_ref().map(Corpora::arguments).transpose()?;
    let mut shown = Counted::new("topics", topics.len(), args.collection.quiet);
    let stop = work.stop.clone();
    let ranking = rank(
        &index,
        &mut work.store,
        encoders,
        corpus,
        &topics,
        &settings,
        &mut |done| {
            shown.show(done, 0, "");
            !stop.load(Ordering::Relaxed)
        },
    );
    shown.end();
    let ranking = ranking?;
    let ranked = start.elapsed().as_secs_f64();
    for note in &ranking.notes {
        eprintln!("note: {note}");
    }
    let run_file = args.output.join("run.txt");
    write_whole(&run_file, run::write_images(&ranking.lines)?.as_bytes())?;
    if let Some(path) = &args.explain {
        write_whole(path, &explained::write(&ranking.explained)?)?;
    }
    if !args.collection.quiet {
        let stages = [("index", indexed), ("rank", ranked)];
        work.table(&summary, &stages)?;
        eprintln!(
            "{} lines for {} topics in {}",
            ranking.lines.len(),
            topics.len(),
            run_file.display()
        );
    }
    Ok(report_faults(&args.collection, &summary))
}

/// The arguments that images are compared with. They are searched by the default approach to Task 1.
struct Corpora {
    indices: Indices,
    approach: TextApproach,
}

impl Corpora {
    fn open(file: &Path, args: &CollectionArgs) -> Result<Self> {
        let approach = TextApproach::find(TextTask::Controversial, "riposte")?;
        let kept = KeptArgs {
            index: None,
            threads: args.threads,
            quiet: args.quiet,
            verbose: args.verbose,
        };
        let indices = Indices::open(file, TextTask::Controversial, &kept, &approach)
            .with_context(|| format!("cannot use the arguments in {}", file.display()))?;
        indices.report(kept.quiet, kept.verbose);
        Ok(Corpora { indices, approach })
    }

    fn arguments(&self) -> Result<Arguments<'_>> {
        let corpus = self.indices.first().context("no index of the arguments")?;
        let retrieval = self.approach.retrieval.first().context("no retrieval")?;
        Ok(Arguments { corpus, retrieval })
    }
}

/// `riposte extract`: computes the evidence and no run. Returns the exit code.
pub fn extract(args: &ExtractArgs) -> Result<u8> {
    let collection = open(&args.collection)?;
    let mut work = Work::prepare(&args.collection)?;
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let summary = work.extract(&args.collection, &collection, shard)?;
    if summary.stopped {
        bail!("stopped before the end: the same command goes on where it was");
    }
    if !args.collection.quiet {
        work.table(&summary, &[])?;
        eprintln!("evidence in {}", work.store.path().display());
    }
    Ok(report_faults(&args.collection, &summary))
}

/// `riposte read`: prints the text in image files. Returns the exit code: 1 if one of them cannot be decoded.
pub fn read(args: &ReadArgs) -> Result<u8> {
    let models = Models::at(args.models.as_deref())?;
    let reader = match ready(&models, Role::Ocr, args.ocr.as_deref())? {
        Ok(model) => load_ocr(&model, args.numeric.mode())?,
        Err(why) => bail!("{why}"),
    };
    eprintln!("ocr: {}", backend::describe(reader.backends()));
    let mut code = 0;
    for path in &args.images {
        let image = bytes_of(path)
            .map_err(anyhow::Error::msg)
            .and_then(|bytes| picture::decode(&bytes));
        let image = match image {
            Ok(image) => image.image,
            Err(error) => {
                eprintln!("{}: {error:#}", path.display());
                code = 1;
                continue;
            }
        };
        let start = Instant::now();
        let lines = reader
            .read(&image)
            .with_context(|| format!("cannot read the text in {}", path.display()))?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let lines: Vec<_> = lines
            .iter()
            .map(|l| json!({"text": l.text, "confidence": l.confidence, "corners": l.corners}))
            .collect();
        let line = json!({"path": path, "ms": ms, "lines": lines});
        say(&format_args!("{line}\n"))?;
    }
    Ok(code)
}

/// `riposte merge`: copies the evidence of shards into one store.
pub fn merge(args: &MergeArgs) -> Result<u8> {
    let mut store = Store::open(&args.into)?;
    for shard in &args.shards {
        let came = store.merge(shard)?;
        say(&format_args!("{}: {came} documents\n", shard.display()))?;
    }
    Ok(0)
}

fn open(args: &CollectionArgs) -> Result<ImageCollection> {
    let collection = ImageCollection::open(&args.input)?;
    if collection.entries().is_empty() {
        bail!("{} holds no image", args.input.join("images").display());
    }
    Ok(collection)
}

/// The tools, the store, and the flag that ^C sets.
struct Work {
    models: Models,
    tools: Tools,
    /// For each channel with a model: the model's name, or why there is none.
    state: BTreeMap<Channel, String>,
    store: Store,
    stop: Arc<AtomicBool>,
}

impl Work {
    /// The pair encoder. If the model that it was trained from is missing, None, and a note on stderr.
    fn pair_encoder(&self) -> Result<Option<Lazy<PairEncoder>>> {
        match ready(&self.models, Role::Sentence, None)? {
            Ok(model) => pair_encoder(&model),
            Err(why) => {
                eprintln!("note: stance of texts goes by words alone, but for what is kept: {why}");
                Ok(None)
            }
        }
    }

    fn prepare(args: &CollectionArgs) -> Result<Self> {
        let models = Models::at(args.models.as_deref())?;
        let mut state = BTreeMap::new();
        let tools = load_tools(&models, args, &mut state)?;
        for channel in &args.require {
            if !tools.has(*channel) {
                bail!(
                    "--require {channel}: {}",
                    state.get(channel).map_or("it is not here", String::as_str)
                );
            }
        }
        for (channel, why) in &state {
            if !tools.has(*channel) {
                eprintln!("note: {channel} is off: {why}");
            }
        }
        let store = Store::open(&match &args.evidence {
            Some(file) => file.clone(),
            None => default_store(&args.input, "--evidence")?,
        })?;
        if args.numeric == NumericArg::Float
            && let Some(int8) = store.numerics(Channel::Ocr)?.get(&Some(Numeric::Int8))
        {
            eprintln!(
                "note: --numeric float: stored text that was read in int8 is kept (images: {int8}); with another file as --evidence, all text is read in floats"
            );
        }
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            eprintln!("\nstopping after the images, or the topic, at work; again to stop at once (nothing that is stored is lost)");
        })
        .context("cannot watch for ^C")?;
        Ok(Work {
            models,
            tools,
            state,
            store,
            stop,
        })
    }

    fn extract(
        &mut self,
        args: &CollectionArgs,
        collection: &ImageCollection,
        shard: Shard,
    ) -> Result<Summary> {
        let threads = args.threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let images = collection.entries().len();
        let total = args.limit.unwrap_or(usize::MAX).min(images);
        let mut shown = Counted::new("images' evidence", total, args.quiet);
        let summary = extract::extract(
            collection,
            &mut self.store,
            &self.tools,
            Extent {
                shard,
                limit: args.limit,
                threads,
            },
            &self.stop,
            &mut |progress| {
                // a shard has fewer documents
                shown.set_total(progress.total);
                shown.show(progress.done, 0, "");
            },
        );
        shown.end();
        summary
    }

    /// What computes the networks, if this run has loaded them, and the numbers of stored evidence, if those differ from image to
    /// image.
    fn ocr_backend(&self) -> Result<String> {
        let mut text = String::new();
        if let Some(reader) = self.tools.ocr.as_ref().and_then(Lazy::loaded) {
            text = format!("; {}", backend::describe(reader.backends()));
        }
        let numerics = self.store.numerics(Channel::Ocr)?;
        if numerics.len() > 1 {
            let counts: Vec<String> = numerics
                .into_iter()
                .map(|(numeric, count)| {
                    let word = numeric.map_or("unknown numbers", Numeric::word);
                    format!("{count} in {word}")
                })
                .collect();
            text.push_str(&format!("; stored: {}", counts.join(", ")));
        }
        Ok(text)
    }

    /// Prints how many documents each channel has, and the seconds spent in each stage.
    fn table(&self, summary: &Summary, more_stages: &[(&'static str, f64)]) -> Result<()> {
        eprintln!(
            "{} images, {} of them new or changed",
            summary.documents, summary.computed
        );
        for channel in Channel::ALL {
            let count = summary.channels.get(&channel).copied().unwrap_or(0);
            let state = match (self.tools.has(channel), count) {
                (true, _) => "on",
                (false, 0) => "off",
                (false, _) => "kept",
            };
            let why = self.state.get(&channel).map_or("", String::as_str);
            let backend = match channel {
                Channel::Ocr => self.ocr_backend()?,
                _ => String::new(),
            };
            eprintln!(
                "  {:<9} {state:<5} {count:>6} images  {why}{backend}",
                channel.word()
            );
        }
        let elements: Vec<String> = self
            .store
            .elements()?
            .iter()
            .map(|(found, count, named)| {
                let how = match found.as_str() {
                    "xpath" => "by XPath",
                    "url" => "by URL",
                    _ => "not found",
                };
                format!("{how} {count} ({named} name the image)")
            })
            .collect();
        eprintln!("  images' elements in pages: {}", elements.join(", "));
        let stages: Vec<String> = summary
            .seconds
            .iter()
            .chain(more_stages)
            .filter(|(_, seconds)| *seconds >= 0.05)
            .map(|(stage, seconds)| format!("{stage} {seconds:.1}"))
            .collect();
        eprintln!("  thread-seconds: {}", stages.join(", "));
        if summary.computed > 0 {
            eprintln!(
                "  workers were busy {:.0}% of the time",
                100.0 * summary.busy
            );
        }
        Ok(())
    }
}

/// Finds the models that are installed; they are loaded when they are used.
///
/// # Errors
/// A model that is asked for by name is missing, or an installed model is damaged: going on without it would look like success.
fn load_tools(
    known: &Models,
    args: &CollectionArgs,
    state: &mut BTreeMap<Channel, String>,
) -> Result<Tools> {
    let mut of_role =
        |channel: Channel, role: Role, wanted: Option<&str>| -> Result<Option<CheckedModel>> {
            let ready = ready(known, role, wanted)?;
            state.insert(
                channel,
                match &ready {
                    Ok(model) => model.name.clone(),
                    Err(why) => why.clone(),
                },
            );
            Ok(ready.ok())
        };
    let ocr = of_role(Channel::Ocr, Role::Ocr, args.ocr.as_deref())?
        .map(|model| models::ocr(model, args.numeric.mode()));
    let clip = of_role(Channel::Clip, Role::Clip, args.clip.as_deref())?;
    let clip = clip.as_ref().map(models::clip);
    let sentences = of_role(Channel::Sentence, Role::Sentence, None)?;
    let sentences = sentences.as_ref().map(models::sentences);
    let afinn = match of_role(Channel::Afinn, Role::Lexicon, None)? {
        Some(model) => Some((Afinn::load(&model.path("AFINN-en-165.txt"))?, model.sha256)),
        None => None,
    };
    Ok(Tools {
        ocr,
        clip,
        sentences,
        vader: Vader::new(),
        afinn,
    })
}

/// Prints the number of faults of each kind, and the faults, unless `verbose` only the first few. Returns the exit code.
fn report_faults(args: &CollectionArgs, summary: &Summary) -> u8 {
    const NAMED: usize = 10;
    if summary.faults.is_empty() {
        return 0;
    }
    let mut kinds: BTreeMap<FaultKind, usize> = BTreeMap::new();
    for fault in &summary.faults {
        *kinds.entry(fault.kind).or_default() += 1;
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, n)| format!("{} {n}", kind.word()))
        .collect();
    eprintln!("{} faults: {}", summary.faults.len(), kinds.join(", "));
    let named = match args.verbose {
        true => summary.faults.len(),
        false => NAMED,
    };
    for fault in summary.faults.iter().take(named) {
        eprintln!("  {fault}");
    }
    if summary.faults.len() > named {
        eprintln!("  … (-v names them all)");
    }
    1
}
