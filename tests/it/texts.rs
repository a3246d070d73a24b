//! `riposte controversial`, `comparative` and `index`, as a user runs them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use riposte::reading::cross::CrossEncoder;
use riposte_nn::transformer::Backend;
use serde_json::{Value, json};

use crate::sentence::MINILM;
use crate::support::collection::{argument, write_arguments};
use crate::support::files::{copy, gzip, json_lines};
use crate::support::need::{Model, need};
use crate::support::program::{WorkDir, riposte, stdout, succeed};
use crate::support::{assert_says, golden_evidence, reference, root};

const TOPICS: &str = "<topics>\
    <topic><number>1</number><title>Should plastic bottles be banned?</title><description>A user wonders about oceans.</description></topic>\
    <topic><number>2</number><title>Is homework good for pupils?</title></topic></topics>";

/// The arguments; the first word is the id. Only the last argument has fewer than twenty words.
const ARGUMENTS: [&str; 8] = [
    "ban Plastic bottles should be banned, because they pollute the oceans for centuries; every year millions of tons of plastic end in rivers and seas.",
    "again plastic bottles should be banned because they pollute the oceans for centuries: every year millions of tons of plastic end in rivers and seas!",
    "near Plastic bottles should be banned, because they pollute the oceans for centuries; every year many millions of tons of plastic end in rivers and seas.",
    "keep Bottles of glass are heavy and break. A ban would make drinks dearer for the poor, and plastic can be collected and used again.",
    "shout BOTTLES!!! u r so dumb lol, plastic plastic plastic bottles bottles, WHO CARES about ur stupid oceans anyway, vote con plz thx bye!!!!",
    "home Homework helps pupils to practise what they have learned in school, and it teaches them to plan their time without a teacher.",
    "play Children need time to play. Homework takes it away from them, and studies of primary schools find hardly any benefit of it.",
    "brief Plastic bottles banned.",
];

pub fn arguments_in(dir: &Path) {
    let arguments = ARGUMENTS.iter().map(|text| {
        let (id, text) = text.split_once(' ').unwrap();
        let mut argument = argument(id, "A claim", text, "PRO");
        argument["context"] = json!({"sourceTitle": "Debate", "sourceDomain": "debateorg"});
        argument
    });
    write_arguments(dir, arguments);
    fs::write(dir.join("topics.xml"), TOPICS).unwrap();
}

pub const QUESTION: &str = "<topics><topic><number>2</number><title>Which is better, a laptop or a desktop?</title>\
    <objects>laptop, desktop</objects></topic></topics>";

const PASSAGES: [(&str, &str); 4] = [
    (
        "p1",
        "I prefer the laptop, because it is much better than my old desktop ever was, and I can take it with me to work.",
    ),
    (
        "p2",
        "I prefer the desktop, because it is much better than my old laptop ever was, and I can repair it myself at home.",
    ),
    (
        "p3",
        "Our shop on the corner sells every laptop and desktop from nine to five, and on Sundays it is closed to the public.",
    ),
    ("p4", "Goats give milk."),
];

fn passages_in(dir: &Path) {
    let lines: String = PASSAGES
        .iter()
        .map(|(id, contents)| json!({"id": id, "contents": contents}).to_string() + "\n")
        .collect();
    fs::write(dir.join("passages.jsonl"), lines).unwrap();
    fs::write(dir.join("topics.xml"), QUESTION).unwrap();
}

/// A directory with a collection in `in`.
pub fn with_collection(fill: fn(&Path)) -> WorkDir {
    let dir = WorkDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    fs::create_dir(dir.path("no-models")).unwrap();
    fill(&dir.path("in"));
    dir
}

/// Runs the command of a task, which must exit with 0. Returns the run.
#[track_caller]
fn ranked(dir: &WorkDir, task: &str, options: &str) -> String {
    let line = format!("{task} -i in -o out --index kept {options}");
    dir.succeeds(line.trim());
    dir.read("out/run.txt")
}

/// The explanations in `why.jsonl`, one for each line of the run.
#[track_caller]
fn explanations(dir: &WorkDir, run: &str) -> Vec<Value> {
    let explanations = json_lines(&dir.read("why.jsonl"));
    assert!(!explanations.is_empty());
    assert_eq!(explanations.len(), run.lines().count());
    explanations
}

/// Checks that the parts of an explanation add up to its value.
#[track_caller]
fn assert_adds_up(explanation: &Value) {
    let parts = explanation["parts"].as_array().unwrap();
    let parts = parts.iter().map(|part| part["value"].as_f64().unwrap());
    let difference = parts.sum::<f64>() - explanation["value"].as_f64().unwrap();
    assert!(difference.abs() < 1e-9, "{explanation}");
}

fn documents<'a>(run: &'a str, topic: &str) -> Vec<&'a str> {
    run.lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .filter(|fields| fields[0] == topic)
        .map(|fields| fields[2])
        .collect()
}

#[test]
fn arguments_are_ranked_and_the_run_is_valid() {
    let dir = with_collection(arguments_in);
    // published systems keep every argument, and so does this baseline
    let run = ranked(&dir, "controversial", "--approach bm25");
    let first = documents(&run, "1");
    assert!(
        first.contains(&"again") && first.contains(&"brief"),
        "{run}"
    );
    // a user's approach leaves out "again", which has the words of "ban", and "brief", which has fewer than twenty words
    let recipe = fs::read_to_string(root().join("approaches/controversial/bm25.toml")).unwrap();
    let (before, after) = recipe.split_once("keep = ").unwrap();
    let after = after.split_once('\n').unwrap().1;
    fs::write(dir.path("own.toml"), format!("{before}{after}")).unwrap();
    let run = ranked(&dir, "controversial", "--approach own.toml");
    let first = documents(&run, "1");
    assert!(["ban", "near", "shout"].contains(&first[0]), "{run}");
    assert!(
        !first.contains(&"again") && !first.contains(&"brief"),
        "{run}"
    );
    assert_eq!(documents(&run, "2").len(), 2, "{run}");
    assert!(run.lines().all(|line| line.split(' ').nth(1) == Some("Q0")));
    assert!(run.ends_with(" riposte-bm25\n"), "{run}");
    dir.succeeds("verify out -i in --task controversial");
    assert_eq!(
        ranked(&dir, "controversial", "--approach own.toml --threads 1"),
        run
    );
    let manual = ranked(
        &dir,
        "controversial",
        "--approach own.toml --use description",
    );
    assert_ne!(manual, run, "the description adds a word");
    // a new index gives the same run
    fs::remove_dir_all(dir.path("kept")).unwrap();
    assert_eq!(
        ranked(&dir, "controversial", "--approach own.toml --threads 2"),
        run
    );
}

#[test]
fn every_approach_makes_a_valid_run_without_models() {
    let home = tempfile::tempdir().unwrap();
    let list = stdout(&succeed(&mut riposte(
        home.path(),
        &["approaches", "--json"],
    )));
    let listed = json_lines(&list);
    for (task, fill) in [
        ("controversial", arguments_in as fn(&Path)),
        ("comparative", passages_in),
    ] {
        let dir = with_collection(fill);
        let of_task = listed.iter().filter(|row| row["task"] == task);
        let names: BTreeSet<&str> = of_task.filter_map(|row| row["recipe"].as_str()).collect();
        for name in &names {
            let mut shown = riposte(home.path(), &["approaches", "show", name, "--task", task]);
            let recipe = stdout(&succeed(&mut shown));
            if recipe.contains("\nservice = ") {
                // a service ranks its own pages, not the collection (chatnoir.rs)
                continue;
            }
            if recipe.contains("\n[manifold]") || !recipe.contains("\n[[retrieval]]") {
                // this approach cannot rank without sentence vectors (dense.rs)
                let line = format!("{task} -i in -o out --index kept --approach {name}");
                let (code, _, said) = dir.run(&line);
                assert_eq!(code, 2, "{name}: {said}");
                assert_says(&said, &["the sentence encoder is not installed"]);
                continue;
            }
            let run = ranked(&dir, task, &format!("--approach {name}"));
            assert!(!run.is_empty(), "{name}");
            dir.succeeds(&format!("verify out -i in --task {task}"));
        }
        assert!(names.len() >= 3, "{list}");
    }
    for name in [
        "elrond",
        "pippin-took",
        "skeletor",
        "shanks",
        "gandalf",
        "athos",
        "yeagerists",
        "hua-mulan",
        "goemon-ishikawa",
        "macbeth",
    ] {
        assert!(list.contains(&format!("\"recipe\":\"{name}\"")), "{list}");
    }
}

#[test]
fn shouting_and_repetition_are_ranked_low() {
    let dir = with_collection(arguments_in);
    let run = ranked(&dir, "controversial", "");
    let order = documents(&run, "1");
    let place = |id| order.iter().position(|doc| *doc == id).unwrap();
    let before = place("ban").min(place("near"));
    assert_eq!(before, 0, "{run}");
    assert!(place("keep") < place("shout"), "{run}");
    // two arguments are nearly the same, so one of them is ranked last
    assert_eq!(place("ban").max(place("near")), order.len() - 1, "{run}");
}

#[test]
fn explanations_add_up_to_the_scores_that_ranked() {
    let dir = with_collection(arguments_in);
    let run = ranked(&dir, "controversial", "--explain why.jsonl");
    for (line, why) in run.lines().zip(&explanations(&dir, &run)) {
        let fields: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            (fields[0], fields[2]),
            (
                why["topic"].as_str().unwrap(),
                why["document"].as_str().unwrap()
            )
        );
        let score = &why["score"];
        assert_adds_up(score);
        let written: f64 = fields[4].parse().unwrap();
        let difference = written - score["value"].as_f64().unwrap();
        assert!(difference.abs() < 1e-4, "{why}\n{line}");
        let parts = score["parts"].as_array().unwrap();
        let named = |name: &str| parts.iter().find(|part| part["name"] == name);
        let retrieval = named("retrieval").unwrap();
        assert_eq!(retrieval["parts"][0]["name"], "score", "{why}");
        assert!(
            named("quality").unwrap()["parts"][0]["parts"]
                .as_array()
                .unwrap()
                .len()
                > 5
        );
        assert!(named("sentence").is_none(), "there is no model");
    }
}

/// The part of an explanation with this name.
#[track_caller]
fn part<'a>(explanation: &'a Value, name: &str) -> &'a Value {
    let parts = explanation["parts"].as_array().unwrap();
    let found = parts.iter().find(|part| part["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {explanation}"))
}

#[test]
fn trees_rank_by_the_sum_of_what_each_feature_adds() {
    let dir = with_collection(arguments_in);
    for (approach, channel, features) in [
        ("dread-pirate-roberts-small", "trees-small", 13),
        ("dread-pirate-roberts", "trees-medium", 16),
    ] {
        let options = format!("--approach {approach} --explain why.jsonl");
        let run = ranked(&dir, "controversial", &options);
        let mut before = (String::new(), f64::INFINITY);
        for why in explanations(&dir, &run) {
            assert_adds_up(&why["score"]);
            let trees = &part(&why["score"], channel)["parts"][0];
            assert_adds_up(trees);
            assert_eq!(trees["parts"].as_array().unwrap().len(), 1 + features);
            let sum = trees["value"].as_f64().unwrap();
            let topic = why["topic"].as_str().unwrap();
            assert!(topic != before.0 || sum <= before.1, "{why}");
            before = (topic.to_owned(), sum);
            let how = |name| part(trees, name)["how"].as_str().unwrap();
            if why["document"] == "brief" {
                // the document has all terms except "should"
                assert_eq!(how("share of the topic's terms"), "its value is 0.7500");
                assert_eq!(how("sentences"), "its value is 1.0000");
            }
            if features == 16 {
                assert_eq!(how("likeness to the topic"), "it has no value here");
            }
        }
    }
}

#[test]
fn quality_by_words_ranks_and_is_explained_by_words() {
    let dir = with_collection(arguments_in);
    let dirichlet = root().join("approaches/controversial/dirichlet.toml");
    let rerank = "[rerank]\ndepth = 1000\nscale = \"raw\"\ncombine = \"sum\"\nweights = { svr-quality = 1.0 }\n";
    let text = fs::read_to_string(dirichlet).unwrap() + rerank;
    fs::write(dir.path("own.toml"), text).unwrap();
    let run = ranked(
        &dir,
        "controversial",
        "--approach own.toml --explain why.jsonl",
    );
    for why in explanations(&dir, &run) {
        assert_adds_up(&why["score"]);
        let quality = &part(&why["score"], "svr-quality")["parts"][0];
        let value = quality["value"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&value), "{why}");
        assert!((value - why["score"]["value"].as_f64().unwrap()).abs() < 1e-12);
        part(quality, "intercept");
        if why["document"] == "home" {
            part(quality, "school");
        }
    }
    let order = documents(&run, "1");
    let place = |id: &str| order.iter().position(|found| *found == id).unwrap();
    assert!(place("ban") < place("brief"), "{run}");
}

#[test]
fn pairs_fusion_and_second_scores_are_explained() {
    let dir = with_collection(arguments_in);
    let file = root().join("approaches/controversial/shanks.toml");
    let shanks = fs::read_to_string(file).unwrap();
    let (both, _) = shanks.split_once("[rescore]").unwrap();
    let (head, searches) = both.split_once("fusion = { name = \"sum\" }").unwrap();
    let first = searches.split("[[retrieval]]").nth(1).unwrap();
    // one search; two searches whose scores are added up; and these two for finding documents that the third search scores
    for (approach, text) in [
        ("one.toml", format!("{head}\n[[retrieval]]{first}")),
        ("two.toml", both.to_owned()),
        ("shanks.toml", shanks.clone()),
    ] {
        fs::write(dir.path(approach), text).unwrap();
        let options = format!("--approach {approach} --explain why.jsonl");
        let run = ranked(&dir, "controversial", &options);
        for (line, why) in run.lines().zip(&explanations(&dir, &run)) {
            let written: f64 = line.split(' ').nth(4).unwrap().parse().unwrap();
            let score = &why["score"];
            let difference = written - score["value"].as_f64().unwrap();
            assert!(difference.abs() < 1e-4, "{line}\n{why}");
            let name = if approach == "two.toml" {
                "fusion"
            } else {
                "score"
            };
            assert_eq!(score["name"], name);
            assert!(why.to_string().contains("pairs of near terms"), "{why}");
            assert_adds_up(score);
        }
    }
}

#[test]
fn passages_have_stances() {
    let dir = with_collection(passages_in);
    let run = ranked(&dir, "comparative", "");
    let stance = |id: &str| {
        let line = run
            .lines()
            .find(|line| line.contains(&format!(" {id} ")))
            .unwrap();
        line.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(
        (stance("p1").as_str(), stance("p2").as_str()),
        ("FIRST", "SECOND"),
        "{run}"
    );
    assert!(!run.contains("p4"), "{run}");
    dir.succeeds("verify out -i in --task comparative");
    let without = ranked(&dir, "comparative", "--no-stance");
    assert!(
        without.lines().all(|line| line.starts_with("2 Q0 ")),
        "{without}"
    );
    // if the objects are swapped, so are the stances
    let turned = QUESTION.replace("laptop, desktop", "desktop, laptop");
    fs::write(dir.path("in/topics.xml"), turned).unwrap();
    let run = ranked(&dir, "comparative", "");
    assert_says(&run, &["SECOND p1", "FIRST p2"]);
}

#[test]
fn broken_input_is_named_and_the_rest_is_ranked() {
    let dir = with_collection(arguments_in);
    let text = fs::read_to_string(dir.path("in/args-me.json")).unwrap();
    let broken = text.replacen("\"id\":\"keep\"", "\"id\":7", 1);
    fs::write(dir.path("in/args-me.json"), broken).unwrap();
    let (code, _, said) = dir.run("controversial -i in -o out --index kept --approach bm25");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["1 fault", "args-me.json:1: "]);
    let run = dir.read("out/run.txt");
    assert!(run.contains(" ban ") && !run.contains(" keep "), "{run}");
    // the fault is reported again whenever the index is opened
    let (code, _, again) = dir.run("index -i in --index kept --approach bm25");
    assert_eq!(code, 0);
    assert!(again.contains("1 fault"), "{again}");

    let dir = with_collection(passages_in);
    let text = fs::read_to_string(dir.path("in/passages.jsonl")).unwrap();
    fs::remove_file(dir.path("in/passages.jsonl")).unwrap();
    let packed = gzip(text);
    let cut = &packed[..packed.len() - 40];
    fs::write(dir.path("in/passages.jsonl.gz"), cut).unwrap();
    let (code, _, said) = dir.run("comparative -i in -o out --index kept --approach bm25");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("passages.jsonl.gz"), "{said}");
    let run = dir.read("out/run.txt");
    assert!(run.contains(" p1 "), "{run}");
}

#[test]
fn an_impossible_command_is_an_error_that_says_why() {
    let dir = with_collection(arguments_in);
    let wrong_field = "name = \"x\"\nsource = \"y\"\n[[retrieval]]\nanalyzer = \"\"\nsimilarity = { name = \"dph\" }\nfields = { contents = 1.0 }\n";
    fs::write(dir.path("x.toml"), wrong_field).unwrap();
    fs::write(dir.path("a-run.txt"), "1 Q0 keep 1 1 x\n").unwrap();
    fs::copy(golden_evidence(), dir.path("kept.sqlite")).unwrap();
    dir.refuses(
        r#"
        controversial -i in -o out --approach nobody | choose one of riposte, riposte-dense, bm25
        controversial -i in -o out --index kept --approach x.toml | no field "contents": it has premises, conclusion, title
        controversial -i in -o out --approach none.toml | none.toml
        comparative -i in -o out --index kept | no passages
        controversial -i nowhere -o out --index kept | nowhere
        controversial -i in -o out --index kept --topics none.xml | none.xml
        controversial -i in -o out --index kept --threads 0 | the number of threads is from 1 to 256, not 0
        controversial -i in -o out --index kept --threads 257 | the number of threads is from 1 to 256, not 257
        index -i in --index kept --threads 9223372036854775807 | the number of threads is from 1 to 256, not 9223372036854775807
        extract --stream --threads 1000 | the number of threads is from 1 to 256, not 1000
        merge kept.sqlite kept.sqlite | kept.sqlite cannot be merged into itself
        index -i no-models | neither images/, nor args-me.json
        verify a-run.txt -i in --task comparative | no passages
        "#,
    );
    assert!(!dir.path("out/run.txt").exists());
}

#[test]
fn stored_vectors_are_used_where_the_model_is_missing() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let models = minilm.dir.parent().unwrap().display().to_string();
    for (fill, task) in [
        (arguments_in as fn(&Path), "controversial"),
        (passages_in, "comparative"),
    ] {
        let dir = with_collection(fill);
        let with = ranked(&dir, task, &format!("--models {models}"));
        assert_eq!(ranked(&dir, task, ""), with, "{task}");
        let without = ranked(&with_collection(fill), task, "");
        assert_ne!(with, without, "vectors change the scores");
    }
}

#[test]
fn the_encoder_reads_the_stance_of_as_many_passages_as_the_recipe_says() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let models = minilm.dir.parent().unwrap().display().to_string();
    let dir = with_collection(passages_in);
    for depth in [1, 3] {
        let recipe = format!(
            "name = \"x\"\nstance_depth = {depth}\n[[retrieval]]\nanalyzer = \"stop=long\"\nsimilarity = {{ name = \"dph\" }}\nfields = {{ contents = 1.0 }}\n"
        );
        fs::write(dir.path("x.toml"), recipe).unwrap();
        let options = format!("--approach x.toml --explain why.jsonl --models {models}");
        let run = ranked(&dir, "comparative", &options);
        let read = |why: &Value| {
            why["stance"]
                .to_string()
                .contains("read by the stance encoder")
        };
        let read: Vec<bool> = explanations(&dir, &run).iter().map(read).collect();
        let expected: Vec<bool> = (0..3).map(|rank| rank < depth).collect();
        assert_eq!(read, expected, "{depth}");
    }
}

#[test]
fn a_cross_encoder_reranks_the_top_and_its_scores_are_stored() {
    let dir = with_collection(arguments_in);
    let (_, said) = dir.succeeds("controversial -i in -o out --index kept --approach macbeth");
    assert_says(
        &said,
        &["cross-encoder is off", "models fetch ms-marco-minilm-l6"],
    );
    let without = dir.read("out/run.txt");
    let (_, _, said) = dir.run("controversial -i in -o out --index kept --approach bm25");
    assert!(
        !said.contains("cross-encoder"),
        "bm25 does not use it: {said}"
    );

    let (from, to) = (reference("tiny-cross"), "models/ms-marco-minilm-l6");
    copy(&from, &dir.path(to));
    let options = "--approach macbeth --explain why.jsonl";
    let with = ranked(&dir, "controversial", &format!("{options} --models models"));
    assert_ne!(with, without);
    let why = dir.read("why.jsonl");
    let first: Value = serde_json::from_str(why.lines().next().unwrap()).unwrap();
    assert_eq!(first["score"]["parts"][1]["name"], "cross", "{first}");

    let order = documents(&with, "1");
    let model = CrossEncoder::load(&from, "sha", Backend::default()).unwrap();
    let texts: Vec<&str> = order
        .iter()
        .map(|id| {
            let mut texts = ARGUMENTS.iter().filter_map(|text| text.split_once(' '));
            texts.find(|(its, _)| its == id).unwrap().1
        })
        .collect();
    let scores = model
        .score("Should plastic bottles be banned?", &texts)
        .unwrap();
    // two texts begin with the same 48 tokens, so that their scores are equal
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(scores[0] > scores[2], "{scores:?}");

    assert_eq!(
        ranked(&dir, "controversial", options),
        with,
        "without the model"
    );
}
