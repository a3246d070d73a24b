//! Checks whether a run is valid, by the organisers' rules, and reports what their scripts overlook.

mod answers;
mod images;
mod kind;
mod texts;
mod tira;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

pub use answers::{AnswerRules, verify_answers};
pub use images::{ImageRules, verify_images};
pub use kind::Kind;
pub use texts::{TextRules, verify_texts};
pub use tira::refused_by_tira;

use crate::trec::TopicId;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know; nothing needs to change.
    Note,
    /// The organisers' scripts accept it, but it is probably a mistake.
    Warning,
    /// The task's rules allow it, but TIRA does not accept the run.
    Tira,
    /// The run breaks a rule.
    Error,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Tira => "refused by TIRA",
            Severity::Error => "error",
        }
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Empty,
    Encoding,
    LineEnds,
    Fields,
    Blanks,
    Topic,
    Stance,
    Document,
    Rank,
    Score,
    Tag,
    /// A document twice in a list.
    Repeated,
    /// Two results with the same score.
    Tie,
    /// A missing rank.
    Gap,
    /// Lines, ranks and scores give different orders.
    Order,
    /// More results than are allowed for a topic.
    Depth,
    MissingTopics,
    OneSided,
    ShortList,
    BothLists,
    /// What `ir-metadata.yml` beside the run says.
    Metadata,
}

/// Something noticed in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// From 1; `None` if the finding is about the whole run.
    pub line: Option<u64>,
    pub severity: Severity,
    pub rule: Rule,
    pub what: String,
    /// How to correct it, or what it causes.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}: {}", self.severity.word(), self.what)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

/// Whether no finding is an error. A run that only TIRA refuses is valid.
pub fn is_valid(findings: &[Finding]) -> bool {
    findings.iter().all(|f| f.severity != Severity::Error)
}

/// The findings so far, and the number of the line that is being read.
#[derive(Default)]
struct Findings {
    line: u64,
    list: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, line: u64, severity: Severity, rule: Rule, what: String, hint: &str) {
        self.list.push(Finding {
            line: Some(line),
            severity,
            rule,
            what,
            hint: hint.to_owned(),
        });
    }

    fn error(&mut self, rule: Rule, what: String, hint: &str) {
        self.add(self.line, Severity::Error, rule, what, hint);
    }

    fn warning(&mut self, rule: Rule, what: String, hint: &str) {
        self.add(self.line, Severity::Warning, rule, what, hint);
    }

    fn add_for_run(&mut self, severity: Severity, rule: Rule, what: String, hint: &str) {
        self.list.push(Finding {
            line: None,
            severity,
            rule,
            what,
            hint: hint.to_owned(),
        });
    }

    /// Decodes a run as UTF-8, and reports what is wrong with its bytes.
    fn decode<'a>(&mut self, run: &'a [u8]) -> Cow<'a, str> {
        if run.starts_with(b"\xef\xbb\xbf") {
            let what = "the file begins with a byte order mark".to_owned();
            let hint =
                "save it as UTF-8 without one: evaluators read it as part of the first topic";
            self.add(1, Severity::Warning, Rule::Encoding, what, hint);
        }
        if let Err(error) = std::str::from_utf8(run) {
            let before = &run[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count() as u64;
            let what = "bytes that are not UTF-8".to_owned();
            let hint = "read as \u{fffd}; save the run as UTF-8";
            self.add(line, Severity::Warning, Rule::Encoding, what, hint);
        }
        let text = String::from_utf8_lossy(run);
        if let Some(at) = text.find("\r\n") {
            let line = 1 + text[..at].matches('\n').count() as u64;
            let what = "lines end with CR LF".to_owned();
            let hint = "end them with LF only: awk reads the CR as part of the tag";
            self.add(line, Severity::Warning, Rule::LineEnds, what, hint);
        }
        text
    }

    /// The lines as awk reads them: each ends with LF, which may be missing from the last one.
    fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        (1..)
            .zip(text.split('\n'))
            .filter(move |_| !text.is_empty())
    }

    /// The six fields of a line, separated as awk does it: by spaces and tabs only.
    fn six_fields<'a>(&mut self, line: &'a str, hint: &str) -> Option<[&'a str; 6]> {
        let fields: Vec<&str> = line
            .split([' ', '\t'])
            .filter(|field| !field.is_empty())
            .collect();
        let Ok(six) = <[&str; 6]>::try_from(fields.as_slice()) else {
            let quoted = fields.len() > 6 && fields[5].starts_with('"');
            let what = format!("{} fields, must be six", fields.len());
            let hint = if quoted {
                "a tag is one word, without blanks and quotes"
            } else {
                hint
            };
            self.error(Rule::Fields, what, hint);
            return None;
        };
        if fields.join(" ") != line {
            let what = "fields not separated by one space each".to_owned();
            let hint = "evaluators that split at each space read other fields";
            self.warning(Rule::Blanks, what, hint);
        }
        Some(six)
    }

    /// Checks that all lines have the same tag.
    fn tag<'a>(&mut self, first: &mut Option<&'a str>, tag: &'a str) {
        let first = *first.get_or_insert(tag);
        if first != tag {
            let what = format!("tag {tag:?}, but {first:?} before");
            self.error(Rule::Tag, what, "a run has one tag");
        }
    }

    /// Reports a score of minus zero.
    fn minus_zero(&mut self, text: &str, score: f64) {
        if score == 0.0 && text.starts_with('-') {
            let hint = "evaluators read it as 0; it may have been a very small negative score";
            let what = format!("score {text}");
            self.add(self.line, Severity::Note, Rule::Score, what, hint);
        }
    }

    /// Reports two consecutive results of a list whose scores are equal, or equal as 32-bit numbers.
    fn tie(&mut self, line: u64, before: (f64, &str), this: (f64, &str)) {
        let ((score_before, doc_before), (score, doc)) = (before, this);
        // where scores are equal, trec_eval ranks the greater id first and ignores ranks
        let hint = if doc_before < doc {
            "trec_eval, which ignores ranks, puts it before the one above"
        } else {
            "trec_eval keeps this order only because of the document ids"
        };
        let what = if score == score_before {
            format!("score {score} twice in a row")
        } else if score as f32 == score_before as f32 {
            format!("scores {score_before} and {score} are the same 32-bit number")
        } else {
            return;
        };
        self.add(line, Severity::Warning, Rule::Tie, what, hint);
    }

    fn unknown_topic(&mut self, topic: &str, topics: &BTreeSet<TopicId>) {
        let hint = match (topics.first(), topics.last()) {
            (Some(first), Some(last)) => {
                format!("{} topics are known, {first} to {last}", topics.len())
            }
            _ => "no topics are known".to_owned(),
        };
        self.error(Rule::Topic, format!("no topic {topic:?}"), &hint);
    }

    fn missing_topics(&mut self, missing: &[String], hint: &str) {
        if !missing.is_empty() {
            let what = format!("nothing for {} topics: {}", missing.len(), listed(missing));
            self.add_for_run(Severity::Warning, Rule::MissingTopics, what, hint);
        }
    }
}

/// Ids as a list. Three or more numbers that follow each other are a range: "1, 7–50".
fn listed(ids: &[String]) -> String {
    let number = |id: &String| id.parse::<u64>().ok();
    let follows = |before: &String, id: &String| {
        number(before).and_then(|before| before.checked_add(1)) == number(id)
            && number(id).is_some()
    };
    let runs = ids.chunk_by(follows).map(|run| match run {
        [first, _, .., last] => format!("{first}–{last}"),
        few => few.join(", "),
    });
    runs.collect::<Vec<_>>().join(", ")
}
