//! What the system says of this process. Only Linux says it in files.

use std::fs;

/// The memory in bytes that the process has in use; `None` if the system does not tell.
pub(crate) fn resident_bytes() -> Option<u64> {
    // in kibibytes, unlike the pages of `statm`, whose size the machine decides
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The number of its open files, among them connections; `None` if the system does not tell.
pub(crate) fn open_files() -> Option<usize> {
    let files = fs::read_dir("/proc/self/fd").ok()?;
    // the directory itself is open while it is read
    files.count().checked_sub(1)
}
