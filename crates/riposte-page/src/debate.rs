//! The drawing of a debate: what speaks for a claim beside what speaks against it, each argument with the images that illustrate it.

use askama::Template;
use riposte_eval::Stance;

use crate::answer::{Answer, Argument, Image};
use crate::items::{Links, ResultItem, divided};
use crate::words::shortened;

/// The sides of an answer, as HTML.
#[derive(Debug, Template)]
#[template(path = "debate.html")]
pub struct DebateView {
    /// What stands above each side when it is printed on a page of its own.
    print_title: Option<String>,
    sides: Vec<SideView>,
}

/// A side, or what is undecided.
#[derive(Debug)]
struct SideView {
    /// "pro", "con" or "undecided".
    class: &'static str,
    title: &'static str,
    says: String,
    /// `None` if the answer has no arguments.
    arguments: Option<Vec<ResultItem>>,
    /// The images that illustrate none of the arguments.
    images: Vec<ResultItem>,
    /// Whether the side has no image, although there are images.
    lacks_images: bool,
    /// The number of arguments that are not listed.
    more: usize,
}

/// The characters that are shown of a claim.
pub const CLAIM: usize = 300;

impl DebateView {
    /// Lays out the sides of an answer. What is undecided is left out if there is nothing.
    pub fn of(answer: &Answer, links: &dyn Links) -> DebateView {
        let sides = answer.sides.iter().map(|side| {
            let (class, title, yes) = match side.side {
                Stance::Pro => ("pro", "For", "yes"),
                Stance::Con => ("con", "Against", "no"),
            };
            let says = match side.claim.as_str() {
                "" => String::new(),
                claim => format!("{yes}, {}", shortened(claim, CLAIM)),
            };
            SideView {
                class,
                title,
                says,
                ..SideView::new(links, side.arguments.as_deref(), side.images.as_deref())
            }
        });
        let undecided = answer.undecided.iter().map(|of| SideView {
            class: "undecided",
            title: "Undecided",
            says: "what takes no clear side".to_owned(),
            more: of.more_arguments.unwrap_or_default(),
            lacks_images: false,
            ..SideView::new(links, of.arguments.as_deref(), of.images.as_deref())
        });
        DebateView {
            print_title: None,
            sides: sides.chain(undecided.filter(SideView::has_some)).collect(),
        }
    }

    /// The same, for sides that are printed on pages of their own: each with this title.
    #[must_use]
    pub fn with_print_title(self, title: &str) -> DebateView {
        DebateView {
            print_title: Some(title.to_owned()),
            ..self
        }
    }

    /// Whether there is no side to show.
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }
}

impl SideView {
    fn new(
        links: &dyn Links,
        arguments: Option<&[Argument]>,
        images: Option<&[Image]>,
    ) -> SideView {
        let all = images.unwrap_or_default();
        let illustrates =
            |image: &&Image, argument: &Argument| image.argument.as_ref() == Some(&argument.id);
        let others = |image: &&Image| {
            let mut shown = arguments.unwrap_or_default().iter();
            !shown.any(|argument| illustrates(image, argument))
        };
        let others: Vec<&Image> = all.iter().filter(others).collect();
        let items = others.iter().map(|image| ResultItem::image(links, image));
        let item = |(number, argument): (usize, &Argument)| {
            let images = all.iter().filter(|image| illustrates(image, argument));
            let mut images: Vec<&Image> = images.collect();
            let likeness = |image: &Image| image.likeness.unwrap_or(f64::NEG_INFINITY);
            images.sort_by(|a, b| {
                let by_likeness = likeness(b).total_cmp(&likeness(a));
                by_likeness.then(a.rank.cmp(&b.rank))
            });
            let images = images.into_iter();
            ResultItem {
                images: images
                    .map(|image| ResultItem::illustration(links, image))
                    .collect(),
                ..ResultItem::argument(links, number, argument)
            }
        };
        SideView {
            class: "",
            title: "",
            says: String::new(),
            arguments: arguments.map(|arguments| {
                let items = (1..).zip(arguments).map(item).collect();
                divided(items, arguments.iter().map(|argument| &argument.about))
            }),
            images: divided(items.collect(), others.iter().map(|image| &image.about)),
            lacks_images: images.is_some_and(<[Image]>::is_empty),
            more: 0,
        }
    }

    fn has_some(&self) -> bool {
        let has_arguments = self.arguments.iter().any(|list| !list.is_empty());
        has_arguments || !self.images.is_empty() || self.more > 0
    }

    /// What stands above the images.
    fn heading(&self) -> &'static str {
        match self.arguments.as_deref() {
            None | Some([]) => "Images",
            Some(_) if self.class == "undecided" => "Images",
            Some(_) => "Images that illustrate none of these arguments",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{About, Side, Undecided};
    use crate::items::Picture;

    struct Nowhere;

    impl Links for Nowhere {
        fn document(&self, _: &str) -> Option<String> {
            None
        }

        fn picture(&self, _: &Image) -> Option<Picture> {
            None
        }
    }

    fn argument(id: &str, is_padding: bool) -> Argument {
        Argument {
            id: id.to_owned(),
            text: format!("{id} <says>"),
            about: About {
                probability: None,
                is_padding,
            },
            ..Argument::default()
        }
    }

    fn image(id: &str, argument: Option<(&str, f64)>) -> Image {
        Image {
            list: Stance::Pro,
            rank: 1,
            id: id.to_owned(),
            score: 1.0,
            pro: None,
            con: None,
            words: "a cage".to_owned(),
            place: Some("caption".to_owned()),
            file: None,
            picture: None,
            page: None,
            argument: argument.map(|(id, _)| id.to_owned()),
            likeness: argument.map(|(_, likeness)| likeness),
            about: About::default(),
        }
    }

    #[test]
    fn an_image_stands_below_its_argument_the_most_similar_first_and_the_others_below_all() {
        let images = vec![
            image("I1", Some(("a1", 0.7))),
            image("I2", None),
            image("I3", Some(("a1", 0.9))),
            image("I4", Some(("elsewhere", 0.9))),
        ];
        let answer = Answer {
            sides: vec![Side {
                side: Stance::Pro,
                claim: String::new(),
                arguments: Some(vec![argument("a1", false), argument("a2", true)]),
                images: Some(images),
            }],
            undecided: Some(Undecided::default()),
            ..Answer::default()
        };
        let html = DebateView::of(&answer, &Nowhere).render().unwrap();
        let order = [
            "a1 &#60;says&#62;",
            "no picture of I3",
            "likeness 0.900",
            "no picture of I1",
            "less likely to be about it",
            "a2 &#60;says&#62;",
            "Images that illustrate none of these arguments",
            "no picture of I2",
            "no picture of I4",
        ];
        let places = order.map(|words| html.find(words));
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{html}"
        );
        assert_eq!(html.matches("<section class=\"side").count(), 1);
        assert!(!html.contains("<a "), "{html}");
    }
}
