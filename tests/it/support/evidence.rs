//! Evidence in stores: extracted, copied and compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::files::text;
use super::program::{riposte, stderr, succeed};
use super::{golden_evidence, sample};

/// Every row of every table of the evidence, as text.
pub fn contents(evidence: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(evidence).unwrap();
    let mut rows = Vec::new();
    for table in [
        "document",
        "work",
        "fault",
        "page",
        "crawl_rank",
        "ocr_line",
        "picture",
        "clip",
        "image_text",
        "sentence",
        "vader",
        "afinn",
    ] {
        let mut statement = connection
            .prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2, 3"))
            .or_else(|_| connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")))
            .unwrap();
        let columns = statement.column_count();
        let mut cursor = statement.query([]).unwrap();
        while let Some(row) = cursor.next().unwrap() {
            let values: Vec<String> = (0..columns)
                .map(|c| format!("{:?}", row.get_ref(c).unwrap()))
                .collect();
            rows.push(format!("{table} {}", values.join(" ")));
        }
    }
    rows
}

/// A copy of the golden evidence that this build has opened, so it has checksums.
pub fn golden_copy(home: &Path) -> PathBuf {
    let path = home.join("e.sqlite");
    fs::copy(golden_evidence(), &path).unwrap();
    succeed(&mut extract(home, sample(), &path));
    path
}

/// `riposte extract` of a collection into a store.
pub fn extract(home: &Path, input: &Path, evidence: &Path) -> Command {
    riposte(
        home,
        &["extract", "-i", text(input), "--evidence", text(evidence)],
    )
}

/// Asserts that this number of documents was computed, and no more.
#[track_caller]
pub fn assert_computed(output: &Output, count: usize) {
    let said = stderr(output);
    assert!(said.contains(&format!(" {count} of them new")), "{said}");
}
