//! The report of a text task: for each topic, the ranked texts with the topic's words marked, their stances and grades, and the
//! numbers behind their ranks.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;
use riposte_eval::explained::ExplainedText;
use riposte_eval::qrels::Qrels;
use riposte_eval::run::TextRunLine;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation, NumberId, ObjectStance, Stance, TextTask};
use riposte_page::words::{number, shortened, three_decimals};
use riposte_page::{ExplanationRow, MarkedSpan, WebAddress};

use super::chart::Scores;
use super::images::{Gauge, sheet};
use super::place::ReportPlace;
use super::shown::{ShownRun, by_rank};
use super::{Body, RankChange, TopicReport, nothing_about, reason};
use crate::answer::marker::Marker;
use crate::index::inverted::{Document, InvertedIndex};
use crate::score::CHANNEL;
use crate::score::presence::padding;
use crate::score::quality::QUALITY;
use crate::score::side_taken as side_of;
use crate::texts::rerank::BASE;
use crate::topic::question::{self, TopicParts};

/// The data from which the report is made.
pub(crate) struct TextReportData<'a> {
    pub task: TextTask,
    pub index: &'a InvertedIndex,
    pub run: &'a ShownRun<TextRunLine>,
    /// Judgements with their names.
    pub judged: &'a [(String, Qrels)],
    pub place: &'a ReportPlace,
}

/// The number of results shown for a topic, unless the user chooses another.
const DEPTH: usize = 20;

/// The maximum number of relevant texts shown that are not among the results.
const MISSED: usize = 12;

/// The maximum number of characters shown of a text.
const TEXT: usize = 6_000;

/// The maximum number of bars that explain a score.
const GAUGES: usize = 6;

/// The maximum number of bars in a topic's plot.
const SCORES: usize = 60;

/// The content of a topic's page.
pub(crate) struct TextsTopic {
    pub objects: Option<[String; 2]>,
    pub results: Vec<TextView>,
    pub missed: Vec<TextView>,
    pub more_missed: usize,
    pub dropped: Vec<TextView>,
    pub plot: Option<Scores>,
    /// Whether a text has a stance or a quality that was estimated.
    pub has_estimates: bool,
    /// Whether a text has a stance according to the collection.
    pub has_stances: bool,
    /// The number of results in the run.
    pub results_in_all: usize,
}

/// A text on a topic's page.
pub(crate) struct TextView {
    pub anchor: String,
    pub id: String,
    /// Its rank; for a text that is not shown by rank, its position in the runs.
    pub position: String,
    pub score: Option<String>,
    /// The conclusion or, if it has none, the title of the debate.
    pub title: Vec<MarkedSpan>,
    pub text: Vec<MarkedSpan>,
    /// The number of characters that are not shown.
    pub more: usize,
    /// Whether it is the first result that is less likely to be about the topic.
    pub begins_padding: bool,
    pub stance: Option<StanceView>,
    /// The side of an argument towards the topic's claim, if it was read in the text.
    pub side: Option<StanceView>,
    pub grades: Vec<TextGradeView>,
    pub quality: Option<String>,
    pub change: Option<RankChange>,
    /// The sentence that explains its rank; `None` if its score is not explained.
    pub reason: Option<String>,
    pub gauges: Vec<Gauge>,
    pub rows: Vec<ExplanationRow>,
    pub url: String,
    pub link: Option<String>,
}

/// The stance of a text, according to the run or the collection.
pub(crate) struct StanceView {
    pub class: &'static str,
    /// Whether it was estimated; otherwise the collection has it.
    pub is_estimated: bool,
    pub text: String,
    pub title: String,
}

/// The grade of a text in one file of judgements.
pub(crate) struct TextGradeView {
    pub class: &'static str,
    pub name: String,
    pub text: String,
}

/// Makes the pages of all topics. Errors: a stored text cannot be read.
pub fn topics(sources: &TextReportData) -> Result<Vec<TopicReport>> {
    let topics = sources.run.by_topic().into_iter();
    topics
        .map(|of| {
            let explained = of.explained.into_iter();
            let builder = PageBuilder {
                sources,
                own: by_rank(of.own.into_iter()),
                other: by_rank(of.other.into_iter()),
                explained: explained.map(|text| (&text.document, text)).collect(),
                topic: &of.topic,
            };
            builder.report()
        })
        .collect()
}

/// Collects the content of a topic's page.
struct PageBuilder<'a> {
    sources: &'a TextReportData<'a>,
    topic: &'a Topic,
    own: Vec<&'a TextRunLine>,
    other: Vec<&'a TextRunLine>,
    explained: HashMap<&'a DocId, &'a ExplainedText>,
}

impl<'a> PageBuilder<'a> {
    fn report(&self) -> Result<TopicReport> {
        let depth = self.depth();
        let words = question::read(self.topic, TopicParts::default()).words;
        let mut marker = Marker::new(&words);
        let shown = &self.own[..depth.min(self.own.len())];
        let results = shown.iter().map(|line| self.result(line, &mut marker));
        let mut results: Vec<TextView> = results.collect::<Result<_>>()?;
        let about = |line: &&TextRunLine| {
            let explained = self.explained.get(&line.doc)?;
            Some(explained.about.as_ref()?.value())
        };
        if let Some(text) = padding(shown.iter().map(about)).and_then(|at| results.get_mut(at)) {
            text.begins_padding = true;
        }
        let mut seen: BTreeSet<&DocId> = shown.iter().map(|line| &line.doc).collect();
        let (sheets, form) = (&self.sources.run.debate, self.sources.place.form);
        let debate = sheet(sheets, self.topic, form, &seen, None, &mut marker);
        let dropped = self.dropped(&mut seen, &mut marker)?;
        let (missed, more_missed) = self.missed(&seen, &mut marker)?;
        let first = shown.first().map(|line| self.beginning(&line.doc));
        let changed = self.sources.run.other().map(|_| {
            let there = self.other.iter().take(depth);
            let there: BTreeSet<&DocId> = there.map(|line| &line.doc).collect();
            shown
                .iter()
                .filter(|line| !there.contains(&line.doc))
                .count()
        });
        let stances = || results.iter().filter_map(|text| text.stance.as_ref());
        let judged = self.sources.judged.iter();
        Ok(TopicReport {
            topic: self.topic.clone(),
            thumbnails: [Vec::new(), Vec::new()],
            first: first.transpose()?,
            changed,
            is_judged: judged
                .into_iter()
                .any(|(_, qrels)| self.is_judged_in(qrels)),
            nothing: nothing_about(self.explained.values().map(|text| &text.about)),
            debate,
            body: Body::Texts(TextsTopic {
                objects: self.objects().cloned(),
                has_estimates: results.iter().any(|text| text.quality.is_some())
                    || results.iter().any(|text| text.side.is_some())
                    || stances().any(|stance| stance.is_estimated),
                has_stances: stances().any(|stance| !stance.is_estimated),
                results,
                missed,
                more_missed,
                dropped,
                plot: self.plot(),
                results_in_all: self.own.len(),
            }),
        })
    }

    fn depth(&self) -> usize {
        self.sources.place.depth.unwrap_or(DEPTH)
    }

    /// A text of the run.
    fn result(&self, line: &TextRunLine, marker: &mut Marker) -> Result<TextView> {
        let view = self.text(&line.doc, line.rank.to_string(), marker)?;
        let stance = line.stance.map(|stance| self.stance(stance));
        Ok(TextView {
            score: line.score.map(number),
            change: self.change(line),
            stance: stance.or(view.stance),
            ..view
        })
    }

    /// The texts at the top of the other run that have not been seen. They are added to `seen`.
    fn dropped(
        &self,
        seen: &mut BTreeSet<&'a DocId>,
        marker: &mut Marker,
    ) -> Result<Vec<TextView>> {
        let mut dropped = Vec::new();
        for line in self.other.iter().take(self.depth()) {
            if seen.insert(&line.doc) {
                let position = format!("was {}, now {}", line.rank, self.position(&line.doc));
                dropped.push(self.text(&line.doc, position, marker)?);
            }
        }
        Ok(dropped)
    }

    /// A text of the collection; `None` if it has no such document.
    fn document(&self, id: &DocId) -> Result<Option<Document>> {
        let index = self.sources.index;
        index.number(id).map(|_| index.document(id)).transpose()
    }

    fn text(&self, id: &DocId, position: String, marker: &mut Marker) -> Result<TextView> {
        let document = self.document(id)?;
        let fields = &self.sources.index.meta().fields;
        let field = |name: &str| {
            let at = fields.iter().position(|field| field == name)?;
            let text = document.as_ref()?.texts.get(at)?;
            (!text.trim().is_empty()).then_some(text.as_str())
        };
        let text = match &document {
            Some(document) => document.texts.first().map_or("", |text| text.trim()),
            None => "(there is no such document in the collection)",
        };
        let start = shortened(text, TEXT);
        let is_cut = start.len() < text.len();
        let title = field("conclusion").or(field("title")).unwrap_or_default();
        let explained = self.explained.get(id);
        let url = document
            .as_ref()
            .and_then(|document| document.url.as_deref());
        let url = url.unwrap_or_default();
        let trees = explained.map(|e| [Some(&e.score), e.stance.as_ref(), e.about.as_ref()]);
        let trees = trees.into_iter().flatten().flatten();
        Ok(TextView {
            anchor: self.sources.place.form.anchor(&self.topic.id, &id.0),
            id: id.0.clone(),
            position,
            score: None,
            title: marker.mark(&shortened(title, 300)),
            more: if is_cut {
                text.chars().count() - TEXT
            } else {
                0
            },
            text: marker.mark(&start),
            begins_padding: false,
            // without a conclusion, there is nothing that the stance is towards
            stance: field("conclusion")
                .and_then(|_| document.as_ref()?.stance)
                .map(towards_conclusion),
            side: explained
                .filter(|_| self.sources.task == TextTask::Controversial)
                .and_then(|e| e.stance.as_ref())
                .map(towards_claim),
            grades: self.grades(id),
            quality: explained.and_then(|e| quality(&e.score)),
            change: None,
            reason: explained.and_then(|e| reason::text::sentence(e, self.objects())),
            gauges: explained.map_or_else(Vec::new, |e| gauges(&e.score)),
            rows: trees.map(ExplanationRow::new).collect(),
            link: WebAddress::of(url).and_then(|of| of.link),
            url: shortened(url, 300),
        })
    }

    fn beginning(&self, id: &DocId) -> Result<String> {
        let document = self.document(id)?;
        let text = document.and_then(|document| document.texts.into_iter().next());
        Ok(shortened(&text.unwrap_or_default(), 180))
    }

    /// The rank of a text that is not among the results shown.
    fn position(&self, id: &DocId) -> String {
        match self.own.iter().find(|line| line.doc == *id) {
            Some(line) => format!("rank {}", line.rank),
            None => "not in the run".into(),
        }
    }

    fn stance(&self, stance: ObjectStance) -> StanceView {
        let better = |n: usize| match &self.topic.objects {
            Some(objects) => format!("prefers {} ({stance})", objects[n]),
            None => format!("stance {stance}"),
        };
        let (class, text) = match stance {
            ObjectStance::First => ("pro", better(0)),
            ObjectStance::Second => ("con", better(1)),
            ObjectStance::Neutral | ObjectStance::No => ("none", format!("stance {stance}")),
        };
        StanceView {
            class,
            is_estimated: true,
            text,
            title: "the stance towards the two objects, according to the run".into(),
        }
    }

    /// The objects that the topic compares, if it is a comparative question.
    fn objects(&self) -> Option<&[String; 2]> {
        let objects = self.topic.objects.as_ref();
        objects.filter(|_| self.sources.task == TextTask::Comparative)
    }

    fn is_judged_in(&self, qrels: &Qrels) -> bool {
        match qrels {
            Qrels::Stances(stances) => stances.contains_key(&self.topic.id),
            graded => (graded.grades()).is_some_and(|of| of.contains_key(&self.topic.id)),
        }
    }

    fn grades(&self, id: &DocId) -> Vec<TextGradeView> {
        let topic = &self.topic.id;
        let judged = self.sources.judged.iter();
        let views = judged.filter_map(|(name, qrels)| {
            let grade = match qrels {
                Qrels::Stances(stances) => {
                    let stance = stances.get(topic)?.get(id);
                    stance.map(|stance| ("topic", stance.word().to_owned()))
                }
                graded => {
                    let grade = graded.grades()?.get(topic)?.get(id);
                    grade.map(|grade| (grade_class(*grade), grade.to_string()))
                }
            };
            let (class, text) = grade.unwrap_or(("unjudged", "unjudged".into()));
            let name = name.clone();
            Some(TextGradeView { class, name, text })
        });
        views.collect()
    }

    /// The grades that decide which texts are relevant: those of the first judgements that have grades.
    fn relevance(&self) -> Option<&'a HashMap<DocId, f64>> {
        let mut judged = self.sources.judged.iter();
        judged.find_map(|(_, qrels)| qrels.grades()?.get(&self.topic.id))
    }

    /// Relevant texts that are not shown and their number: the highest grades first, and equal grades by their rank in the run.
    fn missed(
        &self,
        shown: &BTreeSet<&DocId>,
        marker: &mut Marker,
    ) -> Result<(Vec<TextView>, usize)> {
        let ranks: HashMap<&DocId, u32> = self.own.iter().map(|l| (&l.doc, l.rank)).collect();
        let grades = self.relevance().into_iter().flatten();
        let relevant = grades.filter(|(id, grade)| **grade > 0.0 && !shown.contains(id));
        let mut missed: Vec<(&DocId, &f64)> = relevant.collect();
        let rank = |id: &DocId| ranks.get(id).copied().unwrap_or(u32::MAX);
        missed.sort_by(|(a, of_a), (b, of_b)| {
            let by_grade = of_b.total_cmp(of_a);
            by_grade.then_with(|| (rank(a), a).cmp(&(rank(b), b)))
        });
        let more = missed.len().saturating_sub(MISSED);
        let shown = missed.iter().take(MISSED);
        let views = shown.map(|(id, _)| self.text(id, self.position(id), marker));
        Ok((views.collect::<Result<_>>()?, more))
    }

    fn change(&self, line: &TextRunLine) -> Option<RankChange> {
        let name = self.sources.run.other()?;
        let before = self.other.iter().find(|other| other.doc == line.doc);
        let before = before.map(|other| other.rank);
        Some(RankChange::between(name, before, line.rank))
    }

    fn plot(&self) -> Option<Scores> {
        let grades = self.relevance();
        let results = self.own.iter().take(SCORES).filter_map(|line| {
            let score = line.score?;
            let (class, judged) = match grades.map(|grades| grades.get(&line.doc)) {
                None => ("plain", String::new()),
                Some(None) => ("unjudged", ", unjudged".into()),
                Some(Some(grade)) => (grade_class(*grade), format!(", grade {grade}")),
            };
            let TextRunLine { rank, doc, .. } = line;
            Some((score, class, format!("{rank}: {doc}, {score:.3}{judged}")))
        });
        Scores::new(results.collect())
    }
}

fn grade_class(grade: f64) -> &'static str {
    match grade {
        grade if grade >= 2.0 => "stance",
        grade if grade > 0.0 => "topic",
        _ => "off",
    }
}

/// The side that an argument takes towards the claim.
fn towards_claim(balance: &Explanation) -> StanceView {
    let value = balance.value();
    let (class, text) = match side_of(value) {
        Some(Stance::Pro) => ("pro", "for the claim"),
        Some(Stance::Con) => ("con", "against the claim"),
        None => ("none", "no clear side"),
    };
    StanceView {
        class,
        is_estimated: true,
        text: text.into(),
        title: format!("read in the text: P(pro) - P(con) is {value:+.2}"),
    }
}

fn towards_conclusion(stance: Stance) -> StanceView {
    let (class, text) = match stance {
        Stance::Pro => ("pro", "for its conclusion"),
        Stance::Con => ("con", "against its conclusion"),
    };
    StanceView {
        class,
        is_estimated: false,
        text: text.into(),
        title: "according to the collection".into(),
    }
}

/// The bars of the largest parts of a score; the largest part has the longest bar. The base that places re-ranked documents above the others has no
/// bar.
fn gauges(score: &Explanation) -> Vec<Gauge> {
    let parts = score.parts().iter().filter(|part| part.value() > 0.0);
    let parts = parts.filter_map(|part| Some((part.id()?, part)));
    let mut parts: Vec<(&NumberId, &Explanation)> =
        parts.filter(|(id, _)| id.kind() != BASE).collect();
    parts.sort_by(|(_, a), (_, b)| b.value().total_cmp(&a.value()));
    let largest = parts.first().map_or(1.0, |(_, part)| part.value());
    let bars = parts.iter().take(GAUGES).map(|(id, part)| Gauge {
        name: part.name().to_owned(),
        note: reason::text::meaning(id),
        value: three_decimals(part.value()),
        width: format!("{:.1}", 100.0 * part.value() / largest),
        class: "plain",
    });
    bars.collect()
}

/// The estimated quality of a text, if it is part of the explanation.
fn quality(score: &Explanation) -> Option<String> {
    let quality = score.part((CHANNEL, "quality"))?.part(QUALITY)?;
    Some(three_decimals(quality.value()))
}
