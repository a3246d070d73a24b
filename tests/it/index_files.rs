//! The index on disk: damaged, killed while it is made, wanted by several at once; and that of images, which follows its evidence.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use riposte::collection::arguments::ArgumentCollection;
use riposte::evidence::PageEvidence;
use riposte::evidence::ocr::OcrLine;
use riposte::evidence::page::PageWords;
use riposte::evidence::store::{ChannelOutput, Record, Store};
use riposte::index::corpus::{self, Corpus, Effort, Event, Kind, TextCollection};
use riposte::index::images::{self, Field, ImageIndex, Updated};
use riposte::index::search::{Cut, Part, Query};
use riposte::index::similarity::Similarity;
use riposte::trec::{DocId, ScoredDoc};
use serde_json::{Value, json};

const BM25: Similarity = Similarity::Bm25 { k1: 1.2, b: 0.75 };
const DIRICHLET: Similarity = Similarity::Dirichlet { mu: 100.0 };

/// Numbers without a pattern, the same for a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn words(&mut self, count: usize) -> String {
        let words = (0..count).map(|_| {
            let frequent = self.below(3) > 0;
            format!("word{} ", self.below(if frequent { 30 } else { 900 }))
        });
        words.collect()
    }
}

fn effort(threads: usize) -> Effort {
    Effort { threads, bytes: 1 }
}

/// A directory with so many arguments.
fn arguments(count: usize) -> (tempfile::TempDir, TextCollection) {
    let dir = tempfile::tempdir().unwrap();
    let mut chance = Chance(5);
    let arguments: Vec<Value> = (0..count)
        .map(|n| {
            let (text, conclusion) = (chance.words(60), chance.words(5));
            json!({"id": format!("a{n:05}"), "conclusion": conclusion, "premises": [{"text": text, "stance": "PRO"}]})
        })
        .collect();
    let whole = json!({ "arguments": arguments }).to_string();
    fs::write(dir.path().join("args-me.json"), whole).unwrap();
    let collection = TextCollection::Arguments(ArgumentCollection::open(dir.path()).unwrap());
    (dir, collection)
}

fn open(collection: &TextCollection, place: &Path) -> anyhow::Result<Corpus> {
    let analyzer = "stem=snowball".parse().unwrap();
    Corpus::open_or_build(collection, &analyzer, place, effort(2), &mut |_| ())
}

/// What a run reads of an index: rankings by two formulas, and the texts of the best.
fn ranked(corpus: &Corpus) -> anyhow::Result<(Vec<ScoredDoc>, Vec<Vec<String>>)> {
    let mut analyzer = corpus.meta().analyzer.build();
    let mut rankings = Vec::new();
    let mut texts = Vec::new();
    for (n, similarity) in [BM25, DIRICHLET, BM25, DIRICHLET].iter().enumerate() {
        let words = format!("word{n} word{} word{}", 10 + n, 100 * n);
        let parts = [(0, 1.0), (1, 0.5)];
        let parts =
            parts.map(|(field, weight)| Part::of_text(field, weight, &mut analyzer, &words));
        let query = Query {
            parts: parts.to_vec(),
        };
        let found = corpus.search(
            &query,
            similarity,
            Cut {
                short: true,
                ..Cut::default()
            },
        )?;
        for found in found.iter().take(5) {
            texts.push(corpus.document(&found.doc)?.texts);
        }
        rankings.extend(found);
    }
    Ok((rankings, texts))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_flipped_byte_is_an_error_that_names_the_file_or_changes_nothing() {
    let (dir, collection) = arguments(800);
    let place = dir.path().join("index");
    let whole = ranked(&open(&collection, &place).unwrap()).unwrap();
    assert!(whole.0.len() > 1000 && whole.1.len() == 20);
    let mut chance = Chance(17);
    let mut errors = 0;
    let files = files(&place);
    assert!(files.len() > 12, "{files:?}");
    for n in 0..300 {
        let file = &files[n % files.len()];
        let before = fs::read(file).unwrap();
        if before.is_empty() {
            continue;
        }
        let mut bytes = before.clone();
        let at = chance.below(bytes.len());
        bytes[at] ^= 1 + chance.below(255) as u8;
        fs::write(file, bytes).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        match open(&collection, &place).and_then(|corpus| ranked(&corpus)) {
            Ok(found) => {
                assert!(found == whole, "byte {at} of {name} changed a ranking");
                // no query here asks for all texts, only a writer needs the list of files, and not all of a footer matters
                let may_pass = name.ends_with(".store")
                    || name == ".managed.json"
                    || name != "meta.json" && at >= before.len() - footer_length(&before);
                assert!(may_pass, "byte {at} of {name}: no error");
            }
            Err(error) => {
                errors += 1;
                let said = format!("{error:#}");
                assert!(said.contains(name), "byte {at} of {name}: {said}");
                assert!(said.contains("delete the directory"), "{said}");
            }
        }
        fs::write(file, before).unwrap();
    }
    assert_eq!(ranked(&open(&collection, &place).unwrap()).unwrap(), whole);
    assert!(errors > 150, "only {errors} errors");
}

/// The bytes that tantivy appends to a file: a checksum and versions as JSON, their length, a magic number.
fn footer_length(file: &[u8]) -> usize {
    let end = file.len() - 4;
    let length = u32::from_le_bytes(file[end - 4..end].try_into().unwrap());
    length as usize + 8
}

#[test]
fn a_check_finds_what_a_ranking_does_not_read() {
    let (dir, collection) = arguments(300);
    let place = dir.path().join("index");
    drop(open(&collection, &place).unwrap());
    assert!(Corpus::check(&place).unwrap().files >= 6);
    for file in files(&place) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with('.') {
            continue;
        }
        let whole = fs::read(&file).unwrap();
        for (what, bytes) in [
            ("cut off", whole[..whole.len() - 1].to_vec()),
            ("empty", Vec::new()),
            ("flipped", {
                let mut bytes = whole.clone();
                bytes[0] ^= 4;
                bytes
            }),
        ] {
            fs::write(&file, bytes).unwrap();
            match Corpus::check(&place) {
                Ok(_) => panic!("{name} {what}: no error"),
                Err(error) => assert!(format!("{error:#}").contains(&name), "{name}: {error:#}"),
            }
        }
        fs::remove_file(&file).unwrap();
        let error = format!("{:#}", Corpus::check(&place).err().unwrap());
        assert!(error.contains(&name), "{name}: {error}");
        fs::write(&file, whole).unwrap();
        Corpus::check(&place).unwrap();
    }
    // what is damaged is built anew when asked for, and not before
    let meta = place.join("meta.json");
    fs::write(&meta, "{}").unwrap();
    assert!(open(&collection, &place).is_err());
    let analyzer = "stem=snowball".parse().unwrap();
    Corpus::rebuild(&collection, &analyzer, &place, effort(2), &mut |_| ()).unwrap();
    assert_eq!(open(&collection, &place).unwrap().documents(), 300);
}

#[test]
fn another_tool_on_tantivy_can_search_the_index() {
    let (dir, collection) = arguments(200);
    let place = dir.path().join("index");
    let own = open(&collection, &place).unwrap();
    let index = tantivy::Index::open_in_dir(&place).unwrap();
    let searcher = index.reader().unwrap().searcher();
    assert_eq!(searcher.num_docs(), 200);
    let field = index.schema().get_field("premises_terms").unwrap();
    let parser = tantivy::query::QueryParser::for_index(&index, vec![field]);
    let query = parser.parse_query("word3").unwrap();
    let count = searcher.search(&query, &tantivy::collector::Count).unwrap();
    let mut analyzer = own.meta().analyzer.build();
    let part = Part::of_text(0, 1.0, &mut analyzer, "word3");
    let cut = Cut {
        short: true,
        duplicates: true,
        ..Cut::default()
    };
    let found = own
        .search(&Query { parts: vec![part] }, &BM25, cut)
        .unwrap();
    assert!(
        count > 20 && count == found.len(),
        "{count}, {}",
        found.len()
    );
}

#[test]
fn an_index_that_is_outdated_says_why_and_one_that_is_wanted_twice_is_built_once() {
    let (dir, collection) = arguments(2000);
    let place = dir.path().join("index");
    let analyzer = "stem=snowball".parse().unwrap();
    let built = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut progress = false;
                let mut told = |event| progress |= matches!(event, Event::Progress { .. });
                let corpus =
                    Corpus::open_or_build(&collection, &analyzer, &place, effort(1), &mut told);
                assert_eq!(corpus.unwrap().documents(), 2000);
                let count = usize::from(progress);
                built.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
            });
        }
    });
    assert_eq!(built.into_inner(), 1);
    let mut events = Vec::new();
    let mut told = |event| events.push(event);
    let other = "stem=porter".parse().unwrap();
    Corpus::open_or_build(&collection, &other, &place, effort(1), &mut told).unwrap();
    assert_eq!(events[0], Event::Outdated("it has another analyzer"));
}

#[test]
fn documents_behind_many_repeated_ids_are_indexed() {
    let dir = tempfile::tempdir().unwrap();
    let argument = |id: &str, text: &str| json!({"id": id, "conclusion": "c", "premises": [{"text": text, "stance": "PRO"}]});
    // so long and so many that riposte reads whole parts of the collection without a new document
    let long = "word ".repeat(200_000);
    let mut all = vec![argument("first", &long), argument("first", &long)];
    all.extend((0..2000).map(|_| argument("first", "again")));
    all.push(argument("last", "behind"));
    let whole = json!({ "arguments": all }).to_string();
    fs::write(dir.path().join("args-me.json"), whole).unwrap();
    let collection = TextCollection::Arguments(ArgumentCollection::open(dir.path()).unwrap());
    let corpus = open(&collection, &dir.path().join("index")).unwrap();
    assert_eq!(corpus.documents(), 2);
    assert_eq!(corpus.meta().repeated_ids, 2001);
    let last = corpus.document(&DocId("last".to_owned())).unwrap();
    assert_eq!(last.texts[0], "behind");
}

/// Evidence of images with made-up words, by id.
struct Evidence {
    store: Store,
    words: BTreeMap<String, (String, String)>,
}

impl Evidence {
    fn new(path: &Path) -> Self {
        Evidence {
            store: Store::open(path).unwrap(),
            words: BTreeMap::new(),
        }
    }

    /// Writes an image's text and its page's title, in the place of what is there.
    fn write(&mut self, id: &str, ocr: String, title: String) {
        let made = |producer: &str| producer.to_owned();
        let line = OcrLine {
            text: ocr.clone(),
            confidence: 1.0,
            corners: [(0.0, 0.0); 4],
        };
        let page = PageEvidence {
            id: "P1".to_owned(),
            words: PageWords {
                title: title.clone(),
                main: format!("{title} {ocr}"),
                ..PageWords::default()
            },
            ..PageEvidence::default()
        };
        let record = Record {
            document: id.to_owned(),
            fingerprint: "f".to_owned(),
            pages: Some(ChannelOutput {
                producer: made("page"),
                value: vec![page],
                faults: Vec::new(),
            }),
            ocr: Some(ChannelOutput {
                producer: made("ocr"),
                value: vec![line],
                faults: Vec::new(),
            }),
            ..Record::default()
        };
        self.store.write(&[record]).unwrap();
        self.words.insert(id.to_owned(), (ocr, title));
    }

    fn remove(&mut self, id: &str) {
        let path = self.store.path().to_owned();
        let connection = rusqlite::Connection::open(path).unwrap();
        for table in ["document", "work", "page", "ocr_line"] {
            let sql = format!("DELETE FROM {table} WHERE document = ?");
            connection.execute(&sql, [id]).unwrap();
        }
        self.words.remove(id);
    }

    fn index(&mut self, dir: &Path) -> (ImageIndex, Updated) {
        let (corpus, updated) = images::open(&mut self.store, dir, effort(2), &mut |_| ()).unwrap();
        let ids: Vec<DocId> = self.words.keys().cloned().map(DocId).collect();
        (ImageIndex::new(corpus, ids.into_iter()), updated)
    }
}

/// The scores of all images for some queries, in full.
fn scores(index: &ImageIndex) -> Vec<(String, Vec<u64>)> {
    let mut all = Vec::new();
    for field in [Field::Ocr, Field::Title, Field::Main] {
        for words in ["word1", "word2 word3 word2", "word20 word500", "nothing"] {
            let scores = index.bm25(field, words).unwrap();
            assert_eq!(scores.len(), index.ids().len());
            let bits = scores.iter().map(|score| score.to_bits()).collect();
            all.push((format!("{field:?} {words}"), bits));
        }
    }
    all
}

#[test]
fn an_updated_index_of_images_ranks_as_one_built_anew() {
    let home = tempfile::tempdir().unwrap();
    let mut evidence = Evidence::new(&home.path().join("e.sqlite"));
    let mut chance = Chance(23);
    for n in 0..60 {
        let (ocr, title) = (chance.words(12), chance.words(6));
        evidence.write(&format!("I{n:04}"), ocr, title);
    }
    let kept = home.path().join("kept.index");
    let (_, updated) = evidence.index(&kept);
    assert_eq!((updated.added, updated.removed), (60, 0));
    let (_, updated) = evidence.index(&kept);
    assert_eq!(updated, Updated::default(), "nothing has changed");
    let mut next = 60;
    for round in 0..100 {
        let before = evidence.words.clone();
        for _ in 0..1 + chance.below(4) {
            let known: Vec<String> = evidence.words.keys().cloned().collect();
            let id = known[chance.below(known.len())].clone();
            let (ocr, title) = (chance.words(12), chance.words(6));
            match chance.below(4) {
                0 => {
                    evidence.write(&format!("I{next:04}"), ocr, title);
                    next += 1;
                }
                1 => evidence.remove(&id),
                2 => {
                    // written again as it was: not a change
                    let (ocr, title) = evidence.words[&id].clone();
                    evidence.write(&id, ocr, title);
                }
                _ => evidence.write(&id, ocr, title),
            }
        }
        let (index, updated) = evidence.index(&kept);
        let is_new = |(id, words): &(&String, &(String, String))| before.get(*id) != Some(*words);
        let is_gone = |id: &&String| !evidence.words.contains_key(*id);
        let expected = Updated {
            added: evidence.words.iter().filter(is_new).count(),
            removed: before.keys().filter(is_gone).count(),
        };
        assert_eq!(updated, expected, "round {round}");
        let anew = home.path().join(format!("anew{round}.index"));
        let (fresh, _) = evidence.index(&anew);
        assert_eq!(index.ids(), fresh.ids());
        assert!(scores(&index) == scores(&fresh), "round {round}");
        fs::remove_dir_all(anew).unwrap();
    }
    // a run over some of the images counts those alone
    let (corpus, _) = images::open(&mut evidence.store, &kept, effort(1), &mut |_| ()).unwrap();
    let some: Vec<String> = evidence.words.keys().take(20).cloned().collect();
    let part = ImageIndex::new(corpus, some.iter().cloned().map(DocId));
    let mut few = Evidence::new(&home.path().join("few.sqlite"));
    for id in &some {
        let (ocr, title) = evidence.words[id].clone();
        few.write(id, ocr, title);
    }
    let (alone, _) = few.index(&home.path().join("few.index"));
    assert!(scores(&part) == scores(&alone));
}

#[test]
fn an_index_of_images_sees_what_was_changed_by_hand_and_refuses_damage() {
    let home = tempfile::tempdir().unwrap();
    let mut evidence = Evidence::new(&home.path().join("e.sqlite"));
    let mut chance = Chance(3);
    for n in 0..200 {
        let (ocr, title) = (chance.words(12), chance.words(6));
        evidence.write(&format!("I{n:04}"), ocr, title);
    }
    let place = home.path().join("e.index");
    let (index, _) = evidence.index(&place);
    assert_eq!(index.bm25(Field::Ocr, "unheard").unwrap()[7], 0.0);
    let connection = rusqlite::Connection::open(evidence.store.path()).unwrap();
    let sql = "UPDATE ocr_line SET text = 'unheard of' WHERE document = 'I0007'";
    assert_eq!(connection.execute(sql, []).unwrap(), 1);
    let (index, updated) = evidence.index(&place);
    assert_eq!((updated.added, updated.removed), (1, 0));
    assert!(index.bm25(Field::Ocr, "unheard").unwrap()[7] > 0.0);
    drop(index);
    let whole = scores(&evidence.index(&place).0);
    let mut errors = 0;
    for file in files(&place) {
        let before = fs::read(&file).unwrap();
        for _ in 0..(if before.is_empty() { 0 } else { 12 }) {
            let mut bytes = before.clone();
            bytes[chance.below(before.len())] ^= 1 + chance.below(255) as u8;
            fs::write(&file, bytes).unwrap();
            let opened = images::open(&mut evidence.store, &place, effort(1), &mut |_| ());
            match opened {
                Ok((corpus, _)) => {
                    let ids: Vec<DocId> = evidence.words.keys().cloned().map(DocId).collect();
                    let found = scores(&ImageIndex::new(corpus, ids.into_iter()));
                    assert!(found == whole, "{}", file.display());
                }
                Err(error) => {
                    let name = file.file_name().unwrap().to_str().unwrap();
                    assert!(format!("{error:#}").contains(name), "{error:#}");
                    errors += 1;
                }
            }
        }
        fs::write(&file, before).unwrap();
    }
    assert!(errors > 60, "{errors}");
}

/// riposte with these arguments, not waited for.
fn spawn(arguments: &[&Path]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("riposte"))
        .args(arguments)
        .env("RIPOSTE_MODELS", "/nonexistent")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// riposte with these arguments, which must end well.
fn run(arguments: &[&Path]) {
    let output = spawn(arguments).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Kills the command at so many moments spread over the time that it takes, `before` each from the start again; returns how often it
/// had not ended yet. Each time the same command is then run to its end, and `check`ed.
fn killed(
    arguments: &[&Path],
    moments: u32,
    before: &mut dyn FnMut(),
    check: &mut dyn FnMut(u32),
) -> u32 {
    before();
    let start = Instant::now();
    run(arguments);
    let takes = start.elapsed();
    let mut unfinished = 0;
    for moment in 0..moments {
        before();
        let mut child = spawn(arguments);
        std::thread::sleep(takes * moment / moments + Duration::from_millis(1));
        unfinished += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        run(arguments);
        check(moment);
    }
    unfinished
}

#[test]
fn a_build_killed_at_thirty_moments_gives_the_same_run_afterwards() {
    let (dir, _) = arguments(3000);
    let home = dir.path();
    let topics =
        "<topics><topic><number>1</number><title>word1 word2 word40</title></topic></topics>";
    fs::write(home.join("topics.xml"), topics).unwrap();
    let (kept, out) = (home.join("kept"), home.join("out"));
    let words = ["controversial", "-i", "-o", "--index", "--approach", "bm25"].map(Path::new);
    let [task, input, output, index, approach, bm25] = words;
    let arguments = [
        task, input, home, output, &out, index, &kept, approach, bm25,
    ];
    let mut runs: Vec<Vec<u8>> = Vec::new();
    let unfinished = killed(
        &arguments,
        30,
        &mut || {
            let _ = fs::remove_dir_all(&kept);
        },
        &mut |_| runs.push(fs::read(out.join("run.txt")).unwrap()),
    );
    assert!(unfinished > 10, "only {unfinished} were killed in time");
    assert!(runs[0].len() > 10_000 && runs.iter().all(|run| *run == runs[0]));
    let left = files(&kept);
    let building = left
        .iter()
        .filter(|path| path.to_string_lossy().contains(".building-"));
    assert_eq!(building.count(), 0, "{left:?}");
}

#[test]
fn an_update_killed_at_thirty_moments_gives_the_same_scores_afterwards() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("e.sqlite");
    let mut evidence = Evidence::new(&path);
    let mut chance = Chance(31);
    let ids: Vec<String> = (0..1500).map(|n| format!("I{n:04}")).collect();
    for id in &ids {
        let (ocr, title) = (chance.words(40), chance.words(6));
        evidence.write(id, ocr, title);
    }
    let place = corpus::directory(&path, Kind::Images, &images::analyzer());
    drop(evidence.index(&place));
    for id in ids.iter().step_by(3) {
        let (ocr, title) = (chance.words(40), chance.words(6));
        evidence.write(id, ocr, title);
    }
    let expected = scores(&evidence.index(&home.path().join("anew.index")).0);
    // the state before the update: the words have changed and the index has not; of some images no hash is known
    let connection = rusqlite::Connection::open(&path).unwrap();
    let forget = "DELETE FROM text_hash WHERE document LIKE '%3'";
    assert_eq!(connection.execute(forget, []).unwrap(), 150);
    drop(connection);
    let Evidence { store, words } = evidence;
    drop(store);
    fs::create_dir_all(home.path().join("collection/images")).unwrap();
    let saved = home.path().join("saved");
    copy(&place, &saved.join("index"));
    fs::copy(&path, saved.join("e.sqlite")).unwrap();
    let collection = home.path().join("collection");
    let names = ["index", "-q", "-i", "--evidence"].map(Path::new);
    let [index, quiet, input, option] = names;
    let arguments = [index, quiet, input, &collection, option, &path];
    let unfinished = killed(
        &arguments,
        30,
        &mut || {
            let _ = fs::remove_dir_all(&place);
            copy(&saved.join("index"), &place);
            // a killed process may have left a journal: it belongs to the file that goes
            let _ = fs::remove_file(home.path().join("e.sqlite-journal"));
            fs::copy(saved.join("e.sqlite"), &path).unwrap();
        },
        &mut |moment| {
            let mut store = Store::open(&path).unwrap();
            let (corpus, updated) =
                images::open(&mut store, &place, effort(1), &mut |_| ()).unwrap();
            assert_eq!(updated, Updated::default(), "moment {moment}");
            let ids = words.keys().cloned().map(DocId);
            let found = scores(&ImageIndex::new(corpus, ids));
            assert!(found == expected, "moment {moment}");
        },
    );
    assert!(unfinished > 10, "only {unfinished} were killed in time");
}

#[test]
fn a_run_killed_while_it_updates_the_index_is_the_same_when_it_is_repeated() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (sample, evidence, out) = (root.join("sample"), at("e.sqlite"), at("out"));
    let names = ["images", "-q", "-i", "-o", "--evidence"].map(Path::new);
    let [images, quiet, input, output, option] = names;
    let arguments = [
        images, quiet, input, &sample, output, &out, option, &evidence,
    ];
    let run_file = out.join("run.txt");
    fs::copy(root.join("tests/golden/evidence.sqlite"), &evidence).unwrap();
    run(&arguments);
    let unchanged = fs::read(&run_file).unwrap();
    let connection = rusqlite::Connection::open(&evidence).unwrap();
    let sql = "UPDATE page SET title = 'zoos closed, cars banned from city centres', main = 'fireworks ' || main
               WHERE document IN (SELECT document FROM document ORDER BY document LIMIT 22)";
    assert!(connection.execute(sql, []).unwrap() >= 22);
    drop(connection);
    let place = corpus::directory(&evidence, Kind::Images, &images::analyzer());
    copy(&place, &at("saved"));
    fs::copy(&evidence, at("saved.sqlite")).unwrap();
    fs::remove_dir_all(&place).unwrap();
    run(&arguments);
    let expected = fs::read(&run_file).unwrap();
    assert!(expected != unchanged, "the change shows in the run");
    let unfinished = killed(
        &arguments,
        30,
        &mut || {
            let _ = fs::remove_dir_all(&place);
            copy(&at("saved"), &place);
            let _ = fs::remove_file(at("e.sqlite-journal"));
            fs::copy(at("saved.sqlite"), &evidence).unwrap();
        },
        &mut |moment| assert!(fs::read(&run_file).unwrap() == expected, "moment {moment}"),
    );
    assert!(unfinished > 10, "only {unfinished} were killed in time");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in files(from) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}
