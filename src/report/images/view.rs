//! What the templates are given of an image topic.

use super::super::Change;
use super::super::chart::Scatter;
use super::super::pictures::Source;
use super::super::tree::Row;
use super::super::words::{Marker, Span, shortened, three, web_address};
use crate::evidence::{Evidence, PageEvidence};
use crate::trec::{Explanation, Stance};

/// A small picture in the table of topics.
#[derive(Debug)]
pub struct Mini {
    pub href: String,
    pub alt: String,
    pub source: Source,
}

/// What a topic's page shows.
#[derive(Debug)]
pub struct ImagesTopic {
    pub sides: Vec<Side>,
    pub missed: Vec<Card>,
    /// Judged images beyond those shown.
    pub more_missed: Vec<String>,
    pub images: Vec<ImageView>,
    pub plot: Option<Scatter>,
    pub is_judged: bool,
    pub against: Option<String>,
}

/// A list.
#[derive(Debug)]
pub struct Side {
    pub stance: Stance,
    /// "pro" or "con": what style sheets call it.
    pub class: &'static str,
    pub cards: Vec<Card>,
    /// P@10 of this list: on topic, argumentative, on stance.
    pub precision: Option<[String; 3]>,
    /// Images that only the other run has in this list.
    pub gone: Vec<Card>,
}

/// An image in a list.
#[derive(Debug)]
pub struct Card {
    pub href: String,
    pub label: String,
    pub caption: String,
    pub alt: String,
    pub source: Option<Source>,
    pub score: Option<String>,
    pub grade: Option<GradeView>,
    pub lean: Option<Lean>,
    pub change: Option<Change>,
}

/// P(pro) and P(con).
#[derive(Clone, Debug)]
pub struct Lean {
    pub pro: String,
    pub con: String,
    /// In per cent of a half.
    pub pro_width: String,
    pub con_width: String,
    pub con_x: String,
}

/// A judgement in one look.
#[derive(Clone, Debug)]
pub struct GradeView {
    pub class: &'static str,
    pub text: &'static str,
    /// Whether it is on topic, argumentative, and what it should be; empty if it is not judged.
    pub pips: Vec<bool>,
}

/// An image, opened.
#[derive(Debug)]
pub struct ImageView {
    pub anchor: String,
    pub id: String,
    pub class: &'static str,
    /// "PRO 3", "not listed".
    pub place: String,
    pub previous: Option<String>,
    pub next: Option<String>,
    pub alt: String,
    pub source: Option<Source>,
    pub fault: Option<String>,
    /// Of the image itself, in pixels; corners count in them.
    pub width: u32,
    pub height: u32,
    pub lines: Vec<Line>,
    pub more_lines: usize,
    pub standing: Vec<String>,
    pub grade: Option<GradeView>,
    pub gauges: Vec<Gauge>,
    pub formula: Option<String>,
    pub rows: Vec<Row>,
    pub pages: Vec<PageView>,
    pub more_pages: usize,
    pub copies: Vec<CopyView>,
    pub facts: Vec<String>,
    pub url: String,
    pub link: Option<String>,
}

/// A line of text read in an image.
#[derive(Debug)]
pub struct Line {
    pub spans: Vec<Span>,
    pub confidence: String,
    /// For SVG: "x,y x,y …".
    pub corners: String,
}

/// A probability or share with a bar.
#[derive(Debug)]
pub struct Gauge {
    pub name: String,
    pub value: String,
    pub width: String,
    pub class: &'static str,
}

/// A page that shows the image.
#[derive(Debug)]
pub struct PageView {
    pub title: Vec<Span>,
    pub url: String,
    pub link: Option<String>,
    /// Name and text of what stands nearest.
    pub parts: Vec<(&'static str, Vec<Span>)>,
}

/// An image that looks the same.
#[derive(Debug)]
pub struct CopyView {
    pub id: String,
    pub href: Option<String>,
    pub source: Option<Source>,
    pub bits: u32,
    pub place: String,
}

/// Lines of text drawn on an image.
const LINES: usize = 80;

/// Characters of any one text of a page.
const TEXT: usize = 700;

/// What style sheets call a stance.
pub(super) fn class(stance: Stance) -> &'static str {
    match stance {
        Stance::Pro => "pro",
        Stance::Con => "con",
    }
}

/// A part of a worth in the list of that stance.
pub(super) fn gauge(part: &Explanation, stance: Stance) -> Gauge {
    Gauge {
        name: part.name.clone(),
        value: three(part.value),
        width: format!("{:.1}", 100.0 * part.value.clamp(0.0, 1.0)),
        class: match part.name.as_str() {
            name if name.starts_with("P(") => class(stance),
            _ => "plain",
        },
    }
}

/// The lines read in an image, and how many more there are.
pub(super) fn lines_of(evidence: &Evidence, marker: &mut Marker) -> (Vec<Line>, usize) {
    let lines = evidence.ocr.iter().take(LINES).map(|line| {
        let corners: Vec<String> = line
            .corners
            .iter()
            .map(|(x, y)| format!("{x:.0},{y:.0}"))
            .collect();
        Line {
            spans: marker.mark(&shortened(&line.text, 240)),
            confidence: format!("{:.2}", line.confidence),
            corners: corners.join(" "),
        }
    });
    (lines.collect(), evidence.ocr.len().saturating_sub(LINES))
}

/// A page's words near the image.
pub(super) fn page_view(page: &PageEvidence, marker: &mut Marker) -> PageView {
    let words = &page.words;
    let parts = [
        ("alternative text", &words.alt),
        ("title attribute", &words.title_attribute),
        ("caption", &words.caption),
        ("headings", &words.headings),
        ("before", &words.before),
        ("after", &words.after),
    ];
    let title = match words.title.is_empty() {
        true => "(no title)",
        false => &words.title,
    };
    PageView {
        title: marker.mark(&shortened(title, 240)),
        link: web_address(&page.url),
        url: shortened(&page.url, 300),
        parts: parts
            .into_iter()
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(name, text)| (name, marker.mark(&shortened(text, TEXT))))
            .collect(),
    }
}

/// What the picture is.
pub(super) fn facts(evidence: &Evidence) -> Vec<String> {
    let Some(picture) = &evidence.picture else {
        return Vec::new();
    };
    vec![
        format!("{} × {} pixels", picture.width, picture.height),
        match picture.photograph {
            p if p >= 0.5 => format!("photograph (probability {p:.2})"),
            p => format!("graphic (photograph with probability {p:.2})"),
        },
        format!("text on {:.0} % of it", 100.0 * picture.text_fraction),
    ]
}
