//! After a broken argument, the reader continues. It finds the same arguments as a simpler, slow reader, in a time that is linear in the size of
//! the file.

use std::fs;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use riposte::collection::arguments::ArgumentCollection;
use serde::Deserialize;

/// An item that a reader returns: the id of an argument, or the line of a fault.
#[derive(Debug, PartialEq)]
enum Read {
    Argument(String),
    Fault(Option<u64>),
}

fn read(bytes: &[u8]) -> Vec<Read> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("args-me.json");
    fs::write(&path, bytes).unwrap();
    let collection = ArgumentCollection::open(&path).unwrap();
    let read = collection.arguments().map(|read| match read {
        Ok(argument) => Read::Argument(argument.id.0),
        Err(fault) => Read::Fault(fault.line),
    });
    read.collect()
}

/// The former reader, which counts braces again from each position where an argument can begin. Its time grows with the square of the file.
mod oracle {
    use super::*;

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "the fields decide what can be parsed")]
    struct Argument {
        id: String,
        conclusion: Option<String>,
        premises: Vec<Premise>,
        context: Option<Context>,
    }

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "the fields decide what can be parsed")]
    struct Premise {
        text: Option<String>,
        stance: Option<String>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code, reason = "the fields decide what can be parsed")]
    struct Context {
        discussion_title: Option<String>,
        topic: Option<String>,
        source_title: Option<String>,
        source_url: Option<String>,
        source_text: Option<String>,
    }

    fn object_end(bytes: &[u8], start: usize) -> Option<usize> {
        let (mut at, mut depth, mut string) = (start, 0usize, false);
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match (string, byte) {
                (true, b'\\') => at += 1,
                (_, b'"') => string = !string,
                (false, b'{') => depth += 1,
                (false, b'}') => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn next_id(bytes: &[u8], from: usize, end: usize) -> Option<usize> {
        (from..end).find(|at| {
            bytes[*at] == b'{' && bytes[at + 1..end].trim_ascii_start().starts_with(b"\"id\"")
        })
    }

    pub fn read(bytes: &[u8]) -> Vec<Read> {
        let mut out = Vec::new();
        let line = |at: usize| {
            Some(
                1 + bytes[..at.min(bytes.len())]
                    .iter()
                    .filter(|b| **b == b'\n')
                    .count() as u64,
            )
        };
        let find = |from: usize, wanted: &dyn Fn(u8) -> bool| {
            (from..bytes.len()).find(|at| wanted(bytes[*at]))
        };
        let mut at = 0;
        let mut has_array = false;
        'outside: loop {
            let Some(open) = find(at, &|b| b == b'[') else {
                if !has_array {
                    out.push(Read::Fault(line(bytes.len())));
                }
                return out;
            };
            has_array = true;
            at = open + 1;
            loop {
                let Some(next) = find(at, &|b| b != b',' && !b.is_ascii_whitespace()) else {
                    out.push(Read::Fault(line(bytes.len())));
                    return out;
                };
                at = next;
                match bytes[at] {
                    b']' => {
                        // the bracket itself does not open another one
                        continue 'outside;
                    }
                    b'{' => {}
                    _ => {
                        out.push(Read::Fault(line(at)));
                        at = find(at, &|b| b == b'{' || b == b']').unwrap_or(bytes.len());
                        continue;
                    }
                }
                let Some(end) = object_end(bytes, at) else {
                    out.push(Read::Fault(line(at)));
                    match next_id(bytes, at + 1, bytes.len()) {
                        Some(next) => at = next,
                        None => return out,
                    }
                    continue;
                };
                match serde_json::from_slice::<Argument>(&bytes[at..end]) {
                    Ok(argument)
                        if argument.id.is_empty()
                            || argument
                                .id
                                .contains(|c: char| c.is_whitespace() || c.is_control()) =>
                    {
                        out.push(Read::Fault(line(at)));
                        at = next_id(bytes, at + 1, end).unwrap_or(end);
                    }
                    Ok(argument) => {
                        out.push(Read::Argument(argument.id));
                        at = end;
                    }
                    Err(error) => {
                        let within = (error.line() as u64).saturating_sub(1);
                        out.push(Read::Fault(line(at).map(|line| line + within)));
                        at = next_id(bytes, at + 1, end).unwrap_or(end);
                    }
                }
            }
        }
    }
}

/// Pieces of intact and damaged arguments.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-d]".prop_map(|id| format!(
            "{{\"id\": \"{id}\", \"conclusion\": \"c\", \"premises\": [{{\"text\": \"t\", \"stance\": \"CON\"}}], \"context\": {{}}}},\n"
        )),
        2 => prop::sample::select(vec![
            "{\"id\"", "{ \"id\": \"x\"", "{\"id\": {\"id\": \"x\", \"premises\": []", "{\"id\": \"x\", \"k\": {", "\"premises\": []}",
        ]).prop_map(String::from),
        3 => "[{}\\[\\]\",:\\\\ \nx]{1,3}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn as_many_arguments_are_read_as_when_braces_were_counted_anew(
        pieces in prop::collection::vec(piece(), 0..14),
        closed in any::<bool>(),
    ) {
        let text = format!("{{\"arguments\": [{}{}", pieces.concat(), if closed { "]}" } else { "" });
        prop_assert_eq!(read(text.as_bytes()), oracle::read(text.as_bytes()), "{}", text);
    }

    #[test]
    fn a_damaged_byte_costs_as_many_arguments_as_before(
        victim in 0usize..6, at in 0usize..200, byte in any::<u8>(),
    ) {
        let argument = |n: usize| format!(
            "{{\"id\": \"a{n}\", \"conclusion\": \"c {n}\", \"premises\": [{{\"text\": \"t \\\" }} {n}\", \"stance\": \"PRO\"}}]}}"
        );
        let all: Vec<String> = (0..6).map(argument).collect();
        let before: usize = all[..victim].iter().map(|a| a.len() + 2).sum();
        let mut bytes = format!("[{}]", all.join(",\n")).into_bytes();
        bytes[1 + before + at % all[victim].len()] = byte;
        prop_assert_eq!(read(&bytes), oracle::read(&bytes));
    }
}

/// Reads texts of growing sizes. The time per byte can grow at most tenfold.
#[track_caller]
fn assert_linear(name: &str, text: impl Fn(usize) -> String) {
    let mut first: Option<Duration> = None;
    for size in [10_000, 100_000, 1_000_000] {
        let bytes = text(size).into_bytes();
        let start = Instant::now();
        let read = read(&bytes);
        let took = start.elapsed();
        assert!(!read.is_empty());
        // 20 ms are in the range of the noise
        let unit = first.get_or_insert(took.max(Duration::from_millis(20)));
        let linear = *unit * (size / 10_000) as u32;
        assert!(
            took < linear * 10,
            "{name}: {size} took {took:?}, 10,000 took {unit:?}"
        );
    }
}

#[test]
fn the_time_for_damaged_files_is_linear_in_their_size() {
    assert_linear("ids", |n| {
        format!("{{\"arguments\":[{}", "{\"id\"".repeat(n))
    });
    assert_linear("closed ids", |n| {
        format!("[{}{}", "{\"id\":".repeat(n), "}".repeat(n))
    });
    assert_linear("nesting", |n| {
        format!("[{}{}", "{\"k\":[".repeat(n), "]}".repeat(n))
    });
    assert_linear("brackets", |n| format!("[{}", "[".repeat(n)));
    assert_linear("braces", |n| format!("[{}", "{".repeat(n)));
    assert_linear("strings", |n| format!("[{}", "{\"id\": \"x".repeat(n)));
    assert_linear("blanks", |n| format!("[{{\"id\"{}", " ".repeat(10 * n)));
    assert_linear("backslashes", |n| {
        format!("[{{\"id\": \"{}", "\\{\"id\"".repeat(n))
    });
}
