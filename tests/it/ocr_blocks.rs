//! The reading order of text in images: the real models read pages with columns, panels and lists.

use std::path::Path;

use riposte::evidence::ocr::{self, OcrLine, PpOcr, TextReader};

use crate::ocr::ppocr;
use crate::support::need::{Data, Model, need};
use crate::support::program::{riposte, succeed};
use crate::support::{files, root};

fn lines_of(reader: &PpOcr, image: &Path) -> Vec<OcrLine> {
    reader
        .read(&image::open(image).unwrap().into_rgb8())
        .unwrap()
}

fn block_texts(lines: &[OcrLine]) -> Vec<String> {
    ocr::blocks(lines).map(|block| block.text()).collect()
}

/// The image of a page of tests/reference/column_pages.py, and its text.
fn page(name: &str) -> (std::path::PathBuf, String) {
    let path = root().join(format!("tests/it/data/columns-{name}.png"));
    let text = std::fs::read_to_string(path.with_extension("txt")).unwrap();
    (path, text)
}

/// The text with words joined that a hyphen divides. In these pages, each second half begins with a lower-case letter.
fn joined(text: &str) -> String {
    text.replace("-\n", "")
}

/// The edit distance divided by the length of the expected text. A run of blanks counts as one blank.
fn character_error_rate(read: &str, expected: &str) -> f64 {
    let fold = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .collect::<Vec<_>>()
    };
    let (read, expected) = (fold(read), fold(expected));
    let mut row: Vec<usize> = (0..=expected.len()).collect();
    for (i, a) in read.iter().enumerate() {
        let mut previous = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in expected.iter().enumerate() {
            let change = previous + usize::from(a != b);
            previous = row[j + 1];
            row[j + 1] = change.min(previous + 1).min(row[j] + 1);
        }
    }
    row[expected.len()] as f64 / expected.len() as f64
}

#[test]
fn columns_panels_and_lists_are_read_one_after_the_other() {
    let Some(reader) = ppocr() else { return };
    for name in [
        "article",
        "newspaper",
        "broadsheet",
        "pros-and-cons",
        "panels",
    ] {
        let (image, expected) = page(name);
        let read = block_texts(&lines_of(&reader, &image)).join("\n\n");
        let rate = character_error_rate(&read, &joined(&expected));
        // a reader that reads these pages row by row would have far higher rates
        assert!(rate <= 0.02, "{name}: {rate:.4}\n{read}");
    }
}

#[test]
fn headings_lists_and_panels_are_blocks_of_their_own() {
    let Some(reader) = ppocr() else { return };
    for name in ["article", "pros-and-cons", "panels"] {
        let (image, expected) = page(name);
        let read = block_texts(&lines_of(&reader, &image));
        let expected = joined(&expected);
        let expected: Vec<&str> = expected.trim().split("\n\n").collect();
        let first_word = |text: &&str| text.split_whitespace().next().map(str::to_owned);
        let firsts = |texts: &[&str]| texts.iter().map(first_word).collect::<Vec<_>>();
        let read: Vec<&str> = read.iter().map(String::as_str).collect();
        assert_eq!(firsts(&read), firsts(&expected), "{name}: {read:#?}");
    }
}

#[test]
fn a_scanned_page_with_columns_is_read_column_by_column() {
    let (Some(reader), Some(data)) = (ppocr(), need(Data("ocr"))) else {
        return;
    };
    let lines = lines_of(&reader, &data.join("tess-8071_093.3B.tif"));
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    // a hyphenated word ("How could she ex-" / "plain"), and a box that was found across two columns
    let blocks = block_texts(&lines);
    assert!(
        blocks
            .iter()
            .any(|text| text.contains("How could she explain"))
    );
    assert!(!texts.iter().any(|text| text.contains("know she wondered")));
}

#[test]
fn read_prints_blocks_with_empty_lines_between() {
    let Some(model) = need(Model("ppocr-v4")) else {
        return;
    };
    let models = model.path("det.onnx");
    let models = files::text(models.parent().and_then(Path::parent).unwrap());
    let home = tempfile::tempdir().unwrap();
    let (image, expected) = page("pros-and-cons");
    let output = succeed(&mut riposte(
        home.path(),
        &["read", "--models", models, "--text", files::text(&image)],
    ));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.trim(), expected.trim());

    let output = succeed(&mut riposte(
        home.path(),
        &["read", "--models", models, files::text(&image)],
    ));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["text"], expected.trim());
    let lines = object["lines"].as_array().unwrap();
    let numbers: Vec<u64> = lines
        .iter()
        .map(|line| line["block"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
}
