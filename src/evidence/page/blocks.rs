//! The visible text of a page as blocks in document order: the words near the image, and the main text.

use std::collections::HashSet;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef, Tree};
use scraper::Node;
use scraper::node::Element;

use super::elements::{is_clutter, is_filler, is_hidden, is_inline, is_textless};
use super::text::word_count;
use super::tree::{attribute, element, name, normalised};
use super::{MAIN_WORDS, NEAR_WORDS};

/// Ancestors that can be an entry of a list of images.
const CARD_ANCESTORS: usize = 12;
/// An `article` or `main` with fewer content words is a teaser, not what the page is about.
const SCOPE_WORDS: usize = 40;
/// As many short links in a row with no other words are a menu.
const MENU_LINKS: usize = 4;
/// Fewer words are not what a place of the page says of an image.
pub const NEAR_AT_LEAST: usize = 20;
/// A main text with fewer words is taken again from all that is no clutter.
const MAIN_AT_LEAST: usize = 20;
/// Nodes that are looked through for the images of a list's entries, for each entry.
const CARD_NODES: usize = 200;

/// Text between two block boundaries.
#[derive(Default)]
struct Block {
    text: String,
    words: usize,
    /// How many of the words are links.
    linked: usize,
    /// How many links they are.
    links: usize,
    /// 1 to 6; 0 for text.
    heading: u8,
    /// Navigation, a footer, a menu: nothing that the page says.
    clutter: bool,
    scope: Scope,
}

/// In which part of the page a block stands.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Scope {
    /// Number of the outermost `article`, from 1; 0 outside of all.
    article: usize,
    main: bool,
    /// In the entry of a list that the image stands in.
    card: bool,
}

impl Block {
    fn link_density(&self) -> f64 {
        self.linked as f64 / self.words.max(1) as f64
    }
}

/// The page's text in document order.
pub struct Blocks {
    blocks: Vec<Block>,
    /// The image stands before the block of this number.
    place: Option<usize>,
    place_scope: Scope,
}

/// What holds for the text directly within an open element.
#[derive(Clone, Copy, Default)]
struct Context {
    link: bool,
    clutter: bool,
    heading: u8,
    scope: Scope,
}

impl Blocks {
    /// Cuts the page into blocks, with a cut at the image. The caption is left out.
    pub fn read(tree: &Tree<Node>, place: Option<NodeId>, caption: Option<NodeId>) -> Blocks {
        // what holds the image or the declared main part is never hidden, and neither that nor what holds a
        // headline is clutter, whatever attributes say: pages are saved with dialogs open over them
        let shown = holding(tree, |node| Some(node.id()) == place || is_main(node));
        let told = holding(tree, |node| {
            shown.contains(&node.id()) || name(node) == "h1"
        });
        let card = place.and_then(|place| card(tree, place));
        let mut page = Blocks {
            blocks: Vec::new(),
            place: None,
            place_scope: Scope::default(),
        };
        let mut block = Block::default();
        let mut stack: Vec<Context> = vec![Context::default()];
        let mut skipped: Option<NodeId> = None;
        let mut articles = 0;
        for edge in tree.root().traverse() {
            let context = stack.last().copied().unwrap_or_default();
            match edge {
                Edge::Open(node) => {
                    if place == Some(node.id()) {
                        page.end(&mut block);
                        page.place = Some(page.blocks.len());
                        page.place_scope = context.scope;
                    }
                    if skipped.is_some() {
                        continue;
                    }
                    match node.value() {
                        Node::Text(text) => block.push(text, context),
                        Node::Element(element) => {
                            let hidden = is_textless(element)
                                || (is_hidden(element) && !shown.contains(&node.id()));
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
                            stack.push(context.within(
                                element,
                                told.contains(&node.id()),
                                &mut articles,
                            ));
                            if let Some(inner) = stack.last_mut() {
                                inner.scope.card |= card == Some(node.id());
                            }
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

    fn end(&mut self, block: &mut Block) {
        let mut ended = std::mem::take(block);
        ended.text = normalised(&ended.text);
        ended.words = word_count(&ended.text);
        ended.clutter |= is_filler(&ended.text);
        if ended.words > 0 {
            self.blocks.push(ended);
        }
    }

    /// Runs of short links with no other words are menus.
    fn mark_menus(&mut self) {
        for run in self
            .blocks
            .chunk_by_mut(|a, b| a.is_links() && b.is_links())
        {
            let links: usize = run.iter().map(|block| block.links).sum();
            if links >= MENU_LINKS && run.iter().all(Block::is_links) {
                run.iter_mut().for_each(|block| block.clutter = true);
            }
        }
    }

    /// The first `h1` that is no clutter.
    pub fn first_heading(&self) -> String {
        let first = self
            .blocks
            .iter()
            .find(|block| block.heading == 1 && !block.clutter);
        first.map(|block| block.text.clone()).unwrap_or_default()
    }

    /// Numbers of the blocks that are the page's main text.
    ///
    /// Content or not is decided for each block from its words and link density and those of its neighbours:
    /// the decision tree of Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text
    /// Features", WSDM 2010, figure 3. If the page says which `main` or which `article` is its own, and content
    /// stands there, the rest is left out.
    pub fn main(&self) -> Vec<usize> {
        let text: Vec<usize> = (0..self.blocks.len())
            .filter(|i| self.at(*i).is_some_and(|b| !b.clutter))
            .collect();
        let content: Vec<usize> = text
            .iter()
            .enumerate()
            .filter(|(n, _)| {
                let neighbour =
                    |n: Option<usize>| n.and_then(|n| text.get(n)).and_then(|i| self.at(*i));
                is_content(
                    neighbour(n.checked_sub(1)),
                    neighbour(Some(*n)),
                    neighbour(Some(n + 1)),
                )
            })
            .map(|(_, i)| *i)
            .collect();
        let mut scoped = self.narrowed(content, |scope| usize::from(scope.main));
        scoped = self.narrowed(scoped, |scope| scope.article);
        if self.words(&scoped) >= MAIN_AT_LEAST {
            scoped
        } else {
            text
        }
    }

    /// The blocks of the part with most words, if `part` tells parts (from 1) apart and this one has
    /// a good share of the words; else all.
    fn narrowed(&self, blocks: Vec<usize>, part: impl Fn(Scope) -> usize) -> Vec<usize> {
        let part_of = |i: &usize| self.at(*i).map_or(0, |block| part(block.scope));
        let parts = blocks.iter().map(part_of).max().unwrap_or(0);
        let mut words = vec![0; parts + 1];
        for i in &blocks {
            if let (Some(slot), Some(block)) = (words.get_mut(part_of(i)), self.at(*i)) {
                *slot += block.words;
            }
        }
        let all: usize = words.iter().sum();
        let best = (1..=parts)
            .rev()
            .max_by_key(|part| words.get(*part).copied());
        let Some((best, size)) = best.and_then(|best| Some((best, *words.get(best)?))) else {
            return blocks;
        };
        if size < SCOPE_WORDS || size * 3 < all {
            return blocks;
        }
        blocks.into_iter().filter(|i| part_of(i) == best).collect()
    }

    /// The words before and after the image; see [`super::PageWords`].
    ///
    /// They do not leave the list entry, the article or the `main` that the image stands in, unless little text is in
    /// it; they pass over clutter and the caption's words, and end at the page's headline (`h1`).
    pub fn near(&self, caption: &str) -> (String, String) {
        let Some(place) = self.place else {
            return Default::default();
        };
        let region = self.region(true);
        let in_region = |i: &usize| {
            let repeats = |block: &Block| block.words > 2 && caption.contains(&block.text);
            region(*i) && !self.at(*i).is_some_and(repeats)
        };
        let mut before: Vec<&str> = Vec::new();
        for block in (0..place)
            .rev()
            .filter(in_region)
            .filter_map(|i| self.at(i))
        {
            before.extend(block.text.split(' ').rev().take(NEAR_WORDS - before.len()));
            if before.len() == NEAR_WORDS || block.heading == 1 {
                break;
            }
        }
        before.reverse();
        let after = (place..self.blocks.len())
            .filter(in_region)
            .filter_map(|i| self.at(i));
        let after = first_words(after.take_while(|block| block.heading != 1), NEAR_WORDS);
        (before.join(" "), after)
    }

    /// Whether a block may give words near the image: in the same article or `main`, with `card` in the same list entry.
    fn region(&self, card: bool) -> impl Fn(usize) -> bool + '_ {
        let Scope { article, main, .. } = self.place_scope;
        let card = card && self.place_scope.card;
        let readable = |i: usize| self.at(i).is_some_and(|block| !block.clutter);
        let words = |wanted: &dyn Fn(Scope) -> bool| {
            let within = self
                .blocks
                .iter()
                .filter(|block| !block.clutter && wanted(block.scope));
            within.map(|block| block.words).sum::<usize>()
        };
        let by_card = card && words(&|scope| scope.card) >= NEAR_AT_LEAST;
        let by_article = article > 0 && words(&|scope| scope.article == article) >= NEAR_AT_LEAST;
        let by_main = main && words(&|scope| scope.main) >= NEAR_AT_LEAST;
        move |i| {
            let scope = self.at(i).map(|block| block.scope).unwrap_or_default();
            let within = if by_card {
                scope.card
            } else if by_article {
                scope.article == article
            } else {
                scope.main || !by_main
            };
            within && readable(i)
        }
    }

    /// The headings above the image (or above the main text): the nearest, then the nearest of a higher level, and
    /// so on; outermost first, one a line. Without those that say what the title says.
    pub fn headings(&self, main: &[usize], title: &str) -> String {
        let place = self
            .place
            .or_else(|| main.first().map(|first| first + 1))
            .unwrap_or(0);
        let region = self.region(false);
        let title = letters(title);
        let mut chain: Vec<&str> = Vec::new();
        let mut level = 7;
        for i in (0..place).rev().filter(|i| region(*i)) {
            let Some(block) = self
                .at(i)
                .filter(|block| (1..level).contains(&block.heading))
            else {
                continue;
            };
            level = block.heading;
            let says = letters(&block.text);
            let repeats =
                title.contains(&says) || (says.contains(&title) && says.len() < 2 * title.len());
            if !repeats {
                chain.push(&block.text);
            }
        }
        chain.reverse();
        chain.join("\n")
    }

    /// The first words of these blocks.
    pub fn start(&self, blocks: &[usize]) -> String {
        first_words(blocks.iter().filter_map(|i| self.at(*i)), NEAR_WORDS)
    }

    /// The text of these blocks, one a line, up to [`MAIN_WORDS`] words.
    pub fn join(&self, blocks: &[usize]) -> String {
        let mut left = MAIN_WORDS;
        let mut lines = Vec::new();
        for block in blocks.iter().filter_map(|i| self.at(*i)) {
            if left == 0 {
                break;
            }
            lines.push(first_words([block], left));
            left = left.saturating_sub(block.words);
        }
        lines.join("\n")
    }

    fn at(&self, i: usize) -> Option<&Block> {
        self.blocks.get(i)
    }

    fn words(&self, blocks: &[usize]) -> usize {
        blocks
            .iter()
            .filter_map(|i| self.at(*i))
            .map(|block| block.words)
            .sum()
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
            // a link around blocks is counted in each
            self.links = self.links.max(1);
            self.linked += text.split_whitespace().count();
        }
    }

    /// Nothing but links too short for sentences.
    fn is_links(&self) -> bool {
        self.heading == 0 && self.words <= 8 * self.links && self.link_density() > 0.8
    }
}

impl Context {
    /// The context within an element that stands in this one.
    fn within(self, element: &Element, keep: bool, articles: &mut usize) -> Context {
        let mut inner = self;
        match element.name() {
            "a" => inner.link = true,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                inner.heading = element
                    .name()
                    .bytes()
                    .last()
                    .map_or(0, |digit| digit - b'0');
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

/// Figure 3 of the paper named at [`Blocks::main`].
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

/// Up to `limit` words, single spaces between them.
fn first_words<'a>(blocks: impl IntoIterator<Item = &'a Block>, limit: usize) -> String {
    let words = blocks.into_iter().flat_map(|block| block.text.split(' '));
    words.take(limit).collect::<Vec<_>>().join(" ")
}

/// Small letters and digits alone, to compare what two texts say.
fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The part of the page that is declared to be the main one.
fn is_main(node: NodeRef<'_, Node>) -> bool {
    element(node).is_some_and(|element| {
        matches!(element.name(), "main" | "body")
            || attribute(element, "role") == "main"
            || attribute(element, "itemprop") == "articleBody"
    })
}

/// The nodes of a kind, and all that they stand in.
fn holding(tree: &Tree<Node>, kind: impl Fn(NodeRef<'_, Node>) -> bool) -> HashSet<NodeId> {
    let mut holding = HashSet::new();
    for node in tree.nodes().filter(|node| kind(*node)) {
        // ends at the first that is known: each node is walked over once
        for node in std::iter::once(node).chain(node.ancestors()) {
            if !holding.insert(node.id()) {
                break;
            }
        }
    }
    holding
}

/// The entry of a list or grid of images that the image stands in: the lowest ancestor with at least two siblings of
/// its name and class that show an image too.
fn card(tree: &Tree<Node>, place: NodeId) -> Option<NodeId> {
    let image = tree.get(place)?;
    let looks = |node: NodeRef<'_, Node>| {
        element(node).map(|e| (e.name().to_owned(), attribute(e, "class").to_owned()))
    };
    let entry = image.ancestors().take(CARD_ANCESTORS).find(|node| {
        let Some((name_of, class)) = looks(*node) else {
            return false;
        };
        let listed = matches!(&*name_of, "li" | "tr" | "td" | "dd" | "article")
            || (name_of == "div" && !class.is_empty());
        let own = Some((name_of, class));
        let shows_image = |node: &NodeRef<'_, Node>| {
            node.descendants()
                .take(CARD_NODES)
                .any(|inner| name(inner) == "img")
        };
        let siblings = || {
            node.parent()
                .into_iter()
                .flat_map(|parent| parent.children().take(CARD_NODES))
        };
        listed
            && siblings()
                .filter(|other| looks(*other) == own && shows_image(other))
                .nth(2)
                .is_some()
    });
    entry.map(|node| node.id())
}
