//! A perceptual hash of an image, for finding near-duplicates.

use std::f64::consts::PI;

use image::RgbImage;

/// The DCT hash of pHash (`ph_dct_imagehash`; Zauner, Implementation and Benchmarking of Perceptual Image Hash Functions, 2010), with its bits
/// in the order of the collection's `image-phash.txt`, read as a binary number.
///
/// Luma, smoothed by a 7 × 7 mean, is sampled at 32 × 32 positions. The 8 × 8 coefficients of its cosine transform from (1, 1) on give one bit each,
/// in row order: 1 if the coefficient is above their median. The collection's tool shifts out the first bit, so the lowest bit is always 0. Most
/// images of the development sample have exactly the bits in the file. An image with transparency differs, because the tool did not blend it with
/// white.
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
            let values = across.map(|row| row[column]);
            // rounded, so that zeros do not depend on the platform's cosine
            coefficients.push((dot(wave, &values) * 1024.0).round());
        }
    }
    let mut sorted = coefficients.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.iter().skip(KEPT * KEPT / 2 - 1).take(2).sum::<f64>() / 2.0;
    let bits = coefficients.iter().map(|&value| u64::from(value > median));
    bits.fold(0, |bits, bit| bits << 1 | bit) << 1
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Smoothed luma at the upper left pixel of each of N × N blocks: the mean of the 7 × 7 pixels around it. Positions outside the image have the value
/// of the nearest pixel.
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

/// The number of bits, of 64, in which two hashes differ.
pub fn hamming(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// Luma (Rec. 601), in [0, 255].
pub(super) fn luma([r, g, b]: [u8; 3]) -> f32 {
    0.299 * f32::from(r) + 0.587 * f32::from(g) + 0.114 * f32::from(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::picture::decode::decode;
    use image::{DynamicImage, ImageFormat, Rgb};
    use std::io::Cursor;

    #[test]
    fn hashes_agree_for_copies_and_differ_for_others() {
        let picture = |shift: u32| {
            RgbImage::from_fn(300, 200, |x, y| {
                let (x, y) = (x + shift, y + 2 * shift);
                Rgb([(x * x / 300) as u8, (x * y / 200) as u8, (y * 3) as u8])
            })
        };
        let hash = perceptual_hash(&picture(0));
        let mut jpeg = Cursor::new(Vec::new());
        DynamicImage::from(picture(0))
            .write_to(&mut jpeg, ImageFormat::Jpeg)
            .unwrap();
        let copy = decode(jpeg.get_ref()).unwrap().image;
        assert!(hamming(hash, perceptual_hash(&copy)) <= 6);
        assert!(hamming(hash, perceptual_hash(&picture(97))) > 16);
        assert_eq!(hash & 1, 0);
        assert_eq!((hamming(0, u64::MAX), hamming(5, 4)), (64, 1));
    }
}
