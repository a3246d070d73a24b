//! Files and directories.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// A path as an argument of a command.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The paths of everything in a directory, sorted by name.
pub fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The files below a directory whose names have this extension, sorted. What Cargo builds is left out.
pub fn below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(dir) {
        if path.is_dir() && !path.ends_with("target") {
            found.extend(below(&path, extension));
        } else if path.extension().is_some_and(|of| of == extension) {
            found.push(path);
        }
    }
    found
}

/// The name of a file or directory.
pub fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Copies a directory with everything below it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in entries(from) {
        let target = to.join(name(&entry));
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            fs::copy(entry, target).unwrap();
        }
    }
}

/// Writes a file, and the directories above it.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes.as_ref()).unwrap();
    packed.finish().unwrap()
}

pub fn zstd(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    zstd::encode_all(bytes.as_ref(), 0).unwrap()
}

/// The JSON of a file.
pub fn json<T: for<'de> serde::Deserialize<'de>>(path: &Path) -> T {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The JSON of each line.
pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
