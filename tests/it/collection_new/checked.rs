//! `riposte collection check` names what is broken in a collection.

use std::fs;

use super::{images, run};
use crate::support::files::{copy, entries, text};
use crate::support::program::WorkDir;
use crate::support::{assert_says, sample};

#[test]
fn check_names_each_fault_on_a_line() {
    let dir = WorkDir::new();
    let made = dir.path("made");
    copy(sample(), &made);
    let images = images(&made);
    let page = |n: usize| entries(&images[n].join("pages")).remove(0);
    fs::write(images[0].join("image.webp"), "<!DOCTYPE html><p>gone").unwrap();
    fs::remove_file(images[1].join("image.webp")).unwrap();
    fs::write(page(2).join("snapshot/dom.html"), "").unwrap();
    fs::write(page(3).join("rankings.jsonl"), "{\"query\":\n").unwrap();
    fs::write(images[4].join("image-phash.txt"), "0101").unwrap();
    fs::remove_dir_all(images[5].join("pages")).unwrap();
    fs::write(page(6).join("snapshot/image-xpath.txt"), "\n").unwrap();
    fs::write(made.join("images/stray"), "").unwrap();
    let twice = "<topics><topic><number>1</number><title>a</title></topic><topic><number>1</number><title>b</title></topic></topics>";
    fs::write(made.join("topics.xml"), twice).unwrap();
    let mut judged = dir.read("made/qrels.txt");
    judged.push_str("1 MAYBE I0 1\n1 PRO I0 many\n1 PRO I0 1\n1 PRO\n");
    fs::write(made.join("qrels.txt"), judged).unwrap();
    let (code, said) = run(&dir, "collection check made");
    assert_eq!(code, 1, "{said}");
    for fault in [
        "an HTML page, not an image",
        "no image file",
        "dom.html: empty file",
        "rankings.jsonl:1: not",
        "not 64 characters of 0 and 1",
        ": no page",
        "the file has no XPath",
        "stray: not a directory named I",
        "topic number 1 occurs twice",
        "MAYBE is none of ONTOPIC, PRO and CON",
        "the grade many is not a number",
        "image I0 is not in the collection",
        "not \"topic ONTOPIC|PRO|CON image grade\"",
    ] {
        assert_eq!(said.matches(fault).count(), 1, "{fault} in {said}");
    }
    assert_says(
        &said,
        &[
            "made: 66 images, ",
            "13 faults: layout 6, image 3, page 2, xpath 1, rankings 1",
        ],
    );
    let (code, said) = run(&dir, &format!("collection check {}", text(sample())));
    assert_eq!(code, 0, "{said}");
}
