//! Completions and manual pages, read by shells and formatters.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::files::text;
use crate::support::need::{Program, need};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout, succeed};

fn script(dir: &WorkDir, shell: &str) -> String {
    stdout(&succeed(&mut riposte(
        &dir.path(""),
        &["completions", shell],
    )))
}

/// The words that bash offers for a line, whose last word is incomplete.
fn completed(bash: &Path, dir: &WorkDir, line: &[&str]) -> BTreeSet<String> {
    // like bash when a user presses tab, this program sets these variables, calls the function and reads its answers.
    // Outside a completion, bash has no compopt
    let program = "compopt() { :; }; source \"$1\"; shift
COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_riposte riposte \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"
printf '%s\\n' \"${COMPREPLY[@]}\"";
    let file = dir.path("riposte.bash");
    let mut command = Command::new(bash);
    command.args(["--norc", "-c", program, "bash", text(&file)]);
    let output = succeed(command.args(line).current_dir(dir.path("")));
    assert_eq!(stderr(&output), "");
    let words = stdout(&output);
    words.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let Some(bash) = need(Program("bash")) else {
        return;
    };
    let dir = WorkDir::new();
    fs::write(dir.path("riposte.bash"), script(&dir, "bash")).unwrap();
    fs::write(dir.path("topics.xml"), "").unwrap();
    let has = |line: &[&str], words: &[&str]| {
        let found = completed(&bash, &dir, line);
        for word in words {
            assert!(found.contains(*word), "{line:?}: no {word} in {found:?}");
        }
        found
    };
    let found = has(&["riposte", "com"], &["comparative", "completions"]);
    assert_eq!(found.len(), 2, "{found:?}");
    has(&["riposte", "images", "--thr"], &["--threads"]);
    has(
        &["riposte", "images", "--approach", ""],
        &["riposte", "minsc", "aramis"],
    );
    let found = has(
        &["riposte", "controversial", "--approach", "el"],
        &["elrond", "elrond-simple"],
    );
    assert!(!found.contains("minsc"), "{found:?}");
    has(
        &["riposte", "index", "--task", ""],
        &["images", "controversial", "comparative", "rank"],
    );
    has(&["riposte", "models", "fetch", "cl"], &["clip"]);
    has(&["riposte", "cache", "cl"], &["clear"]);
    has(&["riposte", "images", "--topics", "top"], &["topics.xml"]);
    assert!(completed(&bash, &dir, &["riposte", "extract", "--pro"]).is_empty());
}

#[test]
fn zsh_and_fish_can_read_their_scripts() {
    let dir = WorkDir::new();
    for shell in ["zsh", "fish"] {
        let file = dir.path(shell);
        fs::write(&file, script(&dir, shell)).unwrap();
        let Some(program) = need(Program(shell)) else {
            continue;
        };
        let output = succeed(Command::new(program).arg("-n").arg(&file));
        assert_eq!(stderr(&output), "", "{shell}");
    }
}

/// Checks the scripts also for shells that are not installed here.
#[test]
fn each_script_names_the_commands_the_options_and_the_values() {
    let dir = WorkDir::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = script(&dir, shell);
        for word in ["controversial", "clip-precision", "older-than"] {
            assert!(script.contains(word), "{shell} has no {word}");
        }
        assert!(!script.contains(" --probe "), "{shell}: a hidden option");
        assert!(
            !script.contains("riposte-spark needs"),
            "{shell}: a hidden command"
        );
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(script(&dir, shell).contains("dread-pirate-roberts"));
    }
    let output = riposte(&dir.path(""), &["completions", "tcsh"]).output();
    assert_eq!(code(&output.unwrap()), 2);
}

/// Collects the subcommands that the help of a command lists, each with the names of its commands from the top.
fn commands(dir: &WorkDir, words: &[String], all: &mut Vec<Vec<String>>) {
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    args.push("--help");
    let help = stdout(&succeed(&mut riposte(&dir.path(""), &args)));
    all.push(words.to_vec());
    let Some((_, listed)) = help.split_once("\nCommands:\n") else {
        return;
    };
    let listed = listed.lines().take_while(|line| !line.is_empty());
    // a description can go on in the next line
    for line in listed.filter(|line| !line.starts_with("   ")) {
        let name = line.split_whitespace().next().unwrap();
        if name != "help" {
            let inside = [words, &[name.to_owned()]].concat();
            commands(dir, &inside, all);
        }
    }
}

fn pages(dir: &WorkDir) -> Vec<Vec<String>> {
    let man = dir.path("man");
    succeed(&mut riposte(&dir.path(""), &["man", text(&man)]));
    let mut all = Vec::new();
    commands(dir, &[], &mut all);
    all
}

#[test]
fn each_command_has_a_page_that_names_its_options() {
    let dir = WorkDir::new();
    let all = pages(&dir);
    assert!(all.len() > 25, "{all:?}");
    let mut expected: BTreeSet<String> = BTreeSet::new();
    for words in &all {
        let name = [&["riposte".to_owned()], words.as_slice()]
            .concat()
            .join("-");
        let page = dir.read(&format!("man/{name}.1"));
        expected.insert(format!("{name}.1"));
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = stdout(&succeed(&mut riposte(&dir.path(""), &args)));
        // an option is defined on a line that begins with an option
        let defined = help
            .lines()
            .map(str::trim_start)
            .filter(|l| l.starts_with('-'));
        let defined: Vec<&str> = defined
            .filter_map(|line| {
                line.split([' ', ',', '['])
                    .find(|word| word.starts_with("--"))
            })
            .collect();
        assert!(defined.contains(&"--help"), "{name}: {help}");
        for option in defined {
            let shown = option.replace('-', "\\-");
            assert!(page.contains(&shown), "{name} does not name {option}");
        }
        for section in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "ENVIRONMENT",
            "FILES",
        ] {
            assert!(
                page.contains(&format!("\n.SH {section}\n")),
                "{name}: {section}"
            );
        }
    }
    let found = fs::read_dir(dir.path("man")).unwrap();
    let found: BTreeSet<String> = found
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, expected);
    let own = dir.read("man/riposte.1");
    for part in [
        "EXIT STATUS",
        "EXAMPLES",
        "SEE ALSO",
        "RIPOSTE_MODELS",
        "RIPOSTE_CONFIG",
        "riposte.toml",
        "RIPOSTE_CACHE",
    ] {
        assert!(own.contains(part), "{part}");
    }
    let (_, shown, _) = dir.run("man");
    assert_eq!(shown, own);
}

/// riposte accepts the commands in the examples, so no option is misspelt.
#[test]
fn the_examples_are_commands_that_riposte_takes() {
    let dir = WorkDir::new();
    pages(&dir);
    let mut seen = 0;
    for entry in fs::read_dir(dir.path("man")).unwrap() {
        let page = fs::read_to_string(entry.unwrap().path()).unwrap();
        let Some((_, examples)) = page.split_once(".SH EXAMPLES\n") else {
            continue;
        };
        let (examples, _) = examples.split_once(".SH ").unwrap();
        for line in examples
            .lines()
            .filter_map(|l| l.strip_prefix("\\fBriposte "))
        {
            seen += 1;
            let line = line
                .trim_end_matches("\\fR")
                .replace("\\-", "-")
                .replace("\\*(Aq", "'");
            // without redirections. After an unknown option, riposte would print the help and no error, so the words are searched for in the help
            let line = line.split(" >").next().unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exec \"$RIPOSTE\" {line} --help")]);
            command.env("RIPOSTE", env!("CARGO_BIN_EXE_riposte"));
            let help = stdout(&succeed(&mut command));
            for word in line.split(' ').filter(|word| word.starts_with("--")) {
                assert!(help.contains(word), "riposte {line}: {word}");
            }
        }
    }
    assert!(seen > 20, "only {seen} examples");
}

fn formatted(command: &mut Command, page: &Path) -> Output {
    command
        .arg(page)
        .env("MANWIDTH", "100")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap()
}

#[test]
fn formatters_of_manual_pages_warn_of_nothing() {
    let dir = WorkDir::new();
    let names = pages(&dir);
    let files = || {
        names.iter().map(|words| {
            let name = [&["riposte".to_owned()], words.as_slice()]
                .concat()
                .join("-");
            dir.path(&format!("man/{name}.1"))
        })
    };
    if let Some(man) = need(Program("man")) {
        for file in files() {
            let output = formatted(Command::new(&man).args(["--warnings=w", "-l"]), &file);
            assert_eq!(
                (code(&output), stderr(&output).as_str()),
                (0, ""),
                "{file:?}"
            );
            assert!(stdout(&output).contains("SYNOPSIS"));
        }
    }
    if let Some(groff) = need(Program("groff")) {
        for file in files() {
            let output = formatted(
                Command::new(&groff).args(["-k", "-ww", "-man", "-Tutf8"]),
                &file,
            );
            assert_eq!(
                (code(&output), stderr(&output).as_str()),
                (0, ""),
                "{file:?}"
            );
        }
    }
    if let Some(mandoc) = need(Program("mandoc")) {
        for file in files() {
            let output = formatted(Command::new(&mandoc).args(["-Tlint", "-Wwarning"]), &file);
            let said = stdout(&output);
            // pages have no date, so that each build of a commit makes the same pages
            let other: Vec<&str> = said
                .lines()
                .filter(|l| !l.contains("missing date"))
                .collect();
            assert_eq!(other, [""; 0], "{file:?}");
        }
    }
}
