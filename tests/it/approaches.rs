//! `riposte approaches`: the list of systems, the files of recipes, and the errors for mistyped names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use riposte::collection::task::Task;
use riposte::recipes::approaches;
use riposte::recipes::image_approach::ImageApproach;
use riposte::recipes::text_approach::TextApproach;
use serde_json::Value;

use crate::support::collection::{argument, write_arguments};
use crate::support::files::json_lines;
use crate::support::program::{WorkDir, riposte, stdout, succeed};
use crate::support::{assert_says, root};

const TASKS: [&str; 4] = ["images", "controversial", "comparative", "rank"];

/// The output of `riposte approaches` with these options.
fn listed(options: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    let args = [&["approaches"], options].concat();
    stdout(&succeed(&mut riposte(home.path(), &args)))
}

/// The leaderboards of systems.toml.
fn leaderboards() -> Vec<toml::Table> {
    let text = fs::read_to_string(root().join("approaches/systems.toml")).unwrap();
    let file: toml::Table = text.parse().unwrap();
    let leaderboards = file["leaderboard"].as_array().unwrap();
    leaderboards
        .iter()
        .map(|of| of.as_table().unwrap().clone())
        .collect()
}

/// The task and the systems of each leaderboard, as tables.
fn systems() -> Vec<(String, Vec<toml::Table>)> {
    let rows = |of: &toml::Table| {
        let rows = of["rows"].as_array().unwrap().iter();
        rows.map(|row| row.as_table().unwrap().clone()).collect()
    };
    let leaderboards = leaderboards();
    let task = |of: &toml::Table| of["task"].as_str().unwrap().to_owned();
    leaderboards.iter().map(|of| (task(of), rows(of))).collect()
}

/// The names of the approaches to a task.
fn names(task: &str) -> BTreeSet<String> {
    let all = approaches::all(Task::parse(task).unwrap())
        .unwrap()
        .into_iter();
    all.map(|approach| approach.name).collect()
}

#[test]
fn a_system_has_figures_and_either_a_recipe_or_a_reason_and_leaderboards_are_in_order() {
    let mut number = 0;
    for (task, rows) in systems() {
        let (first, figures) = match task.as_str() {
            "images" => ("on_stance", &["on_topic", "argumentative", "on_stance"][..]),
            _ => ("relevance", &["relevance", "quality", "stance"][..]),
        };
        let mut before = f64::INFINITY;
        let mut seen = BTreeSet::new();
        for row in rows {
            number += 1;
            let run = row["run"].as_str().unwrap();
            assert!(
                seen.insert((row["team"].as_str().unwrap().to_owned(), run.to_owned())),
                "{run} occurs twice"
            );
            assert_ne!(row.contains_key("recipe"), row.contains_key("why"), "{run}");
            for figure in figures.iter().filter_map(|name| row.get(*name)) {
                assert!((0.0..=1.0).contains(&figure.as_float().unwrap()), "{run}");
            }
            let score = row[first].as_float().unwrap();
            assert!(score <= before, "the leaderboard with {run} is not sorted");
            before = score;
        }
    }
    assert!(number > 90, "{number} systems");
}

#[test]
fn every_recipe_that_a_system_names_exists() {
    for (task, rows) in systems() {
        let known = names(&task);
        for recipe in rows.iter().filter_map(|row| row.get("recipe")) {
            let recipe = recipe.as_str().unwrap();
            assert!(
                known.contains(recipe),
                "there is no {task} recipe named {recipe}"
            );
        }
    }
}

#[test]
fn the_table_has_every_system_and_every_approach_and_fits_the_screen() {
    let table = listed(&["--systems"]);
    for (leaderboard, (task, rows)) in leaderboards().iter().zip(systems()) {
        let title = leaderboard["title"].as_str().unwrap();
        let (_, part) = table.split_once(&format!("\n  {title}\n")).unwrap();
        let part = part.split("\n\n").next().unwrap();
        let mut lines = part.lines();
        assert!(lines.next().unwrap().ends_with("  approach"), "{part}");
        for row in rows {
            // a system has two lines: the second one has its run
            let mut head = lines.find(|line| !line.starts_with("   ")).unwrap();
            let tag = lines.next().unwrap().trim_start();
            head = head.strip_prefix("  ").unwrap();
            assert!(head.starts_with(row["team"].as_str().unwrap()), "{head}");
            assert!(tag.starts_with(row["run"].as_str().unwrap()), "{tag}");
            let figures = row.values().filter_map(toml::Value::as_float);
            for figure in figures {
                assert!(head.contains(&format!(" {figure:.3}")), "{head}: {figure}");
            }
            match row.get("recipe").map(|recipe| recipe.as_str().unwrap()) {
                Some(name) if names(&task).contains(name) => {
                    assert!(head.ends_with(&format!("  {name}")), "{head}");
                }
                _ => assert!(head.ends_with("  –"), "{head}"),
            }
        }
    }
    for task in TASKS {
        let own = format!("riposte {task} --approach NAME\n\n  riposte's own, and baselines\n");
        let (_, part) = table.split_once(&own).unwrap();
        assert!(part.starts_with("  riposte\n"), "{part}");
        for name in names(task) {
            assert!(table.contains(&name), "{name}");
        }
    }
    assert_says(&table, &["      unpublished or different here: "]);
    for line in table.lines() {
        let long = line.chars().count() > 100;
        assert!(!long || line.split_whitespace().count() == 1, "{line}");
    }
    let images = listed(&["--systems", "--task", "images"]);
    assert!(table.starts_with(&images), "{images}");
    assert!(!images.contains("Elrond"), "{images}");
}

#[test]
fn the_list_has_a_line_for_each_approach_that_says_what_it_does() {
    let list = listed(&[]);
    for task in TASKS {
        let heading = format!("riposte {task} --approach NAME\n");
        let (_, part) = list.split_once(&heading).unwrap();
        let part = part.split("\n\n").next().unwrap();
        let listed: BTreeSet<String> = part
            .lines()
            .map(|line| line.split_whitespace().next().unwrap().to_owned())
            .collect();
        assert_eq!(listed, names(task));
        assert_eq!(part.lines().count(), listed.len(), "{part}");
        let first = part.lines().next().unwrap();
        assert!(first.starts_with("  riposte  "), "{part}");
        assert_says(first, &["riposte's default: "]);
        assert!(first.len() > 60, "{first}");
    }
    assert!(
        list.lines().all(|line| line.chars().count() <= 80),
        "{list}"
    );
    assert_says(&list, &["`riposte approaches show NAME`", "--systems"]);
    let images = listed(&["--task", "images"]);
    assert!(
        !images.contains("elrond") && images.contains("minsc"),
        "{images}"
    );
}

#[test]
fn json_has_a_line_for_every_system_and_every_approach() {
    let lines: Vec<Value> = json_lines(&listed(&["--json"]));
    let mut with_recipe: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut systems_seen = 0;
    for line in &lines {
        let task = line["task"].as_str().unwrap();
        if let Some(recipe) = line["recipe"].as_str() {
            assert!(!line["source"].as_str().unwrap().is_empty(), "{line}");
            let names = with_recipe.entry(task).or_default();
            names.insert(recipe.to_owned());
        } else {
            assert!(line["why"].is_string(), "{line}");
        }
        if line["team"].is_string() {
            systems_seen += 1;
            assert!(line["year"].is_u64() && line["run"].is_string(), "{line}");
        }
    }
    let rows: usize = systems().iter().map(|(_, rows)| rows.len()).sum();
    assert_eq!(systems_seen, rows);
    for task in TASKS {
        assert_eq!(with_recipe[task], names(task));
    }
    let elrond = lines.iter().find(|line| line["run"] == "ElrondKRun");
    let elrond = elrond.unwrap();
    assert_eq!(elrond["relevance"], 0.72, "{elrond}");
    assert_eq!(elrond["recipe"], "elrond", "{elrond}");
}

#[test]
fn show_prints_the_file_of_every_approach() {
    for task in TASKS {
        for name in names(task) {
            let shown = listed(&["show", &name, "--task", task]);
            assert_eq!(
                shown,
                fs::read_to_string(root().join(format!("approaches/{task}/{name}.toml"))).unwrap()
            );
        }
    }
    assert_eq!(
        listed(&["show", "elrond"]),
        listed(&["show", "elrond", "--task", "controversial"])
    );
    let dir = WorkDir::new();
    let (code, _, said) = dir.run("approaches show riposte");
    assert_eq!(code, 2);
    assert_says(
        &said,
        &["--task images or --task controversial or --task comparative or --task rank"],
    );
}

/// Writes a recipe and reads it again as riposte does.
fn parse(task: &str, recipe: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    fs::write(&file, recipe).unwrap();
    let file = file.to_str().unwrap();
    let error = match Task::parse(task).unwrap() {
        Task::Images => ImageApproach::find(file).err(),
        Task::Texts(task) => TextApproach::find(task, file).err(),
    };
    match error {
        Some(error) => Err(format!("{error:#}\n{recipe}")),
        None => Ok(()),
    }
}

#[test]
fn a_new_recipe_parses_with_each_of_its_examples() {
    for task in TASKS {
        let template = listed(&["new", "--task", task]);
        parse(task, &template).unwrap();
        let lines: Vec<&str> = template.lines().collect();
        let is_example = |line: &str| line.starts_with('#') && !line.starts_with("# ");
        // consecutive lines of examples are one example
        let mut start = 0;
        let mut all = lines.clone();
        let mut examples = 0;
        while start < lines.len() {
            let length = lines[start..].iter().take_while(|l| is_example(l)).count();
            let mut one = lines.clone();
            for at in start..start + length {
                one[at] = &lines[at][1..];
                all[at] = &lines[at][1..];
            }
            if length > 0 {
                examples += 1;
                parse(task, &one.join("\n")).unwrap();
            }
            start += length.max(1);
        }
        assert!(examples > 5, "{template}");
        parse(task, &all.join("\n")).unwrap();
        // a line that begins with "# or" is an alternative to the last line above it that is not a comment
        let mut alternatives = 0;
        for (at, line) in lines.iter().enumerate() {
            if let Some(other) = line.strip_prefix("# or ") {
                let key = |line: &str| line.split(" = ").next().unwrap().to_owned();
                let in_force = (0..at).rfind(|&at| !lines[at].starts_with('#')).unwrap();
                assert_eq!(key(lines[in_force]), key(other), "{template}");
                let mut one = lines.clone();
                one[in_force] = other;
                parse(task, &one.join("\n")).unwrap();
                alternatives += 1;
            }
        }
        assert!(alternatives >= 3, "{template}");
    }
    assert_eq!(
        listed(&["new"]),
        listed(&["new", "--task", "controversial"])
    );
}

fn arguments_in(dir: &Path) {
    let texts = [
        (
            "ban",
            "Plastic bottles should be banned, because they pollute the oceans for centuries; every year millions of tons of plastic end in rivers.",
        ),
        (
            "play",
            "Children need time to play. Homework takes it away from them, and studies of primary schools find hardly any benefit of it.",
        ),
    ];
    fs::create_dir(dir).unwrap();
    write_arguments(
        dir,
        texts.map(|(id, text)| argument(id, "A claim", text, "PRO")),
    );
    let topic =
        "<topics><topic><number>1</number><title>Is homework good?</title></topic></topics>";
    fs::write(dir.join("topics.xml"), topic).unwrap();
}

/// A recipe that a user has written: it has no source.
const MINE: &str = "name = \"mine\"

[[retrieval]]
analyzer = \"stop=lucene stem=porter\"
similarity = { name = \"bm25\", k1 = 1.2, b = 0.75 }
fields = { premises = 1.0 }
";

#[test]
fn a_recipe_without_a_source_ranks() {
    let dir = WorkDir::new();
    arguments_in(&dir.path("in"));
    fs::write(dir.path("mine.toml"), MINE).unwrap();
    dir.succeeds("controversial -i in -o out --index kept --approach mine.toml --tag mine");
    let run = dir.read("out/run.txt");
    assert!(run.starts_with("1 Q0 play 1 "), "{run}");
}

/// A recipe for images that a user has written.
const MINE_OF_IMAGES: &str = "name = \"mine\"

[relevance]
scale = \"raw\"
channels = { \"bm25 ocr\" = 1.0, \"bm25 near\" = 1.0 }

[argument]
model = \"aramis\"
weights = [1.0, 1.0, 1.0, 0.0, 1.0]

[stance]
model = \"sign\"
signal = \"afinn main\"

[lists]
cut = \"after-stance\"
";

/// The errors are unknown keys and names, values of the wrong type or out of range, and values that contradict each other.
#[test]
fn an_error_in_a_recipe_names_the_file_the_line_and_what_was_probably_meant() {
    let dir = WorkDir::new();
    arguments_in(&dir.path("in"));
    fs::create_dir_all(dir.path("in/images")).unwrap();
    let texts = "controversial -i in -o out --index kept --approach mine.toml";
    let images = "images -i in -o out --approach mine.toml";
    let both = format!("{MINE}\n[rerank]\ndepth = 5\nweights = {{ sentence = -1.0 }}\n");
    for (command, recipe, from, to, line, answer) in [
        (
            texts,
            MINE,
            "similarity",
            "simillarity",
            5,
            "did you mean `similarity`?",
        ),
        (
            texts,
            MINE,
            "\"bm25\"",
            "\"bm26\"",
            5,
            "did you mean `bm25`?",
        ),
        (texts, MINE, "k1", "k2", 5, "did you mean `k1`?"),
        (
            texts,
            MINE,
            "stop=lucene",
            "stop=lucen",
            4,
            "did you mean lucene?",
        ),
        (
            texts,
            MINE,
            "[[retrieval]]",
            "[[retrievals]]",
            3,
            "did you mean `retrieval`?",
        ),
        (texts, MINE, "1.0 }", "1.0", 6, "line 6"),
        (
            texts,
            MINE,
            "name = \"mine\"",
            "name = \"mine\"\nfusion = { name = \"borad\" }",
            2,
            "did you mean `borda`?",
        ),
        (texts, MINE, "1.0 }", "\"one\" }", 6, "invalid type: string"),
        (
            texts,
            MINE,
            "1.0 }",
            "1.7e308 }",
            6,
            "1.7e308 is out of range: a number in a recipe is 0, or from 1e-9 to 1e6, with either sign",
        ),
        (
            texts,
            MINE,
            "k1 = 1.2",
            "k1 = -1.2",
            5,
            "k1 must be at least 0, not -1.2",
        ),
        (
            texts,
            MINE,
            "1.0 }",
            "-1.0 }",
            6,
            "the weight of premises must be 0 or more, not -1",
        ),
        (
            texts,
            MINE,
            "name = \"mine\"",
            "name = \"mine\"\nfusion = { name = \"borda\" }",
            2,
            "a fusion of one retrieval",
        ),
        (
            texts,
            MINE,
            "name = \"mine\"",
            "name = \"mine\"\nportals = [\"debatorg\"]",
            2,
            "there is no portal \"debatorg\"",
        ),
        (
            texts,
            &both,
            "depth = 5",
            "depth = 5",
            10,
            "the weight of sentence must be 0 or more",
        ),
        (
            images,
            MINE_OF_IMAGES,
            "cut",
            "cuts",
            16,
            "did you mean `cut`?",
        ),
        (
            images,
            MINE_OF_IMAGES,
            "\"raw\"",
            "\"rax\"",
            4,
            "did you mean `raw`?",
        ),
        (
            images,
            MINE_OF_IMAGES,
            "\"bm25 near\"",
            "\"bm25 neer\"",
            5,
            "did you mean `bm25 near`?",
        ),
        (
            images,
            MINE_OF_IMAGES,
            "= 1.0 }",
            "= -1.0 }",
            5,
            "the weight of \"bm25 near\" must be 0 or more, not -1",
        ),
        (
            images,
            MINE_OF_IMAGES,
            "[1.0, 1.0, 1.0, 0.0, 1.0]",
            "[0, 0, 0, 0, 0]",
            9,
            "must add up to more than 0",
        ),
        (
            images,
            MINE_OF_IMAGES,
            "\"raw\"",
            "\"raw\"\nmu = 10.0",
            5,
            "\"dirichlet main\" and mu need each other",
        ),
        (
            images,
            MINE_OF_IMAGES,
            "\"sign\"\nsignal = \"afinn main\"",
            "\"beliefs\"",
            15,
            "are estimated for all images",
        ),
        (
            images,
            MINE_OF_IMAGES,
            "\"after-stance\"",
            "\"after-stance\"\npool = 0",
            17,
            "the pool must be above 0",
        ),
    ] {
        assert!(recipe.contains(from), "{from}");
        fs::write(dir.path("mine.toml"), recipe.replacen(from, to, 1)).unwrap();
        let (code, _, said) = dir.run(command);
        assert_eq!(code, 2, "{said}");
        let named = [",", ":"].map(|end| format!("line {line}{end}"));
        assert!(
            named.iter().any(|line| said.contains(line.as_str())),
            "{line}:\n{said}"
        );
        for part in ["mine.toml", answer] {
            assert!(said.contains(part), "{to}: {part} is not in:\n{said}");
        }
    }
}

/// A recipe with one number replaced, for each of its numbers. `keys` lead to the value.
fn with_numbers(value: &toml::Value, keys: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        toml::Value::Integer(_) | toml::Value::Float(_) => found.push(keys.clone()),
        toml::Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                keys.push(at.to_string());
                with_numbers(value, keys, found);
                keys.pop();
            }
        }
        toml::Value::Table(table) => {
            for (key, value) in table {
                keys.push(key.clone());
                with_numbers(value, keys, found);
                keys.pop();
            }
        }
        _ => {}
    }
}

fn value_at<'v>(value: &'v mut toml::Value, keys: &[String]) -> &'v mut toml::Value {
    keys.iter().fold(value, |value, key| match value {
        toml::Value::Array(values) => &mut values[key.parse::<usize>().unwrap()],
        value => value.get_mut(key).unwrap(),
    })
}

#[test]
fn every_number_of_every_recipe_has_a_range() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("changed.toml");
    let hostile = [
        "nan",
        "inf",
        "-inf",
        "1e300",
        "-1e300",
        "5e-324",
        "9223372036854775807",
        "-9223372036854775808",
        "1e7",
    ];
    let mut changed = 0;
    for task in Task::ALL {
        let mut recipes: Vec<_> = fs::read_dir(root().join("approaches").join(task.word()))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        recipes.sort();
        for path in recipes {
            let recipe: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
            let recipe = toml::Value::Table(recipe);
            let mut places = Vec::new();
            with_numbers(&recipe, &mut Vec::new(), &mut places);
            for keys in places {
                for number in hostile {
                    let mut recipe = recipe.clone();
                    let number: toml::Table = format!("n = {number}").parse().unwrap();
                    *value_at(&mut recipe, &keys) = number["n"].clone();
                    fs::write(&file, toml::to_string(&recipe).unwrap()).unwrap();
                    let name = file.to_str().unwrap();
                    let error = match task {
                        Task::Images => ImageApproach::find(name).map(drop).unwrap_err(),
                        Task::Texts(task) => TextApproach::find(task, name).map(drop).unwrap_err(),
                    };
                    let error = format!("{error:#}");
                    assert!(
                        error.contains(" line "),
                        "{}: {keys:?}: {error}",
                        path.display()
                    );
                    changed += 1;
                }
            }
        }
    }
    assert!(changed > 1000, "{changed}");
}
