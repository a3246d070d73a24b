//! `riposte export`: plain runs, which ir_measures and ranx evaluate, and Parquet files, which pandas reads.

use riposte::recipes::channels::CHANNELS;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;

use crate::store::small_store;
use crate::support::chance::Chance;
use crate::support::files::{entries, gzip, name, text, write};
use crate::support::need::{OfficialRuns, Peer, need};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout, succeed};
use crate::support::{assert_close, assert_says, golden_evidence, root, sample};

/// For each directory, prints P@10 by ir_measures and by ranx for each kind of judgement, and P@10 of the PRO lists by ir_measures with the
/// judgements of stance.
const SCORE: &str = "
import sys, warnings
warnings.filterwarnings('ignore')
import ir_measures, ranx
from ir_measures import P
for folder in sys.argv[1:]:
    def peers(qrels, run):
        read = ir_measures.read_trec_qrels(qrels), ir_measures.read_trec_run(run)
        yield ir_measures.calc_aggregate([P@10], *read)[P@10]
        read = ranx.Qrels.from_file(qrels, kind='trec'), ranx.Run.from_file(run, kind='trec')
        yield ranx.evaluate(*read, 'precision@10', make_comparable=True)
    values = [v for q in ('topic', 'argumentative', 'stance') for v in peers(f'{folder}/{q}.qrels', f'{folder}/both.run')]
    judged = [q for q in ir_measures.read_trec_qrels(f'{folder}/stance.qrels') if q.query_id.endswith('-PRO')]
    values.append(ir_measures.calc_aggregate([P@10], judged, ir_measures.read_trec_run(f'{folder}/pro.run'))[P@10])
    print(*values)
";

/// A run, judgements, and more options of `export run` and `evaluate`.
struct Case {
    run: PathBuf,
    qrels: PathBuf,
    edition: &'static str,
    all_judged: bool,
}

/// Asserts that ir_measures and ranx compute the same values from each exported run as `riposte evaluate` from the image run.
fn assert_peers_agree(python: &Path, dir: &WorkDir, cases: &[Case]) {
    let mut command = Command::new(python);
    // ranx would compile its functions for minutes, and compute for milliseconds
    command.args(["-c", SCORE]).env("NUMBA_DISABLE_JIT", "1");
    let mut expected = Vec::new();
    for (n, case) in cases.iter().enumerate() {
        let out = dir.path(&format!("plain/{n}"));
        let (run, qrels) = (text(&case.run), text(&case.qrels));
        let mut args = vec!["export", "run", run, "-o", text(&out), "--qrels", qrels];
        args.extend(["--edition", case.edition]);
        let over = if case.all_judged {
            args.push("--all-judged");
            "(topics=judged"
        } else {
            "(topics=run"
        };
        succeed(&mut riposte(&dir.path(""), &args));
        command.arg(out);
        let wanted = [
            format!("topicRelevanceP{over})@10"),
            format!("argumentativenessP{over})@10"),
            format!("stanceRelevanceP{over})@10"),
            format!("stanceRelevanceP{over},list=PRO)@10"),
        ];
        let mut args = vec!["evaluate", qrels, run, "--edition", case.edition];
        args.extend(["--format", "tsv"]);
        args.extend(wanted.iter().map(String::as_str));
        let said = stdout(&succeed(&mut riposte(&dir.path(""), &args)));
        let values = said.lines().filter_map(|line| line.split_once("\tall\t"));
        let values: Vec<f64> = values.map(|(_, value)| value.parse().unwrap()).collect();
        let [topic, argues, stance, pro] = values.as_slice() else {
            panic!("{said}");
        };
        expected.push([topic, topic, argues, argues, stance, stance, pro].map(|value| *value));
    }
    let said = stdout(&succeed(&mut command));
    let found: Vec<Vec<f64>> = said
        .lines()
        .map(|line| line.split(' ').map(|v| v.parse().unwrap()).collect())
        .collect();
    assert_eq!(found.len(), cases.len());
    for ((found, expected), case) in found.iter().zip(&expected).zip(cases) {
        assert_eq!(found.len(), expected.len());
        for (peer, riposte) in found.iter().zip(expected) {
            let what = format!("{}\n{found:?}\n{expected:?}", case.run.display());
            assert_close(*peer, *riposte, &what);
        }
    }
    // many of riposte's values are neither 0 nor 1, so equal values show agreement
    let mut stances: Vec<f64> = expected.iter().map(|values| values[4]).collect();
    stances.retain(|value| *value > 0.0 && *value < 1.0);
    assert!(stances.len() * 2 > cases.len(), "{expected:?}");
}

/// Judgements and a run of invented images, with the peculiarities of submitted runs: short, long, missing and tied lists, ranks from 0, scores
/// that contradict ranks, topics that are not judged or not in the run, topics without a relevant image.
fn odd_run(chance: &mut Chance) -> (String, String) {
    let (mut run, mut qrels) = (String::new(), String::new());
    for topic in 1..7 {
        if chance.below(6) > 0 {
            let most = if chance.below(5) == 0 { 1 } else { 3 };
            for image in 0..12 {
                for question in ["ONTOPIC", "PRO", "CON"] {
                    if chance.below(8) > 0 {
                        let grade = chance.below(most);
                        writeln!(qrels, "{topic} {question} I{image:02} {grade}").unwrap();
                    }
                }
            }
        }
        // topic 1 is always in the run
        for stance in ["PRO", "CON"] {
            if topic > 1 && chance.below(3) == 0 {
                continue;
            }
            let mut images: Vec<usize> = (0..16).collect();
            let kind = chance.below(4);
            let first = chance.below(2);
            for rank in 0..1 + chance.below(15) {
                let image = images.swap_remove(chance.below(images.len()));
                let score = match kind {
                    // tied, rising, different only in more digits than a 32-bit float has, random
                    0 => 1.0,
                    1 => rank as f64,
                    2 => 100_000.0 - rank as f64 / 1000.0,
                    _ => chance.fraction(),
                };
                let rank = rank + first;
                writeln!(run, "{topic} {stance} I{image:02} {rank} {score} t").unwrap();
            }
        }
    }
    (run, qrels)
}

#[test]
fn ir_measures_and_ranx_score_exported_runs_as_riposte_does() {
    let (Some(python), Some(_)) = (need(Peer("ir_measures")), need(Peer("ranx"))) else {
        return;
    };
    let dir = WorkDir::new();
    let mut cases = Vec::new();
    for golden in ["riposte", "overlap", "minsc", "jester", "boromir-bert"] {
        cases.push(Case {
            run: root().join(format!("tests/golden/{golden}.txt")),
            qrels: sample().join("qrels.txt"),
            edition: "2022",
            all_judged: golden == "minsc",
        });
    }
    let mut chance = Chance(34);
    for n in 0..60 {
        let (run, qrels) = odd_run(&mut chance);
        let [run_file, qrels_file] = ["run", "qrels"].map(|kind| dir.path(&format!("{kind}-{n}")));
        write(&run_file, run);
        write(&qrels_file, qrels);
        cases.push(Case {
            run: run_file,
            qrels: qrels_file,
            edition: ["2022", "2023"][n % 2],
            all_judged: n % 3 == 0,
        });
    }
    assert_peers_agree(&python, &dir, &cases);
}

#[test]
fn ir_measures_and_ranx_score_official_runs_as_riposte_does() {
    let (Some(python), Some(_)) = (need(Peer("ir_measures")), need(Peer("ranx"))) else {
        return;
    };
    let Some(found) = need(OfficialRuns) else {
        return;
    };
    let case = |run| Case {
        run,
        qrels: found.qrels.clone(),
        edition: "2022",
        all_judged: false,
    };
    let cases: Vec<Case> = found.runs.into_values().map(case).collect();
    assert!(cases.len() >= 7);
    assert_peers_agree(&python, &WorkDir::new(), &cases);
}

const QRELS: &str =
    "1 ONTOPIC Ia 1\n1 PRO Ia 1\n1 CON Ia 0\n1 ONTOPIC Ib 0\n1 PRO Ib 2\n3 ONTOPIC Ia 1\n";

#[test]
fn an_exported_run_has_a_query_for_each_list_and_says_what_was_changed() {
    let run = "1 CON Ia 1 0.5 \"my tag\"\n1 PRO Ib 2 0.25 t\n1 PRO Ia 1 0.5 t\n\
               2 PRO Ib 1 7 t\n2 PRO Ic 2 7 t\n2 PRO Ib 3 6 t\nnonsense\n";
    let dir = WorkDir::with(&[
        ("run.txt.gz", &gzip(run)),
        ("qrels.txt", QRELS.as_bytes()),
        ("out/topic.qrels", b"old"),
        ("out/notes.txt", b"mine"),
    ]);
    let (exit, said, notes) = dir.run("export run run.txt.gz -o out --qrels qrels.txt");
    assert_eq!(exit, 0, "{notes}");
    assert!(said.contains("out/both.run: 3 queries, 5 images"), "{said}");
    assert!(said.contains("out/stance.qrels: 4 queries"), "{said}");
    for note in [
        "run.txt.gz:7: no stance or Q0",
        "1 lines repeat an image of their list",
        "1 lists whose scores do not strictly decrease with the ranks (as 32-bit floats): they get new scores that count down to 1 (2-PRO)",
        "1 topics without a PRO or a CON list: it counts as 0, and ranx needs make_comparable=True (2)",
        "1 topics with judgements that are not in the run: they are left out, as in the official measures (--all-judged counts them as 0) (3)",
        "1 topics without judgements: the files have no-judgement for them, so that they count as 0 (2)",
        "blanks in the run's tag are replaced by _",
    ] {
        assert!(notes.contains(note), "{note}\n{notes}");
    }
    let pro = "1-PRO Q0 Ia 1 0.500000 t\n1-PRO Q0 Ib 2 0.250000 t\n\
               2-PRO Q0 Ib 1 2.000000 t\n2-PRO Q0 Ic 2 1.000000 t\n";
    let con = "1-CON Q0 Ia 1 0.500000 my_tag\n";
    assert_eq!(dir.read("out/pro.run"), pro);
    assert_eq!(dir.read("out/con.run"), con);
    assert_eq!(dir.read("out/both.run"), format!("{pro}{con}"));
    let judged = |[pro, con]: [&str; 2]| {
        format!(
            "1-PRO 0 Ia {pro}\n1-PRO 0 Ib 0\n1-CON 0 Ia {con}\n1-CON 0 Ib 0\n\
             2-PRO 0 no-judgement 0\n2-CON 0 no-judgement 0\n"
        )
    };
    assert_eq!(dir.read("out/topic.qrels"), judged(["1", "1"]));
    assert_eq!(dir.read("out/argumentative.qrels"), judged(["1", "1"]));
    assert_eq!(dir.read("out/stance.qrels"), judged(["1", "0"]));
    assert_eq!(dir.read("out/notes.txt"), "mine");
    assert!(dir.path("out/faults.jsonl").exists());
    // there are no other files
    assert_eq!(entries(&dir.path("out")).len(), 8);
    let (exit, _, _) = dir.run("export run run.txt.gz -o all --qrels qrels.txt --all-judged");
    assert_eq!(exit, 0);
    let topics = dir.read("all/topic.qrels");
    let queries: Vec<&str> = topics
        .lines()
        .map(|l| l.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        queries,
        ["1-PRO", "1-PRO", "1-CON", "1-CON", "3-PRO", "3-CON"]
    );
}

#[test]
fn what_cannot_be_exported_is_refused_before_anything_is_written() {
    let dir = WorkDir::with(&[
        ("run.txt", b"1 PRO Ia 1 1 t\n"),
        ("text.qrels", b"1 0 Ia 1\n"),
        ("qrels.txt", QRELS.as_bytes()),
        ("nothing.txt", b"not a run\n"),
        ("in/both.run", b"1 PRO Ia 1 1 t\n"),
        ("in/stance.qrels", QRELS.as_bytes()),
    ]);
    for (line, why) in [
        (
            "run run.txt -o out --qrels text.qrels",
            "has no judgements of images",
        ),
        ("run nothing.txt -o out", "there is no line of an image run"),
        ("run missing.txt -o out", "missing.txt"),
        ("run in/both.run -o in", "would replace in/both.run"),
        (
            "run run.txt -o in --qrels in/stance.qrels",
            "would replace in/stance.qrels",
        ),
        ("run run.txt -o out --all-judged", "--qrels"),
        ("evidence -o out", "--input"),
        (
            "evidence --evidence missing.sqlite -o out",
            "there is no evidence store missing.sqlite",
        ),
    ] {
        let (exit, _, said) = dir.run(&format!("export {line}"));
        assert_eq!(exit, 2, "{line}: {said}");
        assert!(said.contains(why), "{line}: {said}");
        assert!(!dir.path("out").exists(), "{line}");
        assert_eq!(entries(&dir.path("in")).len(), 2);
        assert_eq!(dir.read("in/both.run"), "1 PRO Ia 1 1 t\n");
    }
}

/// Compares the Parquet files in a directory, read by pandas, with a store, read by Python's sqlite3. Prints the tables with their numbers
/// of rows, of vectors and of row groups.
const COMPARE: &str = "
import pathlib, sqlite3, sys
import numpy, pandas, pyarrow.parquet
store, folder = sqlite3.connect(sys.argv[1]), pathlib.Path(sys.argv[2])
types = {'TEXT': 'str', 'INTEGER': 'int64', 'REAL': 'float64', 'BLOB': 'object'}
for file in sorted(folder.iterdir()):
    table = file.stem
    info = store.execute(f'PRAGMA table_info({table})').fetchall()
    key = ', '.join(name for _, name, _, _, _, pk in sorted(info, key=lambda column: column[5]) if pk)
    rows = store.execute(f'SELECT * FROM {table} ORDER BY {key}').fetchall()
    frame = pandas.read_parquet(file)
    assert sorted(frame.columns) == sorted(column[1] for column in info), table
    assert len(frame) == len(rows), table
    vectors = 0
    for at, name, kind, _, _, _ in info:
        stored = [row[at] for row in rows]
        read = frame[name]
        if kind == 'BLOB':
            for blob, vector in zip(stored, read):
                expected = numpy.frombuffer(blob, '<f4')
                assert vector.dtype == numpy.float32 and numpy.array_equal(vector, expected), (table, name)
                vectors += 1
            continue
        if None in stored:
            read = read.astype(object).where(read.notna(), None)
        else:
            assert str(read.dtype) == types[kind], (table, name, read.dtype)
        assert read.tolist() == stored, (table, name)
    print(table, len(rows), vectors, pyarrow.parquet.ParquetFile(file).num_row_groups)
";

/// The tables that [`COMPARE`] has found equal, each with its numbers of rows, vectors and row groups.
fn compare(python: &Path, store: &Path, folder: &Path) -> BTreeMap<String, [usize; 3]> {
    let mut command = Command::new(python);
    command.args(["-c", COMPARE, text(store), text(folder)]);
    let said = stdout(&succeed(&mut command));
    let table = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let counts = [1, 2, 3].map(|at| fields[at].parse().unwrap());
        (fields[0].to_owned(), counts)
    };
    said.lines().map(table).collect()
}

/// The tables of a store that hold evidence: all but those in which riposte keeps its own records.
fn tables_of_evidence(store: &Path) -> BTreeSet<String> {
    let connection = Connection::open(store).unwrap();
    let mut tables = connection
        .prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN
             ('checksum', 'file_state', 'output', 'passed_over', 'text_hash')",
        )
        .unwrap();
    let names = tables.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

fn export_evidence(dir: &WorkDir, store: &Path, out: &str) -> (i32, String, String) {
    dir.run(&format!(
        "export evidence --evidence {} -o {out}",
        text(store)
    ))
}

#[test]
fn pandas_reads_in_exported_files_what_is_in_the_store() {
    let (Some(python), Some(_)) = (need(Peer("pandas")), need(Peer("pyarrow"))) else {
        return;
    };
    let dir = WorkDir::new();
    let [golden, made] = ["golden.sqlite", "made.sqlite"].map(|name| dir.path(name));
    fs::copy(golden_evidence(), &golden).unwrap();
    small_store(&made, 300);
    let connection = Connection::open(&made).unwrap();
    // more rows than fit into a row group, null in a column of numbers, an empty vector, and all kinds of texts
    connection
        .execute_batch(
            "INSERT INTO crawl_rank WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 70000)
                 SELECT 'I0000000000000007', 'P1', n, 'zoo ' || (n % 9), '', n * 100000000000 FROM n;
             INSERT INTO fault VALUES ('I0000000000000007', 'page', 0, 'page', 'a/b', 12, 'a ''quote'', a \"quote\",
                 a line, ' || char(0x1F981, 0xE9, 9));
             UPDATE clip SET vector = x'' WHERE document = 'I0000000000000007';
             UPDATE page SET title = '', names_image = 1, main = replace(hex(zeroblob(5000000)), '0', 'ä') WHERE document = 'I0000000000000007';",
        )
        .unwrap();
    drop(connection);
    for (store, out) in [(&golden, "golden"), (&made, "made")] {
        let (exit, said, errors) = export_evidence(&dir, store, out);
        assert_eq!(exit, 0, "{errors}");
        let tables = compare(&python, store, &dir.path(out));
        let exported: BTreeSet<String> = tables.keys().cloned().collect();
        assert_eq!(exported, tables_of_evidence(store));
        for (table, [rows, ..]) in &tables {
            let line = format!("{out}/{table}.parquet: {rows} rows\n");
            assert!(said.contains(&line), "{said}");
        }
        if out == "golden" {
            assert_eq!(tables["document"][0], 66);
            assert!(tables["sentence"][1] > 100, "{tables:?}");
        } else {
            assert_eq!(tables["clip"], [300, 300, 1]);
            assert_eq!(tables["fault"][0], 301);
            assert_eq!(tables["crawl_rank"][2], 2);
            // the texts have too many bytes for one row group
            assert_eq!(tables["page"][2], 2);
        }
    }
}

#[test]
fn evidence_is_exported_whole_or_not_at_all() {
    let dir = WorkDir::with(&[("out/page.parquet", b"old"), ("out/mine.txt", b"mine")]);
    let store = dir.path("e.sqlite");
    fs::copy(golden_evidence(), &store).unwrap();
    let untouched = |what: &str| {
        let names: Vec<PathBuf> = entries(&dir.path("out"));
        let names: Vec<&str> = names.iter().map(|path| name(path)).collect();
        assert_eq!(names, ["mine.txt", "page.parquet"], "{what}");
        assert_eq!(dir.read("out/page.parquet"), "old", "{what}");
    };
    let connection = Connection::open(&store).unwrap();
    let image: String = connection
        .query_row("SELECT max(document) FROM sentence", [], |row| row.get(0))
        .unwrap();
    for (damage, mend, why) in [
        (
            "UPDATE checksum SET sum = sum + 1 WHERE of_table = 'sentence' AND document = ?",
            "UPDATE checksum SET sum = sum - 1 WHERE of_table = 'sentence' AND document = ?",
            format!("the record of {image} in the table sentence is damaged"),
        ),
        (
            "UPDATE picture SET width = 'wide' WHERE document = ?",
            "UPDATE picture SET width = 1 WHERE document = ?",
            format!("the record of {image} in the table picture is damaged"),
        ),
    ] {
        connection.execute(damage, [&image]).unwrap();
        let (exit, _, said) = export_evidence(&dir, &store, "out");
        assert!(exit == 2 && said.contains(&why), "{said}");
        untouched(&why);
        connection.execute(mend, [&image]).unwrap();
    }
    connection.pragma_update(None, "user_version", 99).unwrap();
    let (exit, _, said) = export_evidence(&dir, &store, "out");
    assert!(exit == 2, "{said}");
    assert_says(&said, &["written by another version of riposte"]);
    untouched("another version");
    connection.pragma_update(None, "user_version", 1).unwrap();
    drop(connection);
    fs::create_dir(dir.path("out/vader.parquet")).unwrap();
    let (exit, _, said) = export_evidence(&dir, &store, "out");
    assert!(
        exit == 2 && said.contains("vader.parquet: it is a directory"),
        "{said}"
    );
    fs::remove_dir(dir.path("out/vader.parquet")).unwrap();
    untouched("a directory");
    // repeated exports have the same bytes
    for _ in 0..2 {
        assert_eq!(export_evidence(&dir, &store, "out").0, 0);
        let exported = tables_of_evidence(&store).len();
        assert_eq!(entries(&dir.path("out")).len(), 1 + exported);
        assert_eq!(dir.read("out/mine.txt"), "mine");
    }
    assert_eq!(export_evidence(&dir, &store, "again").0, 0);
    for path in entries(&dir.path("again")) {
        let before = dir.path("out").join(name(&path));
        assert_eq!(fs::read(&path).unwrap(), fs::read(before).unwrap());
    }
    // the store is not overwritten, even if it has the name of an exported file
    let inside = dir.path("out/page.parquet");
    fs::copy(&store, &inside).unwrap();
    let (exit, _, said) = export_evidence(&dir, &inside, "out");
    assert!(exit == 2 && said.contains("would replace"), "{said}");
}

#[test]
fn the_evidence_of_a_collection_is_where_the_other_commands_keep_it() {
    let dir = WorkDir::new();
    let home = dir.path("");
    let out = dir.path("out");
    let args = ["export", "evidence", "-i", text(sample()), "-o", text(&out)];
    let output = riposte(&home, &args).output().unwrap();
    let said = stderr(&output);
    assert_eq!(code(&output), 2, "{said}");
    let (_, path) = said.split_once("there is no evidence store ").unwrap();
    let (path, _) = path.split_once(": run `riposte extract`").unwrap();
    assert!(path.starts_with(text(&dir.path("cache"))), "{path}");
    fs::copy(golden_evidence(), path).unwrap();
    let said = stdout(&succeed(&mut riposte(&home, &args)));
    assert!(said.contains("document.parquet: 66 rows"), "{said}");
    // a store without evidence
    fs::remove_file(path).unwrap();
    drop(riposte::evidence::store::Store::open(Path::new(path), CHANNELS).unwrap());
    let output = riposte(&home, &args).output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("there is nothing to export"));
}
