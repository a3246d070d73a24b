//! What a command does with the faults that it has passed over: the first of each kind are printed when they are found, all are listed in a file, and
//! their number is printed at the end.

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use tempfile::SpooledTempFile;

use super::args::LAST;
use super::{shown, terminal};
use riposte::collection::{Fault, FaultKind};
use riposte::disk;
use riposte::files::{check_distinct, check_writable};

/// Number of faults of each kind that are printed without `--verbose`.
const PRINTED: u64 = 10;

/// Number of bytes of the list that are kept in memory.
const IN_MEMORY: usize = 1 << 20;

/// The faults that a command has passed over.
pub(super) struct FaultLog {
    is_strict: bool,
    /// The file that receives all faults.
    file: Option<PathBuf>,
    prints_all: bool,
    /// Whether nothing is printed, unless faults change the exit code.
    pub(super) is_silent: bool,
    /// Whether the command has the option `--faults`.
    can_list: bool,
    counts: BTreeMap<FaultKind, u64>,
    lines: SpooledTempFile,
    /// The first error of writing `lines`.
    failed: Option<io::Error>,
}

impl FaultLog {
    /// The log of a command that only prints the first faults.
    pub(super) fn unlisted() -> FaultLog {
        FaultLog {
            is_strict: false,
            file: None,
            prints_all: false,
            is_silent: false,
            can_list: false,
            counts: BTreeMap::new(),
            lines: SpooledTempFile::new(IN_MEMORY),
            failed: None,
        }
    }

    /// Adds a fault. Returns whether it is to be printed.
    pub(super) fn add(&mut self, fault: &Fault) -> bool {
        let count = self.counts.entry(fault.kind).or_default();
        *count += 1;
        if self.file.is_some()
            && self.failed.is_none()
            && let Err(error) = writeln!(self.lines, "{}", fault.to_json())
        {
            self.failed = Some(error);
        }
        !self.is_silent && (self.prints_all || *count <= PRINTED)
    }

    /// Writes the list, and prints the number of faults. Returns the exit code.
    ///
    /// # Errors
    /// The list cannot be written.
    pub(super) fn finish(mut self) -> Result<u8> {
        let all: u64 = self.counts.values().sum();
        if let Some(file) = &self.file {
            let writing = || format!("cannot write {}", file.display());
            if let Some(error) = self.failed {
                return Err(error).with_context(writing);
            }
            if all > 0 {
                self.lines.rewind().with_context(writing)?;
                disk::replace_with(file, |to| io::copy(&mut self.lines, to).map(drop))
                    .with_context(writing)?;
            } else {
                remove_list(file).with_context(writing)?;
            }
        }
        if all == 0 || (self.is_silent && !self.is_strict) {
            return Ok(0);
        }
        let kinds = self.counts.iter();
        let kinds = kinds.map(|(kind, count)| format!("{} {count}", kind.word()));
        let kinds: Vec<String> = kinds.collect();
        let count = terminal::counted(all, "fault", "faults");
        let listed = match &self.file {
            Some(file) => format!("; all of them are in {}", shown(file)),
            None if self.prints_all => String::new(),
            None if self.counts.values().all(|count| *count <= PRINTED) => String::new(),
            None if self.can_list => "; --faults FILE lists them all".to_owned(),
            None => String::new(),
        };
        say!("{count}: {}{listed}", kinds.join(", "));
        Ok(u8::from(self.is_strict))
    }
}

/// The list of faults in an output directory.
const FILE: &str = "faults.jsonl";

/// The options of commands that pass over what is broken.
#[derive(Args, Clone, Default)]
pub(super) struct FaultArgs {
    /// Exit with 1, and not with 0, if something in the input is broken and was passed over
    #[arg(long, display_order = LAST)]
    pub(super) strict: bool,
    /// List all faults in FILE, one JSON object per line (document, file, line, kind, reason). By default faults.jsonl in the output directory, if the
    /// command has one
    #[arg(long, value_name = "FILE", display_order = LAST)]
    pub(super) faults: Option<PathBuf>,
}

impl FaultArgs {
    /// The file that receives the list.
    pub(super) fn file(&self, dir: Option<&Path>) -> Option<PathBuf> {
        self.faults.clone().or_else(|| Some(dir?.join(FILE)))
    }

    /// Checks before the work that the list can be written, and replaces nothing that is read.
    ///
    /// # Errors
    /// It cannot be written, or is one of the files in `inputs`.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<()> {
        let Some(file) = &self.faults else {
            return Ok(());
        };
        check_writable(file)?;
        check_distinct(&[("--faults", file)], inputs)
    }

    /// An empty log. `dir` is the output directory of the command. Its list is replaced, or removed if there is no fault. With `prints_all`, each
    /// fault is printed.
    pub(super) fn log(&self, dir: Option<&Path>, prints_all: bool) -> FaultLog {
        FaultLog {
            is_strict: self.strict,
            file: self.file(dir),
            prints_all,
            can_list: true,
            ..FaultLog::unlisted()
        }
    }
}

/// Removes the list of an earlier run, because this one has no fault. A device or a pipe stays, and gets nothing.
fn remove_list(file: &Path) -> io::Result<()> {
    if disk::is_stream(file)? {
        return disk::replace(file, b"");
    }
    disk::remove_if_there(file)
}
