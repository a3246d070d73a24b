//! The invariants of ARCHITECTURE.md that concern imports.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of `src/` by floor. A file may import from lower floors and from its own module.
const FLOORS: [&[&str]; 7] = [
    &["trec"],
    &["collection", "nn", "weights"],
    &["evidence", "topic"],
    &["index", "reading"],
    &["score"],
    &["task", "judge"],
    &["report"],
];

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

/// The modules that the file names as `crate::module`, each with its line.
fn imports(text: &str) -> Vec<(usize, String)> {
    let mut imports = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for rest in line.split("crate::").skip(1) {
            let room: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            imports.push((n + 1, room));
        }
    }
    imports
}

#[test]
fn a_file_imports_lower_floors_or_its_own_room() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in rust_files(&src) {
        let inside = file.strip_prefix(&src).unwrap();
        let first = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy();
        let room = first.trim_end_matches(".rs").to_owned();
        if ["lib", "main", "cli"].contains(&room.as_str()) {
            continue;
        }
        let own = floor(&room).unwrap_or_else(|| panic!("{room} has no floor"));
        for (line, import) in imports(&fs::read_to_string(&file).unwrap()) {
            seen += 1;
            let allowed = import == room
                || floor(&import).is_some_and(|other| other < own)
                    && (room != "judge" || import == "trec");
            if !allowed {
                wrong.push(format!("{}:{line} imports {import}", inside.display()));
            }
        }
    }
    assert!(
        seen > 30,
        "only {seen} imports were found: does this test still recognise them?"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn floors_0_and_4_touch_neither_disk_nor_models_and_no_task_reaches_the_network() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (rooms, forbidden) in [
        (
            &["trec", "score"][..],
            &["std::fs", "std::net", "File::", "candle", "rten", "ureq"][..],
        ),
        (
            &[
                "collection",
                "nn",
                "evidence",
                "topic",
                "index",
                "reading",
                "score",
                "task",
                "judge",
                "trec",
            ][..],
            &["ureq", "std::net", "TcpStream"][..],
        ),
    ] {
        for room in rooms {
            for file in rust_files(&src.join(room)) {
                let text = fs::read_to_string(&file).unwrap();
                for word in forbidden {
                    assert!(!text.contains(word), "{} has {word}", file.display());
                }
            }
        }
    }
}

#[test]
fn unsafe_code_is_in_the_files_that_are_named_here() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut exempt: Vec<String> = rust_files(&src)
        .into_iter()
        .filter(|file| fs::read_to_string(file).unwrap().contains("unsafe_code"))
        .map(|file| file.strip_prefix(&src).unwrap().display().to_string())
        .collect();
    exempt.sort();
    // a memory map of a checkpoint, and the inner loops of convolutions
    assert_eq!(
        exempt,
        [
            "nn/checkpoint.rs",
            "nn/conv/kernel.rs",
            "nn/conv/quantised.rs"
        ]
    );
}
