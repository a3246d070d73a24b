//! Pictures that argue for both sides of a topic: lists of pros and cons in columns or panels, and a claim that is supported on one side and
//! attacked on the other.

use anyhow::Result;

use crate::canvas::{Align, Area, BLACK, Canvas, LetterStyle, Rgb, WHITE, area, mix};
use crate::painter::{Painter, Picture};
use crate::topics::{Side, Topic};
use crate::wording::sentence;

/// Headings of the supporting and of the attacking side.
const HEADINGS: [(&str, &str); 6] = [
    ("PROS", "CONS"),
    ("FOR", "AGAINST"),
    ("ARGUMENTS FOR", "ARGUMENTS AGAINST"),
    ("Advantages", "Disadvantages"),
    ("Pros", "Cons"),
    ("Benefits", "Drawbacks"),
];

const GREEN: Rgb = [30, 120, 60];
const RED: Rgb = [180, 40, 40];

/// One side of the picture.
#[derive(Clone, Copy)]
struct Half<'a> {
    supports: bool,
    words: &'a Side,
    heading: &'static str,
}

impl Half<'_> {
    fn colour(&self) -> Rgb {
        if self.supports { GREEN } else { RED }
    }
}

impl<'f> Painter<'f> {
    /// Two-sided picture number `turn` of a topic. Kinds take turns, and so do headings.
    pub fn two_sided(&mut self, topic: &Topic, turn: usize) -> Result<Picture> {
        const KINDS: usize = 5;
        let (pro, con) = HEADINGS[turn / KINDS % HEADINGS.len()];
        let mut halves = [
            Half {
                supports: true,
                words: &topic.pro,
                heading: pro,
            },
            Half {
                supports: false,
                words: &topic.con,
                heading: con,
            },
        ];
        // the supporting side is usually first, as in real pictures
        if self.random.percent(25) {
            halves.reverse();
        }
        match turn % KINDS {
            0 => self.columns(topic, halves, Mark::Dot),
            1 => self.panels(topic, halves),
            2 => self.columns(topic, halves, Mark::Sign),
            3 => self.signs_alone(topic, halves),
            _ => self.disputed_claim(topic, halves),
        }
    }

    /// Two columns of reasons below headings.
    fn columns(&mut self, topic: &Topic, halves: [Half; 2], mark: Mark) -> Result<Picture> {
        let mut c = self.page(topic)?;
        let (w, h) = (c.width(), c.height());
        for (half, x) in halves.into_iter().zip([0.03, 0.53]) {
            let head = area(w * x, h * 0.2, w * 0.44, h * 0.11);
            self.heading(&mut c, half, head);
            let body = area(w * x, h * 0.33, w * 0.44, h * 0.64);
            self.reasons(&mut c, half, body, mark);
        }
        Ok(named(c, topic, halves))
    }

    /// One panel above the other.
    fn panels(&mut self, topic: &Topic, halves: [Half; 2]) -> Result<Picture> {
        let mut c = self.page(topic)?;
        let (w, h) = (c.width(), c.height());
        for (half, y) in halves.into_iter().zip([0.19, 0.6]) {
            let panel = area(w * 0.03, h * y, w * 0.94, h * 0.38);
            c.rect(panel, mix(half.colour(), WHITE, 0.82));
            let head = area(panel.x, panel.y, panel.w, panel.h * 0.24);
            self.heading(&mut c, half, head);
            let body = area(panel.x, panel.y + panel.h * 0.28, panel.w, panel.h * 0.7);
            self.reasons(&mut c, half, body, Mark::Dot);
        }
        Ok(named(c, topic, halves))
    }

    /// A green and a red column whose only headings are a large tick and a large cross.
    fn signs_alone(&mut self, topic: &Topic, halves: [Half; 2]) -> Result<Picture> {
        let mut c = self.page(topic)?;
        let (w, h) = (c.width(), c.height());
        for (half, x) in halves.into_iter().zip([0.02, 0.51]) {
            let column = area(w * x, h * 0.2, w * 0.47, h * 0.78);
            c.rect(column, mix(half.colour(), WHITE, 0.78));
            sign(&mut c, half, column.x + column.w / 2.0, h * 0.28, h * 0.05);
            let body = area(column.x, h * 0.36, column.w, h * 0.6);
            self.reasons(&mut c, half, body.inset(w * 0.015), Mark::None);
        }
        Ok(named(c, topic, halves))
    }

    /// A claim at the top; below it, one side supports the claim and the other attacks it.
    fn disputed_claim(&mut self, topic: &Topic, halves: [Half; 2]) -> Result<Picture> {
        let claim = self.random.pick_text(&topic.pro.claims).to_owned();
        let mut c = self.canvas((660, 820), (420, 520), [250, 248, 240])?;
        let (w, h) = (c.width(), c.height());
        let head = area(w * 0.06, h * 0.03, w * 0.88, h * 0.22);
        c.frame(head, BLACK, 2.5);
        let quoted = format!("\u{201c}{}\u{201d}", sentence(&claim));
        let bold = LetterStyle::new(BLACK, 0.045);
        c.text(&quoted, head.inset(10.0), 36.0, Align::Centre, bold);
        for (half, x) in halves.into_iter().zip([0.05, 0.54]) {
            let bubble = area(w * x, h * 0.36, w * 0.41, h * 0.6);
            c.rect(bubble, mix(half.colour(), WHITE, 0.8));
            let answer = if half.supports {
                "Yes, because"
            } else {
                "No, because"
            };
            let reason = self.random.pick_text(&half.words.reasons);
            let says = format!(
                "{answer} {reason}, and {}.",
                self.other_reason(half.words, reason)
            );
            let letters = LetterStyle::new(BLACK, 0.03);
            c.text(&says, bubble.inset(14.0), 27.0, Align::Left, letters);
        }
        Ok(Picture::new(c, "two opinions", &claim))
    }

    /// A reason of the side other than `first`.
    fn other_reason<'a>(&mut self, side: &'a Side, first: &str) -> &'a str {
        let others: Vec<&str> = side
            .reasons
            .iter()
            .map(String::as_str)
            .filter(|reason| *reason != first)
            .collect();
        if others.is_empty() {
            return "that is all";
        }
        others[self.random.below(others.len())]
    }

    /// A page with the topic as its title.
    fn page(&mut self, topic: &Topic) -> Result<Canvas<'f>> {
        let scheme = self.scheme();
        let mut c = self.canvas((680, 820), (520, 640), mix(scheme.ground, WHITE, 0.9))?;
        let (w, h) = (c.width(), c.height());
        c.rect(area(0.0, 0.0, w, h * 0.16), scheme.ground);
        let title = area(w * 0.05, h * 0.02, w * 0.9, h * 0.12);
        let bold = LetterStyle::new(scheme.ink, 0.04);
        c.text(&topic.title, title, 36.0, Align::Centre, bold);
        Ok(c)
    }

    fn heading(&mut self, c: &mut Canvas, half: Half, head: Area) {
        c.rect(head, half.colour());
        let letters = LetterStyle::new(WHITE, 0.05);
        let into = head.inset(head.h * 0.14);
        c.text(half.heading, into, head.h * 0.6, Align::Centre, letters);
    }

    /// Three reasons of a side, one below the other.
    fn reasons(&mut self, c: &mut Canvas, half: Half, body: Area, mark: Mark) {
        let mut lines: Vec<&str> = half.words.reasons.iter().map(String::as_str).collect();
        self.random.shuffle(&mut lines);
        let row = body.h / 3.0;
        for (line, n) in lines.iter().zip([0.0, 1.0, 2.0]) {
            let y = body.y + n * row;
            match mark {
                Mark::Dot => c.disc(body.x + 16.0, y + row / 2.0, 6.0, half.colour()),
                Mark::Sign => sign(c, half, body.x + 16.0, y + row / 2.0, 9.0),
                Mark::None => {}
            }
            let into = area(body.x + 34.0, y + 3.0, body.w - 40.0, row - 6.0);
            let letters = LetterStyle::new(BLACK, 0.03);
            c.text(&sentence(line), into, 25.0, Align::Left, letters);
        }
    }
}

/// The mark before each reason.
#[derive(Clone, Copy)]
enum Mark {
    Dot,
    /// A tick or a cross.
    Sign,
    None,
}

/// A tick or a cross of the size `r`, with its middle at (x, y).
fn sign(c: &mut Canvas, half: Half, x: f32, y: f32, r: f32) {
    let width = r * 0.4;
    if half.supports {
        let tick = [(x - r, y), (x - r * 0.3, y + r * 0.7), (x + r, y - r * 0.8)];
        c.lines(&tick, GREEN, width);
    } else {
        c.lines(&[(x - r, y - r), (x + r, y + r)], RED, width);
        c.lines(&[(x - r, y + r), (x + r, y - r)], RED, width);
    }
}

fn named(c: Canvas, topic: &Topic, [first, second]: [Half; 2]) -> Picture {
    let words = format!("{} {} {}", topic.title, first.heading, second.heading);
    Picture::new(c, "overview", &words)
}
