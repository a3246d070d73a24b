//! GitHub's workflows cannot run here. They are checked for what makes them safe, for the commands that they call, and by actionlint.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use yaml_serde::Value;

use crate::support::files::name;
use crate::support::need::{PeerProgram, need};
use crate::support::program::succeed;
use crate::support::{make, root};

/// The events that start a workflow. Others, such as `pull_request_target`, would give the code of a stranger's pull request a token.
const EVENTS: [&str; 5] = [
    "pull_request",
    "push",
    "release",
    "schedule",
    "workflow_dispatch",
];

struct Workflow {
    path: PathBuf,
    yaml: Value,
}

impl Workflow {
    fn all() -> Vec<Workflow> {
        let dir = root().join(".github/workflows");
        let mut workflows = Vec::new();
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let source = std::fs::read_to_string(&path).unwrap();
            let yaml = yaml_serde::from_str(&source).unwrap();
            workflows.push(Workflow { path, yaml });
        }
        workflows.sort_by(|a, b| a.path.cmp(&b.path));
        workflows
    }

    fn name(&self) -> &str {
        name(&self.path)
    }

    /// The names of the jobs, and the jobs.
    fn jobs(&self) -> impl Iterator<Item = (&str, &Value)> {
        let jobs = self.yaml["jobs"].as_mapping().unwrap().iter();
        jobs.map(|(name, job)| (name.as_str().unwrap(), job))
    }

    fn steps(&self) -> impl Iterator<Item = &Value> {
        let steps = self.jobs().map(|(_, job)| job["steps"].as_sequence());
        steps.flat_map(Option::unwrap)
    }

    /// The simple commands of all steps.
    fn commands(&self) -> impl Iterator<Item = &str> {
        let scripts = self.steps().map(|step| field(step, "run"));
        let lines = scripts.flat_map(str::lines);
        lines.flat_map(|line| line.split("&&")).map(str::trim)
    }
}

/// A text of a step; empty if the step does not have it.
fn field<'s>(step: &'s Value, key: &str) -> &'s str {
    step.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Actions are pinned, no value of the event reaches a shell, no token can write, and no job runs for hours unseen.
#[test]
fn the_workflows_are_safe() {
    let read_only: Value = yaml_serde::from_str("contents: read").unwrap();
    for workflow in Workflow::all() {
        let file = workflow.name();
        let yaml = &workflow.yaml;
        assert_eq!(yaml["permissions"], read_only, "{file}");
        assert!(yaml["concurrency"]["group"].is_string(), "{file}");
        let events = yaml["on"].as_mapping().unwrap().keys();
        let events: Vec<&str> = events.map(|event| event.as_str().unwrap()).collect();
        assert!(
            events.iter().all(|event| EVENTS.contains(event)),
            "{file}: {events:?}"
        );
        for (name, job) in workflow.jobs() {
            assert!(
                job["timeout-minutes"].is_u64(),
                "{file}: {name} has no time limit"
            );
            // the draft of a release and the branch of the site are all that workflows write
            let may_write = [("release.yml", "draft"), ("site.yml", "publish")];
            let may_write = may_write.contains(&(file, name));
            assert!(
                may_write || job.get("permissions").is_none(),
                "{file}: {name}"
            );
        }
        for step in workflow.steps() {
            let action = field(step, "uses");
            let pin = action.split_once('@').map_or("", |(_, pin)| pin);
            let is_commit = pin.len() == 40 && pin.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(action.is_empty() || is_commit, "{file}: {step:?}");
            if action.starts_with("actions/checkout@") {
                assert_eq!(
                    step["with"]["persist-credentials"], false,
                    "{file}: {step:?}"
                );
            }
            assert!(!field(step, "run").contains("${{"), "{file}: {step:?}");
        }
    }
}

#[test]
fn the_workflows_call_targets_scripts_and_packages_that_exist() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let lock: toml::Table = toml::from_str(&lock).unwrap();
    let packages = lock["package"].as_array().unwrap().iter();
    // packages of this repository have no registry
    let own = packages.filter(|package| package.get("source").is_none());
    let own: BTreeSet<&str> = own.filter_map(|package| package["name"].as_str()).collect();
    let (mut targets, mut scripts) = (BTreeSet::new(), BTreeSet::new());
    for workflow in Workflow::all() {
        let file = workflow.name();
        for command in workflow.commands() {
            // the call may follow `sudo`
            if let Some(at) = command.find("make ")
                && (at == 0 || command[..at].ends_with(' '))
            {
                let called = make::targets(&command[at..]);
                targets.extend(called.unwrap_or_else(|fault| panic!("{file}: {fault}")));
            }
            let words: Vec<&str> = command.split_whitespace().collect();
            for pair in words.windows(2).filter(|_| command.starts_with("cargo ")) {
                if ["-p", "--package", "--exclude"].contains(&pair[0]) {
                    assert!(own.contains(pair[1]), "{file}: {command}");
                }
            }
            for word in words {
                if word.ends_with(".sh") || word.ends_with(".py") {
                    assert!(root().join(word).is_file(), "{file}: {command}");
                    scripts.insert(word.to_owned());
                }
            }
        }
    }
    for script in [
        "version.sh",
        "archive.sh",
        "deb.sh",
        "manylinux.sh",
        "site.sh",
    ] {
        assert!(
            scripts.contains(&format!("packaging/{script}")),
            "{script} is not called"
        );
    }
    for target in [
        "lint", "doc", "test", "deny", "fuzz", "torture", "soak", "bench",
    ] {
        assert!(targets.contains(target), "make {target} is not called");
    }
}

/// The tests run with the oldest Rust that riposte promises to compile with.
#[test]
fn the_workflows_use_the_minimum_version_of_rust() {
    let minimum = concat!(env!("CARGO_PKG_RUST_VERSION"), ".0");
    for workflow in Workflow::all() {
        assert_eq!(workflow.yaml["env"]["RUST"], minimum, "{}", workflow.name());
    }
}

#[test]
fn actionlint_finds_nothing_in_the_workflows() {
    let Some(actionlint) = need(PeerProgram("actionlint")) else {
        return;
    };
    // without shellcheck and pyflakes, whose versions differ between machines
    let mut command = Command::new(actionlint);
    command.args(["-shellcheck=", "-pyflakes=", "-no-color"]);
    command.args(Workflow::all().into_iter().map(|workflow| workflow.path));
    succeed(command.current_dir(root()));
}
