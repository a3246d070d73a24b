//! A canvas with shapes by tiny-skia and letters from the fonts of `epaint_default_fonts`.
//!
//! Only the four basic operations and square roots are used, so that a picture has the same bytes on every machine. (The sine of a C
//! library may differ in its last bits.)

use ab_glyph::{Font, FontRef, OutlineCurve, Point};
use anyhow::{Context, Result};
use image::RgbImage;
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform,
};

use seeded_random::Random;

/// Red, green, blue.
pub type Rgb = [u8; 3];

pub const WHITE: Rgb = [255, 255, 255];
pub const BLACK: Rgb = [16, 16, 16];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    Sans,
    /// Pictograms.
    Emoji,
}

pub struct Fonts {
    sans: FontRef<'static>,
    emoji: FontRef<'static>,
}

impl Fonts {
    pub fn load() -> Result<Self> {
        let font = |name: &str, bytes: &'static [u8]| {
            FontRef::try_from_slice(bytes).with_context(|| format!("cannot read the font {name}"))
        };
        Ok(Fonts {
            sans: font("Ubuntu Light", epaint_default_fonts::UBUNTU_LIGHT)?,
            emoji: font("Noto Emoji", epaint_default_fonts::NOTO_EMOJI_REGULAR)?,
        })
    }

    fn get(&self, face: Face) -> &FontRef<'static> {
        match face {
            Face::Sans => &self.sans,
            Face::Emoji => &self.emoji,
        }
    }

    /// The width of a line in pixels at `size` pixels per em.
    fn width(&self, face: Face, text: &str, size: f32) -> f32 {
        let font = self.get(face);
        let em = font.units_per_em().unwrap_or(1000.0);
        let mut units = 0.0;
        let mut before = None;
        for id in text.chars().map(|c| font.glyph_id(c)) {
            units +=
                before.map_or(0.0, |b| font.kern_unscaled(b, id)) + font.h_advance_unscaled(id);
            before = Some(id);
        }
        units / em * size
    }
}

#[derive(Clone, Copy)]
pub struct LetterStyle {
    pub face: Face,
    pub colour: Rgb,
    /// The width of the stroke that thickens the letters, in ems. 0 leaves them as the font has them, 0.06 makes them bold.
    pub weight: f32,
    /// The colour of a border around the letters and its width in ems.
    pub border: Option<(Rgb, f32)>,
    /// How far letters are moved up or down at random, in ems, as an unsteady hand does.
    pub shake: f32,
}

impl LetterStyle {
    pub fn new(colour: Rgb, weight: f32) -> Self {
        LetterStyle {
            face: Face::Sans,
            colour,
            weight,
            border: None,
            shake: 0.0,
        }
    }
}

/// The alignment of lines in their box.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Centre,
}

/// A box in pixels.
#[derive(Clone, Copy)]
pub struct Area {
    /// Left edge.
    pub x: f32,
    /// Upper edge.
    pub y: f32,
    pub w: f32,
    pub h: f32,
}

pub fn area(x: f32, y: f32, w: f32, h: f32) -> Area {
    Area { x, y, w, h }
}

impl Area {
    /// The box without a margin of `by` pixels on each side.
    pub fn inset(self, by: f32) -> Area {
        area(
            self.x + by,
            self.y + by,
            self.w - 2.0 * by,
            self.h - 2.0 * by,
        )
    }
}

pub struct Canvas<'f> {
    map: Pixmap,
    fonts: &'f Fonts,
    transform: Transform,
    /// Moves letters up and down ([`LetterStyle::shake`]).
    random: Random,
}

impl<'f> Canvas<'f> {
    pub fn new(
        fonts: &'f Fonts,
        width: u32,
        height: u32,
        ground: Rgb,
        random: Random,
    ) -> Result<Self> {
        let mut map = Pixmap::new(width, height).context("a canvas needs a width and a height")?;
        map.fill(colour(ground));
        Ok(Canvas {
            map,
            fonts,
            transform: Transform::identity(),
            random,
        })
    }

    pub fn width(&self) -> f32 {
        self.map.width() as f32
    }

    pub fn height(&self) -> f32 {
        self.map.height() as f32
    }

    /// The box of the whole canvas.
    pub fn whole(&self) -> Area {
        area(0.0, 0.0, self.width(), self.height())
    }

    /// Turns everything that `draw` draws clockwise about (x, y), by the angle whose sine is `sine`.
    pub fn turned(&mut self, sine: f32, x: f32, y: f32, draw: impl FnOnce(&mut Self)) {
        let before = self.transform;
        let cosine = (1.0 - sine * sine).max(0.0).sqrt();
        let turn = Transform::from_row(cosine, sine, -sine, cosine, 0.0, 0.0);
        self.transform = before
            .pre_translate(x, y)
            .pre_concat(turn)
            .pre_translate(-x, -y);
        draw(self);
        self.transform = before;
    }

    fn fill(&mut self, path: Option<Path>, ink: Rgb) {
        if let Some(path) = path {
            self.map
                .fill_path(&path, &paint(ink), FillRule::Winding, self.transform, None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, ink: Rgb, width: f32) {
        if let Some(path) = path {
            let stroke = Stroke {
                width,
                line_join: LineJoin::Round,
                ..Stroke::default()
            };
            self.map
                .stroke_path(&path, &paint(ink), &stroke, self.transform, None);
        }
    }

    pub fn rect(&mut self, a: Area, ink: Rgb) {
        self.fill(
            Rect::from_xywh(a.x, a.y, a.w, a.h).map(PathBuilder::from_rect),
            ink,
        );
    }

    pub fn frame(&mut self, a: Area, ink: Rgb, width: f32) {
        self.stroke(
            Rect::from_xywh(a.x, a.y, a.w, a.h).map(PathBuilder::from_rect),
            ink,
            width,
        );
    }

    pub fn oval(&mut self, a: Area, ink: Rgb) {
        self.fill(
            Rect::from_xywh(a.x, a.y, a.w, a.h).and_then(PathBuilder::from_oval),
            ink,
        );
    }

    pub fn ring(&mut self, a: Area, ink: Rgb, width: f32) {
        self.stroke(
            Rect::from_xywh(a.x, a.y, a.w, a.h).and_then(PathBuilder::from_oval),
            ink,
            width,
        );
    }

    /// A disc with its centre at (x, y) and the radius `r`.
    pub fn disc(&mut self, x: f32, y: f32, r: f32, ink: Rgb) {
        self.oval(area(x - r, y - r, 2.0 * r, 2.0 * r), ink);
    }

    pub fn polygon(&mut self, points: &[(f32, f32)], ink: Rgb) {
        self.fill(line_path(points, true), ink);
    }

    pub fn lines(&mut self, points: &[(f32, f32)], ink: Rgb, width: f32) {
        self.stroke(line_path(points, false), ink, width);
    }

    /// A gradient from one colour above to another below in `bands` equal steps. Pictures with few steps compress well.
    pub fn sky(&mut self, a: Area, above: Rgb, below: Rgb, bands: usize) {
        let bands = bands.max(2);
        let height = a.h / bands as f32;
        for band in 0..bands {
            let ink = mix(above, below, band as f32 / (bands - 1) as f32);
            let y = a.y + band as f32 * height;
            self.rect(area(a.x, y, a.w, height + 1.0), ink);
        }
    }

    /// A line of text whose baseline begins at (x, y); `size` is in pixels per em.
    pub fn line(&mut self, text: &str, x: f32, y: f32, size: f32, style: LetterStyle) {
        let fonts = self.fonts;
        let font = fonts.get(style.face);
        let em = font.units_per_em().unwrap_or(1000.0);
        let scale = size / em;
        let mut pen = x;
        let mut before = None;
        let mut letters = Vec::new();
        for id in text.chars().map(|c| font.glyph_id(c)) {
            pen += before.map_or(0.0, |b| font.kern_unscaled(b, id)) * scale;
            before = Some(id);
            let lift = self.random.signed_fraction() * style.shake * size;
            letters.extend(
                font.outline(id)
                    .and_then(|outline| glyph_path(&outline.curves, pen, y + lift, scale)),
            );
            pen += font.h_advance_unscaled(id) * scale;
        }
        // All borders come first: the border of a letter must not cover its neighbour.
        if let Some((border, width)) = style.border {
            for letter in &letters {
                self.stroke(
                    Some(letter.clone()),
                    border,
                    (style.weight + 2.0 * width) * size,
                );
            }
        }
        for letter in letters {
            if style.weight > 0.0 {
                self.stroke(Some(letter.clone()), style.colour, style.weight * size);
            }
            self.fill(Some(letter), style.colour);
        }
    }

    /// A line of text centred on x.
    pub fn line_centred(&mut self, text: &str, x: f32, y: f32, size: f32, style: LetterStyle) {
        let width = self.fonts.width(style.face, text, size);
        self.line(text, x - width / 2.0, y, size, style);
    }

    /// Text that is wrapped into a box and vertically centred in it, as large as fits, up to `largest` pixels per em.
    pub fn text(&mut self, text: &str, into: Area, largest: f32, align: Align, style: LetterStyle) {
        const LEADING: f32 = 1.22;
        let mut size = largest;
        let mut lines = self.wrap(text, into.w, size, style.face);
        // Words are never cut: if a box is too small even for the smallest letters, they stick out of it.
        while size > 9.0
            && (lines.len() as f32 * size * LEADING > into.h
                || lines
                    .iter()
                    .any(|l| self.fonts.width(style.face, l, size) > into.w))
        {
            size *= 0.94;
            lines = self.wrap(text, into.w, size, style.face);
        }
        let leading = size * LEADING;
        let mut y = into.y + (into.h - lines.len() as f32 * leading) / 2.0 + size * 0.95;
        for line in &lines {
            match align {
                Align::Left => self.line(line, into.x, y, size, style),
                Align::Centre => self.line_centred(line, into.x + into.w / 2.0, y, size, style),
            }
            y += leading;
        }
    }

    /// The lines of a text that is wrapped at `width` pixels.
    fn wrap(&self, text: &str, width: f32, size: f32, face: Face) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            if let Some(last) = lines.last_mut() {
                let longer = format!("{last} {word}");
                if self.fonts.width(face, &longer, size) <= width {
                    *last = longer;
                    continue;
                }
            }
            lines.push(word.to_owned());
        }
        lines
    }

    /// A pictogram of about `size` pixels, centred on (x, y).
    pub fn icon(&mut self, icon: char, x: f32, y: f32, size: f32, ink: Rgb) {
        let style = LetterStyle {
            face: Face::Emoji,
            ..LetterStyle::new(ink, 0.0)
        };
        self.line_centred(&icon.to_string(), x, y + size * 0.36, size, style);
    }

    /// The pixels in 32 steps per channel, which halves the size of a file and makes no visible difference.
    pub fn finish(self) -> RgbImage {
        let (width, height) = (self.map.width(), self.map.height());
        let mut out = RgbImage::new(width, height);
        for (pixel, from) in out.pixels_mut().zip(self.map.pixels()) {
            let step = |v: u8| (u16::from(v >> 3) * 255 / 31) as u8;
            pixel.0 = [step(from.red()), step(from.green()), step(from.blue())];
        }
        out
    }
}

fn colour(c: Rgb) -> Color {
    Color::from_rgba8(c[0], c[1], c[2], 255)
}

fn paint(c: Rgb) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(colour(c));
    paint.anti_alias = true;
    paint
}

/// A mixture of two colours with the given share of the second.
pub fn mix(a: Rgb, b: Rgb, share: f32) -> Rgb {
    let one = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share) as u8;
    [one(a[0], b[0]), one(a[1], b[1]), one(a[2], b[2])]
}

/// The path along the points.
fn line_path(points: &[(f32, f32)], close: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    builder.move_to(first.0, first.1);
    for point in rest {
        builder.line_to(point.0, point.1);
    }
    if close {
        builder.close();
    }
    builder.finish()
}

/// The outline of a glyph (in font units, y upwards) at (x, y) on the canvas (in pixels, y downwards).
fn glyph_path(curves: &[OutlineCurve], x: f32, y: f32, scale: f32) -> Option<Path> {
    let place = |p: Point| (x + p.x * scale, y - p.y * scale);
    let mut builder = PathBuilder::new();
    let mut end: Option<Point> = None;
    for curve in curves {
        let (OutlineCurve::Line(start, to)
        | OutlineCurve::Quad(start, _, to)
        | OutlineCurve::Cubic(start, _, _, to)) = curve;
        if end != Some(*start) {
            if end.is_some() {
                builder.close();
            }
            let (x, y) = place(*start);
            builder.move_to(x, y);
        }
        let (tx, ty) = place(*to);
        match curve {
            OutlineCurve::Line(..) => builder.line_to(tx, ty),
            OutlineCurve::Quad(_, c, _) => {
                let (cx, cy) = place(*c);
                builder.quad_to(cx, cy, tx, ty);
            }
            OutlineCurve::Cubic(_, c, d, _) => {
                let ((cx, cy), (dx, dy)) = (place(*c), place(*d));
                builder.cubic_to(cx, cy, dx, dy, tx, ty);
            }
        }
        end = Some(*to);
    }
    builder.close();
    builder.finish()
}
