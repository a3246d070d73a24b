//! Compares `riposte verify` and riposte's runs with TIRA's own Python package.

use std::path::Path;
use std::process::Command;

use riposte_eval::verify::refused_by_tira;

use crate::support::files::{text, write};
use crate::support::need::{Peer, need};
use crate::support::program::{WorkDir, riposte, stdout, succeed};
use crate::support::runs::images;
use crate::support::{golden_evidence, sample};

/// Prints, for each directory, whether TIRA accepts its run.
const CHECK: &str = "
import pathlib, sys
from tira.check_format import check_format, _fmt
for directory in sys.argv[1:]:
    print(check_format(pathlib.Path(directory), 'run.txt', {})[0] == _fmt.OK)
";

/// Whether TIRA accepts each of these runs.
fn taken(python: &Path, runs: &[&[u8]]) -> Vec<bool> {
    let dir = WorkDir::new();
    let mut command = Command::new(python);
    command.args(["-c", CHECK]);
    for (n, run) in runs.iter().enumerate() {
        let folder = dir.path(&n.to_string());
        write(&folder.join("run.txt"), run);
        command.arg(folder);
    }
    let said = stdout(&succeed(&mut command));
    said.lines().map(|line| line == "True").collect()
}

#[test]
fn verify_refuses_at_the_level_of_tira_what_its_package_refuses() {
    let Some(python) = need(Peer("tira")) else {
        return;
    };
    let good = "1 PRO Ia 1 9.5 t\n1 CON Ib 1 9 t\n2 PRO Ia 1 9 t\n2 CON Ib 1 8 t\n3 PRO Ia 1 9 t\n";
    let runs = [
        good.to_owned(),
        good.replace(' ', "\t"),
        good.replace("\n", "\r\n"),
        good.trim_end().to_owned(),
        format!("{good}3 CON Ia 1 9 t\n"),
        format!("{good}\n"),
        format!("{good}3 CON Ic 1.5 9 t\n"),
        format!("{good}3 CON Ic 1 nine t\n"),
        format!("{good}3 CON Ic 1 1e3 t\n"),
        format!("{good}3 CON Ic 1 9 my tag\n"),
        good.replace("3 PRO", "2 PRO")
            .replace("2 PRO Ia 1 9 t\n2 CON", "2 PRO Id 1 9 t\n2 CON"),
        good.lines()
            .skip(1)
            .map(|line| format!("{line}\n"))
            .collect(),
        String::new(),
    ];
    let bytes: Vec<&[u8]> = runs.iter().map(|run| run.as_bytes()).collect();
    let expected: Vec<bool> = bytes
        .iter()
        .map(|run| refused_by_tira(run).is_empty())
        .collect();
    let taken = taken(&python, &bytes);
    assert_eq!(taken, expected);
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 5);
}

#[test]
fn tira_takes_a_run_and_refuses_one_with_an_image_for_and_against() {
    let Some(python) = need(Peer("tira")) else {
        return;
    };
    let dir = WorkDir::new();
    let (home, evidence) = (dir.path(""), dir.path("evidence.sqlite"));
    std::fs::copy(golden_evidence(), &evidence).unwrap();
    let mut verdicts = Vec::new();
    for more in [&[][..], &["--overlap"]] {
        let options = [&["--evidence", text(&evidence)], more].concat();
        let run = images(&home, sample(), &options).1.unwrap();
        let out = home.join("out");
        let verify = ["verify", text(&out), "-i", text(sample())];
        let said = stdout(&succeed(&mut riposte(&home, &verify)));
        let verdict = said.trim_end().rsplit(": ").next().unwrap().to_owned();
        verdicts.push((taken(&python, &[run.as_bytes()])[0], verdict));
    }
    let refused = "valid by the rules of the task, but TIRA refuses it".to_owned();
    assert_eq!(verdicts, [(true, "valid".to_owned()), (false, refused)]);
}
