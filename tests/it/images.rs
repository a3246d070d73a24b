//! `riposte images` on the committed sample: runs, golden runs, explanations and errors.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::collection::{argument, documents, write_arguments};
use crate::support::evidence::assert_computed;
use crate::support::files::{copy, json_lines, name, text};
use crate::support::models::MINILM;
use crate::support::need::{Data, Model, need};
use crate::support::program::{code, rank_images, riposte, stderr, succeed};
use crate::support::runs::{images, lists};
use crate::support::{assert_says, golden_evidence, root, sample};

#[test]
fn the_sample_gives_a_valid_run_without_any_model() {
    let home = TempDir::new().unwrap();
    let (output, run) = images(home.path(), sample(), &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_says(&stderr(&output), &["note: ocr is off"]);
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
    let out = home.path().join("out");
    let args = ["verify", text(&out), "-i", text(sample())];
    succeed(&mut riposte(home.path(), &args));

    // the next runs compute no evidence and write the same bytes, for any number of threads
    let before = fs::read(home.path().join("out/run.txt")).unwrap();
    for threads in ["1", "2"] {
        let (output, run) = images(home.path(), sample(), &["--threads", threads]);
        assert_computed(&output, 0);
        assert_eq!(run.unwrap().as_bytes(), before);
    }
}

#[test]
fn real_images_give_a_valid_run() {
    let Some(real) = need(Data("images/sample")) else {
        return;
    };
    let home = TempDir::new().unwrap();
    let (output, run) = images(home.path(), &real, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let elements = "elements of images in pages: 25 found by XPath (25 have its URL)";
    assert!(stderr(&output).contains(elements), "{}", stderr(&output));
    let lists = lists(&run.unwrap());
    assert_eq!(lists.len(), 4);
    let out = home.path().join("out");
    let args = ["verify", text(&out), "-i", text(&real)];
    succeed(&mut riposte(home.path(), &args));
}

/// `make golden` makes the stored evidence and the runs again.
#[test]
fn stored_evidence_gives_the_golden_runs() {
    let approaches = [
        "minsc",
        "boromir-afinn",
        "boromir-query",
        "boromir-bert",
        "boromir-clusters",
        "boromir-afinn-clusters",
        "boromir-afinn-clusters-only",
        "jester",
        "aramis",
        "aramis-neural",
        "aramis-neural-stance",
        "aramis-neural-both",
        "jean-luc-picard",
        "jean-luc-picard-text",
        "jean-luc-picard-image-text",
        "jean-luc-picard-both-texts",
    ];
    let options = [
        ("riposte", vec![]),
        ("overlap", vec!["--overlap"]),
        ("manual", vec!["--use", "description,narrative"]),
    ];
    let approaches = approaches.map(|name| (name, vec!["--approach", name]));
    for (name, more) in options.into_iter().chain(approaches) {
        let expected = fs::read_to_string(root().join(format!("tests/golden/{name}.txt"))).unwrap();
        for threads in ["1", "2"] {
            let home = TempDir::new().unwrap();
            let evidence = home.path().join("evidence.sqlite");
            fs::copy(golden_evidence(), &evidence).unwrap();
            let mut args = vec!["--evidence", text(&evidence), "--threads", threads];
            args.extend(&more);
            let (output, run) = images(home.path(), sample(), &args);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            assert_computed(&output, 0);
            assert!(
                run.unwrap() == expected,
                "{name} with {threads} threads differs from its golden run"
            );
        }
    }
}

#[test]
fn topics_in_the_format_of_tirex_give_the_same_run() {
    let home = TempDir::new().unwrap();
    let (_, xml) = images(home.path(), sample(), &[]);
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
    copy(sample(), &copied);
    fs::remove_file(copied.join("topics.xml")).unwrap();
    fs::write(copied.join("queries.jsonl"), queries.join("\n")).unwrap();
    let (output, run) = images(home.path(), &copied, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(run, xml);
}

#[test]
fn an_impossible_command_is_one_error_and_writes_nothing() {
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
    let (output, run) = images(home.path(), sample(), &["--require", "clip"]);
    assert_eq!((code(&output), run), (2, None));
    assert_says(&stderr(&output), &["riposte models fetch clip"]);
    let (output, run) = images(home.path(), sample(), &["--approach", "nobody"]);
    assert_eq!((code(&output), run), (2, None));
    let other = home.path().join("other.sqlite");
    fs::write(
        &other,
        "this is not a database, but long enough to look at twice",
    )
    .unwrap();
    let (output, _) = images(home.path(), sample(), &["--evidence", text(&other)]);
    assert_eq!(code(&output), 2);
    assert_says(&stderr(&output), &["other.sqlite"]);
}

#[test]
fn few_images_give_short_lists_without_padding() {
    let home = TempDir::new().unwrap();
    let (output, run) = images(home.path(), sample(), &["--limit", "7"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_says(&stderr(&output), &["of 10 images for PRO"]);
    let known: Vec<String> = documents(sample())
        .iter()
        .take(7)
        .map(|document| name(document).to_owned())
        .collect();
    let run = run.unwrap();
    assert!(!run.is_empty());
    for line in run.lines() {
        assert!(known.iter().any(|id| line.contains(id)), "{line}");
    }
}

#[test]
fn an_explanation_adds_up_to_the_score() {
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    fs::copy(golden_evidence(), &evidence).unwrap();
    let explain = home.path().join("explain.jsonl");
    let (_, run) = images(
        home.path(),
        sample(),
        &["--evidence", text(&evidence), "--explain", text(&explain)],
    );
    let run = run.unwrap();
    let explained = fs::read_to_string(&explain).unwrap();
    let mut listed = 0;
    for value in json_lines(&explained) {
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
            let list_score = tree["value"].as_f64().unwrap();
            assert!((list_score - relevance * (1.0 + argues + side)).abs() < 1e-12);
            let parts = tree["parts"][0]["parts"].as_array().unwrap();
            let sum: f64 = parts.iter().map(|p| p["value"].as_f64().unwrap()).sum();
            assert!((sum - relevance).abs() < 1e-12);
            // the score in the run can differ by some millionths, which make equal scores different
            let score: f64 = run
                .lines()
                .find(|l| l.starts_with(&format!("{topic} {stance} {image} ")))
                .and_then(|l| l.split(' ').nth(4))
                .unwrap()
                .parse()
                .unwrap();
            assert!((score - list_score).abs() < 2e-5, "{value}");
        }
    }
    assert!(listed > 0);
    assert_eq!(listed, run.lines().count());
}

/// Writes arguments for and against the first topic of the sample. Arguments with the opposite conclusion count for the other side.
fn write_arguments_on_cars(dir: &Path) {
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
    let arguments = (0..).zip(said).map(|(n, (conclusion, stance, premise))| {
        argument(&format!("a{n}"), conclusion, premise, stance)
    });
    write_arguments(dir, arguments);
}

#[test]
fn images_are_compared_with_arguments_for_both_sides() {
    let Some(minilm) = need(Model(MINILM)) else {
        return;
    };
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    fs::copy(golden_evidence(), &evidence).unwrap();
    write_arguments_on_cars(home.path());
    let file = home.path().join("args-me.json");
    let explain = home.path().join("explain.jsonl");
    let run = |more: &[&str], with_models: bool| {
        let out = home.path().join("out");
        let mut command = rank_images(home.path(), sample(), &out);
        command.args(["--evidence", text(&evidence), "--explain", text(&explain)]);
        command.args(more);
        if with_models {
            command.env("RIPOSTE_MODELS", minilm.dir.parent().unwrap());
        }
        let output = succeed(&mut command);
        let run = fs::read_to_string(out.join("run.txt")).unwrap();
        (run, fs::read_to_string(&explain).unwrap(), stderr(&output))
    };
    let (without, opened, _) = run(&[], true);
    assert!(!opened.contains("to arguments"));
    let (with, opened, said) = run(&["--arguments", text(&file)], true);
    assert_ne!(with, without);
    assert_says(
        &said,
        &["too few arguments for both sides of \"zoos should be closed\""],
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
    // an argument against the opposite conclusion counts as an argument for the claim, and is never named for the other side
    let named = |stance: &str, argument: &str| {
        let words = format!("nearest {stance} of {argument} ");
        first.iter().filter(|line| line.contains(&words)).count()
    };
    let (pro, con) = (
        ["a0", "a1", "a2", "a3", "a4"],
        ["a5", "a6", "a7", "a8", "a9"],
    );
    for (side, other, arguments) in [("PRO", "CON", pro), ("CON", "PRO", con)] {
        let right: usize = arguments.iter().map(|argument| named(side, argument)).sum();
        assert!(right > 0, "no argument is named for {side}");
        for argument in arguments {
            assert_eq!(named(other, argument), 0, "{argument} is {side}");
        }
    }
    // the vectors of the query texts are stored, so the run is the same without the models
    assert_eq!(run(&["--arguments", text(&file)], false).0, with);
}

#[test]
fn without_vectors_no_topic_is_said_to_lack_arguments() {
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    fs::copy(golden_evidence(), &evidence).unwrap();
    write_arguments_on_cars(home.path());
    // the sample's evidence has the vectors of the sample's own topics, but not of this one
    let topics = home.path().join("topics.xml");
    let title = "Should private cars be banned from all city centres?";
    let topic = format!("<topic><number>1</number><title>{title}</title></topic>");
    fs::write(&topics, format!("<topics>{topic}</topics>")).unwrap();
    let file = home.path().join("args-me.json");
    let out = home.path().join("out");
    let mut command = rank_images(home.path(), sample(), &out);
    command.args(["--evidence", text(&evidence), "--arguments", text(&file)]);
    let said = stderr(&succeed(command.args(["--topics", text(&topics)])));
    assert_says(&said, &["likeness to arguments is off: it needs vectors"]);
    assert!(!said.contains("too few arguments"), "{said}");
}
