//! Checks whether a run is valid, by the organisers' rules, and reports what their scripts overlook.
//!
//! ```
//! use riposte_eval::verify::{Rule, Rules, is_valid, verify};
//!
//! let run = b"1 Q0 d1 1 2.5 mine\n1 Q0 d2 second 1.5 mine\n";
//! let verdict = verify(run, &Rules::of_any_collection());
//! assert!(!is_valid(&verdict.findings));
//! let finding = &verdict.findings[0];
//! assert_eq!((finding.line, finding.rule), (Some(2), Rule::Rank));
//! assert!(finding.to_string().starts_with("line 2: error: "));
//! ```

mod answers;
mod images;
mod kind;
mod texts;
mod tira;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

pub use kind::RunKind;
pub use tira::refused_by_tira;

use crate::edition::{Edition, PLAIN, RunFormat, TEXTS};
use crate::run::{ImageRunLine, RunFileFormat};
use crate::values::prototext;
use crate::{DocId, TopicId};

/// The rules for a run.
#[derive(Clone, Debug)]
pub struct Rules {
    format: &'static RunFormat,
    /// The greatest number of results in a list.
    length: u32,
    /// Whether a longer list is an error. Otherwise it is a warning.
    is_length_a_rule: bool,
    /// The topics that need results; no others may have any. `None` allows any topic.
    topics: Option<BTreeSet<TopicId>>,
    /// The documents that can be listed. `None` allows any whose id has the right form.
    documents: Option<HashSet<DocId>>,
    /// How many hexadecimal digits the id of an image can have.
    digits: &'static [usize],
}

impl Rules {
    /// The rules of an edition: its topics, and any document.
    pub fn of(edition: &'static Edition) -> Rules {
        Rules {
            format: &edition.run,
            length: edition.length,
            is_length_a_rule: true,
            topics: edition.topics.ids(),
            documents: None,
            digits: match &edition.run {
                RunFormat::Stances { digits, .. } => digits,
                _ => &[],
            },
        }
    }

    /// The rules of the organisers' evaluator of the edition: those of [`Self::of`], except that in some years it accepts fewer ids of images.
    pub fn of_evaluator(edition: &'static Edition) -> Rules {
        let mut rules = Rules::of(edition);
        if let RunFormat::Stances {
            evaluated_digits, ..
        } = &edition.run
        {
            rules.digits = evaluated_digits;
        }
        rules
    }

    /// The rules for a text run without stances: any topics and any documents.
    pub fn of_any_collection() -> Rules {
        Rules {
            format: &PLAIN,
            length: TEXTS,
            is_length_a_rule: false,
            topics: None,
            documents: None,
            digits: &[],
        }
    }

    /// Replaces the topics.
    pub fn with_topics(mut self, topics: impl IntoIterator<Item = TopicId>) -> Rules {
        self.topics = Some(topics.into_iter().collect());
        self
    }

    /// Results must be among these documents.
    pub fn with_documents(mut self, documents: impl IntoIterator<Item = DocId>) -> Rules {
        self.documents = Some(documents.into_iter().collect());
        self
    }

    fn allows_topic(&self, topic: &TopicId) -> bool {
        let topics = self.topics.as_ref();
        topics.is_none_or(|topics| topics.contains(topic))
    }

    fn allows_document(&self, document: &DocId) -> bool {
        let documents = self.documents.as_ref();
        documents.is_none_or(|documents| documents.contains(document))
    }
}

/// The result of checking a run.
#[derive(Clone, Debug, Default)]
pub struct RunVerdict {
    /// In the order of lines. Findings about the whole run come last.
    pub findings: Vec<Finding>,
    /// The lines of an image run with stances that the organisers' scripts accept, in order: those without an error, and those whose only error is
    /// another tag.
    pub accepted: Vec<ImageRunLine>,
    /// Whether TIRA refuses the run; only [`verify_for_tira`] checks this. TIRA accepts many runs that break a rule of the task.
    pub refused_by_tira: bool,
}

/// Checks a run by the rules of its format.
///
/// For image runs with stances, errors are what the organisers' verifiers refuse. For the other tasks no verifier is published, or only for one year;
/// there, errors are what the task's page demands. What the organisers' scripts accept, but is probably a mistake, is a warning. [`Rule`] lists what
/// findings are about.
pub fn verify(run: &[u8], rules: &Rules) -> RunVerdict {
    let findings = match rules.format {
        RunFormat::Stances { .. } => return images::verify(run, rules),
        RunFormat::Claims { is_full, .. } => answers::verify(run, rules, *is_full),
        RunFormat::Texts { stances, asked } => match of_another_format(run) {
            Some(finding) => vec![finding],
            None => texts::verify(run, rules, stances, asked),
        },
    };
    RunVerdict {
        findings,
        ..RunVerdict::default()
    }
}

/// The one error of a text run in a format that only evaluators read; `None` for a run in the lab's format.
fn of_another_format(run: &[u8]) -> Option<Finding> {
    let format = RunFileFormat::of(&String::from_utf8_lossy(run)).foreign()?;
    Some(Finding {
        line: None,
        severity: Severity::Error,
        rule: Rule::Fields,
        what: format!("the run has {format}"),
        hint: "`riposte evaluate` reads it, but the lab expects topic Q0 document rank score tag"
            .to_owned(),
    })
}

/// Checks a run as [`verify`] does, and adds what TIRA refuses.
///
/// Runs for claims are not checked for that. Lines that already break a rule of the task get no finding about TIRA.
pub fn verify_for_tira(run: &[u8], rules: &Rules) -> RunVerdict {
    let mut verdict = verify(run, rules);
    if matches!(rules.format, RunFormat::Texts { .. }) && of_another_format(run).is_some() {
        // the error names what is wrong with all lines
        verdict.refused_by_tira = true;
    } else if matches!(rules.format, RunFormat::Claims { .. }) {
        let mut findings = verdict.findings.iter();
        verdict.refused_by_tira =
            findings.any(|of| of.severity == Severity::Tira) || !answers::is_json(run);
    } else {
        let findings = verdict.findings.iter();
        let errors = findings.filter(|f| f.severity == Severity::Error);
        let wrong: HashSet<u64> = errors.filter_map(|f| f.line).collect();
        let refused = refused_by_tira(run);
        verdict.refused_by_tira = !refused.is_empty();
        let refused = refused
            .into_iter()
            .filter(|f| f.line.is_none_or(|line| !wrong.contains(&line)));
        verdict.findings.extend(refused);
    }
    verdict
}

impl RunVerdict {
    /// The measures of the accepted lines, in the format of the organisers' verifier (`evaluation.prototext`).
    pub fn prototext(&self) -> String {
        let mut documents: HashMap<&TopicId, u32> = HashMap::new();
        for line in &self.accepted {
            *documents.entry(&line.topic).or_default() += 1;
        }
        // the script's minimum starts at 20, the number of places of a topic
        let fewest = documents.values().copied().min().map_or(0, |n| n.min(20));
        let most = documents.values().copied().max().unwrap_or(0);
        let mean = self.accepted.len() as f64 / documents.len().max(1) as f64;
        prototext([
            ("topicsRetrieved", documents.len().to_string()),
            ("minimumDocumentsPerTopic", fewest.to_string()),
            ("maximumDocumentsPerTopic", most.to_string()),
            ("averageDocumentsPerTopic", format!("{mean:.2}")),
        ])
    }
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// Good to know; nothing needs to change.
    Note,
    /// The organisers' scripts accept it, but it is probably a mistake.
    Warning,
    /// The task's rules allow it, but TIRA does not accept the run.
    #[strum(serialize = "refused by TIRA")]
    Tira,
    /// The run breaks a rule.
    Error,
}

impl Severity {
    /// The word before a finding: "error".
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The run has no line.
    Empty,
    /// Bytes that are not UTF-8, or a byte order mark.
    Encoding,
    /// Lines that end with CR LF.
    LineEnds,
    /// The number of fields, or the keys of a JSON object.
    Fields,
    /// Fields that are not separated by one space.
    Blanks,
    /// An unknown topic.
    Topic,
    /// An unknown word in the second column.
    Stance,
    /// An unknown document, or an id of the wrong form.
    Document,
    /// A rank that is not a number, is out of range, or was given before.
    Rank,
    /// A score that is not a number, or increases.
    Score,
    /// Several tags, or a tag that is not one word.
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
    /// Topics without any result.
    MissingTopics,
    /// Topics with only one of their two lists.
    OneSided,
    /// Lists with few results.
    ShortList,
    /// Images in both lists of a topic.
    BothLists,
    /// What `ir-metadata.yml` beside the run says.
    Metadata,
}

/// Something noticed in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// From 1; `None` if the finding is about the whole run.
    pub line: Option<u64>,
    /// How serious it is.
    pub severity: Severity,
    /// What it is about.
    pub rule: Rule,
    /// What was noticed.
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
    /// Adds a finding about a line, or about the whole run.
    fn add(
        &mut self,
        line: impl Into<Option<u64>>,
        severity: Severity,
        rule: Rule,
        what: impl Into<String>,
        hint: &str,
    ) {
        self.list.push(Finding {
            line: line.into(),
            severity,
            rule,
            what: what.into(),
            hint: hint.to_owned(),
        });
    }

    /// Adds an error in the line that is being read.
    fn error(&mut self, rule: Rule, what: impl Into<String>, hint: &str) {
        self.add(self.line, Severity::Error, rule, what, hint);
    }

    fn warning(&mut self, rule: Rule, what: impl Into<String>, hint: &str) {
        self.add(self.line, Severity::Warning, rule, what, hint);
    }

    /// Decodes a run as UTF-8, and reports what is wrong with its bytes.
    fn decode<'a>(&mut self, run: &'a [u8]) -> Cow<'a, str> {
        if run.starts_with(b"\xef\xbb\xbf") {
            let what = "the file begins with a byte order mark";
            let hint =
                "save it as UTF-8 without one: evaluators read it as part of the first topic";
            self.add(1, Severity::Warning, Rule::Encoding, what, hint);
        }
        if let Err(error) = std::str::from_utf8(run) {
            let before = &run[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count() as u64;
            let what = "bytes that are not UTF-8";
            let hint = "read as \u{fffd}; save the run as UTF-8";
            self.add(line, Severity::Warning, Rule::Encoding, what, hint);
        }
        let text = String::from_utf8_lossy(run);
        if let Some(at) = text.find("\r\n") {
            let line = 1 + text[..at].matches('\n').count() as u64;
            let what = "lines end with CR LF";
            let hint = "end them with LF only: awk reads the CR as part of the tag";
            self.add(line, Severity::Warning, Rule::LineEnds, what, hint);
        }
        text
    }

    /// The lines as awk reads them: each ends with LF, which may be missing from the last one.
    fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let lines = (1..).zip(text.split('\n'));
        lines.filter(move |_| !text.is_empty())
    }

    /// The six fields of a line, separated as awk does it: by spaces and tabs only.
    fn six_fields<'a>(&mut self, line: &'a str, hint: &str) -> Option<[&'a str; 6]> {
        let fields = line.split([' ', '\t']).filter(|field| !field.is_empty());
        let fields: Vec<&str> = fields.collect();
        let Ok(six) = <[&str; 6]>::try_from(fields.as_slice()) else {
            let hint = match fields.get(5).is_some_and(|tag| tag.starts_with('"')) {
                true => "a tag is one word, without blanks and quotes",
                false => hint,
            };
            let what = format!("{} fields, must be six", fields.len());
            self.error(Rule::Fields, what, hint);
            return None;
        };
        if fields.join(" ") != line {
            let what = "fields not separated by one space each";
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

    /// Reports an unknown topic. Returns whether the topic is known.
    fn topic(&mut self, topic: &TopicId, rules: &Rules) -> bool {
        let Some(topics) = rules.topics.as_ref().filter(|known| !known.contains(topic)) else {
            return true;
        };
        let hint = match (topics.len(), topics.first(), topics.last()) {
            (count, Some(first), Some(last)) => {
                format!("{count} topics are known, {first} to {last}")
            }
            _ => "no topics are known".to_owned(),
        };
        self.error(Rule::Topic, format!("no topic {:?}", topic.0), &hint);
        false
    }

    fn missing_topics(&mut self, missing: &[String], hint: &str) {
        if !missing.is_empty() {
            let what = format!("nothing for {} topics: {}", missing.len(), listed(missing));
            self.add(None, Severity::Warning, Rule::MissingTopics, what, hint);
        }
    }
}

/// Ids as a list. Three or more numbers that follow each other are a range: "1, 7–50".
fn listed(ids: &[String]) -> String {
    let number = |id: &String| id.parse::<u64>().ok();
    let follows = |before: &String, id: &String| {
        let next = number(before).and_then(|before| before.checked_add(1));
        next.is_some() && next == number(id)
    };
    let runs = ids.chunk_by(follows).map(|run| match run {
        [first, _, .., last] => format!("{first}–{last}"),
        few => few.join(", "),
    });
    runs.collect::<Vec<_>>().join(", ")
}
