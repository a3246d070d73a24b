//! README and docs/ hold what they promise: each command runs on the sample and prints what the page shows, each link leads somewhere, and what is
//! named exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use riposte::weights::Models;

use crate::support::need::{Model, Program, Python, need};
use crate::support::program::{
    built, code, collection_tools, rank_arguments, riposte, stderr, stdout, succeed,
};
use crate::support::{make, root, sample};

/// The line above a block of commands that cannot run in a test, or of text that no command prints, says why.
const EXEMPT: [&str; 2] = ["<!-- not run: ", "<!-- not printed: "];

/// The store of the sample's evidence that several pages name.
const STORE: &str = "out/sample.sqlite";

/// A page: README.md, ARCHITECTURE.md, CHANGELOG.md, or one of docs/.
struct Page {
    /// Its path in the repository.
    name: String,
    text: String,
}

/// A fenced block.
struct Block<'p> {
    /// The number of its first line in the page, from 1.
    line: usize,
    language: &'p str,
    code: String,
    /// The reason why its commands are not run, or why its text is not compared with what they print.
    exempt: Option<&'p str>,
}

fn pages() -> Vec<Page> {
    let mut names: Vec<String> = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
        .map(str::to_owned)
        .to_vec();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if Path::new(&name).extension().is_some_and(|e| e == "md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    let pages = names.into_iter().map(|name| {
        let text = fs::read_to_string(root().join(&name)).unwrap();
        Page { name, text }
    });
    pages.collect()
}

impl Page {
    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        let mut before = "";
        for (number, line) in (1..).zip(self.text.lines()) {
            let fence = line.trim_start().strip_prefix("```");
            match (&mut open, fence) {
                (None, Some(language)) => {
                    let reason = EXEMPT.iter().find_map(|start| before.strip_prefix(start));
                    open = Some(Block {
                        line: number + 1,
                        language,
                        code: String::new(),
                        exempt: reason.and_then(|reason| reason.strip_suffix(" -->")),
                    });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => {
                    block.code.push_str(line);
                    block.code.push('\n');
                }
                (None, None) => {}
            }
            before = line;
        }
        assert!(open.is_none(), "{}: a block has no end", self.name);
        blocks
    }

    fn commands(&self) -> Vec<Block<'_>> {
        let blocks = self.blocks().into_iter();
        blocks.filter(|block| block.language == "sh").collect()
    }

    /// Whether the page shows how the evidence of the sample is computed.
    fn shows_computation(&self) -> bool {
        let shows =
            |block: &Block| block.language == "text" && block.code.contains("new or changed");
        self.blocks().iter().any(shows)
    }

    /// The lines outside fenced blocks, with their numbers.
    fn prose(&self) -> Vec<(usize, &str)> {
        let mut inside = false;
        let lines = (1..).zip(self.text.lines()).filter(move |(_, line)| {
            let fence = line.trim_start().starts_with("```");
            inside ^= fence;
            !inside && !fence
        });
        lines.collect()
    }

    /// The spans of code in the prose, with the numbers of their lines.
    fn spans(&self) -> Vec<(usize, &str)> {
        let of_line = |line| {
            let parts = str::split(line, '`').enumerate();
            parts.filter_map(|(at, part)| (at % 2 == 1).then_some(part))
        };
        self.prose()
            .into_iter()
            .flat_map(|(number, line)| of_line(line).map(move |span| (number, span)))
            .collect()
    }
}

/// Runs a page as a reader does who has cloned the repository and fetched the models: in `dir/riposte`, which is made anew, with the sample and the scripts of benches/, and with
/// both programs on the path. The home in `dir` stays from page to page, and so does the first store that a page names: what is in them is computed once. A
/// page that shows how it is computed begins with an empty home.
fn run_page(
    page: &Page,
    dir: &Path,
    programs: &Path,
    models: &Path,
    has_sqlite: bool,
) -> Vec<String> {
    let (home, work) = (dir.join("home"), dir.join("riposte"));
    let (store, kept) = (work.join(STORE), dir.join("kept.sqlite"));
    if home.exists() && page.shows_computation() {
        fs::remove_dir_all(&home).unwrap();
    }
    if work.exists() {
        fs::remove_dir_all(&work).unwrap();
    }
    fs::create_dir_all(&home).unwrap();
    fs::create_dir(&work).unwrap();
    let copied = Command::new("cp")
        .arg("-r")
        .arg(root().join("sample"))
        .arg(&work)
        .status();
    assert!(copied.unwrap().success());
    // scripts that need nothing but Python
    #[cfg(unix)]
    std::os::unix::fs::symlink(root().join("benches"), work.join("benches")).unwrap();
    if kept.exists() && page.text.contains(STORE) {
        fs::create_dir_all(store.parent().unwrap()).unwrap();
        fs::copy(&kept, &store).unwrap();
    }
    let old = std::env::var_os("PATH").unwrap_or_default();
    let path = [programs.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&old));
    let path = std::env::join_paths(path).unwrap();

    let mut failures = Vec::new();
    let mut printed = String::new();
    let mut is_run = true;
    for block in page.blocks() {
        if block.exempt.is_some() {
            continue;
        }
        if block.language == "text" && is_run {
            let missing = block
                .code
                .lines()
                .filter(|line| !printed.contains(comparable(line).trim()));
            let missing: Vec<&str> = missing.collect();
            if !missing.is_empty() {
                let (name, line) = (&page.name, block.line);
                failures.push(format!(
                    "{name}:{line}: not printed: {}",
                    missing.join("\n")
                ));
            }
        }
        if block.language != "sh" {
            continue;
        }
        let begins = |name: &str| block.code.lines().any(|line| line.starts_with(name));
        is_run = has_sqlite || !begins("sqlite3 ");
        if !is_run {
            continue;
        }
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RIPOSTE_") {
                command.env_remove(name);
            }
        }
        command
            .args(["-e", "-c", &block.code])
            .current_dir(&work)
            .env("PATH", &path)
            .env("HOME", &home)
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .env("RIPOSTE_MODELS", models)
            .stdin(std::process::Stdio::null());
        let output = command.output().unwrap();
        printed.push_str(&comparable(&stdout(&output)));
        printed.push_str(&comparable(&stderr(&output)));
        if code(&output) != 0 {
            failures.push(format!(
                "{}:{}: exit code {}\n{}{}{}",
                page.name,
                block.line,
                code(&output),
                block.code,
                stdout(&output),
                stderr(&output)
            ));
            break;
        }
    }
    if store.exists() && !kept.exists() {
        fs::copy(&store, &kept).unwrap();
    }
    failures
}

/// A text without digits and with single blanks, because scores and times differ between machines, and with them the widths of columns. Models can
/// compute in int8 on some machines, and in floats on others.
fn comparable(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    for line in text.replace("int8", "float").lines() {
        for word in line.split_whitespace() {
            let is_digit = |character: char| character.is_ascii_digit();
            let words = word.split(is_digit).filter(|piece| !piece.is_empty());
            masked.extend(words.chain([" "]));
        }
        masked.push('\n');
    }
    masked
}

#[test]
fn every_command_runs_on_the_sample_and_prints_what_is_shown() {
    let models = ["ppocr-v4", "all-minilm-l6-v2", "afinn"];
    if models.iter().any(|name| need(Model(name)).is_none()) || need(Python).is_none() {
        return;
    }
    // the pages show what riposte prints with these models, and without CLIP
    let installed = Models::at(None).unwrap();
    let shown = tempfile::tempdir().unwrap();
    for name in models {
        let dir = std::path::absolute(installed.dir().join(name)).unwrap();
        std::os::unix::fs::symlink(dir, shown.path().join(name)).unwrap();
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_riposte")).parent().unwrap();
    let has_sqlite = need(Program("sqlite3")).is_some();
    let mut pages = pages();
    // what they compute is in the cache for all other pages
    pages.sort_by_key(|page| !page.shows_computation());
    let dir = tempfile::tempdir().unwrap();
    let failures: Vec<String> = pages
        .iter()
        .flat_map(|page| run_page(page, dir.path(), programs, shown.path(), has_sqlite))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// An indented block, or one of another language, would not be run.
#[test]
fn commands_are_in_blocks_that_are_run_or_say_why_not() {
    let is_command = |line: &str| {
        let first = line.trim_start().trim_start_matches("$ ");
        [
            "riposte ",
            "riposte-eval ",
            "collection-tools ",
            "make ",
            "cargo ",
        ]
        .iter()
        .any(|program| first.starts_with(program))
    };
    let mut faults = Vec::new();
    for page in pages() {
        for (number, line) in page.prose() {
            if line.starts_with("    ") && is_command(line) {
                faults.push(format!("{}:{number}: an indented block", page.name));
            }
        }
        for block in page.blocks() {
            let commands = block.code.lines().filter(|line| is_command(line)).count();
            match block.language {
                "sh" if block.exempt.is_some_and(|reason| reason.trim().is_empty()) => {
                    faults.push(format!("{}:{}: no reason", page.name, block.line));
                }
                "bash" | "shell" | "console" | "" => faults.push(format!(
                    "{}:{}: a block of {:?}: say sh for commands, text for what they print",
                    page.name, block.line, block.language
                )),
                "text" if commands > 0 && block.code.lines().count() == commands => {
                    faults.push(format!("{}:{}: commands as text", page.name, block.line));
                }
                _ => {}
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The subcommands and options that `--help` names, by the command: "riposte images" has "--explain" and "-o".
struct Helps(BTreeMap<String, Option<BTreeSet<String>>>);

impl Helps {
    fn has(&mut self, program: &str, subcommand: &[&str], option: &str) -> bool {
        let key = format!("{program} {}", subcommand.join(" "));
        let options = self.0.entry(key).or_insert_with(|| {
            let home = tempfile::tempdir().unwrap();
            let mut args = subcommand.to_vec();
            args.push("--help");
            let output = match program {
                "riposte" => riposte(home.path(), &args).output().unwrap(),
                "riposte-eval" => {
                    let program = built("", program);
                    Command::new(program).args(&args).output().unwrap()
                }
                _ => collection_tools(&args).output().unwrap(),
            };
            (code(&output) == 0).then(|| {
                let help = stdout(&output);
                let words = help.split(|c: char| c.is_whitespace() || ",[]=<>|".contains(c));
                words
                    .filter(|w| w.starts_with('-'))
                    .map(str::to_owned)
                    .collect()
            })
        });
        options
            .as_ref()
            .is_some_and(|options| option.is_empty() || options.contains(option))
    }

    /// What a command names that its help does not.
    fn faults(&mut self, command: &str) -> Vec<String> {
        let mut words = command.split_whitespace().peekable();
        let Some(program @ ("riposte" | "riposte-eval" | "collection-tools")) = words.next() else {
            return Vec::new();
        };
        let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let Some(first) = words.next_if(|word| is_name(word) && !word.starts_with('-')) else {
            return Vec::new();
        };
        let mut subcommand = vec![first];
        if let Some(second) = words.next_if(is_name)
            && [
                "models",
                "datasets",
                "approaches",
                "export",
                "cache",
                "collection",
                "shard",
            ]
            .contains(&first)
            && !second.starts_with('-')
        {
            subcommand.push(second);
        }
        let mut faults = Vec::new();
        if !self.has(program, &subcommand, "") {
            faults.push(format!("there is no {program} {}", subcommand.join(" ")));
            return faults;
        }
        for word in words {
            if ["|", ">", ">>", "&&", ";", "#"].contains(&word) || word.starts_with('#') {
                break;
            }
            let option = word.split('=').next().unwrap_or_default();
            let option = option.trim_matches(|c: char| "[](),;:'\"".contains(c));
            let is_option = option.len() > 1
                && option.starts_with('-')
                && !option[1..].starts_with(|c: char| c.is_ascii_digit());
            if is_option && !self.has(program, &subcommand, option) {
                faults.push(format!(
                    "{program} {} has no {option}",
                    subcommand.join(" ")
                ));
            }
        }
        faults
    }
}

/// Those in tables and sentences, and those that cannot be run here, too.
#[test]
fn every_command_and_option_that_is_named_exists() {
    let mut helps = Helps(BTreeMap::new());
    let mut faults = Vec::new();
    for page in pages() {
        let blocks = page.commands();
        let lines = blocks.iter().flat_map(|block| {
            let joined = block.code.replace("\\\n", " ");
            let lines: Vec<String> = joined.lines().map(str::to_owned).collect();
            lines.into_iter().map(|line| (block.line, line))
        });
        let spans = page.spans().into_iter();
        let spans = spans.map(|(line, span)| (line, span.to_owned()));
        for (line, command) in lines.chain(spans) {
            let command = command.trim();
            if command.starts_with("make ")
                && let Err(fault) = make::targets(command)
            {
                faults.push(format!("{}:{line}: {fault}", page.name));
            }
            for fault in helps.faults(command) {
                faults.push(format!("{}:{line}: {fault}", page.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The anchors of a page, as GitHub makes them of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().to_lowercase();
        let kept = kept
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        anchors.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    anchors
}

/// Pages whose links are checked, beside README and docs/.
const OTHER_PAGES: [&str; 2] = ["python/README.md", "models/own/README.md"];

#[test]
fn every_link_leads_somewhere() {
    let others = OTHER_PAGES.map(|name| Page {
        name: name.to_owned(),
        text: fs::read_to_string(root().join(name)).unwrap(),
    });
    let mut faults = Vec::new();
    for page in pages().into_iter().chain(others) {
        let dir = Path::new(&page.name).parent().unwrap().to_owned();
        for (number, line) in page.prose() {
            let targets = line.split("](").skip(1);
            for target in targets.filter_map(|rest| rest.split(')').next()) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = match file {
                    "" => root().join(&page.name),
                    _ => root().join(&dir).join(file),
                };
                let at = format!("{}:{number}: {target}", page.name);
                if file.starts_with('/') {
                    faults.push(format!("{at} is a path of one machine"));
                } else if !path.exists() {
                    faults.push(format!("{at} does not exist"));
                } else if !anchor.is_empty()
                    && !anchors(&fs::read_to_string(&path).unwrap()).contains(anchor)
                {
                    faults.push(format!("{at}: no such heading"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_file_that_is_named_is_in_the_repository() {
    let rooms = "src/ tests/ docs/ benches/ models/ approaches/ crates/ python/ packaging/ sample/ collection-tools/ .github/";
    let mut faults = Vec::new();
    for page in pages() {
        for (number, span) in page.spans() {
            let path = span.split_whitespace().next().unwrap_or_default();
            let path = path.split([':', '#']).next().unwrap_or_default();
            let is_path = rooms.split(' ').any(|room| path.starts_with(room));
            let is_pattern = path.contains(['*', '…', '<', '{', '$'])
                || path.split('/').any(|part| {
                    part.len() > 1
                        && part == part.to_uppercase()
                        && part.starts_with(char::is_alphabetic)
                });
            if is_path && !is_pattern && !root().join(path).exists() {
                faults.push(format!("{}:{number}: {path} does not exist", page.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_site_has_every_page() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for page in pages() {
        if let Some(name) = page.name.strip_prefix("docs/")
            && name != "SUMMARY.md"
        {
            assert!(
                summary.contains(&format!("]({name})")),
                "docs/SUMMARY.md leaves out {name}"
            );
            assert!(
                name == "README.md"
                    || readme.contains(&format!("]({})", page.name))
                    || index.contains(&format!("]({name})")),
                "neither README.md nor docs/README.md leads to {name}"
            );
        }
    }
}

/// The README's table of results is a summary: docs/results.md has each of its figures, beside the command that prints it.
#[test]
fn the_results_of_the_readme_are_those_of_the_page_of_results() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let results = fs::read_to_string(root().join("docs/results.md")).unwrap();
    let section = readme.split("\n## Results").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let figures = section
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter(|word| word.len() == 4 && word.starts_with('.'));
    let figures: Vec<&str> = figures.collect();
    assert!(figures.len() >= 8, "{figures:?}");
    for figure in figures {
        assert!(results.contains(figure), "docs/results.md has no {figure}");
    }
}

/// The manual names files that riposte writes; a run of the sample writes them.
#[test]
fn the_readme_names_what_a_run_writes() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    succeed(&mut rank_arguments(home.path(), sample(), &out));
    for entry in fs::read_dir(&out).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            readme.contains(&format!("`{name}`")),
            "README.md does not name {name}"
        );
    }
}

/// What a stranger reads last is what was made, how it is opened and what comes next; downloads that fail are one line and no error.
#[cfg(unix)]
#[test]
fn make_demo_ends_with_what_was_made_and_what_to_type() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("riposte");
    let script =
        "#!/bin/sh\n[ \"$1\" != models ] || { echo no network; echo no network; exit 2; }\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("make");
    command.arg("-f").arg(root().join("Makefile")).arg("demo");
    command.arg("CARGO=true");
    command.arg(format!("RIPOSTE={}", program.display()));
    command.current_dir(dir.path());
    // `make test` is a make around this one, which would then say where it enters and leaves
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
        command.env_remove(name);
    }
    let printed = stdout(&succeed(&mut command));
    let lines: Vec<&str> = printed.lines().collect();
    let begin: Vec<&str> = lines[lines.len() - 3..]
        .iter()
        .map(|line| &line[..6])
        .collect();
    assert_eq!(begin, ["made: ", "open: ", "next: "], "{printed}");
    let next = format!("next: {} ask ", program.display());
    assert!(lines[lines.len() - 1].starts_with(&next), "{printed}");
    assert_eq!(printed.matches("could not be downloaded").count(), 1);
    assert!(!printed.contains("no network"), "{printed}");
}
