//! Web pages that show a picture, with the markup of real sites and words that argue, report, or are about something else.

use crate::html::{Node, element, tag, text};
use crate::pictures::Content;
use crate::topics::{Side, Subjects, Topic};
use crate::wording::{JOBS, SOURCES, TOWNS, capitalised, sentence};
use seeded_random::Random;

/// The attitude of a page to its topic, which can differ from that of its picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slant {
    Pro,
    Con,
    /// Both sides in turn.
    Balanced,
    /// The page reports and takes no side.
    Neutral,
    /// The page is about something else.
    OffTopic,
}

/// A page as a browser saved it.
pub struct Page {
    pub html: String,
    /// The text of the page as `document.body.textContent` would give it, one line for each block.
    pub text: String,
    /// The XPaths, as a browser writes them, of the elements that show the picture.
    pub xpaths: Vec<String>,
}

/// A picture that a page shows.
pub struct EmbeddedPicture<'a> {
    pub url: &'a str,
    pub kind: &'static str,
    pub words: &'a str,
    pub width: u32,
    pub height: u32,
    pub content: Content,
}

pub struct PageWriter<'a> {
    pub subjects: &'a Subjects,
    pub topic: &'a Topic,
    pub slant: Slant,
    pub host: &'a str,
    pub url: &'a str,
    pub random: Random,
}

impl PageWriter<'_> {
    /// Writes the page that shows `picture`.
    pub fn write(mut self, picture: &EmbeddedPicture) -> Page {
        let other = self.random.below(self.subjects.others.len());
        let headline = self.headline(other);
        let paragraphs = self.paragraphs(other);
        let lead = paragraphs.first().cloned().unwrap_or_default();

        let mut head = vec![
            tag("meta", &[("charset", "utf-8")]),
            element(
                "title",
                &[],
                vec![text(&format!("{headline} | {}", site(self.host)))],
            ),
            tag(
                "meta",
                &[
                    ("name", "viewport"),
                    ("content", "width=device-width, initial-scale=1"),
                ],
            ),
            tag("meta", &[("name", "description"), ("content", &lead)]),
            tag("link", &[("rel", "canonical"), ("href", self.url)]),
            tag("meta", &[("property", "og:title"), ("content", &headline)]),
        ];
        // A few sites name the picture only in their metadata, and show it as a background.
        let only_meta = self.random.percent(8);
        if only_meta || self.random.percent(45) {
            head.push(tag(
                "meta",
                &[("property", "og:image"), ("content", picture.url)],
            ));
        }
        head.push(element(
            "style",
            &[],
            vec![Node::Raw(
                "body{font:18px/1.5 sans-serif}.hidden{display:none}".into(),
            )],
        ));
        let data = serde_json::json!({"@context": "https://schema.org", "@type": "Article", "headline": headline});
        head.push(element(
            "script",
            &[("type", "application/ld+json")],
            vec![Node::Raw(data.to_string())],
        ));

        let mut article = vec![
            element("h1", &[], vec![text(&headline)]),
            element("p", &[("class", "byline")], vec![text(&self.byline())]),
        ];
        let place = self.random.below(paragraphs.len().max(1));
        for (at, words) in paragraphs.iter().enumerate() {
            if at > 0 && at % 3 == 0 {
                let heading = self.subheading();
                article.push(element("h2", &[], vec![text(&heading)]));
            }
            article.push(element("p", &[], vec![text(words)]));
            if at == place && !only_meta {
                article.push(self.figure(picture));
            }
        }
        if only_meta {
            let style = format!("background-image:url('{}')", picture.url);
            article.insert(
                1,
                element("div", &[("class", "hero"), ("style", &style)], vec![]),
            );
        }

        let body = vec![
            self.header(),
            element(
                "div",
                &[("class", "hidden"), ("id", "consent")],
                vec![
                    element(
                        "p",
                        &[],
                        vec![text(
                            "We and our partners use cookies to improve your visit.",
                        )],
                    ),
                    element("button", &[], vec![text("Accept")]),
                ],
            ),
            element(
                "main",
                &[("id", "content")],
                vec![
                    element("article", &[("class", "post")], article),
                    self.aside(),
                ],
            ),
            element(
                "footer",
                &[],
                vec![element(
                    "p",
                    &[],
                    vec![text(&format!(
                        "© {} · Imprint · Privacy · Contact",
                        site(self.host)
                    ))],
                )],
            ),
            element(
                "script",
                &[],
                vec![Node::Raw("window.dataLayer=window.dataLayer||[];".into())],
            ),
        ];
        let root = element(
            "html",
            &[("lang", "en")],
            vec![element("head", &[], head), element("body", &[], body)],
        );
        let mut page = Page {
            html: "<!DOCTYPE html>".to_owned(),
            text: String::new(),
            xpaths: Vec::new(),
        };
        root.serialize(&mut page.html);
        root.visible(&mut page.text);
        root.find(picture.url, "/HTML[1]", &mut page.xpaths);
        page
    }

    /// The side that the page takes; a random one if it takes none.
    fn side(&mut self) -> &Side {
        let topic = self.topic;
        let pro = match self.slant {
            Slant::Pro => true,
            Slant::Con => false,
            _ => self.random.percent(50),
        };
        if pro { &topic.pro } else { &topic.con }
    }

    fn headline(&mut self, other: usize) -> String {
        let mut random = self.random.clone();
        self.random.next_u64();
        match self.slant {
            Slant::OffTopic => self
                .subjects
                .others
                .get(other)
                .map_or(String::new(), |o| o.title.clone()),
            Slant::Neutral => match random.below(3) {
                0 => self.topic.title.clone(),
                1 => random.pick_text(&self.topic.facts).to_owned(),
                _ => format!("{}: what you need to know", capitalised(&self.topic.short)),
            },
            Slant::Balanced => match random.below(3) {
                0 => format!("Pros and cons: {}", self.topic.title),
                1 => self.topic.title.clone(),
                _ => format!("The debate over {}", self.topic.short),
            },
            Slant::Pro | Slant::Con => {
                let title = self.topic.title.clone();
                let town = random.pick(&TOWNS);
                let side = self.side();
                match random.below(5) {
                    0 => title,
                    1 => random.pick_text(&side.claims).to_owned(),
                    2 => format!("Opinion: {}", random.pick_text(&side.slogans)),
                    3 => format!("“{}”: voices from {town}", random.pick_text(&side.claims)),
                    _ => capitalised(random.pick_text(&side.reasons)),
                }
            }
        }
    }

    fn byline(&mut self) -> String {
        let (day, year) = (self.random.between(1, 28), self.random.between(2014, 2023));
        let month = self
            .random
            .pick(&["January", "March", "May", "July", "September", "November"]);
        format!(
            "From {} · {day} {month} {year} · {} min read",
            self.random.pick(&SOURCES),
            self.random.between(2, 9)
        )
    }

    fn subheading(&mut self) -> String {
        match self.slant {
            Slant::OffTopic => self
                .random
                .pick(&["Good to know", "Step by step", "And next?"]),
            _ => self.random.pick(&[
                "What is at stake",
                "The background",
                "What people say",
                "A look abroad",
                "Conclusion",
                "What happens next",
            ]),
        }
        .to_owned()
    }

    fn paragraphs(&mut self, other: usize) -> Vec<String> {
        (0..self.random.between(5, 10))
            .map(|at| {
                let sentences = self.random.between(3, 6);
                (0..sentences)
                    .map(|_| self.say(at, other))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    }

    /// A sentence of the given paragraph.
    fn say(&mut self, paragraph: usize, other: usize) -> String {
        let mut random = Random::new(self.random.next_u64(), "say", 0);
        if self.slant == Slant::OffTopic {
            let sentences = self
                .subjects
                .others
                .get(other)
                .map_or(&[][..], |o| &o.sentences);
            return match random.below(4) {
                0 => filler(&mut random),
                _ => sentence(random.pick_text(sentences)),
            };
        }
        if self.slant == Slant::Neutral || random.percent(30) {
            return match random.below(3) {
                0 => filler(&mut random),
                _ => sentence(random.pick_text(&self.topic.facts)),
            };
        }
        let balanced = self.slant == Slant::Balanced;
        let topic = self.topic;
        let side = match (balanced, paragraph % 2) {
            (true, 0) => &topic.pro,
            (true, _) => &topic.con,
            _ => self.side(),
        };
        let (claim, reason) = (
            random.pick_text(&side.claims),
            random.pick_text(&side.reasons),
        );
        let job = random.pick(&JOBS);
        match random.below(8) {
            0 if balanced && paragraph % 2 == 1 => format!("Opponents reply that {reason}."),
            0 => format!("Supporters say that {reason}."),
            1 => format!("{claim}, because {reason}."),
            2 => sentence(reason),
            3 => format!("“{claim}”, says a {job} from {}.", random.pick(&TOWNS)),
            4 => format!("And {reason}, as a {job} adds."),
            5 => format!("One should not forget that {reason}."),
            6 => format!(
                "{}: this is how many put it.",
                random.pick_text(&side.slogans)
            ),
            _ => format!("{claim}."),
        }
    }

    fn header(&mut self) -> Node {
        let items = ["Home", "News", "Opinion", "Life", "Subscribe"]
            .iter()
            .map(|word| {
                let link = format!("/{}", word.to_lowercase());
                element(
                    "li",
                    &[],
                    vec![element("a", &[("href", &link)], vec![text(word)])],
                )
            })
            .collect();
        let logo = format!("https://{}/static/logo.svg", self.host);
        element(
            "header",
            &[],
            vec![
                element(
                    "a",
                    &[("href", "/")],
                    vec![tag("img", &[("src", &logo), ("alt", &site(self.host))])],
                ),
                element("nav", &[], vec![element("ul", &[], items)]),
            ],
        )
    }

    /// Links to pages on other subjects. They match queries that the page itself does not answer.
    fn aside(&mut self) -> Node {
        let mut links = Vec::new();
        for n in 0..self.random.between(2, 4) {
            let topic = if self.random.percent(50) {
                let at = self.random.below(self.subjects.topics.len());
                self.subjects.topics.get(at)
            } else {
                None
            };
            let other = self.random.below(self.subjects.others.len());
            let title = match (topic, self.subjects.others.get(other)) {
                (Some(topic), _) => &topic.title,
                (None, Some(other)) => &other.title,
                (None, None) => continue,
            };
            let thumb = format!("https://{}/thumbs/{n:02}.jpg", self.host);
            links.push(element(
                "li",
                &[],
                vec![
                    tag("img", &[("src", &thumb), ("alt", ""), ("width", "80")]),
                    element("a", &[("href", "/more")], vec![text(title)]),
                ],
            ));
        }
        element(
            "aside",
            &[("class", "related")],
            vec![
                element("h3", &[], vec![text("Read also")]),
                element("ul", &[], links),
            ],
        )
    }

    /// The picture as sites embed it: with and without alternative text, loaded lazily, in several sizes, as a link.
    fn figure(&mut self, picture: &EmbeddedPicture) -> Node {
        let (width, height) = (picture.width.to_string(), picture.height.to_string());
        let alt = self.alt(picture);
        let mut attributes: Vec<(&str, &str)> = Vec::new();
        let srcset = format!("{} {width}w, {}?w=320 320w", picture.url, picture.url);
        match self.random.below(6) {
            0 => attributes.extend([
                (
                    "src",
                    "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=",
                ),
                ("data-src", picture.url),
                ("class", "lazyload"),
            ]),
            1 => attributes.extend([
                ("src", picture.url),
                ("srcset", &srcset),
                ("sizes", "100vw"),
            ]),
            2 => attributes.extend([("src", picture.url), ("loading", "lazy")]),
            _ => attributes.push(("src", picture.url)),
        }
        if let Some(alt) = &alt {
            attributes.push(("alt", alt));
        }
        if self.random.percent(50) {
            attributes.extend([("width", width.as_str()), ("height", height.as_str())]);
        }
        if self.random.percent(10) {
            attributes.push(("title", picture.kind));
        }
        let image = tag("img", &attributes);
        let image = if self.random.percent(25) {
            let link = [("href", picture.url), ("class", "zoom")];
            element("a", &link, vec![image])
        } else {
            image
        };
        match self.random.below(4) {
            0 => element("p", &[], vec![image]),
            1 => element(
                "div",
                &[("class", "wp-caption")],
                vec![
                    image,
                    element(
                        "p",
                        &[("class", "wp-caption-text")],
                        vec![text(&self.caption(picture))],
                    ),
                ],
            ),
            _ => element(
                "figure",
                &[],
                vec![
                    image,
                    element("figcaption", &[], vec![text(&self.caption(picture))]),
                ],
            ),
        }
    }

    /// The alternative text; none if the element has no such attribute.
    fn alt(&mut self, picture: &EmbeddedPicture) -> Option<String> {
        let town = self.random.pick(&TOWNS);
        match self.random.below(6) {
            0 => None,
            1 => Some(String::new()),
            2 => Some(
                picture
                    .url
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            3 if !picture.words.is_empty() => Some(picture.words.to_owned()),
            4 => Some(picture.kind.to_owned()),
            _ => Some(self.describe(picture, town)),
        }
    }

    fn describe(&mut self, picture: &EmbeddedPicture, town: &str) -> String {
        if picture.content == Content::OffTopic {
            format!("A {} from {town}", picture.kind)
        } else {
            format!("A {} on {}, {town}", picture.kind, self.topic.short)
        }
    }

    fn caption(&mut self, picture: &EmbeddedPicture) -> String {
        let (source, town) = (self.random.pick(&SOURCES), self.random.pick(&TOWNS));
        match self.random.below(4) {
            0 => format!("Photo: {source}"),
            1 => format!("{} (image: {source})", self.describe(picture, town)),
            2 => format!("Seen in {town}, {}", self.random.between(2012, 2023)),
            _ => self.describe(picture, town),
        }
    }
}

/// A sentence that fits any page.
fn filler(random: &mut Random) -> String {
    let (source, town) = (random.pick(&SOURCES), random.pick(&TOWNS));
    match random.below(6) {
        0 => sentence(&format!(
            "{source} has followed the matter in {town} for years"
        )),
        1 => format!("The town hall of {town} did not want to comment."),
        2 => "Readers have written to us about it again and again.".to_owned(),
        3 => format!(
            "More than {} people came to the meeting in {town}.",
            random.between(40, 900)
        ),
        4 => "The figures are a year old and new ones are expected in autumn.".to_owned(),
        _ => format!("We spoke about it with a {} in {town}.", random.pick(&JOBS)),
    }
}

/// The name of a site by its host: "Daily Lantern" for "daily-lantern.example".
fn site(host: &str) -> String {
    host.trim_start_matches("www.")
        .split('.')
        .next()
        .unwrap_or_default()
        .split('-')
        .map(capitalised)
        .collect::<Vec<_>>()
        .join(" ")
}
