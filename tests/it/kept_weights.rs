//! Packed weights are kept beside a model or in the cache, and change nothing but the time of a start.

use std::fs;
use std::path::{Path, PathBuf};

use riposte_nn::conv::int8_instructions;

use crate::support::files::{copy, entries, name, text, write};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{WorkDir, code, riposte, stdout, succeed};

/// A directory with a copy of MiniLM in `models`; `None` if it is not installed, or nothing is packed in int8 on this machine.
fn with_model() -> Option<WorkDir> {
    let minilm = need(Model(MINILM))?;
    int8_instructions()?;
    let dir = WorkDir::new();
    copy(&minilm.dir, &dir.path("models").join(MINILM));
    for file in packed(&dir.path("models").join(MINILM)) {
        fs::remove_file(file).unwrap();
    }
    Some(dir)
}

/// The files with packed weights in a directory.
fn packed(dir: &Path) -> Vec<PathBuf> {
    let mut found = entries(dir);
    found.retain(|path| name(path).ends_with(".packed"));
    found
}

/// What `riposte stance` prints for a text, with the models in `models`.
#[track_caller]
fn stance(dir: &WorkDir) -> String {
    let text_of = ["--text", "Animals suffer in cages."];
    let args = ["stance", "--topic", "Should zoos be closed?"];
    let mut command = riposte(&dir.path("."), &[&args[..], &text_of].concat());
    stdout(&succeed(
        command.args(["--models", text(&dir.path("models"))]),
    ))
}

#[test]
fn a_second_start_reads_what_the_first_one_packed_and_damage_is_packed_again() {
    let Some(dir) = with_model() else {
        return;
    };
    let model = dir.path("models").join(MINILM);
    let first = stance(&dir);
    let [file] = &packed(&model)[..] else {
        panic!("expected the stance encoder: {:?}", packed(&model));
    };
    let (bytes, written) = (fs::read(file).unwrap(), fs::metadata(file).unwrap());
    assert_eq!(stance(&dir), first);
    let again = fs::metadata(file).unwrap();
    assert_eq!(again.modified().unwrap(), written.modified().unwrap());
    // a flipped bit, a file cut short, no content, another kind of file
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for damaged in [&flipped[..], &bytes[..bytes.len() / 2], b"", b"no weights"] {
        fs::write(file, damaged).unwrap();
        assert_eq!(stance(&dir), first);
        assert!(fs::read(file).unwrap() == bytes, "it was not packed again");
    }
    // whoever fetches a model has what is read by all that use it
    fs::remove_file(file).unwrap();
    let fetch = ["models", "fetch", MINILM, "--models"];
    succeed(riposte(&dir.path("."), &fetch).arg(dir.path("models")));
    let fetched = packed(&model);
    assert_eq!(fetched.len(), 2, "{fetched:?}");
    assert!(fs::read(file).unwrap() == bytes, "it was packed otherwise");
    // in floats nothing is kept
    fetched
        .iter()
        .for_each(|file| fs::remove_file(file).unwrap());
    let mut command = riposte(&dir.path("."), &["stance", "--numeric", "float"]);
    command.args([
        "--topic",
        "zoos",
        "--text",
        "No.",
        "--models",
        text(&dir.path("models")),
    ]);
    succeed(&mut command);
    assert_eq!(packed(&model), Vec::<PathBuf>::new());
}

#[test]
fn where_nothing_can_be_written_weights_are_packed_in_memory() {
    let Some(dir) = with_model() else {
        return;
    };
    let model = dir.path("models").join(MINILM);
    let first = stance(&dir);
    let place = packed(&model).remove(0);
    fs::remove_file(&place).unwrap();
    // a directory in the place of the file: riposte cannot write there, whoever the user is
    write(&place.join("inner"), "x");
    assert_eq!(stance(&dir), first);
    let cache = dir.path("cache/riposte/packed").join(MINILM);
    assert_eq!(packed(&cache).len(), 1);
    let listed = riposte(&dir.path("."), &["cache", "list"])
        .output()
        .unwrap();
    let shown = stdout(&listed);
    assert!(
        shown.contains("packed weights") && !shown.contains("not riposte's"),
        "{shown}"
    );
    let clear = ["cache", "clear", "--yes", "packed weights"];
    assert_eq!(code(&riposte(&dir.path("."), &clear).output().unwrap()), 0);
    assert!(!cache.exists());
    // and no cache
    fs::remove_dir_all(dir.path("cache")).unwrap();
    fs::write(dir.path("cache"), "a file").unwrap();
    assert_eq!(stance(&dir), first);
}
