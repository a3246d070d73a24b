//! Lists the images that a page shows, each with its XPath, for those who make a collection of saved pages.

mod urls;

use std::collections::{HashMap, HashSet};

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;
use scraper::node::Element;

use crate::html::{attribute, child, element, normalised, parse};
use urls::{MAX_URL, Variables};

/// What a page says of itself, and the images that it shows.
#[derive(Debug, Default)]
pub struct PageImages {
    /// The address of the page, if the page names it: browsers write it into the pages that they save.
    pub url: Option<String>,
    /// The address in `base`, to which its references are relative.
    pub base: Option<String>,
    pub shown: Vec<ShownPicture>,
    /// Number of images beyond the first ones.
    pub more: usize,
    /// Number of images whose only URLs hold the image itself (`data:`).
    pub embedded: usize,
    /// The text of the page, one line for each node, without scripts and styles.
    pub text: String,
}

/// An element that shows an image.
#[derive(Debug, PartialEq, Eq)]
pub struct ShownPicture {
    /// The URLs that it names, as they are in the page. They are those of one picture, perhaps in several sizes.
    pub urls: Vec<String>,
    /// Its XPath as a browser writes it: names in capitals, positions among siblings of the same name.
    pub xpath: String,
    /// What it means if none of its pictures is there.
    pub lack: MissingPicture,
}

/// What it means that the picture of an element is nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingPicture {
    /// It was not saved.
    NotSaved,
    /// The element holds a picture itself (`data:`), which is small, broken or a drawing. Its other attributes need not be URLs.
    Embedded,
    /// Nothing: browsers do not load the picture, or it only decorates the page.
    Nothing,
}

/// Reads which images a page shows, the first `most` of them. Takes time linear in the length of `html`.
pub fn images(html: &str, most: usize) -> PageImages {
    let tree = parse(html);
    let mut reader = PageReader {
        page: PageImages::default(),
        canonical: None,
        social: None,
        variables: urls::variables(&tree),
        most,
    };
    reader.walk(tree.root(), "", false);
    let mut page = reader.page;
    let is_url = |url: &String| url.starts_with("http://") || url.starts_with("https://");
    page.url = page
        .url
        .into_iter()
        .chain(reader.canonical)
        .chain(reader.social)
        .find(is_url);
    page
}

struct PageReader {
    page: PageImages,
    /// The address of the page in a `link` and a `meta`.
    canonical: Option<String>,
    social: Option<String>,
    variables: Variables,
    most: usize,
}

impl PageReader {
    /// Reads what is below a node, whose XPath is `above`.
    fn walk(&mut self, root: NodeRef<'_, Node>, above: &str, is_fallback: bool) {
        let mut path = Path::default();
        for edge in root.traverse() {
            let node = match edge {
                Edge::Open(node) if node == root => continue,
                Edge::Open(node) => node,
                Edge::Close(node) => {
                    if node != root {
                        path.close(node);
                    }
                    continue;
                }
            };
            match node.value() {
                Node::Comment(comment) if self.page.url.is_none() => {
                    self.page.url = saved_from(comment);
                }
                Node::Text(text) if !path.is_hidden() && !is_fallback => {
                    let line = normalised(text);
                    if !line.is_empty() {
                        self.page.text.push_str(&line);
                        self.page.text.push('\n');
                    }
                }
                _ => {}
            }
            let Some(found) = element(node) else {
                continue;
            };
            path.open(found);
            let xpath = || format!("{above}{}", path.xpath());
            if found.name() == "noscript" {
                self.walk_noscript(node, xpath);
            } else if !self.says_where_it_is(found) {
                self.add(node, found, xpath, is_fallback);
            }
        }
    }

    /// Reads a `noscript`, which is a single text for a browser that runs scripts. Scripts that load pictures late leave the picture there.
    fn walk_noscript(&mut self, noscript: NodeRef<'_, Node>, xpath: impl Fn() -> String) {
        let texts = noscript
            .children()
            .filter_map(|child| child.value().as_text());
        let markup: String = texts.map(|text| &*text.text).collect();
        if !markup.to_ascii_lowercase().contains("<img") {
            return;
        }
        let inner = parse(&markup);
        let Some(html) = child(inner.root(), "html") else {
            return;
        };
        for part in ["body", "head"] {
            if let Some(part) = child(html, part) {
                self.walk(part, &xpath(), true);
            }
        }
    }

    /// Reads an element that says what the address of the page is. Returns whether it is one.
    fn says_where_it_is(&mut self, found: &Element) -> bool {
        let value = |name: &str| Some(attribute(found, name).trim().to_owned());
        let is =
            |name: &str, wanted: &str| attribute(found, name).trim().eq_ignore_ascii_case(wanted);
        let (place, address) = match found.name() {
            "base" => (
                &mut self.page.base,
                value("href").filter(|base| !base.is_empty()),
            ),
            "link" if is("rel", "canonical") => (&mut self.canonical, value("href")),
            "meta" if is("property", "og:url") => (&mut self.social, value("content")),
            _ => return false,
        };
        if place.is_none() {
            *place = address;
        }
        true
    }

    /// Adds an element, if it shows a picture.
    fn add(
        &mut self,
        node: NodeRef<'_, Node>,
        found: &Element,
        xpath: impl Fn() -> String,
        is_fallback: bool,
    ) {
        let named = urls::of_element(node, found, &self.variables);
        let holds_itself = |url: &String| {
            let start = url.get(..5);
            start.is_some_and(|start| start.eq_ignore_ascii_case("data:"))
        };
        let holds_image = named.urls.iter().any(holds_itself);
        let is_usable =
            |url: &String| !url.is_empty() && url.len() <= MAX_URL && !holds_itself(url);
        let mut urls: Vec<String> = named.urls.into_iter().filter(is_usable).collect();
        let lack = match urls.is_empty() {
            _ if is_fallback || named.is_decoration => MissingPicture::Nothing,
            true if holds_image => MissingPicture::Embedded,
            true => MissingPicture::Nothing,
            false => MissingPicture::NotSaved,
        };
        urls.extend(named.others.into_iter().filter(is_usable));
        let mut seen = HashSet::new();
        urls.retain(|url| seen.insert(url.clone()));
        if urls.is_empty() {
            self.page.embedded += usize::from(holds_image);
        } else if self.page.shown.len() < self.most {
            let xpath = xpath();
            self.page.shown.push(ShownPicture { urls, xpath, lack });
        } else {
            self.page.more += 1;
        }
    }
}

/// The address in the comment that browsers, and the extension SingleFile, write at the beginning of a page that they save.
fn saved_from(comment: &str) -> Option<String> {
    let url = if comment.contains("saved with SingleFile") {
        comment
            .lines()
            .find_map(|line| line.trim().strip_prefix("url:"))?
    } else {
        let (_, rest) = comment.split_once("saved from url=(")?;
        rest.split_once(')')?.1
    };
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

    /// The URLs and XPaths of what a page shows.
    fn shown(page: &PageImages) -> Vec<(Vec<&str>, &str)> {
        let shown = page.shown.iter();
        shown
            .map(|shown| {
                (
                    shown.urls.iter().map(String::as_str).collect(),
                    &*shown.xpath,
                )
            })
            .collect()
    }

    #[test]
    fn images_are_listed_with_their_urls_and_xpaths() {
        let html = "<!DOCTYPE html>\n<!-- saved from url=(0021)https://example.org/a -->\n<html><head><base href='/b/'>\
            <meta property='og:image' content='o.jpg'></head><body><p>One</p><script>no</script><p>two <img src='data:,x' data-src='a.png' data-n='1.5'>\
            <img src='data:image/gif;base64,R0'></p><picture><source srcset='c.webp 1x, d,e.webp 2x'><img src='c.jpg'></picture></body></html>";
        let page = images(html, 10);
        assert_eq!(page.url.as_deref(), Some("https://example.org/a"));
        assert_eq!(page.base.as_deref(), Some("/b/"));
        assert_eq!((page.embedded, page.more), (1, 0));
        assert_eq!(page.text, "One\ntwo\n");
        assert_eq!(
            shown(&page),
            [
                (vec!["o.jpg"], "/HTML[1]/HEAD[1]/META[1]"),
                (vec!["a.png", "1.5"], "/HTML[1]/BODY[1]/P[2]/IMG[1]"),
                (
                    vec!["c.jpg", "c.webp", "d,e.webp"],
                    "/HTML[1]/BODY[1]/PICTURE[1]/IMG[1]"
                ),
            ]
        );
        assert_are_found(html, &page.shown[1..]);
        let page = images(html, 1);
        assert_eq!((page.shown.len(), page.more), (1, 2));
    }

    /// The reader of pages finds the images at these XPaths.
    fn assert_are_found(html: &str, shown: &[ShownPicture]) {
        for shown in shown {
            let read = super::super::read(html, std::slice::from_ref(&shown.xpath), &shown.urls[0]);
            assert_eq!(read.found, super::super::FoundBy::XPath, "{}", shown.xpath);
            assert!(read.names_image, "{}", shown.xpath);
        }
    }

    #[test]
    fn images_are_found_where_scripts_and_styles_put_them() {
        let html = "<head><meta name=twitter:image:src content=t.jpg><link rel=image_src href=l.jpg><style>:root{--own: red;--sf-img-1: url(\"v.png\")}</style>\
            </head><body><div style='background-image: url(\"b.jpg\")'>One</div><p><img data-image-src='/late.png' src=''><noscript><a><img src='n.png'></a> no\
            </noscript></p><video poster=p.jpg></video><svg><image href=i.png></image></svg><img src='data:image/svg+xml,x' style='color: var(--own); \
            background: var(--sf-img-1) !important'></body>";
        let page = images(html, 20);
        assert_eq!(
            shown(&page),
            [
                (vec!["t.jpg"], "/HTML[1]/HEAD[1]/META[1]"),
                (vec!["l.jpg"], "/HTML[1]/HEAD[1]/LINK[1]"),
                (vec!["b.jpg"], "/HTML[1]/BODY[1]/DIV[1]"),
                (vec!["/late.png"], "/HTML[1]/BODY[1]/P[1]/IMG[1]"),
                (
                    vec!["n.png"],
                    "/HTML[1]/BODY[1]/P[1]/NOSCRIPT[1]/A[1]/IMG[1]"
                ),
                (vec!["p.jpg"], "/HTML[1]/BODY[1]/VIDEO[1]"),
                (vec!["i.png"], "/HTML[1]/BODY[1]/SVG[1]/IMAGE[1]"),
                (vec!["v.png"], "/HTML[1]/BODY[1]/IMG[1]"),
            ]
        );
        let lacks: Vec<MissingPicture> = page.shown.iter().map(|shown| shown.lack).collect();
        use MissingPicture::{NotSaved, Nothing};
        assert_eq!(
            lacks,
            [
                Nothing, Nothing, Nothing, Nothing, Nothing, NotSaved, NotSaved, NotSaved
            ]
        );
        assert_eq!((&*page.text, page.embedded), ("One\n", 0));
        assert_are_found(html, &page.shown[2..7]);
    }

    #[test]
    fn pages_of_singlefile_say_where_they_were() {
        let html = "<!DOCTYPE html><html><!--\n Page saved with SingleFile \n url: https://example.org/b \n saved date: today\n--><body>";
        assert_eq!(
            images(html, 1).url.as_deref(),
            Some("https://example.org/b")
        );
    }
}
