//! The files that `cargo package` would publish: they are small enough for a registry, and the demo's collection, the Python package and these
//! tests are not among them. The crates on which riposte depends are packaged with it.

use std::process::Command;

use crate::support::root;

/// Maximum size of the packaged crate in bytes (7.5 MiB). Registries accept 10 MiB, and models/own/stance.safetensors takes most of it.
const MOST_BYTES: u64 = 15 << 19;

/// The output of `cargo package` with these arguments. Its files go to a separate directory, so that it does not wait for other commands.
#[track_caller]
fn package(target: &std::path::Path, arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--allow-dirty", "--offline"]);
    cargo.args(arguments).current_dir(root());
    let output = cargo.env("CARGO_TARGET_DIR", target).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_packaged_crate_is_small_and_has_neither_sample_nor_python_nor_tests() {
    let target = tempfile::tempdir().unwrap();
    let list = package(target.path(), &["--list", "-p", "riposte"]);
    let unwanted = [
        "sample/",
        "tests/",
        "packaging/",
        ".github/",
        "benches/",
        "python/",
    ];
    for file in list.lines() {
        let is_picture = file.ends_with(".png") || file.ends_with(".svg");
        assert!(
            !is_picture && !unwanted.iter().any(|dir| file.starts_with(dir)),
            "{file} would be published"
        );
    }
    for file in [
        "Cargo.lock",
        "src/lib.rs",
        "README.md",
        "models/own/stance.safetensors",
    ] {
        assert!(list.lines().any(|line| line == file), "{file} is missing");
    }
    package(
        target.path(),
        &[
            "--no-verify",
            "-p",
            "riposte-eval",
            "-p",
            "riposte-claims",
            "-p",
            "riposte",
        ],
    );
    let version = env!("CARGO_PKG_VERSION");
    let file = target
        .path()
        .join(format!("package/riposte-{version}.crate"));
    let bytes = std::fs::metadata(&file).unwrap().len();
    assert!(bytes < MOST_BYTES, "{} has {bytes} bytes", file.display());
}
