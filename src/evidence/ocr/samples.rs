//! Colours between the pixels of an image, for the image of a line.

use image::RgbImage;
use rten_simd::{Isa, SimdOp};

/// Samples that are computed together: a whole number of vectors on every machine.
const TOGETHER: usize = 48;

/// A row of samples of an image, at the same distance from each other.
pub(super) struct SampleRow<'a> {
    pub image: &'a RgbImage,
    /// The n-th sample is at origin + (n + .5) · across + down.
    pub origin: (f32, f32),
    pub across: (f32, f32),
    pub down: (f32, f32),
    /// Number of samples that are added to one sum.
    pub count: usize,
    /// The sums of red, green and blue. All have the same length.
    pub sums: &'a mut [Vec<f32>; 3],
}

impl SampleRow<'_> {
    /// Adds the colour of each sample to the sum that it belongs to.
    pub fn add(self) {
        self.dispatch();
    }

    /// The place of a sample.
    #[inline(always)]
    fn place(&self, n: usize) -> (f32, f32) {
        let n = n as i32 as f32 + 0.5;
        (
            self.origin.0 + n * self.across.0 + self.down.0,
            self.origin.1 + n * self.across.1 + self.down.1,
        )
    }
}

impl SimdOp for SampleRow<'_> {
    type Output = ();

    /// The loops over all samples are vectors of the machine. Only what is read of the image is read sample by sample.
    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        let bytes = self.image.as_raw().as_slice();
        let width = self.image.width() as usize;
        let all = self.sums[0].len() * self.count;
        for first in (0..all).step_by(TOGETHER) {
            let (mut x, mut y) = ([0f32; TOGETHER], [0f32; TOGETHER]);
            let (mut left, mut top) = ([0i32; TOGETHER], [0i32; TOGETHER]);
            for n in 0..TOGETHER {
                let place = self.place(first + n);
                (x[n], y[n]) = (place.0 - 0.5, place.1 - 0.5);
                (left[n], top[n]) = (x[n] as i32, y[n] as i32);
            }
            // four bytes from the upper left, upper right, lower left and lower right pixel on
            let mut read = [[0u32; TOGETHER]; 4];
            let mut beyond = [false; TOGETHER];
            let mut any_beyond = false;
            for n in 0..TOGETHER.min(all - first) {
                let eight =
                    |from: usize| Some(u64::from_le_bytes(*bytes.get(from..)?.first_chunk()?));
                let rows = || {
                    let (left, top) = (left[n] as usize, top[n] as usize);
                    // a number that is not at least zero may be NaN
                    if !(x[n] >= 0.0 && y[n] >= 0.0) || left + 1 >= width {
                        return None;
                    }
                    let from = top.checked_mul(width)?.checked_add(left)?.checked_mul(3)?;
                    Some((eight(from)?, eight(from + 3 * width)?))
                };
                match rows() {
                    Some((upper, lower)) => {
                        read[0][n] = upper as u32;
                        read[1][n] = (upper >> 24) as u32;
                        read[2][n] = lower as u32;
                        read[3][n] = (lower >> 24) as u32;
                    }
                    None => (beyond[n], any_beyond) = (true, true),
                }
            }
            let mut colours = [[0f32; TOGETHER]; 3];
            for n in 0..TOGETHER {
                let (fx, fy) = (x[n] - left[n] as f32, y[n] - top[n] as f32);
                for (colour, to) in colours.iter_mut().enumerate() {
                    let of = |four: u32| (four >> (8 * colour) & 255) as i32 as f32;
                    let [a, b, c, d] = [0, 1, 2, 3].map(|pixel: usize| of(read[pixel][n]));
                    let (above, below) = (a + (b - a) * fx, c + (d - c) * fx);
                    to[n] = above + (below - above) * fy;
                }
            }
            if any_beyond {
                for n in (0..TOGETHER).filter(|&n| beyond[n]) {
                    let (x, y) = self.place(first + n);
                    let colour = pixel_at(self.image, x, y);
                    (0..3).for_each(|c| colours[c][n] = colour[c]);
                }
            }
            for (sums, colours) in self.sums.iter_mut().zip(&colours) {
                let sums = &mut sums[first / self.count..];
                if self.count == 1 {
                    let pairs = sums.iter_mut().zip(colours);
                    pairs.for_each(|(sum, colour)| *sum += colour);
                } else {
                    let groups = colours.chunks(self.count);
                    for (sum, colours) in sums.iter_mut().zip(groups) {
                        colours.iter().for_each(|colour| *sum += colour);
                    }
                }
            }
        }
    }
}

/// The colour at (x, y), interpolated bilinearly between the centres of pixels, which are at .5.
fn pixel_at(image: &RgbImage, x: f32, y: f32) -> [f32; 3] {
    let place = |at: f32, length: u32| {
        let last = length.saturating_sub(1);
        let at = (at - 0.5).clamp(0.0, last as f32);
        let low = (at as u32).min(last);
        (low as usize, (low + 1).min(last) as usize, at - low as f32)
    };
    let (x0, x1, fx) = place(x, image.width());
    let (y0, y1, fy) = place(y, image.height());
    let (pixels, _) = image.as_raw().as_chunks::<3>();
    let width = image.width() as usize;
    let at = |x, y| pixels.get(y * width + x).copied().unwrap_or_default();
    let (a, b, c, d) = (at(x0, y0), at(x1, y0), at(x0, y1), at(x1, y1));
    std::array::from_fn(|i| {
        let mix = |p: u8, q: u8| f32::from(p) + (f32::from(q) - f32::from(p)) * fx;
        let (top, bottom) = (mix(a[i], b[i]), mix(c[i], d[i]));
        top + (bottom - top) * fy
    })
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;

    proptest::proptest! {
        #[test]
        fn samples_have_the_colours_of_their_places(
            origin in (-3.0..25.0_f32, -3.0..20.0_f32), across in (-0.9..0.9_f32, -0.9..0.9_f32),
            count in 1_usize..=4, columns in 1_usize..70, seed: u8,
        ) {
            let image = RgbImage::from_fn(23, 17, |x, y| {
                Rgb([3, 5, 7].map(|factor| seed.wrapping_mul(factor).wrapping_add((x * 31 + y * 83) as u8)))
            });
            let mut sums = [0.5, 0.25, 0.0].map(|begin| vec![begin; columns]);
            let mut expected = sums.clone();
            let down = (0.25, -0.5);
            SampleRow { image: &image, origin, across, down, count, sums: &mut sums }.add();
            for n in 0..columns * count {
                let at = n as f32 + 0.5;
                let (x, y) = (origin.0 + at * across.0 + down.0, origin.1 + at * across.1 + down.1);
                let colour = pixel_at(&image, x, y);
                (0..3).for_each(|c| expected[c][n / count] += colour[c]);
            }
            proptest::prop_assert_eq!(sums, expected);
        }
    }

    #[test]
    fn colours_between_pixels_are_mixed() {
        let image = RgbImage::from_fn(2, 1, |x, _| Rgb([if x == 0 { 0 } else { 200 }, 0, 7]));
        assert_eq!(pixel_at(&image, 1.0, 0.5), [100.0, 0.0, 7.0]);
        assert_eq!(pixel_at(&image, -5.0, 9.0), [0.0, 0.0, 7.0]);
        assert_eq!(pixel_at(&image, 1.5, 0.5), [200.0, 0.0, 7.0]);
    }
}
