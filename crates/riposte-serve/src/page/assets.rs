//! The files of the page: style, script and icon. They are a part of the program.

use std::sync::LazyLock;

use hyper::body::Bytes;

use crate::cache::Encoded;

/// A file of the page.
pub(crate) struct Asset {
    stem: &'static str,
    ending: &'static str,
    content_type: &'static str,
    bytes: Bytes,
}

pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| Asset {
    stem: "page",
    ending: "css",
    content_type: "text/css; charset=utf-8",
    bytes: riposte_page::style(include_str!("files/page.css")).into(),
});

pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| Asset {
    stem: "page",
    ending: "js",
    content_type: "text/javascript; charset=utf-8",
    bytes: Bytes::from_static(include_bytes!("files/page.js")),
});

pub(crate) static ICON: LazyLock<Asset> = LazyLock::new(|| Asset {
    stem: "icon",
    ending: "svg",
    content_type: "image/svg+xml",
    bytes: Bytes::from_static(include_bytes!("files/icon.svg")),
});

impl Asset {
    /// The file of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Asset> {
        let all: [&'static Asset; 3] = [&STYLE, &SCRIPT, &ICON];
        all.into_iter().find(|asset| asset.name() == name)
    }

    /// The style sheet, if this is its path.
    pub(crate) fn style_at(path: &str) -> Option<&'static Asset> {
        let name = path.strip_prefix("/asset/")?;
        (name == STYLE.name()).then(|| &*STYLE)
    }

    /// Its name has a hash of its bytes, so that browsers can keep it for as long as they like: another version has another name.
    pub(crate) fn name(&self) -> String {
        let Asset { stem, ending, .. } = self;
        format!("{stem}-{:016x}.{ending}", fnv(&self.bytes))
    }

    pub(crate) fn encoded(&self) -> Encoded {
        Encoded {
            content_type: self.content_type,
            bytes: self.bytes.clone(),
        }
    }
}

/// FNV-1a with 64 bits (Fowler, Noll and Vo). It tells versions apart; nobody is kept from making two files with the same hash.
fn fnv(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }

    /// WCAG 2.2, AA: at least 4.5 between a text and its background, and 3 between the edge of a field and what is around it.
    #[test]
    fn texts_and_edges_can_be_seen_in_light_and_dark() {
        let style = str::from_utf8(&STYLE.bytes).unwrap();
        for scheme in [0, 1] {
            let luminance = |name: &str| {
                let (_, rest) = style.split_once(&format!("--{name}: light-dark(")).unwrap();
                let (colours, _) = rest.split_once(')').unwrap();
                let hex = colours
                    .split(", #")
                    .nth(scheme)
                    .unwrap()
                    .trim_start_matches('#');
                let linear = |at: usize| {
                    let value = u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
                    let value = f64::from(value) / 255.0;
                    match value <= 0.04045 {
                        true => value / 12.92,
                        false => ((value + 0.055) / 1.055).powf(2.4),
                    }
                };
                0.2126 * linear(0) + 0.7152 * linear(2) + 0.0722 * linear(4)
            };
            let contrast = |one: &str, other: &str| {
                let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
                one.max(other) / one.min(other)
            };
            for ground in ["ground", "sheet", "room"] {
                for text in ["ink", "soft", "pro", "con"] {
                    let found = contrast(text, ground);
                    assert!(found >= 4.5, "{text} on {ground}: {found}");
                }
            }
            for ground in ["ground", "sheet"] {
                let found = contrast("edges", ground);
                assert!(found >= 3.0, "edges on {ground}: {found}");
            }
        }
    }
}
