//! `riposte cache`: lists the entries of the cache, and removes nothing else.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use riposte::disk::TemporaryDir;
use serde_json::Value;

use crate::support::collection::{arguments, write_topic};
use crate::support::files::{self, json_lines, text, write};
use crate::support::need::{Program, need};
use crate::support::program::{WorkDir, code, rank_arguments, riposte, stderr, stdout, succeed};
use crate::support::{sample, wait};

/// A directory with a cache: it has the evidence and the index of the sample's first image, and the index of the passages in `texts`.
fn filled() -> WorkDir {
    let passage = "{\"id\": \"p1\", \"contents\": \"I prefer the laptop, because it is much better than my old desktop ever was, and I can take it with me to work.\"}\n";
    let dir = WorkDir::with(&[("texts/passages.jsonl", passage.as_bytes())]);
    let (code, _, said) = dir.run(&format!("extract -i {} --limit 1 -q", text(sample())));
    assert_eq!(code, 0, "{said}");
    for line in [
        format!("index -i {}", text(sample())),
        "index -i texts".to_owned(),
    ] {
        let (code, _, said) = dir.run(&line);
        assert_eq!(code, 0, "{said}");
    }
    dir
}

fn listed(dir: &WorkDir) -> Vec<Value> {
    let (code, out, said) = dir.run("cache list --json");
    assert_eq!((code, said.as_str()), (0, ""));
    json_lines(&out)
}

/// The kind of each entry, with the last component of its collection's path.
fn kinds(dir: &WorkDir) -> BTreeSet<(String, String)> {
    let entries = listed(dir).into_iter();
    entries
        .map(|entry| {
            let collection = Path::new(entry["collection"].as_str().unwrap_or_default());
            let name = collection.file_name().unwrap_or_default();
            let kind = entry["kind"].as_str().unwrap().to_owned();
            (kind, name.to_string_lossy().into_owned())
        })
        .collect()
}

fn pairs(all: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    let all = all.iter();
    all.map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned()))
        .collect()
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// The paths of all files and directories below a directory.
fn all_names(dir: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for name in names(dir) {
        let path = dir.join(&name);
        if path.is_dir() {
            let inside = all_names(&path).into_iter();
            all.extend(inside.map(|inside| format!("{name}/{inside}")));
        }
        all.insert(name);
    }
    all
}

const STORED: [(&str, &str); 4] = [
    ("evidence", "sample"),
    ("index", "sample"),
    ("index", "texts"),
    ("model outputs", "texts"),
];

#[test]
fn what_is_stored_is_listed_with_its_collection_and_size() {
    let dir = WorkDir::new();
    assert_eq!(listed(&dir), [Value::Null; 0]);
    assert!(dir.run("cache list").1.contains("nothing is stored"));
    let dir = filled();
    assert_eq!(kinds(&dir), pairs(&STORED));
    for entry in listed(&dir) {
        let path = entry["path"].as_str().unwrap();
        assert!(Path::new(path).exists() && path.ends_with(entry["name"].as_str().unwrap()));
        assert!(entry["bytes"].as_u64().unwrap() > 0, "{entry}");
        assert_eq!(entry["in_use"], false);
        let used = SystemTime::UNIX_EPOCH + Duration::from_secs(entry["used"].as_u64().unwrap());
        assert!(
            used.elapsed()
                .is_ok_and(|age| age < Duration::from_secs(600))
        );
    }
    let (_, table, _) = dir.run("cache list");
    for part in ["evidence", "index", text(sample()), "ago", "KiB"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    // a collection that was moved is still named
    fs::rename(dir.path("texts"), dir.path("moved")).unwrap();
    assert!(dir.run("cache list").1.contains("texts (gone)"));
}

#[test]
fn what_is_named_is_removed_and_the_rest_stays() {
    let dir = filled();
    let (code, _, said) = dir.run("cache clear");
    assert!(code == 2 && said.contains("give --yes"), "{said}");
    let (code, out, _) = dir.run("cache clear --dry-run");
    assert!(code == 0 && out.contains("would remove 4 entries"), "{out}");
    let (code, _, said) = dir.run("cache clear --yes misspelt");
    assert!(code == 2 && said.contains("named misspelt"), "{said}");
    assert_eq!(kinds(&dir), pairs(&STORED));
    let (code, out, _) = dir.run("cache clear --yes --older-than 1h");
    assert_eq!((code, out.as_str()), (0, ""));
    assert_eq!(kinds(&dir), pairs(&STORED));

    // entries are chosen by their own name, by the name of a collection, or by a kind
    let outputs = listed(&dir)
        .into_iter()
        .find(|e| e["kind"] == "model outputs")
        .unwrap();
    let line = format!("cache clear --yes {}", outputs["name"].as_str().unwrap());
    assert_eq!(dir.run(&line).0, 0);
    assert_eq!(kinds(&dir), pairs(&[STORED[0], STORED[1], STORED[2]]));
    assert_eq!(dir.run("cache clear --yes texts").0, 0);
    assert_eq!(kinds(&dir), pairs(&[STORED[0], STORED[1]]));
    assert_eq!(dir.run("cache clear --yes index").0, 0);
    assert_eq!(kinds(&dir), pairs(&[STORED[0]]));
    let (code, out, _) = dir.run("cache clear --yes sample");
    assert!(code == 0 && out.starts_with("removed 1 entries"), "{out}");
    assert_eq!(names(&dir.path("cache/riposte")), BTreeSet::new());
}

#[test]
fn what_was_not_used_for_a_time_is_removed() {
    let dir = filled();
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 86_400);
    let age = |path: &Path| {
        let file = File::options().read(true).open(path).unwrap();
        file.set_modified(long_ago).unwrap();
    };
    let cache = dir.path("cache/riposte");
    for entry in &listed(&dir) {
        let path = Path::new(entry["path"].as_str().unwrap());
        if path.is_dir() {
            names(path).iter().for_each(|name| age(&path.join(name)));
        }
        age(path);
    }
    // the collections were used later than that
    assert!(
        dir.run("cache clear --yes --older-than 30d")
            .2
            .contains("nothing to remove")
    );
    let mut workspaces = names(&cache).into_iter();
    let texts = workspaces.find(|name| name.starts_with("texts-")).unwrap();
    age(&cache.join(texts).join("collection.txt"));
    let (code, out, said) = dir.run("cache clear --yes --older-than 5w");
    assert!(
        code == 0 && out.starts_with("removed 2 entries"),
        "{out}{said}"
    );
    assert_eq!(kinds(&dir), pairs(&[STORED[0], STORED[1]]));
    for wrong in ["30", "d", "30m", "-3d", "99999999999999999999d"] {
        let line = format!("cache clear --yes --older-than={wrong}");
        assert_eq!(dir.run(&line).0, 2, "{wrong}");
    }
}

#[test]
fn what_is_locked_stays() {
    let dir = filled();
    let cache = dir.path("cache/riposte");
    let workspace = |start: &str| {
        let mut found = names(&cache).into_iter();
        found.find(|name| name.starts_with(start)).unwrap()
    };
    // an extraction locks the store, and every command locks the workspace
    let sample = cache.join(workspace("sample-"));
    let store = File::open(sample.join(".workspace.sqlite.lock")).unwrap();
    store.lock().unwrap();
    let texts = File::open(cache.join(workspace(".texts-"))).unwrap();
    texts.lock_shared().unwrap();
    let in_use = listed(&dir)
        .into_iter()
        .filter(|entry| entry["in_use"] == true);
    assert_eq!(in_use.count(), 3);
    let (code, out, said) = dir.run("cache clear --yes");
    assert!(
        code == 1 && out.starts_with("removed 1 entries"),
        "{out}{said}"
    );
    assert_eq!(
        said.matches("in use by another process").count(),
        3,
        "{said}"
    );
    assert_eq!(kinds(&dir), pairs(&[STORED[0], STORED[2], STORED[3]]));
    // the locks are released explicitly, because a process that another test starts at this moment can have the files open, too
    store.unlock().unwrap();
    texts.unlock().unwrap();
    // an open transaction also protects the store
    let file = sample.join("workspace.sqlite");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (code, _, said) = dir.run("cache clear --yes sample");
    assert!(code == 1 && said.contains(text(&file)), "{said}");
    drop(connection);
    assert_eq!(dir.run("cache clear --yes").0, 0);
    assert_eq!(names(&cache), BTreeSet::new());
}

/// Files that a command uses remain until it ends, even if it does not lock them.
#[cfg(unix)]
#[test]
fn what_a_running_command_uses_stays() {
    let (input, _) = arguments(20_000);
    let dir = WorkDir::new();
    let out = dir.path("out");
    write_topic(input.path());
    let mut first = rank_arguments(&dir.path(""), input.path(), &out);
    let mut child = first.args(["--approach", "bm25"]).spawn().unwrap();
    let cache = dir.path("cache/riposte");
    let is_locked = || {
        let found = fs::read_dir(&cache).into_iter().flatten().flatten();
        let mut found = found.filter(|e| e.file_name().to_string_lossy().starts_with('.'));
        found.any(|entry| File::open(entry.path()).is_ok_and(|file| file.try_lock().is_err()))
    };
    wait::until("a lock", is_locked);
    let signal = |name: &str| {
        let mut kill = std::process::Command::new("kill");
        succeed(kill.args([name, &child.id().to_string()]));
    };
    signal("-STOP");
    let before = all_names(&cache);
    let cleared = riposte(&dir.path(""), &["cache", "clear", "--yes"])
        .output()
        .unwrap();
    let after = all_names(&cache);
    signal("-CONT");
    assert!(child.wait().unwrap().success());
    assert!(
        after.is_superset(&before),
        "{before:?} {after:?} {}",
        stderr(&cleared)
    );
    assert!(code(&cleared) <= 1);
    let run = fs::read(out.join("run.txt")).unwrap();
    assert!(!run.is_empty());
    // the index that was built meanwhile can be used and removed
    let mut second = rank_arguments(&dir.path(""), input.path(), &out);
    succeed(second.args(["--approach", "bm25"]));
    assert_eq!(fs::read(out.join("run.txt")).unwrap(), run);
    assert_eq!(dir.run("cache clear --yes").0, 0);
    let mut third = rank_arguments(&dir.path(""), input.path(), &out);
    succeed(third.args(["--approach", "bm25"]));
    assert_eq!(fs::read(out.join("run.txt")).unwrap(), run);
}

#[cfg(unix)]
#[test]
fn what_is_not_ripostes_stays_and_no_link_is_followed() {
    use std::os::unix::fs::symlink;
    let dir = filled();
    let cache = dir.path("cache/riposte");
    let at = |name: &str| cache.join(name);
    write(&dir.path("precious/work.sqlite"), "years of work");
    write(&at("thesis.sqlite"), "years of work");
    write(&at(".hidden"), "");
    // names in riposte's style, with other contents
    write(&at("mine-0123456789ab"), "years of work");
    write(&at("other-0123456789ab/thesis.txt"), "years of work");
    write(&at("text-0123456789ab/workspace.sqlite"), "years of work");
    fs::create_dir(at("photos-0123456789ab")).unwrap();
    let photos = rusqlite::Connection::open(at("photos-0123456789ab/workspace.sqlite")).unwrap();
    photos
        .execute_batch("CREATE TABLE photographs (name TEXT)")
        .unwrap();
    drop(photos);
    write(
        &at("mixed-0123456789ab/workspace-01234567.index/meta.json"),
        "{}",
    );
    write(
        &at("mixed-0123456789ab/workspace-01234567.index/thesis.txt"),
        "years of work",
    );
    // links with such names, to a file and to directories
    symlink(dir.path("precious"), at("link-0123456789ab")).unwrap();
    symlink(
        dir.path("precious/work.sqlite"),
        at(".link-0123456789ab.lock"),
    )
    .unwrap();
    fs::create_dir(at("links-0123456789ab")).unwrap();
    for (name, to) in [
        ("workspace.sqlite", "precious/work.sqlite"),
        ("workspace-01234567.index", "precious"),
        (".riposte-abc123", "precious"),
        ("collection.txt", "precious/work.sqlite"),
    ] {
        symlink(dir.path(to), at("links-0123456789ab").join(name)).unwrap();
    }
    let foreign: BTreeSet<String> = [
        "thesis.sqlite",
        ".hidden",
        "mine-0123456789ab",
        "other-0123456789ab/thesis.txt",
        "text-0123456789ab/workspace.sqlite",
        "photos-0123456789ab/workspace.sqlite",
        "mixed-0123456789ab/workspace-01234567.index",
        "link-0123456789ab",
        ".link-0123456789ab.lock",
        "links-0123456789ab/workspace.sqlite",
        "links-0123456789ab/workspace-01234567.index",
        "links-0123456789ab/.riposte-abc123",
        "links-0123456789ab/collection.txt",
    ]
    .map(str::to_owned)
    .into();
    let before = all_names(&cache);
    assert_eq!(kinds(&dir), pairs(&STORED));
    let (_, table, _) = dir.run("cache list");
    let (_, others) = table
        .split_once("not riposte's, and never removed: ")
        .unwrap();
    let others: BTreeSet<String> = others.trim_end().split(", ").map(str::to_owned).collect();
    assert_eq!(others, foreign);
    let (code, out, said) = dir.run("cache clear --yes");
    assert!(
        code == 0 && out.starts_with("removed 4 entries"),
        "{out}{said}"
    );
    let after = all_names(&cache);
    assert!(foreign.is_subset(&after) && after.is_subset(&before));
    assert_eq!(dir.read("precious/work.sqlite"), "years of work");
    let mixed = at("mixed-0123456789ab/workspace-01234567.index");
    assert_eq!(names(&mixed).len(), 2);
    // a foreign file cannot be removed by its name either
    assert_eq!(dir.run("cache clear --yes thesis.sqlite").0, 2);
}

/// A temporary directory that no living process has locked.
fn left_over(parent: &Path, prefix: &str) -> PathBuf {
    let elsewhere = tempfile::tempdir().unwrap();
    let made = TemporaryDir::with_prefix(elsewhere.path(), prefix).unwrap();
    fs::write(made.path().join("half"), "x").unwrap();
    let outer = made.path().parent().unwrap();
    let copied = parent.join(outer.file_name().unwrap());
    fs::create_dir_all(&copied).unwrap();
    files::copy(outer, &copied);
    copied
}

/// A library for LD_PRELOAD with which no file can be locked, as on some network file systems.
const WITHOUT_LOCKS: &str =
    "#include <errno.h>\nint flock(int file, int how) { errno = ENOLCK; return -1; }\n";

#[test]
fn where_files_cannot_be_locked_nothing_counts_as_unused() {
    if need(Program("cc")).is_none() {
        return;
    }
    let dir = filled();
    write(&dir.path("flock.c"), WITHOUT_LOCKS);
    let library = dir.path("flock.so");
    let mut cc = std::process::Command::new("cc");
    succeed(
        cc.args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(dir.path("flock.c")),
    );
    let run = |line: &str| {
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = riposte(&dir.path(""), &args);
        let output = command
            .current_dir(dir.path(""))
            .env("LD_PRELOAD", &library)
            .output()
            .unwrap();
        (code(&output), stdout(&output), stderr(&output))
    };
    let before = all_names(&dir.path("cache/riposte"));
    let (code, out, said) = run("cache clear --yes");
    assert_eq!(code, 1, "{out}{said}");
    assert!(said.contains("this file system has no locks"), "{said}");
    assert_eq!(all_names(&dir.path("cache/riposte")), before);
    let (code, out, said) = run("cache clear --yes --force");
    assert_eq!(code, 0, "{out}{said}");
    assert!(out.starts_with("removed "), "{out}");
}

#[test]
fn what_killed_processes_have_left_is_removed_unless_its_writer_lives() {
    let dir = WorkDir::new();
    let cache = dir.path("chosen");
    let at = |name: &str| cache.join("texts-0123456789ab").join(name);
    let index = ".workspace-01234567.index";
    left_over(&at(""), ".riposte-");
    left_over(&at(""), ".riposte-");
    left_over(&at(""), &format!("{index}.building-"));
    write(&at(&format!("{index}.lock")), "");
    write(&at(".workspace.sqlite.lock"), "");
    let used = left_over(&at(""), ".riposte-");
    let living = File::open(&used).unwrap();
    living.lock().unwrap();
    let run = |line: &str| {
        let args: Vec<&str> = line.split(' ').chain(["--cache", text(&cache)]).collect();
        let output = riposte(&dir.path(""), &args).output().unwrap();
        (code(&output), stdout(&output), stderr(&output))
    };
    let entries = json_lines(&run("cache list --json").1);
    assert_eq!(entries.len(), 4);
    assert!(entries.iter().all(|entry| entry["kind"] == "left over"));
    let (code, out, said) = run("cache clear --yes");
    assert!(
        code == 1 && out.starts_with("removed 3 entries"),
        "{out}{said}"
    );
    assert!(used.exists());
    living.unlock().unwrap();
    assert_eq!(run("cache clear --yes").0, 0);
    assert_eq!(names(&cache), BTreeSet::new());
}
