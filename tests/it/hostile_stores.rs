//! Hostile evidence stores: each command that reads one ends soon, takes little memory, and says what is wrong.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::store::small_store;
use crate::support::bounded::run_within;
use crate::support::files::text;
use crate::support::program::{code, riposte, stderr};
use crate::support::{assert_says, sample};

const NOT_OURS: &str = "which is not as riposte makes it";

/// Checks that each command that reads a store refuses this one.
fn assert_refused(home: &Path, store: &Path, what: &[&str]) {
    let (own, input) = (text(store), text(sample()));
    let (out, new) = (home.join("out"), home.join("new.sqlite"));
    let whole = home.join("whole.sqlite");
    let commands: [&[&str]; 6] = [
        &["merge", text(&new), own],
        &["merge", text(&whole), own],
        &["images", "-i", input, "--evidence", own, "-o", text(&out)],
        &["images", "-i", own, "-o", text(&out)],
        &["extract", "-i", input, "--evidence", own],
        &["export", "evidence", "--evidence", own, "-o", text(&out)],
    ];
    for command in commands {
        let before = fs::read(store).unwrap();
        let ended = run_within(Duration::from_secs(60), &mut riposte(home, command));
        assert_eq!(
            code(&ended.output),
            2,
            "{command:?}: {}",
            stderr(&ended.output)
        );
        assert_says(
            &stderr(&ended.output),
            &[&["hostile.sqlite"], what].concat(),
        );
        assert!(ended.peak < 300 << 20, "{command:?}: {} bytes", ended.peak);
        assert!(fs::read(store).unwrap() == before, "{command:?}");
        assert!(!out.join("run.txt").exists(), "{command:?}");
    }
}

#[test]
fn a_store_with_anything_that_riposte_does_not_make_is_refused() {
    let home = TempDir::new().unwrap();
    let store = home.path().join("hostile.sqlite");
    let whole = home.path().join("whole.sqlite");
    small_store(&whole, 3);
    let endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)";
    let changes = [
        // views without end in place of tables
        format!("DROP TABLE document; CREATE VIEW document AS {endless} SELECT 'd' || n AS document, '' AS fingerprint, '' AS url FROM r"),
        format!("DROP TABLE checksum; CREATE VIEW checksum AS {endless} SELECT 'd' || n AS document, 'page' AS of_table, n AS sum FROM r"),
        format!("DROP TABLE work; CREATE VIEW work AS {endless} SELECT 'd' || n AS document, 'page' AS channel, '' AS producer FROM r"),
        format!("DROP TABLE output; CREATE VIEW output AS {endless} SELECT 'p' AS producer, n AS key, zeroblob(4) AS value, '' AS numeric, 0 AS checksum FROM r"),
        format!("CREATE VIEW more AS {endless} SELECT n FROM r"),
        "CREATE TRIGGER more AFTER INSERT ON work BEGIN DELETE FROM document; END".to_owned(),
        "DROP TRIGGER work_stored; CREATE TRIGGER work_stored AFTER INSERT ON work BEGIN DELETE FROM document; END".to_owned(),
        "CREATE TRIGGER more INSTEAD OF INSERT ON v BEGIN SELECT 1; END".to_owned(),
        "DROP TABLE file_state; CREATE TABLE file_state (document TEXT PRIMARY KEY, state TEXT AS (hex(zeroblob(100000000))), content TEXT) WITHOUT ROWID".to_owned(),
        "DROP TABLE text_hash; CREATE TABLE text_hash (document TEXT PRIMARY KEY, hash INTEGER NOT NULL CHECK (length(hex(zeroblob(500000000))) > 0)) WITHOUT ROWID".to_owned(),
        "CREATE INDEX more ON work (hex(producer))".to_owned(),
        "CREATE TABLE more (n)".to_owned(),
        "CREATE VIRTUAL TABLE more USING fts5(n)".to_owned(),
    ];
    for change in changes {
        fs::copy(&whole, &store).unwrap();
        let connection = Connection::open(&store).unwrap();
        if change.contains(" ON v ") {
            connection
                .execute_batch("CREATE VIEW v AS SELECT 1 AS n")
                .unwrap();
        }
        let has_output = || connection.prepare("SELECT 1 FROM output").is_ok();
        let change = match change.strip_prefix("DROP TABLE output; ") {
            Some(rest) if !has_output() => rest.to_owned(),
            _ => change,
        };
        connection.execute_batch(&change).unwrap();
        drop(connection);
        assert_refused(home.path(), &store, &[NOT_OURS]);
    }
}

/// Pages of a table refer to each other, so a file of a few kilobytes has more than 10^13 rows.
#[test]
fn a_table_whose_tree_has_no_end_is_damage() {
    let home = TempDir::new().unwrap();
    let store = home.path().join("hostile.sqlite");
    small_store(&home.path().join("whole.sqlite"), 3);
    for table in ["document", "checksum", "work"] {
        small_store(&store, 3);
        multiply(&store, table);
        let connection = Connection::open(&store).unwrap();
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1000000)");
        let rows: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1_000_000, "{table}");
        drop(connection);
        let whole = text(&store).to_owned();
        for command in [
            vec!["extract", "-i", text(sample()), "--evidence", &whole],
            vec!["images", "-i", &whole, "-o", "out"],
            vec!["export", "evidence", "--evidence", &whole, "-o", "parquet"],
            vec!["merge", "new.sqlite", &whole],
        ] {
            let mut run = riposte(home.path(), &command);
            let ended = run_within(Duration::from_secs(60), run.current_dir(home.path()));
            // what can be read of a damaged store is merged
            let expected = if command[0] == "merge" { 0 } else { 2 };
            let said = stderr(&ended.output);
            assert_eq!(code(&ended.output), expected, "{table} {command:?}: {said}");
            assert_says(&said, &["hostile.sqlite"]);
            assert_eq!(said.contains("it is damaged"), expected == 0, "{said}");
            assert!(ended.peak < 200 << 20, "{command:?}: {} bytes", ended.peak);
        }
        fs::remove_file(&store).unwrap();
    }
}

/// Replaces the root of a table WITHOUT ROWID by a chain of interior pages. Each has ten cells that all point to the next page, the last one to a leaf.
fn multiply(store: &Path, table: &str) {
    const LEVELS: u32 = 14;
    let connection = Connection::open(store).unwrap();
    let number = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    let size = number("PRAGMA page_size") as usize;
    let root = number(&format!(
        "SELECT rootpage FROM sqlite_schema WHERE name = '{table}'"
    )) as usize;
    drop(connection);
    let mut file = fs::read(store).unwrap();
    let at = (root - 1) * size;
    let leaf = file[at..at + size].to_vec();
    assert_eq!(leaf[0], 10, "the root of {table} is a leaf");
    // the first cell of the leaf: the length of its content in one byte, and the content
    let first = usize::from(u16::from_be_bytes([leaf[8], leaf[9]]));
    let length = usize::from(leaf[first]);
    assert!(length < 128);
    let cell = &leaf[first..=first + length];
    let pages = (file.len() / size) as u32;
    let inner = |next: u32| {
        let mut page = vec![0; size];
        let whole = 4 + cell.len();
        let start = size - 10 * whole;
        page[0] = 2;
        page[3..5].copy_from_slice(&10u16.to_be_bytes());
        page[5..7].copy_from_slice(&(start as u16).to_be_bytes());
        page[8..12].copy_from_slice(&next.to_be_bytes());
        for n in 0..10 {
            let to = start + n * whole;
            page[12 + 2 * n..14 + 2 * n].copy_from_slice(&(to as u16).to_be_bytes());
            page[to..to + 4].copy_from_slice(&next.to_be_bytes());
            page[to + 4..to + whole].copy_from_slice(cell);
        }
        page
    };
    file[at..at + size].copy_from_slice(&inner(pages + 1));
    for level in 1..LEVELS {
        file.extend(inner(pages + level + 1));
    }
    file.extend(&leaf);
    let all = pages + LEVELS;
    file[28..32].copy_from_slice(&all.to_be_bytes());
    fs::write(store, file).unwrap();
}
