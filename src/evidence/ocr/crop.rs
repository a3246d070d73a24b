//! The networks' inputs: the whole image for the detector, the image of one line for the recogniser.

use anyhow::Result;
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::RgbImage;
use riposte_nn::conv::{BufferPool, FeatureMap};

use super::boxes::TextBox;
use super::samples::SampleRow;

/// The detector halves its input five times, so both sides must be multiples of this.
const DETECTOR_GRID: usize = 32;
/// Minimum number of pixels of the detector's input. Smaller inputs make the reader miss words that tesseract and RapidOCR both read in images of
/// the crawl.
const MIN_DETECTOR_PIXELS: f32 = 0.3e6;
/// Maximum number of pixels of the detector's input. Larger inputs cost time, and hardly find more of these words, in the crawl or in tweets.
const MAX_DETECTOR_PIXELS: f32 = 0.9e6;
/// Maximum number of pixels of the detector's input with its padding. Padding makes a strip of 12,500,000 × 8 pixels 18 times as large.
const MAX_PADDED_PIXELS: usize = 2 * MAX_DETECTOR_PIXELS as usize;
/// A picture has small print if at least this many boxes are found and their median height, in pixels of the detector's input, is below this. Chosen on
/// pages with several columns, documents and scans: with larger limits, documents are read worse and scans hardly better, and both take longer.
const MIN_SMALL_LINES: usize = 10;
const SMALL_PRINT: f32 = 16.0;
/// The median height that a second detection aims at, the maximum number of pixels of its input, and the minimum factor between the two scales.
const LEGIBLE_PRINT: f32 = 24.0;
const MAX_FINE_PIXELS: f32 = 3.6e6;
const MAX_FINE_PADDED_PIXELS: usize = 2 * MAX_FINE_PIXELS as usize;
const MIN_GAIN: f32 = 1.2;
/// Maximum factor by which an image is enlarged. More enlargement shows nothing new.
const MAX_ENLARGEMENT: f32 = 3.0;
/// Height of a line for the recogniser, in pixels.
pub(super) const LINE_HEIGHT: usize = 48;
/// Minimum width of a line image, in pixels; shorter ones are stretched to it. The recogniser divides widths by eight.
const MIN_LINE_WIDTH: f32 = 8.0;
/// Maximum width of a line image, in pixels; longer lines are compressed to it.
const MAX_LINE_WIDTH: f32 = 4096.0;
/// Maximum number of samples of the image in each direction for one pixel of a line image.
const MAX_SAMPLES: f32 = 4.0;

/// The factor by which an image is resized before detection. `width` and `height` are in pixels and not zero.
///
/// Small letters are found only if they are enlarged, and the cost of detection is proportional to the pixels. So the area has a lower
/// and an upper bound, and the sides have none. Only images whose sides are in a ratio of more than 50 are reduced further, so that
/// the input with its padding has at most [`MAX_PADDED_PIXELS`].
pub(super) fn detector_scale(width: u32, height: u32) -> f32 {
    let area = width as f32 * height as f32;
    let scale = if area < MIN_DETECTOR_PIXELS {
        (MIN_DETECTOR_PIXELS / area).sqrt().min(MAX_ENLARGEMENT)
    } else {
        (MAX_DETECTOR_PIXELS / area).sqrt().min(1.0)
    };
    reduced_until(scale, MAX_PADDED_PIXELS, |scale| {
        padded(resized(width, scale)) * padded(resized(height, scale))
    })
}

/// The factor by which an image in small print is resized for a second detection; `None` if few boxes were found at `scale`, if they are not small, or
/// if a second input could not be much larger. `heights` are those of the boxes, in pixels of the first input.
///
/// In small print the detector finds lines, but cuts off the tops of letters and the ends of lines, and passes over short words.
pub(super) fn finer_scale(
    width: u32,
    height: u32,
    scale: f32,
    mut heights: Vec<f32>,
) -> Option<f32> {
    if heights.len() < MIN_SMALL_LINES {
        return None;
    }
    let middle = heights.len() / 2;
    let (_, median, _) = heights.select_nth_unstable_by(middle, f32::total_cmp);
    if *median >= SMALL_PRINT {
        return None;
    }
    let area = width as f32 * height as f32;
    let finer = (scale * LEGIBLE_PRINT / *median)
        .min((MAX_FINE_PIXELS / area).sqrt())
        .min(1.0);
    let finer = reduced_until(finer, MAX_FINE_PADDED_PIXELS, |scale| {
        padded(resized(width, scale)) * padded(resized(height, scale))
    });
    (finer >= MIN_GAIN * scale).then_some(finer)
}

/// The first of decreasing scales, from `scale` on, at which there are at most `most` pixels. `pixels(0.0)` must not exceed `most`.
pub(super) fn reduced_until(mut scale: f32, most: usize, pixels: impl Fn(f32) -> usize) -> f32 {
    loop {
        let pixels = pixels(scale);
        if pixels <= most {
            return scale;
        }
        // the square root reduces too little if the shorter side is padded to a minimum, so each step reduces by at least 5 %
        scale *= (most as f32 / pixels as f32).sqrt().min(0.95);
    }
}

/// A side after resizing, in pixels.
pub(super) fn resized(length: u32, scale: f32) -> usize {
    ((length as f32 * scale).round() as usize).max(1)
}

/// A side of the detector's input, in pixels.
fn padded(length: usize) -> usize {
    length.next_multiple_of(DETECTOR_GRID)
}

/// The image, resized by `scale`: (height, width, BGR) in [-1, 1], padded with black at the right and the bottom to multiples of
/// [`DETECTOR_GRID`].
///
/// # Errors
/// The image cannot be resized.
pub(super) fn detector_input(
    image: &RgbImage,
    scale: f32,
    pool: &mut BufferPool,
) -> Result<FeatureMap> {
    let [width, height] = [image.width(), image.height()].map(|side| resized(side, scale));
    let resized = resize(image, width, height)?;
    let mut input = pool.image(padded(height), padded(width), 3);
    let numbers: [f32; 256] = std::array::from_fn(|value| normalised(value as f32));
    let (rows, below) = input.data.split_at_mut(padded(width) * 3 * height);
    for (row, from) in rows
        .chunks_mut(padded(width) * 3)
        .zip(resized.pixels().chunks_exact(width))
    {
        let (pixels, beside) = row.split_at_mut(width * 3);
        for (to, pixel) in pixels.as_chunks_mut().0.iter_mut().zip(from) {
            let [red, green, blue] = pixel.0.map(|value| numbers[usize::from(value)]);
            *to = [blue, green, red];
        }
        beside.fill(-1.0);
    }
    below.fill(-1.0);
    Ok(input)
}

/// The image, resized to these sides by bilinear interpolation.
///
/// # Errors
/// The image cannot be resized.
pub(super) fn resize(
    image: &RgbImage,
    width: usize,
    height: usize,
) -> Result<TypedImage<'static, U8x3>> {
    let source = TypedImageRef::<U8x3>::from_buffer(image.width(), image.height(), image)?;
    let mut resized = TypedImage::<U8x3>::new(width as u32, height as u32);
    let bilinear = ResizeAlg::Convolution(FilterType::Bilinear);
    let options = ResizeOptions::new().resize_alg(bilinear);
    // the untyped call would compile the resizing of a dozen pixel types into the program
    Resizer::new().resize_typed(&source, &mut resized, &options)?;
    Ok(resized)
}

/// Maps a value from [0, 255] to [-1, 1].
fn normalised(value: f32) -> f32 {
    value / 127.5 - 1.0
}

/// Width of the line image of a box, in pixels.
pub(super) fn line_width(text: &TextBox) -> usize {
    let width = (LINE_HEIGHT as f32 * text.width / text.height).ceil();
    // the ratio of a box without height or width is infinite, zero or NaN
    width.clamp(MIN_LINE_WIDTH, MAX_LINE_WIDTH) as usize
}

/// The image of the line in a box, level and upright: ([`LINE_HEIGHT`], width, BGR) in [-1, 1].
///
/// Each pixel is the mean of about as many bilinear samples as it covers pixels of the image. Beyond the image's edges, its outermost
/// pixels are repeated.
pub(super) fn line(image: &RgbImage, text: &TextBox, pool: &mut BufferPool) -> FeatureMap {
    let columns = line_width(text);
    let samples = (text.height / LINE_HEIGHT as f32).ceil();
    let samples = samples.clamp(1.0, MAX_SAMPLES) as usize;
    let [origin, right, _, down] = text.corners();
    let step = |to: (f32, f32), count: usize| {
        let count = (count * samples) as f32;
        ((to.0 - origin.0) / count, (to.1 - origin.1) / count)
    };
    let (across, downwards) = (step(right, columns), step(down, LINE_HEIGHT));
    let weight = 1.0 / (samples * samples) as f32;
    let mut line = pool.image(LINE_HEIGHT, columns, 3);
    let mut sums = [(); 3].map(|()| vec![0.0; columns]);
    for (row, pixels) in line.data.chunks_mut(columns * 3).enumerate() {
        sums.iter_mut().for_each(|sums| sums.fill(0.0));
        for below in 0..samples {
            let j = (row * samples + below) as f32 + 0.5;
            let row = SampleRow {
                image,
                origin,
                across,
                down: (j * downwards.0, j * downwards.1),
                count: samples,
                sums: &mut sums,
            };
            row.add();
        }
        let [red, green, blue] = &sums;
        let colours = red.iter().zip(green).zip(blue);
        for (to, ((red, green), blue)) in pixels.as_chunks_mut().0.iter_mut().zip(colours) {
            *to = [blue, green, red].map(|sum| normalised(sum * weight));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;

    #[test]
    fn the_area_decides_how_large_the_detector_sees_an_image() {
        // between the bounds, it is not resized
        assert_eq!(detector_scale(1000, 800), 1.0);
        // 500 × 150 = 75,000 is a quarter of the least area, so each side is doubled
        assert_eq!(detector_scale(500, 150), 2.0);
        // 4000 × 3600 is 16 times the largest area, so each side is divided by four
        assert_eq!(detector_scale(4000, 3600), 0.25);
        assert_eq!(detector_scale(1, 1), MAX_ENLARGEMENT);
        // a tall infographic stays wide enough to be read
        assert_eq!(detector_scale(400, 9_000), 0.5);
    }

    #[test]
    fn many_lines_of_small_print_are_looked_for_in_a_larger_input() {
        let (width, height) = (2400, 3375); // 8.1 million pixels
        let scale = detector_scale(width, height);
        let finer = |heights: Vec<f32>| finer_scale(width, height, scale, heights);
        // half as high as the aim
        let is_near = |found: Option<f32>, to: f32| (found.unwrap() / to - 1.0).abs() < 1e-5;
        assert!(is_near(finer(vec![12.0; 200]), scale * 2.0));
        // the area is bounded
        assert!(is_near(finer(vec![4.0; 200]), (3.6f32 / 8.1).sqrt()));
        assert_eq!(finer(vec![16.0; 200]), None);
        assert_eq!(finer(vec![12.0; 9]), None);
        // a headline does not count
        assert!(finer([vec![12.0; 20], vec![90.0; 15]].concat()).is_some());
        // an image that was not reduced cannot show more
        assert_eq!(finer_scale(900, 900, 1.0, vec![9.0; 50]), None);
        for (width, height) in [(12_500_000, 8), (8, 12_500_000), (100_000, 1_000)] {
            let scale = detector_scale(width, height);
            if let Some(finer) = finer_scale(width, height, scale, vec![3.0; 50]) {
                let input = padded(resized(width, finer)) * padded(resized(height, finer));
                assert!(
                    input <= MAX_FINE_PADDED_PIXELS,
                    "{width} x {height}: {input}"
                );
            }
        }
    }

    /// The scale without the bound on padded pixels.
    fn unbounded_scale(width: u32, height: u32) -> f32 {
        let area = width as f32 * height as f32;
        if area < 0.3e6 {
            (0.3e6 / area).sqrt().min(3.0)
        } else {
            (0.9e6 / area).sqrt().min(1.0)
        }
    }

    #[test]
    fn a_strip_is_reduced_until_its_padding_is_bounded() {
        for (width, height) in [
            (12_500_000, 8),
            (5_000_000, 20),
            (1_000_000, 100),
            (100_000, 8),
            (65_535, 1_000),
            (u32::MAX, u32::MAX),
        ] {
            for (width, height) in [(width, height), (height, width)] {
                let scale = detector_scale(width, height);
                assert!(scale > 0.0 && scale <= unbounded_scale(width, height));
                let pixels = padded(resized(width, scale)) * padded(resized(height, scale));
                assert!(pixels <= 1_800_000, "{width} × {height}: {pixels}");
                // not reduced much further than needed
                let larger = scale / 0.9;
                let pixels = padded(resized(width, larger)) * padded(resized(height, larger));
                let unbounded = scale == unbounded_scale(width, height);
                assert!(
                    unbounded || pixels > 1_700_000,
                    "{width} × {height}: {pixels}"
                );
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn images_of_usual_shapes_are_resized_as_before(
            shorter in 8_u32..10_000, ratio in 1.0..20.0_f64, wide: bool,
        ) {
            let longer = (f64::from(shorter) * ratio) as u32;
            let (width, height) = if wide { (longer, shorter) } else { (shorter, longer) };
            proptest::prop_assert_eq!(detector_scale(width, height), unbounded_scale(width, height));
        }

        #[test]
        fn no_size_exceeds_the_padded_pixels(width in 8_u32.., height in 8_u32..) {
            let scale = detector_scale(width, height);
            let pixels = padded(resized(width, scale)) * padded(resized(height, scale));
            proptest::prop_assert!(pixels <= MAX_PADDED_PIXELS);
        }
    }

    #[test]
    fn the_detector_gets_blue_first_on_a_grid_of_32() {
        let image = RgbImage::from_pixel(40, 30, Rgb([255, 51, 0]));
        let input = detector_input(&image, 1.0, &mut BufferPool::default()).unwrap();
        assert_eq!((input.height, input.width, input.channels), (32, 64, 3));
        let colour = |y, x| [0, 1, 2].map(|plane| input.at(y, x, plane));
        // 51 / 127.5 - 1 = -0.6
        let [blue, green, red] = colour(29, 39);
        assert!((blue + 1.0).abs() < 1e-6 && (green + 0.6).abs() < 1e-6 && red == 1.0);
        assert_eq!(colour(30, 0), [-1.0; 3]);
        assert_eq!(colour(0, 40), [-1.0; 3]);
    }

    #[test]
    fn a_line_is_drawn_in_the_direction_of_its_text() {
        // left half black, right half white, text running upwards: black above white
        let image = RgbImage::from_fn(96, 48, |x, _| Rgb([if x < 48 { 0 } else { 255 }; 3]));
        let level = TextBox {
            centre: (48.0, 24.0),
            along: (1.0, 0.0),
            width: 96.0,
            height: 48.0,
        };
        assert_eq!(line_width(&level), 96);
        let read = line(&image, &level, &mut BufferPool::default());
        assert_eq!((read.at(20, 10, 0), read.at(20, 80, 0)), (-1.0, 1.0));

        let upwards = level.turned().turned().turned();
        assert_eq!(upwards.along, (0.0, -1.0));
        assert_eq!(line_width(&upwards), 24);
        let read = line(&image, &upwards, &mut BufferPool::default());
        assert_eq!((read.at(5, 12, 0), read.at(40, 12, 0)), (-1.0, 1.0));
    }

    #[test]
    fn a_box_that_is_much_higher_than_wide_is_stretched() {
        let bar = TextBox {
            centre: (9.0, 500.0),
            along: (1.0, 0.0),
            width: 18.0,
            height: 900.0,
        };
        // 48 · 18 / 900 is less than one pixel
        assert_eq!(line_width(&bar), 8);
        assert_eq!(line_width(&bar.turned()), 2400);
    }
}
