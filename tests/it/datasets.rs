//! Data sets are got from a server on the loopback interface or from a directory, and their names stand for their directories.

mod catalogue;
mod hostile;
mod killed;
mod names;

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use md5::{Digest as _, Md5};
use riposte::disk::hex;
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

    /// A data set `one` with the file `a.bin`.
    fn of_one(body: &[u8]) -> Publisher {
        let mut publisher = Publisher::new();
        let one = publisher.dataset("one", "task = \"rank\"");
        one.file("a.bin", body, "to = \"a.bin\"");
        publisher
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
    hex(&Md5::digest(bytes))
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
fn a_connection_that_breaks_before_any_byte_is_tried_once_more() {
    let body = content();
    let publisher = Publisher::of_one(&body);
    let page = |resets, cut| Page {
        status: 200,
        body: body.clone(),
        resets,
        cut,
        ..Page::default()
    };
    publisher.server.page("/a.bin", page(1, None));
    let said = publisher.succeeds("datasets get one");
    assert_eq!(
        publisher.server.requests(),
        ["/a.bin reset", "/a.bin"],
        "{said}"
    );
    publisher.succeeds("datasets remove one");
    // an answer without its body is the same
    publisher.server.page("/a.bin", page(0, Some((0, 1))));
    let said = publisher.succeeds("datasets get one");
    assert_eq!(publisher.server.requests(), ["/a.bin", "/a.bin"], "{said}");
    assert_eq!(fs::read(publisher.path("one/a.bin")).unwrap(), body);
    publisher.succeeds("datasets remove one");
    // not again and again
    publisher.server.page("/a.bin", page(9, None));
    publisher.refuses("datasets get one", "cannot reach 127.0.0.1");
    assert_eq!(publisher.server.requests(), ["/a.bin reset"; 2]);
}

#[test]
fn a_long_download_says_now_and_then_how_long_it_takes() {
    let body = content().repeat(50);
    let publisher = plain(&format!("bytes = {}\nmd5 = \"{}\"", body.len(), md5(&body)));
    let page = Page {
        status: 200,
        body,
        pause: Some((7_000, Duration::from_millis(10_200))),
        ..Page::default()
    };
    publisher.server.page("/a.bin", page);
    let said = publisher.succeeds("datasets get one");
    let is_estimate = |line: &&str| {
        line.starts_with("one/a.bin: ")
            && line.contains(" of 1.00 MB, about ")
            && line.ends_with(" left")
    };
    assert_eq!(said.lines().filter(is_estimate).count(), 1, "{said}");
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
    publisher.refuses("rank -i one -o out", "gets it (at most 20.00 kB)");
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
    let mut said = publisher.succeeds(get);
    assert!(
        publisher.has("snaps/topics.xml") && !publisher.has("snaps/images"),
        "{said}"
    );
    publisher.refuses(&format!("{get} --part pgn"), "there is png, all");
    said += &publisher.succeeds(&format!("{get} --part png"));
    let png = fs::read(publisher.path("snaps/images/a.png"));
    assert!(
        png.as_ref().is_ok_and(|png| png == b"png"),
        "{png:?}: {said}"
    );
    let info = publisher.succeeds("datasets info snaps");
    assert!(info.contains("(here, with png)"), "{info}");
    // only what was missing was fetched
    let requests = publisher.server.requests();
    assert_eq!(requests, ["/topics.xml", "/png.zip"], "{said}");
}
