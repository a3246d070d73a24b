//! A short round of `make -C tests torture`: kills, full and read-only disks, power cuts, flipped bits.

use std::process::Command;

use tempfile::TempDir;

use crate::support::need::{Python, need};
use crate::support::program::{code, stderr, stdout};
use crate::support::root;

#[test]
fn runs_end_with_the_same_result_or_a_named_error() {
    let Some(python) = need(Python) else {
        return;
    };
    let home = TempDir::new().unwrap();
    let mut command = Command::new(python);
    command
        .arg(root().join("tests/torture.py"))
        .args(["--riposte", env!("CARGO_BIN_EXE_riposte")])
        .args(["--kills", "14", "--power", "4", "--flips", "40"])
        .env("RIPOSTE_MODELS", home.path())
        .env("WNSEARCHDIR", home.path());
    let output = command.output().unwrap();
    let table = stdout(&output);
    assert_eq!(code(&output), 0, "{table}\n{}", stderr(&output));
    // the last row: trials, byte-equal, named errors, others
    let all = table.lines().find(|line| line.starts_with("all "));
    let counts: Vec<u32> = all
        .unwrap()
        .split_whitespace()
        .skip(1)
        .map(|count| count.parse().unwrap())
        .collect();
    assert!(counts[0] >= 14 + 40 && counts[3] == 0, "{table}");
}
