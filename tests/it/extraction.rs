//! Extraction: interrupted and divided extractions give the same evidence, broken input is named, and only changed documents are computed again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::collection::documents;
use crate::support::evidence::{assert_computed, contents, golden_copy};
use crate::support::files::{copy, entries, name, text};
use crate::support::need::{Model, need};
use crate::support::program::{code, riposte, stderr, succeed};
use crate::support::runs::images;
use crate::support::{assert_says, sample, wait};

/// The number of stored documents; 0 if there is no store yet.
fn stored_documents(evidence: &Path) -> i64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let count = |store: rusqlite::Connection| {
        store.query_row("SELECT count(*) FROM document", [], |row| row.get(0))
    };
    let store = rusqlite::Connection::open_with_flags(evidence, flags);
    store.and_then(count).unwrap_or(0)
}

/// A collection with ten copies of each document of the sample, so that its extraction takes long enough to be interrupted.
fn ten_samples(dir: &Path) {
    fs::create_dir(dir).unwrap();
    fs::copy(sample().join("topics.xml"), dir.join("topics.xml")).unwrap();
    for document in documents(sample()) {
        let prefix = dir.join("images").join(name(document.parent().unwrap()));
        let stem = &name(&document)[..15];
        for number in 10..20 {
            copy(&document, &prefix.join(format!("{stem}{number}")));
        }
    }
}

#[test]
fn an_extraction_killed_and_resumed_gives_the_same_evidence_and_run() {
    let home = TempDir::new().unwrap();
    let input = home.path().join("input");
    ten_samples(&input);
    let whole = home.path().join("whole.sqlite");
    let (_, run) = images(home.path(), &input, &["--evidence", text(&whole)]);
    let run = run.unwrap();

    let total = documents(&input).len() as i64;
    let cut = home.path().join("cut.sqlite");
    let mut interrupted = false;
    for _ in 0..20 {
        let _ = fs::remove_file(&cut);
        let args = ["extract", "-i", text(&input), "--evidence", text(&cut)];
        let mut command = riposte(home.path(), &args);
        command.args(["--threads", "1"]).stderr(Stdio::null());
        wait::kill_when(command.spawn().unwrap(), || stored_documents(&cut) > 0);
        let count = stored_documents(&cut);
        if count > 0 && count < total {
            interrupted = true;
            break;
        }
    }
    assert!(
        interrupted,
        "twenty extractions ended before they could be killed"
    );
    let (output, resumed) = images(home.path(), &input, &["--evidence", text(&cut)]);
    let error = stderr(&output);
    let new: i64 = error
        .lines()
        .find_map(|l| {
            l.split(" images, ")
                .nth(1)?
                .split(" of them new")
                .next()?
                .parse()
                .ok()
        })
        .unwrap();
    assert!(new < total, "{error}");
    assert_eq!(resumed.unwrap(), run);
    assert_eq!(contents(&cut), contents(&whole));
}

#[cfg(unix)]
#[test]
fn control_c_stops_without_a_run_and_says_how_to_continue() {
    let home = TempDir::new().unwrap();
    let input = home.path().join("input");
    ten_samples(&input);
    let (evidence, out) = (home.path().join("e.sqlite"), home.path().join("out"));
    for _ in 0..20 {
        let _ = fs::remove_file(&evidence);
        let mut command = riposte(home.path(), &["images", "-i", text(&input)]);
        command
            .args(["-o", text(&out), "--evidence", text(&evidence)])
            .args(["--threads", "1"])
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        wait::until("a document, or the end", || {
            stored_documents(&evidence) > 0 || child.try_wait().unwrap().is_some()
        });
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        if code(&output) == 0 {
            // the signal came after the last image
            let _ = fs::remove_dir_all(&out);
            continue;
        }
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert_says(&stderr(&output), &["the same command continues from there"]);
        assert!(!out.join("run.txt").exists());
        return;
    }
    panic!("twenty extractions ended before they could be stopped");
}

#[test]
fn merged_shards_are_the_whole_evidence() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    for (shard, file) in [("1/3", "a"), ("2/3", "b"), ("3/3", "c")] {
        let args = ["extract", "-i", text(sample()), "--shard", shard];
        let mut command = riposte(home.path(), &args);
        succeed(command.args(["--evidence", text(&path(file))]));
    }
    let files = ["all", "a", "b", "c"].map(path);
    succeed(riposte(home.path(), &["merge"]).args(&files));
    let (_, run) = images(home.path(), sample(), &["--evidence", text(&path("whole"))]);
    let (output, joined) = images(home.path(), sample(), &["--evidence", text(&path("all"))]);
    assert_computed(&output, 0);
    assert_eq!(joined, run);
    assert_eq!(contents(&path("all")), contents(&path("whole")));
}

#[test]
fn documents_with_the_same_picture_have_the_same_evidence_extracted_together_or_apart() {
    let Some(ocr) = need(Model("ppocr-v4")) else {
        return;
    };
    let models = ocr.dir.parent().unwrap();
    let home = TempDir::new().unwrap();
    let input = home.path().join("collection");
    copy(sample(), &input);
    let all = documents(&input);
    let image = |document: &Path| {
        let mut files = entries(document);
        files.retain(|path| path.file_stem().is_some_and(|stem| stem == "image"));
        files
    };
    // documents of two groups: the first group is stored before the second begins
    let (first, second, third) = (&all[1], &all[12], &all[13]);
    let pixels = image::open(&image(first)[0]).unwrap().to_rgb8();
    for file in [first, second, third].into_iter().flat_map(|d| image(d)) {
        fs::remove_file(file).unwrap();
    }
    pixels.save(first.join("image.png")).unwrap();
    fs::copy(first.join("image.png"), second.join("image.png")).unwrap();
    // other bytes, and without loss the same pixels
    pixels.save(third.join("image.webp")).unwrap();
    let path = |name: &str| home.path().join(name);
    let extract = |file: &str, more: &[&str]| {
        let evidence = path(file);
        let mut command = riposte(home.path(), &["extract", "-i", text(&input)]);
        command
            .args(["--limit", "16", "--threads", "1"])
            .args(["--evidence", text(&evidence)])
            .args(more)
            .env("RIPOSTE_MODELS", models);
        stderr(&succeed(&mut command))
    };
    let said = extract("together", &[]);
    let copied = "2 of these have the pixels of another image, which was read once";
    assert!(said.contains(copied), "{said}");
    extract("apart", &["--shard", "1/2"]);
    extract("apart", &["--shard", "2/2"]);
    let together = contents(&path("together"));
    assert!(together.iter().any(|row| row.starts_with("ocr_line ")));
    assert_eq!(together, contents(&path("apart")));
}

#[test]
fn broken_input_is_named_and_the_rest_of_the_document_is_used() {
    let home = TempDir::new().unwrap();
    let broken = home.path().join("broken");
    copy(sample(), &broken);
    let documents = documents(&broken);
    let page = |n: usize| entries(&documents[n].join("pages")).remove(0);
    fs::write(documents[0].join("image.webp"), b"RIFF\x10\0\0\0WEBPVP8L").unwrap();
    fs::remove_dir_all(documents[1].join("pages")).unwrap();
    fs::write(
        page(2).join("snapshot/dom.html"),
        b"<html><p>caf\xe9 \xff\xfe",
    )
    .unwrap();
    fs::write(
        page(3).join("rankings.jsonl"),
        "{\"query\":\"x\",\"topic\":\"1\",\"rank\":1}\nnonsense\n",
    )
    .unwrap();
    fs::write(page(4).join("snapshot/dom.html"), "").unwrap();
    fs::remove_file(documents[5].join("image.webp")).unwrap();
    fs::write(documents[6].join("image.webp"), "<html>404</html>").unwrap();
    fs::create_dir_all(broken.join("images/unknown")).unwrap();
    let (output, run) = images(home.path(), &broken, &["-v"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let error = stderr(&output);
    for (document, part) in [
        (0, "image.webp: "),
        (1, ": no page"),
        (3, "rankings.jsonl:2: "),
        (4, "dom.html: empty file"),
        (5, ": no image file"),
        (6, "image.webp: "),
    ] {
        let id = name(&documents[document]);
        assert!(
            error
                .lines()
                .any(|line| line.contains(id) && line.contains(part)),
            "{id} {part}: {error}"
        );
    }
    assert!(error.contains("images/unknown"), "{error}");
    assert!(!run.unwrap().is_empty());
    // the faults are stored with the evidence
    let (output, _) = images(home.path(), &broken, &["-v"]);
    assert_eq!(code(&output), 0);
    assert_computed(&output, 0);
    assert!(stderr(&output).contains("dom.html: empty file"));
}

#[test]
fn only_what_another_producer_has_made_is_computed_again() {
    let home = TempDir::new().unwrap();
    let evidence = golden_copy(home.path());
    let before = contents(&evidence);
    let connection = rusqlite::Connection::open(&evidence).unwrap();
    let changed = connection
        .execute(
            "UPDATE work SET producer = 'vader/0' WHERE channel = 'vader' AND document IN
             (SELECT document FROM document ORDER BY document LIMIT 3)",
            [],
        )
        .unwrap();
    assert_eq!(changed, 3);
    connection
        .execute("UPDATE vader SET compound = 9", [])
        .unwrap();
    drop(connection);
    let (output, _) = images(home.path(), sample(), &["--evidence", text(&evidence)]);
    assert_computed(&output, 3);
    let nines = |rows: &[String]| {
        rows.iter()
            .filter(|r| r.starts_with("vader") && r.contains("Real(9.0)"))
            .count()
    };
    let after = contents(&evidence);
    let vader = before.iter().filter(|r| r.starts_with("vader")).count();
    let kept = nines(&after);
    assert!(
        kept > 0 && kept < vader,
        "{kept} of {vader} values were kept"
    );
    let others = |rows: Vec<String>| {
        rows.into_iter()
            .filter(|r| !r.starts_with("vader"))
            .collect::<Vec<_>>()
    };
    assert_eq!(others(after), others(before));
}

#[test]
fn where_the_cache_cannot_be_written_the_evidence_goes_to_a_temporary_directory() {
    let home = TempDir::new().unwrap();
    let (nowhere, temporary) = (home.path().join("nowhere"), home.path().join("temporary"));
    fs::write(&nowhere, "a file, so no directory can be made in it").unwrap();
    fs::create_dir_all(&temporary).unwrap();
    let out = home.path().join("out");
    let args = ["images", "-i", text(sample()), "-o", text(&out)];
    let mut command = riposte(home.path(), &args);
    command
        .args(["--limit", "3"])
        .env("XDG_CACHE_HOME", nowhere.join("cache"))
        .env("TMPDIR", &temporary);
    let output = succeed(&mut command);
    assert_says(
        &stderr(&output),
        &["note: the cache directory cannot be written"],
    );
    assert!(out.join("run.txt").exists());
    assert!(name(&entries(&temporary)[0]).starts_with("riposte"));
}
