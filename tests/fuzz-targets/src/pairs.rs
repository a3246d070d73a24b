//! Lines of `stance --jsonl` and `quality --jsonl`. The program reads them, and not the library, so the program's file with the reader is compiled
//! here as well.

#[path = "../../../src/cli/lines/questions.rs"]
mod questions;

use std::io::Cursor;

use anyhow::Result;
use questions::{Batch, BoundedLines, QualityLine, StanceLine};
use riposte::answer::{quality, stance};
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value, json};

pub const WORDS: &[&[u8]] = &[
    br#"{"id":1,"topic":"Should zoos be closed?","text":"Zoos are cruel."}"#,
    br#"{"id":"a","objects":["cats","dogs"],"text":"Cats are better than dogs."}"#,
    br#""id":null,"#,
    br#""id":1.0,"#,
    br#""id":-0,"#,
    br#""id":0.1000000000000000055511151231257827,"#,
    br#""id":123456789012345678901234567890,"#,
    br#""id":1E+400,"#,
    br#""id":{"b":1,"a":[1, 2],"b":2},"#,
    br#""id":"\u0041\/\ud83d\ude00","#,
    br#""id" : [ true , null ] ,"#,
    br#""id":{"$serde_json::private::RawValue":"1"},"#,
    br#""topic":"","#,
    br#""objects":["","b"],"#,
    br#""text":"","#,
    br#""text":7,"#,
    br#""stance":"PRO","#,
    b"\\ud800",
    b"\\u0000",
    b"[[[[[[[[",
    b"]]]]]]]]",
    b"\n",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\xff",
];

/// Answers the lines of a file by words alone, as `stance` and as `quality`. The answer to a line has its id and text, byte by byte.
pub fn pairs(bytes: &[u8]) {
    check(
        bytes,
        |line| serde_json::from_slice::<StanceLine>(line)?.question(),
        |questions| {
            for question in questions {
                question.cuts(true);
            }
            let answers = stance::answer(questions, None, true)?.into_iter();
            Ok(answers
                .map(|(_, explanation)| json!({"explanation": explanation}))
                .collect())
        },
    );
    check(
        bytes,
        |line| serde_json::from_slice::<QualityLine>(line)?.question(),
        |questions| {
            let rated = quality::rate(questions, None)?.into_iter();
            Ok(rated
                .map(|explanation| {
                    let quality = explanation.value();
                    assert!((0.0..=1.0).contains(&quality), "{quality}");
                    json!({"quality": quality, "explanation": explanation})
                })
                .collect())
        },
    );
}

/// Answers the lines, and compares each with its answer.
fn check<Q>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<Q>,
    answer: impl Fn(&[Q]) -> Result<Vec<Value>>,
) {
    let mut input = BoundedLines::new(Box::new(Cursor::new(bytes.to_vec())));
    let lines = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut numbered = (1..).zip(lines.split(|byte| *byte == b'\n'));
    let mut next_line = || numbered.find(|(_, line)| !line.trim_ascii().is_empty());
    let mut faults = Vec::new();
    loop {
        let batch = Batch::next(&mut input, &read, |number, _| faults.push(number));
        let Some(batch) = batch.expect("memory can be read") else {
            break;
        };
        let answers = answer(&batch.questions).expect("words can be counted");
        let mut numbers = batch.numbers.iter();
        for answered in batch.answered(answers) {
            let (number, line) = next_line().expect("there are as many answers as lines");
            match answered {
                None => assert!(faults.contains(&number), "line {number}"),
                Some(answered) => {
                    assert_eq!(numbers.next(), Some(&number));
                    let written = serde_json::to_string(&answered);
                    compare(line, &written.expect("an answer can be written"));
                }
            }
        }
    }
    assert_eq!(next_line(), None);
}

/// Checks that an answer begins with the id and the text of its line.
fn compare(line: &[u8], written: &str) {
    assert!(!written.contains('\n'), "{written}");
    // other fields of a line need not be UTF-8
    let line_text = String::from_utf8_lossy(line);
    let mut rest = written;
    for (key, begins) in [("id", "{\"id\":"), ("text", "\"text\":")] {
        let Some(after) = rest.strip_prefix(begins) else {
            // the line has no id
            assert_eq!(key, "id");
            rest = rest.strip_prefix('{').expect("an answer is an object");
            continue;
        };
        let mut values = Deserializer::from_str(after).into_iter::<IgnoredAny>();
        assert!(values.next().is_some_and(|value| value.is_ok()));
        let (value, behind) = after.split_at(values.byte_offset());
        assert!(line_text.contains(value), "{value} is not in the line");
        rest = behind.strip_prefix(',').expect("more fields follow");
    }
    // values that serde_json cannot hold, such as 1e999, cannot be compared by their meaning
    let given = serde_json::from_slice::<Value>(line);
    let answer = serde_json::from_str::<Value>(written);
    if let (Ok(given), Ok(answer)) = (given, answer) {
        assert_eq!(answer.get("id"), given.get("id"));
        assert_eq!(answer["text"], given["text"]);
        // JSON has no infinite numbers: they would be null
        assert!(answer["explanation"]["value"].is_number());
    }
}
