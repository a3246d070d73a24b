//! Dense search: the sentence vectors of a whole collection, computed and searched as by a user.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use riposte::evidence::sentence::Sentences;
use riposte::index::vector::dot;
use riposte_nn::transformer::EncoderBackend;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::support::chance::Chance;
use crate::support::collection::{argument, write_arguments};
use crate::support::files::json_lines;
use crate::support::models::{MINILM, MPNET};
use crate::support::need::{Model, need};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout, succeed};
use crate::support::{assert_says, wait};

const TOPICS: &str = "<topics><topic><number>1</number><title>Should goats be banned?</title></topic>\
    <topic><number>2</number><title>Is milk good for pupils?</title></topic></topics>";

const ARGUMENTS: [(&str, &str); 6] = [
    (
        "a1",
        "Goats eat every tree that they can reach. Nothing grows again where they have been for a year.",
    ),
    (
        "a2",
        "The milk of goats is easy to digest. Many pupils in poor countries would have no milk without them.",
    ),
    (
        "a3",
        "A ban of goats helps nobody! Farmers need them on hills where no cow can stand for long.",
    ),
    ("a4", "Short text."),
    (
        "a5",
        "Pupils should drink water in the morning. Milk is food and not a drink for thirsty people.",
    ),
    ("a6", ""),
];

/// The models directory with the sentence encoder.
fn models() -> Option<PathBuf> {
    let minilm = need(Model(MINILM))?;
    minilm.dir.parent().map(Path::to_owned)
}

/// A directory with a collection in `in`.
fn with_arguments(arguments: &[(&str, &str)]) -> WorkDir {
    let dir = WorkDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    let arguments = arguments.iter();
    write_arguments(
        &dir.path("in"),
        arguments.map(|(id, text)| argument(id, "A claim", text, "PRO")),
    );
    fs::write(dir.path("in/topics.xml"), TOPICS).unwrap();
    dir
}

/// riposte with the words of a line as arguments, in a directory. It has models if `models` is given.
fn command(dir: &WorkDir, models: Option<&Path>, line: &str) -> Command {
    let args: Vec<&str> = line.split(' ').collect();
    let mut command = riposte(&dir.path(""), &args);
    command.current_dir(dir.path(""));
    if let Some(models) = models {
        command.env("RIPOSTE_MODELS", models);
    }
    command
}

/// Runs an approach, which must exit with 0. Returns the run.
#[track_caller]
fn ranked(dir: &WorkDir, models: Option<&Path>, approach: &str) -> String {
    let line = format!(
        "controversial -i in -o out --index kept --approach {approach} --explain why.jsonl"
    );
    succeed(&mut command(dir, models, &line));
    dir.read("out/run.txt")
}

/// The workspace, which has the sentence vectors.
fn workspace(dir: &WorkDir) -> PathBuf {
    dir.path("kept/workspace.sqlite")
}

/// The number of documents whose vectors are stored; `None` if the workspace cannot be read yet.
fn stored_so_far(dir: &WorkDir) -> Option<i64> {
    let query = "SELECT count(*) FROM output WHERE producer LIKE 'passages/%'";
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let file = Connection::open_with_flags(workspace(dir), flags).ok()?;
    file.query_row(query, [], |row| row.get(0)).ok()
}

fn stored(dir: &WorkDir) -> i64 {
    let file = Connection::open(workspace(dir)).unwrap();
    let query = "SELECT count(*) FROM output WHERE producer LIKE 'passages/%'";
    file.query_row(query, [], |row| row.get(0)).unwrap()
}

fn lines_of<'a>(run: &'a str, topic: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
    let fields = run.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let of_topic = fields.filter(move |fields| fields[0] == topic);
    of_topic.map(|fields| (fields[2], fields[4].parse().unwrap()))
}

#[test]
fn documents_are_ranked_by_the_cosine_of_their_nearest_passage() {
    let Some(models) = models() else {
        return;
    };
    let model = Sentences::load(&models.join(MINILM), EncoderBackend::Auto).unwrap();
    let models = Some(models.as_path());
    let dir = with_arguments(&ARGUMENTS);
    let run = ranked(&dir, models, "robin-hood-use");
    for (topic, title) in [
        ("1", "Should goats be banned?"),
        ("2", "Is milk good for pupils?"),
    ] {
        let query = model.embed(&[title]).unwrap().remove(0);
        let cosines = ARGUMENTS.iter().filter(|(_, text)| !text.is_empty());
        let cosines: BTreeMap<&str, f64> = cosines
            .map(|(id, text)| {
                (
                    *id,
                    f64::from(dot(&query, &model.embed(&[text]).unwrap()[0])),
                )
            })
            .collect();
        let found: Vec<(&str, f64)> = lines_of(&run, topic).collect();
        assert_eq!(
            found.len(),
            cosines.len(),
            "a text without words has no passage"
        );
        for (id, score) in &found {
            // 16-bit floats have eleven bits
            assert!(
                (score - cosines[id]).abs() < 0.001,
                "{id}: {score} {cosines:?}"
            );
        }
        assert!(found.is_sorted_by(|a, b| a.1 > b.1));
    }
}

#[test]
fn a_sum_with_bm25_takes_what_either_of_the_two_finds() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_arguments(&ARGUMENTS);
    let run = ranked(&dir, models, "skeletor");
    let explained = json_lines(&dir.read("why.jsonl"));
    let value = |of: &Value| of["value"].as_f64().unwrap();
    let mut dense_alone = 0;
    for of in &explained {
        let score = &of["score"];
        let part = |at: usize| &score["parts"][at];
        let [words, dense] = [part(0), part(1)];
        assert_eq!(score["name"], "fusion");
        let sum = value(words) + value(dense);
        assert!((sum - value(score)).abs() < 1e-9, "{of}");
        if let Some(cosine) = dense["parts"].get(0) {
            assert_eq!(cosine["name"], "dense");
            assert!((value(dense) - 0.7 * value(cosine)).abs() < 1e-9, "{of}");
        }
        dense_alone += usize::from(value(words) == 0.0 && value(dense) != 0.0);
    }
    assert_eq!(explained.len(), run.lines().count());
    assert!(dense_alone > 0, "{run}");
    // a4 has fewer than six words: so it has no sentence vector for Skeletor, and it has no word of the topics
    assert!(!run.contains(" a4 "), "{run}");
}

#[test]
fn the_manifold_ranks_the_neighbours_of_the_first_documents() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let made: Vec<(String, String)> = (0..40)
        .map(|n| {
            let words = [
                "goats", "milk", "trees", "pupils", "hills", "farmers", "water",
            ];
            let word = |at: usize| words[(n * at + n / 7) % words.len()];
            let text = format!(
                "{} {} {} {} {} number {n}.",
                word(1),
                word(2),
                word(3),
                word(4),
                word(5)
            );
            (format!("d{n:02}"), text)
        })
        .collect();
    let arguments: Vec<(&str, &str)> = made.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let dir = with_arguments(&arguments);
    let recipe = "name = \"few\"\nfusion = { name = \"sum\" }\nkeep = { short = true, duplicates = true }\n\
        [[retrieval]]\nanalyzer = \"stop=none stem=none\"\nsimilarity = { name = \"bm25\", k1 = 1.2, b = 0.75 }\nfields = { premises = 1.0 }\n\
        [dense]\nfield = \"premises\"\npassages = { packed = 200 }\n[manifold]\ndocuments = 2\nneighbours = 9\n";
    fs::write(dir.path("few.toml"), recipe).unwrap();
    let run = ranked(&dir, models, "few.toml");
    let first = fs::read_to_string(dir.path("few.toml")).unwrap();
    let (first, _) = first.split_once("[manifold]").unwrap();
    fs::write(dir.path("sum.toml"), first).unwrap();
    let before = ranked(&dir, models, "sum.toml");
    for topic in ["1", "2"] {
        let sources: Vec<&str> = lines_of(&before, topic).take(2).map(|(id, _)| id).collect();
        let neighbours: Vec<(&str, f64)> = lines_of(&run, topic).collect();
        assert!(
            neighbours.len() <= 2 * 9 && neighbours.len() >= 9,
            "{neighbours:?}"
        );
        // each document has one passage: it adds 1 for itself, and the weights of the eight others sum to log₂ 8
        let sum: f64 = neighbours.iter().map(|(_, score)| score).sum();
        assert!(
            (sum - 2.0 * (1.0 + 3.0)).abs() < 0.002,
            "{sum}: {neighbours:?}"
        );
        for source in &sources {
            assert!(
                neighbours
                    .iter()
                    .any(|(id, score)| id == source && *score >= 1.0)
            );
        }
    }
    for of in json_lines(&dir.read("why.jsonl")) {
        let parts = of["score"]["parts"].as_array().unwrap();
        let sum: f64 = parts
            .iter()
            .map(|part| part["value"].as_f64().unwrap())
            .sum();
        assert!(
            (sum - of["score"]["value"].as_f64().unwrap()).abs() < 1e-9,
            "{of}"
        );
    }
}

#[test]
fn stored_vectors_serve_without_the_model_and_without_vectors_the_search_is_off() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_arguments(&ARGUMENTS);
    let with = ranked(&dir, models, "skeletor");
    assert_eq!(ranked(&dir, None, "skeletor"), with);
    let dense = ranked(&dir, models, "robin-hood-use");
    assert_eq!(ranked(&dir, None, "robin-hood-use"), dense);

    let dir = with_arguments(&ARGUMENTS);
    let (code, _, said) = dir.run("controversial -i in -o out --index kept --approach skeletor");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the dense search is off"), "{said}");
    assert_ne!(dir.read("out/run.txt"), with);
    for approach in ["robin-hood-use", "skeletor-manifold"] {
        let line = format!("controversial -i in -o none --index kept --approach {approach}");
        let (code, _, said) = dir.run(&line);
        assert_eq!(code, 2, "{said}");
        assert_says(&said, &[approach, "not installed"]);
        assert!(!dir.path("none/run.txt").exists());
    }
}

#[test]
fn only_changed_documents_are_encoded_again() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_arguments(&ARGUMENTS);
    ranked(&dir, models, "robin-hood-use");
    assert_eq!(stored(&dir), 6);
    let changed = [
        (
            "a1",
            "Goats are kept for their wool, and nobody who wears it wants a ban of them.",
        ),
        ARGUMENTS[1],
        ARGUMENTS[4],
        (
            "a7",
            "A new argument about milk, which nobody had thought of when the others were written.",
        ),
    ];
    let arguments = changed.iter();
    write_arguments(
        &dir.path("in"),
        arguments.map(|(id, text)| argument(id, "A claim", text, "PRO")),
    );
    let run = ranked(&dir, models, "robin-hood-use");
    assert_eq!(stored(&dir), 4);
    assert_eq!(
        run,
        ranked(&with_arguments(&changed), models, "robin-hood-use")
    );
}

/// A directory with so many arguments of two sentences each, so that their vectors are computed in several batches, but soon.
fn with_many(count: usize) -> WorkDir {
    let mut chance = Chance(3);
    let texts = ARGUMENTS.map(|(_, text)| text).join(" ");
    let words: Vec<&str> = texts.split_whitespace().collect();
    let mut sentence = || {
        let words = (0..12).map(|_| words[chance.below(words.len())].trim_matches(['.', '!']));
        words.collect::<Vec<_>>().join(" ")
    };
    let arguments =
        (0..count).map(|n| (format!("a{n}"), format!("{}. {}.", sentence(), sentence())));
    let arguments: Vec<(String, String)> = arguments.collect();
    let borrowed = arguments
        .iter()
        .map(|(id, text)| (id.as_str(), text.as_str()));
    with_arguments(&borrowed.collect::<Vec<_>>())
}

#[test]
fn a_killed_encoding_goes_on_where_it_was() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_many(400);
    let expected = {
        let whole = with_many(400);
        ranked(&whole, models, "skeletor")
    };
    let line = "controversial --quiet=progress -i in -o out --index kept --approach skeletor";
    let mut kept = Vec::new();
    for _ in 0..6 {
        let mut command = command(&dir, models, line);
        let command = command.stderr(Stdio::null());
        let before = kept.last().copied().unwrap_or(0);
        let has_more = || stored_so_far(&dir).is_some_and(|count| count > before);
        wait::kill_when(command.spawn().unwrap(), has_more);
        kept.push(stored(&dir));
    }
    assert!(kept[0] > 0 && kept[0] < 400, "{kept:?}");
    assert!(kept.is_sorted(), "stored vectors were lost: {kept:?}");
    assert_eq!(ranked(&dir, models, "skeletor"), expected);
}

#[test]
fn damaged_vectors_are_computed_anew_or_named() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_arguments(&ARGUMENTS);
    let expected = ranked(&dir, models, "robin-hood-use");
    let file = workspace(&dir);
    let whole = fs::read(&file).unwrap();
    let mut chance = Chance(5);
    let (mut equal, mut named) = (0, 0);
    for _ in 0..120 {
        let mut bytes = whole.clone();
        let at = chance.below(bytes.len());
        bytes[at] ^= 1 << chance.below(8);
        fs::write(&file, bytes).unwrap();
        let line =
            "controversial --quiet=progress -i in -o out --index kept --approach robin-hood-use";
        let output = command(&dir, models, line).output().unwrap();
        if code(&output) == 0 {
            assert_eq!(dir.read("out/run.txt"), expected, "byte {at}");
            equal += 1;
        } else {
            let said = stderr(&output);
            assert!(said.contains("workspace.sqlite"), "{said}");
            named += 1;
        }
    }
    assert!(equal > 0, "{named} errors");
    // a record that is certainly damaged
    fs::write(&file, &whole).unwrap();
    let connection = Connection::open(&file).unwrap();
    let update = "UPDATE output SET value = zeroblob(length(value)) WHERE key LIKE 'a2 %'";
    assert_eq!(connection.execute(update, []).unwrap(), 1);
    drop(connection);
    let line = "index -i in --index kept --approach robin-hood-use --check";
    let output = command(&dir, models, line).output().unwrap();
    let said = stderr(&output);
    assert!(
        code(&output) != 0 && said.contains("1 damaged records"),
        "{said}"
    );
    let again = "controversial -i in -o out --index kept --approach robin-hood-use";
    let output = succeed(&mut command(&dir, models, again));
    assert_says(&stderr(&output), &["1 damaged records"]);
    assert_eq!(dir.read("out/run.txt"), expected);
    succeed(&mut command(&dir, models, line));
}

#[test]
fn the_index_command_computes_the_vectors_of_an_approach() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_arguments(&ARGUMENTS);
    let line = "index -i in --index kept --approach skeletor";
    let said = stdout(&succeed(&mut command(&dir, models, line)));
    // a4 and a6 have no sentence of six words
    assert!(said.contains("4 sentence vectors in "), "{said}");
    let line = format!("{line} --json");
    let said = stdout(&succeed(&mut command(&dir, models, &line)));
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(last["passages"], 4);
    let (code, _, said) = dir.run("index -i in --index other --approach skeletor");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("not computed"), "{said}");
}

/// The producers of the vectors that are stored for texts.
fn producers(dir: &WorkDir) -> Vec<String> {
    let file = Connection::open(workspace(dir)).unwrap();
    let query = "SELECT DISTINCT producer FROM output WHERE producer LIKE 'sentence/%' ORDER BY 1";
    let mut rows = file.prepare(query).unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn an_encoder_that_is_chosen_is_used_or_named() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_arguments(&ARGUMENTS);
    let run = ranked(&dir, models, "robin-hood-use");
    let chosen = format!("robin-hood-use --sentence {MINILM}");
    assert_eq!(ranked(&dir, models, &chosen), run);
    assert_eq!(producers(&dir).len(), 1);
    let line = "controversial -i in -o out --index kept --approach robin-hood-use --sentence";
    let refused = |models, name: &str| {
        let mut run = command(&dir, models, &format!("{line} {name}"));
        let run = run.output().unwrap();
        assert_eq!(code(&run), 2);
        stderr(&run)
    };
    let said = refused(models, "all-minilm-l6");
    assert_says(
        &said,
        &["there is no sentence model named all-minilm-l6", MINILM],
    );
    // stored vectors of another encoder do not take its place
    let empty = dir.path("no-models");
    fs::create_dir(&empty).unwrap();
    let said = refused(Some(&empty), MPNET);
    assert_says(
        &said,
        &["the model all-mpnet-base-v2 is not in", "models fetch"],
    );
}

#[test]
fn the_vectors_of_two_encoders_are_kept_apart() {
    let (Some(models), Some(_)) = (models(), need(Model(MPNET))) else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_arguments(&ARGUMENTS);
    let small = ranked(&dir, models, "robin-hood-use");
    let of_small = stored(&dir);
    let large = ranked(&dir, models, &format!("robin-hood-use --sentence {MPNET}"));
    assert_ne!(large, small);
    assert_eq!(stored(&dir), 2 * of_small);
    assert_eq!(producers(&dir).len(), 2);
    // a recipe can name the encoder, and the option precedes it
    let set = format!("robin-hood-use --set sentence={MPNET} --tag t");
    let again = ranked(&dir, models, &set);
    let scores = |run: &str| -> Vec<(String, String)> {
        let columns = run.lines().map(|line| line.split(' ').collect());
        let columns = columns.map(|c: Vec<&str>| (c[2].to_owned(), c[4].to_owned()));
        columns.collect()
    };
    assert_eq!(scores(&again), scores(&large));
    let both = format!("{set} --sentence {MINILM}");
    assert_eq!(scores(&ranked(&dir, models, &both)), scores(&small));
    assert_eq!(producers(&dir).len(), 2);
}

#[test]
fn several_processes_compute_vectors_at_the_same_time() {
    let Some(models) = models() else {
        return;
    };
    let models = Some(models.as_path());
    let dir = with_many(150);
    let spawn = |output: &str| {
        let line = format!(
            "controversial --quiet=progress -i in -o {output} --index kept --approach robin-hood-use"
        );
        let mut command = command(&dir, models, &line);
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let children = ["one", "two", "three"].map(spawn);
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    assert_eq!(dir.read("one/run.txt"), dir.read("two/run.txt"));
    assert_eq!(dir.read("one/run.txt"), dir.read("three/run.txt"));
    assert_eq!(stored(&dir), 150);
}
