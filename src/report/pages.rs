//! The data of the templates in `pages/`, and the names of pages.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use riposte_eval::{MeasureValues, TopicId};
use riposte_page::words::{shortened, three_decimals};
use sha2::{Digest, Sha256};

use super::chart::{ColumnChart, TopicColumn};
use super::images::{NOT_LISTED, SheetView};
use super::overview::{self, Differing};
use super::words::{difference, slug};
use super::{Body, MeasureColumn, ReportForm, ReportHead, RunReport, TopicReport};

static STYLE: LazyLock<String> =
    LazyLock::new(|| riposte_page::style(include_str!("pages/report.css")));
const SCRIPT: &str = include_str!("pages/report.js");

/// The length of a topic's title in the link from a neighbouring topic, in characters.
const NEIGHBOUR: usize = 44;

/// The number of ranked documents up to which every page of a report has the ids of all of them. A report of fifty topics would grow by a megabyte.
const EVERYWHERE: usize = 500;

/// The frame of every page.
#[derive(Template)]
#[template(path = "page.html", config = "src/report/askama.toml")]
struct Page<'a> {
    title: &'a str,
    policy: &'a str,
    style: &'static str,
    script: &'static str,
    index: &'static str,
    is_single: bool,
    is_index: bool,
    task: &'a str,
    run: &'a str,
    places: &'a [Place],
    /// The views of the page, rendered by other templates.
    body: &'a str,
}

/// A topic, as the search of every page finds it.
struct Place {
    href: String,
    name: String,
    /// The ids of the ranked documents on its page; empty if other pages do not find them.
    documents: String,
}

/// The table of topics.
#[derive(Template)]
#[template(path = "index.html", config = "src/report/askama.toml")]
struct Index<'a> {
    head: &'a ReportHead,
    tiles: Vec<Cell<'a>>,
    columns: Option<ColumnChart>,
    /// Whether the bars of a column are drawn in front of each other, because each measure counts a part of the one before.
    is_nested: bool,
    rows: Vec<IndexRow<'a>>,
    /// The topics in which the first two runs differ most, and by what.
    differing: Vec<Differing>,
    differing_by: &'a str,
    has_images: bool,
    has_texts: bool,
}

/// The value of a measure, for a topic or for the whole run.
struct Cell<'a> {
    column: &'a MeasureColumn,
    value: Option<f64>,
    /// The highest value that a run can reach, if it is below 1.
    most: Option<String>,
    difference: Option<Difference>,
}

struct Difference {
    text: String,
    class: &'static str,
}

struct IndexRow<'a> {
    report: &'a TopicReport,
    href: String,
    anchor: String,
    cells: Vec<Cell<'a>>,
}

/// The page of a topic. Its body has separate templates.
#[derive(Template)]
#[template(path = "topic.html", config = "src/report/askama.toml")]
struct Topic<'a> {
    report: &'a TopicReport,
    anchor: String,
    index: &'static str,
    previous: Option<Neighbour>,
    next: Option<Neighbour>,
    cells: Vec<Cell<'a>>,
    debate_href: Option<String>,
    /// The name of the run with which it is compared.
    against: Option<&'a str>,
    body: &'a Body,
}

/// The debate sheet of a topic.
#[derive(Template)]
#[template(path = "debate.html", config = "src/report/askama.toml")]
struct DebatePage<'a> {
    report: &'a TopicReport,
    debate: &'a SheetView,
    anchor: String,
    topic_href: String,
    previous: Option<Neighbour>,
    next: Option<Neighbour>,
}

struct Neighbour {
    href: String,
    text: String,
}

impl MeasureColumn {
    /// The value that `of` takes from the values of a run, and what it is compared with.
    fn cell(&self, of: impl Fn(&MeasureValues) -> Option<f64>) -> Cell<'_> {
        let value = of(&self.values);
        let most = self.attainable.as_ref().and_then(&of);
        let against = self.against.as_ref().and_then(&of);
        let change = value.zip(against).map(|(value, against)| value - against);
        Cell {
            column: self,
            value,
            most: most.filter(|most| *most < 1.0).map(three_decimals),
            difference: change.map(|change| Difference {
                text: difference(change),
                class: match change {
                    c if c > 5e-4 => "up",
                    c if c < -5e-4 => "down",
                    _ => "same",
                },
            }),
        }
    }
}

impl RunReport {
    /// The pages of a report that is a directory: their file names and contents.
    pub fn pages(&self) -> Result<Vec<(String, String)>> {
        let form = ReportForm::Directory;
        let title = &self.head.run;
        let mut pages = vec![(
            "index.html".into(),
            self.page(form, title, true, &self.index(form)?)?,
        )];
        for (at, topic) in self.topics.iter().enumerate() {
            let title = format!("{} · {}", topic.topic.title, self.head.run);
            let page = self.page(form, &title, false, &self.topic(form, at)?)?;
            pages.push((form.topic(&topic.topic.id), page));
            if let Some(sheet) = self.debate(form, at)? {
                let title = format!("Debate: {}", topic.topic.title);
                let page = self.page(form, &title, false, &sheet)?;
                pages.push((form.debate(&topic.topic.id), page));
            }
        }
        Ok(pages)
    }

    /// The report as a single page.
    pub(crate) fn single_page(&self) -> Result<String> {
        let form = ReportForm::SingleFile;
        let mut body = self.index(form)?;
        for at in 0..self.topics.len() {
            body.push_str(&self.topic(form, at)?);
            body.push_str(&self.debate(form, at)?.unwrap_or_default());
        }
        self.page(form, &self.head.run, true, &body)
    }

    fn page(&self, form: ReportForm, title: &str, is_index: bool, body: &str) -> Result<String> {
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
        // a page on disk has no origin: `file:` allows its pictures, and nothing from the network
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src {}; base-uri 'none'; form-action 'none'",
            hash(SCRIPT),
            hash(&STYLE),
            match form {
                ReportForm::Directory => "'self' file:",
                ReportForm::SingleFile => "data:",
            }
        );
        let page = Page {
            title,
            policy: &policy,
            style: &STYLE,
            script: SCRIPT,
            index: form.index(),
            is_single: form == ReportForm::SingleFile,
            is_index,
            task: self.head.task,
            run: &self.head.run,
            places: &self.places(form, is_index),
            body,
        };
        page.render().context("cannot render a page")
    }

    /// What the search of a page finds. In a large report, only the table of topics has the ids of documents.
    fn places(&self, form: ReportForm, is_index: bool) -> Vec<Place> {
        let documents: Vec<Vec<&str>> = self.topics.iter().map(ranked).collect();
        let all: usize = documents.iter().map(Vec::len).sum();
        let has_documents = is_index || all <= EVERYWHERE;
        let place = |(report, documents): (&TopicReport, Vec<&str>)| Place {
            href: form.topic(&report.topic.id),
            name: format!("{} {}", report.topic.id, report.topic.title),
            documents: match has_documents {
                true => documents.join(" "),
                false => String::new(),
            },
        };
        self.topics.iter().zip(documents).map(place).collect()
    }

    fn index<'a>(&'a self, form: ReportForm) -> Result<String> {
        let measures = &self.head.measures;
        let mut topics = self.topics.iter();
        let is_nested = topics.any(|t| matches!(t.body, Body::Images(_)));
        // the measures of the image task are nested, so one column can show all; for other tasks, only the first measure is plotted
        let plotted = if is_nested {
            measures.as_slice()
        } else {
            measures.get(..1).unwrap_or_default()
        };
        let topics = self.topics.iter();
        let columns: Vec<TopicColumn> = topics.filter_map(|t| column(t, plotted, form)).collect();
        let mean = plotted.last().map(|m| m.values.all());
        let row = |report: &'a TopicReport| {
            let topic = &report.topic;
            let begins = match form {
                ReportForm::Directory => "topic",
                ReportForm::SingleFile => "row",
            };
            IndexRow {
                report,
                href: form.topic(&topic.id),
                anchor: format!("{begins}-{}", slug(&topic.id.0)),
                cells: self.cells(&topic.id),
            }
        };
        let index = Index {
            head: &self.head,
            tiles: measures
                .iter()
                .map(|m| m.cell(|of| Some(of.all())))
                .collect(),
            columns: (columns.len() > 1).then(|| ColumnChart::new(columns, mean)),
            is_nested,
            rows: self.topics.iter().map(row).collect(),
            differing: self.differing(plotted.last(), form),
            differing_by: plotted.last().map_or("", |measure| measure.name.as_str()),
            has_images: is_nested,
            has_texts: self.topics.iter().any(|t| matches!(t.body, Body::Texts(_))),
        };
        index.render().context("cannot render the table of topics")
    }

    /// The topics in which the first two runs differ most: by the measure, or else by the number of documents that only this run shows.
    fn differing(&self, measure: Option<&MeasureColumn>, form: ReportForm) -> Vec<Differing> {
        let by = |report: &TopicReport| match measure {
            Some(measure) => {
                let value = |of: &MeasureValues| of.topics.get(&report.topic.id).copied();
                Some(value(&measure.values)? - value(measure.against.as_ref()?)?)
            }
            None => report.changed.map(|count| count as f64),
        };
        let topics = self.topics.iter();
        let topics = topics.filter_map(|report| Some((by(report)?, report)));
        overview::most(topics.collect(), |by, report| Differing {
            href: form.topic(&report.topic.id),
            text: format!("{} {}", report.topic.id, report.topic.title),
            by: match measure {
                Some(_) => difference(by),
                None => format!("{by:.0} new"),
            },
            class: match measure {
                Some(_) if by > 0.0 => "up",
                Some(_) => "down",
                None => "same",
            },
        })
    }

    /// The values of all measures for a topic.
    fn cells(&self, topic: &TopicId) -> Vec<Cell<'_>> {
        let value = |of: &MeasureValues| of.topics.get(topic).copied();
        let measures = self.head.measures.iter();
        measures.map(|measure| measure.cell(value)).collect()
    }

    /// The topic with this number, as a link.
    fn neighbour(&self, at: usize, address: impl Fn(&TopicId) -> String) -> Option<Neighbour> {
        let topic = &self.topics.get(at)?.topic;
        Some(Neighbour {
            href: address(&topic.id),
            text: format!("{} {}", topic.id, shortened(&topic.title, NEIGHBOUR)),
        })
    }

    /// The debate sheet of the topic with this number, if it has one.
    fn debate(&self, form: ReportForm, at: usize) -> Result<Option<String>> {
        let debate_of = |at: usize| self.topics.get(at)?.debate.as_ref();
        let (Some(report), Some(debate)) = (self.topics.get(at), debate_of(at)) else {
            return Ok(None);
        };
        let neighbour = |at: usize| {
            debate_of(at)?;
            self.neighbour(at, |id| form.debate(id))
        };
        let id = &report.topic.id;
        let page = DebatePage {
            report,
            debate,
            anchor: format!("debate-{}", slug(&id.0)),
            topic_href: form.topic(id),
            previous: at.checked_sub(1).and_then(neighbour),
            next: neighbour(at + 1),
        };
        let rendering = || format!("cannot render the debate sheet of topic {id}");
        page.render().map(Some).with_context(rendering)
    }

    fn topic(&self, form: ReportForm, at: usize) -> Result<String> {
        let report = &self.topics[at];
        let id = &report.topic.id;
        let neighbour = |at: usize| self.neighbour(at, |id| form.topic(id));
        let topic = Topic {
            report,
            anchor: format!("topic-{}", slug(&id.0)),
            index: form.index(),
            previous: at.checked_sub(1).and_then(neighbour),
            next: neighbour(at + 1),
            cells: self.cells(id),
            debate_href: report.debate.is_some().then(|| form.debate(id)),
            against: self.head.against.as_deref(),
            body: &report.body,
        };
        let rendering = || format!("cannot render topic {id}");
        topic.render().with_context(rendering)
    }
}

/// The ids of the ranked documents on the page of a topic.
fn ranked(report: &TopicReport) -> Vec<&str> {
    match &report.body {
        Body::Images(of) => {
            let listed = of
                .images
                .iter()
                .filter(|image| image.position != NOT_LISTED);
            listed.map(|image| image.id.as_str()).collect()
        }
        Body::Texts(of) => of.results.iter().map(|text| text.id.as_str()).collect(),
    }
}

/// A topic's column in the plot of these measures; `None` if one of them has no value for it.
fn column(
    report: &TopicReport,
    plotted: &[MeasureColumn],
    form: ReportForm,
) -> Option<TopicColumn> {
    let id = &report.topic.id;
    let value = |values: &MeasureValues| values.topics.get(id).copied();
    let values = plotted.iter().map(|measure| value(&measure.values));
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    let named = plotted.iter().zip(&values);
    let named: Vec<String> = named
        .map(|(measure, value)| format!("{} {}", measure.name, three_decimals(*value)))
        .collect();
    Some(TopicColumn {
        href: form.topic(id),
        name: Some(id.0.clone()),
        title: format!("{id} {}: {}", report.topic.title, named.join(", ")),
        values,
        against: plotted.last()?.against.as_ref().and_then(value),
    })
}
