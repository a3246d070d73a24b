//! Is a run valid? The organisers' rules, and what their scripts overlook.

mod answers;
mod images;
mod texts;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

pub use answers::{AnswerRules, verify_answers};
pub use images::{ImageRules, ImageVerdict, verify_images};
pub use texts::{TextRules, verify_texts};

use crate::trec::TopicId;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing has to change.
    Note,
    /// The organisers' scripts let it pass, yet the run says something else than it should.
    Warning,
    /// The run breaks a rule.
    Error,
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
    /// Scores that do not tell two results apart.
    Tie,
    /// A rank left out.
    Gap,
    /// Lines, ranks and scores that tell different stories.
    Order,
    /// More results than a topic may have.
    Depth,
    MissingTopics,
    OneSided,
    ShortList,
    BothLists,
}

/// Something that was noticed in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Counted from 1; none where the run as a whole is meant.
    pub line: Option<u64>,
    pub severity: Severity,
    pub rule: Rule,
    pub what: String,
    /// What would mend it, or what it leads to.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        let severity = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}: {}", self.what)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

/// Whether nothing found breaks a rule.
pub fn is_valid(findings: &[Finding]) -> bool {
    findings.iter().all(|f| f.severity != Severity::Error)
}

/// The findings so far, and the line that is being read.
#[derive(Default)]
struct Findings {
    line: u64,
    list: Vec<Finding>,
}

impl Findings {
    fn at(&mut self, line: u64, severity: Severity, rule: Rule, what: String, hint: &str) {
        self.list.push(Finding {
            line: Some(line),
            severity,
            rule,
            what,
            hint: hint.to_owned(),
        });
    }

    fn error(&mut self, rule: Rule, what: String, hint: &str) {
        self.at(self.line, Severity::Error, rule, what, hint);
    }

    fn warning(&mut self, rule: Rule, what: String, hint: &str) {
        self.at(self.line, Severity::Warning, rule, what, hint);
    }

    fn whole(&mut self, severity: Severity, rule: Rule, what: String, hint: &str) {
        self.list.push(Finding {
            line: None,
            severity,
            rule,
            what,
            hint: hint.to_owned(),
        });
    }

    /// The text of a run, with what is wrong with its bytes.
    fn decode<'a>(&mut self, run: &'a [u8]) -> Cow<'a, str> {
        if run.starts_with(b"\xef\xbb\xbf") {
            let what = "the file begins with a byte order mark".to_owned();
            let hint = "save it as UTF-8 without one: the first topic is read with it";
            self.at(1, Severity::Warning, Rule::Encoding, what, hint);
        }
        if let Err(error) = std::str::from_utf8(run) {
            let before = &run[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count() as u64;
            let what = "bytes that are not UTF-8".to_owned();
            let hint = "read here as \u{fffd}; save the run as UTF-8";
            self.at(line, Severity::Warning, Rule::Encoding, what, hint);
        }
        let text = String::from_utf8_lossy(run);
        if let Some(at) = text.find("\r\n") {
            let line = 1 + text[..at].matches('\n').count() as u64;
            let what = "lines end with CR LF".to_owned();
            let hint = "end them with LF alone: for awk the CR is a part of the tag";
            self.at(line, Severity::Warning, Rule::LineEnds, what, hint);
        }
        text
    }

    /// The lines as awk sees them: ended by LF, the last one with or without it.
    fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        (1..)
            .zip(text.split('\n'))
            .filter(move |_| !text.is_empty())
    }

    /// The six fields of a line as awk parts them, at blanks and tabs alone.
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
            let what = "fields not parted by one space each".to_owned();
            let hint = "evaluators that split at single spaces see others";
            self.warning(Rule::Blanks, what, hint);
        }
        Some(six)
    }

    /// A run has one tag.
    fn tag<'a>(&mut self, first: &mut Option<&'a str>, tag: &'a str) {
        let first = *first.get_or_insert(tag);
        if first != tag {
            let what = format!("tag {tag:?}, but {first:?} before");
            self.error(Rule::Tag, what, "a run has one tag");
        }
    }

    /// Two results of a list that follow each other and whose scores are one number, or nearly.
    fn tie(&mut self, line: u64, before: (f64, &str), this: (f64, &str)) {
        let ((score_before, doc_before), (score, doc)) = (before, this);
        // trec_eval takes the greater id first where scores are equal, whatever the ranks say.
        let hint = if doc_before < doc {
            "trec_eval, which ignores ranks, puts it before the one above"
        } else {
            "trec_eval keeps this order by the document ids alone"
        };
        let what = if score == score_before {
            format!("score {score} twice in a row")
        } else if score as f32 == score_before as f32 {
            format!("scores {score_before} and {score} are the same 32-bit number")
        } else {
            return;
        };
        self.at(line, Severity::Warning, Rule::Tie, what, hint);
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
            let what = format!(
                "nothing for {} topics: {}",
                missing.len(),
                missing.join(", ")
            );
            self.whole(Severity::Warning, Rule::MissingTopics, what, hint);
        }
    }
}
