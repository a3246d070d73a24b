//! The editions of the image task: candidates to rank again (2023), premises (2024) and claims (2025).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::files::{json_lines, text, write};
use crate::support::need::{Peer, need};
use crate::support::program::{WorkDir, collection_tools, riposte, stderr, stdout, succeed, typed};
use crate::support::runs::images;
use crate::support::{assert_says, golden_evidence, sample};

/// A generated collection in the format of 2025: 12 claims of 6 topics, 40 images.
fn claims(dir: &WorkDir) {
    let path = dir.path("claims");
    succeed(&mut collection_tools(&typed(
        "generate --claims --images 40 {}",
        &[text(&path)],
    )));
}

/// The images of each argument, in the order of the file.
fn answers(run: &str) -> BTreeMap<String, Vec<String>> {
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in json_lines(run) {
        assert_eq!(line["method"], "retrieval");
        let list = lists
            .entry(line["argument_id"].as_str().unwrap().to_owned())
            .or_default();
        list.push(line["image_id"].as_str().unwrap().to_owned());
        assert_eq!(line["rank"], list.len());
    }
    lists
}

/// The mean nDCG@5 of a run, with the judgements of the collection.
fn effectiveness(dir: &WorkDir, run: &str) -> f64 {
    let (said, _) = dir.succeeds(&format!(
        "evaluate claims/qrels.txt {run} nDCG@5 --format tsv"
    ));
    said.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn every_claim_of_2025_is_served_by_each_approach() {
    let dir = WorkDir::new();
    claims(&dir);
    let names = ["riposte-claims", "claims-caption"];
    dir.succeeds("images -i claims -o out --approach riposte-claims --approach claims-caption");
    for name in names {
        let run = dir.read(&format!("out/{name}/results.jsonl"));
        let lists = answers(&run);
        assert_eq!(lists.len(), 12, "{name}");
        assert!(
            lists.values().all(|list| list.len() == 5),
            "{name}: {lists:?}"
        );
        let (code, said, _) = dir.run(&format!("verify --edition 2025 -i claims out/{name} -v"));
        assert!(
            code == 0 && said.ends_with("results.jsonl: valid\n"),
            "{said}"
        );
        // randomly chosen images would have a far smaller value
        assert!(effectiveness(&dir, &format!("out/{name}")) > 0.6, "{name}");
    }
    // captions name the subject: the best image for the first claim has a caption with the words of that claim
    let best = &answers(&dir.read("out/claims-caption/results.jsonl"))["1-1"][0];
    let caption = dir.read(&format!(
        "claims/images/{}/{best}/image-caption.txt",
        &best[..3]
    ));
    assert!(caption.contains("about car ban city centre"), "{caption}");
    let default = dir.run("images -i claims -o default --quiet=progress");
    assert_eq!(default.0, 0, "{}", default.2);
    assert_eq!(
        dir.read("default/results.jsonl"),
        dir.read("out/riposte-claims/results.jsonl")
    );
}

#[test]
fn captions_and_texts_that_change_are_read_again_and_missing_ones_are_no_fault() {
    let dir = WorkDir::new();
    claims(&dir);
    let rank = || {
        let (code, _, said) = dir.run("images -i claims -o out --approach claims-caption");
        (code, said, answers(&dir.read("out/results.jsonl")))
    };
    let (_, _, before) = rank();
    let last = before["1-1"].last().unwrap().clone();
    let home = format!("claims/images/{}/{last}", &last[..3]);
    write(
        &dir.path(&format!("{home}/image-caption.txt")),
        "cars should be banned from city centres",
    );
    let (code, said, after) = rank();
    assert!(
        code == 0 && said.contains("1 of them new or changed"),
        "{said}"
    );
    assert_eq!(after["1-1"][0], last);
    std::fs::remove_file(dir.path(&format!("{home}/image-caption.txt"))).unwrap();
    let (code, said, without) = rank();
    assert!(
        code == 0 && said.contains("1 of them new or changed"),
        "{said}"
    );
    assert_ne!(without["1-1"][0], last);
}

#[test]
fn an_approach_is_for_claims_or_for_both_sides() {
    let dir = WorkDir::new();
    claims(&dir);
    for (options, why) in [
        (
            "--approach minsc",
            "makes lists for and against a claim, and this year needs a single list (--edition 2025)",
        ),
        (
            "--edition 2022 --approach claims-text",
            "makes one list for each claim",
        ),
        (
            "--overlap",
            "--overlap is for lists for and against a claim",
        ),
        (
            "--approach claims-text",
            "all channels of the approach claims-text are off",
        ),
        ("--edition 2026", "2026"),
    ] {
        let (code, _, said) = dir.run(&format!("images -i claims -o out {options}"));
        assert!(code == 2 && said.contains(why), "{options}: {said}");
        assert!(!dir.path("out/results.jsonl").exists() && !dir.path("out/run.txt").exists());
    }
}

#[test]
fn premises_of_2024_are_searched_for_and_ten_images_are_explained() {
    let dir = WorkDir::new();
    claims(&dir);
    let argument = |id: u32, premise: &str| {
        format!(
            "<argument><id>{id}</id><topic>x</topic><premise>{premise}</premise><claim>It is so.</claim><type>Anecdotal</type></argument>"
        )
    };
    let file = format!(
        "<arguments>{}{}</arguments>",
        argument(1, "a private rocket set a dog to flight"),
        argument(2, "closing zoos frees animals")
    );
    write(&dir.path("claims/arguments.xml"), file);
    dir.succeeds("images -i claims -o out");
    let run = dir.read("out/results.jsonl");
    let lists = answers(&run);
    assert!(
        lists.len() == 2 && lists.values().all(|list| list.len() == 10),
        "{lists:?}"
    );
    // the claims of both are the same, so only the premises distinguish them
    assert_ne!(lists["1"], lists["2"]);
    let rationale = |line: &Value| line["rationale"].as_str().unwrap().to_owned();
    let first = json_lines(&run)
        .into_iter()
        .find(|line| line["argument_id"] == "2")
        .unwrap();
    assert!(rationale(&first).contains("zoos"), "{first}");
    let (code, said, _) = dir.run("verify --edition 2024 -i claims out");
    assert!(code == 0 && said.ends_with("valid\n"), "{said}");
}

#[test]
fn tira_takes_a_run_of_claims() {
    let Some(python) = need(Peer("tira")) else {
        return;
    };
    let dir = WorkDir::new();
    claims(&dir);
    dir.succeeds("images -i claims -o out");
    let check = "import pathlib, sys\nfrom tira.check_format import check_format\nprint(check_format(pathlib.Path(sys.argv[1]), 'touche-image-retrieval', {}))";
    let mut command = std::process::Command::new(python);
    let said = stdout(&succeed(command.args([
        "-c",
        check,
        text(&dir.path("out")),
    ])));
    assert!(said.contains("has the correct format"), "{said}");
}

/// The images of the sample that a run lists, by topic.
fn listed(run: &str) -> BTreeMap<String, Vec<String>> {
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in run.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        lists
            .entry(fields[0].to_owned())
            .or_default()
            .push(fields[2].to_owned());
    }
    lists
}

/// Ranks the sample from its stored evidence.
fn rank_sample(home: &Path, options: &[&str]) -> (String, Option<String>) {
    let evidence = home.join("evidence.sqlite");
    std::fs::copy(golden_evidence(), &evidence).unwrap();
    let all = [&["--evidence", text(&evidence)], options].concat();
    let (output, run) = images(home, sample(), &all);
    (stderr(&output), run)
}

#[test]
fn only_candidates_are_ranked_anew() {
    let dir = WorkDir::new();
    let home = dir.path("");
    let all = listed(&rank_sample(&home, &[]).1.unwrap());
    // every second image that is listed for topic 1. The first id gets eight more digits, as in the data of 2023
    let chosen: Vec<&String> = all["1"].iter().step_by(2).collect();
    let mut lines: String = chosen[1..]
        .iter()
        .map(|id| format!("{}\n", json!({"qid": 1, "query": "q", "docno": id})))
        .collect();
    lines += &format!(
        "{}\n",
        json!({"qid": "1", "docno": format!("{}00000000", chosen[0])})
    );
    lines += &format!("{}\n", json!({"qid": 2, "docno": "Iffffffffffffffff"}));
    write(&dir.path("rerank.jsonl"), lines);
    let file = dir.path("rerank.jsonl");
    for approach in ["riposte", "minsc"] {
        let (said, run) = rank_sample(
            &home,
            &["--candidates", text(&file), "--approach", approach],
        );
        let lists = listed(&run.unwrap());
        assert!(lists.keys().eq(["1"]), "{said}");
        assert!(lists["1"].iter().all(|id| chosen.contains(&id)), "{said}");
        if approach == "riposte" {
            assert_eq!(lists["1"].len(), chosen.len(), "{said}");
        }
        assert_says(
            &said,
            &[
                "topic 2 has no candidate",
                "1 more candidates are not in the collection",
            ],
        );
    }
}

#[test]
fn a_collection_may_have_its_topics_in_the_candidates_alone() {
    let dir = WorkDir::new();
    crate::support::files::copy(&sample().join("images"), &dir.path("in/images"));
    let images = crate::support::collection::documents(sample());
    let ids = images
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap());
    let lines: String = ids
        .take(30)
        .map(|id| {
            format!(
                "{}\n",
                json!({"qid": 51, "query": "Should cars be banned from city centres?", "docno": id})
            )
        })
        .collect();
    write(
        &dir.path("in/rerank.jsonl"),
        lines.clone() + "{\"qid\": 52}\n",
    );
    let input = dir.path("in");
    let (output, run) = crate::support::runs::images(&dir.path(""), &input, &["--edition", "2023"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_says(&said, &["rerank.jsonl:31: ", "30 images, 30 of them new"]);
    let run = run.unwrap();
    assert_eq!(listed(&run)["51"].len(), 20);
    let out = dir.path("out");
    let verify = ["verify", "--edition", "2023", text(&out)];
    let output = riposte(&dir.path(""), &verify).output().unwrap();
    let said = stdout(&output);
    // a run with only one of the fifty topics is not an error here, although TIRA requires three
    assert!(
        said.contains("nothing for 49 topics") && !said.contains("error:"),
        "{said}"
    );
}
