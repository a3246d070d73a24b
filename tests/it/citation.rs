//! CITATION.cff, by which riposte is cited, and codemeta.json, for catalogues of software.

use std::process::Command;

use serde_json::Value;

use crate::support::need::{Peer, need};
use crate::support::program::succeed;
use crate::support::root;

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn the_citation_names_this_version_its_licences_and_its_repository() {
    let cited: Value = yaml_serde::from_str(&read("CITATION.cff")).unwrap();
    assert_eq!(cited["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(cited["repository-code"], env!("CARGO_PKG_REPOSITORY"));
    let licences = cited["license"].as_array().unwrap().iter();
    let licences: Vec<&str> = licences.filter_map(Value::as_str).collect();
    assert_eq!(licences.join(" OR "), env!("CARGO_PKG_LICENSE"));
}

#[test]
fn cffconvert_finds_the_citation_valid() {
    let Some(python) = need(Peer("cffconvert")) else {
        return;
    };
    let mut cffconvert = Command::new(python.with_file_name("cffconvert"));
    cffconvert.args(["--validate", "-i", "CITATION.cff"]);
    succeed(cffconvert.current_dir(root()));
}

#[test]
fn both_files_are_those_that_the_script_makes() {
    let Some(python) = need(Peer("ruamel.yaml, tomllib")) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut script = Command::new(python);
    script.arg(root().join("packaging/citation.py"));
    succeed(script.arg(dir.path()));
    for name in ["CITATION.cff", "packaging/codemeta.json"] {
        let made = std::fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(made, read(name), "make -C packaging citation");
    }
}
