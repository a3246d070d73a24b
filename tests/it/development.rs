//! The development data, which is not part of the repository: `RIPOSTE_DATA` names its directory.

use std::path::{Path, PathBuf};

/// A file or directory of the development data; none, and the reason is printed, where it cannot be had.
pub fn data(path: &str) -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("RIPOSTE_DATA") else {
        eprintln!("skipped: a test with {path}, because RIPOSTE_DATA names no development data");
        return None;
    };
    let path = Path::new(&dir).join(path);
    if !path.exists() {
        eprintln!(
            "skipped: a test with {}, because it is not there",
            path.display()
        );
        return None;
    }
    Some(path)
}
