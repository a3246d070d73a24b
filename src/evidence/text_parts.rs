//! The texts of a document for which embeddings and sentiment are computed.

use super::document_evidence::{ChannelValue, Evidence};
use super::page::{PageEvidence, PageWords};

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

impl Evidence {
    /// A channel's values for a part of the document, one for each page that has it.
    pub fn of_part<T>(&self, part: TextPart) -> impl Iterator<Item = &T>
    where
        Vec<PartValue<T>>: ChannelValue,
    {
        let all = self.list::<PartValue<T>>().iter();
        all.filter(move |of| of.part == part).map(|of| &of.value)
    }
}

/// The texts of a document for which embeddings and sentiment are computed. None is empty.
pub fn texts(evidence: &Evidence) -> Vec<PartValue<String>> {
    let given = &evidence.given;
    // sentence encoders and VADER expect running text, not lines
    let of_image = [
        (TextPart::Ocr, &evidence.ocr_text()),
        (TextPart::GivenCaption, &given.caption),
        (TextPart::GivenText, &given.text),
    ];
    let of_image = of_image.map(|(part, text)| ("", part, text.replace('\n', " ")));
    let pages = evidence.list::<PageEvidence>();
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
    evidence: &mut Evidence,
) -> rusqlite::Result<()>
where
    Vec<PartValue<T>>: ChannelValue,
{
    if let Ok(part) = row.get_ref(2)?.as_str()?.parse() {
        let (page, value) = (row.get(1)?, value()?);
        let values = evidence.get_mut::<Vec<PartValue<T>>>();
        values.push(PartValue { page, part, value });
    }
    Ok(())
}
