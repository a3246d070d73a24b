//! Collections of texts in the formats of the tasks.

use std::fs;
use std::path::Path;

use riposte::collection::arguments::ArgumentCollection;
use riposte::index::inverted::TextCollection;
use serde_json::{Value, json};
use tempfile::TempDir;

/// An argument in the format of args.me.
pub fn argument(id: &str, conclusion: &str, premise: &str, stance: &str) -> Value {
    json!({
        "id": id,
        "conclusion": conclusion,
        "premises": [{"text": premise, "stance": stance, "annotations": []}],
        "context": {},
    })
}

/// Writes `args-me.json` with these arguments.
pub fn write_arguments(dir: &Path, arguments: impl IntoIterator<Item = Value>) {
    let arguments: Vec<Value> = arguments.into_iter().collect();
    let whole = json!({ "arguments": arguments }).to_string();
    fs::write(dir.join("args-me.json"), whole).unwrap();
}

/// The collection of these arguments, in a new directory.
pub fn argument_collection(
    arguments: impl IntoIterator<Item = Value>,
) -> (TempDir, TextCollection) {
    let dir = tempfile::tempdir().unwrap();
    write_arguments(dir.path(), arguments);
    let collection = TextCollection::Arguments(ArgumentCollection::open(dir.path()).unwrap());
    (dir, collection)
}
