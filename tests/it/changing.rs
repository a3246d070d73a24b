//! A file changes while a command reads it: the result is that of the old version or of the new one, or an error names the file. It is never that of a
//! mixture.
#![cfg(target_os = "linux")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::files::{copy, text};
use crate::support::need::{Program, need};
use crate::support::program::{WorkDir, code, riposte, stderr, succeed};
use crate::support::{golden_evidence, sample};

/// A library for LD_PRELOAD that changes the file CHANGE_PATH before the CHANGE_AT-th call that opens it or reads from it.
const CHANGE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static atomic_long calls;
static void step(void) {
  if (atomic_fetch_add(&calls, 1) + 1 != atol(getenv("CHANGE_AT"))) return;
  const char *path = getenv("CHANGE_PATH"), *with = getenv("CHANGE_WITH"), *how = getenv("CHANGE_HOW");
  if (!strcmp(how, "remove")) { unlink(path); return; }
  if (!strcmp(how, "replace")) { rename(with, path); return; }
  int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  if (!strcmp(how, "truncate")) { struct stat s; stat(path, &s); truncate(path, s.st_size / 2); return; }
  static char bytes[1 << 24];
  int from = real(with, O_RDONLY);
  ssize_t (*get)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
  ssize_t length = get(from, bytes, sizeof bytes);
  close(from);
  int to = real(path, O_WRONLY | (!strcmp(how, "append") ? O_APPEND : O_TRUNC));
  if (write(to, bytes, length) != length) abort();
  close(to);
}
static int is_it(int file) {
  char link[64], found[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, found, sizeof found - 1);
  if (length < 0) return 0;
  found[length] = 0;
  return !strcmp(found, getenv("CHANGE_PATH"));
}
ssize_t read(int file, void *into, size_t count) {
  ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
  if (is_it(file)) step();
  return real(file, into, count);
}
static int opened(const char *name, const char *path, int flags, int mode) {
  int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
  if (!strcmp(path, getenv("CHANGE_PATH"))) step();
  return real(path, flags, mode);
}
#define MODE int mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, int); va_end(list); }
int open(const char *path, int flags, ...) { MODE return opened("open", path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened("open64", path, flags, mode); }
"#;

/// A command, the file that changes, its other version, and what the command writes; "-" for standard output.
struct Case {
    line: &'static str,
    file: &'static str,
    other: fn(&str) -> String,
    written: &'static str,
}

/// The lines in the opposite order, so that each half of one version is different from that of the other.
fn reversed(text: &str) -> String {
    text.lines().rev().map(|line| format!("{line}\n")).collect()
}

/// Other topics with the same numbers.
fn of_other_topics(text: &str) -> String {
    text.replace("Should", "Would you say that we should")
}

const CASES: [Case; 13] = [
    Case {
        line: "images --quiet=progress -i sample -o out --evidence e.sqlite --topics topics.xml",
        file: "topics.xml",
        other: of_other_topics,
        written: "out/run.txt",
    },
    Case {
        line: "images --quiet=progress -i sample -o out --evidence e.sqlite --approach recipe.toml",
        file: "recipe.toml",
        other: |text| text.replace("name = \"", "name = \"other-"),
        written: "out/run.txt",
    },
    Case {
        line: "evaluate --qrels qrels.txt run.txt --json",
        file: "run.txt",
        other: |text| {
            text.replace("PRO", "P")
                .replace("CON", "PRO")
                .replace(" P ", " CON ")
        },
        written: "-",
    },
    Case {
        line: "evaluate --qrels qrels.txt run.txt --json",
        file: "qrels.txt",
        other: |text| {
            text.replace(" 1\n", " 2\n")
                .replace(" 0\n", " 1\n")
                .replace(" 2\n", " 0\n")
        },
        written: "-",
    },
    Case {
        line: "verify run.txt --json",
        file: "run.txt",
        other: reversed,
        written: "-",
    },
    Case {
        line: "inspect run.txt --quiet=progress -i sample --evidence e.sqlite --qrels qrels.txt -o report",
        file: "run.txt",
        other: |text| text.replace(" riposte", " another"),
        written: "report/index.html",
    },
    Case {
        line: "export run run.txt -o exported",
        file: "run.txt",
        other: |text| text.replace(" riposte", " another"),
        written: "exported",
    },
    Case {
        line: "stance --jsonl pairs.jsonl",
        file: "pairs.jsonl",
        other: |text| text.replace("zoos", "cars"),
        written: "-",
    },
    Case {
        line: "rank --quiet=progress -i corpus --topics queries.jsonl -o out --index texts",
        file: "queries.jsonl",
        other: |text| text.replace("zoos", "cars"),
        written: "out/run.txt",
    },
    Case {
        line: "controversial --quiet=progress -i arguments.json --topics topics.xml -o out --index texts",
        file: "topics.xml",
        other: of_other_topics,
        written: "out/run.txt",
    },
    Case {
        line: "ask --quiet=progress -i corpus --task rank --index texts zoos cars",
        file: "corpus/corpus.jsonl",
        other: |text| text.replace("\"d", "\"e"),
        written: "-",
    },
    Case {
        line: "comparative --quiet=progress -i passages.jsonl --topics pets.xml -o out --index texts",
        file: "pets.xml",
        other: |text| text.replace("cats or dogs", "dogs or horses"),
        written: "out/run.txt",
    },
    Case {
        line: "quality --jsonl pairs.jsonl",
        file: "pairs.jsonl",
        other: |text| text.replace("zoos", "cars"),
        written: "-",
    },
];

/// The files of a directory or file, in order, as one text.
fn contents(path: &Path) -> String {
    if path.is_dir() {
        let inside = crate::support::files::entries(path);
        return inside.iter().map(|path| contents(path)).collect();
    }
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_file_that_changes_while_it_is_read_gives_no_mixture() {
    let Some(tools) = changing_library() else {
        return;
    };
    let library = tools.path("change.so");
    let ready = inputs();
    for case in &CASES {
        let dir = WorkDir::with(&[]);
        copy(&ready.path(""), &dir.path(""));
        let (file, with) = (dir.path(case.file), dir.path("with"));
        let old = fs::read_to_string(&file).unwrap();
        let new = (case.other)(&old);
        assert_ne!(old, new, "{}", case.line);
        let run = |change: Option<(&str, usize)>| {
            for output in ["out", "report", "exported"] {
                let _ = fs::remove_dir_all(dir.path(output));
            }
            let words: Vec<&str> = case.line.split(' ').collect();
            let paths: Vec<PathBuf> = words.iter().map(|word| dir.path(word)).collect();
            // the library compares paths as they are opened
            let words = words.iter().zip(&paths);
            let words = words.map(|(word, path)| if path.exists() { text(path) } else { word });
            let mut command = riposte(&dir.path(""), &words.collect::<Vec<_>>());
            command.current_dir(dir.path(""));
            if let Some((how, at)) = change {
                command.env("LD_PRELOAD", &library).env("CHANGE_HOW", how);
                command.env("CHANGE_AT", at.to_string());
                command.env("CHANGE_PATH", &file).env("CHANGE_WITH", &with);
            }
            let output = command.output().unwrap();
            let written = match case.written {
                "-" => String::from_utf8(output.stdout.clone()).unwrap(),
                path => contents(&dir.path(path)),
            };
            (code(&output), written, stderr(&output))
        };
        // what the command writes of each version of the file, if that does not change
        let mut results = HashMap::new();
        for version in [&old, &new] {
            fs::write(&file, version).unwrap();
            let (code, written, said) = run(None);
            assert!(code < 2 && !written.is_empty(), "{}: {said}", case.line);
            results.insert(version.clone(), written);
        }
        assert_ne!(results[&old], results[&new], "{}", case.line);
        for how in ["remove", "replace", "rewrite", "append", "truncate"] {
            for at in 1..=4 {
                fs::write(&file, &old).unwrap();
                fs::write(&with, &new).unwrap();
                let (code, written, said) = run(Some((how, at)));
                let what = format!("{}: {how} before call {at}", case.line);
                let left = fs::read_to_string(&file).ok();
                if left.as_ref() == Some(&old) {
                    // the command has made fewer calls, so there is nothing to change before a later one
                    assert!(at > 1 && written == results[&old], "{what}: {said}");
                    break;
                }
                // what was appended, or is left, is a version of its own
                let left =
                    left.map(|left| results.entry(left).or_insert_with(|| run(None).1).clone());
                let versions = [&results[&old], &results[&new]];
                let name = Path::new(case.file).file_name().unwrap().to_str().unwrap();
                let is_error = code == 2 && said.contains(name);
                assert!(
                    is_error || versions.into_iter().chain(&left).any(|of| *of == written),
                    "{what}: code {code}: {said}\n{written}"
                );
            }
        }
    }
}

/// A directory with change.so, compiled from [`CHANGE`].
fn changing_library() -> Option<WorkDir> {
    need(Program("cc"))?;
    let tools = WorkDir::with(&[("change.c", CHANGE.as_bytes())]);
    let (library, source) = (tools.path("change.so"), tools.path("change.c"));
    let mut cc = std::process::Command::new("cc");
    succeed(cc.args(["-shared", "-fPIC", "-o", text(&library), text(&source)]));
    Some(tools)
}

/// The run that reads a document while a file of it changes has the old version, the new one, or a fault that names the file; the next run has the new one.
#[test]
fn a_document_that_changes_while_it_is_read_is_that_of_the_next_run() {
    let Some(tools) = changing_library() else {
        return;
    };
    let library = tools.path("change.so");
    let dir = WorkDir::with(&[]);
    copy(sample(), &dir.path("sample"));
    let with = dir.path("with");
    let collection = dir.path("sample");
    let run = |change: Option<(&Path, &str, usize)>| {
        let _ = fs::remove_dir_all(dir.path("out"));
        let line = [
            "images",
            "--quiet=progress",
            "-i",
            text(&collection),
            "-o",
            "out",
            "--evidence",
            "e.sqlite",
        ];
        let mut command = riposte(&dir.path(""), &line);
        command.current_dir(dir.path(""));
        if let Some((path, how, at)) = change {
            command.env("LD_PRELOAD", &library).env("CHANGE_HOW", how);
            command.env("CHANGE_AT", at.to_string());
            command.env("CHANGE_PATH", path).env("CHANGE_WITH", &with);
        }
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let faults = fs::read_to_string(dir.path("out/faults.jsonl")).unwrap_or_default();
        (contents(&dir.path("out/run.txt")), faults)
    };
    let fresh = |change: Option<(&Path, &str, usize)>| {
        fs::copy(golden_evidence(), dir.path("e.sqlite")).unwrap();
        run(change)
    };
    let one = dir.path("sample/images/I2b/I2b1d1626372b6d3f");
    let another = dir.path("sample/images/I67/I67ba654a4f59f1c5");
    let mut named = 0;
    for file in ["image.webp", "snapshot/text.txt"] {
        let [path, source] = [&one, &another].map(|document| match file.split_once('/') {
            None => document.join(file),
            Some(_) => crate::support::files::entries(&document.join("pages"))[0].join(file),
        });
        let [old, new] = [&path, &source].map(|path| fs::read(path).unwrap());
        let (of_old, _) = fresh(None);
        for how in ["remove", "replace", "rewrite"] {
            match how {
                "remove" => fs::remove_file(&path).unwrap(),
                _ => fs::write(&path, &new).unwrap(),
            }
            let (of_new, _) = fresh(None);
            for at in 1..=4 {
                let what = format!("{file}: {how} before call {at}");
                fs::write(&path, &old).unwrap();
                fs::write(&with, &new).unwrap();
                let (found, faults) = fresh(Some((&path, how, at)));
                let is_named = faults.contains(text(&one));
                named += usize::from(is_named);
                let versions = [&of_old, &of_new];
                assert!(
                    is_named || versions.contains(&&found),
                    "{what}: {faults}\n{found}"
                );
                let has_changed = fs::read(&path).ok().as_deref() != Some(&*old);
                let expected = if has_changed { &of_new } else { &of_old };
                let (next, faults) = run(None);
                assert!(next == *expected, "{what}, the next run: {faults}\n{next}");
            }
            fs::write(&path, &old).unwrap();
        }
    }
    assert!(named > 0, "no change came between two readings");
}

/// The files of all cases.
fn inputs() -> WorkDir {
    let dir = WorkDir::with(&[
        ("queries.jsonl", b"{\"qid\": \"1\", \"query\": \"should zoos be closed\"}\n{\"qid\": \"2\", \"query\": \"are zoos good\"}\n"),
        ("pairs.jsonl", b"{\"id\": 1, \"topic\": \"Should zoos be closed?\", \"text\": \"Yes, zoos are cruel.\"}\n{\"id\": 2, \"topic\": \"Should zoos be closed?\", \"text\": \"No, zoos protect animals.\"}\n"),
    ]);
    copy(sample(), &dir.path("sample"));
    for name in ["topics.xml", "qrels.txt"] {
        fs::copy(sample().join(name), dir.path(name)).unwrap();
    }
    fs::copy(sample().join("args-me.json"), dir.path("arguments.json")).unwrap();
    let passage = |n| {
        format!(
            "{{\"id\": \"p{n}\", \"contents\": \"Cats are {}better than dogs, and horses are {}better than cats, as people who have had all of them for years like to say today.\"}}\n",
            "much ".repeat(n),
            "far ".repeat(9 - n)
        )
    };
    fs::write(
        dir.path("passages.jsonl"),
        (0..10).map(passage).collect::<String>(),
    )
    .unwrap();
    let pets = "<topics><topic><number>1</number><title>Which are better, cats or dogs?</title></topic></topics>";
    fs::write(dir.path("pets.xml"), pets).unwrap();
    fs::copy(golden_evidence(), dir.path("e.sqlite")).unwrap();
    let documents: String = (0..40)
        .map(|n| {
            format!(
                "{{\"_id\": \"d{n}\", \"title\": \"\", \"text\": \"zoos {} cars {}\"}}\n",
                "zoos ".repeat(n),
                "cars ".repeat(40 - n)
            )
        })
        .collect();
    fs::create_dir(dir.path("corpus")).unwrap();
    fs::write(dir.path("corpus/corpus.jsonl"), documents).unwrap();
    let (recipe, _) = dir.succeeds("approaches show riposte --task images");
    fs::write(dir.path("recipe.toml"), recipe).unwrap();
    dir.succeeds("images --quiet=progress -i sample -o made --evidence e.sqlite");
    fs::copy(dir.path("made/run.txt"), dir.path("run.txt")).unwrap();
    fs::remove_dir_all(dir.path("made")).unwrap();
    dir
}
