//! The args.me corpus: both versions, in one file or several, intact and damaged.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::entries::StoredText;
use riposte::collection::{Fault, FaultKind};
use riposte_eval::Stance;

use crate::support::assert_says;
use crate::support::collection::read_and_faults;
use crate::support::files::gzip;
use crate::support::need::{Data, need};

fn argument(id: &str, text: &str) -> String {
    format!(
        "{{\"id\": \"{id}\", \"conclusion\": \"c\", \"premises\": [{{\"text\": \"{text}\", \"stance\": \"CON\", \"annotations\": \
         [{{\"start\": 1}}]}}], \"context\": {{\"sourceId\": \"x\"}}}}"
    )
}

/// The arguments and the faults of a file with these bytes.
fn read(bytes: &[u8]) -> (Vec<StoredText>, Vec<Fault>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("args-me.json");
    fs::write(&path, bytes).unwrap();
    read_path(dir.path())
}

fn read_path(path: &Path) -> (Vec<StoredText>, Vec<Fault>) {
    read_and_faults(ArgumentCollection::open(path).unwrap().arguments())
}

fn ids(arguments: &[StoredText]) -> Vec<&str> {
    arguments.iter().map(|a| a.id.0.as_str()).collect()
}

#[test]
fn an_argument_of_either_version_is_read() {
    let text = r#"{"arguments": [
      {"id": "Sf9294c83-Af186e851", "conclusion": "Guns \"kill\" {[",
       "premises": [{"text": "one }] \\", "stance": "PRO", "annotations": []}, {"text": "two", "stance": "CON"}],
       "context": {"sourceUrl": "https://a.example/1", "sourceTitle": "s", "discussionTitle": "Gun control", "aspects": [{"name": "x"}]}},
      {"conclusion": null, "id": "10113b57-2019-04-18T17:05:08Z-00001-000",
       "premises": [{"text": "Grüße 😀", "stance": null}], "context": {"topic": "t", "discussionTitle": " "}},
      {"id": "bare", "premises": []}
    ]}"#;
    for bytes in [
        text.as_bytes().to_vec(),
        gzip(text),
        text.replace("{\"arguments\": ", "").into_bytes(),
    ] {
        let (arguments, faults) = read(&bytes);
        assert!(faults.is_empty(), "{faults:?}");
        let [first, second, third] = arguments.as_slice() else {
            panic!("{arguments:?}");
        };
        assert_eq!(first.texts[1], "Guns \"kill\" {[");
        assert_eq!(first.texts[0], "one }] \\\ntwo");
        assert_eq!(first.stance, Some(Stance::Pro));
        assert_eq!(first.texts[2], "Gun control");
        assert_eq!(first.url.as_deref(), Some("https://a.example/1"));
        assert_eq!(second.id.0, "10113b57-2019-04-18T17:05:08Z-00001-000");
        assert_eq!(
            (second.texts[1].as_str(), second.texts[2].as_str()),
            ("", "t")
        );
        assert_eq!(
            (second.texts[0].as_str(), second.stance),
            ("Grüße 😀", None)
        );
        assert_eq!((third.texts[0].as_str(), third.url.as_deref()), ("", None));
    }
}

/// Files are read in blocks of 2^18 bytes, and quotes are looked for in the rest of a block.
#[test]
fn texts_go_on_in_the_next_block_wherever_a_block_ends() {
    for cut in 0..40 {
        let text = "x".repeat((1 << 18) - 60 - cut) + r#"\\\" }]}, {[\"\\"#;
        let other = argument("other", "t");
        let file = format!(
            "{{\"arguments\": [{},\n{other}]}}",
            argument("first", &text)
        );
        let (arguments, faults) = read(file.as_bytes());
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(ids(&arguments), ["first", "other"]);
        assert!(
            arguments[0].texts[0].ends_with("x\\\" }]}, {[\"\\"),
            "{cut}"
        );
    }
}

#[test]
fn a_broken_argument_is_named_with_its_line_and_the_others_are_read() {
    let one = argument("one", "first");
    let last = argument("last", "the last");
    for (broken, line, what) in [
        (
            "{\"conclusion\": \"x\", \"premises\": []}",
            2,
            "missing field `id`",
        ),
        ("{\"id\": \"x\"}", 2, "missing field `premises`"),
        ("{\"id\": 7, \"premises\": []}", 2, "invalid type"),
        ("{\"id\": \"\", \"premises\": []}", 2, "its id is empty"),
        (
            "{\"id\": \"a b\", \"premises\": []}",
            2,
            "its id has a blank",
        ),
        ("{\"id\": \"x\",\n\"premises\": [}", 3, "expected"),
        // a quote is missing: the reader must not read the rest of the file as a string
        (
            "{\"id\": \"x, \"premises\": []}",
            2,
            "the file ends inside an argument",
        ),
        // a brace is missing: the next argument is inside this one
        (
            "{\"id\": \"x\", \"premises\": []",
            3,
            "key must be a string",
        ),
        ("7, null", 2, "something that is not an argument"),
    ] {
        let text = format!("{{\"arguments\": [{one},\n{broken},\n{last}]}}");
        let (arguments, faults) = read(text.as_bytes());
        assert_eq!(ids(&arguments), ["one", "last"], "{broken}");
        assert_eq!(faults.len(), 1, "{broken}: {faults:?}");
        assert_eq!(faults[0].kind, FaultKind::Argument);
        assert_eq!(faults[0].line, Some(line), "{broken}");
        assert!(faults[0].what.contains(what), "{broken}: {}", faults[0]);
    }
    let mut bytes = format!("[{one},\n{},\n{last}]", argument("bad", "\u{1}")).into_bytes();
    let at = bytes.iter().position(|b| *b == 1).unwrap();
    bytes[at] = 0xff;
    let (arguments, faults) = read(&bytes);
    assert_eq!(ids(&arguments), ["one", "last"]);
    assert!(faults.len() == 1 && faults[0].line == Some(2), "{faults:?}");
}

#[test]
fn the_arguments_before_the_cut_in_a_truncated_file_are_read() {
    let text = format!(
        "[{},\n{}]",
        argument("one", "first"),
        argument("two", "second")
    );
    let (arguments, faults) = read(&text.as_bytes()[..text.len() - 20]);
    assert_eq!(ids(&arguments), ["one"]);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].line, Some(2));
    let second = text.find("{\"id\": \"two\"").unwrap();
    assert_eq!(
        faults[0].what,
        format!("the file ends inside an argument (byte {second}, id \"two\")")
    );

    let many: Vec<String> = (0..3000)
        .map(|n| argument(&format!("a{n}"), &format!("{n} {}", n * n)))
        .collect();
    let packed = gzip(format!("[{}]", many.join(",\n")));
    let (arguments, faults) = read(&packed[..packed.len() / 2]);
    assert!(
        arguments.len() > 500 && arguments.len() < 3000,
        "{}",
        arguments.len()
    );
    let last = faults.last().unwrap();
    assert!(last.what.starts_with("cannot be read further"), "{last}");
    assert!(last.line.unwrap() > 500);

    for (bytes, what) in [
        (&b"{\"topics\": 1}"[..], "no array of arguments"),
        (b"", "no array of arguments"),
        (b"[", "ends inside the array"),
    ] {
        let (arguments, faults) = read(bytes);
        assert!(
            arguments.is_empty() && faults[0].what.contains(what),
            "{faults:?}"
        );
    }
}

#[test]
fn a_fault_in_a_file_of_one_line_names_the_byte_and_the_id() {
    let (one, last) = (argument("one", "first"), argument("last", "the last"));
    for (broken, id) in [
        ("{\"id\": \"Sbad-A1\", \"premises\": 7}", ", id \"Sbad-A1\""),
        ("{\"id\": \"Sbad-A1\", \"premises\": [}", ", id \"Sbad-A1\""),
        ("{\"conclusion\": \"c\", \"premises\": []}", ""),
    ] {
        let text = format!("{{\"arguments\": [{one}, {broken}, {last}]}}");
        let (arguments, faults) = read(text.as_bytes());
        assert_eq!(ids(&arguments), ["one", "last"]);
        let at = text.find(broken).unwrap();
        assert!(
            faults[0].what.ends_with(&format!("(byte {at}{id})")),
            "{}",
            faults[0]
        );
    }
}

#[test]
fn files_of_portals_are_read_where_there_is_no_args_me_json() {
    let dir = tempfile::tempdir().unwrap();
    let error = ArgumentCollection::open(dir.path())
        .unwrap_err()
        .to_string();
    assert_says(&error, &["holds no arguments", "idebate.json"]);
    let file = |text: &str| format!("{{\"arguments\": [{}]}}", argument(text, "t"));
    fs::write(dir.path().join("parliamentary.json"), file("p")).unwrap();
    fs::write(dir.path().join("debateorg.json.gz"), gzip(file("d"))).unwrap();
    fs::write(dir.path().join("other.json"), file("o")).unwrap();
    assert_eq!(ids(&read_path(dir.path()).0), ["d", "p"]);
    fs::write(dir.path().join("args-me.json"), file("whole")).unwrap();
    assert_eq!(ids(&read_path(dir.path()).0), ["whole"]);
    assert_eq!(ids(&read_path(&dir.path().join("other.json")).0), ["o"]);
}

#[test]
fn all_development_arguments_are_read() {
    let Some(data) = need(Data("args")) else {
        return;
    };
    for (dir, count) in [(data.join("argquality20"), 1610), (data, 3040)] {
        let (arguments, faults) = read_path(&dir);
        assert_eq!(
            (arguments.len(), faults.len()),
            (count, 0),
            "{}",
            dir.display()
        );
        assert!(
            arguments
                .iter()
                .all(|a| !a.texts[0].is_empty() && a.stance.is_some())
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_make_the_reader_panic(
        junk in prop::collection::vec(any::<u8>(), 0..60),
        at in 0usize..400,
        cut in 0usize..40,
    ) {
        let mut bytes = format!("[{},\n{},\n{}]", argument("one", "x"), argument("two", "y"), argument("three", "z")).into_bytes();
        let at = at.min(bytes.len() - cut);
        bytes.splice(at..at + cut, junk);
        let (arguments, faults) = read(&bytes);
        // an intact argument can now look like a part of another one, so its id is not checked
        prop_assert!(arguments.len() + faults.len() >= 1);
        prop_assert!(arguments.len() <= 6);
    }
}
