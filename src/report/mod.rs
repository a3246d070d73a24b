//! A run as pages that a browser opens from disk: a table of all topics, the ranking of each topic, and each document with the
//! numbers behind its rank.
//!
//! The templates (`pages`) escape everything that comes from a collection, a run or judgements. A policy in every page allows only
//! riposte's own script and style, by their hashes, and no connection.

use riposte_eval::topic::Topic;
use riposte_eval::{Explanation, MeasureValues, TopicId};
use riposte_page::presence::Presence;

use crate::score::presence::presence_of;
use crate::topic::ASKED;

mod chart;
mod images;
pub mod inspect;
mod overview;
mod pages;
pub(crate) mod pictures;
pub mod place;
pub(crate) mod reason;
pub mod shown;
mod texts;
pub(crate) mod words;

/// Facts for all pages of a report.
pub(crate) struct ReportHead {
    /// The name of the task: "Image retrieval for arguments".
    pub task: &'static str,
    /// The name of the run.
    pub run: String,
    /// The name of the run with which it is compared.
    pub against: Option<String>,
    /// The numbers of topics, documents and judged topics, in words.
    pub facts: Vec<String>,
    /// Notes to the reader: what is missing in the report, and how to get it.
    pub notes: Vec<String>,
    pub measures: Vec<MeasureColumn>,
    /// A row for each run, if there are several.
    pub runs: Vec<overview::RunRow>,
}

/// A measure of the run, shown as a column.
pub(crate) struct MeasureColumn {
    /// A short name: "on stance".
    pub name: String,
    /// The kind of the value: "P@10".
    pub unit: &'static str,
    /// The full name of the measure: "stanceRelevanceP@10".
    pub measure: String,
    pub values: MeasureValues,
    /// The highest values that a run can reach with these judgements; `None` for measures that can always reach 1.
    pub attainable: Option<MeasureValues>,
    /// The values of the run with which it is compared.
    pub against: Option<MeasureValues>,
}

/// A report that can be written.
pub(crate) struct RunReport {
    pub head: ReportHead,
    pub topics: Vec<TopicReport>,
}

/// A topic of a report.
pub(crate) struct TopicReport {
    topic: Topic,
    /// For the table of topics: thumbnails of the first images of the PRO list and of the CON list.
    thumbnails: [Vec<images::Thumbnail>; 2],
    /// For the table of topics: the beginning of the first text.
    first: Option<String>,
    /// The number of documents shown that the other run does not show.
    changed: Option<usize>,
    is_judged: bool,
    /// Says that nothing in the collection is about the topic, if that is so.
    nothing: Option<String>,
    /// The debate sheet; `None` if the run has none.
    debate: Option<images::SheetView>,
    body: Body,
}

impl TopicReport {
    /// Whether its id tells a reader something: that of a single question does not.
    fn shows_id(&self) -> bool {
        self.topic.id.0 != ASKED
    }
}

/// Says that nothing is about a topic, if these probabilities of its documents say so.
fn nothing_about<'a>(about: impl Iterator<Item = &'a Option<Explanation>>) -> Option<String> {
    let presence = presence_of(about.flatten());
    let presence = presence.filter(Presence::is_nothing);
    presence.map(|presence| presence.nothing())
}

enum Body {
    Images(images::ImagesTopic),
    Texts(texts::TextsTopic),
}

/// How the rank of a document differs from that in the other run.
pub(crate) struct RankChange {
    /// The CSS class: "new", "up", "down" or "same"; for images also "crossed" and "gone".
    pub class: &'static str,
    pub text: String,
    pub title: String,
}

impl RankChange {
    /// Compares a rank with that in the run called `name`, `None` if the document is not in that run.
    fn between(name: &str, before: Option<u32>, rank: u32) -> RankChange {
        let (class, text, title) = match before {
            None => ("new", "new".into(), format!("not in {name}")),
            Some(before) if before == rank => {
                ("same", "=".into(), format!("at the same rank in {name}"))
            }
            Some(before) if before > rank => (
                "up",
                format!("▲ {}", before - rank),
                format!("rank {before} in {name}"),
            ),
            Some(before) => (
                "down",
                format!("▼ {}", rank - before),
                format!("rank {before} in {name}"),
            ),
        };
        RankChange { class, text, title }
    }
}

/// Whether a report is a directory of files or a single page. It decides how pages link to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportForm {
    Directory,
    SingleFile,
}

impl ReportForm {
    /// The address of the table of topics.
    fn index(self) -> &'static str {
        match self {
            ReportForm::Directory => "index.html",
            ReportForm::SingleFile => "#",
        }
    }

    /// The address of a topic.
    fn topic(self, topic: &TopicId) -> String {
        self.page("topic", topic)
    }

    /// The address of a topic's debate sheet.
    fn debate(self, topic: &TopicId) -> String {
        self.page("debate", topic)
    }

    fn page(self, begins: &str, topic: &TopicId) -> String {
        let slug = words::slug(&topic.0);
        match self {
            ReportForm::Directory => format!("{begins}-{slug}.html"),
            ReportForm::SingleFile => format!("#{begins}-{slug}"),
        }
    }

    /// The address of an element of a topic's debate sheet, with this fragment.
    fn debate_part(self, topic: &TopicId, anchor: &str) -> String {
        match self {
            ReportForm::Directory => format!("{}#{anchor}", self.debate(topic)),
            ReportForm::SingleFile => format!("#{anchor}"),
        }
    }

    /// The fragment of a document's address within its topic's page, without `#`.
    fn anchor(self, topic: &TopicId, id: &str) -> String {
        let id = words::slug(id);
        match self {
            ReportForm::Directory => id,
            ReportForm::SingleFile => format!("topic-{}/{id}", words::slug(&topic.0)),
        }
    }

    /// The address of a document, as seen from the table of topics.
    fn document(self, topic: &TopicId, id: &str) -> String {
        match self {
            ReportForm::Directory => format!("{}#{}", self.topic(topic), self.anchor(topic, id)),
            ReportForm::SingleFile => format!("#{}", self.anchor(topic, id)),
        }
    }
}
