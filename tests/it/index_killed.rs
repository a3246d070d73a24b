//! riposte is killed while it builds or updates an index. The next run gives the same results as without the kill.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use riposte::collection::arguments::ArgumentCollection;
use riposte::evidence::store::Store;
use riposte::index::images::{self, ImageIndex, IndexChanges};
use riposte::index::inverted::{self, IndexKind, TextCollection};
use riposte::recipes::channels::CHANNELS;
use riposte_eval::DocId;

use crate::index_files::{arguments, effort, words};
use crate::index_images::{Evidence, scores};
use crate::search::built;
use crate::support::chance::Chance;
use crate::support::files::{copy, entries, text};
use crate::support::program::{collection_tools, rank_arguments, riposte, succeed, typed};
use crate::support::{golden_evidence, sample};

/// The directories in which an index is being built, or was being built when riposte was killed.
fn unfinished(dir: &Path) -> Vec<PathBuf> {
    let mut paths = entries(dir);
    paths.retain(|path| text(path).contains(".building-"));
    paths
}

#[test]
fn a_killed_build_leaves_nothing_that_is_taken_for_an_index() {
    let home = tempfile::tempdir().unwrap();
    let (made, indexes) = (home.path().join("made"), home.path().join("indexes"));
    let args = ["generate-arguments", "--count", "3000", text(&made)];
    succeed(&mut collection_tools(&args));
    // the analyzer of the approach bm25
    let analyzer = "stop=lucene stem=porter";
    let place = inverted::directory(
        &indexes.join("workspace.sqlite"),
        IndexKind::Arguments,
        &analyzer.parse().unwrap(),
    );
    let (input, index) = (text(&made), text(&indexes));
    let args = typed(
        "index --quiet=progress --approach bm25 -i {} --index {}",
        &[input, index],
    );
    let mut command = riposte(home.path(), &args);
    command.stdout(Stdio::null());
    fs::create_dir(&indexes).unwrap();
    let has_written = || {
        let mut dirs = unfinished(&indexes).into_iter();
        // the directory gets its final name when the build is finished
        dirs.any(|dir| fs::read_dir(dir).is_ok_and(|mut files| files.next().is_some()))
    };
    let mut killed = false;
    for _ in 0..20 {
        let mut child = command.spawn().unwrap();
        while !has_written() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed = !place.exists();
        if killed {
            break;
        }
        fs::remove_dir_all(&place).unwrap();
    }
    assert!(killed, "twenty builds ended before they could be killed");
    assert_eq!(unfinished(&indexes).len(), 1);
    let collection = TextCollection::Arguments(ArgumentCollection::open(&made).unwrap());
    let corpus = built(&collection, analyzer, &place);
    assert_eq!(corpus.documents(), 3000);
    assert!(unfinished(&indexes).is_empty());
}

/// The number of kills of a command.
const KILLS: u32 = 30;

/// Kills a command before it ends, at moments spread over the time that it takes. `prepare` is called before each start. After each kill, the
/// command is repeated without a kill, and `check` is called with the number of the kill.
fn kill_and_repeat(command: &mut Command, prepare: &mut dyn FnMut(), check: &mut dyn FnMut(u32)) {
    prepare();
    let start = Instant::now();
    succeed(command);
    let mut takes = start.elapsed();
    let mut kills = 0;
    while kills < KILLS {
        prepare();
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(takes * kills / KILLS);
        let ended = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        if ended {
            // the machine is faster now than when the time was measured
            takes = takes * 9 / 10;
            continue;
        }
        kills += 1;
        succeed(command.stderr(Stdio::piped()));
        check(kills);
    }
}

#[test]
fn a_build_killed_at_thirty_moments_gives_the_same_run_afterwards() {
    let (dir, _) = arguments(3000);
    let home = dir.path();
    let topics =
        "<topics><topic><number>1</number><title>word1 word2 word40</title></topic></topics>";
    fs::write(home.join("topics.xml"), topics).unwrap();
    let (kept, out) = (home.join("kept"), home.join("out"));
    let mut command = rank_arguments(home, home, &out);
    command.args(["--index", text(&kept), "--approach", "bm25"]);
    let mut runs: Vec<Vec<u8>> = Vec::new();
    kill_and_repeat(
        &mut command,
        &mut || {
            let _ = fs::remove_dir_all(&kept);
        },
        &mut |_| runs.push(fs::read(out.join("run.txt")).unwrap()),
    );
    assert!(runs[0].len() > 10_000 && runs.iter().all(|run| *run == runs[0]));
    assert!(unfinished(&kept).is_empty());
}

#[test]
fn an_update_killed_at_thirty_moments_gives_the_same_scores_afterwards() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("e.sqlite");
    let mut evidence = Evidence::new(&path);
    let mut chance = Chance(31);
    let ids: Vec<String> = (0..1500).map(|n| format!("I{n:04}")).collect();
    for id in &ids {
        let (ocr, title) = (words(&mut chance, 40), words(&mut chance, 6));
        evidence.write(id, ocr, title);
    }
    let place = inverted::directory(&path, IndexKind::Images, &images::analyzer());
    drop(evidence.index(&place));
    for id in ids.iter().step_by(3) {
        let (ocr, title) = (words(&mut chance, 40), words(&mut chance, 6));
        evidence.write(id, ocr, title);
    }
    let expected = scores(&evidence.index(&home.path().join("anew.index")).0);
    // when the update begins, the words have changed but the index has not, and the hash of some images is unknown
    let connection = rusqlite::Connection::open(&path).unwrap();
    let forget = "DELETE FROM text_hash WHERE document LIKE '%3'";
    assert_eq!(connection.execute(forget, []).unwrap(), 150);
    drop(connection);
    let Evidence { store, words } = evidence;
    drop(store);
    let collection = home.path().join("collection");
    fs::create_dir_all(collection.join("images")).unwrap();
    let saved = home.path().join("saved");
    copy(&place, &saved.join("index"));
    fs::copy(&path, saved.join("e.sqlite")).unwrap();
    let args = [
        "index",
        "--quiet=progress",
        "-i",
        text(&collection),
        "--evidence",
    ];
    let mut command = riposte(home.path(), &args);
    kill_and_repeat(
        command.arg(&path),
        &mut || {
            let _ = fs::remove_dir_all(&place);
            copy(&saved.join("index"), &place);
            // a killed process can leave a journal, which belongs to the replaced file
            let _ = fs::remove_file(home.path().join("e.sqlite-journal"));
            fs::copy(saved.join("e.sqlite"), &path).unwrap();
        },
        &mut |kill| {
            let mut store = Store::open(&path, CHANNELS).unwrap();
            let (corpus, updated) = images::open(
                &mut store,
                &place,
                &images::analyzer(),
                effort(1),
                &mut |_| (),
            )
            .unwrap();
            assert_eq!(updated, IndexChanges::default(), "kill {kill}");
            let ids = words.keys().cloned().map(DocId);
            let found = scores(&ImageIndex::new(corpus, ids));
            assert!(found == expected, "kill {kill}");
        },
    );
}

#[test]
fn a_run_killed_while_it_updates_the_index_is_the_same_when_it_is_repeated() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (evidence, out) = (at("e.sqlite"), at("out"));
    let args = [
        "images",
        "--quiet=progress",
        "-i",
        text(sample()),
        "-o",
        text(&out),
    ];
    let mut command = riposte(home.path(), &args);
    command.arg("--evidence").arg(&evidence);
    let run_file = out.join("run.txt");
    fs::copy(golden_evidence(), &evidence).unwrap();
    succeed(&mut command);
    let unchanged = fs::read(&run_file).unwrap();
    let connection = rusqlite::Connection::open(&evidence).unwrap();
    let sql = "UPDATE page SET title = 'zoos closed, cars banned from city centres', main = 'fireworks ' || main
               WHERE document IN (SELECT document FROM document ORDER BY document LIMIT 22)";
    assert!(connection.execute(sql, []).unwrap() >= 22);
    drop(connection);
    let place = inverted::directory(&evidence, IndexKind::Images, &images::analyzer());
    copy(&place, &at("saved"));
    fs::copy(&evidence, at("saved.sqlite")).unwrap();
    fs::remove_dir_all(&place).unwrap();
    succeed(&mut command);
    let expected = fs::read(&run_file).unwrap();
    assert!(expected != unchanged, "the change does not affect the run");
    kill_and_repeat(
        &mut command,
        &mut || {
            let _ = fs::remove_dir_all(&place);
            copy(&at("saved"), &place);
            let _ = fs::remove_file(at("e.sqlite-journal"));
            fs::copy(at("saved.sqlite"), &evidence).unwrap();
        },
        &mut |kill| assert!(fs::read(&run_file).unwrap() == expected, "kill {kill}"),
    );
}
