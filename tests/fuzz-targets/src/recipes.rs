//! Recipes, as `--approach FILE` reads them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use riposte::files::metadata::{Described, UserMetadata};
use riposte::recipes::image_approach::ImageApproach;
use riposte::recipes::text_approach::TextApproach;
use riposte::runs::description::RunDescription;
use riposte::runs::resources::Used;
use riposte::topic::question::TopicParts;
use riposte_eval::TextTask;
use toml::Table;
use yaml_serde::Value;

use crate::with_file;

pub const WORDS: &[&[u8]] = &[
    b"name = \"x\"\n",
    b"unknown = '''\n---\n'''\n",
    b"[relevance]\n",
    b"[relevance.channels]\n",
    b"\"dirichlet main\" = 1.0\n",
    b"mu = 1000.0\n",
    b"scale = \"raw\"\n",
    b"[argument]\nmodel = \"none\"\n",
    b"[stance]\nmodel = \"both\"\n",
    b"clusters = { count = 2, dimensions = 8, lowest = 0.5, highest = 1.0 }\n",
    b"[[retrieval]]\n",
    b"analyzer = \"tokens=standard stop=lucene stem=porter\"\n",
    b"similarity = { name = \"bm25\", k1 = 0.9, b = 0.4 }\n",
    b"fields = { \"title+text\" = 1.0 }\n",
    b"fields = { \"~\" = 1.0, \"1\" = 2.0, \"true\" = 3.0, \"\" = 0.0 }\n",
    b"feedback = { documents = 10, terms = 10, original = 0.5 }\n",
    b"depth = 1000\n",
    b"[fusion]\n",
    b"[dense]\n",
    b"[rerank]\n",
    b"[rerank.weights]\n",
    b"[pairwise]\n",
    b"service = { name = \"chatnoir\", index = [\"cw12\"] }\n",
    b"stop=",
    b"length=1-255",
    b"inf",
    b"-nan",
    b"1e-9",
    b"1_000_000",
    b"-9223372036854775808",
    b"1979-05-27T07:32:00Z",
    b"\"\\u0085\\u2028\\uFEFF\"",
    b"[[[[[[[[",
    b"a.a.a.a.a.a.a.a",
    b"\xef\xbb\xbf",
    b"\r\n",
];

/// The keys of a recipe that are fields of the method in a run's metadata.
const ABOUT: [&str; 3] = ["name", "source", "unknown"];

/// Reads a recipe for each task. The run of an approach that is accepted has the recipe in its metadata, with the same keys and values.
pub fn recipes(bytes: &[u8]) {
    with_file("recipe.toml", bytes, |path| {
        let Some(name) = path.to_str() else { return };
        let images = ImageApproach::find(name).map(|approach| approach.text);
        check(bytes, path, images);
        for task in [
            TextTask::Controversial,
            TextTask::Comparative,
            TextTask::Rank,
        ] {
            let of_task = TextApproach::find(task, name).map(|approach| {
                // ranking asks for these without an error of its own
                assert!(approach.portals().is_ok());
                approach.text
            });
            check(bytes, path, of_task);
        }
    });
}

/// Checks what is known of a recipe: the text that an accepted approach keeps, or the error.
fn check(bytes: &[u8], path: &Path, read: Result<String>) {
    let text = match read {
        Ok(text) => text,
        Err(error) => {
            let said = format!("{error:#}");
            let name = path.to_string_lossy();
            assert!(said.contains(&*name), "{said}");
            // the line of what is wrong, unless the file is no text
            let is_text = std::str::from_utf8(bytes).is_ok();
            assert!(!is_text || names_a_line(&said), "{said}");
            return;
        }
    };
    assert_eq!(text.as_bytes(), bytes);
    let mut recipe: Table = text.parse().expect("an accepted recipe is TOML");
    let described = description(&text).write(&UserMetadata::default());
    let described = described.expect("the recipe of a run can be described");
    assert!(Described::parse(&described).is_ok_and(|described| described.tag == "fuzz"));
    let mut metadata: Value = yaml_serde::from_str(&described).expect("it is YAML");
    let written = std::mem::take(&mut metadata["method"]["recipe"]);
    let again: Table = yaml_serde::from_value(written).expect("the recipe is a table");
    recipe.retain(|key, _| !ABOUT.contains(&key));
    assert_eq!(again, recipe);
}

/// The description of a run that an approach with this recipe has made.
pub(crate) fn description(recipe: &str) -> RunDescription {
    RunDescription {
        tag: "fuzz".to_owned(),
        task: "a task".to_owned(),
        year: None,
        test_collection: "a collection".to_owned(),
        parts: TopicParts {
            description: false,
            narrative: false,
        },
        approach: "an approach".to_owned(),
        source: String::new(),
        unknown: String::new(),
        recipe: recipe.to_owned(),
        set: Vec::new(),
        documents: 0,
        topics: 0,
        models: BTreeMap::new(),
        offsets: BTreeMap::new(),
        resources: Used::default(),
        collection: PathBuf::new(),
    }
}

/// Whether an error names the line of what is wrong. The parser of TOML does not know it if tables are nested too deeply.
pub(crate) fn names_a_line(error: &str) -> bool {
    error.contains("line ") || error.contains("recursion limit")
}
