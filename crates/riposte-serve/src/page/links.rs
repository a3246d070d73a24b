//! Addresses: those of this server that a page links to, and those of the web that a collection names.

use form_urlencoded::Serializer;

use crate::questions::{BrowserRequest, DocumentKind, OnSide, PageStage};

/// An address of the web, for a reader.
#[derive(Debug)]
pub(super) struct WebAddress {
    /// What is shown: the host of a link; if it is not a link, the whole text.
    pub(super) text: String,
    /// Where it leads; `None` if it is not an address of the web, but a script, for example.
    pub(super) link: Option<String>,
}

/// The characters that are shown of a text that is not a link.
const SHOWN: usize = 100;

impl WebAddress {
    /// Only addresses with http and https become links, and only without blanks and control characters.
    pub(super) fn of(url: &str) -> Option<WebAddress> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", ""));
        let is_web = ["http", "https"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known));
        let is_clean = !url.contains(|c: char| c.is_whitespace() || c.is_control());
        let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        // what stands before an @ only looks like a host
        let host = host.rsplit('@').next().unwrap_or_default();
        if is_web && is_clean && !host.is_empty() {
            return Some(WebAddress {
                text: host.chars().take(SHOWN).collect(),
                link: Some(url.to_owned()),
            });
        }
        let text: String = url.trim().chars().take(SHOWN).collect();
        (!text.is_empty()).then_some(WebAddress { text, link: None })
    }
}

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
    fn only_addresses_of_the_web_become_links() {
        let of = |url: &str| WebAddress::of(url).unwrap();
        let web = of("HTTPS://www.example.org:81/a?b#c");
        assert_eq!(web.text, "www.example.org:81");
        assert_eq!(
            web.link.as_deref(),
            Some("HTTPS://www.example.org:81/a?b#c")
        );
        // the host that the browser goes to
        assert_eq!(of("https://debate.org@evil.example/").text, "evil.example");
        assert_eq!(
            of(r"https://evil.example\@debate.org/").text,
            "evil.example"
        );
        for url in [
            "javascript:alert(1)//http://x",
            "JavaScript://x/%0Aalert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://a b",
            "http://",
            "//evil.example",
        ] {
            let none = of(url);
            assert_eq!((none.text.as_str(), none.link), (url, None));
        }
        assert!(WebAddress::of(" ").is_none());
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
