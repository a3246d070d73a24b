//! The image's element: by XPath, else by URL.

use std::cmp::Reverse;

use ego_tree::{NodeId, NodeRef, Tree};
use scraper::Node;
use scraper::node::Element;

use super::Found;
use super::tree::{attribute, child, element, name, normalised, parse};

/// File names shorter than this, without extension, are common ("image.jpg", "largepreview.png"): where several
/// elements carry one, it tells nothing.
const TELLING_NAME: usize = 16;
/// Attributes that hold an image's URL, beside every `data-` attribute (lazy loading, galleries).
const URL_ATTRIBUTES: [&str; 7] = [
    "src",
    "srcset",
    "content",
    "href",
    "poster",
    "style",
    "background",
];

/// The image's element and what it says itself.
#[derive(Default)]
pub struct Image {
    pub found: Found,
    pub names_image: bool,
    /// It is a `meta` (or `link`) of the head.
    pub is_meta: bool,
    /// Where the image stands in the body.
    pub place: Option<NodeId>,
    pub alt: String,
    pub title: String,
    /// From an attribute, for pages whose scripts make the caption.
    pub caption: String,
}

/// An element of the tree, or of a `noscript` whose text was parsed.
struct Candidate {
    /// The element, or the `noscript` it stands in.
    node: NodeId,
    element: Element,
    names_image: bool,
}

impl Candidate {
    fn is_meta(&self) -> bool {
        matches!(self.element.name(), "meta" | "link")
    }
}

/// The image's URL in the forms in which pages repeat it.
pub struct Wanted {
    url: String,
    /// Without scheme; without query too where the path names a file.
    bare: String,
    /// The path of `bare`, with its first slash.
    path: String,
    /// File name as written, without percent encoding; "" where the path names none.
    file: String,
    /// `file` in small letters without a size at its end ("-900x566"); "" as above.
    key: String,
}

impl Wanted {
    pub fn new(url: &str) -> Self {
        let url = url.trim().to_owned();
        let bare = bare(&url);
        let file = file_name(&bare).to_owned();
        Wanted {
            path: bare
                .find('/')
                .and_then(|at| bare.get(at..))
                .unwrap_or_default()
                .to_owned(),
            key: key(&file),
            url,
            bare,
            file,
        }
    }

    /// An attribute's value holds the image's file name, or URL where that names no file.
    fn named_in(&self, value: &str) -> bool {
        let name = if self.file.is_empty() {
            &self.bare
        } else {
            &self.file
        };
        if name.is_empty() {
            return false;
        }
        let value = percent_decoded(value);
        value.match_indices(name.as_str()).any(|(at, _)| {
            let before = value
                .get(..at)
                .and_then(|before| before.chars().next_back());
            !before.is_some_and(char::is_alphanumeric)
        })
    }

    fn named_by(&self, element: &Element) -> bool {
        element.attrs().any(|(_, value)| self.named_in(value))
    }

    /// How well a URL of the page agrees: 0 the same, 1 without scheme and query, 2 by file name.
    fn agreement(&self, url: &str) -> Option<u8> {
        if self.url.is_empty() {
            return None;
        }
        if url == self.url {
            return Some(0);
        }
        let bare = bare(url);
        let same_path =
            url.starts_with('/') && !url.starts_with("//") && bare == self.path && bare.len() > 1;
        if bare == self.bare || same_path {
            return Some(1);
        }
        let same_file = !self.key.is_empty() && key(file_name(&bare)) == self.key;
        same_file.then_some(2)
    }

    fn agreement_of(&self, element: &Element) -> Option<u8> {
        element
            .attrs()
            .filter(|(name, _)| URL_ATTRIBUTES.contains(name) || name.starts_with("data-"))
            .flat_map(|(name, value)| urls(name, value))
            .filter_map(|url| self.agreement(url))
            .min()
    }
}

/// The URLs in an attribute's value: a `srcset` holds several, a `style` holds them in `url(…)`.
fn urls<'a>(attribute: &str, value: &'a str) -> impl Iterator<Item = &'a str> {
    let separators: &[char] = if attribute == "style" {
        &['(', ')', '"', '\'']
    } else {
        &[' ', '\t', '\r', '\n']
    };
    value
        .split(separators)
        .map(|url| url.trim_matches(','))
        .filter(|url| url.contains(['/', '.']))
}

fn bare(url: &str) -> String {
    let start = url
        .split_once("://")
        .filter(|(scheme, _)| !scheme.contains('/'));
    let rest = start.map_or(url, |(_, rest)| rest).trim_start_matches("//");
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let names_file = !file_name(path).is_empty();
    percent_decoded(if names_file { path } else { rest })
}

/// The last step of a path, if it is the name of an image file.
pub fn file_name(path: &str) -> &str {
    const EXTENSIONS: [&str; 12] = [
        "jpg", "jpeg", "jfif", "png", "gif", "webp", "avif", "svg", "bmp", "tif", "tiff", "ico",
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = EXTENSIONS
        .iter()
        .any(|known| known.eq_ignore_ascii_case(extension));
    if known { name } else { "" }
}

fn key(file: &str) -> String {
    let file = file.to_lowercase();
    let (stem, extension) = file.rsplit_once('.').unwrap_or((&file, ""));
    let sized = stem.rsplit_once('-').filter(|(_, size)| {
        size.split_once('x').is_some_and(|(width, height)| {
            let number = |side: &str| !side.is_empty() && side.bytes().all(|b| b.is_ascii_digit());
            number(width) && number(height)
        })
    });
    let stem = sized.map_or(stem, |(stem, _)| stem);
    if stem.is_empty() {
        String::new()
    } else {
        format!("{stem}.{extension}")
    }
}

fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.as_bytes();
    while let Some((&byte, rest)) = bytes.split_first() {
        let hex = |i: usize| rest.get(i).and_then(|b| char::from(*b).to_digit(16));
        bytes = rest;
        match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                bytes = rest.get(2..).unwrap_or_default();
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Finds the image's element.
///
/// Among the elements that the XPaths lead to, one that names the image comes before one that does not, and one in
/// the body before a `meta`. If none of them names it and the URL finds an element, that element is
/// taken: the XPath was made after scripts ran and may count along another tree. A `meta` has
/// no place in the text: its place is where the body shows the same file.
pub fn image(tree: &Tree<Node>, xpaths: &[String], wanted: &Wanted) -> Image {
    let by_xpath = xpaths
        .iter()
        .filter_map(|xpath| resolve(tree, xpath, wanted))
        .min_by_key(|candidate| (Reverse(candidate.names_image), candidate.is_meta()));
    let (found, candidate) = match by_xpath {
        Some(candidate) if candidate.names_image => (Found::XPath, Some(candidate)),
        other => match by_url(tree, wanted, true) {
            Some(candidate) => (Found::Url, Some(candidate)),
            None if other.is_some() => (Found::XPath, other),
            None => (Found::No, None),
        },
    };
    let Some(candidate) = candidate else {
        return Image::default();
    };
    let is_meta = candidate.is_meta();
    let names_image = candidate.names_image;
    let shown = if is_meta {
        by_url(tree, wanted, false)
    } else {
        Some(candidate)
    };
    let mut image = Image {
        found,
        names_image,
        is_meta,
        ..Image::default()
    };
    let Some(shown) = shown else {
        return image;
    };
    image.place = Some(shown.node);
    let node = tree.get(shown.node);
    let link = node.and_then(|node| {
        let around = node
            .parent()
            .filter(|parent| name(*parent) == "picture")
            .or(Some(node))?;
        around.parent().filter(|parent| name(*parent) == "a")
    });
    let own = |attribute_name: &str| normalised(attribute(&shown.element, attribute_name));
    image.alt = own("alt");
    // some publishing systems encode it as a URL: "Lower+the+voting+age%3F"
    if !image.alt.contains(' ') && image.alt.matches('+').count() > 1 {
        image.alt = normalised(&percent_decoded(&image.alt.replace('+', " ")));
    }
    image.title = own("title");
    if image.title.is_empty() {
        let title = link.and_then(element).map(|link| attribute(link, "title"));
        image.title = normalised(title.unwrap_or_default());
    }
    image.caption = [
        "data-caption",
        "data-image-caption",
        "data-image-description",
    ]
    .into_iter()
    .map(own)
    .find(|caption| !caption.is_empty())
    .map(|caption| {
        if caption.contains('<') {
            super::text::of_html(&caption)
        } else {
            caption
        }
    })
    .unwrap_or_default();
    image
}

/// The element at an XPath of a browser: `/HTML[1]/BODY[1]/DIV[2]/IMG[1]`, in capitals or not, a step without
/// `[n]` being the first, `//*[@id="x"]` and `id("x")` at the start, prefixes (`svg:image`) and `*[name()='svg']`.
fn resolve(tree: &Tree<Node>, xpath: &str, wanted: &Wanted) -> Option<Candidate> {
    let xpath = xpath.trim();
    let by_id = ["//*[@id=", "//*[@ID=", "id("]
        .iter()
        .find_map(|start| xpath.strip_prefix(start));
    let (mut node, steps) = if let Some(rest) = by_id {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (id, rest) = rest.get(1..)?.split_once(quote)?;
        let node = tree
            .root()
            .descendants()
            .find(|node| element(*node).is_some_and(|element| attribute(element, "id") == id))?;
        (node, rest.trim_start_matches([']', ')']))
    } else {
        (tree.root(), xpath)
    };
    let mut steps = steps
        .split('/')
        .map(str::trim)
        .filter(|step| !step.is_empty());
    while let Some(step) = steps.next() {
        if step.starts_with('@') {
            break;
        }
        if name(node) == "noscript" {
            let rest: Vec<&str> = std::iter::once(step).chain(steps).collect();
            return within_noscript(node, wanted, |body| {
                rest.iter()
                    .try_fold(body, |node, step| take_step(node, step))
            });
        }
        node = take_step(node, step)?;
    }
    candidate(inner_image(node), wanted)
}

fn take_step<'a>(node: NodeRef<'a, Node>, step: &str) -> Option<NodeRef<'a, Node>> {
    let mut predicates = step.split('[');
    let mut wanted = predicates.next()?.trim();
    let mut position = 1;
    for predicate in predicates {
        let predicate = predicate.trim().trim_end_matches(']').trim();
        if let Ok(number) = predicate.parse::<usize>() {
            position = number;
        } else if predicate.contains("name()") {
            wanted = predicate.split(['"', '\'']).nth(1)?;
        }
    }
    let wanted = wanted.rsplit(':').next()?;
    node.children()
        .filter(|child| {
            element(*child)
                .is_some_and(|child| wanted == "*" || child.name().eq_ignore_ascii_case(wanted))
        })
        .nth(position.checked_sub(1)?)
}

/// The image of a `picture`, `source` or link: its words (alt, title) stand there.
fn inner_image(node: NodeRef<'_, Node>) -> NodeRef<'_, Node> {
    let within = match name(node) {
        "picture" | "a" | "amp-img" => Some(node),
        "source" => node.parent().filter(|parent| name(*parent) == "picture"),
        _ => None,
    };
    within
        .and_then(|within| {
            within
                .descendants()
                .take(64)
                .find(|node| name(*node) == "img")
        })
        .unwrap_or(node)
}

fn candidate(node: NodeRef<'_, Node>, wanted: &Wanted) -> Option<Candidate> {
    let own = element(node)?;
    let siblings = node
        .parent()
        .filter(|parent| matches!(name(*parent), "picture" | "a" | "amp-img"));
    let beside = siblings
        .into_iter()
        .flat_map(|parent| std::iter::once(parent).chain(parent.children()));
    Some(Candidate {
        node: node.id(),
        element: own.clone(),
        names_image: std::iter::once(node)
            .chain(beside)
            .filter_map(element)
            .any(|element| wanted.named_by(element)),
    })
}

/// Looks in the markup of a `noscript`, from its body.
fn within_noscript(
    noscript: NodeRef<'_, Node>,
    wanted: &Wanted,
    find: impl for<'a> Fn(NodeRef<'a, Node>) -> Option<NodeRef<'a, Node>>,
) -> Option<Candidate> {
    let markup: String = noscript
        .children()
        .filter_map(|child| child.value().as_text().map(|text| text.text.to_string()))
        .collect();
    let inner = parse(&markup);
    let html = child(inner.root(), "html")?;
    let found = ["body", "head"]
        .into_iter()
        .find_map(|part| find(child(html, part)?))?;
    let mut candidate = candidate(inner_image(found), wanted)?;
    candidate.node = noscript.id();
    Some(candidate)
}

/// The element that agrees best with the URL; among equals an image before other elements, those before links,
/// and those before the head's `meta` (left out without `with_meta`), then the first.
fn by_url(tree: &Tree<Node>, wanted: &Wanted, with_meta: bool) -> Option<Candidate> {
    let mut best: Option<((u8, u8), NodeRef<'_, Node>)> = None;
    let mut by_file_name = 0;
    for node in tree.nodes() {
        let Some(element) = element(node) else {
            continue;
        };
        let rank = match element.name() {
            "meta" | "link" if !with_meta => continue,
            "img" | "source" | "image" | "amp-img" | "input" => 0,
            "meta" | "link" => 3,
            "a" => 2,
            "noscript" => {
                let text = node.first_child().and_then(|text| text.value().as_text());
                if !text.is_some_and(|text| wanted.named_in(text)) {
                    continue;
                }
                4
            }
            _ => 1,
        };
        let agreement = if rank == 4 {
            Some(2)
        } else {
            wanted.agreement_of(element)
        };
        let Some(agreement) = agreement else {
            continue;
        };
        by_file_name += usize::from(agreement == 2 && rank == 0 && element.name() != "source");
        if best.is_none_or(|(other, _)| (agreement, rank) < other) {
            best = Some(((agreement, rank), node));
        }
    }
    let ((agreement, rank), node) = best?;
    let telling = wanted
        .key
        .rsplit_once('.')
        .is_some_and(|(stem, _)| stem.chars().count() >= TELLING_NAME);
    if agreement == 2 && by_file_name > 1 && !telling {
        return None;
    }
    if rank == 4 {
        return within_noscript(node, wanted, |body| {
            body.descendants().find(|node| {
                element(*node).is_some_and(|element| wanted.agreement_of(element).is_some())
            })
        });
    }
    candidate(inner_image(node), wanted)
}
