//! The programs of examples/, and the library that they show: both do what the command line does.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use riposte::{Approach, Collection, Error, Event, Progress, Stage, Task, TextTask, Topic};
use tempfile::TempDir;

use crate::support::files::{below, copy, text};
use crate::support::need::{Model, need};
use crate::support::program::{built, riposte, stdout, succeed};
use crate::support::{assert_says, sample};

const QUESTION: &str = "Should zoos be closed?";

/// An example, started like [`riposte`].
fn example(home: &Path, name: &str, args: &[&str]) -> Command {
    let mut command = riposte(home, &[]);
    let mut example = Command::new(built("examples", name));
    for (variable, value) in command.get_envs() {
        match value {
            Some(value) => example.env(variable, value),
            None => example.env_remove(variable),
        };
    }
    command.args(args);
    example.args(args);
    example
}

#[test]
fn ranking_images_writes_the_run_of_the_command_and_says_why() {
    let home = TempDir::new().unwrap();
    let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
    let input = text(sample());
    let output = succeed(&mut example(
        home.path(),
        "rank_images",
        &[input, text(&ours)],
    ));
    let printed = stdout(&output);
    assert_says(&printed, &["1 PRO: ", "relevance ", "weight "]);
    succeed(&mut riposte(
        home.path(),
        &["images", "-i", input, "-o", text(&theirs)],
    ));
    let read = |dir: &Path| fs::read_to_string(dir.join("run.txt")).unwrap();
    assert_eq!(read(&ours), read(&theirs));
    assert!(ours.join("explain.jsonl").is_file());
    assert!(ours.join("ir-metadata.yml").is_file());
}

#[test]
fn ranking_arguments_prints_the_run_of_the_command() {
    let home = TempDir::new().unwrap();
    let (topics, out) = (home.path().join("topics.jsonl"), home.path().join("out"));
    fs::write(
        &topics,
        format!("{{\"qid\": \"1\", \"query\": \"{QUESTION}\"}}\n"),
    )
    .unwrap();
    let input = text(sample());
    let output = succeed(&mut example(
        home.path(),
        "rank_arguments",
        &[input, QUESTION],
    ));
    succeed(&mut riposte(
        home.path(),
        &[
            "controversial",
            "-i",
            input,
            "--topics",
            text(&topics),
            "-o",
            text(&out),
        ],
    ));
    let run = fs::read_to_string(out.join("run.txt")).unwrap();
    assert!(run.lines().count() > 5);
    let printed = stdout(&output);
    let (first, printed_run) = printed.split_at(printed.len() - run.len());
    assert_eq!(printed_run, run);
    assert_eq!(first.lines().count(), 5);
}

#[test]
fn evaluating_a_run_prints_the_values_of_the_command() {
    let home = TempDir::new().unwrap();
    let out = home.path().join("out");
    let (input, qrels) = (text(sample()), sample().join("qrels.txt"));
    succeed(&mut riposte(
        home.path(),
        &["images", "-i", input, "-o", text(&out)],
    ));
    let run = out.join("run.txt");
    let words = [text(&run), text(&qrels), "P@10"];
    let printed = stdout(&succeed(&mut example(home.path(), "evaluate_run", &words)));
    let words = [
        "evaluate",
        "--format",
        "tsv",
        "--by-topic",
        "--qrels",
        text(&qrels),
        text(&run),
        "P@10",
    ];
    let theirs = stdout(&succeed(&mut riposte(home.path(), &words)));
    let all = theirs
        .lines()
        .find(|line| line.contains("\tall\t"))
        .unwrap();
    let value: f64 = all.rsplit('\t').next().unwrap().parse().unwrap();
    assert_eq!(
        printed.lines().next().unwrap(),
        format!("topicRelevanceP@10\t{value:.4}")
    );
}

/// An answer from a collection, and one from any folder.
#[test]
fn an_answer_is_that_of_the_command() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("notes");
    fs::create_dir(&folder).unwrap();
    for (name, words) in [
        (
            "for.txt",
            "Zoos should stay open, because they protect animals that would die out in the wild, and because children learn there what animals need.",
        ),
        (
            "against.txt",
            "Zoos should be closed, because animals suffer behind bars, and because no cage is large enough for an animal that would walk for days.",
        ),
    ] {
        fs::write(folder.join(name), words).unwrap();
    }
    for input in [text(sample()), text(&folder)] {
        let output = succeed(&mut example(home.path(), "ask", &[input, QUESTION]));
        let theirs = succeed(&mut riposte(
            home.path(),
            &["ask", "-q", "-n", "3", "-i", input, QUESTION],
        ));
        let (ours, theirs) = (stdout(&output), stdout(&theirs));
        let rest = ours
            .strip_prefix(theirs.as_str())
            .unwrap_or_else(|| panic!("{ours}\n{theirs}"));
        assert_says(rest, &[" pro ", " con "]);
    }
}

#[test]
fn reading_a_picture_prints_the_text_of_the_command() {
    let Some(model) = need(Model("ppocr-v4")) else {
        return;
    };
    let home = TempDir::new().unwrap();
    let models = model.dir.parent().unwrap();
    let picture = sample().join("images");
    let picture = below(&picture, "webp").into_iter().next().unwrap();
    let mut ours = example(home.path(), "read_picture", &[text(&picture)]);
    let ours = stdout(&succeed(ours.env("RIPOSTE_MODELS", models)));
    let mut theirs = riposte(home.path(), &["read", "--text", text(&picture)]);
    let theirs = stdout(&succeed(theirs.env("RIPOSTE_MODELS", models)));
    let expected = format!("{}\n{}\n", text(&picture), theirs.trim_end());
    assert!(ours.starts_with(&expected), "{ours}\n{theirs}");
}

#[test]
fn a_ranking_stops_when_its_events_are_answered_with_break_and_goes_on_later() {
    let home = TempDir::new().unwrap();
    let open = |task| {
        let collection = Collection::open(sample()).unwrap().for_task(task);
        let collection = collection.with_models(home.path().join("none")).unwrap();
        collection
            .stored_in(home.path().join("cache"))
            .with_threads(1)
    };
    for task in [Task::Images, Task::Texts(TextTask::Controversial)] {
        let collection = open(task);
        let approach = Approach::named(task, "riposte").unwrap();
        let mut in_ranking = false;
        let stopped = collection
            .request(approach.clone())
            .rank(|event| match event {
                Event::Progress(Progress::Started { stage, .. }) => {
                    in_ranking = stage == Stage::Ranking;
                    ControlFlow::Continue(())
                }
                Event::Progress(Progress::Items { .. }) if in_ranking || task == Task::Images => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            });
        assert!(matches!(stopped, Err(Error::Stopped)), "{task:?}");
        let ranking = collection
            .request(approach)
            .rank(|_| ControlFlow::Continue(()))
            .unwrap();
        assert!(!ranking.is_empty());
        assert_eq!(ranking.documents().count(), ranking.len());
        let explained = ranking.documents().filter(|found| {
            let explanation = ranking.explanation(found);
            explanation.is_some_and(|explanation| explanation.value().is_finite())
        });
        // images are explained even if nobody asks for it
        let expected = if task == Task::Images {
            ranking.len()
        } else {
            0
        };
        assert_eq!(explained.count(), expected);
    }
}

/// A collection that is kept open is not read again: its answers stay the same when its files have changed.
#[test]
fn a_collection_that_is_kept_open_is_not_read_again() {
    let home = TempDir::new().unwrap();
    for task in [Task::Images, Task::Texts(TextTask::Controversial)] {
        let input = home.path().join(task.word());
        copy(sample(), &input);
        let open = || {
            let collection = Collection::open(&input).unwrap().for_task(task);
            let collection = collection.with_models(home.path().join("none")).unwrap();
            collection.stored_in(home.path().join("cache"))
        };
        let answers = |collection: &Collection| {
            [QUESTION, "Should the working week have four days?"].map(|question| {
                let answer = collection.ask(question, 5, |_| ControlFlow::Continue(()));
                serde_json::to_string(&answer.unwrap()).unwrap()
            })
        };
        let kept = open().kept_open();
        let expected = answers(&open());
        assert_ne!(expected[0], expected[1]);
        assert_eq!(answers(&kept), expected);
        let files = ["html", "txt", "json"].map(|extension| below(&input, extension));
        for path in files.iter().flatten() {
            let words = fs::read_to_string(path).unwrap();
            fs::write(path, words.replace("zoo", "park").replace("Zoo", "Park")).unwrap();
        }
        assert_eq!(answers(&kept), expected, "{task:?}");
        assert_ne!(answers(&open())[0], expected[0], "{task:?}");
    }
}

/// A request to a collection that is open is planned at once, and without its files.
#[test]
fn planning_over_an_open_collection_reads_no_file() {
    let home = TempDir::new().unwrap();
    for task in [Task::Images, Task::Texts(TextTask::Controversial)] {
        let input = home.path().join(task.word());
        copy(sample(), &input);
        let collection = Collection::open(&input).unwrap().for_task(task);
        let collection = collection.with_models(home.path().join("none")).unwrap();
        let collection = collection.stored_in(home.path().join("cache")).kept_open();
        let approach = Approach::named(task, "riposte").unwrap();
        let topics = vec![Topic::new("1", QUESTION).unwrap()];
        let request = collection.request(approach).topics(topics);
        request.rank(|_| ControlFlow::Continue(())).unwrap();
        fs::remove_dir_all(&input).unwrap();
        fs::remove_dir_all(home.path().join("cache")).unwrap();
        let seconds = (0..20).map(|_| {
            let start = Instant::now();
            request
                .plan(None, &mut |event| panic!("{event:?}"))
                .unwrap();
            start.elapsed().as_secs_f64()
        });
        let fastest = seconds.fold(f64::INFINITY, f64::min);
        assert!(fastest < 0.005, "{task:?}: {fastest} s");
    }
}

/// What is chosen after a first request takes effect in the next one, also if the collection is kept open.
#[test]
fn what_is_chosen_after_a_first_request_takes_effect() {
    let home = TempDir::new().unwrap();
    for task in [Task::Images, Task::Texts(TextTask::Controversial)] {
        let place = |name: &str| home.path().join(task.word()).join(name);
        let ask = |collection: &Collection| {
            let answer = collection.ask(QUESTION, 5, |_| ControlFlow::Continue(()));
            serde_json::to_string(&answer.unwrap()).unwrap()
        };
        let collection = Collection::open(sample()).unwrap().for_task(task);
        let collection = collection.with_models(home.path().join("none")).unwrap();
        let collection = collection.stored_in(place("first")).kept_open();
        let expected = ask(&collection);
        let moved = collection.stored_in(place("second"));
        assert_eq!(ask(&moved), expected);
        assert!(!below(&place("second"), "sqlite").is_empty(), "{task:?}");
        // damaged models are an error for whoever looks at them
        let models = place("models");
        copy(
            &crate::support::reference("tiny-sentence"),
            &models.join("all-minilm-l6-v2"),
        );
        let with_models = moved.with_models(&models).unwrap();
        let answer = with_models.ask(QUESTION, 5, |_| ControlFlow::Continue(()));
        assert!(answer.is_err(), "{task:?}");
        let without = with_models.with_models(home.path().join("none")).unwrap();
        let threads = without.with_threads(usize::MAX);
        let answer = threads.ask(QUESTION, 5, |_| ControlFlow::Continue(()));
        assert!(answer.is_err(), "{task:?}");
    }
}

#[test]
fn errors_say_what_was_being_done() {
    let home = TempDir::new().unwrap();
    assert!(matches!(
        Collection::open(home.path().join("none")),
        Err(Error::Input(_))
    ));
    let unknown = Approach::named(Task::Images, "nobody").unwrap_err();
    assert!(matches!(unknown, Error::Approach(_)));
    assert_says(&unknown.to_string(), &["no image approach named nobody"]);
    let other = Approach::named(Task::Texts(TextTask::Rank), "bm25").unwrap();
    let collection = Collection::open(sample()).unwrap();
    let refused = collection
        .request(other)
        .rank(|_| ControlFlow::Continue(()))
        .err()
        .unwrap();
    assert!(matches!(refused, Error::Approach(_)));
    assert_says(
        &refused.to_string(),
        &["bm25 is for rank, and not for images"],
    );
    let recipe = home.path().join("mine.toml");
    fs::write(&recipe, "name = \"mine\"\nrelevance = 3\n").unwrap();
    let wrong = Approach::from_file(Task::Images, &recipe).unwrap_err();
    assert_says(&wrong.to_string(), &["mine.toml", "line 2"]);
}

/// The examples are short: what they show must be easy.
#[test]
fn examples_have_fewer_than_forty_lines() {
    let examples = crate::support::files::entries(&crate::support::root().join("examples"));
    assert_eq!(examples.len(), 5);
    for path in examples {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines < 40, "{} has {lines}", path.display());
    }
}
