//! The pictures of a report. They are encoded again from pixels, so a report contains no bytes of a collection's files. They are small, so that a
//! report can be sent by mail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::RgbImage;
use rayon::prelude::*;
use riposte_eval::DocId;

use super::place::PICTURES;
use super::words::slug;
use crate::collection::images::bytes_of;
use crate::collection::{Fault, FaultKind};
use crate::disk;
use crate::events::{Event, OnThreadEvent};
use crate::evidence::picture::{DecodedImage, decode};
use crate::limits::MAX_SCALED_SIDE;

/// The sizes in which an image is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// In the table of topics.
    Mini,
    /// In a list of a topic.
    Card,
    /// On the page of the image.
    Whole,
}

impl Size {
    const ALL: [Size; 3] = [Size::Mini, Size::Card, Size::Whole];

    /// The suffix of the file's name.
    fn suffix(self) -> &'static str {
        ["-mini", "-card", ""][self as usize]
    }

    /// The bytes for all pictures of this size. With them, a report of fifty topics with twenty images each has less than 30 MB (its
    /// table of topics less than 300 KB), and as a single file less than the 25 MB that mail servers accept. Each image above a
    /// thousand adds about 11 KB to the pages, which is taken from the large pictures.
    fn total_bytes(self, images: usize, inline: bool) -> usize {
        let more = 11_000 * images.saturating_sub(1_000);
        match (self, inline) {
            (Size::Mini, _) => 150_000,
            (Size::Card, false) => 3_400_000,
            (Size::Whole, false) => 10_500_000usize.saturating_sub(more),
            (Size::Card, true) => 2_000_000,
            (Size::Whole, true) => 4_500_000,
        }
    }

    /// The minimum and maximum bytes of one picture. If the minimum is above its share, the report gets larger.
    fn byte_limits(self) -> (usize, usize) {
        [(1_000, 3_000), (2_500, 16_000), (8_000, 160_000)][self as usize]
    }

    /// The maximum width and height, in pixels.
    fn max_side(self) -> u32 {
        [160, 400, 1_600][self as usize]
    }
}

/// The side length of a test copy, whose size shows how well an image can be compressed.
const PROBE: u32 = 160;

/// The bytes of a picture grow with its pixels to this power or a slightly lower one: a larger copy needs fewer bytes per pixel.
const GROWTH: f64 = 0.85;

/// WebP quality, from 0 to 100. Thin letters become illegible below it.
const QUALITY: f32 = 62.0;

/// WebP quality of pictures that do not fit even when they are scaled down: noise.
const LOW_QUALITY: f32 = 30.0;

/// The pictures that a report shows, and their sizes.
#[derive(Debug, Default)]
pub(crate) struct PictureList(BTreeMap<DocId, BTreeSet<Size>>);

impl PictureList {
    /// Adds an image in a size.
    pub fn add(&mut self, id: &DocId, size: Size) {
        self.0.entry(id.clone()).or_default().insert(size);
    }

    /// The number of images.
    pub fn images(&self) -> usize {
        self.0.len()
    }

    fn of_size(&self, size: Size) -> usize {
        let sizes = self.0.values();
        sizes.filter(|sizes| sizes.contains(&size)).count()
    }
}

/// Where pictures are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Destination<'a> {
    /// To files in this directory, which the pages address as [`PICTURES`]`/…`.
    Files(&'a Path),
    /// Into the page, as `data:` addresses.
    Inline,
}

/// A picture, as a page refers to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PictureSource {
    /// Its address, relative to the report's pages.
    pub address: String,
    pub width: u32,
    pub height: u32,
}

/// The pictures of an image, or the reason why there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImagePictures {
    pub sizes: BTreeMap<Size, PictureSource>,
    /// The width of the image itself after its EXIF orientation was applied; OCR corners are in these pixels. 0 if it could not be
    /// decoded.
    pub width: u32,
    /// The height, in the same way.
    pub height: u32,
    /// Why there is none: the image is not in the collection, or no file of it can be decoded.
    pub fault: Option<Fault>,
}

/// The pictures of a report, by image.
pub(crate) type ReportPictures = BTreeMap<DocId, ImagePictures>;

/// Makes all pictures. `files` returns the files of an image in the order in which they are tried, `None` if the collection does not
/// have the image. `on_event` receives the number of images done so far.
///
/// Errors: a picture cannot be written. An image that cannot be decoded is not an error; the result says why.
pub fn make(
    list: &PictureList,
    files: impl Fn(&DocId) -> Option<Vec<PathBuf>> + Sync,
    destination: Destination,
    on_event: &mut OnThreadEvent,
) -> Result<ReportPictures> {
    if let Destination::Files(dir) = destination {
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    let inline = matches!(destination, Destination::Inline);
    let budget = Size::ALL.map(|size| {
        let (min, max) = size.byte_limits();
        let share = size.total_bytes(list.images(), inline) / list.of_size(size).max(1);
        share.clamp(min, max)
    });
    let progress = Mutex::new((0, on_event));
    list.0
        .par_iter()
        .map(|(id, sizes)| {
            let pictures = make_sizes(id, sizes, files(id), &budget, destination)?;
            // the count is valid even if another thread has panicked
            let mut progress = progress.lock().unwrap_or_else(|e| e.into_inner());
            progress.0 += 1;
            let count = progress.0;
            (progress.1)(Event::progress(count, list.images()));
            Ok((id.clone(), pictures))
        })
        .collect()
}

/// Makes the pictures of an image.
fn make_sizes(
    id: &DocId,
    sizes: &BTreeSet<Size>,
    files: Option<Vec<PathBuf>>,
    budget: &[usize; 3],
    destination: Destination,
) -> Result<ImagePictures> {
    let decoded = match decode_first(id, files) {
        Ok(decoded) => decoded,
        Err(fault) => {
            return Ok(ImagePictures {
                fault: Some(fault),
                ..ImagePictures::default()
            });
        }
    };
    let mut sources = BTreeMap::new();
    // the largest first, because each is made from the one before
    let mut image = fit_within(decoded.image, Size::Whole.max_side())?;
    let probe = fit_within(image.clone(), PROBE)?;
    let probe = (pixels(&probe), webp(&probe, QUALITY)?.len() as f64);
    for size in sizes.iter().rev() {
        let most = budget[*size as usize];
        let (bytes, shown) = compressed(image, size.max_side(), most, probe)?;
        let name = format!("{}{}.webp", slug(&id.0), size.suffix());
        let address = match destination {
            Destination::Files(dir) => {
                disk::write_draft(&dir.join(&name), &bytes)?;
                format!("{PICTURES}/{name}")
            }
            Destination::Inline => format!("data:image/webp;base64,{}", STANDARD.encode(&bytes)),
        };
        let (width, height) = shown.dimensions();
        let source = PictureSource {
            address,
            width,
            height,
        };
        sources.insert(*size, source);
        image = shown;
    }
    Ok(ImagePictures {
        sizes: sources,
        width: decoded.width,
        height: decoded.height,
        fault: None,
    })
}

/// The picture of an image as WebP, without the bytes of its files and with no side longer than `side` pixels; `None` if none of its files can be decoded.
///
/// # Errors
/// It cannot be encoded.
pub(crate) fn picture_within(
    id: &DocId,
    files: Vec<PathBuf>,
    side: u32,
) -> Result<Option<Vec<u8>>> {
    let Ok(decoded) = decode_first(id, Some(files)) else {
        return Ok(None);
    };
    webp(&fit_within(decoded.image, side)?, QUALITY).map(Some)
}

/// The first of an image's files that can be decoded, or why there is none.
fn decode_first(id: &DocId, files: Option<Vec<PathBuf>>) -> Result<DecodedImage, Fault> {
    let fault = |file: &Path, why: &str| Fault::in_file(FaultKind::Image, file, why).of(id);
    let place = Path::new(&id.0);
    let Some(files) = files else {
        return Err(fault(place, "there is no such image in the collection"));
    };
    let mut last = fault(place, "there is no image file");
    for file in files {
        match bytes_of(&file).and_then(|bytes| decode(&bytes).map_err(|e| format!("{e:#}"))) {
            Ok(image) => return Ok(image),
            Err(why) => last = fault(&file, &why),
        }
    }
    Err(last)
}

fn pixels(image: &RgbImage) -> f64 {
    f64::from(image.width()) * f64::from(image.height())
}

/// Encodes the image as WebP of at most `most` bytes, scaled down until it fits. Returns the bytes and the scaled image. `probe` is
/// the number of pixels and bytes of a test copy.
fn compressed(
    image: RgbImage,
    side: u32,
    most: usize,
    probe: (f64, f64),
) -> Result<(Vec<u8>, RgbImage)> {
    let allowed = probe.0 * (most as f64 / probe.1).powf(1.0 / GROWTH);
    let mut image = fit_within(image, side)?;
    let factor = (allowed / pixels(&image)).sqrt();
    image = scaled(image, factor)?;
    for _ in 0..4 {
        let bytes = webp(&image, QUALITY)?;
        if bytes.len() <= most {
            return Ok((bytes, image));
        }
        image = scaled(image, 0.95 * (most as f64 / bytes.len() as f64).sqrt())?;
    }
    Ok((webp(&image, LOW_QUALITY)?, image))
}

/// Scales the image down so that no side is longer than `side`.
fn fit_within(image: RgbImage, side: u32) -> Result<RgbImage> {
    let image = thinned(image);
    let longest = image.width().max(image.height());
    scaled(image, f64::from(side) / f64::from(longest))
}

/// Takes every nth column or row of an image with a side of more than [`MAX_SCALED_SIDE`].
fn thinned(image: RgbImage) -> RgbImage {
    let (width, height) = image.dimensions();
    let (across, down) = (
        width.div_ceil(MAX_SCALED_SIDE),
        height.div_ceil(MAX_SCALED_SIDE),
    );
    if across <= 1 && down <= 1 {
        return image;
    }
    let size = (width.div_ceil(across.max(1)), height.div_ceil(down.max(1)));
    RgbImage::from_fn(size.0, size.1, |x, y| {
        *image.get_pixel(x * across, y * down)
    })
}

/// Scales the image by a factor; factors from 1 on leave it as it is.
fn scaled(image: RgbImage, factor: f64) -> Result<RgbImage> {
    let side = |length: u32| ((f64::from(length) * factor).round() as u32).max(1);
    let (width, height) = (side(image.width()), side(image.height()));
    if factor >= 1.0 || (width, height) == image.dimensions() {
        return Ok(image);
    }
    let source = TypedImageRef::<U8x3>::from_buffer(image.width(), image.height(), &image)?;
    let mut smaller = TypedImage::<U8x3>::new(width, height);
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom));
    Resizer::new().resize_typed(&source, &mut smaller, &options)?;
    let values: Vec<u8> = smaller.pixels().iter().flat_map(|pixel| pixel.0).collect();
    RgbImage::from_raw(width, height, values).context("pixels were lost")
}

fn webp(image: &RgbImage, quality: f32) -> Result<Vec<u8>> {
    let encoder = webp::Encoder::from_rgb(image, image.width(), image.height());
    match encoder.encode_simple(false, quality) {
        Ok(bytes) => Ok(bytes.to_vec()),
        Err(error) => anyhow::bail!("a picture could not be written as WebP: {error:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random pixels, the image that compresses worst.
    fn noise(width: u32, height: u32) -> RgbImage {
        let mut state = 1u32;
        RgbImage::from_fn(width, height, |_, _| {
            image::Rgb([0; 3].map(|_: u8| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            }))
        })
    }

    #[test]
    fn a_picture_fits_its_share_whatever_it_shows() {
        for image in [
            noise(900, 600),
            noise(3, 2000),
            RgbImage::from_pixel(2000, 1500, image::Rgb([9, 99, 199])),
            RgbImage::new(1, 1),
        ] {
            let probe = (pixels(&image), webp(&image, QUALITY).unwrap().len() as f64);
            let (bytes, shown) = compressed(image, 400, 5_000, probe).unwrap();
            assert!(bytes.len() <= 5_000, "{} bytes", bytes.len());
            assert!(shown.width().max(shown.height()) <= 400);
            let again = decode(&bytes).unwrap();
            assert_eq!((again.format, again.width), ("webp", shown.width()));
        }
    }

    #[test]
    fn a_picture_of_any_shape_fits_in_its_square() {
        for (width, height) in [(5_000_000, 1), (1, 5_000_000), (65_535, 100), (70_000, 2)] {
            let image = RgbImage::from_pixel(width, height, image::Rgb([9, 99, 199]));
            let fitted = fit_within(image, 1600).unwrap();
            assert_eq!(
                fitted.width().max(fitted.height()),
                1600,
                "{width} × {height}"
            );
            assert_eq!(fitted.get_pixel(0, 0).0, [9, 99, 199]);
            assert!(!webp(&fitted, QUALITY).unwrap().is_empty());
        }
    }

    #[test]
    fn an_image_that_cannot_be_decoded_is_a_fault_not_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let svg = dir.path().join("image.webp");
        fs::write(
            &svg,
            "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>",
        )
        .unwrap();
        let mut list = PictureList::default();
        list.add(&DocId("I1".into()), Size::Card);
        list.add(&DocId("I2".into()), Size::Card);
        list.add(&DocId("I3".into()), Size::Card);
        let files = |id: &DocId| match id.0.as_str() {
            "I1" => Some(vec![svg.clone()]),
            "I2" => Some(Vec::new()),
            _ => None,
        };
        let out = dir.path().join("pictures");
        let made = make(&list, files, Destination::Files(&out), &mut |_| ()).unwrap();
        let faults = made.values().map(|p| p.fault.as_ref().unwrap());
        let faults: Vec<_> = faults.map(|fault| fault.what.as_str()).collect();
        assert_eq!(
            faults,
            [
                "an SVG drawing, which has no pixels, not an image",
                "there is no image file",
                "there is no such image in the collection"
            ]
        );
        assert_eq!(fs::read_dir(out).unwrap().count(), 0);
    }
}
