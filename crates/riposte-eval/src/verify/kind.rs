//! Recognises the task and the year of a run from its lines.

use crate::edition::{ASSUMED, Edition, RunFormat, years};
use crate::id::{is_argument, is_hexadecimal};
use crate::run::{RunFileFormat, read_answer};
use crate::{Error, ObjectStance, TextTask};

/// The task and the edition that a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunKind {
    /// `None` for images.
    pub task: Option<TextTask>,
    /// `None` for a task without editions.
    pub edition: Option<&'static Edition>,
}

impl RunKind {
    /// Decides by the majority of lines, from their second fields and the form of the documents' ids. A run of which no line can be read counts as an
    /// image run, and one in a format that only evaluators read as a text run of any collection.
    pub fn of_run(run: &[u8]) -> RunKind {
        let text = String::from_utf8_lossy(run);
        match RunFileFormat::of(&text) {
            RunFileFormat::Trec => {}
            RunFileFormat::JsonLines => {
                return RunKind {
                    task: None,
                    edition: edition_of_answers(&text),
                };
            }
            RunFileFormat::Ranked | RunFileFormat::Scored | RunFileFormat::Ranx => {
                return RunKind {
                    task: Some(TextTask::Rank),
                    edition: None,
                };
            }
        }
        let (mut images, mut arguments, mut passages, mut others) = (0, 0, 0, 0);
        let (mut topics, mut has_stances) = (Vec::new(), false);
        for line in text.lines() {
            let mut fields = line.split_whitespace();
            let (Some(topic), Some(second), Some(id)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if is_argument(id) {
                arguments += 1;
            } else if matches!(second, "PRO" | "CON") || is_image(id) {
                images += 1;
            } else if ObjectStance::parse(second).is_some() {
                passages += 1;
                has_stances = true;
            } else if id.starts_with("clueweb") {
                passages += 1;
            } else if second == "Q0" {
                others += 1;
            } else {
                continue;
            }
            topics.push(topic.parse::<u32>().unwrap_or(0));
        }
        // a passage without a stance has Q0, like any other document
        if passages > 0 {
            passages += std::mem::take(&mut others);
        }
        let counted = [
            (others, Some(TextTask::Rank)),
            (passages, Some(TextTask::Comparative)),
            (arguments, Some(TextTask::Controversial)),
            (images, None),
        ];
        let most = counted.into_iter().max_by_key(|(count, _)| *count);
        let task = most.and_then(|(_, task)| task);
        let edition = match task {
            None => edition_of_images(&topics),
            Some(task) => edition_of_texts(task, &topics, has_stances),
        };
        RunKind { task, edition }
    }

    /// The edition by whose rules the run is checked as one for `task` (`None` for images): that of the year, if one is named. Otherwise the run's lines
    /// decide or, if they are lines of another task, it is that of [`ASSUMED`]. `None` for `rank`, which has no editions.
    ///
    /// # Errors
    /// The task had no edition in the named year.
    pub fn edition_for(
        self,
        task: Option<TextTask>,
        named: Option<u32>,
    ) -> Result<Option<&'static Edition>, Error> {
        let years = years(Edition::all(task));
        let (Some(first), Some(last)) = (years.first(), years.last()) else {
            return Ok(None);
        };
        let Some(year) = named else {
            let of_lines = self.edition.filter(|edition| edition.task == task);
            return Ok(of_lines.or(Edition::find(task, ASSUMED)));
        };
        match (Edition::find(task, year), task) {
            (Some(edition), _) => Ok(Some(edition)),
            (None, None) => Err(Error::NoEdition(format!(
                "there was no image task in {year}, only in {first} to {last}"
            ))),
            (None, Some(_)) => {
                let before: Vec<String> = years.range(..last).map(u32::to_string).collect();
                Err(Error::NoEdition(format!(
                    "there were text tasks in {} and {last}, not in {year}",
                    before.join(", ")
                )))
            }
        }
    }
}

/// The edition to which most of the topics belong by their numbers. If two editions have equally many, it is the earlier one.
fn edition_of_images(topics: &[u32]) -> Option<&'static Edition> {
    let of_topics: Vec<_> = topics.iter().map(|topic| told(None, &[*topic])).collect();
    let count = |edition| of_topics.iter().filter(|of| **of == Some(edition)).count();
    // `max_by_key` returns the last of equal maxima
    let editions = Edition::all(None).filter(|edition| edition.has_stances());
    editions.rev().max_by_key(|edition| count(*edition))
}

/// The edition to which all topics can belong by their numbers, except that a run with stances is never of an edition without them.
fn edition_of_texts(task: TextTask, topics: &[u32], has_stances: bool) -> Option<&'static Edition> {
    let plain = |edition: &&Edition| matches!(edition.run, RunFormat::Texts { stances: [], .. });
    let edition = told(Some(task), topics).filter(|edition| !has_stances || !plain(edition));
    edition.or(told(Some(task), &[0]))
}

/// The edition of a task with the greatest [`Edition::told_from`] that is not above any topic.
fn told(task: Option<TextTask>, topics: &[u32]) -> Option<&'static Edition> {
    let least = topics.iter().min().copied();
    let editions = Edition::all(task).filter(|edition| edition.told_from.is_some());
    let begun = editions.filter(|edition| edition.told_from <= least);
    begun.max_by_key(|edition| edition.told_from)
}

/// The edition with the shortest lists that can have the greatest rank of the run. If no lists are that long, it is the edition with the longest.
fn edition_of_answers(text: &str) -> Option<&'static Edition> {
    let ranks = text
        .lines()
        .filter_map(|line| Some(read_answer(line).ok()?.rank));
    let deepest = ranks.max().unwrap_or(0);
    let editions =
        || Edition::all(None).filter(|edition| matches!(edition.run, RunFormat::Claims { .. }));
    let long_enough = editions().filter(|edition| edition.length >= deepest);
    long_enough
        .min_by_key(|edition| edition.length)
        .or(editions().max_by_key(|edition| edition.length))
}

/// Whether an id has the form of an image's id: I and 16 or 24 hexadecimal digits.
fn is_image(id: &str) -> bool {
    let digits = id.strip_prefix('I');
    digits.is_some_and(|digits| digits.len() >= 16 && is_hexadecimal(digits))
}
