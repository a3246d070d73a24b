//! Every seventh system call of each command fails, one in each trial, but no more than four of a kind (tests/faults/faults.py): nothing is lost, and
//! nothing is left out without a word.

use std::process::Command;

use crate::support::need::{Program, Python, need};
use crate::support::program::stdout;
use crate::support::root;

// only Linux has LD_PRELOAD
#[cfg(target_os = "linux")]
#[test]
fn a_call_that_fails_ends_in_a_named_error_or_the_same_bytes() {
    let (Some(python), Some(_)) = (need(Python), need(Program("cc"))) else {
        return;
    };
    let output = Command::new(python)
        .arg(root().join("tests/faults/faults.py"))
        .args(["--riposte", env!("CARGO_BIN_EXE_riposte")])
        .args(["--every", "7", "--most", "4"])
        .output()
        .unwrap();
    let table = stdout(&output);
    assert!(output.status.success(), "{table}");
    let all = table.lines().find(|line| line.starts_with("all ")).unwrap();
    let trials: Vec<u32> = all
        .split_whitespace()
        .skip(1)
        .map(|n| n.parse().unwrap())
        .collect();
    let [trials, same, faults, error, other] = trials[..] else {
        panic!("{all}");
    };
    assert_eq!((same + faults + error, other), (trials, 0), "{table}");
    assert!(trials > 800 && same > 400 && error > 250, "{table}");
}
