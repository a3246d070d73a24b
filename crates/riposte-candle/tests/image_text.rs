//! Image-text models of other families, compared with the frameworks that published them (tests/reference/image_text.py).

use std::fs;
use std::path::PathBuf;

use image::{Rgb, RgbImage};
use riposte::evidence::clip::{Clip, ImageTextLikeness, Pixels};
use riposte_nn::conv::Numeric;
use riposte_nn::transformer::Backend;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The checkpoints, each with the mean and the standard deviation of its preprocessing.
const FAMILIES: [(&str, [f32; 3], [f32; 3]); 4] = [
    ("tiny-siglip", [0.5; 3], [0.5; 3]),
    ("tiny-siglip2", [0.5; 3], [0.5; 3]),
    (
        "tiny-chinese-clip",
        [0.48145466, 0.4578275, 0.40821073],
        [0.26862954, 0.2613026, 0.2757771],
    ),
    ("tiny-open-clip", [0.5, 0.4, 0.3], [0.2, 0.25, 0.3]),
];

fn reference(name: &str) -> PathBuf {
    let references = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference");
    PathBuf::from(references).join(name)
}

fn json<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&fs::read(reference(name)).unwrap()).unwrap()
}

/// What the original framework computes.
#[derive(Deserialize)]
struct Values {
    ids: Vec<Vec<u32>>,
    texts: Vec<Vec<f32>>,
    images: Vec<Picture>,
    likeness: Vec<f32>,
    quick: Option<Quick>,
}

#[derive(Deserialize)]
struct Picture {
    width: u32,
    height: u32,
    vector: Vec<f32>,
    pixels: Option<PixelSums>,
}

#[derive(Deserialize)]
struct PixelSums {
    height: usize,
    width: usize,
    row_sums: Vec<Vec<i64>>,
    column_sums: Vec<Vec<i64>>,
}

/// The vectors of the first picture and the tenth text with the flag quick_gelu.
#[derive(Deserialize)]
struct Quick {
    image: Vec<f32>,
    text: Vec<f32>,
}

impl Picture {
    /// The pattern that tests/reference/encoders.py draws.
    fn draw(&self) -> RgbImage {
        RgbImage::from_fn(self.width, self.height, |x, y| {
            let fast = (x / 16 + y / 16) % 2 * 90;
            Rgb([0, 1, 2]
                .map(|c| ((x * x / 9 + y * y / 5 + x * y * c / 7 + 37 * c + fast) % 256) as u8))
        })
    }
}

/// The texts in five scripts that the sentence encoders are compared on, too.
fn texts() -> Vec<String> {
    #[derive(Deserialize)]
    struct Shared {
        tokens: Vec<Text>,
    }
    #[derive(Deserialize)]
    struct Text {
        text: String,
    }
    let shared: Shared = json("tiny-mpnet.json");
    assert_eq!(shared.tokens.len(), 200);
    shared.tokens.into_iter().map(|of| of.text).collect()
}

fn load(name: &str) -> Clip {
    Clip::load(&reference(name), Backend::Auto, Numeric::Float).unwrap()
}

#[track_caller]
fn agree(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let cosine: f64 = (found.iter().zip(expected))
        .map(|(a, b)| f64::from(a * b))
        .sum();
    assert!(cosine > 0.9999, "{what}: {cosine}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-4, "{what}: {a}, not {b}");
    }
}

#[test]
fn tokens_in_five_scripts_are_those_of_the_processors() {
    let texts = texts();
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (name, ..) in FAMILIES {
        let (model, values) = (load(name), json::<Values>(&format!("{name}.json")));
        let found = model.tokens(&lines).unwrap();
        assert_eq!((found.len(), values.ids.len()), (200, 200));
        let longest = values.ids.iter().map(Vec::len).max();
        assert!(
            values
                .ids
                .iter()
                .filter(|ids| Some(ids.len()) == longest)
                .count()
                > 5
        );
        for ((found, expected), text) in found.iter().zip(&values.ids).zip(&texts) {
            // a special token that is written in a text is followed by a new word here, and by the rest of one there
            if name != "tiny-siglip" || !text.contains("</s>") {
                assert_eq!(found.get_ids(), expected, "{name}, {text:?}");
            }
        }
    }
}

#[test]
fn pixels_are_those_of_pillow() {
    for (name, mean, std) in FAMILIES {
        let (model, values) = (load(name), json::<Values>(&format!("{name}.json")));
        let mut compared = 0;
        for picture in &values.images {
            let Some(sums) = &picture.pixels else {
                continue;
            };
            compared += 1;
            let what = format!("{name}, {} × {}", picture.width, picture.height);
            let pixels = model.preprocess(&picture.draw());
            let (height, width) = (sums.height, sums.width);
            assert_eq!((pixels.height, pixels.width), (height, width), "{what}");
            // in integers, so that a difference of one level in one pixel changes two sums
            let level = |c: usize, y: usize, x: usize| {
                let value = pixels.values[(c * height + y) * width + x];
                ((value * std[c] + mean[c]) * 255.0).round() as i64
            };
            for c in 0..3 {
                let rows = (0..height).map(|y| (0..width).map(|x| level(c, y, x)).sum());
                let columns = (0..width).map(|x| (0..height).map(|y| level(c, y, x)).sum());
                assert_eq!(rows.collect::<Vec<i64>>(), sums.row_sums[c], "{what}");
                assert_eq!(columns.collect::<Vec<i64>>(), sums.column_sums[c], "{what}");
            }
        }
        assert_eq!(compared, 8, "{name}");
    }
}

#[test]
fn vectors_and_likeness_are_those_of_the_frameworks() {
    let texts = texts();
    for (name, ..) in FAMILIES {
        for backend in [Backend::Auto, Backend::Given(riposte_candle::layers)] {
            let model = Clip::load(&reference(name), backend, Numeric::Float).unwrap();
            let values: Values = json(&format!("{name}.json"));
            let pictures = values.images.iter().map(Picture::draw);
            let pixels: Vec<Pixels> = pictures.map(|picture| model.preprocess(&picture)).collect();
            let found = model.embed_images(&pixels).unwrap();
            assert_eq!((found.len(), values.images.len()), (50, 50));
            for (found, picture) in found.iter().zip(&values.images) {
                let what = format!("{name}, {} × {}", picture.width, picture.height);
                agree(&what, found, &picture.vector);
                assert_eq!(found.len(), model.dimension());
            }
            let lines: Vec<&str> = texts[..50].iter().map(String::as_str).collect();
            let found = model.embed_texts(&lines).unwrap();
            assert_eq!((found.len(), values.texts.len()), (50, 50));
            for ((found, expected), text) in found.iter().zip(&values.texts).zip(&lines) {
                if name != "tiny-siglip" || !text.contains("</s>") {
                    agree(&format!("{name}, {text:?}"), found, expected);
                }
            }
            let found = match model.likeness() {
                ImageTextLikeness::Softmax { scale } => vec![scale],
                ImageTextLikeness::Sigmoid { scale, bias } => vec![scale, bias],
            };
            assert_eq!(found.len(), values.likeness.len(), "{name}");
            for (found, expected) in found.iter().zip(&values.likeness) {
                assert!((found / expected - 1.0).abs() < 1e-5, "{name}: {found}");
            }
        }
    }
}

#[test]
fn a_vector_depends_neither_on_the_others_nor_on_the_number_of_threads() {
    let texts = texts();
    let lines: Vec<&str> = texts[8..14].iter().map(String::as_str).collect();
    for (name, ..) in FAMILIES {
        let (model, values) = (load(name), json::<Values>(&format!("{name}.json")));
        let pictures = values.images[..6].iter().map(Picture::draw);
        let pixels: Vec<Pixels> = pictures.map(|picture| model.preprocess(&picture)).collect();
        let all = || {
            let images = model.embed_images(&pixels).unwrap();
            (images, model.embed_texts(&lines).unwrap())
        };
        let (images, texts) = all();
        for (pixels, vector) in pixels.iter().zip(&images) {
            let alone = model.embed_images(std::slice::from_ref(pixels)).unwrap();
            assert_eq!(alone[0], *vector, "{name}");
        }
        for (line, vector) in lines.iter().zip(&texts) {
            assert_eq!(model.embed_texts(&[line]).unwrap()[0], *vector, "{name}");
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let found = pool.build().unwrap().install(all);
            assert!(
                found == (images.clone(), texts.clone()),
                "{name}, {threads}"
            );
        }
        assert!(model.embed_images(&[]).unwrap().is_empty());
        assert!(model.embed_texts(&[]).unwrap().is_empty());
    }
}

/// OpenCLIP has one flag for both towers, where Hugging Face has a setting in each.
#[test]
fn the_flag_quick_gelu_of_open_clip_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    for file in fs::read_dir(reference("tiny-open-clip")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), dir.path().join(file.file_name())).unwrap();
    }
    let path = dir.path().join("open_clip_config.json");
    let plain = fs::read_to_string(&path).unwrap();
    let quick = plain.replacen("\"embed_dim\"", "\"quick_gelu\": true, \"embed_dim\"", 1);
    assert_ne!(plain, quick);
    fs::write(&path, quick).unwrap();
    let model = Clip::load(dir.path(), Backend::Auto, Numeric::Float).unwrap();
    let values: Values = json("tiny-open-clip.json");
    let expected = values.quick.unwrap();
    let pixels = model.preprocess(&values.images[0].draw());
    agree(
        "picture",
        &model.embed_images(&[pixels]).unwrap()[0],
        &expected.image,
    );
    agree(
        "text",
        &model.embed_texts(&[&texts()[9]]).unwrap()[0],
        &expected.text,
    );
    // the flag changes more than the rounding
    assert_ne!(expected.image, values.images[0].vector);
}
