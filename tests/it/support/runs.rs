//! Runs of the sample, and what runs list.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use super::files::text;
use super::program::riposte;

/// Runs `riposte images` on a collection. Returns its output, and the run if it has written one.
pub fn images(home: &Path, input: &Path, more: &[&str]) -> (Output, Option<String>) {
    let out = home.join("out");
    let _ = fs::remove_dir_all(&out);
    let mut args = vec!["images", "-i", text(input), "-o", text(&out)];
    args.extend(more);
    let output = riposte(home, &args).output().unwrap();
    (output, fs::read_to_string(out.join("run.txt")).ok())
}

/// The documents of each topic and list (a stance, or Q0) of a run, in the order of their ranks.
pub fn lists(run: &str) -> BTreeMap<(String, String), Vec<String>> {
    let mut lists: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for line in run.lines() {
        let f: Vec<&str> = line.split(' ').collect();
        lists
            .entry((f[0].to_owned(), f[1].to_owned()))
            .or_default()
            .push(f[2].to_owned());
    }
    lists
}

/// The documents of a run, in the order of its lines.
pub fn listed(run: &str) -> Vec<&str> {
    run.lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect()
}
