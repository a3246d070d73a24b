//! Evidence stores that are merged, that an earlier build has written, or that cannot be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::SystemTime;

use riposte::evidence::store::Store;
use riposte::index::images as index;
use riposte::recipes::channels::CHANNELS;
use riposte_eval::DocId;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::index_files::effort;
use crate::store::{everything, small_store};
use crate::support::evidence::{assert_computed, contents, extract, golden_copy};
use crate::support::files::{entries, text};
use crate::support::program::{code, riposte, stderr, stdout, succeed, typed};
use crate::support::runs::images;
use crate::support::{assert_says, golden_evidence, root, sample};

#[test]
fn what_can_be_read_of_a_damaged_store_is_merged_into_a_new_one() {
    let home = TempDir::new().unwrap();
    let [old, new] = ["old.sqlite", "new.sqlite"].map(|name| home.path().join(name));
    small_store(&old, 60);
    let leaf: i64 = Connection::open(&old)
        .unwrap()
        .query_row(
            "SELECT rootpage FROM sqlite_master WHERE name = 'page'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let mut bytes = fs::read(&old).unwrap();
    // the first child of the root in the table's B-tree
    let start = (leaf as usize - 1) * 4096;
    let cell = start + usize::from(u16::from_be_bytes([bytes[start + 12], bytes[start + 13]]));
    let child = u32::from_be_bytes(bytes[cell..cell + 4].try_into().unwrap()) as usize;
    bytes[(child - 1) * 4096..child * 4096].fill(0xff);
    fs::write(&old, bytes).unwrap();
    let output = riposte(home.path(), &["merge", text(&new), text(&old)])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(code(&output), 0, "{said}");
    assert!(said.contains("old.sqlite: it is damaged: "), "{said}");
    let store = Store::open(&new, CHANNELS).unwrap();
    let saved = store.stored_documents().unwrap().len();
    assert!((30..60).contains(&saved), "{saved}: {}", stdout(&output));
    assert_eq!(store.damaged_records().unwrap(), []);
    drop(store);
    // a truncated file
    fs::remove_file(&new).unwrap();
    small_store(&new, 60);
    let bytes = fs::read(&new).unwrap();
    fs::remove_file(&old).unwrap();
    fs::write(&old, &bytes[..bytes.len() - 5000]).unwrap();
    fs::remove_file(&new).unwrap();
    let args = ["merge", text(&new), text(&old)];
    assert_eq!(code(&riposte(home.path(), &args).output().unwrap()), 0);
    let store = Store::open(&new, CHANNELS).unwrap();
    assert!(!store.stored_documents().unwrap().is_empty());
    assert_eq!(store.damaged_records().unwrap(), []);
}

#[test]
fn rows_that_are_changed_by_hand_get_checksums() {
    let home = TempDir::new().unwrap();
    let path = golden_copy(home.path());
    let count = |sql: &str| -> i64 {
        let connection = Connection::open(&path).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let documents = count("SELECT count(*) FROM document");
    assert_eq!(count("SELECT count(*) FROM checksum"), 16 * documents);
    assert_eq!(
        count("SELECT count(*) FROM file_state WHERE length(content) = 32"),
        documents
    );
    // a change by hand is not damage
    let connection = Connection::open(&path).unwrap();
    let by_hand =
        "UPDATE vader SET compound = 0.5 WHERE document = (SELECT min(document) FROM vader)";
    connection.execute(by_hand, []).unwrap();
    assert_eq!(count("SELECT count(*) FROM checksum"), 16 * documents - 1);
    let output = succeed(&mut extract(home.path(), sample(), &path));
    assert_computed(&output, 0);
    assert_eq!(count("SELECT count(*) FROM checksum"), 16 * documents);
}

#[test]
fn a_shard_whose_writer_died_is_recovered_in_a_copy() {
    let home = TempDir::new().unwrap();
    let whole = golden_copy(home.path());
    let dir = home.path().join("shard");
    fs::create_dir(&dir).unwrap();
    // a transaction has begun to write the file, as if its writer had been killed meanwhile
    let working = home.path().join("working.sqlite");
    fs::copy(&whole, &working).unwrap();
    let connection = Connection::open(&working).unwrap();
    connection.execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE page SET main = main || ' and more'; UPDATE clip SET vector = zeroblob(2048);").unwrap();
    let shard = dir.join("shard.sqlite");
    fs::copy(&working, &shard).unwrap();
    fs::copy(
        home.path().join("working.sqlite-journal"),
        dir.join("shard.sqlite-journal"),
    )
    .unwrap();
    connection.execute_batch("ROLLBACK").unwrap();
    let state = snapshot(&dir);
    assert_eq!(state.len(), 2);
    let merged = home.path().join("merged.sqlite");
    succeed(&mut riposte(
        home.path(),
        &["merge", text(&merged), text(&shard)],
    ));
    assert_eq!(contents(&merged), contents(&whole));
    assert_eq!(snapshot(&dir), state);
    let hidden = entries(home.path())
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("/.riposte-"));
    assert_eq!(hidden.count(), 0);
    // when the file is opened in place, the transaction is rolled back there
    assert!(Store::open_to_read(&shard, CHANNELS).is_ok());
    assert_eq!(contents(&shard), contents(&whole));
}

/// The files of a directory with their bytes and the times of their last change, and the time of the directory.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
    let mut files = Vec::new();
    for path in entries(dir) {
        let meta = fs::metadata(&path).unwrap();
        if meta.is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.push((
                path.clone(),
                fs::read(&path).unwrap(),
                meta.modified().unwrap(),
            ));
        }
    }
    files
}

#[test]
fn merging_and_reading_write_nothing() {
    let home = TempDir::new().unwrap();
    let path = golden_copy(home.path());
    images(home.path(), sample(), &["--evidence", text(&path)]);
    let dir = home.path().join("read");
    fs::create_dir(&dir).unwrap();
    let copied = dir.join("e.sqlite");
    fs::copy(&path, &copied).unwrap();
    for store in [copied.clone(), dir.join("old.sqlite")] {
        if !store.exists() {
            fs::copy(golden_evidence(), &store).unwrap();
        }
        let before = snapshot(&dir);
        let directory = fs::metadata(&dir).unwrap().modified().unwrap();
        let ids: Vec<DocId> = Store::open_to_read(&store, CHANNELS)
            .unwrap()
            .text_hashes()
            .unwrap()
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        assert!(!ids.is_empty());
        everything(&store, &ids).unwrap();
        let opened = Store::open_to_read(&store, CHANNELS).unwrap();
        assert!(opened.is_read_only());
        assert!(
            index::open_current(&opened, &dir.join("e.index"), &index::analyzer())
                .unwrap()
                .is_none()
        );
        riposte::workspace::Outputs::open_to_read(&store).unwrap();
        let merged = home.path().join("merged.sqlite");
        succeed(&mut riposte(
            home.path(),
            &["merge", text(&merged), text(&store)],
        ));
        assert_eq!(snapshot(&dir), before);
        assert_eq!(fs::metadata(&dir).unwrap().modified().unwrap(), directory);
    }
    let mut store = Store::open(&path, CHANNELS).unwrap();
    let place = home.path().join("current.index");
    index::open(
        &mut store,
        &place,
        &index::analyzer(),
        effort(1),
        &mut |_| (),
    )
    .unwrap();
    drop(store);
    let before = snapshot(home.path());
    let opened = Store::open_to_read(&path, CHANNELS).unwrap();
    assert!(
        index::open_current(&opened, &place, &index::analyzer())
            .unwrap()
            .is_some()
    );
    assert_eq!(snapshot(home.path()), before);
}

/// Runs a command without the right to write into read-only directories, which an administrator's processes have.
#[cfg(unix)]
pub fn as_user(command: &mut std::process::Command) -> Output {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let probe = TempDir::new().unwrap();
    set_mode(probe.path(), 0o555);
    if tempfile::tempfile_in(probe.path()).is_ok() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().unwrap()
}

#[cfg(unix)]
pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[test]
fn evidence_in_a_directory_that_cannot_be_written_ranks_and_is_reported() {
    let home = TempDir::new().unwrap();
    set_mode(home.path(), 0o777);
    let dir = home.path().join("evidence");
    fs::create_dir(&dir).unwrap();
    let path = dir.join("e.sqlite");
    fs::copy(golden_copy(home.path()), &path).unwrap();
    fs::create_dir(home.path().join("collection")).unwrap();
    let golden = fs::read_to_string(root().join("tests/golden/riposte.txt")).unwrap();
    let out = home.path().join("out");
    let rank = |more: &[&str]| {
        let _ = fs::remove_dir_all(&out);
        let mut args = vec![
            "images",
            "-i",
            text(sample()),
            "-o",
            text(&out),
            "--evidence",
            text(&path),
        ];
        args.extend(more);
        let mut command = riposte(home.path(), &args);
        let output = as_user(command.env("HOME", home.path()));
        let run = fs::read_to_string(out.join("run.txt")).ok();
        (output, run)
    };
    for has_index in [false, true] {
        if has_index {
            // the index is built while the directory can be written
            set_mode(&dir, 0o755);
            set_mode(&path, 0o644);
            succeed(&mut riposte(
                home.path(),
                &["index", "-i", text(sample()), "--evidence", text(&path)],
            ));
            for file in entries(&dir)
                .into_iter()
                .filter(|file| file.to_string_lossy().ends_with(".lock"))
            {
                fs::remove_file(file).unwrap();
            }
        }
        for index in entries(&dir).iter().filter(|entry| entry.is_dir()) {
            for file in entries(index) {
                set_mode(&file, 0o444);
            }
        }
        set_mode(&path, 0o444);
        set_mode(&dir, 0o555);
        let before = snapshot(&dir);
        let (output, run) = rank(&[]);
        let said = stderr(&output);
        assert_eq!(code(&output), 0, "{said}");
        assert_says(&said, &["cannot be written: stored evidence is used"]);
        assert_eq!(
            said.contains("in a temporary directory"),
            !has_index,
            "{said}"
        );
        assert_eq!(run.unwrap(), golden);
        let report = home.path().join("report");
        let args = typed(
            "inspect {} -i {} -o {} --evidence {}",
            &[text(&out), text(sample()), text(&report), text(&path)],
        );
        let output = as_user(&mut riposte(home.path(), &args));
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(snapshot(&dir), before);
    }
    // the store is changed, so something must be written
    set_mode(&dir, 0o755);
    set_mode(&path, 0o644);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("DELETE FROM work WHERE channel = 'vader'")
        .unwrap();
    drop(connection);
    set_mode(&path, 0o444);
    set_mode(&dir, 0o555);
    let (output, run) = rank(&[]);
    let said = stderr(&output);
    assert_eq!((code(&output), run), (2, None), "{said}");
    assert_says(
        &said,
        &["missing or outdated", "e.sqlite cannot be written: copy it"],
    );
    set_mode(&dir, 0o755);
}
