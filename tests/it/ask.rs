//! `riposte ask` and debate sheets: a user's question is answered as in a run, and the statements of a sheet about an image or an argument are in
//! the collection.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use riposte::collection::arguments::ArgumentCollection;
use riposte_claims::claims;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::files::{copy, json_lines, text, write};
use crate::support::models::MINILM;
use crate::support::need::{Model, Python, need};
use crate::support::program::{
    WorkDir, code, on_terminal, riposte, stderr, stdout, succeed, typed,
};
use crate::support::{assert_says, golden_evidence, sample};

const ZOOS: &str = "Should zoos be closed?";

/// A home with the stored evidence of the sample.
fn home() -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    fs::copy(golden_evidence(), &evidence).unwrap();
    (home, evidence)
}

/// The answer to a question, as JSON.
#[track_caller]
fn ask(home: &Path, args: &[&str]) -> Value {
    let mut command = riposte(home, &["ask", "-q", "--json"]);
    let output = succeed(command.args(args));
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key]
        .as_array()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The images of an answer, each with the side that it is on; `None` if it is undecided.
fn images_of(answer: &Value) -> Vec<(Option<&str>, &Value)> {
    let sides = list(answer, "sides").iter();
    let sides = sides.map(|side| (Some(string(side, "side")), side));
    let all = sides.chain([(None, &answer["undecided"])]);
    let images = all.flat_map(|(side, of)| list(of, "images").iter().map(move |one| (side, one)));
    images.collect()
}

#[test]
fn images_answer_as_a_run_with_this_topic_ranks_them() {
    let (home, evidence) = home();
    let evidence = text(&evidence);
    let sample_dir = text(sample());
    let args = [ZOOS, "-i", sample_dir, "--task", "images", "-n", "10"];
    let answer = ask(
        home.path(),
        &[&args[..], &["--evidence", evidence]].concat(),
    );

    let topics = home.path().join("topics.jsonl");
    fs::write(
        &topics,
        "{\"qid\": \"7\", \"query\": \"Should zoos be closed?\"}\n",
    )
    .unwrap();
    let out = home.path().join("out");
    succeed(
        riposte(
            home.path(),
            &["images", "-q", "-i", sample_dir, "-o", text(&out)],
        )
        .args(["--topics", text(&topics), "--evidence", evidence]),
    );
    let run = fs::read_to_string(out.join("run.txt")).unwrap();
    let mut expected = BTreeMap::new();
    for line in run.lines() {
        let f: Vec<&str> = line.split(' ').collect();
        expected.insert((f[1], f[2]), (f[3], f[4].parse::<f64>().unwrap()));
    }
    let mut answered = BTreeSet::new();
    for (side, image) in images_of(&answer) {
        let (list, id) = (string(image, "list"), string(image, "id"));
        let (rank, score) = expected[&(list, id)];
        assert_eq!(image["rank"].to_string(), rank, "{image}");
        // on the side of its list, or undecided, it has the score of the run
        if side.is_none_or(|side| side == list) {
            assert_eq!(image["score"].as_f64().unwrap(), score, "{image}");
        }
        let [pro, con] = ["pro", "con"].map(|key| image[key].as_f64().unwrap());
        let taken = match pro - con {
            balance if balance >= 0.25 => Some("PRO"),
            balance if balance <= -0.25 => Some("CON"),
            _ => None,
        };
        assert_eq!(side, taken, "{image}");
        assert!(answered.insert((list, id)), "{image}");
        // the file can be opened, and the words come from the collection
        assert!(Path::new(string(image, "file")).is_file(), "{image}");
        assert!(string(image, "page").starts_with("https://"), "{image}");
        assert!(!string(image, "words").is_empty() && image["argument"].is_null());
    }
    assert_eq!(answered, expected.into_keys().collect());
    assert!(answer["sides"][0].get("arguments").is_none(), "{answer}");
    assert!(answer["undecided"].get("arguments").is_none(), "{answer}");
    assert_eq!(
        string(&answer["sides"][0], "claim"),
        "zoos should be closed"
    );
    assert_eq!(
        string(&answer["sides"][1], "claim"),
        "zoos should not be closed"
    );
}

#[test]
fn the_terminal_shows_both_sides_in_narrow_lines() {
    let (home, evidence) = home();
    let args = ["ask", "Should", "zoos", "be", "closed?", "-q", "-n", "2"];
    let mut command = riposte(home.path(), &args);
    command.args(typed(
        "-i {} --task images --evidence {}",
        &[text(sample()), text(&evidence)],
    ));
    let shown = stdout(&succeed(&mut command));
    let (pro, con) = shown
        .split_once("\nAGAINST - no, zoos should not be closed\n")
        .unwrap();
    assert!(
        pro.starts_with("Should zoos be closed?\n\nFOR - yes, zoos should be closed\n"),
        "{shown}"
    );
    let undecided = con.split_once("\nUNDECIDED - what takes no clear side\n");
    let (con, undecided) = undecided.unwrap_or((con, ""));
    let images = |of: &str| of.matches("  score ").count();
    // the first two of each list, wherever they stand
    assert_eq!(images(pro) + images(con) + images(undecided), 4, "{shown}");
    for of in [pro, con, undecided] {
        assert_eq!(of.matches("P(pro) ").count(), images(of), "{shown}");
        assert_eq!(of.matches("/image.").count(), images(of), "{shown}");
    }
    for side in [pro, con].iter().filter(|side| images(side) == 0) {
        assert!(side.contains("  no image takes this side"), "{shown}");
    }
    let is_address = |line: &str| line.contains("://") || line.contains("/image.");
    for line in shown.lines().filter(|line| !is_address(line)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn an_answer_fits_the_terminal_and_has_its_colours() {
    let Some(python) = need(Python) else {
        return;
    };
    let (home, evidence) = home();
    let mut command = riposte(home.path(), &["ask", "-q", ZOOS]);
    command.args(typed(
        "-i {} --task images --evidence {}",
        &[text(sample()), text(&evidence)],
    ));
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    let longest = |shown: &str| {
        let is_address = |line: &&str| line.contains("://") || line.contains("/image.");
        let lines = shown.lines().filter(|line| !is_address(line));
        lines.map(|line| line.trim_end().chars().count()).max()
    };
    let wide = on_terminal(&python, 100, &command);
    assert!(wide.contains("\u{1b}[1mFOR - yes"), "{wide}");
    command.env("NO_COLOR", "1");
    let [narrow, wide] = [60, 120].map(|columns| on_terminal(&python, columns, &command));
    assert!(!narrow.contains('\u{1b}'), "{narrow}");
    // ids and scores are not divided, and are longer than 60
    let words: Vec<&str> = narrow
        .lines()
        .filter(|line| !line.contains("  score "))
        .collect();
    assert!(longest(&words.join("\n")) <= Some(60), "{narrow}");
    assert!(
        longest(&wide) > Some(80) && longest(&wide) <= Some(100),
        "{wide}"
    );
    assert!(wide.lines().count() < narrow.lines().count());
}

/// For each argument about a topic in a generated collection: whether it supports the topic's claim. Arguments about other topics are missing.
fn sides_of(collection: &Path, title: &str) -> HashMap<String, bool> {
    let (claim, counter_claim) = claims(title);
    let arguments = ArgumentCollection::open(collection).unwrap();
    let mut sides = HashMap::new();
    for argument in arguments.arguments().map(Result::unwrap) {
        let conclusion = argument.texts[1].to_lowercase();
        let is_pro = argument.stance.map(|stance| stance.word() == "PRO");
        if conclusion == claim.to_lowercase() {
            sides.insert(argument.id.0, is_pro.unwrap());
        } else if conclusion == counter_claim.to_lowercase() {
            sides.insert(argument.id.0, !is_pro.unwrap());
        }
    }
    sides
}

#[test]
fn arguments_stand_on_their_side_whatever_their_conclusion_and_repeats_are_folded() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let home = TempDir::new().unwrap();
    let models = text(minilm.dir.parent().unwrap());
    let (mut wrong, mut all, mut folded, mut undecided) = (0, 0, 0, 0);
    let topics = fs::read_to_string(sample().join("topics.xml")).unwrap();
    let titles = topics
        .split("<title>")
        .skip(1)
        .map(|rest| rest.split('<').next().unwrap());
    for title in titles {
        let args = [title, "-i", text(sample()), "--task", "controversial"];
        let answer = ask(home.path(), &[&args[..], &["--models", models]].concat());
        let truth = sides_of(sample(), title);
        let mut ids = HashSet::new();
        for side in list(&answer, "sides") {
            let arguments = list(side, "arguments");
            assert!(!arguments.is_empty() && arguments.len() <= 5, "{side}");
            let ranks: Vec<u64> = arguments
                .iter()
                .map(|a| a["rank"].as_u64().unwrap())
                .collect();
            assert!(ranks.is_sorted(), "{ranks:?}");
            let mut said = HashSet::new();
            for argument in arguments {
                let stance = argument["stance"].as_f64().unwrap();
                let is_pro = string(side, "side") == "PRO";
                assert_eq!(stance >= 0.25, is_pro, "{argument}");
                assert_eq!(stance <= -0.25, !is_pro, "{argument}");
                // an argument about another topic, or one that takes no side, counts as wrong on both sides
                let truly = truth.get(string(argument, "id"));
                wrong += usize::from(truly != Some(&is_pro));
                all += 1;
                assert!(ids.insert(string(argument, "id").to_owned()));
                for repeat in list(argument, "repeats") {
                    folded += 1;
                    assert!(ids.insert(repeat.as_str().unwrap().to_owned()));
                }
                // no sentence stands twice on a side, and none only says that others say so, too
                let quote = string(argument, "text");
                assert!(!quote.contains("could tell you the same"), "{quote}");
                for sentence in quote.split_inclusive(['.', '!', '?']) {
                    let sentence = sentence.trim_matches([' ', '"']).to_owned();
                    let is_whole = sentence.split_whitespace().count() > 3;
                    assert!(!is_whole || said.insert(sentence), "{quote}");
                }
            }
        }
        for argument in list(&answer["undecided"], "arguments") {
            let stance = argument["stance"].as_f64().unwrap();
            assert!(stance.abs() < 0.25, "{argument}");
            assert!(ids.insert(string(argument, "id").to_owned()));
            undecided += 1;
        }
    }
    assert!(
        wrong <= 3,
        "{wrong} of {all} arguments are on the wrong side"
    );
    assert!(folded >= 3, "only {folded} repeats were folded");
    assert!(undecided >= 4, "only {undecided} arguments are undecided");
}

/// An argument that takes no side, and one whose label and text contradict each other, are undecided, whatever their labels.
#[test]
fn a_question_gives_no_side_and_label_and_text_are_weighed_together() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let argument = |id: &str, conclusion: &str, text: &str| {
        format!(
            r#"{{"id": "{id}", "conclusion": "{conclusion}", "premises": [{{"text": "{text}", "stance": "PRO"}}]}}"#
        )
    };
    // texts of fewer than 20 words are not ranked
    let cruel = "Zoos are cruel prisons and must be closed at once, because caged animals suffer there for all of their lives, far from home.";
    let arguments = [
        argument("plain", "Zoos should be closed", cruel),
        argument(
            "facts",
            "Should zoos be closed?",
            "The zoo was founded in 1911 and has a house for zebras, a pond with some ducks, and a small shop beside the gate in the north.",
        ),
        argument("asked", "Should zoos be closed?", cruel),
        argument(
            "torn",
            "Zoos should not be closed",
            "Zoos should be closed. Wild animals belong in freedom and never in a cage, wherever they were born and whoever feeds them there.",
        ),
    ];
    let file = format!(r#"{{"arguments": [{}]}}"#, arguments.join(","));
    let dir = WorkDir::with(&[("zoos/args-me.json", file.as_bytes())]);
    let models = text(minilm.dir.parent().unwrap()).to_owned();
    let line = format!("ask -q --json {ZOOS} -i zoos --models {models}");
    let (exit, shown, error) = dir.run(&line);
    assert_eq!(exit, 0, "{error}");
    let answer: Value = serde_json::from_str(&shown).unwrap();
    let ids = |of: &Value| -> BTreeSet<String> {
        let arguments = list(of, "arguments").iter();
        let all = arguments.flat_map(|one| {
            let repeats = list(one, "repeats").iter().map(|id| id.as_str().unwrap());
            repeats.chain([string(one, "id")]).map(str::to_owned)
        });
        all.collect()
    };
    let pro = ids(&answer["sides"][0]);
    assert!(pro.contains("plain"), "{answer}");
    // the label of "asked" gives no side, and its text does
    assert!(!pro.contains("facts"), "{answer}");
    // the label says against, the text for
    assert!(!ids(&answer["sides"][1]).contains("torn"), "{answer}");
    let undecided = ids(&answer["undecided"]);
    assert!(undecided.contains("torn"), "{answer}");
}

#[test]
fn images_stand_below_the_argument_that_they_are_most_like_with_the_words_that_say_so() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let (home, evidence) = home();
    let debate = home.path().join("out/debate.jsonl");
    let out = home.path().join("out");
    let arguments = sample().join("args-me.json");
    let run = || {
        let mut command = riposte(home.path(), &["images", "-q", "-i", text(sample())]);
        command
            .args(["-o", text(&out), "--debate", text(&debate)])
            .args(["--arguments", text(&arguments)])
            .args(["--evidence", text(&evidence)])
            .args(["--models", text(minilm.dir.parent().unwrap())]);
        succeed(&mut command);
        fs::read_to_string(&debate).unwrap()
    };
    let written = run();
    assert_eq!(run(), written, "the same evidence gives the same sheets");
    let sheets = json_lines(&written);
    assert_eq!(sheets.len(), 6);
    let texts: HashMap<String, String> = ArgumentCollection::open(&arguments)
        .unwrap()
        .arguments()
        .map(Result::unwrap)
        .map(|argument| {
            let premises = argument.texts[0].replace('\n', " ");
            (argument.id.0, premises)
        })
        .collect();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words
            .filter(|w| !w.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let store = rusqlite::Connection::open(&evidence).unwrap();
    let text_of = |image: &str| -> Vec<String> {
        let mut all = String::new();
        for query in [
            "SELECT title||' '||alt||' '||title_attribute||' '||caption||' '||before||' '||after FROM page WHERE document = ?",
            "SELECT group_concat(text, ' ') FROM ocr_line WHERE document = ? ORDER BY line",
        ] {
            let mut statement = store.prepare(query).unwrap();
            let rows = statement
                .query_map([image], |row| row.get::<_, Option<String>>(0))
                .unwrap();
            for row in rows {
                all.push_str(&row.unwrap().unwrap_or_default());
                all.push(' ');
            }
        }
        words(&all)
    };
    let contains = |text: &[String], part: &[String]| part.iter().all(|word| text.contains(word));
    let judgements = fs::read_to_string(sample().join("qrels.txt")).unwrap();
    let topics = fs::read_to_string(sample().join("topics.xml")).unwrap();
    let (mut compared, mut near, mut right, mut wrong) = (0, 0, 0, 0);
    for sheet in &sheets {
        let arguments = list(sheet, "arguments");
        let titles = topics.split("<title>").skip(1);
        let mut titles = titles.map(|rest| rest.split('<').next().unwrap());
        let claim = string(sheet, "claim");
        let title = titles.find(|title| claims(title).0 == claim).unwrap();
        let truth = sides_of(sample(), title);
        for image in list(sheet, "images") {
            let Some(like) = image.get("like") else {
                continue;
            };
            compared += 1;
            // a question illustrates nothing
            assert!(!string(like, "words").contains('?'), "{like}");
            let of = arguments
                .iter()
                .find(|a| a["argument"] == like["argument"])
                .unwrap();
            assert_eq!(of["side"], image["side"], "{image}");
            let sentence = words(string(like, "sentence"));
            assert!(
                contains(&words(&texts[string(of, "argument")]), &sentence),
                "{like}"
            );
            let own = words(string(like, "words"));
            assert!(contains(&text_of(string(image, "image")), &own), "{image}");
            let likeness = like["likeness"].as_f64().unwrap();
            assert!((-1.0..=1.0 + 1e-6).contains(&likeness));
            near += usize::from(likeness >= 0.5);
            let other_side = like["other_side"].as_f64().unwrap_or(-1.0);
            if likeness >= 0.7 && other_side < likeness {
                let side = string(image, "side");
                let line = format!(
                    "{} {side} {} 1",
                    string(sheet, "topic"),
                    string(image, "image")
                );
                let is_judged = judgements.lines().any(|judged| judged == line);
                let truly = truth.get(string(of, "argument"));
                match is_judged && truly == Some(&(side == "PRO")) {
                    true => right += 1,
                    false => wrong += 1,
                }
            }
            // sentences with the same words are as similar as possible
            if sentence == own {
                assert!(likeness > 0.9, "{like}");
            }
        }
    }
    assert!(
        compared >= 60 && near >= 20,
        "{compared} compared, {near} near"
    );
    // of those that illustrate an argument, by the judgements of the images and the labels of the arguments
    assert!(
        right >= 12 && wrong * 10 <= right * 7,
        "{right} right, {wrong} wrong"
    );
}

#[test]
fn a_collection_with_both_answers_with_both_and_the_report_has_the_sheet() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let (home, evidence) = home();
    let out = home.path().join("answer");
    let browser = home.path().join("browser.sh");
    let opened = home.path().join("opened");
    let script = format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", opened.display());
    fs::write(&browser, script).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = riposte(home.path(), &["ask", "-q", ZOOS, "-i", text(sample())]);
    command
        .args(["--evidence", text(&evidence), "-o", text(&out), "--open"])
        .args(["--models", text(minilm.dir.parent().unwrap())])
        .env("BROWSER", &browser);
    let output = succeed(&mut command);
    let shown = stdout(&output);
    for what in [
        "\n 1. ",
        "likeness ",
        "Images that are like none of these arguments:",
    ] {
        assert!(shown.contains(what), "{what}: {shown}");
    }
    let is_address = |line: &str| line.contains("://") || line.contains("/image.");
    for line in shown.lines().filter(|line| !is_address(line)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    // the sheet is opened, and not a table with one topic
    let page = out.join("report/debate-asked.html");
    assert_eq!(fs::read_to_string(&opened).unwrap(), text(&page));
    assert!(stderr(&output).contains(text(&page)));
    let page = out.join("report/index.html");
    let sheet = fs::read_to_string(out.join("report/debate-asked.html")).unwrap();
    assert!(sheet.contains("zoos should not be closed"));
    // -n is the number of arguments, too
    let two = ask(
        home.path(),
        &typed(
            "{} -i {} -n 2 --evidence {} --models {}",
            &[
                ZOOS,
                text(sample()),
                text(&evidence),
                text(minilm.dir.parent().unwrap()),
            ],
        ),
    );
    for side in list(&two, "sides") {
        assert_eq!(list(side, "arguments").len(), 2, "{side}");
    }
    assert_eq!(images_of(&two).len(), 4, "{two}");
    // asked again in the same place, and of images alone: the report has no sheet any more
    let mut command = riposte(home.path(), &["ask", "-q", ZOOS, "-i", text(sample())]);
    command.args(typed(
        "--evidence {} -o {} --task images",
        &[text(&evidence), text(&out)],
    ));
    succeed(&mut command);
    assert!(page.is_file() && !out.join("report/debate-asked.html").exists());
    assert!(!out.join("debate.jsonl").exists());
}

#[test]
fn candidates_and_ranks_of_the_collections_own_topics_do_not_bind_a_question() {
    let (home, evidence) = home();
    let input = home.path().join("input");
    copy(sample(), &input);
    let own = "{\"qid\": \"asked\", \"docno\": \"I00d3d1c260e4659b\"}\n";
    write(&input.join("rerank.jsonl"), own);
    let args = [ZOOS, "-i", text(&input), "--task", "images", "-n", "10"];
    let answer = ask(
        home.path(),
        &[&args[..], &["--evidence", text(&evidence)]].concat(),
    );
    assert_eq!(images_of(&answer).len(), 20);
}

#[test]
fn passages_say_which_object_they_prefer_and_other_documents_are_quoted() {
    let dir = WorkDir::with(&[(
        "passages/passages.jsonl",
        br#"{"id": "p1", "contents": "Cats are kept by many people in towns and villages. Cats are much better pets than dogs, because cats are quiet and clean, and a cat needs no walks."}
{"id": "p2", "contents": "Dogs are clearly better than cats: dogs protect the house by day and by night, dogs love their owners, and a dog learns what it is taught."}
"# as &[u8],
    ), (
        "plain/documents.jsonl",
        br#"{"docno": "d1", "text": "The sky is blue today. Nuclear power plants make cheap energy."}
{"docno": "d2", "text": "Bread is baked in ovens."}
"#,
    )]);
    let (exit, shown, error) = dir.run("ask -q Which is better, a cat or a dog? -i passages");
    assert_eq!(exit, 0, "{error}");
    assert_says(&shown, &["Cats are much better pets than dogs"]);
    assert!(shown.contains("first: cat, second: dog"), "{shown}");
    assert!(
        [", FIRST", ", SECOND"]
            .iter()
            .any(|stance| shown.contains(stance)),
        "{shown}"
    );
    let (exit, shown, error) = dir.run("ask -q --approach bm25 nuclear energy -i plain");
    assert_eq!(exit, 0, "{error}");
    // the sentence with the words of the question is printed, and no other document
    assert_says(&shown, &[" 1. Nuclear power plants make cheap energy."]);
    assert!(!shown.contains("Bread"), "{shown}");
}

#[test]
fn what_cannot_be_asked_is_refused_in_one_line() {
    let dir = WorkDir::with(&[(
        "plain/documents.jsonl",
        b"{\"docno\": \"d1\", \"text\": \"Bread is baked in ovens every day.\"}\n" as &[u8],
    )]);
    fs::create_dir(dir.path("empty")).unwrap();
    let long = format!("ask {} -i plain", "why ".repeat(300).trim());
    for (line, message) in [
        ("ask  -i plain", "the question is empty"),
        ("ask ? -i plain", "the question \"?\" has no word"),
        ("ask ... !? -i plain", "has no word"),
        (&*long, "more than 1000 characters"),
        ("ask why -i empty", "choose a --task"),
        (
            "ask why -i plain --arguments a.json",
            "--arguments answer together with images",
        ),
        ("ask why -i nowhere", "nowhere"),
        ("ask why -i plain --approach nobody", "nobody"),
    ] {
        let (exit, shown, error) = dir.run(line);
        assert_eq!((exit, &*shown), (2, ""), "{line}: {error}");
        assert!(error.contains(message), "{line}: {error}");
        assert_eq!(error.lines().count(), 1, "{line}: {error}");
    }
}

#[test]
fn debate_sheets_are_refused_where_there_are_no_sides_or_no_arguments() {
    let (home, _) = home();
    let out = home.path().join("out");
    let arguments = sample().join("args-me.json");
    let debate = out.join("debate.jsonl");
    let images = typed(
        "images -q -i {} -o {} --debate {}",
        &[text(sample()), text(&out), text(&debate)],
    );
    let run = |more: &[&str]| {
        let output = riposte(home.path(), &images).args(more).output().unwrap();
        (code(&output), stderr(&output))
    };
    let (exit, error) = run(&[]);
    assert!(exit == 2 && error.contains("--arguments"), "{error}");
    let with = ["--arguments", text(&arguments)];
    let (exit, error) = run(&[&with[..], &["--edition", "2025"]].concat());
    assert!(
        exit == 2 && error.contains("--debate is for lists for and against"),
        "{error}"
    );
    let (exit, error) = run(&[&with[..], &["--explain", text(&debate)]].concat());
    assert!(exit == 2 && error.contains("name the same file"), "{error}");
    let two = ["--approach", "minsc", "--approach", "aramis"];
    let (exit, error) = run(&[&with[..], &two].concat());
    assert!(
        exit == 2 && error.contains("one approach at a time"),
        "{error}"
    );
    assert!(!debate.exists());
}
