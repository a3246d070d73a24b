//! Results as items of lists.

use riposte_page::words::{shortened, three_decimals};
use riposte_page::{Links, Picture, ResultItem, StanceBar};
use serde_json::Value;

use super::links;
use crate::answers::{Image, SearchHit, Stance, WordHit};
use crate::questions::{BrowserRequest, DocumentKind};

impl Links for BrowserRequest {
    fn document(&self, id: &str) -> Option<String> {
        let collection = self.collection.as_deref().unwrap_or_default();
        Some(links::document(collection, id, self.question.as_deref()))
    }

    fn picture(&self, image: &Image) -> Option<Picture> {
        picture(image.picture.as_deref(), &image.id, &image.words)
    }

    fn why(&self, id: &str) -> Option<String> {
        Some(links::other(self, "/why", &[("id", id)]))
    }
}

/// The picture of an image with these words, if its address is one of this server.
fn picture(address: Option<&str>, id: &str, words: &str) -> Option<Picture> {
    Some(Picture {
        address: links::picture(address)?,
        size: None,
        alt: match words {
            "" => format!("image {id}, in which no words were read"),
            words => shortened(words, ALT),
        },
    })
}

/// The characters of the text that stands for a picture.
const ALT: usize = 600;

/// A result of a ranking.
pub(super) fn hit(page: &BrowserRequest, kind: DocumentKind, hit: &SearchHit) -> ResultItem {
    let has_sides = matches!(kind, DocumentKind::Arguments | DocumentKind::Images);
    let (class, stance) = match hit.side {
        Some(Stance::Pro) => ("pro", "for"),
        Some(Stance::Con) => ("con", "against"),
        None => ("none", "undecided"),
    };
    let is_card = kind == DocumentKind::Images;
    let score = three_decimals(hit.score);
    ResultItem {
        is_card,
        label: match hit.list {
            Some(list) => format!("{list} {}", hit.rank),
            None => hit.rank.to_string(),
        },
        class,
        stance: has_sides.then(|| stance.to_owned()),
        score: match is_card {
            true => score,
            false => format!("score {score}"),
        },
        picture: picture(hit.picture.as_deref(), &hit.id, &hit.text),
        lean: hit
            .stance
            .map(|stance| StanceBar::of(stance.pro, stance.con)),
        ..ResultItem::new(page, &hit.id, &hit.text)
    }
    .titled(hit.title.as_deref())
    .at(hit.place.as_deref())
    .from(
        hit.source.as_deref().or(hit.portal.as_deref()),
        hit.url.as_deref(),
    )
    .repeated_by(page, &hit.repeats)
}

/// A result of a search by words alone.
pub(super) fn words(page: &BrowserRequest, number: usize, hit: &WordHit) -> ResultItem {
    let (title, text) = readable(&hit.stored);
    ResultItem {
        label: number.to_string(),
        score: format!("score {}", three_decimals(hit.score)),
        why: None,
        ..ResultItem::new(page, &hit.id, &text)
    }
    .titled(title.as_deref())
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
