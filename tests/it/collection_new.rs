//! `riposte collection new` makes collections of folders, saved pages, MHTML, WARC and WACZ, and `riposte collection check` says what is in them.

mod checked;
mod embedded;
mod folders;
mod mhtml;
mod warc;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use image::{ImageFormat, Rgb, RgbImage};

use crate::support::assert_says;
use crate::support::bounded::run_within;
use crate::support::files::{entries, name};
use crate::support::pictures::encoded;
use crate::support::program::{WorkDir, code, riposte, stderr, stdout};

pub const TOPICS: &str =
    "<topics><topic><number>7</number><title>Should zoos be closed?</title></topic></topics>";

/// A picture of 80 × 70 pixels. Each shade is another picture.
pub fn picture(shade: u8) -> Vec<u8> {
    encoded(
        RgbImage::from_pixel(80, 70, Rgb([shade, 90, 30])),
        ImageFormat::Png,
    )
}

/// A page that shows one picture, second in its paragraph, after words.
pub fn page(source: &str, words: &str) -> String {
    format!(
        "<!DOCTYPE html><html><head><title>{words}</title></head><body><p>{words} before</p>\
         <p><img src=\"nowhere.png\"><img src=\"{source}\" alt=\"cages\"></p><p>{words} after</p></body></html>"
    )
}

/// The images of a collection, in the order of their ids.
pub fn images(dir: &Path) -> Vec<PathBuf> {
    let prefixes = entries(&dir.join("images"));
    prefixes.iter().flat_map(|prefix| entries(prefix)).collect()
}

/// The texts of all files with this name, sorted.
pub fn texts(dir: &Path, wanted: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in entries(dir) {
        if entry.is_dir() {
            found.extend(texts(&entry, wanted));
        } else if name(&entry) == wanted {
            found.push(fs::read_to_string(entry).unwrap());
        }
    }
    found.sort();
    found
}

/// Runs a command within a time that is far above what it needs, and below what an endless one takes. Returns the exit code and all that it prints.
pub fn run(dir: &WorkDir, line: &str) -> (i32, String) {
    let args: Vec<&str> = line.split(' ').collect();
    let mut command = riposte(&dir.path("home"), &args);
    command.current_dir(dir.path(""));
    let output = run_within(Duration::from_secs(120), &mut command).output;
    (code(&output), stdout(&output) + &stderr(&output))
}

/// The collection is valid, is ranked for a topic, and a report shows it.
pub fn assert_is_used(dir: &WorkDir, collection: &str, images: usize) {
    let (code, said) = run(dir, &format!("collection check {collection}"));
    assert_eq!(code, 0, "{said}");
    let counted = format!("{collection}: {images} image");
    assert_says(&said, &[&counted]);
    fs::write(dir.path("topics.xml"), TOPICS).unwrap();
    dir.succeeds(&format!(
        "images --quiet=progress -i {collection} -o out-{collection} --topics topics.xml"
    ));
    let run_file = dir.read(&format!("out-{collection}/run.txt"));
    // two images need not fill both lists
    let is_ranked = ["7 PRO I", "7 CON I"]
        .iter()
        .any(|start| run_file.starts_with(start));
    assert!(is_ranked, "{run_file}");
    dir.succeeds(&format!(
        "inspect --quiet=progress out-{collection} -i {collection} --topics topics.xml -o report-{collection}"
    ));
    let report = dir.read(&format!("report-{collection}/index.html"));
    assert!(report.contains("Should zoos be closed?"));
}

/// The explanation of a rank says that the words near the picture match the topic.
pub fn assert_words_are_found(dir: &WorkDir, collection: &str) {
    let explain = format!("explain-{collection}.jsonl");
    dir.succeeds(&format!(
        "images --quiet=progress -i {collection} -o out-{collection} --topics topics.xml --explain {explain}"
    ));
    let explained = dir.read(&explain);
    let near = explained.split("\"bm25 near\",\"value\":").nth(1).unwrap();
    let weight: f64 = near.split(',').next().unwrap().parse().unwrap();
    assert!(weight > 0.0, "{explained}");
}
