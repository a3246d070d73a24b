//! riposte and collection-tools, run as a user runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::files;

/// `riposte` with nothing of this machine's user: no models, no WordNet, no configuration, and a cache of its own in `home`.
pub fn riposte(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riposte"));
    command
        .args(args)
        .env("RIPOSTE_MODELS", home.join("no-models"))
        .env("WNSEARCHDIR", home.join("no-wordnet"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env_remove("RIPOSTE_CONFIG")
        .env_remove("RIPOSTE_THREADS")
        .env_remove("RIPOSTE_CACHE")
        .env_remove("RIPOSTE_TAG")
        .stdin(Stdio::null());
    command
}

/// `riposte controversial` on the arguments in `input`, with the run in `out`; otherwise as [`riposte`].
pub fn rank_arguments(home: &Path, input: &Path, out: &Path) -> Command {
    let (input, out) = (files::text(input), files::text(out));
    riposte(home, &["controversial", "-i", input, "-o", out])
}

/// `collection-tools`, which is a package of its own: Cargo does not build it for these tests. It is in the workspace's target directory, two
/// levels above this test (target/PROFILE/deps/it-…).
pub fn collection_tools(args: &[&str]) -> Command {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = profile.join(format!("collection-tools{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is missing: `cargo build -p collection-tools` (with --release for a release build) makes it",
        program.display()
    );
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    command
}

/// The exit code; -1 where a signal ended the command.
pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command that must exit with 0.
#[track_caller]
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert_eq!(
        code(&output),
        0,
        "{command:?}\n{}{}",
        stdout(&output),
        stderr(&output)
    );
    output
}

/// A fresh directory, and riposte run in it.
pub struct WorkDir(TempDir);

impl WorkDir {
    pub fn new() -> WorkDir {
        WorkDir(tempfile::tempdir().unwrap())
    }

    /// With files by name and content.
    pub fn with(contents: &[(&str, &[u8])]) -> WorkDir {
        let dir = WorkDir::new();
        for (name, bytes) in contents {
            files::write(&dir.path(name), bytes);
        }
        dir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs riposte with the words of a line; the exit code, standard output and standard error.
    pub fn run(&self, line: &str) -> (i32, String, String) {
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = riposte(self.0.path(), &args);
        let output = command.current_dir(self.0.path()).output().unwrap();
        (code(&output), stdout(&output), stderr(&output))
    }
}
