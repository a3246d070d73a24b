//! Lists the images that a page shows, each with its XPath, for those who make a collection of saved pages.

use std::collections::HashMap;

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;
use scraper::node::Element;

use crate::html::{attribute, element, name, normalised, parse};

/// Maximum length of a URL, in bytes; a longer one is ignored. Browsers send no longer ones.
const MAX_URL: usize = 8 << 10;

/// Attributes with the URL of an image: scripts that load images late keep it in the others.
const SOURCES: [&str; 6] = [
    "src",
    "data-src",
    "data-original",
    "data-lazy-src",
    "data-lazy",
    "data-url",
];

/// Attributes with several URLs.
const SOURCE_SETS: [&str; 3] = ["srcset", "data-srcset", "data-lazy-srcset"];

/// What a page says of itself, and the images that it shows.
#[derive(Debug, Default)]
pub struct PageImages {
    /// The address of the page, if the page names it: browsers write it into the pages that they save.
    pub url: Option<String>,
    /// The address in `base`, to which its references are relative.
    pub base: Option<String>,
    pub shown: Vec<Shown>,
    /// Number of images beyond the first ones.
    pub more: usize,
    /// Number of images whose only URLs hold the image itself (`data:`).
    pub embedded: usize,
    /// The text of the page, one line for each node, without scripts and styles.
    pub text: String,
}

/// An element that shows an image.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    /// The URLs that it names, as they are in the page. They are those of one picture, perhaps in several sizes.
    pub urls: Vec<String>,
    /// Its XPath as a browser writes it: names in capitals, positions among siblings of the same name.
    pub xpath: String,
}

/// Reads which images a page shows, the first `most` of them. Takes time linear in the length of `html`.
pub fn images(html: &str, most: usize) -> PageImages {
    let tree = parse(html);
    let mut page = PageImages::default();
    let (mut canonical, mut social) = (None, None);
    let mut path = Path::default();
    for edge in tree.root().traverse() {
        let node = match edge {
            Edge::Open(node) => node,
            Edge::Close(node) => {
                path.close(node);
                continue;
            }
        };
        match node.value() {
            Node::Comment(comment) if page.url.is_none() => page.url = saved_from(comment),
            Node::Text(text) if !path.is_hidden() => {
                let line = normalised(text);
                if !line.is_empty() {
                    page.text.push_str(&line);
                    page.text.push('\n');
                }
            }
            _ => {}
        }
        let Some(found) = element(node) else {
            continue;
        };
        path.open(found);
        let value = |name: &str| attribute(found, name).trim().to_owned();
        let urls = match found.name() {
            "base" if page.base.is_none() => {
                page.base = Some(value("href")).filter(|base| !base.is_empty());
                continue;
            }
            "link" if value("rel").eq_ignore_ascii_case("canonical") => {
                canonical = canonical.or(Some(value("href")));
                continue;
            }
            "meta" => match &*value("property") {
                "og:url" => {
                    social = social.or(Some(value("content")));
                    continue;
                }
                "og:image" => vec![value("content")],
                _ if value("name") == "twitter:image" => vec![value("content")],
                _ => continue,
            },
            "img" => urls_of(node, found),
            _ => continue,
        };
        let names_itself = |url: &String| {
            url.get(..5)
                .is_some_and(|s| s.eq_ignore_ascii_case("data:"))
        };
        let holds_image = urls.iter().any(names_itself);
        let urls: Vec<String> = urls
            .into_iter()
            .filter(|url| !url.is_empty() && url.len() <= MAX_URL && !names_itself(url))
            .collect();
        if urls.is_empty() {
            page.embedded += usize::from(holds_image);
        } else if page.shown.len() < most {
            let xpath = path.xpath();
            page.shown.push(Shown { urls, xpath });
        } else {
            page.more += 1;
        }
    }
    let is_url = |url: &String| url.starts_with("http://") || url.starts_with("https://");
    page.url = page
        .url
        .into_iter()
        .chain(canonical)
        .chain(social)
        .find(is_url);
    page
}

/// The URLs of an `img`, and those in the `picture` around it.
fn urls_of(node: NodeRef<'_, Node>, img: &Element) -> Vec<String> {
    let picture = node.parent().filter(|parent| name(*parent) == "picture");
    let beside = picture
        .into_iter()
        .flat_map(|picture| picture.children().take(64));
    let sources = beside.filter(|node| name(*node) == "source");
    let elements = std::iter::once(img).chain(sources.filter_map(element));
    let mut urls = Vec::new();
    for element in elements {
        let single = SOURCES.iter().map(|name| attribute(element, name).trim());
        urls.extend(single.map(str::to_owned));
        for set in SOURCE_SETS.map(|name| attribute(element, name)) {
            // a URL may contain commas, so candidates are divided at white space
            let candidates = set.split_ascii_whitespace().take(128);
            let candidates = candidates.map(|url| url.trim_matches(','));
            urls.extend(
                candidates
                    .filter(|url| url.contains(['/', '.']))
                    .map(str::to_owned),
            );
        }
    }
    let mut seen = std::collections::HashSet::new();
    urls.retain(|url| seen.insert(url.clone()));
    urls
}

/// The address in the comment that browsers write at the beginning of a page that they save.
fn saved_from(comment: &str) -> Option<String> {
    let (_, rest) = comment.split_once("saved from url=(")?;
    let (_, url) = rest.split_once(')')?;
    Some(url.trim().to_owned()).filter(|url| !url.is_empty())
}

/// The open elements, and how many siblings of each name they have before them.
#[derive(Default)]
struct Path<'t> {
    /// The names and positions of the open elements.
    steps: Vec<(&'t str, usize)>,
    /// For the document and each open element, how many children of each name it has so far.
    children: Vec<HashMap<&'t str, usize>>,
    /// Number of open elements whose text is not shown.
    hidden: usize,
}

impl<'t> Path<'t> {
    fn open(&mut self, element: &'t Element) {
        let name = element.name();
        if self.children.is_empty() {
            self.children.push(HashMap::new());
        }
        let siblings = self.children.last_mut();
        let position = siblings.map_or(1, |siblings| {
            let count = siblings.entry(name).or_default();
            *count += 1;
            *count
        });
        self.steps.push((name, position));
        self.children.push(HashMap::new());
        self.hidden += usize::from(is_hidden(name));
    }

    fn close(&mut self, node: NodeRef<'t, Node>) {
        if let Some(element) = element(node) {
            self.steps.pop();
            self.children.pop();
            self.hidden -= usize::from(is_hidden(element.name()));
        }
    }

    fn is_hidden(&self) -> bool {
        self.hidden > 0
    }

    fn xpath(&self) -> String {
        let steps = self.steps.iter();
        let steps = steps.map(|(name, position)| format!("/{}[{position}]", name.to_uppercase()));
        steps.collect()
    }
}

fn is_hidden(name: &str) -> bool {
    matches!(name, "script" | "style" | "noscript" | "template")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_listed_with_their_urls_and_xpaths() {
        let html = "<!DOCTYPE html>\n<!-- saved from url=(0021)https://example.org/a -->\n<html><head><base href='/b/'>\
            <meta property='og:image' content='o.jpg'></head><body><p>One</p><script>no</script><p>two <img src='data:,x' data-src='a.png'>\
            <img src='data:image/gif;base64,R0'></p><picture><source srcset='c.webp 1x, d,e.webp 2x'><img src='c.jpg'></picture></body></html>";
        let page = images(html, 10);
        assert_eq!(page.url.as_deref(), Some("https://example.org/a"));
        assert_eq!(page.base.as_deref(), Some("/b/"));
        assert_eq!((page.embedded, page.more), (1, 0));
        assert_eq!(page.text, "One\ntwo\n");
        let shown: Vec<(Vec<&str>, &str)> = page
            .shown
            .iter()
            .map(|shown| {
                let urls = shown.urls.iter().map(String::as_str);
                (urls.collect(), &*shown.xpath)
            })
            .collect();
        assert_eq!(
            shown,
            [
                (vec!["o.jpg"], "/HTML[1]/HEAD[1]/META[1]"),
                (vec!["a.png"], "/HTML[1]/BODY[1]/P[2]/IMG[1]"),
                (
                    vec!["c.jpg", "c.webp", "d,e.webp"],
                    "/HTML[1]/BODY[1]/PICTURE[1]/IMG[1]"
                ),
            ]
        );
        // the page's reader finds the images at these XPaths
        for shown in &page.shown[1..] {
            let read = super::super::read(html, std::slice::from_ref(&shown.xpath), &shown.urls[0]);
            assert_eq!(read.found, super::super::FoundBy::XPath, "{}", shown.xpath);
            assert!(read.names_image);
        }
        let page = images(html, 1);
        assert_eq!((page.shown.len(), page.more), (1, 2));
    }
}
