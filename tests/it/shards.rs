//! A text collection in four shards, whose indexes are opened as one: it ranks like an index of the whole collection. Evidence that several processes
//! have computed is merged into a store, from which images are ranked without their files.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::json;

use crate::golden_texts::{
    TASKS, approach, assert_golden, command, differences, generate, golden, runs,
};
#[cfg(unix)]
use crate::store_files::{as_user, set_mode};
use crate::support::files::{entries, json_lines, text};
use crate::support::program::{code, riposte, stderr, stdout, succeed};
use crate::support::sample;

const SHARDS: usize = 4;

/// The texts that an index of the whole collection would have, divided into parts. Texts with the same id are in the same part.
pub(crate) fn divide(home: &Path, task: &str) -> Vec<PathBuf> {
    let read = riposte(home, &["shard", "read", "--task", task, "-i", task])
        .current_dir(home)
        .output()
        .unwrap();
    let mut first: HashMap<String, String> = HashMap::new();
    let mut parts = vec![format!("{}\n", json!({"format": 1, "task": task})); SHARDS];
    for mut line in json_lines(&stdout(&read)) {
        if line.get("fault").is_some() {
            let fault = json!({"fault": line["fault"]});
            parts[0].push_str(&format!("{fault}\n"));
            continue;
        }
        let id = line["text"]["id"].as_str().unwrap().to_owned();
        if let Some(words) = line["words"].as_str() {
            let first = first.entry(words.to_owned()).or_insert_with(|| id.clone());
            if *first != id {
                line["text"]["duplicate_of"] = first.as_str().into();
            }
        }
        let shard = id.bytes().map(usize::from).sum::<usize>() % SHARDS;
        parts[shard].push_str(&format!("{}\n", line["text"]));
    }
    let write = |(number, part): (usize, String)| {
        let dir = home.join(format!("{task}-part-{number}"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("riposte-texts.jsonl"), part).unwrap();
        dir
    };
    parts.into_iter().enumerate().map(write).collect()
}

/// The directory with the shards of a task.
pub(crate) fn shards(home: &Path, task: &str) -> PathBuf {
    home.join(format!("{task}-shards"))
}

fn shard(home: &Path, task: &str, number: usize) -> PathBuf {
    shards(home, task).join(format!("{number:05}"))
}

/// Indexes the parts for an approach.
pub(crate) fn index(home: &Path, task: &str, parts: &[PathBuf], name: &str, models: &Path) {
    for (number, part) in parts.iter().enumerate() {
        let shard = shard(home, task, number);
        let mut command = riposte(home, &["index", "--quiet=progress", "-i", text(part)]);
        command.args(["--index", text(&shard), "--approach", name]);
        command.args(["--numeric", "float"]);
        command.env("RIPOSTE_MODELS", models);
        let output = command.current_dir(home).output().unwrap();
        // exit code 1 is allowed, because the collection has faults
        assert!(code(&output) < 2, "{name}: {}", stderr(&output));
    }
    let names: Vec<String> = (0..SHARDS).map(|number| format!("{number:05}")).collect();
    let list = json!({"format": 1, "task": task, "shards": names, "content": ""});
    let file = shards(home, task).join("riposte-shards.json");
    fs::write(file, list.to_string()).unwrap();
}

#[test]
fn shards_opened_together_rank_as_the_golden_runs() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (task, what) in TASKS {
        generate(what, &home.join(task));
        let parts = divide(home, task);
        for run in runs(task) {
            index(home, task, &parts, approach(&run), &none());
            succeed(&mut command(task, home, text(&shards(home, task)), &run));
            wrong.extend(differences(home, &run));
            seen += 1;
        }
    }
    assert_golden(seen, &wrong);
}

/// A directory without models, as for golden runs.
fn none() -> PathBuf {
    PathBuf::from("none")
}

#[test]
fn images_of_a_merged_store_are_ranked_without_their_files() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for shard in ["1/2", "2/2"] {
        let store = format!("{}.sqlite", &shard[..1]);
        let mut args = vec![
            "extract",
            "--quiet=progress",
            "-i",
            text(sample()),
            "--shard",
            shard,
        ];
        args.extend(["--evidence", &store]);
        succeed(riposte(home, &args).current_dir(home));
    }
    let merge = ["merge", "all.sqlite", "1.sqlite", "2.sqlite"];
    succeed(riposte(home, &merge).current_dir(home));
    let topics = sample().join("topics.xml");
    let rank = |input: &str, more: &[&str]| {
        let mut args = vec!["images", "--quiet=progress", "-i", input, "-o", "out"];
        args.extend(["--topics", text(&topics)]);
        args.extend(more);
        let output = riposte(home, &args).current_dir(home).output().unwrap();
        let run = fs::read_to_string(home.join("out/run.txt"));
        let _ = fs::remove_dir_all(home.join("out"));
        (code(&output), stderr(&output), run.unwrap_or_default())
    };
    for more in [&[][..], &["--limit", "20"], &["--approach", "minsc"]] {
        let whole = [more, &["--evidence", "all.sqlite"]].concat();
        let (_, said, expected) = rank(text(sample()), &whole);
        assert!(expected.lines().count() > 10, "{said}");
        let (code, said, run) = rank("all.sqlite", more);
        assert_eq!((code, run), (0, expected), "{more:?}: {said}");
    }
    let (code, said, _) = rank("all.sqlite", &["--evidence", "1.sqlite"]);
    assert_eq!(code, 2);
    assert!(said.contains("is an evidence store itself"), "{said}");
    let (code, said, _) = rank(text(&topics), &[]);
    assert_eq!(code, 2, "{said}");
    // without the images, a damaged record cannot be computed again
    let store = Connection::open(home.join("all.sqlite")).unwrap();
    store
        .execute_batch("DROP TRIGGER checksum_picture_update; UPDATE picture SET width = width + 1")
        .unwrap();
    let (code, said, _) = rank("all.sqlite", &[]);
    assert_eq!(code, 2);
    assert!(said.contains("damaged"), "{said}");
}

/// As with a disk of a cluster that is mounted read-only.
#[cfg(unix)]
#[test]
fn shards_in_a_directory_that_cannot_be_written_are_ranked_where_they_are() {
    let home = tempfile::tempdir().unwrap();
    set_mode(home.path(), 0o777);
    let home = home.path();
    let (task, what) = TASKS[1];
    generate(what, &home.join(task));
    let parts = divide(home, task);
    let run = golden().join(task).join("bm25.tsv");
    index(home, task, &parts, approach(&run), &none());
    let shards = shards(home, task);
    let mut dirs = vec![shards.clone()];
    for shard in entries(&shards).into_iter().filter(|path| path.is_dir()) {
        dirs.extend(entries(&shard).into_iter().filter(|path| path.is_dir()));
        dirs.push(shard);
    }
    // some files of an index can be read only by their owner, and the command can run as another user
    let files = dirs.iter().flat_map(|dir| entries(dir));
    let files = files.filter(|path| path.is_file());
    files.for_each(|file| set_mode(&file, 0o644));
    dirs.iter().for_each(|dir| set_mode(dir, 0o555));
    let output = as_user(&mut command(task, home, text(&shards), &run));
    dirs.iter().for_each(|dir| set_mode(dir, 0o755));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(differences(home, &run), Vec::<String>::new());
}
