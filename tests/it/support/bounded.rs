//! Runs commands that must end within a time limit, and measures their memory.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The result of a command that has ended.
pub struct Ended {
    pub output: Output,
    /// The peak of its memory in bytes; 0 where it is not known (only Linux reports it).
    pub peak: u64,
}

/// Runs a command that must end within `limit`.
#[track_caller]
pub fn run_within(limit: Duration, command: &mut Command) -> Ended {
    // output goes to files: nobody reads pipes here, and a full pipe would block the command
    let (mut out, mut err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command.stdout(out.try_clone().unwrap());
    command.stderr(err.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_of(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "{command:?} did not end within {limit:?}\n{}",
                text_of(&mut err)
            );
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let output = Output {
        status,
        stdout: text_of(&mut out).into_bytes(),
        stderr: text_of(&mut err).into_bytes(),
    };
    Ended { output, peak }
}

fn text_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The peak of the memory of a running process, in bytes (`VmHWM` is in kilobytes).
fn peak_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}
