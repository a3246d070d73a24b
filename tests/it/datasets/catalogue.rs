//! The catalogue of data sets: riposte's own, and one that a user has written.

use riposte::datasets::Catalogue;

use super::{Publisher, plain, stdout};

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
    let catalogue = Catalogue::embedded().unwrap();
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
            assert!(file.bytes.is_none() || file.md5.is_some(), "{}", file.file);
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
    let runs = images.files.iter();
    let runs = runs.filter(|file| file.part.as_deref() == Some("runs"));
    assert_eq!(runs.count(), 13);
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
    Catalogue::parse(good).unwrap();
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
            Catalogue::parse(&good.replacen(from, to, 1)).is_err(),
            "{to}"
        );
    }
    assert!(Catalogue::parse(&format!("{good}{good}")).is_err());
    let mut publisher = Publisher::new();
    publisher.catalogue = good.replace("bytes", "octets");
    publisher.refuses("datasets list", "RIPOSTE_DATASETS_CATALOGUE");
}
