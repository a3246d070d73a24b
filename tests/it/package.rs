//! The files that `cargo package` would publish, of the program and of the crates in `crates/`: each package has its licences, is small enough for a
//! registry, and has none of the files that only the repository needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::files::write;
use crate::support::program::{stdout, succeed};
use crate::support::root;

/// Maximum size of a packaged crate in bytes (7.5 MiB). Registries accept 10 MiB, and models/own/stance.safetensors takes most of riposte's.
const MOST_BYTES: u64 = 15 << 19;

/// The files and folders of a crate in `crates/`.
const OF_CRATES: [&str; 9] = [
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "models",
    "src",
];

/// What riposte-ir does not publish: the collection of the demo, the tests, the Python package and its scripts. Cargo leaves out other packages.
const NOT_PUBLISHED: [&str; 6] = [
    ".github",
    "benches",
    "packaging",
    "python",
    "sample",
    "tests",
];

/// What a package must have, by its name; "" stands for all. The rest of what is compiled in is missed by the compiler.
const NEEDED: [(&str, &str); 9] = [
    ("", "Cargo.toml"),
    ("", "LICENSE-APACHE"),
    ("", "LICENSE-MIT"),
    ("", "README.md"),
    ("", "src/lib.rs"),
    ("riposte-ir", "models/own/LICENSE.md"),
    ("riposte-ir", "models/own/stance.safetensors"),
    ("riposte-claims", "models/LICENSE.md"),
    ("riposte-claims", "models/tagger.bin"),
];

/// Cargo, without a network.
fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).arg("--offline").current_dir(root());
    cargo
}

/// The packages of this repository that are published, as `cargo metadata` describes them.
fn published() -> Vec<Value> {
    let mut metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&stdout(&succeed(&mut metadata))).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    // `publish = false` is an empty list of registries
    let packages = packages.filter(|package| package["publish"].is_null());
    packages.cloned().collect()
}

fn text<'p>(package: &'p Value, field: &str) -> &'p str {
    let value = package[field].as_str();
    value.unwrap_or_else(|| panic!("{} has no {field}", package["name"]))
}

/// The folder or file at the top of a package, in which this file lies.
fn top(file: &str) -> &str {
    file.split('/').next().unwrap_or(file)
}

/// Whether a package may have this file.
fn belongs(name: &str, file: &str) -> bool {
    let is_picture = file.ends_with(".png") || file.ends_with(".svg");
    match name {
        "riposte-ir" => !is_picture && !NOT_PUBLISHED.contains(&top(file)),
        // the settings of its templates
        "riposte-page" | "riposte-serve" if file == "askama.toml" => true,
        _ => OF_CRATES.contains(&top(file)),
    }
}

#[test]
fn each_crate_has_what_it_needs_and_nothing_else_and_is_small() {
    // a separate directory, so that it does not wait for other commands
    let target = tempfile::tempdir().unwrap();
    let mut pack = cargo(&["package", "--allow-dirty", "--no-verify"]);
    pack.env("CARGO_TARGET_DIR", target.path());
    let packages = published();
    for package in &packages {
        let name = text(package, "name");
        let list = &["package", "--allow-dirty", "--list", "-p", name];
        let list = stdout(&succeed(&mut cargo(list)));
        let files: BTreeSet<&str> = list.lines().collect();
        let strange: Vec<_> = files.iter().filter(|file| !belongs(name, file)).collect();
        assert!(strange.is_empty(), "{name} would have {strange:?}");
        let of_this = NEEDED.iter().filter(|(of, _)| ["", name].contains(of));
        for (_, file) in of_this {
            assert!(files.contains(file), "{name} lacks {file}");
        }
        pack.args(["-p", name]);
    }
    succeed(&mut pack);
    for package in &packages {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let file = target
            .path()
            .join(format!("package/{name}-{version}.crate"));
        let bytes = std::fs::metadata(&file).unwrap().len();
        assert!(bytes < MOST_BYTES, "{} has {bytes} bytes", file.display());
    }
}

/// What crates.io requires or shows, and the limits that it sets.
#[test]
fn the_published_crates_describe_themselves() {
    let packages = published();
    let repository = text(&packages[0], "repository");
    for package in &packages {
        let name = text(package, "name");
        assert_eq!(text(package, "repository"), repository, "{name}");
        assert_eq!(text(package, "license"), "Apache-2.0 OR MIT", "{name}");
        assert_eq!(
            text(package, "rust_version"),
            env!("CARGO_PKG_RUST_VERSION"),
            "{name}"
        );
        assert!(text(package, "description").len() < 1000, "{name}");
        let dir = Path::new(text(package, "manifest_path")).parent().unwrap();
        assert!(
            dir.join(text(package, "readme")).is_file(),
            "{name} has no README"
        );
        let keywords = package["keywords"].as_array().unwrap();
        assert!((1..=5).contains(&keywords.len()), "{name}: {keywords:?}");
        let fits = |keyword: &Value| keyword.as_str().is_some_and(|word| word.len() <= 20);
        assert!(keywords.iter().all(fits), "{name}: {keywords:?}");
        let categories = package["categories"].as_array().unwrap();
        assert!(
            (1..=5).contains(&categories.len()),
            "{name}: {categories:?}"
        );
    }
}

/// A crate can be published only after those that it needs.
#[test]
fn the_manual_publishes_each_crate_after_those_that_it_needs() {
    let page = std::fs::read_to_string(root().join("docs/contributing.md")).unwrap();
    let named = page
        .lines()
        .filter_map(|line| line.strip_prefix("cargo publish -p "));
    let named: Vec<&str> = named.collect();
    let packages = published();
    let names: BTreeSet<&str> = packages
        .iter()
        .map(|package| text(package, "name"))
        .collect();
    assert_eq!(named.iter().copied().collect::<BTreeSet<_>>(), names);
    let place = |name: &str| named.iter().position(|other| *other == name);
    for package in &packages {
        let name = text(package, "name");
        let needed = package["dependencies"].as_array().unwrap().iter();
        // a dependency of tests that has only a path is not published
        let needed = needed.filter(|dependency| dependency["req"] != "*");
        let needed = needed.map(|dependency| text(dependency, "name"));
        for other in needed.filter(|other| names.contains(other)) {
            assert!(place(other) < place(name), "{name} needs {other}");
        }
    }
}

/// The Dockerfile compiles dependencies before there are sources: its first `COPY` lines have all that the manifests of the workspace need.
#[test]
fn the_manifests_that_the_dockerfile_copies_are_a_workspace() {
    let dockerfile = fs::read_to_string(root().join("packaging/Dockerfile")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut packages = vec![dir.path().to_owned()];
    let copied = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "));
    for line in copied.take_while(|line| line.contains("Cargo.toml")) {
        let mut words: Vec<&str> = line.split(' ').collect();
        let target = dir.path().join(words.pop().unwrap());
        for file in words {
            let name = Path::new(file).file_name().unwrap();
            write(&target.join(name), fs::read(root().join(file)).unwrap());
        }
        packages.push(target);
    }
    assert!(packages.len() > 10, "{packages:?}");
    for package in packages {
        write(&package.join("src/lib.rs"), "");
        write(&package.join("src/main.rs"), "fn main() {}");
    }
    let args = [
        "metadata",
        "--offline",
        "--locked",
        "--no-deps",
        "--format-version",
        "1",
    ];
    let output = succeed(
        Command::new(env!("CARGO"))
            .args(args)
            .current_dir(dir.path()),
    );
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = read["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"riposte-ir"), "{names:?}");
}
