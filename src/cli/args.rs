//! The options that commands of all builds have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use riposte::directories::CACHE_VARIABLE;

/// The environment variables of the options that riposte.toml has defaults for.
pub(super) const THREADS: &str = "RIPOSTE_THREADS";
pub(super) const TAG: &str = "RIPOSTE_TAG";

/// The place of options that several commands share, below the command's own options.
pub(super) const LAST: usize = 900;

/// The heading of options in help texts that say where and how something is computed; options without a heading come first, under "Options".
pub(super) const STORAGE: &str = "Storage and threads";

#[derive(Args, Clone, Debug)]
pub(super) struct CacheArgs {
    /// Cache directory, for evidence, indexes and model outputs that no other option places elsewhere. By default `riposte` in the user's cache
    /// directory
    #[arg(long = "cache", id = "cache", value_name = "DIR", env = CACHE_VARIABLE, help_heading = STORAGE)]
    pub(super) dir: Option<PathBuf>,
}

/// What a quiet command does not print. Results and errors are always printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Quiet {
    /// Progress and summaries
    Progress,
    /// Also notes and faults
    All,
}

/// The words of `-q`, which without a value means [`Quiet::All`].
pub(super) const QUIET: &str = "all";
