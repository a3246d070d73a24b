//! Reads text runs in each of their formats.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use super::{
    TextRunLine, first_fields, is_space_in_c, leading_number, read_answer, read_rank, read_score,
    tag_of, whole_rank,
};
use crate::limits::MAX_RANK;
use crate::lines::numbered_lines;
use crate::{DocId, LineError, ObjectStance, TopicId, ranx};

/// The tag of the lines of formats that have none. The organisers' evaluator gives it to runs of 2025 without one.
const NO_TAG: &str = "default";

/// The format of a run's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFileFormat {
    /// The lab's and TREC's: `topic Q0 doc rank score tag`. Also what is in none of the other formats.
    Trec,
    /// The lab's of 2024 and 2025: a JSON object in each line.
    JsonLines,
    /// MS MARCO's: `topic doc rank`.
    Ranked,
    /// That of programs for MS MARCO, such as ColBERT: `topic doc rank score`.
    Scored,
    /// ranx's: one JSON object, `{topic: {doc: score}}`.
    Ranx,
}

impl RunFileFormat {
    /// Recognises the format. A brace decides for JSON, and the first value in it for one of the two formats. For three and four columns, the first two
    /// lines decide, so that a single damaged line does not change the format.
    pub fn of(text: &str) -> RunFileFormat {
        let beginning = text.trim_start_matches('\u{feff}').trim_start();
        if beginning.starts_with('{') {
            return match ranx::is_ranx(text) {
                true => RunFileFormat::Ranx,
                false => RunFileFormat::JsonLines,
            };
        }
        let first = || numbered_lines(text).take(2).map(|(_, line)| columns(line));
        let are = |is: fn(&[&str]) -> bool| first().all(|fields| is(&fields));
        if first().next().is_none() {
            RunFileFormat::Trec
        } else if are(|fields| matches!(fields, [_, _, rank] if is_number(rank))) {
            RunFileFormat::Ranked
        } else if are(|fields| matches!(fields, [_, _, rank, score] if read_rank(rank).is_ok() && is_number(score)))
            // these lines are judgements of documents with numbers for ids, as MS MARCO has them
            && !are(|fields| matches!(fields, [_, "0" | "Q0", ..]))
        {
            RunFileFormat::Scored
        } else {
            RunFileFormat::Trec
        }
    }

    /// The name of a format that only evaluators read, with its form; `None` for those of the lab.
    pub fn foreign(self) -> Option<&'static str> {
        match self {
            RunFileFormat::Trec | RunFileFormat::JsonLines => None,
            RunFileFormat::Ranked => Some("three columns, as in MS MARCO (topic document rank)"),
            RunFileFormat::Scored => Some("four columns (topic document rank score)"),
            RunFileFormat::Ranx => Some("the JSON of ranx ({topic: {document: score}})"),
        }
    }
}

fn columns(line: &str) -> Vec<&str> {
    let fields = line.split(is_space_in_c);
    // one more than a line of the lab has, because a tag can have blanks
    fields.filter(|field| !field.is_empty()).take(7).collect()
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

/// A text run as it was read, with the numbers of its lines.
#[derive(Debug)]
pub struct ReadRun {
    /// How the file was read.
    pub format: RunFileFormat,
    /// What could be read: in the order of the file.
    pub lines: Vec<TextRunLine>,
    /// An error for each line, or entry of a JSON object, that could not be read or is odd.
    pub errors: Vec<LineError>,
    /// For each of `lines`.
    origins: Vec<Origin>,
}

/// Where a line of a run comes from.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// From 1.
    line: u64,
    /// Whether the file says the rank and the score.
    has_both: bool,
}

/// Ranks that contradict the scores of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// The number of topics with such ranks.
    pub topics: usize,
    /// The first of them.
    pub topic: TopicId,
    /// A line that is ranked higher: its number in the file, its rank and its score.
    pub higher: (u64, u32, f64),
    /// A line that is ranked lower, but has a higher score.
    pub lower: (u64, u32, f64),
}

impl fmt::Display for Contradiction {
    /// The first topic with its lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((line, rank, score), (other, lower, greater)) = (self.higher, self.lower);
        let topic = &self.topic;
        write!(
            f,
            "topic {topic}: line {line} has rank {rank} and score {score}, line {other} has rank {lower} and score {greater}"
        )
    }
}

/// Reads a text run in the format that [`RunFileFormat::of`] recognises. Returns the lines that can be read, in order, and an error for each of the
/// others. [`ReadRun::read`] also says where the lines are.
pub fn read_texts(text: &str) -> (Vec<TextRunLine>, Vec<LineError>) {
    let ReadRun { lines, errors, .. } = ReadRun::read(text);
    (lines, errors)
}

impl ReadRun {
    /// Reads a text run in the format that [`RunFileFormat::of`] recognises.
    ///
    /// In the lab's format, a second column that is not one of the four stances (`Q0`, `0`) is not an error. A tag with blanks, a missing tag, a rank
    /// that is not a number, an infinite score and a score with text after its number are odd, but trec_eval reads such lines. So they are read, and
    /// there is an error for each that says so ([`LineError::is_read`]). Fields are separated by the white space of C, as in trec_eval: a no-break
    /// space is part of an id.
    ///
    /// In a run without scores, the score of a rank is the rank with a minus sign. Such scores strictly decrease with the ranks, also as 32-bit
    /// floats, and documents of equal ranks have equal scores. In a run without ranks, they follow from the scores as in trec_eval.
    pub fn read(text: &str) -> ReadRun {
        let mut run = ReadRun {
            format: RunFileFormat::of(text),
            lines: Vec::new(),
            errors: Vec::new(),
            origins: Vec::new(),
        };
        match run.format {
            RunFileFormat::Ranx => run.read_ranx(text),
            RunFileFormat::JsonLines => run.read_lines(text, |line, _| read_claim(line)),
            RunFileFormat::Ranked => run.read_lines(text, |line, _| read_ranked(line)),
            RunFileFormat::Scored => run.read_lines(text, |line, _| read_scored(line)),
            RunFileFormat::Trec => run.read_lines(text, read_as_trec_eval),
        }
        run
    }

    /// `read` gets a line and the number of lines that were read before it.
    fn read_lines(&mut self, text: &str, read: impl Fn(&str, usize) -> Result<ReadLine, String>) {
        for (number, line) in numbered_lines(text) {
            match read(line, self.lines.len()) {
                Ok(read) => {
                    self.lines.push(read.line);
                    self.origins.push(Origin {
                        line: number,
                        has_both: read.has_both,
                    });
                    let odd = read.odd.map(|what| LineError {
                        is_read: true,
                        ..LineError::new(number, what)
                    });
                    self.errors.extend(odd);
                }
                Err(what) => self.errors.push(LineError::new(number, what)),
            }
        }
    }

    fn read_ranx(&mut self, text: &str) {
        let (entries, errors) = ranx::read(text, "score");
        self.errors = errors;
        for (rank, entry) in ranx::ranks(&entries).into_iter().zip(entries) {
            self.origins.push(Origin {
                line: entry.line,
                has_both: false,
            });
            self.lines.push(TextRunLine {
                topic: entry.topic,
                stance: None,
                doc: entry.doc,
                rank,
                score: Some(entry.number),
                tag: NO_TAG.to_owned(),
            });
        }
    }

    /// An error for each line that repeats a document of its topic. trec_eval ends with an error at the first of them.
    pub fn repeated(&self) -> Vec<LineError> {
        let mut first = HashMap::with_capacity(self.lines.len());
        let mut repeated = Vec::new();
        for (line, origin) in self.lines.iter().zip(&self.origins) {
            match first.entry((&line.topic, &line.doc)) {
                Entry::Vacant(entry) => {
                    entry.insert(origin.line);
                }
                Entry::Occupied(first) => {
                    let (topic, doc, first) = (&line.topic, &line.doc, first.get());
                    let what = format!(
                        "document {doc} of topic {topic} again, first on line {first}: only the better of them counts, and trec_eval refuses the run"
                    );
                    repeated.push(LineError::new(origin.line, what));
                }
            }
        }
        repeated
    }

    /// The lines, and an error for each line that cannot be read, is odd, or repeats a document.
    pub fn into_parts(mut self) -> (Vec<TextRunLine>, Vec<LineError>) {
        let repeated = self.repeated();
        self.errors.extend(repeated);
        (self.lines, self.errors)
    }

    /// The topics in which a line has a lower rank than another, but a higher score as a 32-bit float; `None` if there are none.
    pub fn contradiction(&self) -> Option<Contradiction> {
        let mut lists: HashMap<&TopicId, Vec<Placed>> = HashMap::new();
        for (line, origin) in self.lines.iter().zip(&self.origins) {
            if let (Some(score), true) = (line.score, origin.has_both) {
                let placed = (origin.line, line.rank, score);
                lists.entry(&line.topic).or_default().push(placed);
            }
        }
        let mut topics = 0;
        let mut first: Option<(u64, Contradiction)> = None;
        for (topic, mut list) in lists {
            let begin = list.first().map_or(0, |(line, ..)| *line);
            let Some((higher, lower)) = contradicting(&mut list) else {
                continue;
            };
            topics += 1;
            if first.as_ref().is_none_or(|(before, _)| begin < *before) {
                let topic = topic.clone();
                let found = Contradiction {
                    topics,
                    topic,
                    higher,
                    lower,
                };
                first = Some((begin, found));
            }
        }
        first.map(|(_, first)| Contradiction { topics, ..first })
    }
}

/// A line's number, rank and score.
type Placed = (u64, u32, f64);

/// The first pair of lines, by their ranks, of which the one with the lower rank has the higher score.
fn contradicting(list: &mut [Placed]) -> Option<(Placed, Placed)> {
    list.sort_by_key(|(_, rank, _)| *rank);
    let score = |line: &Placed| line.2 as f32;
    let mut least: Option<Placed> = None;
    // lines of equal rank do not contradict each other
    for equal in list.chunk_by(|(_, a, _), (_, b, _)| a == b) {
        if let Some(higher) = least
            && let Some(lower) = equal.iter().find(|line| score(line) > score(&higher))
        {
            return Some((higher, *lower));
        }
        let all = least.iter().chain(equal);
        least = all.copied().min_by(|a, b| score(a).total_cmp(&score(b)));
    }
    None
}

/// A line that was read.
struct ReadLine {
    line: TextRunLine,
    /// What is odd in it.
    odd: Option<String>,
    has_both: bool,
}

impl ReadLine {
    /// A line of a format without a second column and a tag.
    fn plain(topic: &str, doc: &str, rank: u32, score: f64, has_both: bool) -> ReadLine {
        ReadLine {
            line: TextRunLine {
                topic: TopicId(topic.to_owned()),
                stance: None,
                doc: DocId(doc.to_owned()),
                rank,
                score: Some(score),
                tag: NO_TAG.to_owned(),
            },
            odd: None,
            has_both,
        }
    }
}

fn read_ranked(line: &str) -> Result<ReadLine, String> {
    let fields = columns(line);
    let &[topic, doc, rank] = fields.as_slice() else {
        return Err(wrong_number(&fields, "three: topic, document, rank"));
    };
    let rank = read_rank(rank)?;
    if rank > MAX_RANK {
        return Err(format!("the rank {rank} is above {MAX_RANK}"));
    }
    // the difference is 0 for rank 0, and not -0
    Ok(ReadLine::plain(
        topic,
        doc,
        rank,
        0.0 - f64::from(rank),
        false,
    ))
}

fn read_scored(line: &str) -> Result<ReadLine, String> {
    let fields = columns(line);
    let &[topic, doc, rank, score] = fields.as_slice() else {
        return Err(wrong_number(&fields, "four: topic, document, rank, score"));
    };
    let (rank, score) = (read_rank(rank)?, read_score(score)?);
    Ok(ReadLine::plain(topic, doc, rank, score, true))
}

fn wrong_number(fields: &[&str], must: &str) -> String {
    let count = match fields.len() {
        7.. => "more than six".to_owned(),
        count => count.to_string(),
    };
    format!("{count} fields, must be {must}")
}

fn read_claim(line: &str) -> Result<ReadLine, String> {
    let line = read_answer(line)?;
    Ok(ReadLine {
        line: TextRunLine {
            topic: line.argument,
            stance: None,
            doc: line.image,
            rank: line.rank,
            score: None,
            tag: line.tag,
        },
        odd: None,
        has_both: false,
    })
}

/// Reads a line of a text run as trec_eval does, which uses neither the rank nor the tag. If its rank is not a number, its rank is one more than
/// `before`, the number of lines before it.
fn read_as_trec_eval(line: &str, before: usize) -> Result<ReadLine, String> {
    let ([topic, stance, doc, rank, score], rest) = first_fields(line, is_space_in_c)?;
    let mut odd = None;
    let tag = match tag_of(rest) {
        Ok(tag) => tag,
        Err(what) => {
            odd = Some(what.to_owned());
            rest.split_whitespace().next().unwrap_or_default()
        }
    };
    let mut has_rank = true;
    let rank = read_rank(rank).unwrap_or_else(|what| {
        odd.get_or_insert(what);
        let whole = rank.parse().ok().and_then(whole_rank);
        has_rank = whole.is_some();
        whole.unwrap_or_else(|| u32::try_from(before + 1).unwrap_or(u32::MAX))
    });
    let score = read_score(score).or_else(|what| {
        let number = leading_number(score).ok_or(what)?;
        odd.get_or_insert(if number.is_infinite() {
            format!("the score {score:?} is infinite")
        } else {
            format!("the score {score:?} is read as {number}")
        });
        Ok::<f64, String>(number)
    })?;
    let line = TextRunLine {
        topic: TopicId(topic.to_owned()),
        stance: ObjectStance::parse(stance),
        doc: DocId(doc.to_owned()),
        rank,
        score: Some(score),
        tag: tag.to_owned(),
    };
    Ok(ReadLine {
        line,
        odd,
        has_both: has_rank,
    })
}

#[cfg(test)]
mod tests;
