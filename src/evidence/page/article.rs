//! Finds the main text and the title of a page with dom_smoothie, which is Mozilla's Readability.

use std::borrow::Cow;
use std::collections::HashSet;

use dom_query::{Document, Element as Copied, NodeData, NodeId as CopyId};
use dom_smoothie::{Config, Readability};
use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef, Tree};
use html5ever::{Attribute, LocalName, QualName, local_name, ns};
use scraper::Node;

use super::elements::{is_inline, is_wordless};
use super::labels::Labels;
use crate::html::{element, name, normalised};
use crate::limits::{MAX_ARTICLE_ELEMENTS, MAX_NESTED_BYTES};

/// The attributes that Readability looks at, besides class and id. Those that hide an element have been considered before.
const ATTRIBUTES: [&str; 14] = [
    "role",
    "href",
    "src",
    "srcset",
    "itemprop",
    "rel",
    "colspan",
    "summary",
    "datatable",
    "type",
    "data-src",
    "property",
    "name",
    "content",
];
/// The attribute that numbers the elements of the copy that have text of their own.
const NUMBER: &str = "data-n";

/// What Readability says of a page.
#[derive(Default)]
pub(crate) struct Article {
    /// The elements and texts that belong to the main text. An element stands for the texts directly in it.
    nodes: HashSet<NodeId>,
    /// The title of the article, as the page declares it for other sites, or its `title` shortened; empty if it has none.
    pub title: String,
    /// The name of the site, if the page declares it.
    pub site: String,
}

impl Article {
    /// Looks for the main text outside the elements in `unread`, without the labels that say nothing. Nothing is found in a page with very many
    /// elements or very deep texts.
    pub fn read(tree: &Tree<Node>, unread: &HashSet<NodeId>, labels: &Labels) -> Article {
        let elements = tree.nodes().filter(|node| node.value().is_element());
        if elements.take(MAX_ARTICLE_ELEMENTS + 1).count() > MAX_ARTICLE_ELEMENTS {
            return Article::default();
        }
        let Some(copy) = Copy::of(tree, unread, labels) else {
            return Article::default();
        };
        let config = Config {
            disable_json_ld: true,
            ..Config::default()
        };
        let Ok(mut reader) = Readability::with_document(copy.document, None, Some(config)) else {
            return Article::default();
        };
        let (title, site, content) = match reader.parse() {
            Ok(found) => (found.title, found.site_name, Some(found.content)),
            Err(_) => {
                let metadata = reader.get_article_metadata(None);
                (metadata.title, metadata.site_name, None)
            }
        };
        let kept = content.iter().flat_map(|content| numbers(content));
        let kept = kept.filter_map(|number| copy.numbered.get(number));
        Article {
            nodes: kept.copied().collect(),
            title: normalised(&title),
            site: normalised(site.as_deref().unwrap_or_default()),
        }
    }

    /// Whether a text of the page belongs to the main text.
    pub fn contains(&self, text: NodeRef<'_, Node>) -> bool {
        let is_kept = |node: NodeRef<'_, Node>| self.nodes.contains(&node.id());
        is_kept(text) || text.parent().is_some_and(is_kept)
    }
}

/// A page as Readability reads it.
struct Copy {
    document: Document,
    /// The nodes of the page with their numbers in the copy.
    numbered: Vec<NodeId>,
    /// The names of a `span` and of [`NUMBER`]. It takes time to make one of a string.
    span: QualName,
    number: QualName,
}

impl Copy {
    /// Copies what is read of a page. Readability unwraps and renames elements, so a number is given to what it keeps as it is:
    /// paragraphs and parts of lines, and a `span` around each text that is directly in another element.
    fn of(tree: &Tree<Node>, unread: &HashSet<NodeId>, labels: &Labels) -> Option<Copy> {
        let mut copy = Copy {
            document: Document::default(),
            numbered: Vec::new(),
            span: QualName::new(None, ns!(html), local_name!("span")),
            number: QualName::new(None, ns!(), LocalName::from(NUMBER)),
        };
        let root = copy.document.root().id;
        let mut open = vec![root];
        let mut skipped: Option<NodeId> = None;
        let mut nested_bytes = 0;
        for edge in tree.root().traverse() {
            let parent = open.last().copied().unwrap_or(root);
            match edge {
                Edge::Open(_) if skipped.is_some() => {}
                Edge::Open(node) => match node.value() {
                    Node::Text(text) => {
                        nested_bytes += text.len() * open.len();
                        if nested_bytes > MAX_NESTED_BYTES {
                            return None;
                        }
                        let is_named = node.parent().is_some_and(|above| keeps_number(name(above)));
                        let parent = match text.trim() {
                            "" => parent,
                            _ if is_named => parent,
                            _ => copy.add(parent, copy.span.clone(), Some(node.id()), []),
                        };
                        let text = copy.document.tree.new_text(&*text.text).id;
                        copy.document.tree.append_child_of(&parent, &text);
                    }
                    // videos, buttons and the like are copied, because Readability counts them
                    Node::Element(element)
                        if is_wordless(element) || unread.contains(&node.id()) =>
                    {
                        skipped = Some(node.id());
                    }
                    Node::Element(element) => {
                        let has_text = |child: NodeRef<'_, Node>| {
                            let text = child.value().as_text();
                            text.is_some_and(|text| !text.trim().is_empty())
                        };
                        let is_numbered =
                            keeps_number(element.name()) && node.children().any(has_text);
                        let number = is_numbered.then_some(node.id());
                        let attributes = element.attrs.iter().filter_map(|(key, value)| {
                            let value = match &*key.local {
                                "class" | "id" => said(value, labels),
                                local if ATTRIBUTES.contains(&local) => Cow::Borrowed(&**value),
                                _ => return None,
                            };
                            Some(Attribute {
                                name: key.clone(),
                                value: (&*value).into(),
                            })
                        });
                        // Readability would replace it, and drop the number
                        let name = match element.name() {
                            "font" => copy.span.clone(),
                            _ => element.name.clone(),
                        };
                        open.push(copy.add(parent, name, number, attributes));
                    }
                    _ => {}
                },
                Edge::Close(node) if skipped.is_some() => {
                    skipped = skipped.filter(|skipped| *skipped != node.id());
                }
                Edge::Close(node) => {
                    if element(node).is_some() {
                        open.pop();
                    }
                }
            }
        }
        Some(copy)
    }

    /// Adds an element, with a number if it stands for a node of the page.
    fn add(
        &mut self,
        parent: CopyId,
        name: QualName,
        node: Option<NodeId>,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> CopyId {
        let number = node.map(|node| {
            self.numbered.push(node);
            Attribute {
                name: self.number.clone(),
                value: (self.numbered.len() - 1).to_string().into(),
            }
        });
        let attributes = number.into_iter().chain(attributes).collect();
        let element = Copied::new(name, attributes, None, false);
        let tree = &self.document.tree;
        let id = tree.create_node(NodeData::Element(element));
        tree.append_child_of(&parent, &id);
        id
    }
}

/// What a class or id says: the labels in it, without the idle ones.
fn said<'a>(value: &'a str, labels: &Labels) -> Cow<'a, str> {
    if !labels.is_idle(value) {
        return Cow::Borrowed(value);
    }
    let said = value.split_ascii_whitespace();
    let said: Vec<&str> = said.filter(|label| !labels.is_idle(label)).collect();
    Cow::Owned(said.join(" "))
}

/// Whether Readability keeps the attributes of an element with this name where it keeps its text.
fn keeps_number(name: &str) -> bool {
    name == "p" || is_inline(name)
}

/// The numbers in the HTML that Readability returns. It was written from a tree, so each `<` begins a tag; the number is its first attribute.
fn numbers(html: &str) -> impl Iterator<Item = usize> {
    html.split('<').filter_map(|tag| {
        let (name, attributes) = tag.split_once(' ')?;
        let value = attributes.strip_prefix(NUMBER)?.strip_prefix("=\"")?;
        let number = value.split_once('"')?.0.parse().ok()?;
        (!name.contains('>')).then_some(number)
    })
}
