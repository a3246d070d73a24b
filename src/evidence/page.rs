//! What a page says of an image: its own words, the words around it, and the page's.
//!
//! The parts are kept apart (title, alternative text, caption, headings, words before and after, main text),
//! since they weigh differently in ranking. The page is parsed by the HTML5 algorithm, the one that
//! browsers have, because the image's XPath was made by a browser.

mod blocks;
mod elements;
mod find;
mod text;
mod tree;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Words taken on each side of the image.
pub const NEAR_WORDS: usize = 60;
/// Stored with what [`read`] finds; its number changes when that does.
pub const PRODUCER: &str = "page/1";

/// Words of the main text that are kept: longer than any article, shorter than a book or a log file.
pub const MAIN_WORDS: usize = 10_000;

/// By what the image's element was found in its page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Found {
    /// One of the XPaths leads to it.
    XPath,
    /// No XPath does, or to an element that does not name the image while another one does.
    Url,
    #[default]
    No,
}

impl Found {
    /// The word in the evidence store.
    pub fn word(self) -> &'static str {
        match self {
            Found::XPath => "xpath",
            Found::Url => "url",
            Found::No => "no",
        }
    }

    /// What that word stands for; an unknown one for [`Found::No`].
    pub fn parse(word: &str) -> Found {
        match word {
            "xpath" => Found::XPath,
            "url" => Found::Url,
            _ => Found::No,
        }
    }
}

/// The words of one page that shows an image. White space is normalised; what the page lacks is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageWords {
    pub found: Found,
    /// The element carries the image's file name, or its URL where that names no file.
    pub names_image: bool,
    /// The document's title, else `og:title`, else the first `h1`.
    pub title: String,
    /// The document's `description`, else that of `og:` or `twitter:`.
    pub description: String,
    /// The image's alternative text.
    pub alt: String,
    /// The `title` attribute of the image, else of the link around it.
    pub title_attribute: String,
    /// `figcaption`, or what is marked or set as a caption beside the image.
    pub caption: String,
    /// The headings above the image, outermost first, one a line, without those that repeat the title.
    pub headings: String,
    /// Up to [`NEAR_WORDS`] words before the image, in document order, without the caption.
    pub before: String,
    /// Up to [`NEAR_WORDS`] words after it. Where an image has no place in the text (a `meta` of the head,
    /// and no element of the body shows the same file), the first words of the main text.
    pub after: String,
    /// Up to [`MAIN_WORDS`] words of what the page is about, one block a line.
    pub main: String,
}

/// Reads what a page says of the image at `image_url`, which the XPaths (any number, as a browser gives
/// them) point at.
///
/// Any text is a page: what cannot be found is left empty. Time is linear in the length of `html`.
pub fn read(html: &str, xpaths: &[String], image_url: &str) -> PageWords {
    let tree = tree::parse(html);
    let wanted = find::Wanted::new(image_url);
    let image = find::image(&tree, xpaths, &wanted);
    let head = text::Head::read(&tree);
    let caption_node = image
        .place
        .and_then(|place| text::caption_node(&tree, place));
    let caption = first_of([
        caption_node
            .map(|node| text::of_subtree(&tree, node))
            .unwrap_or_default(),
        image.caption,
    ]);
    let blocks = blocks::Blocks::read(&tree, image.place, caption_node);
    let title = [head.title, head.og_title, blocks.first_heading()]
        .into_iter()
        .find(|title| !title.is_empty())
        .unwrap_or_default();
    let main = blocks.main();
    let (mut before, mut after) = blocks.near(&caption);
    // a teaser that shows the same file somewhere in the page's margin
    if image.is_meta && text::word_count(&before) + text::word_count(&after) < blocks::NEAR_AT_LEAST
    {
        (before, after) = (String::new(), blocks.start(&main));
    }
    PageWords {
        found: image.found,
        names_image: image.names_image,
        headings: blocks.headings(&main, &title),
        title,
        description: head.description,
        alt: first_of([
            image.alt,
            if image.is_meta {
                head.image_alt
            } else {
                String::new()
            },
        ]),
        title_attribute: image.title,
        caption,
        before,
        after,
        main: blocks.join(&main),
    }
}

fn first_of<const N: usize>(texts: [String; N]) -> String {
    texts
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// The text of an HTML file, and whether it had sequences that its encoding does not allow.
///
/// A byte order mark decides; then UTF-8, if the bytes are (snapshots of a browser are, whatever their
/// `meta` still says); then the `meta` declaration; then, for bytes without one valid UTF-8 sequence,
/// windows-1252, the web's default; else UTF-8 with U+FFFD for what is broken.
pub fn decode(bytes: &[u8]) -> (String, bool) {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        let (text, _, broken) = encoding.decode(bytes);
        return (text.into_owned(), broken);
    }
    let Err(first_error) = std::str::from_utf8(bytes) else {
        return (String::from_utf8_lossy(bytes).into_owned(), false);
    };
    if let Some(encoding) = declared(bytes).filter(|encoding| *encoding != UTF_8) {
        let (text, broken) = encoding.decode_without_bom_handling(bytes);
        return (text.into_owned(), broken);
    }
    let valid = bytes.get(..first_error.valid_up_to()).unwrap_or_default();
    let lossy = String::from_utf8_lossy(bytes);
    if valid.is_ascii() && lossy.chars().all(|c| c.is_ascii() || c == '\u{fffd}') {
        let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
        return (text.into_owned(), true);
    }
    (lossy.into_owned(), true)
}

/// The encoding that a `meta` near the start declares; UTF-16 there means UTF-8 (HTML standard, "prescan").
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..4096).unwrap_or(bytes).to_ascii_lowercase();
    let at = start.windows(8).position(|window| window == b"charset=")?;
    let label: Vec<u8> = start
        .get(at + 8..)?
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte))
        .collect();
    Encoding::for_label(&label).map(Encoding::output_encoding)
}
