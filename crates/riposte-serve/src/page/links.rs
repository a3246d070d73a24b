//! The addresses of this server that a page links to.

use form_urlencoded::Serializer;

use crate::questions::{BrowserRequest, DocumentKind, OnSide, PageStage};

/// The address of a picture, if it is one of this server.
pub(super) fn picture(address: Option<&str>) -> Option<String> {
    let address = address?.strip_prefix("/picture/")?;
    Some(format!("/picture/{address}"))
}

/// The page itself.
pub(super) fn page(page: &BrowserRequest) -> String {
    let (hits, minimum) = (page.hits, page.filters.minimum);
    let (hits, minimum) = (
        hits.map(|it| it.to_string()),
        minimum.map(|it| it.to_string()),
    );
    let fields = [
        ("q", page.question.as_deref()),
        ("collection", page.collection.as_deref()),
        ("tab", page.tab.map(DocumentKind::word)),
        ("hits", hits.as_deref()),
        ("approach", page.approach.as_deref()),
        ("claim", page.claim.as_deref()),
        ("side", page.filters.side.map(OnSide::word)),
        ("portal", page.filters.portal.as_deref()),
        ("minimum", minimum.as_deref()),
        ("stage", (page.stage == PageStage::Words).then_some("words")),
    ];
    with_fields("/", &fields)
}

/// The same answer from another route, with some fields more.
pub(super) fn other(page: &BrowserRequest, route: &str, more: &[(&str, &str)]) -> String {
    let more = more.iter().map(|(name, value)| (*name, Some(*value)));
    let same = [
        ("q", page.question.as_deref()),
        ("collection", page.collection.as_deref()),
        ("approach", page.approach.as_deref()),
        ("claim", page.claim.as_deref()),
    ];
    let fields: Vec<_> = same.into_iter().chain(more).collect();
    with_fields(route, &fields)
}

/// The page of a document, which leads back to the question.
pub(super) fn document(collection: &str, id: &str, question: Option<&str>) -> String {
    let path = format!("/document/{}/{}", segment(collection), segment(id));
    with_fields(&path, &[("q", question)])
}

fn with_fields(path: &str, fields: &[(&str, Option<&str>)]) -> String {
    let fields = fields
        .iter()
        .filter_map(|(name, value)| Some((name, (*value)?)));
    let query = Serializer::new(String::new()).extend_pairs(fields).finish();
    match query.as_str() {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// A text as one segment of a path.
fn segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                segment.push(char::from(byte));
            }
            _ => segment += &format!("%{byte:02X}"),
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_of_this_server_are_shown() {
        for address in [
            "https://evil.example/x.png",
            "//evil.example/picture/",
            "/metrics",
        ] {
            assert_eq!(picture(Some(address)), None);
        }
    }

    #[test]
    fn an_id_is_one_segment() {
        let link = document("my args", "a/b?ä\"", Some("Close zoos? & trams"));
        assert_eq!(
            link,
            "/document/my%20args/a%2Fb%3F%C3%A4%22?q=Close+zoos%3F+%26+trams"
        );
    }
}
