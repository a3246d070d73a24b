//! `riposte images`, run as a user runs it, on the committed sample and on broken input.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::development::data;

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn sample() -> PathBuf {
    root().join("sample")
}

/// riposte without any model, and with a cache and models directory of the test's own.
pub fn riposte(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riposte"));
    command
        .args(args)
        .env("RIPOSTE_MODELS", home.join("no-models"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .stdin(Stdio::null());
    command
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `riposte images` on `input`; the run, if there is one.
fn images(home: &Path, input: &Path, more: &[&str]) -> (Output, Option<String>) {
    let out = home.join("out");
    let _ = fs::remove_dir_all(&out);
    let mut args = vec!["images", "-i", text(input), "-o", text(&out)];
    args.extend(more);
    let output = riposte(home, &args).output().unwrap();
    (output, fs::read_to_string(out.join("run.txt")).ok())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The directories of the documents of a collection, by id.
fn documents(collection: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for prefix in fs::read_dir(collection.join("images")).unwrap() {
        for document in fs::read_dir(prefix.unwrap().path()).unwrap() {
            found.push(document.unwrap().path());
        }
    }
    found.sort_by_key(|p| p.file_name().unwrap().to_owned());
    found
}

/// topic and stance -> image ids in rank order
fn lists(run: &str) -> BTreeMap<(String, String), Vec<String>> {
    let mut lists: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for line in run.lines() {
        let f: Vec<&str> = line.split(' ').collect();
        lists
            .entry((f[0].to_owned(), f[1].to_owned()))
            .or_default()
            .push(f[2].to_owned());
    }
    lists
}

#[test]
fn the_sample_makes_a_valid_run_without_any_model() {
    let home = TempDir::new().unwrap();
    let (output, run) = images(home.path(), &sample(), &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("note: ocr is off"),
        "{}",
        stderr(&output)
    );
    let lists = lists(&run.unwrap());
    let topics = fs::read_to_string(sample().join("topics.xml"))
        .unwrap()
        .matches("<topic>")
        .count();
    assert_eq!(lists.len(), 2 * topics);
    for ((topic, _), images) in &lists {
        assert_eq!(images.len(), 10);
        let (pro, con) = (
            &lists[&(topic.clone(), "PRO".into())],
            &lists[&(topic.clone(), "CON".into())],
        );
        assert!(
            pro.iter().all(|image| !con.contains(image)),
            "topic {topic}: an image in both lists"
        );
    }
    let verified = riposte(
        home.path(),
        &[
            "verify",
            text(&home.path().join("out")),
            "-i",
            text(&sample()),
        ],
    )
    .output()
    .unwrap();
    assert_eq!(
        code(&verified),
        0,
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );

    // the second run computes nothing and gives the same bytes, whatever the threads
    let before = fs::read(home.path().join("out/run.txt")).unwrap();
    for threads in ["1", "2"] {
        let (output, run) = images(home.path(), &sample(), &["--threads", threads]);
        assert!(
            stderr(&output).contains(" 0 of them new or changed"),
            "{}",
            stderr(&output)
        );
        assert_eq!(run.unwrap().as_bytes(), before);
    }
}

#[test]
fn the_real_sample_makes_a_valid_run() {
    let Some(real) = data("images/sample") else {
        return;
    };
    let home = TempDir::new().unwrap();
    let (output, run) = images(home.path(), &real, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let elements = "images' elements in pages: by XPath 25 (25 name the image)";
    assert!(stderr(&output).contains(elements), "{}", stderr(&output));
    // 25 images and two topics: both lists are full but where nothing at all speaks for an image
    let lists = lists(&run.unwrap());
    assert_eq!(lists.len(), 4);
    let out = home.path().join("out");
    let verified = riposte(home.path(), &["verify", text(&out), "-i", text(&real)])
        .output()
        .unwrap();
    assert_eq!(
        code(&verified),
        0,
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
    // BM25 alone finds the images on topic: 14 of them are judged so
    let qrels = fs::read_to_string(real.join("qrels.txt")).unwrap();
    let found = lists
        .iter()
        .flat_map(|((topic, _), images)| {
            images
                .iter()
                .map(move |image| format!("{topic} ONTOPIC {image} 1"))
        })
        .filter(|line| qrels.lines().any(|judged| judged == line))
        .count();
    assert!(found >= 12, "{found} of 14 images on topic were listed");
}

/// The stored evidence of the sample was made with all models that can be had from a package index;
/// `make golden` makes it and the runs anew.
#[test]
fn golden_runs_from_stored_evidence() {
    for (name, more) in [
        ("riposte", &[][..]),
        ("overlap", &["--overlap"][..]),
        ("manual", &["--use", "description,narrative"][..]),
        ("minsc", &["--approach", "minsc"][..]),
        ("boromir-afinn", &["--approach", "boromir-afinn"][..]),
        ("boromir-bert", &["--approach", "boromir-bert"][..]),
        ("aramis", &["--approach", "aramis"][..]),
    ] {
        let expected = fs::read_to_string(root().join(format!("tests/golden/{name}.txt"))).unwrap();
        for threads in ["1", "2"] {
            let home = TempDir::new().unwrap();
            let evidence = home.path().join("evidence.sqlite");
            fs::copy(root().join("tests/golden/evidence.sqlite"), &evidence).unwrap();
            let mut args = vec!["--evidence", text(&evidence), "--threads", threads];
            args.extend(more);
            let (output, run) = images(home.path(), &sample(), &args);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            assert!(
                stderr(&output).contains(" 0 of them new"),
                "{}",
                stderr(&output)
            );
            assert!(
                run.unwrap() == expected,
                "{name} with {threads} threads is another run"
            );
        }
    }
}

#[test]
fn tirex_hands_topics_as_queries() {
    let home = TempDir::new().unwrap();
    let (_, xml) = images(home.path(), &sample(), &[]);
    let topics = fs::read_to_string(sample().join("topics.xml")).unwrap();
    let field = |topic: &str, name: &str| {
        let start = topic.find(&format!("<{name}>")).unwrap() + name.len() + 2;
        topic[start..].split("</").next().unwrap().trim().to_owned()
    };
    let queries: Vec<String> = topics
        .split("<topic>")
        .skip(1)
        .map(|t| {
            serde_json::json!({"qid": field(t, "number"), "query": field(t, "title")}).to_string()
        })
        .collect();
    let copied = home.path().join("copied");
    copy(&sample(), &copied);
    fs::remove_file(copied.join("topics.xml")).unwrap();
    fs::write(copied.join("queries.jsonl"), queries.join("\n")).unwrap();
    let (output, run) = images(home.path(), &copied, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(run, xml);
}

#[test]
fn without_a_home_the_evidence_goes_to_a_temporary_place() {
    let home = TempDir::new().unwrap();
    let (nowhere, temporary) = (home.path().join("nowhere"), home.path().join("temporary"));
    fs::write(&nowhere, "a file, so no directory can be made in it").unwrap();
    fs::create_dir_all(&temporary).unwrap();
    let out = home.path().join("out");
    let output = riposte(
        home.path(),
        &[
            "images",
            "-i",
            text(&sample()),
            "-o",
            text(&out),
            "--limit",
            "3",
        ],
    )
    .env("XDG_CACHE_HOME", nowhere.join("cache"))
    .env("TMPDIR", &temporary)
    .output()
    .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("note: the cache directory cannot be written"),
        "{}",
        stderr(&output)
    );
    assert!(out.join("run.txt").exists() && temporary.join("riposte").exists());
}

/// Every row of every table but the query vectors, as text.
fn contents(evidence: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(evidence).unwrap();
    let mut rows = Vec::new();
    for table in [
        "document",
        "work",
        "fault",
        "page",
        "crawl_rank",
        "ocr_line",
        "picture",
        "clip",
        "sentence",
        "vader",
        "afinn",
    ] {
        let mut statement = connection
            .prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2, 3"))
            .or_else(|_| connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")))
            .unwrap();
        let columns = statement.column_count();
        let mut cursor = statement.query([]).unwrap();
        while let Some(row) = cursor.next().unwrap() {
            let values: Vec<String> = (0..columns)
                .map(|c| format!("{:?}", row.get_ref(c).unwrap()))
                .collect();
            rows.push(format!("{table} {}", values.join(" ")));
        }
    }
    rows
}

fn wait_for_documents(child: &mut Child, evidence: &Path) -> i64 {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let count = rusqlite::Connection::open_with_flags(
            evidence,
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
        )
        .and_then(|c| {
            c.query_row("SELECT count(*) FROM document", [], |row| {
                row.get::<_, i64>(0)
            })
        })
        .unwrap_or(0);
        if count > 0 || child.try_wait().unwrap().is_some() || Instant::now() > deadline {
            return count;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn killed_and_resumed_is_as_uninterrupted() {
    let home = TempDir::new().unwrap();
    let whole = home.path().join("whole.sqlite");
    let (_, run) = images(home.path(), &sample(), &["--evidence", text(&whole)]);
    let run = run.unwrap();

    let total = documents(&sample()).len() as i64;
    let cut = home.path().join("cut.sqlite");
    let mut interrupted = false;
    for _ in 0..20 {
        let _ = fs::remove_file(&cut);
        let mut child = riposte(
            home.path(),
            &[
                "extract",
                "-i",
                text(&sample()),
                "--evidence",
                text(&cut),
                "--threads",
                "1",
            ],
        )
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
        let count = wait_for_documents(&mut child, &cut);
        child.kill().unwrap();
        child.wait().unwrap();
        if count > 0 && count < total {
            interrupted = true;
            break;
        }
    }
    assert!(
        interrupted,
        "the extraction was over before it could be killed"
    );
    let (output, resumed) = images(home.path(), &sample(), &["--evidence", text(&cut)]);
    let error = stderr(&output);
    let new: i64 = error
        .lines()
        .find_map(|l| {
            l.split(" images, ")
                .nth(1)?
                .split(" of them new")
                .next()?
                .parse()
                .ok()
        })
        .unwrap();
    assert!(new < total, "{error}");
    assert_eq!(resumed.unwrap(), run);
    assert_eq!(contents(&cut), contents(&whole));
}

#[cfg(unix)]
#[test]
fn control_c_stops_cleanly_and_says_how_to_go_on() {
    let home = TempDir::new().unwrap();
    let (evidence, out) = (home.path().join("e.sqlite"), home.path().join("out"));
    for _ in 0..20 {
        let _ = fs::remove_file(&evidence);
        let mut child = riposte(
            home.path(),
            &[
                "images",
                "-i",
                text(&sample()),
                "-o",
                text(&out),
                "--evidence",
                text(&evidence),
                "--threads",
                "1",
            ],
        )
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        wait_for_documents(&mut child, &evidence);
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        if code(&output) == 0 {
            // it was over before the signal came
            let _ = fs::remove_dir_all(&out);
            continue;
        }
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert!(
            stderr(&output).contains("the same command goes on where it was"),
            "{}",
            stderr(&output)
        );
        assert!(!out.join("run.txt").exists());
        return;
    }
    panic!("the extraction was always over before it could be stopped");
}

#[test]
fn shards_join_to_the_whole() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    for (shard, file) in [("1/3", "a"), ("2/3", "b"), ("3/3", "c")] {
        let output = riposte(
            home.path(),
            &[
                "extract",
                "-i",
                text(&sample()),
                "--shard",
                shard,
                "--evidence",
                text(&path(file)),
            ],
        )
        .output()
        .unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let merged = riposte(
        home.path(),
        &[
            "merge",
            text(&path("all")),
            text(&path("a")),
            text(&path("b")),
            text(&path("c")),
        ],
    )
    .output()
    .unwrap();
    assert_eq!(code(&merged), 0, "{}", stderr(&merged));
    let (_, run) = images(
        home.path(),
        &sample(),
        &["--evidence", text(&path("whole"))],
    );
    let (output, joined) = images(home.path(), &sample(), &["--evidence", text(&path("all"))]);
    assert!(
        stderr(&output).contains(" 0 of them new"),
        "{}",
        stderr(&output)
    );
    assert_eq!(joined, run);
    assert_eq!(contents(&path("all")), contents(&path("whole")));
}

/// Two documents with one image, extracted one after the other and each by itself: the same evidence.
#[test]
fn an_image_seen_before_says_the_same() {
    let Some(detector) = crate::ocr::weights("det.onnx") else {
        return;
    };
    let models = detector.parent().and_then(Path::parent).unwrap();
    let home = TempDir::new().unwrap();
    let input = home.path().join("collection");
    copy(&sample(), &input);
    let all = documents(&input);
    let image = |document: &Path| {
        let mut files: Vec<PathBuf> = fs::read_dir(document)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_stem().is_some_and(|stem| stem == "image"))
            .collect();
        files.sort();
        files
    };
    // documents of two groups: the first is stored before the second is begun
    let (first, second) = (&all[1], &all[12]);
    image(second)
        .iter()
        .for_each(|file| fs::remove_file(file).unwrap());
    for file in image(first) {
        fs::copy(&file, second.join(file.file_name().unwrap())).unwrap();
    }
    let path = |name: &str| home.path().join(name);
    let extract = |file: &str, more: &[&str]| {
        let evidence = path(file);
        let mut args = vec![
            "extract",
            "-i",
            text(&input),
            "--limit",
            "16",
            "--threads",
            "1",
        ];
        args.extend(["--evidence", text(&evidence)]);
        args.extend(more);
        let mut command = riposte(home.path(), &args);
        let output = command.env("RIPOSTE_MODELS", models).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    };
    extract("together", &[]);
    extract("apart", &["--shard", "1/2"]);
    extract("apart", &["--shard", "2/2"]);
    let together = contents(&path("together"));
    assert!(together.iter().any(|row| row.starts_with("ocr_line ")));
    assert_eq!(together, contents(&path("apart")));
}

#[test]
fn what_cannot_be_done_is_one_clear_error_and_nothing_is_written() {
    let home = TempDir::new().unwrap();
    let broken = home.path().join("broken");
    let topics = broken.join("topics.xml");
    let good = fs::read_to_string(sample().join("topics.xml")).unwrap();
    let first = good
        .find("<number>")
        .map(|at| &good[at..at + good[at..].find('\n').unwrap_or(30)])
        .unwrap();
    let number = first
        .trim_start_matches("<number>")
        .split('<')
        .next()
        .unwrap();
    let twice = good.replacen(
        "</topics>",
        &format!("<topic><number>{number}</number><title>x</title></topic></topics>"),
        1,
    );
    for (topics_text, with_images, message) in [
        (Some(twice.as_str()), true, "occurs twice"),
        (None, true, "topics.xml"),
        (Some("<topics><topic>"), true, "topics.xml"),
        (Some(good.as_str()), false, "there is no directory"),
    ] {
        let _ = fs::remove_dir_all(&broken);
        fs::create_dir_all(&broken).unwrap();
        if with_images {
            copy(&sample().join("images"), &broken.join("images"));
        }
        if let Some(text) = topics_text {
            fs::write(&topics, text).unwrap();
        }
        let (output, run) = images(home.path(), &broken, &[]);
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        let error = stderr(&output);
        assert!(error.contains(message), "{error}");
        assert_eq!(
            error.lines().filter(|l| l.starts_with("riposte:")).count(),
            1,
            "{error}"
        );
        assert!(run.is_none() && !home.path().join("out").exists());
    }
    let (output, run) = images(home.path(), &sample(), &["--require", "clip"]);
    assert_eq!((code(&output), run), (2, None));
    assert!(
        stderr(&output).contains("riposte models fetch clip"),
        "{}",
        stderr(&output)
    );
    let (output, run) = images(home.path(), &sample(), &["--approach", "nobody"]);
    assert_eq!((code(&output), run), (2, None));
    let other = home.path().join("other.sqlite");
    fs::write(
        &other,
        "this is not a database, but long enough to look at twice",
    )
    .unwrap();
    let (output, _) = images(home.path(), &sample(), &["--evidence", text(&other)]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("other.sqlite"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_is_broken_is_named_and_the_rest_of_the_document_is_used() {
    let home = TempDir::new().unwrap();
    let broken = home.path().join("broken");
    copy(&sample(), &broken);
    let documents = documents(&broken);
    let page = |n: usize| {
        fs::read_dir(documents[n].join("pages"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
    };
    fs::write(documents[0].join("image.webp"), b"RIFF\x10\0\0\0WEBPVP8L").unwrap();
    fs::remove_dir_all(documents[1].join("pages")).unwrap();
    fs::write(
        page(2).join("snapshot/dom.html"),
        b"<html><p>caf\xe9 \xff\xfe",
    )
    .unwrap();
    fs::write(
        page(3).join("rankings.jsonl"),
        "{\"query\":\"x\",\"topic\":\"1\",\"rank\":1}\nnonsense\n",
    )
    .unwrap();
    fs::write(page(4).join("snapshot/dom.html"), "").unwrap();
    fs::remove_file(documents[5].join("image.webp")).unwrap();
    fs::write(documents[6].join("image.webp"), "<html>404</html>").unwrap();
    fs::create_dir_all(broken.join("images/unknown")).unwrap();
    let (output, run) = images(home.path(), &broken, &["-v"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let error = stderr(&output);
    for (document, part) in [
        (0, "image.webp: "),
        (1, ": no page"),
        (3, "rankings.jsonl:2: "),
        (4, "dom.html: empty file"),
        (5, ": no image file"),
        (6, "image.webp: "),
    ] {
        let id = documents[document].file_name().unwrap().to_str().unwrap();
        assert!(
            error
                .lines()
                .any(|line| line.contains(id) && line.contains(part)),
            "{id} {part}: {error}"
        );
    }
    assert!(error.contains("images/unknown"), "{error}");
    assert!(!run.unwrap().is_empty());
    // the faults are remembered with the evidence
    let (output, _) = images(home.path(), &broken, &["-v"]);
    assert_eq!(code(&output), 1);
    assert!(
        stderr(&output).contains(" 0 of them new"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("dom.html: empty file"));
}

#[test]
fn a_changed_producer_recomputes_what_it_produced_and_nothing_else() {
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    fs::copy(root().join("tests/golden/evidence.sqlite"), &evidence).unwrap();
    let before = contents(&evidence);
    let connection = rusqlite::Connection::open(&evidence).unwrap();
    let changed = connection
        .execute(
            "UPDATE work SET producer = 'vader/0' WHERE channel = 'vader' AND document IN
             (SELECT document FROM document ORDER BY document LIMIT 3)",
            [],
        )
        .unwrap();
    assert_eq!(changed, 3);
    connection
        .execute("UPDATE vader SET compound = 9", [])
        .unwrap();
    drop(connection);
    let (output, _) = images(home.path(), &sample(), &["--evidence", text(&evidence)]);
    assert!(
        stderr(&output).contains(" 3 of them new"),
        "{}",
        stderr(&output)
    );
    let nines = |rows: &[String]| {
        rows.iter()
            .filter(|r| r.starts_with("vader") && r.contains("Real(9.0)"))
            .count()
    };
    let after = contents(&evidence);
    let vader = before.iter().filter(|r| r.starts_with("vader")).count();
    let kept = nines(&after);
    assert!(
        kept > 0 && kept < vader,
        "{kept} of {vader} values were kept"
    );
    let others = |rows: Vec<String>| {
        rows.into_iter()
            .filter(|r| !r.starts_with("vader"))
            .collect::<Vec<_>>()
    };
    assert_eq!(others(after), others(before));
}

#[test]
fn few_images_make_short_lists_and_never_padding() {
    let home = TempDir::new().unwrap();
    let (output, run) = images(home.path(), &sample(), &["--limit", "7"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("of 10 images for PRO"),
        "{}",
        stderr(&output)
    );
    let known: Vec<String> = documents(&sample())
        .iter()
        .take(7)
        .map(|d| d.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    let run = run.unwrap();
    assert!(!run.is_empty());
    for line in run.lines() {
        assert!(known.iter().any(|id| line.contains(id)), "{line}");
    }
}

#[test]
fn a_score_opens_into_the_numbers_that_made_it() {
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    fs::copy(root().join("tests/golden/evidence.sqlite"), &evidence).unwrap();
    let explain = home.path().join("explain.jsonl");
    let (_, run) = images(
        home.path(),
        &sample(),
        &["--evidence", text(&evidence), "--explain", text(&explain)],
    );
    let run = run.unwrap();
    let explained = fs::read_to_string(&explain).unwrap();
    let mut listed = 0;
    for line in explained.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        for place in value["listed"].as_array().unwrap() {
            listed += 1;
            let (topic, image) = (
                value["topic"].as_str().unwrap(),
                value["image"].as_str().unwrap(),
            );
            let stance = place["stance"].as_str().unwrap();
            let tree = &value[stance.to_lowercase()];
            let [relevance, argues, side] =
                [0, 1, 2].map(|n| tree["parts"][n]["value"].as_f64().unwrap());
            let worth = tree["value"].as_f64().unwrap();
            assert!((worth - relevance * (1.0 + argues + side)).abs() < 1e-12);
            let parts = tree["parts"][0]["parts"].as_array().unwrap();
            let sum: f64 = parts.iter().map(|p| p["value"].as_f64().unwrap()).sum();
            assert!((sum - relevance).abs() < 1e-12);
            // the run's score, but for the millionths that keep equal scores apart
            let score: f64 = run
                .lines()
                .find(|l| l.starts_with(&format!("{topic} {stance} {image} ")))
                .and_then(|l| l.split(' ').nth(4))
                .unwrap()
                .parse()
                .unwrap();
            assert!((score - worth).abs() < 2e-5, "{line}");
        }
    }
    assert_eq!(listed, run.lines().count());
}

/// Arguments for and against the sample's first topic; those of the opposite conclusion count for the other side.
fn arguments() -> String {
    let (ban, allow) = (
        "Cars should be banned from city centres",
        "Cars should be allowed in city centres",
    );
    let said = [
        (
            ban,
            "PRO",
            "Without cars the air in the centre becomes clean, and the people who live there stop breathing exhaust fumes every single day of the year.",
        ),
        (
            ban,
            "PRO",
            "Streets without cars are safe for children and for old people, who today risk their lives whenever they cross one of them on foot.",
        ),
        (
            ban,
            "PRO",
            "Shops in pedestrian zones sell more than before, because people like to walk where there is no traffic and stay there for longer.",
        ),
        (
            allow,
            "CON",
            "Cars take the space of a whole living room for one person each, and cities have no room to give away to parked metal boxes.",
        ),
        (
            allow,
            "CON",
            "The noise of traffic makes people ill, and a city centre is the place where most of them have to live with it day and night.",
        ),
        (
            ban,
            "CON",
            "Disabled and old people need a car to reach their doctor, and a ban would lock them out of the centre of their own city.",
        ),
        (
            ban,
            "CON",
            "Craftsmen and suppliers cannot carry their tools and goods on a bicycle, so that a ban on cars would ruin many small businesses.",
        ),
        (
            ban,
            "CON",
            "Shops in the centre would lose their customers to malls outside the city, where everybody can park a car without any trouble at all.",
        ),
        (
            allow,
            "PRO",
            "Buses do not run at night, and women feel safer in a car than at an empty stop, so driving into the centre must remain possible.",
        ),
        (
            allow,
            "PRO",
            "People who live in villages have no train to the city and depend upon their cars to get to work in the centre every morning.",
        ),
    ];
    let arguments: Vec<_> = said
        .iter()
        .enumerate()
        .map(|(n, (conclusion, stance, text))| {
            serde_json::json!({
                "id": format!("a{n}"),
                "conclusion": conclusion,
                "premises": [{"text": text, "stance": stance, "annotations": []}],
                "context": {},
            })
        })
        .collect();
    serde_json::json!({ "arguments": arguments }).to_string()
}

#[test]
fn images_are_held_against_what_people_argued() {
    if crate::sentence::minilm_dir().is_none() {
        return;
    }
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    fs::copy(root().join("tests/golden/evidence.sqlite"), &evidence).unwrap();
    let file = home.path().join("arguments.json");
    fs::write(&file, arguments()).unwrap();
    let explain = home.path().join("explain.jsonl");
    let run = |more: &[&str], with_models: bool| {
        let out = home.path().join("out");
        let input = sample();
        let mut args = vec!["images", "-q", "-i", text(&input), "-o", text(&out)];
        args.extend(["--evidence", text(&evidence), "--explain", text(&explain)]);
        args.extend(more);
        let mut command = riposte(home.path(), &args);
        if with_models {
            command.env_remove("RIPOSTE_MODELS");
        }
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let run = fs::read_to_string(out.join("run.txt")).unwrap();
        (run, fs::read_to_string(&explain).unwrap(), stderr(&output))
    };
    let (without, opened, _) = run(&[], true);
    assert!(!opened.contains("to arguments"));
    let (with, opened, said) = run(&["--arguments", text(&file)], true);
    assert_ne!(with, without);
    assert!(
        said.contains("too few arguments for both sides of \"zoos should be closed\""),
        "{said}"
    );
    let of = |topic: &str| -> Vec<&str> {
        let begins = format!("{{\"topic\":\"{topic}\"");
        opened
            .lines()
            .filter(|line| line.starts_with(&begins))
            .collect()
    };
    let (first, zoos) = (of("1"), of("2"));
    assert!(!first.is_empty() && !zoos.is_empty());
    assert!(zoos.iter().all(|line| !line.contains("to arguments")));
    let heard = first
        .iter()
        .filter(|line| line.contains("likeness of the words around to arguments"));
    assert!(heard.count() * 2 > first.len());
    // the nearest argument for a ban was for nobody's but the other conclusion's ban
    for (argument, side) in [("a0", "PRO"), ("a3", "PRO"), ("a5", "CON"), ("a8", "CON")] {
        let wrong = format!(
            "nearest {} of {argument} ",
            if side == "PRO" { "CON" } else { "PRO" }
        );
        let heard_so = first.iter().any(|line| line.contains(&wrong));
        assert!(!heard_so, "{argument} is {side}");
    }
    // what was asked is kept: without the models the same run
    assert_eq!(run(&["--arguments", text(&file)], false).0, with);
}
