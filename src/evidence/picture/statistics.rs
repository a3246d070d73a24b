//! Measures colours, edges and the area of text in an image.
//!
//! These are the statistics that separated argumentative from illustrating images in Aramis (Braker et al., Stance Detection in Image
//! Retrieval for Argumentation, CLEF 2022: shares of colours, brightness, average colour, photograph or graphic, area of text).

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::hash::{luma, perceptual_hash};
use crate::evidence::ocr::OcrLine;

/// The maximum side length, in pixels, of the copy from which statistics are computed.
const REDUCED: u32 = 256;

/// Statistics of an image's pixels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PictureStatistics {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// The share of the area that lines of text cover, in [0, 1].
    pub text_fraction: f32,
    /// The mean of luma (Rec. 601), in [0, 1].
    pub brightness: f32,
    /// The standard deviation of luma, in [0, 0.5].
    pub contrast: f32,
    /// The mean saturation (HSV), in [0, 1].
    pub saturation: f32,
    /// Colourfulness by Hasler and Süsstrunk, Measuring Colourfulness in Natural Images, 2003: 0 is grey, 109 "extremely colourful".
    pub colourfulness: f32,
    /// The share of red pixels, in [0, 1]: saturation and value at least 0.25, hue within 30° of 0°.
    pub red: f32,
    /// The share of green pixels: likewise, hue within 45° of 120°.
    pub green: f32,
    /// The share of blue pixels: likewise, hue within 35° of 230°.
    pub blue: f32,
    /// The share of pixels with luma over 0.8.
    pub bright: f32,
    /// The share of pixels with luma under 0.2.
    pub dark: f32,
    /// The mean red, green and blue.
    pub average: [u8; 3],
    /// The number of different colours, at 4 bits per component; at most 4,096.
    pub colours: u32,
    /// The share of pixels at an edge, in [0, 1]: luma differs by more than 0.1 from the pixel to the right or below.
    pub edges: f32,
    /// The share of pixels that are equal to the pixels to the right and below, in [0, 1]. Components may differ by 2 of 255.
    pub flat: f32,
    /// The probability of a photograph, as opposed to a drawing, chart, poster or screenshot; computed from `flat`.
    pub photograph: f32,
    /// The perceptual hash; see [`perceptual_hash`].
    pub phash: u64,
}

/// Computes the statistics of an image. `lines` are the lines of text in it, with corners in its pixels.
///
/// They are computed from a copy of at most 256 pixels on each side. Each pixel of the copy is the mean of up to 16 pixels of the block that it
/// stands for. So the statistics describe the image as it looks when it is small, and take the same time for any size.
pub fn measure(image: &RgbImage, lines: &[OcrLine]) -> PictureStatistics {
    let small = reduce(image);
    let (edges, flat) = neighbours(&small);
    PictureStatistics {
        width: image.width(),
        height: image.height(),
        text_fraction: text_fraction(image, &small, lines),
        photograph: photograph(flat),
        edges,
        flat,
        phash: perceptual_hash(image),
        ..of_colours(&small)
    }
}

/// A reduced copy of an image, with pixels in row order.
struct Small {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

/// Reduces an image. Each pixel is the mean over a grid of at most 4 × 4 pixels of its block.
fn reduce(image: &RgbImage) -> Small {
    let (width, height) = image.dimensions();
    let longer = width.max(height).max(1);
    let size = |side: u32| match width.min(height) {
        0 => 0,
        _ if longer <= REDUCED => side,
        _ => (u64::from(side) * u64::from(REDUCED) / u64::from(longer)).max(1) as u32,
    };
    let (w, h) = (size(width), size(height));
    let columns = samples(width, w);
    let rows = samples(height, h);
    let raw = image.as_raw();
    let stride = width as usize * 3;
    let mut pixels = Vec::with_capacity((w * h) as usize);
    for ys in &rows {
        for xs in &columns {
            let mut sum = [0u32; 3];
            for y in ys {
                for x in xs {
                    let pixel = &raw[y * stride + x * 3..][..3];
                    for (sum, &value) in sum.iter_mut().zip(pixel) {
                        *sum += u32::from(value);
                    }
                }
            }
            let count = (xs.len() * ys.len()).max(1) as u32;
            pixels.push(sum.map(|sum| ((sum + count / 2) / count) as u8));
        }
    }
    Small {
        width: w as usize,
        height: h as usize,
        pixels,
    }
}

/// Divides 0..side into `blocks` equal parts, and returns up to four evenly spaced positions in each.
fn samples(side: u32, blocks: u32) -> Vec<Vec<usize>> {
    let edge =
        |block: u32| (u64::from(block) * u64::from(side) / u64::from(blocks.max(1))) as usize;
    (0..blocks)
        .map(|block| {
            let (start, end) = (edge(block), edge(block + 1));
            let length = (end - start).max(1);
            let count = length.min(4);
            let middle = |n| start + (2 * n + 1) * length / (2 * count);
            (0..count).map(middle).collect()
        })
        .collect()
}

/// The sum and the sum of squares of values.
#[derive(Clone, Copy)]
struct Moments(f64, f64);

impl Moments {
    fn add(&mut self, value: f32) {
        self.0 += f64::from(value);
        self.1 += f64::from(value) * f64::from(value);
    }

    fn mean(&self, n: f64) -> f64 {
        self.0 / n
    }

    fn variance(&self, n: f64) -> f64 {
        (self.1 / n - self.mean(n).powi(2)).max(0.0)
    }
}

/// The statistics that do not depend on the positions of pixels; the others are 0.
fn of_colours(small: &Small) -> PictureStatistics {
    if small.pixels.is_empty() {
        return PictureStatistics::default();
    }
    let n = small.pixels.len() as f64;
    let [mut light, mut red_green, mut yellow_blue] = [Moments(0.0, 0.0); 3];
    let mut saturations = 0.0f64;
    let mut sum = [0u64; 3];
    let [mut red, mut green, mut blue, mut bright, mut dark] = [0u32; 5];
    let mut seen = vec![false; 4096];
    for &pixel in &small.pixels {
        let [r, g, b] = pixel.map(f32::from);
        let y = luma(pixel);
        light.add(y / 255.0);
        red_green.add(r - g);
        yellow_blue.add((r + g) / 2.0 - b);
        bright += u32::from(y > 0.8 * 255.0);
        dark += u32::from(y < 0.2 * 255.0);
        let (hue, saturation, value) = hsv(pixel);
        saturations += f64::from(saturation);
        if saturation >= 0.25 && value >= 0.25 {
            red += u32::from(!(30.0..330.0).contains(&hue));
            green += u32::from((75.0..165.0).contains(&hue));
            blue += u32::from((195.0..265.0).contains(&hue));
        }
        let [r, g, b] = pixel.map(|c| usize::from(c >> 4));
        seen[r << 8 | g << 4 | b] = true;
        for (sum, c) in sum.iter_mut().zip(pixel) {
            *sum += u64::from(c);
        }
    }
    let share = |count: u32| (f64::from(count) / n) as f32;
    let spread = (red_green.variance(n) + yellow_blue.variance(n)).sqrt();
    let centre = red_green.mean(n).hypot(yellow_blue.mean(n));
    PictureStatistics {
        brightness: light.mean(n) as f32,
        contrast: light.variance(n).sqrt() as f32,
        saturation: (saturations / n) as f32,
        colourfulness: (spread + 0.3 * centre) as f32,
        red: share(red),
        green: share(green),
        blue: share(blue),
        bright: share(bright),
        dark: share(dark),
        average: sum.map(|sum| (sum as f64 / n).round() as u8),
        colours: seen.iter().filter(|&&seen| seen).count() as u32,
        ..PictureStatistics::default()
    }
}

/// Hue in [0, 360) degrees (0 for grey), saturation and value in [0, 1].
fn hsv(pixel: [u8; 3]) -> (f32, f32, f32) {
    let [r, g, b] = pixel.map(f32::from);
    let most = r.max(g).max(b);
    let range = most - r.min(g).min(b);
    if range == 0.0 {
        return (0.0, 0.0, most / 255.0);
    }
    let sixth = if most == r {
        (g - b) / range
    } else if most == g {
        (b - r) / range + 2.0
    } else {
        (r - g) / range + 4.0
    };
    let hue = if sixth < 0.0 { sixth + 6.0 } else { sixth } * 60.0;
    (hue, range / most, most / 255.0)
}

/// The values of [`PictureStatistics::edges`] and [`PictureStatistics::flat`]. Pixels of the last column and row are compared with the pixels to the
/// left and above.
fn neighbours(small: &Small) -> (f32, f32) {
    let light: Vec<f32> = small.pixels.iter().map(|&pixel| luma(pixel)).collect();
    let (mut edges, mut flat) = (0u32, 0u32);
    let beside = |at: usize, side: usize| {
        let next = at + 1;
        if next < side {
            next
        } else {
            at.saturating_sub(1)
        }
    };
    for y in 0..small.height {
        for x in 0..small.width {
            let here = y * small.width + x;
            let right = y * small.width + beside(x, small.width);
            let below = beside(y, small.height) * small.width + x;
            let far = |other: usize| (light[other] - light[here]).abs() > 0.1 * 255.0;
            let same = |other: usize| {
                let mut components = small.pixels[here].iter().zip(small.pixels[other]);
                components.all(|(a, b)| a.abs_diff(b) <= 2)
            };
            edges += u32::from(far(right) || far(below));
            flat += u32::from(same(right) && same(below));
        }
    }
    let n = small.pixels.len().max(1) as f32;
    (edges as f32 / n, flat as f32 / n)
}

/// The probability of a photograph, from [`PictureStatistics::flat`]: drawings and screenshots have plain areas in which neighbouring pixels are
/// equal; photographs have few, because of noise and shading.
///
/// The formula was compared with pictures of ImageArg that were labelled by eye. The number of colours and edges did not improve it.
fn photograph(flat: f32) -> f32 {
    1.0 / (1.0 + (6.0 * (flat - 0.5)).exp())
}

/// The share of the reduced copy's pixels whose centre is in the quadrilateral of a line.
fn text_fraction(image: &RgbImage, small: &Small, lines: &[OcrLine]) -> f32 {
    if small.pixels.is_empty() {
        return 0.0;
    }
    let scale_x = image.width() as f32 / small.width as f32;
    let scale_y = image.height() as f32 / small.height as f32;
    let mut covered = vec![false; small.pixels.len()];
    for line in lines {
        let corners = line.corners.map(|(x, y)| (x / scale_x, y / scale_y));
        if !corners.iter().all(|(x, y)| x.is_finite() && y.is_finite()) {
            continue;
        }
        // casts of floats saturate, so corners outside the image are moved to its border
        let span = |sides: [f32; 4], end: usize| {
            let (min, max) = (
                sides.into_iter().fold(f32::MAX, f32::min),
                sides.into_iter().fold(0.0, f32::max),
            );
            min.floor() as usize..(max.ceil() as usize).min(end)
        };
        for y in span(corners.map(|c| c.1), small.height) {
            for x in span(corners.map(|c| c.0), small.width) {
                covered[y * small.width + x] |= is_inside(&corners, x as f32 + 0.5, y as f32 + 0.5);
            }
        }
    }
    covered.iter().filter(|&&covered| covered).count() as f32 / small.pixels.len() as f32
}

/// Whether a point is in a quadrilateral: a ray to the right crosses an odd number of its sides.
fn is_inside(corners: &[(f32, f32); 4], x: f32, y: f32) -> bool {
    let ends = corners.iter().cycle().skip(1);
    let crossed = corners.iter().zip(ends).filter(|&(&(ax, ay), &(bx, by))| {
        (ay > y) != (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax
    });
    crossed.count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;

    fn filled(width: u32, height: u32, colour: [u8; 3]) -> RgbImage {
        RgbImage::from_pixel(width, height, Rgb(colour))
    }

    fn near(a: f32, b: f32) -> bool {
        (a - b).abs() < 0.002
    }

    #[test]
    fn an_all_red_image_is_red_and_plain() {
        let p = measure(&filled(40, 20, [255, 0, 0]), &[]);
        assert_eq!((p.width, p.height), (40, 20));
        assert!(near(p.brightness, 0.299) && p.contrast < 0.001);
        assert_eq!((p.saturation, p.red, p.green, p.blue), (1.0, 1.0, 0.0, 0.0));
        assert_eq!((p.average, p.colours), ([255, 0, 0], 1));
        assert_eq!((p.edges, p.flat), (0.0, 1.0));
        // rg = 255 and yb = 127.5 everywhere: no spread, and 0.3 times the centre's distance 285.1
        assert!((p.colourfulness - 85.53).abs() < 0.01);
        assert!(p.photograph < 0.1);
    }

    #[test]
    fn half_white_and_half_black_have_the_extremes_and_one_edge() {
        let half = RgbImage::from_fn(20, 10, |x, _| Rgb([if x < 10 { 255 } else { 0 }; 3]));
        let p = measure(&half, &[]);
        assert!(near(p.brightness, 0.5) && near(p.contrast, 0.5));
        assert_eq!(
            (p.bright, p.dark, p.saturation, p.colours),
            (0.5, 0.5, 0.0, 2)
        );
        // one of the 20 columns has a different neighbour to its right
        assert!(near(p.edges, 0.05) && near(p.flat, 0.95));
    }

    #[test]
    fn a_checkerboard_is_all_edges() {
        let board = RgbImage::from_fn(16, 16, |x, y| {
            Rgb([if (x + y) % 2 == 0 { 255 } else { 0 }; 3])
        });
        let p = measure(&board, &[]);
        assert_eq!((p.edges, p.flat), (1.0, 0.0));
        assert!(p.photograph > 0.9);
    }

    #[test]
    fn statistics_of_a_large_image_are_those_of_its_blocks() {
        // four quarters (red, green, blue, white), 2048 pixels wide, so that 8 × 8 pixels become one
        let quarters = RgbImage::from_fn(2048, 1024, |x, y| {
            Rgb(match (x < 1024, y < 512) {
                (true, true) => [255, 0, 0],
                (false, true) => [0, 255, 0],
                (true, false) => [0, 0, 255],
                (false, false) => [255, 255, 255],
            })
        });
        let p = measure(&quarters, &[]);
        assert_eq!((p.red, p.green, p.blue, p.bright), (0.25, 0.25, 0.25, 0.25));
        assert_eq!((p.average, p.colours), ([128, 128, 128], 4));
    }

    #[test]
    fn text_counts_once_where_lines_overlap() {
        let line = |corners| OcrLine {
            text: "x".into(),
            confidence: 1.0,
            corners,
            block: 0,
        };
        let image = filled(100, 100, [255; 3]);
        let half = line([(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)]);
        let outside = line([(-50.0, 40.0), (500.0, 40.0), (500.0, 50.0), (-50.0, 50.0)]);
        assert!(near(
            measure(&image, &[half.clone(), half.clone(), outside]).text_fraction,
            0.5
        ));
        // a square on its corner covers half of its bounding box
        let slanted = line([(50.0, 0.0), (100.0, 50.0), (50.0, 100.0), (0.0, 50.0)]);
        assert!((measure(&image, &[slanted]).text_fraction - 0.5).abs() < 0.02);
        let broken = line([
            (f32::NAN, 0.0),
            (f32::INFINITY, 0.0),
            (9.0, 9.0),
            (0.0, 9.0),
        ]);
        assert_eq!(measure(&image, &[broken]).text_fraction, 0.0);
    }

    #[test]
    fn an_image_without_pixels_measures_nothing() {
        let p = measure(&RgbImage::new(0, 0), &[]);
        assert_eq!((p.brightness, p.flat, p.phash), (0.0, 0.0, 0));
    }
}
