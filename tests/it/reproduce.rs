//! `riposte reproduce` measures what the commands alone measure, and says what has moved, what is unknown and what is not here.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::support::files::{text, write};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{WorkDir, collection_tools, riposte, stderr, stdout, succeed};
use crate::support::{assert_says, root, sample, wait};

/// Tables of a generated collection, as a user writes them.
const TABLES: &str = "
[[table]]
name = \"mine\"
about = \"A collection that was made up\"
task = \"rank\"
directory = \"beir\"
qrels = [\"qrels/test.tsv\"]
columns = [\"nDCG@10\", \"R@100\"]
minutes = 1

[[table.row]]
approach = \"bm25\"

[[table.row]]
approach = \"recipes/mine.toml\"

[[table.row]]
run = \"stored.txt\"
published = { \"nDCG@10\" = 0.25 }
by = \"Somebody 1999\"
";

/// A generated collection with its tables, a recipe and a stored run.
fn generated() -> WorkDir {
    let dir = WorkDir::new();
    let beir = dir.path("beir");
    succeed(&mut collection_tools(&[
        "generate-beir",
        "--count",
        "200",
        text(&beir),
    ]));
    write(&dir.path("mine.toml"), TABLES);
    let (recipe, _) = dir.succeeds("approaches show dph --task rank");
    write(
        &dir.path("recipes/mine.toml"),
        recipe.replace("\"dph\"\nsource", "\"mine\"\nsource"),
    );
    dir.succeeds("rank -i beir -o direct --approach bm25-flat --no-metadata");
    fs::copy(dir.path("direct/run.txt"), dir.path("beir/stored.txt")).unwrap();
    dir
}

/// The report in the directory `out`.
pub(crate) fn report(dir: &WorkDir, out: &str) -> Value {
    serde_json::from_str(&dir.read(&format!("{out}/reproduce.json"))).unwrap()
}

/// The row of the only table of a report.
fn row<'r>(report: &'r Value, name: &str) -> &'r Value {
    let rows = report["tables"][0]["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap()
}

/// Each measured figure by its row and column.
pub(crate) fn figures(report: &Value) -> BTreeMap<(String, String), String> {
    let mut all = BTreeMap::new();
    for table in report["tables"].as_array().unwrap() {
        for row in table["rows"].as_array().unwrap() {
            for figure in row["figures"].as_array().unwrap() {
                let of = |key: &str| figure[key].to_string();
                let name = format!("{} {}", table["name"], row["name"]);
                all.insert((name, of("column")), of("value") + &of("interval"));
            }
        }
    }
    all
}

#[test]
fn figures_are_those_of_the_commands_and_moved_ones_are_errors() {
    let dir = generated();
    let (page, _) = dir.succeeds("reproduce --tables mine.toml -o first");
    assert_eq!(page, dir.read("first/reproduce.md"));
    let first = report(&dir, "first");
    // the run is that of the command which the report names
    let command = row(&first, "bm25")["command"].as_array().unwrap();
    let words: Vec<&str> = command.iter().map(|word| word.as_str().unwrap()).collect();
    assert!(
        words.starts_with(&["riposte", "--no-config", "rank", "-i"]),
        "{words:?}"
    );
    let run = dir.read("first/mine/bm25/run.txt");
    dir.succeeds("rank -i beir -o alone --approach bm25 --numeric float");
    assert_eq!(run, dir.read("alone/run.txt"));
    // and the figures are those of `evaluate`
    for (name, run) in [("bm25", "alone"), ("stored.txt", "beir/stored.txt")] {
        let line =
            format!("evaluate --qrels beir/qrels/test.tsv {run} nDCG@10 R@100 --format jsonl");
        let (printed, _) = dir.succeeds(&line);
        for (n, line) in printed.lines().enumerate() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(
                row(&first, name)["figures"][n]["value"],
                value["value"],
                "{name}"
            );
        }
    }
    assert!(
        page.contains("published") && page.contains(".250 ("),
        "{page}"
    );
    assert!(row(&first, "recipes/mine.toml")["figures"][0]["expected"].is_null());
    assert!(
        row(&first, "bm25")["took"]["peak_kilobytes"]
            .as_u64()
            .unwrap()
            > 5000
    );

    // what was measured is expected from now on
    let expected = dir.read("first/expected.toml");
    let rows = expected.replace("# table \"mine\"\n", "");
    let published = "published = { \"nDCG@10\" = 0.25 }\nby = \"Somebody 1999\"\n";
    let tables = TABLES.split("[[table.row]]").next().unwrap().to_owned() + &rows;
    write(&dir.path("mine.toml"), &tables);
    dir.succeeds("reproduce --tables mine.toml -o second");
    let second = report(&dir, "second");
    assert_eq!(figures(&first), figures(&second));
    assert!(row(&second, "bm25")["figures"][0]["expected"].is_number());

    // one figure moves
    let value = row(&first, "bm25")["figures"][0]["value"].as_f64().unwrap();
    let (is, was) = (format!("{value:.4}"), format!("{:.4}", value + 0.01));
    write(
        &dir.path("mine.toml"),
        tables.replacen(&is, &was, 1) + published,
    );
    let (code, page, said) = dir.run("reproduce --tables mine.toml -o third");
    assert_eq!(code, 1, "{said}");
    assert_says(
        &said,
        &[
            &format!("mine, bm25: nDCG@10 is {is} and was {was}"),
            "1 moved, 0 failed",
        ],
    );
    assert!(page.contains("**moved**"), "{page}");
    // within the tolerance, it has not
    write(
        &dir.path("mine.toml"),
        tables
            .replacen(&is, &was, 1)
            .replace("minutes = 1", "minutes = 1\ntolerance = 0.02"),
    );
    dir.succeeds("reproduce --tables mine.toml -o third");
}

#[test]
fn what_is_not_here_is_said_and_a_wrong_row_does_not_stop_the_others() {
    let dir = generated();
    let refused = [
        (
            "reproduce",
            "nothing can be measured: no collection is here (`riposte reproduce --list` says how each is got)",
        ),
        (
            "reproduce cranfield",
            "--data names the directory that has rank/cranfield",
        ),
        (
            "reproduce cranfeld",
            "there is no table cranfeld: did you mean cranfield?",
        ),
        (
            "reproduce --tables mine.toml --approach bm26",
            "none of these tables has a row bm26",
        ),
        (
            "reproduce --tables gone.toml",
            "cannot use the tables in gone.toml",
        ),
        (
            "reproduce cranfield --data .",
            "there is no directory ./rank/cranfield",
        ),
    ];
    for (line, why) in refused {
        let (code, out, said) = dir.run(line);
        assert!(
            code == 2 && out.is_empty() && said.contains(why),
            "{line}: {said}"
        );
    }
    let (listed, _) = dir.succeeds("reproduce --list --json");
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let scifact = listed
        .iter()
        .find(|table| table["name"] == "scifact")
        .unwrap();
    assert_eq!(scifact["rows"], serde_json::json!([]));
    let (listed, _) = dir.succeeds("reproduce --list --tables mine.toml");
    assert_says(
        &listed,
        &[
            "mine    3 of 3    about 60 seconds",
            "bm25, recipes/mine.toml, stored.txt",
        ],
    );

    let more = "
[[table.row]]
approach = \"riposte\"
models = [\"all-minilm-l6-v2\"]
[[table.row]]
approach = \"recipes/broken.toml\"
[[table.row]]
run = \"gone.txt\"
";
    write(&dir.path("mine.toml"), format!("{TABLES}{more}"));
    write(&dir.path("recipes/broken.toml"), "name = 7");
    let stored = dir.read("beir/stored.txt");
    write(&dir.path("beir/stored.txt"), stored + "not a line\n");
    let (code, page, said) = dir.run("reproduce --tables mine.toml -o out -q");
    assert_eq!(code, 1, "{said}");
    assert_says(
        &said,
        &[
            "mine, recipes/broken.toml: `riposte index",
            "ended with exit code 2",
            "beir/stored.txt:",
        ],
    );
    let report = report(&dir, "out");
    let state = |name: &str| {
        (
            row(&report, name)["state"].clone(),
            row(&report, name)["why"].to_string(),
        )
    };
    for (name, is, why) in [
        ("bm25", "measured", "null"),
        ("recipes/mine.toml", "measured", "null"),
        (
            "riposte",
            "absent",
            "`riposte models fetch all-minilm-l6-v2`",
        ),
        ("recipes/broken.toml", "failed", "exit code 2"),
        ("gone.txt", "absent", "there is no file"),
    ] {
        let (found, because) = state(name);
        assert!(
            found == is && because.contains(why),
            "{name}: {found} {because}"
        );
    }
    assert_says(&page, &["cannot be had here: there is no file"]);
}

#[test]
fn a_data_set_is_measured_by_its_own_judgements() {
    let dir = generated();
    let beir = dir.path("beir");
    let mut catalogue = "[[dataset]]\nname = \"one\"\ntask = \"rank\"\nabout = \"a\"\nlicence = \"l\"\ncitation = \"c\"\nqrels = [\"qrels/test.tsv\"]\n".to_owned();
    for file in ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"] {
        let name = file.replace('/', "-");
        write(
            &dir.path("mirror").join(&name),
            fs::read(beir.join(file)).unwrap(),
        );
        catalogue += &format!(
            "[[dataset.file]]\nfile = \"{name}\"\nurls = [\"https://example.org/{name}\"]\nmost = 9999999\nto = \"{file}\"\n"
        );
    }
    write(&dir.path("catalogue.toml"), catalogue);
    let tables = TABLES.replace(
        "directory = \"beir\"\nqrels = [\"qrels/test.tsv\"]",
        "dataset = \"one\"",
    );
    write(
        &dir.path("mine.toml"),
        tables.split("[[table.row]]\nrun").next().unwrap(),
    );
    let run = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = riposte(&dir.path(""), &words);
        command
            .current_dir(dir.path(""))
            .env("RIPOSTE_DATASETS_CATALOGUE", dir.path("catalogue.toml"));
        command.output().unwrap()
    };
    let refused = run("reproduce --tables mine.toml");
    assert_says(
        &stderr(&refused),
        &["the data set one is not here: `riposte datasets get one` gets it"],
    );
    let got = run("datasets get one --mirror mirror");
    assert!(got.status.success(), "{}", stderr(&got));
    let done = run("reproduce --tables mine.toml -o out");
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(stdout(&done), dir.read("out/reproduce.md"));
    dir.succeeds("rank -i beir -o alone --approach bm25");
    let (printed, _) =
        dir.succeeds("evaluate --qrels beir/qrels/test.tsv alone nDCG@10 --format jsonl");
    let value: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        row(&report(&dir, "out"), "bm25")["figures"][0]["value"],
        value["value"]
    );
}

#[test]
fn a_killed_run_keeps_what_it_has_measured() {
    let dir = generated();
    let mut command = riposte(
        &dir.path(""),
        &["reproduce", "--tables", "mine.toml", "-o", "out"],
    );
    command
        .current_dir(dir.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let file = dir.path("out/reproduce.json");
    let is_killed = wait::kill_when(command.spawn().unwrap(), || file.exists());
    assert!(is_killed, "it ended without a report");
    let killed = report(&dir, "out");
    assert_eq!(row(&killed, "bm25")["state"], "measured");
    dir.succeeds("reproduce --tables mine.toml -o out");
    let (whole, before) = (figures(&report(&dir, "out")), figures(&killed));
    let measured = before.iter().filter(|(_, value)| *value != "nullnull");
    for (key, value) in measured {
        assert_eq!(whole[key], *value);
    }
    assert!(whole.values().all(|value| value != "nullnull"));
}

#[test]
fn only_the_models_of_a_row_are_used() {
    let Some(model) = need(Model(MINILM)) else {
        return;
    };
    let dir = WorkDir::new();
    fs::copy(sample().join("args-me.json"), dir.path("args-me.json")).unwrap();
    fs::copy(sample().join("topics.xml"), dir.path("topics.xml")).unwrap();
    write(&dir.path("qrels"), "34 0 nobody 1\n");
    let table = |name: &str, models: &str| {
        format!(
            "[[table]]\nname = \"{name}\"\nabout = \"a\"\ntask = \"controversial\"\ndirectory = \".\"\nqrels = [\"qrels\"]\ncolumns = [\"nDCG@5\"]\nmodels = [{models}]\nminutes = 1\n[[table.row]]\napproach = \"riposte\"\n"
        )
    };
    let tables = table("with", "\"all-minilm-l6-v2\"") + &table("without", "");
    write(&dir.path("tables.toml"), tables);
    // outputs that are stored with a model serve without it, too
    let run = |words: &[&str], models: &str| {
        let mut command = riposte(&dir.path(models.trim_start_matches('/')), words);
        command
            .current_dir(dir.path(""))
            .env("RIPOSTE_MODELS", models);
        succeed(&mut command);
    };
    let installed = model.dir.parent().unwrap().to_str().unwrap();
    run(
        &["reproduce", "--tables", "tables.toml", "-o", "out"],
        installed,
    );
    let plain = ["controversial", "-i", ".", "--numeric", "float", "-o"];
    run(&[&plain[..], &["direct-with"]].concat(), installed);
    run(&[&plain[..], &["direct-without"]].concat(), "no-models");
    for name in ["with", "without"] {
        let run = dir.read(&format!("out/{name}/riposte/run.txt"));
        assert_eq!(run, dir.read(&format!("direct-{name}/run.txt")), "{name}");
    }
    assert_ne!(
        dir.read("direct-with/run.txt"),
        dir.read("direct-without/run.txt")
    );
    // nothing is left of the directories that show these models alone
    let left = fs::read_dir(dir.path("out")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    let kept = [
        "expected.toml",
        "reproduce.json",
        "reproduce.md",
        "stored",
        "with",
        "without",
    ];
    assert_eq!(left, kept);
}

#[test]
fn the_page_has_every_table_and_expected_figure() {
    let page = fs::read_to_string(root().join("docs/reproduce.md")).unwrap();
    let tables = fs::read_to_string(root().join("datasets/reproduce.toml")).unwrap();
    let tables: toml::Table = toml::from_str(&tables).unwrap();
    for table in tables["table"].as_array().unwrap() {
        let name = table["name"].as_str().unwrap();
        let heading = format!("\n### {name}\n");
        let (_, section) = page
            .split_once(&heading)
            .unwrap_or_else(|| panic!("no {name}"));
        let section = section.split("\n### ").next().unwrap();
        for row in table
            .get("row")
            .and_then(|rows| rows.as_array())
            .into_iter()
            .flatten()
        {
            let name = row
                .get("approach")
                .or(row.get("run"))
                .unwrap()
                .as_str()
                .unwrap();
            let begins = |line: &&str| line.starts_with(&format!("| {name} "));
            let line = section
                .lines()
                .find(begins)
                .unwrap_or_else(|| panic!("no {name}"));
            let figures = row.get("expected").and_then(|of| of.as_table());
            for value in figures.into_iter().flat_map(|of| of.values()) {
                let value = format!("{:.4}", value.as_float().unwrap());
                let value = value.strip_prefix('0').unwrap_or(&value);
                assert!(line.contains(value), "{value}: {line}");
            }
        }
    }
}
