//! The index of a text collection is built again if the content of the files has changed, whatever their times, and only then.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use riposte::index::inverted::InvertedIndex;
use riposte::workspace::Outputs;
use riposte::{Event, Progress};

use crate::index_files::{effort, open, ranked};
use crate::support::collection::{arguments, write_topic};
use crate::support::files::text;
use crate::support::program::{rank_arguments, riposte, stderr, succeed, typed};
use crate::support::{message, wait};

const REBUILDING: &str = "rebuilding the index, because the collection has changed";

/// The producer of the hashes of files.
const PRODUCER: &str = "machine/sha256/1";

/// A collection with an index that a first run has made.
struct Case {
    dir: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let (dir, _) = arguments(600);
        write_topic(dir.path());
        let case = Case { dir };
        // riposte stores the hash of a file only then
        wait::until_settled(&case.file());
        case.rank(&[]);
        case
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("args-me.json")
    }

    fn command(&self, input: &Path) -> Command {
        let home = self.dir.path();
        let mut command = rank_arguments(home, input, &home.join("out"));
        command.args(["--approach", "bm25", "--index"]);
        command.arg(home.join("indexes"));
        command
    }

    /// Ranks. Returns whether the index was built again, and the run.
    fn rank(&self, options: &[&str]) -> (bool, Vec<u8>) {
        self.rank_copy(self.dir.path(), options)
    }

    fn rank_copy(&self, input: &Path, options: &[&str]) -> (bool, Vec<u8>) {
        let said = stderr(&succeed(self.command(input).args(options)));
        let run = fs::read(self.dir.path().join("out/run.txt")).unwrap();
        (said.contains(REBUILDING), run)
    }

    fn workspace(&self) -> PathBuf {
        self.dir.path().join("indexes/workspace.sqlite")
    }

    /// The stored hash of the collection's only file, with its key.
    fn stored_hash(&self) -> (String, String) {
        let mut rows = Vec::new();
        let each = &mut |key: &str, hash: &[u8]| {
            rows.push((key.to_owned(), String::from_utf8_lossy(hash).into_owned()));
            Ok(())
        };
        let mut outputs = Outputs::open(&self.workspace()).unwrap();
        outputs.scan(PRODUCER, false, each).unwrap();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    }

    fn set_modified(&self, time: SystemTime) {
        let file = File::options().write(true).open(self.file()).unwrap();
        file.set_modified(time).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn an_edit_that_keeps_size_and_time_is_seen() {
    let case = Case::new();
    let (_, before) = case.rank(&[]);
    let modified = fs::metadata(case.file()).unwrap().modified().unwrap();
    let whole = fs::read_to_string(case.file()).unwrap();
    // a change far from both ends of the file
    let middle = whole.len() / 2;
    let (head, tail) = whole.split_at(middle);
    let edited = head.to_owned() + &tail.replacen("word1 ", "word2 ", 40);
    assert!(edited.len() == whole.len() && edited != whole && whole.len() > 1 << 17);
    fs::write(case.file(), edited).unwrap();
    case.set_modified(modified);
    let (rebuilt, after) = case.rank(&[]);
    assert!(rebuilt && after != before);
    assert_eq!(case.rank(&[]), (false, after));
}

#[test]
fn another_time_a_copy_and_another_directory_keep_the_index() {
    let case = Case::new();
    let (_, run) = case.rank(&[]);
    case.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    assert_eq!(case.rank(&[]), (false, run.clone()));
    // the file gets another inode
    let moved = case.dir.path().join("moved");
    fs::copy(case.file(), &moved).unwrap();
    fs::rename(moved, case.file()).unwrap();
    assert_eq!(case.rank(&[]), (false, run.clone()));
    let copy = case.dir.path().join("copy");
    fs::create_dir(&copy).unwrap();
    write_topic(&copy);
    fs::copy(case.file(), copy.join("args-me.json")).unwrap();
    assert_eq!(case.rank_copy(&copy, &[]), (false, run));
}

#[test]
fn a_file_is_hashed_again_only_if_it_may_have_changed_or_with_rehash() {
    let case = Case::new();
    let (_, run) = case.rank(&[]);
    // a run uses a forged hash with a correct checksum as long as the times of the file are the same; with --rehash it reads the file
    let (key, hash) = case.stored_hash();
    let forge = || {
        let wrong = [(&key, "0".repeat(64))];
        let mut outputs = Outputs::open(&case.workspace()).unwrap();
        outputs.put(PRODUCER, "", &wrong).unwrap();
    };
    forge();
    assert_eq!(case.rank(&["--rehash"]), (false, run.clone()));
    assert_eq!(case.stored_hash(), (key.clone(), hash));
    forge();
    assert_eq!(case.rank(&[]), (true, run.clone()));
    // a hash with a wrong checksum is ignored: the file is read, and its hash differs from the forged one that the index has recorded
    let connection = rusqlite::Connection::open(case.workspace()).unwrap();
    let damage = "UPDATE output SET checksum = checksum + 1";
    assert!(connection.execute(damage, []).unwrap() > 0);
    drop(connection);
    assert_eq!(case.rank(&[]), (true, run));
    // the command `index` also has the option
    let home = case.dir.path();
    let args = typed(
        "index -i {} --approach bm25 --rehash --index",
        &[text(home)],
    );
    let said = stderr(&succeed(riposte(home, &args).arg(home.join("indexes"))));
    assert!(!said.contains("rebuilding"), "{said}");
}

/// The ways in which a file can change while it is read. The number is different each time.
type Change = fn(&Path, usize);

const CHANGES: [(&str, Change); 5] = [
    ("replaced", |file, n| {
        let new = file.with_extension("new");
        fs::write(&new, other(file, n)).unwrap();
        fs::rename(new, file).unwrap();
    }),
    ("written over with the same size", |file, n| {
        fs::write(file, other(file, n)).unwrap();
    }),
    ("truncated", |file, _| {
        let length = fs::metadata(file).unwrap().len();
        let opened = File::options().write(true).open(file).unwrap();
        opened.set_len(length / 2).unwrap();
    }),
    ("appended to", |file, _| {
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, text + "\n").unwrap();
    }),
    ("removed", |file, n| {
        if n == 0 {
            fs::remove_file(file).unwrap();
        }
    }),
];

/// The content of the file with other words.
fn other(file: &Path, n: usize) -> String {
    let text = fs::read_to_string(file).unwrap();
    text.replace("word1 ", &format!("wor{}q ", n % 10))
}

#[test]
fn a_collection_that_changes_while_it_is_read_is_read_again_and_no_index_mixes_its_versions() {
    for (way, change) in CHANGES {
        for most in [1, usize::MAX] {
            let (dir, collection) = arguments(1500);
            let file = dir.path().join("args-me.json");
            let (place, analyzer) = (dir.path().join("index"), "stem=snowball".parse().unwrap());
            let mut changes = 0;
            let mut change_once_in_each_reading = true;
            let built = {
                let on_event = &mut |event: Event| match event {
                    Event::Progress(Progress::Items { done, .. }) if done < 600 => {
                        if change_once_in_each_reading && changes < most {
                            change(&file, changes);
                            changes += 1;
                        }
                        change_once_in_each_reading = false;
                    }
                    Event::Note(_) => change_once_in_each_reading = true,
                    _ => {}
                };
                InvertedIndex::open_or_build(&collection, &analyzer, &place, effort(2), on_event)
            };
            assert!(changes > 0, "{way}");
            if way == "removed" || most > 1 {
                let error = message(built.map(drop));
                assert!(error.contains("args-me.json"), "{way}: {error}");
                assert!(!place.exists(), "{way}: an index was kept");
                continue;
            }
            let new = open(&collection, &dir.path().join("new")).unwrap();
            let (built, expected) = (ranked(&built.unwrap()).unwrap(), ranked(&new).unwrap());
            assert_eq!(built.0, expected.0, "{way}");
            assert_eq!(built.1, expected.1, "{way}");
            // the index is that of the file as it is now
            open(&collection, &place).unwrap();
        }
    }
}
