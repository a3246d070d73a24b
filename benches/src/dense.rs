//! `riposte-bench dense`: encodes a collection of arguments and searches its vectors, for bench_dense.py.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::read_topics;
use riposte::evidence::sentence::Sentences;
use riposte::index::analyzer::Analyzer;
use riposte::index::dense::{SearchUnit, Vectors, VectorsKey};
use riposte::index::inverted::{IndexingBudget, InvertedIndex, TextCollection};
use riposte::index::passages::{PassageWindows, Passages};
use riposte::index::search::SearchOptions;
use riposte_nn::transformer::Backend;
use serde_json::json;

#[derive(clap::Args)]
pub struct Options {
    /// The collection of arguments
    #[arg(short, long = "input", value_name = "DIR")]
    input: PathBuf,
    /// The topics whose titles are the queries
    #[arg(long, value_name = "FILE")]
    topics: PathBuf,
    /// The directory for the index and the vectors
    #[arg(long, value_name = "DIR")]
    index: PathBuf,
    /// The checkpoint of the sentence encoder
    #[arg(long, value_name = "DIR")]
    encoder: PathBuf,
    /// Number of words at the beginning of each argument that are encoded
    #[arg(long, default_value_t = 100)]
    words: usize,
    /// Number of documents per topic
    #[arg(long, default_value_t = 1000)]
    top: usize,
    /// Number of searches that are timed
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Write documents.f32 and queries.f32, the vectors as little-endian floats, and found.json to this directory
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    let collection = TextCollection::Arguments(ArgumentCollection::open(&options.input)?);
    let analyzer = Analyzer::default();
    let dir = options.index.join("words.index");
    let effort = IndexingBudget::default();
    let index = InvertedIndex::open_or_build(&collection, &analyzer, &dir, effort, &mut |_| {})?;
    let model = Sentences::load(&options.encoder, Backend::Auto)?;
    let wanted = VectorsKey {
        field: "premises".to_owned(),
        passages: Passages::Windows(PassageWindows {
            words: options.words,
            step: options.words,
            most: 1,
        }),
        producer: Sentences::producer_of(&options.encoder, "bench"),
    };
    let file = options.index.join(riposte::workspace::FILE);
    let encode = |texts: &[&str]| Ok((model.embed(texts)?, model.numeric()));
    let mut open = || Vectors::open(&index, &wanted, &file, &[], Some(&encode), &mut |_| {});
    let (_, encode_s) = timed(&mut open)?;
    let (vectors, load_s) = timed(&mut open)?;
    let vectors = vectors.context("the vectors are not complete")?;

    let topics = read_topics(&options.topics)?;
    let titles: Vec<&str> = topics.iter().map(|topic| topic.title.as_str()).collect();
    let queries = model.embed(&titles)?;
    let search_options = SearchOptions {
        k: options.top,
        short: true,
        duplicates: true,
        portals: None,
    };
    let search = |queries: &[Vec<f32>]| {
        vectors.search(&index, queries, SearchUnit::Documents, search_options)
    };
    let mut found = search(&queries)?;
    let (mut all_s, mut each_s) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let (results, seconds) = timed(&mut || search(&queries))?;
        found = results;
        all_s.push(seconds);
        let each = &mut || -> Result<()> {
            for query in queries.chunks(1) {
                search(query)?;
            }
            Ok(())
        };
        each_s.push(timed(each)?.1);
    }
    if let Some(dir) = &options.dump {
        fs::create_dir_all(dir)?;
        let write = |name: &str, vectors: &mut dyn Iterator<Item = Vec<f32>>| -> Result<()> {
            let mut file = BufWriter::new(fs::File::create(dir.join(name))?);
            for number in vectors.flatten() {
                file.write_all(&number.to_le_bytes())?;
            }
            Ok(file.flush()?)
        };
        let documents = 0..index.documents();
        let mut documents = documents.flat_map(|document| vectors.of_document(document));
        write("documents.f32", &mut documents)?;
        write("queries.f32", &mut queries.iter().cloned())?;
        let pairs = |found: &Vec<_>| -> Vec<(u32, f32)> {
            let near = found.iter();
            near.map(|near: &riposte::index::dense::NearPassage| (near.document, near.cosine))
                .collect()
        };
        let found: Vec<Vec<(u32, f32)>> = found.iter().map(pairs).collect();
        fs::write(dir.join("found.json"), serde_json::to_string(&found)?)?;
    }
    println!(
        "{}",
        json!({
            "documents": index.documents(),
            "topics": topics.len(),
            "dimension": queries.first().map_or(0, Vec::len),
            "encode_s": encode_s,
            "load_s": load_s,
            "file_mb": fs::metadata(&file)?.len() as f64 / 1e6,
            "vectors_mb": vectors.bytes() as f64 / 1e6,
            "all_s": all_s,
            "each_s": each_s,
        })
    );
    Ok(())
}

fn timed<T>(run: &mut dyn FnMut() -> Result<T>) -> Result<(T, f64)> {
    let start = Instant::now();
    let result = run()?;
    Ok((result, start.elapsed().as_secs_f64()))
}
