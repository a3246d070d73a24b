//! The report's pictures: made anew from the pixels, small enough that a whole run can be mailed. No byte of a
//! collection's image file goes into a report.

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

use super::PICTURES;
use super::words::slug;
use crate::collection::images::bytes_of;
use crate::evidence::picture::decode;
use crate::trec::DocId;

/// How an image is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// In the table of topics.
    Mini,
    /// On a card.
    Card,
    /// Alone.
    Whole,
}

impl Size {
    const ALL: [Size; 3] = [Size::Mini, Size::Card, Size::Whole];

    /// Ends the file's name.
    fn ending(self) -> &'static str {
        match self {
            Size::Mini => "-mini",
            Size::Card => "-card",
            Size::Whole => "",
        }
    }

    /// Bytes for all pictures of the size together: a report of fifty topics, twenty images each, stays below 30 MB with its
    /// pages (their table of topics below 300 KB), as one file below the 25 MB that mail takes. An image more than a
    /// thousand costs its page about 11 KB, which the large pictures give up.
    fn share(self, images: usize, inline: bool) -> usize {
        let more = 11_000 * images.saturating_sub(1_000);
        match (self, inline) {
            (Size::Mini, _) => 150_000,
            (Size::Card, false) => 3_400_000,
            (Size::Whole, false) => 10_500_000usize.saturating_sub(more),
            (Size::Card, true) => 2_000_000,
            (Size::Whole, true) => 4_500_000,
        }
    }

    /// The least and the most bytes that one picture may take. Where even the least do not fit, the report is larger.
    fn bytes(self) -> (usize, usize) {
        match self {
            Size::Mini => (1_000, 3_000),
            Size::Card => (2_500, 16_000),
            Size::Whole => (8_000, 160_000),
        }
    }

    /// The most pixels of a side.
    fn side(self) -> u32 {
        match self {
            Size::Mini => 160,
            Size::Card => 400,
            Size::Whole => 1600,
        }
    }
}

/// The side of the copy whose size tells how well an image can be compressed.
const PROBE: u32 = 160;

/// A larger copy takes fewer bytes a pixel than a smaller one: bytes go by this power of the pixels, or a little below.
const GROWTH: f64 = 0.85;

/// WebP's, of 100: below this, thin letters run together.
const QUALITY: f32 = 62.0;

/// For what does not fit even when it is made smaller: noise.
const LOW_QUALITY: f32 = 30.0;

/// Which pictures a report shows, in which sizes.
#[derive(Debug, Default)]
pub struct Wanted(BTreeMap<DocId, BTreeSet<Size>>);

impl Wanted {
    /// The image is shown in that size.
    pub fn add(&mut self, id: &DocId, size: Size) {
        self.0.entry(id.clone()).or_default().insert(size);
    }

    /// How many images these are.
    pub fn images(&self) -> usize {
        self.0.len()
    }

    fn of_size(&self, size: Size) -> usize {
        self.0
            .values()
            .filter(|sizes| sizes.contains(&size))
            .count()
    }
}

/// Where the pictures go.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// Files in this directory; pages find them as [`PICTURES`]`/…`.
    Files(&'a Path),
    /// Into the page itself, as `data:` addresses.
    Inline,
}

/// A picture as a page names it.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Its address, seen from the report's pages.
    pub address: String,
    pub width: u32,
    pub height: u32,
}

/// An image's pictures, or why there are none.
#[derive(Clone, Debug)]
pub struct Pictured {
    pub sizes: BTreeMap<Size, Source>,
    /// Of the image itself, upright: OCR's corners count in these pixels. 0 if it could not be decoded.
    pub width: u32,
    pub height: u32,
    pub fault: Option<String>,
}

/// The pictures of a report by image.
pub type Pictures = BTreeMap<DocId, Pictured>;

/// Makes them all. `files` gives an image's files, the first to be tried first, or none for an image that the collection does
/// not have; `done` hears how many are made.
///
/// An image that cannot be decoded is none of the errors: these are about writing.
pub fn make(
    wanted: &Wanted,
    files: impl Fn(&DocId) -> Option<Vec<PathBuf>> + Sync,
    place: Place,
    done: &mut (dyn FnMut(usize) + Send),
) -> Result<Pictures> {
    if let Place::Files(dir) = place {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let budget: BTreeMap<Size, usize> = Size::ALL
        .into_iter()
        .map(|size| {
            let inline = matches!(place, Place::Inline);
            let (least, most) = size.bytes();
            let share = size.share(wanted.images(), inline) / wanted.of_size(size).max(1);
            (size, share.clamp(least, most))
        })
        .collect();
    let counted = Mutex::new((0, done));
    wanted
        .0
        .par_iter()
        .map(|(id, sizes)| {
            let pictured = picture(id, sizes, files(id), &budget, place)?;
            // a thread that panicked has left a whole number
            let mut counted = counted.lock().unwrap_or_else(|e| e.into_inner());
            counted.0 += 1;
            let count = counted.0;
            (counted.1)(count);
            Ok((id.clone(), pictured))
        })
        .collect()
}

fn picture(
    id: &DocId,
    sizes: &BTreeSet<Size>,
    files: Option<Vec<PathBuf>>,
    budget: &BTreeMap<Size, usize>,
    place: Place,
) -> Result<Pictured> {
    let mut fault = match files {
        Some(_) => "there is no image file".to_owned(),
        None => "there is no such image in the collection".to_owned(),
    };
    let mut decoded = None;
    for file in files.into_iter().flatten() {
        match bytes_of(&file).and_then(|bytes| decode(&bytes).map_err(|e| format!("{e:#}"))) {
            Ok(image) => {
                decoded = Some(image);
                break;
            }
            Err(why) => fault = why,
        }
    }
    let Some(decoded) = decoded else {
        return Ok(Pictured {
            sizes: BTreeMap::new(),
            width: 0,
            height: 0,
            fault: Some(fault),
        });
    };
    let mut made = BTreeMap::new();
    // each from the one before it: the largest first
    let mut image = within(decoded.image, Size::Whole.side())?;
    let probe = within(image.clone(), PROBE)?;
    let probe = (pixels(&probe), webp(&probe, QUALITY)?.len() as f64);
    for size in sizes.iter().rev() {
        let most = budget.get(size).copied().unwrap_or(0);
        let (bytes, shown) = compressed(image, size.side(), most, probe)?;
        let name = format!("{}{}.webp", slug(&id.0), size.ending());
        let address = match place {
            Place::Files(dir) => {
                let path = dir.join(&name);
                fs::write(&path, &bytes)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                format!("{PICTURES}/{name}")
            }
            Place::Inline => format!("data:image/webp;base64,{}", STANDARD.encode(&bytes)),
        };
        let (width, height) = shown.dimensions();
        made.insert(
            *size,
            Source {
                address,
                width,
                height,
            },
        );
        image = shown;
    }
    Ok(Pictured {
        sizes: made,
        width: decoded.width,
        height: decoded.height,
        fault: None,
    })
}

fn pixels(image: &RgbImage) -> f64 {
    f64::from(image.width()) * f64::from(image.height())
}

/// The image as WebP of at most so many bytes, made smaller until it fits; and its pixels before compression. `probe` is how many
/// pixels of it took how many bytes.
fn compressed(
    image: RgbImage,
    side: u32,
    most: usize,
    probe: (f64, f64),
) -> Result<(Vec<u8>, RgbImage)> {
    let allowed = probe.0 * (most as f64 / probe.1).powf(1.0 / GROWTH);
    let mut image = within(image, side)?;
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

/// No side longer than this.
fn within(image: RgbImage, side: u32) -> Result<RgbImage> {
    let longest = image.width().max(image.height());
    scaled(image, f64::from(side) / f64::from(longest))
}

/// Made smaller by a factor; 1 and more changes nothing.
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

    /// Random pixels: nothing compresses worse.
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
    fn what_is_no_image_says_so_and_ends_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let svg = dir.path().join("image.webp");
        fs::write(
            &svg,
            "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>",
        )
        .unwrap();
        let mut wanted = Wanted::default();
        wanted.add(&DocId("I1".into()), Size::Card);
        wanted.add(&DocId("I2".into()), Size::Card);
        wanted.add(&DocId("I3".into()), Size::Card);
        let files = |id: &DocId| match id.0.as_str() {
            "I1" => Some(vec![svg.clone()]),
            "I2" => Some(Vec::new()),
            _ => None,
        };
        let out = dir.path().join("pictures");
        let made = make(&wanted, files, Place::Files(&out), &mut |_| ()).unwrap();
        let faults: Vec<_> = made.values().map(|p| p.fault.clone().unwrap()).collect();
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
