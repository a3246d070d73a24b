//! Tells the program which commit it was built from and which versions of libraries it has, for the metadata of runs.
//!
//! The commit comes from the first of these that names one: the environment variable `RIPOSTE_COMMIT`, the packaged crate's record, git. Otherwise
//! the program does not know its commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RIPOSTE_COMMIT");
    watch(&["Cargo.lock", "build.rs"]);
    if let Ok(target) = std::env::var("TARGET") {
        println!("cargo::rustc-env=RIPOSTE_TARGET={target}");
    }
    if let Ok(lock) = std::fs::read_to_string("Cargo.lock") {
        let versions = LIBRARIES.iter().filter_map(|name| version(&lock, name));
        let versions = versions.collect::<Vec<_>>().join(" ");
        println!("cargo::rustc-env=RIPOSTE_LIBRARIES={versions}");
    }
    // the Dockerfile passes `unknown` by default, which names no commit
    let is_known = |commit: &String| !commit.is_empty() && commit != "unknown";
    let commit = std::env::var("RIPOSTE_COMMIT").ok().filter(is_known);
    if let Some(commit) = commit.or_else(packaged).or_else(of_git) {
        println!("cargo::rustc-env=RIPOSTE_BUILT_FROM={commit}");
    }
}

/// What the program is compiled from.
const SOURCES: [&str; 5] = ["approaches", "crates", "models/own", "src", "Cargo.lock"];

/// Runs this script again when one of these changes. All targets of the package are then compiled again, too.
fn watch(paths: &[&str]) {
    // a packaged crate has no `crates`, and a path that is missing would run this script each time
    for path in paths.iter().filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// The libraries that decide a ranking.
const LIBRARIES: [&str; 6] = [
    "html5ever",
    "image",
    "rten",
    "scraper",
    "tantivy",
    "tokenizers",
];

/// Returns `name==version` for a library in Cargo.lock.
fn version(lock: &str, name: &str) -> Option<String> {
    let (_, package) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    Some(format!("{name}=={}", package.split('"').next()?))
}

/// The commit of a packaged crate: `{"git": {"sha1": "…"}}`.
fn packaged() -> Option<String> {
    let record = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = record.split_once("\"sha1\"")?;
    Some(rest.split('"').nth(1)?.to_owned())
}

/// The commit that is checked out, with `-changed` after it if a file of the program differs from that commit.
fn of_git() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // the folder may be inside another project's repository
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    if Path::new(&top).canonicalize().ok()? != here {
        return None;
    }
    let dir = git(&["rev-parse", "--absolute-git-dir"])?;
    let head = git(&["symbolic-ref", "-q", "HEAD"]).unwrap_or_default();
    for name in ["HEAD", "packed-refs", head.as_str()] {
        let path = Path::new(&dir).join(name);
        if !name.is_empty() && path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let status = ["status", "--porcelain", "--"];
    let changed = git(&[&status[..], &SOURCES[..]].concat())?;
    if changed.is_empty() {
        watch(&SOURCES);
        Some(commit)
    } else {
        // further changes make no difference, until HEAD changes: one in src/cli then compiles only the program, and not the library
        Some(format!("{commit}-changed"))
    }
}
