//! docs/limits.md says what the code does: each number in its tables is a constant of the code, and each constant that is a limit is in a table.
//!
//! The last column of a row names files of `src/`, and after each file its constants. The test reads the constants from the source, so it needs no
//! access to private names.

use std::collections::BTreeMap;
use std::fs;
use std::ops::{Add, Div, Mul, Sub};
use std::path::Path;
use std::sync::LazyLock;

use crate::support::root;

const PAGE: &str = "docs/limits.md";

/// The parts of a name that say that a constant is a limit. Besides, all times are limits or pauses.
const WORDS_FOR_LIMITS: [&str; 8] = [
    "ATTEMPTS",
    "LARGEST",
    "LIMIT",
    "LONGEST",
    "MAX",
    "MOST",
    "REDIRECTS",
    "TRIES",
];

/// Constants with such names or of such a type that bound nothing that comes from outside, with the reason.
const NO_LIMITS: [(&str, &[&str], &str); 39] = [
    (
        "crates/riposte-eval/src/compare/student.rs",
        &["MAX_STEPS"],
        "the steps of a continued fraction, which ends long before",
    ),
    (
        "crates/riposte-eval/src/graded/formulas.rs",
        &["MAX_GRADE_OF_ERR"],
        "a constant of the measure",
    ),
    (
        "src/cli/probe.rs",
        &["GLANCE"],
        "the pause between two checks for Ctrl-C",
    ),
    (
        "src/cli/progress.rs",
        &["LINE_INTERVAL", "FIRST_ESTIMATE"],
        "the pause between two lines of progress, and before the first estimate",
    ),
    (
        "src/cli/reproduce.rs",
        &["GLANCE"],
        "the pause between two looks at a command that runs",
    ),
    (
        "src/datasets/unpack.rs",
        &["JOURNAL_INTERVAL"],
        "how often riposte notes what it has unpacked",
    ),
    (
        "src/disk.rs",
        &["PAUSE"],
        "the pause between two looks at a lock",
    ),
    (
        "src/disk/stamp.rs",
        &["SETTLED_AFTER"],
        "the precision of a file system's times",
    ),
    (
        "src/disk/temporary.rs",
        &["TRIES"],
        "a race between processes of riposte",
    ),
    (
        "src/web/part.rs",
        &["LOCK_TRIES", "LOCK_PAUSE"],
        "a race between processes of riposte",
    ),
    (
        "src/workspace/lock.rs",
        &["INHERITED"],
        "a race between a process and the one that it starts",
    ),
    (
        "src/web/progress.rs",
        &["LINE_INTERVAL"],
        "the pause between two lines of progress",
    ),
    (
        "src/evidence/ocr/crop.rs",
        &["MAX_ENLARGEMENT", "MAX_SAMPLES"],
        "how pictures are scaled; the pixels have limits of their own",
    ),
    (
        "src/evidence/ocr/layout/table.rs",
        &["MOST"],
        "a share that distinguishes tables from columns",
    ),
    (
        "src/evidence/store/parquet.rs",
        &["MAX_ROWS", "MAX_BYTES"],
        "when riposte writes a row group",
    ),
    (
        "src/index/inverted/build.rs",
        &["PATIENCE"],
        "a race between threads of riposte",
    ),
    (
        "src/index/inverted/mod.rs",
        &["MAX_PRECOMPUTED_LENGTH"],
        "the size of a table of scores; others are computed when they are needed",
    ),
    (
        "src/index/inverted/update.rs",
        &["MAX_SEGMENTS"],
        "when riposte merges segments",
    ),
    (
        "src/serve/desk.rs",
        &["LOOK_EVERY"],
        "the pause between two looks at the files of collections",
    ),
    (
        "src/reading/stance_encoder.rs",
        &["MAX_STEP"],
        "the range of 4-bit numbers",
    ),
    (
        "src/report/chart.rs",
        &["MAX_STEP"],
        "the layout of a chart",
    ),
    (
        "src/report/images.rs",
        &["MAX_THUMBNAILS"],
        "the layout of a table",
    ),
    (
        "src/score/linear.rs",
        &["MAX_DEVIATIONS"],
        "where a feature is clamped: a part of the score",
    ),
    (
        "src/score/object_stance.rs",
        &["MAX_SENTENCE_WORDS"],
        "which texts count as short: a part of the score",
    ),
    (
        "src/score/object_stance/cues.rs",
        &[
            "MAX_BEFORE_COMPARATIVE",
            "MAX_TO_THAN",
            "MAX_AFTER_THAN",
            "MAX_AFTER_CHOICE",
        ],
        "which words belong together: a part of the score",
    ),
    (
        "src/score/object_stance/mentions.rs",
        &["MAX_GAP"],
        "which words belong together: a part of the score",
    ),
    (
        "src/score/stance.rs",
        &["MAX_CONTRIBUTION"],
        "where a signal is clamped: a part of the score",
    ),
    (
        "src/score/text_stance.rs",
        &["PIECE_LIMIT", "TAGS_LIMIT"],
        "bound log-odds",
    ),
    (
        "src/systems/aramis.rs",
        &["LARGEST_DIAGRAM"],
        "a share that distinguishes diagrams from pictures",
    ),
    (
        "src/systems/chatnoir.rs",
        &["FIRST_PAUSE"],
        "the pauses double up to MAX_PAUSE, which is a limit",
    ),
    (
        "src/systems/k_means.rs",
        &["MAX_STEPS"],
        "the precision of a computation",
    ),
    (
        "src/systems/manifold.rs",
        &["LARGEST_SCALE", "MOST_STEPS"],
        "the precision of a computation",
    ),
    (
        "src/systems/picture_clusters/components.rs",
        &["MAX_STEPS"],
        "the precision of a computation",
    ),
    (
        "src/systems/trees.rs",
        &["MAX_DEPTH"],
        "the trees are in the program",
    ),
    (
        "src/runs/resources.rs",
        &["TICK"],
        "the unit of Linux's times of processes",
    ),
    (
        "crates/riposte-claims/src/tagger/model.rs",
        &["MOST_BYTES"],
        "the weights of the tagger are in the program",
    ),
    (
        "crates/riposte-nn/src/conv/buffers.rs",
        &["MAX_FREE"],
        "how many buffers are kept for the next layer",
    ),
    (
        "crates/riposte-nn/src/conv/lower.rs",
        &["MAX_INT8_WINDOW_ROWS"],
        "which convolutions are computed in int8",
    ),
    (
        "crates/riposte-serve/src/connections.rs",
        &["PAUSE", "GLANCE"],
        "the pauses between two tries to accept a connection, and between two looks at threads that end",
    ),
];

/// A number, or a time in seconds.
#[derive(Clone, Copy, Debug)]
struct Value {
    number: f64,
    is_time: bool,
}

impl PartialEq for Value {
    /// Up to rounding: 0.9 million in the page is 0.9e6 in the code.
    fn eq(&self, other: &Value) -> bool {
        let difference = (self.number - other.number).abs();
        self.is_time == other.is_time && difference <= self.number.abs() * 1e-12
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.number, if self.is_time { " s" } else { "" })
    }
}

// ---- the code ----

/// A constant that is a number or a time, as the source has it.
struct Constant {
    kind: String,
    expression: String,
}

/// The constants of a file, by their names.
type Constants = BTreeMap<String, Constant>;

/// Whether a constant of this type is a number or a time.
fn is_number(kind: &str) -> bool {
    let kinds = "u8 u16 u32 u64 usize i32 i64 f32 f64 Duration";
    kinds.split(' ').any(|number| number == kind)
}

/// The part of a file before its tests, which are at the end.
fn without_tests(source: &str) -> &str {
    let tests = source.match_indices("\n#[cfg(test)]\nmod ");
    let mut modules = tests.filter(|(at, found)| {
        let rest = &source[at + found.len()..];
        rest.lines().next().is_some_and(|line| line.ends_with('{'))
    });
    modules.next().map_or(source, |(at, _)| &source[..at])
}

fn constants(source: &str) -> Constants {
    let mut constants = Constants::new();
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let declared = line.trim_start();
        let is_constant = declared.starts_with("const ")
            || declared.starts_with("pub") && declared.contains(" const ");
        if !is_constant {
            continue;
        }
        let declared = source[begin..].split_once("const ").map(|(_, rest)| rest);
        let parts = declared.and_then(|rest| {
            let (name, rest) = rest.split_once(": ")?;
            let (kind, rest) = rest.split_once('=')?;
            let (expression, _) = rest.split_once(';')?;
            Some((name, kind.trim(), expression.trim()))
        });
        if let Some((name, kind, expression)) = parts
            && is_number(kind)
        {
            let (kind, expression) = (kind.to_owned(), expression.to_owned());
            constants.insert(name.to_owned(), Constant { kind, expression });
        }
    }
    constants
}

/// The files of the program and its crates, by their paths, without tests.
static SOURCES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    fn walk(dir: &Path, sources: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && name != "tests" {
                walk(&path, sources);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let inside = path.strip_prefix(root()).unwrap();
                let source = fs::read_to_string(&path).unwrap();
                let source = without_tests(&source).to_owned();
                sources.insert(inside.display().to_string(), source);
            }
        }
    }
    let mut sources = BTreeMap::new();
    walk(&root().join("src"), &mut sources);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        walk(&entry.unwrap().path().join("src"), &mut sources);
    }
    sources
});

/// Evaluates the expression of a constant. It can use numbers, `+ - * /`, `<<`, parentheses, `as`, two constructors of `Duration`, and other constants
/// of the file.
struct Evaluation<'s> {
    rest: &'s str,
    constants: &'s Constants,
}

/// The sign of an operator, and what it does.
type Operator = (&'static str, fn(f64, f64) -> f64);

impl<'s> Evaluation<'s> {
    /// The value of a constant; `None` if its expression has something else.
    fn of(name: &str, constants: &'s Constants) -> Option<Value> {
        let rest = constants.get(name)?.expression.as_str();
        let mut evaluation = Evaluation { rest, constants };
        let value = evaluation.shift()?;
        evaluation.rest.trim().is_empty().then_some(value)
    }

    fn takes(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        rest.inspect(|rest| self.rest = rest).is_some()
    }

    fn shift(&mut self) -> Option<Value> {
        let mut value = self.sum()?;
        while self.takes("<<") {
            value.number *= self.sum()?.number.exp2();
        }
        Some(value)
    }

    fn sum(&mut self) -> Option<Value> {
        self.operations(&[("+", f64::add), ("-", f64::sub)], Self::product)
    }

    fn product(&mut self) -> Option<Value> {
        self.operations(&[("*", f64::mul), ("/", f64::div)], Self::operand)
    }

    fn operations(
        &mut self,
        operators: &[Operator],
        operand: fn(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let mut value = operand(self)?;
        while let Some((_, apply)) = operators.iter().find(|(sign, _)| self.takes(sign)) {
            value.number = apply(value.number, operand(self)?.number);
        }
        Some(value)
    }

    fn operand(&mut self) -> Option<Value> {
        let value = if self.takes("Duration::from_secs") {
            self.time(1.0)
        } else if self.takes("Duration::from_millis") {
            self.time(1e-3)
        } else if self.takes("(") {
            let value = self.shift()?;
            self.takes(")").then_some(value)
        } else {
            let text = self.rest.trim_start();
            let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.';
            let mut end = text.find(ends).unwrap_or(text.len());
            if text[..end].ends_with('e') && text[end..].starts_with('-') {
                let exponent = &text[end + 1..];
                end += 1 + exponent.find(ends).unwrap_or(exponent.len());
            }
            let (word, rest) = text.split_at(end);
            self.rest = rest;
            let number = word.replace('_', "").parse().ok();
            let number = number.filter(|_| word.starts_with(|c: char| c.is_ascii_digit()));
            let is_time = false;
            match number {
                Some(number) => Some(Value { number, is_time }),
                None => Evaluation::of(word, self.constants),
            }
        };
        if self.takes("as ") {
            let rest = self.rest.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
            self.rest = &rest[end.unwrap_or(rest.len())..];
        }
        value
    }

    fn time(&mut self, seconds: f64) -> Option<Value> {
        let count = self.takes("(").then(|| self.shift())??;
        let number = count.number * seconds;
        let is_time = true;
        self.takes(")").then_some(Value { number, is_time })
    }
}

// ---- the page ----

/// A row of a table.
struct Row<'p> {
    /// The number of its line.
    line: usize,
    what: &'p str,
    limit: &'p str,
    beyond: &'p str,
    /// The constants of its limit, each with its file, in their order. `None` if the row says that its limit is no number of the code.
    constants: Option<Vec<(String, &'p str)>>,
}

/// Reads the tables. Each row has what, limit, reason, beyond it, constants.
fn rows(page: &str) -> Vec<Row<'_>> {
    let lines = (1..).zip(page.lines());
    let lines = lines.filter(|(_, line)| line.starts_with("| ") && !line.starts_with("| what |"));
    let rows = lines.map(|(line, row)| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let &[what, limit, _, beyond, named] = cells.as_slice() else {
            panic!("{PAGE}:{line}: {} cells", cells.len());
        };
        let mut file = None;
        let mut constants = Vec::new();
        for span in named.split('`').skip(1).step_by(2) {
            if span.ends_with(".rs") {
                let of_crate = span.starts_with("riposte-");
                let above = if of_crate { "crates" } else { "src" };
                file = Some(format!("{above}/{span}"));
                let file = file.as_deref().unwrap();
                assert!(root().join(file).is_file(), "{PAGE}:{line}: no {file}");
            } else {
                let file = file.clone();
                let file = file.unwrap_or_else(|| panic!("{PAGE}:{line}: {span} has no file"));
                constants.push((file, span));
            }
        }
        assert!(
            named == "–" || file.is_some(),
            "{PAGE}:{line}: the last column names no file, and is no –"
        );
        Row {
            line,
            what,
            limit,
            beyond,
            constants: (named != "–").then_some(constants),
        }
    });
    rows.collect()
}

/// The factor that a word after a number stands for, such as MiB, and whether the number is a time.
fn unit(word: &str) -> Option<(f64, bool)> {
    Some(match word {
        "kB" => (1e3, false),
        "MB" | "million" => (1e6, false),
        "GB" => (1e9, false),
        "KiB" => (2f64.powi(10), false),
        "MiB" => (2f64.powi(20), false),
        "GiB" => (2f64.powi(30), false),
        "s" => (1.0, true),
        "minutes" => (60.0, true),
        _ => return None,
    })
}

/// The numbers in a cell as they are written, with their values: "1,000", "256 MiB", "2^27", "1e-9". What is code is left out, and so are digits within
/// words.
fn numbers(cell: &str) -> Vec<(String, Value)> {
    let mut numbers = Vec::new();
    let prose = cell.split('`').step_by(2);
    for text in prose {
        let mut rest = text;
        let mut before = ' ';
        while let Some(first) = rest.chars().next() {
            if !first.is_ascii_digit() || before.is_alphanumeric() {
                before = first;
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let end = number_end(rest);
            let (written, after) = rest.split_at(end);
            let plain = written.replace(',', "");
            let number: f64 = match plain.split_once('^') {
                Some((base, exponent)) => {
                    let base: f64 = base.parse().unwrap();
                    base.powf(exponent.parse().unwrap())
                }
                None => plain.parse().unwrap(),
            };
            let word = after.strip_prefix(' ').unwrap_or_default();
            let word = word.split(|c: char| !c.is_alphabetic()).next().unwrap();
            let (written, (factor, is_time)) = match unit(word) {
                Some(unit) => (format!("{written} {word}"), unit),
                None => (written.to_owned(), (1.0, false)),
            };
            let number = number * factor;
            numbers.push((written, Value { number, is_time }));
            rest = after;
            before = '0';
        }
    }
    numbers
}

/// The length of the number at the beginning of a text. A comma, dot, caret, "e" or "e-" is a part of it only before a digit, so that a list of
/// numbers is several.
fn number_end(text: &str) -> usize {
    let is_digit = |at: usize| text[at..].starts_with(|c: char| c.is_ascii_digit());
    let mut end = 0;
    loop {
        let joins = [",", ".", "^", "e-", "e"];
        let join = joins
            .iter()
            .find(|join| text[end..].starts_with(**join) && is_digit(end + join.len()));
        match join {
            _ if is_digit(end) => end += 1,
            Some(join) => end += join.len(),
            None => return end,
        }
    }
}

// ---- their comparison ----

/// What is wrong with a row. A limit and its constants are in the same order, and a number can stand for several constants.
fn faults(row: &Row, code: &BTreeMap<String, Constants>) -> Vec<String> {
    let Some(constants) = &row.constants else {
        return Vec::new();
    };
    let at = format!("{PAGE}:{}: {:?}", row.line, row.what);
    let mut faults = Vec::new();
    let mut known = Vec::new();
    for (file, name) in constants {
        let of_file = code.get(file);
        match of_file.and_then(|of_file| Evaluation::of(name, of_file)) {
            Some(value) => known.push((file, name, value)),
            None if of_file.is_some_and(|of_file| of_file.contains_key(*name)) => faults.push(
                format!("{at}: {file} has a {name} that this test cannot evaluate"),
            ),
            None => faults.push(format!("{at}: {file} has no constant {name}")),
        }
    }
    let stated = numbers(row.limit);
    let all_of = |texts: Vec<String>| match texts.is_empty() {
        true => "no number".to_owned(),
        false => texts.join(", "),
    };
    for (file, name, value) in &known {
        if stated.iter().all(|(_, number)| number != value) {
            let stated = all_of(stated.iter().map(|(written, _)| written.clone()).collect());
            faults.push(format!(
                "{at}: {name} in {file} is {value}, but the limit column has {stated}"
            ));
        }
    }
    let of_limit = stated.iter().map(|number| (number, "limit"));
    let beyond = numbers(row.beyond);
    let of_beyond = beyond.iter().map(|number| (number, "beyond it"));
    for ((written, number), column) in of_limit.chain(of_beyond) {
        if known.iter().all(|(.., value)| value != number) {
            let known = known.iter().map(|(file, name, value)| {
                let of = format!("{name} in {file}");
                format!("{of} is {value}")
            });
            let known = all_of(known.collect());
            faults.push(format!(
                "{at}: the column {column:?} has {written} ({number}), but {known}"
            ));
        }
    }
    if faults.is_empty() {
        let mut from = 0;
        let is_next = |(.., value): &(_, _, Value)| {
            let later = stated[from..]
                .iter()
                .position(|(_, number)| number == value);
            later.inspect(|at| from += at).is_some()
        };
        if !known.iter().all(is_next) {
            let names: Vec<&str> = known.iter().map(|(_, name, _)| **name).collect();
            faults.push(format!(
                "{at}: {} are not in the order of the numbers",
                names.join(", ")
            ));
        }
    }
    faults
}

fn page() -> String {
    fs::read_to_string(root().join(PAGE)).unwrap()
}

fn code() -> BTreeMap<String, Constants> {
    let sources = SOURCES.iter();
    let of_file = sources.map(|(file, source)| (file.clone(), constants(source)));
    of_file.collect()
}

#[test]
fn each_limit_in_the_page_is_the_one_in_the_code() {
    let (page, code) = (page(), code());
    let rows = rows(&page);
    assert!(rows.len() > 50, "{PAGE} has {} rows", rows.len());
    let faults: Vec<String> = rows.iter().flat_map(|row| faults(row, &code)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_limit_in_the_code_is_in_the_page() {
    let (page, code) = (page(), code());
    let rows = rows(&page);
    let stated: Vec<(&str, &str)> = rows
        .iter()
        .flat_map(|row| row.constants.iter().flatten())
        .map(|(file, name)| (file.as_str(), *name))
        .collect();
    let excluded: Vec<(&str, &str)> = NO_LIMITS
        .iter()
        .flat_map(|(file, names, _)| names.iter().map(|name| (*file, *name)))
        .collect();
    let mut faults = Vec::new();
    for (file, constants) in &code {
        for (name, Constant { kind, expression }) in constants {
            let is_limit =
                kind == "Duration" || name.split('_').any(|word| WORDS_FOR_LIMITS.contains(&word));
            let key = (file.as_str(), name.as_str());
            if is_limit && !stated.contains(&key) && !excluded.contains(&key) {
                faults.push(format!(
                    "{file}: {name} = {expression} is not in {PAGE}: add a row with its reason and what happens beyond it or, if it bounds nothing from outside, add it to NO_LIMITS"
                ));
            }
        }
    }
    for (file, name) in &excluded {
        if !code.get(*file).is_some_and(|of| of.contains_key(*name)) {
            faults.push(format!("NO_LIMITS has {name}, which {file} has not"));
        }
        if stated.contains(&(*file, *name)) {
            faults.push(format!("{PAGE} and NO_LIMITS both have {name} of {file}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A size or a time in the middle of a function would be seen by neither of the tests above.
#[test]
fn sizes_and_times_have_names() {
    /// A line with such a number that is no limit.
    const UNIT: &str = "f64::from(1 << 20)";
    let is_digit = |c: char| c.is_ascii_digit();
    let mut faults = Vec::new();
    for (file, source) in &*SOURCES {
        for (number, line) in (1..).zip(source.lines()) {
            let is_size = ["<< 20", "<< 30"].iter().any(|shift| {
                let shifted = line.split_once(shift);
                shifted.is_some_and(|(before, _)| before.trim_end().ends_with(is_digit))
            });
            let time = line.split_once("from_secs(");
            let is_time = time.is_some_and(|(_, seconds)| seconds.starts_with(is_digit));
            if !is_size && !is_time {
                continue;
            }
            let is_comment = line.trim_start().starts_with("//");
            let is_named = line.contains("const ");
            if !is_comment && !is_named && !line.contains(UNIT) {
                faults.push(format!("{file}:{number}: {}: give it a name", line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn expressions_and_numbers_are_read() {
    let source = "const A: usize = 1_024;\npub(super) const B: u64 = (A as u64 + 2) << 1 + 1;\n    const TIME: Duration =\n        Duration::from_secs(15 * 60);\nconst PAUSE: Duration = Duration::from_millis(100);\nconst SMALL: f64 = 1e-9;\nconst HALF: f32 = 0.3e6 / 2.0;\nconst OTHER: usize = size_of::<f32>();\n";
    let constants = constants(source);
    let value = |name: &str| Evaluation::of(name, &constants).map(|value| value.to_string());
    for (name, expected) in [
        ("A", Some("1024")),
        ("B", Some("4104")),
        ("TIME", Some("900 s")),
        ("PAUSE", Some("0.1 s")),
        ("SMALL", Some("0.000000001")),
        ("HALF", Some("150000")),
        ("OTHER", None),
    ] {
        assert_eq!(value(name).as_deref(), expected, "{name}");
    }
    let cell = "zero, from 1e-9 to 1e6; `--threads 7`, PP-OCRv4, 1,000,000 nodes, 64, 65,536, 0.9 million, 256 MiB, 10 minutes, 5 s, 2^27, 10^15.";
    let found: Vec<String> = numbers(cell)
        .into_iter()
        .map(|(written, value)| format!("{written} = {value}"))
        .collect();
    assert_eq!(
        found,
        [
            "1e-9 = 0.000000001",
            "1e6 = 1000000",
            "1,000,000 = 1000000",
            "64 = 64",
            "65,536 = 65536",
            "0.9 million = 900000",
            "256 MiB = 268435456",
            "10 minutes = 600 s",
            "5 s = 5 s",
            "2^27 = 134217728",
            "10^15 = 1000000000000000",
        ]
    );
}
