use super::*;

const TWO: &str = "<topics>\n<topic><number> 34 </number><title>Are A &amp; B&#39;s\n good?</title>\
    <description>x</description><narrative/></topic>\n\
    <topic><number>5</number><title><![CDATA[C <d>]]></title><objects>a, b</objects></topic></topics>";

#[test]
fn a_question_is_a_topic_with_the_objects_that_it_compares() {
    let topic = Topic::new("7", " Which is better,\na cat or a dog? ").unwrap();
    assert_eq!(topic.id.0, "7");
    assert_eq!(topic.title, "Which is better, a cat or a dog?");
    assert!(topic.objects.is_some());
    assert!(Topic::new("7 8", "Should zoos exist?").is_err());
    assert!(Topic::new("7", " ").is_err());
}

#[test]
fn the_arguments_of_2025_are_read() {
    let argument = "<argument><id>1-2</id><topic>Work</topic><claim>Robots help</claim></argument>";
    let topics = parse(&format!("<arguments>{argument}</arguments>")).unwrap();
    assert_eq!(topics[0].id, TopicId("1-2".into()));
    assert_eq!(topics[0].title, "Robots help");
    assert_eq!(topics[0].description.as_deref(), Some("Work"));
    let error = |text: &str| format!("{:#}", parse(text).unwrap_err());
    let nested = error(&format!("<argument>{argument}</argument>"));
    assert!(
        nested.contains("a <argument> inside a <argument>"),
        "{nested}"
    );
    let bare = error("<arguments><argument><id>3</id></argument></arguments>");
    assert!(bare.contains("argument 3 has no <claim>"), "{bare}");
}

#[test]
fn the_premises_of_2024_are_read() {
    let text = "<arguments><argument><id>7</id><topic>Voting</topic>\
        <premise> Twelve nuns were\n turned away </premise><claim>Photo ids block voters</claim>\
        <type>Anecdotal</type></argument>\
        <argument><id>8</id><claim>x</claim><premise/></argument></arguments>";
    let topics = parse(text).unwrap();
    assert_eq!(topics[0].conveyed(), "Twelve nuns were turned away");
    let kind = topics[0].argument.as_ref().unwrap().premise_type.as_deref();
    assert_eq!(kind, Some("Anecdotal"));
    assert_eq!(topics[0].title, "Photo ids block voters");
    assert_eq!(topics[1].argument, Some(ArgumentParts::default()));
    assert_eq!(topics[1].conveyed(), "x");
    // outside an argument, these elements mean nothing
    let topic = "<topic><number>1</number><title>t</title><premise>p</premise></topic>";
    assert_eq!(parse(topic).unwrap()[0].argument, None);
}

#[test]
fn xml_of_any_year_is_read() {
    let topics = parse(TWO).unwrap();
    assert_eq!(topics[0].id, TopicId("34".into()));
    assert_eq!(topics[0].title, "Are A & B's good?");
    assert_eq!(topics[0].description.as_deref(), Some("x"));
    assert_eq!(topics[0].narrative, None);
    assert_eq!(topics[0].objects, None);
    assert_eq!(topics[1].title, "C <d>");
    assert_eq!(topics[1].objects, Some(["a".into(), "b".into()]));
}

#[test]
fn xml_of_tirex_has_numbers_in_attributes_and_queries_as_titles() {
    let text = "<topics ir-datasets-id=\"x\">\n <topic number=\"51\">\n  <query>\n   a &amp; b\n  </query>\n\
        <original_query><query_id>51</query_id><title>another</title><description>d</description></original_query>\n </topic>\n\
        <topic number=\"q&amp;2\"><query>c</query></topic></topics>";
    let topics = parse(text).unwrap();
    let read: Vec<_> = topics
        .iter()
        .map(|t| (t.id.0.as_str(), t.title.as_str(), t.description.as_deref()))
        .collect();
    assert_eq!(read, [("51", "a & b", Some("d")), ("q&2", "c", None)]);
}

#[test]
fn queries_have_a_qid_of_either_kind() {
    let text = "{\"qid\":\"34\",\"query\":\"a\"}\n\n{\"qid\":7,\"query\":\"b\"}\n";
    let ids: Vec<_> = parse(text).unwrap().into_iter().map(|t| t.id.0).collect();
    assert_eq!(ids, ["34", "7"]);
}

#[test]
fn queries_of_beir_have_an_id_and_a_text_and_their_parts_in_the_metadata() {
    let text = "{\"_id\":\"PLAIN-2\",\"text\":\"a\",\"metadata\":{\"description\":\"d\",\"url\":7}}\n\
        {\"_id\":3,\"text\":\"b\",\"metadata\":{}}\n\
        {\"qid\":\"4\",\"query\":\"c\",\"text\":\"more\",\"description\":\"own\",\"metadata\":{\"description\":\"d\"}}\n";
    let topics = parse(text).unwrap();
    let read: Vec<_> = topics
        .iter()
        .map(|t| (t.id.0.as_str(), t.title.as_str(), t.description.as_deref()))
        .collect();
    assert_eq!(
        read,
        [
            ("PLAIN-2", "a", Some("d")),
            ("3", "b", None),
            ("4", "c", Some("own"))
        ]
    );
    let error = format!("{:#}", parse("{\"_id\":\"1\"}").unwrap_err());
    assert!(error.contains("neither `query` nor `text`"), "{error}");
}

#[test]
fn objects_come_from_their_field_else_from_the_title() {
    let both = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
    let text = "{\"qid\":1,\"query\":\"x or y?\",\"objects\":\"big x, y\"}\n\
        {\"qid\":2,\"query\":\"x or y?\",\"objects\":[\"u\",\"v\"]}\n\
        {\"qid\":3,\"query\":\"Is x better than y?\"}\n\
        {\"qid\":4,\"query\":\"x\",\"objects\":7}\n\
        {\"qid\":5,\"query\":\"x or y?\",\"objects\":[\"one,  two\",\"a or b\"]}\n\
        {\"qid\":6,\"query\":\"x or y?\",\"objects\":[\"u\",\" \"]}\n\
        {\"qid\":7,\"query\":\"x or y?\",\"objects\":[\"u, v\"]}";
    let objects: Vec<_> = parse(text)
        .unwrap()
        .into_iter()
        .map(|t| t.objects)
        .collect();
    assert_eq!(
        objects,
        [
            both("big x", "y"),
            both("u", "v"),
            both("x", "y"),
            None,
            both("one, two", "a or b"),
            both("x", "y"),
            both("u", "v")
        ]
    );
}

#[test]
fn broken_topics_are_named() {
    for (text, message) in [
        (
            "<topics><topic><number>1</number></topic></topics>",
            "has no <title>",
        ),
        (
            "<topics><topic><title>x</title></topic></topics>",
            "no <number>",
        ),
        ("<topics></topics>", "no topic"),
        ("", "no topic"),
        ("<topics><topic><number>1</number>", "ends inside"),
        ("<topics>\n<topic></title>", "line 2"),
        ("hello", "line 1: neither"),
        (
            "{\"qid\":1,\"query\":\"a\"}\n{\"qid\":\"1\",\"query\":\"b\"}",
            "number 1 occurs twice",
        ),
    ] {
        let error = format!("{:#}", parse(text).unwrap_err());
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn the_readable_topics_of_a_broken_file_are_read() {
    let topic = |n: u32| format!("<topic><number>{n}</number><title>title {n}</title></topic>\n");
    let all: String = (1..=6).map(topic).collect();
    let whole = format!("<topics>\n{all}</topics>");
    let cut = |after: &str| &whole[..whole.find(after).unwrap() + after.len()];
    let second = "title 2</title></topic>";
    for (text, ids, line, what) in [
        (cut(second), "1 2", 3, "the file ends before </topics>"),
        (cut("title 3"), "1 2", 4, "the file ends inside a topic"),
        (
            &whole.replace("<title>title 3</title>", ""),
            "1 2 4 5 6",
            4,
            "topic 3 has no <title>",
        ),
        (
            &whole.replace("<number>3<", "<number>3 4<"),
            "1 2 4 5 6",
            4,
            "\"3 4\" of a topic has a blank",
        ),
        (
            &whole.replace("<number>3<", "<number>3&#7;<"),
            "1 2 4 5 6",
            4,
            "has a control character",
        ),
        (
            &whole.replace("title 3</title>", "title 3</titel>"),
            "1 2 4 5 6",
            4,
            "not well-formed",
        ),
        (
            &whole.replace("title 3</title></topic>", "title 3</title>"),
            "1 2 4 5 6",
            5,
            "a <topic> inside a <topic>",
        ),
    ] {
        let file = read(text).unwrap();
        let found: Vec<&str> = file.topics.iter().map(|t| t.id.0.as_str()).collect();
        assert_eq!(found.join(" "), ids, "{what}");
        let fault = file.faults.first().unwrap();
        assert_eq!(fault.line, line, "{what}: {fault}");
        assert!(fault.what.contains(what), "{what}: {fault}");
        assert!(parse(text).is_err(), "{what}");
    }
    let lines = "{\"qid\":1,\"query\":\"a\"}\n{\"qid\":2}\n{\"qid\":\"\",\"query\":\"c\"}\n";
    let file = read(lines).unwrap();
    assert_eq!(file.topics.len(), 1);
    let lines: Vec<u64> = file.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [2, 3]);
    let file = read(&format!("<topics>{}{}", topic(1), "</x>".repeat(100_000))).unwrap();
    assert_eq!((file.topics.len(), file.faults.len()), (1, MAX_FAULTS + 1));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(text in "\\PC{0,200}", cut in 0usize..240) {
        let _ = parse(&text);
        let mut end = cut.min(TWO.len());
        while !TWO.is_char_boundary(end) {
            end -= 1;
        }
        let _ = parse(&format!("{}{text}", &TWO[..end]));
    }
}
