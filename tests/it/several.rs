//! Several approaches in one command.

use std::fs;

use crate::support::files::text;
use crate::support::program::{WorkDir, stderr};
use crate::support::runs::images;
use crate::support::{assert_says, golden_evidence, root, sample};

#[test]
fn images_are_ranked_by_each_approach_as_by_it_alone() {
    let dir = WorkDir::new();
    let (home, evidence) = (dir.path(""), dir.path("evidence.sqlite"));
    fs::copy(golden_evidence(), &evidence).unwrap();
    let rank = |approaches: &[&str]| {
        let mut options = vec!["--evidence", text(&evidence)];
        options.extend(approaches.iter().flat_map(|name| ["--approach", name]));
        let (output, run) = images(&home, sample(), &options);
        (stderr(&output), run)
    };
    let (said, run) = rank(&["minsc", "riposte"]);
    let read = " images, 0 of them new or changed";
    assert_eq!((said.matches(read).count(), run), (1, None), "{said}");
    let names = ["minsc", "riposte"];
    let together = names.map(|name| Some(dir.read(&format!("out/{name}/run.txt"))));
    assert_eq!(together, names.map(|name| rank(&[name]).1));
    assert_ne!(together[0], together[1]);
}

#[test]
fn texts_are_ranked_by_each_approach_and_runs_have_tags_of_their_own() {
    let words = "I prefer the laptop, because it is much better than my old desktop ever was, and I can take it with me to work.";
    let passages: String = (1..5)
        .map(|n| {
            format!(
                "{{\"id\": \"p{n}\", \"contents\": \"{} {n}\"}}\n",
                words.repeat(n)
            )
        })
        .collect();
    let topics = "<topics><topic><number>1</number><title>Which is better, a laptop or a desktop?</title></topic></topics>";
    let dir = WorkDir::with(&[
        ("in/passages.jsonl", passages.as_bytes()),
        ("in/topics.xml", topics.as_bytes()),
    ]);
    let run = |line: &str| dir.run(&format!("comparative -i in --index kept {line}"));
    let (code, _, said) = run("-o all --approach bm25 --approach dirichlet --tag us");
    assert_eq!(code, 0, "{said}");
    for name in ["bm25", "dirichlet"] {
        let (code, _, said) = run(&format!("-o {name} --approach {name} --tag us-{name}"));
        assert_eq!(code, 0, "{said}");
        let alone = dir.read(&format!("{name}/run.txt"));
        assert!(alone.lines().count() > 1 && alone.contains(&format!(" us-{name}\n")));
        assert_eq!(dir.read(&format!("all/{name}/run.txt")), alone);
    }
    for (options, why) in [
        ("--approach bm25 --approach bm25", "bm25 is given twice"),
        (
            "--approach bm25 --approach dirichlet --explain e.jsonl",
            "one approach at a time",
        ),
        (
            "--approach bm25 --approach chatnoir",
            "run it without other approaches",
        ),
        ("--approach bm25 --approach none", "none"),
    ] {
        let (code, _, said) = run(&format!("-o refused {options}"));
        assert_eq!(code, 2, "{options}: {said}");
        assert!(said.contains(why), "{options}: {said}");
        assert!(!dir.path("refused").exists(), "{options}");
    }
}

#[test]
fn approaches_to_images_that_name_different_models_are_refused() {
    let dir = WorkDir::new();
    let recipe = fs::read_to_string(root().join("approaches/images/riposte.toml")).unwrap();
    let rest = recipe.split_once("source = ").unwrap().1;
    let (small, large) = ("clip-vit-base-patch32", "clip-vit-base-patch16");
    for (approach, key, name) in [
        ("one", "clip", small),
        ("other", "clip", large),
        ("third", "sentence", "all-mpnet-base-v2"),
    ] {
        let recipe = format!("name = \"{approach}\"\n{key} = \"{name}\"\nsource = {rest}");
        fs::write(dir.path(&format!("{approach}.toml")), recipe).unwrap();
    }
    let rank = |options: &str| {
        let line = format!(
            "images -i {} -o out --models none {options}",
            text(sample())
        );
        let (code, _, said) = dir.run(&line);
        assert_eq!(code, 2, "{said}");
        said
    };
    let said = rank("--approach one.toml --approach other.toml");
    let why = format!("name different models (clip: {small} and {large})");
    assert!(said.contains(&why), "{said}");
    let said = rank("--approach one.toml --approach third.toml --clip ViT");
    assert_says(&said, &["(sentence: none and all-mpnet-base-v2)"]);
    // a model that a recipe names is needed, as one that an option names
    for (approach, name) in [("other", large), ("third", "all-mpnet-base-v2")] {
        let said = rank(&format!("--approach {approach}.toml"));
        let why = format!("the model {name} is not in ");
        assert!(said.contains(&why), "{said}");
    }
    // and an option precedes the recipe
    let said = rank(&format!("--approach other.toml --clip {small}"));
    let why = format!("the model {small} is not in ");
    assert!(said.contains(&why), "{said}");
}
