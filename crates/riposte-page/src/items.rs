//! A document in a list, whatever it is.

use askama::Template;

use crate::address::WebAddress;
use crate::answer::{About, Argument, Image, Text, padding_begins};
use crate::stance::StanceBar;
use crate::words::{shortened, three_decimals};

/// What a page knows of documents: where they are, and which words of them the question has.
pub trait Links {
    /// The address of the page of a document, or of its place on a page. `None` if no page shows it.
    fn document(&self, id: &str) -> Option<String>;

    /// The picture of an image; `None` if it cannot be shown.
    fn picture(&self, image: &Image) -> Option<Picture>;

    /// The page that explains the score of a document.
    fn why(&self, _id: &str) -> Option<String> {
        None
    }

    /// The fragment by which the place of an argument is found on its page, without `#`.
    fn anchor(&self, _id: &str) -> Option<String> {
        None
    }

    /// The pieces of a text.
    fn marked(&self, text: &str) -> Vec<MarkedSpan> {
        MarkedSpan::whole(text)
    }
}

/// A picture, as a page refers to it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Where it is.
    pub address: String,
    /// Its width and its height, if they are known.
    pub size: Option<(u32, u32)>,
    /// The text for those who do not see it.
    pub alt: String,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedSpan {
    /// The piece.
    pub text: String,
    /// Whether it is a word of the question.
    pub is_match: bool,
}

impl MarkedSpan {
    /// A text in one piece; none if it is empty.
    pub fn whole(text: &str) -> Vec<MarkedSpan> {
        let text = (!text.is_empty()).then(|| text.to_owned());
        let span = text.map(|text| MarkedSpan {
            text,
            is_match: false,
        });
        span.into_iter().collect()
    }
}

/// A document in a list: an item with its text, or a card with its picture.
#[derive(Debug, Default, Template)]
#[template(path = "item.html")]
pub struct ResultItem {
    /// Whether it is a card.
    pub is_card: bool,
    /// Its place: "1", "PRO 3".
    pub label: String,
    /// The class of its side: "pro", "con" or "none".
    pub class: &'static str,
    /// Its stance in a word, where the heading does not tell it.
    pub stance: Option<String>,
    /// Its id.
    pub id: String,
    /// The page of the document.
    pub href: Option<String>,
    /// Its score, in words.
    pub score: String,
    /// What names it.
    pub title: String,
    /// Its words.
    pub text: Vec<MarkedSpan>,
    /// Where the words are.
    pub place: Option<String>,
    /// Where it comes from, in words.
    pub source: Option<String>,
    /// Where it comes from.
    pub url: Option<WebAddress>,
    /// The picture of a card.
    pub picture: Option<Picture>,
    /// The bar of its stance.
    pub lean: Option<StanceBar>,
    /// The images that illustrate an argument.
    pub images: Vec<ResultItem>,
    /// Documents that are nearly the same, and their pages.
    pub repeats: Vec<(String, Option<String>)>,
    /// The page that explains it.
    pub why: Option<String>,
    /// The name by which a link reaches it on its page.
    pub anchor: Option<String>,
    /// The heading of its list, if it is the first one of a list among several.
    pub heading: Option<&'static str>,
    /// Whether it is the first of those at the end of the list that are less likely to be about the question.
    pub begins_padding: bool,
}

/// The characters that a list shows of a text, of the words of an illustration, of a title or an id, and of a source or a place.
const TEXT: usize = 600;
const WORDS: usize = 140;
const TITLE: usize = 200;
const NAME: usize = 80;

impl ResultItem {
    /// A document with this text. Its id names it.
    pub fn new(links: &dyn Links, id: &str, text: &str) -> ResultItem {
        ResultItem {
            class: "none",
            id: id.to_owned(),
            href: links.document(id),
            title: shortened(id, TITLE),
            text: links.marked(&shortened(text, TEXT)),
            why: links.why(id),
            ..ResultItem::default()
        }
    }

    /// The same, named by this title if there is one.
    #[must_use]
    pub fn titled(self, title: Option<&str>) -> ResultItem {
        match title.filter(|title| !title.trim().is_empty()) {
            Some(title) => ResultItem {
                title: shortened(title, TITLE),
                ..self
            },
            None => self,
        }
    }

    /// The same, with the place where its words are.
    #[must_use]
    pub fn at(self, place: Option<&str>) -> ResultItem {
        ResultItem {
            place: place.map(|place| shortened(place, NAME)),
            ..self
        }
    }

    /// The same, with where it comes from: a link has the name of the source, if there is one.
    #[must_use]
    pub fn from(self, source: Option<&str>, url: Option<&str>) -> ResultItem {
        let mut source = source.map(|source| shortened(source, NAME));
        let mut url = url.and_then(WebAddress::of);
        if let Some(url) = &mut url
            && url.link.is_some()
            && let Some(source) = source.take()
        {
            url.text = source;
        }
        ResultItem {
            url,
            source,
            ..self
        }
    }

    /// The same, with the documents that are nearly the same.
    #[must_use]
    pub fn repeated_by(self, links: &dyn Links, ids: &[String]) -> ResultItem {
        let item = |id: &String| (shortened(id, TITLE), links.document(id));
        ResultItem {
            repeats: ids.iter().map(item).collect(),
            ..self
        }
    }

    /// An argument of a list with sides; `number` is its place in it.
    pub fn argument(links: &dyn Links, number: usize, argument: &Argument) -> ResultItem {
        let score = three_decimals(argument.score);
        ResultItem {
            label: number.to_string(),
            score: format!("rank {}, score {score}", argument.rank),
            lean: Some(StanceBar::balance(argument.stance)),
            anchor: links.anchor(&argument.id),
            ..ResultItem::new(links, &argument.id, &argument.text)
        }
        .titled(Some(&argument.conclusion))
        .from(argument.source.as_deref(), argument.url.as_deref())
        .repeated_by(links, &argument.repeats)
    }

    /// An image of a list with sides.
    pub fn image(links: &dyn Links, image: &Image) -> ResultItem {
        ResultItem {
            is_card: true,
            label: format!("{} {}", image.list, image.rank),
            // a run can be without scores
            score: match image.score.is_finite() {
                true => three_decimals(image.score),
                false => String::new(),
            },
            picture: links.picture(image),
            lean: image
                .pro
                .zip(image.con)
                .map(|(pro, con)| StanceBar::of(pro, con)),
            ..ResultItem::new(links, &image.id, &image.words)
        }
        .at(image.place.as_deref())
        .from(None, image.page.as_deref())
    }

    /// An image below the argument that it illustrates.
    pub fn illustration(links: &dyn Links, image: &Image) -> ResultItem {
        let likeness = image.likeness.map(three_decimals).unwrap_or_default();
        let place = image.place.as_deref().unwrap_or_default();
        ResultItem {
            text: links.marked(&shortened(&image.words, WORDS)),
            ..ResultItem::image(links, image)
        }
        .at(Some(&format!("{place}, likeness {likeness}")))
    }

    /// A passage or another document.
    pub fn text(links: &dyn Links, text: &Text) -> ResultItem {
        ResultItem {
            label: text.rank.to_string(),
            class: match text.stance.as_deref() {
                Some("FIRST") => "pro",
                Some("SECOND") => "con",
                _ => "none",
            },
            stance: text
                .stance
                .as_deref()
                .map(|stance| shortened(stance, TITLE)),
            score: format!("score {}", three_decimals(text.score)),
            ..ResultItem::new(links, &text.id, &text.text)
        }
        .from(None, text.url.as_deref())
    }

    /// Whether its id is shown below it. An item with a title shows its id nowhere else.
    pub(crate) fn shows_id(&self) -> bool {
        !self.is_card && self.title != self.id
    }
}

/// Draws a line above the documents at the end of a list that are less likely to be about the question.
pub fn divided<'a>(
    mut items: Vec<ResultItem>,
    about: impl ExactSizeIterator<Item = &'a About> + DoubleEndedIterator,
) -> Vec<ResultItem> {
    if let Some(first) = padding_begins(about).and_then(|at| items.get_mut(at)) {
        first.begins_padding = true;
    }
    items
}
