//! Topics, from the lab's XML (2020 to 2023, tasks 1 to 3, and the arguments of 2025) or TIREx's `queries.jsonl`.

use std::collections::HashSet;

use anyhow::{Context, Result, bail};
use quick_xml::Reader;
use quick_xml::events::Event;

use super::{TopicId, objects};

/// A topic: a controversial or comparative question, with what the assessors were told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    pub id: TopicId,
    /// The question ("Should the voting age be lowered?"), or the claim of an argument of 2025. Never empty.
    pub title: String,
    /// The situation of the user, or the subject of an argument of 2025. Topics of 2021 have none.
    pub description: Option<String>,
    /// What makes a document relevant. Only manual runs may use it.
    pub narrative: Option<String>,
    /// The two objects of a comparative question: from the topic's `<objects>` or, if there are none, from its title
    /// ([`objects::from_title`]).
    pub objects: Option<[String; 2]>,
}

/// Reads topics, in the order of the file. The first character that is not blank decides the format: `<` means XML.
///
/// Errors: the text has neither format, a topic has no number or no title, two topics have the same number, or there is no topic.
pub fn parse(text: &str) -> Result<Vec<Topic>> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let topics = if text.starts_with('<') {
        parse_xml(text)?
    } else {
        parse_queries(text)?
    };
    if topics.is_empty() {
        bail!("it contains no topic");
    }
    let mut seen = HashSet::new();
    for topic in &topics {
        if !seen.insert(&topic.id) {
            bail!("topic number {} occurs twice", topic.id);
        }
    }
    Ok(topics)
}

/// The fields of a topic while it is read.
#[derive(Default)]
struct TopicFields {
    /// Whether the element is an `<argument>` of 2025 (`<id>`, `<topic>`, `<claim>`), not a `<topic>`.
    is_argument: bool,
    number: Option<String>,
    title: Option<String>,
    description: Option<String>,
    narrative: Option<String>,
    objects: Option<String>,
}

impl TopicFields {
    fn field(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "id" if self.is_argument => Some(&mut self.number),
            "claim" if self.is_argument => Some(&mut self.title),
            "topic" if self.is_argument => Some(&mut self.description),
            "number" => Some(&mut self.number),
            "title" => Some(&mut self.title),
            "description" => Some(&mut self.description),
            "narrative" => Some(&mut self.narrative),
            "objects" => Some(&mut self.objects),
            _ => None,
        }
    }

    /// The name of the topic's element.
    fn element(&self) -> &'static str {
        if self.is_argument {
            "argument"
        } else {
            "topic"
        }
    }

    fn finish(self) -> Result<Topic> {
        let element = self.element();
        let tidy = |text: Option<String>| {
            text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
                .filter(|text| !text.is_empty())
        };
        let number = tidy(self.number).with_context(|| match element {
            "argument" => "an argument has no <id>",
            _ => "a topic has no <number>",
        })?;
        let title = tidy(self.title).with_context(|| match element {
            "argument" => format!("argument {number} has no <claim>"),
            _ => format!("topic {number} has no <title>"),
        })?;
        let listed = tidy(self.objects).and_then(|text| objects::split_list(&text));
        Ok(Topic {
            id: TopicId(number),
            objects: listed.or_else(|| objects::from_title(&title)),
            title,
            description: tidy(self.description),
            narrative: tidy(self.narrative),
        })
    }
}

fn parse_xml(text: &str) -> Result<Vec<Topic>> {
    let mut reader = Reader::from_str(text);
    let mut topics = Vec::new();
    let mut fields: Option<TopicFields> = None;
    let mut field: Option<String> = None;
    let line = |reader: &Reader<&[u8]>| {
        let end = (reader.buffer_position() as usize).min(text.len());
        1 + text.as_bytes()[..end]
            .iter()
            .filter(|&&b| b == b'\n')
            .count()
    };
    loop {
        let event = reader
            .read_event()
            .with_context(|| format!("not well-formed XML at line {}", line(&reader)))?;
        let mut words: Option<String> = None;
        match event {
            Event::Start(start) => {
                let name = start.local_name().as_ref().to_ascii_lowercase();
                let begun = fields.as_ref().map(TopicFields::element);
                if name == "argument" || name == "topic" && begun != Some("argument") {
                    if let Some(begun) = begun {
                        bail!("line {}: a <{name}> inside a <{begun}>", line(&reader));
                    }
                    fields = Some(TopicFields {
                        is_argument: name == "argument",
                        ..TopicFields::default()
                    });
                } else if let Some(slot) = fields.as_mut().and_then(|d| d.field(&name)) {
                    *slot = Some(String::new());
                    field = Some(name);
                }
            }
            Event::End(end) => {
                let name = end.local_name().as_ref().to_ascii_lowercase();
                if let Some(done) = fields.take_if(|d| d.element() == name) {
                    topics.push(
                        done.finish()
                            .with_context(|| format!("line {}", line(&reader)))?,
                    );
                } else if field.as_ref() == Some(&name) {
                    field = None;
                }
            }
            Event::Text(text) => words = Some(text.to_string()),
            Event::CData(data) => words = Some(data.to_string()),
            Event::GeneralRef(name) => {
                words = Some(resolve(&name));
            }
            Event::Eof => break,
            _ => {}
        }
        if let (Some(words), Some(field), Some(fields)) = (words, &field, fields.as_mut())
            && let Some(Some(slot)) = fields.field(field)
        {
            slot.push_str(&words);
        }
    }
    if fields.is_some() {
        bail!("the file ends inside a topic");
    }
    Ok(topics)
}

/// The character of an entity or a character reference. An unknown one is returned as it was written.
fn resolve(name: &str) -> String {
    let number = name
        .strip_prefix('#')
        .and_then(|digits| match digits.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        });
    if let Some(character) = number.and_then(char::from_u32) {
        return character.to_string();
    }
    match quick_xml::escape::resolve_predefined_entity(name) {
        Some(text) => text.to_owned(),
        None => format!("&{name};"),
    }
}

/// Reads TIREx's format: one JSON object per line, with `qid` (number or string) and `query` (the title).
fn parse_queries(text: &str) -> Result<Vec<Topic>> {
    #[derive(serde::Deserialize)]
    struct Line {
        qid: serde_json::Value,
        query: String,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        narrative: Option<String>,
        #[serde(default)]
        objects: serde_json::Value,
    }
    let mut topics = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(line)
            .with_context(|| format!("line {}: neither topics XML nor a TIREx query", n + 1))?;
        let number = match line.qid {
            serde_json::Value::String(text) => Some(text),
            serde_json::Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        topics.push(
            TopicFields {
                is_argument: false,
                number,
                title: Some(line.query),
                description: line.description,
                narrative: line.narrative,
                objects: match line.objects {
                    serde_json::Value::String(text) => Some(text),
                    serde_json::Value::Array(both) => {
                        let both: Option<Vec<&str>> = both.iter().map(|o| o.as_str()).collect();
                        both.map(|both| both.join(", "))
                    }
                    _ => None,
                },
            }
            .finish()
            .with_context(|| format!("line {}", n + 1))?,
        );
    }
    Ok(topics)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "<topics>\n<topic><number> 34 </number><title>Are A &amp; B&#39;s\n good?</title>\
        <description>x</description><narrative/></topic>\n\
        <topic><number>5</number><title><![CDATA[C <d>]]></title><objects>a, b</objects></topic></topics>";

    #[test]
    fn the_arguments_of_2025_are_read() {
        let argument =
            "<argument><id>1-2</id><topic>Work</topic><claim>Robots help</claim></argument>";
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
    fn queries_have_a_qid_of_either_kind() {
        let text = "{\"qid\":\"34\",\"query\":\"a\"}\n\n{\"qid\":7,\"query\":\"b\"}\n";
        let ids: Vec<_> = parse(text).unwrap().into_iter().map(|t| t.id.0).collect();
        assert_eq!(ids, ["34", "7"]);
    }

    #[test]
    fn objects_come_from_their_field_else_from_the_title() {
        let both = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
        let text = "{\"qid\":1,\"query\":\"x or y?\",\"objects\":\"big x, y\"}\n\
            {\"qid\":2,\"query\":\"x or y?\",\"objects\":[\"u\",\"v\"]}\n\
            {\"qid\":3,\"query\":\"Is x better than y?\"}\n\
            {\"qid\":4,\"query\":\"x\",\"objects\":7}";
        let objects: Vec<_> = parse(text)
            .unwrap()
            .into_iter()
            .map(|t| t.objects)
            .collect();
        assert_eq!(
            objects,
            [both("big x", "y"), both("u", "v"), both("x", "y"), None]
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
}
