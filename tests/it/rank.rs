//! `riposte rank`, as a user runs it, on collections in the layouts of BEIR and TIREx.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::files::{gzip, json_lines, text, write};
use crate::support::models::MINILM;
use crate::support::need::{Model, need};
use crate::support::program::{WorkDir, collection_tools, succeed, typed};

/// Documents as (id, title, text). Each word is its own stem, and is in no stop list.
const DOCUMENTS: [(&str, &str, &str); 6] = [
    (
        "d1",
        "lion zebra",
        "lion wolf corn lion milk goat lamp barn lion",
    ),
    ("d2", "", "zebra zebra corn"),
    (
        "d3",
        "goat milk",
        "goat corn barn lamp lion wolf milk milk corn barn zebra",
    ),
    ("d4", "lion", ""),
    ("d5", "corn barn", "wolf"),
    ("d6", "lamp", "barn lamp barn corn corn milk lamp"),
];

const QUERIES: [(&str, &str); 3] = [
    ("q1", "lion zebra"),
    ("q2", "milk milk goat"),
    ("q3", "wolf"),
];

fn lines(values: impl IntoIterator<Item = serde_json::Value>) -> String {
    values
        .into_iter()
        .map(|value| format!("{value}\n"))
        .collect()
}

fn beir_corpus(documents: &[(&str, &str, &str)]) -> String {
    let document = |(id, title, text): &(&str, &str, &str)| json!({"_id": id, "title": title, "text": text, "metadata": {}});
    lines(documents.iter().map(document))
}

fn beir_queries(queries: &[(&str, &str)]) -> String {
    lines(
        queries
            .iter()
            .map(|(id, text)| json!({"_id": id, "text": text})),
    )
}

/// A collection in the layout of BEIR in `in`.
fn beir(documents: &[(&str, &str, &str)], queries: &[(&str, &str)]) -> WorkDir {
    WorkDir::with(&[
        ("in/corpus.jsonl", beir_corpus(documents).as_bytes()),
        ("in/queries.jsonl", beir_queries(queries).as_bytes()),
    ])
}

/// Runs an approach, which must exit with 0. Returns the run.
#[track_caller]
fn ranked(dir: &WorkDir, approach: &str) -> String {
    dir.succeeds(&format!(
        "rank -i in -o out --index kept --approach {approach}"
    ));
    dir.read("out/run.txt")
}

/// The documents of each query with their scores, in the order of the run.
fn by_query(run: &str) -> BTreeMap<String, Vec<(String, f64)>> {
    let mut found: BTreeMap<String, Vec<(String, f64)>> = BTreeMap::new();
    for line in run.lines() {
        let [query, second, document, rank, score, _] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let list = found.entry(query.to_owned()).or_default();
        assert_eq!((second, rank), ("Q0", &*(list.len() + 1).to_string()));
        list.push((document.to_owned(), score.parse().unwrap()));
    }
    found
}

fn ids(found: &[(String, f64)]) -> Vec<&str> {
    found.iter().map(|(id, _)| id.as_str()).collect()
}

/// The nDCG@10 of a search for words in a collection of `generate-beir`, computed only from the judgements: documents of grade 0 come first, then
/// grade 2, then grade 1.
fn constructed_ndcg(qrels: &str) -> f64 {
    let mut grades: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for line in qrels.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let of_query = grades.entry(fields[0]).or_default();
        of_query.push(fields[2].parse().unwrap());
    }
    let dcg = |grades: &[u32]| -> f64 {
        let gains = (2..).zip(grades.iter().take(10));
        gains
            .map(|(place, grade)| f64::from(*grade) / f64::from(place).log2())
            .sum()
    };
    let of_query = |grades: &Vec<u32>| {
        let mut found = grades.clone();
        found.sort_by_key(|grade| [0, 2, 1][*grade as usize]);
        let mut best = grades.clone();
        best.sort_by_key(|grade| 2 - grade);
        dcg(&found) / dcg(&best)
    };
    grades.values().map(of_query).sum::<f64>() / grades.len() as f64
}

#[test]
fn a_generated_collection_is_ranked_verified_and_evaluated_as_it_was_made() {
    let dir = WorkDir::new();
    let made = dir.path("in");
    let args = typed("generate-beir --count 400 --seed 3 {}", &[text(&made)]);
    succeed(&mut collection_tools(&args));
    let (_, said) = dir.succeeds("rank -i in -o out --approach bm25");
    let judged = "10 of 20 queries are judged in in/qrels/test.tsv: the others are left out";
    assert!(said.contains(judged), "{said}");
    let (code, said, _) = dir.run("verify out -i in --task rank");
    assert_eq!((code, said.trim()), (0, "out/run.txt: valid"));

    let expected = constructed_ndcg(&dir.read("in/qrels/test.tsv"));
    assert!(expected > 0.7 && expected < 0.95, "{expected}");
    let evaluated = |judgements: &str, run: &str| {
        let line = format!("evaluate {judgements} {run} nDCG@10 --format tsv");
        let (printed, _) = dir.succeeds(&line);
        let all = printed.lines().find(|line| line.contains("\tall\t"));
        all.unwrap()
            .rsplit('\t')
            .next()
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    let ndcg = evaluated("in/qrels/test.tsv", "out");
    assert!((ndcg - expected).abs() < 1e-4, "{ndcg}, not {expected}");

    // the queries for training are ranked if their file is named
    dir.succeeds("rank -i in -o all --approach bm25 --topics in/queries.jsonl --tag riposte-bm25");
    let train = dir.read("in/qrels/train.tsv");
    let ndcg = evaluated("in/qrels/train.tsv", "all");
    assert!((ndcg - constructed_ndcg(&train)).abs() < 1e-4, "{ndcg}");

    let run = dir.read("out/run.txt");
    let corpus = fs::read(made.join("corpus.jsonl")).unwrap();
    fs::remove_file(made.join("corpus.jsonl")).unwrap();
    write(&made.join("corpus.jsonl.gz"), gzip(&corpus));
    let queries = fs::read(made.join("queries.jsonl")).unwrap();
    fs::remove_file(made.join("queries.jsonl")).unwrap();
    write(&made.join("queries.jsonl.gz"), gzip(&queries));
    let (_, said) = dir.succeeds("rank -i in -o packed --approach bm25");
    assert!(dir.read("packed/run.txt") == run, "{said}");
}

/// The BM25 score of each document for a query, as Lucene computes it. A document is a list of words.
fn bm25(query: &str, texts: &[Vec<&str>]) -> Vec<f64> {
    let (k1, b) = (0.9, 0.4);
    let count = |words: &[&str], word: &str| words.iter().filter(|w| **w == word).count() as f64;
    let tokens: usize = texts.iter().map(Vec::len).sum();
    let mean = tokens as f64 / texts.len() as f64;
    let score = |words: &Vec<&str>| -> f64 {
        let term = |term: &str| {
            let having = texts.iter().filter(|words| words.contains(&term)).count() as f64;
            let idf = (1.0 + (texts.len() as f64 - having + 0.5) / (having + 0.5)).ln();
            let tf = count(words, term);
            idf * tf / (tf + k1 * (1.0 - b + b * words.len() as f64 / mean))
        };
        query.split(' ').map(term).sum()
    };
    texts.iter().map(score).collect()
}

#[test]
fn bm25_has_the_scores_of_its_formula() {
    let dir = beir(&DOCUMENTS, &QUERIES);
    let split = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
    let titles: Vec<Vec<&str>> = DOCUMENTS.iter().map(|d| split(d.1)).collect();
    let texts: Vec<Vec<&str>> = DOCUMENTS.iter().map(|d| split(d.2)).collect();
    let joined: Vec<Vec<&str>> = titles
        .iter()
        .zip(&texts)
        .map(|(title, text)| [title.as_slice(), text].concat())
        .collect();
    let both = |query: &str| -> Vec<f64> {
        let (titles, texts) = (bm25(query, &titles), bm25(query, &texts));
        titles.iter().zip(texts).map(|(a, b)| a + b).collect()
    };
    let flat = |query: &str| bm25(query, &joined);
    let check = |approach: &str, formula: &dyn Fn(&str) -> Vec<f64>| {
        let found = by_query(&ranked(&dir, approach));
        for (id, query) in QUERIES {
            let scores = formula(query);
            let mut expected: Vec<(&str, f64)> = DOCUMENTS
                .iter()
                .zip(scores)
                .map(|(document, score)| (document.0, score))
                .filter(|(_, score)| *score > 0.0)
                .collect();
            expected.sort_by(|a, b| b.1.total_cmp(&a.1));
            let found = &found[id];
            let expected_ids: Vec<&str> = expected.iter().map(|(id, _)| *id).collect();
            assert_eq!(ids(found), expected_ids, "{approach}: {query}");
            for ((document, score), (_, expected)) in found.iter().zip(&expected) {
                let difference = (score - expected).abs();
                assert!(
                    difference < 1e-5,
                    "{approach}: {document}: {score}, not {expected}"
                );
            }
        }
    };
    check("bm25", &both);
    check("bm25-flat", &flat);
}

#[test]
fn the_layout_of_tirex_gives_the_ranking_of_that_of_beir() {
    let expected = ranked(&beir(&DOCUMENTS, &QUERIES), "bm25");
    assert!(expected.lines().count() > 8, "{expected}");
    let document = |(id, title, text): &(&str, &str, &str)| {
        let original = json!({"doc_id": id, "text": "zebra zebra zebra"});
        json!({"docno": id, "title": title, "text": text, "original_document": original})
    };
    let documents = lines(DOCUMENTS.iter().map(document));
    let queries =
        lines(QUERIES.iter().map(
            |(id, query)| json!({"qid": id, "query": query, "original_query": {"text": "wolf"}}),
        ));
    let topic = |(id, query): &(&str, &str)| {
        format!(
            "<topic number=\"{id}\">\n<query>\n {query}\n</query>\n<original_query><query_id>{id}</query_id></original_query></topic>\n"
        )
    };
    let xml: String = QUERIES.iter().map(topic).collect();
    let xml = format!("<topics ir-datasets-id=\"lions\">\n{xml}</topics>\n");
    let packed = gzip(&documents);
    for (corpus, bytes) in [
        ("documents.jsonl", documents.as_bytes()),
        ("documents.jsonl.gz", packed.as_slice()),
        ("corpus.jsonl.gz", packed.as_slice()),
    ] {
        for (topics, text) in [("queries.jsonl", &queries), ("queries.xml", &xml)] {
            let files = [
                (format!("in/{corpus}"), bytes),
                (format!("in/{topics}"), text.as_bytes()),
                ("in/metadata.json".to_owned(), b"{}".as_slice()),
            ];
            let dir = WorkDir::with(
                &files
                    .each_ref()
                    .map(|(name, bytes)| (name.as_str(), *bytes)),
            );
            assert_eq!(ranked(&dir, "bm25"), expected, "{corpus} and {topics}");
        }
    }
}

#[test]
fn what_ir_datasets_exports_is_ranked_like_a_collection_of_beir() {
    let expected = ranked(&beir(&DOCUMENTS, &QUERIES), "bm25");
    let document = |(id, title, text): &(&str, &str, &str)| json!({"doc_id": id, "text": text, "title": title});
    let query = |(id, text): &(&str, &str)| json!({"query_id": id, "text": text});
    let dir = WorkDir::with(&[
        (
            "in/documents.jsonl",
            lines(DOCUMENTS.iter().map(document)).as_bytes(),
        ),
        (
            "in/queries.jsonl",
            lines(QUERIES.iter().map(query)).as_bytes(),
        ),
    ]);
    assert_eq!(ranked(&dir, "bm25"), expected);
}

#[test]
fn short_texts_and_copies_are_ranked_like_all_others() {
    let documents = [
        ("a", "", "lion"),
        ("b", "", "lion"),
        ("c", "Lion", ""),
        ("d", "goat", "corn"),
    ];
    let dir = beir(&documents, &[("q", "lion")]);
    let all = ["a", "b", "c"];
    for approach in [
        "riposte",
        "bm25",
        "bm25-flat",
        "bm25-rm3",
        "dirichlet",
        "dph",
    ] {
        let found = by_query(&ranked(&dir, approach));
        let mut found = ids(&found["q"]);
        found.sort_unstable();
        assert_eq!(found, all, "{approach}");
    }
    // a recipe can leave documents out
    let recipe = "name = \"mine\"\n[[retrieval]]\nanalyzer = \"stem=porter\"\nsimilarity = { name = \"dph\" }\n\
        fields = { \"title+text\" = 1.0 }\n";
    write(&dir.path("mine.toml"), recipe);
    assert_eq!(by_query(&ranked(&dir, "mine.toml"))["q"].len(), 3);
    write(
        &dir.path("mine.toml"),
        format!("{recipe}[keep]\nshort = true\n"),
    );
    assert_eq!(ids(&by_query(&ranked(&dir, "mine.toml"))["q"]), ["a"]);
}

#[test]
fn at_most_a_thousand_documents_are_ranked_for_a_query() {
    let names: Vec<String> = (0..1200).map(|n| format!("d{n}")).collect();
    let documents: Vec<(&str, &str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "", "lion"))
        .collect();
    let dir = beir(&documents, &[("q", "lion"), ("r", "wolf")]);
    let found = by_query(&ranked(&dir, "bm25"));
    assert_eq!(found.len(), 1, "no document has a wolf");
    assert_eq!(found["q"].len(), 1000);
}

#[test]
fn broken_lines_are_named_and_the_others_are_ranked() {
    let corpus = "{\"_id\": 1, \"title\": \"t\", \"text\": \"lion\"}\n\
        {\"_id\": \"2\", \"text\": \"li\n\
        {\"title\": \"no id\", \"text\": \"lion\"}\n\
        {\"_id\": \"a b\", \"text\": \"lion\"}\n\
        {\"_id\": 1.5, \"text\": \"lion\"}\n\
        {\"_id\": \"1\", \"text\": \"lion goat\"}\n\n\
        {\"_id\": \"8\", \"title\": null, \"text\": \"lion corn\"}\n\
        [\"9\", null, null, \"lion corn\"]\n";
    let queries =
        "{\"_id\": 7, \"text\": \"lion\"}\n{\"_id\": 8}\n{\"_id\": 9, \"text\": \"corn\"}\n";
    let dir = WorkDir::with(&[
        ("in/corpus.jsonl", corpus.as_bytes()),
        ("in/queries.jsonl", queries.as_bytes()),
    ]);
    let (code, _, said) = dir.run("rank -i in -o out --index kept --approach bm25");
    assert_eq!(code, 0, "{said}");
    for what in [
        "in/corpus.jsonl:2: ",
        "in/corpus.jsonl:3: it has no `_id`, `docno` or `doc_id`",
        "in/corpus.jsonl:4: its id has a blank",
        "in/corpus.jsonl:5: an id is neither a string nor a whole number",
        "in/corpus.jsonl:9: invalid type: sequence, expected a JSON object",
        "in/queries.jsonl:2: a query has neither `query` nor `text`",
        "in/corpus.jsonl: 1: left out, because an earlier text has this id",
        "7 faults: document 6, topic 1",
        "2 documents",
        "1 more left out because of a repeated id",
    ] {
        assert!(said.contains(what), "{what} is not in:\n{said}");
    }
    let found = by_query(&dir.read("out/run.txt"));
    assert_eq!(ids(&found["7"]), ["1", "8"]);
    assert_eq!(ids(&found["9"]), ["8"]);
}

#[test]
fn runs_of_other_topics_or_documents_are_not_valid() {
    let dir = beir(&DOCUMENTS, &QUERIES);
    ranked(&dir, "bm25");
    let good =
        "q1 Q0 d1 1 3 t\nq2 Q0 d3 1 2 t\nq3 Q0 d5 1 1 t\nq3 Q0 d1 2 0.5 t\nq3 Q0 d3 3 0.4 t\n";
    for (from, to, what) in [
        ("q1", "q9", "q9"),
        ("d1", "d9", "no document \"d9\" in the collection"),
        ("Q0 d5", "PRO d5", "\"PRO\" in the second column"),
    ] {
        write(&dir.path("bad.txt"), good.replacen(from, to, 1));
        let (code, said, _) = dir.run("verify bad.txt -i in --task rank");
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(what) && said.contains("NOT valid"), "{said}");
    }
    // without a collection, all topics and documents are allowed, and no edition needs to be named
    write(&dir.path("any.txt"), good.replace("q1", "topic-x"));
    for edition in ["", " --edition 2025"] {
        let (code, said, _) = dir.run(&format!("verify any.txt --task rank{edition}"));
        assert_eq!((code, said.trim()), (0, "any.txt: valid"));
    }
}

#[test]
fn the_task_of_a_collection_is_inferred_and_its_index_is_described() {
    let dir = beir(&DOCUMENTS, &QUERIES);
    let (printed, _) = dir.succeeds("index -i in --index kept");
    assert!(printed.starts_with("6 documents in "), "{printed}");
    // the texts have 31 words, the titles 8
    let words = |field: &str| {
        let line = printed
            .lines()
            .find(|line| line.trim_start().starts_with(field));
        line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!([words("text"), words("title")], ["31", "8"], "{printed}");
    let (printed, _) = dir.succeeds("index -i in --index kept --check");
    assert!(printed.contains("no damage"), "{printed}");

    dir.succeeds("rank -i in -o out --index kept --explain out/explain.jsonl");
    write(
        &dir.path("in/qrels/test.tsv"),
        "query-id\tcorpus-id\tscore\nq1\td4\t1\nq2\td3\t1\nq3\td5\t1\n",
    );
    dir.succeeds(
        "inspect out -i in --index kept --qrels in/qrels/test.tsv -o report --single-file",
    );
    let report = dir.read("report.html");
    for what in [
        "Documents for queries",
        "6 documents",
        "nDCG@10",
        "<mark>lion</mark>",
    ] {
        assert!(report.contains(what), "{what}");
    }
}

#[test]
fn several_approaches_and_parts_of_topics_are_for_any_collection() {
    let dir = beir(&DOCUMENTS, &[]);
    let queries = json!({"_id": "1", "text": "wolf", "metadata": {"description": "zebra"}});
    write(&dir.path("in/queries.jsonl"), queries.to_string());
    dir.succeeds(
        "rank -i in -o out --index kept --approach bm25 --approach dph --use description --tag us",
    );
    for name in ["bm25", "dph"] {
        let run = dir.read(&format!("out/{name}/run.txt"));
        assert!(
            run.lines()
                .all(|line| line.ends_with(&format!(" us-{name}")))
        );
        let found = by_query(&run);
        // the document is found only because of "zebras"
        assert!(ids(&found["1"]).contains(&"d2"), "{run}");
    }
    dir.refuses(
        "
        rank -i nowhere -o out | nowhere
        rank -i out -o x --topics in/queries.jsonl | out holds no documents: it contains none of corpus.jsonl
        rank -i in -o out --approach chatnoir | there is no rank approach named chatnoir
        rank -i in -o out --approach dense | the sentence encoder is not installed
        ",
    );
}

/// The documents that an approach with the model ranks for "How do cats sleep?", in order.
fn with_model(dir: &WorkDir, models: &Path, approach: &str) -> Vec<String> {
    let models = text(models);
    dir.succeeds(&format!(
        "rank -i in -o out --index kept --approach {approach} --models {models} --explain why.jsonl"
    ));
    let run = dir.read("out/run.txt");
    let found = by_query(&run);
    let scores: HashMap<&str, f64> = found["1"]
        .iter()
        .map(|(id, score)| (id.as_str(), *score))
        .collect();
    // the explanations belong to the scores in the run
    for why in json_lines(&dir.read("why.jsonl")) {
        let explained = why["score"]["value"].as_f64().unwrap();
        let score = scores[why["document"].as_str().unwrap()];
        assert!((explained - score).abs() < 1e-4, "{why}");
    }
    found["1"].iter().map(|(id, _)| id.clone()).collect()
}

#[test]
fn models_read_titles_and_texts() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let documents = [
        ("meaning", "Rest", "Kittens doze for sixteen hours a day."),
        (
            "words",
            "How a cat became a sleep",
            "The film How Do Cats is about a bank, and how to sleep and do a heist.",
        ),
        ("title", "How cats sleep", ""),
        (
            "other",
            "Tax",
            "The rate of the tax on income has been raised to nine percent.",
        ),
        ("empty", "", ""),
    ];
    let dir = beir(&documents, &[("1", "How do cats sleep?")]);
    let models = minilm.dir.parent().unwrap();
    // the dense search finds every document with words, and ranks one first that has only a title
    let dense = with_model(&dir, models, "dense");
    assert_eq!(dense, ["title", "words", "meaning", "other"]);
    // the default re-ranks the documents that a search for words finds, also by similarity. If it did not read titles, the first document would
    // be similar to nothing
    let found = with_model(&dir, models, "riposte");
    assert_eq!(found, ["title", "words"]);
}
