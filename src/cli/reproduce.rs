//! `reproduce`: measures approaches on judged collections, beside published figures.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use indicatif::HumanDuration;
use riposte_eval::escaped;

use super::args::Quiet;
use super::faults::FaultLog;
use super::progress::EventPrinter;
use super::{on_interrupt, print, print_json, shown, terminal};
use riposte::judge::reproduce;
use riposte::judge::reproduce::{
    FinishedJob, Job, ListedTable, REPORT, REPORT_JSON, ReproduceHost, ReproduceSettings, RowState,
};
use riposte::runs::resources;

/// The time between two looks at a command that runs.
const GLANCE: Duration = Duration::from_millis(20);

#[derive(Args)]
pub(super) struct ReproduceArgs {
    /// Names of tables, such as scifact. By default all whose collections are here
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the tables, and how long they take, and measure nothing
    #[arg(long)]
    list: bool,
    /// Measure only these approaches. May be repeated
    #[arg(long = "approach", value_name = "NAME", value_delimiter = ',')]
    approaches: Vec<String>,
    /// Directory with the judged collections that are no data sets (docs/reproduce.md)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// File with tables of your own, instead of riposte's
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    /// Directory for the runs, reproduce.md and reproduce.json, created if necessary
    #[arg(short, long, value_name = "DIR", default_value = "out/reproduce")]
    output: PathBuf,
    /// Print a JSON object instead of Markdown tables
    #[arg(long)]
    json: bool,
    /// Print only the tables, notes and errors
    #[arg(short, long)]
    quiet: bool,
}

/// `riposte reproduce`. The exit code is 1 if a figure has moved or something could not be ranked.
pub fn reproduce(args: &ReproduceArgs) -> Result<u8> {
    let settings = ReproduceSettings {
        names: args.names.clone(),
        approaches: args.approaches.clone(),
        tables: args.tables.clone(),
        data: args.data.clone(),
        output: args.output.clone(),
        quiet: args.quiet,
    };
    if args.list {
        return list(args, &reproduce::list(&settings)?);
    }
    let stop = Arc::new(AtomicBool::new(false));
    // the commands are interrupted by the same key
    on_interrupt(&stop, || ())?;
    let mut host = ReproduceHost {
        run: &mut run,
        stop: &stop,
    };
    let quiet = args.quiet.then_some(Quiet::Progress);
    let mut printer = EventPrinter::new(quiet, FaultLog::unlisted());
    let report = reproduce::reproduce(&settings, &mut host, &mut |event| printer.print(event))?;
    printer.finish()?;
    if args.json {
        print_json(&report)?;
    } else {
        print(&report.markdown())?;
    }
    let (moved, failed) = (
        report.count(RowState::Moved),
        report.count(RowState::Failed),
    );
    for (table, row) in report
        .tables
        .iter()
        .flat_map(|table| table.rows.iter().map(move |row| (table, row)))
    {
        if let (RowState::Moved | RowState::Failed, Some(why)) = (row.state, &row.why) {
            let line = format!("{}, {}: {why}", table.name, row.name);
            say!("riposte: {}", escaped(&line));
        }
    }
    if !args.quiet {
        let measured = report.count(RowState::Measured);
        let rows = terminal::counted(measured, "row is", "rows are");
        let dir = shown(&args.output);
        say!(
            "{rows} as expected or new, {moved} moved, {failed} failed; {REPORT} and {REPORT_JSON} are in {dir}"
        );
    }
    Ok(u8::from(moved + failed > 0))
}

fn list(args: &ReproduceArgs, tables: &[ListedTable]) -> Result<u8> {
    if args.json {
        for table in tables {
            print_json(table)?;
        }
        return Ok(0);
    }
    let width = tables
        .iter()
        .map(|table| table.name.len())
        .max()
        .unwrap_or(0);
    for table in tables {
        let (name, rows, of) = (escaped(&table.name), table.rows.len(), table.of);
        let name = format!("{name:<width$}");
        let time = match rows {
            0 => String::new(),
            _ => format!(
                "about {}",
                HumanDuration(Duration::from_secs_f64(table.minutes * 60.0))
            ),
        };
        let line = format!("{name}  {rows:>3} of {of:<3}  {time}");
        print(&format_args!("{}\n", line.trim_end()))?;
        print(&terminal::wrapped(&escaped(&table.about).to_string(), 4))?;
        if !table.rows.is_empty() {
            let names = table.rows.join(", ");
            print(&terminal::wrapped(&escaped(&names).to_string(), 4))?;
        }
        if let Some(why) = &table.absent {
            print(&terminal::wrapped(&escaped(why).to_string(), 4))?;
        }
    }
    print(&terminal::wrapped(
        "The columns are the name, how many rows can be measured here, and how long they take on two cores if nothing is stored yet.",
        0,
    ))?;
    Ok(0)
}

/// Runs a command of this program.
fn run(job: &Job) -> Result<FinishedJob> {
    let program = std::env::current_exe().context("cannot find the program's own file")?;
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(&job.words)
        .args(&job.places)
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        // what is printed here is the table
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start another process of riposte")?;
    let mut peak_kilobytes = None;
    let status = loop {
        let now = resources::peak_of(child.id());
        peak_kilobytes = now.max(peak_kilobytes);
        if let Some(status) = child.try_wait().context("cannot wait for a process")? {
            break status;
        }
        thread::sleep(GLANCE);
    };
    Ok(FinishedJob {
        code: status.code(),
        seconds: start.elapsed().as_secs_f64(),
        peak_kilobytes,
    })
}
