//! Runs riposte and collection-tools as a user does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::files;

/// `riposte` without the files of this machine's user: it has no models, no WordNet and no configuration, and its cache is in `home`.
pub fn riposte(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riposte"));
    command
        .args(args)
        .env("RIPOSTE_MODELS", home.join("no-models"))
        .env("RIPOSTE_DATASETS", home.join("no-datasets"))
        .env("WNSEARCHDIR", home.join("no-wordnet"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env_remove("RIPOSTE_DATASETS_CATALOGUE")
        .env_remove("RIPOSTE_CONFIG")
        .env_remove("RIPOSTE_THREADS")
        .env_remove("RIPOSTE_CACHE")
        .env_remove("RIPOSTE_TAG")
        .env_remove("HF_ENDPOINT")
        .env_remove("HF_TOKEN")
        .stdin(Stdio::null());
    command
}

/// The arguments of a command as a user types them, with each `{}` replaced by the next of the given texts.
pub fn typed<'a>(line: &'a str, given: &[&'a str]) -> Vec<&'a str> {
    let mut given = given.iter().copied();
    let words = line.split(' ');
    words
        .map(|word| {
            if word == "{}" {
                given.next().unwrap()
            } else {
                word
            }
        })
        .collect()
}

/// `riposte controversial` on the arguments in `input`, with the run in `out`, started like [`riposte`].
pub fn rank_arguments(home: &Path, input: &Path, out: &Path) -> Command {
    let (input, out) = (files::text(input), files::text(out));
    riposte(home, &["controversial", "-i", input, "-o", out])
}

/// `riposte images` on the collection in `input`, with the run in `out`, started like [`riposte`].
pub fn rank_images(home: &Path, input: &Path, out: &Path) -> Command {
    let mut command = riposte(home, &["images", "--quiet=progress", "-i"]);
    command.arg(input).arg("-o").arg(out);
    command
}

/// A program that Cargo builds beside these tests, but whose path it does not pass to them: of another package (`folder` is empty), or an example. It
/// is in the workspace's target directory, two levels above this test (target/PROFILE/deps/it-…).
pub fn built(folder: &str, name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let program = profile.join(folder).join(program);
    assert!(
        program.is_file(),
        "{} is missing: `cargo build --workspace --examples` builds it (with --release for a release build)",
        program.display()
    );
    program
}

/// `collection-tools`, which is another package.
pub fn collection_tools(args: &[&str]) -> Command {
    let mut command = Command::new(built("", "collection-tools"));
    command.args(args).stdin(Stdio::null());
    command
}

/// The exit code; -1 if a signal ended the command.
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

/// A new directory in which riposte runs.
pub struct WorkDir(TempDir);

impl WorkDir {
    pub fn new() -> WorkDir {
        WorkDir(tempfile::tempdir().unwrap())
    }

    /// A new directory with these files, by name and content.
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

    /// Runs riposte, which must exit with 0. Returns standard output and standard error.
    #[track_caller]
    pub fn succeeds(&self, line: &str) -> (String, String) {
        let (code, printed, said) = self.run(line);
        assert_eq!(code, 0, "{line}: {printed}{said}");
        (printed, said)
    }

    /// Runs the commands of a table. Each must exit with 2, and its error must contain the words after the bar.
    #[track_caller]
    pub fn refuses(&self, table: &str) {
        for row in table.trim().lines() {
            let (line, why) = row.split_once(" | ").unwrap();
            let (code, _, said) = self.run(line.trim());
            assert_eq!(code, 2, "{line}: {said}");
            assert!(said.contains(why.trim()), "{line}: {said}");
        }
    }

    /// Runs riposte with the words of a line as arguments. Returns the exit code, standard output and standard error.
    pub fn run(&self, line: &str) -> (i32, String, String) {
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = riposte(self.0.path(), &args);
        let output = command.current_dir(self.0.path()).output().unwrap();
        (code(&output), stdout(&output), stderr(&output))
    }
}

/// Runs a command on a terminal with this number of columns, which Python's module pty provides. Returns what the terminal shows, with the
/// sequences for colours and for the cursor.
pub fn on_terminal(python: &Path, columns: usize, command: &Command) -> String {
    // the child sets the size of its own terminal before it becomes the command
    let program = "import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b''
while True:
    try:
        read = os.read(terminal, 65536)
    except OSError:
        break
    if not read:
        break
    shown += read
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status))";
    let mut shown = Command::new(python);
    shown.args(["-c", program, &columns.to_string()]);
    shown.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shown.env(name, value),
            None => shown.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        shown.current_dir(dir);
    }
    shown.env("TERM", "xterm").env_remove("CLICOLOR_FORCE");
    stdout(&succeed(&mut shown)).replace("\r\n", "\n")
}
