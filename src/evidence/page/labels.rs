//! Finds the words in classes and ids that say nothing on a page, because most of its text has them.
//!
//! Readability and [`super::blocks`] take elements for clutter by single words in their labels. A builder of pages can put such a word into the
//! labels of all that it builds: Elementor writes every paragraph into an "elementor-widget-container".

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, Tree};
use scraper::Node;
use scraper::node::Element;

use super::elements::is_textless;
use crate::html::{Names, attribute, element};

/// The words, also as parts of longer ones, by which Readability or riposte take an element for clutter. Those of comments are not among them: there
/// can be more comments than article.
const WORDS: [&str; 50] = [
    "-ad-",
    "advert",
    "agegate",
    "ai2html",
    "banner",
    "breadcrumb",
    "com-",
    "combx",
    "community",
    "consent",
    "contact",
    "cookie",
    "extra",
    "footer",
    "gdpr",
    "header",
    "hidden",
    "legends",
    "login",
    "masthead",
    "media",
    "menu",
    "meta",
    "modal",
    "nav",
    "newsletter",
    "outbrain",
    "pager",
    "pagination",
    "popup",
    "promo",
    "recommended",
    "related",
    "remark",
    "rss",
    "scroll",
    "share",
    "sharing",
    "shopping",
    "shoutbox",
    "sidebar",
    "signup",
    "skyscraper",
    "social",
    "sponsor",
    "subscribe",
    "supplemental",
    "tags",
    "toolbar",
    "widget",
];
/// Words in classes and ids of navigation and the like.
static CLUTTER: Names = LazyLock::new(|| {
    "nav navbar navigation menu breadcrumb breadcrumbs sidebar footer cookie cookies consent gdpr share sharing related recommended newsletter \
     subscribe comments comment masthead pagination toolbar widget modal popup login signup advertisement"
        .split(' ').collect()
});

/// Words in classes of elements that contain the content: "has-sidebar", "content-wrapper-nav".
static LAYOUT: Names = LazyLock::new(|| {
    "has no with without content main page wrapper wrap container layout body article entry"
        .split(' ')
        .collect()
});

/// The words of [`WORDS`] that say nothing on a page.
#[derive(Default)]
pub(crate) struct Labels {
    idle: Vec<&'static str>,
}

impl Labels {
    /// Reads which words label at least two thirds of the text of a page, without its links.
    pub fn read(tree: &Tree<Node>, unread: &HashSet<NodeId>) -> Labels {
        let mut known: HashMap<&str, u64> = HashMap::new();
        let mut open: Vec<u64> = Vec::new();
        let mut skipped: Option<NodeId> = None;
        let (mut all, mut labelled) = (0, [0; WORDS.len()]);
        for edge in tree.root().traverse() {
            match edge {
                Edge::Open(_) if skipped.is_some() => {}
                Edge::Open(node) => match node.value() {
                    Node::Text(text) => {
                        let size = text.trim().len();
                        let words = open.last().copied().unwrap_or(0);
                        let with = labelled.iter_mut().enumerate();
                        with.filter(|(at, _)| words >> at & 1 == 1)
                            .for_each(|(_, labelled)| *labelled += size);
                        all += size;
                    }
                    Node::Element(element)
                        if element.name() == "a"
                            || is_textless(element)
                            || unread.contains(&node.id()) =>
                    {
                        skipped = Some(node.id());
                    }
                    Node::Element(element) => {
                        let mut words = open.last().copied().unwrap_or(0);
                        for label in of(element) {
                            words |= *known.entry(label).or_insert_with(|| words_in(label));
                        }
                        open.push(words);
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
        let of_most = WORDS.iter().zip(labelled);
        let of_most = of_most.filter(|(_, labelled)| all > 0 && 3 * labelled >= 2 * all);
        Labels {
            idle: of_most.map(|(word, _)| *word).collect(),
        }
    }

    /// Whether a label says nothing on this page.
    pub fn is_idle(&self, label: &str) -> bool {
        !self.idle.is_empty() && {
            let label = label.to_ascii_lowercase();
            self.idle.iter().any(|word| label.contains(word))
        }
    }

    /// Whether a word in the class or id of the element suggests that it is navigation or the like, and says something on this page.
    pub fn may_be_clutter(&self, element: &Element) -> bool {
        if matches!(element.name(), "html" | "body" | "main" | "article") {
            return false;
        }
        of(element).any(|label| {
            let lower = label.to_ascii_lowercase();
            let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
            words.clone().any(|word| CLUTTER.contains(word))
                && !words.any(|word| LAYOUT.contains(word))
                && !self.is_idle(label)
        })
    }
}

/// The words in the class and id of an element.
pub(crate) fn of(element: &Element) -> impl Iterator<Item = &str> {
    let labels = ["class", "id"].map(|key| attribute(element, key).split_ascii_whitespace());
    let labels = labels.into_iter().flatten();
    labels.filter(|label| label.len() <= crate::limits::MAX_LABEL_BYTES)
}

/// Which of [`WORDS`] are in a label, a bit for each.
fn words_in(label: &str) -> u64 {
    let label = label.to_ascii_lowercase();
    let found = (0..).zip(WORDS).filter(|(_, word)| label.contains(word));
    found.fold(0, |found, (at, _)| found | 1 << at)
}
