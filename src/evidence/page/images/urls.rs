//! The URLs of pictures that an element of a page names.

use std::collections::HashMap;

use ego_tree::{NodeRef, Tree};
use scraper::Node;
use scraper::node::Element;

use crate::html::{attribute, element, name};

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

/// Names of a `meta` with the URL of the picture that stands for the page. Pages write them as `property` or as `name`.
const SOCIAL: [&str; 5] = [
    "og:image",
    "og:image:url",
    "og:image:secure_url",
    "twitter:image",
    "twitter:image:src",
];

/// Maximum length of a URL, in bytes; a longer one is ignored. Browsers send no longer ones.
pub(super) const MAX_URL: usize = 8 << 10;

/// Maximum number of URLs in an attribute, and of elements in a `picture`.
const MOST: usize = 128;

/// The URLs that an element names.
#[derive(Default)]
pub(super) struct ElementUrls {
    /// The URLs of its picture, perhaps in several sizes.
    pub urls: Vec<String>,
    /// The values of attributes that scripts use, which can be URLs of it.
    pub others: Vec<String>,
    /// Whether a page is complete without the picture: another element names it as well, or it is a background.
    pub is_decoration: bool,
}

/// The custom properties of style sheets whose value is a URL, by their names (`--sf-img-1`). SingleFile keeps each picture that a page shows several
/// times in one.
pub(super) type Variables = HashMap<String, String>;

/// Reads the properties in the `style` elements of a page.
pub(super) fn variables(tree: &Tree<Node>) -> Variables {
    let mut variables = Variables::new();
    let sheets = tree
        .root()
        .descendants()
        .filter(|node| name(*node) == "style");
    let texts = sheets.flat_map(|sheet| sheet.children());
    for text in texts.filter_map(|text| text.value().as_text()) {
        for (at, _) in text.match_indices("url(") {
            let before = text.get(..at).unwrap_or_default().trim_end();
            let Some(before) = before.strip_suffix(':') else {
                continue;
            };
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let start = before.trim_end().rfind(|c| !is_of_name(c));
            let property = before.trim_end().get(start.map_or(0, |at| at + 1)..);
            let property = property.filter(|name| name.starts_with("--"));
            let url = text.get(at..).and_then(|rest| urls_in_style(rest).next());
            if let Some((property, url)) = property.zip(url) {
                variables.insert(property.to_owned(), url.to_owned());
            }
        }
    }
    variables
}

/// The URLs of pictures that an element names.
pub(super) fn of_element(
    node: NodeRef<'_, Node>,
    element: &Element,
    variables: &Variables,
) -> ElementUrls {
    let value = |name: &str| attribute(element, name).trim().to_owned();
    let mut named = match element.name() {
        "img" | "amp-img" => of_image(node, element),
        "meta" => {
            let property = Some(value("property")).filter(|property| !property.is_empty());
            let property = property.unwrap_or_else(|| value("name"));
            let is_social = SOCIAL.contains(&&*property);
            ElementUrls {
                urls: is_social.then(|| value("content")).into_iter().collect(),
                is_decoration: property != "og:image",
                ..ElementUrls::default()
            }
        }
        "link" => {
            let is_picture = value("rel").eq_ignore_ascii_case("image_src");
            ElementUrls {
                urls: is_picture.then(|| value("href")).into_iter().collect(),
                is_decoration: true,
                ..ElementUrls::default()
            }
        }
        "input" if value("type").eq_ignore_ascii_case("image") => of_one(value("src")),
        "video" => of_one(value("poster")),
        // a picture in a drawing
        "image" => of_one(value("href")),
        _ => ElementUrls {
            is_decoration: true,
            ..ElementUrls::default()
        },
    };
    let style = attribute(element, "style");
    named
        .urls
        .extend(urls_in_style(style).take(MOST).map(str::to_owned));
    named.urls.extend(
        variables_in(style)
            .take(MOST)
            .filter_map(|name| variables.get(name).cloned()),
    );
    named
}

fn of_one(url: String) -> ElementUrls {
    ElementUrls {
        urls: vec![url],
        ..ElementUrls::default()
    }
}

/// The URLs of an `img`, and those in the `picture` around it.
fn of_image(node: NodeRef<'_, Node>, img: &Element) -> ElementUrls {
    let picture = node.parent().filter(|parent| name(*parent) == "picture");
    let beside = picture
        .into_iter()
        .flat_map(|picture| picture.children().take(MOST));
    let sources = beside.filter(|node| name(*node) == "source");
    let elements = std::iter::once(img).chain(sources.filter_map(element));
    let mut named = ElementUrls::default();
    for element in elements {
        let single = SOURCES.iter().map(|name| attribute(element, name).trim());
        named.urls.extend(single.map(str::to_owned));
        for set in SOURCE_SETS.map(|name| attribute(element, name)) {
            named.urls.extend(candidates(set));
        }
        let others = element.attrs().filter(|(name, _)| {
            name.starts_with("data-") && !SOURCES.contains(name) && !SOURCE_SETS.contains(name)
        });
        named
            .others
            .extend(others.flat_map(|(_, value)| candidates(value)));
    }
    named
}

/// The URLs in a list of them. A URL may contain commas, so candidates are divided at white space.
fn candidates(set: &str) -> impl Iterator<Item = String> {
    let words = set.split_ascii_whitespace().take(MOST);
    let words = words.map(|url| url.trim_matches(','));
    words
        .filter(|url| url.contains(['/', '.', ':']))
        .map(str::to_owned)
}

/// The URLs in `url(…)` of a style.
fn urls_in_style(style: &str) -> impl Iterator<Item = &str> {
    style.match_indices("url(").filter_map(move |(at, found)| {
        let rest = style.get(at + found.len()..)?;
        let rest = rest.get(..rest.floor_char_boundary(MAX_URL))?.trim_start();
        let url = match rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            Some(quote) => rest.get(1..)?.split(quote).next(),
            None => rest.split(')').next(),
        };
        url.map(str::trim).filter(|url| !url.is_empty())
    })
}

/// The names of custom properties that a style uses.
fn variables_in(style: &str) -> impl Iterator<Item = &str> {
    style.match_indices("var(").filter_map(move |(at, found)| {
        let rest = style.get(at + found.len()..)?;
        let rest = rest.get(..rest.floor_char_boundary(MAX_URL))?;
        rest.split([')', ',']).next().map(str::trim)
    })
}
