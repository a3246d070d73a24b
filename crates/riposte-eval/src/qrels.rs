//! Judgements of documents (qrels); [`Qrels`] lists their formats.
//!
//! ```
//! use riposte_eval::qrels::{self, Qrels};
//! use riposte_eval::{DocId, TopicId};
//!
//! let (qrels, errors) = qrels::read("51 0 d1 1\n51 0 d2 many\n51 0 d3 2\n");
//! assert_eq!(errors[0].line, 2); // the other lines count
//! let Qrels::Graded(grades) = qrels else { panic!("these are grades") };
//! assert_eq!(grades[&TopicId("51".into())][&DocId("d3".into())], 2.0);
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;

use crate::field::unfit_field;
use crate::id::is_argument;
use crate::lines::{JsonObject, each_line, numbered_lines};
use crate::run::is_space_in_c;
use crate::{DocId, LineError, ObjectStance, Stance, TopicId, ranx};

/// The grades of an image for a topic; `None` for a question that was not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageGrades {
    /// Is it about the topic?
    pub on_topic: Option<i32>,
    /// Does it argue for what the topic asks?
    pub pro: Option<i32>,
    /// Does it argue against it?
    pub con: Option<i32>,
}

impl ImageGrades {
    /// The grade for a stance. An image may have a grade for both.
    pub fn stance(&self, stance: Stance) -> Option<i32> {
        match stance {
            Stance::Pro => self.pro,
            Stance::Con => self.con,
        }
    }
}

/// The judged images, by topic.
pub type ImageQrels = BTreeMap<TopicId, BTreeMap<DocId, ImageGrades>>;

/// The graded documents, by topic. Grades may be negative or fractional.
pub type GradedQrels = BTreeMap<TopicId, HashMap<DocId, f64>>;

/// Graded documents of topics that have subtopics, such as the sides of a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubtopicQrels {
    /// The highest grade of each document.
    pub grades: GradedQrels,
    /// For each topic, the grades of the documents for each subtopic, in the order in which the file first names the subtopics.
    pub subtopics: BTreeMap<TopicId, Vec<HashMap<DocId, f64>>>,
}

/// The judged stances of documents, by topic.
pub type StanceQrels = BTreeMap<TopicId, HashMap<DocId, ObjectStance>>;

/// Judgements of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Qrels {
    /// Touché 2022 and 2023, Task 3: `topic ONTOPIC|PRO|CON imageId grade`.
    Images(ImageQrels),
    /// Tasks 1 and 2, MS MARCO: `topic 0 doc grade`, separated by the white space of C, as in trec_eval; BEIR: three columns between tabs, below the
    /// header `query-id corpus-id score`; the same without the header: `topic doc grade`; ranx: one JSON object, `{topic: {doc: grade}}`.
    Graded(GradedQrels),
    /// TREC's tasks of diversity: `topic subtopic doc grade`, where a topic has two subtopics or more.
    Subtopics(SubtopicQrels),
    /// Task 2: `topic 0 doc FIRST|SECOND|NEUTRAL|NO`.
    Stances(StanceQrels),
    /// Images for arguments, 2025: the assessors' answers as grades from 0 to 2.
    Answers(GradedQrels),
}

impl Qrels {
    /// The grades of documents; `None` for images and stances.
    pub fn grades(&self) -> Option<&GradedQrels> {
        match self {
            Qrels::Graded(grades) | Qrels::Answers(grades) => Some(grades),
            Qrels::Subtopics(subtopics) => Some(&subtopics.grades),
            Qrels::Images(_) | Qrels::Stances(_) => None,
        }
    }

    /// Whether there is no judgement.
    pub fn is_empty(&self) -> bool {
        match self {
            Qrels::Images(images) => images.is_empty(),
            Qrels::Stances(stances) => stances.is_empty(),
            graded => graded.grades().is_none_or(GradedQrels::is_empty),
        }
    }
}

/// Reads judgements. The first line decides the kind. Returns what can be read, and an error for each line that cannot. If a document is judged
/// twice, its first judgement counts.
pub fn read(text: &str) -> (Qrels, Vec<LineError>) {
    if ranx::is_ranx(text) {
        return of_kind(Qrels::Graded, read_ranx(text));
    }
    let first: Vec<&str> = numbered_lines(text)
        .next()
        .map(|(_, line)| line.split_whitespace().collect())
        .unwrap_or_default();
    match *first.as_slice() {
        [json, ..] if json.starts_with(['{', '[']) => of_kind(Qrels::Answers, read_answers(text)),
        [query, doc, score] if is_beir_header([query, doc, score]) => {
            of_kind(Qrels::Graded, read_beir(text))
        }
        [_, _, _] if has_three_columns(text) => of_kind(Qrels::Graded, read_three_columns(text)),
        [_, question, _, _] if is_image_question(question) => {
            of_kind(Qrels::Images, read_images(text))
        }
        [_, _, _, stance] if ObjectStance::parse(stance).is_some() => {
            let stance_of = |word: &str| {
                ObjectStance::parse(word).ok_or_else(|| format!("{word:?} is not a stance"))
            };
            of_kind(Qrels::Stances, read_plain(text, stance_of))
        }
        _ if has_subtopics(text) => of_kind(Qrels::Subtopics, read_subtopics(text)),
        _ => of_kind(Qrels::Graded, read_plain(text, grade_of)),
    }
}

fn of_kind<T>(
    kind: fn(T) -> Qrels,
    (read, errors): (T, Vec<LineError>),
) -> (Qrels, Vec<LineError>) {
    (kind(read), errors)
}

/// Whether the second column has two values in a topic. In judgements without subtopics, it is 0 or Q0 everywhere.
fn has_subtopics(text: &str) -> bool {
    let mut first = HashMap::new();
    numbered_lines(text).any(|(_, line)| match four_fields(line, is_space_in_c) {
        Ok([topic, subtopic, _, _]) => *first.entry(topic).or_insert(subtopic) != subtopic,
        Err(_) => false,
    })
}

fn read_subtopics(text: &str) -> (SubtopicQrels, Vec<LineError>) {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut by_subtopic: Vec<GradedQrels> = Vec::new();
    let mut errors = Vec::new();
    for (number, line) in numbered_lines(text) {
        let mut take = || {
            let [topic, subtopic, doc, grade] = four_fields(line, is_space_in_c)?;
            let grade = grade_of(grade)?;
            let next = numbers.len();
            let at = *numbers.entry(subtopic).or_insert(next);
            if at == by_subtopic.len() {
                by_subtopic.push(GradedQrels::new());
            }
            enter(&mut by_subtopic[at], topic, doc, grade)
        };
        let error = take().err();
        errors.extend(error.map(|what| LineError::new(number, what)));
    }
    let mut qrels = SubtopicQrels::default();
    for of_subtopic in by_subtopic {
        for (topic, grades) in of_subtopic {
            let highest = qrels.grades.entry(topic.clone()).or_default();
            for (doc, grade) in &grades {
                let of_doc = highest.entry(doc.clone()).or_insert(*grade);
                *of_doc = of_doc.max(*grade);
            }
            qrels.subtopics.entry(topic).or_default().push(grades);
        }
    }
    (qrels, errors)
}

/// Whether judgements are of Touché. The first line decides: it has four columns, and a document of args.me, a passage (`clueweb12-…___1`), or a
/// document of ClueWeb12 for a topic from 1 to 100. Those of TREC's Web Tracks have other topics for ClueWeb12. Judgements in the formats of BEIR and
/// ranx are not of Touché, even for the same documents: they are used with the measures of BEIR.
pub fn are_of_touche(text: &str) -> bool {
    let Some((_, line)) = numbered_lines(text).next() else {
        return false;
    };
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [topic, question, id, _] = fields[..] else {
        return false;
    };
    let is_early = || matches!(topic.parse(), Ok(1..=100));
    let is_passage = || id.starts_with("clueweb") && id.contains("___");
    is_image_question(question)
        || is_argument(id)
        || is_passage()
        || id.starts_with("clueweb12-") && is_early()
}

/// Whether these are the names of the columns in BEIR's files of judgements (`qrels/test.tsv`).
fn is_beir_header(fields: [&str; 3]) -> bool {
    let [query, doc, score] = fields.map(str::to_ascii_lowercase);
    query == "query-id" && doc == "corpus-id" && score == "score"
}

/// Reads BEIR's judgements; the first line is their header. Returns what can be read, and an error for each line that cannot.
fn read_beir(text: &str) -> (GradedQrels, Vec<LineError>) {
    let mut qrels = GradedQrels::new();
    let mut is_header = true;
    let errors = each_line(text, |line| {
        if std::mem::take(&mut is_header) {
            return Ok(());
        }
        // an id may contain a space
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        let &[topic, doc, score] = fields.as_slice() else {
            return Err(format!(
                "{} fields between tabs, must be three",
                fields.len()
            ));
        };
        if topic.is_empty() || doc.is_empty() {
            return Err("an id is empty".to_owned());
        }
        enter(&mut qrels, topic, doc, grade_of(score)?)
    });
    (qrels, errors)
}

/// Reads one JSON object of topics, as ranx saves judgements.
fn read_ranx(text: &str) -> (GradedQrels, Vec<LineError>) {
    let mut qrels = GradedQrels::new();
    let (entries, mut errors) = ranx::read(text, "grade");
    for entry in entries {
        if let Err(what) = enter(&mut qrels, &entry.topic.0, &entry.doc.0, entry.number) {
            errors.push(LineError::new(entry.line, what));
        }
    }
    errors.sort_by_key(|error| error.line);
    (qrels, errors)
}

/// The fields of a line, separated by the white space of C.
fn fields_in_c(line: &str) -> Vec<&str> {
    let fields = line.split(is_space_in_c);
    fields.filter(|field| !field.is_empty()).collect()
}

/// Whether the first two lines are `topic doc grade`, so that a single damaged line does not change the format.
fn has_three_columns(text: &str) -> bool {
    numbered_lines(text).take(2).all(|(_, line)| {
        let fields = fields_in_c(line);
        matches!(fields.as_slice(), [_, _, grade] if grade_of(grade).is_ok())
    })
}

fn read_three_columns(text: &str) -> (GradedQrels, Vec<LineError>) {
    let mut qrels = GradedQrels::new();
    let errors = each_line(text, |line| {
        let fields = fields_in_c(line);
        let &[topic, doc, grade] = fields.as_slice() else {
            return Err(format!("{} fields, must be three", fields.len()));
        };
        enter(&mut qrels, topic, doc, grade_of(grade)?)
    });
    (qrels, errors)
}

fn grade_of(word: &str) -> Result<f64, String> {
    let read = word.parse().ok().filter(|grade| f64::is_finite(*grade));
    read.ok_or_else(|| format!("{word:?} is not a grade"))
}

/// Reads judgements of images. Returns what can be read, and an error for each line that cannot.
pub fn read_images(text: &str) -> (ImageQrels, Vec<LineError>) {
    let mut qrels = ImageQrels::new();
    let errors = each_line(text, |line| image_line(line, &mut qrels));
    (qrels, errors)
}

/// The fields of a line. `is_space` decides what separates them.
fn four_fields(line: &str, is_space: fn(char) -> bool) -> Result<[&str; 4], String> {
    let fields = line.split(is_space).filter(|field| !field.is_empty());
    let fields: Vec<&str> = fields.collect();
    let four = fields.as_slice().try_into().ok();
    four.ok_or_else(|| format!("{} fields, must be four", fields.len()))
}

fn is_image_question(word: &str) -> bool {
    matches!(word, "ONTOPIC" | "PRO" | "CON")
}

fn image_line(line: &str, qrels: &mut ImageQrels) -> Result<(), String> {
    let [topic, question, image, grade] = four_fields(line, char::is_whitespace)?;
    let Ok(grade) = grade.parse::<i32>() else {
        return Err(format!("{grade:?} is not a grade"));
    };
    // checked before anything is added, because a topic with an entry counts as judged
    if !is_image_question(question) {
        return Err(format!("{question:?} is not one of ONTOPIC, PRO, CON"));
    }
    let topic = qrels.entry(TopicId(topic.to_owned())).or_default();
    let grades = topic.entry(DocId(image.to_owned())).or_default();
    let slot = match question {
        "PRO" => &mut grades.pro,
        "CON" => &mut grades.con,
        _ => &mut grades.on_topic,
    };
    let first = *slot.get_or_insert(grade);
    if first != grade {
        return Err(format!(
            "judged {grade} here and {first} on an earlier line"
        ));
    }
    Ok(())
}

type ByDocument<T> = BTreeMap<TopicId, HashMap<DocId, T>>;

fn read_plain<T: Copy + PartialEq + std::fmt::Debug>(
    text: &str,
    of: impl Fn(&str) -> Result<T, String>,
) -> (ByDocument<T>, Vec<LineError>) {
    let mut qrels = ByDocument::new();
    let errors = each_line(text, |line| {
        let [topic, _, doc, judgement] = four_fields(line, is_space_in_c)?;
        enter(&mut qrels, topic, doc, of(judgement)?)
    });
    (qrels, errors)
}

fn enter<T: Copy + PartialEq + std::fmt::Debug>(
    qrels: &mut ByDocument<T>,
    topic: &str,
    doc: &str,
    judgement: T,
) -> Result<(), String> {
    let topic = qrels.entry(TopicId(topic.to_owned())).or_default();
    let first = *topic.entry(DocId(doc.to_owned())).or_insert(judgement);
    if first != judgement {
        return Err(format!(
            "judged {judgement:?} here and {first:?} on an earlier line"
        ));
    }
    Ok(())
}

/// A judgement of 2025: the assessors' answers about an image for an argument. There is one answer for each of the argument's two aspects, as the
/// organisers' evaluator reads it, or one answer for both.
#[derive(Deserialize)]
struct AnswerRecord {
    #[serde(alias = "argumentId")]
    argument_id: String,
    #[serde(alias = "imageId")]
    image_id: String,
    #[serde(default)]
    aspects: Vec<Aspect>,
    #[serde(default, alias = "relevance", alias = "grade")]
    answer: Option<AssessorAnswer>,
    #[serde(default, rename = "annotatorTag")]
    assessor: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Aspect {
    answer: AssessorAnswer,
    #[serde(default, rename = "annotatorTag")]
    assessor: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AssessorAnswer {
    Grade(u8),
    Word(String),
}

impl AssessorAnswer {
    fn grade(&self) -> Result<u8, String> {
        match self {
            AssessorAnswer::Grade(grade @ 0..=2) => Ok(*grade),
            AssessorAnswer::Grade(grade) => Err(format!("grade {grade}, must be 0 to 2")),
            AssessorAnswer::Word(word) => match word.trim().to_ascii_lowercase().as_str() {
                "no" => Ok(0),
                "partial" | "partially" | "partially agree" => Ok(1),
                "yes" => Ok(2),
                _ => Err(format!("{word:?} is not one of yes, partially agree, no")),
            },
        }
    }
}

/// Combines two grades of 0 to 2, of two aspects or of two assessors, by the organisers' table: yes and partly make yes; no and
/// anything better make partly. This is the mean, rounded up.
fn combined(a: u8, b: u8) -> u8 {
    (a + b).div_ceil(2)
}

impl AnswerRecord {
    fn grade(&self) -> Result<u8, String> {
        match (self.aspects.as_slice(), &self.answer) {
            ([one], None) => one.answer.grade(),
            ([one, two], None) => Ok(combined(one.answer.grade()?, two.answer.grade()?)),
            ([], Some(answer)) => answer.grade(),
            (aspects, answer) => Err(format!(
                "{} aspects and {} answer, must be two aspects or one answer",
                aspects.len(),
                if answer.is_some() { "an" } else { "no" }
            )),
        }
    }

    /// The names of all assessors of the record, sorted and joined to one.
    fn assessors(&self) -> String {
        let of_aspects = self.aspects.iter().filter_map(|a| a.assessor.as_ref());
        let all = of_aspects.chain(&self.assessor);
        let names: BTreeSet<String> = all
            .map(|tag| tag.to_string().to_ascii_lowercase())
            .collect();
        names.into_iter().collect::<Vec<_>>().join("&")
    }
}

/// The grades of pairs of an argument and an image, by assessor.
#[derive(Default)]
struct AnswersByAssessor(BTreeMap<String, BTreeMap<(String, String), u8>>);

impl AnswersByAssessor {
    fn take(&mut self, record: AnswerRecord) -> Result<(), String> {
        for (name, id) in [
            ("argument", &record.argument_id),
            ("image", &record.image_id),
        ] {
            if let Some(why) = unfit_field(id) {
                return Err(format!("the id of the {name} {why}"));
            }
        }
        let grade = record.grade()?;
        let of = self.0.entry(record.assessors()).or_default();
        let pair = (record.argument_id, record.image_id);
        let first = *of.entry(pair).or_insert(grade);
        if first != grade {
            return Err(format!(
                "judged {grade} here and {first} earlier, by the same assessor"
            ));
        }
        Ok(())
    }

    /// Reads one array of judgements.
    fn take_array(&mut self, array: &str) -> Vec<LineError> {
        let error = |line, what: String| LineError::new(line, what);
        match serde_json::from_str::<Vec<JsonObject<AnswerRecord>>>(array) {
            Ok(all) => (1..)
                .zip(all)
                .filter_map(|(number, JsonObject(record))| Some((number, self.take(record).err()?)))
                .map(|(number, why)| error(1, format!("entry {number} of the array: {why}")))
                .collect(),
            Err(why) => vec![error(
                why.line() as u64,
                format!("not an array of judgements: {why}"),
            )],
        }
    }
}

/// Reads the judgements of 2025, as JSON lines or as one array. If there are two assessors, their grades are combined by the
/// organisers' table, and pairs that only one of them judged are left out. More than two assessors are an error: the table says
/// nothing about them.
fn read_answers(text: &str) -> (GradedQrels, Vec<LineError>) {
    let mut read = AnswersByAssessor::default();
    let array = text.trim_start_matches('\u{feff}').trim_start();
    let mut errors = if array.starts_with('[') {
        read.take_array(array)
    } else {
        each_line(text, |line| {
            let record = serde_json::from_str(line).map(|JsonObject(record)| record);
            read.take(record.map_err(|error| format!("not a judgement of 2025: {error}"))?)
        })
    };
    let mut assessors = read.0.into_values();
    let mut grades = assessors.next().unwrap_or_default();
    if let Some(second) = assessors.next() {
        grades = grades
            .into_iter()
            .filter_map(|(pair, grade)| {
                let other = *second.get(&pair)?;
                Some((pair, combined(grade, other)))
            })
            .collect();
    }
    if assessors.next().is_some() {
        let what = "more than two assessors: only the first two are used".to_owned();
        errors.push(LineError::new(1, what));
    }
    let mut qrels = GradedQrels::new();
    for ((argument, image), grade) in grades {
        let topic = qrels.entry(TopicId(argument)).or_default();
        topic.insert(DocId(image), f64::from(grade));
    }
    (qrels, errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_of_grades_gives_the_same_judgements() {
        let expected = read("1 0 77 2\n1 0 b 0\n2 0 c -2\n");
        assert!(matches!(&expected, (Qrels::Graded(_), errors) if errors.is_empty()));
        for text in [
            // MS MARCO
            "1\t0\t77\t2\n1\t0\tb\t0\n2\t0\tc\t-2\n",
            "query-id\tcorpus-id\tscore\n1\t77\t2\n1\tb\t0\n2\tc\t-2\n",
            "1\t77\t2\r\n1\tb\t0\r\n2\tc\t-2",
            "1 77 2\n1 b 0\n2 c -2\n",
            r#"{"1":{"77":2,"b":0},"2":{"c":-2}}"#,
            "\u{feff}{\n  \"2\": {\n    \"c\": -2.0\n  },\n  \"1\": {\"b\": 0, \"77\": 2}\n}\n",
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_in_them_is_named() {
        let said = |text: &str| -> Vec<String> {
            let (_, errors) = read(text);
            errors.iter().map(LineError::to_string).collect()
        };
        assert_eq!(
            said("1 a 2\n1 b 1\n1 c\n1 d many\n1 a 1\n"),
            [
                "line 3: 2 fields, must be three",
                "line 4: \"many\" is not a grade",
                "line 5: judged 1.0 here and 2.0 on an earlier line",
            ]
        );
        // a damaged first line does not change the format of the others
        assert_eq!(said("1 0 1\n1 0 b 1\n"), ["line 1: 3 fields, must be four"]);
        assert_eq!(
            said("{\"1\": {\"a\": 1,\n\"a\": 2,\n\"b\": \"x\"}}"),
            [
                "line 2: judged 2.0 here and 1.0 on an earlier line",
                "line 3: topic 1, document b: \"x\" is not a grade",
            ]
        );
    }

    #[test]
    fn judgements_of_2025_are_told_from_those_of_ranx() {
        let line = r#"{"argument_id": "1-1", "image_id": "Ia", "answer": "yes"}"#;
        let noted =
            r#"{"note": {"by": "me"}, "argument_id": "1-1", "image_id": "Ia", "answer": "yes"}"#;
        for text in [line, noted] {
            assert!(
                matches!(read(text), (Qrels::Answers(_), errors) if errors.is_empty()),
                "{text}"
            );
        }
    }
}
