//! The kinds of pictures that a search for arguments meets: posters, protest signs, charts, memes,
//! cartoons, quotations, tables of pros and cons, title cards, emblems, and pictures of nothing in point.

use anyhow::Result;
use image::RgbImage;

use crate::draw::{Align, BLACK, Canvas, Fonts, Ink, Rgb, WHITE, area, mix};
use crate::scenery::{CLOTHES, SKIN};
use crate::topics::{Chart, Other, Side, Subjects, Topic};
use seeded_random::Random;

/// What a picture shows of a topic: its judgements follow from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Pro,
    Con,
    Both,
    /// The topic, without taking a side.
    Topic,
    /// Nothing that the topic asks about.
    Nothing,
}

/// A picture and the words that somebody who saw it would use for it.
pub struct Drawn {
    pub image: RgbImage,
    /// What the picture is: "poster", "protest sign".
    pub kind: &'static str,
    /// The main words in the picture, if it has any.
    pub words: String,
}

/// What a picture is drawn with.
pub struct Painter<'a> {
    fonts: &'a Fonts,
    pub random: Random,
}

type Scheme = (Rgb, Rgb, Rgb);

/// Ground, letters, accent: legible together.
const SCHEMES: [Scheme; 12] = [
    ([246, 230, 90], [24, 24, 32], [200, 32, 40]),
    ([190, 30, 45], [255, 255, 255], [250, 220, 90]),
    ([20, 60, 110], [255, 255, 255], [255, 190, 40]),
    ([240, 240, 235], [30, 40, 50], [20, 140, 110]),
    ([30, 120, 70], [250, 250, 240], [240, 230, 120]),
    ([20, 20, 24], [250, 250, 250], [230, 60, 60]),
    ([250, 160, 60], [40, 24, 16], [255, 250, 230]),
    ([120, 60, 150], [255, 255, 255], [180, 240, 200]),
    ([200, 230, 250], [20, 50, 90], [230, 90, 60]),
    ([255, 225, 230], [120, 20, 60], [60, 60, 70]),
    ([0, 130, 150], [255, 255, 250], [255, 210, 60]),
    ([222, 205, 175], [70, 30, 20], [160, 40, 30]),
];

/// Image `number` of a topic, showing `shown`; the same arguments give the same picture.
pub fn draw(
    fonts: &Fonts,
    subjects: &Subjects,
    topic: &Topic,
    shown: Shown,
    number: usize,
    random: Random,
) -> Result<Drawn> {
    let mut p = Painter { fonts, random };
    match shown {
        Shown::Pro => p.of_side(topic, &topic.pro, number),
        Shown::Con => p.of_side(topic, &topic.con, number),
        Shown::Both => p.pros_and_cons(topic),
        Shown::Topic => match number % 2 {
            0 => p.emblem(&topic.icons),
            _ => p.title_card(&topic.title),
        },
        Shown::Nothing => p.of_nothing(subjects, number),
    }
}

impl<'a> Painter<'a> {
    fn of_side(&mut self, topic: &Topic, side: &Side, number: usize) -> Result<Drawn> {
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

    fn of_nothing(&mut self, subjects: &Subjects, number: usize) -> Result<Drawn> {
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

    fn canvas(
        &mut self,
        widths: (usize, usize),
        heights: (usize, usize),
        ground: Rgb,
    ) -> Result<Canvas<'a>> {
        let width = self.random.between(widths.0, widths.1) as u32;
        let height = self.random.between(heights.0, heights.1) as u32;
        let hand = Random::new(self.random.next_u64(), "hand", 0);
        Canvas::new(self.fonts, width, height, ground, hand)
    }

    fn scheme(&mut self) -> Scheme {
        self.random.pick(&SCHEMES)
    }

    fn icon(&mut self, icons: &str) -> char {
        let icons: Vec<char> = icons.chars().collect();
        self.random.pick(&icons)
    }

    /// As it is, or in capitals.
    fn shout(&mut self, text: &str, percent: usize) -> String {
        match self.random.percent(percent) {
            true => text.to_uppercase(),
            false => text.to_owned(),
        }
    }

    fn poster(&mut self, slogan: &str, below: &str, icons: &str) -> Result<Drawn> {
        let (ground, ink, accent) = self.scheme();
        let upright = self.random.percent(60);
        let (widths, heights) = match upright {
            true => ((420, 520), (560, 700)),
            false => ((600, 760), (400, 500)),
        };
        let mut c = self.canvas(widths, heights, ground)?;
        let (w, h) = (c.width(), c.height());
        let icon = self.icon(icons);
        let text = self.shout(slogan, 55);
        let slant = match self.random.percent(30) {
            true => 0.04 + 0.05 * self.random.fraction(),
            false => 0.0,
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
        let bold = Ink::new(ink, 0.055);
        let (title, picture) = match upright {
            true => (
                area(w * 0.1, h * 0.42, w * 0.8, h * 0.38),
                (w * 0.5, h * 0.24, h * 0.3),
            ),
            false => (
                area(w * 0.42, h * 0.14, w * 0.52, h * 0.62),
                (w * 0.22, h * 0.45, w * 0.3),
            ),
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
            Ink::new(small_print, 0.025),
        );
        Ok(drawn(c, "poster", slogan))
    }

    fn signs(&mut self, slogan: &str, others: &[&str]) -> Result<Drawn> {
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
            let letters = Ink {
                shake: 0.025,
                ..Ink::new(ink, 0.07)
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
        Ok(drawn(c, "protest sign", slogan))
    }

    fn chart(&mut self, chart: &Chart) -> Result<Drawn> {
        let dark = self.random.percent(25);
        let (ground, ink) = match dark {
            true => ([24, 30, 44], [240, 240, 240]),
            false => ([253, 253, 250], [40, 40, 46]),
        };
        let mut c = self.canvas((560, 720), (380, 480), ground)?;
        let (w, h) = (c.width(), c.height());
        let accent = self.random.pick(&[
            [40, 110, 190],
            [210, 80, 40],
            [60, 150, 90],
            [150, 60, 140],
            [220, 150, 20],
        ]);
        c.text(
            &chart.title,
            area(w * 0.06, h * 0.03, w * 0.88, h * 0.15),
            34.0,
            Align::Centre,
            Ink::new(ink, 0.035),
        );
        let plot = area(w * 0.13, h * 0.22, w * 0.8, h * 0.56);
        let top = axis_top(chart.values.iter().copied().max().unwrap_or(1));
        let grid = mix(ground, ink, 0.2);
        for tick in 0..=4u32 {
            let y = plot.y + plot.h * (1.0 - tick as f32 / 4.0);
            c.lines(&[(plot.x, y), (plot.x + plot.w, y)], grid, 1.0);
            let label = format!("{}", f64::from(top) * f64::from(tick) / 4.0);
            c.line_centred(
                &label,
                plot.x - w * 0.05,
                y + 5.0,
                15.0,
                Ink::new(ink, 0.02),
            );
        }
        let step = plot.w / chart.values.len().max(1) as f32;
        let place = |i: usize, value: u32| {
            let x = plot.x + step * (i as f32 + 0.5);
            (x, plot.y + plot.h * (1.0 - value as f32 / top as f32))
        };
        let in_time = chart
            .labels
            .iter()
            .all(|l| l.starts_with(|c: char| c.is_ascii_digit()));
        let points: Vec<(f32, f32)> = chart
            .values
            .iter()
            .enumerate()
            .map(|(i, &v)| place(i, v))
            .collect();
        let as_line = in_time && points.len() > 2 && self.random.percent(60);
        if as_line {
            c.lines(&points, accent, 5.0);
        }
        for ((&(x, y), value), label) in points.iter().zip(&chart.values).zip(&chart.labels) {
            match as_line {
                true => c.disc(x, y, 8.0, accent),
                false => c.rect(
                    area(x - step * 0.3, y, step * 0.6, plot.y + plot.h - y),
                    accent,
                ),
            }
            c.line_centred(&value.to_string(), x, y - 12.0, 19.0, Ink::new(ink, 0.035));
            c.line_centred(label, x, plot.y + plot.h + 24.0, 19.0, Ink::new(ink, 0.03));
        }
        c.lines(
            &[
                (plot.x, plot.y + plot.h),
                (plot.x + plot.w, plot.y + plot.h),
            ],
            ink,
            2.0,
        );
        let (town, asked) = (self.random.pick(&TOWNS), self.random.between(412, 3980));
        let source = format!("Source: {town} survey office, n = {asked}");
        c.line(
            &source,
            w * 0.06,
            h * 0.95,
            14.0,
            Ink::new(mix(ink, ground, 0.2), 0.02),
        );
        Ok(drawn(c, "chart", &chart.title))
    }

    fn meme(&mut self, claim: &str, slogan: &str, icons: &str) -> Result<Drawn> {
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
        let (above, below) = match self.random.percent(50) {
            true => halves(claim),
            false => (slogan.to_owned(), claim.to_owned()),
        };
        let letters = Ink {
            border: Some((BLACK, 0.05)),
            ..Ink::new(WHITE, 0.075)
        };
        for (text, y) in [(&above, 0.02), (&below, 0.72)] {
            let line = area(w * 0.04, h * y, w * 0.92, h * 0.26);
            c.text(&text.to_uppercase(), line, 52.0, Align::Centre, letters);
        }
        Ok(drawn(c, "meme", &format!("{above} {below}")))
    }

    fn cartoon(&mut self, claim: &str) -> Result<Drawn> {
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
        let hand = Ink {
            shake: 0.015,
            ..Ink::new(BLACK, 0.04)
        };
        c.text(&format!("{claim}{end}"), inside, 40.0, Align::Centre, hand);
        if self.random.percent(50) {
            let answer = self.random.pick(&["Hm.", "Really?", "Oh!", "I see."]);
            c.line_centred(answer, w * listener, h * 0.445, 24.0, hand);
        }
        Ok(drawn(c, "cartoon", claim))
    }

    fn quotation(&mut self, text: &str) -> Result<Drawn> {
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
                Ink::new(ink, 0.03),
            );
        });
        let (job, town) = (self.random.pick(&JOBS), self.random.pick(&TOWNS));
        c.line_centred(
            &format!("— a {job} from {town}"),
            w * 0.66,
            h * 0.88,
            20.0,
            Ink::new(mix(ink, ground, 0.2), 0.03),
        );
        Ok(drawn(c, "quote", text))
    }

    fn pros_and_cons(&mut self, topic: &Topic) -> Result<Drawn> {
        let (ground, ink, accent) = self.scheme();
        let mut c = self.canvas((640, 780), (460, 560), mix(ground, WHITE, 0.85))?;
        let (w, h) = (c.width(), c.height());
        c.rect(area(0.0, 0.0, w, h * 0.18), ground);
        c.text(
            &topic.title,
            area(w * 0.05, h * 0.02, w * 0.9, h * 0.14),
            36.0,
            Align::Centre,
            Ink::new(ink, 0.04),
        );
        for (side, x, head, colour) in [
            (&topic.pro, 0.04, "Pros", [30, 120, 60]),
            (&topic.con, 0.52, "Cons", [180, 40, 40]),
        ] {
            c.rect(area(w * x, h * 0.22, w * 0.44, h * 0.12), colour);
            c.line_centred(head, w * (x + 0.22), h * 0.3, 32.0, Ink::new(WHITE, 0.05));
            let mut lines: Vec<&str> = side.reasons.iter().map(String::as_str).collect();
            self.random.shuffle(&mut lines);
            for (line, y) in lines.iter().zip([0.37, 0.57, 0.77]) {
                c.disc(
                    w * (x + 0.025),
                    h * (y + 0.09),
                    7.0,
                    mix(colour, accent, 0.2),
                );
                let row = area(w * (x + 0.06), h * y, w * 0.37, h * 0.18);
                c.text(
                    &sentence(line),
                    row,
                    24.0,
                    Align::Left,
                    Ink::new(BLACK, 0.03),
                );
            }
        }
        Ok(drawn(c, "overview", &format!("{} Pros Cons", topic.title)))
    }

    fn title_card(&mut self, title: &str) -> Result<Drawn> {
        let (ground, ink, accent) = self.scheme();
        let mut c = self.canvas((600, 760), (360, 460), ground)?;
        let (w, h) = (c.width(), c.height());
        c.disc(w * 0.85, h * 0.2, h * 0.35, mix(ground, accent, 0.3));
        c.text(
            title,
            area(w * 0.1, h * 0.15, w * 0.8, h * 0.6),
            62.0,
            Align::Centre,
            Ink::new(ink, 0.04),
        );
        let kind = self.random.pick(&[
            "Debate night",
            "The big question",
            "Podcast, episode 12",
            "Reader's forum",
            "Explained",
        ]);
        c.line_centred(kind, w / 2.0, h * 0.9, 22.0, Ink::new(ink, 0.02));
        Ok(drawn(c, "title card", title))
    }

    fn emblem(&mut self, icons: &str) -> Result<Drawn> {
        let (ground, ink, accent) = self.scheme();
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
        Ok(drawn(c, "picture", ""))
    }

    fn landscape(&mut self) -> Result<Drawn> {
        let mut c = self.canvas((560, 760), (380, 500), [150, 190, 225])?;
        self.scene(&mut c);
        Ok(drawn(c, "landscape", ""))
    }

    fn shapes(&mut self) -> Result<Drawn> {
        let (ground, ink, accent) = self.scheme();
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
        Ok(drawn(c, "pattern", ""))
    }
}

fn drawn(canvas: Canvas, kind: &'static str, words: &str) -> Drawn {
    Drawn {
        image: canvas.finish(),
        kind,
        words: words.to_owned(),
    }
}

/// With a capital and a full stop.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str()),
        None => String::new(),
    }
}

/// The first and the second half of a sentence's words.
fn halves(text: &str) -> (String, String) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (above, below) = words.split_at(words.len().div_ceil(2));
    (above.join(" "), below.join(" "))
}

/// The one of two colours that differs more from the ground in lightness.
fn readable_on(ground: Rgb, a: Rgb, b: Rgb) -> Rgb {
    let light = |c: Rgb| 299 * i32::from(c[0]) + 587 * i32::from(c[1]) + 114 * i32::from(c[2]);
    let far = |c: Rgb| (light(c) - light(ground)).abs();
    if far(a) > far(b) { a } else { b }
}

/// The end of an axis that is to hold `most`: 1, 2, 4 or 8 times a power of ten.
fn axis_top(most: u32) -> u32 {
    let mut ten = 1u32;
    while most > ten.saturating_mul(8) && ten < 100_000_000 {
        ten *= 10;
    }
    [1, 2, 4, 8]
        .into_iter()
        .map(|n| n * ten)
        .find(|&top| top >= most)
        .unwrap_or(most.max(1))
}

/// Who wrote or photographed: desks and papers, since nobody is to be quoted who does not exist.
pub const SOURCES: [&str; 8] = [
    "the city desk",
    "our readers' page",
    "the weekend edition",
    "the news desk",
    "the local paper",
    "the school magazine",
    "the archive",
    "the picture desk",
];

pub const JOBS: [&str; 10] = [
    "nurse",
    "teacher",
    "shopkeeper",
    "councillor",
    "bus driver",
    "student",
    "gardener",
    "baker",
    "retired engineer",
    "vet",
];

pub const TOWNS: [&str; 10] = [
    "Altenbruck",
    "Westhaven",
    "Saint-Marel",
    "Nordby",
    "Casteldoro",
    "Riverton",
    "Lindau Bay",
    "Oakminster",
    "Vellmar",
    "Kestrel Falls",
];
