//! `riposte-bench tantivy`: builds an index of riposte once more, with tantivy alone. Documents and terms are in memory before the clock starts, so riposte
//! cannot build it faster as long as tantivy writes it.
//!
//! tantivy gets the terms as riposte gives them: as a text that it splits at white space. Tokens made in advance take it 1.6 times as long, and a
//! tokenizer that looks for spaces only takes as long as its own.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use riposte::index::analyzer::{self, Analyzer};
use riposte::index::inverted::{IndexingBudget, InvertedIndex};
use riposte::runs::resources::Meter;
use serde_json::json;
use tantivy::index::IndexSettings;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::schema::{Field, Schema, Value};
use tantivy::{DocAddress, Index, IndexWriter, TantivyDocument};

use crate::search::{cpu_seconds, size};

#[derive(clap::Args)]
pub struct Options {
    /// The index that `riposte-bench search` has built
    #[arg(long, value_name = "DIR")]
    index: PathBuf,
    /// A new directory, for the index that tantivy builds
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
}

pub fn run(options: &Options) -> Result<()> {
    let analyzer = InvertedIndex::open(&options.index)?.meta().analyzer.clone();
    let read = Index::open_in_dir(&options.index)?;
    let schema = read.schema();
    let documents = documents(&read, &schema, &analyzer)?;
    let count = documents.len();
    fs::create_dir(&options.output)
        .with_context(|| format!("cannot create {}", options.output.display()))?;

    let IndexingBudget { threads, bytes } = IndexingBudget::default();
    let (start, meter) = (Instant::now(), Meter::start());
    let settings = IndexSettings {
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let index = Index::builder().schema(schema).settings(settings);
    let index = index.create_in_dir(&options.output)?;
    let mut writer: IndexWriter = index.writer_with_num_threads(threads, bytes)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for document in documents {
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    let report = json!({
        "documents": count,
        "build_s": start.elapsed().as_secs_f64(),
        "build_cpu_s": cpu_seconds(&meter),
        "index_mb": size(&options.output)? as f64 / 1e6,
        "segments": index.searchable_segment_ids()?.len(),
    });
    println!("{report}");
    Ok(())
}

/// The documents of an index as riposte has given them to tantivy: with the terms that its analyzer makes.
fn documents(index: &Index, schema: &Schema, analyzer: &Analyzer) -> Result<Vec<TantivyDocument>> {
    let mut analyzer = analyzer.build();
    // the stored text, its terms and their number
    let mut fields: Vec<(Field, Field, Field)> = Vec::new();
    for (terms, entry) in schema.fields() {
        if let Some(name) = entry.name().strip_suffix("_terms") {
            let length = schema.get_field(&format!("{name}_length"))?;
            fields.push((schema.get_field(name)?, terms, length));
        }
    }
    let columns = ["marks", "checksum"];
    let searcher = index.reader()?.searcher();
    let mut addresses: Vec<DocAddress> = Vec::new();
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        addresses.extend((0..reader.max_doc()).map(|document| DocAddress::new(segment, document)));
    }
    // about the order of the collection
    addresses.sort_by_key(|address| (address.doc_id, address.segment_ord));
    let mut documents = Vec::with_capacity(addresses.len());
    for address in addresses {
        let mut document: TantivyDocument = searcher.doc(address)?;
        for (text, terms, length) in &fields {
            let text = document.get_first(*text).and_then(|value| value.as_str());
            let found = analyzer::terms(&mut analyzer, text.context("a text is missing")?);
            document.add_text(*terms, found.join(" "));
            document.add_u64(*length, found.len() as u64);
        }
        for name in columns {
            let column = searcher
                .segment_reader(address.segment_ord)
                .fast_fields()
                .u64(name)?;
            let value = column
                .first(address.doc_id)
                .context("a column is incomplete")?;
            document.add_u64(schema.get_field(name)?, value);
        }
        documents.push(document);
    }
    ensure!(!documents.is_empty(), "the index is empty");
    Ok(documents)
}
