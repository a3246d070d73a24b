use serde::Deserialize;

use super::*;
use crate::recipes::hinted_toml::read_unplaced;

/// A recipe with two searches.
const TWO: &str = r#"
    name = "two"
    fusion = { name = "sum" }
    [[retrieval]]
    similarity = { name = "bm25", k1 = 1.2, b = 0.75 }
    depth = 5000
    [[retrieval]]
    similarity = { name = "bm25f", k1 = 1.2, b = [0.4, 0.5] }
    fields = { title = 1.0 }
    [rerank]
    weights = { retrieval = 1.0 }
"#;

fn key(text: &str) -> Setting {
    Setting::key(text).unwrap()
}

/// The recipe with these settings.
fn made(text: &str, settings: &[Setting]) -> Table {
    let settings: Vec<&Setting> = settings.iter().collect();
    changed(text, &settings).unwrap().parse().unwrap()
}

fn refused(text: &str, settings: &[Setting]) -> String {
    let settings: Vec<&Setting> = settings.iter().collect();
    changed(text, &settings).unwrap_err().to_string()
}

/// The same recipe, changed as a user would change the file.
fn edited(replacements: &[(&str, &str)]) -> Table {
    let mut text = TWO.to_owned();
    for (from, to) in replacements {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text.parse().unwrap()
}

#[test]
fn a_setting_changes_the_recipe_as_an_edit_of_the_file_would() {
    for (set, edits) in [
        ("name=mine", [("\"two\"", "\"mine\"")]),
        ("name = \"mine\"", [("\"two\"", "\"mine\"")]),
        ("fusion.name=borda", [("\"sum\"", "\"borda\"")]),
        (
            "fusion={ name = \"rrf\", k = 60 }",
            [("{ name = \"sum\" }", "{ name = \"rrf\", k = 60 }")],
        ),
        ("retrieval.1.depth=7", [("5000", "7")]),
        (
            "rerank.weights.retrieval=0",
            [("retrieval = 1.0", "retrieval = 0")],
        ),
        // what is missing is made
        ("rerank.depth=20", [("[rerank]", "[rerank]\ndepth = 20")]),
        (
            "keep.short=true",
            [("[rerank]", "[keep]\nshort = true\n[rerank]")],
        ),
        // a key that TOML would have in quotes
        (
            "retrieval.2.fields.title+text=2.5",
            [("title = 1.0", "title = 1.0, \"title+text\" = 2.5")],
        ),
        (
            "rerank.weights.\"a.b\"=1",
            [("retrieval = 1.0", "retrieval = 1.0, \"a.b\" = 1")],
        ),
        // an analyzer is no TOML, so it is a string
        (
            "retrieval.1.analyzer=stop=lucene stem=porter",
            [(
                "depth = 5000",
                "depth = 5000\nanalyzer = \"stop=lucene stem=porter\"",
            )],
        ),
        // a part of an analyzer
        (
            "retrieval.2.analyzer.stem=german",
            [("fields =", "analyzer = { stem = \"german\" }\nfields =")],
        ),
        // a line break begins no other key
        ("name=1\nfusion=2", [("\"two\"", "\"1\\nfusion=2\"")]),
    ] {
        assert_eq!(made(TWO, &[key(set)]), edited(&edits), "{set}");
    }
    let analyzer = |settings: &[&str]| {
        let settings: Vec<Setting> = settings.iter().map(|text| key(text)).collect();
        made(TWO, &settings)["retrieval"][0]["analyzer"].clone()
    };
    let whole = "retrieval.1.analyzer=stop=lucene stem=porter";
    let parts = "stop = \"lucene\"\nstem = \"german\"\nshingles = 2".parse();
    assert_eq!(
        analyzer(&[
            whole,
            "retrieval.1.analyzer.stem=german",
            "retrieval.1.analyzer.shingles=2"
        ]),
        Value::Table(parts.unwrap())
    );
    let both = made(TWO, &[key("retrieval.depth=7")]);
    let depths = both["retrieval"].as_array().unwrap().iter();
    assert!(
        depths
            .into_iter()
            .all(|of| of["depth"].as_integer() == Some(7))
    );
}

#[test]
fn short_forms_change_every_search_that_has_the_parameter() {
    let found = made(
        TWO,
        &[Setting::parameter("k1", 0.9), Setting::parameter("b", 0.4)],
    );
    let edits = [
        ("k1 = 1.2", "k1 = 0.9"),
        ("b = 0.75", "b = 0.4"),
        ("[0.4, 0.5]", "[0.4]"),
    ];
    assert_eq!(found, edited(&edits));

    let rm3 = made(TWO, &[Setting::feedback("20,5,0.7").unwrap()]);
    for search in rm3["retrieval"].as_array().unwrap() {
        let feedback = "terms = 20\ndocuments = 5\noriginal = 0.7".parse().unwrap();
        assert_eq!(search["feedback"], Value::Table(feedback));
    }

    // the second search finds 1,000 by default, the first one 5,000
    let hits = made(TWO, &[Setting::hits(2000)]);
    let edits = [
        ("name = \"two\"", "name = \"two\"\ndepth = 2000"),
        ("fields =", "depth = 2000\nfields ="),
    ];
    assert_eq!(hits, edited(&edits));
    let few = made(TWO, &[Setting::hits(10)]);
    assert_eq!(
        few,
        edited(&[("name = \"two\"", "name = \"two\"\ndepth = 10")])
    );
    // a depth that was typed stays
    let typed = made(TWO, &[key("retrieval.2.depth=50"), Setting::hits(2000)]);
    assert_eq!(typed["retrieval"][1]["depth"].as_integer(), Some(50));
    let dense = "name = \"d\"\n[dense]\nfield = \"text\"";
    let dense = made(dense, &[Setting::hits(2000)]);
    assert_eq!(dense["dense"]["depth"].as_integer(), Some(2000));
}

#[test]
fn a_parameter_that_no_similarity_has_is_an_error_that_names_the_similarities() {
    let mu = [Setting::parameter("mu", 500.0)];
    assert_eq!(
        refused(
            "name = \"x\"\n[[retrieval]]\nsimilarity = { name = \"dph\" }",
            &mu
        ),
        "--mu 500: the approach x has no mu: its similarity is dph, which has no parameters"
    );
    assert_eq!(
        refused(TWO, &mu),
        "--mu 500: the approach two has no mu: its similarities are bm25, which has b and k1; bm25f, which has b and k1"
    );
    let dense = "name = \"d\"\n[dense]\nfield = \"text\"";
    assert_eq!(
        refused(dense, &mu),
        "--mu 500: the approach d has no mu: it does not search for words"
    );
    let rm3 = Setting::feedback("10,10,0.5").unwrap();
    assert_eq!(
        refused(dense, &[rm3]),
        "--rm3 10,10,0.5: the approach d has no [[retrieval]], and RM3 expands only searches for words"
    );
}

#[test]
fn a_path_that_leads_nowhere_or_that_is_set_twice_is_an_error() {
    for (set, message) in [
        (
            "name.x=1",
            "--set name.x=1: name is a value without keys, so it has no x",
        ),
        (
            "retrieval.3.depth=1",
            "--set retrieval.3.depth=1: retrieval has no element 3: they are numbered from 1 to 2",
        ),
        (
            "retrieval.0.depth=1",
            "--set retrieval.0.depth=1: retrieval has no element 0: they are numbered from 1 to 2",
        ),
        (
            "retrieval.2.similarity.b.x=1",
            "--set retrieval.2.similarity.b.x=1: retrieval.1.similarity.b is a list, whose elements have numbers",
        ),
    ] {
        assert_eq!(refused(TWO, &[key(set)]), message);
    }
    for (first, second) in [
        ("depth=1", "depth=2"),
        ("retrieval.1.depth=1", "retrieval.depth=2"),
        ("fusion.name=borda", "fusion={name=\"sum\"}"),
    ] {
        let message = refused(TWO, &[key(first), key(second)]);
        let expected = format!("--set {second} would replace what --set {first} sets");
        assert_eq!(message, expected);
    }
    let twice = refused(
        TWO,
        &[
            key("retrieval.1.similarity.k1=1"),
            Setting::parameter("k1", 2.0),
        ],
    );
    assert_eq!(
        twice,
        "--k1 2 would replace what --set retrieval.1.similarity.k1=1 sets"
    );
    // a part of what was set can be set after it
    let narrowed = [key("fusion={name=\"rrf\",k=60}"), key("fusion.k=30")];
    assert_eq!(made(TWO, &narrowed)["fusion"]["k"].as_integer(), Some(30));
}

#[test]
fn what_is_no_setting_is_an_error() {
    let endless = format!("{}=1", ["a"; 17].join("."));
    for (text, message) in [
        (
            "depth",
            "it is not KEY=VALUE, such as retrieval.similarity.k1=0.9",
        ),
        (
            "",
            "it is not KEY=VALUE, such as retrieval.similarity.k1=0.9",
        ),
        ("=1", "a key is empty"),
        ("a..b=1", "a key is empty"),
        ("\"a=1", "the quote \" is not closed"),
        (&endless, "it has more than 16 keys"),
    ] {
        assert_eq!(
            Setting::key(text).unwrap_err().to_string(),
            message,
            "{text}"
        );
    }
    let portals = Setting::value(&["portals"], vec!["a \"b\"\n"].into());
    assert_eq!(portals, key(r#"portals=["a \"b\"\n"]"#));
    for text in ["a=[1, 2", "a={ b = }", "a=\"b", "a='b"] {
        let error = Setting::key(text).unwrap_err().to_string();
        assert!(error.starts_with("the value is not TOML: "), "{error}");
    }
    for text in [
        "",
        "10",
        "10,10",
        "10,10,0.5,1",
        "ten,10,0.5",
        "-1,10,0.5",
        "10,1.5,0.5",
    ] {
        let error = Setting::feedback(text).unwrap_err().to_string();
        assert!(error.contains("TERMS,DOCUMENTS,WEIGHT"), "{text}: {error}");
    }
}

/// A recipe whose reader refuses unknown keys, wrong types, and a k1 above b.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Small {
    k1: f64,
    b: f64,
    #[serde(default)]
    depth: u32,
}

#[test]
fn errors_name_the_option_to_blame() {
    let read = |settings: &[&str]| {
        let settings: Vec<Setting> = settings.iter().map(|text| key(text)).collect();
        let read = |text: &str| {
            let small: Small = read_unplaced(text)?;
            ensure!(small.k1 <= small.b, "k1 is above b");
            ensure!(small.depth < 9, "depth must be below 9");
            Ok(small)
        };
        read_with("k1 = 0.5\nb = 0.5", &settings, read)
            .map(|small| (small.k1, small.b))
            .map_err(|error| error.to_string())
    };
    let refused = |message: &str| Err(message.to_owned());
    assert_eq!(read(&["k1=0.1"]), Ok((0.1, 0.5)));
    // neither could be set alone
    assert_eq!(read(&["k1=5", "b=6"]), Ok((5.0, 6.0)));
    assert_eq!(
        read(&["b=0.6", "k1=5"]),
        refused("--set k1=5: k1 is above b")
    );
    assert_eq!(
        read(&["b=0.6", "depth=9", "k1=0.6"]),
        refused("--set depth=9: depth must be below 9")
    );
    assert_eq!(
        read(&["dept=9", "b=0.7"]),
        refused(
            "--set dept=9: unknown field `dept`, expected one of `k1`, `b`, `depth`: did you mean `depth`?"
        )
    );
    assert_eq!(
        read(&["b=abc"]),
        refused("--set b=abc: invalid type: string \"abc\", expected f64")
    );
    // two that contradict each other only together
    assert_eq!(
        read(&["k1=0.5", "b=0.4"]),
        refused("--set b=0.4: k1 is above b")
    );
}

#[test]
fn a_tag_names_the_settings_in_an_order_of_its_own_and_stays_short() {
    let tag = |settings: &[Setting]| in_tag(&labels(settings));
    assert_eq!(tag(&[]), "");
    let k1 = || Setting::parameter("k1", 0.9);
    assert_eq!(tag(&[k1(), Setting::parameter("b", 0.4)]), "-b=0.4-k1=0.9");
    assert_eq!(tag(&[Setting::parameter("b", 0.4), k1()]), "-b=0.4-k1=0.9");
    // however it was typed
    for typed in [
        "retrieval.similarity.k1=0.9",
        "retrieval.similarity.k1 = 0.90",
    ] {
        assert_eq!(tag(&[key(typed)]), tag(&[k1()]));
    }
    assert_eq!(tag(&[key("rerank.depth=20")]), "-rerank.depth=20");
    assert_eq!(tag(&[Setting::parameter("mu", 1000.0)]), "-mu=1000");
    let rm3 = Setting::feedback("10, 10,0.50").unwrap();
    assert_eq!(tag(&[rm3, Setting::hits(2000)]), "-hits=2000-rm3=10,10,0.5");

    // a blank cannot be in a tag, and a long tag would be in the way
    let long = "x".repeat(1000);
    let odd = [
        key("retrieval.analyzer=stop=lucene stem=porter"),
        key(&format!("source={long}")),
    ];
    let mut seen = vec![];
    for setting in odd {
        let tag = tag(&[setting]);
        assert!(tag.starts_with("-set-") && tag.len() == 13, "{tag}");
        assert!(!seen.contains(&tag), "{tag}");
        seen.push(tag);
    }
}
