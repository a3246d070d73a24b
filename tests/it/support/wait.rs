//! Waits for what a test needs, with a limit on the time.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use riposte::disk::Stamp;

/// Far longer than anything takes that a test waits for, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until something is so; `what` names it where it never is.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Kills a command as soon as `is_time` says so. Returns false if it ended before.
#[track_caller]
pub fn kill_when(mut child: Child, mut is_time: impl FnMut() -> bool) -> bool {
    let mut is_killed = false;
    until("a time to kill the command, or its end", || {
        is_killed = is_time();
        is_killed || child.try_wait().unwrap().is_some()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    is_killed
}

/// Waits until a file, or each file below a directory, is so old that riposte trusts its times.
#[track_caller]
pub fn until_settled(path: &Path) {
    if path.is_dir() {
        super::files::entries(path)
            .iter()
            .for_each(|path| until_settled(path));
    } else {
        until("an old file", || {
            Stamp::of(&fs::metadata(path).unwrap()).is_settled(SystemTime::now())
        });
    }
}
