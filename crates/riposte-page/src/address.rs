//! Addresses of the web, which a collection names.

/// An address of the web, for a reader.
#[derive(Debug)]
pub struct WebAddress {
    /// What is shown: the host of a link; if it is not a link, the whole text.
    pub text: String,
    /// Where it leads; `None` if it is not an address of the web, but a script, for example.
    pub link: Option<String>,
}

/// The characters that are shown of a text that is not a link.
const SHOWN: usize = 100;

impl WebAddress {
    /// Only addresses with http and https become links, and only without blanks and control characters.
    pub fn of(url: &str) -> Option<WebAddress> {
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
    }
}
