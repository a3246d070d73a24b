//! Where a command takes a collection, any folder of pictures, saved pages and texts can be given.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::Command;
use crate::cli::args::{CacheArgs, Quiet};
use crate::cli::export::ExportCommand;
use crate::cli::faults::FaultLog;
use crate::cli::image_args::ExtractionArgs;
use crate::cli::progress::EventPrinter;
use crate::cli::text_args::{IndexingArgs, TextArgs};
use riposte::collection::task::Task;
use riposte::files::check_once;
use riposte::ingest::own_folder::{NothingThere, OwnFolder};
use riposte::places::Places;
use riposte_eval::TextTask;

/// A collection as the user typed it.
struct Typed<'a> {
    input: &'a mut PathBuf,
    /// The task of the command, or the chosen one.
    task: Option<Task>,
    cache: Option<&'a CacheArgs>,
    quiet: Option<Quiet>,
}

impl Command {
    /// Replaces folders that are no collections by the collections that are made of them. `ask` and `serve` do that themselves.
    ///
    /// # Errors
    /// A collection cannot be made. If there is nothing in the folder, the command itself says what it lacks.
    pub(in crate::cli) fn with_folders(mut self) -> Result<Command> {
        if let Command::Inspect(args) = &self {
            // before a collection is made for nothing
            let runs = args.against.iter().chain([&args.run]);
            check_once(
                args.qrels
                    .iter()
                    .map(Path::new)
                    .chain(runs.map(PathBuf::as_path)),
            )?;
        }
        if let Some(typed) = self.collection() {
            typed.make()?;
        }
        Ok(self)
    }

    fn collection(&mut self) -> Option<Typed<'_>> {
        Some(match self {
            Command::Images(args) => Typed::of_images(&mut args.extraction),
            Command::Extract(args) => Typed::of_images(&mut args.extraction),
            Command::Controversial(args) => {
                Typed::of_texts(&mut args.texts, TextTask::Controversial)
            }
            Command::Comparative(args) => Typed::of_texts(&mut args.texts, TextTask::Comparative),
            Command::Rank(args) => Typed::of_texts(args, TextTask::Rank),
            Command::Index(args) => Typed::of(&mut args.input, args.task, &args.indexing),
            Command::Inspect(args) => Typed::of(&mut args.input, args.task, &args.indexing),
            Command::Export(ExportCommand::Evidence(args)) => Typed {
                input: args.input.as_mut()?,
                task: Some(Task::Images),
                cache: Some(&args.cache),
                quiet: args.quiet,
            },
            Command::Verify(args) => Typed {
                input: args.input.as_mut()?,
                task: None,
                cache: None,
                quiet: None,
            },
            _ => return None,
        })
    }
}

impl<'a> Typed<'a> {
    fn of_images(args: &'a mut ExtractionArgs) -> Self {
        Typed {
            input: &mut args.input,
            task: Some(Task::Images),
            cache: Some(&args.cache),
            quiet: args.quiet,
        }
    }

    fn of_texts(args: &'a mut TextArgs, task: TextTask) -> Self {
        Typed::of(&mut args.input, Some(Task::Texts(task)), &args.indexing)
    }

    fn of(input: &'a mut PathBuf, task: Option<Task>, indexing: &'a IndexingArgs) -> Self {
        Typed {
            input,
            task,
            cache: Some(&indexing.cache),
            quiet: indexing.quiet,
        }
    }

    fn make(self) -> Result<()> {
        if !self.input.is_dir() || !OwnFolder::is_needed(self.input, self.task) {
            return Ok(());
        }
        let places = self
            .cache
            .map_or_else(Places::default, |cache| cache.places(None, None));
        let mut printer = EventPrinter::new(self.quiet, FaultLog::unlisted());
        match OwnFolder::open(self.input, &places, &mut |event| printer.print(event)) {
            Ok(mut folder) if self.task.is_none_or(|task| folder.has(task)) => {
                folder.keep();
                *self.input = folder.dir;
            }
            Ok(_) => {}
            Err(error) if error.is::<NothingThere>() => {}
            Err(error) => return Err(error),
        }
        printer.finish()?;
        Ok(())
    }
}
