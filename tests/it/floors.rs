//! The invariants of ARCHITECTURE.md that are about imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of `src/` by floor. A file can import from lower floors and from its own module.
const FLOORS: [&[&str]; 8] = [
    &["disk", "trec", "web"],
    &["workspace"],
    &["collection", "nn", "service", "weights"],
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
fn trec_and_score_touch_neither_disk_nor_models() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for room in ["trec", "score"] {
        for file in rust_files(&src.join(room)) {
            let text = fs::read_to_string(&file).unwrap();
            for word in ["std::fs", "std::net", "File::", "candle", "rten", "ureq"] {
                assert!(!text.contains(word), "{} has {word}", file.display());
            }
        }
    }
}

/// The paths in `src/` of the files that contain one of these words.
fn files_with(words: &[&str]) -> BTreeSet<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let has_word = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        words.iter().any(|word| text.contains(word))
    };
    let files = rust_files(&src).into_iter().filter(has_word);
    files
        .map(|file| file.strip_prefix(&src).unwrap().display().to_string())
        .collect()
}

#[test]
fn only_the_fetching_of_models_and_the_clients_of_services_reach_the_network() {
    let words = ["ureq", "std::net", "TcpStream", "crate::web"];
    let network = files_with(&words);
    for file in &network {
        let may = ["web.rs", "weights/", "service/"];
        assert!(may.iter().any(|place| file.starts_with(place)), "{file}");
    }
    assert!(network.contains("service/chatnoir.rs"), "{network:?}");
    // only code for approaches that name a service calls a service
    let users: Vec<String> = files_with(&["crate::service", "service::chatnoir"])
        .into_iter()
        .filter(|file| !file.starts_with("service/"))
        .collect();
    assert_eq!(users, ["task/service_run.rs", "task/text_approach.rs"]);
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
    // a memory map of a checkpoint, and the inner loops of convolutions and of int8 products
    assert_eq!(
        exempt,
        [
            "nn/checkpoint.rs",
            "nn/conv/kernel.rs",
            "nn/conv/quantised.rs"
        ]
    );
}

/// The paths of a `use` tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        return vec![path.trim().to_owned()];
    };
    let (prefix, inside) = (&tree[..open], tree[open + 1..].trim_end());
    let inside = inside.strip_suffix('}').expect("a closing brace");
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts
        .flat_map(|part| expand(&format!("{prefix}{}", part.trim())))
        .collect()
}

/// The modules that a module with this path imports. Each import is the segments of a full path, with the item.
fn imported_paths(module: &[String], text: &str) -> Vec<Vec<String>> {
    let mut statements: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        let visibility = ["", "pub ", "pub(crate) ", "pub(super) "];
        let tree = visibility
            .iter()
            .find_map(|word| line.strip_prefix(&format!("{word}use ")));
        match tree {
            Some(tree) => statements.push(tree.to_owned()),
            None if is_open => statements.last_mut().unwrap().push_str(line),
            None => continue,
        }
        is_open = !line.ends_with(';');
    }
    let mut paths = Vec::new();
    for statement in statements {
        for path in expand(statement.trim_end_matches(';')) {
            let mut segments: Vec<String> = path.split("::").map(|s| s.trim().to_owned()).collect();
            let mut base = match segments[0].as_str() {
                "crate" => Vec::new(),
                "self" => module.to_vec(),
                "super" => module[..module.len() - 1].to_vec(),
                _ => continue,
            };
            segments.remove(0);
            while segments.first().is_some_and(|segment| segment == "super") {
                segments.remove(0);
                base.pop();
            }
            base.extend(segments);
            paths.push(base);
        }
    }
    paths
}

/// A file can import its ancestors (a module file defines what its children share) and its children. Other files must not import each other in a
/// circle.
#[test]
fn files_do_not_import_each_other_in_circles() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules: BTreeMap<Vec<String>, PathBuf> = BTreeMap::new();
    for file in rust_files(&src) {
        let inside = file.strip_prefix(&src).unwrap().with_extension("");
        let mut module: Vec<String> = inside
            .components()
            .map(|c| c.as_os_str().to_string_lossy().into_owned())
            .collect();
        if module.last().is_some_and(|name| name == "mod") {
            module.pop();
        }
        modules.insert(module, file);
    }
    let mut imports: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
    for (module, file) in &modules {
        let text = fs::read_to_string(file).unwrap();
        for path in imported_paths(module, &text) {
            let known = (1..=path.len()).rev().map(|end| &path[..end]);
            let Some((target, _)) = known.filter_map(|p| modules.get_key_value(p)).next() else {
                continue;
            };
            let related = module.starts_with(target) || target.starts_with(module);
            if !related {
                imports.entry(module).or_default().insert(target);
            }
        }
    }
    let count: usize = imports.values().map(BTreeSet::len).sum();
    assert!(count > 200, "only {count} imports were found");
    // files that import none of the others are removed, until none is left. Files that remain are in a circle, or import a file in one
    let mut rest: BTreeSet<&[String]> = imports.keys().copied().collect();
    loop {
        let free =
            |module: &&[String]| imports[*module].iter().all(|target| !rest.contains(target));
        let done: Vec<&[String]> = rest.iter().copied().filter(free).collect();
        if done.is_empty() {
            break;
        }
        done.iter().for_each(|module| assert!(rest.remove(module)));
    }
    let circle: Vec<String> = rest
        .iter()
        .flat_map(|module| {
            let targets = imports[module]
                .iter()
                .filter(|target| rest.contains(*target));
            targets.map(|target| format!("{} imports {}", module.join("/"), target.join("/")))
        })
        .collect();
    assert!(circle.is_empty(), "{}", circle.join("\n"));
}
