//! What a command does with the faults that it has passed over: the first of each kind are printed when they are found, all are listed in a file, and
//! their number is printed at the end.

mod args;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::SpooledTempFile;

use super::{shown, terminal};
use riposte::collection::{Fault, FaultKind};
use riposte::disk;

pub(super) use args::FaultArgs;

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

/// Removes the list of an earlier run, because this one has no fault. A device or a pipe stays, and gets nothing.
fn remove_list(file: &Path) -> io::Result<()> {
    if disk::is_stream(file)? {
        return disk::replace(file, b"");
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
