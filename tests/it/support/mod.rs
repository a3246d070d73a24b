//! What the tests share: files, collections, commands and what they write, waiting, things that can be missing, checkpoints, a web server and a web
//! browser.

pub mod bounded;
pub mod browser;
pub mod chance;
pub mod checkpoint;
pub mod collection;
pub mod evidence;
pub mod files;
pub mod make;
pub mod models;
pub mod need;
pub mod pictures;
pub mod program;
pub mod runs;
pub mod server;
pub mod wait;

use std::path::{Path, PathBuf};

/// The directory of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The committed collection of images.
pub fn sample() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/sample"))
}

/// The stored evidence of the sample, made with every model that can be downloaded from a package index.
pub fn golden_evidence() -> PathBuf {
    root().join("tests/golden/evidence.sqlite")
}

/// A file or directory of reference values and small checkpoints.
pub fn reference(name: &str) -> PathBuf {
    root().join("tests/reference").join(name)
}

/// The whole message of an error, with its causes.
#[track_caller]
pub fn message<T>(result: anyhow::Result<T>) -> String {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => format!("{error:#}"),
    }
}

/// Asserts that a text contains all of these.
#[track_caller]
pub fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

/// Asserts that two values are the same but for the rounding of sums.
#[track_caller]
pub fn assert_close(found: f64, expected: f64, what: &dyn std::fmt::Display) {
    assert!(
        (found - expected).abs() < 1e-9,
        "{what}: {found}, not {expected}"
    );
}
