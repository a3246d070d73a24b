//! Files of passages: plain or compressed, with or without expansion, intact and damaged.

use std::fs;
use std::path::Path;

use riposte::collection::entries::StoredText;
use riposte::collection::passages::PassageCollection;
use riposte::collection::{Fault, FaultKind};
use riposte_eval::{objects, topic};

use crate::support::collection::read_and_faults;
use crate::support::files::gzip;
use crate::support::need::{Data, need};

fn line(id: &str) -> String {
    format!(
        "{{\"id\": \"{id}\", \"contents\": \"text of {id}\", \"chatNoirUrl\": \"https://c.example/{id}\"}}\n"
    )
}

fn read(bytes: &[u8]) -> (Vec<StoredText>, Vec<Fault>) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("passages.jsonl"), bytes).unwrap();
    read_path(dir.path())
}

fn read_path(path: &Path) -> (Vec<StoredText>, Vec<Fault>) {
    read_and_faults(PassageCollection::open(path).unwrap().passages())
}

#[test]
fn passages_are_read_plain_or_packed_with_or_without_expansion() {
    let text = format!(
        "\u{feff}{}\n{{\"id\":\"b\",\"contents\":\"t\",\"expansion\":\"is b good\"}}\r\n\
         {{\"id\":\"c\",\"contents\":\"t\",\"queries\":[\"is c good\",\"c or d\"],\"more\":{{}}}}",
        line("clueweb12-0004wb-25-32367___1")
    );
    for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
        let (passages, faults) = read(&bytes);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(passages.len(), 3);
        assert_eq!(passages[0].id.0, "clueweb12-0004wb-25-32367___1");
        assert_eq!(
            passages[0].texts[0],
            "text of clueweb12-0004wb-25-32367___1"
        );
        assert!(
            passages[0]
                .url
                .as_ref()
                .unwrap()
                .starts_with("https://c.example/")
        );
        assert_eq!(passages[0].texts[1], "");
        assert_eq!(
            (passages[1].texts[1].as_str(), &passages[1].url),
            ("is b good", &None)
        );
        assert_eq!(passages[2].texts[1], "is c good\nc or d");
    }
}

#[test]
fn a_broken_line_is_named_and_the_others_are_read() {
    for (broken, what) in [
        (
            &b"{\"id\": \"x\", \"contents\": \"cut"[..],
            "EOF while parsing",
        ),
        (b"{\"contents\": \"x\"}", "missing field `id`"),
        (b"{\"id\": \"x\"}", "missing field `contents`"),
        (
            b"{\"id\": \"a b\", \"contents\": \"\"}",
            "its id has a blank",
        ),
        (
            b"{\"id\": \"x\", \"contents\": \"\xff\"}",
            "invalid unicode",
        ),
        (b"hello", "expected value"),
    ] {
        let bytes = [
            line("one").as_bytes(),
            broken,
            b"\n",
            line("last").as_bytes(),
        ]
        .concat();
        let (passages, faults) = read(&bytes);
        let ids: Vec<&str> = passages.iter().map(|p| p.id.0.as_str()).collect();
        assert_eq!(ids, ["one", "last"], "{faults:?}");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(
            (faults[0].kind, faults[0].line),
            (FaultKind::Passage, Some(2))
        );
        assert!(faults[0].what.contains(what), "{}", faults[0]);
    }
}

#[test]
fn the_passages_before_the_cut_in_a_truncated_packed_file_are_read() {
    let text: String = (0..20_000)
        .map(|n| line(&format!("p{n}x{}", n * n % 977)))
        .collect();
    let packed = gzip(text.as_bytes());
    let (passages, faults) = read(&packed[..packed.len() / 2]);
    assert!(
        passages.len() > 1000 && passages.len() < 20_000,
        "{}",
        passages.len()
    );
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].line, Some(passages.len() as u64 + 1));
    assert!(
        faults[0].what.starts_with("cannot be read further"),
        "{}",
        faults[0]
    );
    // a file that is not compressed, in spite of its name, can be read
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("passages.jsonl.gz"), line("a")).unwrap();
    assert_eq!(read_path(dir.path()).0.len(), 1);
}

#[test]
fn the_file_is_found_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str| fs::write(dir.path().join(name), line(name)).unwrap();
    let error = || PassageCollection::open(dir.path()).unwrap_err().to_string();
    put("queries.jsonl");
    assert!(error().contains("holds no passages"), "{}", error());
    put("touche-task2-passages-version-002.jsonl.gz");
    assert_eq!(read_path(dir.path()).0.len(), 1);
    put("touche-task2-passages-version-002-expanded-with-doc-t5-query.jsonl.gz");
    assert!(error().contains("several"), "{}", error());
    put("passages.jsonl");
    assert_eq!(read_path(dir.path()).0[0].id.0, "passages.jsonl");
}

#[test]
fn the_objects_of_development_topics_are_found_in_their_titles() {
    let Some(data) = need(Data("passages")) else {
        return;
    };
    let (passages, faults) = read_path(&data);
    assert_eq!((passages.len(), faults.len()), (2587, 0));
    for (file, count, least) in [("topics.xml", 25, 24), ("topics-task-2-2022.xml", 50, 49)] {
        let topics = topic::parse(&fs::read_to_string(data.join(file)).unwrap()).unwrap();
        let lower = |pair: Option<[String; 2]>| pair.map(|pair| pair.map(|o| o.to_lowercase()));
        let hits = topics
            .iter()
            .filter(|t| lower(objects::from_title(&t.title)) == lower(t.objects.clone()))
            .count();
        assert_eq!(topics.len(), count, "{file}");
        assert!(hits >= least, "{file}: {hits}");
    }
}
