//! The texts of the head, of the caption and of any subtree.

use std::iter::successors;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef, Tree};
use scraper::Node;

use super::elements::{is_hidden, is_inline, is_textless};
use crate::html::{attribute, element, has_id, name, normalised, parse};

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
pub struct PageMetadata {
    pub title: String,
    pub og_title: String,
    pub description: String,
    /// The address of the page, as it declares it.
    pub address: String,
    /// The alternative text of `og:image` or `twitter:image`.
    pub image_alt: String,
}

impl PageMetadata {
    /// Reads the metadata, wherever in the page they are.
    pub fn read(tree: &Tree<Node>) -> PageMetadata {
        let mut head = PageMetadata::default();
        let mut social_description = String::new();
        for node in tree.root().descendants() {
            let Some(element) = element(node) else {
                continue;
            };
            match element.name() {
                "title" if head.title.is_empty() && !node.ancestors().any(|n| name(n) == "svg") => {
                    head.title = of_subtree(tree, node.id())
                }
                "link"
                    if head.address.is_empty()
                        && attribute(element, "rel").eq_ignore_ascii_case("canonical") =>
                {
                    head.address = normalised(attribute(element, "href"));
                }
                "meta" => {
                    let key = ["property", "name"].map(|name| attribute(element, name));
                    let key = key.into_iter().find(|key| !key.is_empty());
                    let slot = match &*key.unwrap_or_default().to_ascii_lowercase() {
                        "description" => &mut head.description,
                        "og:url" => &mut head.address,
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
pub(crate) fn caption_node<'a>(tree: &'a Tree<Node>, position: NodeId) -> Option<NodeId> {
    let image = tree.get(position)?;
    let words = |node: NodeRef<'_, Node>| word_count(&of_subtree(tree, node.id()));
    let fits = |node: NodeRef<'_, Node>| (1..=CAPTION_WORDS).contains(&words(node));
    let is_image = |node: NodeRef<'_, Node>| {
        matches!(name(node), "img" | "video" | "iframe") && node.id() != position
    };
    let mut around = image.ancestors().take(CAPTION_ANCESTORS * 2);
    if let Some(figure) = around.find(|node| name(*node) == "figure")
        && let Some(caption) = figure.descendants().find(|n| name(*n) == "figcaption")
        && fits(caption)
    {
        let label = words(caption) < LABEL_WORDS && words(figure) > words(caption) && fits(figure);
        return Some(if label { figure.id() } else { caption.id() });
    }
    let described_by = element(image).map_or("", |element| attribute(element, "aria-describedby"));
    if !described_by.is_empty() {
        let mut named = tree.nodes().filter(|node| has_id(*node, described_by));
        if let Some(caption) = named.find(|node| fits(*node)) {
            return Some(caption.id());
        }
    }
    for ancestor in image.ancestors().take(CAPTION_ANCESTORS) {
        if matches!(name(ancestor), "body" | "main" | "article") {
            break;
        }
        let within = |node: NodeRef<'a, Node>| node.descendants().take(CAPTION_NODES);
        if within(ancestor).any(is_image) {
            break;
        }
        let caption = within(ancestor).find(|node| {
            let class = element(*node).map_or("", |element| attribute(element, "class"));
            class.to_ascii_lowercase().contains("caption")
                && within(*node).all(|node| node.id() != position)
                && fits(*node)
        });
        if let Some(caption) = caption {
            return Some(caption.id());
        }
    }
    let outer = successors(Some(image), |node| {
        let parent = node.parent();
        parent.filter(|parent| matches!(name(*parent), "a" | "picture"))
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

/// The first text that is not empty; empty if all are.
pub(super) fn first_of<const N: usize>(texts: [String; N]) -> String {
    let mut texts = texts.into_iter();
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}
