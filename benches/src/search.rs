//! `riposte-bench search`: builds and queries a text index as a task does, and prints times and sizes. It is for bench_text.py and,
//! with `--run`, for trying out analyzers and similarities.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::passages::PassageCollection;
use riposte::collection::read_topics;
use riposte::index::analyzer::Analyzer;
use riposte::index::inverted::{IndexingBudget, InvertedIndex, TextCollection};
use riposte::index::search::{IndexQuery, QueryPart, SearchOptions};
use riposte::index::similarity::Similarity;
use riposte::runs::resources::Meter;
use serde_json::json;

#[derive(clap::Args)]
pub struct Options {
    /// The kind of collection
    #[arg(long, value_parser = ["arguments", "passages"])]
    kind: String,
    /// The collection: a directory or a file
    #[arg(short, long = "input", value_name = "DIR")]
    input: PathBuf,
    /// The topics whose titles are the queries
    #[arg(long, value_name = "FILE")]
    topics: PathBuf,
    /// The directory of the index
    #[arg(long, value_name = "DIR")]
    index: PathBuf,
    /// The analyzer
    #[arg(long, default_value = "stop=lucene stem=snowball")]
    analyzer: String,
    /// The similarity, as in a recipe
    #[arg(long, default_value = "name = \"bm25\", k1 = 1.2, b = 0.75")]
    similarity: String,
    /// Fields and their weights (default: the first field)
    #[arg(long, value_name = "FIELD=WEIGHT", value_delimiter = ',')]
    fields: Vec<String>,
    /// Also find duplicates and documents of fewer than 20 words
    #[arg(long)]
    all: bool,
    /// Number of documents per topic
    #[arg(long, default_value_t = 1000)]
    top: usize,
    /// Number of times that each query is asked
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Write the ranking as a run file
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    let collection = match options.kind.as_str() {
        "arguments" => TextCollection::Arguments(ArgumentCollection::open(&options.input)?),
        _ => TextCollection::Passages(PassageCollection::open(&options.input)?),
    };
    #[derive(serde::Deserialize)]
    struct Recipe {
        similarity: Similarity,
    }
    let recipe = format!("similarity = {{ {} }}", options.similarity);
    let similarity = toml::from_str::<Recipe>(&recipe)
        .with_context(|| format!("{:?} is not a similarity", options.similarity))?
        .similarity;
    let analyzer: Analyzer = options.analyzer.parse()?;
    let topics = read_topics(&options.topics)?;

    let (start, meter) = (Instant::now(), Meter::start());
    let index = InvertedIndex::open_or_build(
        &collection,
        &analyzer,
        &options.index,
        IndexingBudget::default(),
        &mut |_| {},
    )?;
    let built = start.elapsed().as_secs_f64();
    let built_cpu = cpu_seconds(&meter);
    let built_mb = peak_mb();
    let start = Instant::now();
    drop(InvertedIndex::open(&options.index)?);
    let opened = start.elapsed().as_secs_f64();

    let fields = fields(&index, &options.fields)?;
    let mut terms = index.meta().analyzer.build();
    let search_options = SearchOptions {
        k: options.top,
        short: options.all,
        duplicates: options.all,
        portals: None,
    };
    let mut run = String::new();
    let mut seconds = Vec::new();
    // each round asks all topics, so that no query finds its postings in the processor's cache
    for round in 0..options.rounds.max(1) {
        for topic in &topics {
            let start = Instant::now();
            let parts = fields.iter().map(|(field, weight)| {
                QueryPart::of_text(*field, *weight, &mut terms, &topic.title)
            });
            let query = IndexQuery {
                parts: parts.collect(),
            };
            let found = index.search(&query, &similarity, search_options)?;
            seconds.push(start.elapsed().as_secs_f64());
            if round == 0 {
                for (rank, found) in (1..).zip(&found) {
                    writeln!(
                        run,
                        "{} Q0 {} {rank} {:.9} bench",
                        topic.id, found.doc, found.score
                    )?;
                }
            }
        }
    }
    if let Some(path) = &options.run {
        fs::write(path, run).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let queries = seconds.len().max(1) as f64;
    let report = json!({
        "documents": index.documents(),
        "short": index.meta().short,
        "duplicates": index.meta().duplicates,
        "faults": index.meta().fault_count,
        "build_s": built,
        "build_cpu_s": built_cpu,
        "open_s": opened,
        "index_mb": size(&options.index)? as f64 / 1e6,
        "query_ms": 1e3 * seconds.iter().sum::<f64>() / queries,
        "peak_mb": built_mb,
    });
    println!("{report}");
    Ok(())
}

/// The numbers of the fields, with their weights.
fn fields(index: &InvertedIndex, wanted: &[String]) -> Result<Vec<(usize, f64)>> {
    if wanted.is_empty() {
        return Ok(vec![(0, 1.0)]);
    }
    wanted
        .iter()
        .map(|text| {
            let (name, weight) = text.split_once('=').unwrap_or((text, "1"));
            let field = index.field(name);
            match (field, weight.parse()) {
                (Some(field), Ok(weight)) => Ok((field, weight)),
                (None, _) => bail!(
                    "there is no field {name}; the fields are {}",
                    index.meta().fields.join(", ")
                ),
                _ => bail!("{weight:?} is not a weight"),
            }
        })
        .collect()
}

/// The size of the files in a directory, in bytes.
pub fn size(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// The peak of the resident memory in MB; none where the system does not report it.
fn peak_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kb: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kb / 1e3)
}

/// The processor seconds since the start of the meter; none where the system does not report them.
pub fn cpu_seconds(meter: &Meter) -> Option<f64> {
    let cpu = meter.used().cpu?;
    Some((cpu.user + cpu.system).as_secs_f64())
}
