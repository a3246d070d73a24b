//! The evidence store on disk: damage never changes an answer, damaged evidence is computed again if possible, and a store that cannot be written
//! is not changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use riposte::collection::images::CrawlRank;
use riposte::collection::{Fault, FaultKind};
use riposte::evidence::clip::ImageVectors;
use riposte::evidence::ocr::OcrLine;
use riposte::evidence::page::PageWords;
use riposte::evidence::picture::PictureStatistics;
use riposte::evidence::store::{NewEvidence, Provenance, Store, is_damaged_record};
use riposte::evidence::{
    AfinnValence, Evidence, PageEvidence, PartValue, SentenceVector, TextPart, VaderValence,
};
use riposte::recipes::channels::CHANNELS;
use riposte_eval::DocId;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::chance::Chance;
use crate::support::collection::words;
use crate::support::evidence::{assert_computed, contents, extract, golden_copy};
use crate::support::files::text;
use crate::support::program::{code, riposte, stderr, succeed, typed};
use crate::support::runs::images;
use crate::support::{assert_says, golden_evidence, message, root, sample};

/// A store with each kind of evidence about invented documents, large enough for B-trees of several levels.
pub(crate) fn small_store(path: &Path, documents: usize) {
    let mut chance = Chance(16);
    let mut store = Store::open(path, CHANNELS).unwrap();
    for n in 0..documents {
        store.write(&[record(&mut chance, n)]).unwrap();
    }
}

/// Each kind of evidence about an invented document.
fn record(c: &mut Chance, n: usize) -> NewEvidence {
    let vector = |chance: &mut Chance| -> Vec<f32> {
        (0..64).map(|_| chance.fraction() as f32 - 0.5).collect()
    };
    let page = PageEvidence {
        id: "P1".to_owned(),
        url: format!("https://example.org/{n}"),
        words: PageWords {
            title: words(c, 5),
            main: words(c, 150),
            ..PageWords::default()
        },
        rankings: vec![CrawlRank {
            query: words(c, 3),
            topic: n.to_string(),
            rank: 1 + n as u32,
        }],
    };
    let line = OcrLine {
        text: words(c, 6),
        confidence: c.fraction() as f32,
        corners: [(1.0, 2.5); 4],
        block: 0,
    };
    let picture = PictureStatistics {
        width: 640,
        phash: n as u64,
        brightness: c.fraction() as f32,
        height: 480,
        text_fraction: 0.1,
        contrast: 0.2,
        saturation: 0.3,
        colourfulness: 12.5,
        red: 0.1,
        green: 0.2,
        blue: 0.3,
        bright: 0.4,
        dark: 0.5,
        average: [1, 2, 3],
        colours: 99,
        edges: 0.6,
        flat: 0.7,
        photograph: 0.8,
    };
    let of_part = |part: TextPart| (if part == TextPart::Ocr { "" } else { "P1" }).to_owned();
    let mut sentences = Vec::new();
    let (mut vader, mut afinn) = (Vec::new(), Vec::new());
    for part in [TextPart::Ocr, TextPart::Title, TextPart::Near] {
        let page = of_part(part);
        let value = SentenceVector(vector(c));
        sentences.push(PartValue {
            page: page.clone(),
            part,
            value,
        });
        let value = VaderValence(c.fraction());
        vader.push(PartValue {
            page: page.clone(),
            part,
            value,
        });
        let value = AfinnValence { sum: 2.0, words: 3 };
        afinn.push(PartValue { page, part, value });
    }
    let path = PathBuf::from(format!("page {n}"));
    let fault = Fault::in_file(FaultKind::Page, &path, "broken");
    let fault = fault.of(&DocId(format!("I{n:016x}")));
    let mut made = CHANNELS
        .iter()
        .map(|channel| (channel.name(), made(channel.name())))
        .collect::<BTreeMap<_, _>>();
    made.get_mut("afinn").unwrap().faults.push(fault);
    let mut evidence = Evidence::of(DocId(format!("I{n:016x}")));
    evidence.url = format!("https://example.org/{n}.png");
    evidence.put(vec![page]);
    evidence.put(vec![line]);
    evidence.put(picture);
    evidence.put(ImageVectors([Some(vector(c)), None]));
    evidence.put(sentences);
    evidence.put(vader);
    evidence.put(afinn);
    NewEvidence {
        evidence,
        made,
        fingerprint: format!("f{n}"),
        files: None,
    }
}

fn made(producer: &str) -> Provenance {
    Provenance {
        producer: producer.to_owned(),
        ..Provenance::default()
    }
}

fn ids(documents: usize) -> Vec<DocId> {
    (0..documents)
        .map(|n| DocId(format!("I{n:016x}")))
        .collect()
}

/// All data that can be read about the documents, as text.
pub(crate) fn everything(path: &Path, ids: &[DocId]) -> anyhow::Result<String> {
    let store = Store::open_to_read(path, CHANNELS)?;
    let mut all = String::new();
    let mut say = |said: std::fmt::Arguments| all.push_str(&format!("{said}\n"));
    let mut documents: Vec<_> = store.stored_documents()?.into_iter().collect();
    documents.sort_by(|a, b| a.0.cmp(&b.0));
    say(format_args!("{documents:?}"));
    for id in ids {
        say(format_args!("{:?}", store.read(id)?));
        say(format_args!("{:?}", store.neighbours(&[id], CHANNELS)?));
        say(format_args!("{:?}", store.backend(id, "ocr")?));
    }
    let neighbours: Vec<&DocId> = ids.iter().collect();
    say(format_args!(
        "{:?}",
        store.neighbours(&neighbours, CHANNELS)?
    ));
    for channel in CHANNELS {
        say(format_args!("{:?}", store.producer(channel.name())?));
    }
    say(format_args!("{:?}", store.faults()?));
    say(format_args!("{:?}", store.perceptual_hashes()?));
    let documents: Vec<DocId> = store.text_hashes()?.into_iter().map(|(id, _)| id).collect();
    say(format_args!("{documents:?}"));
    store.each_crawl_rank(|id, rank| say(format_args!("{id} {rank:?}")))?;
    Ok(all)
}

#[test]
fn the_evidence_of_neighbouring_documents_is_that_of_each() {
    const DOCUMENTS: usize = 20;
    let home = TempDir::new().unwrap();
    let path = home.path().join("e.sqlite");
    small_store(&path, DOCUMENTS);
    let store = Store::open_to_read(&path, CHANNELS).unwrap();
    let ids = ids(DOCUMENTS);
    let each = |id: &DocId| store.neighbours(&[id], CHANNELS).unwrap();
    let single: Vec<Evidence> = ids.iter().flat_map(each).collect();
    let all: Vec<&DocId> = ids.iter().collect();
    assert_eq!(
        format!("{:?}", store.neighbours(&all, CHANNELS).unwrap()),
        format!("{single:?}")
    );
    let unknown = DocId("J".to_owned());
    let words = store
        .neighbours(&[&ids[3], &ids[4], &unknown], CHANNELS)
        .unwrap();
    let nothing = Evidence::default();
    assert_eq!(
        format!("{words:?}"),
        format!("{:?}", [&single[3], &single[4], &nothing])
    );
    assert!(store.neighbours(&[], CHANNELS).unwrap().is_empty());
}

/// The number of flipped bits; each must be noticed.
const FLIPS: usize = 1000;

#[test]
fn no_flipped_bit_in_a_store_changes_what_is_read_in_silence() {
    const DOCUMENTS: usize = 60;
    let home = TempDir::new().unwrap();
    let path = home.path().join("e.sqlite");
    small_store(&path, DOCUMENTS);
    let ids = ids(DOCUMENTS);
    let whole = everything(&path, &ids).unwrap();
    let bytes = fs::read(&path).unwrap();
    let mut chance = Chance(1);
    let (mut errors, mut records) = (0, 0);
    for _ in 0..FLIPS {
        let (at, bit) = (chance.below(bytes.len()), chance.below(8));
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << bit;
        fs::write(&path, flipped).unwrap();
        match everything(&path, &ids) {
            Ok(read) => assert!(
                read == whole,
                "byte {at}, bit {bit}: the answer has changed"
            ),
            Err(error) => {
                let message = format!("{error:#}");
                assert!(
                    message.contains("e.sqlite"),
                    "byte {at}, bit {bit}: {message}"
                );
                errors += 1;
                records += usize::from(is_damaged_record(&error));
            }
        }
    }
    assert!(
        errors > FLIPS / 4 && records > FLIPS / 5,
        "{errors} errors, {records} of them about records"
    );
}

#[test]
fn a_run_over_a_store_with_a_flipped_bit_is_the_same_run_or_an_error() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("e.sqlite");
    fs::copy(golden_evidence(), &path).unwrap();
    let args = ["--evidence", text(&path)];
    let golden = fs::read_to_string(root().join("tests/golden/riposte.txt")).unwrap();
    assert_eq!(images(home.path(), sample(), &args).1.unwrap(), golden);
    let bytes = fs::read(&path).unwrap();
    let mut chance = Chance(2);
    let mut errors = 0;
    for _ in 0..30 {
        let (at, bit) = (chance.below(bytes.len()), chance.below(8));
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << bit;
        fs::write(&path, flipped).unwrap();
        let (output, run) = images(home.path(), sample(), &args);
        match run {
            Some(run) => assert!(run == golden, "byte {at}, bit {bit}: the run has changed"),
            None => {
                assert_eq!(code(&output), 2, "byte {at}, bit {bit}");
                let said = stderr(&output);
                assert!(said.contains("e.sqlite"), "byte {at}, bit {bit}: {said}");
                errors += 1;
            }
        }
    }
    assert!(errors > 0);
}

/// Changes stored evidence like damage of the disk, which no trigger notices.
fn damage(evidence: &Path, change: &str) {
    let connection = Connection::open(evidence).unwrap();
    let triggers: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for trigger in triggers {
        connection
            .execute_batch(&format!("DROP TRIGGER {trigger}"))
            .unwrap();
    }
    assert!(connection.execute(change, []).unwrap() > 0);
}

#[test]
fn damaged_records_are_computed_anew_and_named() {
    let home = TempDir::new().unwrap();
    let path = golden_copy(home.path());
    let before = contents(&path);
    damage(
        &path,
        "UPDATE vader SET compound = 0.123 WHERE document = (SELECT min(document) FROM vader)",
    );
    damage(
        &path,
        "DELETE FROM vader WHERE document = (SELECT max(document) FROM vader)",
    );
    let output = succeed(&mut extract(home.path(), sample(), &path));
    assert_computed(&output, 2);
    let said = stderr(&output);
    assert_says(&said, &["damaged records in", "(vader)"]);
    assert_eq!(contents(&path), before);
    assert_computed(&succeed(&mut extract(home.path(), sample(), &path)), 0);
    // a ranking reads the table of pictures
    damage(&path, "UPDATE picture SET phash = '00000000000000ff'");
    let golden = fs::read_to_string(root().join("tests/golden/riposte.txt")).unwrap();
    let (output, run) = images(home.path(), sample(), &["--evidence", text(&path)]);
    assert!(stderr(&output).contains("(picture)"), "{}", stderr(&output));
    assert_eq!(run.unwrap(), golden);
    assert_eq!(contents(&path), before);
}

/// The limit of steps depends on the size of the file, which is empty at first.
#[test]
fn a_batch_of_records_can_be_larger_than_the_store() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("e.sqlite");
    let mut chance = Chance(17);
    let records: Vec<NewEvidence> = (0..12_000).map(|n| record(&mut chance, n)).collect();
    let mut store = Store::open(&path, CHANNELS).unwrap();
    store.write(&records).unwrap();
    assert_eq!(store.stored_documents().unwrap().len(), records.len());
}

/// A flipped bit in the header of a record changes the type of a value: a text becomes a blob, in any column of any table.
#[test]
fn extract_repairs_a_value_that_has_become_another_type_in_any_column() {
    let home = TempDir::new().unwrap();
    // no model is installed, so everything in this store can be computed again
    let path = home.path().join("e.sqlite");
    succeed(&mut extract(home.path(), sample(), &path));
    let (before, whole) = (contents(&path), fs::read(&path).unwrap());
    for (table, columns) in columns(&path) {
        fs::write(&path, &whole).unwrap();
        change_types(&path, &table, &columns);
        succeed(&mut extract(home.path(), sample(), &path));
        assert_eq!(contents(&path), before, "{table}");
        assert_readable(home.path(), &path);
    }
}

#[test]
fn a_value_of_another_type_that_cannot_be_computed_again_is_named_and_stays() {
    let home = TempDir::new().unwrap();
    let path = golden_copy(home.path());
    let (before, whole) = (contents(&path), fs::read(&path).unwrap());
    let mut named = Vec::new();
    for (table, columns) in columns(&path) {
        fs::write(&path, &whole).unwrap();
        change_types(&path, &table, &columns);
        let damaged = contents(&path);
        let output = extract(home.path(), sample(), &path).output().unwrap();
        if output.status.success() {
            assert_eq!(contents(&path), before, "{table}");
            assert_readable(home.path(), &path);
        } else {
            let what = ["e.sqlite: the record of I", "cannot be computed again"];
            assert_says(&stderr(&output), &what);
            assert_eq!(contents(&path), damaged, "{table}");
            named.push(table);
        }
    }
    // a model writes these tables, or reads them, and without its checksum nobody knows whether a record is right
    let needed = [
        "afinn",
        "checksum",
        "crawl_rank",
        "document",
        "full_title",
        "ocr_block",
        "ocr_line",
        "page",
        "sentence",
        "work",
    ];
    assert_eq!(named, needed);
}

/// Gives a value in each column of a table another type, each in another document as long as there are enough.
fn change_types(evidence: &Path, table: &str, columns: &[(String, String)]) {
    for (at, (column, kind)) in columns.iter().enumerate() {
        let other = if kind == "BLOB" { "TEXT" } else { "BLOB" };
        let change = format!(
            "WITH left AS (SELECT DISTINCT document FROM {table} WHERE typeof(document) = 'text')
             UPDATE {table} SET {column} = CAST({column} AS {other}) WHERE {column} IS NOT NULL AND document =
             (SELECT document FROM left LIMIT 1 OFFSET {at} % (SELECT count(*) FROM left))"
        );
        damage(evidence, &change);
    }
}

fn assert_readable(home: &Path, evidence: &Path) {
    let out = home.join("exported");
    let export = [
        "export",
        "evidence",
        "--evidence",
        text(evidence),
        "-o",
        text(&out),
    ];
    succeed(&mut riposte(home, &export));
}

/// The columns of each table about documents that has rows, with their types, the id of the document last.
fn columns(evidence: &Path) -> Vec<(String, Vec<(String, String)>)> {
    let connection = Connection::open(evidence).unwrap();
    let sql = "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c
               WHERE m.type = 'table' AND m.name NOT IN ('output') ORDER BY m.name, c.cid DESC";
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut tables: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    while let Some(row) = rows.next().unwrap() {
        let of_table = tables.entry(row.get(0).unwrap()).or_default();
        of_table.push((row.get(1).unwrap(), row.get(2).unwrap()));
    }
    let count = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    tables.retain(|table, _| count(table) > 0);
    assert!(tables.len() > 6, "{tables:?}");
    tables.into_iter().collect()
}

#[test]
fn a_damaged_record_that_cannot_be_computed_anew_is_an_error_and_stays() {
    let home = TempDir::new().unwrap();
    let path = golden_copy(home.path());
    damage(
        &path,
        "UPDATE sentence SET vector = zeroblob(length(vector))",
    );
    let before = contents(&path);
    let (output, run) = images(home.path(), sample(), &["--evidence", text(&path)]);
    assert_eq!((code(&output), run), (2, None));
    let said = stderr(&output);
    assert_says(&said, &["e.sqlite", "sentence cannot be computed again"]);
    assert_eq!(contents(&path), before);
}

#[test]
fn a_report_from_a_damaged_store_is_an_error_that_names_the_record() {
    let home = TempDir::new().unwrap();
    let path = golden_copy(home.path());
    images(home.path(), sample(), &["--evidence", text(&path)]);
    let out = home.path().join("out");
    let report = home.path().join("report");
    let inspect = || {
        let args = typed(
            "inspect {} -i {} -o {} --evidence {}",
            &[text(&out), text(sample()), text(&report), text(&path)],
        );
        riposte(home.path(), &args).output().unwrap()
    };
    assert_eq!(code(&inspect()), 0);
    damage(&path, "UPDATE page SET title = 'Another title'");
    let output = inspect();
    let said = stderr(&output);
    assert_eq!(code(&output), 2, "{said}");
    assert_says(
        &said,
        &[
            "e.sqlite",
            "in the table page is damaged: `riposte extract`",
        ],
    );
}

#[test]
fn a_store_that_is_cut_short_is_an_error_that_says_what_to_do() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("e.sqlite");
    small_store(&path, 20);
    let bytes = fs::read(&path).unwrap();
    for length in [bytes.len() - 1, bytes.len() - 4096, bytes.len() / 2, 5000] {
        fs::write(&path, &bytes[..length]).unwrap();
        for message in [
            message(Store::open(&path, CHANNELS)),
            message(Store::open_to_read(&path, CHANNELS)),
        ] {
            assert!(
                message.contains("e.sqlite") && message.contains("delete it, and the next run"),
                "{length}: {message}"
            );
        }
    }
    for garbage in ["not a database", &"not a database".repeat(500)] {
        fs::write(&path, garbage).unwrap();
        for message in [
            message(Store::open(&path, CHANNELS)),
            message(Store::open_to_read(&path, CHANNELS)),
        ] {
            assert_says(&message, &["e.sqlite is not an evidence store"]);
        }
    }
}
