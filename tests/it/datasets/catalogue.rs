//! The catalogue of data sets: riposte's own, and one that a user has written.

use std::fs;
use std::path::Path;

use riposte::datasets::DatasetCatalogue;

use super::{Publisher, plain, stdout, zip};
use crate::support::program::{code, stderr};
use crate::support::{files, sample};

#[test]
fn a_long_path_stays_on_its_line() {
    let publisher = plain("bytes = 1");
    let deep = format!("data/{}", "deep folder/".repeat(9));
    let mut command = publisher.command("datasets info one");
    command.env("RIPOSTE_DATASETS", publisher.dir.path(&deep));
    let said = stdout(&command.output().unwrap());
    let is_whole = |line: &str| line.contains(&deep) && line.ends_with("one (not here)");
    assert!(said.lines().any(is_whole), "{said}");
}

#[test]
fn ripostes_own_catalogue_says_where_everything_is() {
    let catalogue = DatasetCatalogue::embedded().unwrap();
    let mut ids = 0;
    for entry in catalogue.entries() {
        ids += entry.aliases.len();
        for name in entry.aliases.iter().chain([&entry.name]) {
            assert_eq!(catalogue.find(name).unwrap().name, entry.name);
        }
        for file in &entry.files {
            for url in &file.urls {
                assert!(url.starts_with("https://"), "{url}");
            }
            // whoever has published an exact size has published a checksum, too
            let has_checksum = file.md5.is_some() || file.sha256.is_some();
            assert!(file.bytes.is_none() || has_checksum, "{}", file.file);
        }
        for qrels in &entry.qrels {
            let puts = entry.files.iter().any(|file| {
                let unpacked = file.unpack.iter().any(|taken| {
                    *qrels == taken.to || taken.to.ends_with('/') && qrels.starts_with(&taken.to)
                });
                unpacked || file.to.as_ref() == Some(qrels)
            });
            assert!(puts, "{}: nothing writes {qrels}", entry.name);
        }
    }
    assert!(ids >= 20, "{ids} ids of ir_datasets");
    let images = catalogue
        .find("touche-image/2022-06-13/touche-2022-task-3")
        .unwrap();
    assert_eq!(images.name, "touche-2022-images");
    assert!(images.bytes() > 4_000_000_000 && images.consent.is_some());
    // submitted runs are only fetched if somebody asks for them
    let runs = |name: &str| {
        let files = &catalogue.find(name).unwrap().files;
        let of_runs = files
            .iter()
            .filter(|file| file.part.as_deref() == Some("runs"));
        of_runs.count()
    };
    assert_eq!(runs("touche-2020-arguments"), 1);
    assert_eq!(runs("touche-2021-arguments"), 1);
    // or without the collection: little, of which everything is pinned, and nothing has to be accepted
    let runs = catalogue.find("touche-2022-image-runs").unwrap();
    assert!(runs.bytes() < 2_000_000 && runs.consent.is_none());
    assert!(runs.files.iter().all(|file| file.sha256.is_some()));
    assert_eq!(runs.files.len(), 13 + 1);
    // a reader is told the licence, not where it could be found
    for entry in catalogue.entries() {
        assert!(!entry.licence.starts_with("as "), "{}", entry.name);
    }
    // what belongs to third parties is never fetched by accident
    for year in ["2022", "2023", "2025"] {
        let name = format!("touche-{year}-images");
        assert!(catalogue.find(&name).unwrap().consent.is_some(), "{name}");
    }
}

#[test]
fn a_broken_catalogue_is_an_error() {
    let good = "[[dataset]]\nname = \"d\"\naliases = [\"x/d\"]\ntask = \"rank\"\nabout = \"a\"\nlicence = \"l\"\ncitation = \"c\"\n\
                [[dataset.file]]\nfile = \"f.zip\"\nurls = [\"https://example.org/f.zip\"]\nbytes = 1\nunpack = [{ from = \"a/\", to = \"b/\" }]\n";
    DatasetCatalogue::parse(good).unwrap();
    for (from, to) in [
        ("name = \"d\"", "name = \"../d\""),
        ("\"x/d\"", "\"d\""),
        ("\"x/d\"", "\"/d\""),
        ("\"f.zip\"", "\"a/f.zip\""),
        ("\"f.zip\"", "\"f.rar\""),
        ("https://", "file://"),
        ("bytes = 1\n", ""),
        ("bytes = 1\n", "bytes = 0\n"),
        ("bytes = 1\n", "bytes = 1\nmost = 2\n"),
        ("bytes = 1\n", "bytes = 1\nmd5 = \"AB\"\n"),
        ("bytes = 1\n", "bytes = 1\nto = \"f\"\n"),
        ("\"b/\"", "\"../b/\""),
        ("\"b/\"", "\".get/\""),
        ("\"b/\"", "\"b\""),
        ("task = \"rank\"", "task = \"rank\"\nuses = [\"d\"]"),
        (
            "task = \"rank\"",
            "task = \"rank\"\nqrels = [\"/etc/passwd\"]",
        ),
        ("task = \"rank\"", "task = \"cook\""),
    ] {
        assert!(good.contains(from), "{from}");
        assert!(
            DatasetCatalogue::parse(&good.replacen(from, to, 1)).is_err(),
            "{to}"
        );
    }
    assert!(DatasetCatalogue::parse(&format!("{good}{good}")).is_err());
    let mut publisher = Publisher::new();
    publisher.catalogue = good.replace("bytes", "octets");
    publisher.refuses("datasets list", "RIPOSTE_DATASETS_CATALOGUE");
}

/// The files below a directory, with their paths relative to `root`.
fn below(root: &Path, dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(root, &path, found);
        } else {
            let name = path.strip_prefix(root).unwrap();
            found.push((files::text(name).to_owned(), fs::read(&path).unwrap()));
        }
    }
}

/// riposte's own catalogue, and archives in the layout of the publisher.
#[test]
fn the_images_of_2025_are_got_from_a_mirror_and_ranked() {
    const NAME: &str = "touche25-image-retrieval-and-generation-main";
    let publisher = Publisher::new();
    let mut found = Vec::new();
    below(sample(), &sample().join("images"), &mut found);
    let urls: Vec<String> = found
        .iter()
        .filter(|(name, _)| name.ends_with("/image-url.txt"))
        .map(|(name, _)| name.clone())
        .collect();
    for (at, url) in urls.iter().enumerate() {
        let caption = match at {
            3 => "robots work in a factory".to_owned(),
            at => format!("picture number {at}"),
        };
        let name = url.replace("image-url", "image-caption");
        found.push((name, caption.into_bytes()));
    }
    let id = urls[3].split('/').nth(2).unwrap();
    let named: Vec<(String, Vec<u8>)> = found
        .into_iter()
        .map(|(name, content)| (format!("{NAME}/{name}"), content))
        .collect();
    let entries: Vec<(&str, &[u8])> = named
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_slice()))
        .collect();
    let offline = publisher.dir.path("offline/touche-2025-images");
    files::write(&offline.join(format!("{NAME}.zip")), zip(&entries));
    let claim = "<argument><id>1-2</id><topic>Work</topic><claim>Robots work</claim></argument>";
    files::write(
        &offline.join("arguments.xml"),
        format!("<arguments>{claim}</arguments>"),
    );
    for line in [
        "datasets get touche-2025-images --accept-licence --mirror offline",
        "collection check touche-2025-images",
        "images -q -i touche-2025-images -o out --approach claims-caption",
    ] {
        let mut command = publisher.command(line);
        command.env_remove("RIPOSTE_DATASETS_CATALOGUE");
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{line}: {}", stderr(&output));
    }
    let run = publisher.dir.read("out/results.jsonl");
    let first = run.lines().next().unwrap();
    assert!(first.contains("\"1-2\"") && first.contains(id), "{run}");
}
