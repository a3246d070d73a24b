//! Two image-text models in one store: the channels `clip` and `image-text`, and a recipe that weighs both.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use riposte::evidence::clip::Slot;
use riposte::evidence::store::Store;
use riposte::recipes::channels::CHANNELS;
use rusqlite::Connection;
use serde_json::Value;

use crate::support::evidence::{contents, golden_copy};
use crate::support::files::{json_lines, text};
use crate::support::models::{CLIPS, install_small_clips};
use crate::support::program::WorkDir;
use crate::support::{assert_says, reference, sample};

/// Weighs the signals of both models.
const BOTH: &[u8] = br#"name = "both"
source = "a test"

[relevance]
scale = "raw"
candidates = "all"
[relevance.channels]
"bm25 main" = 0.1
"clip topic" = 1.0
"clip title" = 1.0
"image-text topic" = 1.0
"image-text title" = 1.0

[argument]
model = "none"

[stance]
model = "both"
"#;

const SIGNALS: [&str; 4] = [
    "clip topic",
    "clip title",
    "image-text topic",
    "image-text title",
];

/// A directory with both models and the recipe.
fn work_dir() -> WorkDir {
    let dir = WorkDir::with(&[("both.toml", BOTH)]);
    install_small_clips(&dir.path("models"));
    dir
}

/// Ranks some images of the sample. Returns the run and what riposte said.
fn rank(dir: &WorkDir, out: &str, evidence: &str, options: &str) -> (String, String) {
    let input = text(sample());
    let line = format!(
        "images -i {input} --limit 24 --overlap --models models --evidence {evidence} --tag t -o {out} {options}"
    );
    let (_, said) = dir.succeeds(line.trim_end());
    (dir.read(&format!("{out}/run.txt")), said)
}

fn with_second() -> String {
    format!("--image-text {}", CLIPS[1])
}

/// The values of a signal in all explanations.
fn values(of: &Value, name: &str, found: &mut Vec<f64>) {
    match of {
        Value::Object(fields) => {
            if fields.get("name").is_some_and(|own| own == name) {
                found.extend(fields["value"].as_f64());
            }
            fields.values().for_each(|value| values(value, name, found));
        }
        Value::Array(items) => items.iter().for_each(|item| values(item, name, found)),
        _ => {}
    }
}

fn query<T: rusqlite::types::FromSql>(evidence: &Path, sql: &str) -> Vec<T> {
    let connection = Connection::open(evidence).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn a_recipe_weighs_two_models_of_one_store() {
    let dir = work_dir();
    let options = format!(
        "--approach both.toml --explain out/explain.jsonl {}",
        with_second()
    );
    let (run, said) = rank(&dir, "out", "e.sqlite", &options);
    assert_says(
        &said,
        &[
            "  clip        on         24 images  clip-vit-base-patch32; packed float\n",
            "  image-text  on         24 images  clip-vit-base-patch16; packed float\n",
        ],
    );
    assert!(!said.contains("image-text is off"), "{said}");
    // each model's vectors, by a producer of its own
    let evidence = dir.path("e.sqlite");
    let producers: Vec<String> = query(
        &evidence,
        "SELECT DISTINCT channel || ' ' || producer FROM work WHERE channel IN ('clip', 'image-text') ORDER BY 1",
    );
    let [first, second] = producers.as_slice() else {
        panic!("{producers:?}");
    };
    let of_first = first.strip_prefix("clip ").unwrap();
    let of_second = second.strip_prefix("image-text ").unwrap();
    assert_ne!(of_first, of_second);
    for (table, bytes) in [("clip", 4 * 20), ("image_text", 4 * 12)] {
        let lengths: Vec<i64> = query(&evidence, &format!("SELECT length(vector) FROM {table}"));
        assert_eq!(lengths, [bytes; 24], "{table}");
    }

    // the explanations have the signals of both, with different values
    let explained = json_lines(&dir.read("out/explain.jsonl"));
    let of_signals = SIGNALS.map(|name| {
        let mut found = Vec::new();
        explained
            .iter()
            .for_each(|candidate| values(candidate, name, &mut found));
        assert!(found.len() >= explained.len(), "{name}: {}", found.len());
        found
    });
    let [clip_topic, clip_title, topic, title] = &of_signals;
    assert!(clip_topic != topic && clip_title != title && topic != title);

    // the second model decides together with the first
    let first = String::from_utf8_lossy(BOTH).into_owned();
    let first = first.lines().filter(|line| !line.contains("image-text"));
    fs::write(dir.path("one.toml"), first.collect::<Vec<_>>().join("\n")).unwrap();
    let (without, _) = rank(&dir, "one", "e.sqlite", "--approach one.toml");
    assert_ne!(without, run);

    let input = text(sample());
    dir.succeeds(&format!("verify out -i {input}"));
    let (printed, _) = dir.succeeds("export evidence --evidence e.sqlite -o parquet");
    assert_says(&printed, &["image_text.parquet: 24 rows"]);
    let metadata = dir.read("out/ir-metadata.yml");
    assert_says(&metadata, &["image-text", of_second, of_first]);
    dir.succeeds(&format!(
        "inspect out -i {input} --evidence e.sqlite --single-file -o report.html"
    ));
    let report = dir.read("report.html");
    for name in SIGNALS {
        assert!(report.contains(name), "{name}");
    }
}

/// Two families in one store each time: added from their directories, named by a recipe, explained, exported and inspected.
#[test]
fn a_recipe_names_and_weighs_models_of_any_two_families() {
    let recipe = String::from_utf8_lossy(BOTH);
    let input = text(sample());
    for (first, second) in [
        ("tiny-siglip", "tiny-siglip2"),
        ("tiny-chinese-clip", "tiny-open-clip"),
    ] {
        let dir = WorkDir::new();
        let named = format!("clip = \"{first}\"\nimage-text = \"{second}\"\n{recipe}");
        fs::write(dir.path("both.toml"), named).unwrap();
        for model in [first, second] {
            dir.succeeds(&format!("models add {}", text(&reference(model))));
        }
        let (_, said) = dir.succeeds(&format!(
            "images -i {input} -o out --evidence e.sqlite --limit 12 --approach both.toml --explain out/explain.jsonl"
        ));
        let computed = |model| match model {
            "tiny-open-clip" => "packed float",
            _ => "candle float",
        };
        for (channel, model) in [("clip      ", first), ("image-text", second)] {
            let line = format!(
                "  {channel}  on         12 images  {model}; {}\n",
                computed(model)
            );
            assert_says(&said, &[&line]);
        }
        let explained = json_lines(&dir.read("out/explain.jsonl"));
        let of_signals = SIGNALS.map(|name| {
            let mut found = Vec::new();
            (explained.iter()).for_each(|candidate| values(candidate, name, &mut found));
            found
        });
        let distinct: BTreeSet<String> = of_signals.iter().map(|of| format!("{of:?}")).collect();
        assert_eq!(distinct.len(), 4, "{first}, {second}");
        dir.succeeds(&format!("verify out -i {input}"));
        let (printed, _) = dir.succeeds("export evidence --evidence e.sqlite -o parquet");
        assert_says(
            &printed,
            &["clip.parquet: 12 rows", "image_text.parquet: 12 rows"],
        );
        dir.succeeds(&format!(
            "inspect out -i {input} --evidence e.sqlite --single-file -o report.html"
        ));
        let report = dir.read("report.html");
        for name in SIGNALS {
            assert!(report.contains(name), "{name}");
        }

        // what does not compute a model is refused by its name
        for (model, backend) in [(first, "packed"), (second, "candle")] {
            let (code, _, said) = dir.run(&format!(
                "extract -i {input} --limit 2 --evidence other.sqlite --clip {model} --backend {backend}"
            ));
            let is_computed = (model, backend) != (first, "packed");
            assert_eq!(code == 0, is_computed, "{model}: {said}");
            if !is_computed {
                assert_says(&said, &[model, "only candle computes this model"]);
            }
        }
    }
}

#[test]
fn without_the_option_nothing_is_computed_and_nothing_changes() {
    let dir = work_dir();
    let (before, said) = rank(&dir, "out", "e.sqlite", "");
    assert!(!said.contains("image-text"), "{said}");
    let evidence = dir.path("e.sqlite");
    let rows = contents(&evidence);
    assert!(!rows.iter().any(|row| row.starts_with("image_text ")));

    let (with, said) = rank(&dir, "out", "e.sqlite", &with_second());
    assert_says(&said, &["24 images, 24 of them new", "  image-text  on "]);
    assert_eq!(with, before);
    // the rows have texts as bytes
    let name = format!("{:?}", b"image-text");
    let is_second = |row: &String| row.starts_with("image_text ") || row.contains(&name);
    let mut more = contents(&evidence);
    assert_eq!(more.iter().filter(|row| is_second(row)).count(), 2 * 24);
    more.retain(|row| !is_second(row));
    assert_eq!(more, rows);

    // stored vectors stay, and the run says that they are there
    let (again, said) = rank(&dir, "out", "e.sqlite", "");
    assert_says(
        &said,
        &[" 0 of them new", "  image-text  stored     24 images\n"],
    );
    assert_eq!(again, before);
}

#[test]
fn a_signal_without_its_model_is_off_and_a_note_says_why() {
    let dir = work_dir();
    let approach = "--approach both.toml";
    let (_, said) = rank(&dir, "out", "e.sqlite", approach);
    let note = "image-text is off: the store has no such evidence, and --image-text names no model to compute it";
    assert_eq!(said.matches(note).count(), 1, "{said}");

    let both = format!("{approach} {}", with_second());
    let (run, said) = rank(&dir, "out", "e.sqlite", &both);
    assert!(!said.contains("is off: the store"), "{said}");
    // what the model has computed for these topics is stored, too
    let (again, said) = rank(&dir, "out", "e.sqlite", approach);
    assert!(!said.contains("image-text is off"), "{said}");
    assert_eq!(again, run);
    // another topic needs the model
    let topics =
        "<topics><topic><number>1</number><title>Should cats vote?</title></topic></topics>";
    fs::write(dir.path("topics.xml"), topics).unwrap();
    let (_, said) = rank(
        &dir,
        "out",
        "e.sqlite",
        &format!("{approach} --topics topics.xml"),
    );
    assert_says(
        &said,
        &[
            "image-text is off: its evidence was made by ",
            "--image-text does not name this model",
        ],
    );

    let input = text(sample());
    dir.refuses(&format!(
        "extract -i {input} --models models --require image-text | --image-text must name its model
         extract -i {input} --models models --image-text clip-vit-base-patch23 | did you mean clip-vit-base-patch32?
         extract -i {input} --models models --image-text clip-vit-large-patch14 | riposte models fetch clip-vit-large-patch14"
    ));
}

#[test]
fn shards_with_both_models_are_merged() {
    let dir = work_dir();
    let input = text(sample());
    let extract = |evidence: &str, options: &str| {
        let second = with_second();
        dir.succeeds(&format!(
            "extract -i {input} --limit 24 --models models --evidence {evidence} {second} {options}"
        ));
    };
    extract("one.sqlite", "--shard 1/2");
    extract("two.sqlite", "--shard 2/2");
    extract("whole.sqlite", "--threads 1");
    dir.succeeds("merge all.sqlite one.sqlite two.sqlite");
    let [all, whole] = ["all.sqlite", "whole.sqlite"].map(|name| contents(&dir.path(name)));
    assert_eq!(all, whole);
    assert!(all.iter().any(|row| row.starts_with("image_text ")));
}

#[test]
fn stores_without_the_table_are_read_and_merged_and_get_it_when_they_are_written() {
    let dir = WorkDir::new();
    let older = golden_copy(&dir.path(""));
    let connection = Connection::open(&older).unwrap();
    connection
        .execute_batch(
            "DROP TABLE IF EXISTS image_text; DELETE FROM checksum WHERE of_table = 'image_text';",
        )
        .unwrap();
    drop(connection);
    let tables = || -> BTreeSet<String> {
        let named = "SELECT name FROM sqlite_schema WHERE type = 'table'";
        query(&older, named).into_iter().collect()
    };
    let before = tables();
    assert!(before.contains("clip") && !before.contains("image_text"));

    let store = Store::open_to_read(&older, CHANNELS).unwrap();
    let documents = store.text_hashes().unwrap();
    for (id, _) in documents {
        let evidence = store.read(&id).unwrap().unwrap();
        assert_eq!(evidence.image_vector(Slot::Second), None);
    }
    drop(store);
    let older_file = text(&older);
    dir.succeeds(&format!("merge all.sqlite {older_file}"));
    // reading has written nothing
    assert_eq!(tables(), before);
    let (printed, _) = dir.succeeds(&format!(
        "export evidence --evidence {older_file} -o parquet"
    ));
    assert_says(&printed, &["image_text.parquet: 0 rows"]);
    let input = text(sample());
    dir.succeeds(&format!("extract -i {input} --evidence {older_file}"));
    assert!(tables().contains("image_text"));
    let [merged, written] = [&dir.path("all.sqlite"), &older].map(|path| contents(path));
    assert_eq!(merged, written);
}
