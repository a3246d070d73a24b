//! The parts that only generated collections in the form of 2025 have: claims, captions, and judgements for claims.

use riposte_claims::claims;

use crate::files::xml_text;
use crate::pictures::Content;
use crate::topics::Topic;

/// The file of arguments: for each topic the claim of its question and the opposite one, as K-1 and K-2.
pub fn arguments_xml(topics: &[Topic]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" ?>\n<arguments>\n");
    for (number, topic) in (1..).zip(topics) {
        let (claim, counter_claim) = claims(&topic.title);
        for (side, claim) in (1..).zip([claim, counter_claim]) {
            xml.push_str(&format!(
                "  <argument>\n    <id>{number}-{side}</id>\n    <topic>{}</topic>\n    <claim>{}</claim>\n  </argument>\n",
                xml_text(&topic.short),
                xml_text(&claim)
            ));
        }
    }
    xml.push_str("</arguments>\n");
    xml
}

/// The judgements of an image for both claims of a topic, given whether the image is on topic, supports the first claim, and attacks the first
/// claim. Grade 2: it conveys the claim and not the opposite one. Grade 1: it conveys both claims, or neither but is on topic.
pub fn judgements(topic: usize, image: &str, [on_topic, pro, con]: [bool; 3]) -> String {
    let line = |side: usize, own: bool, other: bool| {
        let grade = u8::from(on_topic) + u8::from(own && !other);
        format!("{topic}-{side} 0 {image} {grade}\n")
    };
    line(1, pro, con) + &line(2, con, pro)
}

/// The caption of a picture: its kind and its subject, but not its side.
pub fn caption(kind: &str, content: Content, topic: &Topic) -> String {
    match content {
        Content::OffTopic => format!("a {kind}"),
        _ => format!("a {kind} about {}", topic.short),
    }
}
