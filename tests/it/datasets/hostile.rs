//! Archives that want to write elsewhere, or too much.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::{Publisher, zip};

const IMAGES: &str = "unpack = [{ from = \"images/\", to = \"images/\" }]";

fn publisher(name: &str, archive: &[u8], more: &str) -> Publisher {
    let mut publisher = Publisher::new();
    publisher
        .dataset("one", "task = \"images\"")
        .file(name, archive, &format!("{more}\n{IMAGES}"));
    publisher
}

/// Gets an archive that must be refused for this reason, and must have left nothing outside the directory of the data set.
#[track_caller]
fn refused(name: &str, archive: &[u8], why: &str) {
    let publisher = publisher(name, archive, "");
    let said = publisher.refuses("datasets get one", why);
    assert!(!said.contains('\u{1b}'), "{said:?}");
    assert!(!publisher.has("one/dataset.toml") && !publisher.has("evil"));
    assert!(!publisher.dir.path("evil").exists());
    publisher.refuses("images -i one -o out", "only partly here");
    publisher.succeeds("datasets remove one");
    assert!(!publisher.has("one"));
}

/// A tar archive with an entry of any name and kind.
fn tar(name: &str, kind: tar::EntryType, link: &str, content: &[u8]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, kind, content) in [
        ("images/good", tar::EntryType::Regular, &b"good"[..]),
        (name, kind, content),
    ] {
        let mut header = tar::Header::new_ustar();
        // the functions for names refuse hostile ones
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, content).unwrap();
    }
    tar.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

#[test]
fn names_that_lead_out_of_the_directory_are_refused() {
    for name in ["../evil", "../../evil", "/tmp/evil", "images/../../evil"] {
        let why = "would lead out of the directory";
        refused("a.zip", &zip(&[("images/a", b"a"), (name, b"evil")]), why);
        let evil = tar(name, tar::EntryType::Regular, "", b"evil");
        refused("a.tar", &evil, why);
        refused("a.tar.gz", &gzip(&evil), why);
    }
    refused(
        "a.zip",
        &zip(&[("images/a\u{1b}[2Jb", b"a")]),
        "characters that some systems",
    );
    refused("a.zip", &zip(&[("images//a", b"a")]), "an empty part");
}

#[test]
fn links_and_devices_are_refused() {
    let mut linked = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    linked.add_symlink("images/link", "/etc", options).unwrap();
    let linked = linked.finish().unwrap().into_inner();
    let why = "images/link is a link or a device";
    refused("a.zip", &linked, why);
    use tar::EntryType::{Block, Char, Fifo, Link, Symlink};
    for kind in [Link, Symlink, Char, Block, Fifo] {
        refused("a.tar", &tar("images/link", kind, "/etc/passwd", b""), why);
    }
}

#[test]
fn an_archive_that_grows_too_much_is_refused() {
    let zeros = vec![0; 3 << 20];
    let archive = zip(&[("images/zeros", &zeros)]);
    let publisher = publisher("a.zip", &archive, "unpacked = 1000000");
    publisher.refuses("datasets get one", "more than 2000000 bytes come out of it");
    assert!(!publisher.has("one/images/zeros") && !publisher.has("one/dataset.toml"));
}

#[test]
fn a_damaged_entry_and_an_archive_of_something_else_are_refused() {
    let noise = super::content();
    let mut archive = zip(&[("images/a", &noise)]);
    let middle = archive.len() / 2;
    archive[middle] ^= 0xff;
    refused("a.zip", &archive, "the entry images/a is damaged");
    refused("a.zip", b"<html>503</html>", "cannot unpack");
    refused("a.tar.gz", b"<html>503</html>", "cannot unpack");
    refused(
        "a.zip",
        &zip(&[("other/a", b"a")]),
        "nothing of what the catalogue wants",
    );
}

#[test]
fn a_tar_archive_is_unpacked_with_or_without_a_directory_around_all() {
    for prefix in ["", "touche/", "./"] {
        let name = format!("{prefix}images/a");
        let archive = gzip(&tar(&name, tar::EntryType::Regular, "", b"content"));
        let publisher = publisher("a.tar.gz", &archive, "");
        publisher.succeeds("datasets get one");
        assert_eq!(
            fs::read(publisher.path("one/images/a")).unwrap(),
            b"content"
        );
        assert_eq!(
            fs::read(publisher.path("one/images/good")).unwrap(),
            b"good"
        );
    }
}
