//! A result on the page, whatever it is.

use riposte_page::answer::padding_begins;
use riposte_page::words::{shortened, three_decimals};
use riposte_page::{StanceBar, WebAddress};
use serde_json::Value;

use super::links;
use crate::answers::{About, Argument, Image, SearchHit, Stance, Text, WordHit};
use crate::questions::{BrowserRequest, DocumentKind};

/// A result.
#[derive(Debug, Default)]
pub(super) struct ResultItem {
    /// Its place: "1", "PRO 3".
    pub(super) label: String,
    /// The class of its side: "pro", "con" or "none".
    pub(super) class: &'static str,
    /// Its stance in a word, where the heading does not tell it.
    pub(super) stance: Option<String>,
    pub(super) id: String,
    /// The page of the document.
    pub(super) href: String,
    pub(super) score: String,
    pub(super) title: String,
    pub(super) text: String,
    /// Where the words are.
    pub(super) place: Option<String>,
    pub(super) source: Option<String>,
    pub(super) url: Option<WebAddress>,
    pub(super) picture: Option<String>,
    pub(super) lean: Option<StanceBar>,
    /// The number of the argument on this side that an image illustrates.
    pub(super) illustrates: Option<usize>,
    pub(super) repeats: Vec<(String, String)>,
    /// The page that explains it; `None` if no model has read it.
    pub(super) why: Option<String>,
    /// The name by which a link reaches it on its page.
    pub(super) anchor: Option<String>,
    /// The heading of its list, if it is the first one of a list among several.
    pub(super) heading: Option<&'static str>,
    /// Whether it is the first of those at the end of the list that are less likely to be about the question.
    pub(super) begins_padding: bool,
}

/// The characters that a list shows of a text, of a title or an id, and of a source or a place. The page of the document has the rest.
const TEXT: usize = 600;
const TITLE: usize = 200;
const NAME: usize = 80;

impl ResultItem {
    fn new(page: &BrowserRequest, id: &str) -> ResultItem {
        ResultItem {
            class: "none",
            id: id.to_owned(),
            href: document(page, id),
            title: shortened(id, TITLE),
            ..ResultItem::default()
        }
    }

    /// Names it by its title, if it has one, and not by its id.
    fn titled(&mut self, title: Option<&str>) {
        if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
            self.title = shortened(title, TITLE);
        }
    }

    /// An argument of a list with sides; `number` is its place in it.
    pub(super) fn argument(
        page: &BrowserRequest,
        number: usize,
        argument: &Argument,
    ) -> ResultItem {
        let mut item = ResultItem {
            label: number.to_string(),
            score: format!(
                "rank {}, score {}",
                argument.rank,
                three_decimals(argument.score)
            ),
            text: shortened(&argument.text, TEXT),
            lean: Some(StanceBar::balance(argument.stance)),
            why: Some(why(page, &argument.id)),
            ..ResultItem::new(page, &argument.id)
        };
        item.titled(Some(&argument.conclusion));
        item.from(argument.source.as_ref(), argument.url.as_ref());
        item.repeated_by(page, &argument.repeats);
        item
    }

    /// An image of a list with sides.
    pub(super) fn image(
        page: &BrowserRequest,
        image: &Image,
        arguments: &[Argument],
    ) -> ResultItem {
        let mut arguments = arguments.iter().map(|argument| Some(&argument.id));
        let illustrated = image.argument.as_ref();
        let place = illustrated.and_then(|_| arguments.position(|id| id == illustrated));
        ResultItem {
            label: listed(Some(image.list), image.rank),
            score: three_decimals(image.score),
            text: shortened(&image.words, TEXT),
            place: image.place.as_deref().map(|place| shortened(place, NAME)),
            url: image.page.as_deref().and_then(WebAddress::of),
            picture: links::picture(image.picture.as_deref()),
            lean: image
                .pro
                .zip(image.con)
                .map(|(pro, con)| StanceBar::of(pro, con)),
            illustrates: place.map(|place| place + 1),
            why: Some(why(page, &image.id)),
            ..ResultItem::new(page, &image.id)
        }
    }

    /// A passage or another document.
    pub(super) fn text(page: &BrowserRequest, text: &Text) -> ResultItem {
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
            text: shortened(&text.text, TEXT),
            url: text.url.as_deref().and_then(WebAddress::of),
            why: Some(why(page, &text.id)),
            ..ResultItem::new(page, &text.id)
        }
    }

    /// A result of a ranking.
    pub(super) fn hit(page: &BrowserRequest, kind: DocumentKind, hit: &SearchHit) -> ResultItem {
        let has_sides = matches!(kind, DocumentKind::Arguments | DocumentKind::Images);
        let (class, stance) = match hit.side {
            Some(Stance::Pro) => ("pro", "for"),
            Some(Stance::Con) => ("con", "against"),
            None => ("none", "undecided"),
        };
        let mut item = ResultItem {
            label: listed(hit.list, hit.rank),
            class,
            stance: has_sides.then(|| stance.to_owned()),
            score: match kind {
                DocumentKind::Images => three_decimals(hit.score),
                _ => format!("score {}", three_decimals(hit.score)),
            },
            text: shortened(&hit.text, TEXT),
            place: hit.place.as_deref().map(|place| shortened(place, NAME)),
            picture: links::picture(hit.picture.as_deref()),
            lean: hit
                .stance
                .map(|stance| StanceBar::of(stance.pro, stance.con)),
            why: Some(why(page, &hit.id)),
            ..ResultItem::new(page, &hit.id)
        };
        item.titled(hit.title.as_deref());
        item.from(
            hit.source.as_ref().or(hit.portal.as_ref()),
            hit.url.as_ref(),
        );
        item.repeated_by(page, &hit.repeats);
        item
    }

    /// A result of a search by words alone.
    pub(super) fn words(page: &BrowserRequest, number: usize, hit: &WordHit) -> ResultItem {
        let (title, text) = readable(&hit.stored);
        let mut item = ResultItem {
            label: number.to_string(),
            score: format!("score {}", three_decimals(hit.score)),
            text: shortened(&text, TEXT),
            ..ResultItem::new(page, &hit.id)
        };
        item.titled(title.as_deref());
        item
    }

    /// Says where it comes from: a link has the name of the source, if there is one.
    fn from(&mut self, source: Option<&String>, url: Option<&String>) {
        self.url = url.and_then(|url| WebAddress::of(url));
        match (&mut self.url, source) {
            (
                Some(WebAddress {
                    text,
                    link: Some(_),
                }),
                Some(source),
            ) => *text = shortened(source, NAME),
            (_, source) => self.source = source.map(|source| shortened(source, NAME)),
        }
    }

    fn repeated_by(&mut self, page: &BrowserRequest, ids: &[String]) {
        let item = |id: &String| (shortened(id, TITLE), document(page, id));
        self.repeats = ids.iter().map(item).collect();
    }
}

/// Draws a line above the results at the end of a list that are less likely to be about the question.
pub(super) fn divided<'a>(
    mut items: Vec<ResultItem>,
    about: impl ExactSizeIterator<Item = &'a About> + DoubleEndedIterator,
) -> Vec<ResultItem> {
    if let Some(first) = padding_begins(about).and_then(|at| items.get_mut(at)) {
        first.begins_padding = true;
    }
    items
}

fn document(page: &BrowserRequest, id: &str) -> String {
    let collection = page.collection.as_deref().unwrap_or_default();
    links::document(collection, id, page.question.as_deref())
}

fn why(page: &BrowserRequest, id: &str) -> String {
    links::other(page, "/why", &[("id", id)])
}

/// A rank, with the list of the run if there are two.
fn listed(list: Option<Stance>, rank: u32) -> String {
    match list {
        Some(list) => format!("{list} {rank}"),
        None => rank.to_string(),
    }
}

/// The title and the text of a document as it is stored: a JSON object with fields that text collections have, or a text.
fn readable(stored: &str) -> (Option<String>, String) {
    let Ok(Value::Object(fields)) = serde_json::from_str(stored) else {
        return (None, stored.to_owned());
    };
    let field = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| fields.get(*name)?.as_str());
        found.next().map(str::to_owned)
    };
    let premises = || {
        let premises = fields.get("premises")?.as_array()?.iter();
        let texts = premises.filter_map(|premise| premise.get("text")?.as_str());
        Some(texts.collect::<Vec<_>>().join(" "))
    };
    let text = field(&["contents", "text", "body"]).or_else(premises);
    (field(&["conclusion", "title"]), text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_documents_of_all_collections_can_be_read() {
        let argument = r#"{"id":"a","conclusion":"Zoos","premises":[{"text":"One.","stance":"CON"},{"text":"Two."}]}"#;
        assert_eq!(
            readable(argument),
            (Some("Zoos".to_owned()), "One. Two.".to_owned())
        );
        let passage = r#"{"id":"p","contents":"Cats."}"#;
        assert_eq!(readable(passage), (None, "Cats.".to_owned()));
        let document = r#"{"_id":"d","title":"T","text":"x"}"#;
        assert_eq!(readable(document), (Some("T".to_owned()), "x".to_owned()));
        assert_eq!(readable("no {json"), (None, "no {json".to_owned()));
        assert_eq!(readable(r#"{"premises":[1]}"#), (None, String::new()));
    }
}
