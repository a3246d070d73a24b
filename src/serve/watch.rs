//! What the files of a collection look like, to notice changes.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// A hash of the names, sizes and times of what is in the directory of a collection, down to the directories of single images. A file that is replaced
/// within the directory of an image is not noticed: looking at all of these files would take as long as opening the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirectoryStamp(u64);

/// How far down directories are listed.
const DEPTH: usize = 2;

impl DirectoryStamp {
    /// What the directory looks like now. One that cannot be read looks like an empty one.
    pub fn of(dir: &Path) -> DirectoryStamp {
        let mut hasher = DefaultHasher::new();
        add(dir, DEPTH, &mut hasher);
        DirectoryStamp(hasher.finish())
    }
}

fn add(path: &Path, depth: usize, hasher: &mut DefaultHasher) {
    let Ok(meta) = fs::metadata(path) else {
        return;
    };
    path.hash(hasher);
    meta.len().hash(hasher);
    meta.modified().ok().hash(hasher);
    if !meta.is_dir() || depth == 0 {
        return;
    }
    let Ok(entries) = fs::read_dir(path) else {
        return;
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        add(&path, depth - 1, hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_image_and_a_longer_file_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("images/I00/I00abc");
        fs::create_dir_all(&image).unwrap();
        let empty = DirectoryStamp::of(dir.path());
        assert_eq!(DirectoryStamp::of(dir.path()), empty);
        fs::create_dir(dir.path().join("images/I00/I00abd")).unwrap();
        let two = DirectoryStamp::of(dir.path());
        assert_ne!(two, empty);
        fs::write(dir.path().join("args-me.json"), "{}").unwrap();
        assert_ne!(DirectoryStamp::of(dir.path()), two);
    }
}
