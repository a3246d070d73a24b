//! The text tasks' report: for each topic the ranked texts with the topic's words marked, their stances and grades, and
//! the numbers behind each place.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;

use super::chart::Scores;
use super::tree::Row;
use super::words::{Marker, Span, number, shortened, three, web_address};
use super::{Body, Change, Form, TopicReport, all_topics, by_topic};
use crate::index::corpus::Corpus;
use crate::topic::question::{self, TopicParts};
use crate::trec::explained::ExplainedText;
use crate::trec::qrels::Qrels;
use crate::trec::run::TextRunLine;
use crate::trec::topic::Topic;
use crate::trec::{DocId, Explanation, ObjectStance, Stance, TextTask, TopicId};

/// What the report is made from.
pub struct Sources<'a> {
    pub task: TextTask,
    pub corpus: &'a Corpus,
    pub topics: &'a [Topic],
    pub run: &'a [TextRunLine],
    pub against: Option<(&'a str, &'a [TextRunLine])>,
    /// Of this run; empty if there are none.
    pub explained: &'a [ExplainedText],
    /// Judgements and their names.
    pub judged: &'a [(String, Qrels)],
    /// Results of a topic that are shown.
    pub depth: usize,
    pub form: Form,
}

/// Relevant texts that are not among those shown, at most.
const MISSED: usize = 12;

/// Characters of a text.
const TEXT: usize = 6_000;

/// Bars of a topic's plot.
const SCORES: usize = 60;

/// What a topic's page shows.
#[derive(Debug)]
pub struct TextsTopic {
    pub objects: Option<[String; 2]>,
    pub results: Vec<TextView>,
    pub missed: Vec<TextView>,
    pub more_missed: usize,
    pub gone: Vec<TextView>,
    pub plot: Option<Scores>,
    pub is_judged: bool,
    pub against: Option<String>,
    /// How many results the run has.
    pub results_in_all: usize,
}

/// A text.
#[derive(Debug)]
pub struct TextView {
    pub anchor: String,
    pub id: String,
    /// Its rank, or where it stands if it is not shown by rank.
    pub place: String,
    pub score: Option<String>,
    /// Its conclusion or the debate's title, where it has one.
    pub title: Vec<Span>,
    pub text: Vec<Span>,
    /// Characters of it that are not shown.
    pub more: usize,
    pub stance: Option<StanceView>,
    pub grades: Vec<GradeView>,
    pub quality: Option<String>,
    pub change: Option<Change>,
    pub rows: Vec<Row>,
    pub url: String,
    pub link: Option<String>,
}

/// What a text says for which side, as the run or the collection has it.
#[derive(Debug)]
pub struct StanceView {
    pub class: &'static str,
    pub text: String,
    pub title: String,
}

/// A judgement.
#[derive(Debug)]
pub struct GradeView {
    pub class: &'static str,
    pub name: String,
    pub text: String,
}

/// The topics' pages.
pub fn topics(sources: &Sources) -> Result<Vec<TopicReport>> {
    let against = sources.against.map_or(&[][..], |(_, lines)| lines);
    let runs = by_topic(sources.run, |line| &line.topic);
    let others = by_topic(against, |line| &line.topic);
    let mut explained = by_topic(sources.explained, |text| &text.topic);
    let in_runs: Vec<&TopicId> = runs.keys().chain(others.keys()).copied().collect();
    all_topics(sources.topics, in_runs.into_iter())
        .into_iter()
        .map(|topic| {
            let view = TopicView {
                sources,
                own: by_rank(runs.get(&topic.id).map_or(&[], Vec::as_slice)),
                other: by_rank(others.get(&topic.id).map_or(&[], Vec::as_slice)),
                explained: explained
                    .remove(&topic.id)
                    .into_iter()
                    .flatten()
                    .map(|text| (&text.document, text))
                    .collect(),
                topic: &topic,
            };
            view.report()
        })
        .collect()
}

/// By rank; a repeated document stands once.
fn by_rank<'a>(lines: &[&'a TextRunLine]) -> Vec<&'a TextRunLine> {
    let mut lines = lines.to_vec();
    lines.sort_by_key(|line| line.rank);
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(&line.doc));
    lines
}

/// A topic at work.
struct TopicView<'a> {
    sources: &'a Sources<'a>,
    topic: &'a Topic,
    own: Vec<&'a TextRunLine>,
    other: Vec<&'a TextRunLine>,
    explained: HashMap<&'a DocId, &'a ExplainedText>,
}

impl<'a> TopicView<'a> {
    fn report(&self) -> Result<TopicReport> {
        let depth = self.sources.depth;
        let words = question::read(self.topic, TopicParts::default()).words;
        let mut marker = Marker::new(&words);
        let shown = &self.own[..depth.min(self.own.len())];
        let mut results = Vec::with_capacity(shown.len());
        for line in shown {
            let mut view = self.text(&line.doc, line.rank.to_string(), &mut marker)?;
            view.score = Some(number(line.score));
            view.change = self.change(line);
            if let Some(stance) = line.stance {
                view.stance = Some(self.stance(stance));
            }
            results.push(view);
        }
        let mut seen: BTreeSet<&DocId> = shown.iter().map(|line| &line.doc).collect();
        let mut gone = Vec::new();
        for line in self.other.iter().take(depth) {
            if seen.insert(&line.doc) {
                let place = format!("was {}, now {}", line.rank, self.standing(&line.doc));
                gone.push(self.text(&line.doc, place, &mut marker)?);
            }
        }
        let (missed, more_missed) = self.missed(&seen, &mut marker)?;
        let first = shown
            .first()
            .map(|line| self.beginning(&line.doc))
            .transpose()?;
        let changed = self.sources.against.map(|_| {
            let there =
                |line: &&&TextRunLine| !self.other.iter().take(depth).any(|o| o.doc == line.doc);
            shown.iter().filter(there).count()
        });
        Ok(TopicReport {
            topic: self.topic.clone(),
            minis: [Vec::new(), Vec::new()],
            first,
            changed,
            body: Body::Texts(TextsTopic {
                objects: match self.sources.task {
                    TextTask::Controversial => None,
                    TextTask::Comparative => self.topic.objects.clone(),
                },
                results,
                missed,
                more_missed,
                gone,
                plot: self.plot(),
                is_judged: self
                    .sources
                    .judged
                    .iter()
                    .any(|(_, qrels)| self.is_judged_in(qrels)),
                against: self.sources.against.map(|(name, _)| name.to_owned()),
                results_in_all: self.own.len(),
            }),
        })
    }

    fn text(&self, id: &DocId, place: String, marker: &mut Marker) -> Result<TextView> {
        let document = match self.sources.corpus.number(id) {
            Some(_) => Some(self.sources.corpus.document(id)?),
            None => None,
        };
        let fields = &self.sources.corpus.meta().fields;
        let field = |name: &str| {
            let at = fields.iter().position(|field| field == name)?;
            document
                .as_ref()?
                .texts
                .get(at)
                .filter(|text| !text.trim().is_empty())
        };
        let text = match &document {
            Some(document) => document.texts.first().map_or("", String::as_str),
            None => "(there is no such document in the collection)",
        };
        let start = shortened(text, TEXT);
        let explained = self.explained.get(id);
        let url = document
            .as_ref()
            .and_then(|d| d.url.clone())
            .unwrap_or_default();
        let mut rows: Vec<Row> = explained.iter().map(|e| Row::of(&e.score)).collect();
        rows.extend(explained.and_then(|e| e.stance.as_ref()).map(Row::of));
        Ok(TextView {
            anchor: self.sources.form.anchor(&self.topic.id, &id.0),
            id: id.0.clone(),
            place,
            score: None,
            title: marker.mark(&shortened(
                field("conclusion")
                    .or(field("title"))
                    .map_or("", String::as_str),
                300,
            )),
            more: match start.len() < text.len() {
                true => text.chars().count() - TEXT,
                false => 0,
            },
            text: marker.mark(&start),
            stance: document.and_then(|d| d.stance).map(towards_conclusion),
            grades: self.grades(id),
            quality: explained.and_then(|e| quality(&e.score)),
            change: None,
            rows,
            link: web_address(&url),
            url: shortened(&url, 300),
        })
    }

    fn beginning(&self, id: &DocId) -> Result<String> {
        let text = match self.sources.corpus.number(id) {
            Some(_) => self.sources.corpus.document(id)?.texts.into_iter().next(),
            None => None,
        };
        Ok(shortened(&text.unwrap_or_default(), 180))
    }

    /// Where a text stands that is not shown.
    fn standing(&self, id: &DocId) -> String {
        match self.own.iter().find(|line| line.doc == *id) {
            Some(line) => format!("rank {}", line.rank),
            None => "not in the run".into(),
        }
    }

    fn stance(&self, stance: ObjectStance) -> StanceView {
        let better = |n: usize| match &self.topic.objects {
            Some(objects) => format!("{} ({stance})", objects[n]),
            None => stance.word().to_owned(),
        };
        let (class, text) = match stance {
            ObjectStance::First => ("pro", better(0)),
            ObjectStance::Second => ("con", better(1)),
            ObjectStance::Neutral | ObjectStance::No => ("none", stance.word().to_owned()),
        };
        StanceView {
            class,
            text,
            title: "what the run says of the two objects".into(),
        }
    }

    fn is_judged_in(&self, qrels: &Qrels) -> bool {
        match qrels {
            Qrels::Graded(grades) | Qrels::Answers(grades) => grades.contains_key(&self.topic.id),
            Qrels::Stances(stances) => stances.contains_key(&self.topic.id),
            Qrels::Images(_) => false,
        }
    }

    fn grades(&self, id: &DocId) -> Vec<GradeView> {
        let topic = &self.topic.id;
        let judged = self.sources.judged.iter();
        let judged = judged.filter(|(_, qrels)| self.is_judged_in(qrels));
        let views = judged.map(|(name, qrels)| {
            let (class, text) = match qrels {
                Qrels::Graded(grades) | Qrels::Answers(grades) => {
                    match grades.get(topic).and_then(|of| of.get(id)) {
                        Some(grade) => (grade_class(*grade), grade.to_string()),
                        None => ("unjudged", "unjudged".into()),
                    }
                }
                Qrels::Stances(stances) => match stances.get(topic).and_then(|of| of.get(id)) {
                    Some(stance) => ("topic", stance.word().to_owned()),
                    None => ("unjudged", "unjudged".into()),
                },
                Qrels::Images(_) => ("unjudged", String::new()),
            };
            GradeView {
                class,
                name: name.clone(),
                text,
            }
        });
        views.collect()
    }

    /// The grades by which texts count as relevant: those of the first judgements that have grades.
    fn relevance(&self) -> Option<&'a HashMap<DocId, f64>> {
        self.sources
            .judged
            .iter()
            .find_map(|(_, qrels)| match qrels {
                Qrels::Graded(grades) | Qrels::Answers(grades) => grades.get(&self.topic.id),
                _ => None,
            })
    }

    /// Relevant texts that are not shown: the best first, and among equals those that the run has highest.
    fn missed(
        &self,
        shown: &BTreeSet<&DocId>,
        marker: &mut Marker,
    ) -> Result<(Vec<TextView>, usize)> {
        let ranks: HashMap<&DocId, u32> = self.own.iter().map(|l| (&l.doc, l.rank)).collect();
        let grades = self.relevance().into_iter().flatten();
        let mut missed: Vec<(&DocId, f64)> = grades
            .filter(|(id, grade)| **grade > 0.0 && !shown.contains(id))
            .map(|(id, grade)| (id, *grade))
            .collect();
        let rank = |id: &DocId| ranks.get(id).copied().unwrap_or(u32::MAX);
        missed.sort_by(|a, b| {
            b.1.total_cmp(&a.1)
                .then_with(|| (rank(a.0), a.0).cmp(&(rank(b.0), b.0)))
        });
        let more = missed.len().saturating_sub(MISSED);
        missed.truncate(MISSED);
        let mut views = Vec::with_capacity(missed.len());
        for (id, _) in missed {
            views.push(self.text(id, self.standing(id), marker)?);
        }
        Ok((views, more))
    }

    fn change(&self, line: &TextRunLine) -> Option<Change> {
        let (name, _) = self.sources.against?;
        let before = self.other.iter().find(|other| other.doc == line.doc);
        Some(Change::between(
            name,
            before.map(|other| other.rank),
            line.rank,
        ))
    }

    fn plot(&self) -> Option<Scores> {
        let grades = self.relevance();
        let results = self.own.iter().take(SCORES).map(|line| {
            let grade = grades.map(|grades| grades.get(&line.doc));
            let (class, judged) = match grade {
                None => ("plain", String::new()),
                Some(None) => ("unjudged", ", unjudged".into()),
                Some(Some(grade)) => (grade_class(*grade), format!(", grade {grade}")),
            };
            let title = format!("{}: {}, {}{judged}", line.rank, line.doc, three(line.score));
            (line.score, class, title)
        });
        Scores::of(results.collect())
    }
}

fn grade_class(grade: f64) -> &'static str {
    match grade {
        grade if grade >= 2.0 => "stance",
        grade if grade > 0.0 => "topic",
        _ => "off",
    }
}

fn towards_conclusion(stance: Stance) -> StanceView {
    let (class, text) = match stance {
        Stance::Pro => ("pro", "for its conclusion"),
        Stance::Con => ("con", "against its conclusion"),
    };
    StanceView {
        class,
        text: text.into(),
        title: "as the collection has it".into(),
    }
}

/// What an explanation says of the text's quality, where that was asked.
fn quality(score: &Explanation) -> Option<String> {
    let part = score.parts.iter().find(|part| part.name == "quality")?;
    part.parts.first().map(|quality| three(quality.value))
}
