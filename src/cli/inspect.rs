//! `inspect`: writes a report of a run.

use anyhow::Result;

use super::image_args::InspectArgs;
use super::progress::EventPrinter;
use super::texts::print_verified;
use super::{print, shown};
use riposte::index::inverted::IndexingBudget;
use riposte::report::inspect;
use riposte::report::place::ReportPlace;
use riposte::report::shown::InspectSettings;

/// `riposte inspect`.
pub fn inspect(args: &InspectArgs) -> Result<u8> {
    let indexing = &args.indexing;
    let depth = args.depth.map(|depth| depth as usize);
    let settings = InspectSettings {
        task: args.task,
        run: args.run.clone(),
        against: args.against.clone(),
        explain: args.explain.clone(),
        input: args.input.clone(),
        topics: args.topics.clone(),
        qrels: args.qrels.clone(),
        places: indexing.places(args.evidence.as_ref()),
        effort: IndexingBudget::on(indexing.threads)?,
        place: ReportPlace::new(&args.output, args.single_file, depth, args.edition),
    };
    args.faults.check(&settings.inputs())?;
    let log = args.faults.log(None, indexing.verbose);
    let mut printer = EventPrinter::new(indexing.quiet, log);
    let written = inspect::inspect(&settings, &mut |event| printer.print(event))?;
    if indexing.verbose {
        written.verified.into_iter().for_each(print_verified);
    }
    if indexing.quiet.is_none() {
        print(&format_args!("{}\n", shown(&written.page)))?;
    }
    printer.finish()
}
