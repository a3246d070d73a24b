//! What ARCHITECTURE.md promises about imports, apart from what the compiler promises of the crates. A parser reads the modules of `src/`, from
//! `lib.rs` and `main.rs` on, and those of the crates in `crates/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemConst, ItemMod, ItemUse, Macro, UseTree, Visibility};

use crate::support::root;

/// The rooms of `src/` by floor. A file can import from lower floors and from its own room.
const FLOORS: [&[&str]; 21] = [
    &["limits"],
    &[
        "device",
        "directories",
        "disk",
        "html",
        "lazy",
        "names",
        "stopped",
        "threads",
        "wording",
    ],
    &["events"],
    &["web", "workspace"],
    &["collection", "weights"],
    &["datasets", "evidence", "topic"],
    &["index", "reading"],
    &["language", "score"],
    &["systems"],
    &["files", "models", "places", "recipes"],
    &["presence", "session"],
    &["texts"],
    &["images", "ingest"],
    &["debate"],
    &["runs"],
    &["answer", "judge", "upkeep"],
    &["report"],
    &["api"],
    &["serve"],
    &["cli"],
    &["lib", "main"],
];

/// Rooms that only some of the higher rooms may import: the network, and what serves one published system alone.
const IMPORTERS: [(&str, &[&str]); 2] = [
    ("web", &["datasets", "systems", "weights"]),
    ("systems", &["images", "recipes", "runs", "texts"]),
];

/// Where code may use the network.
const NETWORK: [&str; 6] = [
    "cli/serve.rs",
    "web.rs",
    "web/",
    "datasets/",
    "weights/",
    "systems/chatnoir",
];

/// The crates that `score/` may use, because it only computes.
const PURE: [&str; 10] = [
    "anyhow",
    "rayon",
    "riposte_claims",
    "riposte_eval",
    "riposte_page",
    "serde",
    "serde_json",
    "strsim",
    "strum",
    "toml",
];

/// The crates in `crates/`, with all that each depends on: no database, no index, no command line, and no network but that of the server.
const CRATES: [(&str, &[&str]); 6] = [
    (
        "riposte-candle",
        &[
            "candle-core",
            "candle-nn",
            "candle-transformers",
            "gemm",
            "rayon",
            "riposte-nn",
            "serde",
            "serde_json",
        ],
    ),
    ("riposte-claims", &["flate2", "riposte-eval", "thiserror"]),
    (
        "riposte-eval",
        &[
            "anyhow",
            "clap",
            "flate2",
            "quick-xml",
            "serde",
            "serde_json",
            "strum",
            "thiserror",
        ],
    ),
    (
        "riposte-nn",
        &[
            "half",
            "libc",
            "memmap2",
            "rayon",
            "rten-onnx",
            "rten-simd",
            "rten-tensor",
            "rten-vecmath",
            "safetensors",
            "serde",
            "serde_json",
            "strum",
            "thiserror",
            "tokenizers",
        ],
    ),
    (
        "riposte-page",
        &["askama", "riposte-eval", "serde", "serde_json", "utoipa"],
    ),
    (
        "riposte-serve",
        &[
            "askama",
            "axum",
            "form_urlencoded",
            "futures-util",
            "http-body-util",
            "hyper",
            "hyper-util",
            "lru",
            "riposte-eval",
            "riposte-page",
            "rmcp",
            "serde",
            "serde_json",
            "subtle",
            "thiserror",
            "tokio",
            "tower",
            "utoipa",
        ],
    ),
];

/// The crates that open no file: their callers do.
const WITHOUT_FILES: [&str; 3] = ["riposte-claims", "riposte-eval", "riposte-page"];

/// The dependencies that `riposte-eval` has for its program alone.
const OF_PROGRAM: [&str; 3] = ["anyhow", "clap", "flate2"];

/// The files that code may embed from other directories, and who may embed them. The first entry that fits counts.
const OWNERS: [(&str, &[&str]); 10] = [
    ("approaches/", &["cli/approaches.rs", "judge/", "recipes/"]),
    ("datasets/datasets.toml", &["datasets/"]),
    ("datasets/reproduce.toml", &["judge/reproduce/"]),
    ("models/models.toml", &["weights/"]),
    ("models/own/stance.safetensors", &["reading/"]),
    ("models/own/images.toml", &["score/image_weights.rs"]),
    ("models/own/object-stance.toml", &["score/object_stance.rs"]),
    ("models/own/quality.toml", &["score/quality.rs"]),
    ("models/own/text-stance.toml", &["score/text_stance.rs"]),
    ("models/own/", &["score/", "systems/"]),
];

/// The segments of a path, from the root of the crate: `["index", "fusion", "rrf"]`. Those of a path into another crate begin with "::".
type Segments = Vec<String>;

/// The modules of a crate that have a file of their own, by their paths.
type Modules = BTreeMap<Segments, Module>;

/// The modules of the package riposte.
static MODULES: LazyLock<Modules> = LazyLock::new(|| {
    let mut modules = Modules::new();
    for (name, file) in [(vec![], "lib.rs"), (vec!["main".to_owned()], "main.rs")] {
        read(
            &mut modules,
            Path::new("src"),
            name,
            &root().join("src").join(file),
            false,
        );
    }
    modules
});

/// The modules of each crate in `crates/`.
static CRATE_MODULES: LazyLock<BTreeMap<&str, Modules>> = LazyLock::new(|| {
    let of_crate = CRATES.map(|(name, _)| {
        let mut modules = Modules::new();
        let source = Path::new("crates").join(name).join("src");
        let file = root().join(&source).join("lib.rs");
        read(&mut modules, &source, vec![], &file, false);
        (name, modules)
    });
    of_crate.into()
});

/// The modules of the program riposte-eval. Only its crate has a program.
static PROGRAM: LazyLock<Modules> = LazyLock::new(|| {
    let mut modules = Modules::new();
    let source = Path::new("crates/riposte-eval/src/bin/riposte-eval");
    let file = root().join(source).join("main.rs");
    read(&mut modules, source, vec!["main".to_owned()], &file, false);
    modules
});

#[derive(Default)]
struct Module {
    /// Its path in the `src/` of its crate.
    file: String,
    /// The paths that it names, each with whether test code names it.
    imports: BTreeSet<(Segments, bool)>,
    /// The names that it re-exports (`pub use`), and the paths behind them.
    exports: BTreeMap<String, Segments>,
    /// The files that it embeds, by their paths in the repository.
    embedded: Vec<String>,
    /// The names of its constants, without those of tests.
    constants: Vec<String>,
    has_unsafe: bool,
}

impl Module {
    fn room(&self) -> &str {
        self.file.split(['/', '.']).next().unwrap()
    }

    fn shipped(&self) -> impl Iterator<Item = &Segments> {
        let shipped = self.imports.iter().filter(|(_, is_test)| !is_test);
        shipped.map(|(path, _)| path)
    }
}

/// Reads a file and the files of its modules.
fn read(modules: &mut Modules, source: &Path, name: Segments, file: &Path, is_test: bool) {
    let parsed = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
    let mut reader = Reader {
        modules,
        source,
        module: Module::default(),
        name: name.clone(),
        depth: name.len(),
        is_test,
    };
    reader.module.file = inside(file, source);
    reader.visit_file(&parsed);
    let module = reader.module;
    modules.insert(name, module);
}

fn inside(file: &Path, directory: &Path) -> String {
    let directory = root().join(directory).canonicalize().unwrap();
    let file = file.canonicalize().unwrap();
    file.strip_prefix(directory).unwrap().display().to_string()
}

struct Reader<'m> {
    modules: &'m mut Modules,
    /// The folder of the crate's `lib.rs`.
    source: &'m Path,
    module: Module,
    /// The path of the module that is being read. Its first `depth` segments are the path of the file's module.
    name: Segments,
    depth: usize,
    is_test: bool,
}

impl Reader<'_> {
    /// Records an import. Returns its path from the root of the crate.
    fn import(&mut self, path: &[String]) -> Segments {
        let up = path.iter().take_while(|word| *word == "super").count();
        let base = match path[0].as_str() {
            "crate" | "riposte" => vec![],
            "self" => self.name.clone(),
            "super" => self.name[..self.name.len() - up].to_vec(),
            _ => vec!["::".to_owned()],
        };
        let rest = match path[0].as_str() {
            "crate" | "riposte" | "self" => &path[1..],
            _ => &path[up..],
        };
        let path = [&base, rest].concat();
        self.module.imports.insert((path.clone(), self.is_test));
        path
    }

    /// Records the imports of a `use` tree. Returns the names, and the paths behind them.
    fn names(&mut self, tree: &UseTree, before: &[String]) -> Vec<(String, Segments)> {
        let (name, item) = match tree {
            UseTree::Path(path) => {
                let before = [before, &[path.ident.to_string()]].concat();
                return self.names(&path.tree, &before);
            }
            UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.flat_map(|tree| self.names(tree, before)).collect();
            }
            UseTree::Rename(name) => (name.rename.to_string(), name.ident.to_string()),
            UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            _ => ("*".to_owned(), "*".to_owned()),
        };
        vec![(name, self.import(&[before, &[item]].concat()))]
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let outside = self.is_test;
        visit::visit_item(self, item);
        self.is_test = outside;
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Ok(list) = attribute.meta.require_list() {
            let words = list.tokens.to_string();
            self.is_test |= list.path.is_ident("cfg") && words.starts_with("test");
            self.module.has_unsafe |= words.contains("unsafe_code");
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        item.attrs.iter().for_each(|a| self.visit_attribute(a));
        let outside = self.name.clone();
        if outside == ["main"] {
            // main.rs stands beside lib.rs, and so do its modules
            self.name.clear();
        }
        let mut directory = root().join(self.source);
        directory.extend(&self.name);
        let name = item.ident.to_string();
        self.name.push(name.clone());
        if let Some((_, items)) = &item.content {
            items.iter().for_each(|item| self.visit_item(item));
        } else {
            let beside = directory.join(format!("{name}.rs"));
            let below = directory.join(name).join("mod.rs");
            let file = if beside.exists() { beside } else { below };
            read(
                self.modules,
                self.source,
                self.name.clone(),
                &file,
                self.is_test,
            );
        }
        self.name = outside;
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        if !self.is_test {
            self.module.constants.push(item.ident.to_string());
        }
        visit::visit_item_const(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        item.attrs.iter().for_each(|a| self.visit_attribute(a));
        let names = self.names(&item.tree, &[]);
        if !matches!(item.vis, Visibility::Inherited) && self.name.len() == self.depth {
            self.module.exports.extend(names);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|s| s.ident.to_string());
        let segments: Segments = segments.collect();
        if segments.len() > 1 {
            self.import(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        if item.path.is_ident("include_str") || item.path.is_ident("include_bytes") {
            let name = item.parse_body::<syn::LitStr>().unwrap().value();
            let file = root().join(self.source).join(&self.module.file);
            let file = file.parent().unwrap().join(name);
            self.module.embedded.push(inside(&file, Path::new("")));
        }
        let tokens = item.tokens.to_string().replace(" :: ", "::");
        for path in tokens.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
            let path: Segments = path.split("::").map(str::to_owned).collect();
            if path.len() > 1 && path.iter().all(|segment| !segment.is_empty()) {
                self.import(&path);
            }
        }
    }
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `is_wrong` gets a module, the [`Segments`] of a path that it imports, and whether test code does so.
fn assert_no_import(modules: &Modules, is_wrong: impl Fn(&Module, &[&str], bool) -> bool) {
    let imports = modules.values().flat_map(|module| {
        let imports = module.imports.iter();
        imports.map(move |(path, is_test)| (module, path, is_test))
    });
    let wrong = imports.filter(|(module, path, is_test)| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        is_wrong(module, &path, **is_test)
    });
    let faults = wrong.map(|(module, path, _)| format!("{}: {}", module.file, path.join("::")));
    assert_none(&faults.collect::<Vec<_>>());
}

#[test]
fn every_file_is_a_module_that_these_tests_read() {
    fn count(directory: &Path) -> usize {
        let entries = fs::read_dir(directory).unwrap();
        let counts = entries.map(|entry| match entry.unwrap().path() {
            path if path.is_dir() => count(&path),
            path => usize::from(path.extension().is_some_and(|e| e == "rs")),
        });
        counts.sum()
    }
    assert_eq!(MODULES.len(), count(&root().join("src")));
    for (name, modules) in &*CRATE_MODULES {
        let source = root().join("crates").join(name).join("src");
        let of_program = if *name == "riposte-eval" {
            PROGRAM.len()
        } else {
            0
        };
        assert_eq!(modules.len() + of_program, count(&source), "{name}");
    }
    let folders = fs::read_dir(root().join("crates")).unwrap();
    assert_eq!(folders.count(), CRATES.len());
}

/// This also holds for the tests inside files.
#[test]
fn a_file_imports_lower_floors_or_its_own_room() {
    let floor = |room: &str| {
        let floor = FLOORS.iter().position(|rooms| rooms.contains(&room));
        floor.unwrap_or_else(|| panic!("{room} has no floor"))
    };
    assert_no_import(&MODULES, |module, path, _| match *path {
        ["::", ..] | [] => false,
        [target, ..] if target == module.room() => false,
        [target, ..] => {
            let of_target = IMPORTERS.iter().find(|(room, _)| *room == target);
            floor(target) >= floor(module.room())
                || of_target.is_some_and(|(_, may)| !may.contains(&module.room()))
        }
    });
}

/// Whether code can reach files, the network or other processes with it.
fn is_outside(part: &str) -> bool {
    ["env", "fs", "io", "net", "process"].contains(&part)
}

#[test]
fn a_crate_depends_only_on_what_is_named_here() {
    for (name, expected) in CRATES {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let manifest: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
        let whole = toml::Value::Table(manifest.clone());
        // some only on one system
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let tables = targets.into_iter().flat_map(toml::Table::values);
        let tables = tables.chain([&whole]);
        let dependencies = tables.filter_map(|table| table.get("dependencies")?.as_table());
        let dependencies: BTreeSet<&str> = dependencies
            .flat_map(toml::Table::keys)
            .map(String::as_str)
            .collect();
        assert_eq!(dependencies, expected.iter().copied().collect(), "{name}");
    }
}

#[test]
fn crates_that_open_no_file_touch_no_disk() {
    for name in WITHOUT_FILES {
        assert_no_import(&CRATE_MODULES[name], |_, path, _| match *path {
            // buffers in memory have these traits too
            ["::", "std", "io", "Error" | "Read" | "Write"] => false,
            ["::", "std", part, ..] => is_outside(part),
            _ => false,
        });
    }
}

/// Who uses the library compiles nothing for the program.
#[test]
fn only_the_program_of_riposte_eval_needs_its_dependencies_and_one_file_touches_the_disk() {
    let manifest = fs::read_to_string(root().join("crates/riposte-eval/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    for name in OF_PROGRAM {
        let is_optional = manifest["dependencies"][name].get("optional");
        assert_eq!(is_optional, Some(&toml::Value::Boolean(true)), "{name}");
    }
    assert_no_import(
        &CRATE_MODULES["riposte-eval"],
        |_, path, _| matches!(*path, ["::", name, ..] if OF_PROGRAM.contains(&name)),
    );
    assert_no_import(&PROGRAM, |module, path, _| match *path {
        // standard output and error, and the exit code
        ["::", "std", "io", ..] | ["::", "std", "process", "ExitCode", ..] => false,
        ["::", "std", part, ..] => is_outside(part) && module.file != "files.rs",
        _ => false,
    });
}

/// No path from a request reaches the disk: the server reads only what the system says of its own process.
#[test]
fn the_server_opens_no_file_that_somebody_could_name() {
    assert_no_import(&CRATE_MODULES["riposte-serve"], |module, path, is_test| {
        let is_disk = matches!(
            *path,
            ["::", "std", "env" | "fs" | "path" | "process", ..]
                | ["::", "tokio", "fs" | "process", ..]
        );
        is_disk && !is_test && module.file != "process.rs"
    });
}

/// It gets numbers and texts. Types that read files or compute a network are recognised by the ends of their names, whatever room they are in.
#[test]
fn score_touches_neither_disk_nor_models() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let crates = manifest["dependencies"].as_table().unwrap().keys();
    let crates: BTreeSet<String> = crates.map(|name| name.replace('-', "_")).collect();
    assert_no_import(&MODULES, |module, path, is_test| match *path {
        _ if is_test || module.room() != "score" => false,
        ["::", "std", part, ..] => is_outside(part),
        ["::", name, ..] => crates.contains(name) && !PURE.contains(&name),
        ["device" | "disk" | "lazy" | "weights" | "workspace", ..] => true,
        [room, .., name] if room != module.room() => {
            let ends = ["Encoder", "Models", "Network", "Store"];
            ends.iter().any(|end| name.ends_with(end))
        }
        _ => false,
    });
}

#[test]
fn a_file_embeds_what_stands_beside_it_or_what_it_owns() {
    let is_wrong = |module: &Module, file: &str| {
        let directory = Path::new("src").join(&module.file);
        let owners = OWNERS.iter().find(|(start, _)| file.starts_with(start));
        let is_owner =
            owners.is_some_and(|(_, may)| may.iter().any(|may| module.file.starts_with(may)));
        !is_owner && !Path::new(file).starts_with(directory.parent().unwrap())
    };
    let faults = MODULES.values().flat_map(|module| {
        let wrong = module.embedded.iter().filter(|file| is_wrong(module, file));
        wrong.map(|file| format!("{} embeds {file}", module.file))
    });
    // a crate is published alone, so it has all that it embeds
    let of_crates = CRATE_MODULES.iter().flat_map(|(name, modules)| {
        let own = Path::new("crates").join(name);
        let embedded = modules.values().flat_map(|module| &module.embedded);
        let wrong = embedded.filter(move |file| !Path::new(file).starts_with(&own));
        wrong.map(move |file| format!("{name} embeds {file}"))
    });
    assert_none(&faults.chain(of_crates).collect::<Vec<_>>());
}

#[test]
fn html_is_parsed_in_one_way() {
    // another parser would have no bound for the depth of elements, which takes quadratic time
    assert_no_import(&MODULES, |module, path, _| {
        let is_parser = matches!(
            *path,
            [
                "::",
                "html5ever",
                "driver" | "parse_document" | "parse_fragment" | "tokenizer" | "tree_builder",
                ..
            ] | ["::", "scraper", "Html" | "HtmlTreeSink", ..]
                | ["::", "dom_query", "Document", "from" | "fragment", ..]
        );
        is_parser && module.file != "html.rs"
    });
    let page = &MODULES.values().find(|module| module.file == "html.rs");
    let imports = &page.expect("src/html.rs is a module").imports;
    let html = ["::", "scraper", "Html"].map(str::to_owned);
    assert!(
        imports.iter().any(|(path, _)| path[..] == html[..]),
        "{imports:?}"
    );
}

#[test]
fn only_downloads_and_the_clients_of_services_reach_the_network() {
    assert_no_import(&MODULES, |module, path, is_test| {
        let is_network = matches!(
            *path,
            ["::", "ureq", ..] | ["::", "std", "net", ..] | ["web", ..]
        );
        is_network && !is_test && !NETWORK.iter().any(|place| module.file.starts_with(place))
    });
}

#[test]
fn files_are_opened_in_one_way() {
    // a FIFO in the place of a recipe would wait for ever, and /dev/zero would fill the memory
    let owners = ["disk.rs", "disk/", "checkpoint.rs", "files.rs"];
    // the first opens a directory to sync it, the second a file of the system with a fixed name
    let exceptions = ["index/inverted/disk.rs", "process.rs"];
    let is_open = |path: &[&str]| {
        matches!(
            path,
            [.., "File", "open"]
                | [.., "OpenOptions", "new"]
                | [.., "fs", "read" | "read_to_string"]
        )
    };
    let crates = CRATE_MODULES.values();
    for modules in [&*MODULES, &*PROGRAM].into_iter().chain(crates) {
        assert_no_import(modules, |module, path, is_test| {
            let may = owners.iter().chain(&exceptions);
            let mut may = may.filter(|owner| module.file.starts_with(**owner));
            !is_test && is_open(path) && may.next().is_none()
        });
    }
}

/// An output that is written in place is half a file after an error. `disk::replace` writes it beside and renames it; `disk::write_draft` and
/// `disk::create_draft` write what is renamed with its directory.
#[test]
fn outputs_are_written_in_one_way() {
    let exceptions = [
        // a frame that lists a file twice is refused; its directory is temporary
        "collection/frames.rs",
        // copies into temporary directories
        "datasets/get.rs",
        "evidence/store/shard_file.rs",
        "judge/reproduce/measure.rs",
        // the parts of a shard's files, in a temporary directory
        "ingest/shards/packed.rs",
        // sets the time of a file
        "workspace/place.rs",
    ];
    let is_write = |path: &[&str]| {
        matches!(
            path,
            [.., "File", "create" | "create_new" | "options"] | [.., "fs", "copy" | "write"]
        )
    };
    let crates = CRATE_MODULES.values();
    for modules in [&*MODULES, &*PROGRAM].into_iter().chain(crates) {
        assert_no_import(modules, |module, path, is_test| {
            let is_owner = module.file == "disk.rs" || module.file.starts_with("disk/");
            !is_test && !is_owner && is_write(path) && !exceptions.contains(&&*module.file)
        });
    }
}

/// The words for limits are in the names of no other constants, so that none is left out of docs/limits.md.
#[test]
fn limits_are_in_the_lists_of_limits() {
    let words = ["LARGEST", "LIMIT", "LONGEST", "MAX", "MOST"];
    let is_limit = |name: &&String| name.split('_').any(|word| words.contains(&word));
    let crates = CRATE_MODULES.values();
    let modules = [&*MODULES, &*PROGRAM].into_iter().chain(crates);
    let modules = modules.flat_map(Modules::values);
    let others = modules.filter(|module| module.file != "limits.rs");
    let faults = others.flat_map(|module| {
        let limits = module.constants.iter().filter(is_limit);
        limits.map(move |name| format!("{}: {name}: a limit is in limits.rs", module.file))
    });
    assert_none(&faults.collect::<Vec<_>>());
}

#[test]
fn a_lint_allows_unsafe_code_in_the_files_that_are_named_here() {
    let of_crates = CRATE_MODULES.iter().flat_map(|(name, modules)| {
        let modules = modules.values();
        modules.map(move |module| (format!("crates/{name}/src/{}", module.file), module))
    });
    let modules = MODULES.values();
    let modules = modules.map(|module| (format!("src/{}", module.file), module));
    let with = modules.chain(of_crates).filter(|(_, m)| m.has_unsafe);
    let files: BTreeSet<String> = with.map(|(file, _)| file).collect();
    // a memory map of a checkpoint, and the inner loops of convolutions and of int8 products
    let named = [
        "crates/riposte-nn/src/checkpoint.rs",
        "crates/riposte-nn/src/conv/kernel.rs",
        "crates/riposte-nn/src/conv/kernel/depthwise.rs",
        "crates/riposte-nn/src/conv/quantised.rs",
        "crates/riposte-nn/src/conv/quantised/amx.rs",
        "crates/riposte-nn/src/conv/quantised/outliers.rs",
        "crates/riposte-nn/src/conv/quantised/kernels.rs",
        "crates/riposte-nn/src/conv/quantised/pairs.rs",
    ];
    assert_eq!(files, BTreeSet::from(named.map(str::to_owned)));
}

/// The module to which a path leads, also through `pub use`.
fn target<'m>(modules: &'m Modules, path: &[String]) -> Option<&'m Segments> {
    let ends = (1..=path.len()).rev();
    let (name, module) = ends
        .map(|end| &path[..end])
        .find_map(|start| modules.get_key_value(start))?;
    let item = path.get(name.len());
    match item.and_then(|item| module.exports.get(item)) {
        Some(behind) => target(modules, &[behind, &path[name.len() + 1..]].concat()),
        None => Some(name),
    }
}

/// A file can import its ancestors (a module file defines what its children share) and its children. Other files must not import each other in a
/// circle; only their tests may.
#[test]
fn files_do_not_import_each_other_in_circles() {
    assert_no_circle(&MODULES);
    assert_no_circle(&PROGRAM);
    CRATE_MODULES.values().for_each(assert_no_circle);
}

fn assert_no_circle(modules: &Modules) {
    let mut imports: BTreeMap<&Segments, BTreeSet<&Segments>> = BTreeMap::new();
    for (name, module) in modules {
        let targets = module.shipped().filter_map(|path| target(modules, path));
        let others = targets.filter(|other| !name.starts_with(other) && !other.starts_with(name));
        imports.insert(name, others.collect());
    }
    // files that import none of the others, or that none imports, are removed until only circles are left
    let mut before = usize::MAX;
    while imports.len() < before {
        before = imports.len();
        let rest: BTreeSet<&Segments> = imports.keys().copied().collect();
        let imported: BTreeSet<&Segments> = imports.values().flatten().copied().collect();
        imports.retain(|name, targets| {
            targets.retain(|target| rest.contains(target));
            !targets.is_empty() && imported.contains(name)
        });
    }
    let circle = imports.iter().map(|(name, targets)| {
        let names: Vec<String> = targets.iter().map(|target| target.join("::")).collect();
        format!("{} imports {}", name.join("::"), names.join(", "))
    });
    assert_none(&circle.collect::<Vec<_>>());
}
