//! What an HTML element means for the words in it: whether they are shown, are content, and form a block.

use std::sync::LazyLock;

use scraper::node::Element;

use super::url::file_name;
use crate::html::{Names, attribute};

/// Elements whose text is not shown as text of the page.
static TEXTLESS: Names = LazyLock::new(|| {
    "script style noscript template label iframe object canvas audio video svg select datalist textarea button noframes noembed title meter progress"
        .split(' ').collect()
});

/// Elements that are part of a line. All others, including unknown ones, end a block.
static INLINE: Names = LazyLock::new(|| {
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img input ins kbd label mark picture q s samp small source span strike \
     strong sub sup time tt u var wbr button svg noscript script style"
        .split(' ').collect()
});

/// Values of `role` for navigation and the like.
const CLUTTER_ROLES: &str =
    "navigation contentinfo complementary search menu menubar dialog alertdialog";

/// Whether the text in the element is not shown as text of the page.
pub(crate) fn is_textless(element: &Element) -> bool {
    TEXTLESS.contains(element.name())
}

/// Whether the text in the element is no text, for any reader.
pub(crate) fn is_wordless(element: &Element) -> bool {
    matches!(element.name(), "script" | "style" | "noscript" | "template")
}

/// Whether an attribute of the element hides it.
pub(crate) fn is_hidden(element: &Element) -> bool {
    let style: String = attribute(element, "style")
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect();
    let style = style.to_ascii_lowercase();
    element.attrs().any(|(name, _)| name == "hidden")
        || attribute(element, "aria-hidden").eq_ignore_ascii_case("true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}

/// Whether the element is declared as navigation or the like, by its name or role.
pub(crate) fn is_clutter(element: &Element, in_article: impl FnOnce() -> bool) -> bool {
    match element.name() {
        "nav" | "footer" | "aside" | "menu" | "dialog" => true,
        "header" => !in_article(),
        "html" | "body" | "main" | "article" => false,
        _ => {
            let role = attribute(element, "role");
            CLUTTER_ROLES.split(' ').any(|clutter| clutter == role)
        }
    }
}

/// Whether a block is the label of an advertisement, or a file name as galleries show it.
pub(crate) fn is_filler(text: &str) -> bool {
    let name = !text.contains(' ') && !file_name(text).is_empty();
    name || ["advertisement", "advertisements", "sponsored"].contains(&text.to_lowercase().as_str())
}

/// Whether an element with this name is part of a line; true for texts and comments, whose name is empty.
pub(crate) fn is_inline(name: &str) -> bool {
    name.is_empty() || INLINE.contains(name)
}
