//! Detects from a file's metadata whether the file has been written again.

use std::fs::Metadata;
use std::time::{Duration, SystemTime};

/// If a file was written less than this time ago, it can be written again without a change of its times: file systems count time in steps, the
/// coarsest in steps of two seconds.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// The metadata of a file. While they are the same, so is the content, if the file [`is_settled`](Stamp::is_settled).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Size, time of modification and, where there are inodes, the inode and the time of its last change, which no program can set. A copy of the
    /// file has another stamp. The number of the device is left out, because it can change when a disk is mounted again.
    pub text: String,
    /// The time of the last change; `None` if the system does not have it.
    changed: Option<SystemTime>,
}

impl Stamp {
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let text = format!(
            "{} bytes, modified {}.{:09}, changed {}.{:09}, inode {}",
            metadata.len(),
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime(),
            metadata.ctime_nsec(),
            metadata.ino()
        );
        let seconds = u64::try_from(metadata.ctime()).ok();
        let since_1970 = seconds.zip(u32::try_from(metadata.ctime_nsec()).ok());
        let changed =
            since_1970.and_then(|(s, ns)| SystemTime::UNIX_EPOCH.checked_add(Duration::new(s, ns)));
        Stamp { text, changed }
    }

    #[cfg(not(unix))]
    pub fn of(metadata: &Metadata) -> Self {
        let changed = metadata.modified().ok();
        let since_1970 = changed.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let nanoseconds = since_1970.map_or(0, |age| age.as_nanos());
        let text = format!("{} bytes, modified {nanoseconds}", metadata.len());
        Stamp { text, changed }
    }

    /// Whether the file was last changed so long before `now` that another change would show in its times.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let age = self
            .changed
            .and_then(|changed| now.duration_since(changed).ok());
        age.is_some_and(|age| age > SETTLED_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn an_edit_shows_even_if_it_keeps_the_size_and_restores_the_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let stamp = || Stamp::of(&fs::metadata(&path).unwrap());
        fs::write(&path, "one two three").unwrap();
        let (first, now) = (stamp(), SystemTime::now());
        assert!(!first.is_settled(now));
        assert!(first.is_settled(now + 2 * SETTLED_AFTER));
        assert!(!first.is_settled(now - 2 * SETTLED_AFTER));
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        // file systems count time in steps
        while stamp() == first {
            fs::write(&path, "one twe three").unwrap();
            let opened = fs::File::options().write(true).open(&path).unwrap();
            opened.set_modified(modified).unwrap();
        }
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
        let copy = dir.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        assert_ne!(Stamp::of(&fs::metadata(&copy).unwrap()), stamp());
    }
}
