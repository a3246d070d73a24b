//! Charts, and tables of pros and cons.

use anyhow::Result;

use crate::canvas::{Align, BLACK, LetterStyle, WHITE, area, mix};
use crate::painter::{Painter, Picture, Scheme};
use crate::topics::{Chart, Topic};
use crate::wording::{TOWNS, sentence};

impl Painter<'_> {
    pub fn chart(&mut self, chart: &Chart) -> Result<Picture> {
        let dark = self.random.percent(25);
        let (ground, ink) = if dark {
            ([24, 30, 44], [240, 240, 240])
        } else {
            ([253, 253, 250], [40, 40, 46])
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
            LetterStyle::new(ink, 0.035),
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
                LetterStyle::new(ink, 0.02),
            );
        }
        let step = plot.w / chart.values.len().max(1) as f32;
        let place = |i: usize, value: u32| {
            let x = plot.x + step * (i as f32 + 0.5);
            (x, plot.y + plot.h * (1.0 - value as f32 / top as f32))
        };
        let is_series = chart
            .labels
            .iter()
            .all(|l| l.starts_with(|c: char| c.is_ascii_digit()));
        let points: Vec<(f32, f32)> = chart
            .values
            .iter()
            .enumerate()
            .map(|(i, &v)| place(i, v))
            .collect();
        let as_line = is_series && points.len() > 2 && self.random.percent(60);
        if as_line {
            c.lines(&points, accent, 5.0);
        }
        for ((&(x, y), value), label) in points.iter().zip(&chart.values).zip(&chart.labels) {
            if as_line {
                c.disc(x, y, 8.0, accent);
            } else {
                let bar = area(x - step * 0.3, y, step * 0.6, plot.y + plot.h - y);
                c.rect(bar, accent);
            }
            c.line_centred(
                &value.to_string(),
                x,
                y - 12.0,
                19.0,
                LetterStyle::new(ink, 0.035),
            );
            c.line_centred(
                label,
                x,
                plot.y + plot.h + 24.0,
                19.0,
                LetterStyle::new(ink, 0.03),
            );
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
            LetterStyle::new(mix(ink, ground, 0.2), 0.02),
        );
        Ok(Picture::new(c, "chart", &chart.title))
    }

    /// A table with the reasons of both sides.
    pub fn pros_and_cons(&mut self, topic: &Topic) -> Result<Picture> {
        let Scheme {
            ground,
            ink,
            accent,
        } = self.scheme();
        let mut c = self.canvas((640, 780), (460, 560), mix(ground, WHITE, 0.85))?;
        let (w, h) = (c.width(), c.height());
        c.rect(area(0.0, 0.0, w, h * 0.18), ground);
        c.text(
            &topic.title,
            area(w * 0.05, h * 0.02, w * 0.9, h * 0.14),
            36.0,
            Align::Centre,
            LetterStyle::new(ink, 0.04),
        );
        for (side, x, head, colour) in [
            (&topic.pro, 0.04, "Pros", [30, 120, 60]),
            (&topic.con, 0.52, "Cons", [180, 40, 40]),
        ] {
            c.rect(area(w * x, h * 0.22, w * 0.44, h * 0.12), colour);
            c.line_centred(
                head,
                w * (x + 0.22),
                h * 0.3,
                32.0,
                LetterStyle::new(WHITE, 0.05),
            );
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
                    LetterStyle::new(BLACK, 0.03),
                );
            }
        }
        Ok(Picture::new(
            c,
            "overview",
            &format!("{} Pros Cons", topic.title),
        ))
    }
}

/// The upper end of an axis for values up to `most`: 1, 2, 4 or 8 times a power of ten.
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
