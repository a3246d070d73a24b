//! Which questions the tables of riposte-claims have, the objects of comparative questions, and what the commands say about open questions.

use std::collections::BTreeSet;

use riposte_eval::objects;
use riposte_eval::topic::{self, Topic};

use crate::support::need::{Data, need};
use crate::support::program::WorkDir;

/// The questions of a table.
fn questions(table: &'static str) -> BTreeSet<&'static str> {
    let rows = table.lines().skip(1);
    rows.filter_map(|row| row.split('\t').nth(1)).collect()
}

#[test]
fn the_tables_have_all_topics_of_the_lab() {
    let Some(data) = need(Data("images/topics-2022.xml")) else {
        return;
    };
    let dir = data.parent().unwrap().parent().unwrap();
    let read = |file: &str| -> Vec<Topic> {
        let text = std::fs::read_to_string(dir.join(file)).unwrap();
        topic::parse(&text).unwrap()
    };
    for (files, table) in [
        (
            ["images/topics-2022.xml", "images/topics-2023.xml"],
            questions(include_str!(
                "../../crates/riposte-claims/tests/data/claims.tsv"
            )),
        ),
        (
            [
                "passages/topics-task-2-2020.xml",
                "passages/topics-task-2-2021.xml",
            ],
            questions(include_str!(
                "../../crates/riposte-claims/tests/data/comparisons.tsv"
            )),
        ),
    ] {
        let topics: Vec<Topic> = files.into_iter().flat_map(read).collect();
        assert_eq!(topics.len(), 100);
        for topic in &topics {
            assert!(table.contains(topic.title.as_str()), "{}", topic.title);
        }
    }
}

/// The objects in the file of 2022 are the objects of the titles, except in one topic: it lists "major in philosophy" beside "psychology".
#[test]
fn objects_read_from_titles_are_those_that_are_listed() {
    let Some(file) = need(Data("passages/topics-task-2-2022.xml")) else {
        return;
    };
    let topics = topic::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    let differ = topics
        .iter()
        .filter(|topic| objects::from_title(&topic.title) != topic.objects);
    let differ: Vec<&str> = differ.map(|topic| topic.title.as_str()).collect();
    assert_eq!(differ, ["Should I major in philosophy or psychology?"]);
}

#[test]
fn a_topic_without_two_objects_is_ranked_without_stances_and_named() {
    let topics = b"<topics><topic><number>1</number><title>Should I buy or rent?</title></topic>\
        <topic><number>2</number><title>Which is the best pet?</title></topic></topics>";
    let passages =
        b"{\"id\": \"a\", \"contents\": \"It is better to rent a flat than to buy one, because you can leave it when you like and somebody else has to \
        mend the roof.\"}\n\
        {\"id\": \"b\", \"contents\": \"The best pet is a dog, most people say, since it comes for walks, guards the house and is glad to see you \
        whatever you did.\"}\n";
    let dir = WorkDir::with(&[("in/topics.xml", topics), ("in/passages.jsonl", passages)]);
    let (_, _, said) = dir.run("comparative -i in -o out --index kept");
    let expected = "topic 2 (\"Which is the best pet?\") does not name two objects to compare";
    assert!(said.contains(expected), "{said}");
    assert!(!said.contains("topic 1 ("), "{said}");
    let run = dir.read("out/run.txt");
    for line in run.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        assert_eq!(fields[1] == "Q0", fields[0] == "2", "{line}");
    }
    for topic in ["1 ", "2 "] {
        assert!(run.lines().any(|line| line.starts_with(topic)), "{run}");
    }
}

#[test]
fn many_topics_without_two_objects_are_one_note() {
    let topic = |n: u32| {
        format!("<topic><number>{n}</number><title>Which is best pet {n}?</title></topic>")
    };
    let topics: String = (1..=9).map(topic).collect();
    let topics = format!("<topics>{topics}</topics>");
    let passage = b"{\"id\": \"a\", \"contents\": \"The best pet is a dog, most people say.\"}\n";
    let files: [(&str, &[u8]); 2] = [
        ("in/topics.xml", topics.as_bytes()),
        ("in/passages.jsonl", passage),
    ];
    let dir = WorkDir::with(&files);
    let (_, _, said) = dir.run("comparative -i in -o out --index kept");
    let notes = said.lines().filter(|line| line.contains("two objects"));
    let notes: Vec<&str> = notes.collect();
    assert_eq!(notes.len(), 1, "{said}");
    assert!(
        notes[0].contains("topic 1 (") && notes[0].contains("and 6 more topics do not name"),
        "{said}"
    );
}

#[test]
fn the_stance_towards_an_open_question_comes_with_a_note() {
    let dir = WorkDir::new();
    let note = |topic: &str| {
        let text = "A dog is the best pet.";
        let mut command = crate::support::program::riposte(
            &dir.path(""),
            &["stance", "--topic", topic, "--text", text],
        );
        let output = command.output().unwrap();
        assert!(output.status.success());
        crate::support::program::stderr(&output).contains("the topic is an open question")
    };
    assert!(note("Which is the best pet?"));
    assert!(!note("Are dogs the best pets?"));
}
