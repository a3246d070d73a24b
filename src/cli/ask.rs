//! `ask`: answers a question without a file of topics.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::args::{CacheArgs, QUIET, Quiet, STORAGE, THREADS};
use super::faults::FaultArgs;
use super::images::with_host;
use super::progress::EventPrinter;
use super::recipe_args::SetArgs;
use super::text_args::{INPUT, RerankArgs};
use super::{parse, print, print_json, shown, terminal};
use riposte::api::Collection;
use riposte::api::ask::{AskSettings, ReportOutput};
use riposte::collection::task::Task;
use riposte::limits::MAX_ASKED_NUMBER;

#[derive(Args)]
pub(super) struct AskArgs {
    /// Question, such as "Should the voting age be lowered?"
    #[arg(value_name = "QUESTION", required = true)]
    pub(super) question: Vec<String>,
    /// Directory of the collection: images, arguments, passages or other documents. If it has images and args-me.json, both answer. Or any folder of
    /// pictures, saved pages and texts (.txt, .md), of which a collection is made in the cache directory
    #[arg(short, long = "input", value_name = "DIR", env = INPUT)]
    pub(super) input: PathBuf,
    /// Arguments in the format of args.me, which answer together with the images
    #[arg(long, value_name = "FILE")]
    pub(super) arguments: Option<PathBuf>,
    /// Task whose documents answer. By default inferred from the collection
    #[arg(long, value_parser = parse::task())]
    pub(super) task: Option<Task>,
    /// Approach: a name that `riposte approaches` lists, or a .toml file
    #[arg(long, value_name = "NAME", default_value = "riposte")]
    pub(super) approach: String,
    #[command(flatten)]
    pub(super) set: SetArgs,
    /// Number of arguments on each side (at most 5), of images of each list of the run (at most 10), or of texts
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=MAX_ASKED_NUMBER))]
    pub(super) number: u32,
    /// Write the run, its explanations and a report (report/index.html) to DIR, created if necessary
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// Write the report, and open the debate sheet in the browser, or the page of the question if there is no sheet
    #[arg(long)]
    pub(super) open: bool,
    /// Print the answer as a JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Evidence store of the images, an SQLite file. By default a file for this collection in the cache directory
    #[arg(long, value_name = "FILE", help_heading = STORAGE)]
    pub(super) evidence: Option<PathBuf>,
    /// Directory for text indexes and model outputs. By default the cache directory
    #[arg(long, value_name = "DIR", help_heading = STORAGE)]
    pub(super) index: Option<PathBuf>,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
    #[command(flatten)]
    pub(super) models: RerankArgs,
    /// Number of threads. By default one per core
    #[arg(long, value_name = "N", env = THREADS, value_parser = parse::threads, help_heading = STORAGE)]
    pub(super) threads: Option<usize>,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
    /// Print nothing but the result and errors; with --quiet=progress, notes and faults, too
    #[arg(short, long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = QUIET, hide_possible_values = true)]
    pub(super) quiet: Option<Quiet>,
}

/// `riposte ask`.
pub fn ask(args: &AskArgs) -> Result<u8> {
    // kept, because the browser still reads it when this process has ended
    let output = match (&args.output, args.open) {
        (None, true) => {
            let temporary = tempfile::Builder::new().prefix("riposte-ask-").tempdir();
            let temporary = temporary.context("cannot create a temporary directory")?;
            Some(temporary.keep())
        }
        (dir, _) => dir.clone(),
    };
    args.faults.check(&[])?;
    let log = args.faults.log(output.as_deref(), false);
    let mut printer = EventPrinter::new(args.quiet, log);
    let on_event = &mut |event| printer.print(event);
    let question = args.question.join(" ");
    let (evidence, index) = (args.evidence.as_ref(), args.index.as_ref());
    let places = args.cache.places(evidence, index);
    let session = args.models.session(places, args.threads)?;
    let collection = Collection::opened(session, &args.input, args.task, &question, on_event)?;
    // with `--task images`, the collection's own arguments are left out
    let own = || args.task.is_none().then(|| collection.own_arguments());
    let settings = AskSettings {
        collection: &collection,
        question: &question,
        arguments: args.arguments.clone().or_else(|| own().flatten()),
        approach: &args.approach,
        set: &args.set.settings(),
        number: args.number as usize,
        explain: output.is_some(),
        output: output.clone(),
    };
    let answered = with_host(|host| settings.answer(host, on_event))?;
    if args.json {
        print_json(&answered.answer)?;
    } else {
        let width = terminal::prose_width();
        print(&terminal::laid_out(&answered.answer, width))?;
    }
    if let Some(dir) = output {
        let page = answered.write_report(&ReportOutput::Beside(dir), on_event)?;
        if args.open {
            show(&page)?;
        }
    }
    printer.finish()
}

/// Opens a page in the browser that $BROWSER names, or in that of the system.
///
/// # Errors
/// There is no such program, or it cannot open the page.
fn show(page: &Path) -> Result<()> {
    say!("{}", shown(page));
    let (program, arguments): (std::ffi::OsString, &[&str]) = match std::env::var_os("BROWSER") {
        Some(browser) if !browser.is_empty() => (browser, &[]),
        _ if cfg!(target_os = "macos") => ("open".into(), &[]),
        _ if cfg!(windows) => ("explorer".into(), &[]),
        _ => ("xdg-open".into(), &[]),
    };
    let mut command = Command::new(&program);
    command.args(arguments).arg(page).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let started = command.spawn();
    let name = program.to_string_lossy();
    let mut child = started.with_context(|| {
        format!("cannot start {name} to open the report; $BROWSER names another program")
    })?;
    // the process ends at once if a browser is already running, and is the browser otherwise; then it is not waited for
    std::thread::sleep(std::time::Duration::from_millis(300));
    match child.try_wait() {
        Ok(Some(status)) if !status.success() && !cfg!(windows) => {
            bail!("{name} could not open the report ({status}); $BROWSER names another program")
        }
        _ => Ok(()),
    }
}
