//! The picture itself: its pixels, what its colours and edges say, and a hash for near-duplicates.
//!
//! The statistics are those that separated argumentative from illustrating images in Aramis (Braker et al., Stance
//! Detection in Image Retrieval for Argumentation, CLEF 2022: shares of colours, brightness, average colour, photograph
//! or graphic, area of text).

use std::f64::consts::PI;
use std::io::Cursor;

use anyhow::{Context, Result, bail};
use image::codecs::gif::GifDecoder;
use image::metadata::Orientation;
use image::{
    AnimationDecoder, DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage,
    RgbaImage,
};
use serde::{Deserialize, Serialize};

use super::ocr::OcrLine;

/// Code version of the measures: a change of any of them is a new one, and evidence is measured again.
pub const PRODUCER: &str = "picture 1";

/// More pixels than this are an error: the real crawl's largest image has 21 million.
const MAX_PIXELS: u64 = 100_000_000;

/// What a decoder may allocate at one time: 100 million pixels of 8-bit RGBA and its own needs.
const MAX_ALLOCATION: u64 = 640 << 20;

/// Statistics are taken from a copy whose longer side has at most this many pixels.
const REDUCED: u32 = 256;

/// A decoded image.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// 8-bit RGB, upright, transparent parts white; of an animation the first frame.
    pub image: RgbImage,
    /// Of the bytes, whatever the file is called: "webp", "png", "jpeg", "gif", "bmp", "ico", "tiff", "pnm".
    pub format: &'static str,
    /// Pixels, after the EXIF orientation.
    pub width: u32,
    pub height: u32,
    pub animated: bool,
}

/// Decodes the bytes of an image file.
///
/// Errors say what the bytes look like where they are no image ("an HTML page, not an image", "empty file"), and
/// refuse images of over 100 million pixels before they are decoded.
pub fn decode(bytes: &[u8]) -> Result<Decoded> {
    let format = image::guess_format(bytes).ok();
    let Some((format, name)) = format.and_then(|format| Some((format, name_of(format)?))) else {
        bail!(not_an_image(bytes));
    };
    let failed = || format!("a {name} file that cannot be decoded");
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_ALLOCATION);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().with_context(failed)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        bail!("a {name} file of {width} × {height} pixels: more than {MAX_PIXELS}");
    }
    if width == 0 || height == 0 {
        bail!("a {name} file without pixels");
    }
    // A broken EXIF block is no reason to lose the pixels.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let animated = is_animated(bytes, format, limits);
    let by_libwebp = match format {
        ImageFormat::WebP if !animated => webp_pixels(bytes, width, height),
        _ => None,
    };
    let mut image = match by_libwebp {
        Some(image) => image,
        None => DynamicImage::from_decoder(decoder).with_context(failed)?,
    };
    image.apply_orientation(orientation);
    let image = over_white(image);
    Ok(Decoded {
        width: image.width(),
        height: image.height(),
        image,
        format: name,
        animated,
    })
}

/// By libwebp: the same pixels as the image crate's in less than half of the time. What it refuses, the other may take.
fn webp_pixels(bytes: &[u8], width: u32, height: u32) -> Option<DynamicImage> {
    let image = webp::Decoder::new(bytes).decode()?;
    if (image.width(), image.height()) != (width, height) {
        return None;
    }
    Some(match image.is_alpha() {
        true => RgbaImage::from_raw(width, height, image.to_vec())?.into(),
        false => RgbImage::from_raw(width, height, image.to_vec())?.into(),
    })
}

/// The formats that this build decodes.
fn name_of(format: ImageFormat) -> Option<&'static str> {
    Some(match format {
        ImageFormat::WebP => "webp",
        ImageFormat::Png => "png",
        ImageFormat::Jpeg => "jpeg",
        ImageFormat::Gif => "gif",
        ImageFormat::Bmp => "bmp",
        ImageFormat::Ico => "ico",
        ImageFormat::Tiff => "tiff",
        ImageFormat::Pnm => "pnm",
        _ => return None,
    })
}

/// What servers send instead of an image, recognised by how it begins.
fn not_an_image(bytes: &[u8]) -> String {
    let start = String::from_utf8_lossy(bytes.get(..1024).unwrap_or(bytes)).to_lowercase();
    let start = start.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let what = if bytes.is_empty() {
        return "empty file".into();
    } else if bytes.iter().all(|&byte| byte == 0) {
        "zeros"
    } else if start.starts_with("<svg") || (start.starts_with("<?xml") && start.contains("<svg")) {
        "an SVG drawing, which has no pixels"
    } else if start.starts_with("<!doctype html") || start.contains("<html") {
        "an HTML page"
    } else if start.starts_with("<?xml") || start.starts_with('<') {
        "an XML document"
    } else if start.starts_with("%pdf") {
        "a PDF document"
    } else if start.starts_with('{') || start.starts_with('[') {
        "JSON"
    } else if matches!(bytes.get(4..12), Some(b"ftypavif" | b"ftypavis")) {
        return "an AVIF image, which riposte does not decode".into();
    } else if matches!(bytes.get(4..10), Some(b"ftyphe" | b"ftypmi")) {
        return "a HEIF image, which riposte does not decode".into();
    } else {
        let first: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
        return format!("not an image (first bytes {})", first.join(" "));
    };
    format!("{what}, not an image")
}

/// Alpha-blends over white and drops to 8 bits a channel.
fn over_white(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let rgba = image.into_rgba8();
    let mut out = RgbImage::new(rgba.width(), rgba.height());
    for (to, from) in out.pixels_mut().zip(rgba.pixels()) {
        let [r, g, b, a] = from.0.map(u32::from);
        to.0 = [r, g, b].map(|c| ((c * a + 255 * (255 - a) + 127) / 255) as u8);
    }
    out
}

/// Whether there is a second frame.
fn is_animated(bytes: &[u8], format: ImageFormat, limits: Limits) -> bool {
    match format {
        // Bit 1 of the flags of the extended header (WebP container specification).
        ImageFormat::WebP => {
            bytes.get(12..16) == Some(b"VP8X") && bytes.get(20).is_some_and(|f| f & 2 != 0)
        }
        ImageFormat::Gif => GifDecoder::new(Cursor::new(bytes)).is_ok_and(|mut decoder| {
            decoder.set_limits(limits).is_ok()
                && decoder.into_frames().take(2).filter(Result::is_ok).count() == 2
        }),
        _ => false,
    }
}

/// What the pixels say, without reading or understanding them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Pixels.
    pub width: u32,
    pub height: u32,
    /// Share of the area that lines of text cover, in [0, 1].
    pub text_fraction: f32,
    /// Mean and standard deviation of luma (Rec. 601), in [0, 1].
    pub brightness: f32,
    pub contrast: f32,
    /// Mean saturation (HSV), in [0, 1].
    pub saturation: f32,
    /// Hasler and Süsstrunk, Measuring Colourfulness in Natural Images, 2003: 0 is grey, 109 "extremely colourful".
    pub colourfulness: f32,
    /// Shares of pixels, in [0, 1], that are coloured (saturation and value at least 0.25) and within 30° of red,
    /// 45° of green (120°), 35° of blue (230°).
    pub red: f32,
    pub green: f32,
    pub blue: f32,
    /// Shares of pixels with luma over 0.8 and under 0.2.
    pub bright: f32,
    pub dark: f32,
    /// Mean red, green and blue, in [0, 255].
    pub average: [u8; 3],
    /// Number of the 4,096 colours of 4 bits a channel that have pixels.
    pub colours: u32,
    /// Share of pixels at an edge, in [0, 1]: luma differs by over 0.1 from the pixel to the right or below.
    pub edges: f32,
    /// Share of pixels that are as their right and lower neighbours (within 2 of 255), in [0, 1].
    pub flat: f32,
    /// Probability that this is a photograph and not a drawing, chart, poster or screenshot (from how flat it is).
    pub photograph: f32,
    /// [`perceptual_hash`].
    pub phash: u64,
}

/// Measures an image; `lines` are the lines of text read in it, in its pixels.
///
/// Statistics are taken from a copy of at most 256 pixels a side, each of its pixels the mean of up to 16 of the block
/// that it stands for: they describe the picture as it looks when small, and cost the same for any size.
pub fn measure(image: &RgbImage, lines: &[OcrLine]) -> Picture {
    let small = reduce(image);
    let colours = Colours::of(&small);
    let (edges, flat) = neighbours(&small);
    Picture {
        width: image.width(),
        height: image.height(),
        text_fraction: text_fraction(image, &small, lines),
        photograph: photograph(flat),
        brightness: colours.brightness,
        contrast: colours.contrast,
        saturation: colours.saturation,
        colourfulness: colours.colourfulness,
        red: colours.red,
        green: colours.green,
        blue: colours.blue,
        bright: colours.bright,
        dark: colours.dark,
        average: colours.average,
        colours: colours.distinct,
        edges,
        flat,
        phash: perceptual_hash(image),
    }
}

/// A reduced copy, row by row.
struct Small {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Small {
    fn len(&self) -> usize {
        self.pixels.len()
    }
}

/// Block means over a grid of at most 4 × 4 pixels in each block.
fn reduce(image: &RgbImage) -> Small {
    let (width, height) = image.dimensions();
    let longer = width.max(height).max(1);
    let size = |side: u32| match longer <= REDUCED {
        true => side,
        false => (u64::from(side) * u64::from(REDUCED) / u64::from(longer)).max(1) as u32,
    };
    let (w, h) = match width == 0 || height == 0 {
        true => (0, 0),
        false => (size(width), size(height)),
    };
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
                    let at = y * stride + x * 3;
                    if let Some(pixel) = raw.get(at..at + 3) {
                        for (sum, &value) in sum.iter_mut().zip(pixel) {
                            *sum += u32::from(value);
                        }
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

/// For each of `blocks` equal parts of 0..side, up to four evenly spaced positions in it.
fn samples(side: u32, blocks: u32) -> Vec<Vec<usize>> {
    let edge =
        |block: u32| (u64::from(block) * u64::from(side) / u64::from(blocks.max(1))) as usize;
    (0..blocks)
        .map(|block| {
            let (start, end) = (edge(block), edge(block + 1));
            let length = (end - start).max(1);
            let count = length.min(4);
            (0..count)
                .map(|n| start + (2 * n + 1) * length / (2 * count))
                .collect()
        })
        .collect()
}

/// Luma, in [0, 255].
fn luma([r, g, b]: [u8; 3]) -> f32 {
    0.299 * f32::from(r) + 0.587 * f32::from(g) + 0.114 * f32::from(b)
}

/// What the pixels say wherever they stand.
#[derive(Default)]
struct Colours {
    brightness: f32,
    contrast: f32,
    saturation: f32,
    colourfulness: f32,
    red: f32,
    green: f32,
    blue: f32,
    bright: f32,
    dark: f32,
    average: [u8; 3],
    distinct: u32,
}

/// Sum and sum of squares.
#[derive(Default)]
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

impl Colours {
    fn of(small: &Small) -> Self {
        if small.pixels.is_empty() {
            return Colours::default();
        }
        let n = small.len() as f64;
        let (mut light, mut red_green, mut yellow_blue) =
            (Moments::default(), Moments::default(), Moments::default());
        let mut saturations = 0.0f64;
        let mut sum = [0u64; 3];
        let (mut red, mut green, mut blue, mut bright, mut dark) = (0u32, 0u32, 0u32, 0u32, 0u32);
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
            if let Some(seen) = seen.get_mut(r << 8 | g << 4 | b) {
                *seen = true;
            }
            for (sum, c) in sum.iter_mut().zip(pixel) {
                *sum += u64::from(c);
            }
        }
        let share = |count: u32| (f64::from(count) / n) as f32;
        let spread = (red_green.variance(n) + yellow_blue.variance(n)).sqrt();
        let centre = red_green.mean(n).hypot(yellow_blue.mean(n));
        Colours {
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
            distinct: seen.iter().filter(|&&seen| seen).count() as u32,
        }
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

/// Shares of pixels at an edge, and of pixels that are as their neighbours. The last column and row look back, so
/// that each pixel counts once.
fn neighbours(small: &Small) -> (f32, f32) {
    let light: Vec<f32> = small.pixels.iter().map(|&pixel| luma(pixel)).collect();
    let (mut edges, mut flat) = (0u32, 0u32);
    let beside = |at: usize, side: usize| {
        if at + 1 < side {
            at + 1
        } else {
            at.saturating_sub(1)
        }
    };
    for y in 0..small.height {
        for x in 0..small.width {
            let here = y * small.width + x;
            let right = y * small.width + beside(x, small.width);
            let below = beside(y, small.height) * small.width + x;
            let (Some(&pixel), Some(&luma)) = (small.pixels.get(here), light.get(here)) else {
                continue;
            };
            let far = |other: usize| {
                light
                    .get(other)
                    .is_some_and(|l| (l - luma).abs() > 0.1 * 255.0)
            };
            let same = |other: usize| {
                small
                    .pixels
                    .get(other)
                    .is_none_or(|other| pixel.iter().zip(other).all(|(a, b)| a.abs_diff(*b) <= 2))
            };
            edges += u32::from(far(right) || far(below));
            flat += u32::from(same(right) && same(below));
        }
    }
    let n = small.len().max(1) as f32;
    (edges as f32 / n, flat as f32 / n)
}

/// How probably a photograph, from [`Picture::flat`]: drawings and screenshots have plain areas, in which neighbouring
/// pixels are equal; a photograph's noise and shading leave few.
///
/// On 55 pictures of ImageArg, told apart by eye, the area under the ROC curve is .80. Number of colours and
/// edges did not add to it.
fn photograph(flat: f32) -> f32 {
    1.0 / (1.0 + (6.0 * (flat - 0.5)).exp())
}

/// Share of the reduced copy's pixels whose centre lies in one of the lines' quadrilaterals.
fn text_fraction(image: &RgbImage, small: &Small, lines: &[OcrLine]) -> f32 {
    if small.pixels.is_empty() {
        return 0.0;
    }
    let scale_x = image.width() as f32 / small.width as f32;
    let scale_y = image.height() as f32 / small.height as f32;
    let mut covered = vec![false; small.len()];
    for line in lines {
        let corners = line.corners.map(|(x, y)| (x / scale_x, y / scale_y));
        if corners
            .iter()
            .any(|(x, y)| !x.is_finite() || !y.is_finite())
        {
            continue;
        }
        // Casts of floats saturate, so that corners outside of the image are held at its border.
        let least = |side: fn(&(f32, f32)) -> f32| {
            corners.iter().map(side).fold(f32::MAX, f32::min).floor() as usize
        };
        let most = |side: fn(&(f32, f32)) -> f32| {
            corners.iter().map(side).fold(0.0, f32::max).ceil() as usize
        };
        for y in least(|c| c.1)..most(|c| c.1).min(small.height) {
            for x in least(|c| c.0)..most(|c| c.0).min(small.width) {
                if let Some(cell) = covered.get_mut(y * small.width + x) {
                    *cell |= is_inside(&corners, x as f32 + 0.5, y as f32 + 0.5);
                }
            }
        }
    }
    covered.iter().filter(|&&covered| covered).count() as f32 / small.len() as f32
}

/// Whether a point lies in a polygon: a ray to the right crosses an odd number of its sides.
fn is_inside(corners: &[(f32, f32); 4], x: f32, y: f32) -> bool {
    let ends = corners.iter().cycle().skip(1);
    let crossed = corners.iter().zip(ends).filter(|&(&(ax, ay), &(bx, by))| {
        (ay > y) != (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax
    });
    crossed.count() % 2 == 1
}

/// The DCT hash of pHash (`ph_dct_imagehash`; Zauner, Implementation and Benchmarking of Perceptual Image Hash Functions,
/// 2010), in the bits of the collection's `image-phash.txt`: read as a binary number, the file is this.
///
/// Luma, smoothed by a 7 × 7 mean, is sampled at 32 × 32 places; of its cosine transform the 8 × 8 coefficients from
/// (1, 1) on give a bit each, 1 where over their median, row by row. The collection's tool shifts the first of them out,
/// so the lowest bit is always 0. Of the 25 images of the development sample 22 give the file's bits, 2 differ in two
/// of them, and one, transparent, in 24: the tool did not put it on white.
pub fn perceptual_hash(image: &RgbImage) -> u64 {
    const N: usize = 32;
    const KEPT: usize = 8;
    if image.width() == 0 || image.height() == 0 {
        return 0;
    }
    let samples = smoothed::<N>(image);
    let mut cosine = [[0.0f64; N]; KEPT];
    for (k, row) in cosine.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            *value = (2.0 / N as f64).sqrt()
                * (PI / (2 * N) as f64 * ((k + 1) * (2 * j + 1)) as f64).cos();
        }
    }
    let across = samples.map(|row| cosine.map(|wave| dot(&wave, &row)));
    let mut coefficients = Vec::with_capacity(KEPT * KEPT);
    for wave in &cosine {
        for column in 0..KEPT {
            let values: [f64; N] = std::array::from_fn(|y| {
                across
                    .get(y)
                    .and_then(|r| r.get(column))
                    .copied()
                    .unwrap_or(0.0)
            });
            // Rounded, so that what should be zero is zero whatever the platform's cosine.
            coefficients.push((dot(wave, &values) * 1024.0).round());
        }
    }
    let mut sorted = coefficients.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.iter().skip(KEPT * KEPT / 2 - 1).take(2).sum::<f64>() / 2.0;
    let bits = coefficients
        .iter()
        .fold(0u64, |bits, &value| bits << 1 | u64::from(value > median));
    bits << 1
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Luma at the upper left pixel of each of N × N blocks, as the mean of the 7 × 7 pixels around it; beyond the border
/// the border's pixels count again.
fn smoothed<const N: usize>(image: &RgbImage) -> [[f64; N]; N] {
    let (width, height) = (u64::from(image.width()), u64::from(image.height()));
    let around = |block: usize, side: u64| {
        let at = (block as u64 * side / N as u64) as i64;
        (at - 3..=at + 3).map(move |p| p.clamp(0, side as i64 - 1) as u32)
    };
    std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            let mut sum = 0.0;
            for y in around(row, height) {
                for x in around(column, width) {
                    sum += f64::from(luma(image.get_pixel(x, y).0));
                }
            }
            sum / 49.0
        })
    })
}

/// In how many of 64 bits two hashes differ.
pub fn hamming(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbaImage};

    fn filled(width: u32, height: u32, colour: [u8; 3]) -> RgbImage {
        RgbImage::from_pixel(width, height, Rgb(colour))
    }

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
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
        // rg = 255 and yb = 127.5 everywhere: no spread, and 0.3 times the centre's distance 285.1.
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
        // One of the 20 columns has a different neighbour to its right.
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
        // Four quarters: red, green, blue, white; 2048 pixels wide, so that 8 × 8 pixels become one.
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
        };
        let image = filled(100, 100, [255; 3]);
        let half = line([(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)]);
        let outside = line([(-50.0, 40.0), (500.0, 40.0), (500.0, 50.0), (-50.0, 50.0)]);
        assert!(near(
            measure(&image, &[half.clone(), half.clone(), outside]).text_fraction,
            0.5
        ));
        // A square on its corner has half of its box.
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

    #[test]
    fn hashes_agree_for_copies_and_differ_for_others() {
        let picture = |shift: u32| {
            RgbImage::from_fn(300, 200, |x, y| {
                let (x, y) = (x + shift, y + 2 * shift);
                Rgb([(x * x / 300) as u8, (x * y / 200) as u8, (y * 3) as u8])
            })
        };
        let hash = perceptual_hash(&picture(0));
        let jpeg = encoded(&picture(0).into(), ImageFormat::Jpeg);
        let copy = decode(&jpeg).unwrap().image;
        assert!(hamming(hash, perceptual_hash(&copy)) <= 6);
        assert!(hamming(hash, perceptual_hash(&picture(97))) > 16);
        assert_eq!(hash & 1, 0);
        assert_eq!((hamming(0, u64::MAX), hamming(5, 4)), (64, 1));
    }

    #[test]
    fn alpha_is_over_white() {
        let half = RgbaImage::from_pixel(3, 2, image::Rgba([0, 0, 0, 128]));
        let decoded = decode(&encoded(&half.into(), ImageFormat::Png)).unwrap();
        // 255 × 127 / 255
        assert_eq!(decoded.image.get_pixel(1, 1).0, [127; 3]);
        assert_eq!(
            (
                decoded.format,
                decoded.width,
                decoded.height,
                decoded.animated
            ),
            ("png", 3, 2, false)
        );
    }

    #[test]
    fn of_an_animation_the_first_frame() {
        let mut bytes = Vec::new();
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
        for level in [200, 0] {
            let frame = RgbaImage::from_pixel(4, 4, image::Rgba([level, level, level, 255]));
            encoder.encode_frame(image::Frame::new(frame)).unwrap();
        }
        drop(encoder);
        let decoded = decode(&bytes).unwrap();
        assert_eq!((decoded.format, decoded.animated), ("gif", true));
        assert_eq!(decoded.image.get_pixel(0, 0).0, [200; 3]);
    }

    #[test]
    fn the_exif_orientation_is_applied() {
        // An EXIF block with one entry: orientation (0x0112) 6, the camera was turned by 90°.
        let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let jpeg = encoded(&filled(8, 4, [255; 3]).into(), ImageFormat::Jpeg);
        let mut turned = jpeg[..2].to_vec();
        turned.extend([0xFF, 0xE1, 0, exif.len() as u8 + 2]);
        turned.extend(exif);
        turned.extend(&jpeg[2..]);
        let decoded = decode(&turned).unwrap();
        assert_eq!((decoded.width, decoded.height), (4, 8));
    }

    #[test]
    fn what_is_no_image_is_named() {
        for (bytes, what) in [
            (&b""[..], "empty file"),
            (
                b"\n<!DOCTYPE html><title>404</title>",
                "an HTML page, not an image",
            ),
            (b"\xEF\xBB\xBF<html>", "an HTML page"),
            (b"<?xml version=\"1.0\"?><svg/>", "an SVG drawing"),
            (b"%PDF-1.4", "a PDF"),
            (b"{\"error\":403}", "JSON"),
            (&[0; 64], "zeros"),
            (b"hello", "first bytes 68 65 6c 6c 6f"),
        ] {
            let error = format!("{:#}", decode(bytes).unwrap_err());
            assert!(error.contains(what), "{error}");
        }
        let png = encoded(&filled(64, 64, [1, 2, 3]).into(), ImageFormat::Png);
        let error = format!("{:#}", decode(&png[..40]).unwrap_err());
        assert!(
            error.contains("a png file that cannot be decoded"),
            "{error}"
        );
    }

    #[test]
    fn a_bomb_is_refused_by_its_header() {
        // A BMP header of 60,000 × 60,000 pixels, and nothing behind it.
        let mut bmp = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
        bmp.extend(60_000u32.to_le_bytes());
        bmp.extend(60_000u32.to_le_bytes());
        bmp.extend([1, 0, 24, 0]);
        bmp.extend([0; 24]);
        let error = format!("{:#}", decode(&bmp).unwrap_err());
        assert!(error.contains("60000 × 60000 pixels"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in 0usize..4, at in 0usize..400, with: u8, cut in 0usize..400) {
            let format = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif][kind];
            let mut bytes = encoded(&filled(12, 9, [9, 80, 200]).into(), format);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = with;
            }
            let _ = decode(&bytes);
            bytes.truncate(cut);
            let _ = decode(&bytes);
        }
    }
}
