//! riposte.toml: where it is found, and what it can contain.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::files::{text, write};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout};
use crate::support::{assert_says, sample};

/// Runs riposte in the directory with environment variables.
fn run(dir: &WorkDir, variables: &[(&str, &str)], line: &str) -> Output {
    let args: Vec<&str> = line.split(' ').collect();
    let mut command = riposte(&dir.path(""), &args);
    command.envs(variables.iter().copied());
    command.current_dir(dir.path("")).output().unwrap()
}

/// The value of an option and its source, as `riposte config` prints them.
fn in_force(dir: &WorkDir, variables: &[(&str, &str)], line: &str, name: &str) -> (String, String) {
    let output = run(dir, variables, &format!("config --json{line}"));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let field = |key: &str| {
        let value = &json["values"][name][key];
        value.as_str().unwrap_or_default().to_owned()
    };
    (field("value"), field("source"))
}

/// A collection of passages in `in`.
fn passages() -> WorkDir {
    let passage = |id: &str, one: &str, other: &str| {
        format!(
            "{{\"id\": \"{id}\", \"contents\": \"I prefer the {one}, because it is much better than my old {other} ever was, and I can take it with me to work.\"}}\n"
        )
    };
    let both = passage("p1", "laptop", "desktop") + &passage("p2", "desktop", "laptop");
    WorkDir::with(&[
        ("in/passages.jsonl", both.as_bytes()),
        (
            "in/topics.xml",
            b"<topics><topic><number>1</number><title>Which is better, a laptop or a desktop?</title></topic></topics>",
        ),
    ])
}

#[test]
fn what_is_typed_goes_before_the_environment_and_that_before_the_file() {
    let dir = WorkDir::new();
    write(
        &dir.path("riposte.toml"),
        "threads = 3\ntag = \"filed\"\ncache = \"kept\"\n",
    );
    let kept = dir.path("").canonicalize().unwrap().join("kept");
    for (name, variable, filed) in [
        ("threads", "RIPOSTE_THREADS", "3"),
        ("tag", "RIPOSTE_TAG", "filed"),
        ("cache", "RIPOSTE_CACHE", text(&kept)),
    ] {
        let of = |variables: &[(&str, &str)], line: &str| in_force(&dir, variables, line, name);
        let (value, source) = of(&[], "");
        assert_eq!(source, "riposte.toml");
        // the path can differ, because the temporary directory can be a link
        assert!(value == filed || value.ends_with("/kept"), "{value}");
        let environment = [(variable, "5")];
        assert_eq!(of(&environment, ""), ("5".into(), format!("${variable}")));
        // an empty variable counts as not set
        assert_eq!(of(&[(variable, "")], "").1, "riposte.toml");
        let typed = format!(" --{name} 7");
        assert_eq!(
            of(&environment, &typed),
            ("7".into(), "the command line".into())
        );
        assert_eq!(of(&[], " --no-config").1, "by default");
    }
}

#[test]
fn the_cache_of_a_configuration_begins_at_its_file_or_at_home() {
    let dir = WorkDir::new();
    let home = dir.path("home");
    for (written, expected) in [
        ("kept", dir.path("project/kept")),
        ("./a/../kept", dir.path("project/a/../kept")),
        ("/fast/kept", "/fast/kept".into()),
        ("~/kept", home.join("kept")),
        ("~kept", dir.path("project/~kept")),
    ] {
        write(
            &dir.path("project/riposte.toml"),
            format!("cache = \"{written}\"\n"),
        );
        let config = text(&dir.path("project/riposte.toml")).to_owned();
        let variables = [("HOME", text(&home)), ("RIPOSTE_CONFIG", config.as_str())];
        let (value, _) = in_force(&dir, &variables, "", "cache");
        assert_eq!(Path::new(&value), expected, "{written}");
    }
}

#[test]
fn the_working_directory_goes_before_the_users_configuration_and_a_named_file_before_both() {
    let dir = WorkDir::new();
    let tag = |variables: &[(&str, &str)], line: &str| in_force(&dir, variables, line, "tag").0;
    assert_eq!(tag(&[], ""), "");
    write(&dir.path("config/riposte/riposte.toml"), "tag = \"user\"\n");
    assert_eq!(tag(&[], ""), "user");
    write(&dir.path("riposte.toml"), "threads = 2\n");
    // only one file is read: the values of both are not combined
    assert_eq!(tag(&[], ""), "");
    write(&dir.path("riposte.toml"), "tag = \"here\"\n");
    assert_eq!(tag(&[], ""), "here");
    write(&dir.path("other.toml"), "tag = \"other\"\n");
    let other = dir.path("other.toml");
    let variable = [("RIPOSTE_CONFIG", text(&other))];
    assert_eq!(tag(&variable, ""), "other");
    assert_eq!(tag(&variable, " --config riposte.toml"), "here");
    assert_eq!(tag(&variable, " --no-config"), "");
    let both = run(&dir, &[], "config --config riposte.toml --no-config");
    assert_eq!(code(&both), 2);
    let missing = run(&dir, &[], "config --config missing.toml");
    assert!(code(&missing) == 2 && stderr(&missing).contains("missing.toml"));
    fs::create_dir(dir.path("folder")).unwrap();
    assert_eq!(code(&run(&dir, &[], "config --config folder")), 2);
}

#[test]
fn a_wrong_configuration_is_refused_before_any_work_and_the_line_is_named() {
    let dir = passages();
    for (contents, line, said) in [
        ("\nthraeds = 2\n", 2, "did you mean `threads`?"),
        ("threads = \"2\"\n", 1, "invalid type: string \"2\""),
        ("\n\nthreads = 0\n", 3, "threads must be from 1 to 256"),
        ("threads = -4\n", 1, "threads must be from 1 to 256"),
        ("tag = \"two words\"\n", 1, "a tag is a single word"),
        ("tag = \"\\\"quoted\\\"\"\n", 1, "a tag is not in quotes"),
        ("tag = 7\n", 1, "expected a string"),
        ("cache = [\"a\"]\n", 1, "invalid type: sequence"),
        ("[actor]\nteem = \"x\"\n", 2, "did you mean `team`?"),
        (
            "[implementation]\nrepo = \"x\"\n",
            2,
            "expected `repository`",
        ),
        (
            "[data]\nir_dataset = \"x\"\n",
            2,
            "did you mean `ir_datasets`?",
        ),
        ("[images]\n", 1, "unknown field `images`"),
        ("threads = 2\nthreads = 3\n", 2, "duplicate key"),
        ("threads = = 2\n", 1, "line 1"),
    ] {
        write(&dir.path("riposte.toml"), contents);
        for command in [
            "comparative -i in -o out --index kept",
            "index -i in --index kept",
            "rank -i in -o out",
            "stance --topic cars --text trees",
            "verify out",
            "cache list",
            "config",
        ] {
            let output = run(&dir, &[], command);
            let message = stderr(&output);
            assert_eq!(code(&output), 2, "{contents}: {command}: {message}");
            for part in ["riposte.toml", &format!("line {line}"), said] {
                assert!(message.contains(part), "{contents}: {part}: {message}");
            }
            assert_eq!(stdout(&output), "");
        }
        assert!(!dir.path("out").exists() && !dir.path("kept").exists());
        // shells and packages call these commands
        assert_eq!(code(&run(&dir, &[], "completions bash")), 0);
        assert_eq!(code(&run(&dir, &[], "man")), 0);
        assert_eq!(code(&run(&dir, &[], "--version")), 0);
        assert_eq!(code(&run(&dir, &[], "config --no-config")), 0);
    }
    write(&dir.path("riposte.toml"), b"tag = \"\xff\"\n");
    assert_eq!(code(&run(&dir, &[], "config")), 2);
}

#[test]
fn a_run_uses_the_values_and_says_so_and_its_metadata_do() {
    let dir = passages();
    let yaml = || dir.read("out/ir-metadata.yml");
    let rank = |options: &str| {
        let line = format!("comparative -i in -o out --approach bm25{options}");
        let output = run(&dir, &[], &line);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        (dir.read("out/run.txt"), stderr(&output))
    };
    let (plain, said) = rank("");
    assert!(!said.contains("configuration") && !yaml().contains("configuration"));
    write(
        &dir.path("riposte.toml"),
        "threads = 1\ntag = \"mine\"\ncache = \"kept\"\n[actor]\nteam = \"Jeanne\"\n",
    );
    let (run_of_mine, said) = rank("");
    assert_says(
        &said,
        &["configuration riposte.toml: ", "tag mine, threads 1"],
    );
    assert_eq!(run_of_mine, plain.replace("riposte-bm25", "mine"));
    assert!(run_of_mine.lines().all(|line| line.ends_with(" mine")));
    for part in [
        "\ntag: mine\n",
        "team: Jeanne\n",
        "configuration:\n    file: riposte.toml\n",
        "threads: '1'\n",
        "cache: kept\n",
    ] {
        assert!(yaml().contains(part), "{part}: {}", yaml());
    }
    let kept = || fs::read_dir(dir.path("kept")).map_or(0, Iterator::count);
    assert!(kept() > 1, "the index is in the chosen cache directory");
    let (run_of_yours, _) = rank(" --tag yours");
    assert!(run_of_yours.lines().all(|line| line.ends_with(" yours")));
    assert!(!yaml().contains("tag: mine"), "{}", yaml());
    let (_, said) = rank(" --quiet");
    assert!(!said.contains("configuration"), "{said}");
    let (again, said) = rank(" --no-config");
    assert_eq!(again, plain);
    assert!(!said.contains("configuration") && !yaml().contains("Jeanne"));
}

/// The value in the file applies to each command that has the option. The missing input `nowhere` ends the commands before any work.
#[test]
fn every_command_that_has_an_option_has_its_value() {
    let dir = WorkDir::new();
    write(
        &dir.path("riposte.toml"),
        "threads = 2\ntag = \"mine\"\ncache = \"kept\"\n",
    );
    let with_threads = [
        "images -i nowhere -o out",
        "ask question -i nowhere --task images --evidence kept.sqlite",
        "extract -i nowhere",
        "controversial -i nowhere -o out",
        "comparative -i nowhere -o out",
        "rank -i nowhere -o out",
        "index -i nowhere --task rank",
        "inspect run.txt -i nowhere --task rank",
        "serve -i nowhere --listen 127.0.0.1:0",
    ];
    for command in with_threads {
        let said = stderr(&run(&dir, &[], command));
        let first = said.lines().next().unwrap_or_default();
        assert!(
            first.contains("threads 2") && first.contains("cache "),
            "{command}: {said}"
        );
        let is_run = command.contains(" -o out");
        assert_eq!(first.contains("tag mine"), is_run, "{command}: {said}");
    }
    // each command with this option must be in the list, because the others are not tested
    let help = stdout(&run(&dir, &[], "--help"));
    let (_, listed) = help.split_once("\nCommands:\n").unwrap();
    let listed = listed.lines().take_while(|line| !line.is_empty());
    for name in listed.filter_map(|line| line.split_whitespace().next()) {
        let help = stdout(&run(&dir, &[], &format!("{name} --help")));
        let is_tested = with_threads.iter().any(|line| line.starts_with(name));
        assert_eq!(
            help.contains("--threads <N>"),
            is_tested || name == "config",
            "{name}"
        );
    }
    let images = run(
        &dir,
        &[("RIPOSTE_THREADS", "0")],
        &format!("index -i {} --task rank", text(sample())),
    );
    assert_eq!(code(&images), 2);
}

#[test]
fn evidence_goes_to_the_cache_of_the_configuration() {
    let dir = WorkDir::new();
    let cache = dir.path("fast");
    write(
        &dir.path("riposte.toml"),
        format!("cache = \"{}\"\n", text(&cache)),
    );
    let extract = format!("extract -i {} --limit 1", text(sample()));
    let output = run(&dir, &[], &extract);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let stores = || {
        let names = fs::read_dir(&cache).unwrap().flatten();
        let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.find(|name| name.starts_with("sample-"))
    };
    assert!(stores().is_some());
    assert!(!dir.path("cache").exists(), "the default cache was used");
    // commands that read the evidence look in the same directory
    let exported = run(
        &dir,
        &[],
        &format!("export evidence -i {} -o tables", text(sample())),
    );
    assert_eq!(code(&exported), 0, "{}", stderr(&exported));
    // if the chosen directory cannot be written, this is an error: no other directory is used
    write(&dir.path("file"), "");
    let refused = run(
        &dir,
        &[("RIPOSTE_CACHE", text(&dir.path("file/inside")))],
        &extract,
    );
    assert!(
        code(&refused) == 2 && stderr(&refused).contains("file/inside cannot be written"),
        "{}",
        stderr(&refused)
    );
}
