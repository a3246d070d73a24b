//! What can be said of one document alone, before any topic is known.
//!
//! Evidence is the expensive part of riposte, so it is computed once a document and kept
//! ([`store`]); everything that knows a topic reads it from there.

pub mod clip;
pub mod extract;
pub mod ocr;
pub mod page;
pub mod picture;
mod pixels;
pub mod sentence;
pub mod sentiment;
pub mod store;

use std::fmt;

use crate::collection::images::CrawlRank;
use crate::trec::DocId;
use ocr::OcrLine;
use page::PageWords;
use picture::Picture;

/// A kind of evidence. Each is computed, kept and recomputed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// The words of the pages that show the image.
    Page,
    /// The text in the image.
    Ocr,
    /// Size, colours, perceptual hash.
    Picture,
    /// The image's CLIP vector.
    Clip,
    /// Sentence vectors of the words found.
    Sentence,
    /// VADER's compound of the words found.
    Vader,
    /// AFINN's valence of the words found.
    Afinn,
}

impl Channel {
    /// In the order in which they are computed: later ones may use earlier ones.
    pub const ALL: [Channel; 7] = [
        Channel::Page,
        Channel::Ocr,
        Channel::Picture,
        Channel::Clip,
        Channel::Sentence,
        Channel::Vader,
        Channel::Afinn,
    ];

    /// The name on the command line and in the store.
    pub fn word(self) -> &'static str {
        match self {
            Channel::Page => "page",
            Channel::Ocr => "ocr",
            Channel::Picture => "picture",
            Channel::Clip => "clip",
            Channel::Sentence => "sentence",
            Channel::Vader => "vader",
            Channel::Afinn => "afinn",
        }
    }

    /// The channel of that name.
    pub fn parse(word: &str) -> Option<Channel> {
        Channel::ALL.into_iter().find(|c| c.word() == word)
    }

    /// The channels whose evidence this one is made from.
    pub fn uses(self) -> &'static [Channel] {
        match self {
            Channel::Page | Channel::Ocr | Channel::Clip => &[],
            Channel::Picture => &[Channel::Ocr],
            Channel::Sentence | Channel::Vader | Channel::Afinn => &[Channel::Page, Channel::Ocr],
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A text of a document that is embedded and whose sentiment is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The text in the image, of the document as a whole.
    Ocr,
    /// The page's title.
    Title,
    /// The words around the image: alternative text, caption, before and after.
    Near,
    /// The page's main text: for sentiment only.
    Main,
}

impl Part {
    /// The name in the store.
    pub fn word(self) -> &'static str {
        match self {
            Part::Ocr => "ocr",
            Part::Title => "title",
            Part::Near => "near",
            Part::Main => "main",
        }
    }

    /// The part of that name.
    pub fn parse(word: &str) -> Option<Part> {
        [Part::Ocr, Part::Title, Part::Near, Part::Main]
            .into_iter()
            .find(|p| p.word() == word)
    }
}

/// One page that shows the image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageEvidence {
    /// The name of its directory.
    pub id: String,
    pub url: String,
    pub words: PageWords,
    pub rankings: Vec<CrawlRank>,
}

impl PageEvidence {
    /// What stands nearest to the image, nearest first: the text that describes it.
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

/// A number or vector about one part of a document; `page` is empty for the text in the image.
#[derive(Clone, Debug, PartialEq)]
pub struct OfPart<T> {
    pub page: String,
    pub part: Part,
    pub value: T,
}

/// AFINN: the sum of the word scores, and how many words have one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AfinnValence {
    pub sum: f64,
    pub words: u64,
}

/// Everything known of one document. What a channel has not computed, or found nothing for, is
/// none or empty.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub id: DocId,
    /// Where the image was found; empty if unknown.
    pub url: String,
    pub pages: Vec<PageEvidence>,
    pub ocr: Vec<OcrLine>,
    pub picture: Option<Picture>,
    /// Unit length.
    pub clip: Option<Vec<f32>>,
    /// Unit length; for OCR, title and near.
    pub sentences: Vec<OfPart<Vec<f32>>>,
    /// VADER compound in [-1, 1].
    pub vader: Vec<OfPart<f64>>,
    pub afinn: Vec<OfPart<AfinnValence>>,
}

impl Evidence {
    /// The text in the image, a line each.
    pub fn ocr_text(&self) -> String {
        ocr_text(&self.ocr)
    }
}

/// The lines' texts, joined by line breaks.
pub fn ocr_text(lines: &[OcrLine]) -> String {
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    texts.join("\n")
}

/// The texts of a document that sentence vectors and sentiment are made of, none of them empty.
pub fn texts(pages: &[PageEvidence], lines: &[OcrLine]) -> Vec<OfPart<String>> {
    let mut texts = vec![OfPart {
        page: String::new(),
        part: Part::Ocr,
        // sentence encoders and VADER read running text, not lines
        value: ocr_text(lines).replace('\n', " "),
    }];
    for page in pages {
        for (part, value) in [
            (Part::Title, page.words.title.clone()),
            (Part::Near, page.near()),
            (Part::Main, page.words.main.clone()),
        ] {
            texts.push(OfPart {
                page: page.id.clone(),
                part,
                value,
            });
        }
    }
    texts.retain(|text| !text.value.trim().is_empty());
    texts
}
