//! The editions of the lab's tasks: what topics, runs and judgements of a year look like.
//!
//! A year whose formats are known is one more entry of [`EDITIONS`]; [`Edition::find`] finds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::TopicId;
use crate::topic::Topic;

/// A task that ranks texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum TextTask {
    /// Task 1: rank arguments for controversial questions.
    Controversial,
    /// Task 2: rank passages (before 2022: web pages) for comparative questions.
    Comparative,
    /// No task of the lab: rank the documents of any collection for queries.
    Rank,
}

impl TextTask {
    /// The name of the task's command and of the directory of its approaches.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The task with this name.
    pub fn parse(word: &str) -> Option<TextTask> {
        word.parse().ok()
    }
}

/// A task of the lab in one year.
#[derive(Debug, PartialEq, Eq)]
pub struct Edition {
    /// The year of the lab.
    pub year: u32,
    /// `None` for images.
    pub task: Option<TextTask>,
    /// The file of topics in a collection.
    pub file: &'static str,
    /// The topics for which a run has results.
    pub topics: Topics,
    /// A run with six columns can be of this edition if its topics have this number or a higher one; the edition with the highest such number is
    /// chosen. `None` if the topics do not tell the edition.
    pub told_from: Option<u32>,
    /// The greatest number of results in a list.
    pub length: u32,
    /// The lines of a run.
    pub run: RunFormat,
    /// The measures that `evaluate` computes if the user names no others. They cover all kinds of judgements of the year.
    pub measures: &'static [&'static str],
    /// The nDCG of the organisers, if they have published how they compute it.
    pub ndcg: Option<&'static Ndcg>,
}

/// The topics of a year, as ranges with blanks between them.
#[derive(Debug, PartialEq, Eq)]
pub enum Topics {
    /// Numbers, in ascending order.
    Numbers(&'static str),
    /// For each topic, from topic 1 on, the numbers of its arguments. The id "1-5" is argument 5 of topic 1.
    Arguments(&'static str),
    /// Only the year's own file lists them.
    Unknown,
}

/// The lines of a run, and what `verify` asks of them.
#[derive(Debug, PartialEq, Eq)]
pub enum RunFormat {
    /// `topic PRO|CON image rank score tag`: two lists for each topic.
    Stances {
        /// How many hexadecimal digits the id of an image can have after its I.
        digits: &'static [usize],
        /// How many the organisers' evaluator accepts.
        evaluated_digits: &'static [usize],
        /// The grades that count as relevant.
        relevant: RangeInclusive<i32>,
    },
    /// JSON lines: one list for each claim.
    Claims {
        /// Whether each list must have all ranks up to [`Edition::length`].
        is_full: bool,
        /// Whether claims have premises. Then an image conveys the premise, and a run can say why it does.
        has_premises: bool,
    },
    /// `topic Q0 document rank score tag`.
    Texts {
        /// The words that can stand in place of Q0.
        stances: &'static [&'static str],
        /// What the second column must be, in words for the author of a run.
        asked: &'static str,
    },
}

/// nDCG as a script of the organisers computes it: results are in the order of the rank column, and the gain is the grade.
#[derive(Debug, PartialEq, Eq)]
pub struct Ndcg {
    /// The year that names the script in a measure, as in `nDCG(touche=2021)@5`.
    pub year: u32,
    /// What the script does with results that are not judged.
    pub unjudged: Unjudged,
    /// The number of results that the script reads, whatever the cutoff.
    pub depth: usize,
    /// The topics that the script leaves out.
    pub excluded: &'static [&'static str],
}

/// What a script does with results that are not judged.
#[derive(Debug, PartialEq, Eq)]
pub enum Unjudged {
    /// It removes them after the cutoff, and the results below them move up. Grade -2 gains 0. A topic is left out of the mean if no judged
    /// document is listed or the ideal gain is 0.
    Removed,
    /// They gain 0.
    GainNothing,
}

/// Says what the measure is, for readers who know nDCG.
impl fmt::Display for Ndcg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "nDCG(touche={}): as the script of Touché's organisers computes it: results are in the order of the rank column, ",
            self.year
        )?;
        match self.unjudged {
            Unjudged::Removed => f.write_str(
                "unjudged ones are removed after the cutoff, and topics with nothing to gain are left out",
            ),
            Unjudged::GainNothing => {
                write!(f, "and {} topics are left out", self.excluded.len())
            }
        }
    }
}

const TOPICS: &str = "topics.xml";
const ARGUMENTS: &str = "arguments.xml";

/// The greatest number of documents of a topic in a text run.
pub(crate) const TEXTS: u32 = 1000;

/// The second column of a text run, and the words that it can contain instead of Q0.
const Q0: RunFormat = RunFormat::Texts {
    stances: &[],
    asked: "Q0",
};
const SIDES: RunFormat = RunFormat::Texts {
    stances: &["PRO", "CON"],
    asked: "PRO, CON or Q0",
};
const OBJECTS: RunFormat = RunFormat::Texts {
    stances: &["FIRST", "SECOND", "NEUTRAL", "NO"],
    asked: "FIRST, SECOND, NEUTRAL or NO, in capitals, or Q0",
};

/// The format of a run for topics that are not of the lab.
pub(crate) static PLAIN: RunFormat = Q0;

/// nDCG as the text tasks' `evaluate.py` computes it.
static NDCG_2021: Ndcg = Ndcg {
    year: 2021,
    unjudged: Unjudged::Removed,
    depth: usize::MAX,
    excluded: &[],
};

/// nDCG as the image task's `eval_file.py` computes it. The excluded topics are its `IDS_TO_EXCLUDE`.
static NDCG_2025: Ndcg = Ndcg {
    year: 2025,
    unjudged: Unjudged::GainNothing,
    depth: 5,
    excluded: &[
        "2-3", "4-1", "4-2", "4-3", "4-4", "8-3", "9-4", "13-3", "17-4", "21-6", "27-1", "27-3",
        "27-5",
    ],
};

const OF_STANCES: &[&str] = &[
    "topicRelevanceP@10",
    "argumentativenessP@10",
    "stanceRelevanceP@10",
    "topicRelevanceP(topics=judged)@10",
    "argumentativenessP(topics=judged)@10",
    "stanceRelevanceP(topics=judged)@10",
];

const OF_TEXTS: &[&str] = &[
    "nDCG(touche=2021)@5",
    "nDCG@5",
    "P@5",
    "AP",
    "RR",
    "R@1000",
    "Judged@5",
    "StanceF1",
    "StanceF1@5",
];

/// The topics of comparative questions in 2022: half of the topics of 2020 and 2021.
const HALF: &str = "2–3 8–9 12 14 17–19 22–23 25–28 30 33–34 36–37 42–43 48 51 53–56 58–62 67–70 72 74 76–78 84 86 88 91–93 95 100";

/// All editions: those of images, then those of texts, each task by year.
pub static EDITIONS: &[Edition] = &[
    Edition {
        year: 2022,
        task: None,
        file: TOPICS,
        topics: Topics::Numbers("1–50"),
        told_from: Some(0),
        length: 10,
        run: RunFormat::Stances {
            digits: &[16],
            evaluated_digits: &[16],
            relevant: 1..=1,
        },
        measures: OF_STANCES,
        ndcg: None,
    },
    Edition {
        year: 2023,
        task: None,
        file: TOPICS,
        topics: Topics::Numbers("51–100"),
        told_from: Some(51),
        length: 10,
        run: RunFormat::Stances {
            // the evaluator requires 24 digits, but ids in the published sample have 16
            digits: &[16, 24],
            evaluated_digits: &[24],
            relevant: 1..=i32::MAX,
        },
        measures: OF_STANCES,
        ndcg: None,
    },
    Edition {
        year: 2024,
        task: None,
        file: ARGUMENTS,
        topics: Topics::Unknown,
        told_from: None,
        length: 10,
        run: RunFormat::Claims {
            is_full: false,
            has_premises: true,
        },
        measures: &[],
        ndcg: None,
    },
    Edition {
        year: 2025,
        task: None,
        file: ARGUMENTS,
        // topic 9 has only argument 4
        topics: Topics::Arguments(
            "1–5 1–4 1–7 1–5 1–2 1–4 1–7 1–3 4 1–4 1–4 1–2 1–4 1–3 1–6 1–4 1–7 1–4 1–4 1–5 1–7 1–5 1–8 1–7 1–8 1–2 1–6",
        ),
        told_from: None,
        length: 5,
        run: RunFormat::Claims {
            is_full: true,
            has_premises: false,
        },
        measures: &[
            "nDCG(touche=2025)@1",
            "nDCG(touche=2025)@3",
            "nDCG(touche=2025)@5",
            "nDCG@5",
            "Judged@5",
        ],
        ndcg: Some(&NDCG_2025),
    },
    // 2020 has no topic 25
    texts(2020, TextTask::Controversial, "1–24 26–50", None, Q0),
    texts(2021, TextTask::Controversial, "51–100", None, Q0),
    // the fifty topics of 2022 are taken from both earlier years; only the topics file says which
    texts(2022, TextTask::Controversial, "1–100", Some(0), SIDES),
    texts(2020, TextTask::Comparative, "1–50", None, Q0),
    texts(2021, TextTask::Comparative, "51–100", Some(51), Q0),
    texts(2022, TextTask::Comparative, HALF, Some(0), OBJECTS),
];

/// The edition of a text task. All of them have the same measures.
const fn texts(
    year: u32,
    task: TextTask,
    topics: &'static str,
    told_from: Option<u32>,
    run: RunFormat,
) -> Edition {
    Edition {
        year,
        task: Some(task),
        file: TOPICS,
        topics: Topics::Numbers(topics),
        told_from,
        length: TEXTS,
        run,
        measures: OF_TEXTS,
        ndcg: Some(&NDCG_2021),
    }
}

/// The year that is assumed if neither the user nor the files say it. All tasks of the lab had an edition then.
pub const ASSUMED: u32 = 2022;

impl Edition {
    /// The editions of a task, by year; `None` for images. [`TextTask::Rank`] has none.
    pub fn all(task: Option<TextTask>) -> impl DoubleEndedIterator<Item = &'static Edition> {
        EDITIONS.iter().filter(move |edition| edition.task == task)
    }

    /// The edition of a task in a year, if there was one.
    pub fn find(task: Option<TextTask>, year: u32) -> Option<&'static Edition> {
        Edition::all(task).find(|edition| edition.year == year)
    }

    /// The first edition of the image task. Its judgements are read if the user names no other year.
    pub fn first() -> &'static Edition {
        &EDITIONS[0]
    }

    /// The first edition of the image task with topics of this kind: questions, claims, or claims with premises.
    pub fn of_topics(topics: &[Topic]) -> &'static Edition {
        let mut arguments = topics.iter().map(|topic| topic.argument.as_ref());
        let are_claims = arguments
            .clone()
            .next()
            .is_some_and(|first| first.is_some());
        let with_premises = arguments.any(|argument| argument.is_some_and(|a| a.premise.is_some()));
        let fits = |edition: &&Edition| match edition.run {
            RunFormat::Claims { has_premises, .. } => are_claims && has_premises == with_premises,
            _ => !are_claims,
        };
        Edition::all(None).find(fits).unwrap_or(Edition::first())
    }

    /// Whether a run has two lists for each topic, PRO and CON.
    pub fn has_stances(&self) -> bool {
        matches!(self.run, RunFormat::Stances { .. })
    }

    /// Whether the claims of the year have premises. Then an image conveys the premise, and a run can say why it does.
    pub fn has_premises(&self) -> bool {
        matches!(
            self.run,
            RunFormat::Claims {
                has_premises: true,
                ..
            }
        )
    }

    /// Whether an image with this grade counts as relevant, in judgements by topic and stance. An image that was not judged does not count.
    pub fn counts(&self, grade: Option<i32>) -> bool {
        let RunFormat::Stances { relevant, .. } = &self.run else {
            return false;
        };
        grade.is_some_and(|grade| relevant.contains(&grade))
    }

    /// The name of the file of a run.
    pub fn run_file(&self) -> &'static str {
        match self.run {
            RunFormat::Claims { .. } => "results.jsonl",
            RunFormat::Stances { .. } | RunFormat::Texts { .. } => "run.txt",
        }
    }

    /// The years whose image runs have lists for and against each topic: "2022 or 2023".
    pub fn years_with_stances() -> String {
        let years = Edition::all(None).filter(|edition| edition.has_stances());
        let years: Vec<String> = years.map(Edition::to_string).collect();
        years.join(" or ")
    }
}

/// The years of some editions.
pub fn years<'e>(editions: impl Iterator<Item = &'e Edition>) -> BTreeSet<u32> {
    editions.map(|edition| edition.year).collect()
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.year.fmt(f)
    }
}

impl Topics {
    /// The ids of the topics; `None` if they are unknown.
    pub fn ids(&self) -> Option<BTreeSet<TopicId>> {
        let ids: Vec<String> = match self {
            Topics::Numbers(text) => ranges(text).flatten().map(|n| n.to_string()).collect(),
            Topics::Arguments(text) => (1..)
                .zip(ranges(text))
                .flat_map(|(topic, range)| range.map(move |n: u32| format!("{topic}-{n}")))
                .collect(),
            Topics::Unknown => return None,
        };
        Some(ids.into_iter().map(TopicId).collect())
    }
}

/// Reads "1–3 5": the numbers from 1 to 3, and 5.
fn ranges(text: &str) -> impl Iterator<Item = RangeInclusive<u32>> {
    text.split(' ').filter_map(|part| {
        let (first, last) = part.split_once('–').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    })
}

impl Ndcg {
    /// The script that was used in this year, which is given as text ("2021").
    pub fn of_year(year: &str) -> Option<&'static Ndcg> {
        let mut editions = EDITIONS.iter().filter(|of| of.to_string() == year);
        editions.find_map(|edition| edition.ndcg)
    }

    /// The scripts by the years that name them, with the other years in which they were used: "2021 (also for 2020, 2022) or 2025".
    pub fn known() -> String {
        let mut years: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for edition in EDITIONS {
            if let Some(script) = edition.ndcg {
                years.entry(script.year).or_default().insert(edition.year);
            }
        }
        let named = years.into_iter().map(|(name, used)| {
            let others = used.iter().filter(|year| **year != name);
            let others: Vec<String> = others.map(u32::to_string).collect();
            match others.join(", ").as_str() {
                "" => name.to_string(),
                others => format!("{name} (also for {others})"),
            }
        });
        named.collect::<Vec<_>>().join(" or ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topics_of_an_edition_are_as_many_as_the_lab_had() {
        let counts = EDITIONS.iter().map(|edition| {
            let ids = edition.topics.ids();
            ids.map_or(0, |ids| ids.len())
        });
        assert!(counts.eq([50, 50, 0, 128, 49, 50, 100, 50, 50, 50]));
    }
}
