//! The kinds of pictures that a search for arguments finds: posters, protest signs, charts, memes, cartoons, quotations, tables
//! of pros and cons, title cards, emblems, and pictures that are off topic.

use anyhow::Result;
use seeded_random::Random;

use crate::canvas::{Align, BLACK, Fonts, LetterStyle, Rgb, WHITE, area, mix};
use crate::painter::{Painter, Picture, Scheme};
use crate::scenery::{CLOTHES, SKIN};
use crate::topics::{Other, Side, Subjects, Topic};
use crate::wording::{JOBS, TOWNS, sentence};

/// The content of a picture with respect to a topic. Its judgements follow from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Pro,
    Con,
    Both,
    /// As `Both`, but drawn as one of the pictures of `--two-sided`.
    TwoSided,
    /// It is on topic and takes no side.
    OnTopic,
    OffTopic,
}

/// Draws picture number `number` of the topic's pictures with this content. The same arguments give the same picture.
pub fn draw(
    fonts: &Fonts,
    subjects: &Subjects,
    topic: &Topic,
    content: Content,
    number: usize,
    random: Random,
) -> Result<Picture> {
    let mut painter = Painter { fonts, random };
    match content {
        Content::Pro => painter.of_side(topic, &topic.pro, number),
        Content::Con => painter.of_side(topic, &topic.con, number),
        Content::Both => painter.pros_and_cons(topic),
        Content::TwoSided => painter.two_sided(topic, number),
        Content::OnTopic => match number % 2 {
            0 => painter.emblem(&topic.icons),
            _ => painter.title_card(&topic.title),
        },
        Content::OffTopic => painter.off_topic(subjects, number),
    }
}

impl Painter<'_> {
    /// A picture that argues for one side of a topic.
    fn of_side(&mut self, topic: &Topic, side: &Side, number: usize) -> Result<Picture> {
        let slogan = self.random.pick_text(&side.slogans).to_owned();
        let claim = self.random.pick_text(&side.claims).to_owned();
        match number % 6 {
            0 => {
                let below = self.random.pick_text(&side.reasons).to_owned();
                self.poster(&slogan, &sentence(&below), &topic.icons)
            }
            1 => {
                let mut others: Vec<&str> = side
                    .slogans
                    .iter()
                    .map(String::as_str)
                    .filter(|s| *s != slogan)
                    .collect();
                self.random.shuffle(&mut others);
                self.signs(&slogan, &others)
            }
            2 => {
                let at = self.random.below(side.charts.len());
                match side.charts.get(at) {
                    Some(chart) => self.chart(chart),
                    None => self.poster(&slogan, "", &topic.icons),
                }
            }
            3 => self.meme(&claim, &slogan, &topic.icons),
            4 => self.cartoon(&claim),
            _ => {
                let reason = self.random.pick_text(&side.reasons).to_owned();
                self.quotation(&format!("{claim}, because {reason}."))
            }
        }
    }

    /// A picture that has nothing to do with any topic.
    fn off_topic(&mut self, subjects: &Subjects, number: usize) -> Result<Picture> {
        let at = self.random.below(subjects.others.len());
        let Some(other) = subjects.others.get(at) else {
            return self.landscape();
        };
        let Other {
            slogans, charts, ..
        } = other;
        match number % 5 {
            0 => self.landscape(),
            1 => {
                let slogan = self.random.pick_text(slogans).to_owned();
                let below = self.random.pick_text(&other.sentences).to_owned();
                self.poster(&slogan, &format!("{below}."), &other.icons)
            }
            2 => self.shapes(),
            3 => match charts.first() {
                Some(chart) => self.chart(chart),
                None => self.shapes(),
            },
            _ => self.emblem(&other.icons),
        }
    }

    fn poster(&mut self, slogan: &str, below: &str, icons: &str) -> Result<Picture> {
        let Scheme {
            ground,
            ink,
            accent,
        } = self.scheme();
        let upright = self.random.percent(60);
        let (widths, heights) = if upright {
            ((420, 520), (560, 700))
        } else {
            ((600, 760), (400, 500))
        };
        let mut c = self.canvas(widths, heights, ground)?;
        let (w, h) = (c.width(), c.height());
        let icon = self.icon(icons);
        let text = self.shout(slogan, 55);
        let slant = if self.random.percent(30) {
            0.04 + 0.05 * self.random.fraction()
        } else {
            0.0
        };
        let style = self.random.below(3);
        match style {
            0 => c.frame(c.whole().inset(14.0), accent, 8.0),
            1 => c.rect(area(0.0, h * 0.86, w, h * 0.14), accent),
            _ => c.polygon(&[(0.0, 0.0), (w * 0.5, 0.0), (0.0, h * 0.22)], accent),
        }
        let small_print = match style {
            1 => readable_on(accent, WHITE, BLACK),
            _ => ink,
        };
        let bold = LetterStyle::new(ink, 0.055);
        let (title, picture) = if upright {
            (
                area(w * 0.1, h * 0.42, w * 0.8, h * 0.38),
                (w * 0.5, h * 0.24, h * 0.3),
            )
        } else {
            (
                area(w * 0.42, h * 0.14, w * 0.52, h * 0.62),
                (w * 0.22, h * 0.45, w * 0.3),
            )
        };
        c.icon(
            icon,
            picture.0,
            picture.1,
            picture.2,
            mix(ink, ground, 0.15),
        );
        c.turned(-slant, w / 2.0, h / 2.0, |c| {
            c.text(&text, title, 92.0, Align::Centre, bold);
        });
        let foot = area(w * 0.1, h * 0.865, w * 0.8, h * 0.09);
        c.text(
            below,
            foot,
            20.0,
            Align::Centre,
            LetterStyle::new(small_print, 0.025),
        );
        Ok(Picture::new(c, "poster", slogan))
    }

    fn signs(&mut self, slogan: &str, others: &[&str]) -> Result<Picture> {
        let sky = self.random.pick(&[
            [150, 190, 225],
            [205, 210, 215],
            [120, 150, 190],
            [235, 215, 190],
        ]);
        let mut c = self.canvas((620, 800), (440, 560), sky)?;
        let (w, h) = (c.width(), c.height());
        c.sky(area(0.0, 0.0, w, h * 0.7), sky, mix(sky, WHITE, 0.5), 6);
        self.houses(&mut c, h * 0.62);
        c.rect(area(0.0, h * 0.62, w, h * 0.38), [110, 108, 106]);
        let mut boards: Vec<(f32, f32, f32, &str)> = vec![(0.5, 0.25, 0.4, slogan)];
        let beside = self.random.below(3);
        for (&other, at) in others.iter().take(beside).zip([0.14, 0.86]) {
            boards.insert(0, (at, 0.4, 0.24, other));
        }
        for (x, y, width, text) in boards {
            let (paper, ink) = self.random.pick(&[
                (WHITE, BLACK),
                ([250, 235, 120], BLACK),
                (WHITE, [190, 20, 30]),
                ([215, 170, 120], BLACK),
                ([245, 245, 240], [20, 50, 140]),
                ([30, 30, 30], WHITE),
            ]);
            let slant = self.random.signed_fraction() * 0.14;
            let text = self.shout(text, 70);
            let board = area(w * (x - width / 2.0), h * (y - 0.2), w * width, h * 0.4);
            let letters = LetterStyle {
                shake: 0.025,
                ..LetterStyle::new(ink, 0.07)
            };
            let (middle, foot) = (w * x, h * 0.86);
            c.turned(slant, middle, foot, |c| {
                c.rect(
                    area(middle - 6.0, board.y, 12.0, foot - board.y),
                    [150, 110, 70],
                );
                c.rect(board, paper);
                c.frame(board, mix(paper, BLACK, 0.4), 2.0);
                c.text(&text, board.inset(w * 0.02), 76.0, Align::Centre, letters);
            });
            self.person(&mut c, middle + 16.0, foot, h * 0.075);
        }
        for _ in 0..self.random.between(3, 9) {
            let x = self.random.fraction() * w;
            let y = h * (0.86 + 0.1 * self.random.fraction());
            self.person(&mut c, x, y, h * 0.065);
        }
        Ok(Picture::new(c, "protest sign", slogan))
    }

    fn meme(&mut self, claim: &str, slogan: &str, icons: &str) -> Result<Picture> {
        let mut c = self.canvas((500, 620), (440, 560), [90, 120, 150])?;
        let (w, h) = (c.width(), c.height());
        self.scene(&mut c);
        match self.random.below(3) {
            0 => self.face(&mut c, w / 2.0, h * 0.5, h * 0.17),
            1 => {
                self.face(&mut c, w * 0.3, h * 0.52, h * 0.13);
                let icon = self.icon(icons);
                c.icon(icon, w * 0.7, h * 0.5, h * 0.26, [30, 30, 36]);
            }
            _ => {
                let icon = self.icon(icons);
                c.disc(w / 2.0, h * 0.5, h * 0.2, [235, 225, 200]);
                c.icon(icon, w / 2.0, h * 0.5, h * 0.28, [40, 34, 30]);
            }
        }
        let (above, below) = if self.random.percent(50) {
            halves(claim)
        } else {
            (slogan.to_owned(), claim.to_owned())
        };
        let letters = LetterStyle {
            border: Some((BLACK, 0.05)),
            ..LetterStyle::new(WHITE, 0.075)
        };
        for (text, y) in [(&above, 0.02), (&below, 0.72)] {
            let line = area(w * 0.04, h * y, w * 0.92, h * 0.26);
            c.text(&text.to_uppercase(), line, 52.0, Align::Centre, letters);
        }
        Ok(Picture::new(c, "meme", &format!("{above} {below}")))
    }

    fn cartoon(&mut self, claim: &str) -> Result<Picture> {
        let paper = self.random.pick(&[
            [250, 248, 240],
            [225, 238, 245],
            [245, 235, 215],
            [232, 240, 225],
        ]);
        let mut c = self.canvas((600, 760), (430, 520), paper)?;
        let (w, h) = (c.width(), c.height());
        c.rect(area(0.0, h * 0.84, w, h * 0.16), mix(paper, BLACK, 0.25));
        c.lines(&[(0.0, h * 0.84), (w, h * 0.84)], BLACK, 3.0);
        let left = self.random.percent(50);
        let (speaker, listener) = if left { (0.24, 0.76) } else { (0.76, 0.24) };
        for (at, arm) in [(speaker, -1.0), (listener, 1.0)] {
            let (x, shoulder) = (w * at, h * 0.66);
            let coat = self.random.pick(&CLOTHES);
            c.polygon(
                &[
                    (x - 34.0, shoulder),
                    (x + 34.0, shoulder),
                    (x + 44.0, h * 0.9),
                    (x - 44.0, h * 0.9),
                ],
                coat,
            );
            let inward = if at < 0.5 { 1.0 } else { -1.0 };
            let elbow = (x + inward * 62.0, shoulder + 34.0);
            let hand = (x + inward * 92.0, shoulder + 10.0 * arm);
            c.lines(
                &[(x + inward * 28.0, shoulder + 10.0), elbow, hand],
                BLACK,
                6.0,
            );
            self.face(&mut c, x, h * 0.56, h * 0.085);
        }
        let bubble = area(w * 0.08, h * 0.04, w * 0.84, h * 0.34);
        let tip = (w * speaker, h * 0.46);
        let foot = w * (speaker + if left { 0.08 } else { -0.08 });
        c.oval(
            area(
                bubble.x - 3.0,
                bubble.y - 3.0,
                bubble.w + 6.0,
                bubble.h + 6.0,
            ),
            BLACK,
        );
        c.polygon(
            &[(foot - 22.0, h * 0.34), (foot + 22.0, h * 0.34), tip],
            BLACK,
        );
        c.oval(bubble, WHITE);
        c.polygon(
            &[
                (foot - 17.0, h * 0.34),
                (foot + 17.0, h * 0.34),
                (tip.0, tip.1 - 8.0),
            ],
            WHITE,
        );
        let inside = area(
            bubble.x + bubble.w * 0.14,
            bubble.y + bubble.h * 0.12,
            bubble.w * 0.72,
            bubble.h * 0.76,
        );
        let end = self.random.pick(&["!", ".", "!!"]);
        let hand = LetterStyle {
            shake: 0.015,
            ..LetterStyle::new(BLACK, 0.04)
        };
        c.text(&format!("{claim}{end}"), inside, 40.0, Align::Centre, hand);
        if self.random.percent(50) {
            let answer = self.random.pick(&["Hm.", "Really?", "Oh!", "I see."]);
            c.line_centred(answer, w * listener, h * 0.445, 24.0, hand);
        }
        Ok(Picture::new(c, "cartoon", claim))
    }

    fn quotation(&mut self, text: &str) -> Result<Picture> {
        let ground = self.random.pick(&[
            [28, 30, 34],
            [40, 54, 70],
            [60, 30, 40],
            [240, 238, 230],
            [24, 60, 54],
        ]);
        let ink = readable_on(ground, WHITE, BLACK);
        let mut c = self.canvas((640, 800), (360, 460), ground)?;
        let (w, h) = (c.width(), c.height());
        let side = mix(ground, ink, 0.25);
        c.rect(area(0.0, 0.0, w * 0.32, h), side);
        let clothes = self.random.pick(&CLOTHES);
        let skin = self.random.pick(&SKIN);
        c.oval(area(w * 0.02, h * 0.66, w * 0.28, h * 0.6), clothes);
        c.disc(w * 0.16, h * 0.48, w * 0.1, mix(skin, BLACK, 0.6));
        c.disc(w * 0.16, h * 0.5, w * 0.085, skin);
        let slanted = self.random.percent(25);
        c.turned(if slanted { -0.05 } else { 0.0 }, w * 0.65, h * 0.5, |c| {
            c.text(
                &format!("“{text}”"),
                area(w * 0.36, h * 0.1, w * 0.6, h * 0.62),
                40.0,
                Align::Centre,
                LetterStyle::new(ink, 0.03),
            );
        });
        let (job, town) = (self.random.pick(&JOBS), self.random.pick(&TOWNS));
        c.line_centred(
            &format!("— a {job} from {town}"),
            w * 0.66,
            h * 0.88,
            20.0,
            LetterStyle::new(mix(ink, ground, 0.2), 0.03),
        );
        Ok(Picture::new(c, "quote", text))
    }

    fn title_card(&mut self, title: &str) -> Result<Picture> {
        let Scheme {
            ground,
            ink,
            accent,
        } = self.scheme();
        let mut c = self.canvas((600, 760), (360, 460), ground)?;
        let (w, h) = (c.width(), c.height());
        c.disc(w * 0.85, h * 0.2, h * 0.35, mix(ground, accent, 0.3));
        c.text(
            title,
            area(w * 0.1, h * 0.15, w * 0.8, h * 0.6),
            62.0,
            Align::Centre,
            LetterStyle::new(ink, 0.04),
        );
        let kind = self.random.pick(&[
            "Debate night",
            "The big question",
            "Podcast, episode 12",
            "Reader's forum",
            "Explained",
        ]);
        c.line_centred(kind, w / 2.0, h * 0.9, 22.0, LetterStyle::new(ink, 0.02));
        Ok(Picture::new(c, "title card", title))
    }

    fn emblem(&mut self, icons: &str) -> Result<Picture> {
        let Scheme {
            ground,
            ink,
            accent,
        } = self.scheme();
        let mut c = self.canvas((480, 700), (400, 520), ground)?;
        let (w, h) = (c.width(), c.height());
        if self.random.percent(50) {
            self.scene(&mut c);
        }
        let count = self.random.between(1, 3);
        for at in 0..count {
            let x = w * (at as f32 + 0.5) / count as f32;
            let size = (w / count as f32 * 0.7).min(h * 0.6);
            let icon = self.icon(icons);
            c.disc(x, h * 0.55, size * 0.66, mix(accent, WHITE, 0.6));
            c.ring(
                area(
                    x - size * 0.66,
                    h * 0.55 - size * 0.66,
                    size * 1.32,
                    size * 1.32,
                ),
                ink,
                4.0,
            );
            c.icon(icon, x, h * 0.55, size, BLACK);
        }
        Ok(Picture::new(c, "picture", ""))
    }

    fn landscape(&mut self) -> Result<Picture> {
        let mut c = self.canvas((560, 760), (380, 500), [150, 190, 225])?;
        self.scene(&mut c);
        Ok(Picture::new(c, "landscape", ""))
    }

    fn shapes(&mut self) -> Result<Picture> {
        let Scheme {
            ground,
            ink,
            accent,
        } = self.scheme();
        let mut c = self.canvas((440, 640), (400, 520), ground)?;
        let (w, h) = (c.width(), c.height());
        for _ in 0..self.random.between(6, 16) {
            let (x, y) = (self.random.fraction() * w, self.random.fraction() * h);
            let r = 20.0 + 80.0 * self.random.fraction();
            let tint = mix(
                self.random.pick(&[ink, accent]),
                ground,
                0.6 * self.random.fraction(),
            );
            match self.random.below(3) {
                0 => c.disc(x, y, r, tint),
                1 => c.rect(area(x - r, y - r * 0.6, 2.0 * r, 1.2 * r), tint),
                _ => c.polygon(&[(x, y - r), (x + r, y + r), (x - r, y + r)], tint),
            }
        }
        Ok(Picture::new(c, "pattern", ""))
    }
}

/// The first and the second half of the words of a sentence.
fn halves(text: &str) -> (String, String) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (above, below) = words.split_at(words.len().div_ceil(2));
    (above.join(" "), below.join(" "))
}

/// The colour whose lightness differs more from that of the ground: `a` or `b`.
fn readable_on(ground: Rgb, a: Rgb, b: Rgb) -> Rgb {
    let light = |c: Rgb| 299 * i32::from(c[0]) + 587 * i32::from(c[1]) + 114 * i32::from(c[2]);
    let far = |c: Rgb| (light(c) - light(ground)).abs();
    if far(a) > far(b) { a } else { b }
}
