//! Damage to the files of an index never changes a ranking silently. It is an error that names the file and says what to delete, or riposte
//! builds the index again with a note that names the file, or the ranking does not read the file.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use riposte::Event;
use riposte::events::OnEvent;
use riposte::index::images::{self, ImageIndex};
use riposte::index::inverted::{self, IndexKind, InvertedIndex, TextCollection};
use riposte_eval::DocId;

use crate::index_files::{effort, open, ranked};
use crate::index_images::{Evidence, scores};
use crate::support::chance::Chance;
use crate::support::collection::{arguments, words, write_topic};
use crate::support::files::{copy, entries, name, text};
use crate::support::program::{code, rank_arguments, riposte, stderr, succeed, typed};
use crate::support::{assert_says, golden_evidence, sample};

/// The number of flipped bits for each kind of index: of texts and of images.
const FLIPS: usize = 1000;

/// An index, with a copy from which it is restored.
struct Index {
    place: PathBuf,
    whole: PathBuf,
    /// The files that are not empty.
    files: Vec<PathBuf>,
}

impl Index {
    fn new(place: PathBuf) -> Self {
        let whole = place.with_extension("whole");
        copy(&place, &whole);
        let mut files = entries(&place);
        files.retain(|file| fs::metadata(file).unwrap().len() > 0);
        assert!(files.len() >= 8, "{files:?}");
        Index {
            place,
            whole,
            files,
        }
    }

    fn restore(&self) {
        let _ = fs::remove_dir_all(&self.place);
        copy(&self.whole, &self.place);
    }

    /// Flips one bit at a time, in all files in turn. `read` returns the data that a run reads, or the error.
    fn flip_bits<T: PartialEq>(&self, whole: &T, read: &dyn Fn() -> anyhow::Result<T>) {
        let mut chance = Chance(1716);
        let (mut errors, mut same) = (0, 0);
        for flip in 0..FLIPS {
            let file = &self.files[flip % self.files.len()];
            let before = fs::read(file).unwrap();
            let (at, bit) = (chance.below(before.len()), chance.below(8));
            let mut bytes = before.clone();
            bytes[at] ^= 1 << bit;
            fs::write(file, bytes).unwrap();
            let what = format!("bit {bit} of byte {at} of {}", name(file));
            match read() {
                Ok(found) => {
                    assert!(found == *whole, "{what} has changed a ranking");
                    same += 1;
                }
                Err(error) => {
                    let said = format!("{error:#}");
                    assert!(said.contains(name(file)), "{what}: {said}");
                    assert!(said.contains("delete the directory"), "{what}: {said}");
                    errors += 1;
                }
            }
            fs::write(file, before).unwrap();
        }
        println!("{FLIPS} flipped bits: {errors} errors, {same} equal runs");
        assert!(errors > FLIPS / 2, "{errors}");
    }

    /// Cuts, empties and deletes each file, and flips a bit in it. `open` opens or builds the index, and returns the data that a run reads.
    fn cut_and_delete<T: PartialEq>(
        &self,
        whole: &T,
        mut open: impl FnMut(&mut OnEvent) -> anyhow::Result<T>,
    ) {
        let (mut rebuilt, mut same) = (0, 0);
        for file in &self.files {
            for damage in [
                "last byte",
                "half",
                "all but five bytes",
                "everything",
                "deleted",
                "flipped",
            ] {
                self.restore();
                let length = fs::metadata(file).unwrap().len();
                let cut = |length| {
                    let file = OpenOptions::new().write(true).open(file).unwrap();
                    file.set_len(length).unwrap();
                };
                match damage {
                    "last byte" => cut(length - 1),
                    "half" => cut(length / 2),
                    "all but five bytes" => cut(5),
                    "everything" => cut(0),
                    "deleted" => fs::remove_file(file).unwrap(),
                    _ => {
                        let mut bytes = fs::read(file).unwrap();
                        bytes[length as usize / 3] ^= 1;
                        fs::write(file, bytes).unwrap();
                    }
                }
                let what = format!("{}, {damage}", name(file));
                let mut notes = Vec::new();
                let found = open(&mut |event| {
                    notes.extend(damage_of(&event));
                });
                match found {
                    Ok(found) => assert!(found == *whole, "{what} has changed a ranking"),
                    // a stored text is verified when it is read
                    Err(error) => {
                        let said = format!("{error:#}");
                        assert!(
                            damage == "flipped" && said.contains(name(file)),
                            "{what}: {said}"
                        );
                        continue;
                    }
                }
                match &notes[..] {
                    [] => same += 1,
                    [note] => {
                        assert!(note.contains(name(file)), "{what}: {note}");
                        rebuilt += 1;
                    }
                    _ => panic!("{what}: {notes:?}"),
                }
            }
        }
        println!("{rebuilt} indexes rebuilt, {same} equal runs");
        assert!(rebuilt >= 5 * (self.files.len() - 2), "{rebuilt}");
        self.restore();
    }
}

fn read_texts(place: &Path) -> anyhow::Result<impl PartialEq + use<>> {
    InvertedIndex::open(place).and_then(|index| ranked(&index))
}

#[test]
fn a_flipped_bit_in_an_index_of_texts_is_found_or_changes_nothing() {
    let (dir, collection) = arguments(300);
    let place = dir.path().join("index");
    drop(open(&collection, &place).unwrap());
    let index = Index::new(place.clone());
    let whole = read_texts(&place).unwrap();
    index.flip_bits(&whole, &|| read_texts(&place));
    assert!(read_texts(&place).unwrap() == whole);
}

/// What the note about a damaged index says.
fn damage_of(event: &Event) -> Option<String> {
    let Event::Note(note) = event else {
        return None;
    };
    let what = note.text.strip_prefix("rebuilding the index: ");
    what.map(str::to_owned)
}

fn open_texts(
    collection: &TextCollection,
    place: &Path,
    on_event: &mut OnEvent,
) -> anyhow::Result<impl PartialEq + use<>> {
    let analyzer = "stem=snowball".parse().unwrap();
    let index = InvertedIndex::open_or_build(collection, &analyzer, place, effort(2), on_event)?;
    ranked(&index)
}

#[test]
fn an_index_of_texts_with_a_cut_or_missing_file_is_built_anew() {
    let (dir, collection) = arguments(100);
    let place = dir.path().join("index");
    let whole = open_texts(&collection, &place, &mut |_| ()).unwrap();
    let index = Index::new(place.clone());
    index.cut_and_delete(&whole, |on_event| open_texts(&collection, &place, on_event));
}

/// The checksum does not cover the version, which comes after the content of a file.
#[test]
fn a_segment_file_with_another_format_version_is_named() {
    let (dir, collection) = arguments(100);
    let place = dir.path().join("index");
    let whole = open_texts(&collection, &place, &mut |_| ()).unwrap();
    let index = Index::new(place.clone());
    let (current, former) = (b"\"index_format_version\":7", b"\"index_format_version\":3");
    let mut kinds = BTreeSet::new();
    for file in &index.files {
        index.restore();
        let mut bytes = fs::read(file).unwrap();
        let at = bytes
            .windows(current.len())
            .rposition(|part| part == current);
        let Some(at) = at else { continue };
        bytes[at..at + former.len()].copy_from_slice(former);
        fs::write(file, bytes).unwrap();
        let checked = InvertedIndex::check(&place).map(|_| ());
        for result in [InvertedIndex::open(&place).map(|_| ()), checked] {
            let said = format!("{:#}", result.unwrap_err());
            assert!(said.contains(name(file)), "{}: {said}", name(file));
            assert!(said.contains("delete the directory"), "{said}");
        }
        let mut note = String::new();
        let rebuilt = open_texts(&collection, &place, &mut |event| {
            note.extend(damage_of(&event));
        });
        assert!(rebuilt.unwrap() == whole);
        assert!(note.contains(name(file)), "{}: {note}", name(file));
        kinds.insert(name(file).split_once('.').unwrap().1.to_owned());
    }
    let all = ["fast", "fieldnorm", "idx", "pos", "store", "term"];
    assert_eq!(kinds, all.map(String::from).into());
}

/// Evidence about images with random words, and their ids.
fn images(path: &Path) -> (Evidence, Vec<DocId>) {
    let mut evidence = Evidence::new(path);
    let mut chance = Chance(3);
    for n in 0..200 {
        let (ocr, title) = (words(&mut chance, 12), words(&mut chance, 6));
        evidence.write(&format!("I{n:04}"), ocr, title);
    }
    let ids = evidence.words.keys().cloned().map(DocId).collect();
    (evidence, ids)
}

#[test]
fn a_flipped_bit_in_an_index_of_images_is_found_or_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (mut evidence, ids) = images(&home.path().join("e.sqlite"));
    let place = home.path().join("e.index");
    let whole = scores(&evidence.index(&place).0);
    let read = || {
        let index = InvertedIndex::open(&place)?;
        Ok(scores(&ImageIndex::new(index, ids.iter().cloned())))
    };
    Index::new(place.clone()).flip_bits(&whole, &read);
}

#[test]
fn an_index_of_images_with_a_cut_or_missing_file_is_built_anew() {
    let home = tempfile::tempdir().unwrap();
    let (mut evidence, ids) = images(&home.path().join("e.sqlite"));
    let place = home.path().join("e.index");
    let whole = scores(&evidence.index(&place).0);
    let index = Index::new(place.clone());
    index.cut_and_delete(&whole, |on_event| {
        let (inverted, _) = images::open(
            &mut evidence.store,
            &place,
            &images::analyzer(),
            effort(2),
            on_event,
        )?;
        Ok(scores(&ImageIndex::new(inverted, ids.iter().cloned())))
    });
}

/// Damages the first file of an index whose name has this end. Returns its name.
fn damage(place: &Path, end: &str, cut: bool) -> String {
    let mut files = entries(place).into_iter();
    let file = files.find(|file| name(file).ends_with(end)).unwrap();
    damage_file(&file, cut);
    name(&file).to_owned()
}

/// Cuts off the last five bytes of a file, or flips bits everywhere in its first half.
fn damage_file(file: &Path, cut: bool) {
    let mut bytes = fs::read(file).unwrap();
    if cut {
        bytes.truncate(bytes.len() - 5);
    } else {
        let half = bytes.len() / 2;
        bytes[..half]
            .iter_mut()
            .step_by(100)
            .for_each(|byte| *byte ^= 8);
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_run_builds_a_damaged_index_of_texts_anew_and_a_check_reports_it() {
    let (dir, _) = arguments(200);
    let home = dir.path();
    write_topic(home);
    let (place, out) = (home.join("indexes"), home.join("out"));
    let rank = || {
        let mut command = rank_arguments(home, home, &out);
        command.args(["--approach", "bm25", "--index"]).arg(&place);
        command.arg("--explain").arg(out.join("explain.jsonl"));
        command
    };
    let index = |option: &[&str]| {
        let mut command = riposte(
            home,
            &["index", "-i", text(home), "--approach", "bm25", "--index"],
        );
        command.arg(&place).args(option);
        command
    };
    succeed(&mut rank());
    let run = fs::read(out.join("run.txt")).unwrap();
    let analyzer = "stop=lucene stem=porter".parse().unwrap();
    let directory = inverted::directory(
        &place.join("workspace.sqlite"),
        IndexKind::Arguments,
        &analyzer,
    );
    for (end, cut) in [
        (".term", true),
        (".idx", false),
        (".store", true),
        ("meta.json", true),
    ] {
        let file = damage(&directory, end, cut);
        let checked = index(&["--check"]).output().unwrap();
        let said = stderr(&checked);
        assert_eq!(code(&checked), 2, "{said}");
        assert_says(&said, &[&file, "delete the directory"]);
        let said = stderr(&succeed(&mut rank()));
        assert_says(&said, &["rebuilding the index", &file]);
        assert_eq!(fs::read(out.join("run.txt")).unwrap(), run, "{file}");
        succeed(&mut index(&["--check"]));
        let said = stderr(&succeed(&mut rank()));
        assert!(!said.contains("rebuilding"), "{said}");
    }
    let file = damage(&directory, ".pos", true);
    let said = stderr(&succeed(&mut index(&[])));
    assert_says(&said, &["rebuilding the index", &file]);
}

#[test]
fn a_run_that_reads_a_damaged_text_builds_the_index_anew() {
    let (dir, _) = arguments(200);
    let home = dir.path();
    write_topic(home);
    let (place, out) = (home.join("indexes"), home.join("out"));
    let rank = || {
        let mut command = rank_arguments(home, home, &out);
        command.arg("--index").arg(&place);
        command
    };
    succeed(&mut rank());
    let run = fs::read(out.join("run.txt")).unwrap();
    let mut indexes = entries(&place).into_iter();
    let directory = indexes.find(|path| path.is_dir()).unwrap();
    // the files of all segments are damaged, because only the texts of the first documents are read
    let stores: Vec<PathBuf> = entries(&directory)
        .into_iter()
        .filter(|file| name(file).ends_with(".store"))
        .collect();
    stores.iter().for_each(|file| damage_file(file, false));
    let said = stderr(&succeed(&mut rank()));
    let is_named = stores.iter().any(|file| said.contains(name(file)));
    assert!(said.contains("rebuilding the index") && is_named, "{said}");
    assert_eq!(fs::read(out.join("run.txt")).unwrap(), run);
}

#[test]
fn an_image_run_builds_a_damaged_index_anew() {
    let home = tempfile::tempdir().unwrap();
    let (evidence, out) = (home.path().join("e.sqlite"), home.path().join("out"));
    fs::copy(golden_evidence(), &evidence).unwrap();
    let args = typed(
        "images -i {} -o {} --evidence",
        &[text(sample()), text(&out)],
    );
    let rank = || riposte(home.path(), &args).arg(&evidence).output().unwrap();
    let first = rank();
    let run = fs::read(out.join("run.txt")).unwrap();
    let place = inverted::directory(&evidence, IndexKind::Images, &images::analyzer());
    for (end, cut) in [(".fast", true), (".idx", false), ("meta.json", true)] {
        let file = damage(&place, end, cut);
        let output = rank();
        let said = stderr(&output);
        assert_eq!(code(&output), code(&first), "{said}");
        assert_says(&said, &["rebuilding the index", &file]);
        assert_eq!(fs::read(out.join("run.txt")).unwrap(), run, "{file}");
    }
}
