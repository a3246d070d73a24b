//! Splits the visible text of a page into blocks, to find the words near the image and the main text.

use std::collections::HashSet;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef, Tree};
use scraper::Node;
use scraper::node::Element;

use super::article::Article;
use super::elements::{is_clutter, is_filler, is_hidden, is_inline, is_textless};
use super::labels::Labels;
use super::text::word_count;
use super::title::letters;
use crate::html::{attribute, element, name, normalised};

/// The number of words taken on each side of the image.
pub const NEAR_WORDS: usize = 60;
/// The maximum number of words of the main text: more than any article has, fewer than a book or a log file.
pub const MAIN_WORDS: usize = 10_000;

/// The number of ancestors of the image that may be an entry in a list of images.
const CARD_ANCESTORS: usize = 12;
/// The number of consecutive short links, without other words, that make a menu.
const MENU_LINKS: usize = 4;
/// The part of a page that contains the image is only used if it has this many words.
pub(crate) const MIN_NEAR_WORDS: usize = 20;
/// A main text of fewer bytes is what is left after Readability has given up all that it looks for.
const SURE_BYTES: usize = 500;
/// The number of nodes that are searched for an image in each entry of a list.
const CARD_NODES: usize = 200;

/// A text between two block boundaries.
#[derive(Default)]
struct PageBlock {
    text: String,
    words: usize,
    /// The number of words in links.
    linked: usize,
    /// The number of links.
    links: usize,
    /// The level of a heading, 1 to 6; 0 for other text.
    heading: u8,
    /// The number of words that Readability counts to the main text.
    main: usize,
    /// Whether it is navigation, a footer, a menu or the like, not content, by a label or by what is in it.
    clutter: bool,
    scope: Scope,
}

/// The part of the page that contains a block.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Scope {
    /// The number of the outermost `article`, from 1; 0 if it is in none.
    article: usize,
    /// Whether it is in the part declared as the main one.
    main: bool,
    /// Whether it is in the same entry of a list as the image.
    list_entry: bool,
}

impl PageBlock {
    /// The share of words in links.
    fn link_density(&self) -> f64 {
        self.linked as f64 / self.words.max(1) as f64
    }

    /// Whether at least half of it belongs to the main text.
    fn is_main(&self) -> bool {
        self.main > 0 && 2 * self.main >= self.words
    }
}

/// The text of a page, as blocks in document order.
pub(crate) struct Blocks {
    blocks: Vec<PageBlock>,
    /// The index of the block after the image.
    image: Option<usize>,
    image_scope: Scope,
}

/// The properties of text directly in an open element.
#[derive(Clone, Copy, Default)]
struct Context {
    link: bool,
    clutter: bool,
    heading: u8,
    scope: Scope,
}

impl Blocks {
    /// Splits the page into blocks, with a boundary at the image. The caption is left out, and so are the unread elements.
    pub fn read(
        tree: &Tree<Node>,
        image: Option<NodeId>,
        caption: Option<NodeId>,
        unread: &HashSet<NodeId>,
        labels: &Labels,
        article: &Article,
    ) -> Blocks {
        // Neither an element that contains the image or the declared main part nor one that contains a headline is clutter.
        let declared = main_part(tree);
        let never_clutter = with_ancestors(tree, |node| {
            Some(node.id()) == image || Some(node.id()) == declared || name(node) == "h1"
        });
        let entry = image.and_then(|image| list_entry(tree, image));
        let mut page = Blocks {
            blocks: Vec::new(),
            image: None,
            image_scope: Scope::default(),
        };
        let mut block = PageBlock::default();
        let mut stack: Vec<Context> = vec![Context::default()];
        let mut skipped: Option<NodeId> = None;
        let mut articles = 0;
        for edge in tree.root().traverse() {
            let context = stack.last().copied().unwrap_or_default();
            match edge {
                Edge::Open(node) => {
                    if image == Some(node.id()) {
                        page.end(&mut block);
                        page.image = Some(page.blocks.len());
                        page.image_scope = context.scope;
                    }
                    if skipped.is_some() {
                        continue;
                    }
                    match node.value() {
                        Node::Text(text) => {
                            block.push(text, context);
                            if article.contains(node) {
                                block.main += word_count(text);
                            }
                        }
                        Node::Element(element) => {
                            let is_shown = !is_textless(element) && !unread.contains(&node.id());
                            if !is_shown || caption == Some(node.id()) {
                                skipped = Some(node.id());
                                block.text.push(' ');
                                continue;
                            }
                            if !is_inline(element.name()) {
                                page.end(&mut block);
                            } else if matches!(element.name(), "br" | "img" | "wbr") {
                                block.text.push(' ');
                            }
                            block.links += usize::from(element.name() == "a");
                            let keep = never_clutter.contains(&node.id());
                            let mut inner = context.within(element, keep, labels, &mut articles);
                            inner.scope.list_entry |= entry == Some(node.id());
                            stack.push(inner);
                        }
                        _ => {}
                    }
                }
                Edge::Close(node) if skipped.is_some() => {
                    skipped = skipped.filter(|skipped| *skipped != node.id())
                }
                Edge::Close(node) => {
                    if let Some(element) = element(node) {
                        if !is_inline(element.name()) {
                            page.end(&mut block);
                        }
                        stack.pop();
                    }
                }
            }
        }
        page.end(&mut block);
        page.mark_clutter();
        page
    }

    /// Adds a block, unless it has no words.
    fn end(&mut self, block: &mut PageBlock) {
        let mut ended = std::mem::take(block);
        ended.text = normalised(&ended.text);
        ended.words = word_count(&ended.text);
        if is_filler(&ended.text) {
            ended.clutter = true;
            ended.main = 0;
        }
        if ended.words > 0 {
            self.blocks.push(ended);
        }
    }

    /// Marks runs of short links as clutter. The main text is no clutter, unless it is so short that
    /// Readability took whatever there was.
    fn mark_clutter(&mut self) {
        let runs = self
            .blocks
            .chunk_by_mut(|a, b| a.is_links() && b.is_links());
        for run in runs {
            let links: usize = run.iter().map(|block| block.links).sum();
            if links >= MENU_LINKS && run.iter().all(PageBlock::is_links) {
                run.iter_mut().for_each(|block| block.clutter = true);
            }
        }
        let main = self.blocks.iter().filter(|block| block.is_main());
        if main.map(|block| block.text.len()).sum::<usize>() >= SURE_BYTES {
            for block in &mut self.blocks {
                block.clutter &= !block.is_main();
            }
        }
    }

    /// The text of the first `h1` that is not clutter; empty if there is none.
    pub(crate) fn first_heading(&self) -> String {
        let mut headlines = self.blocks.iter().filter(|b| b.heading == 1 && !b.clutter);
        headlines
            .next()
            .map_or_else(String::new, |block| block.text.clone())
    }

    /// The indices of the blocks that are the page's main text: those that Readability finds or, if it finds none, all that are not clutter.
    pub fn main(&self) -> Vec<usize> {
        let is_main = |i: &usize| self.blocks[*i].is_main() && !self.blocks[*i].clutter;
        let has_main = (0..self.blocks.len()).any(|i| is_main(&i));
        let is_wanted = |i: &usize| is_main(i) || (!has_main && !self.blocks[*i].clutter);
        (0..self.blocks.len()).filter(is_wanted).collect()
    }

    /// The words before and after the image; see [`super::PageWords`].
    ///
    /// They are taken from the list entry, else the article, else the `main` that contains the image, if that has enough words. Clutter and
    /// the caption are skipped. The words end at a headline (`h1`).
    pub fn near(&self, caption: &str) -> (String, String) {
        let Some(image) = self.image else {
            return Default::default();
        };
        let region = self.region(true);
        let is_near = |block: &&PageBlock| {
            region(block) && !(block.words > 2 && caption.contains(&block.text))
        };
        let (above, below) = self.blocks.split_at(image);
        let mut before: Vec<&str> = Vec::new();
        for block in above.iter().rev().filter(is_near) {
            before.extend(block.text.split(' ').rev().take(NEAR_WORDS - before.len()));
            if before.len() == NEAR_WORDS || block.heading == 1 {
                break;
            }
        }
        before.reverse();
        let after = below.iter().filter(is_near);
        let after = first_words(after.take_while(|block| block.heading != 1), NEAR_WORDS);
        (before.join(" "), after)
    }

    /// Whether a block belongs to the same part of the page as the image, and is not clutter. The part may be a list entry if
    /// `list_entry` is true.
    fn region(&self, list_entry: bool) -> impl Fn(&PageBlock) -> bool {
        let Scope { article, main, .. } = self.image_scope;
        let list_entry = list_entry && self.image_scope.list_entry;
        let is_large = |wanted: &dyn Fn(Scope) -> bool| {
            let readable = self.blocks.iter().filter(|block| !block.clutter);
            let within = readable.filter(|block| wanted(block.scope));
            within.map(|block| block.words).sum::<usize>() >= MIN_NEAR_WORDS
        };
        let by_entry = list_entry && is_large(&|scope| scope.list_entry);
        let by_article = article > 0 && is_large(&|scope| scope.article == article);
        let by_main = main && is_large(&|scope| scope.main);
        move |PageBlock { scope, clutter, .. }| {
            let within = if by_entry {
                scope.list_entry
            } else if by_article {
                scope.article == article
            } else {
                scope.main || !by_main
            };
            within && !clutter
        }
    }

    /// The headings above the image or, if it has no position, above the main text: the nearest, the nearest of a higher level above that one, and
    /// so on. The outermost is first, one per line; headings that repeat one of the titles are left out.
    pub fn headings(&self, main: &[usize], titles: [&str; 2]) -> String {
        let above_main = main.first().map_or(0, |first| first + 1);
        let above = &self.blocks[..self.image.unwrap_or(above_main)];
        let region = self.region(false);
        let titles = titles.map(letters);
        let mut chain: Vec<&str> = Vec::new();
        let mut level = 7;
        for block in above.iter().rev().filter(|block| region(block)) {
            if !(1..level).contains(&block.heading) {
                continue;
            }
            level = block.heading;
            let heading = letters(&block.text);
            let repeats = |title: &String| {
                title.contains(&heading)
                    || (heading.contains(title) && heading.len() < 2 * title.len())
            };
            if !titles.iter().any(repeats) {
                chain.push(&block.text);
            }
        }
        chain.reverse();
        chain.join("\n")
    }

    /// The first [`NEAR_WORDS`] words of these blocks.
    pub fn start(&self, blocks: &[usize]) -> String {
        first_words(blocks.iter().map(|i| &self.blocks[*i]), NEAR_WORDS)
    }

    /// The text of these blocks, one per line, up to [`MAIN_WORDS`] words.
    pub fn join(&self, blocks: &[usize]) -> String {
        let mut left = MAIN_WORDS;
        let mut lines = Vec::new();
        for block in blocks.iter().map(|i| &self.blocks[*i]) {
            if left == 0 {
                break;
            }
            lines.push(first_words([block], left));
            left = left.saturating_sub(block.words);
        }
        lines.join("\n")
    }
}

impl PageBlock {
    fn push(&mut self, text: &str, context: Context) {
        if self.text.trim_end().is_empty() {
            self.clutter = context.clutter;
            self.heading = context.heading;
            self.scope = context.scope;
        }
        self.text.push_str(text);
        if context.link {
            // a link that contains several blocks counts in each of them
            self.links = self.links.max(1);
            self.linked += text.split_whitespace().count();
        }
    }

    /// Whether it is almost only short links.
    fn is_links(&self) -> bool {
        self.heading == 0 && self.words <= 8 * self.links && self.link_density() > 0.8
    }
}

impl Context {
    /// The context in a child element. With `keep`, the element is never treated as clutter.
    fn within(
        self,
        element: &Element,
        keep: bool,
        labels: &Labels,
        articles: &mut usize,
    ) -> Context {
        let mut inner = self;
        match element.name() {
            "a" => inner.link = true,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                inner.heading = element.name().as_bytes()[1] - b'0';
            }
            "article" if inner.scope.article == 0 => {
                *articles += 1;
                inner.scope.article = *articles;
            }
            "main" => inner.scope.main = true,
            _ => {}
        }
        inner.scope.main |= attribute(element, "role") == "main";
        inner.clutter |= !keep && labels.may_be_clutter(element);
        inner
    }
}

/// Up to `limit` words, separated by single spaces.
fn first_words<'a>(blocks: impl IntoIterator<Item = &'a PageBlock>, limit: usize) -> String {
    let words = blocks.into_iter().flat_map(|block| block.text.split(' '));
    words.take(limit).collect::<Vec<_>>().join(" ")
}

/// The elements that are not read: those that an attribute hides, and those that are declared as navigation and the like.
///
/// An element that contains the image or the declared main part is read all the same: pages are saved while dialogs are open over them. So is
/// navigation with a headline.
pub(super) fn unread(tree: &Tree<Node>, image: Option<NodeId>) -> HashSet<NodeId> {
    let declared = main_part(tree);
    let shown = with_ancestors(tree, |node| {
        Some(node.id()) == image || Some(node.id()) == declared || name(node) == "body"
    });
    let headed = with_ancestors(tree, |node| name(node) == "h1");
    let is_unread = |node: &NodeRef<'_, Node>| {
        let Some(element) = element(*node).filter(|_| !shown.contains(&node.id())) else {
            return false;
        };
        let mut above = node.ancestors();
        let in_article = || above.any(is_article);
        is_hidden(element) || (!headed.contains(&node.id()) && is_clutter(element, in_article))
    };
    let nodes = tree.nodes().filter(is_unread);
    nodes.map(|node| node.id()).collect()
}

/// Whether a node is an article, or declared as the main part of the page.
fn is_article(node: NodeRef<'_, Node>) -> bool {
    let is = |element: &Element| {
        matches!(element.name(), "article" | "main") || attribute(element, "role") == "main"
    };
    element(node).is_some_and(is)
}

/// The element that is declared as the main part of the page, if only one is. Pages that load others as one scrolls hide several.
fn main_part(tree: &Tree<Node>) -> Option<NodeId> {
    let mut declared = tree.nodes().filter(|node| {
        element(*node).is_some_and(|element| {
            element.name() == "main"
                || attribute(element, "role") == "main"
                || attribute(element, "itemprop") == "articleBody"
        })
    });
    let first = declared.next()?;
    // one inside the other declares the same part
    let is_apart = |node: NodeRef<'_, Node>| node.ancestors().all(|above| above != first);
    (!declared.any(is_apart)).then(|| first.id())
}

/// The nodes for which `kind` is true, with all their ancestors.
fn with_ancestors(tree: &Tree<Node>, kind: impl Fn(NodeRef<'_, Node>) -> bool) -> HashSet<NodeId> {
    let mut nodes = HashSet::new();
    for node in tree.nodes().filter(|node| kind(*node)) {
        // stops at the first known ancestor, so each node is visited once
        for node in std::iter::once(node).chain(node.ancestors()) {
            if !nodes.insert(node.id()) {
                break;
            }
        }
    }
    nodes
}

/// The entry of a list or grid that contains the image: its lowest ancestor with at least two siblings that have the same name and class and
/// show an image, too.
fn list_entry(tree: &Tree<Node>, image: NodeId) -> Option<NodeId> {
    let image = tree.get(image)?;
    fn name_and_class<'a>(node: NodeRef<'a, Node>) -> Option<(&'a str, &'a str)> {
        element(node).map(|e| (e.name(), attribute(e, "class")))
    }
    let shows_image = |node: &NodeRef<'_, Node>| {
        let mut inner = node.descendants().take(CARD_NODES);
        inner.any(|inner| name(inner) == "img")
    };
    let entry = image.ancestors().take(CARD_ANCESTORS).find(|node| {
        let own = name_and_class(*node);
        let listed = own.as_ref().is_some_and(|(name, class)| {
            matches!(*name, "li" | "tr" | "td" | "dd" | "article")
                || (*name == "div" && !class.is_empty())
        });
        let siblings = node.parent().into_iter();
        let mut like = siblings
            .flat_map(|parent| parent.children().take(CARD_NODES))
            .filter(|other| name_and_class(*other) == own && shows_image(other));
        listed && like.nth(2).is_some()
    });
    entry.map(|node| node.id())
}
