//! `serve`: answers questions over HTTP, with collections that stay open.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use clap::Args;
use riposte_eval::escaped;
use riposte_serve::{LogRecord, ServerSettings, Switch};

use super::args::{CacheArgs, Quiet, STORAGE, THREADS};
use super::faults::FaultLog;
use super::progress::EventPrinter;
use super::text_args::RerankArgs;
use super::{on_interrupt, parse};
use riposte::collection::read_bytes;
use riposte::serve::ServedCollections;
use riposte::session::CollectionSource;

const SAFETY: &str = "Access";

#[derive(Args)]
pub(super) struct ServeArgs {
    /// Directory of a collection: images, arguments, passages or other documents; or any folder of pictures, saved pages and texts. Can be repeated
    #[arg(short, long = "input", value_name = "DIR", required = true)]
    pub(super) input: Vec<PathBuf>,
    /// Address and port. Port 0 lets the system choose a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// File with a token of 16 to 256 letters, digits and -._~ that clients must send
    #[arg(long, value_name = "FILE", help_heading = SAFETY)]
    token_file: Option<PathBuf>,
    /// Name under which clients reach the server, besides its address and localhost. Can be repeated
    #[arg(long = "host", value_name = "NAME", help_heading = SAFETY)]
    hosts: Vec<String>,
    /// Write the questions to the log, too
    #[arg(long, help_heading = SAFETY)]
    log_questions: bool,
    /// Serve tools for language models on standard input and output (Model Context Protocol), instead of HTTP
    #[arg(long, conflicts_with_all = ["listen", "token_file", "hosts"])]
    mcp: bool,
    /// End when standard input does, so that the server does not outlive the program that has started it, however that ends
    #[arg(long, hide = true, conflicts_with = "mcp")]
    until_eof: bool,
    /// Directory for evidence, text indexes and model outputs. By default the cache directory
    #[arg(long, value_name = "DIR", help_heading = STORAGE)]
    index: Option<PathBuf>,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    models: RerankArgs,
    /// Number of threads with which models compute. By default one per core
    #[arg(long, value_name = "N", env = THREADS, value_parser = parse::threads, help_heading = STORAGE)]
    threads: Option<usize>,
    /// Print no progress and no line for each request
    #[arg(short, long)]
    quiet: bool,
}

/// `riposte serve`. Returns the exit code.
pub fn serve(args: &ServeArgs) -> Result<u8> {
    let settings = ServerSettings {
        token: args.token_file.as_deref().map(read_token).transpose()?,
        names: args.hosts.clone(),
        log_questions: args.log_questions,
        log: log_of(args.quiet),
        ..ServerSettings::default()
    };
    settings.check()?;
    let (switch, stop) = (Switch::default(), Arc::new(AtomicBool::new(false)));
    if args.mcp {
        end_on_signal(&switch, &stop)?;
        let desk = args.open(&stop)?;
        watch(Arc::clone(&desk), stop)?;
        riposte_serve::mcp::serve_stdio(desk, settings, &switch)?;
        return Ok(0);
    }
    // before the collections are opened, which can take long
    let listener = TcpListener::bind(args.listen)
        .with_context(|| format!("cannot listen on {}", args.listen))?;
    let address = listener.local_addr().context("cannot tell the address")?;
    if let Some(warning) = settings.warning(address) {
        say!("warning: {warning}");
    }
    end_on_signal(&switch, &stop)?;
    if args.until_eof {
        end_with_input(&switch, &stop)?;
    }
    let desk = args.open(&stop)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(0);
    }
    say!("listening on http://{address}/ (Ctrl-C ends it)");
    watch(Arc::clone(&desk), stop)?;
    let ended = riposte_serve::run(listener, desk, settings, &switch)?;
    if ended.running > 0 {
        say!("{} requests were not finished", ended.running);
    }
    Ok(0)
}

/// Opens collections again that have changed, on a thread of its own.
fn watch(desk: Arc<ServedCollections>, stop: Arc<AtomicBool>) -> Result<()> {
    let watch = move || {
        let on_reopened = &mut |name: &str, error: Option<&anyhow::Error>| match error {
            None => say!("{} has changed and was opened again", escaped(name)),
            Some(error) => say!("error: {} cannot be served: {error:#}", escaped(name)),
        };
        desk.watch(&stop, &mut |_| (), on_reopened);
    };
    let thread = std::thread::Builder::new().name("watch".into());
    thread.spawn(watch).context("cannot start a thread")?;
    Ok(())
}

impl ServeArgs {
    /// Opens the collections, and prints what is in them.
    fn open(&self, stop: &AtomicBool) -> Result<Arc<ServedCollections>> {
        let mut printer =
            EventPrinter::new(self.quiet.then_some(Quiet::Progress), FaultLog::unlisted());
        let on_event = &mut |event| printer.print(event);
        let desk = ServedCollections::new(self.collections()?, on_event)?;
        let on_failed = &mut |name: &str, error: &anyhow::Error| {
            say!("error: {} cannot be served: {error:#}", escaped(name));
        };
        desk.open(stop, on_event, on_failed)?;
        printer.finish()?;
        for (name, parts) in desk.contents() {
            let parts = parts.iter().map(|(what, count)| format!("{what}: {count}"));
            let parts: Vec<String> = parts.collect();
            say!("{}  {}", escaped(&name), parts.join(", "));
        }
        Ok(Arc::new(desk))
    }

    /// What is opened, in the order in which it was typed.
    fn collections(&self) -> Result<Vec<CollectionSource>> {
        let places = self.cache.places(None, self.index.as_ref());
        let session = self.models.session(places, self.threads)?;
        let sources = self.input.iter();
        let sources = sources.map(|input| CollectionSource::new(session.clone(), input));
        Ok(sources.collect())
    }
}

/// Ends the server on Ctrl-C and SIGTERM; a second signal ends the process at once.
fn end_on_signal(switch: &Switch, stop: &Arc<AtomicBool>) -> Result<()> {
    let switch = switch.clone();
    on_interrupt(stop, move || {
        say!("\nending");
        switch.end();
    })
}

/// Ends the server at the end of standard input, or when it cannot be read.
fn end_with_input(switch: &Switch, stop: &Arc<AtomicBool>) -> Result<()> {
    let (switch, stop) = (switch.clone(), Arc::clone(stop));
    let read = move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        stop.store(true, Ordering::Relaxed);
        switch.end();
    };
    let thread = std::thread::Builder::new().name("input".into());
    thread.spawn(read).context("cannot start a thread")?;
    Ok(())
}

/// Prints a line for each request, or only what failed.
fn log_of(quiet: bool) -> riposte_serve::Log {
    Arc::new(move |record: &LogRecord<'_>| {
        if !quiet || record.reason.is_some() {
            say!("{record}");
        }
    })
}

/// The token in a file, without the line break at its end.
fn read_token(file: &Path) -> Result<String> {
    let bytes = read_bytes(file, riposte::limits::MAX_TOKEN_FILE_BYTES)?;
    let token = String::from_utf8(bytes);
    let token = token.with_context(|| format!("{} is not text", file.display()))?;
    let token = token.trim();
    ensure!(!token.is_empty(), "{} has no token", file.display());
    Ok(token.to_owned())
}
