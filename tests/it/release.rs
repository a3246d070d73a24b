//! The parts of a release: the scripts in packaging/. tests/it/workflows.rs checks the workflow that calls them.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::files::{name, text};
use crate::support::need::{Program, need};
use crate::support::program::{stderr, stdout, succeed};
use crate::support::root;

fn script(script: &str, args: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command
        .arg(root().join("packaging").join(script))
        .args(args);
    command.current_dir(root()).output().unwrap()
}

#[test]
fn a_tag_is_the_version_or_is_refused() {
    let version = env!("CARGO_PKG_VERSION");
    let of_tag = |tag: &str| script("version.sh", &[tag]);
    assert_eq!(stdout(&script("version.sh", &[])), format!("{version}\n"));
    assert!(of_tag(&format!("v{version}")).status.success());
    for tag in [version, "v9.9.9", &format!("v{version}-rc1"), ""] {
        let refused = of_tag(tag);
        assert!(!refused.status.success(), "{tag}");
        assert!(stderr(&refused).contains("is not v"), "{tag}");
    }
}

/// Packs the archive for this machine as the workflow does: the unpacked program runs, and the checksum is correct.
#[test]
fn the_archive_has_everything_and_the_same_bytes_again() {
    let Some(_) = need(Program("tar")) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let target = format!(
        "{}-unknown-{}",
        std::env::consts::ARCH,
        std::env::consts::OS
    );
    let pack = |to: &str| {
        let out = dir.path().join(to);
        let output = script(
            "archive.sh",
            &[env!("CARGO_BIN_EXE_riposte"), &target, text(&out)],
        );
        assert!(
            output.status.success(),
            "{}{}",
            stdout(&output),
            stderr(&output)
        );
        out
    };
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("riposte-{version}-{target}");
    let (first, second) = (pack("first"), pack("second"));
    let archive = |out: &Path| std::fs::read(out.join(format!("{name}.tar.gz"))).unwrap();
    assert!(archive(&first) == archive(&second), "two archives differ");
    let sum = std::fs::read_to_string(first.join(format!("{name}.tar.gz.sha256"))).unwrap();
    let digest = riposte::disk::sha256_of(archive(&first).as_slice()).unwrap();
    assert_eq!(sum, format!("{digest}  {name}.tar.gz\n"));
    succeed(
        Command::new("tar")
            .args(["-xzf", &format!("{name}.tar.gz")])
            .current_dir(&first),
    );
    let inside = first.join(&name);
    for part in [
        "README.md",
        "CHANGELOG.md",
        "installing.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "licences/LICENSE-KStem",
        "licences/LICENSE-vaderSentiment",
        "licences/LICENSE-weights.md",
        "man/man1/riposte.1",
        "man/man1/riposte-cache-clear.1",
        "completions/riposte.bash",
        "completions/_riposte",
        "completions/riposte.fish",
        "completions/riposte.elv",
        "completions/_riposte.ps1",
    ] {
        let bytes = std::fs::metadata(inside.join(part)).map_or(0, |found| found.len());
        assert!(bytes > 100, "{part} has {bytes} bytes");
    }
    let said = stdout(&succeed(Command::new(inside.join("riposte")).arg("-V")));
    assert_eq!(said, format!("riposte {version}\n"));
}

/// Files that the Debian package takes from the repository exist. packaging/extras.sh or the build writes each of the others.
#[test]
fn the_debian_package_names_files_that_exist() {
    let manifest: toml::Table = toml::from_str(include_str!("../../Cargo.toml")).unwrap();
    let deb = &manifest["package"]["metadata"]["deb"];
    let dir = tempfile::tempdir().unwrap();
    let extras = dir.path().join("extras");
    let made = script("extras.sh", &[env!("CARGO_BIN_EXE_riposte"), text(&extras)]);
    assert!(made.status.success(), "{}", stderr(&made));
    for asset in deb["assets"].as_array().unwrap() {
        let source = asset[0].as_str().unwrap();
        let place = match source.strip_prefix("out/packaging/") {
            // packaging/deb.sh writes it
            Some("changelog.gz") => continue,
            Some(inside) => extras.join(inside),
            None if source == "target/release/riposte" => continue,
            None => root().join(source),
        };
        let parent = place.parent().unwrap();
        let (start, end) = name(&place).split_once('*').unwrap_or((name(&place), ""));
        let mut files = std::fs::read_dir(parent).unwrap().flatten();
        let found = files.any(|file| {
            let file = file.file_name().to_string_lossy().into_owned();
            file.starts_with(start) && file.ends_with(end)
        });
        assert!(found, "{source}");
    }
}
