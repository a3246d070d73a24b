//! Run files: the only writer of run lines, and readers that accept what teams really submit.
//!
//! ```
//! use riposte_eval::run::{read_texts, write_texts};
//!
//! let (lines, errors) = read_texts("51 Q0 d1 1 12.5 mine\n51 Q0 d2 second 11 mine\n");
//! // trec_eval does not use the rank
//! assert_eq!((errors[0].line, errors[0].is_read), (2, true));
//! assert_eq!((lines.len(), lines[0].score), (2, Some(12.5)));
//! assert_eq!(write_texts(&lines[..1])?, "51 Q0 d1 1 12.500000 mine\n");
//! # Ok::<(), riposte_eval::Error>(())
//! ```

mod texts;

use std::fmt::Write;

pub use crate::field::unfit_field;
pub use crate::ranx::begins_as_ranx;
pub use texts::{Contradiction, ReadRun, RunFileFormat, read_texts};

use serde::{Deserialize, Serialize};

use crate::lines::{JsonObject, each_line};
use crate::{DocId, Error, LineError, ObjectStance, Stance, TopicId};

/// A line of an image run: `topic PRO|CON imageId rank score tag` (Touché 2022 and 2023, Task 3).
#[derive(Clone, Debug, PartialEq)]
pub struct ImageRunLine {
    /// The topic for which the image is listed.
    pub topic: TopicId,
    /// The list.
    pub stance: Stance,
    /// The id of the image.
    pub image: DocId,
    /// From 1. Some submitted runs count from 0.
    pub rank: u32,
    /// Finite. Higher is better. `None` if it was read from a run of 2024 or 2025, which has no scores.
    pub score: Option<f64>,
    /// The name of the run, the same on all lines.
    pub tag: String,
}

/// A line of a text run: `topic Q0|FIRST|SECOND|NEUTRAL|NO doc rank score tag` (Tasks 1 and 2).
///
/// A line of an image run of 2024 or 2025 is also read into this type.
#[derive(Clone, Debug, PartialEq)]
pub struct TextRunLine {
    /// The topic for which the document is listed.
    pub topic: TopicId,
    /// Only in Task 2; `None` if the second column is not one of the four stances.
    pub stance: Option<ObjectStance>,
    /// The id of the document.
    pub doc: DocId,
    /// From 1. Some submitted runs count from 0.
    pub rank: u32,
    /// Finite. Higher is better. `None` as for [`ImageRunLine::score`].
    pub score: Option<f64>,
    /// The name of the run, the same on all lines.
    pub tag: String,
}

/// A line of an image run of 2024 or 2025, where one list answers each claim.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerLine {
    /// The claim, as `argument_id` names it.
    pub argument: TopicId,
    /// The id of the image.
    pub image: DocId,
    /// From 1.
    pub rank: u32,
    /// The name of the run, the same on all lines.
    pub tag: String,
    /// Why the image conveys the argument, for a human reader.
    pub rationale: Option<String>,
}

/// Formats a run of 2024 or 2025: one JSON object per line, in the given order.
///
/// # Errors
/// A field is empty or contains white space or a control character.
pub fn write_answers(lines: &[AnswerLine]) -> Result<String, Error> {
    #[derive(Serialize)]
    struct AnswerObject<'a> {
        argument_id: &'a str,
        method: &'a str,
        image_id: &'a str,
        rank: u32,
        tag: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        rationale: Option<&'a str>,
    }
    let mut run = String::with_capacity(lines.len() * 128);
    for line in lines {
        check_fields([&line.argument.0, &line.image.0, &line.tag])?;
        let line = serde_json::to_string(&AnswerObject {
            argument_id: &line.argument.0,
            method: "retrieval",
            image_id: &line.image.0,
            rank: line.rank,
            tag: &line.tag,
            rationale: line.rationale.as_deref(),
        });
        let what = "a line of a run";
        let line = line.map_err(|error| Error::Json { what, error })?;
        run.push_str(&line);
        run.push('\n');
    }
    Ok(run)
}

/// Checks that the fields can be written to a run line.
fn check_fields(fields: [&str; 3]) -> Result<(), Error> {
    for field in fields {
        if let Some(why) = unfit_field(field) {
            let field = field.to_owned();
            return Err(Error::UnfitField { field, why });
        }
    }
    Ok(())
}

/// Formats an image run: the lines in the given order, fields separated by one space, scores with six decimals.
///
/// # Errors
/// A field is empty or contains white space or a control character, or a score is missing or not finite.
pub fn write_images(lines: &[ImageRunLine]) -> Result<String, Error> {
    let mut run = String::with_capacity(lines.len() * 64);
    for line in lines {
        let stance = line.stance.word();
        let (topic, image, tag) = (&line.topic, &line.image, &line.tag);
        write_line(&mut run, topic, stance, image, line.rank, line.score, tag)?;
    }
    Ok(run)
}

/// Formats a text run like [`write_images`], with `Q0` for a line without a stance.
///
/// # Errors
/// Those of [`write_images`].
pub fn write_texts(lines: &[TextRunLine]) -> Result<String, Error> {
    let mut run = String::with_capacity(lines.len() * 64);
    for line in lines {
        let stance = line.stance.map_or("Q0", ObjectStance::word);
        let (topic, doc, tag) = (&line.topic, &line.doc, &line.tag);
        write_line(&mut run, topic, stance, doc, line.rank, line.score, tag)?;
    }
    Ok(run)
}

fn write_line(
    run: &mut String,
    topic: &TopicId,
    stance: &str,
    doc: &DocId,
    rank: u32,
    score: Option<f64>,
    tag: &str,
) -> Result<(), Error> {
    check_fields([&topic.0, &doc.0, tag])?;
    let score = score.ok_or_else(|| Error::NoScore {
        topic: topic.clone(),
        doc: doc.clone(),
    })?;
    let score = fixed_point(score)?;
    // writing to a String cannot fail
    let _ = writeln!(run, "{topic} {stance} {doc} {rank} {score} {tag}");
    Ok(())
}

/// The score as it is read back from a run, which has six decimals.
///
/// # Errors
/// The score is not finite.
pub fn written_score(score: f64) -> Result<f64, Error> {
    let written = fixed_point(score)?;
    written.parse().map_err(|_| Error::Score(score))
}

fn fixed_point(score: f64) -> Result<String, Error> {
    if !score.is_finite() {
        return Err(Error::Score(score));
    }
    let text = format!("{score:.6}");
    Ok(match text.strip_prefix('-') {
        // "-0.000000" and "0.000000" are the same score
        Some(zero) if zero.bytes().all(|b| b == b'0' || b == b'.') => zero.to_owned(),
        _ => text,
    })
}

/// The score of a run line as a program with 32-bit floats reads it.
pub(crate) fn read_back(score: f64) -> f32 {
    let written = fixed_point(score).ok();
    let read = written.and_then(|text| text.parse().ok());
    read.unwrap_or(f32::NAN)
}

/// Reads an image run. Returns the lines that can be read, in order, and an error for each of the others.
///
/// The reader accepts what teams submit: tabs or spaces, stances in lower case, tags with blanks in double quotes, CRLF, scores
/// with an exponent. Whether a run is valid is checked by [`verify`](crate::verify).
pub fn read_images(text: &str) -> (Vec<ImageRunLine>, Vec<LineError>) {
    read(text, |line| {
        let [topic, stance, image, rank, score, tag] = fields(line)?;
        Ok(ImageRunLine {
            topic: TopicId(topic.to_owned()),
            stance: read_stance(stance)?,
            image: DocId(image.to_owned()),
            rank: read_rank(rank)?,
            score: Some(read_score(score)?),
            tag: tag.to_owned(),
        })
    })
}

/// Reads a run of 2024 or 2025 as an image run without scores. The one list of each claim becomes the PRO list.
pub fn read_claims(text: &str) -> (Vec<ImageRunLine>, Vec<LineError>) {
    read(text, |line| {
        let line = read_answer(line)?;
        Ok(ImageRunLine {
            topic: line.argument,
            stance: Stance::Pro,
            image: line.image,
            rank: line.rank,
            score: None,
            tag: line.tag,
        })
    })
}

/// Whether a run consists of JSON lines.
pub fn is_json(text: &str) -> bool {
    RunFileFormat::of(text) == RunFileFormat::JsonLines
}

fn read<T>(text: &str, of: impl Fn(&str) -> Result<T, String>) -> (Vec<T>, Vec<LineError>) {
    let mut lines = Vec::new();
    let errors = each_line(text, |line| {
        lines.push(of(line)?);
        Ok(())
    });
    (lines, errors)
}

/// The six fields of a line. Quotes around the tag are removed.
fn fields(line: &str) -> Result<[&str; 6], String> {
    let ([topic, stance, doc, rank, score], rest) = first_fields(line, char::is_whitespace)?;
    Ok([topic, stance, doc, rank, score, tag_of(rest)?])
}

/// What C's `isspace` takes for white space, with which trec_eval separates fields.
pub(crate) fn is_space_in_c(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

/// The fields of a line before the tag, and the rest of it. `is_space` decides what separates fields.
fn first_fields(line: &str, is_space: fn(char) -> bool) -> Result<([&str; 5], &str), String> {
    let mut rest = line.trim_matches(is_space);
    let mut fields = [""; 5];
    let names = ["topic", "stance or Q0", "document", "rank", "score"];
    for (slot, name) in fields.iter_mut().zip(names) {
        let (field, after) = rest.split_once(is_space).unwrap_or((rest, ""));
        rest = after.trim_start_matches(is_space);
        if field.is_empty() {
            return Err(format!("no {name}"));
        }
        *slot = field;
    }
    Ok((fields, rest))
}

/// The tag, without the quotes around it.
fn tag_of(rest: &str) -> Result<&str, &'static str> {
    let quoted = rest.strip_prefix('"').and_then(|r| r.strip_suffix('"'));
    let tag = quoted.unwrap_or(rest);
    if tag.is_empty() {
        return Err("no tag");
    }
    if quoted.is_none() && tag.contains(char::is_whitespace) {
        return Err("more than six fields");
    }
    Ok(tag)
}

fn read_stance(stance: &str) -> Result<Stance, String> {
    let read = stance.to_ascii_uppercase().parse().ok();
    read.ok_or_else(|| format!("{stance:?} is neither PRO nor CON"))
}

fn read_rank(rank: &str) -> Result<u32, String> {
    let read = rank.parse().ok();
    read.ok_or_else(|| format!("{rank:?} is not a rank"))
}

fn read_score(score: &str) -> Result<f64, String> {
    let read = score.parse().ok().filter(|score| f64::is_finite(*score));
    read.ok_or_else(|| format!("{score:?} is not a score"))
}

/// The number at the beginning of a text, as C's `atof` reads it: 2 for "2,5", 0 if there is none. `None` for what is not a number, and for
/// hexadecimal numbers.
fn leading_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = text.len() - unsigned.len();
    let begins = |with: &str| {
        let start = unsigned.as_bytes().get(..with.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
    };
    if begins("nan") || begins("0x") {
        return None;
    }
    if begins("inf") {
        return text.get(..sign + "inf".len())?.parse().ok();
    }
    let digits = |from: usize| {
        let rest = unsigned.bytes().skip(from);
        rest.take_while(u8::is_ascii_digit).count()
    };
    let whole = digits(0);
    let is_point = unsigned.as_bytes().get(whole) == Some(&b'.');
    let decimals = if is_point { digits(whole + 1) } else { 0 };
    if whole + decimals == 0 {
        return Some(0.0);
    }
    let mut end = whole + usize::from(is_point) + decimals;
    let exponent = unsigned
        .get(end..)
        .and_then(|rest| rest.strip_prefix(['e', 'E']));
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let length = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        if length > 0 {
            end += 1 + exponent.len() - unsigned.len() + length;
        }
    }
    text.get(..sign + end)?.parse().ok()
}

#[derive(Deserialize)]
struct AnswerFields {
    argument_id: String,
    #[serde(default)]
    method: Option<String>,
    image_id: String,
    #[serde(deserialize_with = "json_rank")]
    rank: u32,
    #[serde(default)]
    tag: Option<String>,
}

/// Reads a rank in JSON. pandas writes 1.0 instead of 1 if a rank of the run is missing, and the organisers' validator accepts that.
fn json_rank<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let rank = serde_json::Number::deserialize(from)?;
    let wrong = || serde::de::Error::custom(format!("the rank {rank} is not a whole number"));
    rank.as_f64().and_then(whole_rank).ok_or_else(wrong)
}

/// The rank that a number stands for; `None` if it is negative, too large or not whole.
fn whole_rank(number: f64) -> Option<u32> {
    let is_rank = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    is_rank.then_some(number as u32)
}

/// Reads one line of a 2025 image run. The error says why it cannot: it is not a JSON object with these keys, or its method is not `retrieval`.
pub(crate) fn read_answer(line: &str) -> Result<AnswerLine, String> {
    let JsonObject(line): JsonObject<AnswerFields> =
        serde_json::from_str(line).map_err(|error| {
            format!("not a line of a 2025 run (argument_id, image_id, rank): {error}")
        })?;
    for (name, id) in [
        ("argument_id", &line.argument_id),
        ("image_id", &line.image_id),
    ] {
        if let Some(why) = unfit_field(id) {
            return Err(format!("its {name} {why}"));
        }
    }
    if let Some(method) = line.method.filter(|m| m != "retrieval") {
        return Err(format!(
            "method {method:?}: only retrieved images can be judged"
        ));
    }
    Ok(AnswerLine {
        argument: TopicId(line.argument_id),
        image: DocId(line.image_id),
        rank: line.rank,
        // the organisers' evaluator gives this tag to runs without one
        tag: line.tag.unwrap_or_else(|| "default".to_owned()),
        rationale: None,
    })
}
