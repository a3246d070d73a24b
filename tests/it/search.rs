//! The index of a text collection: what is found, in which order, whatever threads and runs made it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::passages::PassageCollection;
use riposte::index::analyzer::{self, Analyzer};
use riposte::index::corpus::{self, Corpus, Effort, Kind, Marks, TextCollection};
use riposte::index::feedback::Rm3;
use riposte::index::proximity::Proximity;
use riposte::index::search::{Cut, Part, Query};
use riposte::index::similarity::{FieldCounts, Similarity, TermCounts};
use riposte::trec::{DocId, ScoredDoc, Stance};
use serde_json::{Value, json};

use crate::support::need::{Data, need};

const BM25: Similarity = Similarity::Bm25 { k1: 1.2, b: 0.75 };
const ALL: Cut = Cut {
    k: 1000,
    short: true,
    duplicates: true,
};

/// A directory with arguments of (id, premise, conclusion).
fn collection(arguments: &[(&str, &str, &str)]) -> (tempfile::TempDir, TextCollection) {
    let dir = tempfile::tempdir().unwrap();
    let arguments: Vec<Value> = arguments
        .iter()
        .map(|(id, text, conclusion)| {
            json!({"id": id, "conclusion": conclusion, "premises": [{"text": text, "stance": "CON"}],
                   "context": {"discussionTitle": "d", "sourceText": "the page", "sourceUrl": format!("https://a.example/{id}")}})
        })
        .collect();
    let whole = json!({ "arguments": arguments });
    fs::write(dir.path().join("args-me.json"), whole.to_string()).unwrap();
    let collection = TextCollection::Arguments(ArgumentCollection::open(dir.path()).unwrap());
    (dir, collection)
}

fn built(collection: &TextCollection, analyzer: &str, dir: &Path) -> Corpus {
    build_with(collection, analyzer, dir, 2)
}

fn build_with(collection: &TextCollection, analyzer: &str, dir: &Path, threads: usize) -> Corpus {
    let analyzer = analyzer.parse().unwrap();
    let effort = Effort {
        threads,
        // as little as can be: several segments even of a small collection
        bytes: 1,
    };
    Corpus::open_or_build(collection, &analyzer, dir, effort, &mut |_| {}).unwrap()
}

fn query(corpus: &Corpus, parts: &[(&str, f64, &str)]) -> Query {
    let mut analyzer = corpus.meta().analyzer.build();
    let part = |(field, weight, text): &(&str, f64, &str)| {
        Part::of_text(corpus.field(field).unwrap(), *weight, &mut analyzer, text)
    };
    Query {
        parts: parts.iter().map(part).collect(),
    }
}

fn ids(ranking: &[ScoredDoc]) -> Vec<&str> {
    ranking.iter().map(|found| found.doc.0.as_str()).collect()
}

fn doc(id: &str) -> DocId {
    DocId(id.to_owned())
}

#[test]
fn bm25_ranks_as_bm25s_does() {
    let Some(data) = need(Data("args")) else {
        return;
    };
    let reference: Value = serde_json::from_str(include_str!("../reference/bm25.json")).unwrap();
    let home = tempfile::tempdir().unwrap();
    let collection = TextCollection::Arguments(ArgumentCollection::open(&data).unwrap());
    let corpus = built(&collection, "length=1-1000", &home.path().join("index"));
    assert_eq!(
        u64::from(corpus.documents()),
        reference["documents"].as_u64().unwrap()
    );
    // the reference has five decimals
    let near = |a: f64, b: &Value| (a - b.as_f64().unwrap()).abs() < 1e-5;
    let queries = reference["queries"].as_array().unwrap();
    assert_eq!(queries.len(), 50);
    for expected in queries {
        let title = expected["title"].as_str().unwrap();
        let query = query(&corpus, &[("premises", 1.0, title)]);
        let ranking = corpus.search(&query, &BM25, Cut { k: 150, ..ALL }).unwrap();
        let top = &ranking[..100];
        assert!(near(top[99].score, &expected["last"]), "{title}");
        let sum: f64 = top.iter().map(|found| found.score).sum();
        assert!(
            (sum - expected["sum"].as_f64().unwrap()).abs() < 1e-3,
            "{title}: {sum}"
        );
        let by_id: BTreeMap<&str, f64> = ranking
            .iter()
            .map(|f| (f.doc.0.as_str(), f.score))
            .collect();
        for (place, pair) in expected["top"].as_array().unwrap().iter().enumerate() {
            // place by place the same score; the same document, but for the order of equal scores
            assert!(near(top[place].score, &pair[1]), "{title}: {place}");
            let ours = by_id.get(pair[0].as_str().unwrap()).copied();
            assert!(
                ours.is_some_and(|ours| near(ours, &pair[1])),
                "{title}: {pair}"
            );
        }
    }
}

/// Texts of few words, so that many scores are equal.
fn many() -> Vec<(String, String, String)> {
    let words = ["tax", "cut", "wage", "job", "law", "vote", "gun", "school"];
    let mut state = 7u64;
    let mut next = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    };
    (0..600)
        .map(|n| {
            let length = 1 + next(30);
            let mut text = |length: usize| -> String {
                (0..length)
                    .map(|_| format!("{} ", words[next(words.len())]))
                    .collect()
            };
            (format!("d{:03}", n * 7 % 600), text(length), text(3))
        })
        .collect()
}

#[test]
fn segments_decide_nothing_and_an_explanation_is_the_score() {
    let documents = many();
    let documents: Vec<_> = documents
        .iter()
        .map(|(id, text, conclusion)| (id.as_str(), text.as_str(), conclusion.as_str()))
        .collect();
    let (dir, collection) = collection(&documents);
    let one = build_with(&collection, "", &dir.path().join("one"), 1);
    let four = build_with(&collection, "", &dir.path().join("four"), 4);
    assert_eq!(one.report().unwrap().segments, 1);
    assert!(four.report().unwrap().segments > 1);
    for similarity in [
        BM25,
        Similarity::Bm25f {
            k1: 1.2,
            b: vec![0.75, 0.3],
        },
        Similarity::Dirichlet { mu: 20.0 },
        Similarity::LuceneDirichlet { mu: 20.0 },
        Similarity::JelinekMercer { lambda: 0.7 },
        Similarity::TfIdf,
        Similarity::Dph,
    ] {
        let asked = query(
            &one,
            &[
                ("premises", 1.0, "tax cut tax unheard"),
                ("conclusion", 0.4, "tax vote"),
            ],
        );
        let cut = Cut { k: 50, ..ALL };
        let ranking = one.search(&asked, &similarity, cut).unwrap();
        assert_eq!(ranking.len(), 50);
        assert_eq!(
            ranking,
            four.search(&asked, &similarity, cut).unwrap(),
            "{similarity:?}"
        );
        for pair in ranking.windows(2) {
            let order = pair[1]
                .score
                .total_cmp(&pair[0].score)
                .then(pair[0].doc.cmp(&pair[1].doc));
            assert!(order.is_lt(), "{similarity:?}: {pair:?}");
        }
        // the first 50 of a longer ranking
        let longer = one.search(&asked, &similarity, ALL).unwrap();
        assert_eq!(longer[..50], ranking);
        for found in longer.iter().step_by(37) {
            let explained = four.explain(&asked, &similarity, &found.doc).unwrap();
            assert_eq!(explained.value, found.score, "{similarity:?}");
            let parts: f64 = explained.parts.iter().map(|part| part.value).sum();
            assert!(
                (parts - found.score).abs() < 1e-9,
                "{similarity:?}: {explained:?}"
            );
        }
    }
}

/// Documents enough for many blocks: frequent and rare words, long and short texts, and many that are alike.
fn zipf(
    documents: usize,
) -> (
    tempfile::TempDir,
    TextCollection,
    Vec<(String, String, String)>,
) {
    let mut state = 11u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let texts: Vec<(String, String, String)> = (0..documents)
        .map(|n| {
            // a few hundred words, the nth as frequent as 1/n, and some documents about the rare ones
            let rare = next() < 0.01;
            let mut text = |longest: f64| -> String {
                let length = 1 + (longest * next().powi(3)) as usize;
                let word = |x: f64| match rare {
                    true => (400.0 * x) as usize,
                    false => 400f64.powf(x) as usize - 1,
                };
                (0..length).map(|_| format!("w{} ", word(next()))).collect()
            };
            (
                format!("d{:05}", n * 7919 % documents),
                text(60.0),
                text(6.0),
            )
        })
        .collect();
    let borrowed: Vec<_> = texts
        .iter()
        .map(|(id, text, conclusion)| (id.as_str(), text.as_str(), conclusion.as_str()))
        .collect();
    let (dir, collection) = collection(&borrowed);
    (dir, collection, texts)
}

/// The ranking of documents by the formulas alone, without an index: every term of every document is counted for each query.
fn ranked_by_hand(
    documents: &[(String, [Vec<String>; 2])],
    query: &Query,
    similarity: &Similarity,
) -> Vec<ScoredDoc> {
    let tf = |words: &[String], term: &str| words.iter().filter(|word| *word == term).count();
    let mut scores = vec![None::<f64>; documents.len()];
    for part in &query.parts {
        let lengths: Vec<u32> = documents
            .iter()
            .map(|(_, fields)| fields[part.field].len() as u32)
            .collect();
        let field = FieldCounts {
            documents: documents.len() as u64,
            tokens: lengths.iter().map(|n| u64::from(*n)).sum(),
        };
        for (term, weight) in part.terms() {
            let tfs: Vec<usize> = documents
                .iter()
                .map(|(_, fields)| tf(&fields[part.field], term))
                .collect();
            let counts = TermCounts {
                df: tfs.iter().filter(|tf| **tf > 0).count() as u64,
                cf: tfs.iter().sum::<usize>() as u64,
            };
            let formula = similarity.term(field, counts);
            for ((score, tf), length) in scores.iter_mut().zip(tfs).zip(&lengths) {
                if tf > 0 {
                    let gained = part.weight * weight * formula.score(tf as f64, *length);
                    *score = Some(score.unwrap_or(0.0) + gained);
                }
            }
        }
    }
    if matches!(similarity, Similarity::Dirichlet { .. }) {
        for part in &query.parts {
            let known = |term: &str| documents.iter().any(|(_, f)| tf(&f[part.field], term) > 0);
            let asked = part.terms().iter().filter(|(term, _)| known(term));
            let asked: f64 = asked.map(|(_, weight)| weight).sum();
            for (score, (_, fields)) in scores.iter_mut().zip(documents) {
                let length = fields[part.field].len() as u32;
                if let Some(score) = score {
                    *score += part.weight * asked * similarity.length_score(length).unwrap();
                }
            }
        }
    }
    let mut ranking: Vec<ScoredDoc> = documents
        .iter()
        .zip(scores)
        .filter_map(|((id, _), score)| {
            Some(ScoredDoc {
                doc: doc(id),
                score: score?,
            })
        })
        .collect();
    ranking.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
    ranking
}

#[test]
fn rankings_are_what_the_formulas_say() {
    let (dir, collection, texts) = zipf(4_200);
    let corpus = build_with(&collection, "", &dir.path().join("index"), 3);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let documents: Vec<(String, [Vec<String>; 2])> = texts
        .iter()
        .map(|(id, text, conclusion)| (id.clone(), [words(text), words(conclusion)]))
        .collect();
    let word = proptest::prop_oneof![0usize..8, 0usize..400, 250usize..400];
    let words = proptest::collection::vec(word, 1..9);
    let similarity = proptest::sample::select(vec![
        BM25,
        Similarity::Bm25 { k1: 0.0, b: 1.0 },
        Similarity::Bm25 { k1: 3.2, b: 0.2 },
        Similarity::Dirichlet { mu: 1000.0 },
        Similarity::Dirichlet { mu: 2.0 },
        Similarity::LuceneDirichlet { mu: 1000.0 },
        Similarity::LuceneDirichlet { mu: 5.0 },
        Similarity::JelinekMercer { lambda: 0.7 },
        Similarity::TfIdf,
        Similarity::Dph,
    ]);
    // few enough to be looked up, and more than that
    let k = proptest::sample::select(vec![1, 2, 4, 10, 100, 4500]);
    let mut runner = proptest::test_runner::TestRunner::new(proptest::test_runner::Config {
        cases: 120,
        failure_persistence: None,
        ..Default::default()
    });
    runner
        .run(
            &(words, 0usize..9, 0.1f64..3.0, similarity, k),
            |(words, other, weight, similarity, k)| {
                let text = |words: &[usize]| -> String {
                    words.iter().map(|word| format!("w{word} ")).collect()
                };
                let other = text(words.get(other..).unwrap_or_default());
                let asked = query(
                    &corpus,
                    &[
                        ("premises", 1.0, &text(&words)),
                        ("conclusion", weight, &other),
                    ],
                );
                let found = corpus
                    .search(&asked, &similarity, Cut { k, ..ALL })
                    .unwrap();
                let mut expected = ranked_by_hand(&documents, &asked, &similarity);
                expected.truncate(k);
                proptest::prop_assert_eq!(found, expected);
                Ok(())
            },
        )
        .unwrap();
}

#[test]
fn dirichlet_counts_terms_that_a_document_lacks() {
    let (dir, collection) = collection(&[
        ("a", "gun law gun", ""),
        ("b", "gun x x x x x x", ""),
        ("c", "law y", ""),
        ("d", "z z", ""),
    ]);
    let corpus = built(&collection, "", &dir.path().join("index"));
    let asked = query(&corpus, &[("premises", 1.0, "gun law")]);
    let mu = 10.0;
    let ranking = corpus
        .search(&asked, &Similarity::Dirichlet { mu }, ALL)
        .unwrap();
    // the paper's: ln of (tf + mu p) / (length + mu), without the ln p that all share; 14 terms, gun 3, law 2
    let by_hand = |gun: f64, law: f64, length: f64| {
        let term = |tf: f64, p: f64| ((tf + mu * p) / (length + mu)).ln() - p.ln();
        term(gun, 3.0 / 14.0) + term(law, 2.0 / 14.0)
    };
    let expected = [
        ("a", by_hand(2.0, 1.0, 3.0)),
        ("c", by_hand(0.0, 1.0, 2.0)),
        ("b", by_hand(1.0, 0.0, 7.0)),
    ];
    assert_eq!(ids(&ranking), ["a", "c", "b"]);
    for (found, (_, score)) in ranking.iter().zip(expected) {
        assert!((found.score - score).abs() < 1e-12, "{found:?}: {score}");
    }
}

#[test]
fn parts_that_must_match_and_marks_leave_documents_out() {
    let long = "the gun law is a law that many people in this country have asked for since the war ended long ago";
    let (dir, collection) = collection(&[
        ("a", long, "vote"),
        ("b", "Gun law!", "tax"),
        ("c", &long.to_uppercase().replace(' ', "  "), "tax"),
        ("d", "nothing here", "gun"),
        ("a", "again", "gun"),
    ]);
    let corpus = built(&collection, "", &dir.path().join("index"));
    let meta = corpus.meta();
    assert_eq!(
        (
            corpus.documents(),
            meta.repeated_ids,
            meta.duplicates,
            meta.short
        ),
        (4, 1, 1, 2)
    );
    let number = |id: &str| corpus.number(&doc(id)).unwrap();
    let marks = |short, duplicate| Some(Marks { short, duplicate });
    assert_eq!(corpus.marks(number("a")), marks(false, false));
    assert_eq!(corpus.marks(number("b")), marks(true, false));
    assert_eq!(corpus.marks(number("c")), marks(false, true));
    assert_eq!(corpus.duplicate_of(&doc("c")).unwrap(), Some(doc("a")));
    assert_eq!(corpus.duplicate_of(&doc("a")).unwrap(), None);
    assert_eq!(
        (corpus.length(0, number("b")), corpus.length(1, number("b"))),
        (Some(2), Some(1))
    );

    let found = |parts: Vec<Part>, cut: Cut| {
        let ranking = corpus.search(&Query { parts }, &BM25, cut).unwrap();
        let mut found: Vec<String> = ranking.into_iter().map(|f| f.doc.0).collect();
        found.sort();
        found.join("")
    };
    let mut analyzer = corpus.meta().analyzer.build();
    let mut part = |field, text: &str| Part::of_text(field, 1.0, &mut analyzer, text);
    let (body, title) = (part(0, "gun"), part(1, "gun tax"));
    let parts = |must: bool| match must {
        true => vec![body.clone().must(), title.clone()],
        false => vec![body.clone(), title.clone()],
    };
    assert_eq!(found(parts(false), ALL), "abcd");
    assert_eq!(found(parts(true), ALL), "abc");
    assert_eq!(
        found(vec![body.clone().must(), title.clone().must()], ALL),
        "bc"
    );
    assert_eq!(found(parts(false), Cut::default()), "a");
    assert_eq!(
        found(
            parts(false),
            Cut {
                short: true,
                ..Cut::default()
            }
        ),
        "abd"
    );
    assert_eq!(
        found(
            parts(false),
            Cut {
                duplicates: true,
                ..Cut::default()
            }
        ),
        "ac"
    );
    // left out before the cut, not after it
    assert_eq!(
        found(
            vec![body.clone()],
            Cut {
                k: 1,
                ..Cut::default()
            }
        ),
        "a"
    );
    assert_eq!(found(parts(false), Cut { k: 0, ..ALL }), "");
    assert_eq!(
        found(vec![part(0, "unheard").must(), body.clone()], ALL),
        ""
    );
    assert_eq!(found(vec![], ALL), "");

    let explained = corpus
        .explain(&Query { parts: vec![body] }, &BM25, &doc("d"))
        .unwrap();
    assert_eq!((explained.value, explained.parts.len()), (0.0, 0));
    assert!(corpus.explain(&Query::default(), &BM25, &doc("x")).is_err());
    let wrong = Query {
        parts: vec![Part::new(0, f64::NAN)],
    };
    assert!(corpus.search(&wrong, &BM25, ALL).is_err());
}

#[test]
fn stored_documents_come_back_whole() {
    let (dir, collection) = collection(&[("a", "Grüße \n aus X", "c!"), ("b", "", "")]);
    let corpus = built(
        &collection,
        "stop=long stem=porter",
        &dir.path().join("index"),
    );
    let stored = corpus.document(&doc("a")).unwrap();
    assert_eq!(stored.texts, ["Grüße \n aus X", "c!", "d", "the page"]);
    assert_eq!(stored.stance, Some(Stance::Con));
    assert_eq!(stored.url.as_deref(), Some("https://a.example/a"));
    assert_eq!(
        corpus.document(&doc("b")).unwrap().texts,
        ["", "", "d", "the page"]
    );
    assert!(corpus.document(&doc("c")).is_err());

    let lines =
        "{\"id\":\"p\",\"contents\":\"cats purr\",\"queries\":[\"are cats loud\"]}\nbroken\n";
    let file = dir.path().join("passages.jsonl");
    fs::write(&file, lines).unwrap();
    let passages = TextCollection::Passages(PassageCollection::open(&file).unwrap());
    let corpus = built(&passages, "", &dir.path().join("passages"));
    assert_eq!(
        (corpus.meta().fault_count, corpus.meta().faults.len()),
        (1, 1)
    );
    let asked = query(&corpus, &[("expansion", 1.0, "loud")]);
    assert_eq!(ids(&corpus.search(&asked, &BM25, ALL).unwrap()), ["p"]);
    assert_eq!(
        corpus.document(&doc("p")).unwrap().texts,
        ["cats purr", "are cats loud"]
    );
}

#[test]
fn feedback_and_proximity_use_the_stored_texts() {
    let (dir, collection) = collection(&[
        ("near", "x x x x tax cut x x", ""),
        ("far", "cut x x x x x x tax", ""),
        ("wage", "wage wage wage tax tax tax tax", ""),
        ("other", "wage only", ""),
        ("none", "none here", ""),
    ]);
    let corpus = built(&collection, "", &dir.path().join("index"));
    let asked = query(&corpus, &[("premises", 1.0, "tax cut")]);
    let ranking = corpus.search(&asked, &BM25, ALL).unwrap();
    // equal scores: by id
    assert_eq!(ids(&ranking), ["far", "near", "wage"]);
    let proximity = Proximity {
        window: 2,
        weight: 0.5,
        depth: 2,
    };
    let nearer = corpus
        .with_proximity(ranking.clone(), &asked, proximity)
        .unwrap();
    assert_eq!(ids(&nearer), ["near", "far", "wage"]);
    assert!((nearer[0].score - 1.5 * ranking[1].score).abs() < 1e-12);

    let tax = query(&corpus, &[("premises", 1.0, "tax")]);
    let rm3 = Rm3 {
        documents: 1,
        terms: 5,
        original: 0.5,
    };
    let expanded = corpus.with_feedback(&tax, &BM25, rm3, ALL).unwrap();
    // the best is tax four times of seven and wage three
    let expected = [("tax", 0.5 + 0.5 * 4.0 / 7.0), ("wage", 0.5 * 3.0 / 7.0)];
    assert_eq!(expanded.parts[0].terms().len(), 2);
    for ((term, weight), (name, value)) in expanded.parts[0].terms().iter().zip(expected) {
        assert!(
            term == name && (weight - value).abs() < 1e-12,
            "{term} {weight}"
        );
    }
    assert!(ids(&corpus.search(&expanded, &BM25, ALL).unwrap()).contains(&"other"));
    let must = Query {
        parts: vec![tax.parts[0].clone().must()],
    };
    let expanded = corpus.with_feedback(&must, &BM25, rm3, ALL).unwrap();
    assert!(!ids(&corpus.search(&expanded, &BM25, ALL).unwrap()).contains(&"other"));
}

#[test]
fn an_index_is_used_while_nothing_changed_and_built_anew_otherwise() {
    let (dir, collection) = collection(&[("a", "gun law", "")]);
    let place = dir.path().join("index");
    // a thing that only the directory of this build has
    let mark = place.join("seen");
    let build = |collection: &TextCollection, analyzer: &str| {
        let corpus = built(collection, analyzer, &place);
        let kept = mark.is_file();
        fs::write(&mark, "").unwrap();
        (kept, corpus.documents())
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
    // an index of riposte 0.1 as it was before tantivy kept it
    fs::remove_dir_all(&place).unwrap();
    fs::create_dir(&place).unwrap();
    fs::write(place.join("riposte.json"), "{}").unwrap();
    assert_eq!(build(&collection, "stem=porter"), (false, 1));
    assert!(!place.join("riposte.json").exists());
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.txt"), "years of work").unwrap();
    let analyzer = Analyzer::default();
    let refused = Corpus::open_or_build(
        &collection,
        &analyzer,
        &other,
        Effort::default(),
        &mut |_| {},
    );
    let error = format!("{:#}", refused.err().unwrap());
    assert!(error.contains("something else in it"), "{error}");
    fs::remove_file(other.join("thesis.txt")).unwrap();
    fs::remove_dir(&other).unwrap();
    let name = |rules: &str| {
        let analyzer = rules.parse::<Analyzer>().unwrap();
        corpus::directory(Path::new("/x/e.sqlite"), Kind::Arguments, &analyzer)
    };
    assert!(name("").starts_with("/x") && name("") != name("stem=porter"));
    let left: BTreeSet<String> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let expected = [".index.lock", ".other.lock", "args-me.json", "index"];
    assert_eq!(left, expected.map(str::to_owned).into());
}

/// The directories in which an index is being built, or was.
fn unfinished(dir: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_string_lossy().contains(".building-"))
        .collect()
}

#[test]
fn a_killed_build_leaves_nothing_that_is_taken_for_an_index() {
    let home = tempfile::tempdir().unwrap();
    let tools = assert_cmd::cargo::cargo_bin("collection-tools");
    let made = home.path().join("made");
    let status = Command::new(&tools)
        .args(["generate-arguments", "--count", "3000"])
        .arg(&made)
        .status()
        .unwrap();
    assert!(status.success());
    let place = home.path().join("index");
    let mut child = Command::new(&tools)
        .args(["bench-search", "--kind", "arguments", "-i"])
        .arg(&made)
        .arg("--topics")
        .arg(made.join("topics.xml"))
        .arg("--index")
        .arg(&place)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while unfinished(home.path()).is_empty() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(unfinished(home.path()).len(), 1);
    assert!(!place.exists());
    let collection = TextCollection::Arguments(ArgumentCollection::open(&made).unwrap());
    let corpus = built(&collection, "stop=lucene stem=snowball", &place);
    assert_eq!(corpus.documents(), 3000);
    assert!(unfinished(home.path()).is_empty());
    let mut terms = corpus.meta().analyzer.build();
    assert!(!analyzer::terms(&mut terms, "the laws").is_empty());
}

#[test]
fn generated_collections_are_whole_and_the_same_for_a_seed() {
    let home = tempfile::tempdir().unwrap();
    let tools = assert_cmd::cargo::cargo_bin("collection-tools");
    let make = |what: &str, name: &str, seed: &str| {
        let dir = home.path().join(name);
        let status = Command::new(&tools)
            .args([what, "--count", "60", "--seed", seed])
            .arg(&dir)
            .status()
            .unwrap();
        assert!(status.success());
        dir
    };
    for (what, file) in [
        ("generate-arguments", "args-me.json"),
        ("generate-passages", "passages.jsonl.gz"),
    ] {
        let bytes = |dir: PathBuf| fs::read(dir.join(file)).unwrap();
        let one = bytes(make(what, &format!("{what}1"), "5"));
        assert!(one == bytes(make(what, &format!("{what}2"), "5")), "{what}");
        assert!(one != bytes(make(what, &format!("{what}3"), "6")), "{what}");
    }
    let arguments = ArgumentCollection::open(&home.path().join("generate-arguments1")).unwrap();
    assert_eq!(arguments.arguments().filter(Result::is_ok).count(), 60);
    let passages = PassageCollection::open(&home.path().join("generate-passages1")).unwrap();
    assert_eq!(passages.passages().filter(Result::is_ok).count(), 60);
}
