//! Shards whose texts have sentence vectors rank like an index of the whole collection.

use std::fs;
use std::path::Path;

use riposte::weights::Models;

use crate::golden_texts::{TASKS, golden};
use crate::shards::{divide, index, shards};
use crate::support::files::text;
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{collection_tools, riposte, succeed};

/// Approaches that compare sentence vectors. One of them divides all documents into clusters.
const DENSE: [(&str, &str); 6] = [
    ("controversial", "heimdall"),
    ("controversial", "riposte-dense"),
    ("controversial", "robin-hood"),
    ("controversial", "skeletor-manifold"),
    ("comparative", "captain-levi-dense"),
    ("rank", "dense"),
];

/// Each sentence is computed twice, for the whole collection and for a shard, so the collections are smaller than those of the golden runs.
const TEXTS: &str = "80";

#[test]
fn shards_with_sentence_vectors_rank_as_one_index() {
    if need(Model(MINILM)).is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let models = Models::at(None).unwrap();
    let models = models.dir();
    for (task, what) in TASKS {
        let whole = home.join(task);
        let args = [what, "--count", TEXTS, "--seed", "7", text(&whole)];
        succeed(&mut collection_tools(&args));
        let parts = divide(home, task);
        for (_, name) in DENSE.iter().filter(|(of, _)| *of == task) {
            let rank = |input: &Path, out: &str| {
                let topics = golden().join(task).join("topics.xml");
                let mut command = riposte(
                    home,
                    &[task, "--quiet=progress", "-i", text(input), "-o", out],
                );
                command.args(["--topics", text(&topics), "--approach", name]);
                command.args(["--numeric", "float", "--index", out]);
                command.env("RIPOSTE_MODELS", models).current_dir(home);
                command
            };
            let run = |out: &str| fs::read_to_string(home.join(out).join("run.txt")).unwrap();
            succeed(&mut rank(&whole, "whole"));
            index(home, task, &parts, name, models);
            succeed(&mut rank(&shards(home, task), "together"));
            assert!(run("together") == run("whole"), "{name}");
        }
    }
}
