//! `ir-metadata.yml`, which is written beside a run.

use std::process::Command;

use crate::support::files::{text, write};
use crate::support::need::{Peer, need};
use crate::support::program::{WorkDir, riposte, stdout, succeed, typed};
use crate::support::runs::images;
use crate::support::{assert_says, golden_evidence, sample};

const CONFIG: &str = "[actor]\nteam = \"Jeanne d'Arc\"\nfields = [\"ir\"]\n[implementation]\nrepository = \"https://example.org/riposte\"\n[data]\nir_datasets = \"touche-image\"\n";

/// Makes the sample's run, with these options.
fn run(dir: &WorkDir, options: &[&str]) {
    let (home, evidence) = (dir.path(""), dir.path("evidence.sqlite"));
    std::fs::copy(golden_evidence(), &evidence).unwrap();
    let all = [&["--evidence", text(&evidence)], options].concat();
    let (output, run) = images(&home, sample(), &all);
    assert!(
        run.is_some(),
        "{}",
        crate::support::program::stderr(&output)
    );
}

fn verify(dir: &WorkDir) -> String {
    let out = dir.path("out");
    let args = ["verify", "-v", "-i", text(sample()), text(&out)];
    stdout(&succeed(&mut riposte(&dir.path(""), &args)))
}

#[test]
fn tira_accepts_the_metadata_with_a_team_and_a_repository() {
    let Some(python) = need(Peer("tira")) else {
        return;
    };
    let dir = WorkDir::new();
    write(&dir.path("riposte.toml"), CONFIG);
    let check = "import pathlib, sys\nfrom tira.check_format import check_format\nprint(check_format(pathlib.Path(sys.argv[1]), 'run-with-metadata', {}))";
    let ask = || {
        let mut command = Command::new(&python);
        stdout(&succeed(command.args([
            "-c",
            check,
            text(&dir.path("out")),
        ])))
    };
    run(&dir, &["--config", text(&dir.path("riposte.toml"))]);
    let said = ask();
    assert_says(&said, &["The file ir-metadata.yml is valid", "is valid."]);
    assert!(verify(&dir).ends_with("valid\n"));
    run(&dir, &[]);
    let said = ask();
    for field in ["actor.team", "implementation.source.repository"] {
        assert_says(&said, &[&format!("required field {field} is missing")]);
        assert!(verify(&dir).contains(field));
    }
}

#[test]
fn a_run_that_tira_starts_says_what_its_metadata_lack() {
    let passage = "{\"id\": \"p1\", \"contents\": \"I prefer the laptop, because it is much better than my old desktop ever was, and I can take it with me to work.\"}\n";
    let topics = "<topics><topic><number>1</number><title>Which is better, a laptop or a desktop?</title></topic></topics>";
    let dir = WorkDir::with(&[
        ("in/passages.jsonl", passage.as_bytes()),
        ("in/topics.xml", topics.as_bytes()),
        ("whole.toml", CONFIG.as_bytes()),
        ("team.toml", b"[actor]\nteam = \"Jeanne\"\n"),
    ]);
    let said = |variables: &[(&str, &str)], options: &str| {
        let line = format!(
            "comparative --quiet=progress -i in -o out --approach bm25 --no-stance{options}"
        );
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = riposte(&dir.path(""), &args);
        command.env_remove("inputDataset").env_remove("outputDir");
        command.envs(variables.iter().copied());
        let output = succeed(command.current_dir(dir.path("")));
        crate::support::program::stderr(&output)
    };
    let tira = [("inputDataset", "in"), ("outputDir", "out")];
    let both = "note: ir-metadata.yml lacks actor.team and implementation.source.repository, ";
    let note = said(&tira, "");
    assert_says(&note, &[both, "($inputDataset is set)", "--config FILE"]);
    assert_eq!(note.matches("lacks").count(), 1, "{note}");
    assert_says(&said(&tira[1..], ""), &[both, "($outputDir is set)"]);
    let note = said(&tira, " --config team.toml");
    assert_says(&note, &["lacks implementation.source.repository, "]);
    // two approaches are one command
    let note = said(&tira, " --approach dirichlet");
    assert_eq!(note.matches(both).count(), 1, "{note}");
    for (variables, options) in [
        (&tira[..], " --config whole.toml"),
        (&tira, " --no-metadata"),
        (&[], ""),
        (&[("inputDataset", "")], ""),
    ] {
        let note = said(variables, options);
        assert!(!note.contains("lacks"), "{variables:?}{options}: {note}");
    }
}

/// The text without the part `resources`, which differs from run to run.
fn without_resources(yaml: &str) -> String {
    let (before, resources) = yaml.split_once("\nresources:\n").unwrap();
    let is_inside = |line: &&str| line.starts_with(' ');
    let after = resources.lines().skip_while(is_inside);
    format!("{before}\n{}", after.collect::<Vec<_>>().join("\n"))
}

#[test]
fn what_the_run_took_is_in_the_fields_of_tirex_tracker_and_all_else_is_the_same_again() {
    let dir = WorkDir::new();
    let mut seen = Vec::new();
    for _ in 0..2 {
        run(&dir, &[]);
        let (run, yaml) = (dir.read("out/run.txt"), dir.read("out/ir-metadata.yml"));
        assert_says(&yaml, &["\nresources:\n", "\n    wallclock: ", " ms\n"]);
        if cfg!(target_os = "linux") {
            let fields = [
                "\n    user: ",
                "\n    system: ",
                "\n  ram:\n",
                "\n    used process:\n      max: ",
            ];
            assert_says(&yaml, &fields);
        }
        seen.push((run, without_resources(&yaml)));
    }
    assert!(seen[0].1.contains("\nplatform:\n") && seen[0].1.contains("ir_metadata.end"));
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_run_that_used_the_narrative_is_a_manual_one() {
    let dir = WorkDir::new();
    run(&dir, &[]);
    assert!(
        dir.read("out/ir-metadata.yml")
            .contains("\n  automatic: true\n")
    );
    assert!(!verify(&dir).contains("manual"));
    run(&dir, &["--use", "narrative"]);
    let yaml = dir.read("out/ir-metadata.yml");
    assert_says(&yaml, &["\n  automatic: false\n", "- narrative\n"]);
    assert!(verify(&dir).contains("note: a manual run"));
}

#[test]
fn the_configuration_is_found_and_a_wrong_one_is_refused_before_the_work() {
    let dir = WorkDir::new();
    write(&dir.path("config/riposte/riposte.toml"), CONFIG);
    run(&dir, &["--approach", "minsc", "--tag", "mine"]);
    let yaml = dir.read("out/ir-metadata.yml");
    for part in [
        "\ntag: mine\n",
        "team: Jeanne d'Arc\n",
        "ir_datasets: touche-image\n",
        "name: minsc\n",
        "name: Touché 2022, image retrieval for arguments\n",
        "    stance:\n      model: crawl\n",
    ] {
        assert!(yaml.contains(part), "{part}: {yaml}");
    }
    let wrong = dir.path("wrong.toml");
    write(&wrong, "[actor]\nteem = \"x\"\n");
    let out = dir.path("refused");
    let args = typed(
        "images -i {} -o {} --config {}",
        &[text(sample()), text(&out), text(&wrong)],
    );
    let output = riposte(&dir.path(""), &args).output().unwrap();
    let said = crate::support::program::stderr(&output);
    assert!(
        output.status.code() == Some(2) && said.contains("teem") && said.contains("wrong.toml"),
        "{said}"
    );
}

#[test]
fn no_metadata_are_written_where_none_are_wanted_and_those_of_another_run_are_noticed() {
    let dir = WorkDir::new();
    run(&dir, &["--no-metadata"]);
    assert!(!dir.path("out/ir-metadata.yml").exists());
    run(&dir, &["--tag", "first"]);
    let first = dir.read("out/ir-metadata.yml");
    run(&dir, &["--tag", "second"]);
    assert_ne!(dir.read("out/ir-metadata.yml"), first);
    write(&dir.path("out/ir-metadata.yml"), first);
    assert!(verify(&dir).contains("describes another run, with the tag first"));
    write(&dir.path("out/ir-metadata.yml"), "a: [");
    assert!(verify(&dir).contains("ir-metadata.yml cannot be read"));
}
