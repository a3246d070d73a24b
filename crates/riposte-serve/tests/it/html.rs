//! Pages as a browser reads them.

use std::collections::BTreeSet;

use scraper::{ElementRef, Html, Selector};

use crate::client::Response;

/// What pages are made of. Whatever a text smuggles in would be something else, or be somewhere else.
const ELEMENTS: [&str; 38] = [
    "a", "article", "b", "body", "button", "datalist", "dd", "details", "div", "dl", "dt",
    "footer", "form", "h1", "h2", "h3", "head", "header", "html", "i", "img", "input", "label",
    "li", "link", "main", "meta", "nav", "ol", "option", "p", "section", "select", "small", "span",
    "summary", "svg", "ul",
];

pub struct Page(Html);

impl Page {
    /// A page that was served as one, and is sound.
    pub fn of(response: &Response) -> Page {
        let kind = response.header("content-type");
        assert_eq!(
            kind,
            Some("text/html; charset=utf-8"),
            "{}",
            response.text()
        );
        let text = response.text();
        assert!(text.starts_with("<!doctype html>"), "{text}");
        let turning = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let marks: String = text.chars().filter(turning).collect();
        assert_eq!(marks, "\u{2068}\u{2069}".repeat(marks.chars().count() / 2));
        let page = Page(Html::parse_document(&text));
        page.assert_runs_only_its_script();
        page.assert_links_lead_where_they_may();
        page.assert_can_be_walked();
        page
    }

    pub fn all(&self, selector: &str) -> Vec<ElementRef<'_>> {
        let selector = Selector::parse(selector).unwrap();
        self.0.select(&selector).collect()
    }

    /// The texts of all matching elements, with single spaces.
    pub fn texts(&self, selector: &str) -> Vec<String> {
        self.all(selector).into_iter().map(text_of).collect()
    }

    /// The text of the only matching element.
    pub fn text(&self, selector: &str) -> String {
        let texts = self.texts(selector);
        assert_eq!(texts.len(), 1, "{selector}: {texts:?}");
        texts.concat()
    }

    pub fn attributes(&self, selector: &str, name: &str) -> Vec<String> {
        let all = self.all(selector).into_iter();
        all.filter_map(|element| element.attr(name).map(str::to_owned))
            .collect()
    }

    /// The attribute of the only matching element.
    pub fn attribute(&self, selector: &str, name: &str) -> String {
        let values = self.attributes(selector, name);
        assert_eq!(values.len(), 1, "{selector}: {values:?}");
        values.concat()
    }

    fn assert_runs_only_its_script(&self) {
        let allowed: BTreeSet<&str> = ELEMENTS
            .into_iter()
            .chain(["bdi", "rect", "script", "title"])
            .collect();
        for element in self.all("*") {
            let name = element.value().name();
            assert!(allowed.contains(name), "there is an element {name}");
            for (attribute, value) in element.value().attrs() {
                let is_code =
                    attribute.starts_with("on") || attribute == "style" || attribute == "srcdoc";
                assert!(!is_code, "{name} has {attribute}={value}");
            }
        }
        let scripts = self.all("script");
        assert_eq!(scripts.len(), 1);
        assert_eq!(text_of(scripts[0]), "");
    }

    fn assert_links_lead_where_they_may(&self) {
        for name in ["href", "action", "data-next"] {
            for link in self.attributes(&format!("[{name}]"), name) {
                let is_here = link.starts_with('/') && !link.starts_with("//");
                let is_web = link.starts_with("https://") || link.starts_with("http://");
                assert!(
                    is_here || link == "#main" || name == "href" && is_web,
                    "{name}={link}"
                );
            }
        }
        for source in self.attributes("[src]", "src") {
            let starts = ["/asset/", "/picture/"];
            assert!(
                starts.iter().any(|start| source.starts_with(start)),
                "{source}"
            );
        }
    }

    /// Landmarks, headings, labels and names, for keyboards and screen readers.
    fn assert_can_be_walked(&self) {
        assert_eq!(self.attribute("html", "lang"), "en");
        assert!(!self.text("head > title").is_empty());
        assert!(
            !self
                .attribute("meta[name=viewport]", "content")
                .contains("maximum-scale")
        );
        for landmark in [
            "body > header",
            "body > main#main[tabindex='-1']",
            "body > footer",
            "h1",
        ] {
            assert_eq!(self.all(landmark).len(), 1, "{landmark}");
        }
        assert_eq!(
            self.all("body > *")[0].attr("href"),
            Some("#main"),
            "the skip link is first"
        );
        for nav in self.all("nav") {
            assert!(
                nav.attr("aria-label")
                    .is_some_and(|label| !label.is_empty())
            );
        }
        let mut above = 0;
        for heading in self.all("h1, h2, h3, h4, h5, h6") {
            let level: usize = heading.value().name()[1..].parse().unwrap();
            assert!(
                level <= above + 1,
                "{} comes after h{above}",
                heading.html()
            );
            above = level;
        }
        let ids = self.attributes("[id]", "id");
        assert_eq!(
            ids.iter().collect::<BTreeSet<_>>().len(),
            ids.len(),
            "{ids:?}"
        );
        for field in self.all("input:not([type=hidden]), select") {
            let is_inside = field
                .ancestors()
                .filter_map(ElementRef::wrap)
                .any(|it| it.value().name() == "label");
            let id = field.attr("id").unwrap_or_default();
            let is_labelled = self
                .all("label[for]")
                .iter()
                .any(|label| label.attr("for") == Some(id));
            assert!(is_inside || is_labelled, "{}", field.html());
        }
        for image in self.all("img, svg[role=img]") {
            let name = image.attr("alt").or(image.attr("aria-label"));
            assert!(
                name.is_some_and(|name| !name.trim().is_empty()),
                "{}",
                image.html()
            );
        }
        for link in self.all("a, button, summary") {
            let has_name = !text_of(link).is_empty()
                || link
                    .select(&Selector::parse("img").unwrap())
                    .next()
                    .is_some();
            assert!(has_name, "{}", link.html());
        }
    }
}

fn text_of(element: ElementRef) -> String {
    let text: String = element.text().collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
