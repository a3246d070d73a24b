//! `collection`: makes an image collection of one's own files, and checks one.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::args::{QUIET, Quiet};
use super::faults::{FaultArgs, FaultLog};
use super::progress::EventPrinter;
use super::terminal::counted;
use super::{print, shown};
use riposte::ingest::check_collection::check;
use riposte::ingest::new_collection::{MIN_SIDE, MadeCollection, NewCollection, new_collection};

#[derive(Subcommand)]
pub(super) enum CollectionCommand {
    /// Make an image collection of folders of pictures and saved pages, and of MHTML, WARC and WACZ files
    New(NewArgs),
    /// Say what is in an image collection, and what of it is broken
    Check(CheckArgs),
}

#[derive(Args)]
pub(super) struct NewArgs {
    /// Directory of the new collection. It must not exist, or be empty
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Where pages and pictures are: folders with their subfolders, saved pages (.html with their folders, .mhtml), web archives (.warc, .warc.gz,
    /// .warc.zst, .wacz). Several are allowed
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    from: Vec<PathBuf>,
    /// File of topics, which is copied unchanged
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,
    /// Leave out pictures whose shorter side has fewer pixels, such as icons
    #[arg(long, value_name = "PIXELS", default_value_t = MIN_SIDE)]
    min_side: u32,
    /// Keep pictures that no page shows, too. Without any page, all pictures are kept
    #[arg(long)]
    keep_unshown: bool,
    /// Print nothing but the result and errors; with --quiet=progress, notes and faults, too
    #[arg(short, long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = QUIET, hide_possible_values = true)]
    quiet: Option<Quiet>,
    /// Print all faults, and not only the first ten of each kind
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    faults: FaultArgs,
}

#[derive(Args)]
pub(super) struct CheckArgs {
    /// Directory of the collection, or the name of a data set
    #[arg(value_name = "DIR")]
    pub(super) dir: PathBuf,
}

/// `riposte collection`.
pub fn collection(command: &CollectionCommand) -> Result<u8> {
    match command {
        CollectionCommand::New(args) => new(args),
        CollectionCommand::Check(args) => checked(args),
    }
}

fn new(args: &NewArgs) -> Result<u8> {
    let inputs = args.topics.iter().map(PathBuf::as_path);
    args.faults.check(&inputs.collect::<Vec<_>>())?;
    let wanted = NewCollection {
        dir: args.dir.clone(),
        sources: args.from.clone(),
        topics: args.topics.clone(),
        min_side: args.min_side,
        keep_unshown: args.keep_unshown,
    };
    let log = args.faults.log(None, args.verbose);
    let mut printer = EventPrinter::new(args.quiet, log);
    let made = new_collection(&wanted, &mut |event| printer.print(event))?;
    if args.quiet.is_none() {
        print(&summary(args, &made))?;
    }
    printer.finish()
}

/// What was made, what was left out, and what to do next.
fn summary(args: &NewArgs, made: &MadeCollection) -> String {
    let dir = shown(&args.dir);
    let mut lines = format!(
        "{dir}: {} on {} of {} that were read\n",
        counted(made.images, "image", "images"),
        counted(made.pages, "page", "pages"),
        made.pages_read
    );
    if made.without_page > 0 {
        lines += &format!(
            "  {} without a page\n",
            counted(made.without_page, "image", "images")
        );
    }
    if !made.left_out.is_empty() {
        lines += "left out:\n";
    }
    for (reason, count) in &made.left_out {
        lines += &format!("  {}\n", reason.line(*count));
    }
    lines += &match made.topics {
        Some(count) => format!(
            "{}: rank them with `riposte images -i {dir} -o OUT`\n",
            counted(count, "topic", "topics")
        ),
        None => format!(
            "no topics: ask it with `riposte ask 'Should zoos be closed?' -i {dir}`, or rank it with `riposte images -i {dir} -o OUT --topics FILE`\n"
        ),
    };
    lines
}

/// Prints each fault, and what there is. The exit code is 1 if there is a fault.
fn checked(args: &CheckArgs) -> Result<u8> {
    let checked = check(&args.dir)?;
    let mut log = FaultLog::unlisted();
    for fault in &checked.faults {
        print(&format_args!("{}: {fault}\n", fault.kind.word()))?;
        log.add(fault);
    }
    let topics = match checked.topics {
        Some(count) => counted(count, "topic", "topics"),
        None => "no topics".to_owned(),
    };
    print(&format_args!(
        "{}: {}, {}, {topics}\n",
        shown(&args.dir),
        counted(checked.images, "image", "images"),
        counted(checked.pages, "page", "pages"),
    ))?;
    if checked.pages == 0 && checked.without_page > 0 {
        print(&"no image has a page: they are found by what is in the pictures alone\n")?;
    }
    log.finish()?;
    Ok(u8::from(!checked.faults.is_empty()))
}
