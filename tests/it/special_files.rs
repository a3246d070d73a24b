//! FIFOs instead of a collection's files: riposte reports a fault or an error at once, and never waits for a writer.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use image::ImageFormat;
use tempfile::TempDir;

use crate::support::assert_says;
use crate::support::bounded::run_within;
use crate::support::collection::{argument, write_arguments};
use crate::support::files::{entries, text, write};
use crate::support::need::{Model, need};
use crate::support::pictures::{grey, id, write_collection};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout, typed};

/// Replaces a file by a FIFO that nobody writes to.
fn make_fifo(path: &Path) {
    let _ = fs::remove_file(path);
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn at_once(command: &mut Command) -> Output {
    run_within(Duration::from_secs(30), command).output
}

#[test]
fn a_fifo_in_a_document_is_a_fault() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let input = home.join("collection");
    write_collection(&input, &vec![grey(40, 30, ImageFormat::Png); 6]);
    let document = |n: usize| input.join("images/I00").join(id(n));
    let page = |n: usize| entries(&document(n).join("pages")).remove(0);
    let fifos = [
        document(0).join("image.png"),
        page(1).join("snapshot/dom.html"),
        page(2).join("rankings.jsonl"),
        page(3).join("snapshot/image-xpath.txt"),
        document(4).join("image-url.txt"),
        page(5).join("page-url.txt"),
    ];
    fifos.iter().for_each(|path| make_fifo(path));
    // riposte does not need a page's text.txt, or a hash, and does not open them
    make_fifo(&page(1).join("snapshot/text.txt"));
    make_fifo(&document(5).join("image-phash.txt"));
    let args = ["extract", "-v", "-i", text(&input)];
    let output = at_once(&mut riposte(home, &args));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    for path in &fifos {
        let fault = stderr(&output)
            .lines()
            .any(|line| line.contains(text(path)) && line.contains("not a regular file"));
        assert!(fault, "{}\n{}", path.display(), stderr(&output));
    }
}

#[test]
fn a_fifo_instead_of_topics_or_texts_is_an_error() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let out = home.join("out");

    let images = home.join("images");
    write_collection(&images, &[grey(40, 30, ImageFormat::Png)]);
    make_fifo(&images.join("topics.xml"));
    let output = at_once(&mut riposte(
        home,
        &["images", "-i", text(&images), "-o", text(&out)],
    ));
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let error = stderr(&output);
    assert_says(&error, &["topics.xml: a FIFO, not a regular file"]);

    for (command, file) in [
        ("controversial", "args-me.json"),
        ("comparative", "passages.jsonl"),
        ("rank", "corpus.jsonl"),
    ] {
        let input = home.join(command);
        fs::create_dir_all(&input).unwrap();
        let topics = "<topics><topic><number>1</number><title>Is it good?</title></topic></topics>";
        fs::write(input.join("topics.xml"), topics).unwrap();
        make_fifo(&input.join(file));
        let output = at_once(&mut riposte(
            home,
            &[command, "-i", text(&input), "-o", text(&out)],
        ));
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        let fifo = input.join(file);
        let args = ["index", "-i", text(&fifo), "--task", command];
        let output = at_once(&mut riposte(home, &args));
        assert_eq!(code(&output), 2, "{}", stderr(&output));
    }
}

#[test]
fn a_fifo_is_not_read_as_an_image() {
    let Some(ocr) = need(Model("ppocr-v4")) else {
        return;
    };
    let home = TempDir::new().unwrap();
    let fifo = home.path().join("image.png");
    make_fifo(&fifo);
    let mut command = riposte(home.path(), &["read", text(&fifo), "/dev/zero"]);
    let output = at_once(command.env("RIPOSTE_MODELS", ocr.dir.parent().unwrap()));
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let error = stderr(&output);
    assert_says(&error, &["image.png: a FIFO, not a regular file"]);
    assert_says(&error, &["/dev/zero: a device, not a regular file"]);
}

/// `riposte evaluate <(zcat qrels.gz) <(zcat run.gz)`, as a shell runs it.
#[test]
fn judgements_and_runs_are_read_from_pipes() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("qrels"), "1 0 a 1\n1 0 b 0\n").unwrap();
    fs::write(path("run"), "1 Q0 b 1 2.0 tag\n1 Q0 a 2 1.0 tag\n").unwrap();
    let evaluate = |qrels: &Path, run: &Path| {
        let args = typed(
            "evaluate {} {} nDCG@5 --format tsv",
            &[text(qrels), text(run)],
        );
        at_once(&mut riposte(home.path(), &args))
    };
    let expected = evaluate(&path("qrels"), &path("run"));
    assert_eq!(code(&expected), 0, "{}", stderr(&expected));
    fs::create_dir(path("pipes")).unwrap();
    let mut writers = Vec::new();
    for name in ["qrels", "run"] {
        let fifo = path("pipes").join(name);
        make_fifo(&fifo);
        let script = format!("cat '{}' > '{}'", text(&path(name)), text(&fifo));
        writers.push(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    }
    let piped = evaluate(&path("pipes/qrels"), &path("pipes/run"));
    assert_eq!(code(&piped), 0, "{}", stderr(&piped));
    assert_eq!(stdout(&piped), stdout(&expected));
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
}

/// A regular file of a collection can be read through any link.
#[test]
fn a_link_to_a_regular_file_is_read() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let input = home.join("collection");
    fs::create_dir_all(home.join("elsewhere")).unwrap();
    fs::create_dir_all(&input).unwrap();
    let pets = argument(
        "a",
        "cats are good",
        "cats are good pets for people in towns",
        "PRO",
    );
    write_arguments(&home.join("elsewhere"), [pets]);
    std::os::unix::fs::symlink(
        home.join("elsewhere/args-me.json"),
        input.join("args-me.json"),
    )
    .unwrap();
    let output = at_once(&mut riposte(home, &["index", "-i", text(&input)]));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

/// What riposte opens besides collections, each replaced by a FIFO and by a device without end: the command ends at once, and names the file.
#[test]
fn a_special_file_is_never_waited_for() {
    const RECIPE: &str = "name = \"mine\"\nsource = \"me\"\n[[retrieval]]\nanalyzer = \"stop=list.txt\"\nsimilarity = { name = \"bm25\", k1 = 0.9, b = 0.4 }\nfields = { text = 1.0 }\n";
    let dir = WorkDir::new();
    let input = dir.path("in");
    write(
        &input.join("corpus.jsonl"),
        "{\"_id\": \"d\", \"text\": \"cats\"}\n",
    );
    write(
        &input.join("queries.jsonl"),
        "{\"_id\": \"1\", \"text\": \"cats\"}\n",
    );
    write_collection(
        &dir.path("pictures"),
        &[
            grey(40, 30, ImageFormat::Png),
            grey(60, 30, ImageFormat::Png),
        ],
    );
    write(
        &dir.path("pictures/topics.xml"),
        "<topics><topic><number>1</number><title>Is it good?</title></topic></topics>",
    );
    write(&dir.path("mine.toml"), RECIPE);
    write(&dir.path("list.txt"), "the\n");
    write(&dir.path("qrels"), "1 0 d 1\n");
    dir.succeeds("rank -i in -o run --explain run/explain.jsonl --approach mine.toml");
    dir.succeeds("extract -i pictures --evidence pictures.sqlite");
    // the words of the error; some commands find out in another way that the file is not what they need
    let regular = "not a regular file";
    let cases = [
        ("rank -i in -o out --approach FILE", "recipe.toml", regular),
        (
            "images -i pictures -o out --approach FILE",
            "recipe.toml",
            regular,
        ),
        (
            "rank -i in -o out --approach mine.toml",
            "list.txt",
            regular,
        ),
        ("config --config FILE", "riposte.toml", regular),
        ("config", "riposte.toml", regular),
        (
            "images -i pictures -o out --arguments FILE",
            "arguments.json",
            "arguments.json",
        ),
        (
            "images -i pictures -o out --topics FILE",
            "topics.xml",
            regular,
        ),
        ("rank -i in -o out --topics FILE", "topics.jsonl", regular),
        (
            "images -i FILE -o out --topics pictures/topics.xml",
            "store.sqlite",
            "not an image collection",
        ),
        (
            "images -i pictures -o out --evidence FILE",
            "store.sqlite",
            regular,
        ),
        ("merge FILE pictures.sqlite", "store.sqlite", regular),
        ("merge merged.sqlite FILE", "store.sqlite", regular),
        (
            "export evidence --evidence FILE -o parquet",
            "store.sqlite",
            "there is no evidence store",
        ),
        (
            "comparative -i in -o out --approach chatnoir --key-file FILE",
            "key",
            regular,
        ),
        (
            "inspect run -i in -o report --explain FILE",
            "explain.jsonl",
            "explain.jsonl",
        ),
        ("evaluate qrels FILE", "run.txt", "run.txt"),
    ];
    let special = |file: &Path, device: bool| {
        let _ = fs::remove_file(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        if device {
            std::os::unix::fs::symlink("/dev/zero", file).unwrap();
        } else {
            make_fifo(file);
        }
    };
    for (line, name, why) in cases {
        let file = dir.path(name);
        let before = fs::read(&file).ok();
        for device in [false, true] {
            if !device && why == name {
                // a pipe that a shell passes is read, and nobody writes to this one
                continue;
            }
            special(&file, device);
            let line = line.replace("FILE", name);
            let args: Vec<&str> = line.split(' ').collect();
            let mut command = riposte(&dir.path(""), &args);
            let ended = run_within(Duration::from_secs(30), command.current_dir(dir.path("")));
            let said = stderr(&ended.output);
            assert!(ended.peak < 700 << 20, "{line}: {} bytes", ended.peak);
            assert_eq!(code(&ended.output), 2, "{line}: {said}");
            assert_says(&said, &[why, name]);
        }
        fs::remove_file(&file).unwrap();
        if let Some(before) = before {
            fs::write(&file, before).unwrap();
        }
    }
}

/// As `--explain >(less)` in a shell, or `--faults /dev/null`. A device would be replaced or removed by whoever may write in its directory.
#[test]
fn explanations_and_faults_pass_through_a_pipe_which_stays() {
    let dir = WorkDir::new();
    let input = dir.path("in");
    write(
        &input.join("topics.xml"),
        "<topics><topic><number>1</number><title>Are cats good?</title></topic></topics>",
    );
    for (option, broken) in [
        ("--explain", ""),
        ("--faults", ""),
        ("--faults", ", {\"id\": 3}"),
    ] {
        let whole = argument("a", "cats are good", "cats are good pets", "PRO");
        write(
            &input.join("args-me.json"),
            format!("{{\"arguments\": [{whole}{broken}]}}"),
        );
        let pipe = dir.path("pipe");
        make_fifo(&pipe);
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        let (out, index) = (dir.path("out"), dir.path("kept"));
        let args = [
            "controversial",
            "--approach",
            "bm25",
            "-i",
            text(&input),
            "-o",
            text(&out),
            "--index",
            text(&index),
            option,
            text(&pipe),
        ];
        let output = at_once(&mut riposte(&dir.path("home"), &args));
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let lines = reader.join().unwrap().lines().count();
        assert_eq!(
            lines,
            usize::from(option == "--explain" || !broken.is_empty())
        );
        let stays = fs::symlink_metadata(&pipe).unwrap();
        assert!(std::os::unix::fs::FileTypeExt::is_fifo(&stays.file_type()));
    }
}
