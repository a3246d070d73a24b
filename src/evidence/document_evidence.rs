//! The evidence about a document, and the texts in it.

use crate::device::Runtime;
use riposte_eval::DocId;
use riposte_nn::conv::Numeric;

use super::ocr::{self, OcrLine};
use super::page::PageWords;
use super::picture::PictureStatistics;
use crate::collection::images::{CrawlRank, GivenTexts};

/// A text of a document for which an embedding and sentiment are computed. The store has these names, in kebab case.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum TextPart {
    /// All text in the image.
    Ocr,
    /// The page's title.
    Title,
    /// The words around the image on the page: alternative text, caption, words before and after.
    Near,
    /// The page's main text: for sentiment and, in collections that give texts, for sentence vectors.
    Main,
    /// The caption that the collection gives.
    GivenCaption,
    /// The text in the image as the collection gives it.
    GivenText,
}

/// A page that shows the image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageEvidence {
    /// The name of the page's directory.
    pub id: String,
    pub url: String,
    pub words: PageWords,
    pub rankings: Vec<CrawlRank>,
}

impl PageEvidence {
    /// The texts nearest to the image, the nearest first; texts that repeat an earlier one are left out.
    pub fn near(&self) -> String {
        let w = &self.words;
        let parts = [&w.alt, &w.title_attribute, &w.caption, &w.before, &w.after];
        let mut near = String::new();
        for part in parts {
            if !part.is_empty() && !near.contains(part.as_str()) {
                if !near.is_empty() {
                    near.push(' ');
                }
                near.push_str(part);
            }
        }
        near
    }
}

/// A value for one part of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct PartValue<T> {
    /// The id of the page; empty for the text in the image and for the texts that the collection gives.
    pub page: String,
    pub part: TextPart,
    pub value: T,
}

impl<T> PartValue<T> {
    /// Another value for the same part.
    pub(super) fn with<U>(self, value: U) -> PartValue<U> {
        let PartValue { page, part, .. } = self;
        PartValue { page, part, value }
    }
}

/// The valence of a text by AFINN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AfinnValence {
    /// The sum of the scores of all words and phrases found, as Python's `Afinn().score(text)`.
    pub sum: f64,
    /// The number of words and phrases found, including those with score 0.
    pub words: u64,
}

/// What computed a channel of a document, and in which numbers. It is stored beside the producer. If only the backend changes, the channel is not
/// computed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelBackend {
    /// The runtime of each network.
    pub name: String,
    pub numeric: Numeric,
}

impl ChannelBackend {
    /// The backend of an encoder ([`riposte_nn::transformer`]).
    pub(crate) fn of_transformer(by: Runtime, numeric: Numeric) -> ChannelBackend {
        let runtime = match by {
            // the name in stores before there was a choice
            Runtime::Packed => "transformer",
            Runtime::Candle => "candle",
            Runtime::Rten => "rten",
        };
        let name = format!("{runtime} {numeric}");
        ChannelBackend { name, numeric }
    }
}

/// All evidence about a document. A value that its channel has not computed, or not found, is `None` or empty.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub id: DocId,
    /// The address at which the image was found; empty if unknown.
    pub url: String,
    pub given: GivenTexts,
    pub pages: Vec<PageEvidence>,
    pub ocr: Vec<OcrLine>,
    pub picture: Option<PictureStatistics>,
    /// By each image-text model, in the order of the [`Slot`](super::clip::Slot)s.
    pub image_vectors: [Option<Vec<f32>>; 2],
    /// Embeddings of unit length, of the text in the image, the titles, the words around the image and, if the collection gives texts, of
    /// these and the pages' main texts.
    pub sentences: Vec<PartValue<Vec<f32>>>,
    /// VADER's compound scores, in [-1, 1].
    pub vader: Vec<PartValue<f64>>,
    pub afinn: Vec<PartValue<AfinnValence>>,
}

impl Evidence {
    /// The text in the image, one line per line.
    pub fn ocr_text(&self) -> String {
        ocr_text(&self.ocr)
    }
}

/// The texts of the lines, separated by line breaks. Words that are broken at the end of a line are joined
/// ([`ocr::TextBlock::text`]).
pub fn ocr_text(lines: &[OcrLine]) -> String {
    ocr::texts(lines).join("\n")
}

/// The texts of a document for which embeddings and sentiment are computed. None is empty.
pub fn texts(evidence: &Evidence) -> Vec<PartValue<String>> {
    let Evidence { given, pages, .. } = evidence;
    // sentence encoders and VADER expect running text, not lines
    let of_image = [
        (TextPart::Ocr, &evidence.ocr_text()),
        (TextPart::GivenCaption, &given.caption),
        (TextPart::GivenText, &given.text),
    ];
    let of_image = of_image.map(|(part, text)| ("", part, text.replace('\n', " ")));
    let of_pages = pages.iter().flat_map(|page| {
        let PageWords { title, main, .. } = &page.words;
        let id = page.id.as_str();
        [
            (id, TextPart::Title, title.clone()),
            (id, TextPart::Near, page.near()),
            (id, TextPart::Main, main.clone()),
        ]
    });
    let all = of_image.into_iter().chain(of_pages);
    all.filter(|(.., text)| !text.trim().is_empty())
        .map(|(page, part, value)| (page.to_owned(), part, value))
        .map(|(page, part, value)| PartValue { page, part, value })
        .collect()
}

/// Adds the value of a row that begins with a document, a page and a part. Rows of unknown parts are left out.
pub(super) fn read_part<T>(
    row: &rusqlite::Row,
    value: impl FnOnce() -> rusqlite::Result<T>,
    values: &mut Vec<PartValue<T>>,
) -> rusqlite::Result<()> {
    if let Ok(part) = row.get_ref(2)?.as_str()?.parse() {
        let (page, value) = (row.get(1)?, value()?);
        values.push(PartValue { page, part, value });
    }
    Ok(())
}
