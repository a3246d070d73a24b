//! Extraction as a filter: documents come in as frames ([`crate::collection::frames`]), and what a store would hold of them goes out as
//! frames, in the same order.
//!
//! Each document is written to a temporary directory and computed as every extraction computes it, and its rows are those that a store in
//! memory has of it. So there is one way in which files are read, one in which evidence is computed and one in which it is stored.
//!
//! A frame of the output is its length (8 bytes, little-endian) and JSON. The first one describes the stream:
//!
//! ```json
//! {"format": 1, "version": "0.1.0", "producers": "page: …", "signature": "riposte 0.1.0; page: …", "tables": {"work": [{"name": "document", …}, …], …}}
//! ```
//!
//! and each other one a document: `{"document": "I0a1b…", "producers": "page: …", "tables": {"work": [["I0a1b…", "page", "page/3"], …], …}}`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{Read, Write};

use anyhow::{Context, Error, Result, anyhow};
use crossbeam_channel::{Receiver, Sender, bounded, select};
use serde_json::{Value, json};

use super::OnEvent;
use super::extraction::{ExtractionOptions, find_wanted_tools};
use crate::collection::frames::{FramedDocument, read_frame};
use crate::disk::TemporaryDir;
use crate::evidence::extract::{self, Single, Tools};
use crate::evidence::store::Scratch;
use crate::weights::Models;

/// Changes when the frames of the output change.
const FORMAT: u32 = 1;

/// For each worker, the number of documents that may be computed or wait behind a slow one.
const AHEAD: usize = 4;

/// What a stream is computed with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamRequest<'a> {
    pub options: ExtractionOptions<'a>,
    pub threads: usize,
    /// How riposte died in all documents of the stream. Then nothing is computed.
    pub died: Option<&'a str>,
}

/// A document for a worker, and where its answer goes.
struct Job {
    document: FramedDocument,
    answer: Sender<Result<Answer>>,
}

/// A frame of the output.
struct Answer {
    bytes: Vec<u8>,
    faults: usize,
}

/// Computes the documents of `input` until it ends. Each is read when a worker is free, and nobody reads ahead, so a slow reader of `output`
/// and slow workers stop the writer of `input`. Returns the number of faults.
///
/// # Errors
/// A model is missing that is required, is damaged or fails; a frame is cut or is none; or the output cannot be written. Documents before
/// that have been written.
pub(crate) fn stream(
    models: &Models,
    request: StreamRequest,
    input: impl Read + Send + 'static,
    mut output: impl Write,
    on_event: &mut OnEvent,
) -> Result<usize> {
    let tools = find_wanted_tools(models, request.options, &mut BTreeMap::new(), on_event)?;
    let temporary = std::env::temp_dir();
    let dir = TemporaryDir::new(&temporary).with_context(|| {
        let temporary = temporary.display();
        format!("cannot write to {temporary}, the directory for temporary files")
    })?;
    write_frame(&mut output, &greeting(&tools)?)?;
    let threads = request.threads.max(1);
    let (jobs, for_workers) = bounded::<Job>(0);
    let (free, is_free) = bounded::<()>(threads);
    let (order, answers) = bounded::<Receiver<Result<Answer>>>(AHEAD * threads);
    let (running, ended) = bounded::<Infallible>(0);
    let into = dir.path().to_owned();
    // not one of the scope: after an error it may wait for a frame that never comes
    std::thread::spawn(move || {
        let mut input = input;
        let mut number = 0u64;
        while is_free.recv().is_ok() {
            number += 1;
            let read = read_frame(&mut input, &into);
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
                    // the main thread has ended if it does not receive it
                    let _ = answer.send(Err(error));
                    break;
                }
            }
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (free, for_workers, ended) = (free.clone(), for_workers.clone(), ended.clone());
            let tools = &tools;
            scope.spawn(move || {
                let mut scratch = Scratch::new();
                while free.send(()).is_ok() {
                    let job = select! {
                        recv(for_workers) -> job => job,
                        recv(ended) -> ended => ended.map(|never| match never {}),
                    };
                    let Ok(Job { document, answer }) = job else {
                        break;
                    };
                    let done = match &mut scratch {
                        Ok(scratch) => compute(&document, tools, request.died, scratch),
                        Err(error) => Err(anyhow!("{error:#}")),
                    };
                    drop(document);
                    // the main thread has ended if it does not receive it
                    let _ = answer.send(done);
                }
            });
        }
        drop((free, for_workers));
        // dropped at the end of this scope, also after an error, so that the workers end while the other thread still waits for a frame
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

fn compute(
    document: &FramedDocument,
    tools: &Tools,
    died: Option<&str>,
    scratch: &mut Scratch,
) -> Result<Answer> {
    let FramedDocument { entry, shown } = document;
    let computing = || format!("cannot compute {}", entry.id);
    let single = extract::single(entry, shown, tools, died).with_context(computing)?;
    let (tables, producers) = match &single {
        Single::Evidence(record) => (scratch.evidence(record)?, tools.all_producers()),
        Single::PassedOver(row) => (scratch.passed_over(row)?, row.producers.clone()),
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

fn greeting(tools: &Tools) -> Result<Vec<u8>> {
    let frame = json!({
        "format": FORMAT,
        "version": env!("CARGO_PKG_VERSION"),
        "producers": tools.all_producers(),
        "signature": tools.signature(),
        "tables": Scratch::new()?.describe(),
    });
    Ok(serde_json::to_vec(&frame)?)
}

/// Writes a frame, and flushes it: its reader may wait for it before it sends another document.
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
