//! `datasets get` is killed, and goes on when it is given again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Page, Publisher, content, zip};
use crate::support::wait;

/// Starts `datasets get one`, and kills it as soon as `is_time` says so. Returns false if it ended before.
fn kill_when(publisher: &Publisher, is_time: impl FnMut() -> bool) -> bool {
    let mut command = publisher.command("datasets get one -q");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    wait::kill_when(command.spawn().unwrap(), is_time)
}

/// A data set `one` with the file `a.bin`. The server sends 7,000 bytes of it and then waits, once.
fn stalling(body: &[u8]) -> Publisher {
    let publisher = Publisher::of_one(body);
    let page = Page {
        status: 200,
        body: body.to_vec(),
        stall: Some((7_000, 1)),
        ..Page::default()
    };
    publisher.server.page("/a.bin", page);
    publisher
}

#[test]
fn a_killed_download_goes_on_where_it_was() {
    let body = content();
    let publisher = stalling(&body);
    let part = publisher.path("one/.get/a.bin.part");
    let has = |bytes| fs::metadata(&part).is_ok_and(|part| part.len() == bytes);
    assert!(kill_when(&publisher, || has(7_000)));
    assert!(!publisher.has("one/a.bin"));
    assert!(publisher.succeeds("datasets list").contains("partly"));
    publisher.refuses("rank -i one -o out", "only partly here");
    publisher.succeeds("datasets get one");
    assert_eq!(publisher.server.requests(), ["/a.bin", "/a.bin 7000"]);
    assert_eq!(fs::read(publisher.path("one/a.bin")).unwrap(), body);
}

/// A copy from a directory is killed by the system at a certain byte. When it is given again, it begins behind the bytes that are there.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_copy_of_a_mirror_goes_on_where_it_was() {
    use std::os::unix::process::ExitStatusExt;

    let body = content();
    let mut publisher = Publisher::new();
    // without a checksum, so that a marked byte shows which bytes are copied
    publisher
        .dataset("one", "task = \"rank\"")
        .pinned("a.bin", "most = 20000\nto = \"a.bin\"");
    let copy = publisher.dir.path("offline/a.bin");
    crate::support::files::write(&copy, &body);
    let get = "datasets get one --mirror offline";
    let inner = publisher.command(get);
    let mut limited = Command::new("sh");
    // in blocks of 512 bytes
    limited
        .args(["-c", "ulimit -c 0; ulimit -f 16; exec \"$0\" \"$@\""])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(publisher.dir.path(""));
    for (name, value) in inner.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    let part = publisher.path("one/.get/a.bin.part");
    let kill = |limited: &mut Command| {
        let killed = limited.output().unwrap();
        assert!(killed.status.signal().is_some(), "{killed:?}");
        let had = fs::read(&part).unwrap();
        // some shells count in blocks of 1,024 bytes
        assert!([8_192, 16_384].contains(&had.len()), "{}", had.len());
        assert_eq!(had, body[..had.len()]);
        had
    };
    let mut marked = kill(&mut limited);
    assert!(!publisher.has("one/a.bin"));
    marked[0] ^= 1;
    fs::write(&part, &marked).unwrap();
    publisher.succeeds(get);
    let got = fs::read(publisher.path("one/a.bin")).unwrap();
    assert_eq!(got[0], marked[0], "the file was copied from its beginning");
    assert_eq!(got[1..], body[1..]);
    assert_eq!(publisher.server.requests(), [""; 0]);
    publisher.succeeds("datasets remove one");
    // a file that was replaced in the meantime is not joined with the old one
    kill(&mut limited);
    let other: Vec<u8> = body.iter().rev().copied().collect();
    fs::remove_file(&copy).unwrap();
    crate::support::files::write(&copy, &other);
    publisher.succeeds(get);
    assert_eq!(fs::read(publisher.path("one/a.bin")).unwrap(), other);
}

#[test]
fn a_download_that_only_had_to_be_checked_is_not_fetched_again() {
    let body = content();
    let publisher = Publisher::of_one(&body);
    for name in ["a.bin.part", "a.bin"] {
        crate::support::files::write(&publisher.path("one/.get").join(name), &body);
        publisher.succeeds("datasets get one");
        assert_eq!(publisher.server.requests(), [""; 0]);
        assert_eq!(fs::read(publisher.path("one/a.bin")).unwrap(), body);
        publisher.succeeds("datasets remove one");
    }
}

/// The number of images in a directory.
fn images(dir: &Path) -> usize {
    fs::read_dir(dir).map_or(0, |entries| entries.count())
}

#[test]
fn a_killed_unpacking_goes_on_and_the_archive_is_not_fetched_again() {
    const COUNT: usize = 3_000;
    let names: Vec<String> = (0..COUNT).map(|n| format!("images/I{n:04}")).collect();
    let entries: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), name.as_bytes()))
        .collect();
    let mut publisher = Publisher::new();
    publisher.dataset("one", "task = \"images\"").file(
        "a.zip",
        &zip(&entries),
        "unpack = [{ from = \"images/\", to = \"images/\" }]",
    );
    let dir = publisher.path("one/images");
    let mut kills = 0;
    for at in [1, COUNT / 10, COUNT / 3, COUNT / 2] {
        kills += usize::from(kill_when(&publisher, || images(&dir) >= at));
        if kills > 0 {
            assert!(!publisher.has("one/dataset.toml") || images(&dir) == COUNT);
        }
    }
    assert!(kills > 0, "no process was killed in time");
    publisher.succeeds("datasets get one");
    assert_eq!(publisher.server.requests(), ["/a.zip"]);
    assert_eq!(images(&dir), COUNT);
    for name in &names {
        let content = fs::read_to_string(publisher.path("one").join(name)).unwrap();
        assert_eq!(content, *name);
    }
    assert!(!publisher.has("one/.get"));
}

#[test]
fn two_processes_do_not_get_the_same_data_set() {
    let publisher = stalling(&content());
    let part = publisher.path("one/.get/a.bin.part");
    let mut tried = false;
    assert!(kill_when(&publisher, || {
        let has_begun = fs::metadata(&part).is_ok_and(|part| part.len() == 7_000);
        if has_begun && !tried {
            tried = true;
            for line in ["datasets get one", "datasets remove one"] {
                publisher.refuses(line, "another riposte is getting or removing");
            }
        }
        tried
    }));
    publisher.succeeds("datasets remove one");
}
