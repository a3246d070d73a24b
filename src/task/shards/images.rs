//! The image task on evidence that is divided among machines. The same command runs on a shard, or on what the shards have found.
//!
//! A shard is a directory with an evidence store and `riposte-asked.json`; the command writes its answer to `riposte-answered.jsonl`: a line with the
//! columns of all tables (`{"tables": {…}}`), a line for each image that was found (`{"request": "…", "k": 100, "id": "…", "passage": 0, "score":
//! 0.5}`), and a line with the evidence of each of these images (`{"evidence": {"document": "…", "tables": {…}}}`). What the shards have found is a
//! directory with an evidence store and `riposte-answers.json`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;

use super::super::extraction::open_store;
use super::super::image_index;
use super::super::images::FoundImage;
use super::{Asked, Given, Request, read_json, write_counts, write_needs};
use crate::evidence::store::{Scratch, Store};
use crate::index::analyzer::Analyzer;
use crate::index::corpus::{Corpus, Dialogue, Effort, OverallCounts};
use crate::index::image_part::ImagePart;
use crate::index::images::ImageIndex;
use crate::trec::DocId;
use crate::workspace::Outputs;

const ASKED: &str = "riposte-asked.json";
const ANSWERED: &str = "riposte-answered.jsonl";

/// The store beside the requests to a shard. It has the model outputs for the topics.
const OUTPUTS: &str = "outputs.sqlite";

/// The name of the evidence store of a shard, and of what the shards have found.
const EVIDENCE: &str = "evidence.sqlite";

/// A part of a collection of images, and the role of this process.
pub(crate) struct PartOfImages {
    dir: PathBuf,
    counts: Vec<OverallCounts>,
    role: Role,
}

enum Role {
    Shard(Asked),
    Found(Arc<Dialogue>),
}

/// Writes the counts of all terms of a shard's images, as [`super::count`] does. The index is built from the shard's evidence.
///
/// # Errors
/// The evidence or the index cannot be read or written.
pub fn count_images(analyzer: &Analyzer, dir: &Path, output: &mut dyn Write) -> Result<()> {
    let mut store = open_store(&dir.join(EVIDENCE), &mut |_| ())?;
    let (corpus, _, _) = image_index::open(&mut store, analyzer, Effort::default(), &mut |_| ())?;
    let fields = corpus.meta().fields.clone();
    write_counts(&corpus, &fields.into_iter().collect(), output)?;
    Ok(output.flush()?)
}

impl PartOfImages {
    /// Finds the part of a collection that is in a directory; `None` if there is none.
    ///
    /// # Errors
    /// The requests or the answers cannot be read.
    pub fn find(dir: &Path) -> Result<Option<Self>> {
        let asked = dir.join(ASKED);
        let (counts, role) = if asked.is_file() {
            let mut asked: Asked = read_json(&asked)?;
            (std::mem::take(&mut asked.counts), Role::Shard(asked))
        } else if let Some(given) = Given::find(dir)? {
            let dialogue = given.dialogue();
            (given.counts, Role::Found(dialogue))
        } else {
            return Ok(None);
        };
        Ok(Some(PartOfImages {
            dir: dir.to_owned(),
            counts,
            role,
        }))
    }

    /// The path of the evidence.
    pub fn evidence(&self) -> PathBuf {
        self.dir.join(EVIDENCE)
    }

    /// The number of images in the whole collection.
    pub fn documents(&self) -> u64 {
        let of_index = self.counts.first().and_then(|counts| counts.fields.first());
        of_index.map_or(0, |field| field.documents)
    }

    /// Copies the model outputs that another process has computed for the topics.
    ///
    /// # Errors
    /// They cannot be read or stored.
    pub fn take_outputs(&self, store: &Store) -> Result<()> {
        let outputs = self.dir.join(OUTPUTS);
        if outputs.is_file() {
            Outputs::open(store.path())?.merge(&outputs)?;
        }
        Ok(())
    }

    /// The index of all images of this part. It scores with the counts of the whole collection.
    ///
    /// # Errors
    /// The counts of the whole collection are missing.
    pub fn index(&self, corpus: Corpus) -> Result<ImageIndex> {
        let counts = OverallCounts::find(&self.counts, &corpus.meta().analyzer)?;
        let part = match &self.role {
            Role::Found(dialogue) => ImagePart::Found(Arc::clone(dialogue)),
            Role::Shard(asked) => {
                let pools = asked.requests.values().filter_map(|request| match request {
                    Request::Pools(pools) => Some(&pools.bests),
                    _ => None,
                });
                let bests = pools.flatten();
                let bests = bests.map(|best| ((best.field.clone(), best.words.clone()), best.best));
                ImagePart::Shard(bests.collect())
            }
        };
        let mut ids: Vec<DocId> = corpus.ids().collect();
        ids.sort();
        let mut index = ImageIndex::new(corpus, ids.into_iter());
        index.set_overall(counts, part);
        Ok(index)
    }

    /// Writes the requests that the shards must answer before a ranking can be made. A shard writes nothing.
    ///
    /// # Errors
    /// They cannot be written, or there are none.
    pub fn write_needs(&self) -> Result<()> {
        match &self.role {
            Role::Found(dialogue) => write_needs(dialogue, &self.dir),
            Role::Shard(_) => Ok(()),
        }
    }

    /// Whether this is a shard that is asked only for the best images of searches. It does not need to rank.
    pub fn wants_no_pools(&self) -> bool {
        let Role::Shard(asked) = &self.role else {
            return false;
        };
        let mut requests = asked.requests.values();
        !requests.any(|request| matches!(request, Request::Pools(_)))
    }

    /// Writes what the shard has found. `pools` has the candidates, if they were requested.
    ///
    /// # Errors
    /// An index or the evidence cannot be read, or the answer cannot be written.
    pub fn answer(&self, store: &Store, pools: &[FoundImage]) -> Result<()> {
        let Role::Shard(asked) = &self.role else {
            return Ok(());
        };
        let path = self.dir.join(ANSWERED);
        let file = fs::File::create(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        let mut output = BufWriter::new(file);
        writeln!(output, "{}", json!({"tables": Scratch::new()?.describe()}))?;
        let mut found: BTreeSet<&DocId> = pools.iter().map(|image| &image.id).collect();
        let mut best = Vec::new();
        for (key, request) in &asked.requests {
            let Request::Search(search) = request else {
                continue;
            };
            let counts = OverallCounts::find(&self.counts, &search.analyzer)?;
            let mut corpus = Corpus::open(&image_index::directory(store.path(), &search.analyzer))?;
            corpus.set_overall(counts, None);
            for image in corpus.search(&search.query, &search.similarity, search.cut)? {
                best.push(FoundImage {
                    request: key.clone(),
                    k: u32::try_from(search.cut.k).unwrap_or(u32::MAX),
                    id: image.doc,
                    score: image.score,
                });
            }
        }
        for image in best.iter().chain(pools) {
            let FoundImage {
                request,
                k,
                id,
                score,
            } = image;
            let line = json!({"request": request, "k": k, "id": id, "passage": 0, "score": score});
            writeln!(output, "{line}")?;
        }
        found.extend(best.iter().map(|image| &image.id));
        for id in found {
            let tables = store.portable(id)?;
            writeln!(
                output,
                "{}",
                json!({"evidence": {"document": id, "tables": tables}})
            )?;
        }
        Ok(output.flush()?)
    }
}
