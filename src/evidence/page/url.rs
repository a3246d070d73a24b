//! The URL of an image, and whether an element of a page refers to it.

use scraper::node::Element;

use crate::html::percent_decoded;

/// The minimum length of a distinctive file name, without extension. Shorter names are common ("image.jpg", "largepreview.png"), so they do not
/// identify the image if several elements have them.
const DISTINCTIVE_NAME: usize = 16;

/// Attributes that contain an image's URL, besides all `data-` attributes (lazy loading, galleries).
const URL_ATTRIBUTES: [&str; 7] = [
    "src",
    "srcset",
    "content",
    "href",
    "poster",
    "style",
    "background",
];

/// The URL of an image, in the forms in which pages refer to it.
pub(crate) struct ImageUrl {
    url: String,
    /// Without scheme and, if the path ends in the name of an image file, without query.
    bare: String,
    /// The path of `bare`, from its first slash on.
    path: String,
    /// The name of the image file, percent-decoded; empty if the path does not end in one.
    file: String,
    /// `file` in lower case, without a size at its end ("-900x566"); empty as above.
    key: String,
}

impl ImageUrl {
    pub fn new(url: &str) -> Self {
        let url = url.trim().to_owned();
        let bare = bare(&url);
        let file = file_name(&bare).to_owned();
        ImageUrl {
            path: bare.find('/').map_or("", |at| &bare[at..]).to_owned(),
            key: key(&file),
            url,
            bare,
            file,
        }
    }

    /// Whether the value of an attribute contains the file name of the image or, if it has none, its URL.
    pub(crate) fn is_in(&self, value: &str) -> bool {
        let name = if self.file.is_empty() {
            &self.bare
        } else {
            &self.file
        };
        if name.is_empty() {
            return false;
        }
        let value = percent_decoded(value);
        let mut found = value.match_indices(name.as_str());
        found.any(|(at, _)| !value[..at].ends_with(char::is_alphanumeric))
    }

    /// Whether any attribute of the element contains the image's name, as in [`Self::is_in`].
    pub fn names(&self, element: &Element) -> bool {
        element.attrs().any(|(_, value)| self.is_in(value))
    }

    /// How well a URL of the page matches: 0 if it is the same, 1 if it is the same without scheme and query, 2 if the file name is
    /// the same; `None` if it differs.
    fn match_url(&self, url: &str) -> Option<u8> {
        if self.url.is_empty() {
            return None;
        }
        if url == self.url {
            return Some(0);
        }
        let bare = bare(url);
        let same_path =
            url.starts_with('/') && !url.starts_with("//") && bare == self.path && bare.len() > 1;
        if bare == self.bare || same_path {
            return Some(1);
        }
        let same_file = !self.key.is_empty() && key(file_name(&bare)) == self.key;
        same_file.then_some(2)
    }

    /// Whether the file name is long enough to identify the image.
    pub(crate) fn has_distinctive_name(&self) -> bool {
        let stem = self.key.rsplit_once('.').map_or("", |(stem, _)| stem);
        stem.chars().count() >= DISTINCTIVE_NAME
    }

    /// The best match of a URL in the attributes of the element; see [`Self::match_url`].
    pub(crate) fn match_element(&self, element: &Element) -> Option<u8> {
        element
            .attrs()
            .filter(|(name, _)| URL_ATTRIBUTES.contains(name) || name.starts_with("data-"))
            .flat_map(|(name, value)| urls(name, value))
            .filter_map(|url| self.match_url(url))
            .min()
    }
}

/// The URLs in the value of an attribute: a `srcset` contains several, a `style` contains them in `url(…)`.
fn urls<'a>(attribute: &str, value: &'a str) -> impl Iterator<Item = &'a str> {
    let separators: &[char] = if attribute == "style" {
        &['(', ')', '"', '\'']
    } else {
        &[' ', '\t', '\r', '\n']
    };
    value
        .split(separators)
        .map(|url| url.trim_matches(','))
        .filter(|url| url.contains(['/', '.']))
}

/// The URL without scheme and, if its path ends in the name of an image file, without query; percent-decoded.
fn bare(url: &str) -> String {
    let start = url
        .split_once("://")
        .filter(|(scheme, _)| !scheme.contains('/'));
    let rest = start.map_or(url, |(_, rest)| rest).trim_start_matches("//");
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let names_file = !file_name(path).is_empty();
    percent_decoded(if names_file { path } else { rest })
}

/// The last segment of a path if it is the name of an image file, else "".
pub fn file_name(path: &str) -> &str {
    const EXTENSIONS: [&str; 12] = [
        "jpg", "jpeg", "jfif", "png", "gif", "webp", "avif", "svg", "bmp", "tif", "tiff", "ico",
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let mut known = EXTENSIONS.iter();
    let is_known = known.any(|known| known.eq_ignore_ascii_case(extension));
    if is_known { name } else { "" }
}

/// A file name in lower case, without a size at its end ("-900x566").
fn key(file: &str) -> String {
    let file = file.to_lowercase();
    let (stem, extension) = file.rsplit_once('.').unwrap_or((&file, ""));
    let sized = stem.rsplit_once('-').filter(|(_, size)| {
        size.split_once('x').is_some_and(|(width, height)| {
            let number = |side: &str| !side.is_empty() && side.bytes().all(|b| b.is_ascii_digit());
            number(width) && number(height)
        })
    });
    let stem = sized.map_or(stem, |(stem, _)| stem);
    if stem.is_empty() {
        String::new()
    } else {
        format!("{stem}.{extension}")
    }
}
