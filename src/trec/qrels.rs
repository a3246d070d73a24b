//! Judgements (qrels).

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};

use super::{DocId, LineError, Stance, TopicId, numbered_lines};

/// What was judged of one image for one topic; a question not judged has no grade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageGrades {
    pub on_topic: Option<i32>,
    pub pro: Option<i32>,
    pub con: Option<i32>,
}

impl ImageGrades {
    /// The grade for a stance; an image may have both.
    pub fn stance(&self, stance: Stance) -> Option<i32> {
        match stance {
            Stance::Pro => self.pro,
            Stance::Con => self.con,
        }
    }
}

/// The judged images of each judged topic.
pub type ImageQrels = BTreeMap<TopicId, BTreeMap<DocId, ImageGrades>>;

/// Reads `topic ONTOPIC|PRO|CON imageId grade` lines (Touché 2022 and 2023, Task 3): what can be read,
/// and what is wrong with the other lines. A question that is judged twice keeps its first grade.
pub fn read_images(text: &str) -> (ImageQrels, Vec<LineError>) {
    let (mut qrels, mut errors) = (ImageQrels::new(), Vec::new());
    for (line, fields) in numbered_lines(text) {
        if let Err(error) = image_line(fields, &mut qrels) {
            errors.push(LineError {
                line,
                what: error.to_string(),
            });
        }
    }
    (qrels, errors)
}

fn image_line(line: &str, qrels: &mut ImageQrels) -> Result<()> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [topic, question, image, grade] = fields.as_slice() else {
        bail!("{} fields, must be four", fields.len());
    };
    let Ok(grade) = grade.parse::<i32>() else {
        bail!("{grade:?} is no grade");
    };
    // Before anything is entered: a topic is judged only if something of it is.
    let question: fn(&mut ImageGrades) -> &mut Option<i32> = match *question {
        "ONTOPIC" => |grades| &mut grades.on_topic,
        "PRO" => |grades| &mut grades.pro,
        "CON" => |grades| &mut grades.con,
        _ => bail!("{question:?} is none of ONTOPIC, PRO, CON"),
    };
    let topic = qrels.entry(TopicId((*topic).to_owned())).or_default();
    let grades = topic.entry(DocId((*image).to_owned())).or_default();
    let place = question(grades);
    let first = *place.get_or_insert(grade);
    ensure!(
        first == grade,
        "judged {grade} here and {first} on an earlier line"
    );
    Ok(())
}
