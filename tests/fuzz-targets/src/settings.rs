//! riposte.toml. The program reads it, and not the library, so the program's files with the reader are compiled here as well.

#[path = "../../../src/cli/config/contents.rs"]
mod contents;
#[allow(dead_code, reason = "the program has more options than its file")]
#[path = "../../../src/cli/parse.rs"]
mod parse;

use std::path::Path;

use contents::ConfigContents;
use riposte::files::metadata::{Actor, Described, UserMetadata};
use riposte::threads::check_threads;
use riposte_eval::run::{self, TextRunLine};
use riposte_eval::{DocId, TopicId};
use toml::Table;
use yaml_serde::Value;

use crate::recipes::{description, names_a_line};

pub const WORDS: &[&[u8]] = &[
    b"threads = 4\n",
    b"cache = \"~/cache\"\n",
    b"tag = \"a-tag\"\n",
    b"[actor]\n",
    b"name = \"A. N. Other\"\n",
    b"orcid = \"0000-0000-0000-0000\"\n",
    b"team = \"a team\"\n",
    b"fields = [\"one\", \"two\"]\n",
    b"role = \"experimenter\"\n",
    b"[implementation]\n",
    b"repository = \"https://example.org/x\"\n",
    b"[data]\n",
    b"source = \"x\"\n",
    b"ir_datasets = \"beir/x\"\n",
    b"\"\"",
    b"\"null\"",
    b"\"~\"",
    b"\"1e5\"",
    b"\"# ir_metadata.end\"",
    b"\"\\u0000\\u0085\\u2028\\uFEFF\"",
    b"'''\n---\n'''",
    b"\"\\\"t\\\"\"",
    b"-1",
    b"9223372036854775808",
    b"[[actor]]\n",
    b"actor.name.x = 1\n",
    b"[[[[[[[[",
    b"\xef\xbb\xbf",
    b"\r\n",
];

/// Reads a configuration. Its tag can be read from a run, and its other fields from the metadata beside the run.
pub fn settings(bytes: &[u8]) {
    // the program refuses other files before it reads them
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let contents = match ConfigContents::read(text) {
        Ok(contents) => contents,
        Err(error) => {
            assert!(names_a_line(&format!("{error:#}")), "{error:#}");
            return;
        }
    };
    let table: Table = text.parse().expect("an accepted configuration is TOML");
    let cache = table.get("cache").and_then(toml::Value::as_str);
    assert_eq!(contents.cache.as_deref(), cache.map(Path::new));
    let threads = contents.threads;
    assert!(threads.is_none_or(|threads| check_threads(threads).is_ok()));
    let mut run = description("");
    if let Some(tag) = contents.tag {
        let line = TextRunLine {
            topic: TopicId("1".to_owned()),
            stance: None,
            doc: DocId("d".to_owned()),
            rank: 1,
            score: Some(1.0),
            tag: tag.clone(),
        };
        let written = run::write_texts(std::slice::from_ref(&line)).expect("a tag is a field");
        assert_eq!(run::read_texts(&written), (vec![line], Vec::new()));
        run.tag = tag;
    }
    let config = UserMetadata {
        actor: contents.actor,
        implementation: contents.implementation,
        data: contents.data,
        ..UserMetadata::default()
    };
    let written = run.write(&config).expect("a run can be described");
    let described = Described::parse(&written).expect("it is YAML");
    assert_eq!((described.tag, described.is_manual), (run.tag, false));
    let mut metadata: Value = yaml_serde::from_str(&written).expect("it is YAML");
    let actor: Actor = yaml_serde::from_value(std::mem::take(&mut metadata["actor"]))
        .expect("the actor has the fields of the configuration");
    let mut expected = config.actor;
    // the role that metadata has by default
    expected
        .role
        .get_or_insert_with(|| "experimenter".to_owned());
    assert_eq!(actor, expected);
    for (given, found) in [
        (
            config.implementation.repository,
            &metadata["implementation"]["source"]["repository"],
        ),
        (
            config.data.source,
            &metadata["data"]["test collection"]["source"],
        ),
        (
            config.data.ir_datasets,
            &metadata["data"]["test collection"]["ir_datasets"],
        ),
    ] {
        assert_eq!(found.as_str(), given.as_deref());
    }
}
