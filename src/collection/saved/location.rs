//! Where a page or a picture was loaded from: its URL, or the path of a file as a URL.

use std::path::Path;

use crate::html::percent_decoded;

/// The location of a file on this machine. Characters that mean something in a URL are encoded, as browsers encode them in the pages that they save.
pub fn of_file(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let mut location = String::from("file://");
    if !path.starts_with('/') {
        location.push('/');
    }
    for c in path.chars() {
        match c {
            '%' => location.push_str("%25"),
            '?' => location.push_str("%3F"),
            '#' => location.push_str("%23"),
            _ => location.push(c),
        }
    }
    location
}

/// The form in which locations are compared: without fragment, percent-decoded, the host in lower case and without its usual port, and without
/// `http:` or `https:`, because pages refer to the same picture by both.
pub fn key(location: &str) -> String {
    let location = location.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = location.split_once("://") else {
        return percent_decoded(location);
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let host = host.to_ascii_lowercase();
    let (scheme, port) = match &*scheme.to_ascii_lowercase() {
        "http" => (String::new(), ":80"),
        "https" => (String::new(), ":443"),
        other => (format!("{other}:"), ""),
    };
    let host = host.strip_suffix(port).unwrap_or(&host);
    let path = if path.is_empty() { "/" } else { path };
    format!("{scheme}//{host}{}", percent_decoded(path))
}

/// Whether a text begins with the scheme of a URL.
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// The location that a reference on a page at `base` leads to (RFC 3986, section 5). `None` if `base` is not a URL with a path.
pub fn resolve(base: &str, reference: &str) -> Option<String> {
    // browsers ignore line breaks and tabs in URLs
    let reference: String = reference.trim().replace(['\t', '\r', '\n'], "");
    if has_scheme(&reference) {
        return Some(reference);
    }
    let (scheme, rest) = base.split_once("://").filter(|_| has_scheme(base))?;
    if reference.starts_with("//") {
        return Some(format!("{scheme}:{reference}"));
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let end = reference.find(['?', '#']).unwrap_or(reference.len());
    let (to, suffix) = reference.split_at(end);
    let joined = if to.starts_with('/') {
        without_dots(to)
    } else if to.is_empty() {
        let kept = if suffix.starts_with('?') || query.is_empty() {
            path.to_owned()
        } else {
            format!("{path}?{query}")
        };
        return Some(format!("{scheme}://{host}{kept}{suffix}"));
    } else {
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        without_dots(&format!("{folder}{to}"))
    };
    Some(format!("{scheme}://{host}{joined}{suffix}"))
}

/// The path without the segments "." and "..". Nothing is above the root.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut ends_in_dots = false;
    for segment in path.split('/').skip(1) {
        ends_in_dots = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    if ends_in_dots {
        kept.push("");
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_in_rfc_3986() {
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("g?y#s", "http://a/b/c/g?y#s"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../g", "http://a/g"),
            ("../../../../g", "http://a/g"),
            ("./../g", "http://a/b/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
        ] {
            assert_eq!(
                resolve(base, reference).as_deref(),
                Some(expected),
                "{reference}"
            );
        }
        assert_eq!(resolve("http://a", "g").as_deref(), Some("http://a/g"));
        assert_eq!(resolve("cid:1", "g"), None);
    }

    #[test]
    fn locations_of_the_same_file_are_equal() {
        let same = [
            "https://Example.org/a%20b.png#x",
            "http://example.org:80/a b.png",
            "https://example.org:443/a%20b.png",
        ];
        for location in same {
            assert_eq!(key(location), "//example.org/a b.png");
        }
        assert_eq!(key("http://example.org"), key("https://example.org/"));
        let file = of_file(Path::new("/home/100% #1?.png"));
        assert_eq!(file, "file:///home/100%25 %231%3F.png");
        let page = of_file(Path::new("/home/page.html"));
        let found = resolve(&page, "./100%25%20%231%3F.png").unwrap();
        assert_eq!(key(&found), key(&file));
    }
}
