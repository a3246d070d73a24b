//! The program `riposte-eval`, run as a user runs it. What it has to print is known from elsewhere: counted by hand or by a few lines here, or what the
//! organisers' scripts made of the same files. `tests/it/small_program.rs` of riposte compares it with `riposte` and with trec_eval.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;

use assert_cmd::Command;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A directory of its own for each test, in which the program runs.
struct WorkDir(PathBuf);

impl WorkDir {
    fn with(name: &str, files: &[(&str, &[u8])]) -> WorkDir {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir).unwrap();
        }
        fs::create_dir_all(&dir).unwrap();
        for (file, bytes) in files {
            fs::write(dir.join(file), bytes).unwrap();
        }
        WorkDir(dir)
    }

    /// Runs the program with the words of a line as arguments. Returns the exit code, standard output and standard error.
    fn run(&self, line: &str) -> (i32, String, String) {
        self.run_with(line, b"")
    }

    fn run_with(&self, line: &str, input: &[u8]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_riposte-eval"));
        command.args(line.split(' ')).current_dir(&self.0);
        let output = command.write_stdin(input).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    /// Runs a command that must exit with this code, and say these words.
    #[track_caller]
    fn says(&self, line: &str, code: i32, words: &str) -> String {
        let (found, printed, said) = self.run(line);
        assert_eq!(found, code, "{line}: {printed}{said}");
        assert!(said.contains(words), "{line}: {said}");
        printed
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// The number in the column of a table with this title, on the line that begins with a word.
fn cell(table: &str, title: &str, word: &str) -> f64 {
    let titles: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    let at = titles.iter().position(|found| *found == title).unwrap();
    let mut lines = table.lines().skip(1).map(str::split_whitespace);
    let mut line = lines
        .find(|line| line.clone().next() == Some(word))
        .unwrap();
    let cell = line.nth(at).unwrap().trim_end_matches('*');
    cell.parse().unwrap()
}

const QRELS: &[u8] = b"1 0 d1 2\n1 0 d2 0\n1 0 d3 1\n2 0 d4 1\n2 0 d5 -2\n";
const ONE: &[u8] =
    b"1 Q0 d1 1 0.9 t\n1 Q0 d2 2 0.8 t\n1 Q0 d3 3 0.7 t\n2 Q0 d5 1 0.6 t\n2 Q0 d4 2 0.5 t\n";

/// The commands of the README, and what it shows of their output.
#[test]
fn the_readme_shows_what_the_program_prints() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, commands) = readme.split_once("```sh\nfor ").unwrap();
    let commands = format!("for {}", commands.split("```").next().unwrap());
    let (_, shown) = readme.split_once("```text\n").unwrap();
    let shown = shown.split("```").next().unwrap();
    let dir = WorkDir::with("readme", &[]);
    let programs = Path::new(env!("CARGO_BIN_EXE_riposte-eval"))
        .parent()
        .unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = process::Command::new("sh");
    shell.args(["-e", "-c", &commands]).current_dir(&dir.0);
    shell.env("PATH", format!("{}:{path}", programs.display()));
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), shown);
}

/// P@10 of the golden runs of the sample, counted here: of the 20 places of a topic, how many have an image with grade 1?
#[test]
fn image_runs_have_the_precision_that_counting_gives() {
    let qrels = read("sample/qrels.txt");
    let judged: Vec<Vec<&str>> = qrels
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    let dir = WorkDir::with("images", &[("qrels.txt", qrels.as_bytes())]);
    for name in ["minsc", "riposte", "aramis"] {
        let run = read(&format!("tests/golden/{name}.txt"));
        fs::write(dir.0.join(name), &run).unwrap();
        let lines: Vec<Vec<&str>> = run.lines().map(|line| line.split(' ').collect()).collect();
        let is_relevant = |topic: &str, image: &str, of: &str| {
            let grade = judged.iter().find(|at| at[..3] == [topic, of, image]);
            grade.is_some_and(|at| at[3] == "1")
        };
        let (mut counts, mut topics) = ([0; 3], BTreeMap::new());
        for line in &lines {
            let (topic, side, image) = (line[0], line[1], line[2]);
            topics.insert(topic, ());
            let is_on_topic = is_relevant(topic, image, "ONTOPIC");
            let is_pro_or_con =
                is_relevant(topic, image, "PRO") || is_relevant(topic, image, "CON");
            let is_on_side = is_relevant(topic, image, side);
            counts[0] += usize::from(is_on_topic);
            counts[1] += usize::from(is_on_topic && is_pro_or_con);
            counts[2] += usize::from(is_on_topic && is_on_side);
        }
        let expected = counts.map(|count| count as f64 / (20 * topics.len()) as f64);
        let (code, table, said) = dir.run(&format!("evaluate {name} --qrels qrels.txt"));
        assert_eq!((code, said.as_str()), (0, ""));
        let official = table
            .lines()
            .find(|line| line.starts_with("official"))
            .unwrap();
        let words = official.split_whitespace().skip(5).step_by(3);
        let expected = expected.map(|value| format!("{value:.3}"));
        assert_eq!(words.collect::<Vec<_>>(), expected, "{table}");
    }
    let printed = dir.says(
        "evaluate minsc riposte --qrels qrels.txt --measure P@10",
        0,
        "",
    );
    for title in [
        "topicRelevanceP@10",
        "argumentativenessP@10",
        "stanceRelevanceP@10",
    ] {
        assert!(printed.contains(title), "{printed}");
    }
}

/// The lines that the organisers' evaluator refuses of sixty image runs, and what their script for nDCG makes of forty text runs.
#[test]
fn the_scripts_of_the_organisers_refuse_the_same_lines_and_have_the_same_ndcg() {
    let reference: Value = serde_json::from_str(&read("tests/reference/organisers.json")).unwrap();
    let dir = WorkDir::with("organisers", &[]);
    let write = |case: &Value, key: &str| {
        let name = format!("{key}.txt");
        fs::write(dir.0.join(name), case[key].as_str().unwrap()).unwrap();
    };
    let mut checked = 0;
    for case in reference["images"].as_array().unwrap() {
        // in 2023, the evaluator knows fewer ids than the verifier
        if case["year"] != 2022 {
            continue;
        }
        write(case, "run");
        let (code, printed, _) = dir.run("verify run.txt --task images --edition 2022 -v");
        let errors = printed.lines().filter_map(|line| {
            let (number, what) = line
                .strip_prefix("run.txt: line ")?
                .split_once(": error: ")?;
            // lines with another tag are named apart
            (!what.contains("a run has one tag")).then(|| number.parse().unwrap())
        });
        let errors: Vec<u64> = errors.collect();
        assert_eq!(
            Value::from(errors.clone()),
            case["not_evaluated"],
            "{printed}"
        );
        assert!(code == 1 || errors.is_empty(), "{printed}");
        checked += 1;
    }
    for case in reference["texts"].as_array().unwrap() {
        write(case, "run");
        write(case, "qrels");
        let measure = format!("nDCG(touche=2021)@{}", case["depth"]);
        let line = format!("evaluate run.txt --qrels qrels.txt --by-topic --measure {measure}");
        let (_, printed, _) = dir.run(&line);
        assert!(
            (cell(&printed, &measure, "run.txt") - case["mean"].as_f64().unwrap()).abs() < 6e-5
        );
        let (_, by_topic) = printed.rsplit_once("\n\n").unwrap();
        // the first lines name the run and the columns
        let by_topic: BTreeMap<&str, f64> = by_topic
            .lines()
            .skip(2)
            .map(|line| {
                let (topic, value) = line.split_once(' ').unwrap();
                (topic, value.trim().parse().unwrap())
            })
            .collect();
        let expected = case["topics"].as_object().unwrap();
        assert_eq!(by_topic.len(), expected.len(), "{printed}");
        for (topic, value) in expected {
            assert!((by_topic[topic.as_str()] - value.as_f64().unwrap()).abs() < 6e-5);
        }
        checked += 1;
    }
    assert!(checked > 60, "{checked}");
}

#[test]
fn a_measure_is_the_one_that_is_computed_by_hand() {
    let dir = WorkDir::with("by-hand", &[("qrels", QRELS), ("run", ONE)]);
    let table = dir.says(
        "evaluate run --qrels qrels --measure nDCG@5 --measure map --measure P_1",
        0,
        "",
    );
    // topic 1: grades 2, 0, 1; topic 2: a negative grade, then 1
    let ideal = 2.0 + 1.0 / 3f64.log2();
    let ndcg = (2.5 / ideal + 1.0 / 3f64.log2()) / 2.0;
    assert!(
        (cell(&table, "nDCG@5", "run") - ndcg).abs() < 6e-5,
        "{table}"
    );
    let precision = (1.0 + 2.0 / 3.0) / 2.0;
    assert!(
        (cell(&table, "AP", "run") - (precision + 0.5) / 2.0).abs() < 6e-5,
        "{table}"
    );
    assert_eq!(cell(&table, "P@1", "run"), 0.5);
}

/// Five topics, in all of which the second run is better: of the 32 ways to swap the results, two are as extreme.
#[test]
fn a_comparison_has_the_p_that_is_counted_by_hand() {
    let lines = |of: &dyn Fn(u32) -> String| (1..6).map(of).collect::<String>();
    let qrels = lines(&|topic| format!("{topic} 0 a 1\n{topic} 0 b 0\n"));
    let run =
        |first: &str| lines(&|topic| format!("{topic} Q0 {first} 1 2 t\n{topic} Q0 c 2 1 t\n"));
    let files = [
        ("qrels", qrels),
        ("bad", run("b")),
        ("good", run("a")),
        ("poor", run("b")),
    ];
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let dir = WorkDir::with("compare", &files);
    let line = "compare bad good --qrels qrels --measure P@1 --alpha";
    let printed = dir.says(&format!("{line} 0.1"), 0, "");
    assert!(printed.contains("+1.0000 (p 0.0625)"), "{printed}");
    assert!(printed.contains("1.0000*ᵃ"), "{printed}");
    let printed = dir.says(&format!("{line} 0.05"), 0, "");
    assert!(!printed.contains('ᵃ'), "{printed}");
    // Holm: of three comparisons, two have the smallest p
    let printed = dir.says("compare bad good poor --qrels qrels --measure P@1", 0, "");
    assert!(printed.contains("+1.0000 (p 0.1875)"), "{printed}");
    dir.says("compare bad --qrels qrels", 2, "from 2 to 26 runs");
    dir.says("compare bad good --qrels qrels --alpha 1", 2, "--alpha");
    let tukey = "compare bad good --qrels qrels --correction tukey";
    dir.says(tukey, 0, "");
    dir.says(&format!("{tukey} --test t-test"), 2, "leave out --test");
}

#[test]
fn packed_files_and_standard_input_are_the_same_files() {
    let (run, qrels) = (gzip(ONE), gzip(QRELS));
    let files = [
        ("run", ONE),
        ("qrels", QRELS),
        ("run.gz", &*run),
        ("q.gz", &*qrels),
    ];
    let dir = WorkDir::with("packed", &files);
    let values = |line: &str, input: &[u8]| {
        let (code, printed, said) = dir.run_with(line, input);
        assert_eq!((code, said.as_str()), (0, ""), "{line}");
        let (_, values) = printed.split_once('\n').unwrap();
        values.split_once(' ').unwrap().1.trim().to_owned()
    };
    let plain = values("evaluate run --qrels qrels --measure AP", b"");
    assert_eq!(
        values("evaluate run.gz --qrels q.gz --measure AP", b""),
        plain
    );
    assert_eq!(values("evaluate - --qrels q.gz --measure AP", ONE), plain);
    assert_eq!(values("evaluate run --qrels - --measure AP", &qrels), plain);
    let (code, printed, _) = dir.run_with("verify - --task rank", &run);
    assert!(printed.ends_with("-: valid by the rules of the task, but TIRA refuses it\n"));
    assert_eq!(code, 0);
    dir.says("evaluate - --qrels -", 2, "standard input (-), not 2");
    fs::write(dir.0.join("zst"), b"\x28\xb5\x2f\xfd0000").unwrap();
    dir.says(
        "evaluate zst --qrels qrels",
        2,
        "cannot read zst: it is packed with zstd",
    );
    fs::write(dir.0.join("cut"), &run[..20]).unwrap();
    dir.says("evaluate cut --qrels qrels", 2, "cannot read cut: ");
}

#[test]
fn the_exit_code_says_whether_runs_are_valid_and_lines_can_be_read() {
    let valid = "51 Q0 S1-A1 1 3 t\n52 Q0 S1-A2 1 2 t\n53 Q0 S1-A3 1 1 t\n53 Q0 S1-A4 2 0.5 t\n53 Q0 S1-A5 3 0.4 t\n";
    let rank = valid.replacen(" 1 3 t", " first 3 t", 1);
    let topics = "<topics><topic><number>51</number><title>A?</title></topic><topic><number>52</number><title>B?</title></topic></topics>";
    let files = [
        ("valid", valid),
        ("rank", &rank),
        ("topics.xml", topics),
        ("cut.xml", topics.split_once("<topic><number>52").unwrap().0),
        ("qrels", "51 0 S1-A1 1\n"),
        ("broken", "51 0 S1-A1 1\n51 0\n"),
        ("others", "9 0 x 1\n"),
        ("grade", "51 0 S1-A1 2000\n"),
        ("empty", ""),
        ("images", "1 PRO Ia 1\n"),
    ];
    let files = files.map(|(name, text)| (name, text.as_bytes()));
    let dir = WorkDir::with("codes", &files);
    let printed = dir.says(
        "verify valid",
        0,
        "as a run for `controversial` of 2022, by the form",
    );
    assert!(printed.ends_with("valid: valid\n"), "{printed}");
    let printed = dir.says("verify valid rank", 1, "");
    assert!(printed.contains("rank: line 1: error: "), "{printed}");
    assert!(printed.ends_with("rank: NOT valid\n"), "{printed}");
    let printed = dir.says("verify valid --topics topics.xml", 1, "");
    assert!(printed.contains("line 3: error: "), "{printed}");
    dir.says(
        "verify valid --topics cut.xml --task rank",
        1,
        "cut.xml:1: ",
    );
    dir.says(
        "verify valid --task images --edition 2020",
        2,
        "no image task in 2020",
    );
    dir.says(
        "verify valid --task comparative --edition 2023",
        2,
        "not in 2023",
    );
    dir.says("verify none", 2, "riposte-eval: cannot read none: ");
    dir.says("verify", 2, "<RUN>");
    for (line, code, words) in [
        (
            "valid --qrels qrels",
            0,
            "2 topics without judgements in qrels",
        ),
        ("valid --qrels broken", 1, "broken:2: "),
        (
            "rank --qrels qrels",
            0,
            "rank: 1 odd line, read as trec_eval reads them",
        ),
        ("broken --qrels qrels", 1, "broken:1: "),
        (
            "valid --qrels others",
            1,
            "no document of the run is judged",
        ),
        ("valid --qrels empty", 2, "there is no judgement in empty"),
        ("valid --qrels none", 2, "cannot read none: "),
        ("valid --qrels images", 2, "valid is a run of texts"),
        (
            "valid --qrels qrels --measure nDGC@5",
            2,
            "no measure \"nDGC@5\"",
        ),
        (
            "valid --qrels qrels --measure StanceF1",
            2,
            "cannot be computed",
        ),
        (
            "valid --qrels grade --measure nDCG(dcg='exp-log2')@5",
            2,
            "the grade 2000 of S1-A1",
        ),
        ("valid --qrels qrels --edition 2024", 2, "2022 or 2023"),
    ] {
        dir.says(&format!("evaluate {line}"), code, words);
    }
}

#[test]
fn a_file_has_bounds() {
    let block = vec![b'1'; 1 << 20];
    let mut bytes = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..257 {
        bytes.write_all(&block).unwrap();
    }
    let bytes = bytes.finish().unwrap();
    let (lines, line) = (gzip(&b"\n".repeat(2_000_001)), gzip(&block.repeat(17)));
    let files = [
        ("bytes", &*bytes),
        ("lines", &lines),
        ("line", &line),
        ("qrels", QRELS),
        ("run", ONE),
    ];
    let dir = WorkDir::with("bounds", &files);
    for (file, words) in [
        ("bytes", "more than 256 MiB after decompression"),
        ("lines", "more than 2000000 lines"),
        ("line", "a line of more than 16 MiB"),
    ] {
        let words = format!("cannot read {file}: {words}");
        dir.says(&format!("verify {file}"), 2, &words);
        dir.says(&format!("evaluate {file} --qrels qrels"), 2, &words);
        dir.says(&format!("evaluate run --qrels {file}"), 2, &words);
    }
    dir.says("verify run --topics bytes", 2, "more than 64 MiB");
}

/// Nothing in a file, or in its name, can move the cursor, begin a line or turn the words around it.
#[test]
fn hostile_text_is_escaped() {
    let topic = "1\u{1b}[2J\u{202e}";
    let run = format!(
        "{topic} Q0 d\u{1b}]0;x\u{7} \u{1b}[1m 2 t\u{9b}\n2 Q0 d4\n3 PRO d4 1 nan \u{1b}c\n"
    );
    let qrels = format!("{topic} 0 d\u{1b}]0;x\u{7} 1\n\u{1b}[A 0\n");
    let files = [
        ("run\u{1b}[2J\u{202e}", run.as_bytes()),
        ("q\u{1b}[1m", qrels.as_bytes()),
    ];
    let dir = WorkDir::with("hostile", &files);
    let (run, qrels) = (files[0].0, files[1].0);
    for line in [
        format!("verify {run} -v"),
        format!("verify {run} --topics {qrels}"),
        format!("evaluate {run} --qrels {qrels} --by-topic --measure P@1"),
        format!("compare {run} {run} --qrels {qrels} --qrels {qrels} --measure P@1"),
        format!("evaluate {run} --qrels none{qrels}"),
    ] {
        let (code, printed, said) = dir.run(&line);
        let all = printed + &said;
        let is_safe = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
        assert!(
            code > 0 && all.contains("\\u{1b}") && all.chars().all(is_safe),
            "{all}"
        );
    }
}
