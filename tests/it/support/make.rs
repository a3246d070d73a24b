//! Calls of make in pages and workflows.

use std::collections::BTreeSet;
use std::fs;

use crate::support::root;

/// The targets that a call names, and what is wrong with it: `make -C benches bench ROUNDS=5` needs the target `bench` of benches/Makefile. The
/// call begins with `make`, and ends at a comment or at the next command.
pub fn targets(call: &str) -> Result<BTreeSet<String>, String> {
    let mut words = words(call).into_iter().skip(1);
    let mut dir = String::new();
    let mut targets = BTreeSet::new();
    while let Some(word) = words.next() {
        if word.starts_with('#') || ["&&", "||", "|", ";", ">", ">>"].contains(&word.as_str()) {
            break;
        } else if word == "-C" {
            dir = words.next().unwrap_or_default();
        } else if !word.contains('=') {
            targets.insert(word);
        }
    }
    let file = root().join(&dir).join("Makefile");
    let makefile = fs::read_to_string(&file).map_err(|_| format!("{dir} has no Makefile"))?;
    let rules = rules(&makefile);
    let unknown = targets
        .iter()
        .find(|target| !rules.contains(target.as_str()));
    match unknown {
        Some(target) if dir.is_empty() => Err(format!("there is no make {target}")),
        Some(target) => Err(format!("there is no make -C {dir} {target}")),
        None => Ok(targets),
    }
}

/// The words of a command. Quotes may surround a word or the value of a variable, as in `CARGO="cargo +nightly"`.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in command.chars() {
        match (character, words.last_mut()) {
            ('"', _) => quoted = !quoted,
            (blank, _) if blank.is_whitespace() && !quoted => words.push(String::new()),
            (_, Some(word)) => word.push(character),
            (_, None) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The targets of a Makefile. A rule begins in the first column, with lower case letters.
fn rules(makefile: &str) -> BTreeSet<&str> {
    let lines = makefile.lines();
    let rules = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
    let names = rules.filter_map(|line| line.split_once(':'));
    names
        .flat_map(|(names, _)| names.split_whitespace())
        .collect()
}

#[test]
fn a_call_of_make_names_targets_that_exist() {
    let found = targets("make lint CARGO=\"cargo +nightly\" doc # checks").unwrap();
    assert_eq!(found, ["doc", "lint"].map(str::to_owned).into());
    let said = targets("make tset").unwrap_err();
    assert_eq!(said, "there is no make tset");
    let said = targets("make -C nowhere test").unwrap_err();
    assert_eq!(said, "nowhere has no Makefile");
}
