//! Data sets are got from a server on the loopback interface or from a directory, and their names stand for their directories.

mod hostile;
mod killed;
mod names;

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::PathBuf;
use std::process::Command;

use md5::{Digest as _, Md5};
use riposte::datasets::Catalogue;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::support::program::{WorkDir, code, riposte, stderr, stdout};
use crate::support::server::{Page, Server};
use crate::support::{files, sample};

/// A server with files, the catalogue that names them, and a directory for the data sets.
struct Publisher {
    dir: WorkDir,
    server: Server,
    catalogue: String,
}

impl Publisher {
    fn new() -> Publisher {
        Publisher {
            dir: WorkDir::new(),
            server: Server::start(),
            catalogue: String::new(),
        }
    }

    /// Begins a data set in the catalogue, with more lines about it.
    fn dataset(&mut self, name: &str, more: &str) -> &mut Publisher {
        let about = "about = \"a\"\nlicence = \"l\"\ncitation = \"c\"";
        write!(
            self.catalogue,
            "[[dataset]]\nname = \"{name}\"\n{about}\n{more}\n"
        )
        .unwrap();
        self
    }

    /// Adds a file with this content to the last data set, and to the server.
    fn file(&mut self, name: &str, content: &[u8], more: &str) -> &mut Publisher {
        self.server.file(&format!("/{name}"), content);
        let (bytes, md5) = (content.len(), md5(content));
        self.pinned(name, &format!("bytes = {bytes}\nmd5 = \"{md5}\"\n{more}"))
    }

    /// Adds a file of which the catalogue says only this.
    fn pinned(&mut self, name: &str, lines: &str) -> &mut Publisher {
        let url = format!("{}/{name}", self.server.address);
        let file = format!("[[dataset.file]]\nfile = \"{name}\"\nurls = [\"{url}\"]\n{lines}\n");
        self.catalogue += &file;
        self
    }

    fn command(&self, line: &str) -> Command {
        files::write(&self.dir.path("catalogue.toml"), &self.catalogue);
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = riposte(&self.dir.path(""), &args);
        command
            .current_dir(self.dir.path(""))
            .env("RIPOSTE_DATASETS", self.dir.path("data"))
            .env(
                "RIPOSTE_DATASETS_CATALOGUE",
                self.dir.path("catalogue.toml"),
            );
        command
    }

    /// Runs riposte. Returns the exit code, and what it printed and said.
    fn run(&self, line: &str) -> (i32, String) {
        let output = self.command(line).output().unwrap();
        (code(&output), stdout(&output) + &stderr(&output))
    }

    #[track_caller]
    fn succeeds(&self, line: &str) -> String {
        let (code, said) = self.run(line);
        assert_eq!(code, 0, "{line}: {said}");
        said
    }

    /// Runs a command that must exit with 2 and say this.
    #[track_caller]
    fn refuses(&self, line: &str, why: &str) -> String {
        let (code, said) = self.run(line);
        assert_eq!(code, 2, "{line}: {said}");
        assert!(said.contains(why), "{line}: {why:?} is not in {said}");
        said
    }

    /// A path in the directory of the data sets.
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path("data").join(name)
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }
}

fn md5(bytes: &[u8]) -> String {
    let digest = Md5::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// 20,000 bytes that do not repeat periodically, so that a wrong offset is noticed.
fn content() -> Vec<u8> {
    (0..20_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

fn read(name: &str) -> Vec<u8> {
    fs::read(sample().join(name)).unwrap()
}

/// The arguments of the sample as args.me publishes them, and a task with its topics and judgements.
fn arguments() -> Publisher {
    let mut publisher = Publisher::new();
    let archive = zip(&[("args-me.json", &read("args-me.json"))]);
    let topics = zip(&[("topics-task-1.xml", &read("topics.xml"))]);
    publisher
        .dataset("args", "task = \"controversial\"\naliases = [\"argsme/x\"]")
        .file(
            "argsme.zip",
            &archive,
            "unpack = [{ from = \"args-me.json\", to = \"args-me.json\" }]",
        )
        .dataset(
            "touche",
            "task = \"controversial\"\nuses = [\"args\"]\nqrels = [\"relevance.qrels\"]",
        )
        .file(
            "topics-task-1.zip",
            &topics,
            "unpack = [{ from = \"topics-task-1.xml\", to = \"topics.xml\" }]",
        )
        .file(
            "touche.qrels",
            b"34 0 nobody 1\n",
            "to = \"relevance.qrels\"",
        );
    publisher
}

/// A data set `one` with a plain file.
fn plain(lines: &str) -> Publisher {
    let mut publisher = Publisher::new();
    publisher
        .dataset("one", "task = \"rank\"")
        .pinned("a.bin", &format!("{lines}\nto = \"a.bin\""));
    publisher
}

#[test]
fn a_collection_that_was_got_is_ranked_as_its_files_are() {
    let publisher = arguments();
    let said = publisher.succeeds("datasets get touche");
    assert!(
        said.contains("2 kB") || said.contains("needs at least"),
        "{said}"
    );
    publisher.succeeds("controversial -i touche -o out/got --approach bm25");
    let direct = publisher.dir.path("direct");
    for name in ["args-me.json", "topics.xml"] {
        files::write(&direct.join(name), read(name));
    }
    publisher.succeeds("controversial -i direct -o out/direct --approach bm25");
    let run = publisher.dir.read("out/got/run.txt");
    assert_eq!(run, publisher.dir.read("out/direct/run.txt"));
    assert!(run.lines().count() > 10, "{run}");
    // nothing unfinished is left, and nothing is fetched again
    assert!(!publisher.has("touche/.get") && !publisher.has("args/.get"));
    publisher.server.requests();
    assert!(
        publisher
            .succeeds("datasets get touche argsme/x")
            .contains("already here")
    );
    assert_eq!(publisher.server.requests(), [""; 0]);
    assert!(publisher.succeeds("datasets list").contains("here"));
    // what a data set uses is not lost with the other one
    publisher.succeeds("datasets remove args");
    assert!(!publisher.has("args") && publisher.has("touche/args-me.json"));
    assert!(
        publisher
            .succeeds("datasets remove args")
            .contains("nothing to remove")
    );
}

#[test]
fn a_transfer_that_breaks_off_is_continued() {
    let body = content();
    let mut publisher = Publisher::new();
    publisher
        .dataset("one", "task = \"rank\"")
        .file("a.bin", &body, "to = \"deep/a.bin\"");
    let page = Page {
        status: 200,
        body: body.clone(),
        cut: Some((5_000, 1)),
        ..Page::default()
    };
    publisher.server.page("/a.bin", page);
    publisher.succeeds("datasets get one");
    assert_eq!(publisher.server.requests(), ["/a.bin", "/a.bin 5000"]);
    assert_eq!(fs::read(publisher.path("one/deep/a.bin")).unwrap(), body);
}

#[test]
fn a_wrong_file_is_refused_and_the_right_one_is_got_afterwards() {
    let body = content();
    let pinned = format!("bytes = {}\nmd5 = \"{}\"", body.len(), md5(&body));
    let publisher = plain(&pinned);
    let mut wrong = body.clone();
    wrong[77] ^= 1;
    publisher.server.file("/a.bin", &wrong);
    publisher.refuses("datasets get one", "its md5 is");
    assert!(!publisher.has("one/a.bin") && !publisher.has("one/dataset.toml"));
    publisher.server.file("/a.bin", &body[1..]);
    publisher.refuses("datasets get one", "announces 19999 bytes, must be 20000");
    let endless = Page {
        status: 200,
        body: body.clone(),
        endless: true,
        ..Page::default()
    };
    publisher.server.page("/a.bin", endless);
    publisher.refuses("datasets get one", "more than 20000 bytes");
    assert!(!publisher.has("one/a.bin"));
    publisher.refuses("rank -i one -o out", "the data set one is only partly here");
    let moved = Page {
        status: 302,
        headers: vec![("Location", "/b.bin".to_owned())],
        ..Page::default()
    };
    publisher.server.page("/a.bin", moved);
    publisher.server.file("/b.bin", &body);
    publisher.server.requests();
    publisher.succeeds("datasets get one");
    // what the endless answer began with is not continued
    assert_eq!(publisher.server.requests(), ["/a.bin", "/b.bin"]);
    assert_eq!(fs::read(publisher.path("one/a.bin")).unwrap(), body);
}

#[test]
fn a_file_without_a_published_size_is_bounded_and_its_checksum_is_recorded() {
    let body = content();
    let publisher = plain("most = 19999");
    publisher.server.file("/a.bin", &body);
    publisher.refuses("datasets get one", "bytes");
    assert!(!publisher.has("one/a.bin"));
    let publisher = plain("most = 20000");
    publisher.server.file("/a.bin", &body);
    publisher.succeeds("datasets get one");
    let record = fs::read_to_string(publisher.path("one/dataset.toml")).unwrap();
    let sha256 = riposte::disk::sha256_of(body.as_slice()).unwrap();
    assert!(record.contains(&sha256), "{record}");
}

#[test]
fn a_disk_that_is_too_small_is_noticed_before_anything_is_fetched() {
    let publisher = plain("bytes = 1000000000000000000");
    publisher.refuses("datasets get one", "1.00 EB are needed");
    assert_eq!(publisher.server.requests(), [""; 0]);
}

#[test]
fn a_mirror_is_an_address_or_a_directory() {
    let publisher = arguments();
    let page = |name: &str, body: &[u8]| publisher.server.file(name, body);
    let archive = zip(&[("args-me.json", &read("args-me.json"))]);
    publisher.server.page(
        "/argsme.zip",
        Page {
            status: 404,
            ..Page::default()
        },
    );
    page("/copies/args/argsme.zip", &archive);
    let mirror = format!("{}/copies", publisher.server.address);
    publisher.succeeds(&format!("datasets get args --mirror {mirror}"));
    publisher.succeeds("datasets remove args");
    // a directory needs no network
    publisher.server.requests();
    files::write(&publisher.dir.path("offline/argsme.zip"), &archive);
    publisher.succeeds("datasets get args --mirror offline");
    assert_eq!(publisher.server.requests(), [""; 0]);
    assert_eq!(
        fs::read(publisher.path("args/args-me.json")).unwrap(),
        read("args-me.json")
    );
    // each file that the mirror lacks is named; what could be got stays
    let (code, said) = publisher.run("datasets get touche --mirror offline");
    assert!(
        code == 1 && said.contains("offline/touche/topics-task-1.zip"),
        "{said}"
    );
    publisher.refuses(
        "datasets get touche --mirror nowhere",
        "neither an address nor a directory",
    );
    publisher.succeeds("datasets get touche");
}

#[test]
fn a_licence_is_accepted_and_a_part_is_asked_for() {
    let mut publisher = Publisher::new();
    publisher
        .dataset(
            "snaps",
            "task = \"images\"\nconsent = \"Keep it to yourself.\"",
        )
        .file("topics.xml", &read("topics.xml"), "to = \"topics.xml\"")
        .file(
            "png.zip",
            &zip(&[("images/a.png", b"png")]),
            "part = \"png\"\nunpack = [{ from = \"images/\", to = \"images/\" }]",
        );
    publisher.refuses(
        "datasets get snaps",
        "snaps: Keep it to yourself. If you agree, give --accept-licence",
    );
    assert_eq!(publisher.server.requests(), [""; 0]);
    let get = "datasets get snaps --accept-licence";
    publisher.succeeds(get);
    assert!(publisher.has("snaps/topics.xml") && !publisher.has("snaps/images"));
    publisher.refuses(&format!("{get} --part pgn"), "there is png, all");
    publisher.succeeds(&format!("{get} --part png"));
    assert_eq!(
        fs::read(publisher.path("snaps/images/a.png")).unwrap(),
        b"png"
    );
    assert!(
        publisher
            .succeeds("datasets info snaps")
            .contains("here, with png")
    );
    // only what was missing was fetched
    assert_eq!(publisher.server.requests(), ["/topics.xml", "/png.zip"]);
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
            assert!(
                file.bytes.is_none() || file.md5.is_some(),
                "{}",
                file.file
            );
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
