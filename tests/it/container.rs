//! riposte in the environment of TIRA: a user without a name and a home, a read-only input, and few directories that can be written.
//! tests/container.sh tests the image itself.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::files::{entries, name, text};
use crate::support::program::{code, stderr};
use crate::support::{assert_says, sample};

/// A user id that has no name on any machine.
const USER: u32 = 12_345;

/// A directory with the output directory `out`, which every user can write, and `tmp`.
fn container(mode_of_tmp: u32) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, mode) in [("", 0o755), ("out", 0o777), ("tmp", mode_of_tmp)] {
        let path = dir.path().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    dir
}

/// `riposte images` on some images of the sample, with only three environment variables and without HOME. Only root can become another user. For
/// other users, HOME is `/`, as Docker sets it for a user without a name.
fn images(dir: &Path, more: &[&str]) -> Output {
    command(dir, more).output().unwrap()
}

fn command(dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riposte"));
    command.args(["images", "--limit", "3"]).args(more);
    command.env_clear().current_dir("/");
    command.env("RIPOSTE_MODELS", dir.join("models"));
    command.env("TMPDIR", dir.join("tmp"));
    command.env("inputDataset", sample());
    command.env("outputDir", dir.join("out"));
    if fs::metadata(dir).unwrap().uid() == 0 {
        command.uid(USER).gid(USER);
    } else {
        command.env("HOME", "/");
    }
    command
}

/// The files and directories in a directory, with their sizes and times.
fn listing(dir: &Path) -> Vec<(PathBuf, u64, i64, i64)> {
    let mut found = Vec::new();
    for path in entries(dir) {
        let of = fs::symlink_metadata(&path).unwrap();
        if of.is_dir() {
            found.extend(listing(&path));
        }
        found.push((path, of.len(), of.mtime(), of.mtime_nsec()));
    }
    found
}

fn names(dir: &Path) -> Vec<String> {
    entries(dir)
        .iter()
        .map(|path| name(path).to_owned())
        .collect()
}

#[test]
fn a_user_without_a_home_ranks_and_writes_only_the_run_and_temporary_files() {
    let dir = container(0o1777);
    let (out, tmp) = (dir.path().join("out"), dir.path().join("tmp"));
    let before = listing(sample());
    let mut runs = Vec::new();
    for new in [3, 0] {
        let output = images(dir.path(), &[]);
        let said = stderr(&output);
        assert_eq!(code(&output), 0, "{said}");
        let summary = format!("3 images, {new} of them new or changed");
        assert!(said.contains(&summary), "{said}");
        assert_eq!(names(&out), ["ir-metadata.yml", "run.txt"]);
        runs.push(fs::read(out.join("run.txt")).unwrap());
    }
    assert_eq!(runs[0], runs[1]);
    assert!(!runs[0].is_empty());
    let user = fs::metadata(out.join("run.txt")).unwrap().uid();
    assert_eq!(names(&tmp), [format!("riposte-{user}")]);
    assert_eq!(listing(sample()), before);
}

#[test]
fn where_only_the_output_directory_can_be_written_evidence_in_it_is_enough() {
    let dir = container(0o555);
    let out = dir.path().join("out");
    let refused = images(dir.path(), &[]);
    let said = stderr(&refused);
    assert_eq!(code(&refused), 2, "{said}");
    assert_says(&said, &["choose another place with --evidence"]);
    assert!(names(&out).is_empty());
    let evidence = out.join("evidence.sqlite");
    let output = images(dir.path(), &["--evidence", text(&evidence)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(!fs::read(out.join("run.txt")).unwrap().is_empty());
    assert!(evidence.is_file());
}

#[test]
fn a_user_without_a_home_has_the_cache_directory_that_is_named() {
    let dir = container(0o1777);
    let cache = dir.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let output = command(dir.path(), &[])
        .env("XDG_CACHE_HOME", &cache)
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(code(&output), 0, "{said}");
    assert!(!said.contains("cache directory"), "{said}");
    assert_eq!(names(&cache), ["riposte"]);
    assert!(names(&dir.path().join("tmp")).is_empty());
}

#[test]
fn models_that_the_user_may_not_read_are_an_error_and_not_taken_for_missing() {
    let dir = container(0o1777);
    let model = dir.path().join("models/ppocr-v4");
    fs::create_dir_all(&model).unwrap();
    fs::set_permissions(&model, fs::Permissions::from_mode(0o000)).unwrap();
    let output = images(dir.path(), &[]);
    fs::set_permissions(&model, fs::Permissions::from_mode(0o755)).unwrap();
    let said = stderr(&output);
    assert_eq!(code(&output), 2, "{said}");
    assert_says(&said, &["ppocr-v4", "Permission denied"]);
    assert!(names(&dir.path().join("out")).is_empty());
}
