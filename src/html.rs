//! Parses HTML to a tree of bounded size and depth.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::LazyLock;

use ego_tree::{NodeId, NodeRef, Tree};
use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use scraper::node::Element;
use scraper::{Html, HtmlTreeSink, Node};

use crate::limits::{MAX_HTML_ATTRIBUTES, MAX_HTML_BYTES, MAX_HTML_DEPTH, MAX_HTML_NODES};

/// Names of elements, or words in labels.
pub type Names = LazyLock<HashSet<&'static str>>;

/// Elements that have no children. The tree builder must tell the tokenizer which of them contain plain text, so their tags are never left out.
static FLAT: Names = LazyLock::new(|| {
    "script style title textarea iframe noscript noframes noembed xmp plaintext br hr img input link meta source wbr"
        .split(' ').collect()
});

/// Parses a page as a browser does that runs scripts: the content of a `noscript` is a single text.
pub fn parse(html: &str) -> Tree<Node> {
    let sink = HtmlTreeSink::new(Html::new_document());
    let bounded = BoundedSink {
        builder: TreeBuilder::new(sink, TreeBuilderOpts::default()),
        open: Cell::new(0),
        dropped: Cell::new(0),
    };
    let tokenizer = Tokenizer::new(bounded, TokenizerOpts::default());
    let input = BufferQueue::default();
    let end = html.floor_char_boundary(MAX_HTML_BYTES);
    let html = bound_attributes(html.get(..end).unwrap_or_default());
    input.push_back(StrTendril::from_slice(&html));
    // the tokenizer stops after each script, so that a browser can run it
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.builder.sink.0.into_inner().tree
}

/// Cuts each tag after [`MAX_HTML_ATTRIBUTES`] attributes. Text after a `<` in a script may be cut the same way.
fn bound_attributes(html: &str) -> Cow<'_, str> {
    let bytes = html.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = html.get(at..).and_then(|rest| rest.find('<')) {
        at += start + 1;
        if !bytes.get(at).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let (mut ends, mut cut) = (0, None);
        let mut previous = b'<';
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'>' => break,
                b'<' if bytes.get(at + 1) == Some(&b'/') => break,
                b'"' | b'\'' if previous == b'=' => {
                    let value = &bytes[at + 1..];
                    let end = value.iter().position(|end| *end == byte);
                    at += 1 + end.unwrap_or(value.len());
                    ends += 1;
                }
                b'/' => ends += 1,
                _ if byte.is_ascii_whitespace() => ends += 1,
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                previous = byte;
            }
            at = (at + 1).min(bytes.len());
            if ends > MAX_HTML_ATTRIBUTES && cut.is_none() {
                cut = Some(at);
            }
        }
        if let Some(cut) = cut {
            out.push_str(html.get(copied..cut).unwrap_or_default());
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(html);
    }
    out.push_str(html.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// Passes tokens on to the tree builder, except tags below [`MAX_HTML_DEPTH`] and everything after [`MAX_HTML_NODES`].
struct BoundedSink {
    builder: TreeBuilder<NodeId, HtmlTreeSink>,
    /// The number of start tags minus the number of end tags: an upper bound of the depth.
    open: Cell<usize>,
    /// The number of left-out start tags whose end tags have not come yet.
    dropped: Cell<usize>,
}

impl BoundedSink {
    /// Whether a tag is passed on.
    fn admits(&self, tag: &Tag) -> bool {
        if FLAT.contains(&*tag.name) || tag.self_closing {
            return true;
        }
        match tag.kind {
            TagKind::StartTag => {
                self.open.set(self.open.get() + 1);
                let drop = self.open.get() > MAX_HTML_DEPTH && self.depth() > MAX_HTML_DEPTH;
                self.dropped.set(self.dropped.get() + usize::from(drop));
                !drop
            }
            TagKind::EndTag => {
                self.open.set(self.open.get().saturating_sub(1));
                let drop = self.dropped.get() > 0;
                self.dropped.set(self.dropped.get().saturating_sub(1));
                !drop
            }
        }
    }

    /// The depth of the newest node, at most `MAX_HTML_DEPTH + 1`.
    fn depth(&self) -> usize {
        let html = self.builder.sink.0.borrow();
        let newest = html.tree.nodes().next_back();
        newest.map_or(0, |node| node.ancestors().take(MAX_HTML_DEPTH + 1).count())
    }

    fn is_full(&self) -> bool {
        self.builder.sink.0.borrow().tree.values().len() >= MAX_HTML_NODES
    }
}

impl TokenSink for BoundedSink {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        let wanted = match &token {
            Token::EOFToken => true,
            Token::ParseError(_) => false,
            Token::TagToken(tag) => self.admits(tag) && !self.is_full(),
            _ => !self.is_full(),
        };
        if wanted {
            self.builder.process_token(token, line)
        } else {
            TokenSinkResult::Continue
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// The element of a node, if it is one.
pub fn element<'a>(node: NodeRef<'a, Node>) -> Option<&'a Element> {
    node.value().as_element()
}

/// The name of a node's element in lower case ("img"); "" for texts and comments.
pub fn name<'a>(node: NodeRef<'a, Node>) -> &'a str {
    element(node).map_or("", Element::name)
}

/// The value of an attribute; "" if there is none. `Element::attr` is slower: it interns the name, under a lock.
pub fn attribute<'a>(element: &'a Element, name: &str) -> &'a str {
    let found = element.attrs().find(|(key, _)| *key == name);
    found.map_or("", |(_, value)| value)
}

/// Whether the node is an element with this id.
pub fn has_id(node: NodeRef<'_, Node>, id: &str) -> bool {
    element(node).is_some_and(|element| attribute(element, "id") == id)
}

/// The first child element with this name.
pub fn child<'a>(node: NodeRef<'a, Node>, wanted: &str) -> Option<NodeRef<'a, Node>> {
    node.children().find(|child| name(*child) == wanted)
}

/// The text of a piece of HTML, without tags, with single spaces between words.
pub fn plain(html: &str) -> String {
    let texts = parse(html)
        .nodes()
        .filter_map(|node| match node.value() {
            Node::Text(text) => Some(text.to_string()),
            _ => None,
        })
        .collect::<String>();
    normalised(&texts)
}

/// The text with each run of white space replaced by one space, and none at the ends.
pub fn normalised(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// A text as a part of an address: all but letters, digits and `-._~` becomes `%20` and the like.
pub(crate) fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// Decodes `%20` and the like; sequences that are not UTF-8 become U+FFFD.
pub fn percent_decoded(text: &str) -> String {
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
