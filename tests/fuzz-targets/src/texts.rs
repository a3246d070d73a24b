//! Topics, arguments, passages and documents.

use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::documents::DocumentCollection;
use riposte::collection::entries::{self, EntryCollection};
use riposte::collection::passages::PassageCollection;
use riposte::collection::read_topics;
use riposte::collection::shards::{self, ShardCollection};
use riposte::evidence::sentiment::Vader;
use riposte::score::quality::{self, GradedText};
use riposte::topic::question::{self, TopicParts};
use riposte_claims::{claims, words};
use riposte_eval::objects;

use crate::with_file;

pub const TOPIC_WORDS: &[&[u8]] = &[
    b"<topics>",
    b"</topics>",
    b"<topic>",
    b"</topic>",
    b"<topic number='51'>",
    b"<number>51</number>",
    b"<title>",
    b"</title>",
    b"<objects>a, b</objects>",
    b"<description>",
    b"<narrative>",
    b"<!DOCTYPE t [<!ENTITY a 'b'><!ENTITY c '&a;&a;&a;'>]>",
    b"&c;",
    b"&#0;",
    b"&#x1F600;",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"-->",
    b"<?xml version='1.0' encoding='utf-16'?>",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    br#"{"qid":"1","query":"q"}"#,
    br#"{"_id":"1","text":"q","metadata":{"narrative":"n"}}"#,
    b"This house would ban ",
    b"Which is better, a or b?",
    b"\0",
];

/// Reads a topics file, and finds the claims and objects in its topics.
pub fn topics(bytes: &[u8]) {
    with_file("topics.xml", bytes, |path| {
        let Ok(topics) = read_topics(path) else {
            return;
        };
        for topic in topics.iter().take(64) {
            let parts = TopicParts {
                description: true,
                narrative: true,
            };
            let _ = question::read(topic, parts);
            let _ = claims(&topic.title);
            let _ = objects::from_title(&topic.title);
        }
    });
}

pub const ARGUMENT_WORDS: &[&[u8]] = &[
    br#"{"arguments":["#,
    br#"{"id":"a1","conclusion":"c","premises":[{"text":"t","stance":"PRO"}],"context":{}}"#,
    br#"{"id""#,
    br#""id":"#,
    br#""premises":["#,
    br#""text":"#,
    br#""stance":"CON""#,
    br#""context":{"sourceUrl":"u"}"#,
    br#""conclusion":"#,
    b"[[[[[[[[",
    b"{{{{",
    b"]}",
    b"\\u0000",
    b"\\ud83d",
    b"\\\"",
    b"1e999",
    b"null",
    b"\x1f\x8b\x08\0",
    b"\n",
];

/// Reads a file of arguments, and scores the texts of the first ones.
pub fn arguments(bytes: &[u8]) {
    with_file("args-me.json", bytes, |path| {
        let Ok(collection) = ArgumentCollection::open(path) else {
            return;
        };
        let mut scored = 0;
        for argument in collection.arguments().flatten() {
            if scored < 4 {
                scored += 1;
                text(&argument.texts[0]);
            }
        }
    });
}

pub const PASSAGE_WORDS: &[&[u8]] = &[
    br#"{"id":"p1","contents":"c","chatNoirUrl":"u"}"#,
    br#""contents":"#,
    br#""queries":["a","b"]"#,
    br#""docT5Query":"q""#,
    br#""id":"a b""#,
    br#""id":"""#,
    b"\\ud83d",
    b"[[[[[[[[",
    b"null",
    b"\x1f\x8b\x08\0",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xef\xbb\xbf",
];

/// Reads a file of passages, and scores the texts of the first ones.
pub fn passages(bytes: &[u8]) {
    with_file("passages.jsonl", bytes, |path| {
        let Ok(collection) = PassageCollection::open(path) else {
            return;
        };
        for (n, passage) in collection.passages().flatten().enumerate() {
            if n < 4 {
                text(&passage.texts[0]);
            }
        }
    });
}

pub const DOCUMENT_WORDS: &[&[u8]] = &[
    br#"{"_id":"d1","title":"t","text":"x","metadata":{}}"#,
    br#"{"docno":"d1","text":"x","original_document":{}}"#,
    br#""_id":7"#,
    br#""docno":-7.5"#,
    br#""title":null"#,
    br#""text":"#,
    br#""_id":"a b""#,
    b"\\ud83d",
    b"[[[[[[[[",
    b"\x1f\x8b\x08\0",
    b"\n",
    b"\0",
    b"\xef\xbb\xbf",
];

/// Reads a file of documents, and scores the texts of the first ones.
pub fn documents(bytes: &[u8]) {
    with_file("corpus.jsonl", bytes, |path| {
        let Ok(collection) = DocumentCollection::open(path) else {
            return;
        };
        for (n, document) in collection.documents().flatten().enumerate() {
            if n < 4 {
                text(&document.texts[1]);
                text(&document.texts[0]);
            }
        }
    });
}

pub const ENTRY_WORDS: &[&[u8]] = &[
    br#"{"format":1,"task":"comparative"}"#,
    br#"{"id":"d1","texts":["x","y"],"stance":"PRO","portal":"idebate","duplicate_of":"d0"}"#,
    br#"{"fault":{"kind":"passage","path":"p","line":3,"what":"x"}}"#,
    br#""vectors":[{"of":"x","dimension":1,"numbers":"AAA="}]"#,
    br#""format":2"#,
    b"[[[[[[[[",
    b"\n",
    b"\0",
];

/// Reads the bytes as texts that an index stores, and as a list of shards.
pub fn entries(bytes: &[u8]) {
    with_file(entries::FILE, bytes, |path| {
        let dir = path.parent().unwrap_or(path);
        if let Ok(Some(collection)) = EntryCollection::find(dir) {
            for (n, entry) in collection.texts().flatten().enumerate() {
                if n < 4 {
                    entry.texts.iter().for_each(|of_field| text(of_field));
                }
            }
        }
    });
    with_file(shards::FILE, bytes, |path| {
        let dir = path.parent().unwrap_or(path);
        if let Ok(Some(shards)) = ShardCollection::find(dir) {
            assert!(shards.bases.iter().all(|base| base.starts_with(dir)));
        }
    });
}

/// Computes everything that riposte computes from a text without a model.
fn text(text: &str) {
    let sentences = words::sentences(text);
    let tokens = words::tokens(text);
    assert!(sentences.iter().map(|s| s.words().count()).sum::<usize>() <= tokens.len());
    for kind in [GradedText::Argument, GradedText::Passage] {
        assert!(quality::quality(kind, text).is_finite());
    }
    let valence = Vader::new().compound(text);
    assert!((-1.0..=1.0).contains(&valence), "{valence}");
}
