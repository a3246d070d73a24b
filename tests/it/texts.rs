//! `riposte controversial`, `comparative` and `index`, run as a user runs them.

use std::fs;
use std::io::Write;
use std::path::Path;

use assert_cmd::Command;
use riposte::reading::cross::Cross;
use serde_json::{Value, json};

use crate::clip::reference;

const TOPICS: &str = "<topics>\
    <topic><number>1</number><title>Should plastic bottles be banned?</title><description>A user wonders about oceans.</description></topic>\
    <topic><number>2</number><title>Is homework good for pupils?</title></topic></topics>";

/// What each argument says; the first word is its id. Twenty words and more, but for the last of them.
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

fn argument(text: &str) -> Value {
    let (id, text) = text.split_once(' ').unwrap();
    json!({"id": id, "conclusion": "A claim", "premises": [{"text": text, "stance": "PRO", "annotations": []}], "context": {"sourceTitle": "Debate"}})
}

fn arguments_in(dir: &Path) {
    let all: Vec<Value> = ARGUMENTS.iter().map(|text| argument(text)).collect();
    fs::write(
        dir.join("args-me.json"),
        json!({ "arguments": all }).to_string(),
    )
    .unwrap();
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

/// riposte in a fresh directory, without models unless a test brings them.
struct Room(tempfile::TempDir);

impl Room {
    fn new(fill: fn(&Path)) -> Room {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("in")).unwrap();
        fs::create_dir(dir.path().join("no-models")).unwrap();
        fill(&dir.path().join("in"));
        Room(dir)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Exit code and standard error.
    fn run(&self, line: &str) -> (i32, String) {
        let mut command = Command::cargo_bin("riposte").unwrap();
        command.current_dir(self.0.path()).args(line.split(' '));
        command.env_remove("WNSEARCHDIR");
        if !line.contains("--models") {
            command.env("RIPOSTE_MODELS", self.path("no-models"));
        }
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), said)
    }

    /// A task's command with its directories; must end well. The run.
    fn task(&self, task: &str, options: &str) -> String {
        let line = format!("{task} -i in -o out --index kept {options}");
        let (code, said) = self.run(line.trim());
        assert_eq!(code, 0, "{options}: {said}");
        fs::read_to_string(self.path("out/run.txt")).unwrap()
    }
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
    let room = Room::new(arguments_in);
    let run = room.task("controversial", "--approach bm25");
    let first = documents(&run, "1");
    // "again" has the words of "ban", "brief" fewer than twenty
    assert!(["ban", "near", "shout"].contains(&first[0]), "{run}");
    assert!(
        !first.contains(&"again") && !first.contains(&"brief"),
        "{run}"
    );
    assert_eq!(documents(&run, "2").len(), 2, "{run}");
    assert!(run.lines().all(|line| line.split(' ').nth(1) == Some("Q0")));
    assert!(run.ends_with(" riposte-bm25\n"), "{run}");
    let (code, _) = room.run("verify out -i in --task controversial");
    assert_eq!(code, 0);
    assert_eq!(
        room.task("controversial", "--approach bm25 --threads 1"),
        run
    );
    let manual = room.task("controversial", "--approach bm25 --use description");
    assert_ne!(manual, run, "the description has another word");
    // From a fresh index, too.
    fs::remove_dir_all(room.path("kept")).unwrap();
    assert_eq!(
        room.task("controversial", "--approach bm25 --threads 2"),
        run
    );
}

#[test]
fn every_approach_makes_a_valid_run_without_models() {
    let output = Command::cargo_bin("riposte")
        .unwrap()
        .arg("approaches")
        .output()
        .unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    for (task, fill) in [
        ("controversial", arguments_in as fn(&Path)),
        ("comparative", passages_in),
    ] {
        let room = Room::new(fill);
        let mut seen = 0;
        for line in list.lines().filter(|line| line.starts_with(task)) {
            let name = line.split_whitespace().nth(1).unwrap();
            let run = room.task(task, &format!("--approach {name}"));
            assert!(!run.is_empty(), "{name}");
            let (code, _) = room.run(&format!("verify out -i in --task {task}"));
            assert_eq!(code, 0, "{name}");
            seen += 1;
        }
        assert!(seen >= 3, "{list}");
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
        assert!(list.contains(&format!("controversial  {name}")), "{list}");
    }
}

#[test]
fn shouting_and_repetition_go_behind() {
    let room = Room::new(arguments_in);
    let run = room.task("controversial", "");
    let order = documents(&run, "1");
    let place = |id| order.iter().position(|doc| *doc == id).unwrap();
    let before = place("ban").min(place("near"));
    assert_eq!(before, 0, "{run}");
    assert!(place("keep") < place("shout"), "{run}");
    // of two that say nearly the same, one stands behind all the others
    assert_eq!(place("ban").max(place("near")), order.len() - 1, "{run}");
}

#[test]
fn explanations_add_up_to_the_scores_that_ranked() {
    let room = Room::new(arguments_in);
    let run = room.task("controversial", "--explain why.jsonl");
    let text = fs::read_to_string(room.path("why.jsonl")).unwrap();
    let explained: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(explained.len(), run.lines().count());
    for (line, why) in run.lines().zip(&explained) {
        let fields: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            (fields[0], fields[2]),
            (
                why["topic"].as_str().unwrap(),
                why["document"].as_str().unwrap()
            )
        );
        let score = &why["score"];
        let parts = score["parts"].as_array().unwrap();
        let sum: f64 = parts
            .iter()
            .map(|part| part["value"].as_f64().unwrap())
            .sum();
        assert!(
            (sum - score["value"].as_f64().unwrap()).abs() < 1e-9,
            "{why}"
        );
        assert!(
            (sum - fields[4].parse::<f64>().unwrap()).abs() < 1e-4,
            "{why}\n{line}"
        );
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

#[test]
fn nearness_and_fusion_are_in_the_explanation() {
    let room = Room::new(arguments_in);
    let fused = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("approaches/controversial/shanks.toml"),
    )
    .unwrap();
    let (head, searches) = fused.split_once("fusion = { name = \"min-max\" }").unwrap();
    // its first search alone: nearness, and no fusion
    let first = searches.split("[[retrieval]]").nth(1).unwrap();
    fs::write(
        room.path("one.toml"),
        format!("{head}\n[[retrieval]]{first}"),
    )
    .unwrap();
    for (approach, name) in [("one.toml", "score"), ("shanks", "fusion")] {
        let run = room.task(
            "controversial",
            &format!("--approach {approach} --explain why.jsonl"),
        );
        let text = fs::read_to_string(room.path("why.jsonl")).unwrap();
        assert_eq!(text.lines().count(), run.lines().count());
        for (line, why) in run.lines().zip(text.lines()) {
            let written: f64 = line.split(' ').nth(4).unwrap().parse().unwrap();
            let score = &serde_json::from_str::<Value>(why).unwrap()["score"];
            assert!(
                (written - score["value"].as_f64().unwrap()).abs() < 1e-4,
                "{line}\n{why}"
            );
            assert_eq!(score["name"], name);
            let search = match name {
                "fusion" => &score["parts"][1],
                _ => score,
            };
            assert!(why.contains("nearness"), "{why}");
            let parts = search["parts"].as_array().unwrap();
            let sum: f64 = parts
                .iter()
                .map(|part| part["value"].as_f64().unwrap())
                .sum();
            assert!(
                (sum - search["value"].as_f64().unwrap()).abs() < 1e-9,
                "{why}"
            );
        }
    }
}

#[test]
fn passages_have_stances() {
    let room = Room::new(passages_in);
    let run = room.task("comparative", "");
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
    let (code, _) = room.run("verify out -i in --task comparative");
    assert_eq!(code, 0);
    let without = room.task("comparative", "--no-stance");
    assert!(
        without.lines().all(|line| line.starts_with("2 Q0 ")),
        "{without}"
    );
    // The objects the other way round turn the stances round.
    let turned = QUESTION.replace("laptop, desktop", "desktop, laptop");
    fs::write(room.path("in/topics.xml"), turned).unwrap();
    let run = room.task("comparative", "");
    assert!(
        run.contains("SECOND p1") && run.contains("FIRST p2"),
        "{run}"
    );
}

#[test]
fn what_is_broken_is_named_and_the_rest_goes_on() {
    let room = Room::new(arguments_in);
    let text = fs::read_to_string(room.path("in/args-me.json")).unwrap();
    let broken = text.replacen("\"id\":\"keep\"", "\"id\":7", 1);
    fs::write(room.path("in/args-me.json"), broken).unwrap();
    let (code, said) = room.run("controversial -i in -o out --index kept --approach bm25");
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("1 faults") && said.contains("args-me.json:1: "),
        "{said}"
    );
    let run = fs::read_to_string(room.path("out/run.txt")).unwrap();
    assert!(run.contains(" ban ") && !run.contains(" keep "), "{run}");
    // The index says it again when it is opened.
    let (code, again) = room.run("index -i in --index kept --approach bm25");
    assert_eq!(code, 1);
    assert!(again.contains("1 faults"), "{again}");

    let room = Room::new(passages_in);
    let text = fs::read_to_string(room.path("in/passages.jsonl")).unwrap();
    fs::remove_file(room.path("in/passages.jsonl")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    fs::write(
        room.path("in/passages.jsonl.gz"),
        &packed[..packed.len() - 40],
    )
    .unwrap();
    let (code, said) = room.run("comparative -i in -o out --index kept --approach bm25");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("passages.jsonl.gz"), "{said}");
    let run = fs::read_to_string(room.path("out/run.txt")).unwrap();
    assert!(run.contains(" p1 "), "{run}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let room = Room::new(arguments_in);
    let wrong_field = "name = \"x\"\nsource = \"y\"\n[[retrieval]]\nanalyzer = \"\"\nsimilarity = { name = \"dph\" }\nfields = { contents = 1.0 }\n";
    fs::write(room.path("x.toml"), wrong_field).unwrap();
    for (line, why) in [
        (
            "controversial -i in -o out --approach nobody",
            "choose one of riposte, bm25",
        ),
        (
            "controversial -i in -o out --index kept --approach x.toml",
            "no field \"contents\": it has premises, conclusion, title",
        ),
        (
            "controversial -i in -o out --approach none.toml",
            "none.toml",
        ),
        ("comparative -i in -o out --index kept", "no passages"),
        ("controversial -i nowhere -o out --index kept", "nowhere"),
        (
            "controversial -i in -o out --index kept --topics none.xml",
            "none.xml",
        ),
        (
            "controversial -i in -o out --index kept --threads 0",
            "at least 1",
        ),
        ("index -i no-models", "neither images/, nor args-me.json"),
        ("verify out -i in --task comparative", "no passages"),
    ] {
        let (code, said) = room.run(line);
        assert_eq!(code, 2, "{line}: {said}");
        assert!(said.contains(why), "{line}: {said}");
    }
    assert!(!room.path("out/run.txt").exists());
}

#[test]
fn kept_vectors_serve_without_the_model() {
    let models = riposte::weights::Models::at(None).unwrap();
    if !matches!(
        models.find("all-minilm-l6-v2"),
        Ok(riposte::weights::ModelStatus::Ready(_))
    ) {
        eprintln!(
            "skipped: ranking with sentence vectors, because all-minilm-l6-v2 is not in {}",
            models.dir().display()
        );
        return;
    }
    let dir = models.dir().display().to_string();
    let (arguments, passages) = (Room::new(arguments_in), Room::new(passages_in));
    for (room, task) in [(&arguments, "controversial"), (&passages, "comparative")] {
        let with = room.task(task, &format!("--models {dir}"));
        let kept = room.task(task, "");
        assert_eq!(with, kept, "{task}");
        let without = Room::new(if task == "comparative" {
            passages_in
        } else {
            arguments_in
        });
        assert_ne!(with, without.task(task, ""), "vectors change the scores");
    }
}

#[test]
fn a_cross_encoder_orders_the_top_and_its_scores_are_kept() {
    let room = Room::new(arguments_in);
    let (code, said) = room.run("controversial -i in -o out --index kept --approach macbeth");
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("cross-encoder is off") && said.contains("models fetch cross"),
        "{said}"
    );
    let without = fs::read_to_string(room.path("out/run.txt")).unwrap();
    let (_, said) = room.run("controversial -i in -o out --index kept --approach bm25");
    assert!(
        !said.contains("cross-encoder"),
        "nobody asks for it: {said}"
    );

    let (from, to) = (reference("tiny-cross"), "models/ms-marco-minilm-l6");
    fs::create_dir_all(room.path(to)).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(from.join(file), room.path(to).join(file)).unwrap();
    }
    let options = "--approach macbeth --explain why.jsonl";
    let with = room.task("controversial", &format!("{options} --models models"));
    assert_ne!(with, without);
    let why = fs::read_to_string(room.path("why.jsonl")).unwrap();
    let first: Value = serde_json::from_str(why.lines().next().unwrap()).unwrap();
    assert_eq!(first["score"]["parts"][1]["name"], "cross", "{first}");

    let order = documents(&with, "1");
    let model = Cross::load(&from, "sha").unwrap();
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
    // two texts begin with the same 48 tokens
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(scores[0] > scores[2], "{scores:?}");

    assert_eq!(
        room.task("controversial", options),
        with,
        "without the model"
    );
}
