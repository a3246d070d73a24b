//! Splits the visible text of a page into blocks, to find the words near the image and the main text.

use std::collections::HashSet;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef, Tree};
use scraper::Node;
use scraper::node::Element;

use super::elements::{is_clutter, is_filler, is_hidden, is_inline, is_textless};
use super::text::word_count;
use crate::html::{attribute, element, name, normalised};

/// The number of words taken on each side of the image.
pub const NEAR_WORDS: usize = 60;
/// The maximum number of words of the main text: more than any article has, fewer than a book or a log file.
pub const MAIN_WORDS: usize = 10_000;

/// The number of ancestors of the image that may be an entry in a list of images.
const CARD_ANCESTORS: usize = 12;
/// An `article` or `main` with fewer content words is a teaser, not the main text.
const SCOPE_WORDS: usize = 40;
/// The number of consecutive short links, without other words, that make a menu.
const MENU_LINKS: usize = 4;
/// The part of a page that contains the image is only used if it has this many words.
pub(crate) const MIN_NEAR_WORDS: usize = 20;
/// If the main text has fewer words, all blocks that are not clutter are used instead.
const MIN_MAIN_WORDS: usize = 20;
/// The number of nodes that are searched for an image in each entry of a list.
const CARD_NODES: usize = 200;

/// A text between two block boundaries.
#[derive(Default)]
struct Block {
    text: String,
    words: usize,
    /// The number of words in links.
    linked: usize,
    /// The number of links.
    links: usize,
    /// The level of a heading, 1 to 6; 0 for other text.
    heading: u8,
    /// Whether it is navigation, a footer, a menu or the like, not content.
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

impl Block {
    /// The share of words in links.
    fn link_density(&self) -> f64 {
        self.linked as f64 / self.words.max(1) as f64
    }
}

/// The text of a page, as blocks in document order.
pub(crate) struct Blocks {
    blocks: Vec<Block>,
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
    /// Splits the page into blocks, with a boundary at the image. The caption is left out.
    pub fn read(tree: &Tree<Node>, image: Option<NodeId>, caption: Option<NodeId>) -> Blocks {
        // An element that contains the image or the declared main part is never hidden, and neither such an element nor one that contains
        // a headline is clutter. Attributes may say otherwise, because pages are saved while dialogs are open over them.
        let never_hidden = with_ancestors(tree, |node| Some(node.id()) == image || is_main(node));
        let never_clutter = with_ancestors(tree, |node| {
            never_hidden.contains(&node.id()) || name(node) == "h1"
        });
        let entry = image.and_then(|image| list_entry(tree, image));
        let mut page = Blocks {
            blocks: Vec::new(),
            image: None,
            image_scope: Scope::default(),
        };
        let mut block = Block::default();
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
                        Node::Text(text) => block.push(text, context),
                        Node::Element(element) => {
                            let hidden = is_textless(element)
                                || (is_hidden(element) && !never_hidden.contains(&node.id()));
                            if hidden || caption == Some(node.id()) {
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
                            let mut inner = context.within(element, keep, &mut articles);
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
        page.mark_menus();
        page
    }

    /// Adds a block, unless it has no words.
    fn end(&mut self, block: &mut Block) {
        let mut ended = std::mem::take(block);
        ended.text = normalised(&ended.text);
        ended.words = word_count(&ended.text);
        ended.clutter |= is_filler(&ended.text);
        if ended.words > 0 {
            self.blocks.push(ended);
        }
    }

    /// Marks runs of short links as clutter.
    fn mark_menus(&mut self) {
        let runs = self
            .blocks
            .chunk_by_mut(|a, b| a.is_links() && b.is_links());
        for run in runs {
            let links: usize = run.iter().map(|block| block.links).sum();
            if links >= MENU_LINKS && run.iter().all(Block::is_links) {
                run.iter_mut().for_each(|block| block.clutter = true);
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

    /// The indices of the blocks that are the page's main text.
    ///
    /// Whether a block is content is decided from its number of words and link density and those of its neighbours, by the decision tree of
    /// Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features", WSDM 2010, figure 3. If a `main` or
    /// `article` contains a good share of the content, only content in it counts.
    pub fn main(&self) -> Vec<usize> {
        let text: Vec<usize> = (0..self.blocks.len())
            .filter(|i| !self.blocks[*i].clutter)
            .collect();
        let at = |n: Option<usize>| n.and_then(|n| Some(&self.blocks[*text.get(n)?]));
        let is_content =
            |n: &usize| is_content(at(n.checked_sub(1)), at(Some(*n)), at(Some(n + 1)));
        let content = (0..text.len())
            .filter(is_content)
            .map(|n| text[n])
            .collect();
        let scoped = self.largest_part(content, |scope| usize::from(scope.main));
        let scoped = self.largest_part(scoped, |scope| scope.article);
        let words: usize = scoped.iter().map(|i| self.blocks[*i].words).sum();
        if words >= MIN_MAIN_WORDS {
            scoped
        } else {
            text
        }
    }

    /// The blocks in the part with the most words, if it has at least [`SCOPE_WORDS`] and a third of all words; else all blocks. `part` gives
    /// the number of a block's part, 0 if it is in none.
    fn largest_part(&self, blocks: Vec<usize>, part: impl Fn(Scope) -> usize) -> Vec<usize> {
        let part_of = |i: &usize| part(self.blocks[*i].scope);
        let parts = blocks.iter().map(part_of).max().unwrap_or(0);
        let mut words = vec![0; parts + 1];
        for i in &blocks {
            words[part_of(i)] += self.blocks[*i].words;
        }
        let all: usize = words.iter().sum();
        // of equally large parts, the first
        match (1..=parts).rev().max_by_key(|part| words[*part]) {
            Some(best) if words[best] >= SCOPE_WORDS && words[best] * 3 >= all => {
                blocks.into_iter().filter(|i| part_of(i) == best).collect()
            }
            _ => blocks,
        }
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
        let is_near =
            |block: &&Block| region(block) && !(block.words > 2 && caption.contains(&block.text));
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
    fn region(&self, list_entry: bool) -> impl Fn(&Block) -> bool {
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
        move |Block { scope, clutter, .. }| {
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
    /// so on. The outermost is first, one per line; headings that repeat the title are left out.
    pub fn headings(&self, main: &[usize], title: &str) -> String {
        let above_main = main.first().map_or(0, |first| first + 1);
        let above = &self.blocks[..self.image.unwrap_or(above_main)];
        let region = self.region(false);
        let title = letters(title);
        let mut chain: Vec<&str> = Vec::new();
        let mut level = 7;
        for block in above.iter().rev().filter(|block| region(block)) {
            if !(1..level).contains(&block.heading) {
                continue;
            }
            level = block.heading;
            let heading = letters(&block.text);
            let repeats = title.contains(&heading)
                || (heading.contains(&title) && heading.len() < 2 * title.len());
            if !repeats {
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

impl Block {
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
    fn within(self, element: &Element, keep: bool, articles: &mut usize) -> Context {
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
        inner.clutter |= !keep && is_clutter(element, inner.scope.main || inner.scope.article > 0);
        inner
    }
}

/// Whether a block is content, by figure 3 of the paper cited at [`Blocks::main`].
fn is_content(previous: Option<&Block>, block: Option<&Block>, next: Option<&Block>) -> bool {
    let density = |block: Option<&Block>| block.map_or(0.0, Block::link_density);
    let words = |block: Option<&Block>| block.map_or(0, |block| block.words);
    if density(block) > 0.333_333 {
        return false;
    }
    if density(previous) > 0.555_556 {
        return words(block) > 40 || words(next) > 17;
    }
    words(block) > 16 || words(next) > 15 || words(previous) > 4
}

/// Up to `limit` words, separated by single spaces.
fn first_words<'a>(blocks: impl IntoIterator<Item = &'a Block>, limit: usize) -> String {
    let words = blocks.into_iter().flat_map(|block| block.text.split(' '));
    words.take(limit).collect::<Vec<_>>().join(" ")
}

/// The letters, in lower case, and digits of a text, for comparison.
fn letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether the node is declared as the main part of the page.
fn is_main(node: NodeRef<'_, Node>) -> bool {
    element(node).is_some_and(|element| {
        matches!(element.name(), "main" | "body")
            || attribute(element, "role") == "main"
            || attribute(element, "itemprop") == "articleBody"
    })
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
