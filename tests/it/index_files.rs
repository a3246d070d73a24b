//! The index on disk: when it is used and when it is built again, what it stores, and how damage to it is found.

use std::fs;
use std::path::Path;

use riposte::Event;
use riposte::collection::passages::PassageCollection;
use riposte::index::ScoredDoc;
use riposte::index::analyzer::Analyzer;
use riposte::index::inverted::{self, IndexKind, IndexingBudget, InvertedIndex, TextCollection};
use riposte::index::search::{IndexQuery, QueryPart, SearchOptions};
use riposte::index::similarity::Similarity;
use riposte_eval::{DocId, Stance};

use crate::search::{ALL, BM25, built, collection, doc, ids, query};
use crate::support::collection::{argument, argument_collection, arguments};
use crate::support::files::{entries, name};
use crate::support::message;

const DIRICHLET: Similarity = Similarity::Dirichlet { mu: 100.0 };

pub fn effort(threads: usize) -> IndexingBudget {
    IndexingBudget { threads, bytes: 1 }
}

pub fn open(collection: &TextCollection, place: &Path) -> anyhow::Result<InvertedIndex> {
    let analyzer = "stem=snowball".parse().unwrap();
    InvertedIndex::open_or_build(collection, &analyzer, place, effort(2), &mut |_| ())
}

/// The data that a run reads from an index: rankings by two formulas, and the texts of the best documents.
pub fn ranked(index: &InvertedIndex) -> anyhow::Result<(Vec<ScoredDoc>, Vec<Vec<String>>)> {
    let mut analyzer = index.meta().analyzer.build();
    let mut rankings = Vec::new();
    let mut texts = Vec::new();
    for (n, similarity) in [BM25, DIRICHLET, BM25, DIRICHLET].iter().enumerate() {
        let words = format!("word{n} word{} word{}", 10 + n, 100 * n);
        let parts = [(0, 1.0), (1, 0.5)];
        let parts =
            parts.map(|(field, weight)| QueryPart::of_text(field, weight, &mut analyzer, &words));
        let query = IndexQuery {
            parts: parts.to_vec(),
        };
        let found = index.search(
            &query,
            similarity,
            SearchOptions {
                short: true,
                ..SearchOptions::default()
            },
        )?;
        for found in found.iter().take(5) {
            texts.push(index.document(&found.doc)?.texts);
        }
        rankings.extend(found);
    }
    Ok((rankings, texts))
}

#[test]
fn a_check_finds_damage_that_a_ranking_does_not_read() {
    let (dir, collection) = arguments(300);
    let place = dir.path().join("index");
    drop(open(&collection, &place).unwrap());
    assert!(InvertedIndex::check(&place).unwrap().files >= 6);
    let mut files = entries(&place);
    files.retain(|file| !name(file).starts_with('.'));
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let name = name(&file);
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
            match InvertedIndex::check(&place) {
                Ok(_) => panic!("{name} {what}: no error"),
                Err(error) => assert!(format!("{error:#}").contains(name), "{name}: {error:#}"),
            }
        }
        fs::remove_file(&file).unwrap();
        let error = message(InvertedIndex::check(&place));
        assert!(error.contains(name), "{name}: {error}");
        fs::write(&file, whole).unwrap();
        InvertedIndex::check(&place).unwrap();
    }
    // a damaged index is built again only on request if its directory has other files
    let meta = place.join("meta.json");
    fs::write(&meta, "{}").unwrap();
    fs::write(place.join("seen"), "").unwrap();
    let error = message(open(&collection, &place));
    assert!(error.contains("meta.json is damaged"), "{error}");
    assert!(error.contains("delete the directory"), "{error}");
    assert!(place.join("seen").is_file());
    let analyzer = "stem=snowball".parse().unwrap();
    let rebuilt = InvertedIndex::rebuild(&collection, &analyzer, &place, effort(2), &mut |_| ());
    let error = message(rebuilt);
    assert!(error.contains("contains other files"), "{error}");
    assert!(place.join("seen").is_file());
    fs::remove_file(place.join("seen")).unwrap();
    InvertedIndex::rebuild(&collection, &analyzer, &place, effort(2), &mut |_| ()).unwrap();
    assert_eq!(open(&collection, &place).unwrap().documents(), 300);
}

#[test]
fn another_program_that_uses_tantivy_can_search_the_index() {
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
    let part = QueryPart::of_text(0, 1.0, &mut analyzer, "word3");
    let options = SearchOptions {
        short: true,
        duplicates: true,
        ..SearchOptions::default()
    };
    let found = own
        .search(&IndexQuery { parts: vec![part] }, &BM25, options)
        .unwrap();
    assert!(
        count > 20 && count == found.len(),
        "{count}, {}",
        found.len()
    );
}

#[test]
fn an_index_that_four_threads_open_is_built_once_and_an_outdated_one_says_why() {
    let (dir, collection) = arguments(2000);
    let place = dir.path().join("index");
    let analyzer = "stem=snowball".parse().unwrap();
    let built = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut progress = false;
                let mut told = |event| progress |= matches!(event, Event::Progress(_));
                let index = InvertedIndex::open_or_build(
                    &collection,
                    &analyzer,
                    &place,
                    effort(1),
                    &mut told,
                );
                assert_eq!(index.unwrap().documents(), 2000);
                let count = usize::from(progress);
                built.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
            });
        }
    });
    assert_eq!(built.into_inner(), 1);
    let mut events = Vec::new();
    let mut told = |event| events.push(event);
    let other = "stem=porter".parse().unwrap();
    InvertedIndex::open_or_build(&collection, &other, &place, effort(1), &mut told).unwrap();
    let why = "rebuilding the index, because it has another analyzer";
    assert_eq!(events[0], Event::note(why));
}

#[test]
fn documents_behind_many_repeated_ids_are_indexed() {
    // the documents are so long and so many that riposte reads a whole batch of the collection without a new document
    let long = "word ".repeat(200_000);
    let argument = |id: &str, premise: &str| argument(id, "c", premise, "PRO");
    let mut all = vec![argument("first", &long), argument("first", &long)];
    all.extend((0..2000).map(|_| argument("first", "again")));
    all.push(argument("last", "behind"));
    let (dir, collection) = argument_collection(all);
    let index = open(&collection, &dir.path().join("index")).unwrap();
    assert_eq!(index.documents(), 2);
    assert_eq!(index.meta().repeated_ids, 2001);
    let last = index.document(&DocId("last".to_owned())).unwrap();
    assert_eq!(last.texts[0], "behind");
}

#[test]
fn an_index_is_used_while_nothing_has_changed_and_is_built_anew_otherwise() {
    let (dir, collection) = collection(&[("a", "gun law", "")]);
    let place = dir.path().join("index");
    // a new build gives the names of segments anew
    let files = || {
        let files = entries(&place).into_iter();
        files.map(|path| name(&path).to_owned()).collect::<Vec<_>>()
    };
    let mut before = Vec::new();
    let mut build = |collection: &TextCollection, analyzer: &str| {
        let index = built(collection, analyzer, &place);
        let kept = before == files();
        before = files();
        (kept, index.documents())
    };
    assert_eq!(build(&collection, ""), (false, 1));
    assert_eq!(build(&collection, ""), (true, 1));
    assert_eq!(build(&collection, "stem=porter"), (false, 1));
    assert_eq!(build(&collection, "stem=porter"), (true, 1));
    let file = dir.path().join("args-me.json");
    let more = fs::read_to_string(&file)
        .unwrap()
        .replace("gun law", "gun lax");
    fs::write(&file, more).unwrap();
    assert_eq!(build(&collection, "stem=porter"), (false, 1));
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.txt"), "years of work").unwrap();
    let analyzer = Analyzer::default();
    let refused = InvertedIndex::open_or_build(
        &collection,
        &analyzer,
        &other,
        IndexingBudget::default(),
        &mut |_| {},
    );
    let error = message(refused);
    assert!(error.contains("it contains other files"), "{error}");
    fs::remove_file(other.join("thesis.txt")).unwrap();
    fs::remove_dir(&other).unwrap();
    let directory = |rules: &str| {
        let analyzer = rules.parse::<Analyzer>().unwrap();
        inverted::directory(Path::new("/x/e.sqlite"), IndexKind::Arguments, &analyzer)
    };
    assert!(directory("").starts_with("/x"));
    assert_ne!(directory(""), directory("stem=porter"));
    let left = entries(dir.path());
    let left: Vec<&str> = left.iter().map(|path| name(path)).collect();
    assert_eq!(
        left,
        [
            ".index.lock",
            ".other.lock",
            "args-me.json",
            "index",
            "workspace.sqlite"
        ]
    );
}

#[test]
fn stored_documents_are_read_back_complete() {
    let (dir, collection) = collection(&[("a", "Grüße \n aus X", "c!"), ("b", "", "")]);
    let index = built(
        &collection,
        "stop=long stem=porter",
        &dir.path().join("index"),
    );
    let stored = index.document(&doc("a")).unwrap();
    assert_eq!(stored.texts, ["Grüße \n aus X", "c!", "d", "the page"]);
    assert_eq!(stored.stance, Some(Stance::Con));
    assert_eq!(stored.url.as_deref(), Some("https://a.example/a"));
    assert_eq!(
        index.document(&doc("b")).unwrap().texts,
        ["", "", "d", "the page"]
    );
    assert!(index.document(&doc("c")).is_err());

    let lines =
        "{\"id\":\"p\",\"contents\":\"cats purr\",\"queries\":[\"are cats loud\"]}\nbroken\n";
    let file = dir.path().join("passages.jsonl");
    fs::write(&file, lines).unwrap();
    let passages = TextCollection::Passages(PassageCollection::open(&file).unwrap());
    let index = built(&passages, "", &dir.path().join("passages"));
    assert_eq!(
        (index.meta().fault_count, index.meta().faults.len()),
        (1, 1)
    );
    let asked = query(&index, &[("expansion", 1.0, "loud")]);
    assert_eq!(ids(&index.search(&asked, &BM25, ALL).unwrap()), ["p"]);
    assert_eq!(
        index.document(&doc("p")).unwrap().texts,
        ["cats purr", "are cats loud"]
    );
}
