//! The options for faults: the file that lists them, and whether they change the exit code.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::FaultLog;
use crate::cli::args::LAST;
use riposte::files::{check_distinct, check_writable};

/// The list of faults in an output directory.
const FILE: &str = "faults.jsonl";

/// The options of commands that pass over what is broken.
#[derive(Args, Clone, Default)]
pub(in crate::cli) struct FaultArgs {
    /// Exit with 1, and not with 0, if something in the input is broken and was passed over
    #[arg(long, display_order = LAST)]
    pub(in crate::cli) strict: bool,
    /// List all faults in FILE, one JSON object per line (document, file, line, kind, reason). By default faults.jsonl in the output directory, if the
    /// command has one
    #[arg(long, value_name = "FILE", display_order = LAST)]
    pub(in crate::cli) faults: Option<PathBuf>,
}

impl FaultArgs {
    /// The file that receives the list.
    pub(in crate::cli) fn file(&self, dir: Option<&Path>) -> Option<PathBuf> {
        self.faults.clone().or_else(|| Some(dir?.join(FILE)))
    }

    /// Checks before the work that the list can be written, and replaces nothing that is read.
    ///
    /// # Errors
    /// It cannot be written, or is one of the files in `inputs`.
    pub(in crate::cli) fn check(&self, inputs: &[&Path]) -> Result<()> {
        let Some(file) = &self.faults else {
            return Ok(());
        };
        check_writable(file)?;
        check_distinct(&[("--faults", file)], inputs)
    }

    /// An empty log. `dir` is the output directory of the command. Its list is replaced, or removed if there is no fault. With `prints_all`, each
    /// fault is printed.
    pub(in crate::cli) fn log(&self, dir: Option<&Path>, prints_all: bool) -> FaultLog {
        FaultLog {
            is_strict: self.strict,
            file: self.file(dir),
            prints_all,
            can_list: true,
            ..FaultLog::unlisted()
        }
    }
}
