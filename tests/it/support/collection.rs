//! Collections of texts and of images in the formats of the tasks.

use std::fs;
use std::path::{Path, PathBuf};

use riposte::collection::Fault;
use riposte::collection::arguments::ArgumentCollection;
use riposte::index::inverted::TextCollection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::chance::Chance;
use super::files::entries;

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

/// Random words, some of which are frequent.
pub fn words(chance: &mut Chance, count: usize) -> String {
    let words = (0..count).map(|_| {
        let frequent = chance.below(3) > 0;
        format!("word{} ", chance.below(if frequent { 30 } else { 900 }))
    });
    words.collect()
}

/// A collection with this number of arguments.
pub fn arguments(count: usize) -> (TempDir, TextCollection) {
    let mut chance = Chance(5);
    argument_collection((0..count).map(|n| {
        let (premise, conclusion) = (words(&mut chance, 60), words(&mut chance, 5));
        argument(&format!("a{n:05}"), &conclusion, &premise, "PRO")
    }))
}

/// A topic with words of [`words`].
pub fn write_topic(dir: &Path) {
    let topics =
        "<topics><topic><number>1</number><title>word1 word2 word40</title></topic></topics>";
    fs::write(dir.join("topics.xml"), topics).unwrap();
}

/// The directories of the documents of a collection, in the order of their ids.
pub fn documents(collection: &Path) -> Vec<PathBuf> {
    let prefixes = entries(&collection.join("images"));
    prefixes.iter().flat_map(|dir| entries(dir)).collect()
}

/// What was read of a collection, and what could not be.
pub fn read_and_faults<T>(
    read: impl IntoIterator<Item = Result<T, Fault>>,
) -> (Vec<T>, Vec<Fault>) {
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for read in read {
        match read {
            Ok(one) => all.push(one),
            Err(fault) => faults.push(fault),
        }
    }
    (all, faults)
}
