//! A file system without locks: what needs none works, and everything else says so soon.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::bounded::run_within;
use crate::support::files::text;
use crate::support::need::{Program, need};
use crate::support::program::{code, riposte, stderr, succeed};
use crate::support::{assert_says, golden_evidence, sample};

/// A library for LD_PRELOAD with which neither `flock` nor `fcntl`, which SQLite uses, can lock a file.
const WITHOUT_LOCKS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
static int refused(void) { errno = atoi(getenv("LOCK_ERROR")); return -1; }
int flock(int file, int how) { return refused(); }
static int control(const char *name, int file, int what, void *with) {
  if (what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK || what == F_OFD_SETLKW) return refused();
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
  return real(file, what, with);
}
#define BODY(name) va_list list; va_start(list, what); void *with = va_arg(list, void *); va_end(list); return control(name, file, what, with);
int fcntl(int file, int what, ...) { BODY("fcntl") }
int fcntl64(int file, int what, ...) { BODY("fcntl64") }
"#;

/// ENOLCK, EOPNOTSUPP and ENOSYS, which NFS, FUSE and others give.
const ERRORS: [i32; 3] = [37, 95, 38];

#[test]
fn a_store_on_a_file_system_without_locks_is_a_named_error_at_once() {
    if need(Program("cc")).is_none() {
        return;
    }
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("locks.c"), WITHOUT_LOCKS).unwrap();
    let (library, source) = (path("locks.so"), path("locks.c"));
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o", text(&library), text(&source)]);
    succeed(&mut cc);
    fs::copy(golden_evidence(), path("e.sqlite")).unwrap();
    let arguments = sample().join("args-me.json");
    let topics = sample().join("topics.xml");
    succeed(
        riposte(home.path(), &["images", "-i", text(sample()), "-o", "run"])
            .current_dir(home.path()),
    );
    for (error, line) in ERRORS.iter().flat_map(|error| {
        [
            "images -i SAMPLE -o out --evidence e.sqlite",
            "images -i SAMPLE -o out --evidence new.sqlite",
            "extract -i SAMPLE --evidence new.sqlite",
            "inspect run -i SAMPLE -o report --evidence e.sqlite",
            "export evidence --evidence e.sqlite -o parquet",
            "merge new.sqlite e.sqlite",
            "controversial -i ARGUMENTS --topics TOPICS -o out --index texts",
        ]
        .map(|line| (error, line))
    }) {
        let words = line.split(' ').map(|word| match word {
            "SAMPLE" => text(sample()),
            "ARGUMENTS" => text(&arguments),
            "TOPICS" => text(&topics),
            word => word,
        });
        let words: Vec<&str> = words.collect();
        let mut command = riposte(home.path(), &words);
        command.current_dir(home.path());
        command.env("LD_PRELOAD", &library);
        command.env("LOCK_ERROR", error.to_string());
        let ended = run_within(Duration::from_secs(30), &mut command);
        let said = stderr(&ended.output);
        assert_eq!(code(&ended.output), 2, "{error}: {line}: {said}");
        assert_says(&said, &["has no locks for files"]);
    }
    // judging needs no store
    let run = path("run/run.txt");
    let mut verify = riposte(home.path(), &["verify", text(&run)]);
    verify.env("LD_PRELOAD", &library).env("LOCK_ERROR", "37");
    succeed(&mut verify);
}
