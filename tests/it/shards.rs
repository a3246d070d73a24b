//! A text collection in four shards. The shards rank like one index, whether they are opened together, or each is searched separately with the
//! counts of all.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use riposte::weights::Models;
use serde_json::{Value, json};

use crate::golden_texts::{TASKS, approach, command, differences, generate, golden, runs};
use crate::support::files::{json_lines, text};
use crate::support::need::{Model, need};
use crate::support::program::{code, riposte, stderr, stdout, succeed};

const SHARDS: usize = 4;

/// Maximum number of rounds; no approach needs so many.
const MAX_ROUNDS: usize = 8;

/// The texts that an index of the whole collection would have, divided into parts. Texts with the same id are in the same part.
fn divide(home: &Path, task: &str) -> Vec<PathBuf> {
    let read = riposte(home, &["shard", "read", "--task", task, "-i", task])
        .current_dir(home)
        .output()
        .unwrap();
    let mut first: HashMap<String, String> = HashMap::new();
    let mut parts = vec![format!("{}\n", json!({"format": 1, "task": task})); SHARDS];
    for mut line in json_lines(&stdout(&read)) {
        if line.get("fault").is_some() {
            let fault = json!({"fault": line["fault"]});
            parts[0].push_str(&format!("{fault}\n"));
            continue;
        }
        let id = line["text"]["id"].as_str().unwrap().to_owned();
        if let Some(words) = line["words"].as_str() {
            let first = first.entry(words.to_owned()).or_insert_with(|| id.clone());
            if *first != id {
                line["text"]["duplicate_of"] = first.as_str().into();
            }
        }
        let shard = id.bytes().map(usize::from).sum::<usize>() % SHARDS;
        parts[shard].push_str(&format!("{}\n", line["text"]));
    }
    let write = |(number, part): (usize, String)| {
        let dir = home.join(format!("{task}-part-{number}"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("riposte-texts.jsonl"), part).unwrap();
        dir
    };
    parts.into_iter().enumerate().map(write).collect()
}

/// The directory with the shards of a task.
fn shards(home: &Path, task: &str) -> PathBuf {
    home.join(format!("{task}-shards"))
}

fn shard(home: &Path, task: &str, number: usize) -> PathBuf {
    shards(home, task).join(format!("{number:05}"))
}

/// Indexes the parts for an approach.
fn index(home: &Path, task: &str, parts: &[PathBuf], name: &str, models: &Path) {
    for (number, part) in parts.iter().enumerate() {
        let shard = shard(home, task, number);
        let mut command = riposte(home, &["index", "-q", "-i", text(part)]);
        command.args(["--index", text(&shard), "--approach", name]);
        command.args(["--numeric", "float"]);
        command.env("RIPOSTE_MODELS", models);
        let output = command.current_dir(home).output().unwrap();
        // exit code 1 is allowed, because the collection has faults
        assert!(code(&output) < 2, "{name}: {}", stderr(&output));
    }
    let names: Vec<String> = (0..SHARDS).map(|number| format!("{number:05}")).collect();
    let list = json!({"format": 1, "task": task, "shards": names, "content": ""});
    let file = shards(home, task).join("riposte-shards.json");
    fs::write(file, list.to_string()).unwrap();
}

fn none_differs(wrong: &[String]) {
    let shown = wrong.get(..20).unwrap_or(wrong);
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        shown.join("\n")
    );
}

#[test]
fn shards_rank_as_the_golden_runs_opened_together_and_one_by_one() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (mut together, mut apart) = (Vec::new(), Vec::new());
    let (mut seen, mut rounds) = (0, 0);
    for (task, what) in TASKS {
        generate(what, &home.join(task));
        let parts = divide(home, task);
        for run in runs(task) {
            index(home, task, &parts, approach(&run), &none());
            let input = shards(home, task);
            succeed(&mut command(task, home, text(&input), &run));
            together.extend(differences(home, &run));

            let mut dialogue = Dialogue::new(home, task, approach(&run));
            while !dialogue.is_over(&mut command(task, home, text(&dialogue.dir), &run)) {
                dialogue.ask(home);
            }
            apart.extend(differences(home, &run));
            rounds = rounds.max(dialogue.rounds);
            seen += 1;
        }
    }
    assert!(seen >= 17, "only {seen} golden runs");
    none_differs(&together);
    none_differs(&apart);
    // a search with feedback needs a second round
    assert!(rounds > 1);
}

/// A directory without models, as for golden runs.
fn none() -> PathBuf {
    PathBuf::from("none")
}

/// Approaches that compare sentence vectors.
const DENSE: [(&str, &str); 5] = [
    ("controversial", "riposte-dense"),
    ("controversial", "robin-hood"),
    ("controversial", "skeletor-manifold"),
    ("comparative", "captain-levi-dense"),
    ("rank", "dense"),
];

#[test]
fn shards_with_sentence_vectors_rank_as_one_index() {
    if need(Model("all-minilm-l6-v2")).is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let models = Models::at(None).unwrap();
    let models = models.dir();
    for (task, what) in TASKS {
        generate(what, &home.join(task));
        let parts = divide(home, task);
        for (_, name) in DENSE.iter().filter(|(of, _)| *of == task) {
            let rank = |input: &Path, out: &str| {
                let topics = golden().join(task).join("topics.xml");
                let mut command = riposte(home, &[task, "-q", "-i", text(input), "-o", out]);
                command.args(["--topics", text(&topics), "--approach", name]);
                command.args(["--numeric", "float", "--index", out]);
                command.env("RIPOSTE_MODELS", models).current_dir(home);
                command
            };
            let run = |out: &str| fs::read_to_string(home.join(out).join("run.txt")).unwrap();
            succeed(&mut rank(&home.join(task), "whole"));
            index(home, task, &parts, name, models);
            succeed(&mut rank(&shards(home, task), "together"));
            assert!(run("together") == run("whole"), "{name}");

            let mut dialogue = Dialogue::new(home, task, name);
            while !dialogue.is_over(&mut rank(&dialogue.dir, "apart")) {
                dialogue.ask(home);
            }
            assert!(run("apart") == run("whole"), "{name}");
        }
    }
}

/// The driver of riposte-spark, without Spark.
struct Dialogue {
    task: String,
    /// What shards have found so far.
    dir: PathBuf,
    texts: BTreeMap<String, Value>,
    /// For each analyzer, the counts of the whole collection.
    counts: BTreeMap<String, Vec<Value>>,
    /// The counts of all terms, by analyzer, fields and term.
    terms: HashMap<[String; 3], (u64, u64)>,
    wanted: Vec<[String; 3]>,
    vectors: BTreeMap<String, Value>,
    answered: Vec<String>,
    rounds: usize,
}

impl Dialogue {
    fn new(home: &Path, task: &str, name: &str) -> Self {
        let dir = home.join(format!("{task}-{name}-found"));
        fs::create_dir_all(&dir).unwrap();
        let mut dialogue = Dialogue {
            task: task.to_owned(),
            dir,
            texts: BTreeMap::new(),
            counts: BTreeMap::new(),
            terms: HashMap::new(),
            wanted: Vec::new(),
            vectors: BTreeMap::new(),
            answered: Vec::new(),
            rounds: 0,
        };
        for number in 0..SHARDS {
            let shard = shard(home, task, number);
            let mut command = riposte(home, &["shard", "count", "--task", task]);
            command.args(["--approach", name, text(&shard)]);
            let output = succeed(command.current_dir(home));
            dialogue.add_counts(&stdout(&output));
        }
        dialogue.write();
        dialogue
    }

    fn add_counts(&mut self, lines: &str) {
        for line in json_lines(lines) {
            let word = |key: &str| line[key].as_str().unwrap().to_owned();
            let Some(counts) = line["counts"].as_array() else {
                let key = [word("analyzer"), word("fields"), word("term")];
                let (df, cf) = self.terms.entry(key).or_default();
                *df += line["df"].as_u64().unwrap();
                *cf += line["cf"].as_u64().unwrap();
                continue;
            };
            let of_all = self.counts.entry(word("analyzer")).or_default();
            of_all.resize(counts.len(), json!({"documents": 0, "tokens": 0}));
            for (sum, own) in of_all.iter_mut().zip(counts) {
                for key in ["documents", "tokens"] {
                    sum[key] = (sum[key].as_u64().unwrap() + own[key].as_u64().unwrap()).into();
                }
            }
        }
    }

    /// The counts of the whole collection, with the requested terms.
    fn overall(&self) -> Vec<Value> {
        let of_analyzer = |(analyzer, fields): (&String, &Vec<Value>)| {
            let wanted = self.wanted.iter().filter(|key| key[0] == *analyzer);
            let terms: Vec<Value> = wanted
                .map(|key| {
                    let (df, cf) = self.terms.get(key).copied().unwrap_or_default();
                    json!({"fields": key[1], "term": key[2], "df": df, "cf": cf})
                })
                .collect();
            json!({"analyzer": analyzer, "fields": fields, "terms": terms})
        };
        self.counts.iter().map(of_analyzer).collect()
    }

    fn write(&self) {
        let mut lines = format!("{}\n", json!({"format": 1, "task": self.task}));
        for found in self.texts.values() {
            lines.push_str(&format!("{found}\n"));
        }
        fs::write(self.dir.join("riposte-texts.jsonl"), lines).unwrap();
        let vectors: Vec<&Value> = self.vectors.values().collect();
        let answers =
            json!({"counts": self.overall(), "vectors": vectors, "answered": self.answered});
        fs::write(self.dir.join("riposte-answers.json"), answers.to_string()).unwrap();
    }

    /// Ranks. Returns true if the ranking needed no further answers.
    fn is_over(&mut self, ranking: &mut std::process::Command) -> bool {
        let output = ranking.output().unwrap();
        if !self.dir.join("riposte-needs.json").is_file() {
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            return true;
        }
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert!(self.rounds < MAX_ROUNDS);
        self.rounds += 1;
        false
    }

    /// Has all shards answer the requests.
    fn ask(&mut self, home: &Path) {
        let needs = fs::read_to_string(self.dir.join("riposte-needs.json")).unwrap();
        let needs: Value = serde_json::from_str(&needs).unwrap();
        for term in needs["terms"].as_array().unwrap() {
            let key =
                ["analyzer", "fields", "term"].map(|key| term[key].as_str().unwrap().to_owned());
            self.wanted.push(key);
        }
        for (name, vectors) in needs["vectors"].as_object().unwrap() {
            self.vectors.insert(name.clone(), vectors.clone());
        }
        let vectors: Vec<&Value> = self.vectors.values().collect();
        let asked = json!({
            "task": self.task, "counts": self.overall(), "vectors": vectors, "requests": needs["requests"],
        });
        let file = home.join("asked.json");
        fs::write(&file, asked.to_string()).unwrap();
        let mut hits: HashMap<String, Vec<(f64, String, u64, usize)>> = HashMap::new();
        let mut texts: HashMap<String, Value> = HashMap::new();
        for number in 0..SHARDS {
            let shard = shard(home, &self.task, number);
            let args = ["shard", "answer", "--asked", text(&file), text(&shard)];
            let output = succeed(riposte(home, &args).current_dir(home));
            for line in json_lines(&stdout(&output)) {
                if line.get("text").is_some() {
                    let id = line["text"]["id"].as_str().unwrap().to_owned();
                    texts.insert(id, line["text"].clone());
                    continue;
                }
                let of_request = hits.entry(line["request"].as_str().unwrap().to_owned());
                of_request.or_default().push((
                    line["score"].as_f64().unwrap(),
                    line["id"].as_str().unwrap().to_owned(),
                    line["passage"].as_u64().unwrap(),
                    line["k"].as_u64().unwrap() as usize,
                ));
            }
        }
        for (_, mut found) in hits {
            found.sort_by(|a, b| {
                b.0.total_cmp(&a.0)
                    .then_with(|| (&a.1, a.2).cmp(&(&b.1, b.2)))
            });
            found.truncate(found[0].3);
            for (_, id, ..) in found {
                self.texts.insert(id.clone(), texts[&id].clone());
            }
        }
        let requests = needs["requests"].as_object().unwrap();
        self.answered.extend(requests.keys().cloned());
        self.write();
    }
}
