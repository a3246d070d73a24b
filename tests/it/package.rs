//! The files that `cargo package` would publish: they are small enough for a registry, and the demo's collection, the Python package and these
//! tests are not among them.

use std::process::Command;

use crate::support::root;

/// Maximum size of the packaged crate in bytes (7.5 MiB). Registries accept 10 MiB, and models/own/stance.safetensors takes most of it.
const MOST_BYTES: u64 = 15 << 19;

/// The output of `cargo package` with these arguments. Its files go to a separate directory, so that it does not wait for other commands.
#[track_caller]
fn package(target: &std::path::Path, arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--allow-dirty", "--offline", "-p", "riposte"]);
    cargo.args(arguments).current_dir(root());
    let output = cargo.env("CARGO_TARGET_DIR", target).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_packaged_crate_is_small_and_has_neither_sample_nor_python_nor_tests() {
    let target = tempfile::tempdir().unwrap();
    let list = package(target.path(), &["--list"]);
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
        "models/own/tagger.bin",
    ] {
        assert!(list.lines().any(|line| line == file), "{file} is missing");
    }
    package(target.path(), &["--no-verify"]);
    let version = env!("CARGO_PKG_VERSION");
    let file = target
        .path()
        .join(format!("package/riposte-{version}.crate"));
    let bytes = std::fs::metadata(&file).unwrap().len();
    assert!(bytes < MOST_BYTES, "{} has {bytes} bytes", file.display());
}

/// If a file that the library includes at compile time were not packaged, only users of the package would notice it.
#[test]
fn what_the_library_includes_is_packaged() {
    let outside = ["python/", "sample/", "tests/"];
    let mut looked_at = 0;
    for file in rust_files(&root().join("src")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            looked_at += usize::from(line.contains("include_"));
            let names = outside
                .iter()
                .any(|dir| line.contains(&format!("/{dir}")) || line.contains(&format!("\"{dir}")));
            assert!(!names, "{}: {line}", file.display());
        }
    }
    assert!(
        looked_at > 50,
        "only {looked_at} files are included: does this test still find them?"
    );
}

fn rust_files(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}
