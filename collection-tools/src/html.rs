//! HTML as a tree of elements, so that XPaths follow from the structure and not from the text.

pub enum Node {
    Element {
        name: &'static str,
        attributes: Vec<(String, String)>,
        children: Vec<Node>,
    },
    Text(String),
    /// The source of a script or style.
    Raw(String),
}

pub fn element(name: &'static str, attributes: &[(&str, &str)], children: Vec<Node>) -> Node {
    let attributes = attributes
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    Node::Element {
        name,
        attributes,
        children,
    }
}

/// An element without children.
pub fn tag(name: &'static str, attributes: &[(&str, &str)]) -> Node {
    element(name, attributes, Vec::new())
}

pub fn text(words: &str) -> Node {
    Node::Text(words.to_owned())
}

fn escape(words: &str) -> String {
    words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

impl Node {
    /// Appends the HTML source.
    pub fn serialize(&self, out: &mut String) {
        match self {
            Node::Text(words) => out.push_str(&escape(words)),
            Node::Raw(code) => out.push_str(code),
            Node::Element {
                name,
                attributes,
                children,
            } => {
                out.push_str(&format!("<{name}"));
                for (key, value) in attributes {
                    out.push_str(&format!(" {key}=\"{}\"", escape(value)));
                }
                out.push('>');
                if matches!(*name, "meta" | "link" | "img") {
                    return;
                }
                for child in children {
                    child.serialize(out);
                }
                out.push_str(&format!("</{name}>"));
                if matches!(
                    *name,
                    "p" | "h1" | "h2" | "head" | "header" | "figure" | "li" | "title"
                ) {
                    out.push('\n');
                }
            }
        }
    }

    /// Appends the words, one line for each block.
    pub fn visible(&self, out: &mut String) {
        match self {
            Node::Text(words) => out.push_str(words),
            Node::Raw(_) => {}
            Node::Element { name, children, .. } => {
                for child in children {
                    child.visible(out);
                }
                let block = !matches!(*name, "a" | "img" | "meta" | "link" | "script" | "style");
                if block && !out.is_empty() && !out.ends_with('\n') {
                    out.push('\n');
                }
            }
        }
    }

    /// Appends the XPaths of the images and metadata that name `url`; `path` is the XPath of this element.
    pub fn find(&self, url: &str, path: &str, found: &mut Vec<String>) {
        let Node::Element {
            name,
            attributes,
            children,
        } = self
        else {
            return;
        };
        let names = |(_, value): &(String, String)| value.starts_with(url);
        if matches!(*name, "img" | "meta") && attributes.iter().any(names) {
            found.push(path.to_owned());
        }
        let mut before: Vec<&str> = Vec::new();
        for child in children {
            if let Node::Element { name, .. } = child {
                before.push(name);
                let position = before.iter().filter(|n| *n == name).count();
                child.find(
                    url,
                    &format!("{path}/{}[{position}]", name.to_uppercase()),
                    found,
                );
            }
        }
    }
}
