//! Which documents of a text collection are found, and in which order.

use std::collections::BTreeMap;
use std::path::Path;

use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::portal::Portal;
use riposte::index::ScoredDoc;
use riposte::index::feedback::Rm3;
use riposte::index::inverted::{IndexingBudget, InvertedIndex, Marks, TextCollection};
use riposte::index::options::PortalSet;
use riposte::index::search::{IndexQuery, QueryPart, SearchOptions};
use riposte::index::similarity::{FieldCounts, Similarity, TermCounts};
use riposte::index::wordnet::WordNet;
use riposte::systems::proximity::{PairsOf, TermPairs};
use riposte_eval::DocId;
use serde_json::{Value, json};

use crate::support::chance::Chance;
use crate::support::collection::{argument, argument_collection};
use crate::support::files::json as read_json;
use crate::support::need::{Data, InstalledWordNet, need};
use crate::support::reference;

pub const BM25: Similarity = Similarity::Bm25 { k1: 1.2, b: 0.75 };
pub const ALL: SearchOptions = SearchOptions {
    k: 1000,
    short: true,
    duplicates: true,
    portals: None,
};

/// A collection of arguments, each given by id, premise and conclusion.
pub fn collection(arguments: &[(&str, &str, &str)]) -> (tempfile::TempDir, TextCollection) {
    argument_collection(arguments.iter().map(|(id, premise, conclusion)| {
        let mut argument = argument(id, conclusion, premise, "CON");
        argument["context"] = json!({
            "discussionTitle": "d",
            "sourceText": "the page",
            "sourceUrl": format!("https://a.example/{id}"),
        });
        argument
    }))
}

pub fn built(collection: &TextCollection, analyzer: &str, dir: &Path) -> InvertedIndex {
    build_with(collection, analyzer, dir, 2)
}

fn build_with(
    collection: &TextCollection,
    analyzer: &str,
    dir: &Path,
    threads: usize,
) -> InvertedIndex {
    let analyzer = analyzer.parse().unwrap();
    let effort = IndexingBudget {
        threads,
        // very little memory, so even a small collection has several segments
        bytes: 1,
    };
    InvertedIndex::open_or_build(collection, &analyzer, dir, effort, &mut |_| {}).unwrap()
}

pub fn query(index: &InvertedIndex, parts: &[(&str, f64, &str)]) -> IndexQuery {
    let mut analyzer = index.meta().analyzer.build();
    let part = |(field, weight, text): &(&str, f64, &str)| {
        QueryPart::of_text(index.field(field).unwrap(), *weight, &mut analyzer, text)
    };
    IndexQuery {
        parts: parts.iter().map(part).collect(),
    }
}

pub fn ids(ranking: &[ScoredDoc]) -> Vec<&str> {
    ranking.iter().map(|found| found.doc.0.as_str()).collect()
}

pub fn doc(id: &str) -> DocId {
    DocId(id.to_owned())
}

#[test]
fn bm25_ranks_as_bm25s_does() {
    let Some(data) = need(Data("args")) else {
        return;
    };
    let reference: Value = read_json(&reference("bm25.json"));
    let home = tempfile::tempdir().unwrap();
    let collection = TextCollection::Arguments(ArgumentCollection::open(&data).unwrap());
    let index = built(&collection, "length=1-1000", &home.path().join("index"));
    assert_eq!(
        u64::from(index.documents()),
        reference["documents"].as_u64().unwrap()
    );
    // the reference values have five decimals
    let near = |a: f64, b: &Value| (a - b.as_f64().unwrap()).abs() < 1e-5;
    let queries = reference["queries"].as_array().unwrap();
    assert_eq!(queries.len(), 50);
    for expected in queries {
        let title = expected["title"].as_str().unwrap();
        let query = query(&index, &[("premises", 1.0, title)]);
        let ranking = index
            .search(&query, &BM25, SearchOptions { k: 150, ..ALL })
            .unwrap();
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
        let listed = expected["top"].as_array().unwrap();
        assert!(listed.len() >= 10);
        for (place, pair) in listed.iter().enumerate() {
            // the scores at each rank are the same; the documents are the same, except where scores are equal
            assert!(near(top[place].score, &pair[1]), "{title}: {place}");
            let ours = by_id.get(pair[0].as_str().unwrap()).copied();
            assert!(
                ours.is_some_and(|ours| near(ours, &pair[1])),
                "{title}: {pair}"
            );
        }
    }
}

/// Documents with few different words, so that many scores are equal.
fn documents_of_few_words() -> Vec<(String, String, String)> {
    let words = ["tax", "cut", "wage", "job", "law", "vote", "gun", "school"];
    let mut chance = Chance(7);
    (0..600)
        .map(|n| {
            let length = 1 + chance.below(30);
            let mut text = |length: usize| -> String {
                (0..length)
                    .map(|_| format!("{} ", words[chance.below(words.len())]))
                    .collect()
            };
            (format!("d{:03}", n * 7 % 600), text(length), text(3))
        })
        .collect()
}

#[test]
fn the_number_of_segments_does_not_change_rankings_and_an_explanation_is_the_score() {
    let documents = documents_of_few_words();
    let documents: Vec<_> = documents
        .iter()
        .map(|(id, text, conclusion)| (id.as_str(), text.as_str(), conclusion.as_str()))
        .collect();
    let (dir, collection) = collection(&documents);
    let one = build_with(&collection, "", &dir.path().join("one"), 1);
    // on a busy machine, the first of the four threads can be done before the others begin
    let four = (0..20).find_map(|n| {
        let four = build_with(&collection, "", &dir.path().join(format!("four-{n}")), 4);
        (four.report().unwrap().segments > 1).then_some(four)
    });
    let four = four.expect("several threads write segments");
    assert_eq!(one.report().unwrap().segments, 1);
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
        let options = SearchOptions { k: 50, ..ALL };
        let ranking = one.search(&asked, &similarity, options).unwrap();
        assert_eq!(ranking.len(), 50);
        assert_eq!(
            ranking,
            four.search(&asked, &similarity, options).unwrap(),
            "{similarity:?}"
        );
        for pair in ranking.windows(2) {
            let order = pair[1]
                .score
                .total_cmp(&pair[0].score)
                .then(pair[0].doc.cmp(&pair[1].doc));
            assert!(order.is_lt(), "{similarity:?}: {pair:?}");
        }
        // a longer ranking begins with the same documents
        let longer = one.search(&asked, &similarity, ALL).unwrap();
        assert_eq!(longer[..50], ranking);
        for found in longer.iter().step_by(37) {
            let explained = four.explain(&asked, &similarity, &found.doc).unwrap();
            assert_eq!(explained.value(), found.score, "{similarity:?}");
            let parts: f64 = explained.parts().iter().map(|part| part.value()).sum();
            assert!(
                (parts - found.score).abs() < 1e-9,
                "{similarity:?}: {explained:?}"
            );
        }
    }
}

/// Enough documents for many blocks of postings: with frequent and rare words, long and short texts, and many similar documents.
fn zipf(
    documents: usize,
) -> (
    tempfile::TempDir,
    TextCollection,
    Vec<(String, String, String)>,
) {
    let mut chance = Chance(11);
    let mut next = || chance.fraction();
    let texts: Vec<(String, String, String)> = (0..documents)
        .map(|n| {
            // 400 words: the nth has a frequency of 1/n, but in some documents all words are equally frequent
            let rare = next() < 0.01;
            let mut text = |longest: f64| -> String {
                let length = 1 + (longest * next().powi(3)) as usize;
                let word = |x: f64| {
                    if rare {
                        (400.0 * x) as usize
                    } else {
                        400f64.powf(x) as usize - 1
                    }
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

/// Ranks documents with the formulas, without an index: counts each term of the query in each document.
fn ranked_by_hand(
    documents: &[(String, [Vec<String>; 2])],
    query: &IndexQuery,
    similarity: &Similarity,
) -> Vec<ScoredDoc> {
    let tf = |words: &[String], term: &str| words.iter().filter(|word| *word == term).count();
    let mut scores = vec![None::<f64>; documents.len()];
    // the words in the fields of a part, as one text
    let text = |part: &QueryPart, fields: &[Vec<String>; 2]| -> Vec<String> {
        let fields = part.fields().iter().map(|field| fields[*field].clone());
        fields.collect::<Vec<_>>().concat()
    };
    for part in &query.parts {
        let lengths: Vec<u32> = documents
            .iter()
            .map(|(_, fields)| text(part, fields).len() as u32)
            .collect();
        let field = FieldCounts {
            documents: documents.len() as u64,
            tokens: lengths.iter().map(|n| u64::from(*n)).sum(),
        };
        for (term, weight) in part.terms() {
            let tfs: Vec<usize> = documents
                .iter()
                .map(|(_, fields)| tf(&text(part, fields), term))
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
            let known = |term: &str| documents.iter().any(|(_, f)| tf(&text(part, f), term) > 0);
            let asked = part.terms().iter().filter(|(term, _)| known(term));
            let asked: f64 = asked.map(|(_, weight)| weight).sum();
            for (score, (_, fields)) in scores.iter_mut().zip(documents) {
                let length = text(part, fields).len() as u32;
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
fn rankings_are_those_of_the_formulas_without_an_index() {
    let (dir, collection, texts) = zipf(4_200);
    let index = build_with(&collection, "", &dir.path().join("index"), 3);
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
    // from one document to more documents than the collection has
    let k = proptest::sample::select(vec![1, 2, 4, 10, 100, 4500]);
    let mut runner = proptest::test_runner::TestRunner::new(proptest::test_runner::Config {
        cases: 120,
        failure_persistence: None,
        ..Default::default()
    });
    runner
        .run(
            &(words, 0usize..9, 0.1f64..3.0, similarity, k, 0usize..4),
            |(words, other, weight, similarity, k, joined)| {
                let text = |words: &[usize]| -> String {
                    words.iter().map(|word| format!("w{word} ")).collect()
                };
                let other = text(words.get(other..).unwrap_or_default());
                let mut asked = query(
                    &index,
                    &[
                        ("premises", 1.0, &text(&words)),
                        ("conclusion", weight, &other),
                    ],
                );
                if joined == 0 {
                    asked.parts[0] = asked.parts[0].clone().over(vec![0, 1]);
                }
                let found = index
                    .search(&asked, &similarity, SearchOptions { k, ..ALL })
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
fn dirichlet_counts_terms_that_are_missing_in_a_document() {
    let (dir, collection) = collection(&[
        ("a", "gun law gun", ""),
        ("b", "gun x x x x x x", ""),
        ("c", "law y", ""),
        ("d", "z z", ""),
    ]);
    let index = built(&collection, "", &dir.path().join("index"));
    let asked = query(&index, &[("premises", 1.0, "gun law")]);
    let mu = 10.0;
    let ranking = index
        .search(&asked, &Similarity::Dirichlet { mu }, ALL)
        .unwrap();
    // the formula of the paper: ln of (tf + mu p) / (length + mu), without ln p, which is the same for all documents. Of 14 terms, 3 are "gun"
    // and 2 are "law"
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
fn parts_that_must_match_and_marks_exclude_documents() {
    let long = "the gun law is a law that many people in this country have asked for since the war ended long ago";
    let (dir, collection) = collection(&[
        ("a", long, "vote"),
        ("b", "Gun law!", "tax"),
        ("c", &long.to_uppercase().replace(' ', "  "), "tax"),
        ("d", "nothing here", "gun"),
        ("a", "again", "gun"),
    ]);
    let index = built(&collection, "", &dir.path().join("index"));
    let meta = index.meta();
    assert_eq!(
        (
            index.documents(),
            meta.repeated_ids,
            meta.duplicates,
            meta.short
        ),
        (4, 1, 1, 2)
    );
    let number = |id: &str| index.number(&doc(id)).unwrap();
    let marks = |short, duplicate| Some(Marks { short, duplicate });
    let first = |id: &DocId| index.document(id).unwrap().duplicate_of;
    assert_eq!(index.marks(number("a")), marks(false, false));
    assert_eq!(index.marks(number("b")), marks(true, false));
    assert_eq!(index.marks(number("c")), marks(false, true));
    assert_eq!(first(&doc("c")), Some(doc("a")));
    assert_eq!(first(&doc("a")), None);
    assert_eq!(
        (index.length(0, number("b")), index.length(1, number("b"))),
        (Some(2), Some(1))
    );

    let found = |parts: Vec<QueryPart>, options: SearchOptions| {
        let ranking = index.search(&IndexQuery { parts }, &BM25, options).unwrap();
        let mut found: Vec<String> = ranking.into_iter().map(|f| f.doc.0).collect();
        found.sort();
        found.join("")
    };
    let mut analyzer = index.meta().analyzer.build();
    let mut part = |field, text: &str| QueryPart::of_text(field, 1.0, &mut analyzer, text);
    let (body, title) = (part(0, "gun"), part(1, "gun tax"));
    let parts = || vec![body.clone(), title.clone()];
    assert_eq!(found(parts(), ALL), "abcd");
    assert_eq!(found(vec![body.clone().must(), title.clone()], ALL), "abc");
    assert_eq!(
        found(vec![body.clone().must(), title.clone().must()], ALL),
        "bc"
    );
    assert_eq!(found(parts(), SearchOptions::default()), "a");
    assert_eq!(
        found(
            parts(),
            SearchOptions {
                short: true,
                ..SearchOptions::default()
            }
        ),
        "abd"
    );
    assert_eq!(
        found(
            parts(),
            SearchOptions {
                duplicates: true,
                ..SearchOptions::default()
            }
        ),
        "ac"
    );
    // documents are left out before the ranking is cut, not afterwards
    assert_eq!(
        found(
            vec![body.clone()],
            SearchOptions {
                k: 1,
                ..SearchOptions::default()
            }
        ),
        "a"
    );
    assert_eq!(found(parts(), SearchOptions { k: 0, ..ALL }), "");
    assert_eq!(
        found(vec![part(0, "unheard").must(), body.clone()], ALL),
        ""
    );
    assert_eq!(found(vec![], ALL), "");

    let explained = index
        .explain(&IndexQuery { parts: vec![body] }, &BM25, &doc("d"))
        .unwrap();
    assert_eq!((explained.value(), explained.parts().len()), (0.0, 0));
    assert!(
        index
            .explain(&IndexQuery::default(), &BM25, &doc("x"))
            .is_err()
    );
    let wrong = IndexQuery {
        parts: vec![QueryPart::new(0, f64::NAN)],
    };
    assert!(index.search(&wrong, &BM25, ALL).is_err());
}

#[test]
fn feedback_pairs_and_second_scores() {
    let (dir, collection) = collection(&[
        ("near", "x x x x tax cut x x", ""),
        ("far", "cut x x x x x x tax", ""),
        ("wage", "wage wage wage tax tax tax tax", ""),
        ("other", "wage only", ""),
        ("none", "none here", ""),
    ]);
    let index = built(&collection, "", &dir.path().join("index"));
    let asked = query(&index, &[("premises", 1.0, "tax cut")]);
    let ranking = index.search(&asked, &BM25, ALL).unwrap();
    // equal scores are ordered by id
    assert_eq!(ids(&ranking), ["far", "near", "wage"]);
    let pairs = TermPairs {
        of: PairsOf::AdjacentTerms,
        slop: 2,
        weight: 0.5,
        depth: 2,
    };
    let terms = ["tax", "cut"].map(str::to_owned);
    let nearer = pairs
        .rescore(&index, ranking.clone(), &asked, &terms, &BM25)
        .unwrap();
    assert_eq!(ids(&nearer), ["near", "far", "wage"]);
    // the terms are adjacent once, and each term occurs once, so the pair has the same score as the terms: half of it is added
    assert!((nearer[0].score - 1.5 * ranking[1].score).abs() < 1e-12);

    // another query gives new scores to the same documents, and 0 to those that it does not find
    let wage = query(&index, &[("premises", 1.0, "wage")]);
    let rescored = index.rescore(ranking, &wage, &BM25).unwrap();
    let alone = index.search(&wage, &BM25, ALL).unwrap();
    assert_eq!(ids(&rescored), ["wage", "far", "near"]);
    let score = |id: &str| alone.iter().find(|found| found.doc.0 == id).unwrap().score;
    assert_eq!(rescored[0].score, score("wage"));
    assert_eq!(rescored[1].score, 0.0);

    let tax = query(&index, &[("premises", 1.0, "tax")]);
    let rm3 = Rm3 {
        documents: 1,
        terms: 5,
        original: 0.5,
    };
    let expanded = index.with_feedback(&tax, &BM25, rm3, ALL).unwrap();
    // of the seven words of the best document, four are "tax" and three are "wage"
    let expected = [("tax", 0.5 + 0.5 * 4.0 / 7.0), ("wage", 0.5 * 3.0 / 7.0)];
    assert_eq!(expanded.parts[0].terms().len(), 2);
    for ((term, weight), (name, value)) in expanded.parts[0].terms().iter().zip(expected) {
        assert!(
            term == name && (weight - value).abs() < 1e-12,
            "{term} {weight}"
        );
    }
    assert!(ids(&index.search(&expanded, &BM25, ALL).unwrap()).contains(&"other"));
    let must = IndexQuery {
        parts: vec![tax.parts[0].clone().must()],
    };
    let expanded = index.with_feedback(&must, &BM25, rm3, ALL).unwrap();
    assert!(!ids(&index.search(&expanded, &BM25, ALL).unwrap()).contains(&"other"));
}

#[test]
fn an_installed_wordnet_knows_that_a_car_is_an_automobile() {
    let Some(dir) = need(InstalledWordNet) else {
        return;
    };
    let first = toml::from_str("weight = 1.0\nsenses = 1").unwrap();
    let synonyms = WordNet::open(&dir).unwrap().synonyms("car", &first);
    assert_eq!(synonyms, ["auto", "automobile", "machine", "motorcar"]);
}

#[test]
fn arguments_of_some_portals_alone_are_ranked() {
    let portals = ["debateorg", "idebate", "www.debate.org", "elsewhere"];
    let arguments = portals.iter().enumerate().map(|(n, portal)| {
        let mut argument = argument(&format!("a{n}"), "c", "tax cut", "PRO");
        argument["context"] = json!({ "sourceDomain": portal });
        argument
    });
    let (dir, collection) = argument_collection(arguments);
    let index = built(&collection, "", &dir.path().join("index"));
    let asked = query(&index, &[("premises", 1.0, "tax")]);
    let found = |portals: &[Portal]| {
        let portals: PortalSet = portals.iter().copied().collect();
        let options = SearchOptions {
            portals: Some(portals),
            ..ALL
        };
        index.search(&asked, &BM25, options).unwrap()
    };
    assert_eq!(ids(&found(&[Portal::Debateorg])), ["a0", "a2"]);
    assert_eq!(
        ids(&found(&[Portal::Idebate, Portal::Debateorg])),
        ["a0", "a1", "a2"]
    );
    assert!(found(&[Portal::Parliamentary]).is_empty());
    assert_eq!(index.search(&asked, &BM25, ALL).unwrap().len(), 4);
}
