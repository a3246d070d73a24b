//! `benches/growth.py` measures what it says, and its exponents are those of the times.

use std::fs;
use std::process::Command;

use crate::support::files::text;
use crate::support::need::{Python, need};
use crate::support::program::{WorkDir, built, stderr, stdout, succeed};
use crate::support::root;

const RIPOSTE: &str = env!("CARGO_BIN_EXE_riposte");

#[test]
fn time_and_memory_are_measured_for_each_size() {
    let Some(python) = need(Python) else {
        return;
    };
    let dir = WorkDir::new();
    let tools = built("", "collection-tools");
    let mut command = Command::new(&python);
    command.arg(root().join("benches/growth.py")).arg(RIPOSTE);
    // nothing is asked of the second program
    command.args(["none", text(&tools), text(&dir.path("growth"))]);
    command.args(["--only", "index,extract", "--sizes", "40,80"]);
    command.args(["--images", "4", "--work", text(&dir.path("work"))]);
    let shown = stdout(&succeed(&mut command));
    // what has been measured is kept
    let again = succeed(&mut command);
    assert_eq!(stdout(&again), shown);
    assert!(!stderr(&again).contains("index, "), "{}", stderr(&again));
    assert_eq!(
        shown,
        fs::read_to_string(dir.path("growth.md")).unwrap(),
        "the table is printed and kept"
    );
    let json = fs::read_to_string(dir.path("growth.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let points = report["points"].as_array().unwrap();
    let named = points.iter().map(|point| {
        assert!(
            point["seconds"].as_f64().unwrap() > 0.0 && point["peak_mb"].as_f64().unwrap() > 1.0
        );
        (
            point["work"].as_str().unwrap(),
            point["size"].as_u64().unwrap(),
        )
    });
    let named: Vec<_> = named.collect();
    assert_eq!(
        named,
        [
            ("index", 40),
            ("search", 40),
            ("index", 80),
            ("search", 80),
            ("extract", 4)
        ]
    );
    for work in ["index", "search", "extract"] {
        assert!(shown.contains(&format!("| {work} | ")), "{shown}");
    }
}

/// What grows with the size has the exponent 1, and what grows with its power 1.2 is marked.
#[test]
fn exponents_are_the_slopes_of_the_logarithms() {
    let Some(python) = need(Python) else {
        return;
    };
    let script = "import growth\n\
        sizes = (10, 100, 1000)\n\
        power = lambda work, b: [growth.Point(work, n, n ** b / 100, 5) for n in sizes]\n\
        late = [growth.Point('late', n, t, 5) for n, t in zip(sizes, (1, 1, 10))]\n\
        print(growth.table(power('linear', 1) + power('steep', 1.2) + late + [growth.Point('one', 5, 1.0, 3)]))";
    let mut command = Command::new(&python);
    command
        .args(["-c", script])
        .env("PYTHONPATH", root().join("benches"));
    let shown = stdout(&succeed(&mut command));
    let row = |work: &str| {
        let begin = format!("| {work} |");
        shown.lines().find(|line| line.starts_with(&begin)).unwrap()
    };
    assert!(row("linear").ends_with("| 1.00 | 1.00 |"), "{shown}");
    assert!(row("steep").ends_with("| **1.20** | **1.20** |"), "{shown}");
    assert!(row("late").ends_with("| 0.50 | 1.00 |"), "{shown}");
    // one size has no slope
    assert!(row("one").ends_with("MB |  |  |"), "{shown}");
}
