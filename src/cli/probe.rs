//! Tries documents in separate processes, because riposte has perhaps died in them.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use riposte_eval::DocId;

use super::image_args::ExtractArgs;
use super::notes::print_notes;
use riposte::collection::images::ImageCollection;
use riposte::ingest::extraction;
use riposte::ingest::extraction::Trial;
use riposte::limits::MAX_PROBE_TIME;
use riposte::session::CollectionSource;
use riposte::threads;
use riposte::weights::ModelRole;

/// The time between two checks whether the user wants to stop.
const GLANCE: Duration = Duration::from_millis(50);

/// How a process that tried documents has ended.
enum End {
    /// It returned, perhaps with an error, which an extraction would report too.
    Ordinary,
    /// It died while it tried a document; the text says how.
    Died(String),
    /// The user has stopped it.
    Interrupted,
}

/// Tries the documents one after the other in other processes, a new one after each death. Returns the deaths.
///
/// # Errors
/// No process can be started.
pub(super) fn try_apart(
    source: &CollectionSource,
    evidence: &Path,
    documents: &[DocId],
    stop: &AtomicBool,
) -> Result<Trial> {
    let mut trial = Trial::default();
    let mut rest = documents;
    while !rest.is_empty() {
        let mut child = command(source, evidence, rest)?
            .spawn()
            .context("cannot start another process of riposte")?;
        let (done, end) = watch(&mut child, stop)?;
        rest = rest.get(done..).unwrap_or_default();
        match end {
            End::Ordinary => break,
            End::Interrupted => {
                trial.interrupted = true;
                break;
            }
            End::Died(how) => {
                if let Some((guilty, others)) = rest.split_first() {
                    trial.deaths.push((guilty.clone(), how));
                    rest = others;
                }
            }
        }
    }
    Ok(trial)
}

fn command(source: &CollectionSource, evidence: &Path, documents: &[DocId]) -> Result<Command> {
    let program = std::env::current_exe().context("cannot find the program's own file")?;
    let ids: Vec<&str> = documents.iter().map(|id| id.0.as_str()).collect();
    let mut command = Command::new(program);
    let session = &source.session;
    // all settings are arguments of the process
    command.arg("--no-config");
    command.arg("extract").arg("--input").arg(&source.input);
    command.arg("--evidence").arg(evidence);
    command.arg("--models").arg(session.models.dir());
    let options = &session.options;
    for (channel, model) in &options.chosen {
        command.args([&format!("--{channel}"), model]);
    }
    if let Some(model) = session.models.chosen(ModelRole::Sentence) {
        command.args(["--sentence", model]);
    }
    let precision = &options.precision;
    command.args(["--numeric", &precision.compute.numeric.to_string()]);
    command.args(["--backend", &precision.compute.backend.to_string()]);
    command.args(["--clip-precision", precision.clip.word()]);
    command.args(["--script", &precision.script.to_string()]);
    command.args(["--probe", &ids.join(",")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

/// Waits until the process ends. Returns the number of finished documents, and how it ended.
///
/// # Errors
/// The process cannot be waited for.
fn watch(child: &mut Child, stop: &AtomicBool) -> Result<(usize, End)> {
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        threads::spawn_detached(move || {
            for line in BufReader::new(output).lines() {
                if line.is_err() || sender.send(()).is_err() {
                    break;
                }
            }
        })?;
    }
    let mut done = 0;
    let mut last = Instant::now();
    let stopped = loop {
        match receiver.recv_timeout(GLANCE) {
            Ok(()) => {
                done += 1;
                last = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                break Some(End::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) if last.elapsed() > MAX_PROBE_TIME => {
                let minutes = MAX_PROBE_TIME.as_secs() / 60;
                break Some(End::Died(format!("no end within {minutes} minutes")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    if stopped.is_some() {
        // an error means that it has already ended
        let _ = child.kill();
    }
    let status = child
        .wait()
        .context("cannot wait for another process of riposte")?;
    if stop.load(Ordering::Relaxed) {
        return Ok((done, End::Interrupted));
    }
    Ok((done, stopped.unwrap_or_else(|| end_of(status))))
}

fn end_of(status: ExitStatus) -> End {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        use std::os::unix::process::ExitStatusExt;
        // sent by the user or the terminal, so no document is the cause
        let requests = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
        if status
            .signal()
            .is_some_and(|signal| requests.iter().any(|request| request.as_raw() == signal))
        {
            return End::Interrupted;
        }
    }
    match status.code() {
        // the exit codes of riposte; a panic has another one
        Some(0..=2) => End::Ordinary,
        _ => End::Died(status.to_string()),
    }
}

/// `riposte extract --probe`: computes documents, stores nothing, and prints the id of each when it is done. Returns the exit code.
///
/// # Errors
/// The collection, the store or a model cannot be read, or a model fails.
pub(super) fn probe(args: &ExtractArgs) -> Result<u8> {
    let source = args.extraction.source()?;
    let collection = ImageCollection::open(&source.input)?;
    let places = &source.session.places;
    let evidence = places.evidence(&source.input, &mut print_notes)?;
    let documents: Vec<DocId> = args.probe.iter().map(|id| DocId(id.clone())).collect();
    let on_done = &mut |id: &DocId| {
        // an error if the process that reads this has ended; then this process ends too
        let written = writeln!(std::io::stdout(), "{}", id.0);
        written.context("cannot report that a document is done")
    };
    extraction::attempt(&collection, &evidence, &source.session, &documents, on_done)?;
    Ok(0)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::Signal;

    use super::*;

    #[test]
    fn neither_a_request_to_stop_nor_an_error_is_a_death() {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            let end = end_of(ExitStatus::from_raw(signal.as_raw()));
            assert!(matches!(end, End::Interrupted), "{signal:?}");
        }
        for signal in [Signal::ABORT, Signal::SEGV, Signal::KILL] {
            let end = end_of(ExitStatus::from_raw(signal.as_raw()));
            assert!(matches!(end, End::Died(_)), "{signal:?}");
        }
        for (code, died) in [(0, false), (1, false), (2, false), (101, true)] {
            let end = end_of(ExitStatus::from_raw(code << 8));
            assert_eq!(matches!(end, End::Died(_)), died, "{code}");
        }
    }
}
