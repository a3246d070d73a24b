//! Settings of an approach that are typed: `--set`, `--k1`, `--b`, `--mu`, `--rm3` and `--hits`.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::collection::{argument, write_arguments};
use crate::support::files::{entries, text, write};
use crate::support::program::{WorkDir, stderr};
use crate::support::runs::{images, listed};
use crate::support::{assert_says, golden_evidence, sample};

/// A collection of short documents: `count` with "lion" and a growing number of other words, and one in ten with "wolf".
fn animals(count: usize) -> WorkDir {
    let document = |n: usize| {
        let mut words = vec!["lion"; 1 + n % 3];
        words.extend(vec!["corn"; n % 7]);
        if n.is_multiple_of(10) {
            words.extend(["wolf", "zebra"]);
        }
        let document = json!({"_id": format!("d{n}"), "title": "goat", "text": words.join(" ")});
        format!("{document}\n")
    };
    let corpus: String = (0..count).map(document).collect();
    let queries =
        "{\"_id\": \"q1\", \"text\": \"lion corn\"}\n{\"_id\": \"q2\", \"text\": \"wolf goat\"}\n";
    WorkDir::with(&[
        ("in/corpus.jsonl", corpus.as_bytes()),
        ("in/queries.jsonl", queries.as_bytes()),
    ])
}

/// The run of an approach with these options, with the tag "t".
#[track_caller]
fn run(dir: &WorkDir, options: &str) -> String {
    dir.succeeds(&format!(
        "rank --quiet=progress -i in -o out --index kept --tag t {options}"
    ));
    dir.read("out/run.txt")
}

/// Writes the recipe of an approach, with a part of it replaced.
#[track_caller]
fn edit(dir: &WorkDir, approach: &str, from: &str, to: &str) {
    let (recipe, _) = dir.succeeds(&format!("approaches show {approach} --task rank"));
    assert!(recipe.contains(from), "{from}: {recipe}");
    write(&dir.path("edited.toml"), recipe.replace(from, to));
}

#[test]
fn a_run_with_settings_is_that_of_a_recipe_with_these_values() {
    let dir = animals(200);
    for (approach, options, from, to) in [
        (
            "bm25",
            "--k1 1.7 --b 0.8",
            "k1 = 0.9, b = 0.4",
            "k1 = 1.7, b = 0.8",
        ),
        (
            "bm25",
            "--set retrieval.similarity.k1=1.7 --b 0.8",
            "k1 = 0.9, b = 0.4",
            "k1 = 1.7, b = 0.8",
        ),
        ("dirichlet", "--mu 7", "mu = 1000.0", "mu = 7"),
        (
            "bm25",
            "--set retrieval.similarity={name=\"dph\"}",
            "{ name = \"bm25\", k1 = 0.9, b = 0.4 }",
            "{ name = \"dph\" }",
        ),
        // a part of an analyzer; the others stay
        (
            "bm25",
            "--set retrieval.analyzer.shingles=2",
            "length=1-255",
            "length=1-255 shingles=2",
        ),
        (
            "bm25",
            "--set retrieval.fields.title=0.1 --hits 20",
            "title = 1.0",
            "title = 0.1",
        ),
        (
            "bm25-flat",
            "--rm3 2,3,0.25",
            "fields =",
            "feedback = { terms = 2, documents = 3, original = 0.25 }\nfields =",
        ),
    ] {
        edit(&dir, approach, from, to);
        let cut = match options.split_once("--hits 20") {
            Some(_) => "--hits 20",
            None => "--hits 1000",
        };
        let of_file = run(&dir, &format!("--approach edited.toml {cut}"));
        let typed = run(&dir, &format!("--approach {approach} {options}"));
        assert!(!typed.is_empty() && typed == of_file, "{options}");
        let plain = run(&dir, &format!("--approach {approach} {cut}"));
        assert_ne!(typed, plain, "{options} changes nothing");
    }
    // the values that the recipe has already
    assert_eq!(
        run(&dir, "--approach bm25 --k1 0.9 --b 0.4"),
        run(&dir, "--approach bm25")
    );
    // RM3 as Anserini has it
    let rm3 = run(&dir, "--approach bm25-rm3");
    assert_eq!(run(&dir, "--approach bm25-flat --rm3"), rm3);
    assert_eq!(run(&dir, "--approach bm25-flat --rm3 10,10,0.5"), rm3);
    assert_ne!(run(&dir, "--approach bm25-flat"), rm3);
}

#[test]
fn a_run_has_as_many_documents_as_hits_says() {
    let dir = animals(3000);
    let lines = |run: &str| run.lines().filter(|line| line.starts_with("q1 ")).count();
    let whole = run(&dir, "--approach bm25 --hits 3000");
    assert_eq!(lines(&whole), 3000);
    for hits in [7, 1000, 2000] {
        let some = run(&dir, &format!("--approach bm25 --hits {hits}"));
        assert_eq!(lines(&some), hits);
        // the first ones of the longer run
        let documents = |run: &str| -> Vec<String> {
            let of_first = run.lines().filter(|line| line.starts_with("q1 "));
            of_first
                .map(|line| line.split(' ').nth(2).unwrap().to_owned())
                .collect()
        };
        assert_eq!(documents(&some), documents(&whole)[..hits]);
    }
    assert_eq!(lines(&run(&dir, "--approach bm25")), 1000);
    // a recipe can say the same
    edit(&dir, "bm25", "fields =", "depth = 2500\nfields =");
    let text = dir.read("edited.toml");
    write(&dir.path("edited.toml"), format!("depth = 2500\n{text}"));
    assert_eq!(lines(&run(&dir, "--approach edited.toml")), 2500);
    dir.refuses(
        "
        rank -i in -o out --hits 100001 | --hits 100001: a query has at most 100000 documents in a run, not 100001
        rank -i in -o out --hits 0 | --hits 0: depth must be above 0
        rank -i in -o out --hits many | invalid value 'many' for '--hits <N>'
        ",
    );
}

#[test]
fn who_asks_for_more_than_the_lab_takes_gets_it_and_is_told() {
    let dir = WorkDir::new();
    let premises = "Cats are clean and quiet animals that need little room and little time, and so they suit people who are away for most of the day.";
    let topics =
        "<topics><topic><number>1</number><title>Are cats good pets?</title></topic></topics>";
    write(&dir.path("in/topics.xml"), topics);
    // with different words, so that none is a copy of another
    let of_cats = (0..1500).map(|n| {
        let premises = format!("{premises} Number {n} is of this opinion.");
        argument(&format!("a{n}"), "cats are good pets", &premises, "PRO")
    });
    write_arguments(&dir.path("in"), of_cats);
    let told = "note: bm25 ranks up to 1200 documents for a topic, and the lab takes at most 1000 in a run";
    let (exit, _, said) = dir.run("controversial -i in -o deep --approach bm25 --hits 1200");
    assert_eq!((exit, said.contains(told)), (0, true), "{said}");
    let deep = dir.read("deep/run.txt");
    assert_eq!(deep.lines().count(), 1200);
    let (exit, said, _) = dir.run("verify deep -i in");
    assert_eq!(exit, 1, "{said}");
    assert_says(
        &said,
        &[
            "document 1001 of topic 1",
            "at most 1,000 documents per topic",
        ],
    );
    // the same first thousand, of which the lab takes a run
    let (exit, _, said) = dir.run("controversial -i in -o out --approach bm25");
    assert_eq!((exit, said.contains("the lab takes")), (0, false), "{said}");
    assert_eq!(listed(&dir.read("out/run.txt")), listed(&deep)[..1000]);
    let (exit, said, _) = dir.run("verify out -i in");
    assert_eq!(exit, 0, "{said}");
    dir.succeeds("controversial -i in -o out --approach bm25 --hits 1000");
    assert_eq!(
        dir.read("out/run.txt").split(' ').next_back(),
        Some("riposte-bm25-hits=1000\n")
    );
    dir.refuses(
        "
        controversial -i in -o out --hits 100001 | --hits 100001: a query has at most 100000 documents in a run, not 100001
        comparative -i in -o out --approach chatnoir --hits 1001 | --hits 1001: a search engine is asked for at most 1000 documents, not 1001
        ",
    );
}

/// `riposte index` with settings builds the index that a run with them searches.
#[test]
fn an_index_is_built_with_settings() {
    let dir = animals(20);
    let set = "--approach bm25 --set retrieval.analyzer=stem=german";
    let (printed, _) = dir.succeeds(&format!("index -i in --index kept {set}"));
    assert_says(&printed, &["stem=german"]);
    // the directories of indexes have names of their analyzers
    let files = || entries(&dir.path("kept"));
    let built = files();
    dir.succeeds(&format!("rank -i in -o out --index kept {set}"));
    assert_eq!(files(), built);
    dir.succeeds(&format!("index -i in --index kept --check {set}"));
    let (code, _, said) = dir.run("index -i in --index kept --check --approach bm25");
    assert_eq!(code, 2, "there is no index of this analyzer: {said}");
    dir.refuses(
        "
        index -i in --set retrieval.analyzer=stem=klingon | --set retrieval.analyzer=stem=klingon:
        index -i in --set nonsense=1 | --set nonsense=1:
        ",
    );
}

/// What an error says without its place: the last line, without "line 5: ".
fn without_place(said: &str) -> &str {
    let last = said.trim_end().lines().next_back().unwrap_or_default();
    match last.split_once(": line ") {
        Some((_, placed)) => placed.split_once(": ").map_or(placed, |(_, said)| said),
        None => last,
    }
}

#[test]
fn a_wrong_value_has_the_message_of_a_file_and_the_option_in_the_place_of_the_line() {
    let dir = animals(20);
    for (option, approach, from, to) in [
        ("--k1 -1", "bm25", "k1 = 0.9", "k1 = -1"),
        ("--b 1.5", "bm25", "b = 0.4", "b = 1.5"),
        ("--k1 1e9", "bm25", "k1 = 0.9", "k1 = 1e9"),
        ("--mu 0", "dirichlet", "mu = 1000.0", "mu = 0"),
        (
            "--set retrieval.similarity.b=high",
            "bm25",
            ", b = 0.4",
            ", b = \"high\"",
        ),
        (
            "--set retrieval.fields.title=-1",
            "bm25",
            "title = 1.0",
            "title = -1",
        ),
        (
            "--set retrieval.similarity.name=bm26",
            "bm25",
            "\"bm25\", ",
            "\"bm26\", ",
        ),
        (
            "--set retrieval.anlyzer=stem=porter",
            "bm25",
            "fields =",
            "anlyzer = \"stem=porter\"\nfields =",
        ),
        (
            "--set retrieval.analyzer=stem=portr",
            "bm25",
            "tokens=standard possessive=english stop=lucene stem=porter length=1-255",
            "stem=portr",
        ),
        (
            "--set rerank.depth=20",
            "bm25",
            "[[retrieval]]",
            "rerank = { depth = 20 }\n[[retrieval]]",
        ),
    ] {
        edit(&dir, approach, from, to);
        let (code, _, of_file) = dir.run("rank -i in -o out --approach edited.toml");
        assert_eq!(code, 2, "{option}: {of_file}");
        let (code, _, said) = dir.run(&format!("rank -i in -o out --approach {approach} {option}"));
        // the errors of TOML are indented
        let message = without_place(&of_file).trim();
        assert!(!message.is_empty() && code == 2, "{of_file}");
        // a float of the command line is shown as a number
        let option = option.replace("1e9", "1000000000");
        let message = message.replace("1000000000.0", "1000000000");
        let said = said.replace("1000000000.0", "1000000000");
        assert_says(&said, &[&format!("{option}: {message}\n")]);
        assert!(!said.contains("line "), "{said}");
    }
    dir.refuses(
        "
        rank -i in -o out --approach bm25 --set retrieval.similarty.b=1 | did you mean `similarity`?
        rank -i in -o out --approach bm25 --k1 0.9 --set rerank.dept=1 | --set rerank.dept=1: unknown field `dept`
        rank -i in -o out --approach bm25 --mu 500 | --mu 500: the approach bm25 has no mu: its similarity is bm25, which has b and k1
        rank -i in -o out --approach bm25 --approach dph --k1 1 | --k1 1: the approach dph has no k1: its similarity is dph, which has no parameters
        rank -i in -o out --approach dense --rm3 | --rm3 10,10,0.5: the approach dense has no [[retrieval]]
        rank -i in -o out --approach bm25 --rm3 10,10,2 | --rm3 10,10,2: feedback: original must be from 0 to 1
        rank -i in -o out --rm3 10 | it is not TERMS,DOCUMENTS,WEIGHT, such as 10,10,0.5
        rank -i in -o out --set depth | it is not KEY=VALUE
        rank -i in -o out --k1 high | invalid value 'high' for '--k1 <K1>'
        rank -i in -o out --set depth=5 --hits 9 | --hits 9 would replace what --set depth=5 sets
        rank -i in -o out --set retrieval.2.depth=5 | retrieval has no element 2: they are numbered from 1 to 1
        ask -i in --set retrieval.similarity.b=2 lions | --set retrieval.similarity.b=2: bm25: b must be from 0 to 1, not 2
        ",
    );
}

#[test]
fn the_metadata_and_the_tag_say_what_was_set() {
    let dir = animals(20);
    dir.succeeds("rank --quiet=progress -i in -o out --index kept --approach bm25 --k1 1.2");
    let (run, yaml) = (dir.read("out/run.txt"), dir.read("out/ir-metadata.yml"));
    assert!(
        run.lines()
            .all(|line| line.ends_with(" riposte-bm25-k1=1.2"))
    );
    assert_says(
        &yaml,
        &[
            "\ntag: riposte-bm25-k1=1.2\n",
            "\n  settings:\n  - k1=1.2\n",
            "k1: 1.2\n",
            "Changed by options: k1=1.2",
            "--k1 1.2",
        ],
    );
    dir.succeeds("rank --quiet=progress -i in -o out --index kept --approach bm25");
    let yaml = dir.read("out/ir-metadata.yml");
    assert!(
        !yaml.contains("settings") && !yaml.contains("Changed by"),
        "{yaml}"
    );

    // the order of the options does not matter, and neither does their form
    let tag = |options: &str| {
        dir.succeeds(&format!(
            "rank --quiet=progress -i in -o out --index kept --approach bm25 {options}"
        ));
        let run = dir.read("out/run.txt");
        let line = run.lines().next().unwrap();
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let tags = [
        "--k1 1.2 --b 0.5 --hits 5",
        "--hits 5 --b 0.50 --k1 1.2",
        "--hits 5 --set retrieval.similarity.b=0.5 --set retrieval.similarity.k1=1.2",
    ];
    for options in tags {
        assert_eq!(tag(options), "riposte-bm25-b=0.5-hits=5-k1=1.2");
    }
    assert_eq!(tag("--rm3"), "riposte-bm25-rm3=10,10,0.5");
    assert_eq!(tag("--k1 1.2 --tag mine"), "mine");
    let hashed = tag("--set retrieval.fields={text=1.0}");
    assert!(hashed.starts_with("riposte-bm25-set-"), "{hashed}");
    assert_eq!(hashed, tag("--set retrieval.fields={text=1.0}"));
    assert_ne!(hashed, tag("--set retrieval.fields={text=2.0}"));

    // all approaches get the settings, and their directories have the names of before
    dir.succeeds("rank --quiet=progress -i in -o both --index kept --approach bm25 --approach bm25-flat --b 0.5");
    for name in ["bm25", "bm25-flat"] {
        let run = dir.read(&format!("both/{name}/run.txt"));
        assert!(
            run.lines()
                .all(|line| line.ends_with(&format!(" riposte-{name}-b=0.5"))),
            "{run}"
        );
    }
}

/// The indexes in a directory.
fn indexes(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().path());
    names
        .filter(|path| path.extension().is_some_and(|end| end == "index"))
        .count()
}

#[test]
fn only_another_analyzer_needs_another_index() {
    let dir = animals(20);
    let kept = dir.path("kept");
    run(&dir, "--approach bm25");
    assert_eq!(indexes(&kept), 1);
    run(
        &dir,
        "--approach bm25 --k1 2 --b 0 --hits 5 --rm3 --set rerank={depth=5,weights={retrieval=1}}",
    );
    assert_eq!(indexes(&kept), 1);
    run(&dir, "--approach bm25 --set retrieval.analyzer=stem=porter");
    assert_eq!(indexes(&kept), 2);
}

#[test]
fn recipes_for_images_have_settings_too() {
    let dir = WorkDir::new();
    let evidence = dir.path("evidence.sqlite");
    fs::copy(golden_evidence(), &evidence).unwrap();
    let ranked = |more: &[&str]| {
        let options = [&["--evidence", text(&evidence)], more].concat();
        images(&dir.path(""), sample(), &options)
    };
    // the default approach, which is chosen when the topics are known, and one that is named
    for (approach, tag) in [
        (&[][..], "riposte-lists.pool=3"),
        (&["--approach", "riposte"], "riposte-lists.pool=3"),
    ] {
        let (output, run) = ranked(&[&["--set", "lists.pool=3"], approach].concat());
        let run = run.unwrap_or_else(|| panic!("{}", stderr(&output)));
        assert!(
            run.lines().all(|line| line.ends_with(&format!(" {tag}"))),
            "{run}"
        );
        let yaml = dir.read("out/ir-metadata.yml");
        assert_says(&yaml, &["  - lists.pool=3\n", "pool: 3\n"]);
    }
    for approach in [&[][..], &["--approach", "riposte"]] {
        let (output, run) = ranked(&[&["--set", "lists.pool=0"], approach].concat());
        assert_eq!((output.status.code(), run), (Some(2), None));
        let said = stderr(&output);
        assert_says(&said, &["--set lists.pool=0: the pool must be above 0"]);
    }
    let (output, _) = ranked(&["--set", "lists.pol=3"]);
    assert_says(
        &stderr(&output),
        &[
            "--set lists.pol=3: unknown field `pol`",
            "did you mean `pool`?",
        ],
    );
}
