//! Finds the element of the image in a page: by XPath, else by URL.

use std::cmp::Reverse;

use ego_tree::{NodeId, NodeRef, Tree};
use scraper::Node;
use scraper::node::Element;

use super::text::{first_of, of_html};
use super::url::ImageUrl;
use crate::html::{attribute, child, element, has_id, name, normalised, parse, percent_decoded};

/// Attributes that may have a caption.
const CAPTIONS: [&str; 3] = [
    "data-caption",
    "data-image-caption",
    "data-image-description",
];

/// How the image's element was found in its page. The evidence store has these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum FoundBy {
    /// By one of the XPaths.
    XPath,
    /// By the image's URL: no XPath led to an element that names the image.
    Url,
    /// It was not found.
    #[default]
    #[strum(serialize = "no")]
    Nothing,
}

/// The texts of the image's element, and its position. All texts are empty if it was not found.
#[derive(Default)]
pub(crate) struct ImageElement {
    pub found: FoundBy,
    /// Whether one of its attributes, or of the elements around it, contains the image's file name or URL.
    pub names_image: bool,
    /// Whether it is a `meta` (or `link`) of the head.
    pub is_meta: bool,
    /// The element that shows the image in the body.
    pub position: Option<NodeId>,
    /// Its alternative text.
    pub alt: String,
    /// The `title` attribute of it or the link around it.
    pub title: String,
    /// A caption in an attribute, on pages where a script shows it.
    pub caption: String,
}

/// An element that may be the image's: one of the tree, or one in the markup of a `noscript`.
struct Candidate {
    /// The element, or the `noscript` that contains it.
    node: NodeId,
    element: Element,
    names_image: bool,
}

impl Candidate {
    fn is_meta(&self) -> bool {
        matches!(self.element.name(), "meta" | "link")
    }
}

/// Finds the image's element.
///
/// Of the elements that the XPaths lead to, one that names the image is preferred, then one in the body. If none of them names it, an element with
/// the image's URL is taken, if there is any: XPaths were made after scripts ran, so they may belong to another tree. A `meta` has no position in the
/// text; its position is that of an element in the body that shows the same file.
pub fn image(tree: &Tree<Node>, xpaths: &[String], url: &ImageUrl) -> ImageElement {
    let by_xpath = xpaths
        .iter()
        .take(crate::limits::MAX_XPATHS)
        .filter_map(|xpath| resolve(tree, xpath, url))
        .min_by_key(|candidate| (Reverse(candidate.names_image), candidate.is_meta()));
    let (found, candidate) = match by_xpath {
        Some(candidate) if candidate.names_image => (FoundBy::XPath, Some(candidate)),
        other => match by_url(tree, url, true) {
            Some(candidate) => (FoundBy::Url, Some(candidate)),
            None if other.is_some() => (FoundBy::XPath, other),
            None => (FoundBy::Nothing, None),
        },
    };
    let Some(candidate) = candidate else {
        return ImageElement::default();
    };
    let is_meta = candidate.is_meta();
    let mut image = ImageElement {
        found,
        names_image: candidate.names_image,
        is_meta,
        ..ImageElement::default()
    };
    let shown = if is_meta {
        by_url(tree, url, false)
    } else {
        Some(candidate)
    };
    let Some(shown) = shown else {
        return image;
    };
    image.position = Some(shown.node);
    let link = tree.get(shown.node).and_then(|node| {
        let picture = node.parent().filter(|parent| name(*parent) == "picture");
        let around = picture.unwrap_or(node).parent();
        around.filter(|parent| name(*parent) == "a")
    });
    let own = |attribute_name: &str| normalised(attribute(&shown.element, attribute_name));
    image.alt = own("alt");
    // some content management systems encode it like a URL: "Lower+the+voting+age%3F"
    if !image.alt.contains(' ') && image.alt.matches('+').count() > 1 {
        image.alt = normalised(&percent_decoded(&image.alt.replace('+', " ")));
    }
    image.title = own("title");
    if image.title.is_empty() {
        let title = link.and_then(element).map(|link| attribute(link, "title"));
        image.title = normalised(title.unwrap_or_default());
    }
    image.caption = first_of(CAPTIONS.map(own));
    if image.caption.contains('<') {
        image.caption = of_html(&image.caption);
    }
    image
}

/// The element at an XPath as browsers write it: `/HTML[1]/BODY[1]/DIV[2]/IMG[1]`, in upper or lower case. A step without `[n]` means the first such
/// element. The path may begin with `//*[@id="x"]` or `id("x")`, and steps may have the form `svg:image` or `*[name()='svg']`.
fn resolve(tree: &Tree<Node>, xpath: &str, url: &ImageUrl) -> Option<Candidate> {
    let xpath = xpath.trim();
    let by_id = ["//*[@id=", "//*[@ID=", "id("]
        .iter()
        .find_map(|start| xpath.strip_prefix(start));
    let (mut node, steps) = if let Some(rest) = by_id {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (id, rest) = rest.get(1..)?.split_once(quote)?;
        let has_id = |node: &NodeRef<'_, Node>| has_id(*node, id);
        let node = tree.root().descendants().find(has_id)?;
        (node, rest.trim_start_matches([']', ')']))
    } else {
        (tree.root(), xpath)
    };
    let steps = steps.split('/').map(str::trim);
    let mut steps = steps.filter(|step| !step.is_empty());
    while let Some(step) = steps.next() {
        if step.starts_with('@') {
            break;
        }
        if name(node) == "noscript" {
            let rest: Vec<&str> = std::iter::once(step).chain(steps).collect();
            return within_noscript(node, url, |body| {
                rest.iter().copied().try_fold(body, take_step)
            });
        }
        node = take_step(node, step)?;
    }
    candidate(inner_image(node), url)
}

/// The child at one step of an XPath.
fn take_step<'a>(node: NodeRef<'a, Node>, step: &str) -> Option<NodeRef<'a, Node>> {
    let mut predicates = step.split('[');
    let mut wanted_name = predicates.next()?.trim();
    let mut position = 1;
    for predicate in predicates {
        let predicate = predicate.trim().trim_end_matches(']').trim();
        if let Ok(number) = predicate.parse::<usize>() {
            position = number;
        } else if predicate.contains("name()") {
            wanted_name = predicate.split(['"', '\'']).nth(1)?;
        }
    }
    let wanted_name = wanted_name.rsplit(':').next()?;
    let mut wanted = node.children().filter(|child| match name(*child) {
        "" => false,
        name => wanted_name == "*" || name.eq_ignore_ascii_case(wanted_name),
    });
    wanted.nth(position.checked_sub(1)?)
}

/// The `img` in a `picture` or link, or beside a `source`: it has the alternative text and title. Other nodes are returned as they are.
fn inner_image(node: NodeRef<'_, Node>) -> NodeRef<'_, Node> {
    let within = match name(node) {
        "picture" | "a" | "amp-img" => Some(node),
        "source" => node.parent().filter(|parent| name(*parent) == "picture"),
        _ => None,
    };
    let mut inner = within
        .into_iter()
        .flat_map(|node| node.descendants().take(64));
    inner.find(|node| name(*node) == "img").unwrap_or(node)
}

/// The node as a candidate; `None` if it is not an element.
fn candidate(node: NodeRef<'_, Node>, url: &ImageUrl) -> Option<Candidate> {
    let own = element(node)?;
    let around = node
        .parent()
        .filter(|parent| matches!(name(*parent), "picture" | "a" | "amp-img"));
    let beside = around.into_iter().flat_map(|parent| parent.children());
    let mut all = std::iter::once(node).chain(around).chain(beside);
    Some(Candidate {
        node: node.id(),
        element: own.clone(),
        names_image: all.any(|node| element(node).is_some_and(|element| url.names(element))),
    })
}

/// Searches the markup in a `noscript`; `find` gets its body, then its head.
fn within_noscript(
    noscript: NodeRef<'_, Node>,
    url: &ImageUrl,
    find: impl for<'a> Fn(NodeRef<'a, Node>) -> Option<NodeRef<'a, Node>>,
) -> Option<Candidate> {
    let markup: String = noscript
        .children()
        .filter_map(|child| child.value().as_text().map(|text| text.text.to_string()))
        .collect();
    let inner = parse(&markup);
    let html = child(inner.root(), "html")?;
    let mut parts = ["body", "head"].into_iter();
    let found = parts.find_map(|part| find(child(html, part)?))?;
    Some(Candidate {
        node: noscript.id(),
        ..candidate(inner_image(found), url)?
    })
}

/// The element whose URLs match best. Among equal matches, images are preferred to other elements, these to links, and links to the
/// head's `meta` elements (which count only `with_meta`); then the first element. `None` if the match is by a file name that is neither
/// distinctive nor unique.
fn by_url(tree: &Tree<Node>, url: &ImageUrl, with_meta: bool) -> Option<Candidate> {
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
            "noscript" => 4,
            _ => 1,
        };
        let distance = if rank == 4 {
            let text = node.first_child().and_then(|text| text.value().as_text());
            text.and_then(|text| url.is_in(text).then_some(2))
        } else {
            url.match_element(element)
        };
        let Some(distance) = distance else {
            continue;
        };
        by_file_name += usize::from(distance == 2 && rank == 0 && element.name() != "source");
        if best.is_none_or(|(other, _)| (distance, rank) < other) {
            best = Some(((distance, rank), node));
        }
    }
    let ((distance, rank), node) = best?;
    if distance == 2 && by_file_name > 1 && !url.has_distinctive_name() {
        return None;
    }
    if rank == 4 {
        return within_noscript(node, url, |body| {
            body.descendants().find(|node| {
                element(*node).is_some_and(|element| url.match_element(element).is_some())
            })
        });
    }
    candidate(inner_image(node), url)
}
