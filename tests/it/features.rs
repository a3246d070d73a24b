//! Tests and program share one build of all crates: `cargo test --workspace` compiles nothing again that `cargo build` has compiled.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::program::{stdout, succeed};
use crate::support::root;

/// The crates of a build, each with its features, as `cargo tree` prints them.
fn crates(edges: &str, of: &[&str]) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--prefix", "none"]);
    tree.args(["--no-dedupe", "--format", "{p} [{f}]"]);
    tree.args(["--edges", edges]).args(of).current_dir(root());
    let tree = stdout(&succeed(&mut tree));
    tree.lines().map(str::to_owned).collect()
}

/// Cargo builds a crate twice if two packages need it with different features, and then all crates that depend on it. A feature that only tests need
/// is therefore named in the manifest of riposte.
#[test]
fn the_program_has_each_crate_with_the_features_that_the_tests_need() {
    // crates that are linked, and then those of macros and build scripts, too
    for (of_program, of_tests) in [
        ("normal,no-proc-macro", "normal,dev,no-proc-macro"),
        ("normal,build", "normal,build,dev"),
    ] {
        let program = crates(of_program, &["--package", "riposte-ir"]);
        let tests = crates(of_tests, &["--workspace"]);
        assert!(program.len() > 200 && tests.len() > program.len());
        let alone: Vec<&String> = program.difference(&tests).collect();
        assert!(
            alone.is_empty(),
            "only the program has these crates with these features: {alone:#?}"
        );
    }
}
