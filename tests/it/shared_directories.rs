//! Directories that other users can write to, and files that killed runs leave in them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use riposte::index::inverted::{self, IndexKind};

use crate::support::collection::{arguments, write_topic};
use crate::support::files::{entries, name, text};
use crate::support::need::{Giving, need};
use crate::support::program::{code, rank_arguments, rank_images, riposte, stderr, succeed, typed};
use crate::support::{assert_says, golden_evidence, sample};

/// The names of the files and directories in a directory.
fn names(dir: &Path) -> Vec<String> {
    let paths = entries(dir).into_iter();
    paths.map(|path| name(&path).to_owned()).collect()
}

#[test]
fn killed_reports_and_files_leave_nothing_behind_after_the_next_run() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (evidence, out, reports) = (at("e.sqlite"), at("out"), at("reports"));
    fs::copy(golden_evidence(), &evidence).unwrap();
    fs::create_dir_all(&out).unwrap();
    // names like those of temporary directories, but riposte has not made them
    fs::write(out.join(".riposte-a1B2c3"), "of the user").unwrap();
    for name in [".riposte-models", ".riposte-0123456789abcdef"] {
        fs::create_dir(out.join(name)).unwrap();
        fs::write(out.join(name).join("notes"), "of the user").unwrap();
    }
    let mut images = rank_images(home.path(), sample(), &out);
    let output = images.arg("--evidence").arg(&evidence).output().unwrap();
    assert!(code(&output) < 2, "{}", stderr(&output));
    assert_eq!(
        names(&out),
        [
            ".riposte-0123456789abcdef",
            ".riposte-a1B2c3",
            ".riposte-models",
            "ir-metadata.yml",
            "run.txt"
        ]
    );

    let report = reports.join("inspect");
    let inspect = || {
        let mut command = riposte(
            home.path(),
            &["inspect", "-i", text(sample()), text(&out), "-o"],
        );
        command.arg(&report).arg("--evidence").arg(&evidence);
        command
    };
    let temporary = || {
        let names = if reports.is_dir() {
            names(&reports)
        } else {
            Vec::new()
        };
        let mut names = names.into_iter();
        names.find(|name| name.starts_with(".riposte-"))
    };
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let mut child = inspect()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // waits until the process writes a file whose name differs from those of earlier processes
        while temporary().is_none_or(|name| seen.contains(&name)) {
            assert_eq!(
                child.try_wait().unwrap(),
                None,
                "it ended before it was killed"
            );
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // the test whether the directory can be written leaves no file, even if the process is killed immediately afterwards
        seen.extend(temporary());
    }
    succeed(&mut inspect());
    assert_eq!(names(&reports), ["inspect"]);
    assert!(report.join("index.html").is_file());
}

/// The command for a user whose cache cannot be written, with `tmp` as the directory for temporary files.
fn without_cache(mut command: Command, tmp: &Path) -> Command {
    command
        .env("XDG_CACHE_HOME", "/dev/null/cache")
        .env("HOME", "/dev/null/home");
    command.env("TMPDIR", tmp);
    command
}

#[test]
fn without_a_cache_the_index_is_in_a_directory_that_only_its_user_can_enter() {
    let (dir, _) = arguments(60);
    let home = dir.path();
    write_topic(home);
    let (tmp, out) = (home.join("tmp"), home.join("out"));
    fs::create_dir(&tmp).unwrap();
    // the directory that earlier versions used is ignored, because everyone can write to it
    fs::create_dir(tmp.join("riposte")).unwrap();
    fs::set_permissions(tmp.join("riposte"), fs::Permissions::from_mode(0o777)).unwrap();
    let rank = || {
        let mut command = rank_arguments(home, home, &out);
        command.args(["--approach", "bm25"]);
        without_cache(command, &tmp)
    };
    let said = stderr(&succeed(&mut rank()));
    let own = tmp.join(format!("riposte-{}", fs::metadata(&out).unwrap().uid()));
    assert_says(&said, &[text(&own), "--index"]);
    let found = fs::metadata(&own).unwrap();
    assert_eq!(found.mode() & 0o777, 0o700);
    let workspace = names(&own)
        .into_iter()
        .find(|name| !name.ends_with(".lock"));
    let inside = names(&own.join(workspace.unwrap()));
    assert!(inside.iter().any(|name| name.ends_with(".index")));
    assert!(names(&tmp.join("riposte")).is_empty());
    succeed(&mut rank());

    let refused = |why: &str| {
        let output = rank().output().unwrap();
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{said}");
        assert!(said.contains(why) && said.contains("--index"), "{said}");
    };
    for mode in [0o770, 0o707, 0o755] {
        fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
        refused("others can enter");
    }
    fs::remove_dir_all(&own).unwrap();
    let elsewhere = home.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &own).unwrap();
    refused("is not a directory");
    assert!(names(&elsewhere).is_empty());
    fs::remove_file(&own).unwrap();
    fs::write(&own, "").unwrap();
    refused("is not a directory");
}

#[test]
fn a_directory_of_another_user_is_refused() {
    let Some(user) = need(Giving) else {
        return;
    };
    let (dir, _) = arguments(60);
    let home = dir.path();
    write_topic(home);
    let (tmp, out) = (home.join("tmp"), home.join("out"));
    let own = tmp.join(format!("riposte-{}", fs::metadata(home).unwrap().uid()));
    fs::create_dir_all(&own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
    chown(&own, Some(user), None).unwrap();
    let mut command = without_cache(rank_arguments(home, home, &out), &tmp);
    let output = command.output().unwrap();
    assert_eq!(code(&output), 2);
    assert_says(&stderr(&output), &["belongs to another user"]);
}

#[test]
fn a_planted_link_in_the_place_of_a_lock_keeps_its_target() {
    let (dir, _) = arguments(60);
    let home = dir.path();
    write_topic(home);
    let at = |name: &str| home.join(name);
    let (precious, out, place) = (at("precious"), at("out"), at("indexes"));
    fs::write(&precious, "years of work").unwrap();
    fs::create_dir(&place).unwrap();
    let refused = |command: &mut Command| {
        let output = command.output().unwrap();
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{said}");
        assert!(said.contains("is a symbolic link"), "{said}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "years of work");
    };
    symlink(&precious, at(".e.sqlite.lock")).unwrap();
    let args = typed(
        "images -i {} -o {} --evidence",
        &[text(sample()), text(&out)],
    );
    refused(riposte(home, &args).arg(at("e.sqlite")));

    let analyzer = "stop=lucene stem=porter".parse().unwrap();
    let index = inverted::directory(
        &place.join("workspace.sqlite"),
        IndexKind::Arguments,
        &analyzer,
    );
    let lock = place.join(format!(".{}.lock", name(&index)));
    symlink(&precious, &lock).unwrap();
    let rank = || {
        let mut command = rank_arguments(home, home, &out);
        command.args(["--approach", "bm25", "--index"]).arg(&place);
        command
    };
    refused(&mut rank());
    fs::remove_file(&lock).unwrap();
    succeed(&mut rank());
    // a lock file with content is not changed
    fs::write(&lock, "years of work").unwrap();
    succeed(&mut rank());
    assert_eq!(fs::read_to_string(&lock).unwrap(), "years of work");
    // if run.txt is a link, the run replaces the link
    fs::remove_file(out.join("run.txt")).unwrap();
    symlink(&precious, out.join("run.txt")).unwrap();
    succeed(&mut rank());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "years of work");
    assert!(!out.join("run.txt").is_symlink());
}
