//! docs/limits.md has the limits of the code: its tables are made of `riposte::limits::LIMITS`.

use std::fs;

use riposte::limits::{LIMITS, Limit};

use crate::support::root;

const PAGE: &str = "docs/limits.md";

/// The environment variable with which the test writes the page instead of comparing it.
const WRITE: &str = "RIPOSTE_WRITE_LIMITS";

/// The sizes by which a number of bytes is divided, if nothing is left.
const UNITS: [(&str, f64); 4] = [
    ("GiB", (1 << 30) as f64),
    ("MiB", (1 << 20) as f64),
    ("MB", 1e6),
    ("KiB", (1 << 10) as f64),
];

/// A value as a reader sees it: "256 MiB", "2,000,000", "60 s", "1e-9".
fn shown(limit: &Limit) -> String {
    let value = format!("{:?}", limit.value);
    let Ok(number) = value.parse::<f64>() else {
        // a time: "60s"
        let unit = value.find(char::is_alphabetic).unwrap();
        return format!("{} {}", &value[..unit], &value[unit..]);
    };
    if !limit.name.ends_with("_BYTES") {
        return grouped(value.trim_end_matches(".0"));
    }
    let unit = UNITS.iter().find(|(_, size)| number % size == 0.0);
    match unit {
        Some((name, size)) => format!("{} {name}", grouped(&(number / size).to_string())),
        None => format!("{} bytes", grouped(&value)),
    }
}

/// Commas between thousands.
fn grouped(number: &str) -> String {
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let first = number.len() % 3;
    let mut grouped = number.to_owned();
    for at in (first..number.len()).step_by(3).rev().filter(|at| *at > 0) {
        grouped.insert(at, ',');
    }
    grouped
}

fn row(limit: &Limit) -> String {
    let [what, why, beyond] = [limit.what, limit.why, limit.beyond].map(|text| {
        let text = text.trim();
        text.strip_suffix('.').unwrap_or(text)
    });
    let (value, name) = (shown(limit), limit.name);
    format!("| {what} | {value} | {why} | {beyond} | `{name}` |\n")
}

/// The page with its tables made again: each run of lines that begin with "|" is one.
fn made_again(page: &str) -> String {
    let mut lists = LIMITS.iter();
    let mut made = String::new();
    let mut is_table = false;
    for line in page.split_inclusive('\n') {
        let was_table = std::mem::replace(&mut is_table, line.starts_with('|'));
        if !is_table {
            made.push_str(line);
        } else if !was_table {
            made.push_str(
                "| what | limit | reason | beyond it | constant |\n|---|---|---|---|---|\n",
            );
            let list = lists.next().expect("a table for each list of limits");
            made.extend(list.iter().map(row));
        }
    }
    assert!(lists.next().is_none(), "{PAGE} has too few tables");
    made
}

#[test]
fn the_page_has_the_limits_of_the_code() {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let made = made_again(&page);
    if std::env::var_os(WRITE).is_some() {
        fs::write(path, made).unwrap();
        return;
    }
    for (line, (found, expected)) in (1..).zip(page.lines().zip(made.lines())) {
        assert_eq!(found, expected, "{PAGE}:{line}: {WRITE}=1 writes it again");
    }
    assert_eq!(page.len(), made.len(), "{PAGE}: {WRITE}=1 writes it again");
}
