//! The texts of the head, of the caption and of any subtree.

use std::iter::successors;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef, Tree};
use scraper::Node;

use super::elements::{is_hidden, is_inline, is_textless};
use super::tree::{attribute, element, name, normalised, parse};

/// The maximum number of words in a caption. A longer text is part of the article.
const CAPTION_WORDS: usize = 120;
/// A `figcaption` with fewer words is a label ("Fig. 1"), and the caption is the text of the whole figure.
const LABEL_WORDS: usize = 4;
/// The number of nodes below an ancestor that are searched for a caption.
const CAPTION_NODES: usize = 200;
/// The number of ancestors that are searched for a caption.
const CAPTION_ANCESTORS: usize = 6;

/// The metadata of a page.
#[derive(Default)]
pub struct Head {
    pub title: String,
    pub og_title: String,
    pub description: String,
    /// The alternative text of `og:image` or `twitter:image`.
    pub image_alt: String,
}

impl Head {
    /// Reads the metadata, wherever in the page they are.
    pub fn read(tree: &Tree<Node>) -> Head {
        let mut head = Head::default();
        let (mut social_description, mut svg) = (String::new(), None);
        for edge in tree.root().traverse() {
            let node = match edge {
                Edge::Open(node) => node,
                Edge::Close(node) => {
                    svg = svg.filter(|svg| *svg != node.id());
                    continue;
                }
            };
            let Some(element) = element(node) else {
                continue;
            };
            match element.name() {
                "svg" => svg = svg.or(Some(node.id())),
                "title" if head.title.is_empty() && svg.is_none() => {
                    head.title = of_subtree(tree, node.id())
                }
                "meta" => {
                    let key = Some(attribute(element, "property")).filter(|key| !key.is_empty());
                    let key = key
                        .unwrap_or(attribute(element, "name"))
                        .to_ascii_lowercase();
                    let slot = match key.as_str() {
                        "description" => &mut head.description,
                        "og:title" | "twitter:title" => &mut head.og_title,
                        "og:description" | "twitter:description" => &mut social_description,
                        "og:image:alt" | "twitter:image:alt" => &mut head.image_alt,
                        _ => continue,
                    };
                    if slot.is_empty() {
                        *slot = normalised(attribute(element, "content"));
                    }
                }
                _ => {}
            }
        }
        if head.description.is_empty() {
            head.description = social_description;
        }
        head
    }
}

/// The text of a node and its descendants that are not hidden, with normalised white space.
pub(crate) fn of_subtree(tree: &Tree<Node>, node: NodeId) -> String {
    let mut out = String::new();
    let mut hidden = None;
    for edge in tree.get(node).into_iter().flat_map(|node| node.traverse()) {
        match edge {
            Edge::Open(inner) if hidden.is_none() => match inner.value() {
                Node::Text(text) => out.push_str(text),
                Node::Element(element)
                    if inner.id() != node && (is_textless(element) || is_hidden(element)) =>
                {
                    hidden = Some(inner.id());
                }
                Node::Element(element) if !is_inline(element.name()) => out.push(' '),
                _ => {}
            },
            Edge::Close(node) => {
                hidden = hidden.filter(|hidden| *hidden != node.id());
                if !is_inline(name(node)) {
                    out.push(' ');
                }
            }
            Edge::Open(_) => {}
        }
    }
    normalised(&out)
}

/// The text of a piece of HTML.
pub(crate) fn of_html(html: &str) -> String {
    let tree = parse(html);
    of_subtree(&tree, tree.root().id())
}

/// Finds the caption of an image: the figure's `figcaption` (or the whole figure if that is only a label); else the element that
/// `aria-describedby` names; else an element with "caption" in its class, in an ancestor without other images; else emphasised or small
/// text after the image, as Markdown and mail editors write captions.
pub(crate) fn caption_node(tree: &Tree<Node>, position: NodeId) -> Option<NodeId> {
    let image = tree.get(position)?;
    let words = |node: NodeRef<'_, Node>| word_count(&of_subtree(tree, node.id()));
    let fits = |node: NodeRef<'_, Node>| (1..=CAPTION_WORDS).contains(&words(node));
    let is_image = |node: NodeRef<'_, Node>| {
        matches!(name(node), "img" | "video" | "iframe") && node.id() != position
    };
    if let Some(figure) = image
        .ancestors()
        .take(CAPTION_ANCESTORS * 2)
        .find(|node| name(*node) == "figure")
    {
        let caption = figure
            .descendants()
            .find(|node| name(*node) == "figcaption");
        if let Some(caption) = caption.filter(|caption| fits(*caption)) {
            let label =
                words(caption) < LABEL_WORDS && words(figure) > words(caption) && fits(figure);
            return Some(if label { figure.id() } else { caption.id() });
        }
    }
    let described_by = element(image).map_or("", |element| attribute(element, "aria-describedby"));
    if !described_by.is_empty() {
        let is_named = |node: &NodeRef<'_, Node>| {
            element(*node).is_some_and(|e| attribute(e, "id") == described_by)
        };
        if let Some(caption) = tree.nodes().find(|node| is_named(node) && fits(*node)) {
            return Some(caption.id());
        }
    }
    for ancestor in image.ancestors().take(CAPTION_ANCESTORS) {
        if matches!(name(ancestor), "body" | "main" | "article") {
            break;
        }
        let mut within = ancestor.descendants().take(CAPTION_NODES);
        let caption = within.find(|node| {
            element(*node).is_some_and(|element| {
                let is_caption = attribute(element, "class")
                    .to_ascii_lowercase()
                    .contains("caption");
                is_caption
                    && !node
                        .descendants()
                        .take(CAPTION_NODES)
                        .any(|node| node.id() == position)
                    && fits(*node)
            })
        });
        let other_image = ancestor.descendants().take(CAPTION_NODES).any(is_image);
        match caption {
            Some(caption) if !other_image => return Some(caption.id()),
            _ if other_image => break,
            _ => {}
        }
    }
    let outer = successors(Some(image), |node| {
        node.parent()
            .filter(|parent| matches!(name(*parent), "a" | "picture"))
    });
    let next = outer.last()?.next_siblings().find(|node| {
        let text = node.value().as_text().map(|text| text.trim().is_empty());
        text != Some(true) && name(*node) != "br"
    })?;
    (matches!(name(next), "em" | "i" | "small" | "cite") && fits(next)).then_some(next.id())
}

/// The number of words, separated by white space.
pub(crate) fn word_count(text: &str) -> usize {
    text.split_whitespace().count()
}
