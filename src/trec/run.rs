//! Run lines: the one writer of them, and a reader of what teams really hand in.

use std::fmt::Write;

use anyhow::{Result, bail, ensure};

use super::{DocId, LineError, Stance, TopicId, numbered_lines};

/// A line of an image run: `topic PRO|CON imageId rank score tag` (Touché 2022 and 2023, Task 3).
#[derive(Clone, Debug, PartialEq)]
pub struct ImageRunLine {
    pub topic: TopicId,
    pub stance: Stance,
    pub image: DocId,
    /// From 1; real runs also count from 0.
    pub rank: u32,
    /// Finite, the higher the better.
    pub score: f64,
    pub tag: String,
}

/// The run file of these lines, in their order: fields parted by one space, scores fixed-point with six
/// decimals. An error where a field would break its line (empty, or with a blank in it) or a score is
/// not finite.
pub fn write_images(lines: &[ImageRunLine]) -> Result<String> {
    let mut run = String::with_capacity(lines.len() * 64);
    for line in lines {
        for field in [&line.topic.0, &line.image.0, &line.tag] {
            ensure!(
                !field.is_empty() && !field.contains(char::is_whitespace),
                "cannot write {field:?} as a field of a run line"
            );
        }
        let (topic, stance, image, rank) = (&line.topic, line.stance, &line.image, line.rank);
        let tag = &line.tag;
        let score = fixed_point(line.score)?;
        // Writing to a String does not fail.
        let _ = writeln!(run, "{topic} {stance} {image} {rank} {score} {tag}");
    }
    Ok(run)
}

fn fixed_point(score: f64) -> Result<String> {
    ensure!(score.is_finite(), "cannot write the score {score}");
    let text = format!("{score:.6}");
    Ok(match text.strip_prefix('-') {
        // One zero, not two.
        Some(zero) if zero.bytes().all(|b| b == b'0' || b == b'.') => zero.to_owned(),
        _ => text,
    })
}

/// Reads an image run: the lines that can be read, in their order, and what is wrong with the others.
///
/// Takes what teams write: tabs or spaces, lower-case stances, tags with blanks in double quotes, CRLF,
/// scores with an exponent. Whether a run may be handed in is `judge::verify`'s question.
pub fn read_images(text: &str) -> (Vec<ImageRunLine>, Vec<LineError>) {
    let (mut lines, mut errors) = (Vec::new(), Vec::new());
    for (line, fields) in numbered_lines(text) {
        match image_line(fields) {
            Ok(read) => lines.push(read),
            Err(error) => errors.push(LineError {
                line,
                what: error.to_string(),
            }),
        }
    }
    (lines, errors)
}

fn image_line(line: &str) -> Result<ImageRunLine> {
    let mut rest = line.trim();
    let mut field = |name: &str| {
        let (field, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = after.trim_start();
        ensure!(!field.is_empty(), "no {name}");
        Ok(field)
    };
    let topic = field("topic")?;
    let stance = field("stance")?;
    let image = field("image")?;
    let rank = field("rank")?;
    let score = field("score")?;
    let quoted = rest.strip_prefix('"').and_then(|r| r.strip_suffix('"'));
    let tag = quoted.unwrap_or(rest);
    ensure!(!tag.is_empty(), "no tag");
    ensure!(
        quoted.is_some() || !tag.contains(char::is_whitespace),
        "more than six fields"
    );
    Ok(ImageRunLine {
        topic: TopicId(topic.to_owned()),
        stance: match stance.to_ascii_uppercase().as_str() {
            "PRO" => Stance::Pro,
            "CON" => Stance::Con,
            _ => bail!("{stance:?} is neither PRO nor CON"),
        },
        image: DocId(image.to_owned()),
        rank: match rank.parse() {
            Ok(rank) => rank,
            Err(_) => bail!("{rank:?} is no rank"),
        },
        score: match score.parse() {
            Ok(score) if f64::is_finite(score) => score,
            _ => bail!("{score:?} is no score"),
        },
        tag: tag.to_owned(),
    })
}
