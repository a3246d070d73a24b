//! riposte's readers of files that others have written, as functions of arbitrary bytes.
//!
//! A target must return for any input: it must not panic, hang, or take memory without bound. Whether a reader accepts the bytes, and what it
//! reads, is checked only where a wrong answer can be recognised: a damaged index must not change a ranking.
//!
//! `cargo test -p fuzz-targets` runs the committed inputs in `corpus/`, and then mutated ones for a short time. `make -C tests fuzz MINUTES=n`
//! runs mutated inputs for n minutes. `tests/fuzz/` passes the same functions to cargo-fuzz.

pub mod chatnoir;
pub mod damage;
pub mod frames;
pub mod hunt;
pub mod judged;
pub mod models;
pub mod mutate;
pub mod pages;
pub mod pairs;
pub mod pictures;
pub mod recipes;
pub mod saved;
pub mod settings;
pub mod texts;

use std::path::Path;

/// A function of arbitrary bytes, with hints for finding bytes that make it fail.
pub struct Target {
    /// The name of its directory in `corpus/`.
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Byte sequences that have a meaning in its format.
    pub words: &'static [&'static [u8]],
    /// Corrects the checksums in a mutated input, because readers would refuse it otherwise.
    pub mend: Option<fn(&mut [u8])>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "pictures",
        run: pictures::run,
        words: pictures::WORDS,
        mend: Some(pictures::mend),
    },
    Target {
        name: "pages",
        run: pages::run,
        words: pages::WORDS,
        mend: None,
    },
    Target {
        name: "topics",
        run: texts::topics,
        words: texts::TOPIC_WORDS,
        mend: None,
    },
    Target {
        name: "runs",
        run: judged::runs,
        words: judged::RUN_WORDS,
        mend: None,
    },
    Target {
        name: "qrels",
        run: judged::qrels,
        words: judged::QRELS_WORDS,
        mend: None,
    },
    Target {
        name: "explained",
        run: judged::explained,
        words: judged::EXPLAINED_WORDS,
        mend: None,
    },
    Target {
        name: "arguments",
        run: texts::arguments,
        words: texts::ARGUMENT_WORDS,
        mend: None,
    },
    Target {
        name: "passages",
        run: texts::passages,
        words: texts::PASSAGE_WORDS,
        mend: None,
    },
    Target {
        name: "documents",
        run: texts::documents,
        words: texts::DOCUMENT_WORDS,
        mend: None,
    },
    Target {
        name: "entries",
        run: texts::entries,
        words: texts::ENTRY_WORDS,
        mend: None,
    },
    Target {
        name: "frames",
        run: frames::frames,
        words: frames::WORDS,
        mend: None,
    },
    Target {
        name: "stores",
        run: damage::stores,
        words: damage::STORE_WORDS,
        mend: None,
    },
    Target {
        name: "store-edits",
        run: damage::store_edits,
        words: &[],
        mend: None,
    },
    Target {
        name: "index-edits",
        run: damage::index_edits,
        words: &[],
        mend: None,
    },
    Target {
        name: "networks",
        run: models::networks,
        words: models::NETWORK_WORDS,
        mend: None,
    },
    Target {
        name: "checkpoints",
        run: models::checkpoints,
        words: models::CHECKPOINT_WORDS,
        mend: None,
    },
    Target {
        name: "recipes",
        run: recipes::recipes,
        words: recipes::WORDS,
        mend: None,
    },
    Target {
        name: "settings",
        run: settings::settings,
        words: settings::WORDS,
        mend: None,
    },
    Target {
        name: "chatnoir",
        run: chatnoir::chatnoir,
        words: chatnoir::WORDS,
        mend: None,
    },
    Target {
        name: "mhtml",
        run: saved::mhtml,
        words: saved::MHTML_WORDS,
        mend: None,
    },
    Target {
        name: "warc",
        run: saved::warc,
        words: saved::WARC_WORDS,
        mend: None,
    },
    Target {
        name: "wacz",
        run: saved::wacz,
        words: saved::WACZ_WORDS,
        mend: None,
    },
    Target {
        name: "pairs",
        run: pairs::pairs,
        words: pairs::WORDS,
        mend: None,
    },
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Calls `read` with the path of a file of these bytes, which is in a new directory.
fn with_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    // if no file can be written, there is nothing to test
    let Ok(dir) = tempfile::tempdir() else { return };
    let path = dir.path().join(name);
    if std::fs::write(&path, bytes).is_ok() {
        read(&path);
    }
}
