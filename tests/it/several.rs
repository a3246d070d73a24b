//! Several approaches in one go, as a team submits several runs.

use std::fs;

use crate::support::files::text;
use crate::support::program::{WorkDir, riposte, stderr, succeed};
use crate::support::{golden_evidence, sample};

#[test]
fn images_are_ranked_by_each_approach_as_by_it_alone() {
    let dir = WorkDir::new();
    let evidence = dir.path("evidence.sqlite");
    fs::copy(golden_evidence(), &evidence).unwrap();
    let run = |out: &str, options: &[&str]| {
        let (input, out) = (text(sample()), dir.path(out));
        let args = [
            "images",
            "-i",
            input,
            "-o",
            text(&out),
            "--evidence",
            text(&evidence),
        ];
        let output = succeed(riposte(&dir.path(""), &args).args(options));
        stderr(&output)
    };
    let said = run("all", &["--approach", "minsc", "--approach", "riposte"]);
    assert_eq!(
        said.matches(" images, 0 of them new or changed").count(),
        1,
        "{said}"
    );
    for name in ["minsc", "riposte"] {
        run(name, &["--approach", name]);
        let alone = dir.read(&format!("{name}/run.txt"));
        assert_eq!(dir.read(&format!("all/{name}/run.txt")), alone);
    }
    assert_ne!(dir.read("minsc/run.txt"), dir.read("riposte/run.txt"));
    assert!(!dir.path("all/run.txt").exists());
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
        ("--approach bm25 --approach chatnoir", "run it by itself"),
        ("--approach bm25 --approach none", "none"),
    ] {
        let (code, _, said) = run(&format!("-o refused {options}"));
        assert_eq!(code, 2, "{options}: {said}");
        assert!(said.contains(why), "{options}: {said}");
        assert!(!dir.path("refused").exists(), "{options}");
    }
}
