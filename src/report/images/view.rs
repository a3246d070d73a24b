//! The data of the templates for an image topic.

use riposte_eval::{Explanation, Stance};
use riposte_page::words::{shortened, three_decimals};
use riposte_page::{DebateView, ExplanationRow, MarkedSpan, StanceBar, WebAddress};

use super::super::RankChange;
use super::super::chart::Scatter;
use super::super::pictures::PictureSource;
use crate::answer::marker::Marker;
use crate::evidence::ocr::{self, OcrLine};
use crate::evidence::picture::PictureStatistics;
use crate::evidence::{Evidence, PageEvidence};
use crate::score::presence::padding;
use crate::score::stance::PROBABILITY;

/// A small picture in the table of topics.
pub(crate) struct Thumbnail {
    pub href: String,
    pub alt: String,
    pub source: PictureSource,
}

/// The content of a topic's page.
pub(crate) struct ImagesTopic {
    pub sides: Vec<ImageListView>,
    pub missed: Vec<Card>,
    /// The relevant images that are not shown, with their positions in the run.
    pub more_missed: Vec<String>,
    pub images: Vec<ImageView>,
    pub plot: Option<Scatter>,
    /// Whether cards have a bar of estimated probabilities.
    pub has_leans: bool,
}

/// The images on a side, or those that are undecided.
pub(crate) struct ImageListView {
    pub title: &'static str,
    /// What its images do, in a few words.
    pub does: &'static str,
    /// Its CSS class: "pro", "con" or "undecided".
    pub class: &'static str,
    pub cards: Vec<Card>,
    /// P@10 of the list of the run for this side: on topic, argumentative, on stance.
    pub precision: Option<[String; 3]>,
    /// Images that only the other run has in this list.
    pub dropped: Vec<Card>,
}

/// A probability or share, with a bar.
pub(crate) struct Gauge {
    pub name: String,
    /// The meaning of the name, for readers; empty if the name says it.
    pub note: &'static str,
    pub value: String,
    pub width: String,
    pub class: &'static str,
}

/// An image in a list.
pub(crate) struct Card {
    pub href: String,
    pub label: String,
    pub caption: String,
    pub alt: String,
    pub source: Option<PictureSource>,
    pub score: Option<String>,
    pub grade: Option<ImageGradeView>,
    pub lean: Option<StanceBar>,
    /// The probability that it is about the topic.
    pub about: Option<f64>,
    /// Whether it is the first of its list that is less likely to be about the topic.
    pub begins_padding: bool,
    pub change: Option<RankChange>,
    /// Its copies that were left out, or the image of which it is a copy.
    pub twins: Option<Twins>,
}

/// Images with the same picture as that of a card. A ranking keeps one of them.
pub(crate) struct Twins {
    /// How they relate to the image of the card, in words.
    pub text: String,
    pub images: Vec<LookAlikeView>,
}

/// The judgement of an image, in a few words.
pub(crate) struct ImageGradeView {
    pub class: &'static str,
    pub text: &'static str,
}

/// The position of an image that is in no list.
pub(crate) const NOT_LISTED: &str = "not listed";

/// The details of an image.
pub(crate) struct ImageView {
    pub anchor: String,
    pub id: String,
    pub class: &'static str,
    /// Its stance and rank ("PRO 3"), or "not listed".
    pub position: String,
    pub previous: Option<String>,
    pub next: Option<String>,
    pub alt: String,
    pub source: Option<PictureSource>,
    pub fault: Option<String>,
    /// The size of the image itself; corners of lines are in its pixels.
    pub width: u32,
    pub height: u32,
    /// The blocks of the lines that are shown.
    pub blocks: Vec<BlockView>,
    /// The number of all lines, and of those that are not shown.
    pub line_count: usize,
    pub more_lines: usize,
    /// Its ranks in this run, among the candidates and in the other run, each in words.
    pub positions: Vec<String>,
    pub grade: Option<ImageGradeView>,
    /// The sentence that explains its place; `None` if its score is not explained.
    pub reason: Option<String>,
    pub gauges: Vec<Gauge>,
    /// The argument that it is most like.
    pub like: Option<LikeView>,
    pub formula: Option<String>,
    pub rows: Vec<ExplanationRow>,
    pub pages: Vec<PageView>,
    pub more_pages: usize,
    /// The image that is listed in its place.
    pub copy_of: Option<LookAlikeView>,
    pub copies: Vec<LookAlikeView>,
    /// Images that look the same but have another text.
    pub look_alikes: Vec<LookAlikeView>,
    pub facts: Vec<String>,
    pub url: String,
    pub link: Option<String>,
}

/// A block of text that OCR read in an image.
pub(crate) struct BlockView {
    pub lines: Vec<LineView>,
    /// The upright rectangle around the lines, in pixels of the image: left, top, width, height.
    pub bounds: [String; 4],
}

/// A line of text that OCR read in an image.
pub(crate) struct LineView {
    /// Its number in the image, from 0 on.
    pub number: usize,
    pub spans: Vec<MarkedSpan>,
    pub confidence: String,
    /// The corners as points of an SVG polygon: "x,y x,y …".
    pub corners: String,
}

/// A page that shows the image.
pub(crate) struct PageView {
    pub title: Vec<MarkedSpan>,
    pub url: String,
    pub link: Option<String>,
    /// The texts nearest to the image: what each is, and its words.
    pub parts: Vec<(&'static str, Vec<MarkedSpan>)>,
}

/// An image that looks the same as another one.
pub(crate) struct LookAlikeView {
    pub id: String,
    pub href: Option<String>,
    pub source: Option<PictureSource>,
    /// How much the pictures differ, in words.
    pub likeness: String,
    pub position: String,
}

/// The content of a debate sheet.
pub(crate) struct SheetView {
    /// Says that no argument is about the topic, if that is so.
    pub nothing: Option<String>,
    /// How the arguments were chosen, in words.
    pub facts: Vec<String>,
    /// Whether the sheet also shows images. A run of arguments has none.
    pub has_images: bool,
    pub sides: DebateView,
}

/// The argument that an image is most like.
pub(crate) struct LikeView {
    /// The address of the argument.
    pub href: String,
    pub id: String,
    pub class: &'static str,
    pub sentence: Vec<MarkedSpan>,
    pub words: Vec<MarkedSpan>,
    pub place: String,
    pub likeness: String,
    /// Why the likeness can mislead, if it can.
    pub doubt: Option<String>,
}

/// The maximum number of lines that are marked in an image.
pub(super) const LINES: usize = 80;

/// The maximum number of characters shown of each text of a page.
const TEXT: usize = 700;

/// Marks the first card of a list that is less likely to be about the topic.
pub(super) fn divide(cards: &mut [Card]) {
    let place = padding(cards.iter().map(|card| card.about));
    if let Some(card) = place.and_then(|place| cards.get_mut(place)) {
        card.begins_padding = true;
    }
}

/// The CSS class of a stance.
pub(super) fn class(stance: Stance) -> &'static str {
    match stance {
        Stance::Pro => "pro",
        Stance::Con => "con",
    }
}

/// The gauge of a part of a candidate's score; `None` if the part has no id.
pub(super) fn gauge(part: &Explanation) -> Option<Gauge> {
    let id = part.id()?;
    Some(Gauge {
        name: part.name().to_owned(),
        note: "",
        value: three_decimals(part.value()),
        width: format!("{:.1}", 100.0 * part.value().clamp(0.0, 1.0)),
        class: match (id.kind(), id.text()) {
            (PROBABILITY, Some("PRO")) => "pro",
            (PROBABILITY, Some("CON")) => "con",
            _ => "plain",
        },
    })
}

/// The blocks of the lines of text that are shown of an image.
pub(super) fn blocks_of(evidence: &Evidence, marker: &mut Marker) -> Vec<BlockView> {
    let all = evidence.list::<OcrLine>();
    let shown = all.get(..LINES).unwrap_or(all);
    let mut number = 0;
    ocr::blocks(shown)
        .map(|block| {
            let lines = block.lines.iter().map(|line| {
                number += 1;
                let corners = line.corners.iter();
                let corners = corners.map(|(x, y)| format!("{x:.0},{y:.0}"));
                LineView {
                    number: number - 1,
                    spans: marker.mark(&shortened(&line.text, 240)),
                    confidence: format!("{:.2}", line.confidence),
                    corners: corners.collect::<Vec<_>>().join(" "),
                }
            });
            BlockView {
                lines: lines.collect(),
                bounds: bounds(block.lines).map(|number| format!("{number:.0}")),
            }
        })
        .collect()
}

/// The upright rectangle around lines: left, top, width, height.
fn bounds(lines: &[OcrLine]) -> [f32; 4] {
    let (mut least, mut most) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    for (x, y) in lines.iter().flat_map(|line| line.corners) {
        least = [least[0].min(x), least[1].min(y)];
        most = [most[0].max(x), most[1].max(y)];
    }
    [least[0], least[1], most[0] - least[0], most[1] - least[1]]
}

/// The words of a page near the image.
pub(super) fn page_view(page: &PageEvidence, marker: &mut Marker) -> PageView {
    let words = &page.words;
    let full_title = match words.full_title.as_str() {
        full if full == words.title => String::new(),
        full => full.to_owned(),
    };
    let parts = [
        ("full title", &full_title),
        ("alternative text", &words.alt),
        ("title attribute", &words.title_attribute),
        ("caption", &words.caption),
        ("headings", &words.headings),
        ("before", &words.before),
        ("after", &words.after),
    ];
    let title = match words.title.as_str() {
        "" => "(no title)",
        title => title,
    };
    let parts = parts
        .into_iter()
        .filter(|(_, text)| !text.trim().is_empty());
    PageView {
        title: marker.mark(&shortened(title, 240)),
        link: WebAddress::of(&page.url).and_then(|of| of.link),
        url: shortened(&page.url, 300),
        parts: parts
            .map(|(name, text)| (name, marker.mark(&shortened(text, TEXT))))
            .collect(),
    }
}

/// The size and kind of an image, in words.
pub(super) fn facts(evidence: &Evidence) -> Vec<String> {
    let Some(picture) = evidence.get::<PictureStatistics>() else {
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
