//! The tools that all pictures are drawn with: a painter with fonts and random numbers, colour schemes, and the finished picture.

use anyhow::Result;
use image::RgbImage;
use seeded_random::Random;

use crate::canvas::{Canvas, Fonts, Rgb};

/// A finished picture, with its kind and its words.
pub struct Picture {
    pub image: RgbImage,
    /// The kind of picture: "poster", "protest sign".
    pub kind: &'static str,
    /// The main words in the picture; empty if there are none.
    pub words: String,
}

impl Picture {
    pub fn new(canvas: Canvas, kind: &'static str, words: &str) -> Self {
        Picture {
            image: canvas.finish(),
            kind,
            words: words.to_owned(),
        }
    }
}

pub struct Painter<'a> {
    pub fonts: &'a Fonts,
    pub random: Random,
}

/// Colours that are legible together.
#[derive(Clone, Copy, Default)]
pub struct Scheme {
    pub ground: Rgb,
    pub ink: Rgb,
    pub accent: Rgb,
}

const SCHEMES: [Scheme; 12] = [
    scheme([246, 230, 90], [24, 24, 32], [200, 32, 40]),
    scheme([190, 30, 45], [255, 255, 255], [250, 220, 90]),
    scheme([20, 60, 110], [255, 255, 255], [255, 190, 40]),
    scheme([240, 240, 235], [30, 40, 50], [20, 140, 110]),
    scheme([30, 120, 70], [250, 250, 240], [240, 230, 120]),
    scheme([20, 20, 24], [250, 250, 250], [230, 60, 60]),
    scheme([250, 160, 60], [40, 24, 16], [255, 250, 230]),
    scheme([120, 60, 150], [255, 255, 255], [180, 240, 200]),
    scheme([200, 230, 250], [20, 50, 90], [230, 90, 60]),
    scheme([255, 225, 230], [120, 20, 60], [60, 60, 70]),
    scheme([0, 130, 150], [255, 255, 250], [255, 210, 60]),
    scheme([222, 205, 175], [70, 30, 20], [160, 40, 30]),
];

const fn scheme(ground: Rgb, ink: Rgb, accent: Rgb) -> Scheme {
    Scheme {
        ground,
        ink,
        accent,
    }
}

impl<'a> Painter<'a> {
    /// A canvas with a random width and height from the given ranges, in pixels.
    pub fn canvas(
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

    pub fn scheme(&mut self) -> Scheme {
        self.random.pick(&SCHEMES)
    }

    /// One of the pictograms.
    pub fn icon(&mut self, icons: &str) -> char {
        let icons: Vec<char> = icons.chars().collect();
        self.random.pick(&icons)
    }

    /// The text in capitals in `percent` of 100 cases, otherwise unchanged.
    pub fn shout(&mut self, text: &str, percent: usize) -> String {
        if self.random.percent(percent) {
            text.to_uppercase()
        } else {
            text.to_owned()
        }
    }
}
