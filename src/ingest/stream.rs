//! Extraction as a filter. It reads documents as frames ([`crate::collection::frames`]), and writes the rows that a store would hold for them, also
//! as frames and in the same order.
//!
//! Each document is written to a temporary directory, its evidence is computed as in every extraction, and its rows are read from a store in memory.
//! So the code that reads files, computes evidence and stores it is the same everywhere.
//!
//! A frame of the output consists of its length (8 bytes, little-endian) and JSON. The first frame describes the stream:
//!
//! ```json
//! {"format": 1, "version": "0.1.0", "producers": "page: …", "signature": "riposte 0.1.0; page: …", "tables": {"work": [{"name": "document", …}, …], …}}
//! ```
//!
//! Each other frame has a document: `{"document": "I0a1b…", "producers": "page: …", "tables": {"work": [["I0a1b…", "page", "page/3"], …], …}}`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Error, Result, anyhow};
use crossbeam_channel::{Receiver, Sender, bounded, select};
use serde_json::{Value, json};

use super::extraction::find_wanted_tools;
use crate::collection::frames::{FramedDocument, read_frame};
use crate::disk::TemporaryDir;
use crate::events::OnEvent;
use crate::evidence::extract::{self, Extractors, SingleResult};
use crate::evidence::store::{MemoryStore, describe};
use crate::recipes::channels::CHANNELS;
use crate::session::Session;
use crate::threads;

/// The version of the format. It changes when the frames of the output change.
const FORMAT: u32 = 1;

/// Maximum number of documents for each worker that are being computed or wait for a slow document before them.
const AHEAD: usize = 4;

/// A document for a worker, and the channel for its answer.
struct Job {
    document: FramedDocument,
    answer: Sender<Result<Answer>>,
}

/// A frame of the output.
struct Answer {
    bytes: Vec<u8>,
    faults: usize,
}

/// Computes the documents of `input` until it ends. A document is read only when a worker is free, so the writer of `input` has to wait for slow
/// workers and for a slow reader of `output`. Returns the number of faults. There is one worker unless the session has a number of threads. If `died`
/// says how riposte died in the documents, nothing is computed, and all are passed over.
///
/// # Errors
/// A required model is missing, or a model is damaged or fails; a frame is cut or malformed; or the output cannot be written. The documents before
/// the error have been written.
pub fn stream(
    session: &Session,
    died: Option<&str>,
    input: impl Read + Send + 'static,
    mut output: impl Write,
    on_event: &mut OnEvent,
) -> Result<usize> {
    let tools = find_wanted_tools(session, &mut BTreeMap::new(), on_event)?;
    let temporary = std::env::temp_dir();
    let dir = TemporaryDir::new(&temporary).with_context(|| {
        let temporary = temporary.display();
        format!("cannot write to {temporary}, the directory for temporary files")
    })?;
    write_frame(&mut output, &greeting(&tools)?)?;
    let workers = session.threads.unwrap_or(1).max(1);
    let (jobs, for_workers) = bounded::<Job>(0);
    let (free, is_free) = bounded::<()>(workers);
    let (order, answers) = bounded::<Receiver<Result<Answer>>>(AHEAD * workers);
    let (running, ended) = bounded::<Infallible>(0);
    let into = dir.path().to_owned();
    // this thread is not in the scope below, which waits for its threads: after an error it may wait for a frame that never comes
    threads::spawn_detached(move || read_documents(input, &into, &is_free, &jobs, &order))?;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let worker = StreamWorker {
                tools: &tools,
                died,
                free: free.clone(),
                jobs: for_workers.clone(),
                ended: ended.clone(),
            };
            threads::spawn(scope, move || worker.work())?;
        }
        drop((free, for_workers));
        // dropped at the end of this scope, also after an error, so that the workers end even if the reading thread still waits for a frame
        let _running = running;
        let mut faults = 0;
        for answer in &answers {
            let answer = answer.recv().map_err(|_| anyhow!("a thread has died"))??;
            faults += answer.faults;
            write_frame(&mut output, &answer.bytes)?;
        }
        Ok(faults)
    })
}

/// Reads a document whenever a worker is free, and passes the receiver of its answer to `order`.
fn read_documents(
    mut input: impl Read,
    into: &Path,
    is_free: &Receiver<()>,
    jobs: &Sender<Job>,
    order: &Sender<Receiver<Result<Answer>>>,
) {
    let mut number = 0u64;
    while is_free.recv().is_ok() {
        number += 1;
        let read = read_frame(&mut input, into);
        let read = read.with_context(|| format!("frame {number} of stdin"));
        let Some(read) = read.transpose() else { break };
        let (answer, receiver) = bounded(1);
        if order.send(receiver).is_err() {
            break;
        }
        match read {
            Ok(document) => {
                if jobs.send(Job { document, answer }).is_err() {
                    break;
                }
            }
            Err(error) => {
                // sending fails only if the main thread has ended
                let _ = answer.send(Err(error));
                break;
            }
        }
    }
}

/// A thread that computes documents.
struct StreamWorker<'a> {
    tools: &'a Extractors,
    died: Option<&'a str>,
    /// Tells the reading thread that this worker is free.
    free: Sender<()>,
    jobs: Receiver<Job>,
    /// Closed when the main thread ends.
    ended: Receiver<Infallible>,
}

impl StreamWorker<'_> {
    fn work(self) {
        let mut scratch = MemoryStore::new(CHANNELS);
        while self.free.send(()).is_ok() {
            let job = select! {
                recv(self.jobs) -> job => job,
                recv(self.ended) -> ended => ended.map(|never| match never {}),
            };
            let Ok(Job { document, answer }) = job else {
                break;
            };
            let done = match &mut scratch {
                Ok(scratch) => compute(&document, self.tools, self.died, scratch),
                Err(error) => Err(anyhow!("{error:#}")),
            };
            drop(document);
            // sending fails only if the main thread has ended
            let _ = answer.send(done);
        }
    }
}

fn compute(
    document: &FramedDocument,
    tools: &Extractors,
    died: Option<&str>,
    scratch: &mut MemoryStore,
) -> Result<Answer> {
    let FramedDocument { entry, shown } = document;
    let computing = || format!("cannot compute {}", entry.id);
    let single = extract::single(entry, shown, tools, died).with_context(computing)?;
    let (tables, producers) = match &single {
        SingleResult::Evidence(record) => (scratch.evidence(record)?, tools.all_producers()),
        SingleResult::PassedOver(row) => (scratch.passed_over(row)?, row.producers.clone()),
    };
    let count = |table: &str| {
        tables
            .get(table)
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
    };
    let faults = count("fault") + count("passed_over");
    let frame = json!({"document": entry.id.0, "producers": producers, "tables": tables});
    Ok(Answer {
        bytes: serde_json::to_vec(&frame)?,
        faults,
    })
}

fn greeting(tools: &Extractors) -> Result<Vec<u8>> {
    let frame = json!({
        "format": FORMAT,
        "version": env!("CARGO_PKG_VERSION"),
        "producers": tools.all_producers(),
        "signature": tools.signature(),
        "tables": describe(CHANNELS),
    });
    Ok(serde_json::to_vec(&frame)?)
}

/// Writes a frame, and flushes it, because its reader may wait for it before it sends another document.
fn write_frame(output: &mut impl Write, bytes: &[u8]) -> Result<()> {
    let mut write = || {
        output.write_all(&(bytes.len() as u64).to_le_bytes())?;
        output.write_all(bytes)?;
        output.flush()
    };
    write()
        .map_err(Error::from)
        .context("cannot write a frame to stdout")
}
